/* ======== On load ======================================== >>interface/on_load
   a function that runs at a load */

#pragma once

#include "../head.h"
#include "../base.h"
#include "scope.h"
#include "function.h"

/* TVMFFI_I_CONSTRUCTS is 1 if the compiler supports constructors, functions
   that run before main or before dlopen returns. tcc ignores the attribute. */
#if defined(__cplusplus) || (TVMFFI_I_GNU && !defined(__TINYC__))
#define TVMFFI_I_CONSTRUCTS 1
#else
#define TVMFFI_I_CONSTRUCTS 0
#endif

/* 1 if the process has a TVM FFI runtime, else 0. With lazy binding, a library
   loads even without a runtime, but a call of a runtime function then ends the
   process. */
#define TVMFFI_I_HAS_RUNTIME TVMFFI_I_HAS(TVMFFIGetVersion)

#if TVMFFI_NO_STDIO
#define TVMFFI_I_NOT_LOADED(text) ((void)0)
#else
#define TVMFFI_I_NOT_LOADED(text) ((void)fputs(text, stderr))
#endif
#if defined(TVMFFI_LOAD_FAILED)
/* Passes the pending error to the port's hook, and drops it. */
TVMFFI_I_ONCE(void, tvmffi_i_tell_load_failed, (const char *name)) {
  TVMFFIObject *error = tvmffi_i_error_remove();
  if (error) {
    TVMFFI_LOAD_FAILED(name, TVMFFIErrorGetCellPtr(error)->kind.data,
                       TVMFFIErrorGetCellPtr(error)->message.data);
    tvmffi_i_release(error);
  }
}
#define TVMFFI_I_LOAD_FAILED(name) tvmffi_i_tell_load_failed(name)
#elif TVMFFI_NO_STDIO
#define TVMFFI_I_LOAD_FAILED(name) tvmffi_error_clear()
#else
#define TVMFFI_I_LOAD_FAILED(name)                               \
  (TVMFFI_I_NOT_LOADED(name " failed at the library's load: "), \
   tvmffi_error_print(stderr))
#endif

#if defined(__cplusplus) && !TVMFFI_I_GNU
#define TVMFFI_I_CONSTRUCTOR(run) \
  static void run(void);          \
  static const int run##_done = (run(), 0);
#elif TVMFFI_I_CONSTRUCTS
#define TVMFFI_I_CONSTRUCTOR(run) \
  __attribute__((__constructor__)) static void run(void);
#else
#define TVMFFI_I_CONSTRUCTOR(run) TVMFFI_I_UNUSED static void run(void);
#endif

/* Calls run() unless an earlier call has succeeded. *state is NULL before the
   first call and after a failure, the address `state` during a call, and `f`
   after a success. TVMFFIHandleInitOnce would deadlock in upstream's library if
   `run` uses a type of TVMFFI_TYPE for the first time. */
TVMFFI_I_ONCE(int, tvmffi_i_run_on_load,
              (void **state, tvmffi_func *f, int (*run)(void))) {
  int code;
  if (!tvmffi_i_cas_pointer(state, NULL, state))
    return TVMFFI_I_LOAD(state) == f
               ? 0
               : tvmffi_i_raise("RuntimeError", "%s is running already",
                                TVMFFI_I_LOAD(&f->name));
  TVMFFI_I_CATCH(code, TVMFFI_I_LOAD(&f->name), run())
  if (code) code = tvmffi_i_failed(f, code);
  TVMFFI_I_STORE(state, code ? NULL : f);
  return code;
}

/* Declares that `int function(void)`, defined above, runs when the library or
   program is loaded. Exports it as a packed function of the same name:
       static int set_up(void) { return TVMFFI_REGISTER("demo.f", f); }
       TVMFFI_ON_LOAD(set_up)
   The function returns 0 or an error's code. An error is printed to stderr
   (include <stdio.h>), or passed to the port's hook TVMFFI_LOAD_FAILED, and the
   library stays loaded. After a failure, Python's module.set_up() runs the
   function again and raises the new error. After a success, module.set_up()
   does nothing. If the compiler has no constructors (tcc), only
   module.set_up() runs the function. A call while the function runs raises a
   RuntimeError. The linker decides the order of several files. */
#define TVMFFI_ON_LOAD(function)                                              \
  TVMFFI_I_CONSTRUCTOR(tvmffi_construct_##function)                           \
  TVMFFI_EXPORT(function, none) {                                             \
    static void *tvmffi_state;                                                \
    TVMFFI_TRY(tvmffi_i_run_on_load(&tvmffi_state, &tvmffi_func_##function,   \
                                    (function)));                             \
    TVMFFI_RETURN();                                                          \
  }                                                                           \
  static void tvmffi_construct_##function(void) {                             \
    TVMFFIAny tvmffi_none_yet = TVMFFI_I_ZERO;                                \
    if (!TVMFFI_I_HAS_RUNTIME)                                                \
      TVMFFI_I_NOT_LOADED(#function                                           \
                          " did not run: the process has no libtvm_ffi\n");   \
    else if (__tvm_ffi_##function(NULL, NULL, 0, &tvmffi_none_yet))           \
      TVMFFI_I_LOAD_FAILED(#function);                                        \
  }
