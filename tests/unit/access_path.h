/* ======== Access paths: paths to a part of a value ======================== */

#pragma once

#include "harness.h"
#include "apply.h"

#if !TVMFFI_NO_CONTAINERS && !TEST_NO_REFLECTION && !TEST_NO_TYPES
/* The path root.`first`[`second`], owned by the test. */
static TVMFFIObject *test_path(const char *first, int64_t second) {
  const TVMFFIMethodInfo *m = TVMFFIGetTypeInfo(133)->methods;
  TVMFFIAny args[2], any;
  if (test_apply(m[0].method.v_obj, NULL, 0, &args[0])) return NULL;
  args[1] = tvmffi_str(first);
  if (test_apply(m[2].method.v_obj, args, 2, &any)) return NULL;
  args[0] = any;
  args[1] = tvmffi_int(second);
  if (test_apply(m[3].method.v_obj, args, 2, &any)) return NULL;
  return any.v_obj;
}

static void test_paths(TVMFFI_HERE) {
  TVMFFIObject *p, *q, *r;
  const TVMFFIMethodInfo *m;
  TVMFFIAny args[2], any;
  OK(TVMFFIGetTypeInfo(133) ? 0 : -1);
  m = TVMFFIGetTypeInfo(133)->methods;
  p = test_path("a long attribute", 2);
  OK(p ? 0 : -1);
  q = test_path("a long attribute", 2);
  OK(q ? 0 : -1);
  r = test_path("a long attribute", 3);
  OK(r ? 0 : -1);
  args[0] = tvmffi_obj(p);
  args[1] = tvmffi_obj(q);
  OK(test_apply(m[10].method.v_obj, args, 2, &any));
  CHECK_INT(any.v_int64, 1);
  args[1] = tvmffi_obj(r);
  OK(test_apply(m[10].method.v_obj, args, 2, &any));
  CHECK_INT(any.v_int64, 0);
  args[0] = tvmffi_obj(((tvmffi_i_path *)(void *)p)->parent);
  OK(test_apply(m[10].method.v_obj, args, 2, &any));
  CHECK_INT(any.v_int64, 0); /* paths of one and of two steps */
  OK(test_apply(m[8].method.v_obj, args, 2, &any));
  CHECK_INT(any.v_int64, 1);
  args[0] = tvmffi_obj(r);
  OK(test_apply(m[9].method.v_obj, args, 1, &any));
  CHECK_INT(TVMFFI_I_CELL(TVMFFISeqCell, any.v_obj)->size, 2);
  any = ((TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, any.v_obj)->data)[0];
  CHECK_INT(((tvmffi_i_step *)any.v_ptr)->kind, 0);
  FAILS(test_apply(m[1].method.v_obj, args, 1, &any), "TypeError",
        "Mismatched number of arguments when calling: "
        "`ffi.reflection.AccessPath._extend(0: ffi.reflection.AccessPath, 1: "
        "ffi.reflection.AccessStep) -> ffi.reflection.AccessPath`. Expected 2 "
        "but got 1 arguments");
}

/* Every kind of a step, and paths that share what they end with. */
static void test_path_steps(TVMFFI_HERE) {
  static const int kinds[] = {
      TVMFFI_I_STEP_MAP_ITEM, TVMFFI_I_STEP_ATTR_MISSING,
      TVMFFI_I_STEP_ARRAY_ITEM_MISSING, TVMFFI_I_STEP_MAP_ITEM_MISSING};
  const TVMFFIMethodInfo *m;
  TVMFFIAny args[2], any, root, q, last = tvmffi_none();
  tvmffi_i_path *path;
  int i;
  OK(TVMFFIGetTypeInfo(133) ? 0 : -1);
  m = TVMFFIGetTypeInfo(133)->methods;
  OK(test_apply(m[0].method.v_obj, NULL, 0, &root));
  for (i = 0; i < 4; ++i) {
    args[0] = root;
    args[1] = i == 2 ? tvmffi_int(6) : tvmffi_str("a key of some length");
    OK(test_apply(m[4 + i].method.v_obj, args, 2, &any));
    path = (tvmffi_i_path *)any.v_ptr;
    CHECK_INT(path->depth, 1);
    CHECK_INT(((tvmffi_i_step *)(void *)path->step)->kind, kinds[i]);
    CHECK_INT(((tvmffi_i_step *)(void *)path->step)->key.type_index,
              i == 2 ? kTVMFFIInt : kTVMFFIStr);
    args[1] = tvmffi_obj(path->step);
    OK(test_apply(m[1].method.v_obj, args, 2, &q));
    CHECK(((tvmffi_i_path *)q.v_ptr)->step == path->step);
    args[0] = any;
    args[1] = q;
    OK(test_apply(m[10].method.v_obj, args, 2, &any));
    CHECK_INT(any.v_int64, 1);
    args[1] = last; /* equal keys, but another kind of step */
    last = q;
    if (!i) continue;
    OK(test_apply(m[10].method.v_obj, args, 2, &any));
    CHECK(any.type_index == kTVMFFIBool && any.v_int64 == 0);
    OK(test_apply(m[8].method.v_obj, args, 2, &any)); /* the same as a prefix */
    CHECK(any.type_index == kTVMFFIBool && any.v_int64 == 0);
  }
  OK(test_apply(m[0].method.v_obj, NULL, 0, &any));
  args[0] = root;
  args[1] = any;
  OK(test_apply(m[10].method.v_obj, args, 2, &any));
  CHECK_INT(any.v_int64, 1);
}

/* Paths that cannot be: a parent that is none, a cycle, too long a path. */
static void test_bad_paths(TVMFFI_HERE) {
  const TVMFFIMethodInfo *m;
  TVMFFIObject *p, *q;
  TVMFFIAny args[2], any;
  tvmffi_i_path *path, *parent;
  OK(TVMFFIGetTypeInfo(133) ? 0 : -1);
  m = TVMFFIGetTypeInfo(133)->methods;
  p = test_path("a", 1);
  OK(p ? 0 : -1);
  q = test_path("b", 1);
  OK(q ? 0 : -1);
  path = (tvmffi_i_path *)(void *)p;
  parent = (tvmffi_i_path *)(void *)path->parent;
  args[0] = tvmffi_obj(p);
  args[1] = tvmffi_obj(q);
  parent->depth = 2;
  FAILS(test_apply(m[9].method.v_obj, args, 1, &any), "InternalError",
        "The access path is malformed");
  FAILS(test_apply(m[10].method.v_obj, args, 2, &any), "InternalError",
        "The access path is malformed");
  parent->depth = 1;
  path->parent = path->step;
  path->step = &parent->base;
  FAILS(test_apply(m[9].method.v_obj, args, 1, &any), "InternalError",
        "The access path is malformed");
  path->step = path->parent;
  path->parent = &parent->base;
  {
    TVMFFIObject *step = path->step;
    TVMFFIAny back[2];
    back[0] = args[1];
    back[1] = args[0];
    path->step = NULL;
    FAILS(test_apply(m[9].method.v_obj, args, 1, &any), "InternalError",
          "The access path is malformed");
    path->step = &parent->base;
    FAILS(test_apply(m[10].method.v_obj, back, 2, &any), "InternalError",
          "The access path is malformed");
    path->step = step;
    path->parent = NULL; /* two steps by its depth, but none */
    OK(test_apply(m[10].method.v_obj, args, 2, &any));
    CHECK_INT(any.v_int64, 0);
    OK(test_apply(m[10].method.v_obj, back, 2, &any));
    CHECK_INT(any.v_int64, 0);
    path->parent = &parent->base;
  }
  path->depth = 2147483647;
  args[1] = tvmffi_str("c");
  FAILS(test_apply(m[2].method.v_obj, args, 2, &any), "OverflowError",
        "The path is too long");
}
#endif

static const test_case test_access_path_cases[] = {
#if !TVMFFI_NO_CONTAINERS && !TEST_NO_REFLECTION && !TEST_NO_TYPES
    {"access paths", test_paths},
    {"access paths: steps", test_path_steps},
    {"access paths that cannot be", test_bad_paths},
#endif
    {NULL, NULL}};
