/* ======== Walk: the engine of all traversals ================= >>graph/walk */
/* A walk goes through a value and everything it contains, depth first. Frames
   on a heap stack, one for each object on the path from the root, replace
   recursion. graph/cursor.h yields the children of a frame's object one by one,
   so each kind of walk has an inner loop of its own instead of a function that
   is called for each child. Tables record the objects that were met.

   Only hooks of types nest on the thread's stack; core/nesting.h limits their
   depth. If a hook calls its callback, the same walk goes on: it pushes frames
   above the hook's, and pops them before the callback returns.

   The struct of a walk begins with a tvmffi_i_walk, and the struct of its
   frames with a tvmffi_i_walk_frame. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "table.h"
#include "cursor.h"

#if !TVMFFI_NO_CONTAINERS
/* A record of an object that was met. The walk defines `value`: the object's
   hash, for example. */
typedef struct {
  TVMFFIObject *object; /* owned */
  uint64_t value;
} tvmffi_i_memo;

TVMFFI_I_INLINE tvmffi_i_memo *tvmffi_i_find_memo(const tvmffi_i_ptr_table *t,
                                                  const TVMFFIObject *object) {
  return TVMFFI_I_FIND(tvmffi_i_memo, t, object);
}

/* Returns 0, or -1 if there is no memory. */
static int tvmffi_i_set_memo(tvmffi_i_ptr_table *t, TVMFFIObject *object,
                             uint64_t value) {
  tvmffi_i_memo *memo = TVMFFI_I_ADD(tvmffi_i_memo, t, object);
  if (memo) memo->value = value;
  return memo ? 0 : -1;
}

static void tvmffi_i_clear_memos(tvmffi_i_ptr_table *t) {
  tvmffi_i_ptr_clear(t, sizeof(tvmffi_i_memo), 1);
}

/* Tells whether a walk may meet an object, or two objects together, again: if
   each has more than the `own` references that the caller knows. */
TVMFFI_I_INLINE int tvmffi_i_are_shared(const TVMFFIObject *object,
                                        const TVMFFIObject *other,
                                        uint32_t own) {
  return tvmffi_i_is_shared(object, own) &&
         (!other || tvmffi_i_is_shared(other, own));
}

/* The members that a frame owns. */
enum {
  TVMFFI_I_OWNS_OBJECT = 1,
  TVMFFI_I_OWNS_OTHER = 2,
  TVMFFI_I_OWNS_HELD = 4
};

typedef struct {
  tvmffi_i_children c; /* the object, and which child is next */
  TVMFFIObject *other; /* for example the object that it is compared with */
  TVMFFIAny held;      /* the current field, child or key */
  unsigned char owns;
  unsigned char is_shared; /* the walk may meet the object again */
} tvmffi_i_walk_frame;

typedef struct tvmffi_i_walk {
  tvmffi_i_stack frames;
  size_t frame_size;
  const char *name; /* for the error of too many frames; NULL: no limit */
  void (*pop)(struct tvmffi_i_walk *w); /* pops the top frame */
} tvmffi_i_walk;

/* Opens a walk. `room` is memory of `size` bytes for the first frames. */
TVMFFI_I_SMALL_NOINLINE void tvmffi_i_walk_open(tvmffi_i_walk *w,
                                                const char *name,
                                                void (*pop)(tvmffi_i_walk *),
                                                size_t frame_size, void *room,
                                                size_t size) {
  TVMFFI_ASSERT(pop && frame_size >= sizeof(tvmffi_i_walk_frame));
  TVMFFI_ASSERT(size % frame_size == 0);
  tvmffi_i_stack_open(&w->frames, room, size);
  w->name = name;
  w->frame_size = frame_size;
  w->pop = pop;
}

/* Opens the walk that is the first member of *walk. `room` is an array of
   frames. */
#define TVMFFI_I_WALK_OPEN(walk, name, pop, room)                \
  tvmffi_i_walk_open((tvmffi_i_walk *)(void *)(walk), name, pop, \
                     sizeof(*(room)), room, sizeof(room))

/* Returns the top frame of a walk whose frames are all of this type. */
#define TVMFFI_I_FRAME(type, walk) \
  TVMFFI_I_TOP(type, &((const tvmffi_i_walk *)(const void *)(walk))->frames)

/* Returns the first member of the top frame. */
TVMFFI_I_INLINE tvmffi_i_walk_frame *tvmffi_i_top(const void *walk) {
  const tvmffi_i_walk *w = (const tvmffi_i_walk *)walk;
  return (tvmffi_i_walk_frame *)tvmffi_i_top_of(&w->frames, w->frame_size);
}

TVMFFI_I_INLINE size_t tvmffi_i_depth(const void *walk) {
  return ((const tvmffi_i_walk *)walk)->frames.depth;
}

/* Pushes a frame for an object and `other`, both borrowed unless `owns` tells
   that the frame takes them. `type` is NULL for a container. Returns NULL on
   error, and then takes nothing. */
TVMFFI_I_INLINE void *tvmffi_i_push_frame(tvmffi_i_walk *w,
                                          TVMFFIObject *object,
                                          TVMFFIObject *other,
                                          const TVMFFITypeInfo *type,
                                          int owns) {
  tvmffi_i_walk_frame *f =
      (tvmffi_i_walk_frame *)tvmffi_i_push(&w->frames, w->frame_size, w->name);
  if (!f) return f;
  TVMFFI_ASSERT(object || !(owns & TVMFFI_I_OWNS_OBJECT));
  TVMFFI_ASSERT(owns >= 0 && owns < 2 * TVMFFI_I_OWNS_HELD);
  f->c.object = object;
  if (type)
    f->c.fields = tvmffi_i_begin_fields(type);
  else
    tvmffi_i_children_open(&f->c, object, NULL);
  f->other = other;
  f->held = tvmffi_none();
  f->owns = (unsigned char)owns;
  f->is_shared = 0;
  return f;
}

/* Pops the top frame and releases what it owns. */
TVMFFI_I_INLINE void tvmffi_i_pop_frame(tvmffi_i_walk *w) {
  tvmffi_i_walk_frame *f = tvmffi_i_top(w);
  if (f->owns) {
    if (f->owns & TVMFFI_I_OWNS_HELD) tvmffi_i_any_release(&f->held);
    if (f->owns & TVMFFI_I_OWNS_OBJECT) tvmffi_i_release(f->c.object);
    if (f->owns & TVMFFI_I_OWNS_OTHER) tvmffi_i_release(f->other);
  }
  tvmffi_i_pop(&w->frames, w->frame_size);
}

/* Pops the frames of a walk above `depth`. */
TVMFFI_I_NOINLINE void tvmffi_i_cut_frames(void *walk, size_t depth) {
  tvmffi_i_walk *w = (tvmffi_i_walk *)walk;
  while (w->frames.depth > depth) w->pop(w);
}

static void tvmffi_i_walk_close(tvmffi_i_walk *w) {
  tvmffi_i_cut_frames(w, 0);
  TVMFFI_ASSERT(!w->frames.depth && w->frames.chunk == &w->frames.bottom);
  tvmffi_i_stack_close(&w->frames);
}
#endif
