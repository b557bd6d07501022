/* ======== Own functions: ABI names without macros ========= >>platform/own */

#pragma once

#include "../head.h"

/* Code before this room may call another runtime: the chosen one with
   TVMFFI_DYNAMIC, or one that is older and lacks functions of the ABI. So the
   names of the ABI's functions were macros until here. The code below defines
   these functions, so from here on a name means the function in this file. */
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
