/* ======== Fields ========================================= >>reflection/field
   objects made and ended by their fields */
/* Objects by their fields: making, filling, copying and destroying them, for
   the built-in types and for classes that Python defines. The built-in types,
   their fields, methods and attributes stand in const tables, which >>registry
   enters when it starts, under the mutex; all else here takes no lock. */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/word.h"
#include "../interface/mismatch.h"
#include "../platform/libc.h"
#include "../core/raise.h"
#include "../core/object.h"
#include "../core/type_table.h"
#include "../core/type_member.h"

#if !TVMFFI_NO_CONTAINERS
/* Goes through the fields of a type, those of its ancestors first. */
typedef struct {
  const TVMFFITypeInfo *type;
  const TVMFFIFieldInfo *fields;
  int32_t depth, i, n;
} tvmffi_i_field_walk;

TVMFFI_I_INLINE tvmffi_i_field_walk
tvmffi_i_walk_fields(const TVMFFITypeInfo *type) {
  tvmffi_i_field_walk w;
  w.type = type;
  w.fields = NULL;
  w.depth = type->type_depth > 0;
  w.i = w.n = 0;
  return w;
}

/* Goes on to the next type that has fields. */
TVMFFI_I_NOINLINE const TVMFFIFieldInfo *tvmffi_i_next_fields(
    tvmffi_i_field_walk *w) {
  while (w->i >= w->n) {
    const TVMFFITypeInfo *t = w->type;
    if (w->depth > t->type_depth) return NULL;
    if (w->depth < t->type_depth) t = t->type_ancestors[w->depth];
    ++w->depth;
    w->i = 0;
    w->n = TVMFFI_I_LOAD(&t->num_fields);
    w->fields = TVMFFI_I_LOAD(&t->fields);
  }
  return &w->fields[w->i++];
}

TVMFFI_I_INLINE const TVMFFIFieldInfo *tvmffi_i_next_field(
    tvmffi_i_field_walk *w) {
  return TVMFFI_I_LIKELY(w->i < w->n) ? &w->fields[w->i++]
                                      : tvmffi_i_next_fields(w);
}

TVMFFI_I_INLINE void *tvmffi_i_at(const void *object,
                                  const TVMFFIFieldInfo *field) {
  return (char *)(uintptr_t)object + field->offset;
}

/* Empties the fields of one type. Two may share their memory (`value` of
   ffi.StrEnum is `_str_index` of ffi.Enum), so what is empty must stay so. */
TVMFFI_I_INLINE void tvmffi_i_drop_fields(void *self,
                                          const TVMFFITypeInfo *type) {
  int32_t n = TVMFFI_I_LOAD(&type->num_fields);
  const TVMFFIFieldInfo *field = TVMFFI_I_LOAD(&type->fields);
  for (; n > 0; --n, ++field) {
    tvmffi_i_storage storage = tvmffi_i_storage_of(field);
    if (storage == TVMFFI_I_FIELD_ANY) {
      tvmffi_any_release((TVMFFIAny *)tvmffi_i_at(self, field));
    } else if (storage == TVMFFI_I_FIELD_REFERENCE) {
      TVMFFIObject **at = (TVMFFIObject **)tvmffi_i_at(self, field);
      TVMFFIObject *held = *at;
      *at = NULL;
      tvmffi_release(held);
    }
  }
}

TVMFFI_I_INLINE void tvmffi_i_destroy_fields(void *self, int flags) {
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    const TVMFFIObject *o = (const TVMFFIObject *)self;
    const TVMFFITypeInfo *type = &tvmffi_i_type_at(o->type_index)->info;
    int32_t depth;
    for (depth = 1; depth < type->type_depth; ++depth)
      tvmffi_i_drop_fields(self, type->type_ancestors[depth]);
    tvmffi_i_drop_fields(self, type);
  }
  tvmffi_i_delete_plain(self, flags);
}

static void tvmffi_i_delete_fields(void *self, int flags) {
  tvmffi_i_destroy((TVMFFIObject *)self, flags, tvmffi_i_destroy_fields,
                   tvmffi_i_delete_fields);
}

/* An object whose fields are zero: None, NULL and 0. The type must be there, as
   the object ends by its fields. */
static TVMFFIObject *tvmffi_i_new_object(int32_t type_index, size_t size) {
  TVMFFIObject *o = NULL;
  if (tvmffi_i_type_or_fail(type_index))
    o = (TVMFFIObject *)tvmffi_i_object(size, type_index,
                                        tvmffi_i_delete_fields);
  if (o) memset((void *)(o + 1), 0, size - sizeof(*o));
  return o;
}

/* Whether a field lies where one before it does. */
TVMFFI_I_SLOW int tvmffi_i_is_alias(const TVMFFITypeInfo *type,
                                    const TVMFFIFieldInfo *field) {
  tvmffi_i_field_walk w = tvmffi_i_walk_fields(type);
  const TVMFFIFieldInfo *other;
  while ((other = tvmffi_i_next_field(&w)) && other != field)
    if (other->offset == field->offset) return 1;
  return 0;
}

/* A copy of an object of the type or one derived from it, which shares what
   the fields hold. The rest is copied as bits. */
static TVMFFIObject *tvmffi_i_copy_object(const TVMFFIObject *from,
                                          const TVMFFITypeInfo *type,
                                          size_t size) {
  TVMFFIObject *o = (TVMFFIObject *)tvmffi_i_object(size, type->type_index,
                                                    tvmffi_i_delete_fields);
  tvmffi_i_field_walk w = tvmffi_i_walk_fields(type);
  const TVMFFIFieldInfo *field;
  int64_t end = 0;
  if (!o) return o;
  memcpy((void *)(o + 1), (const void *)(from + 1), size - sizeof(*o));
  while ((field = tvmffi_i_next_field(&w))) {
    tvmffi_i_storage storage = tvmffi_i_storage_of(field);
    TVMFFIObject *held = NULL;
    const void *at = tvmffi_i_at(o, field);
    if (storage == TVMFFI_I_FIELD_PLAIN) continue;
    if (storage == TVMFFI_I_FIELD_REFERENCE)
      held = *(TVMFFIObject *const *)at;
    else if (((const TVMFFIAny *)at)->type_index >= kTVMFFIStaticObjectBegin)
      held = ((const TVMFFIAny *)at)->v_obj;
    if (held && (field->offset >= end || !tvmffi_i_is_alias(type, field)))
      tvmffi_retain(held);
    if (field->offset + field->size > end) end = field->offset + field->size;
  }
  return o;
}

static int tvmffi_i_bad_cast(const TVMFFIAny *value, const char *to) {
  return tvmffi_i_fail("TypeError", "Cannot convert from type `%s` to `%s`",
                       tvmffi_i_type_key(value->type_index), to);
}

/* Getters and setters. A setter may be given what the field holds. */
static int tvmffi_i_get_any_field(void *field, TVMFFIAny *result) {
  return TVMFFIAnyViewToOwnedAny((const TVMFFIAny *)field, result);
}

static int tvmffi_i_set_any_field(void *field, const TVMFFIAny *value) {
  TVMFFIAny *any = (TVMFFIAny *)field, old = *any;
  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(value, any));
  tvmffi_any_release(&old);
  return 0;
}

static int tvmffi_i_get_reference(void *field, TVMFFIAny *result) {
  *result = tvmffi_obj(*(TVMFFIObject **)field);
  if (result->v_obj) tvmffi_retain(result->v_obj);
  return 0;
}

/* Puts an object, or NULL for None, into a field. */
static void tvmffi_i_put_reference(void *field, const TVMFFIAny *value) {
  TVMFFIObject *old = *(TVMFFIObject **)field;
  TVMFFIObject *held = value->type_index == kTVMFFINone ? NULL : value->v_obj;
  if (held) tvmffi_retain(held);
  *(TVMFFIObject **)field = held;
  tvmffi_release(old);
}

static int tvmffi_i_set_reference(void *field, const TVMFFIAny *value) {
  if (value->type_index != kTVMFFINone &&
      (value->type_index < kTVMFFIStaticObjectBegin || !value->v_obj))
    return tvmffi_i_bad_cast(value, "ffi.Object");
  tvmffi_i_put_reference(field, value);
  return 0;
}

/* The plain fields: `word` is one of >>interface/word. */
#define TVMFFI_I_PLAIN_FIELD(word)                                            \
  static int tvmffi_i_get_##word##_field(void *field, TVMFFIAny *result) {    \
    return tvmffi_i_put_##word(result, *(tvmffi_type_##word *)field);         \
  }                                                                           \
  static int tvmffi_i_set_##word##_field(void *field,                         \
                                         const TVMFFIAny *value) {            \
    tvmffi_type_##word got;                                                   \
    int code = tvmffi_i_get_##word(value, &got);                              \
    if (code >= TVMFFI_I_RANGE)                                               \
      return tvmffi_i_fail("OverflowError", "%lld does not fit in the field", \
                           (long long)value->v_int64);                        \
    if (code > 0) return tvmffi_i_bad_cast(value, tvmffi_i_name_##word.name); \
    if (!code) *(tvmffi_type_##word *)field = got;                            \
    return code;                                                              \
  }
TVMFFI_I_PLAIN_FIELD(int64)
TVMFFI_I_PLAIN_FIELD(int32)
TVMFFI_I_PLAIN_FIELD(bool)
TVMFFI_I_PLAIN_FIELD(ptr)
TVMFFI_I_PLAIN_FIELD(dtype)
TVMFFI_I_PLAIN_FIELD(device)
#if !TVMFFI_NO_FLOAT
TVMFFI_I_PLAIN_FIELD(float64)
#endif
#endif
