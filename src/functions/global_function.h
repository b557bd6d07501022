/* ======== Basic functions ======================== >>functions/global_function
   strings, addresses, names, memory */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../interface.h"

/* Returns the object that ffi.MapGetItemOrMissing returns for an absent key. */
TVMFFI_I_BUILTIN_FUNC(GetInvalidObject, object) {
  TVMFFI_I_GIVE(&tvmffi_i_invalid_object);
}

/* Returns the object that separates positional arguments from keyword arguments
   (names and values) in a call of __ffi_init__. */
TVMFFI_I_BUILTIN_FUNC(GetKwargsObject, object) {
  TVMFFI_I_GIVE(&tvmffi_i_kwargs_object);
}

/* Returns a string as an owned value. */
TVMFFI_I_BUILTIN_FUNC(String, str, (str, text)) { TVMFFI_RETURN(text); }

/* Returns bytes as an owned value. */
TVMFFI_I_BUILTIN_FUNC(Bytes, bytes, (bytes, data)) { TVMFFI_RETURN(data); }

/* Removes a global function. Returns whether the name was registered. */
TVMFFI_I_BUILTIN_FUNC(FunctionRemoveGlobal, bool, (str, name)) {
  TVMFFI_TRY(tvmffi_i_start_global(&name));
  TVMFFI_RETURN(tvmffi_i_remove_global(&name) != 0);
}

/* Makes a function object from addresses: a TVMFFISafeCallType, the `self` that
   safe_call receives, and the deleter of `self`, which may be NULL. On success
   takes ownership of `self`. */
TVMFFI_I_BUILTIN_FUNC(FunctionFromExternC, func, (ptr, self), (ptr, safe_call),
                      (ptr, deleter)) {
  TVMFFIObjectHandle f = NULL;
  TVMFFI_TRY(TVMFFIFunctionCreate(self,
                                  (TVMFFISafeCallType)(uintptr_t)safe_call,
                                  (void (*)(void *))(uintptr_t)deleter, &f));
  TVMFFI_I_GIVE((TVMFFIObject *)f);
}

#if TVMFFI_I_CELLS
/* Returns the entry of a global function in the function table. Sets *call to a
   packed function whose `self` is such an entry and which calls the entry's
   current function (interface/global.h). */
TVMFFI_I_BUILTIN_NAMED(i_GlobalCell, "tvmffi.GlobalCell", ptr, (str, name),
                       (ptr, call)) {
  void *entry;
  if (!call) return tvmffi_i_null("tvmffi.GlobalCell", "call");
  entry = tvmffi_i_pin_global(&name);
  if (!entry) return tvmffi_i_no_memory();
  *(void **)call = (void *)(uintptr_t)tvmffi_i_call_cell;
  TVMFFI_RETURN(entry);
}
#endif

#if TVMFFI_I_POOL
/* Frees the memory that threads cache for new objects: see
   tvmffi_memory_trim. */
TVMFFI_I_BUILTIN_NAMED(i_MemoryTrim, "tvmffi.MemoryTrim", none) {
  (void)tvmffi_i_add64(&tvmffi_i_pool_trims, 1);
  tvmffi_i_pool_follow(tvmffi_i_thread_pool());
  return 0;
}
#endif
