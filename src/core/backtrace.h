/* ======== Backtrace: stack traces as text =============== >>core/backtrace */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/abi.h"
#include "../platform/libc.h"
#include "../platform/thread_state.h"
#include "../platform/thread.h"
#include "../platform/memory.h"
#include "symbol.h"
#include "unwind.h"

#if TVMFFI_NO_BACKTRACE
static void tvmffi_i_collect(tvmffi_i_trace *trace, uintptr_t until,
                             int across) {
  (void)until, (void)across;
  trace->size = 0;
  trace->count = 0;
  trace->limit = 1;
}
static void tvmffi_i_copy_trace(const tvmffi_i_trace *trace, char *to) {
  (void)trace, (void)to;
}
#else
static void tvmffi_i_open_trace(tvmffi_i_trace *trace, uintptr_t until,
                                int across) {
  trace->size = 0;
  trace->count = 0;
  trace->limit = tvmffi_i_frame_limit() - (until != 0);
  trace->until = until;
  trace->across = across;
}

/* Walks the stack. Most of the runtime's own frames are hidden by name, or have
   none; `until` hides those up to the frame that returns to it, too. */
TVMFFI_I_COLD void tvmffi_i_collect(tvmffi_i_trace *trace, uintptr_t until,
                                    int across) {
  tvmffi_i_open_trace(trace, until, across);
#if TVMFFI_I_WALK
  if (tvmffi_i_walk_stack(trace)) return;
  tvmffi_i_open_trace(trace, until, across);
#endif
  (void)_Unwind_Backtrace(tvmffi_i_on_frame, trace);
}

static void tvmffi_i_copy_trace(const tvmffi_i_trace *trace, char *to) {
  int i;
  for (i = 0; i < trace->count; ++i) {
    memcpy(to, trace->frame[i]->text, trace->frame[i]->size);
    to += trace->frame[i]->size;
  }
}
#endif

/* Gives a buffer of the thread with room for `size` bytes, or NULL. */
static char *tvmffi_i_trace_buffer(tvmffi_i_thread *t, size_t size) {
  char *buffer;
  size_t capacity = size < 1000 ? 1024 : size + size / 2;
  if (size <= t->trace_capacity) return t->trace;
  buffer = (char *)tvmffi_i_alloc(capacity);
  if (!buffer) return buffer;
  tvmffi_i_free(t->trace);
  t->trace = buffer;
  t->trace_capacity = capacity;
  if (!t->exit_is_set) tvmffi_i_watch_exit(t);
  return buffer;
}

#if TVMFFI_I_GNU
__attribute__((__noinline__))
#endif
const TVMFFIByteArray *
TVMFFIBacktrace(const char *filename, int lineno, const char *func,
                int cross_ffi_boundary) {
  tvmffi_i_thread *t = tvmffi_i_self();
  tvmffi_i_source source;
  tvmffi_i_trace trace;
  size_t head = 0;
  char *text;
  int named = filename && func;
  source.file = filename;
  source.function = func;
  source.line = lineno;
  t->trace_view.data = "";
  t->trace_view.size = 0;
  /* A caller who says where it is stands in the trace already. */
  tvmffi_i_collect(&trace, named ? TVMFFI_I_RETURN_ADDRESS : 0,
                   cross_ffi_boundary);
  if (named) head = tvmffi_i_frame_line(NULL, source);
  text = tvmffi_i_trace_buffer(t, head + trace.size + 1);
  if (!text) return &t->trace_view;
  if (head) (void)tvmffi_i_frame_line(text, source);
  tvmffi_i_copy_trace(&trace, text + head);
  text[head + trace.size] = 0;
  t->trace_view.data = text;
  t->trace_view.size = head + trace.size;
  return &t->trace_view;
}
