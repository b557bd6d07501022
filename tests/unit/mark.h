/* ======== Marks: makers that fail ========================================= */

#pragma once

#include "harness.h"
#include "scope.h"

#if !TEST_NO_TYPED && !TVMFFI_NO_CONTAINERS
#if !TEST_NO_TYPES
typedef struct {
  TVMFFIObject base;
  TVMFFIAny left, right;
  int64_t size;
} TestTree;
TVMFFI_TYPE(TestTree, "unit.MarkedTree", TVMFFIObject,
            (field, any, left, tvmffi_none()),
            (field, any, right, tvmffi_none()), (field, int64, size, 0),
            (method, count))
TVMFFI_METHOD(TestTree, count, int64) {
  (void)self;
  test_say('m');
  TVMFFI_RETURN(1);
}
#endif

/* Logs each call. */
TVMFFI_FUNC(u_called, any, (any, x)) {
  test_say('c');
  TVMFFI_RETURN(x);
}
TVMFFI_FUNC(u_keyless, object) { return TVMFFI_RAISE("KeyError", "no"); }

/* Objects of an unmarked scope. */
typedef struct {
  TVMFFIObject *called, *fails, *list, *dict;
#if !TEST_NO_TYPES
  TestTree *tree;
#endif
} test_marks;

static int test_marks_begin(TVMFFI_HERE, test_marks *m) {
  TVMFFI_TRY(TVMFFI_FUNCTION_NEW(u_called, &m->called));
  TVMFFI_TRY(TVMFFI_FUNCTION_NEW(u_keyless, &m->fails));
  m->list = tvmffi_list(tvmffi_int(1));
  m->dict = tvmffi_dict();
#if !TEST_NO_TYPES
  m->tree = TVMFFI_NEW(TestTree);
  if (!m->tree) return -1;
#endif
  return m->list && m->dict ? 0 : -1;
}

/* A maker of each kind that fails. */
enum {
  TEST_BAD_LIST,
  TEST_BAD_MAP,
  TEST_BAD_RAISED, /* by the user's own maker */
  TEST_BAD_TEXT,
  TEST_BAD_CALL,
  TEST_BAD_GET,
  TEST_BAD_TENSOR,
#if !TEST_NO_TYPES
  TEST_BAD_NEW,
  TEST_BAD_CAST,
#endif
  TEST_BADS
};
static const char *const test_bad_kinds[] = {
    "OverflowError", "ValueError", "IOError",   "IOError",      "KeyError",
    "KeyError",      "ValueError", "TypeError", "OverflowError"};

static TVMFFIAny test_bad(TVMFFI_HERE, const test_marks *m, int how) {
  const TVMFFIAny large = tvmffi_uint(UINT64_MAX), one = tvmffi_int(1);
  const int64_t negative = -1;
  TVMFFIObject *o = NULL;
  int code = 0;
  switch (how) {
    case TEST_BAD_LIST: o = tvmffi_list(large); break;
    case TEST_BAD_MAP: o = tvmffi_map(one); break;
    case TEST_BAD_RAISED: code = TVMFFI_RAISE("IOError", "no"); break;
    case TEST_BAD_TEXT:
      code = TVMFFI_RAISE("IOError", "no");
      CHECK_INT(code, -1);
      return tvmffi_str(NULL);
    case TEST_BAD_CALL:
      code = tvmffi_call(tvmffi_obj(m->fails), tvmffi_out_object(&o));
      break;
    case TEST_BAD_GET:
      code =
          tvmffi_get(tvmffi_obj(m->dict), tvmffi_int(1), tvmffi_out_object(&o));
      break;
    case TEST_BAD_TENSOR:
      code = tvmffi_tensor_new(tvmffi_dtype_of(kDLInt, 8),
                               TVMFFIDLDeviceFromIntPair(kDLCPU, 0), 1,
                               &negative, &o);
      break;
#if !TEST_NO_TYPES
    case TEST_BAD_NEW:
      o = (TVMFFIObject *)(void *)TVMFFI_NEW(TestTree, one, one,
                                              tvmffi_str("no number"));
      break;
    case TEST_BAD_CAST:
      o = (TVMFFIObject *)(void *)TVMFFI_CAST(TestTree, tvmffi_list(large));
      break;
#endif
    default: break;
  }
  CHECK(!o && (code || how == TEST_BAD_LIST || how == TEST_BAD_MAP ||
               how > TEST_BAD_TENSOR));
  return tvmffi_obj(o);
}

/* Uses the NULL of a maker as an argument. Returns 0 if that succeeds, or
   "no such use". */
static const int test_no_use = 12345;
static int test_use(TVMFFI_HERE, const test_marks *m, int how, TVMFFIAny null) {
  TVMFFIObject *o = NULL;
  TVMFFIAny any = tvmffi_none();
  int64_t n = 0;
  switch (how) {
    case 0: return tvmffi_list(tvmffi_int(1), null) ? 0 : -1;
    case 1: return tvmffi_map(tvmffi_int(1), null) ? 0 : -1;
    case 2: return tvmffi_shape(null) ? 0 : -1;
    case 3: return tvmffi_array_from(&null, 1) ? 0 : -1;
    case 4:
      return tvmffi_call(tvmffi_obj(m->called), tvmffi_out_none(NULL), null);
    case 5:
      return tvmffi_call(tvmffi_obj(m->called), tvmffi_out_int64(&n), null);
    case 6:
      return tvmffi_call(tvmffi_obj(m->called), tvmffi_out_any(&any), null);
    case 7: return tvmffi_call(null, tvmffi_out_object(&o), tvmffi_int(1));
    case 8: return tvmffi_as(null, tvmffi_out_any(&any));
    case 9: return tvmffi_get(null, tvmffi_int(0), tvmffi_out_any(&any));
    case 10: return tvmffi_get(tvmffi_obj(m->list), null, tvmffi_out_any(&any));
    case 11: return tvmffi_get(tvmffi_obj(m->dict), null, tvmffi_out_any(&any));
    case 12: return tvmffi_append(tvmffi_obj(m->list), null);
    case 13: return tvmffi_append(null, tvmffi_int(1));
    case 14: return tvmffi_set(tvmffi_obj(m->dict), tvmffi_int(1), null);
    case 15: return tvmffi_erase(tvmffi_obj(m->dict), null);
    case 16: return tvmffi_contains(tvmffi_obj(m->list), null) < 0;
    case 17: return tvmffi_size(null) < 0;
    case 18: return tvmffi_register_object("unit.null", null.v_obj);
    case 19: return tvmffi_global_get(null, &o);
#if !TEST_NO_TYPES
    case 20: return TVMFFI_NEW(TestTree, tvmffi_int(1), null) ? 0 : -1;
    case 21:
      return tvmffi_method(tvmffi_obj(m->tree), "count", tvmffi_out_int64(&n),
                           null);
    case 22: return tvmffi_method(null, "count", tvmffi_out_int64(&n));
    case 23: return tvmffi_field_get(null, "left", tvmffi_out_any(&any));
    case 24: return tvmffi_field_set(tvmffi_obj(m->tree), "left", null);
#endif
    default: return test_no_use;
  }
}

/* The first error stays, and no function is called. When the error is handled,
   all works again. */
static void test_null_of_maker(TVMFFI_HERE) {
  test_marks m;
#if TVMFFI_I_GENERIC
  TVMFFIObject *nothing = NULL;
#endif
  int bad, use, code;
  OK(test_marks_begin(tvmffi_here, &m));
  for (bad = 0; bad < TEST_BADS; ++bad) {
    for (use = 0;; ++use) {
      TVMFFIAny null = test_bad(tvmffi_here, &m, bad);
      CHECK_INT(null.type_index, kTVMFFINone);
      code = test_use(tvmffi_here, &m, use, null);
      FAILS(code, test_bad_kinds[bad], NULL);
      CHECK_LOG("");
      if (code == test_no_use) break;
    }
    CHECK(use >= 20);
    OK(tvmffi_list(tvmffi_none()) ? 0 : -1);
    OK(tvmffi_call(tvmffi_obj(m.called), tvmffi_out_none(NULL), tvmffi_none()));
    CHECK_LOG("c");
#if TVMFFI_I_GENERIC
    (void)test_bad(tvmffi_here, &m, bad);
    FAILS(tvmffi_call(m.called, NULL, nothing), test_bad_kinds[bad], NULL);
    OK(tvmffi_call(m.called, NULL, nothing));
    CHECK_LOG("c");
#endif
  }
  CHECK_INT(tvmffi_size(tvmffi_obj(m.list)), 1);
  CHECK_INT(tvmffi_size(tvmffi_obj(m.dict)), 0);
}

/* In a marked scope, what has no NULL for an argument does nothing, either. */
static int test_in_marked(TVMFFI_HERE, const test_marks *m, int how) {
  TVMFFIObject *o = NULL;
  TVMFFIAny any = tvmffi_none(), args[1];
  int64_t n = 0;
  args[0] = tvmffi_int(1);
  switch (how) {
    case 0: return tvmffi_list(tvmffi_int(1)) ? 0 : -1;
    case 1: return tvmffi_map(tvmffi_int(1)) ? 0 : -1; /* another error */
    case 2: return tvmffi_array_from(args, 1) ? 0 : -1;
    case 3:
      return tvmffi_call(tvmffi_obj(m->called), tvmffi_out_int64(&n), args[0]);
    case 4:
      return tvmffi_call(tvmffi_obj(m->called), tvmffi_out_any(&any), args[0]);
    case 5: return tvmffi_call(tvmffi_str("unit.none"), tvmffi_out_none(NULL));
    case 6: return tvmffi_as(args[0], tvmffi_out_int64(&n));
    case 7:
      return tvmffi_get(tvmffi_obj(m->dict), args[0], tvmffi_out_any(&any));
    case 8: return TVMFFI_FUNCTION_NEW(u_called, &o);
    case 9: return tvmffi_global_get(tvmffi_str("unit.none"), &o);
    case 10: return tvmffi_dtype_to_str(tvmffi_dtype_of(kDLInt, 8), &any);
    case 11:
      return tvmffi_tensor_new(tvmffi_dtype_of(kDLInt, 8),
                               TVMFFIDLDeviceFromIntPair(kDLCPU, 0), 0, NULL,
                               &o);
    case 12: return tvmffi_tensor_new_like(NULL, &o);
#if !TEST_NO_TYPES
    case 13: return TVMFFI_NEW(TestTree, args[0]) ? 0 : -1;
    case 14:
      return tvmffi_method(tvmffi_obj(m->tree), "none", tvmffi_out_int64(&n));
    case 15:
      return tvmffi_field_get(tvmffi_obj(m->tree), "none",
                              tvmffi_out_int64(&n));
#endif
    default: return test_no_use;
  }
}

static TVMFFIObject *test_empty_list(TVMFFI_HERE) { return tvmffi_list(); }

static void test_marked_scope(TVMFFI_HERE) {
  tvmffi_scope scope, *other = tvmffi_scope_open(&scope);
  test_marks m;
  int how, code;
  OK(test_marks_begin(tvmffi_here, &m));
  (void)test_bad(tvmffi_here, &m, TEST_BAD_LIST);
  for (how = 0; (code = test_in_marked(tvmffi_here, &m, how)) != test_no_use;
       ++how)
    CHECK_INT(code, -1);
  CHECK(how >= 12);
  CHECK_LOG("");
  FAILS(1, "OverflowError", NULL);
  /* The error is handled. Another one marks nothing: a clean-up runs. */
  FAILS(tvmffi_call(tvmffi_obj(m.fails), tvmffi_out_none(NULL)), "KeyError",
        NULL);
  code = tvmffi_call(tvmffi_obj(m.fails), tvmffi_out_none(NULL));
  OK(tvmffi_call(tvmffi_obj(m.called), tvmffi_out_none(NULL), tvmffi_int(1)));
  CHECK_LOG("c");
  FAILS(code, "KeyError", NULL);
  /* Another scope is not marked, and a scope that is closed is no longer. */
  (void)test_bad(tvmffi_here, &m, TEST_BAD_LIST);
  code = tvmffi_list(tvmffi_int(1)) ? 0 : -1;
  CHECK(test_empty_list(other) || test_hits());
  tvmffi_scope_close(other);
  tvmffi_scope_close(tvmffi_here);
  CHECK(test_empty_list(tvmffi_here) || test_hits());
  FAILS(code, "OverflowError", NULL);
}

/* The state of a closure that is not made ends at once. */
TVMFFI_CLOSURE(u_marked_closure, char, none) {
  (void)self;
  TVMFFI_RETURN();
}
static void test_marked_closure(TVMFFI_HERE) {
  static char letter[] = "d";
  TVMFFIObject *f = NULL;
  (void)tvmffi_map(tvmffi_int(1));
  FAILS(TVMFFI_CLOSURE_NEW(u_marked_closure, letter, test_say_deleter, &f),
        "ValueError", NULL);
  CHECK_LOG("d");
}

/* A body fails if its scope is marked at its end. What it returns is
   released. */
TVMFFI_FUNC(u_marked, any, (int64, how)) {
  TVMFFIObject *o = test_speakers(tvmffi_here, "o");
  if (o) (void)tvmffi_map(tvmffi_int(1));
  if (how == 0) TVMFFI_RETURN(tvmffi_int(7));
  if (how == 1) TVMFFI_RETURN(tvmffi_obj(o));
  if (how == 2) return 0;
  tvmffi_error_clear();
  TVMFFI_RETURN(tvmffi_int(7));
}
static void test_marked_body(TVMFFI_HERE) {
  TVMFFIAny how, result = tvmffi_none();
  int i;
  for (i = 0; i < 4; ++i) {
    how = tvmffi_int(i);
    if (i < 3) {
      FAILS(tvmffi_func_u_marked.call(NULL, &how, 1, &result), "ValueError",
            NULL);
      CHECK_INT(result.type_index, kTVMFFINone);
    } else {
      OK(tvmffi_func_u_marked.call(NULL, &how, 1, &result));
      CHECK_INT(result.v_int64, 7);
    }
    if (!test_hits()) CHECK_LOG("o");
    test_log_size = 0;
  }
}

#if TVMFFI_I_CLEANUP
/* A scope in a marked one begins marked. It does not mark the one around it,
   where its NULL is that of a maker. */
static TVMFFIObject *test_bad_inside(TVMFFI_HERE) {
  {
    TVMFFI_SCOPE;
    return tvmffi_scope_to_parent(tvmffi_map(tvmffi_int(1)));
  }
}
static void test_marked_inside(TVMFFI_HERE) {
  TVMFFIObject *o;
  FAILS(!tvmffi_list(tvmffi_obj(test_bad_inside(tvmffi_here))), "ValueError",
        "ffi.Map needs a value for each key, but got 1 in all");
  OK(tvmffi_list(tvmffi_int(1)) ? 0 : -1);
  o = test_bad_inside(tvmffi_here);
  CHECK(tvmffi_list(tvmffi_int(1)) || test_hits());
  FAILS(!o, "ValueError", NULL);
  o = tvmffi_map(tvmffi_int(1));
  {
    TVMFFI_SCOPE;
    CHECK(!tvmffi_list(tvmffi_int(1)));
    FAILS(!o, "ValueError", NULL);
    OK(tvmffi_list(tvmffi_int(1)) ? 0 : -1);
  }
  OK(tvmffi_list(tvmffi_int(1)) ? 0 : -1);
}
#endif

#if !TEST_NO_TYPES
/* A tree in one expression: each of its makers may fail. */
static void test_made_tree(TVMFFI_HERE) {
  TVMFFIObject *f = NULL;
  int code;
  OK(TVMFFI_FUNCTION_NEW(u_called, &f));
  code = tvmffi_call(
      tvmffi_obj(f), tvmffi_out_none(NULL),
      tvmffi_obj(TVMFFI_NEW(
          TestTree,
          tvmffi_obj(tvmffi_list(tvmffi_obj(tvmffi_array(tvmffi_int(1))))),
          tvmffi_obj(TVMFFI_NEW(
              TestTree, tvmffi_obj(tvmffi_map(tvmffi_str("a text of its own"),
                                              tvmffi_obj(tvmffi_shape()))))))));
  CHECK_LOG(code ? "" : "c");
  OK(code);
}
#endif
#endif

static const test_case test_mark_cases[] = {
#if !TEST_NO_TYPED && !TVMFFI_NO_CONTAINERS
    {"marks: a maker's NULL as an argument", test_null_of_maker},
    {"marks: in a marked scope", test_marked_scope},
    {"marks: a closure's state", test_marked_closure},
    {"marks: the end of a body", test_marked_body},
#if TVMFFI_I_CLEANUP
    {"marks: scopes in scopes", test_marked_inside},
#endif
#if !TEST_NO_TYPES
    {"marks: a tree", test_made_tree},
#endif
#endif
    {NULL, NULL}};
