/* ======== Words of reflection ==================== >>functions/reflection_word
   parameter types of reflection */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../core.h"

#if !TVMFFI_NO_CONTAINERS
TVMFFI_I_OBJECT_TYPE(i_interrupt, "ffi.VisitInterrupt", "ffi.VisitInterrupt",
                     kTVMFFIVisitInterrupt)
TVMFFI_I_OBJECT_TYPE(i_step, "ffi.reflection.AccessStep",
                     "ffi.reflection.AccessStep", TVMFFI_I_ACCESS_STEP)
TVMFFI_I_OBJECT_TYPE(i_path, "ffi.reflection.AccessPath",
                     "ffi.reflection.AccessPath", TVMFFI_I_ACCESS_PATH)
TVMFFI_I_OBJECT_TYPE(i_steps, "Array<ffi.reflection.AccessStep>",
                     "{\"type\":\"ffi.Array\",\"args\":[{\"type\":\"ffi."
                     "reflection.AccessStep\"}]}",
                     kTVMFFIArray)
TVMFFI_I_OBJECT_TYPE(i_keys, "Array<str>",
                     "{\"type\":\"ffi.Array\",\"args\":[{\"type\":\"ffi."
                     "String\"}]}",
                     kTVMFFIArray)
#endif
