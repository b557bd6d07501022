/* ======== Dynamic ========================================== >>tables/dynamic
   this runtime, or the one of the process */
/* With TVMFFI_DYNAMIC, the first call of an ABI function chooses a runtime for
   all files that share tvmffi_i_chosen. The choice is the process's libtvm_ffi
   if its version is compatible and it has all 50 functions, else the runtime in
   this file. A chosen library must stay loaded. A libtvm_ffi that is loaded
   later has its own types, global functions and errors. */

#pragma once

#include "../head.h"
#include "../platform.h"

#if TVMFFI_DYNAMIC
#define TVMFFI_I_OWN(name) name,
static const tvmffi_i_api tvmffi_i_embedded = {
    TVMFFI_I_EACH_FUNCTION(TVMFFI_I_OWN)};
#if !TVMFFI_STATIC
const tvmffi_i_api *tvmffi_i_chosen;
#endif

TVMFFI_STATIC_ASSERT(sizeof(tvmffi_i_api) == 50 * sizeof(void *), api_size);

#if TVMFFI_NO_DLOPEN || defined(_WIN32)
static int tvmffi_i_find_runtime(tvmffi_i_api *out) { return (void)out, 0; }
#else
#include <dlfcn.h>

/* Searches the process's global symbols. Then searches the library by name,
   because RTLD_LOCAL keeps a library's symbols from being global. */
static int tvmffi_i_find_runtime(tvmffi_i_api *out) {
#if defined(__APPLE__)
  const char *name = "@rpath/libtvm_ffi.dylib";
#else
  const char *name = "libtvm_ffi.so";
#endif
  return tvmffi_i_fill_api(out, dlopen(NULL, RTLD_LAZY), dlsym) ||
         tvmffi_i_fill_api(out, dlopen(name, RTLD_LAZY | RTLD_NOLOAD), dlsym);
}
#endif

/* Returns the chosen runtime. The first thread writes the table and the choice
   under the mutex, so a child of fork sees both or neither. */
const tvmffi_i_api *tvmffi_i_choose(void) {
  static tvmffi_i_api table;
  tvmffi_i_api found;
  const tvmffi_i_api *choice;
  int is_found;
  /* A thread that holds the loader's lock may wait for the mutex. So dlopen and
     dlsym are called without it. */
  TVMFFI_ASSERT(TVMFFI_I_IS_FREE);
  is_found = tvmffi_i_find_runtime(&found);
  tvmffi_i_lock();
  choice = tvmffi_i_chosen;
  if (!choice) {
    if (is_found) table = found;
    choice = is_found ? &table : &tvmffi_i_embedded;
    TVMFFI_I_STORE(&tvmffi_i_chosen, choice);
  }
  tvmffi_i_unlock();
  return choice;
}

#undef TVMFFI_I_RENAME
#define TVMFFI_I_RENAME(name) (tvmffi_i_runtime()->at_##name)
#endif /* TVMFFI_DYNAMIC */
