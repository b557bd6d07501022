/* ======== Words of modules =========================== >>functions/module_word
   their parameter type */

#pragma once

#include "../head.h"
#include "../base.h"

#if !TVMFFI_NO_CONTAINERS
TVMFFI_I_OBJECT_TYPE(i_module, "ffi.Module", "ffi.Module", kTVMFFIModule)
#endif
