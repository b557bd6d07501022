/* ======== Big integer JSON: big integers in graphs === >>extra/bigint_json */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/word.h"
#include "../interface/mismatch.h"
#include "../interface/function.h"
#include "../platform/libc.h"
#include "../platform/memory.h"
#include "../platform/text.h"
#include "../core/raise.h"
#include "../reflection/access_path.h"
#include "bigint_text.h"
#include "json_write.h"

#if !TVMFFI_NO_EXTRA
TVMFFI_I_TYPE(i_any_view, const TVMFFIAny *, "AnyView", "Any")
TVMFFI_I_GET(i_any_view) {
  *out = any;
  return 0;
}

TVMFFI_I_COLD int tvmffi_i_not_as(const TVMFFIAny *value, const char *type) {
  return tvmffi_i_fail("TypeError", "Cannot treat type `%s` as type `%s`",
                       tvmffi_i_type_key(value->type_index), type);
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
    return tvmffi_i_not_as(value, "BigInt");
  TVMFFI_TRY(tvmffi_i_text_take_object(&b, &text));
  TVMFFI_RETURN(text);
}

/* Makes an integer of decimal digits, of which there is one at least. */
static int tvmffi_i_digits_to_int(const char *p, size_t digits, int negative,
                                  TVMFFIAny *out) {
  size_t used = (digits - 1) / TVMFFI_I_LIMB_DIGITS + 1, n, words, i;
  tvmffi_i_limb *x = tvmffi_i_limbs_new(used, &n);
  TVMFFIByteArray content;
  uint64_t word, carry = 1;
  char *to;
  int code;
  if (!x) return -1;
  for (i = 0; i < digits; ++i) {
    tvmffi_i_limb *limb = &x[(digits - 1 - i) / TVMFFI_I_LIMB_DIGITS];
    *limb = *limb * 10 + (tvmffi_i_limb)(p[i] - '0');
  }
  tvmffi_i_limbs_convert(x, used, n, TVMFFI_I_DECIMAL_LIMB, 0);
  /* One word more, for the sign. */
  words = used * sizeof(*x) / 8 + 1;
  to = (char *)tvmffi_i_alloc(words * 8);
  if (!to) {
    tvmffi_i_free(x);
    return tvmffi_i_no_memory();
  }
  for (i = 0; i < words; ++i) {
    size_t at = i * 8 / sizeof(*x);
    word = at < n ? x[at] : 0;
    if (sizeof(*x) == 4 && at + 1 < n) word |= (uint64_t)x[at + 1] << 32;
    if (negative) {
      word = ~word + carry;
      carry &= word == 0;
    }
    memcpy(to + 8 * i, &word, 8);
  }
  tvmffi_i_free(x);
  content.data = to;
  content.size = words * 8;
  code = TVMFFIBigIntFromByteArray(&content, out);
  tvmffi_i_free(to);
  return code;
}

TVMFFI_I_METHOD(i_bigint_from_json, "ffi.BigInt.__data_from_json__", any,
                (i_any_view, value)) {
  TVMFFIAny made = tvmffi_none();
  TVMFFIByteArray s;
  int negative;
  size_t i;
  if (tvmffi_i_get_str(value, &s)) return tvmffi_i_not_as(value, "str");
  negative = s.size && s.data[0] == '-';
  if (negative || (s.size && s.data[0] == '+')) ++s.data, --s.size;
  for (i = 0; i < s.size && s.data[i] >= '0' && s.data[i] <= '9'; ++i) {
  }
  if (!s.size || i < s.size)
    return tvmffi_i_fail("ValueError", "Invalid decimal string for ffi.BigInt");
  TVMFFI_TRY(tvmffi_i_digits_to_int(s.data, s.size, negative, &made));
  TVMFFI_RETURN(made);
}
#endif
