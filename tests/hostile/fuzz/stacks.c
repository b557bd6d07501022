/* The programs of calls.c on threads with small stacks, with values that nest
   hundreds of levels and hooks that call the runtime again. An overflow of the
   stack ends the process. */
#define FUZZ_STACKS 1
#include "calls.c"
