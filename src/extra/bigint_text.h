/* ======== Big integer text ============================== >>extra/bigint_text
   big integers to and from decimal */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"

#if !TVMFFI_NO_EXTRA
/* Appends a big integer in decimal. `words` is its value in two's complement,
   as 64-bit words, the lowest first. Takes quadratic time. */
static void tvmffi_i_text_bigint(tvmffi_i_text_buffer *b,
                                 TVMFFIByteArray words) {
  const size_t n = words.size / 4;
  const int negative =
      n && tvmffi_i_bigint_word(words.data, n / 2 - 1) < 0;
  const uint64_t flip = negative ? UINT32_MAX : 0;
  /* A limb has at most ten digits. The rest is for the zeros that the last
     division may write, and for the sign. */
  const size_t most = 10 * n + 10;
  uint64_t carry = (uint64_t)negative;
  tvmffi_i_big x = {0, NULL};
  char *room, *end, *p;
  TVMFFI_ASSERT(words.size % 8 == 0);
  x.limbs = (uint32_t *)tvmffi_i_alloc(words.size + 1);
  room = x.limbs ? tvmffi_i_text_reserve(b, most) : NULL;
  if (!room) {
    b->failed = 1;
    tvmffi_i_free(x.limbs);
    return;
  }
  for (; x.n < n; ++x.n, carry >>= 32) {
    uint64_t word = (uint64_t)tvmffi_i_bigint_word(words.data, x.n / 2);
    carry += (uint32_t)(word >> (32 * (x.n & 1))) ^ flip;
    x.limbs[x.n] = (uint32_t)carry;
  }
  TVMFFI_ASSERT(x.n == n && !carry);
  p = end = room + most;
  do
    p = tvmffi_i_digits_before(p, tvmffi_i_big_div(&x, TVMFFI_I_NINE_DIGITS),
                               10, 9);
  while (x.n);
  tvmffi_i_free(x.limbs);
  TVMFFI_ASSERT(p > room);
  while (p + 1 < end && *p == '0') ++p;
  if (negative) *--p = '-';
  memmove(room, p, (size_t)(end - p));
  b->size += (size_t)(end - p);
}

/* Converts `digits` decimal digits at p to an int or a big integer. Takes
   quadratic time. */
static int tvmffi_i_digits_to_int(const char *p, size_t digits, int negative,
                                  TVMFFIAny *out) {
  /* A word, two limbs, holds at least 18 digits. The division rounds down,
     which needs one more word, and the sign another one. */
  const size_t words = digits / 18 + 2;
  const uint64_t flip = negative ? UINT64_MAX : 0;
  uint64_t word, carry = (uint64_t)negative;
  tvmffi_i_big x = {0, NULL};
  TVMFFIByteArray content;
  size_t i;
  int code;
  TVMFFI_ASSERT(digits > 0);
  x.limbs = (uint32_t *)tvmffi_i_alloc(words * 8);
  if (!x.limbs) return tvmffi_i_no_memory();
  memset((void *)x.limbs, 0, words * 8);
  tvmffi_i_big_read(&x, p, p + digits);
  TVMFFI_ASSERT(x.n <= 2 * words - 2);
  for (i = 0; i < words; ++i) {
    word = x.limbs[2 * i] | (uint64_t)x.limbs[2 * i + 1] << 32;
    word = (word ^ flip) + carry;
    carry &= word == 0;
    memcpy(x.limbs + 2 * i, &word, 8);
  }
  content.data = (const char *)x.limbs;
  content.size = words * 8;
  code = TVMFFIBigIntFromByteArray(&content, out);
  tvmffi_i_free(x.limbs);
  return code;
}
#endif
