/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The port of tvmffi.h to the Linux kernel: the options, and the hooks for
 * memory, the mutex, tasks and atomics. tvmffi.h includes this file.
 */
#ifndef FFI_PORT_H_
#define FFI_PORT_H_

#ifndef CONFIG_64BIT
#error "tvmffi.h needs a 64-bit kernel: counts of references are 64-bit atomics"
#endif

#include <linux/atomic.h>
#include <linux/sched.h>
#include <linux/stdarg.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>

#define TVMFFI_FREESTANDING 1
#define TVMFFI_NO_HEADERS 1
#define TVMFFI_NO_OWN_STRING 1
#define TVMFFI_NO_THREADS 0
#define TVMFFI_NO_FLOAT 1
#define TVMFFI_NO_POOL 1 /* kmalloc has free blocks for each processor */
#define TVMFFI_NO_METADATA 1
#define TVMFFI_NO_REFLECTION 1
#define TVMFFI_NO_EXTRA 1

/*
 * In runtime.c the functions of the ABI are static, so the compiler drops the
 * unused ones. Other files call the exported ones by names with a prefix.
 */
#ifdef FFI_RUNTIME
#define TVMFFI_STATIC 1
#else
#define TVMFFI_PREFIX ffi_
#endif

/* The bytes of a message: with more, frames would have over 512 bytes. */
#define TVMFFI_MESSAGE_SIZE 112

/*
 * TVMFFI_BUILTINS(F) lists the built-in functions that the provider has, as its
 * comment in tvmffi.h describes. With FFI_CONTAINERS the provider has arrays,
 * lists and maps.
 */
#ifndef FFI_CONTAINERS
#define TVMFFI_NO_CONTAINERS 1
#ifndef TVMFFI_BUILTINS
#define TVMFFI_NO_BUILTINS 1
#endif
#elif !defined(TVMFFI_BUILTINS)
#define TVMFFI_BUILTINS(F)                                                     \
	F(Array) F(List) F(ListAppend) F(Map) F(MapGetItemOrMissing)           \
	F(GetInvalidObject)
#endif

/* Macros of <stdint.h> that the kernel lacks. */
#define INT16_MAX __INT16_MAX__
#define INT32_MAX __INT32_MAX__
#define INT32_MIN (-INT32_MAX - 1)
#define INT64_MAX __INT64_MAX__
#define INT64_MIN (-INT64_MAX - 1)
#define UINT8_MAX __UINT8_MAX__
#define UINT16_MAX __UINT16_MAX__
#define UINT32_MAX __UINT32_MAX__
#define UINT64_MAX __UINT64_MAX__
#define PTRDIFF_MAX __PTRDIFF_MAX__
#ifndef UINTPTR_MAX
#define UINTPTR_MAX __UINTPTR_MAX__
#endif

void *ffi_alloc(size_t size);
void ffi_free(void *pointer);
void ffi_lock(void);
void ffi_unlock(void);
void *ffi_local(const void *key, size_t size);
int ffi_at_task_end(void (*function)(void *), void *state);
int ffi_bare_code(const char *name, int code);

#define TVMFFI_MALLOC(size) ffi_alloc(size)
#define TVMFFI_FREE(pointer) ffi_free(pointer)
#define TVMFFI_LOCK() ffi_lock()
#define TVMFFI_UNLOCK() ffi_unlock()
/* Sleeps: a waiting task of a high priority lets those it waits for run. */
#define TVMFFI_YIELD() schedule_timeout_uninterruptible(1)
#define TVMFFI_THREAD_LOCAL(key, size) ffi_local(key, size)
#define TVMFFI_AT_THREAD_END(function, state) ffi_at_task_end(function, state)
#define TVMFFI_BARE_CODE(name, code) ffi_bare_code(name, code)
#define TVMFFI_ATOMIC_CAS(p, old, now) cmpxchg(p, old, now)
/* Loads pair with stores and with CAS: the comments of tvmffi.h say which. */
#define TVMFFI_ATOMIC_LOAD(p) smp_load_acquire(p)
/* Stores pair with loads. */
#define TVMFFI_ATOMIC_STORE(p, value) smp_store_release(p, value)

#endif
