/* refcount.c: what taking and giving back a reference costs.
 *
 * The limit is two atomic additions on a word of our own. A reference that
 * is the last one frees its object: that cost stands in the rows that make
 * and release objects.
 */
#include <stdlib.h>

#include "bench.h"

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

const bench_case bench_refcount[] = {
    {.name = "IncRef and DecRef",
     .run = BENCH_SIDES(pair),
     .setup = one,
     .teardown = release_one,
     .limit = bench_limit_atomics,
     .brief = 1},
    {.name = "tvmffi_retain and tvmffi_release",
     .run = BENCH_SIDES(inline_pair),
     .setup = one,
     .teardown = release_one,
     .limit = bench_limit_atomics,
     .brief = 1},
    {.name = "IncRef and DecRef, 1024 objects",
     .run = BENCH_SIDES(spread_pair),
     .setup = many,
     .teardown = release_many,
     .limit = spread_limit},
    {0}};
