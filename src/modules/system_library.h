/* ======== System library =========================== >>modules/system_library
   modules of linked-in code */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "once.h"
#include "named_symbol.h"
#include "library.h"
#include "load.h"

#if !TVMFFI_NO_CONTAINERS
/* The modules of the system library by prefix, each created once and never
   freed. The map stores the start of each module's memory block, so that leak
   checkers find the block. */
static tvmffi_i_name_table tvmffi_i_system_modules;

/* An init_func that creates the module of a prefix. *out is the map node of the
   prefix before the call, and the module after the call. */
static int tvmffi_i_make_system_module(void **out) {
  const tvmffi_i_node *node = (const tvmffi_i_node *)*out;
  tvmffi_i_library *library;
  TVMFFIByteArray prefix;
  TVMFFIObject *module = NULL;
  int code;
  TVMFFI_ASSERT(TVMFFI_I_IS_FREE); /* a loader runs other code */
  prefix.data = node->key;
  prefix.size = node->size;
  library = tvmffi_i_new_library(NULL, prefix);
  if (!library) return -1;
  code = tvmffi_i_load_library(library, &module);
  tvmffi_i_release(library);
  TVMFFI_ASSERT(!module == (code != 0));
  *out = module ? tvmffi_i_module_of(module) : NULL;
  return code;
}

/* Sets *out to the module (borrowed) of the symbols with this prefix. Holds no
   lock while creating a module, because a loader may ask for another one. */
static int tvmffi_i_system_module(TVMFFIByteArray prefix, TVMFFIObject **out) {
  tvmffi_i_named *entry;
  if (tvmffi_i_enter_named(&tvmffi_i_system_modules, prefix, NULL, &entry) < 0)
    return -1;
  if (!TVMFFI_I_LOAD(&entry->address))
    TVMFFI_TRY(tvmffi_i_init_handle(&entry->address,
                                    tvmffi_i_make_system_module, &entry->node));
  TVMFFI_ASSERT(TVMFFI_I_LOAD(&entry->address));
  *out = &((tvmffi_i_module *)TVMFFI_I_LOAD(&entry->address))->base;
  return 0;
}

#endif
