/* callee.h: the function that every language calls, and how a program in C
 * measures and prints. */
#ifndef LANGUAGES_CALLEE_H_
#define LANGUAGES_CALLEE_H_

#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* Of callee.c, in a library of its own. */
#ifdef __cplusplus
extern "C"
#endif
int64_t callee_add(int64_t a, int64_t b);

static inline double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Measures CALL, an expression of x, COUNT times: each call waits for the
 * result of the one before. Prints "NAME<tab>NANOSECONDS". */
#define MEASURE(name, count, call)                                          \
  do {                                                                      \
    int64_t x = 0;                                                          \
    const double begin = seconds_now();                                     \
    for (long i = 0; i < (count); ++i) x = (call);                          \
    printf("%s\t%.3f\n", name,                                              \
           (seconds_now() - begin) / (double)(count)*1e9);                  \
    if (x != (count)) printf("wrong: %lld\n", (long long)x);                \
  } while (0)
#endif
