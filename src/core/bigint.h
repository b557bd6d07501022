/* ======== Big integers: integers of any size =============== >>core/bigint */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "raise.h"
#include "object.h"

typedef struct {
  TVMFFIObject base;
  size_t size; /* number of 64-bit words; the lowest comes first */
} tvmffi_i_bigint;

TVMFFI_STATIC_ASSERT(sizeof(tvmffi_i_bigint) % 8 == 0 || sizeof(void *) == 4,
                     bigint_words_are_aligned);
/* Offset of the words in the object, equal on all platforms. */
#define TVMFFI_I_BIGINT_WORDS 32

static void tvmffi_i_delete_bigint(void *self, int flags) {
  size_t words = ((tvmffi_i_bigint *)self)->size;
  TVMFFI_ASSERT(words > 1);
  tvmffi_i_delete_sized(self, flags, TVMFFI_I_BIGINT_WORDS + words * 8);
}

static int64_t tvmffi_i_bigint_word(const char *data, size_t i) {
  int64_t word;
  memcpy(&word, data + 8 * i, 8);
  return word;
}

/* Creates a big integer that needs all of its words. Not inlined, so that an
   integer of one word needs no stack frame. */
TVMFFI_I_NOINLINE int tvmffi_i_make_bigint(const char *words, size_t n,
                                           TVMFFIAny *out) {
  tvmffi_i_bigint *b;
  TVMFFI_ASSERT(n > 1 && n <= PTRDIFF_MAX / 8);
  TVMFFI_ASSERT(tvmffi_i_bigint_word(words, n - 1) !=
                (tvmffi_i_bigint_word(words, n - 2) < 0 ? -1 : 0));
  b = (tvmffi_i_bigint *)tvmffi_i_object(TVMFFI_I_BIGINT_WORDS + n * 8,
                                         kTVMFFIBigInt, tvmffi_i_delete_bigint);
  if (!b) return -1;
  b->size = n;
  memcpy((char *)(void *)b + TVMFFI_I_BIGINT_WORDS, words, n * 8);
  return tvmffi_i_give_new(out, b);
}

int TVMFFIBigIntFromByteArray(const TVMFFIByteArray *input, TVMFFIAny *out) {
  size_t n;
  TVMFFI_I_CHECK_BYTES(input);
  TVMFFI_I_NOT_NULL(out);
  if (input->size % 8 != 0)
    return tvmffi_i_value_error(
        "BigInt content must contain whole 64-bit words");
  n = input->size / 8;
  while (n > 1 && tvmffi_i_bigint_word(input->data, n - 1) ==
                      (tvmffi_i_bigint_word(input->data, n - 2) < 0 ? -1 : 0))
    --n;
  if (n > 1) return tvmffi_i_make_bigint(input->data, n, out);
  *out = tvmffi_int(n ? tvmffi_i_bigint_word(input->data, 0) : 0);
  return 0;
}

TVMFFIByteArray TVMFFIBigIntGetContentByteArray(const TVMFFIAny *value) {
  TVMFFIByteArray r = {NULL, 0};
  if (value && value->type_index == kTVMFFIInt) {
    r.data = value->v_bytes;
    r.size = 8;
  } else if (value && value->type_index == kTVMFFIBigInt && value->v_obj &&
             value->v_obj->type_index == kTVMFFIBigInt) {
    r.data = (const char *)value->v_ptr + TVMFFI_I_BIGINT_WORDS;
    r.size = ((tvmffi_i_bigint *)value->v_ptr)->size * 8;
  } else {
    (void)tvmffi_i_type_error("%s: value is not an integer", __func__);
  }
  return r;
}
