/* ======== Big integer JSON ======================== >>functions/bigint_json */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../extra.h"
#include "../interface.h"
#include "method.h"

#if !TVMFFI_NO_EXTRA
TVMFFI_I_CUSTOM_TYPE(i_any_view, const TVMFFIAny *, "AnyView", "Any") {
  *(const TVMFFIAny **)out = any;
  return 0;
}

TVMFFI_I_METHOD(i_bigint_to_json, "ffi.BigInt.__data_to_json__", any,
                (i_any_view, value)) {
  tvmffi_i_text_buffer b = {NULL, 0, 0, 0};
  TVMFFIAny text = tvmffi_none();
  if (value->type_index == kTVMFFIInt)
    tvmffi_i_text_int(&b, value->v_int64);
  else if (value->type_index == kTVMFFIBigInt && value->v_obj)
    tvmffi_i_text_bigint(&b, TVMFFIBigIntGetContentByteArray(value));
  else
    return tvmffi_i_cannot_treat(value->type_index, "BigInt");
  TVMFFI_TRY(tvmffi_i_text_take_object(&b, &text));
  TVMFFI_I_GIVE(text);
}

TVMFFI_I_METHOD(i_bigint_from_json, "ffi.BigInt.__data_from_json__", any,
                (i_any_view, value)) {
  TVMFFIAny made = tvmffi_none();
  TVMFFIByteArray s;
  int negative;
  size_t i;
  if (tvmffi_i_get_str(value, &s))
    return tvmffi_i_cannot_treat(value->type_index, "str");
  negative = s.size && s.data[0] == '-';
  if (negative || (s.size && s.data[0] == '+')) ++s.data, --s.size;
  for (i = 0; i < s.size && s.data[i] >= '0' && s.data[i] <= '9'; ++i) {
  }
  if (!s.size || i < s.size)
    return tvmffi_i_fail("ValueError", "Invalid decimal string for ffi.BigInt");
  TVMFFI_TRY(tvmffi_i_digits_to_int(s.data, s.size, negative, &made));
  TVMFFI_I_GIVE(made);
}
#endif
