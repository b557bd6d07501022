/* typed.c: typed functions, which check and convert their arguments.
 *
 * They are called as a cell does, through a pointer. "typed" are those of
 * tvmffi.h on both runtimes; "beside C++" has in stock's column the same
 * function by upstream's headers (typed_cxx.cc), where these are there. The
 * limit of integers is the packed call that checks nothing; of other
 * arguments, that call with the argument used as it is; of a type error, a walk
 * up the stack by the unwinder, as in error.c.
 */
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "error.h"
#include "forward.h"

/* The functions */

TVMFFI_FUNC(sum_0, int64) { TVMFFI_RETURN(0); }

TVMFFI_FUNC(sum_3, int64, (int64, a), (int64, b), (int64, c)) {
  TVMFFI_RETURN(a + b + c);
}

TVMFFI_FUNC(sum_8, int64, (int64, a), (int64, b), (int64, c), (int64, d),
            (int64, e), (int64, f), (int64, g), (int64, h)) {
  TVMFFI_RETURN(a + b + c + d + e + f + g + h);
}

TVMFFI_FUNC(sum_16, int64, (int64, a), (int64, b), (int64, c), (int64, d),
            (int64, e), (int64, f), (int64, g), (int64, h), (int64, i),
            (int64, j), (int64, k), (int64, l), (int64, m), (int64, n),
            (int64, o), (int64, p)) {
  TVMFFI_RETURN(a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p);
}

TVMFFI_FUNC(fma_3, float64, (float64, a), (float64, b), (float64, c)) {
  TVMFFI_RETURN(a * b + c);
}

TVMFFI_FUNC(length, int64, (str, text)) { TVMFFI_RETURN((int64_t)text.size); }

TVMFFI_FUNC(first, int64, (array(int64), items)) {
  const TVMFFISeqCell *cell = bench_cell(items);
  TVMFFI_RETURN(((const TVMFFIAny *)cell->data)[0].v_int64);
}

TVMFFI_FUNC(rank, int64, (tensor, x)) { TVMFFI_RETURN(x->ndim); }

#define TYPED(X) \
  X(sum_0) X(sum_3) X(sum_8) X(sum_16) X(fma_3) X(length) X(first) X(rank)

#ifdef BENCH_UPSTREAM
#define CXX_DECLARATION(name)                                                \
  int __tvm_ffi_bench_##name(void *self, const TVMFFIAny *args, int32_t num, \
                             TVMFFIAny *result);
TYPED(CXX_DECLARATION)
#endif

/* Integers: the loop of call.h */

#define SUM_LOOP(name, function, count)                    \
  __attribute__((noinline, aligned(64))) static void name( \
      const bench_lib *lib, void *state, long n) {         \
    static TVMFFISafeCallType target;                      \
    target = function;                                     \
    bench_runtime = lib;                                   \
    bench_call_loop(lib, &target, state, count, n);        \
  }

#define SUM_LOOPS(count)                                             \
  BENCH_RAW_CALL(count)                                              \
  SUM_LOOP(sum_##count##_stock, tvmffi_func_sum_##count.call, count) \
  SUM_LOOP(sum_##count##_ours, tvmffi_func_sum_##count.call, count)

SUM_LOOPS(0)
SUM_LOOPS(3)
SUM_LOOPS(8)
SUM_LOOPS(16)

/* Other arguments, made once */

typedef struct typed_state {
  TVMFFIAny args[8];
  int32_t count;
  DLTensor tensor;
} typed_state;

static typed_state *typed_new(int32_t count) {
  typed_state *s = bench_alloc(sizeof *s);
  memset(s, 0, sizeof *s);
  s->count = count;
  return s;
}

static void *floats_setup(const bench_lib *lib, long param) {
  typed_state *s = typed_new(3);
  (void)lib;
  (void)param;
  for (int i = 0; i < 3; ++i) s->args[i] = tvmffi_float(i + 0.5);
  return s;
}

static void *text_setup(const bench_lib *lib, long param) {
  typed_state *s = typed_new(1);
  static const char text[] = "a text of thirty characters";
  const TVMFFIByteArray bytes = bench_bytes(text, sizeof text - 1);
  (void)param;
  BENCH_DO(StringFromByteArray, &bytes, &s->args[0]);
  return s;
}

static void *array_setup(const bench_lib *lib, long count) {
  typed_state *s = typed_new(1);
  const TVMFFIByteArray name = bench_bytes("ffi.Array", 9);
  TVMFFIObjectHandle make = NULL;
  TVMFFIAny items[8];
  for (long i = 0; i < count; ++i) items[i] = bench_int(i);
  s->args[0] = bench_none();
  BENCH_DO(FunctionGetGlobal, &name, &make);
  BENCH_DO(FunctionCall, make, items, (int32_t)count, &s->args[0]);
  lib->ObjectDecRef(make);
  return s;
}

static void *tensor_setup(const bench_lib *lib, long param) {
  typed_state *s = typed_new(1);
  (void)lib;
  (void)param;
  s->args[0].type_index = kTVMFFIDLTensorPtr;
  s->args[0].v_ptr = &s->tensor;
  return s;
}

static void typed_teardown(const bench_lib *lib, void *state) {
  typed_state *s = state;
  for (int32_t i = 0; i < s->count; ++i) bench_any_release(lib, &s->args[i]);
  free(s);
}

BENCH_INLINE void given_loop(const bench_lib *lib,
                             const TVMFFISafeCallType *target, typed_state *s,
                             long n) {
  __asm__ volatile("" : "+r"(target));
  bench_runtime = lib;
  for (long i = 0; i < n; ++i) {
    TVMFFIAny result = bench_none();
    bench_need(lib, (*target)(NULL, s->args, s->count, &result), "call");
    bench_keep(&result);
  }
}

#define GIVEN_LOOP(name, function)                         \
  __attribute__((noinline, aligned(64))) static void name( \
      const bench_lib *lib, void *state, long n) {         \
    static TVMFFISafeCallType target;                      \
    target = function;                                     \
    given_loop(lib, &target, state, n);                    \
  }

#define GIVEN_LOOPS(name, least)                    \
  GIVEN_LOOP(name##_limit, least)                   \
  GIVEN_LOOP(name##_stock, tvmffi_func_##name.call) \
  GIVEN_LOOP(name##_ours, tvmffi_func_##name.call)

static int raw_fma(void *self, const TVMFFIAny *args, int32_t num_args,
                   TVMFFIAny *result) {
  (void)self, (void)num_args;
  *result =
      tvmffi_float(args[0].v_float64 * args[1].v_float64 + args[2].v_float64);
  return 0;
}

static int raw_length(void *self, const TVMFFIAny *args, int32_t num_args,
                      TVMFFIAny *result) {
  const TVMFFIByteArray *text = bench_cell(args[0].v_obj);
  (void)self, (void)num_args;
  *result = bench_int((int64_t)text->size);
  return 0;
}

/* Each item must be looked at. */
static int raw_first(void *self, const TVMFFIAny *args, int32_t num_args,
                     TVMFFIAny *result) {
  const TVMFFISeqCell *cell = bench_cell(args[0].v_obj);
  const TVMFFIAny *items = cell->data;
  (void)self, (void)num_args;
  for (int64_t i = 0; i < cell->size; ++i) {
    if (items[i].type_index != kTVMFFIInt) return -1;
  }
  *result = bench_int(items[0].v_int64);
  return 0;
}

static int raw_rank(void *self, const TVMFFIAny *args, int32_t num_args,
                    TVMFFIAny *result) {
  (void)self, (void)num_args;
  *result = bench_int(((const DLTensor *)args[0].v_ptr)->ndim);
  return 0;
}

GIVEN_LOOPS(fma_3, raw_fma)
GIVEN_LOOPS(length, raw_length)
GIVEN_LOOPS(first, raw_first)
GIVEN_LOOPS(rank, raw_rank)

#ifdef BENCH_UPSTREAM
SUM_LOOP(sum_0_cxx, __tvm_ffi_bench_sum_0, 0)
SUM_LOOP(sum_3_cxx, __tvm_ffi_bench_sum_3, 3)
SUM_LOOP(sum_8_cxx, __tvm_ffi_bench_sum_8, 8)
SUM_LOOP(sum_16_cxx, __tvm_ffi_bench_sum_16, 16)
GIVEN_LOOP(fma_3_cxx, __tvm_ffi_bench_fma_3)
GIVEN_LOOP(length_cxx, __tvm_ffi_bench_length)
GIVEN_LOOP(first_cxx, __tvm_ffi_bench_first)
GIVEN_LOOP(rank_cxx, __tvm_ffi_bench_rank)
#endif

/* A type error, taken: three floats where integers belong. */

BENCH_INLINE void wrong_loop(const bench_lib *lib, TVMFFISafeCallType target,
                             typed_state *s, long n) {
  bench_runtime = lib;
  for (long i = 0; i < n; ++i) {
    TVMFFIObjectHandle error;
    TVMFFIAny result = bench_none();
    bench_need(lib, !target(NULL, s->args, s->count, &result), "must fail");
    lib->ErrorMoveFromRaised(&error);
    lib->ObjectDecRef(error);
  }
}

BENCH_LOOP(wrong) { wrong_loop(lib, tvmffi_func_sum_3.call, state, n); }

#ifdef BENCH_UPSTREAM
static void wrong_cxx(const bench_lib *lib, void *state, long n) {
  wrong_loop(lib, __tvm_ffi_bench_sum_3, state, n);
}
#endif

#define UNCHECKED "the same call of a C function that checks nothing"

#define SUM_ROW(label, theirs, count)     \
  {.name = label ", " #count " integers", \
   .run = {theirs, sum_##count##_ours},   \
   .fixed_sides = 1,                      \
   .limit = raw_##count,                  \
   .limit_is = UNCHECKED}

#define GIVEN_ROW(label, theirs, loop, make, size) \
  {.name = label,                                  \
   .run = {theirs, loop##_ours},                   \
   .fixed_sides = 1,                               \
   .setup = make,                                  \
   .teardown = typed_teardown,                     \
   .limit = loop##_limit,                          \
   .limit_is = UNCHECKED,                          \
   .param = size}

#define WRONG_ROW(label, theirs, ratio)                 \
  {.name = label,                                       \
   .run = {theirs, wrong_ours},                         \
   .fixed_sides = 1,                                    \
   .setup = floats_setup,                               \
   .teardown = typed_teardown,                          \
   .limit = bench_limit_walk,                           \
   .limit_is = "one walk up the stack by the unwinder", \
   .goal = ratio}

#define TYPED_ROWS(label, side, ratio)                                     \
  SUM_ROW(label, sum_0_##side, 0), SUM_ROW(label, sum_3_##side, 3),        \
      SUM_ROW(label, sum_8_##side, 8), SUM_ROW(label, sum_16_##side, 16),  \
      GIVEN_ROW(label ", 3 floats", fma_3_##side, fma_3, floats_setup, 0), \
      GIVEN_ROW(label ", text", length_##side, length, text_setup, 0),     \
      GIVEN_ROW(label ", array of 8 integers", first_##side, first,        \
                array_setup, 8),                                           \
      GIVEN_ROW(label ", tensor", rank_##side, rank, tensor_setup, 0),     \
      WRONG_ROW(label ", type error and take", wrong_##side, ratio)

BENCH_GROUP(typed) = {TYPED_ROWS("typed", stock, BENCH_THRICE),
#ifdef BENCH_UPSTREAM
                      TYPED_ROWS("beside C++", cxx, 0.05),
#endif
                      {0}};
