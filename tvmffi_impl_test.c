/* Unit tests of tvmffi.h, with nothing but a C compiler: a program of one file,
   which includes a file of tests/unit for each subject.

   SPDX-License-Identifier: Apache-2.0 OR MIT

       cc tvmffi_impl_test.c -lpthread && ./a.out

   Options: --list, --only NAME (the tests whose names begin so), --short (the
   longest chains and numbers are 50 times shorter), and --oom: every test once
   more for N = 1, 2, 3, ... with the Nth allocation refused, and once more with
   all from the Nth on refused, until it ends without asking for N. Output is
   TAP; the exit status tells whether all passed.

   The program is meant for any machine that the header runs on: it asks of the
   C library only what the macros below name. It defines the runtime's memory
   functions, so that each block is seen: its two ends are guarded, and after
   each test every block that was made meanwhile has to be gone, or to be found
   from the runtime's own tables. */

/* How to print a line: a printf, and what writes it at once, so that the last
   line before a crash tells which test is next. */
#ifndef TEST_PRINT
#include <stdio.h>
#define TEST_PRINT printf
#define TEST_FLUSH() ((void)fflush(stdout))
#endif
#ifndef TEST_FLUSH
#define TEST_FLUSH() ((void)0)
#endif

/* Where memory comes from, aligned to 8 at least. */
#ifndef TEST_MALLOC
#include <stdlib.h>
#define TEST_MALLOC(size) malloc(size)
#define TEST_FREE(pointer) free(pointer)
#endif

/* The program's entry: int TEST_MAIN(int argc, char **argv). */
#ifndef TEST_MAIN
#define TEST_MAIN main
#endif

/* 1 leaves a group of tests out, where flash is small. */
#ifndef TEST_NO_VALUES
#define TEST_NO_VALUES 0
#endif
#ifndef TEST_NO_OBJECTS
#define TEST_NO_OBJECTS 0
#endif
#ifndef TEST_NO_FUNCTIONS
#define TEST_NO_FUNCTIONS 0
#endif
#ifndef TEST_NO_ERRORS
#define TEST_NO_ERRORS 0
#endif
#ifndef TEST_NO_TYPED
#define TEST_NO_TYPED 0
#endif
#ifndef TEST_NO_LEGACY
#define TEST_NO_LEGACY 0
#endif
#ifndef TEST_NO_DTYPES
#define TEST_NO_DTYPES 0
#endif
#ifndef TEST_NO_TENSORS
#define TEST_NO_TENSORS 0
#endif
#ifndef TEST_NO_ENV
#define TEST_NO_ENV 0
#endif
#ifndef TEST_NO_ARRAYS
#define TEST_NO_ARRAYS 0
#endif
#ifndef TEST_NO_MAPS
#define TEST_NO_MAPS 0
#endif
#ifndef TEST_NO_MODULES
#define TEST_NO_MODULES 0
#endif
#ifndef TEST_NO_REFLECTION
#define TEST_NO_REFLECTION 0
#endif
#ifndef TEST_NO_JSON
#define TEST_NO_JSON 0
#endif
#ifndef TEST_NO_CONTENTION
#define TEST_NO_CONTENTION 0
#endif
/* 1 leaves out what forks while other threads run: an emulator of a program may
   not survive that. */
#ifndef TEST_NO_FORKS
#define TEST_NO_FORKS 0
#endif
/* 1 leaves out what loads a library: a program that is linked statically. */
#ifndef TEST_STATIC
#define TEST_STATIC 0
#endif
/* 1 leaves out what needs tmpfile(). */
#ifndef TEST_NO_FILES
#define TEST_NO_FILES 0
#endif
/* 1 adds what needs the names of functions: a program linked with -rdynamic
   and with a shared C library. */
#ifndef TEST_SYMBOLS
#define TEST_SYMBOLS 0
#endif
/* 1 if clang measures coverage, which a child process then writes, too. */
#ifndef TEST_COVERAGE
#define TEST_COVERAGE 0
#endif

#if defined(__SANITIZE_THREAD__)
#define TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TEST_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define TEST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TEST_ASAN 1
#endif
#endif

/* 1 keeps a list of all blocks, which finds leaks. Its lock would put the
   threads in order and so hide races from the thread sanitizer. */
#ifndef TEST_TRACK
#ifdef TEST_TSAN
#define TEST_TRACK 0
#else
#define TEST_TRACK 1
#endif
#endif

/* Sizes: how long a chain is destroyed, how many types are registered, how
   often a thread does its work, or maps change at random. */
#ifndef TEST_CHAIN
#define TEST_CHAIN 1000000
#endif
#define TEST_SHORT 20000 /* with --short */
#ifndef TEST_MANY_TYPES
#define TEST_MANY_TYPES 1000
#endif
#ifndef TEST_ROUNDS
#ifdef TEST_TSAN
#define TEST_ROUNDS 200
#else
#define TEST_ROUNDS 2000
#endif
#endif
#ifndef TEST_THREADS
#define TEST_THREADS 8
#endif

#include <stddef.h>
static void *test_malloc(size_t size);
static void test_free(void *pointer);
#define TVMFFI_MALLOC(size) test_malloc(size)
#define TVMFFI_FREE(pointer) test_free(pointer)
/* 1 leaves the assertions out. A board is too small for their texts. */
#ifndef TEST_NO_ASSERTS
#ifdef TVMFFI_FREESTANDING
#define TEST_NO_ASSERTS 1
#else
#define TEST_NO_ASSERTS 0
#endif
#endif
#if !defined(TVMFFI_ASSERT) && !TEST_NO_ASSERTS
#define TEST_ASSERTS 1
static void test_assert_failed(const char *condition, const char *file,
                               int line);
#define TVMFFI_ASSERT(condition) \
  ((condition) ? (void)0 : test_assert_failed(#condition, __FILE__, __LINE__))
#endif
#include "tests/unit/meanwhile.h"
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"
#undef poll
#undef dlopen
#undef dlerror
#undef dlsym
#undef getrlimit
#undef pthread_attr_destroy
#undef pthread_mutex_trylock
#undef pthread_setspecific

#include "legacy/tvmffi_legacy.h"

#ifndef TEST_NO_TYPES
#define TEST_NO_TYPES TVMFFI_NO_TYPES
#endif

#define TEST_STRING_(x) #x
#if TVMFFI_DYNAMIC
#define TEST_STRING(x) "tvmffi_i_own_" #x
#else
#define TEST_STRING(x) TEST_STRING_(x)
#endif
#define TEST_COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))
/* More bytes than any memory has; the allocator below refuses them unseen. */
#define TEST_HUGE ((size_t)PTRDIFF_MAX / (sizeof(size_t) > 4 ? 256 : 8) + 1)
/* For what a build with other options does not use. */
#define TEST_MAYBE static TVMFFI_I_UNUSED

#include "tests/unit/harness.h"
#include "tests/unit/start.h"
#include "tests/unit/platform.h"
#include "tests/unit/value.h"
#include "tests/unit/object.h"
#include "tests/unit/type_field.h"
#include "tests/unit/type.h"
#include "tests/unit/function.h"
#include "tests/unit/error.h"
#include "tests/unit/backtrace.h"
#include "tests/unit/nesting.h"
#include "tests/unit/typed_function.h"
#include "tests/unit/call.h"
#include "tests/unit/scope.h"
#include "tests/unit/mark.h"
#include "tests/unit/container.h"
#include "tests/unit/expect.h"
#include "tests/unit/struct_type.h"
#include "tests/unit/dtype.h"
#include "tests/unit/tensor.h"
#include "tests/unit/tensor_allocator.h"
#include "tests/unit/contract.h"
#include "tests/unit/legacy.h"
#include "tests/unit/environment.h"
#include "tests/unit/module.h"
#include "tests/unit/module_kind.h"
#include "tests/unit/thread.h"
#include "tests/unit/race.h"
#include "tests/unit/global.h"
#include "tests/unit/sequence.h"
#include "tests/unit/map.h"
#include "tests/unit/apply.h"
#include "tests/unit/reflection.h"
#include "tests/unit/access_path.h"
#include "tests/unit/copy.h"
#include "tests/unit/builtin_type.h"
#include "tests/unit/repr.h"
#include "tests/unit/recursive.h"
#include "tests/unit/structural.h"
#include "tests/unit/json.h"
#include "tests/unit/graph.h"
#include "tests/unit/visit.h"
#include "tests/unit/functions.h"

/* The tests, in the order in which they run. Those of the built-in types come
   early: one lists all types, of which the others register thousands. */
static const test_case *const test_lists[] = {
    test_start_cases,
    test_builtin_type_cases,
    test_platform_cases,
    test_value_cases,
    test_object_cases,
    test_type_cases,
    test_function_cases,
    test_error_cases,
    test_backtrace_cases,
    test_nesting_cases,
    test_typed_function_cases,
    test_call_cases,
    test_scope_cases,
    test_mark_cases,
    test_container_cases,
    test_expect_cases,
    test_struct_type_cases,
    test_dtype_cases,
    test_tensor_cases,
    test_tensor_allocator_cases,
    test_contract_cases,
    test_legacy_cases,
    test_environment_cases,
    test_module_cases,
    test_module_kind_cases,
    test_thread_cases,
    test_race_cases,
    test_global_cases,
    test_sequence_cases,
    test_map_cases,
    test_reflection_cases,
    test_access_path_cases,
    test_copy_cases,
    test_repr_cases,
    test_recursive_cases,
    test_structural_cases,
    test_json_cases,
    test_graph_cases,
    test_visit_cases,
    test_functions_cases,
};

#if TVMFFI_DEBUG
/* Gives back the memory of what is dead. */
static void test_forget_dead(void) {
  size_t i;
  for (i = 0; i < TVMFFI_I_NUM_DEAD; ++i) {
    tvmffi_i_record *r = tvmffi_i_dead[i];
    if (!r) continue;
    tvmffi_i_forget_record(r);
    tvmffi_i_dead[i] = NULL;
    test_free(r->memory);
    test_free(r);
  }
}
#endif

/* Runs a test once. Returns 1 if more blocks are live than before, which may
   be leaks. */
static int test_run_once(const test_case *test, int with_pool) {
  size_t live;
  tvmffi_scope scope;
  test_set_pool(with_pool);
  live = test_get(&test_live);
  test_log_size = 0;
  test->run(tvmffi_scope_open(&scope));
  test_refuse_at = 0;
  tvmffi_scope_close(&scope);
  test_release_all();
  test_set_pool(0);
#if TVMFFI_DEBUG
  test_forget_dead();
#endif
  if (!test_hits()) CHECK_INT(test_log_size, 0);
  CHECK(tvmffi_i_self()->destroying.depth == 0 &&
        !tvmffi_i_self()->destroying.pending_destroy);
  if (!CHECK(tvmffi_i_thread_error()->object == NULL)) tvmffi_error_clear();
  return test_get(&test_live) > live;
}

/* Runs a test once; what is left behind afterwards is a failure. */
static void test_run_checked(const test_case *test, int with_pool) {
#if TEST_TRACK
  size_t since = test_get(&test_made);
  if (test_run_once(test, with_pool)) (void)test_find_leaks(since);
#else
  (void)test_run_once(test, with_pool);
#endif
}

/* Refuses the Nth allocation, or all from it on, for N = 1, 2, 3, ..., until
   the test ends before it. Returns the last N, or the N of a leak. A leaked
   block stays, so one search after the last run finds the leaks of all. */
static int test_run_refused(const test_case *test, int all) {
  size_t n = 0, hits = 1, leak = 0;
#if TEST_TRACK
  size_t since = test_get(&test_made);
#endif
  int more = 0;
  while (hits && !test_get(&test_num_failures)) {
    test_number = 0;
    test_refused = 0;
    test_refuse_all = all;
    test_refuse_at = ++n;
    more |= test_run_once(test, 0);
    hits = test_hits();
    test_refused = 0;
  }
#if TEST_TRACK
  if (more) leak = test_find_leaks(since);
#else
  (void)more;
#endif
  return (int)(leak ? leak : n);
}

/* Twice: what a test does the first time only is then behind it. First without
   memory that is kept, which would hide what comes to a block after its end;
   with refusals always, so that each allocation is one. Gives the
   number of the refused allocation with which it failed, less than 0 where all
   after it were refused too, 0 otherwise. */
static int test_run(const test_case *test) {
  int once, all;
  if (!test_oom) {
    test_run_checked(test, 0);
    test_run_checked(test, 1);
    return 0;
  }
  once = test_run_refused(test, 0);
  if (test_get(&test_num_failures)) return once;
  all = test_run_refused(test, 1);
  return test_get(&test_num_failures) ? -all : 0;
}

static int test_report(const test_case *test, int number, int refused) {
  size_t i, n = test_get(&test_num_failures);
  TEST_PRINT("%sok %d - %s\n", n ? "not " : "", number, test->name);
  if (refused)
    TEST_PRINT("# with allocation %d refused%s\n",
               refused < 0 ? -refused : refused,
               refused < 0 ? ", and all after it" : "");
  for (i = 0; i < n && i < sizeof(test_failures) / sizeof(test_failures[0]);
       ++i)
    TEST_PRINT("# %s:%d: %s\n", test_failures[i].file, test_failures[i].line,
               test_failures[i].text);
  TEST_FLUSH();
  test_num_failures = 0;
  return n != 0;
}

static int test_usage(void) {
  TEST_PRINT("usage: [--list] [--oom] [--short] [--only NAME]\n");
  return 2;
}

int TEST_MAIN(int argc, char **argv) {
  const test_case *test;
  const char *only = "";
  int i, number = 0, failed = 0, list = 0;
#if TVMFFI_I_FORK && defined(__unix__)
  (void)pthread_atfork(test_before_fork, test_after_fork, test_after_fork);
#endif
  for (i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--list") == 0)
      list = 1;
    else if (strcmp(argv[i], "--oom") == 0)
      test_oom = 1;
    else if (strcmp(argv[i], "--short") == 0)
      test_chain = TEST_CHAIN < TEST_SHORT ? TEST_CHAIN : TEST_SHORT;
    else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
      only = argv[++i];
    else
      return test_usage();
  }
  test_before_start();
  for (i = 0; i < TEST_COUNT(test_lists); ++i) {
    for (test = test_lists[i]; test->name; ++test) {
      if (strncmp(test->name, only, strlen(only)) != 0) continue;
      ++number;
      if (list)
        TEST_PRINT("%s\n", test->name);
      else
        failed += test_report(test, number, test_run(test));
    }
  }
  if (!list) TEST_PRINT("1..%d\n", number);
  return failed || !number;
}
