/* ======== Copies: deep copies ============================================= */

#pragma once

#include "harness.h"
#include "apply.h"
#include "reflection.h"
#include "access_path.h"

#if !TVMFFI_NO_CONTAINERS && !TEST_NO_REFLECTION && !TEST_NO_TYPES
static int test_deep_copy(TVMFFIObject *from, TVMFFIObject **copy) {
  TVMFFIAny any, arg = tvmffi_obj(from);
  TVMFFI_TRY(test_apply_global("ffi.DeepCopy", &arg, 1, &any));
  *copy = any.v_obj;
  return 0;
}

static TVMFFIObject *test_item(TVMFFIObject *seq, int64_t i) {
  return ((TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, seq)->data)[i].v_obj;
}

/* A graph keeps its shape: what is shared is copied once. */
static void test_deep_copies(TVMFFI_HERE) {
  TVMFFIObject *list = tvmffi_i_new_list(0), *array, *copy = NULL, *dict;
  TVMFFIAny *items = NULL, key, value;
  OK(list ? 0 : -1);
  OWN(list);
  array = tvmffi_i_new_array(2, &items);
  OK(array ? 0 : -1);
  OWN(array);
  tvmffi_retain(list);
  items[0] = tvmffi_obj(list);
  tvmffi_retain(list);
  items[1] = tvmffi_obj(list);
  value = tvmffi_int(7);
  OK(tvmffi_i_list_append(list, &value));
  OK(test_deep_copy(array, &copy));
  CHECK(copy != array && test_item(copy, 0) != list);
  CHECK(test_item(copy, 0) == test_item(copy, 1));
  dict = tvmffi_i_new_map(kTVMFFIMap, 0);
  OK(dict ? 0 : -1);
  key = tvmffi_obj(array);
  value = tvmffi_obj(list);
  if (tvmffi_i_map_set(&dict, &key, &value)) {
    tvmffi_release(dict);
    OK(-1);
    return;
  }
  OWN(dict);
  OK(test_deep_copy(dict, &copy));
  CHECK_INT(tvmffi_i_map_size(copy), 1);
  CHECK(tvmffi_i_map_pair(copy, tvmffi_i_map_begin(copy))->key.v_obj != array);
}

/* Cycles through a list, a dict and an array, which is made last. */
static void test_cyclic_copies(TVMFFI_HERE) {
  TVMFFIObject *list = tvmffi_i_new_list(0), *array, *copy = NULL, *dict;
  TVMFFIAny *items = NULL, key = tvmffi_int(1), value;
  int code;
  OK(list ? 0 : -1);
  OWN(list);
  array = tvmffi_i_new_array(1, &items);
  OK(array ? 0 : -1);
  OWN(array);
  dict = tvmffi_i_new_map(kTVMFFIDict, 0);
  OK(dict ? 0 : -1);
  OWN(dict);
  tvmffi_retain(list);
  items[0] = tvmffi_obj(list);
  value = tvmffi_obj(dict);
  OK(tvmffi_i_list_append(list, &value));
  value = tvmffi_obj(array);
  code = tvmffi_i_map_set(&dict, &key, &value);
  if (!code) {
    code = test_deep_copy(array, &copy);
    if (!code) {
      TVMFFIObject *inner = test_item(test_item(copy, 0), 0);
      const tvmffi_i_pair *pair =
          tvmffi_i_map_pair(inner, tvmffi_i_map_begin(inner));
      CHECK(copy != array && inner != dict);
      CHECK(pair && pair->value.v_obj == copy);
      OK(tvmffi_i_map_erase(&inner, &key));
    }
    (void)tvmffi_i_map_erase(&dict, &key);
  }
  OK(code);
}

/* A cycle through an object: the array is made last, so that the object's copy
   and the list in it are to be told of it. */
static void test_cyclic_object_copies(TVMFFI_HERE) {
  int32_t index = test_py_class(test_fresh("unit.Cycle"), tvmffi_none());
  TVMFFIObject *o, *array, *list, *copy = NULL;
  TVMFFIAny *items = NULL, value;
  test_py *from, *to;
  int code;
  OK(index < 0 ? -1 : 0);
  o = tvmffi_i_new_object(index, sizeof(test_py));
  OK(o ? 0 : -1);
  OWN(o);
  from = (test_py *)(void *)o;
  from->a = 6;
  list = tvmffi_i_new_list(1);
  OK(list ? 0 : -1);
  OWN(list);
  array = tvmffi_i_new_array(2, &items);
  OK(array ? 0 : -1);
  OWN(array);
  tvmffi_retain(o);
  items[0] = tvmffi_obj(o);
  tvmffi_retain(list);
  items[1] = tvmffi_obj(list);
  value = tvmffi_obj(array);
  OK(tvmffi_i_list_append(list, &value));
  tvmffi_retain(array);
  from->c = array;
  code = test_deep_copy(array, &copy);
  if (!code) {
    to = (test_py *)(void *)test_item(copy, 0);
    list = test_item(copy, 1);
    CHECK(to != from && to->a == 6);
    CHECK(to->c == copy && test_item(list, 0) == copy);
    tvmffi_release(to->c);
    to->c = NULL;
    tvmffi_any_release((TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, list)->data);
  }
  tvmffi_release(from->c);
  from->c = NULL;
  tvmffi_any_release(
      (TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, items[1].v_obj)->data);
  OK(code);
}

/* Two fields at one place, of which a copy counts what they hold once. */
static void test_aliased_fields(TVMFFI_HERE) {
  TVMFFIAny e, copy, text;
  TVMFFIByteArray long_text = TEXT("a text of its own");
  const TVMFFIFieldInfo *f;
  OK(test_apply_attr(TVMFFI_I_STR_ENUM, "__ffi_new__", NULL, 0, &e));
  OK(TVMFFIStringFromByteArray(&long_text, &text));
  OWN_ANY(text);
  f = TVMFFIGetTypeInfo(TVMFFI_I_STR_ENUM)->fields;
  OK(tvmffi_i_set_field(f, e.v_obj, &text));
  CHECK_INT(test_strong(text.v_obj), 2);
  OK(test_apply_attr(TVMFFI_I_STR_ENUM, "__ffi_shallow_copy__", &e, 1, &copy));
  CHECK_INT(test_strong(text.v_obj), 3);
  test_drop(copy.v_obj);
  test_drop(e.v_obj);
  CHECK_INT(test_strong(text.v_obj), 1);
}

static void test_bad_copies(TVMFFI_HERE) {
  TVMFFIObject *copy = NULL, *o;
  TVMFFIAny any, arg;
  OK(TVMFFIGetTypeInfo(133) ? 0 : -1);
  o = test_path("a", 1);
  OK(o ? 0 : -1);
  OK(test_deep_copy(o, &copy));
  CHECK(copy != o && ((tvmffi_i_path *)(void *)copy)->parent !=
                         ((tvmffi_i_path *)(void *)o)->parent);
  FAILS(test_deep_copy(test_value_of(133, "__ffi_new__").v_obj, &copy),
        "InternalError",
        "Cannot deep copy object of type \"ffi.Function\" because it is not "
        "copy-constructible");
  arg = tvmffi_str("a raw string, which is copied");
  OK(test_apply_global("ffi.DeepCopy", &arg, 1, &any));
  CHECK_INT(any.type_index, kTVMFFIStr);
  OK(test_apply_attr(129, "__ffi_new__", NULL, 0, &arg));
  OK(test_deep_copy(arg.v_obj, &copy));
  CHECK(copy == arg.v_obj);
  arg = tvmffi_none();
  arg.type_index = kTVMFFIObject;
  FAILS(test_apply_global("ffi.DeepCopy", &arg, 1, &any), "ValueError",
        "...AnyViewToOwnedAny: any_view->v_obj must not be NULL");
}

/* As deep as upstream allows, on a stack of its own. */
static void test_deepest_copy(TVMFFI_HERE) {
  TVMFFIObject *list = tvmffi_i_new_list(0), *copy = NULL;
  int i, n = test_scale(test_chain < 20000 ? test_chain : 20000, 20);
  for (i = 0; list && i < n; ++i) {
    TVMFFIObject *outer = tvmffi_i_new_list(1);
    TVMFFIAny any = tvmffi_obj(list);
    if (outer && tvmffi_i_list_append(outer, &any)) {
      tvmffi_release(outer);
      outer = NULL;
    }
    tvmffi_release(list);
    list = outer;
  }
  OK(list ? 0 : -1);
  OWN(list);
  OK(test_deep_copy(list, &copy));
  CHECK(test_item(copy, 0) != test_item(list, 0));
}
#endif

static const test_case test_copy_cases[] = {
#if !TVMFFI_NO_CONTAINERS && !TEST_NO_REFLECTION && !TEST_NO_TYPES
    {"deep copies: shape", test_deep_copies},
    {"deep copies: cycles", test_cyclic_copies},
    {"deep copies: cycles through objects", test_cyclic_object_copies},
    {"deep copies: fields at one place", test_aliased_fields},
    {"deep copies: what has none", test_bad_copies},
    {"deep copies: depth", test_deepest_copy},
#endif
    {NULL, NULL}};
