/* ======== Atomics: memory orders, thread-local variables === >>head/atomic */
/* The memory orders and their reasons:
   - Retain is relaxed. The caller already has a reference, so the object stays
     alive, and its content is already visible to this thread.
   - Release is acquire-release. Each thread's use of the object happens before
     its destruction by the thread that drops the last reference.
   - A pointer is published with a release store and read with an acquire load,
     so a reader sees the pointed-to content. Published content is never changed
     or freed.
   - A reader of the function table increments a counter, and a writer reads the
     counters, both sequentially consistent: either the writer sees the reader,
     or the reader sees the new value. */

#pragma once

#include "config.h"
#include "compiler.h"

#if TVMFFI_NO_THREADS
#define TVMFFI_I_LOAD_RELAXED(p) (*(p))
#define TVMFFI_I_LOAD(p) (*(p))
#define TVMFFI_I_LOAD_SEQ(p) (*(p))
#define TVMFFI_I_STORE(p, v) ((void)(*(p) = (v)))
#define TVMFFI_I_STORE_SEQ(p, v) ((void)(*(p) = (v)))
#elif defined(TVMFFI_ATOMIC_CAS)
/* LOAD_SEQ is only an acquire load, because each caller has just done a CAS,
   which is a full barrier. STORE_SEQ is used only with the mutex held, so *p
   cannot change and its CAS succeeds. */
#define TVMFFI_I_LOAD_RELAXED(p) TVMFFI_ATOMIC_LOAD(p)
#define TVMFFI_I_LOAD(p) TVMFFI_ATOMIC_LOAD(p)
#define TVMFFI_I_LOAD_SEQ(p) TVMFFI_ATOMIC_LOAD(p)
#define TVMFFI_I_STORE(p, v) TVMFFI_ATOMIC_STORE(p, v)
#define TVMFFI_I_STORE_SEQ(p, v) ((void)TVMFFI_ATOMIC_CAS(p, *(p), v))
#elif TVMFFI_I_GNU && !defined(__TINYC__)
#define TVMFFI_I_LOAD_RELAXED(p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define TVMFFI_I_LOAD(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define TVMFFI_I_LOAD_SEQ(p) __atomic_load_n(p, __ATOMIC_SEQ_CST)
#define TVMFFI_I_STORE(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define TVMFFI_I_STORE_SEQ(p, v) __atomic_store_n(p, v, __ATOMIC_SEQ_CST)
#else
#error "tvmffi.h: no atomics for this compiler; define TVMFFI_NO_THREADS as 1"
#endif

/* Sets *p to `now` without the compiler's atomics. Declares `old`, the previous
   value, which the expression `now` may use. TVMFFI_ATOMIC_ENTER may not stop
   other cores, so an unchanged value is not stored: the store could overwrite
   another core's value. */
#if TVMFFI_NO_THREADS
#define TVMFFI_I_UPDATE(type, p, old, now) \
  type old = *(p);                         \
  *(p) = (now)
#elif defined(TVMFFI_ATOMIC_ENTER)
#define TVMFFI_I_UPDATE(type, p, old, now)         \
  type old;                                        \
  uintptr_t was = (TVMFFI_ATOMIC_ENTER());         \
  old = *(volatile type *)(p);                     \
  {                                                \
    type next = (now);                             \
    if (next != old) *(volatile type *)(p) = next; \
  }                                                \
  TVMFFI_ATOMIC_LEAVE(was)
#elif defined(TVMFFI_ATOMIC_CAS)
#define TVMFFI_I_UPDATE(type, p, old, now) \
  type old = TVMFFI_ATOMIC_LOAD(p), seen;  \
  while ((seen = TVMFFI_ATOMIC_CAS(p, old, now)) != old) old = seen
#endif

typedef void *tvmffi_i_any_pointer;

/* A reference count. i386 aligns uint64_t to 4 bytes, for whose atomics clang
   calls functions that may be missing. The processor works with any alignment,
   so the type declares 8 bytes. */
#if defined(__clang__) && defined(__i386__)
typedef uint64_t tvmffi_i_count __attribute__((__aligned__(8)));
#else
typedef uint64_t tvmffi_i_count;
#endif
#define TVMFFI_I_COUNT_AT(p) ((tvmffi_i_count *)(void *)(p))

/* Loads *p with acquire order. */
TVMFFI_I_INLINE uint64_t tvmffi_i_load64(const uint64_t *p) {
#if defined(TVMFFI_ATOMIC_ENTER)
  TVMFFI_I_UPDATE(uint64_t, (uint64_t *)p, old, old);
  return old;
#else
  return TVMFFI_I_LOAD(TVMFFI_I_COUNT_AT(p));
#endif
}

/* Stores n in *p with release order. */
TVMFFI_I_INLINE void tvmffi_i_store64(uint64_t *p, uint64_t n) {
#if defined(TVMFFI_ATOMIC_ENTER)
  TVMFFI_I_UPDATE(uint64_t, p, old, n);
  (void)old;
#else
  TVMFFI_I_STORE(TVMFFI_I_COUNT_AT(p), n);
#endif
}

TVMFFI_I_INLINE uint64_t tvmffi_i_add64(uint64_t *p, uint64_t n) {
#if defined(TVMFFI_I_UPDATE)
  TVMFFI_I_UPDATE(uint64_t, p, old, old + n);
  return old;
#else
  return __atomic_fetch_add(TVMFFI_I_COUNT_AT(p), n, __ATOMIC_RELAXED);
#endif
}

TVMFFI_I_INLINE uint64_t tvmffi_i_sub64(uint64_t *p, uint64_t n) {
#if defined(TVMFFI_I_UPDATE)
  TVMFFI_I_UPDATE(uint64_t, p, old, old - n);
  return old;
#else
  return __atomic_fetch_sub(TVMFFI_I_COUNT_AT(p), n, __ATOMIC_ACQ_REL);
#endif
}

/* Sets *p to `now` and returns 1 if *p equals *old. Otherwise stores the value
   of *p in *old and returns 0. May fail spuriously. Acquire-release. */
TVMFFI_I_INLINE int tvmffi_i_cas64(uint64_t *p, uint64_t *old, uint64_t now) {
#if defined(TVMFFI_I_UPDATE)
  uint64_t expected = *old;
  TVMFFI_I_UPDATE(uint64_t, p, found, found == expected ? now : found);
  *old = found;
  return found == expected;
#else
  return __atomic_compare_exchange_n(TVMFFI_I_COUNT_AT(p), old, now, 1,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
#endif
}

/* Sets *p to `now` and returns 1 if *p equals `old`, else returns 0.
   Acquire-release. */
TVMFFI_I_INLINE int tvmffi_i_cas_pointer(void **p, void *old, void *now) {
#if defined(TVMFFI_I_UPDATE)
  TVMFFI_I_UPDATE(tvmffi_i_any_pointer, p, found, found == old ? now : found);
  return found == old;
#else
  return __atomic_compare_exchange_n(p, &old, now, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED);
#endif
}

/* Sets *p to `now` and returns the previous pointer. Sequentially
   consistent. */
TVMFFI_I_INLINE void *tvmffi_i_swap_pointer(void **p, void *now) {
#if defined(TVMFFI_I_UPDATE)
  TVMFFI_I_UPDATE(tvmffi_i_any_pointer, p, old, now);
  return old;
#else
  return __atomic_exchange_n(p, now, __ATOMIC_SEQ_CST);
#endif
}

/* Adds n to *p. Sequentially consistent. */
TVMFFI_I_INLINE void tvmffi_i_add32(uint32_t *p, uint32_t n) {
#if defined(TVMFFI_I_UPDATE)
  TVMFFI_I_UPDATE(uint32_t, p, old, old + n);
#else
  (void)__atomic_fetch_add(p, n, __ATOMIC_SEQ_CST);
#endif
}

/* Subtracts n from *p with release order: the caller's earlier loads stay
   before the subtraction. */
TVMFFI_I_INLINE void tvmffi_i_sub32(uint32_t *p, uint32_t n) {
#if defined(TVMFFI_I_UPDATE)
  TVMFFI_I_UPDATE(uint32_t, p, old, old - n);
#else
  (void)__atomic_fetch_sub(p, n, __ATOMIC_RELEASE);
#endif
}

/* Sets *p to n. Sequentially consistent. */
TVMFFI_I_INLINE void tvmffi_i_put32(uint32_t *p, uint32_t n) {
#if defined(TVMFFI_I_UPDATE)
  TVMFFI_I_UPDATE(uint32_t, p, old, n);
  (void)old;
#else
  __atomic_store_n(p, n, __ATOMIC_SEQ_CST);
#endif
}

/* TVMFFI_I_THREAD is the storage class of a thread-local variable. With the
   hook TVMFFI_THREAD_LOCAL, a variable has a key instead, and
   TVMFFI_I_OF_THREAD returns the variable's address. */
#if TVMFFI_NO_THREADS
#define TVMFFI_I_THREAD
#elif defined(TVMFFI_THREAD_LOCAL)
enum {
  TVMFFI_I_KEY_PRINTING,
  TVMFFI_I_KEY_NUM_FOUND,
  TVMFFI_I_KEY_DESTROYING,
  TVMFFI_I_KEY_THREAD,
  TVMFFI_I_NUM_KEYS
};
/* The most memory that TVMFFI_THREAD_LOCAL provides to a thread: the file with
   the implementation has up to TVMFFI_THREAD_LOCAL_KEYS keys, which need up to
   TVMFFI_THREAD_LOCAL_SIZE bytes, each rounded up to 8. Any other file that
   includes tvmffi.h has up to 3 keys of its own, for tvmffi_print, for
   tvmffi_leak_report and for the destructors of its classes. */
enum {
  TVMFFI_THREAD_LOCAL_KEYS = TVMFFI_I_NUM_KEYS,
  TVMFFI_THREAD_LOCAL_SIZE =
      (TVMFFI_FREESTANDING && TVMFFI_NO_POOL ? 34 : 128) * sizeof(void *) + 24
};
TVMFFI_I_UNUSED static char tvmffi_i_keys[TVMFFI_I_NUM_KEYS];
#define TVMFFI_I_OF_THREAD(type, name) \
  ((type *)TVMFFI_THREAD_LOCAL((void *)(tvmffi_i_keys + (name)), sizeof(type)))
#elif TVMFFI_I_GNU && defined(__GLIBC__) && defined(__PIC__) && \
    !defined(__PIE__) && !defined(__TINYC__)
/* The initial-exec model: the variables of a shared library are in glibc's
   static TLS block. Otherwise glibc would allocate them at a thread's first
   use, and end the process if there is no memory. The block has about 1,500
   bytes for all libraries that dlopen loads, so a library has 64 at most. */
#define TVMFFI_I_INITIAL_EXEC 1
#define TVMFFI_I_THREAD __thread __attribute__((__tls_model__("initial-exec")))
#else
#define TVMFFI_I_THREAD __thread
#endif
#ifndef TVMFFI_I_INITIAL_EXEC
#define TVMFFI_I_INITIAL_EXEC 0
#endif
/* Defines the function `name`, which returns the address of a thread-local
   variable. A file that does not call the function has no such variable. */
#if defined(TVMFFI_I_THREAD)
#define TVMFFI_I_THREAD_VARIABLE(type, name, key) \
  TVMFFI_I_INLINE type *name(void) {              \
    static TVMFFI_I_THREAD type variable;         \
    return &variable;                             \
  }
#else
#define TVMFFI_I_THREAD_VARIABLE(type, name, key) \
  TVMFFI_I_INLINE type *name(void) { return TVMFFI_I_OF_THREAD(type, key); }
#endif
