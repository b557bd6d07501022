/* Runs a function on a thread with a small stack, and lets it run functions of
   the fuzzer itself, which need a large one, on the thread that waits. */
#ifndef FUZZ_SMALL_STACK_H_
#define FUZZ_SMALL_STACK_H_

#include <pthread.h>

#include "fuzz.h"

typedef void fuzz_job(void *context);

static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  fuzz_job *job; /* for the thread that waits, or NULL */
  void *context;
  fuzz_job *body;
  void *body_context;
  int is_small, is_done;
} fuzz_small = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, NULL,
                NULL, NULL, 0, 0};

/* Runs a job on the large stack, and waits for it. */
static void fuzz_on_large_stack(fuzz_job *job, void *context) {
  if (!fuzz_small.is_small) {
    job(context);
    return;
  }
  pthread_mutex_lock(&fuzz_small.lock);
  fuzz_small.context = context;
  fuzz_small.job = job;
  pthread_cond_broadcast(&fuzz_small.changed);
  while (fuzz_small.job)
    pthread_cond_wait(&fuzz_small.changed, &fuzz_small.lock);
  pthread_mutex_unlock(&fuzz_small.lock);
}

static void *fuzz_small_main(void *unused) {
  fuzz_small.body(fuzz_small.body_context);
  pthread_mutex_lock(&fuzz_small.lock);
  fuzz_small.is_done = 1;
  pthread_cond_broadcast(&fuzz_small.changed);
  pthread_mutex_unlock(&fuzz_small.lock);
  return unused;
}

/* Runs a body on a thread with a stack of `size` bytes. */
static void fuzz_on_small_stack(size_t size, fuzz_job *body, void *context) {
  pthread_attr_t attr;
  pthread_t thread;
  fuzz_small.body = body;
  fuzz_small.body_context = context;
  fuzz_small.is_small = 1;
  fuzz_small.is_done = 0;
  FUZZ_CHECK(pthread_attr_init(&attr) == 0);
  FUZZ_CHECK(pthread_attr_setstacksize(&attr, size) == 0);
  FUZZ_CHECK(pthread_create(&thread, &attr, fuzz_small_main, NULL) == 0);
  pthread_mutex_lock(&fuzz_small.lock);
  while (!fuzz_small.is_done) {
    if (fuzz_small.job) {
      fuzz_small.is_small = 0;
      fuzz_small.job(fuzz_small.context);
      fuzz_small.is_small = 1;
      fuzz_small.job = NULL;
      pthread_cond_broadcast(&fuzz_small.changed);
    } else {
      pthread_cond_wait(&fuzz_small.changed, &fuzz_small.lock);
    }
  }
  pthread_mutex_unlock(&fuzz_small.lock);
  fuzz_small.is_small = 0;
  FUZZ_CHECK(pthread_join(thread, NULL) == 0);
  (void)pthread_attr_destroy(&attr);
}

#endif /* FUZZ_SMALL_STACK_H_ */
