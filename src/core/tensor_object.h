/* ======== Tensors: tensor objects and DLPack ========= >>core/tensor_object */
/* A tensor object has a DLTensor after its header. `keeper` keeps the data
   alive: the imported DLPack tensor or, for a view, the viewed tensor. Shapes
   come from clients and are checked before use. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "raise.h"
#include "object.h"

typedef struct {
  TVMFFIObject base;
  DLTensor tensor;
  void *keeper;    /* DLManagedTensor, DLManagedTensorVersioned or tensor */
  size_t size;     /* bytes of the object's block */
} tvmffi_i_tensor; /* followed by strides, or by shape and strides */

TVMFFI_I_INLINE void tvmffi_i_delete_tensor(void *self, int flags) {
  const size_t size = ((tvmffi_i_tensor *)self)->size;
  TVMFFI_ASSERT(size >= sizeof(tvmffi_i_tensor));
  tvmffi_i_delete_sized(self, flags, size);
}

TVMFFI_I_INLINE void tvmffi_i_destroy_imported(void *self, int flags) {
  DLManagedTensor *from = (DLManagedTensor *)((tvmffi_i_tensor *)self)->keeper;
  TVMFFI_ASSERT(from);
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) && from->deleter)
    from->deleter(from);
  tvmffi_i_delete_tensor(self, flags);
}

TVMFFI_I_INLINE void tvmffi_i_destroy_imported_versioned(void *self,
                                                         int flags) {
  DLManagedTensorVersioned *from =
      (DLManagedTensorVersioned *)((tvmffi_i_tensor *)self)->keeper;
  TVMFFI_ASSERT(from);
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) && from->deleter)
    from->deleter(from);
  tvmffi_i_delete_tensor(self, flags);
}
TVMFFI_I_DELETER(imported)

TVMFFI_I_DELETER(imported_versioned)

TVMFFI_I_INLINE void tvmffi_i_destroy_view(void *self, int flags) {
  TVMFFIObject *viewed = (TVMFFIObject *)((tvmffi_i_tensor *)self)->keeper;
  TVMFFI_ASSERT(viewed && viewed != self);
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) tvmffi_i_release(viewed);
  tvmffi_i_delete_tensor(self, flags);
}
TVMFFI_I_DELETER(view)

/* Raises an error unless rank and extents are valid and the size in bytes is
   less than INT64_MAX. */
TVMFFI_I_SLOW int tvmffi_i_check_any_shape(const char *function,
                                           const DLTensor *t) {
  int64_t bytes = ((int64_t)t->dtype.bits * t->dtype.lanes + 7) / 8;
  int empty = 0;
  int32_t i;
  if (t->ndim < 0 || t->ndim > (1 << 20))
    return tvmffi_i_value_error("%s: ndim is %d", function, (int)t->ndim);
  TVMFFI_ASSERT(t->ndim > 0);
  if (!t->shape) return tvmffi_i_null(function, "shape");
  for (i = 0; i < t->ndim; ++i) {
    if (t->shape[i] < 0)
      return tvmffi_i_value_error("%s: shape[%d] is %lld", function, (int)i,
                                  (long long)t->shape[i]);
    empty |= t->shape[i] == 0;
  }
  for (i = 0; i < t->ndim && !empty; ++i) {
    bytes = tvmffi_i_times(bytes, t->shape[i]);
    if (bytes == INT64_MAX)
      return tvmffi_i_value_error(
          "%s: the shape has more elements than fit in memory", function);
  }
  return 0;
}

/* Checks the shape of a tensor. A small one takes the fast path. */
TVMFFI_I_INLINE int tvmffi_i_check_shape(const char *function,
                                         const DLTensor *t) {
  uint64_t bytes = ((uint64_t)t->dtype.bits * t->dtype.lanes + 7) / 8;
  int32_t i, ndim = t->ndim;
  if (TVMFFI_I_UNLIKELY((uint32_t)ndim > 64 || (ndim && !t->shape)))
    return tvmffi_i_check_any_shape(function, t);
  for (i = 0; i < ndim; ++i) {
    if (TVMFFI_I_UNLIKELY(((uint64_t)t->shape[i] | bytes) >> 31))
      return tvmffi_i_check_any_shape(function, t);
    bytes *= (uint64_t)t->shape[i];
    TVMFFI_ASSERT(bytes >> 62 == 0);
  }
  return 0;
}

/* Returns 1 if the data's address is aligned, else 0. For a device whose `data`
   is an opaque handle, checks only byte_offset. */
static int tvmffi_i_is_aligned(const DLTensor *t, uintptr_t alignment) {
  int32_t type = (int32_t)t->device.device_type;
  int direct = type <= kDLCUDAHost || type == kDLCUDAManaged ||
               type == kDLROCM || type == kDLROCMHost;
  uintptr_t address = direct ? (uintptr_t)t->data : 0;
  TVMFFI_ASSERT(alignment > 0);
  return (address + (uintptr_t)t->byte_offset) % alignment == 0;
}

/* Checks alignment and contiguity if requested; raises upstream's errors. */
TVMFFI_I_NOINLINE int tvmffi_i_check_layout(const DLTensor *t,
                                            int32_t alignment,
                                            int32_t contiguous) {
  TVMFFI_ASSERT(t->ndim >= 0 && (t->shape || !t->ndim));
  if (alignment < 0)
    return tvmffi_i_value_error("FromDLPack: alignment is %d", (int)alignment);
  if (alignment && !tvmffi_i_is_aligned(t, (uintptr_t)alignment))
    return tvmffi_i_runtime_error(
        "FromDLPack: Data is not aligned to %d bytes.", (int)alignment);
  if (contiguous && !tvmffi_tensor_is_contiguous(t))
    return tvmffi_i_runtime_error("FromDLPack: Tensor is not contiguous.");
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_check_import(const DLTensor *t, int32_t alignment,
                                          int32_t contiguous) {
  TVMFFI_TRY(tvmffi_i_check_shape("FromDLPack", t));
  return alignment || contiguous
             ? tvmffi_i_check_layout(t, alignment, contiguous)
             : 0;
}

/* Sets compact strides, stored after the tensor object. */
TVMFFI_I_INLINE void tvmffi_i_make_compact(tvmffi_i_tensor *self) {
  int64_t *strides = (int64_t *)(void *)(self + 1);
  uint64_t stride = 1;
  int32_t i;
  TVMFFI_ASSERT(self->tensor.ndim > 0 && self->tensor.shape);
  TVMFFI_ASSERT((char *)(strides + self->tensor.ndim) ==
                (char *)self + self->size);
  self->tensor.strides = strides;
  for (i = self->tensor.ndim; i-- > 0;) {
    strides[i] = (int64_t)stride;
    stride *= (uint64_t)self->tensor.shape[i];
  }
}

/* Creates a tensor from `t`, with compact strides if t->strides is NULL. */
TVMFFI_I_INLINE int tvmffi_i_import(const DLTensor *t, void *keeper,
                                    void (*deleter)(void *, int),
                                    TVMFFIObjectHandle *out) {
  const size_t extra = t->strides ? 0 : (size_t)t->ndim * sizeof(int64_t);
  const size_t size = sizeof(tvmffi_i_tensor) + extra;
  tvmffi_i_tensor *self =
      (tvmffi_i_tensor *)tvmffi_i_object(size, kTVMFFITensor, deleter);
  if (!self) return -1;
  TVMFFI_ASSERT(t->ndim >= 0 && keeper && deleter);
  self->tensor = *t;
  self->keeper = keeper;
  self->size = size;
  *out = self;
  if (!t->strides && t->ndim) tvmffi_i_make_compact(self);
  return 0;
}

int TVMFFITensorFromDLPack(DLManagedTensor *from, int32_t require_alignment,
                           int32_t require_contiguous,
                           TVMFFIObjectHandle *out) {
  TVMFFI_I_NOT_NULL(from);
  TVMFFI_I_NOT_NULL(out);
  TVMFFI_TRY(tvmffi_i_check_import(&from->dl_tensor, require_alignment,
                                   require_contiguous));
  return tvmffi_i_import(&from->dl_tensor, from, tvmffi_i_delete_imported, out);
}

/* Raises an error if the DLPack version is not supported. */
static int tvmffi_i_check_versioned(const DLManagedTensorVersioned *from) {
  if (from->version.major != DLPACK_MAJOR_VERSION)
    return tvmffi_i_runtime_error(
        "FromDLPack: DLPack version %u.%u is not supported, only %d.x is",
        (unsigned)from->version.major, (unsigned)from->version.minor,
        DLPACK_MAJOR_VERSION);
  return 0;
}

int TVMFFITensorFromDLPackVersioned(DLManagedTensorVersioned *from,
                                    int32_t require_alignment,
                                    int32_t require_contiguous,
                                    TVMFFIObjectHandle *out) {
  TVMFFI_I_NOT_NULL(from);
  TVMFFI_I_NOT_NULL(out);
  TVMFFI_TRY(tvmffi_i_check_versioned(from));
  TVMFFI_TRY(tvmffi_i_check_import(&from->dl_tensor, require_alignment,
                                   require_contiguous));
  if (from->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED)
    return tvmffi_i_runtime_error("Subbyte type padded is not yet supported");
  return tvmffi_i_import(&from->dl_tensor, from,
                         tvmffi_i_delete_imported_versioned, out);
}

#if defined(__cplusplus)
extern "C" {
#endif
static void tvmffi_i_delete_exported(DLManagedTensor *self) {
  TVMFFI_ASSERT(self->manager_ctx);
  tvmffi_i_release(self->manager_ctx);
  tvmffi_i_pool_free(self, sizeof(*self));
}
static void tvmffi_i_delete_exported_versioned(DLManagedTensorVersioned *self) {
  TVMFFI_ASSERT(self->manager_ctx);
  tvmffi_i_release(self->manager_ctx);
  tvmffi_i_pool_free(self, sizeof(*self));
}
#if defined(__cplusplus)
}
#endif

int TVMFFITensorToDLPack(TVMFFIObjectHandle from, DLManagedTensor **out) {
  DLManagedTensor *managed;
  TVMFFI_I_CHECK(from, kTVMFFITensor);
  TVMFFI_I_NOT_NULL(out);
  managed = (DLManagedTensor *)tvmffi_i_pool_alloc(sizeof(*managed));
  if (!managed) return tvmffi_i_no_memory();
  managed->dl_tensor = *TVMFFITensorGetDLTensorPtr(from);
  managed->manager_ctx = from;
  managed->deleter = tvmffi_i_delete_exported;
  tvmffi_i_retain(from);
  *out = managed;
  return 0;
}

int TVMFFITensorToDLPackVersioned(TVMFFIObjectHandle from,
                                  DLManagedTensorVersioned **out) {
  DLManagedTensorVersioned *managed;
  TVMFFI_I_CHECK(from, kTVMFFITensor);
  TVMFFI_I_NOT_NULL(out);
  managed = (DLManagedTensorVersioned *)tvmffi_i_pool_alloc(sizeof(*managed));
  if (!managed) return tvmffi_i_no_memory();
  managed->version.major = DLPACK_MAJOR_VERSION;
  managed->version.minor = DLPACK_MINOR_VERSION;
  managed->flags = 0;
  managed->dl_tensor = *TVMFFITensorGetDLTensorPtr(from);
  managed->manager_ctx = from;
  managed->deleter = tvmffi_i_delete_exported_versioned;
  tvmffi_i_retain(from);
  *out = managed;
  return 0;
}

int TVMFFITensorCreateUnsafeView(TVMFFIObjectHandle source,
                                 const DLTensor *prototype,
                                 TVMFFIObjectHandle *out) {
  tvmffi_i_tensor *self;
  size_t size;
  TVMFFI_I_CHECK(source, kTVMFFITensor);
  TVMFFI_I_NOT_NULL(prototype);
  TVMFFI_I_NOT_NULL(out);
  TVMFFI_TRY(tvmffi_i_check_shape(__func__, prototype));
  if (prototype->ndim) TVMFFI_I_NOT_NULL(prototype->strides);
  size = (size_t)prototype->ndim * sizeof(int64_t);
  self = (tvmffi_i_tensor *)tvmffi_i_object(
      sizeof(*self) + 2 * size, kTVMFFITensor, tvmffi_i_delete_view);
  if (!self) return -1;
  self->tensor = *prototype;
  self->tensor.shape = (int64_t *)(void *)(self + 1);
  self->tensor.strides = self->tensor.shape + prototype->ndim;
  if (size) {
    memcpy(self->tensor.shape, prototype->shape, size);
    memcpy(self->tensor.strides, prototype->strides, size);
  }
  tvmffi_i_retain(source);
  self->keeper = source;
  self->size = sizeof(*self) + 2 * size;
  *out = self;
  return 0;
}
