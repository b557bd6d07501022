/* ======== Streams: the current stream of each device ==== >>modules/stream */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"

typedef struct {
  int32_t device_type, device_id;
  TVMFFIStreamHandle stream;
} tvmffi_i_stream;

/* A thread's streams: an open-addressing hash table of mask + 1 slots. `table`
   is NULL until the thread sets a stream. */
typedef struct {
  tvmffi_i_stream *table;
  uint32_t mask, count;
} tvmffi_i_streams;
TVMFFI_I_BLOCK_STATE(tvmffi_i_streams, tvmffi_i_thread_streams);

static void tvmffi_i_exit_streams(void) {
  tvmffi_i_streams *t = tvmffi_i_thread_streams();
  if (!t->table) return;
  tvmffi_i_free(t->table);
  memset(t, 0, sizeof(*t));
}

/* Returns the table slot of a device, or an empty slot for the device. */
static tvmffi_i_stream *tvmffi_i_stream_slot(const tvmffi_i_streams *t,
                                             int32_t type, int32_t id) {
  uint32_t i = (uint32_t)type * 31 + (uint32_t)id;
  for (;; ++i) {
    tvmffi_i_stream *s = &t->table[i & t->mask];
    if (s->device_type == -1 || (s->device_type == type && s->device_id == id))
      return s;
  }
}

static int tvmffi_i_grow_streams(tvmffi_i_streams *t) {
  tvmffi_i_stream *old = t->table;
  uint32_t old_capacity = old ? t->mask + 1 : 0, i;
  uint32_t capacity = old ? old_capacity * 2 : 8;
  if (t->count * 2 < old_capacity) return 0;
  t->table = (tvmffi_i_stream *)tvmffi_i_alloc(capacity * sizeof(*old));
  if (!t->table) {
    t->table = old;
    return tvmffi_i_no_memory();
  }
  t->mask = capacity - 1;
  for (i = 0; i < capacity; ++i) t->table[i].device_type = -1;
  for (i = 0; i < old_capacity; ++i)
    if (old[i].device_type != -1)
      *tvmffi_i_stream_slot(t, old[i].device_type, old[i].device_id) = old[i];
  tvmffi_i_free(old);
  return 0;
}

int TVMFFIEnvSetStream(int32_t device_type, int32_t device_id,
                       TVMFFIStreamHandle stream,
                       TVMFFIStreamHandle *opt_out_original_stream) {
  tvmffi_i_streams *t;
  tvmffi_i_stream *s;
  if (device_type < 0 || device_id < 0)
    return tvmffi_i_fail("ValueError", "There is no device (%d, %d)",
                         device_type, device_id);
  if (!tvmffi_i_need_block()) return tvmffi_i_no_memory();
  t = tvmffi_i_thread_streams();
  TVMFFI_TRY(tvmffi_i_grow_streams(t));
  s = tvmffi_i_stream_slot(t, device_type, device_id);
  if (s->device_type == -1) {
    s->device_type = device_type;
    s->device_id = device_id;
    s->stream = NULL;
    ++t->count;
  }
  if (opt_out_original_stream) *opt_out_original_stream = s->stream;
  s->stream = stream;
  return 0;
}

TVMFFIStreamHandle TVMFFIEnvGetStream(int32_t device_type, int32_t device_id) {
  tvmffi_i_streams *t = tvmffi_i_thread_streams();
  tvmffi_i_stream *s;
  if (!t->table || device_type < 0) return NULL;
  s = tvmffi_i_stream_slot(t, device_type, device_id);
  return s->device_type == -1 ? NULL : s->stream;
}
