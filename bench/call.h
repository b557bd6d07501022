/* call.h: the loop of calls that several files measure, and its callee.
 *
 * The limit of a call is the same C function, with the same signature and the
 * same arguments, called through a pointer that the compiler cannot see
 * through. The arguments are written anew for each call, as a caller does. All
 * ways to call are copies of one loop, so that the placement of its
 * instructions cannot favour one of them.
 */
#ifndef TVMFFI_BENCH_CALL_H_
#define TVMFFI_BENCH_CALL_H_

#include <string.h>

#include "bench.h"

#define BENCH_MAX_ARGS 16

/* X for each count of arguments, and the same as a list. */
/* clang-format off */
#define BENCH_ARG_COUNTS(X)                                                \
  X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12)      \
  X(13) X(14) X(15) X(16)
#define BENCH_ARG_ROWS(X)                                                  \
  X(0), X(1), X(2), X(3), X(4), X(5), X(6), X(7), X(8), X(9), X(10),       \
  X(11), X(12), X(13), X(14), X(15), X(16)
/* clang-format on */

/* The callee reads each argument once, so that none can be left out. */
int bench_sum(void *self, const TVMFFIAny *args, int32_t num_args,
              TVMFFIAny *result);

/* The compiler must not see what the pointer points to, nor keep it: a callee
 * might change it. */
BENCH_INLINE void bench_call_loop(const bench_lib *lib,
                                  const TVMFFISafeCallType *target, void *self,
                                  int count, long n) {
  TVMFFIAny args[BENCH_MAX_ARGS + 1], result;
  __asm__ volatile("" : "+r"(target));
  for (long i = 0; i < n; ++i) {
    for (int k = 0; k < count; ++k) args[k] = bench_int(i + k);
    result = bench_none();
    bench_need(lib, (*target)(self, args, count, &result), "call");
  }
}

#define BENCH_RAW_CALL(count)                                     \
  __attribute__((noinline, aligned(64))) static void raw_##count( \
      const bench_lib *lib, void *state, long n) {                \
    static TVMFFISafeCallType target = bench_sum;                 \
    bench_call_loop(lib, &target, state, count, n);               \
  }

/* TVMFFIFunctionCall differs from a safe call by a const only. */
BENCH_INLINE TVMFFISafeCallType bench_function_call(const bench_lib *lib) {
  TVMFFISafeCallType target;
  memcpy(&target, &lib->FunctionCall, sizeof target);
  return target;
}

/* Rows of other files. With a runtime linked in (linked.c): */
void *bench_linked_setup(const bench_lib *lib, long param);
void bench_linked_teardown(const bench_lib *lib, void *state);
void bench_linked_0(const bench_lib *lib, void *state, long n);
void bench_linked_3(const bench_lib *lib, void *state, long n);
void bench_linked_8(const bench_lib *lib, void *state, long n);
void bench_linked_16(const bench_lib *lib, void *state, long n);

/* By std::function (std_function.cc), where BENCH_CXX is defined: */
void bench_std_function_0(const bench_lib *lib, void *state, long n);
void bench_std_function_3(const bench_lib *lib, void *state, long n);
void bench_std_function_8(const bench_lib *lib, void *state, long n);

/* By libffi, on a function of that many integers (libffi.c), where
 * BENCH_LIBFFI is defined: */
void *bench_libffi_setup(const bench_lib *lib, long count);
void bench_libffi_teardown(const bench_lib *lib, void *state);
void bench_libffi(const bench_lib *lib, void *state, long n);

#endif /* TVMFFI_BENCH_CALL_H_ */
