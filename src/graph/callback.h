/* ======== Hooks: their callbacks ========================= >>graph/callback */
/* A hook is a function that a type registers for a traversal. The traversal
   passes a callback function to the hook. The hook calls the callback for other
   values. */

#pragma once

#include "../head/config.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "../base/reference.h"
#include "../platform/thread.h"
#include "../platform/memory.h"
#include "../core/raise.h"

#if !TVMFFI_NO_EXTRA
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
