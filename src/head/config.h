/* ======== Options ============================================= >>head/config
   every option: its meaning and its default */
/* Each option is 0 (the default) or 1. A macro without a default below is
   undefined by default. The comment of each says which files must define it:
     for the whole program     all files, with the same value
     in the implementing file  the file that defines TVMFFI_IMPLEMENTATION
     in a file                 any file, each with its own value
   PORTS in the first comment of tvmffi.h describes the hooks of a port. */

#pragma once

/* Define TVMFFI_PORT for the whole program as the quoted name of a header:
   -DTVMFFI_PORT='"port.h"'. The header is included here, before anything else,
   and defines options and hooks. */
#if defined(TVMFFI_PORT)
#include TVMFFI_PORT
#endif

/* Define TVMFFI_IMPLEMENTATION before the include in exactly one file of a
   program: that file contains the runtime. If no file defines it, the process
   must load the shared library libtvm_ffi. */

/* The version of this header. The version of the ABI is TVM_FFI_VERSION_*. */
#define TVMFFI_VERSION_MAJOR 0
#define TVMFFI_VERSION_MINOR 1
#define TVMFFI_VERSION_PATCH 0

/* Define as 1 in the implementing file to make all functions static. The
   runtime is then private to that file. */
#ifndef TVMFFI_STATIC
#define TVMFFI_STATIC 0
#endif

/* Define TVMFFI_PREFIX for the whole program as a token that is put before the
   name of every exported function. */

/* Define as 1 for the whole program to have the functions of the C interface
   that run rarely, such as errors and registration, once: in the implementing
   file instead of in each file. Files that are compiled for size also share
   calls and the functions of containers. Files are then smaller and compile
   faster. Needs a GNU compiler, and has no effect with TVMFFI_STATIC, whose
   runtime other files do not use, or with TVMFFI_DEBUG, so define that for all
   files or for none. A file does not link if its header's version is not that
   file's, or if only one of them has TVMFFI_NO_METADATA or TVMFFI_NO_THREADS:
   the linker then misses names that begin with tvmffi_i_ and the version. */
#ifndef TVMFFI_SHARE_INTERFACE
#define TVMFFI_SHARE_INTERFACE 0
#endif

/* Define as 1 for the whole program to use the process's libtvm_ffi if there is
   one. If there is none, all files of the program or library share the runtime
   of the implementing file; with TVMFFI_STATIC, only that file uses its
   runtime. Each ABI function becomes a macro that loads a pointer, so its
   address is not a constant expression. */
#ifndef TVMFFI_DYNAMIC
#define TVMFFI_DYNAMIC 0
#endif

/* Define as 1 for the whole program to build without libc. TVMFFI_NO_THREADS,
   _NO_POOL, _NO_STDIO, _NO_BACKTRACE and _NO_DLOPEN are then 1 by default.
   Memory comes from TVMFFI_MALLOC or a static arena. */
#ifndef TVMFFI_FREESTANDING
#define TVMFFI_FREESTANDING 0
#endif

/* Define as 1 for the whole program to include no standard header: the port
   then declares the contents of these headers. See PORTS in the first
   comment. */
#ifndef TVMFFI_NO_HEADERS
#define TVMFFI_NO_HEADERS 0
#endif

/* Define as 1 in the implementing file if the program defines memcpy, strlen
   and the like. PORTS in the first comment lists these functions. */
#ifndef TVMFFI_NO_OWN_STRING
#define TVMFFI_NO_OWN_STRING 0
#endif

/* Define TVMFFI_MALLOC(size) and TVMFFI_FREE(pointer), both or neither, in the
   implementing file to replace malloc and free in the runtime. Memory must be
   aligned to 8 bytes or more. If another file defines both, only that file's
   new tensors and its scopes of more than twelve objects use them. */

/* Define TVMFFI_ARENA_SIZE in the implementing file as the size in bytes of a
   static arena, which replaces TVMFFI_MALLOC and TVMFFI_FREE. */

/* Define as 1 in the implementing file to free dead objects immediately. By
   default each thread caches freed blocks below 512 bytes (platform/memory.h).
   TVMFFI_DEBUG and sanitizer builds have no cache. Without a cache, valgrind
   finds more errors. */
#ifndef TVMFFI_NO_POOL
#define TVMFFI_NO_POOL TVMFFI_FREESTANDING
#endif

/* Define as 1 for the whole program if only one thread uses the runtime. The
   build then has no atomics, locks or thread-local storage. */
#ifndef TVMFFI_NO_THREADS
#define TVMFFI_NO_THREADS TVMFFI_FREESTANDING
#endif

/* Define as 1 for the whole program to build without floating-point code. Float
   values still pass through calls. */
#ifndef TVMFFI_NO_FLOAT
#define TVMFFI_NO_FLOAT 0
#endif

/* Define as 1 for the whole program to build without stdio. Nothing is printed.
   A small formatter writes messages; it supports %d %i %u %x %c %s %p %% with
   l, ll, z, a zero-padded width, and a precision for %s. */
#ifndef TVMFFI_NO_STDIO
#define TVMFFI_NO_STDIO TVMFFI_FREESTANDING
#endif

/* Define as 1 in the implementing file to build without stack traces. An error
   then has only the place that raised it. */
#ifndef TVMFFI_NO_BACKTRACE
#define TVMFFI_NO_BACKTRACE TVMFFI_FREESTANDING
#endif

/* Define as 1 in the implementing file to build without dlopen and the dynamic
   loader. TVMFFI_DYNAMIC then never finds another runtime. */
#ifndef TVMFFI_NO_DLOPEN
#define TVMFFI_NO_DLOPEN TVMFFI_FREESTANDING
#endif

/* Define as 1 for the whole program to leave out the type registry, which saves
   about 2 KB. Only the ABI's own types then exist, TVMFFIGetTypeInfo returns
   NULL, and functions have no type schema. Implies TVMFFI_NO_CONTAINERS. */
#ifndef TVMFFI_NO_TYPES
#define TVMFFI_NO_TYPES 0
#endif

/* Define as 1 in a file, or with TVMFFI_SHARE_INTERFACE for the whole program,
   to leave out the metadata of functions: type schemas, names and defaults of
   parameters, and TVMFFI_DOC. Calls still use the defaults. */
#ifndef TVMFFI_NO_METADATA
#define TVMFFI_NO_METADATA TVMFFI_NO_TYPES
#elif TVMFFI_NO_TYPES && !TVMFFI_NO_METADATA
#undef TVMFFI_NO_METADATA
#define TVMFFI_NO_METADATA 1
#endif

/* Define as 1 in the implementing file to leave out arrays, lists, maps, dicts
   and modules, with their built-in functions. Values of these types still pass
   through calls. */
#ifndef TVMFFI_NO_CONTAINERS
#define TVMFFI_NO_CONTAINERS TVMFFI_NO_TYPES
#endif
#if TVMFFI_NO_TYPES && !TVMFFI_NO_CONTAINERS
#error "tvmffi.h: TVMFFI_NO_TYPES needs TVMFFI_NO_CONTAINERS"
#endif

/* Define as 1 in the implementing file to leave out comparison, repr,
   structural operations, visits and JSON, with their built-in functions.
   TVMFFI_NO_CONTAINERS implies this option. */
#ifndef TVMFFI_NO_EXTRA
#define TVMFFI_NO_EXTRA TVMFFI_NO_CONTAINERS
#elif TVMFFI_NO_CONTAINERS && !TVMFFI_NO_EXTRA
#undef TVMFFI_NO_EXTRA
#define TVMFFI_NO_EXTRA 1
#endif

/* Define as 1 in the implementing file to leave out the fields, methods and
   attributes of the runtime's own types, which saves about 40 KB, and the
   built-in functions that need them: DeepCopy, VisitInterrupt, ToJSONGraph,
   FromJSONGraph, and those that begin with Recursive, Structural or
   GetFirstStructural. Your own types keep their members. TVMFFI_NO_CONTAINERS
   implies this option. */
#ifndef TVMFFI_NO_REFLECTION
#define TVMFFI_NO_REFLECTION TVMFFI_NO_CONTAINERS
#elif TVMFFI_NO_CONTAINERS && !TVMFFI_NO_REFLECTION
#undef TVMFFI_NO_REFLECTION
#define TVMFFI_NO_REFLECTION 1
#endif

/* Define as 1 in the implementing file to leave out all built-in functions. The
   C interface of containers needs built-in functions: see TVMFFI_BUILTINS. */
#ifndef TVMFFI_NO_BUILTINS
#define TVMFFI_NO_BUILTINS 0
#endif

/* Define TVMFFI_BUILTINS(F) in the implementing file as the list of the
   built-in functions that the program needs: F(List) F(json_Parse) for ffi.List
   and ffi.json.Parse. The linker then drops the others. A name is the public
   one without "ffi.", and has '_' instead of '.'. The C interface uses these:
     a new container or shape        Array, List, Map, Dict, Shape
     tvmffi_get of a map or dict     MapGetItemOrMissing, DictGetItemOrMissing,
                                     GetInvalidObject
     tvmffi_set                      ListSetItem, DictSetItem
     tvmffi_contains                 ArrayContains, ListContains, MapCount,
                                     DictCount
     tvmffi_append, tvmffi_erase     ListAppend, ListErase, DictErase
     tvmffi_print                    ReprPrint */

/* Define as 1 for the whole program to include the system's <dlpack/dlpack.h>,
   which must be 1.3 or a later 1.x. */
#ifndef TVMFFI_SYSTEM_DLPACK
#define TVMFFI_SYSTEM_DLPACK 0
#endif

/* Define as 1 in a file to declare only the ABI, without the C interface. The
   implementing file always has the interface. */
#ifndef TVMFFI_ABI_ONLY
#define TVMFFI_ABI_ONLY 0
#endif

/* Define as 1 in a file to detect leaks and releases of dead objects; this is
   slow. The implementing file then records all live objects, and reuses the
   memory of an object only after 1024 others died. Any other file records where
   it received an object and where it released the last reference. See
   tvmffi_leak_report. */
#ifndef TVMFFI_DEBUG
#define TVMFFI_DEBUG 0
#endif

/* Define TVMFFI_ASSERT(condition) in the implementing file, as an expression
   such as assert(condition), to check the runtime's invariants: that a lock is
   held, that memory is reserved, that a count is above 0. An invalid call by
   your code raises an error and fails no assertion, unless it uses an object
   that is dead. By default nothing is checked. */
#ifdef TVMFFI_ASSERT
#define TVMFFI_I_ASSERTS 1
#else
#define TVMFFI_I_ASSERTS 0
#define TVMFFI_ASSERT(condition) ((void)0)
#endif

/* Define for the whole program as the size in bytes of the stack buffer in
   which TVMFFI_RAISE formats a message. A longer message is truncated and ends
   in "...". Registering a function uses a buffer of up to four times this size
   for its type schema. The message of a type error omits what does not fit. */
#ifndef TVMFFI_MESSAGE_SIZE
#define TVMFFI_MESSAGE_SIZE 1024
#endif
#if TVMFFI_MESSAGE_SIZE < 64
#error "tvmffi.h: TVMFFI_MESSAGE_SIZE must be 64 at least"
#endif

#if defined(TVMFFI_LEGACY)
#error "tvmffi.h: TVMFFI_LEGACY is the header tvmffi_legacy.h now"
#endif
#if defined(TVMFFI_STATIC_TLS)
#error "tvmffi.h: TVMFFI_STATIC_TLS is gone, glibc's static TLS is always used"
#endif
#if TVMFFI_FREESTANDING && \
    !(TVMFFI_NO_STDIO && TVMFFI_NO_BACKTRACE && TVMFFI_NO_DLOPEN)
#error "tvmffi.h: TVMFFI_FREESTANDING has no stdio, backtraces and dlopen"
#endif
#if TVMFFI_FREESTANDING && !TVMFFI_NO_THREADS &&       \
    !(defined(TVMFFI_LOCK) && defined(TVMFFI_YIELD) && \
      defined(TVMFFI_THREAD_LOCAL))
#error "tvmffi.h: threads need TVMFFI_LOCK, _UNLOCK, _YIELD and _THREAD_LOCAL"
#endif
#if defined(TVMFFI_ARENA_SIZE) && defined(TVMFFI_MALLOC)
#error "tvmffi.h: TVMFFI_ARENA_SIZE or TVMFFI_MALLOC, not both"
#endif
#if defined(TVMFFI_MALLOC) != defined(TVMFFI_FREE)
#error "tvmffi.h: define both TVMFFI_MALLOC and TVMFFI_FREE, or neither"
#endif
#if defined(TVMFFI_BUILTINS) && TVMFFI_NO_BUILTINS
#error "tvmffi.h: TVMFFI_BUILTINS or TVMFFI_NO_BUILTINS, not both"
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
