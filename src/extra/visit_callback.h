/* ======== Visit callbacks: callbacks by type ====== >>extra/visit_callback */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "visit.h"

#if !TVMFFI_NO_EXTRA
TVMFFI_I_INLINE int tvmffi_i_index_matches(int32_t index, int32_t target) {
  if (index == target || target == kTVMFFIAny) return 1;
  if (target == kTVMFFIStr) return index == kTVMFFISmallStr;
  if (target == kTVMFFIBytes) return index == kTVMFFISmallBytes;
  /* A target without a registered type matches nothing. tvmffi_is_instance
     would raise an error for such a target. */
  return target >= kTVMFFIStaticObjectBegin && tvmffi_i_type_at(target) &&
         tvmffi_is_instance(index, target);
}

/* Searches the callbacks for a type index, and caches the result. */
TVMFFI_I_NOINLINE const TVMFFIAny *tvmffi_i_search_callbacks(tvmffi_i_engine *e,
                                                             int32_t index) {
  const TVMFFISeqCell *cell;
  size_t k;
  int i;
  TVMFFI_ASSERT(!tvmffi_i_has_bit(e->uncalled, index));
  TVMFFI_ASSERT(index < 128 || e->missed_for != index);
  for (i = 0; i < 2; ++i) {
    if (!e->callbacks[i]) continue;
    cell = TVMFFI_I_CELL(TVMFFISeqCell, e->callbacks[i]);
    for (k = 0; k < (size_t)cell->size; ++k) {
      TVMFFIObject *entry = ((const TVMFFIAny *)cell->data)[k].v_obj;
      const TVMFFIAny *row =
          (const TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, entry)->data;
      TVMFFI_ASSERT(TVMFFI_I_CELL(TVMFFISeqCell, entry)->size >= 2);
      if (!tvmffi_i_index_matches(index, (int32_t)row->v_int64)) continue;
      e->found = row;
      e->found_for = index;
      e->found_with_region = i;
      return row;
    }
  }
  tvmffi_i_set_bit(e, e->uncalled, index);
  if (index >= 128) e->missed_for = index;
  return NULL;
}

/* Returns the callback for a type index (borrowed), or NULL. Item [0] is the
   type index, [1] the function. For TVMFFI_I_MUTATE, [2] tells whether the
   function also gets the argument `unique` of tvmffi_i_call_for. */
TVMFFI_I_INLINE const TVMFFIAny *tvmffi_i_find_callback(tvmffi_i_engine *e,
                                                        int32_t index) {
  const TVMFFIAny *row;
  if (index < 128 ? tvmffi_i_has_bit(e->uncalled, index)
                  : e->missed_for == index)
    return NULL;
  row = e->found && e->found_for == index ? e->found
                                          : tvmffi_i_search_callbacks(e, index);
  TVMFFI_ASSERT(!row || (row == e->found && index == e->found_for));
  return row;
}

/* Calls a function. Sets *r to the function's result or error. */
static void tvmffi_i_call_back(const TVMFFIAny *function, const TVMFFIAny *args,
                               int32_t num_args, TVMFFIAny *r) {
  TVMFFIObject *f =
      function->type_index == kTVMFFINone ? NULL : function->v_obj;
  int code;
  TVMFFI_ASSERT(TVMFFI_I_IS_FREE);
  *r = tvmffi_none();
  code = TVMFFIFunctionCall(f, (TVMFFIAny *)(uintptr_t)args, num_args, r);
  if (TVMFFI_I_LIKELY(!code)) return;
  tvmffi_i_any_release(r);
  (void)tvmffi_i_need_error(code, "A callback");
  tvmffi_i_give_raised(r);
}

/* Checks the result of a callback. Allowed are None, an ffi.VisitInterrupt, an
   error, and in a walk an integer. Replaces any other result by a TypeError. */
TVMFFI_I_INLINE void tvmffi_i_check_result(TVMFFIAny *r, int is_walk) {
  if (r->type_index == kTVMFFINone) {
    *r = tvmffi_none(); /* the function may have left other bytes than 0 */
  } else if (is_walk && TVMFFI_I_IS_INT(r)) {
    *r = tvmffi_int((int32_t)r->v_int64);
  } else if (r->type_index != kTVMFFIVisitInterrupt &&
             r->type_index != kTVMFFIError) {
    (void)tvmffi_i_type_error(
        "CallExpected: result type mismatch, expected %s, but got %s",
        is_walk ? "WalkResult" : "Optional<ffi.VisitInterrupt>",
        tvmffi_i_type_key(r->type_index));
    tvmffi_i_any_release(r);
    tvmffi_i_give_raised(r);
  }
}

/* Calls the callback `row`, which was found last, for a value, with the
   arguments for this kind of visit. */
static void tvmffi_i_call_for(tvmffi_i_engine *e, const TVMFFIAny *row,
                              const TVMFFIAny *value, int unique,
                              TVMFFIAny *r) {
  TVMFFIAny args[3];
  int32_t n = 1;
  TVMFFI_ASSERT(row == e->found);
  args[0] = *value;
  if (e->kind == TVMFFI_I_VISIT || e->kind == TVMFFI_I_MUTATE) {
    args[n++] = tvmffi_obj(&e->visitor.base);
    if (e->kind == TVMFFI_I_MUTATE && row[2].v_int64)
      args[n++] = tvmffi_int(unique);
  } else if (e->found_with_region) {
    args[n++] = tvmffi_int(e->visitor.region);
  }
  TVMFFI_ASSERT(n <= 3 && (!unique || e->kind >= TVMFFI_I_MAP_BEFORE));
  tvmffi_i_call_back(&row[1], args, n, r);
  if (e->kind < TVMFFI_I_MAP_BEFORE)
    tvmffi_i_check_result(r, e->kind != TVMFFI_I_VISIT);
}
#endif
