/* ======== Hooks: their callbacks ========================= >>graph/callback */
/* A hook is a function that a type registers for a walk. Its last argument is a
   callback function, by which the hook calls the walk for other values. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../containers.h"
#include "walk.h"

#if !TVMFFI_NO_EXTRA
TVMFFI_I_CONST_WORD tvmffi_i_word_view = {
    "AnyView", NULL, {NULL, NULL}, NULL, NULL, -1, TVMFFI_I_ANY, 0, 0};

/* Defines the type of a callback parameter: a function, or None, because
   upstream accepts None there. None becomes NULL. */
TVMFFI_I_CUSTOM_TYPE(i_callback, TVMFFIObject *, "ffi.Function",
                     "ffi.Function") {
  TVMFFIObject *function =
      any->type_index == kTVMFFIFunction ? any->v_obj : NULL;
  *(TVMFFIObject **)out = function;
  return function || any->type_index == kTVMFFINone ? 0 : TVMFFI_I_MISMATCH;
}

/* A kind of hook. The callback function calls `again`: `args` are all its
   arguments, and `values` are the first num_values of them, which it owns
   during the call. The others are ints and views. */
typedef struct {
  int (*again)(void *walk, const TVMFFIAny *values, const TVMFFIAny *args,
               TVMFFIAny *result);
  int which;                    /* index in `callbacks` of tvmffi_i_hooked */
  const char *signature;        /* of the hook, for errors */
  const char *ended;            /* the error of a call after the hook's end */
  int32_t num_args, num_values; /* of the callback function */
  const tvmffi_i_word *const *types; /* of its result and its arguments */
} tvmffi_i_hook_kind;

/* Declares tvmffi_i_NAME_again. Defines tvmffi_i_NAME_kind, the kind of hook,
   and tvmffi_i_NAME_hooks, the attribute column with the hook of each type. The
   variable arguments are the type words of the callback function: of its
   result, then of its arguments. */
#define TVMFFI_I_HOOK(name, attribute, which, signature, ended, num_values,    \
                      ...)                                                     \
  static int tvmffi_i_##name##_again(void *walk, const TVMFFIAny *values,      \
                                     const TVMFFIAny *args,                    \
                                     TVMFFIAny *result);                       \
  static tvmffi_i_known_column tvmffi_i_##name##_hooks = {attribute, NULL};    \
  static const tvmffi_i_word *const tvmffi_i_##name##_types[] = {__VA_ARGS__}; \
  static const tvmffi_i_hook_kind tvmffi_i_##name##_kind = {                   \
      tvmffi_i_##name##_again,                                                 \
      which,                                                                   \
      signature,                                                               \
      ended,                                                                   \
      (int32_t)(sizeof(tvmffi_i_##name##_types) / sizeof(void *)) - 1,         \
      num_values,                                                              \
      tvmffi_i_##name##_types};
#define TVMFFI_I_VIEW &tvmffi_i_word_view

/* The `self` of the callback function. The function object owns this struct,
   because a hook may keep the function after the walk has ended. `walk` is in a
   stack frame, which an exception or longjmp out of a hook may end. So it is
   used only while a guard (core/guard.h) marks the struct, as long as the hook
   runs. */
typedef struct {
  void *walk;
  const tvmffi_i_hook_kind *kind;
} tvmffi_i_callback_self;

/* A callback function. The first call of a hook makes the function. */
typedef struct {
  TVMFFIObject *function;       /* owned, or NULL */
  tvmffi_i_callback_self *self; /* borrowed from `function` */
} tvmffi_i_callback;

/* A walk with hooks. */
typedef struct {
  tvmffi_i_walk walk;
  tvmffi_i_callback callbacks[2];
  int nested; /* number of running hooks */
} tvmffi_i_hooked;

/* The callback function of all hooks. Raises an error if the number or a type
   of the arguments is wrong, or if the hook has ended or runs in another
   thread. Pops what the walk leaves on the stack. */
static int tvmffi_i_call_walk(void *self, const TVMFFIAny *args,
                              int32_t num_args, TVMFFIAny *result) {
  const tvmffi_i_callback_self *c = (const tvmffi_i_callback_self *)self;
  TVMFFIAny values[2];
  const tvmffi_func f =
      tvmffi_i_describe("", c->kind->types, c->kind->num_args);
  size_t depth;
  int32_t i;
  int code = 0;
  TVMFFI_ASSERT(c->kind->num_values <= 2 &&
                c->kind->num_values <= c->kind->num_args);
  values[0] = values[1] = tvmffi_none();
  if (num_args != f.num_args || result->type_index >= kTVMFFIStaticObjectBegin)
    return tvmffi_i_bad_call(&f, num_args, result);
  for (i = num_args; i-- > 0;) {
    if (f.types[i + 1] == TVMFFI_I_VIEW || TVMFFI_I_IS_INT(&args[i])) continue;
    return tvmffi_i_bad_arg(&f, i, args, TVMFFI_I_MISMATCH);
  }
  if (!tvmffi_i_is_guarded(c))
    return tvmffi_i_runtime_error("%s", c->kind->ended);
  depth = tvmffi_i_depth(c->walk);
  for (i = 0; i < c->kind->num_values && !code; ++i)
    code = TVMFFIAnyViewToOwnedAny(&args[i], &values[i]);
  if (!code) code = c->kind->again(c->walk, values, args, result);
  tvmffi_i_cut_frames(c->walk, depth);
  TVMFFI_ASSERT(tvmffi_i_depth(c->walk) == depth);
  tvmffi_i_any_release(&values[0]);
  tvmffi_i_any_release(&values[1]);
  return code;
}

static int tvmffi_i_callback_open(tvmffi_i_callback *c, void *walk,
                                  const tvmffi_i_hook_kind *kind) {
  if (c->function) return 0;
  c->self = (tvmffi_i_callback_self *)tvmffi_i_alloc(sizeof(*c->self));
  if (!c->self) return tvmffi_i_no_memory();
  c->self->walk = walk;
  c->self->kind = kind;
  c->function =
      tvmffi_i_new_closure(c->self, tvmffi_i_call_walk, tvmffi_i_free);
  return c->function ? 0 : -1;
}

static void tvmffi_i_hooked_close(tvmffi_i_hooked *h) {
  TVMFFI_ASSERT(!h->nested);
  tvmffi_i_walk_close(&h->walk);
  tvmffi_i_release(h->callbacks[0].function);
  tvmffi_i_release(h->callbacks[1].function);
}

TVMFFI_I_UNWOUND(tvmffi_i_run_guarded,
                 (TVMFFIObject * hook, const TVMFFIAny *args, int32_t num_args,
                  TVMFFIAny *result),
                 tvmffi_i_call_nested(hook, args, num_args, result),
                 tvmffi_i_guard_leave_one)

/* An exception or longjmp has left an earlier call of the hook's callback, so
   its frames are still on the stack. Pops the frames above `depth`. Returns
   `code`, but if it is 0, raises a RuntimeError and returns -1. */
TVMFFI_I_COLD int tvmffi_i_left_hook(void *walk, size_t depth, int code) {
  TVMFFI_ASSERT(tvmffi_i_depth(walk) >= depth);
  tvmffi_i_cut_frames(walk, depth);
  return code ? code
              : tvmffi_i_runtime_error(
                    "An exception left the callback of a hook");
}

/* Calls a hook with the callback function as the last argument. Meanwhile a
   guard marks the function's `self`, so that a call after the hook has ended
   fails. Raises a TypeError if the hook is not a function. */
static int tvmffi_i_call_hook(tvmffi_i_hooked *h,
                              const tvmffi_i_hook_kind *kind,
                              const TVMFFIAny *hook, TVMFFIAny *args,
                              int32_t num_args, TVMFFIAny *result) {
  const uintptr_t frame = tvmffi_i_stack_address();
  const size_t depth = tvmffi_i_depth(h);
  const int nested = h->nested;
  tvmffi_i_callback *c = &h->callbacks[kind->which];
  int code;
  TVMFFI_ASSERT(kind->which >= 0 && kind->which < 2);
  TVMFFI_ASSERT(nested >= 0);
  *result = tvmffi_none();
  if (hook->type_index != kTVMFFIFunction)
    return tvmffi_i_cannot_treat(hook->type_index, kind->signature);
  TVMFFI_TRY(tvmffi_i_callback_open(c, h, kind));
  TVMFFI_TRY(tvmffi_i_guard_enter(c->self, NULL, frame));
  args[num_args++] = tvmffi_obj(c->function);
  h->nested = nested + 1;
  code = tvmffi_i_run_guarded(hook->v_obj, args, num_args, result);
  tvmffi_i_guard_leave(frame);
  if (TVMFFI_I_UNLIKELY(h->nested != nested + 1 ||
                        tvmffi_i_depth(h) != depth)) {
    code = tvmffi_i_left_hook(h, depth, code);
    tvmffi_i_any_release(result);
  }
  h->nested = nested;
  return code;
}

/* Raises TypeError because a hook's result has a wrong type. Releases the
   result. */
TVMFFI_I_SLOW int tvmffi_i_bad_hook(TVMFFIAny *result,
                                    const tvmffi_i_word *expected) {
  int code = tvmffi_i_bad_cast(result, expected->name);
  TVMFFI_ASSERT(code != 0);
  tvmffi_i_any_release(result);
  return code;
}

/* Sets *out to a hook's result, which must be an int or a bool. */
static int tvmffi_i_hook_number(TVMFFIAny *result,
                                const tvmffi_i_hook_kind *kind, int64_t *out) {
  *out = result->v_int64;
  return TVMFFI_I_IS_INT(result) ? 0
                                 : tvmffi_i_bad_hook(result, kind->types[0]);
}
#endif
