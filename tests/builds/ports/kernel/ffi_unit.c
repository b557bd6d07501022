// SPDX-License-Identifier: Apache-2.0 OR MIT
/* KUnit's cases of what README.md promises. ffi_provider.ko is loaded. */

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/irq_work.h>
#include <linux/interrupt.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "ffi.h"
#include "unit.h"

static int deleted, seen_refcount;

/* What use_all calls in each context, and the results. */
static struct atomic_use {
	TVMFFIObject *add, *divide, *sleeper, *nested, *ignores, *keeps, *bare;
	TVMFFIObject *by_name;
	int codes[9];
	s64 sum;
} use;

TVMFFI_FUNC(raise_kind, none, (str, kind))
{
	return TVMFFI_RAISE(kind.data, "of that kind");
}

TVMFFI_FUNC(raise_number, none, (int64, error))
{
	return ffi_raise((int)error, "number %d", (int)error);
}

TVMFFI_FUNC(refcount, none)
{
	seen_refcount = module_refcount(THIS_MODULE);
	TVMFFI_RETURN();
}

TVMFFI_FUNC(may_sleep, int64, (int64, x))
{
	TVMFFI_RETURN(x);
}

/* Calls a function that may sleep. */
TVMFFI_FUNC(calls_sleeper, int64, (int64, x))
{
	s64 result = 0;

	TVMFFI_TRY(tvmffi_call(use.sleeper, &result, x));
	TVMFFI_RETURN(result);
}

/* Calls a function that does not sleep, by its name. */
TVMFFI_FUNC(calls_by_name, int64, (int64, x))
{
	s64 result = 0;

	TVMFFI_TRY(tvmffi_call("kernel.add", &result, x, x));
	TVMFFI_RETURN(result);
}

/* Ignores the error of another function. */
TVMFFI_FUNC(ignores, none)
{
	if (tvmffi_call(use.divide, NULL, 1, 0))
		TVMFFI_RETURN();
	return -EBADMSG;
}

/* Calls an atomic function while an error is pending, which it returns. */
TVMFFI_FUNC(keeps, none)
{
	int code = tvmffi_call(use.divide, NULL, 1, 0);
	s64 sum;

	return ffi_call_atomic(use.add, &sum, 40, 2) ?: code;
}

/* Returns an error number and raises no error. */
TVMFFI_FUNC(bare_number, int64, (int64, error))
{
	return (int)error;
}

/* Adds context to the error. */
TVMFFI_FUNC(adds_context, none, (int64, error))
{
	TVMFFI_TRY_CONTEXT(tvmffi_call("unit.number", NULL, error),
			   "in unit.context");
	TVMFFI_RETURN();
}

static int bare_packed(void *self, const TVMFFIAny *args, int32_t n,
		       TVMFFIAny *result)
{
	return -ENOENT;
}

static int number_of(const char *name, const char *kind)
{
	return ffi_call(name, NULL, kind);
}

static void unit_errors(struct kunit *test)
{
	static const struct {
		const char *kind;
		int error;
	} kinds[] = {
		{ "MemoryError", -ENOMEM },    { "ValueError", -EINVAL },
		{ "TypeError", -EINVAL },      { "OverflowError", -EOVERFLOW },
		{ "IndexError", -ERANGE },     { "KeyError", -ENOENT },
		{ "LookupError", -ENOENT },    { "AttributeError", -ENOENT },
		{ "FileNotFoundError", -ENOENT },
		{ "FileExistsError", -EEXIST },
		{ "PermissionError", -EACCES },
		{ "TimeoutError", -ETIMEDOUT },
		{ "InterruptedError", -EINTR }, { "BlockingIOError", -EAGAIN },
		{ "NotImplementedError", -EOPNOTSUPP },
		{ "ZeroDivisionError", -EDOM },
		{ "RuntimeError", -EIO },      { "OSError", -EIO },
		{ "Unheard", -EIO },
	};
	TVMFFIObject *f;
	char text[64];
	int i;

	KUNIT_EXPECT_EQ(test, ffi_register("unit.kind", raise_kind, 0), 0);
	KUNIT_EXPECT_EQ(test, ffi_register("unit.number", raise_number, 0), 0);
	for (i = 0; i < ARRAY_SIZE(kinds); ++i)
		KUNIT_EXPECT_EQ(test, number_of("unit.kind", kinds[i].kind),
				kinds[i].error);
	for (i = 1; i <= MAX_ERRNO; ++i)
		KUNIT_EXPECT_EQ(test, ffi_call("unit.number", NULL, -i), -i);
	KUNIT_EXPECT_EQ(test, ffi_register("unit.bare", bare_number, 0), 0);
	for (i = 1; i <= MAX_ERRNO; ++i)
		KUNIT_EXPECT_EQ(test, ffi_call("unit.bare", NULL, -i), -i);
	KUNIT_EXPECT_EQ(test, ffi_call("unit.bare", NULL, 5), -EINVAL);
	ffi_raise(-EXDEV, "an error that this task ignores");
	KUNIT_EXPECT_EQ(test, ffi_call("unit.bare", NULL, -ENOSPC), -ENOSPC);
	KUNIT_ASSERT_EQ(test, ffi_function_new(THIS_MODULE, 0, bare_packed,
					       NULL, NULL, &f), 0);
	KUNIT_EXPECT_EQ(test, tvmffi_call(f, NULL), -1);
	KUNIT_EXPECT_EQ(test, ffi_error(NULL, 0), -ENOENT);
	ffi_raise(-EXDEV, "an error that this task ignores");
	KUNIT_EXPECT_EQ(test, tvmffi_call(f, NULL), -1);
	KUNIT_EXPECT_EQ(test, ffi_error(NULL, 0), -ENOENT);
	tvmffi_release(f);
	KUNIT_EXPECT_EQ(test, ffi_register("unit.context", adds_context, 0), 0);
	KUNIT_EXPECT_EQ(test, ffi_call("unit.context", NULL, -EBUSY), -EBUSY);
	KUNIT_EXPECT_EQ(test, ffi_call("unit.number", NULL, 5), -EINVAL);
	KUNIT_EXPECT_EQ(test, ffi_call("unit.number", NULL, "x"), -EINVAL);
	KUNIT_EXPECT_EQ(test, ffi_call("unit.none", NULL), -ENOENT);
	KUNIT_EXPECT_EQ(test, ffi_error(text, sizeof(text)), -EIO);
	KUNIT_EXPECT_EQ(test, text[0], 0);
	KUNIT_EXPECT_EQ(test, tvmffi_call("unit.number", NULL, -EXDEV), -1);
	KUNIT_EXPECT_EQ(test, ffi_error(text, sizeof(text)), -EXDEV);
	KUNIT_EXPECT_EQ(test,
			strcmp(text, "OSError: [Errno 18] number -18"), 0);
	ffi_raise(-ENODEV, "a message that is longer than the buffer");
	KUNIT_EXPECT_EQ(test, ffi_error(text, 8), -ENODEV);
	KUNIT_EXPECT_EQ(test, strcmp(text, "OSError"), 0);
}

static int unit_packed(void *self, const TVMFFIAny *args, int32_t n,
		       TVMFFIAny *result)
{
	return 0;
}

static int register_packed(const char *name, void (*deleter)(void *self))
{
	TVMFFIObject *f;
	int code = ffi_function_new(THIS_MODULE, 0, unit_packed, NULL, deleter,
				    &f);

	if (code)
		return code;
	code = ffi_function_register(name, f, 0);
	tvmffi_release(f);
	return code;
}

static void unit_delete_inner(void *self)
{
	deleted += !ffi_unregister("unit.inner");
}

/* A deleter may remove the names of other functions. */
static void unit_deleters(struct kunit *test)
{
	deleted = 0;
	KUNIT_EXPECT_EQ(test,
			register_packed("unit.outer", unit_delete_inner), 0);
	KUNIT_EXPECT_EQ(test, register_packed("unit.inner", NULL), 0);
	KUNIT_EXPECT_EQ(test, ffi_unregister("unit.outer"), 0);
	KUNIT_EXPECT_EQ(test, deleted, 1);
	KUNIT_EXPECT_EQ(test,
			register_packed("unit.outer", unit_delete_inner), 0);
	KUNIT_EXPECT_EQ(test, register_packed("unit.inner", NULL), 0);
	KUNIT_EXPECT_EQ(test,
			ffi_register("unit.outer", may_sleep, FFI_REPLACE), 0);
	KUNIT_EXPECT_EQ(test, deleted, 2);
}

static void unit_names(struct kunit *test)
{
	TVMFFIObject *f;

	KUNIT_EXPECT_EQ(test, ffi_register("kernel.add", may_sleep, 0),
			-EEXIST);
	KUNIT_EXPECT_EQ(test, ffi_register("unit.name", may_sleep, 0), 0);
	KUNIT_EXPECT_EQ(test, ffi_register("unit.name", may_sleep, 0), -EEXIST);
	KUNIT_EXPECT_EQ(test,
			ffi_register("unit.name", refcount, FFI_REPLACE), 0);
	KUNIT_ASSERT_EQ(test, ffi_get("unit.name", &f), 0);
	KUNIT_EXPECT_EQ(test, ffi_function_register("unit.other", f, 0),
			-EBUSY);
	KUNIT_EXPECT_EQ(test, ffi_unregister("unit.name"), 0);
	KUNIT_EXPECT_EQ(test, ffi_unregister("unit.name"), -ENOENT);
	/* No name that a module may remove or replace removes the others. */
	KUNIT_EXPECT_EQ(test, ffi_unregister("ffi.FunctionRemoveGlobal"),
			-ENOENT);
	KUNIT_EXPECT_EQ(test, ffi_function_register("unit.other", f, 0), 0);
	ffi_put(f);
	KUNIT_EXPECT_EQ(test, ffi_get("unit.name", &f), -ENOENT);
	KUNIT_EXPECT_EQ(test, ffi_function_register("unit.none", NULL, 0),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, ffi_register("", may_sleep, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, ffi_register("unit.none", may_sleep, 4), -EINVAL);
	KUNIT_EXPECT_EQ(test,
			ffi_function_new(THIS_MODULE, 0, NULL, NULL, NULL, &f),
			-EINVAL);
}

static void unit_delete(void *self)
{
	++deleted;
}

static void unit_pins(struct kunit *test)
{
	int count = module_refcount(THIS_MODULE);
	TVMFFIObject *f;

	KUNIT_EXPECT_EQ(test, ffi_register("unit.refcount", refcount, 0), 0);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), count);
	KUNIT_ASSERT_EQ(test, ffi_get("unit.refcount", &f), 0);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), count + 1);
	KUNIT_EXPECT_EQ(test, tvmffi_call(f, NULL), 0);
	KUNIT_EXPECT_EQ(test, seen_refcount, count + 2);
	ffi_put(f);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), count);

	deleted = 0;
	KUNIT_ASSERT_EQ(test,
			ffi_function_new(THIS_MODULE, 0, unit_packed, &deleted,
					 unit_delete, &f),
			0);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), count);
	tvmffi_release(f);
	KUNIT_EXPECT_EQ(test, deleted, 1);
}

TVMFFI_CLOSURE(count_up, int, int64, (int64, step))
{
	TVMFFI_RETURN(*self += step);
}

/* A module may end its functions itself. After that it may make others. */
static void unit_end(struct kunit *test)
{
	int state = 40, count = module_refcount(THIS_MODULE);
	TVMFFIObject *f, *pinned;
	s64 sum = 0;

	deleted = 0;
	KUNIT_ASSERT_EQ(test,
			ffi_closure_new(count_up, 0, &state, unit_delete, &f),
			0);
	KUNIT_EXPECT_EQ(test, ffi_function_register("unit.count", f, 0), 0);
	KUNIT_EXPECT_EQ(test, ffi_call("unit.count", &sum, 2), 0);
	KUNIT_EXPECT_EQ(test, sum, 42);
	KUNIT_ASSERT_EQ(test, ffi_get("unit.count", &pinned), 0);
	ffi_module_end(THIS_MODULE);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), count);
	ffi_put(pinned);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), count);
	KUNIT_EXPECT_EQ(test, deleted, 1);
	KUNIT_EXPECT_EQ(test, ffi_call("unit.count", &sum, 2), -ENOENT);
	KUNIT_EXPECT_EQ(test, tvmffi_call(f, &sum, 2), -1);
	KUNIT_EXPECT_EQ(test, ffi_error(NULL, 0), -ENODEV);
	KUNIT_EXPECT_EQ(test, ffi_function_register("unit.count", f, 0),
			-ENODEV);
	tvmffi_release(f);
	KUNIT_EXPECT_EQ(test, deleted, 1);
}

static DECLARE_COMPLETION(napping);
static DECLARE_COMPLETION(napped);
static bool slept;

/* Its state is a flag that it sets at its end. */
TVMFFI_CLOSURE(nap_long, bool, none)
{
	complete(&napping);
	msleep(500);
	WRITE_ONCE(*self, true);
	TVMFFI_RETURN();
}

static int call_nap_long(void *data)
{
	int code = ffi_call("unit.nap_long", NULL);

	kthread_complete_and_exit(&napped, code);
}

/*
 * One function ends alone: its call has returned, its deleter has run, its name
 * and its pins are gone. A second end does nothing.
 */
static void unit_function_end(struct kunit *test)
{
	int count = module_refcount(THIS_MODULE);
	TVMFFIObject *f, *pinned;
	struct task_struct *task;

	deleted = 0;
	KUNIT_EXPECT_EQ(test, ffi_register("unit.stays", refcount, 0), 0);
	KUNIT_ASSERT_EQ(test,
			ffi_closure_new(nap_long, 0, &slept, unit_delete, &f),
			0);
	KUNIT_EXPECT_EQ(test, ffi_function_register("unit.nap_long", f, 0), 0);
	KUNIT_ASSERT_EQ(test, ffi_get("unit.nap_long", &pinned), 0);
	task = kthread_run(call_nap_long, NULL, "unit/nap_long");
	KUNIT_ASSERT_EQ(test, PTR_ERR_OR_ZERO(task), 0);
	wait_for_completion(&napping);
	ffi_function_end(f);
	KUNIT_EXPECT_EQ(test, READ_ONCE(slept), 1);
	KUNIT_EXPECT_EQ(test, deleted, 1);
	wait_for_completion(&napped);
	KUNIT_EXPECT_EQ(test, ffi_call("unit.nap_long", NULL), -ENOENT);
	KUNIT_EXPECT_EQ(test, tvmffi_call(pinned, NULL), -1);
	KUNIT_EXPECT_EQ(test, ffi_error(NULL, 0), -ENODEV);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), count);
	ffi_put(pinned);
	ffi_function_end(f);
	KUNIT_EXPECT_EQ(test, ffi_function_register("unit.nap_long", f, 0),
			-ENODEV);
	tvmffi_release(f);
	KUNIT_EXPECT_EQ(test, deleted, 1);
	KUNIT_EXPECT_EQ(test, ffi_call("unit.stays", NULL), 0);
	KUNIT_EXPECT_EQ(test, ffi_unregister("unit.stays"), 0);
}

static DECLARE_COMPLETION(making);
static DECLARE_COMPLETION(made);
static int born_state;
static TVMFFIObject *born;

/* Makes a function when ffi_module_end already waits for this call. */
TVMFFI_FUNC(make, none)
{
	int code;

	complete(&making);
	msleep(500);
	code = ffi_closure_new(count_up, 0, &born_state, unit_delete, &born);
	if (code)
		return ffi_raise(code, "no function was made");
	TVMFFI_RETURN();
}

static int call_make(void *data)
{
	int code = ffi_call("unit.make", NULL);

	kthread_complete_and_exit(&made, code);
}

/* A function that is made while its module ends is ended, too. */
static void unit_born(struct kunit *test)
{
	struct task_struct *task;
	s64 sum = 0;

	deleted = 0;
	KUNIT_ASSERT_EQ(test, ffi_register("unit.make", make, 0), 0);
	task = kthread_run(call_make, NULL, "unit/make");
	KUNIT_ASSERT_EQ(test, PTR_ERR_OR_ZERO(task), 0);
	wait_for_completion(&making);
	ffi_module_end(THIS_MODULE);
	wait_for_completion(&made);
	KUNIT_ASSERT_EQ(test, !born, 0);
	KUNIT_EXPECT_EQ(test, deleted, 1);
	KUNIT_EXPECT_EQ(test, tvmffi_call(born, &sum, 2), -1);
	KUNIT_EXPECT_EQ(test, ffi_error(NULL, 0), -ENODEV);
	tvmffi_release(born);
	KUNIT_EXPECT_EQ(test, deleted, 1);
}

TVMFFI_FUNC(nap, none)
{
	msleep(20);
	TVMFFI_RETURN();
}

/* Calls a function for some seconds, if it does not end before. */
static int nap_often(void *function)
{
	int i = 0;

	while (!kthread_should_stop()) {
		if (i++ < 200 && !tvmffi_call((TVMFFIObject *)function, NULL))
			continue;
		ffi_error(NULL, 0);
		msleep(20);
	}
	return 0;
}

/* The end of a function comes, also if there is always a running call of it. */
static void unit_busy_end(struct kunit *test)
{
	struct task_struct *tasks[4];
	TVMFFIObject *f;
	ktime_t start;
	int i, n;

	KUNIT_ASSERT_EQ(test, ffi_register("unit.nap", nap, 0), 0);
	KUNIT_ASSERT_EQ(test, ffi_get("unit.nap", &f), 0);
	for (n = 0; n < ARRAY_SIZE(tasks); ++n) {
		tasks[n] = kthread_run(nap_often, f, "unit/nap/%d", n);
		if (IS_ERR(tasks[n]))
			break;
		usleep_range(4000, 6000);
	}
	KUNIT_EXPECT_EQ(test, n, ARRAY_SIZE(tasks));
	start = ktime_get();
	ffi_module_end(THIS_MODULE);
	KUNIT_EXPECT_EQ(test, ktime_ms_delta(ktime_get(), start) < 2000, 1);
	for (i = 0; i < n; ++i)
		kthread_stop(tasks[i]);
	ffi_put(f);
	KUNIT_EXPECT_EQ(test, ffi_register("unit.number", raise_number, 0), 0);
}

static void use_all(void)
{
	TVMFFIObject *ffi_function = use.add; /* no name of the macro */
	s64 result;

	use.codes[0] = ffi_call_atomic(ffi_function, &use.sum, 40, 2);
	use.codes[1] = ffi_call_atomic(use.divide, &result, 1, 0);
	use.codes[2] = ffi_call_atomic(use.add, &result, 1, "two");
	use.codes[3] = ffi_call_atomic(use.sleeper, &result, 1);
	use.codes[4] = ffi_call_atomic(use.nested, &result, 1);
	use.codes[5] = ffi_call_atomic(use.ignores, NULL);
	use.codes[6] = ffi_call_atomic(use.bare, &result, -1);
	use.codes[7] = ffi_call_atomic(use.keeps, NULL);
	use.codes[8] = ffi_call_atomic(use.by_name, &result, 1);
}

static void expect_use(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, use.codes[0], 0);
	KUNIT_EXPECT_EQ(test, use.sum, 42);
	KUNIT_EXPECT_EQ(test, use.codes[1], -EINVAL);
	KUNIT_EXPECT_EQ(test, use.codes[2], -EINVAL);
	KUNIT_EXPECT_EQ(test, use.codes[3], -EPERM);
	KUNIT_EXPECT_EQ(test, use.codes[4], -EPERM);
	KUNIT_EXPECT_EQ(test, use.codes[5], 0);
	KUNIT_EXPECT_EQ(test, use.codes[6], -EPERM); /* no error is left of 5 */
	KUNIT_EXPECT_EQ(test, use.codes[7], -EINVAL);
	KUNIT_EXPECT_EQ(test, use.codes[8], -EPERM);
	memset(use.codes, 1, sizeof(use.codes));
	use.sum = 0;
}

static void use_in_irq(struct irq_work *work)
{
	WARN_ON(!in_hardirq());
	use_all();
}

static void use_in_softirq(struct tasklet_struct *tasklet)
{
	WARN_ON(!in_serving_softirq());
	use_all();
}

static void unit_atomic(struct kunit *test)
{
	static DEFINE_RAW_SPINLOCK(lock);
	DECLARE_TASKLET(tasklet, use_in_softirq);
	struct irq_work work = IRQ_WORK_INIT_HARD(use_in_irq);
	unsigned long flags;
	int i, count = ffi_task_count();

	KUNIT_EXPECT_EQ(test, ffi_register("unit.may_sleep", may_sleep, 0), 0);
	KUNIT_EXPECT_EQ(test,
			ffi_register("unit.nested", calls_sleeper, FFI_ATOMIC),
			0);
	KUNIT_EXPECT_EQ(test,
			ffi_register("unit.ignores", ignores, FFI_ATOMIC), 0);
	KUNIT_EXPECT_EQ(test, ffi_register("unit.keeps", keeps, FFI_ATOMIC), 0);
	KUNIT_EXPECT_EQ(test,
			ffi_register("unit.bare", bare_number, FFI_ATOMIC), 0);
	KUNIT_EXPECT_EQ(test,
			ffi_register("unit.by_name", calls_by_name, FFI_ATOMIC),
			0);
	KUNIT_EXPECT_EQ(test, ffi_call("unit.by_name", NULL, 1), 0);
	KUNIT_ASSERT_EQ(test, ffi_get("kernel.add", &use.add), 0);
	KUNIT_ASSERT_EQ(test, ffi_get("kernel.divide", &use.divide), 0);
	KUNIT_ASSERT_EQ(test, ffi_get("unit.may_sleep", &use.sleeper), 0);
	KUNIT_ASSERT_EQ(test, ffi_get("unit.nested", &use.nested), 0);
	KUNIT_ASSERT_EQ(test, ffi_get("unit.ignores", &use.ignores), 0);
	KUNIT_ASSERT_EQ(test, ffi_get("unit.keeps", &use.keeps), 0);
	KUNIT_ASSERT_EQ(test, ffi_get("unit.bare", &use.bare), 0);
	KUNIT_ASSERT_EQ(test, ffi_get("unit.by_name", &use.by_name), 0);

	/* An error that is pending meanwhile stays. */
	ffi_raise(-EXDEV, "pending");
	raw_spin_lock_irqsave(&lock, flags);
	use_all();
	raw_spin_unlock_irqrestore(&lock, flags);
	expect_use(test);
	for (i = 0; i < 100; ++i) {
		irq_work_queue(&work);
		irq_work_sync(&work);
		expect_use(test);
		tasklet_schedule(&tasklet);
		msleep(20);
		tasklet_kill(&tasklet);
		expect_use(test);
		i += 24;
	}
	KUNIT_EXPECT_EQ(test, ffi_error(NULL, 0), -EXDEV);
	KUNIT_EXPECT_EQ(test, ffi_task_count() <= count + 1, 1);
	ffi_put(use.add);
	ffi_put(use.divide);
	ffi_put(use.sleeper);
	ffi_put(use.nested);
	ffi_put(use.ignores);
	ffi_put(use.keeps);
	ffi_put(use.bare);
	ffi_put(use.by_name);
}

static DECLARE_COMPLETION(raised);
static DECLARE_COMPLETION(may_end);
static DECLARE_COMPLETION(ended);

/* After its last line a thread runs no code of this module, which may go. */
static int leave_an_error(void *data)
{
	ffi_raise(-EIO, "left by a task that ends");
	complete(&raised);
	wait_for_completion(&may_end);
	kthread_complete_and_exit(&ended, 0);
}

/* A task that ends without a word leaves nothing. */
static void unit_tasks(struct kunit *test)
{
	int i, n, count;

	ffi_raise(-EIO, "of this task");
	count = ffi_task_count();
	for (n = 0; n < 40; ++n) {
		if (IS_ERR(kthread_run(leave_an_error, NULL, "unit/%d", n)))
			break;
	}
	KUNIT_EXPECT_EQ(test, n, 40);
	for (i = 0; i < n; ++i)
		wait_for_completion(&raised);
	KUNIT_EXPECT_EQ(test, ffi_task_count() >= n, 1);
	complete_all(&may_end);
	for (i = 0; i < n; ++i)
		wait_for_completion(&ended);
	for (i = 0; i < 40 && ffi_task_count() > count; ++i)
		msleep(100);
	KUNIT_EXPECT_EQ(test, ffi_task_count() <= count, 1);
	KUNIT_EXPECT_EQ(test, ffi_error(NULL, 0), -EIO); /* still there */
	count = ffi_task_count();
	ffi_task_end();
	KUNIT_EXPECT_EQ(test, ffi_task_count(), count - 1);
}

static DECLARE_COMPLETION(looked_up);
static DECLARE_COMPLETION(replaced);
static int slow;

static int look_up(void *data)
{
	TVMFFIObject *f;

	while (!completion_done(&replaced)) {
		cond_resched();
		if (!ffi_get("unit.replaced", &f))
			ffi_put(f);
	}
	kthread_complete_and_exit(&looked_up, 0);
}

static int replace(void *data)
{
	u64 start;
	int i;

	sched_set_fifo(current);
	slow = 0;
	for (i = 0; i < 300; ++i) {
		usleep_range(500, 1000);
		start = ktime_get_ns();
		WARN_ON(ffi_register("unit.replaced", may_sleep, FFI_REPLACE));
		slow += ktime_get_ns() - start > 500 * NSEC_PER_MSEC;
	}
	kthread_complete_and_exit(&replaced, 0);
}

/*
 * A task of a high priority sleeps while it waits for one that it preempted. If
 * it did not, the kernel would let the other run only once a second. A busy
 * machine may stop both for as long, but seldom.
 */
static void unit_priority(struct kunit *test)
{
	struct task_struct *looks_up, *replaces;

	looks_up = kthread_create(look_up, NULL, "unit/look_up");
	KUNIT_ASSERT_EQ(test, PTR_ERR_OR_ZERO(looks_up), 0);
	replaces = kthread_create(replace, NULL, "unit/replace");
	if (IS_ERR(replaces))
		kthread_stop(looks_up); /* it has not begun */
	KUNIT_ASSERT_EQ(test, PTR_ERR_OR_ZERO(replaces), 0);
	kthread_bind(looks_up, 0);
	kthread_bind(replaces, 0);
	wake_up_process(looks_up);
	wake_up_process(replaces);
	wait_for_completion(&looked_up);
	KUNIT_EXPECT_EQ(test, slow < 10, 1);
}

/* Does what needs memory, and gives all of it back. */
static int use_memory(void)
{
	TVMFFIObject *f;
	s64 sum = 0;
	int state = 40;
	int code = ffi_closure_new(count_up, 0, &state, NULL, &f);

	if (code)
		return code;
	code = ffi_function_register("unit.memory", f, FFI_REPLACE);
	tvmffi_release(f);
	if (!code)
		code = ffi_call("unit.memory", &sum, 2);
	if (!code && ffi_call("unit.memory", &sum, "two") != -EINVAL)
		code = -EBADMSG;
	ffi_raise(-EXDEV, "replaces the error of the round before");
	return ffi_unregister("unit.memory") ?: code;
}

/*
 * Work that is repeated needs no more blocks. The table of names may replace
 * its array by a larger one, and the blocks of ended tasks may go meanwhile.
 */
static void unit_blocks(struct kunit *test)
{
	int i, count;

	KUNIT_ASSERT_EQ(test, use_memory(), 0);
	count = ffi_block_count();
	for (i = 0; i < 100; ++i)
		KUNIT_ASSERT_EQ(test, use_memory(), 0);
	KUNIT_EXPECT_EQ(test, ffi_block_count() - count < 50, 1);
	ffi_task_end();
}

/*
 * A task that reclaim waits for may call within memalloc_noio_save. Without it,
 * lockdep reports the mutex.
 */
static void unit_reclaim(struct kunit *test)
{
	static DEFINE_MUTEX(io);
	unsigned int flags;

	fs_reclaim_acquire(GFP_KERNEL);
	mutex_lock(&io);
	mutex_unlock(&io);
	fs_reclaim_release(GFP_KERNEL);
	mutex_lock(&io);
	flags = memalloc_noio_save();
	KUNIT_EXPECT_EQ(test, ffi_call("kernel.divide", NULL, 1, 0), -EINVAL);
	ffi_task_end();
	memalloc_noio_restore(flags);
	mutex_unlock(&io);
}

#if IS_ENABLED(CONFIG_FAULT_INJECTION)
static int unit_work(void)
{
	s64 sum = 0;
	int code = ffi_register("unit.work", refcount, 0);

	if (!code)
		code = ffi_call("kernel.add", &sum, 40, 2);
	if (!code)
		code = ffi_call("unit.number", NULL, -EXDEV);
	current->fail_nth = 0;
	ffi_unregister("unit.work");
	ffi_task_end();
	return code;
}
#endif

/* Each allocation fails in turn, also those for the state of the task. */
static void unit_no_memory(struct kunit *test)
{
#if IS_ENABLED(CONFIG_FAULT_INJECTION)
	int n, code = -ENOMEM, failed = 0;

	for (n = 1; n < 100 && code != -EXDEV; ++n) {
		current->fail_nth = n;
		code = unit_work();
		KUNIT_EXPECT_EQ(test, code == -EXDEV || code == -ENOMEM, 1);
		failed += code == -ENOMEM;
	}
	KUNIT_EXPECT_EQ(test, code, -EXDEV);
	if (!failed)
		kunit_skip(test, "the kernel makes no allocation fail");
#else
	kunit_skip(test, "no CONFIG_FAULT_INJECTION");
#endif
}

static struct kunit_case unit_cases[] = {
	KUNIT_CASE(unit_errors), KUNIT_CASE(unit_names),
	KUNIT_CASE(unit_pins),	 KUNIT_CASE(unit_end),
	KUNIT_CASE(unit_busy_end), KUNIT_CASE(unit_atomic),
	KUNIT_CASE(unit_tasks),	 KUNIT_CASE(unit_no_memory),
	KUNIT_CASE(unit_priority), KUNIT_CASE(unit_deleters),
	KUNIT_CASE(unit_born),	 KUNIT_CASE(unit_blocks),
	KUNIT_CASE(unit_function_end), KUNIT_CASE(unit_reclaim),
	{}
};

static struct kunit_suite unit_suite = {
	.name = "ffi",
	.test_cases = unit_cases,
};

kunit_test_suite(unit_suite);
MODULE_DESCRIPTION("Tests of the runtime");
MODULE_LICENSE("Dual MIT/GPL");
