/* ======== Map functions =========================== >>containers/map_function
   the built-in functions of maps and dicts */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/word.h"
#include "../interface/map_layout.h"
#include "../interface/function.h"
#include "../platform/memory.h"
#include "../core/raise.h"
#include "../core/object.h"
#include "../core/global.h"
#include "map_lookup.h"
#include "map_memory.h"
#include "map.h"

#if !TVMFFI_NO_CONTAINERS
TVMFFI_I_OBJECT_TYPE(i_map, "ffi.Map", "ffi.Map", kTVMFFIMap)
TVMFFI_I_OBJECT_TYPE(i_dict, "ffi.Dict", "ffi.Dict", kTVMFFIDict)

/* A Dict or, as upstream makes a new Dict of it, a Map: what is done to that
   copy has no effect, so a Map is left alone. */
TVMFFI_I_TYPE(i_any_dict, TVMFFIObject *, "Dict<Any, Any>",
              "{\"type\":\"ffi.Dict\",\"args\":[{\"type\":\"Any\"},"
              "{\"type\":\"Any\"}]}")
TVMFFI_I_GET(i_any_dict) {
  if (any->type_index != kTVMFFIDict && any->type_index != kTVMFFIMap)
    return TVMFFI_I_MISMATCH;
  *out = any->v_obj;
  return *out ? 0 : TVMFFI_I_MISMATCH;
}

/* Any value, left where the caller has it. */
TVMFFI_I_TYPE(i_view, const TVMFFIAny *, "Any", "Any")
TVMFFI_I_GET(i_view) {
  *out = any;
  return 0;
}

static int tvmffi_i_map_call_new(int32_t type_index, const TVMFFIAny *args,
                                 int32_t num_args, TVMFFIAny *result) {
  TVMFFIObject *map;
  int32_t i;
  int code = 0;
  if (num_args % 2)
    return tvmffi_i_fail("InternalError",
                         "Check failed: args.size() %% 2 == 0 (1 vs. 0) : ");
  /* Not made for so many: a key that comes twice is found by another rule in a
     row than in a table. */
  map = tvmffi_i_new_map(type_index, 0);
  if (!map) return -1;
  for (i = 0; i < num_args && !code; i += 2)
    code = tvmffi_i_map_set(&map, &args[i], &args[i + 1]);
  if (code)
    tvmffi_release(map);
  else
    *result = tvmffi_obj(map);
  return code;
}

static int tvmffi_call_i_map(void *self, const TVMFFIAny *args,
                             int32_t num_args, TVMFFIAny *result) {
  (void)self;
  return tvmffi_i_map_call_new(kTVMFFIMap, args, num_args, result);
}
static tvmffi_func tvmffi_func_i_map = {"ffi.Map", tvmffi_call_i_map, -1, NULL};

static int tvmffi_call_i_dict(void *self, const TVMFFIAny *args,
                              int32_t num_args, TVMFFIAny *result) {
  (void)self;
  return tvmffi_i_map_call_new(kTVMFFIDict, args, num_args, result);
}
static tvmffi_func tvmffi_func_i_dict = {"ffi.Dict", tvmffi_call_i_dict, -1,
                                         NULL};

TVMFFI_I_INLINE TVMFFIAny tvmffi_i_map_copied(const TVMFFIAny *value) {
  if (value->type_index >= kTVMFFIStaticObjectBegin)
    tvmffi_retain(value->v_obj);
  return *value;
}

TVMFFI_I_INLINE int tvmffi_i_map_item_of(TVMFFIObject *map,
                                         const TVMFFIAny *key,
                                         TVMFFIAny *result) {
  const TVMFFIAny *value = tvmffi_i_map_lookup(map, key);
  if (!value) return tvmffi_i_fail("KeyError", "key is not in Map");
  if (TVMFFI_I_UNLIKELY(value == &tvmffi_i_map_failed)) return -1;
  *result = tvmffi_i_map_copied(value);
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_map_item_or_missing(TVMFFIObject *map,
                                                 const TVMFFIAny *key,
                                                 TVMFFIAny *result) {
  const TVMFFIAny *value = tvmffi_i_map_lookup(map, key);
  if (TVMFFI_I_UNLIKELY(value == &tvmffi_i_map_failed)) return -1;
  *result =
      value ? tvmffi_i_map_copied(value) : tvmffi_obj(&tvmffi_i_invalid_object);
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_map_count(TVMFFIObject *map, const TVMFFIAny *key,
                                       TVMFFIAny *result) {
  const TVMFFIAny *value = tvmffi_i_map_lookup(map, key);
  if (TVMFFI_I_UNLIKELY(value == &tvmffi_i_map_failed)) return -1;
  *result = tvmffi_int(value != NULL);
  return 0;
}

TVMFFI_FUNC(i_map_size, int64, (i_map, map)) {
  TVMFFI_RETURN(tvmffi_i_map_size(map));
}
TVMFFI_FUNC(i_map_get_item, any, (i_map, map), (i_view, key)) {
  return tvmffi_i_map_item_of(map, key, tvmffi_result);
}
TVMFFI_FUNC(i_map_get_item_or_missing, any, (i_map, map), (i_view, key)) {
  return tvmffi_i_map_item_or_missing(map, key, tvmffi_result);
}
TVMFFI_FUNC(i_map_count, int64, (i_map, map), (i_view, key)) {
  return tvmffi_i_map_count(map, key, tvmffi_result);
}

TVMFFI_FUNC(i_dict_size, int64, (i_dict, dict)) {
  TVMFFI_RETURN(tvmffi_i_map_size(dict));
}
TVMFFI_FUNC(i_dict_get_item, any, (i_dict, dict), (i_view, key)) {
  return tvmffi_i_map_item_of(dict, key, tvmffi_result);
}
TVMFFI_FUNC(i_dict_get_item_or_missing, any, (i_dict, dict), (i_view, key)) {
  return tvmffi_i_map_item_or_missing(dict, key, tvmffi_result);
}
TVMFFI_FUNC(i_dict_count, int64, (i_dict, dict), (i_view, key)) {
  return tvmffi_i_map_count(dict, key, tvmffi_result);
}
TVMFFI_FUNC(i_dict_set_item, none, (i_any_dict, dict), (i_view, key),
            (i_view, value)) {
  if (dict->type_index == kTVMFFIDict)
    TVMFFI_TRY(
        tvmffi_i_map_set_in((tvmffi_i_map_object *)(void *)dict, key, value));
  TVMFFI_RETURN();
}
TVMFFI_FUNC(i_dict_erase, none, (i_any_dict, dict), (i_view, key)) {
  if (dict->type_index == kTVMFFIDict)
    TVMFFI_TRY(tvmffi_i_map_erase_in((tvmffi_i_map_object *)(void *)dict, key));
  TVMFFI_RETURN();
}
TVMFFI_FUNC(i_dict_clear, none, (i_any_dict, dict)) {
  if (dict->type_index == kTVMFFIDict)
    TVMFFI_TRY(tvmffi_i_map_clear_in((tvmffi_i_map_object *)(void *)dict));
  TVMFFI_RETURN();
}

/* What the iterator functions return is a function of a command: 0 gives the
   key, 1 the value, all else goes on and tells whether there is an entry. It
   holds the map, unlike upstream's. */
typedef struct {
  TVMFFIObject *map;
  uint64_t at, end;
} tvmffi_i_map_iterator;

static void tvmffi_i_map_end_iterator(void *self) {
  tvmffi_release(((tvmffi_i_map_iterator *)self)->map);
  tvmffi_i_free(self);
}

static int tvmffi_i_map_iterate(void *self, const TVMFFIAny *args,
                                int32_t num_args, TVMFFIAny *result) {
  tvmffi_i_map_iterator *it = (tvmffi_i_map_iterator *)self;
  const tvmffi_i_pair *pair;
  int64_t command = 0;
  TVMFFI_TRY(tvmffi_i_get_index(args, num_args, result, &command));
  pair = it->at == it->end ? NULL : tvmffi_i_map_pair(it->map, it->at);
  if ((uint32_t)command > 1) {
    it->at = pair ? tvmffi_i_map_after(it->map, it->at) : it->end;
    if (!tvmffi_i_map_pair(it->map, it->at)) it->at = it->end;
    *result = tvmffi_bool(it->at != it->end);
    return 0;
  }
  if (!pair)
    return tvmffi_i_fail("IndexError", "The iterator is at the end of the map");
  *result = tvmffi_i_map_copied((uint32_t)command ? &pair->value : &pair->key);
  return 0;
}

static int tvmffi_i_map_new_iterator(TVMFFIObject *map, TVMFFIAny *result) {
  TVMFFIObjectHandle f = NULL;
  tvmffi_i_map_iterator *it =
      (tvmffi_i_map_iterator *)tvmffi_i_alloc(sizeof(*it));
  if (!it) return tvmffi_i_no_memory();
  it->map = map;
  it->at = tvmffi_i_map_begin(map);
  it->end = tvmffi_i_map_is_row((tvmffi_i_map_object *)(void *)map)
                ? (uint64_t)tvmffi_i_map_size(map)
                : TVMFFI_I_MAP_END;
  tvmffi_retain(map);
  if (TVMFFIFunctionCreate(it, tvmffi_i_map_iterate, tvmffi_i_map_end_iterator,
                           &f)) {
    tvmffi_i_map_end_iterator(it);
    return -1;
  }
  *result = tvmffi_obj(f);
  return 0;
}

TVMFFI_FUNC(i_map_iterator, func, (i_map, map)) {
  return tvmffi_i_map_new_iterator(map, tvmffi_result);
}
TVMFFI_FUNC(i_dict_iterator, func, (i_dict, dict)) {
  return tvmffi_i_map_new_iterator(dict, tvmffi_result);
}
#endif
