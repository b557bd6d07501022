/* ======== Structural: structural equality, hash and keys ================== */

#pragma once

#include "harness.h"
#include "nesting.h"
#include "type_field.h"
#include "type.h"
#include "sequence.h"
#include "apply.h"
#include "copy.h"
#include "repr.h"

#if !TEST_NO_REFLECTION && !TVMFFI_NO_EXTRA

/* Gives a type of a kind with the fields a and b, which hold anything. */
static int32_t test_structural_type(const char *key, TVMFFISEqHashKind kind,
                                    int64_t flags_a, int64_t flags_b) {
  int32_t index = test_type(key, -1, 1, 0, 0, kTVMFFIObject);
  const TVMFFITypeInfo *info = index < 0 ? NULL : TVMFFIGetTypeInfo(index);
  TVMFFITypeMetadata metadata;
  TVMFFIFieldSetter setter = tvmffi_i_set_any_field;
  if (!info) return -1;
  while (info->num_fields < 2) {
    TVMFFIFieldInfo f = test_field(info->num_fields ? "b" : "a", 0);
    f.size = 16;
    f.alignment = 8;
    f.offset = (int64_t)sizeof(TVMFFIObject) + 16 * info->num_fields;
    f.getter = tvmffi_i_get_any_field;
    memcpy(&f.setter, &setter, sizeof(f.setter));
    f.field_static_type_index = kTVMFFIAny;
    f.flags = info->num_fields ? flags_b : flags_a;
    if (TVMFFITypeRegisterField(index, &f)) return -1;
  }
  if (info->metadata) return index;
  memset((void *)&metadata, 0, sizeof(metadata));
  metadata.total_size = (int32_t)sizeof(TVMFFIObject) + 32;
  metadata.structural_eq_hash_kind = kind;
  return TVMFFITypeRegisterMetadata(index, &metadata) ? -1 : index;
}

#define STRUCTURAL_TYPE(index, key, kind, flags_a, flags_b)    \
  do {                                                         \
    index = test_structural_type(key, kind, flags_a, flags_b); \
    OK(index < 0 ? -1 : 0);                                    \
  } while (0)

/* Makes an object of such a type (the test owns it); None if it fails. */
static TVMFFIAny test_node(int32_t index, TVMFFIAny a, TVMFFIAny b) {
  TVMFFIObject *o = tvmffi_i_new_object(index, sizeof(TVMFFIObject) + 32);
  TVMFFIAny *fields;
  if (!o) return tvmffi_none();
  fields = (TVMFFIAny *)(void *)(o + 1);
  OWN(o);
  tvmffi_i_copy_owned(&a, &fields[0]);
  tvmffi_i_copy_owned(&b, &fields[1]);
  return tvmffi_obj(o);
}

#define NODE(any, index, a, b)                  \
  do {                                          \
    any = test_node(index, a, b);               \
    OK(any.type_index == kTVMFFINone ? -1 : 0); \
  } while (0)

/* Makes a container by its global function. */
static int test_built(const char *name, int n, TVMFFIAny a, TVMFFIAny b,
                      TVMFFIAny *out) {
  TVMFFIAny items[2];
  items[0] = a;
  items[1] = b;
  return test_apply_global(name, items, n, out);
}

/* 1, 0 or the code of an error. */
static int test_same(TVMFFIAny a, TVMFFIAny b, int variables) {
  TVMFFIAny args[4], result;
  args[0] = a;
  args[1] = b;
  args[2] = tvmffi_bool(variables);
  args[3] = tvmffi_bool(0);
  TVMFFI_TRY(test_apply_global("ffi.StructuralEqual", args, 4, &result));
  CHECK_INT(result.type_index, kTVMFFIBool);
  return result.v_int64 != 0;
}

static int test_hash(TVMFFIAny value, int variables, int64_t *hash) {
  TVMFFIAny args[3], result;
  args[0] = value;
  args[1] = tvmffi_bool(variables);
  args[2] = tvmffi_bool(0);
  *hash = 0;
  TVMFFI_TRY(test_apply_global("ffi.StructuralHash", args, 3, &result));
  *hash = result.v_int64;
  return 0;
}

/* Checks equality, in that an error of it (of memory) ends the test. */
#define SAME_STRUCTURE(a, b, variables, want) \
  do {                                        \
    int same_ = test_same(a, b, variables);   \
    OK(same_ < 0 ? same_ : 0);                \
    CHECK_INT(same_, want);                   \
  } while (0)

#define HASH(value, want)            \
  do {                               \
    int64_t hash_;                   \
    OK(test_hash(value, 0, &hash_)); \
    CHECK_INT(hash_, want);          \
  } while (0)

/* Checks a hash that has another value on 32-bit or big-endian machines. */
#define LITTLE_HASH(value, variables, want)                                \
  do {                                                                     \
    int64_t hash_;                                                         \
    OK(test_hash(value, variables, &hash_));                               \
    if (sizeof(void *) == 8 && tvmffi_int(1).v_bytes[0])                   \
      CHECK_INT(hash_, want);                                              \
  } while (0)

static TVMFFIAny test_double(uint64_t bits) {
  TVMFFIAny any = tvmffi_int((int64_t)bits);
  any.type_index = kTVMFFIFloat;
  return any;
}

/* Makes a map from each of the first n numbers to the next one. Returns NULL
   if memory is refused. */
static TVMFFIObject *test_numbers_map(int n) {
  TVMFFIAny items[50];
  int i;
  for (i = 0; i < 2 * n; ++i) items[i] = tvmffi_int((i + 1) / 2);
  return test_sequence("ffi.Map", items, 2 * n);
}

/* The values are those of upstream's library. */
static void test_structural_map_hashes(void) {
  static const int64_t wants[] = {8387368695258101959, -8080828696829825484,
                                  -7471457533497637226, 2280120892515091711};
  static const int sizes[] = {2, 3, 24, 25};
  TVMFFIByteArray text = TEXT("longer than eight");
  TVMFFIAny items[6], map = tvmffi_none(), key;
  int i;
  for (i = 0; i < 4; ++i) {
    TVMFFIObject *numbers = test_numbers_map(sizes[i]);
    if (!numbers) return;
    map = tvmffi_obj(numbers);
    LITTLE_HASH(map, 0, wants[i]);
  }
  items[0] = tvmffi_int(3);
  items[2] = tvmffi_int(5);
  items[4] = tvmffi_int(4);
  items[1] = items[3] = map;
  items[5] = tvmffi_int(1);
  OK(test_apply_global("ffi.Map", items, 6, &map));
  LITTLE_HASH(map, 0, -7451533447504115657);
  OK(test_built("ffi.Map", 2, tvmffi_int(1), tvmffi_int(9), &map));
  items[0] = tvmffi_int(0);
  items[1] = map;
  items[2] = tvmffi_int(1);
  items[3] = tvmffi_int(5);
  OK(test_apply_global("ffi.Map", items, 4, &map));
  LITTLE_HASH(map, 0, -116576111665117631);
  OK(test_built("ffi.Map", 2, tvmffi_str("a"), tvmffi_int(1), &map));
  LITTLE_HASH(map, 0, 8690073498391192266);
  OK(TVMFFIStringFromByteArray(&text, &key));
  OWN_ANY(key);
  OK(test_built("ffi.Map", 2, key, tvmffi_int(1), &map));
  LITTLE_HASH(map, 0, 8690073313283810225);
}

/* The values are those of upstream's library. */
static void test_structural_object_hashes(void) {
  int32_t variable, function, graph, tree;
  TVMFFIAny x, y, z, any;
  STRUCTURAL_TYPE(variable, "unit.Var", kTVMFFISEqHashKindFreeVar, 0, 0);
  STRUCTURAL_TYPE(function, "unit.Lambda", kTVMFFISEqHashKindTreeNode,
                  kTVMFFIFieldFlagBitMaskSEqHashDefSimple, 0);
  STRUCTURAL_TYPE(graph, "unit.Graph", kTVMFFISEqHashKindDAGNode, 0, 0);
  STRUCTURAL_TYPE(tree, "unit.Tree", kTVMFFISEqHashKindTreeNode, 0,
                  kTVMFFIFieldFlagBitMaskSEqHashIgnore);
  NODE(x, variable, tvmffi_int(1), tvmffi_none());
  NODE(y, variable, tvmffi_int(1), tvmffi_none());
  OK(test_built("ffi.Array", 2, x, y, &any));
  LITTLE_HASH(any, 1, -6840286978629537693);
  NODE(any, function, any, x);
  LITTLE_HASH(any, 0, -2727410344442785679);
  NODE(x, graph, tvmffi_int(1), tvmffi_int(2));
  NODE(y, graph, tvmffi_int(1), tvmffi_int(2));
  OK(test_built("ffi.Array", 2, x, y, &any));
  LITTLE_HASH(any, 0, -1249338663213452518);
  NODE(x, tree, tvmffi_int(1), tvmffi_int(2));
  OK(test_built("ffi.Array", 2, x, x, &any));
  LITTLE_HASH(any, 0, -5576627984661632113);
  /* The value of a key counts if the key has been hashed before the map. */
  OK(test_built("ffi.Map", 2, x, tvmffi_int(1), &z));
  LITTLE_HASH(z, 0, -6752507338210542303);
  OK(test_built("ffi.Array", 2, x, z, &any));
  LITTLE_HASH(any, 0, 5643614744674672165);
}

/* The values are those of upstream's library. */
static void test_structural_hashes(TVMFFI_HERE) {
  TVMFFIAny any, list;
  TVMFFIByteArray text = TEXT("abc");
  int64_t hash;
  HASH(tvmffi_int(1), 2654435835);
  HASH(test_double((uint64_t)0x7FF8 << 48), 9221120239695526522);
  HASH(test_double((uint64_t)0xFFF1 << 48), 9221120239695526522);
  OK(TVMFFIBytesFromByteArray(&text, &any));
  OWN_ANY(any);
  /* Upstream takes the eight bytes of short ones as a number, in whatever order
     the machine has them. */
  HASH(any,
       any.v_bytes[0] == (char)any.v_uint64 ? 2660949777 : 7017280023702240432);
  OK(test_built("ffi.Array", 2, tvmffi_int(1), any, &list));
  LITTLE_HASH(list, 0, 2823322240262057604);
  OK(test_built("ffi.List", 1, tvmffi_int(1), any, &list));
  OK(test_hash(list, 0, &hash));
  OK(test_built("ffi.List", 2, tvmffi_int(1), tvmffi_int(2), &list));
  tvmffi_i_erase((tvmffi_i_seq *)(void *)list.v_obj, 1, 2);
  HASH(list, hash); /* of what is in it, not of what was */
  LITTLE_HASH(tvmffi_str("abc"), 0, 2660953131);
  test_structural_map_hashes();
  test_structural_object_hashes();
}

static void test_structural_kinds(TVMFFI_HERE) {
  int32_t tree, constant, unique;
  TVMFFIAny a, b, c;
  STRUCTURAL_TYPE(tree, "unit.Tree", kTVMFFISEqHashKindTreeNode, 0,
                  kTVMFFIFieldFlagBitMaskSEqHashIgnore);
  STRUCTURAL_TYPE(constant, "unit.Const", kTVMFFISEqHashKindConstTreeNode, 0,
                  0);
  STRUCTURAL_TYPE(unique, "unit.Unique", kTVMFFISEqHashKindUniqueInstance, 0,
                  0);
  NODE(a, tree, tvmffi_int(1), tvmffi_int(2));
  NODE(b, tree, tvmffi_int(1), tvmffi_int(3));
  NODE(c, tree, tvmffi_int(2), tvmffi_int(2));
  SAME_STRUCTURE(a, b, 0, 1);
  SAME_STRUCTURE(a, c, 0, 0);
  NODE(a, constant, tvmffi_int(1), tvmffi_int(2));
  NODE(b, constant, tvmffi_int(1), tvmffi_int(2));
  NODE(c, constant, tvmffi_int(1), tvmffi_int(3));
  SAME_STRUCTURE(a, b, 0, 1);
  SAME_STRUCTURE(a, c, 0, 0);
  NODE(a, unique, tvmffi_int(1), tvmffi_int(2));
  NODE(b, unique, tvmffi_int(1), tvmffi_int(2));
  SAME_STRUCTURE(a, a, 0, 1);
  SAME_STRUCTURE(a, b, 0, 0);
}

/* Shared on one side and not on the other: no difference between trees, but
   one between graphs. */
static void test_structural_graphs(TVMFFI_HERE) {
  int32_t tree, graph;
  TVMFFIAny a, b, c, shared, split;
  int64_t x, y;
  STRUCTURAL_TYPE(tree, "unit.Tree", kTVMFFISEqHashKindTreeNode, 0,
                  kTVMFFIFieldFlagBitMaskSEqHashIgnore);
  STRUCTURAL_TYPE(graph, "unit.Graph", kTVMFFISEqHashKindDAGNode, 0, 0);
  NODE(a, tree, tvmffi_int(1), tvmffi_int(2));
  NODE(b, tree, tvmffi_int(1), tvmffi_int(2));
  OK(test_built("ffi.Array", 2, a, a, &shared));
  OK(test_built("ffi.Array", 2, a, b, &split));
  SAME_STRUCTURE(shared, split, 0, 1);
  NODE(a, graph, tvmffi_int(1), tvmffi_int(2));
  NODE(b, graph, tvmffi_int(1), tvmffi_int(2));
  NODE(c, graph, tvmffi_int(1), tvmffi_int(2));
  OK(test_built("ffi.Array", 2, a, a, &shared));
  OK(test_built("ffi.Array", 2, b, c, &split));
  SAME_STRUCTURE(shared, split, 0, 0);
  SAME_STRUCTURE(split, shared, 0, 0);
  OK(test_hash(shared, 0, &x));
  OK(test_hash(split, 0, &y));
  CHECK(x != y);
}

/* Variables are equal if they are defined at the same place. */
static void test_structural_variables(TVMFFI_HERE) {
  int32_t variable, function;
  TVMFFIAny x, y, f, g, both;
  int64_t h, k;
  STRUCTURAL_TYPE(variable, "unit.Var", kTVMFFISEqHashKindFreeVar, 0, 0);
  STRUCTURAL_TYPE(function, "unit.Lambda", kTVMFFISEqHashKindTreeNode,
                  kTVMFFIFieldFlagBitMaskSEqHashDefSimple, 0);
  NODE(x, variable, tvmffi_int(1), tvmffi_none());
  NODE(y, variable, tvmffi_int(1), tvmffi_none());
  SAME_STRUCTURE(x, x, 0, 1);
  SAME_STRUCTURE(x, y, 0, 0);
  SAME_STRUCTURE(x, y, 1, 1);
  NODE(f, function, x, x);
  NODE(g, function, y, y);
  SAME_STRUCTURE(f, g, 0, 1);
  OK(test_hash(f, 0, &h));
  OK(test_hash(g, 0, &k));
  CHECK(h == k);
  OK(test_hash(x, 0, &h));
  OK(test_hash(y, 0, &k));
  CHECK(h != k);
  OK(test_hash(x, 1, &h));
  OK(test_hash(y, 1, &k));
  CHECK(h == k);
  NODE(g, function, y, x);
  SAME_STRUCTURE(f, g, 0, 0);
  NODE(g, variable, y, tvmffi_none());
  NODE(x, variable, x, tvmffi_none());
  OK(test_built("ffi.Array", 1, x, x, &both));
  NODE(f, function, both, x);
  OK(test_built("ffi.Array", 1, g, g, &both));
  NODE(g, function, both, g);
  SAME_STRUCTURE(f, g, 0, 0); /* what is in a variable is no definition */
  SAME_STRUCTURE(f, g, 1, 1); /* but in a pattern it is */
  OK(test_hash(f, 0, &h));
  OK(test_hash(g, 0, &k));
  CHECK(h != k);
  OK(test_hash(f, 1, &h));
  OK(test_hash(g, 1, &k));
  CHECK(h == k);
}

static void test_structural_maps(TVMFFI_HERE) {
  TVMFFIAny a, b, items[4], long_text, result;
  TVMFFIByteArray text = TEXT("longer than eight");
  int64_t h, k;
  OK(TVMFFIStringFromByteArray(&text, &long_text));
  OWN_ANY(long_text);
  items[0] = items[3] = tvmffi_int(1);
  items[1] = items[2] = long_text;
  OK(test_apply_global("ffi.Map", items, 4, &a));
  items[0] = items[3] = long_text;
  items[1] = items[2] = tvmffi_int(1);
  OK(test_apply_global("ffi.Map", items, 4, &b));
  SAME_STRUCTURE(a, b, 0, 1);
  OK(test_hash(a, 0, &h));
  OK(test_hash(b, 0, &k));
  CHECK(h == k);
  OK(test_apply_global("ffi.Dict", items, 4, &result));
  SAME_STRUCTURE(b, result, 0, 0);
  OK(test_apply_global("ffi.Map", items, 2, &b));
  SAME_STRUCTURE(a, b, 0, 0);
}

/* The kind of a step of a path, or -1; the path must have one step. */
static int64_t test_only_step(TVMFFIObject *pair, int64_t side,
                              TVMFFIAny *key) {
  TVMFFIObject *path = test_item(pair, side);
  TVMFFIObject *step = ((tvmffi_i_path *)(void *)path)->step;
  if (((tvmffi_i_path *)(void *)path)->depth != 1 || !step) return -1;
  *key = ((tvmffi_i_step *)(void *)step)->key;
  return ((tvmffi_i_step *)(void *)step)->kind;
}

static void test_structural_mismatch(TVMFFI_HERE) {
  TVMFFIAny args[4], pair, key = tvmffi_none();
  OK(test_built("ffi.Array", 1, tvmffi_int(1), tvmffi_none(), &args[0]));
  OK(test_built("ffi.Array", 2, tvmffi_int(1), tvmffi_none(), &args[1]));
  args[2] = args[3] = tvmffi_bool(0);
  OK(test_apply_global("ffi.GetFirstStructuralMismatch", args, 4, &pair));
  CHECK_INT(pair.type_index, kTVMFFIArray);
  CHECK_INT(test_only_step(pair.v_obj, 0, &key),
            TVMFFI_I_STEP_ARRAY_ITEM_MISSING);
  CHECK_INT(test_only_step(pair.v_obj, 1, &key), TVMFFI_I_STEP_ARRAY_ITEM);
  CHECK_INT(key.v_int64, 1);
  CHECK_INT(test_cell(pair.v_obj)->size, 2);
  args[2] = args[0];
  args[0] = args[1];
  args[1] = args[2];
  args[2] = tvmffi_bool(0);
  OK(test_apply_global("ffi.GetFirstStructuralMismatch", args, 4, &pair));
  CHECK_INT(test_only_step(pair.v_obj, 0, &key), TVMFFI_I_STEP_ARRAY_ITEM);
  CHECK_INT(test_only_step(pair.v_obj, 1, &key),
            TVMFFI_I_STEP_ARRAY_ITEM_MISSING);
  args[1] = args[0];
  OK(test_apply_global("ffi.GetFirstStructuralMismatch", args, 4, &pair));
  CHECK_INT(pair.type_index, kTVMFFINone);
  {
    int32_t tree;
    STRUCTURAL_TYPE(tree, "unit.Tree", kTVMFFISEqHashKindTreeNode, 0,
                    kTVMFFIFieldFlagBitMaskSEqHashIgnore);
    NODE(args[0], tree, tvmffi_int(1), tvmffi_none());
    NODE(args[1], tree, tvmffi_int(2), tvmffi_none());
    OK(test_apply_global("ffi.GetFirstStructuralMismatch", args, 4, &pair));
    CHECK_INT(test_only_step(pair.v_obj, 0, &key), TVMFFI_I_STEP_ATTR);
  }
  OK(test_built("ffi.Map", 2, tvmffi_int(1), tvmffi_int(2), &args[0]));
  OK(test_built("ffi.Map", 2, tvmffi_int(2), tvmffi_int(2), &args[1]));
  OK(test_apply_global("ffi.GetFirstStructuralMismatch", args, 4, &pair));
  CHECK_INT(test_only_step(pair.v_obj, 0, &key), TVMFFI_I_STEP_MAP_ITEM);
  CHECK_INT(test_only_step(pair.v_obj, 1, &key),
            TVMFFI_I_STEP_MAP_ITEM_MISSING);
}

static TVMFFIObject *test_kept_callback;
static int test_num_s_equal, test_num_s_hash; /* calls of the hooks below */

/* Compares the fields a alone, and hashes them. */
static int test_s_equal(void *self, const TVMFFIAny *args, int32_t num_args,
                        TVMFFIAny *result) {
  TVMFFIAny next[4];
  (void)self, (void)num_args;
  ++test_num_s_equal;
  next[0] = *(const TVMFFIAny *)(const void *)(args[0].v_obj + 1);
  next[1] = *(const TVMFFIAny *)(const void *)(args[1].v_obj + 1);
  next[2] = tvmffi_int(0);
  next[3] = tvmffi_str("a");
  if (!test_kept_callback) {
    tvmffi_retain(args[2].v_obj);
    test_kept_callback = args[2].v_obj;
  }
  return TVMFFIFunctionCall(args[2].v_obj, next, 4, result);
}

static int test_s_hash(void *self, const TVMFFIAny *args, int32_t num_args,
                       TVMFFIAny *result) {
  TVMFFIAny next[3];
  (void)self, (void)num_args;
  ++test_num_s_hash;
  next[0] = *(const TVMFFIAny *)(const void *)(args[0].v_obj + 1);
  next[1] = args[1];
  next[2] = tvmffi_int(0);
  return TVMFFIFunctionCall(args[2].v_obj, next, 3, result);
}

static int test_set_hook_once(int32_t index, const char *name,
                              TVMFFISafeCallType call) {
  if (test_value_of(index, name).type_index != kTVMFFINone) return 0;
  return test_set_hook(index, name, call);
}

static int test_structural_hooked(int32_t *index) {
  *index =
      test_structural_type("unit.Hooked", kTVMFFISEqHashKindTreeNode, 0, 0);
  if (*index < 0) return -1;
  TVMFFI_TRY(test_set_hook_once(*index, "__s_equal__", test_s_equal));
  return test_set_hook_once(*index, "__s_hash__", test_s_hash);
}

/* Compares both fields, and hashes them. The first one is in a region of this
   TVMFFIDefRegionKind. */
static int64_t test_first_region;
static int test_s_equal_both(void *self, const TVMFFIAny *args,
                             int32_t num_args, TVMFFIAny *result) {
  const TVMFFIAny *a = (const TVMFFIAny *)(const void *)(args[0].v_obj + 1);
  const TVMFFIAny *b = (const TVMFFIAny *)(const void *)(args[1].v_obj + 1);
  TVMFFIAny next[4];
  int i;
  (void)self, (void)num_args;
  next[3] = tvmffi_str("a field of the two");
  for (i = 0; i < 2; ++i) {
    next[2] = tvmffi_int(i ? 0 : test_first_region);
    next[0] = a[i];
    next[1] = b[i];
    *result = tvmffi_none();
    TVMFFI_TRY(TVMFFIFunctionCall(args[2].v_obj, next, 4, result));
    if (!result->v_int64) break;
  }
  return 0;
}
static int test_s_hash_both(void *self, const TVMFFIAny *args, int32_t num_args,
                            TVMFFIAny *result) {
  TVMFFIAny next[4];
  int i;
  (void)self, (void)num_args;
  next[1] = args[1];
  for (i = 0; i < 2; ++i) {
    next[2] = tvmffi_int(i ? 0 : test_first_region);
    next[3] = tvmffi_int(kTVMFFIDefRegionKindPattern); /* no argument */
    next[0] = ((const TVMFFIAny *)(const void *)(args[0].v_obj + 1))[i];
    *result = tvmffi_none();
    TVMFFI_TRY(TVMFFIFunctionCall(args[2].v_obj, next, 3, result));
    next[1] = *result;
  }
  return 0;
}

/* A hook tells where variables are defined: only in the first field. */
static void test_structural_hooked_regions(int32_t variable) {
  int32_t function;
  TVMFFIAny v[4], f, g, a, b;
  int64_t h, k;
  int i;
  STRUCTURAL_TYPE(function, "unit.HookedBoth", kTVMFFISEqHashKindTreeNode, 0,
                  0);
  OK(test_set_hook_once(function, "__s_equal__", test_s_equal_both));
  OK(test_set_hook_once(function, "__s_hash__", test_s_hash_both));
  for (i = 0; i < 4; ++i)
    NODE(v[i], variable, tvmffi_int(1), tvmffi_none());
  NODE(f, function, tvmffi_int(7), tvmffi_int(8));
  HASH(f, (int64_t)tvmffi_i_hash_combine(
              tvmffi_i_hash_combine(TVMFFIGetTypeInfo(function)->type_key_hash,
                                    tvmffi_i_hash_combine(kTVMFFIInt, 7)),
              tvmffi_i_hash_combine(kTVMFFIInt, 8)));
  test_first_region = kTVMFFIDefRegionKindSimple;
  for (i = 0; i < 3; ++i) { /* both defined; the second free, inside; behind */
    NODE(f, function, v[0], i == 1 ? v[2] : v[0]);
    NODE(g, function, v[1], i == 1 ? v[3] : v[1]);
    OK(test_built("ffi.Array", 2, f, i == 2 ? v[2] : v[0], &a));
    OK(test_built("ffi.Array", 2, g, i == 2 ? v[3] : v[1], &b));
    SAME_STRUCTURE(a, b, 0, i == 0);
    OK(test_hash(a, 0, &h));
    OK(test_hash(b, 0, &k));
    CHECK((h == k) == (i == 0));
  }
  test_first_region = 0;
}

/* A variable whose hooks compare and hash what is in it is defined where it
   stands, though no definition is inside it. */
static void test_structural_hooked_variables(TVMFFI_HERE) {
  int32_t variable, function;
  TVMFFIAny x, y, f, g;
  int64_t h, k;
  STRUCTURAL_TYPE(variable, "unit.HookedVar", kTVMFFISEqHashKindFreeVar, 0, 0);
  STRUCTURAL_TYPE(function, "unit.Lambda", kTVMFFISEqHashKindTreeNode,
                  kTVMFFIFieldFlagBitMaskSEqHashDefSimple, 0);
  OK(test_set_hook_once(variable, "__s_equal__", test_s_equal));
  OK(test_set_hook_once(variable, "__s_hash__", test_s_hash));
  NODE(x, variable, tvmffi_int(1), tvmffi_none());
  NODE(y, variable, tvmffi_int(1), tvmffi_none());
  test_kept_callback = x.v_obj; /* test_s_equal retains none */
  SAME_STRUCTURE(x, y, 0, 0);
  SAME_STRUCTURE(x, y, 1, 1);
  NODE(f, function, x, x);
  NODE(g, function, y, y);
  SAME_STRUCTURE(f, g, 0, 1);
  OK(test_hash(f, 0, &h));
  OK(test_hash(g, 0, &k));
  CHECK(h == k);
  NODE(f, variable, x, x);
  NODE(f, function, f, x);
  NODE(g, variable, y, y);
  NODE(g, function, g, y);
  SAME_STRUCTURE(f, g, 0, 0); /* what is in a variable is no definition */
  STRUCTURAL_TYPE(variable, "unit.Var", kTVMFFISEqHashKindFreeVar, 0, 0);
  test_structural_hooked_regions(variable);
}

static void test_structural_hooks(TVMFFI_HERE) {
  int32_t index;
  TVMFFIAny a, b, c, args[4], pair, key = tvmffi_none();
  TVMFFIObject *kept;
  int64_t h, k;
  OK(test_structural_hooked(&index));
  NODE(a, index, tvmffi_int(1), tvmffi_int(2));
  NODE(b, index, tvmffi_int(1), tvmffi_int(3));
  NODE(c, index, tvmffi_int(2), tvmffi_int(2));
  test_kept_callback = NULL;
  SAME_STRUCTURE(a, b, 0, 1);
  kept = test_kept_callback;
  OWN(kept);
  SAME_STRUCTURE(a, c, 0, 0);
  OK(test_hash(a, 0, &h));
  OK(test_hash(b, 0, &k));
  CHECK(h == k);
  args[0] = a;
  args[1] = c;
  args[2] = args[3] = tvmffi_bool(0);
  OK(test_apply_global("ffi.GetFirstStructuralMismatch", args, 4, &pair));
  CHECK_INT(test_only_step(pair.v_obj, 0, &key), TVMFFI_I_STEP_ATTR);
  CHECK_TEXT(tvmffi_any_str(&key), "a");
  args[2] = tvmffi_int(0);
  FAILS(test_apply(kept, args, 4, &pair), "RuntimeError",
        "The callback of a structural hook was called after its end");
  args[2] = tvmffi_bool(0);
  FAILS(test_apply(kept, args, 4, &pair), "RuntimeError", NULL);
  FAILS(test_apply(kept, args, 2, &pair), "TypeError",
        "Mismatched number of arguments when calling: `(0: AnyView, 1: "
        "AnyView, 2: int, 3: AnyView) -> bool`. Expected 4 but got 2 "
        "arguments");
  pair = a;
  FAILS(TVMFFIFunctionCall(kept, args, 4, &pair), "TypeError",
        "...The result is not None at entry when calling: `(0: AnyView, 1: "
        "AnyView, 2: int, 3: AnyView) -> bool`");
  args[2] = tvmffi_str("0");
  FAILS(test_apply(kept, args, 4, &pair), "TypeError",
        "Mismatched type on argument #2 when calling: `(0: AnyView, 1: "
        "AnyView, 2: int, 3: AnyView) -> bool`. Expected `int` but got `const "
        "char*`");
}

/* Leaves the callback of a hook: in C++ by an exception, in C by a jump. */
#if defined(__cplusplus) && defined(__cpp_exceptions)
#define TEST_LEAVES 1
static void test_leave_hook(void) { throw 7; }
static int test_call_left(TVMFFIObject *f, TVMFFIAny *args, int n,
                          TVMFFIAny *result, int *is_left) {
  try {
    return TVMFFIFunctionCall(f, args, n, result);
  } catch (int) {
    *is_left = 1;
  }
  return 0;
}
#elif !defined(__cplusplus) && defined(__unix__) && !defined(__wasm__)
#include <setjmp.h>
#define TEST_LEAVES 1
static jmp_buf test_jump;
static void test_leave_hook(void) { longjmp(test_jump, 1); }
static int test_call_left(TVMFFIObject *f, TVMFFIAny *args, int n,
                          TVMFFIAny *result, int *is_left) {
  if (setjmp(test_jump) == 0) return TVMFFIFunctionCall(f, args, n, result);
  *is_left = 1;
  return 0;
}
#endif

#if defined(TEST_LEAVES)
/* As test_catch_from_hook, for objects whose `a` is None or a list. */
static int test_catch_structural(const TVMFFIAny *args, int is_hash,
                                 TVMFFIAny *result) {
  const int n = is_hash ? 1 : 2;
  TVMFFIAny next[4];
  int i, code, is_left = 0;
  for (i = 0; i < 2; ++i)
    next[i] = i < n ? *(const TVMFFIAny *)(const void *)(args[i].v_obj + 1)
                    : args[i];
  next[2] = tvmffi_int(0);
  next[3] = tvmffi_str("a");
  if (next[0].type_index == kTVMFFINone) test_leave_hook();
  code = test_call_left(args[2].v_obj, next, is_hash ? 3 : 4, result, &is_left);
  for (i = 0; is_left && i < n; ++i) {
    /* the references of the callback and the hooks that ended */
    const void *items = TVMFFI_I_CELL(TVMFFISeqCell, next[i].v_obj)->data;
    tvmffi_release(((const TVMFFIAny *)items)->v_obj);
    tvmffi_release(next[i].v_obj);
  }
  if (!code) *result = tvmffi_int(1);
  return code;
}

static int test_catch_equal(void *self, const TVMFFIAny *args, int32_t num_args,
                            TVMFFIAny *result) {
  (void)self, (void)num_args;
  return test_catch_structural(args, 0, result);
}
static int test_catch_hash(void *self, const TVMFFIAny *args, int32_t num_args,
                           TVMFFIAny *result) {
  (void)self, (void)num_args;
  return test_catch_structural(args, 1, result);
}

static void test_caught_structural(TVMFFI_HERE) {
  int32_t index =
      test_structural_type("unit.Catching", kTVMFFISEqHashKindTreeNode, 0, 0);
  TVMFFIAny nodes[4], list, result;
  int i;
  OK(index < 0 ? -1 : 0);
  OK(test_set_hook_once(index, "__s_equal__", test_catch_equal));
  OK(test_set_hook_once(index, "__s_hash__", test_catch_hash));
  for (i = 0; i < 2; ++i) {
    NODE(nodes[i], index, tvmffi_none(), tvmffi_none());
    OK(test_built("ffi.Array", 1, nodes[i], nodes[i], &list));
    NODE(nodes[i], index, list, tvmffi_none());
  }
  nodes[2] = nodes[3] = tvmffi_bool(0);
  FAILS(test_apply_global("ffi.StructuralEqual", nodes, 4, &result),
        "RuntimeError", "An exception left the callback of a hook");
  nodes[1] = tvmffi_bool(0);
  FAILS(test_apply_global("ffi.StructuralHash", nodes, 3, &result),
        "RuntimeError", "An exception left the callback of a hook");
  CHECK(!tvmffi_i_thread_guards()->depth);
}
#else
static void test_caught_structural(TVMFFI_HERE) {}
#endif

static TVMFFIAny test_changed_dict;

/* Empties a dict that is being compared, and finds a difference. */
static int test_s_empty(void *self, const TVMFFIAny *args, int32_t num_args,
                        TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args;
  *result = tvmffi_bool(0);
  return tvmffi_call(tvmffi_str(test_changed_dict.type_index == kTVMFFIList
                                    ? "ffi.ListClear"
                                    : "ffi.DictClear"),
                     tvmffi_out_any(NULL), test_changed_dict);
}
static int test_s_hash_empty(void *self, const TVMFFIAny *args,
                             int32_t num_args, TVMFFIAny *result) {
  int code = test_s_empty(self, args, num_args, result);
  *result = tvmffi_int(7);
  return code;
}

/* An item lives as long as its own items are compared or hashed, and a map
   cannot be changed while its keys are compared. */
static void test_structural_lists_that_go(void) {
  int32_t index =
      test_structural_type("unit.Emptying", kTVMFFISEqHashKindTreeNode, 0, 0);
  int32_t both =
      test_structural_type("unit.EmptyBoth", kTVMFFISEqHashKindTreeNode, 0, 0);
  TVMFFIAny lists[2], item, node, key;
  int64_t hash;
  int i, side;
  OK(index < 0 || both < 0 ? -1 : 0);
  OK(test_set_hook_once(index, "__s_equal__", test_s_empty));
  OK(test_set_hook_once(both, "__s_equal__", test_s_empty));
  OK(test_set_hook_once(both, "__s_hash__", test_s_hash_empty));
  for (side = 0; side < 3; ++side) {
    for (i = 0; i < 2; ++i) {
      NODE(node, both, tvmffi_int(i), tvmffi_none());
      OK(test_built("ffi.Array", 2, node, tvmffi_int(1), &item));
      OK(test_built("ffi.List", 1, item, item, &lists[i]));
      test_drop(item.v_obj);
      test_drop(node.v_obj);
    }
    test_changed_dict = lists[side % 2];
    if (side < 2) SAME_STRUCTURE(lists[0], lists[1], 0, 0);
    if (side == 2) OK(test_hash(lists[0], 0, &hash));
    CHECK_INT(test_cell(test_changed_dict.v_obj)->size, 0);
    test_release_all();
  }
  for (i = 0; i < 2; ++i) {
    NODE(node, index, tvmffi_int(1), tvmffi_none());
    OK(test_built("ffi.StructuralKey", 1, node, node, &key));
    OK(test_built("ffi.Dict", 2, key, tvmffi_int(1), &lists[i]));
  }
  test_changed_dict = lists[1];
  FAILS(test_same(lists[0], lists[1], 0) < 0, "RuntimeError",
        "A map cannot be changed by the hash or the equality of its own keys");
  CHECK(!tvmffi_i_thread_guards()->depth);
}

/* The key of the entry is there as long as the comparison. */
static void test_structural_changes(TVMFFI_HERE) {
  int side;
  for (side = 0; side < 2; ++side) {
    TVMFFIByteArray text = TEXT("longer than eight");
    TVMFFIAny args[4], entry[2], pair, key = tvmffi_none();
    int32_t index =
        test_structural_type("unit.Emptying", kTVMFFISEqHashKindTreeNode, 0, 0);
    int i;
    OK(index < 0 ? -1 : 0);
    OK(test_set_hook_once(index, "__s_equal__", test_s_empty));
    for (i = 0; i < 2; ++i) {
      NODE(entry[1], index, tvmffi_int(i), tvmffi_none());
      OK(TVMFFIStringFromByteArray(&text, &entry[0]));
      OWN_ANY(entry[0]);
      OK(test_apply_global("ffi.Dict", entry, 2, &args[i]));
      test_drop(entry[0].v_obj);
      test_drop(entry[1].v_obj);
    }
    args[2] = args[3] = tvmffi_bool(0);
    test_changed_dict = args[side];
    OK(test_apply_global("ffi.GetFirstStructuralMismatch", args, 4, &pair));
    for (i = 0; i < 2; ++i) {
      CHECK_INT(test_only_step(pair.v_obj, i, &key), TVMFFI_I_STEP_MAP_ITEM);
      CHECK_TEXT(tvmffi_any_str(&key), "longer than eight");
    }
    test_release_all();
  }
  test_structural_lists_that_go();
}

/* Hooks that fail with any code, for objects, items of lists and keys. */
static void test_structural_failing(TVMFFI_HERE) {
  int32_t index;
  TVMFFIAny args[4], nodes[2], maps[2];
  int i;
  STRUCTURAL_TYPE(index, "unit.FailingNode", kTVMFFISEqHashKindTreeNode, 0, 0);
  OK(test_set_hook_once(index, "__s_equal__", test_fail_bool));
  OK(test_set_hook_once(index, "__s_hash__", test_fail_hook));
  test_fail_answer = 1;
  args[2] = args[3] = tvmffi_bool(0);
  for (i = 0; i < 2; ++i) {
    NODE(nodes[i], index, tvmffi_int(i), tvmffi_none());
    args[i] = nodes[i];
  }
  test_fails_anyhow("ffi.StructuralEqual", 0, args, 4);
  test_fails_anyhow("ffi.GetFirstStructuralMismatch", 0, args, 4);
  for (i = 0; i < 2; ++i)
    OK(test_apply_global("ffi.List", &nodes[i], 1, &args[i]));
  test_fails_anyhow("ffi.StructuralEqual", 0, args, 4);
  args[1] = args[2];
  test_fails_anyhow("ffi.StructuralHash", 0, args, 3);
  test_fails_anyhow("ffi.StructuralKey", 0, args, 1);
  for (i = 0; i < 2; ++i) {
    OK(test_apply_global("ffi.StructuralKey", &nodes[i], 1, &args[i]));
    OK(test_built("ffi.Map", 2, args[i], tvmffi_int(1), &maps[i]));
  }
  test_fails_anyhow("ffi.StructuralKeyEqual", 0, args, 2);
  /* C++ gets an error object for code -2, too. */
  args[0] = maps[0];
  FAILS(test_apply_failing(1, 0, "ffi.MapCount", args, 2) < 0, "ValueError",
        "the hook says no");
  FAILS(test_apply_failing(-2, 0, "ffi.MapCount", args, 2) < 0,
        "EnvErrorAlreadySet", "");
  args[1] = maps[1];
  test_fails_anyhow("ffi.StructuralEqual", 0, args, 4);
}

/* Finds two values equal, and changes the dict of the second one: the first
   call adds an entry, or the second call erases the first entry. */
static TVMFFIAny test_right_dict;
static int test_is_erasing, test_num_changes;
static int test_s_change(void *self, const TVMFFIAny *args, int32_t num_args,
                         TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args;
  *result = tvmffi_bool(1);
  if (test_num_changes++ != test_is_erasing) return 0;
  if (test_is_erasing)
    return tvmffi_call(tvmffi_str("ffi.DictErase"), tvmffi_out_any(NULL),
                       test_right_dict, tvmffi_int(0));
  return tvmffi_call(tvmffi_str("ffi.DictSetItem"), tvmffi_out_any(NULL),
                     test_right_dict, tvmffi_int(7), tvmffi_int(7));
}

/* Dicts that differ in size only at the end of the comparison: with a key to
   show for it, and without. */
static void test_structural_sizes(TVMFFI_HERE) {
  int i, with_path;
  for (i = 0; i < 4; ++i) {
    int32_t index =
        test_structural_type("unit.Changing", kTVMFFISEqHashKindTreeNode, 0, 0);
    TVMFFIAny args[4], entries[4], pair, key = tvmffi_none();
    int k;
    OK(index < 0 ? -1 : 0);
    OK(test_set_hook_once(index, "__s_equal__", test_s_change));
    for (k = 0; k < 4; ++k) {
      entries[k / 2 * 2] = tvmffi_int(k / 2);
      NODE(entries[k / 2 * 2 + 1], index, tvmffi_int(k), tvmffi_none());
    }
    OK(test_apply_global("ffi.Dict", entries, 4, &args[0]));
    for (k = 0; k < 2; ++k)
      NODE(entries[2 * k + 1], index, tvmffi_int(k), tvmffi_none());
    OK(test_apply_global("ffi.Dict", entries, 4, &args[1]));
    args[2] = args[3] = tvmffi_bool(0);
    test_right_dict = args[1];
    test_is_erasing = i % 2;
    test_num_changes = 0;
    with_path = i / 2;
    if (!with_path) {
      SAME_STRUCTURE(args[0], args[1], 0, 0);
    } else {
      OK(test_apply_global("ffi.GetFirstStructuralMismatch", args, 4, &pair));
      for (k = 0; k < 2; ++k) {
        const int64_t kind = test_only_step(pair.v_obj, k, &key);
        CHECK_INT(kind, test_is_erasing ? -1
                        : k             ? TVMFFI_I_STEP_MAP_ITEM
                                        : TVMFFI_I_STEP_MAP_ITEM_MISSING);
        if (!test_is_erasing) CHECK_INT(key.v_int64, 7);
      }
    }
    CHECK_INT(tvmffi_i_map_size(args[1].v_obj), test_is_erasing ? 1 : 3);
    test_release_all();
  }
}

/* The equality of keys, which empties the left dict and finds the key. */
static int test_empty_left(void *self, const TVMFFIAny *args, int32_t num_args,
                           TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args;
  *result = tvmffi_bool(1);
  return tvmffi_call(tvmffi_str("ffi.DictClear"), tvmffi_out_any(NULL),
                     test_changed_dict);
}

static void test_structural_emptied(TVMFFI_HERE) {
  int32_t index =
      test_structural_type("unit.EmptyLeft", kTVMFFISEqHashKindTreeNode, 0, 0);
  TVMFFIAny entry[2], dicts[2];
  int i;
  OK(index < 0 ? -1 : 0);
  OK(test_set_hook_once(index, "__any_equal__", test_empty_left));
  entry[1] = tvmffi_int(1);
  for (i = 0; i < 2; ++i) {
    NODE(entry[0], index, tvmffi_int(1), tvmffi_none());
    OK(test_apply_global("ffi.Dict", entry, 2, &dicts[i]));
  }
  test_changed_dict = dicts[0];
  SAME_STRUCTURE(dicts[0], dicts[1], 0, 0);
  CHECK_INT(tvmffi_i_map_size(dicts[0].v_obj), 0);
}

/* As deep as memory allows, but hooks only up to a limit; no end is none. */
static void test_structural_depth(TVMFFI_HERE) {
  int i, n = test_scale(test_chain < 20000 ? test_chain : 20000, 20);
  int32_t index;
  int64_t hash;
  TVMFFIAny a = tvmffi_int(1), b = a, list;
  for (i = 0; i < n; ++i) {
    TVMFFIAny *items;
    TVMFFIObject *x = tvmffi_i_new_array(1, &items);
    if (x) items[0] = a;
    if (!x) tvmffi_any_release(&a);
    OK(x ? 0 : -1);
    a = tvmffi_obj(x);
  }
  OWN_ANY(a);
  SAME_STRUCTURE(a, a, 0, 1);
  SAME_STRUCTURE(a, b, 0, 0);
  OK(test_hash(a, 0, &hash));
  OK(test_structural_hooked(&index));
  a = tvmffi_int(1);
  for (i = 0; i < test_scale(TVMFFI_I_MAX_NESTING + 1, 20); ++i) {
    TVMFFIObject *o = tvmffi_i_new_object(index, sizeof(TVMFFIObject) + 32);
    if (o) *(TVMFFIAny *)(void *)(o + 1) = a;
    if (!o) tvmffi_any_release(&a);
    OK(o ? 0 : -1);
    a = tvmffi_obj(o);
  }
  OWN_ANY(a);
  test_forget_stack();
  if (test_scale(1, 0))
    FAILS(test_same(a, a, 0) < 0, "RecursionError", TEST_TOO_MANY);
  CHECK_INT(tvmffi_i_thread_nesting()->count, 0);
  test_find_stack();
  OK(test_apply_global("ffi.List", NULL, 0, &list));
  OK(tvmffi_i_list_append(list.v_obj, &list));
  if (test_scale(1, 0) && test_chain >= 20000) /* needs some 50 MB */
    FAILS(test_same(list, list, 0) < 0, "ValueError",
          "StructuralEqual: maximum stack depth (1048576) exceeded");
  tvmffi_i_erase((tvmffi_i_seq *)(void *)list.v_obj, 0, 1);
}

/* Makes a nest of `depth` levels, each of which has the level below it twice: a
   container by its function's name, or an object of a type. */
static int test_shared_nest(TVMFFI_HERE, const char *name, int32_t index,
                            int depth, TVMFFIAny leaf, TVMFFIAny *out) {
  TVMFFIAny level = leaf;
  int i;
  for (i = 0; i < depth; ++i, level = *out) {
    if (!name) {
      TVMFFIObject *o = tvmffi_i_new_object(index, sizeof(*o) + 32);
      if (!o) return -1;
      tvmffi_i_copy_owned(&level, &((TVMFFIAny *)(void *)(o + 1))[0]);
      tvmffi_i_copy_owned(&level, &((TVMFFIAny *)(void *)(o + 1))[1]);
      if (!tvmffi_scope_attach(o)) return -1;
      *out = tvmffi_obj(o);
    } else if (name[4] == 'M' || name[4] == 'D') {
      TVMFFI_TRY(tvmffi_call(tvmffi_str(name), tvmffi_out_any(out),
                             tvmffi_int(0), level, tvmffi_int(1), level));
    } else {
      TVMFFI_TRY(
          tvmffi_call(tvmffi_str(name), tvmffi_out_any(out), level, level));
    }
  }
  return 0;
}

/* Graphs with more paths than can be followed take the time of their edges. */
static void test_structural_nests(TVMFFI_HERE, const char *name,
                                  int32_t index) {
  TVMFFIAny x, y, z, leaf, args[4], result;
  int64_t h, k;
  int depth = test_scale(TVMFFI_I_STACK_KNOWN ? 40 : 30, 12);
  test_release_all();
  OK(test_built("ffi.Array", 1, tvmffi_int(1), tvmffi_none(), &leaf));
  OK(test_shared_nest(tvmffi_here, name, index, depth, leaf, &x));
  OK(test_shared_nest(tvmffi_here, name, index, depth, leaf, &y));
  OK(test_built("ffi.Array", 1, tvmffi_int(2), tvmffi_none(), &leaf));
  OK(test_shared_nest(tvmffi_here, name, index, depth, leaf, &z));
  SAME_STRUCTURE(x, x, 0, 1);
  SAME_STRUCTURE(x, y, 0, 1);
  SAME_STRUCTURE(x, y, 1, 1);
  SAME_STRUCTURE(x, z, 0, 0);
  OK(test_hash(x, 0, &h));
  OK(test_hash(y, 0, &k));
  CHECK(h == k);
  OK(test_hash(z, 0, &k));
  CHECK(h != k);
  args[0] = x;
  args[1] = z;
  args[2] = args[3] = tvmffi_bool(0);
  OK(test_apply_global("ffi.GetFirstStructuralMismatch", args, 4, &result));
  CHECK_INT(((tvmffi_i_path *)(void *)test_item(result.v_obj, 0))->depth,
            depth + 1);
  args[1] = y;
  OK(test_apply_global("ffi.GetFirstStructuralMismatch", args, 4, &result));
  CHECK_INT(result.type_index, kTVMFFINone);
  OK(test_built("ffi.StructuralKey", 1, x, x, &args[0]));
  OK(test_built("ffi.StructuralKey", 1, y, y, &args[1]));
  OK(test_built("ffi.StructuralKeyEqual", 2, args[0], args[1], &result));
  CHECK_INT(result.v_int64, 1);
}

/* Checks that two values are equal, without a call that makes an object. */
#define SAME_INSIDE(a, b)                                        \
  do {                                                           \
    int same_ = tvmffi_i_structural_equal(&(a), &(b), 0, 0, NULL); \
    OK(same_ < 0 ? same_ : 0);                                   \
    CHECK_INT(same_, 1);                                         \
  } while (0)

/* Makes a nest as test_shared_nest does, in which nothing but a level refers to
   the level below. A level has that once, or twice if `twice`; the lowest one
   has `leaf` once. */
static int test_lone_nest(const char *name, int32_t index, int depth, int twice,
                          TVMFFIAny leaf, TVMFFIAny *out) {
  TVMFFIAny args[4];
  int i;
  *out = leaf;
  for (i = 0; i < depth; ++i) {
    const TVMFFIAny level = *out, other = twice && i ? level : tvmffi_none();
    const int n = twice && i ? 2 : 1;
    args[0] = level;
    args[1] = args[3] = other;
    if (!name && TVMFFIGetTypeInfo(index)->type_depth > 1) {
      TVMFFI_TRY(test_new_pair(index, level, other, out));
    } else if (!name) {
      *out = test_node(index, level, other);
      if (out->type_index == kTVMFFINone) return -1;
    } else if (name[4] == 'M' || name[4] == 'D') {
      args[0] = tvmffi_int(0);
      args[1] = level;
      args[2] = tvmffi_int(1);
      TVMFFI_TRY(test_apply_global(name, args, 2 * n, out));
    } else {
      TVMFFI_TRY(test_apply_global(name, args, n, out));
    }
    test_drop(level.v_obj);
  }
  return 0;
}

/* A part that is met again is compared and hashed once, also if nothing else
   refers to it. A part that is met once needs no record, so no more blocks than
   the numbers given, unless a debug build notes what it sees. */
static void test_structural_lone(const char *name, int32_t index, size_t blocks,
                                 size_t hash_blocks) {
  int32_t hooked;
  TVMFFIAny leaf, nest[2];
  uint64_t hash;
  size_t made;
  int i, twice;
  test_release_all();
  OK(test_structural_hooked(&hooked));
  for (twice = 0; twice < 2; ++twice) {
    for (i = 0; i < 2; ++i) {
      if (twice)
        NODE(leaf, hooked, tvmffi_int(1), tvmffi_none());
      else
        OK(test_built("ffi.Array", 1, tvmffi_int(1), tvmffi_none(), &leaf));
      OK(test_lone_nest(name, index, twice ? test_scale(28, 10) : 4, twice,
                        leaf, &nest[i]));
    }
    test_kept_callback = nest[0].v_obj; /* test_s_equal retains none */
    test_num_s_equal = test_num_s_hash = 0;
    made = test_get(&test_made);
    SAME_INSIDE(nest[0], nest[1]);
    if (!twice && !TVMFFI_DEBUG)
      CHECK(test_get(&test_made) - made <= blocks);
    made = test_get(&test_made);
    OK(tvmffi_i_structural_hash(&nest[0], 0, 0, &hash));
    if (!twice && !TVMFFI_DEBUG)
      CHECK(test_get(&test_made) - made <= hash_blocks);
    if (twice) CHECK_INT(test_num_s_equal, 1);
    if (twice) CHECK_INT(test_num_s_hash, 1);
    test_release_all();
  }
}

static void test_structural_shared(TVMFFI_HERE) {
  test_structural_lone("ffi.Array", 0, 0, 0);
  test_structural_lone("ffi.List", 0, 0, 0);
  test_structural_lone("ffi.Map", 0, 0, 1);
  test_structural_lone("ffi.Dict", 0, 0, 1);
  test_structural_nests(tvmffi_here, "ffi.Array", 0);
  test_structural_nests(tvmffi_here, "ffi.List", 0);
  test_structural_nests(tvmffi_here, "ffi.Map", 0);
  test_structural_nests(tvmffi_here, "ffi.Dict", 0);
}

static void test_structural_shared_objects(TVMFFI_HERE) {
  int32_t constant, graph, hooked, getter;
  STRUCTURAL_TYPE(constant, "unit.Const", kTVMFFISEqHashKindConstTreeNode, 0,
                  0);
  STRUCTURAL_TYPE(graph, "unit.Graph", kTVMFFISEqHashKindDAGNode, 0, 0);
  STRUCTURAL_TYPE(hooked, "unit.HookedBoth", kTVMFFISEqHashKindTreeNode, 0, 0);
  OK(test_set_hook_once(hooked, "__s_equal__", test_s_equal_both));
  OK(test_set_hook_once(hooked, "__s_hash__", test_s_hash_both));
  OK(test_getter_type(&getter));
  {
    TVMFFIAny a, b, x, y;
    size_t made;
    int32_t once;
    OK(test_structural_hooked(&once));
    NODE(a, once, tvmffi_int(1), tvmffi_none());
    NODE(a, constant, a, tvmffi_none());
    test_num_s_equal = 0;
    SAME_STRUCTURE(a, a, 0, 1);
    CHECK_INT(test_num_s_equal, 0); /* one object is not looked into */
    NODE(a, graph, tvmffi_int(1), tvmffi_none());
    NODE(b, graph, tvmffi_int(1), tvmffi_none());
    OK(test_built("ffi.Array", 2, a, a, &x));
    OK(test_built("ffi.Array", 2, b, b, &y));
    made = test_get(&test_made);
    SAME_INSIDE(x, y);
    CHECK(test_get(&test_made) - made <= 2); /* two tables of counterparts */
  }
  test_structural_lone(NULL, constant, 0, 1);
  test_structural_lone(NULL, getter, 0, 1);
  /* A freestanding build makes one more block for a callback. */
  test_structural_lone(NULL, hooked, 5 + TVMFFI_FREESTANDING,
                       5 + TVMFFI_FREESTANDING);
  test_structural_nests(tvmffi_here, NULL, constant);
  test_structural_nests(tvmffi_here, NULL, graph);
  test_structural_nests(tvmffi_here, NULL, hooked);
}

/* A map that is shared is compared and hashed again when its key, an object,
   has been defined meanwhile. */
static void test_structural_shared_keys(TVMFFI_HERE) {
  int32_t variable, function;
  TVMFFIAny x, y, m, n, f, g, a, b;
  int64_t h, k;
  int depth = test_scale(40, 12);
  STRUCTURAL_TYPE(variable, "unit.Var", kTVMFFISEqHashKindFreeVar, 0, 0);
  STRUCTURAL_TYPE(function, "unit.Lambda", kTVMFFISEqHashKindTreeNode,
                  kTVMFFIFieldFlagBitMaskSEqHashDefSimple, 0);
  NODE(x, variable, tvmffi_int(1), tvmffi_none());
  NODE(y, variable, tvmffi_int(1), tvmffi_none());
  OK(test_built("ffi.Map", 2, x, tvmffi_int(5), &m));
  OK(test_built("ffi.Map", 2, x, tvmffi_int(5), &n));
  OK(test_shared_nest(tvmffi_here, "ffi.Array", 0, depth, m, &m));
  OK(test_shared_nest(tvmffi_here, "ffi.Array", 0, depth, n, &n));
  SAME_STRUCTURE(m, n, 0, 1); /* x is free: its own counterpart */
  NODE(f, function, x, m);
  NODE(g, function, y, n);
  SAME_STRUCTURE(f, g, 0, 0); /* x is y */
  OK(test_built("ffi.Array", 2, m, f, &a));
  OK(test_built("ffi.Array", 2, n, g, &b));
  SAME_STRUCTURE(a, b, 0, 0); /* first the one, then the other */
  NODE(g, function, x, n);
  OK(test_built("ffi.Array", 2, n, g, &b));
  SAME_STRUCTURE(a, b, 0, 1);
  /* The same with a map for each place, which have one result each. */
  OK(test_built("ffi.Map", 2, x, tvmffi_int(5), &m));
  OK(test_built("ffi.Map", 2, x, tvmffi_int(5), &n));
  NODE(f, function, x, m);
  NODE(g, function, x, n);
  OK(test_built("ffi.Array", 2, m, f, &a));
  OK(test_built("ffi.Array", 2, m, g, &b));
  OK(test_hash(a, 0, &h));
  OK(test_hash(b, 0, &k));
  CHECK(h == k);
}

/* A stored result that depends on a key is not used when the key has been
   defined since, also if another result of this kind has been stored
   meanwhile. */
static void test_structural_stale(int32_t variable, int32_t function) {
  TVMFFIAny x, y, z, m[3], p, items[5], a[2];
  int64_t h[2];
  int i, k;
  NODE(x, variable, tvmffi_int(1), tvmffi_none());
  NODE(y, variable, tvmffi_int(1), tvmffi_none());
  NODE(z, variable, tvmffi_int(1), tvmffi_none());
  for (i = 0; i < 2; ++i) { /* x is y, so the last maps differ */
    OK(test_built("ffi.Map", 2, x, tvmffi_int(5), &items[0]));
    OK(test_built("ffi.Array", 1, items[0], x, &items[1]));
    NODE(items[2], function, i ? y : x, tvmffi_int(1));
    OK(test_built("ffi.Map", 2, z, tvmffi_int(6), &items[3]));
    items[4] = items[1];
    OK(test_apply_global("ffi.Array", items, 5, &a[i]));
  }
  SAME_STRUCTURE(a[0], a[1], 0, 0);
  for (i = 0; i < 2; ++i) { /* the definition is in what is met again */
    OK(test_built("ffi.Map", 2, x, tvmffi_int(5), &p));
    NODE(items[0], function, i ? y : x, tvmffi_int(1));
    OK(test_built("ffi.Array", 2, p, items[0], &items[0]));
    OK(test_built("ffi.Array", 2, items[0], items[0], &a[i]));
  }
  SAME_STRUCTURE(a[0], a[1], 0, 0);
  for (i = 0; i < 2; ++i) { /* one map in two places, or two maps */
    for (k = 0; k < 3; ++k)
      OK(test_built("ffi.Map", 2, x, tvmffi_int(5), &m[k]));
    OK(test_built("ffi.Map", 2, z, tvmffi_int(6), &p));
    items[0] = m[0];
    OK(test_built("ffi.Array", 1, m[i], x, &items[1]));
    NODE(items[2], function, x, tvmffi_int(1));
    items[3] = p;
    items[4] = items[1];
    if (i) OK(test_built("ffi.Array", 1, m[2], x, &items[4]));
    OK(test_apply_global("ffi.Array", items, 5, &a[i]));
    OK(test_hash(a[i], 0, &h[i]));
  }
  CHECK(h[0] == h[1]);
  test_release_all();
}

/* Two parts that are met again by turns keep their hashes. */
static void test_structural_turns(void) {
  TVMFFIAny items[4], whole[2];
  int64_t h[2];
  int i;
  for (i = 0; i < 2; ++i) {
    OK(test_built("ffi.Array", 1, tvmffi_int(1), tvmffi_none(), &items[0]));
    OK(test_built("ffi.Array", 1, tvmffi_int(2), tvmffi_none(), &items[1]));
    items[2] = items[0];
    items[3] = items[1];
    if (i)
      OK(test_built("ffi.Array", 1, tvmffi_int(1), tvmffi_none(), &items[2]));
    OK(test_apply_global("ffi.Array", items, 4, &whole[i]));
    OK(test_hash(whole[i], 0, &h[i]));
  }
  CHECK(h[0] == h[1]);
}

/* A result that depends on a key is used until another object is known. */
static void test_structural_loose(TVMFFI_HERE) {
  int32_t variable, function;
  TVMFFIAny x, z, v, w, m, n, f, g, a[6], b[6], *items, *others;
  TVMFFIObject *arrays[2];
  int i;
  STRUCTURAL_TYPE(variable, "unit.Var", kTVMFFISEqHashKindFreeVar, 0, 0);
  STRUCTURAL_TYPE(function, "unit.Lambda", kTVMFFISEqHashKindTreeNode,
                  kTVMFFIFieldFlagBitMaskSEqHashDefSimple, 0);
  NODE(x, variable, tvmffi_int(1), tvmffi_none());
  NODE(z, variable, tvmffi_int(1), tvmffi_none());
  NODE(v, variable, tvmffi_int(1), tvmffi_none());
  NODE(w, variable, tvmffi_int(1), tvmffi_none());
  NODE(f, function, v, v);
  NODE(g, function, w, w);
  for (i = 0; i < 2; ++i) {
    TVMFFIAny *to = i ? b : a;
    OK(test_built("ffi.Map", 2, x, tvmffi_int(5), &m));
    OK(test_built("ffi.Map", 2, z, tvmffi_int(6), &n));
    to[0] = to[1] = m;
    to[2] = i ? g : f;
    to[3] = to[4] = n;
    /* The definition is inside: this array has no result. */
    OK(test_apply_global("ffi.Array", to, 3, &to[5]));
  }
  OK(test_apply_global("ffi.Array", a, 6, &m));
  OK(test_apply_global("ffi.Array", b, 6, &n));
  SAME_STRUCTURE(m, n, 0, 1);
  OK(test_built("ffi.Array", 2, m, m, &m));
  OK(test_built("ffi.Array", 2, n, n, &n));
  SAME_STRUCTURE(m, n, 0, 1);
  for (i = 0; i < 2; ++i) {
    arrays[i] = tvmffi_i_new_array(2, i ? &others : &items);
    OK(arrays[i] ? 0 : -1);
    OWN(arrays[i]);
  }
  items[0] = items[1] = a[5];
  others[0] = others[1] = b[5];
  for (i = 0; i < 2; ++i) {
    tvmffi_retain(a[5].v_obj);
    tvmffi_retain(b[5].v_obj);
  }
  SAME_STRUCTURE(tvmffi_obj(arrays[0]), tvmffi_obj(arrays[1]), 0, 1);
  {
    int64_t h, k;
    OK(test_hash(m, 0, &h));
    OK(test_hash(n, 0, &k));
    CHECK(h == k);
  }
  /* Behind a definition, too, a nest is followed once. */
  OK(test_built("ffi.Map", 2, z, tvmffi_int(5), &m));
  OK(test_built("ffi.Map", 2, z, tvmffi_int(5), &n));
  i = test_scale(40, 12);
  OK(test_shared_nest(tvmffi_here, "ffi.Array", 0, i, m, &m));
  OK(test_shared_nest(tvmffi_here, "ffi.Array", 0, i, n, &n));
  OK(test_built("ffi.Array", 2, f, m, &m));
  OK(test_built("ffi.Array", 2, g, n, &n));
  SAME_STRUCTURE(m, n, 0, 1);
  {
    int64_t h, k;
    OK(test_hash(m, 0, &h));
    OK(test_hash(n, 0, &k));
    CHECK(h == k);
  }
  test_release_all();
  test_structural_stale(variable, function);
  test_structural_turns();
}

/* Keys with one hash have no order, so their values do not count. */
static void test_structural_equal_hashes(TVMFFI_HERE) {
  int32_t tree;
  TVMFFIAny items[4], nodes[3], lists[3];
  int64_t h[3];
  int i;
  STRUCTURAL_TYPE(tree, "unit.Tree", kTVMFFISEqHashKindTreeNode, 0,
                  kTVMFFIFieldFlagBitMaskSEqHashIgnore);
  NODE(nodes[0], tree, tvmffi_int(1), tvmffi_int(2));
  NODE(nodes[1], tree, tvmffi_int(1), tvmffi_int(3));
  for (i = 0; i < 3; ++i) {
    items[0] = nodes[0];
    items[1] = tvmffi_int(i == 1 ? 2 : 1);
    items[2] = nodes[1];
    items[3] = tvmffi_int(i == 1 ? 1 : 2);
    OK(test_apply_global("ffi.Map", items, i == 2 ? 2 : 4, &nodes[2]));
    OK(test_apply_global("ffi.Array", nodes, 3, &lists[i]));
    OK(test_hash(lists[i], 0, &h[i]));
  }
  CHECK(h[0] == h[1]);
  CHECK(h[0] != h[2]);
}

/* An object with one field, a reference. */
typedef struct {
  TVMFFIObject base;
  TVMFFIObject *ref;
} test_ref_object;

static int test_new_ref(int32_t *index, TVMFFIAny value, TVMFFIAny *out) {
  TVMFFIFieldInfo f;
  TVMFFITypeMetadata m;
  TVMFFIObject *o;
  if (*index < 0) {
    *index = test_type(test_fresh("unit.Ref"), -1, 1, 0, 1, kTVMFFIObject);
    if (*index < 0) return -1;
    f = test_field("ref", (int64_t)offsetof(test_ref_object, ref));
    f.size = sizeof(void *);
    f.alignment = sizeof(void *);
    f.getter = tvmffi_i_get_reference;
    f.field_static_type_index = kTVMFFIObject;
    memset((void *)&m, 0, sizeof(m));
    m.total_size = (int32_t)sizeof(test_ref_object);
    m.structural_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
    TVMFFI_TRY(TVMFFITypeRegisterField(*index, &f));
    TVMFFI_TRY(TVMFFITypeRegisterMetadata(*index, &m));
  }
  o = tvmffi_i_new_object(*index, sizeof(test_ref_object));
  if (!o) return -1;
  OWN(o);
  tvmffi_retain(value.v_obj);
  ((test_ref_object *)(void *)o)->ref = value.v_obj;
  *out = tvmffi_obj(o);
  return 0;
}

/* Fields of other getters: one that returns a new reference, and the
   runtime's own for a reference. */
static void test_structural_getters(TVMFFI_HERE) {
  int32_t getter = 0, ref = -1;
  TVMFFIAny lists[3], x, y, n;
  int64_t h, k;
  int i;
  for (i = 0; i < 3; ++i)
    OK(test_built("ffi.List", 2, tvmffi_int(1), tvmffi_int(i / 2), &lists[i]));
  OK(test_getter_type(&getter));
  for (i = 1; i < 3; ++i) {
    OK(test_new_pair(getter, lists[0], tvmffi_int(7), &x));
    OK(test_new_pair(getter, lists[i], tvmffi_int(7), &y));
    SAME_STRUCTURE(x, y, 0, i == 1);
    OK(test_hash(x, 0, &h));
    OK(test_hash(y, 0, &k));
    CHECK((h == k) == (i == 1));
    OK(test_new_ref(&ref, lists[0], &x));
    OK(test_new_ref(&ref, lists[i], &y));
    SAME_STRUCTURE(x, y, 0, i == 1);
    OK(test_hash(x, 0, &h));
    OK(test_hash(y, 0, &k));
    CHECK((h == k) == (i == 1));
  }
  OK(test_new_pair(getter, lists[0], tvmffi_int(7), &x));
  OK(test_new_pair(getter, lists[0], tvmffi_str("s"), &y));
  SAME_STRUCTURE(x, y, 0, 0);
  OK(test_new_pair(getter, lists[0], tvmffi_int(404), &y));
  FAILS(test_same(x, y, 0) < 0, "ValueError", "no value");
  FAILS(test_same(y, x, 0) < 0, "ValueError", "no value");
  FAILS(test_hash(y, 0, &k), "ValueError", "no value");
  OK(test_new_pair(getter, lists[0], tvmffi_none(), &n));
  FAILS(test_same(n, y, 0) < 0, "ValueError", "no value");
  OK(test_built("ffi.Array", 2, x, y, &n));
  FAILS(test_same(n, n, 0) < 0, "ValueError", "no value");
  FAILS(test_hash(n, 0, &k), "ValueError", "no value");
}

static int test_s_equal_unnamed(void *self, const TVMFFIAny *args,
                                int32_t num_args, TVMFFIAny *result) {
  TVMFFIAny next[4];
  (void)self, (void)num_args;
  next[0] = *(const TVMFFIAny *)(const void *)(args[0].v_obj + 1);
  next[1] = *(const TVMFFIAny *)(const void *)(args[1].v_obj + 1);
  next[2] = tvmffi_int(0);
  next[3] = tvmffi_bool(0);
  return TVMFFIFunctionCall(args[2].v_obj, next, 4, result);
}

static void test_structural_refused(TVMFFI_HERE) {
  static TVMFFIObject strange; /* of a type that does not exist */
  int32_t unsupported, unnamed;
  TVMFFIAny a, b, args[4], *items, any;
  int64_t hash;
  STRUCTURAL_TYPE(unsupported, "unit.Unsupported",
                  kTVMFFISEqHashKindUnsupported, 0, 0);
  STRUCTURAL_TYPE(unnamed, "unit.Unnamed", kTVMFFISEqHashKindTreeNode, 0, 0);
  OK(test_set_hook_once(unnamed, "__s_equal__", test_s_equal_unnamed));
  NODE(a, unsupported, tvmffi_int(1), tvmffi_int(2));
  FAILS(test_same(a, a, 0) < 0, "TypeError",
        "_type_s_eq_hash_kind is not set for type `unit.Unsupported`, so "
        "StructuralHash is not supported for this type");
  strange.combined_ref_count = TVMFFI_I_BOTH_ONE;
  strange.type_index = 120;
  any = tvmffi_obj(&strange);
  FAILS(test_hash(any, 0, &hash), "TypeError",
        "Type index 120 is not registered");
  NODE(args[0], unnamed, tvmffi_int(1), tvmffi_int(2));
  NODE(args[1], unnamed, tvmffi_int(2), tvmffi_int(2));
  SAME_STRUCTURE(args[0], args[1], 0, 0);
  args[2] = args[3] = tvmffi_bool(0);
  FAILS(test_apply_global("ffi.GetFirstStructuralMismatch", args, 4, &any),
        "TypeError", "Cannot convert from type `bool` to `str`");
  OK(test_built("ffi.List", 2, tvmffi_int(1), tvmffi_none(), &a));
  OK(test_built("ffi.List", 2, tvmffi_int(1), a, &b));
  items = (TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, a.v_obj)->data;
  items[1] = tvmffi_i_pointer(kTVMFFIList, NULL);
  FAILS(test_same(a, b, 0) < 0, "ValueError", "...an object must not be NULL");
  FAILS(test_same(b, a, 0) < 0, "ValueError", "...an object must not be NULL");
  FAILS(test_hash(a, 0, &hash), "ValueError", "...an object must not be NULL");
}

static void test_structural_errors(TVMFFI_HERE) {
  TVMFFIAny f, pair, found;
  TVMFFIByteArray name = TEXT("ffi.StructuralHash");
  TVMFFIObjectHandle handle = NULL;
  int64_t hash;
  OK(TVMFFIFunctionGetGlobal(&name, &handle));
  OWN(handle);
  f = tvmffi_obj((TVMFFIObject *)handle);
  FAILS(test_same(f, f, 0) < 0, "TypeError",
        "Type metadata is not set for type `ffi.Function`, so StructuralHash "
        "is not supported for this type");
  OK(test_built("ffi.Array", 2, tvmffi_int(1), f, &pair));
  FAILS(test_hash(pair, 0, &hash), "TypeError",
        "Type metadata is not set for type `ffi.Function`, so StructuralHash "
        "is not supported for this type");
  FAILS(test_built("ffi.StructuralKeyEqual", 2, tvmffi_int(1), tvmffi_int(2),
                   &pair),
        "InternalError", "Check not null: lhs_obj ");
  FAILS(test_built("ffi.StructuralKeyEqual", 2, tvmffi_int(1), tvmffi_bool(1),
                   &pair),
        "InternalError", "Check not null: lhs_obj ");
  OK(test_built("ffi.Array", 0, f, f, &pair));
  OK(test_built("ffi.StructuralKey", 1, pair, f, &pair));
  FAILS(test_built("ffi.StructuralKeyEqual", 2, pair, tvmffi_int(2), &f),
        "InternalError", "Check not null: rhs_obj ");
  f = tvmffi_i_pointer(TVMFFI_I_STRUCTURAL_KEY, NULL);
  FAILS(test_built("ffi.StructuralKeyEqual", 2, pair, f, &found),
        "InternalError", "Check not null: rhs_obj ");
  FAILS(test_built("ffi.StructuralKeyEqual", 2, f, pair, &found),
        "InternalError", "Check not null: lhs_obj ");
}

/* A tensor of four numbers, which the test owns. What lies behind the shape is
   another number for each. */
typedef struct {
  DLManagedTensor managed;
  int64_t shape[2], behind, strides[2];
  int32_t data[4];
} test_numbers_tensor;

static int test_numbers_tensor_of(test_numbers_tensor *m, int32_t ndim,
                                  TVMFFIAny *out) {
  static const int32_t data[4] = {1, 2, 3, 4};
  static int64_t num_made;
  TVMFFIObjectHandle tensor = NULL;
  memset((void *)m, 0, sizeof(*m));
  memcpy(m->data, data, sizeof(data));
  m->managed.dl_tensor.data = m->data;
  m->managed.dl_tensor.device.device_type = kDLCPU;
  m->managed.dl_tensor.ndim = ndim;
  m->managed.dl_tensor.dtype.code = kDLInt;
  m->managed.dl_tensor.dtype.bits = 32;
  m->managed.dl_tensor.dtype.lanes = 1;
  m->managed.dl_tensor.shape = m->shape;
  m->managed.dl_tensor.strides = m->strides;
  m->shape[0] = m->shape[1] = ndim == 1 ? 4 : 2;
  m->behind = ++num_made;
  m->strides[0] = ndim == 1 ? 1 : 2;
  m->strides[1] = 1;
  TVMFFI_TRY(TVMFFITensorFromDLPack(&m->managed, 0, 0, &tensor));
  OWN(tensor);
  *out = tvmffi_obj((TVMFFIObject *)tensor);
  return 0;
}

static void test_structural_keys(TVMFFI_HERE) {
  TVMFFIAny a, b, c, x, y, map, found;
  OK(test_built("ffi.Array", 1, tvmffi_int(1), tvmffi_none(), &a));
  OK(test_built("ffi.Array", 1, tvmffi_int(1), tvmffi_none(), &b));
  OK(test_built("ffi.StructuralKey", 1, a, a, &x));
  OK(test_apply_attr(137, "__ffi_init__", &b, 1, &y));
  OK(test_built("ffi.StructuralKeyEqual", 2, x, y, &found));
  CHECK_INT(found.v_int64, 1);
  OK(test_built("ffi.StructuralKey", 1, tvmffi_int(1), a, &c));
  OK(test_built("ffi.StructuralKeyEqual", 2, x, c, &found));
  CHECK_INT(found.v_int64, 0);
  OK(test_built("ffi.Map", 2, x, tvmffi_int(5), &map));
  OK(test_built("ffi.MapGetItem", 2, map, y, &found));
  CHECK_INT(found.v_int64, 5);
  {
    /* A map's hash leaves out what is under a variable, so these hashes are
       equal. The keys differ: no variable in them is defined, and the data of
       tensors counts. */
    static test_numbers_tensor tensors[2];
    TVMFFIAny v[3], values[2], keys[2];
    int32_t variable;
    int i, k;
    STRUCTURAL_TYPE(variable, "unit.Var", kTVMFFISEqHashKindFreeVar, 0, 0);
    for (i = 0; i < 3; ++i)
      NODE(v[i], variable, tvmffi_int(1), tvmffi_none());
    for (k = 0; k < 2; ++k) {
      for (i = 0; i < 2; ++i) {
        values[i] = v[i];
        if (k) OK(test_numbers_tensor_of(&tensors[i], 1, &values[i]));
        if (k) tensors[i].data[0] = i;
        OK(test_built("ffi.Map", 2, v[2], values[i], &map));
        OK(test_built("ffi.StructuralKey", 1, map, map, &keys[i]));
      }
      OK(test_built("ffi.StructuralKeyEqual", 2, keys[0], keys[1], &found));
      CHECK_INT(found.v_int64, 0);
    }
  }
}

/* Makes two equal keys that the test owns. */
static int test_two_keys(int k, TVMFFIAny *key) {
  TVMFFIAny number = tvmffi_int(k), array;
  int side;
  for (side = 0; side < 2; ++side) {
    TVMFFI_TRY(test_built("ffi.Array", 1, number, number, &array));
    TVMFFI_TRY(test_built("ffi.StructuralKey", 1, array, array, &key[side]));
  }
  return 0;
}

/* Looks a key up in a hash table that has it, with either value, or not. */
static void test_structural_key_in_table(int k) {
  TVMFFIAny key[2], items[16], other[16], a, b;
  int i;
  OK(test_two_keys(k, key));
  for (i = 0; i < 16; ++i) items[i] = other[i] = tvmffi_int(i / 2);
  items[14] = key[0];
  OK(test_apply_global("ffi.Map", items, 16, &a));
  OK(test_apply_global("ffi.Map", other, 16, &b));
  SAME_STRUCTURE(a, b, 0, 0);
  other[0] = key[1];
  other[1] = tvmffi_int(7);
  other[14] = other[15] = tvmffi_int(0);
  OK(test_apply_global("ffi.Map", other, 16, &b));
  SAME_STRUCTURE(a, b, 0, 1);
  other[1] = tvmffi_int(8);
  OK(test_apply_global("ffi.Map", other, 16, &b));
  SAME_STRUCTURE(a, b, 0, 0);
}

/* Keys among others, in small and large maps, and absent from them. */
static void test_structural_mixed_keys(TVMFFI_HERE) {
  TVMFFIAny key[2], items[4], other[4], a, b, args[4], pair;
  int k;
  for (k = 0; k < 12; ++k) {
    test_structural_key_in_table(k);
    test_release_all();
  }
  OK(test_two_keys(k, key));
  items[0] = key[0];
  items[1] = other[3] = tvmffi_int(5);
  items[2] = other[0] = tvmffi_int(1);
  items[3] = other[1] = tvmffi_int(6);
  other[2] = key[1];
  OK(test_apply_global("ffi.Map", items, 4, &a));
  OK(test_apply_global("ffi.Map", other, 4, &b));
  SAME_STRUCTURE(a, b, 0, 1);
  OK(test_apply_global("ffi.Map", NULL, 0, &b));
  args[0] = a;
  args[1] = b;
  args[2] = args[3] = tvmffi_bool(0);
  OK(test_apply_global("ffi.GetFirstStructuralMismatch", args, 4, &pair));
  CHECK_INT(test_only_step(pair.v_obj, 0, &a), TVMFFI_I_STEP_MAP_ITEM);
  CHECK_INT(test_only_step(pair.v_obj, 1, &a), TVMFFI_I_STEP_MAP_ITEM_MISSING);
  CHECK(a.v_obj == key[0].v_obj);
}

/* A key in a key in a key is compared by calls that nest. */
static void test_structural_deep_keys(TVMFFI_HERE) {
  TVMFFIAny key[2], pair;
  int side, i, n = test_scale(TVMFFI_I_MAX_NESTING + 1, 5);
  for (side = 0; side < 2; ++side) {
    key[side] = tvmffi_int(1);
    for (i = 0; i < n; ++i) {
      OK(tvmffi_call(tvmffi_str("ffi.Map"), tvmffi_out_any(&pair), key[side],
                     tvmffi_int(1)));
      OK(tvmffi_call(tvmffi_str("ffi.StructuralKey"),
                     tvmffi_out_any(&key[side]), pair));
    }
  }
  test_forget_stack();
  if (n > TVMFFI_I_MAX_NESTING)
    FAILS(test_built("ffi.StructuralKeyEqual", 2, key[0], key[1], &pair),
          "RecursionError", TEST_TOO_MANY);
  CHECK_INT(tvmffi_i_thread_nesting()->count, 0);
  test_find_stack();
  if (TVMFFI_I_STACK_KNOWN || n < TVMFFI_I_MAX_NESTING) {
    OK(test_built("ffi.StructuralKeyEqual", 2, key[0], key[1], &pair));
    CHECK_INT(pair.v_int64, 1);
  }
}

/* Makes two keys (the test owns them) around `node`, nested `depth` deep. They
   have the same hash and differ. On each level, both have both keys of the
   level below in a container. A `Dict` also has the keys 1 to 4, so that it has
   a hash table. */
static int test_nested_keys(const char *name, int depth, int32_t index,
                            TVMFFIAny key[2]) {
  TVMFFIAny args[12], map[2];
  int32_t i, side, n = name[4] == 'D' ? 12 : 4;
  for (i = 0; i < 2; ++i) {
    TVMFFIAny node = test_node(index, tvmffi_int(i), tvmffi_none());
    if (node.type_index == kTVMFFINone) return -1;
    TVMFFI_TRY(test_built("ffi.StructuralKey", 1, node, node, &key[i]));
  }
  for (; depth > 0; --depth) {
    for (i = 0; i < n; ++i) args[i] = tvmffi_int(i / 2 - 1);
    for (side = 0; side < 2; ++side) {
      args[0] = key[0];
      args[1] = tvmffi_int(side);
      args[2] = key[1];
      args[3] = tvmffi_int(!side);
      TVMFFI_TRY(test_apply_global(name, args, n, &map[side]));
    }
    for (side = 0; side < 2; ++side)
      TVMFFI_TRY(test_built("ffi.StructuralKey", 1, map[side], map[side],
                            &key[side]));
  }
  return 0;
}

/* However many paths lead to a pair of keys, they are compared once. */
static void test_structural_nested(const char *name) {
  TVMFFIAny x[2], y[2], map[2], found;
  int32_t index;
  int k, depth = 5;
  OK(test_structural_hooked(&index));
  OK(test_nested_keys(name, depth, index, x));
  OK(test_nested_keys(name, depth, index, y));
  for (k = 0; k < 2; ++k) {
    test_num_s_equal = 0;
    OK(test_built("ffi.StructuralKeyEqual", 2, x[k], y[0], &found));
    CHECK_INT(found.v_int64, k == 0);
    CHECK_INT(test_num_s_equal, 2);
    test_num_s_equal = 0;
    OK(test_built("ffi.Map", 2, x[0], tvmffi_int(1), &map[0]));
    OK(test_built("ffi.Map", 2, y[k], tvmffi_int(1), &map[1]));
    SAME_STRUCTURE(map[0], map[1], 0, k == 0);
    CHECK_INT(test_num_s_equal, 2);
  }
}

static void test_structural_nested_in_maps(TVMFFI_HERE) {
  test_structural_nested("ffi.Map");
}

static void test_structural_nested_in_dicts(TVMFFI_HERE) {
  test_structural_nested("ffi.Dict");
}

static void test_structural_tensors(TVMFFI_HERE) {
  static test_numbers_tensor one, other,
      flat; /* which live until the test ends */
  TVMFFIAny args[4], hashes[2], result, x;
  DLTensor *t;
  int64_t h, k;
  int i;
  OK(test_numbers_tensor_of(&one, 2, &args[0]));
  OK(test_numbers_tensor_of(&other, 2, &args[1]));
  OK(test_numbers_tensor_of(&flat, 1, &x));
  SAME_STRUCTURE(args[0], args[0], 0, 1);
  SAME_STRUCTURE(args[0], args[1], 0, 1);
  SAME_STRUCTURE(args[0], x, 0, 0);
  flat.shape[0] = 2; /* a vector that is as long as the matrix is high */
  SAME_STRUCTURE(x, args[0], 0, 0);
  OK(test_hash(args[0], 0, &h));
  OK(test_hash(args[1], 0, &k));
  CHECK(h == k);
  LITTLE_HASH(args[0], 0, -8928044327771556920); /* upstream's, too */
  other.data[3] = 5;
  SAME_STRUCTURE(args[0], args[1], 0, 0);
  OK(test_hash(args[1], 0, &k));
  CHECK(h != k);
  /* Without a look at the content. */
  args[2] = tvmffi_bool(0);
  args[3] = tvmffi_bool(1);
  OK(test_apply_global("ffi.StructuralEqual", args, 4, &result));
  CHECK_INT(result.v_int64, 1);
  t = TVMFFITensorGetDLTensorPtr(args[1].v_obj);
  t->dtype.bits = 16;
  OK(test_apply_global("ffi.StructuralEqual", args, 4, &result));
  CHECK_INT(result.v_int64, 0);
  t->dtype.bits = 32;
  t->dtype.code = kDLUInt;
  SAME_STRUCTURE(args[0], args[1], 0, 0);
  t->dtype.code = kDLInt;
  t->dtype.lanes = 2;
  SAME_STRUCTURE(args[0], args[1], 0, 0);
  t->dtype.lanes = 1;
  t->shape[0] = 1;
  SAME_STRUCTURE(args[0], args[1], 0, 0);
  t->shape[0] = 2;
  t->data = NULL;
  FAILS(test_same(args[0], args[1], 0) < 0, "ValueError",
        "Cannot compare a tensor without data");
  FAILS(test_same(args[1], args[0], 0) < 0, "ValueError",
        "Cannot compare a tensor without data");
  one.shape[0] = other.shape[0] = 0; /* no bytes, so none differ */
  SAME_STRUCTURE(args[0], args[1], 0, 1);
  one.shape[0] = other.shape[0] = 2;
  t->data = other.data;
  t->shape[0] = (int64_t)1 << 30;
  t->shape[1] = t->strides[0] = (int64_t)1 << 32;
  FAILS(test_hash(args[1], 0, &k), "ValueError",
        "Cannot hash a tensor of more bytes than memory has");
  t->shape[0] = t->shape[1] = t->strides[0] = 2;
  for (i = 0; i < 2; ++i) {
    TVMFFIAny skips[3];
    skips[0] = args[i];
    skips[1] = tvmffi_bool(0);
    skips[2] = tvmffi_bool(1);
    OK(test_apply_global("ffi.StructuralHash", skips, 3, &hashes[i]));
  }
  CHECK(hashes[0].v_int64 == hashes[1].v_int64);
  if (sizeof(void *) == 8 && tvmffi_int(1).v_bytes[0])
    CHECK_INT(hashes[0].v_int64, 5983373821381510563);
  t->strides[0] = 4;
  FAILS(test_same(args[0], args[1], 0) < 0, "InternalError",
        "Can only compare contiguous tensor");
  t->strides[0] = 2;
  t->device.device_type = kDLCUDA;
  FAILS(test_same(args[0], args[1], 0) < 0, "InternalError",
        "can only compare CPU tensor");
  FAILS(test_same(args[1], args[0], 0) < 0, "InternalError",
        "can only compare CPU tensor");
  FAILS(test_hash(args[1], 0, &k), "InternalError", "can only hash CPU tensor");
  SAME_STRUCTURE(args[1], args[1], 0, 1); /* nothing is read */
  OK(test_built("ffi.List", 2, args[0], args[1], &x));
  OK(test_apply_global("ffi.ContainerFindFirstNonCPUDevice", &x, 1, &result));
  CHECK_INT(result.v_device.device_type, kDLCUDA);
  t->device.device_type = kDLCPU;
}

/* Makes four strings and bytes of the same content, which the test owns. */
static int test_make_texts(TVMFFIAny *strings, TVMFFIAny *bytes) {
  static const char *const texts[] = {"a\0", "a\0", "longer than eight",
                                      "longer than eighT"};
  TVMFFIByteArray text;
  int i;
  for (i = 0; i < 4; ++i) {
    text.data = texts[i];
    text.size = i > 1 ? 17 : (size_t)i + 1;
    TVMFFI_TRY(TVMFFIStringFromByteArray(&text, &strings[i]));
    OWN_ANY(strings[i]);
    TVMFFI_TRY(TVMFFIBytesFromByteArray(&text, &bytes[i]));
    OWN_ANY(bytes[i]);
  }
  return 0;
}

/* Compares two of them as values, and as keys and values of maps. The first two
   differ by a NUL at the end, which does not change upstream's hash on
   little-endian machines. */
static void test_structural_two_texts(int i, int n) {
  const int any_hash = i + n == 1;
  TVMFFIAny s[4], b[4], x, y;
  int64_t h, k;
  OK(test_make_texts(s, b));
  SAME_STRUCTURE(s[i], s[n], 0, i == n);
  SAME_STRUCTURE(b[i], b[n], 0, i == n);
  SAME_STRUCTURE(s[i], b[n], 0, 0);
  OK(test_built("ffi.Map", 2, s[i], b[i], &x));
  OK(test_built("ffi.Map", 2, s[i], b[n], &y));
  SAME_STRUCTURE(x, y, 0, i == n);
  OK(test_built("ffi.Map", 2, b[i], s[i], &x));
  OK(test_built("ffi.Map", 2, b[n], s[n], &y));
  SAME_STRUCTURE(x, y, 0, i == n);
  OK(test_hash(x, 0, &h));
  OK(test_hash(y, 0, &k));
  CHECK(any_hash || (h == k) == (i == n));
  OK(test_built("ffi.Map", 2, s[i], s[i], &x));
  OK(test_built("ffi.Map", 2, s[n], s[n], &y));
  OK(test_hash(x, 0, &h));
  OK(test_hash(y, 0, &k));
  CHECK(any_hash || (h == k) == (i == n));
  OK(test_built("ffi.Map", 2, s[1], s[i], &x));
  OK(test_built("ffi.Map", 2, s[1], s[n], &y));
  SAME_STRUCTURE(x, y, 0, i == n);
}

static void test_structural_texts(TVMFFI_HERE) {
  TVMFFIAny s[4], b[4], x, y, args[4], pair;
  int64_t h, k;
  int i;
  for (i = 0; i < 16; ++i) {
    test_structural_two_texts(i / 4, i % 4);
    test_release_all();
  }
  OK(test_make_texts(s, b));
  x = tvmffi_str("a text of some length"); /* which the comparison copies */
  SAME_STRUCTURE(x, x, 0, 1);
  OK(test_hash(x, 0, &h));
  OK(test_hash(b[2], 0, &h));
  OK(test_hash(s[2], 0, &k));
  CHECK(h != k);
  /* Only the first map has this key, and it is the last one. */
  args[0] = s[0];
  args[1] = args[3] = tvmffi_int(1);
  args[2] = s[2];
  OK(test_apply_global("ffi.Map", args, 4, &x));
  OK(test_apply_global("ffi.Map", args, 2, &y));
  args[0] = x;
  args[1] = y;
  args[2] = args[3] = tvmffi_bool(0);
  OK(test_apply_global("ffi.GetFirstStructuralMismatch", args, 4, &pair));
  CHECK_INT(test_only_step(pair.v_obj, 0, &x), TVMFFI_I_STEP_MAP_ITEM);
  CHECK_INT(test_only_step(pair.v_obj, 1, &x), TVMFFI_I_STEP_MAP_ITEM_MISSING);
  CHECK_TEXT(tvmffi_any_str(&x), "longer than eight");
}

/* The key that only the second map has is found behind a key that corresponds
   to a variable of the first map. */
static void test_structural_missing_key(void) {
  int32_t variable, function;
  TVMFFIAny x, y, items[6], args[4], pair;
  const tvmffi_i_path *path;
  int i;
  STRUCTURAL_TYPE(variable, "unit.Var", kTVMFFISEqHashKindFreeVar, 0, 0);
  STRUCTURAL_TYPE(function, "unit.Lambda", kTVMFFISEqHashKindTreeNode,
                  kTVMFFIFieldFlagBitMaskSEqHashDefSimple, 0);
  NODE(x, variable, tvmffi_int(1), tvmffi_none());
  NODE(y, variable, tvmffi_int(1), tvmffi_none());
  args[2] = args[3] = tvmffi_bool(0);
  for (i = 0; i < 2; ++i) { /* or the value under the variable differs */
    items[0] = x;
    items[1] = items[3] = items[5] = tvmffi_int(1);
    items[2] = tvmffi_int(7);
    items[4] = tvmffi_int(8);
    OK(test_apply_global("ffi.Map", items, 2, &args[0]));
    NODE(args[0], function, x, args[0]);
    items[0] = y;
    if (i) items[1] = tvmffi_int(2);
    OK(test_apply_global("ffi.Map", items, 6, &args[1]));
    NODE(args[1], function, y, args[1]);
    OK(test_apply_global("ffi.GetFirstStructuralMismatch", args, 4, &pair));
    path = (const tvmffi_i_path *)(void *)test_item(pair.v_obj, 1);
    CHECK_INT(path->depth, 2);
    items[0] = ((tvmffi_i_step *)(void *)path->step)->key;
    CHECK(i ? items[0].v_obj == y.v_obj : items[0].v_int64 == 7);
  }
}

/* A number is no object, also if it is the address of one. */
static void test_structural_addresses(void) {
  int32_t variable, function;
  TVMFFIAny v[2], items[4], f[2];
  int i;
  STRUCTURAL_TYPE(variable, "unit.Var", kTVMFFISEqHashKindFreeVar, 0, 0);
  STRUCTURAL_TYPE(function, "unit.Lambda", kTVMFFISEqHashKindTreeNode,
                  kTVMFFIFieldFlagBitMaskSEqHashDefSimple, 0);
  for (i = 0; i < 2; ++i) NODE(v[i], variable, tvmffi_int(1), tvmffi_none());
  for (i = 0; i < 2; ++i) {
    items[0] = items[2] = tvmffi_int((int64_t)(uintptr_t)v[0].v_obj);
    items[i ? 0 : 2] = tvmffi_int(1);
    items[1] = items[3] = tvmffi_int(5);
    OK(test_apply_global("ffi.Map", items, 4, &f[i]));
    NODE(f[i], function, v[i], f[i]);
  }
  SAME_STRUCTURE(f[0], f[1], 0, 1);
}

/* Values that are compared and hashed by what they hold. */
static void test_structural_contents(TVMFFI_HERE) {
  TVMFFIAny a, b, c, x, y, key = tvmffi_none();
  int64_t h, k;
  int i;
  OK(test_built("ffi.Shape", 2, tvmffi_int(2), tvmffi_int(3), &a));
  OK(test_built("ffi.Shape", 2, tvmffi_int(2), tvmffi_int(3), &b));
  OK(test_built("ffi.Shape", 2, tvmffi_int(2), tvmffi_int(4), &c));
  SAME_STRUCTURE(a, b, 0, 1);
  SAME_STRUCTURE(a, c, 0, 0);
  OK(test_hash(a, 0, &h));
  OK(test_hash(b, 0, &k));
  CHECK(h == k);
  OK(test_built("ffi.Shape", 1, tvmffi_int(2), tvmffi_none(), &c));
  SAME_STRUCTURE(a, c, 0, 0);
  SAME_STRUCTURE(test_double((uint64_t)0x7FF8 << 48),
                 test_double((uint64_t)0xFFF1 << 48), 0, 1);
  SAME_STRUCTURE(test_double((uint64_t)0x7FF8 << 48), test_double(0), 0, 0);
  SAME_STRUCTURE(test_double(0), test_double((uint64_t)0x7FF8 << 48), 0, 0);
  HASH(test_double(0), tvmffi_i_hash_combine(kTVMFFIFloat, 0));
  OK(test_bigint(&a, 1, 2, 3));
  OK(test_bigint(&b, 1, 2, 3));
  OK(test_bigint(&c, 1, 2, 4));
  SAME_STRUCTURE(a, b, 0, 1);
  SAME_STRUCTURE(a, c, 0, 0);
  OK(test_hash(a, 0, &h));
  OK(test_hash(b, 0, &k));
  CHECK(h == k);
  OK(test_hash(c, 0, &k));
  CHECK(h != k);
  OK(test_built("ffi.Map", 2, a, tvmffi_int(1), &x));
  OK(test_built("ffi.Map", 2, b, tvmffi_int(1), &y));
  SAME_STRUCTURE(x, y, 0, 1);
  OK(test_hash(x, 0, &h));
  OK(test_hash(y, 0, &k));
  CHECK(h == k);
  /* An empty dict is the first thing that is hashed. */
  OK(test_built("ffi.Dict", 0, a, a, &x));
  OK(test_built("ffi.Dict", 0, a, a, &y));
  OK(test_hash(x, 0, &h));
  OK(test_hash(y, 0, &k));
  CHECK(h == k);
  SAME_STRUCTURE(x, y, 0, 1);
  /* Only the second map has this key. */
  OK(test_built("ffi.Map", 0, a, a, &x));
  OK(test_built("ffi.Map", 2, tvmffi_int(7), tvmffi_int(1), &y));
  {
    TVMFFIAny args[4], pair;
    args[0] = x;
    args[1] = y;
    args[2] = args[3] = tvmffi_bool(0);
    OK(test_apply_global("ffi.GetFirstStructuralMismatch", args, 4, &pair));
    CHECK_INT(test_only_step(pair.v_obj, 0, &key),
              TVMFFI_I_STEP_MAP_ITEM_MISSING);
    CHECK_INT(test_only_step(pair.v_obj, 1, &key), TVMFFI_I_STEP_MAP_ITEM);
    CHECK_INT(key.v_int64, 7);
  }
  test_structural_missing_key();
  test_structural_addresses();
  /* A value that is compared at once is not the last one; a bool is no int. */
  for (i = 0; i < 2; ++i) {
    TVMFFIAny items[4];
    items[0] = tvmffi_int(1);
    items[1] = i ? b : a;
    items[2] = tvmffi_int(2);
    items[3] = i ? tvmffi_bool(1) : tvmffi_int(1);
    OK(test_apply_global("ffi.Map", items, 4, i ? &y : &x));
  }
  SAME_STRUCTURE(x, y, 0, 0);
}

/* Maps are equal in any order, and have one hash, however many entries. */
static void test_structural_orders(TVMFFI_HERE) {
  static const char *const names[] = {"ffi.Map", "ffi.Dict"};
  enum { ENTRIES = 40 };
  TVMFFIAny views[2][2 * ENTRIES], last;
  TVMFFIObject *map[3];
  int64_t h, k;
  int i, kind;
  for (kind = 0; kind < 2; ++kind) {
    TVMFFIAny item = tvmffi_int(6);
    SEQUENCE(list, "List", &item, 1);
    for (i = 0; i < ENTRIES; ++i) {
      int other = ENTRIES - 1 - i;
      views[0][2 * i] = views[1][2 * other] = tvmffi_int(i);
      views[0][2 * i + 1] = views[1][2 * other + 1] =
          i % 3 ? tvmffi_str("v") : tvmffi_obj(list);
    }
    for (i = 0; i < 3; ++i) {
      if (i == 2) views[1][1] = tvmffi_int(-1);
      map[i] = test_sequence(names[kind], views[i > 0], 2 * ENTRIES);
      if (!map[i]) return;
    }
    SAME_STRUCTURE(tvmffi_obj(map[0]), tvmffi_obj(map[1]), 0, 1);
    SAME_STRUCTURE(tvmffi_obj(map[0]), tvmffi_obj(map[2]), 0, 0);
    /* in the same order, too */
    views[0][2 * ENTRIES - 1] = tvmffi_int(-1);
    map[0] = test_sequence(names[kind], views[0], 2 * ENTRIES);
    if (!map[0]) return;
    SAME_STRUCTURE(tvmffi_obj(map[2]), tvmffi_obj(map[0]), 0, 1);
    OK(test_hash(tvmffi_obj(map[0]), 0, &h));
    OK(test_hash(tvmffi_obj(map[2]), 0, &k));
    CHECK(h == k);
    item = tvmffi_obj(list);
    OK(test_built("ffi.List", 1, item, item, &last));
    OK(test_hash(last, 0, &h));
    SAME_STRUCTURE(last, last, 0, 1);
  }
}

/* Objects of the type ffi.Object, whose index is the lowest of all objects, are
   no plain values. */
static void test_structural_plain(TVMFFI_HERE) {
#define NO_KIND "_type_s_eq_hash_kind is not set for type `ffi.Object`, so "
  TVMFFIAny x[2], args[4], whole[4], any, other;
  int64_t h, k;
  int32_t index;
  int i;
  for (i = 0; i < 2; ++i) {
    TVMFFIObject *o = (TVMFFIObject *)tvmffi_i_object(
        sizeof(*o), kTVMFFIObject, tvmffi_i_delete_plain);
    OK(o ? 0 : -1);
    OWN(o);
    x[i] = tvmffi_obj(o);
  }
  OK(test_apply_global("ffi.RecursiveEq", x, 2, &any));
  CHECK_INT(any.v_int64, 1); /* without fields nothing differs */
  OK(test_apply_global("ffi.RecursiveHash", &x[0], 1, &any));
  OK(test_apply_global("ffi.RecursiveHash", &x[1], 1, &other));
  CHECK(any.v_int64 == other.v_int64);
  whole[0] = x[0];
  OK(test_built("ffi.Array", 2, x[0], x[1], &whole[1]));
  OK(test_built("ffi.Map", 2, tvmffi_int(1), x[1], &whole[2]));
  STRUCTURAL_TYPE(index, "unit.OfPlain", kTVMFFISEqHashKindTreeNode, 0, 0);
  NODE(whole[3], index, x[0], tvmffi_none());
  for (i = 0; i < 4; ++i) {
    FAILS(test_same(whole[i], whole[i], 0) < 0, "TypeError",
          NO_KIND "StructuralHash is not supported for this type");
    FAILS(test_hash(whole[i], 0, &h), "TypeError",
          NO_KIND "StructuralHash is not supported for this type");
    if (i == 3) break;
    FAILS(test_apply_global("ffi.DeepCopy", &whole[i], 1, &any),
          "InternalError",
          "Cannot deep copy object of type \"ffi.Object\" because it is not "
          "copy-constructible");
    args[0] = whole[i];
    args[1] = tvmffi_none();
    FAILS(test_apply_global("ffi.ToJSONGraph", args, 2, &any), "TypeError",
          "Type `ffi.Object` does not support ToJSONGraph (no native creator "
          "or __ffi_new__ type attr)");
  }
  OK(test_apply_global("ffi.ReprPrint", &whole[1], 1, &any));
  CHECK_TEXT(tvmffi_any_str(&any), "(ffi.Object, ffi.Object)");
  /* The hash of a map leaves such keys out. */
  OK(test_built("ffi.Map", 2, x[1], x[0], &args[0]));
  OK(test_hash(args[0], 0, &h));
  OK(test_built("ffi.Map", 2, x[0], x[1], &args[0]));
  OK(test_hash(args[0], 0, &k));
  CHECK(h == k);
  args[1] = x[0];
  OK(test_apply_global("ffi.MapGetItem", args, 2, &any));
  CHECK(any.v_obj == x[1].v_obj);
  args[1] = x[1];
  FAILS(test_apply_global("ffi.MapGetItem", args, 2, &any), "KeyError", NULL);
#undef NO_KIND
}
#endif /* !TEST_NO_REFLECTION && !TVMFFI_NO_EXTRA */

static const test_case test_structural_cases[] = {
#if !TEST_NO_REFLECTION && !TVMFFI_NO_EXTRA
    {"structural: hashes", test_structural_hashes},
    {"structural: kinds of types", test_structural_kinds},
    {"structural: graphs", test_structural_graphs},
    {"structural: variables", test_structural_variables},
    {"structural: maps", test_structural_maps},
    {"structural: where values differ", test_structural_mismatch},
    {"structural: hooks", test_structural_hooks},
    {"structural: variables with hooks", test_structural_hooked_variables},
    {"structural: hooks that catch", test_caught_structural},
    {"structural: hooks that fail", test_structural_failing},
    {"structural: hooks that change what is compared", test_structural_changes},
    {"structural: dicts that change in size", test_structural_sizes},
    {"structural: a dict that its keys empty", test_structural_emptied},
    {"structural: depth", test_structural_depth},
    {"structural: shared parts", test_structural_shared},
    {"structural: shared objects", test_structural_shared_objects},
    {"structural: shared maps with objects as keys",
     test_structural_shared_keys},
    {"structural: results that depend on a key", test_structural_loose},
    {"structural: keys with one hash", test_structural_equal_hashes},
    {"structural: plain objects", test_structural_plain},
    {"structural: getters", test_structural_getters},
    {"structural: errors", test_structural_errors},
    {"structural: refused values", test_structural_refused},
    {"structural: keys", test_structural_keys},
    {"structural: keys among others", test_structural_mixed_keys},
    {"structural: keys in keys", test_structural_deep_keys},
    {"structural: nested keys in maps", test_structural_nested_in_maps},
    {"structural: nested keys in dicts", test_structural_nested_in_dicts},
    {"structural: tensors", test_structural_tensors},
    {"structural: contents", test_structural_contents},
    {"structural: texts", test_structural_texts},
    {"structural: maps in any order", test_structural_orders},
#endif
    {NULL, NULL}};
