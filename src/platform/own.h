/* ======== Own functions ======================================= >>platform/own
   ABI names from here on */

#pragma once

#include "../head/config.h"
#include "../head/abi.h"
#include "../head/late.h"

/* From here on, an ABI name means the function in this file, not the function
   of the runtime that TVMFFI_DYNAMIC chose, and not a function that may be
   missing. */
#if TVMFFI_DYNAMIC
#undef TVMFFI_I_RENAME
#define TVMFFI_I_RENAME(name) TVMFFI_I_RENAME_(TVMFFI_PREFIX, name)
#endif
#if TVMFFI_I_MAY_LACK
#undef TVMFFIHandleInitOnce
#undef TVMFFIHandleDeinitOnce
#undef TVMFFITensorCreateUnsafeView
#undef TVMFFIErrorCreateWithCauseAndExtraContext
#undef TVMFFIGetCustomAllocator
#undef TVMFFISetCustomAllocator
#undef TVMFFIBigIntFromByteArray
#undef TVMFFIBigIntGetContentByteArray
#endif
