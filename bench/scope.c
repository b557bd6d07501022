/* scope.c: objects that a scope releases, beside a release written by hand.
 *
 * A call returns an object, whose count goes up and down again. In the rows'
 * columns the object belongs to a scope; the limit does the same call by the
 * ABI's function and releases the object itself. So the difference is what
 * tvmffi_call and a scope cost: no thread-local variable is read.
 */
#include <stdlib.h>

#include "forward.h"

static int return_self(void *self, const TVMFFIAny *args, int32_t num_args,
                       TVMFFIAny *result) {
  (void)args, (void)num_args;
  tvmffi_retain(self);
  *result = tvmffi_obj(self);
  return 0;
}

typedef struct scope_state {
  TVMFFIObject *object, *function;
} scope_state;

static void *scope_setup(const bench_lib *lib, long param) {
  scope_state *s = bench_alloc(sizeof *s);
  (void)param;
  s->object = bench_function(lib, NULL, bench_nothing, NULL);
  s->function = bench_function(lib, s->object, return_self, NULL);
  return s;
}

static void scope_teardown(const bench_lib *lib, void *state) {
  scope_state *s = state;
  lib->ObjectDecRef(s->function);
  lib->ObjectDecRef(s->object);
  free(s);
}

#define CALL(s, out) bench_need(lib, tvmffi_call((s)->function, out), "call")
#define CALL_BY_HAND(s, out) \
  bench_need(lib, TVMFFIFunctionCall((s)->function, NULL, 0, out), "call")

BENCH_LOOP(scope_one) {
  const scope_state *s = state;
  bench_runtime = lib;
  for (long i = 0; i < n; ++i) {
    TVMFFI_SCOPE;
    TVMFFIObject *a = NULL;
    CALL(s, &a);
    bench_keep(&a);
  }
}

static void hand_one(const bench_lib *lib, void *state, long n) {
  const scope_state *s = state;
  bench_runtime = lib;
  for (long i = 0; i < n; ++i) {
    TVMFFIAny a = tvmffi_none();
    CALL_BY_HAND(s, &a);
    bench_keep(&a);
    tvmffi_release(a.v_obj);
  }
}

BENCH_LOOP(scope_four) {
  const scope_state *s = state;
  bench_runtime = lib;
  for (long i = 0; i < n; ++i) {
    TVMFFI_SCOPE;
    TVMFFIObject *a[4] = {NULL, NULL, NULL, NULL};
    for (int k = 0; k < 4; ++k) CALL(s, &a[k]);
    bench_keep(&a);
  }
}

static void hand_four(const bench_lib *lib, void *state, long n) {
  const scope_state *s = state;
  bench_runtime = lib;
  for (long i = 0; i < n; ++i) {
    TVMFFIAny a[4] = {{0}, {0}, {0}, {0}};
    for (int k = 0; k < 4; ++k) CALL_BY_HAND(s, &a[k]);
    bench_keep(&a);
    for (int k = 0; k < 4; ++k) tvmffi_release(a[k].v_obj);
  }
}

#define SCOPE_ROW(label, count)                                     \
  {.name = label,                                                   \
   .run = BENCH_SIDES(scope_##count),                               \
   .setup = scope_setup,                                            \
   .teardown = scope_teardown,                                      \
   .limit = hand_##count,                                           \
   .limit_is = "the same calls, the objects released by hand"}

BENCH_GROUP(scope) = {SCOPE_ROW("call that returns an object", one),
                      SCOPE_ROW("4 calls that return an object", four),
                      {0}};
