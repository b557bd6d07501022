/* ======== Hooks: hooks of types and their callbacks ========= >>extra/hook */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/word.h"
#include "../interface/mismatch.h"
#include "../platform/thread.h"
#include "../platform/memory.h"
#include "../core/raise.h"
#include "../containers/equal.h"
#include "../reflection/field.h"
#include "knot.h"
#include "graph.h"

#if !TVMFFI_NO_EXTRA
/* What a hook is given to go on with, by kind: its signature, and its call. */
enum {
  TVMFFI_I_CALLBACK_REPR,
  TVMFFI_I_CALLBACK_HASH,
  TVMFFI_I_CALLBACK_EQ,
  TVMFFI_I_CALLBACK_COMPARE
};

static const tvmffi_i_name tvmffi_i_name_view = {"AnyView", NULL};
static const tvmffi_i_name *const tvmffi_i_callback_types[4][3] = {
    {&tvmffi_i_name_str, &tvmffi_i_name_view, NULL},
    {&tvmffi_i_name_int64, &tvmffi_i_name_view, NULL},
    {&tvmffi_i_name_bool, &tvmffi_i_name_view, &tvmffi_i_name_view},
    {&tvmffi_i_name_int64, &tvmffi_i_name_view, &tvmffi_i_name_view}};

/* What hooks themselves are, in error texts. */
static const char *const tvmffi_i_hook_types[4] = {
    "(0: ffi.Object, 1: (0: AnyView) -> str) -> str",
    "(0: ffi.Object, 1: (0: AnyView) -> int) -> int",
    "(0: ffi.Object, 1: ffi.Object, 2: (0: AnyView, 1: AnyView) -> bool) -> "
    "bool",
    "(0: ffi.Object, 1: ffi.Object, 2: (0: AnyView, 1: AnyView) -> int) -> "
    "int"};

/* Begins a call back: owned values of the arguments, and the graph, which is
   that of the hook's own call and thread only. */
static tvmffi_i_graph *tvmffi_i_begin_callback(void *self, int kind,
                                               const TVMFFIAny *args,
                                               int32_t num_args,
                                               TVMFFIAny *result,
                                               TVMFFIAny *values) {
  tvmffi_i_callback *c = (tvmffi_i_callback *)self;
  tvmffi_i_graph *g = TVMFFI_I_LOAD(&c->graph);
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
  if (!g || c->thread != tvmffi_i_self()) {
    (void)tvmffi_i_fail("RuntimeError",
                        "The callback of a hook can be called "
                        "only while the hook runs");
    return NULL;
  }
  if (TVMFFIAnyViewToOwnedAny(&args[0], &values[0])) return NULL;
  if (num_args < 2 || !TVMFFIAnyViewToOwnedAny(&args[1], &values[1])) return g;
  tvmffi_any_release(&values[0]);
  return NULL;
}

/* The function that hooks are given, which is made once a call (borrowed). */
static int tvmffi_i_callback_of(tvmffi_i_graph *g, int kind, TVMFFIAny *out) {
  static const TVMFFISafeCallType calls[] = {
      tvmffi_i_call_repr, tvmffi_i_call_hash, tvmffi_i_call_eq,
      tvmffi_i_call_compare};
  int i = kind == TVMFFI_I_CALLBACK_COMPARE;
  tvmffi_i_callback *c = g->callback[i];
  if (!c) {
    c = (tvmffi_i_callback *)tvmffi_i_alloc(sizeof(*c));
    if (!c) return tvmffi_i_no_memory();
    c->graph = g;
    c->thread = tvmffi_i_self();
    if (TVMFFIFunctionCreate(c, calls[kind], tvmffi_i_free, &g->function[i])) {
      tvmffi_i_free(c);
      return -1;
    }
    g->callback[i] = c;
  }
  *out = tvmffi_obj((TVMFFIObject *)g->function[i]);
  return 0;
}

/* Runs a hook on an object or a pair, which is open meanwhile. */
static int tvmffi_i_run_hook(tvmffi_i_graph *g, const TVMFFIAny *hook, int kind,
                             TVMFFIObject *object, TVMFFIObject *other,
                             TVMFFIAny *result) {
  TVMFFIAny args[3];
  int32_t n = 0;
  int code;
  if (hook->type_index != kTVMFFIFunction)
    return tvmffi_i_fail("TypeError", "Cannot treat type `%s` as type `%s`",
                         tvmffi_i_type_key(hook->type_index),
                         tvmffi_i_hook_types[kind]);
  if (g->nested >= TVMFFI_I_MAX_HOOKS)
    return tvmffi_i_fail("RuntimeError",
                         "Hooks of types are nested more than %d deep",
                         (int)TVMFFI_I_MAX_HOOKS);
  args[n++] = tvmffi_obj(object);
  if (other) args[n++] = tvmffi_obj(other);
  TVMFFI_TRY(tvmffi_i_callback_of(g, kind, &args[n++]));
  TVMFFI_TRY(tvmffi_i_open_seen(g, object, other));
  ++g->nested;
  *result = tvmffi_none();
  code = TVMFFIFunctionCall(hook->v_obj, args, n, result);
  --g->nested;
  tvmffi_i_seen_place(g, object, other)->state = TVMFFI_I_UNSEEN;
  return code;
}

/* Raises for a hook's result of a wrong type, which it releases. */
TVMFFI_I_SLOW int tvmffi_i_bad_hook(TVMFFIAny *result, int kind) {
  int code = tvmffi_i_bad_cast(result, tvmffi_i_callback_types[kind][0]->name);
  tvmffi_any_release(result);
  return code;
}

static tvmffi_i_known_column tvmffi_i_repr_hooks = {"__ffi_repr__", NULL};
static tvmffi_i_known_column tvmffi_i_hash_hooks = {"__ffi_hash__", NULL};
static tvmffi_i_known_column tvmffi_i_eq_hooks = {"__ffi_eq__", NULL};
static tvmffi_i_known_column tvmffi_i_compare_hooks = {"__ffi_compare__", NULL};
#endif
