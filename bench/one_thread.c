/* one_thread.c: a reference taken and given back by inline functions that were
 * compiled with TVMFFI_NO_THREADS, as in a program of one thread. */
#define TVMFFI_NO_THREADS 1
#include "one_thread.h"

BENCH_INLINE void plain_pair(void *state, long n) {
  for (long i = 0; i < n; ++i) {
    tvmffi_retain(state);
    bench_keep(state);
    tvmffi_release(state);
    bench_keep(state);
  }
}

void bench_plain_pair_stock(const bench_lib *lib, void *state, long n) {
  (void)lib;
  plain_pair(state, n);
}

void bench_plain_pair_ours(const bench_lib *lib, void *state, long n) {
  (void)lib;
  plain_pair(state, n);
}

void bench_limit_plain_pair(const bench_lib *lib, void *state, long n) {
  static uint64_t count = 1;
  (void)lib;
  (void)state;
  for (long i = 0; i < n; ++i) {
    bench_keep(&count);
    ++count;
    bench_keep(&count);
    if (--count == 0) break;
  }
}
