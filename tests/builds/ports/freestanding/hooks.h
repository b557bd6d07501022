/* A port whose hooks are all there: the runtime takes its threads, its mutex
   and its atomics from here and nothing from libc, so the unit tests show on
   any machine that the hooks suffice. HOOKS_MASK=1: the atomics of a core that
   can only mask interrupts, for which one lock stands here. */

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>

#define TVMFFI_FREESTANDING 1
#define TVMFFI_NO_OWN_STRING 1
#define TVMFFI_NO_THREADS 0

static pthread_mutex_t hooks_mutex = PTHREAD_MUTEX_INITIALIZER;
#define TVMFFI_LOCK() ((void)pthread_mutex_lock(&hooks_mutex))
#define TVMFFI_UNLOCK() ((void)pthread_mutex_unlock(&hooks_mutex))
#define TVMFFI_YIELD() ((void)sched_yield())

/* A thread's variables: found by their keys, in the order of first use. */
enum { HOOKS_KEYS = 8, HOOKS_SIZE = 512 };
typedef struct {
  const void *key[HOOKS_KEYS];
  uint64_t memory[HOOKS_KEYS][HOOKS_SIZE / 8];
  void (*end)(void *);
  void *state;
} hooks_thread;
static __thread hooks_thread hooks_this_thread;
static pthread_key_t hooks_end_key;
static pthread_once_t hooks_once = PTHREAD_ONCE_INIT;

static inline void *hooks_local(const void *key, size_t size) {
  hooks_thread *t = &hooks_this_thread;
  int i = 0;
  if (size > HOOKS_SIZE) __builtin_trap();
  while (t->key[i] && t->key[i] != key)
    if (++i == HOOKS_KEYS) __builtin_trap();
  t->key[i] = key;
  return t->memory[i];
}
#define TVMFFI_THREAD_LOCAL(key, size) hooks_local(key, size)

static void hooks_ends(void *thread) {
  hooks_thread *t = (hooks_thread *)thread;
  t->end(t->state);
}
static void hooks_begin(void) {
  (void)pthread_key_create(&hooks_end_key, hooks_ends);
}
static inline int hooks_at_end(void (*end)(void *), void *state) {
  hooks_this_thread.end = end;
  hooks_this_thread.state = state;
  (void)pthread_once(&hooks_once, hooks_begin);
  return pthread_setspecific(hooks_end_key, &hooks_this_thread) == 0;
}
#define TVMFFI_AT_THREAD_END(function, state) hooks_at_end(function, state)

#if HOOKS_MASK
static int hooks_masked;
static inline uintptr_t hooks_enter(void) {
  while (__atomic_exchange_n(&hooks_masked, 1, __ATOMIC_SEQ_CST)) sched_yield();
  return 1;
}
#define TVMFFI_ATOMIC_ENTER() hooks_enter()
#define TVMFFI_ATOMIC_LEAVE(was) \
  ((void)(was), __atomic_store_n(&hooks_masked, 0, __ATOMIC_SEQ_CST))
#else
#define TVMFFI_ATOMIC_CAS(p, old, now) __sync_val_compare_and_swap(p, old, now)
#define TVMFFI_ATOMIC_LOAD(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define TVMFFI_ATOMIC_STORE(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#endif
