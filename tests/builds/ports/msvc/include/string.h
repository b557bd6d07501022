/* The part of the Universal CRT's <string.h> that the tests need. */
#pragma once
#include <stddef.h>

#if defined(__cplusplus)
extern "C" {
#define _CONST_RETURN const
#else
#define _CONST_RETURN
#endif
void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *a, const void *b, size_t size);
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t size);
char *strcpy(char *to, const char *from);
char *strcat(char *to, const char *from);
_CONST_RETURN void *memchr(const void *in, int byte, size_t size);
_CONST_RETURN char *strchr(const char *text, int byte);
_CONST_RETURN char *strrchr(const char *text, int byte);
_CONST_RETURN char *strstr(const char *text, const char *part);
#if defined(__cplusplus)
}
inline void *memchr(void *in, int byte, size_t size) {
  return const_cast<void *>(memchr(static_cast<const void *>(in), byte, size));
}
inline char *strchr(char *text, int byte) {
  return const_cast<char *>(strchr(static_cast<const char *>(text), byte));
}
inline char *strrchr(char *text, int byte) {
  return const_cast<char *>(strrchr(static_cast<const char *>(text), byte));
}
inline char *strstr(char *text, const char *part) {
  return const_cast<char *>(strstr(static_cast<const char *>(text), part));
}
#endif
