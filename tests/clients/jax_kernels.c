/* Kernels that jax_client.py calls from JAX's compiled programs. */
#include "../../tvmffi.h"

#include <stdio.h>

TVMFFI_EXPORT(add_one, none, (tensor, x), (tensor, y)) {
  TVMFFI_EXPECT((x, "float32[n] cpu"), (y, "float32[n] cpu"));
  for (int64_t i = 0; i < x->shape[0]; ++i)
    TVMFFI_DATA(y, float)[i] = TVMFFI_DATA(x, float)[i] + 1;
  TVMFFI_RETURN();
}

/* Attributes of the call come before the arrays, and others behind them. */
TVMFFI_EXPORT(affine, none, (float64, a), (tensor, x), (tensor, y),
              (float64, b)) {
  TVMFFI_EXPECT((x, "float32[n, m] cpu"), (y, "float32[n, m] cpu"));
  for (int64_t i = 0; i < x->shape[0] * x->shape[1]; ++i)
    TVMFFI_DATA(y, float)[i] = (float)(a * TVMFFI_DATA(x, float)[i] + b);
  TVMFFI_RETURN();
}

TVMFFI_EXPORT(split, none, (tensor, x), (tensor, even), (tensor, odd)) {
  TVMFFI_EXPECT((x, "int32[n] cpu"), (even, "int32[h] cpu"),
                (odd, "int32[h] cpu"));
  for (int64_t i = 0; i < x->shape[0]; ++i)
    TVMFFI_DATA(i % 2 ? odd : even, int32_t)
    [i / 2] = TVMFFI_DATA(x, int32_t)[i];
  TVMFFI_RETURN();
}

/* Writes what the array is into 128 bytes. */
TVMFFI_EXPORT(describe, none, (tensor, x), (tensor, text)) {
  TVMFFI_EXPECT((text, "uint8[128] cpu"));
  char *at = TVMFFI_DATA(text, char);
  int n = snprintf(at, 128, "code %d bits %d lanes %d device %d.%d offset %d:",
                   x->dtype.code, x->dtype.bits, x->dtype.lanes,
                   (int)x->device.device_type, (int)x->device.device_id,
                   (int)x->byte_offset);
  for (int32_t i = 0; i < x->ndim && n < 100; ++i)
    n += snprintf(at + n, (size_t)(128 - n), " %d", (int)x->shape[i]);
  while (n < 128) at[n++] = ' ';
  TVMFFI_RETURN();
}

/* Sums squares in a temporary array, which the framework allocates. */
TVMFFI_EXPORT(norm, none, (tensor, x), (tensor, y)) {
  TVMFFI_EXPECT((x, "float32[n] cpu"), (y, "float32[1] cpu"));
  TVMFFIObject *temporary;
  TVMFFI_TRY(tvmffi_tensor_new_like(x, &temporary));
  float *squares = TVMFFI_DATA(TVMFFITensorGetDLTensorPtr(temporary), float);
  TVMFFI_DATA(y, float)[0] = 0;
  for (int64_t i = 0; i < x->shape[0]; ++i) {
    squares[i] = TVMFFI_DATA(x, float)[i] * TVMFFI_DATA(x, float)[i];
    TVMFFI_DATA(y, float)[0] += squares[i];
  }
  TVMFFI_RETURN();
}

TVMFFI_EXPORT(fail, none, (str, kind), (tensor, x), (tensor, y)) {
  (void)x, (void)y;
  return TVMFFI_RAISE(kind.data, "said by C");
}
