// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Registers functions and calls them by name, as any module may. This module
 * contains the runtime, so it must be loaded first.
 */

#include <linux/math64.h>
#include <linux/utsname.h>

#include "ffi.h"

TVMFFI_FUNC(add, int64, (int64, a), (int64, b))
{
	TVMFFI_RETURN((s64)((u64)a + (u64)b));
}

TVMFFI_FUNC(divide, int64, (int64, a), (int64, b))
{
	if (!b)
		return TVMFFI_RAISE("ValueError", "%d is divided by zero",
				    (int)a);
	if (b == -1) /* the smallest number has no quotient, which would trap */
		TVMFFI_RETURN((s64)(0 - (u64)a));
	TVMFFI_RETURN(div64_s64(a, b));
}

TVMFFI_FUNC(release, str)
{
	TVMFFI_RETURN(tvmffi_byte_array(init_utsname()->release));
}

static int provider_use(void)
{
	s64 sum = 0;
	char text[64];
	tvmffi_buffer buffer = { text, sizeof(text), 0 };
	int code;

	code = ffi_register("kernel.add", add, FFI_ATOMIC);
	if (!code)
		code = ffi_register("kernel.divide", divide, FFI_ATOMIC);
	if (!code)
		code = ffi_register("kernel.release", release, 0);
	if (!code)
		code = ffi_call("kernel.add", &sum, 40, 2);
	if (!code)
		code = ffi_call("kernel.release", tvmffi_out_buffer(&buffer));
	if (!code)
		pr_info("provider: 40 + 2 = %lld, on Linux %s\n",
			(long long)sum, text);
	return code;
}

static int __init provider_init(void)
{
	int code = ffi_runtime_begin();

	if (code)
		return code;
	code = provider_use();
	if (code)
		ffi_runtime_end();
	return code;
}

static void __exit provider_exit(void)
{
	ffi_runtime_end();
}

module_init(provider_init);
module_exit(provider_exit);
MODULE_DESCRIPTION("Functions that other modules find by name");
MODULE_LICENSE("Dual MIT/GPL");
