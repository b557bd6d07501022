/* Changing states. An input is a small program over values of every kind: its
   operations build, change, compare, print, copy and write containers and
   objects. Whatever the runtime calls back (hooks of types, getters, setters,
   creators, deleters, functions among the values) runs more operations of the
   same program, so what is being traversed or destroyed changes meanwhile.
   Memory is refused when the program says so. After each input everything is
   released, and the blocks of memory are counted: more than before is a leak.

   FUZZ_TRACE in the environment prints each operation. */
#define FUZZ_RUNTIME
#define TVMFFI_NO_POOL 1 /* each object is a block */
#define FUZZ_MEMORY ((size_t)2 << 20)
#include "blocks.h"
#include "fuzz.h"
#include "types.h"

enum {
  NUM_SLOTS = 28,
  FIRST_ARG = 24, /* where functions of the program put their arguments */
  NUM_WEAK = 4,
  MAX_STEPS = 150,  /* of one input */
  MAX_NESTING = 6,  /* of callbacks that run operations */
  MAX_HOOKS = 3000, /* after so many calls, hooks run nothing */
  MAX_WEIGHT = 300, /* of the arguments of one operation, as trees */
  MAX_ARGS = 4,
  MAX_FRESH = 500 /* types that programs register, in one process */
};

static struct {
  const uint8_t *at, *end;
  TVMFFIAny slots[NUM_SLOTS];   /* owned */
  TVMFFIObject *weak[NUM_WEAK]; /* weak references, or NULL */
  TVMFFIAny busy[2];            /* borrowed: arguments of the call around */
  int steps, nesting, hooks;
  int refusing; /* so many operations until memory is there again */
  int globals_changed;
  int has_lied; /* hashes and equalities of keys have changed */
  int32_t first_fresh;
} vm;

static int trace;

static unsigned next_byte(void) { return vm.at < vm.end ? *vm.at++ : 0; }
static void run(int steps);

static TVMFFIAny *slot(void) { return &vm.slots[next_byte() % NUM_SLOTS]; }

/* Puts an owned value, which it takes, into a slot. */
static void put(unsigned at, TVMFFIAny any) {
  TVMFFIAny *to = &vm.slots[at % NUM_SLOTS], old = *to;
  *to = any;
  tvmffi_any_release(&old);
}

/* An owned copy of an owned value. */
static TVMFFIAny own(TVMFFIAny any) {
  if (any.type_index >= kTVMFFIStaticObjectBegin) tvmffi_retain(any.v_obj);
  return any;
}

/* -------- Callbacks -------- */

static void show(const char *name, const TVMFFIAny *args, int32_t n) {
  int32_t i;
  fprintf(stderr, "%*s%s(", 2 * vm.nesting, "", name);
  for (i = 0; i < n; ++i)
    fprintf(stderr, "%s%d:%p", i ? ", " : "", (int)args[i].type_index,
            args[i].v_ptr);
  fprintf(stderr, ")\n");
}

/* Runs more of the program. Returns how the callback ends: 0 as it should. */
static unsigned happen(void) {
  unsigned how;
  if (vm.hooks >= MAX_HOOKS || vm.nesting >= MAX_NESTING) return 0;
  ++vm.hooks;
  ++vm.nesting;
  how = next_byte();
  run((int)(how / 64));
  --vm.nesting;
  return how % 16;
}

/* The same inside a deleter, which leaves the thread's error as it is. */
static void happen_quietly(void) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  (void)happen();
  TVMFFIErrorSetRaised(error);
  tvmffi_release(error);
}

/* A callback begins without an error in the slot. */
static void check_no_error(void) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  FUZZ_CHECK(!error);
}

static void delete_node(void *self, int flags) {
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) happen_quietly();
  fuzz_delete_node(self, flags);
}

static int make_node(int32_t type, TVMFFIObjectHandle *out) {
  TVMFFI_TRY(fuzz_make_node(type, out));
  ((TVMFFIObject *)*out)->deleter = delete_node;
  return 0;
}

/* That of the objects whose memory and fields the runtime lays out. */
static void (*py_deleter)(void *, int);

static fuzz_node *as_node(const TVMFFIAny *any) {
  void (*deleter)(void *, int);
  if (any->type_index < fuzz_first_type || !any->v_obj) return NULL;
  deleter = any->v_obj->deleter;
  return deleter == fuzz_delete_node || deleter == delete_node ||
                 deleter == py_deleter
             ? (fuzz_node *)(void *)any->v_obj
             : NULL;
}

/* The getter and the setter of a field that run more of the program. */
static int get_live(void *field, TVMFFIAny *out) {
  unsigned how;
  check_no_error();
  how = happen();
  if (how == 15) return TVMFFI_RAISE("ValueError", "the getter fails");
  return fuzz_get_any(field, out);
}
static int set_live(void *field, const TVMFFIAny *value) {
  unsigned how;
  check_no_error();
  how = happen();
  if (how == 15) return TVMFFI_RAISE("ValueError", "the setter fails");
  return fuzz_set_any(field, value);
}

/* What a function that the runtime calls is for. */
typedef enum {
  ANY_HASH,
  ANY_EQUAL,
  REPR,
  HASH,
  EQ,
  COMPARE,
  S_EQUAL,
  S_HASH,
  VISIT,
  MUTATE,
  MUTATE_IN_PLACE,
  TO_JSON,
  FROM_JSON,
  COPY,
  NEW,
  CONVERT,
  NUM_HOOKS,
  SET_FIELD = NUM_HOOKS,
  FACTORY
} hook;

static const char *const hook_names[NUM_HOOKS] = {"__any_hash__",
                                                  "__any_equal__",
                                                  "__ffi_repr__",
                                                  "__ffi_hash__",
                                                  "__ffi_eq__",
                                                  "__ffi_compare__",
                                                  "__s_equal__",
                                                  "__s_hash__",
                                                  "__s_visit__",
                                                  "__s_mutate__",
                                                  "__s_maybe_inplace_mutate__",
                                                  "__data_to_json__",
                                                  "__data_from_json__",
                                                  "__ffi_shallow_copy__",
                                                  "__ffi_new__",
                                                  "__ffi_convert__"};

static TVMFFIObject *visitor_visit, *mutator_mutate;

/* Calls a callback of the runtime with values that are kept meanwhile. */
static int call_back(const TVMFFIAny *f, const TVMFFIAny *args, int32_t n,
                     TVMFFIAny *result) {
  TVMFFIAny held[MAX_ARGS];
  int32_t i;
  int code;
  if (f->type_index != kTVMFFIFunction)
    return TVMFFI_RAISE("TypeError", "the callback is no function");
  for (i = 0; i < n; ++i)
    held[i] = args[i].type_index == kTVMFFIRawStr ? args[i] : own(args[i]);
  code = TVMFFIFunctionCall(f->v_obj, held, n, result);
  for (i = 0; i < n; ++i)
    if (held[i].type_index != kTVMFFIRawStr) tvmffi_any_release(&held[i]);
  return code;
}

/* Gives a copy of a node (or a new node for NULL) of a type. */
static int copy_node(const fuzz_node *from, int32_t type, TVMFFIAny *result) {
  TVMFFIObjectHandle made = NULL;
  fuzz_node *to;
  TVMFFI_TRY(make_node(type, &made));
  to = (fuzz_node *)made;
  if (from) {
    to->number = from->number;
    to->real = from->real;
    to->dtype = from->dtype;
    to->flag = from->flag;
    to->a = own(from->a);
    to->b = own(from->b);
  }
  *result = tvmffi_obj(made);
  return 0;
}

static TVMFFIAny unchanged(void) {
  TVMFFIAny any = tvmffi_none();
  any.type_index = kTVMFFIUnchanged;
  return any;
}

/* Visits or mutates the field a of a node. */
static int descend(int mutates, int in_place, const TVMFFIAny *visitor,
                   const TVMFFIAny *value, TVMFFIAny *result) {
  TVMFFIAny args[2], f, made;
  fuzz_node *node = as_node(value);
  args[0] = *visitor;
  args[1] = node->a;
  f = tvmffi_obj(mutates ? mutator_mutate : visitor_visit);
  TVMFFI_TRY(call_back(&f, args, 2, result));
  if (!mutates || result->type_index == kTVMFFIUnchanged) return 0;
  made = *result;
  if (in_place) {
    TVMFFIAny old = node->a;
    node->a = made;
    *result = unchanged();
    tvmffi_any_release(&old);
    return 0;
  }
  *result = tvmffi_none();
  if (copy_node(node, value->type_index, result)) {
    tvmffi_any_release(&made);
    return -1;
  }
  node = (fuzz_node *)(void *)result->v_obj;
  f = node->a;
  node->a = made;
  tvmffi_any_release(&f);
  return 0;
}

static const char *hook_name(hook kind) {
  if (kind == SET_FIELD) return "a setter";
  return kind == FACTORY ? "a factory" : hook_names[kind];
}

/* What a hook does when all goes well. */
static int act(hook kind, int32_t type, const TVMFFIAny *args, int32_t n,
               TVMFFIAny *result) {
  fuzz_node *a = n > 0 ? as_node(&args[0]) : NULL;
  fuzz_node *b = n > 1 ? as_node(&args[1]) : NULL;
  TVMFFIAny next[4];
  switch (kind) {
    case NEW: return copy_node(NULL, type, result);
    case FACTORY: *result = own(vm.slots[type % NUM_SLOTS]); return 0;
    case FROM_JSON:
      TVMFFI_TRY(copy_node(NULL, type, result));
      if (!n) return 0;
      return fuzz_set_any(&((fuzz_node *)(void *)result->v_obj)->a, &args[0]);
    case CONVERT: return n ? TVMFFIAnyViewToOwnedAny(&args[0], result) : 0;
    case SET_FIELD:
      return n > 1 && args[0].type_index == kTVMFFIOpaquePtr
                 ? fuzz_set_any(args[0].v_ptr, &args[1])
                 : 0;
    case VISIT:
    case MUTATE:
    case MUTATE_IN_PLACE:
      if (!b) return TVMFFI_RAISE("TypeError", "no node");
      return descend(kind != VISIT, kind == MUTATE_IN_PLACE, &args[0], &args[1],
                     result);
    default: break;
  }
  if (!a) return TVMFFI_RAISE("TypeError", "no node");
  next[0] = a->a;
  if (b) next[1] = b->a;
  switch (kind) {
    case ANY_HASH: *result = tvmffi_int(a->number % 4); return 0;
    case ANY_EQUAL:
      *result = tvmffi_bool(b && a->number == b->number);
      return 0;
    case COPY: return copy_node(a, a->base.type_index, result);
    case TO_JSON:
      if (a->a.type_index < kTVMFFIStaticObjectBegin)
        *result = own(a->a);
      else
        *result = tvmffi_int(a->number);
      return 0;
    case REPR:
    case HASH: return n > 1 ? call_back(&args[1], next, 1, result) : 0;
    case EQ:
    case COMPARE: return n > 2 && b ? call_back(&args[2], next, 2, result) : 0;
    case S_EQUAL:
      next[2] = tvmffi_int(a->flag ? 1 : 0);
      next[3] = tvmffi_str("a");
      return n > 2 && b ? call_back(&args[2], next, 4, result) : 0;
    case S_HASH:
      if (n < 3) return 0;
      next[1] = args[1];
      next[2] = tvmffi_int(a->flag ? 1 : 0);
      return call_back(&args[2], next, 3, result);
    default: return 0;
  }
}

/* `self` is a hook and a type. */
static int on_hook(void *self, const TVMFFIAny *args, int32_t n,
                   TVMFFIAny *result) {
  intptr_t what = (intptr_t)self;
  unsigned how;
  check_no_error();
  if (trace) show(hook_name((hook)(what & 255)), args, n);
  how = happen();
  /* A creator that returns an old object lets its caller change a key. */
  if (how >= 12 && how <= 14 &&
      ((what & 255) <= ANY_EQUAL || (what & 255) == NEW))
    vm.has_lied = 1;
  switch (how) {
    case 12: *result = own(*slot()); return 0;
    case 13: return 0;
    case 14: *result = tvmffi_float(0.5); return 0;
    case 15: return TVMFFI_RAISE("ValueError", "the hook fails");
    default:
      return act((hook)(what & 255), (int32_t)(what >> 8), args, n, result);
  }
}

/* The same as a C function that returns its error. */
static TVMFFIAny on_native(hook kind, const TVMFFIAny *args, int32_t n) {
  TVMFFIAny result = tvmffi_none();
  TVMFFIObjectHandle error = NULL;
  if (on_hook((void *)(intptr_t)kind, args, n, &result) == 0) {
    if (kind == VISIT || kind == MUTATE || kind == MUTATE_IN_PLACE)
      return result;
    if (result.type_index < kTVMFFIStaticObjectBegin) return result;
    tvmffi_any_release(&result);
    return tvmffi_int(0);
  }
  TVMFFIErrorMoveFromRaised(&error);
  return tvmffi_obj(error);
}
static TVMFFIAny native_hash(const TVMFFIAny *a) {
  return on_native(ANY_HASH, a, 1);
}
static TVMFFIAny native_equal(const TVMFFIAny *a, const TVMFFIAny *b) {
  TVMFFIAny args[2];
  args[0] = *a;
  args[1] = *b;
  return on_native(ANY_EQUAL, args, 2);
}
static TVMFFIAny native_descend(hook kind, void *visitor, TVMFFIAny value) {
  TVMFFIAny args[2];
  args[0] = tvmffi_obj(visitor);
  args[1] = value;
  return on_native(kind, args, 2);
}
static TVMFFIAny native_visit(void *visitor, TVMFFIAny value) {
  return native_descend(VISIT, visitor, value);
}
static TVMFFIAny native_mutate(void *visitor, TVMFFIAny value) {
  return native_descend(MUTATE, visitor, value);
}
static TVMFFIAny native_in_place(void *visitor, TVMFFIAny value) {
  return native_descend(MUTATE_IN_PLACE, visitor, value);
}

/* -------- Types -------- */

enum { IS_NATIVE = 1 << NUM_HOOKS, LIVE_FIELDS = 2 << NUM_HOOKS };
#define BIT(kind) (1 << (kind))
static const struct {
  const char *key;
  TVMFFISEqHashKind kind;
  int hooks;
} live_types[] = {
    {"states.Keyed", kTVMFFISEqHashKindTreeNode,
     IS_NATIVE | BIT(ANY_HASH) | BIT(ANY_EQUAL) | BIT(NEW) | BIT(COPY)},
    {"states.Packed", kTVMFFISEqHashKindDAGNode,
     BIT(ANY_HASH) | BIT(ANY_EQUAL) | BIT(NEW) | BIT(COPY)},
    {"states.Shown", kTVMFFISEqHashKindUniqueInstance,
     BIT(REPR) | BIT(HASH) | BIT(EQ) | BIT(NEW)},
    {"states.Ordered", kTVMFFISEqHashKindConstTreeNode,
     BIT(COMPARE) | BIT(HASH) | BIT(NEW)},
    {"states.Alike", kTVMFFISEqHashKindTreeNode,
     BIT(S_EQUAL) | BIT(S_HASH) | BIT(NEW) | BIT(COPY)},
    {"states.Visited", kTVMFFISEqHashKindTreeNode,
     BIT(VISIT) | BIT(MUTATE) | BIT(MUTATE_IN_PLACE) | BIT(COPY) | BIT(NEW)},
    {"states.Native", kTVMFFISEqHashKindTreeNode,
     IS_NATIVE | BIT(VISIT) | BIT(MUTATE) | BIT(MUTATE_IN_PLACE) | BIT(COPY)},
    {"states.Saved", kTVMFFISEqHashKindTreeNode, BIT(TO_JSON) | BIT(FROM_JSON)},
    {"states.Live", kTVMFFISEqHashKindTreeNode,
     LIVE_FIELDS | BIT(NEW) | BIT(COPY) | BIT(CONVERT)},
    {"states.Variable", kTVMFFISEqHashKindFreeVar,
     LIVE_FIELDS | BIT(NEW) | BIT(COPY)}};
enum { NUM_LIVE = sizeof(live_types) / sizeof(live_types[0]) };
static int32_t first_live;

static TVMFFIObject *hook_function(hook kind, int32_t type) {
  TVMFFIObjectHandle f = NULL;
  FUZZ_CHECK(TVMFFIFunctionCreate((void *)((intptr_t)type << 8 | kind), on_hook,
                                  NULL, &f) == 0);
  return (TVMFFIObject *)f;
}

static TVMFFIAny hook_value(hook kind, int32_t type, int is_native) {
  if (is_native) switch (kind) {
      case ANY_HASH: return tvmffi_ptr((void *)(uintptr_t)native_hash);
      case ANY_EQUAL: return tvmffi_ptr((void *)(uintptr_t)native_equal);
      case VISIT: return tvmffi_ptr((void *)(uintptr_t)native_visit);
      case MUTATE: return tvmffi_ptr((void *)(uintptr_t)native_mutate);
      case MUTATE_IN_PLACE:
        return tvmffi_ptr((void *)(uintptr_t)native_in_place);
      default: break;
    }
  return tvmffi_obj(hook_function(kind, type));
}

static void field_of(int32_t type, const char *name, size_t offset, int live,
                     int64_t flags) {
  TVMFFIFieldInfo field;
  TVMFFIFieldSetter setter = live ? set_live : fuzz_set_any;
  memset((void *)&field, 0, sizeof(field));
  field.name = tvmffi_byte_array(name);
  field.doc = field.metadata = tvmffi_byte_array("");
  field.flags = kTVMFFIFieldFlagBitMaskWritable | flags;
  field.size = 16;
  field.alignment = 8;
  field.offset = (int64_t)offset;
  field.getter = live ? get_live : fuzz_get_any;
  memcpy(&field.setter, &setter, sizeof(field.setter));
  if (flags & kTVMFFIFieldFlagBitSetterIsFunctionObj)
    field.setter = hook_function(SET_FIELD, 0);
  if (flags & kTVMFFIFieldFlagBitMaskDefaultFromFactory)
    field.default_value_or_factory = tvmffi_obj(hook_function(FACTORY, 0));
  field.field_static_type_index = kTVMFFIAny;
  FUZZ_CHECK(TVMFFITypeRegisterField(type, &field) == 0);
}

static void register_live_types(void) {
  int i, k;
  for (i = 0; i < NUM_LIVE; ++i) {
    TVMFFIByteArray key = tvmffi_byte_array(live_types[i].key), name;
    int32_t t = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject);
    int hooks = live_types[i].hooks, live = (hooks & LIVE_FIELDS) != 0;
    TVMFFITypeMetadata metadata;
    TVMFFIAny result, index;
    FUZZ_CHECK(t > 0);
    if (!i) first_live = t;
    FUZZ_CHECK(t == first_live + i);
    fuzz_field(t, "number", offsetof(fuzz_node, number), 8, kTVMFFIInt,
               fuzz_get_number, fuzz_set_number, 0);
    field_of(t, "a", offsetof(fuzz_node, a), live,
             live ? kTVMFFIFieldFlagBitMaskHasDefault |
                        kTVMFFIFieldFlagBitMaskDefaultFromFactory
                  : kTVMFFIFieldFlagBitMaskHasDefault);
    field_of(t, "b", offsetof(fuzz_node, b), live,
             kTVMFFIFieldFlagBitMaskHasDefault |
                 (live ? kTVMFFIFieldFlagBitSetterIsFunctionObj |
                             kTVMFFIFieldFlagBitMaskKwOnly
                       : 0));
    memset((void *)&metadata, 0, sizeof(metadata));
    metadata.doc = tvmffi_byte_array("");
    metadata.total_size = (int32_t)sizeof(fuzz_node);
    metadata.structural_eq_hash_kind = live_types[i].kind;
    FUZZ_CHECK(TVMFFITypeRegisterMetadata(t, &metadata) == 0);
    for (k = 0; k < NUM_HOOKS; ++k) {
      TVMFFIAny value;
      if (!(hooks & BIT(k))) continue;
      value = hook_value((hook)k, t, hooks & IS_NATIVE);
      name = tvmffi_byte_array(hook_names[k]);
      FUZZ_CHECK(TVMFFITypeRegisterAttr(t, &name, &value) == 0);
    }
    index = tvmffi_int(t);
    FUZZ_CHECK(
        fuzz_call1(fuzz_function("ffi._RegisterFFIInit"), index, &result) == 0);
  }
}

static int convert(void *converter, const TVMFFIAny *value, TVMFFIAny *out) {
  unsigned how;
  (void)converter;
  check_no_error();
  how = happen();
  if (how == 15) return TVMFFI_RAISE("ValueError", "the converter fails");
  if (how == 14) *out = own(*slot());
  return how == 14 ? 0 : TVMFFIAnyViewToOwnedAny(value, out);
}

/* Registers a type as Python does: with the same fields as the others. */
static int32_t py_type;
static void register_py_type(void) {
  static const struct {
    const char *name;
    size_t offset;
    int32_t type;
    int64_t flags;
  } rows[] = {
      {"number", offsetof(fuzz_node, number), kTVMFFIInt, 0},
      {"real", offsetof(fuzz_node, real), kTVMFFIFloat, 0},
      {"a", offsetof(fuzz_node, a), kTVMFFIAny,
       kTVMFFIFieldFlagBitMaskDefaultFromFactory},
      {"b", offsetof(fuzz_node, b), kTVMFFIAny, kTVMFFIFieldFlagBitMaskKwOnly}};
  TVMFFIByteArray key = tvmffi_byte_array("states.Py");
  TVMFFIAny args[3], result;
  size_t i;
  py_type = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject);
  FUZZ_CHECK(py_type == first_live + NUM_LIVE);
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    TVMFFIFieldInfo field;
    memset((void *)&field, 0, sizeof(field));
    field.name = tvmffi_byte_array(rows[i].name);
    field.doc = field.metadata = tvmffi_byte_array("");
    field.flags = kTVMFFIFieldFlagBitMaskWritable |
                  kTVMFFIFieldFlagBitSetterIsFunctionObj |
                  kTVMFFIFieldFlagBitMaskHasDefault | rows[i].flags;
    field.size = rows[i].type == kTVMFFIAny ? 16 : 8;
    field.alignment = 8;
    field.offset = (int64_t)rows[i].offset;
    field.field_static_type_index = rows[i].type;
    args[0] = tvmffi_int(rows[i].type);
    args[1] = tvmffi_int(0);
    args[2] = tvmffi_int((int64_t)(intptr_t)convert);
    FUZZ_CHECK(fuzz_apply(fuzz_function("ffi.MakeFieldGetter"), args, 1,
                          &result) == 0);
    field.getter = (TVMFFIFieldGetter)(uintptr_t)result.v_int64;
    FUZZ_CHECK(fuzz_apply(fuzz_function("ffi.MakeFieldSetter"), args, 3,
                          &result) == 0);
    field.setter = result.v_obj;
    if (rows[i].type == kTVMFFIInt)
      field.default_value_or_factory = tvmffi_int(2);
    if (rows[i].type == kTVMFFIFloat)
      field.default_value_or_factory = tvmffi_float(0.5);
    if (rows[i].flags & kTVMFFIFieldFlagBitMaskDefaultFromFactory)
      field.default_value_or_factory = tvmffi_obj(hook_function(FACTORY, 0));
    FUZZ_CHECK(TVMFFITypeRegisterField(py_type, &field) == 0);
  }
  args[0] = tvmffi_int(py_type);
  args[1] = tvmffi_int((int64_t)sizeof(fuzz_node));
  FUZZ_CHECK(fuzz_apply(fuzz_function("ffi._PyClassRegisterTypeAttrColumns"),
                        args, 2, &result) == 0);
  FUZZ_CHECK(fuzz_apply(fuzz_function("ffi.MakeObjectFromPackedArgs"), args, 1,
                        &result) == 0);
  py_deleter = result.v_obj->deleter;
  tvmffi_any_release(&result);
}

/* -------- A type and functions of the C interface -------- */

typedef struct {
  TVMFFIObject base;
  TVMFFIAny any, text;
  TVMFFIObject *object, *list;
  int64_t number;
} StatesBox;
static void end_box(StatesBox *self) {
  (void)self;
  happen_quietly();
}
TVMFFI_FUNC(states_fresh, str) {
  if (happen() == 15) return TVMFFI_RAISE("ValueError", "the factory fails");
  TVMFFI_RETURN(tvmffi_byte_array("made by a factory"));
}
TVMFFI_METHOD(StatesBox, swap, any, (any, value)) {
  TVMFFIAny old = self->any;
  self->any = tvmffi_none();
  if (tvmffi_any_assign(&self->any, value)) {
    self->any = old;
    return -1;
  }
  *tvmffi_result = old;
  return 0;
}
TVMFFI_TYPE(StatesBox, "states.Box", TVMFFIObject, (field, any, any),
            (field, str, text), (factory, states_fresh),
            (field, object, object, NULL), (field, list, list, NULL),
            (field, int64, number, 3), (method, swap), (destructor, end_box))

TVMFFI_FUNC(states_sum, int64, (list(int64), items), (optional(str), name)) {
  int64_t sum = (int64_t)(name.has_value ? name.value.size : 0);
  TVMFFI_FOREACH(any, item, tvmffi_obj(items)) {
    if (item.type_index == kTVMFFIInt) sum ^= item.v_int64;
    (void)happen();
  }
  TVMFFI_RETURN(sum);
}
TVMFFI_FUNC(states_map, object, (map(str, any), items),
            (dict(any, list(any)), d), (optional(StatesBox), box)) {
  (void)d;
  (void)happen();
  if (box) TVMFFI_RETURN(box);
  TVMFFI_RETURN(items);
}

/* -------- Values that call back -------- */

/* A function of the program, and a value that it holds. */
typedef struct closure {
  struct closure *before, *after;
  TVMFFIAny held; /* owned */
  int steps;
} closure;
static closure closures = {&closures, &closures, {0, {0}, {0}}, 0};

static void end_closure(void *self) {
  closure *c = (closure *)self;
  happen_quietly();
  c->before->after = c->after;
  c->after->before = c->before;
  tvmffi_any_release(&c->held);
  fuzz_free(c);
}

static closure *make_closure(int steps) {
  closure *c = (closure *)fuzz_malloc(sizeof(*c));
  if (!c) return c;
  c->held = own(*slot());
  c->steps = steps;
  c->before = &closures;
  c->after = closures.after;
  c->after->before = c;
  closures.after = c;
  return c;
}

static int on_call(void *self, const TVMFFIAny *args, int32_t n,
                   TVMFFIAny *result) {
  const closure *c = (const closure *)self;
  unsigned how;
  int32_t i;
  if (vm.nesting < MAX_NESTING) {
    for (i = 0; i < n && i < NUM_SLOTS - FIRST_ARG; ++i) {
      TVMFFIAny any = tvmffi_none();
      if (args[i].type_index >= kTVMFFIStaticObjectBegin && !args[i].v_obj)
        continue;
      fuzz_check_error(TVMFFIAnyViewToOwnedAny(&args[i], &any));
      put((unsigned)(FIRST_ARG + i), any);
    }
    if (vm.steps < MAX_STEPS) {
      ++vm.nesting;
      run(c->steps);
      --vm.nesting;
    }
  }
  how = vm.nesting < MAX_NESTING ? next_byte() % 8 : 0;
  switch (how) {
    case 1: *result = own(c->held); return 0;
    case 2: *result = own(*slot()); return 0;
    case 3: return TVMFFI_RAISE("KeyError", "the function fails");
    case 4: *result = unchanged(); return 0;
    case 5: *result = tvmffi_int(1); return 0;
    case 6:
      return n && args[0].type_index != kTVMFFIObjectRValueRef
                 ? TVMFFIAnyViewToOwnedAny(&args[0], result)
                 : 0;
    case 7: *result = tvmffi_bool(1); return 0;
    default: return 0;
  }
}

/* Turns a handle and the code of what made it into an owned value. */
static TVMFFIAny made(int code, TVMFFIObjectHandle handle) {
  fuzz_check_error(code);
  return code ? tvmffi_none() : tvmffi_obj(handle);
}

static TVMFFIAny make_function(int steps) {
  TVMFFIObjectHandle f = NULL;
  closure *c = make_closure(steps);
  int code;
  if (!c) return tvmffi_none();
  code = TVMFFIFunctionCreate(c, on_call, end_closure, &f);
  fuzz_check_error(code);
  if (!code) return tvmffi_obj(f);
  end_closure(c);
  return tvmffi_none();
}

static TVMFFIAny make_opaque(void) {
  TVMFFIObjectHandle o = NULL;
  closure *c = make_closure(0);
  int code;
  if (!c) return tvmffi_none();
  code = TVMFFIObjectCreateOpaque(c, kTVMFFIOpaquePyObject, end_closure, &o);
  fuzz_check_error(code);
  if (!code) return tvmffi_obj(o);
  end_closure(c);
  return tvmffi_none();
}

/* Tensors of up to 3 dimensions of up to 3 each. */
static float tensor_data[64];
typedef struct {
  DLManagedTensorVersioned versioned;
  DLManagedTensor plain;
  int64_t shape[3], strides[3];
} tensor;

static void end_versioned(DLManagedTensorVersioned *self) {
  happen_quietly();
  fuzz_free(self->manager_ctx);
}
static void end_plain(DLManagedTensor *self) {
  happen_quietly();
  fuzz_free(self->manager_ctx);
}

static tensor *new_tensor(const DLTensor *like) {
  tensor *t = (tensor *)fuzz_malloc(sizeof(*t));
  DLTensor *d;
  int32_t i, n = like ? like->ndim : (int32_t)(next_byte() % 4);
  if (!t || n > 3) {
    if (t) fuzz_free(t);
    return NULL;
  }
  memset((void *)t, 0, sizeof(*t));
  d = &t->versioned.dl_tensor;
  d->data = tensor_data;
  d->device.device_type = kDLCPU;
  if (!like && next_byte() % 4 == 0) d->device.device_type = kDLCUDA;
  if (like) d->device = like->device;
  d->ndim = n;
  d->dtype.code = kDLFloat;
  d->dtype.bits = 32;
  d->dtype.lanes = 1;
  for (i = n - 1; i >= 0; --i) {
    t->shape[i] = like ? like->shape[i] : next_byte() % 4;
    t->strides[i] = i == n - 1 ? 1 : t->strides[i + 1] * t->shape[i + 1];
  }
  d->shape = t->shape;
  d->strides = t->strides;
  t->plain.dl_tensor = *d;
  t->plain.manager_ctx = t->versioned.manager_ctx = t;
  t->plain.deleter = end_plain;
  t->versioned.deleter = end_versioned;
  t->versioned.version.major = DLPACK_MAJOR_VERSION;
  return t;
}

static int allocate(DLTensor *prototype, DLManagedTensorVersioned **out,
                    void *context,
                    void (*fail)(void *, const char *, const char *)) {
  unsigned how = happen();
  tensor *t = how == 15 ? NULL : new_tensor(prototype);
  if (!t) {
    fail(context, "ValueError", "the allocator fails");
    return -1;
  }
  *out = &t->versioned;
  return 0;
}

static TVMFFIAny make_tensor(void) {
  TVMFFIObjectHandle o = NULL;
  tensor *t = new_tensor(NULL);
  int code;
  unsigned versioned = next_byte() % 2;
  if (!t) return tvmffi_none();
  code = versioned ? TVMFFITensorFromDLPackVersioned(&t->versioned, 0, 0, &o)
                   : TVMFFITensorFromDLPack(&t->plain, 0, 0, &o);
  if (code) fuzz_free(t);
  return made(code, o);
}

/* Exports a tensor and imports it again. */
static int check_tensor(const DLTensor *t);
static TVMFFIAny exchange_tensor(const TVMFFIAny *any) {
  TVMFFIObjectHandle o = NULL;
  DLManagedTensorVersioned *versioned = NULL;
  DLManagedTensor *plain = NULL;
  DLTensor like;
  int code;
  TVMFFIAny from;
  if (any->type_index != kTVMFFITensor) return make_tensor();
  like = *TVMFFITensorGetDLTensorPtr(any->v_obj);
  from = own(*any);
  switch (next_byte() % 5) {
    case 4:
      fuzz_check_error(check_tensor(&like));
      o = own(from).v_obj;
      break;
    case 0:
      code = TVMFFITensorToDLPack(from.v_obj, &plain);
      fuzz_check_error(code);
      if (code) break;
      code = TVMFFITensorFromDLPack(plain, 0, 0, &o);
      if (code) plain->deleter(plain);
      fuzz_check_error(code);
      break;
    case 1:
      code = TVMFFITensorToDLPackVersioned(from.v_obj, &versioned);
      fuzz_check_error(code);
      if (code) break;
      code = TVMFFITensorFromDLPackVersioned(versioned, 8, 1, &o);
      fuzz_check_error(code);
      if (code) versioned->deleter(versioned);
      break;
    case 2:
      if (like.ndim) --like.ndim;
      fuzz_check_error(TVMFFITensorCreateUnsafeView(from.v_obj, &like, &o));
      break;
    default: fuzz_check_error(TVMFFIEnvTensorAlloc(&like, &o)); break;
  }
  tvmffi_any_release(&from);
  return tvmffi_obj(o);
}

/* -------- Calls of global functions -------- */

/* The functions and their parameters: a array, l list, m map, d dict, o object,
   f function, s string, e error context, V visitor, M mutator, i small int,
   b bool, n int or None, t type index, v any value, c callbacks of a visit,
   C callbacks of a mutation, j JSON text, g graph text, x module, p path,
   2 the argument before or one like it, * up to three values of any kind. */
typedef struct {
  const char *name, *params;
} signature;
static const signature signatures[] = {
    {"ffi.Array", "*"},
    {"ffi.ArrayGetItem", "ai"},
    {"ffi.ArraySize", "a"},
    {"ffi.ArrayContains", "av"},
    {"ffi.List", "*"},
    {"ffi.ListGetItem", "li"},
    {"ffi.ListSetItem", "liv"},
    {"ffi.ListSize", "l"},
    {"ffi.ListContains", "lv"},
    {"ffi.ListAppend", "lv"},
    {"ffi.ListAppend", "lv"},
    {"ffi.ListInsert", "liv"},
    {"ffi.ListPop", "li"},
    {"ffi.ListErase", "li"},
    {"ffi.ListEraseRange", "lii"},
    {"ffi.ListReplaceSlice", "liil"},
    {"ffi.ListReverse", "l"},
    {"ffi.ListClear", "l"},
    {"ffi.ListReserve", "li"},
    {"ffi.Map", "vvvv"},
    {"ffi.MapSize", "m"},
    {"ffi.MapGetItem", "mv"},
    {"ffi.MapGetItemOrMissing", "mv"},
    {"ffi.MapCount", "mv"},
    {"ffi.MapForwardIterFunctor", "m"},
    {"ffi.Dict", "vvvv"},
    {"ffi.DictSize", "d"},
    {"ffi.DictGetItem", "dv"},
    {"ffi.DictGetItemOrMissing", "dv"},
    {"ffi.DictCount", "dv"},
    {"ffi.DictSetItem", "dvv"},
    {"ffi.DictSetItem", "dvv"},
    {"ffi.DictSetItem", "dvv"},
    {"ffi.DictErase", "dv"},
    {"ffi.DictClear", "d"},
    {"ffi.DictForwardIterFunctor", "d"},
    {"ffi.Shape", "iii"},
    {"ffi.ContainerFindFirstNonCPUDevice", "v"},
    {"ffi.MakeObjectFromPackedArgs", "t"},
    {"ffi.MakeObjectFromPackedArgs", "tsvsv"},
    {"ffi.VisitInterrupt", "v"},
    {"ffi.DeepCopy", "v"},
    {"ffi.DeepCopy", "o"},
    {"ffi.ReprPrint", "v"},
    {"ffi.RecursiveHash", "v"},
    {"ffi.RecursiveEq", "vv"},
    {"ffi.RecursiveLt", "vv"},
    {"ffi.RecursiveLe", "vv"},
    {"ffi.RecursiveGt", "vv"},
    {"ffi.RecursiveGe", "vv"},
    {"ffi.StructuralEqual", "vvbb"},
    {"ffi.GetFirstStructuralMismatch", "vvbb"},
    {"ffi.StructuralHash", "vbb"},
    {"ffi.StructuralKey", "v"},
    {"ffi.StructuralKeyEqual", "vv"},
    {"ffi.StructuralVisit", "vc"},
    {"ffi.StructuralWalk", "vcci"},
    {"ffi.StructuralMap", "vcci"},
    {"ffi.StructuralMutate", "vC"},
    {"ffi.StructuralVisitorVisit", "Vv"},
    {"ffi.StructuralVisitorDefaultVisit", "Vv"},
    {"ffi.StructuralVisitorDefRegionKind", "V"},
    {"ffi.StructuralVisitorWithDefRegionKind", "Vif"},
    {"ffi.StructuralMutatorMutate", "Mv"},
    {"ffi.StructuralMutatorDefaultMutate", "Mv"},
    {"ffi.StructuralMutatorDefRegionKind", "M"},
    {"ffi.StructuralMutatorWithDefRegionKind", "Mif"},
    {"ffi.StructuralMutatorVarRemapGet", "Mo"},
    {"ffi.StructuralMutatorVarRemapSet", "Mov"},
    {"ffi.VisitErrorContext.FindAccessPaths", "oeb"},
    {"ffi.json.Parse", "j"},
    {"ffi.json.Stringify", "vn"},
    {"ffi.ToJSONGraph", "vn"},
    {"ffi.ToJSONGraphString", "vn"},
    {"ffi.FromJSONGraph", "m"},
    {"ffi.FromJSONGraphString", "g"},
    {"ffi.FromJSONGraphString", "s"},
    {"ffi.GetGlobalFuncMetadata", "s"},
    {"ffi.FunctionListGlobalNamesFunctor", ""},
    {"ffi.GetRegisteredTypeKeys", ""},
    {"ffi.GetInvalidObject", ""},
    {"ffi.GetKwargsObject", ""},
    {"ffi.MakeFieldGetter", "t"},
    {"ffi.SystemLib", ""},
    {"ffi.ModuleImportModule", "xx"},
    {"ffi.ModuleClearImports", "x"},
    {"ffi.ModuleGetFunction", "xsb"},
    {"ffi.ModuleGetKind", "x"},
    {"ffi.ModuleGlobalsAdd", "x"},
    {"ffi.ModuleGlobalsRemove", "x"},
    {"ffi.ModuleImplementsFunction", "xsb"},
    {"ffi.ModuleGetFunctionMetadata", "xsb"},
    {"ffi.ModuleGetPropertyMask", "x"},
    {"ffi.RecursiveEq", "v2"},
    {"ffi.RecursiveEq", "o2"},
    {"ffi.RecursiveLt", "o2"},
    {"ffi.RecursiveLe", "l2"},
    {"ffi.StructuralEqual", "o2bb"},
    {"ffi.StructuralEqual", "v2bb"},
    {"ffi.GetFirstStructuralMismatch", "o2bb"},
    {"ffi.StructuralKeyEqual", "v2"},
    {"ffi.ListAppend", "l2"},
    {"ffi.ListReplaceSlice", "lii2"},
    {"ffi.VisitErrorContext.FindAccessPaths", "oeb"},
    {"ffi.String", "s"},
    {"states.sum", "lv"},
    {"states.sum", "av"},
    {"states.map", "mdo"}};
enum {
  NUM_SIGNATURES = sizeof(signatures) / sizeof(signatures[0]),
  NUM_CONTAINER_SIGNATURES = 36 /* the first ones */
};
static TVMFFIObject *functions[NUM_SIGNATURES];
static int32_t type_visitor, type_mutator, type_context, type_path;

static int32_t param_type(char param) {
  switch (param) {
    case 'a': return kTVMFFIArray;
    case 'l': return kTVMFFIList;
    case 'm': return kTVMFFIMap;
    case 'd': return kTVMFFIDict;
    case 'o': return kTVMFFIObject;
    case 'f': return kTVMFFIFunction;
    case 'x': return kTVMFFIModule;
    case 'e': return type_context;
    case 'V': return type_visitor;
    case 'M': return type_mutator;
    case 'p': return type_path;
    default: return kTVMFFIAny;
  }
}

static int fits(const TVMFFIAny *any, char param) {
  int32_t index = any->type_index, want = param_type(param);
  if (param == 's') return index == kTVMFFIStr || index == kTVMFFISmallStr;
  if (param == 'o')
    return index >= fuzz_first_type ||
           (index >= kTVMFFIStaticObjectBegin && index != kTVMFFIStr);
  if (want == kTVMFFIAny) return 1;
  return index >= want && tvmffi_is_instance(index, want);
}

static const char *const texts[] = {
    "a",
    "a text of more than eight bytes",
    "number",
    "b",
    "[1, {\"a\": [2.5, null]}, \"longer than eight\", true]",
    "{\"a\": {\"a\": [[], {}, -1e300, 123456789012345678901234567890]}}",
    ("{\"root_index\":2,\"nodes\":[{\"type\":\"int\",\"data\":1},{\"type\":"
     "\"ffi.List\",\"data\":[0,0]},{\"type\":\"fuzz.Node\",\"data\":{\"number\""
     ":0,\"a\":1,\"b\":1}}]}"),
    ("{\"root_index\":1,\"nodes\":[{\"type\":\"int\",\"data\":1},{\"type\":"
     "\"states.Saved\",\"data\":1}]}"),
    ("{\"root_index\":2,\"nodes\":[{\"type\":\"states.Live\",\"data\":{\"a\":1,"
     "\"b\":1}},{\"type\":\"ffi.Dict\",\"data\":[3,0]},{\"type\":\"ffi.Map\","
     "\"data\":[3,1]},{\"type\":\"states.Keyed\",\"data\":{\"number\":4,\"a\":"
     "4,\"b\":4}},{\"type\":\"None\"}]}"),
    "states.f0",
    "float32x4"};
enum { NUM_TEXTS = sizeof(texts) / sizeof(texts[0]), FIRST_JSON = 4 };

static TVMFFIAny make_text(unsigned i) {
  TVMFFIByteArray bytes = tvmffi_byte_array(texts[i % NUM_TEXTS]);
  TVMFFIAny any = tvmffi_none();
  fuzz_check_error(i / NUM_TEXTS % 4 == 3
                       ? TVMFFIBytesFromByteArray(&bytes, &any)
                       : TVMFFIStringFromByteArray(&bytes, &any));
  return any;
}

/* An array or a list of values, which it takes. */
static TVMFFIAny make_sequence(int list, TVMFFIAny *items, int32_t n) {
  static TVMFFIObject *makers[2];
  TVMFFIAny result;
  int32_t i;
  if (!makers[0]) {
    makers[0] = fuzz_function("ffi.Array");
    makers[1] = fuzz_function("ffi.List");
  }
  (void)fuzz_apply(makers[list], items, n, &result);
  for (i = 0; i < n; ++i) tvmffi_any_release(&items[i]);
  return result;
}

/* Callbacks as visits take them: rows of a type index, a function and, for a
   mutation, a bool. */
static TVMFFIAny make_callbacks(int width) {
  static const int32_t types[] = {kTVMFFIAny,  kTVMFFIInt,   kTVMFFIList,
                                  kTVMFFIDict, kTVMFFIMap,   kTVMFFIArray,
                                  kTVMFFIStr,  kTVMFFIObject};
  TVMFFIAny rows[2], row[3];
  unsigned how = next_byte(), type = next_byte();
  int i, n = (int)(how % 4 == 3 ? 0 : 1 + how % 4 / 2);
  for (i = 0; i < n; ++i) {
    row[0] = tvmffi_int(type % 2 ? types[type / 2 % 8]
                                 : fuzz_first_type + (int32_t)(type / 2 % 16));
    row[1] = make_function((int)(how / 4 % 3));
    row[2] = tvmffi_bool(how / 16 % 2);
    rows[i] = make_sequence(0, row, width);
    type = next_byte();
  }
  return make_sequence(0, rows, n);
}

/* A type whose objects the program may make. */
static int32_t num_fresh, fresh_types[MAX_FRESH];
static int32_t some_type(unsigned byte) {
  int32_t n = num_fresh - vm.first_fresh;
  if (byte >= 192 && n) return fresh_types[vm.first_fresh + (int32_t)byte % n];
  if (byte >= 184) return py_type;
  if (byte >= 160) return fuzz_first_type + (int32_t)(byte % 4);
  return first_live + (int32_t)(byte % NUM_LIVE);
}

static TVMFFIAny make_object(unsigned byte) {
  TVMFFIObjectHandle o = NULL;
  fuzz_node *node;
  int32_t type = some_type(byte);
  int code;
  if (type == py_type) {
    static TVMFFIObject *make;
    TVMFFIAny result;
    if (!make) make = fuzz_function("ffi.MakeObjectFromPackedArgs");
    (void)fuzz_call1(make, tvmffi_int(type), &result);
    return result;
  }
  code = make_node(type, &o);
  fuzz_check_error(code);
  if (code) return tvmffi_none();
  node = (fuzz_node *)o;
  node->number = vm.at < vm.end ? next_byte() % 8 : byte;
  node->flag = (int32_t)(byte / 10 % 2);
  node->a = own(*slot());
  node->b = own(*slot());
  return tvmffi_obj(o);
}

static TVMFFIAny make_error(void) {
  TVMFFIByteArray kind = tvmffi_byte_array("KeyError"),
                  none = tvmffi_byte_array("");
  TVMFFIByteArray message = tvmffi_byte_array("made by the program");
  TVMFFIObjectHandle error = NULL;
  TVMFFIAny cause = own(*slot()), context = own(*slot());
  int code = TVMFFIErrorCreateWithCauseAndExtraContext(
      &kind, &message, &none,
      cause.type_index == kTVMFFIError ? cause.v_obj : NULL,
      context.type_index >= kTVMFFIStaticObjectBegin ? context.v_obj : NULL,
      &error);
  tvmffi_any_release(&cause);
  tvmffi_any_release(&context);
  return made(code, error);
}

static TVMFFIAny make_bigint(void) {
  uint64_t words[2] = {1, 2};
  TVMFFIByteArray bytes;
  TVMFFIAny any = tvmffi_none();
  words[next_byte() % 2] = next_byte();
  bytes.data = (const char *)words;
  bytes.size = sizeof(words);
  fuzz_check_error(TVMFFIBigIntFromByteArray(&bytes, &any));
  return any;
}

/* A list that contains itself, directly or in an array. */
static TVMFFIAny make_cycle(void) {
  static TVMFFIObject *append;
  TVMFFIAny items[2], list, any, result;
  if (!append) append = fuzz_function("ffi.ListAppend");
  items[0] = own(*slot());
  list = make_sequence(1, items, 1);
  any = own(list);
  if (next_byte() % 2) {
    items[0] = any;
    items[1] = own(*slot());
    any = make_sequence(0, items, 2);
  }
  (void)fuzz_call2(append, list, any, &result);
  tvmffi_any_release(&any);
  return list;
}

static TVMFFIAny make_box(void) {
  TVMFFI_SCOPE;
  StatesBox *box;
  TVMFFIAny any = own(*slot()), object = own(*slot());
  if (object.type_index < kTVMFFIStaticObjectBegin) {
    tvmffi_any_release(&object);
    object = tvmffi_none();
  }
  box = next_byte() % 2 ? TVMFFI_NEW(StatesBox, any)
                        : TVMFFI_NEW(StatesBox, any,
                                     tvmffi_str("longer than eight"), object);
  fuzz_check_error(box ? 0 : -1);
  tvmffi_any_release(&any);
  tvmffi_any_release(&object);
  return own(tvmffi_obj(box));
}

static TVMFFIAny make_value(unsigned kind) {
  DLDevice device = {kDLCUDA, 1};
  DLDataType dtype = {kDLInt, 8, 1};
  TVMFFIAny items[3];
  int i;
  switch (kind % 22) {
    case 0: return tvmffi_int((int8_t)next_byte());
    case 1: return tvmffi_int(INT64_MIN + next_byte());
    case 2: return tvmffi_float((double)next_byte() / 4);
    case 3: return tvmffi_bool((int)next_byte() % 2);
    case 4: return make_text(next_byte());
    case 5: return make_object(next_byte());
    case 6: return make_object(next_byte());
    case 7: return make_function((int)next_byte() % 4);
    case 8: return make_callbacks(2 + (int)next_byte() % 2);
    case 9: return make_tensor();
    case 10: return make_error();
    case 11: return make_opaque();
    case 12: return make_bigint();
    case 13: return tvmffi_device(device);
    case 14: return tvmffi_dtype(dtype);
    case 15: return unchanged();
    case 16:
    case 17:
      for (i = 0; i < 3; ++i) {
        TVMFFIAny *from = slot();
        items[i] = own(*from);
        if (kind >= 128) put((unsigned)(from - vm.slots), tvmffi_none());
      }
      return make_sequence(kind % 22 == 17, items, 3);
    case 18: return tvmffi_ptr(next_byte() % 2 ? &vm : NULL);
    case 19: return make_cycle();
    case 20: return make_box();
    default: return tvmffi_none();
  }
}

/* What cannot be given by a slot is made: an owned value. */
static TVMFFIAny make_argument(char param);

/* A value that is like another one: itself or a copy, shallow or deep. */
static TVMFFIAny make_like(const TVMFFIAny *any) {
  static TVMFFIObject *deep_copy;
  const TVMFFISeqCell *cell;
  TVMFFIAny items[8], result = tvmffi_none();
  const fuzz_node *node = as_node(any);
  unsigned how = next_byte() % 4;
  int32_t i;
  if (!deep_copy) deep_copy = fuzz_function("ffi.DeepCopy");
  if (how == 3) return own(*any);
  if (how == 2) {
    (void)fuzz_call1(deep_copy, *any, &result);
    return result;
  }
  if (node && any->type_index != py_type)
    fuzz_check_error(copy_node(node, any->type_index, &result));
  if (any->type_index != kTVMFFIList && any->type_index != kTVMFFIArray)
    return node ? result : own(*any);
  cell = TVMFFI_I_CELL(const TVMFFISeqCell, any->v_obj);
  for (i = 0; i < 8 && i < cell->size; ++i)
    items[i] = own(((const TVMFFIAny *)cell->data)[i]);
  return make_sequence(any->type_index == kTVMFFIList, items, i);
}

static TVMFFIAny make_argument(char param) {
  unsigned at = next_byte(), i;
  switch (param) {
    case 'i': return tvmffi_int((int64_t)(at % 12) - 2);
    case 'b': return tvmffi_bool((int)at % 2);
    case 'n': return at % 4 == 3 ? tvmffi_int(at / 4 % 4) : tvmffi_none();
    case 't': return tvmffi_int(some_type(at));
    case 'c': return make_callbacks(2);
    case 'C': return make_callbacks(3);
    case 'j':
    case 'g': return make_text(FIRST_JSON + at % (NUM_TEXTS - FIRST_JSON));
    default: break;
  }
  if (param == 's' && at % 2) return make_text(at / 2 % NUM_TEXTS);
  for (i = 0; at >= 112 && i < 2; ++i)
    if (fits(&vm.busy[i], param) && (param != 'v' || at % 8 == i))
      return own(vm.busy[i]);
  for (i = 0; at < 240 && i < NUM_SLOTS; ++i) {
    const TVMFFIAny *any = &vm.slots[(at + i) % NUM_SLOTS];
    if (fits(any, param)) return own(*any);
  }
  return own(vm.slots[at % NUM_SLOTS]);
}

/* Adds up the weight of a value: each path to a part counts, but for those in
   cycles. Uses no memory of the program's. */
typedef struct path {
  const struct path *outer;
  const TVMFFIObject *object;
} path;
static void weigh(const TVMFFIAny *any, const path *outer, int *weight);

static void weigh_map(const TVMFFIAny *map, const path *at, int *weight) {
  static TVMFFIObject *iterators[2];
  TVMFFIAny f, key, value, more = tvmffi_bool(1);
  int is_dict = map->type_index == kTVMFFIDict;
  if (!iterators[0]) {
    iterators[0] = fuzz_function("ffi.MapForwardIterFunctor");
    iterators[1] = fuzz_function("ffi.DictForwardIterFunctor");
  }
  if (fuzz_call1(iterators[is_dict], *map, &f)) return;
  while (more.v_int64 && *weight < MAX_WEIGHT &&
         fuzz_call1(f.v_obj, tvmffi_int(0), &key) == 0) {
    weigh(&key, at, weight);
    if (fuzz_call1(f.v_obj, tvmffi_int(1), &value) == 0)
      weigh(&value, at, weight);
    tvmffi_any_release(&value);
    tvmffi_any_release(&key);
    if (fuzz_call1(f.v_obj, tvmffi_int(2), &more)) break;
  }
  tvmffi_any_release(&f);
}

static void weigh(const TVMFFIAny *any, const path *outer, int *weight) {
  const TVMFFISeqCell *cell;
  const TVMFFIErrorCell *error;
  const fuzz_node *node = as_node(any);
  const path *o;
  path at;
  int64_t i;
  int depth = 0;
  if (++*weight >= MAX_WEIGHT || any->type_index < kTVMFFIStaticObjectBegin)
    return;
  for (o = outer; o; o = o->outer)
    if (o->object == any->v_obj || ++depth > 100) return;
  at.outer = outer;
  at.object = any->v_obj;
  if (node) {
    weigh(&node->a, &at, weight);
    weigh(&node->b, &at, weight);
  }
  switch (any->type_index) {
    case kTVMFFIArray:
    case kTVMFFIList:
      cell = TVMFFI_I_CELL(const TVMFFISeqCell, any->v_obj);
      for (i = 0; i < cell->size && *weight < MAX_WEIGHT; ++i)
        weigh((const TVMFFIAny *)cell->data + i, &at, weight);
      return;
    case kTVMFFIMap:
    case kTVMFFIDict: weigh_map(any, &at, weight); return;
    case kTVMFFIStr:
      *weight += (int)(tvmffi_any_str(any).size / 4 % MAX_WEIGHT);
      return;
    case kTVMFFIError:
      error = TVMFFI_I_CELL(const TVMFFIErrorCell, any->v_obj);
      *weight += (int)(error->message.size / 4 % MAX_WEIGHT);
      return;
    default: return;
  }
}

static int is_light(const TVMFFIAny *args, int32_t n) {
  size_t memory = fuzz_memory;
  unsigned refuse = fuzz_refuse;
  int all = fuzz_refuse_all, weight = 0;
  int32_t i;
  fuzz_begin();
  for (i = 0; i < n; ++i) weigh(&args[i], NULL, &weight);
  fuzz_memory = memory;
  fuzz_refuse = refuse;
  fuzz_refuse_all = all;
  return weight < MAX_WEIGHT;
}

/* Checks that a map has each of its keys once, but for keys that have lied. */
static void check_map(const TVMFFIAny *map) {
  static TVMFFIObject *functions_of[2][3];
  static const char *const names[2][3] = {
      {"ffi.MapForwardIterFunctor", "ffi.MapSize", "ffi.MapCount"},
      {"ffi.DictForwardIterFunctor", "ffi.DictSize", "ffi.DictCount"}};
  enum { MOST = 64 };
  TVMFFIAny keys[MOST], f, size, key, count, more = tvmffi_bool(1);
  int is_dict = map->type_index == kTVMFFIDict, k;
  int64_t n = 0, i;
  for (k = 0; k < 3 && !functions_of[is_dict][k]; ++k)
    functions_of[is_dict][k] = fuzz_function(names[is_dict][k]);
  FUZZ_CHECK(fuzz_call1(functions_of[is_dict][1], *map, &size) == 0);
  if (!size.v_int64 || size.v_int64 > MOST) return;
  FUZZ_CHECK(fuzz_call1(functions_of[is_dict][0], *map, &f) == 0);
  for (; more.v_int64; ++n) {
    FUZZ_CHECK(n < MOST);
    FUZZ_CHECK(fuzz_call1(f.v_obj, tvmffi_int(0), &key) == 0);
    keys[n] = key;
    if (key.type_index < kTVMFFIStaticObjectBegin || !vm.has_lied) {
      FUZZ_CHECK(fuzz_call2(functions_of[is_dict][2], *map, key, &count) == 0);
      FUZZ_CHECK(count.v_int64 == 1);
      for (i = 0; i < n; ++i)
        FUZZ_CHECK(memcmp((void *)&keys[i], (void *)&key, sizeof(key)) != 0);
    }
    tvmffi_any_release(&key);
    FUZZ_CHECK(fuzz_call1(f.v_obj, tvmffi_int(2), &more) == 0);
  }
  FUZZ_CHECK(n == size.v_int64);
  tvmffi_any_release(&f);
}

/* Puts the error of a call, or what it says of a visit, into a slot. */
static void keep_error(int code, unsigned to) {
  TVMFFIObject *error = tvmffi_i_error_remove(), *context;
  TVMFFIErrorSetRaised(error);
  fuzz_check_error(code);
  context = (TVMFFIObject *)TVMFFIErrorGetCellPtr(error)->extra_context;
  if (trace)
    fprintf(stderr, "%*s-> %s: %s\n", 2 * vm.nesting, "",
            TVMFFIErrorGetCellPtr(error)->kind.data,
            TVMFFIErrorGetCellPtr(error)->message.data);
  if (context) put(to, own(tvmffi_obj(context)));
  if (to >= 128)
    put(to + 1, tvmffi_obj(error));
  else
    tvmffi_release(error);
}

/* Calls a function with owned values, which it takes, and puts the result into
   a slot. An argument may be one that the callee may take. */
static void call(TVMFFIObject *f, const char *name, TVMFFIAny *held,
                 int32_t n) {
  TVMFFIAny args[5], result = tvmffi_none(), busy[2];
  unsigned to = next_byte(), moved = to / NUM_SLOTS;
  int32_t i;
  int code;
  if (trace) show(name, held, n);
  if (is_light(held, n)) {
    for (i = 0; i < n; ++i) args[i] = held[i];
    if (moved == 8 && n && held[0].type_index >= kTVMFFIStaticObjectBegin)
      args[0] = tvmffi_i_pointer(kTVMFFIObjectRValueRef, &held[0].v_obj);
    if (moved == 7 && n) { /* the only reference, if the slot has it */
      for (i = 0; i < NUM_SLOTS; ++i)
        if (vm.slots[i].v_obj == held[0].v_obj) put((unsigned)i, tvmffi_none());
      if (held[0].type_index >= kTVMFFIStaticObjectBegin)
        args[0] = tvmffi_i_pointer(kTVMFFIObjectRValueRef, &held[0].v_obj);
    }
    memcpy((void *)busy, (void *)vm.busy, sizeof(busy));
    for (i = 0; i < 2; ++i)
      vm.busy[i] = i < n && args[i].type_index != kTVMFFIObjectRValueRef
                       ? args[i]
                       : tvmffi_none();
    code = TVMFFIFunctionCall(f, args, n, &result);
    memcpy((void *)vm.busy, (void *)busy, sizeof(busy));
    if (code) {
      FUZZ_CHECK(result.type_index < kTVMFFIStaticObjectBegin);
      keep_error(code, to);
    } else {
      fuzz_check_error(0);
      fuzz_check_any(&result);
      put(to, result);
    }
  }
  for (i = 0; i < n; ++i) {
    if (held[i].type_index >= kTVMFFIStaticObjectBegin && !held[i].v_obj)
      held[i] = tvmffi_none(); /* it was moved from */
    tvmffi_any_release(&held[i]);
  }
}

static void call_global(unsigned at) {
  const signature *s = &signatures[at % NUM_SIGNATURES];
  const char *p = s->params;
  TVMFFIAny held[5];
  int32_t n = 0, i;
  if (*p == '*') {
    i = (int32_t)next_byte() % 4;
    while (n < i) held[n++] = make_argument('v');
  } else {
    for (; *p; ++p) {
      held[n] = *p == '2' ? make_like(&held[n - 1]) : make_argument(*p);
      ++n;
    }
  }
  call(functions[at % NUM_SIGNATURES], s->name, held, n);
}

static void call_slot(void) {
  TVMFFIAny f = make_argument('f'), held[5];
  int32_t n = (int32_t)next_byte() % 4, i;
  for (i = 0; i < n; ++i) held[i] = make_argument(i ? 'v' : 'i');
  if (f.type_index == kTVMFFIFunction)
    call(f.v_obj, "a slot", held, n);
  else
    for (i = 0; i < n; ++i) tvmffi_any_release(&held[i]);
  tvmffi_any_release(&f);
}

/* Calls a method of an object's type, or an attribute of it. */
static void call_method(void) {
  TVMFFIAny held[5], f = tvmffi_none();
  const TVMFFITypeInfo *type;
  const TVMFFITypeAttrColumn *column;
  TVMFFIByteArray name;
  unsigned which = next_byte();
  int32_t n = 1, at;
  held[0] = make_argument('o');
  at = held[0].type_index;
  if (which % 2) {
    type = TVMFFIGetTypeInfo(at);
    if (type && type->num_methods)
      f = type->methods[(int32_t)(which / 2) % type->num_methods].method;
  } else {
    at = (int32_t)(which / 2 % (NUM_HOOKS + 1));
    name = tvmffi_byte_array(at == NUM_HOOKS ? "__ffi_init__" : hook_names[at]);
    at = held[0].type_index;
    column = TVMFFIGetTypeAttrColumn(&name);
    at -= column ? column->begin_index : 0;
    if (column && at >= 0 && at < column->size) f = column->data[at];
  }
  if (which >= 128) held[n++] = make_argument('v');
  if (which >= 192) held[n++] = make_argument('f');
  if (f.type_index == kTVMFFIFunction) {
    call(f.v_obj, "a method", held, n);
    return;
  }
  while (n--) tvmffi_any_release(&held[n]);
}

/* Constructs an object by position and by name. */
static void call_init(void) {
  static TVMFFIObject *mark;
  TVMFFIByteArray name = tvmffi_byte_array("__ffi_init__");
  const TVMFFITypeAttrColumn *column = TVMFFIGetTypeAttrColumn(&name);
  unsigned how = next_byte();
  TVMFFIAny held[5], any;
  int32_t n = 0, type = some_type(next_byte());
  if (!mark) {
    FUZZ_CHECK(
        fuzz_apply(fuzz_function("ffi.GetKwargsObject"), NULL, 0, &any) == 0);
    mark = any.v_obj;
  }
  if (type >= column->size + column->begin_index ||
      column->data[type - column->begin_index].type_index != kTVMFFIFunction)
    return;
  if (how % 2) held[n++] = tvmffi_int(how);
  if (how & 2) held[n++] = make_argument('v');
  if (how & 4) {
    held[n++] = tvmffi_obj(mark);
    held[n++] = make_text(how & 8 ? 0 : 3);
    held[n++] = make_argument('v');
  }
  call(column->data[type - column->begin_index].v_obj, "__ffi_init__", held, n);
}

/* -------- Other operations -------- */

static void access_field(void) {
  TVMFFIAny any = make_argument('o'), value = own(*slot());
  TVMFFIAny result = tvmffi_none();
  const TVMFFITypeInfo *type =
      any.type_index >= kTVMFFIStaticObjectBegin && any.v_obj
          ? TVMFFIGetTypeInfo(any.type_index)
          : NULL;
  unsigned which = next_byte();
  if (type && type->num_fields) {
    const TVMFFIFieldInfo *field =
        &type->fields[(int32_t)(which / 2) % type->num_fields];
    void *at = (char *)any.v_obj + field->offset;
    TVMFFIFieldSetter setter;
    if (trace) show(field->name.data, &any, 1);
    if (which % 2 == 0) {
      fuzz_check_error(field->getter(at, &result));
      put(which, result);
    } else if ((field->flags & kTVMFFIFieldFlagBitMaskWritable) &&
               !(field->flags & kTVMFFIFieldFlagBitSetterIsFunctionObj)) {
      vm.has_lied = 1;
      memcpy(&setter, &field->setter, sizeof(setter));
      fuzz_check_error(setter(at, &value));
    }
  }
  tvmffi_any_release(&value);
  tvmffi_any_release(&any);
}

static void use_weak(void) {
  unsigned how = next_byte();
  TVMFFIObject **w = &vm.weak[how % NUM_WEAK], *o = *w;
  TVMFFIAny any;
  switch (how / NUM_WEAK % 3) {
    case 0:
      any = *slot();
      if (any.type_index < kTVMFFIStaticObjectBegin) return;
      tvmffi_weak_retain(any.v_obj);
      *w = any.v_obj;
      if (o) tvmffi_weak_release(o);
      return;
    case 1:
      if (o && tvmffi_weak_lock(o)) put(next_byte(), tvmffi_obj(o));
      return;
    default:
      *w = NULL;
      if (o) tvmffi_weak_release(o);
      return;
  }
}

static void use_error(void) {
  TVMFFIAny any = own(*slot());
  TVMFFIByteArray text = tvmffi_byte_array("  File \"a.c\", line 1, in f\n");
  unsigned how = next_byte();
  int is_error = any.type_index == kTVMFFIError;
  switch (how % 6) {
    case 0:
      if (is_error) TVMFFIErrorSetRaised(any.v_obj);
      break;
    case 1:
      TVMFFIErrorSetRaisedFromCStr("ValueError", "raised by the program");
      break;
    case 2:
      if (is_error)
        TVMFFIErrorGetCellPtr(any.v_obj)->update_backtrace(any.v_obj, &text,
                                                           (int)(how / 6 % 2));
      break;
    case 3:
      (void)TVMFFI_RAISE_FROM(is_error ? any.v_obj : NULL, "TypeError", "%s",
                              "raised from another");
      break;
    case 4:
      if (is_error) TVMFFIErrorSetRaised(any.v_obj);
      (void)tvmffi_error_context(-1, "while it ran %d", (int)how);
      break;
    default:
      if (is_error) TVMFFIErrorSetRaised(any.v_obj);
      (void)tvmffi_i_error_text();
      break;
  }
  tvmffi_any_release(&any);
  put(how, tvmffi_obj(tvmffi_i_error_remove()));
}

/* Values that belong to a scope. */
static void use_scope(void) {
  TVMFFI_SCOPE;
  TVMFFIObject *o = NULL;
  TVMFFIAny a = own(*slot()), b = own(*slot());
  unsigned how = next_byte();
  int code = 0;
  {
    TVMFFI_SCOPE;
    switch (how % 8) {
      case 0: o = tvmffi_list(a, b); break;
      case 1: o = tvmffi_dict(a, b); break;
      case 2: o = tvmffi_array(a, b, a); break;
      case 3: o = tvmffi_map(a, b); break;
      case 4:
        code =
            tvmffi_call(tvmffi_str("ffi.DeepCopy"), tvmffi_out_object(&o), a);
        break;
      case 5:
        code = tvmffi_get(a, b, tvmffi_out_object(&o), tvmffi_none());
        break;
      case 6:
        if (a.type_index >= kTVMFFIStaticObjectBegin) {
          tvmffi_retain(a.v_obj);
          o = tvmffi_scope_attach(a.v_obj);
        }
        break;
      default:
        code = tvmffi_call(b, tvmffi_out_object(&o), a, tvmffi_int(1));
        break;
    }
    tvmffi_error_clear();
    (void)code;
    if (how == 255 && a.type_index >= kTVMFFIStaticObjectBegin)
      for (code = 0; code < 20; ++code) {
        tvmffi_retain(a.v_obj);
        if (!tvmffi_scope_attach(a.v_obj)) break;
      }
    tvmffi_error_clear();
    run((int)(how / 8 % 4));
    if (o && how >= 192) {
      (void)tvmffi_scope_to_parent(o);
      tvmffi_error_clear();
    } else if (o && how >= 128) {
      put(how, own(tvmffi_obj(o)));
    }
  }
  tvmffi_any_release(&a);
  tvmffi_any_release(&b);
}

/* Loops over a container while it changes. */
static void use_loop(void) {
  TVMFFIAny container = own(*slot());
  unsigned how = next_byte();
  int n = 0;
  if (how % 2) {
    TVMFFI_FOREACH(any, item, container) {
      put(how, own(item));
      run((int)(how / 2 % 3));
      if (++n > 8) break;
    }
  } else {
    TVMFFI_FOREACH_ITEM(any, key, any, value, container) {
      /* The first put may destroy an object, whose destructor may change the
         container, so both are retained before. */
      TVMFFIAny both[2];
      both[0] = own(key);
      both[1] = own(value);
      put(how, both[0]);
      put(how + 1, both[1]);
      run((int)(how / 2 % 3));
      if (++n > 8) break;
    }
  }
  tvmffi_error_clear();
  tvmffi_any_release(&container);
}

/* Changes and reads containers by the C interface. */
static void use_container(void) {
  TVMFFI_SCOPE;
  TVMFFIAny c = own(*slot()), key = own(*slot()), value = own(*slot());
  TVMFFIAny result = tvmffi_none();
  unsigned how = next_byte();
  int code = 0;
  switch (how % 8) {
    case 0: code = tvmffi_append(c, value); break;
    case 1: code = tvmffi_set(c, key, value); break;
    case 2: code = tvmffi_erase(c, key); break;
    case 3: code = tvmffi_pop(c, key, tvmffi_out_any(&result)); break;
    case 4: code = tvmffi_contains(c, value) < 0 ? -1 : 0; break;
    case 5: code = tvmffi_get(c, key, tvmffi_out_any(&result), value); break;
    case 6: code = tvmffi_equal(c, value) < 0 ? -1 : 0; break;
    default: code = tvmffi_size(c) < 0 ? -1 : 0; break;
  }
  fuzz_check_error(code);
  fuzz_check_any(&result);
  put(how, own(result));
  tvmffi_any_release(&c);
  tvmffi_any_release(&key);
  tvmffi_any_release(&value);
}

/* Global functions of which the program may change each. */
static const char *const global_names[] = {"states.f0",     "states.f1",
                                           "states.f2",     "ffi.ListAppend",
                                           "ffi.ReprPrint", "ffi.List"};
enum { NUM_GLOBALS = 6, FIRST_BUILT_IN = 3 };
static TVMFFIObject *globals[NUM_GLOBALS], *remove_global;

static void use_globals(void) {
  unsigned how = next_byte();
  TVMFFIByteArray name = tvmffi_byte_array(global_names[how % NUM_GLOBALS]);
  TVMFFIAny f = make_argument('f'), result;
  TVMFFIObjectHandle found = NULL;
  TVMFFIMethodInfo info;
  vm.globals_changed = 1;
  switch (how / NUM_GLOBALS % 4) {
    case 0:
      if (f.type_index == kTVMFFIFunction)
        fuzz_check_error(TVMFFIFunctionSetGlobal(&name, f.v_obj, how >= 128));
      break;
    case 1:
      memset((void *)&info, 0, sizeof(info));
      info.name = name;
      info.doc = tvmffi_byte_array("a function of the program");
      info.metadata = tvmffi_byte_array("{}");
      info.method = f;
      fuzz_check_error(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 1));
      break;
    case 2:
      (void)fuzz_call1(remove_global, tvmffi_str(name.data), &result);
      break;
    default:
      fuzz_check_error(TVMFFIFunctionGetGlobal(&name, &found));
      put(how, tvmffi_obj(found));
      break;
  }
  tvmffi_any_release(&f);
}

static void restore_globals(void) {
  int i;
  for (i = 0; i < NUM_GLOBALS; ++i) {
    TVMFFIByteArray name = tvmffi_byte_array(global_names[i]);
    TVMFFIAny result;
    if (i >= FIRST_BUILT_IN) {
      FUZZ_CHECK(TVMFFIFunctionSetGlobal(&name, globals[i], 1) == 0);
      continue;
    }
    FUZZ_CHECK(fuzz_call1(remove_global, tvmffi_str(name.data), &result) == 0);
  }
}

/* Registers a type, or more of one that this input has registered. */
static void use_registry(void) {
  unsigned how = next_byte(), which = next_byte();
  TVMFFIByteArray key;
  TVMFFITypeMetadata metadata;
  const TVMFFITypeInfo *parent;
  char text[32];
  int32_t type;
  if (how % 4 == 0) {
    if (num_fresh == MAX_FRESH) return;
    snprintf(text, sizeof(text), "states.Fresh%d", (int)num_fresh);
    key = tvmffi_byte_array(text);
    parent = TVMFFIGetTypeInfo(how & 64 ? some_type(which) : kTVMFFIObject);
    type = TVMFFITypeGetOrAllocIndex(&key, -1, parent->type_depth + 1,
                                     (int32_t)(how / 4 % 3), 1,
                                     parent->type_index);
    fuzz_check_error(type < 0 ? -1 : 0);
    if (type >= 0) fresh_types[num_fresh++] = type;
    return;
  }
  if (num_fresh == vm.first_fresh) return;
  type = fresh_types[vm.first_fresh +
                     (int32_t)which % (num_fresh - vm.first_fresh)];
  if (how % 4 == 1) {
    TVMFFIFieldInfo field;
    TVMFFIFieldSetter setter = set_live;
    memset((void *)&field, 0, sizeof(field));
    field.name = tvmffi_byte_array(how & 4 ? "a" : "b");
    field.doc = field.metadata = tvmffi_byte_array("");
    field.flags =
        kTVMFFIFieldFlagBitMaskWritable | kTVMFFIFieldFlagBitMaskHasDefault;
    field.size = 16;
    field.alignment = 8;
    field.offset =
        (int64_t)(how & 4 ? offsetof(fuzz_node, a) : offsetof(fuzz_node, b));
    field.getter = get_live;
    memcpy(&field.setter, &setter, sizeof(field.setter));
    field.field_static_type_index = kTVMFFIAny;
    fuzz_check_error(TVMFFITypeRegisterField(type, &field));
  } else if (how % 4 == 2 && how >= 192) {
    TVMFFIMethodInfo info;
    memset((void *)&info, 0, sizeof(info));
    info.name = tvmffi_byte_array(how & 4 ? "a" : "b");
    info.doc = tvmffi_byte_array("a method of the program");
    info.metadata = tvmffi_byte_array("{}");
    info.method = tvmffi_obj(globals[FIRST_BUILT_IN + which % 3]);
    fuzz_check_error(TVMFFITypeRegisterMethod(type, &info));
  } else if (how % 4 == 2) {
    memset((void *)&metadata, 0, sizeof(metadata));
    metadata.doc = tvmffi_byte_array("of the program");
    metadata.total_size = (int32_t)sizeof(fuzz_node);
    metadata.structural_eq_hash_kind = (TVMFFISEqHashKind)(how / 4 % 6);
    fuzz_check_error(TVMFFITypeRegisterMetadata(type, &metadata));
  } else {
    hook kind = (hook)(how / 4 % NUM_HOOKS);
    TVMFFIObjectHandle f = NULL;
    TVMFFIAny value;
    int code = TVMFFIFunctionCreate((void *)((intptr_t)type << 8 | kind),
                                    on_hook, NULL, &f);
    fuzz_check_error(code);
    if (code) return;
    key = tvmffi_byte_array(hook_names[kind]);
    value = tvmffi_obj(f);
    if (which >= 224) value = tvmffi_int(3);
    fuzz_check_error(TVMFFITypeRegisterAttr(type, &key, &value));
    tvmffi_release(f);
  }
}

static void *handle;
static int init_handle(void **result) {
  unsigned how = happen();
  if (how == 15) return TVMFFI_RAISE("ValueError", "it cannot be made");
  *result = how == 14 ? NULL : &handle;
  return 0;
}
static int end_handle(void *made_handle) {
  FUZZ_CHECK(made_handle == &handle);
  if (happen() == 15) return TVMFFI_RAISE("ValueError", "it cannot end");
  return 0;
}

/* An allocator of objects, which the C interface's types use. */
typedef struct {
  void *space;
  TVMFFIObjectAllocHeader header;
} allocated;
static void free_space(void *object) {
  happen_quietly();
  fuzz_free(((allocated *)object - 1)->space);
}
static void *allocate_object(size_t size, size_t alignment, int32_t type,
                             void *context) {
  allocated *head = (allocated *)fuzz_malloc(sizeof(*head) + size);
  (void)alignment, (void)type, (void)context;
  if (!head || happen() == 15) {
    if (head) fuzz_free(head);
    (void)TVMFFI_RAISE("MemoryError", "the allocator fails");
    return NULL;
  }
  head->space = head;
  head->header.delete_space = free_space;
  return head + 1;
}
static TVMFFICustomAllocator custom = {allocate_object, NULL};

static int check_tensor(const DLTensor *t) {
  tvmffi_loop loop;
  TVMFFI_EXPECT((t, "float32[n, ...] cpu"), (t, "same[n, _] strided"));
  TVMFFI_TRY(tvmffi_loop_begin(&loop, t, t));
  while (tvmffi_loop_next(&loop)) {
  }
  return 0;
}

static void use_environment(void) {
  unsigned how = next_byte();
  TVMFFIStreamHandle stream = NULL;
  switch (how % 8) {
    case 0: fuzz_check_error(TVMFFIHandleInitOnce(&handle, init_handle)); break;
    case 1:
      fuzz_check_error(TVMFFIHandleDeinitOnce(&handle, end_handle));
      break;
    case 2:
    case 3:
      fuzz_check_error(TVMFFIEnvSetDLPackManagedTensorAllocator(
          how & 64 ? NULL : allocate, (int)(how / 8 % 2), NULL));
      break;
    case 4:
      fuzz_check_error(TVMFFIEnvSetStream(kDLCUDA, (int32_t)(how / 8 % 4),
                                          how & 128 ? &vm : NULL, &stream));
      break;
    case 5:
      (void)TVMFFIEnvGetStream(kDLCUDA, (int32_t)(how / 8 % 4));
      fuzz_check_error(TVMFFISetCustomAllocator(how & 128 ? &custom : NULL));
      break;
    default:
      vm.refusing = 1 + (int)(how / 8 % 4);
      fuzz_refuse = 1 + next_byte() % 16;
      fuzz_refuse_all = how % 8 == 7;
      break;
  }
}

static void use_dtype(void) {
  TVMFFIAny any = own(*slot()), text = tvmffi_none();
  TVMFFIByteArray bytes = tvmffi_any_str(&any);
  DLDataType dtype = {kDLFloat, 32, 1};
  if (bytes.data) fuzz_check_error(TVMFFIDataTypeFromString(&bytes, &dtype));
  fuzz_check_error(TVMFFIDataTypeToString(&dtype, &text));
  put(next_byte(), text);
  tvmffi_any_release(&any);
}

static void step(void) {
  unsigned op = next_byte(), at;
  TVMFFIAny any;
  if (op < 120) {
    at = next_byte();
    call_global(op < 60 ? at : at % NUM_CONTAINER_SIGNATURES);
    return;
  }
  switch (op % 24) {
    case 0:
    case 1:
    case 2:
    case 3:
      at = next_byte();
      put(at, make_value(next_byte()));
      return;
    case 4:
    case 5: put(next_byte(), own(*slot())); return;
    case 6: put(next_byte(), tvmffi_none()); return;
    case 7:
    case 8: call_slot(); return;
    case 9:
    case 10: access_field(); return;
    case 11: use_weak(); return;
    case 12: use_error(); return;
    case 13: use_scope(); return;
    case 14: use_loop(); return;
    case 15: use_container(); return;
    case 16: use_globals(); return;
    case 17: use_registry(); return;
    case 18:
    case 19: use_environment(); return;
    case 20:
      any = exchange_tensor(slot());
      put(next_byte(), any);
      return;
    case 21: call_method(); return;
    case 22: use_dtype(); return;
    default: call_init(); return;
  }
}

static void run(int steps) {
  while (steps-- > 0 && vm.at < vm.end && vm.steps < MAX_STEPS) {
    ++vm.steps;
    step();
    if (vm.refusing && --vm.refusing == 0) fuzz_refuse = 0;
  }
}

/* -------- Inputs -------- */

static void (*list_deleter)(void *, int), (*dict_deleter)(void *, int);
static void (*box_deleter)(void *, int);

static void set_up(void) {
  static const struct {
    const char *key;
    int32_t *index;
  } keys[] = {{"ffi.StructuralVisitor", &type_visitor},
              {"ffi.StructuralMutator", &type_mutator},
              {"ffi.VisitErrorContext", &type_context},
              {"ffi.reflection.AccessPath", &type_path}};
  TVMFFIAny any;
  int i;
  trace = getenv("FUZZ_TRACE") != NULL;
  for (i = 0; i < 4; ++i) {
    TVMFFIByteArray key = tvmffi_byte_array(keys[i].key);
    FUZZ_CHECK(TVMFFITypeKeyToIndex(&key, keys[i].index) == 0);
  }
  visitor_visit = fuzz_function("ffi.StructuralVisitorVisit");
  mutator_mutate = fuzz_function("ffi.StructuralMutatorMutate");
  remove_global = fuzz_function("ffi.FunctionRemoveGlobal");
  fuzz_register_types();
  register_live_types();
  register_py_type();
  FUZZ_CHECK(TVMFFI_REGISTER("states.sum", states_sum) == 0);
  FUZZ_CHECK(TVMFFI_REGISTER("states.map", states_map) == 0);
  FUZZ_CHECK(TVMFFI_REGISTER_TYPE(StatesBox) == 0);
  any = make_box();
  box_deleter = any.v_obj->deleter;
  tvmffi_any_release(&any);
  for (i = 0; i < NUM_SIGNATURES; ++i)
    functions[i] = fuzz_function(signatures[i].name);
  for (i = FIRST_BUILT_IN; i < NUM_GLOBALS; ++i)
    globals[i] = fuzz_function(global_names[i]);
  any = make_sequence(1, NULL, 0);
  list_deleter = any.v_obj->deleter;
  tvmffi_any_release(&any);
  FUZZ_CHECK(fuzz_apply(fuzz_function("ffi.Dict"), NULL, 0, &any) == 0);
  dict_deleter = any.v_obj->deleter;
  tvmffi_any_release(&any);
}

/* Fills the slots, with the input's bytes still unread. */
static void fill_slots(void) {
  static TVMFFIObject *map, *dict;
  TVMFFIAny items[3], entries[8];
  unsigned i;
  if (!map) {
    map = fuzz_function("ffi.Map");
    dict = fuzz_function("ffi.Dict");
  }
  for (i = 0; i < NUM_LIVE; ++i) put(8 + i, make_object(i));
  put(6, make_text(1));
  put(7, make_function(2));
  items[0] = tvmffi_int(1);
  items[1] = own(vm.slots[6]);
  items[2] = own(vm.slots[8]);
  put(0, make_sequence(1, items, 3));
  items[0] = own(vm.slots[0]);
  items[1] = own(vm.slots[9]);
  put(2, make_sequence(0, items, 2));
  items[0] = vm.slots[8];
  items[1] = vm.slots[0];
  (void)fuzz_apply(dict, items, 2, &items[2]);
  put(1, items[2]);
  items[0] = vm.slots[6];
  items[1] = vm.slots[2];
  (void)fuzz_apply(map, items, 2, &items[2]);
  put(3, items[2]);
  put(4, make_sequence(1, items, 0));
  for (i = 0; i < 4; ++i) { /* a full small dict, with keys that have hooks */
    entries[2 * i] = i < 2 ? vm.slots[8 + i] : tvmffi_int(i);
    entries[2 * i + 1] = vm.slots[6];
  }
  (void)fuzz_apply(dict, entries, 8, &items[2]);
  put(5, items[2]);
  put(18, make_object(160));
  put(19, make_object(161));
  put(20, make_tensor());
  /* A list and a dict that alone have their items. */
  for (i = 0; i < 3; ++i) items[i] = make_object(4 * i);
  put(22, make_sequence(1, items, 3));
  for (i = 0; i < 4; ++i) entries[i] = make_object(i);
  (void)fuzz_apply(dict, entries, 4, &items[0]);
  for (i = 0; i < 4; ++i) tvmffi_any_release(&entries[i]);
  put(23, items[0]);
  put(21, tvmffi_int(3));
}

/* Finds the object in a block that may be part of itself, or NULL. */
static FUZZ_NO_COVERAGE TVMFFIObject *find_object(const fuzz_block *block) {
  TVMFFIObject *o = (TVMFFIObject *)block->address;
  size_t at;
  if (!o || block->size < sizeof(*o)) return NULL;
  if ((o->type_index == kTVMFFIList && o->deleter == list_deleter) ||
      (o->type_index == kTVMFFIDict && o->deleter == dict_deleter) ||
      o->deleter == delete_node || o->deleter == fuzz_delete_node ||
      (o->type_index == py_type && o->deleter == py_deleter))
    return o;
  for (at = 16; at <= 64 && at + sizeof(StatesBox) <= block->size; at += 8) {
    o = (TVMFFIObject *)(void *)((char *)block->address + at);
    if (o->deleter == box_deleter) return o;
  }
  return NULL;
}

/* Empties whatever may be part of itself. */
static FUZZ_NO_COVERAGE void cut_cycles(void) {
  enum { MOST = 4096 };
  static TVMFFIObject *found[MOST], *clear[2];
  closure *c;
  int n = 0, i;
  size_t k;
  if (!clear[0]) {
    clear[0] = fuzz_function("ffi.ListClear");
    clear[1] = fuzz_function("ffi.DictClear");
  }
  for (k = 0; k < FUZZ_BLOCK_SLOTS && n < MOST; ++k) {
    TVMFFIObject *o = find_object(&fuzz_blocks[k]);
    if (o) {
      tvmffi_weak_retain(o);
      found[n++] = o;
    }
  }
  for (i = 0; i < n; ++i) {
    TVMFFIObject *o = found[i];
    TVMFFIAny result;
    if (tvmffi_weak_lock(o)) {
      if (o->type_index == kTVMFFIList || o->type_index == kTVMFFIDict) {
        FUZZ_CHECK(fuzz_call1(clear[o->type_index == kTVMFFIDict],
                              tvmffi_obj(o), &result) == 0);
      } else if (o->deleter == box_deleter) {
        StatesBox *box = (StatesBox *)(void *)o;
        TVMFFIObject *object = box->object, *list = box->list;
        box->object = box->list = NULL;
        tvmffi_any_release(&box->any);
        tvmffi_release(object);
        tvmffi_release(list);
      } else {
        tvmffi_any_release(&((fuzz_node *)(void *)o)->a);
        tvmffi_any_release(&((fuzz_node *)(void *)o)->b);
      }
      tvmffi_release(o);
    }
    tvmffi_weak_release(o);
  }
  for (c = closures.after; c != &closures; c = closures.after) {
    TVMFFIAny held;
    for (; c != &closures && c->held.type_index == kTVMFFINone; c = c->after) {
    }
    if (c == &closures) break;
    held = c->held;
    c->held = tvmffi_none();
    tvmffi_any_release(&held);
  }
}

/* Runs an input and returns how many blocks it left behind. */
static int64_t run_input(const uint8_t *data, size_t size) {
  int64_t before = (int64_t)fuzz_num_blocks;
  unsigned i;
  fuzz_begin();
  memset((void *)&vm, 0, sizeof(vm));
  vm.first_fresh = num_fresh;
  vm.at = vm.end = data;
  fill_slots();
  vm.end = data + size;
  while (vm.at < vm.end && vm.steps < MAX_STEPS) run(1);
  vm.at = vm.end;
  vm.hooks = MAX_HOOKS;
  fuzz_begin();
  for (i = 0; i < NUM_SLOTS; ++i)
    if (vm.slots[i].type_index == kTVMFFIMap ||
        vm.slots[i].type_index == kTVMFFIDict)
      check_map(&vm.slots[i]);
  for (i = 0; i < NUM_WEAK; ++i)
    if (vm.weak[i]) tvmffi_weak_release(vm.weak[i]);
  for (i = 0; i < NUM_SLOTS; ++i) put(i, tvmffi_none());
  if (vm.globals_changed) restore_globals();
  fuzz_check_error(TVMFFIEnvSetDLPackManagedTensorAllocator(NULL, 1, NULL));
  fuzz_check_error(TVMFFIEnvSetDLPackManagedTensorAllocator(NULL, 0, NULL));
  fuzz_check_error(TVMFFISetCustomAllocator(NULL));
  handle = NULL;
  if ((int64_t)fuzz_num_blocks > before) cut_cycles();
  return (int64_t)fuzz_num_blocks - before;
}

/* Tables grow for new names, but not each time that an input runs. */
enum { MOST_RUNS = 6 };
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int32_t first = 0;
  uint64_t number = 0;
  int runs;
  if (!remove_global) {
    fuzz_begin();
    set_up();
  }
  first = num_fresh;
  for (runs = 0; runs < MOST_RUNS; ++runs) {
    num_fresh = first;
    number = fuzz_block_number;
    if (run_input(data, size) <= 0) break;
  }
  if (runs == MOST_RUNS) fuzz_block_print(number);
  FUZZ_CHECK(runs < MOST_RUNS);
  return 0;
}
