/* ======== Thread table ================================= >>tables/thread_state
   all state of a thread, its end, fork */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../modules.h"

/* On Windows, a pthread key's value is a thread's state, not a __thread
   variable: GCC emulates __thread there with a key of its own, and may free a
   thread's variables before tvmffi_i_on_exit runs. */
#if defined(_WIN32) && !TVMFFI_NO_THREADS && !defined(TVMFFI_LOCK) && \
    !defined(TVMFFI_THREAD_LOCAL)
#define TVMFFI_I_STATE_OF_KEY 1
#else
#define TVMFFI_I_STATE_OF_KEY 0
#endif

/* 1 if a thread-local variable has the small part of a thread's state, and
   TVMFFI_MALLOC gives the block. Static TLS is scarce, and other TLS may end
   the process for lack of memory: see head/atomic.h. */
#if !TVMFFI_NO_THREADS && defined(TVMFFI_I_THREAD) && !TVMFFI_I_STATE_OF_KEY
#define TVMFFI_I_SPLIT_THREAD 1
#else
#define TVMFFI_I_SPLIT_THREAD 0
#endif

/* The state of a thread that needs memory anyway, or may fail for lack of it.
   The large members come last, so that most offsets fit in a byte. */
typedef struct tvmffi_i_thread_block {
#if TVMFFI_I_POOL
  tvmffi_i_pool pool;
#endif
  tvmffi_i_records streams;
  DLPackManagedTensorAllocator allocator;
  tvmffi_i_trace_text trace;
#if !TVMFFI_NO_TYPES
  tvmffi_i_nesting nesting;
#endif
#if !TVMFFI_NO_CONTAINERS
  tvmffi_i_guards guards;
#endif
#if TVMFFI_I_SPLIT_THREAD
  /* Set only if the system refuses a key, so that no function runs when the
     thread ends: see tvmffi_i_end_left_block. */
  TVMFFIObject *error; /* the thread's pending error, or NULL */
  const tvmffi_i_thread *owner;
  struct tvmffi_i_thread_block *next;
#endif
} tvmffi_i_thread_block;

/* All state of a thread. */
struct tvmffi_i_thread {
  tvmffi_i_error_slot error;
  tvmffi_i_initializer *initializers;
  tvmffi_i_destroying destroying;
#if !TVMFFI_NO_THREADS
  int exit_is_set;
#endif
#if TVMFFI_I_SPLIT_THREAD
  int has_ended; /* tvmffi_i_end_block has run */
  tvmffi_i_thread_block *block;
#else
  tvmffi_i_thread_block block;
#endif
};

#define TVMFFI_I_PART(type, accessor, part) \
  TVMFFI_I_INLINE type *accessor(void) { return &tvmffi_i_self()->part; }
#if TVMFFI_I_SPLIT_THREAD
#define TVMFFI_I_BLOCK_PART(type, accessor, part) \
  TVMFFI_I_PART(type, accessor, block->part)
#else
#define TVMFFI_I_BLOCK_PART(type, accessor, part) \
  TVMFFI_I_PART(type, accessor, block.part)
#endif
TVMFFI_I_PART(tvmffi_i_error_slot, tvmffi_i_thread_error, error)
TVMFFI_I_PART(tvmffi_i_initializer *, tvmffi_i_thread_initializers,
              initializers)
TVMFFI_I_PART(tvmffi_i_destroying, tvmffi_i_thread_destroying, destroying)
#if !TVMFFI_NO_THREADS
TVMFFI_I_PART(int, tvmffi_i_thread_exit_is_set, exit_is_set)
#endif
TVMFFI_I_BLOCK_PART(tvmffi_i_records, tvmffi_i_thread_streams, streams)
TVMFFI_I_BLOCK_PART(DLPackManagedTensorAllocator, tvmffi_i_thread_allocator,
                    allocator)
TVMFFI_I_BLOCK_PART(tvmffi_i_trace_text, tvmffi_i_thread_trace, trace)
#if !TVMFFI_NO_TYPES
TVMFFI_I_BLOCK_PART(tvmffi_i_nesting, tvmffi_i_thread_nesting, nesting)
#endif
#if !TVMFFI_NO_CONTAINERS
TVMFFI_I_BLOCK_PART(tvmffi_i_guards, tvmffi_i_thread_guards, guards)
#endif
#if TVMFFI_I_POOL
TVMFFI_I_BLOCK_PART(tvmffi_i_pool, tvmffi_i_thread_pool, pool)
#endif

/* -------- The end of a thread -------- */

#if TVMFFI_I_SPLIT_THREAD
/* The block of all threads that have none. Never written. */
static tvmffi_i_thread_block tvmffi_i_no_block;

/* The blocks of threads whose end calls no function. The mutex guards the
   list. */
static tvmffi_i_thread_block *tvmffi_i_unwatched;

/* Returns the address of the pointer to the first listed block of `owner`, or
   of the list's last pointer. */
static tvmffi_i_thread_block **tvmffi_i_find_unwatched(
    const tvmffi_i_thread *owner) {
  tvmffi_i_thread_block **at = &tvmffi_i_unwatched;
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED);
  while (*at && (*at)->owner != owner) at = &(*at)->next;
  return at;
}
#endif

/* Frees the thread's block, and the memory that the block owns. */
TVMFFI_I_UNUSED static void tvmffi_i_free_block(void) {
#if TVMFFI_I_SPLIT_THREAD
  tvmffi_i_thread *t = tvmffi_i_self();
  tvmffi_i_thread_block *b = t->block, **at;
  if (b == &tvmffi_i_no_block) return;
#endif
  tvmffi_i_exit_streams();
  tvmffi_i_exit_trace();
#if TVMFFI_I_POOL
  tvmffi_i_exit_pool();
#endif
#if TVMFFI_I_SPLIT_THREAD
  t->block = &tvmffi_i_no_block;
  if (b->owner) {
    tvmffi_i_lock();
    at = tvmffi_i_find_unwatched(t);
    TVMFFI_ASSERT(*at == b);
    *at = b->next;
    tvmffi_i_unlock();
  }
  tvmffi_i_free(b);
#endif
}

/* Frees the block of a thread or a library that ends. The thread then caches no
   more memory, because nothing would free it. */
TVMFFI_I_UNUSED static void tvmffi_i_end_block(void) {
  tvmffi_i_free_block();
#if TVMFFI_I_SPLIT_THREAD
  tvmffi_i_self()->has_ended = 1;
#endif
}

/* Frees the calling thread's state. If a destructor uses the state again or
   raises an error meanwhile, the system calls this function again. */
TVMFFI_I_UNUSED static void tvmffi_i_thread_exit(void) {
  TVMFFI_ASSERT(TVMFFI_I_IS_FREE);
#if !TVMFFI_NO_THREADS
  *tvmffi_i_thread_exit_is_set() = 0;
#endif
  tvmffi_i_end_initializers(UINTPTR_MAX);
#if !TVMFFI_NO_CONTAINERS
  tvmffi_i_guard_leave(UINTPTR_MAX);
#endif
  tvmffi_i_exit_destroying();
  tvmffi_i_exit_error();
  tvmffi_i_end_block();
}

#if !TVMFFI_NO_THREADS
#if !defined(TVMFFI_LOCK)
static pthread_key_t tvmffi_i_exit_key;
static int tvmffi_i_has_exit_key;
#endif

#if defined(__cplusplus)
extern "C" {
#endif
TVMFFI_I_UNUSED static void tvmffi_i_on_exit(void *thread) {
#if TVMFFI_I_STATE_OF_KEY
  tvmffi_i_thread *t = (tvmffi_i_thread *)thread;
  int rounds = 4; /* as POSIX's PTHREAD_DESTRUCTOR_ITERATIONS */
  if (!t) return;
  (void)pthread_setspecific(tvmffi_i_exit_key, t);
  do tvmffi_i_thread_exit();
  while (t->error.object && --rounds);
  (void)pthread_setspecific(tvmffi_i_exit_key, NULL);
  free(t);
#else
  (void)thread;
  tvmffi_i_thread_exit();
#endif
}
#if defined(__cplusplus)
}
#endif

#if !defined(TVMFFI_LOCK)
/* Creates the pthread key unless the key exists. Returns 1 if the key exists,
   or 0 if the system refuses a new one. Unused with TVMFFI_AT_THREAD_END. */
TVMFFI_I_UNUSED static int tvmffi_i_make_exit_key(void) {
  /* tvmffi_i_new_thread locks a mutex of its own. */
  TVMFFI_ASSERT(TVMFFI_I_STATE_OF_KEY || TVMFFI_I_IS_LOCKED);
  if (!tvmffi_i_has_exit_key)
    TVMFFI_I_STORE(
        &tvmffi_i_has_exit_key,
        pthread_key_create(&tvmffi_i_exit_key, tvmffi_i_on_exit) == 0);
  return tvmffi_i_has_exit_key;
}

#if TVMFFI_I_GNU
/* Deletes the pthread key when the library is unloaded, because the key's
   destructor is in the library. The state of other threads leaks. Memory from
   TVMFFI_MALLOC leaks too, because TVMFFI_FREE may fail at the program's
   end. */
__attribute__((__destructor__)) static void tvmffi_i_unload(void) {
#if !defined(TVMFFI_MALLOC)
  tvmffi_i_end_block();
#endif
  tvmffi_i_lock();
  if (tvmffi_i_has_exit_key) (void)pthread_key_delete(tvmffi_i_exit_key);
  tvmffi_i_has_exit_key = 0;
  tvmffi_i_unlock();
}
#endif
#endif

TVMFFI_I_COLD void tvmffi_i_set_exit(void) {
#if defined(TVMFFI_AT_THREAD_END)
  tvmffi_i_thread *t = tvmffi_i_self();
  t->exit_is_set = TVMFFI_AT_THREAD_END(tvmffi_i_on_exit, t) != 0;
#elif !defined(TVMFFI_LOCK) && !TVMFFI_I_STATE_OF_KEY
  tvmffi_i_thread *t = tvmffi_i_self();
  int has;
  tvmffi_i_lock();
  has = tvmffi_i_make_exit_key();
  tvmffi_i_unlock();
  t->exit_is_set = has && pthread_setspecific(tvmffi_i_exit_key, t) == 0;
#endif
}

/* Ensures that the thread's end releases `error`. If the end calls no function,
   the next thread with the block releases it. */
TVMFFI_I_COLD void tvmffi_i_note_unwatched(TVMFFIObject *error) {
  const int is_watched = error && tvmffi_i_watch_exit();
#if TVMFFI_I_SPLIT_THREAD
  if (error && !is_watched) (void)tvmffi_i_need_block();
  if (tvmffi_i_self()->block->owner)
    tvmffi_i_self()->block->error = is_watched ? NULL : error;
#else
  (void)is_watched;
#endif
}
#endif

/* -------- The state of the calling thread -------- */

#if TVMFFI_I_STATE_OF_KEY
/* Threads without memory for a state share one. */
TVMFFI_I_SLOW tvmffi_i_thread *tvmffi_i_new_thread(void) {
  static pthread_mutex_t mutex =
      PTHREAD_MUTEX_INITIALIZER; /* the runtime's mutex may be held */
  static tvmffi_i_thread shared;
  tvmffi_i_thread *t;
  int has;
  (void)pthread_mutex_lock(&mutex);
  has = tvmffi_i_make_exit_key();
  (void)pthread_mutex_unlock(&mutex);
  t = has ? (tvmffi_i_thread *)calloc(1, sizeof(*t)) : NULL;
  if (!t) return &shared;
  t->exit_is_set = 1;
  if (pthread_setspecific(tvmffi_i_exit_key, t) == 0) return t;
  free(t);
  return &shared;
}
TVMFFI_I_INLINE tvmffi_i_thread *tvmffi_i_self(void) {
  void *t = TVMFFI_I_LOAD(&tvmffi_i_has_exit_key)
                ? pthread_getspecific(tvmffi_i_exit_key)
                : NULL;
  return TVMFFI_I_LIKELY(t != NULL) ? (tvmffi_i_thread *)t
                                    : tvmffi_i_new_thread();
}
#elif defined(TVMFFI_I_THREAD)
#if TVMFFI_I_SPLIT_THREAD
TVMFFI_STATIC_ASSERT(sizeof(tvmffi_i_thread) <= 64, static_tls_is_scarce);
static TVMFFI_I_THREAD tvmffi_i_thread tvmffi_i_the_thread = {
    {NULL}, NULL, {NULL, {0, 0}, 0}, 0, 0, &tvmffi_i_no_block};
#else
static tvmffi_i_thread tvmffi_i_the_thread;
#endif
/* The assembly hides the variable's address from the compiler, which would
   otherwise compute the address again after each call. Without the initial-exec
   model, a shared library computes the address by a function call. */
TVMFFI_I_INLINE tvmffi_i_thread *tvmffi_i_self(void) {
  tvmffi_i_thread *self = &tvmffi_i_the_thread;
#if TVMFFI_I_SPLIT_THREAD && TVMFFI_I_GNU && !TVMFFI_I_INITIAL_EXEC
  __asm__("" : "+r"(self));
#endif
  return self;
}
#else
TVMFFI_STATIC_ASSERT((sizeof(tvmffi_i_thread) + 7) / 8 * 8 +
                             (sizeof(tvmffi_i_destroying) + 7) / 8 * 8 +
                             sizeof(TVMFFIAny) + sizeof(int64_t) <=
                         TVMFFI_THREAD_LOCAL_SIZE,
                     the_four_keys_of_a_thread);
TVMFFI_I_INLINE tvmffi_i_thread *tvmffi_i_self(void) {
  return TVMFFI_I_OF_THREAD(tvmffi_i_thread, TVMFFI_I_KEY_THREAD);
}
#endif

#if TVMFFI_I_SPLIT_THREAD
/* Frees the block of an ended thread whose thread-local variable had the
   address of this thread's, which has no block. So there are no more such
   blocks than there were threads at a time. Returns the ended thread's pending
   error, which the caller owns, or NULL. */
static TVMFFIObject *tvmffi_i_end_left_block(tvmffi_i_thread *t) {
  tvmffi_i_thread_block *b;
  TVMFFIObject *error;
  TVMFFI_ASSERT(t->block == &tvmffi_i_no_block);
  tvmffi_i_lock();
  b = *tvmffi_i_find_unwatched(t);
  tvmffi_i_unlock();
  if (!b) return NULL;
  t->block = b;
  error = b->error;
#if !TVMFFI_NO_CONTAINERS
  tvmffi_i_guard_leave(UINTPTR_MAX);
#endif
  tvmffi_i_free_block();
  return error;
}

/* Slow path of tvmffi_i_need_block. Releases an ended thread's error last,
   because a destructor may need the block. */
TVMFFI_I_COLD int tvmffi_i_make_block(void) {
  tvmffi_i_thread *t = tvmffi_i_self();
  const int is_watched = tvmffi_i_watch_exit();
  TVMFFIObject *left = is_watched ? NULL : tvmffi_i_end_left_block(t);
  tvmffi_i_thread_block *b =
      (tvmffi_i_thread_block *)tvmffi_i_alloc(sizeof(*b));
  TVMFFI_ASSERT(TVMFFI_I_IS_FREE && t->block == &tvmffi_i_no_block);
  if (b) {
    memset((void *)b, 0, sizeof(*b));
    t->block = b;
  }
  if (b && !is_watched) {
    b->owner = t;
    tvmffi_i_lock();
    b->next = tvmffi_i_unwatched;
    tvmffi_i_unwatched = b;
    tvmffi_i_unlock();
  }
  tvmffi_i_release(left);
  return b != NULL;
}
#endif

TVMFFI_I_INLINE int tvmffi_i_need_block(void) {
#if TVMFFI_I_SPLIT_THREAD
  return TVMFFI_I_LIKELY(tvmffi_i_self()->block != &tvmffi_i_no_block) ||
         tvmffi_i_make_block();
#else
  (void)tvmffi_i_watch_exit();
  return 1;
#endif
}

#if TVMFFI_I_POOL
static void tvmffi_i_begin_pool(void) {
  tvmffi_i_pool *p;
#if TVMFFI_I_SPLIT_THREAD
  if (tvmffi_i_self()->has_ended) return;
#endif
  if (!tvmffi_i_need_block()) return;
  p = tvmffi_i_thread_pool();
  TVMFFI_ASSERT(!p->state && !p->budget && !p->available);
  p->state = tvmffi_i_watch_exit() ? 1 : -1;
  if (p->state > 0) p->budget = p->available = TVMFFI_I_POOL_SLICE;
  p->trims = tvmffi_i_load64(&tvmffi_i_pool_trims);
}
#endif

/* -------- Fork -------- */

#if TVMFFI_I_FORK
static void tvmffi_i_forget_parent(void) {
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED);
  TVMFFI_I_STORE(&tvmffi_i_is_child, 1);
  tvmffi_i_forget_readers();
  tvmffi_i_forget_initializers();
  /* The condition variable is undefined in the child: it may count waiting
     threads. */
  (void)pthread_cond_init(&tvmffi_i_changed, NULL);
#if TVMFFI_DEBUG
  tvmffi_i_debug_unlock();
#endif
  tvmffi_i_store64(&tvmffi_i_process, (uint64_t)getpid() << 1);
}

/* A child of fork has only the thread that called fork. The locks are held
   during fork, so the locked data is consistent in the child. The child then
   removes other threads' entries from the lock-free data. These handlers only
   read and write memory. */
#if defined(__cplusplus)
extern "C" {
#endif
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
  tvmffi_i_forget_parent();
#if !TVMFFI_NO_BACKTRACE
  tvmffi_i_forget_frame_readers();
#endif
  tvmffi_i_after_fork();
}
#if defined(__cplusplus)
}
#endif

/* Only the thread that stores the id registers the handlers, and no other
   thread waits for it: registering may wait for the end of a fork, whose child
   must not inherit such a wait. A child of that fork has the id already, so the
   handlers are not registered twice. */
TVMFFI_I_COLD void tvmffi_i_watch_fork(void) {
  uint64_t none = 0;
  if (tvmffi_i_cas64(&tvmffi_i_process, &none, (uint64_t)getpid() << 1))
    (void)pthread_atfork(tvmffi_i_before_fork, tvmffi_i_after_fork,
                         tvmffi_i_in_child);
}
#endif
