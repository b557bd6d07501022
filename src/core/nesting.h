/* ======== Nesting: how deep hooks may nest ================= >>core/nesting */
/* A hook is a function that a type registers, for example `__ffi_repr__`. A
   hook may call the runtime for other values, which calls their hooks: such
   calls nest as deep as the data, on the thread's stack. So before each hook,
   and before the runtime calls itself for a part of a value, tvmffi_i_nest
   checks how much of the stack is left. A part of the stack is reserved for the
   innermost hook and for the runtime's errors.

   The range of a thread's stack is asked for once, at the thread's first hook,
   so that no error needs memory for it. A range may be unknown: on a board, or
   on another stack than the thread's, such as a coroutine's. There the number
   of nested calls has a limit. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "raise.h"
#include "error_object.h"

#if !TVMFFI_NO_TYPES
enum {
  /* Most nested calls on a stack of unknown size. */
  TVMFFI_I_MAX_NESTING = TVMFFI_FREESTANDING ? 32 : 64,
  /* The reserved part of a stack: enough for a hook in Python. It is at most
     half of the stack. */
  TVMFFI_I_RESERVE = 64 << 10,
  /* Most bytes of a stack that are used. A stack may have no limit, but endless
     nesting must end before the memory does. */
  TVMFFI_I_MOST_STACK = 64 << 20
};

typedef struct {
#if TVMFFI_I_STACK_KNOWN
  uintptr_t low; /* lowest address of the stack that is not reserved */
  size_t size;   /* bytes from there to the highest address; 0: unknown */
  size_t reserve;
  int is_asked; /* 1: the three members above are set */
#endif
  /* Only for a stack of unknown size: */
  int count;           /* nested calls */
  uintptr_t outermost; /* stack address of the outermost nested call */
} tvmffi_i_nesting;
TVMFFI_I_BLOCK_STATE(tvmffi_i_nesting, tvmffi_i_thread_nesting);

#if TVMFFI_I_STACK_KNOWN
static void tvmffi_i_find_stack(tvmffi_i_nesting *n) {
  const tvmffi_i_stack_range r = tvmffi_i_ask_stack();
  size_t size = r.high - r.low;
  TVMFFI_ASSERT(r.low <= r.high);
  if (size > TVMFFI_I_MOST_STACK) size = TVMFFI_I_MOST_STACK;
  n->reserve = size / 2;
  if (n->reserve > TVMFFI_I_RESERVE) n->reserve = TVMFFI_I_RESERVE;
  n->size = size - n->reserve;
  n->low = r.high - n->size;
  n->is_asked = 1;
}
#endif

/* Slow path of tvmffi_i_nest: the thread's first call, too little room, or
   another stack. A call that an exception or longjmp left remains in the count
   until the next call from the same or an outer function. */
TVMFFI_I_SLOW int tvmffi_i_nest_slowly(tvmffi_i_nesting *n, uintptr_t here) {
  TVMFFI_ASSERT(n == tvmffi_i_thread_nesting());
#if TVMFFI_I_STACK_KNOWN
  if (!n->is_asked) {
    if (!tvmffi_i_need_block()) return tvmffi_i_no_memory();
    n = tvmffi_i_thread_nesting();
    tvmffi_i_find_stack(n);
    if (here - n->low < n->size) return 0;
  }
  if (n->low - here <= n->reserve)
    return tvmffi_i_fail("RecursionError",
                         "Hooks of types or structural keys are nested too "
                         "deep: less than %d KB of this thread's stack of %d "
                         "KB are left",
                         (int)(n->reserve >> 10),
                         (int)((n->size + n->reserve) >> 10));
#endif
  if (!n->count || here >= n->outermost) {
    n->outermost = here;
    n->count = 0;
  }
  TVMFFI_ASSERT(n->count >= 0 && n->count <= TVMFFI_I_MAX_NESTING);
  if (n->count >= TVMFFI_I_MAX_NESTING)
    return tvmffi_i_fail("RecursionError",
                         "Hooks of types or structural keys are nested more "
                         "than %d deep, on a stack of unknown size",
                         (int)TVMFFI_I_MAX_NESTING);
  ++n->count;
  return 0;
}

/* Begins a call of a hook, or of the runtime itself for a part of a value.
   RecursionError if the stack has too little room; MemoryError if the thread
   has no memory for its state. */
TVMFFI_I_INLINE int tvmffi_i_nest(void) {
  tvmffi_i_nesting *n = tvmffi_i_thread_nesting();
  const uintptr_t here = tvmffi_i_stack_address();
  TVMFFI_ASSERT(TVMFFI_I_IS_FREE);
#if TVMFFI_I_STACK_KNOWN
  if (TVMFFI_I_LIKELY(here - n->low < n->size)) return 0;
#endif
  return tvmffi_i_nest_slowly(n, here);
}

/* Ends a call that tvmffi_i_nest began. */
TVMFFI_I_INLINE void tvmffi_i_unnest(void) {
  tvmffi_i_nesting *n = tvmffi_i_thread_nesting();
  if (TVMFFI_I_UNLIKELY(n->count)) --n->count;
}

/* Calls a hook. Returns 0, or a negative code: see tvmffi_i_need_error. */
TVMFFI_I_UNUSED static int tvmffi_i_call_nested(TVMFFIObjectHandle hook,
                                                const TVMFFIAny *args,
                                                int32_t num_args,
                                                TVMFFIAny *result) {
  int code;
  TVMFFI_ASSERT(result && (args || !num_args));
  TVMFFI_TRY(tvmffi_i_nest());
  code = TVMFFIFunctionCall(hook, (TVMFFIAny *)(uintptr_t)args, num_args,
                            result);
  tvmffi_i_unnest();
  return code ? tvmffi_i_need_error(code, "A callback") : 0;
}
#endif
