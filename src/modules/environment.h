/* ======== Environment ================================= >>modules/environment
   tensor allocators, signals, locks */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"

static DLPackManagedTensorAllocator tvmffi_i_global_allocator;
TVMFFI_I_BLOCK_STATE(DLPackManagedTensorAllocator, tvmffi_i_thread_allocator);

int TVMFFIEnvSetDLPackManagedTensorAllocator(
    DLPackManagedTensorAllocator allocator, int write_to_global_context,
    DLPackManagedTensorAllocator *opt_out_original_allocator) {
  DLPackManagedTensorAllocator *own;
  TVMFFI_ASSERT(TVMFFI_I_IS_FREE);
  if (!tvmffi_i_need_block()) return tvmffi_i_no_memory();
  own = tvmffi_i_thread_allocator();
  if (opt_out_original_allocator) *opt_out_original_allocator = *own;
  if (write_to_global_context)
    TVMFFI_I_STORE(&tvmffi_i_global_allocator, allocator);
  *own = allocator;
  return 0;
}

TVMFFI_I_INLINE DLPackManagedTensorAllocator tvmffi_i_tensor_allocator(void) {
  DLPackManagedTensorAllocator own = *tvmffi_i_thread_allocator();
  return own ? own : TVMFFI_I_LOAD(&tvmffi_i_global_allocator);
}

DLPackManagedTensorAllocator TVMFFIEnvGetDLPackManagedTensorAllocator(void) {
  return tvmffi_i_tensor_allocator();
}

#if defined(__cplusplus)
extern "C" {
#endif
static void tvmffi_i_allocator_failed(void *context, const char *kind,
                                      const char *message) {
  (void)context;
  TVMFFI_ASSERT(TVMFFI_I_IS_FREE);
  TVMFFIErrorSetRaisedFromCStr(kind, message);
}
#if defined(__cplusplus)
}
#endif

int TVMFFIEnvTensorAlloc(DLTensor *prototype, TVMFFIObjectHandle *out) {
  DLPackManagedTensorAllocator allocate = tvmffi_i_tensor_allocator();
  DLManagedTensorVersioned *managed = NULL;
  int code;
  TVMFFI_I_NOT_NULL(prototype);
  TVMFFI_I_NOT_NULL(out);
  if (!allocate)
    return tvmffi_i_runtime_error(
        "TVMFFIEnvTensorAlloc: allocator is nullptr, likely because "
        "TVMFFIEnvSetDLPackManagedTensorAllocator has not been called.");
  TVMFFI_TRY(tvmffi_i_check_shape(__func__, prototype));
  TVMFFI_ASSERT(TVMFFI_I_IS_FREE);
  code = allocate(prototype, &managed, NULL, tvmffi_i_allocator_failed);
  if (code) {
    (void)tvmffi_i_need_error(code, "The tensor allocator");
    return code; /* as upstream's extra/env_context.cc does */
  }
  if (!managed)
    return tvmffi_i_runtime_error(
        "TVMFFIEnvTensorAlloc: failed to allocate a tensor from the allocator");
  code = tvmffi_i_check_versioned(managed);
  if (!code) code = tvmffi_i_check_shape(__func__, &managed->dl_tensor);
  if (!code)
    code = tvmffi_i_import(&managed->dl_tensor, managed,
                           tvmffi_i_delete_imported_versioned, out);
  TVMFFI_ASSERT(code || ((tvmffi_i_tensor *)*out)->keeper == managed);
  if (code && managed->deleter) managed->deleter(managed);
  return code;
}

/* Functions of the Python C API; the Python package registers them once. */
static int (*tvmffi_i_check_signals)(void);
static int (*tvmffi_i_gil_ensure)(void);
static void (*tvmffi_i_gil_release)(int);

int TVMFFIEnvRegisterCAPI(const char *name, void *symbol) {
  TVMFFI_I_NOT_NULL(name);
  if (strcmp(name, "PyErr_CheckSignals") == 0)
    TVMFFI_I_STORE(&tvmffi_i_check_signals, (int (*)(void))(uintptr_t)symbol);
  else if (strcmp(name, "PyGILState_Ensure") == 0)
    TVMFFI_I_STORE(&tvmffi_i_gil_ensure, (int (*)(void))(uintptr_t)symbol);
  else if (strcmp(name, "PyGILState_Release") == 0)
    TVMFFI_I_STORE(&tvmffi_i_gil_release, (void (*)(int))(uintptr_t)symbol);
  else
    return tvmffi_i_value_error("Unknown env API %.200s", name);
  return 0;
}

/* Returns -1 if Python has an error set, as upstream's code does. Upstream's
   documentation says -2. */
int TVMFFIEnvCheckSignals(void) {
  int (*call)(void) = TVMFFI_I_LOAD(&tvmffi_i_check_signals);
  int (*ensure)(void) = TVMFFI_I_LOAD(&tvmffi_i_gil_ensure);
  void (*release)(int) = TVMFFI_I_LOAD(&tvmffi_i_gil_release);
  int state, code;
  if (!call) return 0;
  if (!ensure || !release)
    return tvmffi_i_internal_error(
        "PyErr_CheckSignals is registered without PyGILState_Ensure and "
        "PyGILState_Release");
  TVMFFI_ASSERT(TVMFFI_I_IS_FREE); /* Python may run other threads */
  state = ensure();
  code = call();
  release(state);
  return code ? -1 : 0;
}
