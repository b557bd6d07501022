/* Functions: anything callable takes an array of Anys and fills one. Written
   by hand with a closure, put into the global table, and, the short way, made
   by a macro from an ordinary body. */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x) TVMFFI_TRY((x) ? 0 : TVMFFI_RAISE("AssertionError", "%s", #x))

static const TVMFFIByteArray adder_name = {"demo.adder", 10};
static int adders;

/* A packed function by hand: `self` is the closure, the arguments are borrowed,
   the result, which comes in as None, will be the caller's. */
static int adder_call(void *self, const TVMFFIAny *args, int32_t num_args,
                      TVMFFIAny *result) {
  if (num_args != 1 || args[0].type_index != kTVMFFIInt)
    return TVMFFI_RAISE("TypeError", "adder expects one int");
  *result = tvmffi_int(args[0].v_int64 + *(int64_t *)self);
  return 0;
}

static void adder_delete(void *self) {
  --adders;
  free(self);
}

static int adder_new(int64_t by, TVMFFIObjectHandle *out) {
  int64_t *self = (int64_t *)malloc(sizeof(int64_t));
  int code;
  if (!self) return TVMFFI_RAISE("MemoryError", "no memory for an adder");
  *self = by;
  code = TVMFFIFunctionCreate(self, adder_call, adder_delete, out);
  if (code) return free(self), code;
  ++adders;
  return 0;
}

static int create_and_call(void) {
  TVMFFIObjectHandle add5 = NULL;
  TVMFFIAny args[1], result = tvmffi_none();
  int64_t sum = 0;
  TVMFFI_TRY(adder_new(5, &add5));

  args[0] = tvmffi_int(37); /* the call as the ABI has it */
  TVMFFI_TRY(TVMFFIFunctionCall(add5, args, 1, &result));
  CHECK(result.type_index == kTVMFFIInt && result.v_int64 == 42);

  /* The same with plain values; a handle is cast, to tell it from a plain
     pointer. */
  TVMFFI_TRY(tvmffi_call((TVMFFIObject *)add5, &sum, 37));
  CHECK(sum == 42);

  tvmffi_release(add5);
  CHECK(adders == 0);
  return 0;
}

static int global_table(void) {
  TVMFFIObjectHandle add1 = NULL, add2 = NULL, found = NULL;
  int64_t sum = 0;
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&adder_name, &found));
  CHECK(!found); /* a missing name is no error */

  TVMFFI_TRY(adder_new(1, &add1));
  TVMFFI_TRY(adder_new(2, &add2));
  TVMFFI_TRY(TVMFFIFunctionSetGlobal(&adder_name, add1, 0));
  CHECK(TVMFFIFunctionSetGlobal(&adder_name, add2, 0)); /* taken: an error */
  tvmffi_error_clear();
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&adder_name, &found));
  CHECK(found == add1);

  TVMFFI_TRY(TVMFFIFunctionSetGlobal(&adder_name, add2, 1)); /* override */
  TVMFFI_TRY(tvmffi_call("demo.adder", &sum, 40));
  CHECK(sum == 42);

  tvmffi_release(found); /* each handle was ours; the table has its own */
  tvmffi_release(add1);
  tvmffi_release(add2);
  return 0;
}

/* Typed functions: count and types of the arguments are checked and converted
   before the body runs. */
TVMFFI_FUNC(scale, float64, (float64, x), (int32, by)) {
  TVMFFI_RETURN(x * by);
}

TVMFFI_FUNC(scale_back, float64, (float64, x), (int32, by)) {
  if (by == 0) return TVMFFI_RAISE("ZeroDivisionError", "%g / 0", x);
  TVMFFI_RETURN(x / by);
}

/* Functions are values: this one is given one, and calls it. */
TVMFFI_FUNC(twice, int64, (func, f), (int64, x)) {
  TVMFFI_TRY(tvmffi_call(f, &x, x));
  TVMFFI_TRY(tvmffi_call(f, &x, x));
  TVMFFI_RETURN(x);
}

static int typed_functions(void) {
  TVMFFIObjectHandle add5 = NULL;
  TVMFFIObject *call_twice = NULL;
  double y = 0;
  int n = 0;
  TVMFFI_TRY(tvmffi_register("demo.scale", scale));
  TVMFFI_TRY(tvmffi_call("demo.scale", &y, 2.5, 4));
  CHECK(y == 10);
  TVMFFI_TRY(tvmffi_register_as("demo.scale", scale_back, 1)); /* override */
  TVMFFI_TRY(tvmffi_call("demo.scale", &y, 2.5, 4));
  CHECK(y == 0.625);

  TVMFFI_TRY(tvmffi_function(twice, &call_twice)); /* without a name */
  TVMFFI_TRY(adder_new(5, &add5));
  TVMFFI_TRY(tvmffi_call(call_twice, &n, (TVMFFIObject *)add5, 32));
  CHECK(n == 42);
  tvmffi_release(call_twice);
  tvmffi_release(add5);

  CHECK(tvmffi_call("demo.scale", &y, "two", 4) == -1);
  tvmffi_error_print(stdout); /* names the argument, and both types */
  return 0;
}

static int run(void) {
  TVMFFI_TRY(create_and_call());
  TVMFFI_TRY(global_table());
  TVMFFI_TRY(typed_functions());
  return 0;
}

int main(void) {
  if (!run()) return 0;
  tvmffi_error_print(stderr);
  return 1;
}
