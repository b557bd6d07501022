/* Strings, bytes, data types and devices. */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <stdio.h>
#define CHECK(x) TVMFFI_TRY((x) ? 0 : TVMFFI_RAISE("AssertionError", "%s", #x))

/* A string of up to 7 bytes is stored in the Any itself, a longer one in an
   object. tvmffi_any_str reads both; a NUL always follows the text. */
static int strings(void) {
  TVMFFI_SCOPE; /* releases the objects stored below (example 15) */
  TVMFFIAny small, large;
  TVMFFI_TRY(tvmffi_as("seven..", &small));
  TVMFFI_TRY(tvmffi_as("eight...", &large));
  CHECK(small.type_index == kTVMFFISmallStr && small.small_str_len == 7);
  CHECK(large.type_index == kTVMFFIStr);
  CHECK(tvmffi_equal(small, "seven.."));
  CHECK(tvmffi_any_str(&large).size == 8);
  return 0;
}

/* Bytes are stored like strings, and may contain NULs. */
static int bytes(void) {
  TVMFFI_SCOPE;
  TVMFFIByteArray raw = {"a\0b", 3};
  TVMFFIAny any;
  TVMFFI_TRY(tvmffi_as(&raw, &any));
  CHECK(any.type_index == kTVMFFISmallBytes);
  CHECK(tvmffi_equal(any, &raw));
  return 0;
}

static int dtypes(void) {
  TVMFFI_SCOPE;
  TVMFFIObject *names =
      tvmffi_array("bool", "int8", "uint16", "float32", "bfloat16",
                   "float8_e4m3fn", "float4_e2m1fn", "float32x4", "handle");
  DLDataType dtype;
  TVMFFIAny text;
  TVMFFI_TRY(tvmffi_as("float16x2", &dtype));
  CHECK(dtype.code == kDLFloat && dtype.bits == 16 && dtype.lanes == 2);
  TVMFFI_FOREACH(any, name, names) { /* name to dtype, and back */
    TVMFFI_TRY(tvmffi_as(name, &dtype));
    TVMFFI_TRY(tvmffi_dtype_to_str(dtype, &text));
    CHECK(tvmffi_equal(text, name));
  }
  CHECK(tvmffi_as("floaty32", &dtype) == -1);
  CHECK(tvmffi_error_catch("ValueError"));
  return 0;
}

/* For a dtype or device parameter, a typed function also accepts the name. */
TVMFFI_FUNC(size_of, int64, (dtype, t)) {
  TVMFFI_RETURN((t.bits * t.lanes + 7) / 8);
}

TVMFFI_FUNC(describe, str, (device, d)) {
  const char *text = d.device_type == kDLCPU    ? "the CPU"
                     : d.device_type == kDLCUDA ? "a CUDA device"
                                                : "another device";
  TVMFFI_RETURN(tvmffi_byte_array(text)); /* copied */
}

static int as_arguments(void) {
  TVMFFI_SCOPE;
  DLDevice gpu = {kDLCUDA, 1};
  TVMFFIAny result;
  TVMFFI_TRY(TVMFFI_REGISTER("demo.size_of", size_of));
  TVMFFI_TRY(TVMFFI_REGISTER("demo.describe", describe));
  TVMFFI_TRY(tvmffi_call("demo.size_of", &result, "float32x4"));
  CHECK(tvmffi_equal(result, 16));
  TVMFFI_TRY(tvmffi_call("demo.describe", &result, gpu));
  CHECK(tvmffi_equal(result, "a CUDA device"));
  /* In C99, which has no _Generic, make each value by its constructor: */
  TVMFFI_TRY(tvmffi_call(tvmffi_str("demo.describe"), tvmffi_out_none(NULL),
                         tvmffi_str("cuda:1")));
  printf("float32x4 has 16 bytes\n");
  return 0;
}

TVMFFI_MAIN() { return strings() || bytes() || dtypes() || as_arguments(); }
