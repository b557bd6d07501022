/* ======== Atomics: memory orders, thread-local variables === >>head/atomic */
/* Atomics. The orders, argued once:
   - A reference is added relaxed: the caller holds one, so nothing is new.
   - A reference is dropped acquire-release: what was done with the object by
     any thread happens before its destruction by the last one.
   - A published pointer is stored release and loaded acquire: who sees it
     sees what it points to. Published things are never changed or freed.
   - Readers of the function table announce themselves, and its writers
     look for them, sequentially consistent: one of the two sees the other. */

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
/* Where one is sequentially consistent, the full barrier of a CAS is near. What
   STORE_SEQ writes is only written by who holds the mutex: its CAS succeeds. */
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

/* A read and a write at once, where the compiler's are not used: `now` is told
   by `old`, which is what stood there. */
#if TVMFFI_NO_THREADS
#define TVMFFI_I_UPDATE(type, p, old, now) \
  type old = *(p);                         \
  *(p) = (now)
#elif defined(TVMFFI_ATOMIC_ENTER)
#define TVMFFI_I_UPDATE(type, p, old, now) \
  type old;                                \
  uintptr_t was = (TVMFFI_ATOMIC_ENTER()); \
  old = *(volatile type *)(p);             \
  *(volatile type *)(p) = (now);           \
  TVMFFI_ATOMIC_LEAVE(was)
#elif defined(TVMFFI_ATOMIC_CAS)
#define TVMFFI_I_UPDATE(type, p, old, now) \
  type old = TVMFFI_ATOMIC_LOAD(p), seen;  \
  while ((seen = TVMFFI_ATOMIC_CAS(p, old, now)) != old) old = seen
#endif

typedef void *tvmffi_i_any_pointer;

/* A count, which on i386 stands at a multiple of four. The processor does not
   mind, but clang would call a library: it is told eight. */
#if defined(__clang__) && defined(__i386__)
typedef uint64_t tvmffi_i_count __attribute__((__aligned__(8)));
#else
typedef uint64_t tvmffi_i_count;
#endif
#define TVMFFI_I_COUNT_AT(p) ((tvmffi_i_count *)(void *)(p))

/* Acquire and release, as TVMFFI_I_LOAD and TVMFFI_I_STORE. */
TVMFFI_I_INLINE uint64_t tvmffi_i_load64(const uint64_t *p) {
#if defined(TVMFFI_ATOMIC_ENTER)
  TVMFFI_I_UPDATE(uint64_t, (uint64_t *)p, old, old);
  return old;
#else
  return TVMFFI_I_LOAD(TVMFFI_I_COUNT_AT(p));
#endif
}

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

/* Replaces *old by `now`; on failure *old gets the present value. */
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

/* Replaces the pointer `old` by `now`; 0 if something else stands there. */
TVMFFI_I_INLINE int tvmffi_i_cas_pointer(void **p, void *old, void *now) {
#if defined(TVMFFI_I_UPDATE)
  TVMFFI_I_UPDATE(tvmffi_i_any_pointer, p, found, found == old ? now : found);
  return found == old;
#else
  return __atomic_compare_exchange_n(p, &old, now, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED);
#endif
}

/* Puts a pointer and gives what stood there: sequentially consistent. */
TVMFFI_I_INLINE void *tvmffi_i_swap_pointer(void **p, void *now) {
#if defined(TVMFFI_I_UPDATE)
  TVMFFI_I_UPDATE(tvmffi_i_any_pointer, p, old, now);
  return old;
#else
  return __atomic_exchange_n(p, now, __ATOMIC_SEQ_CST);
#endif
}

#if !TVMFFI_NO_THREADS
/* Adds to a number: sequentially consistent. */
TVMFFI_I_INLINE void tvmffi_i_add32(uint32_t *p, uint32_t n) {
#if defined(TVMFFI_I_UPDATE)
  TVMFFI_I_UPDATE(uint32_t, p, old, old + n);
#else
  (void)__atomic_fetch_add(p, n, __ATOMIC_SEQ_CST);
#endif
}

/* The same, of what was read before: release. */
TVMFFI_I_INLINE void tvmffi_i_sub32(uint32_t *p, uint32_t n) {
#if defined(TVMFFI_I_UPDATE)
  TVMFFI_I_UPDATE(uint32_t, p, old, old - n);
#else
  (void)__atomic_fetch_sub(p, n, __ATOMIC_RELEASE);
#endif
}

/* Puts a number: sequentially consistent. */
TVMFFI_I_INLINE void tvmffi_i_put32(uint32_t *p, uint32_t n) {
#if defined(TVMFFI_I_UPDATE)
  TVMFFI_I_UPDATE(uint32_t, p, old, n);
  (void)old;
#else
  __atomic_store_n(p, n, __ATOMIC_SEQ_CST);
#endif
}
#endif

/* A variable of each thread: after its storage class, or, where threads are a
   port's, by a number that this file gives it. */
#if TVMFFI_NO_THREADS
#define TVMFFI_I_THREAD
#elif defined(TVMFFI_THREAD_LOCAL)
enum {
  TVMFFI_I_KEY_SCOPE,
  TVMFFI_I_KEY_HERE,
  TVMFFI_I_KEY_PRINTING,
  TVMFFI_I_KEY_NUM_FOUND,
  TVMFFI_I_KEY_DESTROYING,
  TVMFFI_I_KEY_THREAD,
  TVMFFI_I_NUM_KEYS
};
TVMFFI_I_UNUSED static char tvmffi_i_keys[TVMFFI_I_NUM_KEYS];
#define TVMFFI_I_OF_THREAD(type, name) \
  ((type *)TVMFFI_THREAD_LOCAL((void *)(tvmffi_i_keys + (name)), sizeof(type)))
#elif TVMFFI_STATIC_TLS && TVMFFI_I_GNU && defined(__GLIBC__) && \
    defined(__PIC__) && !defined(__PIE__)
#define TVMFFI_I_THREAD __thread __attribute__((__tls_model__("initial-exec")))
#else
#define TVMFFI_I_THREAD __thread
#endif
