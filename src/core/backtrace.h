/* ======== Backtrace: stack traces as text =============== >>core/backtrace */

#pragma once

#include "../head.h"
#include "../platform.h"
#include "address_name.h"
#include "unwind.h"

#if TVMFFI_NO_BACKTRACE
static void tvmffi_i_collect(tvmffi_i_trace *trace, uintptr_t until,
                             int across) {
  (void)until, (void)across;
  trace->size = 0;
  trace->count = 0;
  trace->limit = 1;
}
static void tvmffi_i_take_trace(tvmffi_i_trace *trace, char *to) {
  (void)trace, (void)to;
}
#else
static void tvmffi_i_open_trace(tvmffi_i_trace *trace, uintptr_t until,
                                int across) {
  const int limit = tvmffi_i_frame_limit() - (until != 0);
  TVMFFI_ASSERT(limit >= -1 && limit <= TVMFFI_I_MAX_FRAMES);
  trace->size = 0;
  trace->count = 0;
  trace->limit = limit;
  trace->capacity = limit < TVMFFI_I_FEW_FRAMES ? limit : TVMFFI_I_FEW_FRAMES;
  trace->frame = trace->few;
  trace->until = until;
  trace->across = across;
  tvmffi_i_enter_frames(&trace->reader);
}

/* Copies the text of a trace, and frees the trace's memory. If `to` is NULL,
   copies nothing. */
static void tvmffi_i_take_trace(tvmffi_i_trace *trace, char *to) {
  int i;
  TVMFFI_ASSERT(trace->count == 0 || trace->count <= trace->capacity);
  for (i = 0; to && i < trace->count; ++i) {
    TVMFFI_ASSERT(trace->frame[i]->size <= trace->size);
    memcpy(to, trace->frame[i]->text, trace->frame[i]->size);
    to += trace->frame[i]->size;
  }
  if (trace->frame != trace->few) tvmffi_i_free((void *)trace->frame);
  tvmffi_i_leave_frames(&trace->reader);
}

/* Collects the frames of the stack. If `until` is not 0, skips the frames up to
   this return address. If `across` is 0, stops at a frame of Python or of
   TVMFFIFunctionCall. */
TVMFFI_I_COLD void tvmffi_i_collect(tvmffi_i_trace *trace, uintptr_t until,
                                    int across) {
  tvmffi_i_open_trace(trace, until, across);
#if TVMFFI_I_WALK
  if (tvmffi_i_unwind_stack(trace)) return;
  tvmffi_i_take_trace(trace, NULL);
  tvmffi_i_open_trace(trace, until, across);
#endif
  (void)_Unwind_Backtrace(tvmffi_i_on_frame, trace);
}
#endif

/* The text that TVMFFIBacktrace last returned to a thread. */
typedef struct {
  char *text; /* owned */
  size_t capacity;
  TVMFFIByteArray view;
} tvmffi_i_trace_text;
TVMFFI_I_BLOCK_STATE(tvmffi_i_trace_text, tvmffi_i_thread_trace);

static void tvmffi_i_exit_trace(void) {
  tvmffi_i_trace_text *t = tvmffi_i_thread_trace();
  if (!t->text) return;
  TVMFFI_ASSERT(!t->view.size || t->view.data == t->text);
  tvmffi_i_free(t->text);
  t->text = NULL;
  t->capacity = 0;
  t->view.data = "";
  t->view.size = 0;
}

/* Returns the thread's buffer, of at least `size` bytes, or NULL. A build
   without stack traces frees the buffer after each error, so the buffer is not
   larger than its text. */
static char *tvmffi_i_trace_buffer(tvmffi_i_trace_text *t, size_t size) {
  char *buffer;
  size_t capacity = TVMFFI_NO_BACKTRACE ? size
                    : size < 1000       ? 1024
                                        : size + size / 2;
  TVMFFI_ASSERT(!t->text == !t->capacity);
  if (size <= t->capacity) return t->text;
  TVMFFI_ASSERT(capacity >= size && size > 0);
  buffer = (char *)tvmffi_i_alloc(capacity);
  if (!buffer) return buffer;
  tvmffi_i_free(t->text);
  t->text = buffer;
  t->capacity = capacity;
  return buffer;
}

#if TVMFFI_I_GNU
__attribute__((__noinline__))
#endif
const TVMFFIByteArray *
TVMFFIBacktrace(const char *filename, int lineno, const char *func,
                int cross_ffi_boundary) {
  static const TVMFFIByteArray empty = {"", 0};
  const tvmffi_i_source source = {filename, func, lineno};
  const int named = filename && func;
  tvmffi_i_trace_text *t;
  tvmffi_i_trace trace;
  size_t head = 0;
  char *text;
  if (!tvmffi_i_need_block()) return &empty;
  t = tvmffi_i_thread_trace();
  t->view = empty;
  /* filename and func, if given, describe the caller. Then the caller's own
     frame on the stack is skipped. */
  tvmffi_i_collect(&trace, named ? TVMFFI_I_RETURN_ADDRESS : 0,
                   cross_ffi_boundary);
  if (named) head = tvmffi_i_frame_line(NULL, source);
  text = head || trace.size ? tvmffi_i_trace_buffer(t, head + trace.size + 1)
                            : NULL;
  if (head && text) (void)tvmffi_i_frame_line(text, source);
  tvmffi_i_take_trace(&trace, text ? text + head : NULL);
  if (!text) return &t->view;
  TVMFFI_ASSERT(text == t->text && head + trace.size < t->capacity);
  text[head + trace.size] = 0;
  t->view.data = text;
  t->view.size = head + trace.size;
  return &t->view;
}
