/* ======== Streams: the current stream of each device ==== >>modules/stream */
/* What surrounds the runtime: streams and tensor allocators per thread, the
   host language's signals, handles that are made once. */

#pragma once

#include "../head/abi.h"
#include "../interface/error.h"
#include "../platform/thread_state.h"
#include "../platform/thread.h"
#include "../platform/memory.h"
#include "../core/raise.h"

/* The place of a device in the thread's table: its own, or a free one. */
static tvmffi_i_stream *tvmffi_i_stream_place(tvmffi_i_thread *t, int32_t type,
                                              int32_t id) {
  uint32_t i = (uint32_t)type * 31 + (uint32_t)id;
  for (;; ++i) {
    tvmffi_i_stream *s = &t->stream[i & t->stream_mask];
    if (s->device_type == -1 || (s->device_type == type && s->device_id == id))
      return s;
  }
}

static int tvmffi_i_grow_streams(tvmffi_i_thread *t) {
  tvmffi_i_stream *old = t->stream;
  uint32_t places = old ? (t->stream_mask + 1) * 2 : 8, i;
  uint32_t old_places = old ? t->stream_mask + 1 : 0;
  if (t->num_streams * 2 < old_places) return 0;
  t->stream = (tvmffi_i_stream *)tvmffi_i_alloc(places * sizeof(*old));
  if (!t->stream) {
    t->stream = old;
    return tvmffi_i_no_memory();
  }
  t->stream_mask = places - 1;
  for (i = 0; i < places; ++i) t->stream[i].device_type = -1;
  for (i = 0; i < old_places; ++i)
    if (old[i].device_type != -1)
      *tvmffi_i_stream_place(t, old[i].device_type, old[i].device_id) = old[i];
  tvmffi_i_free(old);
  if (!t->exit_is_set) tvmffi_i_watch_exit(t);
  return 0;
}

int TVMFFIEnvSetStream(int32_t device_type, int32_t device_id,
                       TVMFFIStreamHandle stream,
                       TVMFFIStreamHandle *opt_out_original_stream) {
  tvmffi_i_thread *t = tvmffi_i_self();
  tvmffi_i_stream *s;
  if (device_type < 0 || device_id < 0)
    return tvmffi_i_fail("ValueError", "There is no device (%d, %d)",
                         device_type, device_id);
  TVMFFI_TRY(tvmffi_i_grow_streams(t));
  s = tvmffi_i_stream_place(t, device_type, device_id);
  if (s->device_type == -1) {
    s->device_type = device_type;
    s->device_id = device_id;
    s->stream = NULL;
    ++t->num_streams;
  }
  if (opt_out_original_stream) *opt_out_original_stream = s->stream;
  s->stream = stream;
  return 0;
}

TVMFFIStreamHandle TVMFFIEnvGetStream(int32_t device_type, int32_t device_id) {
  tvmffi_i_thread *t = tvmffi_i_self();
  tvmffi_i_stream *s;
  if (!t->stream || device_type < 0) return NULL;
  s = tvmffi_i_stream_place(t, device_type, device_id);
  return s->device_type == -1 ? NULL : s->stream;
}
