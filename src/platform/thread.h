/* ======== Threads: locks and the state of threads ====== >>platform/thread */

#pragma once

#include "../head.h"
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
   an accessor. One thread-local variable holds the small structs, and an
   allocated block the others: see tables/thread_state.h. */
typedef struct tvmffi_i_thread tvmffi_i_thread;

/* Returns the calling thread's state, zeroed at first. Never returns NULL. */
TVMFFI_I_INLINE tvmffi_i_thread *tvmffi_i_self(void);

/* Declares `type *accessor(void)`, which returns one struct of the calling
   thread's state. */
#define TVMFFI_I_THREAD_STATE(type, accessor) \
  TVMFFI_I_INLINE type *accessor(void)

/* Declares the accessor of a struct in the thread's block. Before
   tvmffi_i_need_block has returned 1, the struct is zero and must not be
   written, because threads without a block share it. */
#define TVMFFI_I_BLOCK_STATE(type, accessor) \
  TVMFFI_I_THREAD_STATE(type, accessor)

/* Ensures that the thread has a block. Returns 1, or 0 if out of memory. */
TVMFFI_I_INLINE int tvmffi_i_need_block(void);

#if TVMFFI_NO_THREADS || defined(TVMFFI_LOCK)
/* Without pthreads, there is no condition variable to wake and no cancellation
   to disable. */
TVMFFI_I_INLINE void tvmffi_i_wake(void) {}
TVMFFI_I_INLINE int tvmffi_i_hold_cancel(void) { return 0; }
TVMFFI_I_INLINE void tvmffi_i_free_cancel(int state) { (void)state; }
#endif

/* With assertions, each thread remembers whether it holds the mutex.
   TVMFFI_I_IS_LOCKED and TVMFFI_I_IS_FREE are for assertions only. */
#if TVMFFI_I_ASSERTS && !TVMFFI_NO_THREADS && !defined(TVMFFI_LOCK) && \
    defined(TVMFFI_I_THREAD)
static TVMFFI_I_THREAD int tvmffi_i_holds_mutex;
#define TVMFFI_I_NOTE_MUTEX(held) (tvmffi_i_holds_mutex = (held))
#define TVMFFI_I_IS_LOCKED (tvmffi_i_holds_mutex)
#define TVMFFI_I_IS_FREE (!tvmffi_i_holds_mutex)
#else
#define TVMFFI_I_NOTE_MUTEX(held) ((void)0)
#define TVMFFI_I_IS_LOCKED 1
#define TVMFFI_I_IS_FREE 1
#endif

#if TVMFFI_NO_THREADS
/* The only thread ends with the program. */
TVMFFI_I_INLINE int tvmffi_i_watch_exit(void) { return 1; }
TVMFFI_I_INLINE void tvmffi_i_lock(void) {}
TVMFFI_I_INLINE void tvmffi_i_unlock(void) {}
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
/* Lets other threads run. `attempt` counts the calls of one wait. */
TVMFFI_I_INLINE void tvmffi_i_pause(int attempt) {
  (void)attempt;
#if defined(TVMFFI_YIELD)
  TVMFFI_YIELD();
#endif
}
TVMFFI_I_INLINE void tvmffi_i_sleep(void) {
  tvmffi_i_unlock();
  tvmffi_i_pause(0);
  tvmffi_i_lock();
}
#else
/* The runtime's one mutex serializes the writers of all tables that threads
   share; docs/contributing.md lists them. tvmffi_i_changed signals the end of
   an initialization. */
static pthread_mutex_t tvmffi_i_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t tvmffi_i_changed = PTHREAD_COND_INITIALIZER;

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

/* Sleeps. A thread is not cancelled meanwhile: callers have work to finish. */
TVMFFI_I_COLD void tvmffi_i_nap(int ms) {
  const int cancel = tvmffi_i_hold_cancel();
  TVMFFI_ASSERT(ms > 0 && ms < 1000); /* tv_nsec is below a second */
#if defined(_WIN32)
  struct timespec t = {0, 0};
  t.tv_nsec = ms * 1000000L;
  (void)nanosleep(&t, NULL);
#else
  (void)poll(NULL, 0, ms);
#endif
  tvmffi_i_free_cancel(cancel);
}

/* Lets other threads run. `attempt` counts the calls of one wait: the first
   calls yield, later ones sleep, up to 8 ms each, because a thread of lower
   priority does not run while this one yields. */
TVMFFI_I_COLD void tvmffi_i_pause(int attempt) {
  enum { YIELDS = 32 };
  if (attempt < YIELDS)
    (void)sched_yield();
  else
    tvmffi_i_nap(attempt < YIELDS + 24 ? 1 << (attempt - YIELDS) / 8 : 8);
}

#if TVMFFI_I_FORK
/* Registers the fork handlers of tables/thread_state.h when the mutex is first
   used. */
static void tvmffi_i_watch_fork(void);

/* Twice the id of the process that this state belongs to, or 0 before the first
   lock. In a child of fork whose handlers did not run, this is still the id of
   the parent. The number is odd while tvmffi_i_lock_in_child initializes the
   mutex again. */
static uint64_t tvmffi_i_process;

/* Removes the parent's other threads from this process's lock-free data, and
   stores the process's id. Defined in tables/thread_state.h. */
static void tvmffi_i_forget_parent(void);

/* Returns 1 in a child process whose fork ran no handler of this file. A fork
   runs only the handlers that were registered when it began, so there is none
   if the runtime's first use was during the fork. */
TVMFFI_I_COLD int tvmffi_i_is_unknown_child(void) {
  return tvmffi_i_load64(&tvmffi_i_process) >> 1 != (uint64_t)getpid();
}

/* Locks the mutex in a child process whose fork ran no handler. A thread of
   the parent may have held the mutex, so it is initialized again if it stays
   locked for a tenth of a second. The name tables need no repair: lock-free
   readers require that they are consistent after each store. A start that the
   fork interrupted is repeated from its beginning. */
TVMFFI_I_COLD void tvmffi_i_lock_in_child(void) {
  const uint64_t busy = (uint64_t)getpid() << 1 | 1;
  uint64_t old;
  int i, locked = 0;
  TVMFFI_I_NOTE_MUTEX(1);
  for (i = 0; i < 100 && !locked; ++i) {
    locked = pthread_mutex_trylock(&tvmffi_i_mutex) == 0;
    if (!locked) tvmffi_i_nap(1);
  }
  old = tvmffi_i_load64(&tvmffi_i_process);
  if (!locked && old >> 1 != busy >> 1 &&
      tvmffi_i_cas64(&tvmffi_i_process, &old, busy)) {
    (void)pthread_mutex_init(&tvmffi_i_mutex, NULL);
    (void)pthread_mutex_lock(&tvmffi_i_mutex);
    tvmffi_i_forget_parent();
    return;
  }
  while (tvmffi_i_load64(&tvmffi_i_process) == busy) tvmffi_i_nap(1);
  if (!locked) (void)pthread_mutex_lock(&tvmffi_i_mutex);
  if (tvmffi_i_is_unknown_child()) tvmffi_i_forget_parent();
}
#endif

/* Locks the runtime's mutex, only to write shared tables or to initialize. A
   thread that holds the mutex raises no error, and calls no outside code but
   TVMFFI_MALLOC and TVMFFI_FREE, which must not call the runtime. */
static void tvmffi_i_lock(void) {
  TVMFFI_ASSERT(TVMFFI_I_IS_FREE);
  TVMFFI_I_NOTE_MUTEX(1);
#if TVMFFI_I_FORK
  if (TVMFFI_I_UNLIKELY(!tvmffi_i_load64(&tvmffi_i_process)))
    tvmffi_i_watch_fork();
  if (TVMFFI_I_LIKELY(pthread_mutex_trylock(&tvmffi_i_mutex) == 0)) return;
  if (tvmffi_i_is_unknown_child()) {
    tvmffi_i_lock_in_child();
    return;
  }
#endif
  (void)pthread_mutex_lock(&tvmffi_i_mutex);
}
static void tvmffi_i_unlock(void) {
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED);
  TVMFFI_I_NOTE_MUTEX(0);
  (void)pthread_mutex_unlock(&tvmffi_i_mutex);
}
/* Waits for tvmffi_i_wake, or returns early. */
TVMFFI_I_INLINE void tvmffi_i_sleep(void) {
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED);
#if TVMFFI_I_FORK
  if (tvmffi_i_is_unknown_child()) {
    tvmffi_i_forget_parent();
    return;
  }
#endif
  (void)pthread_cond_wait(&tvmffi_i_changed, &tvmffi_i_mutex);
}
TVMFFI_I_INLINE void tvmffi_i_wake(void) {
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED);
  (void)pthread_cond_broadcast(&tvmffi_i_changed);
}
#endif
#endif
