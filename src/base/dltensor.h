/* ======== DLTensor =========================================== >>base/dltensor
   size, layout and address of its elements */

#pragma once

#include "../head.h"

/* Multiplies extents or strides that are not validated. Returns INT64_MAX on
   overflow. */
TVMFFI_I_SMALL_NOINLINE int64_t tvmffi_i_times(int64_t a, int64_t b) {
#if TVMFFI_I_HAS_MUL_OVERFLOW
  int64_t product;
  return TVMFFI_I_LIKELY(!__builtin_mul_overflow(a, b, &product)) ? product
                                                                  : INT64_MAX;
#else
  uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
  uint64_t y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
  uint64_t cross = (x >> 32) * (y & UINT32_MAX) + (x & UINT32_MAX) * (y >> 32);
  cross += (x & UINT32_MAX) * (y & UINT32_MAX) >> 32;
  return (x >> 32 && y >> 32) || cross >> 31 ? INT64_MAX : a * b;
#endif
}

/* Returns the number of elements of a tensor: 1 for rank 0, INT64_MAX on
   overflow. */
TVMFFI_I_INLINE int64_t tvmffi_tensor_size(const DLTensor *t) {
  int64_t size = 1;
  int32_t i;
  for (i = 0; i < t->ndim; ++i) size = tvmffi_i_times(size, t->shape[i]);
  return size;
}

/* Returns the size of a tensor's elements in bytes; elements below 8 bits are
   packed. Returns SIZE_MAX on overflow, 0 for a negative extent. */
TVMFFI_I_INLINE size_t tvmffi_tensor_bytes(const DLTensor *t) {
  int64_t size = tvmffi_tensor_size(t);
  int64_t bits = tvmffi_i_times(size > 0 ? size : 0,
                                (int64_t)t->dtype.bits * t->dtype.lanes);
  int64_t bytes = bits / 8 + (bits % 8 > 0);
  return bits == INT64_MAX || (int64_t)(size_t)bytes != bytes ? SIZE_MAX
                                                              : (size_t)bytes;
}

/* Returns 1 if the elements are contiguous in row-major order, else 0. A tensor
   without strides is contiguous; so is an empty tensor. A tensor of more than
   INT64_MAX elements is not. */
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

/* Adds a byte offset to a data pointer. An empty tensor may have no memory, and
   C does not define NULL + 0, so an offset of 0 is not added. gcc and clang
   remove the branch. */
TVMFFI_I_INLINE void *tvmffi_i_first_element(void *data, size_t byte_offset) {
  return byte_offset ? TVMFFI_I_AS(char *, data) + byte_offset : data;
}

/* Returns the address of a tensor's first element as a pointer to `type`,
   borrowed from the tensor, or NULL if an empty tensor has no memory. Evaluates
   `tensor` twice. */
#define TVMFFI_DATA(tensor, type)     \
  TVMFFI_I_AS(type *,                 \
              tvmffi_i_first_element( \
                  (tensor)->data, TVMFFI_I_AS(size_t, (tensor)->byte_offset)))
