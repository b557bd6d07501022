/* Keeps a function of another module, and calls it, or functions by their
   names, when that module is unloaded. Each word that is written to its
   parameter `call` is one call: "held" of the function that was kept, "slow" of
   guest.slow in a thread, and else the name of a function. */

#include <linux/kthread.h>
#include <linux/module.h>

#include "tvmffi.h"

FFI_MODULE

static TVMFFIAny held;

static int holder_keep(void *self, const TVMFFIAny *args, int32_t n,
                       TVMFFIAny *result) {
  if (n != 1 || args[0].type_index != kTVMFFIFunction)
    return TVMFFI_RAISE("TypeError", "holder.keep takes a function");
  tvmffi_any_release(&held);
  held = args[0];
  tvmffi_retain(held.v_obj);
  *result = tvmffi_none();
  return 0;
}

static void holder_tell(const char *what, int code, int64_t result) {
  TVMFFIObject *error = code ? tvmffi_i_error_remove() : NULL;

  if (error)
    pr_info("holder: %s: %s: %s\n", what,
            TVMFFIErrorGetCellPtr(error)->kind.data,
            TVMFFIErrorGetCellPtr(error)->message.data);
  else
    pr_info("holder: %s: %lld\n", what, (long long)result);
  tvmffi_release(error);
  ffi_task_end();
}

static int holder_slow(void *data) {
  int64_t result = 0;
  int code = tvmffi_call("guest.slow", &result, 21);

  holder_tell("slow", code, result);
  return 0;
}

static int holder_set(const char *text, const struct kernel_param *param) {
  char word[32];
  int64_t result = 0;
  int code;

  strscpy(word, text, sizeof(word));
  strim(word);
  if (!strcmp(word, "slow"))
    return PTR_ERR_OR_ZERO(kthread_run(holder_slow, NULL, "holder"));
  code = strcmp(word, "held") ? tvmffi_call(tvmffi_str(word), &result, 21)
                              : tvmffi_call(held, &result, 21);
  holder_tell(word, code, result);
  return 0;
}

static const struct kernel_param_ops holder_ops = {.set = holder_set};
module_param_cb(call, &holder_ops, NULL, 0200);

static int __init holder_init(void) {
  const TVMFFIByteArray name = tvmffi_byte_array("holder.keep");
  TVMFFIObjectHandle keep = NULL;
  int code = TVMFFIFunctionCreate(NULL, holder_keep, NULL, &keep) ||
             TVMFFIFunctionSetGlobal(&name, keep, 0);

  tvmffi_release(keep);
  ffi_task_end();
  return code ? -EINVAL : 0;
}

static void __exit holder_exit(void) {
  tvmffi_any_release(&held);
  ffi_task_end();
}

module_init(holder_init);
module_exit(holder_exit);
MODULE_DESCRIPTION("Keeps a function of another module");
MODULE_LICENSE("Dual MIT/GPL");
