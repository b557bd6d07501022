/* ======== Once: handles that are initialized once ========= >>modules/once */

#pragma once

#include "../head.h"
#include "../platform.h"
#include "../core.h"

/* A running call of tvmffi_i_init_handle, as an entry of tvmffi_i_initializers.
   The call initializes a handle or waits for another thread to do so.

   init_func may never return: the function may end or cancel the thread, throw
   a C++ exception, or longjmp. So the thread owns the entry. The entry is
   removed when the call returns or is unwound (tvmffi_i_run_init), at the
   thread's next call from the same or an outer frame, or at the thread's
   end. */
typedef struct tvmffi_i_initializer {
  void **handle; /* what the call initializes, or NULL */
  void **awaits; /* what the call waits for, or NULL */
  tvmffi_i_thread *thread;
  struct tvmffi_i_initializer *next;  /* in the list of all threads' entries */
  struct tvmffi_i_initializer *outer; /* the thread's enclosing call, or NULL */
  uintptr_t frame;                    /* an address in the call's stack frame */
  int is_alone;                       /* the call found the list empty */
} tvmffi_i_initializer;

/* The list of running tvmffi_i_init_handle calls, to detect deadlocks. A call
   that finds the list empty adds and removes its entry by compare-and-swap,
   without the mutex. A list of several entries changes only under the mutex. */
static void *tvmffi_i_initializers;

/* The thread's innermost tvmffi_i_init_handle call, or NULL. The thread owns
   the entry. */
TVMFFI_I_THREAD_STATE(tvmffi_i_initializer *, tvmffi_i_thread_initializers);

TVMFFI_I_INLINE tvmffi_i_initializer *tvmffi_i_initializer_list(void) {
  return (tvmffi_i_initializer *)TVMFFI_I_LOAD(&tvmffi_i_initializers);
}

/* Returns the running call that initializes `handle`, or NULL. */
static tvmffi_i_initializer *tvmffi_i_find_initializer(void **handle) {
  tvmffi_i_initializer *m = tvmffi_i_initializer_list();
  while (m && m->handle != handle) m = m->next;
  return m;
}

/* Returns 1 if m->thread is `thread` or waits for `thread`, directly or through
   other threads, else 0. */
static int tvmffi_i_is_cycle(const tvmffi_i_initializer *m,
                             const tvmffi_i_thread *thread) {
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED);
  while (m && m->thread != thread) {
    const tvmffi_i_initializer *w = tvmffi_i_initializer_list();
    while (w && (w->thread != m->thread || !w->awaits)) w = w->next;
    m = w ? tvmffi_i_find_initializer(w->awaits) : NULL;
  }
  return m != NULL;
}

/* Adds `me` to tvmffi_i_initializers, which has other entries. Waits until no
   other thread initializes me->handle. Returns -1 if waiting would deadlock. */
TVMFFI_I_COLD int tvmffi_i_await_initializer(tvmffi_i_initializer *me) {
  void **handle = me->handle;
  const tvmffi_i_initializer *m;
  int cancel = tvmffi_i_hold_cancel(); /* no cancellation with the mutex held */
  int code = 0;
  tvmffi_i_lock();
  TVMFFI_ASSERT(!me->is_alone && me->handle);
  me->handle = NULL;
  me->next = (tvmffi_i_initializer *)tvmffi_i_swap_pointer(
      &tvmffi_i_initializers, me);
  while (!code && (m = tvmffi_i_find_initializer(handle)) != NULL) {
    code = -tvmffi_i_is_cycle(m, me->thread);
    me->awaits = handle;
    if (!code) tvmffi_i_sleep();
  }
  TVMFFI_ASSERT(me->thread == tvmffi_i_self());
  me->awaits = NULL;
  me->handle = code ? NULL : handle;
  tvmffi_i_unlock();
  tvmffi_i_free_cancel(cancel);
  return code;
}

TVMFFI_I_COLD void tvmffi_i_leave_initializers(tvmffi_i_initializer *me) {
  tvmffi_i_initializer *m;
  tvmffi_i_lock();
  m = tvmffi_i_initializer_list();
  TVMFFI_ASSERT(m);
  if (m == me) {
    TVMFFI_I_STORE(&tvmffi_i_initializers, (void *)me->next);
  } else {
    while (m->next != me) {
      m = m->next;
      TVMFFI_ASSERT(m);
    }
    m->next = me->next;
  }
  tvmffi_i_wake();
  tvmffi_i_unlock();
}

/* Removes the thread's innermost call from tvmffi_i_initializers. */
static void tvmffi_i_end_initializer(void) {
  tvmffi_i_initializer **innermost = tvmffi_i_thread_initializers();
  tvmffi_i_initializer *m = *innermost;
  TVMFFI_ASSERT(m && m->thread == tvmffi_i_self());
  *innermost = m->outer;
  if (!m->is_alone || !tvmffi_i_cas_pointer(&tvmffi_i_initializers, m, NULL))
    tvmffi_i_leave_initializers(m);
  tvmffi_i_pool_free(m, sizeof(*m));
}

/* Removes from tvmffi_i_initializers the thread's calls whose stack frame is
   `frame` or an inner frame. The stack grows downwards. */
TVMFFI_I_INLINE void tvmffi_i_end_initializers(uintptr_t frame) {
  tvmffi_i_initializer **innermost = tvmffi_i_thread_initializers();
  while (*innermost && (*innermost)->frame <= frame) tvmffi_i_end_initializer();
}

#if TVMFFI_I_FORK
/* In a child process of fork, only one thread is left. Removes the calls of
   other threads from tvmffi_i_initializers. */
static void tvmffi_i_forget_initializers(void) {
  tvmffi_i_initializer *m = *tvmffi_i_thread_initializers();
  TVMFFI_ASSERT(!m || m->thread == tvmffi_i_self());
  TVMFFI_I_STORE(&tvmffi_i_initializers, (void *)m);
  for (; m; m = m->outer) m->next = m->outer;
}
#endif

/* Calls init_func. Where nothing runs when this call is unwound, its entry in
   tvmffi_i_initializers stays until the thread's next tvmffi_i_init_handle call
   or the thread's end. */
TVMFFI_I_UNWOUND_IN_C(tvmffi_i_run_init,
                      (int (*init_func)(void **result), void **result),
                      init_func(result), tvmffi_i_end_initializer)

/* Adds `me` to tvmffi_i_initializers. Waits while another thread initializes
   `handle`. Returns -1 if waiting would deadlock. */
static int tvmffi_i_begin_initializer(tvmffi_i_initializer *me, void **handle,
                                      uintptr_t frame) {
  tvmffi_i_initializer **innermost = tvmffi_i_thread_initializers();
  me->handle = handle;
  me->awaits = NULL;
  me->thread = tvmffi_i_self();
  me->next = NULL;
  me->outer = *innermost;
  me->frame = frame;
  TVMFFI_ASSERT(!me->outer || me->outer->frame >= frame);
  *innermost = me;
  me->is_alone = tvmffi_i_cas_pointer(&tvmffi_i_initializers, NULL, me);
  return me->is_alone ? 0 : tvmffi_i_await_initializer(me);
}

/* Initializes a handle, unless another thread does so first. init_func finds
   `argument` in *result. An error is raised only after this call has left
   tvmffi_i_initializers, because the destructor of the previous error may
   initialize the handle. */
TVMFFI_I_NOINLINE int tvmffi_i_init_handle(void **handle,
                                           int (*init_func)(void **result),
                                           void *argument) {
  uintptr_t frame = tvmffi_i_stack_address();
  int stuck, made = 0, code = 0;
  void *result = argument;
  tvmffi_i_initializer *me;
  TVMFFI_ASSERT(TVMFFI_I_IS_FREE);
  (void)tvmffi_i_watch_exit();
#if TVMFFI_I_FORK
  /* A child must know that the list has calls of its parent. This call may be
     the runtime's first use, and takes no lock that would register this. */
  if (!tvmffi_i_load64(&tvmffi_i_process)) tvmffi_i_watch_fork();
#endif
  tvmffi_i_end_initializers(frame);
  me = (tvmffi_i_initializer *)tvmffi_i_pool_alloc(sizeof(*me));
  if (!me) return tvmffi_i_no_memory();
  stuck = tvmffi_i_begin_initializer(me, handle, frame);
  if (!stuck) made = TVMFFI_I_LOAD(handle) != NULL;
  if (!stuck && !made) {
    TVMFFI_ASSERT(*tvmffi_i_thread_initializers() == me);
    TVMFFI_ASSERT(me->handle == handle && !me->awaits);
    code = tvmffi_i_run_init(init_func, &result);
    if (!code && result) TVMFFI_I_STORE(handle, result);
  }
  tvmffi_i_end_initializers(frame);
  if (stuck)
    return tvmffi_i_runtime_error(
        "init_func waits for its own handle: a cycle");
  if (made) return 0;
  if (code) {
    (void)tvmffi_i_need_error(code, "init_func");
    return code; /* as upstream's init_once.cc does */
  }
  if (!result)
    return tvmffi_i_runtime_error("init_func must return a non-NULL handle");
  return 0;
}

int TVMFFIHandleInitOnce(void **handle_addr, int (*init_func)(void **result)) {
  TVMFFI_I_NOT_NULL(handle_addr);
  if (TVMFFI_I_LIKELY(TVMFFI_I_LOAD(handle_addr) != NULL)) return 0;
  TVMFFI_I_NOT_NULL(init_func);
  return tvmffi_i_init_handle(handle_addr, init_func, NULL);
}

int TVMFFIHandleDeinitOnce(void **handle_addr,
                           int (*deinit_func)(void *handle)) {
  void *old;
  TVMFFI_I_NOT_NULL(handle_addr);
  TVMFFI_I_NOT_NULL(deinit_func);
  old = tvmffi_i_swap_pointer(handle_addr, NULL);
  return old ? deinit_func(old) : 0;
}
