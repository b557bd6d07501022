/* ======== Classes: structs as types: registration ====== >>interface/class */
/* C interface: structs as types. TVMFFI_TYPE names a struct's fields and
   methods once; Python sees a class with attributes, constructor, repr,
   equality and copies. A class of C++ with the same members has them at the
   same places, but for optional numbers, dtypes and devices, whose layout is
   the compiler's there. A type registers itself at its first use, once, parent
   first, by TVMFFIHandleInitOnce; what a refused allocation left undone is done
   at the next use. Objects are destroyed in two phases as the ABI has them: the
   last strong reference ends the fields, the last weak one frees the memory.
   What dies while another object of this file does waits in the thread's list,
   so depth is no limit. */

#pragma once

#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "value.h"
#include "error.h"
#include "word.h"

/* A field's storage. Of an owned one the object has a reference. */
enum {
  TVMFFI_I_KEPT_PLAIN = 0, /* the word's C type */
  TVMFFI_I_KEPT_OBJECT,    /* a pointer to an object, or NULL */
  TVMFFI_I_KEPT_ANY,       /* a TVMFFIAny */
  TVMFFI_I_KEPT_STR,       /* a TVMFFIAny, as C++'s String and Bytes are */
  TVMFFI_I_KEPT_BYTES
};

enum {
  TVMFFI_I_IS_END = 0,
  TVMFFI_I_IS_FIELD,
  TVMFFI_I_IS_METHOD,
  TVMFFI_I_IS_ATTRIBUTE, /* name, method */
  TVMFFI_I_IS_KW_ONLY,   /* of all fields behind it */
  TVMFFI_I_IS_STRUCTURAL,
  /* These say more about the member before them. */
  TVMFFI_I_IS_DOC,
  TVMFFI_I_IS_FLAGS,
  TVMFFI_I_IS_FACTORY
};

/* Gives a method's description, which has the type's key from then on. */
typedef tvmffi_func *tvmffi_i_method_of(const char *key, int64_t *flags);

/* One parenthesis of TVMFFI_TYPE. */
typedef struct {
  int32_t what, kept;
  const char *name; /* of field or method; the text of a doc */
  int64_t flags;
  int64_t offset, size, alignment;
  const tvmffi_i_name *type;
  TVMFFIFieldGetter get;
  TVMFFIFieldSetter set;
  int (*value)(TVMFFIAny *out); /* the default, owned by the caller; or NULL */
  tvmffi_i_method_of *method;
  const char *full_name; /* of a method, for errors */
  tvmffi_func *factory;
} tvmffi_i_member;

typedef struct tvmffi_i_class {
  const char *key;
  struct tvmffi_i_class *parent;
  int32_t size, alignment;
  const tvmffi_i_member *members; /* NULL: registered by somebody else */
  int (*init)(void **result);
  TVMFFIObjectCreator create;
  void (*deleter)(void *self, int flags);
  void (*destroy)(void *self); /* the user's, or NULL */
  /* From here on set at registration. */
  void *handle; /* NULL until then */
  int32_t index, owns;
  struct tvmffi_i_class *next; /* among those of this file */
} tvmffi_i_class;

/* The root of all types. */
TVMFFI_I_UNUSED static tvmffi_i_class tvmffi_i_class_TVMFFIObject = {
    "ffi.Object",
    NULL,
    sizeof(TVMFFIObject),
    8,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    &tvmffi_i_class_TVMFFIObject,
    kTVMFFIObject,
    0,
    NULL};

/* A pointer to an object in a struct, whatever its type there. */
#if TVMFFI_I_GNU
typedef TVMFFIObject *tvmffi_i_held __attribute__((__may_alias__));
#else
typedef TVMFFIObject *tvmffi_i_held;
#endif

TVMFFI_I_INLINE void *tvmffi_i_field_at(void *object, int64_t offset) {
  return (char *)object + offset;
}

TVMFFI_I_COLD int tvmffi_i_class_start(tvmffi_i_class *c) {
  if (c->parent && !TVMFFI_I_LOAD(&c->parent->handle))
    TVMFFI_TRY(tvmffi_i_class_start(c->parent));
  return TVMFFIHandleInitOnce(&c->handle, c->init);
}

/* Makes sure that the type is registered. */
TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_class_ready(
    tvmffi_i_class *c) {
  return TVMFFI_I_LIKELY(TVMFFI_I_LOAD(&c->handle) != NULL)
             ? 0
             : tvmffi_i_class_start(c);
}

TVMFFI_I_INLINE int32_t tvmffi_i_class_index(tvmffi_i_class *c) {
  return tvmffi_i_class_ready(c) ? -1 : c->index;
}

/* The list of this file's registered types, in which the type of a postponed
   object is found. It only grows. Its head is a void pointer, as that is what
   tvmffi_i_cas_pointer exchanges. */
TVMFFI_I_INLINE void **tvmffi_i_classes(void) {
  static void *first;
  return &first;
}

/* Puts a type in front of the list, which other threads extend, too. A type
   may be in it already: a child of fork initialises a type again if another
   thread of the parent was about to finish. */
TVMFFI_I_COLD void tvmffi_i_class_list(tvmffi_i_class *c) {
  void *first;
  tvmffi_i_class *had;
  do {
    first = TVMFFI_I_LOAD(tvmffi_i_classes());
    had = (tvmffi_i_class *)first;
    while (had && had != c) had = had->next;
    if (had) return;
    c->next = (tvmffi_i_class *)first;
  } while (!tvmffi_i_cas_pointer(tvmffi_i_classes(), first, c));
}

/* Looks for a type that was registered before: *index, or -1. */
TVMFFI_I_COLD void tvmffi_i_class_find(const tvmffi_i_class *c,
                                       int32_t *index) {
  TVMFFIByteArray key = tvmffi_view(c->key);
  *index = -1;
  if (!TVMFFITypeKeyToIndex(&key, index)) return;
  tvmffi_error_clear();
  *index = -1;
}

/* What is registered for a type is read by the rule that its writers follow: a
   table is published before the number of its rows, so the number is loaded
   first, and then a table that has as many rows or more. */
TVMFFI_I_INLINE const TVMFFIFieldInfo *tvmffi_i_fields_of(
    const TVMFFITypeInfo *type, int32_t *n) {
  *n = TVMFFI_I_LOAD(&type->num_fields);
  return TVMFFI_I_LOAD(&type->fields);
}
TVMFFI_I_INLINE const TVMFFIMethodInfo *tvmffi_i_methods_of(
    const TVMFFITypeInfo *type, int32_t *n) {
  *n = TVMFFI_I_LOAD(&type->num_methods);
  return TVMFFI_I_LOAD(&type->methods);
}

/* The size that another registration of this type has given must be ours. */
TVMFFI_I_COLD int tvmffi_i_class_check_size(const tvmffi_i_class *c,
                                            const TVMFFITypeInfo *info) {
  const TVMFFITypeMetadata *metadata =
      info ? TVMFFI_I_LOAD(&info->metadata) : NULL;
  if (!metadata || !metadata->total_size || metadata->total_size == c->size)
    return 0;
  return TVMFFI_RAISE("TypeError",
                      "Type `%s` is registered with a size of %d bytes, its "
                      "struct here has %d",
                      c->key, (int)metadata->total_size, (int)c->size);
}

/* Finds the type, or registers its key; its place in the tree must be ours. */
TVMFFI_I_COLD int tvmffi_i_class_enter(tvmffi_i_class *c, int32_t *index) {
  TVMFFIByteArray key = tvmffi_view(c->key);
  const TVMFFITypeInfo *info, *parent;
  int32_t depth;
  tvmffi_i_class_find(c, index);
  if (!c->members) {
    if (*index < 0)
      return TVMFFI_RAISE("TypeError",
                          "Type `%s` is not registered: load the library that "
                          "defines it first",
                          c->key);
    return tvmffi_i_class_check_size(c, TVMFFIGetTypeInfo(*index));
  }
  parent = TVMFFIGetTypeInfo(c->parent->index);
  if (!parent)
    return TVMFFI_RAISE("RuntimeError",
                        "Type `%s`: this runtime has no table of types",
                        c->key);
  depth = parent->type_depth + 1;
  if (*index < 0) {
    *index = TVMFFITypeGetOrAllocIndex(&key, -1, depth, 0, 1, c->parent->index);
    return *index < 0 ? -1 : 0;
  }
  info = TVMFFIGetTypeInfo(*index);
  if (info->type_depth != depth || info->type_ancestors[depth - 1] != parent)
    return TVMFFI_RAISE(
        "TypeError",
        "Type `%s` is registered as a child of `%s`, here it is one of `%s`",
        c->key,
        info->type_depth
            ? info->type_ancestors[info->type_depth - 1]->type_key.data
            : "nothing",
        c->parent->key);
  return tvmffi_i_class_check_size(c, info);
}

/* The attribute's value of a type, or NULL if it has none. */
TVMFFI_I_COLD const TVMFFIAny *tvmffi_i_class_attr(int32_t index,
                                                   const char *name) {
  TVMFFIByteArray text = tvmffi_view(name);
  const TVMFFITypeAttrColumn *column = TVMFFIGetTypeAttrColumn(&text);
  int32_t i = column ? index - column->begin_index : -1;
  const TVMFFIAny *value;
  if (i < 0 || i >= TVMFFI_I_LOAD(&column->size)) return NULL;
  value = &TVMFFI_I_LOAD(&column->data)[i];
  return TVMFFI_I_LOAD(&value->type_index) == kTVMFFINone ? NULL : value;
}

TVMFFI_I_COLD int tvmffi_i_class_set_attr(int32_t index, const char *name,
                                          const TVMFFIAny *value) {
  TVMFFIByteArray text = tvmffi_view(name);
  if (tvmffi_i_class_attr(index, name)) return 0;
  return TVMFFITypeRegisterAttr(index, &text, value);
}

TVMFFI_I_COLD int tvmffi_i_class_set_call(tvmffi_i_class *c, int32_t index,
                                          const char *name,
                                          TVMFFISafeCallType call) {
  TVMFFIObjectHandle function = NULL;
  TVMFFIAny value;
  int code;
  if (tvmffi_i_class_attr(index, name)) return 0;
  TVMFFI_TRY(TVMFFIFunctionCreate(c, call, NULL, &function));
  value = tvmffi_obj(function);
  code = tvmffi_i_class_set_attr(index, name, &value);
  tvmffi_release(function);
  return code;
}
