/* ======== Big integer text ============================== >>extra/bigint_text
   big integers to and from decimal */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"

#if !TVMFFI_NO_EXTRA
/* Numbers are converted in 32-bit limbs, the lowest first, nine digits at a
   time. */
#define TVMFFI_I_NINE_DIGITS 1000000000u

/* Negates a number in place: n 64-bit words in two's complement, the lowest
   first. */
static void tvmffi_i_negate_words(char *words, size_t n) {
  uint64_t word, carry = 1;
  size_t i;
  for (i = 0; i < n; ++i) {
    word = ~(uint64_t)tvmffi_i_bigint_word(words, i) + carry;
    carry &= word == 0;
    memcpy(words + 8 * i, &word, 8);
  }
}

/* Appends a big integer in decimal. `words` is its value in two's complement,
   as 64-bit words, the lowest first. Takes quadratic time. */
static void tvmffi_i_text_bigint(tvmffi_i_text_buffer *b,
                                 TVMFFIByteArray words) {
  size_t num_words = words.size / 8, n = 2 * num_words, i;
  int negative =
      num_words && tvmffi_i_bigint_word(words.data, num_words - 1) < 0;
  uint32_t *x = (uint32_t *)tvmffi_i_alloc(words.size + 1);
  uint32_t rest[4], limb;
  uint64_t word;
  /* A limb has at most ten digits. The rest is for the zeros that the last pass
     may write, and for the sign. */
  size_t most = 10 * n + 38, k;
  char *room = x ? tvmffi_i_text_reserve(b, most) : NULL, *end, *p;
  if (!room) {
    b->failed = 1;
    tvmffi_i_free(x);
    return;
  }
  memcpy((void *)x, words.data, words.size);
  if (negative) tvmffi_i_negate_words((char *)x, num_words);
  for (i = 0; i < num_words; ++i) {
    memcpy(&word, x + 2 * i, 8);
    x[2 * i] = (uint32_t)word;
    x[2 * i + 1] = (uint32_t)(word >> 32);
  }
  p = end = room + most;
  do { /* four divisions in one pass, which the processor overlaps */
    memset(rest, 0, sizeof(rest));
    for (i = n; i-- > 0; x[i] = limb) {
      for (limb = x[i], k = 0; k < 4; ++k) {
        word = (uint64_t)rest[k] << 32 | limb;
        limb = (uint32_t)(word / TVMFFI_I_NINE_DIGITS);
        rest[k] = (uint32_t)(word % TVMFFI_I_NINE_DIGITS);
      }
    }
    while (n && !x[n - 1]) --n;
    for (k = 0; k < 4; ++k) p = tvmffi_i_digits_before(p, rest[k], 10, 9);
  } while (n);
  tvmffi_i_free(x);
  while (p + 1 < end && *p == '0') ++p;
  if (negative) *--p = '-';
  memmove(room, p, (size_t)(end - p));
  b->size += (size_t)(end - p);
}

/* Converts `digits` decimal digits at p to an int or a big integer. `digits` is
   at least 1. Takes quadratic time. */
static int tvmffi_i_digits_to_int(const char *p, size_t digits, int negative,
                                  TVMFFIAny *out) {
  /* A word, two limbs, holds at least 18 digits. The division rounds down,
     which needs one more word, and the sign another one. */
  size_t words = digits / 18 + 2, n = 0, i, k;
  uint32_t *x = (uint32_t *)tvmffi_i_alloc(words * 8), scale = 1;
  TVMFFIByteArray content;
  uint64_t word = 0;
  int code;
  if (!x) return tvmffi_i_no_memory();
  memset((void *)x, 0, words * 8);
  for (i = 0; i < digits; ++i) {
    word = word * 10 + (uint64_t)(p[i] - '0');
    scale *= 10;
    if (scale < TVMFFI_I_NINE_DIGITS && i + 1 < digits) continue;
    for (k = 0; k < n; ++k, word >>= 32) {
      word += (uint64_t)x[k] * scale;
      x[k] = (uint32_t)word;
    }
    if (word) x[n++] = (uint32_t)word;
    word = 0;
    scale = 1;
  }
  for (i = 0; i < words; ++i) {
    word = x[2 * i] | (uint64_t)x[2 * i + 1] << 32;
    memcpy(x + 2 * i, &word, 8);
  }
  content.data = (const char *)x;
  content.size = words * 8;
  if (negative) tvmffi_i_negate_words((char *)x, words);
  code = TVMFFIBigIntFromByteArray(&content, out);
  tvmffi_i_free(x);
  return code;
}
#endif
