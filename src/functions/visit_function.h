/* ======== Visit functions ========================= >>functions/visit_function
   the global functions of visits */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../graph.h"
#include "../reflection.h"
#include "../extra.h"
#include "../interface.h"

#if !TVMFFI_NO_EXTRA
/* Defines a parameter type of callbacks. tvmffi_i_check_callbacks checks them
   in the body, because upstream checks the callbacks of the last parameter
   before those of the first. */
#define TVMFFI_I_CALLBACKS(T, more, more_schema)                         \
  TVMFFI_I_VIEW_TYPE(                                                    \
      T, "Array<Tuple<int, ffi.Function" more ">>",                      \
      "{\"type\":\"ffi.Array\",\"args\":[{\"type\":\"Tuple\",\"args\":[" \
      "{\"type\":\"int\"},{\"type\":\"ffi.Function\"}" more_schema "]}]}")
TVMFFI_I_CALLBACKS(i_callbacks, "", "")
TVMFFI_I_CALLBACKS(i_mutate_callbacks, ", bool", ",{\"type\":\"bool\"}")
TVMFFI_I_OBJECT_TYPE(i_visitor, "ffi.StructuralVisitor",
                     "ffi.StructuralVisitor", TVMFFI_I_STRUCTURAL_VISITOR)
TVMFFI_I_OBJECT_TYPE(i_mutator, "ffi.StructuralMutator",
                     "ffi.StructuralMutator", TVMFFI_I_STRUCTURAL_MUTATOR)

/* Defines the result type of a visit. */
TVMFFI_I_TYPE(i_visited, TVMFFIAny, "Optional<ffi.VisitInterrupt>",
              "{\"type\":\"Optional\",\"args\":[{\"type\":\"ffi."
              "VisitInterrupt\"}]}",
              TVMFFI_I_ANY, -1, NULL, NULL)

/* Checks that a callback is an array of `width` items. Returns -2 if the
   callback is valid, -1 if not an array, `width` if the length is wrong, or
   the index of the first item with a wrong type. */
static int tvmffi_i_bad_callback(const TVMFFIAny *row, int width) {
  const TVMFFISeqCell *cell;
  const TVMFFIAny *item;
  int n;
  TVMFFI_ASSERT(width == 2 || width == 3);
  if (row->type_index != kTVMFFIArray) return -1;
  cell = TVMFFI_I_CELL(TVMFFISeqCell, row->v_obj);
  item = (const TVMFFIAny *)cell->data;
  if (cell->size != width) return width;
  for (n = 0; n < width; ++n)
    if (n == 1 ? item[n].type_index != kTVMFFIFunction &&
                     item[n].type_index != kTVMFFINone
               : !TVMFFI_I_IS_INT(&item[n]))
      return n;
  return -2;
}

/* Checks the callbacks `arg`, which are argument `i` of a call. Returns 0 if
   all are valid, otherwise raises the same TypeError as upstream. */
static int tvmffi_i_check_callbacks(const tvmffi_func *f, int32_t i,
                                    const TVMFFIAny *arg, int width) {
  const TVMFFISeqCell *rows, *cell;
  const TVMFFIAny *row, *got, *end;
  tvmffi_i_parts p;
  int n = -2;
  if ((arg->type_index != kTVMFFIArray && arg->type_index != kTVMFFIList) ||
      !arg->v_obj)
    return tvmffi_i_bad_arg(f, i, arg - i, TVMFFI_I_MISMATCH);
  rows = TVMFFI_I_CELL(TVMFFISeqCell, arg->v_obj);
  row = got = (const TVMFFIAny *)rows->data;
  end = rows->size ? row + rows->size : row;
  for (; row != end && n == -2; ++row)
    n = tvmffi_i_bad_callback(got = row, width);
  if (n == -2) return 0;
  p.size = p.numbers = 0;
  tvmffi_i_say(&p, "Mismatched type on argument #");
  tvmffi_i_say_number(&p, i);
  tvmffi_i_say(&p, " when calling: `");
  tvmffi_i_say_signature(&p, f);
  tvmffi_i_say(&p, "`. Expected `");
  tvmffi_i_say(&p, f->types[i + 1]->name);
  tvmffi_i_say(&p, "` but got `Array[index ");
  tvmffi_i_say_number(&p, got - (const TVMFFIAny *)rows->data);
  tvmffi_i_say(&p, n < 0       ? ": "
                   : n < width ? ": Array[index "
                               : ": Array[size=");
  if (n >= 0) {
    cell = TVMFFI_I_CELL(TVMFFISeqCell, got->v_obj);
    tvmffi_i_say_number(&p, n < width ? n : cell->size);
    if (n < width) tvmffi_i_say(&p, ": ");
    got = (const TVMFFIAny *)cell->data + n;
  }
  if (n < width) tvmffi_i_say(&p, tvmffi_i_type_key(got->type_index));
  tvmffi_i_say(&p, n < 0 ? "]`" : "]]`");
  return tvmffi_i_raise_said("TypeError", &p);
}

TVMFFI_I_UNWOUND(tvmffi_i_run_root,
                 (tvmffi_i_engine * e, int mutates, const TVMFFIAny *root,
                  TVMFFIAny *r),
                 (*r = tvmffi_i_run(&e->visitor, mutates, TVMFFI_I_ENTERED,
                                    mutates && tvmffi_i_is_unique(root), root),
                  0),
                 tvmffi_i_guard_leave_one)

/* Takes ownership of the visitor `e` and runs it on a root. If `e` is NULL,
   returns the pending error. A mutation may change the root in place if the
   caller passed the only reference to the root as an rvalue. */
static TVMFFIAny tvmffi_i_run_engine(tvmffi_i_engine *e,
                                     const TVMFFIAny *view) {
  enum { TVMFFI_I_ROOM = 16 };
  tvmffi_i_visit_frame room[TVMFFI_I_ROOM];
  const uintptr_t frame = tvmffi_i_stack_address();
  TVMFFIAny root = *view, r;
  int mutates = e && e->kind >= TVMFFI_I_MAP_BEFORE, code = e ? 0 : -1;
  if (mutates)
    code = tvmffi_i_own(view, &root);
  else if (e && view->type_index >= kTVMFFIStaticObjectBegin && !view->v_obj)
    code = tvmffi_i_value_error("The root is a NULL object");
  if (!code && (code = tvmffi_i_guard_enter(e, NULL, frame)) && mutates)
    tvmffi_i_any_release(&root);
  if (!code) {
    tvmffi_i_open_visit(&e->walk, room, sizeof(room));
    (void)tvmffi_i_run_root(e, mutates, &root, &r);
    tvmffi_i_guard_leave(frame);
    TVMFFI_ASSERT(!tvmffi_i_depth(&e->walk));
    tvmffi_i_stack_close(&e->walk.frames);
    tvmffi_i_open_visit(&e->walk, NULL, 0); /* callbacks may retain `e` */
  } else {
    r = tvmffi_i_raised();
  }
  tvmffi_i_release(e);
  if (!mutates || code) return r;
  if (r.type_index == kTVMFFIUnchanged) return root;
  tvmffi_i_any_release(&root);
  return r;
}

/* Visits a root with callbacks. The functions in `with_region` (may be NULL)
   also receive the TVMFFIDefRegionKind of the value. */
static int tvmffi_i_visit_root(const tvmffi_i_builtin_func *builtin,
                               tvmffi_i_visit_kind kind, const TVMFFIAny *root,
                               const TVMFFIAny *callbacks,
                               const TVMFFIAny *with_region,
                               TVMFFIAny *result) {
  const tvmffi_func f =
      tvmffi_i_describe(builtin->name, builtin->types, builtin->num_args);
  const int width = kind == TVMFFI_I_MUTATE ? 3 : 2;
  tvmffi_i_engine *e = NULL;
  if ((!with_region || !tvmffi_i_check_callbacks(&f, 2, with_region, width)) &&
      !tvmffi_i_check_callbacks(&f, 1, callbacks, width))
    e = tvmffi_i_new_engine(kind, callbacks->v_obj,
                            with_region ? with_region->v_obj : NULL);
  return tvmffi_i_give(tvmffi_i_run_engine(e, root), result);
}

/* Walks through a value and everything it contains, and calls a callback for
   each value: before its children if `order` is 0, after them if it is 1.

   A callback is a pair of a type index (-1 for any type) and a function. The
   first callback whose type matches is called with the value. A function in
   `with_region` also receives the value's TVMFFIDefRegionKind. The function
   returns None or 0 to continue, 1 to skip the children, or an
   ffi.VisitInterrupt, which ends the walk and is its result. */
TVMFFI_I_BUILTIN_FUNC(StructuralWalk, i_visited, (i_any_view, root),
                      (i_callbacks, callbacks), (i_callbacks, with_region),
                      (int32, order)) {
  return tvmffi_i_visit_root(&tvmffi_func_i_StructuralWalk,
                             order ? TVMFFI_I_WALK_AFTER : TVMFFI_I_WALK_BEFORE,
                             root, callbacks, with_region, tvmffi_result);
}

/* Visits a value with callbacks. `callbacks` has pairs of type index and
   function, as for ffi.StructuralWalk. The function is called with the value
   and the visitor. It visits the value's children itself, for example by
   ffi.StructuralVisitorDefaultVisit. The function returns None to continue, or
   an ffi.VisitInterrupt, which ends the visit and is its result. */
TVMFFI_I_BUILTIN_FUNC(StructuralVisit, i_visited, (i_any_view, root),
                      (i_callbacks, callbacks)) {
  return tvmffi_i_visit_root(&tvmffi_func_i_StructuralVisit, TVMFFI_I_VISIT,
                             root, callbacks, NULL, tvmffi_result);
}

/* Returns a value with replacements: the result of a callback replaces the
   value for which the callback was called. Parameters are those of
   ffi.StructuralWalk. Objects that contain a replaced value are copied. A
   container without other references may be changed in place. */
TVMFFI_I_BUILTIN_FUNC(StructuralMap, any, (i_view, root),
                      (i_callbacks, callbacks), (i_callbacks, with_region),
                      (int32, order)) {
  return tvmffi_i_visit_root(&tvmffi_func_i_StructuralMap,
                             order ? TVMFFI_I_MAP_AFTER : TVMFFI_I_MAP_BEFORE,
                             root, callbacks, with_region, tvmffi_result);
}

/* Returns a value with replacements, as ffi.StructuralMap does. A callback is
   called with the value and the mutator, and mutates the value's children
   itself, for example by ffi.StructuralMutatorDefaultMutate. If the third item
   of a callback is true, the function also receives whether the value may be
   changed in place. */
TVMFFI_I_BUILTIN_FUNC(StructuralMutate, any, (i_view, root),
                      (i_mutate_callbacks, callbacks)) {
  return tvmffi_i_visit_root(&tvmffi_func_i_StructuralMutate, TVMFFI_I_MUTATE,
                             root, callbacks, NULL, tvmffi_result);
}

/* Raises an error if the visitor has no vtable or the value is a NULL object.
   */
static int tvmffi_i_check_visit(const tvmffi_i_visitor *v,
                                const TVMFFIAny *value) {
  TVMFFI_ASSERT(v && value);
  if (!v->table)
    return tvmffi_i_type_error("A %s without a vtable cannot visit",
                               tvmffi_i_type_key(v->base.type_index));
  if (value->type_index < kTVMFFIStaticObjectBegin || value->v_obj) return 0;
  return tvmffi_i_value_error("The value is a NULL object");
}

/* Visits a value through the vtable if `entered`, otherwise without a callback
   for the value itself. If a mutation leaves the value unchanged, *result is
   the value itself. */
static int tvmffi_i_visit_by(void *self, int mutates, int entered,
                             const TVMFFIAny *value, TVMFFIAny *result) {
  tvmffi_i_visitor *v = (tvmffi_i_visitor *)self;
  TVMFFIAny r;
  TVMFFI_TRY(tvmffi_i_check_visit(v, value));
  r = entered ? tvmffi_i_table_of(v)->enter(v, *value)
              : tvmffi_i_run(v, mutates, 0, 0, value);
  if (mutates && r.type_index == kTVMFFIUnchanged)
    return tvmffi_i_own(value, result);
  return tvmffi_i_give(r, result);
}

static int tvmffi_i_call_in_region(void *self, int64_t kind,
                                   TVMFFIObject *callback, TVMFFIAny *result) {
  tvmffi_i_visitor *v = (tvmffi_i_visitor *)self;
  int32_t before = v->region;
  int code;
  if (before != kTVMFFIDefRegionKindPattern) v->region = (int32_t)kind;
  code = TVMFFIFunctionCall(callback, NULL, 0, result);
  v->region = before;
  return code;
}

/* Defines the methods that both visitors and mutators have. */
#define TVMFFI_I_VISIT_METHODS(Visitor, Visit, T, visited, mutates)         \
  /* Visits or mutates a value as a child of the value that is being        \
     visited. A callback may handle the value. */                           \
  TVMFFI_I_BUILTIN_FUNC(Structural##Visitor##Visit, visited, (T, self),     \
                        (i_any_view, value)) {                              \
    return tvmffi_i_visit_by(self, mutates, 1, value, tvmffi_result);       \
  }                                                                         \
  /* Visits or mutates the children of a value, without a callback for      \
     the value itself. */                                                   \
  TVMFFI_I_BUILTIN_FUNC(Structural##Visitor##Default##Visit, visited,       \
                        (T, self), (i_any_view, value)) {                   \
    return tvmffi_i_visit_by(self, mutates, 0, value, tvmffi_result);       \
  }                                                                         \
  /* Returns the current TVMFFIDefRegionKind of the visit. */               \
  TVMFFI_I_BUILTIN_FUNC(Structural##Visitor##DefRegionKind, int64,          \
                        (T, self)) {                                        \
    TVMFFI_RETURN(((const tvmffi_i_visitor *)(const void *)self)->region);  \
  }                                                                         \
  /* Calls a function without arguments and returns its result. During the  \
     call, the TVMFFIDefRegionKind is `kind`, unless it was Pattern. */     \
  TVMFFI_I_BUILTIN_FUNC(Structural##Visitor##WithDefRegionKind, any,        \
                        (T, self), (int64, kind), (i_callback, callback)) { \
    return tvmffi_i_call_in_region(self, kind, callback, tvmffi_result);    \
  }
TVMFFI_I_VISIT_METHODS(Visitor, Visit, i_visitor, i_visited, 0)
TVMFFI_I_VISIT_METHODS(Mutator, Mutate, i_mutator, any, 1)
#undef TVMFFI_I_VISIT_METHODS

/* Returns the value by which a mutator replaces a variable, or None. */
TVMFFI_I_BUILTIN_FUNC(StructuralMutatorVarRemapGet, any, (i_mutator, self),
                      (i_any_view, var)) {
  tvmffi_i_visitor *v = (tvmffi_i_visitor *)(void *)self;
  TVMFFI_TRY(tvmffi_i_check_visit(v, var));
  return tvmffi_i_give(tvmffi_i_table_of(v)->get(v, *var), tvmffi_result);
}

/* Sets the value by which a mutator replaces a variable. */
TVMFFI_I_BUILTIN_FUNC(StructuralMutatorVarRemapSet, none, (i_mutator, self),
                      (i_any_view, var), (i_any_view, value)) {
  tvmffi_i_visitor *v = (tvmffi_i_visitor *)(void *)self;
  TVMFFI_TRY(tvmffi_i_check_visit(v, var));
  TVMFFI_TRY(
      tvmffi_i_give(tvmffi_i_table_of(v)->set(v, *var, *value), tvmffi_result));
  tvmffi_i_any_release(tvmffi_result);
  return 0;
}
#endif
