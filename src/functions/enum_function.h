/* ======== Functions of enumerations ================ >>functions/enum_function
   a state without entries */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../reflection.h"
#include "../interface.h"
#include "method.h"

#if !TVMFFI_NO_CONTAINERS
/* Creates an ffi.EnumState without entries. */
TVMFFI_I_LISTED_METHOD(i_enum_state_init, "ffi.EnumState.__ffi_init__",
                       object) {
  TVMFFIObjectHandle made = NULL;
  TVMFFI_TRY(tvmffi_i_create_enum_state(&made));
  TVMFFI_I_GIVE((TVMFFIObject *)made);
}
#endif
