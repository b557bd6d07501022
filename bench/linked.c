/* linked.c: TVMFFIFunctionCall of a runtime that the program has linked in, as
 * one that compiles tvmffi.h itself. The core is enough for it. */
#define TVMFFI_STATIC 1
#define TVMFFI_NO_CONTAINERS 1
#define TVMFFI_IMPLEMENTATION
#include "call.h"

/* Stock has no such form: its rows hold the call into its library. */
void *bench_linked_setup(const bench_lib *lib, long param) {
  TVMFFIObjectHandle function = NULL;
  (void)param;
  if (lib->label[0] == 's') return bench_function(lib, NULL, bench_sum, NULL);
  if (TVMFFIFunctionCreate(NULL, bench_sum, NULL, &function))
    bench_fail(lib, "TVMFFIFunctionCreate, linked in");
  return function;
}

void bench_linked_teardown(const bench_lib *lib, void *state) {
  if (lib->label[0] == 's')
    lib->ObjectDecRef(state);
  else
    TVMFFIObjectDecRef(state);
}

/* Called by its name, as a program does. */
BENCH_INLINE void linked_loop(const bench_lib *lib, void *state, int count,
                              long n) {
  TVMFFIAny args[BENCH_MAX_ARGS + 1], result;
  for (long i = 0; i < n; ++i) {
    for (int k = 0; k < count; ++k) args[k] = bench_int(i + k);
    result = bench_none();
    bench_need(lib, TVMFFIFunctionCall(state, args, count, &result), "call");
  }
}

#define LINKED(count)                                               \
  __attribute__((noinline, aligned(64))) void bench_linked_##count( \
      const bench_lib *lib, void *state, long n) {                  \
    linked_loop(lib, state, count, n);                              \
  }

LINKED(0)
LINKED(3)
LINKED(8)
LINKED(16)
