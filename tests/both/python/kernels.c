/* A module for the cases: what Python can load, call and get errors from.
   The runtime is the one of the process that loads the library.
   WITH_IMPORTS=1 adds an embedded binary that imports a module of the kind
   "python_api_kind". */
#include "tvmffi.h"

TVMFFI_EXPORT(add, int64, (int64, a), (int64, b)) { TVMFFI_RETURN(a + b); }

TVMFFI_EXPORT(scale, none, (float64, k), (tensor, x)) {
  double *p = TVMFFI_DATA(x, double);
  int64_t i;
  if (x->ndim != 1 || x->dtype.code != kDLFloat || x->dtype.bits != 64)
    return TVMFFI_RAISE("TypeError", "x: expected a vector of float64");
  for (i = 0; i < x->shape[0]; ++i) p[i] *= k;
  TVMFFI_RETURN();
}

TVMFFI_EXPORT(fail, none, (int64, code)) {
  return TVMFFI_RAISE("IndexError", "failed with %lld", (long long)code);
}

/* Calls back into the host and passes its error on. */
TVMFFI_EXPORT(call, int64, (func, f)) {
  int64_t n = 0;
  TVMFFI_TRY(tvmffi_call((TVMFFIObject *)f, &n, 20));
  TVMFFI_RETURN(n + 1);
}

TVM_FFI_DLL_EXPORT int __tvm_ffi__doc_add(void *self, const TVMFFIAny *args,
                                          int32_t n, TVMFFIAny *result);
TVM_FFI_DLL_EXPORT int __tvm_ffi__doc_add(void *self, const TVMFFIAny *args,
                                          int32_t n, TVMFFIAny *result) {
  static const TVMFFIByteArray text = {"Adds two integers.", 18};
  (void)self, (void)args, (void)n;
  return TVMFFIStringFromByteArray(&text, result);
}

/* What is called when the module itself is. */
TVMFFI_EXPORT(main, int64, (int64, a)) { TVMFFI_RETURN(a * 2); }

/* The loader puts the module's address here. */
TVM_FFI_DLL_EXPORT extern void *__tvm_ffi__library_ctx;
void *__tvm_ffi__library_ctx = 0;

TVMFFI_EXPORT(has_context, int64) {
  TVMFFI_RETURN(__tvm_ffi__library_ctx != 0);
}

/* Looks a function up in what this module imports, then in the globals. */
TVMFFI_EXPORT(through_imports, int64, (str, name), (int64, a)) {
  TVMFFIObjectHandle f = 0;
  int64_t n = 0;
  TVMFFI_TRY(
      TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, name.data, &f));
  if (!f) return TVMFFI_RAISE("ValueError", "no function");
  TVMFFI_TRY(tvmffi_call((TVMFFIObject *)f, &n, a));
  TVMFFI_RETURN(n);
}

#if WITH_IMPORTS
#define U64(n) (char)(n), 0, 0, 0, 0, 0, 0, 0
TVM_FFI_DLL_EXPORT extern const char __tvm_ffi__library_bin[];
/* The size, the import tree (where the children of each module begin, then the
   children), then the modules: this library, and one of its own kind. */
const char __tvm_ffi__library_bin[] = {U64(8 * 11 + 4 + 15 + 5),
                                       U64(3),
                                       U64(0),
                                       U64(1),
                                       U64(1),
                                       U64(1),
                                       U64(1),
                                       U64(4),
                                       '_',
                                       'l',
                                       'i',
                                       'b',
                                       U64(15),
                                       'p',
                                       'y',
                                       't',
                                       'h',
                                       'o',
                                       'n',
                                       '_',
                                       'a',
                                       'p',
                                       'i',
                                       '_',
                                       'k',
                                       'i',
                                       'n',
                                       'd',
                                       U64(5),
                                       'h',
                                       'e',
                                       'l',
                                       'l',
                                       'o'};
#endif
