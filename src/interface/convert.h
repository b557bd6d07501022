/* ======== Conversion ==================================== >>interface/convert
   containers converted item by item */

#pragma once

#include "../head/compiler.h"
#include "../head/abi.h"
#include "../base/reference.h"
#include "../base/value.h"
#include "../base/error.h"
#include "../base/map_layout.h"
#include "../base/word.h"
#include "compound.h"
#include "global_cache.h"

/* Sets *to to a new container with the items of an array or list. `maker` is
   the index of its constructor, such as TVMFFI_I_NEW_LIST. */
TVMFFI_I_COLD int tvmffi_i_copy_items(int maker, const TVMFFIAny *from,
                                      TVMFFIAny *to) {
  const TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, from->v_obj);
  *to = tvmffi_none();
  if (cell->size > INT32_MAX)
    return tvmffi_i_raise("OverflowError", "%lld arguments",
                          (long long)cell->size);
  return tvmffi_i_global_call(maker, (TVMFFIAny *)cell->data,
                              (int32_t)cell->size, to);
}

/* Converts an array or list and its items. If `same` is 1, the container type
   is right: the container is copied only if an item needs conversion. */
TVMFFI_I_COLD int tvmffi_i_convert_items(const tvmffi_i_compound *of, int maker,
                                         int same, const TVMFFIAny *from,
                                         TVMFFIAny *to) {
  const TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, from->v_obj);
  TVMFFIAny item = tvmffi_none(), *at;
  int code = 0;
  int64_t i;
  *to = tvmffi_none();
  if (!same) TVMFFI_TRY(tvmffi_i_copy_items(maker, from, to));
  for (i = 0; of && i < cell->size; ++i) {
    const TVMFFIAny *given = (const TVMFFIAny *)cell->data + i;
    if (given->type_index == of->fits[0]) continue;
    code = of->cast[0](of->of[0], given, &item);
    if (!code) continue;
    if (code != TVMFFI_I_CONVERTED) break;
    if (to->type_index == kTVMFFINone &&
        (code = tvmffi_i_copy_items(maker, from, to)) != 0) {
      tvmffi_i_any_release(&item);
      break;
    }
    at = (TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, to->v_obj)->data + i;
    tvmffi_i_any_release(at);
    *at = item;
    code = 0;
  }
  if (!code) return to->type_index == kTVMFFINone ? 0 : TVMFFI_I_CONVERTED;
  tvmffi_i_any_release(to);
  return code;
}

/* Converts the key and value of a map entry. Appends both to `list`, if not
   NULL. Returns 0, TVMFFI_I_CONVERTED if either was converted, or an error
   code. */
TVMFFI_I_COLD int tvmffi_i_convert_pair(const tvmffi_i_compound *of,
                                        const tvmffi_i_pair *pair,
                                        const TVMFFIAny *list) {
  const TVMFFIAny *given[2] = {&pair->key, &pair->value};
  int converted = 0, i;
  for (i = 0; i < 2; ++i) {
    TVMFFIAny item;
    int code = of ? of->cast[i](of->of[i], given[i], &item) : 0, failed = 0;
    if (code && code != TVMFFI_I_CONVERTED) return code;
    converted |= code;
    if (list)
      failed =
          tvmffi_i_global_call_void(TVMFFI_I_LIST_APPEND, *list,
                                    code ? item : *given[i], tvmffi_none(), 2);
    if (code) tvmffi_i_any_release(&item);
    if (failed) return failed;
  }
  return converted;
}

/* Converts all keys and values and appends them to `list`. If `list` is NULL,
   stops at the first pair that needs conversion. */
TVMFFI_I_COLD int tvmffi_i_convert_each(const tvmffi_i_compound *of,
                                        const TVMFFIObject *map,
                                        const TVMFFIAny *list) {
  uint64_t i = tvmffi_i_map_begin(map);
  const tvmffi_i_pair *pair;
  for (; (pair = tvmffi_i_map_pair(map, i)) != NULL;
       i = tvmffi_i_map_after(map, i)) {
    int code = tvmffi_i_convert_pair(of, pair, list);
    if (code && !(code == TVMFFI_I_CONVERTED && list)) return code;
  }
  return 0;
}

/* Converts a map or a dict. If a pair or the container type needs conversion,
   makes a new container from a list of all keys and values. */
TVMFFI_I_COLD int tvmffi_i_convert_pairs(const tvmffi_i_compound *of, int maker,
                                         int same, const TVMFFIAny *from,
                                         TVMFFIAny *to) {
  TVMFFIAny list = tvmffi_none();
  int code = 0;
  if (same && of) code = tvmffi_i_convert_each(of, from->v_obj, NULL);
  if (same && code != TVMFFI_I_CONVERTED) return code;
  TVMFFI_TRY(tvmffi_i_global_call(TVMFFI_I_NEW_LIST, NULL, 0, &list));
  code = tvmffi_i_convert_each(of, from->v_obj, &list);
  if (!code) code = tvmffi_i_copy_items(maker, &list, to);
  tvmffi_i_any_release(&list);
  return code ? code : TVMFFI_I_CONVERTED;
}

TVMFFI_I_COLD int tvmffi_i_shape_of(const TVMFFIAny *from, TVMFFIAny *to) {
  tvmffi_i_compound ints = {{"Array", "[ffi.Array"},
                            {&tvmffi_i_name_int64, NULL},
                            {tvmffi_i_item_int64, NULL},
                            {kTVMFFIInt, -1}};
  TVMFFIAny items;
  int code = tvmffi_i_convert_items(&ints, TVMFFI_I_NEW_ARRAY, 1, from, &items);
  int failed;
  if (code && code != TVMFFI_I_CONVERTED) return code;
  failed = tvmffi_i_copy_items(TVMFFI_I_NEW_SHAPE, code ? &items : from, to);
  if (code) tvmffi_i_any_release(&items);
  return failed ? -1 : TVMFFI_I_CONVERTED;
}

TVMFFI_I_COLD int tvmffi_i_convert_container(const tvmffi_i_name *type,
                                             int32_t index,
                                             const TVMFFIAny *from,
                                             TVMFFIAny *to) {
  const tvmffi_i_compound *of = tvmffi_i_compound_of(type);
  int32_t got = from->type_index;
  int same = got == index;
  if (got < kTVMFFIStaticObjectBegin || !from->v_obj) return TVMFFI_I_MISMATCH;
  if (got == kTVMFFIMap || got == kTVMFFIDict) {
    if (index != kTVMFFIMap && index != kTVMFFIDict) return TVMFFI_I_MISMATCH;
    return tvmffi_i_convert_pairs(
        of, index == kTVMFFIMap ? TVMFFI_I_NEW_MAP : TVMFFI_I_NEW_DICT, same,
        from, to);
  }
  if (index == kTVMFFIShape && same) return 0;
  if (got != kTVMFFIArray && got != kTVMFFIList) return TVMFFI_I_MISMATCH;
  if (index == kTVMFFIShape) return tvmffi_i_shape_of(from, to);
  if (index != kTVMFFIArray && index != kTVMFFIList) return TVMFFI_I_MISMATCH;
  return tvmffi_i_convert_items(
      of, index == kTVMFFIArray ? TVMFFI_I_NEW_ARRAY : TVMFFI_I_NEW_LIST, same,
      from, to);
}

/* Returns 1 if all elements of a sequence have the type index in `kind`, so
   that none needs conversion. Else returns 0. */
TVMFFI_I_INLINE int tvmffi_i_fit(int32_t kind, const TVMFFIAny *any) {
  const TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, any->v_obj);
  const TVMFFIAny *item = (const TVMFFIAny *)cell->data;
  const int32_t fits = kind >> TVMFFI_I_FITS;
  int64_t left = cell->size;
  if (fits == TVMFFI_I_INDEX) return 0;
  for (; left >= 4; left -= 4, item += 4)
    if (TVMFFI_I_UNLIKELY(
            (item[0].type_index ^ fits) | (item[1].type_index ^ fits) |
            (item[2].type_index ^ fits) | (item[3].type_index ^ fits)))
      return 0;
  for (; left > 0; --left, ++item)
    if (TVMFFI_I_UNLIKELY(item->type_index != fits)) return 0;
  return 1;
}

/* Slow path of tvmffi_i_load_container: converts *any or accepts None. Returns
   TVMFFI_I_CONVERTED if *any is a new container. */
TVMFFI_I_COLD int tvmffi_i_load_other(const tvmffi_func *f, int32_t i,
                                      int32_t kind, TVMFFIAny *any) {
  const tvmffi_i_name *type = f->types[i + 1];
  TVMFFIAny to;
  int code;
  if (kind & TVMFFI_I_OR_NONE) {
    if (any->type_index == kTVMFFINone) return 0;
    if (tvmffi_i_compound_of(type)) type = tvmffi_i_compound_of(type)->of[0];
  }
  code = tvmffi_i_convert_container(type, kind & TVMFFI_I_INDEX, any, &to);
  if (code == TVMFFI_I_CONVERTED) *any = to;
  return code;
}

/* Loads a container argument into *out. If the argument is converted, *own is
   the new container, which the caller must release after the call. */
TVMFFI_I_INLINE int tvmffi_i_load_container(const tvmffi_func *f, int32_t i,
                                            int32_t kind, const TVMFFIAny *any,
                                            TVMFFIObject **out,
                                            TVMFFIObject **own) {
  *out = any->v_obj;
  if (TVMFFI_I_UNLIKELY(
          (kind & TVMFFI_I_INDEX) != any->type_index || !any->v_obj ||
          ((kind & TVMFFI_I_OF_TYPES) && !tvmffi_i_fit(kind, any)))) {
    TVMFFIAny given = *any;
    int code = tvmffi_i_load_other(f, i, kind, &given);
    *out = given.v_obj;
    if (code != TVMFFI_I_CONVERTED) return code;
    *own = *out;
  }
  return 0;
}
