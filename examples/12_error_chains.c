/* Errors on their way to the caller: add context, raise another error with the
   first as its cause, handle by kind, or raise again. The example parses a
   settings file with lines "name = number". */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x) TVMFFI_TRY((x) ? 0 : TVMFFI_RAISE("AssertionError", "%s", #x))

static int parse_number(const char *text, int64_t *out) {
  char *end = NULL;
  *out = strtoll(text, &end, 10);
  if (end == text || *end)
    return TVMFFI_RAISE("ValueError", "`%s` is not a number", text);
  return 0;
}

/* TVMFFI_TRY_CONTEXT puts "line N: " before the message of the error. */
static int parse_line(const char *line, int number, int64_t *out) {
  const char *equals = strchr(line, '=');
  if (!equals) return TVMFFI_RAISE("SyntaxError", "line %d: no `=`", number);
  equals += equals[1] == ' ' ? 2 : 1;
  TVMFFI_TRY_CONTEXT(parse_number(equals, out), "line %d", number);
  return 0;
}

/* Raises a RuntimeError and stores the first error as its cause. */
TVMFFI_FUNC(load, int64, (str, line)) {
  int64_t value = 0;
  if (parse_line(line.data, 1, &value))
    return TVMFFI_RAISE_FROM(tvmffi_error_take(), "RuntimeError",
                             "the settings cannot be used");
  TVMFFI_RETURN(value);
}

static int with_context(void) {
  TVMFFI_SCOPE;
  TVMFFIObject *error;
  int64_t value = 0;
  TVMFFI_TRY(parse_line("depth = 7", 1, &value));
  CHECK(value == 7);
  CHECK(parse_line("depth = deep", 3, &value) == -1);
  error = tvmffi_error_take();                 /* the scope owns it from here */
  CHECK(tvmffi_error_is(error, "ValueError")); /* kind and trace are kept */
  CHECK(!strcmp(TVMFFIErrorGetCellPtr(error)->message.data,
                "line 3: `deep` is not a number"));
  CHECK(strstr(TVMFFIErrorGetCellPtr(error)->backtrace.data, "parse_number"));
  return 0;
}

static int with_cause(void) {
  TVMFFI_SCOPE;
  TVMFFIObject *error, *cause;
  CHECK(tvmffi_call("demo.load", NULL, "depth = deep") == -1);
  error = tvmffi_error_take();
  cause = tvmffi_error_cause(error); /* borrowed from the error */
  CHECK(tvmffi_error_is(error, "RuntimeError"));
  CHECK(tvmffi_error_is(cause, "ValueError"));
  CHECK(!tvmffi_error_cause(cause));
  return tvmffi_error_raise(error); /* raised again, unchanged */
}

/* Handles one kind. Any other error stays in the slot, and the code is returned
   to the caller. */
static int value_or(const char *line, int64_t otherwise, int64_t *out) {
  int code = parse_line(line, 1, out);
  if (!code) return 0;
  if (!tvmffi_error_catch("ValueError")) return code;
  *out = otherwise;
  return 0;
}

static int by_kind(void) {
  int64_t value = 0;
  TVMFFI_TRY(value_or("depth = deep", 3, &value));
  CHECK(value == 3);
  CHECK(value_or("depth: 7", 3, &value) == -1);
  CHECK(tvmffi_error_catch("SyntaxError"));
  return 0;
}

/* Check every code: an error that you ignore stays in the slot until the next
   error replaces it. An error in the slot does not affect calls that succeed.
 */
static int ignored(TVMFFI_HERE) {
  int64_t value = 0;
  (void)parse_number("one", &value);
  TVMFFI_TRY(parse_number("2", &value));
  (void)parse_number("three", &value);
  CHECK(tvmffi_error_catch("ValueError"));
  CHECK(!tvmffi_error_take()); /* a thread has one slot, so one error */
  return 0;
}

TVMFFI_MAIN() {
  TVMFFI_TRY(TVMFFI_REGISTER("demo.load", load));
  TVMFFI_TRY(with_context());
  TVMFFI_TRY(by_kind());
  TVMFFI_TRY(ignored(tvmffi_here));
  CHECK(with_cause() == -1);
  tvmffi_error_print(stdout); /* the cause first, as in Python */
  return 0;
}
