/* ======== Start: the runtime starts itself ================================ */

#pragma once

#include "harness.h"

/* The runtime starts itself, and asks for no memory to do so. Types have keys
   before. */
static void test_start(TVMFFI_HERE) {
  TVMFFIByteArray key = TEXT("ffi.Error"), name = TEXT("ffi.String");
  TVMFFIObjectHandle f = NULL;
  const TVMFFITypeInfo *info;
  int32_t index = 0;
  CHECK_TEXT(TEXT(tvmffi_i_type_key(kTVMFFIError)), "ffi.Error");
  info = TVMFFIGetTypeInfo(kTVMFFIError);
  CHECK(TVMFFI_NO_TYPES ? !info : info && info->type_index == kTVMFFIError);
  OK(TVMFFITypeKeyToIndex(&key, &index));
  CHECK_INT(index, kTVMFFIError);
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

#if !TVMFFI_NO_REFLECTION && !TVMFFI_NO_EXTRA && !TEST_NO_TYPES
/* The first use of an attribute of built-in types needs memory for the
   attribute's column. Without memory each use fails, and the next one may not:
   the type is never treated as one without the attribute. */
static void test_first_columns(TVMFFI_HERE) {
  TVMFFIByteArray key = TEXT("unit.FirstColumns");
  TVMFFIAny a, b;
  TVMFFITypeMetadata m;
  uint64_t hash = 0;
  int64_t recursive = 0;
  int32_t index =
      TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject);
  int equal;
  OK(index < 0 ? -1 : 0);
  memset((void *)&m, 0, sizeof(m));
  m.total_size = (int32_t)sizeof(TVMFFIObject);
  OK(TVMFFITypeRegisterMetadata(index, &m));
  a = tvmffi_obj(tvmffi_i_object(sizeof(TVMFFIObject), index,
                                 tvmffi_i_delete_plain));
  OK(a.v_obj ? 0 : -1);
  OWN(a.v_obj);
  b = tvmffi_obj(tvmffi_i_object(sizeof(TVMFFIObject), index,
                                 tvmffi_i_delete_plain));
  OK(b.v_obj ? 0 : -1);
  OWN(b.v_obj);
  OK(tvmffi_i_any_hash(&a, &hash));
  CHECK(hash == tvmffi_i_hash_combine((uint64_t)index, a.v_uint64));
  equal = tvmffi_i_any_equal(&a, &b);
  OK(equal < 0 ? equal : 0);
  CHECK_INT(equal, 0);
  OK(tvmffi_call(tvmffi_str("ffi.RecursiveHash"), tvmffi_out_int64(&recursive),
                 a));
  CHECK(recursive != 0);
}

/* So does the first value of another type. */
static void test_first_value(TVMFFI_HERE) {
  TVMFFIByteArray key = TEXT("unit.FirstValue");
  TVMFFIByteArray name = TEXT("__data_from_json__");
  const TVMFFITypeAttrColumn *c;
  TVMFFIAny value = tvmffi_int(1);
  int32_t index =
      TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject);
  OK(index < 0 ? -1 : 0);
  OK(TVMFFITypeRegisterAttr(index, &name, &value));
  c = TVMFFIGetTypeAttrColumn(&name);
  OK(c ? 0 : -1);
  CHECK_INT(c->data[index - c->begin_index].v_int64, 1);
}
#endif

static const test_case test_start_cases[] = {
    {"the runtime starts itself", test_start},
#if !TVMFFI_NO_REFLECTION && !TVMFFI_NO_EXTRA && !TEST_NO_TYPES
    {"the first use of attributes", test_first_columns},
    {"the first value of an attribute", test_first_value},
#endif
    {"version", test_version},
    {NULL, NULL}};
