/* The port of tvmffi.h to Zephyr. The module compiles tvmffi.c, which has the
   runtime, and tvmffi_zephyr.c; include tvmffi.h in the application.

   Call the runtime from threads, never from an interrupt handler. A thread that
   uses the runtime for the first time waits until the system heap has memory
   for the thread's state. */

#ifndef TVMFFI_ZEPHYR_H_
#define TVMFFI_ZEPHYR_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <zephyr/kernel.h>

#if !defined(CONFIG_TVMFFI)
#error "tvmffi: set CONFIG_THREAD_LOCAL_STORAGE and CONFIG_TVMFFI to y"
#endif

#define TVMFFI_FREESTANDING 1
#ifndef TVMFFI_SHARE_INTERFACE
#define TVMFFI_SHARE_INTERFACE 1
#endif
#define TVMFFI_NO_OWN_STRING 1
#define TVMFFI_NO_THREADS 0
#define TVMFFI_MESSAGE_SIZE CONFIG_TVMFFI_MESSAGE_SIZE
#if !defined(CONFIG_TVMFFI_FLOAT)
#define TVMFFI_NO_FLOAT 1
#endif
#if !defined(CONFIG_TVMFFI_CONTAINERS)
#define TVMFFI_NO_CONTAINERS 1
#endif
#if !defined(CONFIG_TVMFFI_EXTRA)
#define TVMFFI_NO_EXTRA 1
#endif

#if defined(__cplusplus)
extern "C" {
#endif
void *tvmffi_zephyr_malloc(size_t size);
void tvmffi_zephyr_lock(void);
void tvmffi_zephyr_unlock(void);
void *tvmffi_zephyr_local(const void *key, size_t size);
int tvmffi_zephyr_at_end(void (*function)(void *), void *state);
uintptr_t tvmffi_zephyr_mask(void);
void tvmffi_zephyr_unmask(uintptr_t was);

/* Frees the runtime's state of the calling thread, among it the thread's
   pending error. A thread that has used the runtime calls this before it ends;
   Zephyr has no hook for the end of a thread. */
void tvmffi_zephyr_end(void);
#if defined(__cplusplus)
}
#endif

#define TVMFFI_MALLOC(size) tvmffi_zephyr_malloc(size)
#define TVMFFI_FREE(pointer) k_free(pointer)
#define TVMFFI_LOCK() tvmffi_zephyr_lock()
#define TVMFFI_UNLOCK() tvmffi_zephyr_unlock()
/* A thread of lower priority can run as well. */
#define TVMFFI_YIELD() ((void)k_sleep(K_TICKS(1)))
#define TVMFFI_THREAD_LOCAL(key, size) tvmffi_zephyr_local(key, size)
#define TVMFFI_AT_THREAD_END(function, state) \
  tvmffi_zephyr_at_end(function, state)

/* For a processor without 64-bit atomic instructions. */
#if __GCC_ATOMIC_LLONG_LOCK_FREE != 2
#define TVMFFI_ATOMIC_ENTER() tvmffi_zephyr_mask()
#define TVMFFI_ATOMIC_LEAVE(was) tvmffi_zephyr_unmask(was)
#endif

#endif
