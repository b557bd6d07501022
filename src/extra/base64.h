/* ======== Base64: RFC 4648 ================================ >>extra/base64 */
#pragma once

#include "../head.h"
#include "../platform.h"
#include "../core.h"

#if !TVMFFI_NO_EXTRA
static const char tvmffi_i_base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int tvmffi_i_base64(TVMFFIByteArray bytes, TVMFFIAny *out) {
  const unsigned char *from = (const unsigned char *)bytes.data;
  tvmffi_i_text_buffer b = {NULL, 0, 0, 0};
  size_t i, k, n;
  char *to = NULL;
  TVMFFI_ASSERT(bytes.size <= PTRDIFF_MAX && (bytes.data || !bytes.size));
  to = tvmffi_i_text_reserve(&b, (bytes.size + 2) / 3 * 4);
  for (i = 0; to && i < bytes.size; i += 3) {
    uint32_t word = 0;
    n = bytes.size - i < 3 ? bytes.size - i : 3;
    for (k = 0; k < 3; ++k) word = word << 8 | (k < n ? from[i + k] : 0u);
    for (k = 0; k < 4; ++k)
      *to++ = k <= n ? tvmffi_i_base64_digits[word >> (18 - 6 * k) & 63] : '=';
    b.size += 4;
  }
  TVMFFI_ASSERT(b.failed || b.size == (bytes.size + 2) / 3 * 4);
  return tvmffi_i_text_take(&b, out);
}

/* Decodes base64 as leniently as upstream's base64.h. A character outside the
   alphabet counts as digit 0. A "=" as the third or fourth character of any
   group of four drops one byte. */
static int tvmffi_i_from_base64(TVMFFIByteArray text, TVMFFIAny *out) {
  TVMFFIByteArray bytes = {NULL, 0};
  uint32_t word = 0;
  size_t i;
  char *to;
  int code;
  if (text.size % 4) return tvmffi_i_runtime_error("invalid base64 encoding");
  to = (char *)tvmffi_i_alloc(text.size / 4 * 3 + 1);
  if (!to) return tvmffi_i_no_memory();
  bytes.data = to;
  for (i = 0; i < text.size; ++i) {
    char c = text.data[i];
    const char *digit = (const char *)memchr(tvmffi_i_base64_digits, c, 64);
    word = word << 6 | (uint32_t)(digit ? digit - tvmffi_i_base64_digits : 0);
    if (i % 4 != 3) continue;
    to[bytes.size++] = (char)(word >> 16 & 255);
    if (text.data[i - 1] != '=') to[bytes.size++] = (char)(word >> 8 & 255);
    if (c != '=') to[bytes.size++] = (char)(word & 255);
  }
  TVMFFI_ASSERT(bytes.size <= text.size / 4 * 3);
  code = TVMFFIBytesFromByteArray(&bytes, out);
  tvmffi_i_free(to);
  return code;
}
#endif
