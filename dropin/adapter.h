/* What the C++ adapter needs of the inside of tvmffi.h: functions that C++
   reaches without a virtual call. Like those of the ABI, each returns 0, or
   nonzero with the error in the thread's slot. */
#ifndef TVMFFI_DROPIN_ADAPTER_H_
#define TVMFFI_DROPIN_ADAPTER_H_

#ifdef __cplusplus
extern "C" {
#endif

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
