/* ======== Raise: errors of the runtime itself =============== >>core/raise */
/* The MemoryError is a static object, so that raising a MemoryError allocates
   nothing. */

#pragma once

#include "../head.h"
#include "../base.h"

typedef struct {
  TVMFFIObject base;
  TVMFFIErrorCell cell;
  char *trace;     /* owned, or NULL; set by update_backtrace */
  size_t capacity; /* size of `trace`; if `trace` is NULL, of this block */
} tvmffi_i_error;

static void tvmffi_i_ignore_trace(TVMFFIObjectHandle self,
                                  const TVMFFIByteArray *trace, int32_t mode) {
  (void)self, (void)trace, (void)mode;
}

static tvmffi_i_error tvmffi_i_memory_error = {
    {TVMFFI_I_PINNED | TVMFFI_I_WEAK_ONE, kTVMFFIError, 0, {NULL}},
    {{"MemoryError", 11},
     {"out of memory", 13},
     {"", 0},
     tvmffi_i_ignore_trace,
     NULL,
     NULL},
    NULL,
    0};

TVMFFI_I_SLOW int tvmffi_i_no_memory(void) {
  TVMFFIObject *error = &tvmffi_i_memory_error.base;
  TVMFFI_ASSERT(tvmffi_i_load64(&error->combined_ref_count) & 0x80000000u);
  TVMFFIErrorSetRaised(error);
  return -1;
}

TVMFFI_I_SLOW int tvmffi_i_vfail(const char *kind, const char *format,
                                 va_list ap) {
  char buffer[TVMFFI_MESSAGE_SIZE];
  TVMFFI_ASSERT(kind && *kind && format);
  (void)tvmffi_i_message(buffer, format, ap);
  TVMFFIErrorSetRaisedFromCStr(kind, buffer);
  return -1;
}

/* Raises an error of any kind. */
TVMFFI_I_PRINTF(2, 3)
TVMFFI_I_COLD int tvmffi_i_fail(const char *kind, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  (void)tvmffi_i_vfail(kind, format, ap);
  va_end(ap);
  return -1;
}

/* Defines a function that raises errors of one kind. The frequent kinds have
   such functions, because a call that passes no kind is smaller. */
#define TVMFFI_I_FAIL_AS(name, kind)                \
  TVMFFI_I_PRINTF(1, 2)                             \
  TVMFFI_I_COLD int name(const char *format, ...) { \
    va_list ap;                                     \
    va_start(ap, format);                           \
    (void)tvmffi_i_vfail(kind, format, ap);         \
    va_end(ap);                                     \
    return -1;                                      \
  }
TVMFFI_I_FAIL_AS(tvmffi_i_type_error, "TypeError")
TVMFFI_I_FAIL_AS(tvmffi_i_value_error, "ValueError")
TVMFFI_I_FAIL_AS(tvmffi_i_runtime_error, "RuntimeError")
TVMFFI_I_FAIL_AS(tvmffi_i_internal_error, "InternalError")

TVMFFI_I_COLD int tvmffi_i_bad_cast(const TVMFFIAny *value, const char *to) {
  return tvmffi_i_type_error("Cannot convert from type `%s` to `%s`",
                             tvmffi_i_type_key(value->type_index), to);
}

TVMFFI_I_COLD int tvmffi_i_cannot_treat(int32_t type_index, const char *as) {
  return tvmffi_i_type_error("Cannot treat type `%s` as type `%s`",
                             tvmffi_i_type_key(type_index), as);
}

/* Returns how many bytes of a text a message shows: at most 200. Does not split
   a UTF-8 character, because Python could not decode the message. */
TVMFFI_I_COLD int tvmffi_i_clip(const char *text, size_t size) {
  int n = size < 200 ? (int)size : 200;
  TVMFFI_ASSERT(size <= PTRDIFF_MAX && (text || !size));
  if (size > 200)
    while (n > 196 && ((unsigned char)text[n] & 0xC0) == 0x80) --n;
  return n;
}

/* Expands to the two arguments of "%.*s" for a byte array, clipped to 200
   bytes. */
#define TVMFFI_I_TEXT(bytes) \
  tvmffi_i_clip((bytes).data, (bytes).size), (bytes).data

TVMFFI_I_COLD int tvmffi_i_null(const char *function, const char *what) {
  return tvmffi_i_value_error("%s: %s must not be NULL", function, what);
}

#define TVMFFI_I_NOT_NULL(pointer) \
  if (TVMFFI_I_UNLIKELY(!(pointer))) return tvmffi_i_null(__func__, #pointer)

/* Returns 1 if a byte array is valid, else 0. `data` may be NULL only if `size`
   is 0. `size` must be below 2^56 on 64 bits, 2^31 on 32 bits. */
TVMFFI_I_INLINE int tvmffi_i_is_bytes(const TVMFFIByteArray *bytes) {
  const size_t most = PTRDIFF_MAX >> (sizeof(size_t) > 4 ? 7 : 0);
  return bytes && (bytes->data || !bytes->size) && bytes->size <= most;
}

TVMFFI_I_COLD int tvmffi_i_bad_bytes(const char *function, const char *what,
                                     const TVMFFIByteArray *bytes) {
  TVMFFI_ASSERT(!tvmffi_i_is_bytes(bytes));
  if (!bytes) return tvmffi_i_null(function, what);
  return tvmffi_i_value_error("%s: %s is %s of %lld bytes", function, what,
                              bytes->data ? "an array" : "NULL instead",
                              (long long)bytes->size);
}

#define TVMFFI_I_CHECK_BYTES(bytes)                 \
  if (TVMFFI_I_UNLIKELY(!tvmffi_i_is_bytes(bytes))) \
  return tvmffi_i_bad_bytes(__func__, #bytes, bytes)

/* Raises an error unless `handle` is an object of type `index` or a derived
   type. */
TVMFFI_I_SLOW int tvmffi_i_check_type(const char *function, const char *what,
                                      TVMFFIObjectHandle handle,
                                      int32_t index) {
  int32_t got;
  TVMFFI_ASSERT(index >= kTVMFFIStaticObjectBegin);
  if (!handle) return tvmffi_i_null(function, what);
  got = ((TVMFFIObject *)handle)->type_index;
  if (got == index || tvmffi_i_derives(got, index)) return 0;
  return tvmffi_i_type_error("%s: %s is expected to be %s but is %s", function,
                             what, tvmffi_i_type_key(index),
                             tvmffi_i_type_key(got));
}

TVMFFI_I_INLINE int tvmffi_i_is_exactly(TVMFFIObjectHandle handle,
                                        int32_t index) {
  return handle && ((TVMFFIObject *)handle)->type_index == index;
}

#define TVMFFI_I_CHECK(handle, index)                         \
  if (TVMFFI_I_UNLIKELY(!tvmffi_i_is_exactly(handle, index))) \
  TVMFFI_TRY(tvmffi_i_check_type(__func__, #handle, handle, index))
