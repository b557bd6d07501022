/* threads.c: the second thread of the rows that have two. */
#define _GNU_SOURCE
#include "threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

static struct {
  pthread_t thread;
  int users;
  bench_loop loop;
  const bench_lib *lib;
  void *state;
  long n;
  int ready, go, end; /* atomic */
} second;

/* Away from the first thread's processor, to which the harness has bound it.
 * Where there is no other, the two share one. */
static void move_away(void) {
#ifdef __linux__
  cpu_set_t here, there;
  long count = sysconf(_SC_NPROCESSORS_CONF);
  if (sched_getaffinity(0, sizeof here, &here) != 0) return;
  CPU_ZERO(&there);
  for (long cpu = 0; cpu < count && cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &here)) CPU_SET(cpu, &there);
  }
  (void)sched_setaffinity(0, sizeof there, &there);
#endif
}

static void wait_for(const int *flag) {
  for (long spins = 0; !__atomic_load_n(flag, __ATOMIC_ACQUIRE); ++spins) {
    if (spins > 10000) sched_yield();
  }
}

static void *serve(void *unused) {
  (void)unused;
  move_away();
  __atomic_store_n(&second.ready, 1, __ATOMIC_RELEASE);
  for (;;) {
    wait_for(&second.go);
    if (second.end) return NULL;
    second.loop(second.lib, second.state, second.n);
    __atomic_store_n(&second.go, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&second.ready, 1, __ATOMIC_RELEASE);
  }
}

void bench_pair_start(void) {
  if (second.users++ != 0) return;
  second.end = second.ready = second.go = 0;
  if (pthread_create(&second.thread, NULL, serve, NULL) != 0) abort();
  wait_for(&second.ready);
}

void bench_pair_stop(void) {
  if (--second.users != 0) return;
  second.end = 1;
  __atomic_store_n(&second.go, 1, __ATOMIC_RELEASE);
  pthread_join(second.thread, NULL);
}

void bench_in_pair(bench_loop loop, const bench_lib *lib, void *mine,
                   void *other, long n) {
  second.loop = loop;
  second.lib = lib;
  second.state = other;
  second.n = n;
  __atomic_store_n(&second.ready, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&second.go, 1, __ATOMIC_RELEASE);
  loop(lib, mine, n);
  wait_for(&second.ready);
}
