/* ======== C library ========================================= >>platform/libc
   libc, or its part that the runtime needs */
#pragma once

#include "../head.h"

#if !TVMFFI_FREESTANDING
#include <string.h>
#if !defined(TVMFFI_MALLOC) || !TVMFFI_NO_BACKTRACE || !TVMFFI_NO_STDIO || \
    defined(_WIN32)
#include <stdlib.h>
#endif
#if !TVMFFI_NO_STDIO
#include <stdio.h>
#endif
#if !TVMFFI_NO_THREADS
#if !defined(TVMFFI_LOCK) || !defined(TVMFFI_THREAD_LOCAL)
#include <pthread.h>
#endif
#if !defined(TVMFFI_LOCK) && !defined(TVMFFI_YIELD)
#include <sched.h>
#endif
#if !defined(TVMFFI_LOCK) && defined(_WIN32)
#include <time.h>
#elif !defined(TVMFFI_LOCK)
#include <poll.h>
#include <unistd.h>
#endif
#endif
#elif !TVMFFI_NO_OWN_STRING

/* Defines the functions of <string.h> that the runtime or compiled code calls.
   They are weak, so that another definition in the program wins. */

#if defined(__cplusplus)
extern "C" {
#endif
#if TVMFFI_I_GNU
#define TVMFFI_I_WEAK __attribute__((__weak__, __used__))
/* Stops the compiler from turning the loop of memcpy into a call of memcpy. */
#define TVMFFI_I_OPAQUE(p) __asm__("" : "+r"(p))
#else
#define TVMFFI_I_WEAK
#define TVMFFI_I_OPAQUE(p) ((void)0)
#endif
void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *a, const void *b, size_t size);
void *memchr(const void *in, int byte, size_t size);
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);
char *strchr(const char *text, int c);
char *strrchr(const char *text, int c);

TVMFFI_I_WEAK void *memcpy(void *to, const void *from, size_t size) {
  char *t = (char *)to;
  const char *f = (const char *)from;
  for (; size; --size) {
    *t++ = *f++;
    TVMFFI_I_OPAQUE(t);
  }
  return to;
}
TVMFFI_I_WEAK void *memmove(void *to, const void *from, size_t size) {
  char *t = (char *)to;
  const char *f = (const char *)from;
  if ((uintptr_t)t - (uintptr_t)f >= size) {
    for (; size; --size) {
      *t++ = *f++;
      TVMFFI_I_OPAQUE(t);
    }
    return to;
  }
  while (size--) {
    t[size] = f[size];
    TVMFFI_I_OPAQUE(t);
  }
  return to;
}
TVMFFI_I_WEAK void *memset(void *to, int byte, size_t size) {
  char *t = (char *)to;
  for (; size; --size) {
    *t++ = (char)byte;
    TVMFFI_I_OPAQUE(t);
  }
  return to;
}
TVMFFI_I_WEAK int memcmp(const void *a, const void *b, size_t size) {
  const unsigned char *x = (const unsigned char *)a;
  const unsigned char *y = (const unsigned char *)b;
  for (; size; --size, ++x, ++y)
    if (*x != *y) return *x - *y;
  return 0;
}
TVMFFI_I_WEAK void *memchr(const void *in, int byte, size_t size) {
  const unsigned char *p = (const unsigned char *)in;
  for (; size; --size, ++p)
    if (*p == (unsigned char)byte) return (void *)p;
  return NULL;
}
TVMFFI_I_WEAK size_t strlen(const char *text) {
  const char *end = text;
  while (*end) {
    ++end;
    TVMFFI_I_OPAQUE(end);
  }
  return (size_t)(end - text);
}
TVMFFI_I_WEAK int strcmp(const char *a, const char *b) {
  for (; *a && *a == *b; ++a) ++b;
  return (unsigned char)*a - (unsigned char)*b;
}
TVMFFI_I_WEAK char *strchr(const char *text, int c) {
  for (; *text != (char)c; ++text)
    if (!*text) return NULL;
  return (char *)text;
}
TVMFFI_I_WEAK char *strrchr(const char *text, int c) {
  const char *end = text + strlen(text);
  for (; *end != (char)c; --end)
    if (end == text) return NULL;
  return (char *)end;
}
#if defined(__cplusplus)
}
#endif
#endif
