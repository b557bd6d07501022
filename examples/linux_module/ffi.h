/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What a kernel module uses of the runtime, beside the calls of tvmffi.h.
 *
 * Functions that return an int return 0 or a negative error number, and leave
 * no error pending, unless their comment says otherwise. README.md has a table
 * of the contexts in which each may be called.
 */
#ifndef FFI_H_
#define FFI_H_

#include <linux/module.h>

#include "tvmffi.h"

/* The function neither sleeps nor allocates, so ffi_call_atomic may call it. */
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

/*
 * Registers a typed function, defined by TVMFFI_FUNC(id, ...), under a name,
 * which is a string literal. Registering pins nothing: unloading the module
 * removes the name. A call pins the module while it runs. Returns -EEXIST if
 * the name is registered and FFI_REPLACE is not among the flags, -EINVAL if the
 * name is empty or a flag is unknown.
 */
#define ffi_register(name, id, flags)                                          \
	ffi_register_for(THIS_MODULE, "" name, &tvmffi_func_##id, flags)

/* Implements ffi_register. The function belongs to the module `owner`. */
int __must_check ffi_register_for(struct module *owner, const char *name,
				  tvmffi_func *func, unsigned int flags);

/*
 * Makes a function object of the module `owner`. The caller owns *out, a
 * reference, and releases it by tvmffi_release. `deleter` may be NULL. On
 * success the function owns `self`: the deleter runs once, when the last
 * reference is released or the module is unloaded, whichever comes first. A
 * call after that gives -ENODEV.
 */
int __must_check ffi_function_new(struct module *owner, unsigned int flags,
				  TVMFFISafeCallType call, void *self,
				  void (*deleter)(void *self),
				  TVMFFIObject **out);

/*
 * Makes a function object of this module from TVMFFI_CLOSURE(id, State, ...).
 * `self` is a State *; the rest is as for ffi_function_new. In the body of a
 * function, tvmffi_scope_attach(*out) gives the reference to its scope.
 */
#define ffi_closure_new(id, flags, self, deleter, out)                         \
	ffi_function_new(THIS_MODULE, flags, tvmffi_func_##id.call, self,      \
			 deleter, out)

/*
 * Registers a function object (borrowed) of ffi_function_new under a name,
 * which is copied. Of the flags only FFI_REPLACE counts. Returns -EBUSY if the
 * object has a name already, else as ffi_register.
 */
int __must_check ffi_function_register(const char *name, TVMFFIObject *function,
				       unsigned int flags);

/*
 * Removes a name, also another module's. Returns -ENOENT if it is not
 * registered. The deleter of the function's state may run.
 */
int ffi_unregister(const char *name);

/*
 * Ends all functions of a module: waits for their calls, removes their names,
 * runs the deleters of their states, and drops the pins of ffi_get, whose
 * holders get -ENODEV from then on. The runtime does so when a module is
 * unloaded or its init has failed, but after the module's exit or init has
 * returned. So an exit, or an init that fails after it registered a function,
 * calls this before it frees what its functions or deleters use:
 * ffi_module_end(THIS_MODULE). A function of the module must not call it: it
 * would wait for itself.
 */
void ffi_module_end(struct module *owner);

/*
 * Looks up a function and pins its module: until ffi_put, the module cannot be
 * unloaded. The caller owns *out. Returns -ENOENT if there is no function of
 * this name, or -ENODEV if its module is being unloaded.
 */
int __must_check ffi_get(const char *name, TVMFFIObject **out);

/* Releases a function that ffi_get returned. */
void ffi_put(TVMFFIObject *function);

/*
 * Takes the task's pending error and returns its error number: see README.md.
 * Returns -EIO if no error is pending. If `size` is not 0, writes the kind and
 * the message to `text`, truncated to `size` bytes with a NUL.
 */
int ffi_error(char *text, size_t size);

/*
 * Raises an error that ffi_error translates to `error`, a negative error
 * number: an OSError with the text "[Errno N] " before the message, as in
 * Python, or a MemoryError for -ENOMEM. Returns -1, for a function to return.
 */
__printf(2, 3) int ffi_raise(int error, const char *format, ...);

/*
 * Calls a function by its name like tvmffi_call(name, out, arguments...), but
 * returns an error number and drops the error's message: -ENOENT if there is
 * no function of this name.
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

/*
 * Calls a function object, which ffi_get returned before, in any context but
 * an NMI: with a spinlock, or in an interrupt. The result and the arguments are
 * numbers, pointers or text. Returns an error number: -EPERM if the function
 * was registered without FFI_ATOMIC. No step of a call sleeps, takes a lock or
 * calls the kernel's allocator, also with CONFIG_PREEMPT_RT: objects, such as
 * those of an error, are in memory of the processor.
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

/*
 * Frees the running task's state, with its pending error, at once. Otherwise
 * the runtime frees it some seconds after the task has ended.
 */
void ffi_task_end(void);

/* Returns the number of tasks with a state, for tests. */
int ffi_task_count(void);

/*
 * Begin and end the runtime. Only the module that contains it calls them: in
 * its init, and in its exit or after a failure of its init.
 */
int __must_check ffi_runtime_begin(void);
void ffi_runtime_end(void);

#endif
