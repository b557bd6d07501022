/* ======== Words of arrays and lists ================ >>functions/sequence_word
   their parameter types */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../interface.h"

#if !TVMFFI_NO_CONTAINERS
TVMFFI_I_OBJECT_TYPE(i_array, "ffi.Array", "ffi.Array", kTVMFFIArray)
TVMFFI_I_OBJECT_TYPE(i_list, "ffi.List", "ffi.List", kTVMFFIList)

/* Parameter type of functions that change a list. For an array, a function
   changes only a temporary list copy, because upstream does (SeqTypeTraitsBase
   in container/seq_base.h) and clients pass arrays. */
TVMFFI_I_CUSTOM_TYPE(i_any_list, TVMFFIObject *, "List<Any>",
                     TVMFFI_I_ONE_ANY("ffi.List")) {
  *(TVMFFIObject **)out = any->v_obj;
  if (any->type_index != kTVMFFIList && any->type_index != kTVMFFIArray)
    return TVMFFI_I_MISMATCH;
  return any->v_obj ? 0 : TVMFFI_I_MISMATCH;
}
#endif
