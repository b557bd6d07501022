/* ======== Data types: data types and devices as text ====================== */

#pragma once

#include "harness.h"

#if !TEST_NO_DTYPES
typedef struct {
  const char *text;
  int code, bits, lanes;
  const char *error; /* instead of the three */
} test_dtype_case;

#define UNKNOWN(text) {text, 0, 0, 0, "unknown dtype `" text "`"}
#define LANES(text)                              \
  {text, 0, 0, 0,                                \
   "Invalid lanes specification in dtype '" text \
   "'. Lanes must "                              \
   "be a positive integer."}

static const test_dtype_case test_dtypes[] = {
    {"", kDLOpaqueHandle, 0, 0, NULL},
    {"void", kDLOpaqueHandle, 0, 0, NULL},
    {"handle", kDLOpaqueHandle, 64, 1, NULL},
    {"int", kDLInt, 32, 1, NULL},
    {"int1", kDLInt, 1, 1, NULL},
    {"int4", kDLInt, 4, 1, NULL},
    {"int8", kDLInt, 8, 1, NULL},
    {"int64", kDLInt, 64, 1, NULL},
    {"int255", kDLInt, 255, 1, NULL},
    {"int8x4", kDLInt, 8, 4, NULL},
    {"intx4", kDLInt, 32, 4, NULL},
    {"int32x32767", kDLInt, 32, 32767, NULL},
    {"i8", kDLInt, 8, 1, NULL},
    {"i32x2", kDLInt, 32, 2, NULL},
    {"i0", kDLInt, 32, 1, NULL},
    {"uint", kDLUInt, 32, 1, NULL},
    {"uint1", kDLUInt, 1, 1, NULL},
    {"uint16x8", kDLUInt, 16, 8, NULL},
    {"u64", kDLUInt, 64, 1, NULL},
    {"u0", kDLUInt, 32, 1, NULL},
    {"float", kDLFloat, 32, 1, NULL},
    {"float16", kDLFloat, 16, 1, NULL},
    {"float64x2", kDLFloat, 64, 2, NULL},
    {"f16", kDLFloat, 16, 1, NULL},
    {"f32x4", kDLFloat, 32, 4, NULL},
    {"f0x2", kDLFloat, 32, 2, NULL},
    {"bfloat", kDLBfloat, 16, 1, NULL},
    {"bfloat16", kDLBfloat, 16, 1, NULL},
    {"bf16", kDLBfloat, 16, 1, NULL},
    {"bf16x2", kDLBfloat, 16, 2, NULL},
    {"bf0", kDLBfloat, 16, 1, NULL},
    {"bool", kDLBool, 8, 1, NULL},
    {"bool8", kDLBool, 8, 1, NULL},
    {"bool1", kDLBool, 1, 1, NULL},
    {"boolx4", kDLBool, 8, 4, NULL},
    {"float32xvscalex4", kDLFloat, 32, -4, NULL},
    {"int8xvscalex16", kDLInt, 8, -16, NULL},
    {"boolxvscalex2", kDLBool, 8, -2, NULL},
    {"int8xvscalex32768", kDLInt, 8, -32768, NULL},
    {"float8_e3m4", kDLFloat8_e3m4, 8, 1, NULL},
    {"float8_e4m3", kDLFloat8_e4m3, 8, 1, NULL},
    {"float8_e4m3b11fnuz", kDLFloat8_e4m3b11fnuz, 8, 1, NULL},
    {"float8_e4m3fn", kDLFloat8_e4m3fn, 8, 1, NULL},
    {"float8_e4m3fnuz", kDLFloat8_e4m3fnuz, 8, 1, NULL},
    {"float8_e5m2", kDLFloat8_e5m2, 8, 1, NULL},
    {"float8_e5m2fnuz", kDLFloat8_e5m2fnuz, 8, 1, NULL},
    {"float8_e8m0fnu", kDLFloat8_e8m0fnu, 8, 1, NULL},
    {"float6_e2m3fn", kDLFloat6_e2m3fn, 6, 1, NULL},
    {"float6_e3m2fn", kDLFloat6_e3m2fn, 6, 1, NULL},
    {"float4_e2m1fn", kDLFloat4_e2m1fn, 4, 1, NULL},
    {"float8_e4m3fnx4", kDLFloat8_e4m3fn, 8, 4, NULL},
    {"float6_e3m2fnx2", kDLFloat6_e3m2fn, 6, 2, NULL},
    {"float4_e2m1fnx16", kDLFloat4_e2m1fn, 4, 16, NULL},
    {"float4_e2m1fn_x2", kDLFloat4_e2m1fn, 4, 2, NULL},
    {"f8_e4m3fn", kDLFloat8_e4m3fn, 8, 1, NULL},
    {"fp8_e5m2x2", kDLFloat8_e5m2, 8, 2, NULL},
    {"f6_e2m3fn", kDLFloat6_e2m3fn, 6, 1, NULL},
    {"fp6_e3m2fn", kDLFloat6_e3m2fn, 6, 1, NULL},
    {"f4_e2m1fn", kDLFloat4_e2m1fn, 4, 1, NULL},
    {"fp4_e2m1fnx8", kDLFloat4_e2m1fn, 4, 8, NULL},
    {"int0", kDLInt, 32, 1, NULL},
    {"i08", kDLInt, 8, 1, NULL},
    UNKNOWN("x"),
    UNKNOWN("nope"),
    UNKNOWN("Int8"),
    UNKNOWN(" int8"),
    UNKNOWN("int8 "),
    UNKNOWN("int8y"),
    UNKNOWN("int8x4y"),
    UNKNOWN("int-8"),
    UNKNOWN("f"),
    UNKNOWN("ix"),
    UNKNOWN("f-8"),
    UNKNOWN("fp8"),
    UNKNOWN("fp8e5m2"),
    UNKNOWN("fp5_e2m2"),
    UNKNOWN("float5_e2m2"),
    {"i8y", 0, 0, 0, "unknown dtype `int8y`"},
    {"f32y", 0, 0, 0, "unknown dtype `float32y`"},
    LANES("int8x"),
    LANES("int8x0"),
    LANES("int8xx"),
    LANES("int8x-1"),
    UNKNOWN("float32xvscale4"),
    LANES("float32xvscale"),
    LANES("float32xvscalex"),
    LANES("float32xvscalex0"),
    LANES("float8_e5m2xvscalex4"),
    {"float8_e9m9", 0, 0, 0, "unknown float8 type `float8_e9m9`"},
    {"fp8_e9m9", 0, 0, 0, "unknown float8 type `float8_e9m9`"},
    {"float8_", 0, 0, 0, "unknown float8 type `float8_`"},
    {"float8_e4m3fn_x2", 0, 0, 0, "unknown float8 type `float8_e4m3fn_x2`"},
    {"float6_e9", 0, 0, 0, "unknown float6 type `float6_e9`"},
    {"float4_e9", 0, 0, 0, "unknown float4 type `float4_e9`"},
    {"float4_e2m1fn_", 0, 0, 0, NULL},
    {"int256", 0, 0, 0,
     "Bits value 256 is out of range for uint8_t in dtype 'int256'"},
    {"u300", 0, 0, 0,
     "Bits value 300 is out of range for uint8_t in dtype 'uint300'"},
    {"int4294967295", 0, 0, 0,
     "Bits value 4294967295 is out of range for uint8_t in dtype "
     "'int4294967295'"},
    {"int4294967296", 0, 0, 0,
     "Integer value in dtype string '4294967296' is out of range for "
     "uint32_t"},
    {"intx123456789", 0, 0, 0,
     "Lanes value 123456789 is out of range for uint16_t in dtype "
     "'intx123456789'"},
    {"int8x99999999999999999999", 0, 0, 0,
     "Integer value in dtype string '99999999999999999999' is out of range for "
     "uint32_t"},
    {"bool9", 0, 0, 0,
     "Bits value 9 is out of range for bool in dtype 'bool9'"},
    {"int8x65536", 0, 0, 0,
     "Lanes value 65536 is out of range for uint16_t in dtype 'int8x65536'"},
    {"int8x32768", 0, 0, 0,
     "Lanes value 32768 is out of range for int16_t in dtype 'int8x32768'"},
    {"int8xvscalex32769", 0, 0, 0,
     "Lanes value 32769 is out of range for int16_t in dtype "
     "'int8xvscalex32769'"},
    {"int99999999999999999999", 0, 0, 0,
     "Integer value in dtype string '99999999999999999999' is out of range for "
     "uint32_t"},
    {"custom", 0, 0, 0, "expected opening brace after 'custom' type incustom"},
    {"customx]", 0, 0, 0,
     "expected opening brace after 'custom' type incustomx]"},
    {"custom[x", 0, 0, 0,
     "expected closing brace after 'custom' type incustom[x"}};

static void test_dtype_parse(TVMFFI_HERE) {
  int i;
  for (i = 0; i < TEST_COUNT(test_dtypes); ++i) {
    const test_dtype_case *c = &test_dtypes[i];
    TVMFFIByteArray text = TEXT(c->text);
    DLDataType got = {99, 99, 99};
    int code;
    if (!c->error && !c->bits && c->text[0] == 'f') continue;
    code = TVMFFIDataTypeFromString(&text, &got);
    if (c->error) {
      test_error(code, "ValueError", c->error, __FILE__, __LINE__, c->text);
      CHECK(got.code == 99 && got.bits == 99 && got.lanes == 99);
    } else if (!test_code(code, __FILE__, __LINE__, c->text)) {
      if (got.code != c->code || got.bits != c->bits ||
          (int16_t)got.lanes != c->lanes)
        (void)test_fail(__FILE__, __LINE__, "parsed wrong: ", c->text,
                        strlen(c->text));
    }
  }
}

static void test_bad_dtypes(TVMFFI_HERE) {
  TVMFFIByteArray text = TEXT("int8"), null = {NULL, 4}, empty = {NULL, 0};
  static char zeros[300];
  DLDataType t = {1, 2, 3};
  TVMFFIAny any;
  TVMFFIByteArray long_text;
  memset(zeros, 'z', sizeof(zeros));
  long_text = test_bytes(zeros, sizeof(zeros));
  FAILS(TVMFFIDataTypeFromString(NULL, &t), "ValueError", NULL);
  FAILS(TVMFFIDataTypeFromString(&null, &t), "ValueError", NULL);
  FAILS(TVMFFIDataTypeFromString(&text, NULL), "ValueError", NULL);
  FAILS(TVMFFIDataTypeFromString(&long_text, &t), "ValueError",
        "...unknown dtype `zzz");
  /* A message shows 200 bytes, and no part of a UTF-8 character. */
  zeros[200] = '#';
  FAILS(TVMFFIDataTypeFromString(&long_text, &t), "ValueError", "...zzzz`");
  memcpy(zeros + 199, "\xC3\xA9", 2);
  FAILS(TVMFFIDataTypeFromString(&long_text, &t), "ValueError", "...zzzz`");
  memset(zeros + 190, 0x80, 20); /* no character is that long */
  FAILS(TVMFFIDataTypeFromString(&long_text, &t), "ValueError",
        "...zzz\x80\x80\x80\x80\x80\x80`");
  CHECK_INT(t.lanes, 3);
  OK(TVMFFIDataTypeFromString(&empty, &t));
  CHECK(t.code == kDLOpaqueHandle && t.bits == 0 && t.lanes == 0);
  FAILS(TVMFFIDataTypeToString(NULL, &any), "ValueError", NULL);
  FAILS(TVMFFIDataTypeToString(&t, NULL), "ValueError", NULL);
  t.code = kDLComplex;
  FAILS(TVMFFIDataTypeToString(&t, &any), "ValueError",
        "DLDataType contains unknown type_code=5");
  t.code = 18;
  FAILS(TVMFFIDataTypeToString(&t, &any), "ValueError", NULL);
  t.code = 128;
  FAILS(TVMFFIDataTypeToString(&t, &any), "ValueError",
        "DLDataType contains unknown type_code=128");
  /* A text need not end in NUL. */
  text = test_bytes("int8x16", 4);
  OK(TVMFFIDataTypeFromString(&text, &t));
  CHECK(t.bits == 8 && t.lanes == 1);
}

static void test_dtype_print(TVMFFI_HERE) {
  static const struct {
    DLDataType dtype;
    const char *text;
  } cases[] = {{{kDLInt, 32, 1}, "int32"},
               {{kDLUInt, 1, 1}, "uint1"},
               {{kDLFloat, 64, 4}, "float64x4"},
               {{kDLBfloat, 16, 2}, "bfloat16x2"},
               {{kDLBool, 8, 1}, "bool"},
               {{kDLBool, 8, 4}, "boolx4"},
               {{kDLBool, 1, 1}, "bool1"},
               {{kDLOpaqueHandle, 64, 1}, "handle"},
               {{kDLOpaqueHandle, 0, 0}, ""},
               {{kDLOpaqueHandle, 0, 1}, "handle"},
               {{kDLOpaqueHandle, 64, 0}, "handle"},
               {{kDLInt, 0, 0}, "int0"},
               {{kDLFloat, 32, (uint16_t)-4}, "float32xvscalex4"},
               {{kDLInt, 8, 32767}, "int8x32767"},
               {{kDLInt, 8, 32768}, "int8xvscalex32768"},
               {{kDLFloat8_e4m3fn, 8, 1}, "float8_e4m3fn"},
               {{kDLFloat4_e2m1fn, 4, 2}, "float4_e2m1fnx2"}};
  int i;
  for (i = 0; i < TEST_COUNT(cases); ++i) {
    TVMFFIAny any = test_dirty();
    OK(TVMFFIDataTypeToString(&cases[i].dtype, &any));
    OWN_ANY(any);
    CHECK(test_is_clean(&any));
    CHECK_TEXT(tvmffi_any_str(&any), cases[i].text);
  }
}

/* What is printed reads as what it was, for all codes, bits and lanes. */
static void test_dtype_round_trip(TVMFFI_HERE) {
  static const int lanes[] = {1, 2, 4, 16, 32767, -1, -2, -16, -32768};
  int code, bits, i, step = test_step(1, 101);
  for (code = 0; code <= kDLFloat4_e2m1fn; ++code) {
    int first = code < kDLFloat8_e3m4     ? 1
                : code < kDLFloat6_e2m3fn ? 8
                : code < kDLFloat4_e2m1fn ? 6
                                          : 4;
    int last = code == kDLBool ? 8 : code < kDLFloat8_e3m4 ? 255 : first;
    if (code == kDLComplex || code == kDLOpaqueHandle) continue;
    if (test_oom && code % 6) continue;
    for (bits = first; bits <= last; bits += step) {
      for (i = 0; i < TEST_COUNT(lanes); ++i) {
        DLDataType t, got = {99, 99, 99};
        TVMFFIByteArray text;
        TVMFFIAny any;
        /* The short floats have no scalable form, and -1 no text. */
        if (lanes[i] == -1 || (lanes[i] < 0 && code >= kDLFloat8_e3m4))
          continue;
        t.code = (uint8_t)code;
        t.bits = (uint8_t)bits;
        t.lanes = (uint16_t)lanes[i];
        OK(TVMFFIDataTypeToString(&t, &any));
        OWN_ANY(any);
        text = tvmffi_any_str(&any);
        OK(TVMFFIDataTypeFromString(&text, &got));
        CHECK(got.code == t.code && got.bits == t.bits);
        CHECK_INT(got.lanes, t.lanes);
        test_release_all();
      }
    }
  }
}

/* How a program names its own codes. */
static TVMFFIAny test_custom_answer;

static int test_custom_callback(void *self, const TVMFFIAny *args,
                                int32_t num_args, TVMFFIAny *result) {
  TVMFFIByteArray name;
  (void)self;
  if (num_args != 1) return TVMFFI_RAISE("TypeError", "one argument");
  if (test_custom_answer.type_index != kTVMFFINone)
    return TVMFFIAnyViewToOwnedAny(&test_custom_answer, result);
  name = tvmffi_any_str(args);
  if (args->type_index != kTVMFFIInt) {
    *result = tvmffi_int(name.size == 5 ? 131 : 132);
    return 0;
  }
  name = args->v_int64 == 131 ? TEXT("posit") : TEXT("a_long_type_name");
  return TVMFFIStringFromByteArray(&name, result);
}

static int test_set_custom(const char *name) {
  TVMFFIByteArray key = TEXT(name);
  TVMFFIObjectHandle f = NULL;
  int code;
  TVMFFI_TRY(TVMFFIFunctionCreate(NULL, test_custom_callback, NULL, &f));
  code = TVMFFIFunctionSetGlobal(&key, f, 1);
  tvmffi_release(f);
  return code;
}

static void test_custom_dtypes(TVMFFI_HERE) {
  static const char get_code[] = "dtype.get_custom_type_code";
  static const char get_name[] = "dtype.get_custom_type_name";
  TVMFFIByteArray text = TEXT("custom[posit]16x2");
  DLDataType t = {131, 8, 1}, got = {9, 9, 9};
  TVMFFIAny any;
  test_custom_answer = tvmffi_none();
  OK(tvmffi_call(tvmffi_str("ffi.FunctionRemoveGlobal"), tvmffi_out_any(NULL),
                 tvmffi_str(get_code)));
  OK(tvmffi_call(tvmffi_str("ffi.FunctionRemoveGlobal"), tvmffi_out_any(NULL),
                 tvmffi_str(get_name)));
  FAILS(TVMFFIDataTypeFromString(&text, &got), "ValueError",
        "Function dtype.get_custom_type_code not found");
  FAILS(TVMFFIDataTypeToString(&t, &any), "ValueError",
        "Function dtype.get_custom_type_name not found");
  OK(test_set_custom(get_code));
  OK(test_set_custom(get_name));
  OK(TVMFFIDataTypeFromString(&text, &got));
  CHECK(got.code == 131 && got.bits == 16 && got.lanes == 2);
  text = TEXT("custom[a_long_type_name]");
  OK(TVMFFIDataTypeFromString(&text, &got));
  CHECK(got.code == 132 && got.bits == 32 && got.lanes == 1);
  OK(TVMFFIDataTypeToString(&t, &any));
  OWN_ANY(any);
  CHECK_TEXT(tvmffi_any_str(&any), "custom[posit]");
  t.code = 132;
  t.lanes = (uint16_t)-4;
  OK(TVMFFIDataTypeToString(&t, &any));
  OWN_ANY(any);
  CHECK_TEXT(tvmffi_any_str(&any), "custom[a_long_type_name]xvscalex4");
  test_custom_answer = tvmffi_int(129);
  OK(TVMFFIDataTypeFromString(&text, &got));
  CHECK_INT(got.code, 129);
  test_custom_answer = tvmffi_int(255);
  OK(TVMFFIDataTypeFromString(&text, &got));
  CHECK_INT(got.code, 255);
  /* Answers that cannot be. */
  test_custom_answer = tvmffi_int(128);
  FAILS(TVMFFIDataTypeFromString(&text, &got), "ValueError",
        "dtype.get_custom_type_code must give a code from 129 to 255");
  test_custom_answer = tvmffi_int(256);
  FAILS(TVMFFIDataTypeFromString(&text, &got), "ValueError", NULL);
  test_custom_answer = tvmffi_str("a long answer");
  FAILS(TVMFFIDataTypeFromString(&text, &got), "ValueError", NULL);
  test_custom_answer = tvmffi_int(5);
  FAILS(TVMFFIDataTypeToString(&t, &any), "TypeError",
        "dtype.get_custom_type_name must give a string");
  test_custom_answer = tvmffi_bytes(&text);
  FAILS(TVMFFIDataTypeToString(&t, &any), "TypeError", NULL);
  test_custom_answer = tvmffi_none();
}

static void test_devices(TVMFFI_HERE) {
  static const struct {
    const char *text;
    int type, id; /* type 0: no device */
  } cases[] = {{"cpu", kDLCPU, 0},
               {"cpu:0", kDLCPU, 0},
               {"cuda", kDLCUDA, 0},
               {"cuda:7", kDLCUDA, 7},
               {"opencl:1", kDLOpenCL, 1},
               {"vulkan", kDLVulkan, 0},
               {"metal", kDLMetal, 0},
               {"mps:1", kDLMetal, 1},
               {"vpi", kDLVPI, 0},
               {"rocm:2", kDLROCM, 2},
               {"ext_dev", kDLExtDev, 0},
               {"wgpu", kDLWebGPU, 0},
               {"webgpu:3", kDLWebGPU, 3},
               {"hexagon", kDLHexagon, 0},
               {"maia", kDLMAIA, 0},
               {"trn:15", kDLTrn, 15},
               {"cuda:2147483647", kDLCUDA, 2147483647},
               {"cuda:2 -march=x", kDLCUDA, 2},
               {"cpu -x", kDLCPU, 0},
               {"", 0, 0},
               {"cp", 0, 0},
               {"cpus", 0, 0},
               {"CPU", 0, 0},
               {"cpu:", 0, 0},
               {":1", 0, 0},
               {"cpu:x", 0, 0},
               {"cpu:1x", 0, 0},
               {"cpu:-1", 0, 0},
               {"cpu:/", 0, 0},
               {"cpu:1:", 0, 0},
               {"cuda_host", 0, 0},
               {"cuda:2147483648", 0, 0},
               {"cuda:99999999999999999999", 0, 0},
               {" cpu", 0, 0}};
  int i;
  for (i = 0; i < TEST_COUNT(cases); ++i) {
    TVMFFIAny any = tvmffi_str(cases[i].text);
    DLDevice got = TVMFFIDLDeviceFromIntPair(99, 99);
    int code = tvmffi_i_get_device(&any, &got);
    int type = (int)got.device_type;
    int good = cases[i].type ? code == 0 && type == cases[i].type &&
                                   got.device_id == cases[i].id
                             : code == TVMFFI_I_MISMATCH && type == 99;
    if (!good)
      (void)test_fail(__FILE__, __LINE__, "device: ", cases[i].text,
                      strlen(cases[i].text));
  }
}

static void test_device_names(TVMFFI_HERE) {
  static const char *const names[] = {
      "unknown", "cpu",       "cuda",    "cuda_host",    "opencl",
      "unknown", "unknown",   "vulkan",  "metal",        "vpi",
      "rocm",    "rocm_host", "ext_dev", "cuda_managed", "oneapi",
      "webgpu",  "hexagon",   "maia",    "trn",          "unknown"};
  int i;
  for (i = 0; i < TEST_COUNT(names); ++i)
    CHECK(strcmp(tvmffi_i_device_name(TVMFFIDLDeviceFromIntPair(i, 0)),
                 names[i]) == 0);
}
#endif

static const test_case test_dtype_cases[] = {
#if !TEST_NO_DTYPES
    {"dtypes: parse", test_dtype_parse},
    {"dtypes: those that cannot be", test_bad_dtypes},
    {"dtypes: print", test_dtype_print},
    {"dtypes: print and parse", test_dtype_round_trip},
    {"dtypes: custom", test_custom_dtypes},
    {"devices: parse", test_devices},
    {"devices: names", test_device_names},
#endif
    {NULL, NULL}};
