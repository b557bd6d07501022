/* ======== Words of reflection ==================== >>functions/reflection_word
   parameter types of reflection */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../core.h"
#include "method.h"

#if !TVMFFI_NO_CONTAINERS
TVMFFI_I_OBJECT_TYPE(i_interrupt, "ffi.VisitInterrupt", "ffi.VisitInterrupt",
                     kTVMFFIVisitInterrupt)
TVMFFI_I_OBJECT_TYPE(i_step, "ffi.reflection.AccessStep",
                     "ffi.reflection.AccessStep", TVMFFI_I_ACCESS_STEP)
TVMFFI_I_OBJECT_TYPE(i_path, "ffi.reflection.AccessPath",
                     "ffi.reflection.AccessPath", TVMFFI_I_ACCESS_PATH)
#define TVMFFI_I_SCHEMA_i_step TVMFFI_I_SCHEMA_KEY("ffi.reflection.AccessStep")
#define TVMFFI_I_SCHEMA_i_path TVMFFI_I_SCHEMA_KEY("ffi.reflection.AccessPath")
#endif
