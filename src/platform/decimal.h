/* ======== Decimal: numbers to and from decimal text === >>platform/decimal */
/* JSON texts (RFC 8259) to values and back, with what upstream's json_parser.cc
   and json_writer.cc take and give beyond it: NaN, Infinity, and numbers such
   as "01" and "+.5". Numbers are exact and made of integers alone, so neither
   a locale nor a build without floating-point code changes them. Nesting is
   kept on a stack in memory, so it may be as deep as memory allows. No shared
   state: threads may read and write texts at once. */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "libc.h"

#if !TVMFFI_NO_EXTRA
/* The bits of doubles. */
#define TVMFFI_I_DOUBLE_SIGN ((uint64_t)1 << 63)
#define TVMFFI_I_DOUBLE_INFINITY ((uint64_t)0x7FF << 52)
#define TVMFFI_I_DOUBLE_NAN ((uint64_t)0xFFF << 51)

/* A natural number, the lowest limb first. It has to hold 800 digits, or the
   product of a mantissa and 5^1145. */
enum { TVMFFI_I_BIG_LIMBS = 96, TVMFFI_I_BIG_DIGITS = 800 };
typedef struct {
  int n; /* the limbs in use; the highest is not 0 */
  uint32_t limbs[TVMFFI_I_BIG_LIMBS];
} tvmffi_i_big;

static void tvmffi_i_big_set(tvmffi_i_big *b, uint64_t x) {
  b->limbs[0] = (uint32_t)x;
  b->limbs[1] = (uint32_t)(x >> 32);
  b->n = x >> 32 ? 2 : x != 0;
}

static void tvmffi_i_big_mul(tvmffi_i_big *b, uint32_t factor, uint32_t add) {
  uint64_t carry = add;
  int i;
  for (i = 0; i < b->n; ++i) {
    carry += (uint64_t)b->limbs[i] * factor;
    b->limbs[i] = (uint32_t)carry;
    carry >>= 32;
  }
  if (carry) b->limbs[b->n++] = (uint32_t)carry;
}

/* Divides; gives the remainder. */
static uint32_t tvmffi_i_big_div(tvmffi_i_big *b, uint32_t by) {
  uint64_t rest = 0;
  int i;
  for (i = b->n; i-- > 0;) {
    rest = rest << 32 | b->limbs[i];
    b->limbs[i] = (uint32_t)(rest / by);
    rest %= by;
  }
  while (b->n && !b->limbs[b->n - 1]) --b->n;
  return (uint32_t)rest;
}

static int tvmffi_i_big_bits(const tvmffi_i_big *b) {
  int bits = b->n * 32;
  uint32_t top = b->n ? b->limbs[b->n - 1] : 0;
  if (!b->n) return 0;
  for (; !(top >> 31); top <<= 1) --bits;
  return bits;
}

/* Shifts to the left, or by -by to the right: then it tells whether anything
   but zeros was lost. */
static int tvmffi_i_big_shift(tvmffi_i_big *b, int by) {
  int limbs = (by < 0 ? -by : by) / 32, bits = (by < 0 ? -by : by) % 32;
  int lost = 0, i;
  uint64_t pair;
  if (by >= 0 && b->n) {
    b->limbs[b->n] = 0;
    for (i = b->n; i >= 0; --i) {
      pair = (uint64_t)b->limbs[i] << 32 | (i ? b->limbs[i - 1] : 0);
      b->limbs[i + limbs] = (uint32_t)(pair << bits >> 32);
    }
    for (i = 0; i < limbs; ++i) b->limbs[i] = 0;
    b->n += limbs + (b->limbs[b->n + limbs] != 0);
  } else if (by < 0) {
    for (i = 0; i < limbs && i < b->n; ++i) lost |= b->limbs[i] != 0;
    if (limbs >= b->n) return (void)(b->n = 0), lost;
    lost |= ((uint64_t)b->limbs[limbs] << (32 - bits) & UINT32_MAX) != 0;
    b->n -= limbs;
    for (i = 0; i < b->n; ++i) {
      pair = b->limbs[i + limbs];
      if (i + 1 < b->n) pair |= (uint64_t)b->limbs[i + limbs + 1] << 32;
      b->limbs[i] = (uint32_t)(pair >> bits);
    }
    while (b->n && !b->limbs[b->n - 1]) --b->n;
  }
  return lost;
}

/* Multiplies by 5^power, or divides by 5^-power: then it tells whether there
   was a remainder. */
static int tvmffi_i_big_pow5(tvmffi_i_big *b, int power) {
  int lost = 0, left = power < 0 ? -power : power, i;
  uint32_t factor;
  while (left) {
    for (factor = 1, i = 0; i < 13 && left; ++i, --left) factor *= 5;
    if (power > 0)
      tvmffi_i_big_mul(b, factor, 0);
    else
      lost |= tvmffi_i_big_div(b, factor) != 0;
  }
  return lost;
}

/* The lowest 64 bits. */
static uint64_t tvmffi_i_big_low(const tvmffi_i_big *b) {
  return (b->n > 0 ? b->limbs[0] : 0) | (uint64_t)(b->n > 1 ? b->limbs[1] : 0)
                                            << 32;
}

/* Halves a number, half to even; `lost`: there was more behind its last bit. */
TVMFFI_I_INLINE uint64_t tvmffi_i_round_half(uint64_t twice, int lost) {
  uint64_t x = twice >> 1;
  return x + ((twice & 1) & ((uint64_t)(lost != 0) | (x & 1)));
}

/* Makes the bits of the double that is next to b * 2^power; `lost`: b is a
   little more than it says. 0 if it is too large, or so small that bits of it
   are lost (where upstream's strtod has ERANGE). */
static int tvmffi_i_big_to_double(tvmffi_i_big *b, int power, int lost,
                                  uint64_t *out) {
  int bits = tvmffi_i_big_bits(b), top = power + bits - 1, keep = 53;
  int tiny = top < -1022;
  uint64_t twice;
  if (top > 1023) return 0;
  if (tiny) keep -= -1022 - top;
  if (keep < 0) return 0;
  lost |= tvmffi_i_big_shift(b, keep + 2 - bits);
  twice = tvmffi_i_big_low(b);
  /* What has so many ones that it is the least normal number with 53 bits is
     not too small. */
  if (tiny && (lost || (twice & 3)) &&
      (top != -1023 || twice != ((uint64_t)1 << 54) - 1))
    return 0;
  lost |= (int)(twice & 1);
  twice >>= 1;
  *out = tvmffi_i_round_half(twice, lost);
  /* The bit that a normal number begins with adds one to its exponent. */
  if (!tiny) *out += (uint64_t)(top + 1022) << 52;
  return *out < (uint64_t)0x7FF << 52;
}

/* The bits of the double that is next to an integer. */
static uint64_t tvmffi_i_int_to_double(int64_t x) {
  tvmffi_i_big b;
  uint64_t bits = 0;
  tvmffi_i_big_set(&b, x < 0 ? 0 - (uint64_t)x : (uint64_t)x);
  if (x) (void)tvmffi_i_big_to_double(&b, 0, 0, &bits);
  return x < 0 ? bits | TVMFFI_I_DOUBLE_SIGN : bits;
}

/* 5^-44 to 5^44, as 128 bits that begin with a one; what is behind them is
   left out. */
enum { TVMFFI_I_MAX_POWER = 44 };
/* clang-format off */
static const uint64_t tvmffi_i_powers[2 * TVMFFI_I_MAX_POWER + 1][2] = {
    {0xE45C10C42A2B3B05u, 0x8CB89A7DB77C506Au},
    {0x8EB98A7A9A5B04E3u, 0x77F3608E92ADB242u},
    {0xB267ED1940F1C61Cu, 0x55F038B237591ED3u},
    {0xDF01E85F912E37A3u, 0x6B6C46DEC52F6688u},
    {0x8B61313BBABCE2C6u, 0x2323AC4B3B3DA015u},
    {0xAE397D8AA96C1B77u, 0xABEC975E0A0D081Au},
    {0xD9C7DCED53C72255u, 0x96E7BD358C904A21u},
    {0x881CEA14545C7575u, 0x7E50D64177DA2E54u},
    {0xAA242499697392D2u, 0xDDE50BD1D5D0B9E9u},
    {0xD4AD2DBFC3D07787u, 0x955E4EC64B44E864u},
    {0x84EC3C97DA624AB4u, 0xBD5AF13BEF0B113Eu},
    {0xA6274BBDD0FADD61u, 0xECB1AD8AEACDD58Eu},
    {0xCFB11EAD453994BAu, 0x67DE18EDA5814AF2u},
    {0x81CEB32C4B43FCF4u, 0x80EACF948770CED7u},
    {0xA2425FF75E14FC31u, 0xA1258379A94D028Du},
    {0xCAD2F7F5359A3B3Eu, 0x096EE45813A04330u},
    {0xFD87B5F28300CA0Du, 0x8BCA9D6E188853FCu},
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
    {0xCCCCCCCCCCCCCCCCu, 0xCCCCCCCCCCCCCCCCu},
    {0x8000000000000000u, 0x0000000000000000u},
    {0xA000000000000000u, 0x0000000000000000u},
    {0xC800000000000000u, 0x0000000000000000u},
    {0xFA00000000000000u, 0x0000000000000000u},
    {0x9C40000000000000u, 0x0000000000000000u},
    {0xC350000000000000u, 0x0000000000000000u},
    {0xF424000000000000u, 0x0000000000000000u},
    {0x9896800000000000u, 0x0000000000000000u},
    {0xBEBC200000000000u, 0x0000000000000000u},
    {0xEE6B280000000000u, 0x0000000000000000u},
    {0x9502F90000000000u, 0x0000000000000000u},
    {0xBA43B74000000000u, 0x0000000000000000u},
    {0xE8D4A51000000000u, 0x0000000000000000u},
    {0x9184E72A00000000u, 0x0000000000000000u},
    {0xB5E620F480000000u, 0x0000000000000000u},
    {0xE35FA931A0000000u, 0x0000000000000000u},
    {0x8E1BC9BF04000000u, 0x0000000000000000u},
    {0xB1A2BC2EC5000000u, 0x0000000000000000u},
    {0xDE0B6B3A76400000u, 0x0000000000000000u},
    {0x8AC7230489E80000u, 0x0000000000000000u},
    {0xAD78EBC5AC620000u, 0x0000000000000000u},
    {0xD8D726B7177A8000u, 0x0000000000000000u},
    {0x878678326EAC9000u, 0x0000000000000000u},
    {0xA968163F0A57B400u, 0x0000000000000000u},
    {0xD3C21BCECCEDA100u, 0x0000000000000000u},
    {0x84595161401484A0u, 0x0000000000000000u},
    {0xA56FA5B99019A5C8u, 0x0000000000000000u},
    {0xCECB8F27F4200F3Au, 0x0000000000000000u},
    {0x813F3978F8940984u, 0x4000000000000000u},
    {0xA18F07D736B90BE5u, 0x5000000000000000u},
    {0xC9F2C9CD04674EDEu, 0xA400000000000000u},
    {0xFC6F7C4045812296u, 0x4D00000000000000u},
    {0x9DC5ADA82B70B59Du, 0xF020000000000000u},
    {0xC5371912364CE305u, 0x6C28000000000000u},
    {0xF684DF56C3E01BC6u, 0xC732000000000000u},
    {0x9A130B963A6C115Cu, 0x3C7F400000000000u},
    {0xC097CE7BC90715B3u, 0x4B9F100000000000u},
    {0xF0BDC21ABB48DB20u, 0x1E86D40000000000u},
    {0x96769950B50D88F4u, 0x1314448000000000u},
    {0xBC143FA4E250EB31u, 0x17D955A000000000u},
    {0xEB194F8E1AE525FDu, 0x5DCFAB0800000000u},
    {0x92EFD1B8D0CF37BEu, 0x5AA1CAE500000000u},
    {0xB7ABC627050305ADu, 0xF14A3D9E40000000u},
    {0xE596B7B0C643C719u, 0x6D9CCD05D0000000u},
    {0x8F7E32CE7BEA5C6Fu, 0xE4820023A2000000u},
};
/* clang-format on */

/* The power of two of the first bit of 5^power. */
TVMFFI_I_INLINE int tvmffi_i_power_bits(int power) {
  return (int)(((uint32_t)(power * 152170) + (4096u << 16)) >> 16) - 4096;
}

/* Gives the low half of a product of 64 bits, and the high one in *high. */
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

/* The zeros above the highest one of a number that is not 0. */
TVMFFI_I_INLINE int tvmffi_i_high_zeros(uint64_t x) {
#if TVMFFI_I_GNU
  return __builtin_clzll(x);
#else
  int n = 0;
  for (; !(x >> 63); x <<= 1) ++n;
  return n;
#endif
}

/* Gives the highest 128 bits of x * 5^power of 192, the high half in *high; x
   has its highest bit. They are less than two too small: one for the bits that
   the power left out, one for those of the product. */
TVMFFI_I_INLINE uint64_t tvmffi_i_mul_power(uint64_t x, int power,
                                            uint64_t *high) {
  const uint64_t *five = tvmffi_i_powers[power + TVMFFI_I_MAX_POWER];
  uint64_t carry, low = tvmffi_i_mul_64(x, five[0], high);
  (void)tvmffi_i_mul_64(x, five[1], &carry);
  low += carry;
  *high += low < carry;
  return low;
}

/* Makes the bits of the double that is next to x * 10^power, or gives 0 if the
   bits of tvmffi_i_mul_power do not tell which that is. (The idea is that of
   D. Lemire, Number Parsing at a Gigabyte per Second, 2021.) */
static int tvmffi_i_short_to_double(uint64_t x, int power, uint64_t *out) {
  uint64_t high, low, rest, all;
  int zeros, is_short;
  *out = 0;
  if (!x) return 1;
  if (power < -TVMFFI_I_MAX_POWER || power > TVMFFI_I_MAX_POWER) return 0;
  zeros = tvmffi_i_high_zeros(x);
  low = tvmffi_i_mul_power(x << zeros, power, &high);
  is_short = !(high >> 63);
  all = ((uint64_t)1 << (10 - is_short)) - 1; /* the bits behind 54 */
  rest = high & all;
  high >>= 10 - is_short;
  if (high & 1 ? !rest && !low : rest == all && low >= UINT64_MAX - 1) return 0;
  *out =
      ((high + 1) >> 1) + ((uint64_t)(64 - is_short - zeros +
                                      tvmffi_i_power_bits(power) + power + 1022)
                           << 52);
  return 1;
}

/* A decimal number: its first digits, the power of ten behind them, and
   whether digits that are not 0 were left out. */
typedef struct {
  tvmffi_i_big digits;
  int64_t power;
  int64_t num_digits; /* from the first that is not 0, up to the limit */
  int lost;
  uint32_t chunk, scale; /* digits that are still to be put into `digits` */
} tvmffi_i_decimals;

static void tvmffi_i_add_digit(tvmffi_i_decimals *d, char c) {
  if (d->num_digits == TVMFFI_I_BIG_DIGITS) {
    d->lost |= c != '0';
    ++d->power;
    return;
  }
  if (!d->num_digits && c == '0') return;
  ++d->num_digits;
  d->chunk = d->chunk * 10 + (uint32_t)(c - '0');
  d->scale *= 10;
  if (d->scale < 1000000000) return;
  tvmffi_i_big_mul(&d->digits, d->scale, d->chunk);
  d->chunk = 0;
  d->scale = 1;
}

static int tvmffi_i_decimals_to_double(tvmffi_i_decimals *d, uint64_t *out) {
  int64_t magnitude = d->num_digits + d->power; /* less than 10 to this */
  int power, shift = 0;
  *out = 0;
  if (!d->num_digits) return 1;
  if (magnitude > 310 || magnitude < -330) return 0;
  if (d->scale > 1) tvmffi_i_big_mul(&d->digits, d->scale, d->chunk);
  power = (int)d->power;
  if (power < 0) {
    /* Enough bits for a quotient of 64: 5^k has less than 7k/3 + 1. */
    shift = 66 - power * 7 / 3 - tvmffi_i_big_bits(&d->digits);
    if (shift < 0) shift = 0;
    (void)tvmffi_i_big_shift(&d->digits, shift);
  }
  d->lost |= tvmffi_i_big_pow5(&d->digits, power);
  return tvmffi_i_big_to_double(&d->digits, power - shift, d->lost, out);
}

/* The floor of the logarithm of 2^bits, at most one smaller than that of a
   number that begins there: that of two is a little more than 78913 / 2^18 and
   a little less than 315653 / 2^20. */
TVMFFI_I_INLINE int tvmffi_i_log10(int bits) {
  return bits < 0 ? -((-bits * 315653 + 1048575) / 1048576)
                  : bits * 78913 / 262144;
}

#define TVMFFI_I_TEN_16 ((uint64_t)10000000000000000u)

/* Gives the first 17 digits of mantissa * 2^power as a number, rounded, and the
   power of ten of the first one. */
TVMFFI_I_NOINLINE uint64_t tvmffi_i_17_digits_slowly(uint64_t mantissa,
                                                     int power, int *exponent) {
  uint64_t twice;
  int lost = 0, shift, x;
  tvmffi_i_big b;
  tvmffi_i_big_set(&b, mantissa);
  x = tvmffi_i_log10(power + tvmffi_i_big_bits(&b) - 1);
  /* Twice the number, times ten to 16 - x. */
  shift = power + 16 - x + 1;
  if (x > 16) {
    (void)tvmffi_i_big_shift(&b, shift);
    lost = tvmffi_i_big_pow5(&b, 16 - x);
  } else {
    (void)tvmffi_i_big_pow5(&b, 16 - x);
    lost = tvmffi_i_big_shift(&b, shift);
  }
  twice = tvmffi_i_big_low(&b);
  if (twice >= 20 * TVMFFI_I_TEN_16) {
    lost |= twice % 10 != 0;
    twice /= 10;
    ++x;
  }
  twice = tvmffi_i_round_half(twice, lost);
  if (twice == 10 * TVMFFI_I_TEN_16) {
    twice = TVMFFI_I_TEN_16;
    ++x;
  }
  *exponent = x;
  return twice;
}

/* The same of a positive double. The product by a power of ten has 54 to 57
   bits before its point and 70 behind it; only if these are next to a half,
   where it is rounded, more have to be known. */
static uint64_t tvmffi_i_17_digits(uint64_t bits, int *exponent) {
  const uint64_t top = (uint64_t)1 << 52;
  uint64_t mantissa = bits & (top - 1), high, low, rest, half;
  int power = (int)(bits >> 52), zeros, shift, x;
  if (power)
    mantissa |= top;
  else
    power = 1;
  power -= 1075;
  zeros = tvmffi_i_high_zeros(mantissa);
  x = tvmffi_i_log10(power + 63 - zeros);
  if (x < 16 - TVMFFI_I_MAX_POWER || x >= 16 + TVMFFI_I_MAX_POWER)
    return tvmffi_i_17_digits_slowly(mantissa, power, exponent);
  for (;; ++x) {
    low = tvmffi_i_mul_power(mantissa << zeros, 16 - x, &high);
    /* Bits behind the point that are in `high`. */
    shift = zeros - 1 - power - (16 - x) - tvmffi_i_power_bits(16 - x);
    rest = high & (((uint64_t)1 << shift) - 1);
    high >>= shift;
    if (high < 10 * TVMFFI_I_TEN_16) break;
  }
  half = (uint64_t)1 << (shift - 1);
  if ((rest == half && !low) || (rest == half - 1 && low >= UINT64_MAX - 1))
    return tvmffi_i_17_digits_slowly(mantissa, power, exponent);
  if (rest >= half && ++high == 10 * TVMFFI_I_TEN_16) {
    high = TVMFFI_I_TEN_16;
    ++x;
  }
  *exponent = x;
  return high;
}

/* The numbers less than 100. */
static const char tvmffi_i_pairs[] =
    "000102030405060708091011121314151617181920212223242526272829303132333435"
    "36"
    "373839404142434445464748495051525354555657585960616263646566676869707172"
    "73"
    "7475767778798081828384858687888990919293949596979899";

/* Writes a number less than 10^8 as eight digits, the highest first. */
TVMFFI_I_INLINE void tvmffi_i_put_8_digits(char *to, uint32_t x) {
  uint32_t high = x / 10000, low = x % 10000;
  memcpy(to, tvmffi_i_pairs + high / 100 * 2, 2);
  memcpy(to + 2, tvmffi_i_pairs + high % 100 * 2, 2);
  memcpy(to + 4, tvmffi_i_pairs + low / 100 * 2, 2);
  memcpy(to + 6, tvmffi_i_pairs + low % 100 * 2, 2);
}

/* Writes a number less than 10^4, and 10^8, as it is; gives its length. */
TVMFFI_I_INLINE size_t tvmffi_i_put_4(char *to, uint32_t x) {
  uint32_t high = x / 100;
  size_t n = 0;
  if (x >= 1000) {
    memcpy(to, tvmffi_i_pairs + high * 2, 2);
    n = 2;
  } else if (x >= 100) {
    *to = (char)('0' + high);
    n = 1;
  }
  if (x < 10) return *to = (char)('0' + x), 1;
  memcpy(to + n, tvmffi_i_pairs + x % 100 * 2, 2);
  return n + 2;
}
TVMFFI_I_INLINE size_t tvmffi_i_put_8(char *to, uint32_t x) {
  uint32_t low = x % 10000;
  size_t n;
  if (x < 10000) return tvmffi_i_put_4(to, x);
  n = tvmffi_i_put_4(to, x / 10000);
  memcpy(to + n, tvmffi_i_pairs + low / 100 * 2, 2);
  memcpy(to + n + 2, tvmffi_i_pairs + low % 100 * 2, 2);
  return n + 4;
}

/* Writes an integer; gives its length. `to` has room for 24 bytes. */
static size_t tvmffi_i_print_int(char *to, int64_t value) {
  const uint64_t limit = 100000000;
  uint64_t x = value < 0 ? 0 - (uint64_t)value : (uint64_t)value, high;
  size_t n = value < 0;
  *to = '-';
  if (x < limit) return n + tvmffi_i_put_8(to + n, (uint32_t)x);
  high = x / limit;
  if (high < limit) {
    n += tvmffi_i_put_8(to + n, (uint32_t)high);
  } else {
    n += tvmffi_i_put_8(to + n, (uint32_t)(high / limit));
    tvmffi_i_put_8_digits(to + n, (uint32_t)(high % limit));
    n += 8;
  }
  tvmffi_i_put_8_digits(to + n, (uint32_t)(x % limit));
  return n + 8;
}

/* As printf does it with "%.17g", at most 24 bytes. `to` has room for 40. */
static size_t tvmffi_i_print_double(char *to, uint64_t bits) {
  char digits[17];
  int x, n = 17;
  size_t at = 0;
  uint64_t all = tvmffi_i_17_digits(bits, &x), rest = all % TVMFFI_I_TEN_16;
  digits[0] = (char)('0' + all / TVMFFI_I_TEN_16);
  tvmffi_i_put_8_digits(digits + 1, (uint32_t)(rest / 100000000));
  tvmffi_i_put_8_digits(digits + 9, (uint32_t)(rest % 100000000));
  while (n > 1 && digits[n - 1] == '0') --n;
  if (x >= -4 && x < 0) {
    memcpy(to, "0.000", 5);
    at = (size_t)(1 - x);
    memcpy(to + at, digits, 17);
    return at + (size_t)n;
  }
  if (x >= 0 && x <= 16) {
    at = (size_t)x + 1; /* digits before the point */
    memcpy(to, digits, 17);
    if (n <= x + 1) return at;
    to[at] = '.';
    memcpy(to + at + 1, digits + at, 17 - at);
    return (size_t)n + 1;
  }
  to[at++] = digits[0];
  if (n > 1) {
    to[at++] = '.';
    memcpy(to + at, digits + 1, 16);
    at += (size_t)n - 1;
  }
  to[at++] = 'e';
  to[at++] = x < 0 ? '-' : '+';
  if (x < 0) x = -x;
  if (x >= 100) to[at++] = (char)('0' + x / 100);
  to[at++] = (char)('0' + x / 10 % 10);
  to[at++] = (char)('0' + x % 10);
  return at;
}
#endif
