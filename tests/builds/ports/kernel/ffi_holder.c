// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Keeps a function of another module, and calls it, or functions by their
 * names, when that module is unloaded. Each word that is written to its
 * parameter `call` is one action: "held" calls the function that was kept,
 * "slow" calls guest.slow in a thread, "pin" and "unpin" look up guest.twice
 * and put it back. Three are wrong, and the kernel reports them: "twice" puts a
 * function back twice, "locked" calls kernel.add in a context that is wrong, and
 * "order" ends functions with a lock that one of them takes. Another word is the
 * name of a function to call.
 */

#include <linux/kthread.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>

#include "ffi.h"

static TVMFFIAny held;
static TVMFFIObject *pinned;

static int holder_keep(void *self, const TVMFFIAny *args, int32_t n,
		       TVMFFIAny *result)
{
	if (n != 1 || args[0].type_index != kTVMFFIFunction)
		return TVMFFI_RAISE("TypeError",
				    "holder.keep takes a function");
	tvmffi_any_release(&held);
	held = args[0];
	tvmffi_retain(held.v_obj);
	*result = tvmffi_none();
	return 0;
}

static void holder_tell(const char *what, int code, s64 result)
{
	if (code)
		pr_info("holder: %s: error %d\n", what, code);
	else
		pr_info("holder: %s: %lld\n", what, (long long)result);
}

static int holder_slow(void *data)
{
	s64 result = 0;
	int code = ffi_call("guest.slow", &result, 21);

	holder_tell("slow", code, result);
	module_put_and_kthread_exit(0);
}

/* Calls a function as one does that may sleep, where that is wrong. */
static int holder_locked(s64 *result)
{
	static DEFINE_SPINLOCK(lock);
	TVMFFIObject *add;
	int code = ffi_get("kernel.add", &add);

	if (code)
		return code;
	spin_lock(&lock);
	code = tvmffi_call(add, result, 40, 2);
	spin_unlock(&lock);
	ffi_put(add);
	return code;
}

static int holder_twice(void)
{
	TVMFFIObject *add;
	int code = ffi_get("kernel.add", &add);

	if (code)
		return code;
	ffi_put(add);
	ffi_put(add);
	return 0;
}

static DEFINE_MUTEX(order);

TVMFFI_FUNC(take, none)
{
	mutex_lock(&order);
	mutex_unlock(&order);
	TVMFFI_RETURN();
}

static int holder_order(void)
{
	int code = ffi_register("holder.take", take, 0);

	if (!code)
		code = ffi_call("holder.take", NULL);
	mutex_lock(&order);
	ffi_module_end(THIS_MODULE);
	mutex_unlock(&order);
	return code;
}

static int holder_act(const char *word, s64 *result)
{
	if (!strcmp(word, "held"))
		return tvmffi_call(held, result, 21) ? ffi_error(NULL, 0) : 0;
	if (!strcmp(word, "pin"))
		return ffi_get("guest.twice", &pinned);
	if (!strcmp(word, "twice"))
		return holder_twice();
	if (!strcmp(word, "locked"))
		return holder_locked(result);
	if (!strcmp(word, "order"))
		return holder_order();
	if (!strcmp(word, "unpin")) {
		ffi_put(pinned);
		return 0;
	}
	return ffi_call(word, result, 21);
}

static int holder_set(const char *text, const struct kernel_param *param)
{
	struct task_struct *task;
	char word[32];
	s64 result = 0;
	int code;

	strscpy(word, text, sizeof(word));
	strim(word);
	if (!strcmp(word, "slow")) {
		__module_get(THIS_MODULE); /* until the end of the thread */
		task = kthread_run(holder_slow, NULL, "holder");
		if (IS_ERR(task))
			module_put(THIS_MODULE);
		return PTR_ERR_OR_ZERO(task);
	}
	code = holder_act(word, &result);
	holder_tell(word, code, result);
	return 0;
}

static const struct kernel_param_ops holder_ops = { .set = holder_set };
module_param_cb(call, &holder_ops, NULL, 0200);

static int __init holder_init(void)
{
	TVMFFIObject *keep;
	int code;

	code = ffi_function_new(THIS_MODULE, 0, holder_keep, NULL, NULL, &keep);
	if (code)
		return code;
	code = ffi_function_register("holder.keep", keep, 0);
	tvmffi_release(keep);
	return code;
}

static void __exit holder_exit(void)
{
	tvmffi_any_release(&held);
}

module_init(holder_init);
module_exit(holder_exit);
MODULE_DESCRIPTION("Keeps a function of another module");
MODULE_LICENSE("Dual MIT/GPL");
