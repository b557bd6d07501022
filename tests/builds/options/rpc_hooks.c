/* rpc/tvmffi_rpc.h where threads are the port's and there is a C library: no
   function of POSIX threads is called. */
#define _POSIX_C_SOURCE 200809L
#define TVMFFI_LOCK() port_lock()
#define TVMFFI_UNLOCK() port_unlock()
#define TVMFFI_YIELD() port_unlock()
#define TVMFFI_THREAD_LOCAL(key, size) port_local(key, size)
void port_lock(void);
void port_unlock(void);
void *port_local(const void *key, unsigned long size);
#pragma GCC poison pthread_create pthread_mutex_lock pthread_cond_wait
#include "rpc_header.c"
