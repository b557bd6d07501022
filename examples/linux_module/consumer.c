/* Calls another module's functions by name, without a header of that module. */

#include <linux/module.h>

#include "tvmffi.h"

FFI_MODULE

TVMFFI_FUNC(twice, int64, (int64, x)) { TVMFFI_RETURN(2 * x); }

static void consumer_tell(const char *what) {
  TVMFFIObject *error;
  TVMFFI_SCOPE;

  error = tvmffi_error_take();
  pr_info("consumer: %s: %s: %s\n", what,
          TVMFFIErrorGetCellPtr(error)->kind.data,
          TVMFFIErrorGetCellPtr(error)->message.data);
}

static int consumer_run(void) {
  int64_t result = 0;
  int i, code = 0;

  if (tvmffi_call("kernel.add", &result, 2, 3)) {
    consumer_tell("kernel.add");
    return -ENOENT;
  }
  pr_info("consumer: kernel.add(2, 3) = %lld\n", (long long)result);
  if (tvmffi_call("kernel.divide", &result, 1, 0))
    consumer_tell("kernel.divide(1, 0)");
  if (tvmffi_call("kernel.add", &result, 2, "three"))
    consumer_tell("kernel.add(2, \"three\")");
  if (tvmffi_call("kernel.missing", &result, 1))
    consumer_tell("kernel.missing(1)");
  for (i = 0, result = 0; i < 100000 && !code; ++i)
    code = tvmffi_call("kernel.add", &result, result, i);
  pr_info("consumer: 100000 calls give %lld\n", (long long)result);
  if (code || TVMFFI_REGISTER("consumer.twice", twice) ||
      tvmffi_call("consumer.twice", &result, 21)) {
    consumer_tell("consumer.twice");
    return -EINVAL;
  }
  pr_info("consumer: consumer.twice(21) = %lld\n", (long long)result);
  return 0;
}

static int __init consumer_init(void) {
  int code = consumer_run();

  ffi_task_end(); /* also after an error, which the task's entry holds */
  return code;
}

static void __exit consumer_exit(void) {}

module_init(consumer_init);
module_exit(consumer_exit);
MODULE_DESCRIPTION("Calls what another module has registered");
MODULE_LICENSE("Dual MIT/GPL");
