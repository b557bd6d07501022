/* ======== Decimal: numbers to and from decimal text === >>platform/decimal */
/* Converts integers and doubles to decimal text and back, correctly rounded.
   All arithmetic is on integers, so locale and floating-point support do not
   matter. Doubles are passed as their bits.

   A double is converted by multiplying its mantissa by a power of ten. The fast
   path computes the first 128 bits of the product. If these bits do not decide
   the rounding, the slow path computes the whole product. With -Os, only the
   slow path is compiled, because the fast path takes 1.4 KB. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "libc.h"

#if !TVMFFI_NO_EXTRA
#if defined(__OPTIMIZE_SIZE__)
#define TVMFFI_I_FAST_DECIMAL(condition) (0 && (condition))
#else
#define TVMFFI_I_FAST_DECIMAL(condition) (condition)
#endif
#define TVMFFI_I_DOUBLE_SIGN ((uint64_t)1 << 63)
#define TVMFFI_I_DOUBLE_INFINITY ((uint64_t)0x7FF << 52)
#define TVMFFI_I_DOUBLE_NAN ((uint64_t)0xFFF << 51)

/* -------- Arithmetic -------- */

/* Counts leading zero bits. */
TVMFFI_I_INLINE int tvmffi_i_high_zeros(uint64_t x) {
#if TVMFFI_I_GNU
  TVMFFI_ASSERT(x);
  return __builtin_clzll(x);
#else
  int n = 0;
  for (; !(x >> 63); x <<= 1) ++n;
  return n;
#endif
}

/* Returns the low half of the product a * b; stores the high half in
   `*high`. */
TVMFFI_I_INLINE uint64_t tvmffi_i_mul_64(uint64_t a, uint64_t b,
                                         uint64_t *high) {
#if TVMFFI_I_GNU && defined(__SIZEOF_INT128__)
  __extension__ typedef unsigned __int128 wide;
  wide product = (wide)a * b;
  *high = (uint64_t)(product >> 64);
  return (uint64_t)product;
#else
  uint64_t low = (a & UINT32_MAX) * (b & UINT32_MAX);
  uint64_t one = (a >> 32) * (b & UINT32_MAX) + (low >> 32);
  uint64_t two = (a & UINT32_MAX) * (b >> 32) + (one & UINT32_MAX);
  *high = (a >> 32) * (b >> 32) + (one >> 32) + (two >> 32);
  return two << 32 | (low & UINT32_MAX);
#endif
}

/* A big natural number in 32-bit limbs, the lowest first. The caller provides
   the memory of the limbs. */
typedef struct {
  size_t n; /* limbs in use; the highest is not 0 */
  uint32_t *limbs;
} tvmffi_i_big;

/* BIG_LIMBS have space for BIG_DIGITS digits, or for a mantissa times
   5^1145. */
enum { TVMFFI_I_BIG_LIMBS = 96, TVMFFI_I_BIG_DIGITS = 800 };

#define TVMFFI_I_NINE_DIGITS 1000000000u

static void tvmffi_i_big_mul(tvmffi_i_big *b, uint32_t factor, uint32_t add) {
  uint64_t carry = add;
  size_t i;
  TVMFFI_ASSERT(factor && (!b->n || b->limbs[b->n - 1]));
  for (i = 0; i < b->n; ++i) {
    carry += (uint64_t)b->limbs[i] * factor;
    b->limbs[i] = (uint32_t)carry;
    carry >>= 32;
  }
  if (carry) b->limbs[b->n++] = (uint32_t)carry;
}

/* Divides `b` in place. Returns the remainder. */
static uint32_t tvmffi_i_big_div(tvmffi_i_big *b, uint32_t by) {
  uint64_t rest = 0;
  size_t i;
  TVMFFI_ASSERT(by);
  for (i = b->n; i-- > 0;) {
    uint64_t part = rest << 32 | b->limbs[i];
    rest = tvmffi_i_divide(&part, by);
    b->limbs[i] = (uint32_t)part;
  }
  while (b->n && !b->limbs[b->n - 1]) --b->n;
  return (uint32_t)rest;
}

/* Appends the decimal digits in [p, end) to the number. Skips a decimal
   point. */
static void tvmffi_i_big_read(tvmffi_i_big *b, const char *p, const char *end) {
  uint32_t chunk = 0, scale = 1;
  while (p != end) {
    const char c = *p++;
    TVMFFI_ASSERT(c == '.' || (c >= '0' && c <= '9'));
    if (c != '.') {
      chunk = chunk * 10 + (uint32_t)(c - '0');
      scale *= 10;
    }
    if (scale < TVMFFI_I_NINE_DIGITS && p != end) continue;
    tvmffi_i_big_mul(b, scale, chunk);
    chunk = 0;
    scale = 1;
  }
}

/* Returns the first 64 bits of b * 10^power. The highest bit is set and stands
   for 2^*top. Sets `*lost` if any later bit of the product is not 0. Overwrites
   `b`. */
static uint64_t tvmffi_i_big_times_ten(tvmffi_i_big *b, int power, int *top,
                                       int *lost) {
  int left = power < 0 ? -power : power, more = 0, i;
  uint32_t factor;
  uint64_t x, below;
  size_t at;
  TVMFFI_ASSERT(b->n && b->limbs[b->n - 1]);
  if (power < 0) {
    /* 5^left has at most 7/3 * left + 1 bits. Adds zero limbs, so that the
       quotient has 64 bits. */
    more = (left * 7 / 3 + 130) / 32 - (int)b->n;
    if (more < 0) more = 0;
    memmove((void *)(b->limbs + more), b->limbs, b->n * sizeof(b->limbs[0]));
    memset((void *)b->limbs, 0, (size_t)more * sizeof(b->limbs[0]));
    b->n += (size_t)more;
    TVMFFI_ASSERT(b->n <= TVMFFI_I_BIG_LIMBS);
  }
  while (left) {
    for (factor = 1, i = 0; i < 13 && left; ++i, --left) factor *= 5;
    if (power > 0)
      tvmffi_i_big_mul(b, factor, 0);
    else
      *lost |= tvmffi_i_big_div(b, factor) != 0;
  }
  at = b->n;
  TVMFFI_ASSERT(at && at <= TVMFFI_I_BIG_LIMBS && (power >= 0 || at > 1));
  x = (uint64_t)b->limbs[--at] << 32;
  if (at) x |= b->limbs[--at];
  below = at ? (uint64_t)b->limbs[--at] << 32 : 0;
  while (at && !b->limbs[at - 1]) --at;
  *lost |= at != 0;
  i = tvmffi_i_high_zeros(x);
  *top = 32 * ((int)b->n - more) - 1 - i + power;
  *lost |= below << i != 0;
  return i ? x << i | below >> (64 - i) : x;
}

/* Returns twice / 2, rounded half to even. `lost` is 1 if nonzero bits below
   `twice` were dropped. */
TVMFFI_I_INLINE uint64_t tvmffi_i_round_half(uint64_t twice, int lost) {
  uint64_t x = twice >> 1;
  return x + ((twice & 1) & ((uint64_t)(lost != 0) | (x & 1)));
}

/* Rounds a number to a double. `x` is the first 64 bits of the number; the
   highest bit is set and stands for 2^top. `lost` is 1 if nonzero bits below x
   were dropped. Returns 0 on overflow or inexact underflow, where upstream's
   strtod sets ERANGE. */
static int tvmffi_i_make_double(uint64_t x, int lost, int top, uint64_t *out) {
  int drop = 11; /* bits of x below the mantissa */
  TVMFFI_ASSERT(x >> 63);
  if (top > 1023) return 0;
  if (top < -1022) {
    drop += -1022 - top;
    if (drop > 64) return 0;
    /* 54 leading ones round up to the smallest normal number. */
    if ((lost || x << (64 - drop)) &&
        (top != -1023 || x >> 10 != ((uint64_t)1 << 54) - 1))
      return 0;
  }
  *out = tvmffi_i_round_half(x >> (drop - 1), lost || x << (65 - drop));
  /* 1022, not 1023: the implicit bit of the mantissa adds 1 to the exponent. */
  if (drop == 11) *out += (uint64_t)(top + 1022) << 52;
  return *out < TVMFFI_I_DOUBLE_INFINITY;
}

/* Returns the bits of the double nearest to `x`. */
static uint64_t tvmffi_i_int_to_double(int64_t x) {
  uint64_t size = x < 0 ? 0 - (uint64_t)x : (uint64_t)x, bits = 0;
  int zeros = x ? tvmffi_i_high_zeros(size) : 0;
  if (x) (void)tvmffi_i_make_double(size << zeros, 0, 63 - zeros, &bits);
  return x < 0 ? bits | TVMFFI_I_DOUBLE_SIGN : bits;
}

/* -------- Powers of five -------- */

/* Powers of five, shifted so that the highest bit is set. First 5^0 to 5^26
   exactly; then the first 128 bits of 5^-27 to 5^-1; last those of 5^-54 and
   5^27. */
enum {
  TVMFFI_I_NUM_FIVES = 27,
  TVMFFI_I_MIN_POWER = -2 * TVMFFI_I_NUM_FIVES,
  TVMFFI_I_MAX_POWER = 2 * TVMFFI_I_NUM_FIVES - 1
};
static const uint64_t tvmffi_i_fives[TVMFFI_I_NUM_FIVES] = {
    0x8000000000000000u, 0xA000000000000000u, 0xC800000000000000u,
    0xFA00000000000000u, 0x9C40000000000000u, 0xC350000000000000u,
    0xF424000000000000u, 0x9896800000000000u, 0xBEBC200000000000u,
    0xEE6B280000000000u, 0x9502F90000000000u, 0xBA43B74000000000u,
    0xE8D4A51000000000u, 0x9184E72A00000000u, 0xB5E620F480000000u,
    0xE35FA931A0000000u, 0x8E1BC9BF04000000u, 0xB1A2BC2EC5000000u,
    0xDE0B6B3A76400000u, 0x8AC7230489E80000u, 0xAD78EBC5AC620000u,
    0xD8D726B7177A8000u, 0x878678326EAC9000u, 0xA968163F0A57B400u,
    0xD3C21BCECCEDA100u, 0x84595161401484A0u, 0xA56FA5B99019A5C8u};
static const uint64_t tvmffi_i_fifths[TVMFFI_I_NUM_FIVES][2] = {
    {0x9E74D1B791E07E48u, 0x775EA264CF55347Du},
    {0xC612062576589DDAu, 0x95364AFE032A819Du},
    {0xF79687AED3EEC551u, 0x3A83DDBD83F52204u},
    {0x9ABE14CD44753B52u, 0xC4926A9672793542u},
    {0xC16D9A0095928A27u, 0x75B7053C0F178293u},
    {0xF1C90080BAF72CB1u, 0x5324C68B12DD6338u},
    {0x971DA05074DA7BEEu, 0xD3F6FC16EBCA5E03u},
    {0xBCE5086492111AEAu, 0x88F4BB1CA6BCF584u},
    {0xEC1E4A7DB69561A5u, 0x2B31E9E3D06C32E5u},
    {0x9392EE8E921D5D07u, 0x3AFF322E62439FCFu},
    {0xB877AA3236A4B449u, 0x09BEFEB9FAD487C2u},
    {0xE69594BEC44DE15Bu, 0x4C2EBE687989A9B3u},
    {0x901D7CF73AB0ACD9u, 0x0F9D37014BF60A10u},
    {0xB424DC35095CD80Fu, 0x538484C19EF38C94u},
    {0xE12E13424BB40E13u, 0x2865A5F206B06FB9u},
    {0x8CBCCC096F5088CBu, 0xF93F87B7442E45D3u},
    {0xAFEBFF0BCB24AAFEu, 0xF78F69A51539D748u},
    {0xDBE6FECEBDEDD5BEu, 0xB573440E5A884D1Bu},
    {0x89705F4136B4A597u, 0x31680A88F8953030u},
    {0xABCC77118461CEFCu, 0xFDC20D2B36BA7C3Du},
    {0xD6BF94D5E57A42BCu, 0x3D32907604691B4Cu},
    {0x8637BD05AF6C69B5u, 0xA63F9A49C2C1B10Fu},
    {0xA7C5AC471B478423u, 0x0FCF80DC33721D53u},
    {0xD1B71758E219652Bu, 0xD3C36113404EA4A8u},
    {0x83126E978D4FDF3Bu, 0x645A1CAC083126E9u},
    {0xA3D70A3D70A3D70Au, 0x3D70A3D70A3D70A3u},
    {0xCCCCCCCCCCCCCCCCu, 0xCCCCCCCCCCCCCCCCu}};
static const uint64_t tvmffi_i_far_fives[2][2] = {
    {0xC428D05AA4751E4Cu, 0xAA97E14C3C26B886u},
    {0xCECB8F27F4200F3Au, 0x0000000000000000u}};

/* Returns the exponent of the highest bit of 5^power. */
TVMFFI_I_INLINE int tvmffi_i_power_bits(int power) {
  return (int)(((uint32_t)(power * 152170) + (4096u << 16)) >> 16) - 4096;
}

/* Slow path of tvmffi_i_mul_power: returns the first 64 bits of 5^power and
   stores the next 64 in `*below`. */
TVMFFI_I_NOINLINE uint64_t tvmffi_i_far_power(int power, uint64_t *below) {
  const uint64_t *coarse = tvmffi_i_far_fives[power > 0];
  const int i =
      power - (power > 0 ? TVMFFI_I_NUM_FIVES : TVMFFI_I_MIN_POWER);
  const uint64_t fine = tvmffi_i_fives[i];
  uint64_t five, carry, low = tvmffi_i_mul_64(fine, coarse[0], &five);
  TVMFFI_ASSERT(i >= 0 && i < TVMFFI_I_NUM_FIVES);
  (void)tvmffi_i_mul_64(fine, coarse[1], &carry);
  low += carry;
  five += low < carry;
  *below = five >> 63 ? low : low << 1;
  return five >> 63 ? five : five << 1 | low >> 63;
}

/* The error bound of tvmffi_i_mul_power: truncation makes its 128-bit result
   too small by less than 5. */
enum { TVMFFI_I_POWER_ERROR = 5 };

/* Returns the low half of the first 128 bits of x * 5^power, and stores the
   high half in `*high`. */
TVMFFI_I_INLINE uint64_t tvmffi_i_mul_power(uint64_t x, int power,
                                            uint64_t *high) {
  uint64_t five, below, low, carry;
  TVMFFI_ASSERT(x >> 63);
  TVMFFI_ASSERT(power >= TVMFFI_I_MIN_POWER && power <= TVMFFI_I_MAX_POWER);
  if (power >= 0 && power < TVMFFI_I_NUM_FIVES) {
    return tvmffi_i_mul_64(x, tvmffi_i_fives[power], high);
  }
  if (power < 0 && power >= -TVMFFI_I_NUM_FIVES) {
    five = tvmffi_i_fifths[power + TVMFFI_I_NUM_FIVES][0];
    below = tvmffi_i_fifths[power + TVMFFI_I_NUM_FIVES][1];
  } else {
    five = tvmffi_i_far_power(power, &below);
  }
  low = tvmffi_i_mul_64(x, five, high);
  (void)tvmffi_i_mul_64(x, below, &carry);
  low += carry;
  *high += low < carry;
  return low;
}

/* Rounds a product of tvmffi_i_mul_power. The last `shift` bits of `high` and
   all of `low` are the fraction. Returns 0 if the fraction is too close to a
   half to decide, else 1. */
TVMFFI_I_INLINE int tvmffi_i_round_product(uint64_t high, uint64_t low,
                                           int shift, uint64_t *out) {
  const uint64_t half = (uint64_t)1 << (shift - 1);
  const uint64_t rest = high & (2 * half - 1);
  TVMFFI_ASSERT(shift > 0 && shift < 64);
  if ((rest == half && !low) ||
      (rest == half - 1 && low > UINT64_MAX - TVMFFI_I_POWER_ERROR))
    return 0;
  *out = ((high >> (shift - 1)) + 1) >> 1;
  return 1;
}

/* -------- Text to double -------- */

/* Stores the double nearest to x * 10^power in `*out`. Returns 0 if the fast
   path cannot decide. (After D. Lemire, Number Parsing at a Gigabyte per
   Second, 2021.) */
static int tvmffi_i_short_to_double(uint64_t x, int64_t power, uint64_t *out) {
  uint64_t high, low;
  int zeros, ten = (int)power, is_short;
  *out = 0;
  if (!x) return 1;
  if (power < TVMFFI_I_MIN_POWER || power > TVMFFI_I_MAX_POWER) return 0;
  zeros = tvmffi_i_high_zeros(x);
  low = tvmffi_i_mul_power(x << zeros, ten, &high);
  is_short = !(high >> 63);
  if (!tvmffi_i_round_product(high, low, 11 - is_short, out)) return 0;
  /* 1022, not 1023: the implicit bit of the mantissa adds 1 to the exponent. */
  *out += (uint64_t)(64 - is_short - zeros + tvmffi_i_power_bits(ten) + ten +
                     1022)
          << 52;
  TVMFFI_ASSERT(*out < TVMFFI_I_DOUBLE_INFINITY && *out >> 52);
  return 1;
}

/* Stores the double nearest to n * 10^power in `*out`; n is the number with the
   digits in [p, end). Skips a decimal point. Returns 0 on overflow or inexact
   underflow. */
TVMFFI_I_NOINLINE int tvmffi_i_digits_to_double(const char *p, const char *end,
                                                int64_t power, uint64_t *out) {
  uint32_t limbs[TVMFFI_I_BIG_LIMBS];
  tvmffi_i_big b = {0, limbs};
  int lost = 0, top;
  uint64_t x;
  while (p != end && (*p == '0' || *p == '.')) ++p;
  *out = 0;
  if (p == end) return 1;
  while (end - p > TVMFFI_I_BIG_DIGITS) {
    if (*--end == '.') continue;
    lost |= *end != '0';
    ++power;
  }
  /* A point counts as a digit, so the limits have a margin. */
  if (end - p + power > 310 || end - p + power < -330) return 0;
  tvmffi_i_big_read(&b, p, end);
  x = tvmffi_i_big_times_ten(&b, (int)power, &top, &lost);
  return tvmffi_i_make_double(x, lost, top, out);
}

/* -------- Double to text -------- */

/* Returns floor(log10(2^bits)). A number from 2^bits to 2^(bits + 1) has the
   same floor(log10) or one more. log10(2) is between 78913 / 2^18 and 315653 /
   2^20. */
TVMFFI_I_INLINE int tvmffi_i_log10(int bits) {
  return bits < 0 ? -((-bits * 315653 + 1048575) / 1048576)
                  : bits * 78913 / 262144;
}

/* 10^6 and 10^17: repr prints 6 digits of a double, JSON 17. */
#define TVMFFI_I_TEN_6 1000000u
#define TVMFFI_I_TEN_17 ((uint64_t)100000000000000000u)

/* Slow path of tvmffi_i_first_digits. On entry, `*x` is the decimal exponent or
   one less. Stores the right exponent. */
TVMFFI_I_NOINLINE uint64_t tvmffi_i_first_digits_slowly(uint64_t mantissa,
                                                        int power, int n,
                                                        int *x) {
  uint64_t twice;
  int lost = 0, top, shift;
  uint32_t limbs[TVMFFI_I_BIG_LIMBS];
  tvmffi_i_big b = {0, limbs};
  limbs[0] = (uint32_t)mantissa;
  limbs[1] = (uint32_t)(mantissa >> 32);
  b.n = limbs[1] ? 2 : 1;
  twice = tvmffi_i_big_times_ten(&b, n - 1 - *x, &top, &lost);
  shift = 62 - top - power; /* fraction bits of `twice` */
  TVMFFI_ASSERT(shift > 0 && shift < 64);
  lost |= twice << (64 - shift) != 0;
  twice >>= shift;
  if (twice >= 2 * (n == 17 ? TVMFFI_I_TEN_17 : TVMFFI_I_TEN_6)) {
    lost |= tvmffi_i_divide(&twice, 10) != 0;
    ++*x;
  }
  return tvmffi_i_round_half(twice, lost);
}

/* Returns the first `n` digits (6 or 17) of a positive double as an integer,
   rounded half to even. Stores the decimal exponent in `*x`. */
TVMFFI_I_INLINE uint64_t tvmffi_i_first_digits(uint64_t bits, int n, int *x) {
  const uint64_t top = (uint64_t)1 << 52;
  const uint64_t limit = n == 17 ? TVMFFI_I_TEN_17 : TVMFFI_I_TEN_6;
  uint64_t mantissa = bits & (top - 1), high, low, digits = 0;
  int power = (int)(bits >> 52), is_known = 0, zeros, shift, ten, first;
  TVMFFI_ASSERT(bits && bits < TVMFFI_I_DOUBLE_INFINITY);
  TVMFFI_ASSERT(n == 6 || n == 17);
  if (power)
    mantissa |= top;
  else
    power = 1;
  power -= 1075;
  zeros = tvmffi_i_high_zeros(mantissa);
  *x = first = tvmffi_i_log10(power + 63 - zeros);
  ten = n - 1 - first;
  if (TVMFFI_I_FAST_DECIMAL(ten > TVMFFI_I_MIN_POWER &&
                            ten <= TVMFFI_I_MAX_POWER)) {
    for (;; --ten, ++*x) {
      low = tvmffi_i_mul_power(mantissa << zeros, ten, &high);
      /* The last `shift` bits of `high` are a fraction. */
      shift = zeros - 1 - power - ten - tvmffi_i_power_bits(ten);
      if (high >> shift < limit) break;
    }
    is_known = tvmffi_i_round_product(high, low, shift, &digits);
  }
  if (!is_known) {
    *x = first;
    digits = tvmffi_i_first_digits_slowly(mantissa, power, n, x);
  }
  TVMFFI_ASSERT(digits >= limit / 10 && digits <= limit);
  if (digits < limit) return digits;
  ++*x;
  (void)tvmffi_i_divide(&digits, 10);
  return digits;
}

/* Writes a positive double as printf's "%.*g" does, with precision 6 or 17.
   Returns the length, at most 23. */
static size_t tvmffi_i_print_double(char *to, uint64_t bits, int precision) {
  char digits[17], *p;
  int x;
  const uint64_t all = tvmffi_i_first_digits(bits, precision, &x);
  const int is_fixed = x >= 0 && x < precision;
  const size_t point = is_fixed ? (size_t)x + 1 : 1; /* digits before it */
  size_t n = (size_t)precision, at = point;
  TVMFFI_ASSERT(x >= -324 && x <= 308);
  (void)tvmffi_i_digits_before(digits + n, all, 10, precision);
  while (n > 1 && digits[n - 1] == '0') --n;
  if (x >= -4 && x < 0) {
    memcpy(to, "0.000", 5);
    at = (size_t)(1 - x);
    memcpy(to + at, digits, n);
    return at + n;
  }
  memcpy(to, digits, point);
  if (n > point) {
    to[at++] = '.';
    memcpy(to + at, digits + point, n - point);
    at += n - point;
  }
  if (is_fixed) return at;
  to[at++] = 'e';
  to[at++] = x < 0 ? '-' : '+';
  p = tvmffi_i_digits_before(digits + 3, (uint64_t)(x < 0 ? -x : x), 10, 2);
  n = (size_t)(digits + 3 - p);
  memcpy(to + at, p, n);
  TVMFFI_ASSERT(at + n <= 23);
  return at + n;
}
#endif
