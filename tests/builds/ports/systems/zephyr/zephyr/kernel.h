/* A stand-in for Zephyr's kernel, on POSIX threads: the calls that
   packaging/zephyr and program.c use, with Zephyr's names and parameters. */

#ifndef STAND_IN_KERNEL_H_
#define STAND_IN_KERNEL_H_

#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "autoconf.h"

#define Z_THREAD_LOCAL __thread

/* -------- Time -------- */

typedef struct {
  int64_t ticks;
} k_timeout_t;
#define K_TICKS(n) ((k_timeout_t){n})
#define K_NO_WAIT K_TICKS(0)
#define K_FOREVER K_TICKS(-1)

/* Time does not matter here, only that other threads run. */
static inline int32_t k_sleep(k_timeout_t timeout) {
  (void)timeout;
  return sched_yield();
}

/* -------- Memory -------- */

extern long stand_in_blocks; /* allocated and not freed */

static inline void *k_aligned_alloc(size_t alignment, size_t size) {
  void *block = NULL;
  if (posix_memalign(&block, alignment, size)) return NULL;
  __atomic_add_fetch(&stand_in_blocks, 1, __ATOMIC_RELAXED);
  return block;
}

static inline void k_free(void *block) {
  if (block) __atomic_sub_fetch(&stand_in_blocks, 1, __ATOMIC_RELAXED);
  free(block);
}

/* -------- Locks -------- */

extern long stand_in_locks; /* how often a mutex and a spinlock were locked */
extern long stand_in_spins;

struct k_mutex {
  pthread_mutex_t mutex;
};
#define K_MUTEX_DEFINE(name) struct k_mutex name = {PTHREAD_MUTEX_INITIALIZER}

static inline int k_mutex_lock(struct k_mutex *mutex, k_timeout_t timeout) {
  (void)timeout;
  __atomic_add_fetch(&stand_in_locks, 1, __ATOMIC_RELAXED);
  return pthread_mutex_lock(&mutex->mutex);
}

static inline int k_mutex_unlock(struct k_mutex *mutex) {
  return pthread_mutex_unlock(&mutex->mutex);
}

struct k_spinlock {
  int locked;
};
typedef struct {
  int key;
} k_spinlock_key_t;

static inline k_spinlock_key_t k_spin_lock(struct k_spinlock *lock) {
  k_spinlock_key_t key = {7};
  __atomic_add_fetch(&stand_in_spins, 1, __ATOMIC_RELAXED);
  while (__atomic_exchange_n(&lock->locked, 1, __ATOMIC_ACQUIRE)) sched_yield();
  return key;
}

static inline void k_spin_unlock(struct k_spinlock *lock,
                                 k_spinlock_key_t key) {
  if (key.key != 7) abort(); /* not the key of k_spin_lock */
  __atomic_store_n(&lock->locked, 0, __ATOMIC_RELEASE);
}

/* -------- Threads -------- */

typedef void (*k_thread_entry_t)(void *, void *, void *);
typedef struct k_thread {
  pthread_t thread;
  k_thread_entry_t entry;
  void *arguments[3];
} *k_tid_t;
typedef char k_thread_stack_t;
#define K_THREAD_STACK_DEFINE(name, size) k_thread_stack_t name[size]
#define K_THREAD_STACK_SIZEOF(name) sizeof(name)

static inline void *stand_in_start(void *argument) {
  struct k_thread *t = (struct k_thread *)argument;
  t->entry(t->arguments[0], t->arguments[1], t->arguments[2]);
  return NULL;
}

static inline k_tid_t k_thread_create(struct k_thread *t,
                                      k_thread_stack_t *stack, size_t size,
                                      k_thread_entry_t entry, void *p1,
                                      void *p2, void *p3, int priority,
                                      uint32_t options, k_timeout_t delay) {
  (void)stack, (void)size, (void)priority, (void)options, (void)delay;
  t->entry = entry;
  t->arguments[0] = p1;
  t->arguments[1] = p2;
  t->arguments[2] = p3;
  if (pthread_create(&t->thread, NULL, stand_in_start, t)) abort();
  return t;
}

static inline int k_thread_join(struct k_thread *t, k_timeout_t timeout) {
  (void)timeout;
  return pthread_join(t->thread, NULL);
}

#endif
