/* ======== Map functions ============================= >>functions/map_function
   the built-in functions of maps and dicts */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../containers.h"
#include "../interface.h"

#if !TVMFFI_NO_CONTAINERS
TVMFFI_I_OBJECT_TYPE(i_map, "ffi.Map", "ffi.Map", kTVMFFIMap)
TVMFFI_I_OBJECT_TYPE(i_dict, "ffi.Dict", "ffi.Dict", kTVMFFIDict)

/* Parameter type of functions that change a Dict. A Map is accepted, but not
   changed. Upstream changes only a temporary copy of a Map. */
TVMFFI_I_CUSTOM_TYPE(i_any_dict, TVMFFIObject *, "Dict<Any, Any>",
                     TVMFFI_I_TWO_ANY("ffi.Dict")) {
  if (any->type_index != kTVMFFIDict && any->type_index != kTVMFFIMap)
    return TVMFFI_I_MISMATCH;
  *(TVMFFIObject **)out = any->v_obj;
  return any->v_obj ? 0 : TVMFFI_I_MISMATCH;
}

/* Sets the keys of a long list of views, which may form long bucket chains. */
static int tvmffi_i_map_set_many(tvmffi_i_map_object *m, const TVMFFIAny *views,
                                 int32_t n) {
  TVMFFIAny *values =
      (TVMFFIAny *)tvmffi_i_alloc((size_t)n * sizeof(*values));
  int32_t i = 0;
  int code = 0;
  TVMFFI_ASSERT(n > 0 && n % 2 == 0);
  if (!values) return tvmffi_i_no_memory();
  while (i < n && !(code = tvmffi_i_own(&views[i], &values[i]))) ++i;
  if (!code) code = tvmffi_i_map_take(m, values, (size_t)n);
  while (i-- > 0) tvmffi_i_any_release(&values[i]);
  tvmffi_i_free(values);
  return code;
}

static int tvmffi_i_map_call_new(int32_t type_index, const TVMFFIAny *args,
                                 int32_t num_args, TVMFFIAny *result) {
  TVMFFIObject *map;
  int32_t i;
  int code = 0;
  if (num_args % 2)
    return tvmffi_i_internal_error(
        "Check failed: args.size() %% 2 == 0 (1 vs. 0) : ");
  /* Start without a hash table, because a hash table moves a repeated key to
     the end. */
  map = tvmffi_i_new_map(type_index, 0);
  if (!map) return -1;
  if (num_args > 2 * TVMFFI_I_MAP_CHAIN_MAX)
    code = tvmffi_i_map_set_many(tvmffi_i_map_of(map), args, num_args);
  else
    for (i = 0; i < num_args && !code; i += 2)
      code = tvmffi_i_map_set_in(tvmffi_i_map_of(map), &args[i], &args[i + 1]);
  return tvmffi_i_give_filled(result, map, code);
}

TVMFFI_I_INLINE int tvmffi_i_map_item_of(TVMFFIObject *map,
                                         const TVMFFIAny *key,
                                         TVMFFIAny *result) {
  const TVMFFIAny *value = tvmffi_i_map_lookup(map, key);
  if (!value) return tvmffi_i_fail("KeyError", "key is not in Map");
  if (TVMFFI_I_UNLIKELY(value == &tvmffi_i_map_failed))
    return tvmffi_i_map_code();
  tvmffi_i_copy_owned(value, result);
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_map_item_or_missing(TVMFFIObject *map,
                                                 const TVMFFIAny *key,
                                                 TVMFFIAny *result) {
  const TVMFFIAny *value = tvmffi_i_map_lookup(map, key);
  if (TVMFFI_I_UNLIKELY(value == &tvmffi_i_map_failed))
    return tvmffi_i_map_code();
  if (value)
    tvmffi_i_copy_owned(value, result);
  else
    *result = tvmffi_obj(&tvmffi_i_invalid_object);
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_map_count(TVMFFIObject *map, const TVMFFIAny *key,
                                       TVMFFIAny *result) {
  const TVMFFIAny *value = tvmffi_i_map_lookup(map, key);
  if (TVMFFI_I_UNLIKELY(value == &tvmffi_i_map_failed))
    return tvmffi_i_map_code();
  *result = tvmffi_int(value != NULL);
  return 0;
}

/* Sets the value of a key. Does nothing for a map. */
TVMFFI_I_BUILTIN_FUNC(DictSetItem, none, (i_any_dict, dict), (i_view, key),
                      (i_view, value)) {
  return dict->type_index == kTVMFFIDict
             ? tvmffi_i_map_set_in(tvmffi_i_map_of(dict), key, value)
             : 0;
}

/* Removes a key and its value if present. Does nothing for a map. */
TVMFFI_I_BUILTIN_FUNC(DictErase, none, (i_any_dict, dict), (i_view, key)) {
  return dict->type_index == kTVMFFIDict
             ? tvmffi_i_map_erase_in(tvmffi_i_map_of(dict), key)
             : 0;
}

/* Removes all keys and values. Does nothing for a map. */
TVMFFI_I_BUILTIN_FUNC(DictClear, none, (i_any_dict, dict)) {
  return dict->type_index == kTVMFFIDict
             ? tvmffi_i_map_clear_in(tvmffi_i_map_of(dict))
             : 0;
}

/* Context of an iterator function. The iterator retains the map; upstream's
   iterator does not. */
typedef struct {
  TVMFFIObject *map;
  size_t at, end;
} tvmffi_i_map_iterator;

static void tvmffi_i_map_end_iterator(void *self) {
  tvmffi_i_release(((tvmffi_i_map_iterator *)self)->map);
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
  tvmffi_i_copy_owned((uint32_t)command ? &pair->value : &pair->key, result);
  return 0;
}

static TVMFFIObject *tvmffi_i_map_new_iterator(TVMFFIObject *map) {
  tvmffi_i_map_iterator *it =
      (tvmffi_i_map_iterator *)tvmffi_i_alloc(sizeof(*it));
  if (!it) {
    (void)tvmffi_i_no_memory();
    return NULL;
  }
  it->map = map;
  it->at = tvmffi_i_map_begin(map);
  it->end = tvmffi_i_map_is_row(tvmffi_i_map_of(map))
                ? (size_t)tvmffi_i_map_size(map)
                : TVMFFI_I_MAP_END;
  tvmffi_i_retain(map);
  return tvmffi_i_new_closure(it, tvmffi_i_map_iterate,
                              tvmffi_i_map_end_iterator);
}

/* Functions that maps and dicts share. */
#define TVMFFI_I_MAP_FUNCTIONS(Map, map, type)                              \
  /* Creates a map or dict from alternating keys and values. */             \
  TVMFFI_I_PACKED(Map) {                                                    \
    return tvmffi_i_map_call_new(type, args, num_args, result);             \
  }                                                                         \
  /* Returns the number of entries. */                                      \
  TVMFFI_I_BUILTIN_FUNC(Map##Size, int64, (map, self)) {                    \
    TVMFFI_RETURN(tvmffi_i_map_size(self));                                 \
  }                                                                         \
  /* Returns the value of a key. KeyError if the key is absent. */          \
  TVMFFI_I_BUILTIN_FUNC(Map##GetItem, any, (map, self), (i_view, key)) {    \
    return tvmffi_i_map_item_of(self, key, tvmffi_result);                  \
  }                                                                         \
  /* Returns the value of a key, else what ffi.GetInvalidObject returns. */ \
  TVMFFI_I_BUILTIN_FUNC(Map##GetItemOrMissing, any, (map, self),            \
                        (i_view, key)) {                                    \
    return tvmffi_i_map_item_or_missing(self, key, tvmffi_result);          \
  }                                                                         \
  /* Returns 1 if the key is present, else 0. */                            \
  TVMFFI_I_BUILTIN_FUNC(Map##Count, int64, (map, self), (i_view, key)) {    \
    return tvmffi_i_map_count(self, key, tvmffi_result);                    \
  }                                                                         \
  /* Returns an iterator: a function that starts at the first entry. With   \
     the argument 0, the iterator returns the key, with 1 the value. With   \
     2, the iterator advances and returns whether an entry is left. */      \
  TVMFFI_I_BUILTIN_FUNC(Map##ForwardIterFunctor, func, (map, self)) {       \
    TVMFFI_I_RETURN_NEW(tvmffi_i_map_new_iterator(self));                   \
  }
TVMFFI_I_MAP_FUNCTIONS(Map, i_map, kTVMFFIMap)
TVMFFI_I_MAP_FUNCTIONS(Dict, i_dict, kTVMFFIDict)
#endif
