/* Unit tests of tvmffi.h, all in this file, with nothing but a C compiler.

   SPDX-License-Identifier: Apache-2.0 OR MIT

       cc tvmffi_impl_test.c -lpthread && ./a.out

   Options: --list, --only NAME (the tests whose names begin so), and --oom:
   every test once more for N = 1, 2, 3, ... with the Nth allocation refused,
   and once more with all from the Nth on refused, until it ends without asking
   for N. Output is TAP; the exit status tells whether all passed.

   The file is meant for any machine that the header runs on: it asks of the C
   library only what the macros below name. It defines the runtime's memory
   functions, so that each block is seen: its two ends are guarded, and after
   each test every block that was made meanwhile has to be gone, or to be
   found from the runtime's own tables. */

/* How to print a line: a printf. */
#ifndef TEST_PRINT
#include <stdio.h>
#define TEST_PRINT printf
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
/* 1 leaves out what needs tmpfile(). */
#ifndef TEST_NO_FILES
#define TEST_NO_FILES 0
#endif
/* 1 adds what needs the names of functions: a program linked with -rdynamic
   and with a shared C library. */
#ifndef TEST_SYMBOLS
#define TEST_SYMBOLS 0
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
   often a thread does its work. */
#ifndef TEST_CHAIN
#define TEST_CHAIN 1000000
#endif
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
#define TVMFFI_LEGACY 1
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

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

/* ======== Failures ======================================================== */
/* A failed check is kept until the line of its test has been printed. Only
   this part and the next are used by several threads at once. */

typedef struct {
  const char *file;
  int line;
  char text[240];
} test_failure;

static test_failure test_failures[16];
static size_t test_num_failures;

static size_t test_add(size_t *counter, size_t n) {
#if TVMFFI_NO_THREADS
  *counter += n;
  return *counter;
#else
  return __atomic_add_fetch(counter, n, __ATOMIC_RELAXED);
#endif
}

static size_t test_get(size_t *counter) {
  return TVMFFI_I_LOAD_RELAXED(counter);
}

static size_t test_put(char *to, size_t at, size_t capacity, const char *text,
                       size_t size) {
  size_t i;
  for (i = 0; i < size && at + 1 < capacity; ++i)
    to[at++] = text[i] >= ' ' && text[i] < 127 ? text[i] : '~';
  to[at] = 0;
  return at;
}

static char *test_digits(char *end, int64_t x) {
  uint64_t left = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
  *--end = 0;
  do {
    *--end = (char)('0' + left % 10);
    left /= 10;
  } while (left);
  if (x < 0) *--end = '-';
  return end;
}

/* Records a failure with up to two texts; returns 0. */
static int test_fail(const char *file, int line, const char *text,
                     const char *more, size_t size) {
  size_t i = test_add(&test_num_failures, 1) - 1, at;
  test_failure *f;
  if (i >= sizeof(test_failures) / sizeof(test_failures[0])) return 0;
  f = &test_failures[i];
  f->file = file;
  f->line = line;
  at = test_put(f->text, 0, sizeof(f->text), text, strlen(text));
  (void)test_put(f->text, at, sizeof(f->text), more, size);
  return 0;
}

#define CHECK(condition) \
  ((condition) ? 1 : test_fail(__FILE__, __LINE__, #condition, "", 0))

static int test_equal_int(int64_t got, int64_t want, const char *file, int line,
                          const char *text) {
  char message[80], number[24], *digits;
  size_t at = 0;
  if (got == want) return 1;
  at = test_put(message, at, sizeof(message), " is ", 4);
  digits = test_digits(number + sizeof(number), got);
  at = test_put(message, at, sizeof(message), digits, strlen(digits));
  at = test_put(message, at, sizeof(message), ", not ", 6);
  digits = test_digits(number + sizeof(number), want);
  at = test_put(message, at, sizeof(message), digits, strlen(digits));
  return test_fail(file, line, text, message, at);
}

#define CHECK_INT(got, want) \
  test_equal_int((int64_t)(got), (int64_t)(want), __FILE__, __LINE__, #got)

static int test_equal_bytes(TVMFFIByteArray got, const char *want, size_t size,
                            const char *file, int line, const char *text) {
  char message[240];
  size_t at;
  if (got.size == size && (!size || memcmp(got.data, want, size) == 0))
    return 1;
  at = test_put(message, 0, sizeof(message), ": ", 2);
  at = test_put(message, at, sizeof(message), got.data, got.size);
  return test_fail(file, line, text, message, at);
}

#define CHECK_BYTES(got, want, size) \
  test_equal_bytes(got, want, size, __FILE__, __LINE__, #got)
#define CHECK_TEXT(got, want) CHECK_BYTES(got, want, strlen(want))

/* ======== Memory ========================================================== */
/* The memory of the runtime. Each block has a guard on both sides; what is
   freed is overwritten. Allocations can be refused by number. */

#ifdef TEST_ASAN
#include <sanitizer/asan_interface.h>
#define TEST_POISON(pointer, size) ASAN_POISON_MEMORY_REGION(pointer, size)
#define TEST_UNPOISON(pointer, size) ASAN_UNPOISON_MEMORY_REGION(pointer, size)
#else
#define TEST_POISON(pointer, size) ((void)0)
#define TEST_UNPOISON(pointer, size) ((void)0)
#endif

typedef struct test_block {
  struct test_block *next, *before;
  size_t size;
  size_t number; /* of the allocation */
} test_block;

enum {
  TEST_GUARD = 8,
  TEST_HEAD = ((int)sizeof(test_block) + TEST_GUARD + 15) / 16 * 16
};
static const char test_guard[TEST_GUARD + 1] = "<guard!>";

static size_t test_live, test_made; /* blocks */
static size_t test_held, test_peak; /* bytes that are live, and most of them */
static size_t test_number;          /* of allocations since arming */
static size_t test_refuse_at;       /* 0: none */
static size_t test_refused;
static int test_refuse_all;

#if TEST_TRACK
static test_block test_blocks = {&test_blocks, &test_blocks, 0, 0};
#if TVMFFI_NO_THREADS
#define TEST_LOCK() ((void)0)
#define TEST_UNLOCK() ((void)0)
#else
static pthread_mutex_t test_mutex = PTHREAD_MUTEX_INITIALIZER;
#define TEST_LOCK() ((void)pthread_mutex_lock(&test_mutex))
#define TEST_UNLOCK() ((void)pthread_mutex_unlock(&test_mutex))
#endif

static void test_link(test_block *b) {
  TEST_LOCK();
  b->before = &test_blocks;
  b->next = test_blocks.next;
  b->next->before = b;
  test_blocks.next = b;
  TEST_UNLOCK();
}

static void test_unlink(test_block *b) {
  TEST_LOCK();
  b->before->next = b->next;
  b->next->before = b->before;
  TEST_UNLOCK();
}
#else
#define TEST_LOCK() ((void)0)
#define TEST_UNLOCK() ((void)0)
static void test_link(test_block *b) { b->next = b->before = NULL; }
static void test_unlink(test_block *b) { (void)b; }
#endif

/* A child of fork allocates, too. Its handlers are registered before the
   runtime's, so that this lock is taken last, as it is by an allocation. */
#if TVMFFI_I_FORK && defined(__unix__)
#if defined(__cplusplus)
extern "C" {
#endif
static void test_before_fork(void) { TEST_LOCK(); }
static void test_after_fork(void) { TEST_UNLOCK(); }
#if defined(__cplusplus)
}
#endif
#endif

static int test_is_refused(void) {
  size_t n;
  if (!test_refuse_at) return 0;
  n = test_add(&test_number, 1);
  if (n != test_refuse_at && (n < test_refuse_at || !test_refuse_all)) return 0;
  (void)test_add(&test_refused, 1);
  return 1;
}

/* Where the guard behind a block ends: on a border of 8 bytes. */
static size_t test_end(size_t size) { return (size + 7) / 8 * 8 + TEST_GUARD; }

static void *test_malloc(size_t size) {
  test_block *b;
  char *payload;
  if (test_is_refused()) return NULL;
  if (size >= TEST_HUGE) return NULL;
  b = (test_block *)TEST_MALLOC(TEST_HEAD + test_end(size));
  if (!b) return NULL;
  payload = (char *)b + TEST_HEAD;
  b->size = size;
  b->number = test_add(&test_made, 1);
  memcpy(payload - TEST_GUARD, test_guard, TEST_GUARD);
  memset(payload, 0xA5, size);
  memset(payload + size, 0, test_end(size) - size);
  memcpy(payload + size, test_guard, TEST_GUARD);
  (void)test_add(&test_live, 1);
  if (test_add(&test_held, size) > test_get(&test_peak))
    TVMFFI_I_STORE(&test_peak, test_get(&test_held));
  test_link(b);
  TEST_POISON(payload - TEST_GUARD, TEST_GUARD);
  TEST_POISON(payload + size, test_end(size) - size);
  return payload;
}

static void test_free(void *pointer) {
  char *payload = (char *)pointer;
  test_block *b = (test_block *)(void *)(payload - TEST_HEAD);
  TEST_UNPOISON(payload - TEST_GUARD, TEST_GUARD);
  TEST_UNPOISON(payload + b->size, test_end(b->size) - b->size);
  if (memcmp(payload - TEST_GUARD, test_guard, TEST_GUARD) != 0)
    (void)test_fail(__FILE__, __LINE__, "freed: no block, or written before it",
                    "", 0);
  else if (memcmp(payload + b->size, test_guard, TEST_GUARD) != 0)
    (void)test_fail(__FILE__, __LINE__, "a block was written behind its end",
                    "", 0);
  test_unlink(b);
  (void)test_add(&test_live, (size_t)0 - 1);
  (void)test_add(&test_held, (size_t)0 - b->size);
  memset(payload - TEST_GUARD, 0xDD, TEST_GUARD + test_end(b->size));
  TEST_FREE(b);
}

static size_t test_hits(void) { return test_get(&test_refused); }

#if TEST_TRACK
/* What the runtime holds for ever: where the search for blocks begins. */
typedef struct {
  const void *address;
  size_t size;
} test_root;

static const test_root test_roots[] = {
    {&tvmffi_i_types, sizeof(tvmffi_i_types)},
    {&tvmffi_i_first_table, sizeof(tvmffi_i_first_table)},
    {&tvmffi_i_static_entries, sizeof(tvmffi_i_static_entries)},
    {&tvmffi_i_type_keys, sizeof(tvmffi_i_type_keys)},
    {&tvmffi_i_columns, sizeof(tvmffi_i_columns)},
#if !TVMFFI_NO_CONTAINERS
    {&tvmffi_i_static_columns, sizeof(tvmffi_i_static_columns)},
    {&tvmffi_i_column_values, sizeof(tvmffi_i_column_values)},
#endif
#if !TVMFFI_NO_BACKTRACE
    {&tvmffi_i_frames, sizeof(tvmffi_i_frames)},
#endif
    {&tvmffi_i_globals, sizeof(tvmffi_i_globals)},
    {&tvmffi_i_builtin_entries, sizeof(tvmffi_i_builtin_entries)},
    {&tvmffi_i_system_symbols, sizeof(tvmffi_i_system_symbols)},
#if !TVMFFI_NO_CONTAINERS
    {&tvmffi_i_system_modules, sizeof(tvmffi_i_system_modules)},
    {&tvmffi_i_kept_modules, sizeof(tvmffi_i_kept_modules)},
#endif
#if TVMFFI_DEBUG
    {&tvmffi_i_records, sizeof(tvmffi_i_records)},
#endif
    {&tvmffi_i_context_symbols, sizeof(tvmffi_i_context_symbols)}};

typedef struct {
  test_block **block; /* in order of address */
  char *seen;
  size_t count;
  size_t *todo;
  size_t num_todo;
} test_search;

static void test_sort(test_block **block, size_t n) {
  size_t gap, i, j;
  for (gap = n / 2; gap; gap /= 2) {
    for (i = gap; i < n; ++i) {
      test_block *b = block[i];
      for (j = i; j >= gap && (uintptr_t)block[j - gap] > (uintptr_t)b;
           j -= gap)
        block[j] = block[j - gap];
      block[j] = b;
    }
  }
}

/* Marks the block that an address points into. */
static void test_mark(test_search *s, uintptr_t address) {
  size_t low = 0, high = s->count;
  test_block *b;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if ((uintptr_t)s->block[middle] <= address)
      low = middle;
    else
      high = middle;
  }
  if (!s->count || s->seen[low]) return;
  b = s->block[low];
  if (address < (uintptr_t)b + TEST_HEAD ||
      address > (uintptr_t)b + TEST_HEAD + b->size)
    return;
  s->seen[low] = 1;
  s->todo[s->num_todo++] = low;
}

static void test_scan(test_search *s, const void *from, size_t size) {
  const char *at = (const char *)from;
  uintptr_t word;
  size_t i;
  for (i = 0; i + sizeof(word) <= size; i += sizeof(word)) {
    memcpy(&word, at + i, sizeof(word));
    test_mark(s, word);
  }
}

/* Tells of blocks made after allocation `since` that nothing leads to. */
static void test_report_leaks(const test_search *s, size_t since) {
  char text[80], number[24], *digits;
  size_t i, leaks = 0, at;
  const test_block *first = NULL;
  for (i = 0; i < s->count; ++i) {
    if (s->seen[i] || s->block[i]->number <= since) continue;
    if (!first || s->block[i]->number < first->number) first = s->block[i];
    ++leaks;
  }
  if (!first) return;
  digits = test_digits(number + sizeof(number), (int64_t)leaks);
  at = test_put(text, 0, sizeof(text), digits, strlen(digits));
  at = test_put(text, at, sizeof(text), ", the first of size ", 20);
  digits = test_digits(number + sizeof(number), (int64_t)first->size);
  at = test_put(text, at, sizeof(text), digits, strlen(digits));
  at = test_put(text, at, sizeof(text), ", allocation ", 13);
  digits = test_digits(number + sizeof(number), (int64_t)first->number);
  at = test_put(text, at, sizeof(text), digits, strlen(digits));
  (void)test_fail(__FILE__, __LINE__, "blocks leaked: ", text, at);
}

static void test_find_leaks(size_t since) {
  test_search s;
  test_block *b;
  size_t i;
  s.count = 0;
  s.num_todo = 0;
  for (b = test_blocks.next; b != &test_blocks; b = b->next) ++s.count;
  s.block = (test_block **)TEST_MALLOC((s.count + 1) * sizeof(b));
  s.todo = (size_t *)TEST_MALLOC((s.count + 1) * sizeof(size_t));
  s.seen = (char *)TEST_MALLOC(s.count + 1);
  if (s.block && s.todo && s.seen) {
    memset(s.seen, 0, s.count + 1);
    for (i = 0, b = test_blocks.next; b != &test_blocks; b = b->next)
      s.block[i++] = b;
    test_sort(s.block, s.count);
    test_scan(&s, tvmffi_i_self(), sizeof(tvmffi_i_thread));
    for (i = 0; i < sizeof(test_roots) / sizeof(test_roots[0]); ++i)
      test_scan(&s, test_roots[i].address, test_roots[i].size);
    while (s.num_todo) {
      b = s.block[s.todo[--s.num_todo]];
      test_scan(&s, (char *)b + TEST_HEAD, b->size);
    }
    test_report_leaks(&s, since);
  }
  TEST_FREE(s.block);
  TEST_FREE(s.todo);
  TEST_FREE(s.seen);
}
#endif

/* ======== Writing tests =================================================== */
/* A test is a function that returns at the first call that cannot go on. What
   it owns it gives to OWN or OWN_ANY, which release it at the test's end. */

static TVMFFIAny test_owned[128];
static int test_num_owned;
static int test_oom; /* running with refused allocations */

static void test_own_any(const TVMFFIAny *any) {
  if (test_num_owned < TEST_COUNT(test_owned))
    test_owned[test_num_owned++] = *any;
  else
    (void)test_fail(__FILE__, __LINE__, "the test owns too much", "", 0);
}

static void test_own(TVMFFIObjectHandle object) {
  TVMFFIAny any = tvmffi_obj(object);
  if (object) test_own_any(&any);
}

#define OWN(object) test_own(object)
#define OWN_ANY(any) test_own_any(&(any))

/* Releases an owned object before the test's end. */
TEST_MAYBE void test_drop(const void *object) {
  int i = test_num_owned;
  while (i > 0 && test_owned[i - 1].v_ptr != object) --i;
  if (!CHECK(i > 0)) return;
  tvmffi_any_release(&test_owned[i - 1]);
}

static void test_release_all(void) {
  while (test_num_owned > 0) tvmffi_any_release(&test_owned[--test_num_owned]);
}

/* Frees what this thread has kept of dead objects, and begins or ends to keep
   it. */
static void test_set_pool(int on) {
#if TVMFFI_I_POOL
  tvmffi_i_pool_end(tvmffi_i_self());
  tvmffi_i_self()->pool_state = on ? 0 : -1;
#else
  (void)on;
#endif
}

/* The large size, or the small one where each test runs hundreds of times. */
TEST_MAYBE int test_scale(int large, int small) {
  return test_oom && large > small ? small : large;
}

/* A name that no test had before; valid until eight more were asked for. */
TEST_MAYBE const char *test_fresh(const char *prefix) {
  static char names[8][64];
  static int counter;
  char number[24], *digits = test_digits(number + sizeof(number), ++counter);
  char *name = names[counter % 8];
  size_t at = test_put(name, 0, sizeof(names[0]), prefix, strlen(prefix));
  (void)test_put(name, at, sizeof(names[0]), digits, strlen(digits));
  return name;
}

TEST_MAYBE TVMFFIByteArray test_bytes(const char *data, size_t size) {
  TVMFFIByteArray r;
  r.data = data;
  r.size = size;
  return r;
}

#undef TEXT /* of <windows.h> */
#define TEXT(text) tvmffi_view(text)

/* Looks at the code of a call that is to succeed; 1 when it did not. It may
   fail only if memory was refused, with the error that says so. */
static int test_code(int code, const char *file, int line, const char *text) {
  TVMFFIObject *error;
  if (!code) return 0;
  error = tvmffi_error_take();
  if (!error) {
    (void)test_fail(file, line, text, " failed without an error", 24);
  } else if (!test_hits() || !tvmffi_error_is(error, "MemoryError")) {
    TVMFFIByteArray message = TVMFFIErrorGetCellPtr(error)->message;
    (void)test_fail(file, line, text, message.data, message.size);
  }
  tvmffi_release(error);
  return 1;
}

#define OK(call)                                                  \
  do {                                                            \
    if (test_code((call), __FILE__, __LINE__, #call " ")) return; \
  } while (0)

static int test_contains(TVMFFIByteArray all, const char *part) {
  size_t n = strlen(part), i;
  for (i = 0; i + n <= all.size; ++i)
    if (memcmp(all.data + i, part, n) == 0) return 1;
  return 0;
}

/* Takes the error of a call that was to fail, and looks at it. A text that
   begins with "..." is to be a part of the message, NULL is any. */
TEST_MAYBE void test_error(int failed, const char *kind, const char *text,
                           const char *file, int line, const char *call) {
  TVMFFIObject *error = tvmffi_error_take();
  const TVMFFIErrorCell *cell;
  if (!failed || !error) {
    (void)test_fail(file, line, call,
                    failed ? " left no error" : " did not fail", 14);
    tvmffi_release(error);
    return;
  }
  cell = TVMFFIErrorGetCellPtr(error);
  if (!(test_hits() && tvmffi_error_is(error, "MemoryError"))) {
    (void)test_equal_bytes(cell->kind, kind, strlen(kind), file, line, call);
    if (text && strncmp(text, "...", 3) != 0)
      (void)test_equal_bytes(cell->message, text, strlen(text), file, line,
                             call);
    else if (text && !test_contains(cell->message, text + 3))
      (void)test_fail(file, line, "not in the message: ", text + 3,
                      strlen(text + 3));
  }
  CHECK(cell->message.data[cell->message.size] == 0);
  tvmffi_release(error);
}

#define FAILS(failed, kind, text) \
  test_error((failed) != 0, kind, text, __FILE__, __LINE__, #failed)

/* A small string in a row: in which order things happened. */
static char test_log[256];
static size_t test_log_size;

TEST_MAYBE void test_say(char c) {
  if (test_log_size + 1 < sizeof(test_log)) test_log[test_log_size++] = c;
  test_log[test_log_size] = 0;
}

/* A deleter that says the letter at its handle. */
TEST_MAYBE void test_say_deleter(void *handle) {
  test_say((char)(handle ? *(char *)handle : '-'));
}

#define CHECK_LOG(want)                                                      \
  (test_equal_bytes(test_bytes(test_log, test_log_size), want, strlen(want), \
                    __FILE__, __LINE__, "the log is"),                       \
   (void)(test_log_size = 0))

TEST_MAYBE uint32_t test_strong(const void *object) {
  return (uint32_t)((const TVMFFIObject *)object)->combined_ref_count;
}

TEST_MAYBE uint32_t test_weak(const void *object) {
  return (uint32_t)(((const TVMFFIObject *)object)->combined_ref_count >> 32);
}

/* Looks whether all bytes of an Any that its value does not use are 0. */
TEST_MAYBE int test_is_clean(const TVMFFIAny *any) {
  char zero[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  size_t used = 8;
  switch (any->type_index) {
    case kTVMFFISmallStr:
    case kTVMFFISmallBytes:
      return any->small_str_len < 8 &&
             memcmp(any->v_bytes + any->small_str_len, zero,
                    8 - any->small_str_len) == 0;
    case kTVMFFINone: used = 0; break;
    case kTVMFFIInt:
    case kTVMFFIBool:
    case kTVMFFIFloat:
    case kTVMFFIDevice: break;
    case kTVMFFIDataType: used = sizeof(DLDataType); break;
    default: used = sizeof(void *); break;
  }
  return any->zero_padding == 0 &&
         memcmp(any->v_bytes + used, zero, 8 - used) == 0;
}

TEST_MAYBE TVMFFIAny test_dirty(void) {
  TVMFFIAny any;
  memset(&any, 0xFF, sizeof(any));
  return any;
}

TEST_MAYBE int test_raise_callback(void *self, const TVMFFIAny *args,
                                   int32_t num_args, TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args, (void)result;
  return TVMFFI_RAISE("ValueError", "the callback says no");
}

/* Gives the last argument back, or its own self as an int. */
TEST_MAYBE int test_echo_callback(void *self, const TVMFFIAny *args,
                                  int32_t num_args, TVMFFIAny *result) {
  if (num_args) return TVMFFIAnyViewToOwnedAny(&args[num_args - 1], result);
  *result = tvmffi_int((int64_t)(intptr_t)self);
  return 0;
}

/* Looks up a global function, which the test then owns; NULL when it is not
   there, or cannot be looked up. */
TEST_MAYBE TVMFFIObject *test_global(const char *name) {
  TVMFFIByteArray key = TEXT(name);
  TVMFFIObjectHandle f = NULL;
  if (test_code(TVMFFIFunctionGetGlobal(&key, &f), __FILE__, __LINE__, name))
    return NULL;
  OWN(f);
  return (TVMFFIObject *)f;
}

/* Gives the metadata of a global function as a string that the test owns. */
TEST_MAYBE TVMFFIAny test_metadata_of(const char *name) {
  TVMFFIAny any = tvmffi_none();
  if (!test_code(tvmffi_call(tvmffi_str("ffi.GetGlobalFuncMetadata"),
                             tvmffi_out_any(&any), tvmffi_str(name)),
                 __FILE__, __LINE__, name))
    OWN_ANY(any);
  return any;
}

/* The type schema of a function, as its metadata has it. */
#define SCHEMA(return_, params)                                    \
  "{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\","         \
  "\\\"named_args\\\":{\\\"return\\\":[{\\\"type\\\":\\\"" return_ \
  "\\\"}],\\\"params\\\":[" params "]}}\"}"
#define PARAM(type) "{\\\"type\\\":\\\"" type "\\\"}"

/* ======== Start =========================================================== */

/* The runtime starts itself, and asks for no memory to do so. */
static void test_start(void) {
  TVMFFIByteArray key = TEXT("ffi.Error"), name = TEXT("ffi.String");
  TVMFFIObjectHandle f = NULL;
  const TVMFFITypeInfo *info;
  int32_t index = 0;
  OK(TVMFFITypeKeyToIndex(&key, &index));
  CHECK_INT(index, kTVMFFIError);
  info = TVMFFIGetTypeInfo(kTVMFFIError);
  CHECK(TVMFFI_NO_TYPES ? !info : info && info->type_index == kTVMFFIError);
  OK(TVMFFIFunctionGetGlobal(&name, &f));
  OWN(f);
  CHECK(f != NULL);
}

static void test_version(void) {
  TVMFFIVersion version = {9, 9, 9};
  TVMFFIGetVersion(&version);
  CHECK_INT(version.major, TVM_FFI_VERSION_MAJOR);
  CHECK_INT(version.minor, TVM_FFI_VERSION_MINOR);
  CHECK_INT(version.patch, TVM_FFI_VERSION_PATCH);
  TVMFFIGetVersion(NULL);
}

#if !TEST_NO_VALUES
/* ======== Values ========================================================== */

static void test_views(void) {
  DLTensor tensor;
  DLDevice device = TVMFFIDLDeviceFromIntPair(kDLCUDA, 3);
  DLDataType dtype = {kDLFloat, 32, 4};
  TVMFFIByteArray bytes = {"ab", 2};
  TVMFFIAny any;
  any = tvmffi_int(-5);
  CHECK(any.type_index == kTVMFFIInt && any.v_int64 == -5);
  CHECK(test_is_clean(&any));
  any = tvmffi_none();
  CHECK(any.type_index == kTVMFFINone && any.v_int64 == 0);
  CHECK(test_is_clean(&any));
  any = tvmffi_bool(7);
  CHECK(any.type_index == kTVMFFIBool && any.v_int64 == 1);
#if !TVMFFI_NO_FLOAT
  any = tvmffi_float(2.5);
  CHECK(any.type_index == kTVMFFIFloat && any.v_float64 == 2.5);
  CHECK(test_is_clean(&any));
#endif
  memset(&tensor, 0, sizeof(tensor));
  any = tvmffi_ptr(&tensor);
  CHECK(any.type_index == kTVMFFIOpaquePtr && any.v_ptr == &tensor);
  CHECK(test_is_clean(&any));
  any = tvmffi_ptr(NULL);
  CHECK(any.type_index == kTVMFFINone && test_is_clean(&any));
  any = tvmffi_str("text");
  CHECK(any.type_index == kTVMFFIRawStr && test_is_clean(&any));
  CHECK_TEXT(tvmffi_any_str(&any), "text");
  any = tvmffi_str(NULL);
  CHECK(any.type_index == kTVMFFINone);
  any = tvmffi_bytes(&bytes);
  CHECK(any.type_index == kTVMFFIByteArrayPtr && test_is_clean(&any));
  CHECK_TEXT(tvmffi_any_str(&any), "ab");
  CHECK(tvmffi_bytes(NULL).type_index == kTVMFFINone);
  any = tvmffi_tensor(&tensor);
  CHECK(any.type_index == kTVMFFIDLTensorPtr && any.v_ptr == &tensor);
  CHECK(tvmffi_tensor(NULL).type_index == kTVMFFINone);
  CHECK(tvmffi_obj(NULL).type_index == kTVMFFINone);
  any = tvmffi_device(device);
  CHECK(any.type_index == kTVMFFIDevice);
  CHECK(any.v_device.device_type == kDLCUDA && any.v_device.device_id == 3);
  any = tvmffi_dtype(dtype);
  CHECK(any.type_index == kTVMFFIDataType && any.v_dtype.lanes == 4);
  CHECK(test_is_clean(&any));
  any = tvmffi_int(1);
  CHECK(tvmffi_any_str(&any).data == NULL && tvmffi_any_str(&any).size == 0);
}

/* The text of length n: its bytes are 1, 2, 3, ..., with a NUL inside. */
static void test_fill(char *text, size_t n) {
  size_t i;
  for (i = 0; i < n; ++i) text[i] = (char)(i == 2 ? 0 : 1 + i % 100);
}

static void test_strings(void) {
  static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 63, 1000};
  char text[1000];
  int i, kind;
  test_fill(text, sizeof(text));
  for (i = 0; i < TEST_COUNT(sizes) * 2; ++i) {
    TVMFFIByteArray input = test_bytes(text, sizes[i / 2]), got;
    TVMFFIAny any = test_dirty();
    kind = i % 2;
    OK(kind ? TVMFFIBytesFromByteArray(&input, &any)
            : TVMFFIStringFromByteArray(&input, &any));
    OWN_ANY(any);
    CHECK(test_is_clean(&any));
    got = tvmffi_any_str(&any);
    CHECK_BYTES(got, text, input.size);
    if (input.size <= 7) {
      CHECK_INT(any.type_index, kind ? kTVMFFISmallBytes : kTVMFFISmallStr);
      got = TVMFFISmallBytesGetContentByteArray(&any);
      CHECK(got.data == any.v_bytes && got.size == input.size);
      CHECK(any.v_bytes[input.size] == 0);
    } else {
      CHECK_INT(any.type_index, kind ? kTVMFFIBytes : kTVMFFIStr);
      CHECK_INT(TVMFFIObjectGetTypeIndex(any.v_obj), any.type_index);
      CHECK_INT(test_strong(any.v_obj), 1);
      CHECK_INT(test_weak(any.v_obj), 1);
      CHECK(TVMFFIBytesGetByteArrayPtr(any.v_obj)->data == got.data);
      CHECK(got.data[got.size] == 0 && got.data != text);
    }
  }
}

static void test_bad_strings(void) {
  TVMFFIByteArray null = {NULL, 3}, huge = {"x", TEST_HUGE};
  TVMFFIByteArray impossible = {"x", (size_t)PTRDIFF_MAX + 1};
  TVMFFIByteArray good = {"12345678", 8}, empty = {NULL, 0};
  TVMFFIAny any = tvmffi_int(77);
  FAILS(TVMFFIStringFromByteArray(NULL, &any), "ValueError",
        TEST_STRING(TVMFFIStringFromByteArray) ": input must not be NULL");
  FAILS(TVMFFIBytesFromByteArray(NULL, &any), "ValueError", NULL);
  FAILS(TVMFFIStringFromByteArray(&null, &any), "ValueError",
        TEST_STRING(TVMFFIStringFromByteArray) ": input is NULL instead of 3 "
                                               "bytes");
  FAILS(TVMFFIBytesFromByteArray(&null, &any), "ValueError", NULL);
  FAILS(TVMFFIStringFromByteArray(&impossible, &any), "ValueError",
        "...is an array of ");
  FAILS(TVMFFIStringFromByteArray(&good, NULL), "ValueError",
        TEST_STRING(TVMFFIStringFromByteArray) ": out must not be NULL");
  FAILS(TVMFFIBytesFromByteArray(&good, NULL), "ValueError", NULL);
  FAILS(TVMFFIStringFromByteArray(&huge, &any), "MemoryError", "out of memory");
  FAILS(TVMFFIBytesFromByteArray(&huge, &any), "MemoryError", NULL);
  FAILS(tvmffi_i_new_string(PTRDIFF_MAX, kTVMFFIStr) == NULL, "MemoryError",
        NULL);
  CHECK(any.type_index == kTVMFFIInt && any.v_int64 == 77);
  OK(TVMFFIStringFromByteArray(&empty, &any));
  CHECK(any.type_index == kTVMFFISmallStr && any.small_str_len == 0);
}

static void test_owned_values(void) {
  TVMFFIByteArray bytes = {"ab\0c", 4}, large = {"0123456789", 10};
  TVMFFIAny view, any;
  int32_t index;
  for (index = 0; index <= kTVMFFIUnchanged; ++index) {
    if (index >= kTVMFFIRawStr && index <= kTVMFFIObjectRValueRef) continue;
    view = tvmffi_int(5);
    view.type_index = index;
    any = test_dirty();
    OK(TVMFFIAnyViewToOwnedAny(&view, &any));
    CHECK(any.type_index == index && any.v_int64 == 5 && !any.zero_padding);
  }
  view = tvmffi_str("short");
  any = test_dirty();
  OK(TVMFFIAnyViewToOwnedAny(&view, &any));
  CHECK(any.type_index == kTVMFFISmallStr && test_is_clean(&any));
  CHECK_TEXT(tvmffi_any_str(&any), "short");
  view = tvmffi_str("not so short");
  any = test_dirty();
  OK(TVMFFIAnyViewToOwnedAny(&view, &any));
  OWN_ANY(any);
  CHECK(any.type_index == kTVMFFIStr && test_is_clean(&any));
  CHECK_TEXT(tvmffi_any_str(&any), "not so short");
  view = any;
  OK(TVMFFIAnyViewToOwnedAny(&view, &any));
  OWN_ANY(any);
  CHECK(view.v_obj == any.v_obj && test_strong(any.v_obj) == 2);
  view = tvmffi_bytes(&bytes);
  any = test_dirty();
  OK(TVMFFIAnyViewToOwnedAny(&view, &any));
  CHECK(any.type_index == kTVMFFISmallBytes && test_is_clean(&any));
  CHECK_BYTES(tvmffi_any_str(&any), "ab\0c", 4);
  view = tvmffi_bytes(&large);
  OK(TVMFFIAnyViewToOwnedAny(&view, &any));
  OWN_ANY(any);
  CHECK(any.type_index == kTVMFFIBytes);
  CHECK_TEXT(tvmffi_any_str(&any), "0123456789");
}

static void test_bad_values(void) {
  TVMFFIAny view = tvmffi_int(0), any = tvmffi_int(77);
  int32_t bad[] = {-1, -2147483647, 14, 63}, i;
  FAILS(TVMFFIAnyViewToOwnedAny(NULL, &any), "ValueError", NULL);
  FAILS(TVMFFIAnyViewToOwnedAny(&view, NULL), "ValueError", NULL);
  for (i = 0; i < TEST_COUNT(bad); ++i) {
    view.type_index = bad[i];
    FAILS(TVMFFIAnyViewToOwnedAny(&view, &any), "TypeError",
          "...is not the type index of a value");
  }
  view.v_uint64 = 0;
  view.type_index = kTVMFFIRawStr;
  FAILS(TVMFFIAnyViewToOwnedAny(&view, &any), "ValueError",
        "...the raw string must not be NULL");
  view.type_index = kTVMFFIByteArrayPtr;
  FAILS(TVMFFIAnyViewToOwnedAny(&view, &any), "ValueError",
        "...the byte array must not be NULL");
  view.type_index = kTVMFFIStr;
  FAILS(TVMFFIAnyViewToOwnedAny(&view, &any), "ValueError", NULL);
  view.type_index = kTVMFFIObjectRValueRef;
  FAILS(TVMFFIAnyViewToOwnedAny(&view, &any), "InternalError",
        "RValueRef already moved");
  CHECK_INT(any.v_int64, 77);
}

static void test_rvalue_refs(void) {
  TVMFFIByteArray text = TEXT("a long string");
  TVMFFIAny string, view, any;
  TVMFFIObject *object;
  OK(TVMFFIStringFromByteArray(&text, &string));
  object = string.v_obj;
  view = tvmffi_int(0);
  view.type_index = kTVMFFIObjectRValueRef;
  view.v_ptr = &object;
  any = test_dirty();
  if (!CHECK_INT(TVMFFIAnyViewToOwnedAny(&view, &any), 0)) return;
  OWN_ANY(any);
  CHECK(object == NULL && any.v_obj == string.v_obj && test_is_clean(&any));
  CHECK(any.type_index == kTVMFFIStr && test_strong(any.v_obj) == 1);
  FAILS(TVMFFIAnyViewToOwnedAny(&view, &any), "InternalError",
        "RValueRef already moved");
}

/* Input and output may be the same. */
static void test_aliases(void) {
  TVMFFIAny any = tvmffi_str("a raw string");
  TVMFFIByteArray bytes;
  OK(TVMFFIAnyViewToOwnedAny(&any, &any));
  OWN_ANY(any);
  CHECK_TEXT(tvmffi_any_str(&any), "a raw string");
  any = tvmffi_str("raw");
  OK(TVMFFIAnyViewToOwnedAny(&any, &any));
  CHECK_TEXT(tvmffi_any_str(&any), "raw");
  OK(TVMFFIAnyViewToOwnedAny(&any, &any));
  CHECK_TEXT(tvmffi_any_str(&any), "raw");
  bytes = TVMFFISmallBytesGetContentByteArray(&any);
  OK(TVMFFIBytesFromByteArray(&bytes, &any));
  CHECK(any.type_index == kTVMFFISmallBytes && test_is_clean(&any));
  CHECK_TEXT(tvmffi_any_str(&any), "raw");
  any = tvmffi_int(-9);
  bytes = TVMFFIBigIntGetContentByteArray(&any);
  OK(TVMFFIBigIntFromByteArray(&bytes, &any));
  CHECK(any.type_index == kTVMFFIInt && any.v_int64 == -9);
}

typedef struct {
  int64_t word[4];
  int given, kept; /* words; 1 kept is an int */
} test_bigint_case;

static void test_bigints(void) {
  static const test_bigint_case cases[] = {
      {{0, 0, 0, 0}, 0, 1},          {{7, 0, 0, 0}, 1, 1},
      {{-7, 0, 0, 0}, 1, 1},         {{5, 0, 0, 0}, 2, 1},
      {{5, 0, 0, 0}, 4, 1},          {{-5, -1, -1, 0}, 3, 1},
      {{0, 0, 0, 0}, 3, 1},          {{-1, -1, -1, -1}, 4, 1},
      {{INT64_MIN, -1, 0, 0}, 2, 1}, {{INT64_MAX, 0, 0, 0}, 2, 1},
      {{INT64_MIN, 0, 0, 0}, 2, 2},  {{INT64_MAX, -1, 0, 0}, 2, 2},
      {{-1, 0, 0, 0}, 4, 2},         {{1, 2, 0, 0}, 2, 2},
      {{1, 2, 3, 0}, 3, 3},          {{1, INT64_MIN, 0, 0}, 3, 3},
      {{1, 2, 3, -4}, 4, 4},         {{0, 0, INT64_MIN, -1}, 4, 3}};
  int i, k;
  for (i = 0; i < TEST_COUNT(cases); ++i) {
    const test_bigint_case *c = &cases[i];
    TVMFFIByteArray input =
        test_bytes((const char *)(const void *)c->word, (size_t)c->given * 8);
    TVMFFIByteArray got;
    TVMFFIAny any = test_dirty();
    OK(TVMFFIBigIntFromByteArray(&input, &any));
    OWN_ANY(any);
    CHECK(test_is_clean(&any));
    CHECK_INT(any.type_index, c->kept == 1 ? kTVMFFIInt : kTVMFFIBigInt);
    got = TVMFFIBigIntGetContentByteArray(&any);
    CHECK_INT(got.size, 8 * c->kept);
    for (k = 0; k < c->kept; ++k) {
      int64_t word;
      memcpy(&word, got.data + 8 * k, 8);
      CHECK_INT(word, c->word[k]);
    }
  }
}

static void test_bad_bigints(void) {
  TVMFFIByteArray odd = {"123456789", 9}, good = {"12345678", 8};
  TVMFFIAny any = tvmffi_bool(1);
  FAILS(TVMFFIBigIntFromByteArray(&odd, &any), "ValueError",
        "BigInt content must contain whole 64-bit words");
  FAILS(TVMFFIBigIntFromByteArray(NULL, &any), "ValueError", NULL);
  FAILS(TVMFFIBigIntFromByteArray(&good, NULL), "ValueError", NULL);
  FAILS(TVMFFIBigIntGetContentByteArray(NULL).data == NULL, "TypeError", NULL);
  FAILS(TVMFFIBigIntGetContentByteArray(&any).data == NULL, "TypeError",
        TEST_STRING(TVMFFIBigIntGetContentByteArray) ": value is not an "
                                                     "integer");
  any = tvmffi_int(0);
  any.type_index = kTVMFFIBigInt;
  FAILS(TVMFFIBigIntGetContentByteArray(&any).size == 0, "TypeError", NULL);
}

static void test_any_release(void) {
  TVMFFIByteArray text = TEXT("a long string");
  TVMFFIAny any;
  OK(TVMFFIStringFromByteArray(&text, &any));
  tvmffi_any_release(&any);
  CHECK(any.type_index == kTVMFFINone && test_is_clean(&any));
  tvmffi_any_release(&any);
  any = tvmffi_str("abc");
  tvmffi_any_release(&any);
  CHECK(any.type_index == kTVMFFINone && test_is_clean(&any));
  text = tvmffi_view(NULL);
  CHECK(text.data == NULL && text.size == 0);
}
#endif

#if !TEST_NO_OBJECTS
/* ======== Objects ========================================================= */

/* An object of this file: it says which flags its deleter gets. */
typedef struct {
  TVMFFIObject base;
  TVMFFIObjectHandle held;
} test_object;

static void test_object_deleter(void *self, int flags) {
  (void)self;
  test_say((char)('0' + flags));
}

static void test_object_init(test_object *o, void (*deleter)(void *, int)) {
  memset((void *)o, 0, sizeof(*o));
  o->base.combined_ref_count = TVMFFI_I_BOTH_ONE;
  o->base.type_index = kTVMFFIObject;
  o->base.deleter = deleter;
}

static void test_counts(void) {
  test_object o;
  test_object_init(&o, test_object_deleter);
  tvmffi_retain(&o);
  CHECK(test_strong(&o) == 2 && test_weak(&o) == 1);
  tvmffi_release(&o);
  CHECK_LOG("");
  tvmffi_release(&o);
  CHECK_LOG("3");
  test_object_init(&o, test_object_deleter);
  tvmffi_weak_retain(&o);
  CHECK(test_strong(&o) == 1 && test_weak(&o) == 2);
  CHECK(tvmffi_weak_lock(&o));
  CHECK(test_strong(&o) == 2);
  tvmffi_release(&o);
  tvmffi_release(&o);
  CHECK_LOG("1");
  CHECK(test_strong(&o) == 0 && test_weak(&o) == 1);
  CHECK(!tvmffi_weak_lock(&o));
  tvmffi_weak_retain(&o);
  tvmffi_weak_release(&o);
  CHECK_LOG("");
  tvmffi_weak_release(&o);
  CHECK_LOG("2");
  test_object_init(&o, test_object_deleter);
  tvmffi_weak_retain(&o);
  tvmffi_weak_release(&o);
  OK(TVMFFIObjectIncRef(&o));
  OK(TVMFFIObjectDecRef(&o));
  CHECK_LOG("");
  OK(TVMFFIObjectDecRef(&o));
  CHECK_LOG("3");
  OK(TVMFFIObjectDecRef(NULL));
  FAILS(TVMFFIObjectIncRef(NULL), "ValueError",
        TEST_STRING(TVMFFIObjectIncRef) ": obj must not be NULL");
}

/* Objects without a deleter, static ones say, may be released. */
static void test_no_deleter(void) {
  test_object o;
  test_object_init(&o, NULL);
  tvmffi_release(&o);
  test_object_init(&o, NULL);
  tvmffi_weak_retain(&o);
  tvmffi_release(&o);
  CHECK(test_strong(&o) == 0 && test_weak(&o) == 1);
  tvmffi_weak_release(&o);
  CHECK_INT(test_weak(&o), 0);
  tvmffi_release(NULL);
}

static void test_set_counts(test_object *o, uint32_t strong, uint32_t weak) {
  o->base.combined_ref_count = (uint64_t)weak << 32 | strong;
}

/* From 2^31 on a count is pinned, and the other half stays as it is. */
static void test_pinned_counts(void) {
  const uint32_t pinned = 0xC0000000u;
  test_object o;
  int i;
  test_object_init(&o, test_object_deleter);
  test_set_counts(&o, 0x7FFFFFFEu, 5);
  tvmffi_retain(&o);
  tvmffi_retain(&o);
  CHECK(test_strong(&o) == 0x80000000u && test_weak(&o) == 5);
  tvmffi_retain(&o);
  CHECK(test_strong(&o) == pinned && test_weak(&o) == 5);
  for (i = 0; i < 10; ++i) tvmffi_release(&o);
  CHECK(test_strong(&o) == pinned && test_weak(&o) == 5);
  for (i = 0; i < 10; ++i) tvmffi_retain(&o);
  CHECK(test_strong(&o) == pinned && test_weak(&o) == 5);
  test_set_counts(&o, 0xFFFFFFF0u, 5);
  tvmffi_retain(&o);
  CHECK(test_strong(&o) == pinned && test_weak(&o) == 5);
  test_set_counts(&o, 0x80000000u, 5);
  tvmffi_release(&o);
  CHECK(test_strong(&o) == pinned && test_weak(&o) == 5);
  CHECK(tvmffi_weak_lock(&o));
  CHECK(test_strong(&o) == pinned && test_weak(&o) == 5);
  test_set_counts(&o, 3, 0x7FFFFFFFu);
  tvmffi_weak_retain(&o);
  tvmffi_weak_retain(&o);
  CHECK(test_strong(&o) == 3 && test_weak(&o) == pinned);
  tvmffi_weak_release(&o);
  CHECK(test_strong(&o) == 3 && test_weak(&o) == pinned);
  test_set_counts(&o, 1, 0xFFFFFFFEu);
  tvmffi_weak_retain(&o);
  CHECK(test_strong(&o) == 1 && test_weak(&o) == pinned);
  tvmffi_release(&o);
  CHECK_LOG("1");
  CHECK(test_strong(&o) == 0 && test_weak(&o) == pinned);
  CHECK(!tvmffi_weak_lock(&o));
}

static void test_opaque(void) {
  static char letter[] = "x";
  TVMFFIObjectHandle o = NULL;
  OK(TVMFFIObjectCreateOpaque(letter, kTVMFFIOpaquePyObject, test_say_deleter,
                              &o));
  CHECK_INT(TVMFFIObjectGetTypeIndex(o), kTVMFFIOpaquePyObject);
  CHECK(TVMFFIOpaqueObjectGetCellPtr(o)->handle == letter);
  CHECK(((TVMFFIObject *)o)->__padding == 0);
  tvmffi_retain(o);
  tvmffi_release(o);
  CHECK_LOG("");
  tvmffi_release(o);
  CHECK_LOG("x");
  OK(TVMFFIObjectCreateOpaque(letter, kTVMFFIOpaquePyObject, test_say_deleter,
                              &o));
  tvmffi_weak_retain(o);
  tvmffi_release(o);
  CHECK_LOG("x");
  CHECK(!tvmffi_weak_lock(o));
  tvmffi_weak_release(o);
  CHECK_LOG("");
  OK(TVMFFIObjectCreateOpaque(NULL, kTVMFFIOpaquePyObject, NULL, &o));
  tvmffi_release(o);
  FAILS(TVMFFIObjectCreateOpaque(letter, kTVMFFIObject, NULL, &o),
        "RuntimeError", "Only kTVMFFIOpaquePyObject is supported for now");
  FAILS(TVMFFIObjectCreateOpaque(letter, kTVMFFIOpaquePyObject, NULL, NULL),
        "ValueError", NULL);
  CHECK_LOG("");
}

/* Destructions nest only so deep; what dies further down waits. */
static int test_depth, test_max_depth;

static void test_nesting_deleter(void *handle) {
  ++test_depth;
  if (test_depth > test_max_depth) test_max_depth = test_depth;
  test_say('(');
  tvmffi_release(handle);
  test_say(')');
  --test_depth;
}

static void test_nesting(void) {
  TVMFFIObjectHandle o = NULL, last = NULL;
  int i;
  test_depth = test_max_depth = 0;
  for (i = 0; i < 3 * TVMFFI_I_NESTED; ++i) {
    if (test_code(TVMFFIObjectCreateOpaque(last, kTVMFFIOpaquePyObject,
                                           test_nesting_deleter, &o),
                  __FILE__, __LINE__, "TVMFFIObjectCreateOpaque")) {
      tvmffi_release(last);
      test_log_size = 0;
      return;
    }
    last = o;
  }
  tvmffi_release(last);
  CHECK_INT(test_max_depth, TVMFFI_I_NESTED);
  test_log_size = 0;
}

/* A weak reference to something in the middle does not stop the others. */
static void test_nesting_weak(void) {
  TVMFFIObjectHandle inner = NULL, outer = NULL;
  test_depth = test_max_depth = 0;
  OK(TVMFFIObjectCreateOpaque(NULL, kTVMFFIOpaquePyObject, test_nesting_deleter,
                              &inner));
  OWN(inner);
  OK(TVMFFIObjectCreateOpaque(inner, kTVMFFIOpaquePyObject,
                              test_nesting_deleter, &outer));
  tvmffi_retain(inner); /* one is the test's, one the outer's */
  tvmffi_weak_retain(inner);
  test_drop(inner);
  tvmffi_release(outer);
  CHECK(!tvmffi_weak_lock(inner));
  tvmffi_weak_release(inner);
  CHECK_INT(test_max_depth, 2);
  CHECK_LOG("(())");
}

/* Makes an object of each type that holds others; the new one takes `held`. */
static TVMFFIObjectHandle test_holder(int kind, TVMFFIObjectHandle held) {
  TVMFFIByteArray text = TEXT("E"), empty = {NULL, 0};
  TVMFFIObjectHandle o = NULL;
  int code;
  if (kind == 0) {
    code = TVMFFIErrorCreateWithCauseAndExtraContext(&text, &empty, &empty,
                                                     NULL, held, &o);
    tvmffi_release(held);
    held = NULL;
  } else if (kind == 1) {
    code = TVMFFIFunctionCreate(held, test_echo_callback, tvmffi_release, &o);
  } else {
    code = TVMFFIObjectCreateOpaque(held, kTVMFFIOpaquePyObject, tvmffi_release,
                                    &o);
  }
  if (test_code(code, __FILE__, __LINE__, "a holder ")) {
    tvmffi_release(held);
    return NULL;
  }
  return o;
}

/* All of a long chain have weak references, which go before or after it.
   Destroying needs no memory. */
static void test_weak_chain(int refused) {
  int i, n = test_scale(TEST_CHAIN, 6);
  TVMFFIObjectHandle last = NULL;
  TVMFFIObjectHandle *weak =
      (TVMFFIObjectHandle *)TEST_MALLOC((size_t)n * sizeof(last));
  if (!CHECK(weak != NULL)) return;
  for (i = 0; i < n; ++i) {
    last = test_holder(i % 3, last);
    if (!last) break;
    tvmffi_weak_retain(last);
    weak[i] = last;
  }
  n = i;
  for (i = 0; last && i < n; i += 7) tvmffi_weak_release(weak[i]);
  if (refused) {
    test_number = 0;
    test_refuse_all = 1;
    test_refuse_at = 1;
  }
  tvmffi_release(last);
  if (refused) {
    test_refuse_at = 0;
    CHECK_INT(test_refused, 0);
  }
  for (i = 0; i < n; ++i) {
    if (last && i % 7 == 0) continue;
    CHECK(!tvmffi_weak_lock(weak[i]));
    CHECK(((TVMFFIObject *)weak[i])->__padding == 0);
    tvmffi_weak_release(weak[i]);
  }
  TEST_FREE(weak);
}

static void test_long_weak_chain(void) { test_weak_chain(0); }

static void test_weak_chain_refused(void) {
  if (!test_oom) test_weak_chain(1);
}

/* A client may put a deleter of its own before the runtime's. */
static void (*test_replaced_deleter)(void *, int);
static void test_own_deleter(void *self, int flags) {
  test_say((char)('0' + flags));
  test_replaced_deleter(self, flags);
}

static void test_replaced_deleters(void) {
  TVMFFIObjectHandle last = NULL, weak = NULL;
  TVMFFIObject *o;
  int i;
  for (i = 0; i < 3 * TVMFFI_I_NESTED; ++i) {
    last = test_holder(2, last);
    if (!last) break;
    if (i != 5 && i != 20) continue;
    o = (TVMFFIObject *)last;
    test_replaced_deleter = o->deleter;
    o->deleter = test_own_deleter;
    if (i != 20) continue;
    weak = last;
    tvmffi_weak_retain(weak);
  }
  tvmffi_release(last);
  if (last) CHECK_LOG("13");
  test_log_size = 0;
  if (!weak) return;
  CHECK(!tvmffi_weak_lock(weak));
  tvmffi_weak_release(weak);
  CHECK_LOG("2");
}

#if defined(__cplusplus) && defined(__cpp_exceptions)
/* Deleters that end with an exception: the innermost one of a chain throws, and
   the memory of those that it passes is not freed. */
enum { TEST_THROWN = 48 };
static TVMFFIObjectHandle test_thrown[TEST_THROWN];
static char test_has_returned[TEST_THROWN];

static void test_throwing_deleter(void *handle) {
  const size_t i = (size_t)((char *)handle - test_has_returned);
  if (!i) throw 7;
  tvmffi_release(test_thrown[i - 1]);
  test_has_returned[i] = 1;
}

static void test_throw(int n) {
  int i, caught = 0;
  for (i = 0; i < n; ++i) {
    test_has_returned[i] = 0;
    if (TVMFFIObjectCreateOpaque(&test_has_returned[i], kTVMFFIOpaquePyObject,
                                 test_throwing_deleter, &test_thrown[i])) {
      while (--i > 0) tvmffi_i_free(test_thrown[i]);
      FAILS(-1, "MemoryError", NULL);
      return;
    }
  }
  try {
    tvmffi_release(test_thrown[n - 1]);
  } catch (int) {
    caught = 1;
  }
  CHECK(caught);
  for (i = 0; i < n; ++i)
    if (!test_has_returned[i]) tvmffi_i_free(test_thrown[i]);
}

/* An object ends at once, and a chain at its depth, further down the stack. */
static void test_end_below(int height) {
  volatile char room[64];
  TVMFFIObjectHandle o = NULL;
  room[0] = room[1] = 0;
  if (height > 0) {
    test_end_below(height - 1);
    ++room[height % 2]; /* no tail call */
    return;
  }
  OK(TVMFFIObjectCreateOpaque((void *)(uintptr_t) "x", kTVMFFIOpaquePyObject,
                              test_say_deleter, &o));
  tvmffi_release(o);
  CHECK_LOG("x");
  test_long_weak_chain();
}

static void test_thrown_deleters(void) {
  static const int depths[] = {1, 2, 31, 32, 33, TEST_THROWN};
  static const int heights[] = {0, 1, 200};
  int i, k, n;
  if (test_oom) return;
  for (i = 0; i < TEST_COUNT(depths); ++i) {
    for (k = 0; k < TEST_COUNT(heights); ++k) {
      for (n = 0; n < 40; ++n) test_throw(depths[i]);
      test_end_below(heights[k]);
    }
  }
  tvmffi_i_self()->destroying.depth = 0; /* of frames that are gone */
}
#endif

static void test_long_chain(void) {
  TVMFFIByteArray kind = TEXT("E"), empty = {NULL, 0};
  TVMFFIObjectHandle last = NULL, next = NULL;
  int i, n = test_scale(TEST_CHAIN, 5);
  for (i = 0; i < n; ++i) {
    if (test_code(TVMFFIErrorCreateWithCauseAndExtraContext(
                      &kind, &empty, &empty, last, NULL, &next),
                  __FILE__, __LINE__, "TVMFFIErrorCreateWithCause")) {
      tvmffi_release(last);
      return;
    }
    tvmffi_release(last);
    last = next;
  }
  CHECK_INT(test_strong(last), 1);
  tvmffi_release(last);
}

/* An object of a custom allocator, as clients make them. */
static void test_allocated_deleter(void *self, int flags) {
  test_say((char)('0' + flags));
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak)
    ((TVMFFIObjectAllocHeader *)self - 1)->delete_space(self);
}

static void test_default_allocator(void) {
  static const size_t alignments[] = {0, 1, 8, 16, 32, 64, 128, 4096};
  static const size_t sizes[] = {0, 1, 24, 40, 1000};
  TVMFFICustomAllocator *a = TVMFFIGetCustomAllocator();
  TVMFFIObject *o;
  int i, k;
  for (i = 0; i < TEST_COUNT(alignments); ++i) {
    for (k = 0; k < TEST_COUNT(sizes); ++k) {
      size_t alignment = alignments[i] < 16 ? 16 : alignments[i];
      char *p = (char *)a->allocate(sizes[k], alignments[i], kTVMFFIObject,
                                    a->context);
      OK(p ? 0 : -1);
      CHECK_INT((uintptr_t)p % alignment, 0);
      memset(p, 1, sizes[k]);
      ((TVMFFIObjectAllocHeader *)(void *)p - 1)->delete_space(p);
    }
  }
  o = (TVMFFIObject *)a->allocate(sizeof(*o), 8, kTVMFFIObject, a->context);
  OK(o ? 0 : -1);
  memset((void *)o, 0, sizeof(*o));
  o->combined_ref_count = TVMFFI_I_BOTH_ONE;
  o->type_index = kTVMFFIObject;
  o->deleter = test_allocated_deleter;
  tvmffi_weak_retain(o);
  tvmffi_release(o);
  CHECK_LOG("1");
  tvmffi_weak_release(o);
  CHECK_LOG("2");
  tvmffi_i_default_delete(NULL);
  FAILS(a->allocate(8, 24, 0, NULL) == NULL, "ValueError",
        "cannot allocate 8 bytes aligned to 24");
  FAILS(a->allocate(8, (size_t)1 << (8 * sizeof(size_t) - 1), 0, NULL) == NULL,
        "ValueError", NULL);
  FAILS(a->allocate(PTRDIFF_MAX, 8, 0, NULL) == NULL, "ValueError", NULL);
  FAILS(a->allocate(PTRDIFF_MAX / 4, 8, 0, NULL) == NULL, "MemoryError", NULL);
}

static void *test_allocate(size_t size, size_t alignment, int32_t type_index,
                           void *context) {
  test_say(*(char *)context);
  return tvmffi_i_default_allocate(size, alignment, type_index, NULL);
}

static void test_custom_allocator(void) {
  static char letter[] = "a";
  static TVMFFICustomAllocator mine = {test_allocate, letter};
  static TVMFFICustomAllocator broken = {NULL, NULL};
  TVMFFICustomAllocator *first = TVMFFIGetCustomAllocator(), *a;
  TVMFFIByteArray text = TEXT("a long string");
  TVMFFIAny any;
  void *p;
  CHECK(first != NULL);
  OK(TVMFFISetCustomAllocator(&mine));
  a = TVMFFIGetCustomAllocator();
  CHECK(a == &mine);
  p = a->allocate(64, 64, kTVMFFIObject, a->context);
  if (p) ((TVMFFIObjectAllocHeader *)p - 1)->delete_space(p);
  CHECK_LOG("a");
  /* The runtime's own objects do not come from it. */
  if (!TVMFFIStringFromByteArray(&text, &any)) tvmffi_any_release(&any);
  CHECK_LOG("");
  CHECK_INT(TVMFFISetCustomAllocator(NULL), 0);
  CHECK(TVMFFIGetCustomAllocator() == first);
  tvmffi_error_clear();
  FAILS(TVMFFISetCustomAllocator(&broken), "ValueError",
        TEST_STRING(TVMFFISetCustomAllocator) ": allocator->allocate must not "
                                              "be NULL");
  CHECK(TVMFFIGetCustomAllocator() == first);
}

#if TVMFFI_I_POOL
enum { TEST_KEPT_KINDS = 13 };

/* Makes an object (owned by the caller) of one of the kinds whose memory is
   kept, or NULL. */
static TVMFFIObjectHandle test_make_kept(int kind) {
  static int64_t numbers[4] = {4, 3, 2, 1};
  static DLManagedTensor from;
  TVMFFIByteArray text = TEXT("a text that is somewhat longer than short ones");
  TVMFFIAny any = tvmffi_none();
  TVMFFIObjectHandle made = NULL;
  int code = 0;
  memset((void *)&from, 0, sizeof(from));
  from.dl_tensor.ndim = 3;
  from.dl_tensor.dtype.bits = 32;
  from.dl_tensor.dtype.lanes = 1;
  from.dl_tensor.shape = numbers;
  switch (kind) {
    case 0:
      code = TVMFFIFunctionCreate(NULL, test_echo_callback, NULL, &made);
      break;
    case 1:
      code = TVMFFIFunctionCreate(numbers, test_echo_callback, NULL, &made);
      break;
    case 2:
      code = TVMFFIObjectCreateOpaque(NULL, kTVMFFIOpaquePyObject, NULL, &made);
      break;
    case 3: code = TVMFFIErrorCreate(&text, &text, &text, &made); break;
    case 4: code = TVMFFITensorFromDLPack(&from, 0, 0, &made); break;
    case 5:
      from.dl_tensor.strides = numbers;
      code = TVMFFITensorFromDLPack(&from, 0, 0, &made);
      break;
    case 6:
      text.size = 40;
      code = TVMFFIBigIntFromByteArray(&text, &any);
      made = any.v_obj;
      break;
    case 7: {
      int64_t *to;
      made = tvmffi_i_new_shape(3, &to);
      break;
    }
#if !TVMFFI_NO_CONTAINERS
    case 8: {
      TVMFFIAny *items;
      made = tvmffi_i_new_array(8, &items);
      break;
    }
    case 9: made = tvmffi_i_new_list(0); break;
    case 10: made = tvmffi_i_new_map(kTVMFFIMap, 3); break;
    case 11: made = tvmffi_i_new_map(kTVMFFIDict, 6); break;
#endif
    default:
      code = TVMFFIStringFromByteArray(&text, &any);
      made = any.v_obj;
      break;
  }
  CHECK_INT(code, 0);
  return made;
}

/* The memory of a dead object becomes the next one's, of each kind. */
static void test_pool_reuse(void) {
  tvmffi_i_thread *t = tvmffi_i_self();
  int kind, i;
  if (test_oom) return;
  test_set_pool(1);
  tvmffi_release(test_make_kept(0));
  CHECK_INT(t->pool_room, TVMFFI_I_POOL_SLICE);
  for (kind = 0; kind < TEST_KEPT_KINDS; ++kind) {
    TVMFFIObjectHandle o = test_make_kept(kind), again;
    size_t made, live;
    int32_t room;
    tvmffi_release(o);
    made = test_get(&test_made);
    live = test_get(&test_live);
    room = t->pool_room;
    CHECK(room < TVMFFI_I_POOL_SLICE);
    for (i = 0; i < 3; ++i) {
      again = test_make_kept(kind);
      CHECK(again == o);
      CHECK(t->pool_room > room);
      tvmffi_release(again);
      CHECK_INT(t->pool_room, room);
    }
    CHECK_INT(test_get(&test_made), made);
    CHECK_INT(test_get(&test_live), live);
    CHECK(tvmffi_i_pool_flush(t) == 1);
    CHECK(tvmffi_i_pool_flush(t) == 0);
    CHECK_INT(t->pool_room, TVMFFI_I_POOL_SLICE);
  }
}

/* The list that a block is in, or -1. */
static int test_pool_list(const void *block) {
  tvmffi_i_thread *t = tvmffi_i_self();
  const void *b;
  int i;
  for (i = 0; i < TVMFFI_I_POOL_CLASSES; ++i)
    for (b = t->pool[i]; b; b = *(void *const *)b)
      if (b == block) return i;
  return -1;
}

/* A client that writes into the public cell of an object does not make its
   block larger. */
static void test_pool_cells(void) {
#if !TVMFFI_NO_CONTAINERS
  static TVMFFIAny none[40];
#endif
  static int64_t numbers[40];
  static char text[480];
  int kind, class_of_it, list, way;
  if (test_oom) return;
  test_set_pool(1);
  tvmffi_release(test_make_kept(0));
  for (way = 0; way < 2; ++way) {
    for (kind = 0; kind < TEST_KEPT_KINDS; ++kind) {
      TVMFFIObjectHandle o = test_make_kept(kind);
      tvmffi_release(o);
      class_of_it = test_pool_list(o);
      CHECK(class_of_it > 0);
      CHECK(test_make_kept(kind) == o);
      switch (TVMFFIObjectGetTypeIndex(o)) {
        case kTVMFFIError: {
          TVMFFIErrorCell *c = TVMFFIErrorGetCellPtr(o);
          TVMFFIByteArray *bytes = way ? &c->kind : &c->message;
          bytes->data = text;
          bytes->size = sizeof(text) / 2;
          break;
        }
        case kTVMFFITensor: {
          DLTensor *tensor = TVMFFITensorGetDLTensorPtr(o);
          tensor->ndim = 40;
          tensor->shape = numbers;
          if (way) tensor->strides = numbers;
          break;
        }
        case kTVMFFIShape: {
          TVMFFIShapeCell *c = TVMFFIShapeGetCellPtr(o);
          c->data = numbers;
          c->size = TEST_COUNT(numbers);
          break;
        }
        case kTVMFFIStr: {
          TVMFFIByteArray *bytes = TVMFFIBytesGetByteArrayPtr(o);
          bytes->data = text;
          bytes->size = sizeof(text) / 2;
          break;
        }
#if !TVMFFI_NO_CONTAINERS
        case kTVMFFIArray:
        case kTVMFFIList: {
          tvmffi_i_seq *q = (tvmffi_i_seq *)o;
          if (q->cell.data_deleter) q->cell.data_deleter(q->cell.data);
          q->cell.data = none;
          q->cell.data_deleter = NULL;
          q->cell.size = q->cell.capacity = 20;
          break;
        }
#endif
        default: break;
      }
      tvmffi_release(o);
      list = test_pool_list(o);
      CHECK(list == -1 || list == class_of_it);
      CHECK(tvmffi_i_pool_flush(tvmffi_i_self()) >= 0);
    }
  }
}

/* Each size has a class whose blocks are less than 16 bytes larger. */
static void test_pool_classes(void) {
  size_t size, most = TVMFFI_I_POOL_CLASSES * 16 - sizeof(void *);
  for (size = sizeof(void *) + 1; size <= most; ++size) {
    size_t i = tvmffi_i_pool_class(size), end = i * 16 + 16 - sizeof(void *);
    CHECK(i < TVMFFI_I_POOL_CLASSES && size <= end && end < size + 16);
  }
  CHECK(tvmffi_i_pool_class(most + 1) == TVMFFI_I_POOL_CLASSES);
}

/* A thread keeps so much, and frees the rest. */
static void test_pool_bound(void) {
  tvmffi_i_thread *t = tvmffi_i_self();
  TVMFFIObjectHandle f[8];
  size_t live;
  int i, unit = (int)tvmffi_i_pool_class(sizeof(tvmffi_i_function_object));
  if (test_oom) return;
  test_set_pool(1);
  tvmffi_release(test_make_kept(0));
  for (i = 0; i < TEST_COUNT(f); ++i) f[i] = test_make_kept(0);
  live = test_get(&test_live);
  tvmffi_i_pool_left = 0;
  t->pool_room = 3 * unit;
  for (i = 0; i < TEST_COUNT(f); ++i) tvmffi_release(f[i]);
  CHECK_INT(test_get(&test_live), live - (TEST_COUNT(f) - 3));
  CHECK_INT(t->pool_room, 0);
  tvmffi_i_pool_left = TVMFFI_I_POOL_PROCESS;
  test_set_pool(0);
  CHECK_INT(test_get(&test_live), live - TEST_COUNT(f));
  tvmffi_release(test_make_kept(0));
  tvmffi_release(test_make_kept(0));
  CHECK_INT(test_get(&test_live), live - TEST_COUNT(f));
}

/* What was kept last takes the place of other classes' blocks, of as many as it
   needs. */
static void test_pool_evicts(void) {
  tvmffi_i_thread *t = tvmffi_i_self();
  TVMFFIObjectHandle f[6], text;
  size_t live, small = tvmffi_i_pool_class(sizeof(tvmffi_i_function_object));
  size_t large, i, freed;
  if (test_oom) return;
  test_set_pool(1);
  tvmffi_release(test_make_kept(0));
  text = test_make_kept(TEST_KEPT_KINDS - 1);
  for (i = 0; i < 6; ++i) f[i] = test_make_kept(0);
  live = test_get(&test_live);
  tvmffi_i_pool_left = 0;
  t->pool_room = (int32_t)(6 * small + 1);
  for (i = 0; i < 6; ++i) tvmffi_release(f[i]);
  CHECK_INT(test_get(&test_live), live);
  CHECK_INT(t->pool_room, 1);
  tvmffi_release(text);
  for (large = 0; large < TVMFFI_I_POOL_CLASSES; ++large)
    if (large != small && t->pool[large]) break;
  CHECK(large > small && large <= 6 * small);
  CHECK(t->pool[large] == text);
  freed = (large - 1 + small - 1) / small;
  CHECK_INT(test_get(&test_live), live - freed);
  CHECK_INT(t->pool_room, 1 + freed * small - large);
  CHECK(t->pool[small] == f[5 - freed]);
  CHECK(test_make_kept(TEST_KEPT_KINDS - 1) == text);
  tvmffi_release(text);
  tvmffi_i_pool_left = TVMFFI_I_POOL_PROCESS;
}

/* A thread's budget follows what it keeps, within its own and the process's
   limit, and goes back with what it keeps. */
static void test_pool_budget(void) {
  enum { MANY = 40000 };
  static TVMFFIObjectHandle f[MANY];
  tvmffi_i_thread *t = tvmffi_i_self();
  const int32_t slice = TVMFFI_I_POOL_SLICE;
  int32_t unit = (int32_t)tvmffi_i_pool_class(sizeof(tvmffi_i_function_object));
  const int32_t n = 5 * slice / unit;
  uint64_t left;
  size_t live;
  int32_t i, k;
  if (test_oom) return;
  test_set_pool(1);
  left = tvmffi_i_pool_left;
  tvmffi_release(test_make_kept(0));
  CHECK_INT(t->pool_budget, slice);
  live = test_get(&test_live);
  for (i = 0; i < n; ++i) f[i] = test_make_kept(0);
  for (i = 0; i < n; ++i) tvmffi_release(f[i]);
  CHECK_INT(t->pool_budget, 5 * slice);
  CHECK_INT(tvmffi_i_pool_left, left - 4 * (uint64_t)slice);
  CHECK_INT(test_get(&test_live), live + (size_t)n);
  for (k = 0; k < 3; ++k) { /* blocks in use again need no budget */
    for (i = 0; i < n + 16 * k + 8; ++i) f[i] = test_make_kept(0);
    CHECK_INT(t->pool_budget, 2 * slice);
    for (i = 0; i < n + 16 * k + 8; ++i) tvmffi_release(f[i]);
    CHECK(t->pool_budget >= 5 * slice);
  }
  OK(tvmffi_memory_trim());
  CHECK_INT(t->pool_budget, slice);
  CHECK(t->pool_room <= slice && t->pool_room > slice - 100);
  CHECK(test_get(&test_live) < live + 10);
  CHECK_INT(tvmffi_i_pool_left, left);
  tvmffi_i_pool_left = 2 * (uint64_t)slice + 5;
  for (i = 0; i < n; ++i) f[i] = test_make_kept(0);
  for (i = 0; i < n; ++i) tvmffi_release(f[i]);
  CHECK_INT(t->pool_budget, 3 * slice);
  CHECK_INT(tvmffi_i_pool_left, 5);
  tvmffi_i_pool_left = left - 2 * (uint64_t)slice;
  for (i = 0; i < MANY; ++i) f[i] = test_make_kept(0);
  for (i = 0; i < MANY; ++i) tvmffi_release(f[i]);
  CHECK_INT(t->pool_budget, TVMFFI_I_POOL_THREAD);
  ++tvmffi_i_pool_trims; /* as another thread does */
  tvmffi_i_free(tvmffi_i_pool_make(40));
  CHECK_INT(t->pool_budget, slice);
  CHECK_INT(t->pool_room, slice);
  test_set_pool(0);
  CHECK_INT(tvmffi_i_pool_left, left);
  CHECK_INT(t->pool_budget, 0);
}

/* Where memory is refused, what is kept is given back, and asked for again. */
static void test_pool_refused(void) {
  void *block;
  if (test_oom) return;
  test_set_pool(1);
  tvmffi_release(test_make_kept(0));
  tvmffi_release(test_make_kept(0));
  test_number = 0;
  test_refuse_all = 0;
  test_refuse_at = 1;
  block = tvmffi_i_alloc(5000);
  CHECK(block != NULL);
  tvmffi_i_free(block);
  CHECK_INT(tvmffi_i_self()->pool_room, TVMFFI_I_POOL_SLICE);
  test_number = 0;
  CHECK(tvmffi_i_alloc(5000) == NULL);
  test_refuse_at = 0;
  test_refused = 0;
}
#endif
#endif

/* ======== Reflection ====================================================== */

TEST_MAYBE int test_getter(void *field, TVMFFIAny *result) {
  *result = tvmffi_int(*(int32_t *)field);
  return 0;
}

TEST_MAYBE int test_setter(void *field, const TVMFFIAny *value) {
  *(int32_t *)field = (int32_t)value->v_int64;
  return 0;
}

TEST_MAYBE TVMFFIFieldInfo test_field(const char *name, int64_t offset) {
  TVMFFIFieldInfo f;
  TVMFFIFieldSetter setter = test_setter;
  memset((void *)&f, 0, sizeof(f));
  f.name = TEXT(name);
  f.size = 4;
  f.alignment = 4;
  f.offset = offset;
  f.getter = test_getter;
  memcpy(&f.setter, &setter, sizeof(f.setter));
  f.flags = kTVMFFIFieldFlagBitMaskWritable;
  f.field_static_type_index = kTVMFFIInt;
  return f;
}

TEST_MAYBE TVMFFIMethodInfo test_method(const char *name, TVMFFIAny value) {
  TVMFFIMethodInfo m;
  memset((void *)&m, 0, sizeof(m));
  m.name = TEXT(name);
  m.method = value;
  return m;
}

#if !TEST_NO_TYPES
/* ======== Types =========================================================== */

/* Registers a type; gives its index, or -1 with the error still there. */
static int32_t test_type(const char *key, int32_t static_index, int32_t depth,
                         int32_t slots, int overflow, int32_t parent) {
  TVMFFIByteArray text = TEXT(key);
  return TVMFFITypeGetOrAllocIndex(&text, static_index, depth, slots, overflow,
                                   parent);
}

/* Registers a dynamic type that has to be possible. */
#define NEW_TYPE(index, key, depth, slots, overflow, parent)    \
  do {                                                          \
    index = test_type(key, -1, depth, slots, overflow, parent); \
    OK(index < 0 ? -1 : 0);                                     \
  } while (0)

static void test_abi_types(void) {
  int32_t i;
  for (i = 0; i < kTVMFFIStaticObjectEnd; ++i) {
    const TVMFFITypeInfo *info;
    int32_t index = -1;
    if (i > kTVMFFIUnchanged && i < kTVMFFIStaticObjectBegin) continue;
    info = TVMFFIGetTypeInfo(i);
    OK(info ? 0 : -1);
    CHECK_INT(info->type_index, i);
    CHECK_INT(info->type_depth, i > kTVMFFIObject);
    if (info->type_depth)
      CHECK_INT(info->type_ancestors[0]->type_index, kTVMFFIObject);
    OK(TVMFFITypeKeyToIndex(&info->type_key, &index));
    CHECK_INT(index, i);
    CHECK(info->type_key.data[info->type_key.size] == 0);
  }
  CHECK(TVMFFIGetTypeInfo(kTVMFFIInt)->type_key_hash ==
        (sizeof(void *) == 8 ? 0xAED305094B3D4A9Fu : 0xE4AD2750u));
  CHECK(TVMFFIGetTypeInfo(kTVMFFIObject)->type_key_hash ==
        (sizeof(void *) == 8 ? 0x33A211B274FA0106u : 0xCE4D56FDu));
  CHECK_TEXT(TVMFFIGetTypeInfo(kTVMFFIObject)->type_key, "ffi.Object");
  CHECK_TEXT(TVMFFIGetTypeInfo(kTVMFFIBigInt)->type_key, "ffi.BigInt");
  CHECK_TEXT(TVMFFIGetTypeInfo(kTVMFFIByteArrayPtr)->type_key,
             "TVMFFIByteArray*");
  CHECK_INT(TVMFFIGetTypeInfo(kTVMFFIObject)->metadata->total_size,
            sizeof(TVMFFIObject));
  CHECK(TVMFFIGetTypeInfo(kTVMFFIInt)->metadata == NULL);
}

static void test_unknown_types(void) {
  TVMFFIByteArray key = TEXT("unit.Nobody"), null = {NULL, 1};
  TVMFFIByteArray empty = {NULL, 0};
  int32_t index = 5;
  FAILS(TVMFFIGetTypeInfo(63) == NULL, "InternalError",
        "Cannot find type info for type_index=63");
  FAILS(TVMFFIGetTypeInfo(-1) == NULL, "InternalError", NULL);
  FAILS(TVMFFIGetTypeInfo(-2147483647) == NULL, "InternalError", NULL);
  FAILS(TVMFFIGetTypeInfo(2147483647) == NULL, "InternalError", NULL);
  FAILS(TVMFFITypeKeyToIndex(&key, &index), "InternalError",
        "Cannot find type `unit.Nobody`");
  FAILS(TVMFFITypeKeyToIndex(&empty, &index), "InternalError",
        "Cannot find type ``");
  FAILS(TVMFFITypeKeyToIndex(&null, &index), "ValueError", NULL);
  FAILS(TVMFFITypeKeyToIndex(NULL, &index), "ValueError", NULL);
  FAILS(TVMFFITypeKeyToIndex(&key, NULL), "ValueError", NULL);
  CHECK_INT(index, 5);
  CHECK_INT(test_type("unit.Nobody", -1, 1, 0, 1, -2), -2);
  CHECK_INT(test_type("ffi.Error", -1, 9, 0, 1, -2), kTVMFFIError);
}

static void test_static_type(void) {
  const TVMFFITypeInfo *info;
  int32_t index = test_type("unit.Static", 100, 1, 0, 0, kTVMFFIObject);
  OK(index < 0 ? -1 : 0);
  CHECK_INT(index, 100);
  CHECK_INT(test_type("unit.Static", 100, 1, 0, 0, kTVMFFIObject), 100);
  info = TVMFFIGetTypeInfo(100);
  CHECK(info && info->type_depth == 1);
  CHECK_TEXT(info->type_key, "unit.Static");
  index = test_type("unit.Value", 20, 0, 0, 0, -1);
  OK(index < 0 ? -1 : 0);
  info = TVMFFIGetTypeInfo(20);
  CHECK(index == 20 && info && info->type_depth == 0);
  FAILS(test_type("unit.Other", 100, 1, 0, 0, kTVMFFIObject) == -1,
        "InternalError",
        "Conflicting static index 100 between unit.Static and unit.Other");
  FAILS(test_type("unit.Static", 101, 1, 0, 0, kTVMFFIObject) == -1,
        "RuntimeError",
        "Type `unit.Static` is already registered with index 100, depth 1 and "
        "parent `ffi.Object`, but is registered again with index 101, depth 1 "
        "and parent `ffi.Object`");
  FAILS(test_type("unit.Value", -1, 0, 0, 0, kTVMFFIObject) == -1,
        "RuntimeError",
        "Type `unit.Value` is already registered with index 20, depth 0 and "
        "parent `no parent`, but is registered again with index 20, depth 0 "
        "and parent `ffi.Object`");
  FAILS(test_type("unit.Static", 100, 0, 0, 0, -1) == -1, "RuntimeError",
        "...depth 0 and parent `no parent`");
  /* A class whose key is its parent's is the same type. */
  CHECK_INT(test_type("unit.Static", -1, 2, 0, 0, 100), 100);
  FAILS(test_type("unit.Static", 101, 2, 0, 0, 100) == -1, "RuntimeError",
        "...with index 101, depth 2 and parent `unit.Static`");
}

static void test_dynamic_types(void) {
  const TVMFFITypeInfo *info;
  const char *key_a = test_fresh("unit.A"), *key_b = test_fresh("unit.B");
  const char *key_c = test_fresh("unit.C");
  int32_t a, b, c, key_index = 0;
  TVMFFIByteArray key;
  NEW_TYPE(a, key_a, 1, 0, 1, kTVMFFIObject);
  CHECK(a >= kTVMFFIDynObjectBegin);
  NEW_TYPE(b, key_b, 2, 0, 1, a);
  NEW_TYPE(c, key_c, 3, 0, 1, b);
  CHECK(a != b && b != c);
  CHECK_INT(test_type(key_c, -1, 3, 7, 0, b), c);
  info = TVMFFIGetTypeInfo(c);
  if (!CHECK(info != NULL)) return;
  CHECK_TEXT(info->type_key, key_c);
  CHECK_INT(info->type_depth, 3);
  CHECK_INT(info->type_ancestors[0]->type_index, kTVMFFIObject);
  CHECK_INT(info->type_ancestors[1]->type_index, a);
  CHECK_INT(info->type_ancestors[2]->type_index, b);
  CHECK(info->num_fields == 0 && info->num_methods == 0);
  CHECK(info->fields == NULL && info->methods == NULL && !info->metadata);
  key = TEXT(key_b);
  OK(TVMFFITypeKeyToIndex(&key, &key_index));
  CHECK_INT(key_index, b);
  CHECK(tvmffi_is_instance(c, c) && tvmffi_is_instance(c, b));
  CHECK(tvmffi_is_instance(c, a) && tvmffi_is_instance(c, kTVMFFIObject));
  CHECK(!tvmffi_is_instance(b, c) && !tvmffi_is_instance(a, kTVMFFIError));
  CHECK(!tvmffi_is_instance(kTVMFFIObject, a));
  CHECK(!tvmffi_is_instance(kTVMFFIInt, kTVMFFIObject));
  CHECK(!tvmffi_is_instance(c, kTVMFFIInt));
  CHECK(tvmffi_is_instance(kTVMFFIInt, kTVMFFIInt));
  CHECK(tvmffi_is_instance(kTVMFFIStr, kTVMFFIObject));
  CHECK(!tvmffi_is_instance(1 << 30, a));
  tvmffi_error_clear();
  FAILS(test_type(key_b, -1, 1, 0, 1, kTVMFFIObject) == -1, "RuntimeError",
        "...is already registered with index ");
  FAILS(test_type(key_b, a, 2, 0, 1, a) == -1, "RuntimeError", NULL);
}

static void test_slots(void) {
  const char *closed = test_fresh("unit.Closed");
  const char *open = test_fresh("unit.Open");
  char text[200];
  TVMFFIByteArray got;
  int32_t parent, child, grand;
  size_t at;
  NEW_TYPE(parent, closed, 1, 3, 0, kTVMFFIObject);
  NEW_TYPE(child, test_fresh("unit.Child"), 2, 0, 1, parent);
  CHECK_INT(child, parent + 1);
  NEW_TYPE(child, test_fresh("unit.Child"), 2, 1, 1, parent);
  CHECK_INT(child, parent + 2);
  NEW_TYPE(grand, test_fresh("unit.Grand"), 3, 0, 1, child);
  CHECK_INT(grand, parent + 3);
  /* What no longer fits into a closed parent has no place. */
  FAILS(test_type(test_fresh("unit.Grand"), -1, 3, 0, 1, child) == -1,
        "InternalError", "...Reach maximum number of sub-classes for ");
  FAILS(test_type("unit.TooMany", -1, 2, 0, 1, parent) == -1, "InternalError",
        NULL);
  CHECK_INT(test_type("unit.TooMany", -1, 2, 0, 1, -2), -2);
  NEW_TYPE(parent, open, 1, 1, 1, kTVMFFIObject);
  NEW_TYPE(child, test_fresh("unit.Child"), 2, 0, 1, parent);
  CHECK_INT(child, parent + 1);
  NEW_TYPE(child, test_fresh("unit.Child"), 2, 5, 1, parent);
  CHECK(child > parent + 1);
  NEW_TYPE(grand, test_fresh("unit.Grand"), 3, 0, 1, child);
  CHECK_INT(grand, child + 1);
  CHECK(tvmffi_is_instance(grand, parent));
  at = test_put(text, 0, sizeof(text), open, strlen(open));
  got = TVMFFIGetTypeInfo(parent)->type_key;
  CHECK_BYTES(got, text, at);
}

static void test_bad_types(void) {
  TVMFFIByteArray null = {NULL, 3}, with_nul = {"unit\0x", 6};
  int32_t next = tvmffi_i_next_index;
  FAILS(TVMFFITypeGetOrAllocIndex(NULL, -1, 1, 0, 1, 64) == -1, "ValueError",
        NULL);
  FAILS(TVMFFITypeGetOrAllocIndex(&null, -1, 1, 0, 1, 64) == -1, "ValueError",
        NULL);
  FAILS(TVMFFITypeGetOrAllocIndex(&with_nul, -1, 1, 0, 1, 64) == -1,
        "ValueError", "A type key must be a text");
  FAILS(test_type("", -1, 1, 0, 1, kTVMFFIObject) == -1, "ValueError",
        "A type key must be a text");
  FAILS(test_type("unit.Bad", -1, 2, 0, 1, kTVMFFIObject) == -1,
        "InternalError", "Type `unit.Bad` cannot have depth 2 under parent 64");
  FAILS(test_type("unit.Bad", -1, -1, 0, 1, kTVMFFIObject) == -1,
        "InternalError", NULL);
  FAILS(test_type("unit.Bad", 110, 1, 0, 1, -1) == -1, "InternalError", NULL);
  FAILS(test_type("unit.Bad", -1, 0, 0, 1, -1) == -1, "InternalError",
        "Type `unit.Bad` cannot have static index -1 under parent -1");
  FAILS(test_type("unit.Bad", -1, 1, -1, 1, kTVMFFIObject) == -1, "ValueError",
        "Type `unit.Bad` cannot reserve -1 child slots");
  FAILS(test_type("unit.Bad", -1, 1, 1 << 30, 1, kTVMFFIObject) == -1,
        "ValueError", NULL);
  FAILS(test_type("unit.Bad", 128, 1, 0, 1, kTVMFFIObject) == -1,
        "InternalError",
        "Type `unit.Bad` cannot have static index 128 under parent 64");
  FAILS(test_type("unit.Bad", 14, 1, 0, 1, kTVMFFIObject) == -1,
        "InternalError", NULL);
  FAILS(test_type("unit.Bad", -1, 1, 0, 1, 1 << 30) == -1, "InternalError",
        "Cannot find type info for type_index=1073741824");
  FAILS(test_type("unit.Bad", -1, 1, 0, 1, 62) == -1, "InternalError", NULL);
  /* No index is left. */
  tvmffi_i_next_index = 0x7F000000;
  FAILS(test_type("unit.Bad", -1, 1, 0, 1, kTVMFFIObject) == -1, "MemoryError",
        NULL);
  tvmffi_i_next_index = next;
  CHECK_INT(test_type("unit.Bad", -1, 1, 0, 1, -2), -2);
}

/* A thread that comes second finds the type made: the same, or another. */
static void test_raced_types(void) {
  TVMFFIByteArray key = TEXT("ffi.Error");
  tvmffi_i_type_request r = {NULL, -1, 1, 0, 1, NULL};
  r.key = &key;
  OK(TVMFFIGetTypeInfo(kTVMFFIObject) ? 0 : -1);
  r.parent = tvmffi_i_type_at(kTVMFFIObject);
  {
    int32_t index = tvmffi_i_make_type(&r);
    OK(index < 0 ? -1 : 0);
    CHECK_INT(index, kTVMFFIError);
  }
  r.parent = tvmffi_i_type_at(kTVMFFIInt);
  FAILS(tvmffi_i_make_type(&r) == -1, "RuntimeError",
        "...`ffi.Error` is already registered with index 67, depth 1 and "
        "parent `ffi.Object`, but is registered again");
}

static void test_table_growth(void) {
  int32_t index = tvmffi_i_types->capacity;
  if (tvmffi_i_grow_types(index)) {
    CHECK(test_hits() && tvmffi_i_types->capacity == index);
    return;
  }
  CHECK(!test_hits() && tvmffi_i_types->capacity > index);
  CHECK(tvmffi_i_type_at(index) == NULL);
  CHECK(TVMFFIGetTypeInfo(kTVMFFIError) != NULL);
}

static void test_many_types(void) {
  static int32_t index[TEST_MANY_TYPES];
  int i, n = test_scale(TEST_MANY_TYPES, 3);
  static char first[64];
  const char *key = test_fresh("unit.Many.");
  (void)test_put(first, 0, sizeof(first), key, strlen(key));
  for (i = 0; i < n; ++i) {
    char text[80], number[24], *digits;
    size_t at = test_put(text, 0, sizeof(text), first, strlen(first));
    at = test_put(text, at, sizeof(text), ".", 1);
    digits = test_digits(number + sizeof(number), i);
    (void)test_put(text, at, sizeof(text), digits, strlen(digits));
    NEW_TYPE(index[i], text, i % 3 ? 2 : 1, i % 5, 1,
             i % 3 ? index[i - i % 3] : kTVMFFIObject);
  }
  /* The table has grown, and is empty behind them. */
  FAILS(TVMFFIGetTypeInfo(tvmffi_i_types->capacity - 1) == NULL,
        "InternalError", NULL);
  FAILS(TVMFFIGetTypeInfo(tvmffi_i_types->capacity) == NULL, "InternalError",
        NULL);
  for (i = 0; i < n; ++i) {
    const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(index[i]);
    int32_t found = -1;
    if (!CHECK(info != NULL)) return;
    OK(TVMFFITypeKeyToIndex(&info->type_key, &found));
    CHECK_INT(found, index[i]);
    CHECK_INT(info->type_index, index[i]);
    CHECK_INT(info->type_depth, i % 3 ? 2 : 1);
    if (i % 3) CHECK(tvmffi_is_instance(index[i], index[i - i % 3]));
    if (i % 3) CHECK(!tvmffi_is_instance(index[i - i % 3], index[i]));
  }
}

static int test_creator(TVMFFIObjectHandle *result) {
  *result = NULL;
  return 0;
}

static void test_fields(void) {
  static const char *const names[] = {"a", "b", "c", "d", "e",
                                      "f", "g", "h", "i", "j"};
  const TVMFFITypeInfo *info;
  TVMFFIFieldInfo f;
  int32_t index, i;
  NEW_TYPE(index, test_fresh("unit.Fields"), 1, 0, 1, kTVMFFIObject);
  for (i = 0; i < TEST_COUNT(names); ++i) {
    f = test_field(names[i], 24 + 4 * i);
    f.doc = TEXT("what it is");
    if (i == 3) {
      f.metadata = TEXT("{}");
      f.default_value_or_factory = tvmffi_str("a long default");
      f.flags |= kTVMFFIFieldFlagBitMaskHasDefault;
    }
    OK(TVMFFITypeRegisterField(index, &f));
  }
  info = TVMFFIGetTypeInfo(index);
  CHECK_INT(info->num_fields, 10);
  for (i = 0; i < info->num_fields; ++i) {
    const TVMFFIFieldInfo *g = &info->fields[i];
    CHECK_TEXT(g->name, names[i]);
    CHECK(g->name.data != names[i] && g->name.data[1] == 0);
    CHECK_TEXT(g->doc, "what it is");
    CHECK(g->doc.data != f.doc.data);
    CHECK(g->offset == 24 + 4 * i && g->size == 4 && g->alignment == 4);
    CHECK(g->getter == test_getter && g->setter == f.setter);
    CHECK_INT(g->field_static_type_index, kTVMFFIInt);
    if (i == 3) {
      CHECK_TEXT(g->metadata, "{}");
      CHECK_INT(g->default_value_or_factory.type_index, kTVMFFIStr);
      CHECK_TEXT(tvmffi_any_str(&g->default_value_or_factory),
                 "a long default");
    } else {
      CHECK(g->metadata.data == NULL && g->metadata.size == 0);
      CHECK_INT(g->default_value_or_factory.type_index, kTVMFFINone);
    }
  }
  f = test_field("e", 24 + 4 * 4);
  OK(TVMFFITypeRegisterField(index, &f));
  CHECK_INT(info->num_fields, 10);
  f.offset += 4;
  FAILS(TVMFFITypeRegisterField(index, &f), "InternalError",
        "...Duplicate field name \"e\" in type \"unit.Fields");
  f = test_field("e", 24 + 4 * 4);
  f.getter = NULL;
  FAILS(TVMFFITypeRegisterField(index, &f), "InternalError", NULL);
  CHECK_INT(info->num_fields, 10);
}

/* A field whose setter is a function object, and one that hides a parent's. */
static void test_special_fields(void) {
  TVMFFIObjectHandle function = NULL;
  TVMFFIFieldInfo f = test_field("x", 24);
  int32_t parent, child;
  NEW_TYPE(parent, test_fresh("unit.Parent"), 1, 0, 1, kTVMFFIObject);
  NEW_TYPE(child, test_fresh("unit.Child"), 2, 0, 1, parent);
  OK(TVMFFIFunctionCreate(NULL, test_echo_callback, NULL, &function));
  OWN(function);
  f.flags |= kTVMFFIFieldFlagBitSetterIsFunctionObj;
  f.setter = function;
  OK(TVMFFITypeRegisterField(parent, &f));
  CHECK_INT(test_strong(function), 2);
  OK(TVMFFITypeRegisterField(parent, &f));
  CHECK_INT(test_strong(function), 2);
  f.setter = NULL;
  FAILS(TVMFFITypeRegisterField(parent, &f), "ValueError", NULL);
  f.setter = &tvmffi_i_memory_error;
  FAILS(TVMFFITypeRegisterField(parent, &f), "TypeError",
        "...is expected to be ffi.Function but is ffi.Error");
  f = test_field("x", 24);
  if (!test_oom) OK(TVMFFITypeRegisterField(child, &f)); /* with a warning */
}

static void test_bad_fields(void) {
  TVMFFIFieldInfo f = test_field("x", 24);
  TVMFFIByteArray null = {NULL, 3};
  FAILS(TVMFFITypeRegisterField(kTVMFFIError, NULL), "ValueError", NULL);
  FAILS(TVMFFITypeRegisterField(63, &f), "InternalError", NULL);
  f.name = null;
  FAILS(TVMFFITypeRegisterField(kTVMFFIError, &f), "ValueError", NULL);
  f = test_field("x", 24);
  f.doc = null;
  FAILS(TVMFFITypeRegisterField(kTVMFFIError, &f), "ValueError", NULL);
  f = test_field("x", 24);
  f.metadata = null;
  FAILS(TVMFFITypeRegisterField(kTVMFFIError, &f), "ValueError", NULL);
  f = test_field("x", 24);
  f.flags |= kTVMFFIFieldFlagBitMaskHasDefault;
  f.default_value_or_factory.type_index = 63;
  FAILS(TVMFFITypeRegisterField(kTVMFFIError, &f), "TypeError", NULL);
  CHECK_INT(TVMFFIGetTypeInfo(kTVMFFIError)->num_fields, 0);
}

/* Records of a field that lie about it. */
static void test_false_fields(void) {
  static const struct {
    int64_t offset, size, alignment;
    const char *message;
  } rows[] = {{24, -1, 4, "is not within its objects"},
              {24, INT64_MIN, 4, "is not within its objects"},
              {24, INT64_MAX, 4, "is not within its objects"},
              {INT64_MAX, 4, 4, "is not within its objects"},
              {INT64_MIN, 4, 4, "is not within its objects"},
              {24, 4, 3, "has an alignment that is no power of 2"},
              {24, 4, -4, "has an alignment that is no power of 2"},
              {24, 4, INT64_MIN, "has an alignment that is no power of 2"}};
  const char *key = test_fresh("unit.False");
  char message[160];
  TVMFFIFieldInfo f;
  size_t n;
  int32_t index, i;
  NEW_TYPE(index, key, 1, 0, 1, kTVMFFIObject);
  for (i = 0; i < TEST_COUNT(rows); ++i) {
    f = test_field("x", rows[i].offset);
    f.size = rows[i].size;
    f.alignment = rows[i].alignment;
    n = tvmffi_i_append(message, 0, "Field `x` of type `");
    n = tvmffi_i_append(message, n, key);
    n = tvmffi_i_append(message, n, "` ");
    message[tvmffi_i_append(message, n, rows[i].message)] = 0;
    FAILS(TVMFFITypeRegisterField(index, &f), "ValueError", message);
  }
  f = test_field("x", 24);
  f.getter = NULL;
  FAILS(TVMFFITypeRegisterField(index, &f), "ValueError", "...has no getter");
  f = test_field("x", 24);
  f.setter = NULL;
  FAILS(TVMFFITypeRegisterField(index, &f), "ValueError",
        "...is writable and has no setter");
  f = test_field("", 24);
  FAILS(TVMFFITypeRegisterField(index, &f), "ValueError", "...has no name");
  CHECK_INT(TVMFFIGetTypeInfo(index)->num_fields, 0);
  f = test_field("computed", 0);
  f.size = f.alignment = f.flags = 0;
  f.setter = NULL;
  OK(TVMFFITypeRegisterField(index, &f));
}

/* A type's size and its fields come in either order, and fit together. */
static void test_fields_and_size(void) {
  TVMFFIFieldInfo f = test_field("x", 40);
  TVMFFITypeMetadata m;
  int32_t parent, index;
  memset((void *)&m, 0, sizeof(m));
  m.total_size = 40;
  NEW_TYPE(index, test_fresh("unit.Sized"), 1, 0, 1, kTVMFFIObject);
  OK(TVMFFITypeRegisterMetadata(index, &m));
  FAILS(TVMFFITypeRegisterField(index, &f), "ValueError",
        "...is not within its objects");
  f.offset = 38;
  FAILS(TVMFFITypeRegisterField(index, &f), "ValueError", NULL);
  f.offset = -20; /* an object of C++ may begin before its header, if it ends */
  FAILS(TVMFFITypeRegisterField(index, &f), "ValueError", NULL);
  f.offset = -16;
  OK(TVMFFITypeRegisterField(index, &f));
  f = test_field("y", 36);
  OK(TVMFFITypeRegisterField(index, &f));
  f = test_field("computed", 48);
  f.size = 0;
  OK(TVMFFITypeRegisterField(index, &f));
  NEW_TYPE(parent, test_fresh("unit.Parent"), 1, 0, 1, kTVMFFIObject);
  NEW_TYPE(index, test_fresh("unit.Child"), 2, 0, 1, parent);
  f = test_field("x", 40);
  OK(TVMFFITypeRegisterField(parent, &f));
  FAILS(TVMFFITypeRegisterMetadata(index, &m), "ValueError",
        "...is not within its 40 bytes");
  FAILS(TVMFFITypeRegisterMetadata(parent, &m), "ValueError", NULL);
  m.total_size = -1;
  FAILS(TVMFFITypeRegisterMetadata(index, &m), "ValueError",
        "...cannot have size -1");
  m.total_size = 23;
  FAILS(TVMFFITypeRegisterMetadata(index, &m), "ValueError", NULL);
  CHECK(!TVMFFIGetTypeInfo(index)->metadata);
  m.total_size = 44;
  OK(TVMFFITypeRegisterMetadata(index, &m));
  m.total_size = 0;
  OK(TVMFFITypeRegisterMetadata(parent, &m));
}

static void test_methods(void) {
  static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
  const TVMFFITypeInfo *info;
  TVMFFIObjectHandle function = NULL, other = NULL;
  TVMFFIMethodInfo m;
  TVMFFIByteArray null = {NULL, 3};
  int32_t index, i;
  OK(TVMFFIFunctionCreate(NULL, test_echo_callback, NULL, &function));
  OWN(function);
  NEW_TYPE(index, test_fresh("unit.Methods"), 1, 0, 1, kTVMFFIObject);
  for (i = 0; i < TEST_COUNT(names); ++i) {
    m = test_method(names[i], tvmffi_obj(function));
    m.doc = TEXT("what it does");
    m.flags = i;
    OK(TVMFFITypeRegisterMethod(index, &m));
  }
  info = TVMFFIGetTypeInfo(index);
  CHECK_INT(info->num_methods, 6);
  CHECK_INT(test_strong(function), 7);
  for (i = 0; i < info->num_methods; ++i) {
    CHECK_TEXT(info->methods[i].name, names[i]);
    CHECK_TEXT(info->methods[i].doc, "what it does");
    CHECK_INT(info->methods[i].flags, i);
    CHECK(info->methods[i].method.v_obj == function);
  }
  OK(TVMFFITypeRegisterMethod(index, &m));
  CHECK_INT(info->num_methods, 6);
  CHECK_INT(test_strong(function), 7);
  m.metadata = TEXT("another signature");
  OK(TVMFFITypeRegisterMethod(index, &m));
  CHECK_INT(info->num_methods, 7);
  CHECK_TEXT(info->methods[6].metadata, "another signature");
  CHECK_INT(test_strong(function), 8);
  OK(TVMFFITypeRegisterMethod(index, &m));
  CHECK_INT(info->num_methods, 7);
  OK(TVMFFIFunctionCreate(NULL, test_echo_callback, NULL, &other));
  OWN(other);
  m = test_method("f", tvmffi_obj(other));
  FAILS(TVMFFITypeRegisterMethod(index, &m), "InternalError",
        "...Duplicate method name \"f\" in type \"unit.Methods");
  m = test_method("g", tvmffi_int(1));
  FAILS(TVMFFITypeRegisterMethod(index, &m), "TypeError",
        "Cannot convert from type `int` to `ffi.Function`");
  m = test_method("g", tvmffi_obj(&tvmffi_i_memory_error));
  FAILS(TVMFFITypeRegisterMethod(index, &m), "TypeError", NULL);
  m = test_method("g", tvmffi_obj(other));
  FAILS(TVMFFITypeRegisterMethod(63, &m), "InternalError", NULL);
  m.name = null;
  FAILS(TVMFFITypeRegisterMethod(index, &m), "ValueError", NULL);
  m = test_method("g", tvmffi_int(1));
  m.doc = null;
  FAILS(TVMFFITypeRegisterMethod(index, &m), "ValueError", NULL);
  m = test_method("g", tvmffi_int(1));
  m.metadata = null;
  FAILS(TVMFFITypeRegisterMethod(index, &m), "ValueError", NULL);
  FAILS(TVMFFITypeRegisterMethod(index, NULL), "ValueError", NULL);
  CHECK_INT(info->num_methods, 7);
}

static void test_metadata(void) {
  TVMFFITypeMetadata m;
  const TVMFFITypeMetadata *got;
  TVMFFIByteArray null = {NULL, 3};
  int32_t index;
  memset((void *)&m, 0, sizeof(m));
  m.doc = TEXT("a type");
  m.creator = test_creator;
  m.total_size = 40;
  m.structural_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  NEW_TYPE(index, test_fresh("unit.Metadata"), 1, 0, 1, kTVMFFIObject);
  OK(TVMFFITypeRegisterMetadata(index, &m));
  got = TVMFFIGetTypeInfo(index)->metadata;
  if (!CHECK(got != NULL)) return;
  CHECK_TEXT(got->doc, "a type");
  CHECK(got->doc.data != m.doc.data && got->creator == test_creator);
  CHECK_INT(got->total_size, 40);
  CHECK_INT(got->structural_eq_hash_kind, kTVMFFISEqHashKindTreeNode);
  OK(TVMFFITypeRegisterMetadata(index, &m));
  m.total_size = 48;
  FAILS(TVMFFITypeRegisterMetadata(index, &m), "RuntimeError",
        "...Overriding unit.Metadata");
  CHECK_INT(got->total_size, 40);
  FAILS(TVMFFITypeRegisterMetadata(63, &m), "InternalError", NULL);
  FAILS(TVMFFITypeRegisterMetadata(index, NULL), "ValueError", NULL);
  m.doc = null;
  FAILS(TVMFFITypeRegisterMetadata(index, &m), "ValueError", NULL);
}

/* The value of a type in a column, None where it has none. */
static TVMFFIAny test_attr(const TVMFFITypeAttrColumn *c, int32_t index) {
  if (index < c->begin_index || index >= c->begin_index + c->size)
    return tvmffi_none();
  return c->data[index - c->begin_index];
}

static void test_columns(void) {
  const char *text = test_fresh("unit_attr");
  TVMFFIByteArray name = TEXT(text);
  const TVMFFITypeAttrColumn *c;
  TVMFFIAny value = tvmffi_str("a long attribute"), got;
  int32_t index, distant, i;
  CHECK(TVMFFIGetTypeAttrColumn(&name) == NULL);
  OK(TVMFFITypeRegisterAttr(kTVMFFINone, &name, NULL));
  c = TVMFFIGetTypeAttrColumn(&name);
  if (!CHECK(c != NULL)) return;
  CHECK_INT(c->size, 0);
  OK(TVMFFITypeRegisterAttr(kTVMFFINone, &name, NULL));
  OK(TVMFFITypeRegisterAttr(kTVMFFIError, &name, &value));
  CHECK(TVMFFIGetTypeAttrColumn(&name) == c);
  got = test_attr(c, kTVMFFIError);
  CHECK_INT(got.type_index, kTVMFFIStr);
  CHECK_TEXT(tvmffi_any_str(&got), "a long attribute");
  CHECK_INT(test_attr(c, kTVMFFIObject).type_index, kTVMFFINone);
  CHECK_INT(c->begin_index + c->size, kTVMFFIError + 1);
  value = tvmffi_int(68);
  OK(TVMFFITypeRegisterAttr(kTVMFFIFunction, &name, &value));
  CHECK_INT(test_attr(c, kTVMFFIFunction).v_int64, 68);
  value = tvmffi_int(42);
  OK(TVMFFITypeRegisterAttr(kTVMFFIObject, &name, &value));
  OK(TVMFFITypeRegisterAttr(kTVMFFIObject, &name, &value));
  CHECK_INT(test_attr(c, kTVMFFIObject).v_int64, 42);
  value = tvmffi_int(43);
  FAILS(TVMFFITypeRegisterAttr(kTVMFFIObject, &name, &value), "RuntimeError",
        "...is already registered for type index 64. To update the stored "
        "value, register a mutable container (e.g., Dict/List) once");
  CHECK_INT(test_attr(c, kTVMFFIObject).v_int64, 42);
  /* Far away: the column grows, more than once. */
  for (i = 0; i < 3; ++i) {
    NEW_TYPE(distant, test_fresh("unit.Far"), 1, test_scale(700, 10), 1,
             kTVMFFIObject);
    value = tvmffi_int(distant);
    OK(TVMFFITypeRegisterAttr(distant, &name, &value));
    CHECK_INT(test_attr(c, distant).v_int64, distant);
  }
  got = test_attr(c, kTVMFFIError);
  CHECK_TEXT(tvmffi_any_str(&got), "a long attribute");
  CHECK_INT(test_attr(c, kTVMFFIObject).v_int64, 42);
  for (index = 0; index < c->begin_index + c->size; ++index)
    CHECK(test_attr(c, index).zero_padding == 0);
}

/* A column that grows for an index has room for it. */
static void test_column_growth(void) {
  static const int32_t indices[] = {255, 256, 511, 512, 2048};
  tvmffi_i_column c;
  TVMFFIAny value = tvmffi_int(1);
  int i, code;
  for (i = 0; i < TEST_COUNT(indices); ++i) {
    memset((void *)&c, 0, sizeof(c));
    code = tvmffi_i_enter_attr(&c, indices[i], &value);
    CHECK(code == 0 || test_hits());
    CHECK(code != 0 || c.capacity > indices[i]);
    CHECK(code != 0 || test_attr(&c.column, indices[i]).v_int64 == 1);
    tvmffi_i_free((void *)c.column.data);
  }
}

static void test_bad_columns(void) {
  TVMFFIByteArray name = TEXT("unit_bad"), null = {NULL, 3}, empty = {NULL, 0};
  TVMFFIAny value = tvmffi_int(1);
  FAILS(TVMFFITypeRegisterAttr(kTVMFFIError, NULL, &value), "ValueError", NULL);
  FAILS(TVMFFITypeRegisterAttr(kTVMFFIError, &null, &value), "ValueError",
        NULL);
  FAILS(TVMFFITypeRegisterAttr(kTVMFFIError, &name, NULL), "ValueError", NULL);
  FAILS(TVMFFITypeRegisterAttr(63, &name, &value), "InternalError", NULL);
  value.type_index = 63;
  FAILS(TVMFFITypeRegisterAttr(kTVMFFIError, &name, &value), "TypeError", NULL);
  CHECK(TVMFFIGetTypeAttrColumn(&name) == NULL);
  FAILS(TVMFFIGetTypeAttrColumn(NULL) == NULL, "ValueError", NULL);
  FAILS(TVMFFIGetTypeAttrColumn(&null) == NULL, "ValueError", NULL);
  OK(TVMFFITypeRegisterAttr(kTVMFFINone, &empty, NULL));
  CHECK(TVMFFIGetTypeAttrColumn(&empty) != NULL);
}
#endif

#if !TEST_NO_FUNCTIONS
/* ======== Functions ======================================================= */

static void test_function_create(void) {
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

static void test_function_refuse(void) {
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
static void test_function_subtype(void) {
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

static void test_globals(void) {
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

static void test_bad_globals(void) {
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
  info.metadata.size = 0;
  info.name = null;
  FAILS(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 0), "ValueError", NULL);
  OK(TVMFFIFunctionGetGlobal(&name, &got));
  CHECK(got == NULL);
}

#if !TVMFFI_NO_TYPES
static void test_method_info(void) {
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
  any = test_metadata_of(text);
  if (any.type_index == kTVMFFINone) return;
  CHECK_TEXT(tvmffi_any_str(&any), "{\"a\": 1}");
  info.method = tvmffi_obj(other);
  FAILS(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 0), "RuntimeError",
        "...is already registered, possible causes:\n- Two GlobalDef().def "
        "registrations for the same function \nPlease remove the duplicate "
        "registration.");
  info.metadata = TEXT("{}");
  OK(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 1));
  any = test_metadata_of(text);
  if (any.type_index == kTVMFFINone) return;
  CHECK_TEXT(tvmffi_any_str(&any), "{}");
  OK(TVMFFIFunctionSetGlobal(&info.name, f, 1));
  any = test_metadata_of(text);
  if (any.type_index == kTVMFFINone) return;
  CHECK_TEXT(tvmffi_any_str(&any), "");
  FAILS(tvmffi_call(tvmffi_str("ffi.GetGlobalFuncMetadata"),
                    tvmffi_out_any(&any), tvmffi_str("unit.nobody")),
        "RuntimeError", "Global Function is not found: unit.nobody");
}

static void test_builtins(void) {
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
    TVMFFIAny any = test_metadata_of(builtins[i][0]);
    if (any.type_index == kTVMFFINone) return;
    CHECK_TEXT(tvmffi_any_str(&any), builtins[i][1]);
    f = test_global(builtins[i][0]);
    CHECK(f && test_strong(f) >= 0x80000000u);
  }
}
#endif

static void test_special_objects(void) {
  TVMFFIObject *invalid = NULL, *kwargs = NULL, *again = NULL;
  int i;
  for (i = 0; i < 3; ++i) {
    OK(tvmffi_call(tvmffi_str("ffi.GetInvalidObject"),
                   tvmffi_out_object(&invalid)));
    tvmffi_release(invalid);
    OK(tvmffi_call(tvmffi_str("ffi.GetKwargsObject"),
                   tvmffi_out_object(&kwargs)));
    tvmffi_release(kwargs);
  }
  OK(tvmffi_call(tvmffi_str("ffi.GetInvalidObject"),
                 tvmffi_out_object(&again)));
  CHECK(invalid == again && invalid != kwargs);
  CHECK_INT(TVMFFIObjectGetTypeIndex(invalid), kTVMFFIObject);
}

static void test_string_builtins(void) {
  TVMFFIByteArray bytes = {"a\0b", 3}, large = {"0123456789", 10};
  TVMFFIAny any;
  OK(tvmffi_call(tvmffi_str("ffi.String"), tvmffi_out_any(&any),
                 tvmffi_str("short")));
  CHECK(any.type_index == kTVMFFISmallStr && test_is_clean(&any));
  OK(tvmffi_call(tvmffi_str("ffi.String"), tvmffi_out_any(&any),
                 tvmffi_str("not so short")));
  OWN_ANY(any);
  CHECK_INT(any.type_index, kTVMFFIStr);
  CHECK_TEXT(tvmffi_any_str(&any), "not so short");
  OK(tvmffi_call(tvmffi_str("ffi.Bytes"), tvmffi_out_any(&any),
                 tvmffi_bytes(&bytes)));
  CHECK_INT(any.type_index, kTVMFFISmallBytes);
  CHECK_BYTES(tvmffi_any_str(&any), "a\0b", 3);
  OK(tvmffi_call(tvmffi_str("ffi.Bytes"), tvmffi_out_any(&any),
                 tvmffi_bytes(&large)));
  OWN_ANY(any);
  CHECK_INT(any.type_index, kTVMFFIBytes);
  FAILS(tvmffi_call(tvmffi_str("ffi.String"), tvmffi_out_any(&any),
                    tvmffi_bytes(&bytes)),
        "TypeError",
        "Mismatched type on argument #0 when calling: `ffi.String(0: str) -> "
        "str`. Expected `str` but got `TVMFFIByteArray*`");
}

static void test_shapes(void) {
  TVMFFIObject *shape = NULL;
  TVMFFIShapeCell *cell;
  int64_t *numbers;
  OK(tvmffi_call(tvmffi_str("ffi.Shape"), tvmffi_out_object(&shape),
                 tvmffi_int(3), tvmffi_int(-1), tvmffi_bool(1),
                 tvmffi_int(INT64_MAX)));
  OWN(shape);
  CHECK_INT(TVMFFIObjectGetTypeIndex(shape), kTVMFFIShape);
  cell = TVMFFIShapeGetCellPtr(shape);
  CHECK_INT(cell->size, 4);
  CHECK(cell->data[0] == 3 && cell->data[1] == -1 && cell->data[2] == 1);
  CHECK(cell->data[3] == INT64_MAX);
  OK(tvmffi_call(tvmffi_str("ffi.Shape"), tvmffi_out_object(&shape)));
  OWN(shape);
  CHECK_INT(TVMFFIShapeGetCellPtr(shape)->size, 0);
  FAILS(tvmffi_call(tvmffi_str("ffi.Shape"), tvmffi_out_object(&shape),
                    tvmffi_int(1), tvmffi_str("x")),
        "ValueError", "Expect shape to take list of int arguments");
  FAILS(tvmffi_i_new_shape((size_t)PTRDIFF_MAX, &numbers) == NULL,
        "MemoryError", NULL);
}

static void test_extern_c(void) {
  TVMFFISafeCallType call = test_echo_callback;
  void (*deleter)(void *) = test_say_deleter;
  static char letter[] = "e";
  void *call_address, *deleter_address;
  TVMFFIObject *f = NULL;
  int64_t n = 0;
  memcpy(&call_address, &call, sizeof(call));
  memcpy(&deleter_address, &deleter, sizeof(deleter));
  OK(tvmffi_call(tvmffi_str("ffi.FunctionFromExternC"), tvmffi_out_object(&f),
                 tvmffi_ptr(letter), tvmffi_ptr(call_address),
                 tvmffi_ptr(deleter_address)));
  CHECK_INT(tvmffi_call(tvmffi_obj(f), tvmffi_out_int64(&n)), 0);
  CHECK_INT(n, (intptr_t)letter);
  tvmffi_release(f);
  CHECK_LOG("e");
  OK(tvmffi_call(tvmffi_str("ffi.FunctionFromExternC"), tvmffi_out_object(&f),
                 tvmffi_none(), tvmffi_ptr(call_address), tvmffi_none()));
  OK(tvmffi_call(tvmffi_obj(f), tvmffi_out_int64(&n), tvmffi_int(4)));
  CHECK_INT(n, 4);
  OWN(f);
  FAILS(
      tvmffi_call(tvmffi_str("ffi.FunctionFromExternC"), tvmffi_out_object(&f),
                  tvmffi_none(), tvmffi_none(), tvmffi_none()),
      "ValueError", "...safe_call must not be NULL");
}

/* Names that are set and removed need no more memory than those that are there
   at a time, and leave the others to be found. */
static void test_names_that_go(void) {
  enum { STAY = 40 };
  tvmffi_i_map *map = &tvmffi_i_globals;
  TVMFFIObject *f = test_global("ffi.String");
  TVMFFIObjectHandle found = NULL;
  char names[STAY][64];
  size_t count = 0, made = 0;
  int i, n = test_scale(20000, 60);
  if (!f) return;
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
static void test_tombstones(void) {
  static tvmffi_i_node nodes[64];
  tvmffi_i_slots *first;
  tvmffi_i_map map;
  uint32_t i;
  memset((void *)&map, 0, sizeof(map));
  OK(tvmffi_i_reserve(&map, 1) ? tvmffi_i_no_memory() : 0);
  first = map.table;
  for (i = 0; i < 64; ++i) {
    nodes[i].key = "k";
    nodes[i].size = 1;
    nodes[i].hash = i < 60 ? i : 0;
  }
  for (i = 0; i < 4; ++i) map.used += (size_t)tvmffi_i_place(first, &nodes[i]);
  tvmffi_i_unplace(&map, &nodes[1]);
  CHECK_INT(map.used, 3);
  CHECK(tvmffi_i_find_hashed(&map, "k", 1, 2) == &nodes[2]);
  CHECK(!tvmffi_i_find_hashed(&map, "k", 1, 1));
  map.used += (size_t)tvmffi_i_place(first, &nodes[1]);
  map.used += (size_t)tvmffi_i_place(first, &nodes[60]); /* 0, in slot 4 */
  for (i = 0; i < 4; ++i) tvmffi_i_unplace(&map, &nodes[i]);
  CHECK_INT(map.used, 5);
  CHECK(tvmffi_i_find_hashed(&map, "k", 1, 0) == &nodes[60]);
  CHECK_INT(tvmffi_i_place(first, &nodes[61]), 0);
  CHECK_INT(map.used, 5);
  tvmffi_i_unplace(&map, &nodes[60]);
  CHECK_INT(map.used, 1);
  CHECK(tvmffi_i_find_hashed(&map, "k", 1, 0) == &nodes[61]);
  tvmffi_i_unplace(&map, &nodes[61]);
  CHECK_INT(map.used, 0);
  map.used = first->mask / 4 * 3 + 3;
  if (test_code(tvmffi_i_reserve(&map, 1) ? tvmffi_i_no_memory() : 0, __FILE__,
                __LINE__, "tvmffi_i_reserve")) {
    tvmffi_i_free(first);
    return;
  }
  CHECK(map.used == 0 && map.table != first && map.table->older == first);
  CHECK(map.table->mask == first->mask);
  tvmffi_i_free(map.table);
  tvmffi_i_free(first);
}

static void test_list_names(void) {
  static const char text[] = "unit.listed";
  TVMFFIByteArray name = TEXT(text);
  TVMFFIObject *f = test_global("ffi.String"), *names = NULL;
  int64_t count = 0, i;
  int found = 0, builtin = 0;
  if (!f) return;
  OK(TVMFFIFunctionSetGlobal(&name, f, 1));
  OK(tvmffi_call(tvmffi_str("ffi.FunctionListGlobalNamesFunctor"),
                 tvmffi_out_object(&names)));
  OWN(names);
  OK(tvmffi_call(tvmffi_obj(names), tvmffi_out_int64(&count), tvmffi_int(-1)));
  CHECK(count >= 9);
  for (i = 0; i < count; ++i) {
    TVMFFIAny any;
    if (test_oom && i == 3) break; /* each name is an allocation */
    OK(tvmffi_call(tvmffi_obj(names), tvmffi_out_any(&any), tvmffi_int(i)));
    found += test_contains(tvmffi_any_str(&any), text);
    builtin += test_contains(tvmffi_any_str(&any), "ffi.GetInvalidObject");
    CHECK(!test_contains(tvmffi_any_str(&any), "tvmffi."));
    tvmffi_any_release(&any);
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
  OWN(names);
  OK(tvmffi_call(tvmffi_obj(names), tvmffi_out_int64(&i), tvmffi_int(-1)));
  CHECK_INT(i, count - 1);
}
#endif

#if !TEST_NO_ERRORS
/* ======== Errors ========================================================== */

/* Makes an error that the test owns, or NULL. */
static TVMFFIObject *test_make_error(const char *kind, const char *message,
                                     const char *trace) {
  TVMFFIByteArray k = TEXT(kind), m = TEXT(message), t = TEXT(trace);
  TVMFFIObjectHandle error = NULL;
  if (test_code(TVMFFIErrorCreate(&k, &m, &t, &error), __FILE__, __LINE__,
                "TVMFFIErrorCreate "))
    return NULL;
  OWN(error);
  return (TVMFFIObject *)error;
}

static void test_error_create(void) {
  TVMFFIObject *error = test_make_error("KeyError", "no key", "a\nb\n");
  TVMFFIObject *plain = test_make_error("", "", "");
  TVMFFIObjectHandle outer = NULL;
  TVMFFIByteArray kind = TEXT("E"), message = {"a\0b", 3}, empty = {NULL, 0};
  TVMFFIErrorCell *cell;
  if (!error || !plain) return;
  cell = TVMFFIErrorGetCellPtr(error);
  CHECK_INT(TVMFFIObjectGetTypeIndex(error), kTVMFFIError);
  CHECK_TEXT(cell->kind, "KeyError");
  CHECK_TEXT(cell->message, "no key");
  CHECK_TEXT(cell->backtrace, "a\nb\n");
  CHECK(cell->kind.data[8] == 0 && cell->message.data[6] == 0);
  CHECK(cell->backtrace.data[4] == 0);
  CHECK(cell->cause_chain == NULL && cell->extra_context == NULL);
  CHECK(tvmffi_error_is(error, "KeyError") && !tvmffi_error_is(error, "Key"));
  CHECK(!tvmffi_error_is(error, "KeyErrors") && !tvmffi_error_is(error, ""));
  CHECK(tvmffi_error_is(plain, ""));
  OK(TVMFFIErrorCreateWithCauseAndExtraContext(&kind, &message, &empty, error,
                                               plain, &outer));
  cell = TVMFFIErrorGetCellPtr(outer);
  CHECK_BYTES(cell->message, "a\0b", 3);
  CHECK(cell->cause_chain == error && cell->extra_context == plain);
  CHECK(test_strong(error) == 2 && test_strong(plain) == 2);
  tvmffi_weak_retain(outer);
  tvmffi_release(outer);
  CHECK(test_strong(error) == 1 && test_strong(plain) == 1);
  CHECK(!tvmffi_weak_lock(outer));
  tvmffi_weak_release(outer);
}

static void test_bad_errors(void) {
  TVMFFIByteArray text = TEXT("E"), null = {NULL, 3};
  TVMFFIByteArray huge = {"x", TEST_HUGE};
  TVMFFIObject *function = test_global("ffi.String");
  TVMFFIObjectHandle error = NULL;
  if (!function) return;
  FAILS(TVMFFIErrorCreate(NULL, &text, &text, &error), "ValueError", NULL);
  FAILS(TVMFFIErrorCreate(&text, NULL, &text, &error), "ValueError", NULL);
  FAILS(TVMFFIErrorCreate(&text, &text, NULL, &error), "ValueError", NULL);
  FAILS(TVMFFIErrorCreate(&text, &text, &text, NULL), "ValueError", NULL);
  FAILS(TVMFFIErrorCreate(&text, &null, &text, &error), "ValueError", NULL);
  FAILS(TVMFFIErrorCreate(&text, &huge, &text, &error), "MemoryError", NULL);
  FAILS(tvmffi_i_new_error(1, PTRDIFF_MAX, 1) == NULL, "MemoryError", NULL);
  FAILS(TVMFFIErrorCreateWithCauseAndExtraContext(&text, &text, &text, function,
                                                  NULL, &error),
        "TypeError", "...is expected to be ffi.Error but is ffi.Function");
  FAILS((TVMFFIErrorMoveFromRaised(NULL), 1), "ValueError", NULL);
  FAILS((TVMFFIErrorSetRaised(function), 1), "TypeError",
        "...is expected to be ffi.Error but is ffi.Function");
}

static void test_slot(void) {
  TVMFFIObject *first = test_make_error("First", "1", "");
  TVMFFIObject *second = test_make_error("Second", "2", "");
  TVMFFIObjectHandle got = NULL;
  if (!first || !second) return;
  CHECK(tvmffi_error_take() == NULL);
  TVMFFIErrorSetRaised(first);
  CHECK_INT(test_strong(first), 2);
  TVMFFIErrorSetRaised(second);
  CHECK(test_strong(first) == 1 && test_strong(second) == 2);
  TVMFFIErrorMoveFromRaised(&got);
  CHECK(got == second && test_strong(second) == 2);
  tvmffi_release(got);
  TVMFFIErrorMoveFromRaised(&got);
  CHECK(got == NULL);
  TVMFFIErrorSetRaised(first);
  TVMFFIErrorSetRaised(first);
  CHECK_INT(test_strong(first), 2);
  TVMFFIErrorSetRaised(NULL);
  CHECK_INT(test_strong(first), 1);
  TVMFFIErrorSetRaised(first);
  tvmffi_error_clear();
  tvmffi_error_clear();
  CHECK_INT(test_strong(first), 1);
}

static void test_raise_texts(void) {
  const char *parts[] = {"one ", NULL, "two", "", " three"};
  TVMFFIErrorSetRaisedFromCStr("KeyError", "text");
  FAILS(1, "KeyError", "text");
  TVMFFIErrorSetRaisedFromCStr(NULL, "text");
  FAILS(1, "RuntimeError", "text");
  TVMFFIErrorSetRaisedFromCStr("E", NULL);
  FAILS(1, "E", "");
  TVMFFIErrorSetRaisedFromCStrParts("E", parts, 5);
  FAILS(1, "E", "one two three");
  TVMFFIErrorSetRaisedFromCStrParts("E", NULL, 5);
  FAILS(1, "E", "");
  TVMFFIErrorSetRaisedFromCStrParts("E", parts, 0);
  FAILS(1, "E", "");
  TVMFFIErrorSetRaisedFromCStrParts("E", parts, -3);
  FAILS(1, "E", "");
}

static void test_update_trace(void) {
  TVMFFIObject *error = test_make_error("E", "m", "first\n");
  TVMFFIByteArray text = TEXT("second\n"), null = {NULL, 3}, empty = {NULL, 0};
  TVMFFIErrorCell *cell;
  int i;
  if (!error) return;
  cell = TVMFFIErrorGetCellPtr(error);
  cell->update_backtrace(error, &text, kTVMFFIBacktraceUpdateModeAppend);
  if (test_hits()) return; /* it cannot say that there was no memory */
  CHECK_TEXT(cell->backtrace, "first\nsecond\n");
  CHECK(cell->backtrace.data[cell->backtrace.size] == 0);
  cell->update_backtrace(error, &text, kTVMFFIBacktraceUpdateModeReplace);
  if (test_hits()) return;
  CHECK_TEXT(cell->backtrace, "second\n");
  for (i = 0; i < 20; ++i)
    cell->update_backtrace(error, &text, kTVMFFIBacktraceUpdateModeAppend);
  if (test_hits()) return;
  CHECK_INT(cell->backtrace.size, 21 * 7);
  CHECK(cell->backtrace.data[cell->backtrace.size] == 0);
  /* Byte by byte, through the capacity. */
  for (i = 0; i < 200; ++i) {
    text = TEXT("x");
    cell->update_backtrace(error, &text, kTVMFFIBacktraceUpdateModeAppend);
    if (test_hits()) return;
    CHECK_INT(cell->backtrace.size, 21 * 7 + 1 + i);
    CHECK(cell->backtrace.data[cell->backtrace.size] == 0);
  }
  text = TEXT("second\n");
  for (i = 0; i < 21; ++i)
    cell->update_backtrace(error, &text,
                           i ? kTVMFFIBacktraceUpdateModeAppend
                             : kTVMFFIBacktraceUpdateModeReplace);
  if (test_hits()) return;
  CHECK_INT(cell->backtrace.size, 21 * 7);
  /* Its own text may be what is appended, or put in place. */
  cell->update_backtrace(error, &cell->backtrace,
                         kTVMFFIBacktraceUpdateModeReplace);
  if (test_hits()) return;
  CHECK_INT(cell->backtrace.size, 21 * 7);
  cell->update_backtrace(error, &null, kTVMFFIBacktraceUpdateModeAppend);
  cell->update_backtrace(error, NULL, kTVMFFIBacktraceUpdateModeAppend);
  cell->update_backtrace(NULL, &text, kTVMFFIBacktraceUpdateModeAppend);
  CHECK_INT(cell->backtrace.size, 21 * 7);
  cell->update_backtrace(error, &empty, kTVMFFIBacktraceUpdateModeReplace);
  if (test_hits()) return;
  CHECK_INT(cell->backtrace.size, 0);
}

/* The error for lack of memory is there before it is needed, and stays. */
static void test_memory_error(void) {
  TVMFFIByteArray text = TEXT("trace");
  TVMFFIObject *error;
  TVMFFIErrorCell *cell;
  int i;
  for (i = 0; i < 3; ++i) {
    CHECK_INT(tvmffi_i_no_memory(), -1);
    error = tvmffi_error_take();
    if (!CHECK(error != NULL)) return;
    CHECK(tvmffi_error_is(error, "MemoryError"));
    cell = TVMFFIErrorGetCellPtr(error);
    CHECK_BYTES(cell->message, cell->message.data, strlen(cell->message.data));
    cell->update_backtrace(error, &text, kTVMFFIBacktraceUpdateModeReplace);
    CHECK_INT(cell->backtrace.size, 0);
    tvmffi_release(error);
    tvmffi_release(error);
  }
}

/* The destructor of what was in the slot may raise. */
static void test_raising_deleter(void *handle) {
  (void)handle;
  TVMFFIErrorSetRaisedFromCStr("Late", "raised by a deleter");
}

static void test_raise_in_deleter(void) {
  TVMFFIByteArray text = TEXT("E"), empty = {NULL, 0};
  TVMFFIObjectHandle context = NULL, error = NULL;
  OK(TVMFFIObjectCreateOpaque(NULL, kTVMFFIOpaquePyObject, test_raising_deleter,
                              &context));
  if (TVMFFIErrorCreateWithCauseAndExtraContext(&text, &text, &empty, NULL,
                                                context, &error)) {
    tvmffi_release(context);
    CHECK(test_hits());
    tvmffi_error_clear();
    return;
  }
  tvmffi_release(context);
  TVMFFIErrorSetRaised(error);
  tvmffi_release(error);
  TVMFFIErrorSetRaised(NULL);
  FAILS(1, "Late", "raised by a deleter");
}

static int test_raised_at;

static int test_raise_number(int n) {
  test_raised_at = __LINE__ + 1;
  return TVMFFI_RAISE("ValueError", "rank is %d, not %s", n, "two");
}

static int test_try(int code, int *after) {
  TVMFFI_TRY(code);
  *after = 1;
  return 0;
}

static void test_raise(void) {
  TVMFFIObject *error;
  TVMFFIErrorCell *cell;
  char line[24];
  int after = 0;
  CHECK_INT(test_raise_number(3), -1);
  error = tvmffi_error_take();
  if (!CHECK(error != NULL)) return;
  OWN(error);
  if (test_hits()) return;
  cell = TVMFFIErrorGetCellPtr(error);
  CHECK_TEXT(cell->kind, "ValueError");
  CHECK_TEXT(cell->message, "rank is 3, not two");
  CHECK(test_contains(cell->backtrace, "  File \"" __FILE__ "\", line "));
  CHECK(test_contains(cell->backtrace,
                      test_digits(line + sizeof(line), test_raised_at)));
  CHECK(test_contains(cell->backtrace, ", in test_raise_number\n"));
  CHECK(test_try(-2, &after) == -2 && !after);
  CHECK(test_try(0, &after) == 0 && after);
  CHECK_INT(tvmffi_raise(NULL, "E", "%s", "no trace"), -1);
  error = tvmffi_error_take();
  if (!CHECK(error != NULL)) return;
  OWN(error);
  if (!test_hits()) CHECK_INT(TVMFFIErrorGetCellPtr(error)->backtrace.size, 0);
}

static void test_long_messages(void) {
  static char text[TVMFFI_MESSAGE_SIZE + 2];
  TVMFFIObject *error;
  TVMFFIByteArray message;
  size_t n;
  memset(text, 'x', sizeof(text));
  for (n = TVMFFI_MESSAGE_SIZE - 2; n <= TVMFFI_MESSAGE_SIZE + 1; ++n) {
    text[n] = 0;
    (void)TVMFFI_RAISE("E", "%s", text);
    text[n] = 'x';
    error = tvmffi_error_take();
    if (!CHECK(error != NULL)) return;
    OWN(error);
    if (test_hits()) return;
    message = TVMFFIErrorGetCellPtr(error)->message;
    if (n < TVMFFI_MESSAGE_SIZE) {
      CHECK_INT(message.size, n);
      CHECK(message.data[n - 1] == 'x');
    } else {
      CHECK_INT(message.size, TVMFFI_MESSAGE_SIZE - 1);
      CHECK_TEXT(test_bytes(message.data + message.size - 4, 4), "x...");
    }
  }
  /* The runtime's own messages show as much of a long name as helps. */
  n = sizeof(text) - 1;
  message = test_bytes(text, n);
  {
    int32_t index;
    FAILS(TVMFFITypeKeyToIndex(&message, &index), "InternalError",
          "...Cannot find type `xxxxxxxx");
  }
}

/* Formats as the runtime does, with stdio and without. */
TVMFFI_I_PRINTF(1, 2)
static TVMFFIByteArray test_format(const char *format, ...) {
  static char buffer[TVMFFI_MESSAGE_SIZE];
  TVMFFIByteArray r;
  va_list ap;
  va_start(ap, format);
  r = tvmffi_i_message(buffer, format, ap);
  va_end(ap);
  return r;
}

static void test_formats(void) {
  char p[1] = {'x'};
  TVMFFIByteArray got;
  CHECK_TEXT(test_format("%s", ""), "");
  CHECK_TEXT(test_format("plain"), "plain");
  CHECK_TEXT(test_format("%d %i", 0, -7), "0 -7");
  CHECK_TEXT(test_format("%d", -2147483647 - 1), "-2147483648");
  CHECK_TEXT(test_format("%u", 4294967295u), "4294967295");
  CHECK_TEXT(test_format("%x", 0xBEEFu), "beef");
  CHECK_TEXT(test_format("%ld %lu", -5L, 5UL), "-5 5");
  CHECK_TEXT(test_format("%lx", 0x7FFFFFFFUL), "7fffffff");
  CHECK_TEXT(test_format("%lld", (long long)INT64_MIN), "-9223372036854775808");
  CHECK_TEXT(test_format("%llu", (unsigned long long)UINT64_MAX),
             "18446744073709551615");
  CHECK_TEXT(test_format("%llx", (unsigned long long)UINT64_MAX),
             "ffffffffffffffff");
  CHECK_TEXT(test_format("%zu %d", (size_t)12, 3), "12 3");
  CHECK_TEXT(test_format("%c%c", 'a', 'b'), "ab");
  CHECK_TEXT(test_format("%05d %04x", 42, 0xABu), "00042 00ab");
  CHECK_TEXT(test_format("%05d", -42), "-0042");
  CHECK_TEXT(test_format("100%%"), "100%");
  CHECK_TEXT(test_format("[%s]", "text"), "[text]");
  CHECK_TEXT(test_format("[%.2s]", "text"), "[te]");
  CHECK_TEXT(test_format("[%.*s]", 3, "text"), "[tex]");
  CHECK_TEXT(test_format("[%.*s]", 0, "text"), "[]");
  CHECK_TEXT(test_format("[%.*s]", 9, "text"), "[text]");
  CHECK_TEXT(test_format("[%.*s]", 1, p), "[x]");
  got = test_format("%p", (void *)p);
  CHECK(got.size > 2 && got.data[0] == '0');
#if !defined(_WIN32)
  CHECK(got.data[1] == 'x');
#endif
}

static void test_error_text(void) {
  static char lines[6 * TVMFFI_MESSAGE_SIZE];
  TVMFFIObject *error = test_make_error("E", "what", "inner\nouter\n");
  TVMFFIByteArray kind = TEXT("E"), message = TEXT("m"), trace;
  TVMFFIObjectHandle other = NULL;
  const char *text = tvmffi_i_error_text();
  size_t i;
  CHECK_TEXT(tvmffi_view(text), "");
  if (!error) return;
  TVMFFIErrorSetRaised(error);
  text = tvmffi_i_error_text();
  if (!test_hits())
    CHECK_TEXT(tvmffi_view(text),
               "Traceback (most recent call last):\nouter\ninner\nE: what\n");
  tvmffi_error_clear();
  CHECK_INT(test_strong(error), 1);
  /* A last line without an end, and more lines than fit. */
  trace = TEXT("a\nb");
  OK(TVMFFIErrorCreate(&kind, &message, &trace, &other));
  OWN(other);
  TVMFFIErrorSetRaised(other);
  text = tvmffi_i_error_text();
  if (!test_hits())
    CHECK_TEXT(tvmffi_view(text),
               "Traceback (most recent call last):\nba\nE: m\n");
  for (i = 0; i < sizeof(lines); ++i) lines[i] = i % 8 == 7 ? '\n' : 'x';
  lines[0] = '!';
  lines[8 * 600] = '?';
  trace = test_bytes(lines, sizeof(lines));
  OK(TVMFFIErrorCreate(&kind, &message, &trace, &other));
  OWN(other);
  TVMFFIErrorSetRaised(other);
  trace = tvmffi_view(tvmffi_i_error_text());
  if (!test_hits()) {
    CHECK(test_contains(trace, "!xxxxxx\nE: m\n") && trace.size > 4000);
    CHECK(!test_contains(trace, "?"));
  }
  tvmffi_error_clear();
}

/* A cause and a context, which leave kind and trace of an error as they are. */
static int test_fail_under(const char *what) {
  TVMFFI_TRY_CONTEXT(TVMFFI_RAISE("KeyError", "no `%s`", what), "item %d", 3);
  return 0;
}

static void test_error_chain(void) {
  TVMFFIObject *error, *cause = test_make_error("E", "why", "inner\n");
  const TVMFFIErrorCell *cell;
  const char *text;
  FAILS(test_fail_under("x"), "KeyError", "item 3: no `x`");
  CHECK_INT(tvmffi_error_context(-2, "%d", 1), -2);
  CHECK_INT(tvmffi_error_context(-1, "%d", 1), -1); /* the slot is empty */
  CHECK(!tvmffi_error_take());
  CHECK_INT(tvmffi_error_raise(NULL), -1);
  if (!cause) return;
  tvmffi_retain(cause);
  CHECK_INT(TVMFFI_RAISE_FROM(cause, "ValueError", "what %d", 7), -1);
  CHECK_INT(tvmffi_error_context(-1, "at %s", "home"), -1);
  error = tvmffi_error_take();
  if (!CHECK(error != NULL)) return;
  cell = TVMFFIErrorGetCellPtr(error);
  if (!test_hits()) {
    CHECK_TEXT(cell->message, "at home: what 7");
    CHECK(tvmffi_error_is(error, "ValueError"));
    CHECK(test_contains(cell->backtrace, "in test_error_chain\n"));
    CHECK(tvmffi_error_cause(error) == cause);
    CHECK(test_strong(cause) == 2);
  }
  CHECK_INT(tvmffi_error_raise(error), -1); /* taken */
  text = tvmffi_i_error_text();
  if (!test_hits()) {
    CHECK(strncmp(text,
                  "Traceback (most recent call last):\ninner\nE: why\n\nThe "
                  "above exception was the direct cause of the following "
                  "exception:\n\nTraceback (most recent call last):\n",
                  150) == 0);
    CHECK(test_contains(tvmffi_view(text), "ValueError: at home: what 7\n"));
  }
  tvmffi_error_clear();
  CHECK_INT(test_strong(cause), 1);
}

static void test_error_catch(void) {
  CHECK(!tvmffi_error_catch("KeyError"));
  (void)TVMFFI_RAISE("KeyError", "first");
  (void)TVMFFI_RAISE("IndexError", "second"); /* in the place of the first */
  if (!test_hits()) {
    CHECK(!tvmffi_error_catch("KeyError"));
    CHECK(!tvmffi_error_catch("Index"));
    CHECK(tvmffi_error_catch("IndexError"));
  }
  tvmffi_error_clear();
  CHECK(!tvmffi_error_take());
}

/* No end of causes: the nearest are told. */
static void test_error_many_causes(void) {
  TVMFFIObject *error = NULL;
  TVMFFIByteArray text;
  int i;
  for (i = 0; i < 20; ++i) {
    (void)TVMFFI_RAISE_FROM(error, "ValueError", "cause %d;", i);
    error = tvmffi_error_take();
  }
  CHECK_INT(tvmffi_error_raise(error), -1);
  text = tvmffi_view(tvmffi_i_error_text());
  if (!test_hits()) {
    CHECK(test_contains(text, "cause 19;") && test_contains(text, "cause 12;"));
    CHECK(!test_contains(text, "cause 11;"));
  }
  tvmffi_error_clear();
}

#if !TVMFFI_NO_STDIO && !TEST_NO_FILES
static void test_error_print(void) {
  char got[256];
  TVMFFIObject *error = test_make_error("E", "what", "inner\nouter\n");
  FILE *file;
  size_t n;
  if (!error) return;
  file = tmpfile();
  if (!CHECK(file != NULL)) return;
  TVMFFIErrorSetRaised(error);
  tvmffi_error_print(file);
  CHECK(tvmffi_error_take() == NULL);
  tvmffi_error_print(file);
  rewind(file);
  n = fread(got, 1, sizeof(got), file);
  (void)fclose(file);
  if (!test_hits())
    CHECK_BYTES(test_bytes(got, n),
                "Traceback (most recent call last):\nouter\ninner\nE: what\n",
                55);
}
#endif

/* ======== Backtrace ======================================================= */

static void test_backtrace(void) {
  static char name[3000];
  const TVMFFIByteArray *t = TVMFFIBacktrace("dir/f.c", 12, "g", 0);
  const char *buffer;
  if (!CHECK(t != NULL)) return;
  CHECK(t->data[t->size] == 0);
  if (!test_hits())
    CHECK_TEXT(test_bytes(t->data, t->size < 32 ? t->size : 32),
               "  File \"dir/f.c\", line 12, in g\n");
  t = TVMFFIBacktrace("f.c", -5, "g", 1);
  if (!test_hits()) CHECK(test_contains(*t, "line -5, in g\n"));
  t = TVMFFIBacktrace(NULL, 5, NULL, 1);
  CHECK(t && t->data && !test_contains(*t, "line 5, in "));
  t = TVMFFIBacktrace("f.c", 77, NULL, 0);
  CHECK(t && t->data && !test_contains(*t, "line 77"));
  t = TVMFFIBacktrace(NULL, 77, "g", 0);
  CHECK(t && t->data && !test_contains(*t, "line 77"));
  memset(name, 'n', sizeof(name) - 1);
  t = TVMFFIBacktrace("f.c", 1, name, 0);
  if (!test_hits()) CHECK(test_contains(*t, name));
  /* The buffer stays, and serves for what is shorter. */
  name[1500] = 0;
  buffer = tvmffi_i_self()->trace;
  t = TVMFFIBacktrace("f.c", 1, name, 0);
  CHECK(t->data[t->size] == 0);
  if (!test_hits()) CHECK(tvmffi_i_self()->trace == buffer);
}

#if !TVMFFI_NO_BACKTRACE
static void test_frame_kinds(void) {
  CHECK_INT(tvmffi_i_classify("main"), TVMFFI_I_FRAME_SHOWN);
  CHECK_INT(tvmffi_i_classify("_PyEval_Vector"), TVMFFI_I_FRAME_BORDER);
  CHECK_INT(tvmffi_i_classify("PyObject_Call"), TVMFFI_I_FRAME_BORDER);
  CHECK_INT(tvmffi_i_classify(TEST_STRING(TVMFFIFunctionCall)),
            TVMFFI_I_FRAME_BORDER);
  CHECK_INT(tvmffi_i_classify(TEST_STRING(TVMFFIErrorSetRaisedFromCStrParts)),
            TVMFFI_I_FRAME_HIDDEN);
  CHECK_INT(tvmffi_i_classify("__libc_start_main"), TVMFFI_I_FRAME_HIDDEN);
  CHECK_INT(tvmffi_i_classify(""), TVMFFI_I_FRAME_SHOWN);
}

#if TVMFFI_I_WALK
/* What the unwinder told of the frame before. */
typedef struct {
  uintptr_t ip, sp, bp;
  int count, plain;
} test_walked;

/* The rule of each frame against what the unwinder finds one further on. */
TVMFFI_I_EXTERN_C _Unwind_Reason_Code
test_check_rule(struct _Unwind_Context *context, void *data);
_Unwind_Reason_Code test_check_rule(struct _Unwind_Context *context,
                                    void *data) {
  test_walked *w = (test_walked *)data;
  uintptr_t ip = (uintptr_t)_Unwind_GetIP(context);
  uintptr_t sp = (uintptr_t)_Unwind_GetCFA(context);
  uintptr_t bp = (uintptr_t)_Unwind_GetGR(context, TVMFFI_I_BP);
  if (w->count++) {
    uint64_t rule = tvmffi_i_read_rule(w->ip);
    uint64_t kind = rule & TVMFFI_I_RULE_KIND;
    uintptr_t end = rule & TVMFFI_I_RULE_FROM_BP ? w->bp : w->sp;
    end += (rule >> TVMFFI_I_RULE_FRAME & TVMFFI_I_RULE_WORDS) * 8;
    if (kind == TVMFFI_I_RULE_LAST) CHECK(ip == 0);
    if (kind == TVMFFI_I_RULE_PLAIN) {
      ++w->plain;
      CHECK(end == sp && *(uintptr_t *)(end - 8) == ip);
      end -= (rule >> TVMFFI_I_RULE_BP & TVMFFI_I_RULE_WORDS) * 8;
      CHECK(bp == (rule & TVMFFI_I_RULE_SAVED_BP ? *(uintptr_t *)end : w->bp));
    }
  }
  w->ip = ip;
  w->sp = sp;
  w->bp = bp;
  return ip ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static int test_check_rules(const void *a, const void *b) {
  test_walked walked = {0, 0, 0, 0, 0};
  tvmffi_i_trace trace;
  (void)a, (void)b;
  (void)_Unwind_Backtrace(test_check_rule, &walked);
  CHECK(walked.plain > 3);
  tvmffi_i_open_trace(&trace, 0, 1);
  CHECK(tvmffi_i_walk_stack(&trace) || test_hits());
  return 0;
}

/* Frames of three kinds: fixed, of a size known when it runs, realigned. */
static void test_walk_fixed(void) { (void)test_check_rules(NULL, NULL); }
static void test_walk_sized(size_t size) {
  volatile char *room = (volatile char *)__builtin_alloca(size);
  room[size - 1] = 0;
  test_walk_fixed();
  room[0] = 0;
}
static void test_walk_aligned(void) {
  volatile char room[64] __attribute__((aligned(64)));
  test_walked walked = {0, 0, 0, 0, 0};
  room[0] = 0;
  (void)_Unwind_Backtrace(test_check_rule, &walked);
  CHECK(room[0] == 0);
}

static void test_walk_stacks(void) {
  static void (*volatile fixed)(void) = test_walk_fixed;
  static void (*volatile sized)(size_t) = test_walk_sized;
  static void (*volatile aligned)(void) = test_walk_aligned;
  int pair[2] = {1, 0};
  fixed();
  sized(100);
  sized(5000);
  aligned();
  qsort(pair, 2, sizeof(pair[0]), test_check_rules);
}

/* Instructions as compilers for other purposes write them. */
static void test_rows(void) {
  static const struct {
    unsigned char code[12];
    size_t size;
    int understood;
    uint64_t base;
    int64_t frame, bp;
    int last, odd;
  } cases[] = {
      {{0x0C, 7, 8, 0x90, 1}, 5, 1, 7, 8, 0, 0, 0},
      {{0x0C, 7, 8, 0x41, 0x0E, 16, 0x86, 2}, 8, 1, 7, 16, -16, 0, 0},
      {{0x0C, 7, 8, 0x4A, 0x0E, 16}, 6, 1, 7, 8, 0, 0, 0}, /* further on */
      {{0x0C, 7, 8, 0x02, 10, 0x0E, 16}, 7, 1, 7, 8, 0, 0, 0},
      {{0x0C, 7, 8, 0x03, 9, 0, 0x0E, 16}, 8, 1, 7, 16, 0, 0, 0},
      {{0x0C, 7, 8, 0x04, 1, 0, 0, 0, 0x0D, 6}, 10, 1, 6, 8, 0, 0, 0},
      {{0x12, 7, 0x7E, 0x13, 0x7D}, 5, 1, 7, 24, 0, 0, 0},
      {{0x0C, 7, 0x80, 1}, 4, 1, 7, 128, 0, 0, 0},
      {{0x05, 6, 2, 0xC6}, 4, 1, 0, 0, 0, 0, 0},
      {{0x11, 6, 0x02, 0x08, 3}, 5, 1, 0, 0, -16, 0, 0},
      {{0x2F, 6, 2, 0x08, 6}, 5, 1, 0, 0, 0, 0, 0},
      {{0x86, 2, 0x0A, 0x86, 3, 0x0B}, 6, 1, 0, 0, -16, 0, 0},
      {{0x0B}, 1, 0, 0, 0, 0, 0, 0},
      {{0x0A, 0x0A, 0x0A, 0x0A, 0x0A}, 5, 0, 0, 0, 0, 0, 0},
      {{0x07, 16}, 2, 1, 0, 0, 0, 1, 0},
      {{0x07, 16, 0x06, 16}, 4, 1, 0, 0, 0, 0, 0},
      {{0x07, 16, 0x08, 16}, 4, 1, 0, 0, 0, 0, 0},
      {{0x90, 2}, 2, 1, 0, 0, 0, 0, 1},
      {{0x09, 6, 3}, 3, 1, 0, 0, 0, 0, 1},
      {{0x14, 3, 3}, 3, 1, 0, 0, 0, 0, 0},
      {{0x10, 6, 2, 0x76, 0}, 5, 1, 0, 0, 0, 0, 1},
      {{0x0C, 7, 8, 0x0F, 2, 0x77, 8}, 7, 1, 0, 8, 0, 0, 0},
      {{0x2E, 16, 0x00}, 3, 1, 0, 0, 0, 0, 0},
      {{0x01}, 1, 0, 0, 0, 0, 0, 0},
      {{0x3F}, 1, 0, 0, 0, 0, 0, 0},
      {{0x0E}, 1, 0, 0, 0, 0, 0, 0},
      {{0x0E, 0x80}, 2, 0, 0, 0, 0, 0, 0},
      {{0x0F, 5, 1}, 3, 0, 0, 0, 0, 0, 0},
  };
  size_t i;
  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    tvmffi_i_rows r;
    tvmffi_i_cfi c;
    int understood;
    memset(&r, 0, sizeof(r));
    r.code_unit = 1;
    r.data_unit = -8;
    r.target = 9;
    c.at = cases[i].code;
    c.end = c.at + cases[i].size;
    understood = tvmffi_i_row_run(&r, c);
    CHECK_INT(understood, cases[i].understood);
    if (!understood) continue;
    CHECK_INT(r.row.base, cases[i].base);
    CHECK_INT(r.row.frame, cases[i].frame);
    CHECK_INT(r.row.bp, cases[i].bp);
    CHECK_INT(r.row.last, cases[i].last);
    CHECK_INT(r.row.odd != 0, cases[i].odd);
  }
}
#endif

static void test_frame_names(void) {
  static char code[4096];
  static int counter;
  uintptr_t address = (uintptr_t)&code[++counter % 4096];
  tvmffi_i_frame *frame = tvmffi_i_name_frame(address);
  char *plain = tvmffi_i_demangle("plain");
  CHECK(plain == NULL);
  if (test_hits()) return;
  if (!CHECK(frame != NULL)) return;
  CHECK(frame->address == address);
  plain = (char *)(void *)tvmffi_i_name_frame(address);
  CHECK(plain == (char *)(void *)frame || test_hits());
#if defined(__cplusplus) && defined(__GLIBCXX__) && !TVMFFI_NO_DLOPEN
  plain = tvmffi_i_demangle("_ZN4unit5tests5outerEi");
  if (plain) CHECK_TEXT(tvmffi_view(plain), "unit::tests::outer(int)");
  free(plain);
#else
  plain = tvmffi_i_demangle("_Z");
  CHECK(plain == NULL);
#endif
}

/* C++ names, where the process has a C++ library. */
static void test_demangle(void) {
#if defined(__GLIBC__) && !TVMFFI_NO_DLOPEN
  void *library = dlopen("libstdc++.so.6", RTLD_LAZY);
  char *name = tvmffi_i_demangle("_ZN4unit5tests5outerEi");
  if (library) CHECK(name != NULL);
  if (name) CHECK_TEXT(tvmffi_view(name), "unit::tests::outer(int)");
  free(name);
  name = tvmffi_i_demangle("_ZN4unit5tests"); /* cut off */
  CHECK(name == NULL);
  if (library) (void)dlclose(library);
#endif
}

/* No more frames are kept than the limit says. */
static void test_frame_limit(void) {
  static tvmffi_i_trace trace;
  CHECK(tvmffi_i_frame_limit() >= 0);
  CHECK(tvmffi_i_frame_limit() <= TVMFFI_I_MAX_FRAMES);
  memset((void *)&trace, 0, sizeof(trace));
  trace.limit = 1;
  trace.across = 1;
  (void)_Unwind_Backtrace(tvmffi_i_on_frame, &trace);
  CHECK(trace.count <= 1);
  memset((void *)&trace, 0, sizeof(trace));
  (void)_Unwind_Backtrace(tvmffi_i_on_frame, &trace);
  CHECK(trace.count == 0 && trace.size == 0);
}

#if TEST_SYMBOLS
TVMFFI_I_EXTERN_C TVM_FFI_DLL_EXPORT int tvmffi_test_visible(int depth,
                                                             int across);
#if TVMFFI_I_GNU
__attribute__((noinline))
#endif
int tvmffi_test_visible(int depth, int across) {
  const TVMFFIByteArray *t;
  int found;
  if (depth) {
    found = tvmffi_test_visible(depth - 1, across);
    return found + (depth > 1000);
  }
  t = TVMFFIBacktrace(NULL, 0, NULL, across);
  found = test_contains(*t, ", in tvmffi_test_visible\n");
  return found + (depth > 1000);
}

static int test_visible_callback(void *self, const TVMFFIAny *args,
                                 int32_t num_args, TVMFFIAny *result) {
  (void)args, (void)num_args;
  *result = tvmffi_int(test_contains(
      *TVMFFIBacktrace(NULL, 0, NULL, self != NULL), "tvmffi_test_visible"));
  return 0;
}

TVMFFI_I_EXTERN_C TVM_FFI_DLL_EXPORT int64_t
tvmffi_test_visible_call(TVMFFIObjectHandle f);
#if TVMFFI_I_GNU
__attribute__((noinline))
#endif
int64_t
tvmffi_test_visible_call(TVMFFIObjectHandle f) {
  TVMFFIAny result = tvmffi_none();
  int code = TVMFFIFunctionCall(f, NULL, 0, &result);
  return code ? code : result.v_int64;
}

/* Callers are named, up to a call across the border where that is asked. */
static void test_symbols(void) {
  static char across;
  TVMFFIObjectHandle f = NULL;
  int found = tvmffi_test_visible(3, 0);
  if (!test_hits()) CHECK_INT(found, 1);
  OK(TVMFFIFunctionCreate(NULL, test_visible_callback, NULL, &f));
  OWN(f);
  (void)tvmffi_test_visible_call(f);
  OK(TVMFFIFunctionCreate(&across, test_visible_callback, NULL, &f));
  OWN(f);
  if (!test_hits()) CHECK_INT(tvmffi_test_visible_call(f), 1);
}
#endif
#endif
#endif

#if !TEST_NO_TYPED
/* ======== Typed functions ================================================= */

TVMFFI_FUNC(u_none, none) { TVMFFI_RETURN(); }
TVMFFI_FUNC(u_any, any, (any, x)) {
  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(&x, &x));
  TVMFFI_RETURN(x);
}
TVMFFI_FUNC(u_local, str, (str, x)) {
  char text[16] = "a local: ";
  memcpy(text + 9, x.data, x.size < 6 ? x.size : 6);
  TVMFFI_RETURN(tvmffi_view(text));
}
TVMFFI_FUNC(u_bool, bool, (bool, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_word, _Bool, (_Bool, x)) { TVMFFI_RETURN(!x); }
TVMFFI_FUNC(u_int8, int8, (int8, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_int16, int16, (int16, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_int32, int32, (int32, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_int64, int64, (int64, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_uint8, uint8, (uint8, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_uint16, uint16, (uint16, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_uint32, uint32, (uint32, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_uint64, uint64, (uint64, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_too_large, uint64) { TVMFFI_RETURN(UINT64_MAX); }
TVMFFI_FUNC(u_large_any, any) { TVMFFI_RETURN(tvmffi_uint(UINT64_MAX)); }
#if !TVMFFI_NO_FLOAT
TVMFFI_FUNC(u_float32, float32, (float32, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_float64, float64, (float64, x)) { TVMFFI_RETURN(x); }
#endif
TVMFFI_FUNC(u_str, str, (str, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_bytes, bytes, (bytes, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_dtype, dtype, (dtype, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_device, device, (device, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_ptr, ptr, (ptr, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_tensor, int32, (tensor, x)) { TVMFFI_RETURN(x->ndim); }
TVMFFI_FUNC(u_object, object, (object, x)) {
  tvmffi_retain(x);
  TVMFFI_RETURN(x);
}
TVMFFI_FUNC(u_no_object, object) { TVMFFI_RETURN(NULL); }
TVMFFI_FUNC(u_func, func, (func, x)) {
  tvmffi_retain(x);
  TVMFFI_RETURN(x);
}
TVMFFI_FUNC(u_code, none, (int32, code)) { return code; }
TVMFFI_FUNC(u_raise, none) { return TVMFFI_RAISE("IndexError", "no %d", 7); }

/* Gives the function object of a typed function, owned by the test. */
static TVMFFIObject *test_typed(const tvmffi_func *typed) {
  TVMFFIObject *f = NULL;
  if (!test_code(tvmffi_i_function(typed, &f), __FILE__, __LINE__,
                 "tvmffi_function "))
    OWN(f);
  return f;
}

/* Calls a typed function with one value; the result is the caller's. */
static int test_call_typed(const tvmffi_func *typed, TVMFFIAny arg,
                           TVMFFIAny *result) {
  *result = tvmffi_none();
  return typed->call(NULL, &arg, 1, result);
}

typedef struct {
  const tvmffi_func *typed;
  int64_t min, max; /* of the type; 0, 0: not of integers */
  const char *name, *text;
} test_integer_type;

static void test_typed_integers(void) {
  const test_integer_type types[] = {
      {&tvmffi_func_u_int8, INT8_MIN, INT8_MAX, "u_int8", ""},
      {&tvmffi_func_u_int16, INT16_MIN, INT16_MAX, "u_int16", ""},
      {&tvmffi_func_u_int32, INT32_MIN, INT32_MAX, "u_int32", ""},
      {&tvmffi_func_u_int64, INT64_MIN, INT64_MAX, "u_int64", ""},
      {&tvmffi_func_u_uint8, 0, UINT8_MAX, "u_uint8", ""},
      {&tvmffi_func_u_uint16, 0, UINT16_MAX, "u_uint16", ""},
      {&tvmffi_func_u_uint32, 0, UINT32_MAX, "u_uint32", ""},
      {&tvmffi_func_u_uint64, 0, INT64_MAX, "u_uint64", ""}};
  TVMFFIAny any;
  int i, k;
  for (i = 0; i < TEST_COUNT(types); ++i) {
    const test_integer_type *t = &types[i];
    int64_t inside[3], outside[4];
    int num_outside = 0;
    inside[0] = t->min;
    inside[1] = t->max;
    inside[2] = 1;
    for (k = 0; k < 3; ++k) {
      any = test_dirty();
      OK(test_call_typed(t->typed, tvmffi_int(inside[k]), &any));
      CHECK_INT(any.v_int64, inside[k]);
      CHECK(any.type_index == kTVMFFIInt && test_is_clean(&any));
    }
    OK(test_call_typed(t->typed, tvmffi_bool(1), &any));
    CHECK_INT(any.v_int64, 1);
    if (t->min != INT64_MIN) {
      outside[num_outside++] = t->min - 1;
      outside[num_outside++] = INT64_MIN;
    }
    if (t->max != INT64_MAX) {
      outside[num_outside++] = t->max + 1;
      outside[num_outside++] = INT64_MAX;
    }
    for (k = 0; k < num_outside; ++k) {
      char text[160], number[TVMFFI_I_DECIMAL];
      const char *digits;
      size_t at = 0;
      at = test_put(text, at, sizeof(text),
                    "Value out of range in argument #0 when calling: `", 49);
      at = test_put(text, at, sizeof(text), t->name, strlen(t->name));
      at = test_put(text, at, sizeof(text), "(0: int) -> int`. Expected `", 28);
      at = test_put(text, at, sizeof(text), t->name + 2, strlen(t->name + 2));
      at = test_put(text, at, sizeof(text), "` but got `", 11);
      digits = tvmffi_i_decimal(number, outside[k]);
      at = test_put(text, at, sizeof(text), digits, strlen(digits));
      (void)test_put(text, at, sizeof(text), "`", 1);
      FAILS(test_call_typed(t->typed, tvmffi_int(outside[k]), &any),
            "OverflowError", text);
    }
    FAILS(test_call_typed(t->typed, tvmffi_none(), &any), "TypeError",
          "...Expected `int` but got `None`");
#if !TVMFFI_NO_FLOAT
    FAILS(test_call_typed(t->typed, tvmffi_float(1), &any), "TypeError",
          "...Expected `int` but got `float`");
#endif
  }
  any = tvmffi_none();
  FAILS(tvmffi_func_u_too_large.call(NULL, NULL, 0, &any), "OverflowError",
        "Integer value 18446744073709551615 is too large to fit in int64_t. "
        "Consider explicitly casting to int64_t first if this is intentional.");
  FAILS(tvmffi_func_u_large_any.call(NULL, NULL, 0, &any), "OverflowError",
        NULL);
  CHECK_INT(any.type_index, kTVMFFINone);
  FAILS(tvmffi_any_assign(&any, tvmffi_uint(UINT64_MAX)), "OverflowError",
        NULL);
  CHECK_INT(any.type_index, kTVMFFINone);
}

static void test_typed_values(void) {
  static char buffer[4];
  DLDataType dtype = {kDLUInt, 8, 2};
  DLDevice device = TVMFFIDLDeviceFromIntPair(kDLCUDA, 1);
  TVMFFIAny any;
  OK(test_call_typed(&tvmffi_func_u_bool, tvmffi_int(5), &any));
  CHECK(any.type_index == kTVMFFIBool && any.v_int64 == 1);
  OK(test_call_typed(&tvmffi_func_u_bool, tvmffi_bool(0), &any));
  CHECK(any.type_index == kTVMFFIBool && any.v_int64 == 0);
  OK(test_call_typed(&tvmffi_func_u_word, tvmffi_bool(0), &any));
  CHECK(any.type_index == kTVMFFIBool && any.v_int64 == 1);
  FAILS(test_call_typed(&tvmffi_func_u_bool, tvmffi_str("x"), &any),
        "TypeError",
        "Mismatched type on argument #0 when calling: `u_bool(0: bool) -> "
        "bool`. Expected `bool` but got `const char*`");
#if !TVMFFI_NO_FLOAT
  OK(test_call_typed(&tvmffi_func_u_float64, tvmffi_float(2.5), &any));
  CHECK(any.type_index == kTVMFFIFloat && any.v_float64 == 2.5);
  OK(test_call_typed(&tvmffi_func_u_float64, tvmffi_int(-3), &any));
  CHECK(any.type_index == kTVMFFIFloat && any.v_float64 == -3);
  OK(test_call_typed(&tvmffi_func_u_float32, tvmffi_float(0.5), &any));
  CHECK(any.type_index == kTVMFFIFloat && any.v_float64 == 0.5);
  OK(test_call_typed(&tvmffi_func_u_float32, tvmffi_bool(1), &any));
  CHECK(any.v_float64 == 1);
  FAILS(test_call_typed(&tvmffi_func_u_float64, tvmffi_none(), &any),
        "TypeError", "...Expected `float` but got `None`");
  FAILS(test_call_typed(&tvmffi_func_u_float32, tvmffi_str(""), &any),
        "TypeError", NULL);
#endif
  OK(test_call_typed(&tvmffi_func_u_dtype, tvmffi_dtype(dtype), &any));
  CHECK(any.type_index == kTVMFFIDataType && test_is_clean(&any));
  CHECK(any.v_dtype.code == kDLUInt && any.v_dtype.lanes == 2);
  OK(test_call_typed(&tvmffi_func_u_dtype, tvmffi_str("float16"), &any));
  CHECK(any.v_dtype.code == kDLFloat && any.v_dtype.bits == 16);
  FAILS(test_call_typed(&tvmffi_func_u_dtype, tvmffi_str("flat"), &any),
        "ValueError", "unknown dtype `flat`");
  FAILS(test_call_typed(&tvmffi_func_u_dtype, tvmffi_int(1), &any), "TypeError",
        "...Expected `DataType` but got `int`");
  OK(test_call_typed(&tvmffi_func_u_device, tvmffi_device(device), &any));
  CHECK(any.type_index == kTVMFFIDevice && any.v_device.device_id == 1);
  OK(test_call_typed(&tvmffi_func_u_device, tvmffi_str("cpu"), &any));
  CHECK(any.v_device.device_type == kDLCPU && any.v_device.device_id == 0);
  FAILS(test_call_typed(&tvmffi_func_u_device, tvmffi_str("moon"), &any),
        "TypeError", "...Expected `Device` but got `const char*`");
  FAILS(test_call_typed(&tvmffi_func_u_device, tvmffi_int(1), &any),
        "TypeError", NULL);
  OK(test_call_typed(&tvmffi_func_u_ptr, tvmffi_ptr(buffer), &any));
  CHECK(any.type_index == kTVMFFIOpaquePtr && any.v_ptr == buffer);
  CHECK(test_is_clean(&any));
  OK(test_call_typed(&tvmffi_func_u_ptr, tvmffi_none(), &any));
  CHECK(any.type_index == kTVMFFIOpaquePtr && any.v_ptr == NULL);
  FAILS(test_call_typed(&tvmffi_func_u_ptr, tvmffi_int(0), &any), "TypeError",
        "...Expected `void*` but got `int`");
}

static void test_typed_texts(void) {
  TVMFFIByteArray small = {"a\0b", 3}, large = {"0123456789", 10};
  TVMFFIByteArray null = {NULL, 0};
  TVMFFIAny any, owned, view;
  OK(test_call_typed(&tvmffi_func_u_str, tvmffi_str("raw"), &any));
  CHECK(any.type_index == kTVMFFISmallStr && test_is_clean(&any));
  CHECK_TEXT(tvmffi_any_str(&any), "raw");
  OK(TVMFFIStringFromByteArray(&large, &owned));
  OWN_ANY(owned);
  OK(test_call_typed(&tvmffi_func_u_str, owned, &any));
  OWN_ANY(any);
  CHECK(any.type_index == kTVMFFIStr && any.v_obj != owned.v_obj);
  CHECK_TEXT(tvmffi_any_str(&any), "0123456789");
  OK(TVMFFIStringFromByteArray(&small, &owned));
  OK(test_call_typed(&tvmffi_func_u_str, owned, &any));
  CHECK_BYTES(tvmffi_any_str(&any), "a\0b", 3);
  OK(test_call_typed(&tvmffi_func_u_bytes, tvmffi_bytes(&small), &any));
  CHECK_INT(any.type_index, kTVMFFISmallBytes);
  CHECK_BYTES(tvmffi_any_str(&any), "a\0b", 3);
  OK(TVMFFIBytesFromByteArray(&large, &owned));
  OWN_ANY(owned);
  OK(test_call_typed(&tvmffi_func_u_bytes, owned, &any));
  OWN_ANY(any);
  CHECK_TEXT(tvmffi_any_str(&any), "0123456789");
  OK(TVMFFIBytesFromByteArray(&small, &owned));
  OK(test_call_typed(&tvmffi_func_u_bytes, owned, &any));
  CHECK_BYTES(tvmffi_any_str(&any), "a\0b", 3);
  OK(test_call_typed(&tvmffi_func_u_local, tvmffi_str("text"), &any));
  CHECK_BYTES(tvmffi_any_str(&any), "a local: text", 13);
  tvmffi_any_release(&any);
  OK(test_call_typed(&tvmffi_func_u_bytes, tvmffi_bytes(&null), &any));
  CHECK(any.type_index == kTVMFFISmallBytes && any.small_str_len == 0);
  FAILS(test_call_typed(&tvmffi_func_u_str, owned, &any), "TypeError",
        "...Expected `str` but got `ffi.SmallBytes`");
  FAILS(test_call_typed(&tvmffi_func_u_bytes, tvmffi_str("x"), &any),
        "TypeError", "...Expected `bytes` but got `const char*`");
  view = tvmffi_int(0);
  view.type_index = kTVMFFIRawStr;
  FAILS(test_call_typed(&tvmffi_func_u_str, view, &any), "TypeError", NULL);
  view.type_index = kTVMFFIByteArrayPtr;
  FAILS(test_call_typed(&tvmffi_func_u_bytes, view, &any), "TypeError", NULL);
}

/* A small string or bytes that claims more bytes than it has room for. */
static void test_false_texts(void) {
  static const uint32_t sizes[] = {8, 9, 1 << 20, UINT32_MAX};
  TVMFFIAny text, any;
  int i;
  for (i = 0; i < TEST_COUNT(sizes); ++i) {
    text = tvmffi_int(0);
    text.type_index = kTVMFFISmallStr;
    memcpy(text.v_bytes, "int32x2", 8);
    text.small_str_len = sizes[i];
    CHECK_TEXT(tvmffi_any_str(&text), "int32x2");
    FAILS(test_call_typed(&tvmffi_func_u_str, text, &any), "TypeError",
          "...Expected `str` but got `ffi.SmallStr`");
    any = tvmffi_int(77);
    FAILS(TVMFFIAnyViewToOwnedAny(&text, &any), "ValueError",
          "...A small string or bytes cannot have ");
    CHECK(any.type_index == kTVMFFIInt && any.v_int64 == 77);
    FAILS(test_call_typed(&tvmffi_func_u_dtype, text, &any), "TypeError",
          "...Expected `DataType` but got `ffi.SmallStr`");
    text.type_index = kTVMFFISmallBytes;
    CHECK_TEXT(tvmffi_any_str(&text), "int32x2");
    FAILS(test_call_typed(&tvmffi_func_u_bytes, text, &any), "TypeError",
          "...Expected `bytes` but got `ffi.SmallBytes`");
    FAILS(TVMFFIAnyViewToOwnedAny(&text, &any), "ValueError", NULL);
  }
}

static void test_typed_objects(void) {
  TVMFFIObject *f = test_typed(&tvmffi_func_u_none);
  DLTensor tensor;
  TVMFFIAny any, view = tvmffi_int(0);
  if (!f) return;
  memset((void *)&tensor, 0, sizeof(tensor));
  tensor.ndim = 5;
  OK(test_call_typed(&tvmffi_func_u_object, tvmffi_obj(f), &any));
  CHECK(any.type_index == kTVMFFIFunction && any.v_obj == f);
  CHECK(test_is_clean(&any) && test_strong(f) == 2);
  tvmffi_any_release(&any);
  OK(test_call_typed(&tvmffi_func_u_func, tvmffi_obj(f), &any));
  CHECK(any.v_obj == f && test_strong(f) == 2);
  tvmffi_any_release(&any);
  OK(test_call_typed(&tvmffi_func_u_any, tvmffi_obj(f), &any));
  CHECK(any.v_obj == f && test_strong(f) == 2);
  tvmffi_any_release(&any);
  any = tvmffi_none();
  OK(tvmffi_func_u_no_object.call(NULL, NULL, 0, &any));
  CHECK(any.type_index == kTVMFFINone && any.v_int64 == 0);
  OK(tvmffi_func_u_none.call(NULL, NULL, 0, &any));
  CHECK(any.type_index == kTVMFFINone && test_is_clean(&any));
  OK(test_call_typed(&tvmffi_func_u_tensor, tvmffi_tensor(&tensor), &any));
  CHECK_INT(any.v_int64, 5);
  FAILS(test_call_typed(&tvmffi_func_u_object, tvmffi_int(1), &any),
        "TypeError", "...Expected `ffi.Object` but got `int`");
  FAILS(test_call_typed(&tvmffi_func_u_func, tvmffi_none(), &any), "TypeError",
        "...Expected `ffi.Function` but got `None`");
  FAILS(test_call_typed(&tvmffi_func_u_func, tvmffi_obj(&tvmffi_i_memory_error),
                        &any),
        "TypeError", "...Expected `ffi.Function` but got `ffi.Error`");
  FAILS(test_call_typed(&tvmffi_func_u_tensor, tvmffi_obj(f), &any),
        "TypeError", "...Expected `DLTensor*` but got `ffi.Function`");
  view.type_index = kTVMFFIDLTensorPtr;
  FAILS(test_call_typed(&tvmffi_func_u_tensor, view, &any), "TypeError", NULL);
  view.type_index = kTVMFFIError;
  FAILS(test_call_typed(&tvmffi_func_u_object, view, &any), "TypeError", NULL);
  view.type_index = kTVMFFIFunction;
  FAILS(test_call_typed(&tvmffi_func_u_func, view, &any), "TypeError", NULL);
  view.type_index = 1 << 30;
  FAILS(test_call_typed(&tvmffi_func_u_int64, view, &any), "TypeError",
        "...Expected `int` but got `an unregistered type`");
}

TVMFFI_FUNC(u_0, int64) { TVMFFI_RETURN(0); }
TVMFFI_FUNC(u_1, int64, (int64, a)) { TVMFFI_RETURN(a); }
TVMFFI_FUNC(u_2, int64, (int64, a), (int64, b)) { TVMFFI_RETURN(a + b); }
TVMFFI_FUNC(u_3, int64, (int64, a), (int64, b), (int64, c)) {
  TVMFFI_RETURN(a + b + c);
}
TVMFFI_FUNC(u_4, int64, (int64, a), (int64, b), (int64, c), (int64, d)) {
  TVMFFI_RETURN(a + b + c + d);
}
TVMFFI_FUNC(u_5, int64, (int64, a), (int64, b), (int64, c), (int64, d),
            (int64, e)) {
  TVMFFI_RETURN(a + b + c + d + e);
}
TVMFFI_FUNC(u_6, int64, (int64, a), (int64, b), (int64, c), (int64, d),
            (int64, e), (int64, f)) {
  TVMFFI_RETURN(a + b + c + d + e + f);
}
TVMFFI_FUNC(u_7, int64, (int64, a), (int64, b), (int64, c), (int64, d),
            (int64, e), (int64, f), (int64, g)) {
  TVMFFI_RETURN(a + b + c + d + e + f + g);
}
TVMFFI_FUNC(u_8, int64, (int64, a), (int64, b), (int64, c), (int64, d),
            (int64, e), (int64, f), (int64, g), (int64, h)) {
  TVMFFI_RETURN(a + b + c + d + e + f + g + h);
}
TVMFFI_FUNC(u_9, int64, (int64, a), (int64, b), (int64, c), (int64, d),
            (int64, e), (int64, f), (int64, g), (int64, h), (int64, i)) {
  TVMFFI_RETURN(a + b + c + d + e + f + g + h + i);
}
TVMFFI_FUNC(u_10, int64, (int64, a), (int64, b), (int64, c), (int64, d),
            (int64, e), (int64, f), (int64, g), (int64, h), (int64, i),
            (int64, j)) {
  TVMFFI_RETURN(a + b + c + d + e + f + g + h + i + j);
}
TVMFFI_FUNC(u_11, int64, (int64, a), (int64, b), (int64, c), (int64, d),
            (int64, e), (int64, f), (int64, g), (int64, h), (int64, i),
            (int64, j), (int64, k)) {
  TVMFFI_RETURN(a + b + c + d + e + f + g + h + i + j + k);
}
TVMFFI_FUNC(u_12, int64, (int64, a), (int64, b), (int64, c), (int64, d),
            (int64, e), (int64, f), (int64, g), (int64, h), (int64, i),
            (int64, j), (int64, k), (int64, l)) {
  TVMFFI_RETURN(a + b + c + d + e + f + g + h + i + j + k + l);
}
TVMFFI_FUNC(u_13, int64, (int64, a), (int64, b), (int64, c), (int64, d),
            (int64, e), (int64, f), (int64, g), (int64, h), (int64, i),
            (int64, j), (int64, k), (int64, l), (int64, m)) {
  TVMFFI_RETURN(a + b + c + d + e + f + g + h + i + j + k + l + m);
}
TVMFFI_FUNC(u_14, int64, (int64, a), (int64, b), (int64, c), (int64, d),
            (int64, e), (int64, f), (int64, g), (int64, h), (int64, i),
            (int64, j), (int64, k), (int64, l), (int64, m), (int64, n)) {
  TVMFFI_RETURN(a + b + c + d + e + f + g + h + i + j + k + l + m + n);
}
TVMFFI_FUNC(u_15, int64, (int64, a), (int64, b), (int64, c), (int64, d),
            (int64, e), (int64, f), (int64, g), (int64, h), (int64, i),
            (int64, j), (int64, k), (int64, l), (int64, m), (int64, n),
            (int64, o)) {
  TVMFFI_RETURN(a + b + c + d + e + f + g + h + i + j + k + l + m + n + o);
}
TVMFFI_FUNC(u_16, int64, (int64, a), (int64, b), (int64, c), (int64, d),
            (int64, e), (int64, f), (int64, g), (int64, h), (int64, i),
            (int64, j), (int64, k), (int64, l), (int64, m), (int64, n),
            (int64, o), (int64, p)) {
  TVMFFI_RETURN(a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p);
}

static const tvmffi_func *const test_counts_of[] = {
    &tvmffi_func_u_0,  &tvmffi_func_u_1,  &tvmffi_func_u_2,  &tvmffi_func_u_3,
    &tvmffi_func_u_4,  &tvmffi_func_u_5,  &tvmffi_func_u_6,  &tvmffi_func_u_7,
    &tvmffi_func_u_8,  &tvmffi_func_u_9,  &tvmffi_func_u_10, &tvmffi_func_u_11,
    &tvmffi_func_u_12, &tvmffi_func_u_13, &tvmffi_func_u_14, &tvmffi_func_u_15,
    &tvmffi_func_u_16};

static void test_typed_counts(void) {
  TVMFFIAny args[18], result;
  int n, i;
  for (i = 0; i < TEST_COUNT(args); ++i) args[i] = tvmffi_int(1 << i);
  for (n = 0; n <= 16; ++n) {
    const tvmffi_func *typed = test_counts_of[n];
    CHECK_INT(typed->num_args, n);
    result = tvmffi_none();
    OK(typed->call(NULL, args, n, &result));
    CHECK_INT(result.v_int64, (1 << n) - 1);
    result = tvmffi_none();
    FAILS(typed->call(NULL, args, n + 1, &result), "TypeError",
          "...Mismatched number of arguments when calling: `u_");
    if (n)
      FAILS(typed->call(NULL, args, n - 1, &result), "TypeError",
            "...arguments");
    CHECK_INT(result.type_index, kTVMFFINone);
    for (i = 0; i < n; ++i) {
      args[i].type_index = kTVMFFINone;
      FAILS(typed->call(NULL, args, n, &result), "TypeError",
            "...Expected `int` but got `None`");
      args[i].type_index = kTVMFFIInt;
    }
  }
  FAILS(tvmffi_func_u_0.call(NULL, args, 1, &result), "TypeError",
        "Mismatched number of arguments when calling: `u_0() -> int`. Expected "
        "0 but got 1 arguments");
  FAILS(tvmffi_func_u_2.call(NULL, args, 3, &result), "TypeError",
        "Mismatched number of arguments when calling: `u_2(0: int, 1: int) -> "
        "int`. Expected 2 but got 3 arguments");
  args[12] = tvmffi_none();
  FAILS(tvmffi_func_u_16.call(NULL, args, 16, &result), "TypeError",
        "Mismatched type on argument #12 when calling: `u_16(0: int, 1: int, "
        "2: int, 3: int, 4: int, 5: int, 6: int, 7: int, 8: int, 9: int, 10: "
        "int, 11: int, 12: int, 13: int, 14: int, 15: int) -> int`. Expected "
        "`int` but got `None`");
}

static void test_typed_codes(void) {
  TVMFFIAny result = tvmffi_none(), full = tvmffi_obj(&tvmffi_i_memory_error);
  TVMFFIObject *error;
  CHECK_INT(test_call_typed(&tvmffi_func_u_code, tvmffi_int(-2), &result), -2);
  CHECK_INT(test_call_typed(&tvmffi_func_u_code, tvmffi_int(0), &result), 0);
  CHECK(tvmffi_error_take() == NULL);
  FAILS(tvmffi_func_u_raise.call(NULL, NULL, 0, &result), "IndexError", "no 7");
  /* The trace names the function as it is written. */
  CHECK_INT(tvmffi_func_u_raise.call(NULL, NULL, 0, &result), -1);
  error = tvmffi_error_take();
  if (!CHECK(error != NULL)) return;
  OWN(error);
  if (!test_hits())
    CHECK(test_contains(TVMFFIErrorGetCellPtr(error)->backtrace,
                        ", in u_raise\n"));
  FAILS(tvmffi_func_u_0.call(NULL, NULL, 0, &full), "TypeError",
        "The result must be empty, as it would be lost, when calling: `u_0() "
        "-> int`. Expected None but got type index 67");
}

/* A code without an error gets one: Python's package crashes on an empty
   slot. */
static void test_typed_silence(void) {
  TVMFFIAny result = tvmffi_none();
  FAILS(test_call_typed(&tvmffi_func_u_code, tvmffi_int(7), &result),
        "RuntimeError", "u_code returned 7, but raised no error");
  FAILS(test_call_typed(&tvmffi_func_u_code, tvmffi_int(-1), &result),
        "RuntimeError", "u_code returned -1, but raised no error");
}

TVMFFI_EXPORT(unit_export, str, (func, f), (tensor, t), (object, o)) {
  (void)t, (void)o;
  TVMFFI_TRY(tvmffi_call(tvmffi_obj(f), tvmffi_out_any(NULL)));
  TVMFFI_RETURN(tvmffi_view("exported"));
}
TVMFFI_FUNC(u_long, dtype, (func, a), (func, b), (func, c), (func, d),
            (func, e), (func, f), (func, g), (func, h), (func, i), (func, j),
            (func, k), (func, l), (func, m), (func, n), (func, o), (func, p)) {
  DLDataType t = {0, 0, 0};
  (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
  (void)i, (void)j, (void)k, (void)l, (void)m, (void)n, (void)o, (void)p;
  TVMFFI_RETURN(t);
}

static void test_export(void) {
  TVMFFIObject *f = test_typed(&tvmffi_func_u_none);
  TVMFFIAny args[3], result = tvmffi_none();
  DLTensor tensor;
  if (!f) return;
  memset((void *)&tensor, 0, sizeof(tensor));
  args[0] = tvmffi_obj(f);
  args[1] = tvmffi_tensor(&tensor);
  args[2] = tvmffi_obj(f);
  OK(__tvm_ffi_unit_export(NULL, args, 3, &result));
  OWN_ANY(result);
  CHECK_TEXT(tvmffi_any_str(&result), "exported");
  OK(__tvm_ffi__metadata_unit_export(NULL, NULL, 0, &result));
  OWN_ANY(result);
  CHECK_TEXT(tvmffi_any_str(&result),
             SCHEMA("ffi.String", PARAM("ffi.Function") "," PARAM(
                                      "DLTensor*") "," PARAM("ffi.Object")));
}

static void test_schemas(void) {
  static const struct {
    const tvmffi_func *typed;
    const char *text;
  } cases[] = {
      {&tvmffi_func_u_none, SCHEMA("None", "")},
      {&tvmffi_func_u_any, SCHEMA("Any", PARAM("Any"))},
      {&tvmffi_func_u_bool, SCHEMA("bool", PARAM("bool"))},
      {&tvmffi_func_u_int8, SCHEMA("int", PARAM("int"))},
      {&tvmffi_func_u_uint64, SCHEMA("int", PARAM("int"))},
      {&tvmffi_func_u_bytes, SCHEMA("ffi.Bytes", PARAM("ffi.Bytes"))},
      {&tvmffi_func_u_dtype, SCHEMA("DataType", PARAM("DataType"))},
      {&tvmffi_func_u_device, SCHEMA("Device", PARAM("Device"))},
      {&tvmffi_func_u_ptr, SCHEMA("void*", PARAM("void*"))},
      {&tvmffi_func_u_2, SCHEMA("int", PARAM("int") "," PARAM("int"))}};
  char buffer[1024];
  TVMFFIByteArray got;
  int i;
  for (i = 0; i < TEST_COUNT(cases); ++i)
    CHECK_TEXT(tvmffi_i_metadata(cases[i].typed, buffer), cases[i].text);
  got = tvmffi_i_metadata(&tvmffi_func_u_long, buffer);
  CHECK(got.size < sizeof(buffer));
  CHECK_TEXT(test_bytes(got.data + got.size - 4, 4), "}}\"}");
#if !TVMFFI_NO_FLOAT
  CHECK_TEXT(tvmffi_i_metadata(&tvmffi_func_u_float32, buffer),
             SCHEMA("float", PARAM("float")));
#endif
}

static void test_register(void) {
  TVMFFIObject *f = NULL;
  int64_t n = 0;
  TVMFFIAny any;
  OK(tvmffi_register_as("unit.register", u_2, 1));
  OK(tvmffi_call(tvmffi_str("unit.register"), tvmffi_out_int64(&n),
                 tvmffi_int(2), tvmffi_int(3)));
  CHECK_INT(n, 5);
  if (!TVMFFI_NO_TYPES) {
    any = test_metadata_of("unit.register");
    if (any.type_index == kTVMFFINone) return;
    CHECK_TEXT(tvmffi_any_str(&any),
               SCHEMA("int", PARAM("int") "," PARAM("int")));
  }
  FAILS(tvmffi_call(tvmffi_str("unit.register"), tvmffi_out_int64(&n)),
        "TypeError",
        "Mismatched number of arguments when calling: `unit.register(0: int, "
        "1: int) -> int`. Expected 2 but got 0 arguments");
  FAILS(tvmffi_register("unit.register", u_1), "RuntimeError",
        "...Global Function `unit.register` is already registered");
  CHECK_TEXT(tvmffi_view(tvmffi_func_u_1.name), "u_1");
  tvmffi_func_u_2.name = "u_2";
  OK(tvmffi_function(u_2, &f));
  OWN(f);
  OK(tvmffi_call(tvmffi_obj(f), tvmffi_out_int64(&n), tvmffi_int(4),
                 tvmffi_int(3)));
  CHECK_INT(n, 7);
  OK(tvmffi_call(tvmffi_str("ffi.FunctionRemoveGlobal"), tvmffi_out_any(NULL),
                 tvmffi_str("unit.register")));
}

TVMFFI_FUNC(u_opt_int, optional(int64), (optional(int64), x)) {
  TVMFFI_RETURN(x.has_value ? tvmffi_some_int64(x.value + 1)
                            : tvmffi_no_int64());
}
TVMFFI_FUNC(u_opt_bool, optional(bool), (optional(bool), x)) {
  TVMFFI_RETURN(x);
}
TVMFFI_FUNC(u_opt_str, optional(str), (optional(str), x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_opt_any, optional(any), (optional(any), x)) {
  if (x.has_value) TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(&x.value, &x.value));
  TVMFFI_RETURN(x);
}
TVMFFI_FUNC(u_opt_ptr, optional(ptr), (optional(ptr), x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(u_opt_func, optional(func), (optional(func), x)) {
  if (x) tvmffi_retain(x);
  TVMFFI_RETURN(x);
}
TVMFFI_FUNC(u_opt_tensor, bool, (optional(tensor), x)) {
  TVMFFI_RETURN(x != NULL);
}

static void test_typed_optional(void) {
  TVMFFIObject *f = test_typed(&tvmffi_func_u_none);
  TVMFFIAny any;
  DLTensor tensor;
  int here = 0;
  memset((void *)&tensor, 0, sizeof(tensor));
  if (!f) return;
  OK(test_call_typed(&tvmffi_func_u_opt_int, tvmffi_int(4), &any));
  CHECK(any.type_index == kTVMFFIInt && any.v_int64 == 5);
  OK(test_call_typed(&tvmffi_func_u_opt_int, tvmffi_none(), &any));
  CHECK(any.type_index == kTVMFFINone && test_is_clean(&any));
  FAILS(test_call_typed(&tvmffi_func_u_opt_int, tvmffi_str("x"), &any),
        "TypeError",
        "Mismatched type on argument #0 when calling: `u_opt_int(0: "
        "Optional<int>) -> Optional<int>`. Expected `Optional<int>` but got "
        "`const char*`");
  OK(test_call_typed(&tvmffi_func_u_opt_bool, tvmffi_bool(1), &any));
  CHECK(any.type_index == kTVMFFIBool && any.v_int64 == 1);
  OK(test_call_typed(&tvmffi_func_u_opt_str, tvmffi_str("text"), &any));
  CHECK_TEXT(tvmffi_any_str(&any), "text");
  OK(test_call_typed(&tvmffi_func_u_opt_str, tvmffi_none(), &any));
  CHECK(any.type_index == kTVMFFINone);
  OK(test_call_typed(&tvmffi_func_u_opt_any, tvmffi_obj(f), &any));
  CHECK(any.v_obj == f && test_strong(f) == 2);
  tvmffi_any_release(&any);
  OK(test_call_typed(&tvmffi_func_u_opt_any, tvmffi_none(), &any));
  CHECK(any.type_index == kTVMFFINone);
  OK(test_call_typed(&tvmffi_func_u_opt_ptr, tvmffi_ptr(&here), &any));
  CHECK(any.type_index == kTVMFFIOpaquePtr && any.v_ptr == &here);
  OK(test_call_typed(&tvmffi_func_u_opt_ptr, tvmffi_none(), &any));
  CHECK(any.type_index == kTVMFFINone && test_is_clean(&any));
  OK(test_call_typed(&tvmffi_func_u_opt_func, tvmffi_obj(f), &any));
  CHECK(any.v_obj == f && test_strong(f) == 2);
  tvmffi_any_release(&any);
  OK(test_call_typed(&tvmffi_func_u_opt_func, tvmffi_none(), &any));
  CHECK(any.type_index == kTVMFFINone);
  OK(test_call_typed(&tvmffi_func_u_opt_tensor, tvmffi_none(), &any));
  CHECK_INT(any.v_int64, 0);
  OK(test_call_typed(&tvmffi_func_u_opt_tensor, tvmffi_tensor(&tensor), &any));
  CHECK_INT(any.v_int64, 1);
}

#if !TVMFFI_NO_CONTAINERS
#define U_CONTAINER(name, T)     \
  TVMFFI_FUNC(name, T, (T, x)) { \
    if (x) tvmffi_retain(x);     \
    TVMFFI_RETURN(x);            \
  }
U_CONTAINER(u_array, array)
U_CONTAINER(u_list, list)
U_CONTAINER(u_map, map)
U_CONTAINER(u_dict, dict)
U_CONTAINER(u_shape, shape)
U_CONTAINER(u_ints, array(int64))
U_CONTAINER(u_bytes8, list(int8))
U_CONTAINER(u_texts, map(str, int64))
U_CONTAINER(u_tables, array(map(str, int64)))
U_CONTAINER(u_rows, map(any, array(int64)))
U_CONTAINER(u_some_ints, array(optional(int64)))
U_CONTAINER(u_opt_ints, optional(array(int64)))
U_CONTAINER(u_opt_list, optional(list))

/* Makes a container by one of the functions that a file looks up. */
static TVMFFIAny test_container(int maker, TVMFFIAny a, TVMFFIAny b) {
  TVMFFIAny args[2], result = tvmffi_none();
  args[0] = a;
  args[1] = b;
  (void)test_code(tvmffi_i_ask(maker, args, 2, &result), __FILE__, __LINE__,
                  tvmffi_i_known_name(maker));
  OWN_ANY(result);
  return result;
}

#define PASSES(name, given)                                \
  do {                                                     \
    OK(test_call_typed(&tvmffi_func_##name, given, &any)); \
    CHECK(any.v_obj == (given).v_obj);                     \
    tvmffi_any_release(&any);                              \
  } while (0)
#define CONVERTS(name, given, index)                                \
  do {                                                              \
    OK(test_call_typed(&tvmffi_func_##name, given, &any));          \
    CHECK(any.type_index == (index) && any.v_obj != (given).v_obj); \
    CHECK(test_strong(any.v_obj) == 1);                             \
    tvmffi_any_release(&any);                                       \
  } while (0)
#define REFUSES(name, given, want, got)                                     \
  do {                                                                      \
    int code = test_call_typed(&tvmffi_func_##name, given, &any);           \
    FAILS(code, "TypeError",                                                \
          test_hits() ? NULL : "...Expected `" want "` but got `" got "`"); \
  } while (0)

static void test_typed_containers(void) {
  TVMFFIAny one = tvmffi_int(1), two = tvmffi_int(2), any;
  TVMFFIAny array = test_container(TVMFFI_I_NEW_ARRAY, one, two);
  TVMFFIAny list = test_container(TVMFFI_I_NEW_LIST, one, two);
  TVMFFIAny map = test_container(TVMFFI_I_NEW_MAP, tvmffi_str("k"), two);
  TVMFFIAny dict = test_container(TVMFFI_I_NEW_DICT, tvmffi_str("k"), two);
  TVMFFIAny mixed = test_container(TVMFFI_I_NEW_ARRAY, one, tvmffi_str("x"));
  if (test_hits()) return;
  PASSES(u_array, array);
  PASSES(u_list, list);
  PASSES(u_map, map);
  PASSES(u_dict, dict);
  PASSES(u_array, mixed);
  PASSES(u_opt_list, list);
  CONVERTS(u_array, list, kTVMFFIArray);
  CONVERTS(u_list, array, kTVMFFIList);
  CONVERTS(u_map, dict, kTVMFFIMap);
  CONVERTS(u_dict, map, kTVMFFIDict);
  CONVERTS(u_shape, array, kTVMFFIShape);
  CONVERTS(u_shape, list, kTVMFFIShape);
  CONVERTS(u_opt_list, array, kTVMFFIList);
  OK(test_call_typed(&tvmffi_func_u_opt_list, tvmffi_none(), &any));
  CHECK(any.type_index == kTVMFFINone);
  REFUSES(u_array, map, "Array<Any>", "ffi.Map");
  REFUSES(u_map, array, "Map<Any, Any>", "ffi.Array");
  REFUSES(u_list, tvmffi_none(), "List<Any>", "None");
  REFUSES(u_dict, one, "Dict<Any, Any>", "int");
  REFUSES(u_shape, mixed, "ffi.Shape", "ffi.Array");
  REFUSES(u_shape, map, "ffi.Shape", "ffi.Map");
  REFUSES(u_opt_list, one, "Optional<List<Any>>", "int");
  any = array;
  any.v_obj = NULL; /* no object behind the index */
  REFUSES(u_array, any, "Array<Any>", "ffi.Array");
}

static void test_typed_elements(void) {
  TVMFFIAny one = tvmffi_int(1), two = tvmffi_int(2), any;
  TVMFFIAny ints = test_container(TVMFFI_I_NEW_ARRAY, one, two);
  TVMFFIAny list = test_container(TVMFFI_I_NEW_LIST, one, two);
  TVMFFIAny bools = test_container(TVMFFI_I_NEW_ARRAY, one, tvmffi_bool(1));
  TVMFFIAny mixed = test_container(TVMFFI_I_NEW_ARRAY, one, tvmffi_str("x"));
  TVMFFIAny some = test_container(TVMFFI_I_NEW_ARRAY, one, tvmffi_none());
  TVMFFIAny large = test_container(TVMFFI_I_NEW_LIST, one, tvmffi_int(300));
  TVMFFIAny map = test_container(TVMFFI_I_NEW_MAP, tvmffi_str("k"), one);
  TVMFFIAny yes =
      test_container(TVMFFI_I_NEW_MAP, tvmffi_str("k"), tvmffi_bool(1));
  TVMFFIAny key = test_container(TVMFFI_I_NEW_MAP, two, one);
  TVMFFIAny value = test_container(TVMFFI_I_NEW_DICT, tvmffi_str("k"), mixed);
  TVMFFIAny row = test_container(TVMFFI_I_NEW_MAP, two, ints);
  TVMFFIAny maps = test_container(TVMFFI_I_NEW_ARRAY, map, map);
  TVMFFIAny keys = test_container(TVMFFI_I_NEW_ARRAY, map, key);
  if (test_hits()) return;
  PASSES(u_ints, ints);
  PASSES(u_bytes8, list);
  PASSES(u_texts, map);
  PASSES(u_tables, maps);
  PASSES(u_rows, row);
  PASSES(u_some_ints, some);
  PASSES(u_some_ints, ints);
  PASSES(u_opt_ints, ints);
  CONVERTS(u_ints, list, kTVMFFIArray);
  CONVERTS(u_ints, bools, kTVMFFIArray);
  CONVERTS(u_opt_ints, bools, kTVMFFIArray);
  CONVERTS(u_texts, yes, kTVMFFIMap);
  OK(test_call_typed(&tvmffi_func_u_ints, bools, &any));
  CHECK_INT(((TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, any.v_obj)->data)[1]
                .type_index,
            kTVMFFIInt);
  tvmffi_any_release(&any);
  OK(test_call_typed(&tvmffi_func_u_opt_ints, tvmffi_none(), &any));
  CHECK(any.type_index == kTVMFFINone);
  REFUSES(u_ints, mixed, "Array<int>", "Array[index 1: ffi.SmallStr]");
  REFUSES(u_ints, one, "Array<int>", "int");
  REFUSES(u_opt_ints, mixed, "Optional<Array<int>>",
          "Array[index 1: ffi.SmallStr]");
  REFUSES(u_texts, key, "Map<str, int>", "Map[some key is int, V]");
  REFUSES(u_texts, value, "Map<str, int>", "Map[K, some value is ffi.Array]");
  REFUSES(u_rows, value, "Map<Any, Array<int>>",
          "Map[K, some value is Array[index 1: ffi.SmallStr]]");
  REFUSES(u_tables, keys, "Array<Map<str, int>>",
          "Array[index 1: Map[some key is int, V]]");
  FAILS(test_call_typed(&tvmffi_func_u_bytes8, large, &any), "OverflowError",
        "Value out of range in argument #0 when calling: `u_bytes8(0: "
        "List<int>) -> List<int>`. Expected `int8` but got `List[index 1: "
        "300]`");
}

/* Each allocation of these conversions may be refused. */
static void test_typed_conversions(void) {
  TVMFFIAny one = tvmffi_int(1), any;
  TVMFFIAny bools = test_container(TVMFFI_I_NEW_LIST, one, tvmffi_bool(1));
  TVMFFIAny yes =
      test_container(TVMFFI_I_NEW_DICT, tvmffi_str("k"), tvmffi_bool(1));
  TVMFFIAny texts =
      test_container(TVMFFI_I_NEW_DICT, tvmffi_str("a longer key"), one);
  TVMFFIAny mixed = test_container(TVMFFI_I_NEW_DICT, one, one);
  if (!bools.v_obj || !yes.v_obj || !texts.v_obj || !mixed.v_obj) return;
  OK(test_call_typed(&tvmffi_func_u_ints, bools, &any));
  tvmffi_any_release(&any);
  OK(test_call_typed(&tvmffi_func_u_shape, bools, &any));
  tvmffi_any_release(&any);
  OK(test_call_typed(&tvmffi_func_u_texts, yes, &any));
  tvmffi_any_release(&any);
  OK(test_call_typed(&tvmffi_func_u_texts, texts, &any));
  tvmffi_any_release(&any);
  FAILS(test_call_typed(&tvmffi_func_u_texts, mixed, &any), "TypeError", NULL);
}

TVMFFI_FUNC(u_wide, none, (map(str, array(int64)), a),
            (map(str, array(int64)), b), (map(str, array(int64)), c),
            (map(str, array(int64)), d), (map(str, array(int64)), e),
            (map(str, array(int64)), f), (map(str, array(int64)), g),
            (map(str, array(int64)), h), (map(str, array(int64)), i),
            (map(str, array(int64)), j), (map(str, array(int64)), k),
            (map(str, array(int64)), l), (map(str, array(int64)), m),
            (map(str, array(int64)), n), (map(str, array(int64)), o),
            (map(str, array(int64)), p)) {
  (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
  (void)i, (void)j, (void)k, (void)l, (void)m, (void)n, (void)o, (void)p;
  TVMFFI_RETURN();
}

static void test_wide_signature(void) {
  char buffer[TVMFFI_I_METADATA];
  TVMFFIAny result = tvmffi_none();
  TVMFFIByteArray got = tvmffi_i_metadata(&tvmffi_func_u_wide, buffer);
  CHECK(got.size > 1600 && got.size < sizeof(buffer));
  FAILS(tvmffi_func_u_wide.call(NULL, NULL, 0, &result), "TypeError",
        "..., 15: Map<str, Array<int>>) -> void`. Expected 16 but got 0 "
        "arguments");
  CHECK_TEXT(
      tvmffi_i_metadata(&tvmffi_func_u_opt_ints, buffer),
      "{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\",\\\"named_args\\\""
      ":{\\\"return\\\":[{\\\"type\\\":\\\"Optional\\\",\\\"args\\\":[{"
      "\\\"type\\\":\\\"ffi.Array\\\",\\\"args\\\":[{\\\"type\\\":\\\"int\\\"}]"
      "}]}],\\\"params\\\":[{\\\"type\\\":\\\"Optional\\\",\\\"args\\\":[{"
      "\\\"type\\\":\\\"ffi.Array\\\",\\\"args\\\":[{\\\"type\\\":\\\"int\\\"}]"
      "}]}]}}\"}");
}
#endif

TVMFFI_CLOSURE(u_closure, int64_t, int64, (int64, x)) {
  TVMFFI_RETURN(*self += x);
}
TVMFFI_CLOSURE(u_unused, int64_t, none) { TVMFFI_RETURN(); }

static int test_closures_ended;
static void test_end_closure(void *self) {
  (void)self;
  ++test_closures_ended;
}

static void test_closure(void) {
  int64_t state = 10, n = 0;
  TVMFFIObject *f = NULL, *g = NULL;
  test_closures_ended = 0;
  OK(tvmffi_closure(u_unused, &state, NULL, &g));
  OWN(g);
  OK(tvmffi_call(tvmffi_obj(g), tvmffi_out_any(NULL)));
  if (tvmffi_closure(u_closure, &state, test_end_closure, &f)) {
    CHECK(test_hits() && test_closures_ended == 1); /* taken all the same */
    tvmffi_error_clear();
    return;
  }
  OK(tvmffi_call(tvmffi_obj(f), tvmffi_out_int64(&n), tvmffi_int(5)));
  CHECK(n == 15 && state == 15);
  FAILS(tvmffi_call(tvmffi_obj(f), tvmffi_out_int64(&n), tvmffi_none()),
        "TypeError",
        "Mismatched type on argument #0 when calling: `u_closure(0: int) -> "
        "int`. Expected `int` but got `None`");
  CHECK_INT(test_closures_ended, 0);
  tvmffi_release(f);
  CHECK_INT(test_closures_ended, 1);
}

TVMFFI_DOC(unit_export, "Tells \"what\" it is for")

static void test_docs(void) {
  TVMFFIAny result = tvmffi_none();
  OK(__tvm_ffi__doc_unit_export(NULL, NULL, 0, &result));
  OWN_ANY(result);
  CHECK_TEXT(tvmffi_any_str(&result), "Tells \"what\" it is for");
  OK(tvmffi_register_doc("unit.documented", u_0, "Gives 0"));
  tvmffi_func_u_0.name = "u_0";
  OK(tvmffi_call(tvmffi_str("ffi.FunctionRemoveGlobal"), tvmffi_out_any(NULL),
                 tvmffi_str("unit.documented")));
}

/* ======== Calls =========================================================== */

/* Each kind of target, by the constructors that C99 has. */
static void test_out_constructors(void) {
  TVMFFIObject *echo = test_typed(&tvmffi_func_u_any);
  TVMFFIAny f = tvmffi_obj(echo), any = tvmffi_none();
  int8_t i8 = 0;
  int16_t i16 = 0;
  int32_t i32 = 0;
  int64_t i64 = 0;
  uint8_t u8 = 0;
  uint16_t u16 = 0;
  uint32_t u32 = 0;
  uint64_t u64 = 0;
  tvmffi_type_bool b = 0;
  DLDataType dtype = {0, 0, 0};
  DLDevice device = TVMFFIDLDeviceFromIntPair(0, 0);
  void *p = NULL;
  TVMFFIObject *o = NULL;
  if (!echo) return;
  OK(tvmffi_call(f, tvmffi_out_int8(&i8), tvmffi_int(-8)));
  OK(tvmffi_call(f, tvmffi_out_int16(&i16), tvmffi_int(-16)));
  OK(tvmffi_call(f, tvmffi_out_int32(&i32), tvmffi_int(-32)));
  OK(tvmffi_call(f, tvmffi_out_int64(&i64), tvmffi_int(INT64_MIN)));
  OK(tvmffi_call(f, tvmffi_out_uint8(&u8), tvmffi_int(255)));
  OK(tvmffi_call(f, tvmffi_out_uint16(&u16), tvmffi_int(65535)));
  OK(tvmffi_call(f, tvmffi_out_uint32(&u32), tvmffi_int(UINT32_MAX)));
  OK(tvmffi_call(f, tvmffi_out_uint64(&u64), tvmffi_int(INT64_MAX)));
  OK(tvmffi_call(f, tvmffi_out_bool(&b), tvmffi_int(5)));
  CHECK(i8 == -8 && i16 == -16 && i32 == -32 && i64 == INT64_MIN);
  CHECK(u8 == 255 && u16 == 65535 && u32 == UINT32_MAX && u64 == INT64_MAX);
  CHECK(b == 1);
  OK(tvmffi_call(f, tvmffi_out_dtype(&dtype), tvmffi_str("int8x4")));
  CHECK(dtype.code == kDLInt && dtype.bits == 8 && dtype.lanes == 4);
  OK(tvmffi_call(f, tvmffi_out_device(&device), tvmffi_str("cuda:2")));
  CHECK(device.device_type == kDLCUDA && device.device_id == 2);
  OK(tvmffi_call(f, tvmffi_out_ptr(&p), tvmffi_ptr(&i8)));
  CHECK(p == &i8);
  OK(tvmffi_call(f, tvmffi_out_object(&o), tvmffi_obj(echo)));
  OWN(o);
  CHECK(o == echo && test_strong(echo) == 2);
  OK(tvmffi_call(f, tvmffi_out_any(&any), tvmffi_obj(echo)));
  OWN_ANY(any);
  CHECK(any.v_obj == echo && test_strong(echo) == 3);
  OK(tvmffi_call(f, tvmffi_out_none(NULL), tvmffi_obj(echo)));
  CHECK_INT(test_strong(echo), 3);
  OK(tvmffi_call(f, tvmffi_out_any(NULL), tvmffi_str("a long result")));
#if !TVMFFI_NO_FLOAT
  {
    float f32 = 0;
    double f64 = 0;
    OK(tvmffi_call(f, tvmffi_out_float32(&f32), tvmffi_float(0.5)));
    OK(tvmffi_call(f, tvmffi_out_float64(&f64), tvmffi_int(-7)));
    CHECK(f32 == 0.5f && f64 == -7);
  }
#endif
}

static void test_bad_results(void) {
  TVMFFIObject *echo = test_typed(&tvmffi_func_u_any), *o = NULL;
  TVMFFIAny f = tvmffi_obj(echo);
  int8_t i8 = 3;
  uint64_t u64 = 3;
  int64_t i64 = 3;
  DLDataType dtype = {9, 9, 9};
  if (!echo) return;
  FAILS(tvmffi_call(f, tvmffi_out_int8(&i8), tvmffi_int(128)), "OverflowError",
        "The value 128 is out of range of int8");
  FAILS(tvmffi_call(f, tvmffi_out_uint64(&u64), tvmffi_int(-1)),
        "OverflowError", "The value -1 is out of range of uint64");
  FAILS(tvmffi_call(f, tvmffi_out_none(&i8), tvmffi_int(1)), "TypeError",
        "Cannot convert from type `int` to `void`");
  OK(tvmffi_call(f, tvmffi_out_none(NULL), tvmffi_int(1)));
  FAILS(tvmffi_call(f, tvmffi_out_int64(&i64), tvmffi_none()), "TypeError",
        "Cannot convert from type `None` to `int`");
  FAILS(tvmffi_call(f, tvmffi_out_int64(&i64), tvmffi_str("a long string")),
        "TypeError", "Cannot convert from type `ffi.String` to `int`");
  FAILS(tvmffi_call(f, tvmffi_out_object(&o), tvmffi_int(1)), "TypeError",
        "Cannot convert from type `int` to `ffi.Object`");
  FAILS(tvmffi_call(f, tvmffi_out_dtype(&dtype), tvmffi_str("flat")),
        "ValueError", "unknown dtype `flat`");
  CHECK(i8 == 3 && u64 == 3 && i64 == 3 && o == NULL && dtype.code == 9);
}

static void test_buffers(void) {
  TVMFFIObject *echo = test_typed(&tvmffi_func_u_any);
  char text[8] = "unused";
  tvmffi_buffer buffer;
  if (!echo) return;
  buffer.data = text;
  buffer.size = sizeof(text);
  OK(tvmffi_call(tvmffi_obj(echo), tvmffi_out_buffer(&buffer),
                 tvmffi_str("seven x")));
  CHECK(buffer.size == 7 && strcmp(text, "seven x") == 0);
  FAILS(tvmffi_call(tvmffi_obj(echo), tvmffi_out_buffer(&buffer),
                    tvmffi_str("seven y")),
        "ValueError", "The text has 7 bytes and a NUL, the buffer room for 7");
  CHECK(buffer.size == 7 && strcmp(text, "seven x") == 0);
  FAILS(
      tvmffi_call(tvmffi_obj(echo), tvmffi_out_buffer(&buffer), tvmffi_int(1)),
      "TypeError", "Cannot convert from type `int` to `str`");
}

/* No integer wraps around on its way into a call. */
static void test_wide_integers(void) {
  TVMFFIObject *echo = test_typed(&tvmffi_func_u_any);
  int64_t n = 0;
  if (!echo) return;
  OK(tvmffi_call(tvmffi_obj(echo), tvmffi_out_int64(&n),
                 tvmffi_uint(INT64_MAX)));
  CHECK_INT(n, INT64_MAX);
  FAILS(tvmffi_call(tvmffi_obj(echo), tvmffi_out_int64(&n),
                    tvmffi_uint((uint64_t)INT64_MAX + 1)),
        "OverflowError",
        "...Integer value 9223372036854775808 is too large to fit in int64_t");
#if TVMFFI_I_GENERIC
  FAILS(tvmffi_call(echo, &n, UINT64_MAX), "OverflowError", NULL);
  OK(tvmffi_call(echo, &n, (uint64_t)7));
  CHECK_INT(n, 7);
#endif
}

static void test_as(void) {
  TVMFFIByteArray raw = {"a\0b", 3};
  DLDataType dtype = {0, 0, 0};
  TVMFFIAny text, copy;
  uint8_t byte = 7;
  OK(tvmffi_as(tvmffi_str("float16x2"), tvmffi_out_dtype(&dtype)));
  CHECK_INT(dtype.lanes, 2);
  OK(tvmffi_dtype_name(dtype, &text));
  OWN_ANY(text);
  CHECK(tvmffi_equal(text, tvmffi_str("float16x2")));
  CHECK(!tvmffi_equal(text, tvmffi_str("float16x4")));
  CHECK(!tvmffi_equal(text, tvmffi_str("float16")));
  OK(tvmffi_as(tvmffi_bytes(&raw), tvmffi_out_any(&copy)));
  CHECK_INT(copy.type_index, kTVMFFISmallBytes);
  CHECK(tvmffi_equal(copy, tvmffi_bytes(&raw)));
  raw.size = 1;
  CHECK(!tvmffi_equal(copy, tvmffi_bytes(&raw)));
  CHECK(!tvmffi_equal(tvmffi_str("a"), tvmffi_bytes(&raw)));
  CHECK(tvmffi_equal(tvmffi_int(1), tvmffi_int(1)));
  CHECK(!tvmffi_equal(tvmffi_int(1), tvmffi_bool(1)));
  CHECK(!tvmffi_equal(tvmffi_none(), tvmffi_str("")));
  FAILS(tvmffi_as(tvmffi_str("x"), tvmffi_out_uint8(&byte)), "TypeError",
        "...` to `int`");
  FAILS(tvmffi_as(tvmffi_int(300), tvmffi_out_uint8(&byte)), "OverflowError",
        "The value 300 is out of range of uint8");
  FAILS(tvmffi_as(tvmffi_uint(UINT64_MAX), tvmffi_out_uint8(&byte)),
        "OverflowError", NULL);
  FAILS(tvmffi_as(tvmffi_str("floaty32"), tvmffi_out_dtype(&dtype)),
        "ValueError", NULL);
  CHECK_INT(byte, 7);
}

static void test_global_by_name(void) {
  TVMFFIObject *echo = test_typed(&tvmffi_func_u_any), *found = NULL;
  TVMFFIObject *other = test_typed(&tvmffi_func_u_code);
  if (!echo || !other) return;
  OK(tvmffi_global_get("unit.nobody", &found));
  CHECK(!found);
  OK(tvmffi_global_set("unit.by_name", echo, 1));
  FAILS(tvmffi_global_set("unit.by_name", other, 0), "RuntimeError", NULL);
  OK(tvmffi_global_get("unit.by_name", &found));
  OWN(found);
  CHECK(found == echo);
}

static void test_bad_callees(void) {
  TVMFFIObject *raise = test_typed(&tvmffi_func_u_raise);
  TVMFFIObject *code = test_typed(&tvmffi_func_u_code);
  int64_t n = 3;
  if (!raise || !code) return;
  FAILS(tvmffi_call(tvmffi_str("unit.nobody"), tvmffi_out_int64(&n)),
        "ValueError", "Function unit.nobody not found");
  FAILS(tvmffi_call(tvmffi_int(5), tvmffi_out_int64(&n)), "TypeError",
        "Cannot call a value of type `int`");
  FAILS(tvmffi_call(tvmffi_none(), tvmffi_out_int64(&n)), "TypeError",
        "Cannot call a value of type `None`");
  FAILS(tvmffi_call(tvmffi_obj(&tvmffi_i_memory_error), tvmffi_out_int64(&n)),
        "TypeError", "Cannot call a value of type `ffi.Error`");
  FAILS(tvmffi_call(tvmffi_obj(raise), tvmffi_out_int64(&n)), "IndexError",
        "no 7");
  CHECK_INT(tvmffi_call(tvmffi_obj(code), tvmffi_out_any(NULL), tvmffi_int(-2)),
            -2);
  CHECK(n == 3 && tvmffi_error_take() == NULL);
  OK(tvmffi_call(tvmffi_ptr(code), tvmffi_out_any(NULL), tvmffi_int(0)));
}

static int test_states_ended;
static void test_end_state(void *state) {
  (void)state;
  ++test_states_ended;
}
TVMFFI_CLOSURE(u_state, int, int64) { TVMFFI_RETURN(*self); }

/* NULL where a name or a result should be, and whose result it was. */
static void test_null_in_calls(void) {
  TVMFFIObject *code = test_typed(&tvmffi_func_u_code);
  int state = 0;
  int8_t small = 3;
  if (!code) return;
  FAILS(tvmffi_function(u_code, NULL), "ValueError",
        "tvmffi_function: NULL for the result");
  test_states_ended = 0;
  FAILS(tvmffi_closure(u_state, &state, test_end_state, NULL), "ValueError",
        "tvmffi_closure: NULL for the result");
  CHECK_INT(test_states_ended, 1);
  FAILS(tvmffi_register(NULL, u_code), "ValueError",
        "tvmffi_register: NULL for the name of u_code");
  FAILS(tvmffi_global_get("unit.x", NULL), "ValueError",
        "tvmffi_global_get: NULL for the result");
  FAILS(tvmffi_global_set("unit.x", NULL, 0), "ValueError",
        "tvmffi_global_set: NULL for `unit.x`");
  OK(tvmffi_register_as("unit.echo", u_any, 1));
  FAILS(tvmffi_call(tvmffi_str("unit.echo"), tvmffi_out_int8(&small),
                    tvmffi_int(-300)),
        "OverflowError",
        "result of unit.echo: The value -300 is out of range of int8");
  FAILS(tvmffi_call(tvmffi_str("unit.echo"), tvmffi_out_int8(&small),
                    tvmffi_str("x")),
        "TypeError", NULL);
  CHECK_INT(small, 3);
}

#if TVMFFI_I_GENERIC
/* Plain C values, of which the compiler makes Anys. */
static void test_plain_values(void) {
  TVMFFIObject *echo = test_typed(&tvmffi_func_u_any), *o = NULL;
  TVMFFIByteArray bytes = {"ab", 2};
  DLTensor tensor;
  DLDataType dtype = {kDLInt, 8, 1}, dtype_out = {0, 0, 0};
  DLDevice device = TVMFFIDLDeviceFromIntPair(kDLCUDA, 1);
  DLDevice device_out = TVMFFIDLDeviceFromIntPair(0, 0);
  const void *address = &bytes;
  void *p = NULL;
  TVMFFIAny any = tvmffi_none();
  tvmffi_type_bool b = 1, b_out = 0;
  signed char sc = 0;
  unsigned char uc = 0;
  short s = 0;
  unsigned short us = 0;
  int i = 0;
  int32_t narrow = 0;
  unsigned u = 0;
  long l = 0;
  unsigned long ul = 0;
  long long ll = 0;
  unsigned long long ull = 0;
  if (!echo) return;
  memset((void *)&tensor, 0, sizeof(tensor));
  OK(tvmffi_call(echo, &sc, (signed char)-1));
  OK(tvmffi_call(echo, &uc, (unsigned char)255));
  OK(tvmffi_call(echo, &s, (short)-2));
  OK(tvmffi_call(echo, &us, (unsigned short)65535));
  OK(tvmffi_call(echo, &i, -3));
  OK(tvmffi_call(echo, &u, 4000000000u));
  OK(tvmffi_call(echo, &l, -4L));
  OK(tvmffi_call(echo, &ul, 5UL));
  OK(tvmffi_call(echo, &ll, -6LL));
  OK(tvmffi_call(echo, &ull, 7ULL));
  OK(tvmffi_call(echo, &b_out, b));
  CHECK(sc == -1 && uc == 255 && s == -2 && us == 65535 && i == -3);
  CHECK(u == 4000000000u && l == -4 && ul == 5 && ll == -6 && ull == 7);
  CHECK(b_out == 1);
  OK(tvmffi_call(echo, &i, 'c'));
  CHECK_INT(i, 'c');
  OK(tvmffi_call(echo, &dtype_out, dtype));
  OK(tvmffi_call(echo, &device_out, device));
  CHECK(dtype_out.bits == 8 && device_out.device_id == 1);
  OK(tvmffi_call(echo, &p, address));
  CHECK(p == address);
  OK(tvmffi_call(echo, &o, echo));
  OWN(o);
  CHECK(o == echo);
  OK(tvmffi_call(echo, &any, "text"));
  CHECK_INT(any.type_index, kTVMFFISmallStr);
  OK(tvmffi_call(echo, &any, &bytes));
  CHECK_INT(any.type_index, kTVMFFISmallBytes);
  OK(tvmffi_call(echo, &any, &tensor));
  CHECK_INT(any.type_index, kTVMFFIDLTensorPtr);
  OK(tvmffi_call(echo, &any, tvmffi_none()));
  CHECK_INT(any.type_index, kTVMFFINone);
  OK(tvmffi_call(echo, NULL, "a long string"));
  OK(tvmffi_call(echo, tvmffi_out_int32(&narrow), 9));
  CHECK_INT(narrow, 9);
  any = TVMFFI_ANY(5);
  CHECK(any.type_index == kTVMFFIInt && any.v_int64 == 5);
  FAILS(tvmffi_call(echo, &sc, 128), "OverflowError", NULL);
  FAILS(tvmffi_call("unit.nobody", &i), "ValueError", NULL);
  FAILS(tvmffi_call(echo, &ull, -1), "OverflowError", NULL);
#if !TVMFFI_NO_FLOAT
  {
    float f = 0;
    double d = 0;
    OK(tvmffi_call(echo, &f, 0.5f));
    OK(tvmffi_call(echo, &d, 2.5));
    CHECK(f == 0.5f && d == 2.5);
    FAILS(tvmffi_call(echo, &i, 2.5), "TypeError",
          "Cannot convert from type `float` to `int`");
  }
#endif
}
#endif

/* ======== Scopes ========================================================== */

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

/* ======== Containers ====================================================== */

#if !TVMFFI_NO_CONTAINERS
static void test_made_containers(void) {
  TVMFFIAny items[3], item = tvmffi_none();
  TVMFFIObject *array, *list, *map, *dict, *shape, *empty;
  TVMFFIObjectHandle text = NULL;
  int64_t n = 0, sum = 0;
  items[0] = tvmffi_int(1);
  items[1] = tvmffi_str("two");
  items[2] = tvmffi_str("three, a longer one");
  OK((array = tvmffi_array_from(items, 3)) ? 0 : -1);
  OWN(array);
  OK((list = tvmffi_list(tvmffi_int(4), tvmffi_obj(array))) ? 0 : -1);
  OWN(list);
  OK((map = tvmffi_map(tvmffi_str("a"), tvmffi_int(1), tvmffi_str("b"),
                       tvmffi_int(2)))
         ? 0
         : -1);
  OWN(map);
  OK((dict = tvmffi_dict()) ? 0 : -1);
  OWN(dict);
  OK((shape = tvmffi_shape(tvmffi_int(5), tvmffi_int(6))) ? 0 : -1);
  OWN(shape);
  OK((empty = tvmffi_list_from(NULL, 0)) ? 0 : -1);
  OWN(empty);
  CHECK_INT(array->type_index, kTVMFFIArray);
  CHECK_INT(list->type_index, kTVMFFIList);
  CHECK_INT(map->type_index, kTVMFFIMap);
  CHECK_INT(dict->type_index, kTVMFFIDict);
  CHECK_INT(shape->type_index, kTVMFFIShape);
  CHECK_INT(tvmffi_size(tvmffi_obj(array)), 3);
  CHECK_INT(tvmffi_size(tvmffi_obj(list)), 2);
  CHECK_INT(tvmffi_size(tvmffi_obj(map)), 2);
  CHECK_INT(tvmffi_size(tvmffi_obj(dict)), 0);
  CHECK_INT(tvmffi_size(tvmffi_obj(shape)), 2);
  CHECK_INT(tvmffi_size(tvmffi_obj(empty)), 0);
  TVMFFI_FOREACH(TVMFFIAny, x, tvmffi_obj(shape)) sum = sum * 10 + x.v_int64;
  CHECK_INT(sum, 56);
  TVMFFI_FOREACH(TVMFFIAny, x, tvmffi_obj(array)) {
    if (n++ == 1) continue;
    item = x;
    if (n == 3) break;
  }
  CHECK_INT(n, 3);
  CHECK(item.type_index == kTVMFFIStr && test_strong(item.v_obj) == 1);
  OK(tvmffi_at(tvmffi_obj(array), 1, &item));
  CHECK_INT(item.type_index, kTVMFFISmallStr);
  OK(tvmffi_get(tvmffi_obj(array), tvmffi_int(2),
                tvmffi_out_object((TVMFFIObject **)(void *)&text)));
  OWN(text);
  CHECK_INT(test_strong(text), 2);
  OK(tvmffi_get(tvmffi_obj(shape), tvmffi_int(1), tvmffi_out_int64(&n)));
  CHECK_INT(n, 6);
  OK(tvmffi_get(tvmffi_obj(map), tvmffi_str("b"), tvmffi_out_int64(&n)));
  CHECK_INT(n, 2);
  OK(tvmffi_get(tvmffi_obj(map), tvmffi_str("c"), tvmffi_out_int64(&n),
                tvmffi_int(7)));
  CHECK_INT(n, 7);
  OK(tvmffi_get(tvmffi_obj(list), tvmffi_int(9), tvmffi_out_int64(&n),
                tvmffi_int(8)));
  CHECK_INT(n, 8);
  CHECK_INT(tvmffi_contains(tvmffi_obj(map), tvmffi_str("a")), 1);
  CHECK_INT(tvmffi_contains(tvmffi_obj(map), tvmffi_str("c")), 0);
  CHECK_INT(tvmffi_contains(tvmffi_obj(list), tvmffi_int(4)), 1);
  CHECK_INT(tvmffi_contains(tvmffi_obj(array), tvmffi_int(4)), 0);
}

/* Entries in order, small and large, with changes meanwhile. */
static void test_entries(void) {
  TVMFFIObject *dict;
  int64_t n, i, sizes[] = {0, 1, 4, 5, 100};
  size_t k;
  for (k = 0; k < TEST_COUNT(sizes); ++k) {
    OK((dict = tvmffi_dict()) ? 0 : -1);
    OWN(dict);
    for (i = 0; i < sizes[k]; ++i)
      OK(tvmffi_set(tvmffi_obj(dict), tvmffi_int(i), tvmffi_int(i * i)));
    n = 0;
    TVMFFI_FOREACH_ITEM(key, value, tvmffi_obj(dict)) {
      CHECK(key.v_int64 == n && value.v_int64 == n * n);
      ++n;
    }
    CHECK_INT(n, sizes[k]);
    n = 0; /* who erases the present one misses the next */
    TVMFFI_FOREACH_ITEM(key, value, tvmffi_obj(dict)) {
      CHECK_INT(value.v_int64, 4 * n * n);
      OK(tvmffi_erase(tvmffi_obj(dict), key));
      ++n;
    }
    CHECK_INT(n, (sizes[k] + 1) / 2);
    n = 0; /* it grows by as much as it had, and is another table then */
    TVMFFI_FOREACH_ITEM(key, value, tvmffi_obj(dict)) {
      CHECK(value.v_int64 >= 0);
      if (key.v_int64 < 1000)
        OK(tvmffi_set(tvmffi_obj(dict), tvmffi_int(1000 + key.v_int64),
                      tvmffi_int(0)));
      ++n;
    }
    CHECK_INT(n, sizes[k] / 2 * 2);
    TVMFFI_FOREACH_ITEM(key, value, tvmffi_obj(dict)) {
      CHECK(key.type_index == kTVMFFIInt && value.type_index == kTVMFFIInt);
      OK(tvmffi_call(tvmffi_str("ffi.DictClear"), tvmffi_out_none(NULL),
                     tvmffi_obj(dict)));
    }
    CHECK_INT(tvmffi_size(tvmffi_obj(dict)), 0);
    test_drop(dict);
  }
}

static void test_changed_lists(void) {
  TVMFFIObject *list;
  int64_t n = 0, x = 0;
  OK((list = tvmffi_list(tvmffi_int(0), tvmffi_int(1), tvmffi_int(2))) ? 0
                                                                       : -1);
  OWN(list);
  OK(tvmffi_append(tvmffi_obj(list), tvmffi_str("a text that is long")));
  OK(tvmffi_set(tvmffi_obj(list), tvmffi_int(0), tvmffi_int(10)));
  FAILS(tvmffi_pop(tvmffi_obj(list), tvmffi_int(3), tvmffi_out_int64(&x)),
        "TypeError", test_oom ? NULL : "...from type `ffi.String` to `int`");
  CHECK_INT(tvmffi_size(tvmffi_obj(list)), 4);
  OK(tvmffi_erase(tvmffi_obj(list), tvmffi_int(3)));
  OK(tvmffi_pop(tvmffi_obj(list), tvmffi_int(0), tvmffi_out_int64(&x)));
  CHECK_INT(x, 10);
  TVMFFI_FOREACH(TVMFFIAny, item, tvmffi_obj(list)) { /* it grows meanwhile */
    if (n++ < 50) OK(tvmffi_append(tvmffi_obj(list), item));
  }
  CHECK_INT(n, 52);
  n = 0;
  TVMFFI_FOREACH(TVMFFIAny, item, tvmffi_obj(list)) { /* and shrinks */
    CHECK_INT(item.type_index, kTVMFFIInt);
    OK(tvmffi_erase(tvmffi_obj(list), tvmffi_int(0)));
    ++n;
  }
  CHECK_INT(n, 26);
}

static void test_bad_containers(void) {
  const char absent[5] = {'a', 'b', '\xFF', 'c', 'd'}; /* and no NUL */
  TVMFFIByteArray bytes = {absent, sizeof(absent)};
  TVMFFIAny items[4], any = tvmffi_none(), none = tvmffi_none();
  TVMFFIObject *list, *map, *array;
  int64_t n = 0;
  int i;
  for (i = 0; i < 4; ++i) items[i] = tvmffi_int(i);
  OK((list = tvmffi_list(tvmffi_int(1))) ? 0 : -1);
  OWN(list);
  OK((array = tvmffi_array(tvmffi_int(1))) ? 0 : -1);
  OWN(array);
  OK((map = tvmffi_map_from(items, 4)) ? 0 : -1);
  OWN(map);
  FAILS(!tvmffi_map_from(items, 3), "ValueError",
        "ffi.Map needs a value for each key, but got 3 in all");
  FAILS(!tvmffi_dict(none), "ValueError",
        "ffi.Dict needs a value for each key, but got 1 in all");
  FAILS(!tvmffi_list_from(NULL, 1), "ValueError",
        "...ffi.List cannot be made of 1 items at ");
  FAILS(!tvmffi_list_from(items, -1), "ValueError", NULL);
  FAILS(!tvmffi_list_from(items, (int64_t)1 << 40), "ValueError", NULL);
  FAILS(!tvmffi_shape(tvmffi_str("x")), "ValueError",
        "Expect shape to take list of int arguments");
  FAILS(tvmffi_size(none) < 0, "TypeError",
        "tvmffi_size: expected a container, but got `None`");
  FAILS(tvmffi_size(tvmffi_int(3)) < 0, "TypeError",
        "tvmffi_size: expected a container, but got `int`");
  FAILS(tvmffi_at(tvmffi_obj(map), 0, &any), "TypeError",
        "tvmffi_at: expected an array, list or shape, but got `ffi.Map`");
  FAILS(tvmffi_at(tvmffi_obj(list), 1, &any), "IndexError",
        "Index 1 out of bounds 1");
  FAILS(tvmffi_at(tvmffi_obj(list), -1, &any), "IndexError",
        "Index -1 out of bounds 1");
  FAILS(tvmffi_get(none, tvmffi_int(0), tvmffi_out_any(&any)), "TypeError",
        "tvmffi_get: expected a container, but got `None`");
  FAILS(tvmffi_get(tvmffi_obj(list), tvmffi_str("a"), tvmffi_out_any(&any)),
        "TypeError",
        "expected an index into `ffi.List`, but got `const char*`");
  FAILS(tvmffi_get(tvmffi_obj(list), tvmffi_int(7), tvmffi_out_any(&any)),
        "IndexError", "Index 7 out of bounds 1");
  FAILS(tvmffi_erase(tvmffi_obj(list), tvmffi_uint(UINT64_MAX)),
        "OverflowError", NULL);
  FAILS(tvmffi_get(tvmffi_obj(list), tvmffi_uint(UINT64_MAX),
                   tvmffi_out_any(&any)),
        "OverflowError", NULL);
  FAILS(tvmffi_pop(tvmffi_obj(list), tvmffi_uint(UINT64_MAX),
                   tvmffi_out_any(&any)),
        "OverflowError", NULL);
  FAILS(tvmffi_get(tvmffi_obj(map), tvmffi_int(7), tvmffi_out_any(&any)),
        "KeyError", "key is not in Map: 7");
  FAILS(tvmffi_get(tvmffi_obj(map), tvmffi_int(7), tvmffi_out_int64(&n),
                   tvmffi_str("seven")),
        "TypeError", "Cannot convert from type `ffi.SmallStr` to `int`");
  FAILS(tvmffi_get(tvmffi_obj(map), tvmffi_str("a key"), tvmffi_out_any(&any)),
        "KeyError", "key is not in Map: a key");
  FAILS(tvmffi_get(tvmffi_obj(map), tvmffi_bytes(&bytes), tvmffi_out_any(&any)),
        "KeyError", "key is not in Map");
  FAILS(tvmffi_get(tvmffi_obj(map), none, tvmffi_out_any(&any)), "KeyError",
        "key is not in Map");
  FAILS(tvmffi_get(tvmffi_obj(map), tvmffi_int(7), tvmffi_out_any(&any),
                   tvmffi_uint(UINT64_MAX)),
        "OverflowError", NULL);
  FAILS(tvmffi_append(tvmffi_obj(list), tvmffi_uint(UINT64_MAX)),
        "OverflowError", NULL);
  FAILS(!tvmffi_list(tvmffi_uint(UINT64_MAX)), "OverflowError", NULL);
  FAILS(tvmffi_contains(tvmffi_int(1), none) < 0, "TypeError", NULL);
  FAILS(tvmffi_append(tvmffi_obj(array), none), "TypeError",
        "tvmffi_append: expected a list, but got `ffi.Array`");
  FAILS(tvmffi_set(tvmffi_obj(map), none, none), "TypeError",
        "tvmffi_set: expected a list or dict, but got `ffi.Map`");
  FAILS(tvmffi_set(tvmffi_obj(list), tvmffi_int(1), none), "IndexError", NULL);
  FAILS(tvmffi_erase(tvmffi_obj(array), tvmffi_int(0)), "TypeError", NULL);
  FAILS(tvmffi_erase(tvmffi_obj(list), tvmffi_int(1)), "IndexError", NULL);
  FAILS(tvmffi_pop(tvmffi_obj(map), none, tvmffi_out_any(&any)), "TypeError",
        "tvmffi_pop: expected a list or dict, but got `ffi.Map`");
  n = 0;
  TVMFFI_FOREACH(TVMFFIAny, x, none) n += x.type_index + 1;
  TVMFFI_FOREACH(TVMFFIAny, x, tvmffi_obj(map)) n += x.type_index + 1;
  TVMFFI_FOREACH_ITEM(k, v, none) n += k.type_index + v.type_index + 1;
  TVMFFI_FOREACH_ITEM(k, v, tvmffi_obj(list)) n += k.type_index + v.type_index;
  CHECK_INT(n, 0);
  /* Why there is no container stays the error. */
  (void)TVMFFI_RAISE("KeyError", "the reason");
  FAILS(tvmffi_append(none, none), "KeyError", "the reason");
}

#ifdef TVMFFI_SCOPE
static int test_fill_scope(TVMFFIObject **out) {
  TVMFFI_SCOPE {
    TVMFFIObject *list = tvmffi_list(), *array, *got;
    int i;
    if (!list) return -1;
    for (i = 0; i < 40; ++i) {
      array = tvmffi_array(tvmffi_int(i), tvmffi_obj(list));
      if (!array) return -1;
      TVMFFI_TRY(tvmffi_get(tvmffi_obj(array), tvmffi_int(1),
                            tvmffi_out_object(&got)));
      CHECK(got == list);
    }
    array = tvmffi_array(tvmffi_int(1));
    if (!array) return -1;
    TVMFFI_FOREACH(TVMFFIAny, item, tvmffi_obj(array)) {
      CHECK_INT(item.v_int64, 1);
      TVMFFI_TRY(tvmffi_append(tvmffi_obj(list), item));
      CHECK_INT(tvmffi_scope_count(kTVMFFIArray), 41);
      CHECK_INT(tvmffi_scope_count(kTVMFFIList), 41);
      *out = tvmffi_scope_detach(list);
      return *out ? 0 : -1;
    }
  }
  return -1;
}

static void test_scoped_containers(void) {
  TVMFFIObject *list = NULL;
  OK(test_fill_scope(&list));
  OWN(list);
  CHECK_INT(test_strong(list), 1);
}
#endif
#endif
#endif

#if !TEST_NO_TENSORS
/* ======== Checks and loops of tensors ===================================== */

/* A float32 tensor of up to 4 dimensions on the CPU, without strides. */
typedef struct {
  DLTensor t;
  int64_t shape[4], strides[4];
  float data[64];
} test_matrix;

static const DLTensor *test_make_matrix(test_matrix *m, int32_t ndim, int a,
                                        int b, int c) {
  static const test_matrix zero = {
      {NULL, {kDLCPU, 0}, 0, {0, 0, 0}, NULL, NULL, 0},
      {0, 0, 0, 0},
      {0, 0, 0, 0},
      {0}};
  *m = zero;
  m->t.data = m->data;
  m->t.ndim = ndim;
  m->t.dtype = tvmffi_dtype_of(kDLFloat, 32);
  m->t.shape = m->shape;
  m->shape[0] = a;
  m->shape[1] = b;
  m->shape[2] = c;
  return &m->t;
}

static void test_stride_matrix(test_matrix *m, int a, int b, int c) {
  m->t.strides = m->strides;
  m->strides[0] = a;
  m->strides[1] = b;
  m->strides[2] = c;
}

static int test_axpy_of(const DLTensor *x, const DLTensor *y) {
  TVMFFI_EXPECT((x, "float32[n] cpu"), (y, "float32[n] cpu"));
  return 0;
}
static int test_square_of(const DLTensor *x) {
  TVMFFI_EXPECT((x, "float32|float64[n, n, 2] cpu strided"));
  return 0;
}
static int test_any_of(const DLTensor *x, const DLTensor *y) {
  TVMFFI_EXPECT((x, "any"), (y, "same strided align(16) cuda:1"));
  return 0;
}
static int test_matrix_of(const DLTensor *x) {
  TVMFFI_EXPECT((x, "float32[n, m]"));
  return 0;
}
static int test_batch_of(const DLTensor *x, const DLTensor *y) {
  TVMFFI_EXPECT((x, "float32[ *batch , n ]"), (y, "float32[k, *batch, n, _]"));
  return 0;
}
static int test_scalar_of(const DLTensor *x, const DLTensor *y) {
  TVMFFI_EXPECT((x, "float32[]"), (y, "float32[..., 3] cuda"));
  return 0;
}
TVMFFI_FUNC(t_expect, none, (tensor, x)) {
  TVMFFI_EXPECT((x, "float32[n]"));
  TVMFFI_RETURN();
}

static void test_expect_shapes(void) {
  test_matrix x, y;
  (void)test_make_matrix(&x, 1, 4, 0, 0);
  (void)test_make_matrix(&y, 1, 4, 0, 0);
  OK(test_axpy_of(&x.t, &y.t));
  y.shape[0] = 3;
  FAILS(test_axpy_of(&x.t, &y.t), "ValueError",
        "test_axpy_of: argument y: dimension n is 3, but 4 in x");
  (void)test_make_matrix(&x, 3, 2, 2, 2);
  OK(test_square_of(&x.t));
  x.shape[2] = 3;
  FAILS(test_square_of(&x.t), "ValueError",
        "test_square_of: argument x: dimension 2 is 3, expected 2");
  x.shape[1] = 4;
  FAILS(test_square_of(&x.t), "ValueError",
        "test_square_of: argument x: dimension n is 4, but 2 in x");
  x.t.ndim = 2;
  FAILS(test_square_of(&x.t), "ValueError",
        "test_square_of: argument x: shape is [2, 4], expected [n, n, 2]");
  x.t.ndim = -1;
  FAILS(test_square_of(&x.t), "ValueError",
        "test_square_of: argument x: rank is -1");
  FAILS(test_any_of(&x.t, &x.t), "ValueError",
        "test_any_of: argument x: rank is -1");
  x.t.ndim = 3;
  x.t.shape = NULL;
  FAILS(test_square_of(&x.t), "ValueError",
        "test_square_of: argument x: shape is NULL");
  FAILS(test_square_of(NULL), "ValueError",
        "test_square_of: argument x: is NULL");
}

static void test_expect_runs(void) {
  test_matrix x, y;
  (void)test_make_matrix(&x, 2, 3, 5, 0);
  (void)test_make_matrix(&y, 4, 2, 3, 5);
  y.shape[3] = 1;
  OK(test_batch_of(&x.t, &y.t));
  y.shape[1] = 4;
  FAILS(test_batch_of(&x.t, &y.t), "ValueError",
        "test_batch_of: argument y: dimension 0 of *batch is 4, but 3 in x");
  y.t.ndim = 3;
  y.shape[1] = 5;
  FAILS(test_batch_of(&x.t, &y.t), "ValueError",
        "test_batch_of: argument y: *batch has 0 dimensions, but 1 in x");
  y.t.ndim = 2;
  FAILS(test_batch_of(&x.t, &y.t), "ValueError",
        "test_batch_of: argument y: shape is [2, 5], expected "
        "[k, *batch, n, _]");
  x.t.ndim = 1;
  x.shape[0] = y.shape[1] = 7;
  y.t.ndim = 3;
  OK(test_batch_of(&x.t, &y.t));
  x.t.ndim = 0;
  y.shape[2] = 3;
  y.t.device.device_type = kDLCUDA;
  OK(test_scalar_of(&x.t, &y.t));
  x.t.shape = NULL;
  OK(test_scalar_of(&x.t, &y.t));
  FAILS(test_scalar_of(&y.t, &y.t), "ValueError",
        "test_scalar_of: argument x: shape is [2, 7, 3], expected []");
}

static void test_expect_data(void) {
  test_matrix x, y;
  (void)test_make_matrix(&x, 2, 3, 5, 0);
  (void)test_make_matrix(&y, 2, 3, 5, 0);
  y.t.device = TVMFFIDLDeviceFromIntPair(kDLCUDA, 1);
  y.t.data = (void *)(uintptr_t)4096;
  OK(test_any_of(&x.t, &y.t));
  y.t.byte_offset = 8;
  FAILS(test_any_of(&x.t, &y.t), "ValueError",
        "test_any_of: argument y: is not aligned to 16 bytes");
  y.t.byte_offset = 0;
  y.t.data = NULL;
  FAILS(test_any_of(&x.t, &y.t), "ValueError",
        "test_any_of: argument y: data is NULL");
  y.shape[1] = 0;
  OK(test_any_of(&x.t, &y.t));
  y.shape[1] = -1;
  FAILS(test_any_of(&x.t, &y.t), "ValueError",
        "test_any_of: argument y: dimension 1 is -1");
  y.t.device.device_id = 0;
  FAILS(test_any_of(&x.t, &y.t), "ValueError",
        "test_any_of: argument y: device is cuda:0, expected cuda:1");
  y.t.device.device_type = kDLROCMHost;
  FAILS(test_scalar_of(test_make_matrix(&x, 0, 0, 0, 0), &y.t), "ValueError",
        "test_scalar_of: argument y: device is rocm_host:0, expected cuda");
  y.t.dtype = tvmffi_dtype_of(kDLFloat, 64);
  FAILS(test_any_of(&x.t, &y.t), "TypeError",
        "test_any_of: argument y: dtype is float64, but float32 in x");
  y.t.dtype = tvmffi_dtype_of(99, 8);
  FAILS(test_square_of(&y.t), "TypeError",
        "test_square_of: argument x: dtype is unknown, expected "
        "float32|float64");
}

static void test_expect_strides(void) {
  test_matrix x;
  (void)test_make_matrix(&x, 1, 4, 0, 0);
  test_stride_matrix(&x, 1, 0, 0);
  OK(test_axpy_of(&x.t, &x.t));
  x.strides[0] = 2;
  FAILS(test_axpy_of(&x.t, &x.t), "ValueError",
        "test_axpy_of: argument x: is not contiguous");
  x.shape[0] = 1; /* with one element, or none, no stride counts */
  OK(test_axpy_of(&x.t, &x.t));
  x.shape[0] = 0;
  OK(test_axpy_of(&x.t, &x.t));
  x.shape[0] = 4;
  x.strides[0] = -1;
  FAILS(test_axpy_of(&x.t, &x.t), "ValueError", NULL);
  (void)test_make_matrix(&x, 3, 2, 2, 2);
  test_stride_matrix(&x, -9, 0, 4);
  OK(test_square_of(&x.t));
}

/* Shapes whose product does not fit 64 bits: 2^64, or one whose lower bits are
   those of a small tensor. */
static void test_huge_shapes(void) {
  const int64_t huge = INT64_C(1) << 32;
  test_matrix x;
  tvmffi_loop run;
  (void)test_make_matrix(&x, 2, 1, 1, 2);
  x.shape[0] = x.shape[1] = huge;
  FAILS(test_matrix_of(&x.t), "ValueError",
        "test_matrix_of: argument x: shape is [4294967296, 4294967296], which "
        "is too large");
  CHECK(tvmffi_tensor_size(&x.t) == INT64_MAX);
  CHECK(tvmffi_tensor_bytes(&x.t) == SIZE_MAX);
  CHECK(!tvmffi_tensor_is_contiguous(&x.t));
  FAILS(tvmffi_loop_begin(&run, &x.t), "ValueError",
        "tensor 0 of a loop has the shape [4294967296, 4294967296], which is "
        "too large");
  FAILS(tvmffi_loop_rows(&run, 1, &x.t), "ValueError", NULL);
  x.shape[1] = huge + 2;
  x.shape[0] = INT64_MAX;
  FAILS(test_matrix_of(&x.t), "ValueError", NULL);
  CHECK(tvmffi_tensor_size(&x.t) == INT64_MAX);
  x.shape[0] = INT64_C(1) << 62; /* elements, whose bytes are 2^64 */
  x.shape[1] = 1;
  CHECK(tvmffi_tensor_size(&x.t) == x.shape[0]);
  CHECK(tvmffi_tensor_bytes(&x.t) == SIZE_MAX);
  x.shape[0] = 0;
  x.shape[1] = INT64_MAX;
  CHECK_INT(tvmffi_tensor_size(&x.t), 0);
  OK(test_matrix_of(&x.t));
  x.shape[0] = -1;
  CHECK_INT(tvmffi_tensor_bytes(&x.t), 0);
  /* A stride that is what a product would be cut to. */
  x.t.ndim = 3;
  x.shape[0] = 2;
  x.shape[1] = x.shape[2] = huge;
  x.t.strides = x.strides;
  x.strides[0] = 0;
  x.strides[1] = huge;
  x.strides[2] = 1;
  CHECK(!tvmffi_tensor_is_contiguous(&x.t));
  x.t.strides = NULL;
  CHECK(tvmffi_tensor_stride(&x.t, 0) == INT64_MAX);
  /* In a loop, too, such a stride joins nothing. */
  x.t.strides = x.strides;
  x.shape[0] = x.shape[1] = 2;
  x.shape[2] = 4;
  x.strides[1] = 0;
  x.strides[2] = INT64_C(1) << 62;
  OK(tvmffi_loop_begin(&run, &x.t));
  CHECK_INT(run.size, 4);
}

/* The message has the name of a typed function, not that of its body. */
static void test_expect_names(void) {
  test_matrix x;
  TVMFFIAny any = tvmffi_tensor(test_make_matrix(&x, 0, 0, 0, 0));
  TVMFFIAny result = tvmffi_none();
  FAILS(tvmffi_func_t_expect.call(NULL, &any, 1, &result), "ValueError",
        "t_expect: argument x: shape is [], expected [n]");
}

#define TEST_BAD_TEXT(name, text)      \
  static int name(const DLTensor *x) { \
    TVMFFI_EXPECT((x, text));          \
    return 0;                          \
  }
TEST_BAD_TEXT(test_text_0, "")
TEST_BAD_TEXT(test_text_1, "flaot32[n]")
TEST_BAD_TEXT(test_text_2, "float32|")
TEST_BAD_TEXT(test_text_3, "any[n")
TEST_BAD_TEXT(test_text_4, "any[n m]")
TEST_BAD_TEXT(test_text_5, "any[-1]")
TEST_BAD_TEXT(test_text_6, "any[..., *b]")
TEST_BAD_TEXT(test_text_7, "any[..]")
TEST_BAD_TEXT(test_text_8, "any[a, b, c, d, e, f, g, h, i]")
TEST_BAD_TEXT(test_text_9, "any[99999999999999999999]")
TEST_BAD_TEXT(test_text_10, "any[n] cpu stridden")
TEST_BAD_TEXT(test_text_11, "any[n] align(3)")
TEST_BAD_TEXT(test_text_12, "any[n] align(0)")
TEST_BAD_TEXT(test_text_13, "any[n] align")
TEST_BAD_TEXT(test_text_14, "any[n] align(8")
TEST_BAD_TEXT(test_text_15, "any[n]cpu")
TEST_BAD_TEXT(test_text_16, "int8|int16|int32|int64|uint8")
TEST_BAD_TEXT(test_text_17, "any[*]")
TEST_BAD_TEXT(test_text_18, "any[n] cuda:x")
TEST_BAD_TEXT(test_text_19, "any[n] align(")

#define TEST_TEN "any any any any any any any any any any "
TEST_BAD_TEXT(test_text_20,
              TEST_TEN TEST_TEN TEST_TEN TEST_TEN TEST_TEN TEST_TEN TEST_TEN)

static void test_expect_texts(void) {
  static const struct {
    int (*check)(const DLTensor *x);
    const char *message;
  } cases[] = {{test_text_0, "...(x, \"\")): a dtype is missing at \"\""},
               {test_text_1,
                "test_text_1: TVMFFI_EXPECT((x, \"flaot32[n]\")): the "
                "dtype is not known at \"flaot32[n]\""},
               {test_text_2, "...a dtype is missing at \"\""},
               {test_text_3, "...\",\" or \"]\" is missing at \"\""},
               {test_text_4, "...\",\" or \"]\" is missing at \"m]\""},
               {test_text_5, "...a dimension is missing at \"-1]\""},
               {test_text_6, "...a second \"...\" or \"*\" at \"*b]\""},
               {test_text_7, "...a dimension is missing at \"..]\""},
               {test_text_8, "...more than 8 dimensions at \"i]\""},
               {test_text_9, "...the number is too large at "},
               {test_text_10, "...the word is not known at \"stridden\""},
               {test_text_11, "...this is no power of 2 at "},
               {test_text_12, "...this is no power of 2 at "},
               {test_text_13, "...\"(\" is missing at \"\""},
               {test_text_14, "...\")\" is missing at \"\""},
               {test_text_15, "...a space is missing at \"cpu\""},
               {test_text_16, "...more than 4 dtypes at \"uint8\""},
               {test_text_17, "...a dimension is missing at \"]\""},
               {test_text_18, "...the word is not known at \"cuda:x\""},
               {test_text_19, "...a number is missing at \"\""},
               {test_text_20, "...the text is too long at "}};
  test_matrix x;
  size_t i;
  (void)test_make_matrix(&x, 1, 4, 0, 0);
  for (i = 0; i < TEST_COUNT(cases); ++i)
    FAILS(cases[i].check(&x.t), "InternalError", cases[i].message);
}

static void test_tensor_sizes(void) {
  test_matrix x;
  (void)test_make_matrix(&x, 3, 2, 3, 4);
  CHECK_INT(tvmffi_tensor_size(&x.t), 24);
  CHECK_INT(tvmffi_tensor_bytes(&x.t), 96);
  CHECK(tvmffi_tensor_is_contiguous(&x.t));
  CHECK_INT(tvmffi_tensor_stride(&x.t, 0), 12);
  CHECK_INT(tvmffi_tensor_stride(&x.t, -1), 1);
  tvmffi_element(&x.t, float, 1, 2, 3) = 5;
  CHECK_INT(x.data[23], 5);
  test_stride_matrix(&x, 1, 2, 6);
  CHECK(!tvmffi_tensor_is_contiguous(&x.t));
  CHECK_INT(tvmffi_tensor_stride(&x.t, -3), 1);
  x.t.byte_offset = 4;
  tvmffi_element(&x.t, float, 1, 0, 2) = 7;
  CHECK_INT(x.data[14], 7);
  x.shape[1] = 0;
  CHECK(tvmffi_tensor_is_contiguous(&x.t));
  CHECK_INT(tvmffi_tensor_bytes(&x.t), 0);
  x.t.ndim = 0;
  CHECK_INT(tvmffi_tensor_size(&x.t), 1);
  x.t.ndim = 1;
  x.shape[0] = 3;
  x.t.dtype = tvmffi_dtype_of(kDLFloat4_e2m1fn, 4);
  CHECK_INT(tvmffi_tensor_bytes(&x.t), 2);
}

/* Numbers the elements of a tensor in the order of their indices. */
static int test_number_all(const DLTensor *x, int *runs) {
  tvmffi_loop run;
  int64_t i;
  float n = 0;
  TVMFFI_TRY(tvmffi_loop_begin(&run, x));
  for (*runs = 0; tvmffi_loop_next(&run); ++*runs)
    for (i = 0; i < run.size; ++i)
      ((float *)run.at[0])[i * run.stride[0]] = ++n;
  return 0;
}

static void test_loop_orders(void) {
  test_matrix x;
  int runs = 0, i, j, k;
  (void)test_make_matrix(&x, 3, 2, 3, 4);
  OK(test_number_all(&x.t, &runs));
  CHECK(runs == 1 && x.data[0] == 1 && x.data[23] == 24);
  test_stride_matrix(&x, 1, 2, 6);
  OK(test_number_all(&x.t, &runs));
  CHECK_INT(runs, 6); /* the last dimension fits no other */
  for (i = 0; i < 2; ++i)
    for (j = 0; j < 3; ++j)
      for (k = 0; k < 4; ++k)
        CHECK_INT(tvmffi_element(&x.t, float, i, j, k), i * 12 + j * 4 + k + 1);
  test_stride_matrix(&x, 4, 8, 1); /* the outer two cannot be joined */
  OK(test_number_all(&x.t, &runs));
  CHECK_INT(runs, 6);
  test_stride_matrix(&x, 24, 8, 2); /* all can: every other element */
  OK(test_number_all(&x.t, &runs));
  CHECK(runs == 1 && x.data[46] == 24);
  x.shape[1] = 1;
  test_stride_matrix(&x, -4, 99, -1);
  x.t.byte_offset = 7 * sizeof(float);
  OK(test_number_all(&x.t, &runs));
  CHECK(runs == 1 && x.data[7] == 1 && x.data[0] == 8);
  x.shape[2] = 0;
  OK(test_number_all(&x.t, &runs));
  CHECK_INT(runs, 0);
  x.t.ndim = 0;
  OK(test_number_all(&x.t, &runs));
  CHECK(runs == 1 && x.data[7] == 1);
}

static void test_loop_several(void) {
  test_matrix x, y, z;
  tvmffi_loop run;
  int64_t i;
  int runs = 0;
  (void)test_make_matrix(&x, 2, 2, 3, 0);
  (void)test_make_matrix(&y, 2, 2, 3, 0);
  (void)test_make_matrix(&z, 2, 2, 1, 0);
  test_stride_matrix(&y, 1, 2, 0);
  OK(test_number_all(&x.t, &runs));
  OK(tvmffi_loop_begin(&run, &x.t, &y.t));
  for (runs = 0; tvmffi_loop_next(&run); ++runs)
    for (i = 0; i < run.size; ++i)
      ((float *)run.at[1])[i * run.stride[1]] =
          ((float *)run.at[0])[i * run.stride[0]];
  CHECK_INT(runs, 2);
  CHECK(y.data[0] == 1 && y.data[1] == 4 && y.data[5] == 6);
  /* Along a dimension the extents may differ. */
  OK(tvmffi_loop_rows(&run, -1, &y.t, &z.t));
  for (runs = 0; tvmffi_loop_next(&run); ++runs) {
    CHECK(run.size == 3 && run.stride[0] == 2);
    for (i = 0; i < run.size; ++i)
      *(float *)run.at[1] += ((float *)run.at[0])[i * run.stride[0]];
  }
  CHECK(runs == 2 && z.data[0] == 6 && z.data[1] == 15);
  OK(tvmffi_loop_rows(&run, 0, &x.t));
  for (runs = 0; tvmffi_loop_next(&run); ++runs) CHECK_INT(run.stride[0], 3);
  CHECK(runs == 3 && run.size == 2);
  x.shape[1] = 0; /* rows without elements are rows */
  OK(tvmffi_loop_rows(&run, 1, &x.t));
  for (runs = 0; tvmffi_loop_next(&run); ++runs) CHECK_INT(run.size, 0);
  CHECK_INT(runs, 2);
}

static void test_loop_errors(void) {
  test_matrix x, y;
  int64_t shape[40], strides[40];
  tvmffi_loop run;
  int i;
  (void)test_make_matrix(&x, 2, 2, 3, 0);
  (void)test_make_matrix(&y, 2, 3, 2, 0);
  FAILS(tvmffi_loop_begin(&run, &x.t, &y.t), "ValueError",
        "tensor 1 of a loop has the shape [3, 2], the first [2, 3]");
  CHECK(!tvmffi_loop_next(&run));
  FAILS(tvmffi_loop_rows(&run, 0, &x.t, &y.t), "ValueError", NULL);
  FAILS(tvmffi_loop_begin(&run, &x.t, NULL), "ValueError",
        "tensor 1 of a loop is NULL");
  FAILS(tvmffi_loop_begin(&run, (const DLTensor *)NULL), "ValueError", NULL);
  FAILS(tvmffi_loop_rows(&run, 0, (const DLTensor *)NULL), "ValueError", NULL);
  FAILS(tvmffi_loop_rows(&run, 2, &x.t), "ValueError",
        "a loop along dimension 2 of 2");
  FAILS(tvmffi_loop_rows(&run, -3, &x.t), "ValueError", NULL);
  FAILS(tvmffi_loop_begin(&run, &x.t, &x.t, &x.t, &x.t, &x.t), "ValueError",
        "a loop over 5 tensors: at most 4");
  y.t.shape = NULL;
  FAILS(tvmffi_loop_begin(&run, &y.t), "ValueError", NULL);
  y.t.ndim = -1;
  OK(tvmffi_loop_begin(&run, &y.t)); /* as rank 0 */
  y.t.dtype = tvmffi_dtype_of(kDLInt, 4);
  FAILS(tvmffi_loop_begin(&run, &y.t), "TypeError",
        "tensor 0 of a loop has elements of 4 bits");
  for (i = 0; i < 40; ++i) {
    shape[i] = 2;
    strides[i] = 0;
  }
  for (i = 0; i < 40; i += 2) strides[i] = 1;
  x.t.shape = shape;
  x.t.strides = strides;
  x.t.ndim = 40;
  FAILS(tvmffi_loop_begin(&run, &x.t), "ValueError",
        "a loop over more than 16 dimensions");
  x.t.ndim = 16;
  OK(tvmffi_loop_begin(&run, &x.t));
  for (i = 0; tvmffi_loop_next(&run); ++i) {
  }
  CHECK_INT(i, 1 << 15);
}

#if !TVMFFI_NO_FLOAT
static void test_half_floats(void) {
  static const struct {
    uint32_t bits;
    uint16_t half, brain;
  } cases[] = {{0, 0, 0},                      /* 0 */
               {0x80000000u, 0x8000, 0x8000},  /* -0 */
               {0x3F800000u, 0x3C00, 0x3F80},  /* 1 */
               {0xC0490FDBu, 0xC248, 0xC049},  /* -pi */
               {0x477FE000u, 0x7BFF, 0x4780},  /* 65504, the largest */
               {0x477FEFFFu, 0x7BFF, 0x4780},  /* below 65520: down */
               {0x477FF000u, 0x7C00, 0x4780},  /* 65520: infinite */
               {0x7F7FFFFFu, 0x7C00, 0x7F80},  /* FLT_MAX */
               {0xFF800000u, 0xFC00, 0xFF80},  /* -infinity */
               {0x7F800001u, 0x7E00, 0x7FC0},  /* a signalling NaN */
               {0xFFC12345u, 0xFE09, 0xFFC1},  /* a NaN with a payload */
               {0x38800000u, 0x0400, 0x3880},  /* 2^-14, the least normal */
               {0x387FFFFFu, 0x0400, 0x3880},  /* rounds up to it */
               {0x387FC000u, 0x03FF, 0x3880},  /* the largest subnormal */
               {0x33800000u, 0x0001, 0x3380},  /* 2^-24, the least */
               {0x33000000u, 0x0000, 0x3300},  /* half of it: even */
               {0x33000001u, 0x0001, 0x3300},  /* a bit more: up */
               {0x33C00000u, 0x0002, 0x33C0},  /* 1.5 of it: even */
               {0x3F801000u, 0x3C00, 0x3F80},  /* a tie: down to even */
               {0x3F803000u, 0x3C02, 0x3F80},  /* a tie: up to even */
               {0x3F808000u, 0x3C04, 0x3F80},  /* bfloat16's: down */
               {0x3F818000u, 0x3C0C, 0x3F82}}; /* and up */
  size_t i;
  uint32_t x;
  for (i = 0; i < TEST_COUNT(cases); ++i) {
    tvmffi_i_float f;
    f.bits = cases[i].bits;
    CHECK_INT(tvmffi_float16_from_float(f.value), cases[i].half);
    CHECK_INT(tvmffi_bfloat16_from_float(f.value), cases[i].brain);
  }
  for (x = 0; x < 0x10000u; ++x) { /* there and back; a NaN gets quiet */
    uint16_t quiet = (x & 0x7FFFu) > 0x7C00u ? 0x200 : 0;
    uint16_t brain = (x & 0x7FFFu) > 0x7F80u ? 0x40 : 0;
    if (tvmffi_float16_from_float(tvmffi_float16_to_float((uint16_t)x)) !=
        (x | quiet))
      CHECK_INT(x, -1);
    if (tvmffi_bfloat16_from_float(tvmffi_bfloat16_to_float((uint16_t)x)) !=
        (x | brain))
      CHECK_INT(x, -2);
  }
  CHECK(tvmffi_float16_to_float(0x0001) == 1.0f / 16777216);
  CHECK(tvmffi_float16_to_float(0xC500) == -5.0f);
}
#endif

#if !TVMFFI_NO_TYPES
/* Structs as types. */
typedef struct {
  TVMFFIObject base;
  int64_t a, b;
} TestPair;

TVMFFI_TYPE(TestPair, "unit.Pair", TVMFFIObject, (doc, "A pair"),
            (field, int64, a), (doc, "The first"), (field, int64, b, 7),
            (method, total), (doc, "Adds up"), (method, times), (method, twins))

TVMFFI_METHOD(TestPair, total, int64) { TVMFFI_RETURN(self->a + self->b); }
TVMFFI_METHOD(TestPair, times, TestPair, (int64, by), (TestPair, other)) {
  TestPair *p;
  TVMFFI_TRY(tvmffi_new(TestPair, &p));
  p->a = self->a * by + other->a;
  p->b = self->b * by + other->b;
  TVMFFI_RETURN(p);
}
TVMFFI_STATIC_METHOD(TestPair, twins, TestPair, (int64, both)) {
  TestPair *p;
  TVMFFI_TRY(tvmffi_new(TestPair, &p));
  p->a = p->b = both;
  TVMFFI_RETURN(p);
}

typedef struct {
  TestPair base;
  TVMFFIAny text, data, any;
  TVMFFIObject *object;
  TestPair *pair;
  int8_t small;
  DLDataType dtype;
  DLDevice device;
  void *ptr;
  tvmffi_type_bool flag;
  int hidden; /* no field */
} TestRecord;

/* A method may stand before the type. */
TVMFFI_METHOD(TestRecord, size, int64) {
  TVMFFI_RETURN((int64_t)tvmffi_any_str(&self->text).size);
}
TVMFFI_FUNC(u_fresh, str) { TVMFFI_RETURN(tvmffi_view("from the factory")); }

TVMFFI_TYPE(TestRecord, "unit.Record", TestPair, (method, size),
            (field, str, text), (field, bytes, data, "some raw bytes"),
            (field, any, any), (factory, u_fresh), (kw_only),
            (field, object, object, NULL), (field, TestPair, pair, NULL),
            (readonly, int8, small, -3), (field, dtype, dtype, "int8x2"),
            (field, device, device, "cuda:3"), (field, ptr, ptr, NULL),
            (field, bool, flag, 1), (flags, kTVMFFIFieldFlagBitMaskInitOff))

typedef struct TestNode {
  TVMFFIObject base;
  struct TestNode *next;
  TVMFFIAny more;
  char letter;
} TestNode;

static void test_node_end(TestNode *self) {
  if (self->letter) test_say(self->letter);
}

TVMFFI_TYPE(TestNode, "unit.Node", TVMFFIObject, (field, TestNode, next, NULL),
            (field, any, more, tvmffi_none()), (destructor, test_node_end))

typedef struct {
  TestNode base;
  char last;
} TestLeaf;

static void test_leaf_end(TestLeaf *self) { test_say(self->last); }
TVMFFI_TYPE(TestLeaf, "unit.Leaf", TestNode, (destructor, test_leaf_end))

static const TVMFFIFieldInfo *test_field_of(int32_t index, const char *name) {
  const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(index);
  int32_t i;
  for (i = 0; info && i < info->num_fields; ++i)
    if (tvmffi_i_same(info->fields[i].name, name)) return &info->fields[i];
  return NULL;
}

static int test_set_of(void *object, const char *name, TVMFFIAny value) {
  const TVMFFIFieldInfo *f =
      test_field_of(((TVMFFIObject *)object)->type_index, name);
  return tvmffi_i_class_set_field(f, object, &value);
}

static TVMFFIAny test_get_of(void *object, const char *name) {
  const TVMFFIFieldInfo *f =
      test_field_of(((TVMFFIObject *)object)->type_index, name);
  TVMFFIAny value = tvmffi_none();
  CHECK(!f->getter((char *)object + f->offset, &value));
  return value;
}

static void test_type_registration(void) {
  const TVMFFITypeInfo *info, *pair;
  const TVMFFIFieldInfo *f;
  OK(tvmffi_register_type(TestRecord));
  OK(tvmffi_register_type(TestRecord));
  pair = TVMFFIGetTypeInfo(tvmffi_type_index(TestPair));
  info = TVMFFIGetTypeInfo(tvmffi_type_index(TestRecord));
  CHECK(info->type_depth == 2 && info->type_ancestors[1] == pair);
  CHECK(pair->num_fields == 2 && pair->num_methods == 3);
  CHECK(info->num_fields == 10 && info->num_methods == 1);
  CHECK_TEXT(pair->type_key, "unit.Pair");
  CHECK_TEXT(pair->metadata->doc, "A pair");
  CHECK_INT(info->metadata->total_size, (int)sizeof(TestRecord));
  CHECK_TEXT(pair->methods[0].doc, "Adds up");
  CHECK_INT(pair->methods[0].flags, 0);
  CHECK_INT(pair->methods[2].flags, kTVMFFIFieldFlagBitMaskIsStaticMethod);
  CHECK_TEXT(pair->methods[0].metadata,
             "{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\","
             "\\\"named_args\\\":{\\\"return\\\":[{\\\"type\\\":\\\"int\\\"}],"
             "\\\"params\\\":[{\\\"type\\\":\\\"unit.Pair\\\"}]}}\"}");
  f = &pair->fields[0];
  CHECK_TEXT(f->doc, "The first");
  CHECK(f->flags == kTVMFFIFieldFlagBitMaskWritable && f->size == 8);
  CHECK_INT(f->offset, (int)offsetof(TestPair, a));
  CHECK_INT(f->field_static_type_index, kTVMFFIInt);
  CHECK_TEXT(f->metadata, "{\"type_schema\":\"{\\\"type\\\":\\\"int\\\"}\"}");
  f = &pair->fields[1];
  CHECK_INT(f->flags, kTVMFFIFieldFlagBitMaskWritable |
                          kTVMFFIFieldFlagBitMaskHasDefault);
  CHECK_INT(f->default_value_or_factory.v_int64, 7);
  f = test_field_of(info->type_index, "any");
  CHECK_INT(f->flags, kTVMFFIFieldFlagBitMaskWritable |
                          kTVMFFIFieldFlagBitMaskHasDefault |
                          kTVMFFIFieldFlagBitMaskDefaultFromFactory);
  f = test_field_of(info->type_index, "small");
  CHECK_INT(f->flags,
            kTVMFFIFieldFlagBitMaskHasDefault | kTVMFFIFieldFlagBitMaskKwOnly);
  f = test_field_of(info->type_index, "pair");
  CHECK_INT(f->field_static_type_index, kTVMFFIObject);
  CHECK_TEXT(f->metadata,
             "{\"type_schema\":\"{\\\"type\\\":\\\"Optional\\\",\\\"args\\\":"
             "[{\\\"type\\\":\\\"unit.Pair\\\"}]}\"}");
  f = test_field_of(info->type_index, "flag");
  CHECK(f->flags & kTVMFFIFieldFlagBitMaskInitOff);
  CHECK_INT(test_field_of(info->type_index, "text")->field_static_type_index,
            kTVMFFIAny);
}

typedef struct {
  TVMFFIObject base;
  TVMFFIObject *items;
} TestBag;
TVMFFI_FUNC(u_items, list) { TVMFFI_RETURN(tvmffi_list(tvmffi_int(1))); }
TVMFFI_TYPE(TestBag, "unit.Bag", TVMFFIObject, (field, list, items),
            (factory, u_items))

/* What a factory makes is not the caller's scope's. */
static void test_type_factory(void) {
  tvmffi_scope scope;
  TestBag *bag = NULL;
  int code;
  if (TVMFFI_NO_CONTAINERS) return;
  tvmffi_scope_begin(&scope);
  code = tvmffi_new(TestBag, &bag);
  if (!code) {
    CHECK_INT(test_strong(bag->items), 1);
    CHECK_INT(tvmffi_scope_count(kTVMFFIList), 0);
    CHECK_INT(tvmffi_scope_count(kTVMFFIAny), 1);
  }
  tvmffi_scope_end(&scope);
  OK(code);
}

static void test_type_new(void) {
  TestPair *pair = NULL;
  TestRecord *record = NULL;
  OK(tvmffi_new(TestPair, &pair));
  OWN(&pair->base);
  CHECK(pair->a == 0 && pair->b == 7 && test_strong(pair) == 1);
  CHECK_INT(pair->base.type_index, tvmffi_type_index(TestPair));
  OK(tvmffi_new(TestRecord, &record, tvmffi_int(1), tvmffi_str("a long text"),
                tvmffi_int(2)));
  OWN(&record->base.base);
  /* Those without a default first: a, text; then b. */
  CHECK(record->base.a == 1 && record->base.b == 2 && record->flag);
  CHECK_TEXT(tvmffi_any_str(&record->text), "a long text");
  CHECK_TEXT(tvmffi_any_str(&record->data), "some raw bytes");
  CHECK_TEXT(tvmffi_any_str(&record->any), "from the factory");
  CHECK(!record->object && !record->pair && record->small == -3);
  CHECK(record->dtype.bits == 8 && record->dtype.lanes == 2);
  CHECK(record->device.device_type == kDLCUDA && !record->ptr);
  CHECK(tvmffi_cast(TestPair, record) == &record->base);
  CHECK(tvmffi_cast(TestRecord, record) == record);
  CHECK(tvmffi_cast(TestRecord, pair) == NULL);
  CHECK(tvmffi_cast(TestPair, NULL) == NULL);
  pair = NULL;
  FAILS(
      tvmffi_new(TestPair, &pair, tvmffi_int(1), tvmffi_int(2), tvmffi_int(3)),
      "TypeError",
      "Type `unit.Pair` has 2 fields by position, but got 3 values");
  CHECK(pair == NULL);
  FAILS(tvmffi_new(TestPair, &pair, tvmffi_str("x")), "TypeError",
        "unit.Pair.a: Cannot convert from type `const char*` to `int`");
  FAILS(tvmffi_new(TestPair, &pair, tvmffi_uint(UINT64_MAX)), "OverflowError",
        NULL);
  FAILS(tvmffi_i_new_TestPair(NULL, NULL, 0), "TypeError",
        "tvmffi_new(unit.Pair): NULL for the result");
}

static void test_type_fields(void) {
  TestRecord *r = NULL;
  TestPair *pair = NULL;
  TVMFFIByteArray bytes = {"raw\0bytes", 9};
  TVMFFIAny any;
  OK(tvmffi_new(TestRecord, &r));
  OWN(&r->base.base);
  any = test_get_of(r, "text"); /* empty, and not None */
  CHECK(any.type_index == kTVMFFISmallStr && any.v_int64 == 0);
  OK(tvmffi_new(TestPair, &pair));
  OWN(&pair->base);
  OK(test_set_of(r, "pair", tvmffi_obj(pair)));
  OK(test_set_of(r, "pair", tvmffi_obj(pair)));
  CHECK(r->pair == pair && test_strong(pair) == 2);
  OK(test_set_of(r, "object", tvmffi_obj(r->pair)));
  OK(test_set_of(r, "any", tvmffi_obj(pair)));
  CHECK(r->object == &pair->base && test_strong(pair) == 4);
  any = test_get_of(r, "any");
  CHECK(any.v_obj == &pair->base && test_strong(pair) == 5);
  tvmffi_any_release(&any);
  any = test_get_of(r, "pair");
  CHECK(any.v_obj == &pair->base && test_strong(pair) == 5);
  tvmffi_any_release(&any);
  OK(test_set_of(r, "pair", tvmffi_none()));
  OK(test_set_of(r, "any", tvmffi_int(5)));
  tvmffi_assign(r->object, NULL);
  CHECK(!r->pair && !r->object && test_strong(pair) == 1);
  any = test_get_of(r, "pair");
  CHECK_INT(any.type_index, kTVMFFINone);
  OK(test_set_of(r, "data", tvmffi_bytes(&bytes)));
  any = test_get_of(r, "data");
  CHECK_INT((int)tvmffi_any_str(&any).size, 9);
  tvmffi_any_release(&any);
  OK(test_set_of(r, "text", tvmffi_str("short")));
  OK(tvmffi_any_assign(&r->text, tvmffi_str("longer than seven")));
  CHECK_TEXT(tvmffi_any_str(&r->text), "longer than seven");
  OK(test_set_of(r, "dtype", tvmffi_str("bool")));
  OK(test_set_of(r, "device", tvmffi_str("cpu")));
  OK(test_set_of(r, "ptr", tvmffi_ptr(r)));
  OK(test_set_of(r, "flag", tvmffi_int(0)));
  OK(test_set_of(r, "small", tvmffi_int(-128)));
  CHECK(r->ptr == r && !r->flag && r->small == -128);
  CHECK(r->dtype.code == kDLBool && r->device.device_type == kDLCPU);
  any = test_get_of(r, "small");
  CHECK(any.type_index == kTVMFFIInt && any.v_int64 == -128);
  FAILS(test_set_of(r, "small", tvmffi_int(128)), "OverflowError",
        "The value 128 is out of range of int8");
  FAILS(test_set_of(r, "text", tvmffi_int(1)), "TypeError",
        "Cannot convert from type `int` to `str`");
  FAILS(test_set_of(r, "pair", tvmffi_int(1)), "TypeError",
        "Cannot convert from type `int` to `Optional<unit.Pair>`");
  FAILS(test_set_of(r, "dtype", tvmffi_str("nonsense")), "ValueError", NULL);
  CHECK_TEXT(tvmffi_any_str(&r->text), "longer than seven");
}

static int test_call_method(int32_t index, int i, TVMFFIAny *args, int32_t n,
                            TVMFFIAny *result) {
  *result = tvmffi_none();
  return TVMFFIFunctionCall(TVMFFIGetTypeInfo(index)->methods[i].method.v_obj,
                            args, n, result);
}

static void test_type_methods(void) {
  TestPair *pair = NULL;
  TestRecord *record = NULL;
  TVMFFIAny args[3], result;
  int32_t index;
  OK(tvmffi_new(TestPair, &pair, tvmffi_int(1)));
  OWN(&pair->base);
  OK(tvmffi_new(TestRecord, &record, tvmffi_int(10)));
  OWN(&record->base.base);
  index = tvmffi_type_index(TestPair);
  args[0] = tvmffi_obj(record); /* a child's */
  args[1] = tvmffi_int(2);
  args[2] = tvmffi_obj(pair);
  OK(test_call_method(index, 0, args, 1, &result));
  CHECK_INT(result.v_int64, 17);
  OK(test_call_method(index, 1, args, 3, &result));
  OWN(result.v_obj);
  CHECK_INT(((TestPair *)(void *)result.v_obj)->a, 21);
  OK(test_call_method(index, 2, args + 1, 1, &result));
  OWN(result.v_obj);
  CHECK_INT(((TestPair *)(void *)result.v_obj)->b, 2);
  FAILS(test_call_method(index, 0, args + 1, 1, &result), "TypeError",
        "Mismatched type on argument #0 when calling: `unit.Pair.total(0: "
        "unit.Pair) -> int`. Expected `unit.Pair` but got `int`");
  args[2] = tvmffi_obj(&tvmffi_i_memory_error);
  FAILS(test_call_method(index, 1, args, 3, &result), "TypeError",
        "Mismatched type on argument #2 when calling: `unit.Pair.times(0: "
        "unit.Pair, 1: int, 2: unit.Pair) -> unit.Pair`. Expected `unit.Pair` "
        "but got `ffi.Error`");
  index = tvmffi_type_index(TestRecord);
  FAILS(test_call_method(index, 0, args + 2, 1, &result), "TypeError",
        "...calling: `unit.Record.size(0: unit.Record) -> int`");
  args[2] = tvmffi_obj(pair);
  FAILS(test_call_method(index, 0, args + 2, 1, &result), "TypeError",
        "...Expected `unit.Record` but got `unit.Pair`");
}

static void test_type_attributes(void) {
  TestRecord *r = NULL, *copy;
  TestPair *pair = NULL;
  TVMFFIAny arg, result = tvmffi_none();
  const TVMFFIAny *attr;
  int32_t index;
  OK(tvmffi_new(TestRecord, &r, tvmffi_int(4), tvmffi_str("a longer text")));
  OWN(&r->base.base);
  OK(tvmffi_new(TestPair, &pair));
  OWN(&pair->base);
  OK(test_set_of(r, "pair", tvmffi_obj(pair)));
  r->hidden = 12;
  index = r->base.base.type_index;
  attr = tvmffi_i_class_attr(index, "__ffi_shallow_copy__");
  arg = tvmffi_obj(r);
  OK(TVMFFIFunctionCall(attr->v_obj, &arg, 1, &result));
  OWN(result.v_obj);
  copy = tvmffi_cast(TestRecord, result.v_obj);
  if (!CHECK(copy && copy != r)) return;
  CHECK(copy->base.a == 4 && copy->hidden == 12 && test_strong(copy) == 1);
  CHECK(copy->pair == pair && test_strong(pair) == 3);
  CHECK_TEXT(tvmffi_any_str(&copy->text), "a longer text");
  CHECK(copy->text.v_obj == r->text.v_obj && test_strong(r->text.v_obj) == 2);
  arg = tvmffi_obj(pair);
  result = tvmffi_none();
  FAILS(TVMFFIFunctionCall(attr->v_obj, &arg, 1, &result), "TypeError",
        "`unit.Record.__ffi_shallow_copy__` takes one object of its type");
  attr = tvmffi_i_class_attr(index, "__ffi_new__");
  OK(TVMFFIFunctionCall(attr->v_obj, NULL, 0, &result));
  OWN(result.v_obj);
  CHECK(tvmffi_cast(TestRecord, result.v_obj)->base.b == 0);
  attr = tvmffi_i_class_attr(index, "__ffi_type_final__");
  CHECK(attr->type_index == kTVMFFIBool && !attr->v_int64);
  attr = tvmffi_i_class_attr(index, "__ffi_init__");
  result = tvmffi_none();
#if TVMFFI_NO_CONTAINERS
  if (TVMFFIFunctionCall(attr->v_obj, NULL, 0, &result))
    FAILS(-1, "RuntimeError",
          "`unit.Record` cannot be made by its fields: the runtime has no "
          "`ffi._RegisterFFIInit`; it was built with TVMFFI_NO_CONTAINERS");
#else
  {
    TVMFFIAny args[2];
    args[0] = tvmffi_int(8);
    args[1] = tvmffi_str("made by init");
    OK(TVMFFIFunctionCall(attr->v_obj, args, 2, &result));
    OWN(result.v_obj);
    copy = tvmffi_cast(TestRecord, result.v_obj);
    CHECK(copy->base.a == 8 && copy->base.b == 7 && copy->small == -3);
  }
#endif
  OK(tvmffi_register_type(TestLeaf));
  CHECK(!tvmffi_i_class_attr(tvmffi_type_index(TestLeaf),
                             "__ffi_shallow_copy__"));
}

static void test_type_end(void) {
  TestLeaf *leaf = NULL;
  TestNode *node = NULL, *inner = NULL;
  test_log_size = 0;
  OK(tvmffi_new(TestLeaf, &leaf));
  leaf->base.letter = 'a';
  leaf->last = 'b';
  tvmffi_release(leaf);
  CHECK_LOG("ba"); /* the child first */
  OK(tvmffi_new(TestNode, &node));
  node->letter = 'n';
  if (tvmffi_new(TestNode, &inner)) {
    tvmffi_release(node);
    FAILS(-1, "MemoryError", NULL);
    test_log_size = 0;
    return;
  }
  inner->letter = 'i';
  tvmffi_assign(node->next, inner);
  tvmffi_weak_retain(node);
  tvmffi_weak_retain(inner);
  tvmffi_release(inner);
  CHECK_LOG("");
  tvmffi_release(node); /* what it holds is gone, its memory is not */
  CHECK_LOG("ni");
  CHECK(!node->next && !tvmffi_weak_lock(node) && !tvmffi_weak_lock(inner));
  CHECK(test_weak(node) == 1 && test_weak(inner) == 1);
  CHECK(inner->base.deleter == node->base.deleter);
  tvmffi_weak_release(inner);
  tvmffi_weak_release(node);
}

/* Objects that hold the next one, in turn as a field and within an Any. */
static void test_type_chain(void) {
  TestNode *first = NULL, *node = NULL, *middle = NULL;
  int i, code = 0;
  for (i = 0; !code && i < test_scale(TEST_CHAIN / 4, 20); ++i) {
    code = tvmffi_new(TestNode, &node);
    if (code) break;
    if (i % 2)
      node->next = first;
    else if (first)
      node->more = tvmffi_obj(first);
    first = node;
    if (i == 10) {
      middle = node;
      tvmffi_weak_retain(middle);
    }
  }
  tvmffi_release(first);
  if (middle) {
    CHECK(!tvmffi_weak_lock(middle) && test_weak(middle) == 1);
    tvmffi_weak_release(middle);
  }
  OK(code);
}

#if defined(__cplusplus) && defined(__cpp_exceptions)
typedef struct {
  TVMFFIObject base;
  int64_t number;
} TestThrower;
static void test_thrower_end(TestThrower *self) { throw self; }
TVMFFI_TYPE(TestThrower, "unit.Thrower", TVMFFIObject,
            (field, int64, number, 1), (destructor, test_thrower_end))

/* What a destructor of a type throws does not end the destruction of others. */
static void test_throwing_types(void) {
  TestThrower *o;
  int i;
  for (i = 0; i < 40; ++i) {
    OK(tvmffi_new(TestThrower, &o));
    try {
      tvmffi_release(o);
      CHECK(0);
    } catch (TestThrower *thrown) {
      CHECK(thrown == o);
      ((TVMFFIObjectAllocHeader *)(void *)o - 1)->delete_space(o);
    }
  }
  test_type_chain();
  test_type_end();
  tvmffi_i_class_destroying()->depth = 0; /* of frames that are gone */
}
#endif

typedef struct {
  TVMFFIObject base;
  int64_t a;
} TestNarrow;
TVMFFI_TYPE(TestNarrow, "unit.Pair", TVMFFIObject, (field, int64, a))

typedef struct {
  TVMFFIObject base;
  int64_t b, a;
} TestOther;
TVMFFI_TYPE(TestOther, "unit.Pair", TVMFFIObject, (field, int64, a))

typedef struct {
  TestNode base;
} TestStray;
TVMFFI_TYPE(TestStray, "unit.Pair", TestNode)

typedef struct {
  TVMFFIObject base;
} TestNobody;
TVMFFI_FOREIGN_TYPE(TestNobody, "unit.nobody.registers.this")
typedef struct {
  TestNobody base;
} TestOrphan;
TVMFFI_TYPE(TestOrphan, "unit.Orphan", TestNobody)

TVMFFI_FUNC(u_nobody, none, (TestNobody, object)) {
  (void)object;
  TVMFFI_RETURN();
}
TVMFFI_FUNC(u_no_pair, TestPair) { TVMFFI_RETURN(NULL); }

static void test_type_mistakes(void) {
  TestOrphan *orphan = NULL;
  TVMFFIAny any = tvmffi_obj(&tvmffi_i_memory_error), result = tvmffi_none();
  static const char *const missing =
      "Type `unit.nobody.registers.this` is not registered: load the library "
      "that defines it first";
  OK(tvmffi_register_type(TestPair));
  FAILS(tvmffi_register_type(TestNarrow), "TypeError",
        "...Type `unit.Pair` is registered with a size of ");
  FAILS(tvmffi_register_type(TestOther), "TypeError",
        "...Field `a` of type `unit.Pair` is registered with 8 bytes at offset "
        "24, here it has 8 at 32");
  FAILS(tvmffi_register_type(TestStray), "TypeError",
        "Type `unit.Pair` is registered as a child of `ffi.Object`, here it is "
        "one of `unit.Node`");
  FAILS(tvmffi_register_type(TestOrphan), "TypeError", missing);
  FAILS(tvmffi_new(TestOrphan, &orphan), "TypeError", missing);
  FAILS(tvmffi_type_index(TestNobody) == -1, "TypeError", missing);
  CHECK(tvmffi_cast(TestNobody, &tvmffi_i_memory_error) == NULL);
  CHECK(tvmffi_error_take() == NULL);
  FAILS(tvmffi_func_u_nobody.call(NULL, &any, 1, &result), "TypeError",
        missing);
  OK(tvmffi_func_u_no_pair.call(NULL, NULL, 0, &result));
  CHECK_INT(result.type_index, kTVMFFINone);
}

/* A child of a type that is known by its key and fields alone. */
typedef struct {
  TVMFFIObject base;
  int64_t a, b;
  TVMFFIAny text, data, any;
  TVMFFIObject *object, *pair;
} TestForeign;
TVMFFI_FOREIGN_TYPE(TestForeign, "unit.Abroad")
typedef struct {
  TestForeign base;
  int64_t more;
} TestChild;
TVMFFI_TYPE(TestChild, "unit.Child", TestForeign, (field, int64, more, 1))

typedef struct {
  TVMFFIObject base;
  int64_t a, b;
  TVMFFIAny text, data, any;
  TVMFFIObject *object, *pair;
} TestAbroad;
TVMFFI_TYPE(TestAbroad, "unit.Abroad", TVMFFIObject, (field, int64, a, 1),
            (field, int64, b, 2), (field, str, text, "a longer text"),
            (field, bytes, data, "raw"), (field, any, any, tvmffi_int(3)),
            (field, object, object, NULL), (field, object, pair, NULL))

/* Two types that refer to each other: the one behind is declared. */
typedef struct TestTrunk TestTrunk;
typedef struct {
  TVMFFIObject base;
  TestTrunk *trunk;
  int64_t number;
} TestBranch;
struct TestTrunk {
  TVMFFIObject base;
  TestBranch *first;
};

TVMFFI_TYPE_DECLARE(TestTrunk, "unit.Trunk")
TVMFFI_TYPE(TestBranch, "unit.Branch", TVMFFIObject, (field, int64, number),
            (field, TestTrunk, trunk, NULL), (method, root))
TVMFFI_METHOD(TestBranch, root, optional(TestTrunk)) {
  if (self->trunk) tvmffi_retain(self->trunk);
  TVMFFI_RETURN(self->trunk);
}
TVMFFI_TYPE_DEFINE(TestTrunk, "unit.Trunk", TVMFFIObject,
                   (field, TestBranch, first, NULL))

static void test_type_declared(void) {
  TestBranch *first = NULL, *second = NULL;
  TestTrunk *trunk = NULL;
  TVMFFIAny arg, root;
  OK(tvmffi_new(TestBranch, &first, tvmffi_int(1)));
  OWN(first);
  OK(tvmffi_new(TestTrunk, &trunk, tvmffi_obj(first)));
  OWN(trunk);
  OK(tvmffi_new(TestBranch, &second, tvmffi_int(2), tvmffi_obj(trunk)));
  OWN(second);
  CHECK(second->trunk == trunk && second->trunk->first == first);
  arg = tvmffi_obj(second);
  OK(test_call_typed(&tvmffi_func_TestBranch_root, arg, &root));
  CHECK(root.v_obj == &trunk->base);
  tvmffi_any_release(&root);
  FAILS(test_set_of(trunk, "first", tvmffi_obj(trunk)), "TypeError",
        "Cannot convert from type `unit.Trunk` to `Optional<unit.Branch>`");
  FAILS(test_set_of(second, "trunk", arg), "TypeError",
        "Cannot convert from type `unit.Branch` to `Optional<unit.Trunk>`");
  CHECK_TEXT(test_field_of(tvmffi_type_index(TestBranch), "trunk")->metadata,
             "{\"type_schema\":\"{\\\"type\\\":\\\"Optional\\\",\\\"args\\\":"
             "[{\\\"type\\\":\\\"unit.Trunk\\\"}]}\"}");
}

static void test_type_foreign(void) {
  TestChild *child = NULL;
  TVMFFIObjectHandle copy = NULL;
  TestPair *pair = NULL;
  OK(tvmffi_register_type(TestAbroad));
  OK(tvmffi_new(TestPair, &pair));
  OWN(&pair->base);
  OK(tvmffi_new(TestChild, &child, tvmffi_int(5)));
  OWN(&child->base.base);
  CHECK(child->base.a == 5 && child->base.b == 2 && child->more == 1);
  CHECK_TEXT(tvmffi_any_str(&child->base.text), "a longer text");
  CHECK(tvmffi_cast(TestForeign, child) == &child->base);
  tvmffi_assign(child->base.pair, &pair->base);
  OK(tvmffi_any_assign(&child->base.any, tvmffi_obj(pair)));
  OK(tvmffi_i_class_copy(tvmffi_i_class_of_TestChild(), child, &copy));
  CHECK(test_strong(pair) == 5 && ((TestChild *)copy)->base.a == 5);
  tvmffi_release(copy);
  CHECK(test_strong(pair) == 3);
}

#if !TVMFFI_NO_CONTAINERS
/* Fields of words with arguments, and the type as an argument. */
typedef struct {
  TVMFFIObject base;
  tvmffi_type_optional(int64) limit;
  tvmffi_type_optional(dtype) dtype;
  TVMFFIAny name, note;
  TVMFFIObject *sizes, *shape, *names;
  TestPair *pair;
  TVMFFIObject *pairs;
} TestParts;

TVMFFI_TYPE(TestParts, "unit.Parts", TVMFFIObject,
            (field, optional(int64), limit, tvmffi_some_int64(4)),
            (field, optional(dtype), dtype, "int8"),
            (field, optional(str), name, NULL),
            (field, optional(bytes), note, "a note"),
            (field, array(int64), sizes, NULL), (field, shape, shape, NULL),
            (field, optional(map(str, int64)), names, NULL),
            (field, optional(TestPair), pair, NULL),
            (field, array(TestPair), pairs, NULL))

TVMFFI_FUNC(u_sum_pairs, int64, (optional(TestPair), p),
            (array(TestPair), more)) {
  int64_t sum = p ? p->a : 100, i;
  for (i = 0; i < tvmffi_i_size(tvmffi_obj(more)); ++i) {
    TVMFFIAny item;
    TVMFFI_TRY(tvmffi_i_item_at(tvmffi_obj(more), i, &item));
    sum += tvmffi_cast(TestPair, item.v_obj)->a;
  }
  TVMFFI_RETURN(sum);
}

static void test_type_parts(void) {
  TestParts *p = NULL;
  TVMFFIAny items[2], value;
  const TVMFFITypeInfo *info;
  OK(tvmffi_new(TestParts, &p));
  OWN(p);
  CHECK(p->limit.has_value && p->limit.value == 4 && p->dtype.value.bits == 8);
  CHECK_INT(p->name.type_index, kTVMFFINone);
  CHECK_TEXT(tvmffi_any_str(&p->note), "a note");
  CHECK(!p->sizes && !p->shape && !p->names && !p->pair && !p->pairs);
  OK(test_set_of(p, "limit", tvmffi_none()));
  CHECK(!p->limit.has_value);
  OK(test_set_of(p, "note", tvmffi_none()));
  OK(test_set_of(p, "name", tvmffi_str("a longer name")));
  CHECK_TEXT(tvmffi_any_str(&p->name), "a longer name");
  items[0] = tvmffi_int(2);
  items[1] = tvmffi_bool(1);
  value = tvmffi_obj(tvmffi_list_from(items, 2));
  if (value.type_index == kTVMFFINone) {
    CHECK(test_hits());
    tvmffi_error_clear();
    return;
  }
  OWN(value.v_obj);
  OK(test_set_of(p, "sizes", value));
  CHECK_INT(p->sizes->type_index, kTVMFFIArray);
  OK(test_set_of(p, "shape", value));
  CHECK_INT(p->shape->type_index, kTVMFFIShape);
  FAILS(test_set_of(p, "pairs", value), "TypeError",
        "Cannot convert from type `Array[index 0: int]` to "
        "`Optional<Array<unit.Pair>>`");
  FAILS(test_set_of(p, "names", value), "TypeError",
        "Cannot convert from type `ffi.List` to `Optional<Map<str, int>>`");
  FAILS(test_set_of(p, "limit", tvmffi_str("x")), "TypeError",
        "Cannot convert from type `const char*` to `Optional<int>`");
  OK(test_set_of(p, "sizes", tvmffi_none()));
  CHECK(!p->sizes);
  info = TVMFFIGetTypeInfo(tvmffi_type_index(TestParts));
  CHECK_INT(info->fields[0].field_static_type_index, kTVMFFIAny);
  CHECK_INT(info->fields[4].field_static_type_index, kTVMFFIArray);
  CHECK_INT(info->fields[6].field_static_type_index, kTVMFFIAny);
  CHECK_TEXT(info->fields[7].metadata,
             "{\"type_schema\":\"{\\\"type\\\":\\\"Optional\\\",\\\"args\\\":"
             "[{\\\"type\\\":\\\"unit.Pair\\\"}]}\"}");
}

static void test_type_arguments(void) {
  TestPair *pair = NULL;
  TVMFFIObject *f = NULL, *list;
  TVMFFIAny item;
  int64_t sum = 0;
  OK(tvmffi_new(TestPair, &pair, tvmffi_int(3)));
  OWN(pair);
  OK(tvmffi_function(u_sum_pairs, &f));
  OWN(f);
  item = tvmffi_obj(pair);
  list = tvmffi_list_from(&item, 1);
  if (!list) {
    CHECK(test_hits());
    tvmffi_error_clear();
    return;
  }
  OWN(list);
  OK(tvmffi_call(tvmffi_obj(f), tvmffi_out_int64(&sum), item,
                 tvmffi_obj(list)));
  CHECK_INT(sum, 6);
  OK(tvmffi_call(tvmffi_obj(f), tvmffi_out_int64(&sum), tvmffi_none(),
                 tvmffi_obj(list)));
  CHECK_INT(sum, 103);
  FAILS(tvmffi_call(tvmffi_obj(f), tvmffi_out_int64(&sum), tvmffi_obj(list),
                    tvmffi_obj(list)),
        "TypeError",
        "Mismatched type on argument #0 when calling: `u_sum_pairs(0: "
        "Optional<unit.Pair>, 1: Array<unit.Pair>) -> int`. Expected "
        "`Optional<unit.Pair>` but got `ffi.List`");
}
#endif

/* What is made inside a scope is the scope's. */
static void test_type_scope(void) {
  static int64_t state;
  tvmffi_scope scope;
  TestPair *pair = NULL;
  TVMFFIObject *f = NULL;
  int code;
  tvmffi_scope_begin(&scope);
  test_closures_ended = 0;
  code = tvmffi_new(TestPair, &pair) ||
         tvmffi_closure(u_closure, &state, test_end_closure, &f);
  if (!code) {
    CHECK_INT(tvmffi_scope_count(kTVMFFIFunction), 1);
    CHECK_INT(tvmffi_scope_count(tvmffi_type_index(TestPair)), 1);
  } else {
    CHECK(test_hits());
    tvmffi_error_clear();
  }
  CHECK(!tvmffi_scope_end(&scope));
  if (!code) CHECK_INT(test_closures_ended, 1);
}
#else
/* Only the types of the ABI: what asks for another is refused. */
typedef struct {
  TVMFFIObject base;
  int64_t a;
} TestPair;
TVMFFI_TYPE(TestPair, "unit.Pair", TVMFFIObject, (field, int64, a))
typedef struct {
  TVMFFIObject base;
} TestError;
TVMFFI_FOREIGN_TYPE(TestError, "ffi.Error")

static void test_no_types(void) {
  TVMFFIByteArray key = TEXT("unit.Pair"), abi = TEXT("ffi.Error");
  TestPair *pair = NULL;
  TVMFFIObject *error;
  TVMFFITypeMetadata metadata;
  TVMFFIFieldInfo field = test_field("a", 24);
  int32_t index = -1;
  memset((void *)&metadata, 0, sizeof(metadata));
  CHECK(!TVMFFIGetTypeInfo(kTVMFFIError) && !TVMFFIGetTypeInfo(-1));
  OK(TVMFFITypeKeyToIndex(&abi, &index));
  CHECK_INT(index, kTVMFFIError);
  FAILS(TVMFFITypeKeyToIndex(&key, &index), "InternalError",
        "Cannot find type `unit.Pair`");
  FAILS(TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject) < 0,
        "RuntimeError", "This runtime has no table of types");
  FAILS(TVMFFITypeRegisterField(200, &field), "InternalError", NULL);
  FAILS(TVMFFITypeRegisterMetadata(200, &metadata), "InternalError", NULL);
  FAILS(tvmffi_register_type(TestPair), "RuntimeError",
        "Type `unit.Pair`: this runtime has no table of types");
  FAILS(tvmffi_new(TestPair, &pair), "RuntimeError", NULL);
  CHECK(!pair);
  OK(tvmffi_register_type(TestError));
  CHECK_INT(tvmffi_type_index(TestError), kTVMFFIError);
  (void)TVMFFI_RAISE("ValueError", "one");
  error = tvmffi_error_take();
  OWN(error);
  CHECK(tvmffi_cast(TestError, error) == (TestError *)error);
  CHECK(!tvmffi_cast(TestPair, error));
  FAILS(tvmffi_call(tvmffi_str("ffi.String"), tvmffi_out_none(NULL),
                    tvmffi_obj(error)),
        "TypeError", "...Expected `str` but got `ffi.Error`");
}
#endif
#endif

#if !TEST_NO_DTYPES
/* ======== Data types and devices ========================================== */

typedef struct {
  const char *text;
  int code, bits, lanes;
  const char *error; /* instead of the three */
} test_dtype_case;

#define UNKNOWN(text) {text, 0, 0, 0, "unknown dtype `" text "`"}
#define LANES(text)                              \
  {text, 0, 0, 0,                                \
   "Invalid lanes specification in dtype '" text \
   "'. Lanes must "                              \
   "be a positive integer."}

static const test_dtype_case test_dtypes[] = {
    {"", kDLOpaqueHandle, 0, 0, NULL},
    {"void", kDLOpaqueHandle, 0, 0, NULL},
    {"handle", kDLOpaqueHandle, 64, 1, NULL},
    {"int", kDLInt, 32, 1, NULL},
    {"int1", kDLInt, 1, 1, NULL},
    {"int4", kDLInt, 4, 1, NULL},
    {"int8", kDLInt, 8, 1, NULL},
    {"int64", kDLInt, 64, 1, NULL},
    {"int255", kDLInt, 255, 1, NULL},
    {"int8x4", kDLInt, 8, 4, NULL},
    {"intx4", kDLInt, 32, 4, NULL},
    {"int32x32767", kDLInt, 32, 32767, NULL},
    {"i8", kDLInt, 8, 1, NULL},
    {"i32x2", kDLInt, 32, 2, NULL},
    {"uint", kDLUInt, 32, 1, NULL},
    {"uint1", kDLUInt, 1, 1, NULL},
    {"uint16x8", kDLUInt, 16, 8, NULL},
    {"u64", kDLUInt, 64, 1, NULL},
    {"float", kDLFloat, 32, 1, NULL},
    {"float16", kDLFloat, 16, 1, NULL},
    {"float64x2", kDLFloat, 64, 2, NULL},
    {"f16", kDLFloat, 16, 1, NULL},
    {"f32x4", kDLFloat, 32, 4, NULL},
    {"bfloat", kDLBfloat, 16, 1, NULL},
    {"bfloat16", kDLBfloat, 16, 1, NULL},
    {"bf16", kDLBfloat, 16, 1, NULL},
    {"bf16x2", kDLBfloat, 16, 2, NULL},
    {"bool", kDLBool, 8, 1, NULL},
    {"bool8", kDLBool, 8, 1, NULL},
    {"bool1", kDLBool, 1, 1, NULL},
    {"boolx4", kDLBool, 8, 4, NULL},
    {"float32xvscalex4", kDLFloat, 32, -4, NULL},
    {"int8xvscalex16", kDLInt, 8, -16, NULL},
    {"boolxvscalex2", kDLBool, 8, -2, NULL},
    {"int8xvscalex32768", kDLInt, 8, -32768, NULL},
    {"float8_e3m4", kDLFloat8_e3m4, 8, 1, NULL},
    {"float8_e4m3", kDLFloat8_e4m3, 8, 1, NULL},
    {"float8_e4m3b11fnuz", kDLFloat8_e4m3b11fnuz, 8, 1, NULL},
    {"float8_e4m3fn", kDLFloat8_e4m3fn, 8, 1, NULL},
    {"float8_e4m3fnuz", kDLFloat8_e4m3fnuz, 8, 1, NULL},
    {"float8_e5m2", kDLFloat8_e5m2, 8, 1, NULL},
    {"float8_e5m2fnuz", kDLFloat8_e5m2fnuz, 8, 1, NULL},
    {"float8_e8m0fnu", kDLFloat8_e8m0fnu, 8, 1, NULL},
    {"float6_e2m3fn", kDLFloat6_e2m3fn, 6, 1, NULL},
    {"float6_e3m2fn", kDLFloat6_e3m2fn, 6, 1, NULL},
    {"float4_e2m1fn", kDLFloat4_e2m1fn, 4, 1, NULL},
    {"float8_e4m3fnx4", kDLFloat8_e4m3fn, 8, 4, NULL},
    {"float6_e3m2fnx2", kDLFloat6_e3m2fn, 6, 2, NULL},
    {"float4_e2m1fnx16", kDLFloat4_e2m1fn, 4, 16, NULL},
    {"float4_e2m1fn_x2", kDLFloat4_e2m1fn, 4, 2, NULL},
    {"f8_e4m3fn", kDLFloat8_e4m3fn, 8, 1, NULL},
    {"fp8_e5m2x2", kDLFloat8_e5m2, 8, 2, NULL},
    {"f6_e2m3fn", kDLFloat6_e2m3fn, 6, 1, NULL},
    {"fp6_e3m2fn", kDLFloat6_e3m2fn, 6, 1, NULL},
    {"f4_e2m1fn", kDLFloat4_e2m1fn, 4, 1, NULL},
    {"fp4_e2m1fnx8", kDLFloat4_e2m1fn, 4, 8, NULL},
    {"int0", kDLInt, 32, 1, NULL},
    {"i08", kDLInt, 8, 1, NULL},
    UNKNOWN("x"),
    UNKNOWN("nope"),
    UNKNOWN("Int8"),
    UNKNOWN(" int8"),
    UNKNOWN("int8 "),
    UNKNOWN("int8y"),
    UNKNOWN("int8x4y"),
    UNKNOWN("int-8"),
    UNKNOWN("f"),
    UNKNOWN("ix"),
    {"i8y", 0, 0, 0, "unknown dtype `int8y`"},
    {"f32y", 0, 0, 0, "unknown dtype `float32y`"},
    LANES("int8x"),
    LANES("int8x0"),
    LANES("int8xx"),
    LANES("int8x-1"),
    UNKNOWN("float32xvscale4"),
    LANES("float32xvscale"),
    LANES("float32xvscalex"),
    LANES("float32xvscalex0"),
    LANES("float8_e5m2xvscalex4"),
    {"float8_e9m9", 0, 0, 0, "unknown float8 type `float8_e9m9`"},
    {"fp8_e9m9", 0, 0, 0, "unknown float8 type `float8_e9m9`"},
    {"float8_", 0, 0, 0, "unknown float8 type `float8_`"},
    {"float8_e4m3fn_x2", 0, 0, 0, "unknown float8 type `float8_e4m3fn_x2`"},
    {"float6_e9", 0, 0, 0, "unknown float6 type `float6_e9`"},
    {"float4_e9", 0, 0, 0, "unknown float4 type `float4_e9`"},
    {"float4_e2m1fn_", 0, 0, 0, NULL},
    {"int256", 0, 0, 0,
     "Bits value 256 is out of range for uint8_t in dtype 'int256'"},
    {"u300", 0, 0, 0,
     "Bits value 300 is out of range for uint8_t in dtype 'uint300'"},
    {"bool9", 0, 0, 0,
     "Bits value 9 is out of range for bool in dtype 'bool9'"},
    {"int8x65536", 0, 0, 0,
     "Lanes value 65536 is out of range for uint16_t in dtype 'int8x65536'"},
    {"int8x32768", 0, 0, 0,
     "Lanes value 32768 is out of range for int16_t in dtype 'int8x32768'"},
    {"int8xvscalex32769", 0, 0, 0,
     "Lanes value 32769 is out of range for int16_t in dtype "
     "'int8xvscalex32769'"},
    {"int99999999999999999999", 0, 0, 0,
     "Integer value in dtype string '99999999999999999999' is out of range for "
     "uint32_t"},
    {"custom", 0, 0, 0, "expected opening brace after 'custom' type incustom"},
    {"customx]", 0, 0, 0,
     "expected opening brace after 'custom' type incustomx]"},
    {"custom[x", 0, 0, 0,
     "expected closing brace after 'custom' type incustom[x"}};

static void test_dtype_parse(void) {
  int i;
  for (i = 0; i < TEST_COUNT(test_dtypes); ++i) {
    const test_dtype_case *c = &test_dtypes[i];
    TVMFFIByteArray text = TEXT(c->text);
    DLDataType got = {99, 99, 99};
    int code;
    if (!c->error && !c->bits && c->text[0] == 'f') continue;
    code = TVMFFIDataTypeFromString(&text, &got);
    if (c->error) {
      test_error(code, "ValueError", c->error, __FILE__, __LINE__, c->text);
      CHECK(got.code == 99 && got.bits == 99 && got.lanes == 99);
    } else if (!test_code(code, __FILE__, __LINE__, c->text)) {
      if (got.code != c->code || got.bits != c->bits ||
          (int16_t)got.lanes != c->lanes)
        (void)test_fail(__FILE__, __LINE__, "parsed wrong: ", c->text,
                        strlen(c->text));
    }
  }
}

static void test_bad_dtypes(void) {
  TVMFFIByteArray text = TEXT("int8"), null = {NULL, 4}, empty = {NULL, 0};
  static char zeros[300];
  DLDataType t = {1, 2, 3};
  TVMFFIAny any;
  TVMFFIByteArray long_text;
  memset(zeros, 'z', sizeof(zeros));
  long_text = test_bytes(zeros, sizeof(zeros));
  FAILS(TVMFFIDataTypeFromString(NULL, &t), "ValueError", NULL);
  FAILS(TVMFFIDataTypeFromString(&null, &t), "ValueError", NULL);
  FAILS(TVMFFIDataTypeFromString(&text, NULL), "ValueError", NULL);
  FAILS(TVMFFIDataTypeFromString(&long_text, &t), "ValueError",
        "...unknown dtype `zzz");
  CHECK_INT(t.lanes, 3);
  OK(TVMFFIDataTypeFromString(&empty, &t));
  CHECK(t.code == kDLOpaqueHandle && t.bits == 0 && t.lanes == 0);
  FAILS(TVMFFIDataTypeToString(NULL, &any), "ValueError", NULL);
  FAILS(TVMFFIDataTypeToString(&t, NULL), "ValueError", NULL);
  t.code = kDLComplex;
  FAILS(TVMFFIDataTypeToString(&t, &any), "ValueError",
        "DLDataType contains unknown type_code=5");
  t.code = 18;
  FAILS(TVMFFIDataTypeToString(&t, &any), "ValueError", NULL);
  t.code = 128;
  FAILS(TVMFFIDataTypeToString(&t, &any), "ValueError",
        "DLDataType contains unknown type_code=128");
  /* A text need not end in NUL. */
  text = test_bytes("int8x16", 4);
  OK(TVMFFIDataTypeFromString(&text, &t));
  CHECK(t.bits == 8 && t.lanes == 1);
}

static void test_dtype_print(void) {
  static const struct {
    DLDataType dtype;
    const char *text;
  } cases[] = {{{kDLInt, 32, 1}, "int32"},
               {{kDLUInt, 1, 1}, "uint1"},
               {{kDLFloat, 64, 4}, "float64x4"},
               {{kDLBfloat, 16, 2}, "bfloat16x2"},
               {{kDLBool, 8, 1}, "bool"},
               {{kDLBool, 8, 4}, "boolx4"},
               {{kDLBool, 1, 1}, "bool1"},
               {{kDLOpaqueHandle, 64, 1}, "handle"},
               {{kDLOpaqueHandle, 0, 0}, ""},
               {{kDLOpaqueHandle, 0, 1}, "handle"},
               {{kDLInt, 0, 0}, "int0"},
               {{kDLFloat, 32, (uint16_t)-4}, "float32xvscalex4"},
               {{kDLInt, 8, 32767}, "int8x32767"},
               {{kDLInt, 8, 32768}, "int8xvscalex32768"},
               {{kDLFloat8_e4m3fn, 8, 1}, "float8_e4m3fn"},
               {{kDLFloat4_e2m1fn, 4, 2}, "float4_e2m1fnx2"}};
  int i;
  for (i = 0; i < TEST_COUNT(cases); ++i) {
    TVMFFIAny any = test_dirty();
    OK(TVMFFIDataTypeToString(&cases[i].dtype, &any));
    OWN_ANY(any);
    CHECK(test_is_clean(&any));
    CHECK_TEXT(tvmffi_any_str(&any), cases[i].text);
  }
}

/* What is printed reads as what it was, for all codes, bits and lanes. */
static void test_dtype_round_trip(void) {
  static const int lanes[] = {1, 2, 4, 16, 32767, -1, -2, -16, -32768};
  int code, bits, i, step = test_scale(1, 101);
  for (code = 0; code <= kDLFloat4_e2m1fn; ++code) {
    int first = code < kDLFloat8_e3m4     ? 1
                : code < kDLFloat6_e2m3fn ? 8
                : code < kDLFloat4_e2m1fn ? 6
                                          : 4;
    int last = code == kDLBool ? 8 : code < kDLFloat8_e3m4 ? 255 : first;
    if (code == kDLComplex || code == kDLOpaqueHandle) continue;
    if (test_oom && code % 6) continue;
    for (bits = first; bits <= last; bits += step) {
      for (i = 0; i < TEST_COUNT(lanes); ++i) {
        DLDataType t, got = {99, 99, 99};
        TVMFFIByteArray text;
        TVMFFIAny any;
        /* The short floats have no scalable form, and -1 no text. */
        if (lanes[i] == -1 || (lanes[i] < 0 && code >= kDLFloat8_e3m4))
          continue;
        t.code = (uint8_t)code;
        t.bits = (uint8_t)bits;
        t.lanes = (uint16_t)lanes[i];
        OK(TVMFFIDataTypeToString(&t, &any));
        OWN_ANY(any);
        text = tvmffi_any_str(&any);
        OK(TVMFFIDataTypeFromString(&text, &got));
        CHECK(got.code == t.code && got.bits == t.bits);
        CHECK_INT(got.lanes, t.lanes);
        test_release_all();
      }
    }
  }
}

/* How a program names its own codes. */
static TVMFFIAny test_custom_answer;

static int test_custom_callback(void *self, const TVMFFIAny *args,
                                int32_t num_args, TVMFFIAny *result) {
  TVMFFIByteArray name;
  (void)self;
  if (num_args != 1) return TVMFFI_RAISE("TypeError", "one argument");
  if (test_custom_answer.type_index != kTVMFFINone)
    return TVMFFIAnyViewToOwnedAny(&test_custom_answer, result);
  name = tvmffi_any_str(args);
  if (args->type_index != kTVMFFIInt) {
    *result = tvmffi_int(name.size == 5 ? 131 : 132);
    return 0;
  }
  name = args->v_int64 == 131 ? TEXT("posit") : TEXT("a_long_type_name");
  return TVMFFIStringFromByteArray(&name, result);
}

static int test_set_custom(const char *name) {
  TVMFFIByteArray key = TEXT(name);
  TVMFFIObjectHandle f = NULL;
  int code;
  TVMFFI_TRY(TVMFFIFunctionCreate(NULL, test_custom_callback, NULL, &f));
  code = TVMFFIFunctionSetGlobal(&key, f, 1);
  tvmffi_release(f);
  return code;
}

static void test_custom_dtypes(void) {
  static const char get_code[] = "dtype.get_custom_type_code";
  static const char get_name[] = "dtype.get_custom_type_name";
  TVMFFIByteArray text = TEXT("custom[posit]16x2");
  DLDataType t = {131, 8, 1}, got = {9, 9, 9};
  TVMFFIAny any;
  test_custom_answer = tvmffi_none();
  OK(tvmffi_call(tvmffi_str("ffi.FunctionRemoveGlobal"), tvmffi_out_any(NULL),
                 tvmffi_str(get_code)));
  OK(tvmffi_call(tvmffi_str("ffi.FunctionRemoveGlobal"), tvmffi_out_any(NULL),
                 tvmffi_str(get_name)));
  FAILS(TVMFFIDataTypeFromString(&text, &got), "ValueError",
        "Function dtype.get_custom_type_code not found");
  FAILS(TVMFFIDataTypeToString(&t, &any), "ValueError",
        "Function dtype.get_custom_type_name not found");
  OK(test_set_custom(get_code));
  OK(test_set_custom(get_name));
  OK(TVMFFIDataTypeFromString(&text, &got));
  CHECK(got.code == 131 && got.bits == 16 && got.lanes == 2);
  text = TEXT("custom[a_long_type_name]");
  OK(TVMFFIDataTypeFromString(&text, &got));
  CHECK(got.code == 132 && got.bits == 32 && got.lanes == 1);
  OK(TVMFFIDataTypeToString(&t, &any));
  OWN_ANY(any);
  CHECK_TEXT(tvmffi_any_str(&any), "custom[posit]");
  t.code = 132;
  t.lanes = (uint16_t)-4;
  OK(TVMFFIDataTypeToString(&t, &any));
  OWN_ANY(any);
  CHECK_TEXT(tvmffi_any_str(&any), "custom[a_long_type_name]xvscalex4");
  test_custom_answer = tvmffi_int(129);
  OK(TVMFFIDataTypeFromString(&text, &got));
  CHECK_INT(got.code, 129);
  test_custom_answer = tvmffi_int(255);
  OK(TVMFFIDataTypeFromString(&text, &got));
  CHECK_INT(got.code, 255);
  /* Answers that cannot be. */
  test_custom_answer = tvmffi_int(128);
  FAILS(TVMFFIDataTypeFromString(&text, &got), "ValueError",
        "dtype.get_custom_type_code must give a code from 129 to 255");
  test_custom_answer = tvmffi_int(256);
  FAILS(TVMFFIDataTypeFromString(&text, &got), "ValueError", NULL);
  test_custom_answer = tvmffi_str("a long answer");
  FAILS(TVMFFIDataTypeFromString(&text, &got), "ValueError", NULL);
  test_custom_answer = tvmffi_int(5);
  FAILS(TVMFFIDataTypeToString(&t, &any), "TypeError",
        "dtype.get_custom_type_name must give a string");
  test_custom_answer = tvmffi_bytes(&text);
  FAILS(TVMFFIDataTypeToString(&t, &any), "TypeError", NULL);
  test_custom_answer = tvmffi_none();
}

static void test_devices(void) {
  static const struct {
    const char *text;
    int type, id; /* type 0: no device */
  } cases[] = {{"cpu", kDLCPU, 0},
               {"cpu:0", kDLCPU, 0},
               {"cuda", kDLCUDA, 0},
               {"cuda:7", kDLCUDA, 7},
               {"opencl:1", kDLOpenCL, 1},
               {"vulkan", kDLVulkan, 0},
               {"metal", kDLMetal, 0},
               {"mps:1", kDLMetal, 1},
               {"vpi", kDLVPI, 0},
               {"rocm:2", kDLROCM, 2},
               {"ext_dev", kDLExtDev, 0},
               {"wgpu", kDLWebGPU, 0},
               {"webgpu:3", kDLWebGPU, 3},
               {"hexagon", kDLHexagon, 0},
               {"maia", kDLMAIA, 0},
               {"trn:15", kDLTrn, 15},
               {"cuda:2147483647", kDLCUDA, 2147483647},
               {"cuda:2 -march=x", kDLCUDA, 2},
               {"cpu -x", kDLCPU, 0},
               {"", 0, 0},
               {"cp", 0, 0},
               {"cpus", 0, 0},
               {"CPU", 0, 0},
               {"cpu:", 0, 0},
               {":1", 0, 0},
               {"cpu:x", 0, 0},
               {"cpu:1x", 0, 0},
               {"cpu:-1", 0, 0},
               {"cuda:2147483648", 0, 0},
               {"cuda:99999999999999999999", 0, 0},
               {" cpu", 0, 0}};
  int i;
  for (i = 0; i < TEST_COUNT(cases); ++i) {
    TVMFFIAny any = tvmffi_str(cases[i].text);
    DLDevice got = TVMFFIDLDeviceFromIntPair(99, 99);
    int code = tvmffi_i_get_device(&any, &got);
    int type = (int)got.device_type;
    int good = cases[i].type ? code == 0 && type == cases[i].type &&
                                   got.device_id == cases[i].id
                             : code == TVMFFI_I_MISMATCH && type == 99;
    if (!good)
      (void)test_fail(__FILE__, __LINE__, "device: ", cases[i].text,
                      strlen(cases[i].text));
  }
}
#endif

#if !TEST_NO_TENSORS
/* ======== Tensors ========================================================= */

static int64_t test_shape[3], test_strides[3];
static int32_t test_data[24];

static void test_managed_deleter(DLManagedTensor *self) {
  test_say(*(char *)self->manager_ctx);
}
static void test_versioned_deleter(DLManagedTensorVersioned *self) {
  test_say(*(char *)self->manager_ctx);
}
static char test_letters[] = "mv";

static void test_fill_tensor(DLTensor *t) {
  memset((void *)t, 0, sizeof(*t));
  t->data = test_data;
  t->device = TVMFFIDLDeviceFromIntPair(kDLCPU, 0);
  t->ndim = 3;
  t->dtype.code = kDLInt;
  t->dtype.bits = 32;
  t->dtype.lanes = 1;
  test_shape[0] = 2;
  test_shape[1] = 3;
  test_shape[2] = 4;
  test_strides[0] = 12;
  test_strides[1] = 4;
  test_strides[2] = 1;
  t->shape = test_shape;
  t->strides = test_strides;
}

static DLManagedTensor test_managed(void) {
  DLManagedTensor m;
  memset((void *)&m, 0, sizeof(m));
  test_fill_tensor(&m.dl_tensor);
  m.manager_ctx = &test_letters[0];
  m.deleter = test_managed_deleter;
  return m;
}

static DLManagedTensorVersioned test_versioned(void) {
  DLManagedTensorVersioned m;
  memset((void *)&m, 0, sizeof(m));
  m.version.major = DLPACK_MAJOR_VERSION;
  m.version.minor = DLPACK_MINOR_VERSION;
  test_fill_tensor(&m.dl_tensor);
  m.manager_ctx = &test_letters[1];
  m.deleter = test_versioned_deleter;
  return m;
}

/* A tensor that the test owns, or NULL. */
static TVMFFIObjectHandle test_make_tensor(void) {
  static DLManagedTensor m;
  TVMFFIObjectHandle tensor = NULL;
  m = test_managed();
  m.deleter = NULL;
  if (!test_code(TVMFFITensorFromDLPack(&m, 0, 0, &tensor), __FILE__, __LINE__,
                 "TVMFFITensorFromDLPack "))
    OWN(tensor);
  return tensor;
}

static void test_from_dlpack(void) {
  DLManagedTensor m = test_managed();
  DLManagedTensorVersioned v = test_versioned();
  TVMFFIObjectHandle tensor = NULL;
  DLTensor *t;
  OK(TVMFFITensorFromDLPack(&m, 4, 1, &tensor));
  CHECK_INT(TVMFFIObjectGetTypeIndex(tensor), kTVMFFITensor);
  t = TVMFFITensorGetDLTensorPtr(tensor);
  CHECK(t->data == test_data && t->ndim == 3 && t->dtype.bits == 32);
  CHECK(t->shape == test_shape && t->strides == test_strides);
  CHECK(tvmffi_data(t, int32_t) == test_data);
  t->byte_offset = 8;
  CHECK(tvmffi_data(t, int32_t) == test_data + 2);
  CHECK_LOG("");
  tvmffi_release(tensor);
  CHECK_LOG("m");
  OK(TVMFFITensorFromDLPackVersioned(&v, 0, 0, &tensor));
  tvmffi_weak_retain(tensor);
  tvmffi_release(tensor);
  CHECK_LOG("v");
  tvmffi_weak_release(tensor);
  CHECK_LOG("");
  OK(TVMFFITensorFromDLPack(&m, 0, 0, &tensor));
  tvmffi_weak_retain(tensor);
  tvmffi_release(tensor);
  CHECK_LOG("m");
  tvmffi_weak_release(tensor);
  /* Without strides they are those of compact data; without a deleter too. */
  m.dl_tensor.strides = NULL;
  m.deleter = NULL;
  OK(TVMFFITensorFromDLPack(&m, 0, 1, &tensor));
  t = TVMFFITensorGetDLTensorPtr(tensor);
  CHECK(t->strides[0] == 12 && t->strides[1] == 4 && t->strides[2] == 1);
  CHECK(m.dl_tensor.strides == NULL);
  tvmffi_release(tensor);
  v.dl_tensor.ndim = 0;
  v.dl_tensor.shape = v.dl_tensor.strides = NULL;
  v.deleter = NULL;
  v.version.minor += 7;
  OK(TVMFFITensorFromDLPackVersioned(&v, 0, 1, &tensor));
  CHECK_INT(TVMFFITensorGetDLTensorPtr(tensor)->ndim, 0);
  tvmffi_release(tensor);
  CHECK_LOG("");
}

static void test_to_dlpack(void) {
  DLManagedTensor m = test_managed(), *out = NULL;
  DLManagedTensorVersioned *versioned = NULL;
  TVMFFIObjectHandle tensor = NULL, again = NULL;
  OK(TVMFFITensorFromDLPack(&m, 0, 0, &tensor));
  if (test_code(TVMFFITensorToDLPack(tensor, &out), __FILE__, __LINE__, "") ||
      test_code(TVMFFITensorToDLPackVersioned(tensor, &versioned), __FILE__,
                __LINE__, "")) {
    if (out) out->deleter(out);
    tvmffi_release(tensor);
    CHECK_LOG("m");
    return;
  }
  CHECK_INT(test_strong(tensor), 3);
  CHECK(out->dl_tensor.data == test_data && out->dl_tensor.ndim == 3);
  CHECK(versioned->dl_tensor.shape == test_shape && versioned->flags == 0);
  CHECK(versioned->version.major == DLPACK_MAJOR_VERSION &&
        versioned->version.minor == DLPACK_MINOR_VERSION);
  tvmffi_release(tensor);
  out->deleter(out);
  CHECK_LOG("");
  /* Once around: the second tensor keeps the first one. */
  if (TVMFFITensorFromDLPackVersioned(versioned, 0, 0, &again)) {
    CHECK(test_hits());
    tvmffi_error_clear();
    versioned->deleter(versioned);
  } else {
    CHECK_LOG("");
    tvmffi_release(again);
  }
  CHECK_LOG("m");
}

/* Tries one import with both kinds; nothing is taken when it fails. */
#define BAD_TENSOR(change, alignment, contiguous, kind, text)               \
  do {                                                                      \
    DLManagedTensor m = test_managed();                                     \
    DLManagedTensorVersioned v = test_versioned();                          \
    TVMFFIObjectHandle out = NULL;                                          \
    DLTensor *t = &m.dl_tensor;                                             \
    change;                                                                 \
    FAILS(TVMFFITensorFromDLPack(&m, alignment, contiguous, &out), kind,    \
          text);                                                            \
    v.dl_tensor = *t;                                                       \
    FAILS(TVMFFITensorFromDLPackVersioned(&v, alignment, contiguous, &out), \
          kind, text);                                                      \
    CHECK(out == NULL);                                                     \
    CHECK_LOG("");                                                          \
  } while (0)

static void test_bad_tensors(void) {
  BAD_TENSOR(t->ndim = -1, 0, 0, "ValueError", "FromDLPack: ndim is -1");
  BAD_TENSOR(t->ndim = 1 << 30, 0, 0, "ValueError", NULL);
  BAD_TENSOR(t->shape = NULL, 0, 0, "ValueError",
             "FromDLPack: shape must not be NULL");
  BAD_TENSOR(t->shape[1] = -3, 0, 0, "ValueError",
             "FromDLPack: shape[1] is -3");
  BAD_TENSOR(t->shape[0] = INT64_MAX, 0, 0, "ValueError",
             "FromDLPack: the shape has more elements than memory can");
  BAD_TENSOR((t->shape[0] = INT64_MAX / 4, t->shape[1] = 2, t->shape[2] = 1), 0,
             0, "ValueError", NULL);
  BAD_TENSOR(t->dtype.bits = 8, -1, 0, "ValueError",
             "FromDLPack: alignment is -1");
  BAD_TENSOR(t->byte_offset = 2, 4, 0, "RuntimeError",
             "FromDLPack: Data is not aligned to 4 bytes.");
  BAD_TENSOR(t->data = (char *)test_data + 1, 4, 0, "RuntimeError", NULL);
  BAD_TENSOR(t->strides[0] = 24, 0, 1, "RuntimeError",
             "FromDLPack: Tensor is not contiguous.");
  BAD_TENSOR(t->strides[2] = 2, 0, 1, "RuntimeError", NULL);
  BAD_TENSOR((t->dtype.bits = 0,
              t->shape[0] = t->shape[1] = t->shape[2] = (int64_t)1 << 40,
              t->strides[1] = (int64_t)1 << 40, t->strides[0] = 3),
             0, 1, "RuntimeError", NULL);
}

static void test_bad_imports(void) {
  DLManagedTensor m = test_managed();
  DLManagedTensorVersioned v = test_versioned();
  TVMFFIObjectHandle out = NULL;
  FAILS(TVMFFITensorFromDLPack(NULL, 0, 0, &out), "ValueError", NULL);
  FAILS(TVMFFITensorFromDLPack(&m, 0, 0, NULL), "ValueError", NULL);
  FAILS(TVMFFITensorFromDLPackVersioned(NULL, 0, 0, &out), "ValueError", NULL);
  FAILS(TVMFFITensorFromDLPackVersioned(&v, 0, 0, NULL), "ValueError", NULL);
  v.version.major = DLPACK_MAJOR_VERSION + 1;
  v.version.minor = 0;
  FAILS(TVMFFITensorFromDLPackVersioned(&v, 0, 0, &out), "RuntimeError",
        "FromDLPack: DLPack version 2.0 is not supported, only 1.x is");
  v = test_versioned();
  v.flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  FAILS(TVMFFITensorFromDLPackVersioned(&v, 0, 0, &out), "RuntimeError",
        "Subbyte type padded is not yet supported");
  CHECK_LOG("");
}

/* Tries an import that is to work. */
static void test_good_tensor(const DLTensor *t, int32_t alignment,
                             int32_t contiguous) {
  DLManagedTensorVersioned v;
  TVMFFIObjectHandle out = NULL;
  memset((void *)&v, 0, sizeof(v));
  v.version.major = DLPACK_MAJOR_VERSION;
  v.manager_ctx = &test_letters[1];
  v.deleter = test_versioned_deleter;
  v.dl_tensor = *t;
  v.flags = DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED;
  OK(TVMFFITensorFromDLPackVersioned(&v, alignment, contiguous, &out));
  tvmffi_release(out);
  CHECK_LOG("v");
}

static void test_layouts(void) {
  DLTensor t;
  test_fill_tensor(&t);
  test_shape[0] = 0;
  test_strides[0] = 99;
  test_good_tensor(&t, 0, 1); /* empty */
  test_shape[1] = INT64_MAX;
  test_good_tensor(&t, 0, 1);
  test_fill_tensor(&t);
  test_shape[0] = 1;
  test_strides[0] = 99;
  test_good_tensor(&t, 0, 1); /* an extent of 1 */
  test_fill_tensor(&t);
  test_strides[0] = 99;
  test_good_tensor(&t, 0, 0); /* spaced, where that is fine */
  /* Of a device whose addresses are handles only the offset counts. */
  test_fill_tensor(&t);
  t.data = (char *)test_data + 1;
  t.device = TVMFFIDLDeviceFromIntPair(kDLVulkan, 0);
  test_good_tensor(&t, 4, 1);
  t.data = test_data;
  t.device = TVMFFIDLDeviceFromIntPair(kDLCUDAManaged, 0);
  t.byte_offset = 4;
  test_good_tensor(&t, 4, 1);
  t.dtype.lanes = 0;
  test_good_tensor(&t, 1, 0);
}

static void test_tensor_views(void) {
  TVMFFIObjectHandle source = NULL, view = NULL, outer = NULL;
  TVMFFIObject *other = test_global("ffi.String");
  int64_t shape[2] = {3, 2}, strides[2] = {2, 1};
  DLTensor p, *t;
  if (!other) return;
  source = test_make_tensor();
  if (!source) return;
  p = *TVMFFITensorGetDLTensorPtr(source);
  p.ndim = 2;
  p.shape = shape;
  p.strides = strides;
  p.byte_offset = 16;
  OK(TVMFFITensorCreateUnsafeView(source, &p, &view));
  CHECK_INT(test_strong(source), 2);
  shape[0] = strides[0] = 99;
  t = TVMFFITensorGetDLTensorPtr(view);
  CHECK(t->shape[0] == 3 && t->shape[1] == 2);
  CHECK(t->strides[0] == 2 && t->strides[1] == 1 && t->byte_offset == 16);
  CHECK(tvmffi_data(t, int32_t) == test_data + 4);
  tvmffi_weak_retain(view);
  tvmffi_release(view);
  CHECK_INT(test_strong(source), 1);
  tvmffi_weak_release(view);
  shape[0] = strides[0] = 2;
  OK(TVMFFITensorCreateUnsafeView(source, &p, &view));
  OWN(view);
  OK(TVMFFITensorCreateUnsafeView(view, &p, &outer));
  tvmffi_weak_retain(view);
  test_drop(view);
  tvmffi_release(outer); /* and so the one that it keeps, which waits */
  CHECK_INT(test_strong(source), 1);
  CHECK(!tvmffi_weak_lock(view));
  tvmffi_weak_release(view);
  p.ndim = 0;
  OK(TVMFFITensorCreateUnsafeView(source, &p, &view));
  tvmffi_release(view);
  p.ndim = 2;
  FAILS(TVMFFITensorCreateUnsafeView(NULL, &p, &view), "ValueError", NULL);
  FAILS(TVMFFITensorCreateUnsafeView(other, &p, &view), "TypeError", NULL);
  FAILS(TVMFFITensorCreateUnsafeView(source, NULL, &view), "ValueError", NULL);
  FAILS(TVMFFITensorCreateUnsafeView(source, &p, NULL), "ValueError", NULL);
  p.strides = NULL;
  FAILS(TVMFFITensorCreateUnsafeView(source, &p, &view), "ValueError",
        "...strides must not be NULL");
  p.strides = strides;
  p.ndim = -1;
  FAILS(TVMFFITensorCreateUnsafeView(source, &p, &view), "ValueError",
        TEST_STRING(TVMFFITensorCreateUnsafeView) ": ndim is -1");
  CHECK_INT(test_strong(source), 1);
}

static void test_bad_exports(void) {
  TVMFFIObject *other = test_global("ffi.String");
  DLManagedTensor *out = NULL;
  DLManagedTensorVersioned *versioned = NULL;
  TVMFFIObjectHandle tensor = NULL;
  if (!other) return;
  tensor = test_make_tensor();
  if (!tensor) return;
  FAILS(TVMFFITensorToDLPack(NULL, &out), "ValueError", NULL);
  FAILS(TVMFFITensorToDLPack(other, &out), "TypeError",
        "...is expected to be ffi.Tensor but is ffi.Function");
  FAILS(TVMFFITensorToDLPack(tensor, NULL), "ValueError", NULL);
  FAILS(TVMFFITensorToDLPackVersioned(NULL, &versioned), "ValueError", NULL);
  FAILS(TVMFFITensorToDLPackVersioned(other, &versioned), "TypeError", NULL);
  FAILS(TVMFFITensorToDLPackVersioned(tensor, NULL), "ValueError", NULL);
  CHECK(out == NULL && versioned == NULL && test_strong(tensor) == 1);
}

/* A typed function sees a tensor object as a DLTensor. */
TVMFFI_FUNC(u_rank, int32, (tensor, x)) { TVMFFI_RETURN(x->ndim); }

static void test_tensor_argument(void) {
  TVMFFIObjectHandle tensor = NULL;
  TVMFFIAny arg, result = tvmffi_none();
  tensor = test_make_tensor();
  if (!tensor) return;
  arg = tvmffi_obj(tensor);
  OK(tvmffi_func_u_rank.call(NULL, &arg, 1, &result));
  CHECK_INT(result.v_int64, 3);
}

/* ======== Allocators of tensors =========================================== */

static DLManagedTensorVersioned test_allocated;
static int test_alloc_mode; /* 0: works; how it fails */

static int test_tensor_alloc(DLTensor *prototype,
                             DLManagedTensorVersioned **out, void *context,
                             void (*set_error)(void *, const char *,
                                               const char *)) {
  switch (test_alloc_mode) {
    case 1: set_error(context, "MyError", "no room"); return -1;
    case 2: return -1;
    case 3: *out = NULL; return 0;
    default: break;
  }
  test_allocated = test_versioned();
  test_allocated.dl_tensor.ndim = prototype->ndim;
  test_allocated.dl_tensor.shape = prototype->shape;
  test_allocated.dl_tensor.strides = NULL;
  if (test_alloc_mode == 4) test_allocated.version.major = 9;
  if (test_alloc_mode == 5) test_allocated.dl_tensor.ndim = -1;
  *out = &test_allocated;
  return 0;
}

static int test_other_alloc(DLTensor *prototype, DLManagedTensorVersioned **out,
                            void *context,
                            void (*set_error)(void *, const char *,
                                              const char *)) {
  return test_tensor_alloc(prototype, out, context, set_error);
}

static void test_env_alloc(void) {
  DLTensor p;
  TVMFFIObjectHandle out = NULL;
  DLPackManagedTensorAllocator before = test_tensor_alloc;
  test_fill_tensor(&p);
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(NULL, 1, NULL));
  CHECK(TVMFFIEnvGetDLPackManagedTensorAllocator() == NULL);
  FAILS(TVMFFIEnvTensorAlloc(&p, &out), "RuntimeError",
        "TVMFFIEnvTensorAlloc: allocator is nullptr, likely because "
        "TVMFFIEnvSetDLPackManagedTensorAllocator has not been called.");
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(test_other_alloc, 1, &before));
  CHECK(before == NULL);
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(test_tensor_alloc, 0, &before));
  CHECK(before == test_other_alloc);
  CHECK(TVMFFIEnvGetDLPackManagedTensorAllocator() == test_tensor_alloc);
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(NULL, 0, NULL));
  CHECK(TVMFFIEnvGetDLPackManagedTensorAllocator() == test_other_alloc);
  test_alloc_mode = 0;
  if (test_code(TVMFFIEnvTensorAlloc(&p, &out), __FILE__, __LINE__, "")) {
    CHECK_LOG("v"); /* what was allocated is given back */
    return;
  }
  CHECK_INT(TVMFFITensorGetDLTensorPtr(out)->ndim, 3);
  CHECK_INT(TVMFFITensorGetDLTensorPtr(out)->strides[0], 12);
  CHECK_LOG("");
  tvmffi_release(out);
  CHECK_LOG("v");
  test_alloc_mode = 1;
  FAILS(TVMFFIEnvTensorAlloc(&p, &out), "MyError", "no room");
  test_alloc_mode = 2;
  FAILS(TVMFFIEnvTensorAlloc(&p, &out), "RuntimeError",
        "The tensor allocator failed with code -1 and no error");
  test_alloc_mode = 3;
  FAILS(TVMFFIEnvTensorAlloc(&p, &out), "RuntimeError",
        "TVMFFIEnvTensorAlloc: failed to allocate a tensor from the allocator");
  CHECK_LOG("");
  test_alloc_mode = 4;
  FAILS(TVMFFIEnvTensorAlloc(&p, &out), "RuntimeError", NULL);
  CHECK_LOG("v");
  test_alloc_mode = 5;
  FAILS(TVMFFIEnvTensorAlloc(&p, &out), "ValueError", NULL);
  CHECK_LOG("v");
  test_alloc_mode = 0;
  FAILS(TVMFFIEnvTensorAlloc(NULL, &out), "ValueError", NULL);
  FAILS(TVMFFIEnvTensorAlloc(&p, NULL), "ValueError", NULL);
  p.ndim = -1;
  FAILS(TVMFFIEnvTensorAlloc(&p, &out), "ValueError", NULL);
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(NULL, 1, NULL));
}

/* The same through the C interface. */
static void test_new_tensor(void) {
  static const int64_t shape[] = {2, 3}, bad[] = {2, -3};
  DLDataType type = tvmffi_dtype_of(kDLFloat, 32);
  DLDevice cpu = TVMFFIDLDeviceFromIntPair(kDLCPU, 0);
  TVMFFIObject *x = NULL, *y = NULL;
  tvmffi_scope scope;
  FAILS(tvmffi_tensor_new(type, cpu, 2, shape, &x), "RuntimeError", NULL);
  FAILS(tvmffi_tensor_new(type, cpu, 2, bad, &x), "ValueError",
        "dimension 1 of a new tensor is -3");
  FAILS(tvmffi_tensor_new(type, cpu, -1, shape, &x), "ValueError", NULL);
  x = (TVMFFIObject *)(void *)&scope; /* a failure leaves nothing in it */
  FAILS(tvmffi_tensor_new(type, cpu, 1, NULL, &x), "ValueError", NULL);
  CHECK(x == NULL);
  x = (TVMFFIObject *)(void *)&scope;
  FAILS(tvmffi_tensor_like(NULL, &x), "ValueError", NULL);
  CHECK(x == NULL);
  FAILS(tvmffi_tensor_new(type, cpu, 2, shape, NULL), "ValueError",
        "tvmffi_tensor_new: NULL for the result");
  FAILS(tvmffi_tensor_like(NULL, NULL), "ValueError",
        "tvmffi_tensor_like: NULL for the result");
  test_alloc_mode = 0;
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(test_tensor_alloc, 1, NULL));
  if (!tvmffi_tensor_new(type, cpu, 2, shape, &x) &&
      !tvmffi_tensor_like(TVMFFITensorGetDLTensorPtr(x), &y)) {
    const DLTensor *t = TVMFFITensorGetDLTensorPtr(y);
    CHECK(t->ndim == 2 && t->shape[0] == 2 && t->shape[1] == 3);
  } else {
    CHECK(test_hits());
    tvmffi_error_clear();
  }
  tvmffi_release(x);
  tvmffi_release(y);
  tvmffi_scope_begin(&scope);
  if (!tvmffi_tensor_new(type, cpu, 2, shape, &x)) {
    CHECK_INT(tvmffi_scope_count(kTVMFFITensor), 1);
  } else {
    CHECK(test_hits());
    tvmffi_error_clear();
  }
  CHECK(!tvmffi_scope_end(&scope));
  test_log_size = 0; /* the deleters' */
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(NULL, 1, NULL));
}

TVMFFI_FUNC(u_new_like, tensor, (tensor, x)) {
  TVMFFIObject *y = NULL;
  TVMFFI_TRY(tvmffi_tensor_like(x, &y));
  TVMFFI_RETURN(y);
}

TVMFFI_FUNC(u_maybe_like, optional(tensor), (optional(tensor), x)) {
  TVMFFIObject *y = NULL;
  if (x) TVMFFI_TRY(tvmffi_tensor_like(x, &y));
  TVMFFI_RETURN(y);
}

/* A tensor that a typed function makes is the caller's. */
static void test_tensor_results(void) {
  static tvmffi_func *const functions[] = {&tvmffi_func_u_new_like,
                                           &tvmffi_func_u_maybe_like};
  char buffer[TVMFFI_I_METADATA];
  int64_t shape[] = {3};
  TVMFFIAny arg, result = tvmffi_none();
  DLTensor x;
  int i;
  memset((void *)&x, 0, sizeof(x));
  x.dtype = tvmffi_dtype_of(kDLFloat, 32);
  x.device.device_type = kDLCPU;
  x.ndim = 1;
  x.shape = shape;
  arg = tvmffi_tensor(&x);
  test_alloc_mode = 0;
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(test_tensor_alloc, 1, NULL));
  for (i = 0; i < 2; ++i) {
    OK(functions[i]->call(NULL, &arg, 1, &result));
    CHECK_INT(result.type_index, kTVMFFITensor);
    CHECK_INT(TVMFFITensorGetDLTensorPtr(result.v_obj)->shape[0], 3);
    tvmffi_any_release(&result);
  }
  arg = tvmffi_none();
  OK(functions[1]->call(NULL, &arg, 1, &result));
  CHECK_INT(result.type_index, kTVMFFINone);
  CHECK_TEXT(tvmffi_i_metadata(functions[1], buffer),
             "{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\","
             "\\\"named_args\\\":{\\\"return\\\":[{\\\"type\\\":"
             "\\\"Optional\\\",\\\"args\\\":[{\\\"type\\\":"
             "\\\"ffi.Tensor\\\"}]}],\\\"params\\\":[{\\\"type\\\":"
             "\\\"Optional\\\",\\\"args\\\":[{\\\"type\\\":"
             "\\\"DLTensor*\\\"}]}]}}\"}");
  FAILS(functions[0]->call(NULL, &arg, 1, &result), "TypeError", NULL);
  test_log_size = 0; /* the deleters' */
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(NULL, 1, NULL));
}
#endif

#if !TEST_NO_LEGACY
/* ======== Legacy calls ==================================================== */

/* Gives its argument back as an owned value. */
TVMFFI_FUNC(legacy_same, any, (any, x)) {
  TVMFFIAny owned;
  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(&x, &owned));
  TVMFFI_RETURN(owned);
}
TVMFFI_FUNC(legacy_raise, none) { return TVMFFI_RAISE("IndexError", "no"); }
TVMFFI_FUNC(legacy_code, none) { return -2; }
TVMFFI_FUNC(legacy_made, func) {
  TVMFFIObject *f = NULL;
  TVMFFI_TRY(tvmffi_function(legacy_same, &f));
  TVMFFI_RETURN(f);
}

static TVMFFIObject *test_legacy_function(const tvmffi_func *typed) {
  TVMFFIObject *f = NULL;
  if (!test_code(tvmffi_i_function(typed, &f), __FILE__, __LINE__,
                 "tvmffi_function "))
    OWN(f);
  return f;
}

static tvmffi_legacy_value test_legacy_bits(int64_t bits) {
  tvmffi_legacy_value value;
  value.v_int64 = bits;
  return value;
}

static tvmffi_legacy_value test_legacy_handle(const void *handle) {
  tvmffi_legacy_value value = test_legacy_bits(0);
  value.v_handle = (void *)(uintptr_t)handle;
  return value;
}

static int64_t test_legacy_shape[] = {3};
static char test_legacy_data[3];
static DLTensor test_legacy_tensor(void) {
  DLTensor t;
  memset((void *)&t, 0, sizeof(t));
  t.data = test_legacy_data;
  t.device = TVMFFIDLDeviceFromIntPair(kDLCPU, 0);
  t.dtype = tvmffi_dtype_of(kDLInt, 8);
  t.ndim = 1;
  t.shape = test_legacy_shape;
  return t;
}

static void test_legacy_arguments(void) {
  static const TVMFFIByteArray bytes = {"a\0b", 3};
  DLTensor tensor = test_legacy_tensor();
  TVMFFIObject *f = test_legacy_function(&tvmffi_func_legacy_same), *moved = f;
  tvmffi_legacy_value value = test_legacy_bits(-7);
  TVMFFIAny any;
  int code;
  if (!f) return;
  for (code = 0; code <= 1; ++code) {
    OK(tvmffi_any_from_legacy(value, code, &any));
    CHECK(any.type_index == kTVMFFIInt && any.v_int64 == -7);
  }
  OK(tvmffi_any_from_legacy(test_legacy_bits(0x3FF8000000000000), 2, &any));
  CHECK_INT(any.type_index, kTVMFFIFloat);
#if !TVMFFI_NO_FLOAT
  CHECK(any.v_float64 == 1.5);
#endif
  OK(tvmffi_any_from_legacy(test_legacy_handle(&any), 3, &any));
  CHECK(any.type_index == kTVMFFIOpaquePtr && any.v_ptr == &any);
  OK(tvmffi_any_from_legacy(value, 4, &any));
  CHECK(any.type_index == kTVMFFINone && any.v_int64 == 0);
  value.v_type = tvmffi_dtype_of(kDLFloat, 16);
  OK(tvmffi_any_from_legacy(value, 5, &any));
  CHECK(any.type_index == kTVMFFIDataType && any.v_dtype.bits == 16);
  value.v_device = TVMFFIDLDeviceFromIntPair(kDLCUDA, 3);
  OK(tvmffi_any_from_legacy(value, 6, &any));
  CHECK(any.type_index == kTVMFFIDevice && any.v_device.device_id == 3);
  for (code = 7; code <= 13; code += 6) {
    OK(tvmffi_any_from_legacy(test_legacy_handle(&tensor), code, &any));
    CHECK(any.type_index == kTVMFFIDLTensorPtr && any.v_ptr == &tensor);
  }
  for (code = 8; code <= 10; code += 2) {
    OK(tvmffi_any_from_legacy(test_legacy_handle(f), code, &any));
    CHECK(any.type_index == kTVMFFIFunction && any.v_obj == f);
  }
  FAILS(tvmffi_any_from_legacy(test_legacy_handle(f), 9, &any), "TypeError",
        "a legacy argument of type code 9 is not a module");
  OK(tvmffi_any_from_legacy(test_legacy_handle("text"), 11, &any));
  CHECK(any.type_index == kTVMFFIRawStr && strcmp(any.v_c_str, "text") == 0);
  OK(tvmffi_any_from_legacy(test_legacy_handle(&bytes), 12, &any));
  CHECK(any.type_index == kTVMFFIByteArrayPtr && any.v_ptr == &bytes);
  OK(tvmffi_any_from_legacy(test_legacy_handle(&moved), 14, &any));
  CHECK(any.type_index == kTVMFFIObjectRValueRef && any.v_ptr == &moved);
  OK(tvmffi_any_from_legacy(test_legacy_bits(2), 15, &any));
  CHECK(any.type_index == kTVMFFIBool && any.v_int64 == 1);
  for (code = 3; code <= 13; ++code) { /* null handles of each kind */
    if (code == 5 || code == 6) continue;
    OK(tvmffi_any_from_legacy(test_legacy_bits(0), code, &any));
    CHECK_INT(any.type_index, kTVMFFINone);
  }
  FAILS(tvmffi_any_from_legacy(value, 16, &any), "TypeError",
        "a legacy argument of type code 16 is not a value");
  FAILS(tvmffi_any_from_legacy(value, -1, &any), "TypeError", NULL);
}

/* Whether a value becomes a legacy argument of the code, and its handle is
   `handle` unless that is NULL. */
static int test_is_legacy(TVMFFIAny any, int code, const void *handle) {
  TVMFFIByteArray room;
  tvmffi_legacy_value value;
  int got = -1;
  if (tvmffi_any_to_legacy(&any, &room, &value, &got)) return 0;
  return got == code && (!handle || value.v_handle == handle);
}

static void test_legacy_values(void) {
  static const TVMFFIByteArray bytes = {"a\0b", 3};
  DLTensor tensor = test_legacy_tensor();
  TVMFFIObject *f = test_legacy_function(&tvmffi_func_legacy_same), *moved = f;
  TVMFFIByteArray room = {NULL, 0};
  tvmffi_legacy_value value;
  TVMFFIAny any = tvmffi_none();
  int code = -1;
  if (!f) return;
  CHECK(test_is_legacy(tvmffi_none(), 4, NULL));
  CHECK(test_is_legacy(tvmffi_int(5), 0, NULL));
  CHECK(test_is_legacy(tvmffi_bool(1), 0, NULL));
  CHECK(test_is_legacy(tvmffi_ptr(&any), 3, &any));
  CHECK(test_is_legacy(tvmffi_tensor(&tensor), 7, &tensor));
  CHECK(test_is_legacy(tvmffi_obj(f), 10, f));
  CHECK(test_is_legacy(tvmffi_str("text"), 11, NULL));
  CHECK(test_is_legacy(tvmffi_bytes(&bytes), 12, &bytes));
  CHECK(test_is_legacy(tvmffi_i_pointer(kTVMFFIObjectRValueRef, &moved), 14,
                       &moved));
  CHECK(test_is_legacy(tvmffi_i_pointer(kTVMFFIOpaquePtr, NULL), 4, NULL));
  any = tvmffi_int(-77);
  any.type_index = kTVMFFIFloat;
  OK(tvmffi_any_to_legacy(&any, &room, &value, &code));
  CHECK(code == TVMFFI_LEGACY_FLOAT && value.v_int64 == -77);
  any = tvmffi_dtype(tvmffi_dtype_of(kDLUInt, 4));
  OK(tvmffi_any_to_legacy(&any, &room, &value, &code));
  CHECK(code == TVMFFI_LEGACY_DTYPE && value.v_type.bits == 4);
  any = tvmffi_device(TVMFFIDLDeviceFromIntPair(kDLROCM, 2));
  OK(tvmffi_any_to_legacy(&any, &room, &value, &code));
  CHECK(code == TVMFFI_LEGACY_DEVICE && value.v_device.device_id == 2);
  OK(TVMFFIBytesFromByteArray(&bytes, &any));
  OK(tvmffi_any_to_legacy(&any, &room, &value, &code));
  CHECK(code == TVMFFI_LEGACY_BYTES && value.v_handle == &room);
  CHECK_BYTES(room, "a\0b", 3);
  OK(TVMFFIStringFromByteArray(&bytes, &any));
  FAILS(tvmffi_any_to_legacy(&any, &room, &value, &code), "ValueError",
        "a string with a NUL inside is no legacy string");
  any = tvmffi_i_pointer(kTVMFFIUnchanged, NULL);
  FAILS(tvmffi_any_to_legacy(&any, &room, &value, &code), "TypeError",
        "a value of type index 13 is no legacy value");
}

/* Gives back its argument number *resource, as a result that is owned, or
   fails where there is none. */
static int test_legacy_echo(tvmffi_legacy_value *args, int *codes, int n,
                            tvmffi_legacy_value *result, int *code,
                            void *resource) {
  int at = *(int *)resource;
  CHECK(result->v_int64 == 0 && *code == TVMFFI_LEGACY_NULL);
  if (at == -3) tvmffi_legacy_set_error("it fell over");
  if (at == -4) tvmffi_legacy_set_error(NULL);
  if (at < 0 || at >= n) return at;
  *result = args[at];
  *code = codes[at];
  if (*code == TVMFFI_LEGACY_TENSOR && result->v_handle)
    tvmffi_retain((TVMFFIObject *)result->v_handle - 1);
  if (*code >= TVMFFI_LEGACY_OBJECT && *code <= TVMFFI_LEGACY_FUNCTION)
    tvmffi_retain(result->v_handle);
  return 0;
}

static int test_legacy_ends;
static void test_legacy_end(void *resource) {
  test_legacy_ends += *(int *)resource;
}

/* Calls a wrapped function with one value; the result is the test's. */
static int test_call_legacy(TVMFFIObject *f, TVMFFIAny arg, TVMFFIAny *result) {
  *result = tvmffi_none();
  TVMFFI_TRY(TVMFFIFunctionCall(f, &arg, 1, result));
  if (result->type_index >= kTVMFFIStaticObjectBegin) OWN(result->v_obj);
  return 0;
}

static void test_legacy_wrap(void) {
  static const TVMFFIByteArray bytes = {"a\0b", 3};
  DLTensor tensor = test_legacy_tensor();
  TVMFFIObject *f = NULL;
#if !TEST_NO_TENSORS
  TVMFFIObject *handle;
#endif
  TVMFFIAny any, args[40];
  int at = 1, i;
  test_legacy_ends = 0;
  FAILS(tvmffi_legacy_wrap(NULL, &at, test_legacy_end, &f), "ValueError",
        "a legacy function is NULL");
  CHECK_INT(test_legacy_ends, 1);
  i = tvmffi_legacy_wrap(test_legacy_echo, &at, test_legacy_end, &f);
  if (i) CHECK_INT(test_legacy_ends, 2);
  OK(i);
  tvmffi_release(f);
  CHECK_INT(test_legacy_ends, 2);
  at = 0;
  OK(tvmffi_legacy_wrap(test_legacy_echo, &at, NULL, &f));
  OWN(f);
  OK(test_call_legacy(f, tvmffi_int(-3), &any));
  CHECK(any.type_index == kTVMFFIInt && any.v_int64 == -3);
  OK(test_call_legacy(f, tvmffi_none(), &any));
  CHECK_INT(any.type_index, kTVMFFINone);
  OK(test_call_legacy(f, tvmffi_str("short"), &any));
  CHECK_INT(any.type_index, kTVMFFISmallStr);
  CHECK_BYTES(tvmffi_any_str(&any), "short", 5);
  OK(test_call_legacy(f, tvmffi_str("a longer text"), &any));
  CHECK_INT(any.type_index, kTVMFFIStr);
  CHECK_BYTES(tvmffi_any_str(&any), "a longer text", 13);
  OK(test_call_legacy(f, tvmffi_bytes(&bytes), &any));
  CHECK_INT(any.type_index, kTVMFFISmallBytes);
  CHECK_BYTES(tvmffi_any_str(&any), "a\0b", 3);
  OK(test_call_legacy(f, tvmffi_tensor(&tensor), &any));
  CHECK(any.type_index == kTVMFFIDLTensorPtr && any.v_ptr == &tensor);
  OK(test_call_legacy(f, tvmffi_obj(f), &any));
  CHECK(any.type_index == kTVMFFIFunction && any.v_obj == f);
#if !TEST_NO_TENSORS
  handle = (TVMFFIObject *)test_make_tensor();
  if (!handle) return;
  OK(test_call_legacy(f, tvmffi_obj(handle), &any));
  CHECK(any.type_index == kTVMFFITensor && any.v_obj == handle);
#endif
  FAILS(test_call_legacy(f, tvmffi_i_pointer(kTVMFFIObjectRValueRef, &f), &any),
        "TypeError", "a legacy result of type code 14 is not a value");
  for (at = 0; at < 40; at += 39) {
    for (i = 0; i < 40; ++i) args[i] = tvmffi_int(i);
    any = tvmffi_none();
    OK(TVMFFIFunctionCall(f, args, 40, &any));
    CHECK_INT(any.v_int64, at);
  }
  args[20] = tvmffi_i_pointer(kTVMFFIUnchanged, NULL);
  FAILS(TVMFFIFunctionCall(f, args, 40, &any), "TypeError", NULL);
  for (at = -1; at >= -4; --at)
    if (at == -2)
      CHECK_INT(TVMFFIFunctionCall(f, args, 1, &any), -2);
    else
      FAILS(TVMFFIFunctionCall(f, args, 1, &any), "RuntimeError",
            at == -1   ? "a legacy function returned -1"
            : at == -3 ? "it fell over"
                       : "NULL");
  at = 1;
  FAILS(TVMFFIFunctionCall(f, args, 1, &any), "RuntimeError",
        "a legacy function returned 1");
}

/* Calls a function by the old convention with one argument. */
static int test_legacy_apply(TVMFFIObject *f, tvmffi_legacy_value arg, int code,
                             tvmffi_legacy_value *result, int *result_code) {
  result->v_int64 = 99;
  *result_code = 99;
  return tvmffi_legacy_call(&arg, &code, 1, result, result_code, f);
}

static void test_legacy_calls(void) {
  static const char text[] = "a text of more than seven bytes";
  TVMFFIObject *f = test_legacy_function(&tvmffi_func_legacy_same);
  TVMFFIObject *wrapped = NULL;
  tvmffi_legacy_value r, values[17];
  TVMFFIByteArray bytes = {"\0", 1};
  tvmffi_scope scope;
  TVMFFIAny any, arg;
  int code, i, codes[17];
  size_t n;
  if (!f) return;
  OK(test_legacy_apply(f, test_legacy_bits(-5), 0, &r, &code));
  CHECK(code == TVMFFI_LEGACY_INT && r.v_int64 == -5);
  OK(test_legacy_apply(f, test_legacy_bits(77), 2, &r, &code));
  CHECK(code == TVMFFI_LEGACY_FLOAT && r.v_int64 == 77);
  OK(test_legacy_apply(f, test_legacy_bits(77), 4, &r, &code));
  CHECK(code == TVMFFI_LEGACY_NULL && r.v_int64 == 0);
  OK(test_legacy_apply(f, test_legacy_bits(3), 15, &r, &code));
  CHECK(code == TVMFFI_LEGACY_INT && r.v_int64 == 1);
  for (n = 0; n < 20; n += 5) { /* strings, short and long, are objects */
    OK(test_legacy_apply(f, test_legacy_handle(text + sizeof(text) - 1 - n), 11,
                         &r, &code));
    CHECK_INT(code, TVMFFI_LEGACY_OBJECT);
    OWN(r.v_handle);
    any = tvmffi_obj(r.v_handle);
    CHECK_INT(any.type_index, kTVMFFIStr);
    CHECK_BYTES(tvmffi_any_str(&any), text + sizeof(text) - 1 - n, n);
    CHECK(tvmffi_any_str(&any).data[n] == 0);
  }
  OK(test_legacy_apply(f, test_legacy_handle(&bytes), 12, &r, &code));
  CHECK_INT(code, TVMFFI_LEGACY_OBJECT);
  OWN(r.v_handle);
  any = tvmffi_obj(r.v_handle);
  CHECK_INT(any.type_index, kTVMFFIBytes);
  CHECK_BYTES(tvmffi_any_str(&any), "\0", 1);
  OK(test_legacy_apply(f, test_legacy_handle(f), 10, &r, &code));
  CHECK(code == TVMFFI_LEGACY_FUNCTION && r.v_handle == f);
  OWN(r.v_handle);
  FAILS(test_legacy_apply(f, r, 17, &r, &code), "TypeError", NULL);
  CHECK(code == TVMFFI_LEGACY_NULL && r.v_int64 == 0);
  FAILS(tvmffi_legacy_call(NULL, NULL, 0, NULL, &code, f), "ValueError",
        "the result of a legacy call is NULL");
  FAILS(tvmffi_legacy_call(NULL, NULL, 0, &r, &code, NULL), "ValueError", NULL);
  FAILS(tvmffi_legacy_call(NULL, NULL, 0, &r, &code, f), "TypeError", NULL);
  f = test_legacy_function(&tvmffi_func_legacy_raise);
  if (!f) return;
  FAILS(tvmffi_legacy_call(NULL, NULL, 0, &r, &code, f), "IndexError", "no");
  for (i = 0; i < 17; ++i) {
    values[i] = test_legacy_bits(i);
    codes[i] = TVMFFI_LEGACY_INT;
  }
  FAILS(tvmffi_legacy_call(values, codes, 17, &r, &code, f), "TypeError", NULL);
  f = test_legacy_function(&tvmffi_func_legacy_code);
  if (!f) return;
  CHECK_INT(tvmffi_legacy_call(NULL, NULL, 0, &r, &code, f), -2);
  /* What it makes belongs to who called, not to the scope around the call. */
  f = test_legacy_function(&tvmffi_func_legacy_made);
  if (!f) return;
  tvmffi_scope_begin(&scope);
  i = tvmffi_legacy_call(NULL, NULL, 0, &r, &code, f);
  CHECK(!tvmffi_scope_end(&scope));
  OK(i);
  CHECK_INT(code, TVMFFI_LEGACY_FUNCTION);
  OWN(r.v_handle);
  /* To the old convention and back: a short string stays a small one. */
  f = test_legacy_function(&tvmffi_func_legacy_same);
  if (!f) return;
  OK(tvmffi_legacy_wrap(tvmffi_legacy_call, f, NULL, &wrapped));
  OWN(wrapped);
  arg = tvmffi_str("short");
  OK(test_call_legacy(wrapped, arg, &any));
  CHECK_INT(any.type_index, kTVMFFISmallStr);
  CHECK_BYTES(tvmffi_any_str(&any), "short", 5);
  OK(test_call_legacy(wrapped, tvmffi_bytes(&bytes), &any));
  CHECK_INT(any.type_index, kTVMFFISmallBytes);
  OK(test_call_legacy(wrapped, tvmffi_str(text), &any));
  CHECK_INT(any.type_index, kTVMFFIStr);
#if !TEST_NO_TENSORS
  {
    TVMFFIObject *tensor = (TVMFFIObject *)test_make_tensor();
    if (!tensor) return;
    OK(test_call_legacy(wrapped, tvmffi_obj(tensor), &any));
    CHECK(any.type_index == kTVMFFIDLTensorPtr);
  }
#endif
}
#endif

#if !TEST_NO_ENV
/* ======== Environment ===================================================== */

static void test_streams(void) {
  static char stream[64];
  TVMFFIStreamHandle before = stream;
  int i, n = 40;
  CHECK(TVMFFIEnvGetStream(kDLCUDA, 77) == NULL);
  OK(TVMFFIEnvSetStream(kDLCUDA, 0, stream, &before));
  OK(TVMFFIEnvSetStream(kDLCUDA, 0, stream + 1, &before));
  CHECK(before == stream);
  CHECK(TVMFFIEnvGetStream(kDLCUDA, 0) == stream + 1);
  CHECK(TVMFFIEnvGetStream(kDLROCM, 0) != stream + 1);
  for (i = 0; i < n; ++i)
    OK(TVMFFIEnvSetStream(kDLCUDA + i % 3, i, stream + i, NULL));
  for (i = 0; i < n; ++i)
    CHECK(TVMFFIEnvGetStream(kDLCUDA + i % 3, i) == stream + i);
  OK(TVMFFIEnvSetStream(2147483647, 2147483647, stream + 9, NULL));
  CHECK(TVMFFIEnvGetStream(2147483647, 2147483647) == stream + 9);
  FAILS(TVMFFIEnvSetStream(-1, 0, stream, &before), "ValueError",
        "There is no device (-1, 0)");
  FAILS(TVMFFIEnvSetStream(kDLCUDA, -5, stream, &before), "ValueError", NULL);
  CHECK(TVMFFIEnvGetStream(-1, 0) == NULL);
  CHECK(TVMFFIEnvGetStream(kDLCUDA, -1) == NULL);
  /* The table goes when its thread does. */
  tvmffi_i_thread_exit(tvmffi_i_self());
  CHECK(TVMFFIEnvGetStream(kDLCUDA, 0) == NULL);
}

static int test_signal;
static int test_check_signals(void) {
  test_say('c');
  return test_signal;
}
static int test_ensure(void) {
  test_say('e');
  return 5;
}
static void test_gil_release(int state) { test_say((char)('0' + state)); }

static void test_signals(void) {
  int (*check)(void) = test_check_signals, (*ensure)(void) = test_ensure;
  void (*release)(int) = test_gil_release;
  void *address;
  CHECK_INT(TVMFFIEnvCheckSignals(), 0);
  FAILS(TVMFFIEnvRegisterCAPI(NULL, NULL), "ValueError", NULL);
  FAILS(TVMFFIEnvRegisterCAPI("PyErr_Nothing", NULL), "ValueError",
        "Unknown env API PyErr_Nothing");
  memcpy(&address, &check, sizeof(check));
  OK(TVMFFIEnvRegisterCAPI("PyErr_CheckSignals", address));
  FAILS(TVMFFIEnvCheckSignals(), "InternalError",
        "PyErr_CheckSignals is registered without PyGILState_Ensure and "
        "PyGILState_Release");
  memcpy(&address, &ensure, sizeof(ensure));
  OK(TVMFFIEnvRegisterCAPI("PyGILState_Ensure", address));
  FAILS(TVMFFIEnvCheckSignals(), "InternalError", NULL);
  memcpy(&address, &release, sizeof(release));
  OK(TVMFFIEnvRegisterCAPI("PyGILState_Release", address));
  test_signal = 0;
  CHECK_INT(TVMFFIEnvCheckSignals(), 0);
  CHECK_LOG("ec5");
  test_signal = -1;
  CHECK_INT(TVMFFIEnvCheckSignals(), -1);
  CHECK_LOG("ec5");
  CHECK(tvmffi_error_take() == NULL); /* the environment holds it */
  OK(TVMFFIEnvRegisterCAPI("PyErr_CheckSignals", NULL));
  OK(TVMFFIEnvRegisterCAPI("PyGILState_Ensure", NULL));
  OK(TVMFFIEnvRegisterCAPI("PyGILState_Release", NULL));
}

/* The address that a map of symbols has, or NULL. */
static void *test_symbol(tvmffi_i_map *map, const char *name) {
  tvmffi_i_node *node = tvmffi_i_find(map, name, strlen(name));
  return node ? ((tvmffi_i_named *)(void *)node)->address : NULL;
}

static void test_module_symbols(void) {
  const char *name = test_fresh("unit_symbol");
  static void *a, *b; /* a module that is made later writes to them */
  OK(TVMFFIEnvModRegisterSystemLibSymbol(name, &a));
  OK(TVMFFIEnvModRegisterContextSymbol(name, &b));
  CHECK(test_symbol(&tvmffi_i_system_symbols, name) == &a);
  CHECK(test_symbol(&tvmffi_i_context_symbols, name) == &b);
  OK(TVMFFIEnvModRegisterSystemLibSymbol(name, &b));
  CHECK(test_symbol(&tvmffi_i_system_symbols, name) == &b);
  FAILS(TVMFFIEnvModRegisterSystemLibSymbol(NULL, &a), "ValueError", NULL);
  FAILS(TVMFFIEnvModRegisterContextSymbol(NULL, &a), "ValueError", NULL);
}

static void *test_handle, *test_inner_handle;
static int test_target;

static int test_init(void **result) {
  test_say('i');
  *result = &test_target;
  return 0;
}
static int test_init_fails(void **result) {
  (void)result;
  return TVMFFI_RAISE("ValueError", "cannot init");
}
static int test_init_silent(void **result) {
  (void)result;
  return -7;
}
static int test_init_null(void **result) {
  *result = NULL;
  return 0;
}
static int test_init_nested(void **result) {
  TVMFFI_TRY(TVMFFIHandleInitOnce(&test_inner_handle, test_init));
  *result = &test_inner_handle;
  return 0;
}
static int test_init_recursive(void **result) {
  (void)result;
  return TVMFFIHandleInitOnce(&test_handle, test_init_recursive);
}
static int test_deinit(void *handle) {
  test_say(handle == &test_target ? 'd' : '?');
  return 3;
}

static void test_init_once(void) {
  test_handle = test_inner_handle = NULL;
  OK(TVMFFIHandleInitOnce(&test_handle, test_init));
  CHECK(test_handle == &test_target);
  OK(TVMFFIHandleInitOnce(&test_handle, test_init));
  OK(TVMFFIHandleInitOnce(&test_handle, NULL));
  CHECK_LOG("i");
  CHECK_INT(TVMFFIHandleDeinitOnce(&test_handle, test_deinit), 3);
  CHECK_LOG("d");
  CHECK(test_handle == NULL);
  OK(TVMFFIHandleDeinitOnce(&test_handle, test_deinit));
  CHECK_LOG("");
  OK(TVMFFIHandleInitOnce(&test_handle, test_init_nested));
  CHECK(test_handle == &test_inner_handle);
  CHECK(test_inner_handle == &test_target);
  CHECK_LOG("i");
  test_handle = NULL;
  FAILS(TVMFFIHandleInitOnce(&test_handle, test_init_fails), "ValueError",
        "cannot init");
  FAILS(TVMFFIHandleInitOnce(&test_handle, test_init_silent), "RuntimeError",
        "init_func failed with code -7 and no error");
  FAILS(TVMFFIHandleInitOnce(&test_handle, test_init_null), "RuntimeError",
        "init_func must return a non-NULL handle");
  FAILS(TVMFFIHandleInitOnce(&test_handle, test_init_recursive), "RuntimeError",
        "init_func needs the handle that it makes");
  CHECK(test_handle == NULL);
  FAILS(TVMFFIHandleInitOnce(NULL, test_init), "ValueError", NULL);
  FAILS(TVMFFIHandleInitOnce(&test_handle, NULL), "ValueError", NULL);
  FAILS(TVMFFIHandleDeinitOnce(NULL, test_deinit), "ValueError", NULL);
  FAILS(TVMFFIHandleDeinitOnce(&test_handle, NULL), "ValueError", NULL);
  OK(TVMFFIHandleInitOnce(&test_handle, test_init));
  CHECK_LOG("i");
}
#endif

#if !TEST_NO_MODULES && !TVMFFI_NO_CONTAINERS
/* ======== Modules ========================================================= */
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

/* The module of a prefix, which the test then owns, or NULL. */
static TVMFFIObject *test_module(const char *prefix) {
  TVMFFIObject *m = NULL;
  if (test_code(tvmffi_call(tvmffi_str("ffi.SystemLib"), tvmffi_out_object(&m),
                            tvmffi_str(prefix)),
                __FILE__, __LINE__, prefix))
    return NULL;
  OWN(m);
  return m;
}

/* A module of a new prefix with the function `name`, or NULL. */
static TVMFFIObject *test_module_with(const char *name,
                                      TVMFFISafeCallType code) {
  const char *prefix = test_fresh("unit_module");
  if (test_put_code("__tvm_ffi_", prefix, name, code)) return NULL;
  return test_module(prefix);
}

#define MODULE_CALL(name, out, ...) \
  tvmffi_call(tvmffi_str("ffi.Module" name), out, __VA_ARGS__)

static int test_import(TVMFFIObject *m, TVMFFIObject *other) {
  return MODULE_CALL("ImportModule", tvmffi_out_any(NULL), tvmffi_obj(m),
                     tvmffi_obj(other));
}

static int test_get_function(TVMFFIObject *m, const char *name, int imports,
                             TVMFFIAny *out) {
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

static void test_module_functions(void) {
  const char *prefix = test_fresh("unit_module");
  TVMFFIObject *m, *again;
  TVMFFIAny f;
  tvmffi_type_bool has = 0;
  uint32_t count;
  if (test_put_code("__tvm_ffi_", prefix, "one", test_one)) return;
  if (test_put_code("__tvm_ffi_", prefix, "fails", test_raise_callback)) return;
  m = test_module(prefix);
  again = test_module(prefix);
  if (!m || !again) return;
  CHECK(m == again);
  count = test_strong(m);
  OK(test_get_function(m, "one", 0, &f));
  OWN_ANY(f);
  if (!CHECK(f.type_index == kTVMFFIFunction)) return;
  CHECK_INT(test_strong(m), count + 1);
  CHECK_INT(test_call_int(f.v_obj), 1);
  test_drop(f.v_obj);
  CHECK_INT(test_strong(m), count);
  OK(test_get_function(m, "fails", 0, &f));
  OWN_ANY(f);
  FAILS(TVMFFIFunctionCall(f.v_obj, NULL, 0, &f), "ValueError",
        "the callback says no");
  OK(test_get_function(m, "none", 1, &f));
  CHECK(f.type_index == kTVMFFINone);
  OK(MODULE_CALL("ImplementsFunction", tvmffi_out_bool(&has), tvmffi_obj(m),
                 tvmffi_str("one"), tvmffi_bool(0)));
  CHECK_INT(has, 1);
  OK(MODULE_CALL("ImplementsFunction", tvmffi_out_bool(&has), tvmffi_obj(m),
                 tvmffi_str("two"), tvmffi_bool(1)));
  CHECK_INT(has, 0);
}

static void test_module_symbol_order(void) {
  const char *prefix = test_fresh("unit_module"), *name = test_fresh("common");
  TVMFFIObject *m;
  TVMFFIAny f;
  if (test_put_code("__tvm_ffi_", "", name, test_one)) return;
  m = test_module(prefix);
  if (!m) return;
  OK(test_get_function(m, name, 0, &f)); /* the prefix may be left out ... */
  OWN_ANY(f);
  if (CHECK(f.type_index == kTVMFFIFunction))
    CHECK_INT(test_call_int(f.v_obj), 1);
  if (test_put_code("__tvm_ffi_", prefix, name, test_two)) return;
  OK(test_get_function(m, name, 0, &f)); /* ... but goes before */
  OWN_ANY(f);
  if (CHECK(f.type_index == kTVMFFIFunction))
    CHECK_INT(test_call_int(f.v_obj), 2);
}

static void test_module_texts(void) {
  const char *prefix = test_fresh("unit_module");
  static const char doc[] = "__tvm_ffi__doc_";
  TVMFFIObject *m;
  TVMFFIAny text = tvmffi_none();
  OK(TVMFFIGetTypeInfo(kTVMFFIInt) ? 0 : -1); /* for its name in an error */
  if (test_put_code(prefix, doc, "f", test_describe)) return;
  if (test_put_code(prefix, doc, "int", test_one)) return;
  if (test_put_code(prefix, doc, "fails", test_raise_callback)) return;
  if (test_put_code(prefix, "__tvm_ffi__metadata_", "f", test_describe)) return;
  m = test_module(prefix);
  if (!m) return;
  OK(MODULE_CALL("GetFunctionDoc", tvmffi_out_any(&text), tvmffi_obj(m),
                 tvmffi_str("f"), tvmffi_bool(0)));
  OWN_ANY(text);
  CHECK_TEXT(tvmffi_any_str(&text), "what the function does");
  OK(MODULE_CALL("GetFunctionMetadata", tvmffi_out_any(&text), tvmffi_obj(m),
                 tvmffi_str("f"), tvmffi_bool(0)));
  OWN_ANY(text);
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
}

static void test_module_properties(void) {
  TVMFFIObject *m = test_module(test_fresh("unit_module"));
  TVMFFIAny any = tvmffi_none();
  int32_t mask = 0;
  if (!m) return;
  OK(MODULE_CALL("GetKind", tvmffi_out_any(&any), tvmffi_obj(m)));
  OWN_ANY(any);
  CHECK_TEXT(tvmffi_any_str(&any), "library");
  OK(MODULE_CALL("GetPropertyMask", tvmffi_out_int32(&mask), tvmffi_obj(m)));
  CHECK_INT(mask, 3);
  OK(MODULE_CALL("InspectSource", tvmffi_out_any(&any), tvmffi_obj(m),
                 tvmffi_str("")));
  CHECK(any.type_index == kTVMFFISmallStr && any.small_str_len == 0);
  OK(MODULE_CALL("GetWriteFormats", tvmffi_out_any(&any), tvmffi_obj(m)));
  OWN_ANY(any);
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

static void test_module_schemas(void) {
  TVMFFIAny text = test_metadata_of("ffi.ModuleGetFunction");
  CHECK(test_hits() ||
        test_contains(tvmffi_any_str(&text),
                      "{\\\"type\\\":\\\"Optional\\\",\\\"args\\\":[{"
                      "\\\"type\\\":\\\"ffi.Function\\\"}]}"));
  text = test_metadata_of("ffi.ModuleImportModule");
  if (!test_hits())
    CHECK_TEXT(tvmffi_any_str(&text),
               SCHEMA("None", PARAM("ffi.Module") "," PARAM("ffi.Module")));
}

static void test_module_context(void) {
  const char *prefix = test_fresh("unit_module");
  const char *symbol = test_fresh("unit_context");
  static void *context, *variable;
  static char target;
  TVMFFIObject *m;
  context = variable = NULL;
  OK(TVMFFIEnvModRegisterContextSymbol(symbol, &target));
  if (test_put_symbol(prefix, "__tvm_ffi__library_ctx", "", &context)) return;
  if (test_put_symbol(prefix, symbol, "", &variable)) return;
  m = test_module(prefix);
  if (!m) return;
  CHECK(context == tvmffi_i_module_of(m));
  CHECK(variable == &target);
}

static void test_module_imports(void) {
  TVMFFIObject *a = test_module_with("a", test_one);
  TVMFFIObject *b = test_module_with("b", test_two);
  TVMFFIObject *c = test_module_with("b", test_one);
  TVMFFIAny f;
  if (!a || !b || !c) return;
  OK(test_import(a, b));
  OK(test_import(b, c));
  OK(test_get_function(a, "b", 0, &f));
  CHECK(f.type_index == kTVMFFINone);
  OK(test_get_function(a, "b", 1, &f)); /* the nearest */
  OWN_ANY(f);
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
  OK(test_get_function(a, "b", 1, &f));
  CHECK(f.type_index == kTVMFFINone);
  OK(test_import(c, a));
  OK(MODULE_CALL("ClearImports", tvmffi_out_any(NULL), tvmffi_obj(b)));
}

/* Layers of two modules that both import both of the next: a search that
   visited them again and again would not end. */
static void test_module_lattice(void) {
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
  OK(test_get_function(m[n - 1], "none", 1, &f));
  CHECK(f.type_index == kTVMFFINone);
  FAILS(test_import(m[0], m[n - 1]), "RuntimeError", NULL);
}

static void test_imports(void) {
  const char *text = test_fresh("unit.import");
  TVMFFIByteArray name = TEXT(text);
  TVMFFIObject *f = test_global("ffi.String");
  TVMFFIObject *m = test_module(test_fresh("unit_module")), *other;
  TVMFFIObjectHandle got = NULL;
  void *context;
  if (!f || !m) return;
  context = tvmffi_i_module_of(m);
  FAILS(TVMFFIEnvModLookupFromImports(context, text, &got), "RuntimeError",
        "...in the imported modules or global registry.");
  FAILS(TVMFFIEnvModLookupFromImports(NULL, text, &got), "ValueError", NULL);
  FAILS(TVMFFIEnvModLookupFromImports(context, NULL, &got), "ValueError", NULL);
  FAILS(TVMFFIEnvModLookupFromImports(context, text, NULL), "ValueError", NULL);
  FAILS(TVMFFIEnvModLookupFromImports((char *)f - 8, text, &got), "TypeError",
        NULL);
  OK(TVMFFIFunctionSetGlobal(&name, f, 0));
  OK(TVMFFIEnvModLookupFromImports(context, text, &got));
  CHECK(got == f);
  other = test_module_with("theirs", test_two);
  if (!other) return;
  OK(test_import(m, other));
  OK(TVMFFIEnvModLookupFromImports(context, "theirs", &got));
  CHECK_INT(test_call_int(got), 2);
  f = (TVMFFIObject *)got;
  OK(MODULE_CALL("ClearImports", tvmffi_out_any(NULL), tvmffi_obj(m)));
  OK(TVMFFIEnvModLookupFromImports(context, "theirs", &got));
  CHECK(got == f); /* found once */
}

/* A cache that C++ made is replaced, and lives as long as its module. */
static void test_foreign_cache(void) {
  const char *text = test_fresh("unit.import");
  TVMFFIByteArray name = TEXT(text);
  TVMFFIObject *f = test_global("ffi.String");
  TVMFFIObject *m = test_module(test_fresh("unit_module"));
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
static int test_embedded(TVMFFIObject **out, void **context) {
  const char *prefix = test_fresh("unit_module");
  *out = NULL;
  if (test_put_symbol(prefix, "__tvm_ffi__library_bin", "", test_binary) ||
      test_put_symbol(prefix, "__tvm_ffi__library_ctx", "", context))
    return TVMFFI_RAISE("MemoryError", "no symbol");
  return tvmffi_call(tvmffi_str("ffi.SystemLib"), tvmffi_out_object(out),
                     tvmffi_str(prefix));
}

static void test_embedded_modules(void) {
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
  OK(test_embedded(&m, &context));
  OWN(m);
  imports = (TVMFFISeqCell *)(void *)(tvmffi_i_module_of(m)->imports + 1);
  CHECK_INT(imports->size, 2);
  CHECK(((TVMFFIAny *)imports->data)->v_obj ==
        &((tvmffi_i_module *)context)->base);
  test_binary_begin("00", "");
  test_binary_text("unit_int");
  test_binary_text("x");
  test_binary_end();
  FAILS(test_embedded(&m, &context), "TypeError",
        "Cannot convert from type `int` to `ffi.Module`");
  test_binary_begin("00", "");
  test_binary_text("unit_none");
  test_binary_text("x");
  test_binary_end();
  FAILS(test_embedded(&m, &context), "RuntimeError",
        "Library binary was created using {unit_none} but a loader of that "
        "name is not registered. Make sure to have runtime that registers "
        "ffi.Module.load_from_bytes.unit_none");
}

static void test_bad_embedded_modules(void) {
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
    FAILS(test_embedded(&m, &context),
          i == 4 ? "RuntimeError" : "InternalError", NULL);
  }
  size = test_binary_size;
  for (cut = 9; cut <= size; cut += test_oom ? 64 : 1) {
    test_binary_size = size - cut + 8;
    test_binary_end();
    FAILS(test_embedded(&m, &context), "InternalError",
          "The binary embedded in the library is malformed");
  }
}

static void test_kept_modules(void) {
  TVMFFIObject *m = test_module(test_fresh("unit_module"));
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
  return tvmffi_call(tvmffi_str("ffi.SystemLib"), tvmffi_out_any(result));
}

static void test_load_files(void) {
  TVMFFIAny any = tvmffi_none();
  if (test_set_loader("ffi.Module.load_from_file.unit", test_load_file) ||
      test_set_loader("ffi.Module.load_from_file.system", test_load_system))
    return;
  OK(LOAD("x.system"));
  OWN_ANY(any);
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
  (void)self, (void)args, (void)num_args;
  return tvmffi_call(tvmffi_str("ffi.SystemLib"), tvmffi_out_any(result),
                     tvmffi_str(test_inner_prefix));
}

static void test_nested_system_modules(void) {
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
  m = test_module(outer);
  other = test_module(inner);
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

/* What a module looked up goes with it, and so does the cache that it found. */
static void test_cache_ends(void) {
  TVMFFIObject *m = test_short_lived_module(), *other;
  TVMFFIObjectHandle got = NULL, again = NULL, old = NULL;
  char name[8] = "name-0";
  TVMFFIObjectHandle f = NULL;
  TVMFFIByteArray key;
  int i, n = test_scale(40, 2);
  if (!m) return;
  test_log_size = 0;
  OK(TVMFFIObjectCreateOpaque((void *)(uintptr_t)"o", kTVMFFIOpaquePyObject,
                              test_say_deleter, &old));
  tvmffi_i_module_of(m)->cache = (TVMFFIObject *)old;
  OK(TVMFFIFunctionCreate((void *)(uintptr_t)"f", test_echo_callback,
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
static void test_strange_imports(void) {
  TVMFFIObject *m = test_short_lived_module();
  TVMFFIObject *other = test_short_lived_module();
  tvmffi_i_module *own;
  TVMFFIAny f, *items = NULL;
  TVMFFISeqCell *imports;
  if (!m || !other) return;
  own = tvmffi_i_module_of(m);
  tvmffi_release(own->imports);
  own->imports = NULL;
  OK(test_get_function(m, "none", 1, &f));
  CHECK(f.type_index == kTVMFFINone);
  OK(test_import(m, other));
  imports = (TVMFFISeqCell *)(void *)(own->imports + 1);
  CHECK_INT(imports->size, 1);
  CHECK(((TVMFFIAny *)imports->data)->v_obj == other);
  tvmffi_release(own->imports);
  own->imports = tvmffi_i_new_array(1, &items);
  OK(own->imports ? 0 : -1);
  items[0] = tvmffi_int(7);
  FAILS(test_get_function(m, "none", 1, &f), "TypeError",
        "Cannot convert from type `int` to `ffi.Module`");
}

/* A file that every process of this C library has open. */
static void test_library_file(void) {
#if defined(__GLIBC__) && !TVMFFI_NO_DLOPEN
  TVMFFIObject *load = test_global("ffi.Module.load_from_file.so");
  TVMFFIAny args[2], any = tvmffi_none();
  TVMFFIObject *error;
  if (!load) return;
  args[0] = tvmffi_str("libc.so.6");
  args[1] = tvmffi_str("so");
  if (TVMFFIFunctionCall(load, args, 2, &any)) {
    error = tvmffi_error_take(); /* a static program may have none */
    CHECK(error && (tvmffi_error_is(error, "InternalError") || test_hits()));
    tvmffi_release(error);
    return;
  }
  OWN_ANY(any);
  if (!CHECK_INT(any.type_index, kTVMFFIModule)) return;
  CHECK(((tvmffi_i_library_module *)(void *)tvmffi_i_module_of(any.v_obj))
            ->library->handle != NULL);
  CHECK_INT(test_strong(any.v_obj), 1);
  OK(test_get_function(any.v_obj, "printf", 0, &args[0]));
  CHECK(args[0].type_index == kTVMFFINone); /* only __tvm_ffi_printf would do */
#endif
}

#if TVMFFI_I_CXX_METHODS
/* What C++ does with a module: it calls through the table in front. */
static void test_module_table(void) {
  TVMFFIObject *object = test_module_with("one", test_one), *f = NULL;
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
static void test_module_table_imports(void) {
  TVMFFIObject *object = test_module(test_fresh("unit_module"));
  TVMFFIObject *other = test_module(test_fresh("unit_module"));
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
static const char *test_cxx_kind(const tvmffi_i_module *m) {
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
static int test_cxx_mask(const tvmffi_i_module *m) {
  (void)m;
  return 4;
}

/* Says what it is asked for, and gives what C++ would. */
static const char *test_cxx_no_kind(const tvmffi_i_module *m) {
  (void)m;
  return NULL;
}
static tvmffi_type_bool test_cxx_implements(tvmffi_i_module *m,
                                            const TVMFFIAny *name) {
  (void)m;
  return tvmffi_any_str(name).size == 3;
}
static void test_cxx_write(const tvmffi_i_module *m, const TVMFFIAny *file,
                           const TVMFFIAny *format) {
  (void)m;
  CHECK_TEXT(tvmffi_any_str(file), "a long name of a file");
  CHECK_TEXT(tvmffi_any_str(format), "c");
  test_say('w');
}
static TVMFFIObject **test_cxx_formats(TVMFFIObject **out,
                                       const tvmffi_i_module *m) {
  *out = m->imports;
  tvmffi_retain(*out);
  return out;
}
static TVMFFIAny *test_cxx_inspect(TVMFFIAny *out, const tvmffi_i_module *m,
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

static void test_ask_foreign_module(TVMFFIObject *object, TVMFFIObject *own) {
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
  OWN_ANY(any);
  CHECK(any.v_obj == tvmffi_i_module_of(object)->imports);
  OK(test_import(object, own));
  CHECK(test_cxx_imported == own);
  OK(MODULE_CALL("ClearImports", tvmffi_out_any(NULL), tvmffi_obj(object)));
  CHECK_LOG("c");
}

static void test_foreign_module_methods(void) {
  tvmffi_i_module_methods methods;
  TVMFFIObject *own = test_module(test_fresh("unit_module"));
  TVMFFIObject *object = test_module(test_fresh("unit_module"));
  tvmffi_i_module *m;
  if (!own || !object) return;
  m = tvmffi_i_module_of(object);
  methods = *m->methods;
  methods.kind = test_cxx_no_kind;
  methods.implements = test_cxx_implements;
  methods.metadata = test_cxx_text;
  methods.write = test_cxx_write;
  methods.write_formats = test_cxx_formats;
  methods.inspect = test_cxx_inspect;
  methods.add_import = test_cxx_add_import;
  methods.clear_imports = test_cxx_clear_imports;
  m->methods = &methods;
  test_log_size = 0;
  test_ask_foreign_module(object, own);
  m->methods = &tvmffi_i_library_table.methods;
}

static void test_foreign_module(void) {
  tvmffi_i_module_methods methods;
  TVMFFIObject *own = test_module_with("b", test_one);
  TVMFFIObject *object = test_module(test_fresh("unit_module"));
  tvmffi_i_module *m;
  TVMFFIAny any = tvmffi_none();
  int32_t mask = 0;
  if (!own || !object) return;
  m = tvmffi_i_module_of(object);
  methods = *m->methods;
  methods.kind = test_cxx_kind;
  methods.property_mask = test_cxx_mask;
  methods.get = test_cxx_get;
  methods.doc = test_cxx_text;
  OK(test_import(own, object));
  m->methods = &methods;
  if (!test_code(
          MODULE_CALL("GetKind", tvmffi_out_any(&any), tvmffi_obj(object)),
          __FILE__, __LINE__, "kind"))
    CHECK_TEXT(tvmffi_any_str(&any), "other");
  if (!test_code(MODULE_CALL("GetPropertyMask", tvmffi_out_int32(&mask),
                             tvmffi_obj(object)),
                 __FILE__, __LINE__, "mask"))
    CHECK_INT(mask, 4);
  if (!test_code(test_get_function(own, "two", 1, &any), __FILE__, __LINE__,
                 "get")) {
    OWN_ANY(any);
    if (CHECK(any.type_index == kTVMFFIFunction || test_hits()) &&
        any.type_index == kTVMFFIFunction)
      CHECK_INT(test_call_int(any.v_obj), 2);
  }
  tvmffi_error_clear();
  if (!test_code(
          MODULE_CALL("GetFunctionDoc", tvmffi_out_any(&any), tvmffi_obj(own),
                      tvmffi_str("a name of some size"), tvmffi_bool(1)),
          __FILE__, __LINE__, "doc")) {
    OWN_ANY(any);
    CHECK_TEXT(tvmffi_any_str(&any), "a name of some size");
  }
  m->methods = &tvmffi_i_library_table.methods;
}
#endif
#endif

#if !TEST_NO_CONTENTION && !TVMFFI_NO_THREADS
/* ======== Contention ====================================================== */

#if defined(__unix__)
#include <sys/wait.h>
#include <unistd.h>
#endif

typedef void (*test_work)(int id);
typedef struct {
  test_work work;
  int id;
  size_t *ready;
  size_t all;
} test_worker;

#if defined(__cplusplus)
extern "C" {
#endif
static void *test_run_worker(void *argument) {
  test_worker *w = (test_worker *)argument;
  (void)test_add(w->ready, 1);
  while (test_get(w->ready) < w->all) (void)sched_yield();
  w->work(w->id);
  return NULL;
}
#if defined(__cplusplus)
}
#endif

/* Runs work(0), work(1), ... at once, each in a thread of its own. */
static void test_parallel(test_work work) {
  pthread_t thread[TEST_THREADS];
  test_worker worker[TEST_THREADS];
  size_t ready = 0;
  int i, n = test_scale(TEST_THREADS, 2);
  for (i = 0; i < n; ++i) {
    worker[i].work = work;
    worker[i].id = i;
    worker[i].ready = &ready;
    worker[i].all = (size_t)n;
  }
  for (i = 0; i < n; ++i) {
    if (!CHECK(!pthread_create(&thread[i], NULL, test_run_worker, &worker[i])))
      (void)test_add(&ready, (size_t)(n - i));
    else
      continue;
    n = i;
  }
  for (i = 0; i < n; ++i) (void)pthread_join(thread[i], NULL);
}

static int test_rounds(int divisor) {
  int n = test_scale(TEST_ROUNDS, 2 * divisor) / divisor;
  return n ? n : 1;
}

enum { TEST_NAMES = 4 };
static char test_shared_name[TEST_NAMES][64];

static void test_share_names(const char *prefix) {
  int i;
  for (i = 0; i < TEST_NAMES; ++i) {
    const char *name = test_fresh(prefix);
    (void)test_put(test_shared_name[i], 0, sizeof(test_shared_name[i]), name,
                   strlen(name));
  }
}

/* Some set, some remove, all look up and call: an answer is one that somebody
   set, and the function lives as long as the caller has it. */
static void test_globals_work(int id) {
  int i, n = test_rounds(1);
  for (i = 0; i < n; ++i) {
    const char *text = test_shared_name[(i + id) % TEST_NAMES];
    TVMFFIByteArray name = TEXT(text);
    TVMFFIObjectHandle f = NULL;
    if ((i + id) % 5 == 0) {
      OK(TVMFFIFunctionCreate((void *)(intptr_t)(id + 1), test_echo_callback,
                              NULL, &f));
      if (test_code(TVMFFIFunctionSetGlobal(&name, f, 1), __FILE__, __LINE__,
                    "TVMFFIFunctionSetGlobal ")) {
        tvmffi_release(f);
        return;
      }
      tvmffi_release(f);
    } else if ((i + id) % 17 == 0) {
      OK(tvmffi_call(tvmffi_str("ffi.FunctionRemoveGlobal"),
                     tvmffi_out_any(NULL), tvmffi_str(text)));
    } else {
      TVMFFIAny result = tvmffi_none();
      OK(TVMFFIFunctionGetGlobal(&name, &f));
      if (!f) continue;
      CHECK_INT(TVMFFIFunctionCall(f, NULL, 0, &result), 0);
      CHECK(result.v_int64 >= 1 && result.v_int64 <= TEST_THREADS);
      tvmffi_release(f);
    }
  }
}

static void test_contend_globals(void) {
  int i;
  test_share_names("unit.contended");
  test_parallel(test_globals_work);
  tvmffi_error_clear();
  for (i = 0; i < TEST_NAMES; ++i)
    OK(tvmffi_call(tvmffi_str("ffi.FunctionRemoveGlobal"), tvmffi_out_any(NULL),
                   tvmffi_str(test_shared_name[i])));
}

/* Names come and go, so that entries get one name after another. Each name has
   one function only, so no other may be found under it. */
enum { TEST_MANY_NAMES = 48 };
static TVMFFIObjectHandle test_name_function[TEST_MANY_NAMES];

static void test_numbered_name(char *name, int i) {
  char number[24], *digits = test_digits(number + sizeof(number), 100 + i);
  size_t at = test_put(name, 0, 32, "unit.comes.and.goes.", 20);
  (void)test_put(name, at, 32, digits, strlen(digits));
}

static void test_names_work(int id) {
  int i, n = test_rounds(1);
  uint32_t random = (uint32_t)id + 1;
  for (i = 0; i < n; ++i) {
    char text[32];
    TVMFFIByteArray name;
    TVMFFIObjectHandle f = NULL;
    int k;
    random = random * 1664525u + 1013904223u;
    k = (int)(random >> 8) % TEST_MANY_NAMES;
    test_numbered_name(text, k);
    name = TEXT(text);
    if (random >> 30 == 0) {
      OK(TVMFFIFunctionSetGlobal(&name, test_name_function[k], 1));
    } else if (random >> 30 == 1) {
      OK(tvmffi_call(tvmffi_str("ffi.FunctionRemoveGlobal"),
                     tvmffi_out_any(NULL), tvmffi_str(text)));
    } else {
      OK(TVMFFIFunctionGetGlobal(&name, &f));
      CHECK(!f || f == test_name_function[k]);
      tvmffi_release(f);
    }
  }
}

static void test_contend_names(void) {
  char text[32];
  int i;
  for (i = 0; i < TEST_MANY_NAMES; ++i) {
    OK(TVMFFIFunctionCreate((void *)(intptr_t)(i + 1), test_echo_callback, NULL,
                            &test_name_function[i]));
    OWN(test_name_function[i]);
  }
  test_parallel(test_names_work);
  tvmffi_error_clear();
  for (i = 0; i < TEST_MANY_NAMES; ++i) {
    test_numbered_name(text, i);
    OK(tvmffi_call(tvmffi_str("ffi.FunctionRemoveGlobal"), tvmffi_out_any(NULL),
                   tvmffi_str(text)));
  }
}

/* Metadata is read while functions are replaced. */
static void test_about_work(int id) {
  int i, n = test_rounds(4);
  for (i = 0; i < n; ++i) {
    const char *text = test_shared_name[0];
    TVMFFIAny any = tvmffi_none();
    if (id % 2) {
      TVMFFIMethodInfo info;
      TVMFFIObjectHandle f = NULL;
      int code;
      memset((void *)&info, 0, sizeof(info));
      OK(TVMFFIFunctionCreate(NULL, test_echo_callback, NULL, &f));
      info.name = TEXT(text);
      info.metadata = TEXT("{\"some\": \"metadata\"}");
      info.method = tvmffi_obj(f);
      code = TVMFFIFunctionSetGlobalFromMethodInfo(&info, 1);
      tvmffi_release(f);
      OK(code);
    } else if (!tvmffi_call(tvmffi_str("ffi.GetGlobalFuncMetadata"),
                            tvmffi_out_any(&any), tvmffi_str(text))) {
      CHECK_TEXT(tvmffi_any_str(&any), "{\"some\": \"metadata\"}");
      tvmffi_any_release(&any);
    } else {
      tvmffi_error_clear(); /* not set yet */
    }
  }
}

static void test_contend_about(void) {
  test_share_names("unit.about");
  test_parallel(test_about_work);
}

#if !TVMFFI_NO_TYPES
enum { TEST_SHARED_TYPES = 40 };
static int32_t test_shared_type[TEST_SHARED_TYPES];
static char test_shared_prefix[64];

/* Looks at types of which only the index is known yet. */
static void test_read_types(void) {
  int i, n = test_scale(TEST_SHARED_TYPES, 2), left = 100000;
  for (i = 0; i < n && left; --left) {
    int32_t index = TVMFFI_I_LOAD_RELAXED(&test_shared_type[i]);
    const TVMFFITypeInfo *info;
    if (!index) continue;
    info = TVMFFIGetTypeInfo(index);
    if (!CHECK(info != NULL)) return;
    CHECK(info->type_index == index && info->type_depth == i + 1);
    CHECK(tvmffi_is_instance(index, kTVMFFIObject));
    ++i;
  }
}

static void test_types_work(int id) {
  int i, n = test_scale(TEST_SHARED_TYPES, 2);
  int32_t parent = kTVMFFIObject;
  if (id % 3 == 1) {
    test_read_types();
    return;
  }
  for (i = 0; i < n; ++i) {
    char text[80], letters[3];
    TVMFFIByteArray key;
    const TVMFFITypeInfo *info;
    int32_t index, zero = 0;
    size_t at = test_put(text, 0, sizeof(text), test_shared_prefix,
                         strlen(test_shared_prefix));
    letters[0] = '.';
    letters[1] = (char)('a' + i / 26);
    letters[2] = (char)('a' + i % 26);
    (void)test_put(text, at, sizeof(text), letters, 3);
    key = TEXT(text);
    index = TVMFFITypeGetOrAllocIndex(&key, -1, i + 1, id % 3, 1, parent);
    OK(index < 0 ? -1 : 0);
    if (!__atomic_compare_exchange_n(&test_shared_type[i], &zero, index, 0,
                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      CHECK_INT(index, zero);
    info = TVMFFIGetTypeInfo(index);
    if (!CHECK(info != NULL)) return;
    CHECK(info->type_depth == i + 1 && tvmffi_is_instance(index, parent));
    OK(TVMFFITypeKeyToIndex(&key, &index));
    CHECK_INT(index, info->type_index);
    parent = index;
  }
}

static void test_contend_types(void) {
  const char *prefix = test_fresh("unit.Shared");
  memset(test_shared_type, 0, sizeof(test_shared_type));
  (void)test_put(test_shared_prefix, 0, sizeof(test_shared_prefix), prefix,
                 strlen(prefix));
  test_parallel(test_types_work);
}

/* Each thread sets its own type's value and reads the others'. */
static void test_columns_work(int id) {
  int i, k, n = test_scale(20, 2);
  for (i = 0; i < n; ++i) {
    TVMFFIByteArray name = TEXT(test_shared_name[i % TEST_NAMES]);
    int32_t index = test_shared_type[(id * 5 + i) % TEST_SHARED_TYPES];
    const TVMFFITypeAttrColumn *c;
    TVMFFIAny value = tvmffi_int(index);
    OK(TVMFFITypeRegisterAttr(index, &name, &value));
    c = TVMFFIGetTypeAttrColumn(&name);
    if (!CHECK(c != NULL)) return;
    for (k = 0; k < TEST_SHARED_TYPES; ++k) {
      int32_t size = TVMFFI_I_LOAD(&c->size), other = test_shared_type[k];
      const TVMFFIAny *data = TVMFFI_I_LOAD(&c->data);
      if (other < size && TVMFFI_I_LOAD(&data[other].type_index) == kTVMFFIInt)
        CHECK_INT(data[other].v_int64, other);
      value = tvmffi_none();
      if (tvmffi_i_class_attr(other, test_shared_name[i % TEST_NAMES]))
        value = *tvmffi_i_class_attr(other, test_shared_name[i % TEST_NAMES]);
      CHECK(value.type_index == kTVMFFINone || value.v_int64 == other);
    }
  }
}

static void test_contend_columns(void) {
  int i;
  for (i = 0; i < TEST_SHARED_TYPES; ++i) {
    TVMFFIByteArray key = TEXT(test_fresh("unit.Column"));
    int32_t index = TVMFFITypeGetOrAllocIndex(&key, -1, 1, test_scale(40, 0), 1,
                                              kTVMFFIObject);
    OK(index < 0 ? -1 : 0);
    test_shared_type[i] = index;
  }
  test_share_names("unit_column");
  test_parallel(test_columns_work);
}

/* All register the same fields and methods; some look at what is there. */
static TVMFFIObjectHandle test_shared_method;

static void test_reflection_work(int id) {
  const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(test_shared_type[0]);
  int i, k, n = test_scale(20, 5);
  if (!CHECK(info != NULL)) return;
  for (i = 0; i < n; ++i) {
    char name[2] = {'a', 0};
    TVMFFIFieldInfo f = test_field(name, 24);
    TVMFFIMethodInfo m = test_method(name, tvmffi_obj(test_shared_method));
    TVMFFITypeMetadata metadata;
    int32_t fields = TVMFFI_I_LOAD(&info->num_fields);
    const TVMFFIFieldInfo *field = TVMFFI_I_LOAD(&info->fields);
    name[0] = (char)('a' + (i + id) % n);
    memset((void *)&metadata, 0, sizeof(metadata));
    metadata.doc = TEXT("shared");
    OK(TVMFFITypeRegisterField(test_shared_type[0], &f));
    OK(TVMFFITypeRegisterMethod(test_shared_type[0], &m));
    OK(TVMFFITypeRegisterMetadata(test_shared_type[0], &metadata));
    for (k = 0; k < fields; ++k)
      CHECK(field[k].name.size == 1 && field[k].getter == test_getter);
  }
}

static void test_contend_reflection(void) {
  TVMFFIByteArray key = TEXT(test_fresh("unit.Reflected"));
  const TVMFFITypeInfo *info;
  test_shared_type[0] =
      TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject);
  OK(test_shared_type[0] < 0 ? -1 : 0);
  OK(TVMFFIFunctionCreate(NULL, test_echo_callback, NULL, &test_shared_method));
  OWN(test_shared_method);
  test_parallel(test_reflection_work);
  info = TVMFFIGetTypeInfo(test_shared_type[0]);
  if (test_hits() || !CHECK(info != NULL)) return;
  CHECK_INT(info->num_fields, test_scale(20, 5));
  CHECK_INT(info->num_methods, test_scale(20, 5));
  CHECK_INT(test_strong(test_shared_method), 1 + test_scale(20, 5));
}
#endif

#if !TVMFFI_NO_BACKTRACE
static char test_code_bytes[512];
static void test_frames_work(int id) {
  int i, n = test_rounds(8);
  for (i = 0; i < n; ++i) {
    uintptr_t address =
        (uintptr_t)&test_code_bytes[(i * 7 + id) %
                                    (int)sizeof(test_code_bytes)];
    tvmffi_i_frame *frame = tvmffi_i_name_frame(address);
    const TVMFFIByteArray *t = TVMFFIBacktrace("f.c", i, "g", id % 2);
    if (test_hits()) continue;
    if (CHECK(frame != NULL)) CHECK(frame->address == address);
    CHECK(test_contains(*t, ", in g\n"));
  }
}
static void test_contend_frames(void) { test_parallel(test_frames_work); }
#endif

static void *test_first_handle, *test_second_handle;
static size_t test_inits;
static int test_made_handle;

static int test_init_second(void **result) {
  (void)test_add(&test_inits, 1);
  *result = &test_made_handle;
  return 0;
}

/* The other order at the same time: one of the two is told, and does without.
 */
static int test_init_with(void **result, void **other,
                          int (*init)(void **result)) {
  (void)sched_yield();
  if (TVMFFIHandleInitOnce(other, init)) tvmffi_error_clear();
  return test_init_second(result);
}
static int test_init_first_then_second(void **result) {
  return test_init_with(result, &test_second_handle, test_init_second);
}
static int test_init_second_then_first(void **result) {
  return test_init_with(result, &test_first_handle, test_init_second);
}

static void test_init_work(int id) {
  int first = id % 2;
  OK(TVMFFIHandleInitOnce(
      first ? &test_first_handle : &test_second_handle,
      first ? test_init_first_then_second : test_init_second_then_first));
  OK(TVMFFIHandleInitOnce(first ? &test_second_handle : &test_first_handle,
                          test_init_second));
}

static void test_contend_init(void) {
  int i, n = test_scale(50, 2);
  for (i = 0; i < n; ++i) {
    test_first_handle = test_second_handle = NULL;
    test_inits = 0;
    test_parallel(test_init_work);
    if (test_hits()) continue;
    CHECK_INT(test_inits, 2);
    CHECK(test_first_handle && test_second_handle);
  }
}

#if !TEST_NO_TENSORS
static int test_contended_of(const DLTensor *x, const DLTensor *y) {
  TVMFFI_EXPECT((x, "float64|float32[n] cpu"), (y, "same[n] cpu"));
  return 0;
}

/* All come first to the same text. */
static void test_expect_work(int id) {
  test_matrix x;
  (void)test_make_matrix(&x, 1, id + 1, 0, 0);
  if (test_code(test_contended_of(&x.t, &x.t), __FILE__, __LINE__, "")) return;
  x.t.ndim = 0;
  FAILS(test_contended_of(&x.t, &x.t), "ValueError", NULL);
}
static void test_contend_expect(void) { test_parallel(test_expect_work); }
#endif

static TVMFFIObject *test_shared_object;

static void test_counts_work(int id) {
  int i, n = test_rounds(1) * 4;
  (void)id;
  for (i = 0; i < n; ++i) {
    tvmffi_retain(test_shared_object);
    tvmffi_weak_retain(test_shared_object);
    CHECK(tvmffi_weak_lock(test_shared_object));
    tvmffi_release(test_shared_object);
    tvmffi_weak_release(test_shared_object);
    tvmffi_release(test_shared_object);
  }
}

#if !TVMFFI_NO_TYPES
/* A process that forks has a child that can use the runtime. */
static void test_fork(void) {
#if defined(__unix__)
  const char *text = test_fresh("unit.fork");
  TVMFFIByteArray key = TEXT(text);
  int32_t index = 0;
  int status = -1;
  pid_t child;
  tvmffi_i_lock(); /* the first time is when the runtime asks to be told */
  tvmffi_i_unlock();
  fflush(stdout); /* or the child's end may write it, too */
  child = fork();
  if (child < 0) return; /* a system that has only one process */
  if (!child) {
    index = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject);
    _exit(index > 0 || test_hits() ? 0 : 1);
  }
  CHECK(waitpid(child, &status, 0) == child);
  CHECK_INT(status, 0);
  index = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject);
  OK(index > 0 ? 0 : -1);
#endif
}
#endif

/* AddressSanitizer's allocator does not survive such a fork. */
#if TVMFFI_I_FORK && defined(__unix__) && !defined(TEST_ASAN)
#define TEST_FORKS 1
/* The same while other threads make objects and look functions up. */
static size_t test_forks_are_over;

static void test_use_runtime(void) {
  TVMFFIByteArray name = TEXT("ffi.Bytes"),
                  text = TEXT("a string of an object");
  TVMFFIObjectHandle function = NULL;
  TVMFFIAny any = tvmffi_none();
  OK(TVMFFIStringFromByteArray(&text, &any));
  tvmffi_any_release(&any);
  OK(TVMFFIFunctionGetGlobal(&name, &function));
  if (function) tvmffi_release(function);
}

static void test_forking_work(int id) {
  int i, status, n = test_scale(20, 2);
  for (i = 0; !id && i < n; ++i) {
    pid_t child = fork();
    if (child < 0) break;
    if (!child) {
      alarm(10);
      test_use_runtime();
      _exit(0);
    }
    status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    if (!CHECK_INT(status, 0)) break;
  }
  if (!id) (void)test_add(&test_forks_are_over, 1);
  while (!test_get(&test_forks_are_over)) test_use_runtime();
}

static void test_contend_fork(void) {
  test_forks_are_over = 0;
  fflush(stdout);
  test_parallel(test_forking_work);
}
#endif

#if !TVMFFI_NO_TYPES
/* Types of one file that are initialised at once are all in its list. */
enum { TEST_LISTED = 100 };
static tvmffi_i_class test_listed[TEST_THREADS][TEST_LISTED];

static void test_list_work(int id) {
  int i;
  for (i = 0; i < TEST_LISTED; ++i) tvmffi_i_class_list(&test_listed[id][i]);
}

static void test_contend_list(void) {
  void *before = *tvmffi_i_classes();
  int n = 0;
  const tvmffi_i_class *c;
  test_parallel(test_list_work);
  tvmffi_i_class_list(&test_listed[0][0]); /* it is there, and stays there */
  c = (const tvmffi_i_class *)*tvmffi_i_classes();
  for (; c && c != before && n <= TEST_THREADS * TEST_LISTED; c = c->next) ++n;
  CHECK(c == before);
  CHECK_INT(n, test_scale(TEST_THREADS, 2) * TEST_LISTED);
  *tvmffi_i_classes() = before;
}

#define TEST_STARTED(i)                                        \
  typedef struct {                                             \
    TVMFFIObject base;                                         \
    int64_t a;                                                 \
  } TestStarted##i;                                            \
  TVMFFI_TYPE(TestStarted##i, "unit.Started" #i, TVMFFIObject, \
              (field, int64, a))
TEST_STARTED(0)
TEST_STARTED(1)
TEST_STARTED(2)
TEST_STARTED(3)

static void test_start_work(int id) {
  switch (id % 4) {
    case 0: OK(tvmffi_type_index(TestStarted0) < 0 ? -1 : 0); break;
    case 1: OK(tvmffi_type_index(TestStarted1) < 0 ? -1 : 0); break;
    case 2: OK(tvmffi_type_index(TestStarted2) < 0 ? -1 : 0); break;
    default: OK(tvmffi_type_index(TestStarted3) < 0 ? -1 : 0); break;
  }
}
static void test_contend_start(void) { test_parallel(test_start_work); }
#endif

static void test_contend_counts(void) {
  TVMFFIByteArray text = TEXT("a shared string");
  TVMFFIAny any;
  OK(TVMFFIStringFromByteArray(&text, &any));
  OWN_ANY(any);
  test_shared_object = any.v_obj;
  test_parallel(test_counts_work);
  CHECK(test_strong(any.v_obj) == 1 && test_weak(any.v_obj) == 1);
}

/* Weak references are locked while the last strong one goes. */
enum { TEST_SHARED_OBJECTS = 500 };
static TVMFFIObjectHandle test_shared_objects[TEST_SHARED_OBJECTS];
static size_t test_deleted, test_num_shared;

static void test_shared_deleter(void *handle) {
  (void)handle;
  (void)test_add(&test_deleted, 1);
}

static void test_weak_work(int id) {
  size_t i;
  for (i = 0; i < test_num_shared; ++i) {
    TVMFFIObjectHandle o = test_shared_objects[i];
    if (id == 0) {
      tvmffi_release(o);
    } else if (tvmffi_weak_lock(o)) {
      CHECK(TVMFFIOpaqueObjectGetCellPtr(o)->handle == &test_deleted);
      tvmffi_release(o);
    }
    tvmffi_weak_release(o);
  }
}

static void test_contend_weak(void) {
  int i, k, n = test_scale(TEST_SHARED_OBJECTS, 2);
  int threads = test_scale(TEST_THREADS, 2);
  test_deleted = 0;
  test_num_shared = 0;
  for (i = 0; i < n; ++i) {
    TVMFFIObjectHandle o = NULL;
    if (test_code(TVMFFIObjectCreateOpaque(&test_deleted, kTVMFFIOpaquePyObject,
                                           test_shared_deleter, &o),
                  __FILE__, __LINE__, "TVMFFIObjectCreateOpaque "))
      break;
    for (k = 0; k < threads; ++k) tvmffi_weak_retain(o);
    test_shared_objects[test_num_shared++] = o;
  }
  test_parallel(test_weak_work);
  CHECK_INT(test_deleted, test_num_shared);
}

/* A thread's error, streams and trace go with it. */
static void test_exit_work(int id) {
  if (id % 4 == 0) {
    TVMFFIErrorSetRaisedFromCStr("ValueError", "left behind");
  } else if (id % 4 == 1) {
    if (TVMFFIEnvSetStream(kDLCUDA, id, &test_deleted, NULL)) return;
    CHECK(TVMFFIEnvGetStream(kDLCUDA, id) == &test_deleted);
  } else if (id % 4 == 2) {
    (void)TVMFFIBacktrace("f.c", id, "g", 0);
  } else {
    (void)TVMFFI_RAISE("ValueError", "left behind by thread %d", id);
  }
}

static void test_thread_exit(void) {
  size_t before;
  test_parallel(test_exit_work); /* names the frames */
  before = test_get(&test_live);
  test_parallel(test_exit_work);
  if (!test_hits() && !TVMFFI_DEBUG) CHECK_INT(test_get(&test_live), before);
  CHECK(tvmffi_error_take() == NULL);
}

#if TVMFFI_I_POOL
static TVMFFIObjectHandle test_pool_kept[TEST_THREADS][4];

/* Releases what the main thread made, and leaves it as much. */
static void test_pool_work(int id) {
  tvmffi_i_thread *t = tvmffi_i_self();
  size_t i;
  CHECK(!t->pool_room && !t->pool_state);
  for (i = 0; i < 4; ++i) {
    tvmffi_release(test_pool_kept[id][i]);
    test_pool_kept[id][i] = NULL;
  }
  CHECK(t->pool_room > 0 && t->pool_room < TVMFFI_I_POOL_THREAD);
  for (i = 0; i < 4; ++i)
    (void)TVMFFIFunctionCreate(NULL, test_echo_callback, NULL,
                               &test_pool_kept[id][i]);
  if (id % 2) return;
  tvmffi_i_thread_exit(t);
  tvmffi_release(test_pool_kept[id][0]);
  test_pool_kept[id][0] = NULL;
  CHECK(!t->pool_room &&
        !t->pool[tvmffi_i_pool_class(sizeof(tvmffi_i_function_object))]);
}

/* A block goes to whoever frees it, and a thread gives back all at its end;
   from then on it keeps nothing. */
static void test_pool_threads(void) {
  size_t live = test_get(&test_live);
  int id, i;
  if (test_oom) return;
  test_set_pool(1);
  for (id = 0; id < TEST_THREADS; ++id)
    for (i = 0; i < 4; ++i)
      OK(TVMFFIFunctionCreate(NULL, test_echo_callback, NULL,
                              &test_pool_kept[id][i]));
  test_parallel(test_pool_work);
  for (id = 0; id < TEST_THREADS; ++id)
    for (i = 0; i < 4; ++i) tvmffi_release(test_pool_kept[id][i]);
  test_set_pool(0);
  CHECK_INT(test_get(&test_live), live);
}
#endif
#endif

/* ======== Arrays and lists ================================================ */
#if !TEST_NO_ARRAYS && !TVMFFI_NO_CONTAINERS

#define DO(name, ...) \
  tvmffi_call(tvmffi_str("ffi." name), tvmffi_out_any(NULL), __VA_ARGS__)

/* A sequence of views, which the test owns; NULL when memory is refused. */
static TVMFFIObject *test_sequence(const char *name, TVMFFIAny *views, int n) {
  TVMFFIAny result = tvmffi_none();
  TVMFFIObject *make = test_global(name);
  if (!make || test_code(TVMFFIFunctionCall(make, views, n, &result), __FILE__,
                         __LINE__, name))
    return NULL;
  OWN_ANY(result);
  return result.v_obj;
}

#define SEQUENCE(variable, name, views, n)                       \
  TVMFFIObject *variable = test_sequence("ffi." name, views, n); \
  if (!variable) return

static TVMFFISeqCell *test_cell(TVMFFIObject *o) {
  return (TVMFFISeqCell *)(void *)(o + 1);
}

/* An object that says `letter` at its end; owned by the caller. */
static TVMFFIObject *test_letter(char letter) {
  static char letters[128];
  TVMFFIObjectHandle o = NULL;
  char *at = &letters[(int)letter];
  *at = letter;
  (void)test_code(
      TVMFFIObjectCreateOpaque(at, kTVMFFIOpaquePyObject, test_say_deleter, &o),
      __FILE__, __LINE__, "TVMFFIObjectCreateOpaque ");
  return (TVMFFIObject *)o;
}

/* A list of objects that say "abc..."; NULL when memory is refused, and then
   nothing is said. */
static TVMFFIObject *test_letter_list(int n) {
  TVMFFIObject *list = test_sequence("ffi.List", NULL, 0);
  int i, failed = !list;
  for (i = 0; i < n && !failed; ++i) {
    TVMFFIObject *o = test_letter((char)('a' + i));
    failed = !o || test_code(DO("ListAppend", tvmffi_obj(list), tvmffi_obj(o)),
                             __FILE__, __LINE__, "ffi.ListAppend ");
    tvmffi_release(o);
  }
  if (!failed) return list;
  if (list) test_drop(list);
  test_log_size = 0;
  return NULL;
}

/* The items as text: digits, letters of objects, '.' for None. */
static TVMFFIByteArray test_items(TVMFFIObject *o) {
  static char text[64];
  TVMFFISeqCell *c = test_cell(o);
  int64_t i;
  for (i = 0; i < c->size && i < 63; ++i) {
    TVMFFIAny *item = (TVMFFIAny *)c->data + i;
    text[i] = '?';
    if (item->type_index == kTVMFFINone) text[i] = '.';
    if (item->type_index == kTVMFFIInt) text[i] = (char)('0' + item->v_int64);
    if (item->type_index == kTVMFFIOpaquePyObject)
      text[i] = *(char *)TVMFFIOpaqueObjectGetCellPtr(item->v_obj)->handle;
  }
  return test_bytes(text, (size_t)c->size);
}

#define CHECK_ITEMS(o, want)                                              \
  test_equal_bytes(test_items(o), want, strlen(want), __FILE__, __LINE__, \
                   "the items are")

/* The items of an array stand behind its head and are owned. */
static void test_array_layout(void) {
  TVMFFIAny views[4];
  TVMFFIByteArray text = TEXT("some text that is long");
  SEQUENCE(none, "Array", NULL, 0);
  CHECK(test_cell(none)->size == 0 && test_cell(none)->capacity == 0);
  views[0] = tvmffi_int(7);
  views[1] = tvmffi_str("short");
  views[2] = tvmffi_str(text.data);
  views[3] = tvmffi_obj(none);
  {
    SEQUENCE(array, "Array", views, 4);
    TVMFFISeqCell *c = test_cell(array);
    TVMFFIAny *items = (TVMFFIAny *)c->data;
    CHECK(array->type_index == kTVMFFIArray);
    CHECK(c->data == (void *)(c + 1) && !c->data_deleter);
    CHECK(c->size == 4 && c->capacity == 4);
    CHECK(test_is_clean(&items[0]) && items[0].v_int64 == 7);
    CHECK(test_is_clean(&items[1]) && items[1].type_index == kTVMFFISmallStr);
    CHECK(test_is_clean(&items[2]) && items[2].type_index == kTVMFFIStr);
    CHECK(test_strong(items[2].v_obj) == 1);
    CHECK(test_strong(none) == 2);
    test_drop(array);
    CHECK(test_strong(none) == 1);
  }
}

/* An array of None that the runtime fills before others see it. */
static void test_new_array(void) {
  TVMFFIAny *items = NULL;
  TVMFFIObject *array = tvmffi_i_new_array(3, &items);
  OK(array ? 0 : -1);
  OWN(array);
  CHECK_ITEMS(array, "...");
  items[1] = tvmffi_int(1);
  CHECK_ITEMS(array, ".1.");
  FAILS(tvmffi_i_new_array(INT64_MAX / 16, &items) == NULL, "MemoryError",
        NULL);
  FAILS(tvmffi_i_new_list(INT64_MAX / 16) == NULL, "MemoryError", NULL);
}

static void test_array_access(void) {
  TVMFFIAny views[2];
  int64_t number = 0;
  TVMFFIAny any = tvmffi_int(kTVMFFIArray);
  views[0] = tvmffi_int(5);
  views[1] = tvmffi_str("a text that is long");
  {
    SEQUENCE(array, "Array", views, 2);
    OK(tvmffi_call(tvmffi_str("ffi.ArraySize"), tvmffi_out_int64(&number),
                   tvmffi_obj(array)));
    CHECK_INT(number, 2);
    OK(tvmffi_call(tvmffi_str("ffi.ArrayGetItem"), tvmffi_out_int64(&number),
                   tvmffi_obj(array), tvmffi_int(0)));
    CHECK_INT(number, 5);
    OK(tvmffi_call(tvmffi_str("ffi.ArrayGetItem"), tvmffi_out_any(&any),
                   tvmffi_obj(array), tvmffi_int(1)));
    OWN_ANY(any);
    CHECK_INT(test_strong(any.v_obj), 2);
    FAILS(DO("ArrayGetItem", tvmffi_obj(array), tvmffi_int(2)), "IndexError",
          "Index 2 out of bounds 2");
    FAILS(DO("ArrayGetItem", tvmffi_obj(array), tvmffi_int(-1)), "IndexError",
          "Index -1 out of bounds 2");
    FAILS(DO("ArrayGetItem", tvmffi_obj(array), tvmffi_str("1")), "TypeError",
          "Mismatched type on argument #1 when calling: `ffi.ArrayGetItem(0: "
          "ffi.Array, 1: int) -> Any`. Expected `int` but got `const char*`");
    FAILS(DO("ListGetItem", tvmffi_obj(array), tvmffi_int(1)), "TypeError",
          "Mismatched type on argument #0 when calling: `ffi.ListGetItem(0: "
          "ffi.List, 1: int) -> Any`. Expected `ffi.List` but got "
          "`ffi.Array`");
  }
}

/* Room for four, then twice as much, or what it takes. */
static void test_list_growth(void) {
  int64_t i, room = 4;
  SEQUENCE(list, "List", NULL, 0);
  TVMFFISeqCell *c = test_cell(list);
  CHECK(c->size == 0 && c->capacity == 4 && c->data_deleter);
  for (i = 0; i < 9; ++i) {
    OK(DO("ListAppend", tvmffi_obj(list), tvmffi_int(i)));
    if (i == room) room *= 2;
    CHECK_INT(c->capacity, room);
  }
  CHECK_ITEMS(list, "012345678");
  OK(DO("ListReserve", tvmffi_obj(list), tvmffi_int(3)));
  CHECK_INT(c->capacity, 16);
  OK(DO("ListReserve", tvmffi_obj(list), tvmffi_int(21)));
  CHECK_INT(c->capacity, 21);
  OK(DO("ListReplaceSlice", tvmffi_obj(list), tvmffi_int(9), tvmffi_int(9),
        tvmffi_obj(list)));
  CHECK_INT(c->capacity, 21);
  OK(DO("ListClear", tvmffi_obj(list)));
  CHECK(c->size == 0 && c->capacity == 21);
  FAILS(DO("ListReserve", tvmffi_obj(list), tvmffi_int(INT64_MAX)),
        "MemoryError", NULL);
  FAILS(DO("ListReserve", tvmffi_obj(list), tvmffi_int(INT64_MAX / 16)),
        "MemoryError", NULL);
  CHECK_INT(c->capacity, 21);
}

/* What goes is released, the rest moves. */
static void test_list_edit(void) {
  TVMFFIAny any = tvmffi_none();
  TVMFFIObject *list = test_letter_list(6);
  if (!list) return;
  CHECK_ITEMS(list, "abcdef");
  if (!test_code(DO("ListReverse", tvmffi_obj(list)), __FILE__, __LINE__, "1"))
    CHECK_ITEMS(list, "fedcba");
  if (!test_code(DO("ListErase", tvmffi_obj(list), tvmffi_int(1)), __FILE__,
                 __LINE__, "2")) {
    CHECK_LOG("e");
    CHECK_ITEMS(list, "fdcba");
    if (!test_code(DO("ListEraseRange", tvmffi_obj(list), tvmffi_int(1),
                      tvmffi_int(3)),
                   __FILE__, __LINE__, "3")) {
      CHECK_LOG("dc");
      CHECK_ITEMS(list, "fba");
    }
  }
  test_log_size = 0;
  if (!test_code(
          DO("ListInsert", tvmffi_obj(list), tvmffi_int(1), tvmffi_int(7)),
          __FILE__, __LINE__, "4"))
    CHECK_INT(((TVMFFIAny *)test_cell(list)->data)[1].v_int64, 7);
  if (!test_code(
          DO("ListSetItem", tvmffi_obj(list), tvmffi_int(0), tvmffi_int(8)),
          __FILE__, __LINE__, "5")) {
    CHECK_LOG(test_hits() ? test_log : "f");
  }
  test_log_size = 0;
  if (!test_code(tvmffi_call(tvmffi_str("ffi.ListPop"), tvmffi_out_any(&any),
                             tvmffi_obj(list), tvmffi_int(2)),
                 __FILE__, __LINE__, "6")) {
    CHECK_LOG("");
    tvmffi_any_release(&any);
  }
  test_drop(list);
  test_log_size = 0;
}

static void test_list_slices(void) {
  TVMFFIAny views[3];
  views[0] = tvmffi_int(7);
  views[1] = tvmffi_int(8);
  views[2] = tvmffi_int(9);
  {
    SEQUENCE(list, "List", views, 3);
    SEQUENCE(array, "Array", views, 2);
    SEQUENCE(none, "List", NULL, 0);
    OK(DO("ListReplaceSlice", tvmffi_obj(list), tvmffi_int(1), tvmffi_int(2),
          tvmffi_obj(array)));
    CHECK_ITEMS(list, "7789");
    OK(DO("ListReplaceSlice", tvmffi_obj(list), tvmffi_int(0), tvmffi_int(3),
          tvmffi_obj(none)));
    CHECK_ITEMS(list, "9");
    OK(DO("ListReplaceSlice", tvmffi_obj(list), tvmffi_int(0), tvmffi_int(0),
          tvmffi_obj(array)));
    CHECK_ITEMS(list, "789");
    OK(DO("ListReplaceSlice", tvmffi_obj(list), tvmffi_int(1), tvmffi_int(2),
          tvmffi_obj(list)));
    CHECK_ITEMS(list, "77899");
    OK(DO("ListEraseRange", tvmffi_obj(list), tvmffi_int(9), tvmffi_int(9)));
    FAILS(DO("ListReplaceSlice", tvmffi_obj(list), tvmffi_int(3), tvmffi_int(1),
             tvmffi_obj(none)),
          "IndexError", "Erase range [3, 1) out of bounds 5");
    FAILS(DO("ListReplaceSlice", tvmffi_obj(list), tvmffi_int(6), tvmffi_int(6),
             tvmffi_obj(array)),
          "IndexError", "Index 6 out of bounds [0, 5]");
    FAILS(DO("ListEraseRange", tvmffi_obj(list), tvmffi_int(0), tvmffi_int(6)),
          "IndexError", "Erase range [0, 6) out of bounds 5");
    CHECK_ITEMS(list, "77899");
  }
}

static void test_list_bad_indices(void) {
  SEQUENCE(list, "List", NULL, 0);
  FAILS(DO("ListGetItem", tvmffi_obj(list), tvmffi_int(0)), "IndexError",
        "Index 0 out of bounds 0");
  FAILS(DO("ListPop", tvmffi_obj(list), tvmffi_int(-1)), "IndexError",
        "Index -1 out of bounds 0");
  FAILS(DO("ListErase", tvmffi_obj(list), tvmffi_int(0)), "IndexError",
        "Index 0 out of bounds 0");
  FAILS(DO("ListSetItem", tvmffi_obj(list), tvmffi_int(0), tvmffi_int(0)),
        "IndexError", "Index 0 out of bounds 0");
  FAILS(DO("ListInsert", tvmffi_obj(list), tvmffi_int(1), tvmffi_int(0)),
        "IndexError", "Index 1 out of bounds [0, 0]");
  FAILS(DO("ListInsert", tvmffi_obj(list), tvmffi_int((int64_t)1 << 60),
           tvmffi_int(0)),
        "IndexError", "Index 1152921504606846976 out of bounds [0, 0]");
  FAILS(DO("ListAppend", tvmffi_none(), tvmffi_int(0)), "TypeError",
        "Mismatched type on argument #0 when calling: `ffi.ListAppend(0: "
        "List<Any>, 1: Any) -> void`. Expected `List<Any>` but got `None`");
  FAILS(DO("ListAppend", tvmffi_obj(list),
           tvmffi_i_pointer(kTVMFFIObjectRValueRef, NULL)),
        "InternalError", "RValueRef already moved");
  FAILS(DO("ListAppend", tvmffi_obj(list), tvmffi_i_pointer(kTVMFFIStr, NULL)),
        "ValueError", NULL);
  CHECK_ITEMS(list, "");
}

/* Where a list is expected an array is a copy of one. */
static void test_array_for_list(void) {
  TVMFFIAny views[3], any = tvmffi_none();
  views[0] = tvmffi_int(7);
  views[1] = tvmffi_int(8);
  {
    SEQUENCE(array, "Array", views, 2);
    OK(DO("ListAppend", tvmffi_obj(array), tvmffi_int(9)));
    OK(DO("ListSetItem", tvmffi_obj(array), tvmffi_int(0), tvmffi_int(9)));
    OK(DO("ListInsert", tvmffi_obj(array), tvmffi_int(0), tvmffi_int(9)));
    OK(DO("ListErase", tvmffi_obj(array), tvmffi_int(0)));
    OK(DO("ListEraseRange", tvmffi_obj(array), tvmffi_int(0), tvmffi_int(2)));
    OK(DO("ListReplaceSlice", tvmffi_obj(array), tvmffi_int(0), tvmffi_int(2),
          tvmffi_obj(array)));
    OK(DO("ListReverse", tvmffi_obj(array)));
    OK(DO("ListReserve", tvmffi_obj(array), tvmffi_int(9)));
    OK(DO("ListClear", tvmffi_obj(array)));
    OK(tvmffi_call(tvmffi_str("ffi.ListPop"), tvmffi_out_any(&any),
                   tvmffi_obj(array), tvmffi_int(1)));
    CHECK_INT(any.v_int64, 8);
    CHECK_ITEMS(array, "78");
    CHECK_INT(test_strong(array), 1);
  }
}

/* A list may hold itself; taking itself out ends it. */
static void test_list_of_itself(void) {
  SEQUENCE(list, "List", NULL, 0);
  OK(DO("ListAppend", tvmffi_obj(list), tvmffi_obj(list)));
  CHECK_INT(test_strong(list), 2);
  if (test_code(
          DO("ListInsert", tvmffi_obj(list), tvmffi_int(0), tvmffi_obj(list)),
          __FILE__, __LINE__, "ffi.ListInsert ") == 0)
    CHECK_INT(test_strong(list), 3);
  while (test_cell(list)->size > 0) { /* a call could fail here */
    TVMFFIAny *items = (TVMFFIAny *)test_cell(list)->data;
    tvmffi_any_release(&items[--test_cell(list)->size]);
  }
  CHECK_INT(test_strong(list), 1);
}

/* With a weak reference left, the items go and the memory stays. */
static void test_list_weak(void) {
  TVMFFIObject *list = test_letter_list(2);
  if (!list) return;
  tvmffi_weak_retain(list);
  test_drop(list);
  CHECK_LOG("ab");
  CHECK(!tvmffi_weak_lock(list));
  tvmffi_weak_release(list);
  CHECK_LOG("");
}

/* Clients replace the block of a list; who made it frees it. */
static void test_foreign_delete(void *block) {
  test_say('F');
  TVMFFI_FREE(block);
}

static void test_foreign_blocks(void) {
  const size_t size = 2 * sizeof(TVMFFIAny);
  SEQUENCE(list, "List", NULL, 0);
  TVMFFISeqCell *c = test_cell(list);
  void (*ours)(void *) = c->data_deleter;
  void *block = TVMFFI_MALLOC(size);
  if (!block) return;
  ours(c->data); /* as C++ grows a list: the deleter stays */
  c->data = block;
  c->capacity = 2;
  block = TVMFFI_MALLOC(size);
  if (!block) return;
  ours(c->data); /* as a list that C++ made: with its own deleter */
  c->data = block;
  c->data_deleter = test_foreign_delete;
  OK(DO("ListAppend", tvmffi_obj(list), tvmffi_int(1)));
  OK(DO("ListAppend", tvmffi_obj(list), tvmffi_int(2)));
  CHECK_LOG("");
  if (!test_code(DO("ListAppend", tvmffi_obj(list), tvmffi_int(3)), __FILE__,
                 __LINE__, "ffi.ListAppend ")) {
    CHECK_LOG("F");
    CHECK_ITEMS(list, "123");
    CHECK(c->data_deleter == ours);
  }
  test_drop(list);
  test_log_size = 0;
}

/* An item whose end changes the list that it was in. */
static TVMFFIObject *test_changed_list;
static int test_change;
static void test_changing_deleter(void *handle) {
  TVMFFIAny list;
  (void)handle;
  if (test_change < 0) return; /* the thread's error stays */
  list = tvmffi_obj(test_changed_list);
  if (test_change == 0) (void)!DO("ListClear", list);
  if (test_change == 1) (void)!DO("ListAppend", list, tvmffi_int(1));
  if (test_change == 2) (void)!DO("ListReserve", list, tvmffi_int(1000));
  if (test_change == 3) (void)!DO("ListErase", list, tvmffi_int(0));
  tvmffi_error_clear();
}

static void test_changing_items(void) {
  int change, i, k;
  for (change = 0; change < 4; ++change) {
    for (k = 0; k < 4; ++k) {
      SEQUENCE(list, "List", NULL, 0);
      TVMFFIAny any = tvmffi_obj(list);
      for (i = 0; i < 5; ++i) {
        TVMFFIObjectHandle o = NULL;
        int code;
        test_change = -1;
        OK(TVMFFIObjectCreateOpaque(NULL, kTVMFFIOpaquePyObject,
                                    test_changing_deleter, &o));
        code = DO("ListAppend", any, tvmffi_obj(o));
        tvmffi_release(o);
        OK(code);
      }
      test_change = change;
      test_changed_list = list;
      if (k == 0)
        (void)!DO("ListSetItem", any, tvmffi_int(4), tvmffi_int(0));
      else if (k == 1)
        (void)!DO("ListEraseRange", any, tvmffi_int(1), tvmffi_int(4));
      else if (k == 2)
        (void)!DO("ListReplaceSlice", any, tvmffi_int(1), tvmffi_int(4), any);
      else
        (void)!DO("ListErase", any, tvmffi_int(2));
      tvmffi_error_clear();
      CHECK(test_cell(list)->size >= 0 &&
            test_cell(list)->size <= test_cell(list)->capacity);
      test_change = -1;
      while (test_cell(list)->size > 0) /* it may hold itself */
        tvmffi_any_release(
            &((TVMFFIAny *)test_cell(list)->data)[--test_cell(list)->size]);
      test_drop(list);
    }
  }
}

/* A nest of lists and arrays is destroyed at any depth. */
static void test_deep_nest(void) {
  int i, n = test_scale(TEST_CHAIN, 50);
  TVMFFIObject *list = test_global("ffi.List"), *array;
  TVMFFIAny last = tvmffi_int(1), next;
  array = list ? test_global("ffi.Array") : NULL;
  if (!array) return;
  for (i = 0; i < n; ++i) {
    next = tvmffi_none();
    if (test_code(TVMFFIFunctionCall(i % 3 ? list : array, &last, 1, &next),
                  __FILE__, __LINE__, "a nest "))
      break;
    tvmffi_any_release(&last);
    last = next;
  }
  tvmffi_any_release(&last);
}

static uint64_t test_hash_of(TVMFFIAny any) {
  uint64_t hash = 0;
  CHECK_INT(tvmffi_i_any_hash(&any, &hash), 0);
  return hash;
}

/* The hashes that the C++ headers give. */
static void test_hashes(void) {
  TVMFFIByteArray large = TEXT("the quic"), small = TEXT("the");
  TVMFFIAny any = tvmffi_none();
  int i;
  CHECK(test_hash_of(tvmffi_none()) == 0x9E3779B9u);
  CHECK(test_hash_of(tvmffi_int(-1)) == 0x9E3779F9u);
  CHECK(test_hash_of(tvmffi_int(INT64_MIN)) == 0x800000009E3779F8u);
  OK(TVMFFIStringFromByteArray(&large, &any));
  OWN_ANY(any);
  CHECK(test_hash_of(any) == 0x1056FDD21u);
  large = TEXT("the quick");
  OK(TVMFFIStringFromByteArray(&large, &any));
  OWN_ANY(any);
  CHECK(test_hash_of(any) == 0xF393D6E9u);
  for (i = 0; i < 2; ++i) {
    tvmffi_i_string *s;
    OK(TVMFFIStringFromByteArray(&small, &any));
    s = tvmffi_i_new_string(3, kTVMFFIStr);
    OK(s ? 0 : -1);
    OWN(s);
    memcpy((char *)(uintptr_t)s->bytes.data, "the", 3);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    CHECK(test_hash_of(any) == test_hash_of(tvmffi_obj(s)));
#endif
    {
      TVMFFIAny heap = tvmffi_obj(s);
      CHECK_INT(tvmffi_i_any_equal(&any, &heap), 1);
      CHECK_INT(tvmffi_i_any_equal(&heap, &any), 1);
      any.type_index = kTVMFFISmallBytes;
      CHECK_INT(tvmffi_i_any_equal(&any, &heap), 0);
      CHECK_INT(tvmffi_i_any_equal(&heap, &any), 0);
    }
  }
}

/* Which values are the same one, as `in` sees it. */
static void test_contained(void) {
  TVMFFIByteArray text = TEXT("a text that is long"), tail = TEXT("abc");
  int64_t words[] = {1, 1};
  TVMFFIByteArray big = test_bytes((const char *)words, sizeof(words));
  TVMFFIAny views[8], other = tvmffi_none();
  tvmffi_type_bool yes = 0;
  int i;
  for (i = 0; i < 8; ++i) views[i] = tvmffi_none();
  views[1] = tvmffi_int(1);
  views[2] = tvmffi_str("abc");
  OK(TVMFFIStringFromByteArray(&text, &views[3]));
  OWN_ANY(views[3]);
  OK(TVMFFIBytesFromByteArray(&text, &views[4]));
  OWN_ANY(views[4]);
  OK(TVMFFIBigIntFromByteArray(&big, &views[5]));
  OWN_ANY(views[5]);
  views[6] = tvmffi_bytes(&tail);
  {
    SEQUENCE(array, "Array", views, 7);
    SEQUENCE(list, "List", views, 7);
#define CONTAINS(any, want)                                              \
  OK(tvmffi_call(tvmffi_str("ffi.ArrayContains"), tvmffi_out_bool(&yes), \
                 tvmffi_obj(array), any));                               \
  CHECK_INT(yes, want);                                                  \
  OK(tvmffi_call(tvmffi_str("ffi.ListContains"), tvmffi_out_bool(&yes),  \
                 tvmffi_obj(list), any));                                \
  CHECK_INT(yes, want)
    for (i = 0; i < 7; ++i) {
      CONTAINS(views[i], 1);
    }
    CONTAINS(tvmffi_bool(1), 0);
    CONTAINS(tvmffi_int(2), 0);
    CONTAINS(tvmffi_str("abd"), 0);
    CONTAINS(tvmffi_str(text.data), 1);
    CONTAINS(tvmffi_bytes(&text), 1);
    CONTAINS(tvmffi_obj(array), 0);
    OK(TVMFFIBigIntFromByteArray(&big, &other));
    OWN_ANY(other);
    CONTAINS(other, 1);
    words[1] = 2;
    OK(TVMFFIBigIntFromByteArray(&big, &other));
    OWN_ANY(other);
    CONTAINS(other, 0);
  }
}

/* Types with an equality and a hash of their own, as C functions and as
   function objects. */
static int64_t test_equal_answer;
static TVMFFIAny test_native_equal(const TVMFFIAny *a, const TVMFFIAny *b) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIByteArray kind = TEXT("KeyError"), text = TEXT("no equality");
  (void)a, (void)b;
  if (test_equal_answer == 2) return tvmffi_str("yes");
  if (test_equal_answer < 0 &&
      TVMFFIErrorCreate(&kind, &text, &text, &error) == 0)
    return tvmffi_obj(error);
  return tvmffi_bool(test_equal_answer != 0);
}
static TVMFFIAny test_native_hash(const TVMFFIAny *a) {
  (void)a;
  return tvmffi_int(test_equal_answer);
}

static void test_own_equality(void) {
  static int32_t native, object, wrong;
  TVMFFIByteArray equal = TEXT("__any_equal__"), hash = TEXT("__any_hash__");
  TVMFFIObject a = TVMFFI_I_ZERO, b = TVMFFI_I_ZERO;
  TVMFFIAny x, y, value;
  TVMFFIObjectHandle f = NULL;
  uint64_t h = 0;
  a.combined_ref_count = b.combined_ref_count = TVMFFI_I_BOTH_ONE;
  if (!wrong) {
    TVMFFIByteArray key;
    if (!native) {
      key = TEXT(test_fresh("test.Native"));
      native = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 0, kTVMFFIObject);
      if (native < 0) native = 0;
    }
    if (native && !object) {
      key = TEXT(test_fresh("test.Function"));
      object = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 0, kTVMFFIObject);
      if (object < 0) object = 0;
    }
    if (native && object) {
      key = TEXT(test_fresh("test.Wrong"));
      wrong = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 0, kTVMFFIObject);
      if (wrong < 0) wrong = 0;
    }
    tvmffi_error_clear();
    if (!wrong) return;
  }
  value = tvmffi_ptr((void *)(uintptr_t)test_native_equal);
  OK(TVMFFITypeRegisterAttr(native, &equal, &value));
  value = tvmffi_ptr((void *)(uintptr_t)test_native_hash);
  OK(TVMFFITypeRegisterAttr(native, &hash, &value));
  a.type_index = b.type_index = native;
  x = tvmffi_obj(&a);
  y = tvmffi_obj(&b);
  test_equal_answer = 1;
  CHECK_INT(tvmffi_i_any_equal(&x, &y), 1);
  CHECK(test_hash_of(x) == test_hash_of(y));
  test_equal_answer = 0;
  CHECK_INT(tvmffi_i_any_equal(&x, &y), 0);
  CHECK_INT(tvmffi_i_any_equal(&x, &x), 1);
  test_equal_answer = 2;
  FAILS(tvmffi_i_any_equal(&x, &y) == -1, "InternalError", "...const char*");
  test_equal_answer = -1;
  if (!test_oom)
    FAILS(tvmffi_i_any_equal(&x, &y) == -1, "KeyError", "no equality");
  if (!test_oom) {
    static int once;
    if (++once == 1) {
      OK(TVMFFIFunctionCreate(&once, test_raise_callback, NULL, &f));
      value = tvmffi_obj(f);
      (void)test_code(TVMFFITypeRegisterAttr(object, &equal, &value), __FILE__,
                      __LINE__, "equal");
      (void)test_code(TVMFFITypeRegisterAttr(object, &hash, &value), __FILE__,
                      __LINE__, "hash");
      tvmffi_release(f);
    }
    a.type_index = b.type_index = object;
    x = tvmffi_obj(&a);
    y = tvmffi_obj(&b);
    FAILS(tvmffi_i_any_equal(&x, &y) == -1, "ValueError",
          "the callback says no");
    FAILS(tvmffi_i_any_hash(&x, &h) == -1, "ValueError",
          "the callback says no");
    a.type_index = b.type_index = wrong;
    x = tvmffi_obj(&a);
    y = tvmffi_obj(&b);
    if (once == 1) CHECK_INT(tvmffi_i_any_equal(&x, &y), 0);
    CHECK(test_hash_of(x) != test_hash_of(y));
    value = tvmffi_int(1);
    OK(TVMFFITypeRegisterAttr(wrong, &equal, &value));
    FAILS(tvmffi_i_any_equal(&x, &y) == -1, "InternalError",
          "a type attribute is expected to be a function but is int");
  }
  CHECK(a.combined_ref_count == TVMFFI_I_BOTH_ONE);
}

/* The same as C functions of before 0.1.15, which give a plain bool or hash;
   what is above a bool in its register is anything. */
#if (defined(__x86_64__) && !defined(_WIN32)) || defined(__AARCH64EL__)
static int64_t test_plain_answer;
static int64_t test_plain_equal(const TVMFFIAny *a, const TVMFFIAny *b) {
  (void)a, (void)b;
  return test_plain_answer;
}
static int64_t test_plain_hash(const TVMFFIAny *a) {
  (void)a;
  return test_plain_answer;
}

static void test_plain_equality(void) {
  static const int64_t hashes[] = {0, 2, 66, 68, -1, 0x100000043, 0x100000001};
  static int32_t plain;
  TVMFFIByteArray equal = TEXT("__any_equal__"), hash = TEXT("__any_hash__");
  TVMFFIByteArray key = TEXT(plain ? "" : test_fresh("test.Plain"));
  TVMFFIObject a = TVMFFI_I_ZERO, b = TVMFFI_I_ZERO;
  TVMFFIAny x, y, value;
  size_t i;
  if (!plain) {
    int32_t index = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 0, kTVMFFIObject);
    OK(index < 0 ? -1 : 0);
    plain = index;
  }
  value = tvmffi_ptr((void *)(uintptr_t)test_plain_equal);
  OK(TVMFFITypeRegisterAttr(plain, &equal, &value));
  value = tvmffi_ptr((void *)(uintptr_t)test_plain_hash);
  OK(TVMFFITypeRegisterAttr(plain, &hash, &value));
  a.combined_ref_count = b.combined_ref_count = TVMFFI_I_BOTH_ONE;
  a.type_index = b.type_index = plain;
  x = tvmffi_obj(&a);
  y = tvmffi_obj(&b);
  for (i = 0; i < 2; ++i) {
    test_plain_answer = (int64_t)i;
    CHECK_INT(tvmffi_i_any_equal(&x, &y), (int)i);
    test_plain_answer |= 0x7FEDCBA987654300;
    CHECK_INT(tvmffi_i_any_equal(&x, &y), (int)i);
  }
  for (i = 0; i < sizeof(hashes) / sizeof(hashes[0]); ++i) {
    test_plain_answer = hashes[i];
    CHECK(test_hash_of(x) ==
          tvmffi_i_hash_combine((uint64_t)(int64_t)plain, (uint64_t)hashes[i]));
  }
}
#else
static void test_plain_equality(void) {}
#endif

#if !TEST_NO_CONTENTION && !TVMFFI_NO_THREADS
/* Any number of threads read an array and a list that nobody changes. */
static TVMFFIAny test_read_array, test_read_list;
static void test_read_work(int id) {
  int i, n = test_rounds(1);
  for (i = 0; i < n; ++i) {
    TVMFFIAny any = tvmffi_none();
    int64_t at = (i + id) % 3;
    OK(tvmffi_call(tvmffi_str("ffi.ArrayGetItem"), tvmffi_out_any(&any),
                   test_read_array, tvmffi_int(at)));
    CHECK(at != 1 || any.type_index == kTVMFFIStr);
    tvmffi_any_release(&any);
    OK(tvmffi_call(tvmffi_str("ffi.ListGetItem"), tvmffi_out_any(&any),
                   test_read_list, tvmffi_int(at)));
    tvmffi_any_release(&any);
    OK(tvmffi_call(tvmffi_str("ffi.ListContains"), tvmffi_out_any(&any),
                   test_read_list, tvmffi_str("c, a text that is long")));
    CHECK_INT(any.v_int64, 1);
  }
}

static void test_contend_reading(void) {
  TVMFFIAny views[3];
  views[0] = tvmffi_int(1);
  views[1] = tvmffi_str("b, a text that is long");
  views[2] = tvmffi_str("c, a text that is long");
  {
    SEQUENCE(array, "Array", views, 3);
    SEQUENCE(list, "List", views, 3);
    test_read_array = tvmffi_obj(array);
    test_read_list = tvmffi_obj(list);
    test_parallel(test_read_work);
    CHECK_INT(test_strong(((TVMFFIAny *)test_cell(list)->data)[1].v_obj), 1);
  }
}
#endif
#endif

/* ======== Maps and dicts ================================================== */
#if !TEST_NO_MAPS && !TVMFFI_NO_CONTAINERS

#define MAP_DO(name, ...) \
  tvmffi_call(tvmffi_str("ffi." name), tvmffi_out_any(NULL), __VA_ARGS__)

/* A dict or map that the test owns; NULL when memory is refused. */
static TVMFFIObject *test_map(int32_t index, int64_t capacity) {
  TVMFFIObject *map = tvmffi_i_new_map(index, capacity);
  if (map)
    test_own(map);
  else
    (void)test_code(-1, __FILE__, __LINE__, "tvmffi_i_new_map ");
  return map;
}

/* What the dicts of the tests are compared with: numbers of keys in order. */
enum { TEST_KEYS = 600 };
typedef struct {
  int key[TEST_KEYS], value[TEST_KEYS], count;
} test_model;

static int test_model_at(const test_model *model, int key) {
  int i = 0;
  while (i < model->count && model->key[i] != key) ++i;
  return i;
}

static void test_model_erase(test_model *model, int i) {
  for (--model->count; i < model->count; ++i) {
    model->key[i] = model->key[i + 1];
    model->value[i] = model->value[i + 1];
  }
}

static void test_model_set(test_model *model, int key, int value, int last) {
  int i = test_model_at(model, key);
  if (i < model->count && last) test_model_erase(model, i);
  if (i == model->count || last) i = model->count++;
  model->key[i] = key;
  model->value[i] = value;
}

/* Key number n as a view into `text`: an integer, or a short or long text. */
static TVMFFIAny test_map_key(int n, char *text) {
  static const char start[] = "a text that is long: ";
  size_t at = 0;
  if (n % 3 == 0) return tvmffi_int(n);
  if (n % 3 == 1) {
    memcpy(text, start, sizeof(start) - 1);
    at = sizeof(start) - 1;
  }
  text[at++] = (char)('a' + n / 26 % 26);
  text[at++] = (char)('a' + n % 26);
  text[at] = 0;
  return tvmffi_str(text);
}

/* The entries are those of the model in order, and each key is found. */
static void test_same_as_model(TVMFFIObject *map, const test_model *model) {
  uint64_t at = tvmffi_i_map_begin(map);
  const tvmffi_i_pair *pair;
  char text[40];
  int i;
  CHECK_INT(tvmffi_i_map_size(map), model->count);
  for (i = 0; i < model->count; ++i) {
    TVMFFIAny key = test_map_key(model->key[i], text), small = key;
    const TVMFFIAny *value = tvmffi_i_map_get(map, &key);
    if (model->key[i] % 3 == 2) OK(TVMFFIAnyViewToOwnedAny(&key, &small));
    CHECK(tvmffi_i_map_get(map, &small) == value);
    pair = tvmffi_i_map_pair(map, at);
    if (!CHECK(pair && value == &pair->value)) return;
    CHECK_INT(value->v_int64, model->value[i]);
    at = tvmffi_i_map_after(map, at);
  }
  CHECK(tvmffi_i_map_pair(map, at) == NULL);
}

static int test_is_row(TVMFFIObject *map) {
  return tvmffi_i_map_is_row((tvmffi_i_map_object *)(void *)map);
}

/* Sets and erases at random. What is refused leaves the dict as it was. */
static void test_random_map(int32_t index, int keys, int steps) {
  TVMFFIObject *map = test_map(index, 0);
  test_model model;
  uint32_t random = 12345;
  char text[40];
  int step, at;
  model.count = 0;
  if (!map) return;
  for (step = 0; step < steps; ++step) {
    TVMFFIAny key, value = tvmffi_int(step);
    int n, code, erase;
    random = random * 1664525u + 1013904223u;
    n = (int)(random >> 8) % keys;
    erase = (random >> 4) % 16 < (step / keys % 2 ? 12u : 4u);
    key = test_map_key(n, text);
    code = erase ? tvmffi_i_map_erase(&map, &key)
                 : tvmffi_i_map_set(&map, &key, &value);
    if (test_code(code, __FILE__, __LINE__, "a change ")) break;
    at = test_model_at(&model, n);
    if (!erase)
      test_model_set(&model, n, step, !test_is_row(map));
    else if (at < model.count)
      test_model_erase(&model, at);
    if (step % 64 == 0) test_same_as_model(map, &model);
  }
  test_same_as_model(map, &model);
}

static void test_small_maps(void) {
  int keys;
  for (keys = 1; keys < 12; ++keys)
    test_random_map(keys % 2 ? kTVMFFIMap : kTVMFFIDict, keys,
                    test_scale(400, 40));
}

static void test_large_maps(void) {
  test_random_map(kTVMFFIDict, TEST_KEYS, test_scale(6000, 700));
  test_random_map(kTVMFFIMap, TEST_KEYS / 4, test_scale(3000, 300));
}

/* A table is as full as it gets, so that chains have to give way and growing
   fails halfway. */
static void test_capacity(void) {
  static const int capacity[] = {0, 1, 3, 4, 5, 7, 8, 100};
  int i, n;
  for (i = 0; i < TEST_COUNT(capacity); ++i) {
    TVMFFIObject *map = test_map(kTVMFFIDict, capacity[i]);
    if (!map) return;
    CHECK(test_is_row(map) == (capacity[i] <= 4));
    for (n = 0; n < 130; ++n) {
      TVMFFIAny key = tvmffi_int(n * 1000);
      OK(tvmffi_i_map_set(&map, &key, &key));
    }
    CHECK_INT(tvmffi_i_map_size(map), 130);
  }
}

static void test_map_functions(void) {
  TVMFFIAny args[4], got = tvmffi_none(), one = tvmffi_int(1);
  TVMFFIObject *make = test_global("ffi.Map"), *map;
  int64_t n = -1;
  if (!make) return;
  args[0] = tvmffi_str("a key that is long");
  args[1] = tvmffi_int(5);
  args[2] = args[0];
  args[3] = tvmffi_int(6);
  FAILS(TVMFFIFunctionCall(make, args, 1, &got), "InternalError",
        "Check failed: args.size() % 2 == 0 (1 vs. 0) : ");
  OK(TVMFFIFunctionCall(make, args, 4, &got));
  OWN_ANY(got);
  map = got.v_obj;
  OK(tvmffi_call(tvmffi_str("ffi.MapSize"), tvmffi_out_int64(&n), got));
  CHECK_INT(n, 1);
  OK(tvmffi_call(tvmffi_str("ffi.MapGetItem"), tvmffi_out_int64(&n), got,
                 args[0]));
  CHECK_INT(n, 6);
  FAILS(MAP_DO("MapGetItem", got, one), "KeyError", "key is not in Map");
  FAILS(MAP_DO("DictGetItem", got, one), "TypeError",
        "Mismatched type on argument #0 when calling: `ffi.DictGetItem(0: "
        "ffi.Dict, 1: Any) -> Any`. Expected `ffi.Dict` but got `ffi.Map`");
  FAILS(MAP_DO("DictClear", one), "TypeError",
        "...`ffi.DictClear(0: Dict<Any, Any>) -> void`. Expected `Dict<Any, "
        "Any>` but got `int`");
  OK(tvmffi_call(tvmffi_str("ffi.MapCount"), tvmffi_out_int64(&n), got, one));
  CHECK_INT(n, 0);
  OK(tvmffi_call(tvmffi_str("ffi.MapGetItemOrMissing"), tvmffi_out_any(&got),
                 tvmffi_obj(map), one));
  CHECK(got.v_obj == &tvmffi_i_invalid_object);
  /* As upstream's, these change a copy of a map. */
  OK(MAP_DO("DictSetItem", tvmffi_obj(map), one, one));
  OK(MAP_DO("DictErase", tvmffi_obj(map), args[0]));
  OK(MAP_DO("DictClear", tvmffi_obj(map)));
  CHECK_INT(tvmffi_i_map_size(map), 1);
}

static void test_dict_functions(void) {
  TVMFFIAny got = tvmffi_none(), one = tvmffi_int(1), dict, list;
  TVMFFIObject *make = test_global("ffi.Dict"),
               *lists = test_global("ffi.List");
  TVMFFIAny pair[2];
  int64_t n = -1;
  if (!make || !lists) return;
  pair[0] = pair[1] = one;
  OK(TVMFFIFunctionCall(make, pair, 2, &got));
  OWN_ANY(got);
  dict = got;
  OK(tvmffi_call(tvmffi_str("ffi.DictSize"), tvmffi_out_int64(&n), dict));
  CHECK_INT(n, 1);
  OK(tvmffi_call(tvmffi_str("ffi.DictCount"), tvmffi_out_int64(&n), dict, one));
  CHECK_INT(n, 1);
  OK(tvmffi_call(tvmffi_str("ffi.DictGetItemOrMissing"), tvmffi_out_int64(&n),
                 dict, one));
  CHECK_INT(n, 1);
  OK(MAP_DO("DictErase", dict, one));
  OK(tvmffi_call(tvmffi_str("ffi.DictGetItemOrMissing"), tvmffi_out_any(&got),
                 dict, one));
  CHECK(got.v_obj == &tvmffi_i_invalid_object);
  OK(tvmffi_call(tvmffi_str("ffi.DictCount"), tvmffi_out_int64(&n), dict, one));
  CHECK_INT(n, 0);
  OK(MAP_DO("DictErase", dict, one));
  OK(MAP_DO("DictSetItem", dict, one, tvmffi_int(2)));
  OK(MAP_DO("DictClear", dict));
  OK(tvmffi_call(tvmffi_str("ffi.DictSize"), tvmffi_out_int64(&n), dict));
  CHECK_INT(n, 0);
  list = tvmffi_none();
  OK(TVMFFIFunctionCall(lists, pair, 2, &list));
  OWN_ANY(list);
  OK(tvmffi_call(tvmffi_str("ffi.ListSize"), tvmffi_out_int64(&n), list));
  CHECK_INT(n, 2);
}

/* The same text is the same key, however it comes. */
static void test_map_views(void) {
  static const char *const texts[] = {"", "short", "1234567", "12345678",
                                      "a text that is rather long, to be sure"};
  TVMFFIObject *map = test_map(kTVMFFIDict, 0);
  int i, n;
  if (!map) return;
  for (n = 0; n < 6; ++n) {
    TVMFFIAny other = tvmffi_int(n);
    for (i = 0; i < TEST_COUNT(texts); ++i) {
      TVMFFIByteArray text = TEXT(texts[i]);
      TVMFFIAny key = tvmffi_str(texts[i]), bytes = tvmffi_bytes(&text);
      TVMFFIAny any, owned = tvmffi_none(), value = tvmffi_int(i);
      TVMFFIAny moved = tvmffi_none();
      tvmffi_i_string *s;
      OK(tvmffi_i_map_set(&map, &key, &value));
      CHECK(tvmffi_i_map_get(map, &bytes) == NULL);
      OK(TVMFFIAnyViewToOwnedAny(&key, &owned));
      OWN_ANY(owned);
      CHECK(tvmffi_i_map_get(map, &owned) == tvmffi_i_map_get(map, &key));
      s = tvmffi_i_new_string(text.size, kTVMFFIStr);
      if (!s) {
        (void)test_code(-1, __FILE__, __LINE__, "a string ");
        return;
      }
      OWN(s);
      memcpy((void *)(s + 1), text.data, text.size);
      any = tvmffi_obj(s);
      CHECK(tvmffi_i_map_get(map, &any) == tvmffi_i_map_get(map, &key));
      moved.type_index = kTVMFFIObjectRValueRef;
      moved.v_ptr = (void *)&any.v_obj;
      CHECK(tvmffi_i_map_get(map, &moved) == tvmffi_i_map_get(map, &key));
      CHECK(tvmffi_i_map_get(map, &key) != NULL);
      OK(tvmffi_i_map_erase(&map, &any));
      CHECK(tvmffi_i_map_get(map, &key) == NULL);
      CHECK(tvmffi_i_map_get(map, &owned) == NULL);
      OK(tvmffi_i_map_set(&map, &any, &value)); /* held in the object */
      CHECK(tvmffi_i_map_get(map, &key) != NULL);
      CHECK(tvmffi_i_map_get(map, &owned) == tvmffi_i_map_get(map, &key));
      OK(tvmffi_i_map_erase(&map, &owned));
      OK(tvmffi_i_map_set(&map, &bytes, &value));
      OK(tvmffi_i_map_erase(&map, &bytes));
    }
    other.zero_padding = 7; /* who leaves something there finds it again */
    OK(tvmffi_i_map_set(&map, &other, &other));
    other.zero_padding = 0;
    CHECK(tvmffi_i_map_get(map, &other) != NULL);
    OK(tvmffi_i_map_set(&map, &other, &other));
  }
  CHECK_INT(tvmffi_i_map_size(map), 6);
}

static void test_bad_map_keys(void) {
  TVMFFIObject *map = test_map(kTVMFFIDict, 0);
  TVMFFIAny key = tvmffi_none(), one = tvmffi_int(1);
  static const int32_t index[] = {kTVMFFIRawStr, kTVMFFIByteArrayPtr,
                                  kTVMFFIStr,    kTVMFFIBytes,
                                  kTVMFFIArray,  kTVMFFIObjectRValueRef};
  int i;
  if (!map) return;
  for (i = 0; i < TEST_COUNT(index); ++i) {
    key.type_index = index[i];
    FAILS(tvmffi_i_map_set(&map, &key, &one) != 0,
          index[i] == kTVMFFIObjectRValueRef ? "InternalError" : "ValueError",
          NULL);
    FAILS(tvmffi_i_map_set(&map, &one, &key) != 0,
          index[i] == kTVMFFIObjectRValueRef ? "InternalError" : "ValueError",
          NULL);
  }
  CHECK_INT(tvmffi_i_map_size(map), 0);
}

/* A map that another holds, too, is copied before it is changed. */
static void test_map_copy_on_write(void) {
  int size, i;
  for (size = 1; size < 20; size += 3) {
    TVMFFIObject *kept = test_map(kTVMFFIMap, 0), *map = kept;
    TVMFFIAny key = tvmffi_int(0);
    if (!map) return;
    for (i = 0; i < size; ++i) {
      key = tvmffi_int(i);
      OK(tvmffi_i_map_set(&map, &key, &key));
      CHECK(map == kept);
    }
    tvmffi_retain(map);
    key = tvmffi_str("one more key");
    if (!test_code(tvmffi_i_map_set(&map, &key, &key), __FILE__, __LINE__,
                   "")) {
      CHECK(map != kept && tvmffi_i_map_size(map) == size + 1);
      CHECK(test_strong(kept) == 1);
    }
    CHECK_INT(tvmffi_i_map_size(kept), size);
    CHECK(tvmffi_i_map_get(kept, &key) == NULL);
    tvmffi_release(map);
  }
}

/* An iterator holds its map, ends where it ends, and bears any change. */
static void test_map_iterators(void) {
  int size, command, i;
  for (size = 0; size < 12; size += 3) {
    TVMFFIObject *map = test_map(kTVMFFIDict, 0);
    TVMFFIAny f = tvmffi_none(), got = tvmffi_none(), key;
    if (!map) return;
    for (i = 0; i < size; ++i) {
      key = tvmffi_int(i);
      OK(tvmffi_i_map_set(&map, &key, &key));
    }
    OK(tvmffi_call(tvmffi_str("ffi.DictForwardIterFunctor"), tvmffi_out_any(&f),
                   tvmffi_obj(map)));
    OWN_ANY(f);
    CHECK_INT(test_strong(map), 2);
    FAILS(tvmffi_call(f, tvmffi_out_any(NULL), tvmffi_str("x")), "TypeError",
          "Mismatched type on argument #0 when calling: `(0: int) -> Any`. "
          "Expected `int` but got `const char*`");
    for (i = 0; i < size; ++i) {
      OK(tvmffi_call(f, tvmffi_out_any(&got), tvmffi_int(i % 2)));
      CHECK_INT(got.v_int64, i);
      OK(tvmffi_call(f, tvmffi_out_any(&got), tvmffi_int(2)));
      CHECK_INT(got.v_int64, i + 1 < size);
    }
    for (command = 0; command < 2; ++command)
      FAILS(tvmffi_call(f, tvmffi_out_any(NULL), tvmffi_int(command)),
            "IndexError", "The iterator is at the end of the map");
    OK(tvmffi_call(f, tvmffi_out_any(&got), tvmffi_int(2)));
    CHECK_INT(got.v_int64, 0);
    OK(tvmffi_call(tvmffi_str("ffi.DictForwardIterFunctor"), tvmffi_out_any(&f),
                   tvmffi_obj(map)));
    OWN_ANY(f);
    for (i = 0; i < 40; ++i) {
      key = tvmffi_int(i * 7 % 20);
      if (i % 3)
        OK(tvmffi_i_map_set(&map, &key, &key));
      else
        OK(tvmffi_i_map_erase(&map, &key));
      if (i == 30) OK(MAP_DO("DictClear", tvmffi_obj(map)));
      for (command = 0; command < 3; ++command)
        if (tvmffi_call(f, tvmffi_out_any(NULL), tvmffi_int(command)))
          tvmffi_error_clear();
    }
  }
}

/* A deleter that uses the dict its object was in. */
static TVMFFIObject *test_used_map;
static void test_use_map(void *handle) {
  TVMFFIAny key = tvmffi_int((int64_t)(intptr_t)handle), value = tvmffi_int(1);
  if (tvmffi_i_map_get(test_used_map, &key)) test_say('!');
  if (tvmffi_i_map_set(&test_used_map, &key, &value) ||
      tvmffi_i_map_erase(&test_used_map, &value))
    tvmffi_error_clear();
}

static int test_fill_with_users(TVMFFIObject *map, int n) {
  int i, failed = 0;
  for (i = 0; i < n && !failed; ++i) {
    TVMFFIAny key = tvmffi_int(i), value;
    TVMFFIObjectHandle o = NULL;
    failed = test_code(
        TVMFFIObjectCreateOpaque((void *)(intptr_t)i, kTVMFFIOpaquePyObject,
                                 test_use_map, &o),
        __FILE__, __LINE__, "an object ");
    if (failed) break;
    value = tvmffi_obj(o);
    failed = test_code(tvmffi_i_map_set(&map, &key, &value), __FILE__, __LINE__,
                       "an entry ");
    tvmffi_release((TVMFFIObject *)o);
  }
  return failed;
}

static void test_map_deleters(void) {
  int n, way, i;
  for (n = 1; n < 40; n += 6) {
    for (way = 0; way < 3; ++way) {
      TVMFFIObject *map = test_map(kTVMFFIDict, 0);
      TVMFFIAny key, value = tvmffi_int(0);
      if (!map) return;
      test_used_map = map;
      if (!test_fill_with_users(map, n)) {
        for (i = 0; i < n && way < 2; ++i) {
          key = tvmffi_int(i);
          if (test_code(way ? tvmffi_i_map_set(&map, &key, &value)
                            : tvmffi_i_map_erase(&map, &key),
                        __FILE__, __LINE__, ""))
            break;
        }
      }
      if (tvmffi_i_map_clear_in((tvmffi_i_map_object *)(void *)map))
        tvmffi_error_clear();
      if (tvmffi_i_map_clear_in((tvmffi_i_map_object *)(void *)map))
        tvmffi_error_clear();
      CHECK_INT(tvmffi_i_map_size(map), 0);
      test_drop(map);
    }
  }
  test_log_size = 0;
}

/* Dicts in dicts, as values and as keys, are destroyed at any depth. */
static void test_deep_maps(void) {
  int i, n = test_scale(TEST_CHAIN, 50);
  TVMFFIAny last = tvmffi_int(1), one = tvmffi_int(1);
  for (i = 0; i < n; ++i) {
    TVMFFIObject *map =
        tvmffi_i_new_map(i % 3 ? kTVMFFIDict : kTVMFFIMap, i % 5 ? 0 : 5);
    int code = -1;
    if (map)
      code = i % 7 ? tvmffi_i_map_set(&map, &one, &last)
                   : tvmffi_i_map_set(&map, &last, &one);
    if (test_code(code, __FILE__, __LINE__, "a nest ")) {
      tvmffi_release(map);
      break;
    }
    tvmffi_any_release(&last);
    last = tvmffi_obj(map);
  }
  tvmffi_any_release(&last);
}

static void test_map_in_itself(void) {
  int size, i;
  for (size = 0; size < 7; ++size) {
    TVMFFIObject *map = test_map(kTVMFFIDict, 0);
    TVMFFIAny self, key = tvmffi_str("itself");
    DLDevice device = {kDLCUDA, 1};
    if (!map) return;
    self = tvmffi_obj(map);
    for (i = 0; i < size; ++i) {
      TVMFFIAny n = tvmffi_int(i);
      OK(tvmffi_i_map_set(&map, &n, &n));
    }
    OK(tvmffi_i_map_set(&map, &key, &self));
    if (!test_code(tvmffi_i_map_set(&map, &self, &self), __FILE__, __LINE__,
                   "")) {
      CHECK(tvmffi_i_map_get(map, &self)->v_obj == map);
      if (!test_code(
              tvmffi_call(tvmffi_str("ffi.ContainerFindFirstNonCPUDevice"),
                          tvmffi_out_device(&device), self),
              __FILE__, __LINE__, ""))
        CHECK(device.device_type == kDLCPU && device.device_id == 0);
    }
    CHECK_INT(tvmffi_i_map_erase(&map, &self), 0);
    CHECK_INT(tvmffi_i_map_erase(&map, &key), 0);
    CHECK(test_strong(map) == 1 && tvmffi_i_map_size(map) == size);
  }
}

/* A type whose hash and equality fail, change the map, or say the same of
   all. */
enum { TEST_HOOK_GOOD, TEST_HOOK_FAILS, TEST_HOOK_CHANGES };
static int test_hash_mode, test_equal_mode, test_hash_range;
static TVMFFIObject *test_hooked_map;

static TVMFFIAny test_hook(int mode, TVMFFIAny good) {
  TVMFFIAny one = tvmffi_int(1);
  TVMFFIObject *error;
  if (mode == TEST_HOOK_FAILS) {
    (void)TVMFFI_RAISE("ValueError", "the hook says no");
  } else if (mode != TEST_HOOK_CHANGES ||
             !tvmffi_i_map_set(&test_hooked_map, &one, &one)) {
    return good;
  }
  error = tvmffi_error_take();
  return tvmffi_obj(error);
}
static TVMFFIAny test_map_hash(const TVMFFIAny *a) {
  int64_t n = ((int64_t *)(void *)(a->v_obj + 1))[0];
  return test_hook(test_hash_mode, tvmffi_int(n % test_hash_range));
}
static TVMFFIAny test_map_equal(const TVMFFIAny *a, const TVMFFIAny *b) {
  int64_t *x = (int64_t *)(void *)(a->v_obj + 1);
  int64_t *y = (int64_t *)(void *)(b->v_obj + 1);
  return test_hook(test_equal_mode, tvmffi_bool(*x == *y));
}

static TVMFFIAny test_hooked(int32_t index, int64_t n) {
  TVMFFIObject *o = (TVMFFIObject *)tvmffi_i_object(sizeof(*o) + 8, index,
                                                    tvmffi_i_delete_plain);
  if (o) *(int64_t *)(void *)(o + 1) = n;
  return tvmffi_obj(o);
}

static int32_t test_hooked_type(void) {
  static int32_t index;
  TVMFFIByteArray equal = TEXT("__any_equal__"), hash = TEXT("__any_hash__");
  TVMFFIAny value;
  TVMFFIByteArray key;
  if (index) return index;
  key = TEXT(test_fresh("test.Hooked"));
  index = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 0, kTVMFFIObject);
  value = tvmffi_ptr((void *)(uintptr_t)test_map_equal);
  if (index > 0 && !TVMFFITypeRegisterAttr(index, &equal, &value)) {
    value = tvmffi_ptr((void *)(uintptr_t)test_map_hash);
    if (!TVMFFITypeRegisterAttr(index, &hash, &value)) return index;
  }
  tvmffi_error_clear();
  index = 0;
  return index;
}

static void test_map_hooks(void) {
  static const int ranges[] = {1, 3, 1000};
  int32_t index = test_hooked_type();
  int range, n, hash_mode, equal_mode, count = test_scale(200, 40);
  if (!index) return;
  for (range = 0; range < 3; ++range) {
    TVMFFIObject *map = test_map(kTVMFFIDict, 0);
    if (!map) return;
    test_hooked_map = map;
    test_hash_range = ranges[range];
    for (n = 0; n < count; ++n) {
      TVMFFIAny key = test_hooked(index, n), value = tvmffi_int(n);
      int code = -1;
      if (key.v_obj) {
        for (hash_mode = 0; hash_mode < 3; ++hash_mode) {
          for (equal_mode = 0; equal_mode < 3; ++equal_mode) {
            int64_t size = tvmffi_i_map_size(map);
            test_hash_mode = hash_mode;
            test_equal_mode = equal_mode;
            if (!hash_mode && !equal_mode) continue;
            if (hash_mode == TEST_HOOK_CHANGES || tvmffi_i_map_get(map, &key))
              continue;
            tvmffi_error_clear();
            if (n % 4 == 0 && tvmffi_i_map_set(&map, &key, &value) == 0)
              (void)tvmffi_i_map_erase(&map, &key);
            tvmffi_error_clear();
            test_hash_mode = test_equal_mode = 0;
            if (tvmffi_i_map_size(map) != size)
              (void)tvmffi_i_map_erase(&map, &key);
            tvmffi_error_clear();
            CHECK_INT(tvmffi_i_map_size(map), size);
          }
        }
        test_hash_mode = test_equal_mode = 0;
        code = tvmffi_i_map_set(&map, &key, &value);
      }
      tvmffi_any_release(&key);
      if (test_code(code, __FILE__, __LINE__, "a hooked key ")) break;
    }
    for (n = 0; n < tvmffi_i_map_size(map); ++n) {
      TVMFFIAny key = test_hooked(index, n);
      const TVMFFIAny *value = key.v_obj ? tvmffi_i_map_get(map, &key) : NULL;
      if (key.v_obj && CHECK(value)) CHECK_INT(value->v_int64, n);
      tvmffi_any_release(&key);
      tvmffi_error_clear();
    }
  }
}

/* A chain that cannot give way as a whole is put back; one that can is moved,
   however long it is. */
static void test_map_chains(void) {
  int32_t index = test_hooked_type();
  TVMFFIObject *map = test_map(kTVMFFIDict, 600);
  tvmffi_i_map_object *m = (tvmffi_i_map_object *)(void *)map;
  uint64_t home, target, i;
  int n, code, keys = 30;
  static uint8_t before[1024];
  if (!index || !map) return;
  test_hash_range = 1;
  test_hash_mode = test_equal_mode = TEST_HOOK_GOOD;
  for (n = 0; n < keys; ++n) {
    TVMFFIAny key = test_hooked(index, n), value = tvmffi_int(n);
    code = key.v_obj ? tvmffi_i_map_set(&map, &key, &value) : -1;
    tvmffi_any_release(&key);
    OK(code);
  }
  CHECK_INT(m->num_slots, 1024);
  home = m->head;
  target = tvmffi_i_map_next(m, home, *tvmffi_i_map_meta(m->data, home));
  for (i = 0; i < m->num_slots; ++i) {
    before[i] = *tvmffi_i_map_meta(m->data, i);
    if (before[i] == TVMFFI_I_MAP_EMPTY)
      *tvmffi_i_map_meta(m->data, i) = TVMFFI_I_MAP_PROTECTED;
  }
  *tvmffi_i_map_meta(m->data, (home + 2628) % 1024) = TVMFFI_I_MAP_EMPTY;
  code = tvmffi_i_map_spare(m, target);
  for (i = 0; i < m->num_slots; ++i) {
    uint8_t *meta = tvmffi_i_map_meta(m->data, i);
    if (*meta == TVMFFI_I_MAP_PROTECTED) *meta = TVMFFI_I_MAP_EMPTY;
    CHECK(*meta == before[i]);
  }
  OK(code);
  code = tvmffi_i_map_spare(m, target);
  if (code == 1) {
    CHECK(*tvmffi_i_map_meta(m->data, target) == TVMFFI_I_MAP_PROTECTED);
    *tvmffi_i_map_meta(m->data, target) = TVMFFI_I_MAP_EMPTY;
  }
  for (n = 0, i = m->head; i != TVMFFI_I_MAP_END && n < keys; ++n) {
    tvmffi_i_map_item *item = tvmffi_i_map_at(m->data, i);
    const TVMFFIAny *value = tvmffi_i_map_get(map, &item->pair.key);
    CHECK(value == &item->pair.value && value->v_int64 == n);
    i = item->next;
  }
  CHECK_INT(n, keys);
  OK(code - 1);
}

/* The hash and equality of keys in the map may not change it. */
static void test_map_guard(void) {
  int32_t index = test_hooked_type();
  TVMFFIObject *map = test_map(kTVMFFIDict, 8);
  TVMFFIAny a, b, one = tvmffi_int(1);
  if (!index || !map) return;
  test_hooked_map = map;
  test_hash_range = 1;
  test_hash_mode = test_equal_mode = TEST_HOOK_GOOD;
  a = test_hooked(index, 1);
  if (!a.v_obj) {
    tvmffi_error_clear();
    return;
  }
  OWN_ANY(a);
  b = test_hooked(index, 2);
  if (!b.v_obj) {
    tvmffi_error_clear();
    return;
  }
  OWN_ANY(b);
  OK(tvmffi_i_map_set(&map, &a, &one));
  test_equal_mode = TEST_HOOK_CHANGES;
  FAILS(tvmffi_i_map_set(&map, &b, &one) != 0, "RuntimeError",
        "A map cannot be changed by the hash or the equality of its own keys");
  test_equal_mode = TEST_HOOK_FAILS;
  FAILS(tvmffi_i_map_get(map, &b) == NULL, "ValueError", "the hook says no");
  test_equal_mode = TEST_HOOK_GOOD;
  CHECK_INT(tvmffi_i_map_size(map), 1);
  OK(tvmffi_i_map_set(&map, &b, &one));
  CHECK_INT(tvmffi_i_map_guards, 0);
}

/* Two dicts whose keys' hooks, and whose values' deleters, read and change both
   dicts at random. An operation on a dict runs hooks; while it is in progress,
   each change of that dict has to be refused. */
enum { STORM_KEYS = 40, STORM_DEPTH = 3 };
static struct {
  TVMFFIObject *dict[2];
  unsigned char has[2][STORM_KEYS]; /* what the dicts should contain */
  int busy[2];                      /* operations whose hooks may run now */
  int key[2];                       /* that the newest operation is about */
  int current;                      /* the dict of the newest operation */
  int depth, range, quiet, failed;
  int32_t type_index;
  unsigned random;
} test_storm;

static unsigned test_storm_random(unsigned n) {
  test_storm.random = test_storm.random * 1664525u + 1013904223u;
  return (test_storm.random >> 8) % n;
}

/* Counts a failure that nothing but refused memory explains. */
static void test_storm_check(int is_right) {
  if (!is_right && !test_oom) ++test_storm.failed;
}

static void test_storm_act(void);

static TVMFFIAny test_storm_hash(const TVMFFIAny *a) {
  test_storm_act();
  return tvmffi_int(((int64_t *)(void *)(a->v_obj + 1))[0] % test_storm.range);
}
static TVMFFIAny test_storm_equal(const TVMFFIAny *a, const TVMFFIAny *b) {
  test_storm_act();
  return tvmffi_bool(((int64_t *)(void *)(a->v_obj + 1))[0] ==
                     ((int64_t *)(void *)(b->v_obj + 1))[0]);
}
/* A value is released when the operation has no more hooks to run. */
static void test_storm_delete(void *self, int flags) {
  int d = test_storm.current;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    --test_storm.busy[d];
    test_storm_act();
    ++test_storm.busy[d];
  }
  tvmffi_i_delete_plain(self, flags);
}

/* Reads a key, or changes a dict. */
static void test_storm_step(int d) {
  TVMFFIObject **dict = &test_storm.dict[d];
  int n = (int)test_storm_random(STORM_KEYS), what, code, outer, current;
  int refused = test_storm.busy[d] > 0;
  TVMFFIAny key = test_hooked(test_storm.type_index, n), value;
  const TVMFFIAny *found;
  if (!key.v_obj) return;
  value = tvmffi_obj(tvmffi_i_object(sizeof(TVMFFIObject) + 8,
                                     test_storm.type_index, test_storm_delete));
  what = value.v_obj ? (int)test_storm_random(40) : 30;
  outer = test_storm.key[d];
  current = test_storm.current;
  test_storm.current = d;
  ++test_storm.busy[d];
  if (what >= 30) { /* the keys of operations in progress may be there or not */
    found = tvmffi_i_map_get(*dict, &key);
    test_storm_check(n == outer || !found == !test_storm.has[d][n]);
    code = 0;
    refused = 0;
  } else if (what) {
    if (!refused) test_storm.key[d] = n;
    if (!refused) test_storm.has[d][n] = what < 20;
    code = what < 20 ? tvmffi_i_map_set(dict, &key, &value)
                     : tvmffi_i_map_erase(dict, &key);
    test_storm.key[d] = outer;
  } else { /* a deleter that adds to a dict which is being cleared: no */
    ++test_storm.quiet;
    if (!refused) memset(test_storm.has[d], 0, STORM_KEYS);
    code = tvmffi_i_map_clear_in((tvmffi_i_map_object *)(void *)*dict);
    --test_storm.quiet;
  }
  --test_storm.busy[d];
  test_storm.current = current;
  test_storm_check(refused ? code != 0 : !code);
  tvmffi_error_clear();
  ++test_storm.quiet;
  tvmffi_any_release(&value);
  --test_storm.quiet;
  tvmffi_any_release(&key);
}

static void test_storm_act(void) {
  if (test_storm.quiet || test_storm.depth >= STORM_DEPTH ||
      test_storm_random(8))
    return;
  ++test_storm.depth;
  test_storm_step((int)test_storm_random(2));
  --test_storm.depth;
}

/* Each dict has each key that it should have once, and no other. */
static void test_storm_compare(int d) {
  const tvmffi_i_pair *pair;
  TVMFFIObject *dict = test_storm.dict[d];
  unsigned char seen[STORM_KEYS];
  uint64_t at;
  int n;
  memset(seen, 0, sizeof(seen));
  for (at = tvmffi_i_map_begin(dict);
       (pair = tvmffi_i_map_pair(dict, at)) != NULL;
       at = tvmffi_i_map_after(dict, at))
    ++seen[*(int64_t *)(void *)(pair->key.v_obj + 1)];
  for (n = 0; n < STORM_KEYS; ++n)
    test_storm_check(seen[n] == test_storm.has[d][n]);
}

static void test_map_storm(void) {
  static const int ranges[] = {1, 2, 5, 1000};
  static int32_t index;
  TVMFFIByteArray equal = TEXT("__any_equal__"), hash = TEXT("__any_hash__");
  TVMFFIByteArray name;
  TVMFFIAny value;
  int range, d, i, count = test_scale(6000, 60);
  if (!index) {
    name = TEXT(test_fresh("test.Storm"));
    index = TVMFFITypeGetOrAllocIndex(&name, -1, 1, 0, 0, kTVMFFIObject);
    if (index < 0) index = 0;
    OK(index ? 0 : -1);
  }
  value = tvmffi_ptr((void *)(uintptr_t)test_storm_equal);
  OK(TVMFFITypeRegisterAttr(index, &equal, &value));
  value = tvmffi_ptr((void *)(uintptr_t)test_storm_hash);
  OK(TVMFFITypeRegisterAttr(index, &hash, &value));
  memset((void *)&test_storm, 0, sizeof(test_storm));
  test_storm.type_index = index;
  for (range = 0; range < 4; ++range) {
    test_storm.range = ranges[range];
    test_storm.random = (unsigned)range;
    memset(test_storm.has, 0, sizeof(test_storm.has));
    for (d = 0; d < 2; ++d) {
      test_storm.dict[d] = tvmffi_i_new_map(kTVMFFIDict, 0);
      test_storm.key[d] = -1;
    }
    for (i = 0; i < count && test_storm.dict[0] && test_storm.dict[1]; ++i) {
      test_storm_step(i & 1);
      if (i % 10) continue;
      test_storm_compare(0);
      test_storm_compare(1);
    }
    ++test_storm.quiet;
    for (d = 0; d < 2; ++d) tvmffi_release(test_storm.dict[d]);
    --test_storm.quiet;
    tvmffi_error_clear();
  }
  CHECK_INT(test_storm.failed, 0);
  CHECK_INT(tvmffi_i_map_guards, 0);
}

#if !TEST_NO_CONTENTION && !TVMFFI_NO_THREADS
static TVMFFIObject *test_read_map;

static void test_read_map_work(int id) {
  int i, n = test_rounds(1);
  for (i = 0; i < n; ++i) {
    char text[40];
    int at = (i + id) % 60;
    TVMFFIAny any = tvmffi_none();
    OK(tvmffi_call(tvmffi_str("ffi.DictGetItem"), tvmffi_out_any(&any),
                   tvmffi_obj(test_read_map), test_map_key(at, text)));
    CHECK(any.type_index == kTVMFFIDict && any.v_obj == test_read_map);
    tvmffi_any_release(&any);
    OK(tvmffi_call(tvmffi_str("ffi.DictForwardIterFunctor"),
                   tvmffi_out_any(&any), tvmffi_obj(test_read_map)));
    OK(tvmffi_call(any, tvmffi_out_any(NULL), tvmffi_int(2)));
    tvmffi_any_release(&any);
  }
}

/* Dicts are read by all at once; who counts into the same object is seen. */
static void test_contend_maps(void) {
  TVMFFIObject *map = test_map(kTVMFFIDict, 0);
  TVMFFIAny value;
  char text[40];
  int i;
  if (!map) return;
  value = tvmffi_obj(map);
  for (i = 0; i < 60; ++i) {
    TVMFFIAny key = test_map_key(i, text);
    if (test_code(tvmffi_i_map_set(&map, &key, &value), __FILE__, __LINE__, ""))
      break;
  }
  test_read_map = map;
  if (i == 60) test_parallel(test_read_map_work);
  CHECK_INT(test_strong(map), i + 1);
  CHECK_INT(tvmffi_i_map_clear_in((tvmffi_i_map_object *)(void *)map), 0);
}
#endif

#endif /* !TEST_NO_MAPS && !TVMFFI_NO_CONTAINERS */

#if !TVMFFI_NO_CONTAINERS && !TEST_NO_REFLECTION && !TEST_NO_TYPES
/* ======== Built-in types and reflection =================================== */

/* Calls a function object; the test owns the result. */
static int test_apply(TVMFFIObject *f, const TVMFFIAny *args, int n,
                      TVMFFIAny *result) {
  TVMFFIAny copy[16];
  int i, code;
  *result = tvmffi_none();
  for (i = 0; i < n; ++i) copy[i] = args[i];
  code = f ? TVMFFIFunctionCall(f, copy, n, result) : -1;
  if (!code) OWN_ANY(*result);
  return code;
}

/* Looks a global function up and calls it. */
static int test_apply_global(const char *name, const TVMFFIAny *args, int n,
                             TVMFFIAny *result) {
  TVMFFIByteArray key = TEXT(name);
  TVMFFIObjectHandle f = NULL;
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&key, &f));
  OWN(f);
  return test_apply((TVMFFIObject *)f, args, n, result);
}

/* The attribute of a type, borrowed; None if it has none. */
static TVMFFIAny test_value_of(int32_t index, const char *name) {
  TVMFFIByteArray key = TEXT(name);
  const TVMFFITypeAttrColumn *c = TVMFFIGetTypeAttrColumn(&key);
  return c && index < c->size ? c->data[index] : tvmffi_none();
}

static int test_apply_attr(int32_t index, const char *name,
                           const TVMFFIAny *args, int n, TVMFFIAny *result) {
  TVMFFIAny f = test_value_of(index, name);
  if (f.type_index != kTVMFFIFunction) return -1;
  return test_apply(f.v_obj, args, n, result);
}

/* Reads a field by its name; the test owns the value. */
static TVMFFIAny test_get_field(TVMFFIObject *o, const char *name) {
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(o->type_index);
  tvmffi_i_field_walk w = tvmffi_i_walk_fields(type);
  const TVMFFIFieldInfo *field;
  TVMFFIAny value = tvmffi_none();
  while ((field = tvmffi_i_next_field(&w)))
    if (tvmffi_i_same_text(field->name, TEXT(name))) {
      (void)test_code(field->getter(tvmffi_i_at(o, field), &value), __FILE__,
                      __LINE__, name);
      OWN_ANY(value);
      break;
    }
  CHECK(field != NULL);
  return value;
}

static void test_builtin_types(void) {
  static const char *const keys[] = {"ffi.EnumState",
                                     "ffi.Enum",
                                     "ffi.IntEnum",
                                     "ffi.StrEnum",
                                     "ffi.reflection.AccessStep",
                                     "ffi.reflection.AccessPath",
                                     "ffi.StructuralVisitor",
                                     "ffi.VisitErrorContext",
                                     "ffi.StructuralMutator",
                                     "ffi.StructuralKey"};
  const char *fresh = test_fresh("unit.First");
  int32_t i, index = test_type(fresh, -1, 1, 0, 1, kTVMFFIObject);
  OK(index < 0 ? -1 : 0);
  CHECK(index >= 138);
  for (i = 0; i < TEST_COUNT(keys); ++i) {
    const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(128 + i);
    OK(info ? 0 : -1);
    CHECK_TEXT(info->type_key, keys[i]);
    CHECK_INT(info->type_depth, i == 2 || i == 3 ? 2 : 1);
    CHECK_INT(info->type_ancestors[0]->type_index, kTVMFFIObject);
    if (info->type_depth == 2)
      CHECK_INT(info->type_ancestors[1]->type_index, 129);
    CHECK(info->metadata != NULL);
    CHECK((info->metadata->creator == NULL) == (i == 6 || i == 8));
  }
  CHECK_INT(TVMFFIGetTypeInfo(128)->num_fields, 3);
  CHECK_INT(TVMFFIGetTypeInfo(133)->num_methods, 11);
  CHECK_INT(TVMFFIGetTypeInfo(133)->metadata->structural_eq_hash_kind, 4);
  CHECK_INT(TVMFFIGetTypeInfo(129)->metadata->structural_eq_hash_kind, 5);
}

static void test_builtin_fields(void) {
  const TVMFFITypeInfo *path = TVMFFIGetTypeInfo(133);
  const TVMFFIFieldInfo *f;
  OK(path ? 0 : -1);
  f = TVMFFIGetTypeInfo(132)->fields;
  CHECK_TEXT(f[0].name, "kind");
  CHECK_INT(f[0].size, 4);
  CHECK_INT(f[0].offset, 24);
  CHECK_TEXT(f[0].metadata, "{\"type_schema\":\"{\\\"type\\\":\\\"int\\\"}\"}");
  CHECK_TEXT(f[1].name, "key");
  CHECK_INT(f[1].size, 16);
  CHECK_INT(f[1].field_static_type_index, kTVMFFIAny);
  f = TVMFFIGetTypeInfo(131)->fields;
  CHECK_TEXT(f->doc, "Canonical string index.");
  CHECK_INT(f->flags, 520);
  CHECK_INT(f->offset, TVMFFIGetTypeInfo(129)->fields[1].offset);
  CHECK_TEXT(path->fields[1].metadata,
             "{\"type_schema\":\"{\\\"type\\\":\\\"Optional\\\",\\\"args\\\":[{"
             "\\\"type\\\":\\\"ffi.reflection.AccessStep\\\"}]}\"}");
  CHECK_TEXT(path->methods[0].name, "_root");
  CHECK_INT(path->methods[0].flags, kTVMFFIFieldFlagBitMaskIsStaticMethod);
  CHECK_TEXT(path->methods[10].name, "_path_equal");
  CHECK_TEXT(path->methods[3].metadata,
             SCHEMA("ffi.reflection.AccessPath",
                    PARAM("ffi.reflection.AccessPath") "," PARAM("int")));
}

static void test_builtin_columns(void) {
  size_t i;
  for (i = 0; i < TVMFFI_I_NUM_COLUMNS; ++i) {
    TVMFFIByteArray name = TEXT(tvmffi_i_column_rows[i].name);
    const TVMFFITypeAttrColumn *c = TVMFFIGetTypeAttrColumn(&name);
    OK(c ? 0 : -1);
    CHECK_INT(c->begin_index, 0);
    CHECK(c->size >= tvmffi_i_column_rows[i].size);
  }
  CHECK_INT(test_value_of(130, "__ffi_new__").type_index, kTVMFFIFunction);
  CHECK_INT(test_value_of(134, "__ffi_new__").type_index, kTVMFFINone);
  CHECK_INT(test_value_of(134, "__ffi_shallow_copy__").type_index,
            kTVMFFIFunction);
  CHECK_INT(test_value_of(133, "__ffi_type_final__").v_int64, 1);
  CHECK_INT(test_value_of(134, "__ffi_type_final__").type_index, kTVMFFIBool);
  CHECK_INT(test_value_of(kTVMFFIBigInt, "__any_hash__").type_index,
            kTVMFFIOpaquePtr);
}

/* A client adds to a built-in type what its tables do not have. */
static void test_builtin_grows(void) {
  const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(137);
  TVMFFIFieldInfo field = test_field("unit_extra", 24);
  TVMFFIByteArray column = TEXT("__ffi_repr__");
  TVMFFIAny value = tvmffi_int(3);
  OK(info ? 0 : -1);
  OK(TVMFFITypeRegisterField(137, &field));
  CHECK_INT(info->num_fields, 3);
  CHECK_TEXT(info->fields[0].name, "key");
  CHECK_TEXT(info->fields[2].name, "unit_extra");
  OK(TVMFFITypeRegisterAttr(137, &column, &value));
  CHECK_INT(test_value_of(137, "__ffi_repr__").v_int64, 3);
}

static void test_creators(void) {
  static const int32_t made[] = {77, 128, 129, 130, 131, 132, 133, 135, 137};
  TVMFFIAny any, copy;
  int i;
  for (i = 0; i < TEST_COUNT(made); ++i) {
    OK(test_apply_attr(made[i], "__ffi_new__", NULL, 0, &any));
    CHECK_INT(any.type_index, made[i]);
    CHECK_INT(test_strong(any.v_obj), 1);
    OK(test_apply_attr(made[i], "__ffi_shallow_copy__", &any, 1, &copy));
    CHECK(copy.type_index == made[i] && copy.v_obj != any.v_obj);
  }
  OK(test_apply_attr(131, "__ffi_new__", NULL, 0, &any));
  CHECK_INT(test_get_field(any.v_obj, "_str_index").type_index,
            kTVMFFISmallStr);
  OK(test_apply_attr(128, "__ffi_init__", NULL, 0, &any));
  CHECK_INT(test_get_field(any.v_obj, "entries").type_index, kTVMFFIList);
  CHECK_INT(test_get_field(any.v_obj, "attrs").type_index, kTVMFFIDict);
  FAILS(test_apply_attr(132, "__ffi_new__", &any, 1, &copy), "TypeError",
        "Mismatched number of arguments when calling: "
        "`ffi.reflection.AccessStep.__ffi_new__() -> ffi.Object`. Expected 0 "
        "but got 1 arguments");
  FAILS(test_apply_attr(132, "__ffi_shallow_copy__", &any, 1, &copy),
        "TypeError",
        "Mismatched type on argument #0 when calling: "
        "`ffi.reflection.AccessStep.__ffi_shallow_copy__(0: "
        "ffi.reflection.AccessStep) -> ffi.Object`. Expected "
        "`ffi.reflection.AccessStep` but got `ffi.EnumState`");
}

static void test_make_object(void) {
  static const char make[] = "ffi.MakeObjectFromPackedArgs";
  TVMFFIAny args[7], any;
  args[0] = tvmffi_str("ffi.Enum");
  args[1] = tvmffi_str("_str_index");
  args[2] = tvmffi_str("a name of more than seven bytes");
  args[3] = tvmffi_str("_int_index");
  args[4] = tvmffi_int(7);
  args[6] = tvmffi_int(1);
  OK(test_apply_global(make, args, 5, &any));
  CHECK_INT(any.type_index, 129);
  CHECK_INT(((tvmffi_i_enum *)any.v_ptr)->str_index.type_index, kTVMFFIStr);
  args[0] = tvmffi_int(TVMFFI_I_ACCESS_STEP);
  args[1] = tvmffi_str("kind");
  args[2] = tvmffi_int(2);
  args[3] = tvmffi_str("key");
  OK(test_apply_global(make, args, 5, &any));
  CHECK_INT(test_get_field(any.v_obj, "key").v_int64, 7);
  FAILS(test_apply_global(make, args, 3, &any), "TypeError",
        "Required field `key` not set in type `ffi.reflection.AccessStep`");
  FAILS(test_apply_global(make, args, 4, &any), "InternalError", NULL);
  FAILS(test_apply_global(make, args, 0, &any), "InternalError", NULL);
  args[5] = tvmffi_str("nobody");
  FAILS(test_apply_global(make, args, 7, &any), "TypeError",
        "Type `ffi.reflection.AccessStep` does not have field `nobody`");
  args[2] = tvmffi_str("x");
  FAILS(test_apply_global(make, args, 5, &any), "TypeError",
        "Cannot convert from type `const char*` to `int`");
  args[2] = tvmffi_int((int64_t)1 << 40);
  FAILS(test_apply_global(make, args, 5, &any), "OverflowError",
        "1099511627776 does not fit in the field");
  args[1] = tvmffi_none();
  FAILS(test_apply_global(make, args, 5, &any), "TypeError",
        "Cannot convert from type `None` to `str`");
  args[0] = tvmffi_int(kTVMFFIArray);
  FAILS(test_apply_global(make, args, 1, &any), "RuntimeError",
        "Type `ffi.Array` does not support reflection creation (no native "
        "creator or __ffi_new__ type attr)");
}

/* Converters as Python gives them: the value itself, or an error. */
static int test_convert(void *converter, const TVMFFIAny *value,
                        TVMFFIAny *result) {
  if (converter) return TVMFFI_RAISE("TypeError", "not\nthis");
  return TVMFFIAnyViewToOwnedAny(value, result);
}

/* Makes a getter and a setter as Python does. */
static int test_make_access(TVMFFIFieldInfo *f, int32_t type_index,
                            void *converter) {
  TVMFFIAny args[3], any;
  args[0] = tvmffi_int(type_index);
  args[1] = tvmffi_int((int64_t)(intptr_t)converter);
  args[2] = tvmffi_int((int64_t)(intptr_t)test_convert);
  TVMFFI_TRY(test_apply_global("ffi.MakeFieldGetter", args, 1, &any));
  f->getter = (TVMFFIFieldGetter)(uintptr_t)any.v_int64;
  TVMFFI_TRY(test_apply_global("ffi.MakeFieldSetter", args, 3, &any));
  f->setter = any.v_ptr;
  f->field_static_type_index = type_index;
  return 0;
}

/* A setter for a type index that no field can have. */
static int test_setter_of_nine(TVMFFIAny *field) {
  TVMFFIAny args[3], any;
  args[0] = tvmffi_int(9);
  args[1] = tvmffi_int(0);
  args[2] = tvmffi_int((int64_t)(intptr_t)test_convert);
  TVMFFI_TRY(test_apply_global("ffi.MakeFieldSetter", args, 3, &any));
  args[0] = tvmffi_ptr(field);
  args[1] = tvmffi_int(1);
  return test_apply(any.v_obj, args, 2, &any);
}

static void test_field_access(void) {
  static const int32_t types[] = {
      kTVMFFIAny,      kTVMFFIInt,    kTVMFFIBool,   kTVMFFIOpaquePtr,
      kTVMFFIDataType, kTVMFFIDevice, kTVMFFIObject, kTVMFFIArray,
#if !TVMFFI_NO_FLOAT
      kTVMFFIFloat
#endif
  };
  DLDataType dtype = {kDLInt, 8, 1};
  TVMFFIAny values[9], field = tvmffi_none(), args[2], any;
  TVMFFIFieldInfo f;
  TVMFFIObject *list = tvmffi_i_new_list(0);
  int i;
  OK(list ? 0 : -1);
  OWN(list);
  values[0] = tvmffi_obj(list);
  values[1] = tvmffi_int(-5);
  values[2] = tvmffi_bool(1);
  memset(&f, 0, sizeof(f));
  values[3] = tvmffi_ptr(&f);
  values[4] = tvmffi_dtype(dtype);
  values[5] = tvmffi_device(TVMFFIDLDeviceFromIntPair(2, 3));
  values[6] = values[7] = values[0];
  values[8] = tvmffi_none();
  values[8].type_index = kTVMFFIFloat;
  values[8].v_uint64 = 0x3FF8000000000000u; /* 1.5 */
  for (i = 0; i < TEST_COUNT(types); ++i) {
    OK(test_make_access(&f, types[i], NULL));
    memset((void *)&field, 0, sizeof(field));
    args[0] = tvmffi_ptr(&field);
    args[1] = values[i];
    OK(test_apply((TVMFFIObject *)f.setter, args, 2, &any));
    OK(f.getter(&field, &any));
    OWN_ANY(any);
    CHECK(tvmffi_i_same_any(&any, &values[i]));
    args[1] = tvmffi_str("nothing");
    if (types[i] != kTVMFFIAny && types[i] != kTVMFFIDataType)
      FAILS(test_apply((TVMFFIObject *)f.setter, args, 2, &any), "TypeError",
            "...Cannot convert from type `ffi.SmallStr` to `");
    if (types[i] >= kTVMFFIObject) {
      args[1] = tvmffi_none();
      OK(test_apply((TVMFFIObject *)f.setter, args, 2, &any));
      CHECK(field.v_obj == NULL || types[i] < kTVMFFIObject);
    }
    if (types[i] == kTVMFFIAny) tvmffi_any_release(&field);
  }
  CHECK_INT(test_strong(list) < 8, 1);
  args[0] = tvmffi_int(9);
  FAILS(test_apply_global("ffi.MakeFieldGetter", args, 1, &any), "ValueError",
        "Unsupported field type index for getter: 9");
  args[1] = tvmffi_int(0);
  FAILS(test_setter_of_nine(&field), "ValueError",
        "Unsupported field type index for setter: 9");
  FAILS(test_apply_global("ffi.MakeFieldSetter", args, 2, &any), "TypeError",
        NULL);
  FAILS(test_apply((TVMFFIObject *)f.setter, args, 1, &any), "TypeError",
        "A field setter takes 2 arguments, but 1 were given");
  args[1] = tvmffi_none();
  FAILS(test_apply((TVMFFIObject *)f.setter, args, 2, &any), "TypeError",
        "Cannot convert from type `int` to `void*`");
}

/* A class as Python defines it: int a; Any b with a default; Object c that is
   keyword-only and may be left out; int d that no constructor sets. */
typedef struct {
  TVMFFIObject base;
  int64_t a;
  TVMFFIAny b;
  TVMFFIObject *c;
  int64_t d;
} test_py;

/* Registers such a class; gives its index, or -1. The name must live on. */
static int32_t test_py_class(const char *name, TVMFFIAny fallback) {
  int32_t index = test_type(name, -1, 1, 0, 1, kTVMFFIObject);
  static const struct {
    const char *name;
    int32_t type, size, flags;
    size_t offset;
  } rows[] = {
      {"a", kTVMFFIInt, 8, 0, offsetof(test_py, a)},
      {"b", kTVMFFIAny, 16, kTVMFFIFieldFlagBitMaskHasDefault,
       offsetof(test_py, b)},
      {"c", kTVMFFIObject, (int32_t)sizeof(void *),
       kTVMFFIFieldFlagBitMaskHasDefault | kTVMFFIFieldFlagBitMaskKwOnly,
       offsetof(test_py, c)},
      {"d", kTVMFFIInt, 8, kTVMFFIFieldFlagBitMaskInitOff,
       offsetof(test_py, d)}};
  TVMFFIAny args[2], any;
  int i;
  if (index < 0) return -1;
  for (i = 0; i < TEST_COUNT(rows); ++i) {
    TVMFFIFieldInfo f;
    memset((void *)&f, 0, sizeof(f));
    f.name = TEXT(rows[i].name);
    f.size = rows[i].size;
    f.alignment = 8;
    f.offset = (int64_t)rows[i].offset;
    f.flags = rows[i].flags | kTVMFFIFieldFlagBitMaskWritable |
              kTVMFFIFieldFlagBitSetterIsFunctionObj;
    if (test_make_access(&f, rows[i].type, NULL)) return -1;
    if (i == 1) f.default_value_or_factory = fallback;
    if (i == 1 && fallback.type_index == kTVMFFIFunction)
      f.flags |= kTVMFFIFieldFlagBitMaskDefaultFromFactory;
    if (TVMFFITypeRegisterField(index, &f)) return -1;
  }
  args[0] = tvmffi_int(index);
  args[1] = tvmffi_int((int64_t)sizeof(test_py));
  if (test_apply_global("ffi._PyClassRegisterTypeAttrColumns", args, 2, &any))
    return -1;
  return index;
}

static void test_py_classes(void) {
  const char *key = test_fresh("unit.Py");
  int32_t index = test_py_class(key, tvmffi_str("by default"));
  static const char init[] = "__ffi_init__";
  TVMFFIAny args[6], any, copy;
  TVMFFIObject *list;
  OK(index < 0 ? -1 : 0);
  list = tvmffi_i_new_list(0);
  OK(list ? 0 : -1);
  OWN(list);
  args[0] = tvmffi_int(4);
  OK(test_apply_attr(index, init, args, 1, &any));
  CHECK_INT(((test_py *)any.v_ptr)->a, 4);
  CHECK_INT(((test_py *)any.v_ptr)->b.type_index, kTVMFFIStr);
  CHECK(((test_py *)any.v_ptr)->c == NULL);
  args[1] = tvmffi_obj(list);
  args[2] = tvmffi_obj(&tvmffi_i_kwargs_object);
  args[3] = tvmffi_str("c");
  args[4] = tvmffi_obj(list);
  OK(test_apply_attr(index, init, args, 5, &any));
  CHECK_INT(test_strong(list), 3);
  OK(test_apply_attr(index, "__ffi_shallow_copy__", &any, 1, &copy));
  CHECK_INT(test_strong(list), 5);
  CHECK_INT(((test_py *)copy.v_ptr)->a, 4);
  test_drop(any.v_obj);
  test_drop(copy.v_obj);
  CHECK_INT(test_strong(list), 1);
  OK(test_apply_attr(index, "__ffi_new__", NULL, 0, &any));
  CHECK_INT(((test_py *)any.v_ptr)->b.type_index, kTVMFFINone);
}

static void test_bad_init(void) {
  const char *key = test_fresh("unit.Py");
  int32_t index = test_py_class(key, tvmffi_int(1));
  static const char init[] = "__ffi_init__";
  TVMFFIAny args[6], any;
  OK(index < 0 ? -1 : 0);
  FAILS(test_apply_attr(index, init, NULL, 0, &any), "TypeError",
        "....__ffi_init__() missing required argument: 'a'");
  args[0] = args[1] = args[2] = tvmffi_int(1);
  FAILS(test_apply_attr(index, init, args, 3, &any), "TypeError",
        "....__ffi_init__() takes at most 2 positional argument(s), but 3 were "
        "given");
  args[0] = tvmffi_str("x");
  FAILS(test_apply_attr(index, init, args, 1, &any), "TypeError",
        "....__ffi_init__() field 'a':\n  Cannot convert from type "
        "`ffi.SmallStr` to `int`");
  args[0] = tvmffi_int(1);
  args[1] = tvmffi_obj(&tvmffi_i_kwargs_object);
  FAILS(test_apply_attr(index, init, args, 3, &any), "TypeError",
        "....__ffi_init__() KWARGS requires an even number of key-value "
        "arguments");
  args[2] = tvmffi_str("d");
  args[3] = tvmffi_int(1);
  FAILS(test_apply_attr(index, init, args, 4, &any), "TypeError",
        "....__ffi_init__() got an unexpected keyword argument 'd'");
  args[2] = tvmffi_str("a");
  FAILS(test_apply_attr(index, init, args, 4, &any), "TypeError",
        "....__ffi_init__() got multiple values for argument 'a'");
  args[2] = tvmffi_int(1);
  FAILS(test_apply_attr(index, init, args, 4, &any), "TypeError",
        "Cannot convert from type `int` to `str`");
  FAILS(test_apply_attr(index, "__ffi_new__", args, 1, &any), "TypeError",
        "Mismatched number of arguments when calling: `() -> ffi.Object`. "
        "Expected 0 but got 1 arguments");
  FAILS(test_apply_attr(index, "__ffi_shallow_copy__", args, 1, &any),
        "TypeError", "...Mismatched type on argument #0");
  args[0] = tvmffi_int(index);
  args[1] = tvmffi_int(16);
  FAILS(test_apply_global("ffi._PyClassRegisterTypeAttrColumns", args, 2, &any),
        "ValueError", "...cannot have size 16");
  args[1] = tvmffi_int(40);
  FAILS(test_apply_global("ffi._PyClassRegisterTypeAttrColumns", args, 2, &any),
        "ValueError", "...is not within its 40 bytes");
}

/* Registers an empty class of 32 bytes like those of Python, below a new
   parent; gives its index, or -1. */
static int32_t test_py_child(int32_t *parent) {
  TVMFFIAny args[2], any;
  int32_t index;
  *parent = test_type(test_fresh("unit.PyParent"), -1, 1, 0, 1, kTVMFFIObject);
  if (*parent < 0) return -1;
  index = test_type(test_fresh("unit.PyChild"), -1, 2, 0, 1, *parent);
  if (index < 0) return -1;
  args[0] = tvmffi_int(index);
  args[1] = tvmffi_int(32);
  if (test_apply_global("ffi._PyClassRegisterTypeAttrColumns", args, 2, &any))
    return -1;
  return index;
}

/* What is registered after objects of a class of Python exist. */
static void test_late_fields(void) {
  int32_t parent, types[2], i;
  TVMFFIFieldInfo f;
  TVMFFIAny any;
  types[0] = test_py_child(&parent);
  types[1] = parent;
  OK(types[0] < 0 ? -1 : 0);
  OK(test_apply_attr(types[0], "__ffi_new__", NULL, 0, &any));
  for (i = 0; i < 2; ++i) {
    f = test_field("later", 40);
    FAILS(TVMFFITypeRegisterField(types[i], &f), "ValueError",
          "...is not within its objects");
    f.offset = 20;
    FAILS(TVMFFITypeRegisterField(types[i], &f), "ValueError", NULL);
    f.offset = 24;
    f.size = (int64_t)sizeof(void *);
    f.field_static_type_index = kTVMFFIArray;
    FAILS(TVMFFITypeRegisterField(types[i], &f), "ValueError",
          "...would hold a reference in objects that are made without it");
    f.offset = 512;
    FAILS(TVMFFITypeRegisterField(types[i], &f), "ValueError", NULL);
  }
  f = test_field("plain", 28);
  OK(TVMFFITypeRegisterField(parent, &f));
  test_drop(any.v_obj);
  f = test_field("unit_value", 24);
  f.size = 16;
  f.field_static_type_index = kTVMFFIAny;
  FAILS(TVMFFITypeRegisterField(kTVMFFIVisitInterrupt, &f), "ValueError", NULL);
}

/* A second field beside an Any at 24, in objects of 48 bytes. */
static void test_misplaced_fields(void) {
  static const struct {
    int64_t offset, size;
    int32_t type;
    const char *message;
  } rows[] = {{16, 8, kTVMFFIInt, "...is not within its 48 bytes"},
              {40, 9, kTVMFFIInt, "...is not within its 48 bytes"},
              {-8, 8, kTVMFFIInt, "...is not within its 48 bytes"},
              {33, (int64_t)sizeof(void *), kTVMFFIMap,
               "...is not aligned in its 48 bytes"},
              {32, (int64_t)sizeof(void *), kTVMFFIMap,
               "...overlaps another field in its 48 bytes"},
              {32, 16, kTVMFFIAny, "...overlaps another field in its 48 bytes"},
              {24, (int64_t)sizeof(void *), kTVMFFIAny,
               "...overlaps another field in its 48 bytes"},
              {24, 16, kTVMFFIAny, NULL},   /* the same */
              {24, 24, kTVMFFIArray, NULL}, /* a std::vector, of bits */
              {40, 8, kTVMFFIInt, NULL}};
  TVMFFIAny args[2], any;
  int i;
  for (i = 0; i < TEST_COUNT(rows); ++i) {
    TVMFFIFieldInfo f = test_field("first", 24);
    int32_t parent, index;
    int code;
    NEW_TYPE(parent, test_fresh("unit.One"), 1, 0, 1, kTVMFFIObject);
    NEW_TYPE(index, test_fresh("unit.Two"), 2, 0, 1, parent);
    f.size = 16;
    f.field_static_type_index = kTVMFFIAny;
    OK(TVMFFITypeRegisterField(parent, &f));
    f.name = TEXT("second");
    f.offset = rows[i].offset;
    f.size = rows[i].size;
    f.field_static_type_index = rows[i].type;
    OK(TVMFFITypeRegisterField(index, &f));
    args[0] = tvmffi_int(index);
    args[1] = tvmffi_int(48);
    code =
        test_apply_global("ffi._PyClassRegisterTypeAttrColumns", args, 2, &any);
    if (rows[i].message) {
      FAILS(code, "ValueError", rows[i].message);
      continue;
    }
    OK(code);
    OK(test_apply_attr(index, "__ffi_new__", NULL, 0, &any));
  }
}

/* An error of a setter keeps its kind and becomes the cause of the new one; a
   factory's own error is left as it is. */
static void test_init_errors(void) {
  const char *key = test_fresh("unit.Py");
  TVMFFIObjectHandle factory = NULL;
  TVMFFIObject *error;
  TVMFFIAny args[1], any;
  TVMFFIFieldInfo f;
  int32_t index;
  OK(TVMFFIFunctionCreate(NULL, test_raise_callback, NULL, &factory));
  OWN(factory);
  index = test_py_class(key, tvmffi_obj(factory));
  OK(index < 0 ? -1 : 0);
  args[0] = tvmffi_int(1);
  FAILS(test_apply_attr(index, "__ffi_init__", args, 1, &any), "ValueError",
        "the callback says no");
  index = test_type(test_fresh("unit.Bad"), -1, 1, 0, 1, kTVMFFIObject);
  OK(index < 0 ? -1 : 0);
  memset((void *)&f, 0, sizeof(f));
  f.name = TEXT("a");
  f.size = 8;
  f.offset = 24;
  f.flags = kTVMFFIFieldFlagBitSetterIsFunctionObj;
  OK(test_make_access(&f, kTVMFFIInt, &f));
  OK(TVMFFITypeRegisterField(index, &f));
  args[0] = tvmffi_int(index);
  OK(test_apply_global("ffi._RegisterFFIInit", args, 1, &any));
  FAILS(test_apply_attr(index, "__ffi_init__", args, 1, &any), "RuntimeError",
        "...does not support reflection creation");
  FAILS(test_apply_global("ffi._RegisterFFIInit", args, 1, &any),
        "RuntimeError", "...is already registered for type index");
  {
    tvmffi_i_init *init = tvmffi_i_make_init(TVMFFIGetTypeInfo(index));
    OK(init ? 0 : -1);
    (void)TVMFFI_RAISE("TypeError", "not\nthis");
    (void)tvmffi_i_field_failed(init, tvmffi_i_init_fields(init)[0], "field");
    tvmffi_i_free(init);
  }
  error = tvmffi_error_take();
  if (error && !test_hits()) {
    TVMFFIErrorCell *cell = TVMFFIErrorGetCellPtr(error);
    CHECK_TEXT(cell->kind, "TypeError");
    CHECK(test_contains(cell->message,
                        ".__ffi_init__() field 'a':\n  not\n  this"));
    CHECK(cell->cause_chain != NULL);
  }
  tvmffi_release(error);
}

static int test_deep_copy(TVMFFIObject *from, TVMFFIObject **copy);

/* A class of test_py with one field, made and copied by the runtime; gives its
   index, or -1. */
static int32_t test_field_class(const TVMFFIFieldInfo *field) {
  int32_t index = test_type(test_fresh("unit.One"), -1, 1, 0, 1, kTVMFFIObject);
  TVMFFIAny args[2], any;
  if (index < 0 || TVMFFITypeRegisterField(index, field)) return -1;
  args[0] = tvmffi_int(index);
  args[1] = tvmffi_int((int64_t)sizeof(test_py));
  if (test_apply_global("ffi._PyClassRegisterTypeAttrColumns", args, 2, &any))
    return -1;
  return index;
}

/* Makes an object of a class, with `n` more arguments. */
static int test_make(int32_t index, TVMFFIAny *args, int n, TVMFFIAny *made) {
  args[0] = tvmffi_int(index);
  return test_apply_global("ffi.MakeObjectFromPackedArgs", args, 1 + n, made);
}

/* What a field does that its argument leaves out, and one without a setter. */
static void test_field_defaults(void) {
  TVMFFIFieldInfo f;
  TVMFFIAny args[3], any;
  int32_t index;
  args[1] = tvmffi_str("a");
  args[2] = tvmffi_int(8);
  memset((void *)&f, 0, sizeof(f));
  f.name = TEXT("a");
  f.size = 8;
  f.alignment = 8;
  f.offset = (int64_t)offsetof(test_py, a);
  f.flags = kTVMFFIFieldFlagBitMaskHasDefault |
            kTVMFFIFieldFlagBitSetterIsFunctionObj;
  OK(test_make_access(&f, kTVMFFIInt, NULL));
  f.default_value_or_factory = tvmffi_int(5);
  index = test_field_class(&f);
  OK(index < 0 ? -1 : 0);
  OK(test_make(index, args, 0, &any));
  CHECK_INT(((test_py *)any.v_ptr)->a, 5);
  OK(test_make(index, args, 2, &any));
  CHECK_INT(((test_py *)any.v_ptr)->a, 8);
  FAILS(test_apply_attr(index, "__ffi_shallow_copy__", args, 0, &any),
        "TypeError",
        "Mismatched number of arguments when calling: `(0: ffi.Object) -> "
        "ffi.Object`. Expected 1 but got 0 arguments");
  f.default_value_or_factory = tvmffi_str("x");
  index = test_field_class(&f);
  OK(index < 0 ? -1 : 0);
  FAILS(test_make(index, args, 0, &any), "TypeError",
        "Cannot convert from type `ffi.SmallStr` to `int`");
  FAILS(test_apply_attr(index, "__ffi_init__", args, 0, &any), "TypeError",
        "....__ffi_init__() default for field 'a':\n  Cannot convert from ");
  f.default_value_or_factory = tvmffi_int(1);
  f.flags |= kTVMFFIFieldFlagBitMaskDefaultFromFactory;
  index = test_field_class(&f);
  OK(index < 0 ? -1 : 0);
  FAILS(test_make(index, args, 0, &any), "TypeError",
        "Cannot convert from type `int` to `ffi.Function`");
  f.flags = 0;
  f.setter = NULL;
  index = test_field_class(&f);
  OK(index < 0 ? -1 : 0);
  FAILS(test_make(index, args, 2, &any), "AttributeError",
        "Field `a` has no setter");
  args[0] = tvmffi_none();
  FAILS(test_apply_global("ffi.MakeObjectFromPackedArgs", args, 3, &any),
        "TypeError", "Cannot convert from type `None` to `str`");
}

/* Puts a value, or a function, into an attribute of a new type. */
static int32_t test_type_with(const char *attr, TVMFFISafeCallType call) {
  int32_t index = test_type(test_fresh("unit.Odd"), -1, 1, 0, 1, kTVMFFIObject);
  TVMFFIByteArray name = TEXT(attr);
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny value = tvmffi_int(3);
  int code;
  if (index < 0) return -1;
  if (call) {
    if (TVMFFIFunctionCreate(NULL, call, NULL, &f)) return -1;
    value = tvmffi_obj((TVMFFIObject *)f);
  }
  code = TVMFFITypeRegisterAttr(index, &name, &value);
  tvmffi_release(f);
  return code ? -1 : index;
}

static int test_give_one(void *self, const TVMFFIAny *args, int32_t num_args,
                         TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args;
  *result = tvmffi_int(1);
  return 0;
}

/* What makes and copies objects, but is no function, or gives no object. */
static void test_bad_makers(void) {
  int32_t index = test_type_with("__ffi_new__", NULL);
  TVMFFIObject *o, *copy = NULL;
  TVMFFIAny args[1], any;
  OK(index < 0 ? -1 : 0);
  FAILS(test_make(index, args, 0, &any), "TypeError",
        "Cannot convert from type `int` to `ffi.Function`");
  index = test_type_with("__ffi_new__", test_give_one);
  OK(index < 0 ? -1 : 0);
  FAILS(test_make(index, args, 0, &any), "RuntimeError", "...` made none");
  index = test_type_with("__ffi_shallow_copy__", NULL);
  OK(index < 0 ? -1 : 0);
  o = tvmffi_i_new_object(index, sizeof(test_py));
  OK(o ? 0 : -1);
  OWN(o);
  FAILS(test_deep_copy(o, &copy), "TypeError",
        "Cannot convert from type `int` to `ffi.Function`");
  index = test_type_with("__ffi_shallow_copy__", test_give_one);
  OK(index < 0 ? -1 : 0);
  o = tvmffi_i_new_object(index, sizeof(test_py));
  OK(o ? 0 : -1);
  OWN(o);
  FAILS(test_deep_copy(o, &copy), "TypeError", "...The shallow copy of a unit");
}

/* More fields than a constructor keeps in its frame. */
static void test_many_fields(void) {
  enum { MANY = 70 };
  static char names[MANY][4];
  int32_t index =
      test_type(test_fresh("unit.Many"), -1, 1, 0, 1, kTVMFFIObject);
  TVMFFIFieldInfo f;
  TVMFFIAny args[3], any;
  int i;
  OK(index < 0 ? -1 : 0);
  for (i = 0; i < MANY; ++i) {
    names[i][0] = 'f';
    names[i][1] = (char)('0' + i / 10);
    names[i][2] = (char)('0' + i % 10);
    f = test_field(names[i], (int64_t)sizeof(TVMFFIObject) + 4 * i);
    f.flags |= kTVMFFIFieldFlagBitMaskHasDefault;
    f.default_value_or_factory = tvmffi_int(i);
    OK(TVMFFITypeRegisterField(index, &f));
  }
  args[0] = tvmffi_int(index);
  args[1] = tvmffi_int((int64_t)sizeof(TVMFFIObject) + 4 * MANY);
  OK(test_apply_global("ffi._PyClassRegisterTypeAttrColumns", args, 2, &any));
  args[0] = tvmffi_obj(&tvmffi_i_kwargs_object);
  args[1] = tvmffi_str("f66");
  args[2] = tvmffi_int(-1);
  OK(test_apply_attr(index, "__ffi_init__", args, 3, &any));
  CHECK_INT(((int32_t *)(void *)(any.v_obj + 1))[65], 65);
  CHECK_INT(((int32_t *)(void *)(any.v_obj + 1))[66], -1);
  CHECK_INT(((int32_t *)(void *)(any.v_obj + 1))[69], 69);
}

static void test_deep_objects(void) {
  const char *key = test_fresh("unit.Chain");
  int32_t index = test_py_class(key, tvmffi_none());
  TVMFFIAny args[2], any = tvmffi_none();
  TVMFFIAny init = tvmffi_none();
  int i, n = test_scale(TEST_CHAIN, 40);
  OK(index < 0 ? -1 : 0);
  init = test_value_of(index, "__ffi_init__");
  for (i = 0; i < n; ++i) {
    TVMFFIAny next = tvmffi_none();
    int code;
    args[0] = tvmffi_int(i);
    args[1] = any;
    code = TVMFFIFunctionCall(init.v_obj, args, 2, &next);
    tvmffi_any_release(&any);
    OK(code);
    any = next;
  }
  CHECK_INT(test_strong(any.v_obj), 1);
  tvmffi_any_release(&any);
}

/* The path root.`first`[`second`], owned by the test. */
static TVMFFIObject *test_path(const char *first, int64_t second) {
  const TVMFFIMethodInfo *m = TVMFFIGetTypeInfo(133)->methods;
  TVMFFIAny args[2], any;
  if (test_apply(m[0].method.v_obj, NULL, 0, &args[0])) return NULL;
  args[1] = tvmffi_str(first);
  if (test_apply(m[2].method.v_obj, args, 2, &any)) return NULL;
  args[0] = any;
  args[1] = tvmffi_int(second);
  if (test_apply(m[3].method.v_obj, args, 2, &any)) return NULL;
  return any.v_obj;
}

static void test_paths(void) {
  TVMFFIObject *p, *q, *r;
  const TVMFFIMethodInfo *m;
  TVMFFIAny args[2], any;
  OK(TVMFFIGetTypeInfo(133) ? 0 : -1);
  m = TVMFFIGetTypeInfo(133)->methods;
  p = test_path("a long attribute", 2);
  OK(p ? 0 : -1);
  q = test_path("a long attribute", 2);
  OK(q ? 0 : -1);
  r = test_path("a long attribute", 3);
  OK(r ? 0 : -1);
  args[0] = tvmffi_obj(p);
  args[1] = tvmffi_obj(q);
  OK(test_apply(m[10].method.v_obj, args, 2, &any));
  CHECK_INT(any.v_int64, 1);
  args[1] = tvmffi_obj(r);
  OK(test_apply(m[10].method.v_obj, args, 2, &any));
  CHECK_INT(any.v_int64, 0);
  args[0] = tvmffi_obj(((tvmffi_i_path *)(void *)p)->parent);
  OK(test_apply(m[8].method.v_obj, args, 2, &any));
  CHECK_INT(any.v_int64, 1);
  args[0] = tvmffi_obj(r);
  OK(test_apply(m[9].method.v_obj, args, 1, &any));
  CHECK_INT(TVMFFI_I_CELL(TVMFFISeqCell, any.v_obj)->size, 2);
  any = ((TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, any.v_obj)->data)[0];
  CHECK_INT(((tvmffi_i_step *)any.v_ptr)->kind, 0);
  FAILS(test_apply(m[1].method.v_obj, args, 1, &any), "TypeError",
        "Mismatched number of arguments when calling: "
        "`ffi.reflection.AccessPath._extend(0: ffi.reflection.AccessPath, 1: "
        "ffi.reflection.AccessStep) -> ffi.reflection.AccessPath`. Expected 2 "
        "but got 1 arguments");
}

/* Every kind of a step, and paths that share what they end with. */
static void test_path_steps(void) {
  static const int kinds[] = {
      TVMFFI_I_STEP_MAP_ITEM, TVMFFI_I_STEP_ATTR_MISSING,
      TVMFFI_I_STEP_ARRAY_ITEM_MISSING, TVMFFI_I_STEP_MAP_ITEM_MISSING};
  const TVMFFIMethodInfo *m;
  TVMFFIAny args[2], any, root, q;
  tvmffi_i_path *path;
  int i;
  OK(TVMFFIGetTypeInfo(133) ? 0 : -1);
  m = TVMFFIGetTypeInfo(133)->methods;
  OK(test_apply(m[0].method.v_obj, NULL, 0, &root));
  for (i = 0; i < 4; ++i) {
    args[0] = root;
    args[1] = i == 2 ? tvmffi_int(6) : tvmffi_str("a key of some length");
    OK(test_apply(m[4 + i].method.v_obj, args, 2, &any));
    path = (tvmffi_i_path *)any.v_ptr;
    CHECK_INT(path->depth, 1);
    CHECK_INT(((tvmffi_i_step *)(void *)path->step)->kind, kinds[i]);
    CHECK_INT(((tvmffi_i_step *)(void *)path->step)->key.type_index,
              i == 2 ? kTVMFFIInt : kTVMFFIStr);
    args[1] = tvmffi_obj(path->step);
    OK(test_apply(m[1].method.v_obj, args, 2, &q));
    CHECK(((tvmffi_i_path *)q.v_ptr)->step == path->step);
    args[0] = any;
    args[1] = q;
    OK(test_apply(m[10].method.v_obj, args, 2, &any));
    CHECK_INT(any.v_int64, 1);
  }
}

/* Paths that cannot be: a parent that is none, a cycle, too long a path. */
static void test_bad_paths(void) {
  const TVMFFIMethodInfo *m;
  TVMFFIObject *p, *q;
  TVMFFIAny args[2], any;
  tvmffi_i_path *path, *parent;
  OK(TVMFFIGetTypeInfo(133) ? 0 : -1);
  m = TVMFFIGetTypeInfo(133)->methods;
  p = test_path("a", 1);
  OK(p ? 0 : -1);
  q = test_path("b", 1);
  OK(q ? 0 : -1);
  path = (tvmffi_i_path *)(void *)p;
  parent = (tvmffi_i_path *)(void *)path->parent;
  args[0] = tvmffi_obj(p);
  args[1] = tvmffi_obj(q);
  parent->depth = 2;
  FAILS(test_apply(m[9].method.v_obj, args, 1, &any), "InternalError",
        "The access path is malformed");
  FAILS(test_apply(m[10].method.v_obj, args, 2, &any), "InternalError",
        "The access path is malformed");
  parent->depth = 1;
  path->parent = path->step;
  path->step = &parent->base;
  FAILS(test_apply(m[9].method.v_obj, args, 1, &any), "InternalError",
        "The access path is malformed");
  path->step = path->parent;
  path->parent = &parent->base;
  path->depth = 2147483647;
  args[1] = tvmffi_str("c");
  FAILS(test_apply(m[2].method.v_obj, args, 2, &any), "OverflowError",
        "The path is too long");
}

static void test_converts(void) {
  TVMFFIAny any, *items = NULL, value;
  TVMFFIObject *array = tvmffi_i_new_array(2, &items);
  static const char convert[] = "__ffi_convert__";
  TVMFFIByteArray text;
  OK(array ? 0 : -1);
  OWN(array);
  items[0] = tvmffi_int(3);
  items[1] = tvmffi_bool(1);
  value = tvmffi_obj(array);
  OK(test_apply_attr(kTVMFFIShape, convert, &value, 1, &any));
  CHECK_INT(any.type_index, kTVMFFIShape);
  CHECK_INT(TVMFFIShapeGetCellPtr(any.v_obj)->data[1], 1);
  OK(test_apply_attr(kTVMFFIList, convert, &value, 1, &any));
  CHECK_INT(any.type_index, kTVMFFIList);
  CHECK_INT(TVMFFI_I_CELL(TVMFFISeqCell, any.v_obj)->size, 2);
  OK(test_apply_attr(kTVMFFIArray, convert, &value, 1, &any));
  CHECK(any.v_obj == array);
  items[0] = tvmffi_none();
  FAILS(test_apply_attr(kTVMFFIShape, convert, &value, 1, &any), "TypeError",
        "Cannot cast from `ffi.Array` to `ffi.Shape`");
  FAILS(test_apply_attr(kTVMFFIMap, convert, &value, 1, &any), "TypeError",
        "Cannot cast from `ffi.Array` to `Map<Any, Any>`");
  value = tvmffi_str("a raw string that is long");
  OK(test_apply_attr(kTVMFFIStr, convert, &value, 1, &any));
  CHECK_INT(any.type_index, kTVMFFIStr);
  FAILS(test_apply_attr(kTVMFFIBytes, convert, &value, 1, &any), "TypeError",
        "Cannot cast from `const char*` to `bytes`");
  text = test_bytes("nine bytes", 9);
  value = tvmffi_bytes(&text);
  OK(test_apply_attr(kTVMFFIBytes, convert, &value, 1, &any));
  CHECK_INT(any.type_index, kTVMFFIBytes);
  CHECK_BYTES(tvmffi_any_str(&any), "nine byte", 9);
  OK(test_apply_global("ffi.Map", NULL, 0, &value));
  OK(test_apply_attr(kTVMFFIDict, convert, &value, 1, &any));
  CHECK_INT(any.type_index, kTVMFFIDict);
  value = tvmffi_none();
  OK(test_apply_attr(kTVMFFITensor, convert, &value, 1, &any));
  CHECK_INT(any.type_index, kTVMFFINone);
  FAILS(test_apply_attr(kTVMFFIError, convert, &value, 1, &any), "TypeError",
        "Cannot cast from `None` to `ffi.Error`");
  FAILS(test_apply_attr(kTVMFFIDict, convert, &value, 0, &any), "TypeError",
        "Mismatched number of arguments when calling: "
        "`ffi.Dict.__ffi_convert__(0: AnyView) -> Dict<Any, Any>`. Expected 1 "
        "but got 0 arguments");
}

/* What the columns give to C++: a hash and an equality of big integers. */
static void test_bigint_columns(void) {
  typedef TVMFFIAny (*unary)(const TVMFFIAny *);
  typedef TVMFFIAny (*binary)(const TVMFFIAny *, const TVMFFIAny *);
  int64_t words[2] = {5, 9};
  TVMFFIByteArray bytes = test_bytes((const char *)words, sizeof(words));
  TVMFFIAny a, b, hash, equal, none = tvmffi_none();
  unary hash_of;
  binary is_equal;
  OK(TVMFFIBigIntFromByteArray(&bytes, &a));
  OWN_ANY(a);
  OK(TVMFFIBigIntFromByteArray(&bytes, &b));
  OWN_ANY(b);
  hash_of =
      (unary)(uintptr_t)test_value_of(kTVMFFIBigInt, "__any_hash__").v_ptr;
  is_equal =
      (binary)(uintptr_t)test_value_of(kTVMFFIBigInt, "__any_equal__").v_ptr;
  OK(hash_of && is_equal ? 0 : -1);
  hash = hash_of(&a);
  CHECK_INT(hash.type_index, kTVMFFIInt);
  CHECK_INT(hash.v_int64, tvmffi_i_stable_hash((const char *)words, 16));
  equal = is_equal(&a, &b);
  CHECK(equal.type_index == kTVMFFIBool && equal.v_int64 == 1);
  hash = hash_of(&none);
  CHECK_INT(hash.type_index, kTVMFFIError);
  tvmffi_any_release(&hash);
}

/* The hash of a structural key, which C++ takes from a column, too. */
static void test_structural_key_hash(void) {
  typedef TVMFFIAny (*unary)(const TVMFFIAny *);
  TVMFFIAny key, hash, none = tvmffi_none();
  unary hash_of;
  OK(test_apply_attr(TVMFFI_I_STRUCTURAL_KEY, "__ffi_new__", NULL, 0, &key));
  ((tvmffi_i_structural_key *)key.v_ptr)->hash = 77;
  hash_of =
      (unary)(uintptr_t)test_value_of(TVMFFI_I_STRUCTURAL_KEY, "__any_hash__")
          .v_ptr;
  OK(hash_of ? 0 : -1);
  hash = hash_of(&key);
  CHECK(hash.type_index == kTVMFFIInt && hash.v_int64 == 77);
  hash = hash_of(&none);
  CHECK_INT(hash.type_index, kTVMFFIError);
  tvmffi_any_release(&hash);
}

static void test_interrupts(void) {
  TVMFFIAny value = tvmffi_str("why the visit ends here"), any;
  OK(test_apply_global("ffi.VisitInterrupt", &value, 1, &any));
  CHECK_INT(any.type_index, kTVMFFIVisitInterrupt);
  CHECK_TEXT(tvmffi_any_str(&((tvmffi_i_interrupt *)any.v_ptr)->value),
             "why the visit ends here");
}

static void test_type_keys(void) {
  const TVMFFISeqCell *cell;
  TVMFFIAny any;
  int64_t i, found = 0;
  OK(test_apply_global("ffi.GetRegisteredTypeKeys", NULL, 0, &any));
  cell = TVMFFI_I_CELL(TVMFFISeqCell, any.v_obj);
  CHECK(cell->size >= 39);
  for (i = 0; i < cell->size; ++i)
    found +=
        tvmffi_i_same_text(tvmffi_any_str((const TVMFFIAny *)cell->data + i),
                           TEXT("ffi.StructuralKey"));
  CHECK_INT(found, 1);
}

static int test_deep_copy(TVMFFIObject *from, TVMFFIObject **copy) {
  TVMFFIAny any, arg = tvmffi_obj(from);
  TVMFFI_TRY(test_apply_global("ffi.DeepCopy", &arg, 1, &any));
  *copy = any.v_obj;
  return 0;
}

static TVMFFIObject *test_item(TVMFFIObject *seq, int64_t i) {
  return ((TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, seq)->data)[i].v_obj;
}

/* A graph keeps its shape: what is shared is copied once. */
static void test_deep_copies(void) {
  TVMFFIObject *list = tvmffi_i_new_list(0), *array, *copy = NULL, *dict;
  TVMFFIAny *items = NULL, key, value;
  OK(list ? 0 : -1);
  OWN(list);
  array = tvmffi_i_new_array(2, &items);
  OK(array ? 0 : -1);
  OWN(array);
  tvmffi_retain(list);
  items[0] = tvmffi_obj(list);
  tvmffi_retain(list);
  items[1] = tvmffi_obj(list);
  value = tvmffi_int(7);
  OK(tvmffi_i_list_append(list, &value));
  OK(test_deep_copy(array, &copy));
  CHECK(copy != array && test_item(copy, 0) != list);
  CHECK(test_item(copy, 0) == test_item(copy, 1));
  dict = tvmffi_i_new_map(kTVMFFIMap, 0);
  OK(dict ? 0 : -1);
  key = tvmffi_obj(array);
  value = tvmffi_obj(list);
  if (tvmffi_i_map_set(&dict, &key, &value)) {
    tvmffi_release(dict);
    OK(-1);
    return;
  }
  OWN(dict);
  OK(test_deep_copy(dict, &copy));
  CHECK_INT(tvmffi_i_map_size(copy), 1);
  CHECK(tvmffi_i_map_pair(copy, tvmffi_i_map_begin(copy))->key.v_obj != array);
}

/* Cycles through a list, a dict and an array, which is made last. */
static void test_cyclic_copies(void) {
  TVMFFIObject *list = tvmffi_i_new_list(0), *array, *copy = NULL, *dict;
  TVMFFIAny *items = NULL, key = tvmffi_int(1), value;
  int code;
  OK(list ? 0 : -1);
  OWN(list);
  array = tvmffi_i_new_array(1, &items);
  OK(array ? 0 : -1);
  OWN(array);
  dict = tvmffi_i_new_map(kTVMFFIDict, 0);
  OK(dict ? 0 : -1);
  OWN(dict);
  tvmffi_retain(list);
  items[0] = tvmffi_obj(list);
  value = tvmffi_obj(dict);
  OK(tvmffi_i_list_append(list, &value));
  value = tvmffi_obj(array);
  code = tvmffi_i_map_set(&dict, &key, &value);
  if (!code) {
    code = test_deep_copy(array, &copy);
    if (!code) {
      TVMFFIObject *inner = test_item(test_item(copy, 0), 0);
      const tvmffi_i_pair *pair =
          tvmffi_i_map_pair(inner, tvmffi_i_map_begin(inner));
      CHECK(copy != array && inner != dict);
      CHECK(pair && pair->value.v_obj == copy);
      OK(tvmffi_i_map_erase(&inner, &key));
    }
    (void)tvmffi_i_map_erase(&dict, &key);
  }
  OK(code);
}

/* A cycle through an object: the array is made last, so that the object's copy
   and the list in it are to be told of it. */
static void test_cyclic_object_copies(void) {
  int32_t index = test_py_class(test_fresh("unit.Cycle"), tvmffi_none());
  TVMFFIObject *o, *array, *list, *copy = NULL;
  TVMFFIAny *items = NULL, value;
  test_py *from, *to;
  int code;
  OK(index < 0 ? -1 : 0);
  o = tvmffi_i_new_object(index, sizeof(test_py));
  OK(o ? 0 : -1);
  OWN(o);
  from = (test_py *)(void *)o;
  from->a = 6;
  list = tvmffi_i_new_list(1);
  OK(list ? 0 : -1);
  OWN(list);
  array = tvmffi_i_new_array(2, &items);
  OK(array ? 0 : -1);
  OWN(array);
  tvmffi_retain(o);
  items[0] = tvmffi_obj(o);
  tvmffi_retain(list);
  items[1] = tvmffi_obj(list);
  value = tvmffi_obj(array);
  OK(tvmffi_i_list_append(list, &value));
  tvmffi_retain(array);
  from->c = array;
  code = test_deep_copy(array, &copy);
  if (!code) {
    to = (test_py *)(void *)test_item(copy, 0);
    list = test_item(copy, 1);
    CHECK(to != from && to->a == 6);
    CHECK(to->c == copy && test_item(list, 0) == copy);
    tvmffi_release(to->c);
    to->c = NULL;
    tvmffi_any_release((TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, list)->data);
  }
  tvmffi_release(from->c);
  from->c = NULL;
  tvmffi_any_release(
      (TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, items[1].v_obj)->data);
  OK(code);
}

/* Two fields at one place, of which a copy counts what they hold once. */
static void test_aliased_fields(void) {
  TVMFFIAny e, copy, text;
  TVMFFIByteArray long_text = TEXT("a text of its own");
  const TVMFFIFieldInfo *f;
  OK(test_apply_attr(TVMFFI_I_STR_ENUM, "__ffi_new__", NULL, 0, &e));
  OK(TVMFFIStringFromByteArray(&long_text, &text));
  OWN_ANY(text);
  f = TVMFFIGetTypeInfo(TVMFFI_I_STR_ENUM)->fields;
  OK(tvmffi_i_set_field(f, e.v_obj, &text));
  CHECK_INT(test_strong(text.v_obj), 2);
  OK(test_apply_attr(TVMFFI_I_STR_ENUM, "__ffi_shallow_copy__", &e, 1, &copy));
  CHECK_INT(test_strong(text.v_obj), 3);
  test_drop(copy.v_obj);
  test_drop(e.v_obj);
  CHECK_INT(test_strong(text.v_obj), 1);
}

static void test_bad_copies(void) {
  TVMFFIObject *copy = NULL, *o;
  TVMFFIAny any, arg;
  OK(TVMFFIGetTypeInfo(133) ? 0 : -1);
  o = test_path("a", 1);
  OK(o ? 0 : -1);
  OK(test_deep_copy(o, &copy));
  CHECK(copy != o && ((tvmffi_i_path *)(void *)copy)->parent !=
                         ((tvmffi_i_path *)(void *)o)->parent);
  FAILS(test_deep_copy(test_value_of(133, "__ffi_new__").v_obj, &copy),
        "InternalError",
        "Cannot deep copy object of type \"ffi.Function\" because it is not "
        "copy-constructible");
  arg = tvmffi_str("a raw string, which is copied");
  OK(test_apply_global("ffi.DeepCopy", &arg, 1, &any));
  CHECK_INT(any.type_index, kTVMFFIStr);
  OK(test_apply_attr(129, "__ffi_new__", NULL, 0, &arg));
  OK(test_deep_copy(arg.v_obj, &copy));
  CHECK(copy == arg.v_obj);
  arg = tvmffi_none();
  arg.type_index = kTVMFFIObject;
  FAILS(test_apply_global("ffi.DeepCopy", &arg, 1, &any), "ValueError",
        "...AnyViewToOwnedAny: any_view->v_obj must not be NULL");
}

/* As deep as upstream allows, on a stack of its own. */
static void test_deepest_copy(void) {
  TVMFFIObject *list = tvmffi_i_new_list(0), *copy = NULL;
  int i, n = test_scale(TEST_CHAIN < 20000 ? TEST_CHAIN : 20000, 20);
  for (i = 0; list && i < n; ++i) {
    TVMFFIObject *outer = tvmffi_i_new_list(1);
    TVMFFIAny any = tvmffi_obj(list);
    if (outer && tvmffi_i_list_append(outer, &any)) {
      tvmffi_release(outer);
      outer = NULL;
    }
    tvmffi_release(list);
    list = outer;
  }
  OK(list ? 0 : -1);
  OWN(list);
  OK(test_deep_copy(list, &copy));
  CHECK(test_item(copy, 0) != test_item(list, 0));
}

/* The fields of the built-in types that hold objects of some types only. */
static void test_reference_fields(void) {
  typedef struct {
    TVMFFIObject base;
    TVMFFIObject *imports;
  } fake_module;
  fake_module m;
  TVMFFIObject *path = test_path("a", 1);
  const TVMFFIFieldInfo *f;
  TVMFFIAny list, state, value = tvmffi_int(5);
  OK(path ? 0 : -1);
  f = TVMFFIGetTypeInfo(TVMFFI_I_ACCESS_PATH)->fields;
  FAILS(tvmffi_i_set_field(&f[0], path, &value), "TypeError",
        "Cannot convert from type `int` to `Optional<ffi.Object>`");
  FAILS(tvmffi_i_set_field(&f[1], path, &value), "TypeError",
        "Cannot convert from type `int` to "
        "`Optional<ffi.reflection.AccessStep>`");
  OK(test_apply_global("ffi.List", &value, 1, &list));
  FAILS(tvmffi_i_set_field(&f[1], path, &list), "TypeError", NULL);
  OK(test_apply_attr(TVMFFI_I_ENUM_STATE, "__ffi_new__", NULL, 0, &state));
  f = TVMFFIGetTypeInfo(TVMFFI_I_ENUM_STATE)->fields;
  FAILS(tvmffi_i_set_field(&f[0], state.v_obj, &list), "TypeError",
        "Cannot convert from type `List[index 0: int]` to `List<ffi.Object>`");
  memset((void *)&m, 0, sizeof(m));
  f = TVMFFIGetTypeInfo(kTVMFFIModule)->fields;
  FAILS(tvmffi_i_set_field(f, &m, &value), "TypeError",
        "Cannot convert from type `int` to `Array<Any>`");
  OK(tvmffi_i_set_field(f, &m, &list));
  OWN(m.imports);
  CHECK_INT(m.imports->type_index, kTVMFFIArray);
}

/* Attributes of an enum: a dict of strings, whose values are dicts of objects.
   Maps become dicts, inside as well. */
static void test_enum_attributes(void) {
  TVMFFIAny state, pair[4], inner, any;
  TVMFFIObject *held;
  const TVMFFIFieldInfo *f;
  OK(test_apply_attr(TVMFFI_I_ENUM_STATE, "__ffi_new__", NULL, 0, &state));
  f = &TVMFFIGetTypeInfo(TVMFFI_I_ENUM_STATE)->fields[2];
  pair[0] = tvmffi_obj(&tvmffi_i_kwargs_object);
  pair[1] = tvmffi_int(4);
  OK(test_apply_global("ffi.Map", pair, 2, &inner));
  pair[0] = tvmffi_str("name");
  pair[1] = inner;
  OK(test_apply_global("ffi.Map", pair, 2, &any));
  OK(tvmffi_i_set_field(f, state.v_obj, &any));
  held = ((tvmffi_i_enum_state *)state.v_ptr)->attrs;
  CHECK_INT(held->type_index, kTVMFFIDict);
  pair[1] = tvmffi_obj(&tvmffi_i_kwargs_object);
  OK(test_apply_global("ffi.Map", pair, 2, &any));
  OK(tvmffi_i_set_field(f - 1, state.v_obj, &any));
  any = test_get_field(state.v_obj, "indexes");
  CHECK_INT(any.type_index, kTVMFFIDict);
  CHECK_INT(tvmffi_i_map_size(any.v_obj), 1);
  any = tvmffi_i_map_pair(held, tvmffi_i_map_begin(held))->value;
  CHECK_INT(any.type_index, kTVMFFIDict);
  CHECK(any.v_obj != inner.v_obj);
  CHECK_INT(tvmffi_i_map_size(any.v_obj), 1);
  pair[1] = any;
  OK(test_apply_global("ffi.Dict", pair, 2, &any));
  OK(tvmffi_i_set_field(f, state.v_obj, &any));
  CHECK(((tvmffi_i_enum_state *)state.v_ptr)->attrs == any.v_obj);
  pair[0] = tvmffi_obj(&tvmffi_i_kwargs_object);
  pair[1] = pair[2] = pair[3] = tvmffi_int(4);
  OK(test_apply_global("ffi.Map", pair, 4, &inner));
  pair[0] = tvmffi_str("name");
  pair[1] = inner;
  OK(test_apply_global("ffi.Map", pair, 2, &any));
  FAILS(tvmffi_i_set_field(f, state.v_obj, &any), "TypeError",
        "Cannot convert from type `Dict[K, some value is Dict[some key is int, "
        "V]]` to `Dict<str, Dict<ffi.Object, Any>>`");
  any = tvmffi_int(1);
  FAILS(tvmffi_i_set_field(f, state.v_obj, &any), "TypeError",
        "Cannot convert from type `int` to `Dict<str, Dict<ffi.Object, Any>>`");
}

static void test_enum_fields(void) {
  TVMFFIAny state, any;
  TVMFFIObject *map = tvmffi_i_new_map(kTVMFFIMap, 0);
  const TVMFFIFieldInfo *f;
  TVMFFIAny key = tvmffi_int(1), value = tvmffi_int(2);
  OK(map ? 0 : -1);
  OWN(map);
  OK(test_apply_attr(128, "__ffi_new__", NULL, 0, &state));
  f = TVMFFIGetTypeInfo(128)->fields;
  any = tvmffi_obj(map);
  OK(tvmffi_i_set_field(&f[1], state.v_obj, &any));
  CHECK_INT(test_get_field(state.v_obj, "indexes").type_index, kTVMFFIDict);
  OK(tvmffi_i_map_set(&map, &key, &value));
  any = tvmffi_obj(map);
  FAILS(tvmffi_i_set_field(&f[1], state.v_obj, &any), "TypeError",
        "Cannot convert from type `Dict[K, some value is int]` to `Dict<Any, "
        "ffi.Object>`");
  FAILS(tvmffi_i_set_field(&f[2], state.v_obj, &any), "TypeError",
        "Cannot convert from type `Dict[some key is int, V]` to `Dict<str, "
        "Dict<ffi.Object, Any>>`");
  FAILS(tvmffi_i_set_field(&f[0], state.v_obj, &any), "TypeError",
        "Cannot convert from type `ffi.Map` to `List<ffi.Object>`");
}
#endif

#if !TVMFFI_NO_EXTRA
/* ======== Comparison and repr ============================================= */

static int test_repr(TVMFFIAny value, TVMFFIAny *text) {
  return test_apply_global("ffi.ReprPrint", &value, 1, text);
}

#define CHECK_REPR(value, want)                                 \
  do {                                                          \
    TVMFFIAny shown;                                            \
    OK(test_repr(value, &shown));                               \
    CHECK_TEXT(tvmffi_any_str(&shown), want);                   \
    if (shown.type_index == kTVMFFIStr) test_drop(shown.v_obj); \
  } while (0)

/* A list that the test owns; its items are borrowed. */
static int test_list(TVMFFIAny *list, TVMFFIAny a, TVMFFIAny b) {
  TVMFFIAny items[2];
  items[0] = a;
  items[1] = b;
  return test_apply_global("ffi.List", items, 2, list);
}

static int test_map_of(const char *kind, TVMFFIAny *map, TVMFFIAny key,
                       TVMFFIAny value) {
  TVMFFIAny items[2];
  items[0] = key;
  items[1] = value;
  return test_apply_global(kind, items, 2, map);
}

static TVMFFIAny test_bits(uint64_t bits) {
  TVMFFIAny any = tvmffi_none();
  any.type_index = kTVMFFIFloat;
  any.v_uint64 = bits;
  return any;
}

static void test_repr_values(void) {
  DLDevice device = {kDLCUDA, 1}, strange = {(DLDeviceType)99, 0};
  DLDataType dtype = {kDLFloat, 16, 4};
  TVMFFIByteArray bytes = {"a\0\xFF\"\\ longer", 12};
  CHECK_REPR(tvmffi_none(), "None");
  CHECK_REPR(tvmffi_bool(1), "True");
  CHECK_REPR(tvmffi_int(INT64_MIN), "-9223372036854775808");
  CHECK_REPR(tvmffi_dtype(dtype), "float16x4");
  CHECK_REPR(tvmffi_device(device), "cuda:1");
  CHECK_REPR(tvmffi_device(strange), "unknown:0");
  CHECK_REPR(tvmffi_str("x"), "\"x\"");
  CHECK_REPR(tvmffi_bytes(&bytes), "b\"a\\x00\\xff\\x22\\x5c longer\"");
  CHECK_REPR(tvmffi_ptr(&device), "void*");
  CHECK_REPR(tvmffi_obj(&tvmffi_i_kwargs_object), "<KWARGS>");
  CHECK_REPR(tvmffi_obj(&tvmffi_i_invalid_object), "<MISSING>");
}

static void test_repr_escapes(void) {
  CHECK_REPR(tvmffi_str("\n\t\r\\\"\x01\x7F"),
             "\"\\n\\t\\r\\\\\\\"\\x01\\x7f\"");
  CHECK_REPR(tvmffi_str("\xC3\xA9\xE6\xBC\xA2\xF0\x9F\x98\x80"),
             "\"\\u00e9\\u6f22\\U0001f600\"");
  CHECK_REPR(tvmffi_str("\xC3\xE6\xBC-\xFF\x80"),
             "\"\\xc3\\xe6\\xbc-\\xff\\x80\"");
  CHECK_REPR(tvmffi_str("\x1B[1;31mred\x1B[K\x1B[4x"),
             "\"\\x1b[1;31mred\\x1b[K\\x1b[4x\"");
}

/* Six digits, the exact value rounded, a half to even. */
static void test_repr_floats(void) {
  CHECK_REPR(test_bits(0), "0");
  CHECK_REPR(test_bits((uint64_t)1 << 63), "-0");
  CHECK_REPR(test_bits(0x3FF8000000000000u), "1.5");
  CHECK_REPR(test_bits(0x3FB999999999999Au), "0.1");
  CHECK_REPR(test_bits(0x3F1A36E2EB1C432Du), "0.0001");
  CHECK_REPR(test_bits(0x3EE4F8B588E368F1u), "1e-05");
  CHECK_REPR(test_bits(0x412E847F00000000u), "1e+06");
  CHECK_REPR(test_bits(0x412E847E00000000u), "999999");
  CHECK_REPR(test_bits(0x40FE240C9FBE76C9u), "123457");
  CHECK_REPR(test_bits(0x436966C77417AC80u), "5.7199e+16");
  CHECK_REPR(test_bits(1), "4.94066e-324");
  CHECK_REPR(test_bits(0x7FEFFFFFFFFFFFFFu), "1.79769e+308");
  CHECK_REPR(test_bits(0x7FF0000000000000u), "inf");
  CHECK_REPR(test_bits(0xFFF8000000000000u), "-nan");
}

/* A big integer of up to three words, the lowest first, that the test owns. */
static int test_bigint(TVMFFIAny *any, int64_t low, int64_t middle,
                       int64_t high) {
  int64_t words[3];
  TVMFFIByteArray content = {NULL, sizeof(words)};
  words[0] = low;
  words[1] = middle;
  words[2] = high;
  content.data = (const char *)words;
  TVMFFI_TRY(TVMFFIBigIntFromByteArray(&content, any));
  OWN_ANY(*any);
  return 0;
}

static void test_repr_bigints(void) {
  TVMFFIAny any;
  OK(test_bigint(&any, 0, 64, 0));
  CHECK_REPR(any, "1180591620717411303424");
  OK(test_bigint(&any, 0, 0, -1));
  CHECK_REPR(any, "-340282366920938463463374607431768211456");
  OK(test_bigint(&any, -1, 0, 0));
  CHECK_REPR(any, "18446744073709551615");
}

/* What is met again is written again, and what is open is not. */
static void test_repr_graph(void) {
  TVMFFIAny inner, outer, map, array, text, one = tvmffi_int(1);
  int code;
  OK(test_list(&inner, one, tvmffi_str("a")));
  OK(test_list(&outer, inner, inner));
  CHECK_REPR(outer, "[[1, \"a\"], [1, \"a\"]]");
  OK(test_map_of("ffi.Dict", &map, tvmffi_int(5), outer));
  CHECK_REPR(map, "{5: [[1, \"a\"], [1, \"a\"]]}");
  OK(test_apply_global("ffi.List", NULL, 0, &array));
  OK(test_repr(array, &text));
  CHECK_INT(text.type_index, kTVMFFIStr);
  CHECK_TEXT(tvmffi_any_str(&text), "[]");
  OK(test_apply_global("ffi.Array", &map, 1, &array));
  CHECK_REPR(array, "({5: [[1, \"a\"], [1, \"a\"]]},)");
  OK(tvmffi_i_list_append(inner.v_obj, &outer));
  code = test_repr(outer, &text);
  tvmffi_any_release(
      (TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, inner.v_obj)->data + 2);
  OK(code);
  CHECK_TEXT(tvmffi_any_str(&text), "[[1, \"a\", ...], [1, \"a\", ...]]");
}

/* What JSON reads: a beginning, `n` times a text, a middle, `n` times another
   text, and an end. */
typedef struct {
  const char *begin, *open, *middle, *close, *end;
} test_nest_text;

static int test_make_nest(const test_nest_text *nest, int n, TVMFFIAny *value) {
  tvmffi_i_text_buffer b = {NULL, 0, 0, 0};
  TVMFFIAny text;
  int i;
  tvmffi_i_text_str(&b, nest->begin);
  for (i = 0; i < n; ++i) tvmffi_i_text_str(&b, nest->open);
  tvmffi_i_text_str(&b, nest->middle);
  for (i = 0; i < n; ++i) tvmffi_i_text_str(&b, nest->close);
  tvmffi_i_text_str(&b, nest->end);
  TVMFFI_TRY(tvmffi_i_text_take(&b, &text));
  OWN_ANY(text);
  return test_apply_global("ffi.json.Parse", &text, 1, value);
}

/* A list (owned by the test) that has itself `n` times, and as often another
   one, which has `n` numbers. */
static int test_make_knot(int n, TVMFFIAny *value) {
  TVMFFIAny one = tvmffi_int(1), inner;
  int i, code = 0;
  TVMFFI_TRY(test_apply_global("ffi.List", NULL, 0, value));
  TVMFFI_TRY(test_apply_global("ffi.List", NULL, 0, &inner));
  for (i = 0; i < n && !code; ++i) {
    code = tvmffi_i_list_append(inner.v_obj, &one);
    if (!code) code = tvmffi_i_list_append(value->v_obj, &inner);
    if (!code) code = tvmffi_i_list_append(value->v_obj, value);
  }
  return code;
}

/* So that it ends. */
static void test_undo_knot(TVMFFIObject *list) {
  TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, list);
  while (cell->size) tvmffi_any_release((TVMFFIAny *)cell->data + --cell->size);
}

/* How many bytes a value's text has, and how many are needed for it at most at
   a time, itself included. */
static int test_repr_cost(TVMFFIAny value, size_t *size, size_t *peak) {
  size_t held = test_get(&test_held);
  TVMFFIAny text;
  TVMFFI_I_STORE(&test_peak, held);
  TVMFFI_TRY(test_repr(value, &text));
  *size = tvmffi_any_str(&text).size;
  *peak = test_get(&test_peak) - held;
  return 0;
}

/* A longer text needs so much more memory, or twice that where a block had just
   been doubled: of what is wide, deep, shared, or holds itself. */
static void test_repr_memory(void) {
  static const test_nest_text nests[] = {
      {"[", "1,", "7", "", "]"},
      {"[", "\"a \\\"text\\\"\",", "7", "", "]"},
      {"", "[", "", "]", ""},
      {"", "{\"key\":", "1", "}", ""},
      {"[", "[{\"a\":[],\"b\":1}],", "7", "", "]"}};
  int nest, k, n = test_scale(256, 2);
  for (nest = 0; nest <= TEST_COUNT(nests); ++nest) {
    size_t size[2] = {1, 1}, peak[2] = {1, 1};
    for (k = 0; k < 2; ++k) {
      TVMFFIAny value = tvmffi_none();
      int code;
      if (nest < TEST_COUNT(nests)) {
        code = test_make_nest(&nests[nest], k ? 16 * n : n, &value);
        if (!code) code = test_repr_cost(value, &size[k], &peak[k]);
      } else {
        code = test_make_knot(k ? 4 * n : n, &value);
        if (!code) code = test_repr_cost(value, &size[k], &peak[k]);
        if (value.v_obj) test_undo_knot(value.v_obj);
      }
      OK(code);
      test_release_all();
    }
    if (!test_oom)
      CHECK((uint64_t)peak[1] * size[0] <= (uint64_t)peak[0] * size[1] * 2);
  }
}

typedef struct {
  TVMFFIObject base;
  TVMFFIAny a, b;
} test_pair;

static TVMFFIFieldInfo test_any_field(const char *name, size_t offset,
                                      int64_t flags) {
  TVMFFIFieldInfo f = test_field(name, (int64_t)offset);
  f.size = sizeof(TVMFFIAny);
  f.alignment = 8;
  f.getter = tvmffi_i_get_any_field;
  f.flags |= flags;
  f.field_static_type_index = kTVMFFIAny;
  return f;
}

/* A type of pairs with the field `a`, and its child with `b`, too. */
static int test_pair_types(int32_t *parent, int32_t *child, int64_t flags) {
  TVMFFIFieldInfo a = test_any_field("a", offsetof(test_pair, a), 0);
  TVMFFIFieldInfo b = test_any_field("b", offsetof(test_pair, b), flags);
  *parent = test_type(test_fresh("unit.Parent"), -1, 1, 0, 1, kTVMFFIObject);
  if (*parent < 0) return -1;
  *child = test_type(test_fresh("unit.Child"), -1, 2, 0, 1, *parent);
  if (*child < 0) return -1;
  TVMFFI_TRY(TVMFFITypeRegisterField(*parent, &a));
  return TVMFFITypeRegisterField(*child, &b);
}

/* A pair that the test owns; its parts are borrowed. */
static int test_new_pair(int32_t index, TVMFFIAny a, TVMFFIAny b,
                         TVMFFIAny *pair) {
  test_pair *p =
      (test_pair *)(void *)tvmffi_i_new_object(index, sizeof(test_pair));
  if (!p) return -1;
  OWN(p);
  *pair = tvmffi_obj(&p->base);
  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(&a, &p->a));
  if (TVMFFIGetTypeInfo(index)->type_depth == 1) return 0;
  return TVMFFIAnyViewToOwnedAny(&b, &p->b);
}

/* The text of a pair: the key of its type, and `rest`. */
static void test_check_pair(TVMFFIAny pair, const char *rest) {
  const char *key = TVMFFIGetTypeInfo(pair.type_index)->type_key.data;
  TVMFFIAny text;
  TVMFFIByteArray got;
  OK(test_repr(pair, &text));
  got = tvmffi_any_str(&text);
  if (!CHECK(got.size >= strlen(key))) return;
  CHECK_BYTES(test_bytes(got.data, strlen(key)), key, strlen(key));
  got.data += strlen(key);
  got.size -= strlen(key);
  CHECK_TEXT(got, rest);
}

static void test_repr_fields(void) {
  int32_t parent = 0, child = 0;
  TVMFFIAny pair, list;
  OK(test_pair_types(&parent, &child, 0));
  OK(test_list(&list, tvmffi_int(1), tvmffi_none()));
  OK(test_new_pair(parent, list, list, &pair));
  test_check_pair(pair, "(a=[1, None])");
  OK(test_new_pair(child, list, list, &pair));
  test_check_pair(pair, "(a=[1, None], b=[1, None])");
  OK(test_pair_types(&parent, &child, kTVMFFIFieldFlagBitMaskReprOff));
  OK(test_new_pair(child, list, list, &pair));
  test_check_pair(pair, "(a=[1, None])");
}

static int test_set_hook(int32_t index, const char *column,
                         TVMFFISafeCallType call) {
  TVMFFIByteArray name = TEXT(column);
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny any;
  int code;
  TVMFFI_TRY(TVMFFIFunctionCreate(NULL, call, NULL, &f));
  any = tvmffi_obj((TVMFFIObject *)f);
  code = TVMFFITypeRegisterAttr(index, &name, &any);
  tvmffi_release((TVMFFIObject *)f);
  return code;
}

/* Calls back twice with `a`, and keeps the callback to the test's end. */
static TVMFFIObject *test_kept;
static int test_twice(void *self, const TVMFFIAny *args, int32_t num_args,
                      TVMFFIAny *result) {
  test_pair *p = (test_pair *)args[0].v_ptr;
  TVMFFIObject *callback = args[num_args - 1].v_obj;
  (void)self;
  if (!test_kept) {
    tvmffi_retain(callback);
    OWN(callback);
    test_kept = callback;
  }
  TVMFFI_TRY(TVMFFIFunctionCall(callback, &p->a, 1, result));
  tvmffi_any_release(result);
  return TVMFFIFunctionCall(callback, &p->a, 1, result);
}

/* Compares `a` only. */
static int test_compare_a(void *self, const TVMFFIAny *args, int32_t num_args,
                          TVMFFIAny *result) {
  TVMFFIAny parts[2];
  (void)self, (void)num_args;
  parts[0] = ((test_pair *)args[0].v_ptr)->a;
  parts[1] = ((test_pair *)args[1].v_ptr)->a;
  return TVMFFIFunctionCall(args[2].v_obj, parts, 2, result);
}

static void test_repr_hooks(void) {
  int32_t parent = 0, child = 0;
  TVMFFIAny inner, outer, list, result = tvmffi_none();
  test_kept = NULL;
  OK(test_pair_types(&parent, &child, 0));
  OK(test_set_hook(parent, "__ffi_repr__", test_twice));
  OK(test_list(&list, tvmffi_int(1), tvmffi_none()));
  OK(test_new_pair(parent, list, list, &inner));
  OK(test_list(&list, inner, inner));
  OK(test_new_pair(parent, list, list, &outer));
  CHECK_REPR(outer, "[[1, None], [1, None]]");
  FAILS(TVMFFIFunctionCall(test_kept, &outer, 1, &result), "RuntimeError",
        "The callback of a hook can be called only while the hook runs");
  FAILS(TVMFFIFunctionCall(test_kept, &outer, 0, &result), "TypeError",
        "Mismatched number of arguments when calling: `(0: AnyView) -> "
        "str`. Expected 1 but got 0 arguments");
}

static void test_bad_hooks(void) {
  int32_t parent = 0, child = 0;
  TVMFFIAny pair, any;
  OK(test_pair_types(&parent, &child, 0));
  OK(test_new_pair(parent, tvmffi_int(1), tvmffi_none(), &pair));
  OK(test_set_hook(parent, "__ffi_repr__", test_raise_callback));
  FAILS(test_repr(pair, &any), "ValueError", "the callback says no");
  OK(test_set_hook(parent, "__ffi_hash__", test_raise_callback));
  FAILS(test_apply_global("ffi.RecursiveHash", &pair, 1, &any), "ValueError",
        "the callback says no");
  OK(test_new_pair(child, tvmffi_int(1), tvmffi_none(), &pair));
  OK(test_set_hook(child, "__ffi_repr__", test_echo_callback));
  FAILS(test_repr(pair, &any), "TypeError",
        "Cannot convert from type `ffi.Function` to `str`");
}

static TVMFFIAny test_text_result;
static int test_give_text(void *self, const TVMFFIAny *args, int32_t num_args,
                          TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args;
  test_text_result = tvmffi_str("a text that is no number");
  return TVMFFIAnyViewToOwnedAny(&test_text_result, result);
}

/* Hooks that are no functions, or give what they should not. */
static void test_wrong_hooks(void) {
  static const char *const columns[] = {"__ffi_hash__", "__ffi_eq__",
                                        "__ffi_compare__"};
  static const char *const functions[] = {"ffi.RecursiveHash",
                                          "ffi.RecursiveEq", "ffi.RecursiveLt"};
  static const char *const results[] = {"int", "bool", "int"};
  static const char *const hooks[] = {
      "(0: ffi.Object, 1: (0: AnyView) -> int) -> int",
      "(0: ffi.Object, 1: ffi.Object, 2: (0: AnyView, 1: AnyView) -> bool) "
      "-> bool",
      "(0: ffi.Object, 1: ffi.Object, 2: (0: AnyView, 1: AnyView) -> int) -> "
      "int"};
  char text[200];
  TVMFFIAny args[2], any, value = tvmffi_int(3);
  TVMFFIByteArray name;
  int i;
  for (i = 0; i < 3; ++i) {
    int32_t parent = 0, child = 0;
    OK(test_pair_types(&parent, &child, 0));
    OK(test_new_pair(parent, tvmffi_int(1), tvmffi_none(), &args[0]));
    OK(test_new_pair(parent, tvmffi_int(2), tvmffi_none(), &args[1]));
    OK(test_set_hook(parent, columns[i], test_give_text));
    strcpy(text, "Cannot convert from type `ffi.String` to `");
    strcat(strcat(text, results[i]), "`");
    FAILS(test_apply_global(functions[i], args, 1 + (i > 0), &any), "TypeError",
          text);
    OK(test_new_pair(child, tvmffi_int(1), tvmffi_none(), &args[0]));
    OK(test_new_pair(child, tvmffi_int(2), tvmffi_none(), &args[1]));
    name = TEXT(columns[i]);
    OK(TVMFFITypeRegisterAttr(child, &name, &value));
    strcpy(text, "Cannot treat type `int` as type `");
    strcat(strcat(text, hooks[i]), "`");
    FAILS(test_apply_global(functions[i], args, 1 + (i > 0), &any), "TypeError",
          text);
  }
}

/* Hooks nest on the thread's stack, so their depth has a limit. */
static void test_deep_hooks(void) {
  int32_t parent = 0, child = 0;
  TVMFFIAny pair = tvmffi_int(1);
  int i, n = test_scale(TVMFFI_I_MAX_HOOKS + 1, 5);
  test_pair *p;
  test_kept = NULL;
  OK(test_pair_types(&parent, &child, 0));
  OK(test_set_hook(parent, "__ffi_repr__", test_twice));
  for (i = 0; i < n; ++i) {
    p = (test_pair *)(void *)tvmffi_i_new_object(parent, sizeof(*p));
    if (!p) tvmffi_any_release(&pair);
    OK(p ? 0 : -1);
    p->a = pair;
    pair = tvmffi_obj(&p->base);
  }
  OWN_ANY(pair);
  if (n > TVMFFI_I_MAX_HOOKS)
    FAILS(test_repr(pair, &pair), "RuntimeError",
          "Hooks of types are nested more than 1000 deep");
}

/* Objects that have a text of their own. */
static void test_repr_objects(void) {
  TVMFFIAny numbers[3], any;
  TVMFFIAny none = tvmffi_none();
  none.type_index = kTVMFFIArray; /* an object that is missing */
  numbers[0] = tvmffi_int(1);
  numbers[1] = tvmffi_int(-2);
  OK(test_apply_global("ffi.Shape", numbers, 2, &any));
  CHECK_REPR(any, "Shape(1, -2)");
  OK(test_apply_global("ffi.Shape", numbers, 0, &any));
  CHECK_REPR(any, "Shape()");
#if !TEST_NO_TENSORS
  any = tvmffi_obj(test_make_tensor());
  if (!any.v_obj) return;
  CHECK_REPR(any, "int32[2, 3, 4]@cpu:0");
#endif
  numbers[0] = tvmffi_str("ffi.Enum");
  numbers[1] = tvmffi_str("_str_index");
  numbers[2] = tvmffi_str("RED");
  OK(test_apply_attr(TVMFFI_I_ENUM_BASE, "__ffi_new__", NULL, 0, &any));
  OK(tvmffi_i_set_field(&TVMFFIGetTypeInfo(TVMFFI_I_ENUM_BASE)->fields[1],
                        any.v_obj, &numbers[2]));
  CHECK_REPR(any, "ffi.Enum.RED");
  OK(test_list(&any, tvmffi_int(1), tvmffi_int(2)));
  ((TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, any.v_obj)->data)[1] = none;
  CHECK_REPR(any, "[1, None]");
}

/* A field of the child hides none of the parent: only the first is shown. */
static void test_repr_same_names(void) {
  TVMFFIFieldInfo a = test_any_field("a", offsetof(test_pair, a), 0);
  TVMFFIFieldInfo again = test_any_field("a", offsetof(test_pair, b), 0);
  int32_t parent =
      test_type(test_fresh("unit.Parent"), -1, 1, 0, 1, kTVMFFIObject);
  int32_t child;
  TVMFFIAny pair;
  OK(parent < 0 ? -1 : 0);
  child = test_type(test_fresh("unit.Child"), -1, 2, 0, 1, parent);
  OK(child < 0 ? -1 : 0);
  OK(TVMFFITypeRegisterField(parent, &a));
  OK(TVMFFITypeRegisterField(child, &again));
  OK(test_new_pair(child, tvmffi_int(1), tvmffi_int(2), &pair));
  test_check_pair(pair, "(a=1)");
}

static int test_show_key(void *self, const TVMFFIAny *args, int32_t num_args,
                         TVMFFIAny *result) {
  TVMFFIByteArray text = TEXT("k");
  (void)self;
  CHECK_INT(num_args, 1);
  CHECK(tvmffi_any_str(&args[0]).size == 3);
  return TVMFFIStringFromByteArray(&text, result);
}

static void test_repr_steps(void) {
  static const char *const want[] = {
      "<root>[\"key\"]", "<root>[<missing:\"key\">]", "<root>[<missing:6>]",
      "<root>[<missing:\"key\">]"};
  const TVMFFIMethodInfo *m;
  TVMFFIObjectHandle show = NULL, odd = NULL;
  TVMFFIAny args[2], any, root, path;
  tvmffi_i_step *step;
  int i;
  OK(TVMFFIGetTypeInfo(133) ? 0 : -1);
  m = TVMFFIGetTypeInfo(133)->methods;
  OK(TVMFFIFunctionCreate(NULL, test_show_key, NULL, &show));
  OWN(show);
  OK(TVMFFIFunctionCreate(NULL, test_give_one, NULL, &odd));
  OWN(odd);
  OK(test_apply(m[0].method.v_obj, NULL, 0, &root));
  for (i = 0; i < 4; ++i) {
    args[0] = root;
    args[1] = i == 2 ? tvmffi_int(6) : tvmffi_str("key");
    OK(test_apply(m[4 + i].method.v_obj, args, 2, &path));
    CHECK_REPR(path, want[i]);
    if (i == 2) continue;
    args[0] = tvmffi_obj(((tvmffi_i_path *)path.v_ptr)->step);
    args[1] = tvmffi_obj((TVMFFIObject *)show);
    OK(test_apply_attr(132, "__ffi_repr__", args, 2, &any));
    CHECK_TEXT(tvmffi_any_str(&any), i ? "[<missing:k>]" : "[k]");
    args[1] = tvmffi_obj((TVMFFIObject *)odd);
    FAILS(test_apply_attr(132, "__ffi_repr__", args, 2, &any), "TypeError",
          "Cannot convert from type `int` to `str`");
    FAILS(test_apply_attr(133, "__ffi_repr__", args, 2, &any), "TypeError",
          "Cannot treat type `ffi.reflection.AccessStep` as type "
          "`ffi.reflection.AccessPath`");
  }
  step = (tvmffi_i_step *)(void *)((tvmffi_i_path *)path.v_ptr)->step;
  step->kind = 99;
  FAILS(test_repr(path, &any), "ValueError", "99 is no kind of an access step");
}

static void test_repr_path(void) {
  TVMFFIObject *path;
  TVMFFIAny any, args[2];
  OK(TVMFFIGetTypeInfo(133) ? 0 : -1);
  path = test_path("name", 3);
  OK(path ? 0 : -1);
  CHECK_REPR(tvmffi_obj(path), "<root>.name[3]");
  CHECK_REPR(tvmffi_obj(((tvmffi_i_path *)(void *)path)->step), "[3]");
  args[0] = tvmffi_obj(path);
  args[1] = tvmffi_none();
  FAILS(test_apply_attr(132, "__ffi_repr__", args, 2, &any), "TypeError",
        "Cannot treat type `ffi.reflection.AccessPath` as type "
        "`ffi.reflection.AccessStep`");
  FAILS(test_apply_attr(133, "__ffi_repr__", args, 2, &any), "TypeError",
        "Cannot call None as `ffi.Function`");
}

#define CHECK_HASH(value, want)                                    \
  do {                                                             \
    TVMFFIAny arg = value, got;                                    \
    OK(test_apply_global("ffi.RecursiveHash", &arg, 1, &got));     \
    CHECK(got.type_index == kTVMFFIInt && got.v_uint64 == (want)); \
  } while (0)

/* Upstream's values; those of objects differ by the size of a word. */
static void test_recursive_hash(void) {
  DLDevice device = {kDLCUDA, 1};
  DLDataType dtype = {kDLFloat, 16, 4};
  TVMFFIByteArray bytes = {"abcdefghij", 10};
  TVMFFIAny list, map;
  CHECK_HASH(tvmffi_none(), 2654435769u);
  CHECK_HASH(tvmffi_bool(1), 2654435896u);
  CHECK_HASH(tvmffi_int(-3), 2654435831u);
  CHECK_HASH(test_bits(0x4004000000000000u), 4612811920988666490u);
  CHECK_HASH(test_bits((uint64_t)1 << 63), 2654435962u);
  CHECK_HASH(test_bits(0xFFF8000000000001u), 9221120239695526522u);
  CHECK_HASH(tvmffi_str("abcdefghij"), 3873208543u);
  CHECK_HASH(tvmffi_str("ab"), 2654465067u);
  CHECK_HASH(tvmffi_bytes(&bytes), 3873208476u);
  CHECK_HASH(tvmffi_device(device), 175247678514u);
  CHECK_HASH(tvmffi_dtype(dtype), 11093831583858u);
  OK(test_list(&list, tvmffi_int(1), tvmffi_int(2)));
  OK(test_map_of("ffi.Map", &map, tvmffi_int(1), tvmffi_int(2)));
  if (sizeof(void *) == 8) {
    CHECK_HASH(list, 0x8b918c2529f2af37u);
    CHECK_HASH(map, 0x196e6e1062ef976au);
  }
}

/* The order of entries does not count. */
static void test_hash_of_maps(void) {
  TVMFFIAny items[12], maps[2], hashes[2];
  int i, k;
  for (k = 0; k < 2; ++k) {
    for (i = 0; i < 12; i += 2) {
      items[i] = tvmffi_int(k ? i : 10 - i);
      items[i + 1] = tvmffi_int(100 + items[i].v_int64);
    }
    OK(test_apply_global("ffi.Map", items, 12, &maps[k]));
    OK(test_apply_global("ffi.RecursiveHash", &maps[k], 1, &hashes[k]));
  }
  CHECK(hashes[0].v_int64 == hashes[1].v_int64);
}

static void test_hash_hooks(void) {
  int32_t parent = 0, child = 0;
  TVMFFIAny pair, hash;
  test_kept = NULL;
  OK(test_pair_types(&parent, &child, kTVMFFIFieldFlagBitMaskHashOff));
  OK(test_set_hook(parent, "__ffi_eq__", test_compare_a));
  OK(test_new_pair(parent, tvmffi_int(7), tvmffi_none(), &pair));
  FAILS(test_apply_global("ffi.RecursiveHash", &pair, 1, &hash), "ValueError",
        "...defines __ffi_eq__ or __ffi_compare__ but not __ffi_hash__.");
  OK(test_set_hook(parent, "__ffi_hash__", test_twice));
  CHECK_HASH(pair, tvmffi_i_hash_combine(kTVMFFIInt, 7));
}

/* A type that can be compared has to say what its hash is. */
static void test_hash_refused(void) {
  int32_t parent = 0, child = 0;
  TVMFFIAny pair, hash;
  OK(test_pair_types(&parent, &child, 0));
  OK(test_set_hook(parent, "__ffi_compare__", test_compare_a));
  OK(test_new_pair(parent, tvmffi_int(7), tvmffi_none(), &pair));
  FAILS(test_apply_global("ffi.RecursiveHash", &pair, 1, &hash), "ValueError",
        "...defines __ffi_eq__ or __ffi_compare__ but not __ffi_hash__.");
}

static void test_hash_of_shapes(void) {
  TVMFFIAny numbers[2], shape, empty;
  uint64_t h;
  numbers[0] = tvmffi_int(3);
  numbers[1] = tvmffi_int(-4);
  OK(test_apply_global("ffi.Shape", numbers, 2, &shape));
  OK(test_apply_global("ffi.Shape", numbers, 0, &empty));
  h = TVMFFIGetTypeInfo(kTVMFFIShape)->type_key_hash;
  CHECK_HASH(empty, tvmffi_i_hash_combine(h, 0));
  h = tvmffi_i_hash_combine(tvmffi_i_hash_combine(h, 2), 3);
  CHECK_HASH(shape, tvmffi_i_hash_combine(h, (uint64_t)-4));
}

/* Compares by each function: as a string of 0 and 1 for ==, <, <=, >, >=, or of
   'e' for an error. */
static void test_orders(TVMFFIAny a, TVMFFIAny b, const char *want) {
  static const char *const names[] = {"ffi.RecursiveEq", "ffi.RecursiveLt",
                                      "ffi.RecursiveLe", "ffi.RecursiveGt",
                                      "ffi.RecursiveGe"};
  TVMFFIAny args[2], result;
  TVMFFIObjectHandle f = NULL;
  TVMFFIByteArray name;
  int i, code;
  args[0] = a;
  args[1] = b;
  for (i = 0; i < 5; ++i) {
    name = TEXT(names[i]);
    OK(TVMFFIFunctionGetGlobal(&name, &f));
    result = tvmffi_none();
    code = TVMFFIFunctionCall(f, args, 2, &result);
    tvmffi_release((TVMFFIObject *)f);
    if (want[i] == 'e') {
      TVMFFIObject *error = tvmffi_error_take();
      CHECK(code == -1 && error != NULL);
      tvmffi_release(error);
      continue;
    }
    OK(code);
    if (!CHECK_INT(result.v_int64, want[i] - '0'))
      TEST_PRINT("# %s, of %s\n", names[i], want);
  }
}

#define LESS "01100"
#define SAME "10101"
#define MORE "00011"
#define NO_ORDER "0eeee"

static void test_order_of_values(void) {
  DLDataType f16 = {kDLFloat, 16, 1}, f32 = {kDLFloat, 32, 1};
  DLDevice cpu = {kDLCPU, 0}, cpu1 = {kDLCPU, 1};
  TVMFFIByteArray ab = {"ab", 2}, abc = {"abcdefgh", 8};
  const uint64_t nan = 0x7FF8000000000000u, one = 0x3FF0000000000000u;
  test_orders(tvmffi_none(), tvmffi_none(), SAME);
  test_orders(tvmffi_none(), tvmffi_int(1), LESS);
  test_orders(tvmffi_int(1), tvmffi_none(), MORE);
  test_orders(tvmffi_int(-1), tvmffi_int(1), LESS);
  test_orders(tvmffi_int(1), tvmffi_bool(1), NO_ORDER);
  test_orders(tvmffi_bool(1), tvmffi_bool(0), MORE);
  test_orders(test_bits(0), test_bits((uint64_t)1 << 63), SAME);
  test_orders(test_bits(one | (uint64_t)1 << 63), test_bits(one), LESS);
  test_orders(test_bits(nan), test_bits(one), NO_ORDER);
  test_orders(test_bits(nan), test_bits(nan | 1), "1eeee");
  test_orders(tvmffi_dtype(f32), tvmffi_dtype(f16), MORE);
  test_orders(tvmffi_device(cpu), tvmffi_device(cpu1), LESS);
  test_orders(tvmffi_str("abc"), tvmffi_str("abcdefghij"), LESS);
  test_orders(tvmffi_str("b"), tvmffi_str("abcdefghij"), MORE);
  test_orders(tvmffi_bytes(&ab), tvmffi_bytes(&abc), LESS);
  test_orders(tvmffi_bytes(&ab), tvmffi_str("ab"), NO_ORDER);
  test_orders(tvmffi_ptr(&ab), tvmffi_ptr(&abc), NO_ORDER);
}

static void test_order_of_containers(void) {
  TVMFFIAny a, b, c, d;
  OK(test_list(&a, tvmffi_int(1), tvmffi_int(2)));
  OK(test_list(&b, tvmffi_int(1), tvmffi_int(3)));
  test_orders(a, b, LESS);
  test_orders(b, a, MORE);
  test_orders(a, a, SAME);
  d = tvmffi_int(1);
  OK(test_apply_global("ffi.List", &d, 1, &c));
  test_orders(c, a, LESS);
  test_orders(a, c, MORE);
  OK(test_map_of("ffi.Map", &c, tvmffi_int(1), a));
  OK(test_map_of("ffi.Map", &d, tvmffi_int(1), b));
  test_orders(c, d, NO_ORDER);
  test_orders(c, c, SAME);
  OK(test_map_of("ffi.Map", &d, tvmffi_int(2), a));
  test_orders(c, d, NO_ORDER);
  OK(test_list(&b, tvmffi_int(1), tvmffi_int(2)));
  OK(test_map_of("ffi.Map", &d, tvmffi_int(1), b));
  test_orders(c, d, SAME);
}

static void test_order_of_shapes(void) {
  TVMFFIAny numbers[3], a, b, c;
  numbers[0] = tvmffi_int(3);
  numbers[1] = tvmffi_int(-4);
  numbers[2] = tvmffi_int(0);
  OK(test_apply_global("ffi.Shape", numbers, 2, &a));
  OK(test_apply_global("ffi.Shape", numbers, 2, &b));
  OK(test_apply_global("ffi.Shape", numbers, 3, &c));
  test_orders(a, b, SAME);
  test_orders(a, c, LESS);
  numbers[1] = tvmffi_int(5);
  OK(test_apply_global("ffi.Shape", numbers, 2, &b));
  test_orders(a, b, LESS);
  test_orders(b, c, MORE);
}

/* Maps of the same entries in another order. */
static void test_order_of_orders(void) {
  TVMFFIAny items[12], maps[2];
  int i, k;
  for (k = 0; k < 2; ++k) {
    for (i = 0; i < 12; i += 2) {
      items[i] = tvmffi_int(k ? i : 10 - i);
      items[i + 1] = tvmffi_str("the same value");
    }
    OK(test_apply_global("ffi.Dict", items, 12, &maps[k]));
  }
  test_orders(maps[0], maps[1], SAME);
}

static void test_order_of_bigints(void) {
  TVMFFIAny big, small;
  OK(test_bigint(&big, 0, 1, 0));
  OK(test_bigint(&small, 0, -1, -1));
  test_orders(small, big, LESS);
  test_orders(big, tvmffi_int(5), MORE);
  test_orders(tvmffi_int(5), small, MORE);
  test_orders(big, test_bits(0), NO_ORDER);
}

/* Two cycles of one shape are equal, but have no order. */
static void test_order_of_cycles(void) {
  TVMFFIAny a, b, text, *items;
  int code;
  OK(test_list(&a, tvmffi_int(1), tvmffi_int(2)));
  OK(test_list(&b, tvmffi_int(1), tvmffi_int(2)));
  items = (TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, a.v_obj)->data;
  items[1] = a;
  items = (TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, b.v_obj)->data;
  items[1] = b;
  tvmffi_retain(a.v_obj);
  tvmffi_retain(b.v_obj);
  test_orders(a, b, "1eeee");
  code = test_repr(a, &text);
  items[1] = tvmffi_none();
  items = (TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, a.v_obj)->data;
  items[1] = tvmffi_none();
  tvmffi_release(a.v_obj);
  tvmffi_release(b.v_obj);
  OK(code);
  CHECK_TEXT(tvmffi_any_str(&text), "[1, ...]");
}

static void test_order_hooks(void) {
  int32_t parent = 0, child = 0;
  TVMFFIAny a, b;
  OK(test_pair_types(&parent, &child, kTVMFFIFieldFlagBitMaskCompareOff));
  OK(test_new_pair(child, tvmffi_int(1), tvmffi_int(5), &a));
  OK(test_new_pair(child, tvmffi_int(1), tvmffi_int(6), &b));
  test_orders(a, b, SAME);
  OK(test_pair_types(&parent, &child, 0));
  OK(test_new_pair(child, tvmffi_int(1), tvmffi_int(5), &a));
  OK(test_new_pair(child, tvmffi_int(1), tvmffi_int(6), &b));
  test_orders(a, b, LESS);
  OK(test_set_hook(child, "__ffi_compare__", test_compare_a));
  test_orders(a, b, SAME);
  OK(test_new_pair(child, tvmffi_int(0), tvmffi_int(6), &b));
  test_orders(a, b, MORE);
  OK(test_new_pair(parent, tvmffi_int(0), tvmffi_int(6), &b));
  test_orders(a, b, NO_ORDER);
}

/* Takes both keys out of the second dict while it is compared. */
static TVMFFIObject *test_changing;
static int test_change_dict(void *self, const TVMFFIAny *args, int32_t num_args,
                            TVMFFIAny *result) {
  TVMFFIAny key;
  int i;
  (void)self, (void)args;
  CHECK_INT(num_args, 3);
  for (i = 1; i <= 2; ++i) {
    key = tvmffi_int(i);
    (void)tvmffi_i_map_erase(&test_changing, &key);
  }
  tvmffi_error_clear();
  *result = tvmffi_bool(1);
  return 0;
}

/* Equality alone has a hook; its callback compares texts that it is given. */
static int test_compare_texts(void *self, const TVMFFIAny *args,
                              int32_t num_args, TVMFFIAny *result) {
  TVMFFIAny texts[2];
  (void)self, (void)num_args;
  texts[0] = tvmffi_str("a text of some length");
  texts[1] = ((test_pair *)args[1].v_ptr)->a.v_int64 == 1
                 ? texts[0]
                 : tvmffi_str("another text of some length");
  return TVMFFIFunctionCall(args[2].v_obj, texts, 2, result);
}

static void test_equality_hooks(void) {
  int32_t parent = 0, child = 0;
  TVMFFIAny a, b, pairs[4], maps[2], any;
  OK(test_pair_types(&parent, &child, 0));
  OK(test_set_hook(parent, "__ffi_eq__", test_compare_texts));
  OK(test_new_pair(parent, tvmffi_int(5), tvmffi_none(), &a));
  OK(test_new_pair(parent, tvmffi_int(1), tvmffi_none(), &b));
  pairs[0] = a;
  pairs[1] = b;
  OK(test_apply_global("ffi.RecursiveEq", pairs, 2, &any));
  CHECK_INT(any.v_int64, 1);
  pairs[0] = b;
  pairs[1] = a;
  OK(test_apply_global("ffi.RecursiveEq", pairs, 2, &any));
  CHECK_INT(any.v_int64, 0);
  OK(test_pair_types(&parent, &child, 0));
  OK(test_set_hook(parent, "__ffi_eq__", test_change_dict));
  OK(test_new_pair(parent, tvmffi_int(5), tvmffi_none(), &a));
  OK(test_new_pair(parent, tvmffi_int(1), tvmffi_none(), &b));
  pairs[0] = tvmffi_int(1);
  pairs[1] = pairs[3] = a;
  pairs[2] = tvmffi_int(2);
  OK(test_apply_global("ffi.Dict", pairs, 4, &maps[0]));
  pairs[0] = tvmffi_int(2);
  pairs[1] = pairs[3] = b;
  pairs[2] = tvmffi_int(1);
  OK(test_apply_global("ffi.Dict", pairs, 4, &maps[1]));
  test_changing = maps[1].v_obj;
  FAILS(test_apply_global("ffi.RecursiveEq", maps, 2, &any), "RuntimeError",
        NULL);
}

/* Empties the dict whose key is being looked up in another. */
static int test_empty_dict(void *self, const TVMFFIAny *args, int32_t num_args,
                           TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args;
  *result = tvmffi_bool(0);
  if (!test_changing) return 0;
  return tvmffi_call(tvmffi_str("ffi.DictClear"), tvmffi_out_any(NULL),
                     tvmffi_obj(test_changing));
}

/* A key lives as long as it is looked up. */
static void test_keys_that_go(void) {
  int32_t parent = 0, child = 0;
  TVMFFIAny items[4], maps[2], any;
  int i, k;
  OK(test_pair_types(&parent, &child, 0));
  OK(test_set_hook(parent, "__any_equal__", test_empty_dict));
  test_changing = NULL;
  for (i = 0; i < 2; ++i) {
    for (k = 0; k < 4; k += 2) {
      OK(test_new_pair(parent, tvmffi_int(k), tvmffi_none(), &items[k]));
      items[k + 1] = tvmffi_int(k);
    }
    maps[i] = tvmffi_obj(tvmffi_i_new_map(kTVMFFIDict, 0));
    OK(maps[i].v_obj ? 0 : -1);
    OWN(maps[i].v_obj);
    for (k = 0; k < 4; k += 2) {
      TVMFFIObject *map = maps[i].v_obj;
      OK(tvmffi_i_map_set(&map, &items[k], &items[k + 1]));
      test_drop(items[k].v_obj);
    }
  }
  test_changing = maps[0].v_obj;
  OK(test_apply_global("ffi.RecursiveEq", maps, 2, &any));
  CHECK_INT(any.v_int64, 0);
}

/* Lists in lists, once or twice each, that the test owns. */
static int test_nest(TVMFFIAny *nest, int depth, int twice) {
  TVMFFIObject *list = tvmffi_i_new_list(0), *outer;
  TVMFFIAny inner;
  for (; list && depth > 0; --depth) {
    inner = tvmffi_obj(list);
    outer = tvmffi_i_new_list(2);
    if (outer && (tvmffi_i_list_append(outer, &inner) ||
                  (twice && tvmffi_i_list_append(outer, &inner)))) {
      tvmffi_release(outer);
      outer = NULL;
    }
    tvmffi_release(list);
    list = outer;
  }
  if (!list) return -1;
  OWN(list);
  *nest = tvmffi_obj(list);
  return 0;
}

/* On a stack of its own; and what is shared is done once, else this would take
   2^60 steps. */
static void test_deep_values(void) {
  int n = test_scale(TEST_CHAIN < 20000 ? TEST_CHAIN : 20000, 10);
  TVMFFIAny a, b, any;
  OK(test_nest(&a, 60, 1));
  OK(test_nest(&b, 60, 1));
  test_orders(a, b, SAME);
  OK(test_apply_global("ffi.RecursiveHash", &a, 1, &any));
  OK(test_nest(&a, n, 0));
  OK(test_nest(&b, n, 0));
  test_orders(a, b, SAME);
  OK(test_repr(a, &any));
  CHECK(tvmffi_any_str(&any).size == 2 + 2 * (size_t)n);
}

static void test_bigint_hooks(void) {
  static const char *const names[] = {"__ffi_eq__", "__ffi_compare__"};
  TVMFFIAny args[3], any, hash;
  int i;
  OK(test_bigint(&any, 5, 6, 0));
  args[0] = args[1] = any;
  args[2] = tvmffi_none();
  for (i = 0; i < 2; ++i) {
    OK(test_apply_attr(kTVMFFIBigInt, names[i], args, 3, &any));
    CHECK_INT(any.v_int64, !i);
  }
  args[1] = tvmffi_none();
  OK(test_apply_attr(kTVMFFIBigInt, "__ffi_hash__", args, 2, &any));
  OK(test_apply_global("ffi.RecursiveHash", args, 1, &hash));
  CHECK(any.v_int64 == hash.v_int64);
  FAILS(test_apply_attr(kTVMFFIBigInt, "__ffi_eq__", args, 3, &any),
        "TypeError", NULL);
  OK(test_list(&args[0], tvmffi_int(1), tvmffi_int(2)));
  FAILS(test_apply_attr(kTVMFFIBigInt, "__ffi_hash__", args, 2, &any),
        "TypeError", "Cannot treat type `ffi.List` as type `BigInt`");
}
#endif

/* ======== Structural equality and hash ==================================== */
#if !TEST_NO_REFLECTION && !TVMFFI_NO_EXTRA

/* Gives a type of a kind with the fields a and b, which hold anything. */
static int32_t test_structural_type(const char *key, TVMFFISEqHashKind kind,
                                    int64_t flags_a, int64_t flags_b) {
  int32_t index = test_type(key, -1, 1, 0, 0, kTVMFFIObject);
  const TVMFFITypeInfo *info = index < 0 ? NULL : TVMFFIGetTypeInfo(index);
  TVMFFITypeMetadata metadata;
  TVMFFIFieldSetter setter = tvmffi_i_set_any_field;
  if (!info) return -1;
  while (info->num_fields < 2) {
    TVMFFIFieldInfo f = test_field(info->num_fields ? "b" : "a", 0);
    f.size = 16;
    f.alignment = 8;
    f.offset = (int64_t)sizeof(TVMFFIObject) + 16 * info->num_fields;
    f.getter = tvmffi_i_get_any_field;
    memcpy(&f.setter, &setter, sizeof(f.setter));
    f.field_static_type_index = kTVMFFIAny;
    f.flags = info->num_fields ? flags_b : flags_a;
    if (TVMFFITypeRegisterField(index, &f)) return -1;
  }
  if (info->metadata) return index;
  memset((void *)&metadata, 0, sizeof(metadata));
  metadata.total_size = (int32_t)sizeof(TVMFFIObject) + 32;
  metadata.structural_eq_hash_kind = kind;
  return TVMFFITypeRegisterMetadata(index, &metadata) ? -1 : index;
}

#define STRUCTURAL_TYPE(index, key, kind, flags_a, flags_b)    \
  do {                                                         \
    index = test_structural_type(key, kind, flags_a, flags_b); \
    OK(index < 0 ? -1 : 0);                                    \
  } while (0)

/* Makes an object of such a type (the test owns it); None if it fails. */
static TVMFFIAny test_node(int32_t index, TVMFFIAny a, TVMFFIAny b) {
  TVMFFIObject *o = tvmffi_i_new_object(index, sizeof(TVMFFIObject) + 32);
  TVMFFIAny *fields;
  if (!o) return tvmffi_none();
  fields = (TVMFFIAny *)(void *)(o + 1);
  OWN(o);
  fields[0] = tvmffi_i_copy_owned(&a);
  fields[1] = tvmffi_i_copy_owned(&b);
  return tvmffi_obj(o);
}

#define NODE(any, index, a, b)                  \
  do {                                          \
    any = test_node(index, a, b);               \
    OK(any.type_index == kTVMFFINone ? -1 : 0); \
  } while (0)

/* Makes a container by its global function. */
static int test_built(const char *name, int n, TVMFFIAny a, TVMFFIAny b,
                      TVMFFIAny *out) {
  TVMFFIAny items[2];
  items[0] = a;
  items[1] = b;
  return test_apply_global(name, items, n, out);
}

/* 1, 0 or the code of an error. */
static int test_same(TVMFFIAny a, TVMFFIAny b, int variables) {
  TVMFFIAny args[4], result;
  args[0] = a;
  args[1] = b;
  args[2] = tvmffi_bool(variables);
  args[3] = tvmffi_bool(0);
  TVMFFI_TRY(test_apply_global("ffi.StructuralEqual", args, 4, &result));
  return result.v_int64 != 0;
}

static int test_hash(TVMFFIAny value, int variables, int64_t *hash) {
  TVMFFIAny args[3], result;
  args[0] = value;
  args[1] = tvmffi_bool(variables);
  args[2] = tvmffi_bool(0);
  *hash = 0;
  TVMFFI_TRY(test_apply_global("ffi.StructuralHash", args, 3, &result));
  *hash = result.v_int64;
  return 0;
}

/* Checks equality, in that an error of it (of memory) ends the test. */
#define SAME_STRUCTURE(a, b, variables, want) \
  do {                                        \
    int same_ = test_same(a, b, variables);   \
    OK(same_ < 0 ? same_ : 0);                \
    CHECK_INT(same_, want);                   \
  } while (0)

#define HASH(value, want)            \
  do {                               \
    int64_t hash_;                   \
    OK(test_hash(value, 0, &hash_)); \
    CHECK_INT(hash_, want);          \
  } while (0)

static TVMFFIAny test_double(uint64_t bits) {
  TVMFFIAny any = tvmffi_int((int64_t)bits);
  any.type_index = kTVMFFIFloat;
  return any;
}

/* The values are those of upstream's library. */
static void test_structural_hashes(void) {
  TVMFFIAny any, list;
  TVMFFIByteArray text = TEXT("abc");
  HASH(tvmffi_int(1), 2654435835);
  HASH(test_double((uint64_t)0x7FF8 << 48), 9221120239695526522);
  HASH(test_double((uint64_t)0xFFF1 << 48), 9221120239695526522);
  OK(TVMFFIBytesFromByteArray(&text, &any));
  OWN_ANY(any);
  /* Upstream takes the eight bytes of short ones as a number, in whatever order
     the machine has them. */
  HASH(any,
       any.v_bytes[0] == (char)any.v_uint64 ? 2660949777 : 7017280023702240432);
  OK(test_built("ffi.Array", 2, tvmffi_int(1), any, &list));
  if (sizeof(void *) == 8 && any.v_bytes[0] == (char)any.v_uint64)
    HASH(list, 2823322240262057604);
}

static void test_structural_kinds(void) {
  int32_t tree, constant, unique;
  TVMFFIAny a, b, c;
  STRUCTURAL_TYPE(tree, "unit.Tree", kTVMFFISEqHashKindTreeNode, 0,
                  kTVMFFIFieldFlagBitMaskSEqHashIgnore);
  STRUCTURAL_TYPE(constant, "unit.Const", kTVMFFISEqHashKindConstTreeNode, 0,
                  0);
  STRUCTURAL_TYPE(unique, "unit.Unique", kTVMFFISEqHashKindUniqueInstance, 0,
                  0);
  NODE(a, tree, tvmffi_int(1), tvmffi_int(2));
  NODE(b, tree, tvmffi_int(1), tvmffi_int(3));
  NODE(c, tree, tvmffi_int(2), tvmffi_int(2));
  SAME_STRUCTURE(a, b, 0, 1);
  SAME_STRUCTURE(a, c, 0, 0);
  NODE(a, constant, tvmffi_int(1), tvmffi_int(2));
  NODE(b, constant, tvmffi_int(1), tvmffi_int(2));
  NODE(c, constant, tvmffi_int(1), tvmffi_int(3));
  SAME_STRUCTURE(a, b, 0, 1);
  SAME_STRUCTURE(a, c, 0, 0);
  NODE(a, unique, tvmffi_int(1), tvmffi_int(2));
  NODE(b, unique, tvmffi_int(1), tvmffi_int(2));
  SAME_STRUCTURE(a, a, 0, 1);
  SAME_STRUCTURE(a, b, 0, 0);
}

/* Shared on one side and not on the other: no difference between trees, but
   one between graphs. */
static void test_structural_graphs(void) {
  int32_t tree, graph;
  TVMFFIAny a, b, c, shared, split;
  int64_t x, y;
  STRUCTURAL_TYPE(tree, "unit.Tree", kTVMFFISEqHashKindTreeNode, 0,
                  kTVMFFIFieldFlagBitMaskSEqHashIgnore);
  STRUCTURAL_TYPE(graph, "unit.Graph", kTVMFFISEqHashKindDAGNode, 0, 0);
  NODE(a, tree, tvmffi_int(1), tvmffi_int(2));
  NODE(b, tree, tvmffi_int(1), tvmffi_int(2));
  OK(test_built("ffi.Array", 2, a, a, &shared));
  OK(test_built("ffi.Array", 2, a, b, &split));
  SAME_STRUCTURE(shared, split, 0, 1);
  NODE(a, graph, tvmffi_int(1), tvmffi_int(2));
  NODE(b, graph, tvmffi_int(1), tvmffi_int(2));
  NODE(c, graph, tvmffi_int(1), tvmffi_int(2));
  OK(test_built("ffi.Array", 2, a, a, &shared));
  OK(test_built("ffi.Array", 2, b, c, &split));
  SAME_STRUCTURE(shared, split, 0, 0);
  SAME_STRUCTURE(split, shared, 0, 0);
  OK(test_hash(shared, 0, &x));
  OK(test_hash(split, 0, &y));
  CHECK(x != y);
}

/* Variables are equal if they are defined at the same place. */
static void test_structural_variables(void) {
  int32_t variable, function;
  TVMFFIAny x, y, f, g, both;
  int64_t h, k;
  STRUCTURAL_TYPE(variable, "unit.Var", kTVMFFISEqHashKindFreeVar, 0, 0);
  STRUCTURAL_TYPE(function, "unit.Lambda", kTVMFFISEqHashKindTreeNode,
                  kTVMFFIFieldFlagBitMaskSEqHashDefSimple, 0);
  NODE(x, variable, tvmffi_int(1), tvmffi_none());
  NODE(y, variable, tvmffi_int(1), tvmffi_none());
  SAME_STRUCTURE(x, x, 0, 1);
  SAME_STRUCTURE(x, y, 0, 0);
  SAME_STRUCTURE(x, y, 1, 1);
  NODE(f, function, x, x);
  NODE(g, function, y, y);
  SAME_STRUCTURE(f, g, 0, 1);
  OK(test_hash(f, 0, &h));
  OK(test_hash(g, 0, &k));
  CHECK(h == k);
  NODE(g, function, y, x);
  SAME_STRUCTURE(f, g, 0, 0);
  NODE(g, variable, y, tvmffi_none());
  NODE(x, variable, x, tvmffi_none());
  OK(test_built("ffi.Array", 1, x, x, &both));
  NODE(f, function, both, x);
  OK(test_built("ffi.Array", 1, g, g, &both));
  NODE(g, function, both, g);
  SAME_STRUCTURE(f, g, 0, 0); /* what is in a variable is no definition */
  SAME_STRUCTURE(f, g, 1, 1); /* but in a pattern it is */
}

static void test_structural_maps(void) {
  TVMFFIAny a, b, items[4], long_text, result;
  TVMFFIByteArray text = TEXT("longer than eight");
  int64_t h, k;
  OK(TVMFFIStringFromByteArray(&text, &long_text));
  OWN_ANY(long_text);
  items[0] = items[3] = tvmffi_int(1);
  items[1] = items[2] = long_text;
  OK(test_apply_global("ffi.Map", items, 4, &a));
  items[0] = items[3] = long_text;
  items[1] = items[2] = tvmffi_int(1);
  OK(test_apply_global("ffi.Map", items, 4, &b));
  SAME_STRUCTURE(a, b, 0, 1);
  OK(test_hash(a, 0, &h));
  OK(test_hash(b, 0, &k));
  CHECK(h == k);
  OK(test_apply_global("ffi.Dict", items, 4, &result));
  SAME_STRUCTURE(b, result, 0, 0);
  OK(test_apply_global("ffi.Map", items, 2, &b));
  SAME_STRUCTURE(a, b, 0, 0);
}

/* The kind of a step of a path, or -1; the path must have one step. */
static int64_t test_only_step(TVMFFIObject *pair, int64_t side,
                              TVMFFIAny *key) {
  TVMFFIObject *path = test_item(pair, side);
  TVMFFIObject *step = ((tvmffi_i_path *)(void *)path)->step;
  if (((tvmffi_i_path *)(void *)path)->depth != 1 || !step) return -1;
  *key = ((tvmffi_i_step *)(void *)step)->key;
  return ((tvmffi_i_step *)(void *)step)->kind;
}

static void test_structural_mismatch(void) {
  TVMFFIAny args[4], pair, key = tvmffi_none();
  OK(test_built("ffi.Array", 1, tvmffi_int(1), tvmffi_none(), &args[0]));
  OK(test_built("ffi.Array", 2, tvmffi_int(1), tvmffi_none(), &args[1]));
  args[2] = args[3] = tvmffi_bool(0);
  OK(test_apply_global("ffi.GetFirstStructuralMismatch", args, 4, &pair));
  CHECK_INT(pair.type_index, kTVMFFIArray);
  CHECK_INT(test_only_step(pair.v_obj, 0, &key),
            TVMFFI_I_STEP_ARRAY_ITEM_MISSING);
  CHECK_INT(test_only_step(pair.v_obj, 1, &key), TVMFFI_I_STEP_ARRAY_ITEM);
  CHECK_INT(key.v_int64, 1);
  args[1] = args[0];
  OK(test_apply_global("ffi.GetFirstStructuralMismatch", args, 4, &pair));
  CHECK_INT(pair.type_index, kTVMFFINone);
  OK(test_built("ffi.Map", 2, tvmffi_int(1), tvmffi_int(2), &args[0]));
  OK(test_built("ffi.Map", 2, tvmffi_int(2), tvmffi_int(2), &args[1]));
  OK(test_apply_global("ffi.GetFirstStructuralMismatch", args, 4, &pair));
  CHECK_INT(test_only_step(pair.v_obj, 0, &key), TVMFFI_I_STEP_MAP_ITEM);
  CHECK_INT(test_only_step(pair.v_obj, 1, &key),
            TVMFFI_I_STEP_MAP_ITEM_MISSING);
}

static TVMFFIObject *test_kept_callback;

/* Compares the fields a alone, and hashes them. */
static int test_s_equal(void *self, const TVMFFIAny *args, int32_t num_args,
                        TVMFFIAny *result) {
  TVMFFIAny next[4];
  (void)self, (void)num_args;
  next[0] = *(const TVMFFIAny *)(const void *)(args[0].v_obj + 1);
  next[1] = *(const TVMFFIAny *)(const void *)(args[1].v_obj + 1);
  next[2] = tvmffi_int(0);
  next[3] = tvmffi_str("a");
  if (!test_kept_callback) {
    tvmffi_retain(args[2].v_obj);
    test_kept_callback = args[2].v_obj;
  }
  return TVMFFIFunctionCall(args[2].v_obj, next, 4, result);
}

static int test_s_hash(void *self, const TVMFFIAny *args, int32_t num_args,
                       TVMFFIAny *result) {
  TVMFFIAny next[3];
  (void)self, (void)num_args;
  next[0] = *(const TVMFFIAny *)(const void *)(args[0].v_obj + 1);
  next[1] = args[1];
  next[2] = tvmffi_int(0);
  return TVMFFIFunctionCall(args[2].v_obj, next, 3, result);
}

static int test_set_hook_once(int32_t index, const char *name,
                              TVMFFISafeCallType call) {
  if (test_value_of(index, name).type_index != kTVMFFINone) return 0;
  return test_set_hook(index, name, call);
}

static int test_structural_hooked(int32_t *index) {
  *index =
      test_structural_type("unit.Hooked", kTVMFFISEqHashKindTreeNode, 0, 0);
  if (*index < 0) return -1;
  TVMFFI_TRY(test_set_hook_once(*index, "__s_equal__", test_s_equal));
  return test_set_hook_once(*index, "__s_hash__", test_s_hash);
}

static void test_structural_hooks(void) {
  int32_t index;
  TVMFFIAny a, b, c, args[4], pair, key = tvmffi_none();
  TVMFFIObject *kept;
  int64_t h, k;
  OK(test_structural_hooked(&index));
  NODE(a, index, tvmffi_int(1), tvmffi_int(2));
  NODE(b, index, tvmffi_int(1), tvmffi_int(3));
  NODE(c, index, tvmffi_int(2), tvmffi_int(2));
  test_kept_callback = NULL;
  SAME_STRUCTURE(a, b, 0, 1);
  kept = test_kept_callback;
  OWN(kept);
  SAME_STRUCTURE(a, c, 0, 0);
  OK(test_hash(a, 0, &h));
  OK(test_hash(b, 0, &k));
  CHECK(h == k);
  args[0] = a;
  args[1] = c;
  args[2] = args[3] = tvmffi_bool(0);
  OK(test_apply_global("ffi.GetFirstStructuralMismatch", args, 4, &pair));
  CHECK_INT(test_only_step(pair.v_obj, 0, &key), TVMFFI_I_STEP_ATTR);
  CHECK_TEXT(tvmffi_any_str(&key), "a");
  args[2] = tvmffi_int(0);
  FAILS(test_apply(kept, args, 4, &pair), "RuntimeError",
        "The callback of a structural hook was called after its end");
  FAILS(test_apply(kept, args, 2, &pair), "TypeError",
        "Mismatched number of arguments when calling: `(0: AnyView, 1: "
        "AnyView, 2: int, 3: AnyView) -> bool`. Expected 4 but got 2 "
        "arguments");
}

static TVMFFIAny test_changed_dict;

/* Empties a dict that is being compared, and finds a difference. */
static int test_s_empty(void *self, const TVMFFIAny *args, int32_t num_args,
                        TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args;
  *result = tvmffi_bool(0);
  return tvmffi_call(tvmffi_str("ffi.DictClear"), tvmffi_out_any(NULL),
                     test_changed_dict);
}

/* The key of the entry is there as long as the comparison. */
static void test_structural_changes(void) {
  int side;
  for (side = 0; side < 2; ++side) {
    TVMFFIByteArray text = TEXT("longer than eight");
    TVMFFIAny args[4], entry[2], pair, key = tvmffi_none();
    int32_t index =
        test_structural_type("unit.Emptying", kTVMFFISEqHashKindTreeNode, 0, 0);
    int i;
    OK(index < 0 ? -1 : 0);
    OK(test_set_hook_once(index, "__s_equal__", test_s_empty));
    for (i = 0; i < 2; ++i) {
      NODE(entry[1], index, tvmffi_int(i), tvmffi_none());
      OK(TVMFFIStringFromByteArray(&text, &entry[0]));
      OWN_ANY(entry[0]);
      OK(test_apply_global("ffi.Dict", entry, 2, &args[i]));
      test_drop(entry[0].v_obj);
      test_drop(entry[1].v_obj);
    }
    args[2] = args[3] = tvmffi_bool(0);
    test_changed_dict = args[side];
    OK(test_apply_global("ffi.GetFirstStructuralMismatch", args, 4, &pair));
    for (i = 0; i < 2; ++i) {
      CHECK_INT(test_only_step(pair.v_obj, i, &key), TVMFFI_I_STEP_MAP_ITEM);
      CHECK_TEXT(tvmffi_any_str(&key), "longer than eight");
    }
    test_release_all();
  }
}

/* As deep as memory allows, but hooks only up to a limit; no end is none. */
#define NESTED                                                    \
  "Structural hooks and keys are nested more than 4096 deep, or " \
  "use more than 768 KB of the stack"

static void test_structural_depth(void) {
  int i, n = test_scale(TEST_CHAIN < 20000 ? TEST_CHAIN : 20000, 20);
  int32_t index;
  int64_t hash;
  TVMFFIAny a = tvmffi_int(1), b = a, list;
  for (i = 0; i < n; ++i) {
    TVMFFIAny *items;
    TVMFFIObject *x = tvmffi_i_new_array(1, &items);
    if (x) items[0] = a;
    if (!x) tvmffi_any_release(&a);
    OK(x ? 0 : -1);
    a = tvmffi_obj(x);
  }
  OWN_ANY(a);
  SAME_STRUCTURE(a, a, 0, 1);
  SAME_STRUCTURE(a, b, 0, 0);
  OK(test_hash(a, 0, &hash));
  OK(test_structural_hooked(&index));
  a = tvmffi_int(1);
  for (i = 0; i < test_scale(5000, 20); ++i) {
    TVMFFIObject *o = tvmffi_i_new_object(index, sizeof(TVMFFIObject) + 32);
    if (o) *(TVMFFIAny *)(void *)(o + 1) = a;
    if (!o) tvmffi_any_release(&a);
    OK(o ? 0 : -1);
    a = tvmffi_obj(o);
  }
  OWN_ANY(a);
  if (test_scale(1, 0)) FAILS(test_same(a, a, 0) < 0, "RecursionError", NESTED);
  OK(test_apply_global("ffi.List", NULL, 0, &list));
  OK(tvmffi_i_list_append(list.v_obj, &list));
  if (test_scale(1, 0) && TEST_CHAIN >= 20000) /* needs some 50 MB */
    FAILS(test_same(list, list, 0) < 0, "ValueError",
          "StructuralEqual: maximum stack depth (1048576) exceeded");
  tvmffi_i_erase((tvmffi_i_seq *)(void *)list.v_obj, 0, 1);
}

/* Makes a nest (the test owns it) of `depth` levels, each of which has the
   level below it twice: a container by its function's name, or an object of a
   type. */
static int test_shared_nest(const char *name, int32_t index, int depth,
                            TVMFFIAny leaf, TVMFFIAny *out) {
  TVMFFIAny level = tvmffi_i_copy_owned(&leaf), next;
  int i, code = 0;
  for (i = 0; i < depth && !code; ++i) {
    next = tvmffi_none();
    if (!name) {
      TVMFFIObject *o = tvmffi_i_new_object(index, sizeof(*o) + 32);
      code = o ? 0 : -1;
      if (!o) break;
      ((TVMFFIAny *)(void *)(o + 1))[0] = tvmffi_i_copy_owned(&level);
      ((TVMFFIAny *)(void *)(o + 1))[1] = tvmffi_i_copy_owned(&level);
      next = tvmffi_obj(o);
    } else if (name[4] == 'M' || name[4] == 'D') {
      code = tvmffi_call(tvmffi_str(name), tvmffi_out_any(&next), tvmffi_int(0),
                         level, tvmffi_int(1), level);
    } else {
      code = tvmffi_call(tvmffi_str(name), tvmffi_out_any(&next), level, level);
    }
    if (code) break;
    tvmffi_any_release(&level);
    level = next;
  }
  OWN_ANY(level);
  *out = level;
  return code;
}

/* Compares both fields, and hashes them. */
static int test_s_equal_both(void *self, const TVMFFIAny *args,
                             int32_t num_args, TVMFFIAny *result) {
  const TVMFFIAny *a = (const TVMFFIAny *)(const void *)(args[0].v_obj + 1);
  const TVMFFIAny *b = (const TVMFFIAny *)(const void *)(args[1].v_obj + 1);
  TVMFFIAny next[4];
  int i;
  (void)self, (void)num_args;
  next[2] = tvmffi_int(0);
  next[3] = tvmffi_str("a");
  for (i = 0; i < 2; ++i) {
    next[0] = a[i];
    next[1] = b[i];
    *result = tvmffi_none();
    TVMFFI_TRY(TVMFFIFunctionCall(args[2].v_obj, next, 4, result));
    if (!result->v_int64) break;
  }
  return 0;
}
static int test_s_hash_both(void *self, const TVMFFIAny *args, int32_t num_args,
                            TVMFFIAny *result) {
  TVMFFIAny next[3];
  int i;
  (void)self, (void)num_args;
  next[1] = args[1];
  next[2] = tvmffi_int(0);
  for (i = 0; i < 2; ++i) {
    next[0] = ((const TVMFFIAny *)(const void *)(args[0].v_obj + 1))[i];
    *result = tvmffi_none();
    TVMFFI_TRY(TVMFFIFunctionCall(args[2].v_obj, next, 3, result));
    next[1] = *result;
  }
  return 0;
}

/* Graphs with more paths than can be followed take the time of their edges. */
static void test_structural_nests(const char *name, int32_t index) {
  TVMFFIAny x, y, z, leaf, args[4], result;
  int64_t h, k;
  int depth = test_scale(40, 12);
  OK(test_built("ffi.Array", 1, tvmffi_int(1), tvmffi_none(), &leaf));
  OK(test_shared_nest(name, index, depth, leaf, &x));
  OK(test_shared_nest(name, index, depth, leaf, &y));
  OK(test_built("ffi.Array", 1, tvmffi_int(2), tvmffi_none(), &leaf));
  OK(test_shared_nest(name, index, depth, leaf, &z));
  SAME_STRUCTURE(x, x, 0, 1);
  SAME_STRUCTURE(x, y, 0, 1);
  SAME_STRUCTURE(x, y, 1, 1);
  SAME_STRUCTURE(x, z, 0, 0);
  OK(test_hash(x, 0, &h));
  OK(test_hash(y, 0, &k));
  CHECK(h == k);
  OK(test_hash(z, 0, &k));
  CHECK(h != k);
  args[0] = x;
  args[1] = z;
  args[2] = args[3] = tvmffi_bool(0);
  OK(test_apply_global("ffi.GetFirstStructuralMismatch", args, 4, &result));
  CHECK_INT(((tvmffi_i_path *)(void *)test_item(result.v_obj, 0))->depth,
            depth + 1);
  args[1] = y;
  OK(test_apply_global("ffi.GetFirstStructuralMismatch", args, 4, &result));
  CHECK_INT(result.type_index, kTVMFFINone);
  OK(test_built("ffi.StructuralKey", 1, x, x, &args[0]));
  OK(test_built("ffi.StructuralKey", 1, y, y, &args[1]));
  OK(test_built("ffi.StructuralKeyEqual", 2, args[0], args[1], &result));
  CHECK_INT(result.v_int64, 1);
}

static void test_structural_shared(void) {
  test_structural_nests("ffi.Array", 0);
  test_structural_nests("ffi.List", 0);
  test_structural_nests("ffi.Map", 0);
  test_structural_nests("ffi.Dict", 0);
}

static void test_structural_shared_objects(void) {
  int32_t constant, graph, hooked;
  STRUCTURAL_TYPE(constant, "unit.Const", kTVMFFISEqHashKindConstTreeNode, 0,
                  0);
  STRUCTURAL_TYPE(graph, "unit.Graph", kTVMFFISEqHashKindDAGNode, 0, 0);
  STRUCTURAL_TYPE(hooked, "unit.HookedBoth", kTVMFFISEqHashKindTreeNode, 0, 0);
  OK(test_set_hook_once(hooked, "__s_equal__", test_s_equal_both));
  OK(test_set_hook_once(hooked, "__s_hash__", test_s_hash_both));
  test_structural_nests(NULL, constant);
  test_structural_nests(NULL, graph);
  test_structural_nests(NULL, hooked);
}

/* A map that is shared is compared and hashed again when its key, an object,
   has been defined meanwhile. */
static void test_structural_shared_keys(void) {
  int32_t variable, function;
  TVMFFIAny x, y, m, n, f, g, a, b;
  int64_t h, k;
  int depth = test_scale(40, 12);
  STRUCTURAL_TYPE(variable, "unit.Var", kTVMFFISEqHashKindFreeVar, 0, 0);
  STRUCTURAL_TYPE(function, "unit.Lambda", kTVMFFISEqHashKindTreeNode,
                  kTVMFFIFieldFlagBitMaskSEqHashDefSimple, 0);
  NODE(x, variable, tvmffi_int(1), tvmffi_none());
  NODE(y, variable, tvmffi_int(1), tvmffi_none());
  OK(test_built("ffi.Map", 2, x, tvmffi_int(5), &m));
  OK(test_built("ffi.Map", 2, x, tvmffi_int(5), &n));
  OK(test_shared_nest("ffi.Array", 0, depth, m, &m));
  OK(test_shared_nest("ffi.Array", 0, depth, n, &n));
  SAME_STRUCTURE(m, n, 0, 1); /* x is free: its own counterpart */
  NODE(f, function, x, m);
  NODE(g, function, y, n);
  SAME_STRUCTURE(f, g, 0, 0); /* x is y */
  OK(test_built("ffi.Array", 2, m, f, &a));
  OK(test_built("ffi.Array", 2, n, g, &b));
  SAME_STRUCTURE(a, b, 0, 0); /* first the one, then the other */
  NODE(g, function, x, n);
  OK(test_built("ffi.Array", 2, n, g, &b));
  SAME_STRUCTURE(a, b, 0, 1);
  /* The same with a map for each place, which have one result each. */
  OK(test_built("ffi.Map", 2, x, tvmffi_int(5), &m));
  OK(test_built("ffi.Map", 2, x, tvmffi_int(5), &n));
  NODE(f, function, x, m);
  NODE(g, function, x, n);
  OK(test_built("ffi.Array", 2, m, f, &a));
  OK(test_built("ffi.Array", 2, m, g, &b));
  OK(test_hash(a, 0, &h));
  OK(test_hash(b, 0, &k));
  CHECK(h == k);
}

static void test_structural_errors(void) {
  TVMFFIAny f, pair;
  TVMFFIByteArray name = TEXT("ffi.StructuralHash");
  TVMFFIObjectHandle handle = NULL;
  int64_t hash;
  OK(TVMFFIFunctionGetGlobal(&name, &handle));
  OWN(handle);
  f = tvmffi_obj((TVMFFIObject *)handle);
  FAILS(test_same(f, f, 0) < 0, "TypeError",
        "Type metadata is not set for type `ffi.Function`, so StructuralHash "
        "is not supported for this type");
  OK(test_built("ffi.Array", 2, tvmffi_int(1), f, &pair));
  FAILS(test_hash(pair, 0, &hash), "TypeError",
        "Type metadata is not set for type `ffi.Function`, so StructuralHash "
        "is not supported for this type");
  FAILS(test_built("ffi.StructuralKeyEqual", 2, tvmffi_int(1), tvmffi_int(2),
                   &pair),
        "InternalError", "Check not null: lhs_obj ");
}

static void test_structural_keys(void) {
  TVMFFIAny a, b, c, x, y, map, found;
  OK(test_built("ffi.Array", 1, tvmffi_int(1), tvmffi_none(), &a));
  OK(test_built("ffi.Array", 1, tvmffi_int(1), tvmffi_none(), &b));
  OK(test_built("ffi.StructuralKey", 1, a, a, &x));
  OK(test_apply_attr(137, "__ffi_init__", &b, 1, &y));
  OK(test_built("ffi.StructuralKeyEqual", 2, x, y, &found));
  CHECK_INT(found.v_int64, 1);
  OK(test_built("ffi.StructuralKey", 1, tvmffi_int(1), a, &c));
  OK(test_built("ffi.StructuralKeyEqual", 2, x, c, &found));
  CHECK_INT(found.v_int64, 0);
  OK(test_built("ffi.Map", 2, x, tvmffi_int(5), &map));
  OK(test_built("ffi.MapGetItem", 2, map, y, &found));
  CHECK_INT(found.v_int64, 5);
}

/* A tensor of four numbers, which the test owns. */
typedef struct {
  DLManagedTensor managed;
  int64_t shape[2], strides[2];
  int32_t data[4];
} test_numbers_tensor;

static int test_numbers_tensor_of(test_numbers_tensor *m, int32_t ndim,
                                  TVMFFIAny *out) {
  static const int32_t data[4] = {1, 2, 3, 4};
  TVMFFIObjectHandle tensor = NULL;
  memset((void *)m, 0, sizeof(*m));
  memcpy(m->data, data, sizeof(data));
  m->managed.dl_tensor.data = m->data;
  m->managed.dl_tensor.device.device_type = kDLCPU;
  m->managed.dl_tensor.ndim = ndim;
  m->managed.dl_tensor.dtype.code = kDLInt;
  m->managed.dl_tensor.dtype.bits = 32;
  m->managed.dl_tensor.dtype.lanes = 1;
  m->managed.dl_tensor.shape = m->shape;
  m->managed.dl_tensor.strides = m->strides;
  m->shape[0] = m->shape[1] = ndim == 1 ? 4 : 2;
  m->strides[0] = ndim == 1 ? 1 : 2;
  m->strides[1] = 1;
  TVMFFI_TRY(TVMFFITensorFromDLPack(&m->managed, 0, 0, &tensor));
  OWN(tensor);
  *out = tvmffi_obj((TVMFFIObject *)tensor);
  return 0;
}

static void test_structural_tensors(void) {
  static test_numbers_tensor one, other,
      flat; /* which live until the test ends */
  TVMFFIAny args[4], result, x;
  DLTensor *t;
  int64_t h, k;
  OK(test_numbers_tensor_of(&one, 2, &args[0]));
  OK(test_numbers_tensor_of(&other, 2, &args[1]));
  OK(test_numbers_tensor_of(&flat, 1, &x));
  SAME_STRUCTURE(args[0], args[0], 0, 1);
  SAME_STRUCTURE(args[0], args[1], 0, 1);
  SAME_STRUCTURE(args[0], x, 0, 0);
  OK(test_hash(args[0], 0, &h));
  OK(test_hash(args[1], 0, &k));
  CHECK(h == k);
  other.data[3] = 5;
  SAME_STRUCTURE(args[0], args[1], 0, 0);
  OK(test_hash(args[1], 0, &k));
  CHECK(h != k);
  /* Without a look at the content. */
  args[2] = tvmffi_bool(0);
  args[3] = tvmffi_bool(1);
  OK(test_apply_global("ffi.StructuralEqual", args, 4, &result));
  CHECK_INT(result.v_int64, 1);
  t = TVMFFITensorGetDLTensorPtr(args[1].v_obj);
  t->dtype.bits = 16;
  OK(test_apply_global("ffi.StructuralEqual", args, 4, &result));
  CHECK_INT(result.v_int64, 0);
  t->dtype.bits = 32;
  t->shape[0] = 1;
  SAME_STRUCTURE(args[0], args[1], 0, 0);
  t->shape[0] = 2;
  t->strides[0] = 4;
  FAILS(test_same(args[0], args[1], 0) < 0, "InternalError",
        "Can only compare contiguous tensor");
  t->strides[0] = 2;
  t->device.device_type = kDLCUDA;
  FAILS(test_same(args[0], args[1], 0) < 0, "InternalError",
        "can only compare CPU tensor");
  FAILS(test_hash(args[1], 0, &k), "InternalError", "can only hash CPU tensor");
  OK(test_built("ffi.List", 2, args[0], args[1], &x));
  OK(test_apply_global("ffi.ContainerFindFirstNonCPUDevice", &x, 1, &result));
  CHECK_INT(result.v_device.device_type, kDLCUDA);
  t->device.device_type = kDLCPU;
}

/* Values that are compared and hashed by what they hold. */
static void test_structural_contents(void) {
  TVMFFIAny a, b, c, x, y, key = tvmffi_none();
  int64_t h, k;
  OK(test_built("ffi.Shape", 2, tvmffi_int(2), tvmffi_int(3), &a));
  OK(test_built("ffi.Shape", 2, tvmffi_int(2), tvmffi_int(3), &b));
  OK(test_built("ffi.Shape", 2, tvmffi_int(2), tvmffi_int(4), &c));
  SAME_STRUCTURE(a, b, 0, 1);
  SAME_STRUCTURE(a, c, 0, 0);
  OK(test_hash(a, 0, &h));
  OK(test_hash(b, 0, &k));
  CHECK(h == k);
  OK(test_built("ffi.Shape", 1, tvmffi_int(2), tvmffi_none(), &c));
  SAME_STRUCTURE(a, c, 0, 0);
  SAME_STRUCTURE(test_double((uint64_t)0x7FF8 << 48),
                 test_double((uint64_t)0xFFF1 << 48), 0, 1);
  OK(test_bigint(&a, 1, 2, 3));
  OK(test_bigint(&b, 1, 2, 3));
  OK(test_bigint(&c, 1, 2, 4));
  SAME_STRUCTURE(a, b, 0, 1);
  SAME_STRUCTURE(a, c, 0, 0);
  OK(test_built("ffi.Map", 2, a, tvmffi_int(1), &x));
  OK(test_built("ffi.Map", 2, b, tvmffi_int(1), &y));
  SAME_STRUCTURE(x, y, 0, 1);
  OK(test_hash(x, 0, &h));
  OK(test_hash(y, 0, &k));
  CHECK(h == k);
  /* An empty dict is the first thing that is hashed. */
  OK(test_built("ffi.Dict", 0, a, a, &x));
  OK(test_built("ffi.Dict", 0, a, a, &y));
  OK(test_hash(x, 0, &h));
  OK(test_hash(y, 0, &k));
  CHECK(h == k);
  SAME_STRUCTURE(x, y, 0, 1);
  /* Only the second map has this key. */
  OK(test_built("ffi.Map", 0, a, a, &x));
  OK(test_built("ffi.Map", 2, tvmffi_int(7), tvmffi_int(1), &y));
  {
    TVMFFIAny args[4], pair;
    args[0] = x;
    args[1] = y;
    args[2] = args[3] = tvmffi_bool(0);
    OK(test_apply_global("ffi.GetFirstStructuralMismatch", args, 4, &pair));
    CHECK_INT(test_only_step(pair.v_obj, 0, &key),
              TVMFFI_I_STEP_MAP_ITEM_MISSING);
    CHECK_INT(test_only_step(pair.v_obj, 1, &key), TVMFFI_I_STEP_MAP_ITEM);
    CHECK_INT(key.v_int64, 7);
  }
}
/* Maps are equal in any order, and have one hash, however many entries. */
static void test_structural_orders(void) {
  static const char *const names[] = {"ffi.Map", "ffi.Dict"};
  enum { ENTRIES = 40 };
  TVMFFIAny views[2][2 * ENTRIES], last;
  TVMFFIObject *map[3];
  int64_t h, k;
  int i, kind;
  for (kind = 0; kind < 2; ++kind) {
    TVMFFIAny item = tvmffi_int(6);
    SEQUENCE(list, "List", &item, 1);
    for (i = 0; i < ENTRIES; ++i) {
      int other = ENTRIES - 1 - i;
      views[0][2 * i] = views[1][2 * other] = tvmffi_int(i);
      views[0][2 * i + 1] = views[1][2 * other + 1] =
          i % 3 ? tvmffi_str("v") : tvmffi_obj(list);
    }
    for (i = 0; i < 3; ++i) {
      if (i == 2) views[1][1] = tvmffi_int(-1);
      map[i] = test_sequence(names[kind], views[i > 0], 2 * ENTRIES);
      if (!map[i]) return;
    }
    SAME_STRUCTURE(tvmffi_obj(map[0]), tvmffi_obj(map[1]), 0, 1);
    SAME_STRUCTURE(tvmffi_obj(map[0]), tvmffi_obj(map[2]), 0, 0);
    /* in the same order, too */
    views[0][2 * ENTRIES - 1] = tvmffi_int(-1);
    map[0] = test_sequence(names[kind], views[0], 2 * ENTRIES);
    if (!map[0]) return;
    SAME_STRUCTURE(tvmffi_obj(map[2]), tvmffi_obj(map[0]), 0, 1);
    OK(test_hash(tvmffi_obj(map[0]), 0, &h));
    OK(test_hash(tvmffi_obj(map[2]), 0, &k));
    CHECK(h == k);
    item = tvmffi_obj(list);
    OK(test_built("ffi.List", 1, item, item, &last));
    OK(test_hash(last, 0, &h));
    SAME_STRUCTURE(last, last, 0, 1);
  }
}
#endif /* !TEST_NO_REFLECTION && !TVMFFI_NO_EXTRA */

/* ======== JSON ============================================================ */

#if !TVMFFI_NO_EXTRA && !TEST_NO_JSON

static int test_parse(const char *text, size_t size, TVMFFIAny *out) {
  TVMFFIByteArray bytes = test_bytes(text, size);
  TVMFFIAny arg = tvmffi_none(), owned;
  TVMFFI_TRY(TVMFFIStringFromByteArray(&bytes, &owned));
  arg = owned;
  if (test_apply_global("ffi.json.Parse", &arg, 1, out)) {
    tvmffi_any_release(&owned);
    return -1;
  }
  tvmffi_any_release(&owned);
  return 0;
}

/* The text that a value has; it lives as long as the test. */
static int test_stringify(const TVMFFIAny *value, int indent,
                          TVMFFIByteArray *text) {
  TVMFFIAny args[2], made;
  args[0] = *value;
  args[1] = indent ? tvmffi_int(indent) : tvmffi_none();
  TVMFFI_TRY(test_apply_global("ffi.json.Stringify", args, 2, &made));
  *text = tvmffi_any_str(&made);
  return 0;
}

static int test_reprint(const char *from, int indent, TVMFFIByteArray *text) {
  TVMFFIAny value;
  TVMFFI_TRY(test_parse(from, strlen(from), &value));
  return test_stringify(&value, indent, text);
}

static void test_json_texts(void) {
  static const struct {
    const char *from, *to;
  } rows[] = {{" null ", "null"},
              {"[true,false\t]\n", "[true,false]"},
              {"[]", "[]"},
              {"{ }", "{}"},
              {"{\"a\":{\"b\":[1,[2]]},\"c\":\"d\"}",
               "{\"a\":{\"b\":[1,[2]]},\"c\":\"d\"}"},
              {"{\"a\":1,\"b\":2,\"a\":3}", "{\"a\":3,\"b\":2}"},
              {"{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"a\":5}",
               "{\"b\":2,\"c\":3,\"d\":4,\"a\":5}"},
              {"\"a longer text / with \\\" and \\u00e9\"",
               "\"a longer text \\/ with \\\" and \xC3\xA9\""},
              {"\"\\b\\f\\n\\r\\t\\/\\\\\\\"\\u0001\\u007F\"",
               "\"\\b\\f\\n\\r\\t\\/\\\\\\\"\\u0001\\u007f\""},
              {"\"\\uD83D\\uDE00\\u4e2d\\u0000\"",
               "\"\xF0\x9F\x98\x80\xE4\xB8\xAD\\u0000\""}};
  TVMFFIByteArray text;
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    OK(test_reprint(rows[i].from, 0, &text));
    CHECK_TEXT(text, rows[i].to);
    test_release_all();
  }
  OK(test_reprint("[1,{\"a\":[],\"b\":{\"c\":0}}]", 2, &text));
  CHECK_TEXT(text,
             "[\n  1,\n  {\n    \"a\": [\n    ],\n    \"b\": {\n"
             "      \"c\": 0\n    }\n  }\n]");
  OK(test_reprint("[1]", -3, &text));
  CHECK_TEXT(text, "[\n1\n]");
}

/* Numbers that are hard to round, and those that only upstream takes. */
static void test_json_numbers(void) {
  static const struct {
    const char *from, *to;
  } rows[] = {
      {"9223372036854775807", "9223372036854775807"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"9223372036854775808", "9.2233720368547758e+18"},
      {"-0", "0"},
      {"-0.0", "-0.0"},
      {"007", "7"},
      {"+.5e1", "5.0"},
      {"1.", "1.0"},
      {"0.1", "0.10000000000000001"},
      {"1e22", "1e+22"},
      {"123456789012345680", "123456789012345680"},
      {"1234567890123456.7", "1234567890123456.8"},
      {"1234567890123456.25", "1234567890123456.2"},
      {"1234567890123456.75", "1234567890123456.8"},
      {"4503599627370497.5", "4503599627370498.0"},
      {"13.436424411240122", "13.436424411240122"},
      {"-123456789012345678e-44", "-1.2345678901234567e-27"},
      {"1234567890123456789e44", "1.2345678901234569e+62"},
      {"9.9999999999999999e22", "9.9999999999999992e+22"},
      {"1e23", "9.9999999999999992e+22"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"[1234567,12345678,123456789]", "[1234567,12345678,123456789]"},
      {"9007199254740993.0", "9007199254740992"},
      {"9007199254740993.00000000000000000000000001", "9007199254740994"},
      {"1.7976931348623157e308", "1.7976931348623157e+308"},
      {"2.2250738585072014e-308", "2.2250738585072014e-308"},
      {"0.00001", "1.0000000000000001e-05"},
      {"0.00012", "0.00012"},
      {"1e-300", "1e-300"},
      {"123456.5e-1", "12345.65"},
      {"0e99999999999999999999", "0.0"},
      {"100e-2", "1.0"},
      {"[NaN,Infinity,-Infinity]", "[NaN,Infinity,-Infinity]"}};
  static const char *const bad[] = {
      "1e400", "5e-324", "2.2250738585072011e-308",
      "1e",    "-",      "+",
      ".",     "1-2",    "--1",
      "1.5.2", "-N",     "Inf",
      "e5"};
  TVMFFIByteArray text;
  TVMFFIAny any;
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    OK(test_reprint(rows[i].from, 0, &text));
    CHECK_TEXT(text, rows[i].to);
    test_release_all();
  }
  for (i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i)
    FAILS(test_parse(bad[i], strlen(bad[i]), &any), "ValueError",
          "Expecting value: line 1 column 1 (char 0)");
}

static void test_json_errors(void) {
  static const struct {
    const char *from, *error;
  } rows[] = {
      {"", "Expecting value: line 1 column 1 (char 0)"},
      {"[\n 1,\n nul]", "Expecting value: line 3 column 2 (char 7)"},
      {"[1,", "Syntax error near: line 1 column 4 (char 3)"},
      {"[1 2]", "Expecting ',' delimiter: line 1 column 4 (char 3)"},
      {"[1,]", "Expecting value: line 1 column 4 (char 3)"},
      {"1 \n 2", "Extra data: line 2 column 2 (char 4)"},
      {"[1]2", "Extra data: line 1 column 4 (char 3)"},
      {"{",
       "Expecting property name enclosed in double quotes: line 1 column "
       "2 (char 1)"},
      {"{\"a\" 1}", "Expecting ':' delimiter: line 1 column 6 (char 5)"},
      {"{\"a\":1]", "Expecting ',' delimiter: line 1 column 7 (char 6)"},
      {"[{\"a\":1},{\"a\":1},{\"a\"=1},{\"b\":\"a text behind it\"}]",
       "Expecting ':' delimiter: line 1 column 22 (char 21)"},
      {"[\"abc", "Unterminated string starting at: line 1 column 2 (char 1)"},
      {"\"a\nb\"", "Invalid control character at: line 1 column 3 (char 2)"},
      {"\"\\x\"", "Invalid \\escape: line 1 column 3 (char 2)"},
      {"\"\\", "Invalid \\escape: line 1 column 3 (char 2)"},
      {"\"\\u12\"", "Invalid \\uXXXX escape: line 1 column 3 (char 2)"},
      {"\"\\uDE00\"",
       "Invalid surrogate pair of \\uXXXX escapes: line 1 "
       "column 3 (char 2)"},
      {"\"\\uD800\\u0041\"",
       "Invalid surrogate pair of \\uXXXX escapes: line 1 "
       "column 10 (char 9)"},
      {"\"\\uD800\\u\"", "Invalid \\uXXXX escape: line 1 column 10 (char 9)"}};
  TVMFFIAny any;
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i)
    FAILS(test_parse(rows[i].from, strlen(rows[i].from), &any), "ValueError",
          rows[i].error);
}

/* Objects with the keys of one before, whatever became of that one. */
static void test_json_alike(void) {
#define SOME "\"b\":2,\"c\":3,\"a longer key\":4"
#define FOUR "\"a\":1," SOME
  static const struct {
    const char *from, *to;
  } rows[] = {
      {"[{" FOUR "},{" FOUR "}]", NULL},
      {"{\"x\":{" FOUR "},\"x\":{" FOUR "}}", "{\"x\":{" FOUR "}}"},
      {"[{" FOUR ",\"a\":5},{" FOUR ",\"a\":6}]",
       "[{" SOME ",\"a\":5},{" SOME ",\"a\":6}]"},
      {"[{" FOUR "},{\"\\u0061\":1," SOME "}]", "[{" FOUR "},{" FOUR "}]"},
      {"[{" FOUR "},{" SOME ",\"a\":1},{" FOUR ",\"d\":{}}]", NULL},
      {"{\"x\":1,\"y\":[{" FOUR "}],\"x\":{" FOUR "}}",
       "{\"x\":{" FOUR "},\"y\":[{" FOUR "}]}"}};
  static const char escaped[] =
      "[{\"a\":1},{\"\\u0061\":2},{\"a\":3},{\"b\":\"more text behind it\"}]";
  const TVMFFIAny none = tvmffi_none();
  const tvmffi_i_pair *row;
  TVMFFIByteArray text;
  TVMFFIAny any, key;
  size_t i;
  int code = 0;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    OK(test_reprint(rows[i].from, 0, &text));
    CHECK_TEXT(text, rows[i].to ? rows[i].to : rows[i].from);
    test_release_all();
  }
  /* As upstream's, a key with an escape is an object even if it is short. */
  OK(test_parse(escaped, strlen(escaped), &any));
  for (i = 0; i < 3; ++i) {
    key = TVMFFI_I_ITEMS((tvmffi_i_seq *)any.v_ptr)[i];
    row = (const tvmffi_i_pair *)((tvmffi_i_map_object *)key.v_ptr)->data;
    CHECK_INT(row->key.type_index, i == 1 ? kTVMFFIStr : kTVMFFISmallStr);
  }
  /* The table in the map's own memory gives way to a larger one. */
  OK(test_parse(rows[0].from, strlen(rows[0].from), &any));
  any = TVMFFI_I_ITEMS((tvmffi_i_seq *)any.v_ptr)[1];
  tvmffi_retain(any.v_obj);
  for (i = 0; !code && i < 20; ++i) {
    key = tvmffi_int((int64_t)i);
    code = tvmffi_i_map_set(&any.v_obj, &key, &none);
  }
  OWN(any.v_obj);
  OK(code);
  CHECK(tvmffi_i_map_size(any.v_obj) == 24);
  key = tvmffi_str("a longer key");
  CHECK(tvmffi_i_map_get(any.v_obj, &key)->v_int64 == 4);
#undef FOUR
#undef SOME
}

/* A text of `n` objects, whose keys of `first` letters and more differ in their
   last one, too; of the second object with a space, of the third in another
   order. */
static void test_put_keys(tvmffi_i_text_buffer *b, int n, int first, int keys,
                          int space) {
  int i, k;
  b->size = 0;
  for (i = 0; i < n; ++i) {
    tvmffi_i_text_char(b, i ? ',' : '[');
    for (k = 0; k < keys; ++k) {
      int key = i == 2 ? keys - 1 - k : k, left = first + key % 40;
      tvmffi_i_text_char(b, k ? ',' : '{');
      tvmffi_i_text_char(b, '"');
      while (left-- > 0) tvmffi_i_text_char(b, 'k');
      tvmffi_i_text_char(b, (char)('a' + key / 40));
      tvmffi_i_text_char(b, '"');
      if (space && i == 1) tvmffi_i_text_char(b, ' ');
      tvmffi_i_text_char(b, ':');
      tvmffi_i_text_char(b, (char)('0' + (i + k) % 10));
    }
    tvmffi_i_text_char(b, '}');
  }
  tvmffi_i_text_char(b, ']');
}

/* Keys that come again: of every length, in another order, with a space behind
   them, more than the reader knows, and cut off at any place. */
static void test_json_keys(void) {
  static const char row[] = ",{\"another key\":1}";
  tvmffi_i_text_buffer b = {NULL, 0, 0, 0}, want = {NULL, 0, 0, 0};
  TVMFFIByteArray text = {NULL, 0};
  TVMFFIAny any = tvmffi_none(), key;
  const TVMFFIAny *rows;
  size_t i;
  int code = 0, n, keys;
  for (keys = 1; !code && keys <= 120; keys += 7) {
    for (n = 1; !code && n <= 6; n += 5) {
      test_put_keys(&b, n, 0, keys, 1);
      test_put_keys(&want, n, 0, keys, 0);
      code = b.failed || want.failed ? tvmffi_i_no_memory()
                                     : test_parse(b.data, b.size, &any);
      if (!code) code = test_stringify(&any, 0, &text);
      if (!code)
        CHECK(text.size == want.size &&
              !memcmp(text.data, want.data, want.size));
      test_release_all();
    }
  }
  if (!code) { /* nothing that is cut off is taken */
    test_put_keys(&b, 2, 0, 5, 1);
    for (i = 0; i < b.size; ++i) {
      FAILS(test_parse(b.data, i, &any), "ValueError", NULL);
      test_release_all();
    }
    test_put_keys(&b, 2, 20, 6, 1);
    code = b.failed ? tvmffi_i_no_memory() : test_parse(b.data, b.size, &any);
  }
  if (!code) { /* a long key that comes again is the same object */
    rows = TVMFFI_I_ITEMS((tvmffi_i_seq *)any.v_ptr);
    key = tvmffi_str("kkkkkkkkkkkkkkkkkkkkkkkkka");
    CHECK(tvmffi_i_map_get(rows[0].v_obj, &key)[-1].v_obj ==
          tvmffi_i_map_get(rows[1].v_obj, &key)[-1].v_obj);
  }
  if (!code) { /* also where many others were before */
    test_put_keys(&b, 1, 0, 100, 0);
    for (b.size -= b.size != 0, i = 0; i < 80; ++i)
      tvmffi_i_text_put(&b, row, sizeof(row) - 1);
    tvmffi_i_text_char(&b, ']');
    code = b.failed ? tvmffi_i_no_memory() : test_parse(b.data, b.size, &any);
  }
  if (!code) {
    rows = TVMFFI_I_ITEMS((tvmffi_i_seq *)any.v_ptr);
    key = tvmffi_str("another key");
    CHECK(tvmffi_i_map_get(rows[77].v_obj, &key)[-1].v_obj ==
          tvmffi_i_map_get(rows[78].v_obj, &key)[-1].v_obj);
  }
  tvmffi_i_text_release(&want);
  tvmffi_i_text_release(&b);
  OK(code);
}

static void test_json_writing_errors(void) {
  TVMFFIObject *list = tvmffi_i_new_list(0), *dict, *map;
  TVMFFIByteArray text;
  TVMFFIAny any, key = tvmffi_int(1);
  int code;
  OK(list ? 0 : -1);
  OWN(list);
  any = tvmffi_obj(list);
  OK(tvmffi_i_list_append(list, &any));
  code = test_stringify(&any, 0, &text);
  tvmffi_i_erase((tvmffi_i_seq *)(void *)list, 0, 1);
  FAILS(code, "ValueError", "Cycle detected: List contains itself");
  dict = tvmffi_i_new_map(kTVMFFIDict, 0);
  OK(dict ? 0 : -1);
  OWN(dict);
  any = tvmffi_obj(dict);
  FAILS(test_stringify(&any, 0, &text), "ValueError",
        "Unsupported type: `ffi.Dict`");
  map = tvmffi_i_new_map(kTVMFFIMap, 0);
  OK(map ? 0 : -1);
  code = tvmffi_i_map_set(&map, &key, &key);
  OWN(map);
  OK(code);
  any = tvmffi_obj(map);
  FAILS(test_stringify(&any, 0, &text), "ValueError",
        "Expect key to be string, got `int`");
}

/* One list in another, as deep as memory allows: read, written, made a graph
   and a value again. */
static void test_json_depth(void) {
  int i, n = test_scale(TEST_CHAIN, 20);
  tvmffi_i_text_buffer b = {NULL, 0, 0, 0};
  TVMFFIAny text, value, args[2], graph, again;
  TVMFFIByteArray back;
  for (i = 0; i < n; ++i) tvmffi_i_text_char(&b, '[');
  for (i = 0; i < n; ++i) tvmffi_i_text_char(&b, ']');
  OK(tvmffi_i_text_take(&b, &text));
  OWN(text.v_obj);
  OK(test_apply_global("ffi.json.Parse", &text, 1, &value));
  OK(test_stringify(&value, 0, &back));
  CHECK(tvmffi_i_same_text(back, tvmffi_any_str(&text)));
  args[0] = value;
  args[1] = tvmffi_none();
  OK(test_apply_global("ffi.ToJSONGraphString", args, 2, &graph));
  OK(test_apply_global("ffi.FromJSONGraphString", &graph, 1, &again));
  OK(test_stringify(&again, 0, &back));
  CHECK(tvmffi_i_same_text(back, tvmffi_any_str(&text)));
  FAILS(test_parse(tvmffi_any_str(&text).data, (size_t)n, &value), "ValueError",
        NULL);
}

/* Of all built-in kinds, one of them twice. */
static int test_make_graph(TVMFFIObject **made) {
  TVMFFIObject *list = tvmffi_i_new_list(0);
  TVMFFIByteArray raw = test_bytes("\0\1\2\xFF and more", 13),
                  big = test_bytes(NULL, 0);
  int64_t words[2] = {5, -7}, *numbers = NULL;
  TVMFFIAny items[12], inner = tvmffi_none();
  DLDataType dtype = {kDLFloat, 32, 1};
  DLDevice device = {kDLCUDA, 3};
  int code = list ? 0 : -1, i = 0, n = 0;
  TVMFFIObject *map = list ? tvmffi_i_new_map(kTVMFFIMap, 0) : NULL;
  items[n++] = tvmffi_none();
  items[n++] = tvmffi_bool(1);
  items[n++] = tvmffi_int(-5);
  items[n++] = tvmffi_i_double_of((uint64_t)0x3FF8 << 48);
  items[n++] = tvmffi_dtype(dtype);
  items[n++] = tvmffi_device(device);
  if (!map) code = -1;
  if (!code) {
    inner = tvmffi_int(1);
    code = tvmffi_i_map_set(&map, &items[1], &inner);
  }
  items[n++] = tvmffi_obj(map);
  if (!code) {
    code = TVMFFIBytesFromByteArray(&raw, &items[n]);
    n += !code;
  }
  big.data = (const char *)words;
  big.size = sizeof(words);
  if (!code) {
    code = TVMFFIBigIntFromByteArray(&big, &items[n]);
    n += !code;
  }
  if (!code) {
    items[n] = tvmffi_obj(tvmffi_i_new_shape(2, &numbers));
    code = items[n].v_obj ? 0 : -1;
    n += !code;
  }
  if (!code) {
    numbers[0] = 4;
    numbers[1] = 2;
  }
  for (i = 0; i < n && !code; ++i) code = tvmffi_i_list_append(list, &items[i]);
  for (i = 0; i < n && !code; ++i) code = tvmffi_i_list_append(list, &items[i]);
  for (i = 6; i < n; ++i)
    if (items[i].v_obj) tvmffi_any_release(&items[i]);
  if (code) {
    tvmffi_release(list);
    return -1;
  }
  OWN(list);
  *made = list;
  return 0;
}

static void test_json_graphs(void) {
  TVMFFIObject *list = NULL;
  TVMFFIAny args[2], text, graph, again, third;
  TVMFFIByteArray direct;
  OK(test_make_graph(&list));
  args[0] = tvmffi_obj(list);
  args[1] = tvmffi_int(8);
  OK(test_apply_global("ffi.ToJSONGraphString", args, 2, &text));
  CHECK_TEXT(tvmffi_any_str(&text),
             "{\"root_index\":11,\"nodes\":[{\"type\":\"None\"},{\"type\":"
             "\"bool\",\"data\":true},{\"type\":\"int\",\"data\":-5},{\"type\":"
             "\"float\",\"data\":1.5},{\"type\":\"DataType\",\"data\":"
             "\"float32\"},{\"type\":\"Device\",\"data\":[2,3]},{\"type\":"
             "\"int\",\"data\":1},{\"type\":\"ffi.Map\",\"data\":[1,6]},"
             "{\"type\":\"ffi.Bytes\",\"data\":\"AAEC\\/yBhbmQgbW9yZQ==\"},"
             "{\"type\":\"ffi.BigInt\",\"data\":\"-129127208515966861307\"},"
             "{\"type\":\"ffi.Shape\",\"data\":[4,2]},{\"type\":\"ffi.List\","
             "\"data\":[0,1,2,3,4,5,7,8,9,10,0,1,2,3,4,5,7,8,9,10]}],"
             "\"metadata\":8}");
  OK(test_apply_global("ffi.ToJSONGraph", args, 2, &graph));
  OK(test_stringify(&graph, 0, &direct));
  CHECK(tvmffi_i_same_text(direct, tvmffi_any_str(&text)));
  OK(test_apply_global("ffi.FromJSONGraph", &graph, 1, &again));
  CHECK_INT(again.type_index, kTVMFFIList);
  CHECK(test_item(again.v_obj, 6) == test_item(again.v_obj, 16));
  args[0] = again;
  OK(test_apply_global("ffi.ToJSONGraphString", args, 2, &third));
  CHECK(tvmffi_i_same_text(tvmffi_any_str(&third), tvmffi_any_str(&text)));
}

/* Objects by their fields, one of which is shared. */
static void test_json_objects(void) {
  TVMFFIObject *o;
  TVMFFIAny args[2], text, again;
  const tvmffi_i_path *path;
  OK(TVMFFIGetTypeInfo(133) ? 0 : -1);
  o = test_path("a", 1);
  OK(o ? 0 : -1);
  args[0] = tvmffi_obj(o);
  args[1] = tvmffi_none();
  OK(test_apply_global("ffi.ToJSONGraphString", args, 2, &text));
  OK(test_apply_global("ffi.FromJSONGraphString", &text, 1, &again));
  CHECK_INT(again.type_index, 133);
  path = (const tvmffi_i_path *)again.v_ptr;
  CHECK(path->depth == ((const tvmffi_i_path *)(const void *)o)->depth);
  CHECK(path->step != ((const tvmffi_i_path *)(const void *)o)->step);
  args[0] = test_value_of(133, "__ffi_new__");
  FAILS(test_apply_global("ffi.ToJSONGraph", args, 2, &again), "TypeError",
        "Type `ffi.Function` does not support ToJSONGraph (no native creator "
        "or __ffi_new__ type attr)");
  args[0] = tvmffi_ptr(&args);
  FAILS(test_apply_global("ffi.ToJSONGraph", args, 2, &again), "RuntimeError",
        "Cannot serialize type `void*`");
}

static void test_json_bad_graphs(void) {
#define NODE_TEXT(text) "{\"root_index\":0,\"nodes\":[" text "]}"
#define GRAPH "Invalid JSON Object Graph"
  static const struct {
    const char *from, *kind, *error;
  } rows[] = {
      {"[]", "ValueError", GRAPH ", expected an object"},
      {"{\"nodes\":[]}", "ValueError",
       GRAPH ", expected `root_index` integer field"},
      {"{\"root_index\":0,\"nodes\":1}", "ValueError",
       GRAPH ", expected `nodes` array field"},
      {NODE_TEXT(""), "ValueError", GRAPH ": invalid node index 0"},
      {NODE_TEXT("1"), "TypeError",
       "Cannot convert from type `int` to `Map<Any, Any>`"},
      {NODE_TEXT("{}"), "KeyError", "key is not in Map"},
      {NODE_TEXT("{\"type\":\"int\"}"), "KeyError", "key is not in Map"},
      {NODE_TEXT("{\"type\":\"int\",\"data\":null}"), "TypeError",
       "Cannot convert from type `None` to `int`"},
      {NODE_TEXT("{\"type\":\"ffi.Array\",\"data\":[0]}"), "ValueError",
       GRAPH ": node 0 refers to itself"},
      {NODE_TEXT("{\"type\":\"ffi.List\",\"data\":[-1]}"), "ValueError",
       GRAPH ": invalid node index -1"},
      {NODE_TEXT("{\"type\":\"ffi.Array\",\"data\":5}"), "TypeError",
       "Cannot convert from type `int` to `Array<Any>`"},
      {NODE_TEXT("{\"type\":\"ffi.Map\",\"data\":[1,2]}"), "ValueError",
       GRAPH ": invalid node index 2"},
      {NODE_TEXT("{\"type\":\"ffi.Dict\",\"data\":[1]}"), "ValueError",
       GRAPH ": Map/Dict data must contain an even number of [key, value] "
             "entries, got 1"},
      {NODE_TEXT("{\"type\":\"Device\",\"data\":[1]}"), "ValueError",
       GRAPH ": Device data must be an array of [device_type, device_id], got "
             "1 element(s)"},
      {NODE_TEXT("{\"type\":\"ffi.Shape\",\"data\":[1,{}]}"), "TypeError",
       "Cannot convert from type `Array[index 1: ffi.Map]` to `Array<int>`"},
      {NODE_TEXT("{\"type\":\"ffi.Bytes\",\"data\":\"abc\"}"), "RuntimeError",
       "invalid base64 encoding"},
      {NODE_TEXT("{\"type\":\"ffi.BigInt\",\"data\":\"1x\"}"), "ValueError",
       "Invalid decimal string for ffi.BigInt"},
      {NODE_TEXT("{\"type\":\"ffi.IntEnum\",\"data\":1}"), "ValueError",
       "Enum `ffi.IntEnum` has no instance with index 1"},
      {NODE_TEXT("{\"type\":\"ffi.StrEnum\",\"data\":\"a\"}"), "ValueError",
       "Enum `ffi.StrEnum` has no instance with index a"},
      {NODE_TEXT("{\"type\":\"float\",\"data\":null}"), "TypeError",
       "Cannot convert from type `None` to `float`"},
      {NODE_TEXT("{\"type\":\"ffi.Shape\",\"data\":1}"), "TypeError",
       "Cannot convert from type `int` to `Array<int>`"},
      {NODE_TEXT("{\"type\":\"ffi.BigInt\",\"data\":1}"), "TypeError",
       "Cannot treat type `int` as type `str`"},
      {NODE_TEXT("{\"type\":\"ffi.reflection.AccessStep\",\"data\":{}}"),
       "TypeError",
       "Required field `kind` not set in type `ffi.reflection.AccessStep`"},
      {NODE_TEXT("{\"type\":\"ffi.Tensor\",\"data\":1}"), "RuntimeError",
       "Type `ffi.Tensor` does not support reflection creation (no native "
       "creator or __ffi_new__ type attr)"}};
#undef GRAPH
#undef NODE
  TVMFFIAny text, any;
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    TVMFFIByteArray bytes = tvmffi_view(rows[i].from);
    OK(TVMFFIStringFromByteArray(&bytes, &text));
    if (text.type_index == kTVMFFIStr) OWN(text.v_obj);
    FAILS(test_apply_global("ffi.FromJSONGraphString", &text, 1, &any),
          rows[i].kind, rows[i].error);
    test_release_all();
  }
}

/* A graph may be made of lists and dicts; an int serves as a float. */
static void test_json_loose_graphs(void) {
  static const char text[] =
      "{\"root_index\":1,\"nodes\":[{\"type\":\"float\",\"data\":-3},"
      "{\"type\":\"ffi.List\",\"data\":[0,0]}]}";
  TVMFFIAny args[4], node, nodes, got, key;
  TVMFFIByteArray bytes = TEXT(text), name = TEXT("ffi.Array");
  OK(TVMFFIStringFromByteArray(&bytes, &key));
  OWN_ANY(key);
  OK(test_apply_global("ffi.FromJSONGraphString", &key, 1, &got));
  CHECK_INT(got.type_index, kTVMFFIList);
  CHECK_INT(test_cell(got.v_obj)->size, 2);
  CHECK_INT(((TVMFFIAny *)test_cell(got.v_obj)->data)->type_index,
            kTVMFFIFloat);
  CHECK(((TVMFFIAny *)test_cell(got.v_obj)->data)->v_uint64 == (uint64_t)0xC008
                                                                   << 48);
  OK(TVMFFIStringFromByteArray(&name, &key));
  OWN_ANY(key);
  args[0] = tvmffi_str("type");
  args[1] = key;
  args[2] = tvmffi_str("data");
  OK(test_apply_global("ffi.List", NULL, 0, &args[3]));
  OK(test_apply_global("ffi.Dict", args, 4, &node));
  OK(test_apply_global("ffi.Array", &node, 1, &nodes));
  args[0] = tvmffi_str("root_index");
  args[1] = tvmffi_int(0);
  args[2] = tvmffi_str("nodes");
  args[3] = nodes;
  OK(test_apply_global("ffi.Map", args, 4, &node));
  OK(test_apply_global("ffi.FromJSONGraph", &node, 1, &got));
  CHECK_INT(got.type_index, kTVMFFIArray);
  CHECK_INT(test_cell(got.v_obj)->size, 0);
}

/* A dict in itself, through an array. */
static void test_json_cycles(void) {
  TVMFFIObject *dict = tvmffi_i_new_map(kTVMFFIDict, 0), *array;
  TVMFFIAny *items = NULL, key = tvmffi_int(1), args[2], any;
  int code;
  OK(dict ? 0 : -1);
  OWN(dict);
  array = tvmffi_i_new_array(1, &items);
  OK(array ? 0 : -1);
  OWN(array);
  tvmffi_retain(dict);
  items[0] = tvmffi_obj(dict);
  any = tvmffi_obj(array);
  code = tvmffi_i_map_set(&dict, &key, &any);
  args[0] = any;
  args[1] = tvmffi_none();
  if (!code) {
    code = test_apply_global("ffi.ToJSONGraph", args, 2, &any);
    (void)tvmffi_i_map_erase(&dict, &key);
  }
  FAILS(code, "ValueError",
        "Cycle detected during serialization: a Dict contains itself");
}

static int test_empty_dict_hash(void *self, const TVMFFIAny *args,
                                int32_t num_args, TVMFFIAny *result) {
  int code = test_empty_dict(self, args, num_args, result);
  *result = tvmffi_int(7);
  return code;
}

/* A key lives as long as it is asked for its hash, and afterwards. */
static void test_json_keys_that_go(void) {
  int32_t parent = 0, child = 0;
  TVMFFIAny key = tvmffi_none(), one = tvmffi_int(1), args[2], any;
  TVMFFIObject *dict;
  OK(test_pair_types(&parent, &child, 0));
  test_changing = NULL;
  OK(test_set_hook(parent, "__any_hash__", test_empty_dict_hash));
  OK(test_new_pair(parent, tvmffi_int(5), tvmffi_none(), &key));
  dict = tvmffi_i_new_map(kTVMFFIDict, 0);
  OK(dict ? 0 : -1);
  OWN(dict);
  OK(tvmffi_i_map_set(&dict, &key, &one));
  test_drop(key.v_obj);
  test_changing = dict;
  args[0] = tvmffi_obj(dict);
  args[1] = tvmffi_none();
  FAILS(test_apply_global("ffi.ToJSONGraph", args, 2, &any), "TypeError",
        "...does not support ToJSONGraph");
}

static TVMFFIObject *test_not_made; /* what the maker below gives (borrowed) */
static int test_give_other(void *self, const TVMFFIAny *args, int32_t num_args,
                           TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args;
  tvmffi_retain(test_not_made);
  *result = tvmffi_obj(test_not_made);
  return 0;
}

/* A maker gives an object of another type, which is released once. */
static void test_json_wrong_maker(void) {
  char text[160];
  TVMFFIByteArray bytes;
  TVMFFIAny made, any;
  TVMFFIObject *list = tvmffi_i_new_list(0);
  int32_t index;
  OK(list ? 0 : -1);
  OWN(list);
  tvmffi_retain(list);
  OWN(list);
  test_not_made = list;
  index = test_type_with("__ffi_new__", test_give_other);
  OK(index < 0 ? -1 : 0);
  strcpy(text, "{\"root_index\":0,\"nodes\":[{\"type\":\"");
  strcat(text, TVMFFIGetTypeInfo(index)->type_key.data);
  strcat(text, "\",\"data\":{}}]}");
  bytes = tvmffi_view(text);
  OK(TVMFFIStringFromByteArray(&bytes, &made));
  OWN_ANY(made);
  FAILS(test_apply_global("ffi.FromJSONGraphString", &made, 1, &any),
        "RuntimeError", "...` made none");
  CHECK_INT(test_strong(list), 2);
}

/* Reads a graph, and checks what it is written as. */
static void test_graph_text(const char *text, const char *want) {
  TVMFFIByteArray bytes = tvmffi_view(text);
  TVMFFIAny args[2], made, again;
  OK(TVMFFIStringFromByteArray(&bytes, &made));
  OWN_ANY(made);
  OK(test_apply_global("ffi.FromJSONGraphString", &made, 1, &args[0]));
  args[1] = tvmffi_none();
  OK(test_apply_global("ffi.ToJSONGraphString", args, 2, &again));
  CHECK_TEXT(tvmffi_any_str(&again), want ? want : text);
}

/* Eight characters that have the same hash for each n below 29^4: two to the
   32nd is 2 modulo the hash's prime. */
static void test_tangled_key(char *key, int n) {
  int i, digit;
  for (i = 0; i < 4; ++i, n /= 29) {
    digit = '2' + n % 29;
    key[i] = (char)(193 - 2 * digit);
    key[i + 4] = (char)digit;
  }
}

/* Keys of one hash, some of them twice, are read in time that does not grow
   with the square of their number. */
static void test_json_tangled_keys(void) {
  int i, n = test_scale(TEST_CHAIN < 20000 ? 1000 : 200000, 300);
  char key[9], *text = (char *)malloc((size_t)(n + n / 10) * 20 + 3), *p = text;
  TVMFFIAny string, map;
  TVMFFIByteArray bytes;
  const tvmffi_i_pair *pair;
  uint64_t at;
  if (!text) return;
  key[8] = 0;
  *p++ = '{';
  for (i = 0; i < n + n / 10; ++i) { /* the first tenth comes again */
    test_tangled_key(key, i % n);
    p += sprintf(p, "%s\"%s\":%d", i ? "," : "", key, i);
  }
  *p++ = '}';
  bytes.data = text;
  bytes.size = (size_t)(p - text);
  i = TVMFFIStringFromByteArray(&bytes, &string);
  free(text);
  OK(i);
  OWN_ANY(string);
  OK(test_apply_global("ffi.json.Parse", &string, 1, &map));
  CHECK_INT(tvmffi_i_map_size(map.v_obj), n);
  i = n / 10; /* what comes again is last */
  for (at = tvmffi_i_map_begin(map.v_obj);
       (pair = tvmffi_i_map_pair(map.v_obj, at)) != NULL;
       at = tvmffi_i_map_after(map.v_obj, at)) {
    test_tangled_key(key, i % n);
    bytes = tvmffi_any_str(&pair->key);
    if (!CHECK(pair->value.v_int64 == i && memcmp(bytes.data, key, 8) == 0))
      return;
    if (i++ % (n / 4) == 0)
      CHECK(tvmffi_i_map_get(map.v_obj, &pair->key) == &pair->value);
  }
  CHECK_INT(i, n + n / 10);
}

/* A number of decimal digits is read and written: its words are the same number
   modulo a prime, and its text is what was read. */
static int test_decimal(char *text, size_t digits, int negative) {
  const uint64_t prime = 2147483647u;
  TVMFFIByteArray bytes, words;
  TVMFFIAny string, value, back;
  uint64_t want = 0, got = 0;
  size_t i;
  bytes.data = text;
  bytes.size = digits + (size_t)negative;
  for (i = (size_t)negative; i < bytes.size; ++i)
    want = (want * 10 + (uint64_t)(text[i] - '0')) % prime;
  TVMFFI_TRY(TVMFFIStringFromByteArray(&bytes, &string));
  OWN_ANY(string);
  TVMFFI_TRY(
      test_apply_attr(kTVMFFIBigInt, "__data_from_json__", &string, 1, &value));
  words = TVMFFIBigIntGetContentByteArray(&value);
  for (i = words.size / 8; i--;) {
    uint64_t word = (uint64_t)tvmffi_i_word(words.data, i);
    if (negative) word = ~word;
    got = (((got << 32) + (word >> 32)) % prime << 32) + (uint32_t)word;
    got %= prime;
  }
  CHECK_INT((got + (uint64_t)negative) % prime, want);
  TVMFFI_TRY(
      test_apply_attr(kTVMFFIBigInt, "__data_to_json__", &value, 1, &back));
  words = tvmffi_any_str(&back);
  CHECK(words.size == bytes.size &&
        memcmp(words.data, bytes.data, bytes.size) == 0);
  return 0;
}

/* One limb, short products, and products by Karatsuba's method. */
static void test_decimals(void) {
  static const int lengths[] = {1,   9,   17,  18,  19,   20,   36,  37,
                                144, 145, 288, 577, 1153, 2305, 9999};
  static const char kinds[] = "019r";
  size_t i, k, n;
  size_t most = (size_t)test_scale(TEST_CHAIN < 20000 ? 600 : 300000, 600);
  char *text;
  for (i = 0; i <= TEST_COUNT(lengths); ++i) {
    n = i < TEST_COUNT(lengths) ? (size_t)lengths[i] : most;
    if (n > most) continue;
    text = (char *)malloc(n + 1);
    if (!text) return;
    for (k = i < TEST_COUNT(lengths) ? 0 : 3; k < 4; ++k) {
      size_t negative = k & 1, at, own = (size_t)test_num_owned;
      unsigned random = 7;
      int code;
      memset(text, kinds[k], n + 1);
      for (at = 0; kinds[k] == 'r' && at < n + 1; ++at) {
        random = random * 1664525u + 1013904223u;
        text[at] = (char)('0' + (random >> 16) % 10);
      }
      text[negative] = '7';
      if (negative) text[0] = '-';
      code = test_decimal(text, n, (int)negative);
      while ((size_t)test_num_owned > own)
        tvmffi_any_release(&test_owned[--test_num_owned]);
      if (test_code(code, __FILE__, __LINE__, "a decimal ")) break;
    }
    free(text);
  }
}

/* Texts as they are written, and others that mean the same. */
static void test_json_graph_texts(void) {
#define GRAPH_TEXT(root, nodes) "{\"root_index\":" root ",\"nodes\":[" nodes "]"
#define GRAPH_INT(x) "{\"type\":\"int\",\"data\":" x "}"
#define GRAPH_OF(type, data) "{\"type\":\"ffi." type "\",\"data\":[" data "]}"
  static const struct {
    const char *text, *want; /* NULL: the text */
  } rows[] = {
      {GRAPH_TEXT("2", GRAPH_INT("1") "," GRAPH_INT("2") "," GRAPH_OF(
                           "Map", "0,1")) "}",
       NULL},
      {GRAPH_TEXT("2", GRAPH_INT("1") "," GRAPH_INT("2") "," GRAPH_OF(
                           "Dict", "0,1,1,0")) "}",
       NULL},
      {GRAPH_TEXT("2", GRAPH_INT("1") "," GRAPH_INT("2") "," GRAPH_OF(
                           "List", "0,1,0")) "}",
       NULL},
      {GRAPH_TEXT("0", "{\"type\":\"bool\",\"data\":false}") "}", NULL},
      /* a key that comes twice */
      {GRAPH_TEXT("2", GRAPH_INT("1") "," GRAPH_INT("2") "," GRAPH_OF(
                           "Map", "0,1,0,0")) "}",
       GRAPH_TEXT("1", GRAPH_INT("1") "," GRAPH_OF("Map", "0,0")) "}"},
      /* parts behind what they are in */
      {GRAPH_TEXT("0", GRAPH_OF("Array", "1,1") "," GRAPH_INT("5")) "}",
       GRAPH_TEXT("1", GRAPH_INT("5") "," GRAPH_OF("Array", "0,0")) "}"},
      {GRAPH_TEXT("0", GRAPH_OF("Map", "1,1") "," GRAPH_INT("5")) "}",
       GRAPH_TEXT("1", GRAPH_INT("5") "," GRAPH_OF("Map", "0,0")) "}"},
      {GRAPH_TEXT("0", GRAPH_OF("List", "1,2") "," GRAPH_INT("5") "," GRAPH_OF(
                           "Array", "1")) "}",
       GRAPH_TEXT("2", GRAPH_INT("5") "," GRAPH_OF("Array", "0") "," GRAPH_OF(
                           "List", "0,1")) "}"},
      /* metadata is passed by */
      {GRAPH_TEXT("0", GRAPH_INT("1")) ",\"metadata\":{\"a\":[\"\\\"]}\"]}}",
       GRAPH_TEXT("0", GRAPH_INT("1")) "}"},
      /* blanks, other names, another order */
      {" " GRAPH_TEXT("0", GRAPH_INT("1")) "}",
       GRAPH_TEXT("0", GRAPH_INT("1")) "}"},
      {GRAPH_TEXT("0", GRAPH_INT(" 1")) "}",
       GRAPH_TEXT("0", GRAPH_INT("1")) "}"},
      {GRAPH_TEXT("0", "{\"data\":1,\"type\":\"int\"}") "}",
       GRAPH_TEXT("0", GRAPH_INT("1")) "}"},
      {"{\"nodes\":[" GRAPH_INT("1") "],\"root_index\":0}",
       GRAPH_TEXT("0", GRAPH_INT("1")) "}"},
      {GRAPH_TEXT(
           "0",
           "{\"type\":\"ffi.String\",\"data\":\"a longer text\"}") ",\"more\":"
                                                                   "1}",
       GRAPH_TEXT("0",
                  "{\"type\":\"ffi.String\",\"data\":\"a longer text\"}") "}"},
  };
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    test_graph_text(rows[i].text, rows[i].want);
    test_release_all();
  }
}

/* Maps of more entries than a small one has, under keys of each kind. */
static void test_json_graph_maps(void) {
  test_graph_text(
      "{\"root_index\":10,\"nodes\":["
      "{\"type\":\"int\",\"data\":1},{\"type\":\"float\",\"data\":2.5},"
      "{\"type\":\"None\"},{\"type\":\"ffi.Bytes\",\"data\":\"aw==\"},"
      "{\"type\":\"bool\",\"data\":true},"
      "{\"type\":\"DataType\",\"data\":\"int8\"},"
      "{\"type\":\"int\",\"data\":4},{\"type\":\"Device\",\"data\":[1,1]},"
      "{\"type\":\"int\",\"data\":5},{\"type\":\"ffi.Array\",\"data\":[8]},"
      "{\"type\":\"ffi.Map\",\"data\":[0,1,1,2,3,4,5,6,7,6,2,8,4,0,9,9]}]}",
      NULL);
  test_graph_text(
      "{\"root_index\":7,\"nodes\":["
      "{\"type\":\"int\",\"data\":1},{\"type\":\"ffi.Array\",\"data\":[0]},"
      "{\"type\":\"int\",\"data\":2},{\"type\":\"ffi.Array\",\"data\":[2]},"
      "{\"type\":\"int\",\"data\":3},{\"type\":\"ffi.Array\",\"data\":[4]},"
      "{\"type\":\"ffi.Array\",\"data\":[]},"
      "{\"type\":\"ffi.Dict\",\"data\":[1,0,3,1,5,1,6,1,0,0,2,0]}]}",
      NULL);
}

/* The object of an enumeration is told by its name. */
static void test_json_enums(void) {
  TVMFFIByteArray red = TEXT("RED");
  TVMFFIAny args[2], text;
  args[1] = tvmffi_none();
  OK(test_apply_attr(TVMFFI_I_STR_ENUM, "__ffi_new__", NULL, 0, &args[0]));
  OK(TVMFFIStringFromByteArray(&red, &text)); /* a small one */
  ((tvmffi_i_enum *)args[0].v_ptr)->str_index = text;
  OK(test_apply_global("ffi.ToJSONGraphString", args, 2, &text));
  CHECK_TEXT(tvmffi_any_str(&text),
             "{\"root_index\":0,\"nodes\":[{\"type\":\"ffi.StrEnum\","
             "\"data\":\"RED\"}]}");
  OK(test_apply_attr(TVMFFI_I_INT_ENUM, "__ffi_new__", NULL, 0, &args[0]));
  ((tvmffi_i_enum *)args[0].v_ptr)->int_index = 7;
  OK(test_apply_global("ffi.ToJSONGraphString", args, 2, &text));
  CHECK_TEXT(tvmffi_any_str(&text),
             "{\"root_index\":0,\"nodes\":[{\"type\":\"ffi.IntEnum\","
             "\"data\":7}]}");
}

#if !TEST_NO_TYPES && !TEST_NO_REFLECTION
/* Lets a type's objects be made: of Anys, after their head. */
static int test_make_maker(int32_t index, size_t size) {
  TVMFFIAny args[2], any;
  args[0] = tvmffi_int(index);
  args[1] = tvmffi_int((int64_t)size);
  return test_apply_global("ffi._PyClassRegisterTypeAttrColumns", args, 2,
                           &any);
}

typedef struct {
  TVMFFIObject base;
  TVMFFIAny values[3];
} test_triple;

/* A type whose fields are declared a data type, None, and anything. */
static int32_t test_triple_type(const char *key) {
  static const char names[3][2] = {"d", "n", "x"};
  static const int32_t declared[3] = {kTVMFFIDataType, kTVMFFINone, kTVMFFIAny};
  int32_t i, index = test_type(key, -1, 1, 0, 1, kTVMFFIObject);
  if (index < 0) return -1;
  for (i = 0; i < 3; ++i) {
    TVMFFIFieldInfo f =
        test_field(names[i], (int64_t)(offsetof(test_triple, values) +
                                       (size_t)i * sizeof(TVMFFIAny)));
    f.size = sizeof(TVMFFIAny);
    f.alignment = 8;
    f.getter = tvmffi_i_get_any_field;
    f.setter = (void *)(uintptr_t)tvmffi_i_set_any_field;
    f.field_static_type_index = declared[i];
    if (TVMFFITypeRegisterField(index, &f)) return -1;
  }
  return test_make_maker(index, sizeof(test_triple)) ? -1 : index;
}

/* Reads the graph of None and an object of a key, whose data is given; gives
   the object, borrowed. */
static int test_read_node(const char *key, const char *data, TVMFFIAny *out) {
  static const char begin[] =
      "{\"root_index\":1,\"nodes\":[{\"type\":\"None\"},{\"type\":\"";
  tvmffi_i_text_buffer b = {NULL, 0, 0, 0};
  TVMFFIAny text;
  tvmffi_i_text_str(&b, begin);
  tvmffi_i_text_str(&b, key);
  tvmffi_i_text_str(&b, "\",\"data\":");
  tvmffi_i_text_str(&b, data);
  tvmffi_i_text_str(&b, "}]}");
  TVMFFI_TRY(tvmffi_i_text_take(&b, &text));
  OWN_ANY(text);
  return test_apply_global("ffi.FromJSONGraphString", &text, 1, out);
}

/* Numbers, data types and None stand in the object's node if a field is
   declared so; what another holds has a node. */
static void test_json_fields(void) {
  static const struct {
    const char *data, *kind, *error;
  } rows[] = {
      {"{\"d\":1,\"n\":null,\"x\":0}", "TypeError",
       "Cannot convert from type `int` to `str`"},
      {"{\"d\":null,\"n\":null,\"x\":0}", "TypeError",
       "Cannot convert from type `None` to `str`"},
      {"{\"d\":\"zz\",\"n\":null,\"x\":0}", "ValueError", "unknown dtype `zz`"},
      {"{\"d\":\"int8\",\"n\":null,\"x\":7}", "ValueError",
       "Invalid JSON Object Graph: invalid node index 7"},
      {"{\"d\":\"int8\",\"n\":null,\"x\":null}", "TypeError",
       "Cannot convert from type `None` to `int`"},
      {"{\"d\":\"int8\",\"x\":0}", "TypeError",
       "...Required field `n` not set"},
      {"{}", "TypeError", "...Required field `d` not set"}};
  const char *key = test_fresh("unit.Json");
  int32_t index = test_triple_type(key);
  TVMFFIAny args[2], any;
  const TVMFFIAny *values;
  TVMFFIByteArray text;
  size_t i;
  OK(index < 0 ? -1 : 0);
  OK(test_read_node(key, "{\"d\":\"float32x4\",\"n\":\"any\",\"x\":0}", &any));
  CHECK_INT(any.type_index, index);
  values = ((const test_triple *)any.v_ptr)->values;
  CHECK_INT(values[0].type_index, kTVMFFIDataType);
  CHECK_INT(values[0].v_dtype.lanes, 4);
  CHECK_INT(values[1].type_index, kTVMFFINone);
  CHECK_INT(values[2].type_index, kTVMFFINone);
  args[0] = any;
  args[1] = tvmffi_none();
  OK(test_apply_global("ffi.ToJSONGraphString", args, 2, &any));
  text = tvmffi_any_str(&any);
  CHECK(test_contains(
      text, "\",\"data\":{\"d\":\"float32x4\",\"n\":null,\"x\":0}}]}"));
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i)
    FAILS(test_read_node(key, rows[i].data, &any), rows[i].kind, rows[i].error);
}

/* A type of enumerations with one object, under `name`. */
static int test_enum_type(const char *key, int32_t parent, TVMFFIAny name,
                          TVMFFIAny *member) {
  int32_t index = test_type(key, -1, 3, 0, 1, parent);
  TVMFFIByteArray attr = TEXT("__ffi_enum__");
  TVMFFIAny state, entry[2], indexes;
  TVMFFIObject *o;
  if (index < 0) return -1;
  o = tvmffi_i_new_object(index, sizeof(tvmffi_i_enum));
  if (!o) return -1;
  OWN(o);
  *member = tvmffi_obj(o);
  if (name.type_index == kTVMFFIInt)
    ((tvmffi_i_enum *)(void *)o)->int_index = name.v_int64;
  else
    TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(
        &name, &((tvmffi_i_enum *)(void *)o)->str_index));
  TVMFFI_TRY(
      test_apply_attr(TVMFFI_I_ENUM_STATE, "__ffi_new__", NULL, 0, &state));
  entry[0] = name;
  entry[1] = *member;
  TVMFFI_TRY(test_apply_global("ffi.Dict", entry, 2, &indexes));
  TVMFFI_TRY(
      tvmffi_i_set_field(&TVMFFIGetTypeInfo(TVMFFI_I_ENUM_STATE)->fields[1],
                         state.v_obj, &indexes));
  return TVMFFITypeRegisterAttr(index, &attr, &state);
}

/* The name of an enumeration's object is read as that object. */
static void test_json_enum_members(void) {
  const char *ints = test_fresh("unit.Ints"), *texts = test_fresh("unit.Texts");
  const char *none = test_fresh("unit.NoEnum");
  TVMFFIByteArray attr = TEXT("__ffi_enum__");
  TVMFFIAny seven, red, got, three = tvmffi_int(3);
  int32_t index;
  OK(test_enum_type(ints, TVMFFI_I_INT_ENUM, tvmffi_int(7), &seven));
  OK(test_enum_type(texts, TVMFFI_I_STR_ENUM, tvmffi_str("red"), &red));
  OK(test_read_node(ints, "7", &got));
  CHECK(got.v_obj == seven.v_obj);
  OK(test_read_node(texts, "\"red\"", &got));
  CHECK(got.v_obj == red.v_obj);
  FAILS(test_read_node(ints, "8", &got), "ValueError",
        "...has no instance with index 8");
  FAILS(test_read_node(ints, "\"red\"", &got), "TypeError",
        "Cannot convert from type `ffi.SmallStr` to `int`");
  FAILS(test_read_node(texts, "\"green\"", &got), "ValueError",
        "...has no instance with index green");
  FAILS(test_read_node(texts, "7", &got), "TypeError",
        "Cannot convert from type `int` to `str`");
  index = test_type(none, -1, 3, 0, 1, TVMFFI_I_INT_ENUM);
  OK(index < 0 ? -1 : 0);
  FAILS(test_read_node(none, "1", &got), "ValueError",
        "...has no instance with index 1");
  OK(TVMFFITypeRegisterAttr(index, &attr, &three));
  FAILS(test_read_node(none, "1", &got), "TypeError",
        "Cannot treat type `int` as type `ffi.EnumState`");
}
#endif
#endif /* !TVMFFI_NO_EXTRA && !TEST_NO_JSON */

#if !TVMFFI_NO_EXTRA && !TEST_NO_REFLECTION && !TEST_NO_TYPES
/* ======== Visiting and mutating =========================================== */

/* An object of two fields, for which types are made below. */
typedef struct {
  TVMFFIObject base;
  TVMFFIAny x, y;
} test_visit_node;

/* Registers such a type: how it counts in comparisons, and the flags of x. */
static int32_t test_node_type(TVMFFISEqHashKind kind, int64_t flags) {
  const char *key = test_fresh("unit.Node");
  int32_t i, index = test_type(key, -1, 1, 0, 1, kTVMFFIObject);
  TVMFFIAny args[2], any;
  TVMFFITypeMetadata m;
  TVMFFIFieldInfo f;
  if (index < 0) return -1;
  memset((void *)&m, 0, sizeof(m));
  m.structural_eq_hash_kind = kind;
  m.total_size = (int32_t)sizeof(test_visit_node);
  if (TVMFFITypeRegisterMetadata(index, &m)) return -1;
  for (i = 0; i < 2; ++i) {
    memset((void *)&f, 0, sizeof(f));
    f.name = TEXT(i ? "y" : "x");
    f.size = 16;
    f.alignment = 8;
    f.offset = (int64_t)(i ? offsetof(test_visit_node, y)
                           : offsetof(test_visit_node, x));
    f.flags = kTVMFFIFieldFlagBitMaskWritable | (i ? 0 : flags);
    f.field_static_type_index = kTVMFFIAny;
    f.getter = tvmffi_i_get_any_field;
    f.setter = (void *)(uintptr_t)tvmffi_i_set_any_field;
    if (TVMFFITypeRegisterField(index, &f)) return -1;
  }
  args[0] = tvmffi_int(index);
  args[1] = tvmffi_int((int64_t)sizeof(test_visit_node));
  if (test_apply_global("ffi._PyClassRegisterTypeAttrColumns", args, 2, &any))
    return -1;
  return index;
}

#define NODE_TYPE(index, kind, flags)          \
  int32_t index = test_node_type(kind, flags); \
  OK(index < 0 ? -1 : 0)

/* A node of borrowed values, which the test owns. */
static TVMFFIObject *test_node_of(int32_t index, TVMFFIAny x, TVMFFIAny y) {
  TVMFFIObject *o = tvmffi_i_new_object(index, sizeof(test_visit_node));
  test_visit_node *node = (test_visit_node *)(void *)o;
  if (!o) {
    (void)test_code(-1, __FILE__, __LINE__, "a node ");
    return NULL;
  }
  OWN(o);
  node->x = tvmffi_i_copy_owned(&x);
  node->y = tvmffi_i_copy_owned(&y);
  return o;
}

#define VISIT_NODE(variable, index, x, y)             \
  TVMFFIObject *variable = test_node_of(index, x, y); \
  if (!variable) return

/* Says what a value is: a digit, or a letter for its kind. */
static void test_say_value(const TVMFFIAny *v) {
  switch (v->type_index) {
    case kTVMFFINone: test_say('.'); break;
    case kTVMFFIInt: test_say((char)('0' + v->v_int64 % 10)); break;
    case kTVMFFIArray: test_say('A'); break;
    case kTVMFFIList: test_say('L'); break;
    case kTVMFFIMap: test_say('M'); break;
    case kTVMFFIDict: test_say('D'); break;
    default: test_say('o');
  }
}

/* What the callbacks below do: they say their value first. */
enum {
  TEST_GO_ON,
  TEST_SAY_REGION, /* and say it */
  TEST_SKIP,       /* lists */
  TEST_STOP,       /* at 3 */
  TEST_RAISE,      /* at 3 */
  TEST_SAME,       /* map to itself */
  TEST_ADD,        /* map integers to the next one */
  TEST_CLEAR,      /* the list that test_touched is */
  TEST_DEFAULT,    /* descend by the visitor or mutator */
  TEST_AGAIN       /* visit the value itself */
};
static TVMFFIObject *test_touched;

/* Where the stack is now, and was at the lowest. */
static uintptr_t test_stack, test_stack_lowest;
static void test_look_at_stack(void) {
#if TVMFFI_I_GNU
  test_stack = (uintptr_t)__builtin_frame_address(0);
#else
  volatile char variable = 0;
  test_stack = (uintptr_t)&variable;
#endif
  if (test_stack < test_stack_lowest) test_stack_lowest = test_stack;
}

static int test_on_value(void *self, const TVMFFIAny *args, int32_t num_args,
                         TVMFFIAny *result) {
  TVMFFIAny any = tvmffi_none();
  const char *name;
  int how = (int)*(const char *)self;
  int is_mutator =
      num_args > 1 && args[1].type_index == TVMFFI_I_STRUCTURAL_MUTATOR;
  if (how != TEST_AGAIN) test_say_value(&args[0]);
  switch (how) {
    case TEST_SAY_REGION: test_say_value(&args[num_args - 1]); break;
    case TEST_SKIP:
      if (args->type_index == kTVMFFIList) *result = tvmffi_int(1);
      break;
    case TEST_STOP:
      if (args->type_index != kTVMFFIInt || args->v_int64 != 3) break;
      return tvmffi_call(tvmffi_str("ffi.VisitInterrupt"),
                         tvmffi_out_any(result), tvmffi_int(33));
    case TEST_RAISE:
      if (args->type_index == kTVMFFIInt && args->v_int64 == 3)
        return TVMFFI_RAISE("ValueError", "three");
      return TVMFFIAnyViewToOwnedAny(args, result);
    case TEST_SAME: return TVMFFIAnyViewToOwnedAny(args, result);
    case TEST_ADD:
      if (args->type_index == kTVMFFIInt) {
        *result = tvmffi_int(args->v_int64 + 1);
        break;
      }
      return TVMFFIAnyViewToOwnedAny(args, result);
    case TEST_CLEAR:
      any = tvmffi_obj(test_touched);
      TVMFFI_TRY(
          tvmffi_call(tvmffi_str("ffi.ListClear"), tvmffi_out_any(NULL), any));
      *result = args->type_index == kTVMFFIInt ? tvmffi_int(9) : tvmffi_none();
      break;
    case TEST_DEFAULT:
    case TEST_AGAIN:
      name = is_mutator ? "ffi.StructuralMutatorDefaultMutate"
                        : "ffi.StructuralVisitorDefaultVisit";
      if (how == TEST_AGAIN) {
        name = "ffi.StructuralVisitorVisit";
        test_look_at_stack();
      }
      return tvmffi_call(tvmffi_str(name), tvmffi_out_any(result), args[1],
                         args[0]);
    default: break;
  }
  return 0;
}

/* An array (owned by the test) of one callback for the type. */
static TVMFFIAny test_callbacks(int how, int32_t type_index, int width) {
  static const char hows[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  TVMFFIObjectHandle f = NULL;
  TVMFFIObject *row;
  TVMFFIAny views[3];
  if (test_code(TVMFFIFunctionCreate((void *)(uintptr_t)&hows[how],
                                     test_on_value, NULL, &f),
                __FILE__, __LINE__, "a callback "))
    return tvmffi_none();
  OWN(f);
  views[0] = tvmffi_int(type_index);
  views[1] = tvmffi_obj((TVMFFIObject *)f);
  views[2] = tvmffi_bool(0);
  row = test_sequence("ffi.Array", views, width);
  if (!row) return tvmffi_none();
  views[0] = tvmffi_obj(row);
  row = test_sequence("ffi.Array", views, 1);
  return row ? tvmffi_obj(row) : tvmffi_none();
}

static int test_walk(TVMFFIAny root, int how, int32_t index, int order,
                     TVMFFIAny *result) {
  TVMFFIAny args[4];
  TVMFFIObject *none = test_sequence("ffi.Array", NULL, 0);
  args[0] = root;
  args[how == TEST_SAY_REGION ? 2 : 1] = test_callbacks(how, index, 2);
  args[how == TEST_SAY_REGION ? 1 : 2] =
      none ? tvmffi_obj(none) : tvmffi_none();
  args[3] = tvmffi_int(order);
  if (args[1].type_index == kTVMFFINone || args[2].type_index == kTVMFFINone)
    return tvmffi_i_no_memory();
  return test_apply_global(
      how == TEST_SAME || how == TEST_ADD || how == TEST_CLEAR
          ? "ffi.StructuralMap"
          : "ffi.StructuralWalk",
      args, 4, result);
}

static int test_descend(const char *name, TVMFFIAny root, int how,
                        int32_t index, int width, TVMFFIAny *result) {
  TVMFFIAny args[2];
  args[0] = root;
  args[1] = test_callbacks(how, index, width);
  if (args[1].type_index == kTVMFFINone) return tvmffi_i_no_memory();
  return test_apply_global(name, args, 2, result);
}

/* [1, [2, None] as a list, {1: 3} as a map, {1: 4} as a dict]. */
static TVMFFIObject *test_tree(void) {
  TVMFFIAny views[4], pair[2];
  TVMFFIObject *o[3];
  pair[0] = tvmffi_int(2);
  pair[1] = tvmffi_none();
  o[0] = test_sequence("ffi.List", pair, 2);
  pair[0] = tvmffi_int(1);
  pair[1] = tvmffi_int(3);
  o[1] = o[0] ? test_sequence("ffi.Map", pair, 2) : NULL;
  pair[1] = tvmffi_int(4);
  o[2] = o[1] ? test_sequence("ffi.Dict", pair, 2) : NULL;
  if (!o[2]) return NULL;
  views[0] = tvmffi_int(1);
  views[1] = tvmffi_obj(o[0]);
  views[2] = tvmffi_obj(o[1]);
  views[3] = tvmffi_obj(o[2]);
  return test_sequence("ffi.Array", views, 4);
}

static void test_visit_columns(void) {
  static const char *const names[] = {"__s_visit__", "__s_mutate__",
                                      "__s_maybe_inplace_mutate__"};
  int32_t i, k;
  OK(TVMFFIGetTypeInfo(kTVMFFIArray) ? 0 : -1);
  for (k = 0; k < 3; ++k)
    for (i = 0; i < kTVMFFIStaticObjectEnd; ++i) {
      int leaf = i == kTVMFFIStr || i == kTVMFFIBytes || i == kTVMFFIBigInt;
      int has = tvmffi_i_is_container(i) || (k && leaf);
      CHECK_INT(test_value_of(i, names[k]).type_index,
                has ? kTVMFFIOpaquePtr : kTVMFFINone);
    }
}

static void test_walks(void) {
  TVMFFIObject *tree = test_tree();
  TVMFFIAny any;
  if (!tree) return;
  OK(test_walk(tvmffi_obj(tree), TEST_GO_ON, kTVMFFIAny, 0, &any));
  CHECK_LOG("A1L2M3D4");
  CHECK_INT(any.type_index, kTVMFFINone);
  OK(test_walk(tvmffi_obj(tree), TEST_GO_ON, kTVMFFIAny, 1, &any));
  CHECK_LOG("12L3M4DA");
  OK(test_walk(tvmffi_obj(tree), TEST_SKIP, kTVMFFIAny, 0, &any));
  CHECK_LOG("A1LM3D4");
  OK(test_walk(tvmffi_obj(tree), TEST_STOP, kTVMFFIAny, 1, &any));
  CHECK_LOG("12L3");
  CHECK_INT(any.type_index, kTVMFFIVisitInterrupt);
  CHECK_INT(test_get_field(any.v_obj, "value").v_int64, 33);
  OK(test_walk(tvmffi_int(5), TEST_GO_ON, kTVMFFIObject, 1, &any));
  OK(test_walk(tvmffi_int(5), TEST_GO_ON, kTVMFFIInt, 1, &any));
  CHECK_LOG("5");
}

static void test_visits(void) {
  TVMFFIObject *tree = test_tree();
  TVMFFIAny any;
  if (!tree) return;
  OK(test_descend("ffi.StructuralVisit", tvmffi_obj(tree), TEST_GO_ON,
                  kTVMFFIList, 2, &any));
  CHECK_LOG("L");
  OK(test_descend("ffi.StructuralVisit", tvmffi_obj(tree), TEST_DEFAULT,
                  kTVMFFIAny, 2, &any));
  CHECK_LOG("A1L2M3D4");
  OK(test_descend("ffi.StructuralMutate", tvmffi_obj(tree), TEST_DEFAULT,
                  kTVMFFIObject, 3, &any));
  CHECK_LOG("ALMD");
  CHECK(any.v_obj == tree);
  OK(test_descend("ffi.StructuralMutate", tvmffi_obj(tree), TEST_ADD,
                  kTVMFFIInt, 3, &any));
  CHECK_LOG("1234");
  CHECK(any.v_obj != tree);
}

static void test_maps_on_write(void) {
  TVMFFIObject *tree = test_tree(), *inner;
  TVMFFIAny any, key = tvmffi_int(1);
  TVMFFIAny moved;
  if (!tree) return;
  inner = test_item(tree, 1);
  OK(test_walk(tvmffi_obj(tree), TEST_SAME, kTVMFFIAny, 1, &any));
  CHECK(any.v_obj == tree);
  CHECK_LOG("12.L3M4DA");
  OK(test_walk(tvmffi_obj(tree), TEST_ADD, kTVMFFIInt, 0, &any));
  CHECK_LOG("1234");
  CHECK(any.v_obj != tree && test_item(any.v_obj, 1) != inner);
  CHECK_INT(((TVMFFIAny *)test_cell(tree)->data)->v_int64, 1);
  CHECK_INT(((TVMFFIAny *)test_cell(any.v_obj)->data)->v_int64, 2);
  CHECK_INT(tvmffi_i_map_get(test_item(any.v_obj, 2), &key)->v_int64, 4);
  CHECK_INT(tvmffi_i_map_get(test_item(tree, 2), &key)->v_int64, 3);
  CHECK_INT(tvmffi_i_map_get(test_item(any.v_obj, 3), &key)->v_int64, 5);
  /* What is moved there, and is shared no more, is changed in place. */
  tree = any.v_obj;
  inner = test_item(tree, 1);
  tvmffi_retain(inner);
  OWN(inner);
  tvmffi_retain(tree);
  test_drop(tree);
  moved = tvmffi_obj(tree);
  any = tvmffi_i_pointer(kTVMFFIObjectRValueRef, &moved.v_obj);
  if (test_walk(any, TEST_ADD, kTVMFFIInt, 1, &any)) {
    tvmffi_release(moved.v_obj);
    OK(-1);
    return;
  }
  CHECK_LOG("2345");
  CHECK(any.v_obj == tree && test_item(tree, 1) != inner);
  CHECK_INT(((TVMFFIAny *)test_cell(tree)->data)->v_int64, 3);
  CHECK_INT(((TVMFFIAny *)test_cell(inner)->data)->v_int64, 3);
  CHECK_INT(tvmffi_i_map_get(test_item(tree, 2), &key)->v_int64, 5);
}

static void test_visited_fields(void) {
  NODE_TYPE(plain, kTVMFFISEqHashKindTreeNode, 0);
  NODE_TYPE(ignores, kTVMFFISEqHashKindTreeNode,
            kTVMFFIFieldFlagBitMaskSEqHashIgnore);
  TVMFFIAny any;
  VISIT_NODE(a, ignores, tvmffi_int(1), tvmffi_int(2));
  VISIT_NODE(b, plain, tvmffi_obj(a), tvmffi_int(3));
  OK(test_walk(tvmffi_obj(b), TEST_GO_ON, kTVMFFIAny, 0, &any));
  CHECK_LOG("oo23");
  OK(test_walk(tvmffi_obj(b), TEST_ADD, kTVMFFIInt, 1, &any));
  CHECK_LOG("23");
  CHECK(any.v_obj != b);
  CHECK_INT(test_get_field(any.v_obj, "y").v_int64, 4);
  any = test_get_field(any.v_obj, "x");
  CHECK_INT(test_get_field(any.v_obj, "x").v_int64, 1);
  CHECK_INT(test_get_field(any.v_obj, "y").v_int64, 3);
  CHECK_INT(test_get_field(a, "y").v_int64, 2);
}

/* A variable is rewritten where it is defined, and so in all its uses. */
static void test_variables(void) {
  NODE_TYPE(var, kTVMFFISEqHashKindFreeVar, 0);
  NODE_TYPE(simple, kTVMFFISEqHashKindTreeNode,
            kTVMFFIFieldFlagBitMaskSEqHashDefSimple);
  NODE_TYPE(pattern, kTVMFFISEqHashKindTreeNode,
            kTVMFFIFieldFlagBitMaskSEqHashDefPattern);
  NODE_TYPE(shared, kTVMFFISEqHashKindDAGNode, 0);
  TVMFFIAny any, pair[2];
  VISIT_NODE(type, var, tvmffi_none(), tvmffi_none());
  VISIT_NODE(v, var, tvmffi_int(1), tvmffi_obj(type));
  VISIT_NODE(s, simple, tvmffi_obj(v), tvmffi_obj(v));
  VISIT_NODE(p, pattern, tvmffi_obj(v), tvmffi_obj(v));
  VISIT_NODE(d, shared, tvmffi_int(5), tvmffi_none());
  OK(test_walk(tvmffi_obj(s), TEST_SAY_REGION, kTVMFFIObject, 0, &any));
  CHECK_LOG("o0o2o0o0o0");
  OK(test_walk(tvmffi_obj(p), TEST_SAY_REGION, kTVMFFIObject, 0, &any));
  CHECK_LOG("o0o1o1o0o0");
  OK(test_walk(tvmffi_obj(s), TEST_ADD, kTVMFFIInt, 1, &any));
  CHECK_LOG("1");
  CHECK(any.v_obj != s);
  CHECK(test_get_field(any.v_obj, "x").v_obj ==
        test_get_field(any.v_obj, "y").v_obj);
  CHECK(test_get_field(any.v_obj, "x").v_obj != v);
  OK(test_walk(tvmffi_obj(v), TEST_ADD, kTVMFFIInt, 1, &any));
  CHECK(any.v_obj == v); /* a use of a variable that nobody rewrote */
  pair[0] = pair[1] = tvmffi_obj(d);
  {
    SEQUENCE(twice, "Array", pair, 2);
    OK(test_walk(tvmffi_obj(twice), TEST_ADD, kTVMFFIInt, 1, &any));
    CHECK_LOG("5");
    CHECK(test_item(any.v_obj, 0) == test_item(any.v_obj, 1));
    CHECK(test_item(any.v_obj, 0) != d);
  }
}

/* A visitor's own functions, called back with it. */
static int test_on_mutator(void *self, const TVMFFIAny *args, int32_t num_args,
                           TVMFFIAny *result) {
  static const char name[] = "ffi.StructuralMutatorWithDefRegionKind";
  TVMFFIAny m = args[1], any = tvmffi_none(), got = tvmffi_none();
  TVMFFIObjectHandle raise = NULL;
  int64_t region = -1;
  (void)self, (void)num_args;
  TVMFFI_TRY(tvmffi_call(tvmffi_str("ffi.StructuralMutatorVarRemapGet"),
                         tvmffi_out_any(&got), m, args[0]));
  CHECK_INT(got.type_index, kTVMFFINone);
  TVMFFI_TRY(tvmffi_call(tvmffi_str("ffi.StructuralMutatorVarRemapSet"),
                         tvmffi_out_any(NULL), m, args[0], tvmffi_int(7)));
  TVMFFI_TRY(tvmffi_call(tvmffi_str("ffi.StructuralMutatorVarRemapSet"),
                         tvmffi_out_any(NULL), m, args[0], tvmffi_int(8)));
  TVMFFI_TRY(tvmffi_call(tvmffi_str("ffi.StructuralMutatorVarRemapGet"),
                         tvmffi_out_any(&got), m, args[0]));
  CHECK_INT(got.v_int64, 8);
  FAILS(tvmffi_call(tvmffi_str("ffi.StructuralMutatorVarRemapSet"),
                    tvmffi_out_any(NULL), m, tvmffi_int(1), tvmffi_int(2)),
        "TypeError", "Variable-remap key must be an object-backed value");
  TVMFFI_TRY(TVMFFIFunctionCreate(NULL, test_raise_callback, NULL, &raise));
  any = tvmffi_obj((TVMFFIObject *)raise);
  FAILS(tvmffi_call(tvmffi_str(name), tvmffi_out_any(&got), m, tvmffi_int(2),
                    any),
        "ValueError", "the callback says no");
  tvmffi_release(raise);
  TVMFFI_TRY(tvmffi_call(tvmffi_str("ffi.StructuralMutatorDefRegionKind"),
                         tvmffi_out_int64(&region), m));
  CHECK_INT(region, 0);
  *result = tvmffi_int(4);
  return 0;
}

static void test_mutators(void) {
  TVMFFIObject *tree = test_tree();
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny row[3], any, args[2];
  if (!tree) return;
  OK(TVMFFIFunctionCreate(NULL, test_on_mutator, NULL, &f));
  OWN(f);
  row[0] = tvmffi_int(kTVMFFIArray);
  row[1] = tvmffi_obj((TVMFFIObject *)f);
  row[2] = tvmffi_bool(0);
  {
    SEQUENCE(entry, "Array", row, 3);
    row[0] = tvmffi_obj(entry);
  }
  {
    SEQUENCE(entries, "Array", row, 1);
    args[0] = tvmffi_obj(tree);
    args[1] = tvmffi_obj(entries);
    OK(test_apply_global("ffi.StructuralMutate", args, 2, &any));
    CHECK_INT(any.v_int64, 4);
  }
}

static TVMFFIAny test_kept_visitor; /* borrowed, during a visit */

static int test_in_region(void *self, const TVMFFIAny *args, int32_t num_args,
                          TVMFFIAny *result) {
  int64_t region = -1;
  (void)self, (void)args, (void)num_args;
  TVMFFI_TRY(tvmffi_call(tvmffi_str("ffi.StructuralVisitorDefRegionKind"),
                         tvmffi_out_int64(&region), test_kept_visitor));
  *result = tvmffi_int(region);
  return 0;
}

static int test_on_visitor(void *self, const TVMFFIAny *args, int32_t num_args,
                           TVMFFIAny *result) {
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny any, visitor = args[1];
  int64_t region = -1;
  int code;
  (void)self, (void)num_args, (void)result;
  test_kept_visitor = visitor;
  TVMFFI_TRY(TVMFFIFunctionCreate(NULL, test_in_region, NULL, &f));
  any = tvmffi_obj((TVMFFIObject *)f);
  code = tvmffi_call(tvmffi_str("ffi.StructuralVisitorWithDefRegionKind"),
                     tvmffi_out_int64(&region), visitor, tvmffi_int(2), any);
  tvmffi_release(f);
  TVMFFI_TRY(code);
  CHECK_INT(region, 2);
  TVMFFI_TRY(tvmffi_call(tvmffi_str("ffi.StructuralVisitorDefRegionKind"),
                         tvmffi_out_int64(&region), visitor));
  CHECK_INT(region, 0);
  return 0;
}

/* Calls a function of two arguments with the tree and a list of lists that has
   one callback. */
static int test_visit_by(const char *name, TVMFFISafeCallType call,
                         int32_t type_index, int n, TVMFFIAny *result) {
  TVMFFIObject *tree = test_tree();
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny row[3], args[2], inner;
  if (!tree) return tvmffi_i_no_memory();
  TVMFFI_TRY(TVMFFIFunctionCreate(NULL, call, NULL, &f));
  OWN(f);
  row[0] = tvmffi_int(type_index);
  row[1] = tvmffi_obj((TVMFFIObject *)f);
  row[2] = tvmffi_bool(0);
  TVMFFI_TRY(test_apply_global("ffi.Array", row, n, &inner));
  TVMFFI_TRY(test_apply_global("ffi.List", &inner, 1, &args[1]));
  args[0] = tvmffi_obj(tree);
  return test_apply_global(name, args, 2, result);
}

static int test_give_a_text(void *self, const TVMFFIAny *args, int32_t num_args,
                            TVMFFIAny *result) {
  TVMFFIByteArray text = TEXT("no result of a visit");
  (void)self, (void)args, (void)num_args;
  return TVMFFIStringFromByteArray(&text, result);
}

static int test_mutate_again(void *self, const TVMFFIAny *args,
                             int32_t num_args, TVMFFIAny *result) {
  (void)self, (void)num_args;
  return tvmffi_call(tvmffi_str("ffi.StructuralMutatorMutate"),
                     tvmffi_out_any(result), args[1], tvmffi_int(6));
}

static void test_visitors(void) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIAny any;
  OK(test_visit_by("ffi.StructuralVisit", test_on_visitor, kTVMFFIArray, 2,
                   &any));
  CHECK_INT(any.type_index, kTVMFFINone);
  OK(test_visit_by("ffi.StructuralMutate", test_mutate_again, kTVMFFIArray, 3,
                   &any));
  CHECK_INT(any.type_index, kTVMFFIInt);
  CHECK_INT(any.v_int64, 6);
  FAILS(test_visit_by("ffi.StructuralVisit", test_give_a_text, kTVMFFIArray, 2,
                      &any),
        "TypeError", NULL);
  /* A type that does not exist matches nothing, and leaves no error. */
  OK(test_visit_by("ffi.StructuralVisit", test_give_a_text, 120, 2, &any));
  CHECK_INT(any.type_index, kTVMFFINone);
  TVMFFIErrorMoveFromRaised(&error);
  CHECK(!error);
  tvmffi_release(error);
}

/* Takes the error of a failed walk and gives where it came from. */
static void test_error_places(void) {
  NODE_TYPE(plain, kTVMFFISEqHashKindTreeNode, 0);
  TVMFFIAny items[2], args[3], any, context;
  TVMFFIObject *error, *path;
  int order;
  VISIT_NODE(bottom, plain, tvmffi_int(3), tvmffi_none());
  items[0] = tvmffi_int(1);
  items[1] = tvmffi_obj(bottom);
  {
    SEQUENCE(list, "List", items, 2);
    VISIT_NODE(root, plain, tvmffi_none(), tvmffi_obj(list));
    for (order = 0; order < 2; ++order) {
      int code =
          test_walk(tvmffi_obj(root), TEST_RAISE, kTVMFFIInt, order, &any);
      CHECK(code != 0);
      test_log_size = 0;
      error = tvmffi_error_take();
      if (!CHECK(error != NULL)) return;
      OWN(error);
      if (test_hits()) return;
      context = tvmffi_obj(
          (TVMFFIObject *)TVMFFIErrorGetCellPtr(error)->extra_context);
      if (!CHECK(context.v_obj != NULL)) return;
      any = test_get_field(context.v_obj, "reverse_visit_pattern");
      CHECK_INT(test_cell(any.v_obj)->size, 3);
      CHECK(test_item(any.v_obj, 0) == bottom);
      CHECK(test_item(any.v_obj, 1) == list);
      CHECK(test_item(any.v_obj, 2) == root);
      /* No path leads through a list as an object, so only a part is found. */
      args[0] = tvmffi_obj(root);
      args[1] = context;
      args[2] = tvmffi_bool(0);
      OK(test_apply_global("ffi.VisitErrorContext.FindAccessPaths", args, 3,
                           &any));
      CHECK_INT(test_cell(any.v_obj)->size, 0);
    }
    items[0] = tvmffi_obj(bottom);
    items[1] = tvmffi_obj(root);
    {
      SEQUENCE(pattern, "List", items, 2);
      any = tvmffi_obj(pattern);
      OK(tvmffi_i_set_field(
          &TVMFFIGetTypeInfo(TVMFFI_I_VISIT_ERROR_CONTEXT)->fields[0],
          context.v_obj, &any));
    }
    OK(test_apply_global("ffi.VisitErrorContext.FindAccessPaths", args, 3,
                         &any));
    CHECK_INT(test_cell(any.v_obj)->size, 1);
    path = test_item(any.v_obj, 0);
    CHECK_INT(test_get_field(path, "depth").v_int64, 2);
    any = test_get_field(path, "step");
    CHECK_INT(test_get_field(any.v_obj, "key").v_int64, 1);
  }
}

/* A hook of C that says so, and visits the field x. */
static TVMFFIAny test_visit_hook(void *visitor, TVMFFIAny value) {
  const tvmffi_i_visitor *v = (const tvmffi_i_visitor *)visitor;
  test_say('h');
  return tvmffi_i_table_of(v)->enter(visitor,
                                     ((test_visit_node *)value.v_ptr)->x);
}

static void test_visit_hooks(void) {
  NODE_TYPE(native, kTVMFFISEqHashKindTreeNode, 0);
  NODE_TYPE(packed, kTVMFFISEqHashKindTreeNode, 0);
  NODE_TYPE(bad, kTVMFFISEqHashKindTreeNode, 0);
  TVMFFIByteArray visit = TEXT("__s_visit__"), mutate = TEXT("__s_mutate__");
  TVMFFIAny hook = tvmffi_ptr((void *)(uintptr_t)test_visit_hook), any;
  TVMFFIObjectHandle f = NULL;
  VISIT_NODE(a, native, tvmffi_int(1), tvmffi_int(2));
  VISIT_NODE(b, packed, tvmffi_int(1), tvmffi_obj(a));
  VISIT_NODE(c, bad, tvmffi_int(1), tvmffi_int(2));
  OK(TVMFFITypeRegisterAttr(native, &visit, &hook));
  OK(test_walk(tvmffi_obj(a), TEST_GO_ON, kTVMFFIAny, 1, &any));
  CHECK_LOG("h1o");
  OK(TVMFFIFunctionCreate(NULL, test_raise_callback, NULL, &f));
  OWN(f);
  hook = tvmffi_obj((TVMFFIObject *)f);
  OK(TVMFFITypeRegisterAttr(packed, &visit, &hook));
  FAILS(test_walk(tvmffi_obj(b), TEST_GO_ON, kTVMFFIAny, 1, &any), "ValueError",
        "the callback says no");
  hook = tvmffi_int(1);
  OK(TVMFFITypeRegisterAttr(bad, &visit, &hook));
  OK(TVMFFITypeRegisterAttr(bad, &mutate, &hook));
  FAILS(test_walk(tvmffi_obj(c), TEST_GO_ON, kTVMFFIAny, 1, &any), "TypeError",
        "__s_visit__ must be an opaque function pointer or ffi.Function");
  FAILS(test_walk(tvmffi_obj(c), TEST_SAME, kTVMFFIAny, 1, &any), "TypeError",
        "__s_mutate__ must be a direct hook pointer or ffi.Function");
}

/* A container that its callbacks empty. */
static void test_visited_changes(void) {
  TVMFFIAny items[3], any;
  int how;
  for (how = 0; how < 2; ++how) {
    TVMFFIObject *list;
    items[0] = tvmffi_int(1);
    items[1] = tvmffi_int(2);
    list = test_sequence("ffi.List", items, 2);
    if (!list) return;
    items[0] = tvmffi_obj(list);
    {
      SEQUENCE(root, "Array", items, 1);
      test_touched = list;
      OK(test_walk(tvmffi_obj(root), TEST_CLEAR, how ? kTVMFFIList : kTVMFFIInt,
                   0, &any));
      CHECK_LOG(how ? "L" : "1");
      CHECK_INT(test_cell(list)->size, 0);
    }
  }
}

static void test_deep_visits(void) {
  TVMFFIObject *list = tvmffi_i_new_list(1);
  int i, n = test_scale(TEST_CHAIN < 20000 ? TEST_CHAIN : 20000, 20);
  TVMFFIAny any = tvmffi_int(5);
  if (list && tvmffi_i_list_append(list, &any)) {
    tvmffi_release(list);
    list = NULL;
  }
  for (i = 0; list && i < n; ++i) {
    TVMFFIObject *outer = tvmffi_i_new_list(1);
    any = tvmffi_obj(list);
    if (outer && tvmffi_i_list_append(outer, &any)) {
      tvmffi_release(outer);
      outer = NULL;
    }
    tvmffi_release(list);
    list = outer;
  }
  OK(list ? 0 : -1);
  OWN(list);
  OK(test_walk(tvmffi_obj(list), TEST_GO_ON, kTVMFFIInt, 0, &any));
  CHECK_LOG("5");
  OK(test_walk(tvmffi_obj(list), TEST_ADD, kTVMFFIInt, 1, &any));
  CHECK_LOG("5");
  CHECK(any.v_obj != list);
}

static void test_endless_visits(void) {
  TVMFFIObject *list = test_sequence("ffi.List", NULL, 0);
  TVMFFIAny any, self;
  if (!list) return;
  self = tvmffi_obj(list);
  if (!test_oom && TEST_CHAIN >= 1000000) {
    OK(tvmffi_i_list_append(list, &self));
    FAILS(test_walk(self, TEST_GO_ON, kTVMFFIInt, 1, &any), "ValueError",
          "StructuralVisit: maximum stack depth (1048576) exceeded");
    OK(DO("ListClear", self));
  }
  /* Hooks nest as deep as the stack surely bears. */
  if (!test_oom) {
    test_stack_lowest = UINTPTR_MAX;
    test_look_at_stack();
    FAILS(test_descend("ffi.StructuralVisit", self, TEST_AGAIN, kTVMFFIList, 2,
                       &any),
          "RecursionError", NESTED);
    test_look_at_stack();
    CHECK(test_stack - test_stack_lowest < 1 << 20);
    CHECK(test_stack - test_stack_lowest > 1 << 17);
    /* As if the stack had been used up, or this were another one. */
    test_look_at_stack();
    tvmffi_i_self()->nesting = 1;
    tvmffi_i_self()->nesting_base = test_stack - 1024 * TVMFFI_I_MAX_NESTING_KB;
    tvmffi_i_self()->nesting_base -= 1 << 17; /* above may be no address */
    FAILS(test_descend("ffi.StructuralVisit", self, TEST_GO_ON, kTVMFFIList, 2,
                       &any),
          "RecursionError", NESTED);
    tvmffi_i_self()->nesting_base = test_stack / 2;
    OK(test_descend("ffi.StructuralVisit", self, TEST_GO_ON, kTVMFFIList, 2,
                    &any));
    CHECK_INT(tvmffi_i_self()->nesting, 1);
    test_log_size = 0;
    tvmffi_i_self()->nesting = 0;
  }
  test_look_at_stack();
  /* As if most of the nesting had been done. */
  tvmffi_i_self()->nesting_base = test_stack;
  tvmffi_i_self()->nesting = TVMFFI_I_MAX_STRUCTURAL_NESTING - 5;
  FAILS(test_descend("ffi.StructuralVisit", self, TEST_AGAIN, kTVMFFIList, 2,
                     &any),
        "RecursionError", NESTED);
  CHECK_INT(tvmffi_i_self()->nesting, TVMFFI_I_MAX_STRUCTURAL_NESTING - 5);
  tvmffi_i_self()->nesting = 0;
}

static void test_bad_visits(void) {
  TVMFFIObject *tree = test_tree(), *visitor;
  TVMFFIAny args[4], any, copy;
  if (!tree) return;
  args[0] = args[1] = tvmffi_obj(tree);
  FAILS(test_apply_global("ffi.StructuralVisit", args, 2, &any), "TypeError",
        "Mismatched type on argument #1 when calling: `ffi.StructuralVisit(0: "
        "AnyView, 1: Array<Tuple<int, ffi.Function>>) -> "
        "Optional<ffi.VisitInterrupt>`. Expected `Array<Tuple<int, "
        "ffi.Function>>` but got `Array[index 0: int]`");
  FAILS(test_descend("ffi.StructuralVisit", tvmffi_obj(tree), TEST_GO_ON, 1, 3,
                     &any),
        "TypeError", "...but got `Array[index 0: Array[size=3]]`");
  FAILS(test_walk(tvmffi_i_pointer(kTVMFFIArray, NULL), TEST_GO_ON, 1, 0, &any),
        "ValueError", "The root is a NULL object");
  /* A copy has a visitor's table and nothing that it could call. */
  visitor =
      (TVMFFIObject *)(void *)tvmffi_i_new_engine(TVMFFI_I_VISIT, NULL, NULL);
  OK(visitor ? 0 : -1);
  OWN(visitor);
  args[0] = tvmffi_obj(visitor);
  OK(test_apply_attr(TVMFFI_I_STRUCTURAL_VISITOR, "__ffi_shallow_copy__", args,
                     1, &copy));
  args[0] = copy;
  args[1] = tvmffi_obj(tree);
  FAILS(test_apply_global("ffi.StructuralVisitorVisit", args, 2, &any),
        "TypeError", "A copy of a structural visitor or mutator cannot go on");
  args[0] = tvmffi_obj(visitor);
  args[1] = tvmffi_i_pointer(kTVMFFIArray, NULL);
  FAILS(test_apply_global("ffi.StructuralVisitorDefaultVisit", args, 2, &any),
        "ValueError", "The value is a NULL object");
}

/* A visitor and a mutator as C++ has them. */
#if defined(__cplusplus)
extern "C" {
#endif
static TVMFFIAny test_enter(void *visitor, TVMFFIAny value) {
  (void)visitor;
  test_say_value(&value);
  return value.type_index == kTVMFFIInt && value.v_int64 == 3 ? tvmffi_bool(1)
                                                              : tvmffi_none();
}
static TVMFFIAny test_enter_to_add(void *mutator, TVMFFIAny value) {
  (void)mutator;
  test_say_value(&value);
  if (value.type_index == kTVMFFIInt) return tvmffi_int(value.v_int64 + 1);
  value.type_index = kTVMFFIUnchanged;
  value.v_int64 = 0;
  return value;
}
static TVMFFIAny test_enter_unique(void *mutator, TVMFFIAny value) {
  (void)mutator;
  test_say(tvmffi_i_is_unique(&value) ? 'u' : '!');
  return tvmffi_int(value.type_index);
}
#if defined(__cplusplus)
}
#endif

static void test_foreign_visitors(void) {
  static const tvmffi_i_visit_table visits = {test_enter, NULL, NULL, NULL};
  static const tvmffi_i_visit_table mutates = {test_enter_to_add,
                                               test_enter_unique, NULL, NULL};
  TVMFFIObject *tree = test_tree();
  tvmffi_i_visitor v;
  TVMFFIObject *outer;
  TVMFFIAny any, *items;
  int i;
  if (!tree) return;
  memset((void *)&v, 0, sizeof(v));
  v.table = (void *)(uintptr_t)&visits;
  any = tvmffi_i_visit_container(&v, tvmffi_obj(tree));
  CHECK_INT(any.type_index, kTVMFFINone);
  CHECK_LOG("1LMD");
  items = (TVMFFIAny *)test_cell(tree)->data;
  for (i = 1; i < 4; ++i) {
    any = tvmffi_i_visit_container(&v, items[i]);
    CHECK_INT(any.type_index, i == 2 ? kTVMFFIBool : kTVMFFINone);
  }
  CHECK_LOG("2.34");
  v.table = (void *)(uintptr_t)&mutates;
  any = tvmffi_i_mutate_container(&v, tvmffi_obj(tree));
  OK(tvmffi_i_give(any, &any));
  OWN_ANY(any);
  CHECK_LOG("1LMD");
  CHECK(any.v_obj != tree && test_item(any.v_obj, 1) == items[1].v_obj);
  CHECK_INT(((TVMFFIAny *)test_cell(any.v_obj)->data)->v_int64, 2);
  any = tvmffi_i_mutate_container(&v, items[3]);
  OK(tvmffi_i_give(any, &any));
  OWN_ANY(any);
  CHECK_LOG("4");
  /* What nobody else has is taken out of its place meanwhile. */
  outer = test_sequence("ffi.List", NULL, 0);
  if (!outer) return;
  any = tvmffi_obj(tvmffi_i_new_list(0));
  OK(any.v_obj ? 0 : -1);
  i = tvmffi_i_list_append(outer, &any);
  tvmffi_any_release(&any);
  OK(i);
  any = tvmffi_i_mutate_in_place(&v, tvmffi_obj(outer));
  CHECK_INT(any.type_index, kTVMFFIUnchanged);
  CHECK_LOG("u");
  CHECK_INT(((TVMFFIAny *)test_cell(outer)->data)->v_int64, kTVMFFIList);
}

/* A mutator of ours is told by others what nobody else has. */
static void test_unique_values(void) {
  TVMFFIAny callbacks = test_callbacks(TEST_ADD, kTVMFFIInt, 2), pair[2], any;
  TVMFFIObject *mutator;
  pair[0] = tvmffi_int(1);
  pair[1] = tvmffi_int(4);
  if (callbacks.type_index == kTVMFFINone) return;
  mutator = (TVMFFIObject *)(void *)tvmffi_i_new_engine(TVMFFI_I_MAP_BEFORE,
                                                        callbacks.v_obj, NULL);
  OK(mutator ? 0 : -1);
  OWN(mutator);
  {
    SEQUENCE(list, "List", pair, 2);
    any = tvmffi_i_enter_unique(mutator, tvmffi_obj(list));
    OK(tvmffi_i_give(any, &any));
    CHECK_INT(any.type_index, kTVMFFIUnchanged);
    CHECK_LOG("14");
    CHECK_INT(((TVMFFIAny *)test_cell(list)->data)[1].v_int64, 5);
    any = tvmffi_i_enter_mutator(mutator, tvmffi_obj(list));
    OK(tvmffi_i_give(any, &any));
    OWN_ANY(any);
    CHECK_LOG("25");
    CHECK(any.v_obj != list);
  }
}
#endif

/* ======== The table ======================================================= */

typedef struct {
  const char *name;
  void (*run)(void);
} test_case;

static const test_case test_cases[] = {
    {"the runtime starts itself", test_start}, /* stays the first one */
    {"version", test_version},
#if !TEST_NO_VALUES
    {"values: views", test_views},
    {"values: strings and bytes", test_strings},
    {"values: strings and bytes that cannot be", test_bad_strings},
    {"values: owned", test_owned_values},
    {"values: owned ones that cannot be", test_bad_values},
    {"values: rvalue references", test_rvalue_refs},
    {"values: input and output the same", test_aliases},
    {"values: big integers", test_bigints},
    {"values: big integers that cannot be", test_bad_bigints},
    {"values: release", test_any_release},
#endif
#if !TEST_NO_OBJECTS
    {"objects: counts and deleter flags", test_counts},
    {"objects: no deleter", test_no_deleter},
    {"objects: pinned counts", test_pinned_counts},
    {"objects: opaque", test_opaque},
    {"objects: destructions do not nest", test_nesting},
    {"objects: destruction with a weak reference", test_nesting_weak},
    {"objects: a long chain is destroyed", test_long_chain},
    {"objects: a long chain with weak references", test_long_weak_chain},
    {"objects: a chain destroyed without memory", test_weak_chain_refused},
    {"objects: deleters that a client replaces", test_replaced_deleters},
#if defined(__cplusplus) && defined(__cpp_exceptions)
    {"objects: deleters that throw", test_thrown_deleters},
#endif
    {"objects: the default allocator", test_default_allocator},
    {"objects: a custom allocator", test_custom_allocator},
#if TVMFFI_I_POOL
    {"objects: memory is used again", test_pool_reuse},
    {"objects: cells that a client writes", test_pool_cells},
    {"objects: sizes of memory that is kept", test_pool_classes},
    {"objects: so much memory is kept", test_pool_bound},
    {"objects: budgets of kept memory", test_pool_budget},
    {"objects: kept memory is given back for other", test_pool_refused},
    {"objects: kept memory makes room for other", test_pool_evicts},
#endif
#endif
#if !TEST_NO_TYPES
    {"types: those of the ABI", test_abi_types},
    {"types: unknown ones", test_unknown_types},
    {"types: static indices", test_static_type},
    {"types: dynamic indices and ancestors", test_dynamic_types},
    {"types: child slots", test_slots},
    {"types: those that cannot be", test_bad_types},
    {"types: registered by another thread first", test_raced_types},
    {"types: the table grows", test_table_growth},
    {"types: a thousand", test_many_types},
    {"types: fields", test_fields},
    {"types: fields of special kinds", test_special_fields},
    {"types: fields that cannot be", test_bad_fields},
    {"types: fields that lie", test_false_fields},
    {"types: fields and the size", test_fields_and_size},
    {"types: methods", test_methods},
    {"types: metadata", test_metadata},
    {"types: attribute columns", test_columns},
    {"types: growing columns", test_column_growth},
    {"types: attributes that cannot be", test_bad_columns},
#endif
#if !TEST_NO_FUNCTIONS
    {"functions: create and call", test_function_create},
    {"functions: calls that are refused", test_function_refuse},
#if !TVMFFI_NO_TYPES
    {"functions: a type of its own", test_function_subtype},
#endif
    {"functions: global, replaced, removed", test_globals},
    {"functions: global ones that cannot be", test_bad_globals},
#if !TVMFFI_NO_TYPES
    {"functions: global with metadata", test_method_info},
    {"functions: schemas of the built-in ones", test_builtins},
#endif
    {"functions: two special objects", test_special_objects},
    {"functions: ffi.String and ffi.Bytes", test_string_builtins},
    {"functions: ffi.Shape", test_shapes},
    {"functions: ffi.FunctionFromExternC", test_extern_c},
    {"functions: the list of names", test_list_names},
    {"functions: names that come and go", test_names_that_go},
    {"functions: removed names fill no table", test_tombstones},
#endif
#if !TEST_NO_ERRORS
    {"errors: create", test_error_create},
    {"errors: those that cannot be", test_bad_errors},
    {"errors: the slot", test_slot},
    {"errors: raised from texts", test_raise_texts},
    {"errors: the trace changes", test_update_trace},
    {"errors: lack of memory", test_memory_error},
    {"errors: raised while another is dropped", test_raise_in_deleter},
    {"errors: raise and try", test_raise},
    {"errors: messages that are too long", test_long_messages},
    {"errors: formats", test_formats},
    {"errors: the whole text", test_error_text},
    {"errors: causes and contexts", test_error_chain},
    {"errors: catch", test_error_catch},
    {"errors: many causes", test_error_many_causes},
#if !TVMFFI_NO_STDIO && !TEST_NO_FILES
    {"errors: print", test_error_print},
#endif
    {"backtrace: the caller's place", test_backtrace},
#if !TVMFFI_NO_BACKTRACE
    {"backtrace: kinds of frames", test_frame_kinds},
#if TVMFFI_I_WALK
    {"backtrace: a walk goes as the unwinder does", test_walk_stacks},
    {"backtrace: unwind tables", test_rows},
#endif
    {"backtrace: a frame is named once", test_frame_names},
    {"backtrace: C++ names", test_demangle},
    {"backtrace: its limit", test_frame_limit},
#if TEST_SYMBOLS
    {"backtrace: names of functions", test_symbols},
#endif
#endif
#endif
#if !TEST_NO_TYPED
    {"typed functions: integers", test_typed_integers},
    {"typed functions: other values", test_typed_values},
    {"typed functions: strings and bytes", test_typed_texts},
    {"typed functions: texts that lie", test_false_texts},
    {"typed functions: objects", test_typed_objects},
    {"typed functions: 0 to 16 parameters", test_typed_counts},
    {"typed functions: codes and errors", test_typed_codes},
    {"typed functions: a code without an error", test_typed_silence},
    {"typed functions: export", test_export},
    {"typed functions: schemas", test_schemas},
    {"typed functions: register", test_register},
    {"typed functions: optional", test_typed_optional},
#if !TVMFFI_NO_CONTAINERS
    {"typed functions: containers", test_typed_containers},
    {"typed functions: elements", test_typed_elements},
    {"typed functions: conversions", test_typed_conversions},
    {"typed functions: wide signatures", test_wide_signature},
#endif
    {"typed functions: closures", test_closure},
    {"typed functions: documentation", test_docs},
    {"calls: results of each kind", test_out_constructors},
    {"calls: results that do not fit", test_bad_results},
    {"calls: texts into a buffer", test_buffers},
    {"calls: integers that do not fit", test_wide_integers},
    {"calls: values converted and compared", test_as},
    {"calls: functions of the global table", test_global_by_name},
    {"calls: what cannot be called", test_bad_callees},
    {"calls: NULL, and whose result it was", test_null_in_calls},
#if TVMFFI_I_GENERIC
    {"calls: plain values", test_plain_values},
#endif
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
#if !TVMFFI_NO_CONTAINERS
    {"containers: made and read", test_made_containers},
    {"containers: entries in order", test_entries},
    {"containers: lists that change", test_changed_lists},
    {"containers: mistakes", test_bad_containers},
#ifdef TVMFFI_SCOPE
    {"containers: in a scope", test_scoped_containers},
#endif
#endif
#endif
#if !TEST_NO_TENSORS
    {"tensor checks: shapes", test_expect_shapes},
    {"tensor checks: runs of dimensions", test_expect_runs},
    {"tensor checks: dtype, device and data", test_expect_data},
    {"tensor checks: strides", test_expect_strides},
    {"tensor checks: the function's name", test_expect_names},
    {"tensor checks: huge shapes", test_huge_shapes},
    {"tensor checks: texts that cannot be read", test_expect_texts},
    {"tensor loops: sizes and elements", test_tensor_sizes},
    {"tensor loops: the order of elements", test_loop_orders},
    {"tensor loops: several tensors", test_loop_several},
    {"tensor loops: errors", test_loop_errors},
#if !TVMFFI_NO_FLOAT
    {"tensor elements: float16 and bfloat16", test_half_floats},
#endif
#if !TVMFFI_NO_TYPES
    {"struct types: registration", test_type_registration},
    {"struct types: new objects", test_type_new},
    {"struct types: factories in scopes", test_type_factory},
    {"struct types: fields", test_type_fields},
    {"struct types: methods", test_type_methods},
    {"struct types: attributes", test_type_attributes},
    {"struct types: end of an object", test_type_end},
    {"struct types: a long chain", test_type_chain},
#if defined(__cplusplus) && defined(__cpp_exceptions)
    {"struct types: destructors that throw", test_throwing_types},
#endif
    {"struct types: mistakes", test_type_mistakes},
    {"struct types: two that refer to each other", test_type_declared},
    {"struct types: a child of a foreign type", test_type_foreign},
#if !TVMFFI_NO_CONTAINERS
    {"struct types: fields of words with arguments", test_type_parts},
    {"struct types: as arguments of words", test_type_arguments},
#endif
    {"struct types: scopes", test_type_scope},
#else
    {"struct types: none", test_no_types},
#endif
#endif
#if !TEST_NO_DTYPES
    {"dtypes: parse", test_dtype_parse},
    {"dtypes: those that cannot be", test_bad_dtypes},
    {"dtypes: print", test_dtype_print},
    {"dtypes: print and parse", test_dtype_round_trip},
    {"dtypes: custom", test_custom_dtypes},
    {"devices: parse", test_devices},
#endif
#if !TEST_NO_TENSORS
    {"tensors: from DLPack", test_from_dlpack},
    {"tensors: to DLPack", test_to_dlpack},
    {"tensors: those that cannot be", test_bad_tensors},
    {"tensors: imports that cannot be", test_bad_imports},
    {"tensors: layouts", test_layouts},
    {"tensors: views", test_tensor_views},
    {"tensors: exports that cannot be", test_bad_exports},
    {"tensors: as an argument", test_tensor_argument},
    {"tensors: allocators", test_env_alloc},
    {"tensors: new ones", test_new_tensor},
    {"tensors: results of typed functions", test_tensor_results},
#endif
#if !TEST_NO_LEGACY
    {"legacy: arguments of every type code", test_legacy_arguments},
    {"legacy: values of every type", test_legacy_values},
    {"legacy: functions wrapped", test_legacy_wrap},
    {"legacy: functions called", test_legacy_calls},
#endif
#if !TEST_NO_ENV
    {"environment: streams", test_streams},
    {"environment: signals", test_signals},
    {"environment: symbols", test_module_symbols},
    {"environment: handles made once", test_init_once},
#endif
#if !TEST_NO_MAPS && !TVMFFI_NO_CONTAINERS
    {"maps: up to twelve keys", test_small_maps},
    {"maps: hundreds of keys", test_large_maps},
    {"maps: made for so many entries", test_capacity},
    {"maps: built-in functions", test_map_functions},
    {"maps: functions of dicts", test_dict_functions},
    {"maps: texts of each kind as keys", test_map_views},
    {"maps: what is no key", test_bad_map_keys},
    {"maps: copied before a change", test_map_copy_on_write},
    {"maps: iterators", test_map_iterators},
    {"maps: deleters that use the dict", test_map_deleters},
    {"maps: a deep nest", test_deep_maps},
    {"maps: a dict in itself", test_map_in_itself},
    {"maps: types with a hash and an equality", test_map_hooks},
    {"maps: chains that give way", test_map_chains},
    {"maps: keys that change the map", test_map_guard},
    {"maps: hooks and deleters that change maps at random", test_map_storm},
#endif
#if !TVMFFI_NO_EXTRA && !TEST_NO_JSON
    {"JSON: texts", test_json_texts},
    {"JSON: numbers", test_json_numbers},
    {"JSON: texts that are none", test_json_errors},
    {"JSON: objects alike", test_json_alike},
    {"JSON: keys that come again", test_json_keys},
    {"JSON: values that have none", test_json_writing_errors},
    {"JSON: a deep nest", test_json_depth},
    {"JSON: graphs", test_json_graphs},
    {"JSON: objects", test_json_objects},
    {"JSON: graphs that are none", test_json_bad_graphs},
    {"JSON: graphs of lists and dicts", test_json_loose_graphs},
    {"JSON: cycles", test_json_cycles},
    {"JSON: keys that go", test_json_keys_that_go},
    {"JSON: a maker of another type", test_json_wrong_maker},
    {"JSON: texts of graphs", test_json_graph_texts},
    {"JSON: long integers in graphs", test_decimals},
    {"JSON: keys of one hash", test_json_tangled_keys},
    {"JSON: graphs of larger maps", test_json_graph_maps},
    {"JSON: enumerations", test_json_enums},
#if !TEST_NO_TYPES && !TEST_NO_REFLECTION
    {"JSON: fields of graphs", test_json_fields},
    {"JSON: members of enumerations", test_json_enum_members},
#endif
#endif
#if !TEST_NO_ARRAYS && !TVMFFI_NO_CONTAINERS
    {"arrays: layout", test_array_layout},
    {"arrays: made to be filled", test_new_array},
    {"arrays: access", test_array_access},
    {"arrays: in the place of a list", test_array_for_list},
    {"lists: growth", test_list_growth},
    {"lists: edit", test_list_edit},
    {"lists: slices", test_list_slices},
    {"lists: bad indices and values", test_list_bad_indices},
    {"lists: of themselves", test_list_of_itself},
    {"lists: weak references", test_list_weak},
    {"lists: blocks of others", test_foreign_blocks},
    {"lists: items that change them", test_changing_items},
    {"lists: a deep nest", test_deep_nest},
    {"equality: hashes", test_hashes},
    {"equality: what a sequence contains", test_contained},
    {"equality: a type's own", test_own_equality},
    {"equality: a type's own, of before 0.1.15", test_plain_equality},
#endif
#if !TEST_NO_MODULES && !TVMFFI_NO_CONTAINERS
    {"modules: functions", test_module_functions},
    {"modules: symbols with a prefix", test_module_symbol_order},
    {"modules: docs and metadata", test_module_texts},
    {"modules: properties", test_module_properties},
    {"modules: schemas", test_module_schemas},
    {"modules: context", test_module_context},
    {"modules: imports", test_module_imports},
    {"modules: many imports", test_module_lattice},
    {"modules: look-up from imports", test_imports},
    {"modules: a cache of another maker", test_foreign_cache},
    {"modules: embedded", test_embedded_modules},
    {"modules: embedded, malformed", test_bad_embedded_modules},
    {"modules: kept", test_kept_modules},
    {"modules: files", test_load_files},
    {"modules: loaders in loaders", test_nested_system_modules},
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
#if !TVMFFI_NO_CONTAINERS && !TEST_NO_REFLECTION && !TEST_NO_TYPES
    {"built-in types: keys and order", test_builtin_types},
    {"built-in types: fields and methods", test_builtin_fields},
    {"built-in types: attribute columns", test_builtin_columns},
    {"built-in types: clients add to them", test_builtin_grows},
    {"built-in types: creators and copies", test_creators},
    {"built-in types: keys of all", test_type_keys},
    {"built-in types: conversions", test_converts},
    {"built-in types: fields of enum states", test_enum_fields},
    {"built-in types: attributes of enum states", test_enum_attributes},
    {"built-in types: fields of references", test_reference_fields},
    {"built-in types: hashes of keys in columns", test_structural_key_hash},
    {"built-in types: interrupts", test_interrupts},
    {"built-in types: big integers in columns", test_bigint_columns},
    {"access paths", test_paths},
    {"access paths: steps", test_path_steps},
    {"access paths that cannot be", test_bad_paths},
    {"reflection: objects of fields", test_make_object},
    {"reflection: getters and setters", test_field_access},
    {"reflection: classes of Python", test_py_classes},
    {"reflection: bad arguments", test_bad_init},
    {"reflection: fields that come late", test_late_fields},
    {"reflection: fields in wrong places", test_misplaced_fields},
    {"reflection: errors of setters", test_init_errors},
    {"reflection: defaults of fields", test_field_defaults},
    {"reflection: bad makers", test_bad_makers},
    {"reflection: many fields", test_many_fields},
    {"reflection: a long chain", test_deep_objects},
    {"deep copies: shape", test_deep_copies},
    {"deep copies: cycles", test_cyclic_copies},
    {"deep copies: cycles through objects", test_cyclic_object_copies},
    {"deep copies: fields at one place", test_aliased_fields},
    {"deep copies: what has none", test_bad_copies},
    {"deep copies: depth", test_deepest_copy},
#endif
#if !TVMFFI_NO_EXTRA
    {"repr: values", test_repr_values},
    {"repr: escapes", test_repr_escapes},
    {"repr: floats", test_repr_floats},
    {"repr: big integers", test_repr_bigints},
    {"repr: shared objects and cycles", test_repr_graph},
    {"repr: memory", test_repr_memory},
    {"repr: fields", test_repr_fields},
    {"repr: hooks", test_repr_hooks},
    {"repr: objects", test_repr_objects},
    {"repr: fields of one name", test_repr_same_names},
    {"repr: bad hooks", test_bad_hooks},
    {"repr: hooks of a wrong type", test_wrong_hooks},
    {"repr: hooks in hooks", test_deep_hooks},
    {"repr: access paths", test_repr_path},
    {"repr: steps of access paths", test_repr_steps},
    {"recursive hash: values", test_recursive_hash},
    {"recursive hash: maps", test_hash_of_maps},
    {"recursive hash: hooks", test_hash_hooks},
    {"recursive hash: refused", test_hash_refused},
    {"recursive hash: shapes", test_hash_of_shapes},
    {"recursive order: values", test_order_of_values},
    {"recursive order: containers", test_order_of_containers},
    {"recursive order: shapes", test_order_of_shapes},
    {"recursive order: maps in another order", test_order_of_orders},
    {"recursive order: big integers", test_order_of_bigints},
    {"recursive order: cycles", test_order_of_cycles},
    {"recursive order: hooks", test_order_hooks},
    {"recursive order: hooks of equality", test_equality_hooks},
    {"recursive order: keys that go", test_keys_that_go},
    {"recursive order: depth and sharing", test_deep_values},
    {"recursive order: hooks of big integers", test_bigint_hooks},
#endif
#if !TEST_NO_REFLECTION && !TVMFFI_NO_EXTRA
    {"structural: hashes", test_structural_hashes},
    {"structural: kinds of types", test_structural_kinds},
    {"structural: graphs", test_structural_graphs},
    {"structural: variables", test_structural_variables},
    {"structural: maps", test_structural_maps},
    {"structural: where values differ", test_structural_mismatch},
    {"structural: hooks", test_structural_hooks},
    {"structural: hooks that change what is compared", test_structural_changes},
    {"structural: depth", test_structural_depth},
    {"structural: shared parts", test_structural_shared},
    {"structural: shared objects", test_structural_shared_objects},
    {"structural: shared maps with objects as keys",
     test_structural_shared_keys},
    {"structural: errors", test_structural_errors},
    {"structural: keys", test_structural_keys},
    {"structural: tensors", test_structural_tensors},
    {"structural: contents", test_structural_contents},
    {"structural: maps in any order", test_structural_orders},
#endif
#if !TVMFFI_NO_EXTRA && !TEST_NO_REFLECTION && !TEST_NO_TYPES
    {"visits: attribute columns", test_visit_columns},
    {"visits: walks", test_walks},
    {"visits: callbacks that own the descent", test_visits},
    {"visits: maps copy on write", test_maps_on_write},
    {"visits: fields", test_visited_fields},
    {"visits: variables and regions", test_variables},
    {"visits: functions of a mutator", test_mutators},
    {"visits: functions of a visitor", test_visitors},
    {"visits: where an error came from", test_error_places},
    {"visits: hooks", test_visit_hooks},
    {"visits: containers that change", test_visited_changes},
    {"visits: depth", test_deep_visits},
    {"visits: without an end", test_endless_visits},
    {"visits: bad arguments", test_bad_visits},
    {"visits: visitors of C++", test_foreign_visitors},
    {"visits: what nobody else has", test_unique_values},
#endif
#if !TEST_NO_CONTENTION && !TVMFFI_NO_THREADS
    {"threads: global functions", test_contend_globals},
    {"threads: global functions that come and go", test_contend_names},
    {"threads: metadata of functions", test_contend_about},
#if !TVMFFI_NO_TYPES
    {"threads: types", test_contend_types},
    {"threads: attribute columns", test_contend_columns},
    {"threads: fields, methods and metadata", test_contend_reflection},
#endif
#if !TVMFFI_NO_BACKTRACE
    {"threads: backtraces", test_contend_frames},
#endif
    {"threads: handles made once", test_contend_init},
#if !TEST_NO_TENSORS
    {"threads: the first check of tensors", test_contend_expect},
#endif
#if !TVMFFI_NO_TYPES
    {"threads: processes", test_fork},
    {"threads: types of one file", test_contend_start},
    {"threads: the list of a file's types", test_contend_list},
#endif
#if defined(TEST_FORKS)
    {"threads: processes beside threads", test_contend_fork},
#endif
    {"threads: counts", test_contend_counts},
    {"threads: weak references", test_contend_weak},
#if !TEST_NO_ARRAYS && !TVMFFI_NO_CONTAINERS
    {"threads: arrays and lists that are read", test_contend_reading},
#endif
#if !TEST_NO_MAPS && !TVMFFI_NO_CONTAINERS
    {"threads: maps that are read", test_contend_maps},
#endif
    {"threads: what ends with a thread", test_thread_exit},
#if TVMFFI_I_POOL
    {"threads: kept memory", test_pool_threads},
#endif
#endif
};

/* ======== Running ========================================================= */

#if TVMFFI_DEBUG
/* Gives back the memory of what is dead. */
static void test_forget_dead(void) {
  size_t i;
  for (i = 0; i < TVMFFI_I_NUM_DEAD; ++i) {
    tvmffi_i_record *r = tvmffi_i_dead[i];
    if (!r) continue;
    *tvmffi_i_record_of(r->object) = r->next;
    tvmffi_i_dead[i] = NULL;
    test_free(r->memory);
    test_free(r);
  }
}
#endif

/* Runs a test once; what is left behind afterwards is a failure. */
static void test_run_once(const test_case *test, int with_pool) {
  size_t live, since;
  test_set_pool(with_pool);
  live = test_get(&test_live);
  since = test_get(&test_made);
  test_log_size = 0;
  test->run();
  test_refuse_at = 0;
  test_release_all();
  test_set_pool(0);
#if TVMFFI_DEBUG
  test_forget_dead();
#endif
  if (!test_hits()) CHECK_INT(test_log_size, 0);
  CHECK(tvmffi_i_self()->destroying.depth == 0 &&
        !tvmffi_i_self()->destroying.pending_destroy);
  if (!CHECK(tvmffi_i_self()->error == NULL)) tvmffi_error_clear();
#if TEST_TRACK
  if (test_get(&test_live) > live) test_find_leaks(since);
#else
  (void)live, (void)since;
#endif
}

/* Refuses the Nth allocation, or all from it on, for N = 1, 2, 3, ..., until
   the test ends before it. Gives the last N. */
static int test_run_refused(const test_case *test, int all) {
  size_t n = 0, hits = 1;
  while (hits && !test_get(&test_num_failures)) {
    test_number = 0;
    test_refused = 0;
    test_refuse_all = all;
    test_refuse_at = ++n;
    test_run_once(test, 0);
    hits = test_hits();
    test_refused = 0;
  }
  return (int)n;
}

/* Twice: what a test does the first time only is then behind it. First without
   memory that is kept, which would hide what comes to a block after its end;
   with refusals always, so that each allocation is one. Gives the
   number of the refused allocation with which it failed, less than 0 where all
   after it were refused too, 0 otherwise. */
static int test_run(const test_case *test) {
  int once, all;
  if (!test_oom) {
    test_run_once(test, 0);
    test_run_once(test, 1);
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
  test_num_failures = 0;
  return n != 0;
}

static int test_usage(void) {
  TEST_PRINT("usage: [--list] [--oom] [--only NAME]\n");
  return 2;
}

int TEST_MAIN(int argc, char **argv) {
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
    else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
      only = argv[++i];
    else
      return test_usage();
  }
  for (i = 0; i < TEST_COUNT(test_cases); ++i) {
    if (strncmp(test_cases[i].name, only, strlen(only)) != 0) continue;
    ++number;
    if (list) {
      TEST_PRINT("%s\n", test_cases[i].name);
      continue;
    }
    failed += test_report(&test_cases[i], number, test_run(&test_cases[i]));
  }
  if (!list) TEST_PRINT("1..%d\n", number);
  return failed || !number;
}
