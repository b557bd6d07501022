/* refcount.c: what taking and giving back a reference costs.
 *
 * The limit is two atomic additions on a word of our own; without atomics, two
 * plain ones; on a count that two threads share, the same by both threads. A
 * reference that is the last one frees its object: that cost stands in the rows
 * that make and release objects, and here with a destructor that does nothing,
 * for which the limit is a store, a comparison and the call. Two threads pass
 * a word back and forth as the processor pleases, so their rounds are long.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "one_thread.h"
#include "threads.h"

#define SPREAD 1024 /* objects, more than the first cache's way holds */

static void *one(const bench_lib *lib, long param) {
  (void)param;
  return bench_function(lib, NULL, bench_nothing, NULL);
}

static void release_one(const bench_lib *lib, void *state) {
  lib->ObjectDecRef(state);
}

BENCH_LOOP(pair) {
  for (long i = 0; i < n; ++i) {
    lib->ObjectIncRef(state);
    lib->ObjectDecRef(state);
  }
}

BENCH_LOOP(inline_pair) {
  (void)lib;
  for (long i = 0; i < n; ++i) {
    tvmffi_retain((TVMFFIObject *)state);
    bench_keep(state);
    tvmffi_release((TVMFFIObject *)state);
    bench_keep(state);
  }
}

/* Weak references, which the library's functions do not know */

BENCH_LOOP(weak_pair) {
  (void)lib;
  for (long i = 0; i < n; ++i) {
    tvmffi_weak_retain(state);
    bench_keep(state);
    tvmffi_weak_release(state);
    bench_keep(state);
  }
}

BENCH_LOOP(weak_lock) {
  (void)lib;
  for (long i = 0; i < n; ++i) {
    bench_need(lib, !tvmffi_weak_lock(state), "weak lock");
    bench_keep(state);
    tvmffi_release(state);
    bench_keep(state);
  }
}

/* A count is raised only if it is not 0, which an addition cannot do. */
static void lock_limit(const bench_lib *lib, void *state, long n) {
  static uint64_t count = 1;
  (void)lib;
  (void)state;
  for (long i = 0; i < n; ++i) {
    uint64_t old = __atomic_load_n(&count, __ATOMIC_RELAXED);
    if (!old ||
        !__atomic_compare_exchange_n(&count, &old, old + 1, 1, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
      break;
    if (__atomic_fetch_sub(&count, 1, __ATOMIC_RELEASE) == 1) break;
  }
}

/* Objects one after the other */

static void *many(const bench_lib *lib, long param) {
  TVMFFIObjectHandle *objects = bench_alloc(SPREAD * sizeof *objects);
  (void)param;
  for (int i = 0; i < SPREAD; ++i) objects[i] = one(lib, 0);
  return objects;
}

static void release_many(const bench_lib *lib, void *state) {
  TVMFFIObjectHandle *objects = state;
  for (int i = 0; i < SPREAD; ++i) lib->ObjectDecRef(objects[i]);
  free(objects);
}

BENCH_LOOP(spread_pair) {
  TVMFFIObjectHandle *objects = state;
  for (long i = 0; i < n; ++i) {
    lib->ObjectIncRef(objects[i % SPREAD]);
    lib->ObjectDecRef(objects[i % SPREAD]);
  }
}

static void spread_limit(const bench_lib *lib, void *state, long n) {
  TVMFFIObject **objects = state;
  (void)lib;
  for (long i = 0; i < n; ++i) {
    uint64_t *count = &objects[i % SPREAD]->combined_ref_count;
    __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
    if (__atomic_fetch_sub(count, 1, __ATOMIC_RELEASE) == 1) break;
  }
}

/* The last reference. The object is ours, and is made anew by one store. */

static void stay(void *self, int flags) {
  (void)flags;
  bench_keep(self);
}

static void *last_setup(const bench_lib *lib, long param) {
  TVMFFIObject *object = bench_alloc(sizeof *object);
  (void)lib;
  (void)param;
  memset(object, 0, sizeof *object);
  object->type_index = kTVMFFIOpaquePyObject;
  object->deleter = stay;
  return object;
}

static void last_teardown(const bench_lib *lib, void *state) {
  (void)lib;
  free(state);
}

#define BOTH_ONE ((uint64_t)1 << 32 | 1)

BENCH_LOOP(last) {
  TVMFFIObject *object = state;
  for (long i = 0; i < n; ++i) {
    object->combined_ref_count = BOTH_ONE;
    lib->ObjectDecRef(object);
  }
}

BENCH_LOOP(inline_last) {
  TVMFFIObject *object = state;
  (void)lib;
  for (long i = 0; i < n; ++i) {
    object->combined_ref_count = BOTH_ONE;
    bench_keep(object);
    tvmffi_release(object);
  }
}

static void last_limit(const bench_lib *lib, void *state, long n) {
  TVMFFIObject *object = state;
  (void)lib;
  for (long i = 0; i < n; ++i) {
    object->combined_ref_count = BOTH_ONE;
    bench_keep(object);
    if (object->combined_ref_count != BOTH_ONE) break;
    object->deleter(object, kTVMFFIObjectDeleterFlagBitMaskBoth);
  }
}

/* Two threads: of one object, or each of its own. The first two words of a
 * state are for the limit, a cache line and more apart. */

#define APART 32 /* words */

typedef struct two {
  uint64_t words[2 * APART];
  TVMFFIObjectHandle objects[2];
} two;

/* An object that shares no cache line with the other. */
static TVMFFIObjectHandle far_from(const bench_lib *lib,
                                   TVMFFIObjectHandle other) {
  const uintptr_t least = APART * sizeof(uint64_t);
  TVMFFIObjectHandle near[64], found;
  int count = 0;
  for (;;) {
    uintptr_t a = (uintptr_t)other, b;
    found = one(lib, 0);
    b = (uintptr_t)found;
    if ((a < b ? b - a : a - b) >= least || count == 64) break;
    near[count++] = found;
  }
  bench_need(lib, count == 64, "objects apart");
  while (count) lib->ObjectDecRef(near[--count]);
  return found;
}

static void *two_setup(const bench_lib *lib, long param) {
  two *t = bench_alloc(sizeof *t);
  bench_pair_start();
  memset(t, 0, sizeof *t);
  t->words[0] = t->words[APART] = 1;
  t->objects[0] = one(lib, 0);
  t->objects[1] = far_from(lib, t->objects[0]);
  if (param == 1) {
    lib->ObjectDecRef(t->objects[1]);
    lib->ObjectIncRef(t->objects[1] = t->objects[0]);
  }
  return t;
}

static void two_teardown(const bench_lib *lib, void *state) {
  two *t = state;
  bench_pair_stop();
  for (int i = 0; i < 2; ++i) lib->ObjectDecRef(t->objects[i]);
  free(t);
}

static void add_word(const bench_lib *lib, void *state, long n) {
  uint64_t *count = state;
  (void)lib;
  for (long i = 0; i < n; ++i) {
    __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
    if (__atomic_fetch_sub(count, 1, __ATOMIC_RELEASE) == 0) break;
  }
}

#define TWO_LOOPS(name)                                                        \
  static void name##_of_two_stock(const bench_lib *lib, void *state, long n) { \
    two *t = state;                                                            \
    bench_in_pair(name##_stock, lib, t->objects[0], t->objects[1], n);         \
  }                                                                            \
  static void name##_of_two_ours(const bench_lib *lib, void *state, long n) {  \
    two *t = state;                                                            \
    bench_in_pair(name##_ours, lib, t->objects[0], t->objects[1], n);          \
  }

TWO_LOOPS(pair)
TWO_LOOPS(inline_pair)

static void shared_limit(const bench_lib *lib, void *state, long n) {
  two *t = state;
  bench_in_pair(add_word, lib, t->words, t->words, n);
}

static void own_limit(const bench_lib *lib, void *state, long n) {
  two *t = state;
  bench_in_pair(add_word, lib, t->words, t->words + APART, n);
}

#define ONE_ROW(label, loop, least, short_too) \
  {.name = label,                              \
   .run = BENCH_SIDES(loop),                   \
   .setup = one,                               \
   .teardown = release_one,                    \
   .limit = least,                             \
   .brief = short_too}

#define LAST_ROW(label, loop) \
  {.name = label,             \
   .run = BENCH_SIDES(loop),  \
   .setup = last_setup,       \
   .teardown = last_teardown, \
   .limit = last_limit,       \
   .limit_is = "a store, a comparison and a call of what does nothing"}

#define TWO_ROW(label, loop, same, least)                     \
  {.name = label,                                             \
   .run = BENCH_SIDES(loop##_of_two),                         \
   .setup = two_setup,                                        \
   .teardown = two_teardown,                                  \
   .limit = least,                                            \
   .limit_is = "two atomic additions by each of two threads", \
   .param = same,                                             \
   .by_median = 1}

const bench_case bench_refcount[] = {
    ONE_ROW("IncRef and DecRef", pair, bench_limit_atomics, 1),
    ONE_ROW("tvmffi_retain and tvmffi_release", inline_pair,
            bench_limit_atomics, 1),
    {.name = "IncRef and DecRef, 1024 objects",
     .run = BENCH_SIDES(spread_pair),
     .setup = many,
     .teardown = release_many,
     .limit = spread_limit},
    ONE_ROW("inline pair, no atomics", bench_plain_pair, bench_limit_plain_pair,
            0),
    ONE_ROW("weak pair, inline", weak_pair, bench_limit_atomics, 0),
    ONE_ROW("weak locked and released, inline", weak_lock, lock_limit, 0),
    LAST_ROW("last reference, DecRef", last),
    LAST_ROW("last reference, tvmffi_release", inline_last),
    TWO_ROW("pair by two threads, one object", pair, 1, shared_limit),
    TWO_ROW("inline pair by two threads, one object", inline_pair, 1,
            shared_limit),
    TWO_ROW("pair by two threads, two objects", pair, 0, own_limit),
    TWO_ROW("inline pair by two threads, two objects", inline_pair, 0,
            own_limit),
    {0}};
