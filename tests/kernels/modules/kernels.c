/* A library for modules.c to load. FAIL is the name of its function that
   raises: libraries that differ in it alone have the same layout. */
#include "tvmffi.h"

#ifndef FAIL
#define FAIL fail_a
#endif

/* Set by the loader. */
TVM_FFI_DLL_EXPORT void *__tvm_ffi__library_ctx = NULL;
TVM_FFI_DLL_EXPORT int64_t (*unit_modules_answer)(void) = NULL;

TVMFFI_EXPORT(add, int64, (int64, a), (int64, b)) { TVMFFI_RETURN(a + b); }

TVMFFI_EXPORT(main, int64) { TVMFFI_RETURN(7); }

TVMFFI_EXPORT(context, ptr) { TVMFFI_RETURN(__tvm_ffi__library_ctx); }

TVMFFI_EXPORT(answer, int64) {
  if (!unit_modules_answer) return TVMFFI_RAISE("RuntimeError", "no answer");
  TVMFFI_RETURN(unit_modules_answer());
}

/* Calls a function of the imports, or a global one. */
TVMFFI_EXPORT(call, int64, (str, name)) {
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny result = tvmffi_none();
  TVMFFI_TRY(
      TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, name.data, &f));
  TVMFFI_TRY(TVMFFIFunctionCall(f, NULL, 0, &result));
  TVMFFI_RETURN(result.v_int64);
}

TVMFFI_EXPORT(text, str) {
  TVMFFI_RETURN(tvmffi_byte_array("a text that the library has made"));
}

/* Raises, called from FAIL: the trace then has FAIL by its symbol. */
static int fail(volatile int *code) {
  return *code = TVMFFI_RAISE("ValueError", "no");
}
static int (*volatile raise_error)(volatile int *code) = fail;
#define EXPORT_FAIL(name)            \
  TVMFFI_EXPORT(name, none) {        \
    volatile int code = 0;           \
    return raise_error(&code), code; \
  }
EXPORT_FAIL(FAIL)

TVM_FFI_DLL_EXPORT int __tvm_ffi__doc_add(void *self, const TVMFFIAny *args,
                                          int32_t num_args, TVMFFIAny *result);
int __tvm_ffi__doc_add(void *self, const TVMFFIAny *args, int32_t num_args,
                       TVMFFIAny *result) {
  TVMFFIByteArray doc = tvmffi_byte_array("Adds two integers.");
  (void)self, (void)args, (void)num_args;
  return TVMFFIStringFromByteArray(&doc, result);
}
