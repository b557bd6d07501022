/* forward.h: the runtime that code of this program calls by the ABI's names. */
#ifndef TVMFFI_BENCH_FORWARD_H_
#define TVMFFI_BENCH_FORWARD_H_

#include "bench.h"

/* A loop over code that is written against the ABI's functions (typed
 * functions, upstream's C++ headers) sets it first. Only this program calls
 * those that forward.c has: the libraries do not see them. */
extern const bench_lib *bench_runtime;

#endif /* TVMFFI_BENCH_FORWARD_H_ */
