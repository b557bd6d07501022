/* ======== Cursor: the children of an object ================ >>graph/cursor */
/* A cursor traverses the children of an object. The children of an array or
   list are its items, those of a map or dict its keys and values alternately,
   and those of any other object the values of its fields.

   A callback may change the object that is being traversed. So a cursor stores
   an index, not an address. After a change, a cursor may skip or repeat
   children, but reads only the object's current memory. A container may drop a
   child during a callback, so the caller retains the child first. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../core.h"

#if !TVMFFI_NO_CONTAINERS
/* An iterator over the fields of a type, those of its ancestors first. */
typedef struct {
  const TVMFFITypeInfo *type;
  const TVMFFIFieldInfo *next, *end; /* of the ancestor that was reached */
  int32_t depth;                     /* of the next ancestor */
} tvmffi_i_field_cursor;

TVMFFI_I_SMALL_NOINLINE tvmffi_i_field_cursor
tvmffi_i_begin_fields(const TVMFFITypeInfo *type) {
  tvmffi_i_field_cursor w;
  TVMFFI_ASSERT(type->type_depth >= 0);
  w.type = type;
  w.next = w.end = NULL;
  w.depth = type->type_depth > 0;
  return w;
}

/* Slow path of tvmffi_i_next_field: continues with the next type that has
   fields. Returns NULL at the end. */
TVMFFI_I_NOINLINE const TVMFFIFieldInfo *tvmffi_i_next_fields(
    tvmffi_i_field_cursor *w) {
  while (w->next == w->end) {
    int32_t n;
    TVMFFI_ASSERT(w->depth >= 0 && w->depth <= w->type->type_depth + 1);
    if (w->depth > w->type->type_depth) return NULL;
    w->next = w->end =
        tvmffi_i_fields_of(tvmffi_i_ancestor(w->type, w->depth++), &n);
    if (n) w->end += n;
  }
  return w->next++;
}

TVMFFI_I_INLINE const TVMFFIFieldInfo *tvmffi_i_next_field(
    tvmffi_i_field_cursor *w) {
  return TVMFFI_I_LIKELY(w->next != w->end) ? w->next++
                                            : tvmffi_i_next_fields(w);
}

/* Returns the next field in front of `field`, or NULL. The cursor's type has
   `field`, and the cursor has not passed that. Compares the addresses of names,
   because registering a field, which a hook or another thread may do, moves the
   fields to another array. */
TVMFFI_I_INLINE const TVMFFIFieldInfo *tvmffi_i_next_before(
    tvmffi_i_field_cursor *w, const TVMFFIFieldInfo *field) {
  const TVMFFIFieldInfo *next = tvmffi_i_next_field(w);
  TVMFFI_ASSERT(next);
  return next->name.data != field->name.data ? next : NULL;
}

TVMFFI_I_INLINE void *tvmffi_i_at(const void *object,
                                  const TVMFFIFieldInfo *field) {
  return (char *)(uintptr_t)object + field->offset;
}

TVMFFI_I_INLINE int tvmffi_i_is_sequence_type(int32_t index) {
  return index == kTVMFFIArray || index == kTVMFFIList;
}
TVMFFI_I_INLINE int tvmffi_i_is_map_type(int32_t index) {
  return index == kTVMFFIMap || index == kTVMFFIDict;
}
TVMFFI_I_INLINE int tvmffi_i_is_container(int32_t index) {
  return tvmffi_i_is_sequence_type(index) || tvmffi_i_is_map_type(index);
}

/* Returns the number of items or entries of a container. */
TVMFFI_I_INLINE size_t tvmffi_i_size_of(const TVMFFIObject *container) {
  TVMFFI_ASSERT(tvmffi_i_is_container(container->type_index));
  return tvmffi_i_is_map_type(container->type_index)
             ? (size_t)tvmffi_i_map_size(container)
             : (size_t)TVMFFI_I_CELL(TVMFFISeqCell, container)->size;
}

/* Reads a field into *value (owned by the caller). Returns 0, or a negative
   code with the error raised: see tvmffi_i_need_error. */
TVMFFI_I_INLINE int tvmffi_i_get_field(const TVMFFIFieldInfo *field,
                                       const TVMFFIObject *object,
                                       TVMFFIAny *value) {
  int code = field->getter(tvmffi_i_at(object, field), value);
  return code ? tvmffi_i_need_error(code, "A field getter") : 0;
}

typedef struct {
  TVMFFIObject *object; /* borrowed */
  size_t at;            /* index of the next item, or position in a map */
  size_t left;  /* in a map: entries to visit; hooks may move entries behind */
  int on_value; /* in a map: 1 if the next child is a value, not a key */
  tvmffi_i_field_cursor fields; /* unused for a container */
  const TVMFFIFieldInfo *field; /* the field that was read last */
} tvmffi_i_children;

/* Moves a cursor before the first child of an object. `type` is the object's
   type, or NULL for a container. */
TVMFFI_I_INLINE void tvmffi_i_children_open(tvmffi_i_children *c,
                                            TVMFFIObject *object,
                                            const TVMFFITypeInfo *type) {
  TVMFFI_ASSERT(object);
  TVMFFI_ASSERT(type || tvmffi_i_is_container(object->type_index));
  c->object = object;
  c->at = 0;
  c->left = 0;
  c->on_value = 0;
  if (tvmffi_i_is_map_type(object->type_index)) {
    c->at = tvmffi_i_map_begin(object);
    c->left = (size_t)tvmffi_i_map_size(object);
  }
  if (type) c->fields = tvmffi_i_begin_fields(type);
  c->field = NULL;
}

/* Sets *items to the items of an array or list from index `at` on (borrowed).
   Returns their number. */
TVMFFI_I_INLINE size_t tvmffi_i_items_from(const TVMFFIObject *sequence,
                                           size_t at,
                                           const TVMFFIAny **items) {
  const TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, sequence);
  const size_t size = (size_t)cell->size;
  TVMFFI_ASSERT(tvmffi_i_is_sequence_type(sequence->type_index));
  *items = at < size ? (const TVMFFIAny *)cell->data + at : NULL;
  return at < size ? size - at : 0;
}

/* Returns the next child of a container (borrowed), or NULL at the end. */
TVMFFI_I_ALWAYS_INLINE const TVMFFIAny *tvmffi_i_next_in_container(
    tvmffi_i_children *c) {
  const TVMFFISeqCell *cell;
  const tvmffi_i_pair *pair;
  TVMFFI_ASSERT(tvmffi_i_is_container(c->object->type_index));
  if (tvmffi_i_is_sequence_type(c->object->type_index)) {
    cell = TVMFFI_I_CELL(TVMFFISeqCell, c->object);
    return c->at < (size_t)cell->size
               ? (const TVMFFIAny *)cell->data + c->at++
               : NULL;
  }
  pair = c->left ? tvmffi_i_map_pair(c->object, c->at) : NULL;
  if (!pair) return NULL;
  c->on_value ^= 1;
  if (c->on_value) return &pair->key;
  --c->left;
  c->at = tvmffi_i_map_after(c->object, c->at);
  return &pair->value;
}

/* Reads the next field that has no flag in `skip` into *value (owned by the
   caller). Sets c->field to the field, or to NULL at the end. Returns 0, or the
   getter's error code with an error raised. */
TVMFFI_I_INLINE int tvmffi_i_read_next(tvmffi_i_children *c, uint32_t skip,
                                       TVMFFIAny *value) {
  TVMFFI_ASSERT(value->type_index == kTVMFFINone);
  do c->field = tvmffi_i_next_field(&c->fields);
  while (c->field && c->field->flags & skip);
  return c->field ? tvmffi_i_get_field(c->field, c->object, value) : 0;
}

/* Sets *child to the next child, or to NULL at the end. An item, key or value
   is borrowed from its container. A field's value replaces *held, which the
   caller owns. Returns 0, or a getter's error code. */
TVMFFI_I_ALWAYS_INLINE int tvmffi_i_next_child(tvmffi_i_children *c,
                                               uint32_t skip, TVMFFIAny *held,
                                               const TVMFFIAny **child) {
  if (tvmffi_i_is_container(c->object->type_index)) {
    *child = tvmffi_i_next_in_container(c);
    return 0;
  }
  tvmffi_i_any_release(held);
  TVMFFI_TRY(tvmffi_i_read_next(c, skip, held));
  *child = c->field ? held : NULL;
  return 0;
}
#endif
