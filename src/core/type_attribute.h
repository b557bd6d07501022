/* ======== Type attributes: attribute columns ======= >>core/type_attribute */

#pragma once

#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../platform/libc.h"
#include "../platform/thread.h"
#include "../platform/memory.h"
#include "../platform/name_table.h"
#include "raise.h"
#include "type_table.h"
#include "type_member.h"

/* An attribute column: values by type index, from 0 on. */
typedef struct {
  tvmffi_i_node node;
  TVMFFITypeAttrColumn column;
  int32_t capacity;
} tvmffi_i_column;

static tvmffi_i_map tvmffi_i_columns;

/* The column of a name, made when it is missing; mutex held. */
static tvmffi_i_column *tvmffi_i_get_column(const TVMFFIByteArray *name) {
  tvmffi_i_node *node =
      tvmffi_i_find(&tvmffi_i_columns, name->data, name->size);
  tvmffi_i_column *c = (tvmffi_i_column *)(void *)node;
  char *key;
  if (c) return c;
  if (tvmffi_i_reserve(&tvmffi_i_columns, name->size) != 0) return NULL;
  c = (tvmffi_i_column *)tvmffi_i_alloc(sizeof(*c) + name->size + 1);
  if (!c) return c;
  memset(c, 0, sizeof(*c));
  key = (char *)(c + 1);
  if (name->size) memcpy(key, name->data, name->size);
  key[name->size] = 0;
  tvmffi_i_insert(&tvmffi_i_columns, &c->node, key, name->size);
  return c;
}

/* Puts a value into a column; the result is that of tvmffi_i_enter_field. A
   reader who sees the size sees data of that size, and who sees the type of a
   value sees the value. Mutex held. */
static int tvmffi_i_enter_attr(tvmffi_i_column *c, int32_t index,
                               const TVMFFIAny *value) {
  TVMFFIAny *data = (TVMFFIAny *)c->column.data, *slot;
  int32_t capacity = c->capacity ? c->capacity : 256;
  if (index >= c->capacity) {
    while (capacity <= index) capacity *= 2;
    data = (TVMFFIAny *)tvmffi_i_enlarge(data, sizeof(*data), c->column.size,
                                         capacity);
    if (!data) return -1;
    memset(data + c->column.size, 0,
           (size_t)(capacity - c->column.size) * sizeof(*data));
    c->capacity = capacity;
    TVMFFI_I_STORE(&c->column.data, data);
  }
  slot = &data[index];
  if (slot->type_index != kTVMFFINone)
    return tvmffi_i_same_any(slot, value) ? 1 : 2;
  slot->zero_padding = value->zero_padding;
  slot->v_uint64 = value->v_uint64;
  TVMFFI_I_STORE(&slot->type_index, value->type_index);
  if (index >= c->column.size) TVMFFI_I_STORE(&c->column.size, index + 1);
  return 0;
}

/* With the index of None, only makes the column. */
int TVMFFITypeRegisterAttr(int32_t type_index, const TVMFFIByteArray *attr_name,
                           const TVMFFIAny *attr_value) {
  tvmffi_i_column *c;
  TVMFFIAny value = tvmffi_none();
  int result = 0;
  TVMFFI_I_BYTES(attr_name);
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
  tvmffi_any_release(&value);
  if (result < 0) return tvmffi_i_no_memory();
  if (result == 1) return 0;
  return tvmffi_i_fail(
      "RuntimeError",
      "TypeAttr `%.*s` is already registered for type index %d. To update the "
      "stored value, register a mutable container (e.g., Dict/List) once and "
      "mutate it in place on subsequent calls.",
      TVMFFI_I_TEXT(*attr_name), type_index);
}

const TVMFFITypeAttrColumn *TVMFFIGetTypeAttrColumn(
    const TVMFFIByteArray *attr_name) {
  tvmffi_i_node *node;
  if (!tvmffi_i_is_bytes(attr_name)) {
    (void)tvmffi_i_bad_bytes(__func__, "attr_name", attr_name);
    return NULL;
  }
  node = tvmffi_i_find(&tvmffi_i_columns, attr_name->data, attr_name->size);
  if (TVMFFI_I_UNLIKELY(!node)) {
    tvmffi_i_start_types();
    node = tvmffi_i_find(&tvmffi_i_columns, attr_name->data, attr_name->size);
  }
  return node ? &((tvmffi_i_column *)(void *)node)->column : NULL;
}
