/* ======== Tensors ======================================== >>interface/tensor
   elements, loops, half floats, new tensors */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/dlpack.h"
#include "../head/abi.h"
#include "value.h"
#include "error.h"
#include "scope.h"
#include "word.h"
#include "function.h"
#include "expect.h"

/* Counts the elements: 1 for rank 0, INT64_MAX if they are more. */
TVMFFI_I_INLINE int64_t tvmffi_tensor_size(const DLTensor *t) {
  int64_t size = 1;
  int32_t i;
  for (i = 0; i < t->ndim; ++i) size = tvmffi_i_times(size, t->shape[i]);
  return size;
}

/* Counts the bytes of the elements, packed if they are below 8 bits. Returns
   SIZE_MAX if memory cannot have as many, and 0 for a negative extent. */
TVMFFI_I_INLINE size_t tvmffi_tensor_bytes(const DLTensor *t) {
  int64_t size = tvmffi_tensor_size(t);
  int64_t bits = tvmffi_i_times(size > 0 ? size : 0,
                                (int64_t)t->dtype.bits * t->dtype.lanes);
  int64_t bytes = bits / 8 + (bits % 8 > 0);
  return bits == INT64_MAX || (int64_t)(size_t)bytes != bytes ? SIZE_MAX
                                                              : (size_t)bytes;
}

/* Tells whether the elements follow each other in order, the last dimension
   first. No strides mean that; of an empty tensor any do. A tensor of more
   elements than INT64_MAX is not contiguous. */
TVMFFI_I_INLINE int tvmffi_tensor_is_contiguous(const DLTensor *t) {
  int64_t step = 1;
  int32_t i;
  int result = 1;
  for (i = t->ndim - 1; i >= 0; --i) {
    if (t->shape[i] == 0) return 1;
    if (t->strides && t->shape[i] != 1 && t->strides[i] != step) result = 0;
    step = tvmffi_i_times(step, t->shape[i]);
  }
  return result && step != INT64_MAX;
}

/* Returns the stride of a dimension in elements, given or not; a negative
   `dim` counts from the end. It must be there. */
TVMFFI_I_INLINE int64_t tvmffi_tensor_stride(const DLTensor *t, int32_t dim) {
  int64_t step = 1;
  int32_t i;
  if (dim < 0) dim += t->ndim;
  if (t->strides) return t->strides[dim];
  for (i = dim + 1; i < t->ndim; ++i) step = tvmffi_i_times(step, t->shape[i]);
  return step;
}

/* The element at as many indices as the tensor has dimensions, 1 to 6, by its
   strides: tvmffi_element(x, float, i, j) = 1. Nothing is checked. */
#define tvmffi_element(tensor, type, ...)                        \
  tvmffi_data(                                                   \
      tensor,                                                    \
      type)[tvmffi_i_offset(tensor, TVMFFI_I_COUNT(__VA_ARGS__), \
                            TVMFFI_I_SIX(__VA_ARGS__, 0, 0, 0, 0, 0, ~))]
#define TVMFFI_I_SIX(...) TVMFFI_I_SIX_(__VA_ARGS__)
#define TVMFFI_I_SIX_(a, b, c, d, e, f, ...) a, b, c, d, e, f

TVMFFI_I_ALWAYS_INLINE int64_t tvmffi_i_offset(const DLTensor *t, int n,
                                               int64_t a, int64_t b, int64_t c,
                                               int64_t d, int64_t e,
                                               int64_t f) {
  const int64_t *s = t->strides, *w = t->shape;
  if (TVMFFI_I_LIKELY(s)) {
    a *= s[0];
    if (n > 1) a += b * s[1];
    if (n > 2) a += c * s[2];
    if (n > 3) a += d * s[3];
    if (n > 4) a += e * s[4];
    if (n > 5) a += f * s[5];
    return a;
  }
  if (n > 1) a = a * w[1] + b;
  if (n > 2) a = a * w[2] + c;
  if (n > 3) a = a * w[3] + d;
  if (n > 4) a = a * w[4] + e;
  if (n > 5) a = a * w[5] + f;
  return a;
}

/* A walk over tensors of one shape, whatever their strides, in runs of elements
   with one distance:
       tvmffi_loop run;
       TVMFFI_TRY(tvmffi_loop_begin(&run, x, y));
       while (tvmffi_loop_next(&run)) {
         const float *px = (const float *)run.at[0];
         float *py = (float *)run.at[1];
         for (int64_t i = 0; i < run.size; ++i)
           py[i * run.stride[1]] += px[i * run.stride[0]];
       }
   Elements come in the order of their indices, the last index first, and as few
   runs as the strides allow: one, when all are contiguous. It borrows what it
   walks over; up to 4 tensors, of elements of whole bytes. */
enum { TVMFFI_LOOP_TENSORS = 4, TVMFFI_LOOP_DIMS = 16 };
typedef struct {
  int64_t size;                  /* elements of each run */
  void *at[TVMFFI_LOOP_TENSORS]; /* each tensor's first element of a run */
  int64_t stride[TVMFFI_LOOP_TENSORS]; /* to the next, in elements */
  /* Internal: the dimensions around the run, the innermost first. */
  int32_t num_tensors, num_dims, is_begun, is_empty;
  int64_t bytes[TVMFFI_LOOP_TENSORS]; /* of an element */
  int64_t shape[TVMFFI_LOOP_DIMS], index[TVMFFI_LOOP_DIMS];
  int64_t step[TVMFFI_LOOP_DIMS][TVMFFI_LOOP_TENSORS];
} tvmffi_loop;

/* Begins a walk over all elements of 1 to 4 tensors of one shape. ValueError
   for NULL, for shapes that differ, or for more than TVMFFI_LOOP_DIMS
   dimensions that cannot be joined; TypeError for elements of no whole bytes.
 */
#define tvmffi_loop_begin(run, ...)                     \
  tvmffi_i_loop_begin(run, TVMFFI_I_COUNT(__VA_ARGS__), \
                      TVMFFI_I_FOUR(__VA_ARGS__, NULL, NULL, NULL, ~))

/* Begins a walk along one dimension (negative: from the end): each run is a
   whole row of it. Along it, the tensors' extents may differ: run.size is the
   first one's. ValueError if there is no such dimension. */
#define tvmffi_loop_rows(run, dim, ...)                     \
  tvmffi_i_loop_rows(run, dim, TVMFFI_I_COUNT(__VA_ARGS__), \
                     TVMFFI_I_FOUR(__VA_ARGS__, NULL, NULL, NULL, ~))
#define TVMFFI_I_FOUR(...) TVMFFI_I_FOUR_(__VA_ARGS__)
#define TVMFFI_I_FOUR_(a, b, c, d, ...) a, b, c, d

/* Goes to the next run, at first to the first one; 0 when there is none. */
TVMFFI_I_INLINE int tvmffi_loop_next(tvmffi_loop *run) {
  int32_t d, k;
  if (!run->is_begun) {
    run->is_begun = 1;
    return !run->is_empty;
  }
  for (d = 0; d < run->num_dims; ++d) {
    int64_t back = 0;
    if (++run->index[d] == run->shape[d]) {
      back = run->shape[d];
      run->index[d] = 0;
    }
    for (k = 0; k < run->num_tensors; ++k)
      run->at[k] =
          (char *)run->at[k] + (1 - back) * run->step[d][k] * run->bytes[k];
    if (!back) return 1;
  }
  return 0;
}

TVMFFI_I_COLD int tvmffi_i_loop_full(int n) {
  return TVMFFI_RAISE("ValueError", "a loop over %d tensors: at most %d", n,
                      (int)TVMFFI_LOOP_TENSORS);
}

/* Checks what a walk needs of its tensors. */
TVMFFI_I_INLINE int tvmffi_i_loop_check(int32_t dim, int n,
                                        const DLTensor *const *tensors) {
  char one[160], two[160];
  int32_t k, d;
  for (k = 0; k < n; ++k) {
    const DLTensor *t = tensors[k], *first = tensors[0];
    int same = t && t->ndim == first->ndim;
    if (!t || (t->ndim > 0 && !t->shape))
      return TVMFFI_RAISE("ValueError", "tensor %d of a loop is NULL", (int)k);
    if (!t->dtype.bits || t->dtype.bits * t->dtype.lanes % 8)
      return TVMFFI_RAISE("TypeError",
                          "tensor %d of a loop has elements of %d bits", (int)k,
                          t->dtype.bits * t->dtype.lanes);
    if (tvmffi_tensor_size(t) == INT64_MAX)
      return TVMFFI_RAISE("ValueError",
                          "tensor %d of a loop has the shape %s, which is too "
                          "large",
                          (int)k, tvmffi_i_say_shape(t, one));
    for (d = 0; same && d < t->ndim; ++d)
      same = d == dim || t->shape[d] == first->shape[d];
    if (!same)
      return TVMFFI_RAISE(
          "ValueError", "tensor %d of a loop has the shape %s, the first %s",
          (int)k, tvmffi_i_say_shape(t, two), tvmffi_i_say_shape(first, one));
  }
  return 0;
}

/* Adds a dimension around those that are there, or joins it to the last one
   when each tensor's step is that one's whole length. */
TVMFFI_I_INLINE int tvmffi_i_loop_add(tvmffi_loop *run, int64_t extent,
                                      const int64_t *step) {
  int32_t d = run->num_dims, k;
  int joins = d > 0;
  for (k = 0; k < run->num_tensors && joins; ++k)
    joins = step[k] == tvmffi_i_times(run->step[d - 1][k], run->shape[d - 1]);
  if (joins) {
    run->shape[d - 1] *= extent;
    return 0;
  }
  if (d == TVMFFI_LOOP_DIMS)
    return TVMFFI_RAISE("ValueError", "a loop over more than %d dimensions",
                        (int)TVMFFI_LOOP_DIMS);
  run->shape[d] = extent;
  run->index[d] = 0;
  for (k = 0; k < run->num_tensors; ++k) run->step[d][k] = step[k];
  ++run->num_dims;
  return 0;
}

/* A walk without any run, which stays one when something is wrong. */
TVMFFI_I_INLINE void tvmffi_i_loop_reset(tvmffi_loop *run) {
  int k;
  for (k = 0; k < TVMFFI_LOOP_TENSORS; ++k) {
    run->at[k] = NULL;
    run->stride[k] = 0;
  }
  run->size = 1;
  run->num_tensors = run->num_dims = run->is_begun = 0;
  run->is_empty = 1;
}

/* Begins a walk around dimension `dim`, or around none for -1. */
TVMFFI_I_INLINE int tvmffi_i_loop_around(tvmffi_loop *run, int32_t dim, int n,
                                         const DLTensor *const *tensors) {
  int64_t compact[TVMFFI_LOOP_TENSORS], step[TVMFFI_LOOP_TENSORS];
  int32_t k, d;
  TVMFFI_TRY(tvmffi_i_loop_check(dim, n, tensors));
  run->num_tensors = n;
  run->is_empty = 0;
  for (k = 0; k < n; ++k) {
    const DLTensor *t = tensors[k];
    compact[k] = 1;
    run->bytes[k] = t->dtype.bits * t->dtype.lanes / 8;
    run->at[k] = tvmffi_data(t, void);
  }
  for (d = tensors[0]->ndim - 1; d >= 0; --d) {
    int64_t extent = tensors[0]->shape[d];
    for (k = 0; k < n; ++k) {
      const DLTensor *t = tensors[k];
      step[k] = t->strides ? t->strides[d] : compact[k];
      compact[k] = tvmffi_i_times(compact[k], t->shape[d]);
    }
    if (d == dim) continue;
    if (extent <= 0) run->is_empty = 1;
    if (extent > 1) TVMFFI_TRY(tvmffi_i_loop_add(run, extent, step));
  }
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_loop_begin(tvmffi_loop *run, int n,
                                        const DLTensor *a, const DLTensor *b,
                                        const DLTensor *c, const DLTensor *d) {
  const DLTensor *tensors[TVMFFI_LOOP_TENSORS];
  int32_t i, k;
  tensors[0] = a;
  tensors[1] = b;
  tensors[2] = c;
  tensors[3] = d;
  tvmffi_i_loop_reset(run);
  if (n > TVMFFI_LOOP_TENSORS) return tvmffi_i_loop_full(n);
  TVMFFI_TRY(tvmffi_i_loop_around(run, -1, n, tensors));
  if (!run->num_dims) return 0;
  /* The innermost dimension is the run. */
  run->size = run->shape[0];
  for (k = 0; k < n; ++k) run->stride[k] = run->step[0][k];
  --run->num_dims;
  for (i = 0; i < run->num_dims; ++i) {
    run->shape[i] = run->shape[i + 1];
    for (k = 0; k < n; ++k) run->step[i][k] = run->step[i + 1][k];
  }
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_loop_rows(tvmffi_loop *run, int32_t dim, int n,
                                       const DLTensor *a, const DLTensor *b,
                                       const DLTensor *c, const DLTensor *d) {
  const DLTensor *tensors[TVMFFI_LOOP_TENSORS];
  int32_t k, at = a && dim < 0 ? dim + a->ndim : dim;
  tensors[0] = a;
  tensors[1] = b;
  tensors[2] = c;
  tensors[3] = d;
  tvmffi_i_loop_reset(run);
  if (n > TVMFFI_LOOP_TENSORS) return tvmffi_i_loop_full(n);
  if (a && (at < 0 || at >= a->ndim))
    return TVMFFI_RAISE("ValueError", "a loop along dimension %d of %d",
                        (int)dim, (int)a->ndim);
  TVMFFI_TRY(tvmffi_i_loop_around(run, at, n, tensors));
  run->size = a->shape[at];
  for (k = 0; k < n; ++k) run->stride[k] = tvmffi_tensor_stride(tensors[k], at);
  return 0;
}

#if !TVMFFI_NO_FLOAT
/* Float16 (IEEE 754 binary16) and bfloat16 (the upper half of a binary32), as
   bits. To float nothing is lost; from float they round to nearest, ties to
   even; a NaN stays one, quiet, with the upper bits of its payload. */
typedef union {
  float value;
  uint32_t bits;
} tvmffi_i_float;

TVMFFI_I_INLINE float tvmffi_bfloat16_to_float(uint16_t x) {
  tvmffi_i_float f;
  f.bits = (uint32_t)x << 16;
  return f.value;
}

TVMFFI_I_INLINE uint16_t tvmffi_bfloat16_from_float(float x) {
  tvmffi_i_float f;
  f.value = x;
  if ((f.bits & 0x7FFFFFFFu) > 0x7F800000u)
    return (uint16_t)(f.bits >> 16 | 0x40u);
  return (uint16_t)((f.bits + 0x7FFFu + (f.bits >> 16 & 1u)) >> 16);
}

TVMFFI_I_INLINE float tvmffi_float16_to_float(uint16_t x) {
  uint32_t sign = (uint32_t)(x & 0x8000u) << 16, rest = x & 0x7FFFu;
  tvmffi_i_float f;
  if (rest >= 0x7C00u) { /* infinite, or no number */
    f.bits = sign | 0x7F800000u | rest << 13;
    if (rest > 0x7C00u) f.bits |= 0x400000u;
  } else if (rest >= 0x400u) {
    f.bits = sign | ((rest << 13) + 0x38000000u);
  } else { /* subnormal: 2^-24 times an integer */
    f.value = (float)rest * 5.9604644775390625e-8f;
    f.bits |= sign;
  }
  return f.value;
}

TVMFFI_I_INLINE uint16_t tvmffi_float16_from_float(float x) {
  uint32_t sign, rest, shift, half, lost;
  tvmffi_i_float f;
  f.value = x;
  sign = f.bits >> 16 & 0x8000u;
  rest = f.bits & 0x7FFFFFFFu;
  if (rest > 0x7F800000u)
    return (uint16_t)(sign | 0x7E00u | (rest >> 13 & 0x3FFu));
  if (rest >= 0x477FF000u) return (uint16_t)(sign | 0x7C00u); /* 65520 */
  if (rest >= 0x38800000u)                                    /* 2^-14 */
    return (uint16_t)(sign |
                      (rest - 0x38000000u + 0xFFFu + (rest >> 13 & 1u)) >> 13);
  if (rest < 0x33000000u) return (uint16_t)sign; /* 2^-25 */
  shift = 126u - (rest >> 23);
  rest = (rest & 0x7FFFFFu) | 0x800000u;
  half = 1u << (shift - 1);
  lost = rest & (2 * half - 1);
  rest >>= shift;
  rest += lost > half || (lost == half && (rest & 1u));
  return (uint16_t)(sign | rest);
}
#endif

/* Makes a dtype of one lane: tvmffi_dtype_of(kDLFloat, 32). */
TVMFFI_I_INLINE DLDataType tvmffi_dtype_of(int code, int bits) {
  DLDataType dtype;
  dtype.code = (uint8_t)code;
  dtype.bits = (uint8_t)bits;
  dtype.lanes = 1;
  return dtype;
}

/* Allocates a tensor *out, owned by the caller or by the innermost scope, in
   the memory of who called: by the environment's allocator, whose tensors
   Python gets back as they are. The shape is copied, its content is not set.
   On failure *out is NULL.
   RuntimeError when there is no allocator, or that one's own error; ValueError
   for a bad shape. tvmffi_tensor_like takes dtype, device and shape from a
   borrowed tensor. */
#define tvmffi_tensor_new(dtype, device, ndim, shape, out) \
  (TVMFFI_I_HERE tvmffi_i_tensor_new(dtype, device, ndim, shape, out))
#define tvmffi_tensor_like(tensor, out) \
  (TVMFFI_I_HERE tvmffi_i_tensor_like(tensor, out))

TVMFFI_I_INLINE int tvmffi_i_tensor_new(DLDataType dtype, DLDevice device,
                                        int32_t ndim, const int64_t *shape,
                                        TVMFFIObject **out) {
  DLTensor like = TVMFFI_I_ZERO;
  TVMFFIObjectHandle handle = NULL;
  int32_t i;
  if (!out) return tvmffi_i_no_out("tvmffi_tensor_new");
  *out = NULL;
  if (ndim < 0 || (ndim && !shape))
    return TVMFFI_RAISE("ValueError", "a new tensor of rank %d without shape",
                        (int)ndim);
  for (i = 0; i < ndim; ++i)
    if (shape[i] < 0)
      return TVMFFI_RAISE("ValueError", "dimension %d of a new tensor is %lld",
                          (int)i, (long long)shape[i]);
  like.dtype = dtype;
  like.device = device;
  like.ndim = ndim;
  like.shape = (int64_t *)(uintptr_t)shape;
  TVMFFI_TRY(TVMFFIEnvTensorAlloc(&like, &handle));
  TVMFFI_TRY(tvmffi_i_keep((TVMFFIObject *)handle));
  *out = (TVMFFIObject *)handle;
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_tensor_like(const DLTensor *t,
                                         TVMFFIObject **out) {
  if (!out) return tvmffi_i_no_out("tvmffi_tensor_like");
  *out = NULL;
  if (!t) return TVMFFI_RAISE("ValueError", "a new tensor like NULL");
  return tvmffi_i_tensor_new(t->dtype, t->device, t->ndim, t->shape, out);
}
