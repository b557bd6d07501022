/* ======== Strings: string and bytes objects ================ >>core/string */
/* Strings and bytes. An Any stores a text of up to seven bytes itself, padded
   with zeros. */

#pragma once

#include "../head.h"
#include "../platform.h"
#include "raise.h"
#include "object.h"

typedef struct {
  TVMFFIObject base;
  TVMFFIByteArray bytes; /* the text and a NUL follow */
} tvmffi_i_string;

static void tvmffi_i_delete_string(void *self, int flags) {
  const tvmffi_i_string *s = (tvmffi_i_string *)self;
  TVMFFI_ASSERT(s->base.type_index == kTVMFFIStr ||
                s->base.type_index == kTVMFFIBytes);
  tvmffi_i_delete_content(self, flags, sizeof(*s), s->bytes.data,
                          s->bytes.size + 1);
}

/* Creates a string of `size` uninitialised bytes and a NUL, or returns NULL. */
static tvmffi_i_string *tvmffi_i_new_string(size_t size, int32_t type_index) {
  tvmffi_i_string *s;
  char *text;
  TVMFFI_ASSERT(size <= PTRDIFF_MAX);
  s = (tvmffi_i_string *)tvmffi_i_object(sizeof(*s) + size + 1, type_index,
                                         tvmffi_i_delete_string);
  if (!s) return s;
  TVMFFI_ASSERT(type_index == kTVMFFIStr || type_index == kTVMFFIBytes);
  text = (char *)(void *)(s + 1);
  text[size] = 0;
  s->bytes.data = text;
  s->bytes.size = size;
  return s;
}

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define TVMFFI_I_BYTE_SHIFT(i, bytes) (64 - 8 * ((i) + (bytes)))
#else
#define TVMFFI_I_BYTE_SHIFT(i, bytes) (8 * (i))
#endif
/* Returns up to seven bytes of text as the word that an Any stores. Builds the
   word in a register, because loading bytes that were just stored stalls. */
TVMFFI_I_INLINE uint64_t tvmffi_i_small_text(const char *data, size_t size) {
  const unsigned char *at = (const unsigned char *)data;
  TVMFFI_ASSERT(size < 8);
  if (size >= 4) {
    uint32_t first, last;
    memcpy(&first, data, 4);
    memcpy(&last, data + size - 4, 4);
    return (uint64_t)first << TVMFFI_I_BYTE_SHIFT(0, 4) |
           (uint64_t)last << TVMFFI_I_BYTE_SHIFT(size - 4, 4);
  }
  if (size == 0) return 0;
  return (uint64_t)at[0] << TVMFFI_I_BYTE_SHIFT(0, 1) |
         (uint64_t)at[size / 2] << TVMFFI_I_BYTE_SHIFT(size / 2, 1) |
         (uint64_t)at[size - 1] << TVMFFI_I_BYTE_SHIFT(size - 1, 1);
}

static int tvmffi_i_make_large(const char *data, size_t size, int32_t large,
                               TVMFFIAny *out) {
  tvmffi_i_string *s = tvmffi_i_new_string(size, large);
  if (!s) return -1;
  TVMFFI_ASSERT(data || !size);
  memcpy((void *)(s + 1), data, size);
  return tvmffi_i_give_new(out, s);
}

/* Creates an owned string or bytes. `data` may point into `out`. */
TVMFFI_I_INLINE int tvmffi_i_make_string(const char *data, size_t size,
                                         int32_t large, TVMFFIAny *out) {
  uint64_t text;
  TVMFFI_ASSERT(large == kTVMFFIStr || large == kTVMFFIBytes);
  if (size >= sizeof(out->v_bytes))
    return tvmffi_i_make_large(data, size, large, out);
  text = tvmffi_i_small_text(data, size);
  out->type_index = large == kTVMFFIStr ? kTVMFFISmallStr : kTVMFFISmallBytes;
  out->small_str_len = (uint32_t)size;
  out->v_uint64 = text;
  return 0;
}

int TVMFFIStringFromByteArray(const TVMFFIByteArray *input, TVMFFIAny *out) {
  TVMFFI_I_CHECK_BYTES(input);
  TVMFFI_I_NOT_NULL(out);
  return tvmffi_i_make_string(input->data, input->size, kTVMFFIStr, out);
}

int TVMFFIBytesFromByteArray(const TVMFFIByteArray *input, TVMFFIAny *out) {
  TVMFFI_I_CHECK_BYTES(input);
  TVMFFI_I_NOT_NULL(out);
  return tvmffi_i_make_string(input->data, input->size, kTVMFFIBytes, out);
}

#if !TVMFFI_NO_EXTRA
/* Moves a buffer's text into an owned string, or raises an error if an
   allocation of the buffer failed. The buffer is empty afterwards. */
static int tvmffi_i_text_take(tvmffi_i_text_buffer *b, TVMFFIAny *out) {
  tvmffi_i_string *s;
  int failed = b->failed;
  b->failed = 0;
  if (failed) {
    tvmffi_i_text_release(b);
    return tvmffi_i_no_memory();
  }
  if (b->size < sizeof(out->v_bytes) || b->size < b->capacity / 4) {
    failed = tvmffi_i_make_string(b->data, b->size, kTVMFFIStr, out);
    tvmffi_i_text_release(b);
    return failed;
  }
  TVMFFI_ASSERT(b->data && b->size < b->capacity);
  s = (tvmffi_i_string *)(void *)(b->data - TVMFFI_I_TEXT_HEAD);
  tvmffi_i_start_object(&s->base, kTVMFFIStr, tvmffi_i_delete_plain);
  s->bytes.data = b->data;
  s->bytes.size = b->size;
  b->data[b->size] = 0;
  b->data = NULL;
  b->size = b->capacity = 0;
  return tvmffi_i_give_new(out, s);
}
#endif
