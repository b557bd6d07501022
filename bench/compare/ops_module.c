/* The functions of ops.c as a Python extension module. */
#include "tvmffi_python.h"

#include "ops.c"

#ifndef NAME
#define NAME ops_module
#endif
TVMFFI_PYTHON_MODULE(NAME)
