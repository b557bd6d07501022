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
  items[0] = tvmffi_i_pointer(kTVMFFIArray, NULL);
  OK(test_apply_global("ffi.ContainerFindFirstNonCPUDevice", items, 1, &any));
  CHECK_INT(any.v_device.device_type, kDLCPU);
  OK(test_apply_global("ffi.GetKwargsObject", NULL, 0, &items[0]));
  items[1] = tvmffi_int(1);
  {
    SEQUENCE(list, "List", items, 2);
    any = tvmffi_obj(list);
    OK(test_apply_global("ffi.ContainerFindFirstNonCPUDevice", &any, 1, &any));
    CHECK_INT(any.v_device.device_type, kDLCPU);
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
  TVMFFIAny args[2], row[2], any;
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
#endif
    {NULL, NULL}};
