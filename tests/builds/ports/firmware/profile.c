/* A firmware for each profile of docs/porting.md. PROFILE is CALLS, DATA or
   ALL; profiles.py has the options of each. A firmware does what its profile is
   for, checks the results, and writes "ok" and its memory use. */

#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include "board.h"

#define CALLS 1
#define DATA 2
#define ALL 3

TVMFFI_FUNC(halve, int64, (int64, x)) {
  if (x % 2) return TVMFFI_RAISE("ValueError", "%d is odd", (int)x);
  TVMFFI_RETURN(x / 2);
}

/* Takes the pending error. Returns 0 if the call failed with this kind. */
static int expect_error(int code, const char *kind) {
  TVMFFI_SCOPE;
  TVMFFIObject *error = tvmffi_error_take();
  int is = code && error && tvmffi_error_is(error, kind);
  return is ? 0 : TVMFFI_RAISE("AssertionError", "no %s", kind);
}

static int calls(void) {
  int64_t half = 0;
  TVMFFI_TRY(tvmffi_call("test.halve", &half, 10));
  if (half != 5) return TVMFFI_RAISE("AssertionError", "halve");
  TVMFFI_TRY(expect_error(tvmffi_call("test.halve", &half, 3), "ValueError"));
  return expect_error(tvmffi_call("test.halve", &half, "x"), "TypeError");
}

#if PROFILE >= DATA
static int data(void) {
  TVMFFI_SCOPE;
  TVMFFIObject *list, *map;
  TVMFFIAny text, item;
  int64_t sum = 0;
  TVMFFI_TRY(tvmffi_call("ffi.json.Parse", &map,
                         "{\"name\": \"a pump\", \"rates\": [1, 2, 3.5]}"));
  TVMFFI_TRY(tvmffi_get(map, "rates", &list));
  TVMFFI_TRY(tvmffi_get(list, 1, &item));
  if (item.v_int64 != 2) return TVMFFI_RAISE("AssertionError", "rates");
  list = tvmffi_list(1, "two");
  TVMFFI_TRY(tvmffi_append(list, tvmffi_array(4, 5)));
  map = tvmffi_map("numbers", list, "big", tvmffi_str("more than 7 bytes"));
  TVMFFI_TRY(tvmffi_call("ffi.json.Stringify", &text, map, NULL));
  if (strcmp(tvmffi_any_str(&text).data,
             "{\"numbers\":[1,\"two\",[4,5]],"
             "\"big\":\"more than 7 bytes\"}"))
    return TVMFFI_RAISE("AssertionError", "%s", tvmffi_any_str(&text).data);
  TVMFFI_FOREACH(int64, x, tvmffi_array(4, 5)) sum += x;
  if (sum != 9) return TVMFFI_RAISE("AssertionError", "sum");
  return 0;
}
#endif

#if PROFILE == ALL
typedef struct {
  TVMFFIObject base;
  double x, y;
} Point;
TVMFFI_TYPE(Point, "test.Point", TVMFFIObject, (field, float64, x),
            (field, float64, y, 0.5))

static int all(void) {
  TVMFFI_SCOPE;
  TVMFFIAny a, b, text;
  Point *p = TVMFFI_NEW(Point, 3.0);
  int equal = 0;
  if (!p) return -1;
  TVMFFI_TRY(tvmffi_call("ffi.ReprPrint", &text, p));
  if (strcmp(tvmffi_any_str(&text).data, "test.Point(x=3, y=0.5)"))
    return TVMFFI_RAISE("AssertionError", "%s", tvmffi_any_str(&text).data);
  a = tvmffi_obj(tvmffi_list(1, p));
  TVMFFI_TRY(tvmffi_call("ffi.DeepCopy", &b, a));
  TVMFFI_TRY(tvmffi_call("ffi.RecursiveEq", &equal, a, b));
  if (!equal) return TVMFFI_RAISE("AssertionError", "equal");
  return 0;
}
#endif

#ifndef FURTHER
#define FURTHER 0
#endif
#if FURTHER
int start_1(void), start_2(void), start_3(void); /* of further.c */

/* A function of its own, so that a further file changes no other one. */
__attribute__((__noinline__)) static int start_further(void) {
  TVMFFI_TRY(start_1());
#if FURTHER > 1
  TVMFFI_TRY(start_2());
#endif
#if FURTHER > 2
  TVMFFI_TRY(start_3());
#endif
  return 0;
}
#endif

static int run(void) {
  TVMFFI_TRY(TVMFFI_REGISTER("test.halve", halve));
  TVMFFI_TRY(calls());
#if FURTHER
  TVMFFI_TRY(start_further());
#endif
#if PROFILE >= DATA
  TVMFFI_TRY(data());
#endif
#if PROFILE == ALL
  TVMFFI_TRY(all());
#endif
  return 0;
}

static void write_number(const char *what, size_t n) {
  char text[12], *at = text + sizeof(text) - 1;
  *at = 0;
  do *--at = (char)('0' + n % 10);
  while (n /= 10);
  board_write(what);
  board_write(at);
}

int main(void) {
  size_t most;
  if (run()) {
    TVMFFI_SCOPE;
    TVMFFIObject *error = tvmffi_error_take();
    board_write(TVMFFIErrorGetCellPtr(error)->message.data);
  } else {
    board_write("ok");
  }
  (void)tvmffi_arena_used(&most);
  write_number(" arena ", most);
  write_number(" stack ", board_stack_most_used());
  board_write("\n");
  for (;;) {
  }
}
