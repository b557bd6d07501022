/* tvmffi.h with the options of the wasm module, for its runtime and for C files
   linked with it. Functions of WEB_KERNEL are in the system library, which
   JavaScript gets by tvm.systemLib(). */
#ifndef WEB_H_
#define WEB_H_

#define TVMFFI_FREESTANDING 1
#define TVMFFI_NO_THREADS 1
#define TVMFFI_NO_POOL 1
#define TVMFFI_NO_STDIO 1
#define TVMFFI_NO_BACKTRACE 1
#define TVMFFI_NO_DLOPEN 1
#include "tvmffi.h"

/* Puts a function made by TVMFFI_EXPORT into the system library, when the
   module starts. */
#define WEB_KERNEL(name)                                              \
  __attribute__((constructor)) static void web_enter_##name(void) {   \
    TVMFFISafeCallType call = __tvm_ffi_##name;                       \
    /* If memory is short, the library will not find it. */           \
    if (TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_" #name,       \
                                            (void *)(uintptr_t)call)) \
      tvmffi_error_clear();                                           \
  }

#endif
