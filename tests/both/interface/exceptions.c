/* Exceptions of C++ that leave functions which the runtime calls. In C, the
   functions fail instead. */
#include "tvmffi.h"

#include <stdio.h>

static int should_fail;

static int fail(void) {
#if defined(__cplusplus)
  throw 7;
#else
  return TVMFFI_RAISE("ValueError", "no");
#endif
}

static int init(void **handle) {
  static int it;
  if (should_fail) return fail();
  *handle = &it;
  return 0;
}

static int deinit(void *handle) {
  (void)handle;
  return should_fail ? fail() : 0;
}

/* Evaluates a call, and prints how it ends. */
#if defined(__cplusplus)
#define SHOW(name, call)           \
  try {                            \
    printf("%s: %d\n", name, call); \
  } catch (int) {                  \
    printf("%s: -1\n", name);      \
  }
#else
#define SHOW(name, call) printf("%s: %d\n", name, call)
#endif

int main(void) {
  void *handle = NULL;
  should_fail = 1;
  SHOW("an init that fails", TVMFFIHandleInitOnce(&handle, init));
  should_fail = 0;
  SHOW("an init", TVMFFIHandleInitOnce(&handle, init));
  SHOW("the same again", TVMFFIHandleInitOnce(&handle, init));
  should_fail = 1;
  SHOW("a deinit that fails", TVMFFIHandleDeinitOnce(&handle, deinit));
  should_fail = 0;
  SHOW("an init after it", TVMFFIHandleInitOnce(&handle, init));
  SHOW("a deinit", TVMFFIHandleDeinitOnce(&handle, deinit));
  return 0;
}
