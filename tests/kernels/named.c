/* What test_named.py loads: functions with parameters' names and defaults. */
#include "../../tvmffi.h"

TVMFFI_EXPORT(softmax, none, (tensor, x), (tensor, y), (int64, axis, -1)) {
  float *to = TVMFFI_DATA(y, float);
  TVMFFI_EXPECT((x, "float32[n] cpu"), (y, "float32[n] cpu"));
  if (x->shape[0]) to[0] = (float)axis; /* what Python looks at */
  TVMFFI_RETURN();
}
TVMFFI_DOC(softmax, "Writes the \"axis\".\nThat is all.")

/* Returns its arguments, so that Python sees each default. */
TVMFFI_EXPORT(kinds, list, (int32, i, 7), (float64, f, 0.1), (bool, b, 1),
              (str, s, "it's \"\\\\\""), (optional(str), none, NULL),
              (dtype, t, "float16"), (device, d, "cuda:1"),
              (optional(int64), o, tvmffi_some_int64(3)),
              (optional(array(int64)), a, NULL), (ptr, p, NULL)) {
  TVMFFIObject *list = NULL;
  TVMFFIAny no = tvmffi_none();
  TVMFFI_TRY(tvmffi_call("ffi.List", &list, i, f, b, s,
                         none.has_value ? TVMFFI_ANY(none.value) : no, t, d,
                         o.has_value ? tvmffi_int(o.value) : no,
                         a ? TVMFFI_ANY(a) : no, p == NULL));
  TVMFFI_RETURN(list);
}

TVMFFI_EXPORT(keyword, int64, (int64, from), (int64, lambda, 1)) {
  TVMFFI_RETURN(from * 10 + lambda);
}

TVMFFI_EXPORT(apply, any, (func, f), (array(tensor_object), to)) {
  TVMFFIAny result;
  TVMFFI_TRY(tvmffi_call(f, &result, to));
  TVMFFI_RETURN(result);
}

static const TVMFFIByteArray bytes_default = {"raw", 3};
TVMFFI_EXPORT(no_json, int64, (int64, n, 2), (bytes, data, &bytes_default)) {
  TVMFFI_RETURN(n * (int64_t)data.size);
}

TVMFFI_EXPORT(infinite, float64, (float64, x, 1e300 * 1e300)) {
  TVMFFI_RETURN(x);
}
TVMFFI_EXPORT(nothing, none) { TVMFFI_RETURN(); }

typedef struct {
  TVMFFIObject base;
  int64_t n;
} Named;
TVMFFI_TYPE(Named, "named.Named", TVMFFIObject, (field, int64, n),
            (method, add), (method, make))
TVMFFI_METHOD(Named, add, int64, (int64, x, 1), (int64, y, 2)) {
  TVMFFI_RETURN(self->n * 100 + x * 10 + y);
}
TVMFFI_STATIC_METHOD(Named, make, object, (int64, n, 5)) {
  TVMFFI_RETURN(TVMFFI_NEW(Named, n));
}

TVMFFI_FUNC(scale, float64, (float64, x), (float64, by, 2.5)) {
  TVMFFI_RETURN(x * by);
}
TVMFFI_EXPORT(set_up, none) {
  TVMFFI_TRY(TVMFFI_OVERRIDE("named.scale", scale));
  TVMFFI_TRY(TVMFFI_REGISTER_TYPE(Named));
  TVMFFI_RETURN();
}
