/* ======== Visits: visitors and mutators ==================== >>extra/visit */
/* Structural visit, walk, map and mutate, and where in an object an error came
   from, as C++ clients call them and are called (upstream's
   extra/structural_visit.h, structural_mutate.h, visit_error_context.h). A
   visitor or mutator goes into a value through its table. What ours go into
   stands on a stack of frames and not on the thread's; a hook that a type
   brought along is called, and may come back through the table, which goes on
   with the same frames. A visitor belongs to one thread at a time; there are
   no locks. */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../platform/stack.h"
#include "../core/raise.h"
#include "../core/error.h"
#include "../core/type_table.h"
#include "../containers/equal.h"
#include "../containers/sequence.h"
#include "../reflection/enum.h"
#include "../reflection/creator.h"

#if !TVMFFI_NO_EXTRA
/* What such functions give, also to C++: their result or, in its place, an
   error. A visit gives None to go on; a mutation a value, or Unchanged. */
typedef TVMFFIAny (*tvmffi_i_hook)(void *visitor, TVMFFIAny value);

/* The table of a visitor ends after its first function. */
typedef struct {
  tvmffi_i_hook enter;
  tvmffi_i_hook enter_unique; /* what nobody else holds: it may be changed */
  tvmffi_i_hook get;          /* what a variable is replaced by, or None */
  TVMFFIAny (*set)(void *mutator, TVMFFIAny var, TVMFFIAny value);
} tvmffi_i_visit_table;

/* How a container or object is gone through. What follows `holds` is of frames:
   it stands here as there is room, for a frame to be 64 bytes. */
typedef struct {
  TVMFFIObject *from; /* borrowed, or owned: see `replaces` */
  TVMFFIAny child;    /* the one under way: owned if `holds`, else borrowed */
  TVMFFIObject *made; /* owned: the copy that takes what changes, or NULL */
  union {
    uint64_t at;                  /* the place of the child in a container */
    const TVMFFIFieldInfo *field; /* behind the child's in an object */
  } next;
  unsigned char in_place, holds;
  unsigned char is_object;
  unsigned char entered;  /* through the table: callbacks apply */
  unsigned char replaces; /* it is what a callback put there before */
  unsigned char identity; /* of a variable or a node: its kind */
  unsigned char changed;
  unsigned char ends_region; /* within it is none */
} tvmffi_i_cursor;

typedef struct {
  tvmffi_i_cursor c;
  const TVMFFIFieldInfo *end; /* of the fields of one of an object's types */
  int32_t depth;              /* of the type that comes next; -1: none */
  int32_t outer;              /* the region around it */
} tvmffi_i_visit_frame;

typedef enum {
  TVMFFI_I_WALK_BEFORE,
  TVMFFI_I_WALK_AFTER,
  TVMFFI_I_VISIT,
  TVMFFI_I_MAP_BEFORE,
  TVMFFI_I_MAP_AFTER,
  TVMFFI_I_MUTATE
} tvmffi_i_visit_kind;

/* A visitor or mutator of ours. */
typedef struct {
  tvmffi_i_visitor visitor;
  tvmffi_i_visit_kind kind;
  TVMFFIObject *callbacks[2]; /* arrays; the second are told the region, too */
  TVMFFIObject *remap;        /* dict: by their addresses, what replaces them */
  TVMFFIObject *variables;    /* list: they are kept alive */
  tvmffi_i_stack frames;
  /* By the indices of built-in types, as they come: no callback is for them;
     nothing is within them; both; containers that have our hooks. */
  uint64_t uncalled[2], leaves[2], passed[2], nests[2];
  const TVMFFIAny *found; /* the callback found last (borrowed), or NULL */
  int32_t found_for;
  int32_t missed_for; /* of the other types: the last without a callback */
  int found_with_region;
} tvmffi_i_engine;

TVMFFI_I_INLINE int tvmffi_i_has_bit(const uint64_t *bits, int32_t index) {
  return (uint32_t)index < 128 && (bits[index >> 6] >> (index & 63) & 1) != 0;
}

/* Notes what is known of a built-in type in one of an engine's sets. */
static void tvmffi_i_set_bit(tvmffi_i_engine *e, uint64_t *bits,
                             int32_t index) {
  int i = index >> 6;
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

/* The error that was raised, which there has to be. */
TVMFFI_I_COLD TVMFFIAny tvmffi_i_raised(void) {
  TVMFFIAny error = tvmffi_i_take_error();
  if (error.v_obj) return error;
  (void)tvmffi_i_fail("RuntimeError", "A function failed without an error");
  return tvmffi_i_take_error();
}

/* Returns a result (taken), or raises the error in its place. */
static int tvmffi_i_give(TVMFFIAny from, TVMFFIAny *result) {
  if (from.type_index != kTVMFFIError || !from.v_obj) {
    *result = from;
    return 0;
  }
  TVMFFIErrorSetRaised(from.v_obj);
  tvmffi_any_release(&from);
  return -1;
}

/* Notes in an error which object it came through. Without memory for that the
   error is told as it is. */
TVMFFI_I_COLD void tvmffi_i_add_context(const TVMFFIAny *error,
                                        const TVMFFIAny *node) {
  TVMFFIErrorCell *cell = TVMFFI_I_CELL(TVMFFIErrorCell, error->v_obj);
  tvmffi_i_error_context *context =
      (tvmffi_i_error_context *)cell->extra_context;
  TVMFFIObjectHandle made = NULL;
  int code = 0;
  if (node->type_index < kTVMFFIStaticObjectBegin ||
      error->v_obj == &tvmffi_i_memory_error.base)
    return;
  if (!context || context->base.type_index != TVMFFI_I_VISIT_ERROR_CONTEXT) {
    code = tvmffi_i_create_error_context(&made);
    if (!code) {
      context = (tvmffi_i_error_context *)made;
      context->previous = (TVMFFIObject *)cell->extra_context;
      cell->extra_context = made;
    }
  }
  if (!code && context->pattern)
    code = tvmffi_i_list_append(context->pattern, node);
  if (!code) return;
  TVMFFIErrorMoveFromRaised(&made);
  tvmffi_release(made);
}
#endif
