/* ======== Environment: streams, signals, handles made once ================ */

#pragma once

#include "harness.h"

#if !TEST_NO_ENV
static void test_streams(TVMFFI_HERE) {
  static char stream[64];
  TVMFFIStreamHandle before = stream;
  int i, n = 40;
  CHECK(TVMFFIEnvGetStream(kDLCUDA, 77) == NULL);
  OK(TVMFFIEnvSetStream(kDLCUDA, 0, stream, &before));
  OK(TVMFFIEnvSetStream(kDLCUDA, 0, stream + 1, &before));
  CHECK(before == stream);
  CHECK(TVMFFIEnvGetStream(kDLCUDA, 0) == stream + 1);
  CHECK(TVMFFIEnvGetStream(kDLROCM, 0) != stream + 1);
  for (i = 0; i < n; ++i)
    OK(TVMFFIEnvSetStream(kDLCUDA + i % 3, i, stream + i, NULL));
  for (i = 0; i < n; ++i)
    CHECK(TVMFFIEnvGetStream(kDLCUDA + i % 3, i) == stream + i);
  OK(TVMFFIEnvSetStream(2147483647, 2147483647, stream + 9, NULL));
  CHECK(TVMFFIEnvGetStream(2147483647, 2147483647) == stream + 9);
  OK(TVMFFIEnvSetStream(0, 0, stream + 8, NULL));
  CHECK(TVMFFIEnvGetStream(0, 0) == stream + 8);
  FAILS(TVMFFIEnvSetStream(-1, 0, stream, &before), "ValueError",
        "There is no device (-1, 0)");
  FAILS(TVMFFIEnvSetStream(kDLCUDA, -5, stream, &before), "ValueError", NULL);
  CHECK(TVMFFIEnvGetStream(-1, 0) == NULL);
  CHECK(TVMFFIEnvGetStream(kDLCUDA, -1) == NULL);
  /* The table goes when its thread does. */
  tvmffi_i_thread_exit();
  CHECK(TVMFFIEnvGetStream(kDLCUDA, 0) == NULL);
}

static int test_no_allocator(DLTensor *prototype,
                             DLManagedTensorVersioned **out, void *context,
                             void (*set_error)(void *, const char *,
                                               const char *)) {
  (void)prototype, (void)out, (void)context, (void)set_error;
  return -1;
}

/* A thread's allocator needs memory, and goes when its thread does. */
static void test_thread_allocator(TVMFFI_HERE) {
  DLPackManagedTensorAllocator before = test_no_allocator;
  tvmffi_i_thread_exit();
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(test_no_allocator, 0, &before));
  CHECK(before == NULL);
  CHECK(TVMFFIEnvGetDLPackManagedTensorAllocator() == test_no_allocator);
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(NULL, 0, &before));
  CHECK(before == test_no_allocator);
}

static int test_signal;
static int test_check_signals(void) {
  test_say('c');
  return test_signal;
}
static int test_ensure(void) {
  test_say('e');
  return 5;
}
static void test_gil_release(int state) { test_say((char)('0' + state)); }

static void test_signals(TVMFFI_HERE) {
  int (*check)(void) = test_check_signals, (*ensure)(void) = test_ensure;
  void (*release)(int) = test_gil_release;
  void *address;
  CHECK_INT(TVMFFIEnvCheckSignals(), 0);
  FAILS(TVMFFIEnvRegisterCAPI(NULL, NULL), "ValueError", NULL);
  FAILS(TVMFFIEnvRegisterCAPI("PyErr_Nothing", NULL), "ValueError",
        "Unknown env API PyErr_Nothing");
  memcpy(&address, &check, sizeof(check));
  OK(TVMFFIEnvRegisterCAPI("PyErr_CheckSignals", address));
  FAILS(TVMFFIEnvCheckSignals(), "InternalError",
        "PyErr_CheckSignals is registered without PyGILState_Ensure and "
        "PyGILState_Release");
  memcpy(&address, &ensure, sizeof(ensure));
  OK(TVMFFIEnvRegisterCAPI("PyGILState_Ensure", address));
  FAILS(TVMFFIEnvCheckSignals(), "InternalError", NULL);
  memcpy(&address, &release, sizeof(release));
  OK(TVMFFIEnvRegisterCAPI("PyGILState_Release", address));
  test_signal = 0;
  CHECK_INT(TVMFFIEnvCheckSignals(), 0);
  CHECK_LOG("ec5");
  test_signal = -1;
  CHECK_INT(TVMFFIEnvCheckSignals(), -1);
  CHECK_LOG("ec5");
  CHECK(tvmffi_i_error_remove() == NULL); /* the environment holds it */
  FAILS(tvmffi_check_signals(), "EnvErrorAlreadySet", "");
  CHECK_LOG("ec5");
  OK(TVMFFIEnvRegisterCAPI("PyErr_CheckSignals", NULL));
  CHECK_INT(tvmffi_check_signals(), 0);
  OK(TVMFFIEnvRegisterCAPI("PyGILState_Ensure", NULL));
  OK(TVMFFIEnvRegisterCAPI("PyGILState_Release", NULL));
}

/* The address that a map of symbols has, or NULL. */
static void *test_symbol(tvmffi_i_name_table *map, const char *name) {
  tvmffi_i_node *node = tvmffi_i_find(map, name, strlen(name));
  return node ? ((tvmffi_i_named *)(void *)node)->address : NULL;
}

static void test_module_symbols(TVMFFI_HERE) {
  const char *name = test_fresh("unit_symbol");
  static void *a, *b; /* a module that is made later writes to them */
  void *found = &b;
  OK(TVMFFIEnvModRegisterSystemLibSymbol(name, &a));
  OK(TVMFFIEnvModRegisterContextSymbol(name, &b));
  CHECK(!tvmffi_system_symbol(tvmffi_byte_array("unit_unknown"), &found));
  CHECK(!found);
  CHECK(tvmffi_system_symbol(tvmffi_byte_array(name), &found) == 1);
  CHECK(found == &a);
  CHECK(test_symbol(&tvmffi_i_context_symbols, name) == &b);
  OK(TVMFFIEnvModRegisterSystemLibSymbol(name, &b));
  CHECK(tvmffi_system_symbol(tvmffi_byte_array(name), &found) == 1);
  CHECK(found == &b);
  FAILS(TVMFFIEnvModRegisterSystemLibSymbol(NULL, &a), "ValueError", NULL);
  FAILS(TVMFFIEnvModRegisterContextSymbol(NULL, &a), "ValueError", NULL);
}

#if TEST_STDERR
/* Another address under a system symbol's name is warned of, the same is not;
   nor is another context symbol. */
static void test_symbol_messages(TVMFFI_HERE) {
  const char *name = test_fresh("unit_warned");
  static void *a, *b;
  TVMFFIByteArray got;
  char want[160];
  int code;
  OK(TVMFFIEnvModRegisterSystemLibSymbol(name, &a));
  OK(TVMFFIEnvModRegisterContextSymbol(name, &a));
  test_begin_messages();
  code = TVMFFIEnvModRegisterSystemLibSymbol(name, &a);
  if (!code) code = TVMFFIEnvModRegisterContextSymbol(name, &b);
  got = test_end_messages();
  OK(code);
  CHECK_TEXT(got, "");
  test_begin_messages();
  code = TVMFFIEnvModRegisterSystemLibSymbol(name, &b);
  got = test_end_messages();
  OK(code);
  (void)snprintf(want, sizeof(want),
                 "Warning:SystemLib symbol %s get overriden to a different "
                 "address %p->%p\n",
                 name, (void *)&b, (void *)&a);
  CHECK_TEXT(got, want);
}
#endif

static void *test_handle, *test_inner_handle;
static int test_target;

static int test_init(void **result) {
  test_say('i');
  *result = &test_target;
  return 0;
}
static int test_init_fails(void **result) {
  (void)result;
  return TVMFFI_RAISE("ValueError", "cannot init");
}
static int test_init_silent(void **result) {
  (void)result;
  return 7;
}
static int test_init_null(void **result) {
  *result = NULL;
  return 0;
}
static int test_init_nested(void **result) {
  TVMFFI_TRY(TVMFFIHandleInitOnce(&test_inner_handle, test_init));
  *result = &test_inner_handle;
  return 0;
}
static int test_init_recursive(void **result) {
  (void)result;
  return TVMFFIHandleInitOnce(&test_handle, test_init_recursive);
}
static int test_deinit(void *handle) {
  test_say(handle == &test_target ? 'd' : '?');
  return 3;
}

static void test_init_once(TVMFFI_HERE) {
  int code;
  test_handle = test_inner_handle = NULL;
  OK(TVMFFIHandleInitOnce(&test_handle, test_init));
  CHECK(test_handle == &test_target);
  OK(TVMFFIHandleInitOnce(&test_handle, test_init));
  OK(TVMFFIHandleInitOnce(&test_handle, NULL));
  CHECK_LOG("i");
  CHECK_INT(TVMFFIHandleDeinitOnce(&test_handle, test_deinit), 3);
  CHECK_LOG("d");
  CHECK(test_handle == NULL);
  OK(TVMFFIHandleDeinitOnce(&test_handle, test_deinit));
  CHECK_LOG("");
  OK(TVMFFIHandleInitOnce(&test_handle, test_init_nested));
  CHECK(test_handle == &test_inner_handle);
  CHECK(test_inner_handle == &test_target);
  CHECK_LOG("i");
  test_handle = NULL;
  FAILS(TVMFFIHandleInitOnce(&test_handle, test_init_fails), "ValueError",
        "cannot init");
  code = TVMFFIHandleInitOnce(&test_handle, test_init_silent);
  if (!test_hits()) CHECK_INT(code, 7);
  FAILS(code, "RuntimeError", "init_func failed with code 7 and no error");
  FAILS(TVMFFIHandleInitOnce(&test_handle, test_init_null), "RuntimeError",
        "init_func must return a non-NULL handle");
  FAILS(TVMFFIHandleInitOnce(&test_handle, test_init_recursive), "RuntimeError",
        "init_func waits for its own handle: a cycle");
  CHECK(test_handle == NULL);
  FAILS(TVMFFIHandleInitOnce(NULL, test_init), "ValueError", NULL);
  FAILS(TVMFFIHandleInitOnce(&test_handle, NULL), "ValueError", NULL);
  FAILS(TVMFFIHandleDeinitOnce(NULL, test_deinit), "ValueError", NULL);
  FAILS(TVMFFIHandleDeinitOnce(&test_handle, NULL), "ValueError", NULL);
  OK(TVMFFIHandleInitOnce(&test_handle, test_init));
  CHECK_LOG("i");
}
#endif

static const test_case test_environment_cases[] = {
#if !TEST_NO_ENV
    {"environment: streams", test_streams},
    {"environment: a thread's allocator", test_thread_allocator},
    {"environment: signals", test_signals},
    {"environment: symbols", test_module_symbols},
#if TEST_STDERR
    {"environment: warnings of symbols", test_symbol_messages},
#endif
    {"environment: handles made once", test_init_once},
#endif
    {NULL, NULL}};
