/* support.c: what the harness and the benchmarks share: the options, the two
 * libraries, the groups of BENCH_GROUP, and functions that end the program when
 * they fail. It calls no other file of the program. */
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"

options option = {.ours = "libtvmffi.so", .cpu = -1, .runs = RUNS};
bench_lib ours = {.label = "ours"}, stock = {.label = "stock"};

volatile sig_atomic_t interrupted;

static bench_group *added;

void bench_add(bench_group *group) {
  bench_group **end = &added;
  while (*end) end = &(*end)->next;
  *end = group;
}

bench_group *added_groups(void) { return added; }

__attribute__((noreturn)) void die(const char *what, const char *why) {
  fprintf(stderr, "bench: %s: %s\n", what, why);
  exit(2);
}

void *bench_alloc(size_t size) {
  void *p = malloc(size);
  if (!p) die("malloc", "out of memory");
  return p;
}

void bench_fill_caches(uint64_t x) {
  enum { BYTES = 64 << 20, LINE = 64 };
  static unsigned char *block;
  if (!block) block = bench_alloc(BYTES);
  for (int i = 0; i < BYTES; i += LINE)
    block[i] = (unsigned char)(block[i] + x);
}

void bench_fail(const bench_lib *lib, const char *what) {
  TVMFFIObjectHandle error = NULL;
  const TVMFFIErrorCell *cell;
  lib->ErrorMoveFromRaised(&error);
  if (!error) die(lib->label, what);
  cell = bench_cell(error);
  fprintf(stderr, "bench: %s: %s: %.*s: ", lib->label, what,
          (int)cell->kind.size, cell->kind.data);
  die(lib->path, cell->message.data);
}

int bench_nothing(void *self, const TVMFFIAny *args, int32_t num_args,
                  TVMFFIAny *result) {
  (void)self;
  (void)args;
  (void)num_args;
  *result = bench_none();
  return 0;
}

TVMFFIObjectHandle bench_function(const bench_lib *lib, void *self,
                                  TVMFFISafeCallType safe_call,
                                  void (*deleter)(void *self)) {
  TVMFFIObjectHandle function = NULL;
  bench_need(lib, lib->FunctionCreate(self, safe_call, deleter, &function),
             "TVMFFIFunctionCreate");
  return function;
}

void bench_names_start(bench_names *names, const char *prefix) {
  static int users;
  int size = snprintf(names->text, sizeof names->text, "%s_%d_%08d", prefix,
                      ++users, 0);
  names->name = bench_bytes(names->text, (size_t)size);
}
