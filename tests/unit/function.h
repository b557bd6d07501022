/* ======== Functions: function objects and the global table ================ */

#pragma once

#include "harness.h"

#if !TEST_NO_FUNCTIONS
static void test_function_create(TVMFFI_HERE) {
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny args[2], result = tvmffi_none();
  static char letter[] = "d";
  OK(TVMFFIFunctionCreate(NULL, test_echo_callback, NULL, &f));
  CHECK_INT(TVMFFIObjectGetTypeIndex(f), kTVMFFIFunction);
  CHECK(TVMFFIFunctionGetCellPtr(f)->safe_call == test_echo_callback);
  CHECK(TVMFFIFunctionGetCellPtr(f)->cpp_call == NULL);
  /* Without a self it gets its own handle. */
  CHECK_INT(TVMFFIFunctionCall(f, NULL, 0, &result), 0);
  CHECK_INT(result.v_int64, (intptr_t)f);
  tvmffi_release(f);
  OK(TVMFFIFunctionCreate(letter, test_echo_callback, test_say_deleter, &f));
  args[0] = tvmffi_int(1);
  args[1] = tvmffi_int(2);
  CHECK_INT(TVMFFIFunctionCall(f, args, 2, &result), 0);
  CHECK_INT(result.v_int64, 2);
  CHECK_INT(TVMFFIFunctionCall(f, args, 0, &result), 0);
  CHECK_INT(result.v_int64, (intptr_t)letter);
  tvmffi_weak_retain(f);
  tvmffi_release(f);
  CHECK_LOG("d");
  /* One release too many destroys nothing twice. */
  tvmffi_i_release_rest((TVMFFIObject *)f, TVMFFI_I_WEAK_ONE);
  CHECK_LOG("");
  tvmffi_weak_release(f);
  CHECK_LOG("");
  OK(TVMFFIFunctionCreate(letter, test_raise_callback, NULL, &f));
  FAILS(TVMFFIFunctionCall(f, NULL, 0, &result), "ValueError",
        "the callback says no");
  tvmffi_release(f);
  OK(TVMFFIFunctionCreate(NULL, test_raise_callback, test_say_deleter, &f));
  tvmffi_release(f);
  CHECK_LOG("-");
  FAILS(TVMFFIFunctionCreate(NULL, NULL, NULL, &f), "ValueError",
        TEST_STRING(TVMFFIFunctionCreate) ": safe_call must not be NULL");
  FAILS(TVMFFIFunctionCreate(NULL, test_echo_callback, NULL, NULL),
        "ValueError", NULL);
}

static void test_function_refuse(TVMFFI_HERE) {
  TVMFFIObjectHandle f = NULL;
  tvmffi_i_function_object fake;
  TVMFFIAny arg = tvmffi_int(1), result = tvmffi_none();
  OK(TVMFFIFunctionCreate(NULL, test_echo_callback, NULL, &f));
  OWN(f);
  FAILS(TVMFFIFunctionCall(NULL, &arg, 1, &result), "ValueError", NULL);
  FAILS(TVMFFIFunctionCall(&tvmffi_i_memory_error, &arg, 1, &result),
        "TypeError", "...is expected to be ffi.Function but is ffi.Error");
  FAILS(TVMFFIFunctionCall(f, &arg, 1, NULL), "ValueError",
        "...result must not be NULL");
  FAILS(TVMFFIFunctionCall(f, &arg, -1, &result), "ValueError",
        "TVMFFIFunctionCall: num_args is -1");
  FAILS(TVMFFIFunctionCall(f, NULL, 1, &result), "ValueError",
        "...args must not be NULL");
  memset((void *)&fake, 0, sizeof(fake));
  fake.base.type_index = kTVMFFIFunction;
  FAILS(TVMFFIFunctionCall(&fake, &arg, 1, &result), "ValueError",
        "...safe_call must not be NULL");
  fake.base.type_index = 1 << 30;
  FAILS(TVMFFIFunctionCall(&fake, &arg, 1, &result), "TypeError",
        "...but is an unregistered type");
}

#if !TVMFFI_NO_TYPES
/* A type of functions made by a client. */
static void test_function_subtype(TVMFFI_HERE) {
  TVMFFIByteArray key = TEXT("unit.Function");
  tvmffi_i_function_object fake;
  TVMFFIAny arg = tvmffi_int(7), result = tvmffi_none();
  int32_t index =
      TVMFFITypeGetOrAllocIndex(&key, 110, 2, 0, 1, kTVMFFIFunction);
  OK(index < 0 ? -1 : 0);
  memset((void *)&fake, 0, sizeof(fake));
  fake.base.combined_ref_count = TVMFFI_I_BOTH_ONE;
  fake.base.type_index = index;
  fake.cell.safe_call = test_echo_callback;
  OK(TVMFFIFunctionCall(&fake, &arg, 1, &result));
  CHECK_INT(result.v_int64, 7);
  OK(tvmffi_call(tvmffi_obj(&fake), tvmffi_out_any(&result), tvmffi_int(8)));
  CHECK_INT(result.v_int64, 8);
}
#endif

static int test_call_global(const char *name, int64_t *out) {
  return tvmffi_call(tvmffi_str(name), tvmffi_out_int64(out));
}

static void test_globals(TVMFFI_HERE) {
  const char *text = test_fresh("unit.global");
  TVMFFIByteArray name = TEXT(text);
  TVMFFIObjectHandle one = NULL, two = NULL, got = &name;
  tvmffi_type_bool removed = 0;
  int64_t n = 0;
  OK(TVMFFIFunctionCreate((void *)(intptr_t)1, test_echo_callback, NULL, &one));
  OWN(one);
  OK(TVMFFIFunctionCreate((void *)(intptr_t)2, test_echo_callback, NULL, &two));
  OWN(two);
  OK(TVMFFIFunctionGetGlobal(&name, &got));
  CHECK(got == NULL);
  OK(TVMFFIFunctionSetGlobal(&name, one, 0));
  CHECK_INT(test_strong(one), 2);
  OK(TVMFFIFunctionGetGlobal(&name, &got));
  CHECK(got == one);
  tvmffi_release(got);
  OK(test_call_global(text, &n));
  CHECK_INT(n, 1);
  OK(TVMFFIFunctionSetGlobal(&name, one, 0));
  CHECK_INT(test_strong(one), 2);
  FAILS(TVMFFIFunctionSetGlobal(&name, two, 0), "RuntimeError",
        "...is already registered");
  CHECK_INT(test_strong(two), 1);
  OK(TVMFFIFunctionSetGlobal(&name, two, 1));
  CHECK(test_strong(one) == 1 && test_strong(two) == 2);
  OK(test_call_global(text, &n));
  CHECK_INT(n, 2);
  OK(tvmffi_call(tvmffi_str("ffi.FunctionRemoveGlobal"),
                 tvmffi_out_bool(&removed), tvmffi_str(text)));
  CHECK(removed);
  CHECK_INT(test_strong(two), 1);
  OK(tvmffi_call(tvmffi_str("ffi.FunctionRemoveGlobal"),
                 tvmffi_out_bool(&removed), tvmffi_str(text)));
  CHECK(!removed);
  OK(tvmffi_call(tvmffi_str("ffi.FunctionRemoveGlobal"),
                 tvmffi_out_bool(&removed), tvmffi_str("unit.nobody")));
  CHECK(!removed);
  OK(TVMFFIFunctionGetGlobal(&name, &got));
  CHECK(got == NULL);
  OK(TVMFFIFunctionSetGlobal(&name, two, 0));
  OK(test_call_global(text, &n));
  CHECK_INT(n, 2);
}

static void test_bad_globals(TVMFFI_HERE) {
  TVMFFIByteArray name = TEXT("unit.bad"), null = {NULL, 3};
  TVMFFIObjectHandle f = test_global("ffi.String"), got;
  TVMFFIMethodInfo info;
  if (!f) return;
  FAILS(TVMFFIFunctionGetGlobal(NULL, &got), "ValueError", NULL);
  FAILS(TVMFFIFunctionGetGlobal(&null, &got), "ValueError", NULL);
  FAILS(TVMFFIFunctionGetGlobal(&name, NULL), "ValueError", NULL);
  FAILS(TVMFFIFunctionSetGlobal(NULL, f, 0), "ValueError", NULL);
  FAILS(TVMFFIFunctionSetGlobal(&null, f, 0), "ValueError", NULL);
  FAILS(TVMFFIFunctionSetGlobal(&name, NULL, 0), "ValueError", NULL);
  FAILS(TVMFFIFunctionSetGlobal(&name, &tvmffi_i_memory_error, 0), "TypeError",
        NULL);
  FAILS(TVMFFIFunctionSetGlobalFromMethodInfo(NULL, 0), "ValueError", NULL);
  memset((void *)&info, 0, sizeof(info));
  info.name = name;
  FAILS(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 0), "TypeError",
        "Cannot convert from type `None` to `ffi.Function`");
  info.method = tvmffi_obj(&tvmffi_i_memory_error);
  FAILS(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 0), "TypeError", NULL);
  info.method = tvmffi_obj(f);
  info.doc = null;
  FAILS(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 0), "ValueError", NULL);
  info.doc.data = "x";
  info.doc.size = TEST_HUGE;
  FAILS(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 0), "MemoryError", NULL);
  info.doc.size = 0;
  info.metadata = null;
  FAILS(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 0), "ValueError", NULL);
  info.metadata.data = "x";
  info.metadata.size = TEST_HUGE;
  FAILS(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 0), "MemoryError", NULL);
  info.metadata.size = 0;
  info.name = null;
  FAILS(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 0), "ValueError", NULL);
  OK(TVMFFIFunctionGetGlobal(&name, &got));
  CHECK(got == NULL);
}

/* Texts are copied with a NUL each; what says nothing has no copy. */
static void test_global_info(TVMFFI_HERE) {
  static const struct {
    const char *doc, *metadata;
    int64_t flags;
  } rows[] = {{"", "", kTVMFFIFieldFlagBitMaskIsStaticMethod},
              {"", "", 0},
              {"doc", "", kTVMFFIFieldFlagBitMaskIsStaticMethod},
              {"", "{}", kTVMFFIFieldFlagBitMaskIsStaticMethod},
              {"doc", "{}", 0}};
  size_t i;
  for (i = 0; i < TEST_COUNT(rows); ++i) {
    const tvmffi_i_global_info *made = NULL;
    TVMFFIMethodInfo info;
    memset((void *)&info, 0, sizeof(info));
    info.doc = TEXT(rows[i].doc);
    info.metadata = TEXT(rows[i].metadata);
    info.flags = rows[i].flags;
    OK(tvmffi_i_make_global_info(&info, &made));
    CHECK(!made == !i);
    if (!made) continue;
    CHECK_TEXT(made->doc, rows[i].doc);
    CHECK_TEXT(made->metadata, rows[i].metadata);
    CHECK(!made->doc.data[made->doc.size]);
    CHECK(!made->metadata.data[made->metadata.size]);
    CHECK_INT(made->flags, rows[i].flags);
    tvmffi_i_free((void *)(uintptr_t)made);
  }
}

#if !TVMFFI_NO_TYPES
static void test_method_info(TVMFFI_HERE) {
  static char text[64];
  const char *fresh = test_fresh("unit.info");
  TVMFFIMethodInfo info;
  TVMFFIObjectHandle f = NULL, other = NULL, got = NULL;
  TVMFFIAny any;
  (void)test_put(text, 0, sizeof(text), fresh, strlen(fresh));
  memset((void *)&info, 0, sizeof(info));
  OK(TVMFFIFunctionCreate(NULL, test_echo_callback, NULL, &f));
  OWN(f);
  OK(TVMFFIFunctionCreate(NULL, test_echo_callback, NULL, &other));
  OWN(other);
  info.name = TEXT(text);
  info.doc = TEXT("what it does");
  info.metadata = TEXT("{\"a\": 1}");
  info.method = tvmffi_obj(f);
  OK(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 0));
  OK(TVMFFIFunctionGetGlobal(&info.name, &got));
  CHECK(got == f);
  tvmffi_release(got);
  any = test_metadata_of(tvmffi_here, text);
  if (any.type_index == kTVMFFINone) return;
  CHECK_TEXT(tvmffi_any_str(&any), "{\"a\": 1}");
  info.method = tvmffi_obj(other);
  FAILS(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 0), "RuntimeError",
        "...is already registered, possible causes:\n- Two GlobalDef().def "
        "registrations for the same function \nPlease remove the duplicate "
        "registration.");
  info.metadata = TEXT("{}");
  OK(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 1));
  any = test_metadata_of(tvmffi_here, text);
  if (any.type_index == kTVMFFINone) return;
  CHECK_TEXT(tvmffi_any_str(&any), "{}");
  OK(TVMFFIFunctionSetGlobal(&info.name, f, 1));
  any = test_metadata_of(tvmffi_here, text);
  if (any.type_index == kTVMFFINone) return;
  CHECK_TEXT(tvmffi_any_str(&any), "");
  FAILS(tvmffi_call(tvmffi_str("ffi.GetGlobalFuncMetadata"),
                    tvmffi_out_any(&any), tvmffi_str("unit.nobody")),
        "RuntimeError", "Global Function is not found: unit.nobody");
}

#if !TVMFFI_NO_METADATA
static void test_builtins(TVMFFI_HERE) {
  static const char *const builtins[][2] = {
      {"ffi.GetInvalidObject", SCHEMA("ffi.Object", "")},
      {"ffi.GetKwargsObject", SCHEMA("ffi.Object", "")},
      {"ffi.String", SCHEMA("ffi.String", PARAM("ffi.String"))},
      {"ffi.Bytes", SCHEMA("ffi.Bytes", PARAM("ffi.Bytes"))},
      {"ffi.Shape",
       "{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\"}\"}"},
      {"ffi.FunctionRemoveGlobal", SCHEMA("bool", PARAM("ffi.String"))},
      {"ffi.FunctionListGlobalNamesFunctor", SCHEMA("ffi.Function", "")},
      {"ffi.GetGlobalFuncMetadata", SCHEMA("ffi.String", PARAM("ffi.String"))},
      {"ffi.FunctionFromExternC",
       SCHEMA("ffi.Function",
              PARAM("void*") "," PARAM("void*") "," PARAM("void*"))}};
  TVMFFIObject *f;
  int i;
  for (i = 0; i < TEST_COUNT(builtins); ++i) {
    TVMFFIAny any = test_metadata_of(tvmffi_here, builtins[i][0]);
    if (any.type_index == kTVMFFINone) return;
    CHECK_TEXT(tvmffi_any_str(&any), builtins[i][1]);
    f = test_global(builtins[i][0]);
    CHECK(f && test_strong(f) >= 0x80000000u);
  }
}
#endif
#endif

static int test_get_special(TVMFFI_HERE, TVMFFIObject **invalid,
                            TVMFFIObject **kwargs) {
  TVMFFI_TRY(tvmffi_call(tvmffi_str("ffi.GetInvalidObject"),
                         tvmffi_out_object(invalid)));
  return tvmffi_call(tvmffi_str("ffi.GetKwargsObject"),
                     tvmffi_out_object(kwargs));
}

/* They outlive all references to them. */
static void test_special_objects(TVMFFI_HERE) {
  TVMFFIObject *invalid = NULL, *kwargs = NULL, *again = NULL;
  tvmffi_scope scope;
  int i, code;
  for (i = 0; i < 3; ++i) {
    code = test_get_special(tvmffi_scope_open(&scope), &invalid, &kwargs);
    tvmffi_scope_close(&scope);
    OK(code);
  }
  OK(tvmffi_call(tvmffi_str("ffi.GetInvalidObject"),
                 tvmffi_out_object(&again)));
  CHECK(invalid == again && invalid != kwargs);
  CHECK_INT(TVMFFIObjectGetTypeIndex(invalid), kTVMFFIObject);
}

static void test_string_builtins(TVMFFI_HERE) {
  TVMFFIByteArray bytes = {"a\0b", 3}, large = {"0123456789", 10};
  TVMFFIAny any;
  OK(tvmffi_call(tvmffi_str("ffi.String"), tvmffi_out_any(&any),
                 tvmffi_str("short")));
  CHECK(any.type_index == kTVMFFISmallStr && test_is_clean(&any));
  OK(tvmffi_call(tvmffi_str("ffi.String"), tvmffi_out_any(&any),
                 tvmffi_str("not so short")));
  CHECK_INT(any.type_index, kTVMFFIStr);
  CHECK_TEXT(tvmffi_any_str(&any), "not so short");
  OK(tvmffi_call(tvmffi_str("ffi.Bytes"), tvmffi_out_any(&any),
                 tvmffi_bytes(&bytes)));
  CHECK_INT(any.type_index, kTVMFFISmallBytes);
  CHECK_BYTES(tvmffi_any_str(&any), "a\0b", 3);
  OK(tvmffi_call(tvmffi_str("ffi.Bytes"), tvmffi_out_any(&any),
                 tvmffi_bytes(&large)));
  CHECK_INT(any.type_index, kTVMFFIBytes);
  FAILS(tvmffi_call(tvmffi_str("ffi.String"), tvmffi_out_any(&any),
                    tvmffi_bytes(&bytes)),
        "TypeError",
        "Mismatched type on argument #0 when calling: `ffi.String(0: str) -> "
        "str`. Expected `str` but got `TVMFFIByteArray*`");
}

static void test_shapes(TVMFFI_HERE) {
  TVMFFIObject *shape = NULL;
  TVMFFIShapeCell *cell;
  int64_t *numbers;
  OK(tvmffi_call(tvmffi_str("ffi.Shape"), tvmffi_out_object(&shape),
                 tvmffi_int(3), tvmffi_int(-1), tvmffi_bool(1),
                 tvmffi_int(INT64_MAX)));
  CHECK_INT(TVMFFIObjectGetTypeIndex(shape), kTVMFFIShape);
  cell = TVMFFIShapeGetCellPtr(shape);
  CHECK_INT(cell->size, 4);
  CHECK(cell->data[0] == 3 && cell->data[1] == -1 && cell->data[2] == 1);
  CHECK(cell->data[3] == INT64_MAX);
  OK(tvmffi_call(tvmffi_str("ffi.Shape"), tvmffi_out_object(&shape)));
  CHECK_INT(TVMFFIShapeGetCellPtr(shape)->size, 0);
  FAILS(tvmffi_call(tvmffi_str("ffi.Shape"), tvmffi_out_object(&shape),
                    tvmffi_int(1), tvmffi_str("x")),
        "ValueError", "Expect shape to take list of int arguments");
  FAILS(tvmffi_i_new_shape((size_t)PTRDIFF_MAX, &numbers) == NULL,
        "MemoryError", NULL);
}

static int test_call_extern(TVMFFI_HERE, void *self, void *call, void *deleter,
                            int64_t *n) {
  TVMFFIObject *f = NULL;
  TVMFFI_TRY(tvmffi_call(tvmffi_str("ffi.FunctionFromExternC"),
                         tvmffi_out_object(&f), tvmffi_ptr(self),
                         tvmffi_ptr(call), tvmffi_ptr(deleter)));
  return tvmffi_call(tvmffi_obj(f), tvmffi_out_int64(n));
}

static void test_extern_c(TVMFFI_HERE) {
  TVMFFISafeCallType call = test_echo_callback;
  void (*deleter)(void *) = test_say_deleter;
  static char letter[] = "e";
  void *call_address, *deleter_address;
  TVMFFIObject *f = NULL;
  tvmffi_scope scope;
  int64_t n = 0;
  int code;
  memcpy(&call_address, &call, sizeof(call));
  memcpy(&deleter_address, &deleter, sizeof(deleter));
  code = test_call_extern(tvmffi_scope_open(&scope), letter, call_address,
                          deleter_address, &n);
  tvmffi_scope_close(&scope);
  OK(code);
  CHECK_INT(n, (intptr_t)letter);
  CHECK_LOG("e");
  OK(tvmffi_call(tvmffi_str("ffi.FunctionFromExternC"), tvmffi_out_object(&f),
                 tvmffi_none(), tvmffi_ptr(call_address), tvmffi_none()));
  OK(tvmffi_call(tvmffi_obj(f), tvmffi_out_int64(&n), tvmffi_int(4)));
  CHECK_INT(n, 4);
  FAILS(
      tvmffi_call(tvmffi_str("ffi.FunctionFromExternC"), tvmffi_out_object(&f),
                  tvmffi_none(), tvmffi_none(), tvmffi_none()),
      "ValueError", "...safe_call must not be NULL");
}

/* Names that are set and removed need no more memory than those that are there
   at a time, and leave the others to be found. */
static void test_names_that_go(TVMFFI_HERE) {
  enum { STAY = 40 };
  tvmffi_i_name_table *map = &tvmffi_i_globals;
  TVMFFIObject *f = test_global("ffi.String");
  TVMFFIObjectHandle found = NULL;
  char names[STAY][64];
  size_t count = 0, made = 0;
  int i, n = test_scale(20000, 60);
  if (!f) return;
  memset((void *)names, 0, sizeof(names));
  for (i = 0; i < n; ++i) {
    const char *text = test_fresh("unit.goes");
    TVMFFIByteArray name = TEXT(text), old = TEXT(names[i % STAY]);
    if (i == n / 2) {
      count = map->count;
      made = test_get(&test_made);
    }
    if (i >= STAY) {
      OK(TVMFFIFunctionGetGlobal(&old, &found));
      CHECK(found == f);
      tvmffi_release(found);
      OK(tvmffi_call(tvmffi_str("ffi.FunctionRemoveGlobal"),
                     tvmffi_out_any(NULL), tvmffi_str(names[i % STAY])));
      OK(TVMFFIFunctionGetGlobal(&old, &found));
      CHECK(found == NULL);
    }
    OK(TVMFFIFunctionSetGlobal(&name, f, 0));
    (void)test_put(names[i % STAY], 0, sizeof(names[0]), text, strlen(text));
  }
  if (!test_oom) {
    CHECK(map->count <= count + STAY);
    CHECK(test_get(&test_made) - made < 20);
  }
  CHECK(map->used <= map->table->mask / 4 * 3 + 3);
  for (i = 0; i < STAY; ++i)
    OK(tvmffi_call(tvmffi_str("ffi.FunctionRemoveGlobal"), tvmffi_out_any(NULL),
                   tvmffi_str(names[i])));
}

/* A slot that a search passes stays a tombstone, others become empty. What
   fills a table with tombstones all the same has it made anew. */
static void test_tombstones(TVMFFI_HERE) {
  static tvmffi_i_node nodes[64];
  tvmffi_i_slots *first;
  tvmffi_i_name_table map;
  uint32_t i;
  int failed;
  memset((void *)&map, 0, sizeof(map));
  tvmffi_i_lock();
  failed = tvmffi_i_reserve(&map, 1);
  tvmffi_i_unlock();
  OK(failed ? tvmffi_i_no_memory() : 0);
  first = map.table;
  for (i = 0; i < 64; ++i) {
    nodes[i].key = "k";
    nodes[i].size = 1;
    nodes[i].hash = i < 60 ? i : 0;
  }
  tvmffi_i_lock();
  for (i = 0; i < 4; ++i) tvmffi_i_fill_slot(&map, &nodes[i]);
  tvmffi_i_clear_slot(&map, &nodes[1]);
  CHECK_INT(map.used, 3);
  CHECK(tvmffi_i_find_hashed(&map, "k", 1, 2) == &nodes[2]);
  CHECK(!tvmffi_i_find_hashed(&map, "k", 1, 1));
  tvmffi_i_fill_slot(&map, &nodes[1]);
  tvmffi_i_fill_slot(&map, &nodes[60]); /* 0, in slot 4 */
  for (i = 0; i < 4; ++i) tvmffi_i_clear_slot(&map, &nodes[i]);
  CHECK_INT(map.used, 5);
  CHECK(tvmffi_i_find_hashed(&map, "k", 1, 0) == &nodes[60]);
  tvmffi_i_fill_slot(&map, &nodes[61]);
  CHECK_INT(map.used, 5);
  tvmffi_i_clear_slot(&map, &nodes[60]);
  CHECK_INT(map.used, 1);
  CHECK(tvmffi_i_find_hashed(&map, "k", 1, 0) == &nodes[61]);
  tvmffi_i_clear_slot(&map, &nodes[61]);
  CHECK_INT(map.used, 0);
  map.used = first->mask / 4 * 3 + 3;
  failed = tvmffi_i_reserve(&map, 1);
  tvmffi_i_unlock();
  if (test_code(failed ? tvmffi_i_no_memory() : 0, __FILE__, __LINE__,
                "tvmffi_i_reserve")) {
    tvmffi_i_free(first);
    return;
  }
  CHECK(map.used == 0 && map.table != first && map.table->older == first);
  CHECK(map.table->mask == first->mask);
  tvmffi_i_free(map.table);
  tvmffi_i_free(first);
}

/* A child of fork repeats a start that another thread of its parent had begun,
   so a start that is repeated has the same result. */
static void test_repeated_start(TVMFFI_HERE) {
  static TVMFFI_I_SLOTS(2) slots;
  static tvmffi_i_node nodes[2];
  tvmffi_i_name_table map;
  size_t k, full;
  int i;
  memset((void *)&map, 0, sizeof(map));
  memset((void *)&slots, 0, sizeof(slots));
#if !TVMFFI_NO_TYPES
  tvmffi_i_start_types();
#endif
  tvmffi_i_lock();
  for (i = 0; i < 2; ++i) {
    tvmffi_i_begin_name_table(&map, &slots.head, sizeof(slots));
    tvmffi_i_insert(&map, &nodes[0], "first", 5);
    if (i) tvmffi_i_insert(&map, &nodes[1], "second", 6);
    for (full = k = 0; k <= map.table->mask; ++k)
      full += slots.slot[k] != 0;
    CHECK_INT(full, i + 1);
    for (k = 0; !i && k <= map.table->mask; ++k)
      slots.slot[k] = (uintptr_t)&nodes[1];
  }
  CHECK(map.count == 2 && map.used == 2);
  CHECK(map.first == &nodes[0] && map.last == &nodes[1]);
  CHECK(nodes[0].next == &nodes[1] && !nodes[1].next);
  CHECK(tvmffi_i_find(&map, "second", 6) == &nodes[1]);
#if !TVMFFI_NO_TYPES && !TVMFFI_NO_REFLECTION
  {
    tvmffi_i_type *t = tvmffi_i_type_at(TVMFFI_I_ACCESS_PATH);
    const TVMFFIMethodInfo *methods = t->info.methods;
    const int32_t num_methods = t->info.num_methods;
    tvmffi_i_describe_type(t, TVMFFI_I_ACCESS_PATH);
    CHECK(num_methods > 0 && t->info.num_methods == num_methods);
    CHECK(t->info.methods == methods);
  }
#endif
  tvmffi_i_unlock();
}

/* A removed record leaves the others to be found. */
static void test_records(TVMFFI_HERE) {
  tvmffi_i_records t = {NULL, 0};
  uintptr_t key, gone, n = 0;
  while (n < 100 && tvmffi_i_add_record(&t, sizeof(key), 1, n + 1, 0)) ++n;
  CHECK(t.count == n && (n == 100 || test_oom));
  for (gone = 1; gone <= n; ++gone) {
    tvmffi_i_remove_record(&t, sizeof(key), gone);
    for (key = 1; key <= n; ++key)
      CHECK(!tvmffi_i_find_record(&t, sizeof(key), 1, key, 0) == (key <= gone));
  }
  CHECK(t.count == 0 && !tvmffi_i_next_record(&t, sizeof(key), NULL));
  tvmffi_i_free_slots(t.table);
}

static void test_list_names(TVMFFI_HERE) {
  static const char text[] = "unit.listed";
  TVMFFIByteArray name = TEXT(text);
  TVMFFIObject *f = test_global("ffi.String"), *names = NULL;
  char listed[128];
  tvmffi_buffer buffer;
  int64_t count = 0, i;
  int found = 0, builtin = 0;
  if (!f) return;
  OK(TVMFFIFunctionSetGlobal(&name, f, 1));
  OK(tvmffi_call(tvmffi_str("ffi.FunctionListGlobalNamesFunctor"),
                 tvmffi_out_object(&names)));
  OK(tvmffi_call(tvmffi_obj(names), tvmffi_out_int64(&count), tvmffi_int(-1)));
  CHECK(count >= 9);
  for (i = 0; i < count; ++i) {
    if (test_oom && i == 3) break; /* each name is an allocation */
    buffer.data = listed;
    buffer.capacity = sizeof(listed);
    OK(tvmffi_call(tvmffi_obj(names), tvmffi_out_buffer(&buffer),
                   tvmffi_int(i)));
    found += test_contains(TEXT(listed), text);
    builtin += test_contains(TEXT(listed), "ffi.GetInvalidObject");
    CHECK(!test_contains(TEXT(listed), "tvmffi."));
  }
  if (!test_oom) CHECK(found == 1 && builtin == 1);
  FAILS(tvmffi_call(tvmffi_obj(names), tvmffi_out_any(NULL), tvmffi_int(count)),
        "IndexError", "...out of bounds");
  FAILS(tvmffi_call(tvmffi_obj(names), tvmffi_out_any(NULL), tvmffi_str("x")),
        "TypeError", NULL);
  FAILS(tvmffi_call(tvmffi_obj(names), tvmffi_out_any(NULL)), "TypeError",
        NULL);
  /* A removed one is no longer listed. */
  OK(tvmffi_call(tvmffi_str("ffi.FunctionRemoveGlobal"), tvmffi_out_any(NULL),
                 tvmffi_str(text)));
  OK(tvmffi_call(tvmffi_str("ffi.FunctionListGlobalNamesFunctor"),
                 tvmffi_out_object(&names)));
  OK(tvmffi_call(tvmffi_obj(names), tvmffi_out_int64(&i), tvmffi_int(-1)));
  CHECK_INT(i, count - 1);
}
#endif

static const test_case test_function_cases[] = {
#if !TEST_NO_FUNCTIONS
    {"functions: create and call", test_function_create},
    {"functions: calls that are refused", test_function_refuse},
#if !TVMFFI_NO_TYPES
    {"functions: a type of its own", test_function_subtype},
#endif
    {"functions: global, replaced, removed", test_globals},
    {"functions: global ones that cannot be", test_bad_globals},
    {"functions: texts of global ones", test_global_info},
#if !TVMFFI_NO_TYPES
    {"functions: global with metadata", test_method_info},
#if !TVMFFI_NO_METADATA
    {"functions: schemas of the built-in ones", test_builtins},
#endif
#endif
    {"functions: two special objects", test_special_objects},
    {"functions: ffi.String and ffi.Bytes", test_string_builtins},
    {"functions: ffi.Shape", test_shapes},
    {"functions: ffi.FunctionFromExternC", test_extern_c},
    {"functions: the list of names", test_list_names},
    {"functions: names that come and go", test_names_that_go},
    {"functions: removed names fill no table", test_tombstones},
    {"functions: removed records", test_records},
    {"functions: a start that is repeated", test_repeated_start},
#endif
    {NULL, NULL}};
