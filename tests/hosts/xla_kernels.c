/* Kernels that xla_host.py calls from JAX's compiled programs. The library has
   its own runtime. */
#define TVMFFI_IMPLEMENTATION
#define TVMFFI_DYNAMIC 1
#include "tvmffi_xla.h"

#include <stdio.h>

/* y = a * x + y, in place. */
TVMFFI_EXPORT(axpy, none, (tensor("float32[n] cpu"), x),
              (tensor("float32[n] cpu inout"), y), (float64, a, 1.0)) {
  const float *px = TVMFFI_DATA(x, float);
  float *py = TVMFFI_DATA(y, float);
  for (int64_t i = 0; i < x->shape[0]; ++i) py[i] += (float)a * px[i];
  TVMFFI_RETURN();
}
TVMFFI_XLA_HANDLER(axpy)

/* A result of another shape. */
TVMFFI_EXPORT(row_sums, none, (tensor("float32[n, m] cpu"), x),
              (tensor("float32[n] cpu out"), y)) {
  for (int64_t i = 0; i < x->shape[0]; ++i) {
    float sum = 0;
    for (int64_t j = 0; j < x->shape[1]; ++j)
      sum += TVMFFI_ELEMENT(x, float, i, j);
    TVMFFI_ELEMENT(y, float, i) = sum;
  }
  TVMFFI_RETURN();
}
TVMFFI_XLA_HANDLER(row_sums)

/* y = x * scale + bias, without the factor or the bias if the call has none. */
TVMFFI_EXPORT(affine, none, (tensor("float32[n] cpu"), x),
              (optional(tensor("float32[n] cpu")), bias),
              (tensor("float32[n] cpu out"), y), (optional(float64), scale)) {
  const double factor = scale.has_value ? scale.value : 1;
  for (int64_t i = 0; i < x->shape[0]; ++i)
    TVMFFI_ELEMENT(y, float, i) =
        (float)(factor * TVMFFI_ELEMENT(x, float, i)) +
        (bias ? TVMFFI_ELEMENT(bias, float, i) : 0);
  TVMFFI_RETURN();
}
TVMFFI_XLA_HANDLER(affine)

/* Two results, one of which a call may omit. */
TVMFFI_EXPORT(split, none, (tensor("int32[n] cpu"), x),
              (tensor("int32[h] cpu out"), even),
              (optional(tensor("int32[_] cpu out")), odd)) {
  for (int64_t i = 0; i < x->shape[0]; ++i)
    if (i % 2 == 0 || odd)
      TVMFFI_ELEMENT(i % 2 ? odd : even, int32_t, i / 2) =
          TVMFFI_ELEMENT(x, int32_t, i);
  TVMFFI_RETURN();
}
TVMFFI_XLA_HANDLER(split)

/* A tensor that the function allocates. */
TVMFFI_EXPORT(outer, tensor("float32[n, m]"), (tensor("float32[n] cpu"), x),
              (tensor("float32[m] cpu"), y), (int64, more, 0),
              (dtype, type, "float32")) {
  const int64_t shape[] = {x->shape[0], y->shape[0] + more};
  TVMFFIObject *made;
  TVMFFI_TRY(tvmffi_tensor_new(type, x->device, 2, shape, &made));
  DLTensor *z = TVMFFITensorGetDLTensorPtr(made);
  for (int64_t i = 0; i < shape[0] && !more && type.bits == 32; ++i)
    for (int64_t j = 0; j < shape[1]; ++j)
      TVMFFI_ELEMENT(z, float, i, j) =
          TVMFFI_ELEMENT(x, float, i) * TVMFFI_ELEMENT(y, float, j);
  TVMFFI_RETURN(made);
}
TVMFFI_XLA_HANDLER(outer)

/* Writes what the tensor and the attributes are as text. */
static int say(DLTensor *text, const char *format, ...) {
  char *at = TVMFFI_DATA(text, char);
  va_list ap;
  va_start(ap, format);
  int n = vsnprintf(at, (size_t)text->shape[0], format, ap);
  va_end(ap);
  while (n < text->shape[0]) at[n++] = ' ';
  return 0;
}

TVMFFI_EXPORT(describe, none, (tensor, x),
              (tensor("uint8[128] cpu out"), text)) {
  char shape[64] = "";
  int n = 0;
  for (int32_t i = 0; i < x->ndim && n < 50; ++i)
    n += snprintf(shape + n, sizeof(shape) - (size_t)n, " %d:%d",
                  (int)x->shape[i], (int)x->strides[i]);
  say(text, "code %d bits %d lanes %d device %d.%d byte %02x%s", x->dtype.code,
      x->dtype.bits, x->dtype.lanes, (int)x->device.device_type,
      (int)x->device.device_id, TVMFFI_DATA(x, uint8_t)[0], shape);
  TVMFFI_RETURN();
}
TVMFFI_XLA_HANDLER(describe)

TVMFFI_EXPORT(attributes, none, (tensor("uint8[128] cpu out"), text),
              (optional(bytes), raw), (optional(shape), sizes),
              (optional(array(float64)), weights), (optional(int64), maybe),
              (int8, small, -1), (uint64, large, 0), (float32, ratio, 0.5f),
              (bool, flag, 1), (str, label, "a long default"),
              (dtype, type, "int4"), (any, anything, tvmffi_int(7))) {
  double sum = 0;
  int64_t rank = -1;
  for (int64_t i = 0; weights && i < tvmffi_size(weights); ++i) {
    double weight;
    TVMFFI_TRY(tvmffi_get(weights, i, &weight));
    sum += weight;
  }
  if (sizes) rank = tvmffi_size(sizes);
  say(text, "%d %lld %g %lld %d %llu %g %d %.*s %d:%d %d", (int)raw.value.size,
      (long long)rank, sum, maybe.has_value ? (long long)maybe.value : -9,
      small, (unsigned long long)large, (double)ratio, flag, (int)label.size,
      label.data, type.code, type.bits, (int)anything.type_index);
  TVMFFI_RETURN();
}
TVMFFI_XLA_HANDLER(attributes)

TVMFFI_EXPORT(fail, none, (tensor, x), (tensor("any out"), y), (str, kind)) {
  (void)x, (void)y;
  return TVMFFI_RAISE(kind.data, "said by C");
}
TVMFFI_XLA_HANDLER(fail)

/* A function whose handler no test calls before eight threads do. */
TVMFFI_EXPORT(first_call, none, (tensor("float32[n] cpu"), x),
              (tensor("float32[n] cpu out"), y), (float64, a, 2.0)) {
  for (int64_t i = 0; i < x->shape[0]; ++i)
    TVMFFI_ELEMENT(y, float, i) = (float)a * TVMFFI_ELEMENT(x, float, i);
  TVMFFI_RETURN();
}
TVMFFI_XLA_HANDLER(first_call)

/* Functions that XLA cannot call. */
TVMFFI_EXPORT(takes_function, none, (tensor, x), (func, f)) {
  (void)x, (void)f;
  TVMFFI_RETURN();
}
TVMFFI_XLA_HANDLER(takes_function)

TVMFFI_EXPORT(returns_int, int64, (tensor, x)) { TVMFFI_RETURN(x->shape[0]); }
TVMFFI_XLA_HANDLER(returns_int)
