/* The header as a library of its own: nothing but the implementation. */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"
