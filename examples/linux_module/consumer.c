// SPDX-License-Identifier: Apache-2.0 OR MIT
/* Calls another module's functions by name, without a header of that module. */

#include "ffi.h"

TVMFFI_FUNC(twice, int64, (int64, x))
{
	TVMFFI_RETURN(2 * x);
}

static void consumer_tell(const char *what)
{
	char text[200];
	int error = ffi_error(text, sizeof(text));

	pr_info("consumer: %s: %d, %s\n", what, error, text);
}

static int consumer_run(void)
{
	s64 result = 0;
	int i, code;

	code = ffi_call("kernel.add", &result, 2, 3);
	if (code)
		return code;
	pr_info("consumer: kernel.add(2, 3) = %lld\n", (long long)result);
	if (tvmffi_call("kernel.divide", &result, 1, 0))
		consumer_tell("kernel.divide(1, 0)");
	if (tvmffi_call("kernel.add", &result, 2, "three"))
		consumer_tell("kernel.add(2, \"three\")");
	pr_info("consumer: kernel.missing: %d\n",
		ffi_call("kernel.missing", &result, 1));
	for (i = 0, result = 0; i < 100000 && !code; ++i)
		code = ffi_call("kernel.add", &result, result, i);
	pr_info("consumer: 100000 calls give %lld\n", (long long)result);
	if (!code)
		code = ffi_register("consumer.twice", twice, 0);
	if (!code)
		code = ffi_call("consumer.twice", &result, 21);
	if (!code)
		pr_info("consumer: consumer.twice(21) = %lld\n",
			(long long)result);
	return code;
}

static int __init consumer_init(void)
{
	return consumer_run();
}

static void __exit consumer_exit(void)
{
}

module_init(consumer_init);
module_exit(consumer_exit);
MODULE_DESCRIPTION("Calls what another module has registered");
MODULE_LICENSE("Dual MIT/GPL");
