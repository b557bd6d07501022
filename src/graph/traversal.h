/* ======== Traversal: of hash, order and repr ============ >>graph/traversal */
/* A depth-first traversal of one value, or of two values that are compared. A
   stack of frames is the path from the root. A table records each object that
   is on the path or done, so cycles end and a shared object is traversed once.
   An object with a single reference needs no record.

   Texts, hashes and the order of calls equal those of upstream's
   extra/dataclass.cc, because programs may save them. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "table.h"
#include "cursor.h"
#include "callback.h"

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
  tvmffi_i_children c; /* c.object is owned */
  TVMFFIObject *other; /* owned: the object compared with c.object, or NULL */
  TVMFFIAny held;      /* owned: the value of the current field */
  union {
    struct {
      size_t begin; /* offset of the text in its buffer */
    } repr;
    struct {
      uint64_t sum, key; /* the hash so far; the hash of the last key */
      size_t begin;      /* index in `hashes` of a map's first entry */
    } hash;
    struct {
      TVMFFIAny held; /* owned: the value of the field in `other` */
      uint64_t at;    /* if in_step is 1: position in the map `other` */
    } compare;
  } of;
  uint32_t to; /* index of the buffer that the text goes to */
  unsigned char is_seen, has_child, in_step;
} tvmffi_i_graph_frame;

/* The kinds of traversals. A type may have a hook for each kind. */
typedef enum {
  TVMFFI_I_CALLBACK_REPR,
  TVMFFI_I_CALLBACK_HASH,
  TVMFFI_I_CALLBACK_EQ,
  TVMFFI_I_CALLBACK_COMPARE
} tvmffi_i_callback_kind;

typedef struct {
  tvmffi_i_stack frames;
  tvmffi_i_ptr_table seen; /* of tvmffi_i_seen */
  int64_t skip;            /* fields with one of these flags are skipped */
  const char *name;
  tvmffi_i_callback callback[4]; /* indexed by tvmffi_i_callback_kind */
  int nested;                    /* number of running hooks */
  /* used only by some kinds of traversal */
  int is_equality, with_address, has_root_frame;
  uint32_t to;
  tvmffi_i_text_buffer *text; /* text[0] is the result */
  size_t num_texts;
  uint64_t *hashes; /* hashes of the entries of all maps on the stack */
  size_t num_hashes, hash_capacity;
} tvmffi_i_graph;

static void tvmffi_i_graph_open(tvmffi_i_graph *g, const char *name,
                                int64_t skip, void *room, size_t size) {
  memset((void *)g, 0, sizeof(*g));
  tvmffi_i_stack_open(&g->frames, room, size);
  g->name = name;
  g->skip = skip;
  tvmffi_i_start_types();
}

TVMFFI_I_INLINE tvmffi_i_seen *tvmffi_i_seen_of(const tvmffi_i_graph *g,
                                                const TVMFFIObject *object,
                                                const TVMFFIObject *other) {
  return TVMFFI_I_FIND_PAIR(tvmffi_i_seen, &g->seen, object, other);
}

/* Returns the record of an object or pair, or NULL if there is none or its
   state is UNSEEN. */
static tvmffi_i_seen *tvmffi_i_find_seen(const tvmffi_i_graph *g,
                                         const TVMFFIObject *object,
                                         const TVMFFIObject *other) {
  tvmffi_i_seen *s = tvmffi_i_seen_of(g, object, other);
  return s && s->state != TVMFFI_I_UNSEEN ? s : NULL;
}

static int tvmffi_i_open_seen(tvmffi_i_graph *g, TVMFFIObject *object,
                              TVMFFIObject *other) {
  tvmffi_i_seen *s = TVMFFI_I_ADD_PAIR(tvmffi_i_seen, &g->seen, object, other);
  if (!s) return -1;
  s->state = TVMFFI_I_OPEN;
  return 0;
}

/* Pushes a frame for an object, or for two compared objects. The caller knows
   `own` references to each object: see tvmffi_i_is_shared. */
static int tvmffi_i_push_graph(tvmffi_i_graph *g, TVMFFIObject *object,
                               TVMFFIObject *other, uint32_t own) {
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(object->type_index);
  tvmffi_i_graph_frame *f;
  int is_seen = tvmffi_i_is_shared(object, own) &&
                (!other || tvmffi_i_is_shared(other, own));
  if (!type) return -1;
  f = TVMFFI_I_PUSH(tvmffi_i_graph_frame, &g->frames, g->name);
  if (!f) return -1;
  if (is_seen && tvmffi_i_open_seen(g, object, other)) {
    TVMFFI_I_POP(tvmffi_i_graph_frame, &g->frames);
    return -1;
  }
  tvmffi_i_children_open(&f->c, object, type);
  f->other = other;
  f->held = f->of.compare.held = tvmffi_none();
  f->has_child = f->in_step = 0;
  f->is_seen = (unsigned char)is_seen;
  f->to = g->to;
  tvmffi_i_retain(object);
  if (other) tvmffi_i_retain(other);
  return 0;
}

/* Pops the top frame. Returns the record of the frame's object, or NULL if it
   has none. Sets the record's state to UNSEEN; the caller may change it to
   DONE. */
static tvmffi_i_seen *tvmffi_i_pop_graph(tvmffi_i_graph *g) {
  tvmffi_i_graph_frame *f = TVMFFI_I_TOP(tvmffi_i_graph_frame, &g->frames);
  TVMFFIObject *object = f->c.object, *other = f->other;
  tvmffi_i_seen *s;
  int is_seen = f->is_seen;
  tvmffi_i_any_release(&f->held);
  if (other) tvmffi_i_any_release(&f->of.compare.held);
  tvmffi_i_release(object);
  tvmffi_i_release(other);
  TVMFFI_I_POP(tvmffi_i_graph_frame, &g->frames);
  if (!is_seen) return NULL;
  s = tvmffi_i_seen_of(g, object, other);
  s->state = TVMFFI_I_UNSEEN;
  return s;
}

/* Returns `own` for tvmffi_i_is_shared: the container or field has one
   reference to the child; f->held, if it is the child, has another. */
TVMFFI_I_INLINE uint32_t tvmffi_i_own_count(const tvmffi_i_graph_frame *f,
                                            const TVMFFIAny *child) {
  return child == &f->held ? 2 : 1;
}

static void tvmffi_i_graph_close(tvmffi_i_graph *g) {
  size_t i;
  while (g->frames.depth) (void)tvmffi_i_pop_graph(g);
  tvmffi_i_stack_close(&g->frames);
  tvmffi_i_ptr_clear(&g->seen, sizeof(tvmffi_i_seen), 2);
  tvmffi_i_free(g->hashes);
  for (i = 0; i < 4; ++i) tvmffi_i_callback_close(&g->callback[i]);
  for (i = 0; i < g->num_texts; ++i) tvmffi_i_text_release(&g->text[i]);
  tvmffi_i_free(g->text);
}
#endif
