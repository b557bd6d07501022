/* ======== Races: another thread between two instructions ================== */
/* Tests of all threads at once are in thread.h. Here each race is lost on
   purpose, by meanwhile.h. */

#pragma once

#include "harness.h"
#include "type_field.h"
#include "module.h"

#if TEST_MEANWHILE

/* -------- Locks -------- */

#if TVMFFI_I_FORK
enum { TEST_NAPS = 100 }; /* of a child process that waits for the mutex */

static void test_is_repairing(void) {
  tvmffi_i_store64(&tvmffi_i_process, (uint64_t)getpid() << 1 | 1);
}
static void test_has_repaired(void) {
  tvmffi_i_store64(&tvmffi_i_process, (uint64_t)getpid() << 1);
  (void)pthread_mutex_unlock(&tvmffi_i_mutex);
}

/* A child process whose fork ran no handler waits for the mutex. Meanwhile
   another of its threads makes the mutex new, or has done so. */
static void test_second_repair(TVMFFI_HERE) {
  pthread_mutex_lock(&tvmffi_i_mutex);
  test_meanwhile(TEST_AT_NAP, TEST_NAPS, test_has_repaired);
  tvmffi_i_lock_in_child();
  CHECK(!tvmffi_i_is_child && !tvmffi_i_is_unknown_child());
  tvmffi_i_unlock();
  CHECK(!test_did_nothing(TEST_AT_NAP));

  pthread_mutex_lock(&tvmffi_i_mutex);
  tvmffi_i_store64(&tvmffi_i_process, (uint64_t)getppid() << 1);
  test_meanwhile(TEST_AT_CAS, 1, test_is_repairing);
  test_meanwhile(TEST_AT_NAP, TEST_NAPS + 1, test_has_repaired);
  tvmffi_i_lock_in_child();
  CHECK(!tvmffi_i_is_child && !tvmffi_i_is_unknown_child());
  tvmffi_i_unlock();
  CHECK(!test_did_nothing(TEST_AT_CAS) && !test_did_nothing(TEST_AT_NAP));
}
#endif

/* -------- Counts and memory -------- */

static TVMFFIObject *test_raced;
static void test_retains(void) { tvmffi_retain(test_raced); }
static void test_weakly_retains(void) { tvmffi_weak_retain(test_raced); }

/* The count changes before it is replaced. */
static void test_count_changes(TVMFFI_HERE) {
  TVMFFIObjectHandle o = NULL;
  OK(TVMFFIObjectCreateOpaque(&test_raced, kTVMFFIOpaquePyObject, NULL, &o));
  OWN(o);
  test_raced = (TVMFFIObject *)o;
  test_meanwhile(TEST_AT_CAS, 1, test_retains);
  CHECK(tvmffi_weak_lock(o));
  CHECK(!test_did_nothing(TEST_AT_CAS));
  CHECK_INT(test_strong(o), 3);
  test_meanwhile(TEST_AT_CAS, 1, test_weakly_retains);
  tvmffi_i_pin(&test_raced->combined_ref_count, 0);
  CHECK(!test_did_nothing(TEST_AT_CAS));
  CHECK(test_strong(o) == TVMFFI_I_PINNED && test_weak(o) == 2);
  test_raced->combined_ref_count = TVMFFI_I_BOTH_ONE;
}

/* The last weak reference goes between the two looks at the count. */
static void test_last_weak_goes(TVMFFI_HERE) {
  char letter = 'd';
  TVMFFIObjectHandle o = NULL;
  OK(TVMFFIObjectCreateOpaque(&letter, kTVMFFIOpaquePyObject, test_say_deleter,
                              &o));
  tvmffi_i_release_rest(
      (TVMFFIObject *)o,
      tvmffi_i_sub64(&((TVMFFIObject *)o)->combined_ref_count,
                     TVMFFI_I_STRONG_ONE));
  CHECK_LOG("d");
}

#if TVMFFI_I_POOL
static void test_takes_slice(void) {
  tvmffi_i_pool_left -= TVMFFI_I_POOL_SLICE;
}

/* Another thread takes a slice of the shared budget, or the last one. */
static void test_contended_budget(TVMFFI_HERE) {
  tvmffi_i_pool p;
  int left;
  memset((void *)&p, 0, sizeof(p));
  for (left = 2; left > 0; --left) {
    tvmffi_i_pool_left = (uint64_t)(left * TVMFFI_I_POOL_SLICE);
    test_meanwhile(TEST_AT_CAS, 1, test_takes_slice);
    CHECK_INT(tvmffi_i_pool_grow(&p), left == 2);
    CHECK(!test_did_nothing(TEST_AT_CAS));
    CHECK_INT(tvmffi_i_pool_left, 0);
  }
  CHECK_INT(p.budget, TVMFFI_I_POOL_SLICE);
  tvmffi_i_pool_left = TVMFFI_I_POOL_PROCESS;
}
#endif

/* -------- Handles -------- */

#if defined(TVMFFI_I_PERSONALITY) && defined(__GLIBC__) && !defined(TEST_TSAN)
static void *test_exit_handle;
static int test_exit_init(void **result) {
#if !TVMFFI_NO_BACKTRACE
  /* Nobody catches it, so the unwinder only searches. */
  struct _Unwind_Exception exception;
  memset((void *)&exception, 0, sizeof(exception));
  (void)_Unwind_RaiseException(&exception);
  CHECK(tvmffi_i_initializer_list() != NULL);
#endif
  *result = NULL;
  pthread_exit(NULL);
}
static void test_exits_in_init(void) {
  (void)TVMFFIHandleInitOnce(&test_exit_handle, test_exit_init);
}

/* A thread that ends in init_func leaves the list of running calls when its
   stack is unwound, in C code too. */
static void test_exit_from_init(TVMFFI_HERE) {
  test_exit_handle = NULL;
  test_in_thread(test_exits_in_init);
  CHECK(!test_exit_handle && !tvmffi_i_initializer_list());
}
#endif

/* -------- Functions -------- */

static const char *test_race_name;

static void test_removes_global(void) {
  test_replace_global(test_race_name, NULL);
}

/* A name is removed after a reader found its entry. */
static void test_name_goes(TVMFFI_HERE) {
  TVMFFIByteArray name;
  TVMFFIObject *f = test_global("ffi.String");
  TVMFFIObjectHandle found = NULL;
  if (!f || test_oom) return;
  test_race_name = test_fresh("unit.goes");
  name = TEXT(test_race_name);
  OK(TVMFFIFunctionSetGlobal(&name, f, 1));
  test_meanwhile(TEST_AT_ADD, 1, test_removes_global);
  OK(TVMFFIFunctionGetGlobal(&name, &found));
  CHECK(!test_did_nothing(TEST_AT_ADD));
  CHECK(!found);
}

/* A file's function is looked up twice at once: one stays. */
static void test_cached_twice(TVMFFI_HERE) {
  void *function;
  OK(tvmffi_i_find_cached(TVMFFI_I_NEW_SHAPE));
  function = tvmffi_i_global_cache[TVMFFI_I_NEW_SHAPE];
  CHECK(function != NULL);
  OK(tvmffi_i_find_cached(TVMFFI_I_NEW_SHAPE));
  CHECK(tvmffi_i_global_cache[TVMFFI_I_NEW_SHAPE] == function);
}

#if !TEST_NO_MODULES && !TVMFFI_NO_CONTAINERS
static void *test_race_context;
static TVMFFIObjectHandle test_race_found;

/* Finds the function first, in the second run after it was replaced. */
static int test_race_run;
static void test_finds_first(void) {
  TVMFFIByteArray name = TEXT(test_race_name);
  if (test_race_run)
    CHECK(!TVMFFIFunctionSetGlobal(&name, test_global("ffi.Bytes"), 1));
  CHECK(!TVMFFIEnvModLookupFromImports(test_race_context, test_race_name,
                                       &test_race_found));
}

/* Two threads look up one name in a module, and find one function or different
   ones. Both get the one that was cached first, of which the cache owns one
   reference. */
static void test_found_twice(TVMFFI_HERE) {
  TVMFFIByteArray name;
  TVMFFIObjectHandle f = NULL, got = NULL;
  TVMFFIObject *m;
  uint32_t count;
  if (test_oom) return;
  OK(TVMFFIFunctionCreate(NULL, test_echo_callback, NULL, &f));
  OWN(f);
  for (test_race_run = 0; test_race_run < 2; ++test_race_run) {
    m = test_module(tvmffi_here, test_fresh("unit_module"));
    if (!m) return;
    test_race_name = test_fresh("unit.twice");
    name = TEXT(test_race_name);
    test_race_context = tvmffi_i_module_of(m);
    OK(TVMFFIFunctionSetGlobal(&name, f, 1));
    count = test_strong(f);
    test_meanwhile(TEST_AT_ALLOC, 1, test_finds_first);
    OK(TVMFFIEnvModLookupFromImports(test_race_context, test_race_name, &got));
    CHECK(!test_did_nothing(TEST_AT_ALLOC));
    CHECK(got == test_race_found && (got == f) == !test_race_run);
    if (!test_race_run) CHECK_INT(test_strong(f), count + 1);
    test_replace_global(test_race_name, NULL);
  }
}
#endif

/* -------- Types -------- */

#if !TVMFFI_NO_TYPES
static int32_t test_race_type;
static TVMFFITypeMetadata test_race_metadata;

static void test_registers_metadata(void) {
  CHECK(!TVMFFITypeRegisterMetadata(test_race_type, &test_race_metadata));
}
static void test_registers_field(void) {
  TVMFFIFieldInfo f = test_field("a", 24);
  CHECK(!TVMFFITypeRegisterField(test_race_type, &f));
}

/* A type gets the same metadata, other metadata, or a field that lies outside,
   while its metadata are copied. */
static void test_metadata_twice(TVMFFI_HERE) {
  TVMFFITypeMetadata metadata;
  int i;
  if (test_oom) return;
  for (i = 0; i < 3; ++i) {
    TVMFFIByteArray key = TEXT(test_fresh("unit.Raced"));
    test_race_type =
        TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject);
    memset((void *)&metadata, 0, sizeof(metadata));
    metadata.total_size = 24;
    test_race_metadata = metadata;
    if (i == 1) test_race_metadata.total_size = 32;
    test_meanwhile(TEST_AT_ALLOC, 1,
                   i == 2 ? test_registers_field : test_registers_metadata);
    if (i == 0)
      OK(TVMFFITypeRegisterMetadata(test_race_type, &metadata));
    else
      FAILS(TVMFFITypeRegisterMetadata(test_race_type, &metadata),
            i == 1 ? "RuntimeError" : "ValueError",
            i == 1 ? "...Overriding unit.Raced" : "...is not within");
    CHECK(!test_did_nothing(TEST_AT_ALLOC));
  }
}
#endif

#if !TVMFFI_NO_TYPES && !TVMFFI_NO_REFLECTION
typedef struct {
  TVMFFIObject base;
  int64_t a;
} TestGrowing;
TVMFFI_TYPE(TestGrowing, "unit.Growing", TVMFFIObject, (field, int64, a))

/* A class is registered again, with each allocation refused in turn. The column
   of final types has no slot for it. */
static void test_refused_class(TVMFFI_HERE) {
  tvmffi_i_column *c = &tvmffi_i_static_columns[TVMFFI_I_COLUMN_FINAL];
  const int32_t index = TVMFFI_TYPE_INDEX(TestGrowing);
  int n, code = -1;
  OK(index < 0 ? -1 : 0);
  if (test_oom) return;
  for (n = 1; code && n < 100; ++n) {
    tvmffi_i_class_TestGrowing.handle = NULL;
    if (index < c->column.size) c->column.size = c->capacity = index;
    test_number = 0;
    test_refuse_at = (size_t)n;
    code = TVMFFI_TYPE_INDEX(TestGrowing) < 0;
    test_refuse_at = 0;
    if (code) FAILS(code, "MemoryError", NULL);
    CHECK_INT(code, test_hits() > 0);
    test_refused = 0;
  }
  CHECK(n > 2 && !code && c->column.size == index + 1);
}
#endif

/* -------- Backtraces -------- */

#if !TVMFFI_NO_BACKTRACE
static void test_renews_frames(void) {
  tvmffi_i_frame_cache *cache =
      tvmffi_i_renew_frames(tvmffi_i_frames[tvmffi_i_frames_now].age + 1);
  if (CHECK(cache != NULL)) tvmffi_i_leave_frame_cache(cache);
}

/* A reader enters a generation that is no longer the current one, or renews one
   that another thread has renewed. */
static void test_renewed_twice(TVMFFI_HERE) {
  const int now = tvmffi_i_frames_now;
  const uint64_t age = tvmffi_i_frames[now].age;
  tvmffi_i_frame_reader reader;
  test_meanwhile(TEST_AT_ADD, 1, test_renews_frames);
  tvmffi_i_enter_frames(&reader);
  CHECK(!test_did_nothing(TEST_AT_ADD));
  CHECK_INT(tvmffi_i_frames_now, 1 - now);
  CHECK(reader.cache == &tvmffi_i_frames[1 - now]);
  CHECK_INT(tvmffi_i_frames[now].readers, 0);
  CHECK_INT(tvmffi_i_frames[1 - now].readers, 1);
  tvmffi_i_leave_frames(&reader);
  CHECK(tvmffi_i_renew_frames(age + 1) == &tvmffi_i_frames[1 - now]);
  CHECK_INT(tvmffi_i_frames_now, 1 - now);
  tvmffi_i_leave_frame_cache(&tvmffi_i_frames[1 - now]);
  tvmffi_i_frames[1 - now].age = tvmffi_i_loader_age();
  /* A reader of a current generation takes no lock. */
  test_meanwhile(TEST_AT_LOCK, 1, test_renews_frames);
  tvmffi_i_enter_frames(&reader);
  CHECK(test_did_nothing(TEST_AT_LOCK));
  tvmffi_i_leave_frames(&reader);
}
#endif

/* -------- A system that refuses -------- */

#if !TVMFFI_NO_DLOPEN && !TEST_NO_MODULES && defined(__GLIBC__) && \
    !TVMFFI_NO_CONTAINERS && !TEST_STATIC
/* A library that lacks a function is loaded lazily, but not if the function
   belongs to the ABI, or is upstream's in C++ and the process exports no
   runtime. */
static void test_lazy_library(TVMFFI_HERE) {
  static const char hidden[] = "...this program does not export its runtime";
  const int is_exported =
      dlsym(dlopen(NULL, RTLD_LAZY), "TVMFFIGetVersion") != NULL;
  const struct {
    const char *name;
    int system_refuses; /* the process exports nothing */
    int num_unloadable;
    const char *error; /* NULL if the library is loaded */
  } cases[] = {
      {"other", 0, 1, NULL},
      {"other", 1, 1, NULL},
      {"other", 0, 2, "...undefined symbol: other"},
      {"TVMFFIFuture", 0, 1,
       is_exported ? "...newer version of the TVM FFI ABI" : hidden},
      {"TVMFFIFuture", 1, 1, hidden},
      {"_ZN3tvm3ffi1fEv", 0, 1, is_exported ? NULL : hidden},
      {"_ZN3tvm3ffi1fEv", 1, 1, hidden}};
  size_t i;
  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    char text[64];
    void *library = NULL;
    (void)snprintf(text, sizeof(text), "x: undefined symbol: %s",
                   cases[i].name);
    test_loader_says = text;
    test_num_unloadable = cases[i].num_unloadable;
    test_system_refuses = cases[i].system_refuses;
    if (cases[i].error)
      FAILS(tvmffi_i_dlopen(TEXT("libc.so.6"), &library), "InternalError",
            cases[i].error);
    else
      OK(tvmffi_i_dlopen(TEXT("libc.so.6"), &library));
    test_system_refuses = 0;
    CHECK((library != NULL) == !cases[i].error);
    CHECK_INT(test_num_unloadable, 0);
    if (library) (void)dlclose(library);
    test_loader_says = "";
  }
}
#endif

#if !TVMFFI_NO_BACKTRACE && !TVMFFI_NO_DLOPEN && !TEST_NO_MODULES && \
    !TVMFFI_NO_CONTAINERS && defined(__GLIBC__) && !TEST_STATIC
/* A function with the symbol of a C++ function, which traces demangle by calls
   of the loader. They free the loader's text of its last error. */
TVMFFI_I_EXTERN_C int test_load_nothing(void) __asm__("_Z12load_nothingv");
int test_load_nothing(void) {
  void *library = NULL;
  const int code = tvmffi_i_dlopen(TEXT("no/such/library.so"), &library);
  CHECK(!library);
  return code;
}

static void test_loader_error(TVMFFI_HERE) {
  void *library = dlopen("libstdc++.so.6", RTLD_LAZY);
  FAILS(test_load_nothing(), "InternalError",
        "Failed to load dynamic shared library no/such/library.so "
        "no/such/library.so: cannot open shared object file: No such file or "
        "directory");
  if (library) (void)dlclose(library);
}
#endif

#if !TVMFFI_NO_BACKTRACE && !TVMFFI_NO_DLOPEN
/* A C++ library without the function that demangles. */
static void test_no_demangler(TVMFFI_HERE) {
  char *name;
  test_system_refuses = 1;
  name = tvmffi_i_demangle("_Z1fv");
  test_system_refuses = 0;
  CHECK(!name);
}
#endif

#if TVMFFI_I_SPLIT_THREAD && !TVMFFI_NO_THREADS
static int test_was_watched;
static void test_watches(void) { test_was_watched = tvmffi_i_watch_exit(); }

/* The system has a key, but no memory for a thread's value of it. */
static void test_refused_value(TVMFFI_HERE) {
  test_was_watched = -1;
  test_system_refuses = 1;
  test_in_thread(test_watches);
  test_system_refuses = 0;
  CHECK_INT(test_was_watched, 0);
  test_in_thread(test_watches);
  CHECK_INT(test_was_watched, 1);
}
#endif

#if !TVMFFI_NO_TYPES && TVMFFI_I_STACK_KNOWN && defined(__linux__)
/* The main thread's stack is unknown if its limit is. */
static void test_refused_limit(TVMFFI_HERE) {
  tvmffi_i_stack_range r = tvmffi_i_main_stack();
  CHECK(r.high > r.low);
  test_system_refuses = 1;
  r = tvmffi_i_main_stack();
  test_system_refuses = 0;
  CHECK(!r.low && !r.high);
#if defined(__GLIBC__)
  test_num_destroyed = 0;
  (void)tvmffi_i_ask_stack();
  CHECK_INT(test_num_destroyed, 1); /* the attributes may have memory */
#endif
}
#endif
#endif

static const test_case test_race_cases[] = {
#if TEST_MEANWHILE
#if TVMFFI_I_FORK
    {"races: two threads of a child repair the mutex", test_second_repair},
#endif
    {"races: counts that change", test_count_changes},
    {"races: the last weak reference", test_last_weak_goes},
#if TVMFFI_I_POOL
    {"races: the shared budget", test_contended_budget},
#endif
#if defined(TVMFFI_I_PERSONALITY) && defined(__GLIBC__) && !defined(TEST_TSAN)
    {"threads: an end in init_func", test_exit_from_init},
#endif
    {"races: a removed name", test_name_goes},
    {"races: a file's function", test_cached_twice},
#if !TEST_NO_MODULES && !TVMFFI_NO_CONTAINERS
    {"races: a module's function", test_found_twice},
#endif
#if !TVMFFI_NO_TYPES
    {"races: metadata of a type", test_metadata_twice},
#endif
#if !TVMFFI_NO_TYPES && !TVMFFI_NO_REFLECTION
    {"types: a class that is refused", test_refused_class},
#endif
#if !TVMFFI_NO_BACKTRACE
    {"races: renewed frames", test_renewed_twice},
#endif
#if !TVMFFI_NO_DLOPEN && !TEST_NO_MODULES && defined(__GLIBC__) && \
    !TVMFFI_NO_CONTAINERS && !TEST_STATIC
    {"libraries: bound lazily", test_lazy_library},
#endif
#if !TVMFFI_NO_BACKTRACE && !TVMFFI_NO_DLOPEN && !TEST_NO_MODULES && \
    !TVMFFI_NO_CONTAINERS && defined(__GLIBC__) && !TEST_STATIC
    {"libraries: the loader's text", test_loader_error},
#endif
#if !TVMFFI_NO_BACKTRACE && !TVMFFI_NO_DLOPEN
    {"backtrace: no demangler", test_no_demangler},
#endif
#if TVMFFI_I_SPLIT_THREAD && !TVMFFI_NO_THREADS
    {"threads: a value that the system refuses", test_refused_value},
#endif
#if !TVMFFI_NO_TYPES && TVMFFI_I_STACK_KNOWN && defined(__linux__)
    {"threads: a limit that the system refuses", test_refused_limit},
#endif
#endif
    {NULL, NULL}};
