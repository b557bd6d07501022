/* The ports of tvmffi.h whose bounds are measured. BOUNDS_PROFILE is 1 for
   typed calls, errors and the registry, 2 for arrays, maps and JSON, too, and 3
   for everything, with threads by masked interrupts. */

#ifndef PROFILE_H_
#define PROFILE_H_

#include <stddef.h>
#include <stdint.h>

#define TVMFFI_FREESTANDING 1
#define TVMFFI_MESSAGE_SIZE 128
#define TVMFFI_ARENA_SIZE 65536

#if BOUNDS_PROFILE == 1
#define TVMFFI_NO_FLOAT 1
#define TVMFFI_NO_TYPES 1
#elif BOUNDS_PROFILE == 2
#define TVMFFI_NO_METADATA 1
#define TVMFFI_BUILTINS(F)                                                 \
  F(Array)                                                                 \
  F(ArrayContains) F(List) F(ListAppend) F(ListSetItem) F(ListErase)       \
      F(ListContains) F(Map) F(MapCount) F(MapGetItemOrMissing) F(Dict)    \
          F(DictCount) F(DictGetItemOrMissing) F(DictSetItem) F(DictErase) \
              F(GetInvalidObject) F(json_Parse) F(json_Stringify)
#else
#define TVMFFI_NO_THREADS 0
uintptr_t bounds_mask(void);
void bounds_unmask(uintptr_t was);
void bounds_lock(void);
void bounds_unlock(void);
void *bounds_local(const void *key, size_t size);
#define TVMFFI_ATOMIC_ENTER() bounds_mask()
#define TVMFFI_ATOMIC_LEAVE(was) bounds_unmask(was)
#define TVMFFI_LOCK() bounds_lock()
#define TVMFFI_UNLOCK() bounds_unlock()
#define TVMFFI_YIELD() ((void)0) /* there is one thread */
#define TVMFFI_THREAD_LOCAL(key, size) bounds_local(key, size)
#endif

#endif
