/* ======== Hooks: their callbacks ========================= >>graph/callback */
/* A hook is a function that a type registers for a traversal. The traversal
   passes a callback function to the hook. The hook calls the callback for other
   values. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"

#if !TVMFFI_NO_EXTRA
/* Raises a TypeError unless the hook of a type is a function object. */
static int tvmffi_i_check_hook(const TVMFFIAny *hook, const char *signature) {
  if (hook->type_index == kTVMFFIFunction && hook->v_obj) return 0;
  return tvmffi_i_cannot_treat(hook->type_index, signature);
}

/* The `self` of the callback function. The function object owns this struct,
   because a hook may keep the function after the traversal has ended. The
   traversal is in a stack frame, which an exception or longjmp out of a hook
   may end. So it is used only while the struct has a guard. */
typedef struct {
  void *traversal;
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
  if (TVMFFIFunctionCreate(c->self, call, tvmffi_i_free, &function)) {
    tvmffi_i_free(c->self);
    return -1;
  }
  c->function = (TVMFFIObject *)function;
  return 0;
}

static void tvmffi_i_callback_close(tvmffi_i_callback *c) {
  tvmffi_i_release(c->function);
}

TVMFFI_I_UNWOUND(tvmffi_i_run_guarded,
                 (TVMFFIObject * hook, const TVMFFIAny *args, int32_t num_args,
                  TVMFFIAny *result),
                 tvmffi_i_call_nested(hook, args, num_args, result),
                 tvmffi_i_guard_leave_one)

/* Calls a hook, whose last argument is c->function. Meanwhile c->self has a
   guard. */
static int tvmffi_i_call_guarded(const tvmffi_i_callback *c, TVMFFIObject *hook,
                              const TVMFFIAny *args, int32_t num_args,
                              TVMFFIAny *result) {
  const uintptr_t frame = tvmffi_i_stack_address();
  int code;
  TVMFFI_TRY(tvmffi_i_guard_enter(c->self, NULL, frame));
  code = tvmffi_i_run_guarded(hook, args, num_args, result);
  tvmffi_i_guard_leave(frame);
  return code;
}

/* Returns `code` of a hook, or -1 with an error instead of 0. Called if the
   traversal is not where it was before the hook: an exception or longjmp left
   another call of the hook's callback. */
TVMFFI_I_COLD int tvmffi_i_left_hook(int code) {
  return code ? code
              : tvmffi_i_fail("RuntimeError",
                              "An exception left the callback of a hook");
}
#endif
