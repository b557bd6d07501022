/* Threads: all threads may use functions, objects and the runtime's tables at
   the same time. Each thread has its own error slot, and owns what it uses:
   scopes are not shared. Here four threads share a counter, which the first
   call creates. */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(x) TVMFFI_TRY((x) ? 0 : TVMFFI_RAISE("AssertionError", "%s", #x))
#define THREADS 4
#define ROUNDS 10000

typedef struct {
  pthread_mutex_t lock;
  int64_t value;
} Counter;

static void *counter; /* set once, by TVMFFIHandleInitOnce */
static int made;      /* number of calls of counter_make */

static int counter_make(void **result) {
  Counter *self = (Counter *)calloc(1, sizeof(Counter));
  if (!self) return TVMFFI_RAISE("MemoryError", "no memory for a counter");
  pthread_mutex_init(&self->lock, NULL);
  ++made;
  *result = self;
  return 0;
}

static int counter_delete(void *handle) {
  pthread_mutex_destroy(&((Counter *)handle)->lock);
  free(handle);
  return 0;
}

/* The runtime does not guard a function's own data, so this one locks a mutex.
 */
TVMFFI_FUNC(count, int64, (int64, by)) {
  int64_t now;
  Counter *self;
  TVMFFI_TRY(TVMFFIHandleInitOnce(&counter, counter_make));
  self = (Counter *)counter;
  pthread_mutex_lock(&self->lock);
  now = self->value += by;
  pthread_mutex_unlock(&self->lock);
  TVMFFI_RETURN(now);
}

/* Runs in each thread. All threads share the function object. */
static int work(TVMFFIObject *function) {
  int64_t now = 0;
  int i;
  for (i = 0; i < ROUNDS; ++i) {
    TVMFFI_TRY(tvmffi_call(function, &now, 1));
    TVMFFI_TRY(tvmffi_call("demo.count", &now, 1)); /* lookup without a lock */
    CHECK(now >= 2);
  }
  CHECK(tvmffi_call(function, NULL, "one"));
  tvmffi_error_clear(); /* clears only this thread's error */
  return 0;
}

typedef struct {
  pthread_t thread;
  TVMFFIObject *function; /* the thread's own reference */
} Worker;

static void *thread_main(void *arg) {
  Worker *self = (Worker *)arg;
  int failed = work(self->function);
  if (failed) tvmffi_error_print(stderr);
  tvmffi_release(self->function);
  return failed ? arg : NULL;
}

static int run_threads(TVMFFIObject *function) {
  Worker workers[THREADS] = {0};
  int started = 0, failed = 0, i;
  for (; started < THREADS; ++started) {
    Worker *worker = &workers[started];
    tvmffi_keep(&worker->function, function);
    if (!pthread_create(&worker->thread, NULL, thread_main, worker)) continue;
    tvmffi_release(worker->function); /* there is no such thread */
    break;
  }
  for (i = 0; i < started; ++i) {
    void *result = NULL;
    pthread_join(workers[i].thread, &result);
    failed += result != NULL;
  }
  CHECK(started == THREADS && failed == 0);
  return 0;
}

TVMFFI_MAIN() {
  TVMFFIObject *function;
  int64_t total = 0;
  TVMFFI_TRY(TVMFFI_REGISTER("demo.count", count));
  TVMFFI_TRY(TVMFFI_FUNCTION_NEW(count, &function));
  TVMFFI_TRY(run_threads(function));
  TVMFFI_TRY(tvmffi_call(function, &total, 0));
  CHECK(total == 2 * THREADS * ROUNDS && made == 1);
  TVMFFI_TRY(TVMFFIHandleDeinitOnce(&counter, counter_delete));
  CHECK(!counter);
  printf("%d threads counted to %d\n", THREADS, (int)total);
  return 0;
}
