/* ======== Tensors ======================================== >>interface/tensor
   elements, loops, half floats, new tensors */

#pragma once

#include "../head.h"
#include "../base.h"
#include "list.h"
#include "scope.h"
#include "function.h"
#include "expect.h"

/* Returns the stride of dimension `dim` in elements, computed if t->strides is
   NULL. Cannot fail: the dimension must exist. A negative `dim` counts from the
   end. */
TVMFFI_I_INLINE int64_t tvmffi_tensor_stride(const DLTensor *t, int32_t dim) {
  int64_t step = 1;
  int32_t i;
  if (dim < 0) dim += t->ndim;
  if (t->strides) return t->strides[dim];
  for (i = dim + 1; i < t->ndim; ++i) step = tvmffi_i_times(step, t->shape[i]);
  return step;
}

/* Refers to the element at 1 to 6 indices, one for each dimension:
   `TVMFFI_ELEMENT(x, float, i, j) = 1`. Uses the tensor's strides. The element
   is borrowed from the tensor. Cannot fail: rank, indices and type are not
   checked. */
#define TVMFFI_ELEMENT(tensor, type, ...)               \
  TVMFFI_DATA(tensor, type)                             \
  [tvmffi_i_offset(tensor, TVMFFI_I_COUNT(__VA_ARGS__), \
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

/* Iterates over 1 to 4 tensors of the same shape and any strides. Each step
   gives a run: elements for the inner loop, with one stride in each tensor.
       tvmffi_loop run;
       TVMFFI_TRY(tvmffi_loop_begin(&run, x, y));
       while (tvmffi_loop_next(&run)) {
         const float *px = (const float *)run.at[0];
         float *py = (float *)run.at[1];
         for (int64_t i = 0; i < run.size; ++i)
           py[i * run.stride[1]] += px[i * run.stride[0]];
       }
   Elements come in row-major order, in as few runs as the strides allow: one if
   all tensors are contiguous. The tensors are borrowed. An element's size
   must be a whole number of bytes. */
enum { TVMFFI_LOOP_TENSORS = 4, TVMFFI_LOOP_DIMS = 16 };
typedef struct {
  int64_t size;                  /* elements in a run (the inner loop) */
  void *at[TVMFFI_LOOP_TENSORS]; /* each tensor's first element of the run */
  int64_t stride[TVMFFI_LOOP_TENSORS]; /* to the next element, in elements */
  /* Internal: the dimensions that the loop steps through, innermost first. */
  int32_t num_tensors, num_dims, is_begun, is_empty;
  int64_t bytes[TVMFFI_LOOP_TENSORS]; /* of an element */
  int64_t shape[TVMFFI_LOOP_DIMS], index[TVMFFI_LOOP_DIMS];
  int64_t step[TVMFFI_LOOP_DIMS][TVMFFI_LOOP_TENSORS];
} tvmffi_loop;

/* Begins a loop over all elements of 1 to 4 tensors of the same shape. Returns
   0, or -1 with an error: a ValueError for NULL, for different shapes, or for
   more than TVMFFI_LOOP_DIMS dimensions that cannot be merged, or a TypeError
   if an element's size is not a whole number of bytes. */
#define tvmffi_loop_begin(run, ...)                     \
  tvmffi_i_loop_begin(run, TVMFFI_I_COUNT(__VA_ARGS__), \
                      TVMFFI_I_FOUR(__VA_ARGS__, NULL, NULL, NULL, ~))

/* Begins a loop in which each run (the inner loop) covers the whole dimension
   `dim`. A negative `dim` counts from the end. Only in `dim` may the tensors'
   extents differ; run->size is the first tensor's extent. Returns 0, or -1 with
   an error: a ValueError if the dimension does not exist, or an error of
   tvmffi_loop_begin. */
#define tvmffi_loop_rows(run, dim, ...)                     \
  tvmffi_i_loop_rows(run, dim, TVMFFI_I_COUNT(__VA_ARGS__), \
                     TVMFFI_I_FOUR(__VA_ARGS__, NULL, NULL, NULL, ~))
#define TVMFFI_I_FOUR(...) TVMFFI_I_FOUR_(__VA_ARGS__)
#define TVMFFI_I_FOUR_(a, b, c, d, ...) a, b, c, d

/* Moves to the next run (inner loop); the first call moves to the first run.
   Returns 1, or 0 after the last run. */
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

/* Checks that a loop's tensors have the same shape, except in dimension `dim`.
   If `dim` is -1, no dimension may differ. */
TVMFFI_I_INLINE int tvmffi_i_loop_check(int32_t dim, int n,
                                        const DLTensor *const *tensors) {
  char one[TVMFFI_I_SAID], two[TVMFFI_I_SAID];
  int32_t k, d;
  for (k = 0; k < n; ++k) {
    const DLTensor *t = tensors[k], *first = tensors[0];
    int same = t && t->ndim == first->ndim;
    if (!t || (t->ndim > 0 && !t->shape))
      return tvmffi_i_raise("ValueError", "tensor %d of a loop is NULL",
                            (int)k);
    if (!t->dtype.bits || t->dtype.bits * t->dtype.lanes % 8)
      return tvmffi_i_raise("TypeError",
                            "tensor %d of a loop has elements of %d bits",
                            (int)k, t->dtype.bits * t->dtype.lanes);
    if (tvmffi_tensor_size(t) == INT64_MAX)
      return tvmffi_i_raise(
          "ValueError",
          "tensor %d of a loop has the shape %s, which is too "
          "large",
          (int)k, tvmffi_i_say_shape(t, one));
    for (d = 0; same && d < t->ndim; ++d)
      same = d == dim || t->shape[d] == first->shape[d];
    if (!same)
      return tvmffi_i_raise(
          "ValueError", "tensor %d of a loop has the shape %s, the first %s",
          (int)k, tvmffi_i_say_shape(t, two), tvmffi_i_say_shape(first, one));
  }
  return 0;
}

/* Adds an outer dimension to a loop. Merges it with the last added dimension if
   one outer step is as long as that whole dimension in every tensor. */
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
    return tvmffi_i_raise("ValueError", "a loop over more than %d dimensions",
                          (int)TVMFFI_LOOP_DIMS);
  run->shape[d] = extent;
  run->index[d] = 0;
  for (k = 0; k < run->num_tensors; ++k) run->step[d][k] = step[k];
  ++run->num_dims;
  return 0;
}

/* Stores a, b, c and d in the array `tensors`, and initialises a loop without
   elements. */
TVMFFI_I_INLINE int tvmffi_i_loop_init(tvmffi_loop *run, int n,
                                       const DLTensor **tensors,
                                       const DLTensor *a, const DLTensor *b,
                                       const DLTensor *c, const DLTensor *d) {
  int k;
  tensors[0] = a;
  tensors[1] = b;
  tensors[2] = c;
  tensors[3] = d;
  for (k = 0; k < TVMFFI_LOOP_TENSORS; ++k) {
    run->at[k] = NULL;
    run->stride[k] = 0;
  }
  run->size = 1;
  run->num_tensors = n <= TVMFFI_LOOP_TENSORS ? n : 0;
  run->num_dims = run->is_begun = 0;
  run->is_empty = 1;
  if (run->num_tensors) return 0;
  return tvmffi_i_raise("ValueError", "a loop over %d tensors: at most %d", n,
                        (int)TVMFFI_LOOP_TENSORS);
}

/* Begins a loop over all dimensions except `dim`. If `dim` is -1, excludes no
   dimension. */
TVMFFI_I_INLINE int tvmffi_i_loop_around(tvmffi_loop *run, int32_t dim,
                                         const DLTensor *const *tensors) {
  int64_t compact[TVMFFI_LOOP_TENSORS], step[TVMFFI_LOOP_TENSORS];
  int32_t n = run->num_tensors, is_empty = 0, k, d;
  TVMFFI_TRY(tvmffi_i_loop_check(dim, n, tensors));
  for (k = 0; k < n; ++k) {
    const DLTensor *t = tensors[k];
    compact[k] = 1;
    run->bytes[k] = t->dtype.bits * t->dtype.lanes / 8;
    run->at[k] = TVMFFI_DATA(t, void);
  }
  for (d = tensors[0]->ndim - 1; d >= 0; --d) {
    int64_t extent = tensors[0]->shape[d];
    for (k = 0; k < n; ++k) {
      const DLTensor *t = tensors[k];
      step[k] = t->strides ? t->strides[d] : compact[k];
      compact[k] = tvmffi_i_times(compact[k], t->shape[d]);
    }
    if (d == dim) continue;
    if (extent <= 0) is_empty = 1;
    if (extent > 1) TVMFFI_TRY(tvmffi_i_loop_add(run, extent, step));
  }
  run->is_empty = is_empty;
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_loop_begin(tvmffi_loop *run, int n,
                                        const DLTensor *a, const DLTensor *b,
                                        const DLTensor *c, const DLTensor *d) {
  const DLTensor *tensors[TVMFFI_LOOP_TENSORS];
  int32_t i, k;
  TVMFFI_TRY(tvmffi_i_loop_init(run, n, tensors, a, b, c, d));
  TVMFFI_TRY(tvmffi_i_loop_around(run, -1, tensors));
  if (!run->num_dims) return 0;
  /* The innermost dimension becomes the run. */
  run->size = run->shape[0];
  for (k = 0; k < run->num_tensors; ++k) run->stride[k] = run->step[0][k];
  --run->num_dims;
  for (i = 0; i < run->num_dims; ++i) {
    run->shape[i] = run->shape[i + 1];
    for (k = 0; k < run->num_tensors; ++k)
      run->step[i][k] = run->step[i + 1][k];
  }
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_loop_rows(tvmffi_loop *run, int32_t dim, int n,
                                       const DLTensor *a, const DLTensor *b,
                                       const DLTensor *c, const DLTensor *d) {
  const DLTensor *tensors[TVMFFI_LOOP_TENSORS];
  int32_t k, at = a && dim < 0 ? dim + a->ndim : dim;
  TVMFFI_TRY(tvmffi_i_loop_init(run, n, tensors, a, b, c, d));
  if (a && (at < 0 || at >= a->ndim))
    return tvmffi_i_raise("ValueError",
                          "loop dimension %d is out of range for rank %d",
                          (int)dim, (int)a->ndim);
  TVMFFI_TRY(tvmffi_i_loop_around(run, at, tensors));
  run->size = a->shape[at];
  for (k = 0; k < run->num_tensors; ++k)
    run->stride[k] = tvmffi_tensor_stride(tensors[k], at);
  return 0;
}

#if !TVMFFI_NO_FLOAT
typedef union {
  float value;
  uint32_t bits;
} tvmffi_i_float;

/* Converts the bits of a bfloat16, the upper half of a float, to float. The
   conversion is exact and cannot fail. */
TVMFFI_I_INLINE float tvmffi_bfloat16_to_float(uint16_t x) {
  tvmffi_i_float f;
  f.bits = (uint32_t)x << 16;
  return f.value;
}

/* Rounds to the nearest bfloat16, ties to even, and returns the bits. Cannot
   fail. A NaN becomes quiet and keeps the upper bits of its payload. */
TVMFFI_I_INLINE uint16_t tvmffi_bfloat16_from_float(float x) {
  tvmffi_i_float f;
  f.value = x;
  if ((f.bits & 0x7FFFFFFFu) > 0x7F800000u)
    return (uint16_t)(f.bits >> 16 | 0x40u);
  return (uint16_t)((f.bits + 0x7FFFu + (f.bits >> 16 & 1u)) >> 16);
}

/* Converts the bits of a float16 (IEEE 754 binary16) to float. The conversion
   cannot fail and is exact, but a NaN becomes quiet. */
TVMFFI_I_INLINE float tvmffi_float16_to_float(uint16_t x) {
  uint32_t sign = (uint32_t)(x & 0x8000u) << 16, rest = x & 0x7FFFu;
  tvmffi_i_float f;
  if (rest >= 0x7C00u) { /* infinity or NaN */
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

/* Rounds to the nearest float16, ties to even, and returns the bits. Cannot
   fail. A NaN becomes quiet and keeps the upper bits of its payload. */
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

/* Returns a dtype of one lane and cannot fail: float32 is
   tvmffi_dtype_of(kDLFloat, 32). */
TVMFFI_I_INLINE DLDataType tvmffi_dtype_of(int code, int bits) {
  DLDataType dtype;
  dtype.code = (uint8_t)code;
  dtype.bits = (uint8_t)bits;
  dtype.lanes = 1;
  return dtype;
}

/* Allocates a tensor *out, owned by the scope:
       TVMFFI_TRY(tvmffi_tensor_new("float32", "cpu", 2, shape, &out));
       TVMFFI_TRY(tvmffi_tensor_new(x->dtype, x->device, 2, shape, &out));
   dtype and device are values or names. C99 takes only values; there, convert a
   name by tvmffi_as(tvmffi_str("int4"), tvmffi_out_dtype(&dtype)). The shape is
   copied. The elements are uninitialised. If the environment has set a tensor
   allocator, the allocator makes the tensor; PyTorch's allocator makes a
   PyTorch tensor. Otherwise only the CPU is supported. The tensor is then
   contiguous and aligned to 64 bytes, elements below 8 bits are packed, and an
   empty tensor's data is NULL. The memory comes from malloc and is freed by
   libc's free, so the library that made the tensor may be unloaded first. A
   file that defines TVMFFI_MALLOC uses that macro instead, and must stay loaded
   until the tensor is destroyed. In a freestanding build the runtime allocates
   and frees. Returns 0, or -1 with an error and *out set to NULL: a ValueError
   for a bad name or shape, a RuntimeError for another device without an
   allocator, a MemoryError, or the allocator's own error.
   tvmffi_tensor_new_like uses a borrowed tensor's dtype, device and shape. */
#define tvmffi_tensor_new(dtype, device, ndim, shape, out)      \
  tvmffi_i_tensor_new(TVMFFI_I_OWNER, tvmffi_i_dtype_arg(dtype), \
                      tvmffi_i_device_arg(device), ndim, shape, out)
#define tvmffi_tensor_new_like(tensor, out) \
  tvmffi_i_tensor_new_like(TVMFFI_I_OWNER, tensor, out)

/* Make a view of a dtype or device argument, a value or a name. */
#if defined(__cplusplus)
extern "C++" {
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_dtype_arg(DLDataType value) {
  return tvmffi_dtype(value);
}
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_dtype_arg(const char *name) {
  return tvmffi_str(name);
}
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_device_arg(DLDevice value) {
  return tvmffi_device(value);
}
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_device_arg(const char *name) {
  return tvmffi_str(name);
}
}
#elif TVMFFI_I_GENERIC
#define TVMFFI_I_NAMED_ARG(x, type, make) \
  _Generic((x), char *: tvmffi_str, const char *: tvmffi_str, type: make)(x)
#define tvmffi_i_dtype_arg(x) TVMFFI_I_NAMED_ARG(x, DLDataType, tvmffi_dtype)
#define tvmffi_i_device_arg(x) TVMFFI_I_NAMED_ARG(x, DLDevice, tvmffi_device)
#else
#define tvmffi_i_dtype_arg tvmffi_dtype
#define tvmffi_i_device_arg tvmffi_device
#endif

/* Convert a name, or None for NULL. */
TVMFFI_I_ONCE(int, tvmffi_i_dtype_named, (TVMFFIAny any, DLDataType *dtype)) {
  TVMFFIByteArray name = tvmffi_any_str(&any);
  if (!name.data)
    return tvmffi_i_raise("ValueError", "NULL for the dtype of a new tensor");
  return TVMFFIDataTypeFromString(&name, dtype);
}
TVMFFI_I_ONCE(int, tvmffi_i_device_named, (TVMFFIAny any, DLDevice *device)) {
  TVMFFIByteArray name = tvmffi_any_str(&any);
  if (!name.data)
    return tvmffi_i_raise("ValueError", "NULL for the device of a new tensor");
  return tvmffi_i_parse_device(name, device)
             ? tvmffi_i_raise("ValueError", "unknown device `%s`", name.data)
             : 0;
}

/* A function that frees a memory block with a DLPack tensor at the start.
   libc's free, which also takes one pointer, is cast to this type. */
typedef void tvmffi_i_tensor_deleter(DLManagedTensorVersioned *self);

/* Allocates a memory block and stores in *to_free how to free it. Returns NULL
   on failure. */
#if TVMFFI_FREESTANDING || (defined(__STDC_HOSTED__) && !__STDC_HOSTED__)
/* Calls the runtime, because only the file with the implementation knows the
   memory hooks and the arena. */
TVMFFI_I_INLINE void *tvmffi_i_tensor_alloc(size_t size,
                                            tvmffi_i_tensor_deleter **to_free) {
  TVMFFICustomAllocator *from = TVMFFIGetCustomAllocator();
  void *block = from->allocate(size, 16, kTVMFFINone, from->context);
  if (block)
    *to_free = (tvmffi_i_tensor_deleter *)((TVMFFIObjectAllocHeader *)block - 1)
                   ->delete_space;
  return block;
}
#else
#if defined(TVMFFI_MALLOC) || \
    (defined(TVMFFI_ARENA_SIZE) && defined(TVMFFI_IMPLEMENTATION))
TVMFFI_I_INLINE void tvmffi_i_tensor_free(DLManagedTensorVersioned *self) {
  TVMFFI_I_SCOPE_FREE(self);
}
#else
#if TVMFFI_I_GNU
/* Declares libc's free under another name, without <stdlib.h>. In C++, a second
   declaration of free must have the same exception specification. */
TVMFFI_I_EXTERN_C void tvmffi_i_libc_free(void *) __asm__(
    TVMFFI_I_QUOTE(__USER_LABEL_PREFIX__) "free");
#else
#define tvmffi_i_libc_free free
#endif
#define tvmffi_i_tensor_free (tvmffi_i_tensor_deleter *)tvmffi_i_libc_free
#endif
TVMFFI_I_INLINE void *tvmffi_i_tensor_alloc(size_t size,
                                            tvmffi_i_tensor_deleter **to_free) {
  *to_free = tvmffi_i_tensor_free;
  return TVMFFI_I_SCOPE_MALLOC(size);
}
#endif

/* Makes a CPU tensor without a tensor allocator. One memory block stores the
   DLPack tensor, the shape and the elements. The DLPack tensor comes first, so
   the tensor's deleter just frees the block and needs no code of this
   library. */
TVMFFI_I_INLINE int tvmffi_i_tensor_alone(const DLTensor *like,
                                          TVMFFIObjectHandle *out) {
  const unsigned align = 64;
  const size_t elements = tvmffi_tensor_bytes(like);
  const uint64_t head = sizeof(DLManagedTensorVersioned) +
                        (uint64_t)like->ndim * sizeof(int64_t) + align - 1;
  tvmffi_i_tensor_deleter *to_free = NULL;
  DLManagedTensorVersioned *self = NULL;
  DLTensor *t;
  char text[TVMFFI_I_SAID];
  int32_t i;
  int code;
  if (elements == SIZE_MAX)
    return tvmffi_i_raise("ValueError",
                          "the shape %s of a new tensor is too large",
                          tvmffi_i_say_shape(like, text));
  if (head + elements <= PTRDIFF_MAX)
    self = (DLManagedTensorVersioned *)tvmffi_i_tensor_alloc(
        (size_t)head + elements, &to_free);
  if (!self)
    return tvmffi_i_raise("MemoryError",
                          "out of memory for a tensor of the shape %s",
                          tvmffi_i_say_shape(like, text));
  self->version.major = DLPACK_MAJOR_VERSION;
  self->version.minor = DLPACK_MINOR_VERSION;
  self->manager_ctx = NULL;
  self->deleter = to_free;
  self->flags = 0;
  t = &self->dl_tensor;
  *t = *like;
  t->shape = (int64_t *)(void *)(self + 1);
  for (i = 0; i < t->ndim; ++i) t->shape[i] = like->shape[i];
  if (tvmffi_tensor_size(like) != 0)
    t->data = (char *)self + head - ((uintptr_t)self + (uintptr_t)head) % align;
  code = TVMFFITensorFromDLPackVersioned(self, 0, 0, out);
  if (code && to_free) to_free(self);
  return code;
}

TVMFFI_I_INLINE int tvmffi_i_tensor_of(tvmffi_i_owner to, DLDataType dtype,
                                       DLDevice device, int32_t ndim,
                                       const int64_t *shape,
                                       TVMFFIObject **out) {
  DLTensor like = TVMFFI_I_ZERO;
  TVMFFIObjectHandle handle = NULL;
  char text[TVMFFI_I_SAID];
  int32_t i;
  if (ndim < 0 || (ndim && !shape))
    return tvmffi_i_raise("ValueError", "a new tensor of rank %d without shape",
                          (int)ndim);
  for (i = 0; i < ndim; ++i)
    if (shape[i] < 0)
      return tvmffi_i_raise("ValueError",
                            "dimension %d of a new tensor is %lld", (int)i,
                            (long long)shape[i]);
  like.dtype = dtype;
  like.device = device;
  like.ndim = ndim;
  like.shape = (int64_t *)(uintptr_t)shape;
  if (TVMFFIEnvGetDLPackManagedTensorAllocator())
    TVMFFI_TRY(TVMFFIEnvTensorAlloc(&like, &handle));
  else if (device.device_type == kDLCPU)
    TVMFFI_TRY(tvmffi_i_tensor_alone(&like, &handle));
  else
    return tvmffi_i_raise("RuntimeError",
                          "a new tensor on %s needs a tensor allocator of the "
                          "environment, and none is set",
                          tvmffi_i_say_device(device, text));
  return tvmffi_i_hand_out(to, handle, out);
}

/* Inlined, so that a program without names has no code for them. */
TVMFFI_I_ALWAYS_INLINE int tvmffi_i_tensor_new(tvmffi_i_owner to,
                                               TVMFFIAny dtype,
                                               TVMFFIAny device, int32_t ndim,
                                               const int64_t *shape,
                                               TVMFFIObject **out) {
  DLDataType type = dtype.v_dtype;
  DLDevice place = device.v_device;
  if (!out) return tvmffi_i_no_out("tvmffi_tensor_new");
  *out = NULL;
  TVMFFI_TRY(tvmffi_i_is_marked(to));
  if (dtype.type_index != kTVMFFIDataType)
    TVMFFI_TRY(tvmffi_i_dtype_named(dtype, &type));
  if (device.type_index != kTVMFFIDevice)
    TVMFFI_TRY(tvmffi_i_device_named(device, &place));
  return tvmffi_i_tensor_of(to, type, place, ndim, shape, out);
}

TVMFFI_I_INLINE int tvmffi_i_tensor_new_like(tvmffi_i_owner to,
                                             const DLTensor *t,
                                             TVMFFIObject **out) {
  if (!out) return tvmffi_i_no_out("tvmffi_tensor_new_like");
  *out = NULL;
  TVMFFI_TRY(tvmffi_i_is_marked(to));
  if (!t) TVMFFI_TRY(tvmffi_i_pending());
  if (!t)
    return tvmffi_i_raise("ValueError",
                          "tvmffi_tensor_new_like: the tensor is NULL");
  return tvmffi_i_tensor_of(to, t->dtype, t->device, t->ndim, t->shape, out);
}
