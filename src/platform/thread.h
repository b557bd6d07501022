/* ======== Threads: locks, thread exit, fork ============ >>platform/thread */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/atomic.h"
#include "libc.h"
#include "thread_state.h"
#include "knot.h"

/* 1 in a child of fork. */
TVMFFI_I_UNUSED static int tvmffi_i_is_child;

#if TVMFFI_NO_THREADS
static tvmffi_i_thread tvmffi_i_the_thread;
TVMFFI_I_INLINE tvmffi_i_thread *tvmffi_i_self(void) {
  return &tvmffi_i_the_thread;
}
TVMFFI_I_INLINE void tvmffi_i_watch_exit(tvmffi_i_thread *t) {
  t->exit_is_set = 1; /* it never ends */
}
TVMFFI_I_INLINE void tvmffi_i_lock(void) {}
TVMFFI_I_INLINE void tvmffi_i_unlock(void) {}
TVMFFI_I_INLINE void tvmffi_i_yield(void) {}
TVMFFI_I_INLINE void tvmffi_i_sleep(void) {}
TVMFFI_I_INLINE void tvmffi_i_wake(void) {}
TVMFFI_I_INLINE int tvmffi_i_hold_cancel(void) { return 0; }
TVMFFI_I_INLINE void tvmffi_i_free_cancel(int state) { (void)state; }
#else
#if defined(_WIN32) && !defined(TVMFFI_LOCK) && !defined(TVMFFI_THREAD_LOCAL)
static tvmffi_i_thread *tvmffi_i_self(void);
#elif defined(TVMFFI_I_THREAD)
static TVMFFI_I_THREAD tvmffi_i_thread tvmffi_i_the_thread;
/* The compiler must not know where the pointer comes from: it would ask for the
   thread's memory anew after each call, and in a shared library that is a
   call, too. */
TVMFFI_I_INLINE tvmffi_i_thread *tvmffi_i_self(void) {
  tvmffi_i_thread *self = &tvmffi_i_the_thread;
#if TVMFFI_I_GNU
  __asm__("" : "+r"(self));
#endif
  return self;
}
#else
TVMFFI_I_INLINE tvmffi_i_thread *tvmffi_i_self(void) {
  return TVMFFI_I_OF_THREAD(tvmffi_i_thread, TVMFFI_I_KEY_THREAD);
}
#endif

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
TVMFFI_I_INLINE void tvmffi_i_wake(void) {}
TVMFFI_I_INLINE int tvmffi_i_hold_cancel(void) { return 0; }
TVMFFI_I_INLINE void tvmffi_i_free_cancel(int state) { (void)state; }

#if defined(__cplusplus)
extern "C" {
#endif
TVMFFI_I_UNUSED static void tvmffi_i_on_exit(void *thread) {
  tvmffi_i_thread_exit((tvmffi_i_thread *)thread);
}
#if defined(__cplusplus)
}
#endif
TVMFFI_I_COLD void tvmffi_i_watch_exit(tvmffi_i_thread *t) {
#if defined(TVMFFI_AT_THREAD_END)
  t->exit_is_set = TVMFFI_AT_THREAD_END(tvmffi_i_on_exit, t) != 0;
#else
  t->exit_is_set = 0;
#endif
}
#else
static pthread_mutex_t tvmffi_i_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t tvmffi_i_changed = PTHREAD_COND_INITIALIZER;
#if TVMFFI_I_FORK
static pthread_once_t tvmffi_i_fork_once = PTHREAD_ONCE_INIT;
#endif
static pthread_key_t tvmffi_i_exit_key;
static int tvmffi_i_has_exit_key;

static void tvmffi_i_lock(void);
static void tvmffi_i_unlock(void);
TVMFFI_I_INLINE void tvmffi_i_yield(void) { (void)sched_yield(); }

/* Waits for tvmffi_i_wake, both with the mutex held. */
TVMFFI_I_INLINE void tvmffi_i_sleep(void) {
  (void)pthread_cond_wait(&tvmffi_i_changed, &tvmffi_i_mutex);
}
TVMFFI_I_INLINE void tvmffi_i_wake(void) {
  (void)pthread_cond_broadcast(&tvmffi_i_changed);
}

/* Between the two a thread that is cancelled goes on. */
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

#if defined(__cplusplus)
extern "C" {
#endif
static void tvmffi_i_on_exit(void *thread) {
#if defined(_WIN32)
  int rounds = 4;      /* POSIX systems call it as often */
  if (!thread) return; /* once more, as a NULL was set */
  (void)pthread_setspecific(tvmffi_i_exit_key, thread);
  do tvmffi_i_thread_exit((tvmffi_i_thread *)thread);
  while (((tvmffi_i_thread *)thread)->error && --rounds);
  (void)pthread_setspecific(tvmffi_i_exit_key, NULL);
  free(thread);
#else
  tvmffi_i_thread_exit((tvmffi_i_thread *)thread);
#endif
}
#if TVMFFI_I_FORK
/* A child of fork has one thread: the one that called fork. The locks are held
   across the fork, so all that they guard is whole in the child. The child then
   removes the traces of threads that it does not have from what is changed
   without a lock. These handlers only read and write memory. They are
   registered with the first use of the mutex: before that no global function
   is registered and no handle is being made. */
static void tvmffi_i_before_fork(void) {
  tvmffi_i_lock();
#if TVMFFI_DEBUG
  tvmffi_i_debug_lock();
#endif
}
static void tvmffi_i_after_fork(void) {
#if TVMFFI_DEBUG
  tvmffi_i_debug_unlock();
#endif
  tvmffi_i_unlock();
}
static void tvmffi_i_in_child(void) {
  TVMFFI_I_STORE(&tvmffi_i_is_child, 1);
  tvmffi_i_forget_readers();
  tvmffi_i_forget_makers();
  /* It may count waiting threads, and is undefined in the child. */
  (void)pthread_cond_init(&tvmffi_i_changed, NULL);
  tvmffi_i_after_fork();
}
static void tvmffi_i_watch_fork(void) {
  (void)pthread_atfork(tvmffi_i_before_fork, tvmffi_i_after_fork,
                       tvmffi_i_in_child);
}
#endif
#if defined(__cplusplus)
}
#endif

/* The mutex is only taken where something is written or started. A process
   that forks while another of its threads holds it gets a child in which it is
   free. */
static void tvmffi_i_lock(void) {
#if TVMFFI_I_FORK
  (void)pthread_once(&tvmffi_i_fork_once, tvmffi_i_watch_fork);
#endif
  (void)pthread_mutex_lock(&tvmffi_i_mutex);
}
static void tvmffi_i_unlock(void) {
  (void)pthread_mutex_unlock(&tvmffi_i_mutex);
}

#if defined(_WIN32)
/* A thread's state is the value of its key: GCC's thread-local storage is made
   of keys here, and may be gone before ours is. Threads that find no memory for
   their state share one. */
TVMFFI_I_SLOW tvmffi_i_thread *tvmffi_i_new_thread(void) {
  static pthread_mutex_t mutex =
      PTHREAD_MUTEX_INITIALIZER; /* ours may be held */
  static tvmffi_i_thread shared;
  tvmffi_i_thread *t;
  int has;
  (void)pthread_mutex_lock(&mutex);
  has = tvmffi_i_has_exit_key ||
        pthread_key_create(&tvmffi_i_exit_key, tvmffi_i_on_exit) == 0;
  TVMFFI_I_STORE(&tvmffi_i_has_exit_key, has);
  (void)pthread_mutex_unlock(&mutex);
  t = has ? (tvmffi_i_thread *)calloc(1, sizeof(*t)) : NULL;
  if (!t) return &shared;
  t->exit_is_set = 1;
  if (pthread_setspecific(tvmffi_i_exit_key, t) == 0) return t;
  free(t);
  return &shared;
}
static tvmffi_i_thread *tvmffi_i_self(void) {
  void *t = TVMFFI_I_LOAD(&tvmffi_i_has_exit_key)
                ? pthread_getspecific(tvmffi_i_exit_key)
                : NULL;
  return TVMFFI_I_LIKELY(t != NULL) ? (tvmffi_i_thread *)t
                                    : tvmffi_i_new_thread();
}
TVMFFI_I_INLINE void tvmffi_i_watch_exit(tvmffi_i_thread *t) { (void)t; }
#else
/* Asks for tvmffi_i_thread_exit at the end of this thread. Where the system
   refuses, the thread's last error stays in memory. */
TVMFFI_I_COLD void tvmffi_i_watch_exit(tvmffi_i_thread *t) {
  int has;
  tvmffi_i_lock();
  has = tvmffi_i_has_exit_key ||
        pthread_key_create(&tvmffi_i_exit_key, tvmffi_i_on_exit) == 0;
  tvmffi_i_has_exit_key = has;
  tvmffi_i_unlock();
  t->exit_is_set = has && pthread_setspecific(tvmffi_i_exit_key, t) == 0;
}
#endif

/* A library that is unloaded while threads live must leave no address of its
   own behind. The memory that it keeps for other threads than this one is lost
   with it. Memory of a TVMFFI_FREE stays: at the program's end that may be no
   more. */
#if TVMFFI_I_GNU
__attribute__((__destructor__)) static void tvmffi_i_unload(void) {
#if TVMFFI_I_POOL && !defined(TVMFFI_MALLOC)
  tvmffi_i_pool_end(tvmffi_i_self());
#endif
  tvmffi_i_lock();
  if (tvmffi_i_has_exit_key) (void)pthread_key_delete(tvmffi_i_exit_key);
  tvmffi_i_has_exit_key = 0;
  tvmffi_i_unlock();
}
#endif
#endif
#endif
