/* ======== Threads: locks and the state of threads ====== >>platform/thread */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "libc.h"

/* 1 if the runtime registers fork handlers. */
#if TVMFFI_NO_THREADS || defined(TVMFFI_LOCK) || defined(_WIN32)
#define TVMFFI_I_FORK 0
#else
#define TVMFFI_I_FORK 1
#endif

/* Set to 1 in a child process after fork. */
TVMFFI_I_UNUSED static int tvmffi_i_is_child;

/* All state of one thread. Each file declares a struct for its own state, and
   an accessor. One thread-local variable holds all structs:
   see tables/thread.h. */
typedef struct tvmffi_i_thread tvmffi_i_thread;

/* Returns the calling thread's state, zeroed at first. Never returns NULL. */
TVMFFI_I_INLINE tvmffi_i_thread *tvmffi_i_self(void);

/* Declares `type *accessor(void)`, which returns one struct of the calling
   thread's state. */
#define TVMFFI_I_THREAD_STATE(type, accessor) \
  TVMFFI_I_INLINE type *accessor(void)

#if TVMFFI_NO_THREADS || defined(TVMFFI_LOCK)
/* Without pthreads, there is no condition variable to wake and no cancellation
   to disable. */
TVMFFI_I_INLINE void tvmffi_i_wake(void) {}
TVMFFI_I_INLINE int tvmffi_i_hold_cancel(void) { return 0; }
TVMFFI_I_INLINE void tvmffi_i_free_cancel(int state) { (void)state; }
#endif

#if TVMFFI_NO_THREADS
/* The only thread ends with the program. */
TVMFFI_I_INLINE int tvmffi_i_watch_exit(void) { return 1; }
TVMFFI_I_INLINE void tvmffi_i_lock(void) {}
TVMFFI_I_INLINE void tvmffi_i_unlock(void) {}
TVMFFI_I_INLINE void tvmffi_i_yield(void) {}
TVMFFI_I_INLINE void tvmffi_i_sleep(void) {}
#else
/* Returns the address of a flag, which is 1 if tvmffi_i_on_exit will run when
   the thread ends. */
TVMFFI_I_THREAD_STATE(int, tvmffi_i_thread_exit_is_set);

/* Registers tvmffi_i_on_exit to run when the calling thread ends. */
TVMFFI_I_COLD void tvmffi_i_set_exit(void);

/* Ensures that the thread's state is freed when the thread ends. Returns 1, or
   0 if the system refuses. */
TVMFFI_I_INLINE int tvmffi_i_watch_exit(void) {
  const int *is_set = tvmffi_i_thread_exit_is_set();
  if (TVMFFI_I_UNLIKELY(!*is_set)) tvmffi_i_set_exit();
  return *is_set;
}

#if defined(TVMFFI_LOCK)
TVMFFI_I_INLINE void tvmffi_i_lock(void) { TVMFFI_LOCK(); }
TVMFFI_I_INLINE void tvmffi_i_unlock(void) { TVMFFI_UNLOCK(); }
TVMFFI_I_INLINE void tvmffi_i_yield(void) {
#if defined(TVMFFI_YIELD)
  TVMFFI_YIELD();
#endif
}
TVMFFI_I_INLINE void tvmffi_i_sleep(void) {
  tvmffi_i_unlock();
  tvmffi_i_yield();
  tvmffi_i_lock();
}
#else
static pthread_mutex_t tvmffi_i_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t tvmffi_i_changed = PTHREAD_COND_INITIALIZER;

#if TVMFFI_I_FORK
/* Registers the fork handlers of tables/thread.h when the mutex is first
   used. */
#if defined(__cplusplus)
extern "C" {
#endif
static void tvmffi_i_watch_fork(void);
#if defined(__cplusplus)
}
#endif
#endif

/* Locks the runtime's mutex, only to write shared tables or to initialize. A
   thread that holds the mutex raises no error, and calls no outside code but
   TVMFFI_MALLOC, which must not call the runtime. */
static void tvmffi_i_lock(void) {
#if TVMFFI_I_FORK
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, tvmffi_i_watch_fork);
#endif
  (void)pthread_mutex_lock(&tvmffi_i_mutex);
}
static void tvmffi_i_unlock(void) {
  (void)pthread_mutex_unlock(&tvmffi_i_mutex);
}
TVMFFI_I_INLINE void tvmffi_i_yield(void) { (void)sched_yield(); }

/* Waits for tvmffi_i_wake. tvmffi_i_sleep and tvmffi_i_wake need the mutex. */
TVMFFI_I_INLINE void tvmffi_i_sleep(void) {
  (void)pthread_cond_wait(&tvmffi_i_changed, &tvmffi_i_mutex);
}
TVMFFI_I_INLINE void tvmffi_i_wake(void) {
  (void)pthread_cond_broadcast(&tvmffi_i_changed);
}

/* Disables thread cancellation. Returns the old state for
   tvmffi_i_free_cancel. */
TVMFFI_I_INLINE int tvmffi_i_hold_cancel(void) {
  int state = 0;
#if defined(PTHREAD_CANCEL_DISABLE)
  (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
#endif
  return state;
}
TVMFFI_I_INLINE void tvmffi_i_free_cancel(int state) {
#if defined(PTHREAD_CANCEL_DISABLE)
  (void)pthread_setcancelstate(state, &state);
#else
  (void)state;
#endif
}
#endif
#endif
