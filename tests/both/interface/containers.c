/* Containers and scopes of the C interface, on whatever library the program is
   linked with: run.py compares what it prints on two of them. */
#include "tvmffi.h"

#include <stdio.h>

/* The error of what was to fail, without its trace. */
static void show_error(const char *what, int failed) {
  TVMFFI_SCOPE;
  TVMFFIObject *error = tvmffi_error_take();
  const TVMFFIErrorCell *cell;
  printf("%s: ", what);
  if (!failed || !error) {
    printf("%s\n", failed ? "no error" : "no failure");
    return;
  }
  cell = TVMFFIErrorGetCellPtr(error);
  printf("%s: %s\n", cell->kind.data, cell->message.data);
}
#define FAILS(x) show_error(#x, (x) != 0)

/* Every way to change a dict while it is gone through ends, and the same. */
static int change_meanwhile(int64_t size) {
  TVMFFI_SCOPE;
  TVMFFIObject *dict = tvmffi_dict();
  int64_t i;
  uint64_t n = 0;
  if (!dict) return -1;
  for (i = 0; i < size; ++i) TVMFFI_TRY(tvmffi_set(dict, i, i * i));
  TVMFFI_FOREACH_ITEM(any, key, any, value, dict) {
    n = n * 7 + (uint64_t)key.v_int64 + (uint64_t)value.type_index;
    TVMFFI_TRY(tvmffi_erase(dict, key));
    if (key.v_int64 % 3 == 0)
      TVMFFI_TRY(tvmffi_set(dict, -1 - key.v_int64, "new"));
  }
  printf("%lld of %lld are left (%lld): ", (long long)tvmffi_size(dict),
         (long long)size, (long long)(n % 1000003));
  TVMFFI_TRY(tvmffi_print(stdout, dict));
  return 0;
}

/* Rows and tables, each with the same entries in a map. */
static int entries(int64_t size) {
  TVMFFI_SCOPE;
  TVMFFIAny items[2000];
  TVMFFIObject *map;
  int64_t i, sum = 0;
  for (i = 0; i < size; ++i) {
    items[2 * i] = tvmffi_int(i * 7919 % 1009);
    items[2 * i + 1] = tvmffi_int(i);
  }
  map = tvmffi_map_from(items, 2 * size);
  if (!map) return -1;
  i = 0;
  TVMFFI_FOREACH_ITEM(any, key, any, value, map) {
    if (value.v_int64 != i++) printf("entry %lld is wrong\n", (long long)i);
    sum = (sum * 31 + key.v_int64) % 1000003;
  }
  printf("%lld entries: %lld, %lld\n", (long long)size, (long long)i,
         (long long)sum);
  return 0;
}

TVMFFI_MAIN() {
  static const int64_t sizes[] = {0, 1, 4, 5, 8, 9, 100, 1000};
  size_t k;
  for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); ++k) {
    TVMFFI_TRY(entries(sizes[k]));
    if (sizes[k] <= 100) TVMFFI_TRY(change_meanwhile(sizes[k]));
  }
  {
    TVMFFI_SCOPE;
    TVMFFIObject *list = tvmffi_list(1, 2.5, "three", "a text that is long");
    TVMFFIObject *array = tvmffi_array(list, list, TVMFFI_ANY(1));
    TVMFFIObject *map = tvmffi_map("a", 1, "b", array, 3, "c");
    TVMFFIObject *dict = tvmffi_dict(), *shape = tvmffi_shape(2, 3, 4), *got;
    TVMFFIAny any;
    double x = 0;
    int8_t small = 0;
    int64_t n = 0;
    if (!list || !array || !map || !dict || !shape) return -1;
    TVMFFI_TRY(tvmffi_print(stdout, list));
    TVMFFI_TRY(tvmffi_print(stdout, array));
    TVMFFI_TRY(tvmffi_print(stdout, map));
    TVMFFI_TRY(tvmffi_print(stdout, dict));
    TVMFFI_TRY(tvmffi_print(stdout, shape));
    TVMFFI_TRY(tvmffi_print(stdout, "text"));
    TVMFFI_TRY(tvmffi_append(list, 300));
    TVMFFI_TRY(tvmffi_set(dict, "k", list));
    TVMFFI_TRY(tvmffi_get(dict, "k", &got));
    TVMFFI_TRY(tvmffi_get(list, 1, &x));
    TVMFFI_TRY(tvmffi_get(shape, 2, &n));
    TVMFFI_TRY(tvmffi_get(map, "none", &small, 7));
    printf("%d %g %lld %d\n", got == list, x, (long long)n, small);
    printf("%d %d %d %d\n", tvmffi_contains(map, "a"), tvmffi_contains(map, 1),
           tvmffi_contains(list, 300), tvmffi_contains(array, 300));
    FAILS(tvmffi_get(map, "none", &any));
    FAILS(tvmffi_get(dict, 2.5, &any));
    FAILS(tvmffi_get(list, -1, &any));
    FAILS(tvmffi_get(list, 4, &small));
    FAILS(tvmffi_get(list, 2, &x));
    FAILS(tvmffi_get(list, "a", &x));
    FAILS(tvmffi_at(shape, 3, &any));
    FAILS(tvmffi_set(list, 9, 1));
    FAILS(tvmffi_set(map, 9, 1));
    FAILS(tvmffi_append(array, 1));
    FAILS(tvmffi_erase(dict, "none"));
    FAILS(tvmffi_erase(list, 5));
    FAILS(tvmffi_pop(list, -1, &any));
    FAILS(tvmffi_size((TVMFFIObject *)NULL) < 0);
    FAILS(!tvmffi_map("a"));
    FAILS(!tvmffi_shape("a"));
    TVMFFI_TRY(tvmffi_pop(dict, "k", &got));
    TVMFFI_TRY(tvmffi_pop(list, 0, &n));
    printf("%lld list(s), %lld object(s)\n",
           (long long)tvmffi_scope_count(kTVMFFIList),
           (long long)tvmffi_scope_count(kTVMFFIAny));
    printf("%u references\n", (unsigned)list->combined_ref_count);
    TVMFFI_TRY(tvmffi_print(stdout, list));
  }
  printf("%lld object(s)\n", (long long)tvmffi_scope_count(kTVMFFIAny));
  return 0;
}
