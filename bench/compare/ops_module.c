/* The functions of ops.c as a Python extension module. */
#include "tvmffi_python.h"

#include "ops.c"

TVMFFI_PYTHON_MODULE(ops_module)
