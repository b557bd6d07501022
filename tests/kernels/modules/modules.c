/* Libraries loaded from files and unloaded: modules FIRST SECOND [ours], the
   two libraries of kernels.c with the functions fail_a and fail_b. It is linked
   with a libtvm_ffi, ours or upstream's, and both must pass. With `ours`,
   checks traces that upstream gets wrong. Output is TAP. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "tvmffi.h"

static int count, failed;

static int check(int passed, int line, const char *text) {
  ++count;
  failed += !passed;
  printf("%sok %d - line %d: %s\n", passed ? "" : "not ", count, line, text);
  if (!passed) {
    TVMFFI_SCOPE;
    TVMFFIObject *error = tvmffi_error_take();
    if (error) printf("# %s\n", TVMFFIErrorGetCellPtr(error)->message.data);
  }
  return passed;
}
#define OK(...) check((__VA_ARGS__) != 0, __LINE__, #__VA_ARGS__)

static TVMFFIObject *load(TVMFFI_HERE, const char *path) {
  TVMFFIObject *m = NULL;
  OK(tvmffi_call("ffi.ModuleLoadFromFile", &m, path) == 0);
  return m;
}

/* Gives a function of a module, or NULL. */
static TVMFFIObject *get(TVMFFI_HERE, TVMFFIObject *m, const char *name) {
  TVMFFIAny f;
  if (tvmffi_call("ffi.ModuleGetFunction", &f, m, name, tvmffi_bool(1)))
    return NULL;
  return f.type_index == kTVMFFIFunction ? f.v_obj : NULL;
}

static int64_t call_int(TVMFFIObject *f) {
  int64_t result = -1;
  return f && tvmffi_call(f, &result) == 0 ? result : -1;
}

static int is_loaded(const char *path) {
  void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (handle) (void)dlclose(handle);
  return handle != NULL;
}

static int64_t answer(void) { return 42; }

static void functions(const char *path) {
  TVMFFI_SCOPE;
  TVMFFIObject *m = load(tvmffi_here, path), *f;
  TVMFFIAny text;
  int64_t sum = 0;
  void *context = NULL;
  if (!m) return;
  OK((f = get(tvmffi_here, m, "add")) != NULL);
  OK(tvmffi_call(f, &sum, 2, 3) == 0 && sum == 5);
  OK((f = get(tvmffi_here, m, "main")) != NULL && call_int(f) == 7);
  OK((f = get(tvmffi_here, m, "answer")) != NULL && call_int(f) == 42);
  OK((f = get(tvmffi_here, m, "context")) != NULL &&
     tvmffi_call(f, &context) == 0);
  OK((char *)context + sizeof(void *) == (char *)m);
  OK(get(tvmffi_here, m, "none") == NULL);
  OK(tvmffi_call("ffi.ModuleGetFunctionDoc", &text, m, "add", tvmffi_bool(0)) ==
     0);
  OK(strcmp(tvmffi_any_str(&text).data, "Adds two integers.") == 0);
  OK(tvmffi_call("ffi.ModuleGetFunctionMetadata", &text, m, "add",
                 tvmffi_bool(0)) == 0);
  OK(strstr(tvmffi_any_str(&text).data, "type_schema") != NULL);
}

static void a_function_holds_its_library(const char *path) {
  TVMFFIObject *f = NULL;
  {
    TVMFFI_SCOPE;
    tvmffi_keep(&f, get(tvmffi_here, load(tvmffi_here, path), "main"));
  }
  OK(is_loaded(path));
  OK(call_int(f) == 7);
  tvmffi_release(f);
}

static void an_import_holds_its_library(const char *path, const char *other) {
  TVMFFI_SCOPE;
  TVMFFIObject *m = load(tvmffi_here, path);
  int64_t result = 0;
  {
    TVMFFI_SCOPE;
    OK(tvmffi_call("ffi.ModuleImportModule", NULL, m,
                   load(tvmffi_here, other)) == 0);
  }
  OK(is_loaded(other));
  {
    TVMFFI_SCOPE;
    TVMFFIObject *f;
    OK(get(tvmffi_here, m, "fail_b") != NULL);
    OK((f = get(tvmffi_here, m, "call")) != NULL);
    OK(tvmffi_call(f, &result, "main") == 0 && result == 7);
  }
  OK(tvmffi_call("ffi.ModuleClearImports", NULL, m) == 0);
  OK(is_loaded(other)); /* by what was looked up */
}

static void objects_outlive_their_library(const char *path) {
  TVMFFI_SCOPE;
  TVMFFIObject *error;
  TVMFFIAny text;
  {
    TVMFFI_SCOPE;
    TVMFFIObject *m = load(tvmffi_here, path), *f = get(tvmffi_here, m, "text");
    OK(tvmffi_call(f, &text) == 0);
    OK(tvmffi_scope_to_parent(text.v_obj) != NULL);
    OK((f = get(tvmffi_here, m, "fail_a")) != NULL);
    OK(tvmffi_call(f, NULL) == -1);
    error = tvmffi_scope_to_parent(tvmffi_error_take());
  }
  OK(!is_loaded(path));
  OK(strcmp(tvmffi_any_str(&text).data, "a text that the library has made") ==
     0);
  OK(tvmffi_error_is(error, "ValueError"));
  OK(strstr(TVMFFIErrorGetCellPtr(error)->backtrace.data, "fail_a") != NULL);
}

/* Raises an error in a library, and unloads it. Returns the error, which the
   caller's scope owns. */
static TVMFFIObject *fail_in(TVMFFI_HERE, const char *path, const char *name) {
  {
    TVMFFI_SCOPE;
    TVMFFIObject *f = get(tvmffi_here, load(tvmffi_here, path), name);
    OK(f && tvmffi_call(f, NULL) == -1);
  }
  OK(!is_loaded(path));
  return tvmffi_error_take();
}

/* A library that is loaded where another one was has its own names. */
static void traces_have_the_names_of_today(const char *path,
                                           const char *other) {
  int i;
  for (i = 0; i < 3; ++i) {
    TVMFFI_SCOPE;
    TVMFFIObject *a = fail_in(tvmffi_here, path, "fail_a");
    TVMFFIObject *b = fail_in(tvmffi_here, other, "fail_b");
    const char *trace = a && b ? TVMFFIErrorGetCellPtr(b)->backtrace.data : "";
    OK(strstr(trace, "fail_b") && !strstr(trace, "fail_a"));
    OK(strstr(trace, other) && !strstr(trace, path));
  }
}

static void kept_modules_stay(const char *path) {
  TVMFFIObject *m, *kept = NULL;
  {
    TVMFFI_SCOPE;
    m = load(tvmffi_here, path);
    OK(tvmffi_call("ffi.ModuleGlobalsAdd", NULL, m) == 0);
  }
  OK(is_loaded(path));
  tvmffi_keep(&kept, m);
  OK(tvmffi_call("ffi.ModuleGlobalsRemove", NULL, kept) == 0);
  OK(is_loaded(path));
  tvmffi_release(kept);
}

int main(int argc, char **argv) {
  int64_t (*address)(void) = answer;
  const char *path[2];
  void *symbol;
  if (argc != 3 && argc != 4) return 2;
  path[0] = argv[1];
  path[1] = argv[2];
  memcpy((void *)&symbol, &address, sizeof(symbol));
  OK(TVMFFIEnvModRegisterContextSymbol("unit_modules_answer", symbol) == 0);
  functions(path[0]);
  OK(!is_loaded(path[0]));
  a_function_holds_its_library(path[0]);
  OK(!is_loaded(path[0]));
  an_import_holds_its_library(path[0], path[1]);
  OK(!is_loaded(path[0]) && !is_loaded(path[1]));
  objects_outlive_their_library(path[0]);
  if (argc == 4) traces_have_the_names_of_today(path[0], path[1]);
  kept_modules_stay(path[0]);
  OK(!is_loaded(path[0]));
  printf("1..%d\n", count);
  return failed != 0;
}
