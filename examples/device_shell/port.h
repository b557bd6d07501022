/* The runtime's options and hooks for this firmware: no libc, two tasks on one
   core without 64-bit atomic instructions, memory from an arena, no floating
   point, only the ABI's own types. */

#include "tasks.h"

#define TVMFFI_FREESTANDING 1
#define TVMFFI_NO_THREADS 0
#define TVMFFI_NO_FLOAT 1
#define TVMFFI_NO_TYPES 1
#define TVMFFI_MESSAGE_SIZE 128
#define TVMFFI_ARENA_SIZE 8192

/* Of the built-in functions, only the one that makes a shape. */
#define TVMFFI_BUILTINS(F) F(Shape)

#define TVMFFI_LOCK() task_lock()
#define TVMFFI_UNLOCK() task_unlock()
#define TVMFFI_YIELD() task_sleep(1)
#define TVMFFI_THREAD_LOCAL(key, size) task_local(key, size)
#define TVMFFI_ATOMIC_ENTER() task_mask()
#define TVMFFI_ATOMIC_LEAVE(was) task_unmask(was)
