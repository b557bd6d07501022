/* ======== Graph: the traversal under hash, order and repr == >>extra/graph */
/* Text, hash and order of values with all that they hold, by the fields that
   types describe. The path from the root stands on a stack of frames and not
   on the thread's; what is open or done stands in a table, so that cycles end
   and what is shared is done once. An object with one reference cannot be met
   twice and is left out of the table. Texts, the order of events and the hash,
   which crosses process borders, are upstream's (extra/dataclass.cc). All state
   belongs to the call; only hooks of types nest on the thread's stack. */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/map_layout.h"
#include "../platform/libc.h"
#include "../platform/thread_state.h"
#include "../platform/memory.h"
#include "../platform/stack.h"
#include "../platform/text.h"
#include "../core/raise.h"
#include "../reflection/field.h"

#if !TVMFFI_NO_EXTRA
typedef enum {
  TVMFFI_I_UNSEEN,
  TVMFFI_I_OPEN, /* it is on the stack, or its hook runs */
  TVMFFI_I_DONE
} tvmffi_i_seen_state;

/* An object, or a pair that is compared. */
typedef struct {
  TVMFFIObject *object, *other; /* owned */
  uint64_t value;               /* the hash, or where the text begins */
  size_t size;                  /* of the text */
  uint32_t to;                  /* which buffer has the text */
  unsigned char state;
} tvmffi_i_seen;

typedef struct {
  TVMFFIObject *object, *other; /* owned */
  TVMFFIAny field[2];           /* owned: the value of the present field */
  tvmffi_i_field_walk walk;     /* of an object that is no container */
  uint64_t at;                  /* the next item, or slot of a map */
  uint64_t other_at;            /* the same of the other map, in step */
  uint64_t hash, key_hash;
  size_t begin; /* of the text, or of the hashes of entries */
  uint32_t to;  /* which buffer the text goes to */
  unsigned char is_value, is_seen, has_child, in_step;
} tvmffi_i_graph_frame;

typedef struct tvmffi_i_graph tvmffi_i_graph;

/* What a callback has: the graph until the call ends, and its thread. */
typedef struct {
  tvmffi_i_graph *graph;
  tvmffi_i_thread *thread;
} tvmffi_i_callback;

struct tvmffi_i_graph {
  tvmffi_i_stack frames;
  tvmffi_i_seen *seen;
  size_t places, num_seen;
  int64_t skip; /* flags of fields that do not count */
  const char *name;
  tvmffi_i_callback *callback[2];
  TVMFFIObjectHandle function[2];
  int nested; /* hooks that run */
  /* of one kind of call */
  int is_equality, with_address, has_root_frame;
  uint32_t to;
  tvmffi_i_text_buffer *text; /* the first is the result */
  size_t num_texts;
  uint64_t *hashes; /* of the entries of all open maps */
  size_t num_hashes, hash_capacity;
};

/* What the thread's stack surely bears. */
enum { TVMFFI_I_MAX_HOOKS = 1000 };

/* Gives a larger block with the same content, or NULL with the error set. */
static void *tvmffi_i_larger(void *items, size_t *capacity, size_t size) {
  size_t wanted = *capacity ? *capacity * 2 : 8;
  void *larger =
      wanted < PTRDIFF_MAX / 2 / size ? tvmffi_i_alloc(wanted * size) : NULL;
  if (!larger) {
    (void)tvmffi_i_no_memory();
    return larger;
  }
  if (*capacity) memcpy(larger, items, *capacity * size);
  tvmffi_i_free(items);
  *capacity = wanted;
  return larger;
}

static tvmffi_i_seen *tvmffi_i_seen_place(const tvmffi_i_graph *g,
                                          const TVMFFIObject *object,
                                          const TVMFFIObject *other) {
  uint64_t hash = (uint64_t)(uintptr_t)object * 0x9E3779B97F4A7C15u;
  size_t i;
  hash = (hash ^ hash >> 29 ^ (uint64_t)(uintptr_t)other) * 0xBF58476D1CE4E5B9u;
  i = (size_t)(hash >> 32) & (g->places - 1);
  while (g->seen[i].object &&
         (g->seen[i].object != object || g->seen[i].other != other))
    i = (i + 1) & (g->places - 1);
  return &g->seen[i];
}

static tvmffi_i_seen *tvmffi_i_find_seen(const tvmffi_i_graph *g,
                                         const TVMFFIObject *object,
                                         const TVMFFIObject *other) {
  tvmffi_i_seen *s = g->num_seen ? tvmffi_i_seen_place(g, object, other) : NULL;
  return s && s->state != TVMFFI_I_UNSEEN ? s : NULL;
}

static int tvmffi_i_grow_seen(tvmffi_i_graph *g) {
  tvmffi_i_seen *old = g->seen;
  size_t places = g->places, i;
  if (g->num_seen * 2 < places) return 0;
  g->places = places ? places * 2 : 16;
  g->seen = (tvmffi_i_seen *)tvmffi_i_alloc(g->places * sizeof(*old));
  if (!g->seen) {
    g->seen = old;
    g->places = places;
    return tvmffi_i_no_memory();
  }
  memset((void *)g->seen, 0, g->places * sizeof(*old));
  for (i = 0; i < places; ++i)
    if (old[i].object)
      *tvmffi_i_seen_place(g, old[i].object, old[i].other) = old[i];
  tvmffi_i_free(old);
  return 0;
}

/* Marks as open; an object in the table is kept to the end of the call, so that
   no other gets its address. `other` may be NULL. */
static int tvmffi_i_open_seen(tvmffi_i_graph *g, TVMFFIObject *object,
                              TVMFFIObject *other) {
  tvmffi_i_seen *s;
  TVMFFI_TRY(tvmffi_i_grow_seen(g));
  s = tvmffi_i_seen_place(g, object, other);
  if (!s->object) {
    tvmffi_retain(object);
    if (other) tvmffi_retain(other);
    s->object = object;
    s->other = other;
    ++g->num_seen;
  }
  s->state = TVMFFI_I_OPEN;
  return 0;
}

/* How many references make an object one that is met twice: those of who has
   it, which a frame that holds it adds one to, are `own`. */
TVMFFI_I_INLINE int tvmffi_i_is_shared(const TVMFFIObject *o, uint32_t own) {
  return (uint32_t)tvmffi_i_load64(&o->combined_ref_count) > own;
}

/* Puts a frame for an object, or a pair, onto the stack. */
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
  f->object = object;
  f->other = other;
  f->field[0] = f->field[1] = tvmffi_none();
  f->walk = tvmffi_i_walk_fields(type);
  f->at = 0;
  if (object->type_index == kTVMFFIMap || object->type_index == kTVMFFIDict)
    f->at = tvmffi_i_map_begin(object);
  f->is_value = f->has_child = f->in_step = 0;
  f->is_seen = (unsigned char)is_seen;
  f->to = g->to;
  tvmffi_retain(object);
  if (other) tvmffi_retain(other);
  return 0;
}

/* Takes the upper frame off; gives the entry that tells of its object, if
   there is one, which the caller closes. */
static tvmffi_i_seen *tvmffi_i_pop_graph(tvmffi_i_graph *g) {
  tvmffi_i_graph_frame *f = TVMFFI_I_TOP(tvmffi_i_graph_frame, &g->frames);
  tvmffi_i_seen *s = NULL;
  if (f->is_seen) {
    s = tvmffi_i_seen_place(g, f->object, f->other);
    s->state = TVMFFI_I_UNSEEN;
  }
  tvmffi_any_release(&f->field[0]);
  tvmffi_any_release(&f->field[1]);
  tvmffi_release(f->object);
  tvmffi_release(f->other);
  TVMFFI_I_POP(tvmffi_i_graph_frame, &g->frames);
  return s;
}

/* The next field that counts, read from one object or both, or NULL. */
static int tvmffi_i_next_value(tvmffi_i_graph *g, tvmffi_i_graph_frame *f,
                               const TVMFFIFieldInfo **field) {
  do {
    *field = tvmffi_i_next_field(&f->walk);
    if (!*field) return 0;
  } while ((*field)->flags & g->skip);
  tvmffi_any_release(&f->field[0]);
  TVMFFI_TRY((*field)->getter(tvmffi_i_at(f->object, *field), &f->field[0]));
  if (!f->other) return 0;
  tvmffi_any_release(&f->field[1]);
  return (*field)->getter(tvmffi_i_at(f->other, *field), &f->field[1]);
}

/* Gives what comes next in an object (borrowed from it or the frame), NULL at
   its end. A map gives keys and values by turns. */
static int tvmffi_i_next_child(tvmffi_i_graph *g, tvmffi_i_graph_frame *f,
                               const TVMFFIAny **child) {
  const TVMFFIFieldInfo *field;
  const TVMFFISeqCell *cell;
  tvmffi_i_pair *pair;
  *child = NULL;
  switch (f->object->type_index) {
    case kTVMFFIArray:
    case kTVMFFIList:
      cell = TVMFFI_I_CELL(TVMFFISeqCell, f->object);
      if (f->at < (uint64_t)cell->size)
        *child = (const TVMFFIAny *)cell->data + f->at++;
      return 0;
    case kTVMFFIMap:
    case kTVMFFIDict:
      pair = tvmffi_i_map_pair(f->object, f->at);
      if (!pair) return 0;
      *child = f->is_value ? &pair->value : &pair->key;
      if (f->is_value) f->at = tvmffi_i_map_after(f->object, f->at);
      f->is_value ^= 1;
      return 0;
    default: break;
  }
  TVMFFI_TRY(tvmffi_i_next_value(g, f, &field));
  if (field) *child = &f->field[0];
  return 0;
}

/* How many references a child has from its frame and container. */
TVMFFI_I_INLINE uint32_t tvmffi_i_own_count(const tvmffi_i_graph_frame *f,
                                            const TVMFFIAny *child) {
  return child == &f->field[0] ? 2 : 1;
}

static void tvmffi_i_end_graph(tvmffi_i_graph *g) {
  size_t i;
  while (g->frames.depth) (void)tvmffi_i_pop_graph(g);
  tvmffi_i_stack_close(&g->frames);
  for (i = 0; i < g->places; ++i) {
    tvmffi_release(g->seen[i].object);
    tvmffi_release(g->seen[i].other);
  }
  tvmffi_i_free(g->seen);
  tvmffi_i_free(g->hashes);
  for (i = 0; i < 2; ++i) {
    if (g->callback[i]) TVMFFI_I_STORE(&g->callback[i]->graph, NULL);
    tvmffi_release((TVMFFIObject *)g->function[i]);
  }
  for (i = 0; i < g->num_texts; ++i) tvmffi_i_text_release(&g->text[i]);
  tvmffi_i_free(g->text);
}
#endif
