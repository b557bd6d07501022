/* ======== Values: views and owned values ================================== */

#pragma once

#include "harness.h"

#if !TEST_NO_VALUES
static void test_views(TVMFFI_HERE) {
  DLTensor tensor;
  DLDevice device = TVMFFIDLDeviceFromIntPair(kDLCUDA, 3);
  DLDataType dtype = {kDLFloat, 32, 4};
  TVMFFIByteArray bytes = {"ab", 2};
  TVMFFIAny any;
  any = tvmffi_int(-5);
  CHECK(any.type_index == kTVMFFIInt && any.v_int64 == -5);
  CHECK(test_is_clean(&any));
  any = tvmffi_none();
  CHECK(any.type_index == kTVMFFINone && any.v_int64 == 0);
  CHECK(test_is_clean(&any));
  any = tvmffi_bool(7);
  CHECK(any.type_index == kTVMFFIBool && any.v_int64 == 1);
#if !TVMFFI_NO_FLOAT
  any = tvmffi_float(2.5);
  CHECK(any.type_index == kTVMFFIFloat && any.v_float64 == 2.5);
  CHECK(test_is_clean(&any));
#endif
  memset(&tensor, 0, sizeof(tensor));
  any = tvmffi_ptr(&tensor);
  CHECK(any.type_index == kTVMFFIOpaquePtr && any.v_ptr == &tensor);
  CHECK(test_is_clean(&any));
  any = tvmffi_ptr(NULL);
  CHECK(any.type_index == kTVMFFINone && test_is_clean(&any));
  any = tvmffi_str("text");
  CHECK(any.type_index == kTVMFFIRawStr && test_is_clean(&any));
  CHECK_TEXT(tvmffi_any_str(&any), "text");
  any = tvmffi_str(NULL);
  CHECK(any.type_index == kTVMFFINone);
  any = tvmffi_bytes(&bytes);
  CHECK(any.type_index == kTVMFFIByteArrayPtr && test_is_clean(&any));
  CHECK_TEXT(tvmffi_any_str(&any), "ab");
  CHECK(tvmffi_bytes(NULL).type_index == kTVMFFINone);
  any = tvmffi_tensor(&tensor);
  CHECK(any.type_index == kTVMFFIDLTensorPtr && any.v_ptr == &tensor);
  CHECK(tvmffi_tensor(NULL).type_index == kTVMFFINone);
  CHECK(tvmffi_obj(NULL).type_index == kTVMFFINone);
  any = tvmffi_device(device);
  CHECK(any.type_index == kTVMFFIDevice);
  CHECK(any.v_device.device_type == kDLCUDA && any.v_device.device_id == 3);
  any = tvmffi_dtype(dtype);
  CHECK(any.type_index == kTVMFFIDataType && any.v_dtype.lanes == 4);
  CHECK(test_is_clean(&any));
  any = tvmffi_int(1);
  CHECK(tvmffi_any_str(&any).data == NULL && tvmffi_any_str(&any).size == 0);
  any = tvmffi_i_pointer(kTVMFFIByteArrayPtr, NULL);
  CHECK(tvmffi_any_str(&any).data == NULL && tvmffi_any_str(&any).size == 0);
}

/* The text of length n: its bytes are 1, 2, 3, ..., with a NUL inside. */
static void test_fill(char *text, size_t n) {
  size_t i;
  for (i = 0; i < n; ++i) text[i] = (char)(i == 2 ? 0 : 1 + i % 100);
}

static void test_strings(TVMFFI_HERE) {
  static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 63, 1000};
  char text[1000];
  int i, kind;
  test_fill(text, sizeof(text));
  for (i = 0; i < TEST_COUNT(sizes) * 2; ++i) {
    TVMFFIByteArray input = test_bytes(text, sizes[i / 2]), got;
    TVMFFIAny any = test_dirty();
    kind = i % 2;
    OK(kind ? TVMFFIBytesFromByteArray(&input, &any)
            : TVMFFIStringFromByteArray(&input, &any));
    OWN_ANY(any);
    CHECK(test_is_clean(&any));
    got = tvmffi_any_str(&any);
    CHECK_BYTES(got, text, input.size);
    if (input.size <= 7) {
      CHECK_INT(any.type_index, kind ? kTVMFFISmallBytes : kTVMFFISmallStr);
      got = TVMFFISmallBytesGetContentByteArray(&any);
      CHECK(got.data == any.v_bytes && got.size == input.size);
      CHECK(any.v_bytes[input.size] == 0);
    } else {
      CHECK_INT(any.type_index, kind ? kTVMFFIBytes : kTVMFFIStr);
      CHECK_INT(TVMFFIObjectGetTypeIndex(any.v_obj), any.type_index);
      CHECK_INT(test_strong(any.v_obj), 1);
      CHECK_INT(test_weak(any.v_obj), 1);
      CHECK(TVMFFIBytesGetByteArrayPtr(any.v_obj)->data == got.data);
      CHECK(got.data[got.size] == 0 && got.data != text);
    }
  }
}

static void test_bad_strings(TVMFFI_HERE) {
  TVMFFIByteArray null = {NULL, 3}, huge = {"x", TEST_HUGE};
  const size_t most = PTRDIFF_MAX >> (sizeof(size_t) > 4 ? 7 : 0);
  TVMFFIByteArray impossible = {"x", most + 1}, largest = {"x", most};
  TVMFFIByteArray good = {"12345678", 8}, empty = {NULL, 0};
  TVMFFIAny any = tvmffi_int(77);
  FAILS(TVMFFIStringFromByteArray(NULL, &any), "ValueError",
        TEST_STRING(TVMFFIStringFromByteArray) ": input must not be NULL");
  FAILS(TVMFFIBytesFromByteArray(NULL, &any), "ValueError", NULL);
  FAILS(TVMFFIStringFromByteArray(&null, &any), "ValueError",
        TEST_STRING(TVMFFIStringFromByteArray) ": input is NULL instead of 3 "
                                               "bytes");
  FAILS(TVMFFIBytesFromByteArray(&null, &any), "ValueError", NULL);
  FAILS(TVMFFIStringFromByteArray(&impossible, &any), "ValueError",
        "...is an array of ");
  FAILS(TVMFFIStringFromByteArray(&largest, &any), "MemoryError", NULL);
  FAILS(TVMFFIStringFromByteArray(&good, NULL), "ValueError",
        TEST_STRING(TVMFFIStringFromByteArray) ": out must not be NULL");
  FAILS(TVMFFIBytesFromByteArray(&good, NULL), "ValueError", NULL);
  FAILS(TVMFFIStringFromByteArray(&huge, &any), "MemoryError", "out of memory");
  FAILS(TVMFFIBytesFromByteArray(&huge, &any), "MemoryError", NULL);
  FAILS(tvmffi_i_new_string(PTRDIFF_MAX, kTVMFFIStr) == NULL, "MemoryError",
        NULL);
  CHECK(any.type_index == kTVMFFIInt && any.v_int64 == 77);
  OK(TVMFFIStringFromByteArray(&empty, &any));
  CHECK(any.type_index == kTVMFFISmallStr && any.small_str_len == 0);
}

static void test_owned_values(TVMFFI_HERE) {
  TVMFFIByteArray bytes = {"ab\0c", 4}, large = {"0123456789", 10};
  TVMFFIAny view, any;
  int32_t index;
  for (index = 0; index <= kTVMFFIUnchanged; ++index) {
    if (index >= kTVMFFIRawStr && index <= kTVMFFIObjectRValueRef) continue;
    view = tvmffi_int(5);
    view.type_index = index;
    any = test_dirty();
    OK(TVMFFIAnyViewToOwnedAny(&view, &any));
    CHECK(any.type_index == index && any.v_int64 == 5 && !any.zero_padding);
  }
  view = tvmffi_str("short");
  any = test_dirty();
  OK(TVMFFIAnyViewToOwnedAny(&view, &any));
  CHECK(any.type_index == kTVMFFISmallStr && test_is_clean(&any));
  CHECK_TEXT(tvmffi_any_str(&any), "short");
  view = tvmffi_str("not so short");
  any = test_dirty();
  OK(TVMFFIAnyViewToOwnedAny(&view, &any));
  OWN_ANY(any);
  CHECK(any.type_index == kTVMFFIStr && test_is_clean(&any));
  CHECK_TEXT(tvmffi_any_str(&any), "not so short");
  view = any;
  OK(TVMFFIAnyViewToOwnedAny(&view, &any));
  OWN_ANY(any);
  CHECK(view.v_obj == any.v_obj && test_strong(any.v_obj) == 2);
  view = tvmffi_bytes(&bytes);
  any = test_dirty();
  OK(TVMFFIAnyViewToOwnedAny(&view, &any));
  CHECK(any.type_index == kTVMFFISmallBytes && test_is_clean(&any));
  CHECK_BYTES(tvmffi_any_str(&any), "ab\0c", 4);
  view = tvmffi_bytes(&large);
  OK(TVMFFIAnyViewToOwnedAny(&view, &any));
  OWN_ANY(any);
  CHECK(any.type_index == kTVMFFIBytes);
  CHECK_TEXT(tvmffi_any_str(&any), "0123456789");
}

static void test_bad_values(TVMFFI_HERE) {
  TVMFFIAny view = tvmffi_int(0), any = tvmffi_int(77);
  int32_t bad[] = {-1, -2147483647, 14, 63}, i;
  FAILS(TVMFFIAnyViewToOwnedAny(NULL, &any), "ValueError", NULL);
  FAILS(TVMFFIAnyViewToOwnedAny(&view, NULL), "ValueError", NULL);
  for (i = 0; i < TEST_COUNT(bad); ++i) {
    view.type_index = bad[i];
    FAILS(TVMFFIAnyViewToOwnedAny(&view, &any), "TypeError",
          "...is not the type index of a value");
  }
  view.v_uint64 = 0;
  view.type_index = kTVMFFIRawStr;
  FAILS(TVMFFIAnyViewToOwnedAny(&view, &any), "ValueError",
        "...the raw string must not be NULL");
  view.type_index = kTVMFFIByteArrayPtr;
  FAILS(TVMFFIAnyViewToOwnedAny(&view, &any), "ValueError",
        "...the byte array must not be NULL");
  view.type_index = kTVMFFIStr;
  FAILS(TVMFFIAnyViewToOwnedAny(&view, &any), "ValueError", NULL);
  view.type_index = kTVMFFIObjectRValueRef;
  FAILS(TVMFFIAnyViewToOwnedAny(&view, &any), "InternalError",
        "RValueRef already moved");
  CHECK_INT(any.v_int64, 77);
}

static void test_rvalue_refs(TVMFFI_HERE) {
  TVMFFIByteArray text = TEXT("a long string");
  TVMFFIAny string, view, any;
  TVMFFIObject *object;
  OK(TVMFFIStringFromByteArray(&text, &string));
  object = string.v_obj;
  view = tvmffi_int(0);
  view.type_index = kTVMFFIObjectRValueRef;
  view.v_ptr = &object;
  any = test_dirty();
  if (!CHECK_INT(TVMFFIAnyViewToOwnedAny(&view, &any), 0)) return;
  OWN_ANY(any);
  CHECK(object == NULL && any.v_obj == string.v_obj && test_is_clean(&any));
  CHECK(any.type_index == kTVMFFIStr && test_strong(any.v_obj) == 1);
  FAILS(TVMFFIAnyViewToOwnedAny(&view, &any), "InternalError",
        "RValueRef already moved");
}

/* Input and output may be the same. */
static void test_aliases(TVMFFI_HERE) {
  TVMFFIAny any = tvmffi_str("a raw string");
  TVMFFIByteArray bytes;
  OK(TVMFFIAnyViewToOwnedAny(&any, &any));
  OWN_ANY(any);
  CHECK_TEXT(tvmffi_any_str(&any), "a raw string");
  any = tvmffi_str("raw");
  OK(TVMFFIAnyViewToOwnedAny(&any, &any));
  CHECK_TEXT(tvmffi_any_str(&any), "raw");
  OK(TVMFFIAnyViewToOwnedAny(&any, &any));
  CHECK_TEXT(tvmffi_any_str(&any), "raw");
  bytes = TVMFFISmallBytesGetContentByteArray(&any);
  OK(TVMFFIBytesFromByteArray(&bytes, &any));
  CHECK(any.type_index == kTVMFFISmallBytes && test_is_clean(&any));
  CHECK_TEXT(tvmffi_any_str(&any), "raw");
  any = tvmffi_int(-9);
  bytes = TVMFFIBigIntGetContentByteArray(&any);
  OK(TVMFFIBigIntFromByteArray(&bytes, &any));
  CHECK(any.type_index == kTVMFFIInt && any.v_int64 == -9);
}

typedef struct {
  int64_t word[4];
  int given, kept; /* words; 1 kept is an int */
} test_bigint_case;

static void test_bigints(TVMFFI_HERE) {
  static const test_bigint_case cases[] = {
      {{0, 0, 0, 0}, 0, 1},          {{7, 0, 0, 0}, 1, 1},
      {{-7, 0, 0, 0}, 1, 1},         {{5, 0, 0, 0}, 2, 1},
      {{5, 0, 0, 0}, 4, 1},          {{-5, -1, -1, 0}, 3, 1},
      {{0, 0, 0, 0}, 3, 1},          {{-1, -1, -1, -1}, 4, 1},
      {{INT64_MIN, -1, 0, 0}, 2, 1}, {{INT64_MAX, 0, 0, 0}, 2, 1},
      {{INT64_MIN, 0, 0, 0}, 2, 2},  {{INT64_MAX, -1, 0, 0}, 2, 2},
      {{-1, 0, 0, 0}, 4, 2},         {{1, 2, 0, 0}, 2, 2},
      {{1, 2, 3, 0}, 3, 3},          {{1, INT64_MIN, 0, 0}, 3, 3},
      {{1, 2, 3, -4}, 4, 4},         {{0, 0, INT64_MIN, -1}, 4, 3}};
  int i, k;
  for (i = 0; i < TEST_COUNT(cases); ++i) {
    const test_bigint_case *c = &cases[i];
    TVMFFIByteArray input =
        test_bytes((const char *)(const void *)c->word, (size_t)c->given * 8);
    TVMFFIByteArray got;
    TVMFFIAny any = test_dirty();
    OK(TVMFFIBigIntFromByteArray(&input, &any));
    OWN_ANY(any);
    CHECK(test_is_clean(&any));
    CHECK_INT(any.type_index, c->kept == 1 ? kTVMFFIInt : kTVMFFIBigInt);
    got = TVMFFIBigIntGetContentByteArray(&any);
    CHECK_INT(got.size, 8 * c->kept);
    for (k = 0; k < c->kept; ++k) {
      int64_t word;
      memcpy(&word, got.data + 8 * k, 8);
      CHECK_INT(word, c->word[k]);
    }
  }
}

static void test_bad_bigints(TVMFFI_HERE) {
  TVMFFIByteArray odd = {"123456789", 9}, good = {"12345678", 8};
  TVMFFIByteArray text = TEXT("not a big integer");
  TVMFFIAny any = tvmffi_bool(1);
  FAILS(TVMFFIBigIntFromByteArray(&odd, &any), "ValueError",
        "BigInt content must contain whole 64-bit words");
  FAILS(TVMFFIBigIntFromByteArray(NULL, &any), "ValueError", NULL);
  FAILS(TVMFFIBigIntFromByteArray(&good, NULL), "ValueError", NULL);
  FAILS(TVMFFIBigIntGetContentByteArray(NULL).data == NULL, "TypeError", NULL);
  FAILS(TVMFFIBigIntGetContentByteArray(&any).data == NULL, "TypeError",
        TEST_STRING(TVMFFIBigIntGetContentByteArray) ": value is not an "
                                                     "integer");
  any = tvmffi_int(0);
  any.type_index = kTVMFFIBigInt;
  FAILS(TVMFFIBigIntGetContentByteArray(&any).size == 0, "TypeError", NULL);
  OK(TVMFFIStringFromByteArray(&text, &any));
  OWN_ANY(any);
  any.type_index = kTVMFFIBigInt;
  FAILS(TVMFFIBigIntGetContentByteArray(&any).size == 0, "TypeError", NULL);
}

static void test_any_release(TVMFFI_HERE) {
  TVMFFIByteArray text = TEXT("a long string");
  TVMFFIAny any;
  OK(TVMFFIStringFromByteArray(&text, &any));
  tvmffi_any_release(&any);
  CHECK(any.type_index == kTVMFFINone && test_is_clean(&any));
  tvmffi_any_release(&any);
  any = tvmffi_str("abc");
  tvmffi_any_release(&any);
  CHECK(any.type_index == kTVMFFINone && test_is_clean(&any));
  text = tvmffi_byte_array(NULL);
  CHECK(text.data == NULL && text.size == 0);
  any.type_index = kTVMFFIStr; /* without an object */
  text = tvmffi_any_str(&any);
  CHECK(text.data == NULL && text.size == 0);
}
#endif

static const test_case test_value_cases[] = {
#if !TEST_NO_VALUES
    {"values: views", test_views},
    {"values: strings and bytes", test_strings},
    {"values: strings and bytes that cannot be", test_bad_strings},
    {"values: owned", test_owned_values},
    {"values: owned ones that cannot be", test_bad_values},
    {"values: rvalue references", test_rvalue_refs},
    {"values: input and output the same", test_aliases},
    {"values: big integers", test_bigints},
    {"values: big integers that cannot be", test_bad_bigints},
    {"values: release", test_any_release},
#endif
    {NULL, NULL}};
