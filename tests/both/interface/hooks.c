/* Hooks that raise an error and return 1, which is a failure like any other, on
   whatever library the program is linked with: run.py compares what it prints
   on two of them. */
#include <string.h>

#include "tvmffi.h"

#include "show.h"

static int is_failing;

/* Fails, or returns the result that `self` points to. */
static int hook(void *self, const TVMFFIAny *args, int32_t num_args,
                TVMFFIAny *result) {
  (void)args, (void)num_args;
  *result = *(const TVMFFIAny *)self;
  if (!is_failing) return 0;
  *result = tvmffi_none();
  (void)TVMFFI_RAISE("ValueError", "the hook says no");
  return 1;
}

static int set_hook(int32_t type, const char *name, TVMFFIAny *result) {
  TVMFFIByteArray text = tvmffi_byte_array(name);
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny any;
  int code;
  TVMFFI_TRY(TVMFFIFunctionCreate(result, hook, NULL, &f));
  any = tvmffi_obj((TVMFFIObject *)f);
  code = TVMFFITypeRegisterAttr(type, &text, &any);
  tvmffi_release((TVMFFIObject *)f);
  return code;
}

static int32_t new_type(const char *name) {
  TVMFFIByteArray key = tvmffi_byte_array(name);
  int32_t type = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 0, kTVMFFIObject);
  TVMFFITypeMetadata metadata;
  memset((void *)&metadata, 0, sizeof(metadata));
  metadata.total_size = (int32_t)sizeof(TVMFFIObject);
  metadata.structural_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  return type < 0 || TVMFFITypeRegisterMetadata(type, &metadata) ? -1 : type;
}

/* An object of a type, which is never released. */
static TVMFFIAny object_of(TVMFFIObject *memory, int32_t type) {
  memset((void *)memory, 0, sizeof(*memory));
  memory->combined_ref_count = ((uint64_t)1 << 32) + (1 << 20);
  memory->type_index = type;
  return tvmffi_obj(memory);
}

/* Calls a global function whose hook fails. */
static int call(const char *name, TVMFFIAny *args, int32_t num_args) {
  TVMFFIByteArray text = tvmffi_byte_array(name);
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny result = tvmffi_none();
  int code;
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&text, &f));
  is_failing = 1;
  code = TVMFFIFunctionCall(f, args, num_args, &result);
  is_failing = 0;
  tvmffi_release((TVMFFIObject *)f);
  tvmffi_any_release(&result);
  printf("%d: ", code);
  return code;
}

static int show_hooks(void) {
  static const struct {
    const char *hook, *function;
    int32_t num_args;
  } rows[] = {{"__ffi_repr__", "ffi.ReprPrint", 1},
              {"__ffi_hash__", "ffi.RecursiveHash", 1},
              {"__ffi_eq__", "ffi.RecursiveEq", 2},
              {"__ffi_compare__", "ffi.RecursiveLt", 2},
              {"__ffi_shallow_copy__", "ffi.DeepCopy", 1},
              {"__s_equal__", "ffi.StructuralEqual", 4},
              {"__s_hash__", "ffi.StructuralHash", 3}};
  static TVMFFIObject objects[14];
  static TVMFFIAny yes;
  size_t i;
  yes = tvmffi_bool(1);
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    const int32_t type = new_type(rows[i].hook);
    TVMFFIAny args[4];
    if (type < 0) return -1;
    TVMFFI_TRY(set_hook(type, rows[i].hook, &yes));
    args[0] = object_of(&objects[2 * i], type);
    args[1] = object_of(&objects[2 * i + 1], type);
    args[2] = args[3] = tvmffi_bool(0);
    if (rows[i].num_args == 3) args[1] = args[2];
    show_error(rows[i].hook, call(rows[i].function, args, rows[i].num_args));
  }
  return 0;
}

static int show_keys(void) {
  TVMFFI_SCOPE;
  static const char *const functions[] = {"ffi.DictGetItem", "ffi.DictCount",
                                          "ffi.DictErase", "ffi.DictSetItem"};
  static TVMFFIObject objects[6];
  static TVMFFIAny one, no;
  const int32_t type = new_type("hooks.Key");
  TVMFFIAny keys[6], args[3];
  TVMFFIObject *dict = tvmffi_dict();
  int i, k, n = 0;
  if (type < 0 || !dict) return -1;
  one = tvmffi_int(1);
  no = tvmffi_bool(0);
  TVMFFI_TRY(set_hook(type, "__any_hash__", &one));
  TVMFFI_TRY(set_hook(type, "__any_equal__", &no));
  for (i = 0; i < 6; ++i) keys[i] = object_of(&objects[i], type);
  args[0] = tvmffi_obj(dict);
  args[1] = keys[5];
  args[2] = one;
  for (k = 1; k <= 5; k += 4) {
    for (; n < k; ++n) TVMFFI_TRY(tvmffi_set(dict, keys[n], n));
    for (i = 0; i < 4; ++i)
      show_error(functions[i], call(functions[i], args, i < 3 ? 2 : 3));
  }
  args[0] = tvmffi_obj(tvmffi_array(keys[0]));
  if (!args[0].v_obj) return -1;
  show_error("ffi.ArrayContains", call("ffi.ArrayContains", args, 2));
  return 0;
}

TVMFFI_MAIN() {
  TVMFFI_TRY(show_hooks());
  TVMFFI_TRY(show_keys());
  return 0;
}
