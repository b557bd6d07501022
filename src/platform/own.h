/* ======== Own functions: ABI names without macros ========= >>platform/own */

#pragma once

#include "../head.h"

/* Code above this room calls the ABI: with TVMFFI_DYNAMIC, in the runtime that
   was chosen; without, perhaps in an older runtime that lacks some functions.
   Code below defines the ABI's functions, so from here on an ABI name means the
   function that this file defines. */
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
