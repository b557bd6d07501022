/* Typed functions in full: what may be missing, containers whose elements have
   a type, functions that carry a state, and callbacks both ways. A type is a
   word, int64 or str; docs/guide.md has the list, with the C type of each. */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <stdio.h>
#include <stdlib.h>

#define CHECK(x) TVMFFI_TRY((x) ? 0 : TVMFFI_RAISE("AssertionError", "%s", #x))

/* A str is bytes and a size, with a NUL behind them. optional(T) also takes
   None: a value comes in a struct that tells whether there is one; of what is a
   pointer anyway, NULL is none. */
TVMFFI_FUNC(greet, str, (str, name), (optional(str), title)) {
  char text[64];
  snprintf(text, sizeof(text), "hello, %s%s%.20s",
           title.has_value ? title.value.data : "", title.has_value ? " " : "",
           name.data);
  TVMFFI_RETURN(tvmffi_view(text)); /* a C string as a str; it is copied */
}

/* So is a result: some of a value, or no value. */
TVMFFI_FUNC(find, optional(int64), (array(int64), items), (int64, wanted)) {
  int64_t i = 0;
  TVMFFI_FOREACH(TVMFFIAny, item, items) {
    if (item.v_int64 == wanted) TVMFFI_RETURN(tvmffi_some_int64(i));
    ++i;
  }
  TVMFFI_RETURN(tvmffi_no_int64());
}

static int optional_values(void) {
  TVMFFIObject *items = tvmffi_array(5, 7, 9);
  TVMFFIAny value;
  TVMFFI_TRY(tvmffi_call("demo.greet", &value, "Ada", "Countess"));
  CHECK(tvmffi_equal(value, "hello, Countess Ada"));
  TVMFFI_TRY(tvmffi_call("demo.greet", &value, "Ada", tvmffi_none()));
  CHECK(tvmffi_equal(value, "hello, Ada"));
  TVMFFI_TRY(tvmffi_call("demo.find", &value, items, 7));
  CHECK(tvmffi_equal(value, 1));
  TVMFFI_TRY(tvmffi_call("demo.find", &value, items, 8));
  CHECK(tvmffi_equal(value, tvmffi_none()));
  return 0;
}

/* Elements are checked, and converted where a single value would be: the body
   finds floats only, whoever calls. */
TVMFFI_FUNC(mean, float64, (array(float64), items)) {
  double sum = 0;
  if (!tvmffi_size(items)) return TVMFFI_RAISE("ValueError", "no items");
  TVMFFI_FOREACH(TVMFFIAny, item, items) sum += item.v_float64;
  TVMFFI_RETURN(sum / (double)tvmffi_size(items));
}

static int element_types(void) {
  TVMFFIObject *list = tvmffi_list(1, 2.5, tvmffi_bool(1));
  double y = 0;
  TVMFFI_TRY(tvmffi_call("demo.mean", &y, list)); /* it stands for an array */
  CHECK(y == 1.5);
  CHECK(tvmffi_call("demo.mean", &y, tvmffi_array(1.5, "two")) == -1);
  tvmffi_error_print(stdout); /* names index and type of the element */
  return 0;
}

/* A closure: its body sees `self`, here the total of an account, and each
   function made of it has its own. The deleter gets it in the end. */
TVMFFI_CLOSURE(deposit, int64_t, int64, (int64, amount)) {
  if (amount < 0) return TVMFFI_RAISE("ValueError", "a deposit adds");
  TVMFFI_RETURN(*self += amount);
}

static int account_new(int64_t total, TVMFFIObject **out) {
  int64_t *self = (int64_t *)malloc(sizeof(int64_t));
  if (!self) return TVMFFI_RAISE("MemoryError", "no memory for an account");
  *self = total;
  return tvmffi_closure(deposit, self, free, out);
}

static int closures(void) {
  TVMFFIObject *mine, *yours;
  int64_t total = 0;
  TVMFFI_TRY(account_new(100, &mine));
  TVMFFI_TRY(account_new(0, &yours));
  TVMFFI_TRY(tvmffi_call(mine, &total, 20));
  CHECK(total == 120);
  TVMFFI_TRY(tvmffi_call(yours, &total, 5));
  CHECK(total == 5);
  return 0;
}

/* A function may be given one and give it on: to C, to Python, to C++. */
TVMFFI_FUNC(for_each, none, (array, items), (func, f)) {
  TVMFFI_FOREACH(TVMFFIAny, item, items) TVMFFI_TRY(tvmffi_call(f, NULL, item));
  TVMFFI_RETURN();
}

static int callbacks(void) {
  TVMFFIObject *items = tvmffi_array(1, 2, 3, -4), *mine;
  int64_t total = 0;
  TVMFFI_TRY(account_new(0, &mine));
  CHECK(tvmffi_call("demo.for_each", NULL, items, mine) == -1);
  CHECK(tvmffi_error_catch("ValueError")); /* the -4, from two calls down */
  TVMFFI_TRY(tvmffi_call(mine, &total, 0));
  CHECK(total == 6);
  return 0;
}

/* No integer wraps around on its way. */
static int wide_integers(void) {
  CHECK(tvmffi_call("demo.greet", NULL, UINT64_MAX, "Sir") == -1);
  CHECK(tvmffi_error_catch("OverflowError"));
  return 0;
}

static int register_all(void) {
  TVMFFI_TRY(tvmffi_register_doc("demo.greet", greet, "Says hello to someone"));
  TVMFFI_TRY(tvmffi_register("demo.find", find));
  TVMFFI_TRY(tvmffi_register("demo.mean", mean));
  return tvmffi_register("demo.for_each", for_each);
}

/* The body of main, in a scope: what is made inside is released at its end
   (example 15). An error that comes back is printed. */
TVMFFI_MAIN() {
  return register_all() || optional_values() || element_types() || closures() ||
         callbacks() || wide_integers();
}
