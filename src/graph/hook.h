/* ======== Hooks: nesting and callbacks ======================= >>graph/hook */
/* A hook is a function that a type registers for a traversal. The traversal
   passes a callback function to the hook. The hook calls the callback for other
   values. These nested calls use the thread's stack, so their depth is
   limited. */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../platform/thread.h"
#include "../platform/memory.h"
#include "../core/raise.h"

#if !TVMFFI_NO_EXTRA
enum {
  TVMFFI_I_MAX_HOOKS = 1000, /* most nested hooks of one traversal */
  /* The limits for nested hooks of structural functions and for nested
     ffi.StructuralKey keys: their number, and their KB of the thread's stack.
     */
  TVMFFI_I_MAX_STRUCTURAL_NESTING = 4096,
  TVMFFI_I_MAX_NESTING_KB = 768
};

/* Counts the nested calls of structural hooks and keys on this thread. */
typedef struct {
  int count;
  uintptr_t base; /* stack address of the outermost call */
} tvmffi_i_nesting;
TVMFFI_I_THREAD_STATE(tvmffi_i_nesting, tvmffi_i_thread_nesting);

/* Returns 1 if the nested calls use too much of the thread's stack. Returns 0
   at more than twice the limit, because the code then runs on another stack,
   such as a fiber's. */
TVMFFI_I_INLINE int tvmffi_i_is_stack_used(tvmffi_i_nesting *n) {
  const uintptr_t most = (uintptr_t)TVMFFI_I_MAX_NESTING_KB * 1024;
  uintptr_t here = tvmffi_i_stack_address();
  uintptr_t used;
  if (!n->count) n->base = here;
  used = here < n->base ? n->base - here : here - n->base;
  return used > most && used / 2 < most;
}

static int tvmffi_i_nest(void) {
  tvmffi_i_nesting *n = tvmffi_i_thread_nesting();
  if (tvmffi_i_is_stack_used(n) || n->count >= TVMFFI_I_MAX_STRUCTURAL_NESTING)
    return tvmffi_i_fail("RecursionError",
                         "Structural hooks and keys are nested more than %d "
                         "deep, or use more than %d KB of the stack",
                         (int)TVMFFI_I_MAX_STRUCTURAL_NESTING,
                         (int)TVMFFI_I_MAX_NESTING_KB);
  ++n->count;
  return 0;
}

static void tvmffi_i_unnest(void) { --tvmffi_i_thread_nesting()->count; }

/* Raises a TypeError unless the hook of a type is a function object. */
static int tvmffi_i_check_hook(const TVMFFIAny *hook, const char *signature) {
  if (hook->type_index == kTVMFFIFunction && hook->v_obj) return 0;
  return tvmffi_i_cannot_treat(hook->type_index, signature);
}

/* The `self` of the callback function. The function object owns this struct,
   because a hook may keep the function after the traversal has ended. */
typedef struct {
  void *traversal; /* NULL after the traversal */
  tvmffi_i_thread *thread;
} tvmffi_i_callback_self;

/* The callback function that a traversal passes to hooks. The first call of a
   hook creates the function. */
typedef struct {
  TVMFFIObject *function;       /* owned, or NULL */
  tvmffi_i_callback_self *self; /* borrowed from `function` */
} tvmffi_i_callback;

static int tvmffi_i_callback_open(tvmffi_i_callback *c, void *traversal,
                                  TVMFFISafeCallType call) {
  TVMFFIObjectHandle function = NULL;
  if (c->function) return 0;
  c->self = (tvmffi_i_callback_self *)tvmffi_i_alloc(sizeof(*c->self));
  if (!c->self) return tvmffi_i_no_memory();
  c->self->traversal = traversal;
  c->self->thread = tvmffi_i_self();
  if (TVMFFIFunctionCreate(c->self, call, tvmffi_i_free, &function)) {
    tvmffi_i_free(c->self);
    return -1;
  }
  c->function = (TVMFFIObject *)function;
  return 0;
}

static void tvmffi_i_callback_close(tvmffi_i_callback *c) {
  if (!c->function) return;
  TVMFFI_I_STORE(&c->self->traversal, NULL);
  tvmffi_release(c->function);
}
#endif
