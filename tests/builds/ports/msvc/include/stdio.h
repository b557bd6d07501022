/* The part of the Universal CRT's <stdio.h> that the tests need. As there, the
   functions that format are inline: the CRT's library does not have them. */
#pragma once
#include <stdarg.h>
#include <stddef.h>

#if defined(__cplusplus)
extern "C" {
#endif
typedef struct _iobuf {
  void *_Placeholder;
} FILE;
FILE *__acrt_iob_func(unsigned index);
#define stdin (__acrt_iob_func(0))
#define stdout (__acrt_iob_func(1))
#define stderr (__acrt_iob_func(2))

FILE *tmpfile(void);
int fputs(const char *text, FILE *file);
int fclose(FILE *file);
int fflush(FILE *file);
void rewind(FILE *file);
size_t fread(void *to, size_t size, size_t count, FILE *file);
int __stdio_common_vfprintf(unsigned long long options, FILE *file,
                            const char *format, void *locale, va_list args);
int __stdio_common_vsprintf(unsigned long long options, char *to, size_t size,
                            const char *format, void *locale, va_list args);

static __inline int vfprintf(FILE *file, const char *format, va_list args) {
  return __stdio_common_vfprintf(0, file, format, NULL, args);
}
static __inline int fprintf(FILE *file, const char *format, ...) {
  va_list args;
  int n;
  va_start(args, format);
  n = vfprintf(file, format, args);
  va_end(args);
  return n;
}
static __inline int printf(const char *format, ...) {
  va_list args;
  int n;
  va_start(args, format);
  n = vfprintf(stdout, format, args);
  va_end(args);
  return n;
}
/* Option 2 makes the functions return the length of the whole text. */
static __inline int vsnprintf(char *to, size_t size, const char *format,
                              va_list args) {
  return __stdio_common_vsprintf(2, to, size, format, NULL, args);
}
static __inline int snprintf(char *to, size_t size, const char *format, ...) {
  va_list args;
  int n;
  va_start(args, format);
  n = vsnprintf(to, size, format, args);
  va_end(args);
  return n;
}
static __inline int sprintf(char *to, const char *format, ...) {
  va_list args;
  int n;
  va_start(args, format);
  n = __stdio_common_vsprintf(2, to, (size_t)-1, format, NULL, args);
  va_end(args);
  return n;
}
#if defined(__cplusplus)
}
#endif
