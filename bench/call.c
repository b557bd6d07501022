/* call.c: what a packed call costs, and a function object.
 *
 * The limit of a call is the same C function, with the same signature and the
 * same arguments, called through a pointer that the compiler cannot see
 * through. The arguments are written anew for each call, as a caller does.
 * All three ways to call are copies of one loop, so that the placement of its
 * instructions cannot favour one of them.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* The callee reads each argument once, so that none can be left out. */
static int sum(void *self, const TVMFFIAny *args, int32_t num_args,
               TVMFFIAny *result) {
  int64_t total = 0;
  (void)self;
  for (int32_t i = 0; i < num_args; ++i) total += args[i].v_int64;
  *result = bench_int(total);
  return 0;
}

static void no_deleter(void *self) { (void)self; }

/* TVMFFIFunctionCall differs from a safe call by a const only. */
BENCH_INLINE TVMFFISafeCallType as_safe_call(const bench_lib *lib) {
  TVMFFISafeCallType target;
  memcpy(&target, &lib->FunctionCall, sizeof target);
  return target;
}

/* The compiler must not see what the pointer points to, nor keep it: a callee
 * might change it. */
BENCH_INLINE void call_loop(const bench_lib *lib,
                            const TVMFFISafeCallType *target, void *self,
                            int count, long n) {
  TVMFFIAny args[9], result;
  __asm__ volatile("" : "+r"(target));
  for (long i = 0; i < n; ++i) {
    for (int k = 0; k < count; ++k) args[k] = bench_int(i + k);
    result = bench_none();
    bench_need(lib, (*target)(self, args, count, &result), "call");
  }
}

#define CALL_LOOPS(count)                                                  \
  __attribute__((noinline, aligned(64))) static void raw_##count(          \
      const bench_lib *lib, void *state, long n) {                         \
    static TVMFFISafeCallType target = sum;                                \
    call_loop(lib, &target, state, count, n);                              \
  }                                                                        \
  BENCH_LOOP(cell_##count) {                                               \
    const TVMFFIFunctionCell *cell = bench_cell(state);                    \
    call_loop(lib, &cell->safe_call, state, count, n);                     \
  }                                                                        \
  BENCH_LOOP(function_call_##count) {                                      \
    TVMFFISafeCallType target = as_safe_call(lib);                         \
    call_loop(lib, &target, state, count, n);                              \
  }

CALL_LOOPS(0)
CALL_LOOPS(1)
CALL_LOOPS(2)
CALL_LOOPS(3)
CALL_LOOPS(4)
CALL_LOOPS(5)
CALL_LOOPS(6)
CALL_LOOPS(7)
CALL_LOOPS(8)

static void *function_setup(const bench_lib *lib, long with_self) {
  static int self;
  return with_self ? bench_function(lib, &self, sum, no_deleter)
                   : bench_function(lib, NULL, sum, NULL);
}

static void function_teardown(const bench_lib *lib, void *state) {
  lib->ObjectDecRef(state);
}

BENCH_LOOP(create_plain) {
  TVMFFIObjectHandle function;
  (void)state;
  for (long i = 0; i < n; ++i) {
    lib->FunctionCreate(NULL, sum, NULL, &function);
    lib->ObjectDecRef(function);
  }
}

BENCH_LOOP(create_with_self) {
  TVMFFIObjectHandle function;
  (void)state;
  for (long i = 0; i < n; ++i) {
    lib->FunctionCreate(&function, sum, no_deleter, &function);
    lib->ObjectDecRef(function);
  }
}

#define CELL_ROW(count)                             \
  {.name = "cell, " #count " args",                 \
   .run = BENCH_SIDES(cell_##count),                             \
   .setup = function_setup,                         \
   .teardown = function_teardown,                   \
   .limit = raw_##count,                            \
   .brief = (count) == 3}

#define FUNCTION_CALL_ROW(count)                    \
  {.name = "TVMFFIFunctionCall, " #count " args",   \
   .run = BENCH_SIDES(function_call_##count),                    \
   .setup = function_setup,                         \
   .teardown = function_teardown,                   \
   .limit = raw_##count,                            \
   .brief = (count) == 3}

const bench_case bench_call[] = {
    CELL_ROW(0),
    CELL_ROW(1),
    CELL_ROW(2),
    CELL_ROW(3),
    CELL_ROW(4),
    CELL_ROW(5),
    CELL_ROW(6),
    CELL_ROW(7),
    CELL_ROW(8),
    FUNCTION_CALL_ROW(0),
    FUNCTION_CALL_ROW(1),
    FUNCTION_CALL_ROW(2),
    FUNCTION_CALL_ROW(3),
    FUNCTION_CALL_ROW(4),
    FUNCTION_CALL_ROW(5),
    FUNCTION_CALL_ROW(6),
    FUNCTION_CALL_ROW(7),
    FUNCTION_CALL_ROW(8),
    {.name = "cell, 3 args, with self",
     .run = BENCH_SIDES(cell_3),
     .setup = function_setup,
     .teardown = function_teardown,
     .limit = raw_3,
     .param = 1},
    {.name = "TVMFFIFunctionCall, 3 args, with self",
     .run = BENCH_SIDES(function_call_3),
     .setup = function_setup,
     .teardown = function_teardown,
     .limit = raw_3,
     .param = 1},
    {.name = "create and release",
     .run = BENCH_SIDES(create_plain),
     .limit = bench_limit_malloc},
    {.name = "create and release, with self",
     .run = BENCH_SIDES(create_with_self),
     .limit = bench_limit_malloc},
    {0}};
