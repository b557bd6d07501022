/* global.c: what it costs to call a global function by its handle, by
 * TVMFFI_GLOBAL, and by its name.
 *
 * Each step calls another function, in an order that a processor does not
 * guess, so that many names are met out of the cache. tvmffi.h is used as a
 * program uses it, through forward.c, on both runtimes; with stock's library
 * TVMFFI_GLOBAL looks up the name. The limit calls the same C function through
 * a pointer and reads one word of each function.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "forward.h"

typedef struct called {
  char name[40];
  TVMFFIObject *handle;
  tvmffi_global global;
} called;

typedef struct call_set {
  long count, next;
  called *functions;
} call_set;

static void *globals_setup(const bench_lib *lib, long count) {
  TVMFFI_GLOBAL(fresh, "");
  call_set *set = bench_alloc(sizeof *set);
  set->count = count;
  set->next = 0;
  set->functions = bench_alloc((size_t)count * sizeof *set->functions);
  bench_runtime = lib;
  for (long i = 0; i < count; ++i) {
    called *c = &set->functions[i];
    int size = snprintf(c->name, sizeof c->name, "bench.called_%ld", i);
    const TVMFFIByteArray name = bench_bytes(c->name, (size_t)size);
    c->handle = bench_function(lib, NULL, bench_sum, NULL);
    BENCH_DO(FunctionSetGlobal, &name, c->handle, 1);
    c->global = fresh[0];
    c->global.name = c->name;
  }
  return set;
}

static void globals_teardown(const bench_lib *lib, void *state) {
  call_set *set = state;
  for (long i = 0; i < set->count; ++i)
    lib->ObjectDecRef(set->functions[i].handle);
  free(set->functions);
  free(set);
}

/* 7919 is a prime: each function has its turn. */
static called *next_called(call_set *set) {
  set->next = (set->next + 7919) % set->count;
  return &set->functions[set->next];
}

#define CALLING_LOOP(loop, callee)                                        \
  BENCH_LOOP(loop) {                                                      \
    bench_runtime = lib;                                                  \
    for (long i = 0; i < n; ++i) {                                        \
      called *c = next_called(state);                                     \
      int64_t sum = 0;                                                    \
      bench_need(lib, tvmffi_call(callee, &sum, i, 1, 2), "tvmffi_call"); \
      bench_keep(&sum);                                                   \
    }                                                                     \
  }

CALLING_LOOP(by_handle, c->handle)
CALLING_LOOP(by_global, &c->global)
CALLING_LOOP(by_name, (const char *)c->name)

static void calling_limit(const bench_lib *lib, void *state, long n) {
  static TVMFFISafeCallType target = bench_sum;
  const TVMFFISafeCallType *at = &target;
  __asm__ volatile("" : "+r"(at));
  for (long i = 0; i < n; ++i) {
    TVMFFIAny args[3] = {bench_int(i), bench_int(1), bench_int(2)};
    TVMFFIAny result = bench_none();
    bench_need(lib, (*at)(next_called(state)->handle, args, 3, &result),
               "call");
    bench_keep(&result);
  }
}

#define CALLING_ROW(label, loop, size)                          \
  {.name = label,                                               \
   .run = BENCH_SIDES(loop),                                    \
   .setup = globals_setup,                                      \
   .teardown = globals_teardown,                                \
   .limit = calling_limit,                                      \
   .limit_is = "the same C function, called through a pointer", \
   .fixed = (size) < 10000 ? 0 : (size),                        \
   .large = (size) >= 10000,                                    \
   .param = size}

#define CALLING_ROWS(text, size)                                             \
  CALLING_ROW("call by handle, " text " names", by_handle, size),            \
      CALLING_ROW("call by TVMFFI_GLOBAL, " text " names", by_global, size), \
      CALLING_ROW("call by name, " text " names", by_name, size)

BENCH_GROUP(global) = {CALLING_ROWS("1", 1),
                       CALLING_ROWS("100", 100),
                       CALLING_ROWS("10,000", 10000),
                       {0}};
