/* The end of the main thread's stack, which arguments of the program shift:
   calls nest until it is near. With the argument "files", the process can open
   no file meanwhile. Prints how deep they nested. */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <stdio.h>
#include <sys/resource.h>

static int deepest;

TVMFFI_I_NOINLINE int nest(int depth) {
  volatile char frame[1000];
  int code;
  frame[0] = 0;
  if (tvmffi_i_nest()) return -1;
  deepest = depth;
  code = nest(depth + 1);
  tvmffi_i_unnest();
  return code + frame[0];
}

int main(int argc, char **argv) {
  struct rlimit limit = {0, 0};
  if (argc > 1 && !strcmp(argv[1], "files") &&
      (getrlimit(RLIMIT_NOFILE, &limit) ||
       (limit.rlim_cur = 0, setrlimit(RLIMIT_NOFILE, &limit))))
    return 2;
  (void)nest(1);
  printf("%d calls of 1 KB\n", deepest);
  return deepest < 2000;
}
