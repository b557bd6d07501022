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
  *out = &test_allocated;
  return 0;
}

static int test_other_alloc(DLTensor *prototype, DLManagedTensorVersioned **out,
                            void *context,
                            void (*set_error)(void *, const char *,
                                              const char *)) {
  return test_tensor_alloc(prototype, out, context, set_error);
}

static void test_env_alloc(void) {
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
  test_alloc_mode = 0;
  FAILS(TVMFFIEnvTensorAlloc(NULL, &out), "ValueError", NULL);
  FAILS(TVMFFIEnvTensorAlloc(&p, NULL), "ValueError", NULL);
  p.ndim = -1;
  FAILS(TVMFFIEnvTensorAlloc(&p, &out), "ValueError", NULL);
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(NULL, 1, NULL));
}

/* The same through the C interface. */
static void test_new_tensor(void) {
  static const int64_t shape[] = {2, 3}, bad[] = {2, -3};
  DLDataType type = tvmffi_dtype_of(kDLFloat, 32);
  DLDevice cpu = TVMFFIDLDeviceFromIntPair(kDLCPU, 0);
  TVMFFIObject *x = NULL, *y = NULL;
  tvmffi_scope scope;
  FAILS(tvmffi_tensor_new(type, cpu, 2, shape, &x), "RuntimeError", NULL);
  FAILS(tvmffi_tensor_new(type, cpu, 2, bad, &x), "ValueError",
        "dimension 1 of a new tensor is -3");
  FAILS(tvmffi_tensor_new(type, cpu, -1, shape, &x), "ValueError", NULL);
  x = (TVMFFIObject *)(void *)&scope; /* a failure leaves nothing in it */
  FAILS(tvmffi_tensor_new(type, cpu, 1, NULL, &x), "ValueError", NULL);
  CHECK(x == NULL);
  x = (TVMFFIObject *)(void *)&scope;
  FAILS(tvmffi_tensor_like(NULL, &x), "ValueError", NULL);
  CHECK(x == NULL);
  FAILS(tvmffi_tensor_new(type, cpu, 2, shape, NULL), "ValueError",
        "tvmffi_tensor_new: NULL for the result");
  FAILS(tvmffi_tensor_like(NULL, NULL), "ValueError",
        "tvmffi_tensor_like: NULL for the result");
  test_alloc_mode = 0;
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(test_tensor_alloc, 1, NULL));
  if (!tvmffi_tensor_new(type, cpu, 2, shape, &x) &&
      !tvmffi_tensor_like(TVMFFITensorGetDLTensorPtr(x), &y)) {
    const DLTensor *t = TVMFFITensorGetDLTensorPtr(y);
    CHECK(t->ndim == 2 && t->shape[0] == 2 && t->shape[1] == 3);
  } else {
    CHECK(test_hits());
    tvmffi_error_clear();
  }
  tvmffi_release(x);
  tvmffi_release(y);
  tvmffi_scope_begin(&scope);
  if (!tvmffi_tensor_new(type, cpu, 2, shape, &x)) {
    CHECK_INT(tvmffi_scope_count(kTVMFFITensor), 1);
  } else {
    CHECK(test_hits());
    tvmffi_error_clear();
  }
  CHECK(!tvmffi_scope_end(&scope));
  test_log_size = 0; /* the deleters' */
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(NULL, 1, NULL));
}

TVMFFI_FUNC(u_new_like, tensor, (tensor, x)) {
  TVMFFIObject *y = NULL;
  TVMFFI_TRY(tvmffi_tensor_like(x, &y));
  TVMFFI_RETURN(y);
}

TVMFFI_FUNC(u_maybe_like, optional(tensor), (optional(tensor), x)) {
  TVMFFIObject *y = NULL;
  if (x) TVMFFI_TRY(tvmffi_tensor_like(x, &y));
  TVMFFI_RETURN(y);
}

/* A tensor that a typed function makes is the caller's. */
static void test_tensor_results(void) {
  static tvmffi_func *const functions[] = {&tvmffi_func_u_new_like,
                                           &tvmffi_func_u_maybe_like};
  char buffer[TVMFFI_I_METADATA];
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
  CHECK_TEXT(tvmffi_i_metadata(functions[1], buffer),
             "{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\","
             "\\\"named_args\\\":{\\\"return\\\":[{\\\"type\\\":"
             "\\\"Optional\\\",\\\"args\\\":[{\\\"type\\\":"
             "\\\"ffi.Tensor\\\"}]}],\\\"params\\\":[{\\\"type\\\":"
             "\\\"Optional\\\",\\\"args\\\":[{\\\"type\\\":"
             "\\\"DLTensor*\\\"}]}]}}\"}");
  FAILS(functions[0]->call(NULL, &arg, 1, &result), "TypeError", NULL);
  test_log_size = 0; /* the deleters' */
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(NULL, 1, NULL));
}
#endif

static const test_case test_tensor_allocator_cases[] = {
#if !TEST_NO_TENSORS
    {"tensors: allocators", test_env_alloc},
    {"tensors: new ones", test_new_tensor},
    {"tensors: results of typed functions", test_tensor_results},
#endif
    {NULL, NULL}};
