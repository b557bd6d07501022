/* ======== System library =========================== >>modules/system_library
   modules of linked-in code */

#pragma once

#include "../head/config.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/word.h"
#include "../platform/thread_state.h"
#include "../platform/thread.h"
#include "../platform/memory.h"
#include "../platform/name_table.h"
#include "../core/raise.h"
#include "symbol.h"
#include "library.h"
#include "load.h"

#if !TVMFFI_NO_CONTAINERS
/* Modules that stay until they are removed: by their start, where a tool that
   looks for leaks expects a pointer to a block. */
typedef struct tvmffi_i_kept {
  tvmffi_i_module *module; /* owned */
  struct tvmffi_i_kept *next;
} tvmffi_i_kept;

static tvmffi_i_kept *tvmffi_i_kept_modules[64];

/* The link to a module's entry, or to the end of its list; mutex held. */
static tvmffi_i_kept **tvmffi_i_kept_place(const tvmffi_i_module *module) {
  tvmffi_i_kept **at = &tvmffi_i_kept_modules[((uintptr_t)module >> 4) % 64];
  while (*at && (*at)->module != module) at = &(*at)->next;
  return at;
}

static int tvmffi_i_keep_module(TVMFFIObject *module) {
  tvmffi_i_kept **at, *entry;
  int had;
  entry = (tvmffi_i_kept *)tvmffi_i_alloc(sizeof(*entry));
  if (!entry) return tvmffi_i_no_memory();
  entry->module = tvmffi_i_module_of(module);
  entry->next = NULL;
  tvmffi_retain(module);
  tvmffi_i_lock();
  at = tvmffi_i_kept_place(tvmffi_i_module_of(module));
  had = *at != NULL;
  if (!had) *at = entry;
  tvmffi_i_unlock();
  if (had) {
    tvmffi_release(module);
    tvmffi_i_free(entry);
  }
  return 0;
}

static void tvmffi_i_unkeep_module(TVMFFIObject *module) {
  tvmffi_i_kept **at, *entry;
  tvmffi_i_lock();
  at = tvmffi_i_kept_place(tvmffi_i_module_of(module));
  entry = *at;
  if (entry) *at = entry->next;
  tvmffi_i_unlock();
  if (!entry) return;
  tvmffi_release(module);
  tvmffi_i_free(entry);
}

/* Modules of the system library, by prefix: made once, never freed. An address
   is that of the module's start, as above. */
static tvmffi_i_map tvmffi_i_system_modules;

static int tvmffi_i_make_system_module(void **out) {
  const tvmffi_i_node *node = (const tvmffi_i_node *)tvmffi_i_self()->making;
  tvmffi_i_library *library;
  TVMFFIByteArray prefix;
  TVMFFIObject *module = NULL;
  int code;
  prefix.data = node->key;
  prefix.size = node->size;
  library = tvmffi_i_new_library(NULL, prefix);
  if (!library) return -1;
  code = tvmffi_i_load_library(library, &module);
  tvmffi_release(library);
  *out = module ? tvmffi_i_module_of(module) : NULL;
  return code;
}

/* The module of a prefix, borrowed. Its loaders may ask for others. */
static int tvmffi_i_system_module(TVMFFIByteArray prefix, TVMFFIObject **out) {
  tvmffi_i_thread *t = tvmffi_i_self();
  const void *outer = t->making;
  tvmffi_i_named *entry =
      tvmffi_i_enter_named(&tvmffi_i_system_modules, prefix, NULL);
  int code;
  if (!entry) return -1;
  t->making = &entry->node;
  code = TVMFFIHandleInitOnce(&entry->address, tvmffi_i_make_system_module);
  t->making = outer;
  if (!code) *out = &((tvmffi_i_module *)TVMFFI_I_LOAD(&entry->address))->base;
  return code;
}

/* The global functions. */
TVMFFI_I_OBJECT_TYPE(i_module, "ffi.Module", "ffi.Module", kTVMFFIModule)
#endif
