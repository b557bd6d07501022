/* ======== Tensors: DLPack, layouts, views ================================= */

#pragma once

#include "harness.h"
#include "type_field.h"

#if !TEST_NO_TENSORS
static int64_t test_shape[3], test_strides[3];
static int32_t test_data[24];

static void test_managed_deleter(DLManagedTensor *self) {
  test_say(*(char *)self->manager_ctx);
}
static void test_versioned_deleter(DLManagedTensorVersioned *self) {
  test_say(*(char *)self->manager_ctx);
}
static char test_letters[] = "mv";

static void test_fill_tensor(DLTensor *t) {
  memset((void *)t, 0, sizeof(*t));
  t->data = test_data;
  t->device = TVMFFIDLDeviceFromIntPair(kDLCPU, 0);
  t->ndim = 3;
  t->dtype.code = kDLInt;
  t->dtype.bits = 32;
  t->dtype.lanes = 1;
  test_shape[0] = 2;
  test_shape[1] = 3;
  test_shape[2] = 4;
  test_strides[0] = 12;
  test_strides[1] = 4;
  test_strides[2] = 1;
  t->shape = test_shape;
  t->strides = test_strides;
}

static DLManagedTensor test_managed(void) {
  DLManagedTensor m;
  memset((void *)&m, 0, sizeof(m));
  test_fill_tensor(&m.dl_tensor);
  m.manager_ctx = &test_letters[0];
  m.deleter = test_managed_deleter;
  return m;
}

static DLManagedTensorVersioned test_versioned(void) {
  DLManagedTensorVersioned m;
  memset((void *)&m, 0, sizeof(m));
  m.version.major = DLPACK_MAJOR_VERSION;
  m.version.minor = DLPACK_MINOR_VERSION;
  test_fill_tensor(&m.dl_tensor);
  m.manager_ctx = &test_letters[1];
  m.deleter = test_versioned_deleter;
  return m;
}

/* A tensor that the test owns, or NULL. */
static TVMFFIObjectHandle test_make_tensor(void) {
  static DLManagedTensor m;
  TVMFFIObjectHandle tensor = NULL;
  m = test_managed();
  m.deleter = NULL;
  if (!test_code(TVMFFITensorFromDLPack(&m, 0, 0, &tensor), __FILE__, __LINE__,
                 "TVMFFITensorFromDLPack "))
    OWN(tensor);
  return tensor;
}

/* The address of no elements is NULL: NULL + 0, which C does not define, would
   be a report of the sanitizer. */
static void test_without_memory(TVMFFI_HERE) {
  DLTensor t;
  test_fill_tensor(&t);
  t.data = NULL;
  t.shape[0] = 0;
  CHECK(!TVMFFI_DATA(&t, int32_t));
}

static void test_from_dlpack(TVMFFI_HERE) {
  DLManagedTensor m = test_managed();
  DLManagedTensorVersioned v = test_versioned();
  TVMFFIObjectHandle tensor = NULL;
  DLTensor *t;
  OK(TVMFFITensorFromDLPack(&m, 4, 1, &tensor));
  CHECK_INT(TVMFFIObjectGetTypeIndex(tensor), kTVMFFITensor);
  t = TVMFFITensorGetDLTensorPtr(tensor);
  CHECK(t->data == test_data && t->ndim == 3 && t->dtype.bits == 32);
  CHECK(t->shape == test_shape && t->strides == test_strides);
  CHECK(TVMFFI_DATA(t, int32_t) == test_data);
  t->byte_offset = 8;
  CHECK(TVMFFI_DATA(t, int32_t) == test_data + 2);
  CHECK_LOG("");
  tvmffi_release(tensor);
  CHECK_LOG("m");
  OK(TVMFFITensorFromDLPackVersioned(&v, 0, 0, &tensor));
  tvmffi_weak_retain(tensor);
  tvmffi_release(tensor);
  CHECK_LOG("v");
  tvmffi_weak_release(tensor);
  CHECK_LOG("");
  OK(TVMFFITensorFromDLPack(&m, 0, 0, &tensor));
  tvmffi_weak_retain(tensor);
  tvmffi_release(tensor);
  CHECK_LOG("m");
  tvmffi_weak_release(tensor);
  /* Without strides they are those of compact data; without a deleter too. */
  m.dl_tensor.strides = NULL;
  m.deleter = NULL;
  OK(TVMFFITensorFromDLPack(&m, 0, 1, &tensor));
  t = TVMFFITensorGetDLTensorPtr(tensor);
  CHECK(t->strides[0] == 12 && t->strides[1] == 4 && t->strides[2] == 1);
  CHECK(m.dl_tensor.strides == NULL);
  tvmffi_release(tensor);
  v.dl_tensor.ndim = 0;
  v.dl_tensor.shape = v.dl_tensor.strides = NULL;
  v.deleter = NULL;
  v.version.minor += 7;
  OK(TVMFFITensorFromDLPackVersioned(&v, 0, 1, &tensor));
  CHECK_INT(TVMFFITensorGetDLTensorPtr(tensor)->ndim, 0);
  tvmffi_release(tensor);
  CHECK_LOG("");
}

static void test_to_dlpack(TVMFFI_HERE) {
  DLManagedTensor m = test_managed(), *out = NULL;
  DLManagedTensorVersioned *versioned = NULL;
  TVMFFIObjectHandle tensor = NULL, again = NULL;
  OK(TVMFFITensorFromDLPack(&m, 0, 0, &tensor));
  if (test_code(TVMFFITensorToDLPack(tensor, &out), __FILE__, __LINE__, "") ||
      test_code(TVMFFITensorToDLPackVersioned(tensor, &versioned), __FILE__,
                __LINE__, "")) {
    if (out) out->deleter(out);
    tvmffi_release(tensor);
    CHECK_LOG("m");
    return;
  }
  CHECK_INT(test_strong(tensor), 3);
  CHECK(out->dl_tensor.data == test_data && out->dl_tensor.ndim == 3);
  CHECK(versioned->dl_tensor.shape == test_shape && versioned->flags == 0);
  CHECK(versioned->version.major == DLPACK_MAJOR_VERSION &&
        versioned->version.minor == DLPACK_MINOR_VERSION);
  tvmffi_release(tensor);
  out->deleter(out);
  CHECK_LOG("");
  /* Once around: the second tensor keeps the first one. */
  if (TVMFFITensorFromDLPackVersioned(versioned, 0, 0, &again)) {
    CHECK(test_hits());
    tvmffi_error_clear();
    versioned->deleter(versioned);
  } else {
    CHECK_LOG("");
    tvmffi_release(again);
  }
  CHECK_LOG("m");
}

/* Tries one import with both kinds; nothing is taken when it fails. */
#define BAD_TENSOR(change, alignment, contiguous, kind, text)               \
  do {                                                                      \
    DLManagedTensor m = test_managed();                                     \
    DLManagedTensorVersioned v = test_versioned();                          \
    TVMFFIObjectHandle out = NULL;                                          \
    DLTensor *t = &m.dl_tensor;                                             \
    change;                                                                 \
    FAILS(TVMFFITensorFromDLPack(&m, alignment, contiguous, &out), kind,    \
          text);                                                            \
    v.dl_tensor = *t;                                                       \
    FAILS(TVMFFITensorFromDLPackVersioned(&v, alignment, contiguous, &out), \
          kind, text);                                                      \
    CHECK(out == NULL);                                                     \
    CHECK_LOG("");                                                          \
  } while (0)

static void test_bad_tensors(TVMFFI_HERE) {
  BAD_TENSOR(t->ndim = -1, 0, 0, "ValueError", "FromDLPack: ndim is -1");
  BAD_TENSOR(t->ndim = (1 << 20) + 1, 0, 0, "ValueError", NULL);
  BAD_TENSOR(t->shape = NULL, 0, 0, "ValueError",
             "FromDLPack: shape must not be NULL");
  BAD_TENSOR(t->shape[1] = -3, 0, 0, "ValueError",
             "FromDLPack: shape[1] is -3");
  BAD_TENSOR(t->shape[0] = INT64_MAX, 0, 0, "ValueError",
             "FromDLPack: the shape has more elements than fit in memory");
  BAD_TENSOR((t->shape[0] = INT64_MAX / 4, t->shape[1] = 2, t->shape[2] = 1), 0,
             0, "ValueError", NULL);
  BAD_TENSOR((t->dtype.bits = 9, t->shape[0] = INT64_MAX / 2 + 1,
              t->shape[1] = t->shape[2] = 1),
             0, 0, "ValueError", NULL);
  BAD_TENSOR(t->dtype.bits = 8, -1, 0, "ValueError",
             "FromDLPack: alignment is -1");
  BAD_TENSOR((t->device = TVMFFIDLDeviceFromIntPair(kDLROCM, 0),
              t->data = (char *)test_data + 1),
             4, 0, "RuntimeError", NULL);
  BAD_TENSOR((t->device = TVMFFIDLDeviceFromIntPair(kDLROCMHost, 0),
              t->data = (char *)test_data + 1),
             4, 0, "RuntimeError", NULL);
  BAD_TENSOR(t->byte_offset = 2, 4, 0, "RuntimeError",
             "FromDLPack: Data is not aligned to 4 bytes.");
  BAD_TENSOR(t->data = (char *)test_data + 1, 4, 0, "RuntimeError", NULL);
  BAD_TENSOR(t->strides[0] = 24, 0, 1, "RuntimeError",
             "FromDLPack: Tensor is not contiguous.");
  BAD_TENSOR(t->strides[2] = 2, 0, 1, "RuntimeError", NULL);
  BAD_TENSOR((t->dtype.bits = 0,
              t->shape[0] = t->shape[1] = t->shape[2] = (int64_t)1 << 40,
              t->strides[1] = (int64_t)1 << 40, t->strides[0] = 3),
             0, 1, "RuntimeError", NULL);
}

static void test_bad_imports(TVMFFI_HERE) {
  DLManagedTensor m = test_managed();
  DLManagedTensorVersioned v = test_versioned();
  TVMFFIObjectHandle out = NULL;
  FAILS(TVMFFITensorFromDLPack(NULL, 0, 0, &out), "ValueError", NULL);
  FAILS(TVMFFITensorFromDLPack(&m, 0, 0, NULL), "ValueError", NULL);
  FAILS(TVMFFITensorFromDLPackVersioned(NULL, 0, 0, &out), "ValueError", NULL);
  FAILS(TVMFFITensorFromDLPackVersioned(&v, 0, 0, NULL), "ValueError", NULL);
  v.version.major = DLPACK_MAJOR_VERSION + 1;
  v.version.minor = 0;
  FAILS(TVMFFITensorFromDLPackVersioned(&v, 0, 0, &out), "RuntimeError",
        "FromDLPack: DLPack version 2.0 is not supported, only 1.x is");
  v = test_versioned();
  v.flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  FAILS(TVMFFITensorFromDLPackVersioned(&v, 0, 0, &out), "RuntimeError",
        "Subbyte type padded is not yet supported");
  CHECK_LOG("");
}

/* Tries an import that is to work. */
static void test_good_tensor(const DLTensor *t, int32_t alignment,
                             int32_t contiguous) {
  DLManagedTensorVersioned v;
  TVMFFIObjectHandle out = NULL;
  memset((void *)&v, 0, sizeof(v));
  v.version.major = DLPACK_MAJOR_VERSION;
  v.manager_ctx = &test_letters[1];
  v.deleter = test_versioned_deleter;
  v.dl_tensor = *t;
  v.flags = DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED;
  OK(TVMFFITensorFromDLPackVersioned(&v, alignment, contiguous, &out));
  tvmffi_release(out);
  CHECK_LOG("v");
}

static void test_layouts(TVMFFI_HERE) {
  DLTensor t;
  test_fill_tensor(&t);
  test_shape[0] = 0;
  test_strides[0] = 99;
  test_good_tensor(&t, 0, 1); /* empty */
  test_shape[1] = INT64_MAX;
  test_good_tensor(&t, 0, 1);
  test_fill_tensor(&t);
  test_shape[0] = 1;
  test_strides[0] = 99;
  test_good_tensor(&t, 0, 1); /* an extent of 1 */
  test_fill_tensor(&t);
  test_strides[0] = 99;
  test_good_tensor(&t, 0, 0); /* spaced, where that is fine */
  /* as many bytes as are possible */
  test_shape[1] = test_shape[2] = 1;
  t.dtype.bits = 8;
  test_shape[0] = INT64_MAX - 1;
  test_good_tensor(&t, 0, 0);
  t.dtype.bits = 9;
  test_shape[0] = INT64_MAX / 2;
  test_good_tensor(&t, 0, 0);
  /* Of a device whose addresses are handles only the offset counts. */
  test_fill_tensor(&t);
  t.data = (char *)test_data + 1;
  t.device = TVMFFIDLDeviceFromIntPair(kDLVulkan, 0);
  test_good_tensor(&t, 4, 1);
  t.data = test_data;
  t.device = TVMFFIDLDeviceFromIntPair(kDLCUDAManaged, 0);
  t.byte_offset = 4;
  test_good_tensor(&t, 4, 1);
  t.device = TVMFFIDLDeviceFromIntPair(kDLROCM, 0);
  test_good_tensor(&t, 4, 1);
  t.device = TVMFFIDLDeviceFromIntPair(kDLROCMHost, 0);
  test_good_tensor(&t, 4, 1);
  t.dtype.lanes = 0;
  test_good_tensor(&t, 1, 0);
}

static void test_tensor_views(TVMFFI_HERE) {
  TVMFFIObjectHandle source = NULL, view = NULL, outer = NULL;
  TVMFFIObject *other = test_global("ffi.String");
  int64_t shape[2] = {3, 2}, strides[2] = {2, 1};
  DLTensor p, *t;
  if (!other) return;
  source = test_make_tensor();
  if (!source) return;
  p = *TVMFFITensorGetDLTensorPtr(source);
  p.ndim = 2;
  p.shape = shape;
  p.strides = strides;
  p.byte_offset = 16;
  OK(TVMFFITensorCreateUnsafeView(source, &p, &view));
  CHECK_INT(test_strong(source), 2);
  shape[0] = strides[0] = 99;
  t = TVMFFITensorGetDLTensorPtr(view);
  CHECK(t->shape[0] == 3 && t->shape[1] == 2);
  CHECK(t->strides[0] == 2 && t->strides[1] == 1 && t->byte_offset == 16);
  CHECK(TVMFFI_DATA(t, int32_t) == test_data + 4);
  tvmffi_weak_retain(view);
  tvmffi_release(view);
  CHECK_INT(test_strong(source), 1);
  tvmffi_weak_release(view);
  shape[0] = strides[0] = 2;
  OK(TVMFFITensorCreateUnsafeView(source, &p, &view));
  OWN(view);
  OK(TVMFFITensorCreateUnsafeView(view, &p, &outer));
  tvmffi_weak_retain(view);
  test_drop(view);
  tvmffi_release(outer); /* and so the one that it keeps, which waits */
  CHECK_INT(test_strong(source), 1);
  CHECK(!tvmffi_weak_lock(view));
  tvmffi_weak_release(view);
  p.ndim = 0;
  OK(TVMFFITensorCreateUnsafeView(source, &p, &view));
  tvmffi_release(view);
  p.ndim = 2;
  FAILS(TVMFFITensorCreateUnsafeView(NULL, &p, &view), "ValueError", NULL);
  FAILS(TVMFFITensorCreateUnsafeView(other, &p, &view), "TypeError", NULL);
  FAILS(TVMFFITensorCreateUnsafeView(source, NULL, &view), "ValueError", NULL);
  FAILS(TVMFFITensorCreateUnsafeView(source, &p, NULL), "ValueError", NULL);
  p.strides = NULL;
  FAILS(TVMFFITensorCreateUnsafeView(source, &p, &view), "ValueError",
        "...strides must not be NULL");
  p.strides = strides;
  p.ndim = -1;
  FAILS(TVMFFITensorCreateUnsafeView(source, &p, &view), "ValueError",
        TEST_STRING(TVMFFITensorCreateUnsafeView) ": ndim is -1");
  CHECK_INT(test_strong(source), 1);
}

static void test_bad_exports(TVMFFI_HERE) {
  TVMFFIObject *other = test_global("ffi.String");
  DLManagedTensor *out = NULL;
  DLManagedTensorVersioned *versioned = NULL;
  TVMFFIObjectHandle tensor = NULL;
  if (!other) return;
  tensor = test_make_tensor();
  if (!tensor) return;
  FAILS(TVMFFITensorToDLPack(NULL, &out), "ValueError", NULL);
  FAILS(TVMFFITensorToDLPack(other, &out), "TypeError",
        "...is expected to be ffi.Tensor but is ffi.Function");
  FAILS(TVMFFITensorToDLPack(tensor, NULL), "ValueError", NULL);
  FAILS(TVMFFITensorToDLPackVersioned(NULL, &versioned), "ValueError", NULL);
  FAILS(TVMFFITensorToDLPackVersioned(other, &versioned), "TypeError", NULL);
  FAILS(TVMFFITensorToDLPackVersioned(tensor, NULL), "ValueError", NULL);
  CHECK(out == NULL && versioned == NULL && test_strong(tensor) == 1);
}

#if !TVMFFI_NO_TYPES
/* An object of a derived type is a tensor. */
static void test_derived_tensor(TVMFFI_HERE) {
  TVMFFIObjectHandle tensor = test_make_tensor(), view = NULL;
  DLManagedTensor *out = NULL;
  DLManagedTensorVersioned *versioned = NULL;
  if (!tensor) return;
  OK(test_derive("unit.TensorLike", 119, kTVMFFITensor));
  ((TVMFFIObject *)tensor)->type_index = 119;
  OK(TVMFFITensorToDLPack(tensor, &out));
  out->deleter(out);
  OK(TVMFFITensorToDLPackVersioned(tensor, &versioned));
  versioned->deleter(versioned);
  OK(TVMFFITensorCreateUnsafeView(tensor, TVMFFITensorGetDLTensorPtr(tensor),
                                  &view));
  tvmffi_release(view);
  CHECK_INT(test_strong(tensor), 1);
}
#endif

/* A typed function sees a tensor object as a DLTensor. */
TVMFFI_FUNC(u_rank, int32, (tensor, x)) { TVMFFI_RETURN(x->ndim); }

static void test_tensor_argument(TVMFFI_HERE) {
  TVMFFIObjectHandle tensor = NULL;
  TVMFFIAny arg, result = tvmffi_none();
  tensor = test_make_tensor();
  if (!tensor) return;
  arg = tvmffi_obj(tensor);
  OK(tvmffi_func_u_rank.call(NULL, &arg, 1, &result));
  CHECK_INT(result.v_int64, 3);
}
#endif

static const test_case test_tensor_cases[] = {
#if !TEST_NO_TENSORS
    {"tensors: without memory", test_without_memory},
    {"tensors: from DLPack", test_from_dlpack},
    {"tensors: to DLPack", test_to_dlpack},
    {"tensors: those that cannot be", test_bad_tensors},
    {"tensors: imports that cannot be", test_bad_imports},
    {"tensors: layouts", test_layouts},
    {"tensors: views", test_tensor_views},
    {"tensors: exports that cannot be", test_bad_exports},
#if !TVMFFI_NO_TYPES
    {"tensors: of a derived type", test_derived_tensor},
#endif
    {"tensors: as an argument", test_tensor_argument},
#endif
    {NULL, NULL}};
