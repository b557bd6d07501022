/* ======== Built-in types ====================================== >>tables/type
   the methods and metadata of built-in types */

#pragma once

#include "../head/config.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/schema.h"
#include "../platform/libc.h"
#include "../platform/name_table.h"
#include "../core/bigint.h"
#include "../core/type_table.h"
#include "../core/type_attribute.h"
#include "../core/function.h"
#include "../reflection/enum.h"
#include "../reflection/creator.h"
#include "../extra/visit_container.h"
#include "type_attribute.h"
#include "type_field.h"

#if !TVMFFI_NO_CONTAINERS
/* The metadata of the built-in types. A module begins with the table of
   virtual functions, 8 bytes before its object. */
typedef struct {
  int32_t type_index;
  size_t size;
  TVMFFIObjectCreator creator;
  TVMFFISEqHashKind kind;
} tvmffi_i_meta;
static const tvmffi_i_meta tvmffi_i_metas[] = {
    {kTVMFFIModule, sizeof(TVMFFIObject) + 3 * sizeof(void *), NULL,
     kTVMFFISEqHashKindUnsupported},
    {kTVMFFIVisitInterrupt, sizeof(tvmffi_i_interrupt),
     tvmffi_i_create_interrupt, kTVMFFISEqHashKindUnsupported},
    {kTVMFFIBigInt, TVMFFI_I_BIGINT_WORDS, NULL, kTVMFFISEqHashKindUnsupported},
    {TVMFFI_I_ENUM_STATE, sizeof(tvmffi_i_enum_state),
     tvmffi_i_create_enum_state, kTVMFFISEqHashKindUnsupported},
    {TVMFFI_I_ENUM_BASE, sizeof(tvmffi_i_enum), tvmffi_i_create_enum,
     kTVMFFISEqHashKindUniqueInstance},
    {TVMFFI_I_INT_ENUM, sizeof(tvmffi_i_enum), tvmffi_i_create_int_enum,
     kTVMFFISEqHashKindUniqueInstance},
    {TVMFFI_I_STR_ENUM, sizeof(tvmffi_i_enum), tvmffi_i_create_str_enum,
     kTVMFFISEqHashKindUniqueInstance},
    {TVMFFI_I_ACCESS_STEP, sizeof(tvmffi_i_step), tvmffi_i_create_step,
     kTVMFFISEqHashKindConstTreeNode},
    {TVMFFI_I_ACCESS_PATH, sizeof(tvmffi_i_path), tvmffi_i_create_path,
     kTVMFFISEqHashKindConstTreeNode},
    {TVMFFI_I_STRUCTURAL_VISITOR, sizeof(tvmffi_i_visitor), NULL,
     kTVMFFISEqHashKindUnsupported},
    {TVMFFI_I_VISIT_ERROR_CONTEXT, sizeof(tvmffi_i_error_context),
     tvmffi_i_create_error_context, kTVMFFISEqHashKindUnsupported},
    {TVMFFI_I_STRUCTURAL_MUTATOR, sizeof(tvmffi_i_visitor), NULL,
     kTVMFFISEqHashKindUnsupported},
    {TVMFFI_I_STRUCTURAL_KEY, sizeof(tvmffi_i_structural_key),
     tvmffi_i_create_structural_key, kTVMFFISEqHashKindUnsupported}};
enum {
  TVMFFI_I_NUM_METAS = sizeof(tvmffi_i_metas) / sizeof(tvmffi_i_metas[0])
};
static TVMFFITypeMetadata tvmffi_i_static_metadata[TVMFFI_I_NUM_METAS];

/* The metadata of fields and methods, put together at the start. */
static char tvmffi_i_meta_texts[8 * 1024];
static size_t tvmffi_i_meta_used;

static void tvmffi_i_fill_function(tvmffi_i_function_object *f,
                                   TVMFFISafeCallType call) {
  f->base.combined_ref_count = TVMFFI_I_PINNED | TVMFFI_I_WEAK_ONE;
  f->base.type_index = kTVMFFIFunction;
  f->cell.safe_call = call;
}

static void tvmffi_i_fill_field(TVMFFIFieldInfo *to,
                                const tvmffi_i_field *from) {
  char *text = tvmffi_i_meta_texts + tvmffi_i_meta_used;
  size_t n = tvmffi_i_append(text, 0, "{\"type_schema\":\"");
  n = tvmffi_i_append_schema(text, n, from->content->schema);
  n = tvmffi_i_append(text, n, "\"}");
  tvmffi_i_meta_used += n;
  to->name = tvmffi_view(from->name);
  to->doc = tvmffi_view(from->doc);
  to->metadata.data = text;
  to->metadata.size = n;
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
  to->name = tvmffi_view(from->func->name + prefix);
  to->doc = tvmffi_view(from->doc);
  to->metadata =
      tvmffi_i_metadata(from->func, tvmffi_i_meta_texts + tvmffi_i_meta_used);
  tvmffi_i_meta_used += to->metadata.size;
  to->flags = from->flags;
  to->method = tvmffi_obj(&function->base);
}

/* Describes a type that is not published yet; mutex held. */
static void tvmffi_i_describe_type(tvmffi_i_type *t, int32_t index) {
  const tvmffi_i_meta *meta = tvmffi_i_metas;
  TVMFFITypeMetadata *metadata;
  int32_t i, n;
  while (meta < tvmffi_i_metas + TVMFFI_I_NUM_METAS &&
         meta->type_index != index)
    ++meta;
  if (meta == tvmffi_i_metas + TVMFFI_I_NUM_METAS) return;
  metadata = &tvmffi_i_static_metadata[meta - tvmffi_i_metas];
  metadata->creator = meta->creator;
  metadata->total_size = (int32_t)meta->size;
  if (meta->creator) t->made_size = metadata->total_size;
  metadata->structural_eq_hash_kind = meta->kind;
  t->info.metadata = metadata;
  for (i = n = 0; i < TVMFFI_I_NUM_FIELDS; ++i) {
    if (tvmffi_i_fields[i].type_index != index) continue;
    if (!n++) t->info.fields = &tvmffi_i_static_fields[i];
    tvmffi_i_fill_field(&tvmffi_i_static_fields[i], &tvmffi_i_fields[i]);
  }
  t->info.num_fields = t->field_capacity = n;
  for (i = n = 0; i < TVMFFI_I_NUM_METHODS; ++i) {
    const char *name = tvmffi_i_methods[i].func->name;
    size_t prefix = (size_t)(strrchr(name, '.') - name) + 1;
    if (tvmffi_i_methods[i].type_index != index) continue;
    if (!n++) t->info.methods = &tvmffi_i_static_methods[i];
    tvmffi_i_fill_method(&tvmffi_i_static_methods[i],
                         &tvmffi_i_method_objects[i], &tvmffi_i_methods[i],
                         prefix);
  }
  t->info.num_methods = t->method_capacity = n;
}

#if !TVMFFI_NO_EXTRA
static void tvmffi_i_fill_visit_columns(
    TVMFFIAny (*values)[TVMFFI_I_NUM_INDICES]) {
  static const int32_t containers[] = {kTVMFFIArray, kTVMFFIMap, kTVMFFIList,
                                       kTVMFFIDict};
  static const int32_t leaves[] = {kTVMFFIStr, kTVMFFIBytes, kTVMFFIBigInt};
  size_t i;
  for (i = 0; i < 4; ++i) {
    values[TVMFFI_I_COLUMN_VISIT][containers[i]] =
        tvmffi_ptr((void *)(uintptr_t)tvmffi_i_visit_container);
    values[TVMFFI_I_COLUMN_MUTATE][containers[i]] =
        tvmffi_ptr((void *)(uintptr_t)tvmffi_i_mutate_container);
    values[TVMFFI_I_COLUMN_MUTATE_INPLACE][containers[i]] =
        tvmffi_ptr((void *)(uintptr_t)tvmffi_i_mutate_in_place);
  }
  for (i = 0; i < 3; ++i)
    values[TVMFFI_I_COLUMN_MUTATE][leaves[i]] =
        values[TVMFFI_I_COLUMN_MUTATE_INPLACE][leaves[i]] =
            tvmffi_ptr((void *)(uintptr_t)tvmffi_i_mutate_leaf);
}
#endif

/* Fills in the values of the columns that have some. */
static void tvmffi_i_fill_columns(void) {
  TVMFFIAny(*values)[TVMFFI_I_NUM_INDICES] = tvmffi_i_column_values;
  size_t i;
  for (i = 0; i < TVMFFI_I_NUM_ATTRS; ++i) {
    const tvmffi_i_attr *a = &tvmffi_i_attrs[i];
    tvmffi_i_fill_function(&tvmffi_i_attr_functions[i], a->call);
    values[a->column][a->type_index] =
        tvmffi_obj(&tvmffi_i_attr_functions[i].base);
  }
  for (i = 0; i < sizeof(tvmffi_i_finalities) / sizeof(tvmffi_i_finality); ++i)
    values[TVMFFI_I_COLUMN_FINAL][tvmffi_i_finalities[i].type_index] =
        tvmffi_bool(tvmffi_i_finalities[i].final);
  values[TVMFFI_I_COLUMN_ANY_HASH][kTVMFFIBigInt] =
      tvmffi_ptr((void *)(uintptr_t)tvmffi_i_hash_bigint);
  values[TVMFFI_I_COLUMN_ANY_EQUAL][kTVMFFIBigInt] =
      tvmffi_ptr((void *)(uintptr_t)tvmffi_i_equal_bigint);
  values[TVMFFI_I_COLUMN_ANY_HASH][TVMFFI_I_STRUCTURAL_KEY] =
      tvmffi_ptr((void *)(uintptr_t)tvmffi_i_hash_structural_key);
#if !TVMFFI_NO_EXTRA
  values[TVMFFI_I_COLUMN_ANY_EQUAL][TVMFFI_I_STRUCTURAL_KEY] =
      tvmffi_ptr((void *)(uintptr_t)tvmffi_i_equal_structural_key);
#endif
#if !TVMFFI_NO_EXTRA
  tvmffi_i_fill_visit_columns(values);
#endif
}

/* Puts the columns into their map, filled; mutex held. */
static void tvmffi_i_start_columns(void) {
  static TVMFFI_I_SLOTS(TVMFFI_I_NUM_COLUMNS) table;
  int i;
  tvmffi_i_begin_map(&tvmffi_i_columns, &table.head, sizeof(table));
  tvmffi_i_fill_columns();
  for (i = 0; i < TVMFFI_I_NUM_COLUMNS; ++i) {
    tvmffi_i_column *c = &tvmffi_i_static_columns[i];
    const tvmffi_i_column_row *row = &tvmffi_i_column_rows[i];
    if (i < TVMFFI_I_NUM_FULL_COLUMNS) {
      c->column.data = tvmffi_i_column_values[i];
      c->column.size = row->size;
      c->capacity = TVMFFI_I_NUM_INDICES;
    }
    tvmffi_i_insert(&tvmffi_i_columns, &c->node, row->name, strlen(row->name));
  }
}
#endif

