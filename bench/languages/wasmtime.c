/* wasmtime.c: calls a function of WebAssembly by wasmtime's C API, which is
 * declared here because its package for Python has the library alone. */
#include <stdlib.h>

#include "callee.h"

typedef union {
  int32_t i32;
  char bytes[16];
} raw_value;

typedef void *call_unchecked(void *context, const void *function,
                             raw_value *args_and_results, size_t capacity,
                             void **trap);

static int64_t call_add(call_unchecked *call, void *context,
                        const void *function, int64_t a, int64_t b) {
  raw_value values[2] = {{0}, {0}};
  void *trap = NULL;
  values[0].i32 = (int32_t)a;
  values[1].i32 = (int32_t)b;
  if (call(context, function, values, 2, &trap) || trap) abort();
  return values[0].i32;
}

__attribute__((visibility("default"))) void measure(call_unchecked *call,
                                                    void *context,
                                                    const void *function,
                                                    long count) {
  MEASURE("C, WebAssembly by wasmtime", count,
          call_add(call, context, function, x, 1));
  fflush(stdout);
}
