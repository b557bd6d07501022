/* The functions of ops.c as a Python extension module whose calls keep the
   GIL. */
#define TVMFFI_PYTHON_KEEP_GIL 1
#include "tvmffi_python.h"

#include "ops.c"

TVMFFI_PYTHON_MODULE(ops_gil_kept)
