/* Memory of the wasm module: the runtime's TVMFFI_MALLOC and TVMFFI_FREE. */
#ifndef WEB_MEMORY_H_
#define WEB_MEMORY_H_

#include <stddef.h>

/* The largest block. */
#define WEB_LARGEST ((size_t)0x7FFF0000)

/* Allocates memory, aligned to 16 bytes, or returns NULL. May grow the module's
   memory, and then notifies JavaScript. */
void *web_alloc(size_t size);

/* Frees memory of web_alloc; NULL is allowed. */
void web_free(void *pointer);

/* Returns the bytes of all allocated blocks, with their headers. Equal numbers
   before and after some work mean that it leaked nothing. */
size_t web_bytes_used(void);

/* libc's, which the module has, too. */
void *memcpy(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
void *memmove(void *to, const void *from, size_t size);
int memcmp(const void *a, const void *b, size_t size);
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);
char *strchr(const char *text, int c);

#endif
