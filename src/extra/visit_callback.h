/* ======== Visit callbacks: callbacks by type ====== >>extra/visit_callback */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/word.h"
#include "../interface/mismatch.h"
#include "../platform/libc.h"
#include "../platform/stack.h"
#include "../core/raise.h"
#include "../core/object.h"
#include "../core/type_table.h"
#include "../reflection/enum.h"
#include "../reflection/convert.h"
#include "visit.h"
#include "visit_container.h"

#if !TVMFFI_NO_EXTRA
TVMFFI_I_INLINE void tvmffi_i_destroy_engine(void *self, int flags) {
  tvmffi_i_engine *e = (tvmffi_i_engine *)self;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    tvmffi_release(e->callbacks[0]);
    tvmffi_release(e->callbacks[1]);
    tvmffi_release(e->remap);
    tvmffi_release(e->variables);
    tvmffi_i_stack_close(&e->frames);
  }
  tvmffi_i_delete_plain(self, flags);
}

static void tvmffi_i_delete_engine(void *self, int flags) {
  tvmffi_i_destroy((TVMFFIObject *)self, flags, tvmffi_i_destroy_engine,
                   tvmffi_i_delete_engine);
}

/* The engine of a visitor, or NULL of one that C++ made; a shallow copy of an
   engine is none. */
TVMFFI_I_INLINE tvmffi_i_engine *tvmffi_i_engine_of(tvmffi_i_visitor *v) {
  return v->base.deleter == tvmffi_i_delete_engine
             ? (tvmffi_i_engine *)(void *)v
             : NULL;
}

/* Makes an engine of callbacks (borrowed). */
static tvmffi_i_engine *tvmffi_i_new_engine(tvmffi_i_visit_kind kind,
                                            TVMFFIObject *callbacks,
                                            TVMFFIObject *with_region) {
  int mutates = kind >= TVMFFI_I_MAP_BEFORE;
  TVMFFIObject *from[2];
  TVMFFIAny copy = tvmffi_none();
  tvmffi_i_engine *e = (tvmffi_i_engine *)tvmffi_i_object(
      sizeof(*e),
      mutates ? TVMFFI_I_STRUCTURAL_MUTATOR : TVMFFI_I_STRUCTURAL_VISITOR,
      tvmffi_i_delete_engine);
  int i;
  if (!e) return NULL;
  memset((void *)(&e->visitor.base + 1), 0,
         sizeof(*e) - sizeof(e->visitor.base));
  tvmffi_i_stack_open(&e->frames, NULL, 0);
  e->visitor.table = (void *)(uintptr_t)(mutates ? &tvmffi_i_mutator_table
                                                 : &tvmffi_i_visitor_table);
  e->kind = kind;
  from[0] = callbacks;
  from[1] = with_region;
  for (i = 0; i < 2; ++i) {
    if (!from[i]) continue;
    if (from[i]->type_index == kTVMFFIArray) {
      tvmffi_retain(from[i]);
      e->callbacks[i] = from[i];
      continue;
    }
    if (tvmffi_i_convert_seq(TVMFFI_I_CELL(TVMFFISeqCell, from[i]),
                             kTVMFFIArray, &copy)) {
      tvmffi_release(e);
      return NULL;
    }
    e->callbacks[i] = copy.v_obj;
  }
  return e;
}

TVMFFI_I_INLINE int tvmffi_i_index_matches(int32_t index, int32_t target) {
  if (index == target || target == kTVMFFIAny) return 1;
  if (target == kTVMFFIStr) return index == kTVMFFISmallStr;
  if (target == kTVMFFIBytes) return index == kTVMFFISmallBytes;
  if (index < kTVMFFIStaticObjectBegin) return 0;
  /* A type that does not exist is an error to ask for, and matches nothing. */
  return index > target && target >= kTVMFFIStaticObjectBegin &&
         tvmffi_i_type_at(target) && tvmffi_is_instance(index, target);
}

/* Looks through the callbacks, and remembers what is found. */
TVMFFI_I_NOINLINE const TVMFFIAny *tvmffi_i_search_callbacks(tvmffi_i_engine *e,
                                                             int32_t index) {
  int i;
  int64_t k;
  for (i = 0; i < 2; ++i) {
    const TVMFFISeqCell *cell;
    if (!e->callbacks[i]) continue;
    cell = TVMFFI_I_CELL(TVMFFISeqCell, e->callbacks[i]);
    for (k = 0; k < cell->size; ++k) {
      TVMFFIObject *entry = ((const TVMFFIAny *)cell->data)[k].v_obj;
      const TVMFFIAny *row =
          (const TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, entry)->data;
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

/* Whether no callback is known to be for a type. */
TVMFFI_I_INLINE int tvmffi_i_is_uncalled(const tvmffi_i_engine *e,
                                         int32_t index) {
  return index < 128 ? tvmffi_i_has_bit(e->uncalled, index)
                     : e->missed_for == index;
}

/* A callback: its type index, the function, and whether it is told if its
   value is unique. Borrowed; NULL if there is none for the type. */
TVMFFI_I_INLINE const TVMFFIAny *tvmffi_i_find_callback(tvmffi_i_engine *e,
                                                        int32_t index,
                                                        int *with_region) {
  const TVMFFIAny *row;
  if (tvmffi_i_is_uncalled(e, index)) return NULL;
  row = e->found && e->found_for == index ? e->found
                                          : tvmffi_i_search_callbacks(e, index);
  *with_region = e->found_with_region;
  return row;
}

/* Calls a function; an error stands in the result's place. Here and further on
   results stay where they are: an Any that was written in parts is slow to read
   as a whole at once. */
static void tvmffi_i_call_back(const TVMFFIAny *function, const TVMFFIAny *args,
                               int32_t num_args, TVMFFIAny *r) {
  TVMFFIObject *f =
      function->type_index == kTVMFFINone ? NULL : function->v_obj;
  int code;
  *r = tvmffi_none();
  code = TVMFFIFunctionCall(f, (TVMFFIAny *)(uintptr_t)args, num_args, r);
  if (TVMFFI_I_LIKELY(!code)) return;
  tvmffi_any_release(r);
  *r = tvmffi_i_raised();
}

TVMFFI_I_COLD void tvmffi_i_bad_visit_result(TVMFFIAny *r,
                                             const char *expected) {
  (void)tvmffi_i_fail(
      "TypeError",
      "CallExpected: result type mismatch, expected %s, but got %s", expected,
      tvmffi_i_type_key(r->type_index));
  tvmffi_any_release(r);
  *r = tvmffi_i_raised();
}

/* Lets a visit's result through: none, an interrupt or an error. */
TVMFFI_I_INLINE void tvmffi_i_visit_result(TVMFFIAny *r) {
  if (TVMFFI_I_UNLIKELY(r->type_index != kTVMFFINone &&
                        r->type_index != kTVMFFIVisitInterrupt &&
                        r->type_index != kTVMFFIError))
    tvmffi_i_bad_visit_result(r, "Optional<ffi.VisitInterrupt>");
}

/* Lets a walk's result through, which is an integer to go on. */
TVMFFI_I_INLINE void tvmffi_i_walk_result(TVMFFIAny *r) {
  if (r->type_index == kTVMFFINone)
    *r = tvmffi_int(0);
  else if (TVMFFI_I_IS_INT(r))
    *r = tvmffi_int((int32_t)r->v_int64);
  else if (r->type_index != kTVMFFIVisitInterrupt &&
           r->type_index != kTVMFFIError)
    tvmffi_i_bad_visit_result(r, "WalkResult");
}

/* Calls the callback for a value. */
static void tvmffi_i_call_for(tvmffi_i_engine *e, const TVMFFIAny *row,
                              const TVMFFIAny *value, int with_region,
                              int unique, TVMFFIAny *r) {
  TVMFFIAny args[3];
  int32_t n = 1;
  if (e->kind == TVMFFI_I_VISIT || e->kind == TVMFFI_I_MUTATE) {
    args[n++] = tvmffi_obj(&e->visitor.base);
    if (e->kind == TVMFFI_I_MUTATE && row[2].v_int64)
      args[n++] = tvmffi_int(unique);
  } else if (with_region) {
    args[n++] = tvmffi_int(e->visitor.region);
  }
  if (n > 1) args[0] = *value;
  tvmffi_i_call_back(&row[1], n > 1 ? args : value, n, r);
  if (e->kind >= TVMFFI_I_MAP_BEFORE) return;
  if (e->kind == TVMFFI_I_VISIT)
    tvmffi_i_visit_result(r);
  else
    tvmffi_i_walk_result(r);
}
#endif
