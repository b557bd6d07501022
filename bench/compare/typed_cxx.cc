// The functions of typed_ops.c, by upstream's C++ headers.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/function.h>

namespace ffi = tvm::ffi;

void nop() {}

int64_t add(int64_t a, int64_t b) { return a + b; }

double fma3(double a, double b, double c) { return a * b + c; }

int64_t sum(ffi::Array<int64_t> items) {
  int64_t sum = 0;
  for (int64_t item : items) sum += item;
  return sum;
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(nop, nop)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(add, add)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(fma3, fma3)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(sum, sum)
