/* ======== Graphs: values with all that they refer to, as JSON ============= */

#pragma once

#include "harness.h"
#include "type_field.h"
#include "type.h"
#include "sequence.h"
#include "apply.h"
#include "reflection.h"
#include "access_path.h"
#include "copy.h"
#include "repr.h"
#include "recursive.h"
#include "structural.h"
#include "json.h"

#if !TVMFFI_NO_EXTRA && !TEST_NO_JSON
/* Of all built-in kinds, one of them twice. */
static int test_make_graph(TVMFFIObject **made) {
  TVMFFIObject *list = tvmffi_i_new_list(0);
  TVMFFIByteArray raw = test_bytes("\0\1\2\xFF and more", 13),
                  big = test_bytes(NULL, 0);
  int64_t words[2] = {5, -7}, *numbers = NULL;
  TVMFFIAny items[12], inner = tvmffi_none();
  DLDataType dtype = {kDLFloat, 32, 1};
  DLDevice device = {kDLCUDA, 3};
  int code = list ? 0 : -1, i = 0, n = 0;
  TVMFFIObject *map = list ? tvmffi_i_new_map(kTVMFFIMap, 0) : NULL;
  items[n++] = tvmffi_none();
  items[n++] = tvmffi_bool(1);
  items[n++] = tvmffi_int(-5);
  items[n] = tvmffi_int((int64_t)0x3FF8 << 48);
  items[n++].type_index = kTVMFFIFloat;
  items[n++] = tvmffi_dtype(dtype);
  items[n++] = tvmffi_device(device);
  if (!map) code = -1;
  if (!code) {
    inner = tvmffi_int(1);
    code = tvmffi_i_map_set(map, &items[1], &inner);
  }
  items[n++] = tvmffi_obj(map);
  if (!code) {
    code = TVMFFIBytesFromByteArray(&raw, &items[n]);
    n += !code;
  }
  big.data = (const char *)words;
  big.size = sizeof(words);
  if (!code) {
    code = TVMFFIBigIntFromByteArray(&big, &items[n]);
    n += !code;
  }
  if (!code) {
    items[n] = tvmffi_obj(tvmffi_i_new_shape(2, &numbers));
    code = items[n].v_obj ? 0 : -1;
    n += !code;
  }
  if (!code) {
    numbers[0] = 4;
    numbers[1] = 2;
  }
  for (i = 0; i < n && !code; ++i) code = tvmffi_i_list_append(list, &items[i]);
  for (i = 0; i < n && !code; ++i) code = tvmffi_i_list_append(list, &items[i]);
  for (i = 6; i < n; ++i)
    if (items[i].v_obj) tvmffi_any_release(&items[i]);
  if (code) {
    tvmffi_release(list);
    return -1;
  }
  OWN(list);
  *made = list;
  return 0;
}

static void test_json_graphs(TVMFFI_HERE) {
  TVMFFIObject *list = NULL;
  TVMFFIAny args[2], text, graph, again, third;
  TVMFFIByteArray direct;
  OK(test_make_graph(&list));
  args[0] = tvmffi_obj(list);
  args[1] = tvmffi_int(8);
  OK(test_apply_global("ffi.ToJSONGraphString", args, 2, &text));
  CHECK_TEXT(tvmffi_any_str(&text),
             "{\"root_index\":11,\"nodes\":[{\"type\":\"None\"},{\"type\":"
             "\"bool\",\"data\":true},{\"type\":\"int\",\"data\":-5},{\"type\":"
             "\"float\",\"data\":1.5},{\"type\":\"DataType\",\"data\":"
             "\"float32\"},{\"type\":\"Device\",\"data\":[2,3]},{\"type\":"
             "\"int\",\"data\":1},{\"type\":\"ffi.Map\",\"data\":[1,6]},"
             "{\"type\":\"ffi.Bytes\",\"data\":\"AAEC\\/yBhbmQgbW9yZQ==\"},"
             "{\"type\":\"ffi.BigInt\",\"data\":\"-129127208515966861307\"},"
             "{\"type\":\"ffi.Shape\",\"data\":[4,2]},{\"type\":\"ffi.List\","
             "\"data\":[0,1,2,3,4,5,7,8,9,10,0,1,2,3,4,5,7,8,9,10]}],"
             "\"metadata\":8}");
  OK(test_apply_global("ffi.ToJSONGraph", args, 2, &graph));
  OK(test_stringify(&graph, 0, &direct));
  CHECK(tvmffi_i_same_text(direct, tvmffi_any_str(&text)));
  OK(test_apply_global("ffi.FromJSONGraph", &graph, 1, &again));
  CHECK_INT(again.type_index, kTVMFFIList);
  CHECK(test_item(again.v_obj, 6) == test_item(again.v_obj, 16));
  args[0] = again;
  OK(test_apply_global("ffi.ToJSONGraphString", args, 2, &third));
  CHECK(tvmffi_i_same_text(tvmffi_any_str(&third), tvmffi_any_str(&text)));
}

/* Objects by their fields, one of which is shared. */
static void test_json_objects(TVMFFI_HERE) {
  TVMFFIObject *o;
  TVMFFIAny args[2], text, again;
  const tvmffi_i_path *path;
  OK(TVMFFIGetTypeInfo(133) ? 0 : -1);
  o = test_path("a", 1);
  OK(o ? 0 : -1);
  args[0] = tvmffi_obj(o);
  args[1] = tvmffi_none();
  OK(test_apply_global("ffi.ToJSONGraphString", args, 2, &text));
  OK(test_apply_global("ffi.FromJSONGraphString", &text, 1, &again));
  CHECK_INT(again.type_index, 133);
  path = (const tvmffi_i_path *)again.v_ptr;
  CHECK(path->depth == ((const tvmffi_i_path *)(const void *)o)->depth);
  CHECK(path->step != ((const tvmffi_i_path *)(const void *)o)->step);
  args[0] = test_value_of(133, "__ffi_new__");
  FAILS(test_apply_global("ffi.ToJSONGraph", args, 2, &again), "TypeError",
        "Type `ffi.Function` does not support ToJSONGraph (no native creator "
        "or __ffi_new__ type attr)");
  args[0] = tvmffi_ptr(&args);
  FAILS(test_apply_global("ffi.ToJSONGraph", args, 2, &again), "RuntimeError",
        "Cannot serialize type `void*`");
}

static void test_json_bad_graphs(TVMFFI_HERE) {
#define NODE_TEXT(text) "{\"root_index\":0,\"nodes\":[" text "]}"
#define GRAPH "Invalid JSON Object Graph"
  static const struct {
    const char *from, *kind, *error;
  } rows[] = {
      {"[]", "ValueError", GRAPH ", expected an object"},
      {"{\"nodes\":[]}", "ValueError",
       GRAPH ", expected `root_index` integer field"},
      {"{\"root_index\":0,\"nodes\":1}", "ValueError",
       GRAPH ", expected `nodes` array field"},
      {"{\"root_index\":null,\"nodes\":[]}", "ValueError",
       GRAPH ", expected `root_index` integer field"},
      {"{\"root_index\":0}", "ValueError",
       GRAPH ", expected `nodes` array field"},
      {NODE_TEXT(""), "ValueError", GRAPH ": invalid node index 0"},
      {NODE_TEXT("{\"type\":1}"), "TypeError",
       "Cannot convert from type `int` to `str`"},
      {NODE_TEXT("{\"type\":\"unit.none\"}"), "InternalError", NULL},
      {NODE_TEXT("{\"type\":\"bool\",\"data\":\"yes\"}"), "TypeError",
       "Cannot convert from type `ffi.SmallStr` to `bool`"},
      {NODE_TEXT("{\"type\":\"ffi.String\",\"data\":1}"), "TypeError",
       "Cannot convert from type `int` to `str`"},
      {NODE_TEXT("{\"type\":\"ffi.Bytes\",\"data\":1}"), "TypeError",
       "Cannot convert from type `int` to `str`"},
      {NODE_TEXT("{\"type\":\"Device\",\"data\":1}"), "TypeError",
       "Cannot convert from type `int` to `Array<int>`"},
      {NODE_TEXT("{\"type\":\"ffi.Array\",\"data\":[null]}"), "TypeError",
       "Cannot convert from type `None` to `int`"},
      {NODE_TEXT("{\"type\":\"ffi.Map\",\"data\":[null,0]}"), "TypeError",
       "Cannot convert from type `None` to `int`"},
      {NODE_TEXT("{\"type\":\"ffi.Map\",\"data\":[0,null]}"), "TypeError",
       "Cannot convert from type `None` to `int`"},
      {NODE_TEXT("1"), "TypeError",
       "Cannot convert from type `int` to `Map<Any, Any>`"},
      {NODE_TEXT("{}"), "KeyError", "key is not in Map"},
      {NODE_TEXT("{\"type\":\"int\"}"), "KeyError", "key is not in Map"},
      {NODE_TEXT("{\"type\":\"int\",\"data\":null}"), "TypeError",
       "Cannot convert from type `None` to `int`"},
      {NODE_TEXT("{\"type\":\"ffi.Array\",\"data\":[0]}"), "ValueError",
       GRAPH ": node 0 refers to itself"},
      {NODE_TEXT("{\"type\":\"ffi.List\",\"data\":[-1]}"), "ValueError",
       GRAPH ": invalid node index -1"},
      {NODE_TEXT("{\"type\":\"ffi.Array\",\"data\":5}"), "TypeError",
       "Cannot convert from type `int` to `Array<Any>`"},
      {NODE_TEXT("{\"type\":\"ffi.Map\",\"data\":[1,2]}"), "ValueError",
       GRAPH ": invalid node index 2"},
      {NODE_TEXT("{\"type\":\"ffi.Dict\",\"data\":[1]}"), "ValueError",
       GRAPH ": Map/Dict data must contain an even number of [key, value] "
             "entries, got 1"},
      {NODE_TEXT("{\"type\":\"Device\",\"data\":[1]}"), "ValueError",
       GRAPH ": Device data must be an array of [device_type, device_id], got "
             "1 element(s)"},
      {NODE_TEXT("{\"type\":\"ffi.Shape\",\"data\":[1,{}]}"), "TypeError",
       "Cannot convert from type `Array[index 1: ffi.Map]` to `Array<int>`"},
      {NODE_TEXT("{\"type\":\"ffi.Bytes\",\"data\":\"abc\"}"), "RuntimeError",
       "invalid base64 encoding"},
      {NODE_TEXT("{\"type\":\"ffi.BigInt\",\"data\":\"1x\"}"), "ValueError",
       "Invalid decimal string for ffi.BigInt"},
      {NODE_TEXT("{\"type\":\"ffi.IntEnum\",\"data\":1}"), "ValueError",
       "Enum `ffi.IntEnum` has no instance with index 1"},
      {NODE_TEXT("{\"type\":\"ffi.StrEnum\",\"data\":\"a\"}"), "ValueError",
       "Enum `ffi.StrEnum` has no instance with index a"},
      {NODE_TEXT("{\"type\":\"float\",\"data\":null}"), "TypeError",
       "Cannot convert from type `None` to `float`"},
      {NODE_TEXT("{\"type\":\"ffi.Shape\",\"data\":1}"), "TypeError",
       "Cannot convert from type `int` to `Array<int>`"},
      {NODE_TEXT("{\"type\":\"ffi.BigInt\",\"data\":1}"), "TypeError",
       "Cannot treat type `int` as type `str`"},
      {NODE_TEXT("{\"type\":\"ffi.reflection.AccessStep\",\"data\":{}}"),
       "TypeError",
       "Required field `kind` not set in type `ffi.reflection.AccessStep`"},
      {NODE_TEXT("{\"type\":\"ffi.Tensor\",\"data\":1}"), "RuntimeError",
       "Type `ffi.Tensor` does not support reflection creation (no native "
       "creator or __ffi_new__ type attr)"}};
#undef GRAPH
#undef NODE
  TVMFFIAny text, any;
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    TVMFFIByteArray bytes = tvmffi_byte_array(rows[i].from);
    OK(TVMFFIStringFromByteArray(&bytes, &text));
    if (text.type_index == kTVMFFIStr) OWN(text.v_obj);
    FAILS(test_apply_global("ffi.FromJSONGraphString", &text, 1, &any),
          rows[i].kind, rows[i].error);
    test_release_all();
  }
}

/* A graph may be made of lists and dicts; an int serves as a float. */
static void test_json_loose_graphs(TVMFFI_HERE) {
  static const char text[] =
      "{\"root_index\":1,\"nodes\":[{\"type\":\"float\",\"data\":-3},"
      "{\"type\":\"ffi.List\",\"data\":[0,0]}]}";
  TVMFFIAny args[4], node, nodes, got, key;
  TVMFFIByteArray bytes = TEXT(text), name = TEXT("ffi.Array");
  OK(TVMFFIStringFromByteArray(&bytes, &key));
  OWN_ANY(key);
  OK(test_apply_global("ffi.FromJSONGraphString", &key, 1, &got));
  CHECK_INT(got.type_index, kTVMFFIList);
  CHECK_INT(test_cell(got.v_obj)->size, 2);
  CHECK_INT(((TVMFFIAny *)test_cell(got.v_obj)->data)->type_index,
            kTVMFFIFloat);
  CHECK(((TVMFFIAny *)test_cell(got.v_obj)->data)->v_uint64 == (uint64_t)0xC008
                                                                   << 48);
  OK(TVMFFIStringFromByteArray(&name, &key));
  OWN_ANY(key);
  args[0] = tvmffi_str("type");
  args[1] = key;
  args[2] = tvmffi_str("data");
  OK(test_apply_global("ffi.List", NULL, 0, &args[3]));
  OK(test_apply_global("ffi.Dict", args, 4, &node));
  OK(test_apply_global("ffi.Array", &node, 1, &nodes));
  args[0] = tvmffi_str("root_index");
  args[1] = tvmffi_int(0);
  args[2] = tvmffi_str("nodes");
  args[3] = nodes;
  OK(test_apply_global("ffi.Map", args, 4, &node));
  OK(test_apply_global("ffi.FromJSONGraph", &node, 1, &got));
  CHECK_INT(got.type_index, kTVMFFIArray);
  CHECK_INT(test_cell(got.v_obj)->size, 0);
}

/* A dict in itself, through an array. */
static void test_json_cycles(TVMFFI_HERE) {
  TVMFFIObject *dict = tvmffi_i_new_map(kTVMFFIDict, 0), *array;
  TVMFFIAny *items = NULL, key = tvmffi_int(1), args[2], any;
  int code;
  OK(dict ? 0 : -1);
  OWN(dict);
  array = tvmffi_i_new_array(1, &items);
  OK(array ? 0 : -1);
  OWN(array);
  tvmffi_retain(dict);
  items[0] = tvmffi_obj(dict);
  any = tvmffi_obj(array);
  code = tvmffi_i_map_set(dict, &key, &any);
  args[0] = any;
  args[1] = tvmffi_none();
  if (!code) {
    code = test_apply_global("ffi.ToJSONGraph", args, 2, &any);
    (void)tvmffi_i_map_erase(dict, &key);
  }
  FAILS(code, "ValueError",
        "Cycle detected during serialization: a Dict contains itself");
}

static int test_empty_dict_hash(void *self, const TVMFFIAny *args,
                                int32_t num_args, TVMFFIAny *result) {
  int code = test_empty_dict(self, args, num_args, result);
  *result = tvmffi_int(7);
  return code;
}

/* A key lives as long as it is asked for its hash, and afterwards. */
static void test_json_keys_that_go(TVMFFI_HERE) {
  int32_t parent = 0, child = 0;
  TVMFFIAny key = tvmffi_none(), one = tvmffi_int(1), args[2], any;
  TVMFFIObject *dict;
  OK(test_pair_types(&parent, &child, 0));
  test_changing = NULL;
  OK(test_set_hook(parent, "__any_hash__", test_empty_dict_hash));
  OK(test_new_pair(parent, tvmffi_int(5), tvmffi_none(), &key));
  dict = tvmffi_i_new_map(kTVMFFIDict, 0);
  OK(dict ? 0 : -1);
  OWN(dict);
  OK(tvmffi_i_map_set(dict, &key, &one));
  test_drop(key.v_obj);
  test_changing = dict;
  args[0] = tvmffi_obj(dict);
  args[1] = tvmffi_none();
  FAILS(test_apply_global("ffi.ToJSONGraph", args, 2, &any), "TypeError",
        "...does not support ToJSONGraph");
}

/* Hooks that fail on a pair of 3. Any other pair equals itself only if its
   number does. */
static int64_t test_pair_number(const TVMFFIAny *pair) {
  return ((const test_pair *)pair->v_ptr)->a.v_int64;
}
static int test_pair_hook(const TVMFFIAny *args, int32_t num_args,
                          TVMFFIAny *result, int64_t wrong) {
  if (test_pair_number(&args[num_args - 1]) == wrong) {
    TVMFFIErrorSetRaisedFromCStr("ValueError", "a pair is refused");
    return -1;
  }
  *result = num_args == 1 ? tvmffi_int(7)
                          : tvmffi_bool(test_pair_number(&args[0]) ==
                                        test_pair_number(&args[1]));
  return 0;
}
static int test_hash_pair(void *self, const TVMFFIAny *args, int32_t num_args,
                          TVMFFIAny *result) {
  (void)self;
  return test_pair_hook(args, num_args, result, 3);
}
static int test_equal_pair(void *self, const TVMFFIAny *args, int32_t num_args,
                           TVMFFIAny *result) {
  (void)self;
  return test_pair_hook(args, num_args, result, 4);
}
static int test_pair_to_json(void *self, const TVMFFIAny *args,
                             int32_t num_args, TVMFFIAny *result) {
  (void)self, (void)num_args;
  *result = tvmffi_int(test_pair_number(args));
  return 0;
}

/* Values share a node if their own comparison says so. An error of a hash or of
   a comparison ends the graph. */
static void test_json_compared(TVMFFI_HERE) {
  static const struct {
    int numbers[4];
    const char *error, *data;
  } rows[] = {{{1, 2, 1, 2}, NULL, "[0,1,0,1]"},
              {{2, 2, 2, 5}, NULL, "[0,0,0,1]"},
              {{1, 3, 1, 1}, "a pair is refused", NULL},
              {{1, 2, 4, 1}, "a pair is refused", NULL}};
  int32_t parent = 0, child = 0;
  TVMFFIAny args[2], pairs[4], text;
  size_t i, k;
  OK(test_pair_types(&parent, &child, 0));
  OK(test_set_hook(parent, "__any_hash__", test_hash_pair));
  OK(test_set_hook(parent, "__any_equal__", test_equal_pair));
  OK(test_set_hook(parent, "__data_to_json__", test_pair_to_json));
  args[1] = tvmffi_none();
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    for (k = 0; k < 4; ++k)
      OK(test_new_pair(parent, tvmffi_int(rows[i].numbers[k]), tvmffi_none(),
                       &pairs[k]));
    OK(test_apply_global("ffi.Array", pairs, 4, &args[0]));
    if (rows[i].error) {
      FAILS(test_apply_global("ffi.ToJSONGraphString", args, 2, &text),
            "ValueError", rows[i].error);
      FAILS(test_apply_global("ffi.ToJSONGraph", args, 2, &text), "ValueError",
            rows[i].error);
    } else {
      OK(test_apply_global("ffi.ToJSONGraphString", args, 2, &text));
      CHECK(test_contains(tvmffi_any_str(&text), rows[i].data));
      OK(test_apply_global("ffi.ToJSONGraph", args, 2, &text));
      CHECK_INT(tvmffi_i_map_size(text.v_obj), 2);
    }
  }
}

/* Hooks and getters that fail with any code. */
static void test_json_failing(TVMFFI_HERE) {
  int32_t index = 0;
  TVMFFIAny keys[2], args[2];
  int after;
  OK(test_make_keys(keys, 2));
  OK(test_apply_global("ffi.Array", keys, 2, &args[0]));
  args[1] = tvmffi_none();
  OK(test_set_hook(keys[0].type_index, "__data_to_json__", test_fail_hook));
  /* A hash, a conversion, the other hash, the comparison. */
  for (after = 0; after < 4; ++after)
    test_fails_anyhow("ffi.ToJSONGraph", after, args, 2);
  OK(test_failing_type(&index));
  OK(test_set_hook(index, "__ffi_new__", test_fail_hook));
  OK(test_new_pair(index, tvmffi_none(), tvmffi_none(), &args[0]));
  OK(test_apply_global("ffi.Array", args, 1, &keys[0]));
  keys[1] = args[1];
  test_fails_anyhow("ffi.ToJSONGraph", 0, keys, 2);
}

/* What cannot be saved: a list in itself, an object in itself, and objects that
   nothing could make. */
static void test_json_not_saved(TVMFFI_HERE) {
  int32_t parent = 0, child = 0, odd, bare;
  TVMFFIObject *list = tvmffi_i_new_list(0);
  TVMFFITypeMetadata metadata;
  TVMFFIAny args[2], any, pair = tvmffi_none();
  int code;
  OK(list ? 0 : -1);
  OWN(list);
  args[0] = tvmffi_obj(list);
  args[1] = tvmffi_none();
  OK(tvmffi_i_list_append(list, &args[0]));
  code = test_apply_global("ffi.ToJSONGraph", args, 2, &any);
  tvmffi_i_erase((tvmffi_i_seq *)(void *)list, 0, 1);
  FAILS(code, "ValueError",
        "Cycle detected during serialization: a List contains itself");
  OK(test_pair_types(&parent, &child, 0));
  args[0] = tvmffi_int(parent);
  args[1] = tvmffi_int((int64_t)sizeof(test_pair));
  OK(test_apply_global("ffi._PyClassRegisterTypeAttrColumns", args, 2, &any));
  OK(test_new_pair(parent, tvmffi_none(), tvmffi_none(), &pair));
  tvmffi_retain(pair.v_obj);
  ((test_pair *)pair.v_ptr)->a = pair;
  args[0] = pair;
  args[1] = tvmffi_none();
  code = test_apply_global("ffi.ToJSONGraphString", args, 2, &any);
  tvmffi_any_release(&((test_pair *)pair.v_ptr)->a);
  FAILS(code, "ValueError", "...contains itself");
  odd = test_type_with("__ffi_new__", NULL);
  OK(odd < 0 ? -1 : 0);
  OK(test_new_pair(odd, tvmffi_none(), tvmffi_none(), &args[0]));
  FAILS(test_apply_global("ffi.ToJSONGraph", args, 2, &any), "TypeError",
        "...does not support ToJSONGraph");
  bare = test_type(test_fresh("unit.Bare"), -1, 1, 0, 1, kTVMFFIObject);
  OK(bare < 0 ? -1 : 0);
  memset((void *)&metadata, 0, sizeof(metadata));
  metadata.total_size = (int32_t)sizeof(test_pair);
  OK(TVMFFITypeRegisterMetadata(bare, &metadata));
  OK(test_new_pair(bare, tvmffi_none(), tvmffi_none(), &args[0]));
  FAILS(test_apply_global("ffi.ToJSONGraph", args, 2, &any), "TypeError",
        "...does not support ToJSONGraph");
}

static TVMFFIObject *test_not_made; /* what the maker below gives (borrowed) */
static int test_give_other(void *self, const TVMFFIAny *args, int32_t num_args,
                           TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args;
  tvmffi_retain(test_not_made);
  *result = tvmffi_obj(test_not_made);
  return 0;
}

/* A maker gives an object of another type, which is released once. */
static void test_json_wrong_maker(TVMFFI_HERE) {
  char text[160];
  TVMFFIByteArray bytes;
  TVMFFIAny made, any;
  TVMFFIObject *list = tvmffi_i_new_list(0);
  int32_t index;
  OK(list ? 0 : -1);
  OWN(list);
  tvmffi_retain(list);
  OWN(list);
  test_not_made = list;
  index = test_type_with("__ffi_new__", test_give_other);
  OK(index < 0 ? -1 : 0);
  strcpy(text, "{\"root_index\":0,\"nodes\":[{\"type\":\"");
  strcat(text, TVMFFIGetTypeInfo(index)->type_key.data);
  strcat(text, "\",\"data\":{}}]}");
  bytes = tvmffi_byte_array(text);
  OK(TVMFFIStringFromByteArray(&bytes, &made));
  OWN_ANY(made);
  FAILS(test_apply_global("ffi.FromJSONGraphString", &made, 1, &any),
        "RuntimeError", "...` returned no object of it");
  CHECK_INT(test_strong(list), 2);
}

/* Reads a graph, and checks what it is written as. */
static void test_graph_text(const char *text, const char *want) {
  TVMFFIByteArray bytes = tvmffi_byte_array(text);
  TVMFFIAny args[2], made, again;
  OK(TVMFFIStringFromByteArray(&bytes, &made));
  OWN_ANY(made);
  OK(test_apply_global("ffi.FromJSONGraphString", &made, 1, &args[0]));
  args[1] = tvmffi_none();
  OK(test_apply_global("ffi.ToJSONGraphString", args, 2, &again));
  CHECK_TEXT(tvmffi_any_str(&again), want ? want : text);
}

/* Eight characters that have the same hash for each n below 29^4: two to the
   32nd is 2 modulo the hash's prime. */
static void test_tangled_key(char *key, int n) {
  int i, digit;
  for (i = 0; i < 4; ++i, n /= 29) {
    digit = '2' + n % 29;
    key[i] = (char)(193 - 2 * digit);
    key[i + 4] = (char)digit;
  }
}

/* Keys of one hash, some of them twice, are read in time that does not grow
   with the square of their number. */
static void test_json_tangled_keys(TVMFFI_HERE) {
  int i, n = test_scale(test_chain < 20000 ? 1000 : test_chain / 5, 300);
  char key[9], *text = (char *)malloc((size_t)(n + n / 10) * 20 + 3), *p = text;
  TVMFFIAny string, map;
  TVMFFIByteArray bytes;
  const tvmffi_i_pair *pair;
  size_t at;
  if (!text) return;
  key[8] = 0;
  *p++ = '{';
  for (i = 0; i < n + n / 10; ++i) { /* the first tenth comes again */
    test_tangled_key(key, i % n);
    p += sprintf(p, "%s\"%s\":%d", i ? "," : "", key, i);
  }
  *p++ = '}';
  bytes.data = text;
  bytes.size = (size_t)(p - text);
  i = TVMFFIStringFromByteArray(&bytes, &string);
  free(text);
  OK(i);
  OWN_ANY(string);
  OK(test_apply_global("ffi.json.Parse", &string, 1, &map));
  CHECK_INT(tvmffi_i_map_size(map.v_obj), n);
  i = n / 10; /* what comes again is last */
  for (at = tvmffi_i_map_begin(map.v_obj);
       (pair = tvmffi_i_map_pair(map.v_obj, at)) != NULL;
       at = tvmffi_i_map_after(map.v_obj, at)) {
    test_tangled_key(key, i % n);
    bytes = tvmffi_any_str(&pair->key);
    if (!CHECK(pair->value.v_int64 == i && memcmp(bytes.data, key, 8) == 0))
      return;
    if (i++ % (n / 4) == 0)
      CHECK(tvmffi_i_map_get(map.v_obj, &pair->key) == &pair->value);
  }
  CHECK_INT(i, n + n / 10);
}

/* A number of decimal digits is read and written: its words are the same number
   modulo a prime, and its text is what was read. */
static int test_decimal(char *text, size_t digits, int negative) {
  const uint64_t prime = 2147483647u;
  TVMFFIByteArray bytes, words;
  TVMFFIAny string, value, back;
  uint64_t want = 0, got = 0;
  size_t i;
  bytes.data = text;
  bytes.size = digits + (size_t)negative;
  for (i = (size_t)negative; i < bytes.size; ++i)
    want = (want * 10 + (uint64_t)(text[i] - '0')) % prime;
  TVMFFI_TRY(TVMFFIStringFromByteArray(&bytes, &string));
  OWN_ANY(string);
  TVMFFI_TRY(
      test_apply_attr(kTVMFFIBigInt, "__data_from_json__", &string, 1, &value));
  words = TVMFFIBigIntGetContentByteArray(&value);
  for (i = words.size / 8; i--;) {
    uint64_t word = (uint64_t)tvmffi_i_bigint_word(words.data, i);
    if (negative) word = ~word;
    got = (((got << 32) + (word >> 32)) % prime << 32) + (uint32_t)word;
    got %= prime;
  }
  CHECK_INT((got + (uint64_t)negative) % prime, want);
  TVMFFI_TRY(
      test_apply_attr(kTVMFFIBigInt, "__data_to_json__", &value, 1, &back));
  words = tvmffi_any_str(&back);
  CHECK(words.size == bytes.size &&
        memcmp(words.data, bytes.data, bytes.size) == 0);
  return 0;
}

/* One limb and more, of every length at which the number of limbs changes. */
static void test_decimals(TVMFFI_HERE) {
  static const int lengths[] = {1,   9,   17,  18,  19,   20,   36,  37,
                                144, 145, 288, 577, 1153, 2305, 9999};
  static const char kinds[] = "019r";
  size_t i, k, n;
  size_t most = (size_t)test_scale(
      test_chain < 20000 ? 600 : 10000 + test_chain / 20, 600);
  char *text;
  for (i = 0; i <= TEST_COUNT(lengths); ++i) {
    n = i < TEST_COUNT(lengths) ? (size_t)lengths[i] : most;
    if (n > most) continue;
    text = (char *)malloc(n + 1);
    if (!text) return;
    for (k = i < TEST_COUNT(lengths) ? 0 : 3; k < 4; ++k) {
      size_t negative = k & 1, at, own = (size_t)test_num_owned;
      unsigned random = 7;
      int code;
      memset(text, kinds[k], n + 1);
      for (at = 0; kinds[k] == 'r' && at < n + 1; ++at) {
        random = random * 1664525u + 1013904223u;
        text[at] = (char)('0' + (random >> 16) % 10);
      }
      text[negative] = '7';
      if (negative) text[0] = '-';
      code = test_decimal(text, n, (int)negative);
      while ((size_t)test_num_owned > own)
        tvmffi_any_release(&test_owned[--test_num_owned]);
      if (test_code(code, __FILE__, __LINE__, "a decimal ")) break;
    }
    free(text);
  }
}

/* Texts as they are written, and others that mean the same. */
static void test_json_graph_texts(TVMFFI_HERE) {
#define GRAPH_TEXT(root, nodes) "{\"root_index\":" root ",\"nodes\":[" nodes "]"
#define GRAPH_INT(x) "{\"type\":\"int\",\"data\":" x "}"
#define GRAPH_OF(type, data) "{\"type\":\"ffi." type "\",\"data\":[" data "]}"
  static const struct {
    const char *text, *want; /* NULL: the text */
  } rows[] = {
      {GRAPH_TEXT("2", GRAPH_INT("1") "," GRAPH_INT("2") "," GRAPH_OF(
                           "Map", "0,1")) "}",
       NULL},
      {GRAPH_TEXT("2", GRAPH_INT("1") "," GRAPH_INT("2") "," GRAPH_OF(
                           "Dict", "0,1,1,0")) "}",
       NULL},
      {GRAPH_TEXT("2", GRAPH_INT("1") "," GRAPH_INT("2") "," GRAPH_OF(
                           "List", "0,1,0")) "}",
       NULL},
      /* an int whose hash is 0 */
      {GRAPH_TEXT("1", GRAPH_INT("-2654435832") "," GRAPH_OF(
                           "List", "0,0")) "}",
       NULL},
      {GRAPH_TEXT("0", "{\"type\":\"bool\",\"data\":false}") "}", NULL},
      /* a number or a bool for another kind of number */
      {GRAPH_TEXT("0", "{\"type\":\"bool\",\"data\":2}") "}",
       GRAPH_TEXT("0", "{\"type\":\"bool\",\"data\":true}") "}"},
      {GRAPH_TEXT("0", GRAPH_INT("true")) "}",
       GRAPH_TEXT("0", GRAPH_INT("1")) "}"},
      {GRAPH_TEXT("0", GRAPH_OF("Shape", "true,2")) "}",
       GRAPH_TEXT("0", GRAPH_OF("Shape", "1,2")) "}"},
      {GRAPH_TEXT("0", "{\"type\":\"float\",\"data\":true}") "}",
       GRAPH_TEXT("0", "{\"type\":\"float\",\"data\":1.0}") "}"},
      {GRAPH_TEXT("0", "{\"type\":\"float\",\"data\":0}") "}",
       GRAPH_TEXT("0", "{\"type\":\"float\",\"data\":0.0}") "}"},
      {GRAPH_TEXT("0", "{\"type\":\"float\",\"data\":9007199254740993}") "}",
       GRAPH_TEXT("0", "{\"type\":\"float\",\"data\":9007199254740992}") "}"},
      /* a key that comes twice */
      {GRAPH_TEXT("2", GRAPH_INT("1") "," GRAPH_INT("2") "," GRAPH_OF(
                           "Map", "0,1,0,0")) "}",
       GRAPH_TEXT("1", GRAPH_INT("1") "," GRAPH_OF("Map", "0,0")) "}"},
      /* parts behind what they are in */
      {GRAPH_TEXT("0", GRAPH_OF("Array", "1,1") "," GRAPH_INT("5")) "}",
       GRAPH_TEXT("1", GRAPH_INT("5") "," GRAPH_OF("Array", "0,0")) "}"},
      {GRAPH_TEXT("0", GRAPH_OF("Map", "1,1") "," GRAPH_INT("5")) "}",
       GRAPH_TEXT("1", GRAPH_INT("5") "," GRAPH_OF("Map", "0,0")) "}"},
      {GRAPH_TEXT("0", GRAPH_OF("List", "1,2") "," GRAPH_INT("5") "," GRAPH_OF(
                           "Array", "1")) "}",
       GRAPH_TEXT("2", GRAPH_INT("5") "," GRAPH_OF("Array", "0") "," GRAPH_OF(
                           "List", "0,1")) "}"},
      /* metadata is passed by */
      {GRAPH_TEXT("0", GRAPH_INT("1")) ",\"metadata\":{\"a\":[\"\\\"]}\"]}}",
       GRAPH_TEXT("0", GRAPH_INT("1")) "}"},
      /* blanks, other names, another order */
      {" " GRAPH_TEXT("0", GRAPH_INT("1")) "}",
       GRAPH_TEXT("0", GRAPH_INT("1")) "}"},
      {GRAPH_TEXT("0", GRAPH_INT(" 1")) "}",
       GRAPH_TEXT("0", GRAPH_INT("1")) "}"},
      {GRAPH_TEXT("0", "{\"data\":1,\"type\":\"int\"}") "}",
       GRAPH_TEXT("0", GRAPH_INT("1")) "}"},
      {"{\"nodes\":[" GRAPH_INT("1") "],\"root_index\":0}",
       GRAPH_TEXT("0", GRAPH_INT("1")) "}"},
      {GRAPH_TEXT(
           "0",
           "{\"type\":\"ffi.String\",\"data\":\"a longer text\"}") ",\"more\":"
                                                                   "1}",
       GRAPH_TEXT("0",
                  "{\"type\":\"ffi.String\",\"data\":\"a longer text\"}") "}"},
  };
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    test_graph_text(rows[i].text, rows[i].want);
    test_release_all();
  }
}

/* Maps of more entries than a small one has, under keys of each kind. */
static void test_json_graph_maps(TVMFFI_HERE) {
  test_graph_text(
      "{\"root_index\":10,\"nodes\":["
      "{\"type\":\"int\",\"data\":1},{\"type\":\"float\",\"data\":2.5},"
      "{\"type\":\"None\"},{\"type\":\"ffi.Bytes\",\"data\":\"aw==\"},"
      "{\"type\":\"bool\",\"data\":true},"
      "{\"type\":\"DataType\",\"data\":\"int8\"},"
      "{\"type\":\"int\",\"data\":4},{\"type\":\"Device\",\"data\":[1,1]},"
      "{\"type\":\"int\",\"data\":5},{\"type\":\"ffi.Array\",\"data\":[8]},"
      "{\"type\":\"ffi.Map\",\"data\":[0,1,1,2,3,4,5,6,7,6,2,8,4,0,9,9]}]}",
      NULL);
  test_graph_text(
      "{\"root_index\":7,\"nodes\":["
      "{\"type\":\"int\",\"data\":1},{\"type\":\"ffi.Array\",\"data\":[0]},"
      "{\"type\":\"int\",\"data\":2},{\"type\":\"ffi.Array\",\"data\":[2]},"
      "{\"type\":\"int\",\"data\":3},{\"type\":\"ffi.Array\",\"data\":[4]},"
      "{\"type\":\"ffi.Array\",\"data\":[]},"
      "{\"type\":\"ffi.Dict\",\"data\":[1,0,3,1,5,1,6,1,0,0,2,0]}]}",
      NULL);
}

/* The object of an enumeration is told by its name. */
static void test_json_enums(TVMFFI_HERE) {
  TVMFFIByteArray red = TEXT("RED");
  TVMFFIAny args[2], text;
  args[1] = tvmffi_none();
  OK(test_apply_attr(TVMFFI_I_STR_ENUM, "__ffi_new__", NULL, 0, &args[0]));
  OK(TVMFFIStringFromByteArray(&red, &text)); /* a small one */
  ((tvmffi_i_enum *)args[0].v_ptr)->str_index = text;
  OK(test_apply_global("ffi.ToJSONGraphString", args, 2, &text));
  CHECK_TEXT(tvmffi_any_str(&text),
             "{\"root_index\":0,\"nodes\":[{\"type\":\"ffi.StrEnum\","
             "\"data\":\"RED\"}]}");
  OK(test_apply_attr(TVMFFI_I_INT_ENUM, "__ffi_new__", NULL, 0, &args[0]));
  ((tvmffi_i_enum *)args[0].v_ptr)->int_index = 7;
  OK(test_apply_global("ffi.ToJSONGraphString", args, 2, &text));
  CHECK_TEXT(tvmffi_any_str(&text),
             "{\"root_index\":0,\"nodes\":[{\"type\":\"ffi.IntEnum\","
             "\"data\":7}]}");
}

#if !TEST_NO_TYPES && !TEST_NO_REFLECTION
/* Lets a type's objects be made: of Anys, after their head. */
static int test_make_maker(int32_t index, size_t size) {
  TVMFFIAny args[2], any;
  args[0] = tvmffi_int(index);
  args[1] = tvmffi_int((int64_t)size);
  return test_apply_global("ffi._PyClassRegisterTypeAttrColumns", args, 2,
                           &any);
}

typedef struct {
  TVMFFIObject base;
  TVMFFIAny values[3];
} test_triple;

/* A setter that refuses a text, and a getter that fails on a big number. */
static int test_set_no_text(void *field, const TVMFFIAny *value) {
  if (value->type_index != kTVMFFISmallStr)
    return tvmffi_i_set_any_field(field, value);
  TVMFFIErrorSetRaisedFromCStr("ValueError", "a text is refused");
  return -1;
}
static int test_get_small(void *field, TVMFFIAny *value) {
  const TVMFFIAny *any = (const TVMFFIAny *)field;
  if (any->type_index != kTVMFFIInt || any->v_int64 < 1000)
    return tvmffi_i_get_any_field(field, value);
  TVMFFIErrorSetRaisedFromCStr("ValueError", "a number is refused");
  return -1;
}

/* A type with three fields of the declared types. The last one has a default,
   which its setter refuses. */
static int32_t test_triple_type(const char *key, int32_t d, int32_t n,
                                int32_t x) {
  static const char names[3][2] = {"d", "n", "x"};
  const int32_t declared[3] = {d, n, x};
  int32_t i, index = test_type(key, -1, 1, 0, 1, kTVMFFIObject);
  if (index < 0) return -1;
  for (i = 0; i < 3; ++i) {
    TVMFFIFieldInfo f =
        test_field(names[i], (int64_t)(offsetof(test_triple, values) +
                                       (size_t)i * sizeof(TVMFFIAny)));
    f.size = sizeof(TVMFFIAny);
    f.alignment = 8;
    f.getter = test_get_small;
    f.setter = (void *)(uintptr_t)test_set_no_text;
    f.field_static_type_index = declared[i];
    if (i == 2) {
      f.flags |= kTVMFFIFieldFlagBitMaskHasDefault;
      f.default_value_or_factory = tvmffi_str("text");
    }
    if (TVMFFITypeRegisterField(index, &f)) return -1;
  }
  return test_make_maker(index, sizeof(test_triple)) ? -1 : index;
}

/* Reads the graph of None and an object of a key, whose data is given; gives
   the object, borrowed. */
static int test_read_node(const char *key, const char *data, TVMFFIAny *out) {
  static const char begin[] =
      "{\"root_index\":1,\"nodes\":[{\"type\":\"None\"},{\"type\":\"";
  tvmffi_i_text_buffer b = {NULL, 0, 0, 0};
  TVMFFIAny text;
  tvmffi_i_text_str(&b, begin);
  tvmffi_i_text_str(&b, key);
  tvmffi_i_text_str(&b, "\",\"data\":");
  tvmffi_i_text_str(&b, data);
  tvmffi_i_text_str(&b, "}]}");
  TVMFFI_TRY(tvmffi_i_text_take(&b, &text));
  OWN_ANY(text);
  return test_apply_global("ffi.FromJSONGraphString", &text, 1, out);
}

/* Numbers, data types and None stand in the object's node if a field is
   declared so; what another holds has a node. */
static void test_json_fields(TVMFFI_HERE) {
  static const struct {
    const char *data, *kind, *error;
  } rows[] = {
      {"{\"d\":1,\"n\":null,\"x\":0}", "TypeError",
       "Cannot convert from type `int` to `str`"},
      {"{\"d\":null,\"n\":null,\"x\":0}", "TypeError",
       "Cannot convert from type `None` to `str`"},
      {"{\"d\":\"zz\",\"n\":null,\"x\":0}", "ValueError", "unknown dtype `zz`"},
      {"{\"d\":\"int8\",\"n\":null,\"x\":7}", "ValueError",
       "Invalid JSON Object Graph: invalid node index 7"},
      {"{\"d\":\"int8\",\"n\":null,\"x\":null}", "TypeError",
       "Cannot convert from type `None` to `int`"},
      {"{\"d\":\"int8\",\"x\":0}", "TypeError",
       "...Required field `n` not set"},
      {"{}", "TypeError", "...Required field `d` not set"}};
  const char *key = test_fresh("unit.Json");
  int32_t index =
      test_triple_type(key, kTVMFFIDataType, kTVMFFINone, kTVMFFIAny);
  TVMFFIAny args[2], any;
  TVMFFIAny *values;
  TVMFFIByteArray text;
  size_t i;
  int code;
  OK(index < 0 ? -1 : 0);
  OK(test_read_node(key, "{\"d\":\"float32x4\",\"n\":\"any\",\"x\":0}", &any));
  CHECK_INT(any.type_index, index);
  values = ((test_triple *)any.v_ptr)->values;
  CHECK_INT(values[0].type_index, kTVMFFIDataType);
  CHECK_INT(values[0].v_dtype.lanes, 4);
  CHECK_INT(values[1].type_index, kTVMFFINone);
  CHECK_INT(values[2].type_index, kTVMFFINone);
  args[0] = any;
  args[1] = tvmffi_none();
  OK(test_apply_global("ffi.ToJSONGraphString", args, 2, &any));
  text = tvmffi_any_str(&any);
  CHECK(test_contains(
      text, "\",\"data\":{\"d\":\"float32x4\",\"n\":null,\"x\":0}}]}"));
  text = TEXT("a text in an object"); /* a field that breaks its declaration */
  OK(TVMFFIStringFromByteArray(&text, &values[0]));
  code = test_apply_global("ffi.ToJSONGraphString", args, 2, &any);
  tvmffi_any_release(&values[0]); /* no object releases a dtype */
  FAILS(code, "TypeError",
        "Cannot convert from type `ffi.String` to `DataType`");
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i)
    FAILS(test_read_node(key, rows[i].data, &any), rows[i].kind, rows[i].error);
}

/* Fields that are declared bool, float and anything; the last has a default,
   and its accessors may fail. */
static void test_json_number_fields(TVMFFI_HERE) {
  const char *key = test_fresh("unit.Json");
  int32_t index = test_triple_type(key, kTVMFFIBool, kTVMFFIFloat, kTVMFFIAny);
  TVMFFIAny args[2], any, text, *values;
  OK(index < 0 ? -1 : 0);
  OK(test_read_node(key, "{\"d\":true,\"n\":2.5,\"x\":0}", &args[0]));
  args[1] = tvmffi_none();
  OK(test_apply_global("ffi.ToJSONGraphString", args, 2, &text));
  CHECK(test_contains(tvmffi_any_str(&text),
                      "\",\"data\":{\"d\":true,\"n\":2.5,\"x\":0}}]}"));
  OK(test_apply_global("ffi.ToJSONGraph", args, 2, &text));
  OK(test_apply_global("ffi.FromJSONGraph", &text, 1, &any));
  CHECK_INT(any.type_index, index);
  values = ((test_triple *)args[0].v_ptr)->values;
  values[2] = tvmffi_int(1000);
  FAILS(test_apply_global("ffi.ToJSONGraphString", args, 2, &any), "ValueError",
        "a number is refused");
  values[1] = tvmffi_int(1000);
  FAILS(test_apply_global("ffi.ToJSONGraph", args, 2, &any), "ValueError",
        "a number is refused");
  FAILS(test_read_node(key, "{\"d\":true,\"n\":2.5}", &any), "ValueError",
        "a text is refused");
}

/* A node whose value its field refuses. */
static void test_json_refused_fields(TVMFFI_HERE) {
  static const char rest[] =
      "\",\"data\":{\"d\":true,\"n\":1,\"x\":1}},{\"type\":\"ffi.String\","
      "\"data\":\"text\"}]}";
  const char *key = test_fresh("unit.Json");
  tvmffi_i_text_buffer b = {NULL, 0, 0, 0};
  TVMFFIAny text, any;
  int32_t index = test_triple_type(key, kTVMFFIBool, kTVMFFIFloat, kTVMFFIAny);
  OK(index < 0 ? -1 : 0);
  tvmffi_i_text_str(&b, "{\"root_index\":0,\"nodes\":[{\"type\":\"");
  tvmffi_i_text_str(&b, key);
  tvmffi_i_text_str(&b, rest);
  OK(tvmffi_i_text_take(&b, &text));
  OWN_ANY(text);
  FAILS(test_apply_global("ffi.FromJSONGraphString", &text, 1, &any),
        "ValueError", "a text is refused");
}

/* Gives a type of enumerations one member, under `name`. */
static int test_set_member(int32_t index, TVMFFIAny name, TVMFFIAny member) {
  TVMFFIByteArray attr = TEXT("__ffi_enum__");
  TVMFFIAny state, entry[3], any;
  TVMFFI_TRY(
      test_apply_attr(TVMFFI_I_ENUM_STATE, "__ffi_new__", NULL, 0, &state));
  TVMFFI_TRY(test_apply_global("ffi.Dict", NULL, 0, &entry[0]));
  entry[1] = name;
  entry[2] = member;
  TVMFFI_TRY(
      tvmffi_i_set_field(&TVMFFIGetTypeInfo(TVMFFI_I_ENUM_STATE)->fields[1],
                         state.v_obj, &entry[0]));
  TVMFFI_TRY(test_apply_global("ffi.DictSetItem", entry, 3, &any));
  return TVMFFITypeRegisterAttr(index, &attr, &state);
}

/* A type of enumerations with one object, under `name`. */
static int test_enum_type(const char *key, int32_t parent, TVMFFIAny name,
                          TVMFFIAny *member) {
  int32_t index = test_type(key, -1, 3, 0, 1, parent);
  TVMFFIObject *o;
  if (index < 0) return -1;
  o = tvmffi_i_new_object(index, sizeof(tvmffi_i_enum));
  if (!o) return -1;
  OWN(o);
  *member = tvmffi_obj(o);
  if (name.type_index == kTVMFFIInt)
    ((tvmffi_i_enum *)(void *)o)->int_index = name.v_int64;
  else
    TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(
        &name, &((tvmffi_i_enum *)(void *)o)->str_index));
  return test_set_member(index, name, *member);
}

/* The name of an enumeration's object is read as that object. */
static void test_json_enum_members(TVMFFI_HERE) {
  const char *ints = test_fresh("unit.Ints"), *texts = test_fresh("unit.Texts");
  const char *none = test_fresh("unit.NoEnum");
  TVMFFIByteArray attr = TEXT("__ffi_enum__");
  TVMFFIAny seven, red, got, three = tvmffi_int(3);
  int32_t index;
  int i;
  OK(test_enum_type(ints, TVMFFI_I_INT_ENUM, tvmffi_int(7), &seven));
  OK(test_enum_type(texts, TVMFFI_I_STR_ENUM, tvmffi_str("red"), &red));
  OK(test_read_node(ints, "7", &got));
  CHECK(got.v_obj == seven.v_obj);
  OK(test_read_node(texts, "\"red\"", &got));
  CHECK(got.v_obj == red.v_obj);
  FAILS(test_read_node(ints, "8", &got), "ValueError",
        "...has no instance with index 8");
  FAILS(test_read_node(ints, "\"red\"", &got), "TypeError",
        "Cannot convert from type `ffi.SmallStr` to `int`");
  OK(test_read_node("ffi.Bytes", "\"!A==\"", &got)); /* no digit counts as A */
  CHECK_BYTES(tvmffi_any_str(&got), "", 1);
  FAILS(test_read_node(texts, "\"green\"", &got), "ValueError",
        "...has no instance with index green");
  FAILS(test_read_node(texts, "7", &got), "TypeError",
        "Cannot convert from type `int` to `str`");
  index = test_type(none, -1, 3, 0, 1, TVMFFI_I_INT_ENUM);
  OK(index < 0 ? -1 : 0);
  FAILS(test_read_node(none, "1", &got), "ValueError",
        "...has no instance with index 1");
  OK(TVMFFITypeRegisterAttr(index, &attr, &three));
  FAILS(test_read_node(none, "1", &got), "TypeError",
        "Cannot treat type `int` as type `ffi.EnumState`");
  for (i = 0; i < 2; ++i) { /* members that are no objects of enumerations */
    index = test_type(test_fresh("unit.NoMember"), -1, 3, 0, 1,
                      TVMFFI_I_INT_ENUM);
    OK(index < 0 ? -1 : 0);
    if (i) OK(test_apply_global("ffi.Array", NULL, 0, &three));
    OK(test_set_member(index, tvmffi_int(1), three));
    FAILS(test_read_node(TVMFFIGetTypeInfo(index)->type_key.data, "1", &got),
          "TypeError",
          i ? "Cannot treat type `ffi.Array` as type `ffi.Enum`"
            : "Cannot treat type `int` as type `ffi.Enum`");
  }
}
#endif
#endif

#if !TVMFFI_NO_EXTRA && !TEST_NO_JSON
/* The functions of big integers refuse other values and texts. */
static void test_bigint_functions(TVMFFI_HERE) {
  static const char *const pairs[] = {"__ffi_eq__", "__ffi_compare__"};
  static const char *const bad[] = {"", "+", "-", "1:", "1/", "--1"};
  TVMFFIObject *list = tvmffi_i_new_list(0);
  TVMFFIAny args[3], big, text, any;
  TVMFFIByteArray digits = TEXT("+12345678901234567890123");
  size_t i;
  OK(list ? 0 : -1);
  OWN(list);
  OK(TVMFFIStringFromByteArray(&digits, &text));
  OWN_ANY(text);
  OK(test_apply_attr(kTVMFFIBigInt, "__data_from_json__", &text, 1, &big));
  OK(test_apply_attr(kTVMFFIBigInt, "__data_to_json__", &big, 1, &any));
  CHECK_TEXT(tvmffi_any_str(&any), "12345678901234567890123");
  if (!test_hits()) { /* a client's object of no words is 0 */
    tvmffi_i_bigint *words = (tvmffi_i_bigint *)big.v_ptr;
    size_t size = words->size;
    int code, signs[2] = {7, 7};
    words->size = 0;
    text = tvmffi_int(0);
    code = test_apply_attr(kTVMFFIBigInt, "__data_to_json__", &big, 1, &any);
    if (!code) code = tvmffi_i_compare(&big, &text, 0, &signs[0]);
    if (!code) code = tvmffi_i_compare(&text, &big, 0, &signs[1]);
    words->size = size;
    OK(code);
    CHECK_TEXT(tvmffi_any_str(&any), "0");
    CHECK(!signs[0] && !signs[1]);
  }
  text = tvmffi_int(-7);
  OK(test_apply_attr(kTVMFFIBigInt, "__data_to_json__", &text, 1, &any));
  CHECK_TEXT(tvmffi_any_str(&any), "-7");
  text = tvmffi_obj(list);
  FAILS(test_apply_attr(kTVMFFIBigInt, "__data_to_json__", &text, 1, &any),
        "TypeError", "Cannot treat type `ffi.List` as type `BigInt`");
  for (i = 0; i < TEST_COUNT(bad); ++i) {
    text = tvmffi_str(bad[i]);
    FAILS(test_apply_attr(kTVMFFIBigInt, "__data_from_json__", &text, 1, &any),
          "ValueError", "Invalid decimal string for ffi.BigInt");
  }
  args[0] = big;
  args[1] = tvmffi_none();
  OK(test_apply_attr(kTVMFFIBigInt, "__ffi_hash__", args, 2, &any));
  CHECK_INT(any.type_index, kTVMFFIInt);
  args[1] = tvmffi_int(1);
  FAILS(test_apply_attr(kTVMFFIBigInt, "__ffi_hash__", args, 2, &any),
        "TypeError",
        "Mismatched type on argument #1 when calling: `ffi.BigInt.__ffi_hash__("
        "0: ffi.Object, 1: ffi.Function) -> int`. Expected `ffi.Function` but "
        "got `int`");
  args[2] = test_value_of(kTVMFFIBigInt, "__data_to_json__");
  for (i = 0; i < 4; ++i) {
    args[i & 1] = tvmffi_obj(list);
    args[!(i & 1)] = big;
    FAILS(test_apply_attr(kTVMFFIBigInt, pairs[i / 2], args, 3, &any),
          "TypeError", "Cannot treat type `ffi.List` as type `BigInt`");
  }
}

/* An escape sequence or a character that ends early is printed byte by byte. */
static void test_repr_cut(TVMFFI_HERE) {
  static const struct {
    const char *text, *want;
    size_t size;
  } rows[] = {{"\x1B[31mx", "\"\\x1b[31mx\"", 6},
              {"\x1Bx", "\"\\x1bx\"", 2},
              {"\x1B", "\"\\x1b\"", 1},
              {"\x1B[3", "\"\\x1b[3\"", 3},
              {"\x1B[ m", "\"\\x1b[ m\"", 4},
              {"\0", "\"\\x00\"", 1},
              {"\xE4\xB8", "\"\\xe4\\xb8\"", 2},
              {"\xE4\xB8\xAD", "\"\\u4e2d\"", 3}};
  TVMFFIByteArray bytes;
  TVMFFIAny value, text;
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    bytes = test_bytes(rows[i].text, rows[i].size);
    OK(TVMFFIStringFromByteArray(&bytes, &value));
    OK(test_repr(value, &text));
    CHECK_TEXT(tvmffi_any_str(&text), rows[i].want);
  }
}
#endif

static const test_case test_graph_cases[] = {
#if !TVMFFI_NO_EXTRA && !TEST_NO_JSON
    {"JSON: graphs", test_json_graphs},
    {"JSON: objects", test_json_objects},
    {"JSON: graphs that are none", test_json_bad_graphs},
    {"JSON: graphs of lists and dicts", test_json_loose_graphs},
    {"JSON: cycles", test_json_cycles},
    {"JSON: keys that go", test_json_keys_that_go},
    {"JSON: values that compare themselves", test_json_compared},
    {"JSON: hooks that fail", test_json_failing},
    {"JSON: values that are not saved", test_json_not_saved},
    {"JSON: a maker of another type", test_json_wrong_maker},
    {"JSON: texts of graphs", test_json_graph_texts},
    {"JSON: long integers in graphs", test_decimals},
    {"JSON: functions of big integers", test_bigint_functions},
    {"repr: sequences that are cut", test_repr_cut},
    {"JSON: keys of one hash", test_json_tangled_keys},
    {"JSON: graphs of larger maps", test_json_graph_maps},
    {"JSON: enumerations", test_json_enums},
#if !TEST_NO_TYPES && !TEST_NO_REFLECTION
    {"JSON: fields of graphs", test_json_fields},
    {"JSON: numbers in fields", test_json_number_fields},
    {"JSON: fields that refuse", test_json_refused_fields},
    {"JSON: members of enumerations", test_json_enum_members},
#endif
#endif
    {NULL, NULL}};
