// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Kernel threads that use the runtime of ffi_provider.ko all at once: each
 * registers functions under new names, replaces them and others' by new ones,
 * looks them up, calls and releases them, raises errors and takes its own, and
 * counts a shared object up and down. What they did must add up in the end.
 */

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "ffi.h"

enum { THREADS = 8, ROUNDS = 4000, COUNTS = 200000 };

static atomic_t calls, errors, made, freed, cpus_seen[2];
static DECLARE_COMPLETION(ready);
static DECLARE_COMPLETION(go);
static TVMFFIAny shared; /* a string */

/* What is registered: one such function for each registration. */
static int contend_call(void *self, const TVMFFIAny *args, int32_t n,
			TVMFFIAny *result)
{
	atomic_inc((atomic_t *)self);
	atomic_inc(&calls);
	*result = tvmffi_int(n == 1 ? args[0].v_int64 + 1 : -1);
	return 0;
}

static void contend_free(void *self)
{
	atomic_inc(&freed);
	kfree(self);
}

static void contend_name(char *name, int id, int round)
{
	snprintf(name, 32, "contend.%d", id % THREADS * ROUNDS + round);
}

static int contend_register(const char *name)
{
	atomic_t *own = kzalloc(sizeof(*own), GFP_KERNEL);
	TVMFFIObject *f;
	int code;

	if (!own)
		return -ENOMEM;
	code = ffi_function_new(THIS_MODULE, FFI_ATOMIC, contend_call, own,
				contend_free, &f);
	if (code) {
		kfree(own);
		return code;
	}
	atomic_inc(&made);
	code = ffi_function_register(name, f, FFI_REPLACE);
	tvmffi_release(f);
	return code;
}

/* Another thread may replace the function meanwhile: it must live on. */
static int contend_look_up(const char *name, s64 x)
{
	TVMFFIObject *f;
	s64 y = 0, z = 0;
	int code = ffi_get(name, &f);

	if (code)
		return code;
	code = tvmffi_call(f, &y, x) ? ffi_error(NULL, 0) : 0;
	cond_resched();
	if (!code)
		code = ffi_call_atomic(f, &z, x);
	ffi_put(f);
	return code || (y == x + 1 && z == x + 1) ? code : -EDOM;
}

/* The error that a thread takes is its own. */
static int contend_raise(int number)
{
	char want[64], text[64];
	s64 result = 0;

	atomic_inc(&calls);
	if (!tvmffi_call("kernel.divide", &result, number, 0))
		return -EDOM;
	cond_resched();
	snprintf(want, sizeof(want), "ValueError: %d is divided by zero",
		 number);
	if (ffi_error(text, sizeof(text)) != -EINVAL || strcmp(text, want))
		return -EBADMSG;
	atomic_inc(&errors);
	return 0;
}

/* All names are new: the table grows. */
static int contend_begin(int id, int round)
{
	char name[32];

	contend_name(name, id, round);
	return contend_register(name);
}

/* Half of them are another thread's. */
static int contend_round(int id, int round)
{
	char name[32];
	s64 sum = 0;
	int code;

	contend_name(name, id + round % 2, round);
	code = contend_register(name);
	if (!code)
		code = contend_look_up(name, round);
	if (!code)
		code = contend_raise(id * ROUNDS + round);
	if (!code)
		code = ffi_call("kernel.add", &sum, id, round);
	atomic_inc(&calls);
	atomic_inc(&cpus_seen[raw_smp_processor_id() & 1]);
	return code || sum == id + round ? code : -EDOM;
}

/* The last error of a thread stays pending: its end releases it. */
static int contend_thread(void *data)
{
	int id = (int)(long)data, round, code = 0;

	complete(&ready);
	wait_for_completion(&go);
	for (round = 0; round < COUNTS; ++round) {
		tvmffi_retain(shared.v_obj);
		tvmffi_release(shared.v_obj);
	}
	for (round = 0; round < ROUNDS && !code; ++round)
		code = contend_begin(id, round);
	for (round = 0; round < ROUNDS && !code; ++round)
		code = contend_round(id, round);
	if (code)
		pr_err("contend: thread %d: error %d\n", id, code);
	ffi_raise(-EIO, "the last of %d", id);
	return code;
}

static int contend_run(void)
{
	struct task_struct *task[THREADS];
	int i, n, code = 0;

	for (n = 0; n < THREADS; ++n) {
		task[n] = kthread_create(contend_thread, (void *)(long)n,
					 "contend/%d", n);
		if (IS_ERR(task[n]))
			break; /* the counts will tell */
		kthread_bind(task[n], n % num_online_cpus());
		get_task_struct(task[n]);
		wake_up_process(task[n]);
	}
	for (i = 0; i < n; ++i)
		wait_for_completion(&ready);
	complete_all(&go);
	for (i = 0; i < n; ++i) {
		int ended = kthread_stop(task[i]); /* waits for its end */

		code = code ?: ended;
		put_task_struct(task[i]);
	}
	return code;
}

static int contend_clear(void)
{
	char name[32];
	int i, code = 0;

	for (i = 0; i < THREADS * ROUNDS && !code; ++i) {
		contend_name(name, i / ROUNDS, i % ROUNDS);
		code = ffi_unregister(name);
	}
	return code;
}

/* The runtime frees the states of the threads, which do nothing for it. */
static int contend_wait(void)
{
	int i, count = ffi_task_count();

	for (i = 0; i < 50 && ffi_task_count() > 1; ++i)
		msleep(100);
	pr_info("contend: states of %d tasks, and in the end of %d\n", count,
		ffi_task_count());
	return ffi_task_count() > 1 ? -ETIMEDOUT : 0;
}

static int __init contend_init(void)
{
	TVMFFIByteArray text = tvmffi_byte_array("a string of many threads");
	int code;

	if (TVMFFIStringFromByteArray(&text, &shared))
		return ffi_error(NULL, 0);
	code = contend_run();
	if (!code)
		code = contend_clear();
	if (!code)
		code = contend_wait();
	pr_info("contend: on %d and %d of 2 CPUs\n",
		atomic_read(&cpus_seen[0]) > 0, atomic_read(&cpus_seen[1]) > 0);
	pr_info("contend: %d threads: %d calls, %d errors, %d functions made, %d freed, %d of the shared object\n",
		THREADS, atomic_read(&calls), atomic_read(&errors),
		atomic_read(&made), atomic_read(&freed),
		(int)(uint32_t)shared.v_obj->combined_ref_count);
	tvmffi_any_release(&shared);
	return code;
}

static void __exit contend_exit(void)
{
}

module_init(contend_init);
module_exit(contend_exit);
MODULE_DESCRIPTION("Uses the runtime from many kernel threads at once");
MODULE_LICENSE("Dual MIT/GPL");
