/* bench.h: what every benchmark of this directory uses.
 *
 * A benchmark is a loop that calls one runtime through a table of function
 * pointers. The harness hands the same loop two runtimes, ours and the stock
 * one, and beside them a loop that does the least work the machine could get
 * away with (the "limit"). It runs the three in turn, in many short rounds, in
 * several processes; measure.c says why.
 *
 * A new benchmark is a loop and a row in the table at the end of its file, or
 * in a file of its own: README.md has one.
 *
 * Only the C ABI is used, so the loops run on any libtvm_ffi.
 */
#ifndef TVMFFI_BENCH_H_
#define TVMFFI_BENCH_H_

#include <stddef.h>
#include <stdint.h>

#include "../tests/tools/functions.h"
#include "tvmffi.h"

/* One loaded runtime: where it came from, and its functions. */
typedef struct bench_lib {
  const char *label;
  const char *path;
  void *handle;
#define BENCH_MEMBER(name) __typeof__(&TVMFFI##name) name;
  TVMFFI_FUNCTIONS(BENCH_MEMBER)
#undef BENCH_MEMBER
} bench_lib;

/* Does the measured work `n` times. */
typedef void (*bench_loop)(const bench_lib *lib, void *state, long n);

/* Heads a loop, and makes two copies of it, alike to the byte: one for stock
 * and one for ours. Were they to share one, its calls would have two targets
 * in turn, and a processor predicts such a call more slowly than it would in
 * a real program. The comment in the assembler text keeps the compiler from
 * folding the copies into one. */
#define BENCH_LOOP(name)                                                   \
  BENCH_INLINE void name(const bench_lib *lib, void *state, long n);       \
  BENCH_COPY(name, stock)                                                  \
  BENCH_COPY(name, ours)                                                   \
  BENCH_INLINE void name(const bench_lib *lib, void *state, long n)

#define BENCH_SIDES(name) {name##_stock, name##_ours}

#define BENCH_INLINE static inline __attribute__((always_inline))
#define BENCH_COPY(name, side)                                             \
  __attribute__((noinline, aligned(64))) static void name##_##side(        \
      const bench_lib *lib, void *state, long n) {                         \
    __asm__ volatile("# " #side);                                          \
    name(lib, state, n);                                                   \
  }

/* The rows that must be three times faster than stock; the rest is noise. */
#define BENCH_THRICE 0.40
/* A row that is built afresh each time does this many steps in a round. */
#define BENCH_FRESH 64
/* No process has more rounds of a row than this, of which the first two do not
 * count. */
#define BENCH_MAX_ROUNDS 102

/* One row. All but `name` and `run` may be left out. */
typedef struct bench_case {
  const char *name;
  bench_loop run[2]; /* BENCH_SIDES */
  void *(*setup)(const bench_lib *lib, long param);
  void (*teardown)(const bench_lib *lib, void *state);
  bench_loop limit; /* the least work that could do; gets our state */
  long param;       /* handed to `setup`: a size, a count, an index */
  long fixed;       /* steps in a round; 0: found by calibration */
  int rounds;       /* for long steps; 0: until the minimum has settled */
  double goal;      /* the largest ratio to stock; 0: "not slower" */
  int brief;        /* also shown by --short, and by the guard */
  int by_median;    /* its least round would be luck: see typical_of */
  int control;      /* runs no code of the library, so its true ratio is 1 */
  int fixed_sides;  /* the two loops of `run` differ, so none is exchanged */
  int large;        /* the near caches have no room for two states: what setting
                     * up left there, of one library, is driven out; `fixed` is
                     * the same for all, as the faster one would come further */
  const char *limit_is; /* what the limit does, for the report */
} bench_case;

/* A file's rows under one heading. BENCH_GROUP(name) heads such a table, and
 * is all that tells the harness of it: BENCH_GROUP(mine) = {..., {0}}; */
typedef struct bench_group {
  const char *name;
  const bench_case *cases;
  struct bench_group *next;
} bench_group;

void bench_add(bench_group *group);

#define BENCH_GROUP(name)                                                  \
  extern const bench_case bench_##name[];                                  \
  static bench_group name##_group = {#name, bench_##name, NULL};           \
  __attribute__((constructor)) static void name##_add(void) {              \
    bench_add(&name##_group);                                              \
  }                                                                        \
  const bench_case bench_##name[]

/* The tables, one for each file, each ended by a row without a name. */
extern const bench_case bench_call[];
extern const bench_case bench_refcount[];
extern const bench_case bench_registry[];
extern const bench_case bench_dtype[];
extern const bench_case bench_error[];
extern const bench_case bench_string[];
extern const bench_case bench_any[];
extern const bench_case bench_map[];
extern const bench_case bench_json[];
extern const bench_case bench_tensor[];
extern const bench_case bench_object[];
extern const bench_case bench_array[];
extern const bench_case bench_structural[];

/* Limits that several files share (limit.c). */
void bench_limit_store(const bench_lib *lib, void *state, long n);
void bench_limit_atomics(const bench_lib *lib, void *state, long n);
void bench_limit_malloc(const bench_lib *lib, void *state, long n);

/* What a row's limit does: its `limit_is`, or the text of a shared one. */
const char *bench_limit_text(const bench_case *row);

/* Ends the program, saying what failed and the runtime's error. */
__attribute__((cold, noreturn)) void bench_fail(const bench_lib *lib,
                                                const char *what);

/* Each call of a loop that can fail goes through this: a benchmark of a call
 * that fails would measure something else. */
static inline void bench_need(const bench_lib *lib, int code,
                              const char *what) {
  if (code != 0) bench_fail(lib, what);
}

#define BENCH_DO(name, ...) \
  bench_need(lib, lib->name(__VA_ARGS__), "TVMFFI" #name)

/* For a loop that does other work between its steps: the time of its steps
 * alone, in nanoseconds, which then counts. */
double bench_now_ns(void);
void bench_own_time(double nanoseconds);

/* Writes a block larger than most last-level caches, which drives out what else
 * they have; `x` is added to its bytes. */
void bench_fill_caches(uint64_t x);

/* malloc, ending the program when memory is out. */
void *bench_alloc(size_t size);

/* A function object on `safe_call`; the caller owns it. */
TVMFFIObjectHandle bench_function(const bench_lib *lib, void *self,
                                  TVMFFISafeCallType safe_call,
                                  void (*deleter)(void *self));

/* A safe call that answers None. */
int bench_nothing(void *self, const TVMFFIAny *args, int32_t num_args,
                  TVMFFIAny *result);

/* Fresh names, one after the other, at the cost of one or two stores each.
 * Two users with different prefixes never meet. */
typedef struct bench_names {
  TVMFFIByteArray name;
  char text[48];
} bench_names;

void bench_names_start(bench_names *names, const char *prefix);

static inline void bench_names_next(bench_names *names) {
  char *digit = names->text + names->name.size - 1;
  while (*digit == '9') *digit-- = '0';
  ++*digit;
}

/* Makes the compiler believe that `p` and what it points to are used. */
static inline void bench_keep(const void *p) {
  __asm__ volatile("" : : "r"(p) : "memory");
}

static inline TVMFFIByteArray bench_bytes(const char *text, size_t size) {
  TVMFFIByteArray bytes;
  bytes.data = text;
  bytes.size = size;
  return bytes;
}

static inline TVMFFIAny bench_int(int64_t value) {
  TVMFFIAny any;
  any.type_index = kTVMFFIInt;
  any.zero_padding = 0;
  any.v_int64 = value;
  return any;
}

static inline TVMFFIAny bench_none(void) {
  TVMFFIAny any = bench_int(0);
  any.type_index = kTVMFFINone;
  return any;
}

static inline void bench_any_release(const bench_lib *lib, TVMFFIAny *any) {
  if (any->type_index >= kTVMFFIStaticObjectBegin) {
    lib->ObjectDecRef(any->v_obj);
  }
}

/* The cells stand right behind the object's header. */
static inline void *bench_cell(TVMFFIObjectHandle object) {
  return (char *)object + sizeof(TVMFFIObject);
}

#endif /* TVMFFI_BENCH_H_ */
