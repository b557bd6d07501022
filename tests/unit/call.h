/* ======== Calls: calls with plain values, results taken as such =========== */

#pragma once

#include "harness.h"
#include "typed_function.h"

#if !TEST_NO_TYPED
static const TVMFFIByteArray test_part = {"ten and more bytes", 10};
TVMFFI_FUNC(u_part_default, none, (any, x, tvmffi_i_text_of(test_part))) {
  (void)x;
  TVMFFI_RETURN();
}
TVMFFI_FUNC(u_large_any_default, none, (any, x, tvmffi_uint(UINT64_MAX))) {
  (void)x;
  TVMFFI_RETURN();
}

/* Each kind of target, by the constructors that C99 has. */
static void test_out_constructors(TVMFFI_HERE) {
  TVMFFIObject *echo = test_typed(&tvmffi_func_u_any);
  TVMFFIAny f = tvmffi_obj(echo), any = tvmffi_none();
  int8_t i8 = 0;
  int16_t i16 = 0;
  int32_t i32 = 0;
  int64_t i64 = 0;
  uint8_t u8 = 0;
  uint16_t u16 = 0;
  uint32_t u32 = 0;
  uint64_t u64 = 0;
  tvmffi_type_bool b = 0;
  DLDataType dtype = {0, 0, 0};
  DLDevice device = TVMFFIDLDeviceFromIntPair(0, 0);
  void *p = NULL;
  TVMFFIObject *o = NULL;
  if (!echo) return;
  OK(tvmffi_call(f, tvmffi_out_int8(&i8), tvmffi_int(-8)));
  OK(tvmffi_call(f, tvmffi_out_int16(&i16), tvmffi_int(-16)));
  OK(tvmffi_call(f, tvmffi_out_int32(&i32), tvmffi_int(-32)));
  OK(tvmffi_call(f, tvmffi_out_int64(&i64), tvmffi_int(INT64_MIN)));
  OK(tvmffi_call(f, tvmffi_out_uint8(&u8), tvmffi_int(255)));
  OK(tvmffi_call(f, tvmffi_out_uint16(&u16), tvmffi_int(65535)));
  OK(tvmffi_call(f, tvmffi_out_uint32(&u32), tvmffi_int(UINT32_MAX)));
  OK(tvmffi_call(f, tvmffi_out_uint64(&u64), tvmffi_int(INT64_MAX)));
  OK(tvmffi_call(f, tvmffi_out_bool(&b), tvmffi_int(5)));
  CHECK(i8 == -8 && i16 == -16 && i32 == -32 && i64 == INT64_MIN);
  CHECK(u8 == 255 && u16 == 65535 && u32 == UINT32_MAX && u64 == INT64_MAX);
  CHECK(b == 1);
  OK(tvmffi_call(f, tvmffi_out_dtype(&dtype), tvmffi_str("int8x4")));
  CHECK(dtype.code == kDLInt && dtype.bits == 8 && dtype.lanes == 4);
  OK(tvmffi_call(f, tvmffi_out_device(&device), tvmffi_str("cuda:2")));
  CHECK(device.device_type == kDLCUDA && device.device_id == 2);
  OK(tvmffi_call(f, tvmffi_out_ptr(&p), tvmffi_ptr(&i8)));
  CHECK(p == &i8);
  OK(tvmffi_call(f, tvmffi_out_object(&o), tvmffi_obj(echo)));
  CHECK(o == echo && test_strong(echo) == 2);
  OK(tvmffi_call(f, tvmffi_out_any(&any), tvmffi_obj(echo)));
  CHECK(any.v_obj == echo && test_strong(echo) == 3);
  OK(tvmffi_call(f, tvmffi_out_none(NULL), tvmffi_obj(echo)));
  CHECK_INT(test_strong(echo), 3);
  OK(tvmffi_call(f, tvmffi_out_any(NULL), tvmffi_str("a long result")));
#if !TVMFFI_NO_FLOAT
  {
    float f32 = 0;
    double f64 = 0;
    OK(tvmffi_call(f, tvmffi_out_float32(&f32), tvmffi_float(0.5)));
    OK(tvmffi_call(f, tvmffi_out_float64(&f64), tvmffi_int(-7)));
    CHECK(f32 == 0.5f && f64 == -7);
  }
#endif
}

static void test_bad_results(TVMFFI_HERE) {
  TVMFFIObject *echo = test_typed(&tvmffi_func_u_any), *o = NULL;
  TVMFFIAny f = tvmffi_obj(echo);
  int8_t i8 = 3;
  uint64_t u64 = 3;
  int64_t i64 = 3;
  DLDataType dtype = {9, 9, 9};
  if (!echo) return;
  FAILS(tvmffi_call(f, tvmffi_out_int8(&i8), tvmffi_int(128)), "OverflowError",
        "result of the function: The value 128 is out of range of int8");
  FAILS(tvmffi_call(f, tvmffi_out_uint64(&u64), tvmffi_int(-1)),
        "OverflowError",
        "result of the function: The value -1 is out of range of uint64");
  FAILS(tvmffi_call(f, tvmffi_out_none(&i8), tvmffi_int(1)), "TypeError",
        "result of the function: Cannot convert from type `int` to `void`");
  OK(tvmffi_call(f, tvmffi_out_none(NULL), tvmffi_int(1)));
  FAILS(tvmffi_call(f, tvmffi_out_int64(&i64), tvmffi_none()), "TypeError",
        "result of the function: Cannot convert from type `None` to `int`");
  FAILS(tvmffi_call(f, tvmffi_out_int64(&i64), tvmffi_str("a long string")),
        "TypeError",
        "result of the function: Cannot convert from type `ffi.String` to "
        "`int`");
  FAILS(tvmffi_call(f, tvmffi_out_object(&o), tvmffi_int(1)), "TypeError",
        "result of the function: Cannot convert from type `int` to "
        "`ffi.Object`");
  FAILS(tvmffi_call(f, tvmffi_out_dtype(&dtype), tvmffi_str("flat")),
        "ValueError", "result of the function: unknown dtype `flat`");
  CHECK(i8 == 3 && u64 == 3 && i64 == 3 && o == NULL && dtype.code == 9);
}

static void test_buffers(TVMFFI_HERE) {
  TVMFFIObject *echo = test_typed(&tvmffi_func_u_any);
  char text[8] = "unused";
  tvmffi_buffer buffer;
  if (!echo) return;
  buffer.data = text;
  buffer.capacity = sizeof(text);
  OK(tvmffi_call(tvmffi_obj(echo), tvmffi_out_buffer(&buffer),
                 tvmffi_str("seven x")));
  CHECK(buffer.length == 7 && strcmp(text, "seven x") == 0);
  OK(tvmffi_call(tvmffi_obj(echo), tvmffi_out_buffer(&buffer),
                 tvmffi_str("seven y"))); /* a buffer is used again */
  CHECK(buffer.length == 7 && strcmp(text, "seven y") == 0);
  FAILS(tvmffi_call(tvmffi_obj(echo), tvmffi_out_buffer(&buffer),
                    tvmffi_str("eight xy")),
        "ValueError",
        "result of the function: The string needs 9 bytes with its NUL, but "
        "the buffer has 8");
  CHECK(buffer.length == 7 && strcmp(text, "seven y") == 0);
  FAILS(
      tvmffi_call(tvmffi_obj(echo), tvmffi_out_buffer(&buffer), tvmffi_int(1)),
      "TypeError",
      "result of the function: Cannot convert from type `int` to `str`");
}

/* No integer wraps around on its way into a call. */
static void test_wide_integers(TVMFFI_HERE) {
  TVMFFIObject *echo = test_typed(&tvmffi_func_u_any);
  int64_t n = 0;
  if (!echo) return;
  OK(tvmffi_call(tvmffi_obj(echo), tvmffi_out_int64(&n),
                 tvmffi_uint(INT64_MAX)));
  CHECK_INT(n, INT64_MAX);
  FAILS(tvmffi_call(tvmffi_obj(echo), tvmffi_out_int64(&n),
                    tvmffi_uint((uint64_t)INT64_MAX + 1)),
        "OverflowError",
        "...Integer value 9223372036854775808 is too large to fit in int64_t");
#if TVMFFI_I_GENERIC
  FAILS(tvmffi_call(echo, &n, UINT64_MAX), "OverflowError", NULL);
  OK(tvmffi_call(echo, &n, (uint64_t)7));
  CHECK_INT(n, 7);
#endif
}

static void test_as(TVMFFI_HERE) {
  TVMFFIByteArray raw = {"a\0b", 3}, large = {"0123456789", 10};
  TVMFFIByteArray no_data = {NULL, 0};
  DLDataType dtype = {0, 0, 0};
  TVMFFIAny text, copy;
  uint8_t byte = 7;
  OK(tvmffi_as(tvmffi_str("float16x2"), tvmffi_out_dtype(&dtype)));
  CHECK_INT(dtype.lanes, 2);
  OK(tvmffi_dtype_to_str(dtype, &text));
  CHECK(tvmffi_equal(text, tvmffi_str("float16x2")));
  CHECK(!tvmffi_equal(text, tvmffi_str("float16x4")));
  CHECK(!tvmffi_equal(text, tvmffi_str("float16")));
  OK(tvmffi_as(tvmffi_bytes(&raw), tvmffi_out_any(&copy)));
  CHECK_INT(copy.type_index, kTVMFFISmallBytes);
  CHECK(tvmffi_equal(copy, tvmffi_bytes(&raw)));
  raw.size = 1;
  CHECK(!tvmffi_equal(copy, tvmffi_bytes(&raw)));
  CHECK(!tvmffi_equal(tvmffi_str("a"), tvmffi_bytes(&raw)));
  CHECK(tvmffi_equal(tvmffi_int(1), tvmffi_int(1)));
  CHECK(!tvmffi_equal(tvmffi_int(1), tvmffi_bool(1)));
  CHECK(!tvmffi_equal(tvmffi_none(), tvmffi_str("")));
  raw.size = 3;
  OK(TVMFFIBytesFromByteArray(&large, &copy));
  OWN_ANY(copy);
  CHECK(tvmffi_equal(copy, tvmffi_bytes(&large)));
  CHECK(!tvmffi_equal(copy, tvmffi_bytes(&raw)));
  /* Bytes without data are empty bytes, and a string without data is none. */
  CHECK(tvmffi_equal(tvmffi_bytes(&no_data), tvmffi_bytes(&no_data)));
  CHECK(!tvmffi_equal(tvmffi_bytes(&no_data), tvmffi_bytes(&raw)));
  CHECK(!tvmffi_equal(tvmffi_bytes(&no_data), tvmffi_none()));
  CHECK(!tvmffi_equal(tvmffi_bytes(&no_data), tvmffi_str("")));
  CHECK(!tvmffi_equal(tvmffi_int(1), tvmffi_int(2)));
  FAILS(tvmffi_as(tvmffi_str("x"), tvmffi_out_uint8(&byte)), "TypeError",
        "...` to `int`");
  FAILS(tvmffi_as(tvmffi_int(300), tvmffi_out_uint8(&byte)), "OverflowError",
        "The value 300 is out of range of uint8");
  FAILS(tvmffi_as(tvmffi_uint(UINT64_MAX), tvmffi_out_uint8(&byte)),
        "OverflowError", NULL);
  FAILS(tvmffi_as(tvmffi_str("floaty32"), tvmffi_out_dtype(&dtype)),
        "ValueError", NULL);
  CHECK_INT(byte, 7);
}

/* Parts of texts, which do not end with a NUL: a short one is in the view, and
   a callee gets a string made of a long one, whatever number of arguments is
   copied for that. */
static void test_parts_of_texts(TVMFFI_HERE) {
  static const char text[] = "unit.part of a longer text";
  TVMFFIAny none = tvmffi_i_text_of(test_bytes(NULL, 0)), zero = tvmffi_int(0);
  TVMFFIAny name = tvmffi_i_text_of(test_bytes(text, 9));
  TVMFFIAny all = tvmffi_i_text_of(test_bytes(text, 24));
  TVMFFIAny small = tvmffi_i_text_of(test_bytes(text, 4));
  TVMFFIAny huge = tvmffi_i_text_of(test_bytes(text, UINT32_MAX));
  TVMFFIAny large = tvmffi_uint(UINT64_MAX), any = tvmffi_none();
  TVMFFIObjectHandle f = NULL;
  int8_t byte = 3;
  CHECK(test_is_clean(&none) && none.type_index == kTVMFFINone);
  CHECK(test_is_clean(&small) && small.type_index == kTVMFFISmallStr);
  CHECK_TEXT(tvmffi_any_str(&small), "unit");
  CHECK_TEXT(tvmffi_any_str(&all), "unit.part of a longer te");
  CHECK(tvmffi_equal(name, tvmffi_str("unit.part")));
  OK(TVMFFIFunctionCreate(NULL, test_echo_callback, NULL, &f));
  OWN(f);
  OK(tvmffi_override_object("unit.part", f));
  OK(tvmffi_call(name, tvmffi_out_any(&any), name)); /* also as the callee */
  CHECK_TEXT(tvmffi_any_str(&any), "unit.part");
  CHECK(any.type_index == kTVMFFIStr && test_strong(any.v_obj) == 1);
  OK(tvmffi_call(name, tvmffi_out_any(&any), zero, name, zero, small, all));
  CHECK_TEXT(tvmffi_any_str(&any), "unit.part of a longer te");
  CHECK(any.type_index == kTVMFFIStr && test_strong(any.v_obj) == 1);
  OK(tvmffi_as(all, tvmffi_out_any(&any)));
  CHECK(any.type_index == kTVMFFIStr && tvmffi_equal(any, all));
  FAILS(tvmffi_call(name, tvmffi_out_int8(&byte), tvmffi_int(-300)),
        "OverflowError",
        "result of unit.part: The value -300 is out of range of int8");
  CHECK_INT(byte, 3);
  FAILS(tvmffi_call(name, tvmffi_out_any(&any), all, large), "OverflowError",
        "Integer value 18446744073709551615 is too large to fit in int64_t. "
        "Consider explicitly casting to int64_t first if this is intentional.");
  FAILS(tvmffi_call(name, tvmffi_out_any(&any), all, zero, all, zero, huge),
        "OverflowError", "A slice has 4 GB or more");
  any = tvmffi_none();
  FAILS(tvmffi_func_u_part_default.call(NULL, NULL, 0, &any), "TypeError",
        "A slice cannot be a default");
  FAILS(tvmffi_func_u_large_any_default.call(NULL, NULL, 0, &any),
        "OverflowError", NULL);
#if !TVMFFI_NO_CONTAINERS
  {
    TVMFFIObject *list = tvmffi_list(all);
    OK(list ? 0 : -1);
    OK(tvmffi_append(tvmffi_obj(list), all));
    OK(tvmffi_set(tvmffi_obj(list), zero, name));
    OK(tvmffi_contains(tvmffi_obj(list), all) == 1 ? 0 : -1);
    OK(tvmffi_at(tvmffi_obj(list), 0, &any));
    CHECK_TEXT(tvmffi_any_str(&any), "unit.part");
  }
#endif
}

static void test_global_by_name(TVMFFI_HERE) {
  TVMFFIObject *echo = test_typed(&tvmffi_func_u_any), *found = NULL;
  TVMFFIObject *other = test_typed(&tvmffi_func_u_code);
  if (!echo || !other) return;
  FAILS(tvmffi_global_get(tvmffi_str("unit.nobody"), &found), "ValueError",
        "Function unit.nobody not found");
  CHECK(!found);
  FAILS(tvmffi_global_find(tvmffi_int(7), &found), "TypeError",
        "tvmffi_global_find: expected a name, but got `int`");
  OK(tvmffi_global_find(tvmffi_str("unit.nobody"), &found));
  CHECK(!found);
  OK(tvmffi_override_object("unit.by_name", echo));
  FAILS(tvmffi_register_object("unit.by_name", other), "RuntimeError", NULL);
  OK(tvmffi_global_get(tvmffi_str("unit.by_name"), &found));
  CHECK(found == echo);
}

static void test_bad_callees(TVMFFI_HERE) {
  TVMFFIObject *raise = test_typed(&tvmffi_func_u_raise);
  TVMFFIObject *code = test_typed(&tvmffi_func_u_code);
  struct {
    TVMFFIObject base;
    TVMFFIByteArray text;
  } lost;
  int64_t n = 3;
  if (!raise || !code) return;
  FAILS(tvmffi_call(tvmffi_str("unit.nobody"), tvmffi_out_int64(&n)),
        "ValueError", "Function unit.nobody not found");
  FAILS(tvmffi_call(tvmffi_int(5), tvmffi_out_int64(&n)), "TypeError",
        "Cannot call a value of type `int`");
  FAILS(tvmffi_call(tvmffi_none(), tvmffi_out_int64(&n)), "TypeError",
        "Cannot call a value of type `None`");
  FAILS(tvmffi_call(tvmffi_obj(&tvmffi_i_memory_error), tvmffi_out_int64(&n)),
        "TypeError", "Cannot call a value of type `ffi.Error`");
  FAILS(tvmffi_call(tvmffi_i_pointer(kTVMFFIOpaquePtr, NULL),
                    tvmffi_out_int64(&n)),
        "TypeError", "Cannot call a value of type `void*`");
  memset((void *)&lost, 0, sizeof(lost));
  lost.base.type_index = kTVMFFIStr;
  lost.text.size = 3; /* and no data */
  FAILS(tvmffi_call(tvmffi_obj(&lost.base), tvmffi_out_int64(&n)), "ValueError",
        "...is NULL instead of 3 bytes");
  FAILS(tvmffi_call(tvmffi_obj(raise), tvmffi_out_int64(&n)), "IndexError",
        "no 7");
  CHECK_INT(tvmffi_call(tvmffi_obj(code), tvmffi_out_any(NULL), tvmffi_int(-2)),
            -2);
  CHECK(n == 3 && tvmffi_i_error_remove() == NULL);
  OK(tvmffi_call(tvmffi_ptr(code), tvmffi_out_any(NULL), tvmffi_int(0)));
}

static int test_states_ended;
static void test_end_state(void *state) {
  (void)state;
  ++test_states_ended;
}
TVMFFI_CLOSURE(u_state, int, int64) { TVMFFI_RETURN(*self); }

/* NULL where a name or a result should be, and whose result it was. */
static void test_null_in_calls(TVMFFI_HERE) {
  TVMFFIObject *code = test_typed(&tvmffi_func_u_code);
  int state = 0;
  int8_t small = 3;
  if (!code) return;
  FAILS(TVMFFI_FUNCTION_NEW(u_code, NULL), "ValueError",
        "TVMFFI_FUNCTION_NEW: NULL for the result");
  test_states_ended = 0;
  FAILS(TVMFFI_CLOSURE_NEW(u_state, &state, test_end_state, NULL), "ValueError",
        "TVMFFI_CLOSURE_NEW: NULL for the result");
  CHECK_INT(test_states_ended, 1);
  FAILS(TVMFFI_REGISTER(NULL, u_code), "ValueError",
        "TVMFFI_REGISTER: NULL for the name of u_code");
  FAILS(tvmffi_global_get(tvmffi_str("unit.x"), NULL), "ValueError",
        "tvmffi_global_get: NULL for the result");
  FAILS(tvmffi_register_object("unit.x", NULL), "ValueError",
        "tvmffi_register_object: NULL for `unit.x`");
  FAILS(tvmffi_override_object(NULL, NULL), "ValueError",
        "tvmffi_override_object: NULL for ``");
  OK(TVMFFI_OVERRIDE("unit.echo", u_any));
  FAILS(tvmffi_call(tvmffi_str("unit.echo"), tvmffi_out_int8(&small),
                    tvmffi_int(-300)),
        "OverflowError",
        "result of unit.echo: The value -300 is out of range of int8");
  FAILS(tvmffi_call(tvmffi_str("unit.echo"), tvmffi_out_int8(&small),
                    tvmffi_str("x")),
        "TypeError", NULL);
  CHECK_INT(small, 3);
}

#if TVMFFI_I_GENERIC
/* Plain C values, of which the compiler makes Anys. */
static void test_plain_values(TVMFFI_HERE) {
  TVMFFIObject *echo = test_typed(&tvmffi_func_u_any), *o = NULL;
  TVMFFIByteArray bytes = {"ab", 2};
  DLTensor tensor;
  DLDataType dtype = {kDLInt, 8, 1}, dtype_out = {0, 0, 0};
  DLDevice device = TVMFFIDLDeviceFromIntPair(kDLCUDA, 1);
  DLDevice device_out = TVMFFIDLDeviceFromIntPair(0, 0);
  const void *address = &bytes;
  void *p = NULL;
  TVMFFIAny any = tvmffi_none();
  tvmffi_type_bool b = 1, b_out = 0;
  signed char sc = 0;
  unsigned char uc = 0;
  short s = 0;
  unsigned short us = 0;
  int i = 0;
  int32_t narrow = 0;
  unsigned u = 0;
  long l = 0;
  unsigned long ul = 0;
  long long ll = 0;
  unsigned long long ull = 0;
  if (!echo) return;
  memset((void *)&tensor, 0, sizeof(tensor));
  OK(tvmffi_call(echo, &sc, (signed char)-1));
  OK(tvmffi_call(echo, &uc, (unsigned char)255));
  OK(tvmffi_call(echo, &s, (short)-2));
  OK(tvmffi_call(echo, &us, (unsigned short)65535));
  OK(tvmffi_call(echo, &i, -3));
  OK(tvmffi_call(echo, &u, 4000000000u));
  OK(tvmffi_call(echo, &l, -4L));
  OK(tvmffi_call(echo, &ul, 5UL));
  OK(tvmffi_call(echo, &ll, -6LL));
  OK(tvmffi_call(echo, &ull, 7ULL));
  OK(tvmffi_call(echo, &b_out, b));
  CHECK(sc == -1 && uc == 255 && s == -2 && us == 65535 && i == -3);
  CHECK(u == 4000000000u && l == -4 && ul == 5 && ll == -6 && ull == 7);
  CHECK(b_out == 1);
  OK(tvmffi_call(echo, &i, 'c'));
  CHECK_INT(i, 'c');
#if defined(__cplusplus)
  {
    char c[3] = {'a', 'b', 'c'};
    OK(tvmffi_call(echo, &c[1], 'x'));
    CHECK(c[0] == 'a' && c[1] == 'x' && c[2] == 'c');
  }
#endif
  OK(tvmffi_call(echo, &dtype_out, dtype));
  OK(tvmffi_call(echo, &device_out, device));
  CHECK(dtype_out.bits == 8 && device_out.device_id == 1);
  OK(tvmffi_call(echo, &p, address));
  CHECK(p == address);
  OK(tvmffi_call(echo, &o, echo));
  CHECK(o == echo);
  o = NULL;
  OK(tvmffi_call(echo, &o, (const TVMFFIObject *)echo));
  CHECK(o == echo);
  OK(tvmffi_call(echo, &any, "text"));
  CHECK_INT(any.type_index, kTVMFFISmallStr);
  OK(tvmffi_call(echo, &any, &bytes));
  CHECK_INT(any.type_index, kTVMFFISmallBytes);
  OK(tvmffi_call(echo, &any, &tensor));
  CHECK_INT(any.type_index, kTVMFFIDLTensorPtr);
  OK(tvmffi_call(echo, &any, tvmffi_none()));
  CHECK_INT(any.type_index, kTVMFFINone);
  OK(tvmffi_call(echo, NULL, "a long string"));
  OK(tvmffi_call(echo, tvmffi_out_int32(&narrow), 9));
  CHECK_INT(narrow, 9);
  any = TVMFFI_ANY(5);
  CHECK(any.type_index == kTVMFFIInt && any.v_int64 == 5);
  FAILS(tvmffi_call(echo, &sc, 128), "OverflowError", NULL);
  FAILS(tvmffi_call("unit.nobody", &i), "ValueError", NULL);
  FAILS(tvmffi_call(echo, &ull, -1), "OverflowError", NULL);
#if !TVMFFI_NO_FLOAT
  {
    float f = 0;
    double d = 0;
    OK(tvmffi_call(echo, &f, 0.5f));
    OK(tvmffi_call(echo, &d, 2.5));
    CHECK(f == 0.5f && d == 2.5);
    FAILS(tvmffi_call(echo, &i, 2.5), "TypeError",
          "result of the function: Cannot convert from type `float` to `int`");
  }
#endif
}
#endif
#endif

static const test_case test_call_cases[] = {
#if !TEST_NO_TYPED
    {"calls: results of each kind", test_out_constructors},
    {"calls: results that do not fit", test_bad_results},
    {"calls: texts into a buffer", test_buffers},
    {"calls: integers that do not fit", test_wide_integers},
    {"calls: values converted and compared", test_as},
    {"calls: parts of texts", test_parts_of_texts},
    {"calls: functions of the global table", test_global_by_name},
    {"calls: what cannot be called", test_bad_callees},
    {"calls: NULL, and whose result it was", test_null_in_calls},
#if TVMFFI_I_GENERIC
    {"calls: plain values", test_plain_values},
#endif
#endif
    {NULL, NULL}};
