/* The runtime, compiled as C, with the bytes of its arena in use. */

#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

size_t runtime_used(void);
size_t runtime_used(void) { return tvmffi_arena_used(NULL); }
