/* ======== Memory ========================================== >>platform/memory
   allocation and the per-thread free lists */

#pragma once

#include "../head.h"
#include "arena.h"
#include "platform_knot.h"
#include "thread.h"

/* Aligns a hot function to a cache line, so that the code spans fewer lines. */
#if TVMFFI_I_GNU && UINTPTR_MAX > UINT32_MAX && !defined(__OPTIMIZE_SIZE__)
#define TVMFFI_I_ON_LINE __attribute__((__aligned__(64)))
#else
#define TVMFFI_I_ON_LINE
#endif

/* malloc and free would dominate the cost of small, short-lived objects. So
   each thread caches the blocks of objects that it destroys, in one free list
   per size class. A list needs no lock because only one thread uses it. Each
   block comes from malloc, so any thread may have allocated the block. A block
   stores no size, because an object's deleter knows the size.

   A thread's budget limits the bytes in its cache; further blocks are freed.
   When the cache is full, the budget grows by a slice. When the thread
   allocates with much budget unused, the budget shrinks by a slice. All slices
   but the first come from a budget that all threads share. A thread returns
   everything when the thread ends, when an allocation fails, and in
   tvmffi_memory_trim. */

/* TVMFFI_I_POOL is 0 with a sanitizer, which could not tell a dead object in a
   free list from the next object at its address. */
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

#if TVMFFI_I_POOL
/* Limits of the bytes in a cache, in units of 16 bytes. A thread's budget grows
   in slices of 32 KB up to 1 MB. The slices after the first come from 32 MB
   that all threads share. */
enum {
  TVMFFI_I_POOL_CLASSES = 31,
  TVMFFI_I_POOL_SLICE = 2048,
  TVMFFI_I_POOL_THREAD = 65536,
  TVMFFI_I_POOL_PROCESS = 2097152
};

typedef struct {
  int32_t available; /* unused budget, in units of 16 bytes */
  int32_t budget;    /* whole budget, in units of 16 bytes */
  void *list[TVMFFI_I_POOL_CLASSES];
  uint64_t trims; /* tvmffi_i_pool_trims when last checked */
  int state;      /* 0: not begun, 1: caching, -1: disabled */
  int skip;       /* calls of free left before the next attempt to evict */
} tvmffi_i_pool;
TVMFFI_I_BLOCK_STATE(tvmffi_i_pool, tvmffi_i_thread_pool);

/* Returns the size class of a block. The largest size of a class is a multiple
   of 16 minus one word, as in common mallocs, so rounding up wastes nothing. */
TVMFFI_I_INLINE size_t tvmffi_i_pool_class(size_t size) {
  return (size + sizeof(size_t) - 1) / 16;
}

/* Takes the first block of a size class, whose list is not empty, out of the
   cache. */
TVMFFI_I_INLINE void *tvmffi_i_pool_pop(tvmffi_i_pool *p, size_t i) {
  void *block = p->list[i];
  TVMFFI_ASSERT(block && p->state > 0);
  p->list[i] = *(void **)block;
  p->available += (int32_t)i;
  TVMFFI_ASSERT(p->available <= p->budget);
  return block;
}

/* Puts a block into the cache. The block fits into the thread's budget. */
TVMFFI_I_INLINE void tvmffi_i_pool_push(tvmffi_i_pool *p, size_t i,
                                        void *block) {
  TVMFFI_ASSERT(p->state > 0 && p->available >= (int32_t)i);
  *(void **)block = p->list[i];
  p->list[i] = block;
  p->available -= (int32_t)i;
}

/* Units of 16 bytes left in the budget that all threads share. */
static uint64_t tvmffi_i_pool_left = TVMFFI_I_POOL_PROCESS;
static uint64_t tvmffi_i_pool_trims; /* calls of tvmffi_memory_trim */

/* Moves unused units of the thread's budget to the shared budget. */
static void tvmffi_i_pool_shrink(tvmffi_i_pool *p, int32_t units) {
  TVMFFI_ASSERT(units >= 0 && units <= p->available && units <= p->budget);
  p->budget -= units;
  p->available -= units;
  (void)tvmffi_i_add64(&tvmffi_i_pool_left, (uint64_t)units);
}

/* Moves a slice (32 KB) from the shared budget to the thread's budget. Returns
   0 at the limit of either budget, else 1. */
static int tvmffi_i_pool_grow(tvmffi_i_pool *p) {
  uint64_t left = tvmffi_i_load64(&tvmffi_i_pool_left);
  if (p->budget >= TVMFFI_I_POOL_THREAD) return 0;
  do
    if (left < TVMFFI_I_POOL_SLICE) return 0;
  while (
      !tvmffi_i_cas64(&tvmffi_i_pool_left, &left, left - TVMFFI_I_POOL_SLICE));
  TVMFFI_ASSERT(left <= TVMFFI_I_POOL_PROCESS);
  TVMFFI_ASSERT(p->budget < TVMFFI_I_POOL_THREAD);
  p->budget += TVMFFI_I_POOL_SLICE;
  p->available += TVMFFI_I_POOL_SLICE;
  return 1;
}

/* Frees all cached blocks, and gives back the thread's budget beyond the first
   slice (32 KB). Returns 1 if a block was cached, else 0. */
TVMFFI_I_SLOW int tvmffi_i_pool_flush(tvmffi_i_pool *p) {
  size_t i;
  int any = 0;
  p->skip = 0;
  for (i = 0; i < TVMFFI_I_POOL_CLASSES; ++i) {
    while (p->list[i]) {
      TVMFFI_I_FREE(tvmffi_i_pool_pop(p, i));
      any = 1;
    }
  }
  TVMFFI_ASSERT(p->available == p->budget);
  if (p->budget > TVMFFI_I_POOL_SLICE)
    tvmffi_i_pool_shrink(p, p->budget - TVMFFI_I_POOL_SLICE);
  return any;
}

/* Empties and disables the cache of a thread that ends. */
static void tvmffi_i_exit_pool(void) {
  tvmffi_i_pool *p = tvmffi_i_thread_pool();
  if (p->state <= 0) return;
  (void)tvmffi_i_pool_flush(p);
  p->state = -1;
  p->budget = p->available = 0;
}

/* Empties the cache if any thread has called tvmffi_memory_trim since the last
   check. */
TVMFFI_I_INLINE void tvmffi_i_pool_follow(tvmffi_i_pool *p) {
  const uint64_t trims = tvmffi_i_load64(&tvmffi_i_pool_trims);
  if (TVMFFI_I_LIKELY(p->trims == trims) || p->state <= 0) return;
  p->trims = trims;
  (void)tvmffi_i_pool_flush(p);
}

/* Frees cached blocks of other size classes until a block of class `i` fits
   into the thread's budget. Returns 1 if the block fits, else 0. */
static int tvmffi_i_pool_evict(tvmffi_i_pool *p, size_t i) {
  size_t k = i, n;
  TVMFFI_ASSERT(i < TVMFFI_I_POOL_CLASSES && p->available < (int32_t)i);
  for (n = 1; n < TVMFFI_I_POOL_CLASSES && p->available < (int32_t)i; ++n) {
    k = k + 1 < TVMFFI_I_POOL_CLASSES ? k + 1 : 0;
    while (p->list[k] && p->available < (int32_t)i)
      TVMFFI_I_FREE(tvmffi_i_pool_pop(p, k));
  }
  return p->available >= (int32_t)i;
}

/* Begins the calling thread's cache with a slice (32 KB). Disables the cache if
   the thread's end is not noticed. Defined in tables/thread_state.h. */
static void tvmffi_i_begin_pool(void);

/* Slow path of tvmffi_i_pool_free. A thread's first call begins the cache. A
   later call adds a slice, or frees cached blocks of other size classes. If
   both fail, the next 63 calls do not try again. */
TVMFFI_I_SLOW void tvmffi_i_pool_free_slow(tvmffi_i_pool *p, void *block,
                                            size_t i) {
  enum { SKIP = 63 };
  TVMFFI_ASSERT(block && i < TVMFFI_I_POOL_CLASSES);
  if (p->state > 0 && p->skip) {
    --p->skip;
  } else if (p->state > 0) {
    tvmffi_i_pool_follow(p);
    if (p->available >= (int32_t)i || tvmffi_i_pool_grow(p) ||
        tvmffi_i_pool_evict(p, i)) {
      tvmffi_i_pool_push(p, i, block);
      return;
    }
    p->skip = SKIP;
  } else if (!p->state) {
    tvmffi_i_begin_pool();
  }
  TVMFFI_I_FREE(block);
}
#endif

/* Returns 1 if sizes, given by their bitwise OR, are too large to be added: the
   sum of a few of them could exceed PTRDIFF_MAX or wrap. Else returns 0. */
TVMFFI_I_INLINE int tvmffi_i_is_huge(size_t sizes) {
  return sizes > PTRDIFF_MAX / 4;
}

/* Allocates a block or returns NULL. After a failure, empties the cache and
   tries again. Not inlined, because a hundred callers would grow. */
TVMFFI_I_NOINLINE void *tvmffi_i_alloc(size_t size) {
  void *block = size > PTRDIFF_MAX ? NULL : TVMFFI_I_MALLOC(size);
#if TVMFFI_I_POOL
  if (TVMFFI_I_UNLIKELY(!block) && size <= PTRDIFF_MAX) {
    tvmffi_i_pool *p = tvmffi_i_thread_pool();
    if (p->state > 0 && tvmffi_i_pool_flush(p)) block = TVMFFI_I_MALLOC(size);
  }
#endif
  return block;
}

TVMFFI_I_INLINE void tvmffi_i_free(void *pointer) {
#if TVMFFI_DEBUG
  if (pointer && tvmffi_i_debug_died(pointer)) return;
#endif
  if (pointer) TVMFFI_I_FREE(pointer);
}

/* Takes a block for `size` bytes from the thread's cache, or returns NULL. */
TVMFFI_I_INLINE void *tvmffi_i_pool_take(size_t size) {
#if TVMFFI_I_POOL
  tvmffi_i_pool *p = tvmffi_i_thread_pool();
  size_t i = tvmffi_i_pool_class(size);
  return i < TVMFFI_I_POOL_CLASSES && p->list[i] ? tvmffi_i_pool_pop(p, i)
                                                 : NULL;
#else
  (void)size;
  return NULL;
#endif
}

/* Allocates a block of the full size of its size class. If three slices (96 KB)
   of the thread's budget are unused, first moves one to the shared budget. */
TVMFFI_I_NOINLINE void *tvmffi_i_pool_make(size_t size) {
#if TVMFFI_I_POOL
  tvmffi_i_pool *p = tvmffi_i_thread_pool();
  size_t i = tvmffi_i_pool_class(size);
  if (i < TVMFFI_I_POOL_CLASSES) size = i * 16 + 16 - sizeof(size_t);
  if (TVMFFI_I_UNLIKELY(p->available >= 3 * TVMFFI_I_POOL_SLICE))
    tvmffi_i_pool_shrink(p, TVMFFI_I_POOL_SLICE);
  tvmffi_i_pool_follow(p);
#endif
  return tvmffi_i_alloc(size);
}

/* Allocates memory that tvmffi_i_pool_free or tvmffi_i_free can free. Returns
   NULL on failure, with no error raised. */
TVMFFI_I_INLINE void *tvmffi_i_pool_alloc(size_t size) {
  void *block = tvmffi_i_pool_take(size);
  return TVMFFI_I_LIKELY(block != NULL) ? block : tvmffi_i_pool_make(size);
}

/* Frees a block of tvmffi_i_pool_alloc. `size` is at most the allocated
   size. */
TVMFFI_I_INLINE void tvmffi_i_pool_free(void *block, size_t size) {
#if TVMFFI_I_POOL
  tvmffi_i_pool *p = tvmffi_i_thread_pool();
  size_t i = tvmffi_i_pool_class(size);
  TVMFFI_ASSERT(block);
  if (TVMFFI_I_UNLIKELY(i >= TVMFFI_I_POOL_CLASSES)) {
    TVMFFI_I_FREE(block);
  } else if (TVMFFI_I_UNLIKELY(p->available < (int32_t)i)) {
    tvmffi_i_pool_free_slow(p, block, i);
  } else {
    tvmffi_i_pool_push(p, i, block);
  }
#else
  (void)size;
  tvmffi_i_free(block);
#endif
}
