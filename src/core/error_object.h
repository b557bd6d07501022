/* ======== Error objects =============================== >>core/error_object */
/* An error is one block: the object, then kind, message and backtrace, each
   with a NUL. An updated backtrace has a block of its own. A thread owns its
   pending error. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "raise.h"
#include "object.h"
#include "unwind.h"
#include "backtrace.h"

/* A thread's pending error: raised and not taken yet. */
typedef struct {
  TVMFFIObject *object; /* owned, or NULL */
} tvmffi_i_error_slot;
TVMFFI_I_THREAD_STATE(tvmffi_i_error_slot, tvmffi_i_thread_error);

/* Notes the pending error, or NULL, of a thread whose end may not be noticed.
   Defined in tables/thread_state.h. */
#if TVMFFI_NO_THREADS
TVMFFI_I_INLINE void tvmffi_i_note_error(TVMFFIObject *error) { (void)error; }
#else
TVMFFI_I_COLD void tvmffi_i_note_unwatched(TVMFFIObject *error);
TVMFFI_I_INLINE void tvmffi_i_note_error(TVMFFIObject *error) {
  if (TVMFFI_I_UNLIKELY(!*tvmffi_i_thread_exit_is_set()))
    tvmffi_i_note_unwatched(error);
}
#endif

TVMFFI_I_INLINE void tvmffi_i_destroy_error(void *self, int flags) {
  tvmffi_i_error *e = (tvmffi_i_error *)self;
  const size_t size = e->trace ? (size_t)PTRDIFF_MAX : e->capacity;
  TVMFFI_ASSERT(e->trace || e->capacity > sizeof(*e));
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    tvmffi_i_free(e->trace);
    tvmffi_i_release(e->cell.cause_chain);
    tvmffi_i_release(e->cell.extra_context);
  }
  tvmffi_i_delete_sized(self, flags, size);
}
TVMFFI_I_DELETER(error)

/* The callback update_backtrace of an error. If out of memory, keeps the old
   backtrace, because the callback cannot report a failure. */
static void tvmffi_i_update_trace(TVMFFIObjectHandle self,
                                  const TVMFFIByteArray *trace, int32_t mode) {
  tvmffi_i_error *e = (tvmffi_i_error *)self;
  size_t kept, size, capacity;
  char *buffer;
  if (!e || !tvmffi_i_is_bytes(trace)) return;
  kept = mode == kTVMFFIBacktraceUpdateModeReplace ? 0 : e->cell.backtrace.size;
  if (tvmffi_i_is_huge(kept | trace->size)) return;
  size = kept + trace->size;
  buffer = e->trace;
  capacity = e->capacity;
  if (!buffer || size + 1 > capacity) {
    capacity = size + size / 2 + 1;
    buffer = (char *)tvmffi_i_alloc(capacity);
    if (!buffer) return;
    if (kept) memcpy(buffer, e->cell.backtrace.data, kept);
  }
  TVMFFI_ASSERT(size >= kept && size < capacity);
  /* memmove, because the new text may be part of the old one. */
  if (trace->size) memmove(buffer + kept, trace->data, trace->size);
  buffer[size] = 0;
  if (buffer != e->trace) {
    tvmffi_i_free(e->trace);
    e->trace = buffer;
    e->capacity = capacity;
  }
  e->cell.backtrace.data = buffer;
  e->cell.backtrace.size = size;
}

/* Writes a text and a NUL at `*at`, and advances `*at`. If `data` is NULL, the
   caller writes the bytes later. */
static TVMFFIByteArray tvmffi_i_place_text(char **at, const char *data,
                                           size_t size) {
  TVMFFIByteArray text;
  TVMFFI_ASSERT(at && *at);
  text.data = *at;
  text.size = size;
  if (data && size) memcpy(*at, data, size);
  (*at)[size] = 0;
  *at += size + 1;
  return text;
}

/* Creates an error, or returns NULL with a MemoryError raised. A text whose
   data is NULL only gets memory, which the caller fills. */
static tvmffi_i_error *tvmffi_i_new_error(TVMFFIByteArray kind,
                                          TVMFFIByteArray message,
                                          TVMFFIByteArray trace) {
  tvmffi_i_error *e = NULL;
  char *text;
  size_t size;
  if (tvmffi_i_is_huge(kind.size | message.size | trace.size)) {
    (void)tvmffi_i_no_memory();
    return e;
  }
  size = sizeof(*e) + kind.size + message.size + trace.size + 3;
  e = (tvmffi_i_error *)tvmffi_i_object(size, kTVMFFIError,
                                        tvmffi_i_delete_error);
  if (!e) return e;
  TVMFFI_ASSERT(size > kind.size + message.size + trace.size);
  text = (char *)(void *)(e + 1);
  e->cell.kind = tvmffi_i_place_text(&text, kind.data, kind.size);
  e->cell.message = tvmffi_i_place_text(&text, message.data, message.size);
  e->cell.backtrace = tvmffi_i_place_text(&text, trace.data, trace.size);
  TVMFFI_ASSERT(text == (char *)e + size);
  e->cell.update_backtrace = tvmffi_i_update_trace;
  e->cell.cause_chain = NULL;
  e->cell.extra_context = NULL;
  e->trace = NULL;
  e->capacity = size;
  return e;
}

/* Replaces the thread's pending error; takes ownership of `error`. Releases the
   old error last, because its destruction may run user code. An error has a
   copy of the text of TVMFFIBacktrace. A build without stack traces then frees
   the text, which a board would keep forever. */
static void tvmffi_i_set_error(TVMFFIObject *error) {
  tvmffi_i_error_slot *slot = tvmffi_i_thread_error();
  TVMFFIObject *old = slot->object;
  TVMFFI_ASSERT(TVMFFI_I_IS_FREE);
  TVMFFI_ASSERT(!error || error->type_index == kTVMFFIError ||
                tvmffi_i_derives(error->type_index, kTVMFFIError));
  TVMFFI_ASSERT(!error || error != old ||
                (uint32_t)tvmffi_i_load64(&error->combined_ref_count) > 1);
  slot->object = error;
  tvmffi_i_note_error(error);
#if TVMFFI_NO_BACKTRACE
  tvmffi_i_exit_trace();
#endif
  tvmffi_i_release(old);
}

void TVMFFIErrorSetRaised(TVMFFIObjectHandle error) {
  if (error) {
    if (TVMFFI_I_UNLIKELY(!tvmffi_i_is_exactly(error, kTVMFFIError)) &&
        tvmffi_i_check_type(__func__, "error", error, kTVMFFIError))
      return;
    tvmffi_i_retain(error);
  }
  tvmffi_i_set_error((TVMFFIObject *)error);
}

void TVMFFIErrorMoveFromRaised(TVMFFIObjectHandle *result) {
  tvmffi_i_error_slot *slot = tvmffi_i_thread_error();
  if (!result) {
    (void)tvmffi_i_null(__func__, "result");
    return;
  }
  *result = slot->object;
  slot->object = NULL;
  tvmffi_i_note_error(NULL);
}

/* Returns the code of a callback that has failed with `code`: -1 for a code
   above 0, because the runtime's own functions return such codes as results,
   for example 1 for a key that was found. Raises an error if the callback
   raised none. Code -2 means that another language, such as Python, holds the
   error: then the slot is empty afterwards. */
TVMFFI_I_SLOW int tvmffi_i_need_error(int code, const char *what) {
  TVMFFI_ASSERT(code != 0);
  if (code == -2)
    tvmffi_error_clear(); /* an earlier failure's error */
  else if (!tvmffi_i_thread_error()->object)
    (void)tvmffi_i_runtime_error("%s failed with code %d and no error", what,
                                 code);
  return code < 0 ? code : -1;
}

/* Raises an error whose message is the concatenation of the parts. */
TVMFFI_I_COLD void tvmffi_i_raise_parts(const char *kind, const char **parts,
                                        int32_t num_parts) {
  tvmffi_i_trace trace;
  tvmffi_i_error *e;
  TVMFFIByteArray message = {NULL, 0}, frames = {NULL, 0};
  size_t n;
  char *to;
  int32_t i;
  for (i = 0; i < num_parts; ++i)
    if (parts[i]) message.size += strlen(parts[i]);
  tvmffi_i_collect(&trace, 0, 0);
  frames.size = trace.size;
  e = tvmffi_i_new_error(tvmffi_byte_array(kind ? kind : "RuntimeError"),
                         message, frames);
  if (!e) {
    tvmffi_i_take_trace(&trace, NULL);
    return;
  }
  to = (char *)(uintptr_t)e->cell.message.data;
  for (i = 0; i < num_parts; ++i) {
    if (!parts[i]) continue;
    n = strlen(parts[i]);
    memcpy(to, parts[i], n);
    to += n;
  }
  TVMFFI_ASSERT(to == e->cell.message.data + e->cell.message.size);
  tvmffi_i_take_trace(&trace, to + 1);
  tvmffi_i_set_error(&e->base);
}

void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message) {
  tvmffi_i_raise_parts(kind, &message, 1);
}

void TVMFFIErrorSetRaisedFromCStrParts(const char *kind,
                                       const char **message_parts,
                                       int32_t num_parts) {
  tvmffi_i_raise_parts(kind, message_parts, message_parts ? num_parts : 0);
}

int TVMFFIErrorCreate(const TVMFFIByteArray *kind,
                      const TVMFFIByteArray *message,
                      const TVMFFIByteArray *backtrace,
                      TVMFFIObjectHandle *out) {
  return TVMFFIErrorCreateWithCauseAndExtraContext(kind, message, backtrace,
                                                   NULL, NULL, out);
}

int TVMFFIErrorCreateWithCauseAndExtraContext(const TVMFFIByteArray *kind,
                                              const TVMFFIByteArray *message,
                                              const TVMFFIByteArray *backtrace,
                                              TVMFFIObjectHandle cause_chain,
                                              TVMFFIObjectHandle extra_context,
                                              TVMFFIObjectHandle *out) {
  tvmffi_i_error *e;
  TVMFFI_I_CHECK_BYTES(kind);
  TVMFFI_I_CHECK_BYTES(message);
  TVMFFI_I_CHECK_BYTES(backtrace);
  TVMFFI_I_NOT_NULL(out);
  if (cause_chain) TVMFFI_I_CHECK(cause_chain, kTVMFFIError);
  e = tvmffi_i_new_error(*kind, *message, *backtrace);
  if (!e) return -1;
  if (cause_chain) tvmffi_i_retain(cause_chain);
  if (extra_context) tvmffi_i_retain(extra_context);
  e->cell.cause_chain = cause_chain;
  e->cell.extra_context = extra_context;
  *out = e;
  return 0;
}

/* Moves the thread's pending error into an Any, for C++ functions that return a
   value or an error. */
TVMFFI_I_COLD TVMFFIAny tvmffi_i_take_error(void) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  return tvmffi_obj(error);
}

static void tvmffi_i_exit_error(void) { tvmffi_i_set_error(NULL); }
