/* Strings, bytes, data types and devices. */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <stdio.h>
#include <string.h>

#define CHECK(x) TVMFFI_TRY((x) ? 0 : TVMFFI_RAISE("AssertionError", "%s", #x))

/* Up to 7 bytes a string is a plain value inside the Any, above it an object.
   tvmffi_any_str reads both, and there is always a NUL behind the text. */
static int strings(void) {
  TVMFFIByteArray seven = tvmffi_view("seven.."),
                  eight = tvmffi_view("eight...");
  TVMFFIAny small, large;
  TVMFFI_TRY(TVMFFIStringFromByteArray(&seven, &small));
  TVMFFI_TRY(TVMFFIStringFromByteArray(&eight, &large));
  CHECK(small.type_index == kTVMFFISmallStr && small.small_str_len == 7);
  CHECK(large.type_index == kTVMFFIStr);
  CHECK(strcmp(tvmffi_any_str(&small).data, "seven..") == 0);
  CHECK(tvmffi_any_str(&large).size == 8);
  tvmffi_any_release(&small);
  tvmffi_any_release(&large);
  return 0;
}

/* Bytes are stored in the same way; a NUL among them is nothing special. */
static int bytes(void) {
  TVMFFIByteArray raw = {"a\0b", 3};
  TVMFFIAny any;
  TVMFFI_TRY(TVMFFIBytesFromByteArray(&raw, &any));
  CHECK(any.type_index == kTVMFFISmallBytes);
  CHECK(memcmp(tvmffi_any_str(&any).data, "a\0b", 3) == 0);
  tvmffi_any_release(&any);
  return 0;
}

static int dtypes(void) {
  static const char *const names[] = {
      "bool",          "int8",          "uint16",    "float32", "bfloat16",
      "float8_e4m3fn", "float4_e2m1fn", "float32x4", "handle",  NULL};
  DLDataType dtype = {0, 0, 0};
  TVMFFIByteArray text = tvmffi_view("float16x2");
  TVMFFI_TRY(TVMFFIDataTypeFromString(&text, &dtype));
  CHECK(dtype.code == kDLFloat && dtype.bits == 16 && dtype.lanes == 2);
  for (const char *const *name = names; *name; ++name) { /* there and back */
    TVMFFIAny printed;
    int same;
    text = tvmffi_view(*name);
    TVMFFI_TRY(TVMFFIDataTypeFromString(&text, &dtype));
    TVMFFI_TRY(TVMFFIDataTypeToString(&dtype, &printed));
    same = strcmp(tvmffi_any_str(&printed).data, *name) == 0;
    tvmffi_any_release(&printed);
    CHECK(same);
  }
  text = tvmffi_view("floaty32");
  CHECK(TVMFFIDataTypeFromString(&text, &dtype));
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
  char text[32];
  tvmffi_buffer buffer = {text, sizeof(text)};
  int64_t size = 0;
  TVMFFI_TRY(tvmffi_register("demo.size_of", size_of));
  TVMFFI_TRY(tvmffi_register("demo.describe", describe));
  TVMFFI_TRY(tvmffi_call("demo.size_of", &size, "float32x4"));
  CHECK(size == 16);
  TVMFFI_TRY(tvmffi_call("demo.describe", &buffer, gpu));
  CHECK(strcmp(text, "a CUDA device") == 0);
  /* What C99 writes, which has no _Generic: */
  return tvmffi_call(tvmffi_str("demo.describe"), tvmffi_out_none(NULL),
                     tvmffi_str("cuda:1"));
}

int main(void) {
  if (!strings() && !bytes() && !dtypes() && !as_arguments())
    return printf("float32x4 has 16 bytes\n"), 0;
  tvmffi_error_print(stderr);
  return 1;
}
