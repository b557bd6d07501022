/* What test_kernels.py loads: the example kernels, and beside them a function
   for every type and every way in which a call can go wrong. The schema_id_X
   are named as those of the wheel's testing library, with which their results
   and error texts are compared. */
#include "../../examples/kernel/kernels.c"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#define ID(name, type) \
  TVMFFI_EXPORT(name, type, (type, x)) { TVMFFI_RETURN(x); }
ID(schema_id_int, int64)
ID(schema_id_float, float64)
ID(schema_id_bool, bool)
ID(schema_id_string, str)
ID(schema_id_bytes, bytes)
ID(schema_id_dtype, dtype)
ID(schema_id_device, device)
ID(id_int8, int8)
ID(id_int16, int16)
ID(id_int32, int32)
ID(id_uint8, uint8)
ID(id_uint16, uint16)
ID(id_uint32, uint32)
ID(id_uint64, uint64)
ID(id_float32, float32)
ID(id_ptr, ptr)
ID(schema_id_any, any)
ID(schema_id_object, object)
ID(schema_id_func, func)

TVMFFI_EXPORT(schema_tensor_view_input, none, (tensor, x)) {
  (void)x;
  TVMFFI_RETURN();
}

TVMFFI_EXPORT(schema_no_args, int64) { TVMFFI_RETURN(1); }

TVMFFI_EXPORT(schema_no_return, none, (int64, x)) {
  (void)x;
  TVMFFI_RETURN();
}

TVMFFI_EXPORT(schema_no_args_no_return, none) { TVMFFI_RETURN(); }

TVMFFI_EXPORT(sixteen, int64, (int64, a), (int64, b), (int64, c), (int64, d),
              (int64, e), (int64, f), (int64, g), (int64, h), (int64, i),
              (int64, j), (int64, k), (int64, l), (int64, m), (int64, n),
              (int64, o), (int64, p)) {
  TVMFFI_RETURN(a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h +
                9 * i + 10 * j + 11 * k + 12 * l + 13 * m + 14 * n + 15 * o +
                16 * p);
}

/* A description of a tensor as a kernel sees it. */
TVMFFI_EXPORT(describe, any, (tensor, x)) {
  TVMFFIAny dtype;
  char buffer[256];
  int at;
  int32_t i;
  TVMFFI_TRY(tvmffi_dtype_to_str(x->dtype, &dtype));
  at = snprintf(buffer, sizeof(buffer), "%s", tvmffi_any_str(&dtype).data);
  for (i = 0; i < x->ndim && at < 200; ++i)
    at += snprintf(buffer + at, sizeof(buffer) - (size_t)at, " %lld/%lld",
                   (long long)x->shape[i],
                   (long long)(x->strides ? x->strides[i] : -1));
  TVMFFI_RETURN(tvmffi_str(buffer));
}

TVMFFI_EXPORT(new_tensor, tensor, (str, dtype), (str, device), (shape, of)) {
  const TVMFFIShapeCell *cell = TVMFFIShapeGetCellPtr(of);
  TVMFFIObject *y = NULL;
  TVMFFI_TRY(tvmffi_tensor_new(dtype.data, device.data, (int32_t)cell->size,
                               cell->data, &y));
  TVMFFI_RETURN(y);
}

TVMFFI_EXPORT(raise, none, (str, kind), (str, message)) {
  return TVMFFI_RAISE(kind.data, "%s", message.data);
}

static int raise_at(int64_t depth, const char *message) {
  if (depth > 0) {
    TVMFFI_TRY(raise_at(depth - 1, message));
    return 0;
  }
  return TVMFFI_RAISE("ValueError", "%s", message);
}

TVMFFI_EXPORT(raise_deep, none, (int64, depth)) {
  TVMFFI_TRY(raise_at(depth, "deep"));
  TVMFFI_RETURN();
}

/* Raises by the bare C function. */
TVMFFI_EXPORT(raise_plain, none, (str, kind), (str, message)) {
  TVMFFIErrorSetRaisedFromCStr(kind.data, message.data);
  return -1;
}

TVMFFI_EXPORT(apply, any, (func, f), (any, x)) {
  TVMFFIAny result = tvmffi_none();
  TVMFFI_TRY(tvmffi_call(f, &result, x));
  TVMFFI_RETURN(result);
}

TVMFFI_EXPORT(call_global, any, (str, name), (any, x)) {
  TVMFFIAny result = tvmffi_none();
  TVMFFI_TRY(tvmffi_call(name.data, &result, x));
  TVMFFI_RETURN(result);
}

/* Handles a ValueError of the callback, and passes on all others. */
TVMFFI_EXPORT(call_or, int64, (func, f), (int64, otherwise)) {
  int64_t result = 0;
  TVMFFIObject *error;
  int code = tvmffi_call(f, &result);
  if (!code) TVMFFI_RETURN(result);
  error = tvmffi_error_take();
  if (error && tvmffi_error_is(error, "ValueError")) TVMFFI_RETURN(otherwise);
  (void)tvmffi_error_raise(error);
  return code;
}

/* Waits for a signal whose handler raises; at most 60 seconds. */
TVMFFI_EXPORT(wait_for_signal, none) {
  int i;
  for (i = 0; i < 6000; ++i) {
    TVMFFI_TRY(tvmffi_check_signals());
    (void)poll(NULL, 0, 10);
  }
  TVMFFI_RETURN();
}

/* The two leaks that prove that the search for leaks finds some. */
static void *volatile leaked;

TVMFFI_EXPORT(leak_reference, none, (object, x)) {
  tvmffi_retain(x);
  TVMFFI_RETURN();
}

TVMFFI_EXPORT(leak_memory, none, (int64, size)) {
  leaked = calloc(1, (size_t)size);
  TVMFFI_RETURN();
}
