/* The same with threads, which are the port's: there is no <pthread.h>. */
#define TVMFFI_NO_THREADS 0
#define TVMFFI_LOCK() port_lock()
#define TVMFFI_UNLOCK() port_unlock()
#define TVMFFI_YIELD() port_yield()
#define TVMFFI_ATOMIC_ENTER() port_mask()
#define TVMFFI_ATOMIC_LEAVE(was) port_unmask(was)
#define TVMFFI_THREAD_LOCAL(key, size) port_local(key, size)
void port_lock(void);
void port_unlock(void);
void port_yield(void);
unsigned long port_mask(void);
void port_unmask(unsigned long was);
void *port_local(const void *key, unsigned long size);
#pragma GCC poison pthread_create pthread_mutex_lock
#include "rpc_freestanding.c"
