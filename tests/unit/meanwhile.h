/* ======== Meanwhile: other threads at certain places ====================== */
/* A race needs another thread between two instructions of the runtime. A test
   does that thread's work there: test_meanwhile(place, n, act) calls `act`
   once, right before the runtime comes to the place for the nth time. This file
   is included before tvmffi.h, whose calls of the system it replaces. */

#pragma once

typedef enum {
  TEST_AT_ALLOC, /* a call of TVMFFI_MALLOC */
  TEST_AT_LOCK,  /* an attempt to lock the runtime's mutex */
  TEST_AT_NAP,   /* a sleep of a thread that waits */
  TEST_AT_ADD,   /* an atomic addition */
  TEST_AT_CAS,   /* a compare-and-swap */
  TEST_NUM_PLACES
} test_place;

static struct {
  void (*act)(void);
  int left; /* times until `act` is called */
} test_acts[TEST_NUM_PLACES];

static void test_come_to(test_place place) {
  void (*act)(void) = test_acts[place].act;
  if (!act || --test_acts[place].left) return;
  test_acts[place].act = NULL;
  act();
}

/* The options of tvmffi.h are not defined yet. */
#if defined(TVMFFI_NO_DLOPEN)
#define TEST_DLOPEN !TVMFFI_NO_DLOPEN
#else
#define TEST_DLOPEN 1
#endif
#if defined(TVMFFI_NO_THREADS)
#define TEST_ONE_THREAD TVMFFI_NO_THREADS
#elif defined(TVMFFI_FREESTANDING)
#define TEST_ONE_THREAD TVMFFI_FREESTANDING
#else
#define TEST_ONE_THREAD 0
#endif

/* 1 if the runtime comes to all places; 0 if only to TEST_AT_ALLOC. */
#if defined(__unix__) && defined(__GNUC__) && !defined(__TINYC__) &&     \
    !defined(TVMFFI_LOCK) && !defined(TVMFFI_ATOMIC_CAS) &&              \
    !defined(TVMFFI_ATOMIC_ENTER) && !defined(TVMFFI_PORT) &&            \
    !TEST_ONE_THREAD
#define TEST_MEANWHILE 1
#else
#define TEST_MEANWHILE 0
#define TEST_STDERR 0
#endif

#if TEST_MEANWHILE
#if TEST_DLOPEN
#include <dlfcn.h>
#endif
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>

static int test_system_refuses; /* 1: system calls fail that are named below */

__attribute__((__unused__)) static int test_poll(struct pollfd *fds, nfds_t n,
                                                 int ms) {
  test_come_to(TEST_AT_NAP);
  return poll(fds, n, ms);
}
__attribute__((__unused__)) static int test_trylock(pthread_mutex_t *mutex) {
  test_come_to(TEST_AT_LOCK);
  return pthread_mutex_trylock(mutex);
}
__attribute__((__unused__)) static int test_setspecific(pthread_key_t key,
                                                        const void *value) {
  return test_system_refuses ? -1 : pthread_setspecific(key, value);
}
static int test_num_destroyed; /* thread attributes */
__attribute__((__unused__)) static int test_attr_destroy(pthread_attr_t *attr) {
  ++test_num_destroyed;
  return pthread_attr_destroy(attr);
}
__attribute__((__unused__)) static int test_stack_limit(struct rlimit *limit) {
  return test_system_refuses ? -1 : getrlimit(RLIMIT_STACK, limit);
}
#if TEST_DLOPEN
static int test_num_unloadable;           /* calls of dlopen that fail */
static const char *test_loader_says = ""; /* the text of their error */
__attribute__((__unused__)) static void *test_dlopen(const char *path,
                                                     int flags) {
  if (!path || !test_num_unloadable) return dlopen(path, flags);
  --test_num_unloadable;
  return NULL;
}
__attribute__((__unused__)) static const char *test_dlerror(void) {
  return *test_loader_says ? test_loader_says : dlerror();
}
__attribute__((__unused__)) static void *test_dlsym(void *library,
                                                    const char *name) {
  return test_system_refuses ? NULL : dlsym(library, name);
}
#define dlopen(path, flags) test_dlopen(path, flags)
#define dlerror() test_dlerror()
#define dlsym(library, name) test_dlsym(library, name)
#endif
#define poll(fds, n, ms) test_poll(fds, n, ms)
#define pthread_mutex_trylock(mutex) test_trylock(mutex)
#define pthread_setspecific(key, value) test_setspecific(key, value)
#define pthread_attr_destroy(attr) test_attr_destroy(attr)
#define getrlimit(what, limit) test_stack_limit(limit)
#define __atomic_fetch_add(p, n, order) \
  (test_come_to(TEST_AT_ADD), __atomic_fetch_add(p, n, order))
#define __atomic_compare_exchange_n(p, old, now, weak, success, failure)    \
  (test_come_to(TEST_AT_CAS), __atomic_compare_exchange_n(p, old, now, weak, \
                                                          success, failure))

#if !defined(TVMFFI_NO_STDIO)
#define TEST_STDERR !TEST_NO_FILES
#else
#define TEST_STDERR !TEST_NO_FILES && !TVMFFI_NO_STDIO
#endif
#if TEST_STDERR
#include <stdio.h>
static FILE *test_messages; /* gets what is written to stderr, unless NULL */
__attribute__((__unused__)) static FILE *test_stderr(void) {
  return test_messages ? test_messages : stderr;
}
#undef stderr
#define stderr test_stderr()
#endif

static void (*test_thread_work)(void);
#if defined(__cplusplus)
extern "C" {
#endif
static void *test_run_thread(void *unused) {
  (void)unused;
  test_thread_work();
  return NULL;
}
#if defined(__cplusplus)
}
#endif

/* Calls `work` in another thread, and waits for the thread's end. */
__attribute__((__unused__)) static void test_in_thread(void (*work)(void)) {
  pthread_t thread;
  test_thread_work = work;
  if (!pthread_create(&thread, NULL, test_run_thread, NULL))
    (void)pthread_join(thread, NULL);
}

__attribute__((__unused__)) static void test_meanwhile(test_place place, int n,
                                                       void (*act)(void)) {
  test_acts[place].left = n;
  test_acts[place].act = act;
}

/* Returns 1 if the act at a place was not called, and cancels it. */
__attribute__((__unused__)) static int test_did_nothing(test_place place) {
  const int did_nothing = test_acts[place].act != NULL;
  test_acts[place].act = NULL;
  return did_nothing;
}
#endif
