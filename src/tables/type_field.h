/* ======== Type fields: the fields of built-in types == >>tables/type_field */

#pragma once

#include "../head/config.h"
#include "../head/abi.h"
#include "../interface/word.h"
#include "../core/type_table.h"
#include "../core/function.h"
#include "../reflection/enum.h"
#include "../reflection/access_path.h"
#include "../reflection/creator.h"
#include "../extra/structural_function.h"
#include "type_content.h"

#if !TVMFFI_NO_CONTAINERS
/* The fields of the built-in types. */
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
    {kTVMFFIModule, 0, sizeof(TVMFFIObject), &tvmffi_i_array_content,
     "imports_", NULL},
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
    {TVMFFI_I_ACCESS_STEP, 0, offsetof(tvmffi_i_step, kind),
     &tvmffi_i_int32_content, "kind", NULL},
    {TVMFFI_I_ACCESS_STEP, 0, offsetof(tvmffi_i_step, key),
     &tvmffi_i_any_content, "key", NULL},
    {TVMFFI_I_ACCESS_PATH, 0, offsetof(tvmffi_i_path, parent),
     &tvmffi_i_optional_content, "parent", NULL},
    {TVMFFI_I_ACCESS_PATH, 0, offsetof(tvmffi_i_path, step),
     &tvmffi_i_step_content, "step", NULL},
    {TVMFFI_I_ACCESS_PATH, 0, offsetof(tvmffi_i_path, depth),
     &tvmffi_i_int32_content, "depth", NULL},
    {TVMFFI_I_VISIT_ERROR_CONTEXT, 0, offsetof(tvmffi_i_error_context, pattern),
     &tvmffi_i_objects_content, "reverse_visit_pattern", NULL},
    {TVMFFI_I_VISIT_ERROR_CONTEXT, 0,
     offsetof(tvmffi_i_error_context, previous), &tvmffi_i_optional_content,
     "prev_error_context", NULL},
    {TVMFFI_I_STRUCTURAL_KEY, 0, offsetof(tvmffi_i_structural_key, key),
     &tvmffi_i_any_content, "key", NULL},
    {TVMFFI_I_STRUCTURAL_KEY, 0, offsetof(tvmffi_i_structural_key, hash),
     &tvmffi_i_int64_content, "hash_i64", NULL}};
enum {
  TVMFFI_I_NUM_FIELDS = sizeof(tvmffi_i_fields) / sizeof(tvmffi_i_fields[0])
};
static TVMFFIFieldInfo tvmffi_i_static_fields[TVMFFI_I_NUM_FIELDS];

/* Their methods; the names are those of the functions, behind the type's. */
typedef struct {
  int32_t type_index, flags;
  const tvmffi_func *func;
  const char *doc;
} tvmffi_i_method;
static const tvmffi_i_method tvmffi_i_methods[] = {
    {TVMFFI_I_ENUM_STATE, kTVMFFIFieldFlagBitMaskIsStaticMethod,
     &tvmffi_func_i_enum_state_init, NULL},
    {TVMFFI_I_ACCESS_PATH, kTVMFFIFieldFlagBitMaskIsStaticMethod,
     &tvmffi_func_i_path_root, NULL},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_extend, NULL},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_attr, NULL},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_array_item, NULL},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_map_item, NULL},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_attr_missing, NULL},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_array_item_missing, NULL},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_map_item_missing, NULL},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_is_prefix, NULL},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_steps, NULL},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_equal, NULL},
#if !TVMFFI_NO_EXTRA
    {TVMFFI_I_STRUCTURAL_KEY, kTVMFFIFieldFlagBitMaskIsStaticMethod,
     &tvmffi_func_i_structural_key_init,
     "Constructor that takes any key and computes its structural hash"}
#endif
};
enum {
  TVMFFI_I_NUM_METHODS = sizeof(tvmffi_i_methods) / sizeof(tvmffi_i_methods[0])
};
static TVMFFIMethodInfo tvmffi_i_static_methods[TVMFFI_I_NUM_METHODS];
static tvmffi_i_function_object tvmffi_i_method_objects[TVMFFI_I_NUM_METHODS];
#endif
