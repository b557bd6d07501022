// Tensors: from and to DLPack, by the environment's allocator, views.
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/tvm_ffi.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <vector>

namespace ffi = tvm::ffi;
using ffi::Function;
using ffi::Tensor;

#define CHECK(x) TVM_FFI_CHECK(x, AssertionError)

static constexpr DLDataType kFloat32 = {kDLFloat, 32, 1};
static constexpr DLDevice kCPU = {kDLCPU, 0};
static int owners;  // DLPack tensors of ours that are alive

struct Matrix {
  DLManagedTensorVersioned managed = {};
  int64_t shape[2], strides[2];
  std::vector<float> data;

  Matrix(int64_t rows, int64_t columns)
      : shape{rows, columns}, strides{columns, 1}, data(rows * columns) {
    managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensorVersioned *self) {
      delete static_cast<Matrix *>(self->manager_ctx);
    };
    DLTensor &t = managed.dl_tensor;
    t.data = data.data();
    t.device = kCPU;
    t.ndim = 2;
    t.dtype = kFloat32;
    t.shape = shape;
    t.strides = strides;
    ++owners;
  }
  ~Matrix() { --owners; }
};

static double Sum(ffi::TensorView x) {
  if (x.device().device_type != kDLCPU)
    TVM_FFI_THROW(ValueError) << "sum: x is not on the CPU";
  if (x.dtype() != kFloat32)
    TVM_FFI_THROW(TypeError) << "sum: x is not float32";
  if (x.ndim() != 2)
    TVM_FFI_THROW(ValueError)
        << "sum: x has " << x.ndim() << " dimensions, expected 2";
  const char *data = static_cast<const char *>(x.data_ptr()) + x.byte_offset();
  const float *p = reinterpret_cast<const float *>(data);
  double total = 0;
  for (int64_t i = 0; i < x.size(0); ++i)
    for (int64_t j = 0; j < x.size(1); ++j)
      total += p[i * x.stride(0) + j * x.stride(1)];
  return total;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef().def("demo.sum", Sum);
}

static Tensor NewTensor(int64_t rows, int64_t columns) {
  auto matrix = std::make_unique<Matrix>(rows, columns);
  Tensor tensor = Tensor::FromDLPackVersioned(&matrix->managed);
  matrix.release();  // the tensor will call its deleter
  return tensor;
}

static void FromDLPackAndRead() {
  {
    Tensor tensor = NewTensor(2, 3);
    for (int i = 0; i < 6; ++i)
      static_cast<float *>(tensor.data_ptr())[i] = static_cast<float>(i);
    Function sum = Function::GetGlobalRequired("demo.sum");
    CHECK(sum(tensor).cast<double>() == 15 && owners == 1);
  }
  CHECK(owners == 0);
}

static void ToDLPack() {
  DLManagedTensorVersioned *out;
  {
    Tensor tensor = NewTensor(2, 2);
    out = tensor.ToDLPackVersioned();
    CHECK(out->dl_tensor.data == tensor.data_ptr());
  }
  CHECK(owners == 1);
  out->deleter(out);
  CHECK(owners == 0);
}

static int Allocate(DLTensor *like, DLManagedTensorVersioned **out,
                    void *error_ctx,
                    void (*set_error)(void *error_ctx, const char *kind,
                                      const char *message)) {
  try {
    *out = &(new Matrix(like->shape[0], like->shape[1]))->managed;
    return 0;
  } catch (const std::bad_alloc &) {
    set_error(error_ctx, "MemoryError", "no memory for a matrix");
    return -1;
  }
}

static void ByTheEnvironment() {
  DLPackManagedTensorAllocator before;
  TVM_FFI_CHECK_SAFE_CALL(
      TVMFFIEnvSetDLPackManagedTensorAllocator(Allocate, 0, &before));
  {
    Tensor tensor =
        Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, {4, 5}, kFloat32, kCPU);
    CHECK(tensor.size(1) == 5 && owners == 1);
  }
  CHECK(owners == 0);
  TVM_FFI_CHECK_SAFE_CALL(
      TVMFFIEnvSetDLPackManagedTensorAllocator(before, 0, nullptr));
}

static void View() {
  {
    Tensor transposed;
    {
      Tensor tensor = NewTensor(2, 3);
      static_cast<float *>(tensor.data_ptr())[5] = 7;  // at 1, 2
      transposed = tensor.as_strided({3, 2}, {1, 3});
    }
    CHECK(owners == 1);
    const float *p = static_cast<const float *>(transposed.data_ptr());
    CHECK(p[2 * transposed.stride(0) + transposed.stride(1)] == 7);
  }
  CHECK(owners == 0);
}

int main() {
  try {
    FromDLPackAndRead();
    ToDLPack();
    ByTheEnvironment();
    View();
    std::printf("all tensors were given back to their owners\n");
  } catch (const ffi::Error &error) {
    std::cerr << error.FullMessage();
    return 1;
  }
  return 0;
}
