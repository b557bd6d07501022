/* ======== Visits: visitors and mutators ==================== >>extra/visit */
/* Structural visit, walk, map and mutate, as in upstream's
   extra/structural_visit.h, structural_mutate.h and visit_error_context.h. A
   visitor or mutator is an object with a vtable. C++ clients define their own
   visitors, and call our visitors through the vtable.

   Our visitors keep their frames on a heap stack. If a hook calls back through
   the vtable, the nested visit uses the same stack. A visitor belongs to one
   thread at a time, so no lock is needed. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../core.h"
#include "../containers.h"
#include "../graph.h"
#include "../reflection.h"

#if !TVMFFI_NO_EXTRA
/* A function of a visitor's vtable, or a hook of a type. A visit returns None
   to continue, or an ffi.VisitInterrupt. A mutation returns the new value, or
   Unchanged. Both may return an error. */
typedef TVMFFIAny (*tvmffi_i_hook)(void *visitor, TVMFFIAny value);

/* The vtable of a visitor or mutator. A visitor's vtable has only `enter`, a
   mutator's has all four functions. */
typedef struct {
  tvmffi_i_hook enter;
  tvmffi_i_hook enter_unique; /* for a value that may be changed in place */
  tvmffi_i_hook get;          /* returns a variable's replacement, or None */
  TVMFFIAny (*set)(void *mutator, TVMFFIAny var, TVMFFIAny value);
} tvmffi_i_visit_table;

/* The kinds from TVMFFI_I_MAP_BEFORE on are mutators. */
typedef enum {
  TVMFFI_I_WALK_BEFORE,
  TVMFFI_I_WALK_AFTER,
  TVMFFI_I_VISIT,
  TVMFFI_I_MAP_BEFORE,
  TVMFFI_I_MAP_AFTER,
  TVMFFI_I_MUTATE
} tvmffi_i_visit_kind;

/* Our visitor or mutator, which calls callbacks by the type of a value. */
typedef struct {
  tvmffi_i_visitor visitor;
  tvmffi_i_visit_kind kind;
  /* Arrays of functions; functions in [1] also get a TVMFFIDefRegionKind. */
  TVMFFIObject *callbacks[2];
  TVMFFIObject *remap;        /* dict: variable's address to replacement */
  TVMFFIObject *variables;    /* list: keeps the keys of `remap` alive */
  tvmffi_i_walk walk;
  /* Bit sets of type indices below 128. uncalled: types without a callback.
     leaves: types without children. passed: types in both sets. */
  uint64_t uncalled[2], leaves[2], passed[2];
  const TVMFFIAny *found; /* the last callback found: borrowed, or NULL */
  int32_t found_for;      /* the type index that `found` is for */
  int32_t missed_for;     /* last type index above 127 without a callback */
  int found_with_region;
} tvmffi_i_engine;

TVMFFI_I_INLINE int tvmffi_i_has_bit(const uint64_t *bits, int32_t index) {
  return (uint32_t)index < 128 && (bits[index >> 6] >> (index & 63) & 1) != 0;
}

static void tvmffi_i_set_bit(tvmffi_i_engine *e, uint64_t *bits,
                             int32_t index) {
  int i = index >> 6;
  TVMFFI_ASSERT(bits == e->uncalled || bits == e->leaves);
  if ((uint32_t)index >= 128) return;
  bits[i] |= (uint64_t)1 << (index & 63);
  e->passed[i] = e->uncalled[i] & e->leaves[i];
}

static tvmffi_i_known_column tvmffi_i_visit_column = {"__s_visit__", NULL};
static tvmffi_i_known_column tvmffi_i_mutate_column = {"__s_mutate__", NULL};
static tvmffi_i_known_column tvmffi_i_in_place_column = {
    "__s_maybe_inplace_mutate__", NULL};

TVMFFI_I_INLINE const tvmffi_i_visit_table *tvmffi_i_table_of(
    const tvmffi_i_visitor *v) {
  TVMFFI_ASSERT(v->table);
  return (const tvmffi_i_visit_table *)v->table;
}

TVMFFI_I_INLINE TVMFFIAny tvmffi_i_unchanged(void) {
  TVMFFIAny any = tvmffi_none();
  any.type_index = kTVMFFIUnchanged;
  return any;
}

TVMFFI_I_INLINE int tvmffi_i_is_unique(const TVMFFIAny *any) {
  return any->type_index >= kTVMFFIStaticObjectBegin &&
         (uint32_t)tvmffi_i_load64(&any->v_obj->combined_ref_count) == 1;
}

/* Returns the thread's pending error (owned) and clears it. Without a pending
   error, a callback has returned -2, because another language holds the error:
   returns an error of the kind for which Python's package raises its own. */
TVMFFI_I_COLD TVMFFIAny tvmffi_i_raised(void) {
  TVMFFIAny error = tvmffi_i_take_error();
  if (error.v_obj) return error;
  TVMFFIErrorSetRaisedFromCStr("EnvErrorAlreadySet", "");
  error = tvmffi_i_take_error();
  TVMFFI_ASSERT(error.v_obj);
  return error;
}

/* Sets *r to what tvmffi_i_raised returns. */
TVMFFI_I_COLD void tvmffi_i_give_raised(TVMFFIAny *r) {
  *r = tvmffi_i_raised();
}

/* Returns the error (owned) that replaces an error without an object, which
   only a faulty callback returns. */
TVMFFI_I_COLD TVMFFIAny tvmffi_i_missing_error(void) {
  (void)tvmffi_i_runtime_error("A function failed without an error");
  return tvmffi_i_take_error();
}

/* Moves `from` (owned) to *result and returns 0. If `from` is an error, raises
   the error and returns -1. An error without an object becomes a RuntimeError.
   */
static int tvmffi_i_give(TVMFFIAny from, TVMFFIAny *result) {
  if (from.type_index != kTVMFFIError) {
    *result = from;
    return 0;
  }
  if (!from.v_obj) from = tvmffi_i_missing_error();
  TVMFFIErrorSetRaised(from.v_obj);
  tvmffi_i_any_release(&from);
  return -1;
}

/* Appends the object `node` to the list of objects through which an error has
   passed. If memory runs out, the list stays as it is. An error without an
   object becomes a RuntimeError. */
TVMFFI_I_COLD void tvmffi_i_add_context(TVMFFIAny *error,
                                        const TVMFFIAny *node) {
  TVMFFIErrorCell *cell;
  tvmffi_i_error_context *context;
  TVMFFIObjectHandle made = NULL;
  int code = 0;
  TVMFFI_ASSERT(error->type_index == kTVMFFIError);
  if (!error->v_obj) *error = tvmffi_i_missing_error();
  cell = TVMFFI_I_CELL(TVMFFIErrorCell, error->v_obj);
  context = (tvmffi_i_error_context *)cell->extra_context;
  if (node->type_index < kTVMFFIStaticObjectBegin ||
      error->v_obj == &tvmffi_i_memory_error.base)
    return;
  if (!context || context->base.type_index != TVMFFI_I_VISIT_ERROR_CONTEXT) {
    code = tvmffi_i_create_error_context(&made);
    if (!code) {
      context = (tvmffi_i_error_context *)made;
      TVMFFI_ASSERT(!context->previous);
      context->previous = (TVMFFIObject *)cell->extra_context;
      cell->extra_context = made;
    }
  }
  TVMFFI_ASSERT(code || context == cell->extra_context);
  if (!code && context->pattern)
    code = tvmffi_i_list_append(context->pattern, node);
  if (!code) return;
  TVMFFIErrorMoveFromRaised(&made);
  tvmffi_i_release(made);
}
#endif
