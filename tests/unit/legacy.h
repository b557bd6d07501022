/* ======== Legacy calls: the calling convention of TVM before TVM FFI ====== */

#pragma once

#include "harness.h"
#include "tensor.h"

#if !TEST_NO_LEGACY
/* Gives its argument back. */
TVMFFI_FUNC(legacy_same, any, (any, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(legacy_raise, none) { return TVMFFI_RAISE("IndexError", "no"); }
TVMFFI_FUNC(legacy_code, none) { return -2; }
TVMFFI_FUNC(legacy_made, func) {
  TVMFFIObject *f = NULL;
  TVMFFI_TRY(TVMFFI_FUNCTION_NEW(legacy_same, &f));
  TVMFFI_RETURN(f);
}

static TVMFFIObject *test_legacy_function(const tvmffi_func *typed) {
  TVMFFIObject *f = NULL;
  if (!test_code(tvmffi_i_function(typed, &f), __FILE__, __LINE__,
                 "TVMFFI_FUNCTION_NEW "))
    OWN(f);
  return f;
}

static tvmffi_legacy_value test_legacy_bits(int64_t bits) {
  tvmffi_legacy_value value;
  value.v_int64 = bits;
  return value;
}

static tvmffi_legacy_value test_legacy_handle(const void *handle) {
  tvmffi_legacy_value value = test_legacy_bits(0);
  value.v_handle = (void *)(uintptr_t)handle;
  return value;
}

static int64_t test_legacy_shape[] = {3};
static char test_legacy_data[3];
static DLTensor test_legacy_tensor(void) {
  DLTensor t;
  memset((void *)&t, 0, sizeof(t));
  t.data = test_legacy_data;
  t.device = TVMFFIDLDeviceFromIntPair(kDLCPU, 0);
  t.dtype = tvmffi_dtype_of(kDLInt, 8);
  t.ndim = 1;
  t.shape = test_legacy_shape;
  return t;
}

static void test_legacy_arguments(TVMFFI_HERE) {
  static const TVMFFIByteArray bytes = {"a\0b", 3};
  DLTensor tensor = test_legacy_tensor();
  TVMFFIObject *f = test_legacy_function(&tvmffi_func_legacy_same), *moved = f;
  tvmffi_legacy_value value = test_legacy_bits(-7);
  TVMFFIAny any;
  int code;
  if (!f) return;
  for (code = 0; code <= 1; ++code) {
    OK(tvmffi_any_from_legacy(value, code, &any));
    CHECK(any.type_index == kTVMFFIInt && any.v_int64 == -7);
  }
  OK(tvmffi_any_from_legacy(test_legacy_bits(0x3FF8000000000000), 2, &any));
  CHECK_INT(any.type_index, kTVMFFIFloat);
#if !TVMFFI_NO_FLOAT
  CHECK(any.v_float64 == 1.5);
#endif
  OK(tvmffi_any_from_legacy(test_legacy_handle(&any), 3, &any));
  CHECK(any.type_index == kTVMFFIOpaquePtr && any.v_ptr == &any);
  OK(tvmffi_any_from_legacy(value, 4, &any));
  CHECK(any.type_index == kTVMFFINone && any.v_int64 == 0);
  value.v_type = tvmffi_dtype_of(kDLFloat, 16);
  OK(tvmffi_any_from_legacy(value, 5, &any));
  CHECK(any.type_index == kTVMFFIDataType && any.v_dtype.bits == 16);
  value.v_device = TVMFFIDLDeviceFromIntPair(kDLCUDA, 3);
  OK(tvmffi_any_from_legacy(value, 6, &any));
  CHECK(any.type_index == kTVMFFIDevice && any.v_device.device_id == 3);
  for (code = 7; code <= 13; code += 6) {
    OK(tvmffi_any_from_legacy(test_legacy_handle(&tensor), code, &any));
    CHECK(any.type_index == kTVMFFIDLTensorPtr && any.v_ptr == &tensor);
  }
  for (code = 8; code <= 10; code += 2) {
    OK(tvmffi_any_from_legacy(test_legacy_handle(f), code, &any));
    CHECK(any.type_index == kTVMFFIFunction && any.v_obj == f);
  }
  FAILS(tvmffi_any_from_legacy(test_legacy_handle(f), 9, &any), "TypeError",
        "a legacy argument of type code 9 is not a module");
  OK(tvmffi_any_from_legacy(test_legacy_handle("text"), 11, &any));
  CHECK(any.type_index == kTVMFFIRawStr && strcmp(any.v_c_str, "text") == 0);
  OK(tvmffi_any_from_legacy(test_legacy_handle(&bytes), 12, &any));
  CHECK(any.type_index == kTVMFFIByteArrayPtr && any.v_ptr == &bytes);
  OK(tvmffi_any_from_legacy(test_legacy_handle(&moved), 14, &any));
  CHECK(any.type_index == kTVMFFIObjectRValueRef && any.v_ptr == &moved);
  OK(tvmffi_any_from_legacy(test_legacy_bits(2), 15, &any));
  CHECK(any.type_index == kTVMFFIBool && any.v_int64 == 1);
  for (code = 3; code <= 13; ++code) { /* null handles of each kind */
    if (code == 5 || code == 6) continue;
    OK(tvmffi_any_from_legacy(test_legacy_bits(0), code, &any));
    CHECK_INT(any.type_index, kTVMFFINone);
  }
  FAILS(tvmffi_any_from_legacy(value, 16, &any), "TypeError",
        "a legacy argument of type code 16 is not a value");
  FAILS(tvmffi_any_from_legacy(value, -1, &any), "TypeError", NULL);
}

/* Whether a value becomes a legacy argument of the code, and its handle is
   `handle` unless that is NULL. */
static int test_is_legacy(TVMFFIAny any, int code, const void *handle) {
  TVMFFIByteArray room;
  tvmffi_legacy_value value;
  int got = -1;
  if (tvmffi_any_to_legacy(&any, &room, &value, &got)) return 0;
  return got == code && (!handle || value.v_handle == handle);
}

static void test_legacy_values(TVMFFI_HERE) {
  static const TVMFFIByteArray bytes = {"a\0b", 3};
  DLTensor tensor = test_legacy_tensor();
  TVMFFIObject *f = test_legacy_function(&tvmffi_func_legacy_same), *moved = f;
  TVMFFIByteArray room = {NULL, 0};
  tvmffi_legacy_value value;
  TVMFFIAny any = tvmffi_none();
  int code = -1;
  if (!f) return;
  CHECK(test_is_legacy(tvmffi_none(), 4, NULL));
  CHECK(test_is_legacy(tvmffi_int(5), 0, NULL));
  CHECK(test_is_legacy(tvmffi_bool(1), 0, NULL));
  CHECK(test_is_legacy(tvmffi_ptr(&any), 3, &any));
  CHECK(test_is_legacy(tvmffi_tensor(&tensor), 7, &tensor));
  CHECK(test_is_legacy(tvmffi_obj(f), 10, f));
  CHECK(test_is_legacy(tvmffi_str("text"), 11, NULL));
  CHECK(test_is_legacy(tvmffi_bytes(&bytes), 12, &bytes));
  CHECK(test_is_legacy(tvmffi_i_pointer(kTVMFFIObjectRValueRef, &moved), 14,
                       &moved));
  CHECK(test_is_legacy(tvmffi_i_pointer(kTVMFFIOpaquePtr, NULL), 4, NULL));
  any = tvmffi_int(-77);
  any.type_index = kTVMFFIFloat;
  OK(tvmffi_any_to_legacy(&any, &room, &value, &code));
  CHECK(code == TVMFFI_LEGACY_FLOAT && value.v_int64 == -77);
  any = tvmffi_dtype(tvmffi_dtype_of(kDLUInt, 4));
  OK(tvmffi_any_to_legacy(&any, &room, &value, &code));
  CHECK(code == TVMFFI_LEGACY_DTYPE && value.v_type.bits == 4);
  any = tvmffi_device(TVMFFIDLDeviceFromIntPair(kDLROCM, 2));
  OK(tvmffi_any_to_legacy(&any, &room, &value, &code));
  CHECK(code == TVMFFI_LEGACY_DEVICE && value.v_device.device_id == 2);
  OK(TVMFFIBytesFromByteArray(&bytes, &any));
  OK(tvmffi_any_to_legacy(&any, &room, &value, &code));
  CHECK(code == TVMFFI_LEGACY_BYTES && value.v_handle == &room);
  CHECK_BYTES(room, "a\0b", 3);
  OK(TVMFFIStringFromByteArray(&bytes, &any));
  FAILS(tvmffi_any_to_legacy(&any, &room, &value, &code), "ValueError",
        "a string with a NUL inside is no legacy string");
  any = tvmffi_i_pointer(kTVMFFIUnchanged, NULL);
  FAILS(tvmffi_any_to_legacy(&any, &room, &value, &code), "TypeError",
        "a value of type index 13 is no legacy value");
}

/* Gives back its argument number *resource, as a result that is owned, or
   fails where there is none. */
static int test_legacy_echo(tvmffi_legacy_value *args, int *codes, int n,
                            tvmffi_legacy_value *result, int *code,
                            void *resource) {
  int at = *(int *)resource;
  CHECK(result->v_int64 == 0 && *code == TVMFFI_LEGACY_NULL);
  if (at == -3) tvmffi_legacy_set_error("it fell over");
  if (at == -4) tvmffi_legacy_set_error(NULL);
  if (at < 0 || at >= n) return at;
  *result = args[at];
  *code = codes[at];
  if (*code == TVMFFI_LEGACY_TENSOR && result->v_handle)
    tvmffi_retain((TVMFFIObject *)result->v_handle - 1);
  if (*code >= TVMFFI_LEGACY_OBJECT && *code <= TVMFFI_LEGACY_FUNCTION)
    tvmffi_retain(result->v_handle);
  return 0;
}

static int test_legacy_ends;
static void test_legacy_end(void *resource) {
  test_legacy_ends += *(int *)resource;
}

/* Calls a wrapped function with one value; the result is the test's. */
static int test_call_legacy(TVMFFIObject *f, TVMFFIAny arg, TVMFFIAny *result) {
  *result = tvmffi_none();
  TVMFFI_TRY(TVMFFIFunctionCall(f, &arg, 1, result));
  if (result->type_index >= kTVMFFIStaticObjectBegin) OWN(result->v_obj);
  return 0;
}

static void test_legacy_wrap(TVMFFI_HERE) {
  static const TVMFFIByteArray bytes = {"a\0b", 3};
  DLTensor tensor = test_legacy_tensor();
  TVMFFIObject *f = NULL;
#if !TEST_NO_TENSORS
  TVMFFIObject *handle;
#endif
  TVMFFIAny any, args[40];
  int at = 1, i;
  test_legacy_ends = 0;
  f = (TVMFFIObject *)(void *)&any;
  FAILS(tvmffi_legacy_wrap(NULL, &at, test_legacy_end, &f), "ValueError",
        "a legacy function is NULL");
  CHECK(f == NULL);
  CHECK_INT(test_legacy_ends, 1);
  i = tvmffi_legacy_wrap(test_legacy_echo, &at, test_legacy_end, &f);
  if (i) CHECK_INT(test_legacy_ends, 2);
  OK(i);
  tvmffi_scope_close(tvmffi_here);
  CHECK_INT(test_legacy_ends, 2);
  at = 0;
  OK(tvmffi_legacy_wrap(test_legacy_echo, &at, NULL, &f));
  OK(test_call_legacy(f, tvmffi_int(-3), &any));
  CHECK(any.type_index == kTVMFFIInt && any.v_int64 == -3);
  OK(test_call_legacy(f, tvmffi_none(), &any));
  CHECK_INT(any.type_index, kTVMFFINone);
  OK(test_call_legacy(f, tvmffi_str("short"), &any));
  CHECK_INT(any.type_index, kTVMFFISmallStr);
  CHECK_BYTES(tvmffi_any_str(&any), "short", 5);
  OK(test_call_legacy(f, tvmffi_str("a longer text"), &any));
  CHECK_INT(any.type_index, kTVMFFIStr);
  CHECK_BYTES(tvmffi_any_str(&any), "a longer text", 13);
  OK(test_call_legacy(f, tvmffi_bytes(&bytes), &any));
  CHECK_INT(any.type_index, kTVMFFISmallBytes);
  CHECK_BYTES(tvmffi_any_str(&any), "a\0b", 3);
  OK(test_call_legacy(f, tvmffi_tensor(&tensor), &any));
  CHECK(any.type_index == kTVMFFIDLTensorPtr && any.v_ptr == &tensor);
  OK(test_call_legacy(f, tvmffi_obj(f), &any));
  CHECK(any.type_index == kTVMFFIFunction && any.v_obj == f);
#if !TEST_NO_TENSORS
  handle = (TVMFFIObject *)test_make_tensor();
  if (!handle) return;
  OK(test_call_legacy(f, tvmffi_obj(handle), &any));
  CHECK(any.type_index == kTVMFFITensor && any.v_obj == handle);
#endif
  FAILS(test_call_legacy(f, tvmffi_i_pointer(kTVMFFIObjectRValueRef, &f), &any),
        "TypeError", "a legacy result of type code 14 is not a value");
  for (at = 0; at < 40; at += 39) {
    for (i = 0; i < 40; ++i) args[i] = tvmffi_int(i);
    any = tvmffi_none();
    OK(TVMFFIFunctionCall(f, args, 40, &any));
    CHECK_INT(any.v_int64, at);
  }
  args[20] = tvmffi_i_pointer(kTVMFFIUnchanged, NULL);
  FAILS(TVMFFIFunctionCall(f, args, 40, &any), "TypeError", NULL);
  for (at = -1; at >= -4; --at)
    if (at == -2)
      CHECK_INT(TVMFFIFunctionCall(f, args, 1, &any), -2);
    else
      FAILS(TVMFFIFunctionCall(f, args, 1, &any), "RuntimeError",
            at == -1   ? "a legacy function returned -1"
            : at == -3 ? "it fell over"
                       : "NULL");
  at = 1;
  FAILS(TVMFFIFunctionCall(f, args, 1, &any), "RuntimeError",
        "a legacy function returned 1");
}

/* Calls a function by the old convention with one argument. */
static int test_legacy_apply(TVMFFIObject *f, tvmffi_legacy_value arg, int code,
                             tvmffi_legacy_value *result, int *result_code) {
  result->v_int64 = 99;
  *result_code = 99;
  return tvmffi_legacy_call(&arg, &code, 1, result, result_code, f);
}

static void test_legacy_calls(TVMFFI_HERE) {
  static const char text[] = "a text of more than seven bytes";
  TVMFFIObject *f = test_legacy_function(&tvmffi_func_legacy_same);
  TVMFFIObject *wrapped = NULL;
  tvmffi_legacy_value r, values[17];
  TVMFFIByteArray bytes = {"\0", 1};
  TVMFFIAny any, arg;
  int code, i, codes[17];
  size_t n;
  if (!f) return;
  OK(test_legacy_apply(f, test_legacy_bits(-5), 0, &r, &code));
  CHECK(code == TVMFFI_LEGACY_INT && r.v_int64 == -5);
  OK(test_legacy_apply(f, test_legacy_bits(77), 2, &r, &code));
  CHECK(code == TVMFFI_LEGACY_FLOAT && r.v_int64 == 77);
  OK(test_legacy_apply(f, test_legacy_bits(77), 4, &r, &code));
  CHECK(code == TVMFFI_LEGACY_NULL && r.v_int64 == 0);
  OK(test_legacy_apply(f, test_legacy_bits(3), 15, &r, &code));
  CHECK(code == TVMFFI_LEGACY_INT && r.v_int64 == 1);
  for (n = 0; n < 20; n += 5) { /* strings, short and long, are objects */
    OK(test_legacy_apply(f, test_legacy_handle(text + sizeof(text) - 1 - n), 11,
                         &r, &code));
    CHECK_INT(code, TVMFFI_LEGACY_OBJECT);
    OWN(r.v_handle);
    any = tvmffi_obj(r.v_handle);
    CHECK_INT(any.type_index, kTVMFFIStr);
    CHECK_BYTES(tvmffi_any_str(&any), text + sizeof(text) - 1 - n, n);
    CHECK(tvmffi_any_str(&any).data[n] == 0);
  }
  OK(test_legacy_apply(f, test_legacy_handle(&bytes), 12, &r, &code));
  CHECK_INT(code, TVMFFI_LEGACY_OBJECT);
  OWN(r.v_handle);
  any = tvmffi_obj(r.v_handle);
  CHECK_INT(any.type_index, kTVMFFIBytes);
  CHECK_BYTES(tvmffi_any_str(&any), "\0", 1);
  OK(test_legacy_apply(f, test_legacy_handle(f), 10, &r, &code));
  CHECK(code == TVMFFI_LEGACY_FUNCTION && r.v_handle == f);
  OWN(r.v_handle);
  FAILS(test_legacy_apply(f, r, 17, &r, &code), "TypeError", NULL);
  CHECK(code == TVMFFI_LEGACY_NULL && r.v_int64 == 0);
  FAILS(tvmffi_legacy_call(NULL, NULL, 0, NULL, &code, f), "ValueError",
        "the result of a legacy call is NULL");
  FAILS(tvmffi_legacy_call(NULL, NULL, 0, &r, &code, NULL), "ValueError", NULL);
  FAILS(tvmffi_legacy_call(NULL, NULL, 0, &r, &code, f), "TypeError", NULL);
  f = test_legacy_function(&tvmffi_func_legacy_raise);
  if (!f) return;
  FAILS(tvmffi_legacy_call(NULL, NULL, 0, &r, &code, f), "IndexError", "no");
  for (i = 0; i < 17; ++i) {
    values[i] = test_legacy_bits(i);
    codes[i] = TVMFFI_LEGACY_INT;
  }
  FAILS(tvmffi_legacy_call(values, codes, 17, &r, &code, f), "TypeError", NULL);
  f = test_legacy_function(&tvmffi_func_legacy_code);
  if (!f) return;
  CHECK_INT(tvmffi_legacy_call(NULL, NULL, 0, &r, &code, f), -2);
  /* What it makes belongs to who called, not to the scope around the call. */
  f = test_legacy_function(&tvmffi_func_legacy_made);
  if (!f) return;
  OK(tvmffi_legacy_call(NULL, NULL, 0, &r, &code, f));
  CHECK_INT(code, TVMFFI_LEGACY_FUNCTION);
  OWN(r.v_handle);
  CHECK_INT(test_strong(r.v_handle), 1);
  CHECK_INT(tvmffi_scope_count(kTVMFFIFunction), 0);
  /* To the old convention and back: a short string stays a small one. */
  f = test_legacy_function(&tvmffi_func_legacy_same);
  if (!f) return;
  OK(tvmffi_legacy_wrap(tvmffi_legacy_call, f, NULL, &wrapped));
  arg = tvmffi_str("short");
  OK(test_call_legacy(wrapped, arg, &any));
  CHECK_INT(any.type_index, kTVMFFISmallStr);
  CHECK_BYTES(tvmffi_any_str(&any), "short", 5);
  OK(test_call_legacy(wrapped, tvmffi_bytes(&bytes), &any));
  CHECK_INT(any.type_index, kTVMFFISmallBytes);
  OK(test_call_legacy(wrapped, tvmffi_str(text), &any));
  CHECK_INT(any.type_index, kTVMFFIStr);
#if !TEST_NO_TENSORS
  {
    TVMFFIObject *tensor = (TVMFFIObject *)test_make_tensor();
    if (!tensor) return;
    OK(test_call_legacy(wrapped, tvmffi_obj(tensor), &any));
    CHECK(any.type_index == kTVMFFIDLTensorPtr);
  }
#endif
}
#endif

static const test_case test_legacy_cases[] = {
#if !TEST_NO_LEGACY
    {"legacy: arguments of every type code", test_legacy_arguments},
    {"legacy: values of every type", test_legacy_values},
    {"legacy: functions wrapped", test_legacy_wrap},
    {"legacy: functions called", test_legacy_calls},
#endif
    {NULL, NULL}};
