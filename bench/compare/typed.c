/* Calls the functions of several libraries in turn, and prints one line for
   each: SYMBOL LIBRARY NANOSECONDS (the least of many rounds, and the median).

       typed ROUNDS LIBRARY... */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tvmffi.h"

enum { MAX_LIBRARIES = 8, MAX_ROUNDS = 1000, CALLS = 20000 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double measure(TVMFFISafeCallType f, const TVMFFIAny *args, int32_t n) {
  double start = now();
  for (int i = 0; i < CALLS; ++i) {
    TVMFFIAny result = tvmffi_none();
    if (f(NULL, args, n, &result)) exit(1);
  }
  return (now() - start) / CALLS;
}

int main(int argc, char **argv) {
  static double times[MAX_LIBRARIES][MAX_ROUNDS];
  int rounds = argc > 2 ? atoi(argv[1]) : 0, libraries = argc - 2;
  TVMFFIAny ints[8], floats[3], array;
  TVMFFI_SCOPE;
  for (int i = 0; i < 8; ++i) ints[i] = tvmffi_int(3 + i);
  for (int i = 0; i < 3; ++i) floats[i] = tvmffi_float(3 + i);
  array = tvmffi_obj(tvmffi_array_from(ints, 8));
  const struct {
    const char *name;
    const TVMFFIAny *args;
    int32_t count;
  } rows[] = {{"nop", NULL, 0},
              {"add", ints, 2},
              {"fma3", floats, 3},
              {"sum", &array, 1}};
  if (rounds < 1 || rounds > MAX_ROUNDS || libraries < 1 ||
      libraries > MAX_LIBRARIES || !array.v_obj) {
    fprintf(stderr, "usage: typed ROUNDS LIBRARY...\n");
    return 2;
  }
  for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); ++row) {
    TVMFFISafeCallType calls[MAX_LIBRARIES];
    for (int i = 0; i < libraries; ++i) {
      char symbol[64];
      void *library = dlopen(argv[2 + i], RTLD_NOW | RTLD_LOCAL);
      snprintf(symbol, sizeof(symbol), "__tvm_ffi_%s", rows[row].name);
      *(void **)&calls[i] = library ? dlsym(library, symbol) : NULL;
      if (!calls[i]) {
        fprintf(stderr, "typed: %s\n", dlerror());
        return 1;
      }
    }
    for (int round = 0; round < rounds; ++round)
      for (int i = 0; i < libraries; ++i)
        times[i][round] = measure(calls[i], rows[row].args, rows[row].count);
    for (int i = 0; i < libraries; ++i) {
      qsort(times[i], (size_t)rounds, sizeof(double), compare);
      printf("%s %s %.2f %.2f\n", rows[row].name, argv[2 + i], times[i][0],
             times[i][rounds / 2]);
    }
  }
  return 0;
}
