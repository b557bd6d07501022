/* ======== Limbs: long numbers to another base ============ >>platform/limbs */

#pragma once

#include "../head.h"
#include "libc.h"
#include "platform_knot.h"
#include "memory.h"

#if !TVMFFI_NO_EXTRA
/* Converts big integers between binary and decimal. Combines pairs of limbs
   into numbers of the other base, then pairs of these numbers, and so on. With
   Karatsuba multiplication a million digits take about half a second. */

/* A number is an array of limbs, lowest first, each below `base`; base 0 means
   2^32. 64-bit limbs would halve the time, but their division needs libgcc. */
typedef uint32_t tvmffi_i_limb;
#define TVMFFI_I_DECIMAL_LIMB ((tvmffi_i_limb)1000000000u)
enum {
  TVMFFI_I_LIMB_DIGITS = 9,
  TVMFFI_I_LIMB_BITS = 29,
  /* How many products of two decimal limbs fit in a 64-bit sum. */
  TVMFFI_I_SHORT_PRODUCT = 16
};

/* Computes x += y, `n` limbs each. Returns the carry. */
static tvmffi_i_limb tvmffi_i_limbs_add(tvmffi_i_limb *x,
                                        const tvmffi_i_limb *y, size_t n,
                                        tvmffi_i_limb base) {
  tvmffi_i_limb carry = 0, sum;
  size_t i;
  for (i = 0; i < n; ++i) {
    sum = x[i] + y[i] + carry;
    carry = base ? sum >= base : (sum < x[i]) | (carry & (sum == x[i]));
    x[i] = sum - (base & (0 - carry)); /* branch-free */
  }
  return carry;
}

/* Computes to = x - y, `n` limbs each. Returns the borrow. */
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

/* Computes to = |x - y|, `n` limbs each. Returns 1 if x < y, else 0. */
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

/* Computes to = x * y by the schoolbook method. In decimal, adds up a whole
   column before the slow division by the base. */
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

/* Computes to = x * y by Karatsuba's method; `n` is a power of two. `room` is
   scratch of 4n limbs. The recursion depth is log2(n). */
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

/* Allocates `*n` zeroed limbs, and scratch to convert them. Sets *n to the next
   power of two not below `used`. Returns NULL with the error raised on
   failure. */
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

/* Converts `x` in place from base `from` to the larger `base`. */
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
#endif
