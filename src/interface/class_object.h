/* ======== Instances: objects of struct types ==== >>interface/class_object */

#pragma once

#include "../head.h"
#include "../base.h"
#include "scope.h"
#include "argument.h"
#include "class.h"

/* Returns the calling thread's running destructors of types that this file
   defines. */
TVMFFI_I_THREAD_VARIABLE(tvmffi_i_destroying, tvmffi_i_class_destroying,
                         TVMFFI_I_KEY_DESTROYING)

/* Returns a new reference to the object whose pointer is stored inside a field,
   whatever the field's C++ type. Returns NULL if the field is empty, or if its
   getter makes a new object, which the field does not own. */
TVMFFI_I_ONCE(TVMFFIObject *, tvmffi_i_foreign_object,
              (const TVMFFIFieldInfo *f, void *field)) {
  TVMFFIAny value = tvmffi_none();
  int64_t at, step = (int64_t)sizeof(tvmffi_i_object_slot);
  if (!f->getter) return NULL;
  if (f->getter(field, &value)) {
    tvmffi_error_clear();
    return NULL;
  }
  if (value.type_index >= kTVMFFIStaticObjectBegin)
    for (at = 0; at + step <= f->size; at += step)
      if (*(tvmffi_i_object_slot *)tvmffi_i_field_at(field, at) == value.v_obj)
        return value.v_obj;
  tvmffi_i_any_release(&value);
  return NULL;
}

/* Retains or releases the objects in fields of `self` that another library
   defines: the fields of type `index` and of its ancestors. */
TVMFFI_I_ONCE(void, tvmffi_i_foreign_fields,
              (int32_t index, void *self, int retain)) {
  const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(index), *t;
  TVMFFIObject *error = tvmffi_i_error_remove(); /* getters may raise */
  const TVMFFIFieldInfo *f;
  int32_t depth, i, n;
  for (depth = info->type_depth; depth >= 0; --depth) {
    t = tvmffi_i_ancestor(info, depth);
    f = tvmffi_i_fields_of(t, &n);
    for (i = 0; i < n; ++i, ++f) {
      void *field = tvmffi_i_field_at(self, f->offset);
      TVMFFIObject *held = tvmffi_i_foreign_object(f, field);
      if (!held || retain) continue;
      tvmffi_i_release(held);
      tvmffi_i_release(held);
    }
  }
  (void)tvmffi_i_error_restore(error);
}

/* Destroys an object's content, from the child class to the root. In each
   class, calls the user's destructor and then releases the fields. */
TVMFFI_I_INLINE void tvmffi_i_class_end(const tvmffi_i_class *c, void *self) {
  const tvmffi_i_member *m;
  for (; c->index != kTVMFFIObject; c = c->parent) {
    if (!c->members) {
      tvmffi_i_foreign_fields(c->index, self, 0);
      return;
    }
    if (c->destroy) c->destroy(self);
    for (m = c->members; m->what; ++m) {
      void *place = tvmffi_i_field_at(self, m->offset);
      if (m->storage == TVMFFI_I_STORED_OBJECT) {
        TVMFFIObject *object = *(tvmffi_i_object_slot *)place;
        *(tvmffi_i_object_slot *)place = NULL;
        tvmffi_i_release(object);
      } else if (m->storage) {
        tvmffi_i_any_release((TVMFFIAny *)place);
      }
    }
  }
}

TVMFFI_I_INLINE void tvmffi_i_class_delete(const tvmffi_i_class *c,
                                           TVMFFIObject *self, int flags) {
  if (c->owns && (flags & kTVMFFIObjectDeleterFlagBitMaskStrong)) {
    tvmffi_i_destroying *d = tvmffi_i_class_destroying();
    int32_t depth = tvmffi_i_begin_destroy(d, self, flags, c->deleter);
    if (depth < 0) return;
    tvmffi_i_class_end(c, self);
    tvmffi_i_end_destroy(d, depth);
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) {
    TVMFFIObjectAllocHeader *head = (TVMFFIObjectAllocHeader *)self - 1;
    if (head->delete_space) head->delete_space(self);
  }
}

/* Allocates an object. Its str and bytes fields are empty, its other members
   are zero. */
TVMFFI_I_INLINE int tvmffi_i_class_make(tvmffi_i_class *c,
                                        TVMFFIObjectHandle *out) {
  TVMFFICustomAllocator *from;
  const tvmffi_i_member *m;
  TVMFFIObject *self;
  int32_t i;
  TVMFFI_TRY(tvmffi_i_class_ready(c));
  from = TVMFFIGetCustomAllocator();
  self = (TVMFFIObject *)from->allocate((size_t)c->size, (size_t)c->alignment,
                                        c->index, from->context);
  if (!self) return -1;
  for (i = 0; i < c->size / (int32_t)sizeof(tvmffi_i_object_slot); ++i)
    ((tvmffi_i_object_slot *)(void *)self)[i] = NULL;
  self->combined_ref_count = TVMFFI_I_BOTH_ONE;
  self->type_index = c->index;
  self->deleter = c->deleter;
  for (; c->members; c = c->parent)
    for (m = c->members; m->what; ++m)
      if (m->storage >= TVMFFI_I_STORED_STR &&
          m->word->kind != TVMFFI_I_OPTIONAL)
        ((TVMFFIAny *)tvmffi_i_field_at(self, m->offset))->type_index =
            m->storage == TVMFFI_I_STORED_STR ? kTVMFFISmallStr
                                              : kTVMFFISmallBytes;
  *out = self;
  return 0;
}

/* Copies an object bitwise and retains the objects in its fields. */
TVMFFI_I_INLINE int tvmffi_i_class_copy(tvmffi_i_class *c, void *from,
                                        TVMFFIObjectHandle *out) {
  const size_t word = sizeof(tvmffi_i_object_slot);
  const tvmffi_i_member *m;
  tvmffi_i_object_slot *to;
  size_t i;
  TVMFFI_TRY(tvmffi_i_class_make(c, out));
  to = (tvmffi_i_object_slot *)*out;
  for (i = sizeof(TVMFFIObject) / word; i < (size_t)c->size / word; ++i)
    to[i] = ((tvmffi_i_object_slot *)from)[i];
  for (; c->index != kTVMFFIObject; c = c->parent) {
    if (!c->members) {
      tvmffi_i_foreign_fields(c->index, *out, 1);
      return 0;
    }
    for (m = c->members; m->what; ++m) {
      void *place = tvmffi_i_field_at(*out, m->offset);
      TVMFFIObject *o = NULL;
      if (m->storage == TVMFFI_I_STORED_OBJECT)
        o = *(tvmffi_i_object_slot *)place;
      else if (m->storage &&
               ((TVMFFIAny *)place)->type_index >= kTVMFFIStaticObjectBegin)
        o = ((TVMFFIAny *)place)->v_obj;
      if (o) tvmffi_i_retain(o);
    }
  }
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_class_set_value(const TVMFFIFieldInfo *f,
                                             void *self,
                                             const TVMFFIAny *value) {
  void *place = tvmffi_i_field_at(self, f->offset);
  TVMFFIAny args[2], result = tvmffi_none();
  if (!(f->flags & kTVMFFIFieldFlagBitSetterIsFunctionObj))
    return ((TVMFFIFieldSetter)(uintptr_t)f->setter)(place, value);
  args[0] = tvmffi_ptr(place);
  args[1] = *value;
  TVMFFI_TRY(TVMFFIFunctionCall(f->setter, args, 2, &result));
  tvmffi_i_any_release(&result);
  return 0;
}

/* Sets a field to a value that the ABI may be unable to express, one with a
   negative type index: tvmffi_i_settle makes a string of a slice, and refuses
   an unsigned integer above INT64_MAX. */
TVMFFI_I_INLINE int tvmffi_i_class_set_field(const TVMFFIFieldInfo *f,
                                             void *self,
                                             const TVMFFIAny *value) {
  TVMFFIAny owned = tvmffi_none();
  int code;
  if (TVMFFI_I_LIKELY(value->type_index >= 0))
    return tvmffi_i_class_set_value(f, self, value);
  TVMFFI_TRY(tvmffi_i_settle(value, &owned));
  code = tvmffi_i_class_set_value(f, self, &owned);
  tvmffi_i_any_release(&owned);
  return code;
}

/* Sets a field that no value is given for. TypeError if it is required. */
TVMFFI_I_INLINE int tvmffi_i_class_set_default(const tvmffi_i_class *c,
                                               const TVMFFIFieldInfo *f,
                                               void *self) {
  const TVMFFIAny *value = &f->default_value_or_factory;
  TVMFFIAny made = tvmffi_none();
  int code;
  if (!(f->flags & kTVMFFIFieldFlagBitMaskHasDefault)) {
    if (f->flags & kTVMFFIFieldFlagBitMaskInitOff) return 0;
    return tvmffi_i_raise(
        "TypeError", "TVMFFI_NEW(%s) missing required %sargument: '%s'", c->key,
        f->flags & kTVMFFIFieldFlagBitMaskKwOnly ? "keyword-only " : "",
        f->name.data);
  }
  if (f->flags & kTVMFFIFieldFlagBitMaskDefaultFromFactory) {
    TVMFFI_TRY(TVMFFIFunctionCall(value->v_obj, NULL, 0, &made));
    value = &made;
  }
  code = tvmffi_i_class_set_field(f, self, value);
  tvmffi_i_any_release(&made);
  return code ? tvmffi_error_context(code, "%s.%s", c->key, f->name.data) : 0;
}

/* Sets the fields of a new object. `values` go to the fields that Python's
   constructor takes by position: first those without a default, then those with
   one. Both times, a parent's fields come first. All other fields get their
   defaults. The errors have upstream's words. */
TVMFFI_I_INLINE int tvmffi_i_class_set_fields(const tvmffi_i_class *c,
                                              void *self,
                                              const TVMFFIAny *values,
                                              int32_t n) {
  const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(c->index), *t;
  const int64_t named =
      kTVMFFIFieldFlagBitMaskInitOff | kTVMFFIFieldFlagBitMaskKwOnly;
  const TVMFFIFieldInfo *f;
  int32_t used = 0, depth, i, count;
  int pass, optional;
  for (pass = 0; pass < 2; ++pass)
    for (depth = 0; depth <= info->type_depth; ++depth) {
      t = tvmffi_i_ancestor(info, depth);
      f = tvmffi_i_fields_of(t, &count);
      for (i = 0; i < count; ++i, ++f) {
        optional = (f->flags & kTVMFFIFieldFlagBitMaskHasDefault) != 0;
        if (optional != pass) continue;
        if (!(f->flags & named) && used < n)
          TVMFFI_TRY_CONTEXT(tvmffi_i_class_set_field(f, self, &values[used++]),
                             "%s.%s", c->key, f->name.data);
        else
          TVMFFI_TRY(tvmffi_i_class_set_default(c, f, self));
      }
    }
  if (used == n) return 0;
  return tvmffi_i_raise("TypeError",
                        "TVMFFI_NEW(%s) takes at most %d positional "
                        "argument(s), but %d were given",
                        c->key, (int)used, (int)n);
}

TVMFFI_I_INLINE int tvmffi_i_class_new(tvmffi_i_owner to, tvmffi_i_class *c,
                                       TVMFFIObjectHandle *out,
                                       const TVMFFIAny *values, int32_t n) {
  TVMFFIObjectHandle self = NULL;
  int code;
  TVMFFI_TRY(tvmffi_i_check_made(values, n));
  TVMFFI_TRY(tvmffi_i_class_make(c, &self));
  code = tvmffi_i_class_set_fields(c, self, values, n);
  if (code)
    tvmffi_i_release(self);
  else
    code = tvmffi_i_hand(to, (TVMFFIObject *)self);
  if (!code) *out = self;
  return code;
}

TVMFFI_I_INLINE int tvmffi_i_class_call_new(void *handle, const TVMFFIAny *args,
                                            int32_t n, TVMFFIAny *result) {
  TVMFFIObjectHandle self = NULL;
  (void)args, (void)n;
  TVMFFI_TRY(tvmffi_i_class_make((tvmffi_i_class *)handle, &self));
  return tvmffi_i_put_object(NULL, result, (TVMFFIObject *)self);
}

TVMFFI_I_INLINE int tvmffi_i_class_call_copy(void *handle,
                                             const TVMFFIAny *args, int32_t n,
                                             TVMFFIAny *result) {
  tvmffi_i_class *c = (tvmffi_i_class *)handle;
  TVMFFIObjectHandle self = NULL;
  if (n != 1 || !args[0].v_obj ||
      !tvmffi_is_instance(args[0].type_index, c->index))
    return tvmffi_i_raise("TypeError",
                          "`%s.__ffi_shallow_copy__` takes one object of its "
                          "type",
                          c->key);
  TVMFFI_TRY(tvmffi_i_class_copy(c, args[0].v_obj, &self));
  return tvmffi_i_put_object(NULL, result, (TVMFFIObject *)self);
}
