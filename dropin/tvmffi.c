/* The header as a library. A process loads a shared library only once, so its
 * thread-local state may be in the static TLS block. A static library sets the
 * option to 0, because several plugins may have a copy. */
#ifndef TVMFFI_STATIC_TLS
#define TVMFFI_STATIC_TLS 1
#endif
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"
