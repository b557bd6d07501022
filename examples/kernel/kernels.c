/* Kernels for Python in C. The header is included without the implementation:
   the process that loads this library provides the runtime.

       cc -shared -fPIC -O2 -I. examples/kernel/kernels.c -o kernels.so
       python examples/kernel/run_kernels.py kernels.so */
#include "tvmffi.h"

#include <string.h>

/* y = a * x + y, in place. x and y have the same length n. */
TVMFFI_EXPORT(axpy, none, (float64, a), (tensor("float32[n] cpu"), x),
              (tensor("float32[n] cpu inout"), y)) {
  const float *px = TVMFFI_DATA(x, float);
  float *py = TVMFFI_DATA(y, float);
  for (int64_t i = 0; i < x->shape[0]; ++i) py[i] += (float)a * px[i];
  TVMFFI_RETURN();
}

TVMFFI_EXPORT(div, int64, (int64, a), (int64, b)) {
  if (b == 0)
    return TVMFFI_RAISE("ZeroDivisionError", "%lld / 0", (long long)a);
  if (a == INT64_MIN && b == -1)
    return TVMFFI_RAISE("OverflowError", "%lld / -1", (long long)a);
  TVMFFI_RETURN(a / b);
}

/* Returns the sum of a matrix. Any strides are accepted, so a transpose or a
   slice needs no copy. */
TVMFFI_EXPORT(sum, float64, (tensor("float32[rows, columns] cpu strided"), x)) {
  double total = 0;
  for (int64_t i = 0; i < x->shape[0]; ++i)
    for (int64_t j = 0; j < x->shape[1]; ++j)
      total += TVMFFI_ELEMENT(x, float, i, j);
  TVMFFI_RETURN(total);
}

/* Returns the longest word. A str parameter is a pointer and a size, and a NUL
   follows the text. */
TVMFFI_EXPORT(longest_word, str, (str, text)) {
  TVMFFIByteArray best = {text.data, 0};
  size_t begin = 0, i;
  for (i = 0; i <= text.size; ++i) {
    if (i < text.size && text.data[i] != ' ') continue;
    if (i - begin > best.size) {
      best.data = text.data + begin;
      best.size = i - begin;
    }
    begin = i + 1;
  }
  TVMFFI_RETURN(best); /* copied */
}

/* Calls a Python function with each number from 0 to n - 1, and adds the
   results. An exception in it is returned as an error. */
TVMFFI_EXPORT(sum_over, float64, (func, f), (int64, n)) {
  double total = 0, y = 0;
  for (int64_t i = 0; i < n; ++i) {
    TVMFFI_TRY(tvmffi_call(f, &y, i));
    total += y;
  }
  TVMFFI_RETURN(total);
}

/* Returns a new tensor. If the arguments are PyTorch
   tensors, the result is a PyTorch tensor. */
TVMFFI_EXPORT(add, tensor("float32[n] cpu"), (tensor("float32[n] cpu"), x),
              (tensor("float32[n] cpu"), y)) {
  TVMFFIObject *z = NULL;
  TVMFFI_TRY(tvmffi_tensor_new_like(x, &z));
  const float *px = TVMFFI_DATA(x, float), *py = TVMFFI_DATA(y, float);
  float *pz = TVMFFI_DATA(TVMFFITensorGetDLTensorPtr(z), float);
  for (int64_t i = 0; i < x->shape[0]; ++i) pz[i] = px[i] + py[i];
  TVMFFI_RETURN(z);
}

/* Copies memory of any dtype and rank. */
TVMFFI_EXPORT(copy, none, (tensor("any[*shape] cpu"), from),
              (tensor("same[*shape] cpu out"), to)) {
  size_t size = tvmffi_tensor_bytes(from);
  if (size) memcpy(TVMFFI_DATA(to, void), TVMFFI_DATA(from, void), size);
  TVMFFI_RETURN();
}
