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
  if (tvmffi_i_map_set(dict, &key, &value)) {
    tvmffi_release(dict);
    OK(-1);
    return;
  }
  OWN(dict);
  OK(test_deep_copy(dict, &copy));
  CHECK_INT(tvmffi_i_map_size(copy), 1);
  CHECK(tvmffi_i_map_pair(copy, tvmffi_i_map_begin(copy))->key.v_obj != array);
}

/* Immutable values are their own copies, also as keys of a map and items. */
static void test_own_copies(TVMFFI_HERE) {
  TVMFFIByteArray text = TEXT("a text of some length, 32 bytes.");
  TVMFFIObject *list = tvmffi_i_new_list(0), *map, *copy = NULL;
  TVMFFIAny any, own[4], value;
  const tvmffi_i_pair *pair;
  tvmffi_i_shape *shape;
  int64_t *numbers = NULL;
  size_t at;
  int i, code = 0;
  OK(list ? 0 : -1);
  OWN(list);
  OK(TVMFFIStringFromByteArray(&text, &own[0]));
  OWN_ANY(own[0]);
  OK(TVMFFIBytesFromByteArray(&text, &own[1]));
  OWN_ANY(own[1]);
  OK(TVMFFIBigIntFromByteArray(&text, &own[2]));
  OWN_ANY(own[2]);
  shape = tvmffi_i_new_shape(1, &numbers);
  OK(shape ? 0 : -1);
  OWN(shape);
  numbers[0] = 3;
  own[3] = tvmffi_obj(shape);
  map = tvmffi_i_new_map(kTVMFFIMap, 0);
  value = tvmffi_obj(list);
  for (i = 0; map && i < 4 && !code; ++i) {
    code = test_apply_global("ffi.DeepCopy", &own[i], 1, &any);
    if (!code) CHECK(any.v_obj == own[i].v_obj);
    if (!code) code = tvmffi_i_list_append(list, &own[i]);
    if (!code) code = tvmffi_i_map_set(map, &own[i], i % 2 ? &value : &own[i]);
  }
  if (map) OWN(map);
  OK(map ? code : -1);
  OK(test_deep_copy(map, &copy));
  CHECK(copy != map && copy->type_index == kTVMFFIMap);
  value = tvmffi_none();
  for (i = 0, at = tvmffi_i_map_begin(copy);
       (pair = tvmffi_i_map_pair(copy, at)) != NULL;
       ++i, at = tvmffi_i_map_after(copy, at)) {
    CHECK(i < 4 && pair->key.v_obj == own[i].v_obj);
    if (i % 2 == 0) CHECK(pair->value.v_obj == own[i].v_obj);
    if (i % 2 == 0) continue;
    CHECK(pair->value.v_obj != list && test_item(pair->value.v_obj, 3) ==
                                           own[3].v_obj);
    CHECK(i == 1 || pair->value.v_obj == value.v_obj);
    value = pair->value;
  }
  CHECK_INT(i, 4);
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
  code = tvmffi_i_map_set(dict, &key, &value);
  if (!code) {
    code = test_deep_copy(array, &copy);
    if (!code) {
      TVMFFIObject *inner = test_item(test_item(copy, 0), 0);
      const tvmffi_i_pair *pair =
          tvmffi_i_map_pair(inner, tvmffi_i_map_begin(inner));
      CHECK(copy != array && inner != dict);
      CHECK(pair && pair->value.v_obj == copy);
      OK(tvmffi_i_map_erase(inner, &key));
    }
    (void)tvmffi_i_map_erase(dict, &key);
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

/* An array of two items: a list, and any value. The list, a dict and an object
   in the list refer to each other, to themselves and to the array. */
typedef struct {
  TVMFFIObject *array, *list, *dict, *object;
} test_cycle;

/* Makes a cycle, whose objects the test owns. */
static int test_make_cycle(test_cycle *c, int32_t index) {
  TVMFFIAny all[4], *items = NULL, key = tvmffi_int(1);
  TVMFFIObject *plain;
  int i;
  memset((void *)c, 0, sizeof(*c));
  if ((c->list = tvmffi_i_new_list(0)) != NULL) OWN(c->list);
  if ((c->dict = tvmffi_i_new_map(kTVMFFIDict, 0)) != NULL) OWN(c->dict);
  if ((c->object = tvmffi_i_new_object(index, sizeof(test_py))) != NULL)
    OWN(c->object);
  if ((c->array = tvmffi_i_new_array(2, &items)) != NULL) OWN(c->array);
  if (!c->list || !c->dict || !c->object || !c->array) return -1;
  all[0] = tvmffi_obj(c->array);
  all[1] = tvmffi_obj(c->list);
  all[2] = tvmffi_obj(c->dict);
  all[3] = tvmffi_obj(c->object);
  for (i = 0; i < 4; ++i) {
    TVMFFI_TRY(tvmffi_i_list_append(c->list, &all[i]));
    TVMFFI_TRY(tvmffi_i_map_set(c->dict, &key, &all[i]));
    key = all[i];
  }
  ((test_py *)(void *)c->object)->b = all[3];
  tvmffi_retain(c->object);
  ((test_py *)(void *)c->object)->c = c->array;
  tvmffi_retain(c->array);
  items[0] = all[1];
  tvmffi_retain(c->list);
  if ((plain = tvmffi_i_new_map(kTVMFFIDict, 0)) == NULL) return -1;
  OWN(plain); /* a dict that refers to none of these */
  all[0] = tvmffi_obj(plain);
  TVMFFI_TRY(tvmffi_i_map_set(plain, &items[1], &items[1]));
  return tvmffi_i_list_append(c->list, &all[0]);
}

/* Removes the references of a cycle. */
static void test_break_cycle(const test_cycle *c) {
  if (c->object) {
    tvmffi_any_release(&((test_py *)(void *)c->object)->b);
    tvmffi_release(((test_py *)(void *)c->object)->c);
    ((test_py *)(void *)c->object)->c = NULL;
  }
  if (c->dict) CHECK_INT(tvmffi_i_map_clear_in(tvmffi_i_map_of(c->dict)), 0);
  if (c->list)
    tvmffi_i_erase(tvmffi_i_seq_of(c->list), 0,
                   tvmffi_i_seq_of(c->list)->cell.size);
}

/* Each reference of a cycle is one to a copy, and so is each of the copies. */
static void test_check_cycle(const test_cycle *from, TVMFFIObject *copy) {
  static const int order[] = {-1, 0, 1, 2}; /* of the dict's values */
  test_cycle c;
  const TVMFFIAny *value;
  TVMFFIAny all[4], key;
  int i;
  c.array = copy;
  c.list = test_item(copy, 0);
  c.dict = test_item(c.list, 2);
  c.object = test_item(c.list, 3);
  all[0] = tvmffi_obj(c.array);
  all[1] = tvmffi_obj(c.list);
  all[2] = tvmffi_obj(c.dict);
  all[3] = tvmffi_obj(c.object);
  CHECK(c.array != from->array && c.list != from->list &&
        c.dict != from->dict && c.object != from->object);
  CHECK_INT(tvmffi_i_map_size(c.dict), 4);
  for (i = 0; i < 4; ++i) {
    CHECK(test_item(c.list, i) == all[i].v_obj);
    key = order[i] < 0 ? tvmffi_int(1) : all[order[i]];
    value = tvmffi_i_map_get(c.dict, &key);
    CHECK(value && value->v_obj == all[i].v_obj);
  }
  CHECK(((test_py *)(void *)c.object)->b.v_obj == c.object);
  CHECK(((test_py *)(void *)c.object)->c == copy);
  test_break_cycle(&c);
}

/* Copies of a cycle refer to each other. A copy that fails leaves nothing, even
   if the copies form a cycle by then: a function, which cannot be copied, comes
   after the cycle. */
static void test_copies_of_all(TVMFFI_HERE) {
  int32_t index = test_py_class(test_fresh("unit.AllInCycle"), tvmffi_none());
  TVMFFIObject *f = test_global("ffi.DeepCopy"), *copy = NULL;
  test_cycle c;
  int code, made;
  OK(index < 0 || !f ? -1 : 0);
  code = made = test_make_cycle(&c, index);
  if (!made) {
    code = test_deep_copy(c.array, &copy);
    if (!code) test_check_cycle(&c, copy);
  }
  if (!code) {
    TVMFFI_I_ITEMS(tvmffi_i_seq_of(c.array))[1] = tvmffi_obj(f);
    tvmffi_retain(f);
    FAILS(test_deep_copy(c.array, &copy), "InternalError",
          "Cannot deep copy object of type \"ffi.Function\" because it is not "
          "copy-constructible");
  }
  test_break_cycle(&c);
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

/* A getter that fails after its first call, with any code and no error. */
static int test_silent_calls;
static int test_silent_getter(void *field, TVMFFIAny *result) {
  *result = tvmffi_int(*(int64_t *)field);
  return test_silent_calls++ ? 7 : 0;
}

static void test_silent_getters(TVMFFI_HERE) {
  int32_t index = test_py_class(test_fresh("unit.Silent"), tvmffi_none());
  TVMFFIObject *o, *copy = NULL;
  TVMFFIFieldInfo f;
  OK(index < 0 ? -1 : 0);
  memset((void *)&f, 0, sizeof(f));
  f.name = TEXT("silent");
  f.size = 8;
  f.alignment = 8;
  f.offset = (int64_t)offsetof(test_py, d);
  f.field_static_type_index = kTVMFFIInt;
  f.getter = test_silent_getter;
  OK(TVMFFITypeRegisterField(index, &f));
  o = tvmffi_i_new_object(index, sizeof(test_py));
  OK(o ? 0 : -1);
  OWN(o);
  test_silent_calls = 0;
  OK(test_deep_copy(o, &copy));
  FAILS(test_deep_copy(o, &copy), "RuntimeError",
        "A field getter failed with code 7 and no error");
}

/* Getters and setters that count down their calls, and fail from the one on at
   which test_calls_left is 0: that one only, or all. */
static int test_calls_left, test_fails_on;
static int test_use_call(void) {
  if (test_calls_left > 0 || (test_calls_left < 0 && !test_fails_on)) {
    --test_calls_left;
    return 0;
  }
  --test_calls_left;
  return TVMFFI_RAISE("ValueError", "a fault");
}
static int test_faulty_get(void *field, TVMFFIAny *result) {
  TVMFFIObject *raised = tvmffi_i_error_remove();
  CHECK(!raised);
  tvmffi_i_release(raised);
  TVMFFI_TRY(test_use_call());
  return tvmffi_i_get_any_field(field, result);
}
static int test_faulty_convert(void *converter, const TVMFFIAny *value,
                               TVMFFIAny *result) {
  (void)converter;
  TVMFFI_TRY(test_use_call());
  return TVMFFIAnyViewToOwnedAny(value, result);
}
static int test_faulty_set(void *field, const TVMFFIAny *value) {
  TVMFFIObject *raised = tvmffi_i_error_remove();
  CHECK(!raised);
  tvmffi_i_release(raised);
  TVMFFI_TRY(test_use_call());
  return tvmffi_i_set_any_field(field, value);
}

typedef struct {
  TVMFFIObject base;
  TVMFFIAny x, y, z;
} test_faulty;

/* Registers a class of such objects. The setter of `y` is a function, and the
   getter is one of the runtime unless `own_getters`. The type of `z` is one for
   which the runtime has no setter. */
static int32_t test_faulty_class(int own_getters) {
  TVMFFIFieldSetter set = test_faulty_set;
  int32_t index =
      test_type(test_fresh("unit.Faulty"), -1, 1, 0, 1, kTVMFFIObject);
  TVMFFIAny args[3], any;
  TVMFFIFieldInfo f;
  int i;
  if (index < 0) return -1;
  args[0] = tvmffi_int(kTVMFFIAny);
  args[1] = tvmffi_int(0);
  args[2] = tvmffi_int((int64_t)(intptr_t)test_faulty_convert);
  if (test_apply_global("ffi.MakeFieldSetter", args, 3, &any)) return -1;
  for (i = 0; i < 3; ++i) {
    f = test_field(i == 0 ? "x" : i == 1 ? "y" : "z",
                   (int64_t)(sizeof(TVMFFIObject) + sizeof(TVMFFIAny) * i));
    f.size = (int64_t)sizeof(TVMFFIAny);
    f.alignment = 8;
    f.getter = tvmffi_i_get_any_field;
    if (i == 1) {
      f.flags |= kTVMFFIFieldFlagBitSetterIsFunctionObj;
      f.setter = any.v_ptr;
    } else {
      memcpy(&f.setter, &set, sizeof(f.setter));
    }
    if (i != 1 || own_getters) f.getter = test_faulty_get;
    f.field_static_type_index = i == 2 ? (int32_t)kTVMFFIRawStr : kTVMFFIAny;
    if (TVMFFITypeRegisterField(index, &f)) return -1;
  }
  args[0] = tvmffi_int(index);
  args[1] = tvmffi_int((int64_t)sizeof(test_faulty));
  return test_apply_global("ffi._PyClassRegisterTypeAttrColumns", args, 2, &any)
             ? -1
             : index;
}

static void test_set_faulty(TVMFFIObject *o, TVMFFIObject *x, TVMFFIObject *y) {
  test_faulty *f = (test_faulty *)(void *)o;
  TVMFFIAny old[2];
  old[0] = f->x;
  old[1] = f->y;
  f->x = x ? tvmffi_obj(x) : tvmffi_none();
  f->y = y ? tvmffi_obj(y) : tvmffi_none();
  if (x) tvmffi_retain(x);
  if (y) tvmffi_retain(y);
  tvmffi_any_release(&old[0]);
  tvmffi_any_release(&old[1]);
}

/* Copies an array of two objects and a list. If `cyclic`, the objects refer to
   each other and to the array. Otherwise the first object refers to the second,
   and both refer to the list. For each call of a getter or setter, lets this
   call fail. Unless `cyclic`, lets all later calls fail, too: copies in a cycle
   whose getters always fail cannot be taken apart. The copy must fail with that
   error and leave nothing behind. */
static void test_copy_faults(TVMFFIObject **o, int cyclic) {
  TVMFFIObject *copy = NULL, *a, *b;
  int n, code = -1;
  test_set_faulty(o[1], o[2], cyclic ? o[0] : o[3]);
  test_set_faulty(o[2], cyclic ? o[1] : NULL, cyclic ? o[0] : o[3]);
  for (n = 0; code && n < 100 && (n == 0 || !test_hits()); ++n) {
    test_calls_left = n;
    test_fails_on = !cyclic;
    code = test_deep_copy(o[0], &copy);
    test_calls_left = 1 << 20;
    if (code) FAILS(code, "ValueError", "a fault");
  }
  CHECK(test_hits() || (n > 7 && n < 100));
  if (!code) {
    a = test_item(copy, 0);
    b = test_item(copy, 1);
    CHECK(copy != o[0] && a != o[1] && b != o[2]);
    CHECK(((test_faulty *)(void *)a)->x.v_obj == b);
    CHECK(((test_faulty *)(void *)b)->y.v_obj ==
          (cyclic ? copy : test_item(copy, 2)));
    test_set_faulty(a, NULL, NULL);
    test_set_faulty(b, NULL, NULL);
  }
  test_set_faulty(o[1], NULL, NULL);
  test_set_faulty(o[2], NULL, NULL);
}

static void test_copies_with_faults(int cyclic, int own_getters) {
  int32_t index = test_faulty_class(own_getters);
  TVMFFIObject *o[4];
  TVMFFIAny *items = NULL;
  int i;
  OK(index < 0 ? -1 : 0);
  o[0] = tvmffi_i_new_array(3, &items);
  OK(o[0] ? 0 : -1);
  OWN(o[0]);
  for (i = 1; i < 4; ++i) {
    o[i] = i == 3 ? tvmffi_i_new_list(0)
                  : tvmffi_i_new_object(index, sizeof(test_faulty));
    OK(o[i] ? 0 : -1);
    items[i - 1] = tvmffi_obj(o[i]); /* takes it */
  }
  test_copy_faults(o, cyclic);
}

static void test_faulty_copies(TVMFFI_HERE) { test_copies_with_faults(0, 1); }
static void test_faulty_cycles(TVMFFI_HERE) {
  test_copies_with_faults(1, 0);
  test_copies_with_faults(1, 1);
}

/* Hooks that copy nothing: they return the object itself, or no address. */
static int test_copy_to_same(void *self, const TVMFFIAny *args,
                             int32_t num_args, TVMFFIAny *result) {
  (void)self, (void)num_args;
  return TVMFFIAnyViewToOwnedAny(args, result);
}
static int test_copy_to_null(void *self, const TVMFFIAny *args,
                             int32_t num_args, TVMFFIAny *result) {
  (void)self, (void)num_args;
  *result = tvmffi_i_pointer(args[0].type_index, NULL);
  return 0;
}

/* A type of test_py with one field `b`, and a hook that copies its objects. */
static int32_t test_copied_by(TVMFFISafeCallType copier) {
  int32_t index = test_type_with("__ffi_shallow_copy__", copier);
  TVMFFIFieldInfo f = test_field("b", (int64_t)offsetof(test_py, b));
  f.size = (int64_t)sizeof(TVMFFIAny);
  f.flags |= kTVMFFIFieldFlagBitSetterIsFunctionObj;
  if (index < 0 || test_make_access(&f, kTVMFFIAny, NULL)) return -1;
  return TVMFFITypeRegisterField(index, &f) ? -1 : index;
}

/* Objects in a cycle that are their own copies: the copied array refers to
   them, and they to the copied array. */
static void test_odd_copiers(TVMFFI_HERE) {
  int32_t index = test_copied_by(test_copy_to_null);
  TVMFFIAny *items = NULL, *field;
  TVMFFIObject *o, *other, *array, *copy = NULL;
  int code;
  OK(index < 0 ? -1 : 0);
  o = tvmffi_i_new_object(index, sizeof(test_py));
  OK(o ? 0 : -1);
  OWN(o);
  FAILS(test_deep_copy(o, &copy), "TypeError",
        "...The shallow copy of a `unit");
  index = test_copied_by(test_copy_to_same);
  OK(index < 0 ? -1 : 0);
  o = tvmffi_i_new_object(index, sizeof(test_py));
  OK(o ? 0 : -1);
  OWN(o);
  other = tvmffi_i_new_object(index, sizeof(test_py));
  OK(other ? 0 : -1);
  OWN(other);
  array = tvmffi_i_new_array(2, &items);
  OK(array ? 0 : -1);
  OWN(array);
  items[0] = tvmffi_obj(o);
  items[1] = ((test_py *)(void *)o)->b = tvmffi_obj(other);
  field = &((test_py *)(void *)other)->b;
  *field = tvmffi_obj(array);
  tvmffi_retain(o);
  tvmffi_retain(other);
  tvmffi_retain(other);
  tvmffi_retain(array);
  code = test_deep_copy(array, &copy);
  if (!code) {
    CHECK(copy != array && test_item(copy, 0) == o);
    CHECK(test_item(copy, 1) == other);
    CHECK(((test_py *)(void *)o)->b.v_obj == other && field->v_obj == copy);
  }
  tvmffi_any_release(field);
  OK(code);
}

/* Keys of a map whose equality fails when their copies become keys. */
static int test_fail_equal(void *self, const TVMFFIAny *args, int32_t num_args,
                           TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args;
  *result = tvmffi_bool(0);
  return test_use_call();
}

static void test_copied_keys(TVMFFI_HERE) {
  int32_t index = test_py_class(test_fresh("unit.Key"), tvmffi_none());
  TVMFFIByteArray name = TEXT("__any_equal__");
  TVMFFIObjectHandle equal = NULL;
  TVMFFIObject *map, *copy = NULL;
  TVMFFIAny any;
  int i, code = 0;
  OK(index < 0 ? -1 : 0);
  OK(TVMFFIFunctionCreate(NULL, test_fail_equal, NULL, &equal));
  OWN(equal);
  any = tvmffi_obj((TVMFFIObject *)equal);
  OK(TVMFFITypeRegisterAttr(index, &name, &any));
  map = tvmffi_i_new_map(kTVMFFIMap, 0);
  OK(map ? 0 : -1);
  test_calls_left = 1;
  test_fails_on = 0;
  for (i = 0; i < 2 && !code; ++i) {
    any = tvmffi_obj(tvmffi_i_new_object(index, sizeof(test_py)));
    code = any.v_obj ? tvmffi_i_map_set(map, &any, &any) : -1;
    tvmffi_release(any.v_obj);
  }
  OWN(map);
  OK(code);
  FAILS(test_deep_copy(map, &copy), "ValueError", "a fault");
  test_calls_left = 1;
  OK(test_deep_copy(map, &copy));
  CHECK_INT(tvmffi_i_map_size(copy), 2);
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

/* Objects in objects, more than the copy's own room has frames for. */
static void test_deep_objects_copy(TVMFFI_HERE) {
  int32_t index = test_py_class(test_fresh("unit.Deep"), tvmffi_none());
  TVMFFIObject *o = NULL, *copy = NULL;
  test_py *outer;
  int i;
  OK(index < 0 ? -1 : 0);
  for (i = 0; i < 20; ++i) {
    outer = (test_py *)(void *)tvmffi_i_new_object(index, sizeof(*outer));
    if (!outer) tvmffi_release(o);
    OK(outer ? 0 : -1);
    outer->a = i;
    outer->c = o;
    o = &outer->base;
  }
  OWN(o);
  OK(test_deep_copy(o, &copy));
  for (i = 20; i-- > 0;) {
    CHECK_INT(((test_py *)(void *)copy)->a, i);
    CHECK(copy != o);
    o = ((test_py *)(void *)o)->c;
    copy = ((test_py *)(void *)copy)->c;
  }
}
#endif

static const test_case test_copy_cases[] = {
#if !TVMFFI_NO_CONTAINERS && !TEST_NO_REFLECTION && !TEST_NO_TYPES
    {"deep copies: shape", test_deep_copies},
    {"deep copies: what is its own copy", test_own_copies},
    {"deep copies: cycles", test_cyclic_copies},
    {"deep copies: cycles through objects", test_cyclic_object_copies},
    {"deep copies: cycles of all kinds", test_copies_of_all},
    {"deep copies: fields at one place", test_aliased_fields},
    {"deep copies: what has none", test_bad_copies},
    {"deep copies: getters that raise no error", test_silent_getters},
    {"deep copies: getters and setters that fail", test_faulty_copies},
    {"deep copies: those of a cycle that fail", test_faulty_cycles},
    {"deep copies: hooks that copy nothing", test_odd_copiers},
    {"deep copies: keys whose equality fails", test_copied_keys},
    {"deep copies: depth", test_deepest_copy},
    {"deep copies: depth of objects", test_deep_objects_copy},
#endif
    {NULL, NULL}};
