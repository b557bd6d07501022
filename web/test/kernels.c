/* What the tests need from the C side. */
#include "web.h"

TVMFFI_EXPORT(test_dtype, dtype, (tensor, x)) { TVMFFI_RETURN(x->dtype); }
WEB_KERNEL(test_dtype)

TVMFFI_EXPORT(test_raise, none, (str, kind), (str, message)) {
  char text[64];
  size_t i;
  for (i = 0; i < kind.size && i + 1 < sizeof(text); ++i)
    text[i] = kind.data[i];
  text[i] = 0;
  return TVMFFI_RAISE(text, "%.*s", (int)message.size, message.data);
}
WEB_KERNEL(test_raise)

/* Calls f(0), f(1) and so on, and adds what these give. */
TVMFFI_EXPORT(test_sum, int64, (func, f), (int64, count)) {
  int64_t i, sum = 0;
  for (i = 0; i < count; ++i) {
    TVMFFIAny arg = tvmffi_int(i), result = tvmffi_none();
    TVMFFI_TRY(TVMFFIFunctionCall(f, &arg, 1, &result));
    if (result.type_index == kTVMFFIFloat)
      sum += (int64_t)result.v_float64;
    else if (result.type_index == kTVMFFIInt)
      sum += result.v_int64;
    else {
      tvmffi_any_release(&result);
      return TVMFFI_RAISE("TypeError", "call %d gave no number", (int)i);
    }
  }
  TVMFFI_RETURN(sum);
}
WEB_KERNEL(test_sum)

/* Its result is stored by the runtime, after the wait. */
TVMFFI_EXPORT(test_text, str, (func, f), (int64, x)) {
  TVMFFI_TRY(tvmffi_call(f, NULL, x));
  TVMFFI_RETURN(tvmffi_byte_array("said after a wait"));
}
WEB_KERNEL(test_text)

TVMFFI_EXPORT(test_axpy, none, (float64, a), (tensor("float32[n] cpu"), x),
              (tensor("float32[n] cpu inout"), y)) {
  const float *from;
  float *to;
  int64_t i;
  from = TVMFFI_DATA(x, float);
  to = TVMFFI_DATA(y, float);
  for (i = 0; i < x->shape[0]; ++i) to[i] += (float)a * from[i];
  TVMFFI_RETURN();
}
WEB_KERNEL(test_axpy)

/* Returns the number of its calls. */
TVMFFI_EXPORT(test_count, int64) {
  static int64_t calls;
  TVMFFI_RETURN(++calls);
}
WEB_KERNEL(test_count)

/* Calls f with a raw string, and returns the type of the argument after it. */
TVMFFI_EXPORT(test_raw, int64, (func, f)) {
  TVMFFIAny arg = tvmffi_str("longer than a small string");
  TVMFFIAny none = tvmffi_none();
  TVMFFI_TRY(TVMFFIFunctionCall(f, &arg, 1, &none));
  TVMFFI_RETURN(arg.type_index);
}
WEB_KERNEL(test_raw)
