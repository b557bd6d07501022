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
/* A short text gets a buffer of 1 KB, a longer one half more than its size. */
static void test_trace_buffer(void) {
  static const size_t sizes[] = {1, 999, 1000, 1001};
  static const size_t capacities[] = {1024, 1024, 1500, 1501};
  int i;
  for (i = 0; i < 4; ++i) {
    tvmffi_i_trace_text t;
    char *text;
    memset((void *)&t, 0, sizeof(t));
    text = tvmffi_i_trace_buffer(&t, sizes[i]);
    if (!text) return;
    CHECK(t.text == text);
    CHECK_INT(t.capacity, TVMFFI_NO_BACKTRACE ? sizes[i] : capacities[i]);
    CHECK(tvmffi_i_trace_buffer(&t, t.capacity) == text);
    tvmffi_i_free(text);
  }
}

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
  test_trace_buffer();
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
  CHECK_INT(tvmffi_i_classify(TEST_STRING(TVMFFIBacktrace)),
            TVMFFI_I_FRAME_HIDDEN);
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
      {{0x14, 16, 0}, 3, 1, 0, 0, 0, 0, 1},
      {{0x15, 6, 3}, 3, 1, 0, 0, 0, 0, 1},
      {{0x16, 6, 2, 0x76, 0}, 5, 1, 0, 0, 0, 0, 1},
      {{0x87, 2}, 2, 1, 0, 0, 0, 0, 1},
      {{0x09}, 1, 0, 0, 0, 0, 0, 0},
      {{0x0A, 0x0A, 0x0A, 0x0A}, 4, 1, 0, 0, 0, 0, 0},
      {{0x05, 6, 0x7F}, 3, 1, 0, 0, -1016, 0, 0},
      {{0x11, 6, 0x7E}, 3, 1, 0, 0, 16, 0, 0},
      {{0x10, 6, 2, 0x0D, 3}, 5, 1, 0, 0, 0, 0, 1},
      {{0x0F, 2, 0x0D, 3}, 4, 1, 0, 0, 0, 0, 0},
      {{0x13, 0xFD, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F},
       10, 1, 0, 24, 0, 0, 0},
      {{0x10}, 1, 0, 0, 0, 0, 0, 0},
      /* numbers of more bytes than 64 bits need */
      {{0x0E, 0x90, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0},
       12, 1, 0, 16, 0, 0, 0},
      {{0x13, 0xFD, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F},
       11, 1, 0, 24, 0, 0, 0},
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
    CHECK_INT(r.row.unsupported, cases[i].odd);
  }
  {
    tvmffi_i_cfi past = {NULL, NULL};
    CHECK_INT(tvmffi_i_cfi_bytes(&past, 1), 0);
  }
}

/* A CIE that says rsp + 8, and an FDE that says rsp + 16. */
typedef struct {
  unsigned char bytes[80];
  size_t size, fde;
} test_tables;

static void test_put_entry(test_tables *e, const void *bytes, size_t size) {
  memcpy(e->bytes + e->size, bytes, size);
  e->size += size;
}

/* Stores the length of the entry at `begin` in its first four bytes. */
static void test_end_entry(test_tables *e, size_t begin) {
  const uint32_t size = (uint32_t)(e->size - begin - 4);
  memcpy(e->bytes + begin, &size, 4);
}

/* Makes entries of this version and augmentation. `data` are the bytes of the
   CIE's augmentation, and `pointer` is the size of a pointer in the FDE. */
static void test_make_entries(test_tables *e, int version, const char *letters,
                              const unsigned char *data, size_t size,
                              size_t pointer) {
  static const unsigned char zeros[16] = {0}, align[] = {1, 0x78, TVMFFI_I_RA},
                             cie[] = {0x0C, 7, 8, 0x90, 1}, fde[] = {0x0E, 16},
                             unread[] = {2, 0x0D, 3};
  const unsigned char v = (unsigned char)version, n = (unsigned char)size;
  uint32_t back;
  e->size = 0;
  test_put_entry(e, zeros, 8);
  test_put_entry(e, &v, 1);
  test_put_entry(e, letters, strlen(letters) + 1);
  test_put_entry(e, align, sizeof(align));
  if (*letters == 'z') test_put_entry(e, &n, 1);
  test_put_entry(e, data, size);
  test_put_entry(e, cie, sizeof(cie));
  test_end_entry(e, 0);
  e->fde = e->size;
  back = (uint32_t)e->size + 4;
  test_put_entry(e, zeros, 4);
  test_put_entry(e, &back, 4);
  test_put_entry(e, zeros, 2 * pointer);
  if (*letters == 'z') test_put_entry(e, unread, sizeof(unread));
  test_put_entry(e, fde, sizeof(fde));
  test_end_entry(e, e->fde);
}

/* Returns the offset of the CFA, or -1 if the entries are not understood. */
static int64_t test_read_entries(const test_tables *e) {
  tvmffi_i_unwind_rows r;
  memset((void *)&r, 0, sizeof(r));
  return tvmffi_i_find_unwind_row(&r, e->bytes + e->fde) ? r.row.cfa_offset
                                                         : -1;
}

static void test_unwind_entries(TVMFFI_HERE) {
  static const struct {
    int version;
    const char *letters;
    unsigned char data[8];
    size_t size, pointer;
    int64_t offset;
  } cases[] = {
      {1, "zR", {0x1B}, 1, 4, 16},
      {3, "zR", {0x1B}, 1, 4, 16},
      {1, "zR", {0x02}, 1, 2, 16},
      {1, "zR", {0x04}, 1, 8, 16},
      {1, "z", {0}, 0, 8, 16},
      {1, "", {0}, 0, 8, 16},
      {1, "zPLR", {0x9B, 0, 0, 0, 0, 0x1B, 0x1B}, 7, 4, 16},
      {1, "zR", {0x01}, 1, 4, -1}, /* pointers of no fixed size */
      {1, "zR", {0x05}, 1, 4, -1},
      {1, "zR", {0x07}, 1, 4, -1},
      {1, "zR", {0x50}, 1, 8, -1}, /* aligned */
      {1, "zQ", {0}, 1, 8, -1},
      {1, "R", {0x1B}, 1, 4, -1},
      {2, "zR", {0x1B}, 1, 4, -1},
      {4, "zR", {0x1B}, 1, 4, -1},
  };
  static const unsigned char data[] = {0x1B}, ones[4] = {255, 255, 255, 255};
  test_tables e;
  tvmffi_i_unwind_rows r;
  size_t i;
  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    test_make_entries(&e, cases[i].version, cases[i].letters, cases[i].data,
                      cases[i].size, cases[i].pointer);
    CHECK_INT(test_read_entries(&e), cases[i].offset);
  }
#define READ_BROKEN(at, value)                 \
  (test_make_entries(&e, 1, "zR", data, 1, 4), \
   e.bytes[at] = (unsigned char)(value), test_read_entries(&e))
  CHECK_INT(READ_BROKEN(0, 3), -1);                /* the CIE ends early */
  CHECK_INT(READ_BROKEN(14, TVMFFI_I_RA - 1), -1); /* another return address */
  CHECK_INT(READ_BROKEN(17, 0x3F), -1);            /* no such instruction */
  CHECK_INT(READ_BROKEN(e.fde, 2), -1);            /* the FDE ends early */
  CHECK_INT(READ_BROKEN(e.fde + 4, 0), -1);        /* no FDE but a CIE */
  CHECK_INT(READ_BROKEN(e.size - 2, 0x0D), 8);     /* of another register */
#undef READ_BROKEN
  /* The FDE restores the rule of the CIE: rbp is saved. */
  test_make_entries(&e, 1, "zR", data, 1, 4);
  e.bytes[e.fde - 2] = 0x86;
  e.bytes[e.fde - 1] = 2;
  e.bytes[e.size - 2] = 0xC6;
  e.bytes[e.size - 1] = 0;
  memset((void *)&r, 0, sizeof(r));
  CHECK_INT(tvmffi_i_find_unwind_row(&r, e.bytes + e.fde), 1);
  CHECK_INT(r.row.bp_offset, -16);
  for (i = 0; i < 2; ++i) { /* the 64-bit format */
    test_make_entries(&e, 1, "zR", data, 1, 4);
    memcpy(e.bytes + (i ? e.fde : 0), ones, 4);
    CHECK_INT(test_read_entries(&e), -1);
  }
}

TVMFFI_I_EXTERN_C void test_register_frame(void *entries) __asm__(
    "__register_frame");
TVMFFI_I_EXTERN_C void test_deregister_frame(void *entries) __asm__(
    "__deregister_frame");

/* Checks the rules of a function whose CFA is rsp + 16 from its third byte on,
   and rsp + 8 before. A return address follows the call. */
static void test_rule_places(uintptr_t code, size_t size) {
  size_t i;
  for (i = 0; i < size + 2; ++i) {
    const uint64_t rule = tvmffi_i_read_rule(code + i);
    if (i == 0 || i > size)
      CHECK_INT(rule, TVMFFI_I_RULE_OTHER);
    else
      CHECK_INT(rule >> TVMFFI_I_RULE_FRAME, i < 3 ? 1 : 2);
  }
}

/* A function whose table is not understood has no cached rule. */
static void test_foreign_table(TVMFFI_HERE) {
  static test_tables e; /* libgcc keeps the address */
  static const char code[64] = {0};
  static const unsigned char data[] = {0},
                             instructions[] = {0, 0x42, 0x0E, 16, 0};
  const uintptr_t range[] = {(uintptr_t)code, sizeof(code)};
  size_t i;
  for (i = 0; i < 2; ++i) {
    memset((void *)&e, 0, sizeof(e));
    test_make_entries(&e, 1, i ? "zQ" : "z", data, i, 8);
    memcpy(e.bytes + e.fde + 8, range, sizeof(range));
    if (!i) memcpy(e.bytes + e.size - 5, instructions, 5);
    test_register_frame(e.bytes);
    CHECK_INT(tvmffi_i_read_rule((uintptr_t)code + 9) & TVMFFI_I_RULE_KIND,
              i ? TVMFFI_I_RULE_OTHER : TVMFFI_I_RULE_PLAIN);
    if (!i) test_rule_places((uintptr_t)code, sizeof(code));
    test_deregister_frame(e.bytes);
  }
}

/* Which rows have a cached rule. */
static void test_packed_rules(TVMFFI_HERE) {
  enum { MOST = TVMFFI_I_RULE_WORDS * 8 };
  static const struct {
    tvmffi_i_unwind_row row;
    int kind;
  } cases[] = {{{7, 8, 0, 0, 0}, TVMFFI_I_RULE_PLAIN},
               {{6, 16, -16, 0, 0}, TVMFFI_I_RULE_PLAIN},
               {{7, MOST, -MOST, 0, 0}, TVMFFI_I_RULE_PLAIN},
               {{7, 8, 0, 1, 0}, TVMFFI_I_RULE_LAST},
               {{7, 8, 0, 0, 1}, TVMFFI_I_RULE_OTHER},
               {{0, 8, 0, 0, 0}, TVMFFI_I_RULE_OTHER},
               {{7, 0, 0, 0, 0}, TVMFFI_I_RULE_OTHER},
               {{7, 12, 0, 0, 0}, TVMFFI_I_RULE_OTHER},
               {{7, MOST + 8, 0, 0, 0}, TVMFFI_I_RULE_OTHER},
               {{7, 8, 8, 0, 0}, TVMFFI_I_RULE_OTHER},
               {{7, 8, -4, 0, 0}, TVMFFI_I_RULE_OTHER},
               {{7, 8, -MOST - 8, 0, 0}, TVMFFI_I_RULE_OTHER}};
  size_t i;
  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    const tvmffi_i_unwind_row *row = &cases[i].row;
    const uint64_t rule = tvmffi_i_pack_rule(row);
    CHECK_INT(rule & TVMFFI_I_RULE_KIND, cases[i].kind);
    if (cases[i].kind != TVMFFI_I_RULE_PLAIN) continue;
    CHECK_INT(!(rule & TVMFFI_I_RULE_FROM_BP), row->cfa_reg == TVMFFI_I_SP);
    CHECK_INT(!(rule & TVMFFI_I_RULE_SAVED_BP), !row->bp_offset);
    CHECK_INT((rule >> TVMFFI_I_RULE_FRAME & TVMFFI_I_RULE_WORDS) * 8,
              row->cfa_offset);
    CHECK_INT((rule >> TVMFFI_I_RULE_BP) * 8, -row->bp_offset);
  }
  CHECK_INT(tvmffi_i_read_rule((uintptr_t)cases), TVMFFI_I_RULE_OTHER);
}

/* Walks the stack with a wrong rule for the caller's frame: the right rule
   without the bits of `lost` and with those of `wrong`. If `bp` is not NULL,
   the rule says that the caller's rbp was saved there. Returns the walk's
   result, or `refused` if the caller's frame has no rule. */
TVMFFI_I_NOINLINE int test_walk_wrongly(uint64_t lost, uint64_t wrong,
                                        const uintptr_t *bp, int refused) {
  const uintptr_t address = (uintptr_t)TVMFFI_I_RETURN_ADDRESS;
  const uintptr_t *here = (const uintptr_t *)__builtin_frame_address(0);
  tvmffi_i_trace trace;
  tvmffi_i_frame *frame;
  uint64_t rule;
  int code = refused;
  tvmffi_i_open_trace(&trace, 0, 1);
  frame = tvmffi_i_cached_frame(&trace.reader, address);
  if (!frame) frame = tvmffi_i_name_frame(&trace.reader, address);
  rule = tvmffi_i_read_rule(address);
  if (frame && (rule & TVMFFI_I_RULE_KIND) == TVMFFI_I_RULE_PLAIN) {
    if (bp) {
      uintptr_t cfa = (uintptr_t)(here + 2);
      if (rule & TVMFFI_I_RULE_FROM_BP) cfa = *here;
      cfa += (rule >> TVMFFI_I_RULE_FRAME & TVMFFI_I_RULE_WORDS) * 8;
      wrong |= (uint64_t)(cfa - (uintptr_t)bp) / 8 << TVMFFI_I_RULE_BP;
    }
    TVMFFI_I_STORE(&frame->rule, (rule & ~lost) | wrong);
    code = tvmffi_i_unwind_stack(&trace);
    TVMFFI_I_STORE(&frame->rule, rule);
  }
  tvmffi_i_take_trace(&trace, NULL);
  return code;
}

/* A rule that leads nowhere ends the walk, and the system's unwinder begins. */
static void test_wrong_rules(TVMFFI_HERE) {
  const uint64_t from_bp = TVMFFI_I_RULE_FROM_BP;
  const uint64_t words = (uint64_t)TVMFFI_I_RULE_WORDS;
  const uint64_t frame = words << TVMFFI_I_RULE_FRAME;
  const uint64_t saved = words << TVMFFI_I_RULE_BP | TVMFFI_I_RULE_SAVED_BP;
  const int known = test_walk_wrongly(0, 0, NULL, -1);
  if (test_hits() || known < 0) return;
  CHECK_INT(known, 1);
  CHECK_INT(test_walk_wrongly(frame | from_bp, 0, NULL, 0), 0);
  CHECK_INT(test_walk_wrongly(0, saved, NULL, 0), 0);
}

/* A caller whose rbp seems to be an odd address further up the stack. */
TVMFFI_I_NOINLINE int test_walk_oddly(void) {
  volatile uintptr_t odd;
  int code;
  odd = ((uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)7) + 4097;
  code = test_walk_wrongly((uint64_t)TVMFFI_I_RULE_WORDS << TVMFFI_I_RULE_BP,
                           TVMFFI_I_RULE_SAVED_BP, (const uintptr_t *)&odd, 0);
  return code + (odd == 0);
}
static void test_odd_frames(TVMFFI_HERE) {
  static int (*volatile walk)(void) = test_walk_oddly;
  static volatile size_t size = 64;
  volatile char *room = (volatile char *)__builtin_alloca(size);
  room[0] = 0; /* so the CFA of this frame is rbp + 16 */
  CHECK_INT(walk(), 0);
  room[0] = 0;
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

#if !TVMFFI_NO_DLOPEN && !defined(_WIN32)
/* Makes the other generation the current one, which is empty. */
static tvmffi_i_frame_cache *test_new_generation(void) {
  tvmffi_i_frame_cache *cache = tvmffi_i_renew_frames(UINT64_MAX);
  if (!CHECK(cache != NULL)) return cache;
  CHECK(!cache->size && !cache->map.count && !cache->map.used);
  tvmffi_i_store64(&cache->age, tvmffi_i_loader_age());
  tvmffi_i_leave_frame_cache(cache);
  return cache;
}

/* A frame is cached if its bytes just fit. If there is one byte less, the
   reader owns the frame and the generation is full. */
static void test_frame_sizes(void) {
  static char code[2];
  int is_full;
  for (is_full = 0; is_full < 2; ++is_full) {
    tvmffi_i_frame_cache *cache = test_new_generation();
    tvmffi_i_frame_reader reader;
    tvmffi_i_frame *frame;
    size_t size;
    tvmffi_i_enter_frames(&reader);
    CHECK(reader.cache == cache && !reader.own);
    frame = tvmffi_i_name_frame(&reader, (uintptr_t)code);
    size = cache->size;
    if (frame && !test_hits()) CHECK_INT(size, sizeof(*frame) + frame->size);
    if (!size) { /* in a static program, or without memory */
      tvmffi_i_leave_frames(&reader);
      return;
    }
    cache->size = (size_t)TVMFFI_I_FRAME_BYTES + (size_t)is_full - size;
    frame = tvmffi_i_name_frame(&reader, (uintptr_t)(code + 1));
    if (frame && !test_hits()) {
      CHECK(tvmffi_i_cached_frame(&reader, (uintptr_t)(code + 1)) ==
            (is_full ? NULL : frame));
      CHECK(reader.own == (is_full ? frame : NULL));
      CHECK_INT(cache->age == 0, is_full);
    }
    tvmffi_i_leave_frames(&reader);
    cache->size = 0;
  }
  {
    tvmffi_i_frame_reader reader;
    (void)test_new_generation();
    tvmffi_i_enter_frames(&reader);
    (void)test_new_generation();
    CHECK(!tvmffi_i_renew_frames(UINT64_MAX)); /* the other one has a reader */
    tvmffi_i_leave_frames(&reader);
  }
}
#endif

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
  test_frame_sizes();
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
  name = tvmffi_i_demangle("PZ1fvE1s"); /* of a type: f()::s* */
  CHECK(name == NULL);
  if (library) {
    void *function = dlsym(library, "_ZNSt9exceptionD1Ev");
    tvmffi_i_frame_reader reader;
    const tvmffi_i_frame *frame;
    tvmffi_i_enter_frames(&reader);
    frame = tvmffi_i_name_frame(&reader, (uintptr_t)function + 1);
    if (frame && !test_hits())
      CHECK(test_contains(test_bytes(frame->text, frame->size),
                          ", in std::exception::~exception()\n"));
    tvmffi_i_leave_frames(&reader);
    (void)dlclose(library);
  }
#endif
}

/* TVM_TRACEBACK_LIMIT, and a trace of no more frames than it says. */
static void test_frame_limit(TVMFFI_HERE) {
  static const struct {
    const char *text;
    int limit;
  } cases[] = {{NULL, TVMFFI_I_MAX_FRAMES},
               {"", TVMFFI_I_MAX_FRAMES},
               {"0", 0},
               {"7", 7},
               {"511", 511},
               {"512", TVMFFI_I_MAX_FRAMES},
               {"-1", TVMFFI_I_MAX_FRAMES},
               {"7x", TVMFFI_I_MAX_FRAMES},
               {"x", TVMFFI_I_MAX_FRAMES}};
  const int before = tvmffi_i_frame_limit() + 1;
  const TVMFFIByteArray *t;
  size_t i, lines;
  int limit, named;
  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i)
    CHECK_INT(tvmffi_i_read_limit(cases[i].text), cases[i].limit);
  for (limit = 0; limit < 4; ++limit) {
    tvmffi_i_stored_limit = limit + 1;
    for (named = 0; named < 2; ++named) {
      t = TVMFFIBacktrace(named ? "f.c" : NULL, 1, "g", 1);
      for (i = lines = 0; i < t->size; ++i) lines += t->data[i] == '\n';
      CHECK(lines <= (size_t)(limit > named ? limit : named));
      if (TEST_SYMBOLS && !test_hits()) CHECK(lines > 0 || !limit);
      CHECK(!t->size || t->data[t->size - 1] == '\n');
    }
  }
  tvmffi_i_stored_limit = 0;
  limit = tvmffi_i_frame_limit();
  CHECK_INT(limit, tvmffi_i_read_limit(getenv("TVM_TRACEBACK_LIMIT")));
  CHECK_INT(tvmffi_i_stored_limit, limit + 1);
  tvmffi_i_stored_limit = before;
}

/* A child process leaves the walk to the system: the trace is the same. */
static void test_child_trace(TVMFFI_HERE) {
  static char text[2000];
  TVMFFIByteArray t[2];
  int i, was_child = tvmffi_i_is_child;
  for (i = 0; i < 2; ++i) {
    tvmffi_i_is_child = i;
    if (i) CHECK_INT(tvmffi_i_loader_age(), 1);
    t[i] = *TVMFFIBacktrace(NULL, 0, NULL, 1);
    if (i == 0 && t[0].size < sizeof(text))
      t[0].data = (const char *)memcpy(text, t[0].data, t[0].size);
  }
  tvmffi_i_is_child = was_child;
  if (!test_hits() && t[0].data == text)
    CHECK_BYTES(t[1], t[0].data, t[0].size);
  CHECK(!tvmffi_i_frames[0].readers && !tvmffi_i_frames[1].readers);
#if TVMFFI_I_FORK
  tvmffi_i_is_child = 1;
  tvmffi_i_frames[0].readers = tvmffi_i_frames[1].readers = 2;
  tvmffi_i_forget_frame_readers();
  tvmffi_i_is_child = was_child;
  CHECK(!tvmffi_i_frames[0].readers && !tvmffi_i_frames[1].readers);
#endif
}

#if TVMFFI_I_ELF_LOADER
/* An old loader does not say how many libraries it unloaded. */
static void test_loader_age(TVMFFI_HERE) {
  tvmffi_i_object_info info;
  uint64_t age = 1;
  memset((void *)&info, 0, sizeof(info));
  info.unloaded = 41;
  CHECK_INT(tvmffi_i_on_loaded(&info, sizeof(info) - 1, &age), 1);
  CHECK_INT(age, 1);
  CHECK_INT(tvmffi_i_on_loaded(&info, sizeof(info), &age), 1);
  CHECK_INT(age, 42);
}
#endif

#if TEST_SYMBOLS
enum { TEST_BY_NAME = 2 };
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
  t = across == TEST_BY_NAME ? TVMFFIBacktrace("f.c", 0, "g", 1)
                             : TVMFFIBacktrace(NULL, 0, NULL, across);
  found = test_contains(*t, ", line 0, in tvmffi_test_visible\n");
  return found + (depth > 1000);
}

static int test_has_border; /* an optimizer may leave out that frame */
static int test_visible_callback(void *self, const TVMFFIAny *args,
                                 int32_t num_args, TVMFFIAny *result) {
  const int across = *(const signed char *)self;
  const char *name = across == TEST_BY_NAME ? "f" : NULL;
  const TVMFFIByteArray *t = TVMFFIBacktrace(name, 0, name, across);
  (void)args, (void)num_args;
  *result = tvmffi_int(test_contains(*t, "tvmffi_test_visible"));
  test_has_border = test_contains(*t, ", in " TEST_STRING(TVMFFIFunctionCall));
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
  static signed char across;
  const uintptr_t begin = (uintptr_t)tvmffi_test_visible;
  tvmffi_i_symbol symbol;
  TVMFFIObjectHandle f = NULL;
  int found = tvmffi_test_visible(3, 0);
  if (!test_hits()) CHECK_INT(found, 1);
  for (across = TEST_BY_NAME; across >= 0; --across) {
    const int had_border = test_has_border;
    OK(TVMFFIFunctionCreate(&across, test_visible_callback, NULL, &f));
    OWN(f);
    found = (int)tvmffi_test_visible_call(f);
    if (across && !test_hits()) CHECK_INT(found, 1);
    if (!across) CHECK(!test_has_border && (!had_border || !found));
  }
  /* The named caller is not shown as a frame of the stack, too. */
  CHECK_INT(tvmffi_test_visible(0, TEST_BY_NAME), 0);
  /* The return address of a call that is a function's last instruction is the
     next function's begin. */
  if (CHECK(tvmffi_i_symbol_at(begin + 1, &symbol)))
    CHECK(symbol.address == (void *)begin);
  if (tvmffi_i_symbol_at(begin, &symbol))
    CHECK(symbol.address != (void *)begin);
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
    {"backtrace: entries of unwind tables", test_unwind_entries},
    {"backtrace: cached rules", test_packed_rules},
    {"backtrace: a table that is not understood", test_foreign_table},
    {"backtrace: rules that lead nowhere", test_wrong_rules},
    {"backtrace: frames at odd addresses", test_odd_frames},
    {"backtrace: code outside libraries", test_written_frames},
#endif
    {"backtrace: a frame is named once", test_frame_names},
    {"backtrace: a full cache", test_full_frame_cache},
    {"backtrace: C++ names", test_demangle},
    {"backtrace: its limit", test_frame_limit},
    {"backtrace: of a child process", test_child_trace},
#if TVMFFI_I_ELF_LOADER
    {"backtrace: unloaded libraries", test_loader_age},
#endif
#if TEST_SYMBOLS
    {"backtrace: names of functions", test_symbols},
    {"backtrace: long ones", test_long_traces},
#endif
#endif
#endif
    {NULL, NULL}};
