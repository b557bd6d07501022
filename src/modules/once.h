/* ======== Once: handles that are initialized once ========= >>modules/once */

#pragma once

#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../platform/thread_state.h"
#include "../platform/thread.h"
#include "../platform/memory.h"
#include "../core/raise.h"
#include "environment.h"

/* Handles that are made once. Each call that makes a handle or waits for one
   has an entry in this list, so a wait that would never end is seen. A call
   that finds the list empty enters and leaves without the mutex, by exchanging
   the empty list. No other call looks at an entry before its own stands in
   front, and from then on the list changes under the mutex alone.

   init_func may never return: it ends its thread, is cancelled, throws a C++
   exception or jumps. So an entry is not on the stack, belongs to its thread,
   and is removed as soon as the runtime knows that the call is over: when the
   call returns; when its frame is unwound (tvmffi_i_run_init); at the thread's
   next call whose frame is not further in, as the entry's frame is then gone;
   and at the thread's end. */
typedef struct tvmffi_i_maker {
  void **handle; /* what the thread makes, or NULL */
  void **awaits; /* what another makes for it, or NULL */
  tvmffi_i_thread *thread;
  struct tvmffi_i_maker *next;  /* in the list of all threads */
  struct tvmffi_i_maker *outer; /* the call around this one, or NULL */
  uintptr_t frame;              /* the stack's address in the call */
  int is_alone;                 /* whether the list was empty */
} tvmffi_i_maker;

static void *tvmffi_i_makers;

TVMFFI_I_INLINE tvmffi_i_maker *tvmffi_i_first_maker(void) {
  return (tvmffi_i_maker *)TVMFFI_I_LOAD(&tvmffi_i_makers);
}

static tvmffi_i_maker *tvmffi_i_maker_of(void **handle) {
  tvmffi_i_maker *m = tvmffi_i_first_maker();
  while (m && m->handle != handle) m = m->next;
  return m;
}

/* Whether `m` waits, through others, for what `thread` makes. */
static int tvmffi_i_is_cycle(const tvmffi_i_maker *m,
                             const tvmffi_i_thread *thread) {
  while (m && m->thread != thread) {
    const tvmffi_i_maker *w = tvmffi_i_first_maker();
    while (w && (w->thread != m->thread || !w->awaits)) w = w->next;
    m = w ? tvmffi_i_maker_of(w->awaits) : NULL;
  }
  return m != NULL;
}

/* Enters a list that is not empty, and waits until nobody else makes the
   handle; -1 if that would never be. */
TVMFFI_I_COLD int tvmffi_i_await_maker(tvmffi_i_maker *me) {
  void **handle = me->handle;
  const tvmffi_i_maker *m;
  int cancel = tvmffi_i_hold_cancel(); /* or it would end with the mutex */
  int code = 0;
  tvmffi_i_lock();
  me->handle = NULL;
  do {
    me->next = tvmffi_i_first_maker();
  } while (!tvmffi_i_cas_pointer(&tvmffi_i_makers, me->next, me));
  while (!code && (m = tvmffi_i_maker_of(handle)) != NULL) {
    code = -tvmffi_i_is_cycle(m, me->thread);
    me->awaits = code ? NULL : handle;
    if (!code) tvmffi_i_sleep();
  }
  me->awaits = NULL;
  me->handle = code ? NULL : handle;
  tvmffi_i_unlock();
  tvmffi_i_free_cancel(cancel);
  return code;
}

TVMFFI_I_COLD void tvmffi_i_leave_makers(tvmffi_i_maker *me) {
  tvmffi_i_maker *m;
  tvmffi_i_lock();
  m = tvmffi_i_first_maker();
  if (m == me) {
    TVMFFI_I_STORE(&tvmffi_i_makers, (void *)me->next);
  } else {
    while (m->next != me) m = m->next;
    m->next = me->next;
  }
  tvmffi_i_wake();
  tvmffi_i_unlock();
}

/* Removes the entry of a thread's innermost call. */
static void tvmffi_i_end_maker(tvmffi_i_thread *t) {
  tvmffi_i_maker *m = t->makers;
  t->makers = m->outer;
  if (!m->is_alone || !tvmffi_i_cas_pointer(&tvmffi_i_makers, m, NULL))
    tvmffi_i_leave_makers(m);
  tvmffi_i_pool_free(m, sizeof(*m));
}

/* Removes the entries of a thread's calls at `frame` and further in. The stack
   grows downwards. */
static void tvmffi_i_end_makers(tvmffi_i_thread *t, uintptr_t frame) {
  while (t->makers && t->makers->frame <= frame) tvmffi_i_end_maker(t);
}

#if TVMFFI_I_FORK
/* Keeps the entries of the only thread of a child of fork. */
static void tvmffi_i_forget_makers(void) {
  tvmffi_i_maker *m = tvmffi_i_self()->makers;
  TVMFFI_I_STORE(&tvmffi_i_makers, (void *)m);
  for (; m; m = m->outer) m->next = m->outer;
}
#endif

/* Calls init_func, and removes the entry of the call if an exception leaves it,
   or pthread_exit unwinds the stack. A cleanup of the compiler needs exceptions
   enabled. C has none by default, so there the function gets a personality
   routine, which the unwinder calls for its frame (Itanium C++ ABI: Exception
   Handling, level I). It is named behind the call, which is thus no tail call.
   Elsewhere the entry stays until the thread's next call or its end. */
#if TVMFFI_I_GNU && defined(__EXCEPTIONS)
static void tvmffi_i_unwind_init(const int *has_returned) {
  if (!*has_returned) tvmffi_i_end_maker(tvmffi_i_self());
}
TVMFFI_I_NOINLINE int tvmffi_i_run_init(int (*init_func)(void **result),
                                        void **result) {
  int has_returned __attribute__((__cleanup__(tvmffi_i_unwind_init))) = 0;
  int code = init_func(result);
  has_returned = 1;
  return code;
}
#elif defined(TVMFFI_I_PERSONALITY)
#if defined(__cplusplus)
extern "C" {
#endif
static int tvmffi_i_unwind_init(int version, int actions, uint64_t kind,
                                void *exception, void *context) {
  enum { CLEANUP_PHASE = 2, CONTINUE_UNWIND = 8 };
  (void)version, (void)kind, (void)exception, (void)context;
  if (actions & CLEANUP_PHASE) tvmffi_i_end_maker(tvmffi_i_self());
  return CONTINUE_UNWIND;
}
#if defined(__cplusplus)
}
#endif
TVMFFI_I_NOINLINE int tvmffi_i_run_init(int (*init_func)(void **result),
                                        void **result) {
  int code = init_func(result);
  TVMFFI_I_PERSONALITY(tvmffi_i_unwind_init);
  return code;
}
#else
TVMFFI_I_INLINE int tvmffi_i_run_init(int (*init_func)(void **result),
                                      void **result) {
  return init_func(result);
}
#endif

/* Enters the list, and waits while another thread makes the handle; -1 if that
   would never end. */
static int tvmffi_i_begin_maker(tvmffi_i_thread *t, tvmffi_i_maker *me,
                                void **handle, uintptr_t frame) {
  me->handle = handle;
  me->awaits = NULL;
  me->thread = t;
  me->next = NULL;
  me->outer = t->makers;
  me->frame = frame;
  t->makers = me;
  me->is_alone = tvmffi_i_cas_pointer(&tvmffi_i_makers, NULL, me);
  return me->is_alone ? 0 : tvmffi_i_await_maker(me);
}

/* Makes a handle, unless another thread has by then. Raises after its
   entry is removed: an error that is raised releases the one before it, and
   that may run code that asks for the handle. */
TVMFFI_I_NOINLINE int tvmffi_i_make_handle(void **handle,
                                           int (*init_func)(void **result)) {
  uintptr_t frame = tvmffi_i_stack_address();
  tvmffi_i_thread *t = tvmffi_i_self();
  int stuck, made = 0, code = 0;
  void *result = NULL;
  tvmffi_i_maker *me;
  if (TVMFFI_I_UNLIKELY(!t->exit_is_set)) tvmffi_i_watch_exit(t);
  tvmffi_i_end_makers(t, frame);
  me = (tvmffi_i_maker *)tvmffi_i_pool_alloc(sizeof(*me));
  if (!me) return tvmffi_i_no_memory();
  stuck = tvmffi_i_begin_maker(t, me, handle, frame);
  if (!stuck) made = TVMFFI_I_LOAD(handle) != NULL;
  if (!stuck && !made) {
    code = tvmffi_i_run_init(init_func, &result);
    if (!code && result) TVMFFI_I_STORE(handle, result);
  }
  tvmffi_i_end_makers(t, frame);
  if (stuck)
    return tvmffi_i_fail("RuntimeError",
                         "init_func needs the handle that it makes");
  if (made) return 0;
  if (code) return tvmffi_i_need_error(code, "init_func");
  if (!result)
    return tvmffi_i_fail("RuntimeError",
                         "init_func must return a non-NULL handle");
  return 0;
}

int TVMFFIHandleInitOnce(void **handle_addr, int (*init_func)(void **result)) {
  TVMFFI_I_NOT_NULL(handle_addr);
  if (TVMFFI_I_LIKELY(TVMFFI_I_LOAD(handle_addr) != NULL)) return 0;
  TVMFFI_I_NOT_NULL(init_func);
  return tvmffi_i_make_handle(handle_addr, init_func);
}

int TVMFFIHandleDeinitOnce(void **handle_addr,
                           int (*deinit_func)(void *handle)) {
  void *old;
  TVMFFI_I_NOT_NULL(handle_addr);
  TVMFFI_I_NOT_NULL(deinit_func);
  old = tvmffi_i_swap_pointer(handle_addr, NULL);
  return old ? deinit_func(old) : 0;
}
