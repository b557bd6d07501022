// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * The runtime, and the kernel's side of it: memory, the mutex, the state of
 * tasks, error numbers, and functions that go with their module.
 */

#define pr_fmt(fmt) "ffi: " fmt

#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mempool.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/refcount.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#define FFI_RUNTIME
#define TVMFFI_IMPLEMENTATION
#include "ffi.h"

/* -------- Atomic calls -------- */

/*
 * The number of atomic calls on a processor. They run with preemption disabled,
 * so what reads a number above 0 is in such a call, or has interrupted one.
 */
static DEFINE_PER_CPU(int, ffi_atomic_calls);

static bool ffi_is_atomic(void)
{
	return this_cpu_read(ffi_atomic_calls) > 0;
}

/* What TVMFFI_THREAD_LOCAL provides. The keys are of this file only. */
struct ffi_state {
	const void *keys[TVMFFI_THREAD_LOCAL_KEYS];
	void *values[TVMFFI_THREAD_LOCAL_KEYS];
	void (*end)(void *state);
	void *end_state;
	size_t used;
	u64 memory[DIV_ROUND_UP(TVMFFI_THREAD_LOCAL_SIZE, 8)];
};

/* An error with its texts needs less than half of it. */
#define FFI_ATOMIC_MEMORY 2048

/*
 * The state and the memory of atomic calls on one processor, in a task, in
 * softirqs or in hard interrupts: an interrupt has another one than what it
 * interrupts. The memory is for errors, which ffi_atomic_end frees, so an
 * atomic call needs no allocator, whose locks sleep with PREEMPT_RT. Only its
 * processor takes blocks of it. They are reused when all are free.
 */
struct ffi_atomic {
	struct ffi_state state;
	int depth; /* atomic calls, each in the one before */
	atomic_t num_blocks;
	size_t used;
	u64 memory[FFI_ATOMIC_MEMORY / 8];
};

struct ffi_atomics {
	struct ffi_atomic of[3];
};

static struct ffi_atomics __percpu *ffi_atomics;

static struct ffi_atomic *ffi_this_atomic(void)
{
	return &this_cpu_ptr(ffi_atomics)
			->of[in_hardirq() ? 2 : !!in_serving_softirq()];
}

/* -------- Memory -------- */

/*
 * In front of each block of memory. A block of the kernel's allocator is in the
 * list that a hash of its address selects, so processors seldom wait for each
 * other. The runtime never frees its tables, so unloading the module frees the
 * blocks that are left in the lists.
 */
struct ffi_block {
	union {
		struct list_head list;
		struct ffi_atomic *atomic;
	};
	bool is_atomic;
};

#define FFI_SHARD_BITS 6

struct ffi_shard {
	spinlock_t lock; /* never taken in interrupts */
	struct list_head blocks;
} ____cacheline_aligned_in_smp;

static struct ffi_shard ffi_shards[1 << FFI_SHARD_BITS];

static struct ffi_shard *ffi_shard_of(const struct ffi_block *block)
{
	return &ffi_shards[hash_ptr(block, FFI_SHARD_BITS)];
}

static void *ffi_alloc_atomic(size_t size)
{
	struct ffi_atomic *a = ffi_this_atomic();
	struct ffi_block *block;

	if (!atomic_read_acquire(&a->num_blocks)) /* pairs with ffi_free */
		a->used = 0;
	size = ALIGN(sizeof(*block) + size, 8);
	if (size > sizeof(a->memory) - a->used)
		return NULL;
	block = (void *)((char *)a->memory + a->used);
	a->used += size;
	atomic_inc(&a->num_blocks);
	block->atomic = a;
	block->is_atomic = true;
	return block + 1;
}

void *ffi_alloc(size_t size)
{
	struct ffi_block *block;
	struct ffi_shard *shard;

	if (size > INT_MAX - sizeof(*block)) /* kvmalloc warns */
		return NULL;
	if (ffi_is_atomic())
		return ffi_alloc_atomic(size);
	block = kvmalloc(sizeof(*block) + size, GFP_KERNEL);
	if (!block)
		return NULL;
	block->is_atomic = false;
	shard = ffi_shard_of(block);
	spin_lock(&shard->lock);
	list_add(&block->list, &shard->blocks);
	spin_unlock(&shard->lock);
	return block + 1;
}
EXPORT_SYMBOL_GPL(ffi_alloc);

void ffi_free(void *pointer)
{
	struct ffi_block *block = (struct ffi_block *)pointer - 1;
	struct ffi_shard *shard;

	if (block->is_atomic) {
		/* The processor that reuses the memory sees it unused. */
		atomic_dec_return_release(&block->atomic->num_blocks);
		return;
	}
	might_sleep();
	shard = ffi_shard_of(block);
	spin_lock(&shard->lock);
	list_del(&block->list);
	spin_unlock(&shard->lock);
	kvfree(block);
}
EXPORT_SYMBOL_GPL(ffi_free);

static void ffi_init_blocks(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(ffi_shards); ++i) {
		spin_lock_init(&ffi_shards[i].lock);
		INIT_LIST_HEAD(&ffi_shards[i].blocks);
	}
}

int ffi_block_count(void)
{
	const struct ffi_block *block;
	int i, count = 0;

	for (i = 0; i < ARRAY_SIZE(ffi_shards); ++i) {
		spin_lock(&ffi_shards[i].lock);
		list_for_each_entry(block, &ffi_shards[i].blocks, list)
			++count;
		spin_unlock(&ffi_shards[i].lock);
	}
	return count;
}
EXPORT_SYMBOL_GPL(ffi_block_count);

/* Nobody uses the runtime any more, so this needs no lock. */
static void ffi_free_blocks(void)
{
	struct ffi_block *block, *next;
	int i;

	for (i = 0; i < ARRAY_SIZE(ffi_shards); ++i) {
		list_for_each_entry_safe(block, next, &ffi_shards[i].blocks,
					 list) {
			list_del(&block->list);
			kvfree(block);
		}
	}
}

/* -------- The mutex -------- */

static DEFINE_MUTEX(ffi_mutex);

void ffi_lock(void)
{
	mutex_lock(&ffi_mutex);
}

void ffi_unlock(void)
{
	mutex_unlock(&ffi_mutex);
}

/* -------- The state of tasks -------- */

/*
 * The state of a task, in a hash table by the task. The reference on the task
 * keeps another task from getting the same address. Only the task itself adds
 * its entry. The entry is removed by the task, by ffi_task_work once the task
 * has ended, or by the provider's exit.
 */
struct ffi_task {
	struct hlist_node node;
	struct task_struct *task;
	struct ffi_state state;
};

#define FFI_TASK_BITS 6
#define FFI_RESERVE 16 /* tasks that get a state without free memory */

struct ffi_bucket {
	spinlock_t lock; /* never taken in interrupts */
	struct hlist_head tasks;
};

static struct ffi_bucket ffi_buckets[1 << FFI_TASK_BITS];
static atomic_t ffi_num_tasks;
static mempool_t *ffi_task_pool;

static void ffi_task_sweep(struct work_struct *work);
static DECLARE_DEFERRABLE_WORK(ffi_task_work, ffi_task_sweep);

static struct ffi_bucket *ffi_bucket_of(const struct task_struct *task)
{
	return &ffi_buckets[hash_ptr(task, FFI_TASK_BITS)];
}

/* Adds an entry in front of others of the same task. */
static void ffi_task_add(struct ffi_task *t)
{
	struct ffi_bucket *bucket = ffi_bucket_of(current);

	t->task = get_task_struct(current);
	spin_lock(&bucket->lock);
	hlist_add_head(&t->node, &bucket->tasks);
	spin_unlock(&bucket->lock);
}

/* Returns the running task's entry, or NULL. */
static struct ffi_task *ffi_task_find(void)
{
	struct ffi_bucket *bucket = ffi_bucket_of(current);
	struct ffi_task *t;

	spin_lock(&bucket->lock);
	hlist_for_each_entry(t, &bucket->tasks, node) {
		if (t->task == current)
			break;
	}
	spin_unlock(&bucket->lock);
	return t;
}

/*
 * Returns the state of the running task or atomic call. mempool_alloc takes an
 * entry of the reserve if there is no memory, and if the reserve is empty, too,
 * it waits until one is freed.
 */
static struct ffi_state *ffi_this_state(void)
{
	struct ffi_task *t;

	if (ffi_is_atomic())
		return &ffi_this_atomic()->state;
	might_sleep();
	t = ffi_task_find();
	if (t)
		return &t->state;
	t = mempool_alloc(ffi_task_pool, GFP_KERNEL);
	memset(t, 0, sizeof(*t));
	ffi_task_add(t);
	if (atomic_inc_return(&ffi_num_tasks) == 1)
		schedule_delayed_work(&ffi_task_work, HZ);
	return &t->state;
}

void *ffi_local(const void *key, size_t size)
{
	struct ffi_state *state = ffi_this_state();
	int i;

	for (i = 0; state->keys[i]; ++i)
		if (state->keys[i] == key)
			return state->values[i];
	state->keys[i] = key;
	state->values[i] = (char *)state->memory + state->used;
	state->used += ALIGN(size, 8);
	return state->values[i];
}

int ffi_at_task_end(void (*function)(void *), void *end_state)
{
	struct ffi_state *state = ffi_this_state();

	state->end = function;
	state->end_state = end_state;
	return 1;
}

static void ffi_task_free(struct ffi_task *t)
{
	struct ffi_bucket *bucket = ffi_bucket_of(t->task);

	if (t->state.end)
		t->state.end(t->state.end_state);
	spin_lock(&bucket->lock);
	hlist_del(&t->node);
	spin_unlock(&bucket->lock);
	put_task_struct(t->task);
	mempool_free(t, ffi_task_pool);
	atomic_dec(&ffi_num_tasks);
}

void ffi_task_end(void)
{
	struct ffi_task *t;

	might_sleep();
	t = ffi_task_find();
	if (t)
		ffi_task_free(t);
}
EXPORT_SYMBOL_GPL(ffi_task_end);

int ffi_task_count(void)
{
	return atomic_read(&ffi_num_tasks);
}
EXPORT_SYMBOL_GPL(ffi_task_count);

/*
 * Frees the states of the tasks that have ended, or of all. The running task
 * adopts each in turn, because the runtime ends the state of the running task,
 * and deleters that it runs may use that state. A task with an exit_state runs
 * no code of a module any more.
 */
static void ffi_task_end_others(bool all)
{
	struct ffi_task *t;
	int i;

	for (i = 0; i < ARRAY_SIZE(ffi_buckets); ++i) {
		struct ffi_bucket *bucket = &ffi_buckets[i];

		do {
			spin_lock(&bucket->lock);
			hlist_for_each_entry(t, &bucket->tasks, node) {
				if (all || READ_ONCE(t->task->exit_state))
					break;
			}
			if (t)
				hlist_del(&t->node);
			spin_unlock(&bucket->lock);
			if (t) {
				put_task_struct(t->task);
				ffi_task_add(t);
				ffi_task_free(t);
			}
		} while (t);
	}
}

static void ffi_task_sweep(struct work_struct *work)
{
	ffi_task_end_others(false);
	if (atomic_read(&ffi_num_tasks))
		schedule_delayed_work(&ffi_task_work, HZ);
}

/* -------- Error numbers -------- */

static const struct {
	const char *kind;
	int error;
} ffi_kinds[] = {
	{ "MemoryError", -ENOMEM },
	{ "ValueError", -EINVAL },
	{ "TypeError", -EINVAL },
	{ "OverflowError", -EOVERFLOW },
	{ "IndexError", -ERANGE },
	{ "KeyError", -ENOENT },
	{ "LookupError", -ENOENT },
	{ "AttributeError", -ENOENT },
	{ "FileNotFoundError", -ENOENT },
	{ "FileExistsError", -EEXIST },
	{ "PermissionError", -EACCES },
	{ "TimeoutError", -ETIMEDOUT },
	{ "InterruptedError", -EINTR },
	{ "BlockingIOError", -EAGAIN },
	{ "NotImplementedError", -EOPNOTSUPP },
	{ "ZeroDivisionError", -EDOM },
};

/* A message may begin with context, as TVMFFI_TRY_CONTEXT adds it. */
static int ffi_error_of(const TVMFFIErrorCell *cell)
{
	const char *number = strstr(cell->message.data, "[Errno ");
	int i, error;

	if (number && !strcmp(cell->kind.data, "OSError") &&
	    sscanf(number, "[Errno %d]", &error) == 1 && error > 0 &&
	    error <= MAX_ERRNO)
		return -error;
	for (i = 0; i < ARRAY_SIZE(ffi_kinds); ++i)
		if (!strcmp(cell->kind.data, ffi_kinds[i].kind))
			return ffi_kinds[i].error;
	return -EIO;
}

int ffi_error(char *text, size_t size)
{
	const TVMFFIErrorCell *cell;
	TVMFFIObjectHandle error = NULL;
	int code = -EIO;

	if (size)
		*text = 0;
	TVMFFIErrorMoveFromRaised(&error);
	if (!error)
		return code;
	cell = TVMFFIErrorGetCellPtr(error);
	code = ffi_error_of(cell);
	if (size)
		snprintf(text, size, "%s: %s", cell->kind.data,
			 cell->message.data);
	tvmffi_release(error);
	return code;
}
EXPORT_SYMBOL_GPL(ffi_error);

int ffi_raise(int error, const char *format, ...)
{
	char text[TVMFFI_MESSAGE_SIZE];
	struct va_format message;
	const char *kind;
	va_list args;

	if (error >= 0 || error < -MAX_ERRNO)
		error = -EINVAL;
	va_start(args, format);
	message.fmt = format;
	message.va = &args;
	if (error == -ENOMEM)
		snprintf(text, sizeof(text), "%pV", &message);
	else
		snprintf(text, sizeof(text), "[Errno %d] %pV", -error,
			 &message);
	va_end(args);
	kind = error == -ENOMEM ? "MemoryError" : "OSError";
	TVMFFIErrorSetRaisedFromCStr(kind, text);
	return -1;
}
EXPORT_SYMBOL_GPL(ffi_raise);

/*
 * A body may return an error number, as functions of the kernel do. It replaces
 * an error that is pending, which may be an older one that the task ignored.
 */
int ffi_bare_code(const char *name, int code)
{
	return ffi_raise(code, "%s returned %d", name, code);
}
EXPORT_SYMBOL_GPL(ffi_bare_code);

/* -------- Functions of modules -------- */

/* The state of each function object that a module makes. */
struct ffi_function {
	struct list_head list;
	struct module *owner; /* exists while users is not 0 */
	unsigned int flags;
	TVMFFISafeCallType call;
	const tvmffi_func *func; /* for its signature, or NULL */
	void (*deleter)(void *self); /* NULL once it has run */
	void *self;
	char *name; /* owned, or NULL; ffi_names_mutex */
	atomic_t pins; /* references on the module that ffi_get has taken */
	bool has_ended; /* no call begins any more; ffi_functions_lock */
	refcount_t users; /* running calls and deleters, and 1 for the module */
	struct completion idle; /* users is 0 */
	int references; /* of the object, and of ffi_functions_end */
};

static LIST_HEAD(ffi_functions);
static DEFINE_SPINLOCK(ffi_functions_lock); /* the list, and references */
static DEFINE_MUTEX(ffi_names_mutex);

#ifdef CONFIG_LOCKDEP
/*
 * Each call and each deleter holds this map, as a reader, and ffi_module_end
 * takes it where it waits for them. So lockdep reports a function whose end
 * would wait for itself, and a lock that both a function and the caller of
 * ffi_module_end take. All modules have one map, because any function may call
 * any other by its name. An atomic call waits for nothing, so it holds no map.
 *
 * A call takes the map as by a trylock, for it never waits for the end. If it
 * could, lockdep would not connect the locks of the caller with those that the
 * function takes, because the map is between them.
 */
static struct lockdep_map ffi_calls =
	STATIC_LOCKDEP_MAP_INIT("ffi_calls", &ffi_calls);
#endif

/* lock_map_release(&ffi_calls) is its end. */
static void ffi_map_call(void)
{
	lock_acquire(&ffi_calls, 0, 1, 2, 1, NULL, _THIS_IP_);
}

/*
 * Once ffi_function_stop waits, the last user wakes it. This is the only lock
 * that an atomic call takes: complete() takes raw spinlocks, among them those
 * of the scheduler.
 */
static void ffi_function_leave(struct ffi_function *f)
{
	if (refcount_dec_and_test(&f->users))
		complete(&f->idle);
}

/*
 * Returns true if the module's code may run, until ffi_function_leave. A call
 * takes a reference on the module. A deleter takes none: it also runs while the
 * module is being unloaded, which waits for it.
 */
static bool ffi_function_enter(struct ffi_function *f, bool is_call)
{
	if (!refcount_inc_not_zero(&f->users))
		return false;
	if (!READ_ONCE(f->has_ended) && (!is_call || try_module_get(f->owner)))
		return true;
	ffi_function_leave(f);
	return false;
}

/* Waits for the running calls and deleters. */
static void ffi_function_stop(struct ffi_function *f)
{
	lock_map_acquire(&ffi_calls);
	lock_map_release(&ffi_calls);
	if (!refcount_dec_and_test(&f->users))
		wait_for_completion(&f->idle);
}

static void ffi_function_put(struct ffi_function *f)
{
	int references;

	spin_lock(&ffi_functions_lock);
	references = --f->references;
	if (!references)
		list_del(&f->list);
	spin_unlock(&ffi_functions_lock);
	if (references)
		return;
	kfree(f->name);
	kfree(f);
}

static void ffi_function_run_deleter(struct ffi_function *f)
{
	void (*deleter)(void *self);

	deleter = xchg(&f->deleter, NULL);
	if (deleter)
		deleter(f->self);
}

static void ffi_function_delete(void *self)
{
	struct ffi_function *f = self;

	might_sleep();
	if (ffi_function_enter(f, false)) {
		ffi_map_call();
		ffi_function_run_deleter(f);
		lock_map_release(&ffi_calls);
		ffi_function_leave(f);
	}
	ffi_function_put(f);
}

static int ffi_function_call(void *self, const TVMFFIAny *args, int32_t n,
			     TVMFFIAny *result)
{
	struct ffi_function *f = self;
	bool is_atomic = ffi_is_atomic();
	int code;

	if (!is_atomic)
		might_sleep();
	else if (!(f->flags & FFI_ATOMIC))
		return ffi_raise(-EPERM, "The function is not FFI_ATOMIC");
	if (!ffi_function_enter(f, true))
		return ffi_raise(-ENODEV, "The function's module is unloaded");
	if (!is_atomic)
		ffi_map_call();
	code = f->call(f->self, args, n, result);
	if (!is_atomic)
		lock_map_release(&ffi_calls);
	if (code && (code != -1 || !tvmffi_i_pending()))
		code = ffi_bare_code("A packed function", code);
	module_put(f->owner);
	ffi_function_leave(f);
	return code;
}

/* Returns the state of a function that a module made, else NULL. */
static struct ffi_function *ffi_function_of(const TVMFFIObject *object)
{
	const tvmffi_i_closure *c = (const tvmffi_i_closure *)object;

	if (!object || object->type_index != kTVMFFIFunction ||
	    c->function.cell.safe_call != tvmffi_i_call_closure ||
	    c->call != ffi_function_call)
		return NULL;
	return c->self;
}

int ffi_function_new(struct module *owner, unsigned int flags,
		     TVMFFISafeCallType call, void *self,
		     void (*deleter)(void *self), TVMFFIObject **out)
{
	TVMFFIObjectHandle object = NULL;
	struct ffi_function *f;
	int code;

	might_sleep();
	if (!call || !out || flags & ~(FFI_ATOMIC | FFI_REPLACE))
		return -EINVAL;
	f = kzalloc(sizeof(*f), GFP_KERNEL);
	if (!f)
		return -ENOMEM;
	if (TVMFFIFunctionCreate(f, ffi_function_call, ffi_function_delete,
				 &object)) {
		code = ffi_error(NULL, 0);
		kfree(f);
		return code;
	}
	f->owner = owner;
	f->flags = flags;
	f->call = call;
	f->deleter = deleter;
	f->self = self;
	f->references = 1;
	refcount_set(&f->users, 1);
	init_completion(&f->idle);
	spin_lock(&ffi_functions_lock);
	list_add(&f->list, &ffi_functions);
	spin_unlock(&ffi_functions_lock);
	*out = object;
	return 0;
}
EXPORT_SYMBOL_GPL(ffi_function_new);

int ffi_closure_new_for(struct module *owner, unsigned int flags,
			const tvmffi_func *func, void *self,
			void (*deleter)(void *self), TVMFFIObject **out)
{
	int code = ffi_function_new(owner, flags, func->call, self, deleter,
				    out);

	if (!code)
		ffi_function_of(*out)->func = func;
	return code;
}
EXPORT_SYMBOL_GPL(ffi_closure_new_for);

/* A name was removed from a function, or got another function. */
static void ffi_forget_name(TVMFFIObject *object)
{
	struct ffi_function *f = ffi_function_of(object);

	if (f) {
		kfree(f->name);
		f->name = NULL;
	}
}

/*
 * Removes a name, or, with `f`, only if the name is this function's. The caller
 * holds ffi_names_mutex, and releases *object without it: that may run a
 * deleter, which may remove names, too.
 */
static int ffi_remove_name(const char *name, const struct ffi_function *f,
			   TVMFFIObjectHandle *object)
{
	TVMFFIByteArray key = tvmffi_byte_array(name);

	if (TVMFFIFunctionGetGlobal(&key, object))
		return ffi_error(NULL, 0);
	if (!*object || (f && ffi_function_of(*object) != f))
		return -ENOENT;
	tvmffi_i_remove_global(&key);
	ffi_forget_name(*object);
	return 0;
}

/* The caller releases *old, as in ffi_remove_name. */
static int ffi_set_name(TVMFFIObject *function, char *name, unsigned int flags,
			TVMFFIObjectHandle *old)
{
	struct ffi_function *f = ffi_function_of(function);
	TVMFFIByteArray key = tvmffi_byte_array(name);

	if (READ_ONCE(f->has_ended)) /* ffi_module_end would not remove it */
		return -ENODEV;
	if (f->name)
		return -EBUSY;
	if (TVMFFIFunctionGetGlobal(&key, old))
		return ffi_error(NULL, 0);
	if (*old && !(flags & FFI_REPLACE))
		return -EEXIST;
	if (TVMFFIFunctionSetGlobal(&key, function, 1))
		return ffi_error(NULL, 0);
	ffi_forget_name(*old);
	f->name = name;
	return 0;
}

int ffi_function_register(const char *name, TVMFFIObject *function,
			  unsigned int flags)
{
	TVMFFIObjectHandle old = NULL;
	char *copy;
	int code;

	might_sleep();
	if (!ffi_function_of(function) || !name || !*name ||
	    flags & ~(FFI_ATOMIC | FFI_REPLACE))
		return -EINVAL;
	copy = kstrdup(name, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	mutex_lock(&ffi_names_mutex);
	code = ffi_set_name(function, copy, flags, &old);
	mutex_unlock(&ffi_names_mutex);
	tvmffi_release(old);
	if (code)
		kfree(copy);
	return code;
}
EXPORT_SYMBOL_GPL(ffi_function_register);

int ffi_register_for(struct module *owner, const char *name, tvmffi_func *func,
		     unsigned int flags)
{
	TVMFFIObject *function;
	int code;

	code = ffi_closure_new_for(owner, flags, func, NULL, NULL, &function);
	if (code)
		return code;
	code = ffi_function_register(name, function, flags);
	if (!code)
		WRITE_ONCE(func->name, name); /* which errors show */
	tvmffi_release(function);
	return code;
}
EXPORT_SYMBOL_GPL(ffi_register_for);

int ffi_unregister(const char *name)
{
	TVMFFIObjectHandle object = NULL;
	int code;

	might_sleep();
	mutex_lock(&ffi_names_mutex);
	code = ffi_remove_name(name, NULL, &object);
	mutex_unlock(&ffi_names_mutex);
	tvmffi_release(object);
	return code;
}
EXPORT_SYMBOL_GPL(ffi_unregister);

int ffi_get(const char *name, TVMFFIObject **out)
{
	TVMFFIByteArray key = tvmffi_byte_array(name);
	TVMFFIObjectHandle object = NULL;
	struct ffi_function *f;

	might_sleep();
	if (TVMFFIFunctionGetGlobal(&key, &object))
		return ffi_error(NULL, 0);
	if (!object)
		return -ENOENT;
	f = ffi_function_of(object);
	if (f) {
		if (!ffi_function_enter(f, true)) {
			tvmffi_release(object);
			return -ENODEV;
		}
		atomic_inc(&f->pins); /* has the module's reference */
		ffi_function_leave(f);
	}
	*out = object;
	return 0;
}
EXPORT_SYMBOL_GPL(ffi_get);

/* Drops a pin. Returns false if there is none. */
static bool ffi_function_unpin(struct ffi_function *f)
{
	if (atomic_dec_if_positive(&f->pins) < 0)
		return false;
	module_put(f->owner);
	return true;
}

/* A function that has ended has no pins any more. */
void ffi_put(TVMFFIObject *function)
{
	struct ffi_function *f = ffi_function_of(function);
	bool was_pinned;

	might_sleep();
	if (f && ffi_function_enter(f, false)) {
		was_pinned = ffi_function_unpin(f);
		ffi_function_leave(f);
		if (WARN(!was_pinned, "%s without ffi_get\n", __func__))
			return;
	}
	tvmffi_release(function);
}
EXPORT_SYMBOL_GPL(ffi_put);

int ffi_atomic_begin(TVMFFIObject *function)
{
	const struct ffi_function *f = ffi_function_of(function);

	if (in_nmi() || !f || !(f->flags & FFI_ATOMIC))
		return -EPERM;
	preempt_disable();
	this_cpu_inc(ffi_atomic_calls);
	++ffi_this_atomic()->depth;
	return 0;
}
EXPORT_SYMBOL_GPL(ffi_atomic_begin);

/*
 * The next atomic call on this processor must not find an error that a body has
 * ignored. The body of an outer call keeps its error, unless this one failed.
 */
int ffi_atomic_end(int code)
{
	bool is_outermost = !--ffi_this_atomic()->depth;

	if (code)
		code = ffi_error(NULL, 0);
	else if (is_outermost)
		tvmffi_error_clear();
	this_cpu_dec(ffi_atomic_calls);
	preempt_enable();
	return code;
}
EXPORT_SYMBOL_GPL(ffi_atomic_end);

/*
 * Moves a function to `gone`, with a reference. From now on no call begins. The
 * caller holds ffi_functions_lock.
 */
static void ffi_function_collect(struct ffi_function *f, struct list_head *gone)
{
	WRITE_ONCE(f->has_ended, true);
	++f->references;
	list_move(&f->list, gone);
}

/* Moves the functions of a module to `gone`. */
static void ffi_functions_collect(struct module *owner, struct list_head *gone)
{
	struct ffi_function *f, *next;

	spin_lock(&ffi_functions_lock);
	list_for_each_entry_safe(f, next, &ffi_functions, list) {
		if (f->owner == owner)
			ffi_function_collect(f, gone);
	}
	spin_unlock(&ffi_functions_lock);
}

/* Ends the functions of a list, and empties it. */
static void ffi_functions_end(struct list_head *gone)
{
	TVMFFIObjectHandle object;
	struct ffi_function *f;

	list_for_each_entry(f, gone, list)
		ffi_function_stop(f);
	while (!list_empty(gone)) {
		f = list_first_entry(gone, struct ffi_function, list);
		object = NULL;
		mutex_lock(&ffi_names_mutex);
		if (f->name)
			ffi_remove_name(f->name, f, &object);
		mutex_unlock(&ffi_names_mutex);
		tvmffi_release(object);
		ffi_function_run_deleter(f);
		while (ffi_function_unpin(f))
			;
		spin_lock(&ffi_functions_lock);
		list_del_init(&f->list);
		spin_unlock(&ffi_functions_lock);
		ffi_function_put(f);
	}
}

void ffi_function_end(TVMFFIObject *function)
{
	struct ffi_function *f = ffi_function_of(function);
	LIST_HEAD(gone);

	might_sleep();
	if (!f)
		return;
	spin_lock(&ffi_functions_lock);
	if (!f->has_ended)
		ffi_function_collect(f, &gone);
	spin_unlock(&ffi_functions_lock);
	ffi_functions_end(&gone);
}
EXPORT_SYMBOL_GPL(ffi_function_end);

/*
 * The kernel's own wait for the references on a module does not suffice: it
 * does not wait for the calls of a module whose init failed. A call that this
 * waits for, or a deleter, may make further functions, which end next.
 */
void ffi_module_end(struct module *owner)
{
	LIST_HEAD(gone);

	might_sleep();
	ffi_functions_collect(owner, &gone);
	while (!list_empty(&gone)) {
		ffi_functions_end(&gone);
		ffi_functions_collect(owner, &gone);
	}
}
EXPORT_SYMBOL_GPL(ffi_module_end);

static int ffi_module_event(struct notifier_block *block, unsigned long state,
			    void *module)
{
	if (state == MODULE_STATE_GOING)
		ffi_module_end(module);
	return NOTIFY_OK;
}

static struct notifier_block ffi_modules = {
	.notifier_call = ffi_module_event,
};

/* -------- What debugfs shows -------- */

static struct dentry *ffi_debug;

static void ffi_function_show(struct seq_file *file,
			      const struct ffi_function *f)
{
	tvmffi_i_parts text = { 0 };
	int i;

	seq_puts(file, f->name ?: "(no name)");
	if (f->name && f->func) {
		tvmffi_i_say_signature(&text, f->func);
		for (i = 1; i < text.size; ++i) /* part 0 is the name */
			seq_puts(file, text.part[i]);
	}
	seq_printf(file, " [%s] pins %d%s\n", module_name(f->owner),
		   atomic_read(&f->pins),
		   f->flags & FFI_ATOMIC ? " atomic" : "");
}

/* The owner of a function in the list exists: see ffi_module_end. */
static int ffi_functions_show(struct seq_file *file, void *unused)
{
	struct ffi_function *f;

	mutex_lock(&ffi_names_mutex);
	spin_lock(&ffi_functions_lock);
	list_for_each_entry(f, &ffi_functions, list)
		ffi_function_show(file, f);
	spin_unlock(&ffi_functions_lock);
	mutex_unlock(&ffi_names_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(ffi_functions);

/* -------- The begin and the end -------- */

int ffi_runtime_begin(void)
{
	int i, code;

	ffi_init_blocks();
	for (i = 0; i < ARRAY_SIZE(ffi_buckets); ++i)
		spin_lock_init(&ffi_buckets[i].lock);
	ffi_atomics = alloc_percpu(struct ffi_atomics);
	ffi_task_pool = mempool_create_kmalloc_pool(FFI_RESERVE,
						    sizeof(struct ffi_task));
	code = ffi_atomics && ffi_task_pool ?
		       register_module_notifier(&ffi_modules) : -ENOMEM;
	if (code) {
		mempool_destroy(ffi_task_pool);
		free_percpu(ffi_atomics);
		return code;
	}
	ffi_debug = debugfs_create_dir("ffi", NULL);
	debugfs_create_file("functions", 0400, ffi_debug, NULL,
			    &ffi_functions_fops);
	return 0;
}

void ffi_runtime_end(void)
{
	debugfs_remove(ffi_debug);
	unregister_module_notifier(&ffi_modules);
	ffi_module_end(THIS_MODULE);
	/* No function is left that could make a state and start the work again. */
	cancel_delayed_work_sync(&ffi_task_work);
	ffi_task_end_others(true);
	mempool_destroy(ffi_task_pool);
	free_percpu(ffi_atomics);
	ffi_free_blocks();
}

/*
 * What the inline code of tvmffi.h calls in other modules to look up a name. An
 * atomic call may not: the reference that this gives may be the last one when
 * it is released, and then a deleter runs and memory is freed.
 */
extern typeof(TVMFFIFunctionGetGlobal) ffi_TVMFFIFunctionGetGlobal;

int ffi_TVMFFIFunctionGetGlobal(const TVMFFIByteArray *name,
				TVMFFIObjectHandle *out)
{
	if (ffi_is_atomic())
		return ffi_raise(-EPERM, "An atomic call looks up a name");
	return TVMFFIFunctionGetGlobal(name, out);
}
EXPORT_SYMBOL_GPL(ffi_TVMFFIFunctionGetGlobal);

/*
 * The other functions that the inline code calls in other modules, under their
 * names there.
 */
#define FFI_EXPORT(name)                                                       \
	extern typeof(name) ffi_##name __alias(name) __copy(name);             \
	EXPORT_SYMBOL_GPL(ffi_##name)

FFI_EXPORT(TVMFFIAnyViewToOwnedAny);
FFI_EXPORT(TVMFFIBacktrace);
FFI_EXPORT(TVMFFIBytesFromByteArray);
FFI_EXPORT(TVMFFIErrorCreate);
FFI_EXPORT(TVMFFIErrorCreateWithCauseAndExtraContext);
FFI_EXPORT(TVMFFIErrorMoveFromRaised);
FFI_EXPORT(TVMFFIErrorSetRaised);
FFI_EXPORT(TVMFFIErrorSetRaisedFromCStr);
FFI_EXPORT(TVMFFIErrorSetRaisedFromCStrParts);
FFI_EXPORT(TVMFFIFunctionCall);
FFI_EXPORT(TVMFFIGetTypeInfo);
FFI_EXPORT(TVMFFIStringFromByteArray);
