/* The module tvmffi._fast: calls of tvm_ffi.Function objects. */
#include "tvmffi_python.h"

TVMFFI_PY_CHOOSE

PyDoc_STRVAR(fast_doc,
             "fast(function)\n--\n\n"
             "Returns a callable that calls a tvm_ffi.Function faster.");

static PyMethodDef methods[] = {{"fast", tvmffi_py_fast, METH_O, fast_doc},
                                {NULL, NULL, 0, NULL}};
static int exec(PyObject *module) {
  (void)module;
  return tvmffi_py_make_type();
}
static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)(uintptr_t)exec},
                                   TVMFFI_PY_SLOTS{0, NULL}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT,
                             "tvmffi._fast",
                             NULL,
                             0,
                             methods,
                             slots,
                             NULL,
                             NULL,
                             NULL};
PyMODINIT_FUNC PyInit__fast(void);
PyMODINIT_FUNC PyInit__fast(void) { return PyModuleDef_Init(&module); }
