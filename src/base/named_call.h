/* ======== Named calls ====================================== >>base/named_call
   calls of global functions by name */

#pragma once

#include "../head.h"
#include "reference.h"
#include "value.h"
#include "error.h"

/* Calls a global function of the runtime. Returns 0, the error's code, or 1 if
   there is no function of this name. */
TVMFFI_I_ONCE(int, tvmffi_i_call_if_defined,
              (const char *name, TVMFFIAny *args, int32_t n,
               TVMFFIAny *result)) {
  TVMFFIByteArray text = tvmffi_byte_array(name);
  TVMFFIObjectHandle function = NULL;
  int code;
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&text, &function));
  if (!function) return 1;
  code = TVMFFIFunctionCall(function, args, n, result);
  tvmffi_i_release(function);
  return code;
}

/* Sets *out to a global function (owned). ValueError if there is no function of
   this name. */
TVMFFI_I_INLINE int tvmffi_i_get_function(TVMFFIByteArray name,
                                          TVMFFIObjectHandle *out) {
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&name, out));
  return *out ? 0
              : tvmffi_i_raise("ValueError", "Function %.*s not found",
                               (int)name.size, name.data);
}

/* A TVMFFISafeCallType that looks up and calls the global function named
   `self`. */
TVMFFI_I_INLINE int tvmffi_i_call_by_name(void *self, const TVMFFIAny *args,
                                          int32_t num_args, TVMFFIAny *result) {
  TVMFFIObjectHandle function = NULL;
  int code;
  TVMFFI_TRY(
      tvmffi_i_get_function(tvmffi_byte_array((const char *)self), &function));
  code = TVMFFIFunctionCall(function, (TVMFFIAny *)(uintptr_t)args, num_args,
                            result);
  tvmffi_i_release(function);
  return code;
}
