/* ======== Conversion ==================================== >>interface/convert
   containers converted item by item */

#pragma once

#include "../head.h"
#include "../base.h"
#include "scope.h"
#include "global_cache.h"

TVMFFI_I_ONCE(int, tvmffi_i_convert_item,
              (const tvmffi_i_word *word, const TVMFFIAny *from,
               TVMFFIAny *to));

/* Sets *to to a new container with the items of an array or list. `maker` is
   the index of its constructor, such as TVMFFI_I_NEW_LIST. */
TVMFFI_I_ONCE(int, tvmffi_i_copy_items,
              (int maker, const TVMFFIAny *from, TVMFFIAny *to)) {
  const TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, from->v_obj);
  *to = tvmffi_none();
  if (cell->size > INT32_MAX)
    return tvmffi_i_raise("OverflowError", "%lld arguments",
                          (long long)cell->size);
  return tvmffi_i_call_cached(maker, (TVMFFIAny *)cell->data,
                              (int32_t)cell->size, to);
}

/* Converts an array or list to the container that `maker` makes, and its items
   to `item_word` unless that is NULL. If `same` is 1, the container has the
   right type and is copied only if an item needs conversion. Returns 0,
   TVMFFI_I_CONVERTED with an owned *to, or an error code. If `to` is NULL,
   `same` must be 1, and nothing is made: returns TVMFFI_I_CONVERTED or the
   error code at the first item that needs conversion, else 0. */
TVMFFI_I_ONCE(int, tvmffi_i_convert_items,
              (const tvmffi_i_word *item_word, int maker, int same,
               const TVMFFIAny *from, TVMFFIAny *to)) {
  const TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, from->v_obj);
  const int32_t fits = item_word ? tvmffi_i_kept_index(item_word) : -1;
  TVMFFIAny item = tvmffi_none(), *at;
  int code = 0;
  size_t i;
  if (to) *to = tvmffi_none();
  if (!same) TVMFFI_TRY(tvmffi_i_copy_items(maker, from, to));
  for (i = 0; item_word && i < (size_t)cell->size; ++i) {
    const TVMFFIAny *given = (const TVMFFIAny *)cell->data + i;
    if (given->type_index == fits) continue;
    code = tvmffi_i_convert_item(item_word, given, to ? &item : NULL);
    if (!code) continue;
    if (code != TVMFFI_I_CONVERTED || !to) break;
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
  if (!to) return code;
  if (!code) return to->type_index == kTVMFFINone ? 0 : TVMFFI_I_CONVERTED;
  tvmffi_i_any_release(to);
  return code;
}

/* Converts the key and value of a map entry and appends both to `list`, or, if
   `list` is NULL, makes nothing. Returns 0, TVMFFI_I_CONVERTED if either needs
   conversion, or an error code. */
TVMFFI_I_ONCE(int, tvmffi_i_convert_pair,
              (const tvmffi_i_word *word, const tvmffi_i_pair *pair,
               const TVMFFIAny *list)) {
  const TVMFFIAny *given[2] = {&pair->key, &pair->value};
  int converted = 0, i;
  for (i = 0; i < 2; ++i) {
    TVMFFIAny args[2], *to = list ? &args[1] : NULL;
    int failed = 0, code = 0;
    if (word->of[i]) code = tvmffi_i_convert_item(word->of[i], given[i], to);
    if (code && code != TVMFFI_I_CONVERTED) return code;
    converted |= code;
    if (!list) continue;
    args[0] = *list;
    if (!code) args[1] = *given[i];
    failed = tvmffi_i_call_cached_void(TVMFFI_I_LIST_APPEND, args, 2);
    if (code) tvmffi_i_any_release(&args[1]);
    if (failed) return failed;
  }
  return converted;
}

/* Converts all keys and values and appends them to `list`. If `list` is NULL,
   stops at the first pair that needs conversion. */
TVMFFI_I_ONCE(int, tvmffi_i_convert_each,
              (const tvmffi_i_word *word, const TVMFFIObject *map,
               const TVMFFIAny *list)) {
  const tvmffi_i_pair *pair;
  size_t i;
  TVMFFI_I_EACH_PAIR(map, i, pair) {
    int code = tvmffi_i_convert_pair(word, pair, list);
    if (code && (code != TVMFFI_I_CONVERTED || !list)) return code;
  }
  return 0;
}

/* Converts a map or a dict. If a pair or the container type needs conversion,
   makes a new container from a list of all keys and values, unless `to` is
   NULL. */
TVMFFI_I_ONCE(int, tvmffi_i_convert_pairs,
              (const tvmffi_i_word *word, int maker, int same,
               const TVMFFIAny *from, TVMFFIAny *to)) {
  TVMFFIAny list = tvmffi_none();
  int code = 0;
  if (same && word->of[0])
    code = tvmffi_i_convert_each(word, from->v_obj, NULL);
  if (!to || (same && code != TVMFFI_I_CONVERTED)) return code;
  TVMFFI_TRY(tvmffi_i_call_cached(TVMFFI_I_NEW_LIST, NULL, 0, &list));
  code = tvmffi_i_convert_each(word, from->v_obj, &list);
  if (!code) code = tvmffi_i_copy_items(maker, &list, to);
  tvmffi_i_any_release(&list);
  return code ? code : TVMFFI_I_CONVERTED;
}

TVMFFI_I_ONCE(int, tvmffi_i_shape_of, (const TVMFFIAny *from, TVMFFIAny *to)) {
  TVMFFIAny items;
  int failed, code = tvmffi_i_convert_items(
                  &tvmffi_i_word_int64, TVMFFI_I_NEW_ARRAY, 1, from, &items);
  if (code && code != TVMFFI_I_CONVERTED) return code;
  failed = tvmffi_i_copy_items(TVMFFI_I_NEW_SHAPE, code ? &items : from, to);
  if (code) tvmffi_i_any_release(&items);
  return failed ? -1 : TVMFFI_I_CONVERTED;
}

/* Converts the container *from and its elements to `word`. Returns 0 if nothing
   needs conversion, TVMFFI_I_CONVERTED with an owned *to, or an error code. If
   `to` is NULL, returns TVMFFI_I_CONVERTED as soon as something needs
   conversion, and makes nothing. */
TVMFFI_I_ONCE(int, tvmffi_i_convert_container,
              (const tvmffi_i_word *word, const TVMFFIAny *from,
               TVMFFIAny *to)) {
  const int32_t index = word->index, got = from->type_index;
  const int same = got == index, to_map = index == kTVMFFIMap,
            is_map = got == kTVMFFIMap || got == kTVMFFIDict,
            wants_map = to_map || index == kTVMFFIDict;
  if (got < kTVMFFIStaticObjectBegin || !from->v_obj) return TVMFFI_I_MISMATCH;
  if (index == kTVMFFIShape && same) return 0;
  if (is_map != wants_map ||
      (!is_map && got != kTVMFFIArray && got != kTVMFFIList))
    return TVMFFI_I_MISMATCH;
  if (!to && !same) return TVMFFI_I_CONVERTED;
  if (is_map)
    return tvmffi_i_convert_pairs(
        word, to_map ? TVMFFI_I_NEW_MAP : TVMFFI_I_NEW_DICT, same, from, to);
  if (index == kTVMFFIShape) return tvmffi_i_shape_of(from, to);
  return tvmffi_i_convert_items(
      word->of[0],
      index == kTVMFFIArray ? TVMFFI_I_NEW_ARRAY : TVMFFI_I_NEW_LIST, same,
      from, to);
}

TVMFFI_I_ONCE(int, tvmffi_i_convert_item,
              (const tvmffi_i_word *word, const TVMFFIAny *from,
               TVMFFIAny *to)) {
  union {
    TVMFFIAny any;
    TVMFFIByteArray text;
    DLDataType dtype;
    DLDevice device;
    float single;
    double number;
  } value;
  int32_t index;
  int code;
  if (word->kind == TVMFFI_I_OPTIONAL) {
    if (from->type_index == kTVMFFINone) return 0;
    word = word->of[0];
  }
  if (word->kind == TVMFFI_I_CONTAINER)
    return tvmffi_i_convert_container(word, from, to);
  code = tvmffi_i_from_any_as(word->kind, word, from, &value);
  if (code || !tvmffi_i_is_value(word)) return code;
  index = word->kind == TVMFFI_I_INT ? kTVMFFIInt : word->index;
  if (index == from->type_index) return 0;
  if (!to) return TVMFFI_I_CONVERTED;
  *to = tvmffi_none();
  to->type_index = index;
  switch (word->kind) {
    case TVMFFI_I_INT: to->v_int64 = from->v_int64; break;
    case TVMFFI_I_BOOL: to->v_int64 = from->v_int64 != 0; break;
    case TVMFFI_I_DTYPE: to->v_dtype = value.dtype; break;
#if !TVMFFI_NO_FLOAT
    case TVMFFI_I_FLOAT:
      to->v_float64 =
          word->size == sizeof(float) ? (double)value.single : value.number;
      break;
#endif
    default: to->v_device = value.device; break;
  }
  return TVMFFI_I_CONVERTED;
}

/* Returns 1 if a quick look shows that a container argument and its items have
   the types of `word`, so that nothing needs conversion. 0 decides nothing. */
TVMFFI_I_FOLDED int tvmffi_i_fit(const tvmffi_i_word *word,
                                 const TVMFFIAny *any) {
  const TVMFFISeqCell *cell;
  const TVMFFIAny *item;
  int32_t fits;
  int64_t left;
  if (any->type_index != word->index || !any->v_obj) return 0;
  if (!word->of[0]) return 1;
  fits = tvmffi_i_kept_index(word->of[0]);
  if (word->of[1] || fits < 0) return 0;
  cell = TVMFFI_I_CELL(TVMFFISeqCell, any->v_obj);
  item = (const TVMFFIAny *)cell->data;
  for (left = cell->size; left >= 4; left -= 4, item += 4)
    if (TVMFFI_I_UNLIKELY(
            (item[0].type_index ^ fits) | (item[1].type_index ^ fits) |
            (item[2].type_index ^ fits) | (item[3].type_index ^ fits)))
      return 0;
  for (; left > 0; --left, ++item)
    if (TVMFFI_I_UNLIKELY(item->type_index != fits)) return 0;
  return 1;
}

/* Converts a container, and for optional(T) accepts None. The scope owns the
   new container. If `scope` is NULL, returns TVMFFI_I_CONVERTED instead of
   making one. */
TVMFFI_I_ONCE(int, tvmffi_i_load_other,
              (const tvmffi_i_word *word, tvmffi_scope *scope,
               const TVMFFIAny *from, void *to)) {
  TVMFFIAny made;
  int code;
  *(tvmffi_i_object_slot *)to =
      from->type_index == kTVMFFINone ? NULL : from->v_obj;
  code = tvmffi_i_convert_item(word, from, scope ? &made : NULL);
  if (code != TVMFFI_I_CONVERTED || !scope) return code;
  *(tvmffi_i_object_slot *)to = made.v_obj;
  return tvmffi_i_hand(tvmffi_i_owned_by(scope, "a converted container", NULL,
                                         NULL),
                       made.v_obj);
}

/* Returns 1 if `word` is a container or optional(container). */
TVMFFI_I_FOLDED int tvmffi_i_takes_container(const tvmffi_i_word *word) {
  return word->kind == TVMFFI_I_CONTAINER ||
         (word->kind == TVMFFI_I_OPTIONAL &&
          word->of[0]->kind == TVMFFI_I_CONTAINER);
}

/* Converts an argument or the value of a loop. The scope owns a container that
   the conversion makes; without a scope, see tvmffi_i_load_other. */
TVMFFI_I_FOLDED int tvmffi_i_load_in(const tvmffi_i_word *word,
                                     tvmffi_scope *scope, const TVMFFIAny *from,
                                     void *to) {
  if (!tvmffi_i_takes_container(word)) return tvmffi_i_from_any(word, from, to);
  if (TVMFFI_I_UNLIKELY(!tvmffi_i_fit(
          word->kind == TVMFFI_I_OPTIONAL ? word->of[0] : word, from)))
    return tvmffi_i_load_other(word, scope, from, to);
  *(tvmffi_i_object_slot *)to = from->v_obj;
  return 0;
}

/* Converts an argument of a typed function. Returns TVMFFI_I_CONVERTED if a
   container must be made. */
TVMFFI_I_FOLDED int tvmffi_i_load_arg(const tvmffi_i_word *word,
                                      const TVMFFIAny *from, void *to) {
  return tvmffi_i_load_in(word, NULL, from, to);
}
