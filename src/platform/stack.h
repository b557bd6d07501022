/* ======== Stack: a stack of frames in chunks ============ >>platform/stack */

#pragma once

#include "../head.h"
#include "platform_knot.h"
#include "memory.h"

/* A chunk of a stack. Chunks never move, so frames keep their addresses. */
typedef struct tvmffi_i_chunk {
  struct tvmffi_i_chunk *below, *above;
  char *first, *end; /* memory of the frames */
} tvmffi_i_chunk;

/* A stack of equally sized frames in chunks. The caller may supply the first
   chunk, so that shallow use allocates nothing. */
typedef struct {
  char *next; /* end of the top frame */
  size_t depth;
  tvmffi_i_chunk *chunk; /* chunk of the top frame */
  tvmffi_i_chunk bottom;
} tvmffi_i_stack;

/* The maximum number of frames, as in upstream. A push of more raises an
   error. */
enum { TVMFFI_I_MAX_FRAMES_OPEN = 1 << 20 };

/* Bytes of the first chunk that is allocated, of the second, and of any other.
   The third is above the initial M_MMAP_THRESHOLD of the GNU C library. When it
   is freed, that library raises M_TRIM_THRESHOLD, too. Otherwise it would
   return the top of the heap to the system after each deep walk, and the next
   walk would take a page fault for each page. */
enum {
  TVMFFI_I_FIRST_CHUNK = 4096,
  TVMFFI_I_NEXT_CHUNK = 32768,
  TVMFFI_I_DEEP_CHUNK = TVMFFI_FREESTANDING ? 32768 : 262144
};

/* Opens an empty stack. `room` is the first chunk, of `size` bytes: a multiple
   of the frame's size, or 0. */
TVMFFI_I_INLINE void tvmffi_i_stack_open(tvmffi_i_stack *s, void *room,
                                         size_t size) {
  TVMFFI_ASSERT(room || !size);
  s->next = s->bottom.first = (char *)room;
  s->depth = 0;
  s->chunk = &s->bottom;
  s->bottom.below = s->bottom.above = NULL;
  s->bottom.end = size ? s->next + size : s->next;
}

TVMFFI_I_INLINE void tvmffi_i_stack_close(tvmffi_i_stack *s) {
  tvmffi_i_chunk *c = s->bottom.above, *above;
  for (; TVMFFI_I_UNLIKELY(c != NULL); c = above) {
    above = c->above;
    tvmffi_i_free(c);
  }
}

/* Slow path of tvmffi_i_push: moves to the next chunk, allocated on first
   use. */
TVMFFI_I_NOINLINE void *tvmffi_i_push_chunk(tvmffi_i_stack *s, size_t size,
                                            const char *name) {
  tvmffi_i_chunk *below = s->chunk, *c = below->above;
  size_t n = below == &s->bottom         ? TVMFFI_I_FIRST_CHUNK
             : below->below == &s->bottom ? TVMFFI_I_NEXT_CHUNK
                                          : TVMFFI_I_DEEP_CHUNK;
  size_t left = name ? TVMFFI_I_MAX_FRAMES_OPEN - s->depth : SIZE_MAX;
  n = (n - sizeof(*c)) / size;
  if (!left) {
    (void)tvmffi_i_value_error("%s: maximum stack depth (%d) exceeded", name,
                               (int)TVMFFI_I_MAX_FRAMES_OPEN);
    return NULL;
  }
  if (n > left) n = left;
  if (!c) {
    c = (tvmffi_i_chunk *)tvmffi_i_alloc(sizeof(*c) + n * size);
    if (!c) {
      (void)tvmffi_i_no_memory();
      return NULL;
    }
    c->below = below;
    c->above = NULL;
    c->first = (char *)(c + 1);
    c->end = c->first + n * size;
    below->above = c;
  }
  TVMFFI_ASSERT(c->below == below && c->first + size <= c->end);
  s->chunk = c;
  s->next = c->first + size;
  ++s->depth;
  return c->first;
}

/* Pushes a frame. Returns NULL with the error raised on failure. Only a stack
   with a name has a depth limit; the error shows the name. */
TVMFFI_I_INLINE void *tvmffi_i_push(tvmffi_i_stack *s, size_t size,
                                    const char *name) {
  char *frame = s->next;
  if (TVMFFI_I_UNLIKELY(frame == s->chunk->end))
    return tvmffi_i_push_chunk(s, size, name);
  TVMFFI_ASSERT(frame >= s->chunk->first && frame + size <= s->chunk->end);
  s->next = frame + size;
  ++s->depth;
  return frame;
}

TVMFFI_I_INLINE void tvmffi_i_pop(tvmffi_i_stack *s, size_t size) {
  TVMFFI_ASSERT(s->depth > 0 && s->next > s->chunk->first);
  s->next -= size;
  --s->depth;
  TVMFFI_ASSERT(s->next >= s->chunk->first && (s->depth || !s->chunk->below ||
                                               s->chunk->below == &s->bottom));
  if (TVMFFI_I_UNLIKELY(s->next == s->chunk->first) && s->chunk->below) {
    s->chunk = s->chunk->below;
    s->next = s->chunk->end;
  }
}

TVMFFI_I_SMALL_NOINLINE void *tvmffi_i_top_of(const tvmffi_i_stack *s,
                                              size_t size) {
  TVMFFI_ASSERT(s->depth > 0);
  return s->next - size;
}

#define TVMFFI_I_PUSH(type, stack, name) \
  ((type *)tvmffi_i_push(stack, sizeof(type), name))
#define TVMFFI_I_POP(type, stack) tvmffi_i_pop(stack, sizeof(type))
#define TVMFFI_I_TOP(type, stack) ((type *)tvmffi_i_top_of(stack, sizeof(type)))
