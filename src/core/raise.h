/* ======== Raise: errors of the runtime itself =============== >>core/raise */
/* How the runtime reports its own errors, and the MemoryError that exists
   before it is needed: static, pinned, without a trace. */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/mismatch.h"

typedef struct {
  TVMFFIObject base;
  TVMFFIErrorCell cell;
  char *trace;     /* set by update_backtrace: owned */
  size_t capacity; /* of the trace, or while that is NULL of the error */
} tvmffi_i_error;

static void tvmffi_i_keep_trace(TVMFFIObjectHandle self,
                                const TVMFFIByteArray *trace, int32_t mode) {
  (void)self, (void)trace, (void)mode;
}

static tvmffi_i_error tvmffi_i_memory_error = {
    {TVMFFI_I_PINNED | TVMFFI_I_WEAK_ONE, kTVMFFIError, 0, {NULL}},
    {{"MemoryError", 11},
     {"out of memory", 13},
     {"", 0},
     tvmffi_i_keep_trace,
     NULL,
     NULL},
    NULL,
    0};

TVMFFI_I_COLD int tvmffi_i_no_memory(void) {
  TVMFFIErrorSetRaised(&tvmffi_i_memory_error);
  return -1;
}

TVMFFI_I_PRINTF(2, 3)
TVMFFI_I_COLD int tvmffi_i_fail(const char *kind, const char *format, ...) {
  char buffer[TVMFFI_MESSAGE_SIZE];
  va_list ap;
  va_start(ap, format);
  (void)tvmffi_i_message(buffer, format, ap);
  va_end(ap);
  TVMFFIErrorSetRaisedFromCStr(kind, buffer);
  return -1;
}

/* How much of a text a message shows: 200 bytes, and no part of a character of
   UTF-8, as Python could not read that. */
TVMFFI_I_COLD int tvmffi_i_clip(const char *text, size_t size) {
  int n = size < 200 ? (int)size : 200;
  if (size > 200)
    while (n > 196 && ((unsigned char)text[n] & 0xC0) == 0x80) --n;
  return n;
}

/* What "%.*s" takes for a byte array. */
#define TVMFFI_I_TEXT(bytes) \
  tvmffi_i_clip((bytes).data, (bytes).size), (bytes).data

TVMFFI_I_COLD int tvmffi_i_null(const char *function, const char *what) {
  return tvmffi_i_fail("ValueError", "%s: %s must not be NULL", function, what);
}

#define TVMFFI_I_NOT_NULL(pointer) \
  if (TVMFFI_I_UNLIKELY(!(pointer))) return tvmffi_i_null(__func__, #pointer)

/* Whether a byte array can be: NULL has no bytes, and no memory is that large
   (no 64-bit address space has 2^56 bytes). */
TVMFFI_I_INLINE int tvmffi_i_is_bytes(const TVMFFIByteArray *bytes) {
  const size_t most = PTRDIFF_MAX >> (sizeof(size_t) > 4 ? 7 : 0);
  return bytes && (bytes->data || !bytes->size) && bytes->size <= most;
}

TVMFFI_I_COLD int tvmffi_i_bad_bytes(const char *function, const char *what,
                                     const TVMFFIByteArray *bytes) {
  if (!bytes) return tvmffi_i_null(function, what);
  return tvmffi_i_fail("ValueError", "%s: %s is %s of %lld bytes", function,
                       what, bytes->data ? "an array" : "NULL instead",
                       (long long)bytes->size);
}

#define TVMFFI_I_BYTES(bytes)                       \
  if (TVMFFI_I_UNLIKELY(!tvmffi_i_is_bytes(bytes))) \
  return tvmffi_i_bad_bytes(__func__, #bytes, bytes)

/* Raises unless `handle` is an object of type `index`. */
TVMFFI_I_SLOW int tvmffi_i_check_type(const char *function, const char *what,
                                      TVMFFIObjectHandle handle,
                                      int32_t index) {
  int32_t got;
  if (!handle) return tvmffi_i_null(function, what);
  got = ((TVMFFIObject *)handle)->type_index;
  if (tvmffi_is_instance(got, index)) return 0;
  return tvmffi_i_fail("TypeError", "%s: %s is expected to be %s but is %s",
                       function, what, tvmffi_i_type_key(index),
                       tvmffi_i_type_key(got));
}

TVMFFI_I_INLINE int tvmffi_i_is_exactly(TVMFFIObjectHandle handle,
                                        int32_t index) {
  return handle && ((TVMFFIObject *)handle)->type_index == index;
}

#define TVMFFI_I_CHECK(handle, index)                         \
  if (TVMFFI_I_UNLIKELY(!tvmffi_i_is_exactly(handle, index))) \
  TVMFFI_TRY(tvmffi_i_check_type(__func__, #handle, handle, index))
