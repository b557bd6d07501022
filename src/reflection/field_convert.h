/* ======== Converters ============================== >>reflection/field_convert
   values converted to containers */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../core.h"
#include "../containers.h"

#if !TVMFFI_NO_CONTAINERS
/* Creates a shape (owned) from a sequence of integers. */
TVMFFI_I_UNUSED static int tvmffi_i_convert_shape(const TVMFFISeqCell *from,
                                                  TVMFFIAny *out) {
  const TVMFFIAny *items = (const TVMFFIAny *)from->data;
  const size_t size = (size_t)from->size;
  int64_t *numbers = NULL;
  tvmffi_i_shape *shape = tvmffi_i_new_shape(size, &numbers);
  size_t i;
  if (!shape) return -1;
  TVMFFI_ASSERT(shape->cell.size == size);
  for (i = 0; i < size; ++i) {
    TVMFFI_ASSERT(TVMFFI_I_IS_INT(&items[i]));
    numbers[i] = items[i].v_int64;
  }
  return tvmffi_i_give_new(out, shape);
}

/* Converts a container (borrowed) to the container type `index`. The caller
   owns *out. Returns 0, an error code, or TVMFFI_I_MISMATCH without an error.
 */
TVMFFI_I_UNUSED static int tvmffi_i_to_container(int32_t index,
                                                 const TVMFFIAny *value,
                                                 TVMFFIAny *out) {
  const int32_t got = value->type_index;
  TVMFFIObject *made;
  TVMFFI_ASSERT(index == kTVMFFIArray || index == kTVMFFIList ||
                index == kTVMFFIMap || index == kTVMFFIDict);
  if (got < kTVMFFIStaticObjectBegin || !value->v_obj) return TVMFFI_I_MISMATCH;
  if (got == index) return TVMFFIAnyViewToOwnedAny(value, out);
  if (index == kTVMFFIArray ? got == kTVMFFIList
                            : index == kTVMFFIList && got == kTVMFFIArray)
    return tvmffi_i_convert_seq(TVMFFI_I_CELL(TVMFFISeqCell, value->v_obj),
                                index, out);
  if (index == kTVMFFIMap ? got != kTVMFFIDict
                          : index != kTVMFFIDict || got != kTVMFFIMap)
    return TVMFFI_I_MISMATCH;
  made = tvmffi_i_map_copy(value->v_obj, index);
  return tvmffi_i_give_new(out, made);
}

/* Converts `value` (borrowed) to an array or a map, as `index` says. The caller
   owns *out. TypeError if the value cannot be converted. */
TVMFFI_I_UNUSED static int tvmffi_i_cast_to(int32_t index,
                                            const TVMFFIAny *value,
                                            TVMFFIAny *out) {
  int code = tvmffi_i_to_container(index, value, out);
  TVMFFI_ASSERT(index == kTVMFFIArray || index == kTVMFFIMap);
  if (code != TVMFFI_I_MISMATCH) return code;
  return tvmffi_i_bad_cast(
      value, index == kTVMFFIArray ? "Array<Any>" : "Map<Any, Any>");
}
#endif
