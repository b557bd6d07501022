/* Tensors: a DLTensor describes memory, a tensor object owns the memory, and
   DLPack passes tensors between libraries without a copy. */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <stdio.h>
#include <stdlib.h>

#define CHECK(x) TVMFFI_TRY((x) ? 0 : TVMFFI_RAISE("AssertionError", "%s", #x))

static const DLDataType float32 = {kDLFloat, 32, 1};
static const DLDevice cpu = {kDLCPU, 0};
static int owners; /* number of live Matrix objects */

/* The producer's side of DLPack: a DLManagedTensorVersioned with its shape and
   strides, and a deleter that the tensor's last owner calls. */
typedef struct {
  DLManagedTensorVersioned managed;
  int64_t shape[2], strides[2];
} Matrix;

static void matrix_delete(DLManagedTensorVersioned *self) {
  --owners;
  free(self->dl_tensor.data);
  free(self);
}

static DLManagedTensorVersioned *matrix_new(int64_t rows, int64_t columns) {
  Matrix *self = (Matrix *)calloc(1, sizeof(Matrix));
  DLTensor *t = &self->managed.dl_tensor;
  if (!self) return NULL;
  self->managed.version.major = DLPACK_MAJOR_VERSION;
  self->managed.version.minor = DLPACK_MINOR_VERSION;
  self->managed.deleter = matrix_delete;
  self->shape[0] = rows, self->shape[1] = columns;
  self->strides[0] = columns, self->strides[1] = 1;
  t->data = calloc((size_t)(rows * columns), sizeof(float));
  if (!t->data) return free(self), (DLManagedTensorVersioned *)NULL;
  t->device = cpu;
  t->ndim = 2;
  t->dtype = float32;
  t->shape = self->shape;
  t->strides = self->strides;
  ++owners;
  return &self->managed;
}

/* The call checks dtype, rank and device. TVMFFI_ELEMENT reads an element by
   the strides and the byte offset. */
TVMFFI_FUNC(sum, float64, (tensor("float32[rows, columns] cpu strided"), x)) {
  double total = 0;
  for (int64_t i = 0; i < x->shape[0]; ++i)
    for (int64_t j = 0; j < x->shape[1]; ++j)
      total += TVMFFI_ELEMENT(x, float, i, j);
  TVMFFI_RETURN(total);
}

/* tvmffi_tensor_new allocates the tensor's memory, which the tensor object
   owns. The scope owns the tensor object. */
static int make_and_read(void) {
  TVMFFI_SCOPE;
  TVMFFIObject *tensor;
  double total = 0;
  int64_t shape[2] = {2, 3};
  TVMFFI_TRY(tvmffi_tensor_new("float32", "cpu", 2, shape, &tensor));
  for (int i = 0; i < 6; ++i)
    TVMFFI_DATA(TVMFFITensorGetDLTensorPtr(tensor), float)[i] = (float)i;
  TVMFFI_TRY(tvmffi_call("demo.sum", &total, tensor));
  CHECK(total == 15);
  return 0;
}

/* Makes a tensor object that owns a matrix. The caller's scope owns the tensor
   object. */
static TVMFFIObject *tensor_new(TVMFFI_HERE, int64_t rows, int64_t columns) {
  DLManagedTensorVersioned *managed = matrix_new(rows, columns);
  TVMFFIObjectHandle handle = NULL;
  if (!managed) {
    (void)TVMFFI_RAISE("MemoryError", "no memory for a matrix");
    return NULL;
  }
  if (TVMFFITensorFromDLPackVersioned(managed, 0, 0, &handle)) {
    managed->deleter(managed);
    return NULL;
  }
  return tvmffi_scope_attach(handle); /* it will call managed->deleter */
}

/* The DLPack tensor refers to the same memory, and keeps the memory alive until
   the consumer calls the deleter. */
static int to_dlpack(void) {
  DLManagedTensorVersioned *out = NULL;
  {
    TVMFFI_SCOPE;
    TVMFFIObject *tensor = tensor_new(tvmffi_here, 2, 2);
    if (!tensor) return -1;
    TVMFFI_TRY(TVMFFITensorToDLPackVersioned(tensor, &out));
    CHECK(out->dl_tensor.data == TVMFFITensorGetDLTensorPtr(tensor)->data);
  } /* releases the tensor object */
  CHECK(owners == 1);
  out->deleter(out);
  return 0;
}

/* An environment (PyTorch, say) can install an allocator for tensors. Then
   tvmffi_tensor_new calls this allocator, so a function's result is a tensor of
   that environment. */
static int allocate(DLTensor *like, DLManagedTensorVersioned **out,
                    void *error_ctx,
                    void (*set_error)(void *error_ctx, const char *kind,
                                      const char *message)) {
  *out = matrix_new(like->shape[0], like->shape[1]);
  if (*out) return 0;
  set_error(error_ctx, "MemoryError", "no memory for a matrix");
  return -1;
}

static int by_the_environment(void) {
  TVMFFI_SCOPE;
  TVMFFIObject *tensor;
  DLPackManagedTensorAllocator before = NULL;
  int64_t shape[2] = {4, 5};
  TVMFFI_TRY(TVMFFIEnvSetDLPackManagedTensorAllocator(allocate, 0, &before));
  TVMFFI_TRY(tvmffi_tensor_new(float32, cpu, 2, shape, &tensor));
  CHECK(TVMFFITensorGetDLTensorPtr(tensor)->shape[1] == 5 && owners == 1);
  return TVMFFIEnvSetDLPackManagedTensorAllocator(before, 0, NULL);
}

/* A tensor view refers to the same memory with another shape, here the
   transpose. The view keeps the original tensor alive. */
static int view(void) {
  TVMFFI_SCOPE;
  TVMFFIObjectHandle transposed = NULL;
  int64_t shape[2] = {3, 2}, strides[2] = {1, 3};
  {
    TVMFFI_SCOPE;
    DLTensor like;
    TVMFFIObject *tensor = tensor_new(tvmffi_here, 2, 3);
    if (!tensor) return -1;
    like = *TVMFFITensorGetDLTensorPtr(tensor);
    TVMFFI_ELEMENT(&like, float, 1, 2) = 7;
    like.shape = shape; /* the view copies shape and strides */
    like.strides = strides;
    TVMFFI_TRY(TVMFFITensorCreateUnsafeView(tensor, &like, &transposed));
  } /* releases the tensor object */
  if (!tvmffi_scope_attach(transposed)) return -1;
  CHECK(owners == 1);
  CHECK(TVMFFI_ELEMENT(TVMFFITensorGetDLTensorPtr(transposed), float, 2, 1) ==
        7);
  return 0;
}

TVMFFI_MAIN() {
  TVMFFI_TRY(TVMFFI_REGISTER("demo.sum", sum));
  TVMFFI_TRY(make_and_read());
  TVMFFI_TRY(to_dlpack());
  CHECK(owners == 0);
  TVMFFI_TRY(by_the_environment());
  CHECK(owners == 0);
  TVMFFI_TRY(view());
  CHECK(owners == 0);
  printf("all tensors were given back to their owners\n");
  return 0;
}
