/* ======== Global cache ============================= >>interface/global_cache
   built-in functions looked up once in a file */

#pragma once

#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "value.h"
#include "error.h"
#include "scope.h"

/* In the order of tvmffi_i_known_name. */
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
  TVMFFI_I_NUM_KNOWN
};

TVMFFI_I_INLINE const char *tvmffi_i_known_name(int which) {
  static const char *const names[TVMFFI_I_NUM_KNOWN] = {
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

/* Found at first use and kept: each a reference that the file has for ever. */
TVMFFI_I_UNUSED static void *tvmffi_i_known[TVMFFI_I_NUM_KNOWN];

TVMFFI_I_COLD int tvmffi_i_know(int which) {
  TVMFFIByteArray name = tvmffi_view(tvmffi_i_known_name(which));
  TVMFFIObjectHandle function = NULL;
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&name, &function));
  if (!function)
    return TVMFFI_RAISE("ValueError", "Function %s not found", name.data);
  if (!tvmffi_i_cas_pointer(&tvmffi_i_known[which], NULL, function))
    tvmffi_release(function); /* another thread was first */
  return 0;
}

/* Calls one of them; *result is None before, and owned behind. */
TVMFFI_I_INLINE int tvmffi_i_ask(int which, TVMFFIAny *args, int32_t n,
                                 TVMFFIAny *result) {
  if (TVMFFI_I_UNLIKELY(!TVMFFI_I_LOAD(&tvmffi_i_known[which])))
    TVMFFI_TRY(tvmffi_i_know(which));
  return tvmffi_i_call_away(TVMFFI_I_LOAD(&tvmffi_i_known[which]), args, n,
                            result);
}

/* The same with up to three arguments, whose result is dropped. */
TVMFFI_I_INLINE int tvmffi_i_tell(int which, TVMFFIAny a, TVMFFIAny b,
                                  TVMFFIAny c, int32_t n) {
  TVMFFIAny args[3], result = tvmffi_none();
  args[0] = a;
  args[1] = b;
  args[2] = c;
  TVMFFI_TRY(tvmffi_i_ask(which, args, n, &result));
  tvmffi_any_release(&result);
  return 0;
}
