/* ======== Big integer functions ================ >>functions/bigint_function
   comparison, hash and JSON of big integers */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../containers.h"
#include "../graph.h"
#include "../extra.h"
#include "../interface.h"

#if !TVMFFI_NO_EXTRA
static int tvmffi_i_two_bigints(TVMFFIObject *a, TVMFFIObject *b, int *sign) {
  const TVMFFIAny x = tvmffi_obj(a), y = tvmffi_obj(b);
  TVMFFI_ASSERT(a && b);
  if (a->type_index != kTVMFFIBigInt)
    return tvmffi_i_cannot_treat(a->type_index, "BigInt");
  if (b->type_index != kTVMFFIBigInt)
    return tvmffi_i_cannot_treat(b->type_index, "BigInt");
  *sign = tvmffi_i_bigint_sign(&x, &y);
  return 0;
}

TVMFFI_I_BUILTIN_NAMED(i_bigint_eq, "ffi.BigInt.__ffi_eq__", bool, (object, a),
                       (object, b), (i_callback, equal)) {
  int sign = 0;
  (void)equal;
  TVMFFI_TRY(tvmffi_i_two_bigints(a, b, &sign));
  TVMFFI_RETURN(!sign);
}

TVMFFI_I_BUILTIN_NAMED(i_bigint_compare, "ffi.BigInt.__ffi_compare__", int64,
                       (object, a), (object, b), (i_callback, compare)) {
  int sign = 0;
  (void)compare;
  TVMFFI_TRY(tvmffi_i_two_bigints(a, b, &sign));
  TVMFFI_RETURN(sign);
}

TVMFFI_I_BUILTIN_NAMED(i_bigint_hash, "ffi.BigInt.__ffi_hash__", int64,
                       (object, value), (i_callback, hash)) {
  const TVMFFIAny any = tvmffi_obj(value);
  TVMFFIByteArray words;
  (void)hash;
  TVMFFI_ASSERT(value);
  if (value->type_index != kTVMFFIBigInt)
    return tvmffi_i_cannot_treat(value->type_index, "BigInt");
  words = TVMFFIBigIntGetContentByteArray(&any);
  TVMFFI_RETURN((int64_t)tvmffi_i_stable_hash(words.data, words.size));
}

TVMFFI_I_BUILTIN_NAMED(i_bigint_to_json, "ffi.BigInt.__data_to_json__", any,
                       (i_any_view, value)) {
  tvmffi_i_text_buffer b = {NULL, 0, 0, 0};
  TVMFFI_ASSERT(value);
  if (value->type_index == kTVMFFIInt)
    tvmffi_i_text_int(&b, value->v_int64);
  else if (value->type_index == kTVMFFIBigInt && value->v_obj)
    tvmffi_i_text_bigint(&b, TVMFFIBigIntGetContentByteArray(value));
  else
    return tvmffi_i_cannot_treat(value->type_index, "BigInt");
  return tvmffi_i_text_take_object(&b, tvmffi_result);
}

TVMFFI_I_BUILTIN_NAMED(i_bigint_from_json, "ffi.BigInt.__data_from_json__", any,
                       (i_any_view, value)) {
  TVMFFIByteArray s;
  int negative;
  size_t i;
  TVMFFI_ASSERT(value);
  if (tvmffi_i_get_str(value, &s))
    return tvmffi_i_cannot_treat(value->type_index, "str");
  negative = s.size && s.data[0] == '-';
  if (negative || (s.size && s.data[0] == '+')) ++s.data, --s.size;
  for (i = 0; i < s.size && s.data[i] >= '0' && s.data[i] <= '9'; ++i) {
  }
  if (!s.size || i < s.size)
    return tvmffi_i_value_error("Invalid decimal string for ffi.BigInt");
  return tvmffi_i_digits_to_int(s.data, s.size, negative, tvmffi_result);
}
#endif
