/* ======== Nesting: how deep hooks nest, on known and unknown stacks ======= */

#pragma once

#include "harness.h"

#if !TVMFFI_NO_TYPES
#define TEST_TOO_MANY                                                  \
  "Hooks of types or structural keys are nested more than " TEST_QUOTE( \
      TEST_MAX_NESTING) " deep, on a stack of unknown size"
#define TEST_QUOTE(x) TVMFFI_I_QUOTE(x)
#if TVMFFI_FREESTANDING
#define TEST_MAX_NESTING 32
#else
#define TEST_MAX_NESTING 64
#endif

/* Returns the calling thread's nesting, to be changed. */
static tvmffi_i_nesting *test_thread_nesting(void) {
  CHECK(tvmffi_i_need_block());
  return tvmffi_i_thread_nesting();
}

/* Makes the calling thread's stack one of unknown size. */
static void test_forget_stack(void) {
  tvmffi_i_nesting *n = test_thread_nesting();
  memset((void *)n, 0, sizeof(*n));
#if TVMFFI_I_STACK_KNOWN
  n->is_asked = 1;
#endif
}

/* Makes the size known again, if the system knows it. */
static void test_find_stack(void) {
  tvmffi_i_nesting *n = test_thread_nesting();
  memset((void *)n, 0, sizeof(*n));
}

static void test_counted_nesting(TVMFFI_HERE) {
  tvmffi_i_nesting *n = test_thread_nesting();
  int i;
  CHECK_INT(TEST_MAX_NESTING, TVMFFI_I_MAX_NESTING);
  test_forget_stack();
  for (i = 0; i < TEST_MAX_NESTING; ++i) {
    OK(tvmffi_i_nest());
    n->outermost = UINTPTR_MAX; /* as if called from inner functions */
  }
  for (i = 0; i < 2; ++i) {
    FAILS(tvmffi_i_nest(), "RecursionError", TEST_TOO_MANY);
    CHECK_INT(n->count, TEST_MAX_NESTING);
  }
  tvmffi_i_unnest();
  OK(tvmffi_i_nest());
  for (i = 0; i < TEST_MAX_NESTING; ++i) tvmffi_i_unnest();
  CHECK_INT(n->count, 0);
  test_find_stack();
}

/* Leaves calls without an end, as a jump does. */
TVMFFI_I_NOINLINE int test_jump_out(int depth) {
  volatile int below = 0;
  if (depth) {
    below = test_jump_out(depth - 1);
    return below + depth - depth;
  }
  return tvmffi_i_nest() + tvmffi_i_nest() + below;
}

static void test_left_nesting(TVMFFI_HERE) {
  tvmffi_i_nesting *n = test_thread_nesting();
  int i;
  test_forget_stack();
  for (i = 0; i < 2 * TEST_MAX_NESTING; ++i) {
    OK(test_jump_out(3));
    OK(tvmffi_i_nest());
    CHECK_INT(n->count, 1);
    tvmffi_i_unnest();
    CHECK_INT(n->count, 0);
  }
  test_find_stack();
}

#if TVMFFI_I_STACK_KNOWN
static uintptr_t test_here(void) { return tvmffi_i_stack_address(); }

/* Sets the stack's range so that the end is `room` bytes below the caller. */
static void test_set_end(uintptr_t here, size_t room) {
  tvmffi_i_nesting *n = test_thread_nesting();
  test_forget_stack();
  n->reserve = 64 << 10;
  n->size = 192 << 10;
  n->low = here - room + n->reserve;
}

static void test_measured_nesting(TVMFFI_HERE) {
  tvmffi_i_nesting *n = test_thread_nesting();
  const uintptr_t here = test_here();
  static const char text[] =
      "Hooks of types or structural keys are nested too deep: less than 64 KB "
      "of this thread's stack of 256 KB are left";
  int i;
  test_set_end(here, 128 << 10);
  for (i = 0; i < 2 * TEST_MAX_NESTING; ++i) OK(tvmffi_i_nest());
  CHECK_INT(n->count, 0);
  test_set_end(here, 32 << 10);
  FAILS(tvmffi_i_nest(), "RecursionError", text);
  CHECK_INT(n->count, 0);
  /* This is not the thread's stack. */
  for (i = 0; i < 2; ++i) {
    test_set_end(here, 0);
    n->low += i ? (uintptr_t)1 << 20 : 0 - ((uintptr_t)1 << 20);
    OK(tvmffi_i_nest());
    CHECK_INT(n->count, 1);
    tvmffi_i_unnest();
    CHECK_INT(n->count, 0);
  }
  test_find_stack();
}

static void test_stack_range(TVMFFI_HERE) {
  const tvmffi_i_stack_range r = tvmffi_i_ask_stack();
  tvmffi_i_nesting *n = test_thread_nesting();
  const uintptr_t here = test_here();
  CHECK(r.low < here && here < r.high);
  test_find_stack();
  OK(tvmffi_i_nest());
  tvmffi_i_unnest();
  CHECK(n->is_asked && n->size && n->low - n->reserve >= r.low);
  CHECK_INT(n->low + n->size, r.high);
}

/* If the C library cannot open a file, the kernel's figures give the range of
   the main thread's stack, which has no lower end if its size is unlimited. */
static void test_stack_without_files(TVMFFI_HERE) {
#if defined(__linux__) && defined(__GLIBC__)
  const uintptr_t here = test_here();
  struct rlimit files, stack, changed;
  tvmffi_i_stack_range limited, endless;
  if (getrlimit(RLIMIT_NOFILE, &files) || getrlimit(RLIMIT_STACK, &stack))
    return;
  changed = files;
  changed.rlim_cur = 0;
  if (setrlimit(RLIMIT_NOFILE, &changed)) return;
  limited = endless = tvmffi_i_ask_stack();
  changed = stack;
  changed.rlim_cur = RLIM_INFINITY;
  if (stack.rlim_max == RLIM_INFINITY && !setrlimit(RLIMIT_STACK, &changed)) {
    (void)getrlimit(RLIMIT_STACK, &changed); /* an emulator keeps the limit */
    if (changed.rlim_cur == RLIM_INFINITY) {
      endless = tvmffi_i_ask_stack();
      endless.low = endless.low ? here : limited.low;
    }
    CHECK(!setrlimit(RLIMIT_STACK, &stack));
  }
  CHECK(!setrlimit(RLIMIT_NOFILE, &files));
  if (!limited.high) return; /* an emulator without these figures */
  CHECK(limited.low < here && here < limited.high);
  if (limited.high != tvmffi_i_main_stack().high) return; /* another thread */
  CHECK(endless.low == limited.low && endless.high == limited.high);
#endif
}
#endif

#if TVMFFI_I_STACK_KNOWN && !TVMFFI_NO_THREADS
/* Runs `work` in a thread whose stack has `size` bytes. Returns 0, or -1 if the
   system refuses the size. */
static int test_on_stack(size_t size, void *(*work)(void *), void *argument) {
  pthread_attr_t attr;
  pthread_t thread;
  int refused;
  (void)pthread_attr_init(&attr);
  refused = pthread_attr_setstacksize(&attr, size) != 0;
  if (!refused && CHECK(!pthread_create(&thread, &attr, work, argument)))
    (void)pthread_join(thread, NULL);
  (void)pthread_attr_destroy(&attr);
  return refused ? -1 : 0;
}

/* Stores the size of the thread's stack, or 0 if its range or the part of it
   that hooks may use is wrong. */
static void *test_range_of_thread(void *size) {
  const tvmffi_i_stack_range r = tvmffi_i_ask_stack();
  const uintptr_t here = test_here();
  size_t most = r.high - r.low, reserve = 64 << 10;
  tvmffi_i_nesting n;
  memset((void *)&n, 0, sizeof(n));
  tvmffi_i_find_stack(&n);
  if (most > 64 << 20) most = 64 << 20;
  if (reserve > most / 2) reserve = most / 2;
  if (r.low < here && here < r.high && n.is_asked && n.reserve == reserve &&
      n.low + n.size == r.high && n.size + reserve == most)
    *(size_t *)size = r.high - r.low;
  return NULL;
}

static void test_thread_stack_range(TVMFFI_HERE) {
  const size_t sizes[] = {(size_t)96 << 10, (size_t)256 << 10, (size_t)1 << 20,
                          (size_t)80 << 20};
  size_t size;
  int i;
  for (i = 0; i < 4; ++i) {
    size = 0;
    if (test_on_stack(sizes[i], test_range_of_thread, &size)) continue;
    CHECK(size > sizes[i] / 2);
#if !defined(_WIN32) /* there the program's linker sets a minimum */
    /* glibc may use the stack of an earlier thread, at most four times as
       large. */
    CHECK(size < 5 * sizes[i] || i == 0);
#endif
  }
}

/* Begins a hook where few bytes above `low` are left. */
TVMFFI_I_NOINLINE int test_nest_near(uintptr_t low) {
  volatile char frame[512];
  int code;
  frame[0] = 0;
  if (test_here() - low > 48 << 10) {
    code = test_nest_near(low);
  } else {
    code = tvmffi_i_nest();
    if (!code) tvmffi_i_unnest();
  }
  return code + frame[0];
}

static void *test_late_hook(void *unused) {
  FAILS(test_nest_near(tvmffi_i_ask_stack().low), "RecursionError",
        "...nested too deep: less than 64 KB of this thread's stack of ");
  return unused;
}

/* The first hook of a thread may already have too little room. */
static void test_late_nesting(TVMFFI_HERE) {
  (void)test_on_stack(256 << 10, test_late_hook, NULL);
}

#if !TVMFFI_NO_CONTAINERS
/* Asks from an inner function, as a hook does. */
TVMFFI_I_NOINLINE int test_is_guarded_inside(const void *what) {
  return tvmffi_i_is_guarded(what);
}

static void *test_first_guard(void *what) {
  const uintptr_t frame = tvmffi_i_stack_address();
  CHECK(!test_is_guarded_inside(what));
  if (!test_code(tvmffi_i_guard_enter(what, NULL, frame), __FILE__, __LINE__,
                 "guard ")) {
    CHECK(test_is_guarded_inside(what) && !test_is_guarded_inside(&frame));
    tvmffi_i_guard_leave(frame);
    CHECK(!test_is_guarded_inside(what));
  }
  return NULL;
}

/* The first guard of a thread may find no memory for the thread's state. */
static void test_thread_guard(TVMFFI_HERE) {
  int what = 0;
  (void)test_on_stack(256 << 10, test_first_guard, &what);
}
#endif
#endif
#endif

static const test_case test_nesting_cases[] = {
#if !TVMFFI_NO_TYPES
    {"nesting: counted", test_counted_nesting},
    {"nesting: left by jumps", test_left_nesting},
#if TVMFFI_I_STACK_KNOWN
    {"nesting: measured", test_measured_nesting},
    {"nesting: the stack's range", test_stack_range},
    {"nesting: the stack's range without files", test_stack_without_files},
#if !TVMFFI_NO_THREADS
    {"threads: the range of a stack", test_thread_stack_range},
    {"threads: a late hook", test_late_nesting},
#if !TVMFFI_NO_CONTAINERS
    {"threads: a first guard", test_thread_guard},
#endif
#endif
#endif
#endif
    {NULL, NULL}};
