// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Registers functions, and gives one with a state to ffi_holder.ko. It never
 * removes their names. With fail=1 its init fails after that.
 */

#include <linux/delay.h>
#include <linux/slab.h>

#include "ffi.h"

static bool fail;
module_param(fail, bool, 0);

TVMFFI_FUNC(twice, int64, (int64, x))
{
	TVMFFI_RETURN(2 * x);
}

TVMFFI_FUNC(slow, int64, (int64, x))
{
	msleep(3000);
	TVMFFI_RETURN(3 * x);
}

static int guest_add(void *self, const TVMFFIAny *args, int32_t n,
		     TVMFFIAny *result)
{
	*result = tvmffi_int(*(int *)self + (n ? args[0].v_int64 : 0));
	return 0;
}

static void guest_free(void *self)
{
	pr_info("guest: the state %d is freed\n", *(int *)self);
	kfree(self);
}

static int guest_give(void)
{
	int *state = kzalloc(sizeof(*state), GFP_KERNEL);
	TVMFFIObject *add;
	int code;

	if (!state)
		return -ENOMEM;
	*state = 100;
	code = ffi_function_new(THIS_MODULE, 0, guest_add, state, guest_free,
				&add);
	if (code) {
		kfree(state);
		return code;
	}
	code = ffi_call("holder.keep", NULL, tvmffi_obj(add));
	tvmffi_release(add);
	return code;
}

static int __init guest_init(void)
{
	int code = ffi_register("guest.twice", twice, 0);

	if (!code)
		code = ffi_register("guest.slow", slow, 0);
	if (!code)
		code = guest_give();
	return !code && fail ? -EINVAL : code;
}

static void __exit guest_exit(void)
{
}

module_init(guest_init);
module_exit(guest_exit);
MODULE_DESCRIPTION("Registers functions and leaves");
MODULE_LICENSE("Dual MIT/GPL");
