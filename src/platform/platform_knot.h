/* ======== Prototypes ================================ >>platform/platform_knot
   prototypes of functions defined below */

#pragma once

#include "../head.h"

/* Declared here, because errors and memory need each other: a failed allocation
   raises an error, and an error is allocated. */
TVMFFI_I_SLOW int tvmffi_i_no_memory(void);
TVMFFI_I_PRINTF(1, 2)
TVMFFI_I_COLD int tvmffi_i_value_error(const char *format, ...);

#if TVMFFI_DEBUG
/* Called by tvmffi_i_free. Returns 1 if the debug code frees the memory later,
   else 0. */
static int tvmffi_i_debug_died(void *object);
#endif
