/* ======== Visit functions ============================ >>extra/visit_function
   the global functions of visits */

#pragma once

#include "../head/config.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/word.h"
#include "../interface/mismatch.h"
#include "../interface/function.h"
#include "../platform/stack.h"
#include "../core/raise.h"
#include "../core/type_table.h"
#include "../containers/sequence.h"
#include "../reflection/enum.h"
#include "visit.h"
#include "visit_callback.h"
#include "visit_run.h"

#if !TVMFFI_NO_EXTRA
/* A value as it is given: an rvalue reference stays one. */
TVMFFI_I_TYPE(i_visit_value, TVMFFIAny, "AnyView", "Any")
TVMFFI_I_GET(i_visit_value) { return tvmffi_i_get_any(any, out); }
#define TVMFFI_I_CALLBACKS(T, more, more_schema)                           \
  TVMFFI_I_TYPE(                                                           \
      T, const TVMFFIAny *, "Array<Tuple<int, ffi.Function" more ">>",     \
      "{\"type\":\"ffi.Array\",\"args\":[{\"type\":\"Tuple\",\"args\":["   \
      "{\"type\":\"int\"},{\"type\":\"ffi.Function\"}" more_schema "]}]}") \
  TVMFFI_I_GET(T) {                                                        \
    *out = any;                                                            \
    return (any->type_index == kTVMFFIArray ||                             \
            any->type_index == kTVMFFIList) &&                             \
                   any->v_obj                                              \
               ? 0                                                         \
               : TVMFFI_I_MISMATCH;                                        \
  }
TVMFFI_I_CALLBACKS(i_callbacks, "", "")
TVMFFI_I_CALLBACKS(i_mutate_callbacks, ", bool", ",{\"type\":\"bool\"}")
TVMFFI_I_TYPE(i_region, int64_t, "int", "int")
TVMFFI_I_GET(i_region) { return tvmffi_i_get_int64(any, out); }
TVMFFI_I_OBJECT_TYPE(i_visitor, "ffi.StructuralVisitor",
                     "ffi.StructuralVisitor", TVMFFI_I_STRUCTURAL_VISITOR)
TVMFFI_I_OBJECT_TYPE(i_mutator, "ffi.StructuralMutator",
                     "ffi.StructuralMutator", TVMFFI_I_STRUCTURAL_MUTATOR)

/* The result of a visit (taken): none or an interrupt, or an error to raise. */
TVMFFI_I_TYPE(i_visited, TVMFFIAny, "Optional<ffi.VisitInterrupt>",
              "{\"type\":\"Optional\",\"args\":[{\"type\":\"ffi."
              "VisitInterrupt\"}]}")
TVMFFI_I_PUT(i_visited) { return tvmffi_i_give(value, out); }
/* The result of a mutation. */
TVMFFI_I_TYPE(i_mutated, TVMFFIAny, "Any", "Any")
TVMFFI_I_PUT(i_mutated) { return tvmffi_i_give(value, out); }

/* Raises for callbacks that are not what they should be, as upstream names
   what it finds; 0 if they are. */
static int tvmffi_i_check_callbacks(const tvmffi_func *f, int32_t i,
                                    const TVMFFIAny *arg, int64_t width) {
  const TVMFFISeqCell *rows = TVMFFI_I_CELL(TVMFFISeqCell, arg->v_obj), *cell;
  const TVMFFIAny *row = NULL, *item;
  tvmffi_i_parts p;
  int64_t k, n = 0;
  for (k = 0; k < rows->size; ++k) {
    row = (const TVMFFIAny *)rows->data + k;
    n = -1;
    if (row->type_index != kTVMFFIArray) break;
    cell = TVMFFI_I_CELL(TVMFFISeqCell, row->v_obj);
    item = (const TVMFFIAny *)cell->data;
    n = width;
    if (cell->size != width) break;
    for (n = 0; n < width; ++n)
      if (n == 1 ? item[n].type_index != kTVMFFIFunction &&
                       item[n].type_index != kTVMFFINone
                 : !TVMFFI_I_IS_INT(&item[n]))
        break;
    if (n < width) break;
  }
  if (k == rows->size) return 0;
  cell = n < 0 ? NULL : TVMFFI_I_CELL(TVMFFISeqCell, row->v_obj);
  p.size = p.numbers = 0;
  tvmffi_i_say(&p, "Mismatched type on argument #");
  tvmffi_i_say_number(&p, i);
  tvmffi_i_say(&p, " when calling: `");
  tvmffi_i_say_signature(&p, f);
  tvmffi_i_say(&p, "`. Expected `");
  tvmffi_i_say(&p, f->types[i + 1]->name);
  tvmffi_i_say(&p, "` but got `Array[index ");
  tvmffi_i_say_number(&p, (int32_t)k);
  if (n < 0) {
    tvmffi_i_say(&p, ": ");
    tvmffi_i_say(&p, tvmffi_i_type_key(row->type_index));
  } else if (n == width) {
    tvmffi_i_say(&p, ": Array[size=");
    tvmffi_i_say_number(&p, (int32_t)cell->size);
    tvmffi_i_say(&p, "]");
  } else {
    tvmffi_i_say(&p, ": Array[index ");
    tvmffi_i_say_number(&p, (int32_t)n);
    tvmffi_i_say(&p, ": ");
    tvmffi_i_say(
        &p, tvmffi_i_type_key(((const TVMFFIAny *)cell->data)[n].type_index));
    tvmffi_i_say(&p, "]");
  }
  tvmffi_i_say(&p, "]`");
  return tvmffi_i_raise_said("TypeError", &p);
}

/* Makes the engine of a function whose arguments are callbacks, and with the
   region or NULL; NULL with the error raised if they are none. */
static tvmffi_i_engine *tvmffi_i_engine_for(const tvmffi_func *f,
                                            tvmffi_i_visit_kind kind,
                                            const TVMFFIAny *callbacks,
                                            const TVMFFIAny *with_region) {
  int64_t width = kind == TVMFFI_I_MUTATE ? 3 : 2;
  if (with_region && tvmffi_i_check_callbacks(f, 2, with_region, width))
    return NULL;
  if (tvmffi_i_check_callbacks(f, 1, callbacks, width)) return NULL;
  return tvmffi_i_new_engine(kind, callbacks->v_obj,
                             with_region ? with_region->v_obj : NULL);
}

/* Runs an engine (taken; NULL with the error raised) over a root. What is
   mutated is owned here, so it is unique only if it was moved here. */
static TVMFFIAny tvmffi_i_run_engine(tvmffi_i_engine *e,
                                     const TVMFFIAny *view) {
  enum { TVMFFI_I_ROOM = 16 };
  tvmffi_i_visit_frame room[TVMFFI_I_ROOM];
  TVMFFIAny root = *view, r;
  int mutates = e && e->kind >= TVMFFI_I_MAP_BEFORE, code = e ? 0 : -1;
  if (mutates)
    code = tvmffi_i_own(view, &root);
  else if (e && view->type_index >= kTVMFFIStaticObjectBegin && !view->v_obj)
    code = tvmffi_i_fail("ValueError", "The root is a NULL object");
  if (!code) {
    tvmffi_i_stack_open(&e->frames, room, sizeof(room));
    r = tvmffi_i_run(&e->visitor, mutates, 1,
                     mutates && tvmffi_i_is_unique(&root), &root);
    tvmffi_i_stack_close(&e->frames);
    tvmffi_i_stack_open(&e->frames, NULL, 0); /* who keeps it goes on so */
  } else {
    r = tvmffi_i_raised();
  }
  tvmffi_release(e);
  if (!mutates || code) return r;
  if (r.type_index == kTVMFFIUnchanged) return root;
  tvmffi_any_release(&root);
  return r;
}

TVMFFI_FUNC(i_structural_walk, i_visited, (i_visit_value, root),
            (i_callbacks, callbacks), (i_callbacks, with_region),
            (int32, order)) {
  TVMFFI_RETURN(tvmffi_i_run_engine(
      tvmffi_i_engine_for(&tvmffi_func_i_structural_walk,
                          order ? TVMFFI_I_WALK_AFTER : TVMFFI_I_WALK_BEFORE,
                          callbacks, with_region),
      &root));
}

TVMFFI_FUNC(i_structural_visit, i_visited, (i_visit_value, root),
            (i_callbacks, callbacks)) {
  TVMFFI_RETURN(
      tvmffi_i_run_engine(tvmffi_i_engine_for(&tvmffi_func_i_structural_visit,
                                              TVMFFI_I_VISIT, callbacks, NULL),
                          &root));
}

TVMFFI_FUNC(i_structural_map, i_mutated, (any, root), (i_callbacks, callbacks),
            (i_callbacks, with_region), (int32, order)) {
  TVMFFI_RETURN(tvmffi_i_run_engine(
      tvmffi_i_engine_for(&tvmffi_func_i_structural_map,
                          order ? TVMFFI_I_MAP_AFTER : TVMFFI_I_MAP_BEFORE,
                          callbacks, with_region),
      &root));
}

TVMFFI_FUNC(i_structural_mutate, i_mutated, (any, root),
            (i_mutate_callbacks, callbacks)) {
  TVMFFI_RETURN(
      tvmffi_i_run_engine(tvmffi_i_engine_for(&tvmffi_func_i_structural_mutate,
                                              TVMFFI_I_MUTATE, callbacks, NULL),
                          &root));
}

/* The visitor behind a handle, and the value, are what can be visited. */
static int tvmffi_i_check_visit(const TVMFFIObject *self,
                                const TVMFFIAny *value) {
  if (!((const tvmffi_i_visitor *)(const void *)self)->table)
    return tvmffi_i_fail("TypeError", "A %s without a table cannot visit",
                         tvmffi_i_type_key(self->type_index));
  if (value->type_index < kTVMFFIStaticObjectBegin || value->v_obj) return 0;
  return tvmffi_i_fail("ValueError", "The value is a NULL object");
}
#define TVMFFI_I_VISITOR(self) ((tvmffi_i_visitor *)(void *)(self))

/* What is left unchanged is the value itself. */
static TVMFFIAny tvmffi_i_or_value(TVMFFIAny r, const TVMFFIAny *value) {
  if (r.type_index == kTVMFFIUnchanged && tvmffi_i_own(value, &r))
    return tvmffi_i_raised();
  return r;
}

static int tvmffi_i_call_in_region(tvmffi_i_visitor *v, int64_t kind,
                                   TVMFFIObject *callback, TVMFFIAny *result) {
  int32_t before = v->region;
  int code;
  if (before != kTVMFFIDefRegionKindPattern) v->region = (int32_t)kind;
  code = TVMFFIFunctionCall(callback, NULL, 0, result);
  v->region = before;
  return code;
}

TVMFFI_FUNC(i_visitor_visit, i_visited, (i_visitor, self),
            (i_visit_value, value)) {
  TVMFFI_TRY(tvmffi_i_check_visit(self, &value));
  TVMFFI_RETURN(tvmffi_i_table_of(TVMFFI_I_VISITOR(self))->enter(self, value));
}

TVMFFI_FUNC(i_visitor_default, i_visited, (i_visitor, self),
            (i_visit_value, value)) {
  TVMFFI_TRY(tvmffi_i_check_visit(self, &value));
  TVMFFI_RETURN(tvmffi_i_run(TVMFFI_I_VISITOR(self), 0, 0, 0, &value));
}

TVMFFI_FUNC(i_visitor_region, int64, (i_visitor, self)) {
  TVMFFI_RETURN(TVMFFI_I_VISITOR(self)->region);
}

TVMFFI_FUNC(i_visitor_in_region, any, (i_visitor, self), (i_region, kind),
            (func, callback)) {
  (void)tvmffi_put;
  return tvmffi_i_call_in_region(TVMFFI_I_VISITOR(self), kind, callback,
                                 tvmffi_result);
}

TVMFFI_FUNC(i_mutator_mutate, i_mutated, (i_mutator, self),
            (i_visit_value, value)) {
  TVMFFI_TRY(tvmffi_i_check_visit(self, &value));
  TVMFFI_RETURN(tvmffi_i_or_value(
      tvmffi_i_table_of(TVMFFI_I_VISITOR(self))->enter(self, value), &value));
}

TVMFFI_FUNC(i_mutator_default, i_mutated, (i_mutator, self),
            (i_visit_value, value)) {
  TVMFFI_TRY(tvmffi_i_check_visit(self, &value));
  TVMFFI_RETURN(tvmffi_i_or_value(
      tvmffi_i_run(TVMFFI_I_VISITOR(self), 1, 0, 0, &value), &value));
}

TVMFFI_FUNC(i_mutator_region, int64, (i_mutator, self)) {
  TVMFFI_RETURN(TVMFFI_I_VISITOR(self)->region);
}

TVMFFI_FUNC(i_mutator_in_region, any, (i_mutator, self), (i_region, kind),
            (func, callback)) {
  (void)tvmffi_put;
  return tvmffi_i_call_in_region(TVMFFI_I_VISITOR(self), kind, callback,
                                 tvmffi_result);
}

TVMFFI_FUNC(i_mutator_get, i_mutated, (i_mutator, self), (i_visit_value, var)) {
  TVMFFI_TRY(tvmffi_i_check_visit(self, &var));
  TVMFFI_RETURN(tvmffi_i_table_of(TVMFFI_I_VISITOR(self))->get(self, var));
}

TVMFFI_FUNC(i_mutator_set, none, (i_mutator, self), (i_visit_value, var),
            (i_visit_value, value)) {
  TVMFFIAny r;
  (void)tvmffi_put;
  TVMFFI_TRY(tvmffi_i_check_visit(self, &var));
  r = tvmffi_i_table_of(TVMFFI_I_VISITOR(self))->set(self, var, value);
  return tvmffi_i_give(r, tvmffi_result);
}
#endif
