/* ======== Guards: what a thread's running calls work on ====== >>core/guard */
/* A guard marks a map or a traversal while user code runs that was called for
   it: a hook, or the hash or equality of a key's type. So a map can refuse a
   change, and a traversal knows whether it still runs.

   A guard is not in the stack frame of its function, because an exception or
   longjmp may end the frame. An exception removes the guard where
   TVMFFI_I_UNWOUND can. Otherwise the address `frame` reveals at the next call
   from the same or an outer frame that the function has ended. */

#pragma once

#include "../head.h"
#include "../platform.h"
#include "raise.h"

#if !TVMFFI_NO_CONTAINERS
typedef struct tvmffi_i_guard {
  const void *what;
  uint64_t *count; /* a counter that all threads share, and that is
                      incremented while the guard exists, or NULL */
  struct tvmffi_i_guard *outer;
  uintptr_t frame; /* an address in the frame of the marking function */
} tvmffi_i_guard;

/* The guards of a thread. The outermost ones need no allocation, so that a
   look-up of a key with hooks needs no memory. */
enum { TVMFFI_I_FIRST_GUARDS = TVMFFI_FREESTANDING ? 1 : 2 };
typedef struct {
  tvmffi_i_guard *innermost; /* or NULL */
  int depth;
  tvmffi_i_guard first[TVMFFI_I_FIRST_GUARDS];
} tvmffi_i_guards;
TVMFFI_I_BLOCK_STATE(tvmffi_i_guards, tvmffi_i_thread_guards);

/* Removes the thread's innermost guard. */
static void tvmffi_i_guard_leave_one(void) {
  tvmffi_i_guards *t = tvmffi_i_thread_guards();
  tvmffi_i_guard *guard = t->innermost;
  TVMFFI_ASSERT(guard && t->depth > 0);
  TVMFFI_ASSERT(!guard->count || tvmffi_i_load64(guard->count) > 0);
  t->innermost = guard->outer;
  if (guard->count) (void)tvmffi_i_sub64(guard->count, 1);
  if (--t->depth >= TVMFFI_I_FIRST_GUARDS)
    tvmffi_i_pool_free(guard, sizeof(*guard));
}

/* Removes the thread's guards of the stack frame `frame` and of inner frames.
   The stack grows downwards. */
static void tvmffi_i_guard_leave(uintptr_t frame) {
  const tvmffi_i_guards *t = tvmffi_i_thread_guards();
  while (t->innermost && t->innermost->frame <= frame)
    tvmffi_i_guard_leave_one();
}

/* Marks `what` until tvmffi_i_guard_leave(frame). `count` may be NULL. Returns
   0, or -1 with a MemoryError. */
static int tvmffi_i_guard_enter(const void *what, uint64_t *count,
                                uintptr_t frame) {
  tvmffi_i_guards *t;
  tvmffi_i_guard *guard;
  TVMFFI_ASSERT(what && frame);
  if (!tvmffi_i_need_block()) return tvmffi_i_no_memory();
  t = tvmffi_i_thread_guards();
  tvmffi_i_guard_leave(frame);
  guard = t->depth < TVMFFI_I_FIRST_GUARDS
              ? &t->first[t->depth]
              : (tvmffi_i_guard *)tvmffi_i_pool_alloc(sizeof(*guard));
  if (!guard) return tvmffi_i_no_memory();
  TVMFFI_ASSERT(!t->depth == !t->innermost && guard != t->innermost);
  guard->what = what;
  guard->count = count;
  guard->outer = t->innermost;
  guard->frame = frame;
  t->innermost = guard;
  ++t->depth;
  if (count) (void)tvmffi_i_add64(count, 1);
  return 0;
}

/* Returns 1 if a running call of this thread marks `what`, else 0. */
static int tvmffi_i_is_guarded(const void *what) {
  const tvmffi_i_guard *guard;
  tvmffi_i_guard_leave(tvmffi_i_stack_address());
  guard = tvmffi_i_thread_guards()->innermost;
  while (guard && guard->what != what) guard = guard->outer;
  return guard != NULL;
}
#endif
