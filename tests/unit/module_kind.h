/* ======== Module kinds: modules that C declares =========================== */

#pragma once

#include "harness.h"
#include "module.h"
#include "scope.h"

#if !TEST_NO_MODULES && !TVMFFI_NO_CONTAINERS
/* Adds its number to an argument. */
typedef struct {
  tvmffi_module base;
  int64_t number;
  TVMFFIObject *owned; /* any object, or NULL */
} test_adder;

static size_t test_adders; /* that live */

static void test_adder_end(test_adder *self) {
  CHECK(self->base.base.type_index == kTVMFFIModule);
  tvmffi_release(self->owned);
  if (self->number) --test_adders;
}

TVMFFI_MODULE(test_adder, "unit.adder", (function, add),
              (doc, "Adds its number"), (function, first), (function, twelve),
              (function, scale), (lookup, find), (save, save), (load, load),
              (save_file, "unitadd", write), (save_file, "unitsum", write),
              (load_file, "unitadd", read), (source, source),
              (mask, TVMFFI_MODULE_EXPORTABLE), (destructor, test_adder_end))

/* Makes a module with this number, or returns NULL with an error. */
static test_adder *test_new_adder(TVMFFI_HERE, int64_t number) {
  test_adder *m = TVMFFI_NEW(test_adder);
  if (!m) return NULL;
  m->number = number;
  ++test_adders;
  return m;
}

TVMFFI_METHOD(test_adder, add, int64, (int64, x)) {
  TVMFFI_RETURN(self->number + x);
}
TVMFFI_METHOD(test_adder, first, any, (array(int64), items), (any, other)) {
  TVMFFIAny any = tvmffi_none();
  (void)self, (void)other;
  TVMFFI_TRY(
      tvmffi_get(tvmffi_obj(items), tvmffi_int(0), tvmffi_out_any(&any)));
  TVMFFI_RETURN(any);
}
TVMFFI_STATIC_METHOD(test_adder, twelve, int64) { TVMFFI_RETURN(12); }
TVMFFI_METHOD(test_adder, scale, int64, (int64, x), (int64, by, 10)) {
  TVMFFI_RETURN(self->number * x * by);
}

TVMFFI_FUNC(unit_found, int64) { TVMFFI_RETURN(1); }
TVMFFI_METHOD(test_adder, find, any, (str, name)) {
  TVMFFIObject *f = NULL;
  (void)self;
  if (tvmffi_i_same(name, "bad")) return TVMFFI_RAISE("KeyError", "bad name");
  if (tvmffi_i_same(name, "worse")) {
    (void)TVMFFI_RAISE("KeyError", "worse name");
    return 7;
  }
  if (tvmffi_i_same(name, "number")) TVMFFI_RETURN(tvmffi_int(3));
  if (!tvmffi_i_same(name, "found")) TVMFFI_RETURN(tvmffi_none());
  TVMFFI_TRY(TVMFFI_FUNCTION_NEW(unit_found, &f));
  TVMFFI_RETURN(tvmffi_obj(f));
}

TVMFFI_METHOD(test_adder, save, bytes) {
  TVMFFIByteArray data;
  data.data = (const char *)&self->number;
  data.size = sizeof(self->number);
  if (self->number < 0) return TVMFFI_RAISE("ValueError", "less than 0");
  TVMFFI_RETURN(data);
}
TVMFFI_STATIC_METHOD(test_adder, load, test_adder, (bytes, data)) {
  int64_t number;
  if (data.size != sizeof(number))
    return TVMFFI_RAISE("ValueError", "%d bytes are no adder", (int)data.size);
  memcpy(&number, data.data, sizeof(number));
  TVMFFI_RETURN(test_new_adder(tvmffi_here, number));
}

TVMFFI_METHOD(test_adder, write, none, (str, path), (str, format)) {
  test_say((char)self->number);
  CHECK_TEXT(path, "a path of some length");
  test_say(format.data[4]);
  TVMFFI_RETURN();
}
TVMFFI_STATIC_METHOD(test_adder, read, test_adder, (str, path), (str, format)) {
  CHECK_TEXT(format, "unitadd");
  TVMFFI_RETURN(test_new_adder(tvmffi_here, (int64_t)path.size));
}
TVMFFI_METHOD(test_adder, source, str, (str, format)) {
  (void)self;
  TVMFFI_RETURN(format.size ? format : tvmffi_byte_array("the source"));
}

/* A module with this number, or NULL. */
static test_adder *test_make_adder(TVMFFI_HERE, int64_t number) {
  test_adder *m = test_new_adder(tvmffi_here, number);
  (void)test_code(m ? 0 : -1, __FILE__, __LINE__, "new");
  return m;
}

/* A function of a module, or NULL. */
static TVMFFIObject *test_function_of(TVMFFI_HERE, TVMFFIObject *m,
                                      const char *name) {
  TVMFFIAny f;
  if (test_code(test_get_function(tvmffi_here, m, name, 1, &f), __FILE__,
                __LINE__, name))
    return NULL;
  CHECK(f.type_index == kTVMFFIFunction);
  return f.v_obj;
}

static void test_kind_functions(TVMFFI_HERE) {
  test_adder *m = test_make_adder(tvmffi_here, 40);
  TVMFFIObject *object = (TVMFFIObject *)m, *f;
  TVMFFIAny any = tvmffi_none();
  int64_t sum = 0;
  if (!m || !(f = test_function_of(tvmffi_here, object, "add"))) return;
  OK(tvmffi_call(tvmffi_obj(f), tvmffi_out_int64(&sum), tvmffi_int(2)));
  CHECK_INT(sum, 42);
  FAILS(tvmffi_call(tvmffi_obj(f), tvmffi_out_none(NULL), tvmffi_str("x")),
        "TypeError",
        "Mismatched type on argument #0 when calling: `unit.adder.add(0: int) "
        "-> int`. Expected `int` but got `const char*`");
  FAILS(tvmffi_call(tvmffi_obj(f), tvmffi_out_none(NULL), tvmffi_int(1),
                    tvmffi_int(2)),
        "TypeError",
        "Mismatched number of arguments when calling: `unit.adder.add(0: int) "
        "-> int`. Expected 1 but got 2 arguments");
  if (!(f = test_function_of(tvmffi_here, object, "twelve"))) return;
  CHECK_INT(test_call_int(f), 12);
  FAILS(tvmffi_call(tvmffi_obj(f), tvmffi_out_none(NULL), tvmffi_int(1)),
        "TypeError",
        "Mismatched number of arguments when calling: `unit.adder.twelve() -> "
        "int`. Expected 0 but got 1 arguments");
  if (!(f = test_function_of(tvmffi_here, object, "scale"))) return;
  OK(tvmffi_call(tvmffi_obj(f), tvmffi_out_int64(&sum), tvmffi_int(2)));
  CHECK_INT(sum, 800);
  OK(tvmffi_call(tvmffi_obj(f), tvmffi_out_int64(&sum), tvmffi_int(2),
                 tvmffi_int(3)));
  CHECK_INT(sum, 240);
  FAILS(tvmffi_call(tvmffi_obj(f), tvmffi_out_none(NULL)), "TypeError",
        "Mismatched number of arguments when calling: `unit.adder.scale(0: "
        "int, 1: int) -> int`. Expected 1 to 2 but got 0 arguments");
  if (!(f = test_function_of(tvmffi_here, object, "first"))) return;
  FAILS(tvmffi_call(tvmffi_obj(f), tvmffi_out_none(NULL), tvmffi_int(1),
                    tvmffi_int(1)),
        "TypeError",
        "Mismatched type on argument #0 when calling: `unit.adder.first(0: "
        "Array<int>, 1: Any) -> Any`. Expected `Array<int>` but got `int`");
  OK(test_get_function(tvmffi_here, object, "nothing", 1, &any));
  CHECK_INT(any.type_index, kTVMFFINone);
}

/* Functions that are not listed. */
static void test_kind_lookup(TVMFFI_HERE) {
  test_adder *m = test_make_adder(tvmffi_here, 1);
  TVMFFIObject *object = (TVMFFIObject *)m, *f;
  static const char *const names[] = {"add", "found", "nothing"};
  TVMFFIAny any;
  int i;
  if (!m || !(f = test_function_of(tvmffi_here, object, "found"))) return;
  CHECK_INT(test_call_int(f), 1);
  FAILS(test_get_function(tvmffi_here, object, "bad", 0, &any), "KeyError",
        "bad name");
  FAILS(test_get_function(tvmffi_here, object, "number", 0, &any), "TypeError",
        "unit.adder.find returned `int`");
  for (i = 0; i < 3; ++i) {
    tvmffi_type_bool has = 0;
    OK(MODULE_CALL("ImplementsFunction", tvmffi_out_bool(&has),
                   tvmffi_obj(object), tvmffi_str(names[i]), tvmffi_bool(0)));
    CHECK_INT(has, i < 2);
  }
  FAILS(MODULE_CALL("ImplementsFunction", tvmffi_out_none(NULL),
                    tvmffi_obj(object), tvmffi_str("bad"), tvmffi_bool(0)),
        "KeyError", "bad name");
  FAILS(MODULE_CALL("ImplementsFunction", tvmffi_out_none(NULL),
                    tvmffi_obj(object), tvmffi_str("worse"), tvmffi_bool(0)),
        "KeyError", "worse name");
}

static TVMFFIAny test_text_of(TVMFFI_HERE, const char *method, TVMFFIObject *m,
                              const char *name, int imports) {
  TVMFFIAny any = tvmffi_none();
  TVMFFIAny args[3], function = tvmffi_str(method);
  const tvmffi_out out = tvmffi_out_any(&any);
  args[0] = tvmffi_obj(m);
  args[1] = tvmffi_str(name);
  args[2] = tvmffi_bool(0);
  (void)test_code(tvmffi_i_call(TVMFFI_I_OWNER, &function, &out, args,
                                imports ? 3 : 2, TVMFFI_I_ANY_FORM),
                  __FILE__, __LINE__, method);
  return any;
}

static void test_kind_texts(TVMFFI_HERE) {
  test_adder *m = test_make_adder(tvmffi_here, 'n');
  TVMFFIObject *object = (TVMFFIObject *)m;
  TVMFFIAny any = tvmffi_none();
  int32_t mask = 0;
  if (!m) return;
  OK(MODULE_CALL("GetKind", tvmffi_out_any(&any), tvmffi_obj(object)));
  CHECK_TEXT(tvmffi_any_str(&any), "unit.adder");
  OK(MODULE_CALL("GetPropertyMask", tvmffi_out_int32(&mask),
                 tvmffi_obj(object)));
  CHECK_INT(mask, 7);
  any = test_text_of(tvmffi_here, "ffi.ModuleGetFunctionDoc", object, "add", 1);
  if (!test_hits()) CHECK_TEXT(tvmffi_any_str(&any), "Adds its number");
  any =
      test_text_of(tvmffi_here, "ffi.ModuleGetFunctionDoc", object, "first", 1);
  CHECK_INT(any.type_index, kTVMFFINone);
  any = test_text_of(tvmffi_here, "ffi.ModuleGetFunctionMetadata", object,
                     "add", 1);
#if !TVMFFI_NO_METADATA
  if (!test_hits())
    CHECK_TEXT(tvmffi_any_str(&any), NAMED("int", PARAM("int"), "\"x\"]"));
#endif
  any = test_text_of(tvmffi_here, "ffi.ModuleGetFunctionMetadata", object,
                     "found", 1);
  CHECK_INT(any.type_index, kTVMFFINone);
  any = test_text_of(tvmffi_here, "ffi.ModuleInspectSource", object, "", 0);
  if (!test_hits()) CHECK_TEXT(tvmffi_any_str(&any), "the source");
  OK(MODULE_CALL("GetWriteFormats", tvmffi_out_any(&any), tvmffi_obj(object)));
  CHECK_INT(tvmffi_size(any), 2);
  OK(MODULE_CALL("WriteToFile", tvmffi_out_none(NULL), tvmffi_obj(object),
                 tvmffi_str("a path of some length"), tvmffi_str("")));
  OK(MODULE_CALL("WriteToFile", tvmffi_out_none(NULL), tvmffi_obj(object),
                 tvmffi_str("a path of some length"), tvmffi_str("unitsum")));
  CHECK_LOG("nans");
  FAILS(MODULE_CALL("WriteToFile", tvmffi_out_none(NULL), tvmffi_obj(object),
                    tvmffi_str("a path"), tvmffi_str("exe")),
        "RuntimeError",
        "Module[unit.adder] does not support WriteToFile in the format exe");
  FAILS(MODULE_CALL("WriteToFile", tvmffi_out_none(NULL), tvmffi_obj(object),
                    tvmffi_str("a path"), tvmffi_str("a long format")),
        "RuntimeError",
        "Module[unit.adder] does not support WriteToFile in the format a long "
        "format");
}

/* A kind with nothing but its struct. */
typedef struct {
  tvmffi_module base;
} test_bare;
TVMFFI_MODULE(test_bare, "unit.bare", (mask, 0))

static void test_kind_bare(TVMFFI_HERE) {
  test_bare *m;
  TVMFFIObject *object;
  TVMFFIObjectAllocHeader *head;
  void (*delete_space)(void *);
  TVMFFIAny any = tvmffi_none();
  int32_t mask = -1;
  OK((m = TVMFFI_NEW(test_bare)) ? 0 : -1);
  object = (TVMFFIObject *)m;
  OK(MODULE_CALL("GetPropertyMask", tvmffi_out_int32(&mask),
                 tvmffi_obj(object)));
  CHECK_INT(mask, 0);
  OK(test_get_function(tvmffi_here, object, "add", 0, &any));
  CHECK_INT(any.type_index, kTVMFFINone);
  any = test_text_of(tvmffi_here, "ffi.ModuleInspectSource", object, "", 0);
  CHECK_INT(tvmffi_any_str(&any).size, 0);
  FAILS(MODULE_CALL("WriteToFile", tvmffi_out_none(NULL), tvmffi_obj(object),
                    tvmffi_str("a"), tvmffi_str("")),
        "RuntimeError", "Module[unit.bare] does not support WriteToFile");
  OK(MODULE_CALL("GetWriteFormats", tvmffi_out_any(&any), tvmffi_obj(object)));
  CHECK_INT(tvmffi_size(any), 0);
  FAILS(tvmffi_i_module_method_of(object, TVMFFI_I_METHOD_SAVE, NULL, &any),
        "RuntimeError", "Module[unit.bare] does not support SaveToBytes");
  /* An allocator without delete_space keeps the memory. */
  head = (TVMFFIObjectAllocHeader *)(void *)tvmffi_i_module_of(object) - 1;
  delete_space = head->delete_space;
  head->delete_space = NULL;
  tvmffi_weak_retain(object);
  tvmffi_scope_close(tvmffi_here);
  CHECK(!tvmffi_weak_lock(object));
  tvmffi_weak_release(object);
  delete_space(head + 1);
}

static void test_kind_loads(TVMFFI_HERE) {
  TVMFFIByteArray bytes;
  TVMFFIObject *m = NULL, *f;
  int64_t number = 5, sum = 0;
  OK(TVMFFI_REGISTER_TYPE(test_adder));
  OK(TVMFFI_REGISTER_TYPE(test_adder));
  bytes.data = (const char *)&number;
  bytes.size = sizeof(number);
  OK(tvmffi_call(tvmffi_str("ffi.Module.load_from_bytes.unit.adder"),
                 tvmffi_out_object(&m), tvmffi_bytes(&bytes)));
  if (!(f = test_function_of(tvmffi_here, m, "add"))) return;
  OK(tvmffi_call(tvmffi_obj(f), tvmffi_out_int64(&sum), tvmffi_int(2)));
  CHECK_INT(sum, 7);
  bytes.size = 3;
  FAILS(tvmffi_call(tvmffi_str("ffi.Module.load_from_bytes.unit.adder"),
                    tvmffi_out_object(&m), tvmffi_bytes(&bytes)),
        "ValueError", "3 bytes are no adder");
  FAILS(tvmffi_call(tvmffi_str("ffi.Module.load_from_bytes.unit.adder"),
                    tvmffi_out_object(&m), tvmffi_none()),
        "TypeError",
        "Mismatched type on argument #0 when calling: "
        "`ffi.Module.load_from_bytes.unit.adder(0: bytes) -> unit.adder`. "
        "Expected `bytes` but got `None`");
  OK(tvmffi_call(tvmffi_str("ffi.ModuleLoadFromFile"), tvmffi_out_object(&m),
                 tvmffi_str("dir/a.unitadd")));
  CHECK_INT(((test_adder *)(void *)m)->number, 13);
}

/* A loader of another function's has the name of the second one. */
typedef struct {
  tvmffi_module base;
} test_taken;
TVMFFI_MODULE(test_taken, "unit.taken", (load, load),
              (load_file, "unittaken", load))
TVMFFI_STATIC_METHOD(test_taken, load, none) { TVMFFI_RETURN(); }
TVMFFI_FUNC(unit_taken, none) { TVMFFI_RETURN(); }

static void test_kind_taken(TVMFFI_HERE) {
  static const char name[] = "ffi.Module.load_from_file.unittaken";
  static int done;
  TVMFFIObject *f = NULL;
  if (done) return; /* a kind is registered once */
  OK(TVMFFI_OVERRIDE("ffi.Module.load_from_file.unittaken", unit_taken));
  FAILS(TVMFFI_REGISTER_TYPE(test_taken), "RuntimeError",
        "Module kind `unit.taken.load`: the function "
        "`ffi.Module.load_from_file.unittaken` is already registered");
  FAILS(!TVMFFI_NEW(test_taken), "RuntimeError", NULL);
  OK(tvmffi_global_find(tvmffi_str("ffi.Module.load_from_bytes.unit.taken"),
                        &f));
  CHECK(!f);
  OK(tvmffi_call(tvmffi_str("ffi.FunctionRemoveGlobal"), tvmffi_out_none(NULL),
                 tvmffi_str(name)));
  OK(TVMFFI_NEW(test_taken) ? 0 : -1);
  done = 1;
}

/* A new module asks the runtime whether it calls virtual functions, as
   upstream's library does: then this code can make none. */
static int test_mask_callback(void *self, const TVMFFIAny *args, int32_t n,
                              TVMFFIAny *result) {
  (void)self;
  if (n != 1) return -1;
  *result =
      tvmffi_int(tvmffi_i_module_mask(tvmffi_i_module_of(args[0].v_obj)));
  return 0;
}
static void test_kind_upstream(TVMFFI_HERE) {
  static const char name[] = "ffi.ModuleGetPropertyMask";
  const TVMFFISafeCallType calls[] = {test_raise_callback, test_mask_callback};
  TVMFFIObject *former = test_global(name);
  TVMFFIObjectHandle f[2] = {NULL, NULL};
  test_bare *m[2];
  int32_t mask = -1;
  int i;
  OK(former ? 0 : -1);
  for (i = 0; i < 2; ++i) {
    OK(TVMFFIFunctionCreate(NULL, calls[i], NULL, &f[i]));
    OWN(f[i]);
  }
  OK(TVMFFI_REGISTER_TYPE(test_bare));
  for (i = 0; i < 2; ++i) {
    test_replace_global(name, (TVMFFIObject *)f[i]);
    m[i] = TVMFFI_NEW(test_bare);
    test_replace_global(name, former);
    if (TVMFFI_I_IS_CXX) continue;
    FAILS(!m[i], i ? "RuntimeError" : "ValueError",
          i ? "...Module[unit.bare]: this code cannot make modules for "
              "upstream's library"
            : "the callback says no");
  }
  /* The virtual function tells the mask of a module that is complete. */
  OK((m[0] = TVMFFI_NEW(test_bare)) ? 0 : -1);
  test_replace_global(name, (TVMFFIObject *)f[1]);
  i = MODULE_CALL("GetPropertyMask", tvmffi_out_int32(&mask),
                  tvmffi_obj(&m[0]->base.base));
  test_replace_global(name, former);
  OK(i);
  CHECK_INT(mask, 0);
}

/* Makes modules in a scope that is full, so that there may be no room. */
static void test_kind_full_scope(TVMFFI_HERE) {
  int i;
  for (i = 0; i <= TVMFFI_I_SCOPE_FIRST; ++i)
    OK(TVMFFI_NEW(test_bare) ? 0 : -1);
  CHECK_INT(tvmffi_scope_count(kTVMFFIModule), TVMFFI_I_SCOPE_FIRST + 1);
}

static void test_kind_words(TVMFFI_HERE) {
  test_adder *m = test_make_adder(tvmffi_here, 1);
  test_bare *bare;
  if (!m) return;
  OK((bare = TVMFFI_NEW(test_bare)) ? 0 : -1);
  CHECK(TVMFFI_CAST(test_adder, m) == m);
  CHECK(!TVMFFI_CAST(test_adder, bare));
  CHECK(!TVMFFI_CAST(test_adder, NULL));
  CHECK_INT(TVMFFI_TYPE_INDEX(test_adder), kTVMFFIModule);
}

/* Makes a module and gets a function of it, and keeps the function. */
static void test_keep_function(TVMFFI_HERE, test_adder **module,
                               TVMFFIObject **function) {
  test_adder *m = test_make_adder(tvmffi_here, 3);
  TVMFFIObject *f;
  if (!m) return;
  tvmffi_weak_retain(m);
  *module = m;
  f = test_function_of(tvmffi_here, (TVMFFIObject *)m, "add");
  if (f) tvmffi_keep(function, f);
}

static void test_kind_owners(TVMFFI_HERE) {
  test_adder *m = NULL;
  TVMFFIObject *f = NULL;
  const size_t before = test_adders;
  tvmffi_scope scope;
  test_keep_function(tvmffi_scope_open(&scope), &m, &f);
  tvmffi_scope_close(&scope);
  CHECK_INT(test_adders, before + (f != NULL));
  if (f) {
    int64_t sum = 0;
    if (!tvmffi_call(tvmffi_obj(f), tvmffi_out_int64(&sum), tvmffi_int(1)))
      CHECK_INT(sum, 4);
    tvmffi_error_clear();
    tvmffi_release(f);
  }
  CHECK_INT(test_adders, before);
  if (m) {
    CHECK(!tvmffi_weak_lock(m));
    tvmffi_weak_release(m);
  }
}

/* Imports as the runtime changes them, and as the table does. */
static int test_kind_import(int by_table, TVMFFIObject *m,
                            TVMFFIObject *other) {
  TVMFFIAny arg = tvmffi_obj(other), none = tvmffi_none();
  if (!by_table) return test_import(m, other);
  return tvmffi_i_module_method_of(m, TVMFFI_I_METHOD_ADD_IMPORT, &arg, &none);
}

static int64_t test_num_imports(const test_adder *m) {
  return tvmffi_size(tvmffi_obj(m->base.imports));
}

static void test_kind_imports(TVMFFI_HERE) {
  test_adder *a = test_make_adder(tvmffi_here, 1),
             *b = test_make_adder(tvmffi_here, 2);
  TVMFFIObject *oa = (TVMFFIObject *)a, *ob = (TVMFFIObject *)b, *f, *library;
  TVMFFIAny any = tvmffi_none();
  int by_table;
  library = test_module_with(tvmffi_here, "one", test_one);
  if (!a || !b || !library) return;
  for (by_table = 0; by_table < 2; ++by_table) {
    CHECK_INT(test_num_imports(a), 0);
    OK(test_kind_import(by_table, oa, ob));
    OK(test_kind_import(by_table, oa, library));
    CHECK_INT(test_num_imports(a), 2);
    FAILS(test_kind_import(by_table, ob, oa), "RuntimeError",
          "Cyclic dependency detected during import");
    FAILS(test_kind_import(by_table, oa, oa), "RuntimeError",
          "Cyclic dependency detected during import");
    OK(test_import(library, ob));
    FAILS(test_kind_import(by_table, ob, library), "RuntimeError",
          "Cyclic dependency detected during import");
    CHECK_INT(test_num_imports(b), 0);
    if (!(f = test_function_of(tvmffi_here, oa, "one"))) return;
    CHECK_INT(test_call_int(f), 1);
    OK(MODULE_CALL("ClearImports", tvmffi_out_none(NULL), tvmffi_obj(library)));
    if (by_table)
      OK(tvmffi_i_module_method_of(oa, TVMFFI_I_METHOD_CLEAR_IMPORTS, NULL,
                                   &any));
    else
      OK(MODULE_CALL("ClearImports", tvmffi_out_none(NULL), tvmffi_obj(oa)));
  }
}

/* Modules that own each other in a long row: they are destroyed without
   nesting as deep. */
static void test_kind_chain(TVMFFI_HERE) {
  test_adder *last = NULL;
  int i, n = test_oom ? 3 : TEST_CHAIN / 10;
  for (i = 0; i < n; ++i) {
    test_adder *m = TVMFFI_NEW(test_adder);
    if (!m) break;
    tvmffi_keep(&m->owned, (TVMFFIObject *)last);
    tvmffi_keep(&last, m);
    tvmffi_scope_close(tvmffi_here);
  }
  tvmffi_error_clear();
  tvmffi_release(last);
}

#if TVMFFI_I_GNU
typedef struct {
  tvmffi_module base;
  char at __attribute__((__aligned__(64)));
} test_aligned;
TVMFFI_MODULE(test_aligned, "unit.aligned", (mask, 0))

static void test_kind_aligned(TVMFFI_HERE) {
  test_aligned *m;
  OK((m = TVMFFI_NEW(test_aligned)) ? 0 : -1);
  CHECK_INT((uintptr_t)&m->at % 64, 0);
  CHECK_INT((uintptr_t)m % 64, 0);
}
#endif

/* What C++ calls. Without C++ in the runtime, an error stays in the slot. */
#if TVMFFI_I_CXX_METHODS
static void test_kind_table(TVMFFI_HERE) {
  test_adder *m = test_make_adder(tvmffi_here, 7);
  TVMFFIObject *object = (TVMFFIObject *)m, *f = NULL;
  const tvmffi_i_module_methods *methods;
  TVMFFIAny text = tvmffi_none(), name = tvmffi_str("add"),
            bad = tvmffi_str("bad"), path = tvmffi_str("a path of some length");
  tvmffi_i_module *cxx;
  if (!m) return;
  cxx = tvmffi_i_module_of(object);
  methods = cxx->methods;
  CHECK(strcmp(methods->kind(cxx), "unit.adder") == 0);
  CHECK_INT(methods->property_mask(cxx), 7);
  CHECK(methods->get(&f, cxx, &name) == &f);
  CHECK(f || test_hits());
  if (f) OWN(f);
  tvmffi_error_clear();
  CHECK(methods->get(&f, cxx, &bad) == &f && !f);
  FAILS(-1, "KeyError", "bad name");
  CHECK(methods->implements(cxx, &name) || test_hits());
  tvmffi_error_clear();
  CHECK(!methods->implements(cxx, &bad));
  FAILS(-1, "KeyError", "bad name");
  CHECK(methods->save(&text, cxx) == &text);
  if (text.type_index != kTVMFFISmallBytes) {
    OWN_ANY(text);
    CHECK_BYTES(tvmffi_any_str(&text), (const char *)&m->number, 8);
  }
  tvmffi_error_clear();
  m->number = -7;
  CHECK(methods->save(&text, cxx) == &text);
  CHECK_INT(text.type_index, kTVMFFISmallBytes);
  FAILS(-1, "ValueError", "less than 0");
  m->number = 'x';
  methods->write(cxx, &path, &bad);
  FAILS(-1, "RuntimeError",
        "Module[unit.adder] does not support WriteToFile in the format bad");
  methods->add_import(cxx, &object);
  FAILS(-1, "RuntimeError", "Cyclic dependency detected during import");
  tvmffi_error_clear();
}
#endif

static void test_kind_find(TVMFFI_HERE) {
  TVMFFIObject none, *f = &none, *library;
  test_adder *m = test_make_adder(tvmffi_here, 1);
  FAILS(tvmffi_module_find(NULL, "add", &f), "ValueError",
        "tvmffi_module_find: the module is NULL");
  CHECK(f == NULL);
  if (!m) return;
  FAILS(tvmffi_module_find(m, "add", NULL), "ValueError",
        "tvmffi_module_find: the place for the function is NULL");
  FAILS(tvmffi_module_find(m, NULL, &f), "ValueError", NULL);
  f = &m->base.base;
  FAILS(tvmffi_module_find(m, "unit.nowhere", &f), "RuntimeError", NULL);
  CHECK(f == NULL);
  if (!(library = test_module_with(tvmffi_here, "one", test_one))) return;
  OK(test_import(&m->base.base, library));
  OK(tvmffi_module_find(m, "one", &f));
  CHECK_INT(test_call_int(f), 1);
}

#if TVMFFI_DEBUG
static void test_kind_debug(TVMFFI_HERE) {
  const int64_t live = tvmffi_live_count(kTVMFFIModule);
  test_adder *m;
  if (test_oom) return; /* an object without memory for its record is unseen */
  if (!(m = test_make_adder(tvmffi_here, 1))) return;
  CHECK_INT(tvmffi_live_count(kTVMFFIModule), live + 1);
  CHECK(test_report_has("1 x ffi.Module, obtained at " __FILE__ ":"));
  tvmffi_scope_close(tvmffi_here);
  CHECK_INT(tvmffi_live_count(kTVMFFIModule), live);
  tvmffi_release(m);
  CHECK(test_report_has("double release: ffi.Module, obtained at " __FILE__));
}
#endif
#endif

static const test_case test_module_kind_cases[] = {
#if !TEST_NO_MODULES && !TVMFFI_NO_CONTAINERS
    {"module kinds: functions", test_kind_functions},
    {"module kinds: look-up", test_kind_lookup},
    {"module kinds: properties and texts", test_kind_texts},
    {"module kinds: nothing declared", test_kind_bare},
    {"module kinds: loaders", test_kind_loads},
    {"module kinds: a loader's name is taken", test_kind_taken},
    {"module kinds: upstream's library", test_kind_upstream},
    {"module kinds: a full scope", test_kind_full_scope},
    {"module kinds: words", test_kind_words},
    {"module kinds: owners", test_kind_owners},
    {"module kinds: imports", test_kind_imports},
    {"module kinds: a long chain", test_kind_chain},
    {"module kinds: functions of imports", test_kind_find},
#if TVMFFI_DEBUG
    {"module kinds: leaks", test_kind_debug},
#endif
#if TVMFFI_I_GNU
    {"module kinds: alignment", test_kind_aligned},
#endif
#if TVMFFI_I_CXX_METHODS
    {"module kinds: the C++ table", test_kind_table},
#endif
#endif
    {NULL, NULL}};
