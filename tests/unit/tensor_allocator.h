/* ======== Tensor allocators: tensors that a framework makes =============== */

#pragma once

#include "harness.h"
#include "tensor.h"

#if !TEST_NO_TENSORS
static DLManagedTensorVersioned test_allocated;
static int test_alloc_mode; /* 0: works; how it fails */

static int test_tensor_alloc(DLTensor *prototype,
                             DLManagedTensorVersioned **out, void *context,
                             void (*set_error)(void *, const char *,
                                               const char *)) {
  switch (test_alloc_mode) {
    case 1: set_error(context, "MyError", "no room"); return -1;
    case 2: return -1;
    case 3: *out = NULL; return 0;
    default: break;
  }
  test_allocated = test_versioned();
  test_allocated.dl_tensor.ndim = prototype->ndim;
  test_allocated.dl_tensor.shape = prototype->shape;
  test_allocated.dl_tensor.strides = NULL;
  if (test_alloc_mode == 4) test_allocated.version.major = 9;
  if (test_alloc_mode == 5) test_allocated.dl_tensor.ndim = -1;
  if (test_alloc_mode == 6) {
    test_allocated.dl_tensor.ndim = -1;
    test_allocated.deleter = NULL;
  }
  *out = &test_allocated;
  return 0;
}

static int test_other_alloc(DLTensor *prototype, DLManagedTensorVersioned **out,
                            void *context,
                            void (*set_error)(void *, const char *,
                                              const char *)) {
  return test_tensor_alloc(prototype, out, context, set_error);
}

static void test_env_alloc(TVMFFI_HERE) {
  DLTensor p;
  TVMFFIObjectHandle out = NULL;
  DLPackManagedTensorAllocator before = test_tensor_alloc;
  test_fill_tensor(&p);
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(NULL, 1, NULL));
  CHECK(TVMFFIEnvGetDLPackManagedTensorAllocator() == NULL);
  FAILS(TVMFFIEnvTensorAlloc(&p, &out), "RuntimeError",
        "TVMFFIEnvTensorAlloc: allocator is nullptr, likely because "
        "TVMFFIEnvSetDLPackManagedTensorAllocator has not been called.");
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(test_other_alloc, 1, &before));
  CHECK(before == NULL);
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(test_tensor_alloc, 0, &before));
  CHECK(before == test_other_alloc);
  CHECK(TVMFFIEnvGetDLPackManagedTensorAllocator() == test_tensor_alloc);
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(NULL, 0, NULL));
  CHECK(TVMFFIEnvGetDLPackManagedTensorAllocator() == test_other_alloc);
  test_alloc_mode = 0;
  if (test_code(TVMFFIEnvTensorAlloc(&p, &out), __FILE__, __LINE__, "")) {
    CHECK_LOG("v"); /* what was allocated is given back */
    return;
  }
  CHECK_INT(TVMFFITensorGetDLTensorPtr(out)->ndim, 3);
  CHECK_INT(TVMFFITensorGetDLTensorPtr(out)->strides[0], 12);
  CHECK_LOG("");
  tvmffi_release(out);
  CHECK_LOG("v");
  test_alloc_mode = 1;
  FAILS(TVMFFIEnvTensorAlloc(&p, &out), "MyError", "no room");
  test_alloc_mode = 2;
  FAILS(TVMFFIEnvTensorAlloc(&p, &out), "RuntimeError",
        "The tensor allocator failed with code -1 and no error");
  test_alloc_mode = 3;
  FAILS(TVMFFIEnvTensorAlloc(&p, &out), "RuntimeError",
        "TVMFFIEnvTensorAlloc: failed to allocate a tensor from the allocator");
  CHECK_LOG("");
  test_alloc_mode = 4;
  FAILS(TVMFFIEnvTensorAlloc(&p, &out), "RuntimeError", NULL);
  CHECK_LOG("v");
  test_alloc_mode = 5;
  FAILS(TVMFFIEnvTensorAlloc(&p, &out), "ValueError", NULL);
  CHECK_LOG("v");
  test_alloc_mode = 6;
  FAILS(TVMFFIEnvTensorAlloc(&p, &out), "ValueError", NULL);
  CHECK_LOG("");
  test_alloc_mode = 0;
  FAILS(TVMFFIEnvTensorAlloc(NULL, &out), "ValueError", NULL);
  FAILS(TVMFFIEnvTensorAlloc(&p, NULL), "ValueError", NULL);
  p.ndim = -1;
  FAILS(TVMFFIEnvTensorAlloc(&p, &out), "ValueError", NULL);
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(NULL, 1, NULL));
}

/* The same through the C interface. */
static void test_new_tensor(TVMFFI_HERE) {
  static const int64_t shape[] = {2, 3}, bad[] = {2, -3};
  DLDataType type = tvmffi_dtype_of(kDLFloat, 32);
  DLDevice cpu = TVMFFIDLDeviceFromIntPair(kDLCPU, 0);
  TVMFFIObject *x = NULL, *y = NULL;
  FAILS(tvmffi_tensor_new(type, cpu, 2, bad, &x), "ValueError",
        "dimension 1 of a new tensor is -3");
  FAILS(tvmffi_tensor_new(type, cpu, -1, shape, &x), "ValueError", NULL);
  x = (TVMFFIObject *)(void *)&cpu; /* a failure leaves nothing in it */
  FAILS(tvmffi_tensor_new(type, cpu, 1, NULL, &x), "ValueError", NULL);
  CHECK(x == NULL);
  x = (TVMFFIObject *)(void *)&cpu;
  FAILS(tvmffi_tensor_new_like(NULL, &x), "ValueError", NULL);
  (void)TVMFFI_RAISE("KeyError", "why it is NULL");
  FAILS(tvmffi_tensor_new_like(NULL, &x), "KeyError", "why it is NULL");
  CHECK(x == NULL);
  FAILS(tvmffi_tensor_new(type, cpu, 2, shape, NULL), "ValueError",
        "tvmffi_tensor_new: NULL for the result");
  FAILS(tvmffi_tensor_new_like(NULL, NULL), "ValueError",
        "tvmffi_tensor_new_like: NULL for the result");
  test_alloc_mode = 0;
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(test_tensor_alloc, 1, NULL));
  if (!tvmffi_tensor_new(type, cpu, 2, shape, &x) &&
      !tvmffi_tensor_new_like(TVMFFITensorGetDLTensorPtr(x), &y)) {
    const DLTensor *t = TVMFFITensorGetDLTensorPtr(y);
    CHECK(t->ndim == 2 && t->shape[0] == 2 && t->shape[1] == 3);
  } else {
    CHECK(test_hits());
    tvmffi_error_clear();
  }
  CHECK_INT(tvmffi_scope_count(kTVMFFITensor), (x != NULL) + (y != NULL));
  tvmffi_scope_close(tvmffi_here);
  test_log_size = 0; /* the deleters' */
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(NULL, 1, NULL));
}

/* Checks a tensor that no allocator made, and writes all of its elements: the
   guards around the block find what is too long. */
static void test_check_own(const TVMFFIObject *x, DLDataType type, int32_t ndim,
                           const int64_t *shape, size_t bytes) {
  const DLTensor *t = TVMFFITensorGetDLTensorPtr((void *)(uintptr_t)x);
  int64_t step = 1;
  int32_t i;
  CHECK_INT(t->ndim, ndim);
  CHECK(t->dtype.code == type.code && t->dtype.bits == type.bits &&
        t->dtype.lanes == type.lanes);
  CHECK(t->device.device_type == kDLCPU && t->device.device_id == 0);
  CHECK_INT(t->byte_offset, 0);
  CHECK_INT(tvmffi_tensor_bytes(t), bytes);
  CHECK((t->data == NULL) == (bytes == 0));
  CHECK_INT((uintptr_t)t->data % 64, 0);
  if (bytes) memset(t->data, 0x77, bytes);
  CHECK(!ndim || t->shape != shape);
  for (i = ndim; i-- > 0;) {
    CHECK_INT(t->shape[i], shape[i]);
    if (bytes) CHECK_INT(t->strides[i], step);
    step *= bytes ? shape[i] : 0;
  }
}

static void test_alone(TVMFFI_HERE) {
  static const struct {
    uint8_t code, bits, lanes, ndim;
    int64_t shape[3];
    size_t bytes;
  } of[] = {{kDLFloat, 32, 1, 2, {2, 3, 0}, 24},
            {kDLInt, 4, 1, 1, {3, 0, 0}, 2},
            {kDLInt, 4, 1, 2, {3, 3, 0}, 5},
            {kDLUInt, 1, 1, 1, {9, 0, 0}, 2},
            {kDLFloat6_e2m3fn, 6, 1, 1, {3, 0, 0}, 3},
            {kDLInt, 8, 3, 1, {5, 0, 0}, 15},
            {kDLComplex, 128, 1, 1, {1, 0, 0}, 16},
            {kDLFloat, 64, 1, 0, {0, 0, 0}, 8},
            {kDLFloat, 32, 1, 1, {0, 0, 0}, 0},
            {kDLFloat, 64, 2, 3, {INT64_MAX / 2, 5, 0}, 0},
            {kDLFloat, 64, 2, 3, {0, INT64_MAX / 2, 5}, 0}};
  const DLDevice cpu = TVMFFIDLDeviceFromIntPair(kDLCPU, 0);
  size_t i;
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(NULL, 1, NULL));
  for (i = 0; i < TEST_COUNT(of); ++i) {
    DLDataType type = tvmffi_dtype_of(of[i].code, of[i].bits);
    TVMFFIObject *x = NULL, *y = NULL;
    type.lanes = of[i].lanes;
    OK(tvmffi_tensor_new(type, cpu, of[i].ndim, of[i].shape, &x));
    test_check_own(x, type, of[i].ndim, of[i].shape, of[i].bytes);
    OK(tvmffi_tensor_new_like(TVMFFITensorGetDLTensorPtr(x), &y));
    test_check_own(y, type, of[i].ndim, of[i].shape, of[i].bytes);
  }
}

/* Another library deletes the tensor's DLPack form last. */
static void test_alone_exported(TVMFFI_HERE) {
  static const int64_t shape[] = {2, 3};
  DLManagedTensorVersioned *out = NULL;
  TVMFFIObject *x = NULL;
  OK(tvmffi_tensor_new(tvmffi_dtype_of(kDLFloat, 32),
                       TVMFFIDLDeviceFromIntPair(kDLCPU, 0), 2, shape, &x));
  OK(TVMFFITensorToDLPackVersioned(x, &out));
  tvmffi_scope_close(tvmffi_here);
  CHECK_INT(out->flags, 0);
  CHECK_INT(out->dl_tensor.shape[1], 3);
  memset(out->dl_tensor.data, 0, 24);
  out->deleter(out);
}

static void test_alone_fails(TVMFFI_HERE) {
  static const int64_t shape[] = {2, 3}, over[] = {INT64_MAX / 2, 3};
  static const int64_t most[] = {PTRDIFF_MAX}, huge[] = {TEST_HUGE};
  const DLDataType byte = tvmffi_dtype_of(kDLInt, 8);
  const DLDevice cpu = TVMFFIDLDeviceFromIntPair(kDLCPU, 0);
  TVMFFIObject *x = (TVMFFIObject *)(uintptr_t)&cpu;
  FAILS(tvmffi_tensor_new(byte, cpu, 2, over, &x), "ValueError", NULL);
  CHECK(x == NULL);
  FAILS(tvmffi_tensor_new(byte, cpu, 1, most, &x),
        sizeof(size_t) < 8 ? "MemoryError" : "ValueError", NULL);
  CHECK(x == NULL);
  FAILS(tvmffi_tensor_new(byte, cpu, 1, huge, &x), "MemoryError", NULL);
  CHECK(x == NULL);
  FAILS(tvmffi_tensor_new(byte, TVMFFIDLDeviceFromIntPair(kDLCUDA, 1), 2, shape,
                          &x),
        "RuntimeError",
        "a new tensor on cuda:1 needs a tensor allocator of the environment, "
        "and none is set");
  CHECK(x == NULL);
}

/* Names in place of values. */
static void test_alone_names(TVMFFI_HERE) {
  static const int64_t shape[] = {3};
  const DLDataType int4 = tvmffi_dtype_of(kDLInt, 4);
  TVMFFIObject *x = NULL;
#if TVMFFI_I_GENERIC
  char name[] = "int4";
  const char *none = NULL;
  OK(tvmffi_tensor_new(name, "cpu", 1, shape, &x));
  test_check_own(x, int4, 1, shape, 2);
  FAILS(tvmffi_tensor_new("flot32", "cpu", 1, shape, &x), "ValueError",
        "unknown dtype `flot32`");
  CHECK(x == NULL);
  FAILS(tvmffi_tensor_new(int4, "gpu", 1, shape, &x), "ValueError",
        "unknown device `gpu`");
  CHECK(x == NULL);
  FAILS(tvmffi_tensor_new(none, "cpu", 1, shape, &x), "ValueError",
        "NULL for the dtype of a new tensor");
  FAILS(tvmffi_tensor_new(int4, none, 1, shape, &x), "ValueError",
        "NULL for the device of a new tensor");
  FAILS(tvmffi_tensor_new(int4, "cuda", 1, shape, &x), "RuntimeError",
        "a new tensor on cuda:0 needs a tensor allocator of the environment, "
        "and none is set");
#else
  DLDataType type;
  OK(tvmffi_as(tvmffi_str("int4"), tvmffi_out_dtype(&type)));
  OK(tvmffi_tensor_new(type, TVMFFIDLDeviceFromIntPair(kDLCPU, 0), 1, shape,
                       &x));
  test_check_own(x, int4, 1, shape, 2);
#endif
}

TVMFFI_FUNC(u_new_like, tensor, (tensor, x)) {
  TVMFFIObject *y = NULL;
  TVMFFI_TRY(tvmffi_tensor_new_like(x, &y));
  TVMFFI_RETURN(y);
}

TVMFFI_FUNC(u_maybe_like, optional(tensor), (optional(tensor), x)) {
  TVMFFIObject *y = NULL;
  if (x) TVMFFI_TRY(tvmffi_tensor_new_like(x, &y));
  TVMFFI_RETURN(y);
}

/* A tensor that a typed function makes is the caller's. */
static void test_tensor_results(TVMFFI_HERE) {
  static tvmffi_func *const functions[] = {&tvmffi_func_u_new_like,
                                           &tvmffi_func_u_maybe_like};
#if !TVMFFI_NO_METADATA
  char buffer[TVMFFI_I_METADATA];
#endif
  int64_t shape[] = {3};
  TVMFFIAny arg, result = tvmffi_none();
  DLTensor x;
  int i;
  memset((void *)&x, 0, sizeof(x));
  x.dtype = tvmffi_dtype_of(kDLFloat, 32);
  x.device.device_type = kDLCPU;
  x.ndim = 1;
  x.shape = shape;
  arg = tvmffi_tensor(&x);
  test_alloc_mode = 0;
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(test_tensor_alloc, 1, NULL));
  for (i = 0; i < 2; ++i) {
    OK(functions[i]->call(NULL, &arg, 1, &result));
    CHECK_INT(result.type_index, kTVMFFITensor);
    CHECK_INT(TVMFFITensorGetDLTensorPtr(result.v_obj)->shape[0], 3);
    tvmffi_any_release(&result);
  }
  arg = tvmffi_none();
  OK(functions[1]->call(NULL, &arg, 1, &result));
  CHECK_INT(result.type_index, kTVMFFINone);
#if !TVMFFI_NO_METADATA
  CHECK_TEXT(tvmffi_i_metadata(functions[1], buffer),
             "{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\","
             "\\\"named_args\\\":{\\\"return\\\":[{\\\"type\\\":"
             "\\\"Optional\\\",\\\"args\\\":[{\\\"type\\\":"
             "\\\"ffi.Tensor\\\"}]}],\\\"params\\\":[{\\\"type\\\":"
             "\\\"Optional\\\",\\\"args\\\":[{\\\"type\\\":"
             "\\\"DLTensor*\\\"}]}]}}\"}");
#endif
  FAILS(functions[0]->call(NULL, &arg, 1, &result), "TypeError", NULL);
  test_log_size = 0; /* the deleters' */
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(NULL, 1, NULL));
}
#endif

static const test_case test_tensor_allocator_cases[] = {
#if !TEST_NO_TENSORS
    {"tensors: allocators", test_env_alloc},
    {"tensors: new ones", test_new_tensor},
    {"tensors: new ones without an allocator", test_alone},
    {"tensors: new ones in DLPack", test_alone_exported},
    {"tensors: new ones that cannot be", test_alone_fails},
    {"tensors: new ones by names", test_alone_names},
    {"tensors: results of typed functions", test_tensor_results},
#endif
    {NULL, NULL}};
