/* ======== Copy function ============================ >>functions/copy_function
   deep copies */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../graph.h"
#include "../reflection.h"
#include "../interface.h"

#if !TVMFFI_NO_CONTAINERS
/* Returns a deep copy of a value. An object that is reached several times, or
   through a cycle, is copied once. Strings, bytes, shapes, big integers and
   enumerations are not copied. InternalError if an object, such as a function,
   is not a container and its type has no attribute __ffi_shallow_copy__. */
TVMFFI_I_BUILTIN_FUNC(DeepCopy, any, (i_view, value)) {
  tvmffi_i_copy_frame room[8];
  tvmffi_i_copier c = TVMFFI_I_ZERO;
  TVMFFIAny copy;
  int code;
  if (tvmffi_i_copy_leaf(&c, value, &copy)) {
    if (copy.type_index < kTVMFFIStaticObjectBegin || !copy.v_obj)
      return TVMFFIAnyViewToOwnedAny(value, tvmffi_result);
    *tvmffi_result = copy;
    return 0;
  }
  TVMFFI_I_WALK_OPEN(&c, "ObjectGraphDFS", tvmffi_i_pop_frame, room);
  code = tvmffi_i_push_copy(&c, value->v_obj);
  if (!code) code = tvmffi_i_copy_all(&c);
  tvmffi_i_walk_close(&c.walk);
  if (!code) {
    *tvmffi_result = tvmffi_obj(tvmffi_i_copy_of(&c, value));
    tvmffi_i_any_retain(tvmffi_result);
  }
  tvmffi_i_ptr_clear(&c.table, sizeof(tvmffi_i_copied), 2);
  return code;
}
#endif
