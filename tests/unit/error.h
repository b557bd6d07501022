/* ======== Errors: error objects and the error slot ======================== */

#pragma once

#include "harness.h"

#if !TEST_NO_ERRORS
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

static void test_error_create(TVMFFI_HERE) {
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

static void test_bad_errors(TVMFFI_HERE) {
  TVMFFIByteArray text = TEXT("E"), null = {NULL, 3};
  TVMFFIByteArray huge = {"x", TEST_HUGE}, unread = {NULL, PTRDIFF_MAX};
  TVMFFIObject *function = test_global("ffi.String");
  TVMFFIObjectHandle error = NULL;
  if (!function) return;
  FAILS(TVMFFIErrorCreate(NULL, &text, &text, &error), "ValueError", NULL);
  FAILS(TVMFFIErrorCreate(&text, NULL, &text, &error), "ValueError", NULL);
  FAILS(TVMFFIErrorCreate(&text, &text, NULL, &error), "ValueError", NULL);
  FAILS(TVMFFIErrorCreate(&text, &text, &text, NULL), "ValueError", NULL);
  FAILS(TVMFFIErrorCreate(&text, &null, &text, &error), "ValueError", NULL);
  FAILS(TVMFFIErrorCreate(&text, &huge, &text, &error), "MemoryError", NULL);
  FAILS(tvmffi_i_new_error(unread, text, text) == NULL, "MemoryError", NULL);
  FAILS(tvmffi_i_new_error(text, unread, text) == NULL, "MemoryError", NULL);
  FAILS(tvmffi_i_new_error(text, text, unread) == NULL, "MemoryError", NULL);
  FAILS(TVMFFIErrorCreateWithCauseAndExtraContext(&text, &text, &text, function,
                                                  NULL, &error),
        "TypeError", "...is expected to be ffi.Error but is ffi.Function");
  FAILS((TVMFFIErrorMoveFromRaised(NULL), 1), "ValueError", NULL);
  FAILS((TVMFFIErrorSetRaised(function), 1), "TypeError",
        "...is expected to be ffi.Error but is ffi.Function");
}

static void test_slot(TVMFFI_HERE) {
  TVMFFIObject *first = test_make_error("First", "1", "");
  TVMFFIObject *second = test_make_error("Second", "2", "");
  TVMFFIObjectHandle got = NULL;
  if (!first || !second) return;
  CHECK(tvmffi_i_error_remove() == NULL);
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

#if !TVMFFI_NO_TYPES
/* An error of a type that derives from ffi.Error, as a cause and raised. */
static void test_derived_error(TVMFFI_HERE) {
  TVMFFIByteArray key = TEXT("unit.Error"), text = TEXT("E");
  TVMFFIObject *error = test_make_error("E", "derived", "");
  TVMFFIObjectHandle outer = NULL, got = NULL;
  int32_t index = TVMFFITypeGetOrAllocIndex(&key, 109, 2, 0, 1, kTVMFFIError);
  OK(index < 0 ? -1 : 0);
  if (!error) return;
  error->type_index = index;
  OK(TVMFFIErrorCreateWithCauseAndExtraContext(&text, &text, &text, error, NULL,
                                               &outer));
  OWN(outer);
  CHECK(TVMFFIErrorGetCellPtr(outer)->cause_chain == error);
  TVMFFIErrorSetRaised(error);
  TVMFFIErrorMoveFromRaised(&got);
  CHECK(got == error);
  tvmffi_release(got);
}
#endif

/* A callback fails without an error: one is raised, unless code -2 says that
   another language has the error. A positive code becomes -1. */
static void test_missing_error(TVMFFI_HERE) {
  FAILS(tvmffi_i_need_error(-1, "A callback") == -1, "RuntimeError",
        "A callback failed with code -1 and no error");
  CHECK_INT(tvmffi_i_need_error(-2, "A callback"), -2);
  CHECK(tvmffi_i_error_remove() == NULL);
  (void)TVMFFI_RAISE("KeyError", "earlier");
  CHECK_INT(tvmffi_i_need_error(-2, "A callback"), -2);
  CHECK(tvmffi_i_error_remove() == NULL);
  (void)TVMFFI_RAISE("KeyError", "its own");
  FAILS(tvmffi_i_need_error(5, "A callback") == -1, "KeyError", "its own");
}

/* A call without arguments of a function whose code is missing. */
static void test_missing_function(TVMFFI_HERE) {
  tvmffi_i_function_object fake;
  TVMFFIAny result = tvmffi_none();
  memset((void *)&fake, 0, sizeof(fake));
  fake.base.type_index = kTVMFFIFunction;
  FAILS(TVMFFIFunctionCall(&fake, NULL, 0, &result), "ValueError",
        "...safe_call must not be NULL");
}

static void test_raise_texts(TVMFFI_HERE) {
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

static void test_update_trace(TVMFFI_HERE) {
  TVMFFIObject *error = test_make_error("E", "m", "first\n");
  TVMFFIObject *other = test_make_error("E", "m", "first\n");
  TVMFFIByteArray text = TEXT("second\n"), null = {NULL, 3}, empty = {NULL, 0};
  const tvmffi_i_error *e = (const tvmffi_i_error *)(void *)error;
  const char *before;
  TVMFFIErrorCell *cell;
  int i;
  if (!error || !other) return;
  cell = TVMFFIErrorGetCellPtr(other);
  cell->update_backtrace(other, &text, kTVMFFIBacktraceUpdateModeReplace);
  if (test_hits()) return;
  CHECK_TEXT(cell->backtrace, "second\n");
  cell->backtrace.size = PTRDIFF_MAX; /* a client's mistake */
  cell->update_backtrace(other, &text, kTVMFFIBacktraceUpdateModeAppend);
  cell->backtrace.size = 7;
  CHECK_TEXT(cell->backtrace, "second\n");
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
    before = cell->backtrace.data;
    cell->update_backtrace(error, &text, kTVMFFIBacktraceUpdateModeAppend);
    if (test_hits()) return;
    CHECK_INT(cell->backtrace.size, 21 * 7 + 1 + i);
    if (cell->backtrace.data != before) /* room for half as much again */
      CHECK_INT(e->capacity,
                cell->backtrace.size + cell->backtrace.size / 2 + 1);
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
static void test_memory_error(TVMFFI_HERE) {
  TVMFFIByteArray text = TEXT("trace");
  TVMFFIObject *error;
  TVMFFIErrorCell *cell;
  int i;
  for (i = 0; i < 3; ++i) {
    CHECK_INT(tvmffi_i_no_memory(), -1);
    error = tvmffi_i_error_remove();
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

static void test_raise_in_deleter(TVMFFI_HERE) {
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

static void test_raise(TVMFFI_HERE) {
  TVMFFIObject *error;
  TVMFFIErrorCell *cell;
  char line[24];
  int after = 0;
  CHECK_INT(test_raise_number(3), -1);
  error = tvmffi_i_error_remove();
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
  error = tvmffi_i_error_remove();
  if (!CHECK(error != NULL)) return;
  OWN(error);
  if (!test_hits()) CHECK_INT(TVMFFIErrorGetCellPtr(error)->backtrace.size, 0);
}

static void test_long_messages(TVMFFI_HERE) {
  static char text[TVMFFI_MESSAGE_SIZE + 2];
  TVMFFIObject *error;
  TVMFFIByteArray message;
  size_t n;
  memset(text, 'x', sizeof(text));
  for (n = TVMFFI_MESSAGE_SIZE - 2; n <= TVMFFI_MESSAGE_SIZE + 1; ++n) {
    text[n] = 0;
    (void)TVMFFI_RAISE("E", "%s", text);
    text[n] = 'x';
    error = tvmffi_i_error_remove();
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

static void test_formats(TVMFFI_HERE) {
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
#if !TVMFFI_NO_STDIO && !TVMFFI_FREESTANDING && defined(__GLIBC__)
  {
    const wchar_t no_character[2] = {0xD800, 0}; /* in no encoding */
    got = test_format("a%lsb", no_character);
    CHECK(got.size == 0 && got.data[0] == 0);
  }
#endif
}

/* A message that is too long ends in front of the character that does not fit,
   whatever its bytes are. */
static void test_long_characters(TVMFFI_HERE) {
  static char text[TVMFFI_MESSAGE_SIZE + 4];
  const size_t most = TVMFFI_MESSAGE_SIZE - 1;
  TVMFFIByteArray got;
  size_t shift, i;
  for (shift = 0; shift < 3; ++shift) {
    for (i = 0; i + 1 < sizeof(text); ++i)
      text[i] = "\xE2\x82\xAC"[(i + shift) % 3];
    got = test_format("%s", text);
    CHECK(got.size <= most && got.size + 3 > most && !got.data[got.size]);
    CHECK_TEXT(test_bytes(got.data + got.size - 3, 3), "...");
    CHECK_INT((got.size - 3 + shift) % 3, 0);
    CHECK(memcmp(got.data, text, got.size - 3) == 0);
  }
  memset(text, '\x80', sizeof(text) - 1);
  CHECK_TEXT(test_format("%s", text), "...");
}

/* A text that does not fit its buffer is cut off, but its size is known. */
static void test_short_buffer(TVMFFI_HERE) {
  char buffer[5] = "????";
  tvmffi_i_text t;
  t.data = buffer;
  t.size = 0;
  t.capacity = 4;
  tvmffi_i_append(&t, "abc");
  CHECK(t.size == 3 && strcmp(buffer, "abc") == 0);
  tvmffi_i_append_int(&t, -12);
  CHECK(t.size == 6 && strcmp(buffer, "abc") == 0 && buffer[4] == 0);
}

static void test_error_text(TVMFFI_HERE) {
  static char lines[6 * TVMFFI_MESSAGE_SIZE];
  TVMFFIObject *error = test_make_error("E", "what", "inner\nouter\n");
  TVMFFIByteArray kind = TEXT("E"), message = TEXT("m"), trace;
  TVMFFIObjectHandle other = NULL;
  const char *text = tvmffi_i_error_text();
  size_t i;
  CHECK_TEXT(tvmffi_byte_array(text), "");
  if (!error) return;
  TVMFFIErrorSetRaised(error);
  text = tvmffi_i_error_text();
  if (!test_hits())
    CHECK_TEXT(tvmffi_byte_array(text),
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
    CHECK_TEXT(tvmffi_byte_array(text),
               "Traceback (most recent call last):\nba\nE: m\n");
  for (i = 0; i < sizeof(lines); ++i) lines[i] = i % 8 == 7 ? '\n' : 'x';
  lines[0] = '!';
  lines[8 * 600] = '?';
  trace = test_bytes(lines, sizeof(lines));
  OK(TVMFFIErrorCreate(&kind, &message, &trace, &other));
  OWN(other);
  TVMFFIErrorSetRaised(other);
  trace = tvmffi_byte_array(tvmffi_i_error_text());
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

static void test_error_chain(TVMFFI_HERE) {
  TVMFFIObject *error, *cause = test_make_error("E", "why", "inner\n");
  const TVMFFIErrorCell *cell;
  const char *text;
  FAILS(test_fail_under("x"), "KeyError", "item 3: no `x`");
  CHECK_INT(tvmffi_error_context(-2, "%d", 1), -2);
  CHECK_INT(tvmffi_error_context(-1, "%d", 1), -1); /* the slot is empty */
  CHECK(!tvmffi_error_take());
  CHECK_INT(TVMFFI_RAISE("E", "what"), -1); /* -2 leaves it as it is */
  FAILS(tvmffi_error_context(-2, "%d", 1), "E", "what");
  CHECK_INT(tvmffi_error_raise(NULL), -1);
  if (!cause) return;
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
    /* Also the context, which Python's package can read. */
    CHECK(cell->extra_context == cause);
    CHECK(test_strong(cause) == 3);
  }
  CHECK_INT(tvmffi_scope_count(kTVMFFIError), 1);
  CHECK_INT(tvmffi_error_raise(error), -1); /* borrowed */
  text = tvmffi_i_error_text();
  if (!test_hits()) {
    CHECK(strncmp(text,
                  "Traceback (most recent call last):\ninner\nE: why\n\nThe "
                  "above exception was the direct cause of the following "
                  "exception:\n\nTraceback (most recent call last):\n",
                  150) == 0);
    CHECK(test_contains(tvmffi_byte_array(text),
                        "ValueError: at home: what 7\n"));
  }
  tvmffi_error_clear();
  CHECK_INT(tvmffi_scope_count(kTVMFFIError), 1);
  tvmffi_scope_close(tvmffi_here);
  CHECK_INT(test_strong(cause), 1);
}

/* An error that has a context, but no cause, keeps it under a prefix. */
static void test_context_alone(TVMFFI_HERE) {
  TVMFFIByteArray text = TEXT("E"), empty = {NULL, 0};
  TVMFFIObject *context = test_make_error("E", "context", "");
  TVMFFIObjectHandle made = NULL;
  TVMFFIObject *error;
  if (!context) return;
  OK(TVMFFIErrorCreateWithCauseAndExtraContext(&text, &text, &empty, NULL,
                                               context, &made));
  CHECK_INT(tvmffi_i_error_restore(made), -1);
  CHECK_INT(tvmffi_error_context(-1, "at home"), -1);
  error = tvmffi_error_take();
  if (!CHECK(error != NULL) || test_hits()) return;
  CHECK_TEXT(TVMFFIErrorGetCellPtr(error)->message, "at home: E");
  CHECK(TVMFFIErrorGetCellPtr(error)->extra_context == context);
  CHECK(!tvmffi_error_cause(error));
}

/* Functions of the header are not shown as the place of an error. */
static void test_outer_trace(TVMFFI_HERE) {
  static const char user[] = "  File \"k.c\", line 3, in f\n",
                    both[] = "  File \"tvmffi.h\", line 1, in tvmffi_i_at\n"
                             "  File \"?\", line 0, in tvmffi_i_b.cold\n"
                             "  File \"k.c\", line 3, in f\n"
                             "  File \"tvmffi.h\", line 2, in tvmffi_i_call\n",
                    only[] = "  File \"a, in b\", line 1, in tvmffi_i_at";
  const size_t above = 42 + 39;
  TVMFFIByteArray t;
  TVMFFIObject *error;
  t = tvmffi_i_outer_trace(test_bytes(user, sizeof(user) - 1));
  CHECK_TEXT(t, user);
  t = tvmffi_i_outer_trace(test_bytes(both, sizeof(both) - 1));
  CHECK_TEXT(t, both + above);
  t = tvmffi_i_outer_trace(test_bytes(only, sizeof(only) - 1));
  CHECK_INT(t.size, 0);
  t = tvmffi_i_outer_trace(test_bytes(only, 0));
  CHECK_INT(t.size, 0);
  CHECK_INT(tvmffi_i_raise("KeyError", "%d", 7), -1);
  error = tvmffi_i_error_remove();
  if (CHECK(error != NULL) && !test_hits()) {
    const TVMFFIErrorCell *cell = TVMFFIErrorGetCellPtr(error);
    CHECK_TEXT(cell->message, "7");
    CHECK(!test_contains(cell->backtrace, "tvmffi_i_"));
  }
  tvmffi_release(error);
}

static void test_error_catch(TVMFFI_HERE) {
  CHECK(!tvmffi_error_catch("KeyError"));
  (void)TVMFFI_RAISE("KeyError", "first");
  (void)TVMFFI_RAISE("IndexError", "second"); /* in the place of the first */
  if (!test_hits()) {
    CHECK(!tvmffi_error_catch("KeyError"));
    CHECK(!tvmffi_error_catch("Index"));
    CHECK(tvmffi_error_catch("IndexError"));
  }
  tvmffi_error_clear();
  CHECK(!tvmffi_i_error_remove());
}

/* No end of causes: the nearest are told. */
static void test_error_many_causes(TVMFFI_HERE) {
  TVMFFIObject *error = NULL;
  TVMFFIByteArray text;
  int i;
  for (i = 0; i < 20; ++i) {
    (void)TVMFFI_RAISE_FROM(error, "ValueError", "cause %d;", i);
    error = tvmffi_error_take();
  }
  CHECK_INT(tvmffi_error_raise(error), -1);
  text = tvmffi_byte_array(tvmffi_i_error_text());
  if (!test_hits()) {
    CHECK(test_contains(text, "cause 19;") && test_contains(text, "cause 12;"));
    CHECK(!test_contains(text, "cause 11;"));
  }
  tvmffi_error_clear();
}

#if !TVMFFI_NO_STDIO && !TEST_NO_FILES
static void test_error_print(TVMFFI_HERE) {
  char got[256];
  TVMFFIObject *error = test_make_error("E", "what", "inner\nouter\n");
  FILE *file;
  size_t n;
  if (!error) return;
  file = tmpfile();
  if (!CHECK(file != NULL)) return;
  TVMFFIErrorSetRaised(error);
  tvmffi_error_print(file);
  CHECK(tvmffi_i_error_remove() == NULL);
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
#endif

static const test_case test_error_cases[] = {
#if !TEST_NO_ERRORS
    {"errors: create", test_error_create},
    {"errors: those that cannot be", test_bad_errors},
    {"errors: the slot", test_slot},
#if !TVMFFI_NO_TYPES
    {"errors: of a derived type", test_derived_error},
#endif
    {"errors: a callback that raises none", test_missing_error},
    {"errors: a function without code", test_missing_function},
    {"errors: raised from texts", test_raise_texts},
    {"errors: the trace changes", test_update_trace},
    {"errors: lack of memory", test_memory_error},
    {"errors: raised while another is dropped", test_raise_in_deleter},
    {"errors: raise and try", test_raise},
    {"errors: messages that are too long", test_long_messages},
    {"errors: formats", test_formats},
    {"errors: characters that are too long", test_long_characters},
    {"errors: a buffer that is too small", test_short_buffer},
    {"errors: the whole text", test_error_text},
    {"errors: causes and contexts", test_error_chain},
    {"errors: a context without a cause", test_context_alone},
    {"errors: no trace of the header", test_outer_trace},
    {"errors: catch", test_error_catch},
    {"errors: many causes", test_error_many_causes},
#if !TVMFFI_NO_STDIO && !TEST_NO_FILES
    {"errors: print", test_error_print},
#endif
#endif
    {NULL, NULL}};
