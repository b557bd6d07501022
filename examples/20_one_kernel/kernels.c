/* Three kernels, written once. tvm_ffi, RPC, a C program, a board and a
   notebook take them as they are. For CPython, PyTorch and JAX, the file has
   some lines that ALL_HOSTS compiles. docs/hosts.md has the commands. */
#ifdef ALL_HOSTS
#define TVMFFI_IMPLEMENTATION
#define TVMFFI_DYNAMIC 1
#include "tvmffi_python.h"
#include "tvmffi_torch.h"
#include "tvmffi_xla.h"
#else
#include "tvmffi.h"
#endif

/* Returns the sum of each row in a new tensor. */
TVMFFI_EXPORT(row_sums, tensor("float32[n] cpu"),
              (tensor("float32[n, m] cpu"), x)) {
  int64_t i, j, n = x->shape[0], m = x->shape[1];
  const float *from = TVMFFI_DATA(x, float);
  TVMFFIObject *sums;
  float *to;
  TVMFFI_TRY(tvmffi_tensor_new("float32", "cpu", 1, &n, &sums));
  to = TVMFFI_DATA(TVMFFITensorGetDLTensorPtr(sums), float);
  for (i = 0; i < n; ++i)
    for (to[i] = 0, j = 0; j < m; ++j) to[i] += from[i * m + j];
  TVMFFI_RETURN(sums);
}

/* y = a * x + y, in place. */
TVMFFI_EXPORT(axpy, none, (float64, a), (tensor("float32[n] cpu"), x),
              (tensor("float32[n] cpu inout"), y)) {
  const float *from = TVMFFI_DATA(x, float);
  float *to = TVMFFI_DATA(y, float);
  for (int64_t i = 0; i < x->shape[0]; ++i) to[i] += (float)a * from[i];
  TVMFFI_RETURN();
}

/* y = factor * x + bias. */
TVMFFI_EXPORT(scale, none, (tensor("float32[n] cpu"), x),
              (optional(tensor("float32[n] cpu")), bias),
              (tensor("float32[n] cpu out"), y), (float64, factor, 2)) {
  const float *from = TVMFFI_DATA(x, float);
  float *to = TVMFFI_DATA(y, float);
  for (int64_t i = 0; i < x->shape[0]; ++i)
    to[i] =
        (float)factor * from[i] + (bias ? TVMFFI_DATA(bias, float)[i] : 0);
  TVMFFI_RETURN();
}

#ifdef ALL_HOSTS
TVMFFI_PYTHON_MODULE(kernels)
TVMFFI_TORCH_LIBRARY(one_kernel)
TVMFFI_XLA_HANDLER(row_sums)
TVMFFI_XLA_HANDLER(axpy)
TVMFFI_XLA_HANDLER(scale)
#endif
