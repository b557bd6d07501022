/* The header as a library of its own: nothing but the implementation. A process
 * has it once, so its thread-local state may lie in the static block. */
#define TVMFFI_STATIC_TLS 1
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"
