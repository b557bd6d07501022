/* Registers functions and calls them by name, as any module may. This module
   contains the runtime, so it must be loaded first. */

#include <linux/module.h>
#include <linux/utsname.h>

#include "tvmffi.h"

#include "runtime.h"

TVMFFI_FUNC(add, int64, (int64, a), (int64, b)) { TVMFFI_RETURN(a + b); }

TVMFFI_FUNC(divide, int64, (int64, a), (int64, b)) {
  if (!b) return TVMFFI_RAISE("ValueError", "%d is divided by zero", (int)a);
  if (b == -1) TVMFFI_RETURN((int64_t)(0 - (uint64_t)a)); /* no overflow trap */
  TVMFFI_RETURN(a / b);
}

TVMFFI_FUNC(release, str) {
  TVMFFI_RETURN(tvmffi_byte_array(init_utsname()->release));
}

static int provider_use(void) {
  int64_t sum = 0;
  TVMFFIAny release;
  TVMFFI_SCOPE;

  TVMFFI_TRY(TVMFFI_REGISTER("kernel.add", add));
  TVMFFI_TRY(TVMFFI_REGISTER("kernel.divide", divide));
  TVMFFI_TRY(TVMFFI_REGISTER("kernel.release", release));
  TVMFFI_TRY(tvmffi_call("kernel.add", &sum, 40, 2));
  TVMFFI_TRY(tvmffi_call("kernel.release", &release));
  pr_info("provider: 40 + 2 = %lld, on Linux %s\n", (long long)sum,
          tvmffi_any_str(&release).data);
  return 0;
}

static void provider_tell(void) {
  TVMFFIObject *error;
  TVMFFI_SCOPE;

  error = tvmffi_error_take();
  pr_err("provider: %s: %s\n", TVMFFIErrorGetCellPtr(error)->kind.data,
         TVMFFIErrorGetCellPtr(error)->message.data);
}

static int __init provider_init(void) {
  int code = ffi_runtime_begin();

  if (code) return code;
  if (!provider_use()) {
    ffi_task_end();
    return 0;
  }
  provider_tell();
  ffi_runtime_end();
  return -EINVAL;
}

static void __exit provider_exit(void) { ffi_runtime_end(); }

module_init(provider_init);
module_exit(provider_exit);
MODULE_DESCRIPTION("Functions that other modules find by name");
MODULE_LICENSE("Dual MIT/GPL");
