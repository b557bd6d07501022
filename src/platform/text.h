/* ======== Text: texts and a text buffer =================== >>platform/text */

#pragma once

#include "../head.h"
#include "../base.h"
#include "libc.h"
#include "memory.h"

/* Returns 1 if two texts are equal, else 0. `data` may be NULL if `size` is
   0. */
TVMFFI_I_INLINE int tvmffi_i_same_text(TVMFFIByteArray a, TVMFFIByteArray b) {
  return a.size == b.size && (!a.size || memcmp(a.data, b.data, a.size) == 0);
}

/* Writes `text` at to[n]. Returns the index of the next byte. */
TVMFFI_I_INLINE size_t tvmffi_i_add_text(char *to, size_t n,
                                         TVMFFIByteArray text) {
  if (text.size) memcpy(to + n, text.data, text.size);
  return n + text.size;
}

/* Copies `text` to `to` and appends a NUL. Returns `to`. */
TVMFFI_I_INLINE const char *tvmffi_i_copy_text(char *to, TVMFFIByteArray text) {
  if (text.size) memcpy(to, text.data, text.size);
  to[text.size] = 0;
  return to;
}

#if !TVMFFI_NO_EXTRA
/* A buffer for a growing text. Zero all members to begin; tvmffi_i_text_release
   frees the text. The block begins with space for a string object's header, so
   that tvmffi_i_text_take copies nothing. After a failed allocation, writes add
   nothing, and tvmffi_i_text_take reports the failure. */
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

/* Slow path of tvmffi_i_text_reserve: at least doubles the capacity, for `size`
   more bytes and a NUL. Returns -1 if out of memory. */
TVMFFI_I_SLOW int tvmffi_i_text_grow(tvmffi_i_text_buffer *b, size_t size) {
  size_t capacity;
  char *data;
  TVMFFI_ASSERT(b->size <= b->capacity);
  if (b->failed) return -1;
  b->failed = 1;
  if (tvmffi_i_is_huge(size | b->size)) return -1;
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

/* Returns the end of the text, with space for `size` more bytes and a NUL, or
   NULL if out of memory. The caller adds the number of bytes written to
   b->size. */
TVMFFI_I_INLINE char *tvmffi_i_text_reserve(tvmffi_i_text_buffer *b,
                                            size_t size) {
  if (TVMFFI_I_UNLIKELY(size >= b->capacity - b->size || b->failed) &&
      tvmffi_i_text_grow(b, size))
    return NULL;
  TVMFFI_ASSERT(b->data && size < b->capacity - b->size);
  return b->data + b->size;
}

TVMFFI_I_INLINE void tvmffi_i_text_put(tvmffi_i_text_buffer *b,
                                       const char *data, size_t size) {
  char *at = tvmffi_i_text_reserve(b, size);
  if (!at || !size) return;
  memcpy(at, data, size);
  b->size += size;
}

TVMFFI_I_INLINE void tvmffi_i_text_str(tvmffi_i_text_buffer *b,
                                       const char *text) {
  tvmffi_i_text_put(b, text, strlen(text));
}

TVMFFI_I_INLINE void tvmffi_i_text_char(tvmffi_i_text_buffer *b, char c) {
  char *at = tvmffi_i_text_reserve(b, 1);
  if (!at) return;
  *at = c;
  ++b->size;
}

TVMFFI_I_INLINE void tvmffi_i_text_int(tvmffi_i_text_buffer *b, int64_t x) {
  char number[TVMFFI_I_DECIMAL];
  const char *p = tvmffi_i_decimal(number, x);
  tvmffi_i_text_put(b, p, (size_t)(number + TVMFFI_I_DECIMAL - 1 - p));
}
#endif
