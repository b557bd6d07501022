/* ======== Number text =================================== >>extra/number_text
   floats, big integers, dtypes as text */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"

#if !TVMFFI_NO_EXTRA
/* Appends a double in the format of printf("%.*g") in the C locale, with
   precision 6 or 17. `bits` is the representation of the double. */
static void tvmffi_i_text_double(tvmffi_i_text_buffer *b, uint64_t bits,
                                 int precision) {
  const uint64_t size = bits & ~TVMFFI_I_DOUBLE_SIGN;
  char *at;
  if (bits != size) tvmffi_i_text_char(b, '-');
  if (!size || size >= TVMFFI_I_DOUBLE_INFINITY) {
    tvmffi_i_text_str(b, !size                             ? "0"
                         : size > TVMFFI_I_DOUBLE_INFINITY ? "nan"
                                                           : "inf");
    return;
  }
  at = tvmffi_i_text_reserve(b, 23);
  if (at) b->size += tvmffi_i_print_double(at, size, precision);
}

static void tvmffi_i_text_hex(tvmffi_i_text_buffer *b, const char *prefix,
                              uint64_t x, int width) {
  char digits[16], *end = digits + 16;
  const char *p = tvmffi_i_digits_before(end, x, 16, width);
  TVMFFI_ASSERT(p >= digits && end - p >= width);
  tvmffi_i_text_str(b, prefix);
  tvmffi_i_text_put(b, p, (size_t)(end - p));
}

TVMFFI_I_INLINE int tvmffi_i_is_plain(char c) {
  return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

/* Appends the escape for the character at s. Returns the character's length in
   bytes. As in EscapedStringPy of upstream's string.h, each byte of invalid
   UTF-8 is escaped separately. */
static size_t tvmffi_i_escape(tvmffi_i_text_buffer *b, const char *s,
                              size_t size) {
  static const char plain[] = "\n\t\r\\\"", letter[] = "ntr\\\"";
  const unsigned char *u = (const unsigned char *)s;
  const char *known = u[0] ? strchr(plain, s[0]) : NULL;
  size_t n, i;
  uint32_t code;
  TVMFFI_ASSERT(size > 0 && !tvmffi_i_is_plain(*s));
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
  TVMFFI_ASSERT(n <= size && code < 1u << 21);
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
    TVMFFI_ASSERT(i > begin && i <= s.size);
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
  tvmffi_i_text_str(b, tvmffi_i_device_name(device));
  tvmffi_i_text_char(b, ':');
  tvmffi_i_text_int(b, device.device_id);
}

static int tvmffi_i_repr_dtype(tvmffi_i_text_buffer *b, DLDataType dtype) {
  TVMFFIAny text;
  TVMFFIByteArray s;
  TVMFFI_TRY(TVMFFIDataTypeToString(&dtype, &text));
  s = tvmffi_any_str(&text);
  tvmffi_i_text_put(b, s.data, s.size);
  tvmffi_i_any_release(&text);
  return 0;
}

static void tvmffi_i_repr_numbers(tvmffi_i_text_buffer *b, const int64_t *x,
                                  size_t n) {
  size_t i;
  TVMFFI_ASSERT(x || !n);
  for (i = 0; i < n; ++i) {
    if (i) tvmffi_i_text_str(b, ", ");
    tvmffi_i_text_int(b, x[i]);
  }
}
#endif
