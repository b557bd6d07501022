/* ======== Stack: a stack of frames in chunks ============ >>platform/stack */

#pragma once

#include "../head/compiler.h"
#include "knot.h"
#include "memory.h"

/* A stack of frames of one size, in chunks that never move: a frame stays where
   it is until it is taken off. The first chunk may be room that the caller has,
   so that what is shallow allocates nothing; the others are kept to the end.
   Open it before its first use; tvmffi_i_stack_close frees it. */
typedef struct tvmffi_i_chunk {
  struct tvmffi_i_chunk *below, *above;
  char *first, *end; /* of its frames */
} tvmffi_i_chunk;

typedef struct {
  char *next; /* behind the newest frame */
  size_t depth;
  tvmffi_i_chunk *chunk; /* that the newest frame is in */
  tvmffi_i_chunk bottom;
} tvmffi_i_stack;

/* As deep as upstream goes. */
enum { TVMFFI_I_MAX_FRAMES_OPEN = 1 << 20 };

/* `size` bytes at `room` hold a whole number of frames, or none. */
TVMFFI_I_INLINE void tvmffi_i_stack_open(tvmffi_i_stack *s, void *room,
                                         size_t size) {
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

/* Out of line: goes on in the chunk above, which is made at the first time. */
TVMFFI_I_NOINLINE void *tvmffi_i_push_chunk(tvmffi_i_stack *s, size_t size,
                                            const char *name) {
  tvmffi_i_chunk *below = s->chunk, *c = below->above;
  size_t n = ((below == &s->bottom ? 4096 : 32768) - sizeof(*c)) / size;
  size_t left = name ? TVMFFI_I_MAX_FRAMES_OPEN - s->depth : n;
  if (!left) {
    (void)tvmffi_i_fail("ValueError", "%s: maximum stack depth (%d) exceeded",
                        name, (int)TVMFFI_I_MAX_FRAMES_OPEN);
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
  s->chunk = c;
  s->next = c->first + size;
  ++s->depth;
  return c->first;
}

/* Gives a new frame, or NULL with the error raised. A stack with a name has a
   limit, and the error names it. */
TVMFFI_I_INLINE void *tvmffi_i_push(tvmffi_i_stack *s, size_t size,
                                    const char *name) {
  char *frame = s->next;
  if (TVMFFI_I_UNLIKELY(frame == s->chunk->end))
    return tvmffi_i_push_chunk(s, size, name);
  s->next = frame + size;
  ++s->depth;
  return frame;
}

/* Takes the newest frame off. */
TVMFFI_I_INLINE void tvmffi_i_pop(tvmffi_i_stack *s, size_t size) {
  s->next -= size;
  --s->depth;
  if (TVMFFI_I_UNLIKELY(s->next == s->chunk->first) && s->chunk->below) {
    s->chunk = s->chunk->below;
    s->next = s->chunk->end;
  }
}

#define TVMFFI_I_PUSH(type, stack, name) \
  ((type *)tvmffi_i_push(stack, sizeof(type), name))
#define TVMFFI_I_POP(type, stack) tvmffi_i_pop(stack, sizeof(type))
#define TVMFFI_I_TOP(type, stack) \
  ((type *)(void *)((stack)->next - sizeof(type)))
