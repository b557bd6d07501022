/* ======== Harness: failures, tracked memory, failing allocations, checks == */

#pragma once

/* Stores failed checks until the test's line has been printed. Only this part
   and the next are thread-safe. */

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

#ifdef TEST_ASSERTS
/* Ends the program: the runtime's state is wrong. */
static void test_assert_failed(const char *condition, const char *file,
                               int line) {
  TEST_PRINT("# %s:%d: the assertion fails: %s\n", file, line, condition);
  TEST_FLUSH();
#if TVMFFI_I_GNU
  __builtin_trap();
#else
  *(volatile int *)0 = 0;
#endif
}
#endif

/* Records a failure with two texts: `text` ends with a NUL, and `more` has
   `size` bytes. Returns 0. */
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

/* The runtime's allocator. Each block has a guard on both sides, and freed
   memory is overwritten. The allocation with a given number can be made to
   fail. */

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
  size_t step;   /* test_refuse_at when it was allocated */
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
static test_block test_blocks = {&test_blocks, &test_blocks, 0, 0, 0};
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

/* A child of fork allocates, too. These handlers are registered before the
   runtime's, so this lock is taken last, as in an allocation. */
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

/* Returns the offset where the guard after a block ends, a multiple of 8. */
static size_t test_end(size_t size) { return (size + 7) / 8 * 8 + TEST_GUARD; }

static void *test_malloc(size_t size) {
  test_block *b;
  char *payload;
  test_come_to(TEST_AT_ALLOC);
  if (test_is_refused()) return NULL;
  if (size >= TEST_HUGE) return NULL;
  b = (test_block *)TEST_MALLOC(TEST_HEAD + test_end(size));
  if (!b) return NULL;
  payload = (char *)b + TEST_HEAD;
  b->size = size;
  b->number = test_add(&test_made, 1);
  b->step = test_refuse_at;
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

/* Returns how many bytes were asked for, for the block at an address. */
TEST_MAYBE size_t test_asked(const void *payload) {
  return ((const test_block *)(const void *)((const char *)payload - TEST_HEAD))
      ->size;
}

static size_t test_hits(void) { return test_get(&test_refused); }

#if TEST_TRACK
/* The runtime's global tables: the roots of the leak search. */
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
#if !TVMFFI_NO_REFLECTION
    {&tvmffi_i_static_columns, sizeof(tvmffi_i_static_columns)},
#endif
#if !TVMFFI_NO_BACKTRACE
    {tvmffi_i_frames, sizeof(tvmffi_i_frames)},
#endif
#if TVMFFI_I_SPLIT_THREAD
    {&tvmffi_i_unwatched, sizeof(tvmffi_i_unwatched)},
#endif
    {&tvmffi_i_globals, sizeof(tvmffi_i_globals)},
    {&tvmffi_i_builtin_entries, sizeof(tvmffi_i_builtin_entries)},
    {&tvmffi_i_system_symbols, sizeof(tvmffi_i_system_symbols)},
#if !TVMFFI_NO_CONTAINERS
    {&tvmffi_i_system_modules, sizeof(tvmffi_i_system_modules)},
    {&tvmffi_i_resident_modules, sizeof(tvmffi_i_resident_modules)},
#endif
#if TVMFFI_DEBUG
    {&tvmffi_i_debug_table, sizeof(tvmffi_i_debug_table)},
#endif
    {&tvmffi_i_context_symbols, sizeof(tvmffi_i_context_symbols)}};

/* The search looks for blocks made after some allocation; earlier ones are
   roots, too. */
typedef struct {
  test_block **block; /* that are looked for, in order of address */
  char *seen;
  size_t count;
  size_t *todo;
  size_t num_todo;
  uintptr_t lowest, span; /* of the addresses in all blocks */
} test_search;

#if defined(__GNUC__)
typedef uintptr_t __attribute__((may_alias)) test_word;
#else
typedef uintptr_t test_word;
#endif

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
  if (s->seen[low]) return;
  b = s->block[low];
  if (address < (uintptr_t)b + TEST_HEAD ||
      address > (uintptr_t)b + TEST_HEAD + b->size)
    return;
  s->seen[low] = 1;
  s->todo[s->num_todo++] = low;
}

/* Marks what the words of a block point to. Most are not addresses, so checks
   the range of all blocks first. The blocks are aligned, and are read as words
   because a search reads megabytes. */
static void test_scan(test_search *s, const void *from, size_t size) {
  const test_word *at = (const test_word *)from;
  const test_word *end = at + size / sizeof(*at);
  const uintptr_t lowest = s->lowest, span = s->span;
  for (; at < end; ++at)
    if (*at - lowest <= span) test_mark(s, *at);
}

/* Reports the unreachable blocks. Returns the step in which the first of them
   was allocated. */
static size_t test_report_leaks(const test_search *s) {
  char text[80], number[24], *digits;
  size_t i, leaks = 0, at;
  const test_block *first = NULL;
  for (i = 0; i < s->count; ++i) {
    if (s->seen[i]) continue;
    if (!first || s->block[i]->number < first->number) first = s->block[i];
    ++leaks;
  }
  if (!first) return 0;
  digits = test_digits(number + sizeof(number), (int64_t)leaks);
  at = test_put(text, 0, sizeof(text), digits, strlen(digits));
  at = test_put(text, at, sizeof(text), ", the first of size ", 20);
  digits = test_digits(number + sizeof(number), (int64_t)first->size);
  at = test_put(text, at, sizeof(text), digits, strlen(digits));
  at = test_put(text, at, sizeof(text), ", allocation ", 13);
  digits = test_digits(number + sizeof(number), (int64_t)first->number);
  at = test_put(text, at, sizeof(text), digits, strlen(digits));
  (void)test_fail(__FILE__, __LINE__, "blocks leaked: ", text, at);
  return first->step;
}

/* Searches from the runtime's tables and the blocks before, and reports the
   unreachable blocks made after allocation `since`. Returns the step of the
   first of them, or 0. */
static size_t test_find_leaks(size_t since) {
  test_search s;
  test_block *b;
  size_t i, step = 0;
  s.count = 0;
  s.num_todo = 0;
  for (b = test_blocks.next; b != &test_blocks; b = b->next)
    s.count += b->number > since;
  if (!s.count) return 0;
  s.block = (test_block **)TEST_MALLOC(s.count * sizeof(b));
  s.todo = (size_t *)TEST_MALLOC(s.count * sizeof(size_t));
  s.seen = (char *)TEST_MALLOC(s.count);
  if (s.block && s.todo && s.seen) {
    memset(s.seen, 0, s.count);
    for (i = 0, b = test_blocks.next; i < s.count; b = b->next)
      if (b->number > since) s.block[i++] = b;
    test_sort(s.block, s.count);
    s.lowest = (uintptr_t)s.block[0];
    b = s.block[s.count - 1];
    s.span = (uintptr_t)b + TEST_HEAD + b->size - s.lowest;
    test_scan(&s, tvmffi_i_self(), sizeof(tvmffi_i_thread));
    for (i = 0; i < sizeof(test_roots) / sizeof(test_roots[0]); ++i)
      test_scan(&s, test_roots[i].address, test_roots[i].size);
    for (b = test_blocks.next; b != &test_blocks; b = b->next)
      if (b->number <= since) test_scan(&s, (char *)b + TEST_HEAD, b->size);
    while (s.num_todo) {
      b = s.block[s.todo[--s.num_todo]];
      test_scan(&s, (char *)b + TEST_HEAD, b->size);
    }
    step = test_report_leaks(&s);
  }
  TEST_FREE(s.block);
  TEST_FREE(s.todo);
  TEST_FREE(s.seen);
  return step;
}
#endif

/* A test is a function that returns early if it cannot continue. What the
   interface makes belongs to its scope. It passes what functions of the ABI
   made to OWN or OWN_ANY, which release them at the test's end. */

static TVMFFIAny test_owned[128];
static int test_num_owned;
static int test_oom; /* running with failing allocations */
static int test_chain = TEST_CHAIN;

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

#if TVMFFI_I_POOL
/* Returns the calling thread's cache, to be changed. */
TEST_MAYBE tvmffi_i_pool *test_pool(void) {
  CHECK(tvmffi_i_need_block());
  return tvmffi_i_thread_pool();
}
#endif

/* Frees this thread's cached blocks, and enables or disables the cache. */
static void test_set_pool(int on) {
#if TVMFFI_I_POOL
  tvmffi_i_exit_pool();
  if (tvmffi_i_need_block()) tvmffi_i_thread_pool()->state = on ? 0 : -1;
#else
  (void)on;
#endif
}

/* Returns the large size, or the small size if each test runs hundreds of
   times. */
TEST_MAYBE int test_scale(int large, int small) {
  return test_oom && large > small ? small : large;
}

/* Returns the small step, or the large step if each test runs hundreds of
   times. */
TEST_MAYBE int test_step(int small, int large) {
  return test_oom ? large : small;
}

/* Returns a new unique name, valid for the next seven calls. */
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

#if TEST_STDERR
/* What the runtime writes to stderr between the two calls, which is short. */
TEST_MAYBE void test_begin_messages(void) { test_messages = tmpfile(); }
TEST_MAYBE TVMFFIByteArray test_end_messages(void) {
  static char text[512];
  size_t size = 0;
  if (CHECK(test_messages != NULL)) {
    rewind(test_messages);
    size = fread(text, 1, sizeof(text), test_messages);
    (void)fclose(test_messages);
    test_messages = NULL;
  }
  return test_bytes(text, size);
}
#endif

#undef TEXT /* of <windows.h> */
#define TEXT(text) tvmffi_byte_array(text)

/* Checks the code of a call that must succeed. Returns 1 if it failed. A
   MemoryError is accepted if an allocation was made to fail. */
static int test_code(int code, const char *file, int line, const char *text) {
  TVMFFIObject *error;
  if (!code) return 0;
  error = tvmffi_i_error_remove();
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

/* Takes the error of a call that must fail, and checks it. If `text` begins
   with "...", the rest must be part of the message; NULL allows any. */
TEST_MAYBE void test_error(int failed, const char *kind, const char *text,
                           const char *file, int line, const char *call) {
  TVMFFIObject *error = tvmffi_i_error_remove();
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

/* A log of letters: tests check the order of events. */
static char test_log[256];
static size_t test_log_size;

TEST_MAYBE void test_say(char c) {
  if (test_log_size + 1 < sizeof(test_log)) test_log[test_log_size++] = c;
  test_log[test_log_size] = 0;
}

/* A deleter that logs the letter at its handle. */
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

/* Checks that all unused bytes of an Any are 0. */
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

/* Returns the last argument, or without arguments `self` as an int. */
TEST_MAYBE int test_echo_callback(void *self, const TVMFFIAny *args,
                                  int32_t num_args, TVMFFIAny *result) {
  if (num_args) return TVMFFIAnyViewToOwnedAny(&args[num_args - 1], result);
  *result = tvmffi_int((int64_t)(intptr_t)self);
  return 0;
}

/* Calls a global function from a callback, which returns the result. */
TEST_MAYBE int test_pass_on(const char *name, TVMFFIAny *args, int32_t num_args,
                            TVMFFIAny *result) {
  TVMFFIByteArray key = TEXT(name);
  TVMFFIObjectHandle f = NULL;
  int code;
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&key, &f));
  code = TVMFFIFunctionCall(f, args, num_args, result);
  tvmffi_release(f);
  return code;
}

/* Looks up a global function, which the test then owns. Returns NULL if it does
   not exist or the lookup fails. */
TEST_MAYBE TVMFFIObject *test_global(const char *name) {
  TVMFFIByteArray key = TEXT(name);
  TVMFFIObjectHandle f = NULL;
  if (test_code(TVMFFIFunctionGetGlobal(&key, &f), __FILE__, __LINE__, name))
    return NULL;
  OWN(f);
  return (TVMFFIObject *)f;
}

/* Makes `by` the global function `name`, or removes the function if `by` is
   NULL. No allocation is refused meanwhile, so a test can undo it. */
TEST_MAYBE void test_replace_global(const char *name, TVMFFIObject *by) {
  TVMFFIByteArray key = TEXT(name);
  TVMFFIAny arg = tvmffi_str(name), any = tvmffi_none();
  const size_t refuse_at = test_refuse_at;
  test_refuse_at = 0;
  CHECK(!(by ? TVMFFIFunctionSetGlobal(&key, by, 1)
             : test_pass_on("ffi.FunctionRemoveGlobal", &arg, 1, &any)));
  test_refuse_at = refuse_at;
}

/* Returns the metadata of a global function as a string. */
TEST_MAYBE TVMFFIAny test_metadata_of(TVMFFI_HERE, const char *name) {
  TVMFFIAny any = tvmffi_none();
  (void)test_code(tvmffi_call(tvmffi_str("ffi.GetGlobalFuncMetadata"),
                              tvmffi_out_any(&any), tvmffi_str(name)),
                  __FILE__, __LINE__, name);
  return any;
}

/* The metadata of a function: its type schema. */
#define SCHEMA(return_, params)                                    \
  "{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\","         \
  "\\\"named_args\\\":{\\\"return\\\":[{\\\"type\\\":\\\"" return_ \
  "\\\"}],\\\"params\\\":[" params "]}}\"}"
#define NAMED(return_, params, rest)                               \
  "{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\","         \
  "\\\"named_args\\\":{\\\"return\\\":[{\\\"type\\\":\\\"" return_ \
  "\\\"}],\\\"params\\\":[" params "]}}\",\"arg_names\":[" rest "}"
#define PARAM(type) "{\\\"type\\\":\\\"" type "\\\"}"

/* A test, which makes objects in the scope that it is given. An entry without a
   name ends a list. */
typedef struct {
  const char *name;
  void (*run)(tvmffi_scope *);
} test_case;
