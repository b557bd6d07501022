/* ======== Vector: growth of arrays ===================== >>platform/vector */

#pragma once

#include "../head.h"
#include "libc.h"
#include "platform_knot.h"
#include "memory.h"

#if !TVMFFI_NO_EXTRA
/* Moves a full array into memory of twice the capacity. Returns NULL with the
   error raised and the array unchanged on failure. */
TVMFFI_I_UNUSED TVMFFI_I_NOINLINE void *tvmffi_i_larger(void *items,
                                                        size_t *capacity,
                                                        size_t size) {
  size_t wanted = *capacity ? *capacity * 2 : 32;
  void *larger = tvmffi_i_alloc(wanted * size);
  if (!larger) {
    (void)tvmffi_i_no_memory();
    return larger;
  }
  TVMFFI_ASSERT(wanted > *capacity && (items || !*capacity));
  if (*capacity) memcpy(larger, items, *capacity * size);
  tvmffi_i_free(items);
  *capacity = wanted;
  return larger;
}

/* Ensures capacity for one more element. On failure, makes the enclosing
   function return -1. */
#define TVMFFI_I_PUSH_ROOM(type, items, used, capacity)                       \
  do {                                                                        \
    if (TVMFFI_I_UNLIKELY((used) >= (capacity))) {                            \
      type *tvmffi_i_moved =                                                  \
          (type *)tvmffi_i_larger((items), &(capacity), sizeof(type));        \
      if (!tvmffi_i_moved) return -1;                                         \
      (items) = tvmffi_i_moved;                                               \
    }                                                                         \
  } while (0)
#endif
