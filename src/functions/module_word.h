/* ======== Words of modules =========================== >>functions/module_word
   their parameter type */

#pragma once

#include "../head/config.h"
#include "../head/abi.h"
#include "../base/word.h"

#if !TVMFFI_NO_CONTAINERS
TVMFFI_I_OBJECT_TYPE(i_module, "ffi.Module", "ffi.Module", kTVMFFIModule)
#endif
