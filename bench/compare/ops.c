/* The functions that compare.py calls from Python, with tvmffi.h. */
#include "tvmffi.h"

#include "plain.h"

TVMFFI_EXPORT(nop, none) { TVMFFI_RETURN(); }

TVMFFI_EXPORT(add, int64, (int64, a), (int64, b)) { TVMFFI_RETURN(a + b); }

TVMFFI_EXPORT(fma3, float64, (float64, a), (float64, b), (float64, c)) {
  TVMFFI_RETURN(a * b + c);
}

TVMFFI_EXPORT(length, int64, (str, text)) {
  TVMFFI_RETURN((int64_t)text.size);
}

TVMFFI_EXPORT(call_back, int64, (func, f), (int64, n)) {
  int64_t result = 0;
  TVMFFI_TRY(tvmffi_call(f, &result, n));
  TVMFFI_RETURN(result);
}

TVMFFI_EXPORT(total, int64, (array(int64), values)) {
  int64_t sum = 0;
  TVMFFI_FOREACH(int64, value, values) sum += value;
  TVMFFI_RETURN(sum);
}

TVMFFI_EXPORT(softmax, none, (tensor, x), (tensor, y)) {
  TVMFFI_EXPECT((x, "float32[rows, columns] cpu"),
                (y, "float32[rows, columns] cpu"));
  plain_softmax(TVMFFI_DATA(x, float), TVMFFI_DATA(y, float), x->shape[0],
                x->shape[1]);
  TVMFFI_RETURN();
}

TVMFFI_EXPORT(matmul, none, (tensor, a), (tensor, b), (tensor, c)) {
  TVMFFI_EXPECT((a, "float32[n, k] cpu"),
                (b, "float32[k, m] cpu"),
                (c, "float32[n, m] cpu"));
  plain_matmul(TVMFFI_DATA(a, float), TVMFFI_DATA(b, float),
               TVMFFI_DATA(c, float), a->shape[0], a->shape[1], b->shape[1]);
  TVMFFI_RETURN();
}

/* Returns two new tensors. */
TVMFFI_EXPORT(top_k, array(tensor_object), (tensor("float32[n] cpu"), x),
              (int64, k)) {
  DLDataType float32 = {kDLFloat, 32, 1}, int64 = {kDLInt, 64, 1};
  DLDevice cpu = {kDLCPU, 0};
  TVMFFIObject *values, *indices;
  if (k < 0 || k > x->shape[0])
    return TVMFFI_RAISE("ValueError", "k is %d", (int)k);
  TVMFFI_TRY(tvmffi_tensor_new(float32, cpu, 1, &k, &values));
  TVMFFI_TRY(tvmffi_tensor_new(int64, cpu, 1, &k, &indices));
  plain_top_k(TVMFFI_DATA(x, float),
              TVMFFI_DATA(TVMFFITensorGetDLTensorPtr(values), float),
              TVMFFI_DATA(TVMFFITensorGetDLTensorPtr(indices), int64_t),
              x->shape[0], k);
  TVMFFI_RETURN(tvmffi_array(values, indices));
}
