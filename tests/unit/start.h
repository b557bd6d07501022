/* ======== Start: the runtime starts itself ================================ */

#pragma once

#include "harness.h"

#if TEST_MEANWHILE
static void test_locks_first(void) {
  tvmffi_i_lock();
  tvmffi_i_unlock();
}
static void test_starts_types(void) { tvmffi_i_start_types(); }
static void test_starts_global(void) {
  TVMFFIByteArray name = TEXT("ffi.String");
  CHECK(!tvmffi_i_start_global(&name));
}
static void test_other_locks_first(void) { test_in_thread(test_locks_first); }
static void test_other_starts_types(void) { test_in_thread(test_starts_types); }
static void test_other_starts_global(void) {
  test_in_thread(test_starts_global);
}
#endif

/* Called before the runtime's first use. */
static void test_before_start(void) {
#if TEST_MEANWHILE
  test_meanwhile(TEST_AT_CAS, 1, test_other_locks_first);
#endif
}

/* The runtime starts itself, and asks for no memory to do so. Types have keys
   before. Another thread is always first: to register what is called at a fork,
   to start the types, and the functions. */
static void test_start(TVMFFI_HERE) {
  TVMFFIByteArray key = TEXT("ffi.Error"), name = TEXT("ffi.String");
  TVMFFIObjectHandle f = NULL;
  const TVMFFITypeInfo *info;
  int32_t index = 0;
#if TEST_MEANWHILE
  static int is_started;
  if (!is_started) {
    test_locks_first(); /* the first lock, if no memory is pooled */
    CHECK(!test_did_nothing(TEST_AT_CAS)); /* of test_before_start */
    test_meanwhile(TEST_AT_LOCK, 1, test_other_starts_types);
  }
#endif
  CHECK_TEXT(TEXT(tvmffi_i_type_key(kTVMFFIError)), "ffi.Error");
  info = TVMFFIGetTypeInfo(kTVMFFIError);
  CHECK(TVMFFI_NO_TYPES ? !info : info && info->type_index == kTVMFFIError);
  OK(TVMFFITypeKeyToIndex(&key, &index));
  CHECK_INT(index, kTVMFFIError);
#if TEST_MEANWHILE
  if (!is_started) {
    CHECK(!test_did_nothing(TEST_AT_LOCK));
    test_meanwhile(TEST_AT_LOCK, 1, test_other_starts_global);
  }
#endif
  OK(TVMFFIFunctionGetGlobal(&name, &f));
  OWN(f);
  CHECK(f != NULL);
#if TEST_MEANWHILE
  if (!is_started) CHECK(!test_did_nothing(TEST_AT_LOCK));
  is_started = 1;
#endif
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
