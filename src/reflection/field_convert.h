/* ======== Converters ============================== >>reflection/field_convert
   values converted to a field's type */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../core.h"
#include "../containers.h"

#if !TVMFFI_NO_CONTAINERS
/* A type to which values are converted; `name` appears in error messages. */
typedef struct tvmffi_i_target {
  int32_t index;
  int nullable;
  const char *name;
} tvmffi_i_target;

static const tvmffi_i_target tvmffi_i_targets[] = {
    {kTVMFFIObject, 1, "ffi.Object"},     {kTVMFFIStr, 0, "str"},
    {kTVMFFIBytes, 0, "bytes"},           {kTVMFFIError, 0, "ffi.Error"},
    {kTVMFFIFunction, 1, "ffi.Function"}, {kTVMFFIShape, 0, "ffi.Shape"},
    {kTVMFFITensor, 1, "ffi.Tensor"},     {kTVMFFIArray, 0, "Array<Any>"},
    {kTVMFFIMap, 0, "Map<Any, Any>"},     {kTVMFFIList, 0, "List<Any>"},
    {kTVMFFIDict, 0, "Dict<Any, Any>"},   {TVMFFI_I_INT_ENUM, 0, "ffi.IntEnum"},
    {TVMFFI_I_STR_ENUM, 0, "ffi.StrEnum"}};
enum {
  TVMFFI_I_NUM_TARGETS = sizeof(tvmffi_i_targets) / sizeof(tvmffi_i_targets[0])
};

static const tvmffi_i_target *tvmffi_i_target_of(int32_t index) {
  const tvmffi_i_target *t = tvmffi_i_targets;
  while (t->index != index) ++t;
  return t;
}

/* Creates an array or list (owned, of type `index`) with the items of another
   sequence. */
static int tvmffi_i_convert_seq(const TVMFFISeqCell *from, int32_t index,
                                TVMFFIAny *out) {
  const TVMFFIAny *items = (const TVMFFIAny *)from->data;
  TVMFFIAny *to = NULL;
  TVMFFIObject *made = tvmffi_i_new_items(index, from->size, &to);
  int64_t i;
  if (!made) return -1;
  for (i = 0; i < from->size; ++i) to[i] = tvmffi_i_copy_owned(&items[i]);
  *out = tvmffi_obj(made);
  return 0;
}

/* Creates a shape (owned) from a sequence. Returns TVMFFI_I_MISMATCH if an item
   is not an integer. */
static int tvmffi_i_convert_shape(const TVMFFISeqCell *from, TVMFFIAny *out) {
  const TVMFFIAny *items = (const TVMFFIAny *)from->data;
  int64_t i, *numbers = NULL;
  tvmffi_i_shape *shape = tvmffi_i_new_shape((size_t)from->size, &numbers);
  if (!shape) return -1;
  for (i = 0; i < from->size; ++i)
    if (tvmffi_i_from_any(&tvmffi_i_word_int64, &items[i], &numbers[i])) {
      tvmffi_i_release(shape);
      return TVMFFI_I_MISMATCH;
    }
  *out = tvmffi_obj(shape);
  return 0;
}

/* Converts `value` (borrowed) to the type `to`, as upstream's `cast` does. The
   caller owns *out. Returns 0, an error code, or TVMFFI_I_MISMATCH if the types
   do not match. TVMFFI_I_MISMATCH raises no error. */
static int tvmffi_i_convert_to(const tvmffi_i_target *to,
                               const TVMFFIAny *value, TVMFFIAny *out) {
  int32_t index = value->type_index;
  TVMFFIByteArray text;
  int seq = (index == kTVMFFIArray || index == kTVMFFIList) && value->v_obj;
  int map = (index == kTVMFFIMap || index == kTVMFFIDict) && value->v_obj;
  TVMFFIObject *made;
  if (index == kTVMFFINone && to->nullable) {
    *out = tvmffi_none();
    return 0;
  }
  if (index >= kTVMFFIStaticObjectBegin && value->v_obj &&
      tvmffi_is_instance(index, to->index))
    return TVMFFIAnyViewToOwnedAny(value, out);
  switch (to->index) {
    case kTVMFFIStr:
      if (tvmffi_i_get_str(value, &text)) break;
      return TVMFFIStringFromByteArray(&text, out);
    case kTVMFFIBytes:
      if (tvmffi_i_get_bytes(value, &text)) break;
      return TVMFFIBytesFromByteArray(&text, out);
    case kTVMFFIShape:
      if (!seq) break;
      return tvmffi_i_convert_shape(TVMFFI_I_CELL(TVMFFISeqCell, value->v_obj),
                                    out);
    case kTVMFFIArray:
    case kTVMFFIList:
      if (!seq) break;
      return tvmffi_i_convert_seq(TVMFFI_I_CELL(TVMFFISeqCell, value->v_obj),
                                  to->index, out);
    case kTVMFFIMap:
    case kTVMFFIDict:
      if (!map) break;
      made = tvmffi_i_map_copy(value->v_obj, to->index);
      if (!made) return -1;
      *out = tvmffi_obj(made);
      return 0;
    default: break;
  }
  return TVMFFI_I_MISMATCH;
}

/* Converts `value` (borrowed) to the type `index`. The caller owns *out.
   TypeError if the value cannot be converted. */
TVMFFI_I_UNUSED static int tvmffi_i_cast_to(int32_t index,
                                            const TVMFFIAny *value,
                                            TVMFFIAny *out) {
  const tvmffi_i_target *to = tvmffi_i_target_of(index);
  int code = tvmffi_i_convert_to(to, value, out);
  return code == TVMFFI_I_MISMATCH ? tvmffi_i_bad_cast(value, to->name) : code;
}
#endif
