/* ======== Tensor checks: checks and loops of tensors, half floats ========= */

#pragma once

#include "harness.h"

#if !TEST_NO_TENSORS
/* A float32 tensor of up to 4 dimensions on the CPU, without strides. */
typedef struct {
  DLTensor t;
  int64_t shape[4], strides[4];
  float data[64];
} test_matrix;

static const DLTensor *test_make_matrix(test_matrix *m, int32_t ndim, int a,
                                        int b, int c) {
  static const test_matrix zero = {
      {NULL, {kDLCPU, 0}, 0, {0, 0, 0}, NULL, NULL, 0},
      {0, 0, 0, 0},
      {0, 0, 0, 0},
      {0}};
  *m = zero;
  m->t.data = m->data;
  m->t.ndim = ndim;
  m->t.dtype = tvmffi_dtype_of(kDLFloat, 32);
  m->t.shape = m->shape;
  m->shape[0] = a;
  m->shape[1] = b;
  m->shape[2] = c;
  return &m->t;
}

static void test_stride_matrix(test_matrix *m, int a, int b, int c) {
  m->t.strides = m->strides;
  m->strides[0] = a;
  m->strides[1] = b;
  m->strides[2] = c;
}

static int test_axpy_of(const DLTensor *x, const DLTensor *y) {
  TVMFFI_EXPECT((x, "float32[n] cpu"), (y, "float32[n] cpu"));
  return 0;
}
static int test_square_of(const DLTensor *x) {
  TVMFFI_EXPECT((x, "float32|float64[n, n, 2] cpu strided"));
  return 0;
}
static int test_any_of(const DLTensor *x, const DLTensor *y) {
  TVMFFI_EXPECT((x, "any"), (y, "same strided align(16) cuda:1"));
  return 0;
}
static int test_aligned_of(const DLTensor *x) {
  TVMFFI_EXPECT((x, "any align(16)"));
  return 0;
}
static int test_matrix_of(const DLTensor *x) {
  TVMFFI_EXPECT((x, "float32[n, m]"));
  return 0;
}
static int test_batch_of(const DLTensor *x, const DLTensor *y) {
  TVMFFI_EXPECT((x, "float32[ *batch , n ]"), (y, "float32[k, *batch, n, _]"));
  return 0;
}
static int test_runs_of(const DLTensor *x, const DLTensor *y) {
  TVMFFI_EXPECT((x, "float32[*b]"), (x, "float32[*b]", "x again"),
                (y, "float32[*b] "));
  return 0;
}
static int test_dtypes_of(const DLTensor *x, const DLTensor *y) {
  TVMFFI_EXPECT((x, "int8|int16 cpu"), (y, "int64"));
  return 0;
}
static int test_scalar_of(const DLTensor *x, const DLTensor *y) {
  TVMFFI_EXPECT((x, "float32[]"), (y, "float32[..., 3] cuda"));
  return 0;
}
static int test_item_of(const DLTensor *x, const DLTensor *y) {
  TVMFFI_EXPECT((x, "float32[n, ...]"), (y, "same[n]", "weights[\"bias\"]"),
                (y, "any[k]", "the second"), (y, "any[k]"));
  return 0;
}
static int test_bias_of(const DLTensor *x, const DLTensor *bias) {
  TVMFFI_EXPECT((x, "float32[n, m]"), (bias, "same[m] optional"));
  return 0;
}
static int test_early_bias_of(const DLTensor *bias, const DLTensor *x) {
  TVMFFI_EXPECT((bias, "float32[m] optional"), (x, "float32[n, m]"));
  return 0;
}
static int test_early_run_of(const DLTensor *bias, const DLTensor *x) {
  TVMFFI_EXPECT((bias, "float32[*m] optional"), (x, "float32[*m]"));
  return 0;
}
static int test_early_dtype_of(const DLTensor *bias, const DLTensor *x) {
  TVMFFI_EXPECT((bias, "float32 optional"), (x, "same"));
  return 0;
}
TVMFFI_FUNC(t_expect, none, (tensor, x)) {
  TVMFFI_EXPECT((x, "float32[n]"));
  TVMFFI_RETURN();
}

static void test_expect_shapes(TVMFFI_HERE) {
  test_matrix x, y;
  (void)test_make_matrix(&x, 1, 4, 0, 0);
  (void)test_make_matrix(&y, 1, 4, 0, 0);
  OK(test_axpy_of(&x.t, &y.t));
  y.shape[0] = 3;
  FAILS(test_axpy_of(&x.t, &y.t), "ValueError",
        "test_axpy_of: argument `y`: dimension n is 3, but 4 in x");
  (void)test_make_matrix(&x, 3, 2, 2, 2);
  OK(test_square_of(&x.t));
  x.shape[2] = 3;
  FAILS(test_square_of(&x.t), "ValueError",
        "test_square_of: argument `x`: dimension 2 is 3, expected 2");
  x.shape[1] = 4;
  FAILS(test_square_of(&x.t), "ValueError",
        "test_square_of: argument `x`: dimension n is 4, but 2 in x");
  x.t.ndim = 2;
  FAILS(test_square_of(&x.t), "ValueError",
        "test_square_of: argument `x`: shape is [2, 4], expected [n, n, 2]");
  x.t.ndim = -1;
  FAILS(test_square_of(&x.t), "ValueError",
        "test_square_of: argument `x`: rank is -1");
  FAILS(test_any_of(&x.t, &x.t), "ValueError",
        "test_any_of: argument `x`: rank is -1");
  x.t.ndim = 3;
  x.t.shape = NULL;
  FAILS(test_square_of(&x.t), "ValueError",
        "test_square_of: argument `x`: shape is NULL");
  FAILS(test_square_of(NULL), "ValueError",
        "test_square_of: argument `x`: is NULL");
}

/* A third part of an entry is the tensor's name in errors. */
static void test_expect_optional(TVMFFI_HERE) {
  static int (*const early[])(const DLTensor *, const DLTensor *) = {
      test_early_bias_of, test_early_run_of, test_early_dtype_of};
  test_matrix x, bias;
  size_t i;
  (void)test_make_matrix(&x, 2, 4, 3, 0);
  (void)test_make_matrix(&bias, 1, 3, 0, 0);
  OK(test_bias_of(&x.t, &bias.t));
  OK(test_bias_of(&x.t, NULL));
  FAILS(test_bias_of(NULL, &bias.t), "ValueError",
        "test_bias_of: argument `x`: is NULL");
  bias.shape[0] = 4;
  FAILS(test_bias_of(&x.t, &bias.t), "ValueError",
        "test_bias_of: argument `bias`: dimension m is 4, but 3 in x");
  for (i = 0; i < TEST_COUNT(early); ++i)
    FAILS(early[i](NULL, &x.t), "InternalError",
          "...this depends on bias, which is optional");
}

static void test_expect_items(TVMFFI_HERE) {
  test_matrix x, y;
  (void)test_make_matrix(&x, 1, 4, 0, 0);
  (void)test_make_matrix(&y, 1, 4, 0, 0);
  OK(test_item_of(&x.t, &y.t));
  y.shape[0] = 3;
  FAILS(test_item_of(&x.t, &y.t), "ValueError",
        "test_item_of: weights[\"bias\"]: dimension n is 3, but 4 in x");
  FAILS(test_item_of(&y.t, NULL), "ValueError",
        "test_item_of: weights[\"bias\"]: is NULL");
}

static void test_expect_runs(TVMFFI_HERE) {
  test_matrix x, y;
  (void)test_make_matrix(&x, 2, 3, 5, 0);
  (void)test_make_matrix(&y, 4, 2, 3, 5);
  y.shape[3] = 1;
  OK(test_batch_of(&x.t, &y.t));
  y.shape[1] = 4;
  FAILS(test_batch_of(&x.t, &y.t), "ValueError",
        "test_batch_of: argument `y`: dimension 0 of *batch is 4, but 3 in x");
  y.t.ndim = 3;
  y.shape[1] = 5;
  FAILS(test_batch_of(&x.t, &y.t), "ValueError",
        "test_batch_of: argument `y`: *batch has 0 dimensions, but 1 in x");
  y.t.ndim = 2;
  FAILS(test_batch_of(&x.t, &y.t), "ValueError",
        "test_batch_of: argument `y`: shape is [2, 5], expected "
        "[k, *batch, n, _]");
  FAILS(test_runs_of(&x.t, &y.t), "ValueError",
        "test_runs_of: argument `y`: dimension 0 of *b is 2, but 3 in x");
  OK(test_runs_of(&x.t, &x.t));
  x.t.ndim = 1;
  x.shape[0] = y.shape[1] = 7;
  y.t.ndim = 3;
  OK(test_batch_of(&x.t, &y.t));
  x.t.ndim = 0;
  y.shape[2] = 3;
  y.t.device.device_type = kDLCUDA;
  OK(test_scalar_of(&x.t, &y.t));
  x.t.shape = NULL;
  OK(test_scalar_of(&x.t, &y.t));
  FAILS(test_scalar_of(&y.t, &y.t), "ValueError",
        "test_scalar_of: argument `x`: shape is [2, 7, 3], expected []");
}

static void test_expect_data(TVMFFI_HERE) {
  test_matrix x, y;
  (void)test_make_matrix(&x, 1, 3, 0, 0);
  FAILS(test_dtypes_of(&x.t, &x.t), "TypeError",
        "test_dtypes_of: argument `x`: dtype is float32, expected int8|int16");
  y = x;
  x.t.dtype = tvmffi_dtype_of(kDLInt, 16);
  FAILS(test_dtypes_of(&x.t, &y.t), "TypeError",
        "test_dtypes_of: argument `y`: dtype is float32, expected int64");
  (void)test_make_matrix(&x, 2, 3, 5, 0);
  (void)test_make_matrix(&y, 2, 3, 5, 0);
  y.t.device = TVMFFIDLDeviceFromIntPair(kDLCUDA, 1);
  y.t.data = (void *)(uintptr_t)4096;
  OK(test_any_of(&x.t, &y.t));
  y.t.byte_offset = 8;
  FAILS(test_any_of(&x.t, &y.t), "ValueError",
        "test_any_of: argument `y`: is not aligned to 16 bytes");
  FAILS(test_aligned_of(&y.t), "ValueError",
        "test_aligned_of: argument `x`: is not aligned to 16 bytes");
  y.t.byte_offset = 0;
  y.t.data = NULL;
  FAILS(test_any_of(&x.t, &y.t), "ValueError",
        "test_any_of: argument `y`: data is NULL");
  y.shape[1] = 0;
  OK(test_any_of(&x.t, &y.t));
  y.shape[1] = -1;
  FAILS(test_any_of(&x.t, &y.t), "ValueError",
        "test_any_of: argument `y`: dimension 1 is -1");
  y.t.device.device_id = 0;
  FAILS(test_any_of(&x.t, &y.t), "ValueError",
        "test_any_of: argument `y`: device is cuda:0, expected cuda:1");
  y.t.device.device_type = kDLROCMHost;
  FAILS(test_scalar_of(test_make_matrix(&x, 0, 0, 0, 0), &y.t), "ValueError",
        "test_scalar_of: argument `y`: device is rocm_host:0, expected cuda");
  y.t.dtype = tvmffi_dtype_of(kDLFloat, 64);
  FAILS(test_any_of(&x.t, &y.t), "TypeError",
        "test_any_of: argument `y`: dtype is float64, but float32 in x");
  y.t.dtype = tvmffi_dtype_of(99, 8);
  FAILS(test_square_of(&y.t), "TypeError",
        "test_square_of: argument `x`: dtype is unknown, expected "
        "float32|float64");
  y.t.dtype = tvmffi_dtype_of(kDLComplex, 64);
  FAILS(test_square_of(&y.t), "TypeError",
        "test_square_of: argument `x`: dtype is complex64, expected "
        "float32|float64");
}

static void test_expect_strides(TVMFFI_HERE) {
  test_matrix x;
  (void)test_make_matrix(&x, 1, 4, 0, 0);
  test_stride_matrix(&x, 1, 0, 0);
  OK(test_axpy_of(&x.t, &x.t));
  x.strides[0] = 2;
  FAILS(test_axpy_of(&x.t, &x.t), "ValueError",
        "test_axpy_of: argument `x`: is not contiguous");
  x.shape[0] = 1; /* with one element, or none, no stride counts */
  OK(test_axpy_of(&x.t, &x.t));
  x.shape[0] = 0;
  OK(test_axpy_of(&x.t, &x.t));
  x.shape[0] = 4;
  x.strides[0] = -1;
  FAILS(test_axpy_of(&x.t, &x.t), "ValueError", NULL);
  (void)test_make_matrix(&x, 3, 2, 2, 2);
  test_stride_matrix(&x, -9, 0, 4);
  OK(test_square_of(&x.t));
}

/* Shapes whose product does not fit 64 bits: 2^64, or one whose lower bits are
   those of a small tensor. */
static void test_huge_shapes(TVMFFI_HERE) {
  const int64_t huge = INT64_C(1) << 32;
  test_matrix x;
  tvmffi_loop run;
  (void)test_make_matrix(&x, 2, 1, 1, 2);
  x.shape[0] = x.shape[1] = huge;
  FAILS(test_matrix_of(&x.t), "ValueError",
        "test_matrix_of: argument `x`: shape is [4294967296, 4294967296], "
        "which is too large");
  CHECK(tvmffi_tensor_size(&x.t) == INT64_MAX);
  CHECK(tvmffi_tensor_bytes(&x.t) == SIZE_MAX);
  CHECK(!tvmffi_tensor_is_contiguous(&x.t));
  FAILS(tvmffi_loop_begin(&run, &x.t), "ValueError",
        "tensor 0 of a loop has the shape [4294967296, 4294967296], which is "
        "too large");
  FAILS(tvmffi_loop_rows(&run, 1, &x.t), "ValueError", NULL);
  x.shape[1] = huge + 2;
  x.shape[0] = INT64_MAX;
  FAILS(test_matrix_of(&x.t), "ValueError", NULL);
  CHECK(tvmffi_tensor_size(&x.t) == INT64_MAX);
  x.shape[0] = INT64_C(1) << 62; /* elements, whose bytes are 2^64 */
  x.shape[1] = 1;
  CHECK(tvmffi_tensor_size(&x.t) == x.shape[0]);
  CHECK(tvmffi_tensor_bytes(&x.t) == SIZE_MAX);
  x.shape[0] = 0;
  x.shape[1] = INT64_MAX;
  CHECK_INT(tvmffi_tensor_size(&x.t), 0);
  OK(test_matrix_of(&x.t));
  x.shape[0] = -1;
  CHECK_INT(tvmffi_tensor_bytes(&x.t), 0);
  /* A stride that is what a product would be cut to. */
  x.t.ndim = 3;
  x.shape[0] = 2;
  x.shape[1] = x.shape[2] = huge;
  x.t.strides = x.strides;
  x.strides[0] = 0;
  x.strides[1] = huge;
  x.strides[2] = 1;
  CHECK(!tvmffi_tensor_is_contiguous(&x.t));
  x.t.strides = NULL;
  CHECK(tvmffi_tensor_stride(&x.t, 0) == INT64_MAX);
  /* In a loop, too, such a stride joins nothing. */
  x.t.strides = x.strides;
  x.shape[0] = x.shape[1] = 2;
  x.shape[2] = 4;
  x.strides[1] = 0;
  x.strides[2] = INT64_C(1) << 62;
  OK(tvmffi_loop_begin(&run, &x.t));
  CHECK_INT(run.size, 4);
}

/* The message has the name of a typed function, not that of its body. */
static void test_expect_names(TVMFFI_HERE) {
  test_matrix x;
  TVMFFIAny any = tvmffi_tensor(test_make_matrix(&x, 0, 0, 0, 0));
  TVMFFIAny result = tvmffi_none();
  FAILS(tvmffi_func_t_expect.call(NULL, &any, 1, &result), "ValueError",
        "t_expect: argument `x`: shape is [], expected [n]");
}

#define TEST_BAD_TEXT(name, text)      \
  static int name(const DLTensor *x) { \
    TVMFFI_EXPECT((x, text));          \
    return 0;                          \
  }
TEST_BAD_TEXT(test_text_0, "")
TEST_BAD_TEXT(test_text_1, "flaot32[n]")
TEST_BAD_TEXT(test_text_2, "float32|")
TEST_BAD_TEXT(test_text_3, "any[n")
TEST_BAD_TEXT(test_text_4, "any[n m]")
TEST_BAD_TEXT(test_text_5, "any[-1]")
TEST_BAD_TEXT(test_text_6, "any[..., *b]")
TEST_BAD_TEXT(test_text_7, "any[..]")
TEST_BAD_TEXT(test_text_8, "any[a, b, c, d, e, f, g, h, i]")
TEST_BAD_TEXT(test_text_9, "any[99999999999999999999]")
TEST_BAD_TEXT(test_text_10, "any[n] cpu stridden")
TEST_BAD_TEXT(test_text_11, "any[n] align(3)")
TEST_BAD_TEXT(test_text_12, "any[n] align(0)")
TEST_BAD_TEXT(test_text_13, "any[n] align")
TEST_BAD_TEXT(test_text_14, "any[n] align(8")
TEST_BAD_TEXT(test_text_15, "any[n]cpu")
TEST_BAD_TEXT(test_text_16, "int8|int16|int32|int64|uint8")
TEST_BAD_TEXT(test_text_17, "any[*]")
TEST_BAD_TEXT(test_text_18, "any[n] cuda:x")
TEST_BAD_TEXT(test_text_19, "any[n] align(")
TEST_BAD_TEXT(test_text_21, "anything[n]")
TEST_BAD_TEXT(test_text_22, "any2[n]")

#define TEST_TEN "any any any any any any any any any any "
TEST_BAD_TEXT(test_text_20,
              TEST_TEN TEST_TEN TEST_TEN TEST_TEN TEST_TEN TEST_TEN TEST_TEN)

static void test_expect_texts(TVMFFI_HERE) {
  static const struct {
    int (*check)(const DLTensor *x);
    const char *message;
  } cases[] = {
      {test_text_0, "...the text \"\" of x: a dtype is missing at \"\""},
      {test_text_1,
       "test_text_1: the text \"flaot32[n]\" of x: the dtype is not known "
       "at \"flaot32[n]\""},
      {test_text_2, "...a dtype is missing at \"\""},
      {test_text_3, "...\",\" or \"]\" is missing at \"\""},
      {test_text_4, "...\",\" or \"]\" is missing at \"m]\""},
      {test_text_5, "...a dimension is missing at \"-1]\""},
      {test_text_6, "...a second \"...\" or \"*\" at \"*b]\""},
      {test_text_7, "...a dimension is missing at \"..]\""},
      {test_text_8, "...more than 8 dimensions at \"i]\""},
      {test_text_9, "...the number is too large at "},
      {test_text_10, "...the word is not known at \"stridden\""},
      {test_text_11, "...this is no power of 2 at "},
      {test_text_12, "...this is no power of 2 at "},
      {test_text_13, "...\"(\" is missing at \"\""},
      {test_text_14, "...\")\" is missing at \"\""},
      {test_text_15, "...a space is missing at \"cpu\""},
      {test_text_16, "...more than 4 dtypes at \"uint8\""},
      {test_text_17, "...a dimension is missing at \"]\""},
      {test_text_18, "...the word is not known at \"cuda:x\""},
      {test_text_19, "...a number is missing at \"\""},
      {test_text_20, "...the text is too long at "},
      {test_text_21, "...the dtype is not known at \"anything[n]\""},
      {test_text_22, "...the dtype is not known at \"any2[n]\""}};
  test_matrix x;
  size_t i;
  (void)test_make_matrix(&x, 1, 4, 0, 0);
  for (i = 0; i < TEST_COUNT(cases); ++i)
    FAILS(cases[i].check(&x.t), "InternalError", cases[i].message);
}

static void test_tensor_sizes(TVMFFI_HERE) {
  test_matrix x;
  (void)test_make_matrix(&x, 3, 2, 3, 4);
  CHECK_INT(tvmffi_tensor_size(&x.t), 24);
  CHECK_INT(tvmffi_tensor_bytes(&x.t), 96);
  CHECK(tvmffi_tensor_is_contiguous(&x.t));
  CHECK_INT(tvmffi_tensor_stride(&x.t, 0), 12);
  CHECK_INT(tvmffi_tensor_stride(&x.t, -1), 1);
  TVMFFI_ELEMENT(&x.t, float, 1, 2, 3) = 5;
  CHECK_INT(x.data[23], 5);
  test_stride_matrix(&x, 1, 2, 6);
  CHECK(!tvmffi_tensor_is_contiguous(&x.t));
  CHECK_INT(tvmffi_tensor_stride(&x.t, -3), 1);
  x.t.byte_offset = 4;
  TVMFFI_ELEMENT(&x.t, float, 1, 0, 2) = 7;
  CHECK_INT(x.data[14], 7);
  x.shape[1] = 0;
  CHECK(tvmffi_tensor_is_contiguous(&x.t));
  CHECK_INT(tvmffi_tensor_bytes(&x.t), 0);
  x.t.ndim = 0;
  CHECK_INT(tvmffi_tensor_size(&x.t), 1);
  x.t.ndim = 1;
  x.shape[0] = 3;
  x.t.dtype = tvmffi_dtype_of(kDLFloat4_e2m1fn, 4);
  CHECK_INT(tvmffi_tensor_bytes(&x.t), 2);
}

/* Elements of tensors of 1 to 6 dimensions, without and with strides. */
static void test_elements(TVMFFI_HERE) {
  static int64_t shape[6] = {2, 3, 1, 2, 2, 2};
  static int64_t strides[6] = {1, 2, 4, 8, 16, 31};
  test_matrix x;
  float *at[6];
  int64_t want;
  int i, k;
  (void)test_make_matrix(&x, 6, 0, 0, 0);
  x.t.shape = shape;
  for (k = 0; k < 2; ++k) {
    x.t.strides = k ? strides : NULL;
    at[0] = &TVMFFI_ELEMENT(&x.t, float, 1);
    at[1] = &TVMFFI_ELEMENT(&x.t, float, 1, 1);
    at[2] = &TVMFFI_ELEMENT(&x.t, float, 1, 1, 1);
    at[3] = &TVMFFI_ELEMENT(&x.t, float, 1, 1, 1, 1);
    at[4] = &TVMFFI_ELEMENT(&x.t, float, 1, 1, 1, 1, 1);
    at[5] = &TVMFFI_ELEMENT(&x.t, float, 1, 1, 1, 1, 1, 1);
    for (want = i = 0; i < 6; ++i) {
      want = k ? want + strides[i] : want * shape[i] + 1;
      CHECK_INT(at[i] - x.data, want);
    }
  }
}

/* Numbers the elements of a tensor in the order of their indices. */
static int test_number_all(const DLTensor *x, int *runs) {
  tvmffi_loop run;
  int64_t i;
  float n = 0;
  TVMFFI_TRY(tvmffi_loop_begin(&run, x));
  for (*runs = 0; tvmffi_loop_next(&run); ++*runs)
    for (i = 0; i < run.size; ++i)
      ((float *)run.at[0])[i * run.stride[0]] = ++n;
  return 0;
}

static void test_loop_orders(TVMFFI_HERE) {
  test_matrix x;
  int runs = 0, i, j, k;
  (void)test_make_matrix(&x, 3, 2, 3, 4);
  OK(test_number_all(&x.t, &runs));
  CHECK(runs == 1 && x.data[0] == 1 && x.data[23] == 24);
  test_stride_matrix(&x, 1, 2, 6);
  OK(test_number_all(&x.t, &runs));
  CHECK_INT(runs, 6); /* the last dimension fits no other */
  for (i = 0; i < 2; ++i)
    for (j = 0; j < 3; ++j)
      for (k = 0; k < 4; ++k)
        CHECK_INT(TVMFFI_ELEMENT(&x.t, float, i, j, k), i * 12 + j * 4 + k + 1);
  test_stride_matrix(&x, 4, 8, 1); /* the outer two cannot be joined */
  OK(test_number_all(&x.t, &runs));
  CHECK_INT(runs, 6);
  test_stride_matrix(&x, 24, 8, 2); /* all can: every other element */
  OK(test_number_all(&x.t, &runs));
  CHECK(runs == 1 && x.data[46] == 24);
  x.shape[1] = 1;
  test_stride_matrix(&x, -4, 99, -1);
  x.t.byte_offset = 7 * sizeof(float);
  OK(test_number_all(&x.t, &runs));
  CHECK(runs == 1 && x.data[7] == 1 && x.data[0] == 8);
  x.shape[2] = 0;
  OK(test_number_all(&x.t, &runs));
  CHECK_INT(runs, 0);
  x.t.ndim = 0;
  OK(test_number_all(&x.t, &runs));
  CHECK(runs == 1 && x.data[7] == 1);
}

static void test_loop_several(TVMFFI_HERE) {
  test_matrix x, y, z;
  tvmffi_loop run;
  int64_t i;
  int runs = 0;
  (void)test_make_matrix(&x, 2, 2, 3, 0);
  (void)test_make_matrix(&y, 2, 2, 3, 0);
  (void)test_make_matrix(&z, 2, 2, 1, 0);
  test_stride_matrix(&y, 1, 2, 0);
  OK(test_number_all(&x.t, &runs));
  OK(tvmffi_loop_begin(&run, &x.t, &y.t));
  for (runs = 0; tvmffi_loop_next(&run); ++runs)
    for (i = 0; i < run.size; ++i)
      ((float *)run.at[1])[i * run.stride[1]] =
          ((float *)run.at[0])[i * run.stride[0]];
  CHECK_INT(runs, 2);
  CHECK(y.data[0] == 1 && y.data[1] == 4 && y.data[5] == 6);
  /* Along a dimension the extents may differ. */
  OK(tvmffi_loop_rows(&run, -1, &y.t, &z.t));
  for (runs = 0; tvmffi_loop_next(&run); ++runs) {
    CHECK(run.size == 3 && run.stride[0] == 2);
    for (i = 0; i < run.size; ++i)
      *(float *)run.at[1] += ((float *)run.at[0])[i * run.stride[0]];
  }
  CHECK(runs == 2 && z.data[0] == 6 && z.data[1] == 15);
  OK(tvmffi_loop_rows(&run, 0, &x.t));
  for (runs = 0; tvmffi_loop_next(&run); ++runs) CHECK_INT(run.stride[0], 3);
  CHECK(runs == 3 && run.size == 2);
  x.shape[1] = 0; /* rows without elements are rows */
  OK(tvmffi_loop_rows(&run, 1, &x.t));
  for (runs = 0; tvmffi_loop_next(&run); ++runs) CHECK_INT(run.size, 0);
  CHECK_INT(runs, 2);
}

static void test_loop_errors(TVMFFI_HERE) {
  test_matrix x, y;
  int64_t shape[40], strides[40];
  tvmffi_loop run;
  int i;
  (void)test_make_matrix(&x, 2, 2, 3, 0);
  (void)test_make_matrix(&y, 2, 3, 2, 0);
  FAILS(tvmffi_loop_begin(&run, &x.t, &y.t), "ValueError",
        "tensor 1 of a loop has the shape [3, 2], the first [2, 3]");
  CHECK(!tvmffi_loop_next(&run));
  FAILS(tvmffi_loop_rows(&run, 0, &x.t, &y.t), "ValueError", NULL);
  FAILS(tvmffi_loop_begin(&run, &x.t, NULL), "ValueError",
        "tensor 1 of a loop is NULL");
  FAILS(tvmffi_loop_begin(&run, (const DLTensor *)NULL), "ValueError", NULL);
  FAILS(tvmffi_loop_rows(&run, 0, (const DLTensor *)NULL), "ValueError", NULL);
  FAILS(tvmffi_loop_rows(&run, 2, &x.t), "ValueError",
        "loop dimension 2 is out of range for rank 2");
  FAILS(tvmffi_loop_rows(&run, -3, &x.t), "ValueError", NULL);
  FAILS(tvmffi_loop_begin(&run, &x.t, &x.t, &x.t, &x.t, &x.t), "ValueError",
        "a loop over 5 tensors: at most 4");
  FAILS(tvmffi_loop_rows(&run, 0, &x.t, &x.t, &x.t, &x.t, &x.t), "ValueError",
        "a loop over 5 tensors: at most 4");
  y.t.ndim = 1;
  FAILS(tvmffi_loop_begin(&run, &x.t, &y.t), "ValueError",
        "tensor 1 of a loop has the shape [3], the first [2, 3]");
  y.t.dtype.bits = 0;
  FAILS(tvmffi_loop_begin(&run, &y.t), "TypeError",
        "tensor 0 of a loop has elements of 0 bits");
  y.t.dtype.bits = 32;
  y.t.shape = NULL;
  FAILS(tvmffi_loop_begin(&run, &y.t), "ValueError", NULL);
  y.t.ndim = -1;
  OK(tvmffi_loop_begin(&run, &y.t)); /* as rank 0 */
  y.t.dtype = tvmffi_dtype_of(kDLInt, 4);
  FAILS(tvmffi_loop_begin(&run, &y.t), "TypeError",
        "tensor 0 of a loop has elements of 4 bits");
  for (i = 0; i < 40; ++i) {
    shape[i] = 2;
    strides[i] = 0;
  }
  for (i = 0; i < 40; i += 2) strides[i] = 1;
  x.t.shape = shape;
  x.t.strides = strides;
  x.t.ndim = 40;
  FAILS(tvmffi_loop_begin(&run, &x.t), "ValueError",
        "a loop over more than 16 dimensions");
  CHECK(!tvmffi_loop_next(&run));
  x.t.ndim = 16;
  OK(tvmffi_loop_begin(&run, &x.t));
  for (i = 0; tvmffi_loop_next(&run); ++i) {
  }
  CHECK_INT(i, 1 << 15);
}

#if !TVMFFI_NO_FLOAT
static void test_half_floats(TVMFFI_HERE) {
  static const struct {
    uint32_t bits;
    uint16_t half, brain;
  } cases[] = {{0, 0, 0},                      /* 0 */
               {0x80000000u, 0x8000, 0x8000},  /* -0 */
               {0x3F800000u, 0x3C00, 0x3F80},  /* 1 */
               {0xC0490FDBu, 0xC248, 0xC049},  /* -pi */
               {0x477FE000u, 0x7BFF, 0x4780},  /* 65504, the largest */
               {0x477FEFFFu, 0x7BFF, 0x4780},  /* below 65520: down */
               {0x477FF000u, 0x7C00, 0x4780},  /* 65520: infinite */
               {0x7F7FFFFFu, 0x7C00, 0x7F80},  /* FLT_MAX */
               {0xFF800000u, 0xFC00, 0xFF80},  /* -infinity */
               {0x7F800001u, 0x7E00, 0x7FC0},  /* a signalling NaN */
               {0xFFC12345u, 0xFE09, 0xFFC1},  /* a NaN with a payload */
               {0x38800000u, 0x0400, 0x3880},  /* 2^-14, the least normal */
               {0x387FFFFFu, 0x0400, 0x3880},  /* rounds up to it */
               {0x387FC000u, 0x03FF, 0x3880},  /* the largest subnormal */
               {0x33800000u, 0x0001, 0x3380},  /* 2^-24, the least */
               {0x33000000u, 0x0000, 0x3300},  /* half of it: even */
               {0x33000001u, 0x0001, 0x3300},  /* a bit more: up */
               {0x33C00000u, 0x0002, 0x33C0},  /* 1.5 of it: even */
               {0x3F801000u, 0x3C00, 0x3F80},  /* a tie: down to even */
               {0x3F803000u, 0x3C02, 0x3F80},  /* a tie: up to even */
               {0x3F808000u, 0x3C04, 0x3F80},  /* bfloat16's: down */
               {0x3F818000u, 0x3C0C, 0x3F82}}; /* and up */
  size_t i;
  uint32_t x;
  for (i = 0; i < TEST_COUNT(cases); ++i) {
    tvmffi_i_float f;
    f.bits = cases[i].bits;
    CHECK_INT(tvmffi_float16_from_float(f.value), cases[i].half);
    CHECK_INT(tvmffi_bfloat16_from_float(f.value), cases[i].brain);
  }
  for (x = 0; x < 0x10000u; ++x) { /* there and back; a NaN gets quiet */
    uint16_t quiet = (x & 0x7FFFu) > 0x7C00u ? 0x200 : 0;
    uint16_t brain = (x & 0x7FFFu) > 0x7F80u ? 0x40 : 0;
    if (tvmffi_float16_from_float(tvmffi_float16_to_float((uint16_t)x)) !=
        (x | quiet))
      CHECK_INT(x, -1);
    if (tvmffi_bfloat16_from_float(tvmffi_bfloat16_to_float((uint16_t)x)) !=
        (x | brain))
      CHECK_INT(x, -2);
  }
  CHECK(tvmffi_float16_to_float(0x0001) == 1.0f / 16777216);
  CHECK(tvmffi_float16_to_float(0xC500) == -5.0f);
}
#endif
#endif

static const test_case test_expect_cases[] = {
#if !TEST_NO_TENSORS
    {"tensor checks: shapes", test_expect_shapes},
    {"tensor checks: optional tensors", test_expect_optional},
    {"tensor checks: names of items", test_expect_items},
    {"tensor checks: runs of dimensions", test_expect_runs},
    {"tensor checks: dtype, device and data", test_expect_data},
    {"tensor checks: strides", test_expect_strides},
    {"tensor checks: the function's name", test_expect_names},
    {"tensor checks: huge shapes", test_huge_shapes},
    {"tensor checks: texts that cannot be read", test_expect_texts},
    {"tensor loops: sizes and elements", test_tensor_sizes},
    {"tensor loops: elements of each rank", test_elements},
    {"tensor loops: the order of elements", test_loop_orders},
    {"tensor loops: several tensors", test_loop_several},
    {"tensor loops: errors", test_loop_errors},
#if !TVMFFI_NO_FLOAT
    {"tensor elements: float16 and bfloat16", test_half_floats},
#endif
#endif
    {NULL, NULL}};
