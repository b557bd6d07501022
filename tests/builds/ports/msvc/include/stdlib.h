/* The part of the Universal CRT's <stdlib.h> that the tests need. */
#pragma once
#include <stddef.h>

#if defined(__cplusplus)
extern "C" {
#endif
void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *block, size_t size);
void free(void *block);
char *getenv(const char *name);
#if defined(__cplusplus)
}
#endif
