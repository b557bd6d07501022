/* ======== Thread state ============================== >>platform/thread_state
   what the runtime stores for each thread */
/* Whether threads keep the memory of dead objects. A sanitizer could not tell
   such an object from the one that has its memory now. */

#pragma once

#include "../head/config.h"
#include "../head/dlpack.h"
#include "../head/abi.h"
#include "../interface/value.h"

#if TVMFFI_NO_POOL || TVMFFI_DEBUG || defined(__SANITIZE_ADDRESS__) || \
    defined(__SANITIZE_THREAD__)
#define TVMFFI_I_POOL 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || \
    __has_feature(thread_sanitizer)
#define TVMFFI_I_POOL 0
#else
#define TVMFFI_I_POOL 1
#endif
#else
#define TVMFFI_I_POOL 1
#endif

typedef struct {
  int32_t device_type, device_id;
  TVMFFIStreamHandle stream;
} tvmffi_i_stream;

#if TVMFFI_I_POOL
/* The number of size classes, and budgets in units of 16 bytes: a slice has
   32 KB, a thread may have 1 MB, and what threads have besides their first
   slices is 32 MB for the process. */
enum {
  TVMFFI_I_POOL_CLASSES = 31,
  TVMFFI_I_POOL_SLICE = 2048,
  TVMFFI_I_POOL_THREAD = 65536,
  TVMFFI_I_POOL_PROCESS = 2097152
};
#endif

/* What the runtime keeps for each thread; freed when the thread ends. */
typedef struct {
  TVMFFIObject *error;     /* raised and not yet taken: owned */
  tvmffi_i_stream *stream; /* a hash table of stream_mask + 1 places */
  uint32_t stream_mask, num_streams;
  DLPackManagedTensorAllocator allocator;
  char *trace; /* the text that TVMFFIBacktrace gave last */
  size_t trace_capacity;
  TVMFFIByteArray trace_view;
  const void *making; /* the node of a system library that is being loaded */
  struct tvmffi_i_maker *makers;    /* its calls of TVMFFIHandleInitOnce */
  struct tvmffi_i_map_guard *guard; /* maps that must not change now */
  int nesting;            /* structural hooks and keys that are being called */
  uintptr_t nesting_base; /* where the stack was at the outermost */
  int exit_is_set;
  tvmffi_i_destroying destroying;
#if TVMFFI_I_POOL
  void *pool[TVMFFI_I_POOL_CLASSES]; /* free lists: see >>platform/memory */
  int32_t pool_room;                 /* for so many units of 16 bytes more */
  int32_t pool_budget; /* the units that the thread has, used or not */
  uint64_t pool_trims; /* the value of tvmffi_i_pool_trims at the last trim */
  int pool_state; /* 0: not begun, 1: blocks are kept, -1: never again */
  int pool_skip;  /* so many blocks are freed with no look for room */
#endif
} tvmffi_i_thread;

/* Whether the runtime is told of fork. A port with a lock of its own is not. */
#if TVMFFI_NO_THREADS || defined(TVMFFI_LOCK) || defined(_WIN32)
#define TVMFFI_I_FORK 0
#else
#define TVMFFI_I_FORK 1
#endif
