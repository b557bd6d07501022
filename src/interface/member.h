/* ======== Members by name ================================ >>interface/member
   methods and fields of any object */
/* Calls methods and accesses fields by name, of objects whose struct the C file
   does not declare, such as objects of Python, C++ or another library. Each
   access searches the object's type and its ancestor types for the name. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "list.h"
#include "scope.h"
#include "argument.h"
#include "call.h"
#include "class.h"
#include "class_object.h"

/* Calls the method `name` (a NUL-terminated string) of an object (borrowed):
       TVMFFI_TRY(tvmffi_method(model, "forward", &out, x));
   Arguments and result are plain values, as in tvmffi_call. The scope owns a
   result that is an object or Any. A static method is called without the
   object. Returns 0 or the error's code; AttributeError if the object has no
   such method. */
#if defined(__cplusplus)
#define tvmffi_method(object, name, ...)                                   \
  tvmffi_i_method_plain(TVMFFI_I_OWNER_OF(TVMFFI_I_FIRST(__VA_ARGS__, ~)), \
                        object, name, __VA_ARGS__)
#else
#define tvmffi_method(object, name, ...)                                 \
  tvmffi_i_call_member(                                                  \
      TVMFFI_I_OWNER_OF(TVMFFI_I_FIRST(__VA_ARGS__, ~)), name,           \
      TVMFFI_I_OUT(TVMFFI_I_FIRST(__VA_ARGS__, ~)),                      \
      (TVMFFIAny[TVMFFI_I_ARRAY_SIZE(TVMFFI_I_COUNT(__VA_ARGS__) + 1)]){ \
          TVMFFI_ANY(object),                                            \
          TVMFFI_I_EACH(TVMFFI_I_COUNT(__VA_ARGS__))(                    \
              TVMFFI_I_ITEM, __VA_ARGS__, ~) tvmffi_none()},             \
      TVMFFI_I_COUNT(__VA_ARGS__) - 1)
#endif

/* Gets the field `name` of an object (borrowed). The result is converted as by
   tvmffi_call, and the scope owns it if it is an object or Any. Returns 0 or
   the error's code: an AttributeError if the type lacks the field or allows no
   access. */
#define tvmffi_field_get(object, name, out)                             \
  tvmffi_i_get_member(TVMFFI_I_OWNER_OF(out), TVMFFI_ANY(object), name, \
                      TVMFFI_I_OUT(out))

/* Sets the field `name` of an object (borrowed) to a C value that TVMFFI_ANY
   accepts. Returns 0 or the error's code: an AttributeError if the type lacks
   the field or allows no access, or the error of its setter. */
#define tvmffi_field_set(object, name, value) \
  tvmffi_i_set_member(TVMFFI_ANY(object), name, TVMFFI_ANY(value))

/* Returns the type of an object. If *object is not an object, returns NULL with
   a TypeError. */
TVMFFI_I_INLINE const TVMFFITypeInfo *tvmffi_i_type_of(const TVMFFIAny *object,
                                                       const char *name) {
  if (object->type_index >= kTVMFFIStaticObjectBegin && object->v_obj) {
    const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(object->type_index);
    if (!type)
      (void)tvmffi_i_raise("TypeError", "Type %d is not registered",
                           (int)object->type_index);
    return type;
  }
  if (!tvmffi_i_check_made(object, 1))
    (void)tvmffi_i_raise("TypeError", "A value of type `%s` has no member `%s`",
                         tvmffi_i_type_key(object->type_index), name);
  return NULL;
}

/* Returns the method or field `name` of the object's type or of the nearest
   ancestor that has one. Returns NULL with an error if there is none. */
TVMFFI_I_INLINE const void *tvmffi_i_find_member(const TVMFFIAny *object,
                                                 const char *name,
                                                 int is_method) {
  /* Both structs begin with the member's name. */
  const size_t size =
      is_method ? sizeof(TVMFFIMethodInfo) : sizeof(TVMFFIFieldInfo);
  const char *text = name ? name : "";
  const TVMFFITypeInfo *type = tvmffi_i_type_of(object, text), *t;
  int32_t depth, i, n;
  if (!type) return NULL;
  for (depth = type->type_depth; depth >= 0; --depth) {
    const char *at;
    t = tvmffi_i_ancestor(type, depth);
    at = is_method ? (const char *)tvmffi_i_methods_of(t, &n)
                   : (const char *)tvmffi_i_fields_of(t, &n);
    for (i = 0; i < n; ++i, at += size)
      if (tvmffi_i_same(*(const TVMFFIByteArray *)(const void *)at, text))
        return at;
  }
  (void)tvmffi_i_raise("AttributeError", "Type `%s` has no %s `%s`",
                       type->type_key.data, is_method ? "method" : "field",
                       text);
  return NULL;
}

/* Calls the method `name`. args[0] is the object; n arguments follow. */
TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_call_member(tvmffi_i_owner to,
                                                             const char *name,
                                                             tvmffi_out out,
                                                             TVMFFIAny *args,
                                                             int32_t n) {
  const TVMFFIMethodInfo *m;
  int skip;
  TVMFFI_TRY(tvmffi_i_is_marked(to));
  m = (const TVMFFIMethodInfo *)tvmffi_i_find_member(args, name, 1);
  if (!m) return tvmffi_i_failed_at(to, -1, 1);
  skip = (m->flags & kTVMFFIFieldFlagBitMaskIsStaticMethod) != 0;
  return tvmffi_i_call(to, &m->method, &out, args + skip, n + 1 - skip,
                       TVMFFI_I_ANY_FORM);
}

TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_get_member(tvmffi_i_owner to,
                                                            TVMFFIAny object,
                                                            const char *name,
                                                            tvmffi_out out) {
  const TVMFFIFieldInfo *f;
  TVMFFIAny value = tvmffi_none();
  int code;
  TVMFFI_TRY(tvmffi_i_is_marked(to));
  f = (const TVMFFIFieldInfo *)tvmffi_i_find_member(&object, name, 0);
  if (!f) return tvmffi_i_failed_at(to, -1, 1);
  if (!f->getter)
    return tvmffi_i_raise("AttributeError", "Field `%s` has no getter", name);
  TVMFFI_TRY(f->getter(tvmffi_i_field_at(object.v_obj, f->offset), &value));
  code = tvmffi_i_deliver(to, &out, &value);
  return TVMFFI_I_UNLIKELY(code) ? tvmffi_error_context(code, ".%s", name) : 0;
}

TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_set_member(TVMFFIAny object,
                                                            const char *name,
                                                            TVMFFIAny value) {
  const TVMFFIFieldInfo *f =
      (const TVMFFIFieldInfo *)tvmffi_i_find_member(&object, name, 0);
  int code;
  if (!f) return -1;
  if (!f->setter || !(f->flags & kTVMFFIFieldFlagBitMaskWritable))
    return tvmffi_i_raise("AttributeError", "Field `%s` is read-only", name);
  TVMFFI_TRY(tvmffi_i_check_made(&value, 1));
  code = tvmffi_i_class_set_field(f, object.v_obj, &value);
  return TVMFFI_I_UNLIKELY(code) ? tvmffi_error_context(code, ".%s", name) : 0;
}

#if defined(__cplusplus)
extern "C++" {
template <typename tvmffi_type, typename tvmffi_target, typename... tvmffi_rest>
TVMFFI_I_MUST_CHECK static inline int tvmffi_i_method_plain(
    tvmffi_i_owner to, tvmffi_type object, const char *name, tvmffi_target out,
    tvmffi_rest... args) {
  static_assert(!(sizeof...(tvmffi_rest) > 32),
                "at_most_32_values_are_possible");
  TVMFFIAny values[] = {TVMFFI_ANY(object), TVMFFI_ANY(args)...};
  return tvmffi_i_call_member(to, name, tvmffi_i_out(out), values,
                              (int32_t)sizeof...(tvmffi_rest));
}
} /* extern "C++" */
#endif
