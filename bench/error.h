/* error.h: the limit of an error that has a backtrace. */
#ifndef TVMFFI_BENCH_ERROR_H_
#define TVMFFI_BENCH_ERROR_H_

#include "bench.h"

/* One walk up the stack by the unwinder, which turns no address into text. */
void bench_limit_walk(const bench_lib *lib, void *state, long n);

#endif /* TVMFFI_BENCH_ERROR_H_ */
