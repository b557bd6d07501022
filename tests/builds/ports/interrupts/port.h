/* Two ports of one program. INTERRUPTS_STATE 0: one thread, as in
   examples/firmware; an interrupt may only call what needs no state. 1: an
   interrupt has memory of its own, and atomic operations mask interrupts. */

#include <stddef.h>
#include <stdint.h>

#define TVMFFI_FREESTANDING 1
#define TVMFFI_STATIC 1
#define TVMFFI_MESSAGE_SIZE 128

#if INTERRUPTS_STATE
uintptr_t port_mask(void);
void port_unmask(uintptr_t was);
void port_lock(void);
void port_unlock(void);
void *port_local(const void *key, size_t size);
#define TVMFFI_NO_THREADS 0
#define TVMFFI_NO_EXTRA 1
#define TVMFFI_ARENA_SIZE 32768
#define TVMFFI_LOCK() port_lock()
#define TVMFFI_UNLOCK() port_unlock()
#define TVMFFI_YIELD() ((void)0) /* nobody waits */
#define TVMFFI_THREAD_LOCAL(key, size) port_local(key, size)
#define TVMFFI_ATOMIC_ENTER() port_mask()
#define TVMFFI_ATOMIC_LEAVE(was) port_unmask(was)
#else
void *port_malloc(size_t size);
void port_free(void *pointer);
#define TVMFFI_NO_TYPES 1
#define TVMFFI_MALLOC(size) port_malloc(size)
#define TVMFFI_FREE(pointer) port_free(pointer)
#endif
