/* z = a * x + y: a handler by tvmffi_xla.h, which the package jax-tvm-ffi
   calls, too. */
#define TVMFFI_IMPLEMENTATION
#define TVMFFI_DYNAMIC 1
#include "tvmffi_xla.h"

TVMFFI_EXPORT(axpy, none, (tensor("float32[n] cpu"), x),
              (tensor("float32[n] cpu"), y), (tensor("float32[n] cpu out"), z),
              (float64, a)) {
  const float *px = TVMFFI_DATA(x, float), *py = TVMFFI_DATA(y, float);
  float *pz = TVMFFI_DATA(z, float);
  for (int64_t i = 0; i < x->shape[0]; ++i) pz[i] = (float)a * px[i] + py[i];
  TVMFFI_RETURN();
}
TVMFFI_XLA_HANDLER(axpy)
