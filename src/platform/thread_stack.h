/* ======== Thread stacks: where a stack ends ====== >>platform/thread_stack */

#pragma once

#include "../head.h"
#include "libc.h"
#include "thread.h"

#if defined(_WIN32)
/* Declares kernel32 functions under our own names, because <windows.h> defines
   common words as macros. */
#if defined(__i386__)
#define TVMFFI_I_KERNEL32(name, size) \
  __attribute__((__stdcall__)) __asm__("_" #name "@" #size)
#else
#define TVMFFI_I_KERNEL32(name, size) __asm__(#name)
#endif
#endif

#if !TVMFFI_NO_TYPES
/* The address range of a stack, which is empty if the range is unknown. */
typedef struct {
  uintptr_t low, high;
} tvmffi_i_stack_range;

/* tvmffi_i_ask_stack returns the range of the calling thread's stack. On Linux
   the C library may allocate memory for it, and glibc reads /proc/self/maps for
   the main thread. */
#if TVMFFI_FREESTANDING
#define TVMFFI_I_STACK_KNOWN 0
#elif defined(__linux__) && \
    (!TVMFFI_NO_THREADS || !defined(__GLIBC__) || __GLIBC__ > 2 || \
     __GLIBC_MINOR__ >= 34) /* earlier, the functions are in libpthread */
#define TVMFFI_I_STACK_KNOWN 1
#include <pthread.h>
#include <sys/resource.h>
/* Two functions under private names, because <pthread.h> may not declare
   them. */
TVMFFI_I_EXTERN_C int tvmffi_i_thread_attr(
    pthread_t thread, pthread_attr_t *attr) __asm__("pthread_getattr_np");
TVMFFI_I_EXTERN_C int tvmffi_i_attr_stack(
    const pthread_attr_t *attr, void **low,
    size_t *size) __asm__("pthread_attr_getstack");
/* Reads the auxiliary vector. <sys/auxv.h> declares it, but includes <elf.h>,
   which has common names. */
TVMFFI_I_EXTERN_C unsigned long tvmffi_i_auxiliary(unsigned long type) __asm__(
    "getauxval");
enum {
  TVMFFI_I_AT_PAGESZ = 6,
  TVMFFI_I_AT_RANDOM = 25,
  TVMFFI_I_AT_EXECFN = 31
};

/* Returns the range of the main thread's stack. The kernel counts from the
   stack's end, which is above all arguments and above the program's name. */
static tvmffi_i_stack_range tvmffi_i_main_stack(void) {
  const uintptr_t page = (uintptr_t)tvmffi_i_auxiliary(TVMFFI_I_AT_PAGESZ);
  const uintptr_t name = (uintptr_t)tvmffi_i_auxiliary(TVMFFI_I_AT_EXECFN);
  tvmffi_i_stack_range r = {0, 0};
  struct rlimit limit;
  if (!page || !name || getrlimit(RLIMIT_STACK, &limit)) return r;
  TVMFFI_ASSERT((page & (page - 1)) == 0);
  r.high = name + strlen((const char *)name) + 1 + sizeof(void *);
  r.high = (r.high + page - 1) / page * page;
  if (limit.rlim_cur < r.high) r.low = r.high - (uintptr_t)limit.rlim_cur;
  return r;
}

static tvmffi_i_stack_range tvmffi_i_ask_stack(void) {
  tvmffi_i_stack_range r;
  pthread_attr_t attr;
  void *low = NULL;
  size_t size = 0;
  int cancel = tvmffi_i_hold_cancel();
  if (!tvmffi_i_thread_attr(pthread_self(), &attr)) {
    (void)tvmffi_i_attr_stack(&attr, &low, &size);
    (void)pthread_attr_destroy(&attr);
  }
  tvmffi_i_free_cancel(cancel);
  if (!size) return tvmffi_i_main_stack(); /* for example, no file descriptor */
  r.low = (uintptr_t)low;
  r.high = r.low + size;
#if !defined(__GLIBC__) && !defined(__ANDROID__)
  /* For the main thread, musl returns only the pages that are in use, up to the
     auxiliary vector. The bytes of AT_RANDOM are less than 16 KB above it. */
  if ((uintptr_t)tvmffi_i_auxiliary(TVMFFI_I_AT_RANDOM) - r.low <
      size + (16 << 10))
    return tvmffi_i_main_stack();
#endif
  return r;
}
#elif defined(__APPLE__)
#define TVMFFI_I_STACK_KNOWN 1
#include <pthread.h>
TVMFFI_I_EXTERN_C void *tvmffi_i_stack_high(pthread_t thread) __asm__(
    "_pthread_get_stackaddr_np");
TVMFFI_I_EXTERN_C size_t tvmffi_i_stack_size(pthread_t thread) __asm__(
    "_pthread_get_stacksize_np");

static tvmffi_i_stack_range tvmffi_i_ask_stack(void) {
  tvmffi_i_stack_range r;
  r.high = (uintptr_t)tvmffi_i_stack_high(pthread_self());
  r.low = r.high - tvmffi_i_stack_size(pthread_self());
  return r;
}
#elif defined(_WIN32) && TVMFFI_I_GNU
#define TVMFFI_I_STACK_KNOWN 1
TVMFFI_I_EXTERN_C void tvmffi_i_stack_limits(uintptr_t *low, uintptr_t *high)
    TVMFFI_I_KERNEL32(GetCurrentThreadStackLimits, 8);

static tvmffi_i_stack_range tvmffi_i_ask_stack(void) {
  tvmffi_i_stack_range r = {0, 0};
  tvmffi_i_stack_limits(&r.low, &r.high);
  return r;
}
#else
#define TVMFFI_I_STACK_KNOWN 0
#endif
#endif
