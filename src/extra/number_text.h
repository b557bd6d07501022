/* ======== Number text =================================== >>extra/number_text
   floats, big integers, dtypes as text */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/dlpack.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../platform/libc.h"
#include "../platform/text.h"

#if !TVMFFI_NO_EXTRA
/* Appends a floating-point number, given by its bits, as "%.*g" has it in the
   C locale; up to 17 digits. Exact, and without floating-point code: its words
   have nine decimal digits each, the first those of the highest value, and the
   word at UNITS ends before the point. */
static void tvmffi_i_text_float(tvmffi_i_text_buffer *b, uint64_t bits,
                                int precision) {
  enum { BASE = 1000000000, UNITS = 40, DIGITS = 48 };
  uint32_t word[UNITS + 130], carry, mask;
  int first = UNITS - 1, end = UNITS + 1, i, s, n = 0, k, rest, at;
  int e = (int)(bits >> 52 & 2047);
  uint64_t m = bits & (((uint64_t)1 << 52) - 1), x;
  char digit[DIGITS];
  if (bits >> 63) tvmffi_i_text_char(b, '-');
  if (e == 2047 || !(m | (uint64_t)(unsigned)e)) {
    tvmffi_i_text_str(b, e ? m ? "nan" : "inf" : "0");
    return;
  }
  m |= (uint64_t)(e != 0) << 52;
  e = (e ? e : 1) - 1075;
  while (!(m & 255)) m >>= 8, e += 8;
  while (!(m & 1)) m >>= 1, ++e;
  word[first] = (uint32_t)(m / BASE);
  word[UNITS] = (uint32_t)(m % BASE);
  if (!word[first]) ++first;
  for (; e > 0; e -= s) {
    s = e < 29 ? e : 29;
    for (carry = 0, i = end - 1; i >= first; --i) {
      x = ((uint64_t)word[i] << s) + carry;
      carry = (uint32_t)(x / BASE);
      word[i] = (uint32_t)(x % BASE);
    }
    if (carry) word[--first] = carry;
  }
  for (; e < 0; e += s) {
    s = e > -9 ? -e : 9;
    mask = (1u << s) - 1;
    for (carry = 0, i = first; i < end; ++i) {
      uint32_t low = word[i] & mask;
      word[i] = (word[i] >> s) + carry;
      carry = (BASE >> s) * low;
    }
    if (carry) word[end++] = carry;
    if (!word[first]) ++first;
  }
  /* One digit more than are shown, at least, without zeros before them. */
  for (at = 9 * (UNITS - first), i = first; i < end && n <= precision; ++i) {
    uint32_t w = word[i];
    k = 9;
    if (i == first)
      for (k = 1; k < 9 && w >= 10; ++k) w /= 10;
    if (i == first) at += k - 1;
    w = word[i];
    for (s = k; s--; w /= 10) digit[n + s] = (char)('0' + w % 10);
    n += k;
  }
  /* Round to the nearest, a half to even. */
  if (n > precision) {
    for (rest = 0; i < end; ++i) rest |= word[i] != 0;
    for (k = precision + 1; k < n; ++k) rest |= digit[k] != '0';
    n = precision;
    k = digit[n];
    if (k > '5' || (k == '5' && (rest || (digit[n - 1] & 1)))) {
      while (n && digit[n - 1] == '9') --n;
      if (n)
        ++digit[n - 1];
      else
        digit[n++] = '1', ++at;
    }
  }
  while (n > 1 && digit[n - 1] == '0') --n;
  if (at < -4 || at >= precision) {
    tvmffi_i_text_char(b, digit[0]);
    if (n > 1) tvmffi_i_text_char(b, '.');
    tvmffi_i_text_put(b, digit + 1, (size_t)(n - 1));
    tvmffi_i_text_put(b, at < 0 ? "e-0" : "e+0", at > -10 && at < 10 ? 3 : 2);
    tvmffi_i_text_int(b, at < 0 ? -at : at);
    return;
  }
  for (i = at < 0 ? at : 0; i < n || i <= at; ++i) {
    tvmffi_i_text_char(b, i >= 0 && i < n ? digit[i] : '0');
    if (i == at && i + 1 < n) tvmffi_i_text_char(b, '.');
  }
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
