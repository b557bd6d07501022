/* ======== Streams: the current stream of each device ==== >>modules/stream */

#pragma once

#include "../head.h"
#include "../platform.h"
#include "../core.h"

/* A record of the thread's current stream for a device. The key is device_type
   + 1, because a key's first word must not be 0, and device_id. */
typedef struct {
  uintptr_t key[2];
  TVMFFIStreamHandle stream;
} tvmffi_i_stream;
TVMFFI_I_BLOCK_STATE(tvmffi_i_records, tvmffi_i_thread_streams);

static void tvmffi_i_exit_streams(void) {
  tvmffi_i_records *t = tvmffi_i_thread_streams();
  if (!t->table) return; /* all threads without a block share one of zeros */
  TVMFFI_ASSERT(t->count > 0);
  tvmffi_i_free_slots(t->table);
  memset((void *)t, 0, sizeof(*t));
}

int TVMFFIEnvSetStream(int32_t device_type, int32_t device_id,
                       TVMFFIStreamHandle stream,
                       TVMFFIStreamHandle *opt_out_original_stream) {
  tvmffi_i_stream *s;
  if (device_type < 0 || device_id < 0)
    return tvmffi_i_value_error("There is no device (%d, %d)", (int)device_type,
                                (int)device_id);
  if (!tvmffi_i_need_block()) return tvmffi_i_no_memory();
  s = (tvmffi_i_stream *)tvmffi_i_add_record(
      tvmffi_i_thread_streams(), sizeof(*s), 2, (uintptr_t)device_type + 1,
      (uintptr_t)device_id);
  if (!s) return tvmffi_i_no_memory();
  TVMFFI_ASSERT(s->key[1] == (uintptr_t)device_id);
  if (opt_out_original_stream) *opt_out_original_stream = s->stream;
  s->stream = stream;
  return 0;
}

TVMFFIStreamHandle TVMFFIEnvGetStream(int32_t device_type, int32_t device_id) {
  const tvmffi_i_stream *s = (const tvmffi_i_stream *)tvmffi_i_find_record(
      tvmffi_i_thread_streams(), sizeof(*s), 2, (uintptr_t)device_type + 1,
      (uintptr_t)device_id);
  return s ? s->stream : NULL;
}
