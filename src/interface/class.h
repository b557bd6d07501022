/* ======== Classes: structs as types: registration ====== >>interface/class */
/* C interface: structs as types. TVMFFI_TYPE describes the fields and methods
   of a struct once. Python sees a class with attributes, constructor, repr,
   equality and copies. A C++ class with the same members has the same layout,
   except for optional numbers, dtypes and devices.

   The first use of a type registers the type, after its parent. If an
   allocation fails, the next use completes the registration. Objects nested too
   deeply for recursion are destroyed from a list, so depth is not limited. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "function.h"

/* How a field is stored. All kinds but PLAIN own a reference. */
enum {
  TVMFFI_I_STORED_PLAIN = 0, /* a C value, such as an int64_t */
  TVMFFI_I_STORED_OBJECT,    /* a pointer to an object, or NULL */
  TVMFFI_I_STORED_ANY,       /* a TVMFFIAny */
  TVMFFI_I_STORED_STR,       /* a TVMFFIAny, like C++'s String and Bytes */
  TVMFFI_I_STORED_BYTES
};

/* The kinds of the items of TVMFFI_TYPE and TVMFFI_MODULE. */
enum {
  TVMFFI_I_IS_end = 0,
  TVMFFI_I_IS_field,
  TVMFFI_I_IS_readonly,
  TVMFFI_I_IS_method,
  TVMFFI_I_IS_attribute, /* an attribute whose value is a method */
  TVMFFI_I_IS_kw_only,   /* all later fields are keyword-only */
  TVMFFI_I_IS_structural,
  TVMFFI_I_IS_function,
  TVMFFI_I_IS_lookup,
  TVMFFI_I_IS_save,
  TVMFFI_I_IS_load,
  TVMFFI_I_IS_source,
  TVMFFI_I_IS_save_file,
  TVMFFI_I_IS_load_file,
  TVMFFI_I_IS_mask,
  /* The kinds below modify the preceding member, except for a destructor. */
  TVMFFI_I_IS_destructor,
  TVMFFI_I_IS_doc,
  TVMFFI_I_IS_flags,
  TVMFFI_I_IS_factory
};

/* Returns the function of a method. First sets the name of the type word of its
   parameter `self` to `key`, the type key, which error messages show. `key` is
   NULL in a module, whose functions are called without `self`, so messages omit
   this parameter. */
TVMFFI_I_INLINE tvmffi_func *tvmffi_i_method_func(tvmffi_i_method_body body,
                                                  const char *key) {
  if (body.self && body.self->name != key)
    body.self->name = body.self->schema = key;
  return body.func;
}

/* Makes a method in a list without a body a compile error. A list of items only
   declares its methods, by TVMFFI_I_HEAD_OF_METHOD. TVMFFI_METHOD, before or
   after the list, also defines the name tvmffi_i_write_TVMFFI_METHOD_T_method,
   which the error shows if it is missing. The check is at the end of the file:
   in C++ a function of a template uses the name, in C TVMFFI_I_NEED does. For
   gcc, this is an alias, whose error is short, because gcc shows no macro
   around the text that names the alias's target. For clang, and gcc without
   ELF, it is a tentative definition of a variable of an incomplete struct.
   Lists in headers and other compilers, such as tcc, are not checked: there a
   missing body is a TypeError at the registration, unless another file has
   registered the method. */
#if defined(__INCLUDE_LEVEL__)
#define TVMFFI_I_IN_HEADER (__INCLUDE_LEVEL__ > 0)
#else
#define TVMFFI_I_IN_HEADER 0
#endif
#if defined(__cplusplus)
extern "C++" {
namespace { /* each file has its own methods */
template <typename tvmffi_body, bool tvmffi_in_header>
struct tvmffi_i_defined {
  template <typename tvmffi_same>
  static tvmffi_i_method_body tvmffi_found(
      decltype(tvmffi_same::tvmffi_defined()) *) {
    return tvmffi_same::tvmffi_defined();
  }
  template <typename tvmffi_same>
  static tvmffi_i_method_body tvmffi_found(...) {
    static_assert(tvmffi_in_header || !sizeof(tvmffi_same *),
                  "write_TVMFFI_METHOD");
    return {nullptr, nullptr};
  }
  static tvmffi_i_method_body tvmffi_body_of() {
    return tvmffi_found<tvmffi_body>(nullptr);
  }
};
template <tvmffi_i_method_body (*tvmffi_used)()>
struct tvmffi_i_method_use;
} /* namespace */
} /* extern "C++" */
#define TVMFFI_I_HEAD_OF_METHOD(T, name)            \
  namespace {                                       \
  struct tvmffi_i_write_TVMFFI_METHOD_##T##_##name; \
  }
#define TVMFFI_I_METHOD_OF(T, name)                             \
  (&tvmffi_i_defined<tvmffi_i_write_TVMFFI_METHOD_##T##_##name, \
                     TVMFFI_I_IN_HEADER>::tvmffi_body_of)
#else
#define TVMFFI_I_HEAD_OF_METHOD(T, name) \
  static tvmffi_i_method_body tvmffi_i_method_##T##_##name;
#define TVMFFI_I_METHOD_OF(T, name) (&tvmffi_i_method_##T##_##name)
#endif

/* An item of TVMFFI_TYPE or TVMFFI_MODULE. */
typedef struct {
  int32_t what, storage;
  const char *name; /* of a field, method, format or loader; or a doc's text */
  int64_t flags;
  int64_t offset, size, alignment; /* a method's size is TVMFFI_I_LANGUAGE */
  const tvmffi_i_word *word;
  TVMFFIFieldGetter get;
  TVMFFIFieldSetter set;
  int (*value)(TVMFFIAny *out); /* stores the default, as a view; or NULL */
  tvmffi_i_method_of method;
  const char *full_name; /* "type_key.method", for errors */
  tvmffi_func *factory;
  TVMFFISafeCallType bound; /* a module's function; the handle is the module */
} tvmffi_i_member;

/* Returns the body of an item's method. With TVMFFI_SHARE_INTERFACE, a file in
   the other language may have the item. */
TVMFFI_I_INLINE tvmffi_i_method_body
tvmffi_i_body_of(const tvmffi_i_member *m) {
  return m->size ? m->method.function() : *m->method.variable;
}

typedef struct tvmffi_i_class {
  const char *key;
  struct tvmffi_i_class *parent;
  int32_t size, alignment;
  const tvmffi_i_member *members; /* NULL: registered by another library */
  int (*init)(void **result);
  TVMFFIObjectCreator create;
  void (*deleter)(void *self, int flags);
  void (*destroy)(void *self); /* calls the user's destructor; or NULL */
  /* Set at registration. `index` stays -1 for a TVMFFI_MODULE. `owns` is 1 if
     objects own references or have a destructor. */
  void *handle; /* NULL until registered */
  int32_t index, owns;
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
    0};

/* The root type has no field that TVMFFI_NEW sets. The tvmffi_i_values_T of a
   type T is its parent's constant plus TVMFFI_I_VALUES of its own items. */
enum { tvmffi_i_values_TVMFFIObject = 0 };

TVMFFI_I_INLINE void *tvmffi_i_field_at(void *object, int64_t offset) {
  return (char *)object + offset;
}

TVMFFI_I_ONCE(int, tvmffi_i_class_start, (tvmffi_i_class *c)) {
  /* A runtime before 0.1.13.post2 lacks the function that allocates objects.
     The call raises the RuntimeError, and the type is not registered. */
  if (!TVMFFI_I_HAS(TVMFFIGetCustomAllocator))
    return TVMFFIGetCustomAllocator() ? 0 : -1;
  if (c->parent && !TVMFFI_I_LOAD(&c->parent->handle))
    TVMFFI_TRY(tvmffi_i_class_start(c->parent));
  return TVMFFIHandleInitOnce(&c->handle, c->init);
}

/* Registers the type at its first use. */
TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_class_ready(
    tvmffi_i_class *c) {
  return TVMFFI_I_LIKELY(TVMFFI_I_LOAD(&c->handle) != NULL)
             ? 0
             : tvmffi_i_class_start(c);
}

TVMFFI_I_INLINE int32_t tvmffi_i_class_index(tvmffi_i_class *c) {
  if (tvmffi_i_class_ready(c)) return -1;
  return c->index < 0 ? (int32_t)kTVMFFIModule : c->index;
}

TVMFFI_I_ONCE(int, tvmffi_i_class_check_size,
              (const tvmffi_i_class *c, const TVMFFITypeInfo *info)) {
  const TVMFFITypeMetadata *metadata =
      info ? TVMFFI_I_LOAD(&info->metadata) : NULL;
  if (!metadata || !metadata->total_size || metadata->total_size == c->size)
    return 0;
  return tvmffi_i_raise("TypeError",
                        "Type `%s` is registered with a size of %d bytes, its "
                        "struct here has %d",
                        c->key, (int)metadata->total_size, (int)c->size);
}

/* Sets *index to the type's index, and registers the type if its key is new. If
   the key is already registered, the type must have the same parent. */
TVMFFI_I_ONCE(int, tvmffi_i_class_enter, (tvmffi_i_class *c, int32_t *index)) {
  TVMFFIByteArray key = tvmffi_byte_array(c->key);
  const TVMFFITypeInfo *info, *parent;
  int32_t depth;
  if (TVMFFITypeKeyToIndex(&key, index)) {
    tvmffi_error_clear();
    *index = -1;
  }
  if (!c->members) {
    if (*index < 0)
      return tvmffi_i_raise(
          "TypeError",
          "Type `%s` is not registered: load the library that "
          "defines it first",
          c->key);
    return tvmffi_i_class_check_size(c, TVMFFIGetTypeInfo(*index));
  }
  parent = TVMFFIGetTypeInfo(c->parent->index);
  if (!parent)
    return tvmffi_i_raise("RuntimeError",
                          "Type `%s`: this runtime has no table of types",
                          c->key);
  depth = parent->type_depth + 1;
  if (*index < 0) {
    *index = TVMFFITypeGetOrAllocIndex(&key, -1, depth, 0, 1, c->parent->index);
    return *index < 0 ? -1 : 0;
  }
  info = TVMFFIGetTypeInfo(*index);
  if (info->type_depth != depth || info->type_ancestors[depth - 1] != parent)
    return tvmffi_i_raise(
        "TypeError",
        "Type `%s` is registered as a child of `%s`, but declared as a child "
        "of `%s`",
        c->key,
        info->type_depth
            ? info->type_ancestors[info->type_depth - 1]->type_key.data
            : "nothing",
        c->parent->key);
  return tvmffi_i_class_check_size(c, info);
}

/* Returns the value of a type's attribute, or NULL if the attribute is not
   set. */
TVMFFI_I_ONCE(const TVMFFIAny *, tvmffi_i_class_attr,
              (int32_t index, const char *name)) {
  TVMFFIByteArray text = tvmffi_byte_array(name);
  const TVMFFITypeAttrColumn *column = TVMFFIGetTypeAttrColumn(&text);
  int32_t i = column ? index - column->begin_index : -1;
  const TVMFFIAny *value;
  if (i < 0 || i >= TVMFFI_I_LOAD(&column->size)) return NULL;
  value = &TVMFFI_I_LOAD(&column->data)[i];
  return TVMFFI_I_LOAD(&value->type_index) == kTVMFFINone ? NULL : value;
}

TVMFFI_I_ONCE(int, tvmffi_i_class_set_attr,
              (int32_t index, const char *name, const TVMFFIAny *value)) {
  TVMFFIByteArray text = tvmffi_byte_array(name);
  if (tvmffi_i_class_attr(index, name)) return 0;
  return TVMFFITypeRegisterAttr(index, &text, value);
}

TVMFFI_I_ONCE(int, tvmffi_i_class_set_call,
              (tvmffi_i_class *c, int32_t index, const char *name,
               TVMFFISafeCallType call)) {
  TVMFFIObjectHandle function = NULL;
  TVMFFIAny value;
  int code;
  if (tvmffi_i_class_attr(index, name)) return 0;
  TVMFFI_TRY(TVMFFIFunctionCreate(c, call, NULL, &function));
  value = tvmffi_obj(function);
  code = tvmffi_i_class_set_attr(index, name, &value);
  tvmffi_i_release(function);
  return code;
}
