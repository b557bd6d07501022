/* Kernels for torch_host.py. */
#define TVMFFI_IMPLEMENTATION
#define TVMFFI_DYNAMIC 1
#include <stdbool.h>

#include "tvmffi_torch.h"

/* y = a * x + y, in place. */
TVMFFI_EXPORT(axpy, none, (tensor("float32[n] inout"), y),
              (tensor("float32[n]"), x), (float64, a, 1.0)) {
  const float *px = TVMFFI_DATA(x, float);
  float *py = TVMFFI_DATA(y, float);
  for (int64_t i = 0; i < x->shape[0]; ++i) py[i] += (float)a * px[i];
  TVMFFI_RETURN();
}

TVMFFI_EXPORT(row_sums, tensor("float32[n]"), (tensor("float32[n, m]"), x)) {
  TVMFFIObject *made;
  TVMFFI_TRY(tvmffi_tensor_new(x->dtype, x->device, 1, x->shape, &made));
  float *out = TVMFFI_DATA(TVMFFITensorGetDLTensorPtr(made), float);
  for (int64_t i = 0; i < x->shape[0]; ++i) {
    out[i] = 0;
    for (int64_t j = 0; j < x->shape[1]; ++j)
      out[i] += TVMFFI_ELEMENT(x, float, i, j);
  }
  TVMFFI_RETURN(made);
}

TVMFFI_EXPORT(add, tensor("float32[n]"), (tensor("float32[n]"), x),
              (tensor("float32[n]"), y)) {
  TVMFFIObject *made;
  TVMFFI_TRY(tvmffi_tensor_new_like(x, &made));
  const float *px = TVMFFI_DATA(x, float), *py = TVMFFI_DATA(y, float);
  float *out = TVMFFI_DATA(TVMFFITensorGetDLTensorPtr(made), float);
  for (int64_t i = 0; i < x->shape[0]; ++i) out[i] = px[i] + py[i];
  TVMFFI_RETURN(made);
}

/* x + bias, or a copy of x. */
TVMFFI_EXPORT(add_bias, tensor("float32[n, m]"), (tensor("float32[n, m]"), x),
              (optional(tensor("float32[m]")), bias, NULL)) {
  TVMFFIObject *made;
  TVMFFI_TRY(tvmffi_tensor_new_like(x, &made));
  DLTensor *out = TVMFFITensorGetDLTensorPtr(made);
  for (int64_t i = 0; i < x->shape[0]; ++i)
    for (int64_t j = 0; j < x->shape[1]; ++j)
      TVMFFI_ELEMENT(out, float, i, j) =
          TVMFFI_ELEMENT(x, float, i, j) +
          (bias ? TVMFFI_ELEMENT(bias, float, j) : 0);
  TVMFFI_RETURN(made);
}

/* x transposed, by a view of a tensor that the call makes. */
TVMFFI_EXPORT(transposed, tensor("float32[n, n] strided"),
              (tensor("float32[n, n]"), x)) {
  TVMFFIObject *made, *view = NULL;
  TVMFFI_TRY(tvmffi_tensor_new_like(x, &made));
  DLTensor turned = *TVMFFITensorGetDLTensorPtr(made);
  int64_t strides[2] = {1, x->shape[0]};
  memcpy(turned.data, x->data, tvmffi_tensor_bytes(x));
  turned.strides = strides;
  TVMFFI_TRY(TVMFFITensorCreateUnsafeView(made, &turned, (void **)&view));
  TVMFFI_RETURN(tvmffi_scope_attach(view));
}

/* Returns the tensor of its first call again and again. */
TVMFFI_EXPORT(kept, tensor("float32[n]"), (tensor("float32[n]"), x)) {
  static TVMFFIObject *kept;
  if (!kept) {
    TVMFFIObject *made;
    TVMFFI_TRY(tvmffi_tensor_new_like(x, &made));
    for (int64_t i = 0; i < x->shape[0]; ++i)
      TVMFFI_DATA(TVMFFITensorGetDLTensorPtr(made), float)[i] = (float)i;
    tvmffi_keep(&kept, made);
  }
  TVMFFI_RETURN(kept);
}

TVMFFI_EXPORT(at, float64, (tensor("float32[n]"), x), (int64, i, 0),
              (bool, negate, false)) {
  if (i < 0 || i >= x->shape[0])
    return TVMFFI_RAISE("IndexError", "index %d of %d", (int)i,
                        (int)x->shape[0]);
  TVMFFI_RETURN(TVMFFI_DATA(x, float)[i] * (negate ? -1.0 : 1.0));
}

TVMFFI_TORCH_LIBRARY(demo)
