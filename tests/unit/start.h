/* ======== Start: the runtime starts itself ================================ */

#pragma once

#include "harness.h"

/* The runtime starts itself, and asks for no memory to do so. */
static void test_start(TVMFFI_HERE) {
  TVMFFIByteArray key = TEXT("ffi.Error"), name = TEXT("ffi.String");
  TVMFFIObjectHandle f = NULL;
  const TVMFFITypeInfo *info;
  int32_t index = 0;
  OK(TVMFFITypeKeyToIndex(&key, &index));
  CHECK_INT(index, kTVMFFIError);
  info = TVMFFIGetTypeInfo(kTVMFFIError);
  CHECK(TVMFFI_NO_TYPES ? !info : info && info->type_index == kTVMFFIError);
  OK(TVMFFIFunctionGetGlobal(&name, &f));
  OWN(f);
  CHECK(f != NULL);
}

static void test_version(TVMFFI_HERE) {
  TVMFFIVersion version = {9, 9, 9};
  TVMFFIGetVersion(&version);
  CHECK_INT(version.major, TVM_FFI_VERSION_MAJOR);
  CHECK_INT(version.minor, TVM_FFI_VERSION_MINOR);
  CHECK_INT(version.patch, TVM_FFI_VERSION_PATCH);
  TVMFFIGetVersion(NULL);
}

static const test_case test_start_cases[] = {
    {"the runtime starts itself", test_start},
    {"version", test_version},
    {NULL, NULL}};
