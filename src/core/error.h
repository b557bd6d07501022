/* ======== Error objects: error objects and the error slot === >>core/error */
/* Error objects and the thread's slot. An error is one block of memory: kind,
   message and trace follow the object, each with a NUL; a trace that was
   updated has a block of its own. The slot owns what is in it. */

#pragma once

#include "../head/compiler.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../platform/libc.h"
#include "../platform/thread_state.h"
#include "../platform/knot.h"
#include "../platform/thread.h"
#include "../platform/memory.h"
#include "raise.h"
#include "object.h"
#include "unwind.h"
#include "backtrace.h"

static char *tvmffi_i_error_bytes(tvmffi_i_error *e) {
  return (char *)(void *)(e + 1);
}

TVMFFI_I_INLINE void tvmffi_i_destroy_error(void *self, int flags) {
  tvmffi_i_error *e = (tvmffi_i_error *)self;
  const size_t size = e->trace ? (size_t)PTRDIFF_MAX : e->capacity;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    tvmffi_i_free(e->trace);
    tvmffi_release(e->cell.cause_chain);
    tvmffi_release(e->cell.extra_context);
  }
  tvmffi_i_delete_sized(self, flags, size);
}

static void tvmffi_i_delete_error(void *self, int flags) {
  tvmffi_i_destroy((TVMFFIObject *)self, flags, tvmffi_i_destroy_error,
                   tvmffi_i_delete_error);
}

/* The trace that was there stays when memory is refused: there is no way to
   say so. */
static void tvmffi_i_update_trace(TVMFFIObjectHandle self,
                                  const TVMFFIByteArray *trace, int32_t mode) {
  tvmffi_i_error *e = (tvmffi_i_error *)self;
  size_t kept, size;
  char *buffer;
  if (!e || !tvmffi_i_is_bytes(trace)) return;
  kept = mode == kTVMFFIBacktraceUpdateModeReplace ? 0 : e->cell.backtrace.size;
  size = kept + trace->size;
  if (size > PTRDIFF_MAX / 2) return;
  buffer = e->trace;
  if (!buffer || size + 1 > e->capacity) {
    buffer = (char *)tvmffi_i_alloc(size + size / 2 + 1);
    if (!buffer) return;
    if (kept) memcpy(buffer, e->cell.backtrace.data, kept);
  }
  /* The new text may be a part of the old one. */
  if (trace->size) memmove(buffer + kept, trace->data, trace->size);
  buffer[size] = 0;
  if (buffer != e->trace) {
    tvmffi_i_free(e->trace);
    e->trace = buffer;
    e->capacity = size + size / 2 + 1;
  }
  e->cell.backtrace.data = buffer;
  e->cell.backtrace.size = size;
}

/* An error with room for its texts, which the caller fills; NULL when there
   is no memory, and then that is the thread's error. */
static tvmffi_i_error *tvmffi_i_new_error(size_t kind, size_t message,
                                          size_t trace) {
  const size_t most = PTRDIFF_MAX / 4;
  tvmffi_i_error *e = NULL;
  char *text;
  size_t size;
  if (kind > most || message > most || trace > most) {
    (void)tvmffi_i_no_memory();
    return e;
  }
  size = sizeof(*e) + kind + message + trace + 3;
  e = (tvmffi_i_error *)tvmffi_i_object(size, kTVMFFIError,
                                        tvmffi_i_delete_error);
  if (!e) return e;
  text = tvmffi_i_error_bytes(e);
  e->cell.kind.data = text;
  e->cell.kind.size = kind;
  text[kind] = 0;
  text += kind + 1;
  e->cell.message.data = text;
  e->cell.message.size = message;
  text[message] = 0;
  text += message + 1;
  e->cell.backtrace.data = text;
  e->cell.backtrace.size = trace;
  text[trace] = 0;
  e->cell.update_backtrace = tvmffi_i_update_trace;
  e->cell.cause_chain = NULL;
  e->cell.extra_context = NULL;
  e->trace = NULL;
  e->capacity = size;
  return e;
}

/* Puts an error, taken, into the slot; what was there is released last, since
   its destruction may run code of a user. */
static void tvmffi_i_set_error(TVMFFIObject *error) {
  tvmffi_i_thread *t = tvmffi_i_self();
  TVMFFIObject *old = t->error;
  t->error = error;
  if (error && TVMFFI_I_UNLIKELY(!t->exit_is_set)) tvmffi_i_watch_exit(t);
  tvmffi_release(old);
}

void TVMFFIErrorSetRaised(TVMFFIObjectHandle error) {
  if (error) {
    if (TVMFFI_I_UNLIKELY(!tvmffi_i_is_exactly(error, kTVMFFIError)) &&
        tvmffi_i_check_type(__func__, "error", error, kTVMFFIError))
      return;
    tvmffi_retain(error);
  }
  tvmffi_i_set_error((TVMFFIObject *)error);
}

void TVMFFIErrorMoveFromRaised(TVMFFIObjectHandle *result) {
  tvmffi_i_thread *t = tvmffi_i_self();
  if (!result) {
    (void)tvmffi_i_null(__func__, "result");
    return;
  }
  *result = t->error;
  t->error = NULL;
}

/* Raises an error whose message is all parts, one after the other. */
TVMFFI_I_COLD void tvmffi_i_raise_parts(const char *kind, const char **parts,
                                        int32_t num_parts) {
  tvmffi_i_trace trace;
  tvmffi_i_error *e;
  size_t kind_size, size = 0, n;
  char *to;
  int32_t i;
  if (!kind) kind = "RuntimeError";
  kind_size = strlen(kind);
  for (i = 0; i < num_parts; ++i)
    if (parts[i]) size += strlen(parts[i]);
  tvmffi_i_collect(&trace, 0, 0);
  e = tvmffi_i_new_error(kind_size, size, trace.size);
  if (!e) return;
  to = tvmffi_i_error_bytes(e);
  memcpy(to, kind, kind_size);
  to += kind_size + 1;
  for (i = 0; i < num_parts; ++i) {
    if (!parts[i]) continue;
    n = strlen(parts[i]);
    memcpy(to, parts[i], n);
    to += n;
  }
  tvmffi_i_copy_trace(&trace, to + 1);
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
  char *to;
  TVMFFI_I_BYTES(kind);
  TVMFFI_I_BYTES(message);
  TVMFFI_I_BYTES(backtrace);
  TVMFFI_I_NOT_NULL(out);
  if (cause_chain) TVMFFI_I_CHECK(cause_chain, kTVMFFIError);
  e = tvmffi_i_new_error(kind->size, message->size, backtrace->size);
  if (!e) return -1;
  to = tvmffi_i_error_bytes(e);
  if (kind->size) memcpy(to, kind->data, kind->size);
  to += kind->size + 1;
  if (message->size) memcpy(to, message->data, message->size);
  to += message->size + 1;
  if (backtrace->size) memcpy(to, backtrace->data, backtrace->size);
  if (cause_chain) tvmffi_retain(cause_chain);
  if (extra_context) tvmffi_retain(extra_context);
  e->cell.cause_chain = cause_chain;
  e->cell.extra_context = extra_context;
  *out = e;
  return 0;
}

/* Takes the error out of the thread's slot, as the result of a C++ function
   that returns a value or, in its place, an error. */
TVMFFI_I_COLD TVMFFIAny tvmffi_i_take_error(void) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  return tvmffi_obj(error);
}

/* Frees what a thread has when it ends. The release may raise again: then the
   system calls this once more. */
static void tvmffi_i_thread_exit(tvmffi_i_thread *t) {
  TVMFFIObject *error = t->error;
  tvmffi_i_end_makers(t, UINTPTR_MAX);
  t->exit_is_set = 0;
  t->error = NULL;
  t->destroying.depth = 0; /* a destructor may have ended the thread */
  tvmffi_i_end_pending(&t->destroying);
  tvmffi_release(error);
  tvmffi_i_free(t->stream);
  t->stream = NULL;
  t->stream_mask = t->num_streams = 0;
  tvmffi_i_free(t->trace);
  t->trace = NULL;
  t->trace_capacity = 0;
#if TVMFFI_I_POOL
  tvmffi_i_pool_end(t);
#endif
}
