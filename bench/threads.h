/* threads.h: the same work by two threads at a time. */
#ifndef TVMFFI_BENCH_THREADS_H_
#define TVMFFI_BENCH_THREADS_H_

#include "bench.h"

/* Lets a second thread, on another processor if there is one, do `loop` with
 * `other` while this one does it with `mine`; returns when both have ended. */
void bench_in_pair(bench_loop loop, const bench_lib *lib, void *mine,
                   void *other, long n);

/* The second thread waits for work between rounds without sleeping, so that a
 * round begins at once: rows of two threads begin their setup and end their
 * teardown with these. Each runtime's setup counts. */
void bench_pair_start(void);
void bench_pair_stop(void);

#endif /* TVMFFI_BENCH_THREADS_H_ */
