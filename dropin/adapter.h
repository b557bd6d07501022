/* What the C++ adapter needs of the inside of tvmffi.h: functions that C++
   reaches without a virtual call, and the other way round one that makes such
   calls for C. Like those of the ABI, each returns 0, or nonzero with the error
   in the thread's slot. */
#ifndef TVMFFI_DROPIN_ADAPTER_H_
#define TVMFFI_DROPIN_ADAPTER_H_

#ifdef __cplusplus
extern "C" {
#endif

/* Those of ModuleObj's virtual functions that C calls, with the same numbers as
   in tvmffi.h. */
typedef enum {
  TVMFFI_DROPIN_KIND,
  TVMFFI_DROPIN_PROPERTY_MASK,
  TVMFFI_DROPIN_GET_FUNCTION,
  TVMFFI_DROPIN_IMPLEMENTS,
  TVMFFI_DROPIN_DOC,
  TVMFFI_DROPIN_METADATA,
  TVMFFI_DROPIN_WRITE,
  TVMFFI_DROPIN_WRITE_FORMATS,
  TVMFFI_DROPIN_INSPECT,
  TVMFFI_DROPIN_ADD_IMPORT,
  TVMFFI_DROPIN_CLEAR_IMPORTS
} tvmffi_dropin_method;

/* Calls a virtual function of a module, a borrowed handle, in C++. `args` are
   two values of TVMFFIAny: strings, or the module to be imported, borrowed;
   `result`, another one, gets an owned value, and stays as it is when the
   function gives none. What is thrown becomes the thread's error. */
int tvmffi_dropin_call_method(void *module, tvmffi_dropin_method method,
                              const void *args, void *result);

/* Imports `other` into `module`: what ModuleObj's own ImportModule does. Both
   are handles of modules, borrowed. RuntimeError: it would make a cycle. */
int tvmffi_dropin_import(void *module, void *other);

/* Leaves `module`, a borrowed handle, without imports. */
int tvmffi_dropin_clear_imports(void *module);

/* Calls a function, a borrowed handle, with the name and the address of each
   context symbol, until it fails. Symbols may be added meanwhile. */
int tvmffi_dropin_visit_context_symbols(void *callback);

#ifdef __cplusplus
}
#endif

#endif
