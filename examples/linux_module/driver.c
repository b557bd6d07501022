// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * A driver whose devices each have a function, ffi_counter.0.add and
 * ffi_counter.1.add. Its state is the device's, and ends with the driver's use
 * of the device.
 */

#include <linux/platform_device.h>

#include "ffi.h"

struct counter {
	atomic64_t value;
};

TVMFFI_CLOSURE(add, struct counter, int64, (int64, n))
{
	TVMFFI_RETURN(atomic64_add_return(n, &self->value));
}

/* After this the function's body does not run, so what it uses may go. */
static void counter_end(void *add)
{
	ffi_function_end(add);
	tvmffi_release(add);
}

static int counter_probe(struct platform_device *pdev)
{
	struct counter *counter;
	TVMFFIObject *add;
	char name[32];
	int code;

	counter = devm_kzalloc(&pdev->dev, sizeof(*counter), GFP_KERNEL);
	if (!counter)
		return -ENOMEM;
	code = ffi_closure_new(add, FFI_ATOMIC, counter, NULL, &add);
	if (code)
		return code;
	code = devm_add_action_or_reset(&pdev->dev, counter_end, add);
	if (code)
		return code;
	snprintf(name, sizeof(name), "%s.add", dev_name(&pdev->dev));
	return ffi_function_register(name, add, 0);
}

static struct platform_driver counter_driver = {
	.probe = counter_probe,
	.driver = { .name = "ffi_counter" },
};

static struct platform_device *counters[2];

static void counter_remove_devices(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(counters); ++i)
		platform_device_unregister(counters[i]);
}

static int __init counter_init(void)
{
	int i, code = platform_driver_register(&counter_driver);

	if (code)
		return code;
	for (i = 0; i < ARRAY_SIZE(counters); ++i) {
		struct platform_device *device;

		device = platform_device_register_simple("ffi_counter", i,
							 NULL, 0);
		if (IS_ERR(device)) {
			counter_remove_devices();
			platform_driver_unregister(&counter_driver);
			return PTR_ERR(device);
		}
		counters[i] = device;
	}
	return 0;
}

static void __exit counter_exit(void)
{
	counter_remove_devices();
	platform_driver_unregister(&counter_driver);
}

module_init(counter_init);
module_exit(counter_exit);
MODULE_DESCRIPTION("Devices that each have a function");
MODULE_LICENSE("Dual MIT/GPL");
