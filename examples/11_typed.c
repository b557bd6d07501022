/* Typed functions in full: optional values, containers with an element type,
   closures, and callbacks in both directions. A type is written as a word, such
   as int64 or str; docs/guide.md lists the words with their C types. */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <stdio.h>
#include <stdlib.h>

#define CHECK(x) TVMFFI_TRY((x) ? 0 : TVMFFI_RAISE("AssertionError", "%s", #x))

/* A str is a pointer and a size, and a NUL follows the text. optional(T) also
   accepts None. Its C type is a struct with `has_value` and `value`, or, if T
   is a pointer in C, that pointer, which is NULL for None. */
TVMFFI_FUNC(greet, str, (str, name), (optional(str), title)) {
  char text[64];
  snprintf(text, sizeof(text), "hello, %s%s%.20s",
           title.has_value ? title.value.data : "", title.has_value ? " " : "",
           name.data);
  TVMFFI_RETURN(tvmffi_byte_array(text)); /* a C string as a str, copied */
}

/* An optional result is tvmffi_some_T(value) or tvmffi_no_T(). */
TVMFFI_FUNC(find, optional(int64), (array(int64), items), (int64, wanted)) {
  int64_t i = 0;
  TVMFFI_FOREACH(int64, item, items) {
    if (item == wanted) TVMFFI_RETURN(tvmffi_some_int64(i));
    ++i;
  }
  TVMFFI_RETURN(tvmffi_no_int64());
}

static int optionals(void) {
  TVMFFI_SCOPE; /* releases the objects stored below (example 15) */
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

/* Elements are checked and converted like single values, so every element that
   the body sees is a float. */
TVMFFI_FUNC(mean, float64, (array(float64), items)) {
  double sum = 0;
  if (!tvmffi_size(items)) return TVMFFI_RAISE("ValueError", "no items");
  TVMFFI_FOREACH(float64, item, items) sum += item;
  TVMFFI_RETURN(sum / (double)tvmffi_size(items));
}

static int elements(void) {
  TVMFFI_SCOPE;
  double y = 0;
  /* The list is converted to an array. */
  TVMFFI_TRY(tvmffi_call("demo.mean", &y, tvmffi_list(1, 2.5, tvmffi_bool(1))));
  CHECK(y == 1.5);
  CHECK(tvmffi_call("demo.mean", &y, tvmffi_array(1.5, "two")) == -1);
  tvmffi_error_print(stdout); /* names index and type of the element */
  return 0;
}

/* A closure: the body reads its state through `self`, here the total of an
   account. Each function object has its own state, and its deleter frees it. */
TVMFFI_CLOSURE(deposit, int64_t, int64, (int64, amount)) {
  if (amount < 0) return TVMFFI_RAISE("ValueError", "a deposit adds");
  TVMFFI_RETURN(*self += amount);
}

/* Opens an account: a function object, which the caller is given. */
TVMFFI_FUNC(account, func, (int64, total)) {
  int64_t *self = (int64_t *)malloc(sizeof(int64_t));
  TVMFFIObject *opened;
  if (!self) return TVMFFI_RAISE("MemoryError", "no memory for an account");
  *self = total;
  TVMFFI_TRY(TVMFFI_CLOSURE_NEW(deposit, self, free, &opened));
  TVMFFI_RETURN(opened);
}

static int closures(void) {
  TVMFFI_SCOPE;
  TVMFFIObject *mine, *yours;
  int64_t total = 0;
  TVMFFI_TRY(tvmffi_call("demo.account", &mine, 100));
  TVMFFI_TRY(tvmffi_call("demo.account", &yours, 0));
  TVMFFI_TRY(tvmffi_call(mine, &total, 20));
  CHECK(total == 120);
  TVMFFI_TRY(tvmffi_call(yours, &total, 5));
  CHECK(total == 5);
  return 0;
}

/* A function parameter accepts a function written in C, Python or C++. */
TVMFFI_FUNC(for_each, none, (array, items), (func, f)) {
  TVMFFI_FOREACH(any, item, items) TVMFFI_TRY(tvmffi_call(f, NULL, item));
  TVMFFI_RETURN();
}

static int callbacks(void) {
  TVMFFI_SCOPE;
  TVMFFIObject *items = tvmffi_array(1, 2, 3, -4), *mine;
  int64_t total = 0;
  TVMFFI_TRY(tvmffi_call("demo.account", &mine, 0));
  CHECK(tvmffi_call("demo.for_each", NULL, items, mine) == -1);
  CHECK(tvmffi_error_catch("ValueError")); /* raised by deposit for -4 */
  TVMFFI_TRY(tvmffi_call(mine, &total, 0));
  CHECK(total == 6);
  return 0;
}

/* An integer that does not fit is an error; it never wraps around. */
static int wide(void) {
  CHECK(tvmffi_call("demo.greet", NULL, UINT64_MAX, "Sir") == -1);
  CHECK(tvmffi_error_catch("OverflowError"));
  return 0;
}

/* The body of main. If it fails, the error is printed. */
TVMFFI_MAIN() {
  TVMFFI_TRY(TVMFFI_REGISTER_DOC("demo.greet", greet, "Says hello to someone"));
  TVMFFI_TRY(TVMFFI_REGISTER("demo.find", find));
  TVMFFI_TRY(TVMFFI_REGISTER("demo.mean", mean));
  TVMFFI_TRY(TVMFFI_REGISTER("demo.account", account));
  TVMFFI_TRY(TVMFFI_REGISTER("demo.for_each", for_each));
  return optionals() || elements() || closures() || callbacks() || wide();
}
