/* ======== Functions: arguments that only the built-in functions read ====== */

#pragma once

#include "harness.h"
#include "access_path.h"
#include "apply.h"
#include "visit.h"

#if !TVMFFI_NO_EXTRA && !TEST_NO_REFLECTION && !TEST_NO_TYPES
/* Calls FindAccessPaths while the object of `slot` is NULL, as a faulty client
   may write it, and expects a ValueError. */
static void test_null_child(TVMFFIObject *root, TVMFFIObject *context,
                            TVMFFIAny *slot) {
  TVMFFIObject *object = slot->v_obj;
  TVMFFIAny args[3], any;
  int code;
  args[0] = tvmffi_obj(root);
  args[1] = tvmffi_obj(context);
  args[2] = tvmffi_bool(0);
  slot->v_obj = NULL;
  code =
      test_apply_global("ffi.VisitErrorContext.FindAccessPaths", args, 3, &any);
  slot->v_obj = object;
  FAILS(code, "ValueError", "...any_view->v_obj");
}

static void test_null_children(TVMFFI_HERE) {
  NODE_TYPE(plain, kTVMFFISEqHashKindTreeNode, 0);
  TVMFFIAny items[2], map;
  TVMFFIObject *context;
  tvmffi_i_pair *pair;
  TVMFFIAny *slot;
  VISIT_NODE(target, plain, tvmffi_int(1), tvmffi_none());
  items[0] = items[1] = tvmffi_obj(target);
  OK(test_apply_global("ffi.Map", items, 2, &map));
  context = test_context(items, 1);
  if (!context) return;
  {
    SEQUENCE(list, "List", items, 1);
    VISIT_NODE(root, plain, tvmffi_obj(list), map);
    test_path_count(root, context, 2);
    test_null_child(root, context, (TVMFFIAny *)test_cell(list)->data);
    pair = tvmffi_i_map_pair(map.v_obj, tvmffi_i_map_begin(map.v_obj));
    test_null_child(root, context, &pair->key);
    test_null_child(root, context, &pair->value);
    /* A NULL object in the context is left out, so the search has no aim. */
    slot = (TVMFFIAny *)test_cell(
               ((tvmffi_i_error_context *)(void *)context)->pattern)
               ->data;
    slot->v_obj = NULL;
    test_path_count(root, context, 0);
    slot->v_obj = target;
  }
}

/* Paths that lead through a part of a context's objects, keys that no path can
   name, and a context with other values. */
static void test_path_search(TVMFFI_HERE) {
  NODE_TYPE(plain, kTVMFFISEqHashKindTreeNode, 0);
  TVMFFIAny items[4], args[3], map, any;
  TVMFFIObject *context, **pattern;
  VISIT_NODE(target, plain, tvmffi_int(1), tvmffi_none());
  VISIT_NODE(other, plain, tvmffi_int(2), tvmffi_none());
  VISIT_NODE(inner, plain, tvmffi_obj(other), tvmffi_none());
  items[0] = tvmffi_none(); /* a path has no step to this key */
  items[1] = tvmffi_obj(target);
  items[2] = tvmffi_int(5);
  items[3] = tvmffi_obj(inner);
  OK(test_apply_global("ffi.Map", items, 4, &map));
  VISIT_NODE(root, plain, map, tvmffi_none());
  items[0] = tvmffi_none();
  items[1] = items[2] = tvmffi_obj(target);
  items[3] = tvmffi_obj(inner);
  context = test_context(items, 4);
  if (!context) return;
  test_path_count(root, context, 0);
  args[0] = tvmffi_obj(root);
  args[1] = tvmffi_obj(context);
  args[2] = tvmffi_bool(1);
  OK(test_apply_global("ffi.VisitErrorContext.FindAccessPaths", args, 3, &any));
  CHECK_INT(test_cell(any.v_obj)->size, 1);
  pattern = &((tvmffi_i_error_context *)(void *)context)->pattern;
  tvmffi_release(*pattern);
  *pattern = NULL;
  test_path_count(root, context, 0);
}

/* Copies, conversions and hooks of built-in types get arguments that only a
   faulty client passes. */
static void test_bad_hook_calls(TVMFFI_HERE) {
  NODE_TYPE(plain, kTVMFFISEqHashKindTreeNode, 0);
  const int32_t step = TVMFFI_I_ACCESS_STEP;
  const char *copy = "__ffi_shallow_copy__";
  TVMFFIAny null = tvmffi_i_pointer(kTVMFFIObject, NULL), one = tvmffi_int(1);
  TVMFFIAny any, number, words = tvmffi_none();
  TVMFFIByteArray bits = {"\1\2\3\4\5\6\7\0\1\2\3\4\5\6\7", 16};
  VISIT_NODE(node, plain, one, one);
  number = tvmffi_obj(node);
  FAILS(test_apply_attr(step, copy, NULL, 0, &any), "TypeError",
        "...number of arguments");
  FAILS(test_apply_attr(step, copy, &one, 1, &any), "TypeError", "...int");
  FAILS(test_apply_attr(step, copy, &null, 1, &any), "TypeError", NULL);
  FAILS(test_apply_attr(step, copy, &number, 1, &any), "TypeError", NULL);
  FAILS(test_apply_attr(plain, copy, &one, 1, &any), "TypeError", "...int");
  FAILS(test_apply_attr(plain, copy, &null, 1, &any), "TypeError", NULL);
  OK(test_apply_global("ffi.GetKwargsObject", NULL, 0, &number));
  FAILS(test_apply_attr(plain, copy, &number, 1, &any), "TypeError", NULL);
  FAILS(test_apply_attr(kTVMFFIObject, "__ffi_convert__", &null, 1, &any),
        "TypeError", NULL);
  FAILS(test_apply_global("ffi.StructuralKey", &null, 1, &any), "ValueError",
        NULL);
  OK(TVMFFIBigIntFromByteArray(&bits, &words));
  OWN_ANY(words);
  any = tvmffi_i_equal_bigint(&words, &words);
  CHECK(any.type_index == kTVMFFIBool && any.v_int64 == 1);
  any = tvmffi_i_equal_bigint(&null, &words);
  OWN_ANY(any);
  CHECK_INT(any.type_index, kTVMFFIError);
  any = tvmffi_i_equal_bigint(&words, &null);
  OWN_ANY(any);
  CHECK_INT(any.type_index, kTVMFFIError);
  null.type_index = TVMFFI_I_STRUCTURAL_KEY;
  any = tvmffi_i_hash_structural_key(&null);
  OWN_ANY(any);
  CHECK_INT(any.type_index, kTVMFFIError);
}

/* A search for a device skips what has no items. */
static void test_device_search(TVMFFI_HERE) {
  TVMFFIAny items[2], any;
  int i;
  items[0] = tvmffi_i_pointer(kTVMFFIArray, NULL);
  OK(test_apply_global("ffi.ContainerFindFirstNonCPUDevice", items, 1, &any));
  CHECK_INT(any.v_device.device_type, kDLCPU);
  OK(test_apply_global("ffi.GetKwargsObject", NULL, 0, &items[0]));
  items[1] = tvmffi_int(1);
  {
    SEQUENCE(list, "List", items, 2);
    any = tvmffi_obj(list);
    for (i = 0; i < 8; ++i) OK(test_apply_global("ffi.Array", &any, 1, &any));
    OK(test_apply_global("ffi.ContainerFindFirstNonCPUDevice", &any, 1, &any));
    CHECK_INT(any.v_device.device_type, kDLCPU);
  }
}

/* An argument that is an object without an address, in place of a value or of
   the container. */
static void test_null_arguments(TVMFFI_HERE) {
  static const struct {
    const char *name;
    int num_args, at;
    int32_t type_index;
    const char *kind;
  } rows[] = {{"ffi.ListSetItem", 3, 2, kTVMFFIObject, "ValueError"},
              {"ffi.ListInsert", 3, 2, kTVMFFIObject, "ValueError"},
              {"ffi.ListAppend", 2, 0, kTVMFFIList, "TypeError"},
              {"ffi.DictSetItem", 3, 0, kTVMFFIDict, "TypeError"},
              {"ffi.json.Stringify", 2, 0, kTVMFFIArray, "ValueError"},
              {"ffi.ToJSONGraph", 2, 0, kTVMFFIArray, "ValueError"},
              {"ffi.ToJSONGraph", 2, 1, kTVMFFIMap, "ValueError"},
              {"ffi.FromJSONGraph", 1, 0, kTVMFFIMap, "ValueError"}};
  TVMFFIAny item = tvmffi_int(7), args[3], any;
  int i;
  SEQUENCE(list, "List", &item, 1);
  for (i = 0; i < TEST_COUNT(rows); ++i) {
    args[0] = tvmffi_obj(list);
    args[1] = args[2] = tvmffi_int(0);
    args[rows[i].at] = tvmffi_i_pointer(rows[i].type_index, NULL);
    FAILS(test_apply_global(rows[i].name, args, rows[i].num_args, &any),
          rows[i].kind, NULL);
    CHECK_INT(test_cell(list)->size, 1);
    CHECK_INT(((TVMFFIAny *)test_cell(list)->data)->v_int64, 7);
  }
  any = tvmffi_i_pointer(kTVMFFIBigInt, NULL);
  FAILS(test_apply_attr(kTVMFFIBigInt, "__data_to_json__", &any, 1, &any),
        "TypeError", "Cannot treat type `ffi.BigInt` as type `BigInt`");
  FAILS(test_walk(tvmffi_i_pointer(kTVMFFIArray, NULL), TEST_ADD, 1, 0, &any),
        "ValueError", "...must not be NULL");
  ((TVMFFIAny *)test_cell(list)->data)->type_index = kTVMFFIArray;
  ((TVMFFIAny *)test_cell(list)->data)->v_obj = NULL;
  args[0] = tvmffi_obj(list);
  args[1] = tvmffi_none();
  FAILS(test_apply_global("ffi.ToJSONGraph", args, 2, &any), "ValueError",
        "...v_obj must not be NULL");
}

/* A structural key without an address, which is looked up in another map. */
static void test_null_key(TVMFFI_HERE) {
  TVMFFIAny maps[4], entry[2], any, *key;
  TVMFFIObject *object;
  int i, code;
  entry[1] = tvmffi_int(1);
  OK(test_apply_global("ffi.StructuralKey", &entry[1], 1, &entry[0]));
  for (i = 0; i < 2; ++i)
    OK(test_apply_global("ffi.Map", entry, 2, &maps[i]));
  maps[2] = maps[3] = tvmffi_bool(0);
  key = &tvmffi_i_map_pair(maps[0].v_obj, tvmffi_i_map_begin(maps[0].v_obj))
             ->key;
  object = key->v_obj;
  key->v_obj = NULL;
  code = test_apply_global("ffi.StructuralEqual", maps, 4, &any);
  key->v_obj = object;
  FAILS(code, "ValueError", "...must not be NULL");
}

/* A text for all dicts. This is the last test, because a type keeps a hook. */
static int test_show_dict(void *self, const TVMFFIAny *args, int32_t num_args,
                          TVMFFIAny *result) {
  TVMFFIByteArray text = TEXT("a dict of its own");
  (void)self, (void)args, (void)num_args;
  return TVMFFIStringFromByteArray(&text, result);
}
static void test_container_hook(TVMFFI_HERE) {
  static TVMFFIObjectHandle hook; /* a type refuses another function */
  TVMFFIByteArray name = TEXT("__ffi_repr__");
  TVMFFIAny any, value;
  if (!hook) OK(TVMFFIFunctionCreate(NULL, test_show_dict, NULL, &hook));
  value = tvmffi_obj((TVMFFIObject *)hook);
  OK(TVMFFITypeRegisterAttr(kTVMFFIDict, &name, &value));
  OK(test_apply_global("ffi.Dict", NULL, 0, &any));
  CHECK_REPR(any, "a dict of its own");
}

/* Objects whose type nobody has registered. */
static void test_unknown_objects(TVMFFI_HERE) {
  static const struct {
    const char *name;
    int num_args;
  } rows[] = {{"ffi.DeepCopy", 1},
              {"ffi.ReprPrint", 1},
              {"ffi.RecursiveHash", 1},
              {"ffi.ToJSONGraph", 2}};
  TVMFFIObject *o = (TVMFFIObject *)tvmffi_i_object(
      sizeof(TVMFFIObject), (1 << 20) - 1, tvmffi_i_delete_plain);
  TVMFFIAny args[2], any;
  int i;
  OK(o ? 0 : -1);
  OWN(o);
  args[0] = tvmffi_obj(o);
  args[1] = tvmffi_none();
  for (i = 0; i < TEST_COUNT(rows); ++i)
    FAILS(test_apply_global(rows[i].name, args, rows[i].num_args, &any),
          "InternalError", "Cannot find type info for type_index=1048575");
}

/* What text functions do with odd arguments: an indentation that is a bool or
   longer than a buffer, a dtype without a name, a file name's long format. */
static void test_odd_texts(TVMFFI_HERE) {
  TVMFFIAny args[2], any;
  args[0] = tvmffi_int(7);
  {
    SEQUENCE(list, "List", args, 1);
    args[0] = tvmffi_obj(list);
    args[1] = tvmffi_bool(1);
    OK(test_apply_global("ffi.json.Stringify", args, 2, &any));
    CHECK_TEXT(tvmffi_any_str(&any), "[\n 7\n]");
    args[1] = tvmffi_int(300);
    OK(test_apply_global("ffi.json.Stringify", args, 2, &any));
    CHECK_INT(tvmffi_any_str(&any).size, 305);
    OK(test_apply_global("ffi.ListReverse", args, 1, &any));
    CHECK_INT(((TVMFFIAny *)test_cell(list)->data)->v_int64, 7);
  }
  any = tvmffi_obj(test_make_tensor());
  if (!any.v_obj) return;
  TVMFFI_I_CELL(DLTensor, any.v_obj)->dtype.code = 100;
  FAILS(test_apply_global("ffi.ReprPrint", &any, 1, &any), "ValueError",
        "DLDataType contains unknown type_code=100");
  any = tvmffi_str("a.format_without_loader");
  FAILS(test_apply_global("ffi.ModuleLoadFromFile", &any, 1, &any),
        "RuntimeError",
        "...Loader for `.format_without_loader` files is not registered");
}

/* Keys whose equality fails, or clears the dict in which they are looked up. */
static TVMFFIObject *test_cleared;
static int test_clear_then_equal(void *self, const TVMFFIAny *args,
                                 int32_t num_args, TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args;
  *result = tvmffi_bool(1);
  if (!test_cleared) return TVMFFI_RAISE("ValueError", "no key");
  return tvmffi_call(tvmffi_str("ffi.DictClear"), tvmffi_out_any(NULL),
                     tvmffi_obj(test_cleared));
}

static void test_failing_keys(TVMFFI_HERE) {
  static const char *const names[] = {"ffi.DictGetItem",
                                      "ffi.DictGetItemOrMissing",
                                      "ffi.DictCount", "ffi.DictErase"};
  NODE_TYPE(key, kTVMFFISEqHashKindTreeNode, 0);
  TVMFFIAny args[2], any;
  int i;
  VISIT_NODE(one, key, tvmffi_int(1), tvmffi_none());
  VISIT_NODE(other, key, tvmffi_int(1), tvmffi_none());
  OK(test_set_hook(key, "__any_equal__", test_clear_then_equal));
  args[0] = tvmffi_obj(one);
  args[1] = tvmffi_int(1);
  {
    SEQUENCE(dict, "Dict", args, 2);
    SEQUENCE(map, "Map", args, 2);
    args[0] = tvmffi_obj(dict);
    args[1] = tvmffi_obj(other);
    for (i = 0; i < 8; ++i) {
      test_cleared = i < 4 ? NULL : dict;
      FAILS(test_apply_global(names[i % 4], args, 2, &any),
            i < 4 ? "ValueError" : "RuntimeError",
            i < 4 ? "no key"
                  : "A map cannot be changed by the hash or the equality of "
                    "its own keys");
      CHECK_INT(tvmffi_i_map_size(dict), 1);
    }
    any = tvmffi_obj(map);
    OK(test_apply_global("ffi.MapForwardIterFunctor", &any, 1, &any));
    args[0] = tvmffi_int(1);
    OK(test_apply(any.v_obj, args, 1, &any));
    CHECK_INT(any.v_int64, 1);
  }
}

/* A type with one field, whose name is longer than a small string. */
static int32_t test_long_named(const char *key) {
  int32_t index = test_type(key, -1, 1, 0, 1, kTVMFFIObject);
  TVMFFIFieldInfo f = test_any_field("a_field_of_some_length",
                                     offsetof(test_visit_node, x), 0);
  TVMFFITypeMetadata m;
  TVMFFIAny args[2], any;
  if (index < 0) return -1;
  memset((void *)&m, 0, sizeof(m));
  m.structural_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  f.setter = (void *)(uintptr_t)tvmffi_i_set_any_field;
  args[0] = tvmffi_int(index);
  args[1] = tvmffi_int((int64_t)sizeof(test_visit_node));
  if (TVMFFITypeRegisterMetadata(index, &m) ||
      TVMFFITypeRegisterField(index, &f) ||
      test_apply_global("ffi._PyClassRegisterTypeAttrColumns", args, 2, &any))
    return -1;
  return index;
}

/* Paths through such a field, and the graph of its object. */
static void test_long_names(TVMFFI_HERE) {
  static const char path[] = "<root>.a_field_of_some_length[0]";
  const char *key = test_fresh("unit.Long");
  int32_t index = test_long_named(key);
  TVMFFIObject *context;
  TVMFFIAny args[4], any;
  OK(index < 0 ? -1 : 0);
  VISIT_NODE(target, index, tvmffi_int(1), tvmffi_none());
  args[0] = tvmffi_obj(target);
  args[1] = tvmffi_int(1);
  {
    SEQUENCE(with_target, "Array", args, 1);
    SEQUENCE(with_number, "Array", args + 1, 1);
    VISIT_NODE(a, index, tvmffi_obj(with_target), tvmffi_none());
    VISIT_NODE(b, index, tvmffi_obj(with_number), tvmffi_none());
    context = test_context(args, 1);
    if (!context) return;
    args[0] = tvmffi_obj(a);
    args[1] = tvmffi_obj(context);
    args[2] = args[3] = tvmffi_bool(0);
    OK(test_apply_global("ffi.VisitErrorContext.FindAccessPaths", args, 3,
                         &any));
    CHECK_INT(test_cell(any.v_obj)->size, 1);
    CHECK_REPR(tvmffi_obj(test_item(any.v_obj, 0)), path);
    args[1] = tvmffi_obj(b);
    OK(test_apply_global("ffi.GetFirstStructuralMismatch", args, 4, &any));
    CHECK_REPR(tvmffi_obj(test_item(any.v_obj, 1)), path);
  }
  OK(test_read_node(key, "{\"a_field_of_some_length\":0}", &any));
  CHECK_INT(any.type_index, index);
  FAILS(test_read_node(key, "{}", &any), "TypeError",
        "...Required field `a_field_of_some_length` not set");
}

/* Values that a search for paths does not enter, or cannot: objects of a type
   without metadata, a getter that fails or returns no address. */
static int32_t test_null_type = kTVMFFIObject;
static int test_get_null(void *field, TVMFFIAny *result) {
  (void)field;
  *result = tvmffi_i_pointer(test_null_type, NULL);
  return 0;
}

static void test_search_limits(TVMFFI_HERE) {
  NODE_TYPE(plain, kTVMFFISEqHashKindTreeNode, 0);
  ODD_TYPE(unknown, tvmffi_i_get_any_field, 1, NULL);
  ODD_TYPE(nulls, test_get_null, 1, NULL);
  TVMFFITypeMetadata m;
  TVMFFIFieldInfo f;
  TVMFFIObject *context;
  TVMFFIAny args[3], pair, items[2];
  int32_t failing = 0;
  VISIT_NODE(target, plain, tvmffi_int(1), tvmffi_none());
  VISIT_NODE(other, plain, tvmffi_int(1), tvmffi_none());
  VISIT_NODE(hidden, unknown, tvmffi_obj(target), tvmffi_none());
  VISIT_NODE(null, nulls, tvmffi_none(), tvmffi_none());
  VISIT_NODE(root, plain, tvmffi_obj(hidden), tvmffi_obj(null));
  memset((void *)&m, 0, sizeof(m));
  m.structural_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  OK(TVMFFITypeRegisterMetadata(nulls, &m));
  items[0] = tvmffi_obj(target);
  items[1] = tvmffi_obj(root);
  context = test_context(items, 2);
  if (!context) return;
  test_path_count(root, context, 0);
  f = test_any_field("b", offsetof(test_py, b), 0);
  f.getter = test_get_null;
  failing = test_field_class(&f);
  OK(failing < 0 ? -1 : 0);
  OK(test_apply_attr(failing, "__ffi_new__", NULL, 0, &args[0]));
  args[1] = tvmffi_none();
  FAILS(test_apply_global("ffi.ToJSONGraph", args, 2, &args[2]), "RuntimeError",
        "Cannot serialize type `ffi.Object`");
  test_null_type = kTVMFFIStr;
  FAILS(test_apply_global("ffi.ToJSONGraph", args, 2, &args[2]), "RuntimeError",
        "Cannot serialize type `ffi.String`");
  test_null_type = kTVMFFIObject;
  OK(test_getter_type(&failing));
  OK(test_new_pair(failing, tvmffi_int(404), tvmffi_none(), &pair));
  args[0] = pair;
  args[1] = tvmffi_obj(context);
  args[2] = tvmffi_bool(1);
  FAILS(test_apply_global("ffi.VisitErrorContext.FindAccessPaths", args, 3,
                          &pair),
        "ValueError", "no value");
  /* A root that is the first object of the context is no path's end. */
  items[1] = tvmffi_obj(other);
  context = test_context(items, 2);
  if (!context) return;
  args[0] = tvmffi_obj(other);
  args[1] = tvmffi_obj(context);
  OK(test_apply_global("ffi.VisitErrorContext.FindAccessPaths", args, 3,
                       &pair));
  CHECK_INT(test_cell(pair.v_obj)->size, 0);
}

/* A callback that begins a visit of its own, five deep: the number grows, and
   the innermost callback returns `last`. */
typedef struct {
  const char *name;
  TVMFFIObject *callbacks, *none;
  TVMFFIAny last;
} test_inner_visit;

static int test_visit_inside(void *self, const TVMFFIAny *args,
                             int32_t num_args, TVMFFIAny *result) {
  const test_inner_visit *v = (const test_inner_visit *)self;
  TVMFFIAny next[4];
  (void)num_args;
  test_say_value(args);
  if (args[0].v_int64 == 5) {
    *result = v->last;
    return 0;
  }
  next[0] = tvmffi_int(args[0].v_int64 + 1);
  next[1] = tvmffi_obj(v->callbacks);
  next[2] = tvmffi_obj(v->none);
  next[3] = tvmffi_int(0);
  return test_pass_on(v->name, next, 4, result);
}

static void test_inner_visits(TVMFFI_HERE) {
  test_inner_visit v;
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny row[2], args[4], any;
  int i;
  memset((void *)&v, 0, sizeof(v));
  OK(TVMFFIFunctionCreate(&v, test_visit_inside, NULL, &f));
  OWN(f);
  row[0] = tvmffi_int(kTVMFFIInt);
  row[1] = tvmffi_obj((TVMFFIObject *)f);
  {
    SEQUENCE(none, "Array", row, 0);
    SEQUENCE(pair, "Array", row, 2);
    row[0] = tvmffi_obj(pair);
    SEQUENCE(callbacks, "Array", row, 1);
    v.callbacks = callbacks;
    v.none = none;
  }
  for (i = 0; i < 2; ++i) {
    v.name = i ? "ffi.StructuralMap" : "ffi.StructuralWalk";
    v.last = i ? tvmffi_int(9) : tvmffi_none();
    args[0] = tvmffi_int(1);
    args[1] = tvmffi_obj(v.callbacks);
    args[2] = tvmffi_obj(v.none);
    args[3] = tvmffi_int(0);
    test_log_size = 0;
    OK(test_apply_global(v.name, args, 4, &any));
    CHECK_LOG("12345");
    CHECK(any.type_index == v.last.type_index && any.v_int64 == v.last.v_int64);
    args[2] = tvmffi_int(1); /* no callbacks */
    FAILS(test_apply_global(v.name, args, 4, &any), "TypeError",
          "...Mismatched type on argument #2");
    args[1] = tvmffi_int(1);
    args[2] = tvmffi_obj(v.none);
    FAILS(test_apply_global(v.name, args, 4, &any), "TypeError",
          "...Mismatched type on argument #1");
  }
}

/* A function that says in which region its visitor is. In a pattern, the region
   stays that of the pattern. */
static int test_say_region(void *self, const TVMFFIAny *args, int32_t num_args,
                           TVMFFIAny *result) {
  (void)args, (void)num_args;
  *result = tvmffi_int(((const tvmffi_i_visitor *)self)->region);
  return 0;
}

static void test_regions(TVMFFI_HERE) {
  static const int32_t before[] = {kTVMFFIDefRegionKindNone,
                                   kTVMFFIDefRegionKindSimple,
                                   kTVMFFIDefRegionKindPattern};
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny args[3], any;
  tvmffi_i_engine *e = tvmffi_i_new_engine(TVMFFI_I_VISIT, NULL, NULL);
  int i;
  OK(e ? 0 : -1);
  OWN(e);
  OK(TVMFFIFunctionCreate(e, test_say_region, NULL, &f));
  OWN(f);
  args[0] = tvmffi_obj(&e->visitor.base);
  args[1] = tvmffi_int(kTVMFFIDefRegionKindSimple);
  args[2] = tvmffi_obj((TVMFFIObject *)f);
  for (i = 0; i < 3; ++i) {
    e->visitor.region = before[i];
    OK(test_apply_global("ffi.StructuralVisitorWithDefRegionKind", args, 3,
                         &any));
    CHECK_INT(any.v_int64, i < 2 ? kTVMFFIDefRegionKindSimple : before[i]);
    CHECK_INT(e->visitor.region, before[i]);
  }
  tvmffi_weak_retain(e);
  test_drop(e);
  CHECK(!tvmffi_weak_lock(e));
  tvmffi_weak_release(e);
}

/* Callbacks that return an error without an address, or raise an error whose
   context is of another type or has no pattern. */
static TVMFFIObject *test_extra;
static int test_give_no_error(void *self, const TVMFFIAny *args,
                              int32_t num_args, TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args;
  *result = tvmffi_i_pointer(kTVMFFIError, NULL);
  return 0;
}
static int test_raise_extra(void *self, const TVMFFIAny *args, int32_t num_args,
                            TVMFFIAny *result) {
  TVMFFIByteArray kind = TEXT("ValueError"), empty = {NULL, 0};
  TVMFFIObjectHandle error = NULL;
  (void)self, (void)args, (void)num_args, (void)result;
  TVMFFI_TRY(TVMFFIErrorCreateWithCauseAndExtraContext(
      &kind, &kind, &empty, NULL, test_extra, &error));
  return tvmffi_i_error_restore(error);
}

static void test_odd_errors(TVMFFI_HERE) {
  TVMFFIAny none = tvmffi_none(), items[1], any;
  TVMFFIObject *error, *bare;
  tvmffi_i_error_context *got;
  int i, code;
  SEQUENCE(list, "List", &none, 1);
  SEQUENCE(extra, "List", &none, 0);
  ODD_TYPE(uncopied, tvmffi_i_get_any_field, 1, test_give_no_error);
  ODD_TYPE(nulled, tvmffi_i_get_any_field, 1, test_copy_to_null);
  VISIT_NODE(node, uncopied, tvmffi_int(1), tvmffi_none());
  VISIT_NODE(nowhere, nulled, tvmffi_int(1), tvmffi_none());
  items[0] = tvmffi_obj(list);
  for (i = 0; i < 2; ++i)
    FAILS(test_visit_root(i ? "ffi.StructuralMap" : "ffi.StructuralWalk",
                          items[0], test_give_no_error, kTVMFFIList, 0, &any),
          "RuntimeError", "A function failed without an error");
  FAILS(test_walk(tvmffi_obj(node), TEST_ADD, kTVMFFIInt, 0, &any),
        "RuntimeError", "A function failed without an error");
  FAILS(test_walk(tvmffi_obj(nowhere), TEST_ADD, kTVMFFIInt, 0, &any),
        "TypeError",
        "...must return a distinct object with the same type as its input");
  test_log_size = 0;
  bare = tvmffi_i_new_object(TVMFFI_I_VISIT_ERROR_CONTEXT,
                             sizeof(tvmffi_i_error_context));
  OK(bare ? 0 : -1);
  OWN(bare);
  for (i = 0; i < 2; ++i) {
    test_extra = i ? bare : extra;
    code = test_visit_root("ffi.StructuralWalk", items[0], test_raise_extra,
                           kTVMFFIList, 0, &any);
    CHECK(code != 0);
    error = tvmffi_i_error_remove();
    if (error && !test_hits()) {
      got = (tvmffi_i_error_context *)TVMFFIErrorGetCellPtr(error)
                ->extra_context;
      CHECK_INT(got->base.type_index, TVMFFI_I_VISIT_ERROR_CONTEXT);
      if (i) CHECK(&got->base == bare && !got->pattern);
      if (!i) CHECK(got->previous == extra);
      if (!i) CHECK(test_item(got->pattern, 0) == list);
    }
    tvmffi_release(error);
  }
}

/* A setter needs its converter, a type that Python defines is none of the
   runtime's, and an object's type must be known. */
static void test_bad_classes(TVMFFI_HERE) {
  TVMFFIAny args[3], any;
  args[0] = tvmffi_int(kTVMFFIInt);
  args[1] = args[2] = tvmffi_int(0);
  FAILS(test_apply_global("ffi.MakeFieldSetter", args, 3, &any), "ValueError",
        "...the converter must not be NULL");
  args[1] = tvmffi_int(64);
  args[0] = tvmffi_int(TVMFFI_I_ACCESS_STEP);
  FAILS(test_apply_global("ffi._PyClassRegisterTypeAttrColumns", args, 2, &any),
        "ValueError", "...cannot be made by their fields");
  args[0] = tvmffi_int(-5);
  FAILS(test_apply_global("ffi._PyClassRegisterTypeAttrColumns", args, 2, &any),
        "InternalError", "...type_index=-5");
  args[0] = tvmffi_str("unit.no such type");
  FAILS(test_apply_global("ffi.MakeObjectFromPackedArgs", args, 1, &any),
        "InternalError", "...unit.no such type");
}

/* Paths and steps with fields that only a faulty client sets. */
static void test_malformed_paths(TVMFFI_HERE) {
  const TVMFFIMethodInfo *m = TVMFFIGetTypeInfo(TVMFFI_I_ACCESS_PATH)->methods;
  TVMFFIObject *good = test_path("a long attribute", 2), *bad;
  TVMFFIAny args[2], any;
  tvmffi_i_path *path;
  tvmffi_i_step *step;
  OK(good ? 0 : -1);
  bad = tvmffi_i_new_object(TVMFFI_I_ACCESS_PATH, sizeof(tvmffi_i_path));
  OK(bad ? 0 : -1);
  OWN(bad);
  path = (tvmffi_i_path *)(void *)bad;
  path->depth = 5; /* a root */
  args[0] = tvmffi_obj(good);
  args[1] = tvmffi_obj(bad);
  OK(test_apply(m[8].method.v_obj, args, 2, &any));
  CHECK_INT(any.v_int64, 0);
  path->parent = good; /* without a step */
  tvmffi_retain(good);
  FAILS(test_apply(m[8].method.v_obj, args, 2, &any), "InternalError",
        "The access path is malformed");
  path->depth = 2;
  FAILS(test_apply(m[8].method.v_obj, args, 2, &any), "InternalError",
        "The access path is malformed");
  bad = tvmffi_i_new_object(TVMFFI_I_ACCESS_STEP, sizeof(tvmffi_i_step));
  OK(bad ? 0 : -1);
  OWN(bad);
  step = (tvmffi_i_step *)(void *)bad;
  args[0] = tvmffi_obj(bad);
  for (step->kind = 0; step->kind < 2; ++step->kind)
    FAILS(test_apply_global("ffi.ReprPrint", args, 1, &any), "TypeError", NULL);
  step->kind = 6;
  FAILS(test_apply_global("ffi.ReprPrint", args, 1, &any), "ValueError",
        "6 is no kind of an access step");
}

/* A visit whose only callback is the array `row` of two values, in a list or an
   array named `outer`, fails with the error. */
static void test_bad_callbacks(const char *outer, TVMFFIAny *row,
                               const char *error) {
  TVMFFIAny args[2], any;
  TVMFFIObject *callbacks;
  SEQUENCE(pair, "Array", row, 2);
  any = tvmffi_obj(pair);
  callbacks = test_sequence(outer, &any, 1);
  if (!callbacks) return;
  args[0] = tvmffi_int(1);
  args[1] = tvmffi_obj(callbacks);
  FAILS(test_apply_global("ffi.StructuralVisit", args, 2, &any), "TypeError",
        error);
}

/* Visits with faulty callbacks, and visitors without a vtable. */
static void test_faulty_callbacks(TVMFFI_HERE) {
  TVMFFIAny args[3], row[2], any;
  TVMFFIObject *visitor;
  args[0] = tvmffi_int(1);
  args[1] = tvmffi_i_pointer(kTVMFFIArray, NULL);
  FAILS(test_apply_global("ffi.StructuralVisit", args, 2, &any), "TypeError",
        NULL);
  row[0] = tvmffi_bool(1);
  row[1] = tvmffi_int(1);
  test_bad_callbacks("ffi.List", row,
                     "...but got `Array[index 0: Array[index 1: int]]`");
  row[0] = row[1] = tvmffi_none();
  test_bad_callbacks("ffi.Array", row,
                     "...but got `Array[index 0: Array[index 0: None]]`");
  visitor = tvmffi_i_new_object(TVMFFI_I_STRUCTURAL_MUTATOR,
                                sizeof(tvmffi_i_visitor));
  OK(visitor ? 0 : -1);
  OWN(visitor);
  args[0] = tvmffi_obj(visitor);
  args[1] = tvmffi_int(1);
  FAILS(test_apply_global("ffi.StructuralMutatorMutate", args, 2, &any),
        "TypeError", "A ffi.StructuralMutator without a vtable cannot visit");
  FAILS(test_apply_global("ffi.StructuralMutatorVarRemapGet", args, 2, &any),
        "TypeError", "A ffi.StructuralMutator without a vtable cannot visit");
  args[2] = tvmffi_int(1);
  FAILS(test_apply_global("ffi.StructuralMutatorVarRemapSet", args, 3, &any),
        "TypeError", "A ffi.StructuralMutator without a vtable cannot visit");
}
#endif

static const test_case test_functions_cases[] = {
#if !TVMFFI_NO_EXTRA && !TEST_NO_REFLECTION && !TEST_NO_TYPES
    {"built-in functions: paths through NULL objects", test_null_children},
    {"built-in functions: paths to a part of a context", test_path_search},
    {"built-in functions: hooks of built-in types", test_bad_hook_calls},
    {"built-in functions: the search for a device", test_device_search},
    {"built-in functions: classes that cannot be", test_bad_classes},
    {"built-in functions: malformed paths", test_malformed_paths},
    {"built-in functions: faulty callbacks", test_faulty_callbacks},
    {"built-in functions: arguments without an address", test_null_arguments},
    {"built-in functions: objects of unknown types", test_unknown_objects},
    {"built-in functions: odd texts", test_odd_texts},
    {"built-in functions: keys whose equality fails", test_failing_keys},
    {"built-in functions: fields with long names", test_long_names},
    {"built-in functions: limits of a search", test_search_limits},
    {"built-in functions: visits in visits", test_inner_visits},
    {"built-in functions: regions", test_regions},
    {"built-in functions: odd errors of callbacks", test_odd_errors},
    {"built-in functions: a key without an address", test_null_key},
    {"built-in functions: a hook of a container", test_container_hook},
#endif
    {NULL, NULL}};
