/* ======== Visit engine ==================================== >>extra/visit_run
   the traversal of visits and mutations */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../containers.h"
#include "../graph.h"
#include "../reflection.h"
#include "structural.h"
#include "visit.h"
#include "visit_callback.h"

#if !TVMFFI_NO_EXTRA
/* Flags: how a traversal reached a value. */
enum {
  TVMFFI_I_ENTERED = 1,  /* through the vtable: callbacks apply */
  TVMFFI_I_REPLACES = 2, /* the value is a callback's result (owned) */
  TVMFFI_I_IN_HOOK = 4   /* by a container's hook: adds no error context */
};

/* A stack frame: a container or object whose children are visited.
   base.c.object is borrowed, or owned if it replaces another value. base.held
   is the current child, owned only with OWNS_HELD. base.other is the copy for
   changed children, or NULL. */
typedef struct {
  tvmffi_i_walk_frame base;
  size_t after; /* map: position after the current child */
  int32_t outer;  /* TVMFFIDefRegionKind around the value */
  unsigned char is_object;
  /* The TVMFFISEqHashKind of a variable or DAG node, or 0 for other objects. */
  unsigned char identity;
  unsigned char changed;
  unsigned char ends_region; /* children are outside any region */
  unsigned char in_place, how;
  unsigned char is_row; /* map: it was a row when `after` was read */
} tvmffi_i_visit_frame;

/* The state of a visit. With a C++ visitor, `walk` has only one frame,
   because each child is visited through the visitor's vtable. */
typedef struct {
  tvmffi_i_visitor *v;
  tvmffi_i_engine *e; /* NULL for a C++ visitor */
  tvmffi_i_walk *walk;
  int mutates, is_after; /* is_after: callbacks run after the children */
} tvmffi_i_descent;

#if defined(__cplusplus)
extern "C" {
#endif
static TVMFFIAny tvmffi_i_mutate_leaf(void *mutator, TVMFFIAny value) {
  (void)mutator, (void)value;
  return tvmffi_i_unchanged();
}
#if defined(__cplusplus)
}
#endif

static void tvmffi_i_delete_engine(void *self, int flags);

/* Returns the visitor `v` if it is ours, or NULL for a C++ visitor and for a
   shallow copy of our visitor. */
TVMFFI_I_INLINE tvmffi_i_engine *tvmffi_i_engine_of(tvmffi_i_visitor *v) {
  return v->base.deleter == tvmffi_i_delete_engine
             ? (tvmffi_i_engine *)(void *)v
             : NULL;
}

/* -------- Children of containers -------- */

/* Returns the object whose children are read: the copy, if there is one. */
TVMFFI_I_INLINE TVMFFIObject *tvmffi_i_visited(const tvmffi_i_visit_frame *f) {
  TVMFFI_ASSERT(f->base.other != f->base.c.object);
  return f->base.other ? f->base.other : f->base.c.object;
}

/* Returns the current child's address in its container, or NULL at the end.
   Callbacks may change the container, so do not keep the address. */
TVMFFI_I_INLINE TVMFFIAny *tvmffi_i_child_at(const tvmffi_i_visit_frame *f) {
  TVMFFIObject *o = tvmffi_i_visited(f);
  const TVMFFIAny *item;
  tvmffi_i_pair *pair;
  TVMFFI_ASSERT(!f->is_object);
  if (tvmffi_i_is_sequence_type(o->type_index)) {
    (void)tvmffi_i_items_from(o, f->base.c.at, &item);
    return (TVMFFIAny *)(uintptr_t)item;
  }
  pair = tvmffi_i_map_pair(o, f->base.c.at);
  return pair ? &pair->value : NULL;
}

/* Called if a callback has turned the map from a row into a hash table.
   In a row c.at is the number of the current entry; in a hash table it is a
   slot. Sets it to the slot of the entry with that number. This is the entry
   after the current one if the callback has moved the current or an earlier
   entry to the end, else the current one again. `left` is one more, so that a
   second visit of the current entry does not take the turn of another. */
TVMFFI_I_COLD void tvmffi_i_find_position(const TVMFFIObject *map,
                                          tvmffi_i_visit_frame *f) {
  size_t i = f->base.c.at;
  TVMFFI_ASSERT(map == tvmffi_i_visited(f));
  f->base.c.at = tvmffi_i_map_begin(map);
  while (i--) f->base.c.at = tvmffi_i_map_after(map, f->base.c.at);
  ++f->base.c.left;
}

/* Steps to the next child. If a callback set the value of a map's current key,
   its entry is the last one now, so the step goes to the entry that followed it
   before the callback. The visit ends after as many entries as the map had at
   the beginning. */
TVMFFI_I_INLINE void tvmffi_i_next_position(tvmffi_i_visit_frame *f) {
  TVMFFIObject *o = tvmffi_i_visited(f);
  size_t after;
  if (!tvmffi_i_is_map_type(o->type_index)) {
    ++f->base.c.at;
    return;
  }
  TVMFFI_ASSERT(f->base.c.left > 0);
  --f->base.c.left;
  if (TVMFFI_I_UNLIKELY(f->is_row !=
                        tvmffi_i_map_is_row(tvmffi_i_map_of(o)))) {
    tvmffi_i_find_position(o, f);
    return;
  }
  after = tvmffi_i_map_after(o, f->base.c.at);
  f->base.c.at = after == TVMFFI_I_MAP_END ? f->after : after;
}

/* Reads the next child of a container. Returns 1, or 0 at the end. Skips values
   that have no callback and no children. Arrays and lists have their own loop,
   which tests a number by one word (benchmark "walk, 30,000 numbers"). */
TVMFFI_I_INLINE int tvmffi_i_next_item(const tvmffi_i_engine *e,
                                       tvmffi_i_visit_frame *f, int *unique) {
  TVMFFIObject *o = tvmffi_i_visited(f);
  tvmffi_i_children *c = &f->base.c;
  const TVMFFIAny *child;
  TVMFFI_ASSERT(!f->in_place || !f->base.other);
  if (tvmffi_i_is_sequence_type(o->type_index)) {
    const uint64_t passed = e ? e->passed[0] : 0;
    size_t i, n = tvmffi_i_items_from(o, c->at, &child);
    for (i = 0; i < n; ++i) {
      const int32_t index = child[i].type_index;
      if (TVMFFI_I_LIKELY((uint32_t)index < kTVMFFIStaticObjectBegin)) {
        if (!(passed >> index & 1)) break;
      } else if (!e || !tvmffi_i_has_bit(e->passed, index)) {
        break;
      }
    }
    c->at += i;
    if (i == n) return 0;
    child += i;
  } else {
    for (;; tvmffi_i_next_position(f)) {
      child = c->left ? tvmffi_i_child_at(f) : NULL;
      if (!child) return 0;
      f->after = tvmffi_i_map_after(o, c->at);
      f->is_row = (unsigned char)tvmffi_i_map_is_row(tvmffi_i_map_of(o));
      if (!e || !tvmffi_i_has_bit(e->passed, child->type_index)) break;
    }
  }
  TVMFFI_ASSERT(child->type_index != kTVMFFIObjectRValueRef);
  TVMFFI_ASSERT(!e || !tvmffi_i_has_bit(e->passed, child->type_index));
  *unique = f->in_place && tvmffi_i_is_unique(child);
  f->base.held = *child;
  if (f->base.owns & TVMFFI_I_OWNS_HELD) tvmffi_i_any_retain(child);
  return 1;
}

TVMFFI_I_INLINE void tvmffi_i_drop_child(tvmffi_i_visit_frame *f) {
  if (f->base.owns & TVMFFI_I_OWNS_HELD) tvmffi_i_any_release(&f->base.held);
}

/* Sets f->base.other to a copy of the container. In an array or list, also
   moves the current child's new value from *value to the copy. */
static int tvmffi_i_copy_container(tvmffi_i_visit_frame *f, TVMFFIAny *value) {
  int32_t index = f->base.c.object->type_index;
  const TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, f->base.c.object);
  const TVMFFIAny *items = (const TVMFFIAny *)cell->data;
  TVMFFIAny *to = NULL;
  const size_t size = (size_t)cell->size, at = f->base.c.at;
  size_t i;
  TVMFFI_ASSERT(!f->base.other && !f->in_place && !f->is_object);
  f->base.other = tvmffi_i_is_map_type(index)
                      ? tvmffi_i_map_copy(f->base.c.object, index)
                      : tvmffi_i_new_items(index, size, &to);
  if (!f->base.other) return -1;
  TVMFFI_ASSERT(f->base.owns & TVMFFI_I_OWNS_OTHER);
  for (i = 0; to && i < size; ++i)
    if (i != at) tvmffi_i_copy_owned(&items[i], &to[i]);
  if (!to || at >= size) return 0;
  to[at] = *value;
  *value = tvmffi_none();
  return 0;
}

/* Tells whether two values differ. For most values, v_uint64 decides. */
TVMFFI_I_INLINE int tvmffi_i_is_other(const TVMFFIAny *a, const TVMFFIAny *b) {
  return a->v_uint64 != b->v_uint64 || !tvmffi_i_same_any(a, b);
}

/* Swaps the current child in the container with its mutated value. Does nothing
   if a callback has already replaced the child. */
static int tvmffi_i_put_child(tvmffi_i_visit_frame *f, TVMFFIAny *value) {
  TVMFFIAny *slot, old;
  if (!f->base.other && !f->in_place)
    TVMFFI_TRY(tvmffi_i_copy_container(f, value));
  slot = tvmffi_i_child_at(f);
  if (!slot || tvmffi_i_is_other(slot, &f->base.held)) return 0;
  TVMFFI_ASSERT(tvmffi_i_is_other(slot, value));
  old = *slot;
  *slot = *value;
  *value = old;
  return 0;
}

/* -------- Children of objects -------- */

/* Reads the next field into f->base.held. Skips values that have no callback
   and no children. Returns 1 if there is a field, 0 at the end, or -1 on error.
   */
TVMFFI_I_INLINE int tvmffi_i_next_visited(tvmffi_i_descent *d,
                                          tvmffi_i_visit_frame *f) {
  tvmffi_i_children *c = &f->base.c;
  TVMFFIObject *o = tvmffi_i_visited(f);
  TVMFFI_ASSERT(f->is_object && f->base.owns & TVMFFI_I_OWNS_HELD);
  for (;;) {
    const TVMFFIFieldInfo *field = c->field = tvmffi_i_next_counted(&c->fields);
    if (!field) return 0;
    f->base.held = tvmffi_none();
    if (TVMFFI_I_UNLIKELY(tvmffi_i_get_field(field, o, &f->base.held))) {
      f->base.held = tvmffi_none();
      return -1;
    }
    if (!d->e || !tvmffi_i_has_bit(d->e->passed, f->base.held.type_index))
      break;
    tvmffi_i_any_release(&f->base.held);
  }
  d->v->region = tvmffi_i_field_region(c->field, d->v->region);
  return 1;
}

/* Stores the mutated value of the current field in the copy f->base.other. The
   error of a setter names the field, because the value is a callback's. */
static int tvmffi_i_put_field(tvmffi_i_visit_frame *f, const TVMFFIAny *value) {
  const TVMFFIFieldInfo *field = f->base.c.field;
  int code;
  TVMFFI_ASSERT(f->is_object && f->base.other && field);
  f->changed = 1;
  if (!field->setter)
    return tvmffi_i_type_error(
        "Cannot structurally mutate field `%.*s` of type `%s` because it does "
        "not define a setter",
        TVMFFI_I_TEXT(field->name),
        tvmffi_i_type_key(f->base.c.object->type_index));
  code = tvmffi_i_set_field(field, f->base.other, value);
  if (TVMFFI_I_LIKELY(!code)) return 0;
  return tvmffi_error_context(
      code, "%s.%.*s", tvmffi_i_type_key(f->base.c.object->type_index),
      TVMFFI_I_TEXT(field->name));
}

/* Sets *made to a shallow copy (owned) of an object, for its mutated fields. */
static int tvmffi_i_copy_to_mutate(const TVMFFIAny *value,
                                   TVMFFIObject **made) {
  const TVMFFIAny *copier =
      tvmffi_i_type_attr(&tvmffi_i_copy_column, value->type_index);
  TVMFFIAny r;
  TVMFFI_ASSERT(!*made);
  if (!copier || copier->type_index != kTVMFFIFunction)
    return tvmffi_i_type_error("__ffi_shallow_copy__ must be an ffi.Function");
  tvmffi_i_call_back(copier, value, 1, &r);
  if (r.type_index == kTVMFFIError) return tvmffi_i_give(r, &r);
  if (r.type_index == value->type_index && r.v_obj && r.v_obj != value->v_obj) {
    *made = r.v_obj;
    return 0;
  }
  tvmffi_i_any_release(&r);
  return tvmffi_i_type_error(
      "Shallow copy callback must return a distinct object with the same type "
      "as its input");
}

TVMFFI_I_INLINE int tvmffi_i_has_no_fields(const TVMFFITypeInfo *type) {
  return type && type->type_depth == 1 && !TVMFFI_I_LOAD(&type->num_fields) &&
         !TVMFFI_I_LOAD(&type->type_ancestors[0]->num_fields);
}

/* -------- Frames -------- */

TVMFFI_I_INLINE void tvmffi_i_open_visit(tvmffi_i_walk *w, void *room,
                                         size_t size) {
  tvmffi_i_walk_open(w, "StructuralVisit", tvmffi_i_pop_frame,
                     sizeof(tvmffi_i_visit_frame), room, size);
}

TVMFFI_I_INLINE tvmffi_i_visit_frame *tvmffi_i_top_frame(
    const tvmffi_i_descent *d) {
  TVMFFI_ASSERT(tvmffi_i_depth(d->walk) > 0);
  return TVMFFI_I_FRAME(tvmffi_i_visit_frame, d->walk);
}

/* Pushes a frame for an object of this type, or for a container if `type` is
   NULL. Returns NULL on error. */
TVMFFI_I_INLINE tvmffi_i_visit_frame *tvmffi_i_push_visit(
    tvmffi_i_descent *d, const TVMFFIAny *from, const TVMFFITypeInfo *type,
    int how, int in_place) {
  const int32_t index = from->type_index;
  const int holds =
      in_place || index == kTVMFFIList || index == kTVMFFIDict || type;
  tvmffi_i_visit_frame *f = (tvmffi_i_visit_frame *)tvmffi_i_push_frame(
      d->walk, from->v_obj, NULL, type,
      TVMFFI_I_OWNS_OTHER | (holds ? TVMFFI_I_OWNS_HELD : 0));
  TVMFFI_ASSERT(type || tvmffi_i_is_container(index));
  TVMFFI_ASSERT(!in_place || (d->mutates && !type));
  if (!f) return f;
  f->outer = d->v->region;
  f->in_place = (unsigned char)in_place;
  f->how = (unsigned char)how;
  f->is_object = type != NULL;
  f->identity = f->changed = f->ends_region = 0;
  return f;
}

/* Pops the frames above `depth`, which an exception or longjmp out of another
   callback left, and sets *r to an error. */
TVMFFI_I_COLD void tvmffi_i_cut_visit(tvmffi_i_descent *d, size_t depth,
                                      TVMFFIAny *r) {
  TVMFFI_ASSERT(tvmffi_i_depth(d->walk) > depth);
  while (tvmffi_i_depth(d->walk) > depth) {
    d->v->region = tvmffi_i_top_frame(d)->outer;
    tvmffi_i_pop_frame(d->walk);
  }
  tvmffi_i_any_release(r);
  (void)tvmffi_i_left_hook(d->walk, depth, 0);
  tvmffi_i_give_raised(r);
}

/* Calls the callback `row` for a value. Pops the frames that a caught exception
   left, and adds the value to the context of an error. */
static void tvmffi_i_call_row(tvmffi_i_descent *d, const TVMFFIAny *row,
                              const TVMFFIAny *value, int unique,
                              TVMFFIAny *r) {
  const size_t depth = tvmffi_i_depth(d->walk);
  tvmffi_i_call_for(d->e, row, value, unique, r);
  if (TVMFFI_I_UNLIKELY(tvmffi_i_depth(d->walk) != depth))
    tvmffi_i_cut_visit(d, depth, r);
  if (TVMFFI_I_UNLIKELY(r->type_index == kTVMFFIError))
    tvmffi_i_add_context(r, value);
}

/* Calls the callback of a value after its children were visited. *r is the
   result for the value. The callback may replace *r. */
static void tvmffi_i_call_after(tvmffi_i_descent *d, const TVMFFIAny *value,
                                TVMFFIAny *r) {
  const TVMFFIAny *row, *at = value;
  TVMFFIAny given;
  TVMFFI_ASSERT(d->is_after && r->type_index != kTVMFFIError);
  if (d->mutates) {
    if (r->type_index != kTVMFFIUnchanged) at = r;
  } else if (r->type_index == kTVMFFIVisitInterrupt) {
    return;
  }
  row = tvmffi_i_find_callback(d->e, at->type_index);
  if (!row) return;
  tvmffi_i_call_row(d, row, at, 0, &given);
  if (given.type_index == (d->mutates ? kTVMFFIUnchanged : kTVMFFIInt)) return;
  tvmffi_i_any_release(r);
  *r = given;
}

/* Completes the result *r for a value. With TVMFFI_I_REPLACES, takes ownership
   of `value`, and an Unchanged result becomes `value`. */
TVMFFI_I_INLINE void tvmffi_i_conclude(tvmffi_i_descent *d,
                                       const TVMFFIAny *value, int how,
                                       TVMFFIAny *r) {
  TVMFFIAny dropped;
  TVMFFI_ASSERT(d->mutates || !(how & TVMFFI_I_REPLACES));
  if (TVMFFI_I_UNLIKELY(r->type_index == kTVMFFIError)) {
    if (how & TVMFFI_I_ENTERED || (d->mutates && !(how & TVMFFI_I_IN_HOOK)))
      tvmffi_i_add_context(r, value);
  } else if (d->is_after && how & TVMFFI_I_ENTERED) {
    tvmffi_i_call_after(d, value, r);
  }
  if (TVMFFI_I_LIKELY(!(how & TVMFFI_I_REPLACES))) return;
  dropped = *value;
  if (r->type_index == kTVMFFIUnchanged)
    *r = dropped;
  else
    tvmffi_i_any_release(&dropped);
}

/* Pushes a frame for the fields of an object. Returns 0, or 1 if *r is already
   the object's result. */
static int tvmffi_i_open_fields(tvmffi_i_descent *d, const TVMFFIAny *value,
                                const TVMFFITypeInfo *type, int how,
                                TVMFFIAny *r) {
  const TVMFFITypeMetadata *metadata =
      type ? TVMFFI_I_LOAD(&type->metadata) : NULL;
  tvmffi_i_visit_frame *f = NULL;
  TVMFFIObject *made = NULL;
  int kind = metadata ? (int)metadata->structural_eq_hash_kind : 0;
  int is_var = kind == kTVMFFISEqHashKindFreeVar;
  int identity = is_var || kind == kTVMFFISEqHashKindDAGNode ? kind : 0;
  TVMFFI_ASSERT(value->type_index >= kTVMFFIStaticObjectBegin);
  if (d->mutates && identity) {
    *r = tvmffi_i_table_of(d->v)->get(d->v, *value);
    if (r->type_index != kTVMFFINone) return 1;
    if (is_var && d->v->region == kTVMFFIDefRegionKindNone) {
      *r = tvmffi_i_unchanged();
      return 1;
    }
  }
  if (type && (!d->mutates || !tvmffi_i_copy_to_mutate(value, &made)))
    f = tvmffi_i_push_visit(d, value, type, how, 0);
  if (!f) {
    tvmffi_i_give_raised(r);
    tvmffi_i_release(made);
    return 1;
  }
  TVMFFI_ASSERT(d->mutates == (made != NULL) && f->is_object);
  f->base.other = made;
  f->identity = (unsigned char)identity;
  if (is_var && d->v->region == kTVMFFIDefRegionKindSimple) {
    f->ends_region = 1;
    d->v->region = kTVMFFIDefRegionKindNone;
  }
  return 0;
}

/* Sets *r to the top frame's copy if the copy was changed, else to Unchanged.
   For a variable or DAG node, also passes *r to the vtable's function `set`. */
TVMFFI_I_INLINE void tvmffi_i_take_mutated(tvmffi_i_descent *d,
                                           tvmffi_i_visit_frame *f,
                                           const TVMFFIAny *value,
                                           TVMFFIAny *r) {
  TVMFFIAny set;
  TVMFFI_ASSERT(d->mutates && (f->is_object || (!f->identity && !f->changed)));
  if (f->base.other && (!f->is_object || f->changed)) {
    *r = tvmffi_obj(f->base.other);
    f->base.other = NULL;
  } else {
    *r = tvmffi_i_unchanged();
  }
  if (TVMFFI_I_LIKELY(!f->identity) ||
      (f->identity != kTVMFFISEqHashKindDAGNode &&
       f->outer != kTVMFFIDefRegionKindPattern &&
       r->type_index == kTVMFFIUnchanged))
    return;
  set = tvmffi_i_table_of(d->v)->set(d->v, *value, *r);
  if (set.type_index != kTVMFFIError) return;
  tvmffi_i_any_release(r);
  *r = set;
}

/* Pops the top frame and sets *r to its result. Keeps an error or interrupt
   that is already in *r. */
static void tvmffi_i_pop_visit(tvmffi_i_descent *d, TVMFFIAny *r) {
  tvmffi_i_visit_frame *f = tvmffi_i_top_frame(d);
  TVMFFIAny value = tvmffi_obj(f->base.c.object);
  TVMFFI_ASSERT(d->mutates || !f->base.other);
  TVMFFI_ASSERT(!(f->base.owns & TVMFFI_I_OWNS_OBJECT));
  TVMFFI_ASSERT(f->changed <= 1 && f->ends_region <= 1);
  d->v->region = f->outer;
  tvmffi_i_drop_child(f);
  if (d->mutates) {
    if (r->type_index != kTVMFFIError) tvmffi_i_take_mutated(d, f, &value, r);
    tvmffi_i_release(f->base.other);
    f->base.other = NULL;
  }
  tvmffi_i_conclude(d, &value, f->how, r);
  TVMFFI_ASSERT(tvmffi_i_top_frame(d) == f && !f->base.other);
  tvmffi_i_pop(&d->walk->frames, sizeof(*f));
}

/* -------- Hooks -------- */

/* Calls the hook of a type and sets *r to the result. */
static void tvmffi_i_call_visit_hook(tvmffi_i_descent *d, const TVMFFIAny *hook,
                                     const TVMFFIAny *value, TVMFFIAny *r) {
  TVMFFIAny args[2];
  TVMFFI_ASSERT(TVMFFI_I_IS_FREE);
  if (TVMFFI_I_LIKELY(hook->type_index == kTVMFFIOpaquePtr)) {
    *r = ((tvmffi_i_hook)(uintptr_t)hook->v_ptr)(d->v, *value);
    return;
  }
  if (hook->type_index != kTVMFFIFunction) {
    (void)tvmffi_i_type_error(
        d->mutates ? "__s_mutate__ must be a direct hook pointer or "
                     "ffi.Function"
                   : "__s_visit__ must be an opaque function pointer "
                     "or ffi.Function");
    tvmffi_i_give_raised(r);
    return;
  }
  args[0] = tvmffi_obj(&d->v->base);
  args[1] = *value;
  tvmffi_i_call_back(hook, args, 2, r);
  if (!d->mutates) tvmffi_i_check_result(r, 0);
}

/* Finds the hook (borrowed) of a type other than the containers, or NULL if the
   type has no hook. Clears *in_place if the hook does not change the value in
   place. */
static const TVMFFIAny *tvmffi_i_visit_hook(const tvmffi_i_descent *d,
                                            int32_t index, int *in_place) {
  const TVMFFIAny *hook;
  TVMFFI_ASSERT(!tvmffi_i_is_container(index) && (d->mutates || !*in_place));
  if (!d->mutates) return tvmffi_i_type_attr(&tvmffi_i_visit_column, index);
  if (*in_place) {
    hook = tvmffi_i_type_attr(&tvmffi_i_in_place_column, index);
    if (hook && (hook->type_index == kTVMFFIOpaquePtr ||
                 hook->type_index == kTVMFFIFunction))
      return hook;
  }
  *in_place = 0;
  return tvmffi_i_type_attr(&tvmffi_i_mutate_column, index);
}

/* -------- The traversal -------- */

/* Visits a value, without calling a callback that runs before the children.
   Returns 1 with the result in *r, or 0 if a stack frame was pushed. */
static int tvmffi_i_descend(tvmffi_i_descent *d, const TVMFFIAny *value,
                            int how, int in_place, TVMFFIAny *r) {
  int32_t index = value->type_index;
  const int container = how & TVMFFI_I_IN_HOOK || tvmffi_i_is_container(index);
  const TVMFFIAny *hook =
      container ? NULL : tvmffi_i_visit_hook(d, index, &in_place);
  const TVMFFITypeInfo *type = NULL;
  const size_t depth = tvmffi_i_depth(d->walk);
  TVMFFI_ASSERT(d->e ? d->walk == &d->e->walk : !d->is_after);
  if (hook) {
    tvmffi_i_call_visit_hook(d, hook, value, r);
    if (TVMFFI_I_UNLIKELY(tvmffi_i_depth(d->walk) != depth))
      tvmffi_i_cut_visit(d, depth, r);
    if (d->e && hook->v_ptr == (void *)(uintptr_t)tvmffi_i_mutate_leaf)
      tvmffi_i_set_bit(d->e, d->e->leaves, index);
    goto done;
  }
  if (!container) {
    if (index >= kTVMFFIStaticObjectBegin) type = TVMFFIGetTypeInfo(index);
    if (index < kTVMFFIStaticObjectBegin ||
        (!d->mutates && tvmffi_i_has_no_fields(type))) {
      *r = tvmffi_none();
      if (d->mutates && tvmffi_i_own(value, r)) tvmffi_i_give_raised(r);
      if (d->e) tvmffi_i_set_bit(d->e, d->e->leaves, index);
      goto done;
    }
  }
  if (container ? tvmffi_i_push_visit(d, value, NULL, how, in_place) != NULL
                : !tvmffi_i_open_fields(d, value, type, how, r))
    return 0;
  if (container) tvmffi_i_give_raised(r);
done:
  TVMFFI_ASSERT(tvmffi_i_depth(d->walk) == depth);
  tvmffi_i_conclude(d, value, how, r);
  return 1;
}

/* Visits a value that may have a callback. Returns 1 with the result in *r, or
   0 if a frame was pushed. Calls the callback of a value without children at
   once, even in a post-order visit. */
static int tvmffi_i_enter_any(tvmffi_i_descent *d, const TVMFFIAny *value,
                              int unique, TVMFFIAny *r) {
  tvmffi_i_engine *e = d->e;
  TVMFFIAny mapped;
  const TVMFFIAny *row;
  int leaf = tvmffi_i_has_bit(e->leaves, value->type_index);
  TVMFFI_ASSERT(!d->mutates == (e->kind < TVMFFI_I_MAP_BEFORE));
  *r = d->mutates ? tvmffi_i_unchanged() : tvmffi_none();
  if (!d->mutates && value->type_index == kTVMFFINone) return 1;
  row = d->is_after && !leaf
            ? NULL
            : tvmffi_i_find_callback(e, value->type_index);
  if (!row)
    return leaf || tvmffi_i_descend(d, value, TVMFFI_I_ENTERED, unique, r);
  tvmffi_i_call_row(d, row, value, unique, r);
  if (TVMFFI_I_UNLIKELY(r->type_index == kTVMFFIError) ||
      e->kind == TVMFFI_I_VISIT || e->kind == TVMFFI_I_MUTATE)
    return 1;
  if (!d->mutates) {
    if (r->type_index == kTVMFFIVisitInterrupt) return 1;
    leaf |= r->v_int64 == 1;
    *r = tvmffi_none();
  } else if (r->type_index != kTVMFFIUnchanged) {
    if (d->is_after || tvmffi_i_has_bit(e->leaves, r->type_index)) return 1;
    mapped = *r;
    if (!tvmffi_i_same_any(&mapped, value))
      unique = unique && tvmffi_i_is_unique(&mapped);
    return tvmffi_i_descend(d, &mapped, TVMFFI_I_ENTERED | TVMFFI_I_REPLACES,
                            unique, r);
  }
  return leaf || tvmffi_i_descend(d, value, TVMFFI_I_ENTERED, unique, r);
}

/* Visits a child through the vtable of a C++ visitor. A child that may be
   changed in place leaves the container during the call, so that f->base.held
   is the only reference. */
TVMFFI_I_NOINLINE void tvmffi_i_enter_foreign(tvmffi_i_descent *d,
                                              const TVMFFIAny *value,
                                              int unique, TVMFFIAny *r) {
  const tvmffi_i_visit_table *table = tvmffi_i_table_of(d->v);
  tvmffi_i_visit_frame *f;
  TVMFFIAny *slot;
  TVMFFI_ASSERT(!d->e && tvmffi_i_depth(d->walk) == 1);
  if (!unique) {
    *r = table->enter(d->v, *value);
    return;
  }
  f = tvmffi_i_top_frame(d);
  TVMFFI_ASSERT(f->in_place && value == &f->base.held &&
                tvmffi_i_child_at(f)->v_obj == value->v_obj);
  *tvmffi_i_child_at(f) = tvmffi_none();
  tvmffi_i_release(f->base.held.v_obj);
  *r = table->enter_unique(d->v, *value);
  slot = tvmffi_i_child_at(f);
  if (slot && slot->type_index == kTVMFFINone)
    tvmffi_i_copy_owned(&f->base.held, slot);
}

/* Visits a child. Returns 1 with the result in *r, or 0 if a frame was pushed.
   */
TVMFFI_I_INLINE int tvmffi_i_enter(tvmffi_i_descent *d, const TVMFFIAny *value,
                                   int unique, TVMFFIAny *r) {
  if (TVMFFI_I_UNLIKELY(!d->e)) {
    tvmffi_i_enter_foreign(d, value, unique, r);
    return 1;
  }
  if (!tvmffi_i_is_container(value->type_index) ||
      (!d->is_after && !tvmffi_i_has_bit(d->e->uncalled, value->type_index)))
    return tvmffi_i_enter_any(d, value, unique, r);
  if (TVMFFI_I_LIKELY(tvmffi_i_push_visit(d, value, NULL, TVMFFI_I_ENTERED,
                                          unique) != NULL))
    return 0;
  tvmffi_i_give_raised(r);
  tvmffi_i_conclude(d, value, TVMFFI_I_ENTERED, r);
  return 1;
}

/* Visits the next child of the top frame, or pops the frame at the end. Returns
   1 with the result in *r, or 0 if a frame was pushed. */
TVMFFI_I_INLINE int tvmffi_i_advance(tvmffi_i_descent *d, TVMFFIAny *r) {
  tvmffi_i_visit_frame *f = tvmffi_i_top_frame(d);
  int unique = 0;
  int got = f->is_object ? tvmffi_i_next_visited(d, f)
                         : tvmffi_i_next_item(d->e, f, &unique);
  TVMFFI_ASSERT(got <= 1);
  if (got > 0) return tvmffi_i_enter(d, &f->base.held, unique, r);
  *r = got ? tvmffi_i_raised() : tvmffi_none();
  tvmffi_i_pop_visit(d, r);
  return 1;
}

/* Stores the result for a child in the top frame. If the result ends the visit,
   pops the frame and returns 1 with the frame's result in *r. Otherwise returns
   0. */
TVMFFI_I_INLINE int tvmffi_i_take_result(tvmffi_i_descent *d, TVMFFIAny *r) {
  tvmffi_i_visit_frame *f = tvmffi_i_top_frame(d);
  int stops =
      d->mutates ? r->type_index == kTVMFFIError : r->type_index != kTVMFFINone;
  d->v->region = f->ends_region ? (int32_t)kTVMFFIDefRegionKindNone : f->outer;
  if (!stops && d->mutates && r->type_index != kTVMFFIUnchanged) {
    if (tvmffi_i_is_other(r, &f->base.held))
      stops =
          f->is_object ? tvmffi_i_put_field(f, r) : tvmffi_i_put_child(f, r);
    tvmffi_i_any_release(r);
    if (TVMFFI_I_UNLIKELY(stops)) tvmffi_i_give_raised(r);
  }
  TVMFFI_ASSERT(!f->changed || f->base.other);
  if (TVMFFI_I_UNLIKELY(stops)) {
    tvmffi_i_pop_visit(d, r);
    return 1;
  }
  tvmffi_i_drop_child(f);
  if (!f->is_object) tvmffi_i_next_position(f);
  return 0;
}

static TVMFFIAny tvmffi_i_bad_engine(void) {
  (void)tvmffi_i_type_error(
      "A copy of a structural visitor or mutator cannot visit");
  return tvmffi_i_raised();
}

/* Runs a visit to its end. Visits nest if a callback, a hook or a C++ visitor
   visits a child. */
static TVMFFIAny tvmffi_i_run(tvmffi_i_visitor *v, int mutates, int how,
                              int in_place, const TVMFFIAny *value) {
  tvmffi_i_visit_frame one;
  tvmffi_i_walk walk;
  tvmffi_i_descent d;
  TVMFFIAny r = tvmffi_none();
  size_t base;
  int done;
  d.v = v;
  d.e = tvmffi_i_engine_of(v);
  if (how == TVMFFI_I_ENTERED && !d.e) return tvmffi_i_bad_engine();
  if (tvmffi_i_nest()) return tvmffi_i_raised();
  d.mutates = mutates;
  d.is_after = d.e && (d.e->kind == TVMFFI_I_WALK_AFTER ||
                       d.e->kind == TVMFFI_I_MAP_AFTER);
  if (d.e && d.e->walk.frames.bottom.first && !tvmffi_i_is_guarded(d.e)) {
    /* An exception or longjmp has left the visit with this stack. */
    tvmffi_i_stack_close(&d.e->walk.frames);
    tvmffi_i_open_visit(&d.e->walk, NULL, 0);
  }
  d.walk = d.e ? &d.e->walk : &walk;
  if (!d.e) tvmffi_i_open_visit(&walk, &one, sizeof(one));
  base = tvmffi_i_depth(d.walk);
  done = how == TVMFFI_I_ENTERED
             ? tvmffi_i_enter_any(&d, value, in_place, &r)
             : tvmffi_i_descend(&d, value, how, in_place, &r);
  while (tvmffi_i_depth(d.walk) > base) {
    TVMFFI_ASSERT(done == 0 || done == 1);
    if (done) done = tvmffi_i_take_result(&d, &r);
    if (!done) done = tvmffi_i_advance(&d, &r);
  }
  TVMFFI_ASSERT(done == 1 && tvmffi_i_depth(d.walk) == base);
  tvmffi_i_unnest();
  return r;
}

/* -------- Hooks and vtables -------- */

static int tvmffi_i_is_variable(const TVMFFIAny *var) {
  if (var->type_index >= kTVMFFIStaticObjectBegin && var->v_obj) return 1;
  (void)tvmffi_i_type_error(
      "Variable-remap key must be an object-backed value");
  return 0;
}

#define TVMFFI_I_RUN(name, mutates, how, in_place)                           \
  static TVMFFIAny name(void *visitor, TVMFFIAny value) {                    \
    return tvmffi_i_run((tvmffi_i_visitor *)visitor, mutates, how, in_place, \
                        &value);                                             \
  }
#if defined(__cplusplus)
extern "C" {
#endif
#if !TVMFFI_NO_REFLECTION
/* The hooks of the containers, which cannot be replaced. Only C++ visitors call
   them: our own visitors traverse containers on their own stack. */
TVMFFI_I_RUN(tvmffi_i_visit_container, 0, TVMFFI_I_IN_HOOK, 0)
TVMFFI_I_RUN(tvmffi_i_mutate_container, 1, TVMFFI_I_IN_HOOK, 0)
TVMFFI_I_RUN(tvmffi_i_mutate_in_place, 1, TVMFFI_I_IN_HOOK, 1)
#endif
TVMFFI_I_RUN(tvmffi_i_enter_visitor, 0, TVMFFI_I_ENTERED, 0)
TVMFFI_I_RUN(tvmffi_i_enter_mutator, 1, TVMFFI_I_ENTERED, 0)
TVMFFI_I_RUN(tvmffi_i_enter_unique, 1, TVMFFI_I_ENTERED, 1)

static TVMFFIAny tvmffi_i_remap_get(void *mutator, TVMFFIAny var) {
  tvmffi_i_engine *e = tvmffi_i_engine_of((tvmffi_i_visitor *)mutator);
  const TVMFFIAny *value;
  TVMFFIAny key;
  if (!e) return tvmffi_i_bad_engine();
  if (!tvmffi_i_is_variable(&var)) return tvmffi_i_raised();
  if (!e->remap) return tvmffi_none();
  key = tvmffi_ptr(var.v_obj);
  value = tvmffi_i_map_get(e->remap, &key);
  TVMFFI_ASSERT(!value || e->variables);
  if (!value) return tvmffi_none();
  tvmffi_i_any_retain(value);
  return *value;
}

static TVMFFIAny tvmffi_i_remap_set(void *mutator, TVMFFIAny var,
                                    TVMFFIAny value) {
  tvmffi_i_engine *e = tvmffi_i_engine_of((tvmffi_i_visitor *)mutator);
  TVMFFIAny key;
  if (!e) return tvmffi_i_bad_engine();
  if (!tvmffi_i_is_variable(&var)) return tvmffi_i_raised();
  if (!e->remap) e->remap = tvmffi_i_new_map(kTVMFFIDict, 0);
  if (!e->variables) e->variables = tvmffi_i_new_list(0);
  if (!e->remap || !e->variables) return tvmffi_i_raised();
  key = tvmffi_ptr(var.v_obj);
  if (!tvmffi_i_map_get(e->remap, &key) &&
      tvmffi_i_list_append(e->variables, &var))
    return tvmffi_i_raised();
  if (tvmffi_i_map_set(e->remap, &key, &value)) return tvmffi_i_raised();
  return tvmffi_none();
}
#if defined(__cplusplus)
}
#endif
#undef TVMFFI_I_RUN

static const tvmffi_i_visit_table tvmffi_i_visitor_table = {
    tvmffi_i_enter_visitor, NULL, NULL, NULL};
static const tvmffi_i_visit_table tvmffi_i_mutator_table = {
    tvmffi_i_enter_mutator, tvmffi_i_enter_unique, tvmffi_i_remap_get,
    tvmffi_i_remap_set};

TVMFFI_I_INLINE void tvmffi_i_destroy_engine(void *self, int flags) {
  tvmffi_i_engine *e = (tvmffi_i_engine *)self;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    tvmffi_i_release(e->callbacks[0]);
    tvmffi_i_release(e->callbacks[1]);
    tvmffi_i_release(e->remap);
    tvmffi_i_release(e->variables);
    tvmffi_i_stack_close(&e->walk.frames);
  }
  tvmffi_i_delete_plain(self, flags);
}
TVMFFI_I_DELETER(engine)

/* Makes a visitor or mutator from two arrays or lists of callbacks (borrowed,
   or NULL). Returns NULL on error. */
static tvmffi_i_engine *tvmffi_i_new_engine(tvmffi_i_visit_kind kind,
                                            TVMFFIObject *callbacks,
                                            TVMFFIObject *with_region) {
  int mutates = kind >= TVMFFI_I_MAP_BEFORE;
  tvmffi_i_engine *e = (tvmffi_i_engine *)tvmffi_i_object(
      sizeof(*e),
      mutates ? TVMFFI_I_STRUCTURAL_MUTATOR : TVMFFI_I_STRUCTURAL_VISITOR,
      tvmffi_i_delete_engine);
  int i;
  if (!e) return NULL;
  memset((void *)(&e->visitor.base + 1), 0,
         sizeof(*e) - sizeof(e->visitor.base));
  tvmffi_i_open_visit(&e->walk, NULL, 0);
  e->visitor.table = (void *)(uintptr_t)(mutates ? &tvmffi_i_mutator_table
                                                 : &tvmffi_i_visitor_table);
  e->kind = kind;
  for (i = 0; i < 2; ++i) {
    TVMFFIAny from = tvmffi_obj(i ? with_region : callbacks), array;
    if (!from.v_obj) continue;
    if (tvmffi_i_cast_to(kTVMFFIArray, &from, &array)) {
      tvmffi_i_release(e);
      return NULL;
    }
    e->callbacks[i] = array.v_obj;
  }
  return e;
}
#endif
