/* latency.c: a call and a count, each in other company than in a loop of its
 * own. The other groups measure throughput: warm calls, none of which waits for
 * another, so a processor runs several at a time. Here a call waits for the
 * result of the one before (latency), comes after other work has used the
 * caches and the branch predictor (cold), or runs beside the same call of
 * another thread (contended). The limit is the raw call, or two atomic
 * additions, in the same company.
 */
#include <stdlib.h>

#include "call.h"
#include "threads.h"

/* Other work: 1,024 functions, which together are larger than a first-level
 * instruction cache, called by a pointer in an order that the data decide, and
 * a block larger than the caches of data. */

typedef uint64_t other_function(uint64_t x);
#define OTHER(a, b)                                               \
  static __attribute__((noinline)) uint64_t other_##a##_##b(      \
      uint64_t x) {                                               \
    x = (x ^ (UINT64_C(0x##a##b) << 7)) * 0x9E3779B97F4A7C15u;    \
    if (x >> 63) x += UINT64_C(0x##b##a);                         \
    if (x >> 62 & 1) x ^= x >> 29;                                \
    return x ^ x >> 32;                                           \
  }
#define EACH_4(F, a, b) F(a, b##0) F(a, b##1) F(a, b##2) F(a, b##3)
#define EACH_16(F, a, b) \
  EACH_4(F, a, b##0) EACH_4(F, a, b##1) EACH_4(F, a, b##2) EACH_4(F, a, b##3)
#define EACH_64(F, a)                                              \
  EACH_16(F, a, 0) EACH_16(F, a, 1) EACH_16(F, a, 2) EACH_16(F, a, 3)
#define EACH_1024(F)                                               \
  EACH_64(F, 0) EACH_64(F, 1) EACH_64(F, 2) EACH_64(F, 3)          \
  EACH_64(F, 4) EACH_64(F, 5) EACH_64(F, 6) EACH_64(F, 7)          \
  EACH_64(F, 8) EACH_64(F, 9) EACH_64(F, a) EACH_64(F, b)          \
  EACH_64(F, c) EACH_64(F, d) EACH_64(F, e) EACH_64(F, f)
EACH_1024(OTHER)
#define OTHER_NAME(a, b) other_##a##_##b,

static void do_other_work(void) {
  static other_function *const all[] = {EACH_1024(OTHER_NAME)};
  static uint64_t x = 1;
  for (unsigned i = 0; i < 4 * sizeof all / sizeof *all; ++i)
    x = all[x % (sizeof all / sizeof *all)](x + i);
  bench_fill_caches(x);
}

/* What a row does once; returns what the next one has to wait for. */

typedef TVMFFISafeCallType call_target;

BENCH_INLINE int64_t call_once(const call_target *target, void *self,
                               int64_t x) {
  TVMFFIAny args[3], result = bench_none();
  for (int k = 0; k < 3; ++k) args[k] = bench_int(x + k);
  if ((*target)(self, args, 3, &result)) abort();
  return result.v_int64;
}

/* The codes are constants, which no processor waits for. So the count is read,
 * and where the next call finds the object depends on what it is. */
BENCH_INLINE int64_t change_of(const uint64_t *count, int64_t x,
                               uint64_t before) {
  count = (const uint64_t *)((const char *)count + x);
  return (int64_t)(__atomic_load_n(count, __ATOMIC_RELAXED) - before);
}

BENCH_INLINE int64_t count_once(const bench_lib *lib, void *object,
                                uint64_t before, int64_t x) {
  const uint64_t *count = &((TVMFFIObject *)object)->combined_ref_count;
  lib->ObjectIncRef((char *)object + x);
  x = change_of(count, x, before + 1);
  lib->ObjectDecRef((char *)object + x);
  return change_of(count, x, before);
}

BENCH_INLINE int64_t add_once(uint64_t *count, uint64_t before, int64_t x) {
  __atomic_fetch_add((uint64_t *)((char *)count + x), 1, __ATOMIC_RELAXED);
  x = change_of(count, x, before + 1);
  __atomic_fetch_sub((uint64_t *)((char *)count + x), 1, __ATOMIC_ACQ_REL);
  return change_of(count, x, before);
}

/* Runs ONCE, an expression of x, n times: dependent, or cold. */
#define DEPENDENT(once)                               \
  int64_t x = 0;                                      \
  for (long i = 0; i < n; ++i) x = (once);            \
  bench_keep(&x)
#define COLD(once)                                    \
  int64_t x = 0;                                      \
  double taken = 0;                                   \
  for (long i = 0; i < n; ++i) {                      \
    double begin;                                     \
    do_other_work();                                  \
    begin = bench_now_ns();                           \
    x = (once);                                       \
    taken += bench_now_ns() - begin;                  \
  }                                                   \
  bench_keep(&x);                                     \
  bench_own_time(taken)

static const call_target raw_target = bench_sum;

/* The compiler must not see what the pointer points to. */
BENCH_INLINE void calls_dependent(const call_target *target, void *self,
                                  long n) {
  __asm__ volatile("" : "+r"(target));
  DEPENDENT(call_once(target, self, x));
}
BENCH_INLINE void calls_cold(const call_target *target, void *self, long n) {
  __asm__ volatile("" : "+r"(target));
  COLD(call_once(target, self, x));
}

BENCH_LOOP(call_dependent) {
  const call_target target = bench_function_call(lib);
  calls_dependent(&target, state, n);
}
static void raw_dependent(const bench_lib *lib, void *state, long n) {
  (void)lib;
  calls_dependent(&raw_target, state, n);
}
BENCH_LOOP(call_cold) {
  const call_target target = bench_function_call(lib);
  calls_cold(&target, state, n);
}
static void raw_cold(const bench_lib *lib, void *state, long n) {
  (void)lib;
  calls_cold(&raw_target, state, n);
}
BENCH_INLINE uint64_t count_of(void *object) {
  return __atomic_load_n(&((TVMFFIObject *)object)->combined_ref_count,
                         __ATOMIC_RELAXED);
}
BENCH_LOOP(count_dependent) {
  const uint64_t before = count_of(state);
  DEPENDENT(count_once(lib, state, before, x));
}
BENCH_LOOP(count_cold) {
  const uint64_t before = count_of(state);
  COLD(count_once(lib, state, before, x));
}
static void add_dependent(const bench_lib *lib, void *state, long n) {
  static uint64_t count;
  (void)lib, (void)state;
  DEPENDENT(add_once(&count, 0, x));
}
static void add_cold(const bench_lib *lib, void *state, long n) {
  static uint64_t count;
  (void)lib, (void)state;
  COLD(add_once(&count, 0, x));
}

static void raw_throughput(const bench_lib *lib, void *state, long n) {
  bench_call_loop(lib, &raw_target, state, 3, n);
}
BENCH_LOOP(call_throughput) {
  call_target target = bench_function_call(lib);
  bench_call_loop(lib, &target, state, 3, n);
}
#define CONTENDED(side)                                             \
  static void call_contended_##side(const bench_lib *lib, void *state, \
                                    long n) {                       \
    bench_in_pair(call_throughput_##side, lib, state, state, n);    \
  }
CONTENDED(stock)
CONTENDED(ours)
static void raw_contended(const bench_lib *lib, void *state, long n) {
  bench_in_pair(raw_throughput, lib, state, state, n);
}

static void *function_setup(const bench_lib *lib, long unused) {
  (void)unused;
  return bench_function(lib, NULL, bench_sum, NULL);
}
static void function_teardown(const bench_lib *lib, void *state) {
  lib->ObjectDecRef(state);
}
static void *pair_setup(const bench_lib *lib, long unused) {
  bench_pair_start();
  return function_setup(lib, unused);
}
static void pair_teardown(const bench_lib *lib, void *state) {
  function_teardown(lib, state);
  bench_pair_stop();
}

#define LATENCY_ROW(label, loop, least, text)                              \
  .name = label, .run = BENCH_SIDES(loop), .limit = least, .limit_is = text
#define OF_FUNCTION .setup = function_setup, .teardown = function_teardown
/* The other work takes some 16 milliseconds a step. */
#define IS_COLD .fixed = 2, .rounds = 8, .by_median = 1

BENCH_GROUP(latency) = {
    {LATENCY_ROW("TVMFFIFunctionCall, 3 args, each waits for the last",
                 call_dependent, raw_dependent,
                 "the same C function, called through a pointer"),
     OF_FUNCTION, .brief = 1},
    {LATENCY_ROW("TVMFFIFunctionCall, 3 args, cold", call_cold, raw_cold,
                 "the same C function, called through a pointer"),
     OF_FUNCTION, IS_COLD},
    {LATENCY_ROW("TVMFFIFunctionCall, 3 args, by two threads", call_contended,
                 raw_contended, "the same C function, by two threads"),
     .setup = pair_setup, .teardown = pair_teardown, .by_median = 1},
    {LATENCY_ROW("IncRef and DecRef, each waits for the last", count_dependent,
                 add_dependent, "two atomic additions"),
     OF_FUNCTION},
    {LATENCY_ROW("IncRef and DecRef, cold", count_cold, add_cold,
                 "two atomic additions"),
     OF_FUNCTION, IS_COLD},
    {0}};
