/* one_thread.h: reference counts in a build without threads (one_thread.c). */
#ifndef TVMFFI_BENCH_ONE_THREAD_H_
#define TVMFFI_BENCH_ONE_THREAD_H_

#include "bench.h"

void bench_plain_pair_stock(const bench_lib *lib, void *state, long n);
void bench_plain_pair_ours(const bench_lib *lib, void *state, long n);
void bench_limit_plain_pair(const bench_lib *lib, void *state, long n);

#endif /* TVMFFI_BENCH_ONE_THREAD_H_ */
