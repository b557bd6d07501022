/* ======== Big integer text ============================== >>extra/bigint_text
   big integers to and from decimal */

#pragma once

#include "../head/config.h"
#include "../head/abi.h"
#include "../platform/libc.h"
#include "../platform/memory.h"
#include "../platform/text.h"
#include "../core/raise.h"
#include "../core/bigint.h"

#if !TVMFFI_NO_EXTRA
/* Between binary and decimal by divide and conquer, both ways the same: digits
   of one base are read as a polynomial, which is evaluated in the arithmetic of
   the other base. With Karatsuba's multiplication a million digits take about
   half a second. Limbs of 64 bits would take half of that, and their divisions
   need the compiler's library. A number is an array of limbs, the lowest first,
   each below `base`, where 0 means all values of a limb. */
typedef uint32_t tvmffi_i_limb;
#define TVMFFI_I_DECIMAL_LIMB ((tvmffi_i_limb)1000000000u)
enum {
  TVMFFI_I_LIMB_DIGITS = 9,
  TVMFFI_I_LIMB_BITS = 29,
  TVMFFI_I_SHORT_PRODUCT = 16 /* a 64-bit sum holds so many decimal products */
};

/* x += y, of `n` limbs each; gives the carry. */
static tvmffi_i_limb tvmffi_i_limbs_add(tvmffi_i_limb *x,
                                        const tvmffi_i_limb *y, size_t n,
                                        tvmffi_i_limb base) {
  tvmffi_i_limb carry = 0, sum;
  size_t i;
  for (i = 0; i < n; ++i) {
    sum = x[i] + y[i] + carry;
    carry = base ? sum >= base : (sum < x[i]) | (carry & (sum == x[i]));
    x[i] = sum - (base & (0 - carry)); /* without a branch on the carry */
  }
  return carry;
}

/* to = x - y, of `n` limbs each; gives the borrow. */
static tvmffi_i_limb tvmffi_i_limbs_sub(tvmffi_i_limb *to,
                                        const tvmffi_i_limb *x,
                                        const tvmffi_i_limb *y, size_t n,
                                        tvmffi_i_limb base) {
  tvmffi_i_limb borrow = 0, difference;
  size_t i;
  for (i = 0; i < n; ++i) {
    difference = x[i] - y[i] - borrow;
    borrow = (x[i] < y[i]) | (borrow & (x[i] == y[i]));
    to[i] = difference + (base & (0 - borrow));
  }
  return borrow;
}

/* to = |x - y|; gives whether x < y. */
static int tvmffi_i_limbs_distance(tvmffi_i_limb *to, const tvmffi_i_limb *x,
                                   const tvmffi_i_limb *y, size_t n,
                                   tvmffi_i_limb base) {
  size_t i = n;
  while (i && x[i - 1] == y[i - 1]) --i;
  if (i && x[i - 1] < y[i - 1]) {
    (void)tvmffi_i_limbs_sub(to, y, x, n, base);
    return 1;
  }
  (void)tvmffi_i_limbs_sub(to, x, y, n, base);
  return 0;
}

/* The product of two short numbers: row by row where a carry costs nothing,
   column by column where it costs a division. */
static void tvmffi_i_limbs_mul_short(tvmffi_i_limb *to, const tvmffi_i_limb *x,
                                     const tvmffi_i_limb *y, size_t n,
                                     tvmffi_i_limb base) {
  uint64_t sum = 0, carry;
  size_t i, k;
  if (base) {
    for (k = 0; k < 2 * n; ++k) {
      for (i = k < n ? 0 : k - n + 1; i < n && i <= k; ++i)
        sum += (uint64_t)x[i] * y[k - i];
      to[k] = (tvmffi_i_limb)(sum % TVMFFI_I_DECIMAL_LIMB);
      sum /= TVMFFI_I_DECIMAL_LIMB;
    }
    return;
  }
  memset((void *)to, 0, n * sizeof(*to));
  for (i = 0; i < n; ++i) {
    for (carry = 0, k = 0; k < n; ++k) {
      sum = (uint64_t)x[i] * y[k] + to[i + k] + carry;
      to[i + k] = (tvmffi_i_limb)sum;
      carry = sum >> (8 * sizeof(tvmffi_i_limb));
    }
    to[i + n] = (tvmffi_i_limb)carry;
  }
}

/* The product of two numbers of `n` limbs, a power of two (Karatsuba). `room`
   is for 4n limbs. The recursion is as deep as the logarithm of n. */
static void tvmffi_i_limbs_mul(tvmffi_i_limb *to, const tvmffi_i_limb *x,
                               const tvmffi_i_limb *y, size_t n,
                               tvmffi_i_limb base, tvmffi_i_limb *room) {
  size_t h = n / 2, i;
  tvmffi_i_limb carry, *product = room + n;
  int is_sum;
  if (n <= TVMFFI_I_SHORT_PRODUCT) {
    tvmffi_i_limbs_mul_short(to, x, y, n, base);
    return;
  }
  tvmffi_i_limbs_mul(to, x, y, h, base, room);
  tvmffi_i_limbs_mul(to + n, x + h, y + h, h, base, room);
  is_sum = tvmffi_i_limbs_distance(room, x, x + h, h, base);
  is_sum ^= tvmffi_i_limbs_distance(room + h, y, y + h, h, base);
  tvmffi_i_limbs_mul(product, room, room + h, h, base, room + 2 * n);
  memcpy((void *)room, to, n * sizeof(*to));
  carry = tvmffi_i_limbs_add(room, to + n, n, base);
  if (is_sum)
    carry += tvmffi_i_limbs_add(room, product, n, base);
  else
    carry -= tvmffi_i_limbs_sub(room, room, product, n, base);
  carry += tvmffi_i_limbs_add(to + h, room, n, base);
  for (i = h + n; carry && i < 2 * n; ++i) {
    to[i] += carry;
    carry = base ? to[i] >= base : to[i] < carry;
    if (carry) to[i] -= base;
  }
}

/* Memory for a number of `used` limbs that is to be converted, all 0, or NULL
   with the error raised. *n becomes the number of limbs of its result. */
static tvmffi_i_limb *tvmffi_i_limbs_new(size_t used, size_t *n) {
  tvmffi_i_limb *x = NULL;
  for (*n = 1; *n < used;) *n *= 2;
  if (used < PTRDIFF_MAX / (16 * sizeof(*x)))
    x = (tvmffi_i_limb *)tvmffi_i_alloc(*n * 5 * sizeof(*x));
  if (!x) {
    (void)tvmffi_i_no_memory();
    return x;
  }
  memset((void *)x, 0, *n * sizeof(*x));
  return x;
}

/* Converts a number in the base `from`, which is below `base`, in place. */
static void tvmffi_i_limbs_convert(tvmffi_i_limb *x, size_t used, size_t n,
                                   tvmffi_i_limb from, tvmffi_i_limb base) {
  tvmffi_i_limb *power = x + n, *product = power + n, *room = product + n;
  size_t size, i;
  power[0] = from;
  for (size = 1; size < n; size *= 2) {
    for (i = 0; i + size < used; i += 2 * size) {
      tvmffi_i_limbs_mul(product, x + i + size, power, size, base, room);
      if (tvmffi_i_limbs_add(product, x + i, size, base)) {
        size_t k = size;
        while (++product[k] == base) product[k++] = 0;
      }
      memcpy((void *)(x + i), product, 2 * size * sizeof(*x));
    }
    if (2 * size == n) break;
    tvmffi_i_limbs_mul(product, power, power, size, base, room);
    memcpy((void *)power, product, 2 * size * sizeof(*x));
  }
}

/* Appends a big integer in decimal, given by its words. */
static void tvmffi_i_text_bigint(tvmffi_i_text_buffer *b,
                                 TVMFFIByteArray words) {
  const size_t width = TVMFFI_I_LIMB_BITS;
  size_t size = words.size / 8, n, i;
  size_t used = size / width * 64 + size % width * 64 / width + 1;
  uint64_t negative = size && tvmffi_i_word(words.data, size - 1) < 0;
  uint64_t carry = negative, word = 0, at;
  tvmffi_i_limb *x = tvmffi_i_limbs_new(used, &n), limb;
  unsigned bits = 0, k;
  char *room, *p;
  room = x ? tvmffi_i_text_room(b, used * TVMFFI_I_LIMB_DIGITS + 1) : NULL;
  if (!room) {
    b->failed = 1;
    tvmffi_i_free(x);
    return;
  }
  /* The magnitude, LIMB_BITS of it in each limb. */
  for (at = 0; at / 64 < size; at += bits) {
    k = (unsigned)(at % 64);
    if (!k) {
      word = (uint64_t)tvmffi_i_word(words.data, (size_t)(at / 64));
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
#endif
