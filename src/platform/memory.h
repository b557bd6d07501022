/* ======== Memory ========================================== >>platform/memory
   allocation and the per-thread free lists */
/* A hash, and the map that every registry is made of: insert-only, written
   under the mutex, read without it. Its nodes are never moved or freed; a
   table of slots that has grown too small is kept, since a reader may be in
   it (all old ones together are smaller than the present one). */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/atomic.h"
#include "arena.h"
#include "thread_state.h"
#include "knot.h"
#include "thread.h"

/* The functions that are called most often begin where a line of the cache
   does: those that lie across one more than they need take cycles for it. */
#if TVMFFI_I_GNU && UINTPTR_MAX > UINT32_MAX && !defined(__OPTIMIZE_SIZE__)
#define TVMFFI_I_ON_LINE __attribute__((__aligned__(64)))
#else
#define TVMFFI_I_ON_LINE
#endif

/* -------- Memory -------- */

/* Small objects are made and die so often that malloc and free would be most of
   their cost. So a thread keeps the blocks of those that it destroys, in one
   free list for each size class, and takes from there first. No lock is needed,
   as a thread touches no lists but its own; a block may come from any thread,
   since each was allocated by itself and can be freed by itself. An object's
   size is not stored: its deleter knows it, or calls tvmffi_i_free, which is
   always right.

   A thread keeps blocks up to its byte budget, and frees the rest. The budget
   grows by slices while the thread has more to keep, and shrinks while it
   allocates although its budget is not used. All slices but the first come from
   the budget of the process. A thread gives all back when it ends, when memory
   is refused to it, and by tvmffi_memory_trim. */

#if TVMFFI_I_POOL
/* The sizes of classes end where those of common mallocs do, with a word of
   their own before each block: so no block takes more than it would have. */
TVMFFI_I_INLINE size_t tvmffi_i_pool_class(size_t size) {
  return (size + sizeof(size_t) - 1) / 16;
}

/* The units that no thread has, and the number of calls of tvmffi_memory_trim.
 */
static uint64_t tvmffi_i_pool_left = TVMFFI_I_POOL_PROCESS;
static uint64_t tvmffi_i_pool_trims;

/* Makes a thread's budget smaller by units that it does not use. */
static void tvmffi_i_pool_shrink(tvmffi_i_thread *t, int32_t units) {
  t->pool_budget -= units;
  t->pool_room -= units;
  (void)tvmffi_i_add64(&tvmffi_i_pool_left, (uint64_t)units);
}

/* Makes a thread's budget larger by a slice; 0 if it is as large as it may be.
 */
static int tvmffi_i_pool_grow(tvmffi_i_thread *t) {
  uint64_t left = tvmffi_i_load64(&tvmffi_i_pool_left);
  if (t->pool_budget >= TVMFFI_I_POOL_THREAD) return 0;
  do
    if (left < TVMFFI_I_POOL_SLICE) return 0;
  while (
      !tvmffi_i_cas64(&tvmffi_i_pool_left, &left, left - TVMFFI_I_POOL_SLICE));
  t->pool_budget += TVMFFI_I_POOL_SLICE;
  t->pool_room += TVMFFI_I_POOL_SLICE;
  return 1;
}

/* Frees the blocks that a thread keeps, and gives back its budget but for the
   first slice; tells whether there was any block. */
TVMFFI_I_SLOW int tvmffi_i_pool_flush(tvmffi_i_thread *t) {
  int i, any = 0;
  t->pool_skip = 0;
  for (i = 0; i < TVMFFI_I_POOL_CLASSES; ++i) {
    while (t->pool[i]) {
      void *block = t->pool[i];
      t->pool[i] = *(void **)block;
      t->pool_room += i;
      TVMFFI_I_FREE(block);
      any = 1;
    }
  }
  if (t->pool_budget > TVMFFI_I_POOL_SLICE)
    tvmffi_i_pool_shrink(t, t->pool_budget - TVMFFI_I_POOL_SLICE);
  return any;
}

/* From now on the thread keeps nothing. */
static void tvmffi_i_pool_end(tvmffi_i_thread *t) {
  t->pool_state = -1;
  (void)tvmffi_i_pool_flush(t);
  t->pool_budget = t->pool_room = 0;
}

/* Follows another thread's call of tvmffi_memory_trim. */
TVMFFI_I_INLINE void tvmffi_i_pool_follow(tvmffi_i_thread *t) {
  const uint64_t trims = tvmffi_i_load64(&tvmffi_i_pool_trims);
  if (TVMFFI_I_LIKELY(t->pool_trims == trims)) return;
  t->pool_trims = trims;
  (void)tvmffi_i_pool_flush(t);
}

/* Frees blocks of other size classes until one of class `i` fits. */
static int tvmffi_i_pool_evict(tvmffi_i_thread *t, size_t i) {
  size_t k = i, n;
  for (n = 1; n < TVMFFI_I_POOL_CLASSES && t->pool_room < (int32_t)i; ++n) {
    k = k + 1 < TVMFFI_I_POOL_CLASSES ? k + 1 : 0;
    while (t->pool[k] && t->pool_room < (int32_t)i) {
      void *other = t->pool[k];
      t->pool[k] = *(void **)other;
      t->pool_room += (int32_t)k;
      TVMFFI_I_FREE(other);
    }
  }
  return t->pool_room >= (int32_t)i;
}

/* Slow path of free. The first call in a thread registers the hook for its end
   and gives it its first slice. Later calls get another slice, or evict blocks
   of other size classes, which the program may have used when it did something
   else; after a miss, only every 64th call tries again. */
TVMFFI_I_SLOW void tvmffi_i_pool_full(tvmffi_i_thread *t, void *block,
                                      size_t i) {
  enum { SKIP = 63 };
  if (t->pool_state > 0 && t->pool_skip) {
    --t->pool_skip;
  } else if (t->pool_state > 0) {
    tvmffi_i_pool_follow(t);
    if (t->pool_room >= (int32_t)i || tvmffi_i_pool_grow(t) ||
        tvmffi_i_pool_evict(t, i)) {
      *(void **)block = t->pool[i];
      t->pool[i] = block;
      t->pool_room -= (int32_t)i;
      return;
    }
    t->pool_skip = SKIP;
  } else if (!t->pool_state) {
    if (!t->exit_is_set) tvmffi_i_watch_exit(t);
    t->pool_state = t->exit_is_set ? 1 : -1;
    if (t->exit_is_set) t->pool_budget = t->pool_room = TVMFFI_I_POOL_SLICE;
    t->pool_trims = tvmffi_i_load64(&tvmffi_i_pool_trims);
  }
  TVMFFI_I_FREE(block);
}
#endif

/* Out of line: some hundred places want memory. */
TVMFFI_I_NOINLINE void *tvmffi_i_alloc(size_t size) {
  void *block = size > PTRDIFF_MAX ? NULL : TVMFFI_I_MALLOC(size);
#if TVMFFI_I_POOL
  if (TVMFFI_I_UNLIKELY(!block) && size <= PTRDIFF_MAX &&
      tvmffi_i_pool_flush(tvmffi_i_self()))
    block = TVMFFI_I_MALLOC(size);
#endif
  return block;
}

TVMFFI_I_INLINE void tvmffi_i_free(void *pointer) {
#if TVMFFI_DEBUG
  if (pointer && tvmffi_i_debug_dies(pointer)) return;
#endif
  if (pointer) TVMFFI_I_FREE(pointer);
}

/* A block that the thread has kept, or NULL. */
TVMFFI_I_INLINE void *tvmffi_i_pool_take(size_t size) {
#if TVMFFI_I_POOL
  tvmffi_i_thread *t = tvmffi_i_self();
  size_t i = tvmffi_i_pool_class(size);
  void *block = i < TVMFFI_I_POOL_CLASSES ? t->pool[i] : NULL;
  if (!block) return block;
  t->pool[i] = *(void **)block;
  t->pool_room += (int32_t)i;
  return block;
#else
  (void)size;
  return NULL;
#endif
}

/* A new block: as large as any of its class. A thread that needs one while much
   of its budget is not used gives a slice of that back. */
TVMFFI_I_NOINLINE void *tvmffi_i_pool_make(size_t size) {
#if TVMFFI_I_POOL
  tvmffi_i_thread *t = tvmffi_i_self();
  size_t i = tvmffi_i_pool_class(size);
  if (i < TVMFFI_I_POOL_CLASSES) size = i * 16 + 16 - sizeof(size_t);
  if (TVMFFI_I_UNLIKELY(t->pool_room >= 3 * TVMFFI_I_POOL_SLICE))
    tvmffi_i_pool_shrink(t, TVMFFI_I_POOL_SLICE);
  tvmffi_i_pool_follow(t);
#endif
  return tvmffi_i_alloc(size);
}

/* Memory that tvmffi_i_pool_free or tvmffi_i_free frees. */
TVMFFI_I_INLINE void *tvmffi_i_pool_alloc(size_t size) {
  void *block = tvmffi_i_pool_take(size);
  return TVMFFI_I_LIKELY(block != NULL) ? block : tvmffi_i_pool_make(size);
}

/* Frees what tvmffi_i_pool_alloc gave. `size`: what was asked for, or less. */
TVMFFI_I_INLINE void tvmffi_i_pool_free(void *block, size_t size) {
#if TVMFFI_I_POOL
  tvmffi_i_thread *t = tvmffi_i_self();
  size_t i = tvmffi_i_pool_class(size);
  if (TVMFFI_I_UNLIKELY(i >= TVMFFI_I_POOL_CLASSES)) {
    TVMFFI_I_FREE(block);
  } else if (TVMFFI_I_UNLIKELY(t->pool_room < (int32_t)i)) {
    tvmffi_i_pool_full(t, block, i);
  } else {
    *(void **)block = t->pool[i];
    t->pool[i] = block;
    t->pool_room -= (int32_t)i;
  }
#else
  (void)size;
  tvmffi_i_free(block);
#endif
}
