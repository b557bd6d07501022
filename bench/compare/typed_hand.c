/* The functions of typed_ops.c with the same checks written by hand on the bare
   ABI, as C was written before: the count of arguments, that no result is lost,
   and all types, before anything is done. What a typed function may cost. */
#include <tvm/ffi/c_api.h>

static int wrong(const char *kind, const char *message) {
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

static int is_int(const TVMFFIAny *any) {
  return any->type_index == kTVMFFIInt || any->type_index == kTVMFFIBool;
}

/* What stands there would be lost. */
static int is_owned(const TVMFFIAny *result) {
  return result->type_index >= kTVMFFIStaticObjectBegin;
}

TVM_FFI_DLL_EXPORT int __tvm_ffi_nop(void *self, const TVMFFIAny *args,
                                     int32_t n, TVMFFIAny *result) {
  (void)self, (void)args;
  if (n != 0 || is_owned(result))
    return wrong("TypeError", "nop: expected no argument and no result");
  result->type_index = kTVMFFINone;
  result->zero_padding = 0;
  result->v_int64 = 0;
  return 0;
}

TVM_FFI_DLL_EXPORT int __tvm_ffi_add(void *self, const TVMFFIAny *args,
                                     int32_t n, TVMFFIAny *result) {
  (void)self;
  if (n != 2 || is_owned(result))
    return wrong("TypeError", "add: expected 2 arguments and no result");
  if (!is_int(&args[0])) return wrong("TypeError", "add: a must be an int");
  if (!is_int(&args[1])) return wrong("TypeError", "add: b must be an int");
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = args[0].v_int64 + args[1].v_int64;
  return 0;
}

static int get_double(const TVMFFIAny *any, double *out) {
  if (any->type_index == kTVMFFIFloat)
    *out = any->v_float64;
  else if (is_int(any))
    *out = (double)any->v_int64;
  else
    return wrong("TypeError", "fma3: expected a float");
  return 0;
}

TVM_FFI_DLL_EXPORT int __tvm_ffi_fma3(void *self, const TVMFFIAny *args,
                                      int32_t n, TVMFFIAny *result) {
  double a, b, c;
  (void)self;
  if (n != 3 || is_owned(result))
    return wrong("TypeError", "fma3: expected 3 arguments and no result");
  if (get_double(&args[0], &a) || get_double(&args[1], &b) ||
      get_double(&args[2], &c))
    return -1;
  result->type_index = kTVMFFIFloat;
  result->zero_padding = 0;
  result->v_float64 = a * b + c;
  return 0;
}

TVM_FFI_DLL_EXPORT int __tvm_ffi_sum(void *self, const TVMFFIAny *args,
                                     int32_t n, TVMFFIAny *result) {
  const TVMFFISeqCell *cell;
  const TVMFFIAny *item, *end;
  int64_t sum = 0;
  (void)self;
  if (n != 1 || is_owned(result))
    return wrong("TypeError", "sum: expected 1 argument and no result");
  if (args[0].type_index != kTVMFFIArray || !args[0].v_obj)
    return wrong("TypeError", "sum: expected an array");
  cell = (const TVMFFISeqCell *)(args[0].v_obj + 1);
  item = (const TVMFFIAny *)cell->data;
  for (end = item + cell->size; item != end; ++item)
    if (!is_int(item)) return wrong("TypeError", "sum: expected ints");
  item = (const TVMFFIAny *)cell->data;
  for (end = item + cell->size; item != end; ++item) sum += item->v_int64;
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = sum;
  return 0;
}
