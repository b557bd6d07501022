/* ======== Construction =============================== >>interface/class_init
   constructors of struct types */

#pragma once

#include "../head.h"
#include "../base.h"
#include "convert.h"
#include "call.h"
#include "class.h"
#include "class_member.h"
#include "class_object.h"

/* The constructor of a type if the runtime was built without containers. Always
   raises an error. */
TVMFFI_I_ONCE(int, tvmffi_i_class_call_no_init,
              (void *handle, const TVMFFIAny *args, int32_t n,
               TVMFFIAny *result)) {
  (void)args, (void)n, (void)result;
  return tvmffi_i_raise("RuntimeError",
                        "`%s` cannot be made by its fields: the runtime has no "
                        "`ffi._RegisterFFIInit`; it was built with "
                        "TVMFFI_NO_CONTAINERS",
                        ((const tvmffi_i_class *)handle)->key);
}

TVMFFI_I_ONCE(int, tvmffi_i_class_set_init,
              (tvmffi_i_class *c, int32_t index)) {
  TVMFFIAny arg = tvmffi_int(index), result = tvmffi_none();
  int code;
  if (tvmffi_i_class_attr(index, "__ffi_init__")) return 0;
  code = tvmffi_i_call_if_defined("ffi._RegisterFFIInit", &arg, 1, &result);
  if (code == 1)
    return tvmffi_i_class_set_call(c, index, "__ffi_init__",
                                   tvmffi_i_class_call_no_init);
  tvmffi_i_any_release(&result);
  return code;
}

/* Returns 1 if the type or an ancestor owns references or has a destructor,
   else 0. A destructor sets *fixed to 1: such objects cannot be copied. Without
   one, c->destroy becomes NULL. */
TVMFFI_I_ONCE(int, tvmffi_i_class_owns, (tvmffi_i_class *c, int *fixed)) {
  const tvmffi_i_member *m = c->members;
  int owns = 0;
  while (m && m->what && m->what != TVMFFI_I_IS_destructor) ++m;
  if (m && !m->what) c->destroy = NULL;
  for (; c->index != kTVMFFIObject; c = c->parent) {
    if (!c->members) return 1;
    if (c->destroy) *fixed = owns = 1;
    for (m = c->members; m->what; ++m)
      owns |= m->storage != TVMFFI_I_STORED_PLAIN;
  }
  return owns;
}

/* Registers a type like C++'s ObjectDef. The parent is already registered. */
TVMFFI_I_ONCE(int, tvmffi_i_class_init, (tvmffi_i_class *c, void **result)) {
  TVMFFITypeMetadata metadata = TVMFFI_I_ZERO;
  TVMFFIAny no = tvmffi_bool(0);
  const TVMFFITypeInfo *type;
  int32_t index;
  int fixed = 0;
  TVMFFI_TRY(tvmffi_i_class_enter(c, &index));
  c->owns = tvmffi_i_class_owns(c, &fixed);
  *result = c;
  if (!c->members) {
    TVMFFI_I_STORE(&c->index, index);
    return 0;
  }
  type = TVMFFIGetTypeInfo(index);
  TVMFFI_TRY(tvmffi_i_class_add_members(c, type, &metadata));
  metadata.creator = c->create;
  metadata.total_size = c->size;
#if !TVMFFI_NO_TYPES /* else tvmffi_i_class_enter has failed */
  if (!TVMFFI_I_LOAD(&type->metadata))
    TVMFFI_TRY(TVMFFITypeRegisterMetadata(index, &metadata));
#endif
  /* tvmffi_i_instance takes objects with this index for those of the struct,
     which needs the fields to be the registered ones. */
  TVMFFI_I_STORE(&c->index, index);
  if (!fixed)
    TVMFFI_TRY(tvmffi_i_class_set_call(c, index, "__ffi_shallow_copy__",
                                       tvmffi_i_class_call_copy));
  TVMFFI_TRY(tvmffi_i_class_set_call(c, index, "__ffi_new__",
                                     tvmffi_i_class_call_new));
  TVMFFI_TRY(tvmffi_i_class_set_init(c, index));
  TVMFFI_TRY(tvmffi_i_class_set_attr(index, "__ffi_type_final__", &no));
  return 0;
}

/* Slow path of tvmffi_i_instance. All modules have the same type index, so the
   deleter shows which TVMFFI_MODULE made a module. */
TVMFFI_I_INLINE int tvmffi_i_instance_rest(tvmffi_i_class *c,
                                           const TVMFFIAny *any) {
  TVMFFI_TRY(tvmffi_i_class_ready(c));
  if (c->index < 0 ? any->v_obj->deleter == c->deleter
                   : tvmffi_is_instance(any->type_index, c->index))
    return 0;
  return TVMFFI_I_MISMATCH;
}

/* Returns 0 if `any` is an object of type `c` or of a descendant,
   TVMFFI_I_MISMATCH if not, or an error code. */
TVMFFI_I_INLINE int tvmffi_i_instance(tvmffi_i_class *c, const TVMFFIAny *any) {
  int32_t index = any->type_index;
  if (index < kTVMFFIStaticObjectBegin || !any->v_obj) return TVMFFI_I_MISMATCH;
  if (TVMFFI_I_LIKELY(index == TVMFFI_I_LOAD_RELAXED(&c->index))) return 0;
  return tvmffi_i_instance_rest(c, any);
}

/* Stores an object of the type or a descendant at `to`, borrowed. Returns 0, or
   else the code of tvmffi_i_instance. */
TVMFFI_I_INLINE int tvmffi_i_get_instance(tvmffi_i_class *c,
                                          const TVMFFIAny *from, void *to) {
  int code = tvmffi_i_instance(c, from);
  *(tvmffi_i_object_slot *)to = code ? NULL : from->v_obj;
  return code;
}

TVMFFI_I_INLINE void *tvmffi_i_class_cast(tvmffi_i_class *c,
                                          TVMFFIObjectHandle object) {
  TVMFFIAny any = tvmffi_obj(object);
  int code = tvmffi_i_instance(c, &any);
  if (code < 0) tvmffi_error_clear();
  return code ? NULL : object;
}

/* Replaces the content of an owned TVMFFIAny, such as a struct field of type
   str, bytes or any, by `view` (borrowed). Returns 0, or -1 with an error and
   *owned unchanged. */
TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_any_assign(TVMFFIAny *owned,
                                                          TVMFFIAny view) {
  TVMFFIAny now = tvmffi_none(), old = *owned;
  TVMFFI_TRY(tvmffi_i_own_value(&view, &now));
  *owned = now;
  tvmffi_i_any_release(&old);
  return 0;
}

/* Reads a field whose type is `word`: stores an owned value in *into. Returns
   0, or -1 with an error. */
TVMFFI_I_FOLDED int tvmffi_i_read_member(const tvmffi_i_word *word, int storage,
                                         void *field, TVMFFIAny *into) {
  if (storage == TVMFFI_I_STORED_PLAIN)
    return tvmffi_i_to_any(word, NULL, into, field);
  if (storage == TVMFFI_I_STORED_OBJECT)
    *into = tvmffi_obj(*(tvmffi_i_object_slot *)field);
  else
    *into = *(TVMFFIAny *)field;
  tvmffi_i_any_retain(into);
  return 0;
}

/* Converts `value` like a container argument of a typed function, and stores
   the container in `field`. If `nullable` is 1, None stores NULL. */
TVMFFI_I_ONCE(int, tvmffi_i_set_container,
              (const tvmffi_i_word *word, int nullable, void *field,
               const TVMFFIAny *value)) {
  const int is_none = value->type_index == kTVMFFINone;
  TVMFFIAny made;
  int code =
      nullable && is_none ? 0 : tvmffi_i_convert_item(word, value, &made);
  if (code && code != TVMFFI_I_CONVERTED)
    return tvmffi_i_bad_field(word, nullable, value, code);
  tvmffi_i_keep(field, code ? made.v_obj : is_none ? NULL : value->v_obj);
  if (code) tvmffi_i_any_release(&made);
  return 0;
}

/* Writes a field of type `word`. If `nullable` is 1, because the field has a
   default, a field that stores an object also accepts None, and then stores
   NULL. Returns 0, or -1 with an error. */
TVMFFI_I_FOLDED int tvmffi_i_write_member(const tvmffi_i_word *word,
                                          int storage, int nullable,
                                          void *field, const TVMFFIAny *value) {
  const tvmffi_i_word *of =
      word->kind == TVMFFI_I_OPTIONAL ? word->of[0] : word;
  tvmffi_type_optional_str text; /* unused: the field stores *value itself */
  TVMFFIObject *object = NULL;
  int code = 0;
  if (of->kind == TVMFFI_I_CONTAINER)
    return tvmffi_i_set_container(word, nullable, field, value);
  if (storage == TVMFFI_I_STORED_ANY)
    return tvmffi_any_assign((TVMFFIAny *)field, *value);
  if (storage == TVMFFI_I_STORED_PLAIN)
    code = tvmffi_i_from_any(word, value, field);
  else if (storage != TVMFFI_I_STORED_OBJECT)
    code = tvmffi_i_from_any(word, value, &text);
  else if (!nullable || value->type_index != kTVMFFINone)
    code = tvmffi_i_from_any(word, value, &object);
  if (TVMFFI_I_UNLIKELY(code))
    return tvmffi_i_bad_field(
        word, nullable && storage == TVMFFI_I_STORED_OBJECT, value, code);
  if (storage == TVMFFI_I_STORED_OBJECT)
    tvmffi_i_keep(field, object);
  else if (storage != TVMFFI_I_STORED_PLAIN)
    return tvmffi_any_assign((TVMFFIAny *)field, *value);
  return 0;
}
