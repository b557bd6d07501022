/* ======== Late functions: missing in older runtimes ========== >>head/late */
/* A library may be loaded into a process whose runtime is older than this
   header and lacks functions of the ABI. Lazy binding lets the library load,
   but a call of a missing function ends the process. So the name of each late
   function, one that came after version 0.1.0, is a macro for an inline
   function. If the function is missing, the inline function raises a
   RuntimeError that names the release to install. The reference is weak, so the
   library also loads with immediate binding (-z now).

   In a program with its own runtime no function is missing. Windows refuses to
   load a library if a function is missing. */

#pragma once

#include "config.h"
#include "compiler.h"
#include "dlpack.h"
#include "abi.h"

#if TVMFFI_I_GNU && defined(__ELF__) && !defined(__TINYC__) &&      \
    !defined(TVMFFI_IMPLEMENTATION) && !defined(TVMFFI_PREFIX) &&   \
    !TVMFFI_DYNAMIC && !TVMFFI_STATIC && !TVMFFI_SHARE_INTERFACE && \
    !TVMFFI_NO_DLOPEN && !TVMFFI_ABI_ONLY
#define TVMFFI_I_MAY_LACK 1
#else
#define TVMFFI_I_MAY_LACK 0
#endif

#if TVMFFI_I_MAY_LACK
/* 1 if the process's runtime has the function, else 0. */
#define TVMFFI_I_HAS(name) (tvmffi_i_weak_##name != NULL)

#define TVMFFI_I_WEAK_REFERENCE(name, result, parameters)       \
  TVMFFI_I_UNUSED static result tvmffi_i_weak_##name parameters \
      __attribute__((__weakref__(#name)));

TVMFFI_I_COLD void tvmffi_i_raise_missing(const char *name, const char *since) {
  const char *parts[4] = {
      name, " is not in this process's libtvm_ffi: install apache-tvm-ffi ",
      since, " or newer"};
  TVMFFIErrorSetRaisedFromCStrParts("RuntimeError", parts, 4);
}

/* Defines the function behind a late function's macro. `since` is the first
   release with the function; the last argument is the result without it. */
#define TVMFFI_I_LATE(name, since, result, parameters, arguments, ...) \
  TVMFFI_I_WEAK_REFERENCE(name, result, parameters)                    \
  TVMFFI_I_INLINE result tvmffi_i_late_##name parameters {             \
    result tvmffi_missing = __VA_ARGS__;                               \
    if (TVMFFI_I_LIKELY(TVMFFI_I_HAS(name)))                           \
      return tvmffi_i_weak_##name arguments;                           \
    tvmffi_i_raise_missing(#name, since);                              \
    return tvmffi_missing;                                             \
  }

#ifdef __cplusplus
extern "C" { /* so that the ABI's functions can be declared again */
#endif
TVMFFI_I_WEAK_REFERENCE(TVMFFIGetVersion, void, (TVMFFIVersion * out))
TVMFFI_I_LATE(TVMFFIHandleInitOnce, "0.1.5", int,
              (void **handle, int (*init)(void **result)), (handle, init), -1)
TVMFFI_I_LATE(TVMFFIHandleDeinitOnce, "0.1.5", int,
              (void **handle, int (*deinit)(void *handle)), (handle, deinit),
              -1)
TVMFFI_I_LATE(TVMFFITensorCreateUnsafeView, "0.1.6", int,
              (TVMFFIObjectHandle source, const DLTensor *prototype,
               TVMFFIObjectHandle *out),
              (source, prototype, out), -1)
TVMFFI_I_LATE(TVMFFIErrorCreateWithCauseAndExtraContext, "0.1.8.post2", int,
              (const TVMFFIByteArray *kind, const TVMFFIByteArray *message,
               const TVMFFIByteArray *backtrace, TVMFFIObjectHandle cause,
               TVMFFIObjectHandle context, TVMFFIObjectHandle *out),
              (kind, message, backtrace, cause, context, out), -1)
TVMFFI_I_LATE(TVMFFIGetCustomAllocator, "0.1.13.post2", TVMFFICustomAllocator *,
              (void), (), NULL)
TVMFFI_I_LATE(TVMFFISetCustomAllocator, "0.1.13.post2", int,
              (TVMFFICustomAllocator * allocator), (allocator), -1)
TVMFFI_I_LATE(TVMFFIBigIntFromByteArray, "0.1.14.post0", int,
              (const TVMFFIByteArray *input, TVMFFIAny *out), (input, out), -1)
TVMFFI_I_LATE(TVMFFIBigIntGetContentByteArray, "0.1.14.post0", TVMFFIByteArray,
              (const TVMFFIAny *value), (value), {NULL, 0})
#ifdef __cplusplus
}
#endif

#define TVMFFIHandleInitOnce tvmffi_i_late_TVMFFIHandleInitOnce
#define TVMFFIHandleDeinitOnce tvmffi_i_late_TVMFFIHandleDeinitOnce
#define TVMFFITensorCreateUnsafeView tvmffi_i_late_TVMFFITensorCreateUnsafeView
#define TVMFFIErrorCreateWithCauseAndExtraContext \
  tvmffi_i_late_TVMFFIErrorCreateWithCauseAndExtraContext
#define TVMFFIGetCustomAllocator tvmffi_i_late_TVMFFIGetCustomAllocator
#define TVMFFISetCustomAllocator tvmffi_i_late_TVMFFISetCustomAllocator
#define TVMFFIBigIntFromByteArray tvmffi_i_late_TVMFFIBigIntFromByteArray
#define TVMFFIBigIntGetContentByteArray \
  tvmffi_i_late_TVMFFIBigIntGetContentByteArray
#else
#define TVMFFI_I_HAS(name) 1
#endif
