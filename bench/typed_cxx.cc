// typed_cxx.cc: the functions of typed.c, by upstream's C++ headers.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/string.h>

namespace ffi = tvm::ffi;

static int64_t Sum0() { return 0; }

static int64_t Sum3(int64_t a, int64_t b, int64_t c) { return a + b + c; }

static int64_t Sum8(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e,
                    int64_t f, int64_t g, int64_t h) {
  return a + b + c + d + e + f + g + h;
}

static int64_t Sum16(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e,
                     int64_t f, int64_t g, int64_t h, int64_t i, int64_t j,
                     int64_t k, int64_t l, int64_t m, int64_t n, int64_t o,
                     int64_t p) {
  return a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p;
}

static double Fma3(double a, double b, double c) { return a * b + c; }

static int64_t Length(const ffi::String &text) {
  return static_cast<int64_t>(text.size());
}

static int64_t First(const ffi::Array<int64_t> &items) { return items[0]; }

static int64_t Rank(ffi::TensorView x) { return x.ndim(); }

TVM_FFI_DLL_EXPORT_TYPED_FUNC(bench_sum_0, Sum0)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(bench_sum_3, Sum3)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(bench_sum_8, Sum8)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(bench_sum_16, Sum16)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(bench_fma_3, Fma3)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(bench_length, Length)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(bench_first, First)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(bench_rank, Rank)
