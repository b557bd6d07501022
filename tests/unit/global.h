/* ======== Global functions of a file: calls without a look-up ============= */

#pragma once

#include "harness.h"
#include "type_field.h"
#include "typed_function.h"
#include "thread.h"

#if !TEST_NO_FUNCTIONS
/* Registers a function that returns the number. */
static int test_set_number_of(TVMFFIByteArray name, intptr_t number) {
  TVMFFIObjectHandle f = NULL;
  int code;
  TVMFFI_TRY(
      TVMFFIFunctionCreate((void *)number, test_echo_callback, NULL, &f));
  code = TVMFFIFunctionSetGlobal(&name, f, 1);
  tvmffi_release(f);
  return code;
}

/* The number that a global function returns, 0 if there is none, or -1 if it
   cannot be called. */
static int64_t test_number_of(TVMFFIByteArray name) {
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny result = tvmffi_int(0);
  int code = TVMFFIFunctionGetGlobal(&name, &f);
  if (!code && f) code = TVMFFIFunctionCall(f, NULL, 0, &result);
  tvmffi_release(f);
  return code ? -1 : result.v_int64;
}

/* Names with the same hash: two of one size, two of other sizes, and three. */
static void test_same_hashes(TVMFFI_HERE) {
  static const char *const names[] = {
      "unit.clash182002.b", "unit.clash157902.b", "unit.clash295318.b",
      "unit.clash725",      "unit.clash7180357",  "unit.clash5526709",
      "unit.clash2306619"};
  int i, k;
  for (i = 0; i < TEST_COUNT(names); ++i) { /* of a run without memory */
    TVMFFIByteArray name = TEXT(names[i]);
    (void)tvmffi_i_remove_global(&name);
  }
  for (i = 0; i < TEST_COUNT(names); ++i) {
    for (k = i + 1; k < TEST_COUNT(names); ++k)
      CHECK_INT(test_number_of(TEXT(names[k])), 0);
    OK(test_set_number_of(TEXT(names[i]), i + 1));
    for (k = 0; k <= i; ++k) CHECK_INT(test_number_of(TEXT(names[k])), k + 1);
  }
  for (i = 0; i < TEST_COUNT(names); ++i) {
    TVMFFIByteArray name = TEXT(names[i]);
    CHECK(tvmffi_i_remove_global(&name));
    for (k = 0; k < TEST_COUNT(names); ++k)
      CHECK_INT(test_number_of(TEXT(names[k])), k <= i ? 0 : k + 1);
  }
}

/* The search for a name whose hash is 0, the hash of a tombstone, passes the
   tombstone of another. */
static void test_zero_hash(TVMFFI_HERE) {
  TVMFFIByteArray first = TEXT("unit.zero0kvuod6");
  TVMFFIByteArray second = TEXT("unit.zero218jrfu");
  (void)tvmffi_i_remove_global(&first); /* of a run without memory */
  (void)tvmffi_i_remove_global(&second);
  OK(test_set_number_of(first, 1));
  OK(test_set_number_of(second, 2));
  CHECK(tvmffi_i_remove_global(&first));
  CHECK_INT(test_number_of(first), 0);
  CHECK_INT(test_number_of(second), 2);
  CHECK(tvmffi_i_remove_global(&second));
  CHECK_INT(test_number_of(second), 0);
}

/* The memory of a removed name is used again for one of the same size class,
   if the name is long as well. */
static void test_long_globals(TVMFFI_HERE) {
  static char text[3][480];
  static const size_t sizes[] = {460, 475, 462};
  TVMFFIByteArray name[3];
  TVMFFIObject *f = test_global("ffi.String");
  tvmffi_i_slots *table;
  size_t made;
  int i;
  if (!f) return;
  for (i = 0; i < 3; ++i) {
    memset(text[i], 'a' + i, sizeof(text[i]));
    name[i] = test_bytes(text[i], sizes[i]);
  }
  OK(TVMFFIFunctionSetGlobal(&name[0], f, 0));
  OK(TVMFFIFunctionSetGlobal(&name[1], f, 0));
  CHECK(tvmffi_i_remove_global(&name[0]));
  CHECK(tvmffi_i_remove_global(&name[1])); /* first in the free list */
  table = tvmffi_i_globals.table;
  made = test_get(&test_made);
  OK(TVMFFIFunctionSetGlobal(&name[2], f, 0));
  CHECK(test_get(&test_made) == made || tvmffi_i_globals.table != table);
  CHECK(tvmffi_i_take_global(&name[0]) == NULL);
  CHECK(tvmffi_i_take_global(&name[1]) == NULL);
  CHECK(tvmffi_i_take_global(&name[2]) == f);
  tvmffi_release(f);
  CHECK(tvmffi_i_remove_global(&name[2]));
  CHECK(tvmffi_i_take_global(&name[2]) == NULL);
}

#if !TVMFFI_FREESTANDING
/* Entries share blocks, but not one that needs most of a block. */
static void test_large_globals(TVMFFI_HERE) {
  static char text[9000];
  TVMFFIObject *f = test_global("ffi.String");
  TVMFFIByteArray name = test_bytes(text, sizeof(text));
  int i, k, n = test_scale(20, 2);
  if (!f) return;
  memset(text, 'l', sizeof(text));
  for (i = 0; i <= n; ++i) {
    text[0] = (char)('a' + i);
    name.size = i < n ? 4000 : sizeof(text);
    if (!test_code(TVMFFIFunctionSetGlobal(&name, f, 0), __FILE__, __LINE__,
                   "TVMFFIFunctionSetGlobal"))
      continue;
    n = i - 1;
  }
  for (k = 0; k <= n; ++k) {
    text[0] = (char)('a' + k);
    name.size = k < test_scale(20, 2) ? 4000 : sizeof(text);
    CHECK(tvmffi_i_take_global(&name) == f);
    tvmffi_release(f);
    CHECK(tvmffi_i_remove_global(&name));
  }
}
#endif

/* A function with texts: all of them are copied, or none. */
static void test_described_globals(TVMFFI_HERE) {
  TVMFFIObject *f = test_global("ffi.String");
  const char *key = test_fresh("unit.described");
  TVMFFIByteArray name = TEXT(key);
  const size_t most = PTRDIFF_MAX >> (sizeof(size_t) > 4 ? 7 : 0);
  char doc[] = "what it does", metadata[] = "{}";
  TVMFFIMethodInfo m;
  const tvmffi_i_global_info *info = NULL;
  tvmffi_i_global *g;
  int i;
  if (!f) return;
  for (i = 0; i < 4; ++i) {
    m = test_method(key, tvmffi_obj(f));
    if (i & 1) m.doc = TEXT(doc);
    if (i & 2) m.metadata = TEXT(metadata);
    doc[0] = 'w';
    OK(TVMFFIFunctionSetGlobalFromMethodInfo(&m, 1));
    doc[0] = '-';
    tvmffi_i_lock();
    g = tvmffi_i_find_global(&name);
    tvmffi_i_unlock();
    if (!CHECK(g && g->info)) return;
    CHECK_TEXT(g->info->doc, i & 1 ? "what it does" : "");
    CHECK_TEXT(g->info->metadata, i & 2 ? "{}" : "");
    CHECK_INT(g->info->flags, 0);
    CHECK_INT(test_asked(g->info), sizeof(*g->info) + m.doc.size +
                                       m.metadata.size + 2);
  }
  m = test_method(key, tvmffi_obj(f));
  m.doc = test_bytes(doc, most);
  FAILS(TVMFFIFunctionSetGlobalFromMethodInfo(&m, 1), "MemoryError", NULL);
  m.doc.size = 0;
  m.metadata = test_bytes(doc, most);
  FAILS(TVMFFIFunctionSetGlobalFromMethodInfo(&m, 1), "MemoryError", NULL);
  for (i = 0; i < 2; ++i) { /* on 64 bits no caller has such texts */
    m.doc.size = i ? 2 : (size_t)PTRDIFF_MAX / 4 + 1;
    m.metadata.size = i ? (size_t)PTRDIFF_MAX / 4 + 1 : 2;
    FAILS(tvmffi_i_make_global_info(&m, &info), "MemoryError", NULL);
    CHECK(!info);
  }
  CHECK(tvmffi_i_remove_global(&name));
}

#if !TVMFFI_NO_TYPES
/* An object of a derived type is a function. */
static void test_derived_global(TVMFFI_HERE) {
  const char *key = test_fresh("unit.derived");
  TVMFFIByteArray name = TEXT(key);
  TVMFFIObjectHandle f = NULL;
  OK(TVMFFIFunctionCreate((void *)7, test_echo_callback, NULL, &f));
  OWN(f);
  OK(test_derive("unit.FunctionLike", 118, kTVMFFIFunction));
  ((TVMFFIObject *)f)->type_index = 118;
  OK(TVMFFIFunctionSetGlobal(&name, f, 0));
  CHECK_INT(test_number_of(name), 7);
  CHECK(tvmffi_i_remove_global(&name));
}
#endif

#if !TVMFFI_NO_BUILTINS && !defined(TVMFFI_BUILTINS)
/* A built-in function can be removed, and registered again. */
static void test_removed_builtin(TVMFFI_HERE) {
  TVMFFIByteArray name = TEXT("ffi.GetRegisteredTypeKeys");
  TVMFFIObjectHandle f = test_global("ffi.GetRegisteredTypeKeys");
  if (!f) return;
  CHECK(tvmffi_i_remove_global(&name));
  CHECK(tvmffi_i_take_global(&name) == NULL);
  CHECK(!tvmffi_i_remove_global(&name));
  while (TVMFFIFunctionSetGlobal(&name, f, 0)) tvmffi_error_clear();
  CHECK(tvmffi_i_take_global(&name) == f);
  tvmffi_release(f);
}

#if !TVMFFI_NO_TYPES
/* The entry of a built-in function describes only this function. */
static void test_replaced_builtin(TVMFFI_HERE) {
  TVMFFIByteArray name = TEXT("ffi.String");
  TVMFFIObject *f = test_global("ffi.String"),
               *other = test_global("ffi.Bytes");
  const tvmffi_i_global *g;
  if (!f || !other) return;
  tvmffi_i_lock();
  g = tvmffi_i_find_global(&name);
  tvmffi_i_unlock();
  CHECK(tvmffi_i_typed_builtin(g, f) == &tvmffi_func_i_String);
  CHECK(!tvmffi_i_typed_builtin(g, other));
}
#endif
#endif

#if !TEST_NO_CONTENTION && !TVMFFI_NO_THREADS
/* Overrides a function while the test reads its entry. */
static TVMFFIByteArray test_read_name;
static int test_overrides; /* 1: done; 2: failed for lack of memory */

static void test_override_work(void) {
  int code = test_set_number_of(test_read_name, 2);
  TVMFFI_I_STORE(&test_overrides, code ? 2 : 1);
}

#if defined(__cplusplus)
extern "C" {
#endif
static void *test_run_override(void *argument) {
  test_override_work();
  return argument;
}
#if defined(__cplusplus)
}
#endif

/* A writer waits for a reader that may have seen the old function. */
static void test_slow_reader(TVMFFI_HERE) {
  const char *key = test_fresh("unit.read");
  TVMFFIObjectHandle f;
  tvmffi_i_global *g;
  pthread_t thread;
  uint32_t side;
  int i;
  test_read_name = TEXT(key);
  test_overrides = 0;
  OK(test_set_number_of(test_read_name, 1));
  g = tvmffi_i_enter_global(&test_read_name, &side);
  if (!CHECK(g != NULL)) return;
  f = TVMFFI_I_LOAD(&g->function);
  if (CHECK(!pthread_create(&thread, NULL, test_run_override, NULL))) {
    while (TVMFFI_I_LOAD(&g->function) == f && !TVMFFI_I_LOAD(&test_overrides))
      (void)sched_yield();
    for (i = 0; i < 40; ++i) (void)sched_yield();
    CHECK(TVMFFI_I_LOAD(&test_overrides) != 1);
    CHECK_INT(test_strong(f), 1); /* the reader can still retain it */
    TVMFFI_I_LEAVE(g, side);
    (void)pthread_join(thread, NULL);
    CHECK_INT(test_number_of(test_read_name), test_overrides == 1 ? 2 : 1);
    CHECK(test_overrides == 1 || test_hits());
  } else {
    TVMFFI_I_LEAVE(g, side);
  }
  CHECK(tvmffi_i_remove_global(&test_read_name));
}
#endif
#endif

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

static int test_set_number(const char *name, intptr_t number) {
  return test_set_number_of(tvmffi_byte_array(name), number);
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
        "OverflowError",
        "result of the function: The value 300 is out of range of int8");
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

/* A runtime without a cache has nothing to free. */
static void test_trim_without_cache(TVMFFI_HERE) {
  static const char name[] = "tvmffi.MemoryTrim";
  TVMFFIObject *former = test_global(name);
  int code;
  OK(tvmffi_memory_trim());
  test_replace_global(name, NULL);
  code = tvmffi_memory_trim();
  if (former) test_replace_global(name, former);
  OK(code);
}

#if TVMFFI_I_CELLS
/* The first call asks the runtime for the function's entry. It may refuse, and
   an older runtime has none. */
static void test_site_cells(TVMFFI_HERE) {
  static const char cell[] = "tvmffi.GlobalCell";
  const char *name = test_new_site();
  TVMFFIObject *former = test_global(cell);
  TVMFFIObjectHandle raises = NULL;
  int64_t n = 0;
  int code;
  if (!former) return;
  OK(TVMFFIFunctionCreate(NULL, test_raise_callback, NULL, &raises));
  OWN(raises);
  OK(test_set_number(name, 4));
  test_replace_global(cell, (TVMFFIObject *)raises);
  code = test_call_site(&n);
  test_replace_global(cell, former);
  FAILS(code, "ValueError", "the callback says no");
  CHECK(!test_site->call);
  test_replace_global(cell, NULL);
  code = test_call_site(&n);
  test_replace_global(cell, former);
  OK(code);
  CHECK(n == 4 &&
        test_site->call == (void *)(uintptr_t)tvmffi_i_call_by_name);
}

/* The first call of a name without a function needs memory for the name. */
static void test_long_site(TVMFFI_HERE) {
  static char name[8300];
  static int letter;
  int64_t n = 0;
  int i;
  memset(name, 's', sizeof(name) - 1);
  for (i = 0; i < 5; ++i) { /* more than a block has */
    (void)test_new_site();
    letter = (letter + 1) % 26;
    name[0] = (char)('a' + letter);
    test_site->name = name;
    FAILS(test_call_site(&n), "ValueError", NULL);
  }
}
#endif

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
#if !TEST_NO_FUNCTIONS
    {"globals: names with the same hash", test_same_hashes},
    {"globals: names whose hash is 0", test_zero_hash},
    {"globals: long names", test_long_globals},
#if !TVMFFI_FREESTANDING
    {"globals: names as large as a block", test_large_globals},
#endif
    {"globals: texts of a function", test_described_globals},
#if !TVMFFI_NO_TYPES
    {"globals: of a derived type", test_derived_global},
#endif
#if !TVMFFI_NO_BUILTINS && !defined(TVMFFI_BUILTINS)
    {"globals: a built-in function is removed", test_removed_builtin},
#if !TVMFFI_NO_TYPES
    {"globals: the description of a built-in one", test_replaced_builtin},
#endif
#endif
#if !TEST_NO_CONTENTION && !TVMFFI_NO_THREADS
    {"threads: a reader that is slow", test_slow_reader},
#endif
#endif
#if !TEST_NO_TYPED
    {"sites: functions that come and go", test_site_calls},
    {"sites: errors", test_site_errors},
    {"sites: changes from inside", test_site_from_inside},
    {"sites: as a value", test_site_as_value},
    {"sites: by name", test_site_by_name},
    {"sites: memory that is trimmed without a cache", test_trim_without_cache},
#if TVMFFI_I_CELLS
    {"sites: entries", test_site_cells},
    {"sites: a long name", test_long_site},
#endif
#if !TEST_NO_CONTENTION && !TVMFFI_NO_THREADS
    {"threads: sites", test_contend_site},
#endif
#endif
    {NULL, NULL}};
