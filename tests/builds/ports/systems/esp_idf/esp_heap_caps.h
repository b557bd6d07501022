#ifndef STAND_IN_HEAP_CAPS_H_
#define STAND_IN_HEAP_CAPS_H_

#include <stddef.h>
#include <stdint.h>

#define MALLOC_CAP_DEFAULT (1 << 12)
void *heap_caps_aligned_alloc(size_t alignment, size_t size, uint32_t caps);
void heap_caps_free(void *pointer);

#endif
