/* Registers functions, and gives one with a state to ffi_holder.ko. It never
   removes their names. With fail=1 its init fails after that. */

#include <linux/delay.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "tvmffi.h"

FFI_MODULE

static bool fail;
module_param(fail, bool, 0);

TVMFFI_FUNC(twice, int64, (int64, x)) { TVMFFI_RETURN(2 * x); }

TVMFFI_FUNC(slow, int64, (int64, x)) {
  msleep(3000);
  TVMFFI_RETURN(3 * x);
}

static int guest_add(void *self, const TVMFFIAny *args, int32_t n,
                     TVMFFIAny *result) {
  *result = tvmffi_int(*(int *)self + (n ? args[0].v_int64 : 0));
  return 0;
}

static void guest_free(void *self) {
  pr_info("guest: the state %d is freed\n", *(int *)self);
  kfree(self);
}

static int guest_give(void) {
  int *state = kzalloc(sizeof(*state), GFP_KERNEL | __GFP_NOFAIL);
  TVMFFIObjectHandle add = NULL;
  int code;

  *state = 100;
  if (TVMFFIFunctionCreate(state, guest_add, guest_free, &add)) {
    kfree(state);
    return -1;
  }
  code = tvmffi_call("holder.keep", NULL, tvmffi_obj(add));
  tvmffi_release(add);
  return code;
}

static int __init guest_init(void) {
  int code = TVMFFI_REGISTER("guest.twice", twice) ||
             TVMFFI_REGISTER("guest.slow", slow) || guest_give();

  ffi_task_end();
  return code || fail ? -EINVAL : 0;
}

static void __exit guest_exit(void) {}

module_init(guest_init);
module_exit(guest_exit);
MODULE_DESCRIPTION("Registers functions and leaves");
MODULE_LICENSE("Dual MIT/GPL");
