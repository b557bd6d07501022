/* ======== Maps: maps and dicts ============================================ */

#pragma once

#include "harness.h"
#include "thread.h"

#if !TEST_NO_MAPS && !TVMFFI_NO_CONTAINERS

#define MAP_DO(name, ...) \
  tvmffi_call(tvmffi_str("ffi." name), tvmffi_out_any(NULL), __VA_ARGS__)

/* A dict or map that the test owns; NULL when memory is refused. */
static TVMFFIObject *test_map(int32_t index, size_t capacity) {
  TVMFFIObject *map = tvmffi_i_new_map(index, capacity);
  if (map)
    test_own(map);
  else
    (void)test_code(-1, __FILE__, __LINE__, "tvmffi_i_new_map ");
  return map;
}

/* What the dicts of the tests are compared with: numbers of keys in order. */
enum { TEST_KEYS = 600 };
typedef struct {
  int key[TEST_KEYS], value[TEST_KEYS], count;
} test_model;

static int test_model_at(const test_model *model, int key) {
  int i = 0;
  while (i < model->count && model->key[i] != key) ++i;
  return i;
}

static void test_model_erase(test_model *model, int i) {
  for (--model->count; i < model->count; ++i) {
    model->key[i] = model->key[i + 1];
    model->value[i] = model->value[i + 1];
  }
}

static void test_model_set(test_model *model, int key, int value, int last) {
  int i = test_model_at(model, key);
  if (i < model->count && last) test_model_erase(model, i);
  if (i == model->count || last) i = model->count++;
  model->key[i] = key;
  model->value[i] = value;
}

/* Key number n as a view into `text`: an integer, or a short or long text. */
static TVMFFIAny test_map_key(int n, char *text) {
  static const char start[] = "a text that is long: ";
  size_t at = 0;
  if (n % 3 == 0) return tvmffi_int(n);
  if (n % 3 == 1) {
    memcpy(text, start, sizeof(start) - 1);
    at = sizeof(start) - 1;
  }
  text[at++] = (char)('a' + n / 26 % 26);
  text[at++] = (char)('a' + n % 26);
  text[at] = 0;
  return tvmffi_str(text);
}

/* The entries are those of the model in order, and each key is found. */
static void test_same_as_model(TVMFFIObject *map, const test_model *model) {
  size_t at = tvmffi_i_map_begin(map);
  const tvmffi_i_pair *pair;
  char text[40];
  int i;
  CHECK_INT(tvmffi_i_map_size(map), model->count);
  for (i = 0; i < model->count; ++i) {
    TVMFFIAny key = test_map_key(model->key[i], text), small = key;
    const TVMFFIAny *value = tvmffi_i_map_get(map, &key);
    if (model->key[i] % 3 == 2) OK(TVMFFIAnyViewToOwnedAny(&key, &small));
    CHECK(tvmffi_i_map_get(map, &small) == value);
    pair = tvmffi_i_map_pair(map, at);
    if (!CHECK(pair && value == &pair->value)) return;
    CHECK_INT(value->v_int64, model->value[i]);
    at = tvmffi_i_map_after(map, at);
  }
  CHECK(tvmffi_i_map_pair(map, at) == NULL);
}

static int test_is_row(TVMFFIObject *map) {
  return tvmffi_i_map_is_row((tvmffi_i_map_object *)(void *)map);
}

/* Sets and erases at random. What is refused leaves the dict as it was. */
static void test_random_map(int32_t index, int keys, int steps) {
  TVMFFIObject *map = test_map(index, 0);
  test_model model;
  uint32_t random = 12345;
  char text[40];
  int step, at;
  model.count = 0;
  if (!map) return;
  for (step = 0; step < steps; ++step) {
    TVMFFIAny key, value = tvmffi_int(step);
    int n, code, erase;
    random = random * 1664525u + 1013904223u;
    n = (int)(random >> 8) % keys;
    erase = (random >> 4) % 16 < (step / keys % 2 ? 12u : 4u);
    key = test_map_key(n, text);
    code = erase ? tvmffi_i_map_erase(map, &key)
                 : tvmffi_i_map_set(map, &key, &value);
    if (test_code(code, __FILE__, __LINE__, "a change ")) break;
    at = test_model_at(&model, n);
    if (!erase)
      test_model_set(&model, n, step, !test_is_row(map));
    else if (at < model.count)
      test_model_erase(&model, at);
    if (step % 64 == 0) test_same_as_model(map, &model);
  }
  test_same_as_model(map, &model);
}

static void test_small_maps(TVMFFI_HERE) {
  int keys;
  for (keys = 1; keys < 12; ++keys)
    test_random_map(keys % 2 ? kTVMFFIMap : kTVMFFIDict, keys,
                    test_scale(400, 40));
}

/* A position behind the last entry, or of an entry that was removed, has no
   entry and is the last. */
static void test_lost_position(TVMFFI_HERE) {
  TVMFFIObject *dict = tvmffi_dict();
  size_t at;
  int64_t i;
  OK(dict ? 0 : -1);
  for (i = 0; i < 20; ++i)
    OK(tvmffi_set(tvmffi_obj(dict), tvmffi_int(i), tvmffi_int(i)));
  at = tvmffi_i_map_begin(dict);
  CHECK(tvmffi_i_map_pair(dict, at) != NULL);
  OK(tvmffi_erase(tvmffi_obj(dict), tvmffi_int(0)));
  CHECK(tvmffi_i_map_pair(dict, TVMFFI_I_MAP_END) == NULL);
  CHECK(tvmffi_i_map_after(dict, TVMFFI_I_MAP_END) == TVMFFI_I_MAP_END);
}

static void test_large_maps(TVMFFI_HERE) {
  test_random_map(kTVMFFIDict, TEST_KEYS, test_scale(6000, 700));
  test_random_map(kTVMFFIMap, TEST_KEYS / 4, test_scale(3000, 300));
}

/* A table is as full as it gets, so that chains have to give way and growing
   fails halfway. */
static void test_capacity(TVMFFI_HERE) {
  static const int capacity[] = {0, 1, 3, 4, 5, 7, 8, 100};
  size_t made;
  int i, n;
  for (i = 0; i < TEST_COUNT(capacity); ++i) {
    TVMFFIObject *map = test_map(kTVMFFIDict, capacity[i]);
    if (!map) return;
    CHECK(test_is_row(map) == (capacity[i] <= 4));
    for (n = 0; n < 130; ++n) {
      TVMFFIAny key = tvmffi_int(n * 1000);
      OK(tvmffi_i_map_set(map, &key, &key));
      if (n < 4) CHECK(test_is_row(map) == (capacity[i] <= 4));
    }
    CHECK_INT(tvmffi_i_map_size(map), 130);
    OK(tvmffi_i_map_clear_in(tvmffi_i_map_of(map)));
    CHECK_INT(tvmffi_i_map_of(map)->num_slots, 256); /* the table remains */
  }
  /* Entries fill at most 7/8 of the slots that they get at once. */
  for (i = 8; i <= 256; i *= 2) {
    CHECK_INT(tvmffi_i_map_slots((size_t)(i - i / 8)), i);
    CHECK_INT(tvmffi_i_map_slots((size_t)(i - i / 8 + 1)), 2 * i);
  }
  made = test_get(&test_made);
  if (!test_map(kTVMFFIDict, 14) || TVMFFI_DEBUG) return;
  CHECK(test_get(&test_made) - made <= 1); /* 16 slots are in the object */
}

static void test_map_functions(TVMFFI_HERE) {
  TVMFFIAny args[4], got = tvmffi_none(), one = tvmffi_int(1);
  TVMFFIObject *make = test_global("ffi.Map"), *map;
  int64_t n = -1;
  if (!make) return;
  args[0] = tvmffi_str("a key that is long");
  args[1] = tvmffi_int(5);
  args[2] = args[0];
  args[3] = tvmffi_int(6);
  FAILS(TVMFFIFunctionCall(make, args, 1, &got), "InternalError",
        "Check failed: args.size() % 2 == 0 (1 vs. 0) : ");
  OK(TVMFFIFunctionCall(make, args, 4, &got));
  OWN_ANY(got);
  map = got.v_obj;
  OK(tvmffi_call(tvmffi_str("ffi.MapSize"), tvmffi_out_int64(&n), got));
  CHECK_INT(n, 1);
  OK(tvmffi_call(tvmffi_str("ffi.MapGetItem"), tvmffi_out_int64(&n), got,
                 args[0]));
  CHECK_INT(n, 6);
  FAILS(MAP_DO("MapGetItem", got, one), "KeyError", "key is not in Map");
  FAILS(MAP_DO("DictGetItem", got, one), "TypeError",
        "Mismatched type on argument #0 when calling: `ffi.DictGetItem(0: "
        "ffi.Dict, 1: Any) -> Any`. Expected `ffi.Dict` but got `ffi.Map`");
  FAILS(MAP_DO("DictClear", one), "TypeError",
        "...`ffi.DictClear(0: Dict<Any, Any>) -> void`. Expected `Dict<Any, "
        "Any>` but got `int`");
  OK(tvmffi_call(tvmffi_str("ffi.MapCount"), tvmffi_out_int64(&n), got, one));
  CHECK_INT(n, 0);
  OK(tvmffi_call(tvmffi_str("ffi.MapGetItemOrMissing"), tvmffi_out_any(&got),
                 tvmffi_obj(map), one));
  CHECK(got.v_obj == &tvmffi_i_invalid_object);
  /* As upstream's, these change a copy of a map. */
  OK(MAP_DO("DictSetItem", tvmffi_obj(map), one, one));
  OK(MAP_DO("DictErase", tvmffi_obj(map), args[0]));
  OK(MAP_DO("DictClear", tvmffi_obj(map)));
  CHECK_INT(tvmffi_i_map_size(map), 1);
}

static void test_dict_functions(TVMFFI_HERE) {
  TVMFFIAny got = tvmffi_none(), one = tvmffi_int(1), dict, list;
  TVMFFIObject *make = test_global("ffi.Dict"),
               *lists = test_global("ffi.List");
  TVMFFIAny pair[2];
  int64_t n = -1;
  if (!make || !lists) return;
  pair[0] = pair[1] = one;
  OK(TVMFFIFunctionCall(make, pair, 2, &got));
  OWN_ANY(got);
  dict = got;
  OK(tvmffi_call(tvmffi_str("ffi.DictSize"), tvmffi_out_int64(&n), dict));
  CHECK_INT(n, 1);
  OK(tvmffi_call(tvmffi_str("ffi.DictCount"), tvmffi_out_int64(&n), dict, one));
  CHECK_INT(n, 1);
  OK(tvmffi_call(tvmffi_str("ffi.DictGetItemOrMissing"), tvmffi_out_int64(&n),
                 dict, one));
  CHECK_INT(n, 1);
  OK(MAP_DO("DictErase", dict, one));
  OK(tvmffi_call(tvmffi_str("ffi.DictGetItemOrMissing"), tvmffi_out_any(&got),
                 dict, one));
  CHECK(got.v_obj == &tvmffi_i_invalid_object);
  OK(tvmffi_call(tvmffi_str("ffi.DictCount"), tvmffi_out_int64(&n), dict, one));
  CHECK_INT(n, 0);
  OK(MAP_DO("DictErase", dict, one));
  OK(MAP_DO("DictSetItem", dict, one, tvmffi_int(2)));
  OK(MAP_DO("DictClear", dict));
  OK(tvmffi_call(tvmffi_str("ffi.DictSize"), tvmffi_out_int64(&n), dict));
  CHECK_INT(n, 0);
  list = tvmffi_none();
  OK(TVMFFIFunctionCall(lists, pair, 2, &list));
  OWN_ANY(list);
  OK(tvmffi_call(tvmffi_str("ffi.ListSize"), tvmffi_out_int64(&n), list));
  CHECK_INT(n, 2);
}

/* The same text is the same key, however it comes. */
static void test_map_views(TVMFFI_HERE) {
  static const char *const texts[] = {"", "short", "1234567", "12345678",
                                      "a text that is rather long, to be sure"};
  TVMFFIObject *map = test_map(kTVMFFIDict, 0);
  int i, n;
  if (!map) return;
  for (n = 0; n < 6; ++n) {
    TVMFFIAny other = tvmffi_int(n);
    for (i = 0; i < TEST_COUNT(texts); ++i) {
      TVMFFIByteArray text = TEXT(texts[i]);
      TVMFFIAny key = tvmffi_str(texts[i]), bytes = tvmffi_bytes(&text);
      TVMFFIAny any, owned = tvmffi_none(), value = tvmffi_int(i);
      TVMFFIAny moved = tvmffi_none();
      tvmffi_i_string *s;
      OK(tvmffi_i_map_set(map, &key, &value));
      CHECK(tvmffi_i_map_get(map, &bytes) == NULL);
      OK(TVMFFIAnyViewToOwnedAny(&key, &owned));
      OWN_ANY(owned);
      CHECK(tvmffi_i_map_get(map, &owned) == tvmffi_i_map_get(map, &key));
      s = tvmffi_i_new_string(text.size, kTVMFFIStr);
      if (!s) {
        (void)test_code(-1, __FILE__, __LINE__, "a string ");
        return;
      }
      OWN(s);
      memcpy((void *)(s + 1), text.data, text.size);
      any = tvmffi_obj(s);
      CHECK(tvmffi_i_map_get(map, &any) == tvmffi_i_map_get(map, &key));
      moved.type_index = kTVMFFIObjectRValueRef;
      moved.v_ptr = (void *)&any.v_obj;
      CHECK(tvmffi_i_map_get(map, &moved) == tvmffi_i_map_get(map, &key));
      CHECK(tvmffi_i_map_get(map, &key) != NULL);
      OK(tvmffi_i_map_erase(map, &any));
      CHECK(tvmffi_i_map_get(map, &key) == NULL);
      CHECK(tvmffi_i_map_get(map, &owned) == NULL);
      OK(tvmffi_i_map_set(map, &any, &value)); /* held in the object */
      CHECK(tvmffi_i_map_get(map, &key) != NULL);
      CHECK(tvmffi_i_map_get(map, &owned) == tvmffi_i_map_get(map, &key));
      OK(tvmffi_i_map_erase(map, &owned));
      OK(tvmffi_i_map_set(map, &bytes, &value));
      OK(tvmffi_i_map_erase(map, &bytes));
    }
    other.zero_padding = 7; /* who leaves something there finds it again */
    OK(tvmffi_i_map_set(map, &other, &other));
    other.zero_padding = 0;
    CHECK(tvmffi_i_map_get(map, &other) != NULL);
    OK(tvmffi_i_map_set(map, &other, &other));
  }
  CHECK_INT(tvmffi_i_map_size(map), 6);
}

/* Texts of more than 64 bytes are keys by their bytes, and the value that means
   "unchanged" is a key like others. */
/* Texts of other lengths are other keys. Bytes are one key, in an object that
   another library made or in the key itself. */
static void test_short_map_keys(void) {
  TVMFFIByteArray text = TEXT("abc");
  TVMFFIObject *map = test_map(kTVMFFIDict, 0);
  TVMFFIAny key = tvmffi_str("12345678"), small;
  tvmffi_i_string *s;
  if (!map) return;
  s = tvmffi_i_new_string(3, kTVMFFIBytes);
  OK(s ? 0 : -1);
  OWN(s);
  OK(tvmffi_i_map_set(map, &key, &key));
  key = tvmffi_str("123456789");
  CHECK(tvmffi_i_map_get(map, &key) == NULL);
  key = tvmffi_str("abcdefghi");
  OK(tvmffi_i_map_set(map, &key, &key));
  key = tvmffi_str("abcdefgh");
  CHECK(tvmffi_i_map_get(map, &key) == NULL);
  memcpy((void *)(s + 1), text.data, text.size);
  key = tvmffi_obj(s);
  OK(tvmffi_i_map_set(map, &key, &key));
  OK(TVMFFIBytesFromByteArray(&text, &small));
  CHECK_INT(small.type_index, kTVMFFISmallBytes);
  CHECK(tvmffi_i_map_get(map, &small) != NULL);
}

static void test_rare_map_keys(TVMFFI_HERE) {
  TVMFFIObject *map = test_map(kTVMFFIDict, 8);
  TVMFFIAny key, one = tvmffi_int(1), unchanged = tvmffi_none();
  char text[101], same[101];
  test_short_map_keys();
  if (!map) return;
  memset(text, 'x', sizeof(text));
  text[100] = 0;
  key = tvmffi_str(text);
  OK(tvmffi_i_map_set(map, &key, &one));
  memcpy(same, text, sizeof(text));
  key = tvmffi_str(same);
  CHECK(tvmffi_i_map_get(map, &key) != NULL);
  same[99] = 'y';
  CHECK(tvmffi_i_map_get(map, &key) == NULL);
  unchanged.type_index = kTVMFFIUnchanged;
  CHECK(tvmffi_i_map_get(map, &unchanged) == NULL);
  OK(tvmffi_i_map_set(map, &unchanged, &one));
  CHECK(tvmffi_i_map_get(map, &unchanged) != NULL);
  CHECK_INT(tvmffi_i_map_size(map), 2);
}

static void test_bad_map_keys(TVMFFI_HERE) {
  TVMFFIObject *map = test_map(kTVMFFIDict, 0);
  TVMFFIAny key = tvmffi_none(), one = tvmffi_int(1);
  TVMFFIByteArray null = {NULL, 3};
  TVMFFIObject *gone = NULL;
  static const int32_t index[] = {kTVMFFIRawStr, kTVMFFIByteArrayPtr,
                                  kTVMFFIStr,    kTVMFFIBytes,
                                  kTVMFFIArray,  kTVMFFIObjectRValueRef};
  int i;
  if (!map) return;
  for (i = 0; i < TEST_COUNT(index); ++i) {
    key.type_index = index[i];
    FAILS(tvmffi_i_map_set(map, &key, &one) != 0,
          index[i] == kTVMFFIObjectRValueRef ? "InternalError" : "ValueError",
          NULL);
    FAILS(tvmffi_i_map_erase(map, &key) != 0,
          index[i] == kTVMFFIObjectRValueRef ? "InternalError" : "ValueError",
          NULL);
    FAILS(tvmffi_i_map_set(map, &one, &key) != 0,
          index[i] == kTVMFFIObjectRValueRef ? "InternalError" : "ValueError",
          NULL);
  }
  key.type_index = kTVMFFIByteArrayPtr;
  key.v_ptr = &null;
  FAILS(tvmffi_i_map_set(map, &key, &one), "ValueError",
        "...is NULL instead of 3 bytes");
  key.type_index = kTVMFFIObjectRValueRef;
  key.v_ptr = &gone;
  FAILS(tvmffi_i_map_set(map, &key, &one), "InternalError",
        "RValueRef already moved");
  CHECK_INT(tvmffi_i_map_size(map), 0);
  FAILS(tvmffi_i_new_map(kTVMFFIDict, SIZE_MAX / 16) == NULL, "MemoryError",
        NULL);
}

/* A map whose last strong reference ends releases its entries, and its memory
   with the last weak reference. */
static void test_map_weak(TVMFFI_HERE) {
  int size, i;
  for (size = 1; size < 20; size += 6) {
    TVMFFIObject *kept = test_map(kTVMFFIDict, 0), *map;
    TVMFFIAny value, key;
    int code = 0;
    if (!kept) return;
    map = tvmffi_i_new_map(kTVMFFIMap, 0);
    OK(map ? 0 : -1);
    value = tvmffi_obj(kept);
    for (i = 0; i < size && !code; ++i) {
      key = tvmffi_int(i);
      code = tvmffi_i_map_set(map, &key, &value);
    }
    tvmffi_weak_retain(map);
    CHECK_INT(test_strong(kept), code ? i : 1 + size);
    tvmffi_release(map);
    CHECK_INT(test_strong(kept), 1);
    CHECK(!tvmffi_weak_lock(map));
    tvmffi_weak_release(map);
    OK(code);
  }
}

/* A copy holds each key and value of a row and of a table, whose first slot is
   in use at times. */
static void test_map_copies(TVMFFI_HERE) {
  int size, i, has_first = 0;
  for (size = 1; size < 100; size *= 3) {
    TVMFFIObject *map = test_map(kTVMFFIDict, 0), *copy;
    TVMFFIObject *kept = test_map(kTVMFFIDict, 0);
    TVMFFIAny key, value = tvmffi_obj(kept);
    if (!map || !kept) return;
    for (i = 1; i < size; ++i) {
      key = tvmffi_int(i);
      OK(tvmffi_i_map_set(map, &key, &value));
    }
    OK(tvmffi_i_map_set(map, &value, &value));
    copy = tvmffi_i_map_copy(map, kTVMFFIMap);
    OK(copy ? 0 : -1);
    has_first |= size > TVMFFI_I_MAP_ROW_MAX && tvmffi_i_map_pair(copy, 0);
    CHECK_INT(test_strong(kept), 3 + 2 * size);
    tvmffi_release(copy);
    CHECK_INT(test_strong(kept), 2 + size);
  }
  CHECK(has_first);
}

/* A cursor stays at the end, in a row and in a table. */
static void test_map_cursor(TVMFFI_HERE) {
  int size, i;
  for (size = 0; size < 12; size += 3) {
    TVMFFIObject *map = test_map(kTVMFFIDict, 0);
    tvmffi_i_children c;
    TVMFFIAny key;
    if (!map) return;
    for (i = 0; i < size; ++i) {
      key = tvmffi_int(i);
      OK(tvmffi_i_map_set(map, &key, &key));
    }
    tvmffi_i_children_open(&c, map, NULL);
    for (i = 0; i < 2 * size; ++i) {
      const TVMFFIAny *child = tvmffi_i_next_in_container(&c);
      CHECK(child && child->v_int64 == i / 2);
    }
    for (i = 0; i < 3; ++i) CHECK(!tvmffi_i_next_in_container(&c));
  }
}

/* A table without slots, as upstream's code leaves it when it moves the slots
   to another map, is empty and gets slots for the first key. */
static void test_map_without_slots(TVMFFI_HERE) {
  TVMFFIObject *map = test_map(kTVMFFIDict, 0), *copy;
  tvmffi_i_map_object *m = tvmffi_i_map_of(map);
  TVMFFIAny key = tvmffi_int(5);
  if (!map) return;
  m->data = NULL;
  m->num_slots = 0;
  m->fib_shift = 63;
  m->head = m->tail = 200;
  CHECK(tvmffi_i_map_get(map, &key) == NULL);
  CHECK(tvmffi_i_map_pair(map, tvmffi_i_map_begin(map)) == NULL);
  OK(tvmffi_i_map_erase(map, &key));
  OK(tvmffi_i_map_clear_in(m));
  copy = tvmffi_i_map_copy(map, kTVMFFIMap);
  OK(copy ? 0 : -1);
  OWN(copy);
  CHECK_INT(tvmffi_i_map_size(copy), 0);
  OK(tvmffi_i_map_set(map, &key, &key));
  CHECK_INT(tvmffi_i_map_size(map), 1);
  CHECK(tvmffi_i_map_begin(map) == m->tail && m->tail < m->num_slots);
  CHECK_INT(tvmffi_i_map_get(map, &key)->v_int64, 5);
}

/* An iterator holds its map, ends where it ends, and bears any change. */
static void test_map_iterators(TVMFFI_HERE) {
  int size, command, i;
  for (size = 0; size < 12; size += 3) {
    TVMFFIObject *map = test_map(kTVMFFIDict, 0);
    TVMFFIAny f = tvmffi_none(), got = tvmffi_none(), key;
    if (!map) return;
    for (i = 0; i < size; ++i) {
      key = tvmffi_int(i);
      OK(tvmffi_i_map_set(map, &key, &key));
    }
    OK(tvmffi_call(tvmffi_str("ffi.DictForwardIterFunctor"), tvmffi_out_any(&f),
                   tvmffi_obj(map)));
    CHECK_INT(test_strong(map), 2);
    FAILS(tvmffi_call(f, tvmffi_out_any(NULL), tvmffi_str("x")), "TypeError",
          "Mismatched type on argument #0 when calling: `(0: int) -> Any`. "
          "Expected `int` but got `const char*`");
    for (i = 0; i < size; ++i) {
      OK(tvmffi_call(f, tvmffi_out_any(&got), tvmffi_int(i % 2)));
      CHECK_INT(got.v_int64, i);
      OK(tvmffi_call(f, tvmffi_out_any(&got), tvmffi_int(2)));
      CHECK_INT(got.v_int64, i + 1 < size);
    }
    for (command = 0; command < 2; ++command)
      FAILS(tvmffi_call(f, tvmffi_out_any(NULL), tvmffi_int(command)),
            "IndexError", "The iterator is at the end of the map");
    OK(tvmffi_call(f, tvmffi_out_any(&got), tvmffi_int(2)));
    CHECK_INT(got.v_int64, 0);
    OK(tvmffi_call(tvmffi_str("ffi.DictForwardIterFunctor"), tvmffi_out_any(&f),
                   tvmffi_obj(map)));
    for (i = 0; i < 40; ++i) {
      key = tvmffi_int(i * 7 % 20);
      if (i % 3)
        OK(tvmffi_i_map_set(map, &key, &key));
      else
        OK(tvmffi_i_map_erase(map, &key));
      if (i == 30) OK(MAP_DO("DictClear", tvmffi_obj(map)));
      for (command = 0; command < 3; ++command)
        if (tvmffi_call(f, tvmffi_out_any(NULL), tvmffi_int(command)))
          tvmffi_error_clear();
    }
  }
}

/* A deleter that uses the dict its object was in. */
static TVMFFIObject *test_used_map;
static void test_use_map(void *handle) {
  TVMFFIAny key = tvmffi_int((int64_t)(intptr_t)handle), value = tvmffi_int(1);
  if (tvmffi_i_map_get(test_used_map, &key)) test_say('!');
  if (tvmffi_i_map_set(test_used_map, &key, &value) ||
      tvmffi_i_map_erase(test_used_map, &value))
    tvmffi_error_clear();
}

static int test_fill_with_users(TVMFFIObject *map, int n) {
  int i, failed = 0;
  for (i = 0; i < n && !failed; ++i) {
    TVMFFIAny key = tvmffi_int(i), value;
    TVMFFIObjectHandle o = NULL;
    failed = test_code(
        TVMFFIObjectCreateOpaque((void *)(intptr_t)i, kTVMFFIOpaquePyObject,
                                 test_use_map, &o),
        __FILE__, __LINE__, "an object ");
    if (failed) break;
    value = tvmffi_obj(o);
    failed = test_code(tvmffi_i_map_set(map, &key, &value), __FILE__, __LINE__,
                       "an entry ");
    tvmffi_release((TVMFFIObject *)o);
  }
  return failed;
}

static void test_map_deleters(TVMFFI_HERE) {
  int n, way, i;
  for (n = 1; n < 40; n += n < 3 ? 1 : 6) {
    for (way = 0; way < 3; ++way) {
      TVMFFIObject *map = test_map(kTVMFFIDict, 0);
      TVMFFIAny key, value = tvmffi_int(0);
      if (!map) return;
      test_used_map = map;
      if (!test_fill_with_users(map, n)) {
        for (i = 0; i < n && way < 2; ++i) {
          key = tvmffi_int(i);
          if (test_code(way ? tvmffi_i_map_set(map, &key, &value)
                            : tvmffi_i_map_erase(map, &key),
                        __FILE__, __LINE__, ""))
            break;
        }
      }
      for (i = 0; i < 2; ++i)
        CHECK_INT(tvmffi_i_map_clear_in(tvmffi_i_map_of(map)), 0);
      CHECK_INT(tvmffi_i_map_size(map), 0);
      test_drop(map);
    }
  }
  test_log_size = 0;
}

/* Dicts in dicts, as values and as keys, are destroyed at any depth. */
static void test_deep_maps(TVMFFI_HERE) {
  int i, n = test_scale(test_chain, 50);
  TVMFFIAny last = tvmffi_int(1), one = tvmffi_int(1);
  for (i = 0; i < n; ++i) {
    TVMFFIObject *map =
        tvmffi_i_new_map(i % 3 ? kTVMFFIDict : kTVMFFIMap, i % 5 ? 0 : 5);
    int code = -1;
    if (map)
      code = i % 7 ? tvmffi_i_map_set(map, &one, &last)
                   : tvmffi_i_map_set(map, &last, &one);
    if (test_code(code, __FILE__, __LINE__, "a nest ")) {
      tvmffi_release(map);
      break;
    }
    tvmffi_any_release(&last);
    last = tvmffi_obj(map);
  }
  tvmffi_any_release(&last);
}

static void test_map_in_itself(TVMFFI_HERE) {
  int size, i;
  for (size = 0; size < 7; ++size) {
    TVMFFIObject *map = test_map(kTVMFFIDict, 0);
    TVMFFIAny self, key = tvmffi_str("itself");
    DLDevice device = {kDLCUDA, 1};
    if (!map) return;
    self = tvmffi_obj(map);
    for (i = 0; i < size; ++i) {
      TVMFFIAny n = tvmffi_int(i);
      OK(tvmffi_i_map_set(map, &n, &n));
    }
    OK(tvmffi_i_map_set(map, &key, &self));
    if (!test_code(tvmffi_i_map_set(map, &self, &self), __FILE__, __LINE__,
                   "")) {
      CHECK(tvmffi_i_map_get(map, &self)->v_obj == map);
      if (!test_code(
              tvmffi_call(tvmffi_str("ffi.ContainerFindFirstNonCPUDevice"),
                          tvmffi_out_device(&device), self),
              __FILE__, __LINE__, ""))
        CHECK(device.device_type == kDLCPU && device.device_id == 0);
    }
    CHECK_INT(tvmffi_i_map_erase(map, &self), 0);
    CHECK_INT(tvmffi_i_map_erase(map, &key), 0);
    CHECK(test_strong(map) == 1 && tvmffi_i_map_size(map) == size);
  }
}

/* A type whose hash and equality fail, change the map, or say the same of
   all. */
enum {
  TEST_HOOK_GOOD,
  TEST_HOOK_FAILS,
  TEST_HOOK_CHANGES,
  TEST_HOOK_THROWS /* only in C++ */
};
static int test_hash_mode, test_equal_mode, test_hash_range;
static TVMFFIObject *test_hooked_map;

static TVMFFIAny test_hook(int mode, TVMFFIAny good) {
  TVMFFIAny one = tvmffi_int(1);
  TVMFFIObject *error;
#if defined(__cplusplus) && defined(__cpp_exceptions)
  if (mode == TEST_HOOK_THROWS) throw 1;
#endif
  if (mode == TEST_HOOK_FAILS) {
    (void)TVMFFI_RAISE("ValueError", "the hook says no");
  } else if (mode != TEST_HOOK_CHANGES ||
             !tvmffi_i_map_set(test_hooked_map, &one, &one)) {
    return good;
  }
  error = tvmffi_i_error_remove();
  return tvmffi_obj(error);
}
static TVMFFIAny test_map_hash(const TVMFFIAny *a) {
  int64_t n = ((int64_t *)(void *)(a->v_obj + 1))[0];
  return test_hook(test_hash_mode, tvmffi_int(n % test_hash_range));
}
static TVMFFIAny test_map_equal(const TVMFFIAny *a, const TVMFFIAny *b) {
  int64_t *x = (int64_t *)(void *)(a->v_obj + 1);
  int64_t *y = (int64_t *)(void *)(b->v_obj + 1);
  return test_hook(test_equal_mode, tvmffi_bool(*x == *y));
}

static TVMFFIAny test_hooked(int32_t index, int64_t n) {
  TVMFFIObject *o = (TVMFFIObject *)tvmffi_i_object(sizeof(*o) + 8, index,
                                                    tvmffi_i_delete_plain);
  if (o) *(int64_t *)(void *)(o + 1) = n;
  return tvmffi_obj(o);
}

static int32_t test_hooked_type(void) {
  static int32_t index;
  TVMFFIByteArray equal = TEXT("__any_equal__"), hash = TEXT("__any_hash__");
  TVMFFIAny value;
  TVMFFIByteArray key;
  if (index) return index;
  key = TEXT(test_fresh("test.Hooked"));
  index = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 0, kTVMFFIObject);
  value = tvmffi_ptr((void *)(uintptr_t)test_map_equal);
  if (index > 0 && !TVMFFITypeRegisterAttr(index, &equal, &value)) {
    value = tvmffi_ptr((void *)(uintptr_t)test_map_hash);
    if (!TVMFFITypeRegisterAttr(index, &hash, &value)) return index;
  }
  tvmffi_error_clear();
  index = 0;
  return index;
}

/* Returns a type with a hash but no equality of its own. Without memory returns
   kTVMFFIObject, with the error raised. */
static int32_t test_hash_type(void) {
  static int32_t index;
  TVMFFIByteArray hash = TEXT("__any_hash__"), key;
  TVMFFIAny value = tvmffi_ptr((void *)(uintptr_t)test_map_hash);
  if (index) return index;
  key = TEXT(test_fresh("test.Hash"));
  index = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 0, kTVMFFIObject);
  if (index > 0 && !TVMFFITypeRegisterAttr(index, &hash, &value)) return index;
  index = 0;
  return kTVMFFIObject;
}

static void test_map_hooks(TVMFFI_HERE) {
  static const int ranges[] = {1, 3, 1000};
  int32_t index = test_hooked_type();
  int range, n, hash_mode, equal_mode, count = test_scale(200, 16);
  if (!index) return;
  for (range = 0; range < 3; ++range) {
    TVMFFIObject *map = test_map(kTVMFFIDict, 0);
    if (!map) return;
    test_hooked_map = map;
    test_hash_range = ranges[range];
    for (n = 0; n < count; ++n) {
      TVMFFIAny key = test_hooked(index, n), value = tvmffi_int(n);
      int code = -1;
      if (key.v_obj) {
        for (hash_mode = 0; hash_mode < 3; ++hash_mode) {
          for (equal_mode = 0; equal_mode < 3; ++equal_mode) {
            int64_t size = tvmffi_i_map_size(map);
            test_hash_mode = hash_mode;
            test_equal_mode = equal_mode;
            if (!hash_mode && !equal_mode) continue;
            if (hash_mode == TEST_HOOK_CHANGES || tvmffi_i_map_get(map, &key))
              continue;
            tvmffi_error_clear();
            if (n % 4 == 0 && tvmffi_i_map_set(map, &key, &value) == 0)
              (void)tvmffi_i_map_erase(map, &key);
            tvmffi_error_clear();
            test_hash_mode = test_equal_mode = 0;
            if (tvmffi_i_map_size(map) != size)
              (void)tvmffi_i_map_erase(map, &key);
            tvmffi_error_clear();
            CHECK_INT(tvmffi_i_map_size(map), size);
          }
        }
        test_hash_mode = test_equal_mode = 0;
        code = tvmffi_i_map_set(map, &key, &value);
      }
      tvmffi_any_release(&key);
      if (test_code(code, __FILE__, __LINE__, "a hooked key ")) break;
    }
    for (n = 0; n < tvmffi_i_map_size(map); ++n) {
      TVMFFIAny key = test_hooked(index, n);
      const TVMFFIAny *value = key.v_obj ? tvmffi_i_map_get(map, &key) : NULL;
      if (key.v_obj && CHECK(value)) CHECK_INT(value->v_int64, n);
      tvmffi_any_release(&key);
      tvmffi_error_clear();
    }
  }
}

/* Returns an integer whose home slot is `spread` >> m->fib_shift. */
static TVMFFIAny test_int_at(uint64_t spread) {
  static const uint64_t golden = 0x9E3779B97F4A7C15u;
  uint64_t inverse = golden;
  int k;
  for (k = 0; k < 6; ++k) inverse *= 2 - golden * inverse;
  inverse *= spread; /* times golden is spread */
  return tvmffi_int((int64_t)((inverse ^ kTVMFFIInt) - 0x9e3779b9u -
                              (kTVMFFIInt << 6) - (kTVMFFIInt >> 2)));
}

/* Sets *key to the i-th key of one home slot: to a number, or to a string
   (owned by the caller) that may be small. Each kind repeats after 150 keys. */
static int test_crowded_key(int i, TVMFFIAny *key) {
  const int k = i / 4 % 150;
  uint64_t word[2];
  TVMFFIByteArray text;
  *key = test_int_at((uint64_t)k);
  if (i % 2 == 0) return 0;
  word[0] = (uint64_t)k + 1; /* one hash for all: see tvmffi_i_stable_hash */
  word[1] = 0 - word[0] * 1099511628211u;
  text.data = (const char *)word;
  text.size = i % 4 == 1 ? 16 : 7;
  return TVMFFIStringFromByteArray(&text, key);
}

/* Two maps have the same entries in the same order. */
static void test_same_entries(TVMFFIObject *one, TVMFFIObject *all) {
  const tvmffi_i_pair *x, *y;
  size_t at = tvmffi_i_map_begin(one), other = tvmffi_i_map_begin(all);
  CHECK_INT(tvmffi_i_map_size(all), tvmffi_i_map_size(one));
  while ((x = tvmffi_i_map_pair(one, at)) != NULL &&
         (y = tvmffi_i_map_pair(all, other)) != NULL) {
    CHECK(tvmffi_i_same_any(&x->key, &y->key));
    CHECK_INT(y->value.v_int64, x->value.v_int64);
    CHECK(tvmffi_i_map_get(all, &x->key) == &y->value);
    at = tvmffi_i_map_after(one, at);
    other = tvmffi_i_map_after(all, other);
  }
  CHECK(!tvmffi_i_map_pair(one, at) && !tvmffi_i_map_pair(all, other));
}

/* Filling a map at once has the result of setting one key after another, also
   if each key after `step` others is one of `few`, which have a hash and an
   equality of their own. */
static void test_filled_map(const TVMFFIAny *few, int num_few, int step) {
  enum { KEYS = 800 };
  static TVMFFIAny values[2 * KEYS];
  TVMFFIObject *one = test_map(kTVMFFIDict, 0), *all = test_map(kTVMFFIDict, 0);
  int i, code = 0, count = test_scale(KEYS, 560);
  if (!one || !all) return;
  for (i = 0; i < count && !code; ++i) {
    TVMFFIAny *key = &values[2 * i];
    if (i % step || !num_few)
      code = test_crowded_key(i, key);
    else
      tvmffi_i_copy_owned(&few[i / step % num_few], key);
    values[2 * i + 1] = tvmffi_int(i);
    if (!code) code = tvmffi_i_map_set(one, key, &values[2 * i + 1]);
  }
  if (!code)
    code = tvmffi_i_map_take(tvmffi_i_map_of(all), values, (size_t)(2 * i));
  while (i-- > 0) tvmffi_any_release(&values[2 * i]);
  OK(code);
  test_same_entries(one, all);
  one = tvmffi_i_map_copy(all, kTVMFFIMap);
  OK(one ? 0 : -1);
  OWN(one);
  test_same_entries(all, one);
  CHECK_INT(tvmffi_i_map_of(one)->tail, tvmffi_i_map_of(all)->tail);
  OK(tvmffi_i_map_set(all, &values[1], &values[1])); /* which no guard stops */
}

/* The functions that make maps do so, too. Their arguments are crowded numbers,
   and big integers of which each is in two objects. */
static void test_crowded_arguments(TVMFFI_HERE) {
  enum { KEYS = 450 };
  static TVMFFIAny args[2 * KEYS];
  static const char *const names[] = {"ffi.Map", "ffi.Dict"};
  static const char *const texts[] = {"a big integer, 24 bytes.",
                                      "another integer, so big.",
                                      "16 bytes, as big"};
  TVMFFIObject *one = test_map(kTVMFFIDict, 0), *f;
  TVMFFIAny made = tvmffi_none(), few[6];
  int i;
  if (!one) return;
  for (i = 0; i < 6; ++i) {
    TVMFFIByteArray text = TEXT(texts[i % 3]);
    OK(TVMFFIBigIntFromByteArray(&text, &few[i]));
    OWN_ANY(few[i]);
  }
  for (i = 0; i < KEYS; ++i) {
    TVMFFIAny *key = &args[2 * i];
    OK(test_crowded_key(4 * i, key));
    if (i % 7 == 0) *key = few[i / 7 % 6];
    key[1] = tvmffi_int(i);
    OK(tvmffi_i_map_set(one, key, &key[1]));
  }
  for (i = 0; i < 2; ++i) {
    f = test_global(names[i]);
    if (!f) return;
    OK(TVMFFIFunctionCall(f, args, 2 * KEYS, &made));
    OWN_ANY(made);
    test_same_entries(one, made.v_obj);
    made = tvmffi_none();
  }
}

/* While a dict is filled at once, `key`'s hash cannot change it, and what the
   equality of `key` and `same` raises ends it. */
static void test_filled_guard(const TVMFFIAny *key, const TVMFFIAny *same) {
  enum { KEYS = 300 };
  static TVMFFIAny values[2 * KEYS];
  TVMFFIAny *last = &values[2 * KEYS - 2];
  int way, i;
  for (way = 0; way < 2; ++way) {
    TVMFFIObject *dict = test_map(kTVMFFIDict, 0);
    if (!dict) return;
    for (i = 0; i < KEYS; ++i) {
      OK(test_crowded_key(4 * i % 600, &values[2 * i]));
      values[2 * i + 1] = tvmffi_int(i);
    }
    tvmffi_i_copy_owned(key, &last[0]);
    if (way) tvmffi_i_copy_owned(same, &last[-2]);
    test_hooked_map = dict;
    *(way ? &test_equal_mode : &test_hash_mode) =
        way ? TEST_HOOK_FAILS : TEST_HOOK_CHANGES;
    FAILS(tvmffi_i_map_take(tvmffi_i_map_of(dict), values, 2 * KEYS),
          way ? "ValueError" : "RuntimeError",
          way ? "the hook says no"
              : "A map cannot be changed by the hash or the equality of its "
                "own keys");
    test_hash_mode = test_equal_mode = TEST_HOOK_GOOD;
    tvmffi_any_release(&last[0]);
    tvmffi_any_release(&last[-2]);
    CHECK(tvmffi_i_map_size(dict) < KEYS);
  }
}

static void test_filled_maps(TVMFFI_HERE) {
  int32_t index = test_hooked_type();
  TVMFFIByteArray empty = {NULL, 0};
  TVMFFIAny few[9];
  int i;
  test_filled_map(NULL, 0, 1);
  test_hash_mode = test_equal_mode = TEST_HOOK_GOOD;
  test_hash_range = 1000;
  if (!index) return;
  for (i = 0; i < 6; ++i) { /* three keys, each of two objects */
    few[i] = test_hooked(index, 1 + i % 3);
    OK(few[i].v_obj ? 0 : -1);
    OWN_ANY(few[i]);
  }
  for (; i < 8; ++i) { /* without hooks, and with a hash alone */
    few[i] = i == 6 ? tvmffi_obj(tvmffi_i_new_list(0))
                    : test_hooked(test_hash_type(), i);
    OK(few[i].v_obj ? 0 : -1);
    OWN_ANY(few[i]);
  }
  OK(TVMFFIStringFromByteArray(&empty, &few[i]));
  test_filled_map(few, 9, 7);
  if (!test_oom) {
    const TVMFFIAny same[2] = {few[0], few[3]};
    test_filled_map(few, 2, 500);
    test_filled_map(same, 2, 500);
  }
  test_filled_guard(&few[0], &few[3]);
}

/* A dict that is filled with crowded keys needs a guard, and the third guard of
   a thread needs memory. */
static void test_filled_in_guards(TVMFFI_HERE) {
  enum { KEYS = 200, DISTINCT = 150 };
  static TVMFFIAny values[2 * KEYS];
  const uintptr_t frame = tvmffi_i_stack_address();
  TVMFFIObject *dict = test_map(kTVMFFIDict, 0);
  int i, code;
  if (!dict) return;
  for (i = 0; i < KEYS; ++i) {
    OK(test_crowded_key(4 * i, &values[2 * i]));
    values[2 * i + 1] = tvmffi_int(i);
  }
  OK(tvmffi_i_guard_enter(values, NULL, frame + 2));
  OK(tvmffi_i_guard_enter(dict, NULL, frame + 1));
  code = tvmffi_i_map_take(tvmffi_i_map_of(dict), values, 2 * KEYS);
  tvmffi_i_guard_leave(frame + 2);
  OK(code);
  CHECK_INT(tvmffi_i_map_size(dict), DISTINCT);
  OK(test_crowded_key(0, &values[0]));
  CHECK_INT(tvmffi_i_map_get(dict, &values[0])->v_int64, DISTINCT);
}

/* A failed argument among many leaves no map and no value behind. */
static void test_many_arguments(TVMFFI_HERE) {
  enum { ARGS = 300 };
  static TVMFFIAny args[ARGS];
  TVMFFIObject *f = test_global("ffi.Map");
  TVMFFIAny made = tvmffi_none();
  int i;
  if (!f) return;
  for (i = 0; i < ARGS; ++i)
    args[i] = i % 2 ? tvmffi_str("a value of some length") : tvmffi_int(i);
  OK(TVMFFIFunctionCall(f, args, ARGS, &made));
  OWN_ANY(made);
  CHECK_INT(tvmffi_i_map_size(made.v_obj), ARGS / 2);
  args[ARGS - 1] = tvmffi_none();
  args[ARGS - 1].type_index = kTVMFFIArray;
  FAILS(TVMFFIFunctionCall(f, args, ARGS, &made), "ValueError", NULL);
}

/* Moves the owned strings [first, last) of a table into a dict. */
static int test_move_strings(TVMFFIObject *dict, int first, int last) {
  static const char *const texts[] = {"a", "a key of some length", "b",
                                      "c", "another key of length", "d",
                                      "e", "the eighth of these keys"};
  TVMFFIAny values[16];
  int i, n = 0, code = 0;
  for (i = first; i < last && !code; ++i) {
    TVMFFIAny view = tvmffi_str(texts[i]);
    code = TVMFFIAnyViewToOwnedAny(&view, &values[2 * n]);
    values[2 * n + 1] = tvmffi_int(first * 100 + i);
    if (!code) ++n;
  }
  if (!code)
    code = tvmffi_i_map_take(tvmffi_i_map_of(dict), values, 2 * (size_t)n);
  while (n-- > 0) tvmffi_any_release(&values[2 * n]);
  return code;
}

/* Strings move into a dict with or without entries, a table or not. */
static void test_filled_strings(TVMFFI_HERE) {
  static const int room[] = {0, 4, 5, 20};
  TVMFFIAny key = tvmffi_str("b");
  int i, n;
  for (i = 0; i < TEST_COUNT(room); ++i) {
    for (n = 0; n <= 8; ++n) {
      TVMFFIObject *dict = test_map(kTVMFFIDict, room[i]);
      if (!dict) return;
      OK(test_move_strings(dict, 0, n));
      CHECK_INT(tvmffi_i_map_size(dict), n);
      OK(test_move_strings(dict, 2, 3));
      CHECK_INT(tvmffi_i_map_size(dict), n < 3 ? n + 1 : n);
      CHECK_INT(tvmffi_i_map_get(dict, &key)->v_int64, 202);
    }
  }
}

/* Up to 14 entries whose keys are distinct strings move at once into an empty
   map with room for them; otherwise nothing changes. */
static void test_moved_strings(TVMFFI_HERE) {
  static const int room[] = {0, 4, 5, 20};
  static const char letters[] = "abcdefghijklmno";
  enum { FILLED, PLAIN, EQUAL_KEYS, NUMBER };
  size_t i, n;
  int how;
  for (i = 0; i < TEST_COUNT(room); ++i) {
    for (n = 0; n < sizeof(letters); n += (size_t)test_step(1, 7)) {
      for (how = PLAIN; how <= NUMBER; ++how) {
        TVMFFIObject *dict = test_map(kTVMFFIDict, room[i]);
        tvmffi_i_map_object *m = (tvmffi_i_map_object *)(void *)dict;
        TVMFFIAny values[2 * sizeof(letters)];
        size_t k, most;
        int want;
        if (!dict) return;
        most = test_is_row(dict) ? m->num_slots & ~TVMFFI_I_MAP_IS_ROW
                                 : m->num_slots - m->num_slots / 8;
        for (k = 0; k < n; ++k) {
          values[2 * k] = tvmffi_none();
          values[2 * k].type_index = kTVMFFISmallStr;
          values[2 * k].small_str_len = 1;
          values[2 * k].v_bytes[0] = letters[k];
          values[2 * k + 1] = tvmffi_int((int64_t)k);
        }
        want = n > 0 && n <= 14 && n <= most;
        if (n > 1 && how == EQUAL_KEYS)
          values[2 * n - 2] = values[2 * ((n - 1) / 2)], want = 0;
        if (n && how == NUMBER) values[2 * n - 2] = tvmffi_int(7), want = 0;
        CHECK_INT(tvmffi_i_map_take_strings(m, values, 2 * n), want);
        CHECK_INT(tvmffi_i_map_size(dict), want ? (int64_t)n : 0);
        for (k = 0; k < n; ++k)
          CHECK(want == (values[2 * k].type_index == kTVMFFINone &&
                         values[2 * k + 1].type_index == kTVMFFINone));
        if (want)
          CHECK_INT(tvmffi_i_map_take_strings(m, values, 2 * n), FILLED);
        for (k = 0; want && k < n; ++k) {
          TVMFFIAny key = tvmffi_none();
          const TVMFFIAny *value;
          key.type_index = kTVMFFISmallStr;
          key.small_str_len = 1;
          key.v_bytes[0] = letters[k];
          value = tvmffi_i_map_get(dict, &key);
          if (CHECK(value)) CHECK_INT(value->v_int64, (int64_t)k);
        }
        test_release_all();
      }
    }
  }
}

/* Keys whose type has a hash or an equality of its own are not sorted, because
   the order knows neither. */
static void test_sortable_keys(TVMFFI_HERE) {
  TVMFFIByteArray name = TEXT("__any_equal__"), text;
  TVMFFIAny value = tvmffi_ptr((void *)(uintptr_t)test_map_equal), key;
  int32_t equal;
  int32_t both = test_hooked_type(), hash = both ? test_hash_type() : 0;
  if (!both) return;
  OK(hash == kTVMFFIObject ? -1 : 0);
  text = TEXT(test_fresh("test.Equal"));
  equal = TVMFFITypeGetOrAllocIndex(&text, -1, 1, 0, 0, kTVMFFIObject);
  OK(equal < 0 ? -1 : TVMFFITypeRegisterAttr(equal, &name, &value));
  key = tvmffi_none();
  CHECK(tvmffi_i_map_is_sortable(&key));
  key.type_index = kTVMFFIBigInt;
  CHECK(tvmffi_i_map_is_sortable(&key));
  key.type_index = kTVMFFIArray;
  CHECK(tvmffi_i_map_is_sortable(&key));
  key.type_index = equal;
  CHECK(!tvmffi_i_map_is_sortable(&key));
  key.type_index = hash;
  CHECK(!tvmffi_i_map_is_sortable(&key));
  key.type_index = both;
  CHECK(!tvmffi_i_map_is_sortable(&key));
}

/* A chain that cannot give way as a whole is put back; one that can is moved,
   however long it is. */
static void test_map_chains(TVMFFI_HERE) {
  int32_t index = test_hooked_type();
  TVMFFIObject *map = test_map(kTVMFFIDict, 600);
  tvmffi_i_map_object *m = (tvmffi_i_map_object *)(void *)map;
  size_t home, target, i;
  int n, code, keys = 30;
  static uint8_t before[1024];
  if (!index || !map) return;
  test_hash_range = 1;
  test_hash_mode = test_equal_mode = TEST_HOOK_GOOD;
  for (n = 0; n < keys; ++n) {
    TVMFFIAny key = test_hooked(index, n), value = tvmffi_int(n);
    code = key.v_obj ? tvmffi_i_map_set(map, &key, &value) : -1;
    tvmffi_any_release(&key);
    OK(code);
  }
  CHECK_INT(m->num_slots, 1024);
  home = (size_t)m->head;
  target = tvmffi_i_map_next(m, home, *tvmffi_i_map_meta(m->data, home));
  for (i = 0; i < m->num_slots; ++i) {
    before[i] = *tvmffi_i_map_meta(m->data, i);
    if (before[i] == TVMFFI_I_MAP_EMPTY)
      *tvmffi_i_map_meta(m->data, i) = TVMFFI_I_MAP_PROTECTED;
  }
  *tvmffi_i_map_meta(m->data, (home + 2628) % 1024) = TVMFFI_I_MAP_EMPTY;
  code = tvmffi_i_map_evict(m, target);
  for (i = 0; i < m->num_slots; ++i) {
    uint8_t *meta = tvmffi_i_map_meta(m->data, i);
    if (*meta == TVMFFI_I_MAP_PROTECTED) *meta = TVMFFI_I_MAP_EMPTY;
    CHECK(*meta == before[i]);
  }
  OK(code);
  code = tvmffi_i_map_evict(m, target);
  if (code == 1) {
    CHECK(*tvmffi_i_map_meta(m->data, target) == TVMFFI_I_MAP_PROTECTED);
    *tvmffi_i_map_meta(m->data, target) = TVMFFI_I_MAP_EMPTY;
  }
  for (n = 0, i = home; i != TVMFFI_I_MAP_END && n < keys; ++n) {
    tvmffi_i_map_item *item = tvmffi_i_map_at(m->data, i);
    const TVMFFIAny *value = tvmffi_i_map_get(map, &item->pair.key);
    CHECK(value == &item->pair.value && value->v_int64 == n);
    i = (size_t)item->next;
  }
  CHECK_INT(n, keys);
  /* Links have 64 bits on all machines, because C++ code reads them. */
  CHECK(tvmffi_i_map_at(m->data, home)->prev == UINT64_MAX);
  CHECK(tvmffi_i_map_at(m->data, (size_t)m->tail)->next == UINT64_MAX);
  OK(code - 1);
}

/* A chain goes on in the slots in which upstream looks for it. */
static void test_chain_slots(void) {
  static const size_t jumps[] = {15, 21, 28, 36, 45};
  TVMFFIObject *map = test_map(kTVMFFIDict, 20);
  tvmffi_i_map_object *m = tvmffi_i_map_of(map);
  int i;
  for (i = 0; i < 5; ++i)
    CHECK_INT(tvmffi_i_map_jump((size_t)i + 15), jumps[i]);
  CHECK_INT(tvmffi_i_map_jump(TVMFFI_I_MAP_FIRST_FAR - 1), 2628);
  CHECK_INT(tvmffi_i_map_jump(TVMFFI_I_MAP_FIRST_FAR), 8515);
  if (!map) return;
  CHECK_INT(m->num_slots, 32);
  for (i = 0; i < 5; ++i) { /* which have one home slot, number 3 */
    const TVMFFIAny key =
        test_int_at(((uint64_t)3 << m->fib_shift) + (uint64_t)i);
    OK(tvmffi_i_map_set(map, &key, &key));
    CHECK_INT(tvmffi_i_map_at(m->data, 3 + (size_t)i)->pair.key.v_int64,
              key.v_int64);
  }
  /* A key whose home slot is taken fills up to 99 of 100 slots. */
  map = test_map(kTVMFFIDict, 100);
  m = tvmffi_i_map_of(map);
  if (!map) return;
  for (i = 0; i < 127; ++i) {
    const TVMFFIAny key = i < 125
                              ? test_int_at((uint64_t)i << m->fib_shift)
                              : test_int_at((uint64_t)i);
    CHECK_INT(m->num_slots, 128);
    OK(tvmffi_i_map_set(map, &key, &key));
  }
  CHECK_INT(m->num_slots, 256);
}

/* A chain whose end reaches no free slot makes the table grow, and once more
   if its end reaches none in the larger table either. */
static void test_blocked_chains(TVMFFI_HERE) {
  static const int capacities[] = {600, 300};
  int i;
  test_chain_slots();
  for (i = 0; i < 2; ++i) {
    TVMFFIObject *map = test_map(kTVMFFIDict, capacities[i]);
    TVMFFIObject *wide = test_map(kTVMFFIDict, 600);
    tvmffi_i_map_object *m = tvmffi_i_map_of(map);
    static char is_taken[1024];
    TVMFFIAny keys[TVMFFI_I_MAP_NUM_JUMPS + 1], value;
    int n = 0, k;
    uint8_t jump;
    if (!map || !wide) return;
    CHECK_INT(m->num_slots, i ? 512 : 1024);
    memset(is_taken, 0, sizeof(is_taken));
    keys[n++] = test_int_at(0);
    for (jump = 1; jump < TVMFFI_I_MAP_NUM_JUMPS; ++jump) {
      uint64_t to = tvmffi_i_map_next(tvmffi_i_map_of(wide), 0, jump);
      if (!is_taken[to]) keys[n++] = test_int_at(to << 54);
      is_taken[to] = 1;
    }
    keys[n++] = test_int_at(1);
    for (k = 0; k < n; ++k) {
      value = tvmffi_int(k);
      OK(tvmffi_i_map_set(map, &keys[k], &value));
    }
    CHECK_INT(m->num_slots, i ? 512 : 2048);
    if (i) OK(tvmffi_i_map_grow_table(m));
    CHECK_INT(m->num_slots, 2048);
    CHECK_INT(m->size, n);
    for (k = 0; k < n; ++k)
      CHECK_INT(tvmffi_i_map_get(map, &keys[k])->v_int64, k);
  }
}

/* A new key takes its home slot from an entry of another chain. The entry's key
   is hashed again. If that fails, so does the change. If the hash has changed,
   the entry is not in the chain of its new hash, and the table grows. */
static void test_evicted_hooks(TVMFFI_HERE) {
  int32_t index = test_hooked_type();
  int way;
  for (way = 0; way < 3; ++way) {
    TVMFFIObject *map = test_map(kTVMFFIDict, 8);
    tvmffi_i_map_object *m = tvmffi_i_map_of(map);
    TVMFFIAny first, second, lone, key;
    uint64_t home, wanted;
    int64_t n = 1;
    if (!index || !map) return;
    test_hash_mode = test_equal_mode = TEST_HOOK_GOOD;
    test_hash_range = 1; /* at first all hashes are 0 */
    home = tvmffi_i_map_home(m, tvmffi_i_hash_combine((uint64_t)index, 0));
    wanted = (home + (way == 1 ? 4 : 8)) % 16; /* empty, or that of `lone` */
    do ++n;
    while (tvmffi_i_map_home(m, tvmffi_i_hash_combine((uint64_t)index,
                                                      (uint64_t)n)) != wanted);
    lone = test_int_at((home + 8) % 16 << 60);
    first = test_hooked(index, 1);
    OK(first.v_obj ? 0 : -1);
    OWN_ANY(first);
    second = test_hooked(index, n);
    OK(second.v_obj ? 0 : -1);
    OWN_ANY(second);
    OK(tvmffi_i_map_set(map, &lone, &lone));
    OK(tvmffi_i_map_set(map, &first, &lone));
    OK(tvmffi_i_map_set(map, &second, &lone));
    key = test_int_at(m->tail << 60);
    if (way == 0) {
      test_hash_mode = TEST_HOOK_FAILS;
      FAILS(tvmffi_i_map_set(map, &key, &key), "ValueError",
            "the hook says no");
      test_hash_mode = TEST_HOOK_GOOD;
      CHECK_INT(m->size, 3);
      continue;
    }
    test_hash_range = INT32_MAX;
    OK(tvmffi_i_map_set(map, &key, &key));
    CHECK_INT(m->num_slots, 32);
    CHECK_INT(m->size, 4);
    CHECK(tvmffi_i_map_get(map, &key) && tvmffi_i_map_get(map, &lone));
    CHECK(tvmffi_i_map_get(map, &first) && tvmffi_i_map_get(map, &second));
  }
}

/* The hash and equality of keys in the map may not change it. */
static void test_map_guard(TVMFFI_HERE) {
  int32_t index = test_hooked_type();
  TVMFFIObject *map = test_map(kTVMFFIDict, 8);
  TVMFFIAny a, b, one = tvmffi_int(1);
  if (!index || !map) return;
  test_hooked_map = map;
  test_hash_range = 1;
  test_hash_mode = test_equal_mode = TEST_HOOK_GOOD;
  a = test_hooked(index, 1);
  if (!a.v_obj) {
    tvmffi_error_clear();
    return;
  }
  OWN_ANY(a);
  b = test_hooked(index, 2);
  if (!b.v_obj) {
    tvmffi_error_clear();
    return;
  }
  OWN_ANY(b);
  OK(tvmffi_i_map_set(map, &a, &one));
  test_equal_mode = TEST_HOOK_CHANGES;
  FAILS(tvmffi_i_map_set(map, &b, &one) != 0, "RuntimeError",
        "A map cannot be changed by the hash or the equality of its own keys");
  test_equal_mode = TEST_HOOK_FAILS;
  FAILS(tvmffi_i_map_get(map, &b) == NULL, "ValueError", "the hook says no");
  FAILS(tvmffi_i_map_erase(map, &b), "ValueError", "the hook says no");
  test_equal_mode = TEST_HOOK_GOOD;
  CHECK_INT(tvmffi_i_map_size(map), 1);
  OK(tvmffi_i_map_set(map, &b, &one));
  CHECK_INT(tvmffi_i_map_guards, 0);
}

#if defined(__cplusplus) && defined(__cpp_exceptions)
/* Changes the contents of the stack behind the caller's frame. */
TVMFFI_I_NOINLINE void test_spoil_stack(void) {
  volatile char bytes[4096];
  size_t i;
  for (i = 0; i < sizeof(bytes); ++i) bytes[i] = (char)0xA5;
}

/* A hash that throws leaves the map, and every other map, changeable. */
static void test_map_throwing_hash(TVMFFI_HERE) {
  int32_t index = test_hooked_type();
  TVMFFIObject *map = test_map(kTVMFFIDict, 8), *other;
  TVMFFIAny key, one = tvmffi_int(1);
  int thrown = 0, code = 0;
  if (!index || !map) return;
  other = test_map(kTVMFFIDict, 8);
  if (!other) return;
  test_hooked_map = map;
  test_hash_range = 1;
  test_hash_mode = test_equal_mode = TEST_HOOK_GOOD;
  key = test_hooked(index, 1);
  OK(key.v_obj ? 0 : -1);
  OWN_ANY(key);
  test_hash_mode = TEST_HOOK_THROWS;
  try {
    code = tvmffi_i_map_set(map, &key, &one);
  } catch (int) {
    thrown = 1;
    tvmffi_release(key.v_obj); /* the reference of the call that has ended */
  }
  test_hash_mode = TEST_HOOK_GOOD;
  OK(code); /* without memory there is no call of the hook */
  CHECK(thrown);
  test_spoil_stack();
  OK(tvmffi_i_map_set(other, &one, &one));
  OK(tvmffi_i_map_set(map, &one, &one));
  CHECK_INT(tvmffi_i_map_guards, 0);
}
#endif

/* Two dicts whose keys' hooks, and whose values' deleters, read and change both
   dicts at random. An operation on a dict runs hooks; while it is in progress,
   each change of that dict has to be refused. */
enum { STORM_KEYS = 40, STORM_DEPTH = 3 };
static struct {
  TVMFFIObject *dict[2];
  unsigned char has[2][STORM_KEYS]; /* what the dicts should contain */
  int busy[2];                      /* operations whose hooks may run now */
  int key[2];                       /* that the newest operation is about */
  int current;                      /* the dict of the newest operation */
  int depth, range, quiet, failed;
  int32_t type_index;
  unsigned random;
} test_storm;

static unsigned test_storm_random(unsigned n) {
  test_storm.random = test_storm.random * 1664525u + 1013904223u;
  return (test_storm.random >> 8) % n;
}

/* Counts a failure that nothing but refused memory explains. */
static void test_storm_check(int is_right) {
  if (!is_right && !test_oom) ++test_storm.failed;
}

static void test_storm_act(void);

static TVMFFIAny test_storm_hash(const TVMFFIAny *a) {
  test_storm_act();
  return tvmffi_int(((int64_t *)(void *)(a->v_obj + 1))[0] % test_storm.range);
}
static TVMFFIAny test_storm_equal(const TVMFFIAny *a, const TVMFFIAny *b) {
  test_storm_act();
  return tvmffi_bool(((int64_t *)(void *)(a->v_obj + 1))[0] ==
                     ((int64_t *)(void *)(b->v_obj + 1))[0]);
}
/* A value is released when the operation has no more hooks to run. */
static void test_storm_delete(void *self, int flags) {
  int d = test_storm.current;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    --test_storm.busy[d];
    test_storm_act();
    ++test_storm.busy[d];
  }
  tvmffi_i_delete_plain(self, flags);
}

/* Reads a key, or changes a dict. */
static void test_storm_step(int d) {
  TVMFFIObject **dict = &test_storm.dict[d];
  int n = (int)test_storm_random(STORM_KEYS), what, code, outer, current;
  int refused = test_storm.busy[d] > 0;
  TVMFFIAny key = test_hooked(test_storm.type_index, n), value;
  const TVMFFIAny *found;
  if (!key.v_obj) return;
  value = tvmffi_obj(tvmffi_i_object(sizeof(TVMFFIObject) + 8,
                                     test_storm.type_index, test_storm_delete));
  what = value.v_obj ? (int)test_storm_random(40) : 30;
  outer = test_storm.key[d];
  current = test_storm.current;
  test_storm.current = d;
  ++test_storm.busy[d];
  if (what >= 30) { /* the keys of operations in progress may be there or not */
    found = tvmffi_i_map_get(*dict, &key);
    test_storm_check(n == outer || !found == !test_storm.has[d][n]);
    code = 0;
    refused = 0;
  } else if (what) {
    if (!refused) test_storm.key[d] = n;
    if (!refused) test_storm.has[d][n] = what < 20;
    code = what < 20 ? tvmffi_i_map_set(*dict, &key, &value)
                     : tvmffi_i_map_erase(*dict, &key);
    test_storm.key[d] = outer;
  } else { /* a deleter that adds to a dict which is being cleared: no */
    ++test_storm.quiet;
    if (!refused) memset(test_storm.has[d], 0, STORM_KEYS);
    code = tvmffi_i_map_clear_in((tvmffi_i_map_object *)(void *)*dict);
    --test_storm.quiet;
  }
  --test_storm.busy[d];
  test_storm.current = current;
  test_storm_check(refused ? code != 0 : !code);
  tvmffi_error_clear();
  ++test_storm.quiet;
  tvmffi_any_release(&value);
  --test_storm.quiet;
  tvmffi_any_release(&key);
}

static void test_storm_act(void) {
  if (test_storm.quiet || test_storm.depth >= STORM_DEPTH ||
      test_storm_random(8))
    return;
  ++test_storm.depth;
  test_storm_step((int)test_storm_random(2));
  --test_storm.depth;
}

/* Each dict has each key that it should have once, and no other. */
static void test_storm_compare(int d) {
  const tvmffi_i_pair *pair;
  TVMFFIObject *dict = test_storm.dict[d];
  unsigned char seen[STORM_KEYS];
  size_t at;
  int n;
  memset(seen, 0, sizeof(seen));
  for (at = tvmffi_i_map_begin(dict);
       (pair = tvmffi_i_map_pair(dict, at)) != NULL;
       at = tvmffi_i_map_after(dict, at))
    ++seen[*(int64_t *)(void *)(pair->key.v_obj + 1)];
  for (n = 0; n < STORM_KEYS; ++n)
    test_storm_check(seen[n] == test_storm.has[d][n]);
}

static void test_map_storm(TVMFFI_HERE) {
  static const int ranges[] = {1, 2, 5, 1000};
  static int32_t index;
  TVMFFIByteArray equal = TEXT("__any_equal__"), hash = TEXT("__any_hash__");
  TVMFFIByteArray name;
  TVMFFIAny value;
  int range, d, i, count = test_scale(3 * TEST_ROUNDS, 60);
  if (!index) {
    name = TEXT(test_fresh("test.Storm"));
    index = TVMFFITypeGetOrAllocIndex(&name, -1, 1, 0, 0, kTVMFFIObject);
    if (index < 0) index = 0;
    OK(index ? 0 : -1);
  }
  value = tvmffi_ptr((void *)(uintptr_t)test_storm_equal);
  OK(TVMFFITypeRegisterAttr(index, &equal, &value));
  value = tvmffi_ptr((void *)(uintptr_t)test_storm_hash);
  OK(TVMFFITypeRegisterAttr(index, &hash, &value));
  memset((void *)&test_storm, 0, sizeof(test_storm));
  test_storm.type_index = index;
  for (range = 0; range < 4; ++range) {
    test_storm.range = ranges[range];
    test_storm.random = (unsigned)range;
    memset(test_storm.has, 0, sizeof(test_storm.has));
    for (d = 0; d < 2; ++d) {
      test_storm.dict[d] = tvmffi_i_new_map(kTVMFFIDict, 0);
      test_storm.key[d] = -1;
    }
    for (i = 0; i < count && test_storm.dict[0] && test_storm.dict[1]; ++i) {
      test_storm_step(i & 1);
      if (i % 10) continue;
      test_storm_compare(0);
      test_storm_compare(1);
    }
    ++test_storm.quiet;
    for (d = 0; d < 2; ++d) tvmffi_release(test_storm.dict[d]);
    --test_storm.quiet;
    tvmffi_error_clear();
  }
  CHECK_INT(test_storm.failed, 0);
  CHECK_INT(tvmffi_i_map_guards, 0);
}

#if !TEST_NO_CONTENTION && !TVMFFI_NO_THREADS
static TVMFFIObject *test_read_map;

static void test_read_map_once(TVMFFI_HERE, int n) {
  char text[40];
  TVMFFIAny any = tvmffi_none();
  OK(tvmffi_call(tvmffi_str("ffi.DictGetItem"), tvmffi_out_any(&any),
                 tvmffi_obj(test_read_map), test_map_key(n % 60, text)));
  CHECK(any.type_index == kTVMFFIDict && any.v_obj == test_read_map);
  OK(tvmffi_call(tvmffi_str("ffi.DictForwardIterFunctor"), tvmffi_out_any(&any),
                 tvmffi_obj(test_read_map)));
  OK(tvmffi_call(any, tvmffi_out_any(NULL), tvmffi_int(2)));
}

static void test_read_map_work(int id) { test_repeat(test_read_map_once, id); }

/* Dicts are read by all at once; who counts into the same object is seen. */
static void test_contend_maps(TVMFFI_HERE) {
  TVMFFIObject *map = test_map(kTVMFFIDict, 0);
  TVMFFIAny value;
  char text[40];
  int i;
  if (!map) return;
  value = tvmffi_obj(map);
  for (i = 0; i < 60; ++i) {
    TVMFFIAny key = test_map_key(i, text);
    if (test_code(tvmffi_i_map_set(map, &key, &value), __FILE__, __LINE__, ""))
      break;
  }
  test_read_map = map;
  if (i == 60) test_parallel(test_read_map_work);
  CHECK_INT(test_strong(map), i + 1);
  CHECK_INT(tvmffi_i_map_clear_in((tvmffi_i_map_object *)(void *)map), 0);
}
#endif

#endif /* !TEST_NO_MAPS && !TVMFFI_NO_CONTAINERS */

static const test_case test_map_cases[] = {
#if !TEST_NO_MAPS && !TVMFFI_NO_CONTAINERS
    {"maps: up to twelve keys", test_small_maps},
    {"maps: hundreds of keys", test_large_maps},
    {"maps: positions without an entry", test_lost_position},
    {"maps: made for so many entries", test_capacity},
    {"maps: built-in functions", test_map_functions},
    {"maps: functions of dicts", test_dict_functions},
    {"maps: texts of each kind as keys", test_map_views},
    {"maps: rare keys", test_rare_map_keys},
    {"maps: what is no key", test_bad_map_keys},
    {"maps: weak references", test_map_weak},
    {"maps: copies", test_map_copies},
    {"maps: cursors", test_map_cursor},
    {"maps: a table without slots", test_map_without_slots},
    {"maps: iterators", test_map_iterators},
    {"maps: deleters that use the dict", test_map_deleters},
    {"maps: a deep nest", test_deep_maps},
    {"maps: a dict in itself", test_map_in_itself},
    {"maps: types with a hash and an equality", test_map_hooks},
    {"maps: chains that give way", test_map_chains},
    {"maps: chains that cannot go on", test_blocked_chains},
    {"maps: entries that give way to others", test_evicted_hooks},
    {"maps: filled at once", test_filled_maps},
    {"maps: filled while guards are active", test_filled_in_guards},
    {"maps: filled with few strings", test_filled_strings},
    {"maps: few strings that move at once", test_moved_strings},
    {"maps: keys that can be sorted", test_sortable_keys},
    {"maps: made from crowded arguments", test_crowded_arguments},
    {"maps: made from many arguments", test_many_arguments},
    {"maps: keys that change the map", test_map_guard},
#if defined(__cplusplus) && defined(__cpp_exceptions)
    {"maps: a hash that throws", test_map_throwing_hash},
#endif
    {"maps: hooks and deleters that change maps at random", test_map_storm},
#endif
#if !TEST_NO_CONTENTION && !TVMFFI_NO_THREADS
#if !TEST_NO_MAPS && !TVMFFI_NO_CONTAINERS
    {"threads: maps that are read", test_contend_maps},
#endif
#endif
    {NULL, NULL}};
