/* ======== Contracts: texts of tensor parameters and results =============== */

#pragma once

#include "expect.h"
#include "harness.h"
#include "tensor.h"

#if !TEST_NO_TENSORS
TVMFFI_FUNC(t_contract, int64, (int64, a), (tensor("float32[n] cpu"), x),
            (tensor("float32[n, m] cpu inout"), y),
            (optional(tensor("float32[m]")), bias, NULL), (int64, b, 7)) {
  TVMFFI_RETURN(a + b + x->ndim + y->ndim + (bias ? bias->ndim : 0));
}
TVMFFI_FUNC(t_contract_text, none, (tensor("float32[n"), x)) {
  (void)x;
  TVMFFI_RETURN();
}
TVMFFI_FUNC(t_contract_result, tensor("int32[2, n, 4] cpu"), (object, x)) {
  TVMFFI_RETURN(x);
}
TVMFFI_FUNC(t_contract_other, optional(tensor("int32[2, n, 5]")),
            (optional(object), x)) {
  TVMFFI_RETURN(x);
}

static int test_call_contract(const DLTensor *x, const DLTensor *y,
                              const DLTensor *bias, int32_t n) {
  TVMFFIAny args[4], any = tvmffi_none();
  args[0] = tvmffi_int(1);
  args[1] = tvmffi_tensor(x);
  args[2] = tvmffi_tensor(y);
  args[3] = tvmffi_tensor(bias);
  TVMFFI_TRY(tvmffi_func_t_contract.call(NULL, args, n, &any));
  CHECK_INT(any.v_int64, 1 + 7 + 1 + 2 + (n == 4 && bias ? 1 : 0));
  return 0;
}

static void test_contract_arguments(TVMFFI_HERE) {
  test_matrix x, y, bias;
  TVMFFIAny any, arg;
  (void)test_make_matrix(&x, 1, 4, 0, 0);
  (void)test_make_matrix(&y, 2, 4, 3, 0);
  (void)test_make_matrix(&bias, 1, 3, 0, 0);
  OK(test_call_contract(&x.t, &y.t, NULL, 3));
  OK(test_call_contract(&x.t, &y.t, NULL, 4));
  OK(test_call_contract(&x.t, &y.t, &bias.t, 4));
  bias.shape[0] = 2;
  FAILS(test_call_contract(&x.t, &y.t, &bias.t, 4), "ValueError",
        "t_contract: argument `bias`: dimension m is 2, but 3 in y");
  y.shape[0] = 5;
  FAILS(test_call_contract(&x.t, &y.t, NULL, 3), "ValueError",
        "t_contract: argument `y`: dimension n is 5, but 4 in x");
  x.t.dtype.bits = 64;
  FAILS(test_call_contract(&x.t, &y.t, NULL, 3), "TypeError",
        "t_contract: argument `x`: dtype is float64, expected float32");
  arg = tvmffi_tensor(&x.t);
  any = tvmffi_none();
  FAILS(tvmffi_func_t_contract_text.call(NULL, &arg, 1, &any), "InternalError",
        "t_contract_text: the text \"float32[n\" of x: \",\" or \"]\" is "
        "missing at \"\"");
}

TVMFFI_FUNC(t_contract_words, int64,
            (tensor("float32[Rows, n_2, 3] cpu out"), x),
            (tensor("float32[*run_of, n_2] cpu:0"), y),
            (tensor("float32[*run_of] cpu"), z),
            (tensor("same[*other, Rows]"), w)) {
  TVMFFI_RETURN(x->ndim + y->ndim + z->ndim + w->ndim);
}
TVMFFI_FUNC(t_contract_dot, none, (tensor("float32[.n]"), x)) {
  (void)x;
  TVMFFI_RETURN();
}

/* Only TVMFFI_DEBUG looks at the result. */
static void test_contract_results(TVMFFI_HERE) {
  TVMFFIObjectHandle tensor = test_make_tensor();
  TVMFFIAny any = tvmffi_none(), arg = tvmffi_obj(tensor);
  if (!tensor) return;
  OK(tvmffi_func_t_contract_result.call(NULL, &arg, 1, &any));
  test_own_any(&any);
  any = tvmffi_none();
#if TVMFFI_DEBUG
  FAILS(tvmffi_func_t_contract_other.call(NULL, &arg, 1, &any), "InternalError",
        "t_contract_other: the result: dimension 2 is 4, expected 5");
  CHECK_INT(any.type_index, kTVMFFINone);
#else
  OK(tvmffi_func_t_contract_other.call(NULL, &arg, 1, &any));
  test_own_any(&any);
#endif
  any = tvmffi_none();
  arg = tvmffi_none();
  OK(tvmffi_func_t_contract_other.call(NULL, &arg, 1, &any));
  CHECK_INT(any.type_index, kTVMFFINone);
}

/* Names of capitals, underscores and digits, two runs, an index of a device. */
static void test_contract_words(TVMFFI_HERE) {
  test_matrix m[4];
  TVMFFIAny args[4], any = tvmffi_none();
  int64_t large[40];
  int i;
  args[0] = tvmffi_tensor(test_make_matrix(&m[0], 3, 2, 4, 3));
  args[1] = tvmffi_tensor(test_make_matrix(&m[1], 3, 5, 6, 4));
  args[2] = tvmffi_tensor(test_make_matrix(&m[2], 2, 5, 6, 0));
  args[3] = tvmffi_tensor(test_make_matrix(&m[3], 2, 9, 2, 0));
#define CALL_WORDS() tvmffi_func_t_contract_words.call(NULL, args, 4, &any)
  OK(CALL_WORDS());
  CHECK_INT(any.v_int64, 10);
  m[2].shape[1] = 7;
  FAILS(CALL_WORDS(), "ValueError",
        "t_contract_words: argument `z`: dimension 1 of *run_of is "
        "7, but 6 in y");
  m[2].t.ndim = 1;
  FAILS(CALL_WORDS(), "ValueError", "...argument `z`: ");
  m[2].t.ndim = 2;
  m[2].shape[1] = 6;
  m[3].shape[1] = 3;
  FAILS(CALL_WORDS(), "ValueError",
        "t_contract_words: argument `w`: dimension Rows is 3, but 2 in x");
  m[3].shape[1] = 2;
  m[3].t.dtype.bits = 64;
  FAILS(CALL_WORDS(), "TypeError",
        "t_contract_words: argument `w`: dtype is float64, but float32 in x");
  m[1].t.device.device_id = 1;
  FAILS(CALL_WORDS(), "ValueError",
        "t_contract_words: argument `y`: device is cpu:1, expected cpu:0");
  m[0].shape[2] = 4;
  FAILS(CALL_WORDS(), "ValueError",
        "t_contract_words: argument `x`: dimension 2 is 4, expected 3");
  for (i = 0; i < 40; ++i) large[i] = 100000;
  m[0].t.shape = large;
  m[0].t.ndim = 40;
  FAILS(CALL_WORDS(), "ValueError", "...100000, ...], expected [Rows, n_2, 3]");
  m[0].t.shape = NULL;
  FAILS(CALL_WORDS(), "ValueError", "...argument `x`: ");
  args[0] = tvmffi_tensor(&m[1].t);
  FAILS(tvmffi_func_t_contract_dot.call(NULL, args, 1, &any), "InternalError",
        "...: a dimension is missing at \".n]\"");
}

static void test_contract_writes(TVMFFI_HERE) {
  CHECK(tvmffi_i_text_has("float32[n] cpu out", "out"));
  CHECK(tvmffi_i_text_has("any  inout strided", "inout"));
  CHECK(!tvmffi_i_text_has("float32[n] inout", "out"));
  CHECK(!tvmffi_i_text_has("float32[n, out , m] cpu", "out"));
  CHECK(!tvmffi_i_text_has("float32", "out"));
}

#if !TVMFFI_NO_METADATA
/* A companion header asks for the text of a parameter by its name. */
static void test_contract_texts(TVMFFI_HERE) {
  const tvmffi_i_site *contract = tvmffi_func_t_contract_words.contract;
  const char *text = tvmffi_i_contract_text(contract, "z");
  if (CHECK(text)) CHECK(!strcmp(text, "float32[*run_of] cpu"));
  CHECK(!tvmffi_i_contract_text(contract, "zz"));
  CHECK(!tvmffi_i_contract_text(contract, ""));
  CHECK(!tvmffi_i_contract_text(NULL, "x"));
}

static void test_contract_metadata(TVMFFI_HERE) {
  static const char want[] =
      ",\"tensors\":{\"x\":\"float32[n] cpu\",\"y\":\"float32[n, m] cpu "
      "inout\",\"bias\":\"float32[m] optional\"}}",
                    result[] = ",\"tensors\":{\"return\":\"int32[2, n, 4] "
                               "cpu\"}}";
  char buffer[TVMFFI_I_METADATA];
  TVMFFIByteArray got =
      tvmffi_i_named_metadata(&tvmffi_func_t_contract, buffer);
  size_t n = sizeof(want) - 1;
  if (CHECK(got.size > n))
    CHECK_BYTES(test_bytes(got.data + got.size - n, n), want, n);
  got = tvmffi_i_named_metadata(&tvmffi_func_t_contract_result, buffer);
  n = sizeof(result) - 1;
  if (CHECK(got.size > n))
    CHECK_BYTES(test_bytes(got.data + got.size - n, n), result, n);
}
#endif
#endif

static const test_case test_contract_cases[] = {
#if !TEST_NO_TENSORS
    {"contracts: arguments", test_contract_arguments},
    {"contracts: results", test_contract_results},
    {"contracts: names, runs and devices", test_contract_words},
    {"contracts: what is written", test_contract_writes},
#if !TVMFFI_NO_METADATA
    {"contracts: the text of a parameter", test_contract_texts},
    {"contracts: metadata", test_contract_metadata},
#endif
#endif
    {NULL, NULL}};
