/* ======== Recursive ======================================= >>extra/recursive
   what recursive repr, hash and order share */
/* Recursive repr, hash and comparison are walks. A table records each object
   that is on the path from the root or done, so cycles end and a shared object
   is walked once. A walk cannot meet an object with a single reference again,
   so such an object needs no record.

   Texts and hashes equal those of upstream's extra/dataclass.cc, because
   programs may save them. Hooks are called in the same order as there. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../graph.h"

#if !TVMFFI_NO_EXTRA
typedef enum {
  TVMFFI_I_UNSEEN, /* must be 0, because a new record is zero */
  TVMFFI_I_OPEN,   /* on the stack, or its hook runs */
  TVMFFI_I_DONE
} tvmffi_i_seen_state;

/* The record of an object, or of a pair of compared objects. */
typedef struct {
  TVMFFIObject *object, *other;
  uint64_t value; /* the hash, or the offset of the text */
  size_t size;    /* size of the text */
  uint32_t to;    /* index of the buffer that has the text */
  unsigned char state;
} tvmffi_i_seen;

typedef struct {
  tvmffi_i_hooked base;
  tvmffi_i_ptr_table seen; /* of tvmffi_i_seen */
  uint32_t skip;           /* fields with one of these flags are skipped */
} tvmffi_i_recursive;

#define TVMFFI_I_ENDED_RECURSIVE \
  "The callback of a hook can be called only while the hook runs"

static void tvmffi_i_recursive_close(tvmffi_i_recursive *g) {
  TVMFFI_ASSERT(!g->base.nested);
  tvmffi_i_hooked_close(&g->base);
  tvmffi_i_ptr_clear(&g->seen, sizeof(tvmffi_i_seen), 2);
}

TVMFFI_I_INLINE tvmffi_i_seen *tvmffi_i_seen_of(const tvmffi_i_recursive *g,
                                                const TVMFFIObject *object,
                                                const TVMFFIObject *other) {
  return TVMFFI_I_FIND_PAIR(tvmffi_i_seen, &g->seen, object, other);
}

/* Returns the record of an object or pair, or NULL if there is none or its
   state is UNSEEN. */
static tvmffi_i_seen *tvmffi_i_find_seen(const tvmffi_i_recursive *g,
                                         const TVMFFIObject *object,
                                         const TVMFFIObject *other) {
  tvmffi_i_seen *s = tvmffi_i_seen_of(g, object, other);
  return s && s->state != TVMFFI_I_UNSEEN ? s : NULL;
}

static int tvmffi_i_open_seen(tvmffi_i_recursive *g, TVMFFIObject *object,
                              TVMFFIObject *other) {
  tvmffi_i_seen *s = TVMFFI_I_ADD_PAIR(tvmffi_i_seen, &g->seen, object, other);
  if (!s) return -1;
  TVMFFI_ASSERT(s->state == TVMFFI_I_UNSEEN);
  s->state = TVMFFI_I_OPEN;
  return 0;
}

/* Pushes a frame for an object, or for two compared objects. The caller
   accounts for `own` references to each. Objects with more references may be
   met again, so they get a record: see tvmffi_i_are_shared. Returns NULL on
   error. */
static void *tvmffi_i_push_recursive(tvmffi_i_recursive *g,
                                     TVMFFIObject *object, TVMFFIObject *other,
                                     uint32_t own) {
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(object->type_index);
  tvmffi_i_walk_frame *f;
  TVMFFI_ASSERT(g->base.walk.frame_size >= sizeof(*f) && own <= 2);
  if (!type) return NULL;
  f = (tvmffi_i_walk_frame *)tvmffi_i_push_frame(
      &g->base.walk, object, other,
      tvmffi_i_is_container(object->type_index) ? NULL : type,
      TVMFFI_I_OWNS_OBJECT | TVMFFI_I_OWNS_OTHER | TVMFFI_I_OWNS_HELD);
  if (!f) return f;
  f->is_shared = (unsigned char)tvmffi_i_are_shared(object, other, own);
  if (f->is_shared && tvmffi_i_open_seen(g, object, other)) {
    tvmffi_i_pop(&g->base.walk.frames, g->base.walk.frame_size);
    return NULL;
  }
  tvmffi_i_retain(object);
  if (other) tvmffi_i_retain(other);
  return f;
}

/* Pops the top frame. Returns the record of the frame's object, or NULL if it
   has none. Sets the record's state to UNSEEN; the caller may change it to
   DONE. */
static tvmffi_i_seen *tvmffi_i_pop_seen(tvmffi_i_recursive *g) {
  const tvmffi_i_walk_frame *f = tvmffi_i_top(g);
  TVMFFIObject *object = f->c.object, *other = f->other;
  const int is_shared = f->is_shared;
  tvmffi_i_seen *s;
  tvmffi_i_pop_frame(&g->base.walk);
  if (!is_shared) return NULL;
  s = tvmffi_i_seen_of(g, object, other);
  TVMFFI_ASSERT(s && s->state == TVMFFI_I_OPEN);
  s->state = TVMFFI_I_UNSEEN;
  return s;
}

static void tvmffi_i_pop_recursive(tvmffi_i_walk *w) {
  (void)tvmffi_i_pop_seen((tvmffi_i_recursive *)(void *)w);
}

/* Returns how many references to a child the walk accounts for (`own`): one of
   the container or field, and another of f->held if that is the child. */
TVMFFI_I_INLINE uint32_t tvmffi_i_own_count(const tvmffi_i_walk_frame *f,
                                            const TVMFFIAny *child) {
  TVMFFI_ASSERT((child == &f->held) ==
                !tvmffi_i_is_container(f->c.object->type_index));
  return child == &f->held ? 2 : 1;
}

/* Calls a hook for an object, or for two objects if `other` is not NULL. While
   the hook runs, the objects are marked as open, which ends cycles. */
static int tvmffi_i_run_hook(tvmffi_i_recursive *g,
                             const tvmffi_i_hook_kind *kind,
                             const TVMFFIAny *hook, TVMFFIObject *object,
                             TVMFFIObject *other, TVMFFIAny *result) {
  tvmffi_i_seen *s;
  TVMFFIAny args[3];
  int code;
  TVMFFI_ASSERT(TVMFFI_I_IS_FREE && kind->num_values == 1 + (other != NULL));
  args[0] = tvmffi_obj(object);
  if (other) args[1] = tvmffi_obj(other);
  TVMFFI_TRY(tvmffi_i_open_seen(g, object, other));
  code = tvmffi_i_call_hook(&g->base, kind, hook, args, other ? 2 : 1, result);
  s = tvmffi_i_seen_of(g, object, other);
  TVMFFI_ASSERT(s && s->state == TVMFFI_I_OPEN);
  s->state = TVMFFI_I_UNSEEN;
  return code;
}
#endif
