/* ======== Allocator: the custom allocator of the ABI ==== >>core/allocator */

#pragma once

#include "../head/config.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "../platform/memory.h"
#include "raise.h"
#include "object.h"

/* The default of the custom allocator. In front of an object stand where its
   memory begins and the header of the ABI. Like upstream's, the runtime's own
   objects do not come from a custom allocator: it serves those who define
   types and ask for it. */
typedef struct {
  void *memory;
  TVMFFIObjectAllocHeader header;
} tvmffi_i_alloc_prefix;

static void tvmffi_i_default_delete(void *object) {
#if TVMFFI_DEBUG
  if (object && tvmffi_i_debug_dies(object)) return;
#endif
  if (object) tvmffi_i_free(((tvmffi_i_alloc_prefix *)object - 1)->memory);
}

static void *tvmffi_i_default_allocate(size_t size, size_t alignment,
                                       int32_t type_index, void *context) {
  tvmffi_i_alloc_prefix *prefix;
  char *memory, *object;
  (void)type_index, (void)context;
  if (alignment < 16) alignment = 16;
  if ((alignment & (alignment - 1)) || alignment > PTRDIFF_MAX / 4 ||
      size > PTRDIFF_MAX / 4) {
    (void)tvmffi_i_fail("ValueError",
                        "cannot allocate %lld bytes aligned to %lld",
                        (long long)size, (long long)alignment);
    return NULL;
  }
  memory = (char *)tvmffi_i_alloc(size + 2 * alignment);
  if (!memory) {
    (void)tvmffi_i_no_memory();
    return NULL;
  }
  object = memory + 2 * alignment - (size_t)((uintptr_t)memory % alignment);
  if (object - memory >= (ptrdiff_t)(sizeof(*prefix) + alignment))
    object -= alignment;
  prefix = (tvmffi_i_alloc_prefix *)(void *)object - 1;
  prefix->memory = memory;
  prefix->header.delete_space = tvmffi_i_default_delete;
#if TVMFFI_DEBUG
  if (size >= sizeof(TVMFFIObject)) /* the head of which can be read later */
    tvmffi_i_debug_made(object, memory, type_index);
#endif
  return object;
}

static TVMFFICustomAllocator tvmffi_i_default_allocator = {
    tvmffi_i_default_allocate, NULL};
static TVMFFICustomAllocator *tvmffi_i_allocator = &tvmffi_i_default_allocator;

TVMFFICustomAllocator *TVMFFIGetCustomAllocator(void) {
  return TVMFFI_I_LOAD(&tvmffi_i_allocator);
}

int TVMFFISetCustomAllocator(TVMFFICustomAllocator *allocator) {
  if (allocator && !allocator->allocate)
    return tvmffi_i_null(__func__, "allocator->allocate");
  TVMFFI_I_STORE(&tvmffi_i_allocator,
                 allocator ? allocator : &tvmffi_i_default_allocator);
  return 0;
}
