/* Kernels for Python in C. The header is included without the implementation:
   the runtime is the one of the process that loads the library.

       cc -shared -fPIC -O2 -I. examples/kernel/kernels.c -o kernels.so
       python examples/kernel/run_kernels.py kernels.so */
#include "tvmffi.h"

#include <string.h>

/* Checks of a tensor by hand. What they say reaches Python as the exception's
   text, so they name the argument. */
static int wrong_dtype(const DLTensor *t, const char *name,
                       const char *expected) {
  TVMFFIAny dtype;
  TVMFFI_TRY(TVMFFIDataTypeToString(&t->dtype, &dtype));
  (void)TVMFFI_RAISE("TypeError", "%s: expected %s, got %s", name, expected,
                     tvmffi_any_str(&dtype).data);
  tvmffi_any_release(&dtype);
  return -1;
}

static int expect_float32(const DLTensor *t, const char *name, int32_t ndim) {
  if (t->device.device_type != kDLCPU)
    return TVMFFI_RAISE("ValueError", "%s: expected the CPU, got device %d",
                        name, (int)t->device.device_type);
  if (t->dtype.code != kDLFloat || t->dtype.bits != 32 || t->dtype.lanes != 1)
    return wrong_dtype(t, name, "float32");
  if (t->ndim != ndim)
    return TVMFFI_RAISE("ValueError", "%s: expected %d dimensions, got %d",
                        name, (int)ndim, (int)t->ndim);
  return 0;
}

static int is_contiguous(const DLTensor *t) {
  int64_t step = 1;
  int result = 1;
  int32_t i;
  for (i = t->ndim - 1; i >= 0; --i) {
    if (t->shape[i] == 0) return 1; /* no element, any strides will do */
    if (t->strides && t->shape[i] != 1 && t->strides[i] != step) result = 0;
    step *= t->shape[i];
  }
  return result;
}

static int expect_contiguous(const DLTensor *t, const char *name) {
  if (is_contiguous(t)) return 0;
  return TVMFFI_RAISE("ValueError", "%s: expected a contiguous tensor", name);
}

/* y = a * x + y, in place. */
TVMFFI_EXPORT(axpy, none, (float64, a), (tensor, x), (tensor, y)) {
  const float *px = tvmffi_data(x, float);
  float *py = tvmffi_data(y, float);
  int64_t i;
  TVMFFI_TRY(expect_float32(x, "x", 1));
  TVMFFI_TRY(expect_float32(y, "y", 1));
  TVMFFI_TRY(expect_contiguous(x, "x"));
  TVMFFI_TRY(expect_contiguous(y, "y"));
  if (x->shape[0] != y->shape[0])
    return TVMFFI_RAISE("ValueError", "x has %lld elements, y has %lld",
                        (long long)x->shape[0], (long long)y->shape[0]);
  for (i = 0; i < x->shape[0]; ++i) py[i] += (float)a * px[i];
  TVMFFI_RETURN();
}

TVMFFI_EXPORT(div, int64, (int64, a), (int64, b)) {
  if (b == 0)
    return TVMFFI_RAISE("ZeroDivisionError", "%lld / 0", (long long)a);
  if (a == INT64_MIN && b == -1)
    return TVMFFI_RAISE("OverflowError", "%lld / -1", (long long)a);
  TVMFFI_RETURN(a / b);
}

/* The sum of a matrix with any strides: a transpose or a slice needs no copy.
   Strides count elements, and may be negative. */
TVMFFI_EXPORT(sum, float64, (tensor, x)) {
  const float *p = tvmffi_data(x, float);
  double total = 0;
  int64_t i, j, row, column;
  TVMFFI_TRY(expect_float32(x, "x", 2));
  row = x->strides ? x->strides[0] : x->shape[1];
  column = x->strides ? x->strides[1] : 1;
  for (i = 0; i < x->shape[0]; ++i)
    for (j = 0; j < x->shape[1]; ++j) total += p[i * row + j * column];
  TVMFFI_RETURN(total);
}

/* Text comes as bytes with a size, and a NUL behind them. The longest run of
   the text without a space in it. */
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

/* Calls a Python function on each number below n, and adds the results. Its
   exceptions pass through as errors. */
TVMFFI_EXPORT(sum_over, float64, (func, f), (int64, n)) {
  double total = 0, y = 0;
  int64_t i;
  for (i = 0; i < n; ++i) {
    TVMFFI_TRY(tvmffi_call(f, &y, i));
    total += y;
  }
  TVMFFI_RETURN(total);
}

/* A new tensor, by the allocator of the environment: with PyTorch's tensors as
   arguments, one of PyTorch's memory. The caller owns it. */
TVMFFI_EXPORT(add, object, (tensor, x), (tensor, y)) {
  TVMFFIObjectHandle result = NULL;
  const float *px = tvmffi_data(x, float), *py = tvmffi_data(y, float);
  float *out;
  int64_t i;
  TVMFFI_TRY(expect_float32(x, "x", 1));
  TVMFFI_TRY(expect_float32(y, "y", 1));
  if (x->shape[0] != y->shape[0])
    return TVMFFI_RAISE("ValueError", "x has %lld elements, y has %lld",
                        (long long)x->shape[0], (long long)y->shape[0]);
  TVMFFI_TRY(expect_contiguous(x, "x"));
  TVMFFI_TRY(expect_contiguous(y, "y"));
  TVMFFI_TRY(TVMFFIEnvTensorAlloc(x, &result));
  out = tvmffi_data(TVMFFITensorGetDLTensorPtr(result), float);
  for (i = 0; i < x->shape[0]; ++i) out[i] = px[i] + py[i];
  TVMFFI_RETURN((TVMFFIObject *)result);
}

/* Copies memory of any dtype and rank: what memcpy needs is checked by hand. */
TVMFFI_EXPORT(copy, none, (tensor, from), (tensor, to)) {
  size_t size = (from->dtype.bits * from->dtype.lanes + 7u) / 8;
  int32_t i;
  if (from->device.device_type != kDLCPU || to->device.device_type != kDLCPU)
    return TVMFFI_RAISE("ValueError", "copy: expected CPU tensors");
  if (memcmp(&from->dtype, &to->dtype, sizeof(DLDataType)) != 0)
    return TVMFFI_RAISE("TypeError", "copy: the dtypes differ");
  if (from->ndim != to->ndim)
    return TVMFFI_RAISE("ValueError", "copy: from has %d dimensions, to has %d",
                        (int)from->ndim, (int)to->ndim);
  for (i = 0; i < from->ndim; ++i) {
    if (from->shape[i] != to->shape[i])
      return TVMFFI_RAISE("ValueError", "copy: dimension %d: %lld and %lld",
                          (int)i, (long long)from->shape[i],
                          (long long)to->shape[i]);
    size *= (size_t)from->shape[i];
  }
  TVMFFI_TRY(expect_contiguous(from, "copy: from"));
  TVMFFI_TRY(expect_contiguous(to, "copy: to"));
  if (size) memcpy(tvmffi_data(to, void), tvmffi_data(from, void), size);
  TVMFFI_RETURN();
}
