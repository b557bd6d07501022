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

/* So many letters into a scope; gives the last one. */
static TVMFFIObject *test_attach(const char *letters) {
  TVMFFIObject *last = NULL;
  for (; *letters; ++letters) {
    last = tvmffi_scope_attach(test_speaker(letters));
    if (!last) return last;
  }
  return last;
}

#ifdef TVMFFI_SCOPE
static void test_scopes(void) {
  TVMFFIObject *a, *b, *kept = NULL;
  int i;
  TVMFFI_SCOPE {
    OK(test_attach("abc") ? 0 : -1);
    CHECK_INT(tvmffi_scope_count(kTVMFFIOpaquePyObject), 3);
    CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 3);
    CHECK_INT(tvmffi_scope_count(kTVMFFIList), 0);
    TVMFFI_SCOPE {
      OK(test_attach("de") ? 0 : -1);
      CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 5);
    }
    CHECK_LOG("ed");
  }
  CHECK_LOG("cba");
  TVMFFI_SCOPE { /* what leaves its scope */
    a = test_attach("a");
    OK(a ? 0 : -1);
    TVMFFI_SCOPE {
      b = test_attach("b");
      OK(b ? 0 : -1);
      OK(test_attach("c") ? 0 : -1);
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
  for (i = 0; i < 3; ++i) { /* break and continue leave the block */
    TVMFFI_SCOPE {
      OK(test_attach("x") ? 0 : -1);
      if (i == 1) continue;
      if (i == 2) break;
    }
  }
  CHECK_LOG("xxx");
}

/* More objects than stand in the scope itself, some of them taken out. */
static void test_large_scope(void) {
  TVMFFIObject *o[100];
  int i;
  TVMFFI_SCOPE {
    for (i = 0; i < 100; ++i) {
      o[i] = test_attach("x");
      OK(o[i] ? 0 : -1);
    }
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

/* A function of this file that makes something, and one that opens a scope. */
TVMFFI_FUNC(u_letter, object) {
  TVMFFIObject *q;
  CHECK_INT(tvmffi_scope_end(NULL), -1);
  tvmffi_error_clear();
  q = test_speaker("q");
  if (!q || tvmffi_scope_attach(q)) return -1;
  tvmffi_error_clear(); /* no scope is open here */
  TVMFFI_RETURN(test_speaker("p"));
}
TVMFFI_FUNC(u_letter_of_scope, any) {
  TVMFFI_SCOPE {
    TVMFFIObject *p = test_attach("op");
    if (!p) return -1;
    TVMFFI_RETURN(tvmffi_obj(tvmffi_scope_detach(p)));
  }
  return -1;
}

static int test_call_in_scope(const char *name, TVMFFIObject **out) {
  TVMFFI_SCOPE {
    TVMFFIObject *f = NULL, *o = NULL;
    TVMFFIAny any = tvmffi_none();
    if (*name == 'l')
      TVMFFI_TRY(tvmffi_function(u_letter, &f));
    else
      TVMFFI_TRY(tvmffi_function(u_letter_of_scope, &f));
    TVMFFI_TRY(tvmffi_call(tvmffi_obj(f), tvmffi_out_object(&o)));
    TVMFFI_TRY(tvmffi_call(tvmffi_obj(f), tvmffi_out_any(&any)));
    TVMFFI_TRY(tvmffi_call(tvmffi_obj(f), tvmffi_out_none(NULL)));
    CHECK_INT(tvmffi_scope_count(kTVMFFIFunction), 1);
    CHECK_INT(tvmffi_scope_count(kTVMFFIOpaquePyObject), 2);
    *out = tvmffi_scope_detach(o);
  }
  return 0;
}

static void test_scoped_results(void) {
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
#endif

/* NULL is None, or the error that is why. */
TVMFFI_FUNC(u_null, object, (bool, fail)) {
  if (fail) (void)TVMFFI_RAISE("ValueError", "why it is NULL");
  TVMFFI_RETURN(NULL);
}
static void test_null_results(void) {
  TVMFFIObject *f = NULL;
  TVMFFIAny any = tvmffi_int(1);
  OK(tvmffi_function(u_null, &f));
  OWN(f);
  OK(tvmffi_call(tvmffi_obj(f), tvmffi_out_any(&any), tvmffi_bool(0)));
  CHECK_INT(any.type_index, kTVMFFINone);
  FAILS(tvmffi_call(tvmffi_obj(f), tvmffi_out_any(&any), tvmffi_bool(1)),
        "ValueError", "why it is NULL");
}

static void test_bad_scopes(void) {
  tvmffi_scope outer, inner, never;
  TVMFFIObject *o = test_speaker("o");
  OK(o ? 0 : -1);
  OWN(o);
  FAILS(tvmffi_scope_end(&never), "RuntimeError",
        "tvmffi_scope_end: the scope is not open here");
  FAILS(!tvmffi_scope_detach(o), "RuntimeError",
        "tvmffi_scope_detach: the object is in no open scope");
  tvmffi_retain(o);
  FAILS(!tvmffi_scope_attach(o), "RuntimeError",
        "tvmffi_scope_attach: no scope is open here");
  CHECK_INT(test_strong(o), 1);
  FAILS(!tvmffi_scope_to_parent(o), "RuntimeError",
        "tvmffi_scope_to_parent: there is no parent scope");
  CHECK(!tvmffi_scope_attach(NULL) && !tvmffi_scope_detach(NULL) &&
        !tvmffi_scope_to_parent(NULL));
  tvmffi_scope_begin(&outer);
  FAILS(!tvmffi_scope_to_parent(o), "RuntimeError", NULL);
  tvmffi_scope_begin(&inner);
  FAILS(!tvmffi_scope_to_parent(o), "RuntimeError",
        "tvmffi_scope_to_parent: the object is not in the innermost scope");
  FAILS(!tvmffi_scope_detach(o), "RuntimeError", NULL);
  tvmffi_retain(o);
  CHECK(tvmffi_scope_attach(o) == o);
  CHECK(tvmffi_scope_end(&outer) == 0); /* and the inner one */
  CHECK_INT(test_strong(o), 1);
  CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 0);
  FAILS(tvmffi_scope_end(&inner), "RuntimeError", NULL);
  FAILS(tvmffi_scope_end(&outer), "RuntimeError", NULL);
  test_drop(o);
  CHECK_LOG("o");
}

#if TVMFFI_DEBUG
/* The report names objects whose type index is not registered, and complains
   about those that have no record. Neither raises. */
static void test_debug_unregistered(void) {
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
  CHECK(test_contains(tvmffi_any_str(&tvmffi_i_printing),
                      " x an unregistered type, handed out at here:1"));
  tvmffi_any_release(&tvmffi_i_printing);
  tvmffi_release(o);
  CHECK_LOG("3");
  memset((void *)&unknown, 0, sizeof(unknown));
  tvmffi_i_debug_complain(&unknown, kTVMFFIObjectDeleterFlagBitMaskBoth);
  CHECK_INT(tvmffi_i_num_complaints, complaints + 1);
  OK(tvmffi_i_report());
  CHECK(test_contains(tvmffi_any_str(&tvmffi_i_printing),
                      "released although it is dead: an unregistered type"));
  tvmffi_any_release(&tvmffi_i_printing);
}
#endif

#if TVMFFI_DEBUG && !TVMFFI_NO_CONTAINERS
/* Looks for a part of what the leak report would print now. */
static int test_report_has(const char *part) {
  int has = tvmffi_i_report() == 0 &&
            test_contains(tvmffi_any_str(&tvmffi_i_printing), part);
  tvmffi_any_release(&tvmffi_i_printing);
  return has;
}

static void test_debug(void) {
  TVMFFIObject *a, *b;
  int64_t lists = tvmffi_live_count(kTVMFFIList), found;
  int i;
  if (test_oom) return; /* an object without memory for its record is unseen */
  CHECK(lists >= 0 && tvmffi_live_count(kTVMFFIAny) >= lists);
  CHECK(!test_report_has(" x ffi.List, handed out at " __FILE__ ":"));
  found = tvmffi_i_num_found;
  OK((a = tvmffi_list(tvmffi_int(1))) ? 0 : -1);
  CHECK_INT(tvmffi_live_count(kTVMFFIList), lists + 1);
  CHECK(test_report_has("1 x ffi.List, handed out at " __FILE__ ":"));
  CHECK_INT(tvmffi_i_num_found, found + 1);
  tvmffi_release(a);
  CHECK_INT(tvmffi_live_count(kTVMFFIList), lists);
  tvmffi_release(a); /* as often as one likes */
  tvmffi_release(a);
  for (i = 0; i < 2000; ++i) { /* it is remembered for so long */
    OK((b = tvmffi_list()) ? 0 : -1);
    tvmffi_release(b);
  }
  CHECK(test_report_has(
      "released although it is dead: ffi.List, handed out at " __FILE__ ":"));
  CHECK_INT(tvmffi_i_num_found, found + 2);
  CHECK(!test_report_has("dead"));
}
#endif
#endif

static const test_case test_scope_cases[] = {
#if !TEST_NO_TYPED
#ifdef TVMFFI_SCOPE
    {"scopes: blocks", test_scopes},
    {"scopes: many objects", test_large_scope},
    {"scopes: results of calls", test_scoped_results},
#endif
    {"scopes: NULL for a result", test_null_results},
    {"scopes: mistakes", test_bad_scopes},
#if TVMFFI_DEBUG
    {"scopes: leaks of unregistered types", test_debug_unregistered},
#endif
#if TVMFFI_DEBUG && !TVMFFI_NO_CONTAINERS
    {"scopes: leaks and dead objects", test_debug},
#endif
#endif
    {NULL, NULL}};
