/* ======== Modules: modules, libraries, imports ============================ */

#pragma once

#include "harness.h"
#include "type_field.h"
#include "thread.h"

#if !TEST_NO_MODULES && !TVMFFI_NO_CONTAINERS
/* Libraries are parts of the system library, whose symbols are put together
   here; each test has a prefix of its own. */

/* Registers a symbol whose name is the three texts; 1 when that failed. */
static int test_put_symbol(const char *a, const char *b, const char *c,
                           void *address) {
  char name[128];
  (void)tvmffi_i_join(name, TEXT(a), TEXT(b), TEXT(c));
  return test_code(TVMFFIEnvModRegisterSystemLibSymbol(name, address), __FILE__,
                   __LINE__, c);
}

static int test_put_code(const char *a, const char *b, const char *c,
                         TVMFFISafeCallType code) {
  void *address;
  memcpy((void *)&address, &code, sizeof(address));
  return test_put_symbol(a, b, c, address);
}

/* The module of a prefix, or NULL. */
static TVMFFIObject *test_module(TVMFFI_HERE, const char *prefix) {
  TVMFFIObject *m = NULL;
  (void)test_code(tvmffi_call(tvmffi_str("ffi.SystemLib"),
                              tvmffi_out_object(&m), tvmffi_str(prefix)),
                  __FILE__, __LINE__, prefix);
  return m;
}

/* A module of a new prefix with the function `name`, or NULL. */
static TVMFFIObject *test_module_with(TVMFFI_HERE, const char *name,
                                      TVMFFISafeCallType code) {
  const char *prefix = test_fresh("unit_module");
  if (test_put_code("__tvm_ffi_", prefix, name, code)) return NULL;
  return test_module(tvmffi_here, prefix);
}

#define MODULE_CALL(name, out, ...) \
  tvmffi_call(tvmffi_str("ffi.Module" name), out, __VA_ARGS__)

static int test_import(TVMFFIObject *m, TVMFFIObject *other) {
  return MODULE_CALL("ImportModule", tvmffi_out_any(NULL), tvmffi_obj(m),
                     tvmffi_obj(other));
}

static int test_get_function(TVMFFI_HERE, TVMFFIObject *m, const char *name,
                             int imports, TVMFFIAny *out) {
  *out = tvmffi_none();
  return MODULE_CALL("GetFunction", tvmffi_out_any(out), tvmffi_obj(m),
                     tvmffi_str(name), tvmffi_bool(imports));
}

static int test_one(void *self, const TVMFFIAny *args, int32_t num_args,
                    TVMFFIAny *result) {
  (void)args, (void)num_args;
  CHECK(self == NULL);
  *result = tvmffi_int(1);
  return 0;
}
static int test_two(void *self, const TVMFFIAny *args, int32_t num_args,
                    TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args;
  *result = tvmffi_int(2);
  return 0;
}
static int test_describe_shortly(void *self, const TVMFFIAny *args,
                                 int32_t num_args, TVMFFIAny *result) {
  TVMFFIByteArray text = TEXT("short");
  (void)self, (void)args, (void)num_args;
  return TVMFFIStringFromByteArray(&text, result);
}
static int test_describe(void *self, const TVMFFIAny *args, int32_t num_args,
                         TVMFFIAny *result) {
  TVMFFIByteArray text = TEXT("what the function does");
  (void)self, (void)args;
  CHECK_INT(num_args, 0);
  return TVMFFIStringFromByteArray(&text, result);
}

/* Calls a function (borrowed) that gives an int. */
static int64_t test_call_int(TVMFFIObjectHandle f) {
  TVMFFIAny result = tvmffi_none();
  if (test_code(TVMFFIFunctionCall(f, NULL, 0, &result), __FILE__, __LINE__,
                "call"))
    return -1;
  return result.type_index == kTVMFFIInt ? result.v_int64 : -2;
}

/* Calls a function of a module, which holds the module while it lives. */
static void test_module_one(TVMFFI_HERE, TVMFFIObject *m) {
  uint32_t count = test_strong(m);
  TVMFFIAny f;
  OK(test_get_function(tvmffi_here, m, "one", 0, &f));
  if (!CHECK(f.type_index == kTVMFFIFunction)) return;
  CHECK_INT(test_strong(m), count + 1);
  CHECK_INT(test_call_int(f.v_obj), 1);
}

static void test_module_functions(TVMFFI_HERE) {
  const char *prefix = test_fresh("unit_module");
  TVMFFIObject *m, *again;
  TVMFFIAny f;
  tvmffi_scope scope;
  tvmffi_type_bool has = 0;
  uint32_t count;
  if (test_put_code("__tvm_ffi_", prefix, "one", test_one)) return;
  if (test_put_code("__tvm_ffi_", prefix, "fails", test_raise_callback)) return;
  m = test_module(tvmffi_here, prefix);
  again = test_module(tvmffi_here, prefix);
  if (!m || !again) return;
  CHECK(m == again);
  count = test_strong(m);
  test_module_one(tvmffi_scope_open(&scope), m);
  tvmffi_scope_close(&scope);
  CHECK_INT(test_strong(m), count);
  OK(test_get_function(tvmffi_here, m, "fails", 0, &f));
  FAILS(TVMFFIFunctionCall(f.v_obj, NULL, 0, &f), "ValueError",
        "the callback says no");
  OK(test_get_function(tvmffi_here, m, "none", 1, &f));
  CHECK(f.type_index == kTVMFFINone);
  OK(MODULE_CALL("ImplementsFunction", tvmffi_out_bool(&has), tvmffi_obj(m),
                 tvmffi_str("one"), tvmffi_bool(0)));
  CHECK_INT(has, 1);
  OK(MODULE_CALL("ImplementsFunction", tvmffi_out_bool(&has), tvmffi_obj(m),
                 tvmffi_str("two"), tvmffi_bool(1)));
  CHECK_INT(has, 0);
}

static void test_module_symbol_order(TVMFFI_HERE) {
  const char *prefix = test_fresh("unit_module"), *name = test_fresh("common");
  TVMFFIObject *m;
  TVMFFIAny f;
  if (test_put_code("__tvm_ffi_", "", name, test_one)) return;
  m = test_module(tvmffi_here, prefix);
  if (!m) return;
  /* The prefix may be left out ... */
  OK(test_get_function(tvmffi_here, m, name, 0, &f));
  if (CHECK(f.type_index == kTVMFFIFunction))
    CHECK_INT(test_call_int(f.v_obj), 1);
  if (test_put_code("__tvm_ffi_", prefix, name, test_two)) return;
  /* ... but goes before. */
  OK(test_get_function(tvmffi_here, m, name, 0, &f));
  if (CHECK(f.type_index == kTVMFFIFunction))
    CHECK_INT(test_call_int(f.v_obj), 2);
}

/* Any code but 0 is a failure, with an error or without one. */
static int test_describe_badly(void *self, const TVMFFIAny *args,
                               int32_t num_args, TVMFFIAny *result) {
  (void)test_raise_callback(self, args, num_args, result);
  return 7;
}
static int test_describe_silently(void *self, const TVMFFIAny *args,
                                  int32_t num_args, TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args, (void)result;
  return 7;
}

static void test_module_texts(TVMFFI_HERE) {
  const char *prefix = test_fresh("unit_module");
  static const char doc[] = "__tvm_ffi__doc_";
  TVMFFIObject *m;
  TVMFFIAny text = tvmffi_none();
  OK(TVMFFIGetTypeInfo(kTVMFFIInt) ? 0 : -1); /* for its name in an error */
  if (test_put_code(prefix, doc, "f", test_describe)) return;
  if (test_put_code(prefix, doc, "g", test_describe_shortly)) return;
  if (test_put_code(prefix, doc, "int", test_one)) return;
  if (test_put_code(prefix, doc, "fails", test_raise_callback)) return;
  if (test_put_code(prefix, doc, "badly", test_describe_badly)) return;
  if (test_put_code(prefix, doc, "silently", test_describe_silently)) return;
  if (test_put_code(prefix, "__tvm_ffi__metadata_", "f", test_describe)) return;
  m = test_module(tvmffi_here, prefix);
  if (!m) return;
  OK(MODULE_CALL("GetFunctionDoc", tvmffi_out_any(&text), tvmffi_obj(m),
                 tvmffi_str("f"), tvmffi_bool(0)));
  CHECK_TEXT(tvmffi_any_str(&text), "what the function does");
  OK(MODULE_CALL("GetFunctionDoc", tvmffi_out_any(&text), tvmffi_obj(m),
                 tvmffi_str("g"), tvmffi_bool(0)));
  CHECK_TEXT(tvmffi_any_str(&text), "short");
  OK(MODULE_CALL("GetFunctionMetadata", tvmffi_out_any(&text), tvmffi_obj(m),
                 tvmffi_str("f"), tvmffi_bool(0)));
  CHECK_TEXT(tvmffi_any_str(&text), "what the function does");
  OK(MODULE_CALL("GetFunctionMetadata", tvmffi_out_any(&text), tvmffi_obj(m),
                 tvmffi_str("g"), tvmffi_bool(1)));
  CHECK(text.type_index == kTVMFFINone);
  FAILS(MODULE_CALL("GetFunctionDoc", tvmffi_out_any(&text), tvmffi_obj(m),
                    tvmffi_str("int"), tvmffi_bool(0)),
        "TypeError", "Cannot convert from type `int` to `str`");
  FAILS(MODULE_CALL("GetFunctionDoc", tvmffi_out_any(&text), tvmffi_obj(m),
                    tvmffi_str("fails"), tvmffi_bool(0)),
        "ValueError", "the callback says no");
  FAILS(MODULE_CALL("GetFunctionDoc", tvmffi_out_any(&text), tvmffi_obj(m),
                    tvmffi_str("badly"), tvmffi_bool(0)),
        "ValueError", "the callback says no");
  FAILS(MODULE_CALL("GetFunctionDoc", tvmffi_out_any(&text), tvmffi_obj(m),
                    tvmffi_str("silently"), tvmffi_bool(1)),
        "RuntimeError", "A library's function failed with code 7 and no error");
}

static void test_module_properties(TVMFFI_HERE) {
  TVMFFIObject *m = test_module(tvmffi_here, test_fresh("unit_module"));
  TVMFFIAny any = tvmffi_none();
  int32_t mask = 0;
  if (!m) return;
  OK(MODULE_CALL("GetKind", tvmffi_out_any(&any), tvmffi_obj(m)));
  CHECK_TEXT(tvmffi_any_str(&any), "library");
  OK(MODULE_CALL("GetPropertyMask", tvmffi_out_int32(&mask), tvmffi_obj(m)));
  CHECK_INT(mask, 3);
  OK(MODULE_CALL("InspectSource", tvmffi_out_any(&any), tvmffi_obj(m),
                 tvmffi_str("")));
  CHECK(any.type_index == kTVMFFISmallStr && any.small_str_len == 0);
  OK(MODULE_CALL("GetWriteFormats", tvmffi_out_any(&any), tvmffi_obj(m)));
  if (CHECK(any.type_index == kTVMFFIArray))
    CHECK_INT(((TVMFFISeqCell *)(void *)(any.v_obj + 1))->size, 0);
  FAILS(MODULE_CALL("WriteToFile", tvmffi_out_any(NULL), tvmffi_obj(m),
                    tvmffi_str("f"), tvmffi_str("so")),
        "RuntimeError", "Module[library] does not support WriteToFile");
  FAILS(MODULE_CALL("GetKind", tvmffi_out_any(&any), tvmffi_int(1)),
        "TypeError", NULL);
  FAILS(tvmffi_call(tvmffi_str("ffi.SystemLib"), tvmffi_out_any(&any),
                    tvmffi_int(1)),
        "TypeError", "Cannot convert from type `int` to `str`");
}

#if !TVMFFI_NO_METADATA
static void test_module_schemas(TVMFFI_HERE) {
  TVMFFIAny text = test_metadata_of(tvmffi_here, "ffi.ModuleGetFunction");
  CHECK(test_hits() ||
        test_contains(tvmffi_any_str(&text),
                      "{\\\"type\\\":\\\"Optional\\\",\\\"args\\\":[{"
                      "\\\"type\\\":\\\"ffi.Function\\\"}]}"));
  text = test_metadata_of(tvmffi_here, "ffi.ModuleImportModule");
  if (!test_hits())
    CHECK_TEXT(tvmffi_any_str(&text),
               SCHEMA("None", PARAM("ffi.Module") "," PARAM("ffi.Module")));
}
#endif

static void test_module_context(TVMFFI_HERE) {
  const char *prefix = test_fresh("unit_module");
  const char *symbol = test_fresh("unit_context");
  static void *context, *variable;
  static char target;
  TVMFFIObject *m;
  context = variable = NULL;
  OK(TVMFFIEnvModRegisterContextSymbol(symbol, &target));
  if (test_put_symbol(prefix, "__tvm_ffi__library_ctx", "", &context)) return;
  if (test_put_symbol(prefix, symbol, "", &variable)) return;
  m = test_module(tvmffi_here, prefix);
  if (!m) return;
  CHECK(context == tvmffi_i_module_of(m));
  CHECK(variable == &target);
}

/* Names that do not fit in a buffer on the stack. */
static void test_module_long_names(TVMFFI_HERE) {
  static char name[301], prefix[281], symbol[291];
  static void *variable;
  TVMFFIObject *m;
  TVMFFIAny any;
  tvmffi_type_bool has = 1;
  memset(name, 'n', sizeof(name) - 1);
  memset(prefix, 'p', sizeof(prefix) - 1);
  memset(symbol, 's', sizeof(symbol) - 1);
  m = test_module(tvmffi_here, prefix);
  if (!m) return;
  OK(test_get_function(tvmffi_here, m, name, 0, &any));
  CHECK_INT(any.type_index, kTVMFFINone);
  OK(MODULE_CALL("ImplementsFunction", tvmffi_out_bool(&has), tvmffi_obj(m),
                 tvmffi_str(name), tvmffi_bool(0)));
  CHECK(!has);
  OK(MODULE_CALL("GetFunctionDoc", tvmffi_out_any(&any), tvmffi_obj(m),
                 tvmffi_str(name), tvmffi_bool(0)));
  CHECK_INT(any.type_index, kTVMFFINone);
  OK(TVMFFIEnvModRegisterSystemLibSymbol(symbol, &variable));
  OK(TVMFFIEnvModRegisterContextSymbol(symbol, &has));
  m = test_module(tvmffi_here, test_fresh("unit_module"));
  CHECK(!m || variable == &has);
}

/* A symbol's name is joined on the stack if it has up to 255 bytes. */
static void test_symbol_room(TVMFFI_HERE) {
  static char name[257];
  tvmffi_i_library *library = tvmffi_i_new_library(NULL, TEXT(""));
  size_t made, size;
  void *address = name;
  OK(library ? 0 : -1);
  OWN(&library->base);
  memset(name, 'n', sizeof(name) - 1);
  for (size = 255; size < 257; ++size) {
    made = test_get(&test_made);
    OK(tvmffi_i_find_symbol(library, "", test_bytes(name, size), &address));
    CHECK(!address);
    CHECK_INT(test_get(&test_made) - made, size > 255);
  }
}

static void test_module_imports(TVMFFI_HERE) {
  TVMFFIObject *a = test_module_with(tvmffi_here, "a", test_one);
  TVMFFIObject *b = test_module_with(tvmffi_here, "b", test_two);
  TVMFFIObject *c = test_module_with(tvmffi_here, "b", test_one);
  TVMFFIAny f;
  if (!a || !b || !c) return;
  OK(test_import(a, b));
  OK(test_import(b, c));
  OK(test_get_function(tvmffi_here, a, "b", 0, &f));
  CHECK(f.type_index == kTVMFFINone);
  OK(test_get_function(tvmffi_here, a, "b", 1, &f)); /* the nearest */
  if (CHECK(f.type_index == kTVMFFIFunction))
    CHECK_INT(test_call_int(f.v_obj), 2);
  FAILS(test_import(a, a), "RuntimeError",
        "Cyclic dependency detected during import");
  FAILS(test_import(c, a), "RuntimeError",
        "Cyclic dependency detected during import");
  OK(test_import(a, c));
  OK(test_import(a, b));
  CHECK_INT(
      ((TVMFFISeqCell *)(void *)(tvmffi_i_module_of(a)->imports + 1))->size, 3);
  OK(MODULE_CALL("ClearImports", tvmffi_out_any(NULL), tvmffi_obj(a)));
  OK(test_get_function(tvmffi_here, a, "b", 1, &f));
  CHECK(f.type_index == kTVMFFINone);
  OK(test_import(c, a));
  OK(MODULE_CALL("ClearImports", tvmffi_out_any(NULL), tvmffi_obj(b)));
}

#if !TEST_NO_CONTENTION && !TVMFFI_NO_THREADS
static TVMFFIObject *test_importer, *test_imported;
static size_t test_num_imported;

static void test_import_work(int id) {
  int i, n = test_rounds(10);
  (void)id;
  for (i = 0; i < n; ++i) {
    OK(test_import(test_importer, test_imported));
    (void)test_add(&test_num_imported, 1);
  }
}

/* No import is lost when threads add them at once. */
static void test_contend_imports(TVMFFI_HERE) {
  test_importer = test_module(tvmffi_here, test_fresh("unit_module"));
  test_imported = test_module(tvmffi_here, test_fresh("unit_module"));
  if (!test_importer || !test_imported) return;
  test_num_imported = 0;
  test_parallel(test_import_work);
  CHECK_INT(tvmffi_size(tvmffi_obj(tvmffi_i_module_of(test_importer)->imports)),
            test_num_imported);
}
#endif

/* Layers of two modules that both import both of the next: a search that
   visited them again and again would not end. */
static void test_module_lattice(TVMFFI_HERE) {
  TVMFFIObject *m[60];
  TVMFFIAny f;
  int i, n = test_scale(60, 6);
  for (i = 0; i < n; ++i) {
    tvmffi_i_library *library = tvmffi_i_new_library(NULL, TEXT("lattice"));
    tvmffi_i_module *made = library ? tvmffi_i_new_module(library) : NULL;
    tvmffi_release(library);
    if (!made) {
      CHECK(test_hits());
      tvmffi_error_clear();
      return;
    }
    m[i] = &made->base;
    OWN(m[i]);
    if (i > 1) {
      OK(test_import(m[i], m[i / 2 * 2 - 2]));
      OK(test_import(m[i], m[i / 2 * 2 - 1]));
    }
  }
  OK(test_get_function(tvmffi_here, m[n - 1], "none", 1, &f));
  CHECK(f.type_index == kTVMFFINone);
  FAILS(test_import(m[0], m[n - 1]), "RuntimeError", NULL);
}

static void test_imports(TVMFFI_HERE) {
  const char *text = test_fresh("unit.import");
  TVMFFIByteArray name = TEXT(text);
  TVMFFIObject *f = test_global("ffi.String");
  TVMFFIObject *m = test_module(tvmffi_here, test_fresh("unit_module")), *other;
  TVMFFIObjectHandle got = NULL;
  void *context;
  if (!f || !m) return;
  context = tvmffi_i_module_of(m);
  FAILS(TVMFFIEnvModLookupFromImports(context, text, &got), "RuntimeError",
        "...in the imported modules or global registry.");
  FAILS(TVMFFIEnvModLookupFromImports(context, "unit.none", &got),
        "RuntimeError",
        "Cannot find function unit.none in the imported modules or global "
        "registry.");
  FAILS(TVMFFIEnvModLookupFromImports(NULL, text, &got), "ValueError", NULL);
  FAILS(TVMFFIEnvModLookupFromImports(context, NULL, &got), "ValueError", NULL);
  FAILS(TVMFFIEnvModLookupFromImports(context, text, NULL), "ValueError", NULL);
  FAILS(TVMFFIEnvModLookupFromImports((char *)f - 8, text, &got), "TypeError",
        NULL);
  OK(TVMFFIFunctionSetGlobal(&name, f, 0));
  OK(TVMFFIEnvModLookupFromImports(context, text, &got));
  CHECK(got == f);
  other = test_module_with(tvmffi_here, "theirs", test_two);
  if (!other) return;
  OK(test_import(m, other));
  OK(TVMFFIEnvModLookupFromImports(context, "theirs", &got));
  CHECK_INT(test_call_int(got), 2);
  f = (TVMFFIObject *)got;
  OK(MODULE_CALL("ClearImports", tvmffi_out_any(NULL), tvmffi_obj(m)));
  OK(TVMFFIEnvModLookupFromImports(context, "theirs", &got));
  CHECK(got == f); /* found once */
}

#if !TEST_NO_CONTENTION && !TVMFFI_NO_THREADS
static TVMFFIObject *test_looked_up[24];

static void test_lookup_work(int id) {
  int i;
  (void)id;
  for (i = 0; i < TEST_COUNT(test_looked_up); ++i) {
    void *context = tvmffi_i_module_of(test_looked_up[i]);
    TVMFFIObjectHandle got = NULL, again = NULL;
    OK(TVMFFIEnvModLookupFromImports(context, "ffi.String", &got));
    OK(TVMFFIEnvModLookupFromImports(context, "ffi.String", &again));
    CHECK(got && got == again);
  }
}

/* Threads that look up one function first at once find one cache. */
static void test_contend_lookups(TVMFFI_HERE) {
  TVMFFIByteArray prefix = TEXT("unit_looked_up");
  tvmffi_i_module *m;
  tvmffi_i_library *library = tvmffi_i_new_library(NULL, prefix);
  int i;
  OK(library ? 0 : -1);
  OWN(&library->base);
  for (i = 0; i < TEST_COUNT(test_looked_up); ++i) {
    m = tvmffi_i_new_module(library);
    OK(m ? 0 : -1);
    OWN(&m->base);
    test_looked_up[i] = &m->base;
  }
  test_parallel(test_lookup_work);
}
#endif

#if !TVMFFI_NO_TYPES
/* An object of a derived type is a module. */
static void test_derived_module(TVMFFI_HERE) {
  TVMFFIObject *m = test_module(tvmffi_here, test_fresh("unit_module"));
  TVMFFIObjectHandle got = NULL;
  TVMFFIAny any = tvmffi_none();
  if (!m) return;
  OK(test_derive("unit.ModuleLike", 117, kTVMFFIModule));
  m->type_index = 117;
  OK(TVMFFIEnvModLookupFromImports(tvmffi_i_module_of(m), "ffi.String", &got));
  CHECK_INT(((TVMFFIObject *)got)->type_index, kTVMFFIFunction);
  OK(MODULE_CALL("GetKind", tvmffi_out_any(&any), tvmffi_obj(m)));
  CHECK_TEXT(tvmffi_any_str(&any), "library");
}
#endif

/* A cache that C++ made is replaced, and lives as long as its module. */
static void test_foreign_cache(TVMFFI_HERE) {
  const char *text = test_fresh("unit.import");
  TVMFFIByteArray name = TEXT(text);
  TVMFFIObject *f = test_global("ffi.String");
  TVMFFIObject *m = test_module(tvmffi_here, test_fresh("unit_module"));
  TVMFFIObjectHandle got = NULL, old = NULL;
  uint32_t count;
  if (!f || !m) return;
  OK(TVMFFIObjectCreateOpaque(NULL, kTVMFFIOpaquePyObject, NULL, &old));
  tvmffi_i_module_of(m)->cache = (TVMFFIObject *)old;
  OK(TVMFFIFunctionSetGlobal(&name, f, 0));
  count = test_strong(f);
  OK(TVMFFIEnvModLookupFromImports(tvmffi_i_module_of(m), text, &got));
  CHECK(got == f);
  CHECK(test_strong(f) == count + 1 || count >> 31);
  CHECK_INT(test_strong(old), 1);
}

/* An embedded binary, put together. */
static unsigned char test_binary[512];
static size_t test_binary_size;

static void test_binary_number(uint64_t x) {
  int i;
  for (i = 0; i < 8; ++i)
    test_binary[test_binary_size++] = (unsigned char)(x >> (8 * i));
}
static void test_binary_text(const char *text) {
  size_t n = strlen(text);
  test_binary_number(n);
  memcpy(test_binary + test_binary_size, text, n);
  test_binary_size += n;
}
/* Arrays of numbers, as text: "024" is 0, 2, 4. */
static void test_binary_begin(const char *begin, const char *child) {
  const char *array[2], *at;
  int i;
  array[0] = begin;
  array[1] = child;
  test_binary_size = 8;
  for (i = 0; i < 2; ++i) {
    test_binary_number(strlen(array[i]));
    for (at = array[i]; *at; ++at) test_binary_number((uint64_t)(*at - '0'));
  }
}
static void test_binary_end(void) {
  size_t size = test_binary_size;
  test_binary_size = 0;
  test_binary_number(size - 8);
  test_binary_size = size;
}

/* The loader: a module with the bytes as its prefix. */
static int test_load_bytes(void *self, const TVMFFIAny *args, int32_t num_args,
                           TVMFFIAny *result) {
  tvmffi_i_library *library;
  tvmffi_i_module *m;
  (void)self;
  CHECK_INT(num_args, 1);
  CHECK(args->type_index == kTVMFFIBytes ||
        args->type_index == kTVMFFISmallBytes);
  library = tvmffi_i_new_library(NULL, tvmffi_any_str(args));
  if (!library) return -1;
  m = tvmffi_i_new_module(library);
  tvmffi_release(library);
  if (!m) return -1;
  *result = tvmffi_obj(&m->base);
  return 0;
}

static int test_set_loader(const char *name, TVMFFISafeCallType code) {
  TVMFFIByteArray key = TEXT(name);
  TVMFFIObjectHandle f = NULL;
  int failed = TVMFFIFunctionCreate(NULL, code, NULL, &f);
  if (!failed) failed = TVMFFIFunctionSetGlobal(&key, f, 1);
  tvmffi_release(f);
  return test_code(failed, __FILE__, __LINE__, name);
}

/* Gives the module of a new prefix whose embedded binary is the one above. */
static int test_embedded(TVMFFI_HERE, TVMFFIObject **out, void **context) {
  const char *prefix = test_fresh("unit_module");
  *out = NULL;
  if (test_put_symbol(prefix, "__tvm_ffi__library_bin", "", test_binary) ||
      test_put_symbol(prefix, "__tvm_ffi__library_ctx", "", context))
    return TVMFFI_RAISE("MemoryError", "no symbol");
  return tvmffi_call(tvmffi_str("ffi.SystemLib"), tvmffi_out_object(out),
                     tvmffi_str(prefix));
}

static void test_embedded_modules(TVMFFI_HERE) {
  static void *context;
  TVMFFIObject *m;
  TVMFFISeqCell *imports;
  if (test_set_loader("ffi.Module.load_from_bytes.unit", test_load_bytes) ||
      test_set_loader("ffi.Module.load_from_bytes.unit_int", test_two))
    return;
  test_binary_begin("0222", "12"); /* the first imports the other two */
  test_binary_text("unit");
  test_binary_text("first");
  test_binary_text("_lib");
  test_binary_text("unit");
  test_binary_text("third, with a long name");
  test_binary_end();
  OK(test_embedded(tvmffi_here, &m, &context));
  imports = (TVMFFISeqCell *)(void *)(tvmffi_i_module_of(m)->imports + 1);
  CHECK_INT(imports->size, 2);
  CHECK(((TVMFFIAny *)imports->data)->v_obj ==
        &((tvmffi_i_module *)context)->base);
  test_binary_begin("00", "");
  test_binary_text("unit_int");
  test_binary_text("x");
  test_binary_end();
  FAILS(test_embedded(tvmffi_here, &m, &context), "TypeError",
        "Cannot convert from type `int` to `ffi.Module`");
  test_binary_begin("00", "");
  test_binary_text("unit_none");
  test_binary_text("x");
  test_binary_end();
  FAILS(test_embedded(tvmffi_here, &m, &context), "RuntimeError",
        "Library binary was created using {unit_none} but a loader of that "
        "name is not registered. Make sure to have runtime that registers "
        "ffi.Module.load_from_bytes.unit_none");
}

static int test_load_null(void *self, const TVMFFIAny *args, int32_t num_args,
                          TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args;
  result->type_index = kTVMFFIModule;
  result->v_obj = NULL;
  return 0;
}

/* A library without a variable for its module, a kind without a name, and a
   loader that returns no object. */
static void test_strange_embedded(TVMFFI_HERE) {
  const char *prefix = test_fresh("unit_module");
  static void *context;
  TVMFFIObject *m;
  if (test_set_loader("ffi.Module.load_from_bytes.unit_null", test_load_null))
    return;
  test_binary_begin("00", "");
  test_binary_text("_lib");
  test_binary_end();
  if (test_put_symbol(prefix, "__tvm_ffi__library_bin", "", test_binary))
    return;
  m = test_module(tvmffi_here, prefix);
  if (m) CHECK(tvmffi_i_is_library(tvmffi_i_module_of(m)));
  test_binary_begin("00", "");
  test_binary_text("");
  test_binary_text("x");
  test_binary_end();
  FAILS(test_embedded(tvmffi_here, &m, &context), "InternalError",
        "The binary embedded in the library is malformed");
  test_binary_begin("011", "0");
  test_binary_text("unit_null");
  test_binary_text("x");
  test_binary_text("_lib");
  test_binary_end();
  FAILS(test_embedded(tvmffi_here, &m, &context), "TypeError", NULL);
}

static void test_bad_embedded_modules(TVMFFI_HERE) {
  static const char *const begin[] = {"", "0", "05", "01", "012"};
  static const char *const child[] = {"", "", "1", "1", "10"};
  static void *context;
  TVMFFIObject *m;
  size_t size, cut;
  int i;
  if (test_set_loader("ffi.Module.load_from_bytes.unit", test_load_bytes))
    return;
  for (i = test_oom ? TEST_COUNT(begin) - 1 : 0; i < TEST_COUNT(begin); ++i) {
    test_binary_begin(begin[i], child[i]);
    test_binary_text("unit");
    test_binary_text("a");
    test_binary_text("unit");
    test_binary_text("b");
    test_binary_end();
    FAILS(test_embedded(tvmffi_here, &m, &context),
          i == 4 ? "RuntimeError" : "InternalError", NULL);
  }
  size = test_binary_size;
  for (cut = 9; cut <= size; cut += test_oom ? 64 : 1) {
    test_binary_size = size - cut + 8;
    test_binary_end();
    FAILS(test_embedded(tvmffi_here, &m, &context), "InternalError",
          "The binary embedded in the library is malformed");
  }
}

/* A load that fails returns no module, and the library's variable has the
   module of the load before. */
static void test_failed_load(TVMFFI_HERE) {
  const char *text = test_fresh("unit_module");
  TVMFFIObject *m = test_module(tvmffi_here, text), *loaded = NULL;
  TVMFFIByteArray prefix;
  tvmffi_i_library *library;
  static void *context;
  int code;
  if (!m) return;
  prefix = TEXT(text);
  context = tvmffi_i_module_of(m);
  test_binary_begin("03", "000"); /* the first module imports itself */
  test_binary_text("_lib");
  test_binary_end();
  if (test_put_symbol(text, "__tvm_ffi__library_bin", "", test_binary) ||
      test_put_symbol(text, "__tvm_ffi__library_ctx", "", &context))
    return;
  library = tvmffi_i_new_library(NULL, prefix);
  OK(library ? 0 : -1);
  code = tvmffi_i_load_library(library, &loaded);
  tvmffi_release(library);
  CHECK(loaded == NULL);
  CHECK(context == tvmffi_i_module_of(m));
  FAILS(code, "RuntimeError", "Cyclic dependency detected during import");
}

static void test_kept_modules(TVMFFI_HERE) {
  TVMFFIObject *m = test_module(tvmffi_here, test_fresh("unit_module"));
  uint32_t count;
  if (!m) return;
  count = test_strong(m);
  OK(MODULE_CALL("GlobalsAdd", tvmffi_out_any(NULL), tvmffi_obj(m)));
  CHECK_INT(test_strong(m), count + 1);
  OK(MODULE_CALL("GlobalsAdd", tvmffi_out_any(NULL), tvmffi_obj(m)));
  CHECK_INT(test_strong(m), count + 1);
  OK(MODULE_CALL("GlobalsRemove", tvmffi_out_any(NULL), tvmffi_obj(m)));
  CHECK_INT(test_strong(m), count);
  OK(MODULE_CALL("GlobalsRemove", tvmffi_out_any(NULL), tvmffi_obj(m)));
  CHECK_INT(test_strong(m), count);
}

/* A loader of files, which looks at what it is given. */
static int test_load_file(void *self, const TVMFFIAny *args, int32_t num_args,
                          TVMFFIAny *result) {
  (void)self;
  CHECK_INT(num_args, 2);
  CHECK_TEXT(tvmffi_any_str(&args[0]), "a.b/c.unit");
  CHECK_TEXT(tvmffi_any_str(&args[1]), "unit");
  *result = tvmffi_int(5);
  return 0;
}

#define LOAD(path) \
  MODULE_CALL("LoadFromFile", tvmffi_out_any(&any), tvmffi_str(path))

static int test_load_system(void *self, const TVMFFIAny *args, int32_t num_args,
                            TVMFFIAny *result) {
  (void)self, (void)args;
  CHECK_INT(num_args, 2);
  return test_pass_on("ffi.SystemLib", NULL, 0, result);
}

static void test_load_files(TVMFFI_HERE) {
  TVMFFIAny any = tvmffi_none();
  if (test_set_loader("ffi.Module.load_from_file.unit", test_load_file) ||
      test_set_loader("ffi.Module.load_from_file.system", test_load_system))
    return;
  OK(LOAD("x.system"));
  CHECK_INT(any.type_index, kTVMFFIModule);
  FAILS(LOAD("a.b/c.unit"), "TypeError",
        "Cannot convert from type `int` to `ffi.Module`");
  FAILS(LOAD("none"), "RuntimeError", "Failed to get file format from none");
  FAILS(LOAD("x.none"), "RuntimeError",
        "Loader for `.none` files is not registered, resolved to "
        "(ffi.Module.load_from_file.none) in the global registry.Ensure that "
        "you have loaded the correct runtime code, andthat you are on the "
        "correct hardware architecture.");
#if TVMFFI_NO_DLOPEN
  FAILS(LOAD("x.so"), "RuntimeError", "...without dlopen");
#else
  FAILS(LOAD("no/such/x.dll"), "InternalError",
        "...Failed to load dynamic shared library no/such/x.dll");
#endif
}

/* Loaders run inside of others: a module that needs itself is an error. */
static const char *test_inner_prefix;
static int test_load_inner(void *self, const TVMFFIAny *args, int32_t num_args,
                           TVMFFIAny *result) {
  TVMFFIAny prefix = tvmffi_str(test_inner_prefix);
  (void)self, (void)args, (void)num_args;
  return test_pass_on("ffi.SystemLib", &prefix, 1, result);
}

static void test_nested_system_modules(TVMFFI_HERE) {
  const char *outer = test_fresh("unit_module"), *inner = test_fresh("inner");
  TVMFFIObject *m, *other = NULL;
  if (test_set_loader("ffi.Module.load_from_bytes.nest", test_load_inner))
    return;
  test_binary_begin("00", "");
  test_binary_text("nest");
  test_binary_text("x");
  test_binary_end();
  if (test_put_symbol(outer, "__tvm_ffi__library_bin", "", test_binary)) return;
  test_inner_prefix = outer;
  FAILS(tvmffi_call(tvmffi_str("ffi.SystemLib"), tvmffi_out_object(&other),
                    tvmffi_str(outer)),
        "RuntimeError", NULL);
  test_inner_prefix = inner;
  m = test_module(tvmffi_here, outer);
  other = test_module(tvmffi_here, inner);
  if (m && other) CHECK(m == other);
}

/* A module that ends: a library's own with no system library behind it. */
static TVMFFIObject *test_short_lived_module(void) {
  TVMFFIByteArray prefix;
  tvmffi_i_library *library;
  tvmffi_i_module *m;
  prefix = TEXT(test_fresh("unit_module"));
  library = tvmffi_i_new_library(NULL, prefix);
  if (test_code(library ? 0 : -1, __FILE__, __LINE__, "a library")) return NULL;
  m = tvmffi_i_new_module(library);
  tvmffi_release(library);
  if (test_code(m ? 0 : -1, __FILE__, __LINE__, "a module")) return NULL;
  OWN(&m->base);
  return &m->base;
}

/* What ends while there are weak references keeps its memory. */
static void test_weak_modules(TVMFFI_HERE) {
  const char *name = test_fresh("unit_weak");
  TVMFFIObject *m, *weak[4];
  TVMFFIObjectHandle got = NULL;
  tvmffi_i_library_module *own;
  TVMFFIAny f;
  int i;
  if (test_put_code("__tvm_ffi_", "", name, test_one)) return;
  m = test_short_lived_module();
  if (!m) return;
  OK(test_get_function(tvmffi_here, m, name, 0, &f));
  own = (tvmffi_i_library_module *)(void *)tvmffi_i_module_of(m);
  OK(TVMFFIEnvModLookupFromImports(own, "ffi.String", &got));
  weak[0] = m;
  weak[1] = f.v_obj;
  weak[2] = &own->library->base;
  weak[3] = own->module.cache;
  for (i = 0; i < 4; ++i) tvmffi_weak_retain(weak[i]);
  test_drop(m);
  CHECK(tvmffi_weak_lock(m)); /* the function has it */
  tvmffi_release(m);
  tvmffi_scope_close(tvmffi_here);
  for (i = 0; i < 4; ++i) {
    CHECK(!tvmffi_weak_lock(weak[i]));
    CHECK_INT(test_weak(weak[i]), 1);
    tvmffi_weak_release(weak[i]);
  }
}

/* What a module looked up goes with it, and so does the cache that it found. */
static void test_cache_ends(TVMFFI_HERE) {
  TVMFFIObject *m = test_short_lived_module(), *other;
  TVMFFIObjectHandle got = NULL, again = NULL, old = NULL;
  char name[8] = "name-0";
  TVMFFIObjectHandle f = NULL;
  TVMFFIByteArray key;
  int i, n = test_scale(40, 2);
  if (!m) return;
  test_log_size = 0;
  OK(TVMFFIObjectCreateOpaque((void *)(uintptr_t) "o", kTVMFFIOpaquePyObject,
                              test_say_deleter, &old));
  tvmffi_i_module_of(m)->cache = (TVMFFIObject *)old;
  OK(TVMFFIFunctionCreate((void *)(uintptr_t) "f", test_echo_callback,
                          test_say_deleter, &f));
  for (i = 0; i < n; ++i) { /* so many that the table grows */
    int code;
    name[5] = (char)('0' + i);
    key = TEXT(name);
    code = TVMFFIFunctionSetGlobal(&key, f, 1);
    if (!code)
      code = TVMFFIEnvModLookupFromImports(tvmffi_i_module_of(m), name, &got);
    if (!code)
      code = TVMFFIEnvModLookupFromImports(tvmffi_i_module_of(m), name, &again);
    (void)tvmffi_i_remove_global(&key);
    if (code) tvmffi_release(f);
    OK(code);
    CHECK(got == f && again == f);
  }
  tvmffi_release(f);
  CHECK_LOG("");
  CHECK(test_strong(f) == (uint32_t)n);
  other = test_short_lived_module();
  if (other) OK(test_import(other, m));
  test_drop(m);
  if (other) CHECK_LOG("");
  if (other)
    OK(MODULE_CALL("ClearImports", tvmffi_out_any(NULL), tvmffi_obj(other)));
  CHECK_LOG("fo");
}

/* Imports as C++ may leave them: none at all, and what is no module. */
static void test_strange_imports(TVMFFI_HERE) {
  TVMFFIObject *m = test_short_lived_module();
  TVMFFIObject *other = test_short_lived_module();
  tvmffi_i_module *own;
  TVMFFIAny f, *items = NULL;
  TVMFFISeqCell *imports;
  if (!m || !other) return;
  own = tvmffi_i_module_of(m);
  tvmffi_release(own->imports);
  own->imports = NULL;
  OK(test_get_function(tvmffi_here, m, "none", 1, &f));
  CHECK(f.type_index == kTVMFFINone);
  OK(test_import(m, other));
  imports = (TVMFFISeqCell *)(void *)(own->imports + 1);
  CHECK_INT(imports->size, 1);
  CHECK(((TVMFFIAny *)imports->data)->v_obj == other);
  tvmffi_release(own->imports);
  own->imports = tvmffi_i_new_array(1, &items);
  OK(own->imports ? 0 : -1);
  items[0].type_index = kTVMFFIModule; /* and NULL */
  FAILS(test_get_function(tvmffi_here, m, "none", 1, &f), "TypeError", NULL);
  items[0] = tvmffi_int(7);
  FAILS(test_get_function(tvmffi_here, m, "none", 1, &f), "TypeError",
        "Cannot convert from type `int` to `ffi.Module`");
}

/* A file that every process of this C library has open. */
static void test_library_file(TVMFFI_HERE) {
#if defined(__GLIBC__) && !TVMFFI_NO_DLOPEN
  TVMFFIObject *load = test_global("ffi.Module.load_from_file.so");
  TVMFFIAny args[2], any = tvmffi_none();
  TVMFFIObject *error;
  if (!load) return;
  args[0] = tvmffi_str("libc.so.6");
  args[1] = tvmffi_str("so");
  if (TVMFFIFunctionCall(load, args, 2, &any)) {
    error = tvmffi_i_error_remove(); /* a static program may have none */
    CHECK(error && (tvmffi_error_is(error, "InternalError") || test_hits()));
    tvmffi_release(error);
    return;
  }
  OWN_ANY(any);
  if (!CHECK_INT(any.type_index, kTVMFFIModule)) return;
  CHECK(((tvmffi_i_library_module *)(void *)tvmffi_i_module_of(any.v_obj))
            ->library->handle != NULL);
  CHECK_INT(test_strong(any.v_obj), 1);
  OK(test_get_function(tvmffi_here, any.v_obj, "printf", 0, &args[0]));
  CHECK(args[0].type_index == kTVMFFINone); /* only __tvm_ffi_printf would do */
#endif
}

#if TVMFFI_I_CXX_METHODS
/* What C++ does with a module: it calls through the table in front. */
static void test_module_table(TVMFFI_HERE) {
  TVMFFIObject *object = test_module_with(tvmffi_here, "one", test_one),
               *f = NULL;
  tvmffi_i_module *m;
  TVMFFIAny name, text = tvmffi_none();
  TVMFFIByteArray one = TEXT("one");
  const tvmffi_i_module_methods *methods;
  if (!object) return;
  m = tvmffi_i_module_of(object);
  methods = m->methods;
  CHECK(((const void *const *)(const void *)methods)[-2] == NULL);
  CHECK(strcmp(methods->kind(m), "library") == 0);
  CHECK_INT(methods->property_mask(m), 3);
  OK(TVMFFIStringFromByteArray(&one, &name));
  CHECK(methods->get(&f, m, &name) == &f);
  if (f) {
    OWN(f);
    CHECK_INT(test_call_int(f), 1);
  }
  CHECK(f || test_hits());
  CHECK(methods->implements(m, &name));
  CHECK(methods->doc(&text, m, &name) == &text);
  CHECK(text.type_index == kTVMFFINone);
  CHECK(methods->inspect(&text, m, &name) == &text);
  CHECK(text.type_index == kTVMFFISmallStr);
  CHECK(methods->metadata(&text, m, &name) == &text);
  CHECK(text.type_index == kTVMFFINone);
  methods->write(m, &name, &name);
  FAILS(-1, "RuntimeError", "Module[library] does not support WriteToFile");
  CHECK(methods->save(&text, m) == &text);
  CHECK(text.type_index == kTVMFFISmallBytes && text.small_str_len == 0);
  FAILS(-1, "RuntimeError", "Module[library] does not support SaveToBytes");
  CHECK(methods->write_formats(&f, m) == &f);
  if (f) {
    OWN(f);
    CHECK_INT(((TVMFFISeqCell *)(void *)(f + 1))->size, 0);
  }
  CHECK(f || test_hits());
  tvmffi_error_clear();
}

/* The imports that C++ changes, and the errors that it finds in the slot. */
static void test_module_table_imports(TVMFFI_HERE) {
  TVMFFIObject *object = test_module(tvmffi_here, test_fresh("unit_module"));
  TVMFFIObject *other = test_module(tvmffi_here, test_fresh("unit_module"));
  tvmffi_i_module *m;
  if (!object || !other) return;
  m = tvmffi_i_module_of(object);
  m->methods->add_import(m, &object);
  FAILS(-1, "RuntimeError", "Cyclic dependency detected during import");
  CHECK_INT(((TVMFFISeqCell *)(void *)(m->imports + 1))->size, 0);
  m->methods->add_import(m, &other);
  if (!test_hits()) {
    CHECK_INT(((TVMFFISeqCell *)(void *)(m->imports + 1))->size, 1);
    CHECK(((TVMFFIAny *)((TVMFFISeqCell *)(void *)(m->imports + 1))->data)
              ->v_obj == other);
  }
  m->methods->clear_imports(m);
  if (!test_hits())
    CHECK_INT(((TVMFFISeqCell *)(void *)(m->imports + 1))->size, 0);
  tvmffi_error_clear();
}

/* A module of another maker: what C++ would make. */
static const char *test_cxx_kind(tvmffi_i_module *m) {
  (void)m;
  return "other";
}
static TVMFFIObject **test_cxx_get(TVMFFIObject **out, tvmffi_i_module *m,
                                   const TVMFFIAny *name) {
  TVMFFIObjectHandle f = NULL;
  (void)m;
  CHECK(name->type_index == kTVMFFISmallStr || name->type_index == kTVMFFIStr);
  if (tvmffi_any_str(name).size == 3)
    (void)TVMFFIFunctionCreate(NULL, test_two, NULL, &f);
  *out = (TVMFFIObject *)f;
  return out;
}
static TVMFFIAny *test_cxx_text(TVMFFIAny *out, tvmffi_i_module *m,
                                const TVMFFIAny *name) {
  (void)m;
  (void)TVMFFIAnyViewToOwnedAny(name, out);
  return out;
}
static int test_cxx_mask(tvmffi_i_module *m) {
  (void)m;
  return 4;
}

/* Says what it is asked for, and gives what C++ would. */
static const char *test_cxx_no_kind(tvmffi_i_module *m) {
  (void)m;
  return NULL;
}
static tvmffi_type_bool test_cxx_implements(tvmffi_i_module *m,
                                            const TVMFFIAny *name) {
  (void)m;
  return tvmffi_any_str(name).size == 3;
}
static void test_cxx_write(tvmffi_i_module *m, const TVMFFIAny *file,
                           const TVMFFIAny *format) {
  (void)m;
  CHECK_TEXT(tvmffi_any_str(file), "a long name of a file");
  CHECK_TEXT(tvmffi_any_str(format), "c");
  test_say('w');
}
static TVMFFIObject **test_cxx_formats(TVMFFIObject **out, tvmffi_i_module *m) {
  *out = m->imports;
  tvmffi_retain(*out);
  return out;
}
static TVMFFIAny *test_cxx_inspect(TVMFFIAny *out, tvmffi_i_module *m,
                                   const TVMFFIAny *format) {
  (void)m;
  (void)TVMFFIAnyViewToOwnedAny(format, out);
  return out;
}
static TVMFFIObject *test_cxx_imported;
static void test_cxx_add_import(tvmffi_i_module *m,
                                TVMFFIObject *const *other) {
  (void)m;
  test_cxx_imported = *other;
}
static void test_cxx_clear_imports(tvmffi_i_module *m) {
  (void)m;
  test_say('c');
}

static void test_ask_foreign_module(TVMFFI_HERE, TVMFFIObject *object,
                                    TVMFFIObject *own) {
  TVMFFIAny any = tvmffi_none();
  tvmffi_type_bool has = 0;
  OK(MODULE_CALL("GetKind", tvmffi_out_any(&any), tvmffi_obj(object)));
  CHECK_TEXT(tvmffi_any_str(&any), "");
  OK(MODULE_CALL("ImplementsFunction", tvmffi_out_bool(&has),
                 tvmffi_obj(object), tvmffi_str("two"), tvmffi_bool(0)));
  CHECK_INT(has, 1);
  OK(MODULE_CALL("ImplementsFunction", tvmffi_out_bool(&has),
                 tvmffi_obj(object), tvmffi_str("four"), tvmffi_bool(1)));
  CHECK_INT(has, 0);
  OK(MODULE_CALL("GetFunctionMetadata", tvmffi_out_any(&any),
                 tvmffi_obj(object), tvmffi_str("of two"), tvmffi_bool(0)));
  CHECK_TEXT(tvmffi_any_str(&any), "of two");
  OK(MODULE_CALL("InspectSource", tvmffi_out_any(&any), tvmffi_obj(object),
                 tvmffi_str("c")));
  CHECK_TEXT(tvmffi_any_str(&any), "c");
  OK(MODULE_CALL("WriteToFile", tvmffi_out_any(NULL), tvmffi_obj(object),
                 tvmffi_str("a long name of a file"), tvmffi_str("c")));
  CHECK_LOG("w");
  OK(MODULE_CALL("GetWriteFormats", tvmffi_out_any(&any), tvmffi_obj(object)));
  CHECK(any.v_obj == tvmffi_i_module_of(object)->imports);
  OK(test_import(object, own));
  CHECK(test_cxx_imported == own);
  OK(MODULE_CALL("ClearImports", tvmffi_out_any(NULL), tvmffi_obj(object)));
  CHECK_LOG("c");
}

static void test_foreign_module_methods(TVMFFI_HERE) {
  static const tvmffi_i_module_type types[] = {
      {"a type_info of C++", TVMFFI_I_MODULE_MARK}, {NULL, NULL}, {NULL, "x"}};
  tvmffi_i_module_table table = tvmffi_i_library_table;
  int i;
  TVMFFIObject *own = test_module(tvmffi_here, test_fresh("unit_module"));
  TVMFFIObject *object = test_module(tvmffi_here, test_fresh("unit_module"));
  tvmffi_i_module *m;
  if (!own || !object) return;
  m = tvmffi_i_module_of(object);
  table.type = NULL;
  table.methods.kind = test_cxx_no_kind;
  table.methods.implements = test_cxx_implements;
  table.methods.metadata = test_cxx_text;
  table.methods.write = test_cxx_write;
  table.methods.write_formats = test_cxx_formats;
  table.methods.inspect = test_cxx_inspect;
  table.methods.add_import = test_cxx_add_import;
  table.methods.clear_imports = test_cxx_clear_imports;
  m->methods = &table.methods;
  test_log_size = 0;
  test_ask_foreign_module(tvmffi_here, object, own);
  for (i = 0; i < TEST_COUNT(types); ++i) {
    test_log_size = 0;
    table.type = &types[i];
    test_ask_foreign_module(tvmffi_here, object, own);
  }
  m->methods = &tvmffi_i_library_table.methods;
}

static void test_foreign_module(TVMFFI_HERE) {
  tvmffi_i_module_table table = tvmffi_i_library_table;
  TVMFFIObject *own = test_module_with(tvmffi_here, "b", test_one);
  TVMFFIObject *object = test_module(tvmffi_here, test_fresh("unit_module"));
  tvmffi_i_module *m;
  TVMFFIAny any = tvmffi_none();
  int32_t mask = 0;
  if (!own || !object) return;
  m = tvmffi_i_module_of(object);
  table.type = NULL;
  table.methods.kind = test_cxx_kind;
  table.methods.property_mask = test_cxx_mask;
  table.methods.get = test_cxx_get;
  table.methods.doc = test_cxx_text;
  OK(test_import(own, object));
  m->methods = &table.methods;
  if (!test_code(
          MODULE_CALL("GetKind", tvmffi_out_any(&any), tvmffi_obj(object)),
          __FILE__, __LINE__, "kind"))
    CHECK_TEXT(tvmffi_any_str(&any), "other");
  if (!test_code(MODULE_CALL("GetPropertyMask", tvmffi_out_int32(&mask),
                             tvmffi_obj(object)),
                 __FILE__, __LINE__, "mask"))
    CHECK_INT(mask, 4);
  if (!test_code(test_get_function(tvmffi_here, own, "two", 1, &any), __FILE__,
                 __LINE__, "get") &&
      CHECK(any.type_index == kTVMFFIFunction || test_hits()) &&
      any.type_index == kTVMFFIFunction)
    CHECK_INT(test_call_int(any.v_obj), 2);
  tvmffi_error_clear();
  if (!test_code(
          MODULE_CALL("GetFunctionDoc", tvmffi_out_any(&any), tvmffi_obj(own),
                      tvmffi_str("a name of some size"), tvmffi_bool(1)),
          __FILE__, __LINE__, "doc"))
    CHECK_TEXT(tvmffi_any_str(&any), "a name of some size");
  m->methods = &tvmffi_i_library_table.methods;
}
#endif
#endif

static const test_case test_module_cases[] = {
#if !TEST_NO_MODULES && !TVMFFI_NO_CONTAINERS
    {"modules: functions", test_module_functions},
    {"modules: symbols with a prefix", test_module_symbol_order},
    {"modules: docs and metadata", test_module_texts},
    {"modules: properties", test_module_properties},
#if !TVMFFI_NO_METADATA
    {"modules: schemas", test_module_schemas},
#endif
    {"modules: context", test_module_context},
    {"modules: long names", test_module_long_names},
    {"modules: the room for a symbol", test_symbol_room},
    {"modules: imports", test_module_imports},
#if !TEST_NO_CONTENTION && !TVMFFI_NO_THREADS
    {"threads: imports", test_contend_imports},
#endif
    {"modules: many imports", test_module_lattice},
    {"modules: look-up from imports", test_imports},
#if !TEST_NO_CONTENTION && !TVMFFI_NO_THREADS
    {"threads: look-up from imports", test_contend_lookups},
#endif
#if !TVMFFI_NO_TYPES
    {"modules: of a derived type", test_derived_module},
#endif
    {"modules: a cache of another maker", test_foreign_cache},
    {"modules: embedded", test_embedded_modules},
    {"modules: embedded, strange", test_strange_embedded},
    {"modules: embedded, malformed", test_bad_embedded_modules},
    {"modules: a load that fails", test_failed_load},
    {"modules: kept", test_kept_modules},
    {"modules: files", test_load_files},
    {"modules: loaders in loaders", test_nested_system_modules},
    {"modules: weak references", test_weak_modules},
    {"modules: the end of a cache", test_cache_ends},
    {"modules: strange imports", test_strange_imports},
    {"modules: a file", test_library_file},
#if TVMFFI_I_CXX_METHODS
    {"modules: the C++ table", test_module_table},
    {"modules: imports by the C++ table", test_module_table_imports},
    {"modules: of another maker", test_foreign_module},
    {"modules: methods of another maker", test_foreign_module_methods},
#endif
#endif
    {NULL, NULL}};
