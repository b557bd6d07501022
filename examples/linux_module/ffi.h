/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What a kernel module uses of the runtime, beside the calls of tvmffi.h.
 *
 * Functions that return an int return 0 or a negative error number, and leave
 * no error pending, unless their comment says otherwise. They may sleep, but
 * ffi_call_atomic does not: README.md has a table of the contexts.
 */
#ifndef FFI_H_
#define FFI_H_

#include <linux/module.h>

#define TVMFFI_PORT "port.h"
#include "tvmffi.h"

/*
 * The function neither sleeps nor allocates, so ffi_call_atomic may call it. It
 * calls other functions by their objects: a call by name gives -EPERM.
 */
#define FFI_ATOMIC 0x1

/*
 * The function replaces one of the same name, also another module's. When it
 * ends, the name is free: the replaced function does not come back.
 */
#define FFI_REPLACE 0x2

/*
 * The macros of tvmffi.h that make functions know no owner: a call after the
 * module's end would run code that is gone.
 */
__compiletime_error("use ffi_register, ffi_function_new or ffi_closure_new")
int ffi_no_owner(void);
#undef TVMFFI_REGISTER
#undef TVMFFI_OVERRIDE
#undef TVMFFI_FUNCTION_NEW
#undef TVMFFI_CLOSURE_NEW
#define TVMFFI_REGISTER(...) ffi_no_owner()
#define TVMFFI_OVERRIDE(...) ffi_no_owner()
#define TVMFFI_FUNCTION_NEW(...) ffi_no_owner()
#define TVMFFI_CLOSURE_NEW(...) ffi_no_owner()

/**
 * ffi_register() - Registers a typed function of this module under a name
 * @name: a string literal
 * @id: the function that TVMFFI_FUNC(id, ...) defines
 * @flags: 0, or FFI_ATOMIC and FFI_REPLACE
 *
 * Registering pins nothing: unloading the module removes the name. A call pins
 * the module while it runs.
 *
 * Return: 0; -EEXIST if the name is registered and FFI_REPLACE is not among the
 * flags; -EINVAL if the name is empty or a flag is unknown; or -ENOMEM.
 */
#define ffi_register(name, id, flags)                                          \
	ffi_register_for(THIS_MODULE, "" name, TVMFFI_I_FUNC(id), flags)

/* Implements ffi_register. The function belongs to the module `owner`. */
int __must_check ffi_register_for(struct module *owner, const char *name,
				  tvmffi_func *func, unsigned int flags);

/**
 * ffi_function_new() - Makes a function object of a module
 * @owner: the module
 * @flags: as for ffi_register()
 * @call: the code, whose first argument is @self
 * @self: the state, which the function owns on success
 * @deleter: frees @self, or is NULL
 * @out: gets a reference, which the caller releases by tvmffi_release()
 *
 * The deleter runs once, when the last reference is released, or when
 * ffi_function_end() or the module's unloading ends the function, whichever
 * comes first. A call after that gives -ENODEV.
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int __must_check ffi_function_new(struct module *owner, unsigned int flags,
				  TVMFFISafeCallType call, void *self,
				  void (*deleter)(void *self),
				  TVMFFIObject **out);

/**
 * ffi_closure_new() - Makes a function object of this module, with a state
 * @id: the function that TVMFFI_CLOSURE(id, State, ...) defines
 * @flags: as for ffi_register()
 * @self: a State *, as for ffi_function_new()
 * @deleter: as for ffi_function_new()
 * @out: as for ffi_function_new(); in the body of a function,
 *	tvmffi_scope_attach(*out) gives the reference to its scope
 *
 * Return: as ffi_function_new().
 */
#define ffi_closure_new(id, flags, self, deleter, out)                         \
	ffi_closure_new_for(THIS_MODULE,                                       \
			    (flags) + FFI_CHECK(id, self, deleter, out),       \
			    &tvmffi_func_##id, self, deleter, out)

/* Is 0, and does not compile if the function's state has another type. */
#define FFI_CHECK(id, self, deleter, out)                                      \
	(0 * sizeof(tvmffi_i_closure_##id(*(tvmffi_i_owner *)NULL, self,       \
					  deleter, out)))

/* Implements ffi_closure_new. The function belongs to the module `owner`. */
int __must_check ffi_closure_new_for(struct module *owner, unsigned int flags,
				     const tvmffi_func *func, void *self,
				     void (*deleter)(void *self),
				     TVMFFIObject **out);

/**
 * ffi_function_register() - Registers a function object under a name
 * @name: is copied
 * @function: of ffi_function_new(), borrowed
 * @flags: as for ffi_register(), but only FFI_REPLACE counts
 *
 * Return: -EBUSY if the object has a name already; -ENODEV if it has ended;
 * else as ffi_register().
 */
int __must_check ffi_function_register(const char *name, TVMFFIObject *function,
				       unsigned int flags);

/**
 * ffi_unregister() - Removes a name, also another module's
 * @name: the name
 *
 * The deleter of the function's state may run.
 *
 * Return: 0; -ENOENT if the name is not registered; or -ENOMEM.
 */
int ffi_unregister(const char *name);

/**
 * ffi_function_end() - Ends one function of a module
 * @function: of ffi_function_new() or ffi_closure_new(), borrowed
 *
 * Waits for the running calls, removes the name, runs the deleter of the state,
 * and drops the pins of ffi_get(), whose holders get -ENODEV from then on. So a
 * driver that lets go of a device calls this before it frees what the function
 * uses. If the function has ended, or another task ends it, this does nothing.
 *
 * Context: As ffi_module_end().
 */
void ffi_function_end(TVMFFIObject *function);

/**
 * ffi_module_end() - Ends all functions of a module
 * @owner: the module
 *
 * Waits for the running calls, removes the names, runs the deleters of the
 * states, and drops the pins of ffi_get(), whose holders get -ENODEV from then
 * on. Functions that such a call or a deleter makes meanwhile end, too.
 *
 * The runtime does so when a module is unloaded or its init has failed, but
 * after the module's exit or init has returned. So an exit, or an init that
 * fails after it registered a function, calls ffi_module_end(THIS_MODULE)
 * before it frees what its functions or deleters use.
 *
 * Context: Not in a function or a deleter of the module, and without a lock
 * that one of them takes, else it never returns, like flush_work(). Lockdep
 * reports both. There is no error, because to know which tasks are in a call of
 * the module, each call would have to take a lock.
 */
void ffi_module_end(struct module *owner);

/**
 * ffi_get() - Looks up a function and pins its module
 * @name: the name
 * @out: gets a reference, which the caller releases by ffi_put()
 *
 * The module cannot be unloaded until ffi_put().
 *
 * Return: 0; -ENOENT if there is no function of this name; -ENODEV if its
 * module is being unloaded; or -ENOMEM.
 */
int __must_check ffi_get(const char *name, TVMFFIObject **out);

/**
 * ffi_put() - Releases a function and unpins its module
 * @function: of ffi_get()
 */
void ffi_put(TVMFFIObject *function);

/**
 * ffi_error() - Takes the task's pending error
 * @text: gets the kind and the message, truncated to @size bytes with a NUL
 * @size: may be 0, then @text may be NULL
 *
 * Return: the error number, as README.md says; -EIO if no error is pending.
 */
int ffi_error(char *text, size_t size);

/**
 * ffi_raise() - Raises an error of a number
 * @error: a negative error number
 * @format: of the message
 *
 * The error is an OSError with the text "[Errno N] " before the message, as in
 * Python, or a MemoryError for -ENOMEM. ffi_error() translates it to @error.
 *
 * Return: -1, for a function to return.
 */
__printf(2, 3) int ffi_raise(int error, const char *format, ...);

/**
 * ffi_call() - Calls a function by its name
 * @name: the name
 * @...: a pointer for the result, and the arguments, as for tvmffi_call();
 *	evaluated only if the look-up succeeds
 *
 * Return: 0; as ffi_get(); or the number of the function's error, whose message
 * is dropped.
 */
#define ffi_call(name, ...)                                                    \
	({                                                                     \
		TVMFFIObject *__ffi_function;                                  \
		int __ffi_code = ffi_get(name, &__ffi_function);               \
									       \
		if (!__ffi_code) {                                             \
			if (tvmffi_call(__ffi_function, __VA_ARGS__))          \
				__ffi_code = ffi_error(NULL, 0);               \
			ffi_put(__ffi_function);                               \
		}                                                              \
		__ffi_code;                                                    \
	})

/**
 * ffi_call_atomic() - Calls a function object where a task must not sleep
 * @function: of ffi_get()
 * @...: a pointer for the result, and the arguments: numbers, pointers or text;
 *	evaluated with preemption disabled, so without a call that sleeps, and
 *	only if the function is FFI_ATOMIC
 *
 * No step of a call sleeps or calls the kernel's allocator, also with
 * CONFIG_PREEMPT_RT: objects, such as those of an error, are in memory of the
 * processor. The only lock is that of complete(), by which the last call of a
 * function wakes ffi_module_end().
 *
 * Context: Any but an NMI. Without a lock that a wake-up takes, such as that of
 * a run queue.
 * Return: 0; -EPERM if the function was registered without FFI_ATOMIC; or the
 * number of the function's error.
 */
#define ffi_call_atomic(function, ...)                                         \
	({                                                                     \
		TVMFFIObject *__ffi_function = (function);                     \
		int __ffi_code = ffi_atomic_begin(__ffi_function);             \
									       \
		if (!__ffi_code)                                               \
			__ffi_code = ffi_atomic_end(                           \
				tvmffi_call(__ffi_function, __VA_ARGS__));     \
		__ffi_code;                                                    \
	})

/* Implement ffi_call_atomic. Between the two, preemption is disabled. */
int ffi_atomic_begin(TVMFFIObject *function);
int ffi_atomic_end(int code);

/**
 * ffi_task_end() - Frees the running task's state, with its pending error
 *
 * Otherwise the runtime frees it some seconds after the task has ended.
 */
void ffi_task_end(void);

/* Returns the number of tasks with a state, for tests. */
int ffi_task_count(void);

/*
 * Returns the number of the runtime's blocks of memory, for tests: kmemleak
 * finds a pointer to each, by which the runtime frees them when it ends.
 */
int ffi_block_count(void);

/*
 * Begin and end the runtime. Only the module that contains it calls them: in
 * its init, and in its exit or after a failure of its init.
 */
int __must_check ffi_runtime_begin(void);
void ffi_runtime_end(void);

#endif
