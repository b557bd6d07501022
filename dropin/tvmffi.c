/* The header as a library. */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"
