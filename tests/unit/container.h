/* ======== Containers: containers made, read and changed from C ============ */

#pragma once

#include "harness.h"

/* A board finds the built-in function at its first use, which needs memory. */
static void test_found_in(TVMFFI_HERE, TVMFFIObject *in, TVMFFIAny x,
                          int want) {
  const int found = tvmffi_contains(tvmffi_obj(in), x);
  OK(found < 0 ? -1 : 0);
  if (found >= 0) CHECK_INT(found, want);
}

#if !TEST_NO_TYPED
#if !TVMFFI_NO_CONTAINERS
static void test_made_containers(TVMFFI_HERE) {
  TVMFFIAny items[3], item = tvmffi_none();
  TVMFFIObject *array, *list, *map, *dict, *shape, *empty, *text = NULL;
  int64_t n = 0, sum = 0;
  items[0] = tvmffi_int(1);
  items[1] = tvmffi_str("two");
  items[2] = tvmffi_str("three, a longer one");
  OK((array = tvmffi_array_from(items, 3)) ? 0 : -1);
  OK((list = tvmffi_list(tvmffi_int(4), tvmffi_obj(array))) ? 0 : -1);
  OK((map = tvmffi_map(tvmffi_str("a"), tvmffi_int(1), tvmffi_str("b"),
                       tvmffi_int(2)))
         ? 0
         : -1);
  OK((dict = tvmffi_dict()) ? 0 : -1);
  OK((shape = tvmffi_shape(tvmffi_int(5), tvmffi_int(6))) ? 0 : -1);
  OK((empty = tvmffi_list_from(NULL, 0)) ? 0 : -1);
  CHECK_INT(array->type_index, kTVMFFIArray);
  CHECK_INT(list->type_index, kTVMFFIList);
  CHECK_INT(map->type_index, kTVMFFIMap);
  CHECK_INT(dict->type_index, kTVMFFIDict);
  CHECK_INT(shape->type_index, kTVMFFIShape);
  CHECK_INT(tvmffi_size(tvmffi_obj(array)), 3);
  CHECK_INT(tvmffi_size(tvmffi_obj(list)), 2);
  CHECK_INT(tvmffi_size(tvmffi_obj(map)), 2);
  CHECK_INT(tvmffi_size(tvmffi_obj(dict)), 0);
  CHECK_INT(tvmffi_size(tvmffi_obj(shape)), 2);
  CHECK_INT(tvmffi_size(tvmffi_obj(empty)), 0);
  TVMFFI_FOREACH(any, x, tvmffi_obj(shape)) sum = sum * 10 + x.v_int64;
  CHECK_INT(sum, 56);
  TVMFFI_FOREACH(any, x, tvmffi_obj(array)) {
    if (n++ == 1) continue;
    item = x;
    if (n == 3) break;
  }
  CHECK_INT(n, 3);
  CHECK(item.type_index == kTVMFFIStr && test_strong(item.v_obj) == 1);
  OK(tvmffi_at(tvmffi_obj(array), 1, &item));
  CHECK_INT(item.type_index, kTVMFFISmallStr);
  OK(tvmffi_get(tvmffi_obj(array), tvmffi_int(2), tvmffi_out_object(&text)));
  CHECK_INT(test_strong(text), 2);
  OK(tvmffi_get(tvmffi_obj(shape), tvmffi_int(1), tvmffi_out_int64(&n)));
  CHECK_INT(n, 6);
  OK(tvmffi_get(tvmffi_obj(map), tvmffi_str("b"), tvmffi_out_int64(&n)));
  CHECK_INT(n, 2);
  OK(tvmffi_get(tvmffi_obj(map), tvmffi_str("c"), tvmffi_out_int64(&n),
                tvmffi_int(7)));
  CHECK_INT(n, 7);
  OK(tvmffi_get(tvmffi_obj(list), tvmffi_int(9), tvmffi_out_int64(&n),
                tvmffi_int(8)));
  CHECK_INT(n, 8);
  test_found_in(tvmffi_here, map, tvmffi_str("a"), 1);
  test_found_in(tvmffi_here, map, tvmffi_str("c"), 0);
  test_found_in(tvmffi_here, list, tvmffi_int(4), 1);
  test_found_in(tvmffi_here, array, tvmffi_int(4), 0);
}

/* Entries in order, small and large, with changes meanwhile. */
static void test_entries(TVMFFI_HERE) {
  TVMFFIObject *dict;
  int64_t n, i, sizes[] = {0, 1, 4, 5, 100};
  size_t k;
  for (k = 0; k < TEST_COUNT(sizes); ++k) {
    OK((dict = tvmffi_dict()) ? 0 : -1);
    for (i = 0; i < sizes[k]; ++i)
      OK(tvmffi_set(tvmffi_obj(dict), tvmffi_int(i), tvmffi_int(i * i)));
    n = 0;
    TVMFFI_FOREACH_ITEM(any, key, any, value, tvmffi_obj(dict)) {
      CHECK(key.v_int64 == n && value.v_int64 == n * n);
      ++n;
    }
    CHECK_INT(n, sizes[k]);
    n = 0; /* who erases the present one misses the next */
    TVMFFI_FOREACH_ITEM(any, key, any, value, tvmffi_obj(dict)) {
      CHECK_INT(value.v_int64, 4 * n * n);
      OK(tvmffi_erase(tvmffi_obj(dict), key));
      ++n;
    }
    CHECK_INT(n, (sizes[k] + 1) / 2);
    n = 0; /* it grows by thrice what it had, and is another table then */
    TVMFFI_FOREACH_ITEM(any, key, any, value, tvmffi_obj(dict)) {
      CHECK(value.v_int64 >= 0);
      for (i = 1; key.v_int64 < 1000 && i <= 3; ++i)
        OK(tvmffi_set(tvmffi_obj(dict), tvmffi_int(1000 * i + key.v_int64),
                      tvmffi_int(0)));
      ++n;
    }
    CHECK_INT(n, sizes[k] / 2 * 4);
    TVMFFI_FOREACH_ITEM(any, key, any, value, tvmffi_obj(dict)) {
      CHECK(key.type_index == kTVMFFIInt && value.type_index == kTVMFFIInt);
      OK(tvmffi_call(tvmffi_str("ffi.DictClear"), tvmffi_out_none(NULL),
                     tvmffi_obj(dict)));
    }
    CHECK_INT(tvmffi_size(tvmffi_obj(dict)), 0);
  }
}

/* A table whose size stays, but which has other entries at each step: those
   that were passed are counted from the oldest on. If its newest entry stays in
   its slot, too, the loop misses the changes, and still takes as many steps as
   there are entries. */
static void test_replaced_entries(TVMFFI_HERE) {
  static const int64_t met[] = {0, 2, 4, 6, 100, 102, 104, 106};
  static const int64_t keys[] = {0, 1, 2, 4, 3};
  TVMFFIObject *dict = tvmffi_dict();
  tvmffi_i_map_object *m;
  int64_t n = 0, i;
  OK(dict ? 0 : -1);
  for (i = 0; i < 8; ++i)
    OK(tvmffi_set(tvmffi_obj(dict), tvmffi_int(i), tvmffi_int(0)));
  TVMFFI_FOREACH_ITEM(int64, key, any, value, tvmffi_obj(dict)) {
    CHECK(n < 8 && key == met[n] && value.v_int64 == 0);
    OK(tvmffi_erase(tvmffi_obj(dict), tvmffi_int(key)));
    OK(tvmffi_set(tvmffi_obj(dict), tvmffi_int(100 + n), tvmffi_int(0)));
    ++n;
  }
  CHECK_INT(n, 8);
  /* A client that counts an entry too many meets no more of them. */
  m = (tvmffi_i_map_object *)(uintptr_t)tvmffi_i_map_of(dict);
  ++m->size;
  n = 0;
  TVMFFI_FOREACH_ITEM(any, key, any, value, tvmffi_obj(dict)) {
    n += key.type_index == kTVMFFIInt && value.v_int64 == 0;
  }
  --m->size;
  CHECK_INT(n, 8);
  OK((dict = tvmffi_dict()) ? 0 : -1);
  for (i = 0; i < 5; ++i)
    OK(tvmffi_set(tvmffi_obj(dict), tvmffi_int(keys[i]), tvmffi_int(-keys[i])));
  n = 0;
  TVMFFI_FOREACH_ITEM(int64, key, int64, value, tvmffi_obj(dict)) {
    CHECK(key >= 0 && key < 5 && value == -key);
    OK(tvmffi_erase(tvmffi_obj(dict), tvmffi_int(key)));
    OK(tvmffi_set(tvmffi_obj(dict), tvmffi_int(key), tvmffi_int(-key)));
    ++n;
  }
  CHECK(n == 5 && tvmffi_size(tvmffi_obj(dict)) == 5);
}

/* Loops over objects own them one after the other, pass over a handle without
   an object, and keep an error that the body raised. */
static void test_object_loops(TVMFFI_HERE) {
  TVMFFIObject *list, *objects, *first;
  TVMFFIAny *items;
  int64_t n = 0;
  OK((list = tvmffi_list(tvmffi_int(1), tvmffi_str("text"))) ? 0 : -1);
  OK((first = tvmffi_list()) ? 0 : -1);
  OK((objects = tvmffi_list(tvmffi_obj(first), tvmffi_obj(list),
                            tvmffi_obj(first)))
         ? 0
         : -1);
  TVMFFI_FOREACH(object, x, tvmffi_obj(objects)) {
    CHECK(x == (n == 1 ? list : first));
    if (TVMFFI_I_CLEANUP) CHECK_INT(test_strong(x), x == first ? 4 : 3);
    ++n;
  }
  CHECK(n == 3 && test_strong(first) == 3 && test_strong(list) == 2);
  items = (TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, objects)->data;
  items[1].v_obj = NULL;
  n = 0;
  TVMFFI_FOREACH(any, x, tvmffi_obj(objects)) {
    n += x.type_index == kTVMFFIList && (n == 1) == !x.v_obj;
  }
  items[1].v_obj = list;
  CHECK_INT(n, 3);
  n = 0;
  TVMFFI_FOREACH(int64, x, tvmffi_obj(list)) {
    n += x;
    (void)TVMFFI_RAISE("KeyError", "of the body");
  }
  FAILS(n == 1, "KeyError", "of the body");
}

/* A value that is a plain object is a value. Whether it stands for none is
   asked, and that may fail. */
static void test_plain_objects(TVMFFI_HERE) {
  static const char name[] = "ffi.GetInvalidObject";
  static TVMFFIObject plain = {
      TVMFFI_I_PINNED | TVMFFI_I_WEAK_ONE, kTVMFFIObject, 0, {NULL}};
  TVMFFIObject *map, *former = test_global(name), *found = NULL;
  int code;
  OK(former ? 0 : -1);
  OK((map = tvmffi_map(tvmffi_str("plain"), tvmffi_obj(&plain))) ? 0 : -1);
  OK(tvmffi_get(tvmffi_obj(map), tvmffi_str("plain"),
                tvmffi_out_object(&found)));
  CHECK(found == &plain);
  test_replace_global(name, NULL);
  tvmffi_release((TVMFFIObject *)tvmffi_i_global_cache[TVMFFI_I_MISSING]);
  tvmffi_i_global_cache[TVMFFI_I_MISSING] = NULL;
  code = tvmffi_get(tvmffi_obj(map), tvmffi_str("plain"),
                    tvmffi_out_object(&found), tvmffi_none());
  test_replace_global(name, former);
  FAILS(code, "ValueError", "Function ffi.GetInvalidObject not found");
}

/* Keys that are truth values or neither numbers nor texts, handles without an
   object, and containers that cannot do it. */
static void test_unusual_keys(TVMFFI_HERE) {
  TVMFFIAny copy, keys[4], no_array = tvmffi_none(), no_map = tvmffi_none();
  TVMFFIObject *dict = tvmffi_dict(), *list, *map, *object = NULL;
  int64_t n = 0;
  OK(dict && (map = tvmffi_map(tvmffi_str("a"), tvmffi_int(1))) != NULL ? 0
                                                                      : -1);
  OK((list = tvmffi_list(tvmffi_int(4), tvmffi_int(5))) ? 0 : -1);
  keys[0] = tvmffi_bool(1);
  keys[1] = tvmffi_device(TVMFFIDLDeviceFromIntPair(kDLCPU, 0));
  OK(tvmffi_get(tvmffi_obj(list), keys[0], tvmffi_out_int64(&n)));
  CHECK_INT(n, 5);
  FAILS(tvmffi_get(tvmffi_obj(list), keys[1], tvmffi_out_int64(&n)),
        "TypeError", "...but got `Device`");
  FAILS(tvmffi_get(tvmffi_obj(dict), keys[0], tvmffi_out_int64(&n)), "KeyError",
        "key is not in Map: 1");
  FAILS(tvmffi_get(tvmffi_obj(dict), keys[1], tvmffi_out_int64(&n)), "KeyError",
        "key is not in Map");
  OK(tvmffi_set(tvmffi_obj(dict), keys[0], tvmffi_str("x")));
  OK(tvmffi_set(tvmffi_obj(dict), keys[1], tvmffi_str("x")));
  FAILS(tvmffi_get(tvmffi_obj(dict), keys[0], tvmffi_out_int64(&n)),
        "TypeError", "[1]: Cannot convert from type `ffi.SmallStr` to `int`");
  FAILS(tvmffi_get(tvmffi_obj(dict), keys[1], tvmffi_out_int64(&n)),
        "TypeError", NULL);
  FAILS(tvmffi_get(tvmffi_obj(map), tvmffi_str("b"), tvmffi_out_int64(&n),
                   tvmffi_none()),
        "TypeError", NULL);
  OK(tvmffi_get(tvmffi_obj(map), tvmffi_str("b"), tvmffi_out_object(&object),
                tvmffi_none()));
  CHECK(!object);
  copy = tvmffi_int(7);
  OK(tvmffi_get(tvmffi_obj(map), tvmffi_str("b"), tvmffi_out_any(&copy),
                tvmffi_none()));
  CHECK_INT(copy.type_index, kTVMFFINone);
  OK(tvmffi_set(tvmffi_obj(dict), tvmffi_str("popped"), tvmffi_int(9)));
  OK(tvmffi_pop(tvmffi_obj(dict), tvmffi_str("popped"), tvmffi_out_int64(&n)));
  CHECK_INT(n, 9);
  CHECK_INT(tvmffi_size(tvmffi_obj(dict)), 2);
  OK(tvmffi_get(tvmffi_obj(map), tvmffi_str("b"), tvmffi_out_none(NULL),
                tvmffi_none()));
  FAILS(tvmffi_erase(tvmffi_obj(map), tvmffi_str("a")), "TypeError",
        "tvmffi_erase: expected a list or dict, but got `ffi.Map`");
  FAILS(tvmffi_erase(tvmffi_obj(dict), tvmffi_str("a")), "KeyError",
        "key is not in Map: a");
  FAILS(tvmffi_pop(tvmffi_obj(map), tvmffi_str("a"), tvmffi_out_int64(&n)),
        "TypeError", "tvmffi_pop: expected a list or dict, but got `ffi.Map`");
  no_array.type_index = kTVMFFIArray;
  no_map.type_index = kTVMFFIMap;
  FAILS((int)tvmffi_size(no_array), "TypeError", "...expected a container");
  FAILS((int)tvmffi_size(no_map), "TypeError", "...expected a container");
  FAILS(tvmffi_contains(no_map, keys[0]), "TypeError", NULL);
}

static void test_changed_lists(TVMFFI_HERE) {
  TVMFFIObject *list;
  int64_t n = 0, x = 0;
  OK((list = tvmffi_list(tvmffi_int(0), tvmffi_int(1), tvmffi_int(2))) ? 0
                                                                       : -1);
  OK(tvmffi_append(tvmffi_obj(list), tvmffi_str("a text that is long")));
  OK(tvmffi_set(tvmffi_obj(list), tvmffi_int(0), tvmffi_int(10)));
  FAILS(tvmffi_pop(tvmffi_obj(list), tvmffi_int(3), tvmffi_out_int64(&x)),
        "TypeError", test_oom ? NULL : "...from type `ffi.String` to `int`");
  CHECK_INT(tvmffi_size(tvmffi_obj(list)), 4);
  OK(tvmffi_erase(tvmffi_obj(list), tvmffi_int(3)));
  OK(tvmffi_pop(tvmffi_obj(list), tvmffi_int(0), tvmffi_out_int64(&x)));
  CHECK_INT(x, 10);
  TVMFFI_FOREACH(any, item, tvmffi_obj(list)) { /* it grows meanwhile */
    if (n++ < 50) OK(tvmffi_append(tvmffi_obj(list), item));
  }
  CHECK_INT(n, 52);
  n = 0;
  TVMFFI_FOREACH(any, item, tvmffi_obj(list)) { /* and shrinks */
    CHECK_INT(item.type_index, kTVMFFIInt);
    OK(tvmffi_erase(tvmffi_obj(list), tvmffi_int(0)));
    ++n;
  }
  CHECK_INT(n, 26);
}

static void test_bad_containers(TVMFFI_HERE) {
  const char absent[5] = {'a', 'b', '\xFF', 'c', 'd'}; /* and no NUL */
  TVMFFIByteArray bytes = {absent, sizeof(absent)};
  TVMFFIAny items[4], any = tvmffi_none(), none = tvmffi_none();
  TVMFFIObject *list, *map, *array, *found;
  int64_t n = 0;
  int i;
  for (i = 0; i < 4; ++i) items[i] = tvmffi_int(i);
  OK((list = tvmffi_list(tvmffi_int(1))) ? 0 : -1);
  OK((array = tvmffi_array(tvmffi_int(1))) ? 0 : -1);
  OK((map = tvmffi_map_from(items, 4)) ? 0 : -1);
  FAILS(!tvmffi_map_from(items, 3), "ValueError",
        "ffi.Map needs a value for each key, but got 3 in all");
  FAILS(!tvmffi_dict(none), "ValueError",
        "ffi.Dict needs a value for each key, but got 1 in all");
  FAILS(!tvmffi_list_from(NULL, 1), "ValueError",
        "...ffi.List cannot be made of 1 items at ");
  FAILS(!tvmffi_list_from(items, -1), "ValueError", NULL);
  FAILS(!tvmffi_list_from(items, (int64_t)1 << 40), "ValueError", NULL);
  FAILS(!tvmffi_shape(tvmffi_str("x")), "ValueError",
        "Expect shape to take list of int arguments");
  FAILS(tvmffi_size(none) < 0, "TypeError",
        "tvmffi_size: expected a container, but got `None`");
  FAILS(tvmffi_size(tvmffi_int(3)) < 0, "TypeError",
        "tvmffi_size: expected a container, but got `int`");
  FAILS(tvmffi_at(tvmffi_obj(map), 0, &any), "TypeError",
        "tvmffi_at: expected an array, list or shape, but got `ffi.Map`");
  FAILS(tvmffi_at(tvmffi_obj(list), 1, &any), "IndexError",
        "Index 1 out of bounds 1");
  FAILS(tvmffi_at(tvmffi_obj(list), -1, &any), "IndexError",
        "Index -1 out of bounds 1");
  FAILS(tvmffi_get(none, tvmffi_int(0), tvmffi_out_any(&any)), "TypeError",
        "tvmffi_get: expected a container, but got `None`");
  FAILS(tvmffi_get(tvmffi_obj(list), tvmffi_str("a"), tvmffi_out_any(&any)),
        "TypeError",
        "expected an index into `ffi.List`, but got `const char*`");
  FAILS(tvmffi_get(tvmffi_obj(list), tvmffi_int(7), tvmffi_out_any(&any)),
        "IndexError", "Index 7 out of bounds 1");
  FAILS(tvmffi_erase(tvmffi_obj(list), tvmffi_uint(UINT64_MAX)),
        "OverflowError", NULL);
  FAILS(tvmffi_get(tvmffi_obj(list), tvmffi_uint(UINT64_MAX),
                   tvmffi_out_any(&any)),
        "OverflowError", NULL);
  FAILS(tvmffi_pop(tvmffi_obj(list), tvmffi_uint(UINT64_MAX),
                   tvmffi_out_any(&any)),
        "OverflowError", NULL);
  FAILS(tvmffi_get(tvmffi_obj(map), tvmffi_int(7), tvmffi_out_any(&any)),
        "KeyError", "key is not in Map: 7");
  FAILS(tvmffi_get(tvmffi_obj(map), tvmffi_int(7), tvmffi_out_int64(&n),
                   tvmffi_str("seven")),
        "TypeError", "[7]: Cannot convert from type `ffi.SmallStr` to `int`");
  FAILS(tvmffi_get(tvmffi_obj(map), tvmffi_str("a key"), tvmffi_out_int64(&n),
                   tvmffi_str("seven")),
        "TypeError",
        "[\"a key\"]: Cannot convert from type `ffi.SmallStr` to `int`");
  found = map;
  OK(tvmffi_get(tvmffi_obj(map), tvmffi_int(7), tvmffi_out_object(&found),
                tvmffi_none()));
  CHECK(found == NULL);
  FAILS(tvmffi_get(tvmffi_obj(map), tvmffi_str("a key"), tvmffi_out_any(&any)),
        "KeyError", "key is not in Map: a key");
  FAILS(tvmffi_get(tvmffi_obj(map), tvmffi_bytes(&bytes), tvmffi_out_any(&any)),
        "KeyError", "key is not in Map");
  FAILS(tvmffi_get(tvmffi_obj(map), none, tvmffi_out_any(&any)), "KeyError",
        "key is not in Map");
  FAILS(tvmffi_get(tvmffi_obj(map), tvmffi_int(7), tvmffi_out_any(&any),
                   tvmffi_uint(UINT64_MAX)),
        "OverflowError", NULL);
  FAILS(tvmffi_append(tvmffi_obj(list), tvmffi_uint(UINT64_MAX)),
        "OverflowError", NULL);
  FAILS(!tvmffi_list(tvmffi_uint(UINT64_MAX)), "OverflowError", NULL);
  FAILS(tvmffi_contains(tvmffi_int(1), none) < 0, "TypeError", NULL);
  FAILS(tvmffi_append(tvmffi_obj(array), none), "TypeError",
        "tvmffi_append: expected a list, but got `ffi.Array`");
  FAILS(tvmffi_set(tvmffi_obj(map), none, none), "TypeError",
        "tvmffi_set: expected a list or dict, but got `ffi.Map`");
  FAILS(tvmffi_set(tvmffi_obj(list), tvmffi_int(1), none), "IndexError", NULL);
  FAILS(tvmffi_erase(tvmffi_obj(array), tvmffi_int(0)), "TypeError", NULL);
  FAILS(tvmffi_erase(tvmffi_obj(list), tvmffi_int(1)), "IndexError", NULL);
  FAILS(tvmffi_pop(tvmffi_obj(map), none, tvmffi_out_any(&any)), "TypeError",
        "tvmffi_pop: expected a list or dict, but got `ffi.Map`");
  n = 0;
  TVMFFI_FOREACH(any, x, none) n += x.type_index + 1;
  TVMFFI_FOREACH(any, x, tvmffi_obj(map)) n += x.type_index + 1;
  TVMFFI_FOREACH_ITEM(any, k, any, v, none)
  n += k.type_index + v.type_index + 1;
  TVMFFI_FOREACH_ITEM(any, k, any, v, tvmffi_obj(list))
  n += k.type_index + v.type_index;
  CHECK_INT(n, 0);
  /* Why there is no container stays the error. */
  (void)TVMFFI_RAISE("KeyError", "the reason");
  FAILS(tvmffi_append(none, none), "KeyError", "the reason");
}

static int test_fill_scope(TVMFFI_HERE, TVMFFIObject **out) {
  TVMFFIObject *list = tvmffi_list(), *array, *got = NULL;
  int i;
  if (!list) return -1;
  for (i = 0; i < 40; ++i) {
    array = tvmffi_array(tvmffi_int(i), tvmffi_obj(list));
    if (!array) return -1;
    TVMFFI_TRY(
        tvmffi_get(tvmffi_obj(array), tvmffi_int(1), tvmffi_out_object(&got)));
    CHECK(got == list);
  }
  array = tvmffi_array(tvmffi_int(1));
  if (!array) return -1;
  TVMFFI_FOREACH(any, item, tvmffi_obj(array)) {
    CHECK_INT(item.v_int64, 1);
    TVMFFI_TRY(tvmffi_append(tvmffi_obj(list), item));
    CHECK_INT(tvmffi_scope_count(kTVMFFIArray), 41);
    CHECK_INT(tvmffi_scope_count(kTVMFFIList), 41);
    tvmffi_keep(out, list);
    return 0;
  }
  return -1;
}

/* A loop owns what its body sees, and converts it. */
static void test_typed_loops(TVMFFI_HERE) {
  TVMFFIObject *list =
      tvmffi_list(tvmffi_int(1), tvmffi_bool(1), tvmffi_int(40));
  TVMFFIObject *map = tvmffi_map(tvmffi_str("first"), tvmffi_int(1),
                                 tvmffi_str("the second key"), tvmffi_int(2));
  TVMFFIObject *objects = tvmffi_list(tvmffi_obj(tvmffi_list(tvmffi_int(7))));
  int64_t sum = 0, steps = 0;
  size_t length = 0;
  if (!objects) { /* a failed maker marks the scope for those after it */
    OK(-1);
    return;
  }
  TVMFFI_FOREACH(int64, x, tvmffi_obj(list)) sum += x;
  CHECK_INT(sum, 42);
  TVMFFI_FOREACH(uint8, x, tvmffi_obj(list)) {
    if (x == 40) break;
    ++steps;
  }
  CHECK_INT(steps, 2);
  TVMFFI_FOREACH_ITEM(str, name, int64, x, tvmffi_obj(map)) {
    if (x == 1) continue;
    length += name.size;
  }
  CHECK_INT(length, 14);
  TVMFFI_FOREACH_ITEM(any, name, any, x, tvmffi_obj(map)) {
    CHECK_INT(x.v_int64, 1);
    CHECK_INT(name.small_str_len, 5);
    break;
  }
  steps = 0;
  TVMFFI_FOREACH(array, x, tvmffi_obj(objects)) steps = x->type_index;
  if (steps != kTVMFFIArray) { /* no memory for the converted list */
    OK(-1);
    return;
  }
  TVMFFI_FOREACH(object, x, tvmffi_obj(objects)) {
    if (TVMFFI_I_CLEANUP) OK(tvmffi_erase(tvmffi_obj(objects), tvmffi_int(0)));
    CHECK_INT(x->type_index, kTVMFFIList);
    CHECK_INT(tvmffi_size(tvmffi_obj(x)), 1);
  }
  OK(tvmffi_append(tvmffi_obj(objects), tvmffi_none()));
  TVMFFI_FOREACH(object, x, tvmffi_obj(objects)) (void)x;
  FAILS(-1, "TypeError",
        "...Cannot convert from type `None` to `ffi.Object`");
  OK(tvmffi_append(tvmffi_obj(list), tvmffi_str("no number")));
  sum = 0;
  TVMFFI_FOREACH(int64, x, tvmffi_obj(list)) sum += x;
  CHECK_INT(sum, 42);
  FAILS(-1, "TypeError", "[3]: Cannot convert from type `ffi.String` to `int`");
  TVMFFI_FOREACH_ITEM(str, name, str, x, tvmffi_obj(map)) {
    CHECK(name.size == x.size && 0);
  }
  FAILS(-1, "TypeError",
        "[\"first\"]: Cannot convert from type `int` to `str`");
  steps = 0;
  TVMFFI_FOREACH_ITEM(int64, key, any, x, tvmffi_obj(map)) {
    CHECK(key == x.v_int64 && 0);
    ++steps;
  }
  CHECK_INT(steps, 0);
  FAILS(-1, "TypeError",
        "[\"first\"]: Cannot convert from type `ffi.SmallStr` to `int`");
}

static void test_scoped_containers(TVMFFI_HERE) {
  TVMFFIObject *list = NULL;
  tvmffi_scope scope;
  int code = test_fill_scope(tvmffi_scope_open(&scope), &list);
  tvmffi_scope_close(&scope);
  OK(code);
  OWN(list);
  CHECK_INT(test_strong(list), 1);
}
#endif
#endif

static const test_case test_container_cases[] = {
#if !TEST_NO_TYPED
#if !TVMFFI_NO_CONTAINERS
    {"containers: made and read", test_made_containers},
    {"containers: entries in order", test_entries},
    {"containers: entries that are replaced", test_replaced_entries},
    {"containers: loops over objects", test_object_loops},
    {"containers: plain objects as values", test_plain_objects},
    {"containers: lists that change", test_changed_lists},
    {"containers: unusual keys", test_unusual_keys},
    {"containers: loops over typed values", test_typed_loops},
    {"containers: mistakes", test_bad_containers},
    {"containers: in a scope", test_scoped_containers},
#endif
#endif
    {NULL, NULL}};
