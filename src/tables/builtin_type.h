/* ======== Built-in types =============================== >>tables/builtin_type
   rows of types and of attributes */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../reflection.h"
#include "../extra.h"
#include "../interface.h"
#include "../functions.h"
#include "builtin_attribute.h"
#include "builtin_function.h"
#include "type_field.h"

#if !TVMFFI_NO_REFLECTION
/* Describes a built-in type. A type with a creator gets the attribute
   __ffi_new__. A type with the flag COPIED gets __ffi_shallow_copy__. */
enum { TVMFFI_I_FINAL = 1, TVMFFI_I_COPIED = 2 };
typedef struct {
  int32_t type_index, flags;
  TVMFFITypeMetadata metadata;
  const TVMFFIFieldInfo *fields;
  int32_t num_fields;
} tvmffi_i_builtin_type;
#define TVMFFI_I_TYPE_ROW(index, flags, size, kind, creator, ...)        \
  {                                                                      \
    index, flags,                                                        \
        {{NULL, 0}, creator, (int32_t)(size), kTVMFFISEqHashKind##kind}, \
        __VA_ARGS__                                                      \
  }
#define TVMFFI_I_FIELDS(array) \
  array, (int32_t)(sizeof(array) / sizeof((array)[0]))
/* A type whose objects are structs with fields and a creator. */
#define TVMFFI_I_STRUCT_ROW(index, flags, name, kind)                          \
  TVMFFI_I_TYPE_ROW(index, (flags) | TVMFFI_I_COPIED, sizeof(tvmffi_i_##name), \
                    kind, tvmffi_i_create_##name,                              \
                    TVMFFI_I_FIELDS(tvmffi_i_##name##_fields))
static const tvmffi_i_builtin_type tvmffi_i_builtin_types[] = {
    TVMFFI_I_TYPE_ROW(kTVMFFIModule, TVMFFI_I_FINAL, sizeof(tvmffi_i_module),
                      Unsupported, NULL,
                      TVMFFI_I_FIELDS(tvmffi_i_module_fields)),
    TVMFFI_I_TYPE_ROW(kTVMFFIBigInt, TVMFFI_I_FINAL, TVMFFI_I_BIGINT_WORDS,
                      Unsupported, NULL, NULL, 0),
    TVMFFI_I_TYPE_ROW(TVMFFI_I_STRUCTURAL_VISITOR, TVMFFI_I_COPIED,
                      sizeof(tvmffi_i_visitor), Unsupported, NULL, NULL, 0),
    TVMFFI_I_TYPE_ROW(TVMFFI_I_STRUCTURAL_MUTATOR, TVMFFI_I_COPIED,
                      sizeof(tvmffi_i_visitor), Unsupported, NULL, NULL, 0),
    TVMFFI_I_STRUCT_ROW(kTVMFFIVisitInterrupt, TVMFFI_I_FINAL, interrupt,
                        Unsupported),
    TVMFFI_I_STRUCT_ROW(TVMFFI_I_ENUM_STATE, TVMFFI_I_FINAL, enum_state,
                        Unsupported),
    TVMFFI_I_STRUCT_ROW(TVMFFI_I_ENUM_BASE, 0, enum, UniqueInstance),
    TVMFFI_I_STRUCT_ROW(TVMFFI_I_INT_ENUM, 0, int_enum, UniqueInstance),
    TVMFFI_I_STRUCT_ROW(TVMFFI_I_STR_ENUM, 0, str_enum, UniqueInstance),
    TVMFFI_I_STRUCT_ROW(TVMFFI_I_ACCESS_STEP, TVMFFI_I_FINAL, step,
                        ConstTreeNode),
    TVMFFI_I_STRUCT_ROW(TVMFFI_I_ACCESS_PATH, TVMFFI_I_FINAL, path,
                        ConstTreeNode),
    TVMFFI_I_STRUCT_ROW(TVMFFI_I_VISIT_ERROR_CONTEXT, TVMFFI_I_FINAL,
                        error_context, Unsupported),
    TVMFFI_I_STRUCT_ROW(TVMFFI_I_STRUCTURAL_KEY, TVMFFI_I_FINAL, structural_key,
                        Unsupported)};
enum {
  TVMFFI_I_NUM_BUILTIN_TYPES =
      sizeof(tvmffi_i_builtin_types) / sizeof(tvmffi_i_builtin_types[0])
};

/* Fills the description of method i of tvmffi_i_methods. A method is static
   unless its first parameter has the type that the method belongs to. */
static void tvmffi_i_fill_method(int32_t i) {
  const tvmffi_i_method *from = &tvmffi_i_methods[i];
  const tvmffi_i_builtin_func *f = from->func;
  TVMFFIMethodInfo *to = &tvmffi_i_static_methods[i];
  TVMFFI_ASSERT(!to->method.v_obj ||
                to->method.v_obj == &tvmffi_i_method_objects[i].base);
  TVMFFI_ASSERT(strrchr(f->name, '.'));
  tvmffi_i_fill_builtin(&tvmffi_i_method_objects[i], TVMFFI_I_SAFE_CALL(f), f);
  to->name = tvmffi_byte_array(strrchr(f->name, '.') + 1);
  to->doc = tvmffi_byte_array(from->doc);
  to->metadata = tvmffi_byte_array(*from->metadata);
  if (!f->num_args || f->types[1]->index != from->type_index)
    to->flags = kTVMFFIFieldFlagBitMaskIsStaticMethod;
  to->method = tvmffi_obj(&tvmffi_i_method_objects[i].base);
}

/* Fills the description of a built-in type. */
static void tvmffi_i_describe_type(tvmffi_i_type *t, int32_t index) {
  const tvmffi_i_builtin_type *row = tvmffi_i_builtin_types;
  int32_t i, num_methods = 0;
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED);
  TVMFFI_ASSERT(!tvmffi_i_type_at(index) || tvmffi_i_type_at(index) == t);
  while (row->type_index != index)
    if (++row == tvmffi_i_builtin_types + TVMFFI_I_NUM_BUILTIN_TYPES) return;
  t->info.metadata = &row->metadata;
  if (row->metadata.creator) t->made_size = row->metadata.total_size;
  t->info.fields = row->fields;
  t->info.num_fields = row->num_fields;
  for (i = TVMFFI_I_NUM_METHODS; i--;) {
    if (tvmffi_i_methods[i].type_index != index) continue;
    tvmffi_i_fill_method(i);
    /* The rows of a type's methods are consecutive. */
    TVMFFI_ASSERT(!num_methods ||
                  t->info.methods == &tvmffi_i_static_methods[i + 1]);
    t->info.methods = &tvmffi_i_static_methods[i];
    ++num_methods;
  }
  t->info.num_methods = num_methods;
}

/* -------- Attribute columns -------- */

/* An attribute's value for one type: the address of a function or, if is_call
   is 1, the object of a built-in function. tvmffi_i_collect_values adds the
   values that many types have. */
typedef struct {
  uint8_t column, is_call;
  int16_t type_index;
  void *function; /* or a tvmffi_i_builtin_func */
} tvmffi_i_attr_row;
#define TVMFFI_I_ATTR_ROW(column, index, is_call, function) \
  { TVMFFI_I_COLUMN_##column, is_call, index, (void *)(uintptr_t)(function) }
#define TVMFFI_I_CONTAINER_ROWS(index)                                \
  TVMFFI_I_ATTR_ROW(VISIT, index, 0, tvmffi_i_visit_container),       \
      TVMFFI_I_ATTR_ROW(MUTATE, index, 0, tvmffi_i_mutate_container), \
      TVMFFI_I_ATTR_ROW(MUTATE_INPLACE, index, 0, tvmffi_i_mutate_in_place)
#define TVMFFI_I_LEAF_ROWS(index)                            \
  TVMFFI_I_ATTR_ROW(MUTATE, index, 0, tvmffi_i_mutate_leaf), \
      TVMFFI_I_ATTR_ROW(MUTATE_INPLACE, index, 0, tvmffi_i_mutate_leaf)
static const tvmffi_i_attr_row tvmffi_i_attr_rows[] = {
#if !TVMFFI_NO_EXTRA
    TVMFFI_I_ATTR_ROW(INIT, TVMFFI_I_STRUCTURAL_KEY, 1,
                      &tvmffi_func_i_structural_key_init),
    TVMFFI_I_ATTR_ROW(REPR, TVMFFI_I_ACCESS_STEP, 1, &tvmffi_func_i_step_repr),
    TVMFFI_I_ATTR_ROW(REPR, TVMFFI_I_ACCESS_PATH, 1, &tvmffi_func_i_path_repr),
    TVMFFI_I_ATTR_ROW(HASH, kTVMFFIBigInt, 1, &tvmffi_func_i_bigint_hash),
    TVMFFI_I_ATTR_ROW(EQ, kTVMFFIBigInt, 1, &tvmffi_func_i_bigint_eq),
    TVMFFI_I_ATTR_ROW(COMPARE, kTVMFFIBigInt, 1, &tvmffi_func_i_bigint_compare),
    TVMFFI_I_ATTR_ROW(TO_JSON, kTVMFFIBigInt, 1, &tvmffi_func_i_bigint_to_json),
    TVMFFI_I_ATTR_ROW(FROM_JSON, kTVMFFIBigInt, 1,
                      &tvmffi_func_i_bigint_from_json),
    TVMFFI_I_CONTAINER_ROWS(kTVMFFIArray),
    TVMFFI_I_CONTAINER_ROWS(kTVMFFIMap),
    TVMFFI_I_CONTAINER_ROWS(kTVMFFIList),
    TVMFFI_I_CONTAINER_ROWS(kTVMFFIDict),
    TVMFFI_I_LEAF_ROWS(kTVMFFIStr),
    TVMFFI_I_LEAF_ROWS(kTVMFFIBytes),
    TVMFFI_I_LEAF_ROWS(kTVMFFIBigInt),
    TVMFFI_I_ATTR_ROW(ANY_EQUAL, TVMFFI_I_STRUCTURAL_KEY, 0,
                      tvmffi_i_equal_structural_key),
#endif
    TVMFFI_I_ATTR_ROW(INIT, TVMFFI_I_ENUM_STATE, 1,
                      &tvmffi_func_i_enum_state_init),
    TVMFFI_I_ATTR_ROW(ANY_HASH, kTVMFFIBigInt, 0, tvmffi_i_hash_bigint),
    TVMFFI_I_ATTR_ROW(ANY_EQUAL, kTVMFFIBigInt, 0, tvmffi_i_equal_bigint),
    TVMFFI_I_ATTR_ROW(ANY_HASH, TVMFFI_I_STRUCTURAL_KEY, 0,
                      tvmffi_i_hash_structural_key)};
enum {
  TVMFFI_I_NUM_ATTR_ROWS =
      sizeof(tvmffi_i_attr_rows) / sizeof(tvmffi_i_attr_rows[0])
};

/* The array of a column is allocated when the column is first used, because all
   arrays together have 27 KB. Two passes over all values of built-in types
   collect those of one column: the first measures, the second stores. */
typedef struct {
  int column;
  int32_t begin, end; /* the types that have a value */
  size_t num_functions;
  TVMFFIAny *values;        /* from type `begin` on; NULL in the first pass */
  tvmffi_i_attr *functions; /* after the values */
} tvmffi_i_collected;

/* Adds a value to the column that `to` collects; ignores values of other
   columns. The value is a function object that calls `call`, for the built-in
   function whose address `value` is, or `value` if `call` is NULL. In the first
   pass, only measures. */
static void tvmffi_i_add_value(tvmffi_i_collected *to, int column,
                               int32_t type_index, TVMFFISafeCallType call,
                               TVMFFIAny value) {
  if (column != to->column) return;
  if (to->values) {
    TVMFFI_ASSERT(type_index >= to->begin && type_index < to->end);
    TVMFFI_ASSERT(!to->values[type_index - to->begin].type_index);
    if (call) {
      tvmffi_i_attr *a = &to->functions[to->num_functions];
      tvmffi_i_fill_builtin(&a->builtin, call,
                            (const tvmffi_i_builtin_func *)value.v_ptr);
      a->column = column;
      a->type_index = type_index;
      value = tvmffi_obj(&a->builtin.base);
    }
    to->values[type_index - to->begin] = value;
  } else {
    if (type_index < to->begin) to->begin = type_index;
    if (type_index >= to->end) to->end = type_index + 1;
  }
  if (call) ++to->num_functions;
}

static void tvmffi_i_collect_values(tvmffi_i_collected *to) {
  int i;
  for (i = 0; i < TVMFFI_I_NUM_BUILTIN_TYPES; ++i) {
    const tvmffi_i_builtin_type *t = &tvmffi_i_builtin_types[i];
    if (t->metadata.creator)
      tvmffi_i_add_value(to, TVMFFI_I_COLUMN_NEW, t->type_index,
                         tvmffi_i_call_new, tvmffi_none());
    if (t->flags & TVMFFI_I_COPIED)
      tvmffi_i_add_value(to, TVMFFI_I_COLUMN_COPY, t->type_index,
                         tvmffi_i_call_copy, tvmffi_none());
    tvmffi_i_add_value(to, TVMFFI_I_COLUMN_FINAL, t->type_index, NULL,
                       tvmffi_bool((t->flags & TVMFFI_I_FINAL) != 0));
  }
  for (i = 0; i < TVMFFI_I_NUM_TARGETS; ++i)
    tvmffi_i_add_value(to, TVMFFI_I_COLUMN_CONVERT, tvmffi_i_targets[i].index,
                       tvmffi_i_call_convert, tvmffi_none());
  for (i = 0; i < TVMFFI_I_NUM_ATTR_ROWS; ++i) {
    const tvmffi_i_attr_row *row = &tvmffi_i_attr_rows[i];
    tvmffi_i_add_value(
        to, row->column, row->type_index,
        row->is_call ? TVMFFI_I_SAFE_CALL(
                           (const tvmffi_i_builtin_func *)row->function)
                     : NULL,
        tvmffi_ptr(row->function));
  }
}

/* The array has upstream's size, or with one thread only the types that have a
   value: see tvmffi_i_reserve_attr. The array is stored after its size, because
   a thread that finds the array reads the column without the mutex. */
static int tvmffi_i_build_column(tvmffi_i_column *c) {
  tvmffi_i_collected to = {0, INT32_MAX, 0, 0, NULL, NULL};
  size_t size, values, functions;
  void *block;
  while (to.column < TVMFFI_I_NUM_FULL_COLUMNS &&
         c != &tvmffi_i_static_columns[to.column])
    ++to.column;
  if (to.column == TVMFFI_I_NUM_FULL_COLUMNS || c->column.data) return 0;
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED);
  tvmffi_i_collect_values(&to);
  TVMFFI_ASSERT(to.end <= tvmffi_i_column_rows[to.column].size);
  if (!TVMFFI_NO_THREADS) {
    to.begin = 0;
    to.end = tvmffi_i_column_rows[to.column].size;
  }
  if (to.begin >= to.end) return 0;
  values = (size_t)(to.end - to.begin);
  functions = to.num_functions;
  size = values * sizeof(*to.values) + functions * sizeof(*to.functions);
  block = tvmffi_i_alloc(size);
  if (!block) return -1;
  memset(block, 0, size);
  to.values = (TVMFFIAny *)block;
  to.functions = (tvmffi_i_attr *)(void *)(to.values + values);
  to.num_functions = 0;
  tvmffi_i_collect_values(&to);
  TVMFFI_ASSERT(to.num_functions == functions);
  c->capacity = (int32_t)values;
  c->column.begin_index = to.begin;
  c->column.size = (int32_t)values;
  TVMFFI_I_STORE(&c->column.data, to.values);
  return 0;
}

/* Registers the names of the columns. */
static void tvmffi_i_start_columns(void) {
  static TVMFFI_I_SLOTS(TVMFFI_I_NUM_COLUMNS) table;
  int i;
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED);
  tvmffi_i_begin_name_table(&tvmffi_i_columns, &table.head, sizeof(table));
  for (i = 0; i < TVMFFI_I_NUM_COLUMNS; ++i) {
    const char *name = tvmffi_i_column_rows[i].name;
    tvmffi_i_insert(&tvmffi_i_columns, &tvmffi_i_static_columns[i].node, name,
                    strlen(name));
  }
}
#endif
