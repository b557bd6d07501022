/* ======== Visits: visits and mutations ==================================== */

#pragma once

#include "harness.h"
#include "nesting.h"
#include "type.h"
#include "sequence.h"
#include "apply.h"
#include "copy.h"
#include "repr.h"
#include "recursive.h"
#include "structural.h"

#if !TVMFFI_NO_EXTRA && !TEST_NO_REFLECTION && !TEST_NO_TYPES
/* An object of two fields, for which types are made below. */
typedef struct {
  TVMFFIObject base;
  TVMFFIAny x, y;
} test_visit_node;

/* Registers such a type: how it counts in comparisons, and the flags of x. */
static int32_t test_node_type(TVMFFISEqHashKind kind, int64_t flags) {
  const char *key = test_fresh("unit.Node");
  int32_t i, index = test_type(key, -1, 1, 0, 1, kTVMFFIObject);
  TVMFFIAny args[2], any;
  TVMFFITypeMetadata m;
  TVMFFIFieldInfo f;
  if (index < 0) return -1;
  memset((void *)&m, 0, sizeof(m));
  m.structural_eq_hash_kind = kind;
  m.total_size = (int32_t)sizeof(test_visit_node);
  if (TVMFFITypeRegisterMetadata(index, &m)) return -1;
  for (i = 0; i < 2; ++i) {
    memset((void *)&f, 0, sizeof(f));
    f.name = TEXT(i ? "y" : "x");
    f.size = 16;
    f.alignment = 8;
    f.offset = (int64_t)(i ? offsetof(test_visit_node, y)
                           : offsetof(test_visit_node, x));
    f.flags = kTVMFFIFieldFlagBitMaskWritable | (i ? 0 : flags);
    f.field_static_type_index = kTVMFFIAny;
    f.getter = tvmffi_i_get_any_field;
    f.setter = (void *)(uintptr_t)tvmffi_i_set_any_field;
    if (TVMFFITypeRegisterField(index, &f)) return -1;
  }
  args[0] = tvmffi_int(index);
  args[1] = tvmffi_int((int64_t)sizeof(test_visit_node));
  if (test_apply_global("ffi._PyClassRegisterTypeAttrColumns", args, 2, &any))
    return -1;
  return index;
}

#define NODE_TYPE(index, kind, flags)          \
  int32_t index = test_node_type(kind, flags); \
  OK(index < 0 ? -1 : 0)

/* A node of borrowed values, which the test owns. */
static TVMFFIObject *test_node_of(int32_t index, TVMFFIAny x, TVMFFIAny y) {
  TVMFFIObject *o = tvmffi_i_new_object(index, sizeof(test_visit_node));
  test_visit_node *node = (test_visit_node *)(void *)o;
  if (!o) {
    (void)test_code(-1, __FILE__, __LINE__, "a node ");
    return NULL;
  }
  OWN(o);
  tvmffi_i_copy_owned(&x, &node->x);
  tvmffi_i_copy_owned(&y, &node->y);
  return o;
}

#define VISIT_NODE(variable, index, x, y)             \
  TVMFFIObject *variable = test_node_of(index, x, y); \
  if (!variable) return

/* Says what a value is: a digit, or a letter for its kind. */
static void test_say_value(const TVMFFIAny *v) {
  switch (v->type_index) {
    case kTVMFFINone: test_say('.'); break;
    case kTVMFFIInt: test_say((char)('0' + v->v_int64 % 10)); break;
    case kTVMFFIArray: test_say('A'); break;
    case kTVMFFIList: test_say('L'); break;
    case kTVMFFIMap: test_say('M'); break;
    case kTVMFFIDict: test_say('D'); break;
    default: test_say('o');
  }
}

/* What the callbacks below do: they say their value first. */
enum {
  TEST_GO_ON,
  TEST_SAY_REGION, /* and say it */
  TEST_SKIP,       /* lists */
  TEST_STOP,       /* at 3 */
  TEST_RAISE,      /* at 3 */
  TEST_SAME,       /* map to itself */
  TEST_ADD,        /* map integers to the next one */
  TEST_CLEAR,      /* the list that test_touched is */
  TEST_DEFAULT,    /* descend by the visitor or mutator */
  TEST_AGAIN       /* visit the value itself */
};
static TVMFFIObject *test_touched;

/* Where the stack is now, and was at the lowest. */
static uintptr_t test_stack, test_stack_lowest;
static void test_look_at_stack(void) {
#if TVMFFI_I_GNU
  test_stack = (uintptr_t)__builtin_frame_address(0);
#else
  volatile char variable = 0;
  test_stack = (uintptr_t)&variable;
#endif
  if (test_stack < test_stack_lowest) test_stack_lowest = test_stack;
}

static int test_on_value(void *self, const TVMFFIAny *args, int32_t num_args,
                         TVMFFIAny *result) {
  TVMFFIAny any = tvmffi_none(), again[2];
  const char *name;
  int how = (int)*(const char *)self;
  int is_mutator =
      num_args > 1 && args[1].type_index == TVMFFI_I_STRUCTURAL_MUTATOR;
  if (how != TEST_AGAIN) test_say_value(&args[0]);
  switch (how) {
    case TEST_SAY_REGION: test_say_value(&args[num_args - 1]); break;
    case TEST_GO_ON: result->v_int64 = 1; break; /* None, whatever follows */
    case TEST_SKIP:
      if (args->type_index == kTVMFFIList) *result = tvmffi_int(1);
      break;
    case TEST_STOP:
      if (args->type_index != kTVMFFIInt || args->v_int64 != 3) break;
      any = tvmffi_int(33);
      return test_pass_on("ffi.VisitInterrupt", &any, 1, result);
    case TEST_RAISE:
      if (args->type_index == kTVMFFIInt && args->v_int64 == 3)
        return TVMFFI_RAISE("ValueError", "three");
      return TVMFFIAnyViewToOwnedAny(args, result);
    case TEST_SAME: return TVMFFIAnyViewToOwnedAny(args, result);
    case TEST_ADD:
      if (args->type_index == kTVMFFIInt) {
        *result = tvmffi_int(args->v_int64 + 1);
        break;
      }
      return TVMFFIAnyViewToOwnedAny(args, result);
    case TEST_CLEAR:
      any = tvmffi_obj(test_touched);
      TVMFFI_TRY(
          tvmffi_call(tvmffi_str("ffi.ListClear"), tvmffi_out_any(NULL), any));
      *result = args->type_index == kTVMFFIInt ? tvmffi_int(9) : tvmffi_none();
      break;
    case TEST_DEFAULT:
    case TEST_AGAIN:
      name = is_mutator ? "ffi.StructuralMutatorDefaultMutate"
                        : "ffi.StructuralVisitorDefaultVisit";
      if (how == TEST_AGAIN) {
        name = "ffi.StructuralVisitorVisit";
        test_look_at_stack();
      }
      again[0] = args[1];
      again[1] = args[0];
      return test_pass_on(name, again, 2, result);
    default: break;
  }
  return 0;
}

/* An array (owned by the test) of one callback for the type. */
static TVMFFIAny test_callbacks(int how, int32_t type_index, int width) {
  static const char hows[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  TVMFFIObjectHandle f = NULL;
  TVMFFIObject *row;
  TVMFFIAny views[3];
  if (test_code(TVMFFIFunctionCreate((void *)(uintptr_t)&hows[how],
                                     test_on_value, NULL, &f),
                __FILE__, __LINE__, "a callback "))
    return tvmffi_none();
  OWN(f);
  views[0] = tvmffi_int(type_index);
  views[1] = tvmffi_obj((TVMFFIObject *)f);
  views[2] = tvmffi_bool(0);
  row = test_sequence("ffi.Array", views, width);
  if (!row) return tvmffi_none();
  views[0] = tvmffi_obj(row);
  row = test_sequence("ffi.Array", views, 1);
  return row ? tvmffi_obj(row) : tvmffi_none();
}

static int test_walk(TVMFFIAny root, int how, int32_t index, int order,
                     TVMFFIAny *result) {
  TVMFFIAny args[4];
  TVMFFIObject *none = test_sequence("ffi.Array", NULL, 0);
  args[0] = root;
  args[how == TEST_SAY_REGION ? 2 : 1] = test_callbacks(how, index, 2);
  args[how == TEST_SAY_REGION ? 1 : 2] =
      none ? tvmffi_obj(none) : tvmffi_none();
  args[3] = tvmffi_int(order);
  if (args[1].type_index == kTVMFFINone || args[2].type_index == kTVMFFINone)
    return tvmffi_i_no_memory();
  return test_apply_global(
      how == TEST_SAME || how == TEST_ADD || how == TEST_CLEAR
          ? "ffi.StructuralMap"
          : "ffi.StructuralWalk",
      args, 4, result);
}

static int test_descend(const char *name, TVMFFIAny root, int how,
                        int32_t index, int width, TVMFFIAny *result) {
  TVMFFIAny args[2];
  args[0] = root;
  args[1] = test_callbacks(how, index, width);
  if (args[1].type_index == kTVMFFINone) return tvmffi_i_no_memory();
  return test_apply_global(name, args, 2, result);
}

/* [1, [2, None] as a list, {1: 3} as a map, {1: 4} as a dict]. */
static TVMFFIObject *test_tree(void) {
  TVMFFIAny views[4], pair[2];
  TVMFFIObject *o[3];
  pair[0] = tvmffi_int(2);
  pair[1] = tvmffi_none();
  o[0] = test_sequence("ffi.List", pair, 2);
  pair[0] = tvmffi_int(1);
  pair[1] = tvmffi_int(3);
  o[1] = o[0] ? test_sequence("ffi.Map", pair, 2) : NULL;
  pair[1] = tvmffi_int(4);
  o[2] = o[1] ? test_sequence("ffi.Dict", pair, 2) : NULL;
  if (!o[2]) return NULL;
  views[0] = tvmffi_int(1);
  views[1] = tvmffi_obj(o[0]);
  views[2] = tvmffi_obj(o[1]);
  views[3] = tvmffi_obj(o[2]);
  return test_sequence("ffi.Array", views, 4);
}

/* A callback sets a key of the dict that is visited, which moves the entry to
   the end: the visited one, always the first one, or one beside it. */
typedef struct {
  TVMFFIObject *dict;
  int64_t own;    /* 1: the visited key, 0: key 0, 2: the key after it, 3: the
                     key before it, 4: key 2, when it is visited */
  unsigned seen;  /* a bit for each value */
  int num_visits; /* an endless visit stops at 100 */
} test_key_setter;

static int test_set_visited(void *self, const TVMFFIAny *args, int32_t n,
                            TVMFFIAny *result) {
  test_key_setter *s = (test_key_setter *)self;
  const int64_t value = args[0].v_int64;
  const int64_t key = s->own == 4 ? (value == 2 ? 2 : -1)
                      : s->own    ? value + s->own % 3 - 1
                                  : 0;
  (void)n, (void)result;
  s->seen |= 1u << args[0].v_int64;
  if (++s->num_visits > 100) return TVMFFI_RAISE("ValueError", "no end");
  if (key < 0 || key >= tvmffi_i_map_size(s->dict)) return 0;
  return tvmffi_call(tvmffi_str("ffi.DictSetItem"), tvmffi_out_any(NULL),
                     tvmffi_obj(s->dict), tvmffi_int(key), tvmffi_int(key));
}

static void test_set_while_visited(TVMFFI_HERE) {
  static const int sizes[] = {3, 4, 5, 8};
  test_key_setter s = {NULL, 0, 0, 0};
  TVMFFIObjectHandle f = NULL;
  TVMFFIObject *row, *none = test_sequence("ffi.Array", NULL, 0);
  TVMFFIAny views[16], args[4], any;
  int i, k;
  OK(TVMFFIFunctionCreate(&s, test_set_visited, NULL, &f));
  OWN(f);
  views[0] = tvmffi_int(kTVMFFIInt);
  views[1] = tvmffi_obj((TVMFFIObject *)f);
  row = test_sequence("ffi.Array", views, 2);
  views[0] = row ? tvmffi_obj(row) : tvmffi_none();
  row = row ? test_sequence("ffi.Array", views, 1) : NULL;
  if (!row || !none) return;
  args[1] = tvmffi_obj(row);
  args[2] = tvmffi_obj(none);
  args[3] = tvmffi_int(0);
  for (i = 0; i < 20; ++i) {
    const int size = sizes[i % 4];
    int code = 0;
    s.dict = tvmffi_i_new_map(kTVMFFIDict, 0);
    OK(s.dict ? 0 : -1);
    for (k = 0; k < size && !code; ++k) {
      views[0] = tvmffi_int(k);
      code = tvmffi_i_map_set(s.dict, views, views);
    }
    s.own = i / 4;
    s.seen = 0;
    s.num_visits = 0;
    args[0] = tvmffi_obj(s.dict);
    if (!code) code = test_apply_global("ffi.StructuralWalk", args, 4, &any);
    tvmffi_release(s.dict);
    OK(code);
    CHECK_INT(s.seen, (1u << size) - 1);
    CHECK(s.num_visits == size || (size == 4 && s.num_visits == 5));
  }
}

static void test_visit_columns(TVMFFI_HERE) {
  static const char *const names[] = {"__s_visit__", "__s_mutate__",
                                      "__s_maybe_inplace_mutate__"};
  TVMFFIAny other = tvmffi_ptr((void *)(uintptr_t)test_on_value);
  TVMFFIByteArray name;
  int32_t i, k;
  OK(TVMFFIGetTypeInfo(kTVMFFIArray) ? 0 : -1);
  for (k = 0; k < 3; ++k)
    for (i = 0; i < kTVMFFIStaticObjectEnd; ++i) {
      int leaf = i == kTVMFFIStr || i == kTVMFFIBytes || i == kTVMFFIBigInt;
      int has = tvmffi_i_is_container(i) || (k && leaf);
      CHECK_INT(test_value_of(i, names[k]).type_index,
                has ? kTVMFFIOpaquePtr : kTVMFFINone);
    }
  tvmffi_error_clear(); /* of a column that lacked memory */
  for (k = 0; k < 3; ++k) {
    name = TEXT(names[k]);
    FAILS(TVMFFITypeRegisterAttr(kTVMFFIDict, &name, &other), "RuntimeError",
          "...` is already registered for type index");
  }
}

static void test_walks(TVMFFI_HERE) {
  TVMFFIObject *tree = test_tree();
  TVMFFIAny any;
  if (!tree) return;
  OK(test_walk(tvmffi_obj(tree), TEST_GO_ON, kTVMFFIAny, 0, &any));
  CHECK_LOG("A1L2M3D4");
  CHECK_INT(any.type_index, kTVMFFINone);
  OK(test_walk(tvmffi_obj(tree), TEST_GO_ON, kTVMFFIAny, 1, &any));
  CHECK_LOG("12L3M4DA");
  OK(test_walk(tvmffi_obj(tree), TEST_SKIP, kTVMFFIAny, 0, &any));
  CHECK_LOG("A1LM3D4");
  OK(test_walk(tvmffi_obj(tree), TEST_STOP, kTVMFFIAny, 1, &any));
  CHECK_LOG("12L3");
  CHECK_INT(any.type_index, kTVMFFIVisitInterrupt);
  CHECK_INT(test_get_field(any.v_obj, "value").v_int64, 33);
  OK(test_walk(tvmffi_int(5), TEST_GO_ON, kTVMFFIObject, 1, &any));
  OK(test_walk(tvmffi_int(5), TEST_GO_ON, kTVMFFIInt, 1, &any));
  CHECK_LOG("5");
}

static void test_visits(TVMFFI_HERE) {
  TVMFFIObject *tree = test_tree();
  TVMFFIAny any;
  if (!tree) return;
  OK(test_descend("ffi.StructuralVisit", tvmffi_obj(tree), TEST_GO_ON,
                  kTVMFFIList, 2, &any));
  CHECK_LOG("L");
  OK(test_descend("ffi.StructuralVisit", tvmffi_obj(tree), TEST_DEFAULT,
                  kTVMFFIAny, 2, &any));
  CHECK_LOG("A1L2M3D4");
  OK(test_descend("ffi.StructuralMutate", tvmffi_obj(tree), TEST_DEFAULT,
                  kTVMFFIObject, 3, &any));
  CHECK_LOG("ALMD");
  CHECK(any.v_obj == tree);
  OK(test_descend("ffi.StructuralMutate", tvmffi_obj(tree), TEST_ADD,
                  kTVMFFIInt, 3, &any));
  CHECK_LOG("1234");
  CHECK(any.v_obj != tree);
}

static void test_maps_on_write(TVMFFI_HERE) {
  TVMFFIObject *tree = test_tree(), *inner;
  TVMFFIAny any, key = tvmffi_int(1);
  TVMFFIAny moved;
  if (!tree) return;
  inner = test_item(tree, 1);
  OK(test_walk(tvmffi_obj(tree), TEST_SAME, kTVMFFIAny, 1, &any));
  CHECK(any.v_obj == tree);
  CHECK_LOG("12.L3M4DA");
  OK(test_walk(tvmffi_obj(tree), TEST_ADD, kTVMFFIInt, 0, &any));
  CHECK_LOG("1234");
  CHECK(any.v_obj != tree && test_item(any.v_obj, 1) != inner);
  CHECK_INT(((TVMFFIAny *)test_cell(tree)->data)->v_int64, 1);
  CHECK_INT(((TVMFFIAny *)test_cell(any.v_obj)->data)->v_int64, 2);
  CHECK_INT(tvmffi_i_map_get(test_item(any.v_obj, 2), &key)->v_int64, 4);
  CHECK_INT(tvmffi_i_map_get(test_item(tree, 2), &key)->v_int64, 3);
  CHECK_INT(tvmffi_i_map_get(test_item(any.v_obj, 3), &key)->v_int64, 5);
  /* What is moved there, and is shared no more, is changed in place. */
  tree = any.v_obj;
  inner = test_item(tree, 1);
  tvmffi_retain(inner);
  OWN(inner);
  tvmffi_retain(tree);
  test_drop(tree);
  moved = tvmffi_obj(tree);
  any = tvmffi_i_pointer(kTVMFFIObjectRValueRef, &moved.v_obj);
  if (test_walk(any, TEST_ADD, kTVMFFIInt, 1, &any)) {
    tvmffi_release(moved.v_obj);
    OK(-1);
    return;
  }
  CHECK_LOG("2345");
  CHECK(any.v_obj == tree && test_item(tree, 1) != inner);
  CHECK_INT(((TVMFFIAny *)test_cell(tree)->data)->v_int64, 3);
  CHECK_INT(((TVMFFIAny *)test_cell(inner)->data)->v_int64, 3);
  CHECK_INT(tvmffi_i_map_get(test_item(tree, 2), &key)->v_int64, 5);
}

static void test_visited_fields(TVMFFI_HERE) {
  NODE_TYPE(plain, kTVMFFISEqHashKindTreeNode, 0);
  NODE_TYPE(ignores, kTVMFFISEqHashKindTreeNode,
            kTVMFFIFieldFlagBitMaskSEqHashIgnore);
  TVMFFIAny any;
  VISIT_NODE(a, ignores, tvmffi_int(1), tvmffi_int(2));
  VISIT_NODE(b, plain, tvmffi_obj(a), tvmffi_int(3));
  OK(test_walk(tvmffi_obj(b), TEST_GO_ON, kTVMFFIAny, 0, &any));
  CHECK_LOG("oo23");
  OK(test_walk(tvmffi_obj(b), TEST_ADD, kTVMFFIInt, 1, &any));
  CHECK_LOG("23");
  CHECK(any.v_obj != b);
  CHECK_INT(test_get_field(any.v_obj, "y").v_int64, 4);
  any = test_get_field(any.v_obj, "x");
  CHECK_INT(test_get_field(any.v_obj, "x").v_int64, 1);
  CHECK_INT(test_get_field(any.v_obj, "y").v_int64, 3);
  CHECK_INT(test_get_field(a, "y").v_int64, 2);
}

/* Objects whose fields are visited, but none is changed. */
static void test_unchanged_objects(TVMFFI_HERE) {
  static TVMFFIObject strange; /* of a type that does not exist */
  NODE_TYPE(plain, kTVMFFISEqHashKindTreeNode, 0);
  NODE_TYPE(var, kTVMFFISEqHashKindFreeVar, 0);
  NODE_TYPE(simple, kTVMFFISEqHashKindTreeNode,
            kTVMFFIFieldFlagBitMaskSEqHashDefSimple);
  NODE_TYPE(pattern, kTVMFFISEqHashKindTreeNode,
            kTVMFFIFieldFlagBitMaskSEqHashDefPattern);
  NODE_TYPE(shared, kTVMFFISEqHashKindDAGNode, 0);
  int32_t child = test_type(test_fresh("unit.Child"), -1, 2, 0, 1, plain);
  TVMFFIAny any, item = tvmffi_int(1);
  OK(child < 0 ? -1 : 0);
  {
    SEQUENCE(list, "List", &item, 1);
    VISIT_NODE(v, var, tvmffi_obj(list), tvmffi_none());
    VISIT_NODE(a, plain, tvmffi_obj(v), tvmffi_none());
    VISIT_NODE(s, simple, tvmffi_obj(v), tvmffi_obj(v));
    VISIT_NODE(p, pattern, tvmffi_obj(v), tvmffi_obj(v));
    VISIT_NODE(d, shared, tvmffi_obj(list), tvmffi_none());
    VISIT_NODE(c, child, tvmffi_obj(list), tvmffi_none());
    TVMFFIObject *nodes[4];
    int i;
    nodes[0] = a;
    nodes[1] = s;
    nodes[2] = p;
    nodes[3] = d;
    for (i = 0; i < 4; ++i) {
      OK(test_walk(tvmffi_obj(nodes[i]), TEST_SAME, kTVMFFIInt, 1, &any));
      CHECK(any.v_obj == nodes[i]);
      test_log_size = 0;
    }
    OK(test_walk(tvmffi_obj(c), TEST_GO_ON, kTVMFFIInt, 1, &any));
    CHECK_LOG("1");
  }
  strange.combined_ref_count = TVMFFI_I_BOTH_ONE;
  strange.type_index = 120;
  FAILS(test_walk(tvmffi_obj(&strange), TEST_GO_ON, kTVMFFIInt, 1, &any),
        "InternalError", NULL);
}

/* A variable is rewritten where it is defined, and so in all its uses. */
static void test_variables(TVMFFI_HERE) {
  NODE_TYPE(var, kTVMFFISEqHashKindFreeVar, 0);
  NODE_TYPE(simple, kTVMFFISEqHashKindTreeNode,
            kTVMFFIFieldFlagBitMaskSEqHashDefSimple);
  NODE_TYPE(pattern, kTVMFFISEqHashKindTreeNode,
            kTVMFFIFieldFlagBitMaskSEqHashDefPattern);
  NODE_TYPE(shared, kTVMFFISEqHashKindDAGNode, 0);
  TVMFFIAny any, pair[2];
  VISIT_NODE(type, var, tvmffi_none(), tvmffi_none());
  VISIT_NODE(v, var, tvmffi_int(1), tvmffi_obj(type));
  VISIT_NODE(s, simple, tvmffi_obj(v), tvmffi_obj(v));
  VISIT_NODE(p, pattern, tvmffi_obj(v), tvmffi_obj(v));
  VISIT_NODE(d, shared, tvmffi_int(5), tvmffi_none());
  OK(test_walk(tvmffi_obj(s), TEST_SAY_REGION, kTVMFFIObject, 0, &any));
  CHECK_LOG("o0o2o0o0o0");
  OK(test_walk(tvmffi_obj(p), TEST_SAY_REGION, kTVMFFIObject, 0, &any));
  CHECK_LOG("o0o1o1o0o0");
  OK(test_walk(tvmffi_obj(s), TEST_ADD, kTVMFFIInt, 1, &any));
  CHECK_LOG("1");
  CHECK(any.v_obj != s);
  CHECK(test_get_field(any.v_obj, "x").v_obj ==
        test_get_field(any.v_obj, "y").v_obj);
  CHECK(test_get_field(any.v_obj, "x").v_obj != v);
  OK(test_walk(tvmffi_obj(v), TEST_ADD, kTVMFFIInt, 1, &any));
  CHECK(any.v_obj == v); /* a use of a variable that nobody rewrote */
  pair[0] = pair[1] = tvmffi_obj(d);
  {
    SEQUENCE(twice, "Array", pair, 2);
    OK(test_walk(tvmffi_obj(twice), TEST_ADD, kTVMFFIInt, 1, &any));
    CHECK_LOG("5");
    CHECK(test_item(any.v_obj, 0) == test_item(any.v_obj, 1));
    CHECK(test_item(any.v_obj, 0) != d);
  }
}

/* A visitor's own functions, called back with it. */
static int test_on_mutator(void *self, const TVMFFIAny *args, int32_t num_args,
                           TVMFFIAny *result) {
  static const char name[] = "ffi.StructuralMutatorWithDefRegionKind";
  TVMFFIAny m = args[1], any, got = tvmffi_none();
  TVMFFIObjectHandle raise = NULL;
  int64_t region = -1;
  (void)self, (void)num_args;
  TVMFFI_TRY(tvmffi_call(tvmffi_str("ffi.StructuralMutatorVarRemapGet"),
                         tvmffi_out_any(&got), m, args[0]));
  CHECK_INT(got.type_index, kTVMFFINone);
  TVMFFI_TRY(tvmffi_call(tvmffi_str("ffi.StructuralMutatorVarRemapSet"),
                         tvmffi_out_any(NULL), m, args[0], tvmffi_int(7)));
  TVMFFI_TRY(tvmffi_call(tvmffi_str("ffi.StructuralMutatorVarRemapSet"),
                         tvmffi_out_any(NULL), m, args[0], tvmffi_int(8)));
  TVMFFI_TRY(tvmffi_call(tvmffi_str("ffi.StructuralMutatorVarRemapGet"),
                         tvmffi_out_any(&got), m, args[0]));
  CHECK_INT(got.v_int64, 8);
  FAILS(tvmffi_call(tvmffi_str("ffi.StructuralMutatorVarRemapSet"),
                    tvmffi_out_any(NULL), m, tvmffi_int(1), tvmffi_int(2)),
        "TypeError", "Variable-remap key must be an object-backed value");
  TVMFFI_TRY(TVMFFIFunctionCreate(NULL, test_raise_callback, NULL, &raise));
  any = tvmffi_obj((TVMFFIObject *)raise);
  FAILS(tvmffi_call(tvmffi_str(name), tvmffi_out_any(&got), m, tvmffi_int(2),
                    any),
        "ValueError", "the callback says no");
  tvmffi_release(raise);
  TVMFFI_TRY(tvmffi_call(tvmffi_str("ffi.StructuralMutatorDefRegionKind"),
                         tvmffi_out_int64(&region), m));
  CHECK_INT(region, 0);
  *result = tvmffi_int(4);
  return 0;
}

static void test_mutators(TVMFFI_HERE) {
  TVMFFIObject *tree = test_tree();
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny row[3], any, args[2];
  if (!tree) return;
  OK(TVMFFIFunctionCreate(NULL, test_on_mutator, NULL, &f));
  OWN(f);
  row[0] = tvmffi_int(kTVMFFIArray);
  row[1] = tvmffi_obj((TVMFFIObject *)f);
  row[2] = tvmffi_bool(0);
  {
    SEQUENCE(entry, "Array", row, 3);
    row[0] = tvmffi_obj(entry);
  }
  {
    SEQUENCE(entries, "Array", row, 1);
    args[0] = tvmffi_obj(tree);
    args[1] = tvmffi_obj(entries);
    OK(test_apply_global("ffi.StructuralMutate", args, 2, &any));
    CHECK_INT(any.v_int64, 4);
  }
}

static TVMFFIAny test_kept_visitor; /* borrowed, during a visit */

static int test_in_region(void *self, const TVMFFIAny *args, int32_t num_args,
                          TVMFFIAny *result) {
  int64_t region = -1;
  (void)self, (void)args, (void)num_args;
  TVMFFI_TRY(tvmffi_call(tvmffi_str("ffi.StructuralVisitorDefRegionKind"),
                         tvmffi_out_int64(&region), test_kept_visitor));
  *result = tvmffi_int(region);
  return 0;
}

static int test_on_visitor(void *self, const TVMFFIAny *args, int32_t num_args,
                           TVMFFIAny *result) {
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny any, visitor = args[1];
  int64_t region = -1;
  int code;
  (void)self, (void)num_args, (void)result;
  test_kept_visitor = visitor;
  TVMFFI_TRY(TVMFFIFunctionCreate(NULL, test_in_region, NULL, &f));
  any = tvmffi_obj((TVMFFIObject *)f);
  code = tvmffi_call(tvmffi_str("ffi.StructuralVisitorWithDefRegionKind"),
                     tvmffi_out_int64(&region), visitor, tvmffi_int(2), any);
  tvmffi_release(f);
  TVMFFI_TRY(code);
  CHECK_INT(region, 2);
  TVMFFI_TRY(tvmffi_call(tvmffi_str("ffi.StructuralVisitorDefRegionKind"),
                         tvmffi_out_int64(&region), visitor));
  CHECK_INT(region, 0);
  return 0;
}

/* Calls a function of two arguments with the tree and a list of lists that has
   one callback. */
static int test_visit_by(const char *name, TVMFFISafeCallType call,
                         int32_t type_index, int n, TVMFFIAny *result) {
  TVMFFIObject *tree = test_tree();
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny row[3], args[2], inner;
  if (!tree) return tvmffi_i_no_memory();
  TVMFFI_TRY(TVMFFIFunctionCreate(NULL, call, NULL, &f));
  OWN(f);
  row[0] = tvmffi_int(type_index);
  row[1] = tvmffi_obj((TVMFFIObject *)f);
  row[2] = tvmffi_bool(0);
  TVMFFI_TRY(test_apply_global("ffi.Array", row, n, &inner));
  TVMFFI_TRY(test_apply_global("ffi.List", &inner, 1, &args[1]));
  args[0] = tvmffi_obj(tree);
  return test_apply_global(name, args, 2, result);
}

#if defined(__cplusplus) && defined(__cpp_exceptions)
/* A callback of arrays visits their items. The callback of an empty array
   throws, and `test_catches` tells whether that of the outer array catches. */
static int test_catches;
static int test_throw_in_visit(void *self, const TVMFFIAny *args,
                               int32_t num_args, TVMFFIAny *result) {
  TVMFFIAny again[] = {args[1], args[0]};
  int64_t size = 0;
  int code = 0;
  (void)self, (void)num_args;
  TVMFFI_TRY(tvmffi_call(tvmffi_str("ffi.ArraySize"), tvmffi_out_int64(&size),
                         args[0]));
  if (!size) throw 7;
  test_kept_visitor = args[1];
  try {
    code = test_pass_on("ffi.StructuralVisitorDefaultVisit", again, 2, result);
  } catch (int) {
    if (!test_catches) throw;
  }
  return code;
}

/* A visitor whose visit an exception has left has a stack of its own. */
static void test_thrown_visits(TVMFFI_HERE) {
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny row[2], callbacks, array, any;
  int i, code;
  OK(TVMFFIFunctionCreate(NULL, test_throw_in_visit, NULL, &f));
  OWN(f);
  row[0] = tvmffi_int(kTVMFFIArray);
  row[1] = tvmffi_obj((TVMFFIObject *)f);
  OK(test_apply_global("ffi.Array", row, 2, &any));
  OK(test_apply_global("ffi.Array", &any, 1, &callbacks));
  OK(test_apply_global("ffi.Array", NULL, 0, &array));
  for (i = 0; i < 3; ++i) {
    any = array;
    OK(test_apply_global("ffi.Array", &any, 1, &array));
  }
  row[0] = array;
  row[1] = callbacks;
  test_catches = 1;
  FAILS(test_apply_global("ffi.StructuralVisit", row, 2, &any), "RuntimeError",
        "An exception left the callback of a hook");
  test_catches = code = 0;
  test_kept_visitor = tvmffi_none();
  try {
    code = test_apply_global("ffi.StructuralVisit", row, 2, &any);
  } catch (int) { /* the visitor is now the test's: the visit has lost it */
    OWN(test_kept_visitor.v_obj);
  }
  OK(code);
  if (test_kept_visitor.type_index != kTVMFFINone) {
    const tvmffi_i_engine *e = (const tvmffi_i_engine *)test_kept_visitor.v_ptr;
    test_spoil_stack();
    any = tvmffi_int(3);
    OK(tvmffi_call(tvmffi_str("ffi.StructuralVisitorVisit"),
                   tvmffi_out_any(NULL), test_kept_visitor, any));
    CHECK(!e->walk.frames.depth && !e->walk.frames.bottom.first);
  }
  CHECK(!tvmffi_i_thread_guards()->depth);
}
#endif

#if defined(TEST_LEAVES)
/* Visits the items of a list. The callback of an item leaves that of the list,
   which then fails. */
static TVMFFIObject *test_default_visit; /* ffi.StructuralVisitorDefaultVisit */
static int test_catch_in_visit(void *self, const TVMFFIAny *args,
                               int32_t num_args, TVMFFIAny *result) {
  TVMFFIAny again[2];
  int is_left = 0;
  (void)self, (void)num_args;
  if (args[0].type_index == kTVMFFIInt) test_leave_hook();
  again[0] = args[1];
  again[1] = args[0];
  TVMFFI_TRY(test_call_left(test_default_visit, again, 2, result, &is_left));
  CHECK(is_left);
  return TVMFFI_RAISE("ValueError", "too late");
}

static void test_left_callback(TVMFFI_HERE) {
  TVMFFIAny any = tvmffi_int(3), args[2];
  SEQUENCE(list, "List", &any, 1);
  TVMFFIObjectHandle f = NULL;
  test_default_visit = test_global("ffi.StructuralVisitorDefaultVisit");
  if (!test_default_visit) return;
  OK(TVMFFIFunctionCreate(NULL, test_catch_in_visit, NULL, &f));
  OWN(f);
  args[0] = tvmffi_int(kTVMFFIAny);
  args[1] = tvmffi_obj((TVMFFIObject *)f);
  OK(test_apply_global("ffi.Array", args, 2, &any));
  OK(test_apply_global("ffi.Array", &any, 1, &args[1]));
  args[0] = tvmffi_obj(list);
  FAILS(test_apply_global("ffi.StructuralVisit", args, 2, &any),
        "RuntimeError", "An exception left the callback of a hook");
  CHECK(!tvmffi_i_thread_guards()->depth);
}
#endif

#if defined(__cplusplus) && defined(__cpp_exceptions)
static int test_keep_visitor(void *self, const TVMFFIAny *args,
                             int32_t num_args, TVMFFIAny *result) {
  (void)self, (void)num_args, (void)result;
  test_kept_visitor = args[0];
  return 0;
}

/* Visits a list by the visitor, and catches what a hook in the list throws. */
static int test_catch_after(void *self, const TVMFFIAny *args, int32_t num_args,
                            TVMFFIAny *result) {
  TVMFFIAny again[2];
  (void)self, (void)args, (void)num_args;
  again[0] = test_kept_visitor;
  again[1] = tvmffi_obj(test_touched);
  try {
    return test_pass_on("ffi.StructuralVisitorVisit", again, 2, result);
  } catch (int) {
    return 0;
  }
}

/* A post-order callback that catches an exception is an error. */
static void test_caught_after(TVMFFI_HERE) {
  NODE_TYPE(keeps, kTVMFFISEqHashKindTreeNode, 0);
  NODE_TYPE(throws, kTVMFFISEqHashKindTreeNode, 0);
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny row[4], any;
  OK(test_set_hook(keeps, "__s_visit__", test_keep_visitor));
  OK(test_set_hook(throws, "__s_visit__", test_throw_from_hook));
  VISIT_NODE(a, keeps, tvmffi_none(), tvmffi_none());
  VISIT_NODE(b, throws, tvmffi_none(), tvmffi_none());
  any = tvmffi_obj(b);
  SEQUENCE(list, "List", &any, 1);
  test_touched = list;
  any = tvmffi_obj(a);
  SEQUENCE(root, "List", &any, 1);
  OK(TVMFFIFunctionCreate(NULL, test_catch_after, NULL, &f));
  OWN(f);
  row[0] = tvmffi_int(kTVMFFIList);
  row[1] = tvmffi_obj((TVMFFIObject *)f);
  OK(test_apply_global("ffi.Array", row, 2, &any));
  row[0] = tvmffi_obj(root);
  OK(test_apply_global("ffi.Array", &any, 1, &row[1]));
  OK(test_apply_global("ffi.Array", NULL, 0, &row[2]));
  row[3] = tvmffi_int(1);
  FAILS(test_apply_global("ffi.StructuralWalk", row, 4, &any), "RuntimeError",
        "An exception left the callback of a hook");
  CHECK(!tvmffi_i_thread_guards()->depth);
}
#endif

static int test_give_a_text(void *self, const TVMFFIAny *args, int32_t num_args,
                            TVMFFIAny *result) {
  TVMFFIByteArray text = TEXT("no result of a visit");
  (void)self, (void)args, (void)num_args;
  return TVMFFIStringFromByteArray(&text, result);
}

static int test_mutate_again(void *self, const TVMFFIAny *args,
                             int32_t num_args, TVMFFIAny *result) {
  TVMFFIAny again[2];
  (void)self;
  CHECK_INT(num_args, 2); /* the row does not ask for `unique` */
  again[0] = args[1];
  again[1] = tvmffi_int(6);
  return test_pass_on("ffi.StructuralMutatorMutate", again, 2, result);
}

static void test_visitors(TVMFFI_HERE) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIAny any;
  OK(test_visit_by("ffi.StructuralVisit", test_on_visitor, kTVMFFIArray, 2,
                   &any));
  CHECK_INT(any.type_index, kTVMFFINone);
  OK(test_visit_by("ffi.StructuralMutate", test_mutate_again, kTVMFFIArray, 3,
                   &any));
  CHECK_INT(any.type_index, kTVMFFIInt);
  CHECK_INT(any.v_int64, 6);
  FAILS(test_visit_by("ffi.StructuralVisit", test_give_a_text, kTVMFFIArray, 2,
                      &any),
        "TypeError", NULL);
  /* A type that does not exist matches nothing, and leaves no error. */
  OK(test_visit_by("ffi.StructuralVisit", test_give_a_text, 120, 2, &any));
  CHECK_INT(any.type_index, kTVMFFINone);
  TVMFFIErrorMoveFromRaised(&error);
  CHECK(!error);
  tvmffi_release(error);
}

/* An error that passes through an object of type ffi.Object itself says so; a
   value that is no object leaves no trace. */
static void test_plain_place(TVMFFI_HERE) {
  TVMFFIObject *context, *o;
  TVMFFIAny error = tvmffi_obj(test_make_error("E", "what", "")), node;
  int i;
  if (!error.v_obj) return;
  o = tvmffi_i_new_object(kTVMFFIObject, sizeof(*o));
  OK(o ? 0 : -1);
  OWN(o);
  for (i = 0; i < 2; ++i) {
    node = i ? tvmffi_obj(o) : tvmffi_int(1);
    tvmffi_i_add_context(&error, &node);
    context = (TVMFFIObject *)TVMFFIErrorGetCellPtr(error.v_obj)->extra_context;
    if (!test_hits()) CHECK_INT(context != NULL, i);
  }
}

/* Takes the error of a failed walk and gives where it came from. */
static void test_error_places(TVMFFI_HERE) {
  NODE_TYPE(plain, kTVMFFISEqHashKindTreeNode, 0);
  TVMFFIAny items[2], args[3], any, context;
  TVMFFIObject *error, *path;
  int order;
  VISIT_NODE(bottom, plain, tvmffi_int(3), tvmffi_none());
  items[0] = tvmffi_int(1);
  items[1] = tvmffi_obj(bottom);
  {
    SEQUENCE(list, "List", items, 2);
    VISIT_NODE(root, plain, tvmffi_none(), tvmffi_obj(list));
    for (order = 0; order < 2; ++order) {
      int code =
          test_walk(tvmffi_obj(root), TEST_RAISE, kTVMFFIInt, order, &any);
      CHECK(code != 0);
      test_log_size = 0;
      error = tvmffi_i_error_remove();
      if (!CHECK(error != NULL)) return;
      OWN(error);
      if (test_hits()) return;
      context = tvmffi_obj(
          (TVMFFIObject *)TVMFFIErrorGetCellPtr(error)->extra_context);
      if (!CHECK(context.v_obj != NULL)) return;
      any = test_get_field(context.v_obj, "reverse_visit_pattern");
      CHECK_INT(test_cell(any.v_obj)->size, 3);
      CHECK(test_item(any.v_obj, 0) == bottom);
      CHECK(test_item(any.v_obj, 1) == list);
      CHECK(test_item(any.v_obj, 2) == root);
      /* No path leads through a list as an object, so only a part is found. */
      args[0] = tvmffi_obj(root);
      args[1] = context;
      args[2] = tvmffi_bool(0);
      OK(test_apply_global("ffi.VisitErrorContext.FindAccessPaths", args, 3,
                           &any));
      CHECK_INT(test_cell(any.v_obj)->size, 0);
    }
    items[0] = tvmffi_obj(bottom);
    items[1] = tvmffi_obj(root);
    {
      SEQUENCE(pattern, "List", items, 2);
      any = tvmffi_obj(pattern);
      OK(tvmffi_i_set_field(
          &TVMFFIGetTypeInfo(TVMFFI_I_VISIT_ERROR_CONTEXT)->fields[0],
          context.v_obj, &any));
    }
    OK(test_apply_global("ffi.VisitErrorContext.FindAccessPaths", args, 3,
                         &any));
    CHECK_INT(test_cell(any.v_obj)->size, 1);
    path = test_item(any.v_obj, 0);
    CHECK_INT(test_get_field(path, "depth").v_int64, 2);
    any = test_get_field(path, "step");
    CHECK_INT(test_get_field(any.v_obj, "key").v_int64, 1);
  }
}

/* Makes a context whose pattern is these n objects, the innermost first; the
   test owns it. */
static TVMFFIObject *test_context(TVMFFIAny *reverse, int n) {
  TVMFFIObject *list = test_sequence("ffi.List", reverse, n), *context;
  TVMFFIAny any = tvmffi_obj(list);
  if (!list) return NULL;
  context = tvmffi_i_new_object(TVMFFI_I_VISIT_ERROR_CONTEXT,
                                sizeof(tvmffi_i_error_context));
  if (test_code(context ? 0 : -1, __FILE__, __LINE__, "a context "))
    return NULL;
  OWN(context);
  return test_code(
             tvmffi_i_set_field(
                 &TVMFFIGetTypeInfo(TVMFFI_I_VISIT_ERROR_CONTEXT)->fields[0],
                 context, &any),
             __FILE__, __LINE__, "a pattern ")
             ? NULL
             : context;
}

/* Checks the number of access paths. */
static void test_path_count(TVMFFIObject *root, TVMFFIObject *context,
                            int64_t want) {
  TVMFFIAny args[3], any = tvmffi_none();
  args[0] = tvmffi_obj(root);
  args[1] = tvmffi_obj(context);
  args[2] = tvmffi_bool(0);
  OK(test_apply_global("ffi.VisitErrorContext.FindAccessPaths", args, 3, &any));
  CHECK_INT(test_cell(any.v_obj)->size, want);
}

/* Each level has the one below it twice, so 2^60 ways lead through the 60
   levels. */
static void test_shared_paths(TVMFFI_HERE) {
  NODE_TYPE(plain, kTVMFFISEqHashKindTreeNode, 0);
  TVMFFIAny items[3];
  TVMFFIObject *context, *level;
  int i;
  VISIT_NODE(target, plain, tvmffi_int(1), tvmffi_none());
  VISIT_NODE(other, plain, tvmffi_int(2), tvmffi_none());
  level = other;
  for (i = 0; i < 60; ++i) {
    if (i % 2) {
      VISIT_NODE(node, plain, tvmffi_obj(level), tvmffi_obj(level));
      level = node;
    } else {
      items[0] = items[1] = tvmffi_obj(level);
      SEQUENCE(array, "Array", items, 2);
      level = array;
    }
  }
  items[0] = tvmffi_obj(target);
  context = test_context(items, 1);
  if (!context) return;
  test_path_count(level, context, 0);
}

/* A value without a path outside `outer` may have one inside it, and the
   reverse. */
static void test_shared_values(TVMFFI_HERE) {
  NODE_TYPE(plain, kTVMFFISEqHashKindTreeNode, 0);
  TVMFFIAny items[3];
  TVMFFIObject *context;
  VISIT_NODE(target, plain, tvmffi_int(1), tvmffi_none());
  VISIT_NODE(shared, plain, tvmffi_obj(target), tvmffi_none());
  VISIT_NODE(outer, plain, tvmffi_obj(shared), tvmffi_obj(shared));
  items[0] = items[2] = tvmffi_obj(shared);
  items[1] = tvmffi_obj(outer);
  {
    SEQUENCE(list, "List", items, 3);
    VISIT_NODE(root, plain, tvmffi_obj(list), tvmffi_obj(outer));
    items[0] = tvmffi_obj(target);
    context = test_context(items, 2);
    if (!context) return;
    test_path_count(root, context, 4);
    test_path_count(outer, context, 2);
    test_path_count(shared, context, 0);
    context = test_context(items, 1);
    if (!context) return;
    test_path_count(root, context, 6);
  }
}

/* A hook of C that says so, and visits the field x. */
static TVMFFIAny test_visit_hook(void *visitor, TVMFFIAny value) {
  const tvmffi_i_visitor *v = (const tvmffi_i_visitor *)visitor;
  test_say('h');
  return tvmffi_i_table_of(v)->enter(visitor,
                                     ((test_visit_node *)value.v_ptr)->x);
}

static void test_visit_hooks(TVMFFI_HERE) {
  NODE_TYPE(native, kTVMFFISEqHashKindTreeNode, 0);
  NODE_TYPE(packed, kTVMFFISEqHashKindTreeNode, 0);
  NODE_TYPE(bad, kTVMFFISEqHashKindTreeNode, 0);
  TVMFFIByteArray visit = TEXT("__s_visit__"), mutate = TEXT("__s_mutate__");
  TVMFFIAny hook = tvmffi_ptr((void *)(uintptr_t)test_visit_hook), any;
  TVMFFIObjectHandle f = NULL;
  VISIT_NODE(a, native, tvmffi_int(1), tvmffi_int(2));
  VISIT_NODE(b, packed, tvmffi_int(1), tvmffi_obj(a));
  VISIT_NODE(c, bad, tvmffi_int(1), tvmffi_int(2));
  OK(TVMFFITypeRegisterAttr(native, &visit, &hook));
  OK(test_walk(tvmffi_obj(a), TEST_GO_ON, kTVMFFIAny, 1, &any));
  CHECK_LOG("h1o");
  OK(TVMFFIFunctionCreate(NULL, test_raise_callback, NULL, &f));
  OWN(f);
  hook = tvmffi_obj((TVMFFIObject *)f);
  OK(TVMFFITypeRegisterAttr(packed, &visit, &hook));
  FAILS(test_walk(tvmffi_obj(b), TEST_GO_ON, kTVMFFIAny, 1, &any), "ValueError",
        "the callback says no");
  hook = tvmffi_int(1);
  OK(TVMFFITypeRegisterAttr(bad, &visit, &hook));
  OK(TVMFFITypeRegisterAttr(bad, &mutate, &hook));
  FAILS(test_walk(tvmffi_obj(c), TEST_GO_ON, kTVMFFIAny, 1, &any), "TypeError",
        "__s_visit__ must be an opaque function pointer or ffi.Function");
  FAILS(test_walk(tvmffi_obj(c), TEST_SAME, kTVMFFIAny, 1, &any), "TypeError",
        "__s_mutate__ must be a direct hook pointer or ffi.Function");
}

/* Calls a function of visits with one callback, which gets all arguments that
   callbacks of this function may get. */
static int test_visit_root(const char *name, TVMFFIAny root,
                           TVMFFISafeCallType call, int32_t index, int order,
                           TVMFFIAny *result) {
  const int is_mutate = strcmp(name, "ffi.StructuralMutate") == 0;
  const int has_order = strcmp(name, "ffi.StructuralWalk") == 0 ||
                        strcmp(name, "ffi.StructuralMap") == 0;
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny row[3], args[4];
  if (call) TVMFFI_TRY(TVMFFIFunctionCreate(NULL, call, NULL, &f));
  if (f) OWN(f);
  row[0] = tvmffi_int(index);
  row[1] = f ? tvmffi_obj((TVMFFIObject *)f) : tvmffi_none();
  row[2] = tvmffi_bool(1);
  TVMFFI_TRY(test_apply_global("ffi.Array", row, is_mutate ? 3 : 2, &args[0]));
  TVMFFI_TRY(test_apply_global("ffi.Array", &args[0], 1, &args[1]));
  TVMFFI_TRY(test_apply_global("ffi.Array", NULL, 0, &args[2]));
  args[0] = root;
  args[3] = tvmffi_int(order);
  return test_apply_global(name, args, has_order ? 4 : 2, result);
}

/* Replaces 1 by true, 2 by an array with a text, and says what it gets. */
static int test_replace_int(void *self, const TVMFFIAny *args,
                            int32_t num_args, TVMFFIAny *result) {
  TVMFFIAny text = tvmffi_str("a text in an array");
  (void)self, (void)num_args;
  test_say_value(args);
  if (args[0].v_int64 == 2)
    return test_pass_on("ffi.Array", &text, 1, result);
  *result = args[0].v_int64 == 1 ? tvmffi_bool(1) : args[0];
  return 0;
}

/* Returns that the value is unchanged. */
static int test_say_unchanged(void *self, const TVMFFIAny *args,
                              int32_t num_args, TVMFFIAny *result) {
  (void)self, (void)num_args;
  test_say_value(args);
  *result = tvmffi_i_unchanged();
  return 0;
}

/* Visits the number 1 twice. */
static int test_visit_one(void *self, const TVMFFIAny *args, int32_t num_args,
                          TVMFFIAny *result) {
  TVMFFIAny again[2];
  int i;
  (void)self, (void)num_args;
  again[0] = args[1];
  again[1] = tvmffi_int(1);
  for (i = 0; i < 2; ++i)
    TVMFFI_TRY(test_pass_on("ffi.StructuralVisitorVisit", again, 2, result));
  return 0;
}

static int test_raise_always(void *self, const TVMFFIAny *args,
                             int32_t num_args, TVMFFIAny *result) {
  (void)self, (void)num_args, (void)result;
  test_say_value(args);
  return TVMFFI_RAISE("ValueError", "no visit");
}

static int test_say_true(void *self, const TVMFFIAny *args, int32_t num_args,
                         TVMFFIAny *result) {
  (void)self, (void)num_args;
  test_say_value(args);
  *result = tvmffi_bool(1);
  return 0;
}

/* Says whether the value may be changed in place, and mutates its children. */
static int test_say_unique(void *self, const TVMFFIAny *args, int32_t num_args,
                           TVMFFIAny *result) {
  TVMFFIAny again[2];
  (void)self;
  CHECK_INT(num_args, 3);
  test_say(args[2].v_int64 ? 'u' : '!');
  again[0] = args[1];
  again[1] = args[0];
  return test_pass_on("ffi.StructuralMutatorDefaultMutate", again, 2, result);
}

static void test_replaced_values(TVMFFI_HERE) {
  TVMFFIAny items[4], root, any;
  OK(test_apply_global("ffi.Array", NULL, 0, &any));
  items[0] = tvmffi_int(1);
  items[1] = tvmffi_int(2);
  items[2] = tvmffi_str("a text of some length");
  items[3] = tvmffi_int(3);
  OK(test_apply_global("ffi.Array", items, 4, &root));
  OK(test_visit_root("ffi.StructuralMap", root, test_replace_int, kTVMFFIInt, 0,
                     &any));
  CHECK_LOG("123");
  CHECK_INT(((TVMFFIAny *)test_cell(any.v_obj)->data)[0].type_index,
            kTVMFFIBool);
  CHECK_INT(test_item(any.v_obj, 1)->type_index, kTVMFFIArray);
  CHECK(test_item(any.v_obj, 2) == test_item(root.v_obj, 2));
  OK(test_walk(root, TEST_SAME, kTVMFFIAny, 0, &any));
  CHECK_LOG("A12o3");
  CHECK(any.v_obj == root.v_obj);
  OK(test_visit_root("ffi.StructuralMap", root, test_say_unchanged, kTVMFFIAny,
                     0, &any));
  CHECK_LOG("A12o3");
  CHECK(any.v_obj == root.v_obj);
  OK(test_visit_root("ffi.StructuralVisit", root, test_visit_one, kTVMFFIArray,
                     0, &any));
  CHECK_INT(any.type_index, kTVMFFINone);
  /* The first item stays while the second one is replaced, and a callback after
     the children gets the new array. */
  items[0] = items[2];
  OK(test_apply_global("ffi.Array", items, 2, &any));
  OK(test_walk(any, TEST_ADD, kTVMFFIAny, 1, &any));
  CHECK_LOG("o2A");
  CHECK_INT(((TVMFFIAny *)test_cell(any.v_obj)->data)[0].type_index,
            kTVMFFIStr);
  CHECK_INT(((TVMFFIAny *)test_cell(any.v_obj)->data)[1].v_int64, 3);
  OK(test_visit_root("ffi.StructuralMutate", root, test_say_unique,
                     kTVMFFIArray, 0, &any));
  CHECK_LOG("!");
  FAILS(test_visit_root("ffi.StructuralMutate", root, NULL, kTVMFFIArray, 0,
                        &any),
        "ValueError", NULL);
}

/* The bit sets have no type indices but 0 to 127. A type is in `passed` if it
   is in both other sets. */
static void test_index_bits(void) {
  static const uint64_t bits[3] = {1, (uint64_t)1 << 63, UINT64_MAX};
  static tvmffi_i_engine empty;
  tvmffi_i_engine e;
  memset((void *)&e, 0, sizeof(e));
  CHECK(tvmffi_i_has_bit(bits, 0) == 1 && !tvmffi_i_has_bit(bits, 1));
  CHECK(tvmffi_i_has_bit(bits, 127) == 1 && !tvmffi_i_has_bit(bits, 126));
  CHECK(!tvmffi_i_has_bit(bits, 128) && !tvmffi_i_has_bit(bits, -1));
  tvmffi_i_set_bit(&e, e.uncalled, 128);
  tvmffi_i_set_bit(&e, e.leaves, -1);
  CHECK(memcmp((const void *)&e, (const void *)&empty, sizeof(e)) == 0);
  tvmffi_i_set_bit(&e, e.uncalled, 127);
  tvmffi_i_set_bit(&e, e.uncalled, 64);
  tvmffi_i_set_bit(&e, e.leaves, 63);
  tvmffi_i_set_bit(&e, e.leaves, 127);
  CHECK(!e.uncalled[0] && e.uncalled[1] == (bits[1] | 1));
  CHECK(e.leaves[0] == bits[1] && e.leaves[1] == bits[1]);
  CHECK(!e.passed[0] && e.passed[1] == bits[1]);
}

/* Which types have no callback is searched for once. */
static void test_missed_types(void) {
  tvmffi_i_engine e;
  int i;
  memset((void *)&e, 0, sizeof(e));
  for (i = 0; i < 2; ++i) {
    CHECK(!tvmffi_i_find_callback(&e, 127));
    CHECK(tvmffi_i_has_bit(e.uncalled, 127) && e.missed_for == 128 * i);
    CHECK(!tvmffi_i_find_callback(&e, 128));
    CHECK_INT(e.missed_for, 128);
  }
  CHECK_INT(tvmffi_i_index_matches(kTVMFFIInt, kTVMFFIAny), 1);
  CHECK_INT(tvmffi_i_index_matches(kTVMFFIInt, kTVMFFIInt), 1);
}

/* An error without an object becomes a RuntimeError. */
static void test_missing_errors(void) {
  static const char text[] = "A function failed without an error";
  TVMFFIAny error = tvmffi_none(), any = tvmffi_int(1), node;
  error.type_index = kTVMFFIError;
  FAILS(tvmffi_i_give(error, &any), "RuntimeError", text);
  CHECK_INT(any.v_int64, 1);
  tvmffi_i_add_context(&error, &any);
  FAILS(tvmffi_i_give(error, &any), "RuntimeError", text);
  /* The context of another error remains, and the pending error does. */
  if (TVMFFI_RAISE("KeyError", "has a context")) error = tvmffi_i_take_error();
  if (tvmffi_error_is(error.v_obj, "MemoryError")) {
    tvmffi_i_any_release(&error);
    return;
  }
  node = tvmffi_obj(tvmffi_i_new_list(0));
  if (node.v_obj) {
    TVMFFIErrorCell *cell = TVMFFI_I_CELL(TVMFFIErrorCell, error.v_obj);
    tvmffi_i_retain(node.v_obj);
    cell->extra_context = node.v_obj;
    (void)TVMFFI_RAISE("IndexError", "is pending");
    tvmffi_i_add_context(&error, &node);
    if (cell->extra_context != (void *)node.v_obj)
      CHECK(((tvmffi_i_error_context *)cell->extra_context)->previous ==
            node.v_obj);
    if (!test_hits()) FAILS(-1, "IndexError", "is pending");
    tvmffi_error_clear();
    tvmffi_i_any_release(&node);
  } else {
    tvmffi_error_clear();
  }
  tvmffi_i_any_release(&error);
}

/* Says how many references a value has. */
static int test_say_count(void *self, const TVMFFIAny *args, int32_t num_args,
                          TVMFFIAny *result) {
  (void)self, (void)num_args, (void)result;
  test_say((char)('0' + test_strong(args[0].v_obj)));
  return 0;
}

/* Gives a text and fails. */
static int test_fail_with_text(void *self, const TVMFFIAny *args,
                               int32_t num_args, TVMFFIAny *result) {
  TVMFFI_TRY(test_give_a_text(self, args, num_args, result));
  return TVMFFI_RAISE("ValueError", "and no text");
}

/* Values without children that have no callback are passed over. */
static void test_passed_types(int32_t type) {
  TVMFFIAny pair[4], root, any, text = tvmffi_str("a text of some length");
  VISIT_NODE(node, type, text, tvmffi_int(1));
  VISIT_NODE(outer, type, tvmffi_obj(node), tvmffi_int(2));
  pair[0] = tvmffi_bool(1);
  pair[1] = tvmffi_int(1);
  pair[2] = pair[3] = tvmffi_obj(node);
  OK(test_apply_global("ffi.Array", pair, 4, &root));
  OK(test_walk(root, TEST_GO_ON, kTVMFFIInt, 0, &any));
  CHECK_LOG("111");
  OK(test_walk(tvmffi_obj(outer), TEST_GO_ON, kTVMFFIInt, 1, &any));
  CHECK_LOG("12");
  OK(test_visit_root("ffi.StructuralWalk", root, test_say_true, kTVMFFIInt, 1,
                     &any));
  CHECK_LOG("111"); /* after the children, the result true skips nothing */
  FAILS(test_visit_root("ffi.StructuralWalk", root, test_fail_with_text,
                        kTVMFFIInt, 0, &any),
        "ValueError", "and no text");
  /* The walk owns the current item of a list, which a callback may change, but
     borrows that of an array. */
  OK(test_apply_global("ffi.Array", &pair[3], 1, &any));
  OK(test_visit_root("ffi.StructuralWalk", any, test_say_count, type, 0, &any));
  OK(test_apply_global("ffi.Map", pair + 1, 2, &any));
  OK(test_visit_root("ffi.StructuralWalk", any, test_say_count, type, 0, &any));
  OK(test_apply_global("ffi.List", &pair[3], 1, &any));
  OK(test_visit_root("ffi.StructuralWalk", any, test_say_count, type, 0, &any));
  OK(test_apply_global("ffi.Dict", pair + 1, 2, &any));
  OK(test_visit_root("ffi.StructuralWalk", any, test_say_count, type, 0, &any));
  CHECK_LOG("5689"); /* and each container has a reference */
}

/* Callbacks by types of texts and by type indices without a type. */
static void test_callback_types(TVMFFI_HERE) {
  NODE_TYPE(plain, kTVMFFISEqHashKindTreeNode, 0);
  TVMFFIByteArray few = TEXT("b");
  TVMFFIAny items[4], root, any, f;
  TVMFFIObjectHandle function = NULL;
  VISIT_NODE(node, plain, tvmffi_int(1), tvmffi_none());
  test_index_bits();
  test_missed_types();
  test_missing_errors();
  items[0] = tvmffi_str("s");
  items[1] = tvmffi_bytes(&few);
  items[2] = tvmffi_str("a text of some length");
  items[3] = tvmffi_obj(node);
  OK(test_apply_global("ffi.Array", items, 4, &root));
  OK(test_visit_root("ffi.StructuralWalk", root, test_say_true, kTVMFFIStr, 0,
                     &any));
  CHECK_LOG("oo");
  OK(test_visit_root("ffi.StructuralWalk", root, test_say_true, kTVMFFIBytes, 1,
                     &any));
  CHECK_LOG("o");
  OK(test_visit_root("ffi.StructuralWalk", root, test_say_true, 120, 1, &any));
  CHECK_LOG("");
  FAILS(test_visit_root("ffi.StructuralWalk", root, test_give_a_text,
                        kTVMFFIAny, 0, &any),
        "TypeError",
        "CallExpected: result type mismatch, expected WalkResult, but got "
        "ffi.String");
  /* Functions have no fields, so only the first one is looked at. */
  OK(TVMFFIFunctionCreate(NULL, test_say_true, NULL, &function));
  OWN(function);
  f = tvmffi_obj((TVMFFIObject *)function);
  items[0] = items[1] = f;
  items[2] = tvmffi_int(5);
  OK(test_apply_global("ffi.List", items, 3, &root));
  OK(test_visit_root("ffi.StructuralWalk", root, test_say_true, kTVMFFIInt, 1,
                     &any));
  CHECK_LOG("5");
  items[0] = items[1] = root;
  OK(test_apply_global("ffi.List", items, 3, &root));
  OK(test_walk(root, TEST_GO_ON, kTVMFFIAny, 0, &any));
  CHECK_LOG("LLoo5Loo55");
  test_release_all(); /* because a test can own 128 objects */
  test_passed_types(plain);
}

/* Errors of a post-order callback, and in what a callback visits. */
static void test_callback_errors(TVMFFI_HERE) {
  TVMFFIObject *tree = test_tree();
  TVMFFIAny any;
  if (!tree) return;
#if defined(TEST_LEAVES)
  test_left_callback(tvmffi_here);
#endif
  FAILS(test_visit_root("ffi.StructuralWalk", tvmffi_obj(tree),
                        test_raise_always, kTVMFFIList, 1, &any),
        "ValueError", "no visit");
  if (!test_hits()) CHECK_LOG("L");
  test_log_size = 0;
  FAILS(test_visit_root("ffi.StructuralMap", tvmffi_obj(tree),
                        test_raise_always, kTVMFFIMap, 1, &any),
        "ValueError", "no visit");
  if (!test_hits()) CHECK_LOG("M");
  test_log_size = 0;
}

/* Callbacks and getters that fail with code -2: another language, such as
   Python, holds the error. The visit returns an error that says so. */
static void test_errors_elsewhere(TVMFFI_HERE) {
  static const char *const visits[] = {"ffi.StructuralWalk",
                                       "ffi.StructuralMap"};
  TVMFFIObject *tree = test_tree(), *context;
  int32_t index = 0;
  TVMFFIAny args[3], any;
  int i;
  if (!tree) return;
  OK(test_failing_type(&index));
  OK(test_set_hook(index, "__ffi_shallow_copy__", test_fail_hook));
  OK(test_new_pair(index, tvmffi_none(), tvmffi_none(), &args[0]));
  args[2] = tvmffi_bool(0);
  context = test_context(args, 1);
  if (!context) return;
  for (i = 0; i < 2; ++i) {
    test_fail_code = -2;
    test_fail_after = 0;
    (void)TVMFFI_RAISE("KeyError", "earlier");
    FAILS(test_visit_root(visits[i], tvmffi_obj(tree), test_fail_hook,
                          kTVMFFIList, 1, &any),
          "EnvErrorAlreadySet", "");
    FAILS(test_visit_root(visits[i], args[0], test_echo_callback, kTVMFFIList,
                          1, &any),
          "EnvErrorAlreadySet", "");
    test_fail_code = 0;
  }
  args[1] = tvmffi_obj(context);
  OK(test_new_pair(index, tvmffi_none(), tvmffi_none(), &args[0]));
  test_fails_anyhow("ffi.VisitErrorContext.FindAccessPaths", 0, args, 3);
}

/* The last item of a list is removed while another one is replaced, and an
   entry of a dict while its value is. */
static int test_shrink(void *self, const TVMFFIAny *args, int32_t num_args,
                       TVMFFIAny *result) {
  (void)self, (void)num_args;
  *result = tvmffi_int(args[0].v_int64 + 10);
  if (args[0].v_int64 == 1) return 0;
  if (test_touched->type_index == kTVMFFIDict)
    return tvmffi_call(tvmffi_str("ffi.DictErase"), tvmffi_out_any(NULL),
                       tvmffi_obj(test_touched), tvmffi_int(2));
  return tvmffi_call(tvmffi_str("ffi.ListErase"), tvmffi_out_any(NULL),
                     tvmffi_obj(test_touched), tvmffi_int(1));
}

static void test_shrinking(TVMFFI_HERE) {
  TVMFFIAny items[4], any;
  int i;
  for (i = 0; i < 4; ++i) items[i] = tvmffi_int(i / 2 + 1);
  {
    SEQUENCE(list, "List", items + 1, 2);
    test_touched = list;
    OK(test_visit_root("ffi.StructuralMap", tvmffi_obj(list), test_shrink,
                       kTVMFFIInt, 0, &any));
    CHECK_INT(test_cell(list)->size, 1);
    CHECK_INT(test_cell(any.v_obj)->size, 2);
  }
  {
    SEQUENCE(list, "List", items + 2, 2);
    test_touched = list;
    OK(test_visit_root("ffi.StructuralMap", tvmffi_obj(list), test_shrink,
                       kTVMFFIInt, 0, &any));
    CHECK_INT(test_cell(list)->size, 1);
  }
  items[1] = tvmffi_none();
  {
    SEQUENCE(list, "List", items + 1, 2);
    test_touched = list;
    OK(test_visit_root("ffi.StructuralMap", tvmffi_obj(list), test_shrink,
                       kTVMFFIInt, 0, &any));
    CHECK_INT(test_cell(list)->size, 1);
    CHECK(any.v_obj != list);
  }
  {
    SEQUENCE(dict, "Dict", items, 4);
    test_touched = dict;
    OK(test_visit_root("ffi.StructuralWalk", tvmffi_obj(dict), test_shrink,
                       kTVMFFIInt, 0, &any));
    CHECK_INT(tvmffi_i_map_size(dict), 1);
  }
  {
    SEQUENCE(dict, "Dict", items, 4);
    test_touched = dict;
    OK(test_visit_root("ffi.StructuralMap", tvmffi_obj(dict), test_shrink,
                       kTVMFFIInt, 0, &any));
    CHECK_INT(tvmffi_i_map_size(dict), 1);
  }
}

static int test_set_nothing(void *field, const TVMFFIAny *value) {
  (void)field, (void)value;
  return TVMFFI_RAISE("ValueError", "nothing is set");
}

/* Makes a type of nodes like test_node_type, but with what a test asks for: a
   getter that fails, no setter, or one that fails (2), another copier. */
static int32_t test_odd_type(TVMFFIFieldGetter getter, int has_setter,
                             TVMFFISafeCallType copier) {
  int32_t index =
      test_type(test_fresh("unit.Odd"), -1, 1, 0, 1, kTVMFFIObject);
  TVMFFIFieldInfo f;
  if (index < 0) return -1;
  f = test_any_field("x", offsetof(test_visit_node, x), 0);
  f.getter = getter;
  f.setter = has_setter ? (void *)(uintptr_t)tvmffi_i_set_any_field : NULL;
  if (has_setter == 2) f.setter = (void *)(uintptr_t)test_set_nothing;
  if (!has_setter) f.flags = 0;
  if (TVMFFITypeRegisterField(index, &f)) return -1;
  if (copier && test_set_hook(index, "__ffi_shallow_copy__", copier)) return -1;
  return index;
}

#define ODD_TYPE(index, getter, has_setter, copier)         \
  int32_t index = test_odd_type(getter, has_setter, copier); \
  OK(index < 0 ? -1 : 0)

/* Fails, and leaves a value that the caller does not own. */
static int test_get_borrowed(void *field, TVMFFIAny *result) {
  (void)field;
  *result = tvmffi_obj(test_touched);
  return TVMFFI_RAISE("ValueError", "no field");
}

static int test_get_nothing(void *field, TVMFFIAny *result) {
  (void)field, (void)result;
  return -1; /* and raises no error */
}

static int test_copy_node(void *self, const TVMFFIAny *args, int32_t num_args,
                          TVMFFIAny *result) {
  TVMFFIObject *o =
      tvmffi_i_new_object(args[0].type_index, sizeof(test_visit_node));
  (void)self, (void)num_args;
  if (!o) return -1;
  *result = tvmffi_obj(o);
  tvmffi_i_copy_owned(&((test_visit_node *)args[0].v_ptr)->x,
                      &((test_visit_node *)(void *)o)->x);
  return 0;
}

static int test_copy_nothing(void *self, const TVMFFIAny *args,
                             int32_t num_args, TVMFFIAny *result) {
  (void)self, (void)num_args;
  if (((test_visit_node *)args[0].v_ptr)->x.v_int64 == 1)
    return TVMFFIAnyViewToOwnedAny(args, result);
  *result = tvmffi_int(5);
  return 0;
}

static void test_odd_nodes(TVMFFI_HERE) {
  static const char *const failures[] = {
      "...because it does not define a setter",
      "__ffi_shallow_copy__ must be an ffi.Function",
      "...must return a distinct object with the same type as its input",
      "__ffi_shallow_copy__ must be an ffi.Function"};
  TVMFFIByteArray copier = TEXT("__ffi_shallow_copy__");
  TVMFFIAny any, number = tvmffi_int(1);
  int i;
  ODD_TYPE(unset, tvmffi_i_get_any_field, 0, test_copy_node);
  ODD_TYPE(uncopied, tvmffi_i_get_any_field, 1, NULL);
  ODD_TYPE(miscopied, tvmffi_i_get_any_field, 1, test_copy_nothing);
  ODD_TYPE(unreadable, test_get_nothing, 1, test_copy_node);
  ODD_TYPE(uncopiable, tvmffi_i_get_any_field, 1, test_raise_always);
  ODD_TYPE(numbered, tvmffi_i_get_any_field, 1, NULL);
  ODD_TYPE(unsettable, tvmffi_i_get_any_field, 2, test_copy_node);
  ODD_TYPE(borrowed, test_get_borrowed, 1, test_copy_node);
  OK(TVMFFITypeRegisterAttr(numbered, &copier, &number));
  {
    int32_t types[4];
    types[0] = unset;
    types[1] = uncopied;
    types[2] = miscopied;
    types[3] = numbered;
    for (i = 0; i < 8; ++i) {
      VISIT_NODE(o, types[i % 4], tvmffi_int(i / 2), tvmffi_none());
      OK(test_walk(tvmffi_obj(o), TEST_GO_ON, kTVMFFIInt, 0, &any));
      test_log_size = 0;
      FAILS(test_walk(tvmffi_obj(o), TEST_ADD, kTVMFFIInt, 1, &any),
            "TypeError", failures[i % 4]);
      test_log_size = 0;
      test_release_all();
    }
  }
  {
    VISIT_NODE(o, unreadable, tvmffi_int(1), tvmffi_none());
    FAILS(test_walk(tvmffi_obj(o), TEST_GO_ON, kTVMFFIInt, 0, &any),
          "RuntimeError", "A field getter failed with code -1 and no error");
    FAILS(test_walk(tvmffi_obj(o), TEST_ADD, kTVMFFIInt, 0, &any),
          "RuntimeError", "A field getter failed with code -1 and no error");
  }
  {
    VISIT_NODE(o, borrowed, tvmffi_int(1), tvmffi_none());
    test_touched = o;
    FAILS(test_walk(tvmffi_obj(o), TEST_GO_ON, kTVMFFIInt, 0, &any),
          "ValueError", "no field");
    CHECK_INT(test_strong(o), 1);
  }
  {
    VISIT_NODE(o, uncopiable, tvmffi_int(1), tvmffi_none());
    FAILS(test_walk(tvmffi_obj(o), TEST_ADD, kTVMFFIInt, 0, &any),
          "ValueError", "no visit");
    test_log_size = 0;
  }
  {
    VISIT_NODE(o, unsettable, tvmffi_int(1), tvmffi_none());
    FAILS(test_walk(tvmffi_obj(o), TEST_ADD, kTVMFFIInt, 0, &any),
          "ValueError", "....x: nothing is set");
    test_log_size = 0;
  }
}

/* A container that its callbacks empty. */
static void test_visited_changes(TVMFFI_HERE) {
  TVMFFIAny items[3], any;
  int how;
  for (how = 0; how < 2; ++how) {
    TVMFFIObject *list;
    items[0] = tvmffi_int(1);
    items[1] = tvmffi_int(2);
    list = test_sequence("ffi.List", items, 2);
    if (!list) return;
    items[0] = tvmffi_obj(list);
    {
      SEQUENCE(root, "Array", items, 1);
      test_touched = list;
      OK(test_walk(tvmffi_obj(root), TEST_CLEAR, how ? kTVMFFIList : kTVMFFIInt,
                   0, &any));
      CHECK_LOG(how ? "L" : "1");
      CHECK_INT(test_cell(list)->size, 0);
    }
  }
}

static void test_deep_visits(TVMFFI_HERE) {
  TVMFFIObject *list = tvmffi_i_new_list(1);
  int i, n = test_scale(test_chain < 20000 ? test_chain : 20000, 20);
  TVMFFIAny any = tvmffi_int(5);
  if (list && tvmffi_i_list_append(list, &any)) {
    tvmffi_release(list);
    list = NULL;
  }
  for (i = 0; list && i < n; ++i) {
    TVMFFIObject *outer = tvmffi_i_new_list(1);
    any = tvmffi_obj(list);
    if (outer && tvmffi_i_list_append(outer, &any)) {
      tvmffi_release(outer);
      outer = NULL;
    }
    tvmffi_release(list);
    list = outer;
  }
  OK(list ? 0 : -1);
  OWN(list);
  OK(test_walk(tvmffi_obj(list), TEST_GO_ON, kTVMFFIInt, 0, &any));
  CHECK_LOG("5");
  OK(test_walk(tvmffi_obj(list), TEST_ADD, kTVMFFIInt, 1, &any));
  CHECK_LOG("5");
  CHECK(any.v_obj != list);
}

static void test_endless_visits(TVMFFI_HERE) {
  TVMFFIObject *list = test_sequence("ffi.List", NULL, 0);
  TVMFFIAny any, self;
  if (!list) return;
  self = tvmffi_obj(list);
  if (!test_oom && test_chain >= 1000000) {
    OK(tvmffi_i_list_append(list, &self));
    FAILS(test_walk(self, TEST_GO_ON, kTVMFFIInt, 1, &any), "ValueError",
          "StructuralVisit: maximum stack depth (1048576) exceeded");
    OK(DO("ListClear", self));
  }
#if TVMFFI_I_STACK_KNOWN
  /* Visits nest as deep as the stack has room. */
  test_look_at_stack();
  test_stack_lowest = test_stack;
  test_set_end(test_stack, (64 << 10) + 100000);
  FAILS(test_descend("ffi.StructuralVisit", self, TEST_AGAIN, kTVMFFIList, 2,
                     &any),
        "RecursionError",
        "Hooks of types or structural keys are nested too deep: less than 64 "
        "KB of this thread's stack of 256 KB are left");
  if (!test_oom) {
    test_look_at_stack();
    CHECK(test_stack - test_stack_lowest < 1 << 17);
    CHECK(test_stack - test_stack_lowest > 1 << 16);
  }
#endif
  /* As many as are sure to fit a stack of unknown size. */
  test_forget_stack();
  FAILS(test_descend("ffi.StructuralVisit", self, TEST_AGAIN, kTVMFFIList, 2,
                     &any),
        "RecursionError", TEST_TOO_MANY);
  CHECK_INT(tvmffi_i_thread_nesting()->count, 0);
  test_find_stack();
}

static void test_bad_visits(TVMFFI_HERE) {
  TVMFFIObject *tree = test_tree(), *visitor;
  TVMFFIAny args[4], any, copy;
  if (!tree) return;
  args[0] = args[1] = tvmffi_obj(tree);
  FAILS(test_apply_global("ffi.StructuralVisit", args, 2, &any), "TypeError",
        "Mismatched type on argument #1 when calling: `ffi.StructuralVisit(0: "
        "AnyView, 1: Array<Tuple<int, ffi.Function>>) -> "
        "Optional<ffi.VisitInterrupt>`. Expected `Array<Tuple<int, "
        "ffi.Function>>` but got `Array[index 0: int]`");
  args[1] = tvmffi_int(1);
  args[2] = tvmffi_none();
  FAILS(test_apply_global("ffi.StructuralVisit", args, 2, &any), "TypeError",
        "...but got `int`");
  FAILS(test_descend("ffi.StructuralVisit", tvmffi_obj(tree), TEST_GO_ON, 1, 3,
                     &any),
        "TypeError", "...but got `Array[index 0: Array[size=3]]`");
  FAILS(test_walk(tvmffi_i_pointer(kTVMFFIArray, NULL), TEST_GO_ON, 1, 0, &any),
        "ValueError", "The root is a NULL object");
  /* A copy has a visitor's table and nothing that it could call. */
  visitor =
      (TVMFFIObject *)(void *)tvmffi_i_new_engine(TVMFFI_I_VISIT, NULL, NULL);
  OK(visitor ? 0 : -1);
  OWN(visitor);
  args[0] = tvmffi_obj(visitor);
  OK(test_apply_attr(TVMFFI_I_STRUCTURAL_VISITOR, "__ffi_shallow_copy__", args,
                     1, &copy));
  args[0] = copy;
  args[1] = tvmffi_obj(tree);
  FAILS(test_apply_global("ffi.StructuralVisitorVisit", args, 2, &any),
        "TypeError", "A copy of a structural visitor or mutator cannot visit");
  args[0] = tvmffi_obj(visitor);
  args[1] = tvmffi_i_pointer(kTVMFFIArray, NULL);
  FAILS(test_apply_global("ffi.StructuralVisitorDefaultVisit", args, 2, &any),
        "ValueError", "The value is a NULL object");
}

/* A visitor and a mutator as C++ has them. */
#if defined(__cplusplus)
extern "C" {
#endif
static TVMFFIAny test_enter(void *visitor, TVMFFIAny value) {
  (void)visitor;
  test_say_value(&value);
  return value.type_index == kTVMFFIInt && value.v_int64 == 3 ? tvmffi_bool(1)
                                                              : tvmffi_none();
}
static TVMFFIAny test_enter_to_add(void *mutator, TVMFFIAny value) {
  (void)mutator;
  test_say_value(&value);
  if (value.type_index == kTVMFFIInt) return tvmffi_int(value.v_int64 + 1);
  value.type_index = kTVMFFIUnchanged;
  value.v_int64 = 0;
  return value;
}
static TVMFFIObject *test_emptied; /* a list whose only item is visited */
static TVMFFIObject *test_refilled; /* another one */
static TVMFFIAny test_enter_unique(void *mutator, TVMFFIAny value) {
  (void)mutator;
  test_say(tvmffi_i_is_unique(&value) ? 'u' : '!');
  if (test_emptied) test_cell(test_emptied)->size = 0;
  if (test_refilled)
    *(TVMFFIAny *)test_cell(test_refilled)->data = tvmffi_int(5);
  return tvmffi_int(value.type_index);
}
#if defined(__cplusplus)
}
#endif

/* Returns a list (owned by the test) of an empty list that nothing else holds,
   or NULL. */
static TVMFFIObject *test_list_of_list(void) {
  TVMFFIAny inner = tvmffi_obj(tvmffi_i_new_list(0));
  TVMFFIObject *outer = NULL;
  if (inner.v_obj)
    outer = test_sequence("ffi.List", &inner, 1);
  else
    (void)test_code(-1, __FILE__, __LINE__, "ffi.List");
  tvmffi_any_release(&inner);
  return outer;
}

static void test_foreign_visitors(TVMFFI_HERE) {
  static const tvmffi_i_visit_table visits = {test_enter, NULL, NULL, NULL};
  static const tvmffi_i_visit_table mutates = {test_enter_to_add,
                                               test_enter_unique, NULL, NULL};
  TVMFFIObject *tree = test_tree();
  tvmffi_i_visitor v;
  TVMFFIObject *outer;
  TVMFFIAny any, *items;
  int i;
  if (!tree) return;
  memset((void *)&v, 0, sizeof(v));
  v.table = (void *)(uintptr_t)&visits;
  any = tvmffi_i_visit_container(&v, tvmffi_obj(tree));
  CHECK_INT(any.type_index, kTVMFFINone);
  CHECK_LOG("1LMD");
  items = (TVMFFIAny *)test_cell(tree)->data;
  for (i = 1; i < 4; ++i) {
    any = tvmffi_i_visit_container(&v, items[i]);
    CHECK_INT(any.type_index, i == 2 ? kTVMFFIBool : kTVMFFINone);
  }
  CHECK_LOG("2.34");
  v.table = (void *)(uintptr_t)&mutates;
  any = tvmffi_i_mutate_container(&v, tvmffi_obj(tree));
  OK(tvmffi_i_give(any, &any));
  OWN_ANY(any);
  CHECK_LOG("1LMD");
  CHECK(any.v_obj != tree && test_item(any.v_obj, 1) == items[1].v_obj);
  CHECK_INT(((TVMFFIAny *)test_cell(any.v_obj)->data)->v_int64, 2);
  any = tvmffi_i_mutate_container(&v, items[3]);
  OK(tvmffi_i_give(any, &any));
  OWN_ANY(any);
  CHECK_LOG("4");
  /* What nobody else has is taken out of its place meanwhile. */
  outer = test_list_of_list();
  if (!outer) return;
  any = tvmffi_i_mutate_in_place(&v, tvmffi_obj(outer));
  CHECK_INT(any.type_index, kTVMFFIUnchanged);
  CHECK_LOG("u");
  CHECK_INT(((TVMFFIAny *)test_cell(outer)->data)->v_int64, kTVMFFIList);
  /* There is no place for it any more. */
  any = tvmffi_obj(tvmffi_i_new_list(0));
  OK(any.v_obj ? 0 : -1);
  *(TVMFFIAny *)test_cell(outer)->data = any;
  test_emptied = outer;
  any = tvmffi_i_mutate_in_place(&v, tvmffi_obj(outer));
  test_emptied = NULL;
  CHECK_INT(any.type_index, kTVMFFIUnchanged);
  CHECK_LOG("u");
  /* Another value has taken the place, and keeps it. */
  outer = test_list_of_list();
  if (!outer) return;
  test_refilled = outer;
  any = tvmffi_i_mutate_in_place(&v, tvmffi_obj(outer));
  test_refilled = NULL;
  CHECK_INT(any.type_index, kTVMFFIUnchanged);
  CHECK_LOG("u");
  CHECK_INT(((TVMFFIAny *)test_cell(outer)->data)->v_int64, 5);
}

/* Visits the field x by the visitor, as C++ does, or in C as a container. */
static int test_hook_default(void *self, const TVMFFIAny *args,
                             int32_t num_args, TVMFFIAny *result) {
  const int mutates = args[0].type_index == TVMFFI_I_STRUCTURAL_MUTATOR;
  TVMFFIAny next[2];
  (void)self;
  CHECK_INT(num_args, 2);
  test_say('h');
  next[0] = args[0];
  next[1] = ((test_visit_node *)args[1].v_ptr)->x;
  return test_pass_on(mutates ? "ffi.StructuralMutatorDefaultMutate"
                              : "ffi.StructuralVisitorDefaultVisit",
                      next, 2, result);
}
#if defined(__cplusplus)
extern "C" {
#endif
static TVMFFIAny test_hook_container(void *visitor, TVMFFIAny value) {
  test_say('c');
  return tvmffi_i_visit_container(visitor, ((test_visit_node *)value.v_ptr)->x);
}
static TVMFFIAny test_hook_in_place(void *mutator, TVMFFIAny value) {
  (void)mutator, (void)value;
  test_say('p');
  return tvmffi_int(8);
}
#if defined(__cplusplus)
}
#endif

/* Hooks that are functions, that visit by another route, and that change an
   object in place. */
static void test_visit_routes(TVMFFI_HERE) {
  NODE_TYPE(packed, kTVMFFISEqHashKindTreeNode, 0);
  NODE_TYPE(native, kTVMFFISEqHashKindTreeNode, 0);
  NODE_TYPE(placed, kTVMFFISEqHashKindTreeNode, 0);
  TVMFFIByteArray place = TEXT("__s_maybe_inplace_mutate__"),
                  visit = TEXT("__s_visit__");
  TVMFFIAny items[3], any, hook;
  TVMFFIObject *node, *root;
  int i, code;
  OK(test_set_hook(packed, "__s_visit__", test_hook_default));
  OK(test_set_hook(packed, "__s_mutate__", test_hook_default));
  hook = tvmffi_ptr((void *)(uintptr_t)test_hook_container);
  OK(TVMFFITypeRegisterAttr(native, &visit, &hook));
  hook = tvmffi_ptr((void *)(uintptr_t)test_hook_in_place);
  OK(TVMFFITypeRegisterAttr(placed, &place, &hook));
  items[0] = tvmffi_int(1);
  items[1] = tvmffi_int(3);
  items[2] = tvmffi_str("a text of some length");
  {
    SEQUENCE(list, "List", items, 3);
    VISIT_NODE(a, packed, tvmffi_obj(list), tvmffi_none());
    VISIT_NODE(b, native, tvmffi_obj(list), tvmffi_none());
    OK(test_walk(tvmffi_obj(a), TEST_GO_ON, kTVMFFIAny, 1, &any));
    CHECK_LOG("h13oo");
    OK(test_walk(tvmffi_obj(b), TEST_GO_ON, kTVMFFIAny, 1, &any));
    CHECK_LOG("c13oo");
    OK(test_walk(tvmffi_obj(a), TEST_ADD, kTVMFFIInt, 1, &any));
    CHECK_LOG("h13");
    CHECK_INT(((TVMFFIAny *)test_cell(any.v_obj)->data)[1].v_int64, 4);
    FAILS(test_walk(tvmffi_obj(a), TEST_RAISE, kTVMFFIInt, 1, &any),
          "ValueError", "three");
    test_log_size = 0;
    FAILS(test_walk(tvmffi_obj(b), TEST_RAISE, kTVMFFIInt, 1, &any),
          "ValueError", "three");
    test_log_size = 0;
    FAILS(test_visit_root("ffi.StructuralMap", tvmffi_obj(a), test_raise_always,
                          kTVMFFIInt, 1, &any),
          "ValueError", "no visit");
    test_log_size = 0;
  }
  /* The objects are in no other place, and neither is the list. */
  root = tvmffi_i_new_list(2);
  for (i = code = 0; i < 2 && !code; ++i) {
    node = tvmffi_i_new_object(i ? packed : placed, sizeof(test_visit_node));
    any = tvmffi_obj(node);
    code = root && node ? tvmffi_i_list_append(root, &any) : -1;
    tvmffi_release(node);
  }
  if (code) tvmffi_release(root);
  OK(code);
  hook = tvmffi_obj(root);
  any = tvmffi_i_pointer(kTVMFFIObjectRValueRef, &hook.v_obj);
  code = test_walk(any, TEST_SAME, kTVMFFIInt, 0, &any);
  if (hook.v_obj) tvmffi_release(hook.v_obj);
  OK(code);
  CHECK_LOG("ph");
  CHECK(any.v_obj == root);
  CHECK_INT(((TVMFFIAny *)test_cell(root)->data)->v_int64, 8);
}

/* Says that it has been called for an object, which becomes 8. */
static int test_place_eight(void *self, const TVMFFIAny *args, int32_t num_args,
                            TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args;
  test_say('e');
  *result = tvmffi_int(8);
  return 0;
}

/* Returns a new array with the number 2 for an empty array, and test_touched
   for any other. */
static int test_give_two(void *self, const TVMFFIAny *args, int32_t num_args,
                         TVMFFIAny *result) {
  TVMFFIAny two = tvmffi_int(2);
  (void)self, (void)num_args;
  test_say_value(args);
  if (!test_cell(args[0].v_obj)->size)
    return test_pass_on("ffi.Array", &two, 1, result);
  two = tvmffi_obj(test_touched);
  return TVMFFIAnyViewToOwnedAny(&two, result);
}

/* What changes a value in place: a function as the hook, but not another value
   as the hook, and what a callback returns in place of a value that nobody else
   has, unless somebody else has the result. */
static void test_visits_in_place(TVMFFI_HERE) {
  NODE_TYPE(packed, kTVMFFISEqHashKindTreeNode, 0);
  NODE_TYPE(wrong, kTVMFFISEqHashKindTreeNode, 0);
  TVMFFIByteArray name = TEXT("__s_maybe_inplace_mutate__");
  TVMFFIAny number = tvmffi_int(1), root, any, row[2], args[4];
  TVMFFIObjectHandle f = NULL;
  TVMFFIObject *items[4];
  TVMFFIAny *slots;
  int i, code = 0;
  OK(test_set_hook(packed, "__s_maybe_inplace_mutate__", test_place_eight));
  OK(TVMFFITypeRegisterAttr(wrong, &name, &number));
  OK(TVMFFIFunctionCreate(NULL, test_give_two, NULL, &f));
  OWN(f);
  row[0] = tvmffi_int(kTVMFFIArray);
  row[1] = tvmffi_obj((TVMFFIObject *)f);
  {
    SEQUENCE(none, "Array", row, 0);
    SEQUENCE(pair, "Array", row, 2);
    row[0] = tvmffi_obj(pair);
    SEQUENCE(callbacks, "Array", row, 1);
    args[1] = tvmffi_obj(callbacks);
    args[2] = tvmffi_obj(none);
    args[3] = tvmffi_int(0);
    test_touched = none;
  }
  items[0] = tvmffi_i_new_object(packed, sizeof(test_visit_node));
  items[1] = tvmffi_i_new_object(wrong, sizeof(test_visit_node));
  items[2] = tvmffi_i_new_array(0, &slots);
  items[3] = tvmffi_i_new_array(1, &slots);
  if (items[3]) slots[0] = number;
  root = tvmffi_obj(tvmffi_i_new_list(4));
  for (i = 0; i < 4; ++i) {
    any = tvmffi_obj(items[i]);
    if (!root.v_obj || !items[i]) code = -1;
    if (!code) code = tvmffi_i_list_append(root.v_obj, &any);
    tvmffi_release(items[i]);
  }
  if (code) tvmffi_release(root.v_obj);
  OK(code);
  args[0] = tvmffi_i_pointer(kTVMFFIObjectRValueRef, &root.v_obj);
  code = test_apply_global("ffi.StructuralMap", args, 4, &any);
  if (root.v_obj) tvmffi_release(root.v_obj);
  OK(code);
  CHECK_LOG("eAA");
  row[0] = ((TVMFFIAny *)test_cell(any.v_obj)->data)[0];
  CHECK_INT(row[0].v_int64, 8);
  CHECK(test_item(any.v_obj, 1) == items[1]);
  CHECK_INT(((TVMFFIAny *)test_cell(test_item(any.v_obj, 2))->data)->v_int64,
            2);
  CHECK(test_item(any.v_obj, 3) == test_touched);
}

/* A visitor of C++ that visits fields, leaves and hooks by our functions. */
static void test_foreign_routes(TVMFFI_HERE) {
  static const tvmffi_i_visit_table visits = {test_enter, NULL, NULL, NULL};
  NODE_TYPE(plain, kTVMFFISEqHashKindTreeNode, 0);
  NODE_TYPE(packed, kTVMFFISEqHashKindTreeNode, 0);
  TVMFFIByteArray name = TEXT("__s_visit__");
  TVMFFIAny hook = tvmffi_ptr((void *)(uintptr_t)test_hook_in_place), any;
  TVMFFIObject *tree = test_tree();
  tvmffi_i_visitor v;
  TVMFFIAny value;
  if (!tree) return;
  OK(TVMFFITypeRegisterAttr(packed, &name, &hook));
  memset((void *)&v, 0, sizeof(v));
  v.table = (void *)(uintptr_t)&visits;
  {
    VISIT_NODE(a, plain, tvmffi_obj(tree), tvmffi_int(3));
    VISIT_NODE(b, packed, tvmffi_obj(a), tvmffi_int(2));
    VISIT_NODE(c, plain, tvmffi_obj(b), tvmffi_obj(a));
    value = tvmffi_obj(c);
    any = tvmffi_i_run(&v, 0, 0, 0, &value);
    OK(tvmffi_i_give(any, &any));
    CHECK_LOG("oo");
    value = tvmffi_obj(a);
    any = tvmffi_i_run(&v, 0, 0, 0, &value);
    OK(tvmffi_i_give(any, &any));
    CHECK_INT(any.type_index, kTVMFFIBool);
    CHECK_LOG("A3");
    value = tvmffi_obj(b);
    any = tvmffi_i_run(&v, 0, 0, 0, &value);
    OK(tvmffi_i_give(any, &any));
    CHECK_INT(any.type_index, kTVMFFIInt);
    CHECK_LOG("p");
  }
  value = tvmffi_int(3);
  any = tvmffi_i_run(&v, 0, 0, 0, &value);
  CHECK_INT(any.type_index, kTVMFFINone);
}

/* The variables of a mutator, and of its copy, which has none. */
static void test_remaps(TVMFFI_HERE) {
  NODE_TYPE(var, kTVMFFISEqHashKindFreeVar, 0);
  TVMFFIObject *mutator;
  TVMFFIAny args[3], any, copy;
  VISIT_NODE(a, var, tvmffi_int(1), tvmffi_none());
  VISIT_NODE(b, var, tvmffi_int(1), tvmffi_none());
  mutator = (TVMFFIObject *)(void *)tvmffi_i_new_engine(TVMFFI_I_MUTATE, NULL,
                                                        NULL);
  OK(mutator ? 0 : -1);
  OWN(mutator);
  args[0] = tvmffi_obj(mutator);
  args[1] = tvmffi_obj(a);
  args[2] = tvmffi_int(7);
  OK(test_apply_global("ffi.StructuralMutatorVarRemapSet", args, 3, &any));
  OK(test_apply_global("ffi.StructuralMutatorVarRemapGet", args, 2, &any));
  CHECK_INT(any.v_int64, 7);
  args[1] = tvmffi_obj(b);
  OK(test_apply_global("ffi.StructuralMutatorVarRemapGet", args, 2, &any));
  CHECK_INT(any.type_index, kTVMFFINone);
  args[1] = tvmffi_int(1);
  FAILS(test_apply_global("ffi.StructuralMutatorVarRemapGet", args, 2, &any),
        "TypeError", "Variable-remap key must be an object-backed value");
  any = tvmffi_i_remap_get(mutator, tvmffi_i_pointer(kTVMFFIObject, NULL));
  FAILS(tvmffi_i_give(any, &any), "TypeError",
        "Variable-remap key must be an object-backed value");
  OK(test_apply_attr(TVMFFI_I_STRUCTURAL_MUTATOR, "__ffi_shallow_copy__", args,
                     1, &copy));
  args[0] = copy;
  args[1] = tvmffi_obj(a);
  FAILS(test_apply_global("ffi.StructuralMutatorVarRemapSet", args, 3, &any),
        "TypeError", "A copy of a structural visitor or mutator cannot visit");
  FAILS(test_apply_global("ffi.StructuralMutatorVarRemapGet", args, 2, &any),
        "TypeError", "A copy of a structural visitor or mutator cannot visit");
  /* A raw text needs memory where it is the result. */
  args[0] = tvmffi_obj(mutator);
  args[1] = tvmffi_str("a text of some length");
  OK(test_apply_global("ffi.StructuralMutatorDefaultMutate", args, 2, &any));
  CHECK_TEXT(tvmffi_any_str(&any), "a text of some length");
}

/* More variables than a small dict has room for. */
static void test_many_variables(TVMFFI_HERE) {
  enum { MANY = 12 };
  NODE_TYPE(var, kTVMFFISEqHashKindFreeVar, 0);
  TVMFFIObject *variables[MANY], *mutator;
  TVMFFIAny args[3], any;
  int i;
  mutator = (TVMFFIObject *)(void *)tvmffi_i_new_engine(TVMFFI_I_MUTATE, NULL,
                                                        NULL);
  OK(mutator ? 0 : -1);
  OWN(mutator);
  args[0] = tvmffi_obj(mutator);
  for (i = 0; i < MANY; ++i) {
    VISIT_NODE(v, var, tvmffi_int(i), tvmffi_none());
    variables[i] = v;
    args[1] = tvmffi_obj(v);
    args[2] = tvmffi_int(i);
    OK(test_apply_global("ffi.StructuralMutatorVarRemapSet", args, 3, &any));
  }
  for (i = 0; i < MANY; ++i) {
    args[1] = tvmffi_obj(variables[i]);
    OK(test_apply_global("ffi.StructuralMutatorVarRemapGet", args, 2, &any));
    CHECK_INT(any.v_int64, i);
  }
}

/* A mutator of ours is told by others what nobody else has. */
static void test_unique_values(TVMFFI_HERE) {
  TVMFFIAny callbacks = test_callbacks(TEST_ADD, kTVMFFIInt, 2), pair[2], any;
  TVMFFIObject *mutator;
  pair[0] = tvmffi_int(1);
  pair[1] = tvmffi_int(4);
  if (callbacks.type_index == kTVMFFINone) return;
  any = tvmffi_obj(tvmffi_i_new_object(kTVMFFIObject, sizeof(TVMFFIObject)));
  OK(any.v_obj ? 0 : -1);
  CHECK_INT(tvmffi_i_is_unique(&any), 1);
  tvmffi_i_any_release(&any);
  mutator = (TVMFFIObject *)(void *)tvmffi_i_new_engine(TVMFFI_I_MAP_BEFORE,
                                                        callbacks.v_obj, NULL);
  OK(mutator ? 0 : -1);
  OWN(mutator);
  {
    SEQUENCE(list, "List", pair, 2);
    any = tvmffi_i_enter_unique(mutator, tvmffi_obj(list));
    OK(tvmffi_i_give(any, &any));
    CHECK_INT(any.type_index, kTVMFFIUnchanged);
    CHECK_LOG("14");
    CHECK_INT(((TVMFFIAny *)test_cell(list)->data)[1].v_int64, 5);
    any = tvmffi_i_enter_mutator(mutator, tvmffi_obj(list));
    OK(tvmffi_i_give(any, &any));
    OWN_ANY(any);
    CHECK_LOG("25");
    CHECK(any.v_obj != list);
  }
}
#endif

#if !TVMFFI_NO_EXTRA && !TEST_NO_TYPES
/* A type without fields has children if ffi.Object has a field. */
static void test_root_field(TVMFFI_HERE) {
  TVMFFITypeInfo *root;
  const int32_t index =
      test_type(test_fresh("unit.Fieldless"), -1, 1, 0, 1, kTVMFFIObject);
  OK(index < 0 ? -1 : 0);
  root = &tvmffi_i_type_at(kTVMFFIObject)->info;
  CHECK(tvmffi_i_has_no_fields(TVMFFIGetTypeInfo(index)));
  root->num_fields = 1;
  CHECK(!tvmffi_i_has_no_fields(TVMFFIGetTypeInfo(index)));
  root->num_fields = 0;
}
#endif

static const test_case test_visit_cases[] = {
#if !TVMFFI_NO_EXTRA && !TEST_NO_REFLECTION && !TEST_NO_TYPES
    {"visits: attribute columns", test_visit_columns},
    {"visits: walks", test_walks},
    {"visits: callbacks that own the descent", test_visits},
    {"visits: maps copy on write", test_maps_on_write},
    {"visits: fields", test_visited_fields},
    {"visits: objects that do not change", test_unchanged_objects},
    {"visits: variables and regions", test_variables},
    {"visits: functions of a mutator", test_mutators},
    {"visits: functions of a visitor", test_visitors},
    {"visits: where an error came from", test_error_places},
    {"visits: an error that passes through a plain object", test_plain_place},
    {"visits: paths in a graph of shared levels", test_shared_paths},
    {"visits: paths to shared values", test_shared_values},
    {"visits: hooks", test_visit_hooks},
#if defined(__cplusplus) && defined(__cpp_exceptions)
    {"visits: callbacks that throw", test_thrown_visits},
    {"visits: post-order callbacks that catch", test_caught_after},
#endif
    {"visits: a field of the root type", test_root_field},
    {"visits: replaced values", test_replaced_values},
    {"visits: callbacks by type", test_callback_types},
    {"visits: callbacks that fail", test_callback_errors},
    {"visits: errors of another language", test_errors_elsewhere},
    {"visits: containers that shrink", test_shrinking},
    {"visits: objects without getter, setter or copier", test_odd_nodes},
    {"visits: containers that change", test_visited_changes},
    {"visits: a dict whose keys are set", test_set_while_visited},
    {"visits: depth", test_deep_visits},
    {"visits: without an end", test_endless_visits},
    {"visits: bad arguments", test_bad_visits},
    {"visits: visitors of C++", test_foreign_visitors},
    {"visits: routes of hooks", test_visit_routes},
    {"visits: changes in place", test_visits_in_place},
    {"visits: routes of visitors of C++", test_foreign_routes},
    {"visits: replacements of variables", test_remaps},
    {"visits: many variables", test_many_variables},
    {"visits: what nobody else has", test_unique_values},
#endif
    {NULL, NULL}};
