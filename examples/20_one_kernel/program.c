/* The kernels in a C program:

       cc -I. examples/20_one_kernel/program.c -o program -lpthread
       ./program */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include "kernels.c"

#include <stdio.h>

static void show(const char *name, const DLTensor *x) {
  printf("%s:", name);
  for (int64_t i = 0; i < x->shape[0]; ++i)
    printf(" %g", TVMFFI_DATA(x, float)[i]);
  printf("\n");
}

#include "calls.h"

TVMFFI_MAIN() { return call_kernels(); }
