/* ======== Type fields: the fields of built-in types == >>tables/type_field */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../core.h"
#include "../reflection.h"
#include "../functions.h"
#include "type_content.h"

#if !TVMFFI_NO_REFLECTION
/* Describes a field of a built-in type. */
typedef struct {
  int32_t type_index, flags;
  size_t offset;
  const tvmffi_i_content *content;
  const char *name, *doc;
} tvmffi_i_field;

enum {
  TVMFFI_I_NO_INIT = kTVMFFIFieldFlagBitMaskInitOff,
  TVMFFI_I_IGNORED = kTVMFFIFieldFlagBitMaskSEqHashIgnore
};
static const tvmffi_i_field tvmffi_i_fields[] = {
    /* The modules that this module imports. */
    {kTVMFFIModule, 0, sizeof(TVMFFIObject), &tvmffi_i_array_content,
     "imports_", NULL},
    /* A value for the caller of the interrupted visit. */
    {kTVMFFIVisitInterrupt, kTVMFFIFieldFlagBitMaskHasDefault,
     offsetof(tvmffi_i_interrupt, value), &tvmffi_i_any_content, "value", NULL},
    {TVMFFI_I_ENUM_STATE, TVMFFI_I_NO_INIT,
     offsetof(tvmffi_i_enum_state, entries), &tvmffi_i_objects_content,
     "entries", "Enum singletons in registration order."},
    {TVMFFI_I_ENUM_STATE, TVMFFI_I_NO_INIT,
     offsetof(tvmffi_i_enum_state, indexes), &tvmffi_i_indexes_content,
     "indexes", "Canonical integer and string indices to enum singletons."},
    {TVMFFI_I_ENUM_STATE, TVMFFI_I_NO_INIT,
     offsetof(tvmffi_i_enum_state, attrs), &tvmffi_i_enum_attrs_content,
     "attrs", "Extensible-attribute columns keyed by enum singleton."},
    {TVMFFI_I_ENUM_BASE, TVMFFI_I_IGNORED, offsetof(tvmffi_i_enum, int_index),
     &tvmffi_i_int64_content, "_int_index", "Canonical integer index."},
    {TVMFFI_I_ENUM_BASE, 0, offsetof(tvmffi_i_enum, str_index),
     &tvmffi_i_str_content, "_str_index", "Canonical string index."},
    {TVMFFI_I_INT_ENUM, TVMFFI_I_IGNORED | TVMFFI_I_NO_INIT,
     offsetof(tvmffi_i_enum, int_index), &tvmffi_i_int64_content, "value",
     "Canonical integer index."},
    {TVMFFI_I_STR_ENUM, TVMFFI_I_IGNORED | TVMFFI_I_NO_INIT,
     offsetof(tvmffi_i_enum, str_index), &tvmffi_i_str_content, "value",
     "Canonical string index."},
    /* The kind of the step: 0 is a field, 1 an item, 2 a map's value. If only
       the other compared value has the child, the kind is 3, 4 or 5 instead. */
    {TVMFFI_I_ACCESS_STEP, 0, offsetof(tvmffi_i_step, kind),
     &tvmffi_i_int32_content, "kind", NULL},
    /* The field's name, the item's index or the map's key. */
    {TVMFFI_I_ACCESS_STEP, 0, offsetof(tvmffi_i_step, key),
     &tvmffi_i_any_content, "key", NULL},
    /* The path without its last step, or None for a path without steps. */
    {TVMFFI_I_ACCESS_PATH, 0, offsetof(tvmffi_i_path, parent),
     &tvmffi_i_optional_content, "parent", NULL},
    /* The last step, or None for a path without steps. */
    {TVMFFI_I_ACCESS_PATH, 0, offsetof(tvmffi_i_path, step),
     &tvmffi_i_step_content, "step", NULL},
    /* The number of steps. */
    {TVMFFI_I_ACCESS_PATH, 0, offsetof(tvmffi_i_path, depth),
     &tvmffi_i_int32_content, "depth", NULL},
    /* The visited objects, from the innermost outwards. */
    {TVMFFI_I_VISIT_ERROR_CONTEXT, 0, offsetof(tvmffi_i_error_context, pattern),
     &tvmffi_i_objects_content, "reverse_visit_pattern", NULL},
    /* The error's previous extra context. */
    {TVMFFI_I_VISIT_ERROR_CONTEXT, 0,
     offsetof(tvmffi_i_error_context, previous), &tvmffi_i_optional_content,
     "prev_error_context", NULL},
    /* The value that is compared by structure. */
    {TVMFFI_I_STRUCTURAL_KEY, 0, offsetof(tvmffi_i_structural_key, key),
     &tvmffi_i_any_content, "key", NULL},
    /* The structural hash of the value. */
    {TVMFFI_I_STRUCTURAL_KEY, 0, offsetof(tvmffi_i_structural_key, hash),
     &tvmffi_i_int64_content, "hash_i64", NULL}};
enum {
  TVMFFI_I_NUM_FIELDS = sizeof(tvmffi_i_fields) / sizeof(tvmffi_i_fields[0])
};
static TVMFFIFieldInfo tvmffi_i_static_fields[TVMFFI_I_NUM_FIELDS];

/* Describes a method of a built-in type. The function's name ends in a dot and
   the method's name. */
typedef struct {
  int32_t type_index, flags;
  const tvmffi_func *func;
  const char *doc, *metadata;
} tvmffi_i_method;

/* The metadata of a method, which equals the text that tvmffi_i_metadata makes
   of its types. */
#if TVMFFI_NO_METADATA
#define TVMFFI_I_META_FUNC(result, params) ""
#else
#define TVMFFI_I_META_FUNC(result, params)                      \
  TVMFFI_I_META(                                                \
      "{\\\"type\\\":\\\"ffi.Function\\\",\\\"named_args\\\":{" \
      "\\\"return\\\":[" result "],\\\"params\\\":[" params "]}}")
#endif
#define TVMFFI_I_META_PATH TVMFFI_I_META_TYPE("ffi.reflection.AccessPath")
#define TVMFFI_I_META_BOOL TVMFFI_I_META_TYPE("bool")
#define TVMFFI_I_META_CHILD(key) \
  TVMFFI_I_META_FUNC(TVMFFI_I_META_PATH, TVMFFI_I_META_PATH "," key)
#define TVMFFI_I_META_IS_PATH            \
  TVMFFI_I_META_FUNC(TVMFFI_I_META_BOOL, \
                     TVMFFI_I_META_PATH "," TVMFFI_I_META_PATH)
static const tvmffi_i_method tvmffi_i_methods[] = {
    {TVMFFI_I_ENUM_STATE, kTVMFFIFieldFlagBitMaskIsStaticMethod,
     &tvmffi_func_i_enum_state_init, NULL,
     TVMFFI_I_META_FUNC(TVMFFI_I_META_OBJECT, "")},
    {TVMFFI_I_ACCESS_PATH, kTVMFFIFieldFlagBitMaskIsStaticMethod,
     &tvmffi_func_i_path_root, NULL,
     TVMFFI_I_META_FUNC(TVMFFI_I_META_PATH, "")},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_extend, NULL,
     TVMFFI_I_META_CHILD(TVMFFI_I_META_STEP)},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_attr, NULL,
     TVMFFI_I_META_CHILD(TVMFFI_I_META_STR)},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_array_item, NULL,
     TVMFFI_I_META_CHILD(TVMFFI_I_META_INT)},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_map_item, NULL,
     TVMFFI_I_META_CHILD(TVMFFI_I_META_ANY)},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_attr_missing, NULL,
     TVMFFI_I_META_CHILD(TVMFFI_I_META_STR)},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_array_item_missing, NULL,
     TVMFFI_I_META_CHILD(TVMFFI_I_META_INT)},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_map_item_missing, NULL,
     TVMFFI_I_META_CHILD(TVMFFI_I_META_ANY)},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_is_prefix, NULL,
     TVMFFI_I_META_IS_PATH},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_steps, NULL,
     TVMFFI_I_META_FUNC(TVMFFI_I_META_OF("ffi.Array", TVMFFI_I_META_STEP),
                        TVMFFI_I_META_PATH)},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_equal, NULL,
     TVMFFI_I_META_IS_PATH},
#if !TVMFFI_NO_EXTRA
    {TVMFFI_I_STRUCTURAL_KEY, kTVMFFIFieldFlagBitMaskIsStaticMethod,
     &tvmffi_func_i_structural_key_init,
     "Constructor that takes any key and computes its structural hash",
     TVMFFI_I_META_FUNC(TVMFFI_I_META_OBJECT, TVMFFI_I_META_ANY)}
#endif
};
enum {
  TVMFFI_I_NUM_METHODS = sizeof(tvmffi_i_methods) / sizeof(tvmffi_i_methods[0])
};
static TVMFFIMethodInfo tvmffi_i_static_methods[TVMFFI_I_NUM_METHODS];
static tvmffi_i_function_object tvmffi_i_method_objects[TVMFFI_I_NUM_METHODS];
#endif
