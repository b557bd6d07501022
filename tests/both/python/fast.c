/* Sends every call of a tvm_ffi.Function through tvmffi_python.h, so that the
   cases of this folder test it. */
#include "tvmffi_python.h"

TVMFFI_PY_CHOOSE

static ternaryfunc stock_call;
static long long fast_calls, stock_calls;
/* The function whose fast call is under way in this thread. A call of the same
   function within is its fallback, or a recursion. */
static __thread PyObject *inside;

static PyObject *call(PyObject *function, PyObject *args, PyObject *keywords) {
  PyObject *const outer = inside;
  tvmffi_py_function f;
  PyObject *result;
  if (function == outer || function == tvmffi_py.package->deliver || keywords) {
    ++stock_calls;
    return stock_call(function, args, keywords);
  }
  memset(&f, 0, sizeof(f));
  f.stock = function;
  inside = function;
  ++fast_calls;
  result = tvmffi_py_call_function((PyObject *)&f, PySequence_Fast_ITEMS(args),
                                   (size_t)PyTuple_GET_SIZE(args), NULL);
  inside = outer;
  return result;
}

static PyObject *install(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  if (tvmffi_py_first_call() || tvmffi_py_import_stock("this test"))
    return NULL;
  stock_call = tvmffi_py.package->function->tp_call;
  tvmffi_py.package->function->tp_call = call;
  PyType_Modified(tvmffi_py.package->function);
  Py_RETURN_NONE;
}

static PyObject *counts(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  return Py_BuildValue("LL", fast_calls, stock_calls);
}

static PyMethodDef methods[] = {{"install", install, METH_NOARGS, NULL},
                                {"counts", counts, METH_NOARGS, NULL},
                                {"fast", tvmffi_py_fast, METH_O, NULL},
                                {NULL, NULL, 0, NULL}};
static PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "fast", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_fast(void);
PyMODINIT_FUNC PyInit_fast(void) {
  return tvmffi_py_make_type() ? NULL : PyModule_Create(&module);
}
