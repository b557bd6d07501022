/* Operators for Python in C: softmax, layer norm, matrix product, top-k. They
   accept any strides. The texts of the parameters say which tensors fit.

       cc -shared -fPIC -O2 -I. examples/16_operators/ops.c -o ops.so -lm
       python examples/16_operators/run_ops.py ops.so */
#include "tvmffi.h"

#include <math.h>

/* Reads a float32, float16 or int8 element as a float; `put` writes one. */
static float get(const void *p, int64_t i, DLDataType type) {
  if (type.bits == 8) return ((const int8_t *)p)[i];
  if (type.bits == 32) return ((const float *)p)[i];
  return tvmffi_float16_to_float(((const uint16_t *)p)[i]);
}

static void put(void *p, int64_t i, DLDataType type, float x) {
  if (type.bits == 8)
    ((int8_t *)p)[i] = (int8_t)x;
  else if (type.bits == 32)
    ((float *)p)[i] = x;
  else
    ((uint16_t *)p)[i] = tvmffi_float16_from_float(x);
}

/* y = softmax of x along a dimension. */
static int softmax_into(const DLTensor *x, const DLTensor *y, int32_t axis) {
  tvmffi_loop row;
  int64_t i;
  TVMFFI_TRY(tvmffi_loop_rows(&row, axis, x, y));
  while (tvmffi_loop_next(&row)) {
    int64_t dx = row.stride[0], dy = row.stride[1];
    float max = -INFINITY, sum = 0;
    for (i = 0; i < row.size; ++i)
      max = fmaxf(max, get(row.at[0], i * dx, x->dtype));
    for (i = 0; i < row.size; ++i)
      sum += expf(get(row.at[0], i * dx, x->dtype) - max);
    for (i = 0; i < row.size; ++i)
      put(row.at[1], i * dy, y->dtype,
          expf(get(row.at[0], i * dx, x->dtype) - max) / sum);
  }
  return 0;
}

TVMFFI_EXPORT(softmax, none,
              (tensor("float32|float16[*batch, n] cpu strided"), x),
              (tensor("same[*batch, n] cpu strided out"), y),
              (int32, axis, -1)) {
  TVMFFI_TRY(softmax_into(x, y, axis));
  TVMFFI_RETURN();
}

/* Returns the softmax along the last dimension in a new tensor. */
TVMFFI_EXPORT(new_softmax, tensor("same[*batch, n] cpu"),
              (tensor("float32|float16[*batch, n] cpu strided"), x)) {
  TVMFFIObject *y;
  TVMFFI_TRY(tvmffi_tensor_new_like(x, &y));
  TVMFFI_TRY(softmax_into(x, TVMFFITensorGetDLTensorPtr(y), -1));
  TVMFFI_RETURN(y);
}

/* y = (x - mean) / sqrt(variance + epsilon) * scale + bias along the last
   dimension. */
TVMFFI_EXPORT(layer_norm, none,
              (tensor("float32|float16[*batch, n] cpu strided"), x),
              (tensor("same[n] cpu strided"), scale),
              (tensor("same[n] cpu strided"), bias), (float64, epsilon),
              (tensor("same[*batch, n] cpu strided out"), y)) {
  tvmffi_loop row;
  int64_t i;
  TVMFFI_TRY(tvmffi_loop_rows(&row, -1, x, y));
  while (tvmffi_loop_next(&row)) {
    int64_t dx = row.stride[0], dy = row.stride[1];
    int64_t ds = tvmffi_tensor_stride(scale, 0);
    int64_t db = tvmffi_tensor_stride(bias, 0);
    double mean = 0, variance = 0, factor;
    for (i = 0; i < row.size; ++i) mean += get(row.at[0], i * dx, x->dtype);
    mean /= (double)row.size;
    for (i = 0; i < row.size; ++i) {
      double d = get(row.at[0], i * dx, x->dtype) - mean;
      variance += d * d;
    }
    factor = 1 / sqrt(variance / (double)row.size + epsilon);
    for (i = 0; i < row.size; ++i) {
      double d = (get(row.at[0], i * dx, x->dtype) - mean) * factor;
      d *= get(TVMFFI_DATA(scale, void), i * ds, x->dtype);
      d += get(TVMFFI_DATA(bias, void), i * db, x->dtype);
      put(row.at[1], i * dy, y->dtype, (float)d);
    }
  }
  TVMFFI_RETURN();
}

/* c = a b: elements of type T, summed as type S, stored as type R. */
#define MATMUL(name, T, S, R, from, to)                                       \
  static void name(const DLTensor *a, const DLTensor *b, const DLTensor *c) { \
    int64_t i, j, k;                                                          \
    for (i = 0; i < c->shape[0]; ++i)                                         \
      for (j = 0; j < c->shape[1]; ++j) {                                     \
        S sum = 0;                                                            \
        for (k = 0; k < a->shape[1]; ++k)                                     \
          sum += (S)from(TVMFFI_ELEMENT(a, T, i, k)) *                        \
                 from(TVMFFI_ELEMENT(b, T, k, j));                            \
        TVMFFI_ELEMENT(c, R, i, j) = to(sum);                                 \
      }                                                                       \
  }
MATMUL(matmul_float32, float, float, float, , )
MATMUL(matmul_int8, int8_t, int32_t, int32_t, , )
MATMUL(matmul_float16, uint16_t, float, uint16_t, tvmffi_float16_to_float,
       tvmffi_float16_from_float)

/* The dtype of c depends on that of a, so the body checks it. */
TVMFFI_EXPORT(matmul, none,
              (tensor("float32|float16|int8[n, k] cpu strided"), a),
              (tensor("same[k, m] cpu strided"), b),
              (tensor("any[n, m] cpu strided out"), c)) {
  if (a->dtype.bits == 8) {
    TVMFFI_EXPECT((c, "int32 strided"));
    matmul_int8(a, b, c);
  } else {
    TVMFFI_EXPECT((a, "any strided"), (c, "same strided"));
    (a->dtype.bits == 32 ? matmul_float32 : matmul_float16)(a, b, c);
  }
  TVMFFI_RETURN();
}

/* Stores the k largest elements of each row of x, the largest first, and their
   indices. Among equal elements, the lower index is first. k is the last extent
   of the outputs. */
TVMFFI_EXPORT(top_k, none,
              (tensor("float32|float16|int8[*batch, n] cpu strided"), x),
              (tensor("same[*batch, k] cpu strided out"), values),
              (tensor("int64[*batch, k] cpu strided out"), indices)) {
  tvmffi_loop row;
  int64_t i, j, k, count;
  k = values->shape[values->ndim - 1];
  if (k > x->shape[x->ndim - 1])
    return TVMFFI_RAISE("ValueError", "top_k: %lld of %lld elements",
                        (long long)k, (long long)x->shape[x->ndim - 1]);
  TVMFFI_TRY(tvmffi_loop_rows(&row, -1, x, values, indices));
  while (tvmffi_loop_next(&row)) {
    int64_t dv = row.stride[1], di = row.stride[2];
    int64_t *index = (int64_t *)row.at[2];
    /* Insertion sort: the outputs are the sorted k largest so far. */
    for (i = count = 0; i < row.size && k; ++i) {
      float v = get(row.at[0], i * row.stride[0], x->dtype);
      for (j = count; j && get(row.at[1], (j - 1) * dv, x->dtype) < v; --j) {
        if (j == k) continue;
        put(row.at[1], j * dv, x->dtype,
            get(row.at[1], (j - 1) * dv, x->dtype));
        index[j * di] = index[(j - 1) * di];
      }
      if (j == k) continue;
      put(row.at[1], j * dv, x->dtype, v);
      index[j * di] = i;
      if (count < k) ++count;
    }
  }
  TVMFFI_RETURN();
}
