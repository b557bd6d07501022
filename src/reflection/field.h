/* ======== Fields ========================================= >>reflection/field
   objects made and ended by their fields */
/* These functions create, copy and destroy objects of built-in types and of
   Python-defined classes, by the registered fields of the type. Lock-free. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../graph.h"

#if !TVMFFI_NO_CONTAINERS
/* Releases and clears the fields of an object. Two fields may share memory:
   `value` of ffi.StrEnum is `_str_index` of ffi.Enum. The second release finds
   a cleared field and does nothing. */
TVMFFI_I_INLINE void tvmffi_i_destroy_fields(void *self, int flags) {
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    const TVMFFIObject *o = (const TVMFFIObject *)self;
    tvmffi_i_field_cursor w =
        tvmffi_i_begin_fields(&tvmffi_i_type_at(o->type_index)->info);
    const TVMFFIFieldInfo *field;
    while ((field = tvmffi_i_next_field(&w))) {
      tvmffi_i_storage storage = tvmffi_i_storage_of(field);
      void *at = tvmffi_i_at(self, field);
      TVMFFI_ASSERT(storage == TVMFFI_I_FIELD_PLAIN ||
                    field->offset >= (int64_t)sizeof(TVMFFIObject));
      if (storage == TVMFFI_I_FIELD_ANY) {
        tvmffi_i_any_release((TVMFFIAny *)at);
      } else if (storage == TVMFFI_I_FIELD_REFERENCE) {
        TVMFFIObject *held = *(TVMFFIObject **)at;
        *(TVMFFIObject **)at = NULL;
        tvmffi_i_release(held);
      }
    }
  }
  tvmffi_i_delete_plain(self, flags);
}
TVMFFI_I_DELETER(fields)

/* Returns an object (owned) whose fields are zero (None, NULL or 0), or NULL
   with the error raised. The type must be registered, because the deleter reads
   the type's fields. */
static TVMFFIObject *tvmffi_i_new_object(int32_t type_index, size_t size) {
  TVMFFIObject *o;
  TVMFFI_ASSERT(size >= sizeof(*o));
  tvmffi_i_start_types();
  TVMFFI_ASSERT(tvmffi_i_type_at(type_index));
  o = (TVMFFIObject *)tvmffi_i_object(size, type_index, tvmffi_i_delete_fields);
  if (o) memset((void *)(o + 1), 0, size - sizeof(*o));
  return o;
}

/* True if an earlier field of the type has the same offset as `field`. */
TVMFFI_I_SLOW int tvmffi_i_is_alias(const TVMFFITypeInfo *type,
                                    const TVMFFIFieldInfo *field) {
  tvmffi_i_field_cursor w = tvmffi_i_begin_fields(type);
  const TVMFFIFieldInfo *other;
  TVMFFI_ASSERT(tvmffi_i_storage_of(field) != TVMFFI_I_FIELD_PLAIN);
  while ((other = tvmffi_i_next_before(&w, field)))
    if (other->offset == field->offset) return 1;
  return 0;
}

/* Returns a shallow copy (owned) of an object of `type` or a derived type, or
   NULL with the error raised. Fields with the same offset hold one reference,
   which is retained once. */
static TVMFFIObject *tvmffi_i_copy_object(const TVMFFIObject *from,
                                          const TVMFFITypeInfo *type,
                                          size_t size) {
  TVMFFIObject *o = (TVMFFIObject *)tvmffi_i_object(size, type->type_index,
                                                    tvmffi_i_delete_fields);
  tvmffi_i_field_cursor w = tvmffi_i_begin_fields(type);
  const TVMFFIFieldInfo *field;
  int64_t end = 0;
  TVMFFI_ASSERT(size >= sizeof(*from));
  TVMFFI_ASSERT(tvmffi_is_instance(from->type_index, type->type_index));
  if (!o) return o;
  memcpy((void *)(o + 1), (const void *)(from + 1), size - sizeof(*o));
  while ((field = tvmffi_i_next_field(&w))) {
    tvmffi_i_storage storage = tvmffi_i_storage_of(field);
    TVMFFIObject *held = NULL;
    const void *at = tvmffi_i_at(o, field);
    if (storage == TVMFFI_I_FIELD_PLAIN) continue;
    TVMFFI_ASSERT(field->offset + field->size <= (int64_t)size);
    if (storage == TVMFFI_I_FIELD_REFERENCE)
      held = *(TVMFFIObject *const *)at;
    else if (((const TVMFFIAny *)at)->type_index >= kTVMFFIStaticObjectBegin)
      held = ((const TVMFFIAny *)at)->v_obj;
    TVMFFI_ASSERT(field->size > 0);
    if (held && (field->offset >= end || !tvmffi_i_is_alias(type, field)))
      tvmffi_i_retain(held);
    if (field->offset + field->size > end) end = field->offset + field->size;
  }
  return o;
}

/* Getters and setters of fields. A setter's `value` may be the field's current
   value, so the old value is released last. */
static int tvmffi_i_get_any_field(void *field, TVMFFIAny *result) {
  return TVMFFIAnyViewToOwnedAny((const TVMFFIAny *)field, result);
}

static int tvmffi_i_set_any_field(void *field, const TVMFFIAny *value) {
  TVMFFIAny *any = (TVMFFIAny *)field, old = *any;
  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(value, any));
  tvmffi_i_any_release(&old);
  return 0;
}

static int tvmffi_i_get_reference(void *field, TVMFFIAny *result) {
  *result = tvmffi_obj(*(TVMFFIObject **)field);
  tvmffi_i_any_retain(result);
  return 0;
}

/* Stores `value` in a field: a new reference to an object, or NULL for None. */
static void tvmffi_i_put_reference(void *field, const TVMFFIAny *value) {
  const int is_none = value->type_index == kTVMFFINone;
  TVMFFI_ASSERT(is_none || value->type_index >= kTVMFFIStaticObjectBegin);
  tvmffi_i_keep(field, is_none ? NULL : value->v_obj);
}

static int tvmffi_i_set_reference(void *field, const TVMFFIAny *value) {
  if (value->type_index != kTVMFFINone &&
      (value->type_index < kTVMFFIStaticObjectBegin || !value->v_obj))
    return tvmffi_i_bad_cast(value, "ffi.Object");
  tvmffi_i_put_reference(field, value);
  return 0;
}

/* Raises the error of a value whose conversion to the type `to` of a field
   returned `code`, unless one is raised already. */
TVMFFI_I_SLOW int tvmffi_i_bad_plain(int code, const TVMFFIAny *value,
                                     const char *to) {
  if (code >= TVMFFI_I_RANGE)
    return tvmffi_i_fail("OverflowError", "%lld does not fit in the field",
                         (long long)value->v_int64);
  return code > 0 ? tvmffi_i_bad_cast(value, to) : code;
}

/* Defines the getter and setter of fields with a plain C type. `word` is a
   parameter type name such as int64. */
#define TVMFFI_I_PLAIN_ACCESSORS(word)                                       \
  static int tvmffi_i_get_##word##_field(void *field, TVMFFIAny *result) {   \
    return tvmffi_i_to_any(&tvmffi_i_word_##word, NULL, result, field);      \
  }                                                                          \
  static int tvmffi_i_set_##word##_field(void *field,                        \
                                         const TVMFFIAny *value) {           \
    int code = tvmffi_i_from_any(&tvmffi_i_word_##word, value, field);       \
    return TVMFFI_I_LIKELY(!code)                                            \
               ? 0                                                           \
               : tvmffi_i_bad_plain(code, value, tvmffi_i_word_##word.name); \
  }
TVMFFI_I_PLAIN_ACCESSORS(int64)
#if !TVMFFI_NO_REFLECTION
TVMFFI_I_PLAIN_ACCESSORS(int32)
#endif
TVMFFI_I_PLAIN_ACCESSORS(bool)
TVMFFI_I_PLAIN_ACCESSORS(ptr)
TVMFFI_I_PLAIN_ACCESSORS(dtype)
TVMFFI_I_PLAIN_ACCESSORS(device)
#if !TVMFFI_NO_FLOAT
TVMFFI_I_PLAIN_ACCESSORS(float64)
#endif
#endif
