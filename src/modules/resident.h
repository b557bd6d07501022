/* ======== Resident modules: they stay loaded ========== >>modules/resident */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"

#if !TVMFFI_NO_CONTAINERS
/* The modules that stay loaded until removed: records of one owned
   tvmffi_i_module pointer each. The pointer is the start of the module's memory
   block, so that leak checkers find the block. */
static tvmffi_i_records tvmffi_i_resident_modules;

static int tvmffi_i_keep_module(TVMFFIObject *module) {
  const uintptr_t key = (uintptr_t)tvmffi_i_module_of(module);
  tvmffi_i_records *t = &tvmffi_i_resident_modules;
  const void *record;
  size_t count;
  tvmffi_i_lock();
  count = t->count;
  record = tvmffi_i_add_record(t, sizeof(key), 1, key, 0);
  TVMFFI_ASSERT(t->count - count <= (record ? 1 : 0));
  if (t->count > count) tvmffi_i_retain(module);
  tvmffi_i_unlock();
  return record ? 0 : tvmffi_i_no_memory();
}

static void tvmffi_i_unkeep_module(TVMFFIObject *module) {
  const uintptr_t key = (uintptr_t)tvmffi_i_module_of(module);
  tvmffi_i_records *t = &tvmffi_i_resident_modules;
  int had;
  tvmffi_i_lock();
  had = tvmffi_i_find_record(t, sizeof(key), 1, key, 0) != NULL;
  if (had) tvmffi_i_remove_record(t, sizeof(key), key);
  TVMFFI_ASSERT(!tvmffi_i_find_record(t, sizeof(key), 1, key, 0));
  tvmffi_i_unlock();
  if (had) tvmffi_i_release(module);
}
#endif
