/* ======== Prototypes ============================================ >>core/knot
   prototypes of functions that stand below */

#pragma once

#include "../head/config.h"

#if TVMFFI_DEBUG
/* The report of an object names its type, which is an object's affair. */
static void tvmffi_i_start_types(void);
static const char *tvmffi_i_type_name(int32_t index);
#endif
