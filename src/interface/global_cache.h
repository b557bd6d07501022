/* ======== Global cache ============================= >>interface/global_cache
   built-in functions looked up once in a file */

#pragma once

#include "../head.h"
#include "../base.h"
#include "argument.h"

/* Indices of the names in tvmffi_i_global_name. */
enum {
  TVMFFI_I_NEW_ARRAY,
  TVMFFI_I_NEW_LIST,
  TVMFFI_I_NEW_MAP,
  TVMFFI_I_NEW_DICT,
  TVMFFI_I_NEW_SHAPE,
  TVMFFI_I_ARRAY_CONTAINS,
  TVMFFI_I_LIST_CONTAINS,
  TVMFFI_I_MAP_COUNT,
  TVMFFI_I_DICT_COUNT,
  TVMFFI_I_MAP_GET,
  TVMFFI_I_DICT_GET,
  TVMFFI_I_LIST_APPEND,
  TVMFFI_I_LIST_SET,
  TVMFFI_I_LIST_ERASE,
  TVMFFI_I_DICT_SET,
  TVMFFI_I_DICT_ERASE,
  TVMFFI_I_MISSING,
  TVMFFI_I_REPR,
  TVMFFI_I_NUM_CACHED
};

TVMFFI_I_INLINE const char *tvmffi_i_global_name(int which) {
  static const char *const names[TVMFFI_I_NUM_CACHED] = {
      "ffi.Array",
      "ffi.List",
      "ffi.Map",
      "ffi.Dict",
      "ffi.Shape",
      "ffi.ArrayContains",
      "ffi.ListContains",
      "ffi.MapCount",
      "ffi.DictCount",
      "ffi.MapGetItemOrMissing",
      "ffi.DictGetItemOrMissing",
      "ffi.ListAppend",
      "ffi.ListSetItem",
      "ffi.ListErase",
      "ffi.DictSetItem",
      "ffi.DictErase",
      "ffi.GetInvalidObject",
      "ffi.ReprPrint"};
  return names[which];
}

/* The functions named in tvmffi_i_global_name, looked up at first use. The file
   never releases these references. */
TVMFFI_I_UNUSED static void *tvmffi_i_global_cache[TVMFFI_I_NUM_CACHED];

TVMFFI_I_COLD int tvmffi_i_find_cached(int which) {
  TVMFFIByteArray name = tvmffi_byte_array(tvmffi_i_global_name(which));
  TVMFFIObjectHandle function = NULL;
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&name, &function));
  if (!function)
    return tvmffi_i_raise("ValueError", "Function %s not found", name.data);
  if (!tvmffi_i_cas_pointer(&tvmffi_i_global_cache[which], NULL, function))
    tvmffi_i_release(function); /* another thread was first */
  return 0;
}

/* Calls the cached global function with index `which`. *result must be None
   before the call; the caller owns it afterwards. */
TVMFFI_I_INLINE int tvmffi_i_call_cached(int which, TVMFFIAny *args, int32_t n,
                                         TVMFFIAny *result) {
  if (TVMFFI_I_UNLIKELY(!TVMFFI_I_LOAD(&tvmffi_i_global_cache[which])))
    TVMFFI_TRY(tvmffi_i_find_cached(which));
  return TVMFFIFunctionCall(TVMFFI_I_LOAD(&tvmffi_i_global_cache[which]), args,
                            n, result);
}

/* Makes strings of slices for tvmffi_i_global_values. */
TVMFFI_I_COLD int tvmffi_i_global_settled(int which, const TVMFFIAny *args,
                                          int32_t n, TVMFFIAny *result) {
  tvmffi_i_settled s;
  int code;
  TVMFFI_TRY(tvmffi_i_settled_open(&s, args, n));
  code = tvmffi_i_call_cached(which, s.args, n, result);
  tvmffi_i_settled_close(&s);
  return code;
}

/* Calls a function like tvmffi_i_call_cached, with arguments of the
   interface. */
TVMFFI_I_INLINE int tvmffi_i_global_values(int which, const TVMFFIAny *args,
                                           int32_t n, TVMFFIAny *result) {
  int code = tvmffi_i_are_plain(args, n) ? 0 : tvmffi_i_check_args(args, n);
  if (TVMFFI_I_UNLIKELY(code))
    return code < 0 ? code : tvmffi_i_global_settled(which, args, n, result);
  return tvmffi_i_call_cached(which, (TVMFFIAny *)(uintptr_t)args, n, result);
}

/* Calls the cached global function with index `which` and the first `n` of the
   arguments a, b and c. Drops the result. */
TVMFFI_I_INLINE int tvmffi_i_call_cached_void(int which, TVMFFIAny a,
                                              TVMFFIAny b, TVMFFIAny c,
                                              int32_t n) {
  TVMFFIAny args[3], result = tvmffi_none();
  args[0] = a;
  args[1] = b;
  args[2] = c;
  TVMFFI_TRY(tvmffi_i_global_values(which, args, n, &result));
  tvmffi_i_any_release(&result);
  return 0;
}
