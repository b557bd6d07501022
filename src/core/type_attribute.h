/* ======== Type attributes: attribute columns ======= >>core/type_attribute */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "raise.h"
#include "type_table.h"
#include "type_member.h"

/* A column: the values of one attribute, indexed by type index. */
typedef struct {
  tvmffi_i_node node;
  TVMFFITypeAttrColumn column;
  int32_t capacity;
} tvmffi_i_column;

static tvmffi_i_name_table tvmffi_i_columns;

/* Allocates the array of a column that built-in types have values in, unless
   the column has an array. Returns 0, or -1 if out of memory. Needs the mutex.
 */
#if TVMFFI_NO_REFLECTION
static int tvmffi_i_build_column(tvmffi_i_column *c) { return (void)c, 0; }
#else
/* Defined in tables/builtin_type.h. */
static int tvmffi_i_build_column(tvmffi_i_column *c);
#endif

/* Returns the column with this name, created if missing, or NULL if out of
   memory. */
static tvmffi_i_column *tvmffi_i_get_column(const TVMFFIByteArray *name) {
  tvmffi_i_node *node =
      tvmffi_i_find(&tvmffi_i_columns, name->data, name->size);
  tvmffi_i_column *c = (tvmffi_i_column *)(void *)node;
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED);
  if (c) return c;
  if (tvmffi_i_reserve(&tvmffi_i_columns, name->size) != 0) return NULL;
  c = (tvmffi_i_column *)tvmffi_i_alloc(sizeof(*c) + name->size + 1);
  if (!c) return c;
  memset(c, 0, sizeof(*c));
  tvmffi_i_insert(&tvmffi_i_columns, &c->node,
                  tvmffi_i_copy_text((char *)(c + 1), *name), name->size);
  return c;
}

/* Ensures that a column has a slot for a type. If `moves`, which needs one
   thread, the array begins at the lowest type that has a value. Otherwise it
   begins at type 0 and begin_index is never written, because a reader could see
   a new array with an old begin_index. Returns 0, or -1 if out of memory. */
static int tvmffi_i_reserve_attr(tvmffi_i_column *c, int32_t index, int moves) {
  const int32_t old_begin = c->column.begin_index;
  int32_t begin = old_begin, end = begin + c->capacity;
  TVMFFIAny *data;
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED && index >= 0);
  TVMFFI_ASSERT(index < TVMFFI_I_MAX_TYPES + TVMFFI_I_MAX_SLOTS);
  TVMFFI_ASSERT(c->column.size >= 0 && c->column.size <= c->capacity);
  if ((uint32_t)(index - begin) < (uint32_t)c->capacity) return 0;
  if (begin == end) {
    begin = moves ? index : 0;
    end = begin + (moves ? 8 : 256);
  }
  if (index < begin) begin = index;
  /* At least doubles, and no more than a distant type needs. */
  if (index >= end) {
    const int32_t twice = end + (end - begin);
    end = index < twice ? twice : index + 1;
  }
  TVMFFI_ASSERT(moves || begin == 0);
  data = (TVMFFIAny *)tvmffi_i_enlarge(c->column.data, sizeof(*data), 0,
                                       end - begin, 0);
  if (!data) return -1;
  memset((void *)data, 0, (size_t)(end - begin) * sizeof(*data));
  if (c->column.size)
    memcpy((void *)(data + (old_begin - begin)), c->column.data,
           (size_t)c->column.size * sizeof(*data));
  c->capacity = end - begin;
  if (begin != old_begin) {
    if (c->column.size) c->column.size += old_begin - begin;
    c->column.begin_index = begin;
  }
  TVMFFI_I_STORE(&c->column.data, data);
  return 0;
}

/* Stores a value in a column. Returns 0 if stored, 1 if the column has the same
   value, 2 if it has another value, or -1 if out of memory. Readers take no
   lock, so an array is stored before its size, and a value before its type
   index. */
static int tvmffi_i_enter_attr(tvmffi_i_column *c, int32_t index,
                               const TVMFFIAny *value) {
  TVMFFIAny *slot;
  if (tvmffi_i_build_column(c) ||
      tvmffi_i_reserve_attr(c, index, TVMFFI_NO_THREADS))
    return -1;
  index -= c->column.begin_index;
  TVMFFI_ASSERT(index >= 0 && index < c->capacity);
  slot = (TVMFFIAny *)c->column.data + index;
  if (slot->type_index != kTVMFFINone)
    return tvmffi_i_same_any(slot, value) ? 1 : 2;
  slot->zero_padding = value->zero_padding;
  slot->v_uint64 = value->v_uint64;
  TVMFFI_I_STORE(&slot->type_index, value->type_index);
  if (index >= c->column.size) TVMFFI_I_STORE(&c->column.size, index + 1);
  return 0;
}

/* If `type_index` is kTVMFFINone, creates only the column. */
int TVMFFITypeRegisterAttr(int32_t type_index, const TVMFFIByteArray *attr_name,
                           const TVMFFIAny *attr_value) {
  tvmffi_i_column *c;
  TVMFFIAny value = tvmffi_none();
  int result = 0;
  TVMFFI_I_CHECK_BYTES(attr_name);
  tvmffi_i_start_types();
  if (type_index != kTVMFFINone) {
    TVMFFI_I_NOT_NULL(attr_value);
    if (!tvmffi_i_type_or_fail(type_index)) return -1;
    TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(attr_value, &value));
  }
  tvmffi_i_lock();
  c = tvmffi_i_get_column(attr_name);
  if (!c)
    result = -1;
  else if (type_index != kTVMFFINone)
    result = tvmffi_i_enter_attr(c, type_index, &value);
  tvmffi_i_unlock();
  if (!result) return 0;
  tvmffi_i_any_release(&value);
  if (result < 0) return tvmffi_i_no_memory();
  if (result == 1) return 0;
  TVMFFI_ASSERT(result == 2 && type_index != kTVMFFINone);
  return tvmffi_i_runtime_error(
      "TypeAttr `%.*s` is already registered for type index %d. To update the "
      "stored value, register a mutable container (e.g., Dict/List) once and "
      "mutate it in place on subsequent calls.",
      TVMFFI_I_TEXT(*attr_name), (int)type_index);
}

const TVMFFITypeAttrColumn *TVMFFIGetTypeAttrColumn(
    const TVMFFIByteArray *attr_name) {
  tvmffi_i_node *node;
  tvmffi_i_column *c;
  int code = 0;
  if (!tvmffi_i_is_bytes(attr_name)) {
    (void)tvmffi_i_bad_bytes(__func__, "attr_name", attr_name);
    return NULL;
  }
  node = tvmffi_i_find(&tvmffi_i_columns, attr_name->data, attr_name->size);
  if (TVMFFI_I_UNLIKELY(!node)) {
    tvmffi_i_start_types();
    node = tvmffi_i_find(&tvmffi_i_columns, attr_name->data, attr_name->size);
  }
  if (!node) return NULL;
  c = (tvmffi_i_column *)(void *)node;
  if (!TVMFFI_I_LOAD(&c->column.data)) {
    tvmffi_i_lock();
    code = tvmffi_i_build_column(c);
    tvmffi_i_unlock();
  }
  if (code) (void)tvmffi_i_no_memory();
  return code ? NULL : &c->column;
}
