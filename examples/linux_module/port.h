/* The port of tvmffi.h to the Linux kernel. All modules that use the runtime
   include it. A call of the runtime may sleep, so never call it in an interrupt
   or under a spinlock. */

#ifndef FFI_PORT_H_
#define FFI_PORT_H_

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
#define TVMFFI_NO_EXTRA 1
#define TVMFFI_MESSAGE_SIZE 256 /* the kernel's stack is small */

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

/* One source of each module has the line FFI_MODULE: every function object that
   the module makes takes a reference on the module during a call, so that the
   module is not unloaded meanwhile. Unloading the module removes the names of
   its functions. A call of one that somebody still holds is then an error. */
#ifndef FFI_RUNTIME
#define TVMFFIFunctionCreate ffi_function_create
#endif
#define FFI_MODULE                                                           \
  int ffi_function_create_for(struct module *owner, void *self,              \
                              TVMFFISafeCallType call,                       \
                              void (*deleter)(void *self), void **out);      \
  int ffi_function_create(void *self, TVMFFISafeCallType call,               \
                          void (*deleter)(void *self), void **out) {         \
    return ffi_function_create_for(THIS_MODULE, self, call, deleter, out);   \
  }

/* Frees the runtime's data for the running task, including its last error. A
   task that has used the runtime calls this before it ends. */
void ffi_task_end(void);

#define TVMFFI_MALLOC(size) ffi_alloc(size)
#define TVMFFI_FREE(pointer) ffi_free(pointer)
#define TVMFFI_LOCK() ffi_lock()
#define TVMFFI_UNLOCK() ffi_unlock()
#define TVMFFI_YIELD() cond_resched()
#define TVMFFI_THREAD_LOCAL(key, size) ffi_local(key, size)
#define TVMFFI_AT_THREAD_END(function, state) ffi_at_task_end(function, state)
#define TVMFFI_ATOMIC_CAS(p, old, now) cmpxchg(p, old, now)
#define TVMFFI_ATOMIC_LOAD(p) smp_load_acquire(p)
#define TVMFFI_ATOMIC_STORE(p, value) smp_store_release(p, value)

#endif
