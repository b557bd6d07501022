/* ======== Scopes: objects that a scope releases =========================== */

#pragma once

#include "harness.h"
#include "object.h"

#if !TEST_NO_TYPED
/* An object that says its letter when it ends. The caller owns it. */
static TVMFFIObject *test_speaker(const char *letter) {
  TVMFFIObjectHandle o = NULL;
  if (TVMFFIObjectCreateOpaque((void *)(uintptr_t)letter, kTVMFFIOpaquePyObject,
                               test_say_deleter, &o))
    return NULL;
  return (TVMFFIObject *)o;
}

/* Makes an object of the scope for each letter. Returns the last one, or NULL
   with an error. */
static TVMFFIObject *test_speakers(TVMFFI_HERE, const char *letters) {
  TVMFFIObject *last = NULL;
  for (; *letters; ++letters) {
    last = tvmffi_scope_attach(test_speaker(letters));
    if (!last) return NULL;
  }
  return last;
}

static int test_speak(TVMFFI_HERE, const char *letters) {
  return test_speakers(tvmffi_here, letters) ? 0 : -1;
}

/* A scope between two calls releases the newest object first. Closed, it is
   empty and goes on. */
static void test_opened_scope(TVMFFI_HERE) {
  static const char *const letters[] = {"abc", "abcdefghijklmnop", "de"};
  static const char *const logs[] = {"cba", "ponmlkjihgfedcba", "ed"};
  tvmffi_scope scope, *opened = tvmffi_scope_open(&scope);
  int i, code = 0;
  CHECK(opened == &scope);
  for (i = 0; !code && i < 3; ++i) {
    code = test_speak(opened, letters[i]);
    if (!code) {
      int size = (int)strlen(letters[i]);
      CHECK_INT(tvmffi_i_scope_count(opened, kTVMFFIOpaquePyObject), size);
      CHECK_INT(tvmffi_i_scope_count(opened, kTVMFFIAny), size);
      CHECK_INT(tvmffi_i_scope_count(opened, kTVMFFIList), 0);
      CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 0); /* of the test's own */
    }
    tvmffi_scope_close(opened);
    if (!code) CHECK_LOG(logs[i]);
  }
  OK(code);
}

/* What a deleter attaches to the scope that is being closed ends with it. */
static tvmffi_scope *test_closing;
static int test_closing_code;
static void test_closing_deleter(void *letter) {
  test_say_deleter(letter);
  test_closing_code = test_speak(test_closing, "xy");
}
static int test_speak_at_close(TVMFFI_HERE, const char *letter) {
  TVMFFIObjectHandle o = NULL;
  TVMFFI_TRY(TVMFFIObjectCreateOpaque((void *)(uintptr_t)letter,
                                      kTVMFFIOpaquePyObject,
                                      test_closing_deleter, &o));
  return tvmffi_scope_attach((TVMFFIObject *)o) ? 0 : -1;
}
static int test_speak_all(tvmffi_scope *scope) {
  test_closing = scope;
  test_closing_code = 0;
  TVMFFI_TRY(test_speak(scope, "ab"));
  TVMFFI_TRY(test_speak_at_close(scope, "c"));
  return test_speak(scope, "d");
}
static void test_attached_at_close(TVMFFI_HERE) {
  tvmffi_scope scope;
  int code = test_speak_all(tvmffi_scope_open(&scope));
  tvmffi_scope_close(test_closing);
  OK(code ? code : test_closing_code);
  CHECK_LOG("dcyxba");
#if TVMFFI_I_CLEANUP
  {
    TVMFFI_SCOPE;
    code = test_speak_all(tvmffi_here);
  }
  OK(code ? code : test_closing_code);
  CHECK_LOG("dcyxba");
#endif
}

/* A function with the parameter TVMFFI_HERE gives objects to its caller's
   scope, through any number of such functions. */
static TVMFFIObject *test_hand_up(TVMFFI_HERE, int depth) {
  TVMFFIObject *o = test_speakers(tvmffi_here, "x");
  return depth && o ? test_hand_up(tvmffi_here, depth - 1) : o;
}
static void test_handed_up(TVMFFI_HERE) {
  TVMFFIObject *o = test_hand_up(tvmffi_here, 2);
  OK(o ? 0 : -1);
  CHECK_INT(test_strong(o), 1);
  CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 3);
  tvmffi_scope_close(tvmffi_here);
  CHECK_LOG("xxx");
}

/* tvmffi_keep: a reference that outlives the scope. */
typedef struct {
  TVMFFIObject base;
} test_derived;
static int test_keep_some(TVMFFI_HERE, TVMFFIObject **slot,
                          test_derived **own) {
  TVMFFIObject *a = test_speakers(tvmffi_here, "ab"), *c = NULL;
  if (a) c = test_speakers(tvmffi_here, "c");
  if (!c) return -1;
  tvmffi_keep(slot, a);
  CHECK_INT(test_strong(a), 2);
  tvmffi_keep(slot, c); /* in place of the other one */
  CHECK_INT(test_strong(a), 1);
  tvmffi_keep(slot, *slot);
  CHECK(*slot == c && test_strong(c) == 2);
  tvmffi_keep(own, (test_derived *)(void *)a);
  return 0;
}
static void test_keep(TVMFFI_HERE) {
  TVMFFIObject *slot = NULL, *none = NULL;
  test_derived *own = NULL;
  tvmffi_scope scope;
  int code = test_keep_some(tvmffi_scope_open(&scope), &slot, &own);
  tvmffi_scope_close(&scope);
  OK(code);
  CHECK_LOG("a");
  CHECK(test_strong(slot) == 1 && test_strong(own) == 1);
  tvmffi_keep(&slot, none);
  CHECK(!slot);
  CHECK_LOG("c");
  tvmffi_release(own);
  CHECK_LOG("b");
}

/* More objects than fit into the scope itself. */
static void test_large_scope(TVMFFI_HERE) {
  int i;
  for (i = 0; i < 100; ++i) OK(test_speak(tvmffi_here, "x"));
  CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 100);
  tvmffi_scope_close(tvmffi_here);
  CHECK_INT(test_log_size, 100);
  test_log_size = 0;
}

#if TVMFFI_I_CLEANUP
static void test_scopes(TVMFFI_HERE) {
  TVMFFIObject *a, *b;
  {
    TVMFFI_SCOPE;
    OK(test_speak(tvmffi_here, "abc"));
    {
      TVMFFI_SCOPE;
      OK(test_speak(tvmffi_here, "de"));
      CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 5);
    }
    CHECK_LOG("ed");
    CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 3);
  }
  CHECK_LOG("cba");
  {
    TVMFFI_SCOPE;
    OK((a = test_speakers(tvmffi_here, "a")) ? 0 : -1);
    {
      TVMFFI_SCOPE;
      OK((b = test_speakers(tvmffi_here, "b")) ? 0 : -1);
      OK(test_speak(tvmffi_here, "c"));
      OK(tvmffi_scope_to_parent(b) == b ? 0 : -1);
      FAILS(!tvmffi_scope_to_parent(a), "RuntimeError",
            "tvmffi_scope_to_parent: the object is not in the innermost scope");
      CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 3);
    }
    CHECK_LOG("c");
    CHECK(test_strong(a) == 1 && test_strong(b) == 1);
  }
  CHECK_LOG("ba");
  CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 0);
}

/* Leaves a scope in each way but its end. */
static int test_leave(int how) {
  int i;
  for (i = 0; i < 2; ++i) {
    TVMFFI_SCOPE;
    TVMFFI_TRY(test_speak(tvmffi_here, "x"));
    if (how == 0) break;
    if (how == 1) continue;
    if (how == 2) return 7;
    if (how == 3) goto out;
    {
      TVMFFI_SCOPE;
      TVMFFI_TRY(test_speak(tvmffi_here, "y"));
      TVMFFI_TRY(9);
    }
  }
out:
  return i;
}
static void test_ways_out(TVMFFI_HERE) {
  static const int codes[] = {0, 2, 7, 0, 9};
  static const char *const logs[] = {"x", "xx", "x", "x", "yx"};
  int how, code;
  for (how = 0; how < 5; ++how) {
    code = test_leave(how);
    if (code != codes[how]) OK(code);
    CHECK_LOG(logs[how]);
  }
}

/* A function's last statement may return from a scope. A value is computed
   before the scope ends. */
static int64_t test_ends_function(int n) {
  TVMFFI_SCOPE;
  TVMFFI_TRY(test_speak(tvmffi_here, "x"));
  if (n > 2) {
    TVMFFI_SCOPE;
    TVMFFI_TRY(test_speak(tvmffi_here, "yz"));
    return tvmffi_scope_count(kTVMFFIAny);
  } else {
    return tvmffi_scope_count(kTVMFFIAny);
  }
}
static void test_last_statements(TVMFFI_HERE) {
  int64_t n = test_ends_function(3);
  if (n < 0) OK(-1);
  CHECK_INT(n, 3);
  CHECK_LOG("zyx");
  n = test_ends_function(2);
  if (n < 0) OK(-1);
  CHECK_INT(n, 1);
  CHECK_LOG("x");
}

/* Objects that leave a large scope, from its middle and from its end. */
static void test_large_to_parent(TVMFFI_HERE) {
  TVMFFIObject *o[100];
  int i;
  {
    TVMFFI_SCOPE;
    for (i = 0; i < 100; ++i)
      OK((o[i] = test_speakers(tvmffi_here, "x")) ? 0 : -1);
    for (i = 0; i < 100; i += 2) OK(tvmffi_scope_to_parent(o[i]) ? 0 : -1);
    OK(tvmffi_scope_to_parent(o[99]) ? 0 : -1);
    CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 100);
  }
  CHECK_INT(test_log_size, 49);
  CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 51);
  tvmffi_scope_close(tvmffi_here);
  CHECK_INT(test_log_size, 100);
  test_log_size = 0;
}

/* The enclosing scope has to grow, which may fail. Then an object of a full
   scope stays where it is. */
static void test_full_to_parent(TVMFFI_HERE) {
  TVMFFIObject *o[TVMFFI_I_SCOPE_FIRST];
  int i, moved;
  for (i = 0; i < TVMFFI_I_SCOPE_FIRST; ++i) OK(test_speak(tvmffi_here, "o"));
  {
    TVMFFI_SCOPE;
    for (i = 0; i < TVMFFI_I_SCOPE_FIRST; ++i)
      OK((o[i] = test_speakers(tvmffi_here, "i")) ? 0 : -1);
    moved = tvmffi_scope_to_parent(o[3]) != NULL;
    CHECK(moved || test_hits());
    tvmffi_error_clear();
    CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 2 * TVMFFI_I_SCOPE_FIRST);
  }
  CHECK_INT(test_log_size, TVMFFI_I_SCOPE_FIRST - moved);
  CHECK_INT(tvmffi_scope_count(kTVMFFIAny), TVMFFI_I_SCOPE_FIRST + moved);
  tvmffi_scope_close(tvmffi_here);
  CHECK_INT(test_log_size, 2 * TVMFFI_I_SCOPE_FIRST);
  test_log_size = 0;
}

/* A helper that hands out nothing has a scope of its own, in which the scopes
   of its callers are not seen. */
static int test_helper(TVMFFIObject *f, int depth) {
  TVMFFIObject *o = NULL;
  TVMFFI_SCOPE;
  TVMFFI_TRY(tvmffi_call(tvmffi_obj(f), tvmffi_out_object(&o)));
  CHECK_INT(test_strong(o), 1);
  if (depth < 2) TVMFFI_TRY(test_helper(f, depth + 1));
  CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 1);
  return 0;
}
#endif

/* The body of a typed function is a scope: of itself, not of its caller. */
TVMFFI_FUNC(u_letter, object) {
  CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 0);
  TVMFFI_RETURN(test_speakers(tvmffi_here, "qp"));
}
TVMFFI_FUNC(u_letter_any, any) {
  TVMFFIObject *o = test_speakers(tvmffi_here, "o");
  if (!o) return -1;
  CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 1);
  TVMFFI_TRY(test_speak(tvmffi_here, "n"));
  TVMFFI_RETURN(tvmffi_obj(o)); /* not the newest */
}

/* What a call gives belongs to the scope. A discarded result ends at once. */
static int test_call_in_scope(TVMFFI_HERE, tvmffi_func *typed,
                              TVMFFIObject **kept) {
  TVMFFIObject *f = NULL, *o = NULL;
  TVMFFIAny any = tvmffi_none();
  TVMFFI_TRY(tvmffi_i_scoped_function(TVMFFI_I_OWNER, typed, &f));
  TVMFFI_TRY(tvmffi_call(tvmffi_obj(f), tvmffi_out_object(&o)));
  TVMFFI_TRY(tvmffi_call(tvmffi_obj(f), tvmffi_out_any(&any)));
  TVMFFI_TRY(tvmffi_call(tvmffi_obj(f), tvmffi_out_none(NULL)));
  CHECK_INT(test_strong(o), 1);
  CHECK_INT(tvmffi_scope_count(kTVMFFIFunction), 1);
  CHECK_INT(tvmffi_scope_count(kTVMFFIOpaquePyObject), 2);
  tvmffi_keep(kept, o);
  return 0;
}
static void test_scoped_results(TVMFFI_HERE) {
  static tvmffi_func *const functions[] = {&tvmffi_func_u_letter,
                                           &tvmffi_func_u_letter_any};
  static const char *const logs[] = {"qqqpp", "nnnoo"};
  tvmffi_scope scope;
  int i;
  for (i = 0; i < 2; ++i) {
    TVMFFIObject *o = NULL;
    int code = test_call_in_scope(tvmffi_scope_open(&scope), functions[i], &o);
    tvmffi_scope_close(&scope);
    OK(code);
    CHECK_LOG(logs[i]);
    CHECK_INT(test_strong(o), 1);
    tvmffi_release(o);
    CHECK_LOG(i ? "o" : "p");
  }
  CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 0);
}

#if TVMFFI_I_CLEANUP
static void test_helpers(TVMFFI_HERE) {
  TVMFFIObject *f = NULL;
  OK(TVMFFI_FUNCTION_NEW(u_letter, &f));
  OK(test_helper(f, 0));
  CHECK_LOG("qqqppp");
  {
    TVMFFI_SCOPE;
    OK(test_helper(f, 1));
    CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 1);
  }
  CHECK_LOG("qqpp");
}
#endif

/* The body's scope ends in whichever way the body is left. */
TVMFFI_FUNC(u_leave, any, (int64, how)) {
  TVMFFI_TRY(test_speak(tvmffi_here, "x"));
  if (how == 0) return 0;
  if (how == 1) return TVMFFI_RAISE("KeyError", "no");
  TVMFFI_TRY(
      tvmffi_call(tvmffi_str("unit.no.such.function"), tvmffi_out_none(NULL)));
  TVMFFI_RETURN(tvmffi_int(1));
}
static void test_body_ends(TVMFFI_HERE) {
  static const char *const kinds[] = {"", "KeyError", "ValueError"};
  TVMFFIAny how, result = tvmffi_none();
  int i;
  for (i = 0; i < 3; ++i) {
    how = tvmffi_int(i);
    if (i)
      FAILS(tvmffi_func_u_leave.call(NULL, &how, 1, &result), kinds[i], NULL);
    else
      OK(tvmffi_func_u_leave.call(NULL, &how, 1, &result));
    CHECK_INT(result.type_index, kTVMFFINone);
    if (test_hits()) continue;
    CHECK_LOG("x");
  }
}

/* The caller gets one reference of its own to what is returned, whatever that
   is. */
enum {
  TEST_GIVES_NEW,
  TEST_GIVES_OLDER,     /* behind it, the body makes another object */
  TEST_GIVES_TWICE,     /* the scope has two references */
  TEST_GIVES_KEPT,      /* so does someone else */
  TEST_GIVES_PARAMETER, /* which is the caller's */
  TEST_GIVES_INNER,     /* of a scope in the body */
  TEST_GIVES_MOVED,     /* out of that scope */
  TEST_GIVES
};
static TVMFFIObject *test_speaker_kept;

/* Returns an object of a body in a way, or NULL with an error. */
static TVMFFIObject *test_object_of(TVMFFI_HERE, int how, TVMFFIObject *x) {
  TVMFFIObject *o;
  if (how == TEST_GIVES_PARAMETER) return x;
  o = test_speakers(tvmffi_here, "o");
  if (!o) return NULL;
  if (how == TEST_GIVES_OLDER && test_speak(tvmffi_here, "n")) return NULL;
  if (how == TEST_GIVES_KEPT) tvmffi_keep(&test_speaker_kept, o);
  if (how == TEST_GIVES_TWICE) {
    tvmffi_retain(o);
    return tvmffi_scope_attach(o);
  }
  return o;
}

/* The same body for each type of result. */
#if TVMFFI_I_CLEANUP
#define TEST_RETURN(value)                                             \
  if (how == TEST_GIVES_INNER || how == TEST_GIVES_MOVED) {            \
    TVMFFI_SCOPE;                                                      \
    o = test_object_of(tvmffi_here, (int)how, x);                      \
    if (!o || (how == TEST_GIVES_MOVED && !tvmffi_scope_to_parent(o))) \
      return -1;                                                       \
    TVMFFI_RETURN(value);                                              \
  }                                                                    \
  TEST_RETURN_LAST(value)
#else
#define TEST_RETURN TEST_RETURN_LAST
#endif
#define TEST_RETURN_LAST(value)                 \
  o = test_object_of(tvmffi_here, (int)how, x); \
  if (!o) return -1;                            \
  TVMFFI_RETURN(value);
TVMFFI_FUNC(u_return, object, (int64, how), (object, x)) {
  TVMFFIObject *o;
  TEST_RETURN(o)
}
TVMFFI_FUNC(u_return_opaque, opaque, (int64, how), (opaque, x)) {
  TVMFFIObject *o;
  TEST_RETURN(o)
}
TVMFFI_FUNC(u_return_optional, optional(object), (int64, how), (object, x)) {
  TVMFFIObject *o;
  TEST_RETURN(o)
}
TVMFFI_FUNC(u_return_any, any, (int64, how), (object, x)) {
  TVMFFIObject *o;
  TEST_RETURN(tvmffi_obj(o))
}
TVMFFI_FUNC(u_return_optional_any, optional(any), (int64, how), (object, x)) {
  TVMFFIObject *o;
  TEST_RETURN(tvmffi_some_any(tvmffi_obj(o)))
}

static void test_returned_objects(TVMFFI_HERE) {
  static tvmffi_func *const functions[] = {
      &tvmffi_func_u_return, &tvmffi_func_u_return_opaque,
      &tvmffi_func_u_return_optional, &tvmffi_func_u_return_any,
      &tvmffi_func_u_return_optional_any};
  TVMFFIAny args[2], result;
  TVMFFIObject *x = test_speakers(tvmffi_here, "x");
  int i, how;
  OK(x ? 0 : -1);
  args[1] = tvmffi_obj(x);
  for (i = 0; i < TEST_COUNT(functions); ++i) {
    for (how = 0; how < (TVMFFI_I_CLEANUP ? TEST_GIVES : TEST_GIVES_INNER);
         ++how) {
      int is_shared = how == TEST_GIVES_KEPT || how == TEST_GIVES_PARAMETER;
      result = tvmffi_none();
      args[0] = tvmffi_int(how);
      OK(functions[i]->call(NULL, args, 2, &result));
      CHECK_LOG(how == TEST_GIVES_OLDER ? "n" : "");
      CHECK((result.v_obj == x) == (how == TEST_GIVES_PARAMETER));
      CHECK_INT(test_strong(result.v_obj), 1 + is_shared);
      if (how == TEST_GIVES_KEPT) {
        tvmffi_release(test_speaker_kept);
        test_speaker_kept = NULL;
      }
      tvmffi_any_release(&result);
      CHECK_LOG(how == TEST_GIVES_PARAMETER ? "" : "o");
    }
  }
  CHECK_INT(test_strong(x), 1);
  tvmffi_scope_close(tvmffi_here);
  CHECK_LOG("x");
}

/* A text, bytes or nothing, returned as `any` or an optional. */
TVMFFI_FUNC(u_return_view, any, (int64, how)) {
  char text[32] = "a text of the body";
  TVMFFIByteArray bytes;
  if (how == 0) TVMFFI_RETURN(tvmffi_none());
  if (how == 1) text[5] = 0;
  if (how < 3) TVMFFI_RETURN(tvmffi_str(text));
  bytes.data = text;
  bytes.size = 12;
  TVMFFI_RETURN(tvmffi_bytes(&bytes));
}
TVMFFI_FUNC(u_return_some_view, optional(any), (int64, how)) {
  char text[32] = "a text of the body";
  if (!how) TVMFFI_RETURN(tvmffi_no_any());
  TVMFFI_RETURN(tvmffi_some_any(tvmffi_str(text)));
}
TVMFFI_FUNC(u_return_some_text, optional(str), (int64, how)) {
  char text[32] = "a text of the body";
  if (!how) TVMFFI_RETURN(tvmffi_no_str());
  TVMFFI_RETURN(tvmffi_some_str(tvmffi_byte_array(text)));
}
TVMFFI_FUNC(u_return_nothing, optional(object), (int64, how)) {
  (void)how;
  TVMFFI_RETURN(NULL);
}

static int test_call_with(const tvmffi_func *typed, int how,
                          TVMFFIAny *result) {
  TVMFFIAny arg = tvmffi_int(how);
  *result = tvmffi_none();
  return typed->call(NULL, &arg, 1, result);
}

static void test_returned_views(TVMFFI_HERE) {
  TVMFFIAny any, result;
  OK(test_call_with(&tvmffi_func_u_return_view, 0, &any));
  CHECK(any.type_index == kTVMFFINone && test_is_clean(&any));
  OK(test_call_with(&tvmffi_func_u_return_view, 1, &any));
  CHECK(any.type_index == kTVMFFISmallStr && test_is_clean(&any));
  CHECK_TEXT(tvmffi_any_str(&any), "a tex");
  OK(test_call_with(&tvmffi_func_u_return_view, 2, &any));
  OWN_ANY(any);
  CHECK_INT(any.type_index, kTVMFFIStr);
  CHECK_TEXT(tvmffi_any_str(&any), "a text of the body");
  OK(test_call_with(&tvmffi_func_u_return_view, 3, &any));
  OWN_ANY(any);
  CHECK_INT(any.type_index, kTVMFFIBytes);
  CHECK_TEXT(tvmffi_any_str(&any), "a text of th");
  OK(test_call_with(&tvmffi_func_u_return_some_view, 0, &any));
  CHECK_INT(any.type_index, kTVMFFINone);
  OK(test_call_with(&tvmffi_func_u_return_some_view, 1, &any));
  OWN_ANY(any);
  CHECK_TEXT(tvmffi_any_str(&any), "a text of the body");
  OK(test_call_with(&tvmffi_func_u_return_some_text, 0, &any));
  CHECK_INT(any.type_index, kTVMFFINone);
  any = tvmffi_int(0); /* an object that is none, of a hostile caller */
  any.type_index = kTVMFFIFunction;
  result = tvmffi_none();
  OK(tvmffi_func_u_any.call(NULL, &any, 1, &result));
  CHECK_INT(result.type_index, kTVMFFINone);
  OK(test_call_with(&tvmffi_func_u_return_some_text, 1, &any));
  OWN_ANY(any);
  CHECK_TEXT(tvmffi_any_str(&any), "a text of the body");
  OK(test_call_with(&tvmffi_func_u_return_nothing, 1, &any));
  CHECK_INT(any.type_index, kTVMFFINone);
}

#if !TVMFFI_NO_CONTAINERS
/* An item of a container is returned as it is found. What the container owns
   beside it ends with the container. */
TVMFFI_FUNC(u_return_item, any, (list, items), (int64, i)) {
  TVMFFIAny item;
  TVMFFI_TRY(tvmffi_at(tvmffi_obj(items), i, &item));
  TVMFFI_RETURN(item);
}
TVMFFI_FUNC(u_return_item_of_new, object) {
  TVMFFIObject *a = test_speakers(tvmffi_here, "a"), *b = NULL, *list = NULL;
  TVMFFIAny item;
  if (a) b = test_speakers(tvmffi_here, "b");
  if (b) list = tvmffi_list(tvmffi_obj(a), tvmffi_obj(b));
  TVMFFI_TRY(tvmffi_at(tvmffi_obj(list), 1, &item));
  TVMFFI_RETURN(item.v_obj);
}
/* The call owns a container that was converted; the body's scope does not. */
TVMFFI_FUNC(u_return_converted, list, (list, items)) {
  CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 0);
  TVMFFI_RETURN(items);
}

static void test_returned_items(TVMFFI_HERE) {
  TVMFFIAny args[2], any = tvmffi_none();
  TVMFFIObject *x = test_speakers(tvmffi_here, "x"), *list = NULL,
               *array = NULL;
  if (x)
    list = tvmffi_list(tvmffi_obj(x), tvmffi_int(7), tvmffi_str("a long text"));
  if (list) array = tvmffi_array(tvmffi_obj(x));
  OK(array ? 0 : -1);
  args[0] = tvmffi_obj(list);
  args[1] = tvmffi_int(0);
  OK(tvmffi_func_u_return_item.call(NULL, args, 2, &any));
  CHECK(any.v_obj == x && test_strong(x) == 4);
  tvmffi_any_release(&any);
  args[1] = tvmffi_int(1);
  OK(tvmffi_func_u_return_item.call(NULL, args, 2, &any));
  CHECK(any.type_index == kTVMFFIInt && any.v_int64 == 7);
  args[1] = tvmffi_int(2);
  any = tvmffi_none();
  OK(tvmffi_func_u_return_item.call(NULL, args, 2, &any));
  CHECK(any.type_index == kTVMFFIStr && test_strong(any.v_obj) == 2);
  tvmffi_any_release(&any);
  args[0] = tvmffi_obj(array);
  OK(tvmffi_func_u_return_converted.call(NULL, args, 1, &any));
  CHECK(any.type_index == kTVMFFIList && test_strong(any.v_obj) == 1);
  CHECK_INT(test_strong(x), 4);
  tvmffi_any_release(&any);
  CHECK_INT(test_strong(x), 3);
  OK(tvmffi_func_u_return_item_of_new.call(NULL, NULL, 0, &any));
  CHECK_LOG("a");
  CHECK_INT(test_strong(any.v_obj), 1);
  tvmffi_any_release(&any);
  CHECK_LOG("b");
  tvmffi_scope_close(tvmffi_here);
  CHECK_LOG("x");
}

/* Of makers that are nested, the error of the first that fails stays. */
static void test_nested_makers(TVMFFI_HERE) {
  TVMFFIAny large = tvmffi_uint(UINT64_MAX);
  TVMFFIObject *list;
  FAILS(!tvmffi_list(tvmffi_obj(tvmffi_array(tvmffi_int(1), large))),
        "OverflowError", NULL);
  FAILS(!tvmffi_map(tvmffi_str("a"), tvmffi_obj(tvmffi_dict(large))),
        "ValueError", "ffi.Dict needs a value for each key, but got 1 in all");
  (void)TVMFFI_RAISE("KeyError", "why it is NULL");
  FAILS(!tvmffi_shape(tvmffi_none()), "KeyError", "why it is NULL");
  OK((list = tvmffi_list(tvmffi_none())) ? 0 : -1); /* None is no failure */
  CHECK_INT(tvmffi_size(tvmffi_obj(list)), 1);
}
#endif

/* Outside all scopes. Only results that are objects need one. */
static int test_nowhere(TVMFFIObject *f, TVMFFIObject **out, TVMFFIAny *any,
                        int64_t *number) {
  const TVMFFIAny seven = tvmffi_int(7);
  static const char result[] =
      "result of the function: there is no scope here: add the parameter "
      "TVMFFI_HERE, or call tvmffi_scope_open";
  FAILS(tvmffi_call(tvmffi_obj(f), tvmffi_out_object(out)), "RuntimeError",
        result);
  CHECK(!*out);
  if (!test_hits()) CHECK_LOG("qp");
  FAILS(tvmffi_call(tvmffi_obj(f), tvmffi_out_any(any)), "RuntimeError",
        result);
  CHECK_INT(any->type_index, kTVMFFINone);
  if (!test_hits()) CHECK_LOG("qp");
#if !TVMFFI_I_SELECTS && !defined(__cplusplus)
  const char *const no_scope = result + strlen("result of the function: ");
  FAILS(TVMFFI_FUNCTION_NEW(u_letter, out), "RuntimeError", no_scope);
  CHECK(!*out);
  FAILS(!tvmffi_scope_attach(test_speaker("s")), "RuntimeError", no_scope);
  if (!test_hits()) CHECK_LOG("s");
#if !TVMFFI_NO_CONTAINERS
  FAILS(!tvmffi_list(seven), "RuntimeError", no_scope);
#endif
#endif
  TVMFFI_TRY(tvmffi_call(tvmffi_obj(f), tvmffi_out_none(NULL)));
  if (!test_hits()) CHECK_LOG("qp");
  return tvmffi_as(seven, tvmffi_out_int64(number));
}
static void test_no_scope(TVMFFI_HERE) {
  TVMFFIObject *f = NULL, *o = NULL;
  TVMFFIAny any = tvmffi_none();
  int64_t number = 0;
  OK(TVMFFI_FUNCTION_NEW(u_letter, &f));
  OK(test_nowhere(f, &o, &any, &number));
  CHECK_INT(number, 7);
}

#if defined(__cplusplus) && defined(__cpp_exceptions)
/* An exception ends a scope, and a body's, too. */
TVMFFI_FUNC(u_throw, none) {
  TVMFFI_TRY(test_speak(tvmffi_here, "xy"));
  throw 'z';
}
static void test_thrown_scopes(TVMFFI_HERE) {
  TVMFFIAny result = tvmffi_none();
  try {
    TVMFFI_SCOPE;
    OK(test_speak(tvmffi_here, "ab"));
    OK(tvmffi_func_u_throw.call(NULL, NULL, 0, &result));
  } catch (char thrown) {
    test_say(thrown);
  }
  CHECK_LOG("yxbaz");
}
#endif

#if TVMFFI_DEBUG && !TVMFFI_NO_THREADS && !defined(TVMFFI_THREAD_LOCAL)
/* A thread must not fill another one's scope. */
static void *test_other_thread(void *scope) {
  FAILS(test_speak((tvmffi_scope *)scope, "t"), "RuntimeError",
        "this scope belongs to another thread: open a scope in the parallel "
        "region");
  CHECK_LOG("t");
  return NULL;
}
static void test_scope_of_thread(TVMFFI_HERE) {
  pthread_t thread;
  if (test_oom) return;
  CHECK_INT(pthread_create(&thread, NULL, test_other_thread, tvmffi_here), 0);
  CHECK_INT(pthread_join(thread, NULL), 0);
  CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 0);
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
  OK(TVMFFI_FUNCTION_NEW(u_null, &f));
  FAILS(tvmffi_call(tvmffi_obj(f), tvmffi_out_any(&any), tvmffi_bool(0)),
        "TypeError", "...u_null returned no result: ");
  FAILS(tvmffi_call(tvmffi_obj(f), tvmffi_out_any(&any), tvmffi_bool(1)),
        "ValueError", "why it is NULL");
}

/* The size of a scope's table fits 32 bits. */
static void test_scope_too_large(TVMFFI_HERE) {
  tvmffi_scope scope;
  (void)tvmffi_scope_open(&scope);
  scope.capacity = UINT32_MAX / 2 / (uint32_t)sizeof(void *);
  FAILS(tvmffi_i_scope_grow(&scope), "MemoryError",
        "...out of memory for the ");
  scope.capacity = TVMFFI_I_SCOPE_FIRST;
  tvmffi_scope_close(&scope);
}

static void test_bad_scopes(TVMFFI_HERE) {
  TVMFFIObject *o = test_speakers(tvmffi_here, "o");
  OK(o ? 0 : -1);
  FAILS(!tvmffi_scope_to_parent(o), "RuntimeError",
        "tvmffi_scope_to_parent: there is no scope around this one");
  CHECK(!tvmffi_scope_attach(NULL) && !tvmffi_scope_to_parent(NULL));
  CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 1);
  tvmffi_retain(o);
  OK(tvmffi_scope_attach(o) == o ? 0 : -1); /* once more */
  CHECK_INT(test_strong(o), 2);
  CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 2);
  tvmffi_scope_close(tvmffi_here);
  CHECK_LOG("o");
}

#if !TVMFFI_DEBUG && !TVMFFI_NO_STDIO && !TEST_NO_FILES
/* What a runtime with TVMFFI_DEBUG answers. */
static int test_fake_live(void *self, const TVMFFIAny *args, int32_t n,
                          TVMFFIAny *result) {
  (void)self;
  if (n != 1 || args[0].type_index != kTVMFFIInt) return -1;
  *result = tvmffi_int(args[0].v_int64 + 3);
  return 0;
}
static int test_fake_report(void *self, const TVMFFIAny *args, int32_t n,
                            TVMFFIAny *result) {
  TVMFFIByteArray text = TEXT("a report of some length\n");
  (void)self;
  if (n != 2) return -1;
  *(int64_t *)args[0].v_ptr = 4;
  *(int64_t *)args[1].v_ptr = 1;
  return TVMFFIStringFromByteArray(&text, result);
}

/* Counts and reports of leaks are asked of the runtime, which may not know. */
static void test_leak_questions(TVMFFI_HERE) {
  static const char live[] = "tvmffi.DebugLive";
  static const char report[] = "tvmffi.DebugReport";
  static const char *const names[] = {live, report, report};
  const TVMFFISafeCallType calls[] = {test_fake_live, test_fake_report,
                                      test_raise_callback};
  char got[64];
  TVMFFIObjectHandle f[3] = {NULL, NULL, NULL};
  int64_t result[3] = {0, 0, 0};
  FILE *file;
  size_t size = 0;
  int i;
  FAILS(tvmffi_live_count(kTVMFFIList) == -1, "ValueError",
        "Function tvmffi.DebugLive not found");
  FAILS(tvmffi_leak_report(stdout) == -1, "ValueError",
        "the runtime is not built with TVMFFI_DEBUG");
  for (i = 0; i < 3; ++i) {
    OK(TVMFFIFunctionCreate(NULL, calls[i], NULL, &f[i]));
    OWN(f[i]);
  }
  file = tmpfile();
  if (!CHECK(file != NULL)) return;
  for (i = 0; i < 3; ++i) {
    test_replace_global(names[i], (TVMFFIObject *)f[i]);
    result[i] = i ? tvmffi_leak_report(file) : tvmffi_live_count(40);
    test_replace_global(names[i], NULL);
    if (result[i] < 0) break;
  }
  rewind(file);
  size = fread(got, 1, sizeof(got), file);
  (void)fclose(file);
  FAILS(i < 3, "ValueError", "the callback says no");
  if (test_hits()) return;
  CHECK_INT(result[0], 43);
  CHECK_INT(result[1], 5);
  CHECK_INT(result[2], -1);
  CHECK_BYTES(test_bytes(got, size), "a report of some length\n", 24);
  CHECK_INT(tvmffi_i_printing()->type_index, kTVMFFINone);
}
#endif

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
  memcpy(tvmffi_i_record_of(o)->made, "here:1", 7);
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

#if TVMFFI_DEBUG && (TVMFFI_I_GENERIC || defined(__cplusplus))
/* Whether the pending error's trace has a line of this file in the function,
   and no frame of it without a line. Drops the error. */
static int test_line_is_known(TVMFFI_HERE, const char *function) {
  TVMFFIObject *error = tvmffi_error_take();
  TVMFFIByteArray trace = {NULL, 0};
  if (error) trace = TVMFFIErrorGetCellPtr(error)->backtrace;
  return trace.size && test_contains(trace, function) &&
         test_contains(trace, "scope.h\", line ") &&
         !test_contains(trace, "line 0, in test_debug_lines");
}

/* The line of a call or a maker that fails is in the trace, except without
   memory. */
static void test_debug_lines(TVMFFI_HERE) {
  static const char here[] = ", in test_debug_lines\n";
  TVMFFIObject *f = NULL;
  int64_t number;
  if (test_oom) return;
  CHECK(tvmffi_call("unit.no_such", NULL) == -1);
  CHECK(test_line_is_known(tvmffi_here, here));
  CHECK(tvmffi_global_get("unit.no_such", &f) == -1);
  CHECK(test_line_is_known(tvmffi_here, here));
  CHECK(tvmffi_as("text", &number) == -1);
  CHECK(test_line_is_known(tvmffi_here, here));
  CHECK(tvmffi_method(f, "no_such", &number) == -1);
  CHECK(test_line_is_known(tvmffi_here, here));
  CHECK(tvmffi_i_bare_frame(
            tvmffi_byte_array("  File \"a(1)\", line 0, in ns::f(int)\n  File"),
            "f") == 37);
  CHECK(tvmffi_i_bare_frame(tvmffi_byte_array("a, line 7, in f"), "f") == -1);
  CHECK(!tvmffi_i_bare_frame(tvmffi_byte_array("a, line 0, in f"), "ff"));
  CHECK(tvmffi_i_bare_frame(tvmffi_byte_array("a, line 0, in f"), "f") == 15);
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
  OK(TVMFFI_FUNCTION_NEW(u_letter, &f));
  OK(tvmffi_register_object(name, f));
  CHECK(test_report_has("1 x ffi.Function, obtained at " __FILE__ ":"));
  CHECK_INT(*tvmffi_i_num_found(), found + 1); /* the scope's reference */
  tvmffi_scope_close(tvmffi_here);
  OK((inner = tvmffi_array(tvmffi_int(1))) ? 0 : -1);
  tvmffi_retain(inner);
  OK((list = tvmffi_list(tvmffi_obj(inner), tvmffi_obj(inner))) ? 0 : -1);
  value = tvmffi_obj(list);
  OK(TVMFFITypeRegisterAttr(kTVMFFIOpaquePyObject, &attr, &value));
  ++column[18]; /* another one each time */
  tvmffi_scope_close(tvmffi_here);
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
  TVMFFIObject *a;
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
  tvmffi_scope_close(tvmffi_here);
  CHECK_INT(tvmffi_live_count(kTVMFFIList), lists);
  tvmffi_release(a); /* as often as one likes */
  tvmffi_release(a);
  for (i = 0; i < 2000; ++i) { /* it is remembered for so long */
    OK(tvmffi_list() ? 0 : -1);
    tvmffi_scope_close(tvmffi_here);
  }
  CHECK(test_report_has("double release: ffi.List, obtained at " __FILE__ ":"));
  CHECK_INT(*tvmffi_i_num_found(), found + 2);
  CHECK(!test_report_has("dead"));
}
#endif
#endif

static const test_case test_scope_cases[] = {
#if !TEST_NO_TYPED
    {"scopes: opened and closed", test_opened_scope},
    {"scopes: attached to while they close", test_attached_at_close},
    {"scopes: of the caller", test_handed_up},
    {"scopes: what is kept", test_keep},
    {"scopes: many objects", test_large_scope},
#if TVMFFI_I_CLEANUP
    {"scopes: blocks", test_scopes},
    {"scopes: ways out", test_ways_out},
    {"scopes: the last statement of a function", test_last_statements},
    {"scopes: many objects that leave", test_large_to_parent},
    {"scopes: full ones", test_full_to_parent},
    {"scopes: helpers", test_helpers},
#endif
    {"scopes: results of calls", test_scoped_results},
    {"scopes: the end of a body", test_body_ends},
    {"scopes: returned objects", test_returned_objects},
    {"scopes: returned texts", test_returned_views},
#if !TVMFFI_NO_CONTAINERS
    {"scopes: returned items", test_returned_items},
    {"scopes: nested makers", test_nested_makers},
#endif
    {"scopes: none", test_no_scope},
#if defined(__cplusplus) && defined(__cpp_exceptions)
    {"scopes: exceptions", test_thrown_scopes},
#endif
#if TVMFFI_DEBUG && !TVMFFI_NO_THREADS && !defined(TVMFFI_THREAD_LOCAL)
    {"scopes: of one thread", test_scope_of_thread},
#endif
    {"scopes: NULL for a result", test_null_results},
    {"scopes: mistakes", test_bad_scopes},
    {"scopes: more objects than can be", test_scope_too_large},
#if !TVMFFI_DEBUG && !TVMFFI_NO_STDIO && !TEST_NO_FILES
    {"scopes: leaks that the runtime does not count", test_leak_questions},
#endif
#if TVMFFI_DEBUG
    {"scopes: leaks of unregistered types", test_debug_unregistered},
#endif
#if TVMFFI_DEBUG && (TVMFFI_I_GENERIC || defined(__cplusplus))
    {"scopes: the lines of errors", test_debug_lines},
#endif
#if TVMFFI_DEBUG && !TVMFFI_NO_CONTAINERS
    {"scopes: leaks and dead objects", test_debug},
    {"scopes: what tables own is no leak", test_debug_registered},
#endif
#endif
    {NULL, NULL}};
