/* Every FFI function takes an array of Anys and stores one Any as its result.
   This example writes such a function by hand, then with macros (with and
   without state), and puts functions into the global table. */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <stdio.h>

#define CHECK(x) TVMFFI_TRY((x) ? 0 : TVMFFI_RAISE("AssertionError", "%s", #x))

/* A packed function of the ABI. `self` is the closure's state, the arguments
   are borrowed. *result is None at entry; the caller will own it. */
static int add_call(void *self, const TVMFFIAny *args, int32_t num_args,
                    TVMFFIAny *result) {
  if (num_args != 1 || args[0].type_index != kTVMFFIInt)
    return TVMFFI_RAISE("TypeError", "add expects one int");
  *result = tvmffi_int(args[0].v_int64 + *(int64_t *)self);
  return 0;
}

static int by_hand(void) {
  TVMFFI_SCOPE;          /* releases what belongs to it (example 15) */
  static int64_t by = 5; /* the closure's state */
  TVMFFIObjectHandle add5 = NULL;
  TVMFFIAny arg = tvmffi_int(37), result = tvmffi_none();
  TVMFFI_TRY(TVMFFIFunctionCreate(&by, add_call, NULL, &add5));
  if (!tvmffi_scope_attach(add5)) return -1; /* now the scope's */
  TVMFFI_TRY(TVMFFIFunctionCall(add5, &arg, 1, &result));
  CHECK(result.type_index == kTVMFFIInt && result.v_int64 == 42);
  return 0;
}

/* The same function by a macro, which adds the argument checks and conversions.
   `self` has the type int64_t *. */
TVMFFI_CLOSURE(adder, int64_t, int64, (int64, x)) { TVMFFI_RETURN(x + *self); }

/* States of closures. In example 11 the closure owns its state. */
static int64_t one = 1, two = 2, five = 5;

static int global_table(void) {
  TVMFFI_SCOPE;
  TVMFFIObject *add1, *add2, *found;
  int64_t sum = 0;
  CHECK(tvmffi_global_get("demo.adder", &found)); /* fails: not registered */
  CHECK(tvmffi_error_catch("ValueError"));
  TVMFFI_TRY(tvmffi_global_find("demo.adder", &found)); /* stores NULL */
  CHECK(!found);

  TVMFFI_TRY(TVMFFI_CLOSURE_NEW(adder, &one, NULL, &add1));
  TVMFFI_TRY(TVMFFI_CLOSURE_NEW(adder, &two, NULL, &add2));
  TVMFFI_TRY(tvmffi_register_object("demo.adder", add1));
  CHECK(tvmffi_register_object("demo.adder", add2)); /* name in use */
  tvmffi_error_print(stdout);
  TVMFFI_TRY(tvmffi_global_get("demo.adder", &found));
  CHECK(found == add1);

  TVMFFI_TRY(tvmffi_override_object("demo.adder", add2)); /* replaces it */
  TVMFFI_TRY(tvmffi_call("demo.adder", &sum, 40));
  CHECK(sum == 42);
  return 0;
}

/* Typed functions: before the body runs, the number and types of the arguments
   are checked, and the values converted. */
TVMFFI_FUNC(scale, float64, (float64, x), (int32, by)) {
  TVMFFI_RETURN(x * by);
}

TVMFFI_FUNC(scale_back, float64, (float64, x), (int32, by)) {
  if (by == 0) return TVMFFI_RAISE("ZeroDivisionError", "%g / 0", x);
  TVMFFI_RETURN(x / by);
}

/* Functions are values: `f` is a function, and this function calls it. */
TVMFFI_FUNC(twice, int64, (func, f), (int64, x)) {
  TVMFFI_TRY(tvmffi_call(f, &x, x));
  TVMFFI_TRY(tvmffi_call(f, &x, x));
  TVMFFI_RETURN(x);
}

static int typed_functions(void) {
  TVMFFI_SCOPE;
  TVMFFIObject *add5, *call_twice;
  double y = 0;
  int n = 0;
  TVMFFI_TRY(TVMFFI_REGISTER("demo.scale", scale));
  TVMFFI_TRY(tvmffi_call("demo.scale", &y, 2.5, 4));
  CHECK(y == 10);
  TVMFFI_TRY(TVMFFI_OVERRIDE("demo.scale", scale_back)); /* replaces it */
  TVMFFI_TRY(tvmffi_call("demo.scale", &y, 2.5, 4));
  CHECK(y == 0.625);

  TVMFFI_TRY(TVMFFI_FUNCTION_NEW(twice, &call_twice)); /* without a name */
  TVMFFI_TRY(TVMFFI_CLOSURE_NEW(adder, &five, NULL, &add5));
  TVMFFI_TRY(tvmffi_call(call_twice, &n, add5, 32));
  CHECK(n == 42);

  CHECK(tvmffi_call("demo.scale", &y, "two", 4) == -1);
  tvmffi_error_print(stdout); /* names the argument, and both types */
  CHECK(tvmffi_call("demo.scale", &y, 2.5) == -1);
  tvmffi_error_print(stdout); /* states the expected number of arguments */
  return 0;
}

TVMFFI_MAIN() { return by_hand() || global_table() || typed_functions(); }
