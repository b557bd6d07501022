/* ======== Allocator: the custom allocator of the ABI ==== >>core/allocator */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "raise.h"
#include "debug.h"

/* The prefix that the default allocator of TVMFFIGetCustomAllocator stores
   before an object. As in upstream, the runtime uses no custom allocator. */
typedef struct {
  void *memory;
  TVMFFIObjectAllocHeader header;
} tvmffi_i_alloc_prefix;

static void tvmffi_i_default_delete(void *object) {
  const tvmffi_i_alloc_prefix *prefix;
  if (!object) return;
#if TVMFFI_DEBUG
  if (tvmffi_i_debug_died(object) ||
      tvmffi_i_debug_died(&((tvmffi_i_module *)object)->base))
    return;
#endif
  prefix = (tvmffi_i_alloc_prefix *)object - 1;
  TVMFFI_ASSERT(prefix->memory && prefix->memory <= (const void *)prefix);
  tvmffi_i_free(prefix->memory);
}

#if TVMFFI_DEBUG
/* Returns the object in memory that an allocator returned. In a module, the
   vtable pointer precedes the object's header. The object of a module struct
   aligned to more than 8 bytes lies elsewhere: the leak report misses it. */
static void *tvmffi_i_object_in(void *memory, int32_t type_index) {
  return type_index == kTVMFFIModule
             ? (void *)&((tvmffi_i_module *)memory)->base
             : memory;
}
#endif

static void *tvmffi_i_default_allocate(size_t size, size_t alignment,
                                       int32_t type_index, void *context) {
  tvmffi_i_alloc_prefix *prefix;
  char *memory, *object;
  (void)type_index, (void)context;
  if (alignment < 16) alignment = 16;
  if ((alignment & (alignment - 1)) || tvmffi_i_is_huge(alignment | size)) {
    (void)tvmffi_i_value_error("cannot allocate %lld bytes aligned to %lld",
                               (long long)size, (long long)alignment);
    return NULL;
  }
  memory = (char *)tvmffi_i_alloc(size + 2 * alignment);
  if (!memory) {
    (void)tvmffi_i_no_memory();
    return NULL;
  }
  object = memory + sizeof(*prefix);
  object += (0 - (uintptr_t)object) & (alignment - 1);
  TVMFFI_ASSERT((uintptr_t)object % alignment == 0);
  TVMFFI_ASSERT(object <= memory + 2 * alignment);
  prefix = (tvmffi_i_alloc_prefix *)(void *)object - 1;
  prefix->memory = memory;
  prefix->header.delete_space = tvmffi_i_default_delete;
#if TVMFFI_DEBUG
  /* A block smaller than an object header is not tracked. */
  if (size >= sizeof(TVMFFIObject))
    (void)tvmffi_i_debug_made(tvmffi_i_object_in(object, type_index), memory,
                              type_index);
#endif
  return object;
}

static TVMFFICustomAllocator tvmffi_i_default_allocator = {
    tvmffi_i_default_allocate, NULL};
static TVMFFICustomAllocator *tvmffi_i_allocator = &tvmffi_i_default_allocator;

#if TVMFFI_DEBUG
/* Allocates by the client's allocator, `context`, and tracks the object. */
static void *tvmffi_i_debug_allocate(size_t size, size_t alignment,
                                     int32_t type_index, void *context) {
  TVMFFICustomAllocator *from = (TVMFFICustomAllocator *)context;
  char *object =
      (char *)from->allocate(size, alignment, type_index, from->context);
  TVMFFIObjectAllocHeader *header;
  tvmffi_i_record *r;
  TVMFFI_ASSERT(from != &tvmffi_i_default_allocator &&
                from->allocate != tvmffi_i_debug_allocate);
  if (!object || size < sizeof(TVMFFIObject)) return object;
  header = (TVMFFIObjectAllocHeader *)(void *)object - 1;
  if (!header->delete_space) return object;
  r = tvmffi_i_debug_made(tvmffi_i_object_in(object, type_index), NULL,
                          type_index);
  if (!r) return object;
  r->delete_space = header->delete_space;
  header->delete_space = tvmffi_i_debug_delete;
  return object;
}

/* Returns an allocator that tracks the objects of `allocator`. Every call with
   the same `allocator` returns the same tracker. Returns `allocator` itself if
   it tracks objects already, or if all eight trackers are in use. */
static TVMFFICustomAllocator *tvmffi_i_tracking(
    TVMFFICustomAllocator *allocator) {
  static TVMFFICustomAllocator tracking[8];
  TVMFFICustomAllocator *t, *end = tracking + 8, *found = allocator;
  if (!allocator || allocator == &tvmffi_i_default_allocator) return allocator;
  tvmffi_i_debug_lock();
  for (t = tracking; t < end && found == allocator; ++t) {
    if (t == allocator) break;
    if (t->allocate && t->context != allocator) continue;
    t->allocate = tvmffi_i_debug_allocate;
    t->context = allocator;
    found = t;
  }
  TVMFFI_ASSERT(found == allocator || found->context == allocator);
  tvmffi_i_debug_unlock();
  return found;
}
#else
#define tvmffi_i_tracking(allocator) (allocator)
#endif

TVMFFICustomAllocator *TVMFFIGetCustomAllocator(void) {
  TVMFFI_ASSERT(TVMFFI_I_LOAD(&tvmffi_i_allocator) != NULL);
  return TVMFFI_I_LOAD(&tvmffi_i_allocator);
}

int TVMFFISetCustomAllocator(TVMFFICustomAllocator *allocator) {
  if (allocator && !allocator->allocate)
    return tvmffi_i_null(__func__, "allocator->allocate");
  TVMFFI_I_STORE(&tvmffi_i_allocator, allocator ? tvmffi_i_tracking(allocator)
                                                : &tvmffi_i_default_allocator);
  return 0;
}
