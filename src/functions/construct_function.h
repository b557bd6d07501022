/* ======== Functions of construction =========== >>functions/construct_function
   a constructor for a type */

#pragma once

#include "../head.h"
#include "../reflection.h"
#include "../interface.h"

#if !TVMFFI_NO_CONTAINERS
/* Sets a type's attribute __ffi_init__ to a constructor. The constructor's
   parameters are the type's fields in order: first fields without a default,
   then fields with a default. */
TVMFFI_I_BUILTIN_FUNC(_RegisterFFIInit, none, (int32, type_index)) {
  return tvmffi_i_set_init(type_index);
}
#endif
