/* ======== Functions: function objects and calls ==== >>core/function_object */
#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "raise.h"
#include "object.h"

typedef struct {
  TVMFFIObject base;
  TVMFFIFunctionCell cell;
} tvmffi_i_function_object;

typedef struct {
  tvmffi_i_function_object function;
  void *self;
  TVMFFISafeCallType call;
  void (*deleter)(void *self);
} tvmffi_i_closure;

static int tvmffi_i_call_closure(void *handle, const TVMFFIAny *args,
                                 int32_t num_args, TVMFFIAny *result) {
  tvmffi_i_closure *c = (tvmffi_i_closure *)handle;
  TVMFFI_ASSERT(c->call && c->call != tvmffi_i_call_closure);
  return c->call(c->self, args, num_args, result);
}

TVMFFI_I_INLINE void tvmffi_i_destroy_closure(void *self, int flags) {
  tvmffi_i_closure *c = (tvmffi_i_closure *)self;
  TVMFFI_ASSERT(c->function.cell.safe_call == tvmffi_i_call_closure);
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) && c->deleter)
    c->deleter(c->self);
  tvmffi_i_delete_sized(self, flags, sizeof(*c));
}
TVMFFI_I_DELETER(closure)

static void tvmffi_i_delete_function(void *self, int flags) {
  TVMFFI_ASSERT(((tvmffi_i_function_object *)self)->cell.safe_call !=
                tvmffi_i_call_closure);
  tvmffi_i_delete_sized(self, flags, sizeof(tvmffi_i_function_object));
}

/* If `self` and `deleter` are NULL, a call passes the function's own handle as
   `self`, as in upstream. */
int TVMFFIFunctionCreate(void *self, TVMFFISafeCallType safe_call,
                         void (*deleter)(void *self), TVMFFIObjectHandle *out) {
  tvmffi_i_function_object *f;
  int closed = self || deleter;
  TVMFFI_I_NOT_NULL(safe_call);
  TVMFFI_I_NOT_NULL(out);
  f = (tvmffi_i_function_object *)tvmffi_i_object(
      closed ? sizeof(tvmffi_i_closure) : sizeof(*f), kTVMFFIFunction,
      closed ? tvmffi_i_delete_closure : tvmffi_i_delete_function);
  if (!f) return -1;
  TVMFFI_ASSERT(f->base.combined_ref_count == TVMFFI_I_BOTH_ONE);
  f->cell.safe_call = safe_call;
  f->cell.cpp_call = NULL;
  if (closed) {
    tvmffi_i_closure *c = (tvmffi_i_closure *)(void *)f;
    f->cell.safe_call = tvmffi_i_call_closure;
    c->self = self;
    c->call = safe_call;
    c->deleter = deleter;
  }
  *out = f;
  return 0;
}

/* Returns a new function that owns `self`, or NULL with an error. Takes
   ownership of `self`, even on failure. */
TVMFFI_I_UNUSED static TVMFFIObject *tvmffi_i_new_closure(
    void *self, TVMFFISafeCallType call, void (*deleter)(void *self)) {
  TVMFFIObjectHandle f = NULL;
  TVMFFI_ASSERT(self && deleter);
  if (TVMFFIFunctionCreate(self, call, deleter, &f)) deleter(self);
  return (TVMFFIObject *)f;
}

/* Slow path of TVMFFIFunctionCall: calls a function of a derived type, or
   raises an error for bad arguments. */
TVMFFI_I_SLOW int tvmffi_i_check_call(TVMFFIObjectHandle func,
                                      const TVMFFIAny *args, int32_t num_args,
                                      TVMFFIAny *result) {
  static const char name[] = "TVMFFIFunctionCall";
  TVMFFISafeCallType call;
  TVMFFI_TRY(tvmffi_i_check_type(name, "func", func, kTVMFFIFunction));
  if (!result) return tvmffi_i_null(name, "result");
  if (num_args < 0)
    return tvmffi_i_value_error("%s: num_args is %d", name, (int)num_args);
  if (num_args && !args) return tvmffi_i_null(name, "args");
  call = TVMFFIFunctionGetCellPtr(func)->safe_call;
  return call ? call(func, args, num_args, result)
              : tvmffi_i_null(name, "func's safe_call");
}

TVMFFI_I_ON_LINE int TVMFFIFunctionCall(TVMFFIObjectHandle func,
                                        TVMFFIAny *args, int32_t num_args,
                                        TVMFFIAny *result) {
  const tvmffi_i_function_object *f = (tvmffi_i_function_object *)func;
  TVMFFI_ASSERT(TVMFFI_I_IS_FREE);
  if (TVMFFI_I_LIKELY(f && result && (args ? num_args >= 0 : num_args == 0) &&
                      f->base.type_index == kTVMFFIFunction &&
                      f->cell.safe_call))
    return f->cell.safe_call(func, args, num_args, result);
  return tvmffi_i_check_call(func, args, num_args, result);
}
