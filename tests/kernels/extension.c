/* An extension module that test_extension.py imports. The same functions are
   called by tvm_ffi.load_module, too. */
#include "tvmffi_python.h"

#include <semaphore.h>
#include <time.h>

TVMFFI_EXPORT(nop, none) { TVMFFI_RETURN(); }

TVMFFI_DOC(add, "Adds two integers.\n\nThe second is 1 by default.")
TVMFFI_EXPORT(add, int64, (int64, a), (int64, b, 1)) { TVMFFI_RETURN(a + b); }

TVMFFI_EXPORT(join, str, (str, a), (str, b, "two"), (float64, c, 0.5),
              (bool, d, 1), (optional(bytes), e, NULL)) {
  char text[80];
  snprintf(text, sizeof(text), "%.20s %.20s %.3g %d %d", a.data, b.data, c, d,
           (int)e.value.size);
  TVMFFI_RETURN(tvmffi_byte_array(text));
}

/* The parameters' names are keywords of Python. */
TVMFFI_EXPORT(words, int64, (int64, from), (int64, in)) {
  TVMFFI_RETURN(from * 10 + in);
}

TVMFFI_EXPORT(pad, str, (str, text), (int64, width), (str, fill, " ")) {
  char padded[80];
  int64_t n = (int64_t)text.size;
  if (n > 79 || width > 79 || fill.size != 1)
    return TVMFFI_RAISE("ValueError", "pad: of up to 79 bytes");
  memcpy(padded, text.data, text.size);
  for (; n < width; ++n) padded[n] = *fill.data;
  padded[n] = 0;
  TVMFFI_RETURN(tvmffi_byte_array(padded));
}
TVMFFI_PYTHON_KW_ONLY(pad, width)

TVMFFI_EXPORT(echo, any, (any, x)) { TVMFFI_RETURN(x); }

TVMFFI_EXPORT(fail, none, (str, kind)) {
  return TVMFFI_RAISE(kind.data, "a text with %d", 7);
}

/* Fails with an error whose frames are the text. */
TVMFFI_EXPORT(fail_in, none, (str, backtrace)) {
  const TVMFFIByteArray kind = tvmffi_byte_array("ValueError");
  TVMFFIObjectHandle error;
  TVMFFI_TRY(TVMFFIErrorCreate(&kind, &kind, &backtrace, &error));
  TVMFFIErrorSetRaised(error);
  tvmffi_release((TVMFFIObject *)error);
  return -1;
}

TVMFFI_EXPORT(call, any, (func, f), (any, x)) {
  TVMFFIAny result;
  TVMFFI_TRY(tvmffi_call(f, &result, x));
  TVMFFI_RETURN(result);
}

/* Callers of a callback: one converts its result, one handles the error, one
   replaces it, and one changes its text. */
TVMFFI_EXPORT(double_of, float64, (func, f), (optional(func), g, NULL)) {
  double x;
  TVMFFI_TRY(tvmffi_call(g ? g : f, &x));
  TVMFFI_RETURN(2 * x);
}

TVMFFI_EXPORT(has_failed, bool, (func, f)) {
  const int code = tvmffi_call(f, NULL);
  if (code) tvmffi_error_clear();
  TVMFFI_RETURN(code != 0);
}

TVMFFI_EXPORT(replace, none, (func, f)) {
  if (!tvmffi_call(f, NULL)) TVMFFI_RETURN();
  return TVMFFI_RAISE_FROM(tvmffi_error_take(), "ValueError", "another");
}

TVMFFI_EXPORT(in_context, none, (func, f)) {
  TVMFFI_TRY_CONTEXT(tvmffi_call(f, NULL), "in C");
  TVMFFI_RETURN();
}

/* Returns the sum of the items. */
/* Leaves a Python exception. */
TVMFFI_EXPORT(leave, none, (str, text)) {
  const PyGILState_STATE state = PyGILState_Ensure();
  PyErr_SetString(PyExc_LookupError, text.data);
  PyGILState_Release(state);
  return -2;
}

TVMFFI_EXPORT(size_of, int64, (dtype, of)) { TVMFFI_RETURN(of.bits / 8); }

TVMFFI_EXPORT(type_of, dtype, (tensor, x)) { TVMFFI_RETURN(x->dtype); }

TVMFFI_EXPORT(total, int64, (array(int64), x)) {
  int64_t i, item, sum = 0;
  for (i = 0; i < tvmffi_size(x); ++i) {
    TVMFFI_TRY(tvmffi_get(x, i, &item));
    sum += item;
  }
  TVMFFI_RETURN(sum);
}

/* Returns the number of the items, which are integers of 8 bits, and of the
   values, which are floats. */
TVMFFI_EXPORT(count, int64, (array(int8), x),
              (optional(map(str, list(float64))), y, NULL)) {
  TVMFFI_RETURN(tvmffi_size(x) + (y ? tvmffi_size(y) : 0));
}

/* Returns the type index of what f returns. */
TVMFFI_EXPORT(kind_of, int64, (func, f)) {
  TVMFFIAny result;
  TVMFFI_TRY(tvmffi_call(f, &result));
  TVMFFI_RETURN((int64_t)result.type_index);
}

/* Returns what f returns, as in a call with an array. */
TVMFFI_EXPORT(ask, any, (func, f), (tensor, array)) {
  TVMFFIAny result;
  (void)array;
  TVMFFI_TRY(tvmffi_call(f, &result));
  TVMFFI_RETURN(result);
}

TVMFFI_EXPORT(eleven, int64, (int64, a), (int64, b), (int64, c), (int64, d),
              (int64, e), (int64, f), (int64, g), (int64, h), (int64, i),
              (str, j), (int64, k, 11)) {
  TVMFFI_RETURN(a + b + c + d + e + f + g + h + i + (int64_t)j.size + k);
}

/* Returns the element type, the shape and the strides of a view. */
TVMFFI_EXPORT(view, str, (tensor, x)) {
  char text[400];
  int i,
      n = snprintf(text, sizeof(text), "%d %d:", x->dtype.code, x->dtype.bits);
  for (i = 0; i < x->ndim; ++i)
    n += snprintf(text + n, sizeof(text) - (size_t)n, " %d/%d",
                  (int)x->shape[i], (int)x->strides[i]);
  TVMFFI_RETURN(tvmffi_byte_array(text));
}

TVMFFI_EXPORT(view_object, str, (tensor_object, x)) {
  char text[400];
  const DLTensor *t = TVMFFITensorGetDLTensorPtr(x);
  int i,
      n = snprintf(text, sizeof(text), "%d %d:", t->dtype.code, t->dtype.bits);
  for (i = 0; i < t->ndim; ++i)
    n += snprintf(text + n, sizeof(text) - (size_t)n, " %d/%d",
                  (int)t->shape[i], (int)t->strides[i]);
  TVMFFI_RETURN(tvmffi_byte_array(text));
}

TVMFFI_EXPORT(fill, none, (tensor, x), (float64, value)) {
  int64_t i, n = 1;
  TVMFFI_EXPECT((x, "float64[...] cpu"));
  for (i = 0; i < x->ndim; ++i) n *= x->shape[i];
  for (i = 0; i < n; ++i) TVMFFI_DATA(x, double)[i] = value;
  TVMFFI_RETURN();
}

/* Returns the sum of the elements, which it only reads. */
TVMFFI_EXPORT(read, float64, (tensor("float64[n] cpu"), x),
              (optional(tensor("float64[n] cpu")), bias, NULL)) {
  double sum = 0;
  int64_t i;
  for (i = 0; i < x->shape[0]; ++i)
    sum +=
        TVMFFI_DATA(x, double)[i] + (bias ? TVMFFI_DATA(bias, double)[i] : 0);
  TVMFFI_RETURN(sum);
}

TVMFFI_EXPORT(zero, none, (tensor("float64[n] cpu inout"), x)) {
  memset(TVMFFI_DATA(x, double), 0, (size_t)x->shape[0] * sizeof(double));
  TVMFFI_RETURN();
}

/* Returns a copy of the elements from `begin` on, as elements of type `to`. */
TVMFFI_EXPORT(tail, tensor_object, (tensor("float64[n] cpu"), x),
              (int64, begin, 0), (dtype, to, "float64")) {
  const int64_t n = x->shape[0] - begin;
  TVMFFIObject *y;
  int64_t i;
  TVMFFI_TRY(tvmffi_tensor_new(to, "cpu", 1, &n, &y));
  if (to.code != kDLFloat || to.bits != 64) TVMFFI_RETURN(y);
  for (i = 0; i < n; ++i)
    TVMFFI_DATA(TVMFFITensorGetDLTensorPtr(y), double)
    [i] = TVMFFI_DATA(x, double)[begin + i];
  TVMFFI_RETURN(y);
}

/* 0 to n - 1: results without an array among the arguments. */
static int new_range(int64_t n, TVMFFI_HERE, TVMFFIObject **numbers) {
  int64_t i;
  TVMFFI_TRY(tvmffi_tensor_new("float64", "cpu", 1, &n, numbers));
  for (i = 0; i < n; ++i)
    TVMFFI_DATA(TVMFFITensorGetDLTensorPtr(*numbers), double)[i] = (double)i;
  return 0;
}

TVMFFI_EXPORT(arange, tensor("float64[n] cpu"), (int64, n)) {
  TVMFFIObject *numbers;
  TVMFFI_TRY(new_range(n, tvmffi_here, &numbers));
  TVMFFI_RETURN(numbers);
}

TVMFFI_EXPORT(ramp, array, (int64, n)) {
  TVMFFIObject *numbers;
  TVMFFI_TRY(new_range(n, tvmffi_here, &numbers));
  TVMFFI_RETURN(tvmffi_array(numbers, n));
}

/* A result that only the package has a class for. */
TVMFFI_EXPORT(named, func) {
  TVMFFIObject *f;
  TVMFFI_TRY(tvmffi_global_get("ffi.String", &f));
  TVMFFI_RETURN(f);
}

/* Puts its argument into a container of each kind. */
TVMFFI_EXPORT(wrapped, array, (tensor_object, x)) {
  TVMFFI_RETURN(tvmffi_array(x, tvmffi_list(x, "text", tvmffi_list()),
                             tvmffi_map("a", x), tvmffi_dict("b", 2.5)));
}

TVMFFI_EXPORT(scaled, tensor("float32[n]"),
              (tensor("float32|float16[n] cpu align(4)"), x),
              (float64, by, 1.0 / 0.0)) {
  TVMFFIObject *y;
  (void)by;
  TVMFFI_TRY(tvmffi_tensor_new("float32", "cpu", x->ndim, x->shape, &y));
  TVMFFI_RETURN(y);
}

/* The memory of NumPy's arrays is not the result's. */
TVMFFI_EXPORT(on_device, array(tensor_object), (tensor("any cuda:1"), x)) {
  (void)x;
  TVMFFI_RETURN(tvmffi_array());
}

/* Returns the argument in `depth` arrays. */
TVMFFI_EXPORT(nested, object, (tensor_object, x), (int64, depth)) {
  while (depth-- > 0) x = tvmffi_array(x);
  TVMFFI_RETURN(x);
}

TVMFFI_EXPORT(types, none, (int8, a, 0), (optional(array(int64)), b, NULL),
              (optional(map(str, array(float64))), c, NULL), (device, d, "cpu"),
              (optional(func), f, NULL), (ptr, p, NULL), (any, x, 0)) {
  (void)a, (void)b, (void)c, (void)d, (void)f, (void)p, (void)x;
  TVMFFI_RETURN();
}

/* The references of keep(). */
static TVMFFIAny strong;
static TVMFFIObjectHandle weak;

/* Keeps a weak reference to an object and, unless told otherwise, a strong one.
   Drops those that the last call kept. */
TVMFFI_EXPORT(keep, none, (any, x), (bool, strongly, 1)) {
  TVMFFIAny old = strong, none = TVMFFI_I_ZERO;
  strong = none;
  if (strongly) TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(&x, &strong));
  if (weak) tvmffi_weak_release(weak);
  weak = x.type_index >= kTVMFFIStaticObjectBegin ? x.v_obj : NULL;
  if (weak) tvmffi_weak_retain(weak);
  tvmffi_any_release(&old);
  TVMFFI_RETURN();
}

TVMFFI_EXPORT(kept, any) { TVMFFI_RETURN(strong); }

/* Whether the object of keep() is alive. */
TVMFFI_EXPORT(is_alive, bool) {
  const int is_alive = weak && tvmffi_weak_lock(weak);
  if (is_alive) tvmffi_release(weak);
  TVMFFI_RETURN(is_alive);
}

/* An exchange API that describes arrays without a managed tensor, as PyTorch's
   does. It uses one that lacks this function. */
static DLPackExchangeAPI described;

static int describe(void *array, DLTensor *out) {
  DLManagedTensorVersioned *managed;
  if (described.managed_tensor_from_py_object_no_sync(array, &managed))
    return -1;
  *out = managed->dl_tensor; /* the array has the shape and the strides */
  managed->deleter(managed);
  return 0;
}

/* Returns the address of an exchange API with `describe`. */
TVMFFI_EXPORT(describing, int64, (int64, address)) {
  described = *(const DLPackExchangeAPI *)(uintptr_t)address;
  described.dltensor_from_py_object_no_sync = describe;
  TVMFFI_RETURN((int64_t)(uintptr_t)&described);
}

static sem_t posted;

TVMFFI_EXPORT(post, none) {
  sem_post(&posted);
  TVMFFI_RETURN();
}

/* Waits for post() in another thread, which needs the GIL. Returns false after
   some seconds. */
TVMFFI_EXPORT(wait, bool, (int64, seconds)) {
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += (time_t)seconds;
  TVMFFI_RETURN(!sem_timedwait(&posted, &end));
}

TVMFFI_PYTHON_MODULE(extension, "Functions of each kind.\n\nFor tests.")
