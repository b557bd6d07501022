/* A kernel like those that Apache TVM compiles: position-independent, with
   unwind tables, and registered by a constructor. */

#include "tvmffi.h"

int __tvm_ffi_twice(void *self, const TVMFFIAny *args, int32_t num_args,
                    TVMFFIAny *result);
int __tvm_ffi_twice(void *self, const TVMFFIAny *args, int32_t num_args,
                    TVMFFIAny *result) {
  (void)self;
  if (num_args != 1 || args->type_index != kTVMFFIInt) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "twice takes one integer");
    return -1;
  }
  *result = *args;
  result->v_int64 *= 2;
  return 0;
}

__attribute__((constructor)) static void register_kernels(void) {
  (void)TVMFFIEnvModRegisterSystemLibSymbol(
      "__tvm_ffi_twice", (void *)(uintptr_t)&__tvm_ffi_twice);
}
