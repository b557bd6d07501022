/* ======== Global functions of a file: calls without a look-up ============= */

#pragma once

#include "harness.h"
#include "typed_function.h"
#include "thread.h"

#if !TEST_NO_TYPED
TVMFFI_GLOBAL(test_site, "unit.site");

/* Gives the site a fresh name and the state before its first call. */
static const char *test_new_site(void) {
  const char *name = test_fresh("unit.site");
  test_site->name = name;
  test_site->self = test_site->call = NULL;
  return name;
}

static int test_call_site(int64_t *out) {
  return tvmffi_call(tvmffi_obj(test_site), tvmffi_out_int64(out));
}

static int test_remove_name(const char *name, tvmffi_type_bool *removed) {
  *removed = 0;
  return tvmffi_call(tvmffi_str("ffi.FunctionRemoveGlobal"),
                     tvmffi_out_bool(removed), tvmffi_str(name));
}

/* Registers a function that returns the number. */
static int test_set_number(const char *name, intptr_t number) {
  TVMFFIByteArray text = tvmffi_byte_array(name);
  TVMFFIObjectHandle f = NULL;
  int code;
  TVMFFI_TRY(
      TVMFFIFunctionCreate((void *)number, test_echo_callback, NULL, &f));
  code = TVMFFIFunctionSetGlobal(&text, f, 1);
  tvmffi_release(f);
  return code;
}

static int test_count_names(TVMFFI_HERE, int64_t *count) {
  TVMFFIObject *names = NULL;
  TVMFFI_TRY(tvmffi_call(tvmffi_str("ffi.FunctionListGlobalNamesFunctor"),
                         tvmffi_out_object(&names)));
  return tvmffi_call(tvmffi_obj(names), tvmffi_out_int64(count),
                     tvmffi_int(-1));
}

/* Each call sees the function that the name has then. */
static void test_site_calls(TVMFFI_HERE) {
  const char *name = test_new_site();
  TVMFFIByteArray text = tvmffi_byte_array(name);
  TVMFFIObjectHandle one = NULL, got = NULL;
  tvmffi_type_bool removed = 0;
  int64_t n = 0, names = 0, more = 0;
  int i;
  OK(test_count_names(tvmffi_here, &names));
  FAILS(test_call_site(&n), "ValueError", NULL);
  FAILS(test_call_site(&n), "ValueError", NULL);
  OK(test_remove_name(name, &removed));
  CHECK(!removed);
  OK(TVMFFIFunctionGetGlobal(&text, &got));
  CHECK(!got);
  OK(TVMFFIFunctionCreate((void *)1, test_echo_callback, NULL, &one));
  OWN(one);
  for (i = 0; i < 3; ++i) {
    OK(test_count_names(tvmffi_here, &more));
    CHECK_INT(more, names);
    OK(TVMFFIFunctionSetGlobal(&text, one, 0));
    OK(test_call_site(&n));
    CHECK(n == 1 && test_strong(one) == 2);
    OK(test_set_number(name, 2));
    CHECK_INT(test_strong(one), 1);
    OK(test_call_site(&n));
    CHECK_INT(n, 2);
    OK(test_count_names(tvmffi_here, &more));
    CHECK_INT(more, names + 1);
    OK(test_remove_name(name, &removed));
    CHECK(removed);
    n = 7;
    FAILS(test_call_site(&n), "ValueError", NULL);
    CHECK_INT(n, 7);
#if !TVMFFI_NO_TYPES
    FAILS(tvmffi_call(tvmffi_str("ffi.GetGlobalFuncMetadata"),
                      tvmffi_out_any(NULL), tvmffi_str(name)),
          "RuntimeError", "...is not found: unit.site");
#endif
  }
}

/* The texts of a call by name; a failed call is passed on. */
static void test_site_errors(TVMFFI_HERE) {
  TVMFFIObject *raise = test_typed(&tvmffi_func_u_raise);
  int8_t small = 3;
  (void)test_new_site();
  if (!raise) return;
  test_site->name = "unit.site.none";
  FAILS(tvmffi_call(tvmffi_obj(test_site), tvmffi_out_int8(&small)),
        "ValueError", "Function unit.site.none not found");
  test_site->name = "unit.site.errors";
  test_site->call = NULL;
  OK(tvmffi_override_object("unit.site.errors", raise));
  FAILS(tvmffi_call(tvmffi_obj(test_site), tvmffi_out_int8(&small)),
        "IndexError", "no 7");
  OK(TVMFFI_OVERRIDE("unit.site.errors", u_code));
  CHECK_INT(
      tvmffi_call(tvmffi_obj(test_site), tvmffi_out_any(NULL), tvmffi_int(-2)),
      -2);
  OK(test_set_number("unit.site.errors", 300));
  FAILS(tvmffi_call(tvmffi_obj(test_site), tvmffi_out_int8(&small)),
        "OverflowError", "The value 300 is out of range of int8");
  CHECK_INT(small, 3);
}

/* The function that runs is replaced, removed and registered from inside: it
   lives until its end, and the next call sees the result. */
static char test_site_letter[] = "d";
static int test_change_site(void *self, const TVMFFIAny *args, int32_t num_args,
                            TVMFFIAny *result) {
  tvmffi_type_bool removed;
  int64_t n;
  (void)num_args;
  if (args[0].v_int64 & 1) TVMFFI_TRY(test_set_number(test_site->name, 5));
  if (args[0].v_int64 & 2)
    TVMFFI_TRY(test_remove_name(test_site->name, &removed));
  if (args[0].v_int64 & 4) {
    TVMFFI_TRY(test_set_number(test_site->name, 6));
    TVMFFI_TRY(test_call_site(&n));
    CHECK_INT(n, 6);
  }
  CHECK_LOG("");
  *result = tvmffi_int(*(char *)self);
  return 0;
}

static void test_site_from_inside(TVMFFI_HERE) {
  const char *name = test_new_site();
  TVMFFIByteArray text = tvmffi_byte_array(name);
  int64_t n = 0;
  int what;
  for (what = 0; what < 8; ++what) {
    TVMFFIObjectHandle f = NULL;
    int code;
    OK(TVMFFIFunctionCreate(test_site_letter, test_change_site,
                            test_say_deleter, &f));
    code = TVMFFIFunctionSetGlobal(&text, f, 1);
    tvmffi_release(f);
    if (!code)
      code = tvmffi_call(tvmffi_obj(test_site), tvmffi_out_int64(&n),
                         tvmffi_int(what));
    if (code) {
      tvmffi_type_bool removed;
      (void)test_code(code, __FILE__, __LINE__, "the call ");
      (void)test_code(test_remove_name(name, &removed), __FILE__, __LINE__, "");
      test_log_size = 0;
      return;
    }
    CHECK_INT(n, 'd');
    if (!what) {
      OK(test_set_number(name, 4));
    }
    CHECK_LOG("d");
    n = 0;
    if (what & 4 || !(what & 2)) OK(test_call_site(&n));
    if (what == 2 || what == 3) FAILS(test_call_site(&n), "ValueError", NULL);
    CHECK_INT(n, what & 4 ? 6 : what & 2 ? 0 : what & 1 ? 5 : 4);
  }
}

/* It is a function like others: an argument, an item, a global function. */
static void test_site_as_value(TVMFFI_HERE) {
  const char *name = test_new_site(), *other = test_fresh("unit.other");
  TVMFFIObject *echo = test_typed(&tvmffi_func_u_func), *o = NULL;
  uint64_t count = test_site->base.combined_ref_count;
  int64_t n = 0;
  if (!echo) return;
  OK(tvmffi_call(tvmffi_obj(echo), tvmffi_out_object(&o),
                 tvmffi_obj(test_site)));
  CHECK(o == &test_site->base);
  OK(test_set_number(name, 8));
  OK(tvmffi_override_object(other, &test_site->base));
  OK(tvmffi_call(tvmffi_str(other), tvmffi_out_int64(&n)));
  CHECK_INT(n, 8);
  OK(test_set_number(other, 9));
  CHECK(test_site->base.combined_ref_count == count);
  tvmffi_release(&test_site->base); /* one too many does no harm */
  CHECK(test_site->base.combined_ref_count == count);
#if TVMFFI_I_GENERIC
  OK(tvmffi_call(test_site, &n));
  CHECK_INT(n, 8);
  OK(tvmffi_call(echo, &o, test_site));
#endif
}

/* A built-in function, and a runtime that has only names. */
static void test_site_by_name(TVMFFI_HERE) {
  TVMFFI_GLOBAL(text, "ffi.String");
  const char *name;
  TVMFFIAny any = tvmffi_none();
  tvmffi_type_bool removed;
  int64_t n = 0;
  OK(tvmffi_call(tvmffi_obj(text), tvmffi_out_any(&any), tvmffi_str("abc")));
  CHECK_TEXT(tvmffi_any_str(&any), "abc");
  name = test_new_site();
  test_site->self = (void *)(uintptr_t)name;
  test_site->call = (void *)(uintptr_t)tvmffi_i_call_by_name;
  FAILS(test_call_site(&n), "ValueError", NULL);
  OK(test_set_number(name, 1));
  OK(test_call_site(&n));
  CHECK_INT(n, 1);
  OK(test_remove_name(name, &removed));
  FAILS(test_call_site(&n), "ValueError", NULL);
#if TVMFFI_I_CELLS
  FAILS(tvmffi_call(tvmffi_str("tvmffi.GlobalCell"), tvmffi_out_any(NULL),
                    tvmffi_str("x"), tvmffi_none()),
        "ValueError", "tvmffi.GlobalCell: call must not be NULL");
#endif
}

#if !TEST_NO_CONTENTION && !TVMFFI_NO_THREADS
/* One overrides and removes, the others call. */
static void test_site_work(int id) {
  int i, n = test_rounds(1);
  for (i = 0; i < n; ++i) {
    int64_t got = 0;
    tvmffi_type_bool removed;
    if (id == 1 && i % 8 == 7) {
      OK(test_remove_name(test_site->name, &removed));
    } else if (id == 1) {
      OK(test_set_number(test_site->name, i + 1));
    } else if (!test_call_site(&got)) {
      CHECK(got >= 1 && got <= n);
    } else {
      tvmffi_error_clear(); /* absent */
    }
  }
}

static void test_contend_site(TVMFFI_HERE) {
  tvmffi_type_bool removed;
  const char *name = test_new_site();
  test_parallel(test_site_work);
  tvmffi_error_clear();
  OK(test_remove_name(name, &removed));
}
#endif
#endif

static const test_case test_global_cases[] = {
#if !TEST_NO_TYPED
    {"sites: functions that come and go", test_site_calls},
    {"sites: errors", test_site_errors},
    {"sites: changes from inside", test_site_from_inside},
    {"sites: as a value", test_site_as_value},
    {"sites: by name", test_site_by_name},
#if !TEST_NO_CONTENTION && !TVMFFI_NO_THREADS
    {"threads: sites", test_contend_site},
#endif
#endif
    {NULL, NULL}};
