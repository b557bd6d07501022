/* ======== Arena: a static arena, or malloc ============== >>platform/arena */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "libc.h"

#if defined(TVMFFI_ARENA_SIZE) && !defined(TVMFFI_MALLOC)
typedef struct tvmffi_i_gap {
  size_t size; /* of the whole block, in bytes: a multiple of this struct's */
  struct tvmffi_i_gap *next;
} tvmffi_i_gap;

/* Memory begins behind a size, at a multiple of eight. */
static union {
  uint64_t aligned;
  char byte[TVMFFI_ARENA_SIZE];
} tvmffi_i_arena;
static tvmffi_i_gap *tvmffi_i_gaps;
static size_t tvmffi_i_arena_used, tvmffi_i_arena_most;

static void *tvmffi_i_arena_alloc(size_t size) {
  const size_t unit = sizeof(tvmffi_i_gap), first = 8 - sizeof(size_t);
  tvmffi_i_gap **at = &tvmffi_i_gaps, *gap, *rest;
  uintptr_t was = 0;
  (void)was;
  if (size > (size_t)(TVMFFI_ARENA_SIZE)) return NULL;
  size = (size + sizeof(size_t) + unit - 1) / unit * unit;
  TVMFFI_I_ARENA_LOCK;
  if (!tvmffi_i_arena_most) {
    *at = gap = (tvmffi_i_gap *)(void *)(tvmffi_i_arena.byte + first);
    gap->size = ((size_t)(TVMFFI_ARENA_SIZE)-first) / unit * unit;
    gap->next = NULL;
  }
  while ((gap = *at) != NULL && gap->size < size) at = &gap->next;
  if (gap) {
    *at = gap->next;
    if (gap->size > size) {
      *at = rest = (tvmffi_i_gap *)(void *)((char *)gap + size);
      rest->size = gap->size - size;
      rest->next = gap->next;
      gap->size = size;
    }
    tvmffi_i_arena_used += size;
    if (tvmffi_i_arena_most < tvmffi_i_arena_used)
      tvmffi_i_arena_most = tvmffi_i_arena_used;
  }
  TVMFFI_I_ARENA_UNLOCK;
  return gap ? (char *)gap + sizeof(size_t) : NULL;
}

/* Takes the next free block in, if it stands right behind this one. */
TVMFFI_I_INLINE void tvmffi_i_arena_join(tvmffi_i_gap *gap) {
  tvmffi_i_gap *next = gap->next;
  if ((char *)gap + gap->size != (char *)next) return;
  gap->size += next->size;
  gap->next = next->next;
}

static void tvmffi_i_arena_free(void *pointer) {
  tvmffi_i_gap *gap =
      (tvmffi_i_gap *)(void *)((char *)pointer - sizeof(size_t));
  tvmffi_i_gap *before = NULL, *next;
  uintptr_t was = 0;
  (void)was;
  TVMFFI_I_ARENA_LOCK;
  tvmffi_i_arena_used -= gap->size;
  for (next = tvmffi_i_gaps; next && next < gap; next = next->next)
    before = next;
  gap->next = next;
  tvmffi_i_arena_join(gap);
  if (before) {
    before->next = gap;
    tvmffi_i_arena_join(before);
  } else {
    tvmffi_i_gaps = gap;
  }
  TVMFFI_I_ARENA_UNLOCK;
}

/* Tells how many bytes of the arena are in use, and were at most. Only in the
   file that has it. Safe to call from any thread. */
TVMFFI_I_UNUSED static size_t tvmffi_arena_used(size_t *most) {
  if (most) *most = tvmffi_i_arena_most;
  return tvmffi_i_arena_used;
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
