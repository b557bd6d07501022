/* ======== Big integer text ============================== >>extra/bigint_text
   big integers to and from decimal */

#pragma once

#include "../head.h"
#include "../platform.h"
#include "../core.h"

#if !TVMFFI_NO_EXTRA
/* Appends a big integer in decimal. `words` is its value in two's complement,
   as 64-bit words, the lowest first. */
static void tvmffi_i_text_bigint(tvmffi_i_text_buffer *b,
                                 TVMFFIByteArray words) {
  const size_t width = TVMFFI_I_LIMB_BITS;
  size_t size = words.size / 8, n, i;
  size_t used = size / width * 64 + size % width * 64 / width + 1;
  uint64_t negative = size && tvmffi_i_bigint_word(words.data, size - 1) < 0;
  uint64_t carry = negative, word = 0, at;
  tvmffi_i_limb *x = tvmffi_i_limbs_new(used, &n), limb;
  unsigned bits = 0, k;
  char *room, *p;
  room = x ? tvmffi_i_text_reserve(b, used * TVMFFI_I_LIMB_DIGITS + 1) : NULL;
  if (!room) {
    b->failed = 1;
    tvmffi_i_free(x);
    return;
  }
  /* Splits the magnitude into limbs of LIMB_BITS bits. */
  for (at = 0; at / 64 < size; at += bits) {
    k = (unsigned)(at % 64);
    if (!k) {
      word = (uint64_t)tvmffi_i_bigint_word(words.data, (size_t)(at / 64));
      word = (word ^ (0 - negative)) + carry;
      carry &= word == 0;
    }
    bits = (unsigned)(width - at % width);
    if (bits > 64 - k) bits = 64 - k;
    limb = (tvmffi_i_limb)(word >> k & (((uint64_t)1 << bits) - 1));
    x[at / width] |= limb << at % width;
  }
  tvmffi_i_limbs_convert(x, used, n, (tvmffi_i_limb)1 << TVMFFI_I_LIMB_BITS,
                         TVMFFI_I_DECIMAL_LIMB);
  n = used * TVMFFI_I_LIMB_DIGITS;
  p = room + n + 1;
  for (i = 0; i < used; ++i)
    for (limb = x[i], k = 0; k < TVMFFI_I_LIMB_DIGITS; ++k, limb /= 10)
      *--p = (char)('0' + limb % 10);
  tvmffi_i_free(x);
  while (n > 1 && *p == '0') ++p, --n;
  if (negative) *--p = '-', ++n;
  memmove(room, p, n);
  b->size += n;
}

/* Converts `digits` decimal digits at p to an int or a big integer. `digits` is
   at least 1. */
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
  /* Adds one 64-bit word for the sign. */
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
#endif
