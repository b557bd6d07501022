/* The runtime that the fuzzers share. */
#define FUZZ_RUNTIME
#include "fuzz.h"
