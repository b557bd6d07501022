/* Strings, bytes, data types and devices. */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <stdio.h>
#define CHECK(x) TVMFFI_TRY((x) ? 0 : TVMFFI_RAISE("AssertionError", "%s", #x))

/* Up to 7 bytes a string is a plain value inside the Any, above it an object.
   tvmffi_any_str reads both, and there is always a NUL behind the text. */
static int strings(void) {
  TVMFFIAny small, large;
  TVMFFI_TRY(tvmffi_as("seven..", &small));
  TVMFFI_TRY(tvmffi_as("eight...", &large));
  CHECK(small.type_index == kTVMFFISmallStr && small.small_str_len == 7);
  CHECK(large.type_index == kTVMFFIStr);
  CHECK(tvmffi_equal(small, "seven.."));
  CHECK(tvmffi_any_str(&large).size == 8);
  return 0;
}

/* Bytes are stored in the same way; a NUL among them is nothing special. */
static int bytes(void) {
  TVMFFIByteArray raw = {"a\0b", 3};
  TVMFFIAny any;
  TVMFFI_TRY(tvmffi_as(&raw, &any));
  CHECK(any.type_index == kTVMFFISmallBytes);
  CHECK(tvmffi_equal(any, &raw));
  return 0;
}

static int dtypes(void) {
  TVMFFIObject *names =
      tvmffi_array("bool", "int8", "uint16", "float32", "bfloat16",
                   "float8_e4m3fn", "float4_e2m1fn", "float32x4", "handle");
  DLDataType dtype;
  TVMFFIAny text;
  TVMFFI_TRY(tvmffi_as("float16x2", &dtype));
  CHECK(dtype.code == kDLFloat && dtype.bits == 16 && dtype.lanes == 2);
  TVMFFI_FOREACH(TVMFFIAny, name, names) { /* there and back */
    TVMFFI_TRY(tvmffi_as(name, &dtype));
    TVMFFI_TRY(tvmffi_dtype_name(dtype, &text));
    CHECK(tvmffi_equal(text, name));
  }
  CHECK(tvmffi_as("floaty32", &dtype) == -1);
  CHECK(tvmffi_error_catch("ValueError"));
  return 0;
}

/* A typed function takes a dtype or device as such, or by its name. */
TVMFFI_FUNC(size_of, int64, (dtype, t)) {
  TVMFFI_RETURN((t.bits * t.lanes + 7) / 8);
}

TVMFFI_FUNC(describe, str, (device, d)) {
  const char *text = d.device_type == kDLCPU    ? "the CPU"
                     : d.device_type == kDLCUDA ? "a CUDA device"
                                                : "another device";
  TVMFFI_RETURN(tvmffi_view(text)); /* copied */
}

static int as_arguments(void) {
  DLDevice gpu = {kDLCUDA, 1};
  TVMFFIAny result;
  TVMFFI_TRY(tvmffi_register("demo.size_of", size_of));
  TVMFFI_TRY(tvmffi_register("demo.describe", describe));
  TVMFFI_TRY(tvmffi_call("demo.size_of", &result, "float32x4"));
  CHECK(tvmffi_equal(result, 16));
  TVMFFI_TRY(tvmffi_call("demo.describe", &result, gpu));
  CHECK(tvmffi_equal(result, "a CUDA device"));
  /* What C99 writes, which has no _Generic: */
  TVMFFI_TRY(tvmffi_call(tvmffi_str("demo.describe"), tvmffi_out_none(NULL),
                         tvmffi_str("cuda:1")));
  printf("float32x4 has 16 bytes\n");
  return 0;
}

TVMFFI_MAIN() { return strings() || bytes() || dtypes() || as_arguments(); }
