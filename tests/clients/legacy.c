/* Functions of TVM's old calling convention, by a runtime that has it: a
   libtvm_runtime.so of before TVM FFI, whose path is the argument. Values of
   every type code go through functions of this ABI that the old runtime calls,
   and through the old runtime's own that this one calls. Prints TAP. */
#define TVMFFI_IMPLEMENTATION
#define TVMFFI_STATIC 1
#include "tvmffi_legacy.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A C function that the old runtime calls, and its functions. */
typedef int (*old_packed)(tvmffi_legacy_value *args, int *codes, int n,
                          void *result, void *resource);
static struct {
  int (*get_global)(const char *name, void **out);
  int (*create)(old_packed call, void *resource, void (*end)(void *),
                void **out);
  int (*call)(void *function, tvmffi_legacy_value *args, int *codes, int n,
              tvmffi_legacy_value *result, int *code);
  int (*set_result)(void *result, tvmffi_legacy_value *value, int *code, int n);
  int (*release)(void *function);
  void (*set_error)(const char *message);
  const char *(*last_error)(void);
} old;

static int count, failures;
static void check(int ok, const char *what) {
  printf("%sok %d - %s\n", ok ? "" : "not ", ++count, what);
  if (ok) return;
  ++failures;
  tvmffi_error_print(stdout);
}

/* -------- Ours, called by the old runtime -------- */

/* What the old runtime calls: any function of ours. Texts go back as texts,
   which its own values copy; our objects it does not know. */
static int give(tvmffi_legacy_value *args, int *codes, int n, void *result,
                void *function) {
  tvmffi_legacy_value value;
  TVMFFIAny any = tvmffi_none();
  TVMFFIByteArray text;
  int code, err;
  if (tvmffi_legacy_call(args, codes, n, &value, &code, function)) {
    TVMFFI_SCOPE;
    TVMFFIObject *error = tvmffi_error_take();
    old.set_error(TVMFFIErrorGetCellPtr(error)->message.data);
    return -1;
  }
  if (code != TVMFFI_LEGACY_OBJECT)
    return old.set_result(result, &value, &code, 1);
  any = tvmffi_obj(value.v_handle);
  text = tvmffi_any_str(&any);
  code = any.type_index == kTVMFFIStr ? TVMFFI_LEGACY_STR : TVMFFI_LEGACY_BYTES;
  if (code == TVMFFI_LEGACY_STR)
    value.v_str = text.data;
  else
    value.v_handle = &text;
  err = old.set_result(result, &value, &code, 1);
  tvmffi_any_release(&any);
  return err;
}

TVMFFI_FUNC(same, any, (any, x)) { TVMFFI_RETURN(x); }
TVMFFI_FUNC(describe, str, (int64, i), (float64, x), (str, s), (dtype, d),
            (device, on), (tensor, t), (any, nothing)) {
  static char text[128];
  snprintf(text, sizeof(text), "%d %g %s %d/%d %d:%d %dD %d", (int)i, x, s.data,
           d.code, d.bits, (int)on.device_type, (int)on.device_id, (int)t->ndim,
           (int)nothing.type_index);
  TVMFFI_RETURN(tvmffi_byte_array(text));
}
TVMFFI_FUNC(fail, none) { return TVMFFI_RAISE("ValueError", "on purpose"); }

static void *to_old(const tvmffi_func *typed) {
  TVMFFIObject *f = NULL;
  void *out = NULL;
  if (!tvmffi_i_function(typed, &f)) old.create(give, f, tvmffi_release, &out);
  return out;
}

/* -------- The old runtime's, called by ours -------- */

static int call_old(tvmffi_legacy_value *args, int *codes, int n,
                    tvmffi_legacy_value *result, int *code, void *function) {
  int err = old.call(function, args, codes, n, result, code);
  if (err) tvmffi_legacy_set_error(old.last_error());
  return err;
}
static void release_old(void *function) { old.release(function); }

static TVMFFIObject *from_old(TVMFFI_HERE, void *function) {
  TVMFFIObject *f = NULL;
  return function && !tvmffi_legacy_wrap(call_old, function, release_old, &f)
             ? f
             : NULL;
}
static TVMFFIObject *old_global(TVMFFI_HERE, const char *name) {
  void *function = NULL;
  return old.get_global(name, &function) ? NULL
                                         : from_old(tvmffi_here, function);
}

static int64_t shape[] = {4};
static DLTensor tensor_of(void *data, int code, int bits) {
  DLTensor t;
  memset(&t, 0, sizeof(t));
  t.data = data;
  t.device.device_type = kDLCPU;
  t.dtype = tvmffi_dtype_of(code, bits);
  t.ndim = 1;
  t.shape = shape;
  return t;
}

static void test_codes(void) {
  void *f = to_old(&tvmffi_func_same);
  static const TVMFFIByteArray bytes = {"a\0b", 3};
  float data[4] = {0};
  DLTensor tensor = tensor_of(data, kDLFloat, 32);
  tvmffi_legacy_value value, got;
  int code, got_code;
  for (code = 0; code <= 13; ++code) {
    char what[64];
    int ok, want = code == TVMFFI_LEGACY_UINT    ? TVMFFI_LEGACY_INT
                   : code == TVMFFI_LEGACY_DTYPE ? TVMFFI_LEGACY_STR /* it is */
                                                 : code;
    if ((code >= TVMFFI_LEGACY_DLTENSOR && code <= TVMFFI_LEGACY_FUNCTION) ||
        code == TVMFFI_LEGACY_TENSOR)
      continue; /* no results: objects, and what is borrowed */
    value.v_int64 = 0x4029000000000000; /* 12.5 */
    if (code == TVMFFI_LEGACY_DTYPE) value.v_type = tensor.dtype;
    if (code == TVMFFI_LEGACY_DEVICE) value.v_device = tensor.device;
    if (code == TVMFFI_LEGACY_HANDLE) value.v_handle = &value;
    if (code == TVMFFI_LEGACY_STR) value.v_str = "text";
    if (code == TVMFFI_LEGACY_BYTES) value.v_handle = (void *)(uintptr_t)&bytes;
    got.v_int64 = got_code = 99;
    ok =
        old.call(f, &value, &code, 1, &got, &got_code) == 0 && got_code == want;
    if (ok && code == TVMFFI_LEGACY_STR)
      ok = strcmp(got.v_str, "text") == 0;
    else if (ok && code == TVMFFI_LEGACY_BYTES)
      ok = ((TVMFFIByteArray *)got.v_handle)->size == 3 &&
           memcmp(((TVMFFIByteArray *)got.v_handle)->data, "a\0b", 3) == 0;
    else if (ok && code == TVMFFI_LEGACY_DTYPE)
      ok = strcmp(got.v_str, "float32") == 0;
    else if (ok && code != TVMFFI_LEGACY_NULL)
      ok = got.v_int64 == value.v_int64;
    snprintf(what, sizeof(what), "ours, called with type code %d", code);
    check(ok, what);
  }
  old.release(f);
}

static void test_arguments(void) {
  static const int codes[] = {0, 2, 11, 5, 6, 7, 4};
  void *f = to_old(&tvmffi_func_describe);
  float data[4] = {0};
  DLTensor tensor = tensor_of(data, kDLFloat, 32);
  tvmffi_legacy_value args[7], got;
  int got_code = -1, round;
  args[0].v_int64 = -3;
  args[1].v_float64 = 2.5;
  args[2].v_str = "words";
  args[3].v_type = tensor.dtype;
  args[4].v_device = tensor.device;
  args[5].v_handle = &tensor;
  args[6].v_handle = NULL;
  for (round = 0; round < 2; ++round) {
    int with[7];
    memcpy(with, codes, sizeof(with));
    if (round) with[5] = TVMFFI_LEGACY_TENSOR;
    check(old.call(f, args, with, 7, &got, &got_code) == 0 &&
              got_code == TVMFFI_LEGACY_STR &&
              strcmp(got.v_str, "-3 2.5 words 2/32 1:0 1D 0") == 0,
          round ? "ours, with a tensor object's handle"
                : "ours, with seven arguments");
  }
  check(old.call(f, args, (int *)(uintptr_t)codes, 6, &got, &got_code) != 0 &&
            strstr(old.last_error(), "Expected 7 but got 6 arguments") != NULL,
        "ours, with too few: the old runtime has the error");
  old.release(f);
  f = to_old(&tvmffi_func_fail);
  check(old.call(f, NULL, NULL, 0, &got, &got_code) != 0 &&
            strstr(old.last_error(), "on purpose") != NULL,
        "ours, failing: the old runtime has the error");
  old.release(f);
}

static void test_old_functions(void) {
  TVMFFI_SCOPE;
  TVMFFIObject *f = old_global(tvmffi_here, "runtime.NumThreads");
  int64_t n = 0;
  float keys[4] = {3, 1, 4, 2};
  int32_t order[4] = {-1, -1, -1, -1};
  DLTensor in = tensor_of(keys, kDLFloat, 32);
  DLTensor out = tensor_of(order, kDLInt, 32);
  char room[64] = "";
  tvmffi_buffer text = {room, sizeof(room), 0};
  check(f && !tvmffi_call(f, &n) && n >= 1, "the old runtime's: an int");
  f = old_global(tvmffi_here, "tvm.contrib.sort.argsort");
  check(f && !tvmffi_call(f, NULL, &in, &out, 0, true) && order[0] == 1 &&
            order[1] == 3 && order[2] == 0 && order[3] == 2,
        "the old runtime's: tensors");
  check(f && tvmffi_call(f, NULL, "not a tensor", &out, 0, true) == -1 &&
            tvmffi_error_catch("RuntimeError"),
        "the old runtime's, failing");
  f = old_global(tvmffi_here, "runtime.SanitizeName");
  check(f && !tvmffi_call(f, &text, "a.b c") && strcmp(room, "a_b_c") == 0,
        "the old runtime's: a string");
  /* Through both twice: ours, in the old runtime, in ours. */
  f = from_old(tvmffi_here, to_old(&tvmffi_func_describe));
  check(
      f &&
          !tvmffi_call(f, &text, 7, 0.5, "x", in.dtype, in.device, &in, NULL) &&
          strcmp(room, "7 0.5 x 2/32 1:0 1D 0") == 0,
      "ours, through the old runtime");
}

#define FIND(member, name)                                                   \
  (memcpy((void *)&old.member, &(void *){dlsym(lib, name)}, sizeof(void *)), \
   old.member != NULL)

int main(int argc, char **argv) {
  void *lib = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!lib) {
    fprintf(stderr, "legacy: %s\n", argc == 2 ? dlerror() : "which library?");
    return 2;
  }
  if (!FIND(get_global, "TVMFuncGetGlobal") ||
      !FIND(create, "TVMFuncCreateFromCFunc") || !FIND(call, "TVMFuncCall") ||
      !FIND(set_result, "TVMCFuncSetReturn") || !FIND(release, "TVMFuncFree") ||
      !FIND(set_error, "TVMAPISetLastError") ||
      !FIND(last_error, "TVMGetLastError")) {
    fprintf(stderr, "legacy: %s has no old interface\n", argv[1]);
    return 2;
  }
  test_codes();
  test_arguments();
  test_old_functions();
  printf("1..%d\n", count);
  return failures != 0;
}
