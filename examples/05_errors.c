/* Errors: a function that fails returns nonzero and stores an error object in
   its thread's error slot. A caller that can handle the error takes it out of
   the slot; any other caller returns the code. There are no C++ exceptions, and
   no error ends the process. */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <stdio.h>
#include <string.h>

#define CHECK(x) TVMFFI_TRY((x) ? 0 : TVMFFI_RAISE("AssertionError", "%s", #x))

/* TVMFFI_RAISE takes a kind, which becomes the exception's class in Python, and
   a printf format, which the compiler checks. */
TVMFFI_FUNC(divide, int64, (int64, a), (int64, b)) {
  if (b == 0)
    return TVMFFI_RAISE("ZeroDivisionError", "%lld / 0", (long long)a);
  if (a == INT64_MIN && b == -1)
    return TVMFFI_RAISE("OverflowError", "%lld / -1", (long long)a);
  TVMFFI_RETURN(a / b);
}

/* If the call fails, TVMFFI_TRY returns its code to the caller. */
TVMFFI_FUNC(average, int64, (int64, sum), (int64, count)) {
  int64_t mean = 0;
  TVMFFI_TRY(tvmffi_call("demo.divide", &mean, sum, count));
  TVMFFI_RETURN(mean);
}

/* Raises an error by the bare ABI. */
TVMFFI_FUNC(missing, none) {
  TVMFFIErrorSetRaisedFromCStr("NotImplementedError", "not in this build");
  return -1;
}

static int by_return_code(void) {
  int64_t mean = -1;
  TVMFFI_TRY(tvmffi_call("demo.average", &mean, 10, 5));
  CHECK(mean == 2);
  if (tvmffi_call("demo.average", &mean, 10, 0)) {
    tvmffi_error_clear(); /* handled: no items, no average */
    mean = 0;
  }
  CHECK(mean == 0);
  return 0;
}

/* tvmffi_error_take moves the error out of the slot, to the scope. */
static int by_kind(void) {
  TVMFFI_SCOPE; /* releases the error (example 15) */
  TVMFFIObject *error;
  TVMFFIErrorCell *cell;
  CHECK(tvmffi_call("demo.average", NULL, 10, 0) == -1);
  error = tvmffi_error_take();
  CHECK(error && !tvmffi_error_take()); /* the slot is empty now */
  CHECK(tvmffi_error_is(error, "ZeroDivisionError"));
  CHECK(!tvmffi_error_is(error, "ValueError"));
  cell = TVMFFIErrorGetCellPtr(error);
  CHECK(strcmp(cell->message.data, "10 / 0") == 0);
  CHECK(strstr(cell->backtrace.data, "05_errors.c")); /* where it was raised */
  return 0;
}

static int printed(void) {
  CHECK(tvmffi_call("demo.average", NULL, 10, 0) == -1);
  tvmffi_error_print(stdout); /* in Python's format; empties the slot */
  CHECK(tvmffi_call("demo.missing", NULL) == -1);
  tvmffi_error_print(stdout);
  return 0;
}

/* TVMFFI_RAISE_FROM raises a new error and stores the given one as its cause.
 */
static int with_cause(void) {
  TVMFFI_SCOPE;
  TVMFFIObject *error;
  CHECK(tvmffi_call("demo.average", NULL, 10, 0) == -1);
  (void)TVMFFI_RAISE_FROM(tvmffi_error_take(), "RuntimeError", "no report");
  error = tvmffi_error_take();
  CHECK(tvmffi_error_is(error, "RuntimeError"));
  CHECK(tvmffi_error_is(tvmffi_error_cause(error), "ZeroDivisionError"));
  return 0;
}

TVMFFI_MAIN() {
  TVMFFI_TRY(TVMFFI_REGISTER("demo.divide", divide));
  TVMFFI_TRY(TVMFFI_REGISTER("demo.average", average));
  TVMFFI_TRY(TVMFFI_REGISTER("demo.missing", missing));
  TVMFFI_TRY(by_return_code());
  TVMFFI_TRY(by_kind());
  TVMFFI_TRY(printed());
  return with_cause();
}
