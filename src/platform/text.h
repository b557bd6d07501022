/* ======== Text: a text buffer that grows ================= >>platform/text */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/abi.h"
#include "libc.h"
#include "memory.h"

#if !TVMFFI_NO_EXTRA
/* A text that grows. Before it is room for the head of a string object, so that
   tvmffi_i_text_take need not copy it. An allocation that is refused is
   remembered, nothing is added from then on, and the error is told once, at the
   end. Begin with all members zero; tvmffi_i_text_release frees it. */
typedef struct {
  char *data;
  size_t size, capacity;
  int failed;
} tvmffi_i_text_buffer;

enum { TVMFFI_I_TEXT_HEAD = sizeof(TVMFFIObject) + sizeof(TVMFFIByteArray) };

static void tvmffi_i_text_release(tvmffi_i_text_buffer *b) {
  if (b->data) tvmffi_i_free(b->data - TVMFFI_I_TEXT_HEAD);
  b->data = NULL;
  b->size = b->capacity = 0;
}

/* Out of line: room for `size` bytes more and a NUL, twice as much as before at
   least. */
TVMFFI_I_SLOW int tvmffi_i_text_grow(tvmffi_i_text_buffer *b, size_t size) {
  size_t capacity;
  char *data;
  if (b->failed) return -1;
  b->failed = 1;
  if (size > PTRDIFF_MAX / 4 || b->size > PTRDIFF_MAX / 4) return -1;
  capacity = 2 * b->size + size + 128;
  data = (char *)tvmffi_i_alloc(TVMFFI_I_TEXT_HEAD + capacity);
  if (!data) return -1;
  data += TVMFFI_I_TEXT_HEAD;
  if (b->size) memcpy(data, b->data, b->size);
  if (b->data) tvmffi_i_free(b->data - TVMFFI_I_TEXT_HEAD);
  b->data = data;
  b->capacity = capacity;
  b->failed = 0;
  return 0;
}

/* Where `size` bytes may be written, which count when b->size is raised, or
   NULL when there is no memory. One byte behind them is room for a NUL. */
TVMFFI_I_INLINE char *tvmffi_i_text_room(tvmffi_i_text_buffer *b, size_t size) {
  if (TVMFFI_I_UNLIKELY(size >= b->capacity - b->size || b->failed) &&
      tvmffi_i_text_grow(b, size))
    return NULL;
  return b->data + b->size;
}

TVMFFI_I_INLINE void tvmffi_i_text_put(tvmffi_i_text_buffer *b,
                                       const char *data, size_t size) {
  char *at = tvmffi_i_text_room(b, size);
  if (!at || !size) return;
  memcpy(at, data, size);
  b->size += size;
}

TVMFFI_I_INLINE void tvmffi_i_text_str(tvmffi_i_text_buffer *b,
                                       const char *text) {
  tvmffi_i_text_put(b, text, strlen(text));
}

TVMFFI_I_INLINE void tvmffi_i_text_char(tvmffi_i_text_buffer *b, char c) {
  char *at = tvmffi_i_text_room(b, 1);
  if (!at) return;
  *at = c;
  ++b->size;
}

TVMFFI_I_UNUSED static void tvmffi_i_text_int(tvmffi_i_text_buffer *b,
                                              int64_t x) {
  char digits[20];
  size_t at = sizeof(digits);
  uint64_t rest = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
  do {
    digits[--at] = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest);
  if (x < 0) digits[--at] = '-';
  tvmffi_i_text_put(b, digits + at, sizeof(digits) - at);
}
#endif
