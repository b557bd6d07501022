/* ======== Global cache ============================= >>interface/global_cache
   built-in functions looked up once in a file */

#pragma once

#include "../head.h"
#include "../base.h"
#include "argument.h"

/* clang-format off */
/* The functions, with their indices. */
#define TVMFFI_I_CACHED(F) \
  F(NEW_ARRAY, "ffi.Array") F(NEW_LIST, "ffi.List") F(NEW_MAP, "ffi.Map") \
  F(NEW_DICT, "ffi.Dict") F(NEW_SHAPE, "ffi.Shape") \
  F(ARRAY_CONTAINS, "ffi.ArrayContains") F(LIST_CONTAINS, "ffi.ListContains") \
  F(MAP_COUNT, "ffi.MapCount") F(DICT_COUNT, "ffi.DictCount") \
  F(MAP_GET, "ffi.MapGetItemOrMissing") \
  F(DICT_GET, "ffi.DictGetItemOrMissing") F(LIST_APPEND, "ffi.ListAppend") \
  F(LIST_SET, "ffi.ListSetItem") F(LIST_ERASE, "ffi.ListErase") \
  F(DICT_SET, "ffi.DictSetItem") F(DICT_ERASE, "ffi.DictErase") \
  F(MISSING, "ffi.GetInvalidObject") F(REPR, "ffi.ReprPrint")
/* clang-format on */
#define TVMFFI_I_CACHED_INDEX(index, name) TVMFFI_I_##index,
#define TVMFFI_I_CACHED_NAME(index, name) name,
enum { TVMFFI_I_CACHED(TVMFFI_I_CACHED_INDEX) TVMFFI_I_NUM_CACHED };

TVMFFI_I_INLINE const char *tvmffi_i_global_name(int which) {
  static const char *const names[] = {TVMFFI_I_CACHED(TVMFFI_I_CACHED_NAME)};
  return names[which];
}

/* The functions, looked up at first use. These references are never
   released. */
#if TVMFFI_I_SHARES
#ifdef __cplusplus
extern "C" {
#endif
extern TVMFFI_I_HIDDEN void *tvmffi_i_global_cache[TVMFFI_I_NUM_CACHED]
    TVMFFI_I_SHARED_NAME("tvmffi_i_global_cache");
#ifdef __cplusplus
} /* extern "C" */
#endif
#if defined(TVMFFI_IMPLEMENTATION)
void *tvmffi_i_global_cache[TVMFFI_I_NUM_CACHED];
#endif
#else
TVMFFI_I_UNUSED static void *tvmffi_i_global_cache[TVMFFI_I_NUM_CACHED];
#endif

TVMFFI_I_ONCE(int, tvmffi_i_find_cached, (int which)) {
  TVMFFIObjectHandle function = NULL;
  TVMFFI_TRY(tvmffi_i_get_function(
      tvmffi_byte_array(tvmffi_i_global_name(which)), &function));
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
TVMFFI_I_ONCE(int, tvmffi_i_global_settled,
              (int which, const TVMFFIAny *args, int32_t n,
               TVMFFIAny *result)) {
  tvmffi_i_settled s;
  int code;
  TVMFFI_TRY(tvmffi_i_settled_open(&s, args, n));
  code = tvmffi_i_call_cached(which, s.args, n, result);
  tvmffi_i_settled_close(&s);
  return code;
}

/* Calls a function like tvmffi_i_call_cached, with arguments that the ABI may
   be unable to express: see tvmffi_i_settled_open. */
TVMFFI_I_SMALL_ONCE(int, tvmffi_i_global_values,
                    (int which, const TVMFFIAny *args, int32_t n,
                     TVMFFIAny *result)) {
  int code = tvmffi_i_are_plain(args, n) ? 0 : tvmffi_i_check_args(args, n);
  if (TVMFFI_I_UNLIKELY(code))
    return code < 0 ? code : tvmffi_i_global_settled(which, args, n, result);
  return tvmffi_i_call_cached(which, (TVMFFIAny *)(uintptr_t)args, n, result);
}

/* Calls the cached global function with index `which`, and drops the result. */
TVMFFI_I_INLINE int tvmffi_i_call_cached_void(int which, const TVMFFIAny *args,
                                              int32_t n) {
  TVMFFIAny result = tvmffi_none();
  TVMFFI_TRY(tvmffi_i_global_values(which, args, n, &result));
  tvmffi_i_any_release(&result);
  return 0;
}
