/* ======== Base64: RFC 4648 ================================ >>extra/base64 */
/* Values with all that they refer to, as JSON: a list of nodes, each after the
   nodes that it names by their index, so that what is shared stays shared (as
   upstream's serialization.cc). Values on the way down are kept on a stack in
   memory; a graph that contains itself is an error both ways. What types
   register in the columns __data_to_json__ and __data_from_json__ may run any
   code: whatever is gone through meanwhile is held by a reference. */

#pragma once

#include "../head/config.h"
#include "../head/abi.h"
#include "../platform/memory.h"
#include "../platform/text.h"
#include "../core/raise.h"
#include "../core/string.h"

#if !TVMFFI_NO_EXTRA
static int tvmffi_i_base64(TVMFFIByteArray bytes, TVMFFIAny *out) {
  static const char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const unsigned char *from = (const unsigned char *)bytes.data;
  tvmffi_i_text_buffer b = {NULL, 0, 0, 0};
  size_t i, k, n, most = PTRDIFF_MAX / 2;
  char *to = NULL;
  if (bytes.size > most) return tvmffi_i_no_memory();
  to = tvmffi_i_text_room(&b, (bytes.size + 2) / 3 * 4);
  for (i = 0; to && i < bytes.size; i += 3) {
    uint32_t word = 0;
    n = bytes.size - i < 3 ? bytes.size - i : 3;
    for (k = 0; k < 3; ++k) word = word << 8 | (k < n ? from[i + k] : 0u);
    for (k = 0; k < 4; ++k)
      *to++ = k <= n ? digits[word >> (18 - 6 * k) & 63] : '=';
    b.size += 4;
  }
  return tvmffi_i_text_take(&b, out);
}

/* What is no digit counts as 0, and the third and fourth of each four leave out
   a byte if they are "=", wherever they stand: upstream's base64.h. */
static int tvmffi_i_from_base64(TVMFFIByteArray text, TVMFFIAny *out) {
  TVMFFIByteArray bytes = {NULL, 0};
  uint32_t word = 0;
  size_t i;
  char *to;
  int code;
  if (text.size % 4)
    return tvmffi_i_fail("RuntimeError", "invalid base64 encoding");
  to = (char *)tvmffi_i_alloc(text.size / 4 * 3 + 1);
  if (!to) return tvmffi_i_no_memory();
  bytes.data = to;
  for (i = 0; i < text.size; ++i) {
    char c = text.data[i];
    uint32_t digit = c >= 'A' && c <= 'Z'   ? (uint32_t)(c - 'A')
                     : c >= 'a' && c <= 'z' ? (uint32_t)(c - 'a' + 26)
                     : c >= '0' && c <= '9' ? (uint32_t)(c - '0' + 52)
                     : c == '+'             ? 62u
                     : c == '/'             ? 63u
                                            : 0u;
    word = word << 6 | digit;
    if (i % 4 != 3) continue;
    to[bytes.size++] = (char)(word >> 16 & 255);
    if (text.data[i - 1] != '=') to[bytes.size++] = (char)(word >> 8 & 255);
    if (c != '=') to[bytes.size++] = (char)(word & 255);
  }
  code = TVMFFIBytesFromByteArray(&bytes, out);
  tvmffi_i_free(to);
  return code;
}
#endif
