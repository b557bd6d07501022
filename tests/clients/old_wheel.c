/* Functions that old_wheel.py calls in an old and in the current wheel. */
#include "tvmffi.h"

#include <stdio.h>

TVMFFI_EXPORT(add, int64, (int64, a), (int64, b)) { TVMFFI_RETURN(a + b); }

TVMFFI_EXPORT(fails, none) { return TVMFFI_RAISE("KeyError", "no key"); }

/* In an old runtime, an error has no cause. */
TVMFFI_EXPORT(has_cause, bool) {
  TVMFFIObject *error;
  int has;
  (void)TVMFFI_RAISE("KeyError", "first");
  (void)TVMFFI_RAISE_FROM(tvmffi_error_take(), "TypeError", "second");
  error = tvmffi_error_take();
  has = tvmffi_error_is(error, "TypeError") && tvmffi_error_cause(error);
  TVMFFI_RETURN(has);
}

TVMFFI_EXPORT(fails_with_cause, none) {
  (void)TVMFFI_RAISE("KeyError", "first");
  return TVMFFI_RAISE_FROM(tvmffi_error_take(), "TypeError", "second");
}

TVMFFI_EXPORT(fails_with_context, none) {
  TVMFFI_TRY_CONTEXT(TVMFFI_RAISE("KeyError", "no key"), "line %d", 7);
  TVMFFI_RETURN();
}

static int64_t loads;
static int count_load(void) {
  ++loads;
  return 0;
}
TVMFFI_ON_LOAD(count_load)
TVMFFI_EXPORT(count_loads, int64) { TVMFFI_RETURN(loads); }

typedef struct {
  TVMFFIObject base;
  int64_t x;
} Old;
TVMFFI_TYPE(Old, "test.Old", TVMFFIObject, (field, int64, x, 0))
TVMFFI_EXPORT(object, int64) {
  const Old *p = TVMFFI_NEW(Old);
  if (!p) return -1;
  TVMFFI_RETURN(p->x + 3);
}

typedef struct {
  tvmffi_module base;
} OldModule;
TVMFFI_MODULE(OldModule, "test.old", (function, three))
TVMFFI_METHOD(OldModule, three, int64) {
  (void)self;
  TVMFFI_RETURN(3);
}
TVMFFI_EXPORT(module, int64) {
  if (!TVMFFI_NEW(OldModule)) return -1;
  TVMFFI_RETURN(3);
}

/* The late functions. Each of these functions returns 3. */
static int make_handle(void **result) {
  *result = &loads;
  return 0;
}
static int drop_handle(void *handle) { return handle != &loads; }

TVMFFI_EXPORT(init_once, int64) {
  void *handle = NULL;
  TVMFFI_TRY(TVMFFIHandleInitOnce(&handle, make_handle));
  TVMFFI_RETURN(handle == &loads ? 3 : 0);
}

TVMFFI_EXPORT(deinit_once, int64) {
  void *handle = &loads;
  TVMFFI_TRY(TVMFFIHandleDeinitOnce(&handle, drop_handle));
  TVMFFI_RETURN(handle ? 0 : 3);
}

TVMFFI_EXPORT(view, int64) {
  const DLDevice cpu = {kDLCPU, 0};
  int64_t shape[] = {3}, size;
  TVMFFIObject *whole;
  TVMFFIObjectHandle view = NULL;
  TVMFFI_TRY(
      tvmffi_tensor_new(tvmffi_dtype_of(kDLInt, 8), cpu, 1, shape, &whole));
  TVMFFI_TRY(TVMFFITensorCreateUnsafeView(
      whole, TVMFFITensorGetDLTensorPtr(whole), &view));
  size = TVMFFITensorGetDLTensorPtr(view)->shape[0];
  tvmffi_release(view);
  TVMFFI_RETURN(size);
}

TVMFFI_EXPORT(error, int64) {
  TVMFFIByteArray kind = tvmffi_byte_array("KeyError"), none = {"", 0};
  TVMFFIObjectHandle error = NULL;
  TVMFFI_TRY(TVMFFIErrorCreateWithCauseAndExtraContext(&kind, &none, &none,
                                                       NULL, NULL, &error));
  tvmffi_release(error);
  TVMFFI_RETURN(3);
}

TVMFFI_EXPORT(get_allocator, int64) {
  if (!TVMFFIGetCustomAllocator()) return -1;
  TVMFFI_RETURN(3);
}

TVMFFI_EXPORT(set_allocator, int64) {
  TVMFFI_TRY(TVMFFISetCustomAllocator(TVMFFIGetCustomAllocator()));
  TVMFFI_RETURN(3);
}

TVMFFI_EXPORT(from_words, any) {
  int64_t word = 3;
  TVMFFIByteArray bytes = {(const char *)&word, sizeof(word)};
  TVMFFIAny value = tvmffi_none();
  TVMFFI_TRY(TVMFFIBigIntFromByteArray(&bytes, &value));
  TVMFFI_RETURN(value);
}

TVMFFI_EXPORT(words_of, int64) {
  TVMFFIAny value = tvmffi_int(3);
  TVMFFIByteArray bytes = TVMFFIBigIntGetContentByteArray(&value);
  if (!bytes.data) return -1;
  TVMFFI_RETURN(*(const int64_t *)(const void *)bytes.data);
}
