/* The module carries the runtime, which it uses if its process has none: the
   wheel needs no other package. */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi_python.h"

TVMFFI_DOC(add_one, "Returns x + 1.")
TVMFFI_EXPORT(add_one, int64, (int64, x)) { TVMFFI_RETURN(x + 1); }

TVMFFI_DOC(scale, "Multiplies the elements of x by a number, in place.")
TVMFFI_EXPORT(scale, none, (tensor("float32[n] cpu strided inout"), x),
              (float64, by, 2.0)) {
  for (int64_t i = 0; i < x->shape[0]; ++i)
    TVMFFI_ELEMENT(x, float, i) *= (float)by;
  TVMFFI_RETURN();
}

TVMFFI_DOC(top_k, "Returns the k largest elements, and their indices.")
TVMFFI_EXPORT(top_k, array(tensor_object), (tensor("float32[n] cpu"), x),
              (int64, k)) {
  TVMFFIObject *values, *indices;
  if (k < 1 || k > x->shape[0])
    return TVMFFI_RAISE("ValueError", "top_k: k is %lld, but n is %lld",
                        (long long)k, (long long)x->shape[0]);
  TVMFFI_TRY(tvmffi_tensor_new("float32", "cpu", 1, &k, &values));
  TVMFFI_TRY(tvmffi_tensor_new("int64", "cpu", 1, &k, &indices));
  float *value = TVMFFI_DATA(TVMFFITensorGetDLTensorPtr(values), float);
  int64_t *index = TVMFFI_DATA(TVMFFITensorGetDLTensorPtr(indices), int64_t);
  int64_t count = 0;
  for (int64_t i = 0; i < x->shape[0]; ++i) {
    const float item = TVMFFI_DATA(x, float)[i];
    int64_t at = count < k ? count++ : k - 1;
    if (at == k - 1 && count == k && i >= k && !(item > value[at])) continue;
    for (; at > 0 && item > value[at - 1]; --at) {
      value[at] = value[at - 1];
      index[at] = index[at - 1];
    }
    value[at] = item;
    index[at] = i;
  }
  TVMFFI_RETURN(tvmffi_array(values, indices));
}

TVMFFI_PYTHON_MODULE(kernels, "The functions of demo, in C.")
