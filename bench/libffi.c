/* libffi.c: a C function of integers called through libffi, as runtimes do that
 * know a function's type only while they run. Without BENCH_LIBFFI it is
 * empty. */
#ifdef BENCH_LIBFFI
#include <ffi.h>
#include <stdlib.h>

#include "call.h"

enum { MAX = 8 };

typedef struct libffi_state {
  ffi_cif cif;
  ffi_type *types[MAX];
  void (*target)(void);
  int64_t args[MAX];
  void *values[MAX];
} libffi_state;

static int64_t sum_0(void) { return 0; }

static int64_t sum_3(int64_t a, int64_t b, int64_t c) { return a + b + c; }

static int64_t sum_8(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e,
                     int64_t f, int64_t g, int64_t h) {
  return a + b + c + d + e + f + g + h;
}

void *bench_libffi_setup(const bench_lib *lib, long count) {
  libffi_state *s = bench_alloc(sizeof *s);
  for (long i = 0; i < count; ++i) {
    s->types[i] = &ffi_type_sint64;
    s->values[i] = &s->args[i];
  }
  s->target = count == 0   ? FFI_FN(sum_0)
              : count == 3 ? FFI_FN(sum_3)
                           : FFI_FN(sum_8);
  bench_need(lib,
             ffi_prep_cif(&s->cif, FFI_DEFAULT_ABI, (unsigned)count,
                          &ffi_type_sint64, s->types) != FFI_OK,
             "ffi_prep_cif");
  return s;
}

void bench_libffi_teardown(const bench_lib *lib, void *state) {
  (void)lib;
  free(state);
}

void bench_libffi(const bench_lib *lib, void *state, long n) {
  libffi_state *s = state;
  const unsigned count = s->cif.nargs;
  (void)lib;
  for (long i = 0; i < n; ++i) {
    ffi_sarg result;
    for (unsigned k = 0; k < count; ++k) s->args[k] = i + k;
    ffi_call(&s->cif, s->target, &result, s->values);
    bench_keep(&result);
  }
}
#else
typedef int bench_no_libffi; /* a file is not empty in C */
#endif
