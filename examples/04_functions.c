/* Functions: anything callable takes an array of Anys and fills one. Made by a
   macro from an ordinary body, with or without a state, put into the global
   table; and, to see what is behind it, written by hand. */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <stdio.h>

#define CHECK(x) TVMFFI_TRY((x) ? 0 : TVMFFI_RAISE("AssertionError", "%s", #x))

/* As the ABI has it: `self` is the closure, the arguments are borrowed, the
   result, which comes in as None, will be the caller's. */
static int add_call(void *self, const TVMFFIAny *args, int32_t num_args,
                    TVMFFIAny *result) {
  if (num_args != 1 || args[0].type_index != kTVMFFIInt)
    return TVMFFI_RAISE("TypeError", "add expects one int");
  *result = tvmffi_int(args[0].v_int64 + *(int64_t *)self);
  return 0;
}

static int by_hand(void) {
  static int64_t by = 5; /* the closure's state */
  TVMFFIObjectHandle add5 = NULL;
  TVMFFIAny arg = tvmffi_int(37), result = tvmffi_none();
  TVMFFI_TRY(TVMFFIFunctionCreate(&by, add_call, NULL, &add5));
  TVMFFI_TRY(TVMFFIFunctionCall(add5, &arg, 1, &result));
  CHECK(result.type_index == kTVMFFIInt && result.v_int64 == 42);
  tvmffi_release(add5);
  return 0;
}

/* The same with checks, conversions and a state made by a macro. */
TVMFFI_CLOSURE(adder, int64_t, int64, (int64, x)) { TVMFFI_RETURN(x + *self); }

static int64_t one = 1, two = 2, five = 5; /* states; example 11 owns them */

static int global_table(void) {
  TVMFFIObject *add1, *add2, *found;
  int64_t sum = 0;
  TVMFFI_TRY(tvmffi_global_get("demo.adder", &found));
  CHECK(!found); /* a missing name is no error */

  TVMFFI_TRY(tvmffi_closure(adder, &one, NULL, &add1));
  TVMFFI_TRY(tvmffi_closure(adder, &two, NULL, &add2));
  TVMFFI_TRY(tvmffi_global_set("demo.adder", add1, 0));
  CHECK(tvmffi_global_set("demo.adder", add2, 0)); /* taken: an error */
  tvmffi_error_print(stdout);
  TVMFFI_TRY(tvmffi_global_get("demo.adder", &found));
  CHECK(found == add1);

  TVMFFI_TRY(tvmffi_global_set("demo.adder", add2, 1)); /* override */
  TVMFFI_TRY(tvmffi_call("demo.adder", &sum, 40));
  CHECK(sum == 42);
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
  TVMFFIObject *add5, *call_twice;
  double y = 0;
  int n = 0;
  TVMFFI_TRY(tvmffi_register("demo.scale", scale));
  TVMFFI_TRY(tvmffi_call("demo.scale", &y, 2.5, 4));
  CHECK(y == 10);
  TVMFFI_TRY(tvmffi_register_as("demo.scale", scale_back, 1)); /* override */
  TVMFFI_TRY(tvmffi_call("demo.scale", &y, 2.5, 4));
  CHECK(y == 0.625);

  TVMFFI_TRY(tvmffi_function(twice, &call_twice)); /* without a name */
  TVMFFI_TRY(tvmffi_closure(adder, &five, NULL, &add5));
  TVMFFI_TRY(tvmffi_call(call_twice, &n, add5, 32));
  CHECK(n == 42);

  CHECK(tvmffi_call("demo.scale", &y, "two", 4) == -1);
  tvmffi_error_print(stdout); /* names the argument, and both types */
  CHECK(tvmffi_call("demo.scale", &y, 2.5) == -1);
  tvmffi_error_print(stdout); /* tells how many there should be */
  return 0;
}

TVMFFI_MAIN() { return by_hand() || global_table() || typed_functions(); }
