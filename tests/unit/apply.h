/* ======== Applying: functions called by name, fields read ================= */

#pragma once

#include "harness.h"

#if !TVMFFI_NO_CONTAINERS && !TEST_NO_REFLECTION && !TEST_NO_TYPES
/* Calls a function object; the test owns the result. */
static int test_apply(TVMFFIObject *f, const TVMFFIAny *args, int n,
                      TVMFFIAny *result) {
  TVMFFIAny copy[16];
  int i, code;
  for (i = 0; i < n; ++i) copy[i] = args[i];
  *result = tvmffi_none(); /* it may be one of the arguments */
  code = f ? TVMFFIFunctionCall(f, copy, n, result) : -1;
  if (!code) OWN_ANY(*result);
  return code;
}

/* Looks a global function up and calls it. */
static int test_apply_global(const char *name, const TVMFFIAny *args, int n,
                             TVMFFIAny *result) {
  TVMFFIByteArray key = TEXT(name);
  TVMFFIObjectHandle f = NULL;
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&key, &f));
  OWN(f);
  return test_apply((TVMFFIObject *)f, args, n, result);
}

/* How the hooks below behave: the first test_fail_after calls succeed with the
   result test_fail_answer, and the others fail with test_fail_code unless it is
   0. They raise an error, except for code -2, with which a function in another
   language says that it holds the error there. */
static int test_fail_code, test_fail_after, test_fail_answer;

TEST_MAYBE int test_fail_now(void) {
  if (!test_fail_code || test_fail_after-- > 0) return 0;
  if (test_fail_code == -2) return -2;
  (void)TVMFFI_RAISE("ValueError", "the hook says no");
  return test_fail_code;
}
TEST_MAYBE int test_fail_hook(void *self, const TVMFFIAny *args,
                              int32_t num_args, TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args;
  *result = tvmffi_int(test_fail_answer);
  return test_fail_now();
}
TEST_MAYBE int test_fail_bool(void *self, const TVMFFIAny *args,
                              int32_t num_args, TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args;
  *result = tvmffi_bool(test_fail_answer);
  return test_fail_now();
}
TEST_MAYBE int test_fail_getter(void *field, TVMFFIAny *result) {
  (void)field;
  *result = tvmffi_int(test_fail_answer);
  return test_fail_now();
}

/* Calls a global function whose hook fails with `code` after `after` calls. */
TEST_MAYBE int test_apply_failing(int code, int after, const char *name,
                                  const TVMFFIAny *args, int n) {
  TVMFFIAny any;
  test_fail_code = code;
  test_fail_after = after;
  code = test_apply_global(name, args, n, &any);
  test_fail_code = 0;
  return code;
}

/* Checks that a call has returned -2, with no error in the slot. */
TEST_MAYBE void test_left_error(int code, const char *file, int line,
                                const char *call) {
  TVMFFIObject *error = tvmffi_i_error_remove();
  if (!test_hits() && (code != -2 || error))
    (void)test_fail(file, line, call, " did not return -2 alone", 24);
  tvmffi_release(error);
}

/* Checks that a global function fails, whatever code its hook fails with. A
   positive code is none of the results that the runtime's functions have. */
TEST_MAYBE void test_fails_anyhow(const char *name, int after,
                                  const TVMFFIAny *args, int n) {
  static const int codes[] = {-1, 1, 2, INT32_MAX, INT32_MIN};
  int i;
  for (i = 0; i < 5; ++i)
    test_error(test_apply_failing(codes[i], after, name, args, n) < 0,
               "ValueError", "the hook says no", __FILE__, __LINE__, name);
  (void)TVMFFI_RAISE("KeyError", "earlier"); /* is dropped */
  test_left_error(test_apply_failing(-2, after, name, args, n), __FILE__,
                  __LINE__, name);
}

/* The attribute of a type, borrowed; None if it has none. */
static TVMFFIAny test_value_of(int32_t index, const char *name) {
  TVMFFIByteArray key = TEXT(name);
  const TVMFFITypeAttrColumn *c = TVMFFIGetTypeAttrColumn(&key);
  const int32_t i = c ? index - c->begin_index : -1;
  return i >= 0 && i < c->size ? c->data[i] : tvmffi_none();
}

static int test_apply_attr(int32_t index, const char *name,
                           const TVMFFIAny *args, int n, TVMFFIAny *result) {
  TVMFFIAny f = test_value_of(index, name);
  if (f.type_index != kTVMFFIFunction) return -1;
  return test_apply(f.v_obj, args, n, result);
}

/* Reads a field by its name; the test owns the value. */
static TVMFFIAny test_get_field(TVMFFIObject *o, const char *name) {
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(o->type_index);
  tvmffi_i_field_cursor w = tvmffi_i_begin_fields(type);
  const TVMFFIFieldInfo *field;
  TVMFFIAny value = tvmffi_none();
  while ((field = tvmffi_i_next_field(&w)))
    if (tvmffi_i_same_text(field->name, TEXT(name))) {
      (void)test_code(field->getter(tvmffi_i_at(o, field), &value), __FILE__,
                      __LINE__, name);
      OWN_ANY(value);
      break;
    }
  CHECK(field != NULL);
  return value;
}
#endif
