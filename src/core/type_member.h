/* ======== Type members =================================== >>core/type_member
   fields, methods and metadata of types */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "raise.h"
#include "type_table.h"

/* Replaces the texts of a field or method by copies in one block, each with a
   NUL. `*memory` is the block. Empty texts become {NULL, 0}; if all are empty,
   `*memory` is NULL. */
static int tvmffi_i_own_texts(TVMFFIByteArray *name, TVMFFIByteArray *doc,
                              TVMFFIByteArray *metadata, void **memory) {
  TVMFFIByteArray *texts[3] = {name, doc, metadata};
  size_t size = 0;
  char *to = NULL;
  int i;
  TVMFFI_ASSERT(!*memory);
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
  TVMFFI_ASSERT(to == (*memory ? (char *)*memory + size : NULL));
  return 0;
}

static int tvmffi_i_same_any(const TVMFFIAny *a, const TVMFFIAny *b) {
  return a->type_index == b->type_index && a->zero_padding == b->zero_padding &&
         a->v_uint64 == b->v_uint64;
}

/* Copies an array to a larger one of `wanted` elements. Does not free the old
   array, because a reader may still use it. After the elements, the copy has
   the old array's address for leak checkers, and `more` bytes. */
static void *tvmffi_i_enlarge(const void *array, size_t element, int32_t count,
                              int32_t wanted, size_t more) {
  size_t size = (size_t)wanted * element;
  char *copy = (char *)tvmffi_i_alloc(size + sizeof(array) + more);
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED);
  TVMFFI_ASSERT(wanted > count && (array || !count));
  if (!copy) return copy;
  if (count) memcpy(copy, array, (size_t)count * element);
  memcpy(copy + size, &array, sizeof(array));
  return copy;
}

/* -------- Names of fields and methods -------- */

/* The fields or methods of a type. The array of `capacity` elements is followed
   by an index: a hash table of 2 * capacity slots, searched by linear probing.
   A slot is the number of an element + 1, or 0 if it is empty. The static array
   of a built-in type has the capacity 0 and no index. */
typedef struct {
  const void *array;
  size_t element; /* size of one */
  int32_t count, capacity;
} tvmffi_i_members;

/* The first members of TVMFFIFieldInfo and TVMFFIMethodInfo. */
typedef struct {
  TVMFFIByteArray name, doc, metadata;
} tvmffi_i_member_texts;
TVMFFI_STATIC_ASSERT(offsetof(TVMFFIFieldInfo, metadata) ==
                             offsetof(tvmffi_i_member_texts, metadata) &&
                         offsetof(TVMFFIMethodInfo, metadata) ==
                             offsetof(tvmffi_i_member_texts, metadata),
                     members_begin_with_texts);

/* Marks the slot of a member whose name another slot already has: a further
   signature of a method. The marked slots are searched by name and metadata,
   the others by name. */
#define TVMFFI_I_FURTHER_SIGNATURE ((uint32_t)1 << 31)

TVMFFI_I_INLINE const tvmffi_i_member_texts *tvmffi_i_member_at(
    const tvmffi_i_members *m, int32_t i) {
  TVMFFI_ASSERT(i >= 0 && i < m->count);
  return (const tvmffi_i_member_texts *)(const void *)((const char *)m->array +
                                                       (size_t)i * m->element);
}

/* Returns the slot of the member `name`. If `metadata` is not NULL, returns the
   slot of a further signature, which has this name and metadata. Returns an
   empty slot if there is none. */
static uint32_t *tvmffi_i_member_slot(const tvmffi_i_members *m,
                                      const TVMFFIByteArray *name,
                                      const TVMFFIByteArray *metadata) {
  const uint32_t mark = metadata ? TVMFFI_I_FURTHER_SIGNATURE : 0;
  const uint32_t num_slots = 2 * (uint32_t)m->capacity;
  uint32_t *index = (uint32_t *)(void *)((char *)(uintptr_t)m->array +
                                         (size_t)m->capacity * m->element +
                                         sizeof(m->array));
  const TVMFFIByteArray *text = name;
  uint32_t hash = 0;
  size_t i;
  TVMFFI_ASSERT(m->count <= m->capacity && m->capacity > 0);
  do hash = hash * 0x9E3779B1u + tvmffi_i_hash(text->data, text->size);
  while (text != metadata && (text = metadata) != NULL);
  for (i = hash % num_slots; index[i]; i = (i + 1) % num_slots) {
    const int32_t at = (int32_t)(index[i] & ~TVMFFI_I_FURTHER_SIGNATURE) - 1;
    const tvmffi_i_member_texts *had = tvmffi_i_member_at(m, at);
    if ((index[i] & TVMFFI_I_FURTHER_SIGNATURE) == mark &&
        tvmffi_i_same_text(had->name, *name) &&
        (!metadata || tvmffi_i_same_text(had->metadata, *metadata)))
      break;
  }
  return &index[i];
}

/* Returns the number of the first member with this name, or -1. With
   `metadata`, returns the number of a further member with both, or -1, because
   a static array has no name twice. */
static int32_t tvmffi_i_member_number(const tvmffi_i_members *m,
                                      const TVMFFIByteArray *name,
                                      const TVMFFIByteArray *metadata) {
  int32_t i;
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED);
  if (m->capacity)
    return (int32_t)(*tvmffi_i_member_slot(m, name, metadata) &
                     ~TVMFFI_I_FURTHER_SIGNATURE) -
           1;
  for (i = 0; i < m->count && !metadata; ++i)
    if (tvmffi_i_same_text(tvmffi_i_member_at(m, i)->name, *name)) return i;
  return -1;
}

static void tvmffi_i_index_member(const tvmffi_i_members *m, int32_t i) {
  const tvmffi_i_member_texts *texts = tvmffi_i_member_at(m, i);
  uint32_t *slot = tvmffi_i_member_slot(m, &texts->name, NULL), mark = 0;
  if (*slot) {
    mark = TVMFFI_I_FURTHER_SIGNATURE;
    slot = tvmffi_i_member_slot(m, &texts->name, &texts->metadata);
  }
  TVMFFI_ASSERT(!*slot);
  *slot = ((uint32_t)i + 1) | mark;
}

/* Appends a member. If the array is full, replaces it by a larger copy with an
   index, and does not free it. Returns 0, or -1 if out of memory. */
static int tvmffi_i_add_member(tvmffi_i_members *m, const void *member) {
  TVMFFI_ASSERT(m->count <= m->capacity || !m->capacity);
  if (m->count >= m->capacity) {
    const int32_t wanted = m->count ? m->count * 2 : 2;
    const size_t bytes = 2 * (size_t)wanted * sizeof(uint32_t);
    void *copy =
        tvmffi_i_enlarge(m->array, m->element, m->count, wanted, bytes);
    int32_t i;
    if (!copy) return -1;
    memset((char *)copy + (size_t)wanted * m->element + sizeof(copy), 0, bytes);
    m->array = copy;
    m->capacity = wanted;
    for (i = 0; i < m->count; ++i) tvmffi_i_index_member(m, i);
  }
  TVMFFI_ASSERT(m->count < m->capacity);
  memcpy((char *)(uintptr_t)m->array + (size_t)m->count * m->element, member,
         m->element);
  tvmffi_i_index_member(m, m->count++);
  return 0;
}

static tvmffi_i_members tvmffi_i_type_fields(const tvmffi_i_type *t) {
  const tvmffi_i_members m = {t->info.fields, sizeof(*t->info.fields),
                              t->info.num_fields, t->field_capacity};
  return m;
}

static tvmffi_i_members tvmffi_i_type_methods(const tvmffi_i_type *t) {
  const tvmffi_i_members m = {t->info.methods, sizeof(*t->info.methods),
                              t->info.num_methods, t->method_capacity};
  return m;
}

/* -------- Fields -------- */

/* Returns 0 if a field's name is new, 1 if the same field is registered, 2 if
   another field has the name. */
static int tvmffi_i_compare_field(const tvmffi_i_members *m,
                                  const TVMFFIFieldInfo *f) {
  const int32_t i = tvmffi_i_member_number(m, &f->name, NULL);
  const TVMFFIFieldInfo *g;
  if (i < 0) return 0;
  g = (const TVMFFIFieldInfo *)m->array + i;
  return f->offset == g->offset && f->size == g->size && f->flags == g->flags &&
                 f->getter == g->getter && f->setter == g->setter
             ? 1
             : 2;
}

/* Prints upstream's warning if an ancestor's field has the same name. */
static void tvmffi_i_warn_hidden(const tvmffi_i_type *t,
                                 const TVMFFIFieldInfo *f) {
#if TVMFFI_NO_STDIO
  (void)t, (void)f;
#else
  int32_t depth;
  for (depth = 0; depth < t->info.type_depth; ++depth) {
    const TVMFFITypeInfo *a = t->info.type_ancestors[depth];
    tvmffi_i_members fields;
    int32_t found;
    TVMFFI_ASSERT(a->type_depth == depth);
    if (!TVMFFI_I_LOAD(&a->num_fields)) continue;
    tvmffi_i_lock();
    fields = tvmffi_i_type_fields((const tvmffi_i_type *)(const void *)a);
    found = tvmffi_i_member_number(&fields, &f->name, NULL);
    tvmffi_i_unlock();
    if (found < 0) continue;
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
  TVMFFI_ASSERT(size >= 0 && f->size >= 0);
  return !size || !f->size ||
         (f->offset >= (int64_t)sizeof(TVMFFIObject) - size &&
          f->offset + f->size <= size);
}

/* Returns 1 if a field lies within an object of `size` bytes and after the
   object's header, else 0. */
static int tvmffi_i_is_behind_header(const TVMFFIFieldInfo *f, int32_t size) {
  return tvmffi_i_is_within(f, size) &&
         (!f->size || f->offset >= (int64_t)sizeof(TVMFFIObject));
}

/* Returns the fault of a new field, such as "has no name", or NULL. */
static const char *tvmffi_i_field_fault(const tvmffi_i_type *t,
                                        const TVMFFIFieldInfo *f) {
  const TVMFFITypeMetadata *metadata = TVMFFI_I_LOAD(&t->info.metadata);
  TVMFFI_ASSERT(t->made_size >= 0);
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
   out of memory. */
static int tvmffi_i_enter_field(tvmffi_i_type *t, const TVMFFIFieldInfo *f) {
  tvmffi_i_members m = tvmffi_i_type_fields(t);
  int found = tvmffi_i_compare_field(&m, f);
  if (found) return found;
  if (tvmffi_i_field_fault(t, f)) return 3;
  if (tvmffi_i_add_member(&m, f)) return -1;
  if (f->flags & kTVMFFIFieldFlagBitSetterIsFunctionObj)
    tvmffi_i_retain(f->setter);
  TVMFFI_ASSERT(m.count == t->info.num_fields + 1);
  t->field_capacity = m.capacity;
  TVMFFI_I_STORE(&t->info.fields, (const TVMFFIFieldInfo *)m.array);
  TVMFFI_I_STORE(&t->info.num_fields, m.count);
  return 0;
}

/* Ends a registration after the mutex is unlocked. Frees the copies of the
   arguments if nothing was registered. Raises an error for a conflict, but not
   for an invalid field. */
static int tvmffi_i_end_register(int result, void *memory, TVMFFIAny *value,
                                 const char *what, const TVMFFIByteArray *name,
                                 const tvmffi_i_type *t) {
  TVMFFI_ASSERT(TVMFFI_I_IS_FREE && result >= -1 && result <= 3);
  if (!result) return 0;
  tvmffi_i_free(memory);
  tvmffi_i_any_release(value);
  if (result < 0) return tvmffi_i_no_memory();
  if (result != 2) return 0;
  return tvmffi_i_internal_error("Duplicate %s name \"%.*s\" in type \"%s\"",
                                 what, TVMFFI_I_TEXT(*name),
                                 t->info.type_key.data);
}

int TVMFFITypeRegisterField(int32_t type_index, const TVMFFIFieldInfo *info) {
  tvmffi_i_type *t;
  TVMFFIFieldInfo field;
  TVMFFIAny value = tvmffi_none();
  void *memory = NULL;
  int result, code;
  TVMFFI_I_NOT_NULL(info);
  TVMFFI_I_CHECK_BYTES(&info->name);
  TVMFFI_I_CHECK_BYTES(&info->doc);
  TVMFFI_I_CHECK_BYTES(&info->metadata);
  if (info->flags & kTVMFFIFieldFlagBitSetterIsFunctionObj)
    TVMFFI_I_CHECK(info->setter, kTVMFFIFunction);
  t = tvmffi_i_type_or_fail(type_index);
  if (!t) return -1;
  if (info->flags & kTVMFFIFieldFlagBitMaskHasDefault)
    TVMFFI_TRY(
        TVMFFIAnyViewToOwnedAny(&info->default_value_or_factory, &value));
  field = *info;
  if (tvmffi_i_own_texts(&field.name, &field.doc, &field.metadata, &memory)) {
    tvmffi_i_any_release(&value);
    return -1;
  }
  field.default_value_or_factory = value;
  tvmffi_i_lock();
  result = tvmffi_i_enter_field(t, &field);
  tvmffi_i_unlock();
  if (!result) tvmffi_i_warn_hidden(t, &field);
  code = tvmffi_i_end_register(result, memory, &value, "field", &info->name, t);
  if (result != 3) return code;
  TVMFFI_ASSERT(tvmffi_i_field_fault(t, info));
  return tvmffi_i_value_error("Field `%.*s` of type `%s` %s",
                              TVMFFI_I_TEXT(info->name), t->info.type_key.data,
                              tvmffi_i_field_fault(t, info));
}

/* -------- Methods -------- */

/* Adds a method to its type. Returns 0 if added, 1 if the same method is
   registered, 2 if another function has the name, -1 if out of memory. An
   overloaded method has one entry per signature, all with one function. */
static int tvmffi_i_enter_method(tvmffi_i_type *t, const TVMFFIMethodInfo *m) {
  tvmffi_i_members all = tvmffi_i_type_methods(t);
  int32_t i = tvmffi_i_member_number(&all, &m->name, NULL);
  if (i >= 0) {
    const TVMFFIMethodInfo *had = &t->info.methods[i];
    if (!tvmffi_i_same_any(&had->method, &m->method)) return 2;
    if (tvmffi_i_same_text(had->metadata, m->metadata) ||
        tvmffi_i_member_number(&all, &m->name, &m->metadata) >= 0)
      return 1;
  }
  if (tvmffi_i_add_member(&all, m)) return -1;
  TVMFFI_ASSERT(all.count == t->info.num_methods + 1);
  t->method_capacity = all.capacity;
  TVMFFI_I_STORE(&t->info.methods, (const TVMFFIMethodInfo *)all.array);
  TVMFFI_I_STORE(&t->info.num_methods, all.count);
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
    return tvmffi_i_bad_cast(&info->method, "ffi.Function");
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
  TVMFFI_TRY(
      tvmffi_i_own_texts(&method.name, &method.doc, &method.metadata, &memory));
  tvmffi_i_retain(method.method.v_obj);
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
  TVMFFI_ASSERT(!from->total_size ||
                from->total_size >= (int32_t)sizeof(TVMFFIObject));
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
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED);
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
  return tvmffi_i_value_error("Field `%.*s` of type `%s` %s its %d bytes",
                              TVMFFI_I_TEXT(field->name), type->type_key.data,
                              how, (int)size);
}

int TVMFFITypeRegisterMetadata(int32_t type_index,
                               const TVMFFITypeMetadata *metadata) {
  tvmffi_i_type *t;
  const TVMFFITypeMetadata *had;
  TVMFFI_I_NOT_NULL(metadata);
  TVMFFI_I_CHECK_BYTES(&metadata->doc);
  t = tvmffi_i_type_or_fail(type_index);
  if (!t) return -1;
  had = TVMFFI_I_LOAD(&t->info.metadata);
  if (!had) {
    const int32_t size = metadata->total_size;
    const TVMFFIFieldInfo *outside = NULL;
    TVMFFITypeMetadata *copy;
    if (size && size < (int32_t)sizeof(TVMFFIObject))
      return tvmffi_i_value_error("Type `%s` cannot have size %d",
                                  t->info.type_key.data, (int)size);
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
  TVMFFI_ASSERT(had);
  if (had->creator == metadata->creator &&
      had->total_size == metadata->total_size &&
      had->structural_eq_hash_kind == metadata->structural_eq_hash_kind)
    return 0;
  return tvmffi_i_runtime_error(
      "Overriding %s, possible causes:\n"
      "- two ObjectDef<T>() calls for the same T \n"
      "- when we forget to assign _type_key to ObjectRef<Y> that inherits from "
      "T\n"
      "- another type with the same key is already registered\n"
      "Cross check the reflection registration.",
      t->info.type_key.data);
}
