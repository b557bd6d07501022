/* ======== Global functions =============================== >>interface/global
   a global function called without a look-up */

#pragma once

#include "../head.h"
#include "../base.h"

/* A function object in static memory. Its reference count is pinned, so the
   object is never freed. The first call sets `call` and `self`, and later calls
   need no look-up. With upstream's library, `call` looks up the name each
   time. */
typedef struct {
  TVMFFIObject base;
  TVMFFIFunctionCell cell;
  const char *name;
  void *self; /* the first argument of `call` */
  void *call; /* a TVMFFISafeCallType; NULL before the first call */
} tvmffi_global;

/* Declares `id`, a static function object, at file or function scope:
       TVMFFI_GLOBAL(add, "demo.add");
       TVMFFI_TRY(tvmffi_call(add, &sum, 1, 2));
   Calling `id` calls the function that is registered under the name `text`, a
   string literal, at that time. With this runtime only the first call looks up
   the name, while tvmffi_call("demo.add", ...) always does. If the name is
   absent, the call fails like a call by name. `id` owns nothing. `id` can also
   be an argument (in C99: tvmffi_obj(add)). The callee must not keep the
   argument after the library that contains this file is unloaded.
   Thread-safe. */
#define TVMFFI_GLOBAL(id, text)                                           \
  static tvmffi_global id[1] = {                                          \
      {{TVMFFI_I_PINNED | TVMFFI_I_WEAK_ONE, kTVMFFIFunction, 0, {NULL}}, \
       {tvmffi_i_call_global, NULL},                                      \
       text,                                                              \
       NULL,                                                              \
       NULL}}

/* Sets f->call and f->self. Concurrent threads store equal values. */
TVMFFI_I_ONCE(int, tvmffi_i_bind_global, (tvmffi_global *f)) {
  void *call = NULL;
  TVMFFIAny args[2] = {tvmffi_str(f->name), tvmffi_ptr(&call)};
  TVMFFIAny self = tvmffi_none();
  int code = tvmffi_i_call_if_defined("tvmffi.GlobalCell", args, 2, &self);
  if (code && code != 1) return code;
  if (code) {
    self = tvmffi_ptr(f->name);
    call = (void *)(uintptr_t)tvmffi_i_call_by_name;
  }
  TVMFFI_I_STORE(&f->self, self.v_ptr);
  TVMFFI_I_STORE(&f->call, call);
  return 0;
}

/* The TVMFFISafeCallType of every TVMFFI_GLOBAL. Calls f->call. */
TVMFFI_I_INLINE int tvmffi_i_call_global(void *self, const TVMFFIAny *args,
                                         int32_t num_args, TVMFFIAny *result) {
  tvmffi_global *f = (tvmffi_global *)self;
  void *call = TVMFFI_I_LOAD(&f->call);
  if (TVMFFI_I_UNLIKELY(!call)) {
    TVMFFI_TRY(tvmffi_i_bind_global(f));
    call = TVMFFI_I_LOAD(&f->call);
  }
  return ((TVMFFISafeCallType)(uintptr_t)call)(TVMFFI_I_LOAD_RELAXED(&f->self),
                                               args, num_args, result);
}

TVMFFI_I_INLINE TVMFFIAny tvmffi_i_global_obj(const tvmffi_global *f) {
  return tvmffi_i_pointer(kTVMFFIFunction, f);
}
