/* The runtime, with the port of this folder's system. */

/* On some systems int32_t is a long of the same size as the int of "%d". */
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wformat"
#endif

#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"
