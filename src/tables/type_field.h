/* ======== Type fields: the fields of built-in types == >>tables/type_field */
/* The fields and methods of built-in types, as constant data. A built-in type
   has a row in tvmffi_i_static_types; a type with fields has a struct and a
   creator in reflection/builtin_struct.h, a table of fields here, and a row in
   tvmffi_i_builtin_types. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../core.h"
#include "../reflection.h"
#include "../interface.h"
#include "../functions.h"

#if !TVMFFI_NO_REFLECTION
/* The type word of an object in a container. Unlike `object`, it accepts None,
   too, because these containers may contain None. */
TVMFFI_I_CUSTOM_TYPE(i_item, TVMFFIObject *, "ffi.Object", "ffi.Object") {
  (void)out;
  return any->type_index == kTVMFFINone ||
                 any->type_index >= kTVMFFIStaticObjectBegin
             ? 0
             : TVMFFI_I_MISMATCH;
}
#define TVMFFI_I_SCHEMA_i_item TVMFFI_I_SCHEMA_object
/* The type word dict(i_item, any), written out: in dict(str, dict(i_item, any))
   the macro tvmffi_i_word_dict would stand in its own expansion, where C does
   not expand it. */
TVMFFI_I_CONST_WORD tvmffi_i_word_i_column = {
    "Dict",
    "ffi.Dict",
    {&tvmffi_i_word_i_item, &tvmffi_i_word_any},
    NULL,
    tvmffi_i_convert_item,
    kTVMFFIDict,
    TVMFFI_I_CONTAINER,
    (uint8_t)sizeof(void *),
    0};
#define TVMFFI_I_SCHEMA_i_column \
  TVMFFI_I_SCHEMA_OF("ffi.Dict", TVMFFI_I_SCHEMA_i_item "," TVMFFI_I_SCHEMA_any)

/* Defines the setter of fields with the word W, as TVMFFI_TYPE does. */
#define TVMFFI_I_SETTER(name, W, storage)                                     \
  static int tvmffi_i_set_##name(void *field, const TVMFFIAny *value) {       \
    return tvmffi_i_write_member(&TVMFFI_I_CAT(tvmffi_i_word_, W),            \
                                 TVMFFI_I_STORED_##storage, 0, field, value); \
  }
TVMFFI_I_SETTER(str, str, STR)
TVMFFI_I_SETTER(array, array, OBJECT)
TVMFFI_I_SETTER(items, list(i_item), OBJECT)
TVMFFI_I_SETTER(indexes, dict(any, i_item), OBJECT)
TVMFFI_I_SETTER(columns, dict(str, i_column), OBJECT)
TVMFFI_I_SETTER(optional, optional(object), OBJECT)
TVMFFI_I_SETTER(optional_step, optional(i_step), OBJECT)

/* The fields' types: word, C type, type index, getter and setter. */
#define TVMFFI_I_OF_any \
  any, TVMFFIAny, kTVMFFIAny, tvmffi_i_get_any_field, tvmffi_i_set_any_field
#define TVMFFI_I_OF_str \
  str, TVMFFIAny, kTVMFFIAny, tvmffi_i_get_any_field, tvmffi_i_set_str
#define TVMFFI_I_OF_int32 \
  int32, int32_t, kTVMFFIInt, tvmffi_i_get_int32_field, tvmffi_i_set_int32_field
#define TVMFFI_I_OF_int64 \
  int64, int64_t, kTVMFFIInt, tvmffi_i_get_int64_field, tvmffi_i_set_int64_field
#define TVMFFI_I_OF_array \
  array(any), void *, kTVMFFIArray, tvmffi_i_get_reference, tvmffi_i_set_array
#define TVMFFI_I_OF_items \
  list(i_item), void *, kTVMFFIList, tvmffi_i_get_reference, tvmffi_i_set_items
#define TVMFFI_I_OF_indexes                                         \
  dict(any, i_item), void *, kTVMFFIObject, tvmffi_i_get_reference, \
      tvmffi_i_set_indexes
#define TVMFFI_I_OF_columns                                           \
  dict(str, i_column), void *, kTVMFFIObject, tvmffi_i_get_reference, \
      tvmffi_i_set_columns
#define TVMFFI_I_OF_optional                                    \
  optional(object), void *, kTVMFFIAny, tvmffi_i_get_reference, \
      tvmffi_i_set_optional
#define TVMFFI_I_OF_step                                        \
  optional(i_step), void *, kTVMFFIAny, tvmffi_i_get_reference, \
      tvmffi_i_set_optional_step

/* Describes the field `name` of a built-in type: a member of the struct T. */
#define TVMFFI_I_FIELD_OF(T, content, member, name, flags, doc) \
  TVMFFI_I_FIELD_ROW(T, TVMFFI_I_OF_##content, member, name, flags, doc)
#define TVMFFI_I_FIELD_ROW(...) TVMFFI_I_FIELD_ROW_(__VA_ARGS__)
#define TVMFFI_I_FIELD_ROW_(T, W, ctype, index, get, set, member, name, flags, \
                            doc)                                               \
  {                                                                            \
    TVMFFI_I_LITERAL(name), TVMFFI_I_LITERAL(doc),                             \
        TVMFFI_I_LITERAL(TVMFFI_I_META(W)), flags, (int64_t)sizeof(ctype),     \
        (int64_t)(sizeof(ctype) < 8 ? sizeof(ctype) : 8),                      \
        (int64_t)offsetof(T, member), get, (void *)(uintptr_t)set,             \
        TVMFFI_I_ZERO, index                                                   \
  }
#define TVMFFI_I_LITERAL(text) \
  { sizeof(text) > 1 ? text : NULL, sizeof(text) - 1 }

enum {
  TVMFFI_I_NO_INIT = kTVMFFIFieldFlagBitMaskInitOff,
  TVMFFI_I_IGNORED = kTVMFFIFieldFlagBitMaskSEqHashIgnore
};

static const TVMFFIFieldInfo tvmffi_i_module_fields[] = {
    /* The modules that this module imports. */
    TVMFFI_I_FIELD_OF(tvmffi_module, array, imports, "imports_", 0, "")};
static const TVMFFIFieldInfo tvmffi_i_interrupt_fields[] = {
    /* A value for the caller of the interrupted visit. */
    TVMFFI_I_FIELD_OF(tvmffi_i_interrupt, any, value, "value",
                      kTVMFFIFieldFlagBitMaskHasDefault, "")};
static const TVMFFIFieldInfo tvmffi_i_enum_state_fields[] = {
    TVMFFI_I_FIELD_OF(tvmffi_i_enum_state, items, entries, "entries",
                      TVMFFI_I_NO_INIT,
                      "Enum singletons in registration order."),
    TVMFFI_I_FIELD_OF(
        tvmffi_i_enum_state, indexes, indexes, "indexes", TVMFFI_I_NO_INIT,
        "Canonical integer and string indices to enum singletons."),
    TVMFFI_I_FIELD_OF(tvmffi_i_enum_state, columns, attrs, "attrs",
                      TVMFFI_I_NO_INIT,
                      "Extensible-attribute columns keyed by enum singleton.")};
static const TVMFFIFieldInfo tvmffi_i_enum_fields[] = {
    TVMFFI_I_FIELD_OF(tvmffi_i_enum, int64, int_index, "_int_index",
                      TVMFFI_I_IGNORED, "Canonical integer index."),
    TVMFFI_I_FIELD_OF(tvmffi_i_enum, str, str_index, "_str_index", 0,
                      "Canonical string index.")};
static const TVMFFIFieldInfo tvmffi_i_int_enum_fields[] = {TVMFFI_I_FIELD_OF(
    tvmffi_i_enum, int64, int_index, "value",
    TVMFFI_I_IGNORED | TVMFFI_I_NO_INIT, "Canonical integer index.")};
static const TVMFFIFieldInfo tvmffi_i_str_enum_fields[] = {TVMFFI_I_FIELD_OF(
    tvmffi_i_enum, str, str_index, "value", TVMFFI_I_IGNORED | TVMFFI_I_NO_INIT,
    "Canonical string index.")};
static const TVMFFIFieldInfo tvmffi_i_step_fields[] = {
    /* The kind of the step: 0 is a field, 1 an item, 2 a map's value. If only
       the other compared value has the child, the kind is 3, 4 or 5 instead. */
    TVMFFI_I_FIELD_OF(tvmffi_i_step, int32, kind, "kind", 0, ""),
    /* The field's name, the item's index or the map's key. */
    TVMFFI_I_FIELD_OF(tvmffi_i_step, any, key, "key", 0, "")};
static const TVMFFIFieldInfo tvmffi_i_path_fields[] = {
    /* The path without its last step, or None for a path without steps. */
    TVMFFI_I_FIELD_OF(tvmffi_i_path, optional, parent, "parent", 0, ""),
    /* The last step, or None for a path without steps. */
    TVMFFI_I_FIELD_OF(tvmffi_i_path, step, step, "step", 0, ""),
    /* The number of steps. */
    TVMFFI_I_FIELD_OF(tvmffi_i_path, int32, depth, "depth", 0, "")};
static const TVMFFIFieldInfo tvmffi_i_error_context_fields[] = {
    /* The visited objects, from the innermost outwards. */
    TVMFFI_I_FIELD_OF(tvmffi_i_error_context, items, pattern,
                      "reverse_visit_pattern", 0, ""),
    /* The error's previous extra context. */
    TVMFFI_I_FIELD_OF(tvmffi_i_error_context, optional, previous,
                      "prev_error_context", 0, "")};
static const TVMFFIFieldInfo tvmffi_i_structural_key_fields[] = {
    /* The value that is compared by structure. */
    TVMFFI_I_FIELD_OF(tvmffi_i_structural_key, any, key, "key", 0, ""),
    /* The structural hash of the value. */
    TVMFFI_I_FIELD_OF(tvmffi_i_structural_key, int64, hash, "hash_i64", 0, "")};

/* Describes a method of a built-in type. The function's name ends in a dot and
   the method's name. */
typedef struct {
  int32_t type_index;
  const tvmffi_i_builtin_func *func;
  const char *const *metadata;
  const char *doc;
} tvmffi_i_method;
#define TVMFFI_I_METHOD_ROW(type_index, name, doc) \
  { type_index, &tvmffi_func_i_##name, &tvmffi_meta_i_##name, doc }
static const tvmffi_i_method tvmffi_i_methods[] = {
    TVMFFI_I_METHOD_ROW(TVMFFI_I_ENUM_STATE, enum_state_init, NULL),
    TVMFFI_I_METHOD_ROW(TVMFFI_I_ACCESS_PATH, path_root, NULL),
    TVMFFI_I_METHOD_ROW(TVMFFI_I_ACCESS_PATH, path_extend, NULL),
    TVMFFI_I_METHOD_ROW(TVMFFI_I_ACCESS_PATH, path_attr, NULL),
    TVMFFI_I_METHOD_ROW(TVMFFI_I_ACCESS_PATH, path_array_item, NULL),
    TVMFFI_I_METHOD_ROW(TVMFFI_I_ACCESS_PATH, path_map_item, NULL),
    TVMFFI_I_METHOD_ROW(TVMFFI_I_ACCESS_PATH, path_attr_missing, NULL),
    TVMFFI_I_METHOD_ROW(TVMFFI_I_ACCESS_PATH, path_array_item_missing, NULL),
    TVMFFI_I_METHOD_ROW(TVMFFI_I_ACCESS_PATH, path_map_item_missing, NULL),
    TVMFFI_I_METHOD_ROW(TVMFFI_I_ACCESS_PATH, path_is_prefix, NULL),
    TVMFFI_I_METHOD_ROW(TVMFFI_I_ACCESS_PATH, path_steps, NULL),
    TVMFFI_I_METHOD_ROW(TVMFFI_I_ACCESS_PATH, path_equal, NULL),
#if !TVMFFI_NO_EXTRA
    TVMFFI_I_METHOD_ROW(
        TVMFFI_I_STRUCTURAL_KEY, structural_key_init,
        "Constructor that takes any key and computes its structural hash"),
#endif
};
enum {
  TVMFFI_I_NUM_METHODS = sizeof(tvmffi_i_methods) / sizeof(tvmffi_i_methods[0])
};
static TVMFFIMethodInfo tvmffi_i_static_methods[TVMFFI_I_NUM_METHODS];
static tvmffi_i_builtin tvmffi_i_method_objects[TVMFFI_I_NUM_METHODS];
#endif
