/* ======== Type members =================================== >>core/type_member
   fields, methods and metadata of types */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/mismatch.h"
#include "../interface/class.h"
#include "../platform/libc.h"
#include "../platform/thread.h"
#include "../platform/memory.h"
#include "../platform/text.h"
#include "raise.h"
#include "type_table.h"

/* Replaces the texts of a field or method by copies in one block, each with a
   NUL. `*memory` is the block. Empty texts become {NULL, 0}; if all are empty,
   `*memory` is NULL. */
static int tvmffi_i_own_texts(TVMFFIByteArray *name, TVMFFIByteArray *doc,
                              TVMFFIByteArray *metadata, void **memory) {
  TVMFFIByteArray *texts[3];
  size_t size = 0;
  char *to = NULL;
  int i;
  texts[0] = name;
  texts[1] = doc;
  texts[2] = metadata;
  for (i = 0; i < 3; ++i)
    if (texts[i]->size) size += texts[i]->size + 1;
  if (size) {
    to = (char *)tvmffi_i_alloc(size);
    if (!to) return tvmffi_i_no_memory();
  }
  *memory = to;
  for (i = 0; i < 3; ++i) {
    texts[i]->data = texts[i]->size ? tvmffi_i_copy_text(to, *texts[i]) : NULL;
    if (texts[i]->size) to += texts[i]->size + 1;
  }
  return 0;
}

static int tvmffi_i_same_any(const TVMFFIAny *a, const TVMFFIAny *b) {
  return a->type_index == b->type_index && a->zero_padding == b->zero_padding &&
         a->v_uint64 == b->v_uint64;
}

/* Copies an array to a larger one of `wanted` elements. Does not free the old
   array, because a reader may still use it. The copy ends with the old array's
   address for leak checkers. Needs the mutex. */
static void *tvmffi_i_enlarge(const void *array, size_t element, int32_t count,
                              int32_t wanted) {
  size_t size = (size_t)wanted * element;
  char *copy = (char *)tvmffi_i_alloc(size + sizeof(array));
  if (!copy) return copy;
  if (count) memcpy(copy, array, (size_t)count * element);
  memcpy(copy + size, &array, sizeof(array));
  return copy;
}

/* Returns `array`, or a larger copy if it is full, or NULL if out of memory.
   Does not free the old array. */
static void *tvmffi_i_grow(const void *array, size_t element, int32_t count,
                           int32_t *capacity) {
  int32_t wanted = *capacity ? *capacity * 2 : 4;
  void *copy;
  if (count < *capacity) return (void *)array;
  copy = tvmffi_i_enlarge(array, element, count, wanted);
  if (copy) *capacity = wanted;
  return copy;
}

/* Returns 0 if a field's name is new, 1 if the same field is registered, 2 if
   another field has the name. */
static int tvmffi_i_compare_field(const tvmffi_i_type *t,
                                  const TVMFFIFieldInfo *f) {
  int32_t i;
  for (i = 0; i < t->info.num_fields; ++i) {
    const TVMFFIFieldInfo *g = &t->info.fields[i];
    if (tvmffi_i_same_text(f->name, g->name))
      return f->offset == g->offset && f->size == g->size &&
                     f->flags == g->flags && f->getter == g->getter &&
                     f->setter == g->setter
                 ? 1
                 : 2;
  }
  return 0;
}

/* Prints upstream's warning if an ancestor's field has the same name. */
static void tvmffi_i_warn_hidden(const tvmffi_i_type *t,
                                 const TVMFFIFieldInfo *f) {
#if TVMFFI_NO_STDIO
  (void)t, (void)f;
#else
  int32_t depth, i;
  for (depth = 0; depth < t->info.type_depth; ++depth) {
    const TVMFFITypeInfo *a = t->info.type_ancestors[depth];
    int32_t n = TVMFFI_I_LOAD(&a->num_fields);
    const TVMFFIFieldInfo *fields = TVMFFI_I_LOAD(&a->fields);
    for (i = 0; i < n; ++i)
      if (tvmffi_i_same_text(fields[i].name, f->name))
        (void)fprintf(
            stderr,
            "[WARNING] Field \"%.*s\" in type \"%s\" duplicates an ancestor "
            "field in \"%s\". Child types should not re-register inherited "
            "fields.\n",
            TVMFFI_I_TEXT(f->name), t->info.type_key.data, a->type_key.data);
  }
#endif
}

/* How a field is stored: as plain bits, as an Any, or as an object pointer,
   which may be NULL. */
typedef enum {
  TVMFFI_I_FIELD_PLAIN,
  TVMFFI_I_FIELD_ANY,
  TVMFFI_I_FIELD_REFERENCE
} tvmffi_i_storage;

/* Returns how a field is stored, by type index and size. The index alone is not
   enough: upstream's headers declare a std::optional as Any, and a std::vector
   as an array. */
TVMFFI_I_INLINE tvmffi_i_storage
tvmffi_i_storage_of(const TVMFFIFieldInfo *field) {
  int32_t index = field->field_static_type_index;
  if (index != kTVMFFIAny && index < kTVMFFIStaticObjectBegin)
    return TVMFFI_I_FIELD_PLAIN;
  if (field->size == (int64_t)sizeof(void *)) return TVMFFI_I_FIELD_REFERENCE;
  return index == kTVMFFIAny && field->size == (int64_t)sizeof(TVMFFIAny)
             ? TVMFFI_I_FIELD_ANY
             : TVMFFI_I_FIELD_PLAIN;
}

/* Returns 1 if a field lies within an object of `size` bytes (0: unknown), else
   0. The offset may be negative: a C++ object may begin before its header. A
   field of size 0 is computed by its getter. */
static int tvmffi_i_is_within(const TVMFFIFieldInfo *f, int32_t size) {
  return !size || !f->size ||
         (f->offset >= (int64_t)sizeof(TVMFFIObject) - size &&
          f->offset + f->size <= size);
}

/* Returns 1 if a field lies within an object of `size` bytes and behind the
   object's header, else 0. */
static int tvmffi_i_is_behind_header(const TVMFFIFieldInfo *f, int32_t size) {
  return tvmffi_i_is_within(f, size) &&
         (!f->size || f->offset >= (int64_t)sizeof(TVMFFIObject));
}

/* Returns the fault of a new field, such as "has no name", or NULL. */
static const char *tvmffi_i_field_fault(const tvmffi_i_type *t,
                                        const TVMFFIFieldInfo *f) {
  const TVMFFITypeMetadata *metadata = TVMFFI_I_LOAD(&t->info.metadata);
  if (!f->name.size) return "has no name";
  if (!f->getter) return "has no getter";
  if ((f->flags & kTVMFFIFieldFlagBitMaskWritable) && !f->setter)
    return "is writable and has no setter";
  if (f->alignment < 0 || (f->alignment & (f->alignment - 1)))
    return "has an alignment that is no power of 2";
  if (f->size < 0 || f->size > INT32_MAX || f->offset < -INT32_MAX ||
      f->offset > INT32_MAX ||
      (t->made_size && !tvmffi_i_is_behind_header(f, t->made_size)) ||
      (metadata && !tvmffi_i_is_within(f, metadata->total_size)))
    return "is outside the object";
  if (t->made_size && tvmffi_i_storage_of(f) != TVMFFI_I_FIELD_PLAIN)
    return "has a reference type, but the layout of its type is fixed";
  return NULL;
}

/* Adds a field to its type. Returns 0 if added, 1 if the same field is
   registered, 2 if another field has the name, 3 if the field is invalid, -1 if
   out of memory. Needs the mutex. */
static int tvmffi_i_enter_field(tvmffi_i_type *t, const TVMFFIFieldInfo *f) {
  TVMFFIFieldInfo *fields;
  int found = tvmffi_i_compare_field(t, f);
  if (found) return found;
  if (tvmffi_i_field_fault(t, f)) return 3;
  fields = (TVMFFIFieldInfo *)tvmffi_i_grow(
      t->info.fields, sizeof(*f), t->info.num_fields, &t->field_capacity);
  if (!fields) return -1;
  if (f->flags & kTVMFFIFieldFlagBitSetterIsFunctionObj)
    tvmffi_retain(f->setter);
  fields[t->info.num_fields] = *f;
  TVMFFI_I_STORE(&t->info.fields, fields);
  TVMFFI_I_STORE(&t->info.num_fields, t->info.num_fields + 1);
  return 0;
}

/* Ends a registration after the mutex is unlocked. Frees the copies of the
   arguments if nothing was registered. Raises an error for a conflict. */
static int tvmffi_i_end_register(int result, void *memory, TVMFFIAny *value,
                                 const char *what, const TVMFFIByteArray *name,
                                 const tvmffi_i_type *t) {
  if (!result) return 0;
  tvmffi_i_free(memory);
  tvmffi_any_release(value);
  if (result < 0) return tvmffi_i_no_memory();
  if (result == 1) return 0;
  return tvmffi_i_fail("InternalError",
                       "Duplicate %s name \"%.*s\" in type \"%s\"", what,
                       TVMFFI_I_TEXT(*name), t->info.type_key.data);
}

int TVMFFITypeRegisterField(int32_t type_index, const TVMFFIFieldInfo *info) {
  tvmffi_i_type *t;
  TVMFFIFieldInfo field;
  TVMFFIAny value = tvmffi_none();
  void *memory = NULL;
  int result;
  TVMFFI_I_NOT_NULL(info);
  TVMFFI_I_BYTES(&info->name);
  TVMFFI_I_BYTES(&info->doc);
  TVMFFI_I_BYTES(&info->metadata);
  if (info->flags & kTVMFFIFieldFlagBitSetterIsFunctionObj)
    TVMFFI_I_CHECK(info->setter, kTVMFFIFunction);
  t = tvmffi_i_type_or_fail(type_index);
  if (!t) return -1;
  if (info->flags & kTVMFFIFieldFlagBitMaskHasDefault)
    TVMFFI_TRY(
        TVMFFIAnyViewToOwnedAny(&info->default_value_or_factory, &value));
  field = *info;
  if (tvmffi_i_own_texts(&field.name, &field.doc, &field.metadata, &memory)) {
    tvmffi_any_release(&value);
    return -1;
  }
  field.default_value_or_factory = value;
  tvmffi_i_lock();
  result = tvmffi_i_enter_field(t, &field);
  tvmffi_i_unlock();
  if (!result) tvmffi_i_warn_hidden(t, &field);
  if (result != 3)
    return tvmffi_i_end_register(result, memory, &value, "field", &info->name,
                                 t);
  tvmffi_i_free(memory);
  tvmffi_any_release(&value);
  return tvmffi_i_fail("ValueError", "Field `%.*s` of type `%s` %s",
                       TVMFFI_I_TEXT(info->name), t->info.type_key.data,
                       tvmffi_i_field_fault(t, info));
}

/* Adds a method to its type. Returns 0 if added, 1 if the same method is
   registered, 2 if another function has the name, -1 if out of memory. An
   overloaded method has one entry per signature, all with one function. Needs
   the mutex. */
static int tvmffi_i_enter_method(tvmffi_i_type *t, const TVMFFIMethodInfo *m) {
  TVMFFIMethodInfo *methods;
  int32_t i;
  for (i = 0; i < t->info.num_methods; ++i)
    if (tvmffi_i_same_text(t->info.methods[i].name, m->name)) {
      const TVMFFIMethodInfo *had = &t->info.methods[i];
      if (!tvmffi_i_same_any(&had->method, &m->method)) return 2;
      if (tvmffi_i_same_text(had->metadata, m->metadata)) return 1;
    }
  methods = (TVMFFIMethodInfo *)tvmffi_i_grow(
      t->info.methods, sizeof(*m), t->info.num_methods, &t->method_capacity);
  if (!methods) return -1;
  methods[t->info.num_methods] = *m;
  TVMFFI_I_STORE(&t->info.methods, methods);
  TVMFFI_I_STORE(&t->info.num_methods, t->info.num_methods + 1);
  return 0;
}

/* Raises an error unless the texts are valid and the method is a function. */
static int tvmffi_i_check_method(const char *function,
                                 const TVMFFIMethodInfo *info) {
  static const char *const what[] = {"info->name", "info->doc",
                                     "info->metadata"};
  const TVMFFIByteArray *texts[3];
  int i;
  if (!info) return tvmffi_i_null(function, "info");
  texts[0] = &info->name;
  texts[1] = &info->doc;
  texts[2] = &info->metadata;
  for (i = 0; i < 3; ++i)
    if (!tvmffi_i_is_bytes(texts[i]))
      return tvmffi_i_bad_bytes(function, what[i], texts[i]);
  if (info->method.type_index < kTVMFFIStaticObjectBegin)
    return tvmffi_i_fail("TypeError",
                         "Cannot convert from type `%s` to `ffi.Function`",
                         tvmffi_i_type_key(info->method.type_index));
  return tvmffi_i_check_type(function, "info->method", info->method.v_obj,
                             kTVMFFIFunction);
}

int TVMFFITypeRegisterMethod(int32_t type_index, const TVMFFIMethodInfo *info) {
  tvmffi_i_type *t;
  TVMFFIMethodInfo method;
  void *memory = NULL;
  int result;
  TVMFFI_TRY(tvmffi_i_check_method(__func__, info));
  t = tvmffi_i_type_or_fail(type_index);
  if (!t) return -1;
  method = *info;
  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(&info->method, &method.method));
  if (tvmffi_i_own_texts(&method.name, &method.doc, &method.metadata,
                         &memory)) {
    tvmffi_any_release(&method.method);
    return -1;
  }
  tvmffi_i_lock();
  result = tvmffi_i_enter_method(t, &method);
  tvmffi_i_unlock();
  return tvmffi_i_end_register(result, memory, &method.method, "method",
                               &info->name, t);
}

/* Copies metadata and its text into one permanent block. Returns NULL if out of
   memory. */
static TVMFFITypeMetadata *tvmffi_i_copy_metadata(
    const TVMFFITypeMetadata *from) {
  size_t size = from->doc.size;
  TVMFFITypeMetadata *to =
      (TVMFFITypeMetadata *)tvmffi_i_alloc(sizeof(*to) + size + !!size);
  if (!to) return to;
  *to = *from;
  to->doc.data =
      size ? tvmffi_i_copy_text((char *)(to + 1), from->doc) : NULL;
  return to;
}

/* Returns a field of the type or of an ancestor that lies outside an object of
   `size` bytes, or NULL. */
static const TVMFFIFieldInfo *tvmffi_i_find_outside(const TVMFFITypeInfo *type,
                                                    int32_t size) {
  int32_t depth, i, n;
  for (depth = type->type_depth; depth >= 0; --depth) {
    const TVMFFIFieldInfo *fields =
        tvmffi_i_fields_of(tvmffi_i_ancestor(type, depth), &n);
    for (i = 0; i < n; ++i)
      if (!tvmffi_i_is_within(&fields[i], size)) return &fields[i];
  }
  return NULL;
}

/* Raises an error for a field that does not fit in `size` bytes. `how` is the
   verb of the message, such as "is not within". */
TVMFFI_I_COLD int tvmffi_i_bad_extent(const TVMFFITypeInfo *type,
                                      const TVMFFIFieldInfo *field,
                                      const char *how, int32_t size) {
  return tvmffi_i_fail(
      "ValueError", "Field `%.*s` of type `%s` %s its %d bytes",
      TVMFFI_I_TEXT(field->name), type->type_key.data, how, size);
}

int TVMFFITypeRegisterMetadata(int32_t type_index,
                               const TVMFFITypeMetadata *metadata) {
  tvmffi_i_type *t;
  const TVMFFITypeMetadata *had;
  TVMFFI_I_NOT_NULL(metadata);
  TVMFFI_I_BYTES(&metadata->doc);
  t = tvmffi_i_type_or_fail(type_index);
  if (!t) return -1;
  had = TVMFFI_I_LOAD(&t->info.metadata);
  if (!had) {
    const int32_t size = metadata->total_size;
    const TVMFFIFieldInfo *outside = NULL;
    TVMFFITypeMetadata *copy;
    if (size && size < (int32_t)sizeof(TVMFFIObject))
      return tvmffi_i_fail("ValueError", "Type `%s` cannot have size %d",
                           t->info.type_key.data, size);
    copy = tvmffi_i_copy_metadata(metadata);
    if (!copy) return tvmffi_i_no_memory();
    tvmffi_i_lock();
    had = t->info.metadata;
    if (!had) outside = tvmffi_i_find_outside(&t->info, size);
    if (!had && !outside) TVMFFI_I_STORE(&t->info.metadata, copy);
    tvmffi_i_unlock();
    if (!had && !outside) return 0;
    tvmffi_i_free(copy);
    if (outside)
      return tvmffi_i_bad_extent(&t->info, outside, "is not within", size);
  }
  if (had->creator == metadata->creator &&
      had->total_size == metadata->total_size &&
      had->structural_eq_hash_kind == metadata->structural_eq_hash_kind)
    return 0;
  return tvmffi_i_fail(
      "RuntimeError",
      "Overriding %s, possible causes:\n"
      "- two ObjectDef<T>() calls for the same T \n"
      "- when we forget to assign _type_key to ObjectRef<Y> that inherits from "
      "T\n"
      "- another type with the same key is already registered\n"
      "Cross check the reflection registration.",
      t->info.type_key.data);
}
