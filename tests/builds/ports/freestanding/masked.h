/* A port to one core without atomic instructions, with threads: interrupts are
   masked. Compiled only, for any machine: it names what it would call. */

#include <stddef.h>
#include <stdint.h>

#define TVMFFI_FREESTANDING 1
#define TVMFFI_NO_THREADS 0
#define TVMFFI_ARENA_SIZE 4096

uintptr_t port_enter(void);
void port_leave(uintptr_t was);
void port_lock(void);
void port_unlock(void);
void port_yield(void);
void *port_local(const void *key, size_t size);

#define TVMFFI_ATOMIC_ENTER() port_enter()
#define TVMFFI_ATOMIC_LEAVE(was) port_leave(was)
#define TVMFFI_LOCK() port_lock()
#define TVMFFI_UNLOCK() port_unlock()
#define TVMFFI_YIELD() port_yield()
#define TVMFFI_THREAD_LOCAL(key, size) port_local(key, size)
