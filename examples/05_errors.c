/* Errors: a function that fails returns nonzero and leaves an error object in
   its thread's slot. Whoever can handle it takes it out; everyone else returns
   the code. Nothing is thrown, and nothing ends the process. */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <stdio.h>
#include <string.h>

#define CHECK(x) TVMFFI_TRY((x) ? 0 : TVMFFI_RAISE("AssertionError", "%s", #x))

/* Raised, with a kind, which in Python is the class, and a printf format that
   the compiler checks. */
TVMFFI_FUNC(divide, int64, (int64, a), (int64, b)) {
  if (b == 0)
    return TVMFFI_RAISE("ZeroDivisionError", "%lld / 0", (long long)a);
  TVMFFI_RETURN(a / b);
}

/* Passed on: TVMFFI_TRY returns the code of what failed. */
TVMFFI_FUNC(average, int64, (int64, sum), (int64, count)) {
  int64_t mean = 0;
  TVMFFI_TRY(tvmffi_call("demo.divide", &mean, sum, count));
  TVMFFI_RETURN(mean);
}

/* The same two by the bare ABI. */
static int always_fails(void *self, const TVMFFIAny *args, int32_t num_args,
                        TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args, (void)result;
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

/* Taken out of the slot, an error is an object like any other. */
static int by_kind(void) {
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
  tvmffi_release(error);
  return 0;
}

static int printed(void) {
  TVMFFIObjectHandle function = NULL, error = NULL;
  TVMFFIAny result = tvmffi_none();
  CHECK(tvmffi_call("demo.average", NULL, 10, 0) == -1);
  tvmffi_error_print(stdout); /* as Python does, and empties the slot */

  TVMFFI_TRY(TVMFFIFunctionCreate(NULL, always_fails, NULL, &function));
  CHECK(TVMFFIFunctionCall(function, NULL, 0, &result) == -1);
  TVMFFIErrorMoveFromRaised(&error); /* the same by the bare ABI */
  printf("%s: %s\n", TVMFFIErrorGetCellPtr(error)->kind.data,
         TVMFFIErrorGetCellPtr(error)->message.data);
  tvmffi_release(error);
  tvmffi_release(function);
  return 0;
}

/* Raised from another error, which stays reachable as the cause; the short way
   is TVMFFI_RAISE_FROM (example 12). */
static int with_cause(void) {
  const TVMFFIByteArray kind = {"RuntimeError", 12}, trace = {"", 0},
                        message = {"cannot make the report", 22};
  TVMFFIObjectHandle error = NULL;
  TVMFFIObject *cause;
  CHECK(tvmffi_call("demo.average", NULL, 10, 0) == -1);
  cause = tvmffi_error_take();
  TVMFFI_TRY(TVMFFIErrorCreateWithCauseAndExtraContext(&kind, &message, &trace,
                                                       cause, NULL, &error));
  tvmffi_release(cause);
  TVMFFIErrorSetRaised(error);
  tvmffi_release(error); /* the slot and the new error have their own */

  error = tvmffi_error_take();
  CHECK(tvmffi_error_is(error, "RuntimeError"));
  cause = (TVMFFIObject *)TVMFFIErrorGetCellPtr(error)->cause_chain;
  CHECK(tvmffi_error_is(cause, "ZeroDivisionError"));
  tvmffi_release(error);
  return 0;
}

static int run(void) {
  TVMFFI_TRY(tvmffi_register("demo.divide", divide));
  TVMFFI_TRY(tvmffi_register("demo.average", average));
  TVMFFI_TRY(by_return_code());
  TVMFFI_TRY(by_kind());
  TVMFFI_TRY(printed());
  TVMFFI_TRY(with_cause());
  return 0;
}

int main(void) {
  if (!run()) return 0;
  tvmffi_error_print(stderr);
  return 1;
}
