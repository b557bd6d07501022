/* Packed calls with values of every kind. An input is a small program: its
   bytes make values, call the built-in functions, methods and hooks with them,
   read and set fields, and refuse memory. Functions among the values run more
   of the program, so callbacks change what they are called from. */
#include "fuzz.h"
#include "types.h"
#if defined(FUZZ_STACKS)
#include "small_stack.h"
#else
#define FUZZ_STACKS 0
#endif

enum {
  NUM_VALUES = 48,
  MAX_CALLS = 48,    /* of one input */
  MAX_NESTING = 4,   /* of callbacks */
  MAX_WEIGHT = 2000, /* of the arguments of one call, as trees */
  NUM_TRACKED = 4096,
  NUM_CALLABLES = 512
};

/* The global functions that are not called, because random values cannot keep
   their contract. */
static const char *const excluded[] = {
    "ffi.FunctionFromExternC", /* takes three addresses of code and data */
    "ffi.MakeFieldSetter",     /* takes the address of a converter */
    "ffi._RegisterFFIInit",    /* changes a type for the life of the process */
    "ffi._PyClassRegisterTypeAttrColumns" /* is told the size of a type */
};

static const char *const hooks[] = {"__ffi_new__",          "__ffi_init__",
                                    "__ffi_shallow_copy__", "__ffi_repr__",
                                    "__ffi_hash__",         "__ffi_eq__",
                                    "__ffi_compare__",      "__data_to_json__",
                                    "__data_from_json__",   "__ffi_convert__"};

static TVMFFIObject *callables[NUM_CALLABLES];
static char callable_names[NUM_CALLABLES][64];
/* What a function's metadata says of its parameters. */
enum { MAX_ARGS = 6, ANY = -1, TEXT = -2, CALLBACKS = -3 };
static int num_params[NUM_CALLABLES]; /* -1: any number */
static int32_t params[NUM_CALLABLES][MAX_ARGS];
static int num_callables, num_globals, trace;

/* The program that runs. */
static struct {
  const uint8_t *at, *end;
  TVMFFIAny values[NUM_VALUES];       /* owned */
  TVMFFIObject *tracked[NUM_TRACKED]; /* a hash table of weak references */
  int num_tracked, calls, nesting, over;
} vm;

static unsigned next_byte(void) { return vm.at < vm.end ? *vm.at++ : 0; }

static uint64_t next_number(unsigned bytes) {
  uint64_t x = 0;
  while (bytes--) x = x << 8 | next_byte();
  return x;
}

/* A global function, even one that the program removed; owned by the
   caller. */
static TVMFFIObject *kept_function(const char *name) {
  int i;
  for (i = 0; i < num_globals; ++i)
    if (strcmp(callable_names[i], name) == 0) {
      tvmffi_retain(callables[i]);
      return callables[i];
    }
  return fuzz_function(name); /* they are not all listed yet */
}

/* -------- What cycles may go through -------- */

/* Notes an object; 0 if it is noted already. */
static int track(TVMFFIObject *o) {
  size_t i = ((uintptr_t)o >> 4) % NUM_TRACKED;
  while (vm.tracked[i] && vm.tracked[i] != o) i = (i + 1) % NUM_TRACKED;
  if (vm.tracked[i]) return 0;
  if (vm.num_tracked == NUM_TRACKED / 2) {
    vm.over = 1;
    return 0;
  }
  ++vm.num_tracked;
  tvmffi_weak_retain(o);
  vm.tracked[i] = o;
  return 1;
}

static int is_node(const TVMFFIAny *any) {
  return any->type_index >= fuzz_first_type &&
         any->type_index < fuzz_first_type + fuzz_num_types && any->v_obj;
}

/* A mutator that maps a variable to itself would be a circle that nothing can
   cut, so no mutator is given one. */
static int32_t mutator_type;
static int met_mutator;

/* Calls a function for each part of a value. */
typedef struct walk {
  const struct walk *outer;
  const TVMFFIObject *object;
  int *weight; /* NULL: to track */
} walk;
static void walk_value(const TVMFFIAny *any, const walk *outer);

static void walk_map(const TVMFFIAny *map, const walk *w) {
  static TVMFFIObject *iterators[2];
  int is_dict = map->type_index == kTVMFFIDict;
  TVMFFIAny f, key, any, code;
  if (!iterators[0]) {
    iterators[0] = kept_function("ffi.MapForwardIterFunctor");
    iterators[1] = kept_function("ffi.DictForwardIterFunctor");
  }
  if (fuzz_call1(iterators[is_dict], *map, &f)) return;
  while (fuzz_call1(f.v_obj, tvmffi_int(0), &key) == 0) {
    code = tvmffi_none();
    if (fuzz_call1(f.v_obj, tvmffi_int(1), &any) == 0) {
      walk_value(&key, w);
      walk_value(&any, w);
      tvmffi_any_release(&any);
      if (fuzz_call1(f.v_obj, tvmffi_int(2), &code)) code = tvmffi_none();
    }
    tvmffi_any_release(&key);
    if (code.type_index != kTVMFFIBool || !code.v_int64) break;
  }
  tvmffi_any_release(&f);
}

static void walk_parts(const TVMFFIAny *any, const walk *w) {
  const TVMFFISeqCell *cell;
  const fuzz_node *node;
  TVMFFIAny part;
  int64_t i;
  switch (any->type_index) {
    case kTVMFFIArray:
    case kTVMFFIList:
      cell = TVMFFI_I_CELL(const TVMFFISeqCell, any->v_obj);
      for (i = 0; i < cell->size && (!w->weight || *w->weight < MAX_WEIGHT);
           ++i) {
        part = ((const TVMFFIAny *)cell->data)[i];
        walk_value(&part, w);
      }
      return;
    case kTVMFFIMap:
    case kTVMFFIDict: walk_map(any, w); return;
    default: break;
  }
  if (!is_node(any)) return;
  node = (const fuzz_node *)(const void *)any->v_obj;
  walk_value(&node->a, w);
  walk_value(&node->b, w);
}

/* Adds up the weight of a value, each way to a part counted but those in a
   circle; or tracks all of it. */
static void walk_value(const TVMFFIAny *any, const walk *outer) {
  walk w;
  const walk *o;
  int depth = 0;
  if (any->type_index < kTVMFFIStaticObjectBegin || !any->v_obj) {
    if (outer->weight) ++*outer->weight;
    return;
  }
  if (any->type_index == mutator_type) met_mutator = 1;
  w.outer = outer;
  w.object = any->v_obj;
  w.weight = outer->weight;
  if (w.weight) {
    if (any->type_index == kTVMFFIStr || any->type_index == kTVMFFIBytes)
      *w.weight += (int)(tvmffi_any_str(any).size / 8 % MAX_WEIGHT);
    if (++*w.weight >= MAX_WEIGHT) return;
    for (o = outer; o; o = o->outer, ++depth)
      if (o->object == any->v_obj || depth > 100) return;
  } else {
    for (o = outer; o; o = o->outer)
      if (++depth > 2000) vm.over = 1;
    if (vm.over || !track(any->v_obj)) return;
  }
  walk_parts(any, &w);
}

/* What walk_value is called with. */
typedef struct {
  const TVMFFIAny *any;
  const walk *w;
} walk_call;

static void walk_job(void *context) {
  const walk_call *c = (const walk_call *)context;
  walk_value(c->any, c->w);
}

/* Neither needs the memory that the program has left, nor its stack. */
static void walk_aside(const TVMFFIAny *any, const walk *w) {
  size_t memory = fuzz_memory;
  unsigned refuse = fuzz_refuse;
  walk_call c;
  fuzz_begin();
  c.any = any;
  c.w = w;
#if FUZZ_STACKS
  fuzz_on_large_stack(walk_job, &c);
#else
  walk_job(&c);
#endif
  fuzz_memory = memory;
  fuzz_refuse = refuse;
}

static void track_value(const TVMFFIAny *any) {
  walk w = {NULL, NULL, NULL};
  walk_aside(any, &w);
}

/* Takes everything out of all that may be part of itself. */
static void cut_cycles(void) {
  static TVMFFIObject *clear[2];
  int i;
  if (!clear[0]) {
    clear[0] = kept_function("ffi.ListClear");
    clear[1] = kept_function("ffi.DictClear");
  }
  for (i = 0; i < NUM_TRACKED; ++i) {
    TVMFFIObject *o = vm.tracked[i];
    TVMFFIAny any, result;
    if (!o) continue;
    if (tvmffi_weak_lock(o)) {
      any = tvmffi_obj(o);
      if (o->type_index == kTVMFFIList || o->type_index == kTVMFFIDict)
        (void)fuzz_call1(clear[o->type_index == kTVMFFIDict], any, &result);
      if (is_node(&any)) {
        fuzz_node *node = (fuzz_node *)(void *)o;
        TVMFFIAny none = tvmffi_none();
        (void)fuzz_set_any(&node->a, &none);
        (void)fuzz_set_any(&node->b, &none);
      }
      tvmffi_release(o);
    }
    tvmffi_weak_release(o);
    vm.tracked[i] = NULL;
  }
  vm.num_tracked = 0;
}

/* -------- Values -------- */

/* Puts an owned value, which it takes, in the place of another one. */
static void put(unsigned at, TVMFFIAny any) {
  TVMFFIAny *to = &vm.values[at % NUM_VALUES], old = *to;
  track_value(&any);
  *to = any;
  tvmffi_any_release(&old);
}

/* A value that may be given to the library, owned by the caller. */
static TVMFFIAny own(TVMFFIAny view) {
  TVMFFIAny owned = tvmffi_none();
  if (view.type_index >= kTVMFFIStaticObjectBegin && !view.v_obj)
    return owned; /* which the function that makes owned values cannot take */
  fuzz_check_error(TVMFFIAnyViewToOwnedAny(&view, &owned));
  return owned;
}

static void run(int calls);

static void forget_moved(void);

/* A function that does more of the program, with its arguments as values, and
   returns one of these. `self` says how many calls it makes. */
static int callback(void *self, const TVMFFIAny *args, int32_t n,
                    TVMFFIAny *result) {
  int32_t i;
  unsigned at;
  if (vm.nesting >= MAX_NESTING) {
    *result = n ? own(args[0]) : tvmffi_none();
    return 0;
  }
  ++vm.nesting;
  forget_moved();
  for (i = 0; i < n && i < 3; ++i) put(40 + (unsigned)i, own(args[i]));
  run((int)(intptr_t)self);
  --vm.nesting;
  at = next_byte();
  if (at % 16 == 15) return TVMFFI_RAISE("ValueError", "as it happens");
  *result = at % 16 == 14 ? tvmffi_none() : own(vm.values[at % NUM_VALUES]);
  return 0;
}

static int64_t tensor_shape[2] = {2, 3};
static float tensor_data[6];
static void end_tensor(DLManagedTensor *self) { free(self); }

static TVMFFIAny make_tensor(unsigned device) {
  DLManagedTensor *t = (DLManagedTensor *)calloc(1, sizeof(*t));
  TVMFFIObjectHandle tensor = NULL;
  FUZZ_CHECK(t);
  t->dl_tensor.data = tensor_data;
  t->dl_tensor.device.device_type = device ? kDLCUDA : kDLCPU;
  t->dl_tensor.ndim = 2;
  t->dl_tensor.dtype.code = kDLFloat;
  t->dl_tensor.dtype.bits = 32;
  t->dl_tensor.dtype.lanes = 1;
  t->dl_tensor.shape = tensor_shape;
  t->deleter = end_tensor;
  if (TVMFFITensorFromDLPack(t, 0, 0, &tensor)) {
    fuzz_check_error(-1);
    free(t);
    return tvmffi_none();
  }
  return tvmffi_obj(tensor);
}

static TVMFFIAny make_call(const char *name, int32_t n, TVMFFIAny a,
                           TVMFFIAny b, TVMFFIAny c) {
  TVMFFIObject *f = kept_function(name);
  TVMFFIAny args[3], result;
  args[0] = a;
  args[1] = b;
  args[2] = c;
  (void)fuzz_apply(f, args, n, &result);
  tvmffi_release(f);
  return result;
}

static TVMFFIAny make_function(intptr_t calls) {
  TVMFFIObjectHandle f = NULL;
  int code = TVMFFIFunctionCreate((void *)calls, callback, NULL, &f);
  fuzz_check_error(code);
  return code ? tvmffi_none() : tvmffi_obj(f);
}

/* Callbacks as visits take them: an array of a type's index and a function. */
static TVMFFIAny make_callbacks(int32_t type, int32_t n) {
  TVMFFIAny none = tvmffi_none(), f = make_function(1);
  TVMFFIAny one =
      make_call("ffi.Array", n, tvmffi_int(type), f, tvmffi_bool(type % 2));
  TVMFFIAny all = make_call("ffi.Array", 1, one, none, none);
  tvmffi_any_release(&one);
  tvmffi_any_release(&f);
  return all;
}

static TVMFFIAny make_error(void) {
  TVMFFIByteArray kind = tvmffi_byte_array("KeyError"),
                  none = tvmffi_byte_array("");
  TVMFFIObjectHandle error = NULL;
  int code = TVMFFIErrorCreate(&kind, &kind, &none, &error);
  fuzz_check_error(code);
  return code ? tvmffi_none() : tvmffi_obj(error);
}

static TVMFFIAny make_opaque(void) {
  TVMFFIObjectHandle o = NULL;
  int code = TVMFFIObjectCreateOpaque(&vm, kTVMFFIOpaquePyObject, NULL, &o);
  fuzz_check_error(code);
  return code ? tvmffi_none() : tvmffi_obj(o);
}

static TVMFFIAny make_object(unsigned kind) {
  TVMFFIObjectHandle o = NULL;
  int code = fuzz_make_node(fuzz_first_type + (int32_t)(kind % 4), &o);
  fuzz_check_error(code);
  return code ? tvmffi_none() : tvmffi_obj(o);
}

static TVMFFIAny make_text(int bytes) {
  TVMFFIByteArray text;
  TVMFFIAny any = tvmffi_none();
  text.size = next_byte() % 40;
  if (text.size > (size_t)(vm.end - vm.at))
    text.size = (size_t)(vm.end - vm.at);
  text.data = (const char *)vm.at;
  vm.at += text.size;
  fuzz_check_error(bytes ? TVMFFIBytesFromByteArray(&text, &any)
                         : TVMFFIStringFromByteArray(&text, &any));
  return any;
}

/* A text that some function knows what to do with. */
static TVMFFIAny make_word(unsigned i) {
  static const char *const words[] = {
      "a",
      "b",
      "value",
      "parent",
      "number",
      "real",
      "flag",
      "dtype",
      "float32",
      "ffi.Object",
      "fuzz.Node",
      "ffi.List",
      "[1, {\"a\": [2.5, null]}]",
      "{\"root_index\":0,\"nodes\":[{\"type\":\"ffi.List\",\"data\":[]}]}",
      "-123456789012345678901234567890",
      "library",
      "so",
      "metadata"};
  const unsigned n = sizeof(words) / sizeof(words[0]);
  return own(
      tvmffi_str(i < n ? words[i] : callable_names[i % (unsigned)num_globals]));
}

static TVMFFIAny make_value(unsigned kind) {
  DLDevice device = {kDLCUDA, 3};
  DLDataType dtype;
  TVMFFIAny none = tvmffi_none(), a = vm.values[next_byte() % NUM_VALUES],
            b = vm.values[next_byte() % NUM_VALUES];
  double real;
  uint64_t bits;
  switch (kind % 32) {
    case 1: return tvmffi_int((int8_t)next_byte());
    case 2: return tvmffi_int((int64_t)next_number(8));
    case 3: return tvmffi_int(INT64_MIN);
    case 4: return tvmffi_int(INT64_MAX);
    case 5: return tvmffi_bool(1);
    case 6: return tvmffi_float((double)(int8_t)next_byte() / 4);
    case 7:
      bits = next_number(8);
      memcpy(&real, &bits, sizeof(real));
      return tvmffi_float(real);
    case 8: return make_text(0);
    case 9: return make_text(1);
    case 10: return make_word(next_byte());
    case 11: return make_function(0);
    case 12: return make_function(2);
    case 13: return make_tensor(next_byte() % 2);
    case 14:
      bits = next_number(4);
      memcpy(&dtype, &bits, sizeof(dtype));
      return tvmffi_dtype(dtype);
    case 15: return tvmffi_device(device);
    case 16: return tvmffi_ptr(next_byte() % 2 ? &vm : NULL);
    case 17: return make_error();
    case 18: return make_opaque();
    case 19: return make_object(next_byte());
    case 20: return make_call("ffi.Array", 2, a, b, none);
    case 21: return make_call("ffi.List", 2, a, b, none);
    case 22: return make_call("ffi.Map", 2, a, b, none);
    case 23: return make_call("ffi.Dict", 2, a, b, none);
    case 24: return make_call("ffi.Shape", 3, tvmffi_int(2), tvmffi_int(-1), a);
    case 25: return make_call("ffi.SystemLib", 0, none, none, none);
    case 26: return make_callbacks((int32_t)next_byte(), 2);
    case 27: return make_callbacks((int32_t)next_byte(), 3);
    case 28: return make_call("ffi.Array", 0, none, none, none);
    case 29: /* "unchanged", which only the runtime itself gives */
      none.type_index = kTVMFFIUnchanged;
      return none;
    case 30: /* a type's index */
      return tvmffi_int(fuzz_first_type + fuzz_num_types - 1 -
                        (int)(next_byte() % 16));
    default: return none;
  }
}

#if FUZZ_STACKS
/* Nests a value in up to 765 others. */
static TVMFFIAny make_nest(TVMFFIAny any, unsigned kind, unsigned depth) {
  static const char *const makers[] = {"ffi.Array", "ffi.List",
                                       "ffi.StructuralKey", "ffi.Dict",
                                       "ffi.Map"};
  TVMFFIAny none = tvmffi_none(), outer;
  unsigned i;
  any = own(any);
  for (i = 0; i < depth; ++i) {
    unsigned k = kind < 6 ? kind : (kind + i) % 6;
    if (k < 5) {
      outer = k == 3 ? make_call(makers[k], 2, none, any, none)
                     : make_call(makers[k], k == 4 ? 2 : 1, any, none, none);
    } else {
      outer = make_object(i % 4);
      if (outer.type_index != kTVMFFINone)
        fuzz_check_error(fuzz_set_any(
            &((fuzz_node *)(void *)outer.v_obj)->a, &any));
    }
    tvmffi_any_release(&any);
    any = outer;
  }
  return any;
}
#endif

/* -------- Calls -------- */

/* What views of arguments point to, for the time of a call. */
typedef struct {
  TVMFFIAny args[MAX_ARGS];
  TVMFFIByteArray bytes[MAX_ARGS];
} frame;

/* Whether a value may be given for a parameter. */
static int fits(const TVMFFIAny *any, int32_t param) {
  int32_t index = any->type_index;
  if (param == ANY) return 1;
  if (param == TEXT) return index == kTVMFFIStr || index == kTVMFFISmallStr;
  if (param < kTVMFFIStaticObjectBegin) return index == param;
  return index >= param && tvmffi_is_instance(index, param);
}

/* The place of the next value that fits, or `at` itself. */
static unsigned find_fitting(unsigned at, int32_t param) {
  unsigned i, place;
  if (param == CALLBACKS) {
    put(at, make_callbacks((int32_t)next_byte(), 2 + (int32_t)(at % 2)));
    return at;
  }
  for (i = 0; i < NUM_VALUES; ++i) {
    place = (at + i) % NUM_VALUES;
    if (fits(&vm.values[place], param)) return at - at % NUM_VALUES + place;
  }
  return at;
}

/* Makes an argument of a value: itself, or another way to hand it over. */
static void make_argument(frame *f, int i, unsigned byte) {
  TVMFFIAny *any = &f->args[i];
  TVMFFIAny *from = &vm.values[byte % NUM_VALUES];
  *any = *from;
  if (byte < 5 * NUM_VALUES) return;
  switch (next_byte() % 4) {
    case 0: /* an object that is none, a text that claims more than it has */
      if (any->type_index >= kTVMFFIStaticObjectBegin) any->v_obj = NULL;
      if (any->type_index == kTVMFFISmallStr ||
          any->type_index == kTVMFFISmallBytes)
        any->small_str_len += 100;
      return;
    case 1: /* a plain C text, bytes or tensor */
      if (any->type_index == kTVMFFIStr)
        *any = tvmffi_str(tvmffi_any_str(from).data);
      else if (any->type_index == kTVMFFIBytes) {
        f->bytes[i] = tvmffi_any_str(from);
        *any = tvmffi_bytes(&f->bytes[i]);
      } else if (any->type_index == kTVMFFITensor)
        *any = tvmffi_tensor(TVMFFI_I_CELL(const DLTensor, any->v_obj));
      return;
    case 2: /* an object that may be taken */
      if (any->type_index < kTVMFFIStaticObjectBegin) return;
      *any = tvmffi_none();
      any->type_index = kTVMFFIObjectRValueRef;
      any->v_ptr = &from->v_ptr;
      return;
    default: /* a plain NULL */
      *any = tvmffi_none();
      any->type_index = next_byte() % 2 ? kTVMFFIRawStr : kTVMFFIByteArrayPtr;
      return;
  }
}

static void show(const char *name, const frame *f, int n) {
  int i;
  fprintf(stderr, "%*s%s(", 2 * vm.nesting, "", name);
  for (i = 0; i < n; ++i)
    fprintf(stderr, "%d:%p%s", (int)f->args[i].type_index, f->args[i].v_ptr,
            i + 1 < n ? ", " : "");
  fprintf(stderr, ")\n");
}

/* Makes None of the values that an argument was moved from. */
static void forget_moved(void) {
  int i;
  for (i = 0; i < NUM_VALUES; ++i)
    if (vm.values[i].type_index >= kTVMFFIStaticObjectBegin &&
        !vm.values[i].v_obj)
      vm.values[i] = tvmffi_none();
}

/* Calls a function (borrowed) with values, and puts its result among them.
   Mostly they fit its parameters, if it is callables[known]. */
static void call(TVMFFIObject *f, const char *name, int known) {
  frame fr;
  TVMFFIAny held[MAX_ARGS], result;
  unsigned chosen[MAX_ARGS], form = next_byte();
  int n = (int)(form % MAX_ARGS), i, weight = 0, code, fit = 0;
  walk w = {NULL, NULL, NULL};
  w.weight = &weight;
  if (known >= 0 && num_params[known] >= 0 && form < 224) {
    n = num_params[known];
    fit = 1;
  }
  for (i = 0; i < n; ++i) {
    chosen[i] = next_byte();
    if (fit) chosen[i] = find_fitting(chosen[i], params[known][i]);
  }
  for (i = 0; i < n; ++i) {
    make_argument(&fr, i, chosen[i]);
    if (i < 2) met_mutator = 0; /* the first is what is changed */
    walk_aside(&vm.values[chosen[i] % NUM_VALUES], &w);
  }
  if (weight >= MAX_WEIGHT) return;
  if (met_mutator && strcmp(name, "ffi.StructuralMutatorVarRemapSet") == 0)
    return;
  if (trace) show(name, &fr, n);
  /* A callback may put other values there meanwhile. What may be taken is
     the only reference. */
  for (i = 0; i < n; ++i) {
    held[i] = tvmffi_none();
    if (fr.args[i].type_index != kTVMFFIObjectRValueRef)
      held[i] = own(vm.values[chosen[i] % NUM_VALUES]);
  }
  if (f) tvmffi_retain(f);
  result = tvmffi_none();
  code = TVMFFIFunctionCall(f, fr.args, n, &result);
  tvmffi_release(f);
  for (i = 0; i < n; ++i) tvmffi_any_release(&held[i]);
  forget_moved();
  fuzz_check_error(code);
  if (code) return;
  fuzz_check_any(&result);
  put(next_byte(), result);
}

/* Reads or sets a field of an object. */
static void access_field(void) {
  unsigned at = next_byte();
  TVMFFIAny any = own(vm.values[at % NUM_VALUES]), result = tvmffi_none();
  const TVMFFITypeInfo *type;
  if (any.type_index >= kTVMFFIStaticObjectBegin) {
    type = TVMFFIGetTypeInfo(any.type_index);
    at = next_byte();
    if (type && type->num_fields) {
      const TVMFFIFieldInfo *field =
          &type->fields[at % (unsigned)type->num_fields];
      void *address = (char *)any.v_obj + field->offset;
      TVMFFIFieldSetter setter;
      at = next_byte();
      if (at >= 128 && (field->flags & kTVMFFIFieldFlagBitMaskWritable) &&
          !(field->flags & kTVMFFIFieldFlagBitSetterIsFunctionObj)) {
        memcpy(&setter, &field->setter, sizeof(setter));
        fuzz_check_error(setter(address, &vm.values[at % NUM_VALUES]));
      } else {
        fuzz_check_error(field->getter(address, &result));
        put(at, result);
      }
    }
  }
  tvmffi_any_release(&any);
}

static void step(void) {
  unsigned op = next_byte(), at = next_byte();
  TVMFFIAny *f = &vm.values[at % NUM_VALUES];
#if FUZZ_STACKS
  if (op >= 240) {
    put(at, make_nest(*f, op % 16, next_byte() * 3));
    return;
  }
#endif
  switch (op % 8) {
    case 0:
    case 1:
    case 2:
      at %= (unsigned)num_globals;
      call(callables[at], callable_names[at], (int)at);
      return;
    case 3:
      at %= (unsigned)num_callables;
      call(callables[at], callable_names[at], (int)at);
      return;
    case 4: put(at, make_value(next_byte())); return;
    case 5: access_field(); return;
    case 6:
      if (f->type_index == kTVMFFIFunction) call(f->v_obj, "a value", -1);
      return;
    default:
      if (at < 128)
        fuzz_refuse = at;
      else
        put(at, own(vm.values[next_byte() % NUM_VALUES]));
      return;
  }
}

static void run(int calls) {
  while (calls-- > 0 && vm.at < vm.end && !vm.over && vm.calls < MAX_CALLS) {
    ++vm.calls;
    step();
  }
}

/* -------- The functions -------- */

/* Gives the value of a name of a map, owned by the caller, or None. */
static TVMFFIAny get_item(TVMFFIAny map, const char *name) {
  TVMFFIAny none = tvmffi_none();
  if (map.type_index != kTVMFFIMap) return none;
  return make_call("ffi.MapGetItem", 2, map, tvmffi_str(name), none);
}

static int32_t read_param(TVMFFIAny schema) {
  TVMFFIAny type = get_item(schema, "type"), of = get_item(schema, "args");
  TVMFFIByteArray key = tvmffi_any_str(&type);
  int32_t index = ANY;
  if (strcmp(key.data, "ffi.Array") == 0 && of.type_index != kTVMFFINone)
    index = CALLBACKS; /* the only arrays of something */
  else if (strcmp(key.data, "ffi.String") == 0)
    index = TEXT;
  else if (strcmp(key.data, "Any") != 0 && strcmp(key.data, "Optional") != 0 &&
           TVMFFITypeKeyToIndex(&key, &index)) {
    fuzz_check_error(-1);
    index = ANY;
  }
  tvmffi_any_release(&of);
  tvmffi_any_release(&type);
  return index;
}

/* Reads a function's metadata: JSON that has a text in it, which is JSON. */
static void read_params(int callable, TVMFFIByteArray metadata) {
  TVMFFIAny none = tvmffi_none(), any, next;
  static const char *const path[] = {"named_args", "params"};
  const TVMFFISeqCell *cell;
  int i;
  num_params[callable] = -1;
  if (!metadata.size) return;
  any = fuzz_text(metadata.data, metadata.size);
  for (i = 0; i < 2; ++i) {
    next = make_call("ffi.json.Parse", 1, any, none, none);
    tvmffi_any_release(&any);
    any = i ? next : get_item(next, "type_schema");
    if (!i) tvmffi_any_release(&next);
    if (any.type_index == kTVMFFINone) return;
  }
  for (i = 0; i < 2; ++i) {
    next = get_item(any, path[i]);
    tvmffi_any_release(&any);
    any = next;
  }
  if (any.type_index == kTVMFFIArray) {
    cell = TVMFFI_I_CELL(const TVMFFISeqCell, any.v_obj);
    if (cell->size <= MAX_ARGS) {
      num_params[callable] = (int)cell->size;
      for (i = 0; i < (int)cell->size; ++i)
        params[callable][i] = read_param(((const TVMFFIAny *)cell->data)[i]);
    }
  }
  tvmffi_any_release(&any);
}

static void add_callable(TVMFFIObject *f, const char *name, const char *of_type,
                         TVMFFIByteArray metadata) {
  FUZZ_CHECK(num_callables < NUM_CALLABLES);
  read_params(num_callables, metadata);
  snprintf(callable_names[num_callables], sizeof(callable_names[0]), "%s%s%s",
           of_type, *of_type ? " " : "", name);
  callables[num_callables++] = f;
}

static void add_globals(void) {
  const unsigned n = sizeof(excluded) / sizeof(excluded[0]);
  TVMFFIObject *list = fuzz_function("ffi.FunctionListGlobalNamesFunctor");
  TVMFFIAny names, name, count;
  int64_t i;
  unsigned k;
  FUZZ_CHECK(fuzz_apply(list, NULL, 0, &names) == 0);
  FUZZ_CHECK(fuzz_call1(names.v_obj, tvmffi_int(-1), &count) == 0);
  for (i = 0; i < count.v_int64; ++i) {
    FUZZ_CHECK(fuzz_call1(names.v_obj, tvmffi_int(i), &name) == 0);
    for (k = 0; k < n; ++k)
      if (strcmp(excluded[k], tvmffi_any_str(&name).data) == 0) break;
    if (k == n) {
      TVMFFIAny none = tvmffi_none();
      TVMFFIAny about =
          make_call("ffi.GetGlobalFuncMetadata", 1, name, none, none);
      add_callable(fuzz_function(tvmffi_any_str(&name).data),
                   tvmffi_any_str(&name).data, "", tvmffi_any_str(&about));
      tvmffi_any_release(&about);
    }
    tvmffi_any_release(&name);
  }
  tvmffi_any_release(&names);
  tvmffi_release(list);
  num_globals = num_callables;
}

/* Methods of types, and what stands in the columns of attributes. */
static void add_methods(void) {
  int32_t t, i;
  unsigned k;
  for (t = 0; t < fuzz_first_type + fuzz_num_types; ++t) {
    const TVMFFITypeInfo *type;
    if (t > kTVMFFIUnchanged && t < kTVMFFIStaticObjectBegin) continue;
    if (t > kTVMFFIBigInt && t < kTVMFFIDynObjectBegin) continue;
    type = TVMFFIGetTypeInfo(t);
    FUZZ_CHECK(type);
    for (i = 0; i < type->num_methods; ++i)
      if (type->methods[i].method.type_index == kTVMFFIFunction)
        add_callable(type->methods[i].method.v_obj, type->methods[i].name.data,
                     type->type_key.data, type->methods[i].metadata);
    for (k = 0; k < sizeof(hooks) / sizeof(hooks[0]); ++k) {
      TVMFFIByteArray name = tvmffi_byte_array(hooks[k]);
      const TVMFFITypeAttrColumn *column = TVMFFIGetTypeAttrColumn(&name);
      i = column ? t - column->begin_index : -1;
      if (i >= 0 && i < column->size &&
          column->data[i].type_index == kTVMFFIFunction)
        add_callable(column->data[i].v_obj, hooks[k], type->type_key.data,
                     tvmffi_byte_array(""));
    }
  }
}

/* Brings back what ffi.FunctionRemoveGlobal removed. */
static void restore_globals(void) {
  int i;
  for (i = 0; i < num_globals; ++i) {
    TVMFFIByteArray name = tvmffi_byte_array(callable_names[i]);
    TVMFFIObjectHandle f = NULL;
    fuzz_check_error(TVMFFIFunctionGetGlobal(&name, &f));
    if (!f) fuzz_check_error(TVMFFIFunctionSetGlobal(&name, callables[i], 1));
    tvmffi_release(f);
  }
}

static void run_input(void *unused) {
  (void)unused;
  while (vm.at < vm.end && !vm.over && vm.calls < MAX_CALLS) run(1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  unsigned i;
  fuzz_begin();
  if (!num_callables) {
    TVMFFIByteArray key = tvmffi_byte_array("ffi.StructuralMutator");
    trace = getenv("FUZZ_TRACE") != NULL;
    FUZZ_CHECK(TVMFFITypeKeyToIndex(&key, &mutator_type) == 0);
    fuzz_register_types();
    add_globals();
    add_methods();
  }
  memset((void *)&vm, 0, sizeof(vm));
  vm.at = vm.end = data;
  for (i = 0; i < NUM_VALUES; ++i) put(i, make_value(i));
  vm.end = data + size;
#if FUZZ_STACKS
  fuzz_on_small_stack((size_t)(size % 2 ? 64 : 256) << 10, run_input, NULL);
#else
  run_input(NULL);
#endif
  fuzz_begin();
  cut_cycles();
  for (i = 0; i < NUM_VALUES; ++i) put(i, tvmffi_none());
  cut_cycles();
  restore_globals();
  return 0;
}
