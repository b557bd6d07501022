/* ======== Typed functions: words, containers of words, definitions ======== */

#pragma once

#include "harness.h"

#if !TEST_NO_TYPED
TVMFFI_FUNC(u_none, none) { TVMFFI_RETURN(); }
TVMFFI_FUNC(u_any, any, (any, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_local, str, (str, x)) {
  char text[16] = "a local: ";
  memcpy(text + 9, x.data, x.size < 6 ? x.size : 6);
  TVMFFI_RETURN(tvmffi_byte_array(text));
}
TVMFFI_FUNC(u_bool, bool, (bool, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_word, _Bool, (_Bool, x)) { TVMFFI_RETURN(!x); }
TVMFFI_FUNC(u_int8, int8, (int8, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_int16, int16, (int16, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_int32, int32, (int32, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_int64, int64, (int64, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_uint8, uint8, (uint8, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_uint16, uint16, (uint16, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_uint32, uint32, (uint32, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_uint64, uint64, (uint64, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_too_large, uint64) { TVMFFI_RETURN(UINT64_MAX); }
TVMFFI_FUNC(u_large_any, any) { TVMFFI_RETURN(tvmffi_uint(UINT64_MAX)); }
#if !TVMFFI_NO_FLOAT
TVMFFI_FUNC(u_float32, float32, (float32, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_float64, float64, (float64, x)) { TVMFFI_RETURN(x); }
#endif
TVMFFI_FUNC(u_str, str, (str, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_bytes, bytes, (bytes, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_dtype, dtype, (dtype, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_device, device, (device, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_ptr, ptr, (ptr, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_tensor, int32, (tensor, x)) { TVMFFI_RETURN(x->ndim); }
TVMFFI_FUNC(u_object, object, (object, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_no_object, object) { TVMFFI_RETURN(NULL); }
TVMFFI_FUNC(u_func, func, (func, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_code, none, (int32, code)) { return code; }
TVMFFI_FUNC(u_bare, int64, (bool, is_bare)) {
  if (is_bare) return 0;
  TVMFFI_RETURN(5);
}
TVMFFI_FUNC(u_bare_object, object, (object, x), (bool, is_bare)) {
  tvmffi_retain(x);
  if (!tvmffi_scope_attach(x)) return -1;
  if (is_bare) return 0;
  TVMFFI_RETURN(x);
}
TVMFFI_FUNC(u_bare_any, any, (int64, x)) { return (void)x, 0; }
TVMFFI_FUNC(u_bare_optional, optional(object), (int64, x)) {
  return (void)x, 0;
}
TVMFFI_FUNC(u_raise, none) { return TVMFFI_RAISE("IndexError", "no %d", 7); }

/* Gives the function object of a typed function, owned by the test. */
static TVMFFIObject *test_typed(const tvmffi_func *typed) {
  TVMFFIObject *f = NULL;
  if (!test_code(tvmffi_i_function(typed, &f), __FILE__, __LINE__,
                 "TVMFFI_FUNCTION_NEW "))
    OWN(f);
  return f;
}

/* Calls a typed function with one value; the result is the caller's. */
static int test_call_typed(const tvmffi_func *typed, TVMFFIAny arg,
                           TVMFFIAny *result) {
  *result = tvmffi_none();
  return typed->call(NULL, &arg, 1, result);
}

typedef struct {
  const tvmffi_func *typed;
  int64_t min, max; /* of the type; 0, 0: not of integers */
  const char *name, *text;
} test_integer_type;

static void test_typed_integers(TVMFFI_HERE) {
  const test_integer_type types[] = {
      {&tvmffi_func_u_int8, INT8_MIN, INT8_MAX, "u_int8", ""},
      {&tvmffi_func_u_int16, INT16_MIN, INT16_MAX, "u_int16", ""},
      {&tvmffi_func_u_int32, INT32_MIN, INT32_MAX, "u_int32", ""},
      {&tvmffi_func_u_int64, INT64_MIN, INT64_MAX, "u_int64", ""},
      {&tvmffi_func_u_uint8, 0, UINT8_MAX, "u_uint8", ""},
      {&tvmffi_func_u_uint16, 0, UINT16_MAX, "u_uint16", ""},
      {&tvmffi_func_u_uint32, 0, UINT32_MAX, "u_uint32", ""},
      {&tvmffi_func_u_uint64, 0, INT64_MAX, "u_uint64", ""}};
  TVMFFIAny any, result;
  int i, k;
  for (i = 0; i < TEST_COUNT(types); ++i) {
    const test_integer_type *t = &types[i];
    int64_t inside[3], outside[4];
    int num_outside = 0;
    inside[0] = t->min;
    inside[1] = t->max;
    inside[2] = 1;
    for (k = 0; k < 3; ++k) {
      any = test_dirty();
      OK(test_call_typed(t->typed, tvmffi_int(inside[k]), &any));
      CHECK_INT(any.v_int64, inside[k]);
      CHECK(any.type_index == kTVMFFIInt && test_is_clean(&any));
    }
    OK(test_call_typed(t->typed, tvmffi_bool(1), &any));
    CHECK_INT(any.v_int64, 1);
    any = tvmffi_bool(1);
    any.v_int64 = -300; /* which only a faulty client makes */
    if (t->min > any.v_int64)
      FAILS(test_call_typed(t->typed, any, &result), "OverflowError",
            "...but got `-300`");
    if (t->min != INT64_MIN) {
      outside[num_outside++] = t->min - 1;
      outside[num_outside++] = INT64_MIN;
    }
    if (t->max != INT64_MAX) {
      outside[num_outside++] = t->max + 1;
      outside[num_outside++] = INT64_MAX;
    }
    for (k = 0; k < num_outside; ++k) {
      char text[160], number[TVMFFI_I_DECIMAL];
      const char *digits;
      size_t at = 0;
      at = test_put(text, at, sizeof(text),
                    "Value out of range in argument #0 when calling: `", 49);
      at = test_put(text, at, sizeof(text), t->name, strlen(t->name));
      at = test_put(text, at, sizeof(text), "(0: int) -> int`. Expected `", 28);
      at = test_put(text, at, sizeof(text), t->name + 2, strlen(t->name + 2));
      at = test_put(text, at, sizeof(text), "` but got `", 11);
      digits = tvmffi_i_decimal(number, outside[k]);
      at = test_put(text, at, sizeof(text), digits, strlen(digits));
      (void)test_put(text, at, sizeof(text), "`", 1);
      FAILS(test_call_typed(t->typed, tvmffi_int(outside[k]), &any),
            "OverflowError", text);
    }
    FAILS(test_call_typed(t->typed, tvmffi_none(), &any), "TypeError",
          "...Expected `int` but got `None`");
#if !TVMFFI_NO_FLOAT
    FAILS(test_call_typed(t->typed, tvmffi_float(1), &any), "TypeError",
          "...Expected `int` but got `float`");
#endif
  }
  any = tvmffi_none();
  FAILS(tvmffi_func_u_too_large.call(NULL, NULL, 0, &any), "OverflowError",
        "Integer value 18446744073709551615 is too large to fit in int64_t. "
        "Consider explicitly casting to int64_t first if this is intentional.");
  FAILS(tvmffi_func_u_large_any.call(NULL, NULL, 0, &any), "OverflowError",
        NULL);
  CHECK_INT(any.type_index, kTVMFFINone);
  FAILS(tvmffi_any_assign(&any, tvmffi_uint(UINT64_MAX)), "OverflowError",
        NULL);
  CHECK_INT(any.type_index, kTVMFFINone);
}

static void test_typed_values(TVMFFI_HERE) {
  static char buffer[4];
  DLDataType dtype = {kDLUInt, 8, 2};
  DLDevice device = TVMFFIDLDeviceFromIntPair(kDLCUDA, 1);
  TVMFFIAny any;
  OK(test_call_typed(&tvmffi_func_u_bool, tvmffi_int(5), &any));
  CHECK(any.type_index == kTVMFFIBool && any.v_int64 == 1);
  OK(test_call_typed(&tvmffi_func_u_bool, tvmffi_bool(0), &any));
  CHECK(any.type_index == kTVMFFIBool && any.v_int64 == 0);
  OK(test_call_typed(&tvmffi_func_u_word, tvmffi_bool(0), &any));
  CHECK(any.type_index == kTVMFFIBool && any.v_int64 == 1);
  FAILS(test_call_typed(&tvmffi_func_u_bool, tvmffi_str("x"), &any),
        "TypeError",
        "Mismatched type on argument #0 when calling: `u_bool(0: bool) -> "
        "bool`. Expected `bool` but got `const char*`");
#if !TVMFFI_NO_FLOAT
  OK(test_call_typed(&tvmffi_func_u_float64, tvmffi_float(2.5), &any));
  CHECK(any.type_index == kTVMFFIFloat && any.v_float64 == 2.5);
  OK(test_call_typed(&tvmffi_func_u_float64, tvmffi_int(-3), &any));
  CHECK(any.type_index == kTVMFFIFloat && any.v_float64 == -3);
  OK(test_call_typed(&tvmffi_func_u_float32, tvmffi_float(0.5), &any));
  CHECK(any.type_index == kTVMFFIFloat && any.v_float64 == 0.5);
  OK(test_call_typed(&tvmffi_func_u_float32, tvmffi_bool(1), &any));
  CHECK(any.v_float64 == 1);
  FAILS(test_call_typed(&tvmffi_func_u_float64, tvmffi_none(), &any),
        "TypeError", "...Expected `float` but got `None`");
  FAILS(test_call_typed(&tvmffi_func_u_float32, tvmffi_str(""), &any),
        "TypeError", NULL);
#endif
  OK(test_call_typed(&tvmffi_func_u_dtype, tvmffi_dtype(dtype), &any));
  CHECK(any.type_index == kTVMFFIDataType && test_is_clean(&any));
  CHECK(any.v_dtype.code == kDLUInt && any.v_dtype.lanes == 2);
  OK(test_call_typed(&tvmffi_func_u_dtype, tvmffi_str("float16"), &any));
  CHECK(any.v_dtype.code == kDLFloat && any.v_dtype.bits == 16);
  FAILS(test_call_typed(&tvmffi_func_u_dtype, tvmffi_str("flat"), &any),
        "ValueError", "unknown dtype `flat`");
  FAILS(test_call_typed(&tvmffi_func_u_dtype, tvmffi_int(1), &any), "TypeError",
        "...Expected `DataType` but got `int`");
  OK(test_call_typed(&tvmffi_func_u_device, tvmffi_device(device), &any));
  CHECK(any.type_index == kTVMFFIDevice && any.v_device.device_id == 1);
  OK(test_call_typed(&tvmffi_func_u_device, tvmffi_str("cpu"), &any));
  CHECK(any.v_device.device_type == kDLCPU && any.v_device.device_id == 0);
  FAILS(test_call_typed(&tvmffi_func_u_device, tvmffi_str("moon"), &any),
        "TypeError", "...Expected `Device` but got `const char*`");
  FAILS(test_call_typed(&tvmffi_func_u_device, tvmffi_int(1), &any),
        "TypeError", NULL);
  OK(test_call_typed(&tvmffi_func_u_ptr, tvmffi_ptr(buffer), &any));
  CHECK(any.type_index == kTVMFFIOpaquePtr && any.v_ptr == buffer);
  CHECK(test_is_clean(&any));
  OK(test_call_typed(&tvmffi_func_u_ptr, tvmffi_none(), &any));
  CHECK(any.type_index == kTVMFFIOpaquePtr && any.v_ptr == NULL);
  FAILS(test_call_typed(&tvmffi_func_u_ptr, tvmffi_int(0), &any), "TypeError",
        "...Expected `void*` but got `int`");
}

static void test_typed_texts(TVMFFI_HERE) {
  TVMFFIByteArray small = {"a\0b", 3}, large = {"0123456789", 10};
  TVMFFIByteArray null = {NULL, 0};
  TVMFFIAny any, owned, view;
  OK(test_call_typed(&tvmffi_func_u_str, tvmffi_str("raw"), &any));
  CHECK(any.type_index == kTVMFFISmallStr && test_is_clean(&any));
  CHECK_TEXT(tvmffi_any_str(&any), "raw");
  OK(TVMFFIStringFromByteArray(&large, &owned));
  OWN_ANY(owned);
  OK(test_call_typed(&tvmffi_func_u_str, owned, &any));
  OWN_ANY(any);
  CHECK(any.type_index == kTVMFFIStr && any.v_obj != owned.v_obj);
  CHECK_TEXT(tvmffi_any_str(&any), "0123456789");
  OK(TVMFFIStringFromByteArray(&small, &owned));
  OK(test_call_typed(&tvmffi_func_u_str, owned, &any));
  CHECK_BYTES(tvmffi_any_str(&any), "a\0b", 3);
  OK(test_call_typed(&tvmffi_func_u_bytes, tvmffi_bytes(&small), &any));
  CHECK_INT(any.type_index, kTVMFFISmallBytes);
  CHECK_BYTES(tvmffi_any_str(&any), "a\0b", 3);
  OK(TVMFFIBytesFromByteArray(&large, &owned));
  OWN_ANY(owned);
  OK(test_call_typed(&tvmffi_func_u_bytes, owned, &any));
  OWN_ANY(any);
  CHECK_TEXT(tvmffi_any_str(&any), "0123456789");
  OK(TVMFFIBytesFromByteArray(&small, &owned));
  OK(test_call_typed(&tvmffi_func_u_bytes, owned, &any));
  CHECK_BYTES(tvmffi_any_str(&any), "a\0b", 3);
  OK(test_call_typed(&tvmffi_func_u_local, tvmffi_str("text"), &any));
  CHECK_BYTES(tvmffi_any_str(&any), "a local: text", 13);
  tvmffi_any_release(&any);
  OK(test_call_typed(&tvmffi_func_u_bytes, tvmffi_bytes(&null), &any));
  CHECK(any.type_index == kTVMFFISmallBytes && any.small_str_len == 0);
  FAILS(test_call_typed(&tvmffi_func_u_str, owned, &any), "TypeError",
        "...Expected `str` but got `ffi.SmallBytes`");
  FAILS(test_call_typed(&tvmffi_func_u_bytes, tvmffi_str("x"), &any),
        "TypeError", "...Expected `bytes` but got `const char*`");
  view = tvmffi_int(0);
  view.type_index = kTVMFFIRawStr;
  FAILS(test_call_typed(&tvmffi_func_u_str, view, &any), "TypeError", NULL);
  view.type_index = kTVMFFIByteArrayPtr;
  FAILS(test_call_typed(&tvmffi_func_u_bytes, view, &any), "TypeError", NULL);
}

/* A small string or bytes that claims more bytes than it has room for. */
static void test_false_texts(TVMFFI_HERE) {
  static const uint32_t sizes[] = {8, 9, 1 << 20, UINT32_MAX};
  TVMFFIAny text, any;
  int i;
  for (i = 0; i < TEST_COUNT(sizes); ++i) {
    text = tvmffi_int(0);
    text.type_index = kTVMFFISmallStr;
    memcpy(text.v_bytes, "int32x2", 8);
    text.small_str_len = sizes[i];
    CHECK_TEXT(tvmffi_any_str(&text), "int32x2");
    FAILS(test_call_typed(&tvmffi_func_u_str, text, &any), "TypeError",
          "...Expected `str` but got `ffi.SmallStr`");
    any = tvmffi_int(77);
    FAILS(TVMFFIAnyViewToOwnedAny(&text, &any), "ValueError",
          "...A small string or bytes cannot have ");
    CHECK(any.type_index == kTVMFFIInt && any.v_int64 == 77);
    FAILS(test_call_typed(&tvmffi_func_u_dtype, text, &any), "TypeError",
          "...Expected `DataType` but got `ffi.SmallStr`");
    text.type_index = kTVMFFISmallBytes;
    CHECK_TEXT(tvmffi_any_str(&text), "int32x2");
    FAILS(test_call_typed(&tvmffi_func_u_bytes, text, &any), "TypeError",
          "...Expected `bytes` but got `ffi.SmallBytes`");
    FAILS(TVMFFIAnyViewToOwnedAny(&text, &any), "ValueError", NULL);
  }
}

static void test_typed_objects(TVMFFI_HERE) {
  TVMFFIObject *f = test_typed(&tvmffi_func_u_none);
  DLTensor tensor;
  TVMFFIAny any, view = tvmffi_int(0);
  if (!f) return;
  memset((void *)&tensor, 0, sizeof(tensor));
  tensor.ndim = 5;
  OK(test_call_typed(&tvmffi_func_u_object, tvmffi_obj(f), &any));
  CHECK(any.type_index == kTVMFFIFunction && any.v_obj == f);
  CHECK(test_is_clean(&any) && test_strong(f) == 2);
  tvmffi_any_release(&any);
  OK(test_call_typed(&tvmffi_func_u_func, tvmffi_obj(f), &any));
  CHECK(any.v_obj == f && test_strong(f) == 2);
  tvmffi_any_release(&any);
  OK(test_call_typed(&tvmffi_func_u_any, tvmffi_obj(f), &any));
  CHECK(any.v_obj == f && test_strong(f) == 2);
  tvmffi_any_release(&any);
  any = tvmffi_none();
  FAILS(tvmffi_func_u_no_object.call(NULL, NULL, 0, &any), "TypeError",
        "u_no_object returned no result: write TVMFFI_RETURN(value), or make "
        "the result optional");
  CHECK(any.type_index == kTVMFFINone && any.v_int64 == 0);
  OK(tvmffi_func_u_none.call(NULL, NULL, 0, &any));
  CHECK(any.type_index == kTVMFFINone && test_is_clean(&any));
  OK(test_call_typed(&tvmffi_func_u_tensor, tvmffi_tensor(&tensor), &any));
  CHECK_INT(any.v_int64, 5);
  FAILS(test_call_typed(&tvmffi_func_u_object, tvmffi_int(1), &any),
        "TypeError", "...Expected `ffi.Object` but got `int`");
  FAILS(test_call_typed(&tvmffi_func_u_func, tvmffi_none(), &any), "TypeError",
        "...Expected `ffi.Function` but got `None`");
  FAILS(test_call_typed(&tvmffi_func_u_func, tvmffi_obj(&tvmffi_i_memory_error),
                        &any),
        "TypeError", "...Expected `ffi.Function` but got `ffi.Error`");
  FAILS(test_call_typed(&tvmffi_func_u_tensor, tvmffi_obj(f), &any),
        "TypeError", "...Expected `DLTensor*` but got `ffi.Function`");
  view.type_index = kTVMFFIDLTensorPtr;
  FAILS(test_call_typed(&tvmffi_func_u_tensor, view, &any), "TypeError", NULL);
  view.type_index = kTVMFFIError;
  FAILS(test_call_typed(&tvmffi_func_u_object, view, &any), "TypeError", NULL);
  view.type_index = kTVMFFIFunction;
  FAILS(test_call_typed(&tvmffi_func_u_func, view, &any), "TypeError", NULL);
  view.type_index = 1 << 30;
  FAILS(test_call_typed(&tvmffi_func_u_int64, view, &any), "TypeError",
        "...Expected `int` but got `an unregistered type`");
}

TVMFFI_FUNC(u_0, int64) { TVMFFI_RETURN(0); }
TVMFFI_FUNC(u_1, int64, (int64, a)) { TVMFFI_RETURN(a); }
TVMFFI_FUNC(u_2, int64, (int64, a), (int64, b)) { TVMFFI_RETURN(a + b); }
TVMFFI_FUNC(u_3, int64, (int64, a), (int64, b), (int64, c)) {
  TVMFFI_RETURN(a + b + c);
}
TVMFFI_FUNC(u_4, int64, (int64, a), (int64, b), (int64, c), (int64, d)) {
  TVMFFI_RETURN(a + b + c + d);
}
TVMFFI_FUNC(u_5, int64, (int64, a), (int64, b), (int64, c), (int64, d),
            (int64, e)) {
  TVMFFI_RETURN(a + b + c + d + e);
}
TVMFFI_FUNC(u_6, int64, (int64, a), (int64, b), (int64, c), (int64, d),
            (int64, e), (int64, f)) {
  TVMFFI_RETURN(a + b + c + d + e + f);
}
TVMFFI_FUNC(u_7, int64, (int64, a), (int64, b), (int64, c), (int64, d),
            (int64, e), (int64, f), (int64, g)) {
  TVMFFI_RETURN(a + b + c + d + e + f + g);
}
TVMFFI_FUNC(u_8, int64, (int64, a), (int64, b), (int64, c), (int64, d),
            (int64, e), (int64, f), (int64, g), (int64, h)) {
  TVMFFI_RETURN(a + b + c + d + e + f + g + h);
}
TVMFFI_FUNC(u_9, int64, (int64, a), (int64, b), (int64, c), (int64, d),
            (int64, e), (int64, f), (int64, g), (int64, h), (int64, i)) {
  TVMFFI_RETURN(a + b + c + d + e + f + g + h + i);
}
TVMFFI_FUNC(u_10, int64, (int64, a), (int64, b), (int64, c), (int64, d),
            (int64, e), (int64, f), (int64, g), (int64, h), (int64, i),
            (int64, j)) {
  TVMFFI_RETURN(a + b + c + d + e + f + g + h + i + j);
}
TVMFFI_FUNC(u_11, int64, (int64, a), (int64, b), (int64, c), (int64, d),
            (int64, e), (int64, f), (int64, g), (int64, h), (int64, i),
            (int64, j), (int64, k)) {
  TVMFFI_RETURN(a + b + c + d + e + f + g + h + i + j + k);
}
TVMFFI_FUNC(u_12, int64, (int64, a), (int64, b), (int64, c), (int64, d),
            (int64, e), (int64, f), (int64, g), (int64, h), (int64, i),
            (int64, j), (int64, k), (int64, l)) {
  TVMFFI_RETURN(a + b + c + d + e + f + g + h + i + j + k + l);
}
TVMFFI_FUNC(u_13, int64, (int64, a), (int64, b), (int64, c), (int64, d),
            (int64, e), (int64, f), (int64, g), (int64, h), (int64, i),
            (int64, j), (int64, k), (int64, l), (int64, m)) {
  TVMFFI_RETURN(a + b + c + d + e + f + g + h + i + j + k + l + m);
}
TVMFFI_FUNC(u_14, int64, (int64, a), (int64, b), (int64, c), (int64, d),
            (int64, e), (int64, f), (int64, g), (int64, h), (int64, i),
            (int64, j), (int64, k), (int64, l), (int64, m), (int64, n)) {
  TVMFFI_RETURN(a + b + c + d + e + f + g + h + i + j + k + l + m + n);
}
TVMFFI_FUNC(u_15, int64, (int64, a), (int64, b), (int64, c), (int64, d),
            (int64, e), (int64, f), (int64, g), (int64, h), (int64, i),
            (int64, j), (int64, k), (int64, l), (int64, m), (int64, n),
            (int64, o)) {
  TVMFFI_RETURN(a + b + c + d + e + f + g + h + i + j + k + l + m + n + o);
}
TVMFFI_FUNC(u_16, int64, (int64, a), (int64, b), (int64, c), (int64, d),
            (int64, e), (int64, f), (int64, g), (int64, h), (int64, i),
            (int64, j), (int64, k), (int64, l), (int64, m), (int64, n),
            (int64, o), (int64, p)) {
  TVMFFI_RETURN(a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p);
}

static const tvmffi_func *const test_counts_of[] = {
    &tvmffi_func_u_0,  &tvmffi_func_u_1,  &tvmffi_func_u_2,  &tvmffi_func_u_3,
    &tvmffi_func_u_4,  &tvmffi_func_u_5,  &tvmffi_func_u_6,  &tvmffi_func_u_7,
    &tvmffi_func_u_8,  &tvmffi_func_u_9,  &tvmffi_func_u_10, &tvmffi_func_u_11,
    &tvmffi_func_u_12, &tvmffi_func_u_13, &tvmffi_func_u_14, &tvmffi_func_u_15,
    &tvmffi_func_u_16};

static void test_typed_counts(TVMFFI_HERE) {
  TVMFFIAny args[18], result;
  int n, i;
  for (i = 0; i < TEST_COUNT(args); ++i) args[i] = tvmffi_int(1 << i);
  for (n = 0; n <= 16; ++n) {
    const tvmffi_func *typed = test_counts_of[n];
    CHECK_INT(typed->num_args, n);
    result = tvmffi_none();
    OK(typed->call(NULL, args, n, &result));
    CHECK_INT(result.v_int64, (1 << n) - 1);
    result = tvmffi_none();
    FAILS(typed->call(NULL, args, n + 1, &result), "TypeError",
          "...Mismatched number of arguments when calling: `u_");
    if (n)
      FAILS(typed->call(NULL, args, n - 1, &result), "TypeError",
            "...arguments");
    CHECK_INT(result.type_index, kTVMFFINone);
    for (i = 0; i < n; ++i) {
      args[i].type_index = kTVMFFINone;
      FAILS(typed->call(NULL, args, n, &result), "TypeError",
            "...Expected `int` but got `None`");
      args[i].type_index = kTVMFFIInt;
    }
  }
  FAILS(tvmffi_func_u_0.call(NULL, args, 1, &result), "TypeError",
        "Mismatched number of arguments when calling: `u_0() -> int`. Expected "
        "0 but got 1 arguments");
  FAILS(tvmffi_func_u_2.call(NULL, args, 3, &result), "TypeError",
        "Mismatched number of arguments when calling: `u_2(0: int, 1: int) -> "
        "int`. Expected 2 but got 3 arguments");
  args[12] = tvmffi_none();
  FAILS(tvmffi_func_u_16.call(NULL, args, 16, &result), "TypeError",
        "Mismatched type on argument #12 when calling: `u_16(0: int, 1: int, "
        "2: int, 3: int, 4: int, 5: int, 6: int, 7: int, 8: int, 9: int, 10: "
        "int, 11: int, 12: int, 13: int, 14: int, 15: int) -> int`. Expected "
        "`int` but got `None`");
}

static void test_typed_codes(TVMFFI_HERE) {
  TVMFFIAny result = tvmffi_none(), full = tvmffi_obj(&tvmffi_i_memory_error);
  TVMFFIObject *error;
  CHECK_INT(test_call_typed(&tvmffi_func_u_code, tvmffi_int(-2), &result), -2);
  CHECK_INT(test_call_typed(&tvmffi_func_u_code, tvmffi_int(0), &result), 0);
  CHECK(tvmffi_i_error_remove() == NULL);
  FAILS(tvmffi_func_u_raise.call(NULL, NULL, 0, &result), "IndexError", "no 7");
  /* The trace names the function as it is written. */
  CHECK_INT(tvmffi_func_u_raise.call(NULL, NULL, 0, &result), -1);
  error = tvmffi_i_error_remove();
  if (!CHECK(error != NULL)) return;
  OWN(error);
  if (!test_hits())
    CHECK(test_contains(TVMFFIErrorGetCellPtr(error)->backtrace,
                        ", in u_raise\n"));
  FAILS(tvmffi_func_u_0.call(NULL, NULL, 0, &full), "TypeError",
        "The result is not None at entry when calling: `u_0() -> int`. "
        "Expected None but got type index 67");
}

#define WRITE_RETURN ": to return a value, write TVMFFI_RETURN(value)"

/* A code without an error gets one: Python's package crashes on an empty
   slot. */
static void test_typed_silence(TVMFFI_HERE) {
  TVMFFIAny result = tvmffi_none();
  FAILS(test_call_typed(&tvmffi_func_u_code, tvmffi_int(7), &result),
        "RuntimeError", "u_code returned 7, but raised no error" WRITE_RETURN);
  FAILS(test_call_typed(&tvmffi_func_u_code, tvmffi_int(-1), &result),
        "RuntimeError", "u_code returned -1, but raised no error" WRITE_RETURN);
}

#define NO_RESULT                                                       \
  "returned no result: write TVMFFI_RETURN(value), or make the result " \
  "optional"

/* A body that returns 0 and stores no result fails, unless the result may be
   None. */
static void test_typed_bare(TVMFFI_HERE) {
  TVMFFIObject *f = test_typed(&tvmffi_func_u_bare_object);
  TVMFFIAny args[2], result = tvmffi_none();
  FAILS(test_call_typed(&tvmffi_func_u_bare, tvmffi_bool(1), &result),
        "TypeError", "u_bare " NO_RESULT);
  CHECK(test_is_clean(&result) && result.type_index == kTVMFFINone);
  OK(test_call_typed(&tvmffi_func_u_bare, tvmffi_bool(0), &result));
  CHECK_INT(result.v_int64, 5);
  OK(test_call_typed(&tvmffi_func_u_bare_any, tvmffi_int(1), &result));
  OK(test_call_typed(&tvmffi_func_u_bare_optional, tvmffi_int(1), &result));
  if (!f) return;
  args[0] = tvmffi_obj(f);
  args[1] = tvmffi_bool(1);
  FAILS(tvmffi_func_u_bare_object.call(NULL, args, 2, &result), "TypeError",
        "u_bare_object " NO_RESULT);
  CHECK(result.type_index == kTVMFFINone && test_strong(f) == 1);
  args[1] = tvmffi_bool(0);
  OK(tvmffi_func_u_bare_object.call(NULL, args, 2, &result));
  CHECK(result.v_obj == f && test_strong(f) == 2);
  tvmffi_any_release(&result);
}

TVMFFI_EXPORT(unit_export, str, (func, f), (tensor, t), (object, o)) {
  (void)t, (void)o;
  TVMFFI_TRY(tvmffi_call(tvmffi_obj(f), tvmffi_out_any(NULL)));
  TVMFFI_RETURN(tvmffi_byte_array("exported"));
}
TVMFFI_FUNC(u_long, dtype, (func, a), (func, b), (func, c), (func, d),
            (func, e), (func, f), (func, g), (func, h), (func, i), (func, j),
            (func, k), (func, l), (func, m), (func, n), (func, o), (func, p)) {
  DLDataType t = {0, 0, 0};
  (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
  (void)i, (void)j, (void)k, (void)l, (void)m, (void)n, (void)o, (void)p;
  TVMFFI_RETURN(t);
}

static void test_export(TVMFFI_HERE) {
  TVMFFIObject *f = test_typed(&tvmffi_func_u_none);
  TVMFFIAny args[3], result = tvmffi_none();
  DLTensor tensor;
  if (!f) return;
  memset((void *)&tensor, 0, sizeof(tensor));
  args[0] = tvmffi_obj(f);
  args[1] = tvmffi_tensor(&tensor);
  args[2] = tvmffi_obj(f);
  OK(__tvm_ffi_unit_export(NULL, args, 3, &result));
  OWN_ANY(result);
  CHECK_TEXT(tvmffi_any_str(&result), "exported");
#if !TVMFFI_NO_METADATA
  OK(__tvm_ffi__metadata_unit_export(NULL, NULL, 0, &result));
  OWN_ANY(result);
  CHECK_TEXT(tvmffi_any_str(&result),
             NAMED("ffi.String",
                   PARAM("ffi.Function") "," PARAM("DLTensor*") "," PARAM(
                       "ffi.Object"),
                   "\"f\",\"t\",\"o\"]"));
#endif
}

#if !TVMFFI_NO_METADATA
static void test_schemas(TVMFFI_HERE) {
  static const struct {
    const tvmffi_func *typed;
    const char *text;
  } cases[] = {
      {&tvmffi_func_u_none, SCHEMA("None", "")},
      {&tvmffi_func_u_any, SCHEMA("Any", PARAM("Any"))},
      {&tvmffi_func_u_bool, SCHEMA("bool", PARAM("bool"))},
      {&tvmffi_func_u_int8, SCHEMA("int", PARAM("int"))},
      {&tvmffi_func_u_uint64, SCHEMA("int", PARAM("int"))},
      {&tvmffi_func_u_bytes, SCHEMA("ffi.Bytes", PARAM("ffi.Bytes"))},
      {&tvmffi_func_u_dtype, SCHEMA("DataType", PARAM("DataType"))},
      {&tvmffi_func_u_device, SCHEMA("Device", PARAM("Device"))},
      {&tvmffi_func_u_ptr, SCHEMA("void*", PARAM("void*"))},
      {&tvmffi_func_u_2, SCHEMA("int", PARAM("int") "," PARAM("int"))}};
  char buffer[1024];
  TVMFFIByteArray got;
  int i;
  for (i = 0; i < TEST_COUNT(cases); ++i)
    CHECK_TEXT(tvmffi_i_metadata(cases[i].typed, buffer), cases[i].text);
  got = tvmffi_i_metadata(&tvmffi_func_u_long, buffer);
  CHECK(got.size < sizeof(buffer));
  CHECK_TEXT(test_bytes(got.data + got.size - 4, 4), "}}\"}");
#if !TVMFFI_NO_FLOAT
  CHECK_TEXT(tvmffi_i_metadata(&tvmffi_func_u_float32, buffer),
             SCHEMA("float", PARAM("float")));
#endif
}

#endif

static void test_register(TVMFFI_HERE) {
  TVMFFIObject *f = NULL;
  int64_t n = 0;
  TVMFFIAny any;
  OK(TVMFFI_OVERRIDE("unit.register", u_2));
  OK(tvmffi_call(tvmffi_str("unit.register"), tvmffi_out_int64(&n),
                 tvmffi_int(2), tvmffi_int(3)));
  CHECK_INT(n, 5);
  if (!TVMFFI_NO_METADATA) {
    any = test_metadata_of(tvmffi_here, "unit.register");
    if (any.type_index == kTVMFFINone) return;
    CHECK_TEXT(tvmffi_any_str(&any),
               NAMED("int", PARAM("int") "," PARAM("int"), "\"a\",\"b\"]"));
  }
  FAILS(tvmffi_call(tvmffi_str("unit.register"), tvmffi_out_int64(&n)),
        "TypeError",
        "Mismatched number of arguments when calling: `unit.register(0: int, "
        "1: int) -> int`. Expected 2 but got 0 arguments");
  FAILS(TVMFFI_REGISTER("unit.register", u_1), "RuntimeError",
        "...Global Function `unit.register` is already registered");
  CHECK_TEXT(tvmffi_byte_array(tvmffi_func_u_1.name), "u_1");
  /* A second name changes no error message, also if it is refused. */
  OK(TVMFFI_OVERRIDE("unit.second", u_2));
  FAILS(TVMFFI_REGISTER("unit.second", u_2), "RuntimeError", NULL);
  FAILS(tvmffi_call(tvmffi_str("unit.second"), tvmffi_out_int64(&n)),
        "TypeError", "...calling: `unit.register(0: int, 1: int) -> int`");
  OK(tvmffi_call(tvmffi_str("ffi.FunctionRemoveGlobal"), tvmffi_out_any(NULL),
                 tvmffi_str("unit.second")));
  tvmffi_func_u_2.name = "u_2";
  OK(TVMFFI_FUNCTION_NEW(u_2, &f));
  OK(tvmffi_call(tvmffi_obj(f), tvmffi_out_int64(&n), tvmffi_int(4),
                 tvmffi_int(3)));
  CHECK_INT(n, 7);
  OK(tvmffi_call(tvmffi_str("ffi.FunctionRemoveGlobal"), tvmffi_out_any(NULL),
                 tvmffi_str("unit.register")));
}

TVMFFI_FUNC(u_opt_int, optional(int64), (optional(int64), x)) {
  TVMFFI_RETURN(x.has_value ? tvmffi_some_int64(x.value + 1)
                            : tvmffi_no_int64());
}
TVMFFI_FUNC(u_opt_bool, optional(bool), (optional(bool), x)) {
  TVMFFI_RETURN(x);
}
TVMFFI_FUNC(u_opt_str, optional(str), (optional(str), x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_opt_any, optional(any), (optional(any), x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_opt_ptr, optional(ptr), (optional(ptr), x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_opt_func, optional(func), (optional(func), x)) {
  TVMFFI_RETURN(x);
}
TVMFFI_FUNC(u_opt_tensor, bool, (optional(tensor), x)) {
  TVMFFI_RETURN(x != NULL);
}

TVMFFI_FUNC(u_int_opt_int, none, (int64, a), (optional(int64), b)) {
  (void)a, (void)b;
  TVMFFI_RETURN();
}

static void test_typed_optional(TVMFFI_HERE) {
  TVMFFIObject *f = test_typed(&tvmffi_func_u_none);
  TVMFFIAny any, args[2];
  DLTensor tensor;
  int here = 0;
  memset((void *)&tensor, 0, sizeof(tensor));
  if (!f) return;
  OK(test_call_typed(&tvmffi_func_u_opt_int, tvmffi_int(4), &any));
  CHECK(any.type_index == kTVMFFIInt && any.v_int64 == 5);
  OK(test_call_typed(&tvmffi_func_u_opt_int, tvmffi_none(), &any));
  CHECK(any.type_index == kTVMFFINone && test_is_clean(&any));
  FAILS(test_call_typed(&tvmffi_func_u_opt_int, tvmffi_str("x"), &any),
        "TypeError",
        "Mismatched type on argument #0 when calling: `u_opt_int(0: "
        "Optional<int>) -> Optional<int>`. Expected `Optional<int>` but got "
        "`const char*`");
  /* None is no wrong argument, so the one before it is named. */
  args[0] = tvmffi_str("x"), args[1] = tvmffi_none(), any = tvmffi_none();
  FAILS(tvmffi_func_u_int_opt_int.call(NULL, args, 2, &any), "TypeError",
        "Mismatched type on argument #0 when calling: `u_int_opt_int(0: int, "
        "1: Optional<int>) -> void`. Expected `int` but got `const char*`");
  OK(test_call_typed(&tvmffi_func_u_opt_bool, tvmffi_bool(1), &any));
  CHECK(any.type_index == kTVMFFIBool && any.v_int64 == 1);
  OK(test_call_typed(&tvmffi_func_u_opt_str, tvmffi_str("text"), &any));
  CHECK_TEXT(tvmffi_any_str(&any), "text");
  OK(test_call_typed(&tvmffi_func_u_opt_str, tvmffi_none(), &any));
  CHECK(any.type_index == kTVMFFINone);
  OK(test_call_typed(&tvmffi_func_u_opt_any, tvmffi_obj(f), &any));
  CHECK(any.v_obj == f && test_strong(f) == 2);
  tvmffi_any_release(&any);
  OK(test_call_typed(&tvmffi_func_u_opt_any, tvmffi_none(), &any));
  CHECK(any.type_index == kTVMFFINone);
  OK(test_call_typed(&tvmffi_func_u_opt_ptr, tvmffi_ptr(&here), &any));
  CHECK(any.type_index == kTVMFFIOpaquePtr && any.v_ptr == &here);
  OK(test_call_typed(&tvmffi_func_u_opt_ptr, tvmffi_none(), &any));
  CHECK(any.type_index == kTVMFFINone && test_is_clean(&any));
  OK(test_call_typed(&tvmffi_func_u_opt_func, tvmffi_obj(f), &any));
  CHECK(any.v_obj == f && test_strong(f) == 2);
  tvmffi_any_release(&any);
  OK(test_call_typed(&tvmffi_func_u_opt_func, tvmffi_none(), &any));
  CHECK(any.type_index == kTVMFFINone);
  OK(test_call_typed(&tvmffi_func_u_opt_tensor, tvmffi_none(), &any));
  CHECK_INT(any.v_int64, 0);
  OK(test_call_typed(&tvmffi_func_u_opt_tensor, tvmffi_tensor(&tensor), &any));
  CHECK_INT(any.v_int64, 1);
}

#if !TVMFFI_NO_CONTAINERS
#define U_CONTAINER(name, T) \
  TVMFFI_FUNC(name, T, (T, x)) { TVMFFI_RETURN(x); }
U_CONTAINER(u_array, array)
U_CONTAINER(u_list, list)
U_CONTAINER(u_map, map)
U_CONTAINER(u_dict, dict)
U_CONTAINER(u_shape, shape)
U_CONTAINER(u_ints, array(int64))
U_CONTAINER(u_bytes8, list(int8))
U_CONTAINER(u_texts, map(str, int64))
U_CONTAINER(u_tables, array(map(str, int64)))
U_CONTAINER(u_rows, map(any, array(int64)))
U_CONTAINER(u_some_ints, array(optional(int64)))
U_CONTAINER(u_opt_ints, optional(array(int64)))
U_CONTAINER(u_opt_list, optional(list))
U_CONTAINER(u_nones, array(none))
U_CONTAINER(u_bools, list(bool))
U_CONTAINER(u_dtypes, array(dtype))
U_CONTAINER(u_devices, map(str, device))
U_CONTAINER(u_maps, array(map))
U_CONTAINER(u_shapes, list(shape))
#if !TVMFFI_NO_FLOAT
U_CONTAINER(u_floats, array(float32))
U_CONTAINER(u_doubles, array(float64))
#endif

/* Makes a container by one of the functions that a file looks up. */
static TVMFFIAny test_container(int maker, TVMFFIAny a, TVMFFIAny b) {
  TVMFFIAny args[2], result = tvmffi_none();
  args[0] = a;
  args[1] = b;
  (void)test_code(tvmffi_i_call_cached(maker, args, 2, &result), __FILE__,
                  __LINE__, tvmffi_i_global_name(maker));
  OWN_ANY(result);
  return result;
}

#define PASSES(name, given)                                \
  do {                                                     \
    OK(test_call_typed(&tvmffi_func_##name, given, &any)); \
    CHECK(any.v_obj == (given).v_obj);                     \
    tvmffi_any_release(&any);                              \
  } while (0)
#define CONVERTS(name, given, index)                                \
  do {                                                              \
    OK(test_call_typed(&tvmffi_func_##name, given, &any));          \
    CHECK(any.type_index == (index) && any.v_obj != (given).v_obj); \
    CHECK(test_strong(any.v_obj) == 1);                             \
    tvmffi_any_release(&any);                                       \
  } while (0)
#define REFUSES(name, given, want, got)                                     \
  do {                                                                      \
    int code = test_call_typed(&tvmffi_func_##name, given, &any);           \
    FAILS(code, "TypeError",                                                \
          test_hits() ? NULL : "...Expected `" want "` but got `" got "`"); \
  } while (0)

static void test_typed_containers(TVMFFI_HERE) {
  TVMFFIAny one = tvmffi_int(1), two = tvmffi_int(2), any;
  TVMFFIAny array = test_container(TVMFFI_I_NEW_ARRAY, one, two);
  TVMFFIAny list = test_container(TVMFFI_I_NEW_LIST, one, two);
  TVMFFIAny map = test_container(TVMFFI_I_NEW_MAP, tvmffi_str("k"), two);
  TVMFFIAny dict = test_container(TVMFFI_I_NEW_DICT, tvmffi_str("k"), two);
  TVMFFIAny mixed = test_container(TVMFFI_I_NEW_ARRAY, one, tvmffi_str("x"));
  if (test_hits()) return;
  PASSES(u_array, array);
  PASSES(u_list, list);
  PASSES(u_map, map);
  PASSES(u_dict, dict);
  PASSES(u_array, mixed);
  PASSES(u_opt_list, list);
  CONVERTS(u_array, list, kTVMFFIArray);
  CONVERTS(u_list, array, kTVMFFIList);
  CONVERTS(u_map, dict, kTVMFFIMap);
  CONVERTS(u_dict, map, kTVMFFIDict);
  CONVERTS(u_shape, array, kTVMFFIShape);
  CONVERTS(u_shape, list, kTVMFFIShape);
  CONVERTS(u_opt_list, array, kTVMFFIList);
  OK(test_call_typed(&tvmffi_func_u_opt_list, tvmffi_none(), &any));
  CHECK(any.type_index == kTVMFFINone);
  REFUSES(u_array, map, "Array<Any>", "ffi.Map");
  REFUSES(u_map, array, "Map<Any, Any>", "ffi.Array");
  REFUSES(u_list, tvmffi_none(), "List<Any>", "None");
  REFUSES(u_dict, one, "Dict<Any, Any>", "int");
  REFUSES(u_shape, mixed, "ffi.Shape", "ffi.Array");
  REFUSES(u_shape, map, "ffi.Shape", "ffi.Map");
  REFUSES(u_opt_list, one, "Optional<List<Any>>", "int");
  any = array;
  any.v_obj = NULL; /* no object behind the index */
  REFUSES(u_array, any, "Array<Any>", "ffi.Array");
}

static void test_typed_elements(TVMFFI_HERE) {
  TVMFFIAny one = tvmffi_int(1), two = tvmffi_int(2), any;
  TVMFFIAny ints = test_container(TVMFFI_I_NEW_ARRAY, one, two);
  TVMFFIAny list = test_container(TVMFFI_I_NEW_LIST, one, two);
  TVMFFIAny bools = test_container(TVMFFI_I_NEW_ARRAY, one, tvmffi_bool(1));
  TVMFFIAny mixed = test_container(TVMFFI_I_NEW_ARRAY, one, tvmffi_str("x"));
  TVMFFIAny some = test_container(TVMFFI_I_NEW_ARRAY, one, tvmffi_none());
  TVMFFIAny large = test_container(TVMFFI_I_NEW_LIST, one, tvmffi_int(300));
  TVMFFIAny map = test_container(TVMFFI_I_NEW_MAP, tvmffi_str("k"), one);
  TVMFFIAny yes =
      test_container(TVMFFI_I_NEW_MAP, tvmffi_str("k"), tvmffi_bool(1));
  TVMFFIAny key = test_container(TVMFFI_I_NEW_MAP, two, one);
  TVMFFIAny value = test_container(TVMFFI_I_NEW_DICT, tvmffi_str("k"), mixed);
  TVMFFIAny row = test_container(TVMFFI_I_NEW_MAP, two, ints);
  TVMFFIAny maps = test_container(TVMFFI_I_NEW_ARRAY, map, map);
  TVMFFIAny keys = test_container(TVMFFI_I_NEW_ARRAY, map, key);
  if (test_hits()) return;
  PASSES(u_ints, ints);
  PASSES(u_bytes8, list);
  PASSES(u_texts, map);
  PASSES(u_tables, maps);
  PASSES(u_rows, row);
  PASSES(u_some_ints, some);
  PASSES(u_some_ints, ints);
  PASSES(u_opt_ints, ints);
  CONVERTS(u_ints, list, kTVMFFIArray);
  CONVERTS(u_ints, bools, kTVMFFIArray);
  CONVERTS(u_opt_ints, bools, kTVMFFIArray);
  CONVERTS(u_texts, yes, kTVMFFIMap);
  OK(test_call_typed(&tvmffi_func_u_ints, bools, &any));
  CHECK_INT(((TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, any.v_obj)->data)[1]
                .type_index,
            kTVMFFIInt);
  tvmffi_any_release(&any);
  OK(test_call_typed(&tvmffi_func_u_opt_ints, tvmffi_none(), &any));
  CHECK(any.type_index == kTVMFFINone);
  REFUSES(u_ints, mixed, "Array<int>", "Array[index 1: ffi.SmallStr]");
  REFUSES(u_ints, one, "Array<int>", "int");
  REFUSES(u_opt_ints, mixed, "Optional<Array<int>>",
          "Array[index 1: ffi.SmallStr]");
  REFUSES(u_texts, key, "Map<str, int>", "Map[some key is int, V]");
  REFUSES(u_texts, value, "Map<str, int>", "Map[K, some value is ffi.Array]");
  REFUSES(u_rows, value, "Map<Any, Array<int>>",
          "Map[K, some value is Array[index 1: ffi.SmallStr]]");
  REFUSES(u_tables, keys, "Array<Map<str, int>>",
          "Array[index 1: Map[some key is int, V]]");
  FAILS(test_call_typed(&tvmffi_func_u_bytes8, large, &any), "OverflowError",
        "Value out of range in argument #0 when calling: `u_bytes8(0: "
        "List<int>) -> List<int>`. Expected `int8` but got `List[index 1: "
        "300]`");
}

/* Converts a container that the test makes of two values, and returns the value
   of item or key number `i`, which the test owns. */
static TVMFFIAny test_converted(const tvmffi_func *typed, int maker,
                                TVMFFIAny a, TVMFFIAny b, int i) {
  TVMFFIAny from = test_container(maker, a, b), to = tvmffi_none();
  if (!from.v_obj || test_code(test_call_typed(typed, from, &to), __FILE__,
                               __LINE__, typed->name))
    return tvmffi_none();
  OWN_ANY(to);
  CHECK(to.v_obj != from.v_obj);
  if (maker == TVMFFI_I_NEW_MAP)
    return tvmffi_i_map_pair(to.v_obj, tvmffi_i_map_begin(to.v_obj))->value;
  return ((TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, to.v_obj)->data)[i];
}

/* Items become values of the type that is asked for. */
static void test_typed_items(TVMFFI_HERE) {
  TVMFFIAny one = tvmffi_int(1), any, text = tvmffi_str("a text");
  TVMFFIAny map = test_container(TVMFFI_I_NEW_MAP, one, one);
  TVMFFIAny dict = test_container(TVMFFI_I_NEW_DICT, one, one);
  TVMFFIAny list = test_container(TVMFFI_I_NEW_LIST, one, one);
  TVMFFIAny shape = test_container(TVMFFI_I_NEW_SHAPE, one, one), none;
  if (test_hits()) return;
  any = test_converted(&tvmffi_func_u_bools, TVMFFI_I_NEW_LIST, tvmffi_bool(0),
                       tvmffi_int(7), 1);
  CHECK(test_hits() || (any.type_index == kTVMFFIBool && any.v_int64 == 1));
  any = test_converted(&tvmffi_func_u_dtypes, TVMFFI_I_NEW_ARRAY,
                       tvmffi_str("int8x4"), tvmffi_str("bool"), 0);
  CHECK(test_hits() ||
        (any.type_index == kTVMFFIDataType && any.v_dtype.lanes == 4));
  any = test_converted(&tvmffi_func_u_devices, TVMFFI_I_NEW_MAP, text,
                       tvmffi_str("cuda:3"), 0);
  CHECK(test_hits() ||
        (any.type_index == kTVMFFIDevice && any.v_device.device_id == 3));
#if !TVMFFI_NO_FLOAT
  any = test_converted(&tvmffi_func_u_floats, TVMFFI_I_NEW_ARRAY, one,
                       tvmffi_float(0.5), 0);
  CHECK(test_hits() || (any.type_index == kTVMFFIFloat && any.v_float64 == 1));
  any = test_converted(&tvmffi_func_u_doubles, TVMFFI_I_NEW_ARRAY, one,
                       tvmffi_float(0.5), 0);
  CHECK(test_hits() || (any.type_index == kTVMFFIFloat && any.v_float64 == 1));
#endif
  any = test_converted(&tvmffi_func_u_maps, TVMFFI_I_NEW_ARRAY, map, dict, 0);
  CHECK(test_hits() || any.v_obj == map.v_obj);
  any = test_converted(&tvmffi_func_u_maps, TVMFFI_I_NEW_ARRAY, map, dict, 1);
  CHECK(test_hits() || any.type_index == kTVMFFIMap);
  any =
      test_converted(&tvmffi_func_u_shapes, TVMFFI_I_NEW_LIST, shape, list, 0);
  CHECK(test_hits() || any.v_obj == shape.v_obj);
  any =
      test_converted(&tvmffi_func_u_shapes, TVMFFI_I_NEW_LIST, shape, list, 1);
  CHECK(test_hits() || any.type_index == kTVMFFIShape);
  none = test_container(TVMFFI_I_NEW_ARRAY, tvmffi_none(), one);
  if (test_hits()) return;
  REFUSES(u_nones, none, "Array<void>", "Array[index 0: None]");
  REFUSES(u_array, shape, "Array<Any>", "ffi.Shape");
}

/* Items that are converted before the one that is refused are released, also
   when the error is written. A quick look at items finds each that differs. */
static void test_refused_items(TVMFFI_HERE) {
  TVMFFIAny one = tvmffi_int(1), yes = tvmffi_bool(1), text = tvmffi_str("x");
  TVMFFIAny items[7], any, result = tvmffi_none();
  TVMFFIAny map = test_container(TVMFFI_I_NEW_MAP, text, yes);
  TVMFFIAny list = test_container(TVMFFI_I_NEW_LIST, one, yes);
  TVMFFIAny tables = test_container(TVMFFI_I_NEW_ARRAY, map, one);
  TVMFFISeqCell *cell;
  int i;
  if (test_hits()) return;
  REFUSES(u_tables, tables, "Array<Map<str, int>>", "Array[index 1: int]");
  for (i = 0; i < 4; ++i) items[i] = i % 2 ? list : one;
  items[2] = text;
  items[3] = one;
  OK(tvmffi_i_call_cached(TVMFFI_I_NEW_MAP, items, 4, &result));
  OWN_ANY(result);
  REFUSES(u_rows, result, "Map<Any, Array<int>>",
          "Map[K, some value is int]");
  for (i = 0; i < 7; ++i) items[i] = tvmffi_int(i);
  for (i = 0; i <= 7; ++i) {
    if (i < 7) items[i] = yes;
    result = tvmffi_none();
    OK(tvmffi_i_call_cached(TVMFFI_I_NEW_ARRAY, items, 7, &result));
    OWN_ANY(result);
    if (i == 7)
      PASSES(u_ints, result);
    else
      CONVERTS(u_ints, result, kTVMFFIArray);
    if (i < 7) items[i] = tvmffi_int(i);
  }
  /* Another thread may have replaced the item that did not fit. */
  FAILS(tvmffi_i_bad_range(tvmffi_func_u_bytes8.types[1], &list,
                           TVMFFI_I_RANGE | 1),
        "OverflowError", "The value ffi.List is out of range of int8");
  FAILS(tvmffi_i_bad_arg(&tvmffi_func_u_texts, 0, &map, TVMFFI_I_MISMATCH),
        "TypeError", "...Expected `Map<str, int>` but got `ffi.Map`");
  cell = TVMFFI_I_CELL(TVMFFISeqCell, list.v_obj); /* a client's mistake */
  cell->size += INT32_MAX;
  FAILS(test_call_typed(&tvmffi_func_u_array, list, &any), "OverflowError",
        "2147483649 arguments");
  cell->size -= INT32_MAX;
}

/* Each allocation of these conversions may be refused. */
static void test_typed_conversions(TVMFFI_HERE) {
  TVMFFIAny one = tvmffi_int(1), any;
  TVMFFIAny bools = test_container(TVMFFI_I_NEW_LIST, one, tvmffi_bool(1));
  TVMFFIAny yes =
      test_container(TVMFFI_I_NEW_DICT, tvmffi_str("k"), tvmffi_bool(1));
  TVMFFIAny texts =
      test_container(TVMFFI_I_NEW_DICT, tvmffi_str("a longer key"), one);
  TVMFFIAny mixed = test_container(TVMFFI_I_NEW_DICT, one, one);
  TVMFFIAny numbers[12], many = tvmffi_none();
  int i;
  if (!bools.v_obj || !yes.v_obj || !texts.v_obj || !mixed.v_obj) return;
  for (i = 0; i < 12; ++i) numbers[i] = tvmffi_int(i);
  OK(tvmffi_i_call_cached(TVMFFI_I_NEW_DICT, numbers, 12, &many));
  OWN_ANY(many);
  OK(test_call_typed(&tvmffi_func_u_map, many, &any));
  CHECK_INT(tvmffi_i_map_size(any.v_obj), 6);
  tvmffi_any_release(&any);
  OK(test_call_typed(&tvmffi_func_u_ints, bools, &any));
  tvmffi_any_release(&any);
  OK(test_call_typed(&tvmffi_func_u_shape, bools, &any));
  tvmffi_any_release(&any);
  OK(test_call_typed(&tvmffi_func_u_texts, yes, &any));
  tvmffi_any_release(&any);
  OK(test_call_typed(&tvmffi_func_u_texts, texts, &any));
  tvmffi_any_release(&any);
  FAILS(test_call_typed(&tvmffi_func_u_texts, mixed, &any), "TypeError", NULL);
}

/* One argument that needs conversion has the others converted as well, and the
   last wrong one is named, before or behind it. */
TVMFFI_FUNC(u_bool_array_int8, int64, (bool, a), (array, b), (int8, c)) {
  TVMFFI_RETURN(a == 1 && b->type_index == kTVMFFIArray ? c : -1);
}
static void test_converted_call(TVMFFI_HERE) {
  TVMFFIAny args[3], any = tvmffi_none();
  TVMFFIAny full = tvmffi_obj(&tvmffi_i_memory_error);
  args[0] = tvmffi_int(7);
  args[1] = test_container(TVMFFI_I_NEW_LIST, args[0], args[0]);
  args[2] = tvmffi_int(5);
  if (test_hits()) return;
  OK(tvmffi_func_u_bool_array_int8.call(NULL, args, 3, &any));
  CHECK(test_hits() || (any.type_index == kTVMFFIInt && any.v_int64 == 5));
  FAILS(tvmffi_func_u_bool_array_int8.call(NULL, args, 3, &full), "TypeError",
        "The result is not None at entry when calling: `u_bool_array_int8(0: "
        "bool, 1: Array<Any>, 2: int) -> int`. Expected None but got type "
        "index 67");
  args[0] = tvmffi_str("no bool");
  any = tvmffi_none();
  FAILS(tvmffi_func_u_bool_array_int8.call(NULL, args, 3, &any), "TypeError",
        "Mismatched type on argument #0 when calling: `u_bool_array_int8(0: "
        "bool, 1: Array<Any>, 2: int) -> int`. Expected `bool` but got `const "
        "char*`");
  args[2] = tvmffi_int(128);
  FAILS(tvmffi_func_u_bool_array_int8.call(NULL, args, 3, &any),
        "OverflowError",
        "Value out of range in argument #2 when calling: `u_bool_array_int8(0: "
        "bool, 1: Array<Any>, 2: int) -> int`. Expected `int8` but got `128`");
}

TVMFFI_FUNC(u_wide, none, (map(str, array(int64)), a),
            (map(str, array(int64)), b), (map(str, array(int64)), c),
            (map(str, array(int64)), d), (map(str, array(int64)), e),
            (map(str, array(int64)), f), (map(str, array(int64)), g),
            (map(str, array(int64)), h), (map(str, array(int64)), i),
            (map(str, array(int64)), j), (map(str, array(int64)), k),
            (map(str, array(int64)), l), (map(str, array(int64)), m),
            (map(str, array(int64)), n), (map(str, array(int64)), o),
            (map(str, array(int64)), p)) {
  (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
  (void)i, (void)j, (void)k, (void)l, (void)m, (void)n, (void)o, (void)p;
  TVMFFI_RETURN();
}

static void test_wide_signature(TVMFFI_HERE) {
#if !TVMFFI_NO_METADATA
  char buffer[TVMFFI_I_METADATA];
  TVMFFIByteArray got = tvmffi_i_metadata(&tvmffi_func_u_wide, buffer);
#endif
  TVMFFIAny result = tvmffi_none();
  FAILS(tvmffi_func_u_wide.call(NULL, NULL, 0, &result), "TypeError",
        "..., 15: Map<str, Array<int>>) -> void`. Expected 16 but got 0 "
        "arguments");
#if !TVMFFI_NO_METADATA
  CHECK(got.size > 1600 && got.size < sizeof(buffer));
  CHECK_TEXT(
      tvmffi_i_metadata(&tvmffi_func_u_opt_ints, buffer),
      "{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\",\\\"named_args\\\""
      ":{\\\"return\\\":[{\\\"type\\\":\\\"Optional\\\",\\\"args\\\":[{"
      "\\\"type\\\":\\\"ffi.Array\\\",\\\"args\\\":[{\\\"type\\\":\\\"int\\\"}]"
      "}]}],\\\"params\\\":[{\\\"type\\\":\\\"Optional\\\",\\\"args\\\":[{"
      "\\\"type\\\":\\\"ffi.Array\\\",\\\"args\\\":[{\\\"type\\\":\\\"int\\\"}]"
      "}]}]}}\"}");
#endif
}
#endif

TVMFFI_CLOSURE(u_closure, int64_t, int64, (int64, x)) {
  TVMFFI_RETURN(*self += x);
}
TVMFFI_CLOSURE(u_unused, int64_t, none) { TVMFFI_RETURN(); }

static int test_closures_ended;
static void test_end_closure(void *self) {
  (void)self;
  ++test_closures_ended;
}

static void test_closure(TVMFFI_HERE) {
  int64_t state = 10, n = 0;
  TVMFFIObject *f = NULL, *g = NULL;
  test_closures_ended = 0;
  OK(TVMFFI_CLOSURE_NEW(u_unused, &state, NULL, &g));
  OK(tvmffi_call(tvmffi_obj(g), tvmffi_out_any(NULL)));
  if (TVMFFI_CLOSURE_NEW(u_closure, &state, test_end_closure, &f)) {
    CHECK(test_hits() && test_closures_ended == 1); /* taken all the same */
    tvmffi_error_clear();
    return;
  }
  OK(tvmffi_call(tvmffi_obj(f), tvmffi_out_int64(&n), tvmffi_int(5)));
  CHECK(n == 15 && state == 15);
  FAILS(tvmffi_call(tvmffi_obj(f), tvmffi_out_int64(&n), tvmffi_none()),
        "TypeError",
        "Mismatched type on argument #0 when calling: `u_closure(0: int) -> "
        "int`. Expected `int` but got `None`");
  CHECK_INT(test_closures_ended, 0);
  tvmffi_scope_close(tvmffi_here);
  CHECK_INT(test_closures_ended, 1);
}

TVMFFI_EXPORT(unit_defaults, int64, (int64, x), (int64, y, 20),
              (int64, z, -1)) {
  TVMFFI_RETURN(x * 10000 + y * 100 + z);
}
TVMFFI_CLOSURE(u_default_closure, int64_t, int64, (int64, step, 2)) {
  TVMFFI_RETURN(*self += step);
}
static int64_t test_defaults_made;
static int64_t test_make_default(void) { return ++test_defaults_made; }
TVMFFI_FUNC(u_made, int64, (int64, x, test_make_default())) {
  TVMFFI_RETURN(x);
}

/* A call with fewer arguments is completed, one with too few is an error. */
static void test_defaults(TVMFFI_HERE) {
  const tvmffi_func *f = &tvmffi_func_unit_defaults;
  TVMFFIAny args[4], result = tvmffi_none(), full;
  TVMFFIObject *g = NULL;
  int64_t state = 10, n = 0;
  int i;
  full = tvmffi_obj(&tvmffi_i_memory_error);
  for (i = 0; i < 4; ++i) args[i] = tvmffi_int(i + 1);
  OK(f->call(NULL, args, 1, &result));
  CHECK_INT(result.v_int64, 11999);
  OK(f->call(NULL, args, 2, &result));
  CHECK_INT(result.v_int64, 10199);
  OK(f->call(NULL, args, 3, &result));
  CHECK_INT(result.v_int64, 10203);
  result = tvmffi_none();
  FAILS(f->call(NULL, args, 0, &result), "TypeError",
        "Mismatched number of arguments when calling: `unit_defaults(0: int, "
        "1: int, 2: int) -> int`. Expected 1 to 3 but got 0 arguments");
  FAILS(f->call(NULL, args, 4, &result), "TypeError",
        "...Expected 1 to 3 but got 4 arguments");
  FAILS(f->call(NULL, args, -1, &result), "TypeError",
        "...Expected 1 to 3 but got -1 arguments");
  for (i = 1; i <= 3; ++i)
    FAILS(f->call(NULL, args, i, &full), "TypeError",
          "The result is not None at entry when calling: "
          "`unit_defaults(0: int, 1: int, 2: int) -> int`. Expected None but "
          "got type index 67");
  args[0] = tvmffi_none();
  FAILS(f->call(NULL, args, 1, &result), "TypeError",
        "Mismatched type on argument #0 when calling: `unit_defaults(0: int, "
        "1: int, 2: int) -> int`. Expected `int` but got `None`");
  FAILS(tvmffi_func_u_made.call(NULL, args, 2, &result), "TypeError",
        "Mismatched number of arguments when calling: `u_made(0: int) -> int`. "
        "Expected 0 to 1 but got 2 arguments");
  OK(tvmffi_func_u_made.call(NULL, args + 1, 1, &result));
  CHECK(result.v_int64 == 2 && !test_defaults_made);
  OK(tvmffi_func_u_made.call(NULL, NULL, 0, &result));
  CHECK(result.v_int64 == 1 && test_defaults_made == 1);
  test_defaults_made = 0;
  OK(TVMFFI_CLOSURE_NEW(u_default_closure, &state, NULL, &g));
  OK(tvmffi_call(tvmffi_obj(g), tvmffi_out_int64(&n)));
  CHECK(n == 12 && state == 12);
  OK(tvmffi_call(tvmffi_obj(g), tvmffi_out_int64(&n), tvmffi_int(5)));
  CHECK(n == 17 && state == 17);
}

#if TVMFFI_I_GENERIC
#define ANY_5 5
#else
#define ANY_5 tvmffi_int(5)
#endif
/* Sixteen parameters, all with a default. */
TVMFFI_FUNC(u_default_types, str, (int8, a, -3), (uint64, b, 1u << 31),
            (bool, c, 1), (str, d, "a, \"b\""), (dtype, e, "float32"),
            (device, f, "cuda:1"), (any, g, ANY_5), (ptr, h, NULL),
            (optional(int64), i, tvmffi_no_int64()), (optional(str), j, NULL),
            (optional(bytes), k, NULL), (optional(dtype), l, NULL),
            (optional(tensor), m, NULL), (optional(func), n, NULL),
            (optional(array(int64)), o, NULL),
            (optional(map(str, int64)), p, NULL)) {
  if (a != -3 || b != 1u << 31 || !c || e.bits != 32 || f.device_id != 1)
    return TVMFFI_RAISE("ValueError", "a to f");
  if (g.type_index != kTVMFFIInt || g.v_int64 != 5 || h || i.has_value ||
      j.has_value || k.has_value || l.has_value)
    return TVMFFI_RAISE("ValueError", "g to l");
  if (m || n || o || p) return TVMFFI_RAISE("ValueError", "m to p");
  TVMFFI_RETURN(d);
}
TVMFFI_FUNC(u_bad_default, dtype, (dtype, t, "flat32")) { TVMFFI_RETURN(t); }
TVMFFI_FUNC(u_large_default, uint64, (uint64, x, UINT64_MAX)) {
  TVMFFI_RETURN(x);
}
static TVMFFIObject *u_no_func;
TVMFFI_FUNC(u_null_default, func, (func, f, u_no_func)) { TVMFFI_RETURN(f); }

static void test_default_types(TVMFFI_HERE) {
  TVMFFIAny result = tvmffi_none();
  OK(tvmffi_func_u_default_types.call(NULL, NULL, 0, &result));
  OWN_ANY(result);
  CHECK_TEXT(tvmffi_any_str(&result), "a, \"b\"");
  result = tvmffi_none();
  FAILS(tvmffi_func_u_bad_default.call(NULL, NULL, 0, &result), "ValueError",
        NULL);
  FAILS(tvmffi_func_u_large_default.call(NULL, NULL, 0, &result),
        "OverflowError", NULL);
  FAILS(tvmffi_func_u_null_default.call(NULL, NULL, 0, &result), "TypeError",
        "...Expected `ffi.Function` but got `None`");
}

/* A function that runs when its library is loaded, and again unless it
   succeeded. */
static void *test_load_state;
static int test_load_code;
static int test_run_at_load(void) {
  test_say('r');
  if (test_load_code == 9)
    return tvmffi_i_run_on_load(&test_load_state, &tvmffi_func_u_0,
                                test_run_at_load);
  return test_load_code == 1 ? TVMFFI_RAISE("KeyError", "not yet")
                             : test_load_code;
}

static void test_on_load(TVMFFI_HERE) {
  static const struct {
    int code;
    const char *kind, *text;
  } cases[] = {{1, "KeyError", "not yet"},
               {7, "RuntimeError", "...returned 7, but raised no error"},
               {9, "RuntimeError", "...u_0 is running already"}};
  int i;
  test_load_state = NULL;
  for (i = 0; i < TEST_COUNT(cases); ++i) {
    test_load_code = cases[i].code;
    FAILS(tvmffi_i_run_on_load(&test_load_state, &tvmffi_func_u_0,
                               test_run_at_load),
          cases[i].kind, cases[i].text);
    CHECK(!test_load_state);
  }
  test_load_code = 0;
  for (i = 0; i < 2; ++i)
    OK(tvmffi_i_run_on_load(&test_load_state, &tvmffi_func_u_0,
                            test_run_at_load));
  CHECK_LOG("rrrr");
}

/* A name that is no literal is copied for error messages. */
static void test_register_name(TVMFFI_HERE) {
  const char *own = tvmffi_func_u_9.name;
  char name[32];
  (void)test_put(name, 0, sizeof(name), "unit.a name on the stack", 24);
  OK(TVMFFI_REGISTER(name, u_9));
  name[5] = '!';
  if (tvmffi_func_u_9.name != own) {
    CHECK_TEXT(tvmffi_byte_array(tvmffi_func_u_9.name),
               "unit.a name on the stack");
    TVMFFI_I_SCOPE_FREE((void *)(uintptr_t)tvmffi_func_u_9.name);
  } else {
    CHECK(test_hits()); /* there was no memory for the copy */
  }
  tvmffi_func_u_9.name = own;
  test_replace_global("unit.a name on the stack", NULL);
}

/* What is said of a value has at most so many parts and numbers. */
static void test_said_parts(TVMFFI_HERE) {
  tvmffi_i_parts p;
  int i;
  p.size = p.numbers = 0;
  for (i = 0; i < 10; ++i) tvmffi_i_say_number(&p, i);
  CHECK_INT(p.size, 8);
  FAILS(tvmffi_i_raise_said("ValueError", &p), "ValueError", "01234567");
  for (i = 0; i < TEST_COUNT(p.part); ++i) tvmffi_i_say(&p, "-");
  CHECK_INT(p.size, TEST_COUNT(p.part));
}

#if !TVMFFI_NO_METADATA
#define TEST_HUNDRED                                   \
  "a text of fifty bytes, of which two make a hundred" \
  "a text of fifty bytes, of which two make a hundred"
#define TEST_THOUSAND                                                     \
  TEST_HUNDRED TEST_HUNDRED TEST_HUNDRED TEST_HUNDRED TEST_HUNDRED        \
  TEST_HUNDRED TEST_HUNDRED TEST_HUNDRED TEST_HUNDRED TEST_HUNDRED
static const TVMFFIByteArray test_no_json = {"bytes", 5};
TVMFFI_FUNC(u_no_json, none, (int64, a, 1),
            (any, x, tvmffi_bytes(&test_no_json))) {
  (void)a, (void)x;
  TVMFFI_RETURN();
}
TVMFFI_FUNC(u_no_json_ptr, none, (ptr, p, &test_defaults_made)) {
  (void)p;
  TVMFFI_RETURN();
}
TVMFFI_FUNC(u_long_default, none,
            (str, text,
             TEST_THOUSAND TEST_THOUSAND TEST_THOUSAND TEST_THOUSAND)) {
  (void)text;
  TVMFFI_RETURN();
}
#if !TEST_NO_TENSORS
TVMFFI_FUNC(u_escaped, none, (tensor("float32[\\] \"x"), x)) {
  (void)x;
  TVMFFI_RETURN();
}
#endif

/* Metadata without what cannot be written, and with what must be escaped. */
static void test_other_metadata(TVMFFI_HERE) {
  static const char name[] = "ffi.json.Stringify";
  char buffer[TVMFFI_I_METADATA];
  TVMFFIObject *json = test_global(name);
  TVMFFIObjectHandle raises = NULL;
  TVMFFIByteArray got;
  tvmffi_func plain = tvmffi_func_u_1;
  int i;
  plain.params = NULL;
  CHECK_TEXT(tvmffi_i_named_metadata(&plain, buffer),
             SCHEMA("int", PARAM("int")));
#if !TEST_NO_TENSORS
  got = tvmffi_i_named_metadata(&tvmffi_func_u_escaped, buffer);
  CHECK(test_contains(got, "\"tensors\":{\"x\":\"float32[\\\\] \\\"x\"}"));
#endif
  got = tvmffi_i_named_metadata(&tvmffi_func_u_long_default, buffer);
  if (!test_hits() && json)
    CHECK_TEXT(got, SCHEMA("None", PARAM("ffi.String")));
  OK(TVMFFIFunctionCreate(NULL, test_raise_callback, NULL, &raises));
  OWN(raises);
  if (!json) return;
  for (i = 0; i < 2; ++i) {
    test_replace_global(name, i ? (TVMFFIObject *)raises : NULL);
    got = tvmffi_i_named_metadata(&tvmffi_func_unit_defaults, buffer);
    test_replace_global(name, json);
    CHECK(!tvmffi_i_error_remove());
    CHECK(test_contains(got, "\"arg_names\":[\"x\",\"y\",\"z\"]}"));
  }
}

static void test_default_metadata(TVMFFI_HERE) {
  static const struct {
    const tvmffi_func *typed;
    const char *names, *defaults;
  } cases[] = {
      {&tvmffi_func_unit_defaults, "\"x\",\"y\",\"z\"", "20,-1"},
      {&tvmffi_func_u_default_closure, "\"step\"", "2"},
      {&tvmffi_func_u_default_types,
       "\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\",\"j\","
       "\"k\",\"l\",\"m\",\"n\",\"o\",\"p\"",
       "-3,2147483648,true,\"a, \\\"b\\\"\",\"float32\",\"cuda:1\",5,null,"
       "null,null,null,null,null,null,null,null"},
      {&tvmffi_func_u_0, "", NULL},
      {&tvmffi_func_u_no_json, "\"a\",\"x\"", NULL},
      {&tvmffi_func_u_no_json_ptr, "\"p\"", NULL},
      {&tvmffi_func_u_large_default, "\"x\"", NULL}};
  char buffer[TVMFFI_I_METADATA], want[512];
  int i;
  for (i = 0; i < TEST_COUNT(cases); ++i) {
    tvmffi_i_text t = {want, 0, sizeof(want)};
    TVMFFIByteArray got = tvmffi_i_named_metadata(cases[i].typed, buffer);
    tvmffi_i_append(&t, "}\",\"arg_names\":[");
    tvmffi_i_append(&t, cases[i].names);
    if (cases[i].defaults && !TVMFFI_NO_EXTRA) {
      tvmffi_i_append(&t, "],\"arg_defaults\":[");
      tvmffi_i_append(&t, cases[i].defaults);
    }
    tvmffi_i_append(&t, "]}");
    if (test_hits()) continue; /* a default that is not written is left out */
    if (CHECK(got.size > t.size))
      CHECK_BYTES(test_bytes(got.data + got.size - t.size, t.size), want,
                  t.size);
  }
}
#endif

TVMFFI_DOC(unit_export, "Tells \"what\" it is for")

static void test_docs(TVMFFI_HERE) {
#if !TVMFFI_NO_METADATA
  TVMFFIAny result = tvmffi_none();
  OK(__tvm_ffi__doc_unit_export(NULL, NULL, 0, &result));
  OWN_ANY(result);
  CHECK_TEXT(tvmffi_any_str(&result), "Tells \"what\" it is for");
#endif
  OK(TVMFFI_REGISTER_DOC("unit.documented", u_0, "Gives 0"));
  tvmffi_func_u_0.name = "u_0";
  OK(tvmffi_call(tvmffi_str("ffi.FunctionRemoveGlobal"), tvmffi_out_any(NULL),
                 tvmffi_str("unit.documented")));
}
#endif

static const test_case test_typed_function_cases[] = {
#if !TEST_NO_TYPED
    {"typed functions: integers", test_typed_integers},
    {"typed functions: other values", test_typed_values},
    {"typed functions: strings and bytes", test_typed_texts},
    {"typed functions: texts that lie", test_false_texts},
    {"typed functions: objects", test_typed_objects},
    {"typed functions: 0 to 16 parameters", test_typed_counts},
    {"typed functions: codes and errors", test_typed_codes},
    {"typed functions: a code without an error", test_typed_silence},
    {"typed functions: a body without a result", test_typed_bare},
    {"typed functions: export", test_export},
#if !TVMFFI_NO_METADATA
    {"typed functions: schemas", test_schemas},
#endif
    {"typed functions: defaults", test_defaults},
    {"typed functions: defaults of each type", test_default_types},
#if !TVMFFI_NO_METADATA
    {"typed functions: metadata of defaults", test_default_metadata},
    {"typed functions: metadata of other cases", test_other_metadata},
#endif
    {"typed functions: register", test_register},
    {"typed functions: run at load", test_on_load},
    {"typed functions: names that are copied", test_register_name},
    {"typed functions: parts of a message", test_said_parts},
    {"typed functions: optional", test_typed_optional},
#if !TVMFFI_NO_CONTAINERS
    {"typed functions: containers", test_typed_containers},
    {"typed functions: elements", test_typed_elements},
    {"typed functions: values of items", test_typed_items},
    {"typed functions: calls that convert", test_converted_call},
    {"typed functions: items that are refused", test_refused_items},
    {"typed functions: conversions", test_typed_conversions},
    {"typed functions: wide signatures", test_wide_signature},
#endif
    {"typed functions: closures", test_closure},
    {"typed functions: documentation", test_docs},
#endif
    {NULL, NULL}};
