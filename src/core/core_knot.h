/* ======== Prototypes ======================================== >>core/core_knot
   prototypes of functions defined below */

#pragma once

#include "../head.h"

#if TVMFFI_DEBUG
/* Defined in core/type_table.h. Debug messages show type keys. */
static void tvmffi_i_start_types(void);
static const char *tvmffi_i_type_name(int32_t index);
#endif
