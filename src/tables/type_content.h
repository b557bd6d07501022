/* ======== Field contents ============================== >>tables/type_content
   getters and setters of built-in types */

#pragma once

#include "../head/config.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/map_layout.h"
#include "../interface/mismatch.h"
#include "../core/raise.h"
#include "../core/type_table.h"
#include "../containers/sequence.h"
#include "../containers/map_memory.h"
#include "../containers/map.h"
#include "../reflection/field.h"
#include "../reflection/convert.h"

#if !TVMFFI_NO_CONTAINERS
/* What the fields of the built-in types hold: layout, access, and the schema
   in their metadata. */
typedef struct {
  int32_t size, alignment, type_index;
  TVMFFIFieldGetter get;
  TVMFFIFieldSetter set;
  const char *schema;
} tvmffi_i_content;

/* Sets a reference to what the value is converted to. */
static int tvmffi_i_set_converted(void *field, const TVMFFIAny *value,
                                  int32_t index, const char *name) {
  TVMFFIAny made = tvmffi_none();
  int code = tvmffi_i_convert_to(tvmffi_i_target_of(index), value, &made);
  if (code > 0) return tvmffi_i_bad_cast(value, name);
  if (code) return code;
  tvmffi_i_put_reference(field, &made);
  tvmffi_any_release(&made);
  return 0;
}

/* A reference to an object of one type, or none. */
static int tvmffi_i_set_optional_step(void *field, const TVMFFIAny *value) {
  if (value->type_index != kTVMFFINone &&
      value->type_index != TVMFFI_I_ACCESS_STEP)
    return tvmffi_i_bad_cast(value, "Optional<ffi.reflection.AccessStep>");
  return tvmffi_i_set_reference(field, value);
}

static int tvmffi_i_set_optional(void *field, const TVMFFIAny *value) {
  if (value->type_index != kTVMFFINone &&
      value->type_index < kTVMFFIStaticObjectBegin)
    return tvmffi_i_bad_cast(value, "Optional<ffi.Object>");
  return tvmffi_i_set_reference(field, value);
}

static int tvmffi_i_set_str_field(void *field, const TVMFFIAny *value) {
  TVMFFIAny made = tvmffi_none();
  int code = tvmffi_i_convert_to(tvmffi_i_target_of(kTVMFFIStr), value, &made);
  if (code > 0) return tvmffi_i_bad_cast(value, "str");
  if (code) return code;
  tvmffi_any_release((TVMFFIAny *)field);
  *(TVMFFIAny *)field = made;
  return 0;
}

/* Sets a list that holds objects (or None) only. */
static int tvmffi_i_set_objects(void *field, const TVMFFIAny *value) {
  const TVMFFISeqCell *cell;
  int64_t i;
  if ((value->type_index == kTVMFFIList || value->type_index == kTVMFFIArray) &&
      value->v_obj) {
    cell = TVMFFI_I_CELL(TVMFFISeqCell, value->v_obj);
    for (i = 0; i < cell->size; ++i) {
      const TVMFFIAny *item = (const TVMFFIAny *)cell->data + i;
      if (item->type_index != kTVMFFINone &&
          item->type_index < kTVMFFIStaticObjectBegin)
        return tvmffi_i_fail(
            "TypeError",
            "Cannot convert from type `List[index %lld: %s]` to "
            "`List<ffi.Object>`",
            (long long)i, tvmffi_i_type_key(item->type_index));
    }
  }
  return tvmffi_i_set_converted(field, value, kTVMFFIList, "List<ffi.Object>");
}

static int tvmffi_i_set_array(void *field, const TVMFFIAny *value) {
  return tvmffi_i_set_converted(field, value, kTVMFFIArray, "Array<Any>");
}

/* Whether a key or value of a dict is as a field declares it: by a letter any
   value, an Object or none, a Str, or a Dict with objects as keys. 2: as it
   stands, 1: once it is converted, 0: not. */
static int tvmffi_i_fits(char kind, const TVMFFIAny *item) {
  int32_t index = item->type_index;
  const tvmffi_i_pair *pair;
  uint64_t i;
  if (kind == 'A') return 2;
  if (kind == 'S')
    return index == kTVMFFISmallStr || index == kTVMFFIStr ? 2 : 0;
  if (kind == 'O')
    return index == kTVMFFINone || index >= kTVMFFIStaticObjectBegin ? 2 : 0;
  if (index != kTVMFFIMap && index != kTVMFFIDict) return 0;
  for (i = tvmffi_i_map_begin(item->v_obj);
       (pair = tvmffi_i_map_pair(item->v_obj, i)) != NULL;
       i = tvmffi_i_map_after(item->v_obj, i))
    if (!tvmffi_i_fits('O', &pair->key)) return 0;
  return index == kTVMFFIDict ? 2 : 1;
}

/* Raises for a dict with such a key or value. */
static int tvmffi_i_bad_dict(const TVMFFIAny *item, int is_key,
                             const char *name) {
  const tvmffi_i_pair *pair = NULL;
  uint64_t i;
  if (item->type_index == kTVMFFIMap || item->type_index == kTVMFFIDict)
    for (i = tvmffi_i_map_begin(item->v_obj);
         (pair = tvmffi_i_map_pair(item->v_obj, i)) != NULL &&
         tvmffi_i_fits('O', &pair->key);
         i = tvmffi_i_map_after(item->v_obj, i)) {
    }
  return tvmffi_i_fail(
      "TypeError", "Cannot convert from type `Dict[%s is %s%s%s%s]` to `%s`",
      is_key ? "some key" : "K, some value", pair ? "Dict[some key is " : "",
      tvmffi_i_type_key(pair ? pair->key.type_index : item->type_index),
      pair ? ", V]" : "", is_key ? ", V" : "", name);
}

/* Sets a dict whose keys and values are of the two kinds. */
static int tvmffi_i_set_dict(void *field, const TVMFFIAny *value,
                             const char *kinds, const char *name) {
  TVMFFIObject *from, *made;
  const tvmffi_i_pair *pair;
  int code = 0, fits = value->type_index == kTVMFFIDict ? 2 : 1;
  TVMFFIAny result;
  uint64_t i;
  if ((value->type_index != kTVMFFIMap && fits != 2) || !value->v_obj)
    return tvmffi_i_bad_cast(value, name);
  from = value->v_obj;
  for (i = tvmffi_i_map_begin(from);
       (pair = tvmffi_i_map_pair(from, i)) != NULL;
       i = tvmffi_i_map_after(from, i)) {
    int of_value = tvmffi_i_fits(kinds[1], &pair->value);
    if (!tvmffi_i_fits(kinds[0], &pair->key))
      return tvmffi_i_bad_dict(&pair->key, 1, name);
    if (!of_value) return tvmffi_i_bad_dict(&pair->value, 0, name);
    if (of_value < fits) fits = of_value;
  }
  if (fits == 2) {
    tvmffi_i_put_reference(field, value);
    return 0;
  }
  made = tvmffi_i_new_map(kTVMFFIDict, tvmffi_i_map_size(from));
  if (!made) return -1;
  for (i = tvmffi_i_map_begin(from);
       !code && (pair = tvmffi_i_map_pair(from, i)) != NULL;
       i = tvmffi_i_map_after(from, i)) {
    TVMFFIAny item = pair->value;
    if (kinds[1] == 'D' && item.type_index == kTVMFFIMap)
      item = tvmffi_obj(tvmffi_i_map_copy(item.v_obj, kTVMFFIDict));
    else
      item = tvmffi_i_copy_owned(&item);
    code = kinds[1] == 'D' && !item.v_obj
               ? -1
               : tvmffi_i_map_set(&made, &pair->key, &item);
    tvmffi_any_release(&item);
  }
  if (!code) {
    result = tvmffi_obj(made);
    tvmffi_i_put_reference(field, &result);
  }
  tvmffi_release(made);
  return code;
}

static int tvmffi_i_set_indexes(void *field, const TVMFFIAny *value) {
  return tvmffi_i_set_dict(field, value, "AO", "Dict<Any, ffi.Object>");
}

static int tvmffi_i_set_enum_attrs(void *field, const TVMFFIAny *value) {
  return tvmffi_i_set_dict(field, value, "SD",
                           "Dict<str, Dict<ffi.Object, Any>>");
}

#define TVMFFI_I_REFERENCE(index, set, schema) \
  {(int32_t)sizeof(void *),                    \
   (int32_t)sizeof(void *),                    \
   index,                                      \
   tvmffi_i_get_reference,                     \
   set,                                        \
   schema}
#define TVMFFI_I_ANY_CONTENT(set, schema) \
  {16, 8, kTVMFFIAny, tvmffi_i_get_any_field, set, schema}
#define TVMFFI_I_OF_OBJECT "{\"type\":\"ffi.Object\"}"
static const tvmffi_i_content tvmffi_i_any_content =
    TVMFFI_I_ANY_CONTENT(tvmffi_i_set_any_field, "Any");
static const tvmffi_i_content tvmffi_i_str_content =
    TVMFFI_I_ANY_CONTENT(tvmffi_i_set_str_field, "ffi.String");
static const tvmffi_i_content tvmffi_i_int64_content = {
    8,    8, kTVMFFIInt, tvmffi_i_get_int64_field, tvmffi_i_set_int64_field,
    "int"};
static const tvmffi_i_content tvmffi_i_int32_content = {
    4,    4, kTVMFFIInt, tvmffi_i_get_int32_field, tvmffi_i_set_int32_field,
    "int"};
static const tvmffi_i_content tvmffi_i_array_content = TVMFFI_I_REFERENCE(
    kTVMFFIArray, tvmffi_i_set_array,
    "{\"type\":\"ffi.Array\",\"args\":[{\"type\":\"Any\"}]}");
static const tvmffi_i_content tvmffi_i_objects_content = TVMFFI_I_REFERENCE(
    kTVMFFIList, tvmffi_i_set_objects,
    "{\"type\":\"ffi.List\",\"args\":[" TVMFFI_I_OF_OBJECT "]}");
static const tvmffi_i_content tvmffi_i_indexes_content = TVMFFI_I_REFERENCE(
    kTVMFFIObject, tvmffi_i_set_indexes,
    "{\"type\":\"ffi.Dict\",\"args\":[{\"type\":\"Any\"}," TVMFFI_I_OF_OBJECT
    "]}");
static const tvmffi_i_content tvmffi_i_enum_attrs_content = TVMFFI_I_REFERENCE(
    kTVMFFIObject, tvmffi_i_set_enum_attrs,
    "{\"type\":\"ffi.Dict\",\"args\":[{\"type\":\"ffi.String\"},{\"type\":"
    "\"ffi.Dict\",\"args\":[" TVMFFI_I_OF_OBJECT ",{\"type\":\"Any\"}]}]}");
static const tvmffi_i_content tvmffi_i_optional_content = TVMFFI_I_REFERENCE(
    kTVMFFIAny, tvmffi_i_set_optional,
    "{\"type\":\"Optional\",\"args\":[" TVMFFI_I_OF_OBJECT "]}");
static const tvmffi_i_content tvmffi_i_step_content = TVMFFI_I_REFERENCE(
    kTVMFFIAny, tvmffi_i_set_optional_step,
    "{\"type\":\"Optional\",\"args\":[{\"type\":\"ffi.reflection.AccessStep\"}]"
    "}");
#endif
