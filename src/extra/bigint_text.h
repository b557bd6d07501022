/* ======== Big integer text ============================== >>extra/bigint_text
   big integers to and from decimal */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/dlpack.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../platform/libc.h"
#include "../platform/memory.h"
#include "../platform/text.h"
#include "../core/raise.h"
#include "../core/bigint.h"

#if !TVMFFI_NO_EXTRA
/* -------- Big integers in decimal -------- */

/* Between binary and decimal by divide and conquer, both ways the same: digits
   of one base are read as a polynomial, which is evaluated in the arithmetic of
   the other base. With Karatsuba's multiplication a million digits take less
   than half a second. A number is an array of limbs, the lowest first, each
   below `base`, where 0 means all values of a limb. */
#if defined(__SIZEOF_INT128__) && !defined(__wasm__) && !TVMFFI_FREESTANDING
typedef uint64_t tvmffi_i_limb;
__extension__ typedef unsigned __int128 tvmffi_i_wide;
#define TVMFFI_I_DECIMAL_LIMB ((tvmffi_i_limb)1000000000000000000u)
enum {
  TVMFFI_I_LIMB_DIGITS = 18,
  TVMFFI_I_LIMB_BITS = 59, /* which are below DECIMAL_LIMB */
  TVMFFI_I_SHORT_PRODUCT = 32
};
#else
typedef uint32_t tvmffi_i_limb;
typedef uint64_t tvmffi_i_wide;
#define TVMFFI_I_DECIMAL_LIMB ((tvmffi_i_limb)1000000000u)
enum {
  TVMFFI_I_LIMB_DIGITS = 9,
  TVMFFI_I_LIMB_BITS = 29,
  TVMFFI_I_SHORT_PRODUCT = 16 /* so many decimal products fit a wide sum */
};
#endif

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
  tvmffi_i_wide sum = 0, carry;
  size_t i, k;
  if (base) {
    for (k = 0; k < 2 * n; ++k) {
      for (i = k < n ? 0 : k - n + 1; i < n && i <= k; ++i)
        sum += (tvmffi_i_wide)x[i] * y[k - i];
      to[k] = (tvmffi_i_limb)(sum % TVMFFI_I_DECIMAL_LIMB);
      sum /= TVMFFI_I_DECIMAL_LIMB;
    }
    return;
  }
  memset((void *)to, 0, n * sizeof(*to));
  for (i = 0; i < n; ++i) {
    for (carry = 0, k = 0; k < n; ++k) {
      sum = (tvmffi_i_wide)x[i] * y[k] + to[i + k] + carry;
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

static void tvmffi_i_text_hex(tvmffi_i_text_buffer *b, const char *prefix,
                              uint64_t x, int width) {
  char digits[16];
  int at = 16;
  do {
    digits[--at] = "0123456789abcdef"[x & 15];
    x >>= 4;
  } while (x || 16 - at < width);
  tvmffi_i_text_str(b, prefix);
  tvmffi_i_text_put(b, digits + at, (size_t)(16 - at));
}

TVMFFI_I_INLINE int tvmffi_i_is_plain(char c) {
  return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

/* The length of a sequence that sets the colour of a terminal, or 0. */
static size_t tvmffi_i_colour(const char *s, size_t size) {
  size_t i = 2;
  if (size < 2 || s[0] != 0x1B || s[1] != '[') return 0;
  while (i < size && ((s[i] >= '0' && s[i] <= '9') || s[i] == ';')) ++i;
  return i < size && (s[i] == 'm' || s[i] == 'K') ? i + 1 : 0;
}

/* Appends what stands for a character that is not plain; gives its length. As
   EscapedStringPy of upstream's string.h has it, which tells bytes that are no
   UTF-8 by themselves. */
static size_t tvmffi_i_escape(tvmffi_i_text_buffer *b, const char *s,
                              size_t size) {
  static const char plain[] = "\n\t\r\\\"", letter[] = "ntr\\\"";
  const unsigned char *u = (const unsigned char *)s;
  const char *known = u[0] ? strchr(plain, s[0]) : NULL;
  size_t n = tvmffi_i_colour(s, size), i;
  uint32_t code;
  if (n) {
    tvmffi_i_text_str(b, "\\x1b[");
    tvmffi_i_text_put(b, s + 2, n - 2);
    return n;
  }
  if (known) {
    tvmffi_i_text_char(b, '\\');
    tvmffi_i_text_char(b, letter[known - plain]);
    return 1;
  }
  n = u[0] < 0xC0 ? 1 : u[0] < 0xE0 ? 2 : u[0] < 0xF0 ? 3 : u[0] < 0xF8 ? 4 : 1;
  code = u[0] & (0x7Fu >> n);
  for (i = 1; i < n && i < size && (u[i] & 0xC0) == 0x80; ++i)
    code = code << 6 | (u[i] & 0x3F);
  if (i < n || n == 1) {
    tvmffi_i_text_hex(b, "\\x", u[0], 2);
    return 1;
  }
  tvmffi_i_text_hex(b, n < 4 ? "\\u" : "\\U", code, n < 4 ? 4 : 8);
  return n;
}

static void tvmffi_i_repr_str(tvmffi_i_text_buffer *b, TVMFFIByteArray s) {
  size_t i = 0, begin;
  tvmffi_i_text_char(b, '"');
  while (i < s.size) {
    for (begin = i; i < s.size && tvmffi_i_is_plain(s.data[i]);) ++i;
    tvmffi_i_text_put(b, s.data + begin, i - begin);
    if (i < s.size) i += tvmffi_i_escape(b, s.data + i, s.size - i);
  }
  tvmffi_i_text_char(b, '"');
}

static void tvmffi_i_repr_bytes(tvmffi_i_text_buffer *b, TVMFFIByteArray s) {
  size_t i;
  tvmffi_i_text_str(b, "b\"");
  for (i = 0; i < s.size; ++i) {
    if (tvmffi_i_is_plain(s.data[i]))
      tvmffi_i_text_char(b, s.data[i]);
    else
      tvmffi_i_text_hex(b, "\\x", (unsigned char)s.data[i], 2);
  }
  tvmffi_i_text_char(b, '"');
}

static void tvmffi_i_repr_device(tvmffi_i_text_buffer *b, DLDevice device) {
  static const char *const names[] = {
      "unknown", "cpu",       "cuda",    "cuda_host",    "opencl",
      "unknown", "unknown",   "vulkan",  "metal",        "vpi",
      "rocm",    "rocm_host", "ext_dev", "cuda_managed", "oneapi",
      "webgpu",  "hexagon",   "maia",    "trn"};
  const size_t n = sizeof(names) / sizeof(names[0]);
  size_t i = (size_t)(unsigned)device.device_type;
  tvmffi_i_text_str(b, names[i < n ? i : 0]);
  tvmffi_i_text_char(b, ':');
  tvmffi_i_text_int(b, device.device_id);
}

static int tvmffi_i_repr_dtype(tvmffi_i_text_buffer *b, DLDataType dtype) {
  TVMFFIAny text;
  TVMFFIByteArray s;
  TVMFFI_TRY(TVMFFIDataTypeToString(&dtype, &text));
  s = tvmffi_any_str(&text);
  tvmffi_i_text_put(b, s.data, s.size);
  tvmffi_any_release(&text);
  return 0;
}

static void tvmffi_i_repr_numbers(tvmffi_i_text_buffer *b, const int64_t *x,
                                  size_t n) {
  size_t i;
  for (i = 0; i < n; ++i) {
    if (i) tvmffi_i_text_put(b, ", ", 2);
    tvmffi_i_text_int(b, x[i]);
  }
}
#endif
