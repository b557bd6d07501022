/* ======== Type fields: fields and methods for tests that register types === */

#pragma once

#include "harness.h"

#if !TVMFFI_NO_TYPES
/* Registers a type with a static index that derives from a type of the ABI.
   Returns 0, or an error code. */
TEST_MAYBE int test_derive(const char *key, int32_t index, int32_t parent) {
  TVMFFIByteArray text = TEXT(key);
  return TVMFFITypeGetOrAllocIndex(&text, index, 2, 0, 0, parent) < 0 ? -1 : 0;
}
#endif

TEST_MAYBE int test_getter(void *field, TVMFFIAny *result) {
  *result = tvmffi_int(*(int32_t *)field);
  return 0;
}

TEST_MAYBE int test_setter(void *field, const TVMFFIAny *value) {
  *(int32_t *)field = (int32_t)value->v_int64;
  return 0;
}

TEST_MAYBE TVMFFIFieldInfo test_field(const char *name, int64_t offset) {
  TVMFFIFieldInfo f;
  TVMFFIFieldSetter setter = test_setter;
  memset((void *)&f, 0, sizeof(f));
  f.name = TEXT(name);
  f.size = 4;
  f.alignment = 4;
  f.offset = offset;
  f.getter = test_getter;
  memcpy(&f.setter, &setter, sizeof(f.setter));
  f.flags = kTVMFFIFieldFlagBitMaskWritable;
  f.field_static_type_index = kTVMFFIInt;
  return f;
}

TEST_MAYBE TVMFFIMethodInfo test_method(const char *name, TVMFFIAny value) {
  TVMFFIMethodInfo m;
  memset((void *)&m, 0, sizeof(m));
  m.name = TEXT(name);
  m.method = value;
  return m;
}
