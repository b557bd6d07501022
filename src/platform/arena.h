/* ======== Arena: a static arena, or malloc ============== >>platform/arena */

#pragma once

#include "../head.h"
#include "libc.h"

#if defined(TVMFFI_ARENA_SIZE) && !defined(TVMFFI_MALLOC)
/* A segregated-fit allocator in a static arena, similar to TLSF. The free
   blocks are in doubly linked lists, four lists for each power of two of the
   block's size. Allocating and freeing take bounded time: allocating looks at
   each list once at most, and at the first block of a list only. Freeing merges
   adjacent free blocks. */
#if TVMFFI_NO_THREADS
#define TVMFFI_I_ARENA_LOCK ((void)0)
#define TVMFFI_I_ARENA_UNLOCK ((void)0)
#elif defined(TVMFFI_ATOMIC_ENTER)
#define TVMFFI_I_ARENA_LOCK was = (TVMFFI_ATOMIC_ENTER())
#define TVMFFI_I_ARENA_UNLOCK TVMFFI_ATOMIC_LEAVE(was)
#else
#error "tvmffi.h: TVMFFI_ARENA_SIZE with threads needs TVMFFI_ATOMIC_ENTER"
#endif

/* The header of a block. Only a free block has links. The last word of a free
   block is the block's size, so that freeing the next block finds this
   header. */
typedef struct tvmffi_i_gap {
  size_t size;                        /* a multiple of 8, and the flags below */
  struct tvmffi_i_gap *next, *before; /* in the list of its size */
} tvmffi_i_gap;

/* The binary logarithm of a constant, rounded down. */
#define TVMFFI_I_LOG_4(n) ((n) >> 3 ? 3 : (n) >> 2 ? 2 : (n) >> 1)
#define TVMFFI_I_LOG_8(n) \
  ((n) >> 4 ? 4 + TVMFFI_I_LOG_4((n) >> 4) : TVMFFI_I_LOG_4(n))
#define TVMFFI_I_LOG_16(n) \
  ((n) >> 8 ? 8 + TVMFFI_I_LOG_8((n) >> 8) : TVMFFI_I_LOG_8(n))
#define TVMFFI_I_LOG_32(n) \
  ((n) >> 16 ? 16 + TVMFFI_I_LOG_16((n) >> 16) : TVMFFI_I_LOG_16(n))
enum {
  TVMFFI_I_BLOCK_FREE = 1,
  TVMFFI_I_BLOCK_AFTER_FREE = 2, /* the block before it is free */
  TVMFFI_I_BLOCK_FLAGS = 7,
  /* The smallest block: a header, two links, and the size at its end. */
  TVMFFI_I_BLOCK_LEAST = 4 * sizeof(size_t),
  TVMFFI_I_ARENA_UNITS = (TVMFFI_ARENA_SIZE) / 8,
  /* One more than the index of the list for a block as large as the arena. */
  TVMFFI_I_ARENA_LISTS =
      TVMFFI_I_ARENA_UNITS < 8
          ? 8
          : 4 * (int)TVMFFI_I_LOG_32((uint32_t)TVMFFI_I_ARENA_UNITS)
};
TVMFFI_STATIC_ASSERT((TVMFFI_ARENA_SIZE) >= 64 &&
                         (TVMFFI_ARENA_SIZE) <= INT32_MAX,
                     TVMFFI_ARENA_SIZE_must_be_from_64_to_2_GB);

/* Blocks begin one size_t before a multiple of 8, so that the payload after
   their size is aligned to 8. */
static union {
  uint64_t aligned;
  char byte[TVMFFI_ARENA_SIZE];
} tvmffi_i_arena;
static tvmffi_i_gap *tvmffi_i_gaps[TVMFFI_I_ARENA_LISTS];
static size_t tvmffi_i_arena_used, tvmffi_i_arena_most;

/* Returns the index of the list for free blocks of `size` bytes. The blocks in
   list 4 * s + m, with m from 4 to 7, have at least m << s units of 8 bytes. */
static unsigned tvmffi_i_arena_list(size_t size) {
  unsigned list = 0;
  for (size /= 8; size >= 8; size /= 2) list += 4;
  return list + (unsigned)size;
}

TVMFFI_I_INLINE tvmffi_i_gap *tvmffi_i_arena_at(void *block, size_t offset) {
  return (tvmffi_i_gap *)(void *)((char *)block + offset);
}

/* Returns the last word of a block of `size` bytes. */
TVMFFI_I_INLINE size_t *tvmffi_i_arena_last(void *block, size_t size) {
  return (size_t *)(void *)((char *)block + size - sizeof(size_t));
}

/* Marks a block of `size` bytes as free and inserts it into its list. */
static void tvmffi_i_arena_insert(tvmffi_i_gap *gap, size_t size) {
  tvmffi_i_gap **list = &tvmffi_i_gaps[tvmffi_i_arena_list(size)];
  TVMFFI_ASSERT(size % 8 == 0 && size >= TVMFFI_I_BLOCK_LEAST);
  TVMFFI_ASSERT(((uintptr_t)gap + sizeof(size_t)) % 8 == 0);
  TVMFFI_ASSERT((char *)gap >= tvmffi_i_arena.byte);
  TVMFFI_ASSERT((char *)gap + size < tvmffi_i_arena.byte + (TVMFFI_ARENA_SIZE));
  gap->size = size | TVMFFI_I_BLOCK_FREE;
  gap->next = *list;
  gap->before = NULL;
  if (*list) (*list)->before = gap;
  *list = gap;
  *tvmffi_i_arena_last(gap, size) = size;
  tvmffi_i_arena_at(gap, size)->size |= TVMFFI_I_BLOCK_AFTER_FREE;
}

/* Removes a free block from its list. Returns its size. */
static size_t tvmffi_i_arena_remove(tvmffi_i_gap *gap) {
  size_t size = gap->size - TVMFFI_I_BLOCK_FREE;
  TVMFFI_ASSERT(gap->size & TVMFFI_I_BLOCK_FREE);
  TVMFFI_ASSERT(*tvmffi_i_arena_last(gap, size) == size);
  TVMFFI_ASSERT(!gap->next || gap->next->before == gap);
  TVMFFI_ASSERT(!gap->before || gap->before->next == gap);
  TVMFFI_ASSERT(gap->before || tvmffi_i_gaps[tvmffi_i_arena_list(size)] == gap);
  if (gap->next) gap->next->before = gap->before;
  if (gap->before)
    gap->before->next = gap->next;
  else
    tvmffi_i_gaps[tvmffi_i_arena_list(size)] = gap->next;
  return size;
}

/* Inserts the whole arena as one free block, unless the first block has a size
   already. A block header of size 0, which is never free, ends the arena. */
TVMFFI_I_INLINE void tvmffi_i_arena_start(void) {
  const size_t first = 8 - sizeof(size_t);
  tvmffi_i_gap *gap = tvmffi_i_arena_at(tvmffi_i_arena.byte, first);
  if (TVMFFI_I_LIKELY(gap->size)) return;
  tvmffi_i_arena_insert(
      gap, ((size_t)(TVMFFI_ARENA_SIZE)-first - sizeof(size_t)) / 8 * 8);
}

static void *tvmffi_i_arena_alloc(size_t size) {
  tvmffi_i_gap *gap;
  uintptr_t was = 0;
  unsigned list;
  (void)was;
  if (size > (size_t)(TVMFFI_ARENA_SIZE)) return NULL;
  size = (size + sizeof(size_t) + 7) / 8 * 8;
  if (size < TVMFFI_I_BLOCK_LEAST) size = TVMFFI_I_BLOCK_LEAST;
  list = tvmffi_i_arena_list(size);
  TVMFFI_I_ARENA_LOCK;
  tvmffi_i_arena_start();
  /* A block of the same list may be too small; blocks of later lists are large
     enough. */
  gap = list < TVMFFI_I_ARENA_LISTS ? tvmffi_i_gaps[list] : NULL;
  if (!gap || gap->size < size)
    for (gap = NULL; !gap && ++list < TVMFFI_I_ARENA_LISTS;)
      gap = tvmffi_i_gaps[list];
  if (gap) {
    size_t rest = tvmffi_i_arena_remove(gap) - size;
    TVMFFI_ASSERT(rest < (size_t)(TVMFFI_ARENA_SIZE));
    if (rest >= TVMFFI_I_BLOCK_LEAST) {
      tvmffi_i_arena_insert(tvmffi_i_arena_at(gap, size), rest);
    } else {
      size += rest;
      tvmffi_i_arena_at(gap, size)->size &= ~(size_t)TVMFFI_I_BLOCK_AFTER_FREE;
    }
    gap->size = size;
    tvmffi_i_arena_used += size;
    TVMFFI_ASSERT(tvmffi_i_arena_used < (size_t)(TVMFFI_ARENA_SIZE));
    if (tvmffi_i_arena_most < tvmffi_i_arena_used)
      tvmffi_i_arena_most = tvmffi_i_arena_used;
  }
  TVMFFI_I_ARENA_UNLOCK;
  return gap ? (char *)gap + sizeof(size_t) : NULL;
}

static void tvmffi_i_arena_free(void *pointer) {
  char *block = (char *)pointer - sizeof(size_t);
  tvmffi_i_gap *gap = tvmffi_i_arena_at(block, 0), *next;
  uintptr_t was = 0;
  size_t size;
  (void)was;
  TVMFFI_ASSERT(block >= tvmffi_i_arena.byte);
  TVMFFI_ASSERT(block < tvmffi_i_arena.byte + (TVMFFI_ARENA_SIZE));
  TVMFFI_I_ARENA_LOCK;
  size = gap->size & ~(size_t)TVMFFI_I_BLOCK_FLAGS;
  TVMFFI_ASSERT(!(gap->size & TVMFFI_I_BLOCK_FREE));
  TVMFFI_ASSERT(size <= tvmffi_i_arena_used);
  tvmffi_i_arena_used -= size;
  next = tvmffi_i_arena_at(gap, size);
  if (next->size & TVMFFI_I_BLOCK_FREE) size += tvmffi_i_arena_remove(next);
  if (gap->size & TVMFFI_I_BLOCK_AFTER_FREE) {
    gap = (tvmffi_i_gap *)(void *)(block - *tvmffi_i_arena_last(block, 0));
    size += tvmffi_i_arena_remove(gap);
  }
  tvmffi_i_arena_insert(gap, size);
  TVMFFI_I_ARENA_UNLOCK;
}

/* Returns the number of bytes in use. Stores the peak in `*most` unless `most`
   is NULL. Cannot fail. Defined only in the file with the implementation.
   Thread-safe. */
TVMFFI_I_UNUSED static size_t tvmffi_arena_used(size_t *most) {
  size_t used;
  uintptr_t was = 0;
  (void)was;
  TVMFFI_I_ARENA_LOCK;
  if (most) *most = tvmffi_i_arena_most;
  used = tvmffi_i_arena_used;
  TVMFFI_I_ARENA_UNLOCK;
  return used;
}

#define TVMFFI_MALLOC(size) tvmffi_i_arena_alloc(size)
#define TVMFFI_FREE(pointer) tvmffi_i_arena_free(pointer)
#endif

#if defined(TVMFFI_MALLOC)
#define TVMFFI_I_MALLOC(size) TVMFFI_MALLOC(size)
#define TVMFFI_I_FREE(pointer) TVMFFI_FREE(pointer)
#elif TVMFFI_FREESTANDING
#error "tvmffi.h: define TVMFFI_MALLOC and TVMFFI_FREE, or TVMFFI_ARENA_SIZE"
#else
#define TVMFFI_I_MALLOC(size) malloc(size)
#define TVMFFI_I_FREE(pointer) free(pointer)
#endif

#define TVMFFI_I_NEW(type, size) (type *)TVMFFI_I_MALLOC(size)
