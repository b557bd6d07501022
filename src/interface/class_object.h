/* ======== Instances: objects of struct types ==== >>interface/class_object */

#pragma once

#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "value.h"
#include "error.h"
#include "scope.h"
#include "word.h"
#include "compound.h"
#include "class.h"

/* The state of this file's destructors in this thread. */
TVMFFI_I_INLINE tvmffi_i_destroying *tvmffi_i_class_destroying(void) {
#if defined(TVMFFI_I_THREAD)
  static TVMFFI_I_THREAD tvmffi_i_destroying destroying;
  return &destroying;
#else
  return TVMFFI_I_OF_THREAD(tvmffi_i_destroying, TVMFFI_I_KEY_DESTROYING);
#endif
}

/* The object that a field holds, whatever its C++ type is, with a reference
   more; NULL if it holds none: what its getter gives, if a pointer to that
   stands in the field. */
TVMFFI_I_COLD TVMFFIObject *tvmffi_i_foreign_object(const TVMFFIFieldInfo *f,
                                                    void *field) {
  TVMFFIAny value = tvmffi_none();
  int64_t at, step = (int64_t)sizeof(tvmffi_i_held);
  if (!f->getter) return NULL;
  if (f->getter(field, &value)) {
    tvmffi_error_clear();
    return NULL;
  }
  if (value.type_index >= kTVMFFIStaticObjectBegin)
    for (at = 0; at + step <= f->size; at += step)
      if (*(tvmffi_i_held *)tvmffi_i_field_at(field, at) == value.v_obj)
        return value.v_obj;
  tvmffi_any_release(&value);
  return NULL;
}

/* Retains, or releases, what the fields of a foreign type hold, and those of
   its ancestors. */
TVMFFI_I_COLD void tvmffi_i_foreign_fields(int32_t index, void *self,
                                           int retain) {
  const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(index), *t;
  TVMFFIObject *error = tvmffi_error_take(); /* a getter's would replace it */
  const TVMFFIFieldInfo *f;
  int32_t depth, i, n;
  for (depth = info->type_depth; depth >= 0; --depth) {
    t = depth == info->type_depth ? info : info->type_ancestors[depth];
    f = tvmffi_i_fields_of(t, &n);
    for (i = 0; i < n; ++i, ++f) {
      void *field = tvmffi_i_field_at(self, f->offset);
      TVMFFIObject *held = tvmffi_i_foreign_object(f, field);
      if (!held || retain) continue;
      tvmffi_release(held);
      tvmffi_release(held);
    }
  }
  (void)tvmffi_error_raise(error);
}

/* Ends an object: from the child on, the user's destructor, then the fields. */
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
      if (m->kept == TVMFFI_I_KEPT_OBJECT) {
        TVMFFIObject *object = *(tvmffi_i_held *)place;
        *(tvmffi_i_held *)place = NULL;
        tvmffi_release(object);
      } else if (m->kept) {
        tvmffi_any_release((TVMFFIAny *)place);
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

/* Allocates an object: zeroed, texts empty. */
TVMFFI_I_INLINE int tvmffi_i_class_make(tvmffi_i_class *c,
                                        TVMFFIObjectHandle *out) {
  TVMFFICustomAllocator *from = TVMFFIGetCustomAllocator();
  const tvmffi_i_member *m;
  TVMFFIObject *self;
  int32_t i;
  TVMFFI_TRY(tvmffi_i_class_ready(c));
  self = (TVMFFIObject *)from->allocate((size_t)c->size, (size_t)c->alignment,
                                        c->index, from->context);
  if (!self) return -1;
  for (i = 0; i < c->size / (int32_t)sizeof(tvmffi_i_held); ++i)
    ((tvmffi_i_held *)(void *)self)[i] = NULL;
  self->combined_ref_count = TVMFFI_I_BOTH_ONE;
  self->type_index = c->index;
  self->deleter = c->deleter;
  for (; c && c->members; c = c->parent)
    for (m = c->members; m->what; ++m)
      if (m->kept >= TVMFFI_I_KEPT_STR && !tvmffi_i_is_optional(m->type))
        ((TVMFFIAny *)tvmffi_i_field_at(self, m->offset))->type_index =
            m->kept == TVMFFI_I_KEPT_STR ? kTVMFFISmallStr : kTVMFFISmallBytes;
  *out = self;
  return 0;
}

/* Copies an object: its bytes, with a reference more to what they hold. */
TVMFFI_I_INLINE int tvmffi_i_class_copy(tvmffi_i_class *c, void *from,
                                        TVMFFIObjectHandle *out) {
  const size_t word = sizeof(tvmffi_i_held);
  const tvmffi_i_member *m;
  tvmffi_i_held *to;
  size_t i;
  TVMFFI_TRY(tvmffi_i_class_make(c, out));
  to = (tvmffi_i_held *)*out;
  for (i = sizeof(TVMFFIObject) / word; i < (size_t)c->size / word; ++i)
    to[i] = ((tvmffi_i_held *)from)[i];
  for (; c->index != kTVMFFIObject; c = c->parent) {
    if (!c->members) {
      tvmffi_i_foreign_fields(c->index, *out, 1);
      return 0;
    }
    for (m = c->members; m->what; ++m) {
      void *place = tvmffi_i_field_at(*out, m->offset);
      TVMFFIObject *o = NULL;
      if (m->kept == TVMFFI_I_KEPT_OBJECT)
        o = *(tvmffi_i_held *)place;
      else if (m->kept &&
               ((TVMFFIAny *)place)->type_index >= kTVMFFIStaticObjectBegin)
        o = ((TVMFFIAny *)place)->v_obj;
      if (o) tvmffi_retain(o);
    }
  }
  return 0;
}

/* Sets a field by its registered setter. */
TVMFFI_I_INLINE int tvmffi_i_class_set_field(const TVMFFIFieldInfo *f,
                                             void *self,
                                             const TVMFFIAny *value) {
  void *place = tvmffi_i_field_at(self, f->offset);
  TVMFFIAny args[2], result = tvmffi_none();
  if (!(f->flags & kTVMFFIFieldFlagBitSetterIsFunctionObj))
    return ((TVMFFIFieldSetter)(uintptr_t)f->setter)(place, value);
  args[0] = tvmffi_ptr(place);
  args[1] = *value;
  TVMFFI_TRY(TVMFFIFunctionCall(f->setter, args, 2, &result));
  tvmffi_any_release(&result);
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_class_set_default(const TVMFFIFieldInfo *f,
                                               void *self) {
  TVMFFIAny value = tvmffi_none();
  int code;
  if (!(f->flags & kTVMFFIFieldFlagBitMaskHasDefault)) return 0;
  if (!(f->flags & kTVMFFIFieldFlagBitMaskDefaultFromFactory))
    return tvmffi_i_class_set_field(f, self, &f->default_value_or_factory);
  TVMFFI_TRY(
      tvmffi_i_call_away(f->default_value_or_factory.v_obj, NULL, 0, &value));
  code = tvmffi_i_class_set_field(f, self, &value);
  tvmffi_any_release(&value);
  return code;
}

/* Sets the fields of a new object: the first ones that Python's constructor
   takes by position (parents first, then those without a default first) by the
   values, all others by their defaults. */
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
      t = depth == info->type_depth ? info : info->type_ancestors[depth];
      f = tvmffi_i_fields_of(t, &count);
      for (i = 0; i < count; ++i, ++f) {
        optional = (f->flags & kTVMFFIFieldFlagBitMaskHasDefault) != 0;
        if (optional != pass) continue;
        if (!(f->flags & named) && used < n)
          TVMFFI_TRY_CONTEXT(tvmffi_i_class_set_field(f, self, &values[used++]),
                             "%s.%s", c->key, f->name.data ? f->name.data : "");
        else
          TVMFFI_TRY(tvmffi_i_class_set_default(f, self));
      }
    }
  if (used == n) return 0;
  return TVMFFI_RAISE("TypeError",
                      "Type `%s` has %d fields by position, but got %d values",
                      c->key, (int)used, (int)n);
}

TVMFFI_I_INLINE int tvmffi_i_class_new(tvmffi_i_class *c,
                                       TVMFFIObjectHandle *out,
                                       const TVMFFIAny *values, int32_t n) {
  TVMFFIObjectHandle self = NULL;
  int code;
  if (!out)
    return TVMFFI_RAISE("TypeError", "tvmffi_new(%s): NULL for the result",
                        c->key);
  *out = NULL;
  TVMFFI_TRY(tvmffi_i_check_args(values, n));
  TVMFFI_TRY(tvmffi_i_class_make(c, &self));
  code = tvmffi_i_class_set_fields(c, self, values, n);
  if (code)
    tvmffi_release(self);
  else
    code = tvmffi_i_keep((TVMFFIObject *)self);
  if (!code) *out = self;
  return code;
}

TVMFFI_I_INLINE int tvmffi_i_class_call_new(void *handle, const TVMFFIAny *args,
                                            int32_t n, TVMFFIAny *result) {
  TVMFFIObjectHandle self = NULL;
  (void)args, (void)n;
  TVMFFI_TRY(tvmffi_i_class_make((tvmffi_i_class *)handle, &self));
  *result = tvmffi_obj(self);
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_class_call_copy(void *handle,
                                             const TVMFFIAny *args, int32_t n,
                                             TVMFFIAny *result) {
  tvmffi_i_class *c = (tvmffi_i_class *)handle;
  TVMFFIObjectHandle self = NULL;
  if (n != 1 || !args[0].v_obj ||
      !tvmffi_is_instance(args[0].type_index, c->index))
    return TVMFFI_RAISE("TypeError",
                        "`%s.__ffi_shallow_copy__` takes one object of its "
                        "type",
                        c->key);
  TVMFFI_TRY(tvmffi_i_class_copy(c, args[0].v_obj, &self));
  *result = tvmffi_obj(self);
  return 0;
}
