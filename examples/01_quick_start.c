/* A program that carries its own runtime: define a function, put it into the
   global table, call it by its name.

       cc -I. examples/01_quick_start.c -lpthread && ./a.out */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <stdio.h>

/* Name, result type, parameters (type, name), then the body. */
TVMFFI_FUNC(square, int64, (int64, x)) { TVMFFI_RETURN(x * x); }

/* A call that fails stores an error for this thread and returns a nonzero code.
   TVMFFI_TRY then returns that code from run(). */
static int run(void) {
  int64_t nine = 0;
  TVMFFI_TRY(TVMFFI_REGISTER("demo.square", square));
  TVMFFI_TRY(tvmffi_call("demo.square", &nine, 3));
  if (nine != 9) return TVMFFI_RAISE("AssertionError", "3 squared is not 9");
  printf("3 squared is %d\n", (int)nine);
  return 0;
}

int main(void) {
  if (!run()) return 0;
  tvmffi_error_print(stderr);
  return 1;
}
