// The functions of ops.c, by upstream's C++ headers.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>

#include "plain.h"

namespace ffi = tvm::ffi;

static void Expect(const ffi::TensorView &x, const char *name, int32_t ndim) {
  if (x.device().device_type != kDLCPU)
    TVM_FFI_THROW(ValueError) << name << ": expected the CPU";
  DLDataType dtype = x.dtype();
  if (dtype.code != kDLFloat || dtype.bits != 32 || dtype.lanes != 1)
    TVM_FFI_THROW(TypeError) << name << ": expected float32, got " << dtype;
  if (x.ndim() != ndim)
    TVM_FFI_THROW(ValueError) << name << ": expected " << ndim
                              << " dimensions, got " << x.ndim();
  if (!x.IsContiguous())
    TVM_FFI_THROW(ValueError) << name << ": expected a contiguous tensor";
}

static void ExpectDim(const char *name, int64_t have, int64_t want) {
  if (have != want)
    TVM_FFI_THROW(ValueError) << name << ": expected " << want << ", got "
                              << have;
}

void nop() {}

int64_t add(int64_t a, int64_t b) { return a + b; }

double fma3(double a, double b, double c) { return a * b + c; }

int64_t length(ffi::String text) { return static_cast<int64_t>(text.size()); }

int64_t call_back(ffi::Function f, int64_t n) {
  return f(n).cast<int64_t>();
}

int64_t total(ffi::Array<int64_t> values) {
  int64_t sum = 0;
  for (int64_t value : values) sum += value;
  return sum;
}

void softmax(ffi::TensorView x, ffi::TensorView y) {
  Expect(x, "x", 2);
  Expect(y, "y", 2);
  ExpectDim("rows of y", y.size(0), x.size(0));
  ExpectDim("columns of y", y.size(1), x.size(1));
  plain_softmax(static_cast<const float *>(x.data_ptr()),
                static_cast<float *>(y.data_ptr()), x.size(0), x.size(1));
}

void matmul(ffi::TensorView a, ffi::TensorView b, ffi::TensorView c) {
  Expect(a, "a", 2);
  Expect(b, "b", 2);
  Expect(c, "c", 2);
  ExpectDim("rows of b", b.size(0), a.size(1));
  ExpectDim("rows of c", c.size(0), a.size(0));
  ExpectDim("columns of c", c.size(1), b.size(1));
  plain_matmul(static_cast<const float *>(a.data_ptr()),
               static_cast<const float *>(b.data_ptr()),
               static_cast<float *>(c.data_ptr()), a.size(0), a.size(1),
               b.size(1));
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(nop, nop)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(add, add)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(fma3, fma3)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(length, length)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(call_back, call_back)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(total, total)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(softmax, softmax)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(matmul, matmul)
