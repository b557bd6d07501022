/* The options and hooks of a firmware of several files. STEP is 1 for typed
   calls and errors on one thread, 2 for two tasks, 3 for containers and JSON,
   too, and 4 for a task that serves RPC, too. */

#ifndef PORT_H_
#define PORT_H_

#include "tasks.h"

#define TVMFFI_FREESTANDING 1
#define TVMFFI_SHARE_INTERFACE 1
#define TVMFFI_MESSAGE_SIZE 128
#define TVMFFI_NO_FLOAT 1

#if STEP >= 2
#define TVMFFI_NO_THREADS 0
#define TVMFFI_LOCK() task_lock()
#define TVMFFI_UNLOCK() task_unlock()
#define TVMFFI_YIELD() task_sleep(1)
#define TVMFFI_THREAD_LOCAL(key, size) task_local(key, size)
#define TVMFFI_ATOMIC_ENTER() task_mask()
#define TVMFFI_ATOMIC_LEAVE(was) task_unmask(was)
#endif

#if STEP >= 3
#define TVMFFI_NO_REFLECTION 1
#define TVMFFI_NO_METADATA 1
#define TVMFFI_BUILTINS(F)                                        \
  F(Array)                                                        \
  F(List)                                                         \
  F(ListAppend)                                                   \
  F(Map) F(MapGetItemOrMissing) F(GetInvalidObject) F(json_Parse) \
      F(json_Stringify)
#else
#define TVMFFI_NO_TYPES 1
#define TVMFFI_NO_BUILTINS 1
#endif

#endif
