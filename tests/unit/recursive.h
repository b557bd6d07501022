/* ======== Recursive comparison: recursive hash and order ================== */

#pragma once

#include "harness.h"
#include "apply.h"
#include "repr.h"

#if !TVMFFI_NO_EXTRA
#define CHECK_HASH(value, want)                                    \
  do {                                                             \
    TVMFFIAny arg = value, got;                                    \
    OK(test_apply_global("ffi.RecursiveHash", &arg, 1, &got));     \
    CHECK(got.type_index == kTVMFFIInt && got.v_uint64 == (want)); \
  } while (0)

/* Numbers at the limits of NaNs and zeros, and the exact signs of orders. */
static void test_plain_orders(void) {
  const uint64_t two = (uint64_t)1 << 62, infinite = (uint64_t)2047 << 52;
  const uint64_t minus = (uint64_t)1 << 63;
  TVMFFIAny a, b;
  int i, sign = 7;
  CHECK(!tvmffi_i_is_nan(infinite) && !tvmffi_i_is_nan(infinite | minus));
  CHECK(tvmffi_i_is_nan(infinite + 1) == 1 && !tvmffi_i_is_nan(infinite - 1));
  CHECK(tvmffi_i_hash_float(two) == two && !tvmffi_i_hash_float(minus));
  CHECK_INT(tvmffi_i_float_rank(two), two);
  CHECK_INT(tvmffi_i_float_rank(two | minus), -(int64_t)two);
  CHECK_INT(tvmffi_i_float_rank(two + 1), two + 1);
  CHECK_INT(tvmffi_i_float_rank(minus), 0);
  for (i = 0; i < 4; ++i) {
    a = tvmffi_bool(i / 2);
    b = tvmffi_bool(i % 2);
    CHECK(!tvmffi_i_compare(&a, &b, 0, &sign));
    CHECK_INT(sign, i / 2 - i % 2);
  }
}

/* Upstream's values; those of objects differ by the size of a word. */
static void test_recursive_hash(TVMFFI_HERE) {
  DLDevice device = {kDLCUDA, 1};
  DLDataType dtype = {kDLFloat, 16, 4};
  TVMFFIByteArray bytes = {"abcdefghij", 10}, few = {"ab", 2};
  TVMFFIAny list, map, array;
  CHECK_HASH(tvmffi_none(), 2654435769u);
  test_plain_orders();
  CHECK_HASH(tvmffi_bool(1), 2654435896u);
  CHECK_HASH(tvmffi_int(-3), 2654435831u);
  CHECK_HASH(test_bits(0x4004000000000000u), 4612811920988666490u);
  CHECK_HASH(test_bits((uint64_t)1 << 63), 2654435962u);
  CHECK_HASH(test_bits(0xFFF8000000000001u), 9221120239695526522u);
  CHECK_HASH(tvmffi_str("abcdefghij"), 3873208543u);
  CHECK_HASH(tvmffi_str("ab"), 2654465067u);
  CHECK_HASH(tvmffi_bytes(&bytes), 3873208476u);
  CHECK_HASH(tvmffi_bytes(&few),
             tvmffi_i_hash_combine(kTVMFFIBytes,
                                   tvmffi_i_stable_hash("ab", 2)));
  CHECK_HASH(tvmffi_device(device), 175247678514u);
  CHECK_HASH(tvmffi_dtype(dtype), 11093831583858u);
  OK(test_list(&list, tvmffi_int(1), tvmffi_int(2)));
  OK(test_map_of("ffi.Map", &map, tvmffi_int(1), tvmffi_int(2)));
  if (sizeof(void *) == 8) {
    CHECK_HASH(list, 0x8b918c2529f2af37u);
    CHECK_HASH(map, 0x196e6e1062ef976au);
  }
  OK(test_apply_global("ffi.Array", &map, 1, &array));
  {
    uint64_t h = TVMFFIGetTypeInfo(kTVMFFIArray)->type_key_hash, inner;
    OK(test_apply_global("ffi.RecursiveHash", &map, 1, &list));
    inner = tvmffi_i_hash_combine(list.v_uint64, 0);
    CHECK_HASH(array,
               tvmffi_i_hash_combine(tvmffi_i_hash_combine(h, 1), inner));
  }
}

static int test_rehash(const TVMFFIAny *value, uint64_t *hash) {
  TVMFFIAny got;
  TVMFFI_TRY(test_apply_global("ffi.RecursiveHash", value, 1, &got));
  *hash = got.v_uint64;
  return 0;
}

/* The entries of a map do not count for the maps around it, and a list that is
   in itself has a hash. */
static void test_hash_of_nests(TVMFFI_HERE) {
  TVMFFIAny a, b, c, none = tvmffi_none();
  uint64_t h = 0, k = 0;
  int32_t index = 0;
  int code;
  OK(test_map_of("ffi.Dict", &a, tvmffi_int(1), tvmffi_int(2)));
  OK(test_map_of("ffi.Dict", &b, tvmffi_int(3), a));
  OK(test_rehash(&b, &h));
  OK(test_rehash(&a, &k));
  k = tvmffi_i_hash_combine(tvmffi_i_hash_combine(kTVMFFIInt, 3), k);
  CHECK(h == tvmffi_i_hash_combine(
                 tvmffi_i_hash_combine(
                     TVMFFIGetTypeInfo(kTVMFFIDict)->type_key_hash, 1),
                 k));
  OK(test_list(&a, tvmffi_int(1), tvmffi_int(2)));
  OK(tvmffi_i_list_append(a.v_obj, &a));
  code = test_rehash(&a, &h);
  if (!code) code = test_rehash(&a, &k);
  --TVMFFI_I_CELL(TVMFFISeqCell, a.v_obj)->size;
  tvmffi_release(a.v_obj);
  OK(code);
  CHECK(h == k);
  OK(test_rehash(&a, &k));
  CHECK(h != k);
  OK(test_getter_type(&index));
  OK(test_new_pair(index, a, none, &b));
  OK(test_new_pair(index, a, none, &c));
  OK(test_rehash(&b, &h));
  OK(test_rehash(&c, &k));
  CHECK(h == k);
  OK(test_new_pair(index, none, a, &c));
  OK(test_rehash(&c, &k));
  CHECK(h != k);
  OK(test_new_pair(index, a, tvmffi_int(404), &c));
  FAILS(test_rehash(&c, &k), "ValueError", "no value");
  OK(test_list(&a, none, c));
  FAILS(test_rehash(&a, &k), "ValueError", "no value");
  CHECK(tvmffi_i_seq_of(a.v_obj)->cell.size == 2);
}

/* Calls back with `a` twice, and takes no notice of an error. */
static int test_hash_anyway(void *self, const TVMFFIAny *args,
                            int32_t num_args, TVMFFIAny *result) {
  int i;
  (void)self;
  for (i = 0; i < 2; ++i) {
    *result = tvmffi_none();
    if (TVMFFIFunctionCall(args[num_args - 1].v_obj,
                           &((test_pair *)args[0].v_ptr)->a, 1, result)) {
      tvmffi_error_clear();
      *result = tvmffi_int(7);
    }
  }
  return 0;
}

/* An error that a hook swallows leaves nothing in the maps around it. */
static void test_hash_after_error(TVMFFI_HERE) {
  int32_t parent = 0, child = 0, getter = 0;
  TVMFFIAny pair, bad, map, outer;
  uint64_t h = 0, k = 0;
  OK(test_pair_types(&parent, &child, 0));
  OK(test_set_hook(parent, "__ffi_hash__", test_hash_anyway));
  OK(test_getter_type(&getter));
  OK(test_new_pair(getter, tvmffi_int(404), tvmffi_none(), &bad));
  OK(test_map_of("ffi.Map", &map, tvmffi_int(1), bad));
  {
    TVMFFIAny items[4];
    items[0] = tvmffi_int(1);
    items[1] = items[2] = tvmffi_int(2);
    items[3] = bad;
    OK(test_apply_global("ffi.Map", items, 4, &map));
  }
  OK(test_new_pair(parent, map, tvmffi_none(), &pair));
  OK(test_map_of("ffi.Map", &outer, tvmffi_int(3), pair));
  OK(test_rehash(&outer, &h));
  if (test_hits()) return;
  OK(test_new_pair(parent, bad, tvmffi_none(), &pair));
  OK(test_map_of("ffi.Map", &outer, tvmffi_int(3), pair));
  OK(test_rehash(&outer, &k));
  CHECK(h == k || test_hits());
}

/* The order of entries does not count. */
static void test_hash_of_maps(TVMFFI_HERE) {
  TVMFFIAny items[12], maps[2], hashes[2];
  int i, k;
  for (k = 0; k < 2; ++k) {
    for (i = 0; i < 12; i += 2) {
      items[i] = tvmffi_int(k ? i : 10 - i);
      items[i + 1] = tvmffi_int(100 + items[i].v_int64);
    }
    OK(test_apply_global("ffi.Map", items, 12, &maps[k]));
    OK(test_apply_global("ffi.RecursiveHash", &maps[k], 1, &hashes[k]));
  }
  CHECK(hashes[0].v_int64 == hashes[1].v_int64);
}

static void test_hash_hooks(TVMFFI_HERE) {
  int32_t parent = 0, child = 0;
  TVMFFIAny pair, hash;
  test_kept = NULL;
  OK(test_pair_types(&parent, &child, kTVMFFIFieldFlagBitMaskHashOff));
  OK(test_set_hook(parent, "__ffi_eq__", test_compare_a));
  OK(test_new_pair(parent, tvmffi_int(7), tvmffi_none(), &pair));
  FAILS(test_apply_global("ffi.RecursiveHash", &pair, 1, &hash), "ValueError",
        "...defines __ffi_eq__ or __ffi_compare__ but not __ffi_hash__.");
  OK(test_set_hook(parent, "__ffi_hash__", test_twice));
  CHECK_HASH(pair, tvmffi_i_hash_combine(kTVMFFIInt, 7));
}

/* A hook that hashes a value twice has its fields read once, though nothing
   else refers to the value. */
static void test_hash_again(TVMFFI_HERE) {
  int32_t parent = 0, child = 0, getter = 0;
  TVMFFIAny pair, inner;
  uint64_t h = 0;
  OK(test_pair_types(&parent, &child, 0));
  OK(test_set_hook(parent, "__ffi_hash__", test_hash_anyway));
  OK(test_getter_type(&getter));
  OK(test_new_pair(getter, tvmffi_int(1), tvmffi_int(2), &inner));
  OK(test_new_pair(parent, inner, tvmffi_none(), &pair));
  test_drop(inner.v_obj);
  test_num_got = 0;
  OK(test_rehash(&pair, &h));
  if (!test_hits()) CHECK_INT(test_num_got, 2);
}

/* A type that can be compared has to say what its hash is. */
static void test_hash_refused(TVMFFI_HERE) {
  int32_t parent = 0, child = 0;
  TVMFFIAny pair, hash, number = tvmffi_int(3);
  TVMFFIByteArray name = TEXT("__ffi_eq__");
  OK(test_pair_types(&parent, &child, 0));
  OK(test_set_hook(parent, "__ffi_compare__", test_compare_a));
  OK(test_new_pair(parent, tvmffi_int(7), tvmffi_none(), &pair));
  FAILS(test_apply_global("ffi.RecursiveHash", &pair, 1, &hash), "ValueError",
        "...defines __ffi_eq__ or __ffi_compare__ but not __ffi_hash__.");
  OK(TVMFFITypeRegisterAttr(child, &name, &number)); /* no function */
  OK(test_new_pair(child, tvmffi_int(7), tvmffi_none(), &pair));
  FAILS(test_apply_global("ffi.RecursiveHash", &pair, 1, &hash), "ValueError",
        "...defines __ffi_eq__ or __ffi_compare__ but not __ffi_hash__.");
}

static void test_hash_of_shapes(TVMFFI_HERE) {
  TVMFFIAny numbers[2], shape, empty;
  uint64_t h;
  numbers[0] = tvmffi_int(3);
  numbers[1] = tvmffi_int(-4);
  OK(test_apply_global("ffi.Shape", numbers, 2, &shape));
  OK(test_apply_global("ffi.Shape", numbers, 0, &empty));
  h = TVMFFIGetTypeInfo(kTVMFFIShape)->type_key_hash;
  CHECK_HASH(empty, tvmffi_i_hash_combine(h, 0));
  h = tvmffi_i_hash_combine(tvmffi_i_hash_combine(h, 2), 3);
  CHECK_HASH(shape, tvmffi_i_hash_combine(h, (uint64_t)-4));
}

/* Compares by each function: as a string of 0 and 1 for ==, <, <=, >, >=, or of
   'e' for an error. */
static void test_orders(TVMFFIAny a, TVMFFIAny b, const char *want) {
  static const char *const names[] = {"ffi.RecursiveEq", "ffi.RecursiveLt",
                                      "ffi.RecursiveLe", "ffi.RecursiveGt",
                                      "ffi.RecursiveGe"};
  TVMFFIAny args[2], result;
  TVMFFIObjectHandle f = NULL;
  TVMFFIByteArray name;
  int i, code;
  args[0] = a;
  args[1] = b;
  for (i = 0; i < 5; ++i) {
    name = TEXT(names[i]);
    OK(TVMFFIFunctionGetGlobal(&name, &f));
    result = tvmffi_none();
    code = TVMFFIFunctionCall(f, args, 2, &result);
    tvmffi_release((TVMFFIObject *)f);
    if (want[i] == 'e') {
      TVMFFIObject *error = tvmffi_i_error_remove();
      CHECK(code == -1 && error != NULL);
      tvmffi_release(error);
      continue;
    }
    OK(code);
    if (!CHECK_INT(result.v_int64, want[i] - '0'))
      TEST_PRINT("# %s, of %s\n", names[i], want);
  }
}

#define LESS "01100"
#define SAME "10101"
#define MORE "00011"
#define NO_ORDER "0eeee"

static void test_order_of_values(TVMFFI_HERE) {
  DLDataType f16 = {kDLFloat, 16, 1}, f32 = {kDLFloat, 32, 1};
  DLDataType u16 = {kDLUInt, 16, 1}, f16x4 = {kDLFloat, 16, 4};
  DLDevice cpu = {kDLCPU, 0}, cpu1 = {kDLCPU, 1}, cuda = {kDLCUDA, 0};
  TVMFFIByteArray ab = {"ab", 2}, abc = {"abcdefgh", 8};
  const uint64_t nan = 0x7FF8000000000000u, one = 0x3FF0000000000000u;
  test_orders(tvmffi_none(), tvmffi_none(), SAME);
  test_orders(tvmffi_none(), tvmffi_int(1), LESS);
  test_orders(tvmffi_int(1), tvmffi_none(), MORE);
  test_orders(tvmffi_int(-1), tvmffi_int(1), LESS);
  test_orders(tvmffi_int(1), tvmffi_bool(1), NO_ORDER);
  test_orders(tvmffi_bool(1), tvmffi_bool(0), MORE);
  test_orders(test_bits(0), test_bits((uint64_t)1 << 63), SAME);
  test_orders(test_bits(one | (uint64_t)1 << 63), test_bits(one), LESS);
  test_orders(test_bits(nan), test_bits(one), NO_ORDER);
  test_orders(test_bits(one), test_bits(nan), NO_ORDER);
  test_orders(test_bits(nan), test_bits(nan | 1), "1eeee");
  test_orders(tvmffi_dtype(f32), tvmffi_dtype(f16), MORE);
  test_orders(tvmffi_dtype(u16), tvmffi_dtype(f16), LESS);
  test_orders(tvmffi_dtype(f16), tvmffi_dtype(f16x4), LESS);
  test_orders(tvmffi_dtype(f16), tvmffi_dtype(f16), SAME);
  test_orders(tvmffi_device(cpu), tvmffi_device(cpu1), LESS);
  test_orders(tvmffi_device(cuda), tvmffi_device(cpu1), MORE);
  test_orders(tvmffi_str(""), tvmffi_str(""), SAME);
  test_orders(tvmffi_str(""), tvmffi_str("a"), LESS);
  test_orders(tvmffi_str("the longer one"), tvmffi_str("a"), MORE);
  test_orders(tvmffi_str("abc"), tvmffi_str("abcdefghij"), LESS);
  test_orders(tvmffi_str("b"), tvmffi_str("abcdefghij"), MORE);
  test_orders(tvmffi_bytes(&ab), tvmffi_bytes(&abc), LESS);
  test_orders(tvmffi_bytes(&abc), tvmffi_bytes(&ab), MORE);
  test_orders(tvmffi_bytes(&ab), tvmffi_bytes(&ab), SAME);
  test_orders(tvmffi_str("abcdefgh"), tvmffi_bytes(&abc), NO_ORDER);
  test_orders(tvmffi_str("ab"), tvmffi_int(1), NO_ORDER);
  test_orders(tvmffi_bytes(&ab), tvmffi_int(1), NO_ORDER);
  test_orders(tvmffi_ptr(&ab), tvmffi_ptr(&ab), SAME);
  test_orders(tvmffi_bytes(&ab), tvmffi_str("ab"), NO_ORDER);
  test_orders(tvmffi_ptr(&ab), tvmffi_ptr(&abc), NO_ORDER);
}

static void test_order_of_containers(TVMFFI_HERE) {
  TVMFFIAny a, b, c, d;
  OK(test_list(&a, tvmffi_int(1), tvmffi_int(2)));
  OK(test_list(&b, tvmffi_int(1), tvmffi_int(3)));
  test_orders(a, b, LESS);
  test_orders(b, a, MORE);
  test_orders(a, a, SAME);
  d = tvmffi_int(1);
  OK(test_apply_global("ffi.List", &d, 1, &c));
  test_orders(c, a, LESS);
  test_orders(a, c, MORE);
  OK(test_map_of("ffi.Map", &c, tvmffi_int(1), a));
  OK(test_map_of("ffi.Map", &d, tvmffi_int(1), b));
  test_orders(c, d, NO_ORDER);
  test_orders(c, c, SAME);
  OK(test_map_of("ffi.Map", &d, tvmffi_int(2), a));
  test_orders(c, d, NO_ORDER);
  OK(test_list(&b, tvmffi_int(1), tvmffi_int(2)));
  OK(test_map_of("ffi.Map", &d, tvmffi_int(1), b));
  test_orders(c, d, SAME);
  OK(test_apply_global("ffi.Map", NULL, 0, &d));
  test_orders(c, d, NO_ORDER);
  test_orders(d, c, NO_ORDER);
  /* An object that is the key in both maps, and one that is not. */
  OK(test_map_of("ffi.Map", &c, a, tvmffi_int(1)));
  OK(test_map_of("ffi.Map", &d, a, tvmffi_int(1)));
  test_orders(c, d, SAME);
  OK(test_map_of("ffi.Map", &d, b, tvmffi_int(1)));
  test_orders(c, d, NO_ORDER);
}

/* An object that is missing in a list is less than any other. */
static void test_order_of_missing(TVMFFI_HERE) {
  TVMFFIAny a, b, *items;
  OK(test_list(&a, tvmffi_int(1), tvmffi_none()));
  OK(test_list(&b, tvmffi_int(1), a));
  items = (TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, a.v_obj)->data;
  items[1] = tvmffi_i_pointer(kTVMFFIList, NULL);
  test_orders(a, b, LESS);
  test_orders(b, a, MORE);
  CHECK_HASH(a, tvmffi_i_hash_combine(
                    tvmffi_i_hash_combine(
                        tvmffi_i_hash_combine(
                            TVMFFIGetTypeInfo(kTVMFFIList)->type_key_hash, 2),
                        tvmffi_i_hash_combine(
                            tvmffi_i_hash_combine(kTVMFFIInt, 1), 0)),
                    tvmffi_i_hash_combine(tvmffi_i_hash_combine(0, 0), 1)));
}

/* Lists of different length that are compared twice, in a hook, too. */
static void test_order_of_lengths(TVMFFI_HERE) {
  int32_t parent = 0, child = 0;
  TVMFFIAny a, b, c, x, y, three = tvmffi_int(3);
  OK(test_list(&a, tvmffi_int(1), tvmffi_int(2)));
  OK(test_list(&b, tvmffi_int(1), tvmffi_int(2)));
  OK(test_list(&c, tvmffi_int(1), tvmffi_int(2)));
  OK(tvmffi_i_list_append(b.v_obj, &three));
  OK(test_list(&x, a, a));
  OK(test_list(&y, b, b));
  test_orders(x, y, LESS);
  OK(test_pair_types(&parent, &child, 0));
  OK(test_set_hook(parent, "__ffi_compare__", test_compare_a));
  OK(test_new_pair(parent, a, tvmffi_none(), &x));
  OK(test_new_pair(parent, b, tvmffi_none(), &y));
  test_orders(x, y, LESS);
  OK(test_new_pair(parent, c, tvmffi_none(), &y));
  test_orders(x, y, SAME);
}

/* Fields whose getter fails, directly and in hooks. */
static void test_order_of_fields(TVMFFI_HERE) {
  static const char *const hooks[] = {"__ffi_eq__", "__ffi_compare__"};
  int32_t getter = 0, parent = 0, child = 0;
  TVMFFIAny list, same, pairs[3], args[2], any;
  int i;
  OK(test_getter_type(&getter));
  OK(test_list(&list, tvmffi_int(1), tvmffi_int(2)));
  OK(test_list(&same, tvmffi_int(1), tvmffi_int(2)));
  OK(test_new_pair(getter, list, tvmffi_int(1), &pairs[0]));
  OK(test_new_pair(getter, same, tvmffi_int(2), &pairs[1]));
  test_orders(pairs[0], pairs[1], LESS);
  OK(test_new_pair(getter, same, tvmffi_int(404), &pairs[1]));
  OK(test_new_pair(getter, tvmffi_int(404), same, &pairs[2]));
  for (i = 0; i < 2; ++i) {
    args[0] = pairs[i];
    args[1] = pairs[!i];
    FAILS(test_apply_global("ffi.RecursiveEq", args, 2, &any), "ValueError",
          "no value");
    args[0] = args[1] = pairs[2];
    OK(test_apply_global("ffi.RecursiveEq", args, 2, &any));
    CHECK_INT(any.v_int64, 1);
    OK(test_pair_types(&parent, &child, 0));
    OK(test_set_hook(parent, hooks[i], test_compare_a));
    OK(test_new_pair(parent, pairs[0], tvmffi_none(), &args[0]));
    OK(test_new_pair(parent, pairs[1], tvmffi_none(), &args[1]));
    FAILS(test_apply_global("ffi.RecursiveEq", args, 2, &any), "ValueError",
          "no value");
  }
}

static int test_num_equal_keys; /* until the keys' equality fails */
static int test_equal_then_fail(void *self, const TVMFFIAny *args,
                                int32_t num_args, TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args;
  if (test_num_equal_keys-- <= 0) return TVMFFI_RAISE("ValueError", "no key");
  *result = tvmffi_bool(1);
  return 0;
}

/* Keys whose equality fails: when all keys are looked up, or later one. */
static void test_keys_that_fail(TVMFFI_HERE) {
  int32_t parent = 0, child = 0;
  TVMFFIAny keys[2], maps[2], any;
  int i;
  OK(test_pair_types(&parent, &child, 0));
  OK(test_set_hook(parent, "__any_equal__", test_equal_then_fail));
  for (i = 0; i < 2; ++i) {
    OK(test_new_pair(parent, tvmffi_int(1), tvmffi_none(), &keys[i]));
    OK(test_map_of("ffi.Map", &maps[i], keys[i], tvmffi_int(5)));
  }
  for (i = 0; i < 2; ++i) {
    test_num_equal_keys = i;
    FAILS(test_apply_global("ffi.RecursiveEq", maps, 2, &any), "ValueError",
          "no key");
  }
  test_num_equal_keys = 2;
  OK(test_apply_global("ffi.RecursiveEq", maps, 2, &any));
  CHECK_INT(any.v_int64, 1);
}

/* Values with bits that no value should have, and a type whose equality could
   not be read. */
static void test_odd_values(TVMFFI_HERE) {
  TVMFFIAny lists[2], any = tvmffi_none(), *item;
  int i;
  for (i = 0; i < 2; ++i)
    OK(test_list(&lists[i], tvmffi_ptr(&any), tvmffi_none()));
  OK(test_apply_global("ffi.RecursiveEq", lists, 2, &any));
  CHECK_INT(any.v_int64, 1);
  item = (TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, lists[1].v_obj)->data;
  item->zero_padding = 1;
  OK(test_apply_global("ffi.RecursiveEq", lists, 2, &any));
  CHECK_INT(any.v_int64, 0);
  FAILS(tvmffi_i_cannot_hash(tvmffi_i_unread_attr(), kTVMFFIObject),
        "MemoryError", NULL);
}

static void test_order_of_shapes(TVMFFI_HERE) {
  TVMFFIAny numbers[3], a, b, c;
  numbers[0] = tvmffi_int(3);
  numbers[1] = tvmffi_int(-4);
  numbers[2] = tvmffi_int(0);
  OK(test_apply_global("ffi.Shape", numbers, 2, &a));
  OK(test_apply_global("ffi.Shape", numbers, 2, &b));
  OK(test_apply_global("ffi.Shape", numbers, 3, &c));
  test_orders(a, b, SAME);
  test_orders(a, c, LESS);
  numbers[1] = tvmffi_int(5);
  OK(test_apply_global("ffi.Shape", numbers, 2, &b));
  test_orders(a, b, LESS);
  test_orders(b, c, MORE);
}

/* Maps of the same entries in another order. */
static void test_order_of_orders(TVMFFI_HERE) {
  TVMFFIAny items[12], maps[2];
  int i, k;
  for (k = 0; k < 2; ++k) {
    for (i = 0; i < 12; i += 2) {
      items[i] = tvmffi_int(k ? i : 10 - i);
      items[i + 1] = tvmffi_str("the same value");
    }
    OK(test_apply_global("ffi.Dict", items, 12, &maps[k]));
  }
  test_orders(maps[0], maps[1], SAME);
}

static void test_order_of_bigints(TVMFFI_HERE) {
  TVMFFIAny big, small;
  OK(test_bigint(&big, 0, 1, 0));
  OK(test_bigint(&small, 0, -1, -1));
  test_orders(small, big, LESS);
  test_orders(big, tvmffi_int(5), MORE);
  test_orders(small, tvmffi_int(-5), LESS);
  test_orders(tvmffi_int(-5), small, MORE);
  OK(test_bigint(&small, 7, 7, 7));
  test_orders(big, small, LESS);
  OK(test_bigint(&small, -1, -1, -7));
  OK(test_bigint(&big, 0, -2, -1));
  test_orders(small, big, LESS);
  test_orders(tvmffi_int(5), small, MORE);
  test_orders(big, test_bits(0), NO_ORDER);
}

/* Two cycles of one shape are equal, but have no order. */
static void test_order_of_cycles(TVMFFI_HERE) {
  TVMFFIAny a, b, text, *items;
  int code;
  OK(test_list(&a, tvmffi_int(1), tvmffi_int(2)));
  OK(test_list(&b, tvmffi_int(1), tvmffi_int(2)));
  items = (TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, a.v_obj)->data;
  items[1] = a;
  items = (TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, b.v_obj)->data;
  items[1] = b;
  tvmffi_retain(a.v_obj);
  tvmffi_retain(b.v_obj);
  test_orders(a, b, "1eeee");
  code = test_repr(a, &text);
  items[1] = tvmffi_none();
  items = (TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, a.v_obj)->data;
  items[1] = tvmffi_none();
  tvmffi_release(a.v_obj);
  tvmffi_release(b.v_obj);
  OK(code);
  CHECK_TEXT(tvmffi_any_str(&text), "[1, ...]");
}

static void test_order_hooks(TVMFFI_HERE) {
  int32_t parent = 0, child = 0;
  TVMFFIAny a, b;
  OK(test_pair_types(&parent, &child, kTVMFFIFieldFlagBitMaskCompareOff));
  OK(test_new_pair(child, tvmffi_int(1), tvmffi_int(5), &a));
  OK(test_new_pair(child, tvmffi_int(1), tvmffi_int(6), &b));
  test_orders(a, b, SAME);
  OK(test_pair_types(&parent, &child, 0));
  OK(test_new_pair(child, tvmffi_int(1), tvmffi_int(5), &a));
  OK(test_new_pair(child, tvmffi_int(1), tvmffi_int(6), &b));
  test_orders(a, b, LESS);
  OK(test_set_hook(child, "__ffi_compare__", test_compare_a));
  test_orders(a, b, SAME);
  OK(test_new_pair(child, tvmffi_int(0), tvmffi_int(6), &b));
  test_orders(a, b, MORE);
  OK(test_new_pair(parent, tvmffi_int(0), tvmffi_int(6), &b));
  test_orders(a, b, NO_ORDER);
}

/* Takes both keys out of the second dict while it is compared. */
static TVMFFIObject *test_changing;
static int test_change_dict(void *self, const TVMFFIAny *args, int32_t num_args,
                            TVMFFIAny *result) {
  TVMFFIAny key;
  int i;
  (void)self, (void)args;
  CHECK_INT(num_args, 3);
  for (i = 1; i <= 2; ++i) {
    key = tvmffi_int(i);
    (void)tvmffi_i_map_erase(test_changing, &key);
  }
  tvmffi_error_clear();
  *result = tvmffi_bool(1);
  return 0;
}

/* Equality alone has a hook; its callback compares texts that it is given. */
static int test_compare_texts(void *self, const TVMFFIAny *args,
                              int32_t num_args, TVMFFIAny *result) {
  TVMFFIAny texts[2];
  (void)self, (void)num_args;
  texts[0] = tvmffi_str("a text of some length");
  texts[1] = ((test_pair *)args[1].v_ptr)->a.v_int64 == 1
                 ? texts[0]
                 : tvmffi_str("another text of some length");
  return TVMFFIFunctionCall(args[2].v_obj, texts, 2, result);
}

static void test_equality_hooks(TVMFFI_HERE) {
  int32_t parent = 0, child = 0;
  TVMFFIAny a, b, pairs[4], maps[2], any;
  int i;
  OK(test_pair_types(&parent, &child, 0));
  OK(test_set_hook(parent, "__ffi_eq__", test_compare_texts));
  OK(test_new_pair(parent, tvmffi_int(5), tvmffi_none(), &a));
  OK(test_new_pair(parent, tvmffi_int(1), tvmffi_none(), &b));
  pairs[0] = a;
  pairs[1] = b;
  OK(test_apply_global("ffi.RecursiveEq", pairs, 2, &any));
  CHECK_INT(any.v_int64, 1);
  pairs[0] = b;
  pairs[1] = a;
  OK(test_apply_global("ffi.RecursiveEq", pairs, 2, &any));
  CHECK_INT(any.v_int64, 0);
  OK(test_pair_types(&parent, &child, 0));
  OK(test_set_hook(parent, "__ffi_eq__", test_change_dict));
  OK(test_new_pair(parent, tvmffi_int(5), tvmffi_none(), &a));
  OK(test_new_pair(parent, tvmffi_int(1), tvmffi_none(), &b));
  pairs[0] = tvmffi_int(1);
  pairs[1] = pairs[3] = a;
  pairs[2] = tvmffi_int(2);
  OK(test_apply_global("ffi.Dict", pairs, 4, &maps[0]));
  for (i = 0; i < 2; ++i) { /* in another order, and in the same */
    pairs[0] = tvmffi_int(2 - i);
    pairs[1] = pairs[3] = b;
    pairs[2] = tvmffi_int(1 + i);
    OK(test_apply_global("ffi.Dict", pairs, 4, &maps[1]));
    test_changing = maps[1].v_obj;
    FAILS(test_apply_global("ffi.RecursiveEq", maps, 2, &any), "RuntimeError",
          "A map has changed while compared");
  }
}

/* Empties the dict whose key is being looked up in another. */
static int test_empty_dict(void *self, const TVMFFIAny *args, int32_t num_args,
                           TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args;
  *result = tvmffi_bool(0);
  if (!test_changing) return 0;
  return tvmffi_call(tvmffi_str("ffi.DictClear"), tvmffi_out_any(NULL),
                     tvmffi_obj(test_changing));
}

/* A key lives as long as it is looked up. */
static void test_keys_that_go(TVMFFI_HERE) {
  int32_t parent = 0, child = 0;
  TVMFFIAny items[4], maps[2], any;
  int i, k;
  OK(test_pair_types(&parent, &child, 0));
  OK(test_set_hook(parent, "__any_equal__", test_empty_dict));
  test_changing = NULL;
  for (i = 0; i < 2; ++i) {
    for (k = 0; k < 4; k += 2) {
      OK(test_new_pair(parent, tvmffi_int(k), tvmffi_none(), &items[k]));
      items[k + 1] = tvmffi_int(k);
    }
    maps[i] = tvmffi_obj(tvmffi_i_new_map(kTVMFFIDict, 0));
    OK(maps[i].v_obj ? 0 : -1);
    OWN(maps[i].v_obj);
    for (k = 0; k < 4; k += 2) {
      TVMFFIObject *map = maps[i].v_obj;
      OK(tvmffi_i_map_set(map, &items[k], &items[k + 1]));
      test_drop(items[k].v_obj);
    }
  }
  test_changing = maps[0].v_obj;
  OK(test_apply_global("ffi.RecursiveEq", maps, 2, &any));
  CHECK_INT(any.v_int64, 0);
}

/* Hooks that fail with any code. */
static void test_failing_hooks(TVMFFI_HERE) {
  static const struct {
    const char *hook, *function;
    int num_args;
  } rows[] = {{"__ffi_repr__", "ffi.ReprPrint", 1},
              {"__ffi_hash__", "ffi.RecursiveHash", 1},
              {"__ffi_eq__", "ffi.RecursiveEq", 2},
              {"__ffi_compare__", "ffi.RecursiveLt", 2},
              {"__ffi_shallow_copy__", "ffi.DeepCopy", 1}};
  int32_t parent = 0, child = 0;
  TVMFFIAny pairs[2];
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    OK(test_pair_types(&parent, &child, 0));
    OK(test_set_hook(parent, rows[i].hook, test_fail_hook));
    OK(test_new_pair(parent, tvmffi_int(1), tvmffi_none(), &pairs[0]));
    OK(test_new_pair(parent, tvmffi_int(1), tvmffi_none(), &pairs[1]));
    test_fails_anyhow(rows[i].function, 0, pairs, rows[i].num_args);
  }
}

/* A type whose keys are hashed and compared by hooks that fail, and `n` of its
   keys, which differ until test_fail_answer is set. */
static int test_make_keys(TVMFFIAny *keys, int n) {
  int32_t parent = 0, child = 0;
  test_fail_answer = 0;
  TVMFFI_TRY(test_pair_types(&parent, &child, 0));
  TVMFFI_TRY(test_set_hook(parent, "__any_hash__", test_fail_hook));
  TVMFFI_TRY(test_set_hook(parent, "__any_equal__", test_fail_bool));
  while (n--)
    TVMFFI_TRY(test_new_pair(parent, tvmffi_int(n), tvmffi_none(), &keys[n]));
  return 0;
}

/* Keys of a dict whose comparison fails, in a row and in a table, and in a
   table their hash. */
static void test_failing_lookups(TVMFFI_HERE) {
  static const struct {
    const char *function;
    int num_args;
  } rows[] = {{"ffi.DictGetItem", 2},
              {"ffi.DictGetItemOrMissing", 2},
              {"ffi.DictCount", 2},
              {"ffi.DictErase", 2},
              {"ffi.DictSetItem", 3}};
  TVMFFIAny keys[6], items[10], args[3];
  size_t i;
  int n, k;
  OK(test_make_keys(keys, 6));
  args[1] = keys[5];
  args[2] = tvmffi_int(1);
  for (n = 1; n <= 5; n += 4) {
    for (k = 0; k < n; ++k) {
      items[2 * k] = keys[k];
      items[2 * k + 1] = tvmffi_int(k);
    }
    OK(test_apply_global("ffi.Dict", items, 2 * n, &args[0]));
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
      test_fails_anyhow(rows[i].function, 0, args, rows[i].num_args);
      if (n > 1) test_fails_anyhow(rows[i].function, 1, args, rows[i].num_args);
    }
    CHECK_INT(tvmffi_i_map_size(args[0].v_obj), n);
  }
  OK(test_apply_global("ffi.Array", keys, 1, &args[0]));
  test_fails_anyhow("ffi.ArrayContains", 0, args, 2);
}

/* Maps whose keys' comparison fails: when all keys are looked up, or later one,
   in maps or in lists of them. */
static void test_failing_maps(TVMFFI_HERE) {
  TVMFFIAny keys[2], maps[4], lists[2];
  tvmffi_i_pair pairs[2];
  char drops[2] = {0, 0};
  int i;
  OK(test_make_keys(keys, 2));
  test_fail_answer = 1;
  for (i = 0; i < 2; ++i) {
    OK(test_map_of("ffi.Map", &maps[i], keys[i], tvmffi_int(5)));
    OK(test_apply_global("ffi.Array", &maps[i], 1, &lists[i]));
    pairs[i].key = keys[i];
    pairs[i].value = tvmffi_int(i);
  }
  test_fails_anyhow("ffi.RecursiveEq", 0, maps, 2);
  test_fails_anyhow("ffi.RecursiveEq", 1, maps, 2);
  test_fails_anyhow("ffi.RecursiveEq", 0, lists, 2);
  maps[2] = maps[3] = tvmffi_bool(0);
  test_fails_anyhow("ffi.StructuralEqual", 0, maps, 4);
  /* The keys of a long list of arguments, of which equal ones are dropped. */
  test_fail_code = -2;
  test_fail_after = 0;
  test_left_error(tvmffi_i_map_drop_hashed(pairs, 2, drops), __FILE__,
                  __LINE__, "a long list of arguments");
  test_fail_code = 0;
}

/* A type whose two fields have a getter that fails. */
static int test_failing_type(int32_t *index) {
  TVMFFIFieldInfo f = test_any_field("a", offsetof(test_pair, a), 0);
  TVMFFITypeMetadata m;
  *index = test_type(test_fresh("unit.Failing"), -1, 1, 0, 1, kTVMFFIObject);
  if (*index < 0) return -1;
  memset((void *)&m, 0, sizeof(m));
  m.total_size = (int32_t)sizeof(test_pair);
  m.structural_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  f.getter = test_fail_getter;
  TVMFFI_TRY(TVMFFITypeRegisterField(*index, &f));
  return TVMFFITypeRegisterMetadata(*index, &m);
}

/* Getters that fail with any code, for the first object or the second. */
static void test_failing_getters(TVMFFI_HERE) {
  int32_t index = 0;
  TVMFFIAny args[4];
  OK(test_failing_type(&index));
  OK(test_new_pair(index, tvmffi_none(), tvmffi_none(), &args[0]));
  OK(test_new_pair(index, tvmffi_none(), tvmffi_none(), &args[1]));
  args[2] = args[3] = tvmffi_bool(0);
  test_fails_anyhow("ffi.ReprPrint", 0, args, 1);
  test_fails_anyhow("ffi.RecursiveHash", 0, args, 1);
  test_fails_anyhow("ffi.RecursiveEq", 0, args, 2);
  test_fails_anyhow("ffi.RecursiveEq", 1, args, 2);
  test_fails_anyhow("ffi.StructuralEqual", 0, args, 4);
  test_fails_anyhow("ffi.StructuralEqual", 1, args, 4);
  args[1] = args[2];
  test_fails_anyhow("ffi.StructuralHash", 0, args, 3);
}

/* Lists in lists, once or twice each, that the test owns. */
static int test_nest(TVMFFIAny *nest, int depth, int twice) {
  TVMFFIObject *list = tvmffi_i_new_list(0), *outer;
  TVMFFIAny inner;
  for (; list && depth > 0; --depth) {
    inner = tvmffi_obj(list);
    outer = tvmffi_i_new_list(2);
    if (outer && (tvmffi_i_list_append(outer, &inner) ||
                  (twice && tvmffi_i_list_append(outer, &inner)))) {
      tvmffi_release(outer);
      outer = NULL;
    }
    tvmffi_release(list);
    list = outer;
  }
  if (!list) return -1;
  OWN(list);
  *nest = tvmffi_obj(list);
  return 0;
}

/* On a stack of its own; and what is shared is done once, else this would take
   2^60 steps. */
static void test_deep_values(TVMFFI_HERE) {
  int n = test_scale(test_chain < 20000 ? test_chain : 20000, 10);
  TVMFFIAny a, b, any;
  OK(test_nest(&a, 60, 1));
  OK(test_nest(&b, 60, 1));
  test_orders(a, b, SAME);
  OK(test_apply_global("ffi.RecursiveHash", &a, 1, &any));
  OK(test_nest(&a, n, 0));
  OK(test_nest(&b, n, 0));
  test_orders(a, b, SAME);
  OK(test_repr(a, &any));
  CHECK(tvmffi_any_str(&any).size == 2 + 2 * (size_t)n);
}

static void test_bigint_hooks(TVMFFI_HERE) {
  static const char *const names[] = {"__ffi_eq__", "__ffi_compare__"};
  TVMFFIAny args[3], any, hash;
  int i;
  OK(test_bigint(&any, 5, 6, 0));
  args[0] = args[1] = any;
  args[2] = tvmffi_none();
  for (i = 0; i < 2; ++i) {
    OK(test_apply_attr(kTVMFFIBigInt, names[i], args, 3, &any));
    CHECK_INT(any.v_int64, !i);
  }
  args[1] = tvmffi_none();
  OK(test_apply_attr(kTVMFFIBigInt, "__ffi_hash__", args, 2, &any));
  OK(test_apply_global("ffi.RecursiveHash", args, 1, &hash));
  CHECK(any.v_int64 == hash.v_int64);
  FAILS(test_apply_attr(kTVMFFIBigInt, "__ffi_eq__", args, 3, &any),
        "TypeError", NULL);
  OK(test_list(&args[0], tvmffi_int(1), tvmffi_int(2)));
  FAILS(test_apply_attr(kTVMFFIBigInt, "__ffi_hash__", args, 2, &any),
        "TypeError", "Cannot treat type `ffi.List` as type `BigInt`");
}
#endif

static const test_case test_recursive_cases[] = {
#if !TVMFFI_NO_EXTRA
    {"recursive hash: values", test_recursive_hash},
    {"recursive hash: maps", test_hash_of_maps},
    {"recursive hash: nests and fields", test_hash_of_nests},
    {"recursive hash: after an error", test_hash_after_error},
    {"recursive hash: hooks that fail", test_failing_hooks},
    {"recursive hash: keys whose hooks fail", test_failing_lookups},
    {"recursive order: maps whose keys fail", test_failing_maps},
    {"recursive order: getters that fail", test_failing_getters},
    {"recursive hash: hooks", test_hash_hooks},
    {"recursive hash: a hook that hashes twice", test_hash_again},
    {"recursive hash: refused", test_hash_refused},
    {"recursive hash: shapes", test_hash_of_shapes},
    {"recursive order: values", test_order_of_values},
    {"recursive order: containers", test_order_of_containers},
    {"recursive order: missing objects", test_order_of_missing},
    {"recursive order: lengths", test_order_of_lengths},
    {"recursive order: fields", test_order_of_fields},
    {"recursive order: keys that fail", test_keys_that_fail},
    {"recursive order: shapes", test_order_of_shapes},
    {"recursive order: odd values", test_odd_values},
    {"recursive order: maps in another order", test_order_of_orders},
    {"recursive order: big integers", test_order_of_bigints},
    {"recursive order: cycles", test_order_of_cycles},
    {"recursive order: hooks", test_order_hooks},
    {"recursive order: hooks of equality", test_equality_hooks},
    {"recursive order: keys that go", test_keys_that_go},
    {"recursive order: depth and sharing", test_deep_values},
    {"recursive order: hooks of big integers", test_bigint_hooks},
#endif
    {NULL, NULL}};
