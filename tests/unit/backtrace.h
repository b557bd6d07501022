/* ======== Backtraces: stack traces ======================================== */

#pragma once

#include "harness.h"

#if !TVMFFI_NO_BACKTRACE && TVMFFI_I_WALK
#include <sys/mman.h>
#if !defined(MAP_ANONYMOUS) /* strict C hides it */
#define MAP_ANONYMOUS 0x20
#endif
#endif

#if !TEST_NO_ERRORS
static void test_backtrace(TVMFFI_HERE) {
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
  buffer = tvmffi_i_thread_trace()->text;
  t = TVMFFIBacktrace("f.c", 1, name, 0);
  CHECK(t->data[t->size] == 0);
  if (!test_hits()) CHECK(tvmffi_i_thread_trace()->text == buffer);
  /* Without stack traces, the error's copy is the only one. */
  (void)TVMFFI_RAISE("ValueError", "a text");
  tvmffi_error_clear();
  buffer = tvmffi_i_thread_trace()->text;
  if (!test_hits()) CHECK((buffer == NULL) == TVMFFI_NO_BACKTRACE);
}

#if !TVMFFI_NO_BACKTRACE
static void test_frame_kinds(TVMFFI_HERE) {
  CHECK_INT(tvmffi_i_classify("main"), TVMFFI_I_FRAME_SHOWN);
  CHECK_INT(tvmffi_i_classify("_PyEval_Vector"), TVMFFI_I_FRAME_BORDER);
  CHECK_INT(tvmffi_i_classify("PyObject_Call"), TVMFFI_I_FRAME_BORDER);
  CHECK_INT(tvmffi_i_classify(TEST_STRING(TVMFFIFunctionCall)),
            TVMFFI_I_FRAME_BORDER);
  CHECK_INT(tvmffi_i_classify(TEST_STRING(TVMFFIErrorSetRaisedFromCStrParts)),
            TVMFFI_I_FRAME_HIDDEN);
  CHECK_INT(tvmffi_i_classify("__libc_start_main"), TVMFFI_I_FRAME_HIDDEN);
  CHECK_INT(tvmffi_i_classify("tvmffi_i_raise"), TVMFFI_I_FRAME_HIDDEN);
  CHECK_INT(tvmffi_i_classify("tvmffi_it"), TVMFFI_I_FRAME_SHOWN);
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
    tvmffi_i_symbol symbol;
    uint64_t rule = tvmffi_i_symbol_at(w->ip, &symbol)
                        ? tvmffi_i_read_rule(w->ip)
                        : (uint64_t)TVMFFI_I_RULE_OTHER;
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
  CHECK(tvmffi_i_unwind_stack(&trace) || test_hits());
  tvmffi_i_take_trace(&trace, NULL);
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

static void test_walk_stacks(TVMFFI_HERE) {
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
static void test_rows(TVMFFI_HERE) {
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
    tvmffi_i_unwind_rows r;
    tvmffi_i_cfi c;
    int understood;
    memset(&r, 0, sizeof(r));
    r.code_align = 1;
    r.data_align = -8;
    r.target = 9;
    c.at = cases[i].code;
    c.end = c.at + cases[i].size;
    understood = tvmffi_i_row_run(&r, c);
    CHECK_INT(understood, cases[i].understood);
    if (!understood) continue;
    CHECK_INT(r.row.cfa_reg, cases[i].base);
    CHECK_INT(r.row.cfa_offset, cases[i].frame);
    CHECK_INT(r.row.bp_offset, cases[i].bp);
    CHECK_INT(r.row.last, cases[i].last);
    CHECK_INT(r.row.unsupported != 0, cases[i].odd);
  }
}
#endif

/* A function of code that a test writes. It calls its argument. */
#if TVMFFI_I_WALK
typedef void (*test_written_code)(void (*callee)(void));

/* Makes `size` bytes of memory for code, or returns NULL. */
static unsigned char *test_code_memory(size_t size) {
  void *code = mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return code == MAP_FAILED ? NULL : (unsigned char *)code;
}

static void test_raise_in_code(void) {
  (void)TVMFFI_RAISE("ValueError", "from code outside libraries");
  tvmffi_error_clear();
}

/* Code that a program writes and frees leaves nothing in the cache. */
static void test_written_frames(TVMFFI_HERE) {
  /* sub rsp,8; call rdi; add rsp,8; ret */
  static const unsigned char text[] = {0x48, 0x83, 0xEC, 8, 0xFF, 0xD7,
                                       0x48, 0x83, 0xC4, 8, 0xC3};
  enum { STEP = 16 };
  const size_t size = (size_t)test_scale(20000, 5) * STEP;
  unsigned char *code = test_code_memory(size);
  test_written_code f;
  size_t at, held;
  if (!code) return;
  test_raise_in_code();
  held = test_get(&test_held);
  for (at = 0; at < size; at += STEP) {
    unsigned char *here = code + at;
    memcpy(here, text, sizeof(text));
    memcpy((void *)&f, (void *)&here, sizeof(f));
    f(test_raise_in_code);
  }
  if (!test_hits() && !TVMFFI_DEBUG)
    CHECK(test_get(&test_held) <= held + 8192);
  (void)munmap(code, size);
}
#endif

static void test_frame_names(TVMFFI_HERE) {
  char *plain = tvmffi_i_demangle("plain");
  CHECK(plain == NULL);
#if !TVMFFI_NO_DLOPEN && !defined(_WIN32)
  {
    static char code[4096];
    static int counter;
    uintptr_t address = (uintptr_t)&code[++counter % 4096];
    tvmffi_i_symbol symbol;
    tvmffi_i_frame_reader reader;
    tvmffi_i_frame *frame, *again;
    const int is_known = tvmffi_i_symbol_at(address, &symbol);
    tvmffi_i_enter_frames(&reader);
    frame = tvmffi_i_name_frame(&reader, address);
    again = tvmffi_i_name_frame(&reader, address);
    if (!test_hits() && is_known && CHECK(frame != NULL)) {
      CHECK(frame->address == address);
      CHECK(again == frame);
      CHECK(tvmffi_i_cached_frame(&reader, address) == frame);
    }
    tvmffi_i_leave_frames(&reader);
  }
#endif
#if defined(__cplusplus) && defined(__GLIBCXX__) && !TVMFFI_NO_DLOPEN
  plain = tvmffi_i_demangle("_ZN4unit5tests5outerEi");
  if (plain) CHECK_TEXT(tvmffi_byte_array(plain), "unit::tests::outer(int)");
  free(plain);
#else
  plain = tvmffi_i_demangle("_Z");
  CHECK(plain == NULL);
#endif
}

/* A full cache is emptied. Frames that a reader has stay until it leaves. */
static void test_full_frame_cache(TVMFFI_HERE) {
#if !TVMFFI_NO_DLOPEN && !defined(_WIN32)
  static char code[100];
  tvmffi_i_symbol symbol;
  tvmffi_i_frame_reader outer, reader;
  tvmffi_i_frame *first, *frame;
  size_t i;
  if (!tvmffi_i_symbol_at((uintptr_t)code, &symbol)) return;
  tvmffi_i_enter_frames(&outer);
  first = tvmffi_i_name_frame(&outer, (uintptr_t)code);
  tvmffi_i_frames[0].size = tvmffi_i_frames[1].size =
      TVMFFI_I_FRAME_BYTES - 10 * sizeof(*frame);
  for (i = 0; i < sizeof(code); ++i) {
    const uintptr_t address = (uintptr_t)(code + i);
    tvmffi_i_enter_frames(&reader);
    frame = tvmffi_i_cached_frame(&reader, address);
    if (!frame) frame = tvmffi_i_name_frame(&reader, address);
    if (frame || !test_hits()) CHECK(frame && frame->address == address);
    tvmffi_i_leave_frames(&reader);
  }
  CHECK(tvmffi_i_frames[0].size <= TVMFFI_I_FRAME_BYTES);
  CHECK(tvmffi_i_frames[1].size <= TVMFFI_I_FRAME_BYTES);
  if (first) CHECK(first->address == (uintptr_t)code);
  tvmffi_i_leave_frames(&outer);
#endif
}

/* C++ names, where the process has a C++ library. */
static void test_demangle(TVMFFI_HERE) {
#if defined(__GLIBC__) && !TVMFFI_NO_DLOPEN
  void *library = dlopen("libstdc++.so.6", RTLD_LAZY);
  char *name = tvmffi_i_demangle("_ZN4unit5tests5outerEi");
  if (library) CHECK(name != NULL);
  if (name) CHECK_TEXT(tvmffi_byte_array(name), "unit::tests::outer(int)");
  free(name);
  name = tvmffi_i_demangle("_ZN4unit5tests"); /* cut off */
  CHECK(name == NULL);
  if (library) (void)dlclose(library);
#endif
}

/* No more frames are kept than the limit says. */
static void test_frame_limit(TVMFFI_HERE) {
  static tvmffi_i_trace trace;
  CHECK(tvmffi_i_frame_limit() >= 0);
  CHECK(tvmffi_i_frame_limit() <= TVMFFI_I_MAX_FRAMES);
  tvmffi_i_open_trace(&trace, 0, 1);
  trace.limit = trace.capacity = 1;
  (void)_Unwind_Backtrace(tvmffi_i_on_frame, &trace);
  CHECK(trace.count <= 1);
  tvmffi_i_take_trace(&trace, NULL);
  tvmffi_i_open_trace(&trace, 0, 0);
  trace.limit = trace.capacity = 0;
  (void)_Unwind_Backtrace(tvmffi_i_on_frame, &trace);
  CHECK(trace.count == 0 && trace.size == 0);
  tvmffi_i_take_trace(&trace, NULL);
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

/* Lines of the trace of a stack with `depth` calls of one function, and of an
   error that is raised there. */
static size_t test_long_trace;
static int test_count_lines(void *self, const TVMFFIAny *args, int32_t num_args,
                            TVMFFIAny *result) {
  static const char line[] = ", in tvmffi_test_visible_call\n";
  TVMFFIByteArray t = *TVMFFIBacktrace(NULL, 0, NULL, 1);
  size_t i;
  (void)self, (void)args, (void)num_args, (void)result;
  test_long_trace = 0;
  for (i = 0; i + sizeof(line) - 1 <= t.size; ++i)
    test_long_trace += memcmp(t.data + i, line, sizeof(line) - 1) == 0;
  return 0;
}
typedef struct {
  TVMFFIObjectHandle function;
  int depth;
} test_deep_call;
static int test_call_deeper(void *self, const TVMFFIAny *args, int32_t num_args,
                            TVMFFIAny *result) {
  test_deep_call *c = (test_deep_call *)self;
  if (c->depth-- <= 0) return test_count_lines(self, args, num_args, result);
  return (int)tvmffi_test_visible_call(c->function);
}

/* A trace has up to 512 frames, of which the first few need no memory. */
static void test_long_traces(TVMFFI_HERE) {
  static const int depths[] = {10, 40, 100, 700};
  test_deep_call c = {NULL, 0};
  size_t i, n;
  OK(TVMFFIFunctionCreate(&c, test_call_deeper, NULL, &c.function));
  OWN(c.function);
  for (i = 0; i < sizeof(depths) / sizeof(depths[0]); ++i) {
    c.depth = depths[i];
    test_long_trace = 0;
    (void)tvmffi_test_visible_call(c.function);
    n = (size_t)depths[i] + 1;
    if (test_hits())
      CHECK(test_long_trace <= n);
    else if (n < 200)
      CHECK_INT(test_long_trace, n);
    else
      CHECK(test_long_trace > 200 && test_long_trace <= 512);
  }
}

/* Callers are named, up to a call across the border where that is asked. */
static void test_symbols(TVMFFI_HERE) {
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

static const test_case test_backtrace_cases[] = {
#if !TEST_NO_ERRORS
    {"backtrace: the caller's place", test_backtrace},
#if !TVMFFI_NO_BACKTRACE
    {"backtrace: kinds of frames", test_frame_kinds},
#if TVMFFI_I_WALK
    {"backtrace: a walk goes as the unwinder does", test_walk_stacks},
    {"backtrace: unwind tables", test_rows},
    {"backtrace: code outside libraries", test_written_frames},
#endif
    {"backtrace: a frame is named once", test_frame_names},
    {"backtrace: a full cache", test_full_frame_cache},
    {"backtrace: C++ names", test_demangle},
    {"backtrace: its limit", test_frame_limit},
#if TEST_SYMBOLS
    {"backtrace: names of functions", test_symbols},
    {"backtrace: long ones", test_long_traces},
#endif
#endif
#endif
    {NULL, NULL}};
