/* ======== Functions: arguments that only the built-in functions read ====== */

#pragma once

#include "harness.h"
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
#endif

static const test_case test_functions_cases[] = {
#if !TVMFFI_NO_EXTRA && !TEST_NO_REFLECTION && !TEST_NO_TYPES
    {"built-in functions: paths through NULL objects", test_null_children},
#endif
    {NULL, NULL}};
