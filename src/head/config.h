/* ======== Options ============================================= >>head/config
   every option: its meaning and its default */
/* All options are value-tested: 0 (the default) or 1. "All": must be the same
   in every file of the program. "Impl": read only by the file that defines
   TVMFFI_IMPLEMENTATION. The hooks of a port are in the first comment. */

#pragma once

#if defined(TVMFFI_PORT)
#include TVMFFI_PORT
#endif

/* Version of this header; the ABI's is TVM_FFI_VERSION_*. */
#define TVMFFI_VERSION_MAJOR 0
#define TVMFFI_VERSION_MINOR 1
#define TVMFFI_VERSION_PATCH 0

/* Impl. The runtime is private to the one file that includes it. */
#ifndef TVMFFI_STATIC
#define TVMFFI_STATIC 0
#endif

/* All. TVMFFI_PREFIX, undefined by default: a token put before the name of
   every exported function. */

/* All. The files of a program or library share the runtime of the implementing
   one among themselves (with TVMFFI_STATIC: that file alone has it), and use it
   only where the process has no libtvm_ffi: see >>tables/dynamic. The functions
   of the ABI are then macros that give pointers, and no constants. */
#ifndef TVMFFI_DYNAMIC
#define TVMFFI_DYNAMIC 0
#endif

/* All. Nothing of libc. The defaults of TVMFFI_NO_THREADS, _NO_POOL, _NO_STDIO,
   _NO_BACKTRACE and _NO_DLOPEN are 1, and memory is a hook or an arena. */
#ifndef TVMFFI_FREESTANDING
#define TVMFFI_FREESTANDING 0
#endif

/* All. See PORTS above. */
#ifndef TVMFFI_NO_HEADERS
#define TVMFFI_NO_HEADERS 0
#endif

/* Impl. See PORTS above. */
#ifndef TVMFFI_NO_OWN_STRING
#define TVMFFI_NO_OWN_STRING 0
#endif

/* Impl. TVMFFI_MALLOC(size) and TVMFFI_FREE(pointer), both or none: where all
   memory of the runtime comes from, aligned to 8 bytes at least. Default:
   malloc and free. In any other file: memory of its scopes with more than
   twelve objects. */

/* Impl. TVMFFI_ARENA_SIZE, undefined by default: the bytes of a static arena
   that all memory is taken from, instead of these two. */

/* Impl. The memory of dead objects is freed at once. By default each thread
   keeps blocks of less than half a kilobyte in free lists, for the objects that
   it makes next: see >>platform/memory. Free lists are off with TVMFFI_DEBUG
   and in builds for a sanitizer; valgrind, too, sees more without them. */
#ifndef TVMFFI_NO_POOL
#define TVMFFI_NO_POOL TVMFFI_FREESTANDING
#endif

/* All. One thread only: no atomics, locks or thread-local storage. */
#ifndef TVMFFI_NO_THREADS
#define TVMFFI_NO_THREADS TVMFFI_FREESTANDING
#endif

/* Any file. For a shared library that a process has once: thread-local state
   lies in the block that glibc reserves for each thread in advance, so that no
   call is needed to find it. That block has room for some four libraries of
   this kind that are loaded by dlopen; a fifth fails to load. Only with glibc.
 */
#ifndef TVMFFI_STATIC_TLS
#define TVMFFI_STATIC_TLS 0
#endif

/* All. No floating-point code; a float value is still passed on as it is. */
#ifndef TVMFFI_NO_FLOAT
#define TVMFFI_NO_FLOAT 0
#endif

/* All. No stdio: messages are formatted by a small formatter (%d %i %u %x %c
   %s %p %% with l, ll, z, width 0 and precision of %s), nothing is printed. */
#ifndef TVMFFI_NO_STDIO
#define TVMFFI_NO_STDIO TVMFFI_FREESTANDING
#endif

/* Impl. No stack traces: an error names only where it was raised. */
#ifndef TVMFFI_NO_BACKTRACE
#define TVMFFI_NO_BACKTRACE TVMFFI_FREESTANDING
#endif

/* Impl. No dlopen and no other use of the dynamic loader: TVMFFI_DYNAMIC never
   finds another runtime. */
#ifndef TVMFFI_NO_DLOPEN
#define TVMFFI_NO_DLOPEN TVMFFI_FREESTANDING
#endif

/* All. No table of types, which takes some 5 KB of memory: the types of the ABI
   are all that there are, TVMFFIGetTypeInfo gives NULL, and functions have no
   type schema. Implies TVMFFI_NO_CONTAINERS. */
#ifndef TVMFFI_NO_TYPES
#define TVMFFI_NO_TYPES 0
#endif

/* Impl. No arrays, lists, maps, dicts and modules, and none of their built-in
   functions; values of these types are still passed on as they are. */
#ifndef TVMFFI_NO_CONTAINERS
#define TVMFFI_NO_CONTAINERS TVMFFI_NO_TYPES
#endif
#if TVMFFI_NO_TYPES && !TVMFFI_NO_CONTAINERS
#error "tvmffi.h: TVMFFI_NO_TYPES needs TVMFFI_NO_CONTAINERS"
#endif

/* Impl. No comparison, representation, structural operations and JSON of
   values, and none of their built-in functions. NO_CONTAINERS implies it. */
#ifndef TVMFFI_NO_EXTRA
#define TVMFFI_NO_EXTRA TVMFFI_NO_CONTAINERS
#elif TVMFFI_NO_CONTAINERS && !TVMFFI_NO_EXTRA
#undef TVMFFI_NO_EXTRA
#define TVMFFI_NO_EXTRA 1
#endif

/* Impl. TVMFFI_BUILTINS, undefined by default: the built-in functions to have
   instead of all, as entries of their table (>>tables/builtin), each with its
   comma; what only the others use is then left out by the linker. The C
   interface of a container needs the functions of that container. */

/* All. Use <dlpack/dlpack.h> of the system, 1.3 or newer, for DLPack. */
#ifndef TVMFFI_SYSTEM_DLPACK
#define TVMFFI_SYSTEM_DLPACK 0
#endif

/* Any file. Leave out the C interface: the declarations of the ABI alone. The
   implementing file has it all the same. */
#ifndef TVMFFI_ABI_ONLY
#define TVMFFI_ABI_ONLY 0
#endif

/* Any file. Finds leaks and releases of what is dead, slowly. In the
   implementing file: the runtime notes its live objects, and keeps the last
   1024 dead ones from being used again. In any other: notes where it was handed
   an object, and where it dropped the last reference. See tvmffi_leak_report.
 */
#ifndef TVMFFI_DEBUG
#define TVMFFI_DEBUG 0
#endif

/* Any file. TVM's old calling convention: see >>interface/legacy. */
#ifndef TVMFFI_LEGACY
#define TVMFFI_LEGACY 0
#endif

/* All. The longest message that TVMFFI_RAISE formats, in bytes with its end;
   a longer one is cut and ends in "...". It stands on the stack. So do the type
   schema of a function that is registered, up to four times as long, and the
   parts of an error of types, which are left out where there is no room. */
#ifndef TVMFFI_MESSAGE_SIZE
#define TVMFFI_MESSAGE_SIZE 1024
#endif
#if TVMFFI_MESSAGE_SIZE < 64
#error "tvmffi.h: TVMFFI_MESSAGE_SIZE must be 64 at least"
#endif

#if TVMFFI_FREESTANDING && \
    !(TVMFFI_NO_STDIO && TVMFFI_NO_BACKTRACE && TVMFFI_NO_DLOPEN)
#error "tvmffi.h: TVMFFI_FREESTANDING has no stdio, backtraces and dlopen"
#endif
#if TVMFFI_FREESTANDING && !TVMFFI_NO_THREADS && \
    !(defined(TVMFFI_LOCK) && defined(TVMFFI_THREAD_LOCAL))
#error "tvmffi.h: threads need TVMFFI_LOCK, _UNLOCK and TVMFFI_THREAD_LOCAL"
#endif
#if defined(TVMFFI_ARENA_SIZE) && defined(TVMFFI_MALLOC)
#error "tvmffi.h: TVMFFI_ARENA_SIZE or TVMFFI_MALLOC, not both"
#endif
#if defined(TVMFFI_MALLOC) != defined(TVMFFI_FREE)
#error "tvmffi.h: define both TVMFFI_MALLOC and TVMFFI_FREE, or neither"
#endif
#if defined(TVMFFI_LOCK) != defined(TVMFFI_UNLOCK)
#error "tvmffi.h: define both TVMFFI_LOCK and TVMFFI_UNLOCK, or neither"
#endif
#if defined(TVMFFI_ATOMIC_ENTER) != defined(TVMFFI_ATOMIC_LEAVE)
#error "tvmffi.h: define both TVMFFI_ATOMIC_ENTER and _LEAVE, or neither"
#endif
#if defined(TVMFFI_ATOMIC_CAS) && \
    !(defined(TVMFFI_ATOMIC_LOAD) && defined(TVMFFI_ATOMIC_STORE))
#error "tvmffi.h: TVMFFI_ATOMIC_CAS needs TVMFFI_ATOMIC_LOAD and _STORE"
#endif
