/* ======== Scopes: objects that a scope releases =========================== */

#pragma once

#include "harness.h"
#include "object.h"

#if !TEST_NO_TYPED
/* An object that says its letter when it ends: the caller's, or the scope's. */
static TVMFFIObject *test_speaker(const char *letter) {
  TVMFFIObjectHandle o = NULL;
  if (TVMFFIObjectCreateOpaque((void *)(uintptr_t)letter, kTVMFFIOpaquePyObject,
                               test_say_deleter, &o))
    return NULL;
  return (TVMFFIObject *)o;
}

/* Attaches an object for each letter to the scope of this text; `last` is the
   last one. */
#define TEST_ATTACH(last, letters)                                      \
  do {                                                                  \
    const char *test_letter = letters;                                  \
    for (; *test_letter; ++test_letter) {                               \
      (last) = tvmffi_scope_attach(test_speaker(test_letter));          \
      OK((last) ? 0 : -1);                                              \
    }                                                                   \
  } while (0)

static void test_scopes(TVMFFI_HERE) {
  TVMFFIObject *a, *b, *c, *kept = NULL;
  TVMFFI_SCOPE {
    TEST_ATTACH(a, "abc");
    CHECK_INT(tvmffi_scope_count(kTVMFFIOpaquePyObject), 3);
    CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 3);
    CHECK_INT(tvmffi_scope_count(kTVMFFIList), 0);
    TVMFFI_SCOPE {
      TEST_ATTACH(a, "de");
      CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 5);
    }
    CHECK_LOG("ed");
  }
  CHECK_LOG("cba");
  TVMFFI_SCOPE { /* what leaves its scope */
    TEST_ATTACH(a, "a");
    TVMFFI_SCOPE {
      TEST_ATTACH(b, "b");
      TEST_ATTACH(c, "c");
      CHECK(tvmffi_scope_to_parent(b) == b);
      kept = tvmffi_scope_detach(a); /* of the scope around this one */
      CHECK(kept == a);
      OWN(kept);
    }
    CHECK_LOG("c");
  }
  CHECK_LOG("b");
  test_drop(kept);
  CHECK_LOG("a");
  CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 0);
}

/* A scope that is left early is empty, and goes on. */
static void test_leave_early(TVMFFI_HERE) {
  TVMFFIObject *o;
  TVMFFI_SCOPE {
    TEST_ATTACH(o, "abcdefghijklmnop");
    tvmffi_i_scope_close(tvmffi_here);
    CHECK_LOG("ponmlkjihgfedcba");
    TEST_ATTACH(o, "abcdefghijklmnop");
  }
  CHECK_LOG("ponmlkjihgfedcba");
}

/* A scope from its declaration to the end of its block. */
static void test_scope_rest(TVMFFI_HERE) {
  TVMFFIObject *o;
  int i;
  for (i = 0; i < 4; ++i) {
    TVMFFI_SCOPE_REST;
    TEST_ATTACH(o, "r");
#if TVMFFI_I_CLEANUP
    if (i == 1) continue;
    if (i == 2) break; /* of the loop */
#else
    if (i == 2) {
      TVMFFI_LEAVE();
      break;
    }
    TVMFFI_LEAVE();
#endif
    CHECK_INT(tvmffi_scope_count(kTVMFFIAny), TVMFFI_I_CLEANUP);
  }
  CHECK_INT(i, 2);
  CHECK_LOG("rrr");
}

#if TVMFFI_I_CLEANUP
/* Leaves a block in each way but its end. */
static int test_leave(int how) {
  int i;
  for (i = 0; i < 2; ++i) {
    TVMFFI_SCOPE {
      TVMFFIObject *o = tvmffi_scope_attach(test_speaker("x"));
      if (!o) return -1;
      if (how == 0) break; /* break and continue leave the block alone */
      if (how == 1) continue;
      if (how == 2) return 7;
      if (how == 3) goto out;
      TVMFFI_SCOPE { TVMFFI_TRY(9); }
    }
  }
out:
  return i;
}
static void test_ways_out(TVMFFI_HERE) {
  static const int codes[] = {2, 2, 7, 0, 9};
  int how, code;
  for (how = 0; how < 5; ++how) {
    code = test_leave(how);
    if (code != codes[how]) OK(code);
    CHECK_INT(test_log_size, how < 2 ? 2 : 1);
    test_log_size = 0;
  }
}

/* Both forms may end a function: no compiler may want a return behind them but
   GCC without optimisation. */
static int test_ends_function(int n) {
  if (n > 2)
    TVMFFI_SCOPE { return n; }
  else
    TVMFFI_SCOPE {
      if (n < 0) {
        TVMFFI_SCOPE_REST;
        return n;
      }
      return -n;
    }
#if defined(__GNUC__) && !defined(__clang__) && !defined(__OPTIMIZE__)
  return 0;
#endif
}
static void test_last_blocks(TVMFFI_HERE) {
  CHECK_INT(test_ends_function(3), 3);
  CHECK_INT(test_ends_function(2), -2);
}
#endif

/* More objects than stand in the scope itself, some of them taken out. */
static void test_large_scope(TVMFFI_HERE) {
  TVMFFIObject *o[100];
  int i;
  TVMFFI_SCOPE {
    for (i = 0; i < 100; ++i) TEST_ATTACH(o[i], "x");
    CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 100);
    for (i = 0; i < 100; i += 2) {
      tvmffi_release(tvmffi_scope_detach(o[i]));
      --test_log_size;
    }
    CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 50);
    tvmffi_release(tvmffi_scope_detach(o[99]));
    --test_log_size;
    TVMFFI_SCOPE {
      for (i = 1; i < 99; i += 2)
        if (!tvmffi_scope_attach(tvmffi_scope_detach(o[i]))) OK(-1);
      for (i = 1; i < 99; i += 2) {
        if (!tvmffi_scope_to_parent(o[i])) OK(-1);
      }
      CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 49);
    }
    CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 49);
    CHECK_INT(test_log_size, 0);
  }
  CHECK_INT(test_log_size, 49);
  test_log_size = 0;
}

/* Functions of this file that make objects. Their text is not in the scope of
   a caller, who is in this file, too. */
TVMFFI_FUNC(u_letter, object) {
  TVMFFIObject *q = test_speaker("q");
  CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 0);
  if (!q || tvmffi_scope_attach(q)) return -1;
  tvmffi_error_clear(); /* there is no scope here */
  TVMFFI_RETURN(test_speaker("p"));
}
TVMFFI_FUNC(u_letter_of_scope, any) {
  TVMFFI_SCOPE {
    TVMFFIObject *o = tvmffi_scope_attach(test_speaker("o")), *p = NULL;
    if (o) p = tvmffi_scope_attach(test_speaker("p"));
    if (p) TVMFFI_RETURN(tvmffi_obj(p));
  }
  return -1;
}

static int test_call_in_scope(const char *name, TVMFFIObject **out) {
  TVMFFI_SCOPE {
    TVMFFIObject *f = NULL, *o = NULL;
    TVMFFIAny any = tvmffi_none();
    if (*name == 'l')
      TVMFFI_TRY(tvmffi_function_new(u_letter, &f));
    else
      TVMFFI_TRY(tvmffi_function_new(u_letter_of_scope, &f));
    TVMFFI_TRY(tvmffi_call(tvmffi_obj(f), tvmffi_out_object(&o)));
    TVMFFI_TRY(tvmffi_call(tvmffi_obj(f), tvmffi_out_any(&any)));
    TVMFFI_TRY(tvmffi_call(tvmffi_obj(f), tvmffi_out_none(NULL)));
    CHECK_INT(tvmffi_scope_count(kTVMFFIFunction), 1);
    CHECK_INT(tvmffi_scope_count(kTVMFFIOpaquePyObject), 2);
    *out = tvmffi_scope_detach(o);
  }
  return 0;
}

static void test_scoped_results(TVMFFI_HERE) {
  TVMFFIObject *o = NULL;
  OK(test_call_in_scope("letter", &o));
  OWN(o);
  CHECK_LOG("qqqpp");
  test_drop(o);
  CHECK_LOG("p");
  OK(test_call_in_scope("scope", &o));
  OWN(o);
  CHECK_LOG("ooopp");
  test_drop(o);
  CHECK_LOG("p");
}

/* A helper that calls f and releases what it is handed, also of helpers: right
   outside a scope and inside one. */
static int test_helper(TVMFFIObject *f, int depth) {
  TVMFFIObject *o = NULL;
  TVMFFI_TRY(tvmffi_call(tvmffi_obj(f), tvmffi_out_object(&o)));
  CHECK_INT(test_strong(o), 1);
  tvmffi_release(o);
  if (depth > 2) return 0;
  TVMFFI_SCOPE {
    TVMFFI_TRY(tvmffi_call(tvmffi_obj(f), tvmffi_out_object(&o)));
    TVMFFI_TRY(test_helper(f, depth + 1));
    CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 1);
  }
  return 0;
}
static void test_helpers(TVMFFI_HERE) {
  TVMFFIObject *f = NULL;
  int code;
  OK(tvmffi_function_new(u_letter_of_scope, &f));
  OWN(f);
  OK(test_helper(f, 0));
  CHECK_LOG("opoopoopoopppp");
  TVMFFI_SCOPE {
    code = test_helper(f, 0);
    CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 0);
  }
  OK(code);
  CHECK_LOG("opoopoopoopppp");
}

/* A returned object is taken from the scope that owns it, once: the other
   references of the scope end, and those of the text stay. */
static TVMFFIObject *test_speaker_kept; /* the text's own */
TVMFFI_FUNC(u_return, object, (int64, how)) {
  TVMFFIObject *o = NULL;
  TVMFFI_SCOPE {
    TVMFFI_SCOPE {
      o = tvmffi_scope_attach(test_speaker("o"));
      if (!o) return -1;
      if (how == 0) TVMFFI_RETURN(o);
      if (how == 1) { /* held twice */
        tvmffi_retain(o);
        TVMFFI_TRY(tvmffi_scope_attach(o) ? 0 : -1);
        TVMFFI_RETURN(o);
      }
      if (how == 2) { /* retained once more */
        tvmffi_retain(o);
        test_speaker_kept = o;
        TVMFFI_RETURN(o);
      }
      TVMFFI_TRY(tvmffi_scope_to_parent(o) ? 0 : -1);
      TVMFFI_RETURN(o);
    }
  }
  return -1;
}
static void test_returns_in_scopes(TVMFFI_HERE) {
  TVMFFIObject *f = NULL, *o = NULL;
  int how;
  OK(tvmffi_function_new(u_return, &f));
  OWN(f);
  for (how = 0; how < 4; ++how) {
    OK(tvmffi_call(tvmffi_obj(f), tvmffi_out_object(&o), tvmffi_int(how)));
    CHECK_INT(test_strong(o), how == 2 ? 2 : 1);
    CHECK_INT(test_log_size, 0);
    tvmffi_release(o);
    if (how == 2) tvmffi_release(test_speaker_kept);
    CHECK_LOG("o");
  }
}

/* Text that is in no scope, between braces of one. */
static void test_scope_none(TVMFFI_HERE) {
  TVMFFI_SCOPE {
    TVMFFIObject *o;
    TEST_ATTACH(o, "a");
    {
      TVMFFI_SCOPE_NONE;
      CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 0);
      FAILS(!tvmffi_scope_detach(o), "RuntimeError", NULL);
    }
    CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 1);
  }
  CHECK_LOG("a");
}

#if TVMFFI_DEBUG && !TVMFFI_NO_THREADS && !defined(TVMFFI_THREAD_LOCAL)
/* A thread must not fill another one's scope. */
static void *test_other_thread(void *scope) {
  tvmffi_scope *const tvmffi_here = (tvmffi_scope *)scope;
  FAILS(!tvmffi_scope_attach(test_speaker("t")), "RuntimeError",
        "this scope belongs to another thread: open a scope in the parallel "
        "region");
  CHECK_LOG("t");
  return NULL;
}
static void test_scope_of_thread(TVMFFI_HERE) {
  pthread_t thread;
  if (test_oom) return;
  TVMFFI_SCOPE {
    CHECK_INT(pthread_create(&thread, NULL, test_other_thread, tvmffi_here), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 0);
  }
}
#endif

/* NULL is the error that is why, or an error of its own. */
TVMFFI_FUNC(u_null, object, (bool, fail)) {
  if (fail) (void)TVMFFI_RAISE("ValueError", "why it is NULL");
  TVMFFI_RETURN(NULL);
}
static void test_null_results(TVMFFI_HERE) {
  TVMFFIObject *f = NULL;
  TVMFFIAny any = tvmffi_int(1);
  OK(tvmffi_function_new(u_null, &f));
  OWN(f);
  FAILS(tvmffi_call(tvmffi_obj(f), tvmffi_out_any(&any), tvmffi_bool(0)),
        "TypeError", "...u_null returned no result: ");
  FAILS(tvmffi_call(tvmffi_obj(f), tvmffi_out_any(&any), tvmffi_bool(1)),
        "ValueError", "why it is NULL");
}

static void test_bad_scopes(TVMFFI_HERE) {
  TVMFFIObject *o = test_speaker("o");
  OK(o ? 0 : -1);
  OWN(o);
  FAILS(!tvmffi_scope_detach(o), "RuntimeError",
        "tvmffi_scope_detach: no scope here owns the object");
  tvmffi_retain(o);
  FAILS(!tvmffi_scope_attach(o), "RuntimeError",
        "tvmffi_scope_attach: there is no scope here");
  CHECK_INT(test_strong(o), 1);
  FAILS(!tvmffi_scope_to_parent(o), "RuntimeError",
        "tvmffi_scope_to_parent: there is no scope around this one");
  CHECK(!tvmffi_scope_attach(NULL) && !tvmffi_scope_detach(NULL) &&
        !tvmffi_scope_to_parent(NULL));
  TVMFFI_SCOPE {
    FAILS(!tvmffi_scope_to_parent(o), "RuntimeError", NULL);
    TVMFFI_SCOPE {
      FAILS(!tvmffi_scope_to_parent(o), "RuntimeError",
            "tvmffi_scope_to_parent: the object is not in the innermost scope");
      FAILS(!tvmffi_scope_detach(o), "RuntimeError", NULL);
      tvmffi_retain(o);
      CHECK(tvmffi_scope_attach(o) == o);
    }
    CHECK_INT(test_strong(o), 1);
  }
  CHECK_INT(test_strong(o), 1);
  test_drop(o);
  CHECK_LOG("o");
}

#if TVMFFI_DEBUG
/* The report names objects whose type index is not registered, and complains
   about those that have no record. Neither raises. */
static void test_debug_unregistered(TVMFFI_HERE) {
  TVMFFICustomAllocator *a = TVMFFIGetCustomAllocator();
  TVMFFIObject *o, unknown;
  int64_t complaints = tvmffi_i_num_complaints;
  if (test_oom) return;
  o = (TVMFFIObject *)a->allocate(sizeof(*o), 8, 123456789, a->context);
  OK(o ? 0 : -1);
  o->type_index = 123456789;
  o->combined_ref_count = TVMFFI_I_BOTH_ONE;
  o->deleter = test_allocated_deleter;
  memcpy((*tvmffi_i_record_of(o))->made, "here:1", 7);
  OK(tvmffi_i_report());
  CHECK(test_contains(tvmffi_any_str(tvmffi_i_printing()),
                      " x an unregistered type, obtained at here:1"));
  tvmffi_any_release(tvmffi_i_printing());
  tvmffi_release(o);
  CHECK_LOG("3");
  memset((void *)&unknown, 0, sizeof(unknown));
  tvmffi_i_debug_complain(&unknown, kTVMFFIObjectDeleterFlagBitMaskBoth);
  CHECK_INT(tvmffi_i_num_complaints, complaints + 1);
  OK(tvmffi_i_report());
  CHECK(test_contains(tvmffi_any_str(tvmffi_i_printing()),
                      "double release: an unregistered type"));
  tvmffi_any_release(tvmffi_i_printing());
}
#endif

#if TVMFFI_DEBUG && !TVMFFI_NO_CONTAINERS
/* Looks for a part of what the leak report would print now. */
static int test_report_has(const char *part) {
  int has = tvmffi_i_report() == 0 &&
            test_contains(tvmffi_any_str(tvmffi_i_printing()), part);
  tvmffi_any_release(tvmffi_i_printing());
  return has;
}

/* What a global function or a field's default owns is no leak. */
static void test_debug_registered(TVMFFI_HERE) {
  static const char name[] = "unit.registered";
  static char column[] = "__unit_registered_a__";
  TVMFFIByteArray attr = {column, sizeof(column) - 1};
  TVMFFIObject *f = NULL, *list, *inner;
  TVMFFIAny value;
  int64_t found;
  if (test_oom) return;
  OK(tvmffi_i_report());
  found = *tvmffi_i_num_found();
  OK(tvmffi_function_new(u_letter, &f));
  OK(tvmffi_register_object(name, f));
  CHECK(test_report_has("1 x ffi.Function, obtained at " __FILE__ ":"));
  CHECK_INT(*tvmffi_i_num_found(), found + 1); /* the text's reference */
  tvmffi_release(f);
  OK((inner = tvmffi_array(tvmffi_int(1))) ? 0 : -1);
  OK((list = tvmffi_list(tvmffi_obj(inner), tvmffi_obj(inner))) ? 0 : -1);
  value = tvmffi_obj(list);
  OK(TVMFFITypeRegisterAttr(kTVMFFIOpaquePyObject, &attr, &value));
  ++column[18]; /* another one each time */
  tvmffi_release(list);
  CHECK(test_report_has("1 x ffi.Array, obtained at " __FILE__ ":"));
  CHECK_INT(*tvmffi_i_num_found(), found + 1);
  tvmffi_release(inner);
  OK(tvmffi_i_report());
  CHECK_INT(*tvmffi_i_num_found(), found);
  tvmffi_any_release(tvmffi_i_printing());
  OK(tvmffi_call(tvmffi_str("ffi.FunctionRemoveGlobal"), tvmffi_out_none(NULL),
                 tvmffi_str(name)));
}

static void test_debug(TVMFFI_HERE) {
  TVMFFIObject *a, *b;
  int64_t lists = tvmffi_live_count(kTVMFFIList), found;
  int i;
  if (test_oom) return; /* an object without memory for its record is unseen */
  CHECK(lists >= 0 && tvmffi_live_count(kTVMFFIAny) >= lists);
  CHECK(!test_report_has(" x ffi.List, obtained at " __FILE__ ":"));
  found = *tvmffi_i_num_found();
  OK((a = tvmffi_list(tvmffi_int(1))) ? 0 : -1);
  CHECK_INT(tvmffi_live_count(kTVMFFIList), lists + 1);
  CHECK(test_report_has("1 x ffi.List, obtained at " __FILE__ ":"));
  CHECK_INT(*tvmffi_i_num_found(), found + 1);
  tvmffi_release(a);
  CHECK_INT(tvmffi_live_count(kTVMFFIList), lists);
  tvmffi_release(a); /* as often as one likes */
  tvmffi_release(a);
  for (i = 0; i < 2000; ++i) { /* it is remembered for so long */
    OK((b = tvmffi_list()) ? 0 : -1);
    tvmffi_release(b);
  }
  CHECK(test_report_has(
      "double release: ffi.List, obtained at " __FILE__ ":"));
  CHECK_INT(*tvmffi_i_num_found(), found + 2);
  CHECK(!test_report_has("dead"));
}
#endif
#endif

static const test_case test_scope_cases[] = {
#if !TEST_NO_TYPED
    {"scopes: blocks", test_scopes},
    {"scopes: left early", test_leave_early},
    {"scopes: the rest of a block", test_scope_rest},
#if TVMFFI_I_CLEANUP
    {"scopes: ways out", test_ways_out},
    {"scopes: the last block of a function", test_last_blocks},
#endif
    {"scopes: many objects", test_large_scope},
    {"scopes: results of calls", test_scoped_results},
    {"scopes: helpers", test_helpers},
    {"scopes: returned objects", test_returns_in_scopes},
    {"scopes: none", test_scope_none},
#if TVMFFI_DEBUG && !TVMFFI_NO_THREADS && !defined(TVMFFI_THREAD_LOCAL)
    {"scopes: of one thread", test_scope_of_thread},
#endif
    {"scopes: NULL for a result", test_null_results},
    {"scopes: mistakes", test_bad_scopes},
#if TVMFFI_DEBUG
    {"scopes: leaks of unregistered types", test_debug_unregistered},
#endif
#if TVMFFI_DEBUG && !TVMFFI_NO_CONTAINERS
    {"scopes: leaks and dead objects", test_debug},
    {"scopes: what tables own is no leak", test_debug_registered},
#endif
#endif
    {NULL, NULL}};
