/* Threads: all threads may use functions, objects and the runtime's tables at
   the same time. Each thread has its own error slot. Here four threads share a
   counter, which the first call creates. */
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

static void *thread_main(void *arg) {
  int failed = work((TVMFFIObject *)arg);
  if (failed) tvmffi_error_print(stderr);
  tvmffi_release(arg); /* this thread's reference */
  return failed ? arg : NULL;
}

static int run_threads(TVMFFIObject *function) {
  pthread_t threads[THREADS];
  int started = 0, failed = 0, i;
  for (; started < THREADS; ++started) {
    tvmffi_retain(function);
    if (pthread_create(&threads[started], NULL, thread_main, function)) break;
  }
  if (started < THREADS) tvmffi_release(function); /* no thread owns it */
  for (i = 0; i < started; ++i) {
    void *result = NULL;
    pthread_join(threads[i], &result);
    failed += result != NULL;
  }
  CHECK(started == THREADS && failed == 0);
  return 0;
}

static int run(void) {
  TVMFFIObject *function = NULL;
  int64_t total = 0;
  TVMFFI_TRY(tvmffi_register("demo.count", count));
  TVMFFI_TRY(tvmffi_function_new(count, &function));
  TVMFFI_TRY(run_threads(function));
  TVMFFI_TRY(tvmffi_call(function, &total, 0));
  CHECK(total == 2 * THREADS * ROUNDS && made == 1);
  tvmffi_release(function);
  TVMFFI_TRY(TVMFFIHandleDeinitOnce(&counter, counter_delete));
  CHECK(!counter);
  printf("%d threads counted to %d\n", THREADS, (int)total);
  return 0;
}

int main(void) {
  if (!run()) return 0;
  tvmffi_error_print(stderr);
  return 1;
}
