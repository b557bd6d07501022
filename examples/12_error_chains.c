/* Errors on their way up: told where they were met, turned into others that
   say what it means, handled by kind, or raised again. A settings file is read
   whose lines are "name = number". */
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

/* What is being done is told in front of what went wrong. */
static int parse_line(const char *line, int number, int64_t *out) {
  const char *equals = strchr(line, '=');
  if (!equals) return TVMFFI_RAISE("SyntaxError", "line %d: no `=`", number);
  equals += equals[1] == ' ' ? 2 : 1;
  TVMFFI_TRY_CONTEXT(parse_number(equals, out), "line %d", number);
  return 0;
}

/* Another error says what it means; the first one stays its cause. */
TVMFFI_FUNC(load, int64, (str, line)) {
  int64_t value = 0;
  if (parse_line(line.data, 1, &value))
    return TVMFFI_RAISE_FROM(tvmffi_error_take(), "RuntimeError",
                             "the settings cannot be used");
  TVMFFI_RETURN(value);
}

static int with_context(void) {
  TVMFFIObject *error;
  int64_t value = 0;
  TVMFFI_TRY(parse_line("depth = 7", 1, &value));
  CHECK(value == 7);
  CHECK(parse_line("depth = deep", 3, &value) == -1);
  error = tvmffi_error_take();
  CHECK(tvmffi_error_is(error, "ValueError")); /* kind and trace are kept */
  CHECK(!strcmp(TVMFFIErrorGetCellPtr(error)->message.data,
                "line 3: `deep` is not a number"));
  CHECK(strstr(TVMFFIErrorGetCellPtr(error)->backtrace.data, "parse_number"));
  tvmffi_release(error);
  return 0;
}

static int with_cause(void) {
  TVMFFIObject *error, *cause;
  CHECK(tvmffi_call("demo.load", NULL, "depth = deep") == -1);
  error = tvmffi_error_take();
  cause = tvmffi_error_cause(error); /* borrowed from the error */
  CHECK(tvmffi_error_is(error, "RuntimeError"));
  CHECK(tvmffi_error_is(cause, "ValueError"));
  CHECK(!tvmffi_error_cause(cause));
  return tvmffi_error_raise(error); /* as it was, to be printed below */
}

/* Handled by kind: any other error stays in the slot and goes on. */
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

/* An error that nobody looks at is replaced by the next one, and lost: look at
   each code. A slot that is full does not disturb a call that succeeds. */
static int ignored(void) {
  int64_t value = 0;
  (void)parse_number("one", &value);
  TVMFFI_TRY(parse_number("2", &value));
  (void)parse_number("three", &value);
  CHECK(tvmffi_error_catch("ValueError"));
  CHECK(!tvmffi_error_take()); /* there was one slot, so one error */
  return 0;
}

TVMFFI_MAIN() {
  TVMFFI_TRY(tvmffi_register("demo.load", load));
  TVMFFI_TRY(with_context());
  TVMFFI_TRY(by_kind());
  TVMFFI_TRY(ignored());
  CHECK(with_cause() == -1);
  tvmffi_error_print(stdout); /* the cause first, as Python does */
  return 0;
}
