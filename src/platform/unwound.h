/* ======== Unwound calls ================================== >>platform/unwound
   what runs when a call is unwound */

#pragma once

#include "../head.h"

/* TVMFFI_I_UNWOUND defines `static int name params`, which returns the value of
   `call`. If an exception or pthread_exit unwinds the call, end() runs, a
   static function without parameters. A longjmp does not run end(). In C code
   that is compiled without exceptions, end() runs only for the function that
   TVMFFI_I_UNWOUND_IN_C defines. There can be only one such function, because
   GNU ld replaces all local personality routines of a library by the first. */
#if TVMFFI_I_GNU && defined(__EXCEPTIONS)
/* With exceptions enabled, the cleanup attribute calls a function. */
#define TVMFFI_I_UNWOUND(name, params, call, end)                      \
  static void name##_unwound(const int *has_returned) {                \
    if (!*has_returned) end();                                         \
  }                                                                    \
  TVMFFI_I_NOINLINE int name params {                                  \
    int has_returned __attribute__((__cleanup__(name##_unwound))) = 0; \
    const int code = (call);                                           \
    has_returned = 1;                                                  \
    return code;                                                       \
  }
#else
#define TVMFFI_I_UNWOUND(name, params, call, end) \
  TVMFFI_I_INLINE int name params { return (call); }
#endif

#if defined(TVMFFI_I_PERSONALITY)
/* Unwinding ignores the cleanup attribute. Instead, the unwinder calls a
   personality routine (Itanium C++ ABI: Exception Handling, level I). The asm
   stands after the call, so that the call is not a tail call. */
enum { TVMFFI_I_CLEANUP_PHASE = 2, TVMFFI_I_CONTINUE_UNWIND = 8 };
#define TVMFFI_I_UNWOUND_IN_C(name, params, call, end)               \
  static int name##_unwound(int version, int actions, uint64_t kind, \
                            void *exception, void *context) {        \
    (void)version, (void)kind, (void)exception, (void)context;       \
    if (actions & TVMFFI_I_CLEANUP_PHASE) end();                     \
    return TVMFFI_I_CONTINUE_UNWIND;                                 \
  }                                                                  \
  TVMFFI_I_NOINLINE int name params {                                \
    const int code = (call);                                         \
    TVMFFI_I_PERSONALITY(name##_unwound);                            \
    return code;                                                     \
  }
#else
#define TVMFFI_I_UNWOUND_IN_C(name, params, call, end) \
  TVMFFI_I_UNWOUND(name, params, call, end)
#endif
