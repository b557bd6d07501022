/* The runtime, with the port of this folder's system. */

#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"
