/* The interface between the C++ adapter and the internals of tvmffi.h: C
   functions that C++ calls, and a C++ function that makes virtual calls for C.
   Each returns 0, or nonzero with the error in the thread's slot. */
#ifndef TVMFFI_DROPIN_ADAPTER_H_
#define TVMFFI_DROPIN_ADAPTER_H_

#ifdef __cplusplus
extern "C" {
#endif

/* The virtual functions of ModuleObj that C calls, with the numbers that they
   have in tvmffi.h. */
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

/* Calls a virtual function of a module, a borrowed handle, in C++. `args` is an
   array of two borrowed TVMFFIAny: strings, or the module to import. Stores an
   owned TVMFFIAny in `result`, or leaves it unchanged if the function returns
   void. An exception becomes the thread's error. */
int tvmffi_dropin_call_method(void *module, tvmffi_dropin_method method,
                              const void *args, void *result);

/* Imports `other` into `module`, as ModuleObj's own ImportModule does. Both are
   borrowed handles of modules. Raises a RuntimeError if the import would make a
   cycle. */
int tvmffi_dropin_import(void *module, void *other);

/* Removes all imports of `module`, a borrowed handle. */
int tvmffi_dropin_clear_imports(void *module);

/* Calls a function, a borrowed handle, with the name and the address of each
   context symbol, until a call fails. Another thread may add symbols during the
   loop. */
int tvmffi_dropin_visit_context_symbols(void *callback);

#ifdef __cplusplus
}
#endif

#endif
