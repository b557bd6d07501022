/* ======== Prototypes ============================================ >>core/knot
   prototypes of functions that stand below */

#pragma once

#include "../head/config.h"

#if TVMFFI_DEBUG
/* The debug report names the type of an object. The type table stands below
   objects, as its errors are objects. */
static void tvmffi_i_start_types(void);
static const char *tvmffi_i_type_name(int32_t index);
#endif
