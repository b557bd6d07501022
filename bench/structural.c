/* structural.c: what goes through whole values: structural equality, hash, walk
 * and map; recursive comparison, repr, deep copies, and object graphs as JSON.
 * The values are a document of 1,000 records (105 KB as JSON), a nest of
 * arrays, and a tree of objects with fields of their own type. The limit of
 * what looks at a value is to read as many Anys, one behind the other; of what
 * makes one, also to allocate and free as many blocks as it has containers and
 * objects; of what writes or reads text, to copy the text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum value { DOCUMENT, NUMBERS, NEST, TREE, VALUES };
enum { RECORDS = 1000, LEVELS = 1500, TREE_LEVELS = 11 };
#define VALUE_PARAM(op, value) ((long)(op) * VALUES + (value))

/* What is called, and how often the value stands among its arguments. */
enum op {
  EQUAL,
  HASH,
  RECURSIVE_EQUAL,
  RECURSIVE_HASH,
  REPR,
  COPY,
  WALK,
  WALK_AFTER,
  MAP,
  MAP_AFTER,
  WALK_CALL,
  MAP_CALL,
  TO_JSON,
  FROM_JSON
};
static const struct {
  const char *name;
  int values, flags, visits;
} ops[] = {
    {"ffi.StructuralEqual", 2, 2, 0},   {"ffi.StructuralHash", 1, 2, 0},
    {"ffi.RecursiveEq", 2, 0, 0},       {"ffi.RecursiveHash", 1, 0, 0},
    {"ffi.ReprPrint", 1, 0, 0},         {"ffi.DeepCopy", 1, 0, 0},
    {"ffi.StructuralWalk", 1, 0, 1},    {"ffi.StructuralWalk", 1, 0, 1},
    {"ffi.StructuralMap", 1, 0, 1},     {"ffi.StructuralMap", 1, 0, 1},
    {"ffi.StructuralWalk", 1, 0, 1},    {"ffi.StructuralMap", 1, 0, 1},
    {"ffi.ToJSONGraphString", 1, 0, 0}, {"ffi.FromJSONGraphString", 1, 0, 0}};

/* How many values each has in it, and in how many objects they stand. */
static const struct {
  long values, objects;
} parts[VALUES] = {{RECORDS * 16, RECORDS * 2 + 1},
                   {30000, 1},
                   {LEVELS, LEVELS},
                   {3L << TREE_LEVELS, 1L << TREE_LEVELS}};

typedef struct value_state {
  TVMFFIObjectHandle function;
  enum op op;
  enum value value;
  TVMFFIAny *block; /* the limit's */
  void **blocks;
  size_t text_size;
  TVMFFIAny args[4];
  int32_t num_args;
} value_state;

/* An object with two fields of any type, and an integer. */
typedef struct node {
  TVMFFIObject base;
  TVMFFIAny left, right;
  int64_t depth;
} node;

static TVMFFIAny owned(TVMFFIAny any) {
  if (any.type_index >= kTVMFFIStaticObjectBegin) tvmffi_retain(any.v_obj);
  return any;
}

static void delete_node(void *self, int flags) {
  node *n = self;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    tvmffi_any_release(&n->left);
    tvmffi_any_release(&n->right);
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) free(n);
}

static TVMFFIAny new_node(int32_t type, const node *from) {
  node *n = bench_alloc(sizeof *n);
  memset(n, 0, sizeof *n);
  n->base.combined_ref_count = (uint64_t)1 << 32 | 1;
  n->base.type_index = type;
  n->base.deleter = delete_node;
  if (from) {
    n->left = owned(from->left);
    n->right = owned(from->right);
    n->depth = from->depth;
  }
  return tvmffi_obj(&n->base);
}

static int copy_node(void *self, const TVMFFIAny *args, int32_t n,
                     TVMFFIAny *result) {
  (void)self, (void)n;
  *result = new_node(args->type_index, args->v_ptr);
  return 0;
}

static int32_t node_types[2];
static int create_node(int side, TVMFFIObjectHandle *result) {
  *result = new_node(node_types[side], NULL).v_obj;
  return 0;
}
static int create_node_ours(TVMFFIObjectHandle *result) {
  return create_node(0, result);
}
static int create_node_stock(TVMFFIObjectHandle *result) {
  return create_node(1, result);
}

static int get_any(void *field, TVMFFIAny *result) {
  *result = owned(*(TVMFFIAny *)field);
  return 0;
}
static int set_any(void *field, const TVMFFIAny *value) {
  TVMFFIAny *to = field, old = *to;
  *to = owned(*value);
  tvmffi_any_release(&old);
  return 0;
}
static int get_int(void *field, TVMFFIAny *result) {
  *result = bench_int(*(int64_t *)field);
  return 0;
}
static int set_int(void *field, const TVMFFIAny *value) {
  *(int64_t *)field = value->v_int64;
  return 0;
}

static void node_field(const bench_lib *lib, int32_t type, const char *name,
                       size_t offset, int is_int) {
  TVMFFIFieldInfo f;
  memset(&f, 0, sizeof f);
  f.name = bench_bytes(name, strlen(name));
  f.flags = kTVMFFIFieldFlagBitMaskWritable;
  f.size = is_int ? 8 : 16;
  f.alignment = 8;
  f.offset = (int64_t)offset;
  f.getter = is_int ? get_int : get_any;
  f.setter = is_int ? (void *)(uintptr_t)set_int : (void *)(uintptr_t)set_any;
  f.field_static_type_index = is_int ? kTVMFFIInt : kTVMFFIAny;
  BENCH_DO(TypeRegisterField, type, &f);
}

static int32_t node_type(const bench_lib *lib) {
  int side = lib->label[0] == 's';
  const TVMFFIByteArray key = bench_bytes("bench.Node", 10);
  const TVMFFIByteArray copy = bench_bytes("__ffi_shallow_copy__", 20);
  TVMFFITypeMetadata metadata;
  TVMFFIAny function;
  int32_t type;
  if (node_types[side]) return node_types[side];
  type = lib->TypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject);
  node_types[side] = type;
  node_field(lib, type, "left", offsetof(node, left), 0);
  node_field(lib, type, "right", offsetof(node, right), 0);
  node_field(lib, type, "depth", offsetof(node, depth), 1);
  memset(&metadata, 0, sizeof metadata);
  metadata.total_size = sizeof(node);
  metadata.creator = side ? create_node_stock : create_node_ours;
  metadata.structural_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  BENCH_DO(TypeRegisterMetadata, type, &metadata);
  function = tvmffi_obj(bench_function(lib, NULL, copy_node, NULL));
  function.type_index = kTVMFFIFunction;
  BENCH_DO(TypeRegisterAttr, type, &copy, &function);
  lib->ObjectDecRef(function.v_obj);
  return type;
}

static TVMFFIAny new_tree(int32_t type, int levels) {
  TVMFFIAny made;
  node *n;
  if (!levels) return bench_int(levels);
  made = new_node(type, NULL);
  n = made.v_ptr;
  n->left = new_tree(type, levels - 1);
  n->right = new_tree(type, levels - 1);
  n->depth = levels;
  return made;
}

static TVMFFIObjectHandle value_function(const bench_lib *lib,
                                         const char *name) {
  TVMFFIByteArray text = bench_bytes(name, strlen(name));
  TVMFFIObjectHandle function = NULL;
  BENCH_DO(FunctionGetGlobal, &text, &function);
  bench_need(lib, function == NULL, name);
  return function;
}

/* Calls a global function with values (borrowed); the result is owned. */
static TVMFFIAny value_call(const bench_lib *lib, const char *name,
                            const TVMFFIAny *args, int32_t n) {
  TVMFFIObjectHandle function = value_function(lib, name);
  TVMFFIAny result = bench_none();
  BENCH_DO(FunctionCall, function, (TVMFFIAny *)(uintptr_t)args, n, &result);
  lib->ObjectDecRef(function);
  return result;
}

static TVMFFIAny value_array(const bench_lib *lib, TVMFFIAny *items,
                             int32_t n) {
  TVMFFIAny array = value_call(lib, "ffi.Array", items, n);
  while (n--) bench_any_release(lib, &items[n]);
  return array;
}

static TVMFFIAny document(const bench_lib *lib) {
  char *text = bench_alloc(RECORDS * 160 + 2), *at = text;
  TVMFFIAny any, made;
  TVMFFIByteArray bytes;
  *at++ = '[';
  for (int i = 0; i < RECORDS; ++i) {
    at += snprintf(at, 160,
                   "%s{\"id\":%d,\"name\":\"record number %d\",\"score\":%.2f,"
                   "\"tags\":[\"tag%d\",\"tag%d\",\"all\"],\"active\":%s,"
                   "\"parent\":null}",
                   i ? "," : "", i, i, i * 1.37, i % 50, i % 7,
                   i % 2 ? "true" : "false");
  }
  *at++ = ']';
  bytes = bench_bytes(text, (size_t)(at - text));
  BENCH_DO(StringFromByteArray, &bytes, &any);
  free(text);
  made = value_call(lib, "ffi.json.Parse", &any, 1);
  bench_any_release(lib, &any);
  return made;
}

static TVMFFIAny make_value(const bench_lib *lib, enum value value) {
  TVMFFIAny made, *items;
  switch (value) {
    case DOCUMENT: return document(lib);
    case NUMBERS:
      items = bench_alloc(30000 * sizeof *items);
      for (int i = 0; i < 30000; ++i) items[i] = bench_int(i);
      made = value_array(lib, items, 30000);
      free(items);
      return made;
    case NEST:
      made = bench_int(1);
      for (int i = 0; i < LEVELS; ++i) made = value_array(lib, &made, 1);
      return made;
    default: return new_tree(node_type(lib), TREE_LEVELS);
  }
}

/* Callbacks of a walk or map: for no type that comes, or for integers. */
static int keep_going(void *self, const TVMFFIAny *args, int32_t n,
                      TVMFFIAny *result) {
  (void)self, (void)args, (void)n;
  *result = bench_int(0);
  return 0;
}
static int next_number(void *self, const TVMFFIAny *args, int32_t n,
                       TVMFFIAny *result) {
  (void)self, (void)n;
  *result = bench_int(args->v_int64 + 1);
  return 0;
}

static TVMFFIAny callbacks(const bench_lib *lib, enum op op) {
  int calls = op == WALK_CALL || op == MAP_CALL;
  TVMFFIAny row[2];
  row[0] = bench_int(calls ? kTVMFFIInt : kTVMFFITensor);
  row[1] = tvmffi_obj(bench_function(
      lib, NULL, op == MAP_CALL ? next_number : keep_going, NULL));
  row[0] = value_array(lib, row, 2);
  return value_array(lib, row, 1);
}

/* The size of the text that is written or read, or 0. */
static size_t text_size(const bench_lib *lib, const value_state *s,
                        enum op op) {
  TVMFFIAny text = bench_none();
  size_t size;
  if (op == FROM_JSON) {
    return ((const TVMFFIByteArray *)bench_cell(s->args[0].v_obj))->size;
  }
  if (op != REPR && op != TO_JSON) return 0;
  BENCH_DO(FunctionCall, s->function, (TVMFFIAny *)(uintptr_t)s->args,
           s->num_args, &text);
  size = ((const TVMFFIByteArray *)bench_cell(text.v_obj))->size;
  bench_any_release(lib, &text);
  return size;
}

static void prepare_limit(const bench_lib *lib, value_state *s, enum op op,
                          enum value value) {
  size_t size = (size_t)parts[value].values * sizeof *s->block;
  s->op = op;
  s->value = value;
  s->text_size = text_size(lib, s, op);
  if (size < s->text_size) size = s->text_size;
  s->block = bench_alloc(size);
  memset(s->block, 1, size);
  s->blocks = bench_alloc((size_t)parts[value].objects * sizeof *s->blocks);
}

static void *value_setup(const bench_lib *lib, long param) {
  value_state *s = bench_alloc(sizeof *s);
  enum op op = (enum op)(param / VALUES);
  enum value value = (enum value)(param % VALUES);
  int i;
  memset(s, 0, sizeof *s);
  s->function = value_function(lib, ops[op].name);
  for (i = 0; i < ops[op].values; ++i)
    s->args[s->num_args++] = make_value(lib, value);
  for (i = 0; i < ops[op].flags; ++i) {
    s->args[s->num_args] = bench_int(0);
    s->args[s->num_args++].type_index = kTVMFFIBool;
  }
  if (ops[op].visits) {
    s->args[s->num_args++] = callbacks(lib, op);
    s->args[s->num_args++] = value_array(lib, NULL, 0);
    s->args[s->num_args++] = bench_int(op == WALK_AFTER || op == MAP_AFTER);
  }
  if (op == TO_JSON) s->args[s->num_args++] = bench_none();
  if (op == FROM_JSON) {
    TVMFFIAny made[2] = {s->args[0], bench_none()};
    s->args[0] = value_call(lib, "ffi.ToJSONGraphString", made, 2);
    bench_any_release(lib, &made[0]);
  }
  prepare_limit(lib, s, op, value);
  return s;
}

static void value_teardown(const bench_lib *lib, void *state) {
  value_state *s = state;
  while (s->num_args) bench_any_release(lib, &s->args[--s->num_args]);
  lib->ObjectDecRef(s->function);
  free(s->block);
  free(s->blocks);
  free(s);
}

BENCH_LOOP(over_value) {
  value_state *s = state;
  for (long i = 0; i < n; ++i) {
    TVMFFIAny result = bench_none();
    BENCH_DO(FunctionCall, s->function, s->args, s->num_args, &result);
    bench_keep(&result);
    bench_any_release(lib, &result);
  }
}

/* Limits */

BENCH_INLINE int makes_anew(enum op op) { return op == COPY || op == MAP_CALL; }

static void read_values(const value_state *s) {
  uint64_t sum = 0;
  bench_keep(s->block);
  for (long i = 0; i < parts[s->value].values; ++i) {
    sum += (uint32_t)s->block[i].type_index ^ s->block[i].v_uint64;
  }
  bench_keep(&sum);
}

static void copy_values(const value_state *s) {
  long objects = parts[s->value].objects;
  long each = parts[s->value].values / objects;
  for (long i = 0; i < objects; ++i) {
    size_t size = (size_t)each * sizeof *s->block;
    s->blocks[i] = bench_alloc(sizeof(TVMFFIObject) + size);
    memcpy(s->blocks[i], &s->block[i * each], size);
  }
  bench_keep(s->blocks);
  for (long i = 0; i < objects; ++i) free(s->blocks[i]);
}

static void copy_text(const value_state *s) {
  char *text = bench_alloc(s->text_size);
  memcpy(text, s->block, s->text_size);
  bench_keep(text);
  free(text);
}

static void value_limit(const bench_lib *lib, void *state, long n) {
  value_state *s = state;
  (void)lib;
  for (long i = 0; i < n; ++i) {
    if (s->text_size) {
      copy_text(s);
    } else if (makes_anew(s->op)) {
      copy_values(s);
    } else {
      read_values(s);
    }
  }
}

#define VALUE_ROW(label, op, value, most)                            \
  {.name = label,                                                    \
   .run = BENCH_SIDES(over_value),                                   \
   .setup = value_setup,                                             \
   .teardown = value_teardown,                                       \
   .limit = value_limit,                                             \
   .limit_is = "as many values read, blocks made or letters copied", \
   .param = VALUE_PARAM(op, value),                                  \
   .goal = most}

#define VALUE_ROWS(label, op, most)                        \
  VALUE_ROW(label ", document", op, DOCUMENT, most),       \
      VALUE_ROW(label ", 30,000 numbers", op, NUMBERS, 0), \
      VALUE_ROW(label ", 1,500 levels", op, NEST, 0),      \
      VALUE_ROW(label ", tree of objects", op, TREE, 0)

const bench_case bench_structural[] = {
    VALUE_ROWS("structural equal", EQUAL, 0.5),
    VALUE_ROWS("structural hash", HASH, 0.5),
    VALUE_ROWS("recursive equality", RECURSIVE_EQUAL, 0),
    VALUE_ROWS("recursive hash", RECURSIVE_HASH, 0),
    VALUE_ROWS("repr", REPR, 0.1),
    VALUE_ROWS("deep copy", COPY, 0.5),
    VALUE_ROWS("walk", WALK, 0),
    VALUE_ROWS("walk, post-order", WALK_AFTER, 0),
    VALUE_ROWS("map", MAP, 0),
    VALUE_ROWS("map, post-order", MAP_AFTER, 0),
    VALUE_ROWS("walk, calls", WALK_CALL, 0),
    VALUE_ROWS("map, changes", MAP_CALL, 0),
    VALUE_ROWS("to graph JSON", TO_JSON, 0.1),
    VALUE_ROWS("from graph JSON", FROM_JSON, 0.4),
    {0}};
