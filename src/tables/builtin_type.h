/* ======== Built-in types =============================== >>tables/builtin_type
   the methods and metadata of built-in types */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../reflection.h"
#include "../extra.h"
#include "../functions.h"
#include "builtin_attribute.h"
#include "type_field.h"

#if !TVMFFI_NO_REFLECTION
/* Describes a built-in type. A type with a creator gets the attribute
   __ffi_new__. A type with the flag COPIED gets __ffi_shallow_copy__. */
enum { TVMFFI_I_FINAL = 1, TVMFFI_I_COPIED = 2 };
typedef struct {
  int32_t type_index, flags;
  size_t size;
  TVMFFISEqHashKind kind;
  TVMFFIObjectCreator creator;
} tvmffi_i_builtin_type;
static const tvmffi_i_builtin_type tvmffi_i_builtin_types[] = {
    {kTVMFFIModule, TVMFFI_I_FINAL,
     sizeof(TVMFFIObject) + 3 * sizeof(void *), kTVMFFISEqHashKindUnsupported,
     NULL},
    {kTVMFFIVisitInterrupt, TVMFFI_I_FINAL | TVMFFI_I_COPIED,
     sizeof(tvmffi_i_interrupt), kTVMFFISEqHashKindUnsupported,
     tvmffi_i_create_interrupt},
    {kTVMFFIBigInt, TVMFFI_I_FINAL,
     TVMFFI_I_BIGINT_WORDS, kTVMFFISEqHashKindUnsupported, NULL},
    {TVMFFI_I_ENUM_STATE, TVMFFI_I_FINAL | TVMFFI_I_COPIED,
     sizeof(tvmffi_i_enum_state), kTVMFFISEqHashKindUnsupported,
     tvmffi_i_create_enum_state},
    {TVMFFI_I_ENUM_BASE, TVMFFI_I_COPIED,
     sizeof(tvmffi_i_enum), kTVMFFISEqHashKindUniqueInstance,
     tvmffi_i_create_enum},
    {TVMFFI_I_INT_ENUM, TVMFFI_I_COPIED,
     sizeof(tvmffi_i_enum), kTVMFFISEqHashKindUniqueInstance,
     tvmffi_i_create_int_enum},
    {TVMFFI_I_STR_ENUM, TVMFFI_I_COPIED,
     sizeof(tvmffi_i_enum), kTVMFFISEqHashKindUniqueInstance,
     tvmffi_i_create_str_enum},
    {TVMFFI_I_ACCESS_STEP, TVMFFI_I_FINAL | TVMFFI_I_COPIED,
     sizeof(tvmffi_i_step), kTVMFFISEqHashKindConstTreeNode,
     tvmffi_i_create_step},
    {TVMFFI_I_ACCESS_PATH, TVMFFI_I_FINAL | TVMFFI_I_COPIED,
     sizeof(tvmffi_i_path), kTVMFFISEqHashKindConstTreeNode,
     tvmffi_i_create_path},
    {TVMFFI_I_STRUCTURAL_VISITOR, TVMFFI_I_COPIED,
     sizeof(tvmffi_i_visitor), kTVMFFISEqHashKindUnsupported, NULL},
    {TVMFFI_I_VISIT_ERROR_CONTEXT, TVMFFI_I_FINAL | TVMFFI_I_COPIED,
     sizeof(tvmffi_i_error_context), kTVMFFISEqHashKindUnsupported,
     tvmffi_i_create_error_context},
    {TVMFFI_I_STRUCTURAL_MUTATOR, TVMFFI_I_COPIED,
     sizeof(tvmffi_i_visitor), kTVMFFISEqHashKindUnsupported, NULL},
    {TVMFFI_I_STRUCTURAL_KEY, TVMFFI_I_FINAL | TVMFFI_I_COPIED,
     sizeof(tvmffi_i_structural_key), kTVMFFISEqHashKindUnsupported,
     tvmffi_i_create_structural_key}};
enum {
  TVMFFI_I_NUM_BUILTIN_TYPES =
      sizeof(tvmffi_i_builtin_types) / sizeof(tvmffi_i_builtin_types[0])
};
static TVMFFITypeMetadata tvmffi_i_static_metadata[TVMFFI_I_NUM_BUILTIN_TYPES];

/* Attributes that are function objects, beside those that a loop in
   tvmffi_i_add_functions adds. */
static const struct {
  int column;
  int32_t type_index;
  TVMFFISafeCallType call;
} tvmffi_i_other_attrs[] = {
#if !TVMFFI_NO_EXTRA
    {TVMFFI_I_COLUMN_INIT, TVMFFI_I_STRUCTURAL_KEY,
     tvmffi_call_i_structural_key_init},
    {TVMFFI_I_COLUMN_REPR, TVMFFI_I_ACCESS_STEP, tvmffi_call_i_step_repr},
    {TVMFFI_I_COLUMN_REPR, TVMFFI_I_ACCESS_PATH, tvmffi_call_i_path_repr},
    {TVMFFI_I_COLUMN_HASH, kTVMFFIBigInt, tvmffi_call_i_bigint_hash},
    {TVMFFI_I_COLUMN_EQ, kTVMFFIBigInt, tvmffi_call_i_bigint_eq},
    {TVMFFI_I_COLUMN_COMPARE, kTVMFFIBigInt, tvmffi_call_i_bigint_compare},
    {TVMFFI_I_COLUMN_TO_JSON, kTVMFFIBigInt, tvmffi_call_i_bigint_to_json},
    {TVMFFI_I_COLUMN_FROM_JSON, kTVMFFIBigInt, tvmffi_call_i_bigint_from_json},
#endif
    {TVMFFI_I_COLUMN_INIT, TVMFFI_I_ENUM_STATE, tvmffi_call_i_enum_state_init}};
enum {
  TVMFFI_I_NUM_OTHER_ATTRS =
      sizeof(tvmffi_i_other_attrs) / sizeof(tvmffi_i_other_attrs[0])
};

static void tvmffi_i_fill_function(tvmffi_i_function_object *f,
                                   TVMFFISafeCallType call) {
  f->base.combined_ref_count = TVMFFI_I_PINNED | TVMFFI_I_WEAK_ONE;
  f->base.type_index = kTVMFFIFunction;
  f->cell.safe_call = call;
}

static void tvmffi_i_fill_field(TVMFFIFieldInfo *to,
                                const tvmffi_i_field *from) {
  to->name = tvmffi_byte_array(from->name);
  to->doc = tvmffi_byte_array(from->doc);
  to->metadata = tvmffi_byte_array(from->content->metadata);
  to->flags = from->flags;
  to->size = from->content->size;
  to->alignment = from->content->alignment;
  to->offset = (int64_t)from->offset;
  to->getter = from->content->get;
  to->setter = (void *)(uintptr_t)from->content->set;
  to->field_static_type_index = from->content->type_index;
}

static void tvmffi_i_fill_method(TVMFFIMethodInfo *to,
                                 tvmffi_i_function_object *function,
                                 const tvmffi_i_method *from, size_t prefix) {
  tvmffi_i_fill_function(function, from->func->call);
  to->name = tvmffi_byte_array(from->func->name + prefix);
  to->doc = tvmffi_byte_array(from->doc);
  to->metadata = tvmffi_byte_array(from->metadata);
  to->flags = from->flags;
  to->method = tvmffi_obj(&function->base);
}

/* Fills the description of a built-in type that is not published yet. Mutex
   held. */
static void tvmffi_i_describe_type(tvmffi_i_type *t, int32_t index) {
  const tvmffi_i_builtin_type *row = tvmffi_i_builtin_types;
  TVMFFITypeMetadata *metadata = tvmffi_i_static_metadata;
  int32_t i, n;
  for (i = 0; i < TVMFFI_I_NUM_BUILTIN_TYPES; ++i, ++row, ++metadata)
    if (row->type_index == index) break;
  if (i == TVMFFI_I_NUM_BUILTIN_TYPES) return;
  metadata->creator = row->creator;
  metadata->total_size = (int32_t)row->size;
  if (row->creator) t->made_size = metadata->total_size;
  metadata->structural_eq_hash_kind = row->kind;
  t->info.metadata = metadata;
  for (i = n = 0; i < TVMFFI_I_NUM_FIELDS; ++i) {
    if (tvmffi_i_fields[i].type_index != index) continue;
    if (!n++) t->info.fields = &tvmffi_i_static_fields[i];
    tvmffi_i_fill_field(&tvmffi_i_static_fields[i], &tvmffi_i_fields[i]);
  }
  t->info.num_fields = n;
  for (i = n = 0; i < TVMFFI_I_NUM_METHODS; ++i) {
    const char *name = tvmffi_i_methods[i].func->name;
    size_t prefix = (size_t)(strrchr(name, '.') - name) + 1;
    if (tvmffi_i_methods[i].type_index != index) continue;
    if (!n++) t->info.methods = &tvmffi_i_static_methods[i];
    tvmffi_i_fill_method(&tvmffi_i_static_methods[i],
                         &tvmffi_i_method_objects[i], &tvmffi_i_methods[i],
                         prefix);
  }
  t->info.num_methods = n;
}

/* -------- Attribute columns -------- */

/* The array of a column is allocated when the column is first used, because all
   arrays together have 27 KB. Two passes over all values of built-in types
   collect those of one column: the first measures, the second stores. */
typedef struct {
  int column;
  int32_t begin, end; /* the types that have a value */
  size_t num_functions;
  TVMFFIAny *values;        /* from type `begin` on; NULL in the first pass */
  tvmffi_i_attr *functions; /* behind the values */
} tvmffi_i_collected;

static void tvmffi_i_add_value(tvmffi_i_collected *to, int column,
                               int32_t type_index, TVMFFIAny value) {
  if (column != to->column) return;
  if (to->values) {
    to->values[type_index - to->begin] = value;
  } else {
    if (type_index < to->begin) to->begin = type_index;
    if (type_index >= to->end) to->end = type_index + 1;
  }
}

#define TVMFFI_I_ADD_ADDRESS(to, column, type_index, function) \
  tvmffi_i_add_value(to, TVMFFI_I_COLUMN_##column, type_index, \
                     tvmffi_ptr((void *)(uintptr_t)(function)))

/* Adds a function object that calls `call`. */
static void tvmffi_i_add_function(tvmffi_i_collected *to, int column,
                                  int32_t type_index, TVMFFISafeCallType call) {
  TVMFFIAny value = tvmffi_none();
  if (column != to->column) return;
  if (to->values) {
    tvmffi_i_attr *a = &to->functions[to->num_functions];
    tvmffi_i_fill_function(&a->function, call);
    a->column = column;
    a->type_index = type_index;
    value = tvmffi_obj(&a->function.base);
  }
  ++to->num_functions;
  tvmffi_i_add_value(to, column, type_index, value);
}

static void tvmffi_i_add_functions(tvmffi_i_collected *to) {
  int i;
  for (i = 0; i < TVMFFI_I_NUM_BUILTIN_TYPES; ++i) {
    const tvmffi_i_builtin_type *t = &tvmffi_i_builtin_types[i];
    if (t->creator)
      tvmffi_i_add_function(to, TVMFFI_I_COLUMN_NEW, t->type_index,
                            tvmffi_i_call_new);
    if (t->flags & TVMFFI_I_COPIED)
      tvmffi_i_add_function(to, TVMFFI_I_COLUMN_COPY, t->type_index,
                            tvmffi_i_call_copy);
    tvmffi_i_add_value(to, TVMFFI_I_COLUMN_FINAL, t->type_index,
                       tvmffi_bool((t->flags & TVMFFI_I_FINAL) != 0));
  }
  for (i = 0; i < TVMFFI_I_NUM_TARGETS; ++i)
    tvmffi_i_add_function(to, TVMFFI_I_COLUMN_CONVERT,
                          tvmffi_i_targets[i].index, tvmffi_i_call_convert);
  for (i = 0; i < TVMFFI_I_NUM_OTHER_ATTRS; ++i)
    tvmffi_i_add_function(to, tvmffi_i_other_attrs[i].column,
                          tvmffi_i_other_attrs[i].type_index,
                          tvmffi_i_other_attrs[i].call);
}

#if !TVMFFI_NO_EXTRA
static void tvmffi_i_add_extra(tvmffi_i_collected *to) {
  static const int32_t containers[] = {kTVMFFIArray, kTVMFFIMap, kTVMFFIList,
                                       kTVMFFIDict};
  static const int32_t leaves[] = {kTVMFFIStr, kTVMFFIBytes, kTVMFFIBigInt};
  int i;
  for (i = 0; i < 4; ++i) {
    TVMFFI_I_ADD_ADDRESS(to, VISIT, containers[i], tvmffi_i_visit_container);
    TVMFFI_I_ADD_ADDRESS(to, MUTATE, containers[i], tvmffi_i_mutate_container);
    TVMFFI_I_ADD_ADDRESS(to, MUTATE_INPLACE, containers[i],
                         tvmffi_i_mutate_in_place);
  }
  for (i = 0; i < 3; ++i) {
    TVMFFI_I_ADD_ADDRESS(to, MUTATE, leaves[i], tvmffi_i_mutate_leaf);
    TVMFFI_I_ADD_ADDRESS(to, MUTATE_INPLACE, leaves[i], tvmffi_i_mutate_leaf);
  }
  TVMFFI_I_ADD_ADDRESS(to, ANY_EQUAL, TVMFFI_I_STRUCTURAL_KEY,
                       tvmffi_i_equal_structural_key);
}
#endif

static void tvmffi_i_collect_values(tvmffi_i_collected *to) {
  TVMFFI_I_ADD_ADDRESS(to, ANY_HASH, kTVMFFIBigInt, tvmffi_i_hash_bigint);
  TVMFFI_I_ADD_ADDRESS(to, ANY_EQUAL, kTVMFFIBigInt, tvmffi_i_equal_bigint);
  TVMFFI_I_ADD_ADDRESS(to, ANY_HASH, TVMFFI_I_STRUCTURAL_KEY,
                       tvmffi_i_hash_structural_key);
  tvmffi_i_add_functions(to);
#if !TVMFFI_NO_EXTRA
  tvmffi_i_add_extra(to);
#endif
}

/* The array has upstream's size, or with one thread only the types that have a
   value: see tvmffi_i_reserve_attr. The array is stored after its size, because
   a thread that finds the array reads the column without the mutex. */
static int tvmffi_i_build_column(tvmffi_i_column *c) {
  tvmffi_i_collected to = {0, INT32_MAX, 0, 0, NULL, NULL};
  size_t size, values;
  void *block;
  while (to.column < TVMFFI_I_NUM_FULL_COLUMNS &&
         c != &tvmffi_i_static_columns[to.column])
    ++to.column;
  if (to.column == TVMFFI_I_NUM_FULL_COLUMNS || c->column.data) return 0;
  tvmffi_i_collect_values(&to);
  if (!TVMFFI_NO_THREADS) {
    to.begin = 0;
    to.end = tvmffi_i_column_rows[to.column].size;
  }
  if (to.begin >= to.end) return 0;
  values = (size_t)(to.end - to.begin);
  size = values * sizeof(*to.values) + to.num_functions * sizeof(*to.functions);
  block = tvmffi_i_alloc(size);
  if (!block) return -1;
  memset(block, 0, size);
  to.values = (TVMFFIAny *)block;
  to.functions = (tvmffi_i_attr *)(void *)(to.values + values);
  to.num_functions = 0;
  tvmffi_i_collect_values(&to);
  c->capacity = (int32_t)values;
  c->column.begin_index = to.begin;
  c->column.size = (int32_t)values;
  TVMFFI_I_STORE(&c->column.data, to.values);
  return 0;
}

/* Registers the names of the columns. Needs the mutex. */
static void tvmffi_i_start_columns(void) {
  static TVMFFI_I_SLOTS(TVMFFI_I_NUM_COLUMNS) table;
  int i;
  tvmffi_i_begin_name_table(&tvmffi_i_columns, &table.head, sizeof(table));
  for (i = 0; i < TVMFFI_I_NUM_COLUMNS; ++i) {
    const char *name = tvmffi_i_column_rows[i].name;
    tvmffi_i_insert(&tvmffi_i_columns, &tvmffi_i_static_columns[i].node, name,
                    strlen(name));
  }
}
#endif
