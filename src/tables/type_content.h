/* ======== Field contents ============================== >>tables/type_content
   getters and setters of built-in types */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../core.h"
#include "../containers.h"
#include "../reflection.h"

#if !TVMFFI_NO_REFLECTION
/* Describes the type of a field of a built-in type. */
typedef struct {
  int32_t size, alignment, type_index;
  TVMFFIFieldGetter get;
  TVMFFIFieldSetter set;
  const char *metadata;
} tvmffi_i_content;

/* Converts a value to the type `index` and stores a reference to the result in
   the field. `name` is the type's name in errors. */
static int tvmffi_i_set_converted(void *field, const TVMFFIAny *value,
                                  int32_t index, const char *name) {
  TVMFFIAny made = tvmffi_none();
  int code = tvmffi_i_convert_to(tvmffi_i_target_of(index), value, &made);
  if (code) return code > 0 ? tvmffi_i_bad_cast(value, name) : code;
  tvmffi_i_put_reference(field, &made);
  tvmffi_i_any_release(&made);
  return 0;
}

static int tvmffi_i_is_object_or_none(const TVMFFIAny *value) {
  return value->type_index == kTVMFFINone ||
         value->type_index >= kTVMFFIStaticObjectBegin;
}

static int tvmffi_i_set_optional_step(void *field, const TVMFFIAny *value) {
  if (value->type_index != kTVMFFINone &&
      value->type_index != TVMFFI_I_ACCESS_STEP)
    return tvmffi_i_bad_cast(value, "Optional<ffi.reflection.AccessStep>");
  return tvmffi_i_set_reference(field, value);
}

static int tvmffi_i_set_optional(void *field, const TVMFFIAny *value) {
  if (!tvmffi_i_is_object_or_none(value))
    return tvmffi_i_bad_cast(value, "Optional<ffi.Object>");
  return tvmffi_i_set_reference(field, value);
}

static int tvmffi_i_set_str_field(void *field, const TVMFFIAny *value) {
  TVMFFIAny made = tvmffi_none();
  TVMFFI_TRY(tvmffi_i_cast_to(kTVMFFIStr, value, &made));
  tvmffi_i_any_release((TVMFFIAny *)field);
  *(TVMFFIAny *)field = made;
  return 0;
}

/* Sets a field of type List<ffi.Object>. Raises a TypeError for an item that is
   neither an object nor None. */
static int tvmffi_i_set_objects(void *field, const TVMFFIAny *value) {
  if ((value->type_index == kTVMFFIList || value->type_index == kTVMFFIArray) &&
      value->v_obj) {
    const tvmffi_i_seq *list = tvmffi_i_seq_of(value->v_obj);
    const TVMFFIAny *items = TVMFFI_I_ITEMS(list);
    int64_t i;
    for (i = 0; i < list->cell.size; ++i)
      if (!tvmffi_i_is_object_or_none(&items[i]))
        return tvmffi_i_fail(
            "TypeError",
            "Cannot convert from type `List[index %lld: %s]` to "
            "`List<ffi.Object>`",
            (long long)i, tvmffi_i_type_key(items[i].type_index));
  }
  return tvmffi_i_set_converted(field, value, kTVMFFIList, "List<ffi.Object>");
}

static int tvmffi_i_set_array(void *field, const TVMFFIAny *value) {
  return tvmffi_i_set_converted(field, value, kTVMFFIArray, "Array<Any>");
}

/* Returns the first pair of a map or dict whose key is neither an object nor
   None. Returns NULL if there is no such pair, or for a value of another
   type. */
static const tvmffi_i_pair *tvmffi_i_find_bad_key(const TVMFFIAny *value) {
  const tvmffi_i_pair *pair;
  uint64_t i;
  if (value->type_index != kTVMFFIMap && value->type_index != kTVMFFIDict)
    return NULL;
  for (i = tvmffi_i_map_begin(value->v_obj);
       (pair = tvmffi_i_map_pair(value->v_obj, i)) != NULL &&
       tvmffi_i_is_object_or_none(&pair->key);
       i = tvmffi_i_map_after(value->v_obj, i)) {
  }
  return pair;
}

/* Checks whether a key or value of a dict is of a kind: 'A' is any value, 'S' a
   string, 'O' an object or None, 'D' a dict whose keys are of kind 'O'. Returns
   2 if so, 1 if the item must be converted, or 0 if the item is wrong. */
static int tvmffi_i_fits(char kind, const TVMFFIAny *item) {
  int32_t index = item->type_index;
  if (kind == 'A') return 2;
  if (kind == 'S')
    return index == kTVMFFISmallStr || index == kTVMFFIStr ? 2 : 0;
  if (kind == 'O') return tvmffi_i_is_object_or_none(item) ? 2 : 0;
  if (tvmffi_i_find_bad_key(item)) return 0;
  return index == kTVMFFIDict ? 2 : index == kTVMFFIMap;
}

/* Raises a TypeError for `item`, a key or value of the wrong kind in a dict. */
static int tvmffi_i_bad_dict(const TVMFFIAny *item, int is_key,
                             const char *name) {
  const tvmffi_i_pair *pair = tvmffi_i_find_bad_key(item);
  return tvmffi_i_fail(
      "TypeError", "Cannot convert from type `Dict[%s is %s%s%s%s]` to `%s`",
      is_key ? "some key" : "K, some value", pair ? "Dict[some key is " : "",
      tvmffi_i_type_key(pair ? pair->key.type_index : item->type_index),
      pair ? ", V]" : "", is_key ? ", V" : "", name);
}

/* Sets a field of type Dict. `kinds[0]` is the kind of the keys and `kinds[1]`
   the kind of the values: see tvmffi_i_fits. The field shares a dict that needs
   no conversion. */
static int tvmffi_i_set_dict(void *field, const TVMFFIAny *value,
                             const char *kinds, const char *name) {
  TVMFFIObject *from, *made;
  const tvmffi_i_pair *pair;
  tvmffi_i_pair *change;
  int code = 0, fits = value->type_index == kTVMFFIDict ? 2 : 1;
  TVMFFIAny result;
  uint64_t i;
  if ((value->type_index != kTVMFFIMap && fits != 2) || !value->v_obj)
    return tvmffi_i_bad_cast(value, name);
  from = value->v_obj;
  for (i = tvmffi_i_map_begin(from);
       (pair = tvmffi_i_map_pair(from, i)) != NULL;
       i = tvmffi_i_map_after(from, i)) {
    int value_fits = tvmffi_i_fits(kinds[1], &pair->value);
    if (!tvmffi_i_fits(kinds[0], &pair->key))
      return tvmffi_i_bad_dict(&pair->key, 1, name);
    if (!value_fits) return tvmffi_i_bad_dict(&pair->value, 0, name);
    if (value_fits < fits) fits = value_fits;
  }
  if (fits == 2) {
    tvmffi_i_put_reference(field, value);
    return 0;
  }
  made = tvmffi_i_map_copy(from, kTVMFFIDict);
  if (!made) return -1;
  for (i = tvmffi_i_map_begin(made);
       !code && (change = tvmffi_i_map_pair(made, i)) != NULL;
       i = tvmffi_i_map_after(made, i)) {
    TVMFFIObject *dict;
    if (kinds[1] != 'D' || change->value.type_index != kTVMFFIMap) continue;
    dict = tvmffi_i_map_copy(change->value.v_obj, kTVMFFIDict);
    if (!dict) code = -1;
    if (!dict) break;
    tvmffi_i_any_release(&change->value);
    change->value = tvmffi_obj(dict);
  }
  if (!code) {
    result = tvmffi_obj(made);
    tvmffi_i_put_reference(field, &result);
  }
  tvmffi_i_release(made);
  return code;
}

static int tvmffi_i_set_indexes(void *field, const TVMFFIAny *value) {
  return tvmffi_i_set_dict(field, value, "AO", "Dict<Any, ffi.Object>");
}

static int tvmffi_i_set_enum_attrs(void *field, const TVMFFIAny *value) {
  return tvmffi_i_set_dict(field, value, "SD",
                           "Dict<str, Dict<ffi.Object, Any>>");
}

#define TVMFFI_I_REFERENCE(index, set, metadata) \
  {(int32_t)sizeof(void *),                      \
   (int32_t)sizeof(void *),                      \
   index,                                        \
   tvmffi_i_get_reference,                       \
   set,                                          \
   metadata}
#define TVMFFI_I_ANY_CONTENT(set, metadata) \
  {16, 8, kTVMFFIAny, tvmffi_i_get_any_field, set, metadata}
/* The metadata of fields and methods: JSON, which has the schema as JSON inside
   a string. */
#define TVMFFI_I_META(schema) "{\"type_schema\":\"" schema "\"}"
#define TVMFFI_I_META_TYPE(key) "{\\\"type\\\":\\\"" key "\\\"}"
#define TVMFFI_I_META_OF(key, args) \
  "{\\\"type\\\":\\\"" key "\\\",\\\"args\\\":[" args "]}"
#define TVMFFI_I_META_ANY TVMFFI_I_META_TYPE("Any")
#define TVMFFI_I_META_INT TVMFFI_I_META_TYPE("int")
#define TVMFFI_I_META_STR TVMFFI_I_META_TYPE("ffi.String")
#define TVMFFI_I_META_OBJECT TVMFFI_I_META_TYPE("ffi.Object")
#define TVMFFI_I_META_STEP TVMFFI_I_META_TYPE("ffi.reflection.AccessStep")
static const tvmffi_i_content tvmffi_i_any_content = TVMFFI_I_ANY_CONTENT(
    tvmffi_i_set_any_field, TVMFFI_I_META(TVMFFI_I_META_ANY));
static const tvmffi_i_content tvmffi_i_str_content = TVMFFI_I_ANY_CONTENT(
    tvmffi_i_set_str_field, TVMFFI_I_META(TVMFFI_I_META_STR));
static const tvmffi_i_content tvmffi_i_int64_content = {
    8,
    8,
    kTVMFFIInt,
    tvmffi_i_get_int64_field,
    tvmffi_i_set_int64_field,
    TVMFFI_I_META(TVMFFI_I_META_INT)};
static const tvmffi_i_content tvmffi_i_int32_content = {
    4,
    4,
    kTVMFFIInt,
    tvmffi_i_get_int32_field,
    tvmffi_i_set_int32_field,
    TVMFFI_I_META(TVMFFI_I_META_INT)};
static const tvmffi_i_content tvmffi_i_array_content = TVMFFI_I_REFERENCE(
    kTVMFFIArray, tvmffi_i_set_array,
    TVMFFI_I_META(TVMFFI_I_META_OF("ffi.Array", TVMFFI_I_META_ANY)));
static const tvmffi_i_content tvmffi_i_objects_content = TVMFFI_I_REFERENCE(
    kTVMFFIList, tvmffi_i_set_objects,
    TVMFFI_I_META(TVMFFI_I_META_OF("ffi.List", TVMFFI_I_META_OBJECT)));
static const tvmffi_i_content tvmffi_i_indexes_content = TVMFFI_I_REFERENCE(
    kTVMFFIObject, tvmffi_i_set_indexes,
    TVMFFI_I_META(TVMFFI_I_META_OF(
        "ffi.Dict", TVMFFI_I_META_ANY "," TVMFFI_I_META_OBJECT)));
static const tvmffi_i_content tvmffi_i_enum_attrs_content =
    TVMFFI_I_REFERENCE(kTVMFFIObject, tvmffi_i_set_enum_attrs,
                       TVMFFI_I_META(TVMFFI_I_META_OF(
                           "ffi.Dict", TVMFFI_I_META_STR
                           "," TVMFFI_I_META_OF("ffi.Dict", TVMFFI_I_META_OBJECT
                                                "," TVMFFI_I_META_ANY))));
static const tvmffi_i_content tvmffi_i_optional_content = TVMFFI_I_REFERENCE(
    kTVMFFIAny, tvmffi_i_set_optional,
    TVMFFI_I_META(TVMFFI_I_META_OF("Optional", TVMFFI_I_META_OBJECT)));
static const tvmffi_i_content tvmffi_i_step_content = TVMFFI_I_REFERENCE(
    kTVMFFIAny, tvmffi_i_set_optional_step,
    TVMFFI_I_META(TVMFFI_I_META_OF("Optional", TVMFFI_I_META_STEP)));
#endif
