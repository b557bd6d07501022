// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Registers functions, and gives one with a state to ffi_holder.ko. It never
 * removes their names. With fail=1 its init fails after that. With cache=1 the
 * deleter of the state needs a cache, which this module destroys, so before
 * that it ends its functions.
 */

#include <linux/delay.h>
#include <linux/slab.h>

#include "ffi.h"

static bool fail, cache;
static struct kmem_cache *states;
module_param(fail, bool, 0);
module_param(cache, bool, 0);

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

static int *guest_make(void)
{
	return states ? kmem_cache_alloc(states, GFP_KERNEL) :
			kmalloc(sizeof(int), GFP_KERNEL);
}

static void guest_drop(void *state)
{
	if (states)
		kmem_cache_free(states, state);
	else
		kfree(state);
}

static void guest_free(void *self)
{
	pr_info("guest: the state %d is freed\n", *(int *)self);
	guest_drop(self);
}

static int guest_give(void)
{
	int *state = guest_make();
	TVMFFIObject *add;
	int code;

	if (!state)
		return -ENOMEM;
	*state = 100;
	code = ffi_function_new(THIS_MODULE, 0, guest_add, state, guest_free,
				&add);
	if (code) {
		guest_drop(state);
		return code;
	}
	code = ffi_call("holder.keep", NULL, tvmffi_obj(add));
	tvmffi_release(add);
	return code;
}

static int guest_begin(void)
{
	int code = ffi_register("guest.twice", twice, 0);

	if (!code)
		code = ffi_register("guest.slow", slow, 0);
	if (!code)
		code = guest_give();
	return !code && fail ? -EINVAL : code;
}

static void guest_end(void)
{
	if (!states)
		return; /* the runtime ends the functions */
	ffi_module_end(THIS_MODULE);
	kmem_cache_destroy(states);
}

static int __init guest_init(void)
{
	int code;

	if (cache) {
		states = kmem_cache_create("guest", sizeof(int), 0,
					   SLAB_POISON, NULL);
		if (!states)
			return -ENOMEM;
	}
	code = guest_begin();
	if (code)
		guest_end();
	return code;
}

static void __exit guest_exit(void)
{
	guest_end();
}

module_init(guest_init);
module_exit(guest_exit);
MODULE_DESCRIPTION("Registers functions and leaves");
MODULE_LICENSE("Dual MIT/GPL");
