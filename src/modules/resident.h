/* ======== Resident modules: they stay loaded ========== >>modules/resident */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"

#if !TVMFFI_NO_CONTAINERS
/* An entry of the hash table of modules that stay loaded until removed.
   `module` is the start of the module's memory block, so that leak checkers
   find the block. */
typedef struct tvmffi_i_resident {
  tvmffi_i_module *module; /* owned */
  struct tvmffi_i_resident *next;
} tvmffi_i_resident;

static tvmffi_i_resident *tvmffi_i_resident_modules[64];

/* Returns the address of the pointer to a module's entry, or of the NULL
   pointer that ends the bucket chain. The caller holds the mutex. */
static tvmffi_i_resident **tvmffi_i_find_resident(
    const tvmffi_i_module *module) {
  tvmffi_i_resident **at =
      &tvmffi_i_resident_modules[((uintptr_t)module >> 4) % 64];
  while (*at && (*at)->module != module) at = &(*at)->next;
  return at;
}

static int tvmffi_i_keep_module(TVMFFIObject *module) {
  tvmffi_i_resident **at, *entry;
  int had;
  entry = (tvmffi_i_resident *)tvmffi_i_alloc(sizeof(*entry));
  if (!entry) return tvmffi_i_no_memory();
  entry->module = tvmffi_i_module_of(module);
  entry->next = NULL;
  tvmffi_i_retain(module);
  tvmffi_i_lock();
  at = tvmffi_i_find_resident(tvmffi_i_module_of(module));
  had = *at != NULL;
  if (!had) *at = entry;
  tvmffi_i_unlock();
  if (had) {
    tvmffi_i_release(module);
    tvmffi_i_free(entry);
  }
  return 0;
}

static void tvmffi_i_unkeep_module(TVMFFIObject *module) {
  tvmffi_i_resident **at, *entry;
  tvmffi_i_lock();
  at = tvmffi_i_find_resident(tvmffi_i_module_of(module));
  entry = *at;
  if (entry) *at = entry->next;
  tvmffi_i_unlock();
  if (!entry) return;
  tvmffi_i_release(module);
  tvmffi_i_free(entry);
}
#endif
