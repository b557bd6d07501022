/* limit.c: the least work that a call could do, shared by several files. */
#include <stdlib.h>

#include "bench.h"

/* A result stored where the caller wants it. */
void bench_limit_store(const bench_lib *lib, void *state, long n) {
  int64_t slot[2];
  (void)lib;
  (void)state;
  for (long i = 0; i < n; ++i) {
    slot[0] = i;
    slot[1] = i;
    bench_keep(slot);
  }
}

/* Taking a reference and giving it back: the orders that a count needs. */
void bench_limit_atomics(const bench_lib *lib, void *state, long n) {
  static uint64_t count = 1;
  (void)lib;
  (void)state;
  for (long i = 0; i < n; ++i) {
    __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    if (__atomic_fetch_sub(&count, 1, __ATOMIC_RELEASE) == 1) break;
  }
}

/* A small object made and freed. */
void bench_limit_malloc(const bench_lib *lib, void *state, long n) {
  (void)lib;
  (void)state;
  for (long i = 0; i < n; ++i) {
    void *p = malloc(64);
    bench_keep(p);
    free(p);
  }
}

static const struct {
  bench_loop limit;
  const char *text;
} shared[] = {
    {bench_limit_store, "a result stored where the caller wants it"},
    {bench_limit_atomics, "two atomic additions on a word"},
    {bench_limit_malloc, "malloc and free of 64 bytes"},
};

const char *bench_limit_text(const bench_case *row) {
  for (size_t i = 0; i < sizeof shared / sizeof shared[0]; ++i) {
    if (row->limit == shared[i].limit && !row->limit_is) return shared[i].text;
  }
  return row->limit_is;
}
