/* ======== Visit engine ==================================== >>extra/visit_run
   the traversal of visits and mutations */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../platform/stack.h"
#include "../core/raise.h"
#include "../core/type_member.h"
#include "../containers/equal.h"
#include "../containers/sequence.h"
#include "../containers/map_memory.h"
#include "../containers/map.h"
#include "../graph/find_device.h"
#include "../reflection/field.h"
#include "../reflection/access.h"
#include "../reflection/enum.h"
#include "../reflection/copy.h"
#include "structural.h"
#include "visit.h"
#include "visit_container.h"
#include "visit_callback.h"

#if !TVMFFI_NO_EXTRA
/* -------- Variables -------- */

static int tvmffi_i_is_variable(const TVMFFIAny *var) {
  if (var->type_index >= kTVMFFIStaticObjectBegin && var->v_obj) return 1;
  (void)tvmffi_i_fail("TypeError",
                      "Variable-remap key must be an object-backed value");
  return 0;
}

static TVMFFIAny tvmffi_i_bad_engine(void) {
  (void)tvmffi_i_fail("TypeError",
                      "A copy of a structural visitor or mutator cannot go on");
  return tvmffi_i_raised();
}

static TVMFFIAny tvmffi_i_remap_get(void *mutator, TVMFFIAny var) {
  tvmffi_i_engine *e = tvmffi_i_engine_of((tvmffi_i_visitor *)mutator);
  const TVMFFIAny *value;
  TVMFFIAny key;
  if (!e) return tvmffi_i_bad_engine();
  if (!tvmffi_i_is_variable(&var)) return tvmffi_i_raised();
  if (!e->remap) return tvmffi_none();
  key = tvmffi_ptr(var.v_obj);
  value = tvmffi_i_map_get(e->remap, &key);
  return value ? tvmffi_i_copy_owned(value) : tvmffi_none();
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
  if (tvmffi_i_map_set(&e->remap, &key, &value)) return tvmffi_i_raised();
  return tvmffi_none();
}

/* -------- Going into values -------- */

/* A visitor that goes into a value. One of C++ has room for a frame, that of
   the value, as it comes back for what is within. */
typedef struct {
  tvmffi_i_visitor *v;
  tvmffi_i_engine *e; /* NULL of a visitor of C++ */
  tvmffi_i_stack *frames;
  int mutates, is_after; /* the callbacks come after the children */
} tvmffi_i_descent;

TVMFFI_I_INLINE tvmffi_i_visit_frame *tvmffi_i_top_frame(
    const tvmffi_i_descent *d) {
  return TVMFFI_I_TOP(tvmffi_i_visit_frame, d->frames);
}

/* Puts a frame onto the stack; NULL with the error raised. */
TVMFFI_I_INLINE tvmffi_i_visit_frame *tvmffi_i_push_frame(tvmffi_i_descent *d,
                                                          const TVMFFIAny *from,
                                                          int replaces,
                                                          int entered,
                                                          int in_place) {
  tvmffi_i_visit_frame *f =
      TVMFFI_I_PUSH(tvmffi_i_visit_frame, d->frames, "StructuralVisit");
  if (!f) return f;
  tvmffi_i_open_cursor(&f->c, from, in_place);
  f->c.is_object = f->c.identity = f->c.changed = f->c.ends_region = 0;
  f->c.entered = (unsigned char)entered;
  f->c.replaces = (unsigned char)replaces;
  f->outer = d->v->region;
  return f;
}

TVMFFI_I_INLINE void tvmffi_i_leave_frame(tvmffi_i_descent *d) {
  TVMFFI_I_POP(tvmffi_i_visit_frame, d->frames);
}

/* Whether a visit finds nothing in an object: a string, for one. */
TVMFFI_I_INLINE int tvmffi_i_has_no_fields(const TVMFFITypeInfo *type) {
  return type && type->type_depth == 1 && !TVMFFI_I_LOAD(&type->num_fields) &&
         !TVMFFI_I_LOAD(&type->type_ancestors[0]->num_fields);
}

/* Runs what comes after the children of a value, whose result is there and may
   change. */
static void tvmffi_i_call_after(tvmffi_i_descent *d, const TVMFFIAny *value,
                                TVMFFIAny *r) {
  const TVMFFIAny *row, *at = value;
  TVMFFIAny given;
  int with_region = 0;
  if (d->mutates) {
    if (r->type_index != kTVMFFIUnchanged) at = r;
  } else if (r->type_index == kTVMFFIVisitInterrupt) {
    return;
  }
  row = tvmffi_i_find_callback(d->e, at->type_index, &with_region);
  if (!row) return;
  tvmffi_i_call_for(d->e, row, at, with_region, 0, &given);
  if (TVMFFI_I_UNLIKELY(given.type_index == kTVMFFIError))
    tvmffi_i_add_context(&given, at);
  if (given.type_index == (d->mutates ? kTVMFFIUnchanged : kTVMFFIInt)) return;
  tvmffi_any_release(r);
  *r = given;
}

/* Concludes a value that is done with, whose result is there. One that replaces
   another (taken) is the result itself if it is unchanged. */
TVMFFI_I_INLINE void tvmffi_i_conclude(tvmffi_i_descent *d,
                                       const TVMFFIAny *value, int replaces,
                                       int entered, TVMFFIAny *r) {
  TVMFFIAny dropped;
  if (TVMFFI_I_UNLIKELY(r->type_index == kTVMFFIError)) {
    if (d->mutates || entered) tvmffi_i_add_context(r, value);
  } else if (d->is_after && entered) {
    tvmffi_i_call_after(d, value, r);
  }
  if (TVMFFI_I_LIKELY(!replaces)) return;
  dropped = *value;
  if (r->type_index == kTVMFFIUnchanged)
    *r = dropped;
  else
    tvmffi_any_release(&dropped);
}

/* Makes the shallow copy of an object whose fields are mutated. */
static int tvmffi_i_copy_to_mutate(const TVMFFIAny *value,
                                   TVMFFIObject **made) {
  const TVMFFIAny *copier =
      tvmffi_i_type_attr(&tvmffi_i_copy_column, value->type_index);
  TVMFFIAny r;
  if (!copier || copier->type_index != kTVMFFIFunction)
    return tvmffi_i_fail("TypeError",
                         "__ffi_shallow_copy__ must be an ffi.Function");
  tvmffi_i_call_back(copier, value, 1, &r);
  if (r.type_index == kTVMFFIError) return tvmffi_i_give(r, &r);
  if (r.type_index == value->type_index && r.v_obj && r.v_obj != value->v_obj) {
    *made = r.v_obj;
    return 0;
  }
  tvmffi_any_release(&r);
  return tvmffi_i_fail("TypeError",
                       "Shallow copy callback must return a distinct object "
                       "with the same type as its input");
}

/* Goes on to the fields of the next of an object's types, its own the last. */
static void tvmffi_i_open_type(tvmffi_i_visit_frame *f,
                               const TVMFFITypeInfo *type) {
  int32_t n;
  if (f->depth < type->type_depth)
    type = type->type_ancestors[f->depth++];
  else
    f->depth = -1;
  n = TVMFFI_I_LOAD(&type->num_fields); /* first: of no more fields than are */
  f->end = f->c.next.field = TVMFFI_I_LOAD(&type->fields);
  if (f->end) f->end += n;
}

/* Prepares the top frame for an object's fields: 1 if there is a result in
   their place. */
static int tvmffi_i_open_fields(tvmffi_i_descent *d, const TVMFFIAny *value,
                                const TVMFFITypeInfo *type, TVMFFIAny *r) {
  const TVMFFITypeMetadata *metadata =
      type ? TVMFFI_I_LOAD(&type->metadata) : NULL;
  tvmffi_i_visit_frame *f;
  TVMFFIObject *made = NULL;
  int kind = metadata ? (int)metadata->structural_eq_hash_kind : 0;
  int is_var = kind == kTVMFFISEqHashKindFreeVar;
  int identity = is_var || kind == kTVMFFISEqHashKindDAGNode ? kind : 0;
  *r = tvmffi_none();
  if (d->mutates && identity) {
    *r = tvmffi_i_table_of(d->v)->get(d->v, *value);
    if (r->type_index != kTVMFFINone) return 1;
    if (is_var && d->v->region == kTVMFFIDefRegionKindNone) {
      *r = tvmffi_i_unchanged();
      return 1;
    }
  }
  if (!type || (d->mutates && tvmffi_i_copy_to_mutate(value, &made))) {
    *r = tvmffi_i_raised();
    return 1;
  }
  f = tvmffi_i_top_frame(d);
  f->c.made = made;
  f->c.holds = f->c.is_object = 1;
  f->c.identity = (unsigned char)identity;
  f->depth = type->type_depth > 0;
  tvmffi_i_open_type(f, type);
  if (is_var && d->v->region == kTVMFFIDefRegionKindSimple) {
    f->c.ends_region = 1;
    d->v->region = kTVMFFIDefRegionKindNone;
  }
  return 0;
}

/* Goes to the next field: 0 behind the last, -1 with the error raised. */
static int tvmffi_i_next_visited(tvmffi_i_descent *d, tvmffi_i_visit_frame *f) {
  TVMFFIObject *o = f->c.made ? f->c.made : f->c.from;
  TVMFFIAny *child = &f->c.child;
  const TVMFFIFieldInfo *field;
  for (;;) {
    if (f->c.next.field == f->end) {
      if (f->depth < 0) return 0;
      tvmffi_i_open_type(f, TVMFFIGetTypeInfo(f->c.from->type_index));
      continue;
    }
    field = f->c.next.field++;
    if (field->flags & kTVMFFIFieldFlagBitMaskSEqHashIgnore) continue;
    *child = tvmffi_none();
    if (TVMFFI_I_UNLIKELY(field->getter(tvmffi_i_at(o, field), child))) {
      *child = tvmffi_none();
      return -1;
    }
    if (!d->e || !tvmffi_i_has_bit(d->e->passed, child->type_index)) break;
    tvmffi_any_release(child);
  }
  d->v->region = tvmffi_i_field_region(field, d->v->region);
  return 1;
}

/* Puts a mutated field (taken) into the copy. */
static int tvmffi_i_put_field(tvmffi_i_visit_frame *f, TVMFFIAny *value) {
  const TVMFFIFieldInfo *field = f->c.next.field - 1;
  const TVMFFITypeInfo *type;
  int code = 0;
  if (tvmffi_i_is_other(value, &f->c.child)) {
    if (!field->setter) {
      type = TVMFFIGetTypeInfo(f->c.from->type_index);
      code = tvmffi_i_fail(
          "TypeError",
          "Cannot structurally mutate field `%.*s` of type `%.*s` because it "
          "does not define a setter",
          TVMFFI_I_TEXT(field->name), TVMFFI_I_TEXT(type->type_key));
    } else {
      code = tvmffi_i_set_field(field, f->c.made, value);
      f->c.changed = 1;
    }
  }
  tvmffi_any_release(value);
  return code;
}

/* Gives what has become of the top frame's container or object; a variable or
   node is told to the table. */
TVMFFI_I_INLINE void tvmffi_i_take_mutated(tvmffi_i_descent *d,
                                           tvmffi_i_visit_frame *f,
                                           const TVMFFIAny *value,
                                           TVMFFIAny *r) {
  TVMFFIAny set;
  if (f->c.made && (!f->c.is_object || f->c.changed)) {
    *r = tvmffi_obj(f->c.made);
    f->c.made = NULL;
  } else {
    *r = tvmffi_i_unchanged();
  }
  if (TVMFFI_I_LIKELY(!f->c.identity) ||
      (f->c.identity != kTVMFFISEqHashKindDAGNode &&
       f->outer != kTVMFFIDefRegionKindPattern &&
       r->type_index == kTVMFFIUnchanged))
    return;
  set = tvmffi_i_table_of(d->v)->set(d->v, *value, *r);
  if (set.type_index != kTVMFFIError) return;
  tvmffi_any_release(r);
  *r = set;
}

/* Takes the top frame off, concludes it and gives its result; an error or
   interrupt that is there is passed on. */
static void tvmffi_i_pop_frame(tvmffi_i_descent *d, TVMFFIAny *r) {
  tvmffi_i_visit_frame *f = tvmffi_i_top_frame(d);
  TVMFFIAny value = tvmffi_obj(f->c.from);
  d->v->region = f->outer;
  tvmffi_i_drop_child(&f->c);
  if (d->mutates) {
    if (r->type_index != kTVMFFIError) tvmffi_i_take_mutated(d, f, &value, r);
    if (f->c.made) tvmffi_release(f->c.made);
  }
  tvmffi_i_conclude(d, &value, f->c.replaces, f->c.entered, r);
  tvmffi_i_leave_frame(d);
}

/* Calls a hook that is none of ours, or gives 0 if a type has none. */
static int tvmffi_i_call_hook(tvmffi_i_descent *d, const TVMFFIAny *hook,
                              const TVMFFIAny *value, TVMFFIAny *r) {
  TVMFFIAny args[2];
  if (!hook) return 0;
  if (TVMFFI_I_LIKELY(hook->type_index == kTVMFFIOpaquePtr)) {
    *r = ((tvmffi_i_hook)(uintptr_t)hook->v_ptr)(d->v, *value);
    return 1;
  }
  if (hook->type_index != kTVMFFIFunction) {
    (void)tvmffi_i_fail("TypeError",
                        d->mutates
                            ? "__s_mutate__ must be a direct hook pointer or "
                              "ffi.Function"
                            : "__s_visit__ must be an opaque function pointer "
                              "or ffi.Function");
    *r = tvmffi_i_raised();
    return 1;
  }
  args[0] = tvmffi_obj(&d->v->base);
  args[1] = *value;
  tvmffi_i_call_back(hook, args, 2, r);
  if (!d->mutates) tvmffi_i_visit_result(r);
  return 1;
}

/* Whether a hook is ours for a container, which goes onto the stack. */
static int tvmffi_i_is_own_hook(const TVMFFIAny *hook, int32_t index) {
  return hook && tvmffi_i_is_container(index) &&
         hook->type_index == kTVMFFIOpaquePtr &&
         (hook->v_ptr == (void *)(uintptr_t)tvmffi_i_visit_container ||
          hook->v_ptr == (void *)(uintptr_t)tvmffi_i_mutate_container ||
          hook->v_ptr == (void *)(uintptr_t)tvmffi_i_mutate_in_place);
}

/* Finds the hook of a type (borrowed; NULL if there is none), and says whether
   it is for what is changed in place. */
static const TVMFFIAny *tvmffi_i_visit_hook(const tvmffi_i_descent *d,
                                            int32_t index, int *in_place) {
  const TVMFFIAny *hook;
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

/* Notes a type of containers that is gone into in our way, in place or not. */
static void tvmffi_i_note_nest(tvmffi_i_descent *d, int32_t index) {
  int either;
  if (tvmffi_i_has_bit(d->e->nests, index)) return;
  for (either = 0; either <= d->mutates; ++either) {
    int in_place = either;
    if (!tvmffi_i_is_own_hook(tvmffi_i_visit_hook(d, index, &in_place),
                              index) ||
        in_place != either)
      return;
  }
  tvmffi_i_set_bit(d->e, d->e->nests, index);
}

/* Visits a value by default: 1 if the result is there, 0 if a frame was put
   onto the stack. A value that `replaces` another is taken. */
static int tvmffi_i_descend(tvmffi_i_descent *d, const TVMFFIAny *value,
                            int replaces, int entered, int in_place,
                            TVMFFIAny *r) {
  int32_t index = value->type_index;
  const TVMFFIAny *hook = tvmffi_i_visit_hook(d, index, &in_place);
  const TVMFFITypeInfo *type = NULL;
  int container = tvmffi_i_is_own_hook(hook, index);
  if (container) {
    if (d->e) tvmffi_i_note_nest(d, index);
  } else if (tvmffi_i_call_hook(d, hook, value, r)) {
    if (d->e && hook->v_ptr == (void *)(uintptr_t)tvmffi_i_mutate_leaf)
      tvmffi_i_set_bit(d->e, d->e->leaves, index);
    goto done;
  } else {
    if (index >= kTVMFFIStaticObjectBegin) type = TVMFFIGetTypeInfo(index);
    if (index < kTVMFFIStaticObjectBegin ||
        (!d->mutates && tvmffi_i_has_no_fields(type))) {
      *r = tvmffi_none();
      if (d->mutates && tvmffi_i_own(value, r)) *r = tvmffi_i_raised();
      if (d->e) tvmffi_i_set_bit(d->e, d->e->leaves, index);
      goto done;
    }
  }
  if (tvmffi_i_push_frame(d, value, replaces, entered, in_place)) {
    if (container || !tvmffi_i_open_fields(d, value, type, r)) return 0;
    tvmffi_i_leave_frame(d);
  } else {
    *r = tvmffi_i_raised();
  }
done:
  tvmffi_i_conclude(d, value, replaces, entered, r);
  return 1;
}

/* Visits a value that callbacks may be for. With nothing within, before and
   after are the same. */
static int tvmffi_i_enter_any(tvmffi_i_descent *d, const TVMFFIAny *value,
                              int unique, TVMFFIAny *r) {
  tvmffi_i_engine *e = d->e;
  TVMFFIAny mapped;
  const TVMFFIAny *row;
  int leaf = tvmffi_i_has_bit(e->leaves, value->type_index), with_region = 0;
  *r = d->mutates ? tvmffi_i_unchanged() : tvmffi_none();
  if (!d->mutates && value->type_index == kTVMFFINone) return 1;
  row = d->is_after && !leaf
            ? NULL
            : tvmffi_i_find_callback(e, value->type_index, &with_region);
  if (!row) return leaf || tvmffi_i_descend(d, value, 0, 1, unique, r);
  tvmffi_i_call_for(e, row, value, with_region, unique, r);
  if (TVMFFI_I_UNLIKELY(r->type_index == kTVMFFIError)) {
    tvmffi_i_add_context(r, value);
    return 1;
  }
  if (e->kind == TVMFFI_I_VISIT || e->kind == TVMFFI_I_MUTATE) return 1;
  if (!d->mutates) {
    if (r->type_index == kTVMFFIVisitInterrupt) return 1;
    leaf |= r->v_int64 == 1;
    *r = tvmffi_none();
  } else if (r->type_index != kTVMFFIUnchanged) {
    if (d->is_after || tvmffi_i_has_bit(e->leaves, r->type_index)) return 1;
    mapped = *r;
    if (!tvmffi_i_same_any(&mapped, value))
      unique = unique && tvmffi_i_is_unique(&mapped);
    return tvmffi_i_descend(d, &mapped, 1, 1, unique, r);
  }
  return leaf || tvmffi_i_descend(d, value, 0, 1, unique, r);
}

/* Visits a value through the table, as tvmffi_i_descend does by default. */
TVMFFI_I_INLINE int tvmffi_i_enter(tvmffi_i_descent *d, const TVMFFIAny *value,
                                   int unique, TVMFFIAny *r) {
  const tvmffi_i_visit_table *table;
  if (TVMFFI_I_LIKELY(d->e != NULL)) {
    if (!tvmffi_i_has_bit(d->e->nests, value->type_index) ||
        (!d->is_after && !tvmffi_i_has_bit(d->e->uncalled, value->type_index)))
      return tvmffi_i_enter_any(d, value, unique, r);
    if (TVMFFI_I_LIKELY(tvmffi_i_push_frame(d, value, 0, 1, unique) != NULL))
      return 0;
    *r = tvmffi_i_raised();
    tvmffi_i_conclude(d, value, 0, 1, r);
    return 1;
  }
  table = tvmffi_i_table_of(d->v);
  *r = unique ? table->enter_unique(d->v, *value) : table->enter(d->v, *value);
  return 1;
}

/* Goes on with the top frame: as tvmffi_i_enter. */
TVMFFI_I_INLINE int tvmffi_i_advance(tvmffi_i_descent *d, TVMFFIAny *r) {
  tvmffi_i_visit_frame *f = tvmffi_i_top_frame(d);
  int unique = 0;
  int got = f->c.is_object ? tvmffi_i_next_visited(d, f)
                           : tvmffi_i_next_item(d->e, &f->c, &unique);
  if (got > 0) return tvmffi_i_enter(d, &f->c.child, unique, r);
  *r = got ? tvmffi_i_raised() : tvmffi_none();
  tvmffi_i_pop_frame(d, r);
  return 1;
}

/* Takes a child's result into the top frame: 1 if that ends the frame, too. */
TVMFFI_I_INLINE int tvmffi_i_take_result(tvmffi_i_descent *d, TVMFFIAny *r) {
  tvmffi_i_visit_frame *f = tvmffi_i_top_frame(d);
  int stops =
      d->mutates ? r->type_index == kTVMFFIError : r->type_index != kTVMFFINone;
  d->v->region =
      f->c.ends_region ? (int32_t)kTVMFFIDefRegionKindNone : f->outer;
  if (!stops && d->mutates && r->type_index != kTVMFFIUnchanged) {
    stops = f->c.is_object ? tvmffi_i_put_field(f, r)
                           : tvmffi_i_put_child(&f->c, r);
    if (TVMFFI_I_UNLIKELY(stops)) *r = tvmffi_i_raised();
  }
  if (TVMFFI_I_UNLIKELY(stops)) {
    tvmffi_i_pop_frame(d, r);
    return 1;
  }
  if (f->c.is_object)
    tvmffi_any_release(&f->c.child);
  else
    tvmffi_i_pass_child(&f->c);
  return 0;
}

/* Runs a visit to its end, through the table or by default. */
static TVMFFIAny tvmffi_i_run(tvmffi_i_visitor *v, int mutates, int entered,
                              int unique, const TVMFFIAny *value) {
  tvmffi_i_visit_frame one;
  tvmffi_i_stack frames;
  tvmffi_i_descent d;
  TVMFFIAny r = tvmffi_none();
  size_t base;
  int done;
  if (tvmffi_i_nest()) return tvmffi_i_raised();
  d.v = v;
  d.e = tvmffi_i_engine_of(v);
  d.mutates = mutates;
  d.is_after = d.e && (d.e->kind == TVMFFI_I_WALK_AFTER ||
                       d.e->kind == TVMFFI_I_MAP_AFTER);
  d.frames = d.e ? &d.e->frames : &frames;
  if (!d.e) tvmffi_i_stack_open(&frames, &one, sizeof(one));
  base = d.frames->depth;
  done = entered ? tvmffi_i_enter(&d, value, unique, &r)
                 : tvmffi_i_descend(&d, value, 0, 0, 0, &r);
  while (d.frames->depth > base) {
    if (done) done = tvmffi_i_take_result(&d, &r);
    if (!done) done = tvmffi_i_advance(&d, &r);
  }
  tvmffi_i_unnest();
  return r;
}

static TVMFFIAny tvmffi_i_enter_visitor(void *visitor, TVMFFIAny value) {
  tvmffi_i_visitor *v = (tvmffi_i_visitor *)visitor;
  return tvmffi_i_engine_of(v) ? tvmffi_i_run(v, 0, 1, 0, &value)
                               : tvmffi_i_bad_engine();
}

static TVMFFIAny tvmffi_i_enter_mutator(void *mutator, TVMFFIAny value) {
  tvmffi_i_visitor *v = (tvmffi_i_visitor *)mutator;
  return tvmffi_i_engine_of(v) ? tvmffi_i_run(v, 1, 1, 0, &value)
                               : tvmffi_i_bad_engine();
}

static TVMFFIAny tvmffi_i_enter_unique(void *mutator, TVMFFIAny value) {
  tvmffi_i_visitor *v = (tvmffi_i_visitor *)mutator;
  return tvmffi_i_engine_of(v) ? tvmffi_i_run(v, 1, 1, 1, &value)
                               : tvmffi_i_bad_engine();
}
#endif
