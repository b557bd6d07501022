/* A library that uses the process's runtime where there is one, and its own
   where there is none: see test_dynamic.py. */
#define TVMFFI_IMPLEMENTATION
#define TVMFFI_DYNAMIC 1
#include "tvmffi.h"

TVMFFI_FUNC(twice, int64, (int64, x)) { TVMFFI_RETURN(2 * x); }

/* Puts a global function into the table of the runtime in use. */
TVMFFI_EXPORT(put, none) {
  TVMFFI_TRY(TVMFFI_REGISTER("test_dynamic.twice", twice));
  TVMFFI_RETURN();
}

TVMFFI_EXPORT(is_embedded, bool) {
  TVMFFI_RETURN(tvmffi_i_runtime() == &tvmffi_i_embedded);
}

TVMFFI_EXPORT(text, str, (str, x)) {
  char both[100];
  size_t i;
  for (i = 0; i < x.size && i < sizeof(both) / 2; ++i)
    both[2 * i] = both[2 * i + 1] = x.data[i];
  x.data = both;
  x.size = 2 * i;
  TVMFFI_RETURN(x);
}

TVMFFI_EXPORT(apply, int64, (func, f), (int64, x)) {
  int64_t y = 0;
  TVMFFI_TRY(tvmffi_call(f, &y, x));
  TVMFFI_RETURN(y);
}

TVMFFI_EXPORT(fail, none) {
  return TVMFFI_RAISE("ValueError", "of the library");
}

/* For a process without Python's package: 1 with the embedded runtime, 0 with
   another, less than 0 when something went wrong. */
TVM_FFI_DLL_EXPORT int test_dynamic_use(void);
TVM_FFI_DLL_EXPORT int test_dynamic_use(void) {
  int64_t y = 0;
  if (tvmffi_i_runtime() != &tvmffi_i_embedded) return 0;
  if (TVMFFI_OVERRIDE("test_dynamic.twice", twice)) return -1;
  if (tvmffi_call("test_dynamic.twice", &y, 21) || y != 42) return -2;
  if (tvmffi_call("test_dynamic.none", &y, 21) == 0) return -3;
  return tvmffi_error_catch("ValueError") ? 1 : -4;
}
