/* Containers: make them from plain C values, iterate with a macro, read an
   element as a C type, and change it. Lists and dicts can be changed, arrays
   and maps cannot. */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <stdio.h>

#define CHECK(x) TVMFFI_TRY((x) ? 0 : TVMFFI_RAISE("AssertionError", "%s", #x))

/* Containers from Python, Rust or C++ are read the same way. The type of the
   parameter `basket` guarantees that every count is an int. */
TVMFFI_FUNC(total, float64, (map, prices), (dict(str, int64), basket)) {
  double sum = 0;
  TVMFFI_FOREACH_ITEM(any, name, int64, count, basket) {
    double price;
    TVMFFI_TRY(tvmffi_get(prices, name, &price, 1.0)); /* default: 1.0 */
    sum += price * (double)count;
  }
  TVMFFI_RETURN(sum);
}

/* The body of main is a scope, which releases the objects (example 15). */
TVMFFI_MAIN() {
  TVMFFIObject *list = tvmffi_list(1, 2.5, "three");
  TVMFFIObject *prices = tvmffi_map("pear", 2, "plum", 0.5);
  TVMFFIObject *basket = tvmffi_dict("pear", 3);
  TVMFFIAny first;
  int64_t pears;
  double sum;

  /* A failed maker returns NULL; a call that gets it returns its error. */
  TVMFFI_TRY(tvmffi_append(list, prices));
  TVMFFI_TRY(tvmffi_set(list, 0, "one"));
  TVMFFI_FOREACH(any, item, list) {
    if (item.type_index == kTVMFFIFloat) continue;
    TVMFFI_TRY(tvmffi_print(stdout, item));
  }

  TVMFFI_TRY(tvmffi_set(basket, "plum", 4));
  TVMFFI_TRY(tvmffi_set(basket, "nut", 10));
  TVMFFI_TRY(TVMFFI_REGISTER("demo.total", total));
  TVMFFI_TRY(tvmffi_call("demo.total", &sum, prices, basket));
  TVMFFI_TRY(tvmffi_pop(basket, "pear", &pears));
  printf("%g for %lld pears and the rest\n", sum, (long long)pears);
  CHECK(sum == 18 && !tvmffi_contains(basket, "pear"));

  /* A bad index or type is an error with a message. */
  CHECK(tvmffi_get(list, 4, &sum));
  tvmffi_error_print(stdout); /* IndexError: Index 4 out of bounds 4 */
  TVMFFI_TRY(tvmffi_at(list, 0, &first));
  CHECK(tvmffi_as(first, &sum));
  tvmffi_error_print(stdout); /* Cannot convert from type `ffi.SmallStr` */
  return 0;
}
