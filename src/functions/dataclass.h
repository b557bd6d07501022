/* ======== Data classes ================================= >>functions/dataclass
   types that Python defines */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../graph.h"
#include "../reflection.h"
#include "../interface.h"

#if !TVMFFI_NO_CONTAINERS
/* Context of a function that creates or copies objects of a Python class. */
typedef struct {
  const TVMFFITypeInfo *type;
  size_t size;
} tvmffi_i_layout;

/* Descriptions of __ffi_new__ and __ffi_shallow_copy__ for error messages. The
   names are empty, because upstream's messages have no name there. */
static const tvmffi_i_word *const tvmffi_i_new_types[] = {
    &tvmffi_i_word_object, &tvmffi_i_word_object};
static const tvmffi_func tvmffi_i_py_new = {
    "", NULL, tvmffi_i_new_types, 0 TVMFFI_I_SIGNATURE(NULL, 0, NULL, NULL)};
static const tvmffi_func tvmffi_i_py_copy = {
    "", NULL, tvmffi_i_new_types, 1 TVMFFI_I_SIGNATURE(NULL, 1, NULL, NULL)};

static int tvmffi_i_call_py_new(void *self, const TVMFFIAny *args,
                                int32_t num_args, TVMFFIAny *result) {
  const tvmffi_i_layout *layout = (const tvmffi_i_layout *)self;
  TVMFFIObject *o;
  (void)args;
  if (num_args) return tvmffi_i_bad_call(&tvmffi_i_py_new, num_args, result);
  o = tvmffi_i_new_object(layout->type->type_index, layout->size);
  return tvmffi_i_give_new(result, o);
}

/* Copies the only argument, an object of `type`. Returns 0, -1 with the error
   raised, or TVMFFI_I_MISMATCH for other arguments. */
static int tvmffi_i_copy_arg(const TVMFFITypeInfo *type, size_t size,
                             const TVMFFIAny *args, int32_t num_args,
                             TVMFFIAny *result) {
  TVMFFIObject *o;
  if (num_args != 1 || args->type_index < kTVMFFIStaticObjectBegin ||
      !args->v_obj || !tvmffi_is_instance(args->type_index, type->type_index))
    return TVMFFI_I_MISMATCH;
  o = tvmffi_i_copy_object(args->v_obj, type, size);
  return tvmffi_i_give_new(result, o);
}

static int tvmffi_i_call_py_copy(void *self, const TVMFFIAny *args,
                                 int32_t num_args, TVMFFIAny *result) {
  const tvmffi_i_layout *layout = (const tvmffi_i_layout *)self;
  int code =
      tvmffi_i_copy_arg(layout->type, layout->size, args, num_args, result);
  if (code != TVMFFI_I_MISMATCH) return code;
  return num_args == 1
             ? tvmffi_i_bad_arg(&tvmffi_i_py_copy, 0, args, code)
             : tvmffi_i_bad_call(&tvmffi_i_py_copy, num_args, result);
}

static int tvmffi_i_set_layout(const TVMFFITypeInfo *type, size_t size,
                               const char *name, TVMFFISafeCallType call) {
  tvmffi_i_layout *layout = (tvmffi_i_layout *)tvmffi_i_alloc(sizeof(*layout));
  if (!layout) return tvmffi_i_no_memory();
  layout->type = type;
  layout->size = size;
  return tvmffi_i_set_attr_function(type->type_index, name, layout, call);
}

/* Returns 1 if two fields overlap and one of them is a reference, because
   setting the other field would then overwrite the reference. Otherwise returns
   0. Fields with the same offset and storage may share one reference. */
static int tvmffi_i_overlap(const TVMFFIFieldInfo *a,
                            const TVMFFIFieldInfo *b) {
  const tvmffi_i_storage x = tvmffi_i_storage_of(a), y = tvmffi_i_storage_of(b);
  return a->offset < b->offset + b->size && b->offset < a->offset + a->size &&
         (x != TVMFFI_I_FIELD_PLAIN || y != TVMFFI_I_FIELD_PLAIN) &&
         (a->offset != b->offset || x != y);
}

/* Returns the first field that is not within objects of `size` bytes, is a
   misaligned reference, or overlaps a reference. Sets *why to the reason.
   Returns NULL if all fields are valid. */
static const TVMFFIFieldInfo *tvmffi_i_find_misplaced(
    const TVMFFITypeInfo *type, int32_t size, const char **why) {
  tvmffi_i_field_cursor w = tvmffi_i_begin_fields(type), before;
  const TVMFFIFieldInfo *field, *other;
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED); /* no field is added meanwhile */
  while ((field = tvmffi_i_next_field(&w))) {
    *why = "is not within";
    if (!tvmffi_i_is_behind_header(field, size)) return field;
    *why = "is not aligned in";
    if (tvmffi_i_storage_of(field) != TVMFFI_I_FIELD_PLAIN &&
        field->offset % (int64_t)sizeof(void *))
      return field;
    *why = "overlaps another field in";
    before = tvmffi_i_begin_fields(type);
    while ((other = tvmffi_i_next_field(&before)) != field)
      if (tvmffi_i_overlap(field, other)) return field;
  }
  return NULL;
}

/* Updates made_size: the smallest size of objects that the runtime creates.
   Updates the ancestors too, because an object is also an instance of each
   ancestor. */
static void tvmffi_i_note_made_size(const TVMFFITypeInfo *type, int32_t size) {
  int32_t depth = type->type_depth;
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED);
  TVMFFI_ASSERT(size >= (int32_t)sizeof(TVMFFIObject));
  for (;;) {
    tvmffi_i_type *t = (tvmffi_i_type *)(uintptr_t)type;
    if (!t->made_size || size < t->made_size) t->made_size = size;
    if (--depth <= 0) return;
    type = t->info.type_ancestors[depth];
  }
}

/* Returns 1 if objects of a type can be made by its fields alone, else 0. The
   objects of the runtime's own types have other members as well, and visitors
   and mutators have a vtable, which a derived type has, too. */
static int tvmffi_i_is_by_fields(const TVMFFITypeInfo *type) {
  const tvmffi_i_type *t = (const tvmffi_i_type *)(const void *)type;
  int32_t parent = kTVMFFIObject;
  if (type->type_depth > 1) parent = type->type_ancestors[1]->type_index;
  return (uintptr_t)t - (uintptr_t)tvmffi_i_static_entries >=
             sizeof(tvmffi_i_static_entries) &&
         parent != TVMFFI_I_STRUCTURAL_VISITOR &&
         parent != TVMFFI_I_STRUCTURAL_MUTATOR;
}

/* Sets the attributes __ffi_init__, __ffi_new__ and __ffi_shallow_copy__ of a
   type that Python defines. Objects of the type have `total_size` bytes.
   Register the type's fields before. ValueError for a type of the runtime, if a
   field is outside of an object or overlaps a reference, or if a reference is
   misaligned. */
TVMFFI_I_BUILTIN_FUNC(_PyClassRegisterTypeAttrColumns, none,
                      (int32, type_index), (int32, total_size)) {
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(type_index);
  const TVMFFIFieldInfo *field;
  const char *why;
  size_t size = (size_t)total_size;
  if (!type) return -1;
  if (!tvmffi_i_is_by_fields(type))
    return tvmffi_i_value_error(
        "Objects of type `%s` cannot be made by their fields",
        type->type_key.data);
  if (total_size < (int32_t)sizeof(TVMFFIObject))
    return tvmffi_i_value_error("Type `%s` cannot have size %d",
                                type->type_key.data, (int)total_size);
  tvmffi_i_lock();
  field = tvmffi_i_find_misplaced(type, total_size, &why);
  if (!field) tvmffi_i_note_made_size(type, total_size);
  tvmffi_i_unlock();
  if (field) return tvmffi_i_bad_extent(type, field, why, total_size);
  TVMFFI_TRY(tvmffi_i_set_init(type_index));
  TVMFFI_TRY(
      tvmffi_i_set_layout(type, size, "__ffi_new__", tvmffi_i_call_py_new));
  return tvmffi_i_set_layout(type, size, "__ffi_shallow_copy__",
                             tvmffi_i_call_py_copy);
}

/* Returns the index of the unused argument with this name, or -1. */
static int32_t tvmffi_i_find_name(const TVMFFIAny *args, int32_t num_args,
                                  const unsigned char *used,
                                  TVMFFIByteArray name) {
  int32_t i;
  for (i = 1; i < num_args; i += 2)
    if (!used[i / 2] && tvmffi_i_same_text(tvmffi_any_str(&args[i]), name))
      return i;
  return -1;
}

/* Sets all fields. args[0] is the type; the other arguments are alternately
   names and values. Sets used[i / 2] to 1 if the name args[i] is a field. */
static int tvmffi_i_fill_object(const TVMFFITypeInfo *type,
                                TVMFFIObject *object, const TVMFFIAny *args,
                                int32_t num_args, unsigned char *used) {
  tvmffi_i_field_cursor w = tvmffi_i_begin_fields(type);
  const TVMFFIFieldInfo *field;
  int32_t i;
  TVMFFI_ASSERT(num_args % 2 == 1); /* each name has a value */
  while ((field = tvmffi_i_next_field(&w))) {
    i = tvmffi_i_find_name(args, num_args, used, field->name);
    if (i > 0) {
      TVMFFI_TRY(tvmffi_i_set_field(field, object, &args[i + 1]));
      used[i / 2] = 1;
    } else if (field->flags & kTVMFFIFieldFlagBitMaskHasDefault) {
      TVMFFIAny made;
      int code;
      TVMFFI_TRY(tvmffi_i_make_default(field, &made));
      code = tvmffi_i_set_field(field, object, &made);
      tvmffi_i_any_release(&made);
      if (code) return code;
    } else {
      return tvmffi_i_type_error("Required field `%.*s` not set in type `%s`",
                                 TVMFFI_I_TEXT(field->name),
                                 type->type_key.data);
    }
  }
  for (i = 1; i < num_args; i += 2) {
    TVMFFIByteArray name = tvmffi_any_str(&args[i]);
    if (!used[i / 2])
      return tvmffi_i_type_error("Type `%s` does not have field `%.*s`",
                                 type->type_key.data, TVMFFI_I_TEXT(name));
  }
  return 0;
}

/* Fills the fields of a new object. The names are read only now, because
   upstream first raises the errors of the object's creation. */
static int tvmffi_i_fill_by_names(const TVMFFITypeInfo *type,
                                  TVMFFIObject *object, const TVMFFIAny *args,
                                  int32_t num_args) {
  TVMFFIByteArray name;
  unsigned char *used;
  int32_t i;
  int code;
  for (i = 1; i < num_args; i += 2)
    if (tvmffi_i_get_str(&args[i], &name))
      return tvmffi_i_bad_cast(&args[i], "str");
  used = (unsigned char *)tvmffi_i_alloc((size_t)num_args);
  if (!used) return tvmffi_i_no_memory();
  memset(used, 0, (size_t)num_args);
  code = tvmffi_i_fill_object(type, object, args, num_args, used);
  tvmffi_i_free(used);
  return code;
}

/* Returns the type whose type index or key is `arg`, or NULL with the error
   raised. */
static const TVMFFITypeInfo *tvmffi_i_get_type(const TVMFFIAny *arg) {
  TVMFFIByteArray key;
  int32_t index = 0;
  if (tvmffi_i_from_any(&tvmffi_i_word_int32, arg, &index)) {
    if (tvmffi_i_get_str(arg, &key)) {
      (void)tvmffi_i_bad_cast(arg, "str");
      return NULL;
    }
    if (TVMFFITypeKeyToIndex(&key, &index)) return NULL;
  }
  return TVMFFIGetTypeInfo(index);
}

/* Creates an object of a type. The arguments are the type's index or key, then
   field names, each followed by a value. Other fields get their defaults.
   TypeError if a name is unknown, or if a field has neither an argument nor a
   default. */
TVMFFI_I_PACKED(MakeObjectFromPackedArgs) {
  const TVMFFITypeInfo *type;
  TVMFFIObject *object;
  int code;
  if (num_args % 2 != 1)
    return tvmffi_i_internal_error(
        "ffi.MakeObjectFromPackedArgs takes a type, then alternating names and "
        "values");
  type = tvmffi_i_get_type(args);
  if (!type) return -1;
  TVMFFI_TRY(tvmffi_i_make_empty(type, &object));
  code = tvmffi_i_fill_by_names(type, object, args, num_args);
  return tvmffi_i_give_filled(result, object, code);
}
#endif
