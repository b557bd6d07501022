/* ======== Hooks: hooks of types and their callbacks ===== >>extra/type_hook */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../core.h"
#include "../containers.h"
#include "../graph.h"
#include "extra_knot.h"

#if !TVMFFI_NO_EXTRA
/* Defines the type of a callback parameter: a function, or None, because
   upstream accepts None there. None becomes NULL. */
TVMFFI_I_CUSTOM_TYPE(i_callback, TVMFFIObject *, "ffi.Function",
                     "ffi.Function") {
  TVMFFIObject *function =
      any->type_index == kTVMFFIFunction ? any->v_obj : NULL;
  *(TVMFFIObject **)out = function;
  return function || any->type_index == kTVMFFINone ? 0 : TVMFFI_I_MISMATCH;
}

TVMFFI_I_CONST_WORD tvmffi_i_word_view = {
    "AnyView", NULL, {NULL, NULL}, NULL, NULL, -1, TVMFFI_I_ANY, 0, 0};
/* The signature of each tvmffi_i_callback_kind: the result type, then the
   parameter types. */
static const tvmffi_i_word *const tvmffi_i_callback_types[4][3] = {
    {&tvmffi_i_word_str, &tvmffi_i_word_view, NULL},
    {&tvmffi_i_word_int64, &tvmffi_i_word_view, NULL},
    {&tvmffi_i_word_bool, &tvmffi_i_word_view, &tvmffi_i_word_view},
    {&tvmffi_i_word_int64, &tvmffi_i_word_view, &tvmffi_i_word_view}};

/* The signature of the hook for each tvmffi_i_callback_kind, for error
   messages. */
static const char *const tvmffi_i_hook_types[4] = {
    "(0: ffi.Object, 1: (0: AnyView) -> str) -> str",
    "(0: ffi.Object, 1: (0: AnyView) -> int) -> int",
    "(0: ffi.Object, 1: ffi.Object, 2: (0: AnyView, 1: AnyView) -> bool) -> "
    "bool",
    "(0: ffi.Object, 1: ffi.Object, 2: (0: AnyView, 1: AnyView) -> int) -> "
    "int"};

/* Begins a callback, by which a hook calls the traversal that runs the hook.
   Stores owned copies of the arguments in `values`. Returns the traversal, or
   NULL on error. */
static tvmffi_i_graph *tvmffi_i_begin_callback(void *self, int kind,
                                               const TVMFFIAny *args,
                                               int32_t num_args,
                                               TVMFFIAny *result,
                                               TVMFFIAny *values) {
  tvmffi_i_callback_self *c = (tvmffi_i_callback_self *)self;
  const int is_running = tvmffi_i_is_guarded(c);
  tvmffi_func f;
  f.name = "";
  f.call = NULL;
  f.num_args = kind < TVMFFI_I_CALLBACK_EQ ? 1 : 2;
  f.types = tvmffi_i_callback_types[kind];
  values[0] = values[1] = tvmffi_none();
  if (num_args != f.num_args) {
    (void)tvmffi_i_bad_call(&f, num_args, result);
    return NULL;
  }
  if (!is_running) {
    (void)tvmffi_i_fail("RuntimeError",
                        "The callback of a hook can be called "
                        "only while the hook runs");
    return NULL;
  }
  if (TVMFFIAnyViewToOwnedAny(&args[0], &values[0])) return NULL;
  if (num_args < 2 || !TVMFFIAnyViewToOwnedAny(&args[1], &values[1]))
    return (tvmffi_i_graph *)c->traversal;
  tvmffi_i_any_release(&values[0]);
  return NULL;
}

/* Ends a callback. Pops the frames above depth `base`, and releases `values`.
   */
static void tvmffi_i_end_callback(tvmffi_i_graph *g, size_t base,
                                  TVMFFIAny *values) {
  while (g->frames.depth > base) (void)tvmffi_i_pop_graph(g);
  tvmffi_i_any_release(&values[0]);
  tvmffi_i_any_release(&values[1]);
}

/* Runs a hook on an object, or on two objects if `other` is not NULL. While the
   hook runs, the objects are marked as open, which ends cycles. */
static int tvmffi_i_run_hook(tvmffi_i_graph *g, const TVMFFIAny *hook, int kind,
                             TVMFFIObject *object, TVMFFIObject *other,
                             TVMFFIAny *result) {
  static const TVMFFISafeCallType calls[] = {
      tvmffi_i_call_repr, tvmffi_i_call_hash, tvmffi_i_call_eq,
      tvmffi_i_call_compare};
  const size_t depth = g->frames.depth;
  const int nested = g->nested;
  TVMFFIAny args[3];
  int32_t n = 0;
  int code;
  TVMFFI_TRY(tvmffi_i_check_hook(hook, tvmffi_i_hook_types[kind]));
  TVMFFI_TRY(tvmffi_i_callback_open(&g->callback[kind], g, calls[kind]));
  TVMFFI_TRY(tvmffi_i_open_seen(g, object, other));
  args[n++] = tvmffi_obj(object);
  if (other) args[n++] = tvmffi_obj(other);
  args[n++] = tvmffi_obj(g->callback[kind].function);
  ++g->nested;
  *result = tvmffi_none();
  code =
      tvmffi_i_call_guarded(&g->callback[kind], hook->v_obj, args, n, result);
  if (TVMFFI_I_UNLIKELY(g->nested != nested + 1 || g->frames.depth != depth)) {
    while (g->frames.depth > depth) (void)tvmffi_i_pop_graph(g);
    tvmffi_i_any_release(result);
    code = tvmffi_i_left_hook(code);
  }
  g->nested = nested;
  tvmffi_i_seen_of(g, object, other)->state = TVMFFI_I_UNSEEN;
  return code;
}

/* Raises TypeError because a hook's result has a wrong type. Releases the
   result. */
TVMFFI_I_SLOW int tvmffi_i_bad_hook(TVMFFIAny *result, int kind) {
  int code = tvmffi_i_bad_cast(result, tvmffi_i_callback_types[kind][0]->name);
  tvmffi_i_any_release(result);
  return code;
}

static tvmffi_i_known_column tvmffi_i_repr_hooks = {"__ffi_repr__", NULL};
static tvmffi_i_known_column tvmffi_i_hash_hooks = {"__ffi_hash__", NULL};
static tvmffi_i_known_column tvmffi_i_eq_hooks = {"__ffi_eq__", NULL};
static tvmffi_i_known_column tvmffi_i_compare_hooks = {"__ffi_compare__", NULL};
#endif
