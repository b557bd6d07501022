/* ======== Sort: heapsort ================================== >>platform/sort */

#pragma once

#include "../head.h"
#include "libc.h"

#if !TVMFFI_NO_CONTAINERS
/* Returns 1 if `a` sorts before `b`, else 0. */
typedef int (*tvmffi_i_less)(const void *a, const void *b, const void *context);

/* Sorts `n` items of `size` bytes in place by heapsort. Always inlined, so that
   `less` and the memcpy of a constant `size` are inlined. */
TVMFFI_I_ALWAYS_INLINE void tvmffi_i_sort(void *items, size_t n, size_t size,
                                          tvmffi_i_less less,
                                          const void *context) {
  char *at = (char *)items;
  size_t start = n / 2, end = n, root, child;
  uint64_t moved[4];
  TVMFFI_ASSERT(size <= sizeof(moved));
  while (end > 1) {
    if (start) {
      memcpy(moved, at + --start * size, size);
    } else {
      memcpy(moved, at + --end * size, size);
      memcpy(at + end * size, at, size);
    }
    for (root = start; (child = 2 * root + 1) < end; root = child) {
      if (child + 1 < end &&
          less(at + child * size, at + (child + 1) * size, context))
        ++child;
      if (!less(moved, at + child * size, context)) break;
      memcpy(at + root * size, at + child * size, size);
    }
    memcpy(at + root * size, moved, size);
  }
}

/* Orders two items by their first 8 bytes, as uint64_t. */
TVMFFI_I_INLINE int tvmffi_i_word_less(const void *a, const void *b,
                                       const void *context) {
  uint64_t x, y;
  (void)context;
  memcpy(&x, a, 8);
  memcpy(&y, b, 8);
  return x < y;
}
#endif
