/* tvmffi.h - the TVM FFI in one C header. Version 0.1.0.

   SPDX-License-Identifier: Apache-2.0 OR MIT

   WHAT IT IS

   TVM FFI is the binary interface by which machine-learning compilers,
   kernels and languages call each other: a tagged 16-byte value (TVMFFIAny),
   reference-counted objects, packed functions, error objects, a type registry
   with reflection, strings, containers, modules, and tensors exchanged by
   DLPack. This file holds its declarations (the ABI of apache-tvm-ffi
   0.1.15.post2, which reports 0.1.16, and of DLPack 1.3), an interface that
   makes using them from C pleasant, and, on request, a complete runtime that
   needs only libc.

   WHAT IT IS NOT

   Not a binding of the C++ library: nothing of that library is needed. Not a
   tensor library: it passes tensors on and never computes with them.

   QUICK START

   A kernel that `tvm_ffi.load_module` finds; the runtime is the caller's:

       #include "tvmffi.h"
       TVMFFI_EXPORT(add, int64, (int64, a), (int64, b)) {
         TVMFFI_RETURN(a + b);
       }

   A program that carries its own runtime (one file defines the macro):

       #define TVMFFI_IMPLEMENTATION
       #include "tvmffi.h"
       TVMFFI_FUNC(square, int64, (int64, x)) { TVMFFI_RETURN(x * x); }
       int main(void) {
         int64_t nine = 0;
         if (tvmffi_register("demo.square", square)) return 1;
         return tvmffi_call("demo.square", &nine, 3) || nine != 9;
       }

       cc program.c -lpthread

   That calls with plain values needs C11 or C++; in C99 each value is made by
   its constructor: tvmffi_int(3), tvmffi_str("demo.square").

   A struct that Python sees as a class, and a scope that releases what is made
   in it:

       typedef struct { TVMFFIObject base; double x, y; } Point;
       TVMFFI_TYPE(Point, "demo.Point", TVMFFIObject,
                   (field, float64, x), (field, float64, y, 0.0))
       static int show(void) {
         TVMFFI_SCOPE {
           Point *p;
           TVMFFI_TRY(tvmffi_new(Point, &p, 3.0));
           TVMFFI_TRY(tvmffi_print(stdout, tvmffi_list(1, "two", &p->base)));
         }
         return 0;
       }

   LINKING

   In exactly one C or C++ file of a program, define TVMFFI_IMPLEMENTATION
   before the include; all other files include it as it is. A file that is
   loaded into a process which has a libtvm_ffi defines nothing. With
   TVMFFI_STATIC the runtime is private to one file; with TVMFFI_PREFIX the
   exported functions get other names, so that two copies live in one program;
   with TVMFFI_DYNAMIC it is used only where the process has no libtvm_ffi.
   Nothing runs at load: the runtime starts itself at its first use.

   OWNERSHIP

   A handle (TVMFFIObjectHandle) or an owned TVMFFIAny is one strong
   reference. "Borrowed": the callee may use it during the call. "Owned": the
   receiver must release it. "Taken": the callee releases it from now on.
   Arguments of a packed function are borrowed, its result is owned by the
   caller. What the C interface hands out belongs to the innermost scope of the
   file instead, if there is one (>>scopes). Strings of up to 7 bytes live
   inside the Any and own nothing. A count that reaches 2^31 is pinned: the
   object is never freed, and no count wraps around.

   THREADS

   Every function may be called from any thread, unless its comment says
   otherwise. Reading the function table, the type table and attribute columns
   takes no lock. One object's content is as safe as its type makes it;
   reference counts are atomic. With TVMFFI_NO_THREADS nothing is.

   ERRORS

   A function that can fail returns 0, or -1 with an error object in the
   thread's slot (-2 where the environment, Python say, holds an error of its
   own). TVMFFI_TRY passes it on, tvmffi_error_take takes it out. No bad input,
   and no refused allocation, ends the process. The error for lack of memory
   exists beforehand.

   CONTENTS

     >>config     every option: its meaning and its default
     >>compiler   language, export, atomics
     >>dlpack     DLPack 1.3 types
     >>abi        constants, structs and functions of the ABI
     >>values     C interface: plain C values to and from Any, references
     >>errors     C interface: raise, pass on, catch, print
     >>scopes     C interface: what is made inside a scope ends with it
     >>typed      C interface: typed functions
     >>calls      C interface: calls with plain C values
     >>containers C interface: arrays, lists, maps, dicts, shapes
     >>tensors    C interface: checks, elements, loops, new tensors
     >>types      C interface: structs as types with fields and methods
     >>legacy     C interface: TVM's calling convention of before TVM FFI
     >>layout     implementation: static asserts of the whole ABI
     >>platform   implementation: libc, threads, thread-local state
     >>util       implementation: memory, hash, insert-only map
     >>raise      implementation: how the runtime reports its own errors
     >>object     implementation: references, allocator, opaque objects
     >>any        implementation: strings, bytes, big integers, owned values
     >>backtrace  implementation: stack traces, symbolised once
     >>error      implementation: error objects and the thread's slot
     >>registry   implementation: type table, reflection, attribute columns
     >>function   implementation: function objects and the global table
     >>dtype      implementation: data types as text
     >>tensor     implementation: tensors and DLPack
     >>equal      implementation: equality and hash of any two values
     >>array      implementation: arrays and lists
     >>map        implementation: maps and dicts
     >>module     implementation: modules, libraries, their imports
     >>env        implementation: streams, allocators, signals, handles
     >>reflection implementation: built-in types, making objects by their fields
     >>compare    implementation: recursive comparison and hash, repr
     >>structural implementation: structural equality, hash and keys
     >>visit      implementation: structural visits and mutations
     >>json       implementation: JSON texts, read and written
     >>serial     implementation: values with all they refer to, as JSON
     >>builtins   implementation: the core's own global functions
     >>dynamic    implementation: this runtime, or the process's
*/

/* ======== Config ================================================= >>config */
/* All options are value-tested: 0 (the default) or 1. "All": must be the same
   in every file of the program. "Impl": read only by the file that defines
   TVMFFI_IMPLEMENTATION. */

#ifndef TVMFFI_H_
#define TVMFFI_H_

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
   only where the process has no libtvm_ffi: see >>dynamic. The functions of the
   ABI are then macros that give pointers, and no constants. */
#ifndef TVMFFI_DYNAMIC
#define TVMFFI_DYNAMIC 0
#endif

/* Impl. TVMFFI_MALLOC(size) and TVMFFI_FREE(pointer), both or none: where all
   memory of the runtime comes from, aligned to 8 bytes at least. Default:
   malloc and free. In any other file: memory of its scopes with more than
   twelve objects. */

/* Impl. Memory of dead objects is freed at once. By default each thread keeps
   up to 1 MB of it, in blocks of less than half a kilobyte, for the objects
   that it makes next: see >>util. Off with TVMFFI_DEBUG and in builds for a
   sanitizer; valgrind, too, sees more with it. */
#ifndef TVMFFI_NO_POOL
#define TVMFFI_NO_POOL 0
#endif

/* All. One thread only: no atomics, locks or thread-local storage. */
#ifndef TVMFFI_NO_THREADS
#define TVMFFI_NO_THREADS 0
#endif

/* All. No floating-point code; a float value is still passed on as it is. */
#ifndef TVMFFI_NO_FLOAT
#define TVMFFI_NO_FLOAT 0
#endif

/* All. No stdio: messages are formatted by a small formatter (%d %i %u %x %c
   %s %p %% with l, ll, z, width 0 and precision of %s), nothing is printed. */
#ifndef TVMFFI_NO_STDIO
#define TVMFFI_NO_STDIO 0
#endif

/* Impl. No stack traces: an error names only where it was raised. */
#ifndef TVMFFI_NO_BACKTRACE
#define TVMFFI_NO_BACKTRACE 0
#endif

/* Impl. No dlopen and no other use of the dynamic loader: TVMFFI_DYNAMIC never
   finds another runtime. */
#ifndef TVMFFI_NO_DLOPEN
#define TVMFFI_NO_DLOPEN 0
#endif

/* Impl. No arrays, lists, maps, dicts and modules, and none of their built-in
   functions; values of these types are still passed on as they are. */
#ifndef TVMFFI_NO_CONTAINERS
#define TVMFFI_NO_CONTAINERS 0
#endif

/* Impl. No comparison, representation, structural operations and JSON of
   values, and none of their built-in functions. NO_CONTAINERS implies it. */
#ifndef TVMFFI_NO_EXTRA
#define TVMFFI_NO_EXTRA TVMFFI_NO_CONTAINERS
#elif TVMFFI_NO_CONTAINERS && !TVMFFI_NO_EXTRA
#undef TVMFFI_NO_EXTRA
#define TVMFFI_NO_EXTRA 1
#endif

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

/* Any file. Functions of TVM's old calling convention: see >>legacy. */
#ifndef TVMFFI_LEGACY
#define TVMFFI_LEGACY 0
#endif

/* All. The longest message that TVMFFI_RAISE formats, in bytes with its end;
   a longer one is cut and ends in "...". It stands on the stack. */
#ifndef TVMFFI_MESSAGE_SIZE
#define TVMFFI_MESSAGE_SIZE 1024
#endif
#if TVMFFI_MESSAGE_SIZE < 64
#error "tvmffi.h: TVMFFI_MESSAGE_SIZE must be 64 at least"
#endif

/* ======== Compiler ============================================= >>compiler */
/* What differs between compilers and languages; the only place that asks. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define TVMFFI_I_CAT_(a, b) a##b
#define TVMFFI_I_CAT(a, b) TVMFFI_I_CAT_(a, b)

/* The cell of an object: what follows its head. */
#define TVMFFI_I_CELL(type, obj) ((type *)(void *)((TVMFFIObject *)(obj) + 1))

#if defined(__GNUC__) || defined(__clang__)
#define TVMFFI_I_GNU 1
#define TVMFFI_I_UNUSED __attribute__((unused))
#define TVMFFI_I_COLD static inline __attribute__((cold, unused))
#define TVMFFI_I_SLOW static __attribute__((cold, noinline))
#define TVMFFI_I_RETURN_ADDRESS ((uintptr_t)__builtin_return_address(0))
#define TVMFFI_I_NOINLINE static __attribute__((noinline))
#define TVMFFI_I_ALWAYS_INLINE \
  static inline __attribute__((always_inline, unused))
#define TVMFFI_I_PREFETCH(pointer) __builtin_prefetch(pointer)
#define TVMFFI_I_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define TVMFFI_I_MUST_CHECK __attribute__((warn_unused_result))
#define TVMFFI_I_LIKELY(x) __builtin_expect(!!(x), 1)
#define TVMFFI_I_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TVMFFI_I_EXTENSION __extension__
#if defined(_WIN32)
#define TVMFFI_I_HIDDEN
#else
#define TVMFFI_I_HIDDEN __attribute__((visibility("hidden")))
#endif
#else
#define TVMFFI_I_GNU 0
#define TVMFFI_I_UNUSED
#define TVMFFI_I_COLD static inline
#define TVMFFI_I_SLOW static
#define TVMFFI_I_RETURN_ADDRESS 0
#define TVMFFI_I_NOINLINE static
#define TVMFFI_I_ALWAYS_INLINE static inline
#define TVMFFI_I_PREFETCH(pointer) ((void)(pointer))
#define TVMFFI_I_PRINTF(f, a)
#define TVMFFI_I_MUST_CHECK
#define TVMFFI_I_LIKELY(x) (x)
#define TVMFFI_I_UNLIKELY(x) (x)
#define TVMFFI_I_EXTENSION
#define TVMFFI_I_HIDDEN
#endif

#define TVMFFI_I_INLINE static inline TVMFFI_I_UNUSED

#if defined(__cplusplus)
#define TVMFFI_I_EXTERN_C extern "C"
#if __cplusplus >= 201103L
#define TVMFFI_STATIC_ASSERT(cond, name) static_assert(cond, #name)
#endif
#else
#define TVMFFI_I_EXTERN_C
#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define TVMFFI_STATIC_ASSERT(cond, name) _Static_assert(cond, #name)
#endif
#endif
#ifndef TVMFFI_STATIC_ASSERT
#define TVMFFI_STATIC_ASSERT(cond, name) \
  typedef char tvmffi_i_assert_##name[(cond) ? 1 : -1] TVMFFI_I_UNUSED
#endif

/* A generic selection: C11, or the overloads of C++. */
#if defined(__cplusplus) || \
    (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L)
#define TVMFFI_I_GENERIC 1
#else
#define TVMFFI_I_GENERIC 0
#endif

#if TVMFFI_I_GNU
#define TVMFFI_I_VFORMAT __builtin_vsnprintf
#elif !TVMFFI_NO_STDIO
#include <stdio.h>
#define TVMFFI_I_VFORMAT vsnprintf
#endif

/* Atomics. The orders, argued once:
   - A reference is added relaxed: the caller holds one, so nothing is new.
   - A reference is dropped acquire-release: what was done with the object by
     any thread happens before its destruction by the last one.
   - A published pointer is stored release and loaded acquire: who sees it
     sees what it points to. Published things are never changed or freed.
   - Readers of the function table announce themselves, and its writers
     look for them, sequentially consistent: one of the two sees the other. */
#if TVMFFI_NO_THREADS
#define TVMFFI_I_LOAD_RELAXED(p) (*(p))
#define TVMFFI_I_LOAD(p) (*(p))
#define TVMFFI_I_LOAD_SEQ(p) (*(p))
#define TVMFFI_I_STORE(p, v) ((void)(*(p) = (v)))
#elif TVMFFI_I_GNU && !defined(__TINYC__)
#define TVMFFI_I_LOAD_RELAXED(p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define TVMFFI_I_LOAD(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define TVMFFI_I_LOAD_SEQ(p) __atomic_load_n(p, __ATOMIC_SEQ_CST)
#define TVMFFI_I_STORE(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#else
#error "tvmffi.h: no atomics for this compiler; define TVMFFI_NO_THREADS as 1"
#endif

/* A count, which on i386 stands at a multiple of four. The processor does not
   mind, but clang would call a library: it is told eight. */
#if defined(__clang__) && defined(__i386__)
typedef uint64_t tvmffi_i_count __attribute__((aligned(8)));
#else
typedef uint64_t tvmffi_i_count;
#endif
#define TVMFFI_I_COUNT_AT(p) ((tvmffi_i_count *)(void *)(p))

TVMFFI_I_INLINE uint64_t tvmffi_i_add64(uint64_t *p, uint64_t n) {
#if TVMFFI_NO_THREADS
  uint64_t old = *p;
  *p += n;
  return old;
#else
  return __atomic_fetch_add(TVMFFI_I_COUNT_AT(p), n, __ATOMIC_RELAXED);
#endif
}

TVMFFI_I_INLINE uint64_t tvmffi_i_sub64(uint64_t *p, uint64_t n) {
#if TVMFFI_NO_THREADS
  uint64_t old = *p;
  *p -= n;
  return old;
#else
  return __atomic_fetch_sub(TVMFFI_I_COUNT_AT(p), n, __ATOMIC_ACQ_REL);
#endif
}

/* Replaces *old by `now`; on failure *old gets the present value. */
TVMFFI_I_INLINE int tvmffi_i_cas64(uint64_t *p, uint64_t *old, uint64_t now) {
#if TVMFFI_NO_THREADS
  if (*p == *old) return (void)(*p = now), 1;
  return (void)(*old = *p), 0;
#else
  return __atomic_compare_exchange_n(TVMFFI_I_COUNT_AT(p), old, now, 1,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
#endif
}

/* Replaces the pointer `old` by `now`; 0 if something else stands there. */
TVMFFI_I_INLINE int tvmffi_i_cas_pointer(void **p, void *old, void *now) {
#if TVMFFI_NO_THREADS
  if (*p != old) return 0;
  *p = now;
  return 1;
#else
  return __atomic_compare_exchange_n(p, &old, now, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED);
#endif
}

/* ======== DLPack 1.3 types ======================================= >>dlpack */
/* clang-format off */
/* The tensor exchange types under DLPack's own guard, so that a dlpack.h may
   stand before or after this file. One that stands before must be 1.3 or a
   later 1.x: a new major version has another layout. Nothing here is shared
   state; a managed tensor belongs to whoever must call its deleter. */

#if TVMFFI_SYSTEM_DLPACK && !defined(DLPACK_DLPACK_H_)
#include <dlpack/dlpack.h>
#endif

/* An enumeration of exactly 32 bits, in C even where enums are short. */
#ifdef __cplusplus
#define TVMFFI_I_ENUM(name) enum name : int32_t
#define TVMFFI_I_ENUM_NAME(name)
#else
#if TVMFFI_I_GNU && !defined(__TINYC__)
#define TVMFFI_I_ENUM(name) typedef enum __attribute__((mode(SI)))
#else
#define TVMFFI_I_ENUM(name) typedef enum
#endif
#define TVMFFI_I_ENUM_NAME(name) name
#endif

#ifdef DLPACK_DLPACK_H_

#if !defined(DLPACK_MAJOR_VERSION) || !defined(DLPACK_MINOR_VERSION)
#error "tvmffi.h needs DLPack 1.3; the dlpack.h before it is older than 1.0"
#elif DLPACK_MAJOR_VERSION < 1
#error "tvmffi.h needs DLPack 1.3; the dlpack.h before it is a 0.x"
#elif DLPACK_MAJOR_VERSION > 1
#error "tvmffi.h needs DLPack 1.3; the dlpack.h before it is 2.0 or newer"
#elif DLPACK_MINOR_VERSION < 3
#error "tvmffi.h needs DLPack 1.3; the dlpack.h before it is 1.0, 1.1 or 1.2"
#endif

#else
#define DLPACK_DLPACK_H_

#define DLPACK_MAJOR_VERSION 1
#define DLPACK_MINOR_VERSION 3

#ifdef __cplusplus
#define DLPACK_EXTERN_C extern "C"
#else
#define DLPACK_EXTERN_C
#endif
#ifndef _WIN32
#define DLPACK_DLL
#elif defined(DLPACK_EXPORTS)
#define DLPACK_DLL __declspec(dllexport)
#else
#define DLPACK_DLL __declspec(dllimport)
#endif

/* Flags of DLManagedTensorVersioned. */
#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
/* The producer made a copy: the consumer is its only user. */
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)
/* Elements under 8 bits fill a byte each instead of being packed. */
#define DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED (1UL << 2UL)

#ifdef __cplusplus
extern "C" {
#endif

/* Another major version is another layout: then only the deleter may be
   called. A newer minor version only adds enumerators. */
typedef struct {
  uint32_t major;
  uint32_t minor;
} DLPackVersion;

#ifdef __cplusplus
typedef enum : int32_t {
#else
TVMFFI_I_ENUM(DLDeviceType) {
#endif
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3, /* pinned by cudaMallocHost */
  kDLOpenCL = 4,
  kDLVulkan = 7,
  kDLMetal = 8,
  kDLVPI = 9, /* Verilog simulator */
  kDLROCM = 10,
  kDLROCMHost = 11, /* pinned by hipMallocHost */
  kDLExtDev = 12,   /* reserved for trying out a new device */
  kDLCUDAManaged = 13,
  kDLOneAPI = 14,
  kDLWebGPU = 15,
  kDLHexagon = 16,
  kDLMAIA = 17,
  kDLTrn = 18 /* AWS Trainium */
} DLDeviceType;

/* device_id is 0 for plain, pinned and managed host memory. */
typedef struct {
  DLDeviceType device_type;
  int32_t device_id;
} DLDevice;

typedef enum {
  kDLInt = 0U,
  kDLUInt = 1U,
  kDLFloat = 2U,
  kDLOpaqueHandle = 3U,
  kDLBfloat = 4U,
  kDLComplex = 5U, /* real part, imaginary part */
  kDLBool = 6U,
  kDLFloat8_e3m4 = 7U,
  kDLFloat8_e4m3 = 8U,
  kDLFloat8_e4m3b11fnuz = 9U,
  kDLFloat8_e4m3fn = 10U,
  kDLFloat8_e4m3fnuz = 11U,
  kDLFloat8_e5m2 = 12U,
  kDLFloat8_e5m2fnuz = 13U,
  kDLFloat8_e8m0fnu = 14U,
  kDLFloat6_e2m3fn = 15U, /* bits is 6 */
  kDLFloat6_e3m2fn = 16U,
  kDLFloat4_e2m1fn = 17U /* bits is 4 */
} DLDataTypeCode;

/* An element is `lanes` numbers of `bits` bits of native byte order; `code` is
   a DLDataTypeCode. Packed elements start at the least significant bit. */
typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

/* A view of a tensor: it owns nothing. Strides count elements; from 1.2 on
   they are given whenever ndim is not 0. */
typedef struct {
  void *data; /* possibly an opaque device handle; NULL when empty */
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset; /* from data to the first element */
} DLTensor;

/* The unversioned owner of a tensor, kept for old producers. The deleter
   frees the struct too; it may be NULL. */
typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx; /* the producer's own, may be NULL */
  void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

/* The owner of a tensor. Version to flags stay where they are for ever, so
   that the deleter can always be found. */
typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags; /* DLPACK_FLAG_BITMASK_* */
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

/* The exchange table of a Python tensor type: each function returns 0, or -1
   with the error set, and throws nothing. None waits for a stream. */

/* Allocates an owned *out like the borrowed prototype (its device, dtype, ndim
   and shape). On failure SetError is called with error_ctx. */
typedef int (*DLPackManagedTensorAllocator)(
    DLTensor *prototype, DLManagedTensorVersioned **out, void *error_ctx,
    void (*SetError)(void *error_ctx, const char *kind, const char *message));

/* Exports a borrowed Python tensor as an owned *out. */
typedef int (*DLPackManagedTensorFromPyObjectNoSync)(
    void *py_object, DLManagedTensorVersioned **out);

/* Fills *out with a view that is valid until control returns to Python. */
typedef int (*DLPackDLTensorFromPyObjectNoSync)(void *py_object, DLTensor *out);

/* Gets the stream on which the device works now; NULL for the host. */
typedef int (*DLPackCurrentWorkStream)(DLDeviceType device_type,
                                       int32_t device_id,
                                       void **out_current_stream);

/* Imports a tensor, which is taken, as an owned Python object. */
typedef int (*DLPackManagedTensorToPyObjectNoSync)(
    DLManagedTensorVersioned *tensor, void **out_py_object);

/* The part that never changes: prev_api leads to tables of older versions. */
typedef struct DLPackExchangeAPIHeader {
  DLPackVersion version;
  struct DLPackExchangeAPIHeader *prev_api;
} DLPackExchangeAPIHeader;

/* Lives as long as the process. Only the view function may be NULL. */
typedef struct DLPackExchangeAPI {
  DLPackExchangeAPIHeader header;
  DLPackManagedTensorAllocator managed_tensor_allocator;
  DLPackManagedTensorFromPyObjectNoSync managed_tensor_from_py_object_no_sync;
  DLPackManagedTensorToPyObjectNoSync managed_tensor_to_py_object_no_sync;
  DLPackDLTensorFromPyObjectNoSync dltensor_from_py_object_no_sync;
  DLPackCurrentWorkStream current_work_stream;
} DLPackExchangeAPI;

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* DLPACK_DLPACK_H_ */

/* ======== ABI ======================================================= >>abi */
/* The constants, structs and functions of tvm/ffi/c_api.h and of
   tvm/ffi/extra/c_env_api.h under those headers' own names and guards; the
   static asserts at the end hold for whichever came first. An int function
   returns 0, or -1 with an error in the thread's slot: a NULL or impossible
   argument is a ValueError, a handle of the wrong type a TypeError, a refused
   allocation a MemoryError; other kinds are named. Any thread may call. */

#if defined(TVM_FFI_C_API_H_) || defined(TVM_FFI_EXTRA_C_ENV_API_H_)
#if TVMFFI_STATIC
#error "tvmffi.h: with TVMFFI_STATIC it must come before tvm/ffi/c_api.h"
#endif
#ifdef TVMFFI_PREFIX
#error "tvmffi.h: with TVMFFI_PREFIX it must come before tvm/ffi/c_api.h"
#endif
#if TVMFFI_DYNAMIC
#error "tvmffi.h: with TVMFFI_DYNAMIC it must come before tvm/ffi/c_api.h"
#endif
#endif

#if TVMFFI_DYNAMIC && !defined(TVMFFI_PREFIX)
#define TVMFFI_PREFIX tvmffi_i_own_
#endif
#ifdef TVMFFI_PREFIX
/* Not TVMFFI_I_CAT: these names also occur inside what that one builds. A name
   is not expanded again inside its own expansion, so the paste sees it bare. */
#define TVMFFI_I_RENAME__(prefix, name) prefix##name
#define TVMFFI_I_RENAME_(prefix, name) TVMFFI_I_RENAME__(prefix, name)
#define TVMFFI_I_RENAME(name) TVMFFI_I_RENAME_(TVMFFI_PREFIX, name)
#define TVMFFIAnyViewToOwnedAny TVMFFI_I_RENAME(TVMFFIAnyViewToOwnedAny)
#define TVMFFIBacktrace TVMFFI_I_RENAME(TVMFFIBacktrace)
#define TVMFFIBigIntFromByteArray TVMFFI_I_RENAME(TVMFFIBigIntFromByteArray)
#define TVMFFIBigIntGetContentByteArray \
  TVMFFI_I_RENAME(TVMFFIBigIntGetContentByteArray)
#define TVMFFIBytesFromByteArray TVMFFI_I_RENAME(TVMFFIBytesFromByteArray)
#define TVMFFIDataTypeFromString TVMFFI_I_RENAME(TVMFFIDataTypeFromString)
#define TVMFFIDataTypeToString TVMFFI_I_RENAME(TVMFFIDataTypeToString)
#define TVMFFIEnvCheckSignals TVMFFI_I_RENAME(TVMFFIEnvCheckSignals)
#define TVMFFIEnvGetDLPackManagedTensorAllocator \
  TVMFFI_I_RENAME(TVMFFIEnvGetDLPackManagedTensorAllocator)
#define TVMFFIEnvGetStream TVMFFI_I_RENAME(TVMFFIEnvGetStream)
#define TVMFFIEnvModLookupFromImports \
  TVMFFI_I_RENAME(TVMFFIEnvModLookupFromImports)
#define TVMFFIEnvModRegisterContextSymbol \
  TVMFFI_I_RENAME(TVMFFIEnvModRegisterContextSymbol)
#define TVMFFIEnvModRegisterSystemLibSymbol \
  TVMFFI_I_RENAME(TVMFFIEnvModRegisterSystemLibSymbol)
#define TVMFFIEnvRegisterCAPI TVMFFI_I_RENAME(TVMFFIEnvRegisterCAPI)
#define TVMFFIEnvSetDLPackManagedTensorAllocator \
  TVMFFI_I_RENAME(TVMFFIEnvSetDLPackManagedTensorAllocator)
#define TVMFFIEnvSetStream TVMFFI_I_RENAME(TVMFFIEnvSetStream)
#define TVMFFIEnvTensorAlloc TVMFFI_I_RENAME(TVMFFIEnvTensorAlloc)
#define TVMFFIErrorCreate TVMFFI_I_RENAME(TVMFFIErrorCreate)
#define TVMFFIErrorCreateWithCauseAndExtraContext \
  TVMFFI_I_RENAME(TVMFFIErrorCreateWithCauseAndExtraContext)
#define TVMFFIErrorMoveFromRaised TVMFFI_I_RENAME(TVMFFIErrorMoveFromRaised)
#define TVMFFIErrorSetRaised TVMFFI_I_RENAME(TVMFFIErrorSetRaised)
#define TVMFFIErrorSetRaisedFromCStr \
  TVMFFI_I_RENAME(TVMFFIErrorSetRaisedFromCStr)
#define TVMFFIErrorSetRaisedFromCStrParts \
  TVMFFI_I_RENAME(TVMFFIErrorSetRaisedFromCStrParts)
#define TVMFFIFunctionCall TVMFFI_I_RENAME(TVMFFIFunctionCall)
#define TVMFFIFunctionCreate TVMFFI_I_RENAME(TVMFFIFunctionCreate)
#define TVMFFIFunctionGetGlobal TVMFFI_I_RENAME(TVMFFIFunctionGetGlobal)
#define TVMFFIFunctionSetGlobal TVMFFI_I_RENAME(TVMFFIFunctionSetGlobal)
#define TVMFFIFunctionSetGlobalFromMethodInfo \
  TVMFFI_I_RENAME(TVMFFIFunctionSetGlobalFromMethodInfo)
#define TVMFFIGetCustomAllocator TVMFFI_I_RENAME(TVMFFIGetCustomAllocator)
#define TVMFFIGetTypeAttrColumn TVMFFI_I_RENAME(TVMFFIGetTypeAttrColumn)
#define TVMFFIGetTypeInfo TVMFFI_I_RENAME(TVMFFIGetTypeInfo)
#define TVMFFIGetVersion TVMFFI_I_RENAME(TVMFFIGetVersion)
#define TVMFFIHandleDeinitOnce TVMFFI_I_RENAME(TVMFFIHandleDeinitOnce)
#define TVMFFIHandleInitOnce TVMFFI_I_RENAME(TVMFFIHandleInitOnce)
#define TVMFFIObjectCreateOpaque TVMFFI_I_RENAME(TVMFFIObjectCreateOpaque)
#define TVMFFIObjectDecRef TVMFFI_I_RENAME(TVMFFIObjectDecRef)
#define TVMFFIObjectIncRef TVMFFI_I_RENAME(TVMFFIObjectIncRef)
#define TVMFFISetCustomAllocator TVMFFI_I_RENAME(TVMFFISetCustomAllocator)
#define TVMFFIStringFromByteArray TVMFFI_I_RENAME(TVMFFIStringFromByteArray)
#define TVMFFITensorCreateUnsafeView \
  TVMFFI_I_RENAME(TVMFFITensorCreateUnsafeView)
#define TVMFFITensorFromDLPack TVMFFI_I_RENAME(TVMFFITensorFromDLPack)
#define TVMFFITensorFromDLPackVersioned \
  TVMFFI_I_RENAME(TVMFFITensorFromDLPackVersioned)
#define TVMFFITensorToDLPack TVMFFI_I_RENAME(TVMFFITensorToDLPack)
#define TVMFFITensorToDLPackVersioned \
  TVMFFI_I_RENAME(TVMFFITensorToDLPackVersioned)
#define TVMFFITypeGetOrAllocIndex TVMFFI_I_RENAME(TVMFFITypeGetOrAllocIndex)
#define TVMFFITypeKeyToIndex TVMFFI_I_RENAME(TVMFFITypeKeyToIndex)
#define TVMFFITypeRegisterAttr TVMFFI_I_RENAME(TVMFFITypeRegisterAttr)
#define TVMFFITypeRegisterField TVMFFI_I_RENAME(TVMFFITypeRegisterField)
#define TVMFFITypeRegisterMetadata TVMFFI_I_RENAME(TVMFFITypeRegisterMetadata)
#define TVMFFITypeRegisterMethod TVMFFI_I_RENAME(TVMFFITypeRegisterMethod)
#endif

#ifndef TVM_FFI_C_API_H_
#define TVM_FFI_C_API_H_
#define TVMFFI_I_OWN_C_API 1

#define TVM_FFI_VERSION_MAJOR 0
#define TVM_FFI_VERSION_MINOR 1
#define TVM_FFI_VERSION_PATCH 16

#ifdef _MSC_VER
#define TVM_FFI_WEAK __declspec(selectany)
#else
#define TVM_FFI_WEAK __attribute__((weak))
#endif

/* TVM_FFI_DLL_EXPORT always exports. On Windows TVM_FFI_DLL exports only when
   TVM_FFI_EXPORTS says so, and never imports: the same declaration then serves
   a runtime in this program, and calls into a DLL go through its stub. */
#if defined(_WIN32)
#ifndef TVM_FFI_DLL_EXPORT
#define TVM_FFI_DLL_EXPORT __declspec(dllexport)
#endif
#if !defined(TVM_FFI_DLL) && !defined(TVM_FFI_EXPORTS)
#define TVM_FFI_DLL
#endif
#elif !defined(TVM_FFI_DLL_EXPORT)
#if defined(__EMSCRIPTEN__)
#define TVM_FFI_DLL_EXPORT __attribute__((used, visibility("default")))
#else
#define TVM_FFI_DLL_EXPORT __attribute__((visibility("default")))
#endif
#endif
#ifndef TVM_FFI_DLL
#define TVM_FFI_DLL TVM_FFI_DLL_EXPORT
#endif

#if defined(__GNUC__) || defined(__clang__)
#define TVM_FFI_ATTRIBUTE_PURE __attribute__((__pure__))
#else
#define TVM_FFI_ATTRIBUTE_PURE
#endif
#endif /* TVM_FFI_C_API_H_, its macros */

/* What every declaration below begins with. */
#if TVMFFI_STATIC
#define TVMFFI_I_API static TVMFFI_I_UNUSED
#elif TVMFFI_DYNAMIC
#define TVMFFI_I_API extern TVMFFI_I_HIDDEN
#else
#define TVMFFI_I_API TVM_FFI_DLL
#endif

#ifdef TVMFFI_I_OWN_C_API
#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  uint32_t major;
  uint32_t minor;
  uint32_t patch;
} TVMFFIVersion;

/* What a TVMFFIAny holds: values below 64, objects from there on. */
TVMFFI_I_ENUM(TVMFFITypeIndex) {
  kTVMFFIAny = -1, /* "any type" in a description, never in a value */
  kTVMFFINone = 0,
  kTVMFFIInt = 1,         /* v_int64 */
  kTVMFFIBool = 2,        /* v_int64, 0 or 1 */
  kTVMFFIFloat = 3,       /* v_float64 */
  kTVMFFIOpaquePtr = 4,   /* v_ptr */
  kTVMFFIDataType = 5,    /* v_dtype */
  kTVMFFIDevice = 6,      /* v_device */
  kTVMFFIDLTensorPtr = 7, /* v_ptr, a borrowed DLTensor */
  kTVMFFIRawStr = 8,      /* v_c_str, borrowed: never in an owned value */
  kTVMFFIByteArrayPtr = 9,     /* v_ptr, borrowed: never in an owned value */
  kTVMFFIObjectRValueRef = 10, /* v_ptr, where a handle may be taken from */
  kTVMFFISmallStr = 11,        /* v_bytes, up to 7 bytes and a NUL */
  kTVMFFISmallBytes = 12,
  kTVMFFIUnchanged = 13, /* a structural mutation left its value alone */
  kTVMFFIStaticObjectBegin = 64,
  kTVMFFIObject = 64,
  kTVMFFIStr = 65,   /* TVMFFIObject, TVMFFIByteArray */
  kTVMFFIBytes = 66, /* TVMFFIObject, TVMFFIByteArray */
  kTVMFFIError = 67, /* TVMFFIObject, TVMFFIErrorCell */
  kTVMFFIFunction = 68, /* TVMFFIObject, TVMFFIFunctionCell */
  kTVMFFIShape = 69,    /* TVMFFIObject, TVMFFIShapeCell */
  kTVMFFITensor = 70,   /* TVMFFIObject, DLTensor */
  kTVMFFIArray = 71,    /* TVMFFIObject, TVMFFISeqCell */
  kTVMFFIMap = 72,
  kTVMFFIModule = 73,
  kTVMFFIOpaquePyObject = 74, /* TVMFFIObject, TVMFFIOpaqueObjectCell */
  kTVMFFIList = 75,           /* TVMFFIObject, TVMFFISeqCell */
  kTVMFFIDict = 76,
  kTVMFFIVisitInterrupt = 77,
  /* TVMFFIObject, size_t count, then as many int64_t, least significant first:
     two's complement in the fewest words, and only what no int64_t holds. */
  kTVMFFIBigInt = 78,
  kTVMFFIStaticObjectEnd = 79,
  kTVMFFIDynObjectBegin = 128 /* from here on given out at run time */
} TVMFFI_I_ENUM_NAME(TVMFFITypeIndex);

/* One reference to an object, or a borrowed pointer to it. */
typedef void *TVMFFIObjectHandle;

/* What a deleter has to do: end the object, free its memory, or both. */
TVMFFI_I_ENUM(TVMFFIObjectDeleterFlagBitMask) {
  kTVMFFIObjectDeleterFlagBitMaskStrong = 1 << 0,
  kTVMFFIObjectDeleterFlagBitMaskWeak = 1 << 1,
  kTVMFFIObjectDeleterFlagBitMaskBoth = 3
} TVMFFI_I_ENUM_NAME(TVMFFIObjectDeleterFlagBitMask);

/* The head of every object. The strong count is the lower half of
   combined_ref_count, the weak count the upper; all strong references together
   hold one weak one. */
typedef struct {
  uint64_t combined_ref_count;
  int32_t type_index;
  uint32_t __padding;
  TVMFFI_I_EXTENSION union {
    void (*deleter)(void *self, int flags);
    int64_t __ensure_align; /* 8 bytes where pointers have 4 */
  };
} TVMFFIObject;

/* A value of any type. All 16 bytes count: what a value does not use is 0. */
typedef struct {
  int32_t type_index;
  TVMFFI_I_EXTENSION union {
    uint32_t zero_padding;
    uint32_t small_str_len; /* of a small string or bytes */
  };
  TVMFFI_I_EXTENSION union {
    int64_t v_int64;
    double v_float64;
    void *v_ptr;
    const char *v_c_str;
    TVMFFIObject *v_obj;
    DLDataType v_dtype;
    DLDevice v_device;
    char v_bytes[8];
    uint64_t v_uint64; /* all bits, for hashing */
  };
} TVMFFIAny;

/* A run of bytes, borrowed; inside a string object followed by a NUL. */
typedef struct {
  const char *data;
  size_t size;
} TVMFFIByteArray;

typedef struct {
  const int64_t *data;
  size_t size;
} TVMFFIShapeCell;

/* Of arrays and lists: data points to `capacity` TVMFFIAny, `size` in use. */
#ifdef __cplusplus
struct TVMFFISeqCell {
#else
typedef struct {
#endif
  void *data;
  int64_t size;
  int64_t capacity;
  void (*data_deleter)(void *); /* NULL: data is part of the object */
#ifdef __cplusplus
};
#else
} TVMFFISeqCell;
#endif

TVMFFI_I_ENUM(TVMFFIBacktraceUpdateMode) {
  kTVMFFIBacktraceUpdateModeReplace = 0,
  kTVMFFIBacktraceUpdateModeAppend = 1
} TVMFFI_I_ENUM_NAME(TVMFFIBacktraceUpdateMode);

/* Of an error. The backtrace has the most recent call first. The cell owns
   both handles; each may be NULL. */
typedef struct {
  TVMFFIByteArray kind;
  TVMFFIByteArray message;
  TVMFFIByteArray backtrace;
  /* Changes the backtrace; update_mode is a TVMFFIBacktraceUpdateMode. */
  void (*update_backtrace)(TVMFFIObjectHandle self,
                           const TVMFFIByteArray *backtrace,
                           int32_t update_mode);
  TVMFFIObjectHandle cause_chain;
  TVMFFIObjectHandle extra_context;
} TVMFFIErrorCell;

/* A packed function. Args are borrowed; *result comes in as None or another
   value below kTVMFFIStaticObjectBegin and leaves owned by the caller. Returns
   0, -1 with an error in the thread's slot, or -2 when the environment holds
   the error. */
typedef int (*TVMFFISafeCallType)(void *handle, const TVMFFIAny *args,
                                  int32_t num_args, TVMFFIAny *result);

/* Of a function. cpp_call throws C++ exceptions; NULL unless made by C++. */
typedef struct {
  TVMFFISafeCallType safe_call;
  void *cpp_call;
} TVMFFIFunctionCell;

typedef struct {
  void *handle; /* a PyObject in Python */
} TVMFFIOpaqueObjectCell;

/* Stands right before each object that an allocator made. delete_space frees
   the allocation, given the object; NULL if the object's deleter does. The
   object's fields are gone by then. */
typedef struct {
  void (*delete_space)(void *ptr);
} TVMFFIObjectAllocHeader;

/* Where objects come from; lives as long as the process. */
typedef struct {
  /* Returns uninitialized memory for an object of `size` bytes with a filled
     TVMFFIObjectAllocHeader before it, or NULL with an error raised. May be
     called by several threads at once. */
  void *(*allocate)(size_t size, size_t alignment, int32_t type_index,
                    void *context);
  void *context; /* borrowed */
} TVMFFICustomAllocator;

/* Reads the field at `field` into *result, owned by the caller. */
typedef int (*TVMFFIFieldGetter)(void *field, TVMFFIAny *result);

/* Writes the borrowed value to the field at `field`. */
typedef int (*TVMFFIFieldSetter)(void *field, const TVMFFIAny *value);

/* Makes an object, owned by the caller, whose fields are still to be set. */
typedef int (*TVMFFIObjectCreator)(TVMFFIObjectHandle *result);

TVMFFI_I_ENUM(TVMFFIFieldFlagBitMask) {
  kTVMFFIFieldFlagBitMaskWritable = 1 << 0,
  kTVMFFIFieldFlagBitMaskHasDefault = 1 << 1,
  kTVMFFIFieldFlagBitMaskIsStaticMethod = 1 << 2,
  kTVMFFIFieldFlagBitMaskSEqHashIgnore = 1 << 3,
  kTVMFFIFieldFlagBitMaskSEqHashDefPattern = 1 << 4,
  kTVMFFIFieldFlagBitMaskDefaultFromFactory = 1 << 5, /* call it, no args */
  kTVMFFIFieldFlagBitMaskReprOff = 1 << 6,
  kTVMFFIFieldFlagBitMaskCompareOff = 1 << 7,
  kTVMFFIFieldFlagBitMaskHashOff = 1 << 8,
  kTVMFFIFieldFlagBitMaskInitOff = 1 << 9, /* no parameter of the creator */
  kTVMFFIFieldFlagBitMaskKwOnly = 1 << 10, /* a keyword-only parameter */
  /* setter is a function object called with (field address, value). */
  kTVMFFIFieldFlagBitSetterIsFunctionObj = 1 << 11,
  kTVMFFIFieldFlagBitMaskSEqHashDefSimple = 1 << 12
} TVMFFI_I_ENUM_NAME(TVMFFIFieldFlagBitMask);

/* How objects of a type are compared and hashed by structure. */
TVMFFI_I_ENUM(TVMFFISEqHashKind) {
  kTVMFFISEqHashKindUnsupported = 0,
  kTVMFFISEqHashKindTreeNode = 1,
  kTVMFFISEqHashKindFreeVar = 2, /* equal by what it was mapped to */
  kTVMFFISEqHashKindDAGNode = 3, /* sharing of nodes counts too */
  kTVMFFISEqHashKindConstTreeNode = 4, /* no free variable inside */
  kTVMFFISEqHashKindUniqueInstance = 5 /* equal only to itself */
} TVMFFI_I_ENUM_NAME(TVMFFISEqHashKind);

/* Whether variables met in a field are defined there. */
TVMFFI_I_ENUM(TVMFFIDefRegionKind) {
  kTVMFFIDefRegionKindNone = 0,    /* they are uses */
  kTVMFFIDefRegionKindPattern = 1, /* with those of their types, and inwards */
  kTVMFFIDefRegionKindSimple = 2   /* they alone; their types are uses */
} TVMFFI_I_ENUM_NAME(TVMFFIDefRegionKind);

/* A field, for reflection. All texts and values are borrowed by the caller of
   TVMFFITypeRegisterField and copied by it. */
typedef struct {
  TVMFFIByteArray name;
  TVMFFIByteArray doc;
  TVMFFIByteArray metadata; /* JSON */
  int64_t flags;            /* TVMFFIFieldFlagBitMask */
  int64_t size;
  int64_t alignment;
  int64_t offset; /* from the start of the object */
  TVMFFIFieldGetter getter;
  void *setter; /* a TVMFFIFieldSetter, or a function object: see flags */
  TVMFFIAny default_value_or_factory;
  int32_t field_static_type_index; /* as declared; the value's may differ */
} TVMFFIFieldInfo;

/* A method; self is its first argument unless it is static. */
typedef struct {
  TVMFFIByteArray name;
  TVMFFIByteArray doc;
  TVMFFIByteArray metadata; /* JSON */
  int64_t flags;
  TVMFFIAny method;
} TVMFFIMethodInfo;

typedef struct {
  TVMFFIByteArray doc;
  TVMFFIObjectCreator creator; /* may be NULL */
  int32_t total_size;          /* of the object, 0 if not known */
  TVMFFISEqHashKind structural_eq_hash_kind;
} TVMFFITypeMetadata;

/* One attribute of all types: that of type t is data[t - begin_index], None
   outside [begin_index, begin_index + size). Not inherited. */
typedef struct {
  const TVMFFIAny *data;
  int32_t size;
  int32_t begin_index;
} TVMFFITypeAttrColumn;

/* A registered type. type_ancestors[d] is the ancestor of depth d, for d from
   0 to type_depth - 1. Owned by the runtime and never freed. */
#ifdef __cplusplus
struct TVMFFITypeInfo {
#else
typedef struct TVMFFITypeInfo {
#endif
  int32_t type_index;
  int32_t type_depth;
  TVMFFIByteArray type_key;
  const struct TVMFFITypeInfo **type_ancestors;
  uint64_t type_key_hash;
  int32_t num_fields;
  int32_t num_methods;
  const TVMFFIFieldInfo *fields;
  const TVMFFIMethodInfo *methods;
  const TVMFFITypeMetadata *metadata; /* NULL if none was registered */
#ifdef __cplusplus
};
#else
} TVMFFITypeInfo;
#endif

/* Writes the version of the ABI to *out_version. Cannot fail. */
TVMFFI_I_API void TVMFFIGetVersion(TVMFFIVersion *out_version);

/* Adds a strong reference to the borrowed obj. */
TVMFFI_I_API int TVMFFIObjectIncRef(TVMFFIObjectHandle obj);

/* Drops the reference obj, which is taken; the last one destroys. */
TVMFFI_I_API int TVMFFIObjectDecRef(TVMFFIObjectHandle obj);

/* Makes *out, owned by the caller, which takes handle on success and gives it
   to deleter (may be NULL) at its end. RuntimeError unless type_index is
   kTVMFFIOpaquePyObject. */
TVMFFI_I_API int TVMFFIObjectCreateOpaque(void *handle, int32_t type_index,
                                          void (*deleter)(void *handle),
                                          TVMFFIObjectHandle *out);

/* Returns the process's allocator, borrowed and never NULL. Not to be called
   while another thread sets it. */
TVMFFI_I_API TVMFFICustomAllocator *TVMFFIGetCustomAllocator(void);

/* Sets the process's allocator, borrowed for ever; NULL brings the default
   back. To be called before other threads make objects. */
TVMFFI_I_API int TVMFFISetCustomAllocator(TVMFFICustomAllocator *allocator);

/* Looks up the type index of a borrowed key, without a lock. */
TVMFFI_I_API int TVMFFITypeKeyToIndex(const TVMFFIByteArray *type_key,
                                      int32_t *out_tindex);

/* Makes a function *out, owned by the caller, which takes self on success and
   gives it to deleter (may be NULL) at its end. */
TVMFFI_I_API int TVMFFIFunctionCreate(void *self, TVMFFISafeCallType safe_call,
                                      void (*deleter)(void *self),
                                      TVMFFIObjectHandle *out);

/* Looks up a global function, without a lock. *out is owned by the caller; NULL
   and 0 are the result when there is none of that (borrowed) name. */
TVMFFI_I_API int TVMFFIFunctionGetGlobal(const TVMFFIByteArray *name,
                                         TVMFFIObjectHandle *out);

/* Turns a borrowed value into one owned by the caller: adds a reference, and
   copies raw strings and byte arrays. *out must own nothing before. */
TVMFFI_I_API int TVMFFIAnyViewToOwnedAny(const TVMFFIAny *any_view,
                                         TVMFFIAny *out);

/* Calls the borrowed func as TVMFFISafeCallType says; returns its code. */
TVMFFI_I_API int TVMFFIFunctionCall(TVMFFIObjectHandle func, TVMFFIAny *args,
                                    int32_t num_args, TVMFFIAny *result);

/* Moves the thread's error to *result, owned by the caller; NULL if none. */
TVMFFI_I_API void TVMFFIErrorMoveFromRaised(TVMFFIObjectHandle *result);

/* Makes the borrowed error the thread's, in place of an earlier one. */
TVMFFI_I_API void TVMFFIErrorSetRaised(TVMFFIObjectHandle error);

/* Raises an error of kind and message, both borrowed, with a backtrace. When
   memory is refused, the thread's error is the MemoryError. */
TVMFFI_I_API void TVMFFIErrorSetRaisedFromCStr(const char *kind,
                                               const char *message);

/* Does the same with the parts of a message put together; NULL is skipped. */
TVMFFI_I_API void TVMFFIErrorSetRaisedFromCStrParts(const char *kind,
                                                    const char **message_parts,
                                                    int32_t num_parts);

/* Makes an error *out, owned by the caller, of copied texts. It is not raised:
   the thread's slot changes only on failure. */
TVMFFI_I_API int TVMFFIErrorCreate(const TVMFFIByteArray *kind,
                                   const TVMFFIByteArray *message,
                                   const TVMFFIByteArray *backtrace,
                                   TVMFFIObjectHandle *out);

/* Does the same with a cause and a context, borrowed, each may be NULL. */
TVMFFI_I_API int TVMFFIErrorCreateWithCauseAndExtraContext(
    const TVMFFIByteArray *kind, const TVMFFIByteArray *message,
    const TVMFFIByteArray *backtrace, TVMFFIObjectHandle cause_chain,
    TVMFFIObjectHandle extra_context, TVMFFIObjectHandle *out);

/* Makes a tensor *out, owned by the caller, of `from`, which is taken on
   success. require_alignment counts bytes (0: any); require_contiguous is a
   bool. Data that is not so is a RuntimeError. */
TVMFFI_I_API int TVMFFITensorFromDLPack(DLManagedTensor *from,
                                        int32_t require_alignment,
                                        int32_t require_contiguous,
                                        TVMFFIObjectHandle *out);

/* Exports the borrowed tensor as *out, owned by the caller, sharing its data
   and keeping the tensor alive until the deleter is called. */
TVMFFI_I_API int TVMFFITensorToDLPack(TVMFFIObjectHandle from,
                                      DLManagedTensor **out);

/* As TVMFFITensorFromDLPack; another major version is refused. */
TVMFFI_I_API int TVMFFITensorFromDLPackVersioned(DLManagedTensorVersioned *from,
                                                 int32_t require_alignment,
                                                 int32_t require_contiguous,
                                                 TVMFFIObjectHandle *out);

/* As TVMFFITensorToDLPack. */
TVMFFI_I_API int TVMFFITensorToDLPackVersioned(TVMFFIObjectHandle from,
                                               DLManagedTensorVersioned **out);

/* Makes a tensor *out, owned by the caller, described by the borrowed
   prototype (its shape and strides are copied) and keeping the borrowed source
   alive. Does not check that the data lie inside source. */
TVMFFI_I_API int TVMFFITensorCreateUnsafeView(TVMFFIObjectHandle source,
                                              const DLTensor *prototype,
                                              TVMFFIObjectHandle *out);

/* Makes a string *out, owned by the caller, of borrowed bytes: small up to 7
   bytes, an object above. */
TVMFFI_I_API int TVMFFIStringFromByteArray(const TVMFFIByteArray *input,
                                           TVMFFIAny *out);

/* Makes bytes in the same way. */
TVMFFI_I_API int TVMFFIBytesFromByteArray(const TVMFFIByteArray *input,
                                          TVMFFIAny *out);

/* Makes an integer *out, owned by the caller, of borrowed 64-bit words, least
   significant first, two's complement; none is 0. What fits becomes a plain
   int. ValueError when the size is no multiple of 8. */
TVMFFI_I_API int TVMFFIBigIntFromByteArray(const TVMFFIByteArray *input,
                                           TVMFFIAny *out);

/* Returns the words of an int or big integer, borrowed as long as *value stays
   as it is; no bytes for another type. */
TVMFFI_I_API TVMFFIByteArray
TVMFFIBigIntGetContentByteArray(const TVMFFIAny *value);

/* Parses the borrowed name of a data type, "float32x4" say; ValueError. */
TVMFFI_I_API int TVMFFIDataTypeFromString(const TVMFFIByteArray *str,
                                          DLDataType *out);

/* Prints a borrowed data type to a string *out, owned by the caller. A code
   without a name is a ValueError. */
TVMFFI_I_API int TVMFFIDataTypeToString(const DLDataType *dtype,
                                        TVMFFIAny *out);

/* Puts the borrowed function f into the global table under a copied name.
   RuntimeError when the name is there and allow_override is 0. */
TVMFFI_I_API int TVMFFIFunctionSetGlobal(const TVMFFIByteArray *name,
                                         TVMFFIObjectHandle f,
                                         int allow_override);

/* Does the same with a method's name, function, doc and metadata. */
TVMFFI_I_API int
TVMFFIFunctionSetGlobalFromMethodInfo(const TVMFFIMethodInfo *method_info,
                                      int allow_override);

/* Adds a field to a type; the borrowed info is copied. */
TVMFFI_I_API int TVMFFITypeRegisterField(int32_t type_index,
                                         const TVMFFIFieldInfo *info);

/* Adds a method to a type; the borrowed info is copied. */
TVMFFI_I_API int TVMFFITypeRegisterMethod(int32_t type_index,
                                          const TVMFFIMethodInfo *info);

/* Sets the metadata of a type; the borrowed struct is copied. */
TVMFFI_I_API int TVMFFITypeRegisterMetadata(int32_t type_index,
                                            const TVMFFITypeMetadata *metadata);

/* Sets an attribute of a type; name and value are borrowed and copied. */
TVMFFI_I_API int TVMFFITypeRegisterAttr(int32_t type_index,
                                        const TVMFFIByteArray *attr_name,
                                        const TVMFFIAny *attr_value);

/* Returns the column of a borrowed attribute name, borrowed for ever, without
   a lock; NULL if no type has it. */
TVMFFI_I_API const TVMFFITypeAttrColumn *
TVMFFIGetTypeAttrColumn(const TVMFFIByteArray *attr_name);

/* Returns the stack as text, most recent call first, borrowed until this
   thread's next call. filename and func, borrowed, may be NULL; a
   cross_ffi_boundary of 0 stops at the first FFI call. */
TVMFFI_I_API const TVMFFIByteArray *TVMFFIBacktrace(const char *filename,
                                                    int lineno,
                                                    const char *func,
                                                    int cross_ffi_boundary);

/* Registers a type and returns its index, or that of the same type registered
   before. A static_type_index of -1 asks for a free index; a parent of -1 means
   a root, one of -2 only asks: -2 is the answer when the borrowed key is not
   known. A conflict returns -1 with an error that names both sides. */
TVMFFI_I_API int32_t TVMFFITypeGetOrAllocIndex(const TVMFFIByteArray *type_key,
                                               int32_t static_type_index,
                                               int32_t type_depth,
                                               int32_t num_child_slots,
                                               int32_t child_slots_can_overflow,
                                               int32_t parent_type_index);

/* Returns a type, borrowed for ever, without a lock; NULL if not registered. */
TVMFFI_I_API TVM_FFI_ATTRIBUTE_PURE const TVMFFITypeInfo *
TVMFFIGetTypeInfo(int32_t type_index);

/* Fills *handle_addr by init_func unless it is not NULL, once however many
   threads ask; init_func may init other handles. Returns the code of init_func
   when it fails; a NULL result is a RuntimeError. */
TVMFFI_I_API int TVMFFIHandleInitOnce(void **handle_addr,
                                      int (*init_func)(void **result));

/* Sets *handle_addr to NULL and gives the handle to deinit_func, once however
   many threads ask; nothing when it is NULL already. */
TVMFFI_I_API int TVMFFIHandleDeinitOnce(void **handle_addr,
                                        int (*deinit_func)(void *handle));

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* TVMFFI_I_OWN_C_API */

#ifndef TVM_FFI_EXTRA_C_ENV_API_H_
#define TVM_FFI_EXTRA_C_ENV_API_H_
#ifdef __cplusplus
extern "C" {
#endif

/* A stream of the device's own API, borrowed. */
typedef void *TVMFFIStreamHandle;

/* Sets this thread's current stream of a device; the earlier one goes to
   *opt_out_original_stream, which may be NULL. */
TVMFFI_I_API int
TVMFFIEnvSetStream(int32_t device_type, int32_t device_id,
                   TVMFFIStreamHandle stream,
                   TVMFFIStreamHandle *opt_out_original_stream);

/* Returns this thread's current stream of a device; NULL if none was set. */
TVMFFI_I_API TVMFFIStreamHandle TVMFFIEnvGetStream(int32_t device_type,
                                                   int32_t device_id);

/* Sets this thread's tensor allocator, and also the one of all threads without
   their own when write_to_global_context is not 0. This thread's earlier one
   goes to *opt_out_original_allocator, which may be NULL. */
TVMFFI_I_API int TVMFFIEnvSetDLPackManagedTensorAllocator(
    DLPackManagedTensorAllocator allocator, int write_to_global_context,
    DLPackManagedTensorAllocator *opt_out_original_allocator);

/* Returns this thread's tensor allocator, else the global one, else NULL. */
TVMFFI_I_API DLPackManagedTensorAllocator
TVMFFIEnvGetDLPackManagedTensorAllocator(void);

/* Allocates a tensor *out, owned by the caller, of the borrowed prototype's
   device, dtype and shape, by the current allocator. RuntimeError when there is
   none, or that allocator's own error. */
TVMFFI_I_API int TVMFFIEnvTensorAlloc(DLTensor *prototype,
                                      TVMFFIObjectHandle *out);

/* Asks the environment whether a signal came; when it did, returns -1 and the
   environment holds the error. */
TVMFFI_I_API int TVMFFIEnvCheckSignals(void);

/* Registers a function of the environment: PyErr_CheckSignals,
   PyGILState_Ensure or PyGILState_Release; another name is a ValueError. */
TVMFFI_I_API int TVMFFIEnvRegisterCAPI(const char *name, void *symbol);

/* Looks up a function in the imports of a borrowed module; *out is borrowed
   from the module. RuntimeError when there is none. */
TVMFFI_I_API int TVMFFIEnvModLookupFromImports(TVMFFIObjectHandle library_ctx,
                                               const char *func_name,
                                               TVMFFIObjectHandle *out);

/* Registers a symbol that libraries get when they are loaded; name is copied,
   symbol borrowed for ever. */
TVMFFI_I_API int TVMFFIEnvModRegisterContextSymbol(const char *name,
                                                   void *symbol);

/* Registers a symbol of the system library; name is copied, symbol borrowed
   for ever. */
TVMFFI_I_API int TVMFFIEnvModRegisterSystemLibSymbol(const char *name,
                                                     void *symbol);

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* TVM_FFI_EXTRA_C_ENV_API_H_ */

/* Accessors: plain address arithmetic on borrowed, valid objects of the right
   type. Upstream has them in C++ only; there they stay plain inline, so that a
   program may hold both texts. */
#if defined(TVMFFI_I_OWN_C_API) || !defined(__cplusplus)
#ifdef __cplusplus
#define TVMFFI_I_ACCESSOR inline
#else
#define TVMFFI_I_ACCESSOR TVMFFI_I_INLINE
#endif

TVMFFI_I_ACCESSOR int32_t TVMFFIObjectGetTypeIndex(TVMFFIObjectHandle obj) {
  return ((TVMFFIObject *)obj)->type_index;
}

/* Returns the bytes inside a small string or bytes. */
TVMFFI_I_ACCESSOR TVMFFIByteArray
TVMFFISmallBytesGetContentByteArray(const TVMFFIAny *value) {
  TVMFFIByteArray bytes;
  bytes.data = value->v_bytes;
  bytes.size = value->small_str_len;
  return bytes;
}

TVMFFI_I_ACCESSOR TVMFFIByteArray *
TVMFFIBytesGetByteArrayPtr(TVMFFIObjectHandle obj) {
  return TVMFFI_I_CELL(TVMFFIByteArray, obj);
}

TVMFFI_I_ACCESSOR TVMFFIErrorCell *
TVMFFIErrorGetCellPtr(TVMFFIObjectHandle obj) {
  return TVMFFI_I_CELL(TVMFFIErrorCell, obj);
}

TVMFFI_I_ACCESSOR TVMFFIFunctionCell *
TVMFFIFunctionGetCellPtr(TVMFFIObjectHandle obj) {
  return TVMFFI_I_CELL(TVMFFIFunctionCell, obj);
}

TVMFFI_I_ACCESSOR TVMFFIOpaqueObjectCell *
TVMFFIOpaqueObjectGetCellPtr(TVMFFIObjectHandle obj) {
  return TVMFFI_I_CELL(TVMFFIOpaqueObjectCell, obj);
}

TVMFFI_I_ACCESSOR TVMFFIShapeCell *
TVMFFIShapeGetCellPtr(TVMFFIObjectHandle obj) {
  return TVMFFI_I_CELL(TVMFFIShapeCell, obj);
}

TVMFFI_I_ACCESSOR DLTensor *TVMFFITensorGetDLTensorPtr(TVMFFIObjectHandle obj) {
  return TVMFFI_I_CELL(DLTensor, obj);
}

TVMFFI_I_ACCESSOR DLDevice TVMFFIDLDeviceFromIntPair(int32_t device_type,
                                                     int32_t device_id) {
  DLDevice device;
  device.device_type = (DLDeviceType)device_type;
  device.device_id = device_id;
  return device;
}
#endif

#if TVMFFI_DYNAMIC
/* The functions of the runtime that was chosen. Below, each name of the ABI is
   a pointer from this table; a name in the list of a macro's own is not. */
#define TVMFFI_I_EACH_FUNCTION(F) \
  F(TVMFFIAnyViewToOwnedAny) \
  F(TVMFFIBacktrace) \
  F(TVMFFIBigIntFromByteArray) \
  F(TVMFFIBigIntGetContentByteArray) \
  F(TVMFFIBytesFromByteArray) \
  F(TVMFFIDataTypeFromString) \
  F(TVMFFIDataTypeToString) \
  F(TVMFFIEnvCheckSignals) \
  F(TVMFFIEnvGetDLPackManagedTensorAllocator) \
  F(TVMFFIEnvGetStream) \
  F(TVMFFIEnvModLookupFromImports) \
  F(TVMFFIEnvModRegisterContextSymbol) \
  F(TVMFFIEnvModRegisterSystemLibSymbol) \
  F(TVMFFIEnvRegisterCAPI) \
  F(TVMFFIEnvSetDLPackManagedTensorAllocator) \
  F(TVMFFIEnvSetStream) \
  F(TVMFFIEnvTensorAlloc) \
  F(TVMFFIErrorCreate) \
  F(TVMFFIErrorCreateWithCauseAndExtraContext) \
  F(TVMFFIErrorMoveFromRaised) \
  F(TVMFFIErrorSetRaised) \
  F(TVMFFIErrorSetRaisedFromCStr) \
  F(TVMFFIErrorSetRaisedFromCStrParts) \
  F(TVMFFIFunctionCall) \
  F(TVMFFIFunctionCreate) \
  F(TVMFFIFunctionGetGlobal) \
  F(TVMFFIFunctionSetGlobal) \
  F(TVMFFIFunctionSetGlobalFromMethodInfo) \
  F(TVMFFIGetCustomAllocator) \
  F(TVMFFIGetTypeAttrColumn) \
  F(TVMFFIGetTypeInfo) \
  F(TVMFFIGetVersion) \
  F(TVMFFIHandleDeinitOnce) \
  F(TVMFFIHandleInitOnce) \
  F(TVMFFIObjectCreateOpaque) \
  F(TVMFFIObjectDecRef) \
  F(TVMFFIObjectIncRef) \
  F(TVMFFISetCustomAllocator) \
  F(TVMFFIStringFromByteArray) \
  F(TVMFFITensorCreateUnsafeView) \
  F(TVMFFITensorFromDLPack) \
  F(TVMFFITensorFromDLPackVersioned) \
  F(TVMFFITensorToDLPack) \
  F(TVMFFITensorToDLPackVersioned) \
  F(TVMFFITypeGetOrAllocIndex) \
  F(TVMFFITypeKeyToIndex) \
  F(TVMFFITypeRegisterAttr) \
  F(TVMFFITypeRegisterField) \
  F(TVMFFITypeRegisterMetadata) \
  F(TVMFFITypeRegisterMethod)

#if !TVMFFI_I_GNU
#error "tvmffi.h: TVMFFI_DYNAMIC needs a GNU compiler: it asks for typeof"
#elif defined(__cplusplus)
#define TVMFFI_I_API_MEMBER(name) decltype(&name) at_##name;
#else
#define TVMFFI_I_API_MEMBER(name) __typeof__(&name) at_##name;
#endif
typedef struct {
  TVMFFI_I_EACH_FUNCTION(TVMFFI_I_API_MEMBER)
} tvmffi_i_api;

#define tvmffi_i_chosen TVMFFI_I_RENAME_(TVMFFI_PREFIX, tvmffi_i_chosen)
#define tvmffi_i_choose TVMFFI_I_RENAME_(TVMFFI_PREFIX, tvmffi_i_choose)
#ifdef __cplusplus
extern "C" {
#endif
#if TVMFFI_STATIC
static const tvmffi_i_api *tvmffi_i_chosen;
#else
extern TVMFFI_I_HIDDEN const tvmffi_i_api *tvmffi_i_chosen;
#endif
TVMFFI_I_API const tvmffi_i_api *tvmffi_i_choose(void);
#ifdef __cplusplus
} /* extern "C" */
#endif

TVMFFI_I_INLINE const tvmffi_i_api *tvmffi_i_runtime(void) {
  const tvmffi_i_api *chosen = TVMFFI_I_LOAD(&tvmffi_i_chosen);
  return TVMFFI_I_LIKELY(chosen) ? chosen : tvmffi_i_choose();
}
#undef TVMFFI_I_RENAME
#define TVMFFI_I_RENAME(name) (tvmffi_i_runtime()->at_##name)
#endif /* TVMFFI_DYNAMIC */
/* clang-format on */

#endif /* TVMFFI_H_ */

#if !defined(TVMFFI_INTERFACE) && \
    (!TVMFFI_ABI_ONLY || defined(TVMFFI_IMPLEMENTATION))
#define TVMFFI_INTERFACE

/* ======== Values and references ================================== >>values */
/* C interface: plain C values to and from TVMFFIAny, strong and weak
   references. Inline and built on the ABI only, so all of it runs on this
   runtime and on the stock library alike, and costs nothing where unused.
   An Any made here is a view: it borrows what it points to. */

#define TVMFFI_I_STRONG_ONE ((uint64_t)1)
#define TVMFFI_I_WEAK_ONE ((uint64_t)1 << 32)
#define TVMFFI_I_BOTH_ONE (TVMFFI_I_WEAK_ONE | TVMFFI_I_STRONG_ONE)
/* A half of the count at or over 2^31 is pinned here, far from both ends, so
   that clients who count inline take 2^30 steps to carry it out of there. */
#define TVMFFI_I_PINNED ((uint64_t)0xC0000000u)

TVMFFI_I_COLD void tvmffi_i_pin(uint64_t *count, int shift) {
  uint64_t mask = (uint64_t)0xFFFFFFFFu << shift;
  uint64_t old = TVMFFI_I_LOAD_RELAXED(TVMFFI_I_COUNT_AT(count));
  while (
      !tvmffi_i_cas64(count, &old, (old & ~mask) | TVMFFI_I_PINNED << shift)) {
  }
}

/* Adds a strong reference. `obj` must be alive. */
TVMFFI_I_INLINE void tvmffi_retain(TVMFFIObjectHandle obj) {
  uint64_t *count = &((TVMFFIObject *)obj)->combined_ref_count;
  uint64_t old = tvmffi_i_add64(count, TVMFFI_I_STRONG_ONE);
  if (TVMFFI_I_UNLIKELY(old & 0x80000000u)) tvmffi_i_pin(count, 0);
}

/* Adds a weak reference: the memory stays, the content need not. */
TVMFFI_I_INLINE void tvmffi_weak_retain(TVMFFIObjectHandle obj) {
  uint64_t *count = &((TVMFFIObject *)obj)->combined_ref_count;
  uint64_t old = tvmffi_i_add64(count, TVMFFI_I_WEAK_ONE);
  if (TVMFFI_I_UNLIKELY(old >> 63)) tvmffi_i_pin(count, 32);
}

/* Drops a weak reference, and the memory with the last one of both kinds. */
TVMFFI_I_INLINE void tvmffi_weak_release(TVMFFIObjectHandle obj) {
  TVMFFIObject *o = (TVMFFIObject *)obj;
  uint64_t old = tvmffi_i_sub64(&o->combined_ref_count, TVMFFI_I_WEAK_ONE);
  if (old == TVMFFI_I_WEAK_ONE) {
    if (o->deleter) o->deleter(o, kTVMFFIObjectDeleterFlagBitMaskWeak);
  } else if (TVMFFI_I_UNLIKELY(old >> 63)) {
    tvmffi_i_pin(&o->combined_ref_count, 32);
  }
}

/* Tries to make a strong reference of a weak one; 0 when the object is gone. */
TVMFFI_I_INLINE int tvmffi_weak_lock(TVMFFIObjectHandle obj) {
  uint64_t *count = &((TVMFFIObject *)obj)->combined_ref_count;
  uint64_t old = TVMFFI_I_LOAD_RELAXED(TVMFFI_I_COUNT_AT(count));
  while ((uint32_t)old != 0) {
    if (tvmffi_i_cas64(count, &old, old + TVMFFI_I_STRONG_ONE)) {
      if (TVMFFI_I_UNLIKELY(old & 0x80000000u)) tvmffi_i_pin(count, 0);
      return 1;
    }
  }
  return 0;
}

/* The rest of a release whose count was `old`: that was the last strong
   reference, or the count is pinned. */
TVMFFI_I_COLD void tvmffi_i_release_rest(TVMFFIObject *o, uint64_t old) {
  if (old & 0x80000000u) {
    tvmffi_i_pin(&o->combined_ref_count, 0);
  } else if ((uint32_t)old == 1) {
    int both = old == TVMFFI_I_BOTH_ONE;
    if (o->deleter)
      o->deleter(o, both ? kTVMFFIObjectDeleterFlagBitMaskBoth
                         : kTVMFFIObjectDeleterFlagBitMaskStrong);
    if (!both) tvmffi_weak_release(o);
  }
}

/* Drops a strong reference (taken); NULL is ignored. With the last one the
   object is destroyed. A sole owner needs no atomic write: nobody else can
   have a reference to copy, so the count cannot change under it. One
   comparison tells counts of 2 to 2^31 - 1 from all that need more work. */
TVMFFI_I_INLINE void tvmffi_release(TVMFFIObjectHandle obj) {
  TVMFFIObject *o = (TVMFFIObject *)obj;
  uint64_t old;
  if (!o) return;
  if (TVMFFI_I_LOAD(TVMFFI_I_COUNT_AT(&o->combined_ref_count)) ==
      TVMFFI_I_BOTH_ONE) {
    if (o->deleter) o->deleter(o, kTVMFFIObjectDeleterFlagBitMaskBoth);
    return;
  }
  old = tvmffi_i_sub64(&o->combined_ref_count, TVMFFI_I_STRONG_ONE);
  if (TVMFFI_I_UNLIKELY((uint32_t)old - 2u >= 0x7FFFFFFEu))
    tvmffi_i_release_rest(o, old);
}

/* Drops what an owned Any holds and makes it None. */
TVMFFI_I_INLINE void tvmffi_any_release(TVMFFIAny *any) {
  TVMFFIObject *obj =
      any->type_index >= kTVMFFIStaticObjectBegin ? any->v_obj : NULL;
  any->type_index = kTVMFFINone;
  any->zero_padding = 0;
  any->v_int64 = 0;
  tvmffi_release(obj);
}

/* Constructors of views. The text of a string must outlive the view. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_int(int64_t x) {
  TVMFFIAny any;
  any.type_index = kTVMFFIInt;
  any.zero_padding = 0;
  any.v_int64 = x;
  return any;
}

TVMFFI_I_INLINE TVMFFIAny tvmffi_none(void) {
  TVMFFIAny any = tvmffi_int(0);
  any.type_index = kTVMFFINone;
  return any;
}

TVMFFI_I_INLINE TVMFFIAny tvmffi_bool(int x) {
  TVMFFIAny any = tvmffi_int(x != 0);
  any.type_index = kTVMFFIBool;
  return any;
}

#if !TVMFFI_NO_FLOAT
TVMFFI_I_INLINE TVMFFIAny tvmffi_float(double x) {
  TVMFFIAny any;
  any.type_index = kTVMFFIFloat;
  any.zero_padding = 0;
  any.v_float64 = x;
  return any;
}
#endif

TVMFFI_I_INLINE TVMFFIAny tvmffi_i_pointer(int32_t index, const void *x) {
  TVMFFIAny any = tvmffi_int(0);
  any.type_index = index;
  any.v_ptr = (void *)x;
  return any;
}

TVMFFI_I_INLINE TVMFFIAny tvmffi_ptr(const void *x) {
  return tvmffi_i_pointer(x ? kTVMFFIOpaquePtr : kTVMFFINone, x);
}

/* A NUL-terminated string; NULL gives None. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_str(const char *x) {
  return tvmffi_i_pointer(x ? kTVMFFIRawStr : kTVMFFINone, x);
}

TVMFFI_I_INLINE TVMFFIAny tvmffi_bytes(const TVMFFIByteArray *x) {
  return tvmffi_i_pointer(x ? kTVMFFIByteArrayPtr : kTVMFFINone, x);
}

TVMFFI_I_INLINE TVMFFIAny tvmffi_tensor(const DLTensor *x) {
  return tvmffi_i_pointer(x ? kTVMFFIDLTensorPtr : kTVMFFINone, x);
}

TVMFFI_I_INLINE TVMFFIAny tvmffi_obj(TVMFFIObjectHandle x) {
  return tvmffi_i_pointer(x ? ((TVMFFIObject *)x)->type_index : kTVMFFINone, x);
}

TVMFFI_I_INLINE TVMFFIAny tvmffi_device(DLDevice x) {
  TVMFFIAny any = tvmffi_int(0);
  any.type_index = kTVMFFIDevice;
  any.v_device = x;
  return any;
}

TVMFFI_I_INLINE TVMFFIAny tvmffi_dtype(DLDataType x) {
  TVMFFIAny any = tvmffi_int(0);
  any.type_index = kTVMFFIDataType;
  any.v_dtype = x;
  return any;
}

/* Gives the text or bytes that `any` holds, borrowed; {NULL, 0} when it holds
   neither. A NUL follows, unless it is a TVMFFIByteArray of the caller. */
TVMFFI_I_INLINE TVMFFIByteArray tvmffi_any_str(const TVMFFIAny *any) {
  TVMFFIByteArray r = {NULL, 0};
  switch (any->type_index) {
    case kTVMFFISmallStr:
    case kTVMFFISmallBytes:
      r.data = any->v_bytes;
      r.size = any->small_str_len;
      break;
    case kTVMFFIStr:
    case kTVMFFIBytes:
      if (any->v_obj) r = *TVMFFIBytesGetByteArrayPtr(any->v_obj);
      break;
    case kTVMFFIByteArrayPtr:
      if (any->v_ptr) r = *(const TVMFFIByteArray *)any->v_ptr;
      break;
    case kTVMFFIRawStr:
      r.data = any->v_c_str;
      while (r.data && r.data[r.size]) ++r.size;
      break;
    default: break;
  }
  return r;
}

TVMFFI_I_INLINE TVMFFIByteArray tvmffi_view(const char *text) {
  TVMFFIByteArray r = {text, 0};
  while (text && text[r.size]) ++r.size;
  return r;
}

TVMFFI_I_INLINE int tvmffi_i_same(TVMFFIByteArray text, const char *other) {
  size_t i = 0;
  while (i < text.size && other[i] && other[i] == text.data[i]) ++i;
  return i == text.size && !other[i];
}

/* Tells whether a value of type `index` is an instance of `target`: the same
   type, or a descendant by its table of ancestors. */
TVMFFI_I_INLINE int tvmffi_is_instance(int32_t index, int32_t target) {
  const TVMFFITypeInfo *info, *want;
  if (index == target) return 1;
  if (index < target || target < kTVMFFIStaticObjectBegin) return 0;
  if (target == kTVMFFIObject) return 1;
  info = TVMFFIGetTypeInfo(index);
  want = TVMFFIGetTypeInfo(target);
  return info && want && info->type_depth > want->type_depth &&
         info->type_ancestors[want->type_depth] == want;
}

/* The address of a tensor's first element as a pointer to `type`. */
#define tvmffi_data(tensor, type) \
  ((type *)(void *)((char *)((tensor)->data) + (tensor)->byte_offset))

/* ======== Errors ================================================= >>errors */
/* C interface: an error is an object in the thread's slot and a nonzero return
   code. Who raises returns it, who calls passes it on with TVMFFI_TRY, who
   handles it takes the object out of the slot and owns it. */

/* Returns the code of `expr` from the calling function unless it is 0. */
#define TVMFFI_TRY(expr)                                    \
  do {                                                      \
    int tvmffi_code = (expr);                               \
    if (TVMFFI_I_UNLIKELY(tvmffi_code)) return tvmffi_code; \
  } while (0)

/* Raises an error: kind (such as "ValueError"), then a printf format, checked
   by the compiler, and its arguments. Its value is -1:
       return TVMFFI_RAISE("ValueError", "rank is %d", x->ndim);
   The trace begins with this file and line. */
#define TVMFFI_RAISE(...)                                            \
  tvmffi_raise(TVMFFIBacktrace(__FILE__, __LINE__,                   \
                               tvmffi_i_function_name(__func__), 0), \
               __VA_ARGS__)

/* The body of a typed function is named after it, behind this prefix. */
#define TVMFFI_I_BODY_PREFIX "tvmffi_body_"

TVMFFI_I_INLINE const char *tvmffi_i_function_name(const char *name) {
  size_t n = sizeof(TVMFFI_I_BODY_PREFIX) - 1, i = 0;
  while (i < n && name[i] == TVMFFI_I_BODY_PREFIX[i]) ++i;
  return i == n ? name + n : name;
}

#if TVMFFI_NO_STDIO
typedef struct {
  char *text;
  size_t size, capacity;
} tvmffi_i_text;

TVMFFI_I_INLINE void tvmffi_i_put(tvmffi_i_text *t, char c) {
  if (t->size + 1 < t->capacity) t->text[t->size] = c;
  ++t->size;
}

TVMFFI_I_COLD void tvmffi_i_put_number(tvmffi_i_text *t, uint64_t x,
                                       unsigned base, int width) {
  char digits[24];
  int n = 0;
  do {
    digits[n++] = "0123456789abcdef"[x % base];
    x /= base;
  } while (x);
  while (width-- > n) tvmffi_i_put(t, '0');
  while (n) tvmffi_i_put(t, digits[--n]);
}

/* One conversion, the '%' behind it; gives the text after it. What is none of
   ours stands as it is, and so does all after it: its argument is not known. */
TVMFFI_I_COLD const char *tvmffi_i_convert(tvmffi_i_text *t, const char *f,
                                           va_list *ap) {
  const char *begin = f - 1;
  int size = 0, width = 0, precision = -1;
  while (*f >= '0' && *f <= '9') width = width * 10 + (*f++ - '0');
  if (*f == '.') {
    precision = 0;
    if (*++f == '*') {
      precision = va_arg(*ap, int);
      ++f;
    }
    while (*f >= '0' && *f <= '9') precision = precision * 10 + (*f++ - '0');
  }
  for (; *f == 'l' || *f == 'z'; ++f)
    size += *f == 'z' ? (int)sizeof(size_t) : size ? 4 : (int)sizeof(long);
  switch (*f) {
    case 'd':
    case 'i': {
      int64_t x = size > 4 ? va_arg(*ap, int64_t) : va_arg(*ap, int);
      if (x < 0) tvmffi_i_put(t, '-');
      tvmffi_i_put_number(t, x < 0 ? 0 - (uint64_t)x : (uint64_t)x, 10,
                          width - (x < 0));
      break;
    }
    case 'u':
    case 'x':
      tvmffi_i_put_number(
          t, size > 4 ? va_arg(*ap, uint64_t) : va_arg(*ap, unsigned),
          *f == 'x' ? 16 : 10, width);
      break;
    case 'p':
      tvmffi_i_put(t, '0');
      tvmffi_i_put(t, 'x');
      tvmffi_i_put_number(t, (uint64_t)(uintptr_t)va_arg(*ap, void *), 16, 0);
      break;
    case 'c': tvmffi_i_put(t, (char)va_arg(*ap, int)); break;
    case 's': {
      const char *s = va_arg(*ap, const char *);
      while (precision-- != 0 && *s) tvmffi_i_put(t, *s++);
      break;
    }
    case '%': tvmffi_i_put(t, '%'); break;
    default:
      for (f = begin; *f; ++f) tvmffi_i_put(t, *f);
      return f;
  }
  return f + 1;
}

TVMFFI_I_COLD int tvmffi_i_vformat(char *text, size_t capacity, const char *f,
                                   va_list ap) {
  tvmffi_i_text t = {NULL, 0, 0};
  va_list args;
  t.text = text;
  t.capacity = capacity;
  va_copy(args, ap);
  while (*f) {
    if (*f != '%')
      tvmffi_i_put(&t, *f++);
    else
      f = tvmffi_i_convert(&t, f + 1, &args);
  }
  va_end(args);
  text[t.size < capacity ? t.size : capacity - 1] = 0;
  return (int)t.size;
}
#else
#define tvmffi_i_vformat TVMFFI_I_VFORMAT
#endif

/* Formats into a buffer of TVMFFI_MESSAGE_SIZE bytes; a text that does not fit
   ends in "...". */
TVMFFI_I_COLD TVMFFIByteArray tvmffi_i_message(char *buffer, const char *format,
                                               va_list ap) {
  TVMFFIByteArray r = {buffer, 0};
  int n = tvmffi_i_vformat(buffer, TVMFFI_MESSAGE_SIZE, format, ap);
  if (n >= TVMFFI_MESSAGE_SIZE) {
    n = TVMFFI_MESSAGE_SIZE - 1;
    /* Not inside a character of UTF-8: Python could not read the rest. */
    while (n > 3 && ((unsigned char)buffer[n - 3] & 0xC0) == 0x80) --n;
    buffer[n - 3] = buffer[n - 2] = buffer[n - 1] = '.';
    buffer[n] = 0;
  }
  r.size = n < 0 ? 0 : (size_t)n;
  return r;
}

/* Makes an error and raises it; the cause and the context are borrowed. */
TVMFFI_I_COLD int tvmffi_i_raise_error(const TVMFFIByteArray *kind,
                                       const TVMFFIByteArray *message,
                                       const TVMFFIByteArray *trace,
                                       TVMFFIObjectHandle cause,
                                       TVMFFIObjectHandle context) {
  TVMFFIByteArray none = {"", 0};
  TVMFFIObjectHandle error = NULL;
  if (!trace) trace = &none;
  if (cause || context ? TVMFFIErrorCreateWithCauseAndExtraContext(
                             kind, message, trace, cause, context, &error)
                       : TVMFFIErrorCreate(kind, message, trace, &error)) {
    TVMFFIErrorSetRaisedFromCStr("MemoryError", "out of memory");
    return -1;
  }
  TVMFFIErrorSetRaised(error);
  tvmffi_release(error);
  return -1;
}

/* What TVMFFI_RAISE calls: `trace` as TVMFFIBacktrace gave it. Returns -1.
   When memory is refused the thread's error is a MemoryError. */
TVMFFI_I_PRINTF(3, 4)
TVMFFI_I_COLD int tvmffi_raise(const TVMFFIByteArray *trace, const char *kind,
                               const char *format, ...) {
  char buffer[TVMFFI_MESSAGE_SIZE];
  TVMFFIByteArray name = tvmffi_view(kind), message;
  va_list ap;
  va_start(ap, format);
  message = tvmffi_i_message(buffer, format, ap);
  va_end(ap);
  return tvmffi_i_raise_error(&name, &message, trace, NULL, NULL);
}

/* Raises an error that another one is the cause of (taken; NULL for none), with
   the rest as TVMFFI_RAISE has it:
       return TVMFFI_RAISE_FROM(tvmffi_error_take(), "ValueError", "bad file");
   The cause is printed by tvmffi_error_print, and tvmffi_error_cause gives it.
   Python shows the error alone, as it does with the stock library. */
#define TVMFFI_RAISE_FROM(cause, ...)                                     \
  tvmffi_raise_from(cause,                                                \
                    TVMFFIBacktrace(__FILE__, __LINE__,                   \
                                    tvmffi_i_function_name(__func__), 0), \
                    __VA_ARGS__)

/* What TVMFFI_RAISE_FROM calls. Returns -1. */
TVMFFI_I_PRINTF(4, 5)
TVMFFI_I_COLD int tvmffi_raise_from(TVMFFIObjectHandle cause,
                                    const TVMFFIByteArray *trace,
                                    const char *kind, const char *format, ...) {
  char buffer[TVMFFI_MESSAGE_SIZE];
  TVMFFIByteArray name = tvmffi_view(kind), message;
  va_list ap;
  va_start(ap, format);
  message = tvmffi_i_message(buffer, format, ap);
  va_end(ap);
  (void)tvmffi_i_raise_error(&name, &message, trace, cause, NULL);
  tvmffi_release(cause);
  return -1;
}

/* Takes the thread's error out of its slot: owned, or NULL if there is none. */
TVMFFI_I_INLINE TVMFFIObject *tvmffi_error_take(void) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  return (TVMFFIObject *)error;
}

/* Drops the thread's error, if there is one. */
TVMFFI_I_INLINE void tvmffi_error_clear(void) {
  tvmffi_release(tvmffi_error_take());
}

/* Puts an error (taken) into the slot again, as it is. Returns -1, also for
   NULL, when there is nothing to put:
       return tvmffi_error_raise(error); */
TVMFFI_I_INLINE int tvmffi_error_raise(TVMFFIObjectHandle error) {
  if (error) TVMFFIErrorSetRaised(error);
  tvmffi_release(error);
  return -1;
}

/* The cause of an error (borrowed, not NULL): borrowed from it, or NULL. */
TVMFFI_I_INLINE TVMFFIObject *tvmffi_error_cause(TVMFFIObjectHandle error) {
  return (TVMFFIObject *)TVMFFIErrorGetCellPtr(error)->cause_chain;
}

/* Tells whether `error` (borrowed, not NULL) is of the kind. */
TVMFFI_I_INLINE int tvmffi_error_is(TVMFFIObjectHandle error,
                                    const char *kind) {
  return tvmffi_i_same(TVMFFIErrorGetCellPtr(error)->kind, kind);
}

/* Drops the thread's error if it is of the kind, and tells whether it was; one
   of another kind stays where it is:
       code = tvmffi_call("find", &at, key);
       if (code && tvmffi_error_catch("KeyError")) code = at = 0; */
TVMFFI_I_INLINE int tvmffi_error_catch(const char *kind) {
  TVMFFIObject *error = tvmffi_error_take();
  int is = error && tvmffi_error_is(error, kind);
  if (error && !is) TVMFFIErrorSetRaised(error);
  tvmffi_release(error);
  return is;
}

/* Returns the code of `expr` from the calling function unless it is 0, and
   tells first what was being done, in a printf format:
       TVMFFI_TRY_CONTEXT(parse(text), "reading %s, line %d", path, line);
   The error keeps its kind, trace and cause, and its message becomes
   "reading a.txt, line 7: not a number". */
#define TVMFFI_TRY_CONTEXT(expr, ...)                        \
  do {                                                       \
    int tvmffi_code = (expr);                                \
    if (TVMFFI_I_UNLIKELY(tvmffi_code))                      \
      return tvmffi_error_context(tvmffi_code, __VA_ARGS__); \
  } while (0)

/* What TVMFFI_TRY_CONTEXT calls. Returns `code`; with code -2, when the slot is
   empty, that is all. */
TVMFFI_I_PRINTF(2, 3)
TVMFFI_I_COLD int tvmffi_error_context(int code, const char *format, ...) {
  char buffer[TVMFFI_MESSAGE_SIZE];
  const char *parts[3];
  const TVMFFIErrorCell *cell;
  TVMFFIObject *text, *error = code == -2 ? NULL : tvmffi_error_take();
  va_list ap;
  if (!error) return code;
  va_start(ap, format);
  parts[0] = tvmffi_i_message(buffer, format, ap).data;
  va_end(ap);
  cell = TVMFFIErrorGetCellPtr(error);
  parts[1] = ": ";
  parts[2] = cell->message.data;
  TVMFFIErrorSetRaisedFromCStrParts("", parts, 3); /* joins them */
  text = tvmffi_error_take();
  if (text && TVMFFIErrorGetCellPtr(text)->kind.size)
    TVMFFIErrorSetRaised(text); /* no memory to join them */
  else if (text)
    (void)tvmffi_i_raise_error(
        &cell->kind, &TVMFFIErrorGetCellPtr(text)->message, &cell->backtrace,
        cell->cause_chain, cell->extra_context);
  tvmffi_release(text);
  tvmffi_release(error);
  return code;
}

/* Copies the lines of a trace in reverse order to the end of `lines`, as many
   as fit, the first ones first; gives where they begin. */
TVMFFI_I_COLD const char *tvmffi_i_reverse_lines(char *lines, size_t capacity,
                                                 TVMFFIByteArray t) {
  size_t begin = 0, end, at = capacity - 1, i;
  lines[at] = 0;
  for (; begin < t.size; begin = end) {
    for (end = begin; end < t.size && t.data[end] != '\n'; ++end) {
    }
    if (end < t.size) ++end;
    if (end - begin > at) break;
    at -= end - begin;
    for (i = begin; i < end; ++i) lines[at + i - begin] = t.data[i];
  }
  return lines + at;
}

/* Replaces the thread's error by one whose message is `before` (the text of its
   cause, or "") and the whole text of the error as Python prints it: the trace
   with the most recent call last, which is the stored one in reverse, then kind
   and message. */
TVMFFI_I_COLD void tvmffi_i_error_append(const char *before,
                                         TVMFFIObjectHandle error) {
  char lines[4 * TVMFFI_MESSAGE_SIZE];
  const char *parts[8];
  const TVMFFIErrorCell *cell = TVMFFIErrorGetCellPtr(error);
  parts[0] = before;
  parts[1] = *before ? "\nThe above exception was the direct cause of the "
                       "following exception:\n\n"
                     : "";
  parts[2] = "Traceback (most recent call last):\n";
  parts[3] = tvmffi_i_reverse_lines(lines, sizeof(lines), cell->backtrace);
  parts[4] = cell->kind.data;
  parts[5] = ": ";
  parts[6] = cell->message.data;
  parts[7] = "\n";
  TVMFFIErrorSetRaisedFromCStrParts("", parts, 8);
}

/* Replaces the thread's error by one whose message is its whole text, its
   causes first, of which the seven nearest are told. Gives that text, which the
   slot owns. */
TVMFFI_I_COLD const char *tvmffi_i_error_text(void) {
  TVMFFIObjectHandle chain[8], at;
  TVMFFIObject *text = NULL, *error = tvmffi_error_take();
  int n = 0;
  if (!error) return "";
  for (at = error; at && n < 8; at = tvmffi_error_cause(at)) chain[n++] = at;
  while (n--) {
    tvmffi_i_error_append(text ? TVMFFIErrorGetCellPtr(text)->message.data : "",
                          chain[n]);
    tvmffi_release(text);
    text = tvmffi_error_take();
  }
  tvmffi_release(error);
  if (!text) return "";
  TVMFFIErrorSetRaised(text);
  tvmffi_release(text);
  return TVMFFIErrorGetCellPtr(text)->message.data;
}

/* Takes the thread's error and prints it with its trace and its causes; `file`
   is a FILE * (the caller includes <stdio.h>). */
#define tvmffi_error_print(file) \
  ((void)fputs(tvmffi_i_error_text(), (file)), tvmffi_error_clear())

/* Tells by -1 that the thread has an error, which stays, by 0 that it has none:
   where an object is NULL, the error is why, and must not be lost. */
TVMFFI_I_COLD int tvmffi_i_pending(void) {
  TVMFFIObject *error = tvmffi_error_take();
  return error ? tvmffi_error_raise(error) : 0;
}

/* ======== Scopes ================================================= >>scopes */
/* C interface: a scope releases at its end, newest first, what was handed out
   inside it: containers, function objects, tensors, objects of tvmffi_new,
   results of calls into a TVMFFIObject ** or TVMFFIAny *. Outside any scope
   these are the caller's. An error that is taken is always the caller's. Scopes
   nest; the innermost one gets them. A scope is of one thread and of one file:
   code of other files never sees it, and a function that is called by
   tvmffi_call begins outside of all scopes, also where it stands in the same
   file. So only plain C functions of the file share the scope of their caller.
   A file that begins no scope has none of this in its machine code. */

/* So many objects stand in the scope itself; for more it takes memory. */
#define TVMFFI_I_SCOPE_FIRST 12

typedef struct tvmffi_scope {
  struct tvmffi_scope *parent;
  TVMFFIObject **items;     /* owned, in order; NULL for one that was taken */
  uint32_t count, capacity; /* of items: `first`, or memory of their own */
  uint32_t away;            /* calls in progress that were made inside it */
  TVMFFIObject *first[TVMFFI_I_SCOPE_FIRST];
} tvmffi_scope;

/* The innermost open scope. */
#if TVMFFI_NO_THREADS
TVMFFI_I_UNUSED static tvmffi_scope *tvmffi_i_scope;
#else
TVMFFI_I_UNUSED static __thread tvmffi_scope *tvmffi_i_scope;
#endif

/* Memory of scopes is the file's own affair: TVMFFI_MALLOC if it has that, else
   malloc. Without both a scope holds TVMFFI_I_SCOPE_FIRST objects. */
#if defined(TVMFFI_MALLOC)
#define TVMFFI_I_SCOPE_MALLOC(size) TVMFFI_MALLOC(size)
#define TVMFFI_I_SCOPE_FREE(pointer) TVMFFI_FREE(pointer)
#elif defined(__STDC_HOSTED__) && !__STDC_HOSTED__
#define TVMFFI_I_SCOPE_MALLOC(size) ((void)(size), (void *)0)
#define TVMFFI_I_SCOPE_FREE(pointer) ((void)(pointer))
#else
#include <stdlib.h>
#define TVMFFI_I_SCOPE_MALLOC(size) malloc(size)
#define TVMFFI_I_SCOPE_FREE(pointer) free(pointer)
#endif

/* Where in the file the C interface is being used, for the leak report. */
#if TVMFFI_DEBUG
#define TVMFFI_I_QUOTE_(x) #x
#define TVMFFI_I_QUOTE(x) TVMFFI_I_QUOTE_(x)
#define TVMFFI_I_PLACE __FILE__ ":" TVMFFI_I_QUOTE(__LINE__)
#define TVMFFI_I_HERE (void)(tvmffi_i_here = TVMFFI_I_PLACE),
#if TVMFFI_NO_THREADS
static const char *tvmffi_i_here;
#else
static __thread const char *tvmffi_i_here;
#endif

/* Tells the runtime, if it wants to know. */
TVMFFI_I_COLD void tvmffi_i_note(const void *obj, int released,
                                 const char *place) {
  TVMFFIByteArray name = tvmffi_view("tvmffi.DebugNote");
  TVMFFIObjectHandle note = NULL;
  TVMFFIAny args[3], result = tvmffi_none();
  if (!place || TVMFFIFunctionGetGlobal(&name, &note) || !note) return;
  args[0] = tvmffi_ptr(obj);
  args[1] = tvmffi_bool(released);
  args[2] = tvmffi_str(place);
  (void)TVMFFIFunctionCall(note, args, 3, &result);
  tvmffi_release(note);
}

TVMFFI_I_INLINE void tvmffi_i_drop(TVMFFIObjectHandle obj, const char *place) {
  TVMFFIObject *o = (TVMFFIObject *)obj;
  if (o &&
      (uint32_t)TVMFFI_I_LOAD(TVMFFI_I_COUNT_AT(&o->combined_ref_count)) == 1)
    tvmffi_i_note(o, 1, place);
  tvmffi_release(o);
}

TVMFFI_I_INLINE void tvmffi_i_any_drop(TVMFFIAny *any, const char *place) {
  if (any->type_index >= kTVMFFIStaticObjectBegin) {
    tvmffi_i_drop(any->v_obj, place);
    any->type_index = kTVMFFINone;
  }
  tvmffi_any_release(any);
}
#else
#define TVMFFI_I_HERE
#define tvmffi_i_drop(obj, place) tvmffi_release(obj)
#endif

/* The scope that gets what is handed out now, or NULL. */
TVMFFI_I_INLINE tvmffi_scope *tvmffi_i_scope_here(void) {
  return tvmffi_i_scope && !tvmffi_i_scope->away ? tvmffi_i_scope : NULL;
}

/* The scope around `scope`, or NULL if a call stands between them. */
TVMFFI_I_INLINE tvmffi_scope *tvmffi_i_scope_around(const tvmffi_scope *scope) {
  return scope->parent && !scope->parent->away ? scope->parent : NULL;
}

TVMFFI_I_COLD TVMFFIObject *tvmffi_i_scope_error(const char *message) {
  (void)TVMFFI_RAISE("RuntimeError", "%s", message);
  return NULL;
}

TVMFFI_I_COLD int tvmffi_i_scope_grow(tvmffi_scope *scope) {
  uint32_t capacity = 2 * scope->capacity, i;
  TVMFFIObject **items = NULL;
  if (scope->capacity < UINT32_MAX / 2 / sizeof(*items))
    items = (TVMFFIObject **)TVMFFI_I_SCOPE_MALLOC(capacity * sizeof(*items));
  if (!items)
    return TVMFFI_RAISE("MemoryError",
                        "out of memory for the %u objects of a scope",
                        (unsigned)capacity);
  for (i = 0; i < scope->count; ++i) items[i] = scope->items[i];
  if (scope->items != scope->first) TVMFFI_I_SCOPE_FREE((void *)scope->items);
  scope->items = items;
  scope->capacity = capacity;
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_scope_add(tvmffi_scope *scope, TVMFFIObject *obj) {
  if (TVMFFI_I_UNLIKELY(scope->count == scope->capacity))
    TVMFFI_TRY(tvmffi_i_scope_grow(scope));
  scope->items[scope->count++] = obj;
  return 0;
}

/* Takes the newest reference to `obj` out of `scope`; 0 if it has none. */
TVMFFI_I_INLINE int tvmffi_i_scope_remove(tvmffi_scope *scope,
                                          const TVMFFIObject *obj) {
  uint32_t i = scope->count;
  while (i && scope->items[i - 1] != obj) --i;
  if (!i) return 0;
  scope->items[i - 1] = NULL;
  while (scope->count && !scope->items[scope->count - 1]) --scope->count;
  return 1;
}

/* Gives a reference that is handed out (taken; NULL is ignored) to the
   innermost scope, if there is one. Without memory for that it is released,
   and -1 is returned with a MemoryError. */
TVMFFI_I_INLINE int tvmffi_i_keep(TVMFFIObject *obj) {
  tvmffi_scope *scope = tvmffi_i_scope_here();
#if TVMFFI_DEBUG
  if (obj) tvmffi_i_note(obj, 0, tvmffi_i_here);
#endif
  if (!scope || !obj || !tvmffi_i_scope_add(scope, obj)) return 0;
  tvmffi_release(obj);
  return -1;
}

/* The same for what an owned Any holds; a refused one becomes None. */
TVMFFI_I_INLINE int tvmffi_i_keep_any(TVMFFIAny *any) {
  if (any->type_index < kTVMFFIStaticObjectBegin) return 0;
  if (!tvmffi_i_keep(any->v_obj)) return 0;
  *any = tvmffi_none();
  return -1;
}

/* Opens a scope. `scope` need not be initialised, and must exist until the
   scope is ended: who leaves the function has to end it. It cannot fail. */
TVMFFI_I_INLINE void tvmffi_scope_begin(tvmffi_scope *scope) {
  scope->parent = tvmffi_i_scope;
  scope->items = scope->first;
  scope->count = scope->away = 0;
  scope->capacity = TVMFFI_I_SCOPE_FIRST;
  tvmffi_i_scope = scope;
}

/* Releases what the innermost scope has, and closes it. A destructor may use
   the scope meanwhile: what it attaches is released, too. */
TVMFFI_I_INLINE void tvmffi_i_scope_close(void) {
  tvmffi_scope *scope = tvmffi_i_scope;
  while (scope->count) {
    TVMFFIObject *item = scope->items[--scope->count];
    tvmffi_i_drop(item, "the end of its scope");
  }
  if (scope->items != scope->first) TVMFFI_I_SCOPE_FREE((void *)scope->items);
  tvmffi_i_scope = scope->parent;
}

TVMFFI_I_INLINE int tvmffi_i_scope_is_open(const tvmffi_scope *scope) {
  const tvmffi_scope *open = tvmffi_i_scope_here();
  while (open && open != scope) open = tvmffi_i_scope_around(open);
  return open != NULL;
}

/* Ends a scope, and before it those that were begun inside it and not ended.
   A RuntimeError if it is not open, or was begun by another thread, by another
   file or before the call that is in progress. The error of the thread, if
   any, stays. */
TVMFFI_I_INLINE int tvmffi_scope_end(tvmffi_scope *scope) {
  if (!tvmffi_i_scope_is_open(scope)) {
    (void)tvmffi_i_scope_error("tvmffi_scope_end: the scope is not open here");
    return -1;
  }
  while (tvmffi_i_scope != scope) tvmffi_i_scope_close();
  tvmffi_i_scope_close();
  return 0;
}

/* Gives a reference of the caller's (taken in any case) to the innermost scope
   and returns the object, then borrowed; NULL with a RuntimeError where no
   scope is open, or a MemoryError. NULL gives NULL and no other error, so that
   it may be put around what can fail. */
TVMFFI_I_INLINE TVMFFIObject *tvmffi_scope_attach(TVMFFIObjectHandle obj) {
  if (!obj) return NULL;
  if (!tvmffi_i_scope_here()) {
    tvmffi_release(obj);
    return tvmffi_i_scope_error("tvmffi_scope_attach: no scope is open here");
  }
  return tvmffi_i_keep((TVMFFIObject *)obj) ? NULL : (TVMFFIObject *)obj;
}

/* Takes an object out of the scope that has it, the innermost one if several
   have: from then on it is the caller's, so it can be returned:
       TVMFFI_RETURN(tvmffi_scope_detach(list));
   NULL with a RuntimeError if no open scope has it. NULL gives NULL. */
TVMFFI_I_INLINE TVMFFIObject *tvmffi_scope_detach(TVMFFIObjectHandle obj) {
  tvmffi_scope *scope = obj ? tvmffi_i_scope_here() : NULL;
  for (; scope; scope = tvmffi_i_scope_around(scope))
    if (tvmffi_i_scope_remove(scope, (TVMFFIObject *)obj))
      return (TVMFFIObject *)obj;
  if (!obj) return NULL;
  return tvmffi_i_scope_error(
      "tvmffi_scope_detach: the object is in no open scope");
}

/* Moves an object from the innermost scope to the one around it and returns
   it, still borrowed. NULL with a RuntimeError if the innermost scope does not
   have it or is the outermost one, or with a MemoryError; then it stays where
   it is. NULL gives NULL. */
TVMFFI_I_INLINE TVMFFIObject *tvmffi_scope_to_parent(TVMFFIObjectHandle obj) {
  tvmffi_scope *scope = tvmffi_i_scope_here(), *parent;
  TVMFFIObject *o = (TVMFFIObject *)obj;
  if (!o) return o;
  parent = scope ? tvmffi_i_scope_around(scope) : NULL;
  if (!parent)
    return tvmffi_i_scope_error(
        "tvmffi_scope_to_parent: there is no parent scope");
  if (!tvmffi_i_scope_remove(scope, o))
    return tvmffi_i_scope_error(
        "tvmffi_scope_to_parent: the object is not in the innermost scope");
  if (!tvmffi_i_scope_add(parent, o)) return o;
  scope->items[scope->count++] = o; /* where there was room a moment ago */
  return NULL;
}

/* Tells how many references the open scopes of this thread and file hold to
   objects of exactly the type; kTVMFFIAny: of all types. It works on every
   runtime, and sees what scopes of this file have; tvmffi_live_count sees all
   objects of a runtime built with TVMFFI_DEBUG. */
TVMFFI_I_INLINE int64_t tvmffi_scope_count(int32_t type_index) {
  const tvmffi_scope *scope = tvmffi_i_scope;
  int64_t n = 0;
  uint32_t i;
  for (; scope; scope = scope->parent)
    for (i = 0; i < scope->count; ++i)
      n += scope->items[i] && (type_index == kTVMFFIAny ||
                               scope->items[i]->type_index == type_index);
  return n;
}

/* TVMFFI_SCOPE { ... } is a scope around a block. It ends however the block is
   left: at its end, by return, TVMFFI_TRY, goto, break or continue (these two
   leave the block, not a loop around it), in C++ also by an exception. A value
   that is returned is computed before. This takes the cleanup attribute of GCC
   and clang, or C++; with another compiler there is no TVMFFI_SCOPE, and every
   way out of a function ends its scope by tvmffi_scope_end. */
#if defined(__cplusplus)
extern "C++" {
namespace { /* each file has its own scopes, so its own functions of them */
struct tvmffi_i_scope_block {
  tvmffi_scope scope;
  bool entered;
  tvmffi_i_scope_block() : entered(true) { tvmffi_scope_begin(&scope); }
  tvmffi_i_scope_block(const tvmffi_i_scope_block &) = delete;
  tvmffi_i_scope_block &operator=(const tvmffi_i_scope_block &) = delete;
  ~tvmffi_i_scope_block() {
    if (tvmffi_i_scope_is_open(&scope)) (void)tvmffi_scope_end(&scope);
  }
};
} /* namespace */
} /* extern "C++" */
#define TVMFFI_SCOPE                                               \
  for (tvmffi_i_scope_block TVMFFI_I_CAT(tvmffi_scope_, __LINE__); \
       TVMFFI_I_CAT(tvmffi_scope_, __LINE__).entered;              \
       TVMFFI_I_CAT(tvmffi_scope_, __LINE__).entered = false)
#elif TVMFFI_I_GNU
TVMFFI_I_INLINE tvmffi_scope *tvmffi_i_scope_enter(tvmffi_scope *scope) {
  tvmffi_scope_begin(scope);
  return scope;
}
TVMFFI_I_INLINE void tvmffi_i_scope_leave(tvmffi_scope *scope) {
  if (tvmffi_i_scope_is_open(scope)) (void)tvmffi_scope_end(scope);
}
#define TVMFFI_SCOPE                                                     \
  for (tvmffi_scope TVMFFI_I_CAT(tvmffi_scope_, __LINE__)                \
           __attribute__((cleanup(tvmffi_i_scope_leave))),               \
       *TVMFFI_I_CAT(tvmffi_entered_, __LINE__) =                        \
           tvmffi_i_scope_enter(&TVMFFI_I_CAT(tvmffi_scope_, __LINE__)); \
       TVMFFI_I_CAT(tvmffi_entered_, __LINE__);                          \
       TVMFFI_I_CAT(tvmffi_entered_, __LINE__) = NULL)
#endif

/* A function of this file is not in the scope of its caller, as it returns
   what it makes: meanwhile that scope is away. */
TVMFFI_I_INLINE int tvmffi_i_call_away(TVMFFIObjectHandle function,
                                       TVMFFIAny *args, int32_t n,
                                       TVMFFIAny *result) {
  tvmffi_scope *scope = tvmffi_i_scope;
#if TVMFFI_DEBUG
  const char *place = tvmffi_i_here;
#endif
  int code;
  if (scope) ++scope->away;
  code = TVMFFIFunctionCall(function, args, n, result);
  if (scope) --scope->away;
#if TVMFFI_DEBUG
  tvmffi_i_here = place;
#endif
  return code;
}

/* ======== Typed functions ========================================= >>typed */
/* C interface: one macro before an ordinary function body makes a packed
   function of it, with checks of argument count and types, conversions and
   error texts as the typed functions of the C++ headers have them. A type is
   a word T for which stand: tvmffi_type_T, the C type; tvmffi_i_get_T and
   tvmffi_i_put_T, from and to an Any; tvmffi_i_name_T, its names. An unknown
   word is the compiler's error: unknown type name 'tvmffi_type_...'. */

typedef struct {
  const char *name;   /* in error texts */
  const char *schema; /* in type schemas: a word, or JSON from its brace on */
} tvmffi_i_name;

/* A type made of others, array(T) say. Its schema begins with '['. A cast is 0
   for a value that stands as it is, TVMFFI_I_CONVERTED with *to owned, or what
   a getter answers. Its depth is that of the type, whatever the value. */
typedef int tvmffi_i_cast(const tvmffi_i_name *type, const TVMFFIAny *from,
                          TVMFFIAny *to);
typedef struct {
  tvmffi_i_name base;
  const tvmffi_i_name *of[2];
  tvmffi_i_cast *cast[2];
  int32_t fits[2]; /* elements of this type index need no cast; or -1 */
} tvmffi_i_compound;

/* What TVMFFI_FUNC defines as tvmffi_func_NAME. types[0] is the result's. */
typedef struct {
  const char *name;
  TVMFFISafeCallType call;
  int32_t num_args; /* -1: a packed function, which takes what it finds */
  const tvmffi_i_name *const *types;
} tvmffi_func;

/* A getter's value: 0, an error's code, or one of these. */
enum { TVMFFI_I_MISMATCH = 1, TVMFFI_I_RANGE = 2, TVMFFI_I_CONVERTED = 3 };

#define TVMFFI_I_TYPE(T, ctype, name, schema)            \
  typedef ctype tvmffi_type_##T;                         \
  typedef int tvmffi_i_put_type_##T(TVMFFIAny *, ctype); \
  TVMFFI_I_UNUSED static const tvmffi_i_name tvmffi_i_name_##T = {name, schema};
#define TVMFFI_I_GET(T)                                      \
  TVMFFI_I_INLINE int tvmffi_i_get_##T(const TVMFFIAny *any, \
                                       tvmffi_type_##T *out)
#define TVMFFI_I_PUT(T) \
  TVMFFI_I_INLINE int tvmffi_i_put_##T(TVMFFIAny *out, tvmffi_type_##T value)

/* What makes optional(T) and elements of type T of a word: one line behind its
   getter and putter. The first is for a pointer, where NULL is none; the second
   for a value, which gets a struct; the third for a value that is never
   converted. */
#define TVMFFI_I_POINTER_WORD(T)                                              \
  typedef tvmffi_type_##T tvmffi_type_optional_##T;                           \
  TVMFFI_I_INLINE int tvmffi_i_get_optional_##T(                              \
      const TVMFFIAny *any, tvmffi_type_optional_##T *out) {                  \
    *out = NULL;                                                              \
    return any->type_index == kTVMFFINone ? 0 : (tvmffi_i_get_##T)(any, out); \
  }                                                                           \
  TVMFFI_I_INLINE int tvmffi_i_put_optional_##T(                              \
      TVMFFIAny *out, tvmffi_type_optional_##T value) {                       \
    *out = tvmffi_none();                                                     \
    return value ? (tvmffi_i_put_##T)(out, value) : 0;                        \
  }                                                                           \
  TVMFFI_I_KEPT_ELEMENT(T, -1)
#define TVMFFI_I_VALUE_WORD(T, index)                                   \
  TVMFFI_I_OPTIONAL_STRUCT(T)                                           \
  TVMFFI_I_CAST(T, index) {                                             \
    tvmffi_type_##T value;                                              \
    int code = (tvmffi_i_get_##T)(from, &value);                        \
    (void)type;                                                         \
    if (!code) code = tvmffi_i_put_##T(to, value);                      \
    if (code) return code;                                              \
    return to->type_index == from->type_index ? 0 : TVMFFI_I_CONVERTED; \
  }
#define TVMFFI_I_KEPT_WORD(T, index) \
  TVMFFI_I_OPTIONAL_STRUCT(T)        \
  TVMFFI_I_KEPT_ELEMENT(T, index)
#define TVMFFI_I_OPTIONAL_STRUCT(T)                                  \
  typedef struct {                                                   \
    tvmffi_type_##T value;                                           \
    int has_value;                                                   \
  } tvmffi_type_optional_##T;                                        \
  TVMFFI_I_INLINE tvmffi_type_optional_##T tvmffi_no_##T(void) {     \
    tvmffi_type_optional_##T no = TVMFFI_I_ZERO;                     \
    return no;                                                       \
  }                                                                  \
  TVMFFI_I_INLINE tvmffi_type_optional_##T tvmffi_some_##T(          \
      tvmffi_type_##T value) {                                       \
    tvmffi_type_optional_##T some;                                   \
    some.value = value;                                              \
    some.has_value = 1;                                              \
    return some;                                                     \
  }                                                                  \
  TVMFFI_I_INLINE int tvmffi_i_get_optional_##T(                     \
      const TVMFFIAny *any, tvmffi_type_optional_##T *out) {         \
    out->has_value = any->type_index != kTVMFFINone;                 \
    return out->has_value ? tvmffi_i_get_##T(any, &out->value) : 0;  \
  }                                                                  \
  TVMFFI_I_INLINE int tvmffi_i_put_optional_##T(                     \
      TVMFFIAny *out, tvmffi_type_optional_##T value) {              \
    *out = tvmffi_none();                                            \
    return value.has_value ? tvmffi_i_put_##T(out, value.value) : 0; \
  }
#define TVMFFI_I_KEPT_ELEMENT(T, index)      \
  TVMFFI_I_CAST(T, index) {                  \
    tvmffi_type_##T value;                   \
    (void)type, (void)to;                    \
    return (tvmffi_i_get_##T)(from, &value); \
  }
#define TVMFFI_I_CAST(T, index)                                                \
  enum { tvmffi_i_fits_##T = index };                                          \
  typedef int tvmffi_i_put_type_optional_##T(TVMFFIAny *,                      \
                                             tvmffi_type_optional_##T);        \
  TVMFFI_I_INLINE int tvmffi_i_item_##T(const tvmffi_i_name *type,             \
                                        const TVMFFIAny *from, TVMFFIAny *to); \
  TVMFFI_I_ELEMENT(T)                                                          \
  TVMFFI_I_INLINE int tvmffi_i_item_##T(const tvmffi_i_name *type,             \
                                        const TVMFFIAny *from, TVMFFIAny *to)

#if defined(__cplusplus)
#define TVMFFI_I_ZERO \
  {                   \
  }
#define TVMFFI_I_ELEMENT(T)                                              \
  struct tvmffi_i_element_##T {                                          \
    static constexpr const tvmffi_i_name *name() {                       \
      return &tvmffi_i_name_##T;                                         \
    }                                                                    \
    static constexpr tvmffi_i_cast *cast() { return tvmffi_i_item_##T; } \
    static constexpr int32_t fits() { return tvmffi_i_fits_##T; }        \
  };
#else
#define TVMFFI_I_ZERO {0}
#define TVMFFI_I_ELEMENT(T)
#endif

#define TVMFFI_I_IS_INT(any) \
  ((any)->type_index == kTVMFFIInt || (any)->type_index == kTVMFFIBool)

#define TVMFFI_I_INT_TYPE(T)                                   \
  TVMFFI_I_TYPE(T, T##_t, "int", "int")                        \
  TVMFFI_I_GET(T) {                                            \
    if (!TVMFFI_I_IS_INT(any)) return TVMFFI_I_MISMATCH;       \
    *out = (T##_t)any->v_int64;                                \
    return (int64_t)*out == any->v_int64 ? 0 : TVMFFI_I_RANGE; \
  }                                                            \
  TVMFFI_I_PUT(T) {                                            \
    *out = tvmffi_int(value);                                  \
    return 0;                                                  \
  }                                                            \
  TVMFFI_I_VALUE_WORD(T, sizeof(T##_t) == 8 ? (int)kTVMFFIInt : -1)
TVMFFI_I_INT_TYPE(int8)
TVMFFI_I_INT_TYPE(int16)
TVMFFI_I_INT_TYPE(int32)
TVMFFI_I_INT_TYPE(int64)
TVMFFI_I_INT_TYPE(uint8)
TVMFFI_I_INT_TYPE(uint16)
TVMFFI_I_INT_TYPE(uint32)

TVMFFI_I_TYPE(uint64, uint64_t, "int", "int")
TVMFFI_I_GET(uint64) {
  if (!TVMFFI_I_IS_INT(any)) return TVMFFI_I_MISMATCH;
  *out = (uint64_t)any->v_int64;
  return any->v_int64 >= 0 ? 0 : TVMFFI_I_RANGE;
}
TVMFFI_I_COLD int tvmffi_i_too_large(uint64_t value) {
  return TVMFFI_RAISE("OverflowError",
                      "Integer value %llu is too large to fit in int64_t. "
                      "Consider explicitly casting to int64_t first if this "
                      "is intentional.",
                      (unsigned long long)value);
}
TVMFFI_I_PUT(uint64) {
  if (value >> 63) return tvmffi_i_too_large(value);
  *out = tvmffi_int((int64_t)value);
  return 0;
}
TVMFFI_I_VALUE_WORD(uint64, -1)

#if defined(__cplusplus)
TVMFFI_I_TYPE(bool, bool, "bool", "bool")
#else
TVMFFI_I_TYPE(bool, _Bool, "bool", "bool")
#endif
TVMFFI_I_GET(bool) {
  *out = any->v_int64 != 0;
  return TVMFFI_I_IS_INT(any) ? 0 : TVMFFI_I_MISMATCH;
}
TVMFFI_I_PUT(bool) {
  *out = tvmffi_bool(value);
  return 0;
}
TVMFFI_I_VALUE_WORD(bool, kTVMFFIBool)
/* With <stdbool.h> of C99 the word `bool` arrives here as `_Bool`. */
#define tvmffi_type__Bool tvmffi_type_bool
#define tvmffi_i_put_type__Bool tvmffi_i_put_type_bool
#define tvmffi_i_name__Bool tvmffi_i_name_bool
#define tvmffi_i_get__Bool tvmffi_i_get_bool
#define tvmffi_i_put__Bool tvmffi_i_put_bool
#define tvmffi_i_item__Bool tvmffi_i_item_bool
#define tvmffi_i_fits__Bool tvmffi_i_fits_bool
#define tvmffi_i_element__Bool tvmffi_i_element_bool
#define tvmffi_type_optional__Bool tvmffi_type_optional_bool
#define tvmffi_i_put_type_optional__Bool tvmffi_i_put_type_optional_bool
#define tvmffi_i_get_optional__Bool tvmffi_i_get_optional_bool
#define tvmffi_i_put_optional__Bool tvmffi_i_put_optional_bool

#if !TVMFFI_NO_FLOAT
#define TVMFFI_I_FLOAT_TYPE(T, ctype)                     \
  TVMFFI_I_TYPE(T, ctype, "float", "float")               \
  TVMFFI_I_GET(T) {                                       \
    if (TVMFFI_I_LIKELY(any->type_index == kTVMFFIFloat)) \
      *out = (ctype)any->v_float64;                       \
    else if (TVMFFI_I_IS_INT(any))                        \
      *out = (ctype)any->v_int64;                         \
    else                                                  \
      return TVMFFI_I_MISMATCH;                           \
    return 0;                                             \
  }                                                       \
  TVMFFI_I_PUT(T) {                                       \
    *out = tvmffi_float((double)value);                   \
    return 0;                                             \
  }                                                       \
  TVMFFI_I_VALUE_WORD(T, kTVMFFIFloat)
TVMFFI_I_FLOAT_TYPE(float32, float)
TVMFFI_I_FLOAT_TYPE(float64, double)
#endif

/* No result, so nothing is put but the None of it. */
typedef int tvmffi_i_put_type_none(TVMFFIAny *);
static const tvmffi_i_name tvmffi_i_name_none = {"void", "None"};
TVMFFI_I_INLINE int tvmffi_i_put_none(TVMFFIAny *out) {
  *out = tvmffi_none();
  return 0;
}

/* Any value: borrowed as a parameter, owned by the caller as a result. */
TVMFFI_I_TYPE(any, TVMFFIAny, "Any", "Any")
TVMFFI_I_GET(any) {
  *out = *any;
  return 0;
}
TVMFFI_I_PUT(any) {
  *out = value;
  return 0;
}
TVMFFI_I_KEPT_WORD(any, -1)

TVMFFI_I_TYPE(str, TVMFFIByteArray, "str", "ffi.String")
TVMFFI_I_GET(str) {
  if (any->type_index == kTVMFFISmallStr) {
    out->data = any->v_bytes;
    out->size = any->small_str_len;
    return 0;
  }
  if (TVMFFI_I_UNLIKELY(
          (any->type_index != kTVMFFIStr && any->type_index != kTVMFFIRawStr) ||
          !any->v_ptr))
    return TVMFFI_I_MISMATCH;
  if (TVMFFI_I_LIKELY(any->type_index == kTVMFFIStr))
    *out = *TVMFFIBytesGetByteArrayPtr(any->v_obj);
  else
    *out = tvmffi_view(any->v_c_str);
  return 0;
}
TVMFFI_I_PUT(str) { return TVMFFIStringFromByteArray(&value, out); }
TVMFFI_I_KEPT_WORD(str, kTVMFFISmallStr)

TVMFFI_I_TYPE(bytes, TVMFFIByteArray, "bytes", "ffi.Bytes")
TVMFFI_I_GET(bytes) {
  int32_t index = any->type_index;
  if (index != kTVMFFISmallBytes &&
      ((index != kTVMFFIBytes && index != kTVMFFIByteArrayPtr) || !any->v_ptr))
    return TVMFFI_I_MISMATCH;
  *out = tvmffi_any_str(any);
  return 0;
}
TVMFFI_I_PUT(bytes) { return TVMFFIBytesFromByteArray(&value, out); }
TVMFFI_I_KEPT_WORD(bytes, kTVMFFISmallBytes)

TVMFFI_I_TYPE(dtype, DLDataType, "DataType", "DataType")
TVMFFI_I_GET(dtype) {
  TVMFFIByteArray text;
  if (any->type_index == kTVMFFIDataType) {
    *out = any->v_dtype;
    return 0;
  }
  text = tvmffi_any_str(any);
  if (!text.data) return TVMFFI_I_MISMATCH;
  return TVMFFIDataTypeFromString(&text, out);
}
TVMFFI_I_PUT(dtype) {
  *out = tvmffi_dtype(value);
  return 0;
}
TVMFFI_I_VALUE_WORD(dtype, kTVMFFIDataType)

/* Parses "cuda", "cuda:1" and the like, up to the first space. */
TVMFFI_I_COLD int tvmffi_i_parse_device(TVMFFIByteArray s, DLDevice *out) {
  static const struct {
    const char *name;
    int32_t type;
  } devices[] = {{"cpu", 1},      {"cuda", 2},  {"opencl", 4},  {"vulkan", 7},
                 {"metal", 8},    {"mps", 8},   {"vpi", 9},     {"rocm", 10},
                 {"ext_dev", 12}, {"wgpu", 15}, {"webgpu", 15}, {"hexagon", 16},
                 {"maia", 17},    {"trn", 18}};
  size_t size = 0, n, k, i;
  int64_t id = 0;
  while (size < s.size && s.data[size] != ' ') ++size;
  for (n = 0; n < size && s.data[n] != ':'; ++n) {
  }
  if (n < size && n + 1 == size) return TVMFFI_I_MISMATCH;
  for (i = n + 1; i < size; ++i) {
    if (s.data[i] < '0' || s.data[i] > '9') return TVMFFI_I_MISMATCH;
    id = id * 10 + (s.data[i] - '0');
    if (id > INT32_MAX) return TVMFFI_I_MISMATCH;
  }
  for (k = 0; k < sizeof(devices) / sizeof(devices[0]); ++k) {
    for (i = 0; i < n && s.data[i] == devices[k].name[i]; ++i) {
    }
    if (i == n && n && !devices[k].name[n]) {
      out->device_type = (DLDeviceType)(devices[k].type);
      out->device_id = (int32_t)id;
      return 0;
    }
  }
  return TVMFFI_I_MISMATCH;
}

TVMFFI_I_TYPE(device, DLDevice, "Device", "Device")
TVMFFI_I_GET(device) {
  TVMFFIByteArray text;
  if (any->type_index == kTVMFFIDevice) {
    *out = any->v_device;
    return 0;
  }
  if (tvmffi_i_get_str(any, &text)) return TVMFFI_I_MISMATCH;
  return tvmffi_i_parse_device(text, out);
}
TVMFFI_I_PUT(device) {
  *out = tvmffi_device(value);
  return 0;
}
TVMFFI_I_VALUE_WORD(device, kTVMFFIDevice)

TVMFFI_I_TYPE(ptr, void *, "void*", "void*")
TVMFFI_I_GET(ptr) {
  *out = any->type_index == kTVMFFIOpaquePtr ? any->v_ptr : NULL;
  return *out || any->type_index == kTVMFFIOpaquePtr ||
                 any->type_index == kTVMFFINone
             ? 0
             : TVMFFI_I_MISMATCH;
}
TVMFFI_I_PUT(ptr) {
  *out = tvmffi_i_pointer(kTVMFFIOpaquePtr, value);
  return 0;
}
TVMFFI_I_POINTER_WORD(ptr)

/* A tensor is borrowed and so can only be a parameter. */
TVMFFI_I_TYPE(tensor, DLTensor *, "DLTensor*", "DLTensor*")
TVMFFI_I_GET(tensor) {
  if (TVMFFI_I_UNLIKELY((any->type_index != kTVMFFITensor &&
                         any->type_index != kTVMFFIDLTensorPtr) ||
                        !any->v_ptr))
    return TVMFFI_I_MISMATCH;
  *out = any->type_index == kTVMFFITensor
             ? TVMFFITensorGetDLTensorPtr(any->v_obj)
             : (DLTensor *)any->v_ptr;
  return 0;
}
typedef DLTensor *tvmffi_type_optional_tensor;
TVMFFI_I_INLINE int tvmffi_i_get_optional_tensor(const TVMFFIAny *any,
                                                 DLTensor **out) {
  *out = NULL;
  return any->type_index == kTVMFFINone ? 0 : tvmffi_i_get_tensor(any, out);
}
TVMFFI_I_KEPT_ELEMENT(tensor, kTVMFFITensor)

TVMFFI_I_TYPE(object, TVMFFIObject *, "ffi.Object", "ffi.Object")
TVMFFI_I_GET(object) {
  if (any->type_index < kTVMFFIStaticObjectBegin) return TVMFFI_I_MISMATCH;
  *out = any->v_obj;
  return *out ? 0 : TVMFFI_I_MISMATCH;
}
TVMFFI_I_PUT(object) {
  *out = tvmffi_obj(value);
  return TVMFFI_I_LIKELY(value != NULL) ? 0 : tvmffi_i_pending();
}
TVMFFI_I_POINTER_WORD(object)

/* An object of the type `index`, or of one that derives from it. */
#define TVMFFI_I_OBJECT_TYPE(T, name, schema, index)          \
  TVMFFI_I_TYPE(T, TVMFFIObject *, name, schema)              \
  TVMFFI_I_GET(T) {                                           \
    if (any->type_index != (index) &&                         \
        (any->type_index < kTVMFFIStaticObjectBegin ||        \
         !tvmffi_is_instance(any->type_index, index)))        \
      return TVMFFI_I_MISMATCH;                               \
    *out = any->v_obj;                                        \
    return *out ? 0 : TVMFFI_I_MISMATCH;                      \
  }                                                           \
  TVMFFI_I_PUT(T) { return tvmffi_i_put_object(out, value); } \
  TVMFFI_I_POINTER_WORD(T)
TVMFFI_I_OBJECT_TYPE(func, "ffi.Function", "ffi.Function", kTVMFFIFunction)
TVMFFI_I_OBJECT_TYPE(error, "ffi.Error", "ffi.Error", kTVMFFIError)
TVMFFI_I_OBJECT_TYPE(module, "ffi.Module", "ffi.Module", kTVMFFIModule)
TVMFFI_I_OBJECT_TYPE(opaque, "ffi.OpaquePyObject", "ffi.OpaquePyObject",
                     kTVMFFIOpaquePyObject)
/* A tensor that owns its memory: as a result, and as an element. */
TVMFFI_I_OBJECT_TYPE(tensor_object, "ffi.Tensor", "ffi.Tensor", kTVMFFITensor)

/* Containers. As parameters they are converted as upstream does it: a list
   stands for an array and the reverse, a dict for a map and the reverse, an
   array or list of ints for a shape; and where an element's type is given,
   array(float64) say, an element of another type is converted, or does not
   match. What is converted is a copy, released when the body returns. */
#define TVMFFI_I_CONTAINER_WORD(T, name, args, index)         \
  TVMFFI_I_TYPE(T, TVMFFIObject *, name, args)                \
  TVMFFI_I_GET(T) {                                           \
    *out = any->type_index == (index) ? any->v_obj : NULL;    \
    return *out ? 0 : TVMFFI_I_MISMATCH;                      \
  }                                                           \
  TVMFFI_I_PUT(T) { return tvmffi_i_put_object(out, value); } \
  typedef TVMFFIObject *tvmffi_type_optional_##T;             \
  TVMFFI_I_CAST(T, index) {                                   \
    return tvmffi_i_convert_container(type, index, from, to); \
  }                                                           \
  enum { tvmffi_i_kind_##T = index };
#define TVMFFI_I_ONE_ANY(key) \
  "{\"type\":\"" key "\",\"args\":[{\"type\":\"Any\"}]}"
#define TVMFFI_I_TWO_ANY(key) \
  "{\"type\":\"" key "\",\"args\":[{\"type\":\"Any\"},{\"type\":\"Any\"}]}"

TVMFFI_I_COLD int tvmffi_i_convert_container(const tvmffi_i_name *type,
                                             int32_t index,
                                             const TVMFFIAny *from,
                                             TVMFFIAny *to);
TVMFFI_I_CONTAINER_WORD(array, "Array<Any>", TVMFFI_I_ONE_ANY("ffi.Array"),
                        kTVMFFIArray)
TVMFFI_I_CONTAINER_WORD(list, "List<Any>", TVMFFI_I_ONE_ANY("ffi.List"),
                        kTVMFFIList)
TVMFFI_I_CONTAINER_WORD(map, "Map<Any, Any>", TVMFFI_I_TWO_ANY("ffi.Map"),
                        kTVMFFIMap)
TVMFFI_I_CONTAINER_WORD(dict, "Dict<Any, Any>", TVMFFI_I_TWO_ANY("ffi.Dict"),
                        kTVMFFIDict)
TVMFFI_I_CONTAINER_WORD(shape, "ffi.Shape", "ffi.Shape", kTVMFFIShape)

/* As an element, a value or none. */
TVMFFI_I_COLD int tvmffi_i_item_optional(const tvmffi_i_name *type,
                                         const TVMFFIAny *from, TVMFFIAny *to) {
  const tvmffi_i_compound *of = (const tvmffi_i_compound *)(const void *)type;
  return from->type_index == kTVMFFINone ? 0 : of->cast[0](of->of[0], from, to);
}

/* Words with arguments, which in a pair read as calls of macros. Such a word
   does not contain itself: array(array), not array(array(int64)). */
#define tvmffi_type_array(T) tvmffi_type_object
#define tvmffi_type_list(T) tvmffi_type_object
#define tvmffi_type_map(K, V) tvmffi_type_object
#define tvmffi_type_dict(K, V) tvmffi_type_object
#define tvmffi_type_optional(T) tvmffi_type_optional_##T
#define tvmffi_type_optional_array(T) tvmffi_type_object
#define tvmffi_type_optional_list(T) tvmffi_type_object
#define tvmffi_type_optional_map(K, V) tvmffi_type_object
#define tvmffi_type_optional_dict(K, V) tvmffi_type_object
#define tvmffi_i_item_array(T) tvmffi_i_item_array
#define tvmffi_i_item_list(T) tvmffi_i_item_list
#define tvmffi_i_item_map(K, V) tvmffi_i_item_map
#define tvmffi_i_item_dict(K, V) tvmffi_i_item_dict
#define tvmffi_i_item_optional(T) tvmffi_i_item_optional
#define tvmffi_i_get_optional(T) tvmffi_i_get_optional_##T
#define tvmffi_i_put_optional(T) tvmffi_i_put_optional_##T
#define tvmffi_i_put_type_optional(T) tvmffi_i_put_type_optional_##T
#define tvmffi_i_fits_array(T) (-1)
#define tvmffi_i_fits_list(T) (-1)
#define tvmffi_i_fits_map(K, V) (-1)
#define tvmffi_i_fits_dict(K, V) (-1)
#define tvmffi_i_fits_optional(T) tvmffi_i_fits_##T
/* Whether a word is a container's, or an optional container's: "~, 1,". */
#define tvmffi_i_held_array ~, 1,
#define tvmffi_i_held_list ~, 1,
#define tvmffi_i_held_map ~, 1,
#define tvmffi_i_held_dict ~, 1,
#define tvmffi_i_held_shape ~, 1,
#define tvmffi_i_held_optional(T) tvmffi_i_held_##T
#define TVMFFI_I_IS_HELD(T) \
  TVMFFI_I_SECOND(TVMFFI_I_CAT(tvmffi_i_held_, T), 0, ~)
#define TVMFFI_I_SECOND(...) TVMFFI_I_SECOND_(__VA_ARGS__)
#define TVMFFI_I_SECOND_(a, b, ...) b
/* A container's type index, whether none will do, whether its elements have a
   type, and what they fit by (tvmffi_i_compound). */
enum {
  TVMFFI_I_INDEX = 127,
  TVMFFI_I_OR_NONE = 1 << 7,
  TVMFFI_I_OF_TYPES = 1 << 8,
  TVMFFI_I_FITS = 9
};
#define TVMFFI_I_OF(fits) \
  (TVMFFI_I_OF_TYPES | (((fits) & TVMFFI_I_INDEX) << TVMFFI_I_FITS))
#define tvmffi_i_kind_array(T) \
  (tvmffi_i_kind_array | TVMFFI_I_OF(tvmffi_i_fits_##T))
#define tvmffi_i_kind_list(T) \
  (tvmffi_i_kind_list | TVMFFI_I_OF(tvmffi_i_fits_##T))
#define tvmffi_i_kind_map(K, V) (tvmffi_i_kind_map | TVMFFI_I_OF(-1))
#define tvmffi_i_kind_dict(K, V) (tvmffi_i_kind_dict | TVMFFI_I_OF(-1))
#define tvmffi_i_kind_optional(T) (TVMFFI_I_OR_NONE | tvmffi_i_kind_##T)

/* Descriptions of these, each a constant of its own. */
#if defined(__cplusplus)
extern "C++" {
namespace {
template <typename W, typename A, typename B>
struct tvmffi_i_of {
  static const tvmffi_i_compound value;
  static constexpr const tvmffi_i_name *name() { return &value.base; }
  static constexpr tvmffi_i_cast *cast() { return W::cast(); }
  static constexpr int32_t fits() { return -1; }
};
template <typename W, typename A, typename B>
const tvmffi_i_compound tvmffi_i_of<W, A, B>::value = {{W::text(), W::schema()},
                                                       {A::name(), B::name()},
                                                       {A::cast(), B::cast()},
                                                       {A::fits(), B::fits()}};
struct tvmffi_i_element_ {
  static constexpr const tvmffi_i_name *name() { return nullptr; }
  static constexpr tvmffi_i_cast *cast() { return nullptr; }
  static constexpr int32_t fits() { return -1; }
};
} /* namespace */
} /* extern "C++" */
#define TVMFFI_I_OF_WORD(T, label, key)                                    \
  namespace {                                                              \
  struct tvmffi_i_of_##T {                                                 \
    static constexpr const char *text() { return label; }                  \
    static constexpr const char *schema() { return "[" key; }              \
    static constexpr tvmffi_i_cast *cast() { return (tvmffi_i_item_##T); } \
  };                                                                       \
  }
TVMFFI_I_OF_WORD(array, "Array", "ffi.Array")
TVMFFI_I_OF_WORD(list, "List", "ffi.List")
TVMFFI_I_OF_WORD(map, "Map", "ffi.Map")
TVMFFI_I_OF_WORD(dict, "Dict", "ffi.Dict")
TVMFFI_I_OF_WORD(optional, "Optional", "Optional")
#define tvmffi_i_element_array(T) \
  tvmffi_i_of<tvmffi_i_of_array, tvmffi_i_element_##T, tvmffi_i_element_>
#define tvmffi_i_element_list(T) \
  tvmffi_i_of<tvmffi_i_of_list, tvmffi_i_element_##T, tvmffi_i_element_>
#define tvmffi_i_element_optional(T) \
  tvmffi_i_of<tvmffi_i_of_optional, tvmffi_i_element_##T, tvmffi_i_element_>
#define tvmffi_i_element_map(K, V) \
  tvmffi_i_of<tvmffi_i_of_map, tvmffi_i_element_##K, tvmffi_i_element_##V>
#define tvmffi_i_element_dict(K, V) \
  tvmffi_i_of<tvmffi_i_of_dict, tvmffi_i_element_##K, tvmffi_i_element_##V>
#define tvmffi_i_name_array(T) tvmffi_i_element_array(T)::value.base
#define tvmffi_i_name_list(T) tvmffi_i_element_list(T)::value.base
#define tvmffi_i_name_optional(T) tvmffi_i_element_optional(T)::value.base
#define tvmffi_i_name_map(K, V) tvmffi_i_element_map(K, V)::value.base
#define tvmffi_i_name_dict(K, V) tvmffi_i_element_dict(K, V)::value.base
#else
/* clang-format off */
#define tvmffi_i_name_array(T)                                            \
  ((const tvmffi_i_compound){{"Array", "[ffi.Array"},                     \
                             {&tvmffi_i_name_##T, NULL},                  \
                             {tvmffi_i_item_##T, NULL},                   \
                             {tvmffi_i_fits_##T, -1}}).base
#define tvmffi_i_name_list(T)                                             \
  ((const tvmffi_i_compound){{"List", "[ffi.List"},                       \
                             {&tvmffi_i_name_##T, NULL},                  \
                             {tvmffi_i_item_##T, NULL},                   \
                             {tvmffi_i_fits_##T, -1}}).base
#define tvmffi_i_name_optional(T)                                         \
  ((const tvmffi_i_compound){{"Optional", "[Optional"},                   \
                             {&tvmffi_i_name_##T, NULL},                  \
                             {tvmffi_i_item_##T, NULL},                   \
                             {tvmffi_i_fits_##T, -1}}).base
#define tvmffi_i_name_map(K, V)                                           \
  ((const tvmffi_i_compound){{"Map", "[ffi.Map"},                         \
                             {&tvmffi_i_name_##K, &tvmffi_i_name_##V},    \
                             {tvmffi_i_item_##K, tvmffi_i_item_##V},      \
                             {tvmffi_i_fits_##K, tvmffi_i_fits_##V}}).base
#define tvmffi_i_name_dict(K, V)                                          \
  ((const tvmffi_i_compound){{"Dict", "[ffi.Dict"},                       \
                             {&tvmffi_i_name_##K, &tvmffi_i_name_##V},    \
                             {tvmffi_i_item_##K, tvmffi_i_item_##V},      \
                             {tvmffi_i_fits_##K, tvmffi_i_fits_##V}}).base
/* clang-format on */
#endif

TVMFFI_I_INLINE const tvmffi_i_compound *tvmffi_i_compound_of(
    const tvmffi_i_name *type) {
  return type->schema && type->schema[0] == '['
             ? (const tvmffi_i_compound *)(const void *)type
             : NULL;
}

TVMFFI_I_INLINE int tvmffi_i_is_optional(const tvmffi_i_name *type) {
  return tvmffi_i_compound_of(type) && type->schema[1] == 'O';
}

/* -------- Layout of maps and dicts -------- */

typedef struct {
  TVMFFIObject base;
  void *data;                   /* a row of pairs, or blocks of slots */
  uint64_t size;                /* entries */
  uint64_t slots;               /* places; the highest bit tells a row */
  void (*data_deleter)(void *); /* NULL: the row is part of the object */
  uint32_t fib_shift;           /* from here on: of a table only */
  uint64_t head, tail;          /* slots: the oldest entry and the newest */
} tvmffi_i_map_object;

typedef struct {
  TVMFFIAny key, value;
} tvmffi_i_pair;

typedef struct {
  tvmffi_i_pair pair;
  uint64_t prev, next; /* slots in order of insertion */
} tvmffi_i_map_item;

/* Sixteen slots: first a byte for each, then the items. */
enum {
  TVMFFI_I_MAP_BLOCK = 16 * (1 + sizeof(tvmffi_i_map_item)),
  /* A row stands where the fields of a table would begin. */
  TVMFFI_I_MAP_ROW = (offsetof(tvmffi_i_map_object, fib_shift) + 7) / 8 * 8,
  /* The head of a map with a table, which may follow it. */
  TVMFFI_I_MAP_HEAD = (sizeof(tvmffi_i_map_object) + 7) / 8 * 8,
  TVMFFI_I_MAP_ROW_MIN = 2,
  TVMFFI_I_MAP_ROW_MAX = 4,
  TVMFFI_I_MAP_TABLE_MIN = 8,
  /* The byte of a slot: whether it goes on a chain (or begins one), and how
     far the next of the chain is, as an index into tvmffi_i_map_jumps. */
  TVMFFI_I_MAP_BODY = 0x80,
  TVMFFI_I_MAP_JUMP = 0x7F,
  TVMFFI_I_MAP_PROTECTED = 0xFE,
  TVMFFI_I_MAP_EMPTY = 0xFF,
  TVMFFI_I_MAP_NUM_JUMPS = 126
};
#define TVMFFI_I_MAP_IS_ROW ((uint64_t)1 << 63)
#define TVMFFI_I_MAP_END UINT64_MAX

TVMFFI_STATIC_ASSERT(sizeof(tvmffi_i_map_item) == 48, map_item_size);
TVMFFI_STATIC_ASSERT(sizeof(void *) != 8 ||
                         (offsetof(tvmffi_i_map_object, data_deleter) == 48 &&
                          offsetof(tvmffi_i_map_object, fib_shift) == 56 &&
                          sizeof(tvmffi_i_map_object) == 80),
                     map_object_layout);
TVMFFI_STATIC_ASSERT(sizeof(tvmffi_i_map_object) <=
                         TVMFFI_I_MAP_ROW +
                             TVMFFI_I_MAP_ROW_MIN * sizeof(tvmffi_i_pair),
                     map_row_leaves_room_for_a_table);

TVMFFI_I_INLINE int tvmffi_i_map_is_row(const tvmffi_i_map_object *m) {
  return (m->slots & TVMFFI_I_MAP_IS_ROW) != 0;
}

TVMFFI_I_INLINE uint8_t *tvmffi_i_map_meta(const void *data, uint64_t i) {
  return (uint8_t *)data + (size_t)(i / 16) * TVMFFI_I_MAP_BLOCK + i % 16;
}

TVMFFI_I_INLINE tvmffi_i_map_item *tvmffi_i_map_at(const void *data,
                                                   uint64_t i) {
  char *block = (char *)(uintptr_t)data + (size_t)(i / 16) * TVMFFI_I_MAP_BLOCK;
  return (tvmffi_i_map_item *)(void *)(block + 16) + i % 16;
}

/* Iteration in order of insertion:
     for (i = tvmffi_i_map_begin(map);
          (pair = tvmffi_i_map_pair(map, i)) != NULL;
          i = tvmffi_i_map_after(map, i))
   The pair is borrowed. A map that changes meanwhile may leave out entries or
   give some twice, but no index reaches anything that is not an entry. */
TVMFFI_I_INLINE uint64_t tvmffi_i_map_begin(const TVMFFIObject *map) {
  const tvmffi_i_map_object *m = (const tvmffi_i_map_object *)(const void *)map;
  return tvmffi_i_map_is_row(m) ? 0 : m->head;
}

TVMFFI_I_INLINE tvmffi_i_pair *tvmffi_i_map_pair(const TVMFFIObject *map,
                                                 uint64_t i) {
  const tvmffi_i_map_object *m = (const tvmffi_i_map_object *)(const void *)map;
  if (tvmffi_i_map_is_row(m))
    return i < m->size ? (tvmffi_i_pair *)m->data + i : NULL;
  if (i >= m->slots || *tvmffi_i_map_meta(m->data, i) >= TVMFFI_I_MAP_PROTECTED)
    return NULL;
  return &tvmffi_i_map_at(m->data, i)->pair;
}

TVMFFI_I_INLINE uint64_t tvmffi_i_map_after(const TVMFFIObject *map,
                                            uint64_t i) {
  const tvmffi_i_map_object *m = (const tvmffi_i_map_object *)(const void *)map;
  if (tvmffi_i_map_is_row(m)) return i + 1;
  return tvmffi_i_map_pair(map, i) ? tvmffi_i_map_at(m->data, i)->next
                                   : TVMFFI_I_MAP_END;
}

TVMFFI_I_INLINE int64_t tvmffi_i_map_size(const TVMFFIObject *map) {
  return (int64_t)((const tvmffi_i_map_object *)(const void *)map)->size;
}

/* -------- The runtime's functions -------- */

/* In the order of tvmffi_i_known_name. */
enum {
  TVMFFI_I_NEW_ARRAY,
  TVMFFI_I_NEW_LIST,
  TVMFFI_I_NEW_MAP,
  TVMFFI_I_NEW_DICT,
  TVMFFI_I_NEW_SHAPE,
  TVMFFI_I_ARRAY_CONTAINS,
  TVMFFI_I_LIST_CONTAINS,
  TVMFFI_I_MAP_COUNT,
  TVMFFI_I_DICT_COUNT,
  TVMFFI_I_MAP_GET,
  TVMFFI_I_DICT_GET,
  TVMFFI_I_LIST_APPEND,
  TVMFFI_I_LIST_SET,
  TVMFFI_I_LIST_ERASE,
  TVMFFI_I_DICT_SET,
  TVMFFI_I_DICT_ERASE,
  TVMFFI_I_MISSING,
  TVMFFI_I_REPR,
  TVMFFI_I_NUM_KNOWN
};

TVMFFI_I_INLINE const char *tvmffi_i_known_name(int which) {
  static const char *const names[TVMFFI_I_NUM_KNOWN] = {
      "ffi.Array",
      "ffi.List",
      "ffi.Map",
      "ffi.Dict",
      "ffi.Shape",
      "ffi.ArrayContains",
      "ffi.ListContains",
      "ffi.MapCount",
      "ffi.DictCount",
      "ffi.MapGetItemOrMissing",
      "ffi.DictGetItemOrMissing",
      "ffi.ListAppend",
      "ffi.ListSetItem",
      "ffi.ListErase",
      "ffi.DictSetItem",
      "ffi.DictErase",
      "ffi.GetInvalidObject",
      "ffi.ReprPrint"};
  return names[which];
}

/* Found at first use and kept: each a reference that the file has for ever. */
TVMFFI_I_UNUSED static void *tvmffi_i_known[TVMFFI_I_NUM_KNOWN];

TVMFFI_I_COLD int tvmffi_i_know(int which) {
  TVMFFIByteArray name = tvmffi_view(tvmffi_i_known_name(which));
  TVMFFIObjectHandle function = NULL;
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&name, &function));
  if (!function)
    return TVMFFI_RAISE("ValueError", "Function %s not found", name.data);
  if (!tvmffi_i_cas_pointer(&tvmffi_i_known[which], NULL, function))
    tvmffi_release(function); /* another thread was first */
  return 0;
}

/* Calls one of them; *result is None before, and owned behind. */
TVMFFI_I_INLINE int tvmffi_i_ask(int which, TVMFFIAny *args, int32_t n,
                                 TVMFFIAny *result) {
  if (TVMFFI_I_UNLIKELY(!TVMFFI_I_LOAD(&tvmffi_i_known[which])))
    TVMFFI_TRY(tvmffi_i_know(which));
  return tvmffi_i_call_away(TVMFFI_I_LOAD(&tvmffi_i_known[which]), args, n,
                            result);
}

/* The same with up to three arguments, whose result is dropped. */
TVMFFI_I_INLINE int tvmffi_i_tell(int which, TVMFFIAny a, TVMFFIAny b,
                                  TVMFFIAny c, int32_t n) {
  TVMFFIAny args[3], result = tvmffi_none();
  args[0] = a;
  args[1] = b;
  args[2] = c;
  TVMFFI_TRY(tvmffi_i_ask(which, args, n, &result));
  tvmffi_any_release(&result);
  return 0;
}

/* -------- Conversion of containers -------- */

/* Makes a container of the items of an array or a list; *to is owned. */
TVMFFI_I_COLD int tvmffi_i_copy_items(int maker, const TVMFFIAny *from,
                                      TVMFFIAny *to) {
  const TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, from->v_obj);
  *to = tvmffi_none();
  if (cell->size > INT32_MAX)
    return TVMFFI_RAISE("OverflowError", "%lld arguments",
                        (long long)cell->size);
  return tvmffi_i_ask(maker, (TVMFFIAny *)cell->data, (int32_t)cell->size, to);
}

/* A sequence: the copy is made when the first element is converted. */
TVMFFI_I_COLD int tvmffi_i_convert_items(const tvmffi_i_compound *of, int maker,
                                         int same, const TVMFFIAny *from,
                                         TVMFFIAny *to) {
  const TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, from->v_obj);
  TVMFFIAny item, *at;
  int code = 0;
  int64_t i;
  *to = tvmffi_none();
  if (!same) TVMFFI_TRY(tvmffi_i_copy_items(maker, from, to));
  for (i = 0; of && i < cell->size; ++i) {
    const TVMFFIAny *given = (const TVMFFIAny *)cell->data + i;
    if (given->type_index == of->fits[0]) continue;
    code = of->cast[0](of->of[0], given, &item);
    if (!code) continue;
    if (code != TVMFFI_I_CONVERTED) break;
    if (to->type_index == kTVMFFINone &&
        (code = tvmffi_i_copy_items(maker, from, to)) != 0) {
      tvmffi_any_release(&item);
      break;
    }
    at = (TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, to->v_obj)->data + i;
    tvmffi_any_release(at);
    *at = item;
    code = 0;
  }
  if (!code) return to->type_index == kTVMFFINone ? 0 : TVMFFI_I_CONVERTED;
  tvmffi_any_release(to);
  return code;
}

/* Casts a pair, and puts it behind those of `list` if there is one. The code
   is 0, TVMFFI_I_CONVERTED if one of the two was, or why it cannot be. */
TVMFFI_I_COLD int tvmffi_i_convert_pair(const tvmffi_i_compound *of,
                                        const tvmffi_i_pair *pair,
                                        const TVMFFIAny *list) {
  const TVMFFIAny *given[2] = {&pair->key, &pair->value};
  int converted = 0, i;
  for (i = 0; i < 2; ++i) {
    TVMFFIAny item;
    int code = of ? of->cast[i](of->of[i], given[i], &item) : 0, failed = 0;
    if (code && code != TVMFFI_I_CONVERTED) return code;
    converted |= code;
    if (list)
      failed = tvmffi_i_tell(TVMFFI_I_LIST_APPEND, *list,
                             code ? item : *given[i], tvmffi_none(), 2);
    if (code) tvmffi_any_release(&item);
    if (failed) return failed;
  }
  return converted;
}

/* The same of all pairs; without a list, until one is converted. */
TVMFFI_I_COLD int tvmffi_i_convert_each(const tvmffi_i_compound *of,
                                        const TVMFFIObject *map,
                                        const TVMFFIAny *list) {
  uint64_t i = tvmffi_i_map_begin(map);
  const tvmffi_i_pair *pair;
  for (; (pair = tvmffi_i_map_pair(map, i)) != NULL;
       i = tvmffi_i_map_after(map, i)) {
    int code = tvmffi_i_convert_pair(of, pair, list);
    if (code && !(code == TVMFFI_I_CONVERTED && list)) return code;
  }
  return 0;
}

/* A map: if a pair is converted, or if it is to be of the other kind, all are
   collected in a list, of which a new map is made. */
TVMFFI_I_COLD int tvmffi_i_convert_pairs(const tvmffi_i_compound *of, int maker,
                                         int same, const TVMFFIAny *from,
                                         TVMFFIAny *to) {
  TVMFFIAny list = tvmffi_none();
  int code = 0;
  if (same && of) code = tvmffi_i_convert_each(of, from->v_obj, NULL);
  if (same && code != TVMFFI_I_CONVERTED) return code;
  TVMFFI_TRY(tvmffi_i_ask(TVMFFI_I_NEW_LIST, NULL, 0, &list));
  code = tvmffi_i_convert_each(of, from->v_obj, &list);
  if (!code) code = tvmffi_i_copy_items(maker, &list, to);
  tvmffi_any_release(&list);
  return code ? code : TVMFFI_I_CONVERTED;
}

/* Ints for a shape are taken as they are found in an array or a list. */
TVMFFI_I_COLD int tvmffi_i_shape_of(const TVMFFIAny *from, TVMFFIAny *to) {
  tvmffi_i_compound ints = {{"Array", "[ffi.Array"},
                            {&tvmffi_i_name_int64, NULL},
                            {tvmffi_i_item_int64, NULL},
                            {kTVMFFIInt, -1}};
  TVMFFIAny items;
  int code = tvmffi_i_convert_items(&ints, TVMFFI_I_NEW_ARRAY, 1, from, &items);
  if (code && code != TVMFFI_I_CONVERTED) return code;
  if (!code) items = *from;
  if (tvmffi_i_copy_items(TVMFFI_I_NEW_SHAPE, &items, to)) {
    if (code) tvmffi_any_release(&items);
    return -1;
  }
  if (code) tvmffi_any_release(&items);
  return TVMFFI_I_CONVERTED;
}

TVMFFI_I_COLD int tvmffi_i_convert_container(const tvmffi_i_name *type,
                                             int32_t index,
                                             const TVMFFIAny *from,
                                             TVMFFIAny *to) {
  const tvmffi_i_compound *of = tvmffi_i_compound_of(type);
  int32_t got = from->type_index;
  int same = got == index;
  if (got < kTVMFFIStaticObjectBegin || !from->v_obj) return TVMFFI_I_MISMATCH;
  if (got == kTVMFFIMap || got == kTVMFFIDict) {
    if (index != kTVMFFIMap && index != kTVMFFIDict) return TVMFFI_I_MISMATCH;
    return tvmffi_i_convert_pairs(
        of, index == kTVMFFIMap ? TVMFFI_I_NEW_MAP : TVMFFI_I_NEW_DICT, same,
        from, to);
  }
  if (index == kTVMFFIShape && same) return 0;
  if (got != kTVMFFIArray && got != kTVMFFIList) return TVMFFI_I_MISMATCH;
  if (index == kTVMFFIShape) return tvmffi_i_shape_of(from, to);
  if (index != kTVMFFIArray && index != kTVMFFIList) return TVMFFI_I_MISMATCH;
  return tvmffi_i_convert_items(
      of, index == kTVMFFIArray ? TVMFFI_I_NEW_ARRAY : TVMFFI_I_NEW_LIST, same,
      from, to);
}

/* Tells whether all elements of a sequence have the type index that fits. */
TVMFFI_I_INLINE int tvmffi_i_fit(int32_t kind, const TVMFFIAny *any) {
  const TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, any->v_obj);
  const TVMFFIAny *item = (const TVMFFIAny *)cell->data;
  const int32_t fits = kind >> TVMFFI_I_FITS;
  int64_t left = cell->size;
  if (fits == TVMFFI_I_INDEX) return 0;
  for (; left >= 4; left -= 4, item += 4)
    if (TVMFFI_I_UNLIKELY(
            (item[0].type_index ^ fits) | (item[1].type_index ^ fits) |
            (item[2].type_index ^ fits) | (item[3].type_index ^ fits)))
      return 0;
  for (; left > 0; --left, ++item)
    if (TVMFFI_I_UNLIKELY(item->type_index != fits)) return 0;
  return 1;
}

/* Loads what does not fit as it is: a conversion, or none. *any becomes what
   the body gets. */
TVMFFI_I_SLOW TVMFFI_I_UNUSED int tvmffi_i_load_other(const tvmffi_func *f,
                                                      int32_t i, int32_t kind,
                                                      TVMFFIAny *any) {
  const tvmffi_i_name *type = f->types[i + 1];
  TVMFFIAny to;
  int code;
  if (kind & TVMFFI_I_OR_NONE) {
    if (any->type_index == kTVMFFINone) return 0;
    if (tvmffi_i_compound_of(type)) type = tvmffi_i_compound_of(type)->of[0];
  }
  code = tvmffi_i_convert_container(type, kind & TVMFFI_I_INDEX, any, &to);
  if (code == TVMFFI_I_CONVERTED) *any = to;
  return code;
}

/* Loads a container for a parameter; *own is what to release afterwards. */
TVMFFI_I_INLINE int tvmffi_i_load_container(const tvmffi_func *f, int32_t i,
                                            int32_t kind, const TVMFFIAny *any,
                                            TVMFFIObject **out,
                                            TVMFFIObject **own) {
  *out = any->v_obj;
  if (TVMFFI_I_UNLIKELY(
          (kind & TVMFFI_I_INDEX) != any->type_index || !any->v_obj ||
          ((kind & TVMFFI_I_OF_TYPES) && !tvmffi_i_fit(kind, any)))) {
    TVMFFIAny given = *any;
    int code = tvmffi_i_load_other(f, i, kind, &given);
    *out = given.v_obj;
    if (code != TVMFFI_I_CONVERTED) return code;
    *own = *out;
  }
  return 0;
}

/* -------- Messages and schemas -------- */

/* Writes a number in decimal into `buffer` (12 bytes); gives its text. */
TVMFFI_I_COLD const char *tvmffi_i_decimal(char *buffer, int32_t x) {
  char *p = buffer + 11;
  int64_t left = x < 0 ? -(int64_t)x : x;
  *p = 0;
  do {
    *--p = (char)('0' + left % 10);
    left /= 10;
  } while (left);
  if (x < 0) *--p = '-';
  return p;
}

/* The parts of a message. Those beyond the room are left out: sixteen types of
   fifteen parts find it. */
typedef struct {
  const char *part[288];
  int32_t size, numbers;
  char number[8][12];
} tvmffi_i_parts;

TVMFFI_I_COLD void tvmffi_i_say(tvmffi_i_parts *p, const char *text) {
  if (p->size < (int32_t)(sizeof(p->part) / sizeof(p->part[0])))
    p->part[p->size++] = text;
}

TVMFFI_I_COLD void tvmffi_i_say_number(tvmffi_i_parts *p, int32_t x) {
  if (p->numbers < (int32_t)(sizeof(p->number) / sizeof(p->number[0])))
    tvmffi_i_say(p, tvmffi_i_decimal(p->number[p->numbers++], x));
}

TVMFFI_I_COLD int tvmffi_i_raise_said(const char *kind, tvmffi_i_parts *p) {
  TVMFFIErrorSetRaisedFromCStrParts(kind, p->part, p->size);
  return -1;
}

/* Says "Map<str, int>". Recurses as deep as the type was written. */
TVMFFI_I_COLD void tvmffi_i_say_type(tvmffi_i_parts *p,
                                     const tvmffi_i_name *type) {
  const tvmffi_i_compound *of = tvmffi_i_compound_of(type);
  tvmffi_i_say(p, type->name);
  if (!of) return;
  tvmffi_i_say(p, "<");
  tvmffi_i_say_type(p, of->of[0]);
  if (of->of[1]) {
    tvmffi_i_say(p, ", ");
    tvmffi_i_say_type(p, of->of[1]);
  }
  tvmffi_i_say(p, ">");
}

/* Says "name(0: int, 1: str) -> int". */
TVMFFI_I_COLD void tvmffi_i_say_signature(tvmffi_i_parts *p,
                                          const tvmffi_func *f) {
  static const char *const at[16] = {
      "(0: ",   ", 1: ",  ", 2: ",  ", 3: ", ", 4: ",  ", 5: ",
      ", 6: ",  ", 7: ",  ", 8: ",  ", 9: ", ", 10: ", ", 11: ",
      ", 12: ", ", 13: ", ", 14: ", ", 15: "};
  int32_t i;
  tvmffi_i_say(p, TVMFFI_I_LOAD(&f->name));
  if (!f->num_args) tvmffi_i_say(p, "(");
  for (i = 0; i < f->num_args; ++i) {
    tvmffi_i_say(p, at[i]);
    tvmffi_i_say_type(p, f->types[i + 1]);
  }
  tvmffi_i_say(p, ") -> ");
  tvmffi_i_say_type(p, f->types[0]);
}

/* Raises for a wrong count of arguments, or a result that is not empty. */
TVMFFI_I_COLD int tvmffi_i_bad_call(const tvmffi_func *f, int32_t count,
                                    const TVMFFIAny *result) {
  tvmffi_i_parts p;
  p.size = p.numbers = 0;
  tvmffi_i_say(&p, count == f->num_args
                       ? "The result must be empty, as it would be lost, when "
                         "calling: `"
                       : "Mismatched number of arguments when calling: `");
  tvmffi_i_say_signature(&p, f);
  tvmffi_i_say(&p, "`. Expected ");
  if (count == f->num_args) {
    tvmffi_i_say(&p, "None but got type index ");
    tvmffi_i_say_number(&p, result->type_index);
  } else {
    tvmffi_i_say_number(&p, f->num_args);
    tvmffi_i_say(&p, " but got ");
    tvmffi_i_say_number(&p, count);
    tvmffi_i_say(&p, " arguments");
  }
  return tvmffi_i_raise_said("TypeError", &p);
}

TVMFFI_I_COLD const char *tvmffi_i_type_key(int32_t index) {
  const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(index);
  return info ? info->type_key.data : "an unregistered type";
}

TVMFFI_I_COLD void tvmffi_i_say_got(tvmffi_i_parts *p,
                                    const tvmffi_i_name *type,
                                    const TVMFFIAny *any);

/* Says which item of a sequence does not match; 0 if all do. */
TVMFFI_I_COLD int tvmffi_i_say_item(tvmffi_i_parts *p,
                                    const tvmffi_i_compound *of,
                                    const TVMFFIAny *any) {
  const TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, any->v_obj);
  const TVMFFIAny *items = (const TVMFFIAny *)cell->data;
  TVMFFIAny to;
  int64_t i;
  for (i = 0; i < cell->size; ++i) {
    int code = of->cast[0](of->of[0], items + i, &to);
    if (code == TVMFFI_I_CONVERTED) tvmffi_any_release(&to);
    if (code != TVMFFI_I_MISMATCH) continue;
    tvmffi_i_say(p, of->base.name);
    tvmffi_i_say(p, "[index ");
    tvmffi_i_say_number(p, (int32_t)i);
    tvmffi_i_say(p, ": ");
    tvmffi_i_say_got(p, of->of[0], items + i);
    tvmffi_i_say(p, "]");
    return 1;
  }
  return 0;
}

/* The same of a map, whose pair is found by walking over it. */
TVMFFI_I_COLD int tvmffi_i_say_pair(tvmffi_i_parts *p,
                                    const tvmffi_i_compound *of,
                                    const TVMFFIAny *any) {
  uint64_t at = tvmffi_i_map_begin(any->v_obj);
  const tvmffi_i_pair *pair;
  TVMFFIAny to;
  int i;
  for (; (pair = tvmffi_i_map_pair(any->v_obj, at)) != NULL;
       at = tvmffi_i_map_after(any->v_obj, at))
    for (i = 0; i < 2; ++i) {
      const TVMFFIAny *item = i ? &pair->value : &pair->key;
      int code = of->cast[i](of->of[i], item, &to);
      if (code == TVMFFI_I_CONVERTED) tvmffi_any_release(&to);
      if (code != TVMFFI_I_MISMATCH) continue;
      tvmffi_i_say(p, of->base.name);
      tvmffi_i_say(p, i ? "[K, some value is " : "[some key is ");
      tvmffi_i_say_got(p, of->of[i], item);
      tvmffi_i_say(p, i ? "]" : ", V]");
      return 1;
    }
  return 0;
}

/* Says what a value that does not match a type is: its type key, or where in
   it the mismatch is. Recurses as deep as the type was written. */
TVMFFI_I_COLD void tvmffi_i_say_got(tvmffi_i_parts *p,
                                    const tvmffi_i_name *type,
                                    const TVMFFIAny *any) {
  const tvmffi_i_compound *of = tvmffi_i_compound_of(type);
  int32_t got = any->type_index;
  int said = 0;
  if (tvmffi_i_is_optional(type)) {
    tvmffi_i_say_got(p, of->of[0], any);
    return;
  }
  if (of && (of->of[1] ? got == kTVMFFIMap || got == kTVMFFIDict
                       : got == kTVMFFIArray || got == kTVMFFIList))
    said = of->of[1] ? tvmffi_i_say_pair(p, of, any)
                     : tvmffi_i_say_item(p, of, any);
  if (!said) tvmffi_i_say(p, tvmffi_i_type_key(got));
}

/* Raises for argument `i`, which a getter answered with `code`. */
TVMFFI_I_COLD int tvmffi_i_bad_arg(const tvmffi_func *f, int32_t i,
                                   const TVMFFIAny *args, int code) {
  tvmffi_i_parts p;
  p.size = p.numbers = 0;
  if (code < 0) return code;
  tvmffi_i_say(&p, code == TVMFFI_I_RANGE ? "Value out of range in argument #"
                                          : "Mismatched type on argument #");
  tvmffi_i_say_number(&p, i);
  tvmffi_i_say(&p, " when calling: `");
  tvmffi_i_say_signature(&p, f);
  if (code == TVMFFI_I_RANGE) {
    tvmffi_i_say(&p, "`");
    return tvmffi_i_raise_said("OverflowError", &p);
  }
  tvmffi_i_say(&p, "`. Expected `");
  tvmffi_i_say_type(&p, f->types[i + 1]);
  tvmffi_i_say(&p, "` but got `");
  tvmffi_i_say_got(&p, f->types[i + 1], args + i);
  tvmffi_i_say(&p, "`");
  return tvmffi_i_raise_said("TypeError", &p);
}

/* Both, with all arguments of the call where they are, so that a call that goes
   well moves none. */
TVMFFI_I_SLOW TVMFFI_I_UNUSED int tvmffi_i_refuse(const tvmffi_func *f,
                                                  const TVMFFIAny *args,
                                                  int32_t count,
                                                  const TVMFFIAny *result,
                                                  int32_t bad, int code) {
  return code ? tvmffi_i_bad_arg(f, bad, args, code)
              : tvmffi_i_bad_call(f, count, result);
}

/* Writes {"type_schema": ...} of a function, JSON within JSON as upstream has
   it, into TVMFFI_I_METADATA bytes: enough for 17 types of 230. What finds no
   room is counted all the same. */
enum { TVMFFI_I_METADATA = 4096 };

TVMFFI_I_COLD size_t tvmffi_i_append(char *to, size_t n, const char *text) {
  for (; *text; ++text, ++n)
    if (n < TVMFFI_I_METADATA) to[n] = *text;
  return n;
}

/* Appends {"type":...} with its quotes escaped. */
TVMFFI_I_COLD size_t tvmffi_i_append_schema(char *to, size_t n,
                                            const char *schema) {
  char one[2] = {0, 0};
  if (*schema != '{') {
    n = tvmffi_i_append(to, n, "{\\\"type\\\":\\\"");
    n = tvmffi_i_append(to, n, schema);
    return tvmffi_i_append(to, n, "\\\"}");
  }
  for (; *schema; ++schema) {
    if (*schema == '"') n = tvmffi_i_append(to, n, "\\");
    one[0] = *schema;
    n = tvmffi_i_append(to, n, one);
  }
  return n;
}

/* The same of any type. Recurses as deep as the type was written. */
TVMFFI_I_COLD size_t tvmffi_i_append_type(char *to, size_t n,
                                          const tvmffi_i_name *type) {
  const tvmffi_i_compound *of = tvmffi_i_compound_of(type);
  if (!of) return tvmffi_i_append_schema(to, n, type->schema);
  n = tvmffi_i_append(to, n, "{\\\"type\\\":\\\"");
  n = tvmffi_i_append(to, n, type->schema + 1);
  n = tvmffi_i_append(to, n, "\\\",\\\"args\\\":[");
  n = tvmffi_i_append_type(to, n, of->of[0]);
  if (of->of[1]) {
    n = tvmffi_i_append(to, n, ",");
    n = tvmffi_i_append_type(to, n, of->of[1]);
  }
  return tvmffi_i_append(to, n, "]}");
}

/* Gives {NULL, 0} if the buffer has no room for it. */
TVMFFI_I_COLD TVMFFIByteArray tvmffi_i_metadata(const tvmffi_func *f,
                                                char *buffer) {
  TVMFFIByteArray r = {NULL, 0};
  int32_t i;
  size_t n = tvmffi_i_append(
      buffer, 0, "{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\"");
  if (f->num_args >= 0) {
    n = tvmffi_i_append(buffer, n, ",\\\"named_args\\\":{\\\"return\\\":[");
    n = tvmffi_i_append_type(buffer, n, f->types[0]);
    n = tvmffi_i_append(buffer, n, "],\\\"params\\\":[");
    for (i = 1; i <= f->num_args; ++i) {
      if (i > 1) n = tvmffi_i_append(buffer, n, ",");
      n = tvmffi_i_append_type(buffer, n, f->types[i]);
    }
    n = tvmffi_i_append(buffer, n, "]}");
  }
  n = tvmffi_i_append(buffer, n, "}\"}");
  if (n > TVMFFI_I_METADATA) return r;
  r.data = buffer;
  r.size = n;
  return r;
}

TVMFFI_I_COLD int tvmffi_i_bad_metadata(const tvmffi_func *f) {
  return TVMFFI_RAISE("ValueError", "The type schema of %s is too long",
                      f->name);
}

TVMFFI_I_COLD int tvmffi_i_return_metadata(const tvmffi_func *f,
                                           TVMFFIAny *out) {
  char buffer[TVMFFI_I_METADATA];
  TVMFFIByteArray text = tvmffi_i_metadata(f, buffer);
  if (!text.data) return tvmffi_i_bad_metadata(f);
  return TVMFFIStringFromByteArray(&text, out);
}

/* -------- Definitions -------- */

/* Counts 1 to 17 arguments. */
#define TVMFFI_I_COUNT(...)                                                   \
  TVMFFI_I_COUNT_(__VA_ARGS__, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, \
                  4, 3, 2, 1, ~)
#define TVMFFI_I_COUNT_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, \
                        ...)                                                  \
  r
#define TVMFFI_I_FIRST(...) TVMFFI_I_FIRST_(__VA_ARGS__, ~)
#define TVMFFI_I_FIRST_(a, ...) a

/* TVMFFI_I_REST(n)(F, r, a, b, ...) gives F(0, a) F(1, b) ... */
#define TVMFFI_I_REST(n) TVMFFI_I_CAT(TVMFFI_I_REST, n)
#define TVMFFI_I_REST1(F, r)
#define TVMFFI_I_REST2(F, r, a) F(0, a)
#define TVMFFI_I_REST3(F, r, a, b) F(0, a) F(1, b)
#define TVMFFI_I_REST4(F, r, a, b, c) TVMFFI_I_REST3(F, r, a, b) F(2, c)
#define TVMFFI_I_REST5(F, r, a, b, c, d) TVMFFI_I_REST4(F, r, a, b, c) F(3, d)
#define TVMFFI_I_REST6(F, r, a, b, c, d, e) \
  TVMFFI_I_REST5(F, r, a, b, c, d) F(4, e)
#define TVMFFI_I_REST7(F, r, a, b, c, d, e, f) \
  TVMFFI_I_REST6(F, r, a, b, c, d, e) F(5, f)
#define TVMFFI_I_REST8(F, r, a, b, c, d, e, f, g) \
  TVMFFI_I_REST7(F, r, a, b, c, d, e, f) F(6, g)
#define TVMFFI_I_REST9(F, r, a, b, c, d, e, f, g, h) \
  TVMFFI_I_REST8(F, r, a, b, c, d, e, f, g) F(7, h)
#define TVMFFI_I_REST10(F, r, a, b, c, d, e, f, g, h, i) \
  TVMFFI_I_REST9(F, r, a, b, c, d, e, f, g, h) F(8, i)
#define TVMFFI_I_REST11(F, r, a, b, c, d, e, f, g, h, i, j) \
  TVMFFI_I_REST10(F, r, a, b, c, d, e, f, g, h, i) F(9, j)
#define TVMFFI_I_REST12(F, r, a, b, c, d, e, f, g, h, i, j, k) \
  TVMFFI_I_REST11(F, r, a, b, c, d, e, f, g, h, i, j) F(10, k)
#define TVMFFI_I_REST13(F, r, a, b, c, d, e, f, g, h, i, j, k, l) \
  TVMFFI_I_REST12(F, r, a, b, c, d, e, f, g, h, i, j, k) F(11, l)
#define TVMFFI_I_REST14(F, r, a, b, c, d, e, f, g, h, i, j, k, l, m) \
  TVMFFI_I_REST13(F, r, a, b, c, d, e, f, g, h, i, j, k, l) F(12, m)
#define TVMFFI_I_REST15(F, r, a, b, c, d, e, f, g, h, i, j, k, l, m, n) \
  TVMFFI_I_REST14(F, r, a, b, c, d, e, f, g, h, i, j, k, l, m) F(13, n)
#define TVMFFI_I_REST16(F, r, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o) \
  TVMFFI_I_REST15(F, r, a, b, c, d, e, f, g, h, i, j, k, l, m, n) F(14, o)
#define TVMFFI_I_REST17(F, r, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) \
  TVMFFI_I_REST16(F, r, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o) F(15, p)

/* clang-format off */
/* Parts of a definition, for parameter `i` with the pair p = (type, name). */
#define TVMFFI_I_T(T, name) T
#define TVMFFI_I_PARAM(i, p) , TVMFFI_I_PARAM_ p
#define TVMFFI_I_PARAM_(T, name) tvmffi_type_##T name
#define TVMFFI_I_TYPE_NAME(i, p) , &TVMFFI_I_CAT(tvmffi_i_name_, TVMFFI_I_T p)
#define TVMFFI_I_LOCAL(i, p) TVMFFI_I_LOCAL_(i, TVMFFI_I_T p)
#define TVMFFI_I_LOCAL_(i, T)                         \
  TVMFFI_I_CAT(tvmffi_type_, T) tvmffi_arg##i = TVMFFI_I_ZERO; \
  TVMFFI_I_CAT(TVMFFI_I_OWN_, TVMFFI_I_IS_HELD(T))(i)
#define TVMFFI_I_OWN_0(i)
#define TVMFFI_I_OWN_1(i) TVMFFIObject *tvmffi_own##i = NULL;
/* All are read, so that of several wrong ones the last is told: so it is in
   upstream's library, as GCC evaluates arguments from the last on. */
#define TVMFFI_I_LOAD_ARG(i, p) TVMFFI_I_LOAD_ARG_(i, TVMFFI_I_T p)
#define TVMFFI_I_LOAD_ARG_(i, T)                                       \
  tvmffi_code = TVMFFI_I_CAT(TVMFFI_I_LOAD_, TVMFFI_I_IS_HELD(T))(i, T); \
  if (TVMFFI_I_UNLIKELY(tvmffi_code)) {                                \
    tvmffi_bad = i;                                                    \
    tvmffi_bad_code = tvmffi_code;                                     \
  }
#define TVMFFI_I_LOAD_0(i, T) \
  tvmffi_i_get_##T(tvmffi_args + i, &tvmffi_arg##i)
#define TVMFFI_I_LOAD_1(i, T)                                       \
  tvmffi_i_load_container(tvmffi_this, i, tvmffi_i_kind_##T, \
                tvmffi_args + i, &tvmffi_arg##i, &tvmffi_own##i)
#define TVMFFI_I_DROP(i, p) TVMFFI_I_DROP_(i, TVMFFI_I_T p)
#define TVMFFI_I_DROP_(i, T) \
  TVMFFI_I_CAT(TVMFFI_I_DROP_, TVMFFI_I_IS_HELD(T))(i)
#define TVMFFI_I_DROP_0(i)
#define TVMFFI_I_DROP_1(i) \
  if (TVMFFI_I_UNLIKELY(tvmffi_own##i)) tvmffi_release(tvmffi_own##i);
#define TVMFFI_I_PASS(i, p) , tvmffi_arg##i

/* Something of the result's type: tvmffi_i_put_, tvmffi_i_name_, ... */
#define TVMFFI_I_RESULT(prefix, ...) \
  TVMFFI_I_CAT(prefix, TVMFFI_I_FIRST(__VA_ARGS__))
#define TVMFFI_I_PUTTER(prefix, ...) \
  TVMFFI_I_PUTTER_(prefix, TVMFFI_I_FIRST(__VA_ARGS__))
#define TVMFFI_I_PUTTER_(prefix, T) \
  TVMFFI_I_CAT(TVMFFI_I_PUTTER_, TVMFFI_I_IS_HELD(T))(prefix, T)
#define TVMFFI_I_PUTTER_0(prefix, T) prefix##T
#define TVMFFI_I_PUTTER_1(prefix, T) prefix##object
/* `self` is empty, or the parameter for the state and a comma. */
#define TVMFFI_I_BODY(body, n, ...) TVMFFI_I_BODY_OF(, body, n, __VA_ARGS__)
#define TVMFFI_I_BODY_OF(self, body, n, ...)                             \
  static int body(self TVMFFI_I_PUTTER(tvmffi_i_put_type_, __VA_ARGS__)  \
                  *tvmffi_put TVMFFI_I_UNUSED,                           \
                  TVMFFI_I_UNUSED TVMFFIAny *tvmffi_result               \
                  TVMFFI_I_REST(n)(TVMFFI_I_PARAM, __VA_ARGS__))
#define TVMFFI_I_CALL_HEAD(name)                              \
  int name(void *tvmffi_handle, const TVMFFIAny *tvmffi_args, \
           int32_t tvmffi_count, TVMFFIAny *tvmffi_into)

/* The whole of a typed function but its body: the prototype of the body, the
   description, and the packed call that checks, converts and calls. */
#define TVMFFI_I_DEFINE(linkage, call, text, func, body, n, ...)            \
  TVMFFI_I_BODY(body, n, __VA_ARGS__);                                      \
  TVMFFI_I_DEFINE_CALL(linkage, call, text, func, body, , n, __VA_ARGS__)
#define TVMFFI_I_DEFINE_CALL(linkage, call, text, func, body, self, n, ...) \
  linkage TVMFFI_I_CALL_HEAD(call);                                         \
  static const tvmffi_i_name *const func##_types[] = {                      \
      &TVMFFI_I_RESULT(tvmffi_i_name_, __VA_ARGS__)                         \
      TVMFFI_I_REST(n)(TVMFFI_I_TYPE_NAME, __VA_ARGS__)};                   \
  static tvmffi_func func = {text, call, (n) - 1, func##_types};            \
  linkage TVMFFI_I_CALL_HEAD(call) {                                        \
    const tvmffi_func *tvmffi_this = &func;                                 \
    int tvmffi_code, tvmffi_bad = 0, tvmffi_bad_code = 0;                   \
    TVMFFI_I_REST(n)(TVMFFI_I_LOCAL, __VA_ARGS__)                           \
    (void)tvmffi_handle;                                                    \
    (void)tvmffi_args;                                                      \
    if (TVMFFI_I_UNLIKELY(                                                  \
            tvmffi_count != (n) - 1 ||                                      \
            tvmffi_into->type_index >= kTVMFFIStaticObjectBegin))           \
      return tvmffi_i_refuse(tvmffi_this, tvmffi_args, tvmffi_count, tvmffi_into, 0, 0);     \
    TVMFFI_I_REST(n)(TVMFFI_I_LOAD_ARG, __VA_ARGS__)                        \
    tvmffi_code =                                                           \
        TVMFFI_I_UNLIKELY(tvmffi_bad_code)                                  \
            ? tvmffi_i_refuse(tvmffi_this, tvmffi_args, tvmffi_count, tvmffi_into, tvmffi_bad,         \
                               tvmffi_bad_code)                             \
            : body(self TVMFFI_I_PUTTER(tvmffi_i_put_, __VA_ARGS__),        \
                   tvmffi_into                                              \
                   TVMFFI_I_REST(n)(TVMFFI_I_PASS, __VA_ARGS__));           \
    TVMFFI_I_REST(n)(TVMFFI_I_DROP, __VA_ARGS__)                            \
    return tvmffi_code;                                                     \
  }
#define TVMFFI_I_DEFINE_(linkage, call, text, func, body, n, ...) \
  TVMFFI_I_DEFINE(linkage, call, text, func, body, n, __VA_ARGS__)
/* clang-format on */

/* Begins a typed function: TVMFFI_FUNC(name, result, (type, parameter)...) and
   an ordinary body in braces, which returns by TVMFFI_RETURN, or a code. Types:
     none (result only), any, bool, int8 ... int64, uint8 ... uint64, float32,
     float64, str, bytes, dtype, device, ptr, tensor (parameter only),
     tensor_object, object, func, error, module, opaque, shape, array, list,
     map, dict; array(T), list(T), map(K, V), dict(K, V), optional(T); up to 16
     parameters.
   An optional(T) is NULL or the pointer where T is one; else a struct of value
   and has_value, made by tvmffi_some_T and tvmffi_no_T.
   Parameters are borrowed, and valid during the call. An object of any type, or
   an any, that is returned becomes the caller's; a str or bytes is copied. The
   elements of a container that is returned are not looked at. `name` is only
   pasted: it defines tvmffi_func_NAME, not NAME. */
#define TVMFFI_FUNC(name, ...)                                            \
  TVMFFI_I_DEFINE_(static, tvmffi_call_##name, #name, tvmffi_func_##name, \
                   tvmffi_body_##name, TVMFFI_I_COUNT(__VA_ARGS__),       \
                   __VA_ARGS__)                                           \
  TVMFFI_I_BODY(tvmffi_body_##name, TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__)

/* The same, exported under the symbols that `load_module` looks for. */
#define TVMFFI_EXPORT(name, ...)                                           \
  TVMFFI_I_DEFINE_(TVMFFI_I_EXTERN_C TVM_FFI_DLL_EXPORT, __tvm_ffi_##name, \
                   #name, tvmffi_func_##name, tvmffi_body_##name,          \
                   TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__)               \
  TVMFFI_I_EXTERN_C TVM_FFI_DLL_EXPORT TVMFFI_I_CALL_HEAD(                 \
      __tvm_ffi__metadata_##name);                                         \
  TVMFFI_I_EXTERN_C TVM_FFI_DLL_EXPORT TVMFFI_I_CALL_HEAD(                 \
      __tvm_ffi__metadata_##name) {                                        \
    (void)tvmffi_handle, (void)tvmffi_args, (void)tvmffi_count;            \
    return tvmffi_i_return_metadata(&tvmffi_func_##name, tvmffi_into);     \
  }                                                                        \
  TVMFFI_I_BODY(tvmffi_body_##name, TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__)

/* Begins a typed function with a state: the body sees `self`, a State *, and
   tvmffi_closure makes as many function objects of it as there are states. */
#define TVMFFI_CLOSURE(name, State, ...) \
  TVMFFI_I_CLOSURE(name, State, TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__)
#define TVMFFI_I_CLOSURE(name, State, n, ...) \
  TVMFFI_I_CLOSURE_(name, State, n, __VA_ARGS__)
/* clang-format off */
#define TVMFFI_I_CLOSURE_(name, State, n, ...)                                 \
  TVMFFI_I_BODY_OF(TVMFFI_I_SELF(State), tvmffi_body_##name, n, __VA_ARGS__);  \
  TVMFFI_I_DEFINE_CALL(static, tvmffi_call_##name, #name, tvmffi_func_##name,  \
                       tvmffi_body_##name, TVMFFI_I_STATE(State), n,           \
                       __VA_ARGS__)                                            \
  TVMFFI_I_INLINE int tvmffi_closure_##name(State *self,                       \
                                            void (*deleter)(void *),           \
                                            TVMFFIObject **out) {              \
    return tvmffi_i_make_closure(&tvmffi_func_##name, self, deleter, out);     \
  }                                                                            \
  TVMFFI_I_BODY_OF(TVMFFI_I_SELF(State), tvmffi_body_##name, n, __VA_ARGS__)
#define TVMFFI_I_SELF(State) TVMFFI_I_UNUSED State *self TVMFFI_I_COMMA()
#define TVMFFI_I_STATE(State) (State *)tvmffi_handle TVMFFI_I_COMMA()
/* clang-format on */

/* Makes a function object of a closure and a state; *out is owned by the
   caller, or by the innermost scope. The state is taken: the deleter (NULL for
   none) is called with it when the function ends, or at once if it cannot be
   made. */
#define tvmffi_closure(name, state, deleter, out) \
  (TVMFFI_I_HERE tvmffi_closure_##name(state, deleter, out))

TVMFFI_I_INLINE int tvmffi_i_make_closure(const tvmffi_func *f, void *self,
                                          void (*deleter)(void *),
                                          TVMFFIObject **out) {
  TVMFFIObjectHandle handle = NULL;
  int code = TVMFFIFunctionCreate(self, f->call, deleter, &handle);
  if (code && deleter) deleter(self);
  if (!code) code = tvmffi_i_keep((TVMFFIObject *)handle);
  if (!code) *out = (TVMFFIObject *)handle;
  return code;
}

/* Gives an exported function a text for its users, before or behind it, which
   Python shows as module.get_function_doc("name"). */
#define TVMFFI_DOC(name, text)                                             \
  TVMFFI_I_EXTERN_C TVM_FFI_DLL_EXPORT TVMFFI_I_CALL_HEAD(                 \
      __tvm_ffi__doc_##name);                                              \
  TVMFFI_I_EXTERN_C TVM_FFI_DLL_EXPORT TVMFFI_I_CALL_HEAD(                 \
      __tvm_ffi__doc_##name) {                                             \
    static const TVMFFIByteArray tvmffi_doc = {"" text, sizeof(text) - 1}; \
    (void)tvmffi_handle, (void)tvmffi_args, (void)tvmffi_count;            \
    return TVMFFIStringFromByteArray(&tvmffi_doc, tvmffi_into);            \
  }

/* Returns a value, or nothing, from the body of a typed function. */
#define TVMFFI_RETURN(...)              \
  return TVMFFI_I_CAT(TVMFFI_I_RETURN_, \
                      TVMFFI_I_IS_EMPTY(__VA_ARGS__))(__VA_ARGS__)
#define TVMFFI_I_RETURN_0(...) tvmffi_put(tvmffi_result, __VA_ARGS__)
#define TVMFFI_I_RETURN_1(...) tvmffi_put(tvmffi_result)

/* 1 for no argument, else 0: the test of J. Gustedt, "Detect empty macro
   arguments" (2010). A comma appears behind an empty list only once a macro
   name before it and parentheses after it make a call. */
#define TVMFFI_I_HAS_COMMA(...)                                                \
  TVMFFI_I_COUNT_(__VA_ARGS__, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, \
                  0, ~)
#define TVMFFI_I_COMMA(...) ,
#define TVMFFI_I_IS_EMPTY(...)                                       \
  TVMFFI_I_IS_EMPTY_(TVMFFI_I_HAS_COMMA(__VA_ARGS__),                \
                     TVMFFI_I_HAS_COMMA(TVMFFI_I_COMMA __VA_ARGS__), \
                     TVMFFI_I_HAS_COMMA(__VA_ARGS__()),              \
                     TVMFFI_I_HAS_COMMA(TVMFFI_I_COMMA __VA_ARGS__()))
#define TVMFFI_I_IS_EMPTY_(a, b, c, d) TVMFFI_I_IS_EMPTY__(a, b, c, d)
#define TVMFFI_I_IS_EMPTY__(a, b, c, d) \
  TVMFFI_I_HAS_COMMA(TVMFFI_I_EMPTY_##a##b##c##d)
#define TVMFFI_I_EMPTY_0001 ,

/* Makes a function object of a typed function; *out is owned by the caller, or
   by the innermost scope. */
#define tvmffi_function(name, out) \
  (TVMFFI_I_HERE tvmffi_i_kept_function(&tvmffi_func_##name, out))

TVMFFI_I_INLINE int tvmffi_i_function(const tvmffi_func *f,
                                      TVMFFIObject **out) {
  TVMFFIObjectHandle handle = NULL;
  TVMFFI_TRY(TVMFFIFunctionCreate(NULL, f->call, NULL, &handle));
  *out = (TVMFFIObject *)handle;
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_kept_function(const tvmffi_func *f,
                                           TVMFFIObject **out) {
  TVMFFIObject *function = NULL;
  TVMFFI_TRY(tvmffi_i_function(f, &function));
  TVMFFI_TRY(tvmffi_i_keep(function));
  *out = function;
  return 0;
}

/* Puts a typed function into the global table under `text`, with its type
   schema. The text must live as long as the function: error messages use it.
   A name that is taken is an error, unless `override` is nonzero. */
#define tvmffi_register(text, name) \
  tvmffi_i_register(text, &tvmffi_func_##name, NULL, 0)
#define tvmffi_register_as(text, name, override) \
  tvmffi_i_register(text, &tvmffi_func_##name, NULL, override)
/* The same, with a text for users of the function, which is copied. */
#define tvmffi_register_doc(text, name, doc) \
  tvmffi_i_register(text, &tvmffi_func_##name, doc, 0)

TVMFFI_I_COLD int tvmffi_i_register(const char *text, tvmffi_func *f,
                                    const char *doc, int override) {
  char buffer[TVMFFI_I_METADATA];
  TVMFFIMethodInfo info = TVMFFI_I_ZERO;
  TVMFFIObject *object = NULL;
  const char *name = f->name;
  int code;
  info.name = tvmffi_view(text);
  info.doc = tvmffi_view(doc);
  info.metadata = tvmffi_i_metadata(f, buffer);
  if (!info.metadata.data) return tvmffi_i_bad_metadata(f);
  TVMFFI_TRY(tvmffi_i_function(f, &object));
  info.flags = kTVMFFIFieldFlagBitMaskIsStaticMethod;
  info.method = tvmffi_obj(object);
  TVMFFI_I_STORE(&f->name, text); /* before others can call it */
  code = TVMFFIFunctionSetGlobalFromMethodInfo(&info, override);
  if (code) TVMFFI_I_STORE(&f->name, name);
  tvmffi_release(object);
  return code;
}

/* ======== Calls =================================================== >>calls */
/* C interface: tvmffi_call(callee, out, arguments...) with plain C values. The
   callee is a function object, or the name of a global function, which is
   looked up at each call. `out` points to where the result goes, converted;
   NULL drops it; an object or Any is owned by the caller, or by the innermost
   scope. With C11 and C++ the compiler picks the constructors of the
   Anys; in C99 they are written: tvmffi_call(f, tvmffi_out_int64(&n),
   tvmffi_int(3)). Returns 0 or the error's code. */

typedef struct {
  int (*take)(const TVMFFIAny *result, void *target); /* NULL: move the Any */
  const tvmffi_i_name *type;
  void *target; /* NULL: drop the result */
} tvmffi_out;

#define TVMFFI_I_OUT_TYPE(T, ctype)                                           \
  TVMFFI_I_INLINE int tvmffi_i_take_##T(const TVMFFIAny *any, void *target) { \
    tvmffi_type_##T value = TVMFFI_I_ZERO;                                    \
    int code = tvmffi_i_get_##T(any, &value);                                 \
    if (!code) *(ctype *)target = value;                                      \
    return code;                                                              \
  }                                                                           \
  TVMFFI_I_INLINE tvmffi_out tvmffi_out_##T(ctype *target) {                  \
    tvmffi_out out;                                                           \
    out.take = tvmffi_i_take_##T;                                             \
    out.type = &tvmffi_i_name_##T;                                            \
    out.target = target;                                                      \
    return out;                                                               \
  }
TVMFFI_I_OUT_TYPE(int8, int8_t)
TVMFFI_I_OUT_TYPE(int16, int16_t)
TVMFFI_I_OUT_TYPE(int32, int32_t)
TVMFFI_I_OUT_TYPE(int64, int64_t)
TVMFFI_I_OUT_TYPE(uint8, uint8_t)
TVMFFI_I_OUT_TYPE(uint16, uint16_t)
TVMFFI_I_OUT_TYPE(uint32, uint32_t)
TVMFFI_I_OUT_TYPE(uint64, uint64_t)
TVMFFI_I_OUT_TYPE(bool, tvmffi_type_bool)
#if !TVMFFI_NO_FLOAT
TVMFFI_I_OUT_TYPE(float32, float)
TVMFFI_I_OUT_TYPE(float64, double)
#endif
TVMFFI_I_OUT_TYPE(dtype, DLDataType)
TVMFFI_I_OUT_TYPE(device, DLDevice)
TVMFFI_I_OUT_TYPE(ptr, void *)

/* A text or bytes, copied into the caller's memory: `size` is its room before
   the call, and the bytes of the text behind it; a NUL follows them. */
typedef struct {
  char *data;
  size_t size;
} tvmffi_buffer;

TVMFFI_I_INLINE int tvmffi_i_take_buffer(const TVMFFIAny *any, void *target) {
  tvmffi_buffer *buffer = (tvmffi_buffer *)target;
  TVMFFIByteArray text = tvmffi_any_str(any);
  size_t i;
  if (!text.data) return TVMFFI_I_MISMATCH;
  if (text.size >= buffer->size)
    return TVMFFI_RAISE("ValueError",
                        "The result has %llu bytes and a NUL, the buffer room "
                        "for %llu",
                        (unsigned long long)text.size,
                        (unsigned long long)buffer->size);
  for (i = 0; i < text.size; ++i) buffer->data[i] = text.data[i];
  buffer->data[i] = 0;
  buffer->size = text.size;
  return 0;
}
TVMFFI_I_INLINE tvmffi_out tvmffi_out_buffer(tvmffi_buffer *target) {
  tvmffi_out out;
  out.take = tvmffi_i_take_buffer;
  out.type = &tvmffi_i_name_str;
  out.target = target;
  return out;
}

/* An object: *target is owned by the caller, or by the innermost scope. */
TVMFFI_I_INLINE int tvmffi_i_take_object(const TVMFFIAny *any, void *target) {
  TVMFFIObject *value = NULL;
  int code = tvmffi_i_get_object(any, &value);
  if (code) return code;
  tvmffi_retain(value);
  TVMFFI_TRY(tvmffi_i_keep(value));
  *(TVMFFIObject **)target = value;
  return 0;
}
TVMFFI_I_INLINE tvmffi_out tvmffi_out_object(TVMFFIObject **target) {
  tvmffi_out out;
  out.take = tvmffi_i_take_object;
  out.type = &tvmffi_i_name_object;
  out.target = target;
  return out;
}

/* Any value: *target is owned by the caller, or by the innermost scope; it must
   not own something before. */
TVMFFI_I_INLINE tvmffi_out tvmffi_out_any(TVMFFIAny *target) {
  tvmffi_out out;
  out.take = NULL;
  out.type = NULL;
  out.target = target;
  return out;
}
/* NULL drops the result; another pointer without a type is an error. */
TVMFFI_I_INLINE int tvmffi_i_take_nothing(const TVMFFIAny *any, void *target) {
  (void)any, (void)target;
  return TVMFFI_I_MISMATCH;
}
TVMFFI_I_INLINE tvmffi_out tvmffi_out_none(const void *null) {
  tvmffi_out out = tvmffi_out_any(NULL);
  if (!null) return out;
  out.take = tvmffi_i_take_nothing;
  out.type = &tvmffi_i_name_none;
  out.target = (void *)(uintptr_t)null;
  return out;
}

TVMFFI_I_COLD int tvmffi_i_bad_result(const tvmffi_out *out,
                                      const TVMFFIAny *any, int code) {
  if (code < 0) return code;
  if (code == TVMFFI_I_RANGE)
    return TVMFFI_RAISE("OverflowError", "The result %lld is out of range",
                        (long long)any->v_int64);
  return TVMFFI_RAISE("TypeError", "Cannot convert from type `%s` to `%s`",
                      tvmffi_i_type_key(any->type_index), out->type->name);
}

/* Gives the function that `callee` means; *owned is what to release later. */
TVMFFI_I_INLINE int tvmffi_i_callee(const TVMFFIAny *callee,
                                    TVMFFIObjectHandle *owned,
                                    TVMFFIObjectHandle *function) {
  TVMFFIByteArray name;
  *function = callee->v_ptr;
  if (callee->type_index >= kTVMFFIStaticObjectBegin ||
      callee->type_index == kTVMFFIOpaquePtr)
    return 0;
  if (tvmffi_i_get_str(callee, &name))
    return TVMFFI_RAISE("TypeError", "Cannot call a value of type `%s`",
                        tvmffi_i_type_key(callee->type_index));
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&name, owned));
  *function = *owned;
  return *owned
             ? 0
             : TVMFFI_RAISE("ValueError", "Function %s not found", name.data);
}

/* What no int64_t holds, and so no Any: a call with it is an error. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_uint(uint64_t x) {
  TVMFFIAny any = tvmffi_int((int64_t)x);
  if (TVMFFI_I_UNLIKELY(x >> 63)) any.type_index = kTVMFFIAny;
  return any;
}

/* The text of a str that is passed on: a NUL stands behind it. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_text_of(TVMFFIByteArray x) {
  return tvmffi_str(x.data);
}
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_const_obj(const TVMFFIObject *x) {
  return tvmffi_obj((TVMFFIObjectHandle)(uintptr_t)x);
}

TVMFFI_I_INLINE int tvmffi_i_check_args(const TVMFFIAny *args, int32_t n) {
  int32_t i;
  for (i = 0; i < n; ++i)
    if (TVMFFI_I_UNLIKELY(args[i].type_index == kTVMFFIAny))
      return tvmffi_i_too_large((uint64_t)args[i].v_int64);
  return 0;
}

/* Puts an owned result (taken) where it goes. */
TVMFFI_I_INLINE int tvmffi_i_deliver(tvmffi_out out, TVMFFIAny *result) {
  int code = 0;
  if (!out.target) {
    tvmffi_any_release(result);
  } else if (!out.take) {
    code = tvmffi_i_keep_any(result);
    *(TVMFFIAny *)(out.target) = *result;
  } else {
    code = out.take(result, out.target);
    if (TVMFFI_I_UNLIKELY(code)) code = tvmffi_i_bad_result(&out, result, code);
    tvmffi_any_release(result);
  }
  return code;
}

TVMFFI_I_INLINE int tvmffi_i_call(TVMFFIAny callee, tvmffi_out out,
                                  TVMFFIAny *args, int32_t n) {
  TVMFFIObjectHandle owned = NULL, function = NULL;
  TVMFFIAny result = tvmffi_none();
  int code = tvmffi_i_callee(&callee, &owned, &function);
  if (!code) code = tvmffi_i_call_away(function, args, n, &result);
  tvmffi_release(owned);
  return code ? code : tvmffi_i_deliver(out, &result);
}

/* `wide`: among the arguments may be one of tvmffi_uint. */
TVMFFI_I_INLINE int tvmffi_i_call_wide(TVMFFIAny callee, tvmffi_out out,
                                       TVMFFIAny *args, int32_t n, int wide) {
  if (wide) TVMFFI_TRY(tvmffi_i_check_args(args, n));
  return tvmffi_i_call(callee, out, args, n);
}

TVMFFI_I_INLINE TVMFFIAny tvmffi_i_any(TVMFFIAny any) { return any; }
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(tvmffi_out out) { return out; }

#if defined(__cplusplus)
extern "C++" { /* also where a user puts the include into extern "C" */
/* The overloads behind TVMFFI_ANY and `out`. */
#define TVMFFI_I_OVERLOAD(ctype, make) \
  TVMFFI_I_INLINE TVMFFIAny tvmffi_i_any(ctype x) { return make(x); }
#define TVMFFI_I_OVERLOAD_INT(ctype)                            \
  TVMFFI_I_INLINE TVMFFIAny tvmffi_i_any(ctype x) {             \
    return (ctype)(-1) < 1 ? tvmffi_int((int64_t)(x))           \
                           : tvmffi_uint((uint64_t)(x));        \
  }                                                             \
  TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(ctype *x) {           \
    return tvmffi_i_out_int(x, sizeof(ctype), (ctype)(-1) < 1); \
  }
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out_int(void *x, size_t size, bool sign) {
  tvmffi_out out = tvmffi_out_int64((int64_t *)(x));
  if (size == 1)
    out.take = sign ? tvmffi_i_take_int8 : tvmffi_i_take_uint8;
  else if (size == 2)
    out.take = sign ? tvmffi_i_take_int16 : tvmffi_i_take_uint16;
  else if (size == 4)
    out.take = sign ? tvmffi_i_take_int32 : tvmffi_i_take_uint32;
  else if (!sign)
    out.take = tvmffi_i_take_uint64;
  return out;
}
TVMFFI_I_OVERLOAD_INT(char)
TVMFFI_I_OVERLOAD_INT(signed char)
TVMFFI_I_OVERLOAD_INT(unsigned char)
TVMFFI_I_OVERLOAD_INT(short)
TVMFFI_I_OVERLOAD_INT(unsigned short)
TVMFFI_I_OVERLOAD_INT(int)
TVMFFI_I_OVERLOAD_INT(unsigned int)
TVMFFI_I_OVERLOAD_INT(long)
TVMFFI_I_OVERLOAD_INT(unsigned long)
TVMFFI_I_OVERLOAD_INT(long long)
TVMFFI_I_OVERLOAD_INT(unsigned long long)
TVMFFI_I_OVERLOAD(bool, tvmffi_bool)
#if !TVMFFI_NO_FLOAT
TVMFFI_I_OVERLOAD(float, tvmffi_float)
TVMFFI_I_OVERLOAD(double, tvmffi_float)
#endif
TVMFFI_I_OVERLOAD(const char *, tvmffi_str)
TVMFFI_I_OVERLOAD(const void *, tvmffi_ptr)
TVMFFI_I_OVERLOAD(const TVMFFIByteArray *, tvmffi_bytes)
TVMFFI_I_OVERLOAD(const DLTensor *, tvmffi_tensor)
TVMFFI_I_OVERLOAD(TVMFFIByteArray, tvmffi_i_text_of)
TVMFFI_I_OVERLOAD(TVMFFIObject *, tvmffi_obj)
TVMFFI_I_OVERLOAD(const TVMFFIObject *, tvmffi_i_const_obj)
TVMFFI_I_OVERLOAD(DLDevice, tvmffi_device)
TVMFFI_I_OVERLOAD(DLDataType, tvmffi_dtype)
#define TVMFFI_ANY(x) tvmffi_i_any(x)

TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(bool *x) { return tvmffi_out_bool(x); }
#if !TVMFFI_NO_FLOAT
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(float *x) {
  return tvmffi_out_float32(x);
}
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(double *x) {
  return tvmffi_out_float64(x);
}
#endif
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(DLDevice *x) {
  return tvmffi_out_device(x);
}
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(DLDataType *x) {
  return tvmffi_out_dtype(x);
}
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(void **x) { return tvmffi_out_ptr(x); }
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(TVMFFIObject **x) {
  return tvmffi_out_object(x);
}
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(TVMFFIAny *x) {
  return tvmffi_out_any(x);
}
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(tvmffi_buffer *x) {
  return tvmffi_out_buffer(x);
}
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_any(decltype(nullptr)) {
  return tvmffi_none();
}
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(decltype(nullptr)) {
  return tvmffi_out_none(nullptr);
}
/* NULL, which C++ may define as a plain zero. */
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(long) {
  return tvmffi_out_none(nullptr);
}

template <typename F, typename Out, typename... Args>
static inline int tvmffi_call(F callee, Out out, Args... args) {
  TVMFFIAny packed[] = {TVMFFI_ANY(args)..., tvmffi_none()};
  return tvmffi_i_call_wide(TVMFFI_ANY(callee), tvmffi_i_out(out), packed,
                            (int32_t)(sizeof...(Args)), 1);
}
} /* extern "C++" */

#else /* C */

#if TVMFFI_I_GENERIC
#if TVMFFI_NO_FLOAT
#define TVMFFI_I_FLOAT_ANY
#define TVMFFI_I_FLOAT_OUT
#else
#define TVMFFI_I_FLOAT_ANY float : tvmffi_float, double : tvmffi_float,
#define TVMFFI_I_FLOAT_OUT \
  float * : tvmffi_out_float32, double * : tvmffi_out_float64,
#endif
/* A view of one plain value. A void pointer is an opaque pointer, never an
   object: cast a handle to TVMFFIObject *. None is NULL; in C++, nullptr. */
#define TVMFFI_ANY(x)                           \
  _Generic((x),                                 \
      TVMFFI_I_FLOAT_ANY _Bool: tvmffi_bool,    \
      char: tvmffi_int,                         \
      signed char: tvmffi_int,                  \
      unsigned char: tvmffi_int,                \
      short: tvmffi_int,                        \
      unsigned short: tvmffi_int,               \
      int: tvmffi_int,                          \
      unsigned: tvmffi_int,                     \
      long: tvmffi_int,                         \
      unsigned long: tvmffi_uint,               \
      long long: tvmffi_int,                    \
      unsigned long long: tvmffi_uint,          \
      char *: tvmffi_str,                       \
      const char *: tvmffi_str,                 \
      void *: tvmffi_ptr,                       \
      const void *: tvmffi_ptr,                 \
      TVMFFIByteArray *: tvmffi_bytes,          \
      const TVMFFIByteArray *: tvmffi_bytes,    \
      DLTensor *: tvmffi_tensor,                \
      const DLTensor *: tvmffi_tensor,          \
      TVMFFIByteArray: tvmffi_i_text_of,        \
      TVMFFIObject *: tvmffi_obj,               \
      const TVMFFIObject *: tvmffi_i_const_obj, \
      DLDevice: tvmffi_device,                  \
      DLDataType: tvmffi_dtype,                 \
      TVMFFIAny: tvmffi_i_any)(x)
#define TVMFFI_I_WIDE(i, x)      \
  | _Generic((x),                \
          unsigned long: 1,      \
          unsigned long long: 1, \
          TVMFFIAny: 1,          \
          default: 0)
#define TVMFFI_I_LONG_OUT(type, of32, of64)                              \
  TVMFFI_I_INLINE tvmffi_out tvmffi_i_out_##of32(type *x) {              \
    return sizeof(type) == 4 ? tvmffi_out_##of32((of32##_t *)(void *)x)  \
                             : tvmffi_out_##of64((of64##_t *)(void *)x); \
  }
TVMFFI_I_LONG_OUT(long, int32, int64)
TVMFFI_I_LONG_OUT(unsigned long, uint32, uint64)
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out_int64(long long *x) {
  return tvmffi_out_int64((int64_t *)(void *)x);
}
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out_uint64(unsigned long long *x) {
  return tvmffi_out_uint64((uint64_t *)(void *)x);
}
#define TVMFFI_I_OUT(x)                            \
  _Generic((x),                                    \
      TVMFFI_I_FLOAT_OUT _Bool *: tvmffi_out_bool, \
      signed char *: tvmffi_out_int8,              \
      unsigned char *: tvmffi_out_uint8,           \
      short *: tvmffi_out_int16,                   \
      unsigned short *: tvmffi_out_uint16,         \
      int *: tvmffi_out_int32,                     \
      unsigned *: tvmffi_out_uint32,               \
      long *: tvmffi_i_out_int32,                  \
      unsigned long *: tvmffi_i_out_uint32,        \
      long long *: tvmffi_i_out_int64,             \
      unsigned long long *: tvmffi_i_out_uint64,   \
      DLDevice *: tvmffi_out_device,               \
      DLDataType *: tvmffi_out_dtype,              \
      void **: tvmffi_out_ptr,                     \
      TVMFFIObject **: tvmffi_out_object,          \
      TVMFFIAny *: tvmffi_out_any,                 \
      tvmffi_buffer *: tvmffi_out_buffer,          \
      void *: tvmffi_out_none,                     \
      tvmffi_out: tvmffi_i_out)(x)
#else
#define TVMFFI_ANY(x) tvmffi_i_any(x)
#define TVMFFI_I_OUT(x) tvmffi_i_out(x)
#define TVMFFI_I_WIDE(i, x) | 1
#endif

#define tvmffi_call(callee, ...) \
  TVMFFI_I_CALL(callee, TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__)
#define TVMFFI_I_CALL(callee, n, ...) TVMFFI_I_CALL_(callee, n, __VA_ARGS__)
#define TVMFFI_I_CALL_(callee, n, ...)                               \
  (TVMFFI_I_HERE tvmffi_i_call_wide(                                 \
      TVMFFI_ANY(callee), TVMFFI_I_OUT(TVMFFI_I_FIRST(__VA_ARGS__)), \
      (TVMFFIAny[]){TVMFFI_I_REST(n)(TVMFFI_I_ITEM, __VA_ARGS__)     \
                        tvmffi_none()},                              \
      (n) - 1, 0 TVMFFI_I_REST(n)(TVMFFI_I_WIDE, __VA_ARGS__)))
#define TVMFFI_I_ITEM(i, x) TVMFFI_ANY(x),
#endif /* C */

/* ======== Containers ========================================= >>containers */
/* C interface: containers of plain C values, read and changed without casts.
   An array and a shape never change, nor does a map; a list and a dict do. To
   make and to change them the runtime's own functions are called, which a file
   looks up once and keeps; iteration, size and access by index read the ABI's
   layout in place. A container argument may be a TVMFFIObject * or any value
   that holds one; in C99 write tvmffi_obj(list), and constructors for all other
   values: tvmffi_map(tvmffi_str("a"), tvmffi_int(1)). As everywhere: reading
   may go on in several threads, who changes a container must be alone.
   Errors: TypeError for a value that is no such container; if it is NULL or
   None and the thread has an error, that one stays, as it may be why. */

/* -------- Making -------- */

/* Makes a container of `n` views; NULL with the error raised. */
TVMFFI_I_INLINE TVMFFIObject *tvmffi_i_make(int which, const TVMFFIAny *items,
                                            int64_t n) {
  TVMFFIAny result = tvmffi_none();
  if (n < 0 || n > INT32_MAX || (n && !items)) {
    (void)TVMFFI_RAISE("ValueError", "%s cannot be made of %lld items at %p",
                       tvmffi_i_known_name(which), (long long)n,
                       (const void *)items);
    return NULL;
  }
  if ((which == TVMFFI_I_NEW_MAP || which == TVMFFI_I_NEW_DICT) && n % 2) {
    (void)TVMFFI_RAISE("ValueError",
                       "%s needs a value for each key, but got %lld in all",
                       tvmffi_i_known_name(which), (long long)n);
    return NULL;
  }
  if (tvmffi_i_ask(which, (TVMFFIAny *)(uintptr_t)items, (int32_t)n, &result) ||
      tvmffi_i_keep_any(&result))
    return NULL;
  return result.v_obj;
}

/* Makes a container of up to 16 plain values; of a map or a dict they are key,
   value, key, value and so on:
       tvmffi_list(1, 2.5, "three")      tvmffi_map("a", 1, "b", 2)
   Owned by the caller or by the innermost scope; NULL with the error raised. A
   key that comes twice has its last value. The items of a shape are ints.
   From any number of views: tvmffi_list_from(items, n), and so on. */
#define tvmffi_array_from(items, n) \
  (TVMFFI_I_HERE tvmffi_i_make(TVMFFI_I_NEW_ARRAY, items, n))
#define tvmffi_list_from(items, n) \
  (TVMFFI_I_HERE tvmffi_i_make(TVMFFI_I_NEW_LIST, items, n))
#define tvmffi_map_from(items, n) \
  (TVMFFI_I_HERE tvmffi_i_make(TVMFFI_I_NEW_MAP, items, n))
#define tvmffi_dict_from(items, n) \
  (TVMFFI_I_HERE tvmffi_i_make(TVMFFI_I_NEW_DICT, items, n))
#define tvmffi_shape_from(items, n) \
  (TVMFFI_I_HERE tvmffi_i_make(TVMFFI_I_NEW_SHAPE, items, n))

#if defined(__cplusplus)
extern "C++" {
#define TVMFFI_I_MAKER(name, which)                               \
  template <typename... Args>                                     \
  static inline TVMFFIObject *name(Args... args) {                \
    TVMFFIAny items[] = {TVMFFI_ANY(args)..., tvmffi_none()};     \
    return tvmffi_i_make(which, items, (int64_t)sizeof...(Args)); \
  }
TVMFFI_I_MAKER(tvmffi_array, TVMFFI_I_NEW_ARRAY)
TVMFFI_I_MAKER(tvmffi_list, TVMFFI_I_NEW_LIST)
TVMFFI_I_MAKER(tvmffi_map, TVMFFI_I_NEW_MAP)
TVMFFI_I_MAKER(tvmffi_dict, TVMFFI_I_NEW_DICT)
TVMFFI_I_MAKER(tvmffi_shape, TVMFFI_I_NEW_SHAPE)
} /* extern "C++" */
#define TVMFFI_I_OUT(x) tvmffi_i_out(x)
#else
#define tvmffi_array(...) TVMFFI_I_MAKE(TVMFFI_I_NEW_ARRAY, __VA_ARGS__)
#define tvmffi_list(...) TVMFFI_I_MAKE(TVMFFI_I_NEW_LIST, __VA_ARGS__)
#define tvmffi_map(...) TVMFFI_I_MAKE(TVMFFI_I_NEW_MAP, __VA_ARGS__)
#define tvmffi_dict(...) TVMFFI_I_MAKE(TVMFFI_I_NEW_DICT, __VA_ARGS__)
#define tvmffi_shape(...) TVMFFI_I_MAKE(TVMFFI_I_NEW_SHAPE, __VA_ARGS__)
#define TVMFFI_I_MAKE(which, ...)                                     \
  TVMFFI_I_CAT(TVMFFI_I_MAKE_, TVMFFI_I_IS_EMPTY(__VA_ARGS__))(which, \
                                                               __VA_ARGS__)
#define TVMFFI_I_MAKE_1(which, ...) \
  (TVMFFI_I_HERE tvmffi_i_make(which, NULL, 0))
#define TVMFFI_I_MAKE_0(which, ...) \
  TVMFFI_I_MAKE_N(which, TVMFFI_I_COUNT(~, __VA_ARGS__), ~, __VA_ARGS__)
#define TVMFFI_I_MAKE_N(which, n, ...) TVMFFI_I_MAKE_N_(which, n, __VA_ARGS__)
#define TVMFFI_I_MAKE_N_(which, n, ...)                                  \
  (TVMFFI_I_HERE tvmffi_i_make(                                          \
      which,                                                             \
      (const TVMFFIAny[]){TVMFFI_I_REST(n)(TVMFFI_I_ITEM, __VA_ARGS__)}, \
      (n) - 1))
#endif

/* -------- Reading -------- */

TVMFFI_I_INLINE int tvmffi_i_is_map(const TVMFFIAny *any) {
  return (any->type_index == kTVMFFIMap || any->type_index == kTVMFFIDict) &&
         any->v_obj;
}

/* Arrays, lists and shapes. */
TVMFFI_I_INLINE int tvmffi_i_is_sequence(const TVMFFIAny *any) {
  return (any->type_index == kTVMFFIArray || any->type_index == kTVMFFIList ||
          any->type_index == kTVMFFIShape) &&
         any->v_obj;
}

TVMFFI_I_COLD int tvmffi_i_bad_container(const char *function, const char *want,
                                         const TVMFFIAny *got) {
  if (got->type_index == kTVMFFINone && tvmffi_i_pending()) return -1;
  return TVMFFI_RAISE("TypeError", "%s: expected %s, but got `%s`", function,
                      want, tvmffi_i_type_key(got->type_index));
}

/* The number of items of a sequence. */
TVMFFI_I_INLINE int64_t tvmffi_i_length(const TVMFFIAny *any) {
  return any->type_index == kTVMFFIShape
             ? (int64_t)TVMFFIShapeGetCellPtr(any->v_obj)->size
             : TVMFFI_I_CELL(TVMFFISeqCell, any->v_obj)->size;
}

/* An item that exists, borrowed. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_item(const TVMFFIAny *any, int64_t i) {
  return any->type_index == kTVMFFIShape
             ? tvmffi_int(TVMFFIShapeGetCellPtr(any->v_obj)->data[i])
             : ((const TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, any->v_obj)
                    ->data)[i];
}

/* Gives the number of items or entries of a container; -1 with a TypeError. */
#define tvmffi_size(container) tvmffi_i_size(TVMFFI_ANY(container))

TVMFFI_I_INLINE int64_t tvmffi_i_size(TVMFFIAny any) {
  if (tvmffi_i_is_sequence(&any)) return tvmffi_i_length(&any);
  if (tvmffi_i_is_map(&any)) return tvmffi_i_map_size(any.v_obj);
  return tvmffi_i_bad_container("tvmffi_size", "a container", &any);
}

/* Gets an index out of `key`: 0, 1 if the container does not have it, -1 with a
   TypeError. */
TVMFFI_I_INLINE int tvmffi_i_index(const TVMFFIAny *any, const TVMFFIAny *key,
                                   int64_t *i) {
  if (!TVMFFI_I_IS_INT(key))
    return TVMFFI_RAISE(
        "TypeError", "expected an index into `%s`, but got `%s`",
        tvmffi_i_type_key(any->type_index), tvmffi_i_type_key(key->type_index));
  *i = key->v_int64;
  return (uint64_t)*i >= (uint64_t)tvmffi_i_length(any);
}

/* What upstream's functions raise for an index or a key that is not there. */
TVMFFI_I_COLD int tvmffi_i_not_there(const TVMFFIAny *any,
                                     const TVMFFIAny *key) {
  if (tvmffi_i_is_sequence(any))
    return TVMFFI_RAISE("IndexError", "Index %lld out of bounds %lld",
                        (long long)key->v_int64,
                        (long long)tvmffi_i_length(any));
  return TVMFFI_RAISE("KeyError", "key is not in Map");
}

/* Gets a copy, owned: 0, 1 if there is none, or -1 with the error raised. */
TVMFFI_I_INLINE int tvmffi_i_find_value(const TVMFFIAny *any,
                                        const TVMFFIAny *key,
                                        TVMFFIAny *value) {
  TVMFFIAny args[2], missing = tvmffi_none();
  int64_t i = 0;
  int code, is_dict = any->type_index == kTVMFFIDict;
  if (tvmffi_i_is_sequence(any)) {
    code = tvmffi_i_index(any, key, &i);
    if (code) return code;
    *value = tvmffi_i_item(any, i);
    if (value->type_index >= kTVMFFIStaticObjectBegin)
      tvmffi_retain(value->v_obj);
    return 0;
  }
  if (!tvmffi_i_is_map(any))
    return tvmffi_i_bad_container("tvmffi_get", "a container", any);
  args[0] = *any;
  args[1] = *key;
  TVMFFI_TRY(tvmffi_i_ask(is_dict ? TVMFFI_I_DICT_GET : TVMFFI_I_MAP_GET, args,
                          2, value));
  if (value->type_index != kTVMFFIObject) return 0;
  code = tvmffi_i_ask(TVMFFI_I_MISSING, NULL, 0, &missing);
  i = value->v_obj == missing.v_obj;
  tvmffi_any_release(&missing);
  if (code || i) tvmffi_any_release(value);
  return code ? code : (int)i;
}

/* Gets the value of a key, or of an index into an array, a list or a shape,
   converted to what the pointer `out` says, as tvmffi_call does:
       tvmffi_get(map, "key", &number)        KeyError, or IndexError, if absent
       tvmffi_get(map, "key", &number, 7)     then 7
   Returns 0, or -1 with the error raised: so a TypeError for a value of another
   type, also where there is a default. An object or Any is owned by the caller
   or by the innermost scope. */
#define tvmffi_get(container, key, ...)          \
  (TVMFFI_I_HERE tvmffi_i_get_or(                \
      TVMFFI_ANY(container), TVMFFI_ANY(key),    \
      TVMFFI_I_OUT(TVMFFI_I_FIRST(__VA_ARGS__)), \
      TVMFFI_I_DEFAULT(TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__)))
#define TVMFFI_I_DEFAULT(n, ...) TVMFFI_I_DEFAULT_(n, __VA_ARGS__)
#define TVMFFI_I_DEFAULT_(n, ...) TVMFFI_I_DEFAULT_##n(__VA_ARGS__)
#define TVMFFI_I_DEFAULT_1(out) 0, tvmffi_none()
#define TVMFFI_I_DEFAULT_2(out, x) 1, TVMFFI_ANY(x)

TVMFFI_I_INLINE int tvmffi_i_get_or(TVMFFIAny any, TVMFFIAny key,
                                    tvmffi_out out, int has_default,
                                    TVMFFIAny otherwise) {
  TVMFFIAny value = tvmffi_none();
  int code = tvmffi_i_find_value(&any, &key, &value);
  if (code == 1)
    code = has_default ? TVMFFIAnyViewToOwnedAny(&otherwise, &value)
                       : tvmffi_i_not_there(&any, &key);
  return code ? code : tvmffi_i_deliver(out, &value);
}

/* Gives an item of an array, a list or a shape, borrowed: valid as long as it
   stays in there. Returns 0, or -1 with an IndexError or a TypeError, and then
   *item is None. */
#define tvmffi_at(container, i, item) \
  tvmffi_i_item_at(TVMFFI_ANY(container), i, item)

TVMFFI_I_INLINE int tvmffi_i_item_at(TVMFFIAny any, int64_t i,
                                     TVMFFIAny *item) {
  TVMFFIAny key = tvmffi_int(i);
  *item = tvmffi_none();
  if (!tvmffi_i_is_sequence(&any))
    return tvmffi_i_bad_container("tvmffi_at", "an array, list or shape", &any);
  if ((uint64_t)i >= (uint64_t)tvmffi_i_length(&any))
    return tvmffi_i_not_there(&any, &key);
  *item = tvmffi_i_item(&any, i);
  return 0;
}

/* Tells whether a map or dict has the key, or an array or list an equal item:
   1 or 0, or -1 with the error raised. */
#define tvmffi_contains(container, value) \
  tvmffi_i_has(TVMFFI_ANY(container), TVMFFI_ANY(value))

TVMFFI_I_INLINE int tvmffi_i_has(TVMFFIAny any, TVMFFIAny value) {
  TVMFFIAny args[2], result = tvmffi_none();
  int which;
  switch (any.v_obj ? any.type_index : kTVMFFINone) {
    case kTVMFFIArray: which = TVMFFI_I_ARRAY_CONTAINS; break;
    case kTVMFFIList: which = TVMFFI_I_LIST_CONTAINS; break;
    case kTVMFFIMap: which = TVMFFI_I_MAP_COUNT; break;
    case kTVMFFIDict: which = TVMFFI_I_DICT_COUNT; break;
    default:
      return tvmffi_i_bad_container("tvmffi_contains",
                                    "an array, list, map or dict", &any);
  }
  args[0] = any;
  args[1] = value;
  TVMFFI_TRY(tvmffi_i_ask(which, args, 2, &result));
  return result.v_int64 != 0;
}

/* -------- Changing -------- */

/* Appends a value to a list. All of these return 0, or -1 with the error
   raised; the list or dict holds what it is given, and strings are copied. */
#define tvmffi_append(list, value) \
  tvmffi_i_append_item(TVMFFI_ANY(list), TVMFFI_ANY(value))

TVMFFI_I_INLINE int tvmffi_i_append_item(TVMFFIAny list, TVMFFIAny value) {
  if (list.type_index != kTVMFFIList)
    return tvmffi_i_bad_container("tvmffi_append", "a list", &list);
  return tvmffi_i_tell(TVMFFI_I_LIST_APPEND, list, value, tvmffi_none(), 2);
}

/* Sets an item of a list that exists (else an IndexError), or the value of a
   key of a dict, which gets it if it did not have it. */
#define tvmffi_set(container, key, value) \
  tvmffi_i_set(TVMFFI_ANY(container), TVMFFI_ANY(key), TVMFFI_ANY(value))

TVMFFI_I_INLINE int tvmffi_i_set(TVMFFIAny any, TVMFFIAny key,
                                 TVMFFIAny value) {
  if (any.type_index == kTVMFFIList)
    return tvmffi_i_tell(TVMFFI_I_LIST_SET, any, key, value, 3);
  if (any.type_index == kTVMFFIDict)
    return tvmffi_i_tell(TVMFFI_I_DICT_SET, any, key, value, 3);
  return tvmffi_i_bad_container("tvmffi_set", "a list or dict", &any);
}

/* Erases an item of a list or an entry of a dict, which must be there: else an
   IndexError or a KeyError. tvmffi_pop gives it, too, as tvmffi_get does; it
   stays if its type is not that of `out`. */
#define tvmffi_erase(container, key) \
  tvmffi_i_erase_item(TVMFFI_ANY(container), TVMFFI_ANY(key))
#define tvmffi_pop(container, key, out)                                    \
  (TVMFFI_I_HERE tvmffi_i_pop_item(TVMFFI_ANY(container), TVMFFI_ANY(key), \
                                   TVMFFI_I_OUT(out)))

TVMFFI_I_INLINE int tvmffi_i_erase_item(TVMFFIAny any, TVMFFIAny key) {
  int has;
  if (any.type_index == kTVMFFIList)
    return tvmffi_i_tell(TVMFFI_I_LIST_ERASE, any, key, tvmffi_none(), 2);
  if (any.type_index != kTVMFFIDict)
    return tvmffi_i_bad_container("tvmffi_erase", "a list or dict", &any);
  has = tvmffi_i_has(any, key);
  if (has != 1) return has ? has : tvmffi_i_not_there(&any, &key);
  return tvmffi_i_tell(TVMFFI_I_DICT_ERASE, any, key, tvmffi_none(), 2);
}

TVMFFI_I_INLINE int tvmffi_i_pop_item(TVMFFIAny any, TVMFFIAny key,
                                      tvmffi_out out) {
  if (any.type_index != kTVMFFIList && any.type_index != kTVMFFIDict)
    return tvmffi_i_bad_container("tvmffi_pop", "a list or dict", &any);
  TVMFFI_TRY(tvmffi_i_get_or(any, key, out, 0, tvmffi_none()));
  return tvmffi_i_erase_item(any, key);
}

/* -------- Iteration -------- */

/* Goes through an array, a list or a shape:
       TVMFFI_FOREACH (TVMFFIAny, item, list) { ... }
   and through a map or a dict in order of insertion:
       TVMFFI_FOREACH_ITEM (key, value, map) { ... }
   Items, keys and values are TVMFFIAny, borrowed from the container, which the
   caller keeps alive. Nothing is allocated or held: break, continue and return
   leave nothing behind. The container may change meanwhile: the n-th step gives
   what is the n-th item then, so who erases the present one misses the next;
   what has been erased must not be used any more. Anything else than such a
   container, NULL say, has no items. */
#define TVMFFI_FOREACH(type, name, container)                              \
  for (type name = tvmffi_none(),                                          \
            TVMFFI_I_CAT(tvmffi_at_, __LINE__)[2] =                        \
                {tvmffi_i_sequence(TVMFFI_ANY(container)), tvmffi_int(0)}; \
       tvmffi_i_next(TVMFFI_I_CAT(tvmffi_at_, __LINE__), &name);)
#define TVMFFI_FOREACH_ITEM(key, value, container)                          \
  for (TVMFFIAny key = tvmffi_none(), value = tvmffi_none(),                \
                 TVMFFI_I_CAT(tvmffi_at_,                                   \
                              __LINE__)[6] = {TVMFFI_ANY(container),        \
                                              tvmffi_int(0), tvmffi_int(0), \
                                              tvmffi_int(0), tvmffi_int(0), \
                                              tvmffi_int(0)};               \
       tvmffi_i_foreach_next(TVMFFI_I_CAT(tvmffi_at_, __LINE__), &key,      \
                             &value);)

/* What is no sequence becomes none, once for all steps. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_sequence(TVMFFIAny any) {
  return tvmffi_i_is_sequence(&any) ? any : tvmffi_none();
}

/* at: a sequence or none, the index of the next item. */
TVMFFI_I_INLINE int tvmffi_i_next(TVMFFIAny *at, TVMFFIAny *item) {
  const TVMFFISeqCell *cell;
  const TVMFFIAny *items;
  int64_t i = at[1].v_int64++;
  if (!at->v_obj) return 0;
  if (TVMFFI_I_UNLIKELY(at->type_index == kTVMFFIShape)) {
    if (i >= tvmffi_i_length(at)) return 0;
    *item = tvmffi_i_item(at, i);
    return 1;
  }
  cell = TVMFFI_I_CELL(TVMFFISeqCell, at->v_obj);
  items = (const TVMFFIAny *)cell->data;
  if (i >= cell->size) return 0;
  *item = items[i];
  return 1;
}

/* at: the container, the index of the next entry, the slot of the present one,
   and of what table that is: its memory, its size, its newest entry. In another
   table the entry is counted off from the oldest. */
TVMFFI_I_INLINE int tvmffi_i_foreach_next(TVMFFIAny *at, TVMFFIAny *key,
                                          TVMFFIAny *value) {
  const tvmffi_i_map_object *m = (tvmffi_i_map_object *)(void *)at->v_obj;
  const tvmffi_i_pair *pair = NULL;
  uint64_t n = at[1].v_uint64, slot = at[2].v_uint64, i;
  if (!tvmffi_i_is_map(at) || n >= m->size) return 0;
  if (tvmffi_i_map_is_row(m)) {
    pair = tvmffi_i_map_pair(&m->base, n);
  } else {
    if (n && at[3].v_ptr == m->data && at[4].v_uint64 == m->size &&
        at[5].v_uint64 == m->tail) {
      slot = tvmffi_i_map_after(&m->base, slot);
      pair = tvmffi_i_map_pair(&m->base, slot);
    }
    if (TVMFFI_I_UNLIKELY(!pair)) {
      slot = m->head;
      for (i = 0; i < n; ++i) slot = tvmffi_i_map_after(&m->base, slot);
      pair = tvmffi_i_map_pair(&m->base, slot);
    }
    at[2].v_uint64 = slot;
    at[3].v_ptr = m->data;
    at[4].v_uint64 = m->size;
    at[5].v_uint64 = m->tail;
  }
  at[1].v_uint64 = n + 1;
  if (!pair) return 0;
  *key = pair->key;
  *value = pair->value;
  return 1;
}

/* -------- Printing -------- */

/* The text that is being printed, owned. */
#if TVMFFI_NO_THREADS
TVMFFI_I_UNUSED static TVMFFIAny tvmffi_i_printing;
#else
TVMFFI_I_UNUSED static __thread TVMFFIAny tvmffi_i_printing;
#endif

/* Prints a value as Python's repr shows it, and ends the line. `file` is a FILE
 * (the caller includes <stdio.h>). Returns 0, or -1 with the error raised. */
#define tvmffi_print(file, value)      \
  tvmffi_i_printed(                    \
      tvmffi_i_repr(TVMFFI_ANY(value)) \
          ? INT32_MIN                  \
          : fprintf((file), "%s\n", tvmffi_any_str(&tvmffi_i_printing).data))

TVMFFI_I_INLINE int tvmffi_i_repr(TVMFFIAny any) {
  TVMFFIAny text = tvmffi_none();
  TVMFFI_TRY(tvmffi_i_ask(TVMFFI_I_REPR, &any, 1, &text));
  tvmffi_any_release(&tvmffi_i_printing);
  tvmffi_i_printing = text;
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_printed(int count) {
  if (count == INT32_MIN) return -1; /* there was nothing to print */
  tvmffi_any_release(&tvmffi_i_printing);
  return count < 0 ? TVMFFI_RAISE("OSError", "cannot write") : 0;
}

/* -------- Leaks -------- */

/* Of a runtime that is built with TVMFFI_DEBUG: tells how many of its objects
   of exactly the type are alive, kTVMFFIAny: of all types, its own among them.
   -1 with a ValueError on any other runtime. What the scopes of this file hold
   is counted by tvmffi_scope_count, on every runtime. */
TVMFFI_I_INLINE int64_t tvmffi_live_count(int32_t type_index) {
  TVMFFIAny arg = tvmffi_int(type_index);
  int64_t n = 0;
  return tvmffi_i_call(tvmffi_str("tvmffi.DebugLive"), tvmffi_out_int64(&n),
                       &arg, 1)
             ? -1
             : n;
}

/* Prints which objects are alive that a file built with TVMFFI_DEBUG was handed
   out, a line for each type and place with their number, and before them the
   first release of an object that was dead. Returns the number of these objects
   and releases: 0 says that all is well; -1 with a ValueError on a runtime
   built without TVMFFI_DEBUG. `file` is a FILE *. */
#define tvmffi_leak_report(file)                                     \
  tvmffi_i_reported(                                                 \
      tvmffi_i_report()                                              \
          ? -1                                                       \
          : ((void)fprintf((file), "%s",                             \
                           tvmffi_any_str(&tvmffi_i_printing).data), \
             0))

#if TVMFFI_NO_THREADS
TVMFFI_I_UNUSED static int64_t tvmffi_i_num_found;
#else
TVMFFI_I_UNUSED static __thread int64_t tvmffi_i_num_found;
#endif

TVMFFI_I_COLD int tvmffi_i_report(void) {
  int64_t live = 0, complaints = 0;
  TVMFFIAny args[2], text = tvmffi_none();
  TVMFFIByteArray name = tvmffi_view("tvmffi.DebugReport");
  TVMFFIObjectHandle report = NULL;
  int code;
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&name, &report));
  if (!report)
    return TVMFFI_RAISE("ValueError",
                        "the runtime is not built with TVMFFI_DEBUG");
  args[0] = tvmffi_ptr(&live);
  args[1] = tvmffi_ptr(&complaints);
  code = TVMFFIFunctionCall(report, args, 2, &text);
  tvmffi_release(report);
  if (code) return -1;
  tvmffi_any_release(&tvmffi_i_printing);
  tvmffi_i_printing = text;
  tvmffi_i_num_found = live + complaints;
  return 0;
}

TVMFFI_I_INLINE int64_t tvmffi_i_reported(int code) {
  if (code) return -1;
  tvmffi_any_release(&tvmffi_i_printing);
  return tvmffi_i_num_found;
}

/* ======== Tensors =============================================== >>tensors */
/* C interface: checks of tensors in one statement, addresses of elements, loops
   over tensors with any strides, float16 and bfloat16, new tensors. Tensors are
   borrowed, `const DLTensor *`; strides count elements. Nothing is shared but
   the plan of each TVMFFI_EXPECT, which is written once and then only read. */

/* Checks tensors and returns from the calling function, with -1 and an error,
   unless all are as expected. Each is given with what it should be:
       TVMFFI_EXPECT((x, "float32[n, m] cpu"), (y, "float32[m] cpu"));
   raises, say: ValueError: f: argument y: dimension m is 3, but 4 in x
   Up to 16 tensors. The text must be a literal, and is read once:
     text   = dtypes [shape] {" " word}
     dtypes = "any" | "same" (as the first tensor's) | dtype {"|" dtype}
     shape  = "[" [dim {"," dim}] "]", up to 8 dims; without it, any shape
     dim    = name (all of a name are equal, in all tensors) | number | "_"
              | "..." (any number of dims) | "*" name (that are equal, too)
     word   = device ("cpu", "cuda:1"; default: any) | "strided" | "align(N)"
   One "..." or "*name" may stand anywhere in a shape. A tensor has to be
   contiguous unless its text says "strided"; align(N) is the alignment of the
   first element in bytes, a power of 2. Data may be NULL in an empty tensor
   only. A wrong dtype is a TypeError, all else a ValueError; a text that cannot
   be read is an InternalError. Any thread may come first. */
#define TVMFFI_EXPECT(...) \
  TVMFFI_I_EXPECT(TVMFFI_I_COUNT(~, __VA_ARGS__), ~, __VA_ARGS__)
#define TVMFFI_I_EXPECT(n, ...) TVMFFI_I_EXPECT_(n, __VA_ARGS__)
#define TVMFFI_I_EXPECT_(n, ...)                                          \
  do {                                                                    \
    static const tvmffi_i_expected tvmffi_expected[] = {                  \
        TVMFFI_I_REST(n)(TVMFFI_I_EXPECT_TEXT, __VA_ARGS__){NULL, NULL}}; \
    static tvmffi_i_plan tvmffi_plans[(n) - 1];                           \
    static tvmffi_i_site tvmffi_site = {                                  \
        0, __FILE__, tvmffi_expected, tvmffi_plans, __LINE__, (n) - 1};   \
    const DLTensor *const tvmffi_tensors[] = {                            \
        TVMFFI_I_REST(n)(TVMFFI_I_EXPECT_TENSOR, __VA_ARGS__) NULL};      \
    TVMFFI_TRY(tvmffi_i_expect(&tvmffi_site, tvmffi_tensors, __func__));  \
  } while (0)
#define TVMFFI_I_EXPECT_TEXT(i, p) TVMFFI_I_EXPECT_TEXT_ p,
#define TVMFFI_I_EXPECT_TEXT_(tensor, text) {#tensor, "" text}
#define TVMFFI_I_EXPECT_TENSOR(i, p) TVMFFI_I_EXPECT_TENSOR_ p,
#define TVMFFI_I_EXPECT_TENSOR_(tensor, text) (tensor)

typedef struct {
  const char *name, *text;
} tvmffi_i_expected;

/* A dimension: of a number, of that dimension of that tensor (a dimension
   behind the "..." counts from the end, -1 is the last), or any (-1, -1). The
   name stands in the text. */
typedef struct {
  int64_t extent;
  int8_t tensor, dim;
  uint8_t name, name_size;
} tvmffi_i_dim;

enum { TVMFFI_I_DTYPES = 4, TVMFFI_I_DIMS = 8, TVMFFI_I_EXPECTED = 16 };

/* A text of TVMFFI_EXPECT, as it was read. */
typedef struct {
  DLDataType dtypes[TVMFFI_I_DTYPES];
  int8_t num_dtypes; /* 0: any, -1: the first tensor's */
  int8_t num_dims;   /* without the run of "..." or "*name" */
  int8_t front;      /* how many of them stand before the run */
  uint8_t has_run, strided;
  tvmffi_i_dim run;               /* extent is not used */
  int32_t device_type, device_id; /* 0, -1: any */
  uint32_t align_mask;
  tvmffi_i_dim dims[TVMFFI_I_DIMS];
} tvmffi_i_plan;

/* A TVMFFI_EXPECT. The plans are there once the state is 2. */
typedef struct {
  uint64_t state; /* 0, 1 while a thread writes the plans */
  const char *file;
  const tvmffi_i_expected *expected;
  tvmffi_i_plan *plans;
  int32_t line, count;
} tvmffi_i_site;

/* What is wrong with a tensor. Of a code the lowest byte is one of these, the
   next one tells the tensor, the rest the dimension. */
#define TVMFFI_I_MISFIT(code, dim) ((code) | (int)(dim) << 16)
enum {
  TVMFFI_I_PLAN_FITS,
  TVMFFI_I_NO_TENSOR,
  TVMFFI_I_NO_SHAPE,
  TVMFFI_I_NO_DATA,
  TVMFFI_I_BAD_DTYPE,
  TVMFFI_I_BAD_DEVICE,
  TVMFFI_I_BAD_RANK,
  TVMFFI_I_BAD_EXTENT,
  TVMFFI_I_BAD_RUN,
  TVMFFI_I_BAD_RUN_RANK,
  TVMFFI_I_NEGATIVE,
  TVMFFI_I_NOT_CONTIGUOUS,
  TVMFFI_I_NOT_ALIGNED
};

TVMFFI_I_INLINE int tvmffi_i_dtype_equal(DLDataType a, DLDataType b) {
  return ((a.code ^ b.code) | (a.bits ^ b.bits) | (a.lanes ^ b.lanes)) == 0;
}

TVMFFI_I_INLINE int tvmffi_i_dtype_fits(const tvmffi_i_plan *p,
                                        const DLTensor *t,
                                        const DLTensor *first) {
  int i;
  if (p->num_dtypes < 0) return tvmffi_i_dtype_equal(t->dtype, first->dtype);
  for (i = 0; i < p->num_dtypes; ++i)
    if (tvmffi_i_dtype_equal(t->dtype, p->dtypes[i])) return 1;
  return p->num_dtypes == 0;
}

/* The extent of the dimension that `want` refers to. */
TVMFFI_I_INLINE int64_t tvmffi_i_extent(const tvmffi_i_dim *want,
                                        const DLTensor *const *tensors) {
  const DLTensor *t = tensors[want->tensor];
  return t->shape[want->dim < 0 ? t->ndim + want->dim : want->dim];
}

/* Whether the run's dimensions are those of the run that it is bound to. */
TVMFFI_I_INLINE int tvmffi_i_run_fits(const tvmffi_i_plan *plans,
                                      const tvmffi_i_plan *p,
                                      const DLTensor *const *tensors,
                                      const DLTensor *t) {
  const tvmffi_i_plan *other = &plans[p->run.tensor];
  const DLTensor *o = tensors[p->run.tensor];
  int32_t rank = t->ndim - p->num_dims, i;
  if (rank != o->ndim - other->num_dims) return TVMFFI_I_BAD_RUN_RANK;
  for (i = 0; i < rank; ++i)
    if (t->shape[p->front + i] != o->shape[other->front + i])
      return TVMFFI_I_MISFIT(TVMFFI_I_BAD_RUN, i);
  return TVMFFI_I_PLAN_FITS;
}

TVMFFI_I_INLINE int tvmffi_i_shape_fits(const tvmffi_i_plan *plans,
                                        const tvmffi_i_plan *p,
                                        const DLTensor *const *tensors,
                                        const DLTensor *t) {
  int32_t rank = t->ndim - p->num_dims, i;
  if (p->has_run ? rank < 0 : rank != 0) return TVMFFI_I_BAD_RANK;
  if (t->ndim && !t->shape) return TVMFFI_I_NO_SHAPE;
  for (i = 0; i < p->num_dims; ++i) {
    const tvmffi_i_dim *want = &p->dims[i];
    int64_t extent = t->shape[i < p->front ? i : i + rank];
    if (want->tensor >= 0 ? extent != tvmffi_i_extent(want, tensors)
                          : extent != want->extent && want->extent >= 0)
      return TVMFFI_I_MISFIT(TVMFFI_I_BAD_EXTENT, i);
  }
  return p->has_run && p->run.tensor >= 0
             ? tvmffi_i_run_fits(plans, p, tensors, t)
             : TVMFFI_I_PLAN_FITS;
}

TVMFFI_I_INLINE int tvmffi_i_data_fits(const tvmffi_i_plan *p,
                                       const DLTensor *t) {
  const int64_t *strides = t->strides;
  int64_t step = 1, gap = 0;
  int32_t i;
  int is_empty = 0;
  for (i = t->ndim - 1; i >= 0; --i) {
    int64_t extent = t->shape[i];
    if (extent != 1) {
      if (extent < 0) return TVMFFI_I_MISFIT(TVMFFI_I_NEGATIVE, i);
      is_empty |= extent == 0;
      if (strides) gap |= strides[i] ^ step;
      step = (int64_t)((uint64_t)step * (uint64_t)extent);
    }
  }
  if (is_empty) return TVMFFI_I_PLAN_FITS;
  if (!t->data) return TVMFFI_I_NO_DATA;
  if (gap && !p->strided) return TVMFFI_I_NOT_CONTIGUOUS;
  if (((uintptr_t)t->data + (uintptr_t)t->byte_offset) & p->align_mask)
    return TVMFFI_I_NOT_ALIGNED;
  return TVMFFI_I_PLAN_FITS;
}

/* Checks all tensors; the code of the first that does not fit. */
TVMFFI_I_INLINE int tvmffi_i_fit_plans(const tvmffi_i_plan *plans,
                                       int32_t count,
                                       const DLTensor *const *tensors) {
  int32_t i;
  for (i = 0; i < count; ++i) {
    const tvmffi_i_plan *p = &plans[i];
    const DLTensor *t = tensors[i];
    int code = TVMFFI_I_PLAN_FITS;
    if (!t)
      code = TVMFFI_I_NO_TENSOR;
    else if (!tvmffi_i_dtype_fits(p, t, tensors[0]))
      code = TVMFFI_I_BAD_DTYPE;
    else if ((p->device_type &&
              (int32_t)t->device.device_type != p->device_type) ||
             (p->device_id >= 0 && t->device.device_id != p->device_id))
      code = TVMFFI_I_BAD_DEVICE;
    if (!code) code = tvmffi_i_shape_fits(plans, p, tensors, t);
    if (!code) code = tvmffi_i_data_fits(p, t);
    if (TVMFFI_I_UNLIKELY(code)) return code | i << 8;
  }
  return TVMFFI_I_PLAN_FITS;
}

TVMFFI_I_INLINE int tvmffi_i_plan_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
TVMFFI_I_INLINE int tvmffi_i_plan_digit(char c) { return c >= '0' && c <= '9'; }

/* Tells whether the next word is `word`, and then goes behind it. */
TVMFFI_I_COLD int tvmffi_i_plan_skip(const char **at, const char *word) {
  const char *p = *at;
  while (*word && *p == *word) ++p, ++word;
  if (*word || tvmffi_i_plan_letter(*p) || tvmffi_i_plan_digit(*p)) return 0;
  *at = p;
  return 1;
}

/* The readers below go on in the text, and give NULL, or what is wrong. */
TVMFFI_I_COLD const char *tvmffi_i_plan_number(const char **at, int64_t max,
                                               int64_t *out) {
  if (!tvmffi_i_plan_digit(**at)) return "a number is missing";
  for (*out = 0; tvmffi_i_plan_digit(**at); ++*at) {
    if (*out > (max - (**at - '0')) / 10) return "the number is too large";
    *out = *out * 10 + (**at - '0');
  }
  return NULL;
}

TVMFFI_I_COLD const char *tvmffi_i_plan_dtypes(tvmffi_i_plan *p,
                                               const char **at) {
  TVMFFIByteArray word;
  if (tvmffi_i_plan_skip(at, "any")) return NULL;
  p->num_dtypes = -1;
  if (tvmffi_i_plan_skip(at, "same")) return NULL;
  for (p->num_dtypes = 0;; ++*at) {
    if (p->num_dtypes == TVMFFI_I_DTYPES) return "more than 4 dtypes";
    word.data = *at;
    while (tvmffi_i_plan_letter(**at) || tvmffi_i_plan_digit(**at)) ++*at;
    word.size = (size_t)(*at - word.data);
    if (!word.size) return "a dtype is missing";
    if (TVMFFIDataTypeFromString(&word, &p->dtypes[(int)p->num_dtypes++])) {
      *at = word.data;
      return "the dtype is not known";
    }
    if (**at != '|') return NULL;
  }
}

TVMFFI_I_COLD const char *tvmffi_i_plan_name(tvmffi_i_dim *d, const char *text,
                                             const char **at) {
  const char *begin = *at;
  if (!tvmffi_i_plan_letter(**at)) return "a dimension is missing";
  while (tvmffi_i_plan_letter(**at) || tvmffi_i_plan_digit(**at)) ++*at;
  d->name = (uint8_t)(begin - text);
  d->name_size = (uint8_t)(*at - begin);
  return NULL;
}

TVMFFI_I_COLD const char *tvmffi_i_plan_dim(tvmffi_i_plan *p, const char *text,
                                            const char **at) {
  tvmffi_i_dim *d = &p->dims[(int)p->num_dims];
  if (**at == '.' || **at == '*') {
    if (p->has_run) return "a second \"...\" or \"*\"";
    p->has_run = 1;
    p->front = p->num_dims;
    if (**at == '*') return ++*at, tvmffi_i_plan_name(&p->run, text, at);
    if ((*at)[1] != '.' || (*at)[2] != '.') return "a dimension is missing";
    *at += 3;
    return NULL;
  }
  if (p->num_dims == TVMFFI_I_DIMS) return "more than 8 dimensions";
  ++p->num_dims;
  d->extent = d->tensor = -1;
  if (tvmffi_i_plan_skip(at, "_")) return NULL;
  if (tvmffi_i_plan_digit(**at))
    return tvmffi_i_plan_number(at, INT64_MAX, &d->extent);
  return tvmffi_i_plan_name(d, text, at);
}

TVMFFI_I_COLD const char *tvmffi_i_plan_shape(tvmffi_i_plan *p,
                                              const char *text,
                                              const char **at) {
  const char *wrong;
  p->run.tensor = -1;
  p->has_run = **at != '[';
  if (p->has_run) return NULL;
  ++*at;
  while (**at == ' ') ++*at;
  while (**at != ']') {
    wrong = tvmffi_i_plan_dim(p, text, at);
    if (wrong) return wrong;
    while (**at == ' ') ++*at;
    if (**at != ',' && **at != ']') return "\",\" or \"]\" is missing";
    if (**at == ',')
      while (*++*at == ' ') {
      }
  }
  ++*at;
  if (!p->has_run) p->front = p->num_dims;
  return NULL;
}

TVMFFI_I_COLD const char *tvmffi_i_plan_word(tvmffi_i_plan *p,
                                             const char **at) {
  TVMFFIByteArray word;
  DLDevice device;
  int64_t bytes;
  const char *wrong;
  word.data = *at;
  if (tvmffi_i_plan_skip(at, "strided")) {
    p->strided = 1;
    return NULL;
  }
  if (tvmffi_i_plan_skip(at, "align")) {
    if (**at != '(') return "\"(\" is missing";
    ++*at;
    wrong = tvmffi_i_plan_number(at, 1 << 30, &bytes);
    if (wrong) return wrong;
    if (**at != ')') return "\")\" is missing";
    ++*at;
    p->align_mask = (uint32_t)bytes - 1;
    return bytes & (bytes - 1) || !bytes ? "this is no power of 2" : NULL;
  }
  p->device_id = -1;
  while (**at && **at != ' ')
    if (*(*at)++ == ':') p->device_id = 0;
  word.size = (size_t)(*at - word.data);
  if (tvmffi_i_parse_device(word, &device)) {
    *at = word.data;
    return "the word is not known";
  }
  p->device_type = (int32_t)device.device_type;
  if (p->device_id == 0) p->device_id = device.device_id;
  return NULL;
}

TVMFFI_I_COLD const char *tvmffi_i_plan_text(tvmffi_i_plan *p, const char *text,
                                             const char **at) {
  const tvmffi_i_plan zero = TVMFFI_I_ZERO;
  const char *wrong;
  *p = zero;
  p->device_id = -1;
  *at = text;
  if (tvmffi_view(text).size > UINT8_MAX) return "the text is too long";
  wrong = tvmffi_i_plan_dtypes(p, at);
  if (!wrong) wrong = tvmffi_i_plan_shape(p, text, at);
  while (!wrong && **at) {
    if (**at != ' ') return "a space is missing";
    while (**at == ' ') ++*at;
    if (**at) wrong = tvmffi_i_plan_word(p, at);
  }
  return wrong;
}

TVMFFI_I_COLD int tvmffi_i_plan_same(const char *a, const tvmffi_i_dim *x,
                                     const char *b, const tvmffi_i_dim *y) {
  int i = 0;
  while (i < x->name_size && a[x->name + i] == b[y->name + i]) ++i;
  return x->name_size == y->name_size && i == x->name_size;
}

/* Finds where each name of plan `n` was met first. */
TVMFFI_I_COLD void tvmffi_i_plan_bind(const tvmffi_i_expected *e,
                                      tvmffi_i_plan *plans, int32_t n) {
  tvmffi_i_plan *p = &plans[n];
  int32_t i, j, k;
  for (i = 0; i < p->num_dims; ++i)
    for (j = 0; j <= n && p->dims[i].name_size && p->dims[i].tensor < 0; ++j) {
      const tvmffi_i_plan *q = &plans[j];
      for (k = 0; k < (j < n ? q->num_dims : i); ++k) {
        if (!tvmffi_i_plan_same(e[n].text, &p->dims[i], e[j].text, &q->dims[k]))
          continue;
        p->dims[i].tensor = (int8_t)j;
        p->dims[i].dim = (int8_t)(k < q->front ? k : k - q->num_dims);
        break;
      }
    }
  for (j = 0; j < n && p->run.name_size && p->run.tensor < 0; ++j)
    if (tvmffi_i_plan_same(e[n].text, &p->run, e[j].text, &plans[j].run))
      p->run.tensor = (int8_t)j;
}

/* Reads the texts; raises for one that cannot be read. */
TVMFFI_I_COLD int tvmffi_i_plan_all(const tvmffi_i_site *site,
                                    tvmffi_i_plan *plans,
                                    const char *function) {
  int32_t i;
  for (i = 0; i < site->count; ++i) {
    const tvmffi_i_expected *e = &site->expected[i];
    const char *at, *wrong = tvmffi_i_plan_text(&plans[i], e->text, &at);
    if (wrong)
      return tvmffi_raise(TVMFFIBacktrace(site->file, site->line, function, 0),
                          "InternalError",
                          "%s: TVMFFI_EXPECT((%s, \"%s\")): %s at \"%s\"",
                          function, e->name, e->text, wrong, at);
    tvmffi_i_plan_bind(site->expected, plans, i);
  }
  return 0;
}

/* Texts for messages, into buffers of 160 bytes. */
TVMFFI_I_COLD const char *tvmffi_i_say_dtype(DLDataType dtype, char *buffer) {
  TVMFFIAny any = tvmffi_none();
  TVMFFIByteArray text;
  size_t i;
  if (TVMFFIDataTypeToString(&dtype, &any)) {
    tvmffi_error_clear();
    buffer[tvmffi_i_append(buffer, 0, "unknown")] = 0;
    return buffer;
  }
  text = tvmffi_any_str(&any);
  for (i = 0; i < text.size && i < 159; ++i) buffer[i] = text.data[i];
  buffer[i] = 0;
  tvmffi_any_release(&any);
  return buffer;
}

TVMFFI_I_COLD const char *tvmffi_i_say_device(DLDevice device, char *buffer) {
  static const char *const names[] = {
      "unknown", "cpu",       "cuda",    "cuda_host",    "opencl",
      "unknown", "unknown",   "vulkan",  "metal",        "vpi",
      "rocm",    "rocm_host", "ext_dev", "cuda_managed", "oneapi",
      "webgpu",  "hexagon",   "maia",    "trn"};
  uint32_t type = (uint32_t)device.device_type;
  char number[12];
  size_t n =
      tvmffi_i_append(buffer, 0, names[type <= (uint32_t)kDLTrn ? type : 0]);
  n = tvmffi_i_append(buffer, n, ":");
  n = tvmffi_i_append(buffer, n, tvmffi_i_decimal(number, device.device_id));
  buffer[n] = 0;
  return buffer;
}

TVMFFI_I_COLD const char *tvmffi_i_say_shape(const DLTensor *t, char *buffer) {
  size_t n = tvmffi_i_append(buffer, 0, "[");
  int32_t i;
  for (i = 0; i < t->ndim && t->shape; ++i) {
    char digits[24];
    int k = 0;
    int64_t extent = t->shape[i];
    uint64_t left = extent < 0 ? 0 - (uint64_t)extent : (uint64_t)extent;
    if (n > 120) {
      n = tvmffi_i_append(buffer, n, ", ...");
      break;
    }
    if (i) n = tvmffi_i_append(buffer, n, ", ");
    if (extent < 0) buffer[n++] = '-';
    do digits[k++] = (char)('0' + left % 10);
    while (left /= 10);
    while (k) buffer[n++] = digits[--k];
  }
  buffer[tvmffi_i_append(buffer, n, "]")] = 0;
  return buffer;
}

/* The size of the text of a list that begins at `text`, up to `end`. */
TVMFFI_I_COLD int tvmffi_i_plan_until(const char *text, char end) {
  int n = 0;
  while (text[n] && text[n] != end && text[n] != ' ') ++n;
  return n;
}

/* Raises for a tensor, with the words that say what is wrong and where. */
#define TVMFFI_I_SAY(kind, format, ...)                                 \
  tvmffi_raise(trace, kind, "%s: argument %s: " format, function, name, \
               __VA_ARGS__)
TVMFFI_I_COLD int tvmffi_i_misfit(const tvmffi_i_site *site,
                                  const tvmffi_i_plan *plans,
                                  const DLTensor *const *tensors, int code,
                                  const char *function) {
  const TVMFFIByteArray *trace =
      TVMFFIBacktrace(site->file, site->line, function, 0);
  const tvmffi_i_expected *e = site->expected;
  int i = code >> 8 & 0xFF, dim = code >> 16;
  const char *name = e[i].name, *text = e[i].text, *shape = text;
  const tvmffi_i_plan *p = &plans[i];
  const tvmffi_i_dim *d =
      (code & 0xFF) == TVMFFI_I_BAD_EXTENT ? &p->dims[dim] : &p->run;
  const DLTensor *t = tensors[i];
  char buffer[160], other[160];
  const char *where = e[d->tensor < 0 ? 0 : d->tensor].name;
  int32_t rank = t ? t->ndim - p->num_dims : 0;
  while (*shape && *shape != '[') ++shape;
  switch (code & 0xFF) {
    case TVMFFI_I_NO_TENSOR: return TVMFFI_I_SAY("ValueError", "%s", "is NULL");
    case TVMFFI_I_NO_SHAPE:
      return TVMFFI_I_SAY("ValueError", "%s", "shape is NULL");
    case TVMFFI_I_NO_DATA:
      return TVMFFI_I_SAY("ValueError", "%s", "data is NULL");
    case TVMFFI_I_BAD_DTYPE:
      tvmffi_i_say_dtype(t->dtype, buffer);
      if (p->num_dtypes < 0)
        return TVMFFI_I_SAY("TypeError", "dtype is %s, but %s in %s", buffer,
                            tvmffi_i_say_dtype(tensors[0]->dtype, other),
                            e[0].name);
      return TVMFFI_I_SAY("TypeError", "dtype is %s, expected %.*s", buffer,
                          tvmffi_i_plan_until(text, '['), text);
    case TVMFFI_I_BAD_DEVICE: {
      DLDevice want;
      want.device_type = (DLDeviceType)p->device_type;
      want.device_id = p->device_id < 0 ? 0 : p->device_id;
      tvmffi_i_say_device(want, other);
      return TVMFFI_I_SAY(
          "ValueError", "device is %s, expected %.*s",
          tvmffi_i_say_device(t->device, buffer),
          p->device_id < 0 ? tvmffi_i_plan_until(other, ':') : 159, other);
    }
    case TVMFFI_I_BAD_RANK:
      if (t->ndim < 0)
        return TVMFFI_I_SAY("ValueError", "rank is %d", (int)t->ndim);
      for (dim = 0; shape[dim] && shape[dim] != ']'; ++dim) {
      }
      return TVMFFI_I_SAY("ValueError", "shape is %s, expected %.*s",
                          tvmffi_i_say_shape(t, buffer), dim + 1, shape);
    case TVMFFI_I_BAD_EXTENT: {
      int32_t at = dim < p->front ? dim : dim + rank;
      long long extent = (long long)t->shape[at];
      if (d->tensor < 0)
        return TVMFFI_I_SAY("ValueError", "dimension %d is %lld, expected %lld",
                            (int)at, extent, (long long)d->extent);
      return TVMFFI_I_SAY("ValueError",
                          "dimension %.*s is %lld, but %lld in %s",
                          (int)d->name_size, text + d->name, extent,
                          (long long)tvmffi_i_extent(d, tensors), where);
    }
    case TVMFFI_I_BAD_RUN_RANK:
      return TVMFFI_I_SAY(
          "ValueError", "*%.*s has %d dimensions, but %d in %s",
          (int)d->name_size, text + d->name, (int)rank,
          (int)(tensors[d->tensor]->ndim - plans[d->tensor].num_dims), where);
    case TVMFFI_I_BAD_RUN:
      return TVMFFI_I_SAY(
          "ValueError", "dimension %d of *%.*s is %lld, but %lld in %s", dim,
          (int)d->name_size, text + d->name,
          (long long)t->shape[p->front + dim],
          (long long)tensors[d->tensor]->shape[plans[d->tensor].front + dim],
          where);
    case TVMFFI_I_NEGATIVE:
      return TVMFFI_I_SAY("ValueError", "dimension %d is %lld", dim,
                          (long long)t->shape[dim]);
    case TVMFFI_I_NOT_CONTIGUOUS:
      return TVMFFI_I_SAY("ValueError", "%s", "is not contiguous");
    default:
      return TVMFFI_I_SAY("ValueError", "is not aligned to %lld bytes",
                          (long long)p->align_mask + 1);
  }
}
#undef TVMFFI_I_SAY

/* The first call, and what raises. Who does not come first reads for itself. */
TVMFFI_I_COLD int tvmffi_i_expect_rest(tvmffi_i_site *site,
                                       const DLTensor *const *tensors,
                                       const char *function) {
  tvmffi_i_plan plans[TVMFFI_I_EXPECTED];
  uint64_t none = 0;
  int32_t i;
  int code;
  function = tvmffi_i_function_name(function);
  TVMFFI_TRY(tvmffi_i_plan_all(site, plans, function));
  if (tvmffi_i_cas64(&site->state, &none, 1)) {
    for (i = 0; i < site->count; ++i) site->plans[i] = plans[i];
    TVMFFI_I_STORE(TVMFFI_I_COUNT_AT(&site->state), 2);
  }
  code = tvmffi_i_fit_plans(plans, site->count, tensors);
  return code ? tvmffi_i_misfit(site, plans, tensors, code, function) : 0;
}

TVMFFI_I_INLINE int tvmffi_i_expect(tvmffi_i_site *site,
                                    const DLTensor *const *tensors,
                                    const char *function) {
  if (TVMFFI_I_LIKELY(TVMFFI_I_LOAD(TVMFFI_I_COUNT_AT(&site->state)) == 2) &&
      TVMFFI_I_LIKELY(!tvmffi_i_fit_plans(site->plans, site->count, tensors)))
    return 0;
  return tvmffi_i_expect_rest(site, tensors, function);
}

/* Counts the elements; 1 for rank 0. */
TVMFFI_I_INLINE int64_t tvmffi_tensor_size(const DLTensor *t) {
  int64_t size = 1;
  int32_t i;
  for (i = 0; i < t->ndim; ++i) size *= t->shape[i];
  return size;
}

/* Counts the bytes of the elements, packed if they are below 8 bits. */
TVMFFI_I_INLINE size_t tvmffi_tensor_bytes(const DLTensor *t) {
  uint64_t bits = (uint64_t)t->dtype.bits * t->dtype.lanes;
  return (size_t)(((uint64_t)tvmffi_tensor_size(t) * bits + 7) / 8);
}

/* Tells whether the elements follow each other in order, the last dimension
   first. No strides mean that; of an empty tensor any do. */
TVMFFI_I_INLINE int tvmffi_tensor_is_contiguous(const DLTensor *t) {
  int64_t step = 1;
  int32_t i;
  int result = 1;
  for (i = t->ndim - 1; i >= 0; --i) {
    if (t->shape[i] == 0) return 1;
    if (t->strides && t->shape[i] != 1 && t->strides[i] != step) result = 0;
    step *= t->shape[i];
  }
  return result;
}

/* Returns the stride of a dimension in elements, given or not; a negative
   `dim` counts from the end. It must be there. */
TVMFFI_I_INLINE int64_t tvmffi_tensor_stride(const DLTensor *t, int32_t dim) {
  int64_t step = 1;
  int32_t i;
  if (dim < 0) dim += t->ndim;
  if (t->strides) return t->strides[dim];
  for (i = dim + 1; i < t->ndim; ++i) step *= t->shape[i];
  return step;
}

/* The element at as many indices as the tensor has dimensions, 1 to 6, by its
   strides: tvmffi_element(x, float, i, j) = 1. Nothing is checked. */
#define tvmffi_element(tensor, type, ...)                        \
  tvmffi_data(                                                   \
      tensor,                                                    \
      type)[tvmffi_i_offset(tensor, TVMFFI_I_COUNT(__VA_ARGS__), \
                            TVMFFI_I_SIX(__VA_ARGS__, 0, 0, 0, 0, 0, ~))]
#define TVMFFI_I_SIX(...) TVMFFI_I_SIX_(__VA_ARGS__)
#define TVMFFI_I_SIX_(a, b, c, d, e, f, ...) a, b, c, d, e, f

TVMFFI_I_ALWAYS_INLINE int64_t tvmffi_i_offset(const DLTensor *t, int n,
                                               int64_t a, int64_t b, int64_t c,
                                               int64_t d, int64_t e,
                                               int64_t f) {
  const int64_t *s = t->strides, *w = t->shape;
  if (TVMFFI_I_LIKELY(s)) {
    a *= s[0];
    if (n > 1) a += b * s[1];
    if (n > 2) a += c * s[2];
    if (n > 3) a += d * s[3];
    if (n > 4) a += e * s[4];
    if (n > 5) a += f * s[5];
    return a;
  }
  if (n > 1) a = a * w[1] + b;
  if (n > 2) a = a * w[2] + c;
  if (n > 3) a = a * w[3] + d;
  if (n > 4) a = a * w[4] + e;
  if (n > 5) a = a * w[5] + f;
  return a;
}

/* A walk over tensors of one shape, whatever their strides, in runs of elements
   with one distance:
       tvmffi_loop run;
       TVMFFI_TRY(tvmffi_loop_begin(&run, x, y));
       while (tvmffi_loop_next(&run)) {
         const float *px = (const float *)run.at[0];
         float *py = (float *)run.at[1];
         for (int64_t i = 0; i < run.size; ++i)
           py[i * run.stride[1]] += px[i * run.stride[0]];
       }
   Elements come in the order of their indices, the last index first, and as few
   runs as the strides allow: one, when all are contiguous. It borrows what it
   walks over; up to 4 tensors, of elements of whole bytes. */
enum { TVMFFI_LOOP_TENSORS = 4, TVMFFI_LOOP_DIMS = 16 };
typedef struct {
  int64_t size;                  /* elements of each run */
  void *at[TVMFFI_LOOP_TENSORS]; /* each tensor's first element of a run */
  int64_t stride[TVMFFI_LOOP_TENSORS]; /* to the next, in elements */
  /* Internal: the dimensions around the run, the innermost first. */
  int32_t num_tensors, num_dims, is_begun, is_empty;
  int64_t bytes[TVMFFI_LOOP_TENSORS]; /* of an element */
  int64_t shape[TVMFFI_LOOP_DIMS], index[TVMFFI_LOOP_DIMS];
  int64_t step[TVMFFI_LOOP_DIMS][TVMFFI_LOOP_TENSORS];
} tvmffi_loop;

/* Begins a walk over all elements of 1 to 4 tensors of one shape. ValueError
   for NULL, for shapes that differ, or for more than TVMFFI_LOOP_DIMS
   dimensions that cannot be joined; TypeError for elements of no whole bytes.
 */
#define tvmffi_loop_begin(run, ...)                     \
  tvmffi_i_loop_begin(run, TVMFFI_I_COUNT(__VA_ARGS__), \
                      TVMFFI_I_FOUR(__VA_ARGS__, NULL, NULL, NULL, ~))

/* Begins a walk along one dimension (negative: from the end): each run is a
   whole row of it. Along it, the tensors' extents may differ: run.size is the
   first one's. ValueError if there is no such dimension. */
#define tvmffi_loop_rows(run, dim, ...)                     \
  tvmffi_i_loop_rows(run, dim, TVMFFI_I_COUNT(__VA_ARGS__), \
                     TVMFFI_I_FOUR(__VA_ARGS__, NULL, NULL, NULL, ~))
#define TVMFFI_I_FOUR(...) TVMFFI_I_FOUR_(__VA_ARGS__)
#define TVMFFI_I_FOUR_(a, b, c, d, ...) a, b, c, d

/* Goes to the next run, at first to the first one; 0 when there is none. */
TVMFFI_I_INLINE int tvmffi_loop_next(tvmffi_loop *run) {
  int32_t d, k;
  if (!run->is_begun) {
    run->is_begun = 1;
    return !run->is_empty;
  }
  for (d = 0; d < run->num_dims; ++d) {
    int64_t back = 0;
    if (++run->index[d] == run->shape[d]) {
      back = run->shape[d];
      run->index[d] = 0;
    }
    for (k = 0; k < run->num_tensors; ++k)
      run->at[k] =
          (char *)run->at[k] + (1 - back) * run->step[d][k] * run->bytes[k];
    if (!back) return 1;
  }
  return 0;
}

TVMFFI_I_COLD int tvmffi_i_loop_full(int n) {
  return TVMFFI_RAISE("ValueError", "a loop over %d tensors: at most %d", n,
                      (int)TVMFFI_LOOP_TENSORS);
}

/* Checks what a walk needs of its tensors. */
TVMFFI_I_INLINE int tvmffi_i_loop_check(int32_t dim, int n,
                                        const DLTensor *const *tensors) {
  char one[160], two[160];
  int32_t k, d;
  for (k = 0; k < n; ++k) {
    const DLTensor *t = tensors[k], *first = tensors[0];
    int same = t && t->ndim == first->ndim;
    if (!t || (t->ndim > 0 && !t->shape))
      return TVMFFI_RAISE("ValueError", "tensor %d of a loop is NULL", (int)k);
    if (!t->dtype.bits || t->dtype.bits * t->dtype.lanes % 8)
      return TVMFFI_RAISE("TypeError",
                          "tensor %d of a loop has elements of %d bits", (int)k,
                          t->dtype.bits * t->dtype.lanes);
    for (d = 0; same && d < t->ndim; ++d)
      same = d == dim || t->shape[d] == first->shape[d];
    if (!same)
      return TVMFFI_RAISE(
          "ValueError", "tensor %d of a loop has the shape %s, the first %s",
          (int)k, tvmffi_i_say_shape(t, two), tvmffi_i_say_shape(first, one));
  }
  return 0;
}

/* Adds a dimension around those that are there, or joins it to the last one
   when each tensor's step is that one's whole length. */
TVMFFI_I_INLINE int tvmffi_i_loop_add(tvmffi_loop *run, int64_t extent,
                                      const int64_t *step) {
  int32_t d = run->num_dims, k;
  int joins = d > 0;
  for (k = 0; k < run->num_tensors && joins; ++k)
    joins = step[k] == run->step[d - 1][k] * run->shape[d - 1];
  if (joins) {
    run->shape[d - 1] *= extent;
    return 0;
  }
  if (d == TVMFFI_LOOP_DIMS)
    return TVMFFI_RAISE("ValueError", "a loop over more than %d dimensions",
                        (int)TVMFFI_LOOP_DIMS);
  run->shape[d] = extent;
  run->index[d] = 0;
  for (k = 0; k < run->num_tensors; ++k) run->step[d][k] = step[k];
  ++run->num_dims;
  return 0;
}

/* A walk without any run, which stays one when something is wrong. */
TVMFFI_I_INLINE void tvmffi_i_loop_reset(tvmffi_loop *run) {
  int k;
  for (k = 0; k < TVMFFI_LOOP_TENSORS; ++k) {
    run->at[k] = NULL;
    run->stride[k] = 0;
  }
  run->size = 1;
  run->num_tensors = run->num_dims = run->is_begun = 0;
  run->is_empty = 1;
}

/* Begins a walk around dimension `dim`, or around none for -1. */
TVMFFI_I_INLINE int tvmffi_i_loop_around(tvmffi_loop *run, int32_t dim, int n,
                                         const DLTensor *const *tensors) {
  int64_t compact[TVMFFI_LOOP_TENSORS], step[TVMFFI_LOOP_TENSORS];
  int32_t k, d;
  TVMFFI_TRY(tvmffi_i_loop_check(dim, n, tensors));
  run->num_tensors = n;
  run->is_empty = 0;
  for (k = 0; k < n; ++k) {
    const DLTensor *t = tensors[k];
    compact[k] = 1;
    run->bytes[k] = t->dtype.bits * t->dtype.lanes / 8;
    run->at[k] = tvmffi_data(t, void);
  }
  for (d = tensors[0]->ndim - 1; d >= 0; --d) {
    int64_t extent = tensors[0]->shape[d];
    for (k = 0; k < n; ++k) {
      const DLTensor *t = tensors[k];
      step[k] = t->strides ? t->strides[d] : compact[k];
      compact[k] *= t->shape[d];
    }
    if (d == dim) continue;
    if (extent <= 0) run->is_empty = 1;
    if (extent > 1) TVMFFI_TRY(tvmffi_i_loop_add(run, extent, step));
  }
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_loop_begin(tvmffi_loop *run, int n,
                                        const DLTensor *a, const DLTensor *b,
                                        const DLTensor *c, const DLTensor *d) {
  const DLTensor *tensors[TVMFFI_LOOP_TENSORS];
  int32_t i, k;
  tensors[0] = a;
  tensors[1] = b;
  tensors[2] = c;
  tensors[3] = d;
  tvmffi_i_loop_reset(run);
  if (n > TVMFFI_LOOP_TENSORS) return tvmffi_i_loop_full(n);
  TVMFFI_TRY(tvmffi_i_loop_around(run, -1, n, tensors));
  if (!run->num_dims) return 0;
  /* The innermost dimension is the run. */
  run->size = run->shape[0];
  for (k = 0; k < n; ++k) run->stride[k] = run->step[0][k];
  --run->num_dims;
  for (i = 0; i < run->num_dims; ++i) {
    run->shape[i] = run->shape[i + 1];
    for (k = 0; k < n; ++k) run->step[i][k] = run->step[i + 1][k];
  }
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_loop_rows(tvmffi_loop *run, int32_t dim, int n,
                                       const DLTensor *a, const DLTensor *b,
                                       const DLTensor *c, const DLTensor *d) {
  const DLTensor *tensors[TVMFFI_LOOP_TENSORS];
  int32_t k, at = a && dim < 0 ? dim + a->ndim : dim;
  tensors[0] = a;
  tensors[1] = b;
  tensors[2] = c;
  tensors[3] = d;
  tvmffi_i_loop_reset(run);
  if (n > TVMFFI_LOOP_TENSORS) return tvmffi_i_loop_full(n);
  if (a && (at < 0 || at >= a->ndim))
    return TVMFFI_RAISE("ValueError", "a loop along dimension %d of %d",
                        (int)dim, (int)a->ndim);
  TVMFFI_TRY(tvmffi_i_loop_around(run, at, n, tensors));
  run->size = a->shape[at];
  for (k = 0; k < n; ++k) run->stride[k] = tvmffi_tensor_stride(tensors[k], at);
  return 0;
}

#if !TVMFFI_NO_FLOAT
/* Float16 (IEEE 754 binary16) and bfloat16 (the upper half of a binary32), as
   bits. To float nothing is lost; from float they round to nearest, ties to
   even; a NaN stays one, quiet, with the upper bits of its payload. */
typedef union {
  float value;
  uint32_t bits;
} tvmffi_i_float;

TVMFFI_I_INLINE float tvmffi_bfloat16_to_float(uint16_t x) {
  tvmffi_i_float f;
  f.bits = (uint32_t)x << 16;
  return f.value;
}

TVMFFI_I_INLINE uint16_t tvmffi_bfloat16_from_float(float x) {
  tvmffi_i_float f;
  f.value = x;
  if ((f.bits & 0x7FFFFFFFu) > 0x7F800000u)
    return (uint16_t)(f.bits >> 16 | 0x40u);
  return (uint16_t)((f.bits + 0x7FFFu + (f.bits >> 16 & 1u)) >> 16);
}

TVMFFI_I_INLINE float tvmffi_float16_to_float(uint16_t x) {
  uint32_t sign = (uint32_t)(x & 0x8000u) << 16, rest = x & 0x7FFFu;
  tvmffi_i_float f;
  if (rest >= 0x7C00u) { /* infinite, or no number */
    f.bits = sign | 0x7F800000u | rest << 13;
    if (rest > 0x7C00u) f.bits |= 0x400000u;
  } else if (rest >= 0x400u) {
    f.bits = sign | ((rest << 13) + 0x38000000u);
  } else { /* subnormal: 2^-24 times an integer */
    f.value = (float)rest * 5.9604644775390625e-8f;
    f.bits |= sign;
  }
  return f.value;
}

TVMFFI_I_INLINE uint16_t tvmffi_float16_from_float(float x) {
  uint32_t sign, rest, shift, half, lost;
  tvmffi_i_float f;
  f.value = x;
  sign = f.bits >> 16 & 0x8000u;
  rest = f.bits & 0x7FFFFFFFu;
  if (rest > 0x7F800000u)
    return (uint16_t)(sign | 0x7E00u | (rest >> 13 & 0x3FFu));
  if (rest >= 0x477FF000u) return (uint16_t)(sign | 0x7C00u); /* 65520 */
  if (rest >= 0x38800000u)                                    /* 2^-14 */
    return (uint16_t)(sign |
                      (rest - 0x38000000u + 0xFFFu + (rest >> 13 & 1u)) >> 13);
  if (rest < 0x33000000u) return (uint16_t)sign; /* 2^-25 */
  shift = 126u - (rest >> 23);
  rest = (rest & 0x7FFFFFu) | 0x800000u;
  half = 1u << (shift - 1);
  lost = rest & (2 * half - 1);
  rest >>= shift;
  rest += lost > half || (lost == half && (rest & 1u));
  return (uint16_t)(sign | rest);
}
#endif

/* Makes a dtype of one lane: tvmffi_dtype_of(kDLFloat, 32). */
TVMFFI_I_INLINE DLDataType tvmffi_dtype_of(int code, int bits) {
  DLDataType dtype;
  dtype.code = (uint8_t)code;
  dtype.bits = (uint8_t)bits;
  dtype.lanes = 1;
  return dtype;
}

/* Allocates a tensor *out, owned by the caller or by the innermost scope, in
   the memory of who called: by the environment's allocator, whose tensors
   Python gets back as they are. The shape is copied, its content is not set.
   RuntimeError when there is no allocator, or that one's own error; ValueError
   for a bad shape. tvmffi_tensor_like takes dtype, device and shape from a
   borrowed tensor. */
#define tvmffi_tensor_new(dtype, device, ndim, shape, out) \
  (TVMFFI_I_HERE tvmffi_i_tensor_new(dtype, device, ndim, shape, out))
#define tvmffi_tensor_like(tensor, out) \
  (TVMFFI_I_HERE tvmffi_i_tensor_like(tensor, out))

TVMFFI_I_INLINE int tvmffi_i_tensor_new(DLDataType dtype, DLDevice device,
                                        int32_t ndim, const int64_t *shape,
                                        TVMFFIObject **out) {
  DLTensor like = TVMFFI_I_ZERO;
  TVMFFIObjectHandle handle = NULL;
  int32_t i;
  if (ndim < 0 || (ndim && !shape))
    return TVMFFI_RAISE("ValueError", "a new tensor of rank %d without shape",
                        (int)ndim);
  for (i = 0; i < ndim; ++i)
    if (shape[i] < 0)
      return TVMFFI_RAISE("ValueError", "dimension %d of a new tensor is %lld",
                          (int)i, (long long)shape[i]);
  like.dtype = dtype;
  like.device = device;
  like.ndim = ndim;
  like.shape = (int64_t *)(uintptr_t)shape;
  TVMFFI_TRY(TVMFFIEnvTensorAlloc(&like, &handle));
  TVMFFI_TRY(tvmffi_i_keep((TVMFFIObject *)handle));
  *out = (TVMFFIObject *)handle;
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_tensor_like(const DLTensor *t,
                                         TVMFFIObject **out) {
  if (!t) return TVMFFI_RAISE("ValueError", "a new tensor like NULL");
  return tvmffi_i_tensor_new(t->dtype, t->device, t->ndim, t->shape, out);
}

/* ======== Types =================================================== >>types */
/* C interface: structs as types. TVMFFI_TYPE names a struct's fields and
   methods once; Python sees a class with attributes, constructor, repr,
   equality and copies, and C++ the members at their places. A type registers
   itself at its first use, once, parent first, by TVMFFIHandleInitOnce; what a
   refused allocation left undone is done at the next use. Objects are
   destroyed in two phases as the ABI has them: the last strong reference ends
   the fields, the last weak one frees the memory. What dies while another
   object of this file does waits in the thread's list, so depth is no limit. */

/* A field's storage. Of an owned one the object has a reference. */
enum {
  TVMFFI_I_KEPT_PLAIN = 0, /* the word's C type */
  TVMFFI_I_KEPT_OBJECT,    /* a pointer to an object, or NULL */
  TVMFFI_I_KEPT_ANY,       /* a TVMFFIAny */
  TVMFFI_I_KEPT_STR,       /* a TVMFFIAny, as C++'s String and Bytes are */
  TVMFFI_I_KEPT_BYTES
};

enum {
  TVMFFI_I_IS_END = 0,
  TVMFFI_I_IS_FIELD,
  TVMFFI_I_IS_METHOD,
  TVMFFI_I_IS_ATTRIBUTE, /* name, method */
  TVMFFI_I_IS_KW_ONLY,   /* of all fields behind it */
  TVMFFI_I_IS_STRUCTURAL,
  /* These say more about the member before them. */
  TVMFFI_I_IS_DOC,
  TVMFFI_I_IS_FLAGS,
  TVMFFI_I_IS_FACTORY
};

/* Gives a method's description, which has the type's key from then on. */
typedef tvmffi_func *tvmffi_i_method_of(const char *key, int64_t *flags);

/* One parenthesis of TVMFFI_TYPE. */
typedef struct {
  int32_t what, kept;
  const char *name; /* of field or method; the text of a doc */
  int64_t flags;
  int64_t offset, size, alignment;
  const tvmffi_i_name *type;
  TVMFFIFieldGetter get;
  TVMFFIFieldSetter set;
  int (*value)(TVMFFIAny *out); /* the default, owned by the caller; or NULL */
  tvmffi_i_method_of *method;
  const char *full_name; /* of a method, for errors */
  tvmffi_func *factory;
} tvmffi_i_member;

typedef struct tvmffi_i_class {
  const char *key;
  struct tvmffi_i_class *parent;
  int32_t size, alignment;
  const tvmffi_i_member *members; /* NULL: registered by somebody else */
  int (*init)(void **result);
  TVMFFIObjectCreator create;
  void (*deleter)(void *self, int flags);
  void (*destroy)(void *self); /* the user's, or NULL */
  /* From here on set at registration. */
  void *handle; /* NULL until then */
  int32_t index, owns;
  struct tvmffi_i_class *next; /* among those of this file */
} tvmffi_i_class;

/* The root of all types. */
TVMFFI_I_UNUSED static tvmffi_i_class tvmffi_i_class_TVMFFIObject = {
    "ffi.Object",
    NULL,
    sizeof(TVMFFIObject),
    8,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    &tvmffi_i_class_TVMFFIObject,
    kTVMFFIObject,
    0,
    NULL};

/* A pointer to an object in a struct, whatever its type there. */
#if TVMFFI_I_GNU
typedef TVMFFIObject *tvmffi_i_held __attribute__((may_alias));
#else
typedef TVMFFIObject *tvmffi_i_held;
#endif

TVMFFI_I_INLINE void *tvmffi_i_field_at(void *object, int64_t offset) {
  return (char *)object + offset;
}

TVMFFI_I_COLD int tvmffi_i_class_start(tvmffi_i_class *c) {
  if (c->parent && !TVMFFI_I_LOAD(&c->parent->handle))
    TVMFFI_TRY(tvmffi_i_class_start(c->parent));
  return TVMFFIHandleInitOnce(&c->handle, c->init);
}

/* Makes sure that the type is registered. */
TVMFFI_I_INLINE int tvmffi_i_class_ready(tvmffi_i_class *c) {
  return TVMFFI_I_LIKELY(TVMFFI_I_LOAD(&c->handle) != NULL)
             ? 0
             : tvmffi_i_class_start(c);
}

TVMFFI_I_INLINE int32_t tvmffi_i_class_index(tvmffi_i_class *c) {
  return tvmffi_i_class_ready(c) ? -1 : c->index;
}

/* The types of this file that are registered: what waits for its end is looked
   up here. Only grows. */
TVMFFI_I_INLINE tvmffi_i_class **tvmffi_i_classes(void) {
  static tvmffi_i_class *first;
  return &first;
}

/* Looks for a type that was registered before: *index, or -1. */
TVMFFI_I_COLD void tvmffi_i_class_find(const tvmffi_i_class *c,
                                       int32_t *index) {
  TVMFFIByteArray key = tvmffi_view(c->key);
  *index = -1;
  if (!TVMFFITypeKeyToIndex(&key, index)) return;
  tvmffi_error_clear();
  *index = -1;
}

/* The size that another registration of this type has given must be ours. */
TVMFFI_I_COLD int tvmffi_i_class_check_size(const tvmffi_i_class *c,
                                            const TVMFFITypeInfo *info) {
  if (!info->metadata || !info->metadata->total_size ||
      info->metadata->total_size == c->size)
    return 0;
  return TVMFFI_RAISE("TypeError",
                      "Type `%s` is registered with a size of %d bytes, its "
                      "struct here has %d",
                      c->key, (int)info->metadata->total_size, (int)c->size);
}

/* Finds the type, or registers its key; its place in the tree must be ours. */
TVMFFI_I_COLD int tvmffi_i_class_enter(tvmffi_i_class *c, int32_t *index) {
  TVMFFIByteArray key = tvmffi_view(c->key);
  const TVMFFITypeInfo *info, *parent;
  int32_t depth;
  tvmffi_i_class_find(c, index);
  if (!c->members) {
    if (*index < 0)
      return TVMFFI_RAISE("TypeError",
                          "Type `%s` is not registered: load the library that "
                          "defines it first",
                          c->key);
    return tvmffi_i_class_check_size(c, TVMFFIGetTypeInfo(*index));
  }
  parent = TVMFFIGetTypeInfo(c->parent->index);
  depth = parent->type_depth + 1;
  if (*index < 0) {
    *index = TVMFFITypeGetOrAllocIndex(&key, -1, depth, 0, 1, c->parent->index);
    return *index < 0 ? -1 : 0;
  }
  info = TVMFFIGetTypeInfo(*index);
  if (info->type_depth != depth || info->type_ancestors[depth - 1] != parent)
    return TVMFFI_RAISE(
        "TypeError",
        "Type `%s` is registered as a child of `%s`, here it is one of `%s`",
        c->key,
        info->type_depth
            ? info->type_ancestors[info->type_depth - 1]->type_key.data
            : "nothing",
        c->parent->key);
  return tvmffi_i_class_check_size(c, info);
}

/* The attribute's value of a type, or NULL if it has none. */
TVMFFI_I_COLD const TVMFFIAny *tvmffi_i_class_attr(int32_t index,
                                                   const char *name) {
  TVMFFIByteArray text = tvmffi_view(name);
  const TVMFFITypeAttrColumn *column = TVMFFIGetTypeAttrColumn(&text);
  int32_t i = column ? index - column->begin_index : -1;
  if (i < 0 || i >= column->size || column->data[i].type_index == kTVMFFINone)
    return NULL;
  return &column->data[i];
}

TVMFFI_I_COLD int tvmffi_i_class_set_attr(int32_t index, const char *name,
                                          const TVMFFIAny *value) {
  TVMFFIByteArray text = tvmffi_view(name);
  if (tvmffi_i_class_attr(index, name)) return 0;
  return TVMFFITypeRegisterAttr(index, &text, value);
}

TVMFFI_I_COLD int tvmffi_i_class_set_call(tvmffi_i_class *c, int32_t index,
                                          const char *name,
                                          TVMFFISafeCallType call) {
  TVMFFIObjectHandle function = NULL;
  TVMFFIAny value;
  int code;
  if (tvmffi_i_class_attr(index, name)) return 0;
  TVMFFI_TRY(TVMFFIFunctionCreate(c, call, NULL, &function));
  value = tvmffi_obj(function);
  code = tvmffi_i_class_set_attr(index, name, &value);
  tvmffi_release(function);
  return code;
}

/* What the members behind `m` say about it. */
TVMFFI_I_COLD const tvmffi_i_member *tvmffi_i_more(const tvmffi_i_member *m,
                                                   TVMFFIByteArray *doc,
                                                   int64_t *flags) {
  const tvmffi_i_member *factory = NULL;
  for (++m; m->what >= TVMFFI_I_IS_DOC; ++m) {
    if (m->what == TVMFFI_I_IS_DOC) *doc = tvmffi_view(m->name);
    if (m->what == TVMFFI_I_IS_FLAGS) *flags |= m->flags;
    if (m->what == TVMFFI_I_IS_FACTORY) factory = m;
  }
  return factory;
}

/* The static type of a field, as upstream's headers give it: that of String,
   Bytes, Any and Optional is Any, that of any type of objects with members is
   Object. */
TVMFFI_I_COLD int32_t tvmffi_i_field_index(const tvmffi_i_member *m) {
  static const struct {
    const char *schema;
    int32_t index;
  } plain[] = {{"int", kTVMFFIInt},           {"bool", kTVMFFIBool},
               {"float", kTVMFFIFloat},       {"DataType", kTVMFFIDataType},
               {"Device", kTVMFFIDevice},     {"void*", kTVMFFIOpaquePtr},
               {"Function", kTVMFFIFunction}, {"Array", kTVMFFIArray},
               {"List", kTVMFFIList},         {"Map", kTVMFFIMap},
               {"Dict", kTVMFFIDict},         {"Shape", kTVMFFIShape}};
  static const char type[] = "{\"type\":\"";
  const char *text = m->type->schema;
  size_t i, k;
  if (m->kept >= TVMFFI_I_KEPT_ANY || tvmffi_i_is_optional(m->type))
    return kTVMFFIAny;
  if (*text == '[') ++text;
  if (*text == '{')
    for (i = 0; i < sizeof(type) - 1 && *text == type[i]; ++i) ++text;
  if (m->kept == TVMFFI_I_KEPT_OBJECT) {
    static const char ffi[] = "ffi.";
    for (i = 0; i < 4 && text[i] == ffi[i]; ++i) {
    }
    if (i < 4) return kTVMFFIObject;
    text += 4;
  }
  for (k = 0; k < sizeof(plain) / sizeof(plain[0]); ++k) {
    for (i = 0; plain[k].schema[i] && plain[k].schema[i] == text[i]; ++i) {
    }
    if (!plain[k].schema[i] && (!text[i] || text[i] == '"'))
      return plain[k].index;
  }
  return m->kept == TVMFFI_I_KEPT_OBJECT ? kTVMFFIObject : kTVMFFIAny;
}

/* An object field whose default is NULL may be None, whatever its word. */
TVMFFI_I_INLINE int tvmffi_i_nullable(const tvmffi_i_member *m) {
  return m->kept == TVMFFI_I_KEPT_OBJECT && m->value &&
         !tvmffi_i_is_optional(m->type);
}

TVMFFI_I_COLD TVMFFIByteArray tvmffi_i_field_schema(const tvmffi_i_member *m,
                                                    char *buffer) {
  TVMFFIByteArray r;
  size_t n = tvmffi_i_append(buffer, 0, "{\"type_schema\":\"");
  if (tvmffi_i_nullable(m))
    n = tvmffi_i_append(buffer, n,
                        "{\\\"type\\\":\\\"Optional\\\",\\\"args\\\":[");
  n = tvmffi_i_append_type(buffer, n, m->type);
  if (tvmffi_i_nullable(m)) n = tvmffi_i_append(buffer, n, "]}");
  r.size = tvmffi_i_append(buffer, n, "\"}");
  r.data = buffer;
  return r;
}

TVMFFI_I_COLD int tvmffi_i_class_add_field(const tvmffi_i_class *c,
                                           const TVMFFITypeInfo *type,
                                           const tvmffi_i_member *m,
                                           int64_t flags) {
  char buffer[TVMFFI_I_METADATA];
  TVMFFIFieldInfo info = TVMFFI_I_ZERO;
  const tvmffi_i_member *more;
  TVMFFIObject *factory = NULL;
  int32_t i;
  int code;
  for (i = 0; i < type->num_fields; ++i) {
    const TVMFFIFieldInfo *had = &type->fields[i];
    if (!tvmffi_i_same(had->name, m->name)) continue;
    if (had->offset == m->offset && had->size == m->size) return 0;
    return TVMFFI_RAISE("TypeError",
                        "Field `%s` of type `%s` is registered with %d bytes "
                        "at offset %d, here it has %d at %d",
                        m->name, c->key, (int)had->size, (int)had->offset,
                        (int)m->size, (int)m->offset);
  }
  info.name = tvmffi_view(m->name);
  info.metadata = tvmffi_i_field_schema(m, buffer);
  info.flags = flags | m->flags;
  more = tvmffi_i_more(m, &info.doc, &info.flags);
  info.size = m->size;
  info.alignment = m->alignment;
  info.offset = m->offset;
  info.getter = m->get;
  info.setter = (void *)(uintptr_t)m->set;
  info.field_static_type_index = tvmffi_i_field_index(m);
  info.default_value_or_factory = tvmffi_none();
  if (more) {
    TVMFFI_TRY(tvmffi_i_function(more->factory, &factory));
    info.default_value_or_factory = tvmffi_obj(factory);
    info.flags |= kTVMFFIFieldFlagBitMaskHasDefault |
                  kTVMFFIFieldFlagBitMaskDefaultFromFactory;
  } else if (m->value) {
    TVMFFI_TRY(m->value(&info.default_value_or_factory));
    info.flags |= kTVMFFIFieldFlagBitMaskHasDefault;
  }
  code = TVMFFITypeRegisterField(type->type_index, &info);
  tvmffi_any_release(&info.default_value_or_factory);
  return code;
}

/* A method, or an attribute with a method as its value. */
TVMFFI_I_COLD int tvmffi_i_class_add_method(const tvmffi_i_class *c,
                                            const TVMFFITypeInfo *type,
                                            const tvmffi_i_member *m) {
  char buffer[TVMFFI_I_METADATA];
  TVMFFIMethodInfo info = TVMFFI_I_ZERO;
  TVMFFIObject *function = NULL;
  tvmffi_func *f = m->method(c->key, &info.flags);
  int32_t i;
  int code = 0, attr = m->what == TVMFFI_I_IS_ATTRIBUTE;
  for (i = 0; !attr && i < type->num_methods; ++i)
    if (tvmffi_i_same(type->methods[i].name, m->name)) return 0;
  if (TVMFFI_I_LOAD(&f->name) != m->full_name)
    TVMFFI_I_STORE(&f->name, m->full_name);
  TVMFFI_TRY(tvmffi_i_function(f, &function));
  info.name = tvmffi_view(m->name);
  info.metadata = tvmffi_i_metadata(f, buffer);
  info.method = tvmffi_obj(function);
  (void)tvmffi_i_more(m, &info.doc, &info.flags);
  if (attr || tvmffi_i_same(info.name, "__ffi_init__"))
    code = tvmffi_i_class_set_attr(type->type_index, m->name, &info.method);
  if (!code && !attr) code = TVMFFITypeRegisterMethod(type->type_index, &info);
  tvmffi_release(function);
  return code;
}

TVMFFI_I_COLD int tvmffi_i_class_add_members(tvmffi_i_class *c,
                                             const TVMFFITypeInfo *type,
                                             TVMFFITypeMetadata *metadata) {
  const tvmffi_i_member *m = c->members;
  int64_t flags = 0;
  if (m->what == TVMFFI_I_IS_DOC) metadata->doc = tvmffi_view(m->name);
  for (; m->what; ++m) switch (m->what) {
      case TVMFFI_I_IS_FIELD:
        TVMFFI_TRY(tvmffi_i_class_add_field(c, type, m, flags));
        break;
      case TVMFFI_I_IS_METHOD:
      case TVMFFI_I_IS_ATTRIBUTE:
        TVMFFI_TRY(tvmffi_i_class_add_method(c, type, m));
        break;
      case TVMFFI_I_IS_KW_ONLY: flags |= kTVMFFIFieldFlagBitMaskKwOnly; break;
      case TVMFFI_I_IS_STRUCTURAL:
        metadata->structural_eq_hash_kind = (TVMFFISEqHashKind)m->flags;
        break;
      default: break;
    }
  return 0;
}

/* What the threads of this file have to destroy after what they destroy. */
typedef struct {
  TVMFFIObject *first; /* linked by their deleter's place */
  int busy;
} tvmffi_i_dying;

TVMFFI_I_INLINE tvmffi_i_dying *tvmffi_i_the_dying(void) {
#if TVMFFI_NO_THREADS
  static tvmffi_i_dying dying;
#else
  static __thread tvmffi_i_dying dying;
#endif
  return &dying;
}

/* The object that a field holds, whatever its C++ type is, with a reference
   more; NULL if it holds none: what its getter gives, if a pointer to that
   stands in the field. */
TVMFFI_I_COLD TVMFFIObject *tvmffi_i_foreign_object(const TVMFFIFieldInfo *f,
                                                    void *field) {
  TVMFFIAny value = tvmffi_none();
  int64_t at, step = (int64_t)sizeof(tvmffi_i_held);
  if (f->getter(field, &value)) {
    tvmffi_error_clear();
    return NULL;
  }
  if (value.type_index >= kTVMFFIStaticObjectBegin)
    for (at = 0; at + step <= f->size; at += step)
      if (*(tvmffi_i_held *)tvmffi_i_field_at(field, at) == value.v_obj)
        return value.v_obj;
  tvmffi_any_release(&value);
  return NULL;
}

/* Retains, or releases, what the fields of a foreign type hold, and those of
   its ancestors. */
TVMFFI_I_COLD void tvmffi_i_foreign_fields(int32_t index, void *self,
                                           int retain) {
  const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(index), *t;
  TVMFFIObject *error = tvmffi_error_take(); /* a getter's would replace it */
  int32_t depth, i;
  for (depth = info->type_depth; depth >= 0; --depth) {
    t = depth == info->type_depth ? info : info->type_ancestors[depth];
    for (i = 0; i < t->num_fields; ++i) {
      void *field = tvmffi_i_field_at(self, t->fields[i].offset);
      TVMFFIObject *held = tvmffi_i_foreign_object(&t->fields[i], field);
      if (!held || retain) continue;
      tvmffi_release(held);
      tvmffi_release(held);
    }
  }
  (void)tvmffi_error_raise(error);
}

/* Ends an object: from the child on, the user's destructor, then the fields. */
TVMFFI_I_INLINE void tvmffi_i_class_end(const tvmffi_i_class *c, void *self) {
  const tvmffi_i_member *m;
  for (; c->index != kTVMFFIObject; c = c->parent) {
    if (!c->members) {
      tvmffi_i_foreign_fields(c->index, self, 0);
      return;
    }
    if (c->destroy) c->destroy(self);
    for (m = c->members; m->what; ++m) {
      void *place = tvmffi_i_field_at(self, m->offset);
      if (m->kept == TVMFFI_I_KEPT_OBJECT) {
        TVMFFIObject *object = *(tvmffi_i_held *)place;
        *(tvmffi_i_held *)place = NULL;
        tvmffi_release(object);
      } else if (m->kept) {
        tvmffi_any_release((TVMFFIAny *)place);
      }
    }
  }
}

/* Takes an object with no strong reference, which is to end later, and keeps
   its memory by a weak reference. Without any other one it was the caller's
   sole; else the caller is about to drop one. */
TVMFFI_I_COLD void tvmffi_i_postpone(tvmffi_i_dying *d, TVMFFIObject *self,
                                     int flags) {
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak)
    self->combined_ref_count = TVMFFI_I_WEAK_ONE;
  else
    tvmffi_weak_retain(self);
  self->deleter = (void (*)(void *, int))(uintptr_t)d->first;
  d->first = self;
}

TVMFFI_I_COLD void tvmffi_i_end_postponed(tvmffi_i_dying *d) {
  while (d->first) {
    TVMFFIObject *o = d->first;
    tvmffi_i_class *c = TVMFFI_I_LOAD(tvmffi_i_classes());
    d->first = (TVMFFIObject *)(uintptr_t)o->deleter;
    while (c->index != o->type_index) c = c->next;
    o->deleter = c->deleter;
    tvmffi_i_class_end(c, o);
    tvmffi_weak_release(o);
  }
}

TVMFFI_I_INLINE void tvmffi_i_class_delete(const tvmffi_i_class *c,
                                           TVMFFIObject *self, int flags) {
  if (c->owns && (flags & kTVMFFIObjectDeleterFlagBitMaskStrong)) {
    tvmffi_i_dying *d = tvmffi_i_the_dying();
    if (d->busy) {
      tvmffi_i_postpone(d, self, flags);
      return;
    }
    d->busy = 1;
    tvmffi_i_class_end(c, self);
    if (d->first) tvmffi_i_end_postponed(d);
    d->busy = 0;
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) {
    TVMFFIObjectAllocHeader *head = (TVMFFIObjectAllocHeader *)self - 1;
    if (head->delete_space) head->delete_space(self);
  }
}

/* Allocates an object: zeroed, texts empty. */
TVMFFI_I_INLINE int tvmffi_i_class_make(tvmffi_i_class *c,
                                        TVMFFIObjectHandle *out) {
  TVMFFICustomAllocator *from = TVMFFIGetCustomAllocator();
  const tvmffi_i_member *m;
  TVMFFIObject *self;
  int32_t i;
  TVMFFI_TRY(tvmffi_i_class_ready(c));
  self = (TVMFFIObject *)from->allocate((size_t)c->size, (size_t)c->alignment,
                                        c->index, from->context);
  if (!self) return -1;
  for (i = 0; i < c->size / (int32_t)sizeof(tvmffi_i_held); ++i)
    ((tvmffi_i_held *)(void *)self)[i] = NULL;
  self->combined_ref_count = TVMFFI_I_BOTH_ONE;
  self->type_index = c->index;
  self->deleter = c->deleter;
  for (; c && c->members; c = c->parent)
    for (m = c->members; m->what; ++m)
      if (m->kept >= TVMFFI_I_KEPT_STR && !tvmffi_i_is_optional(m->type))
        ((TVMFFIAny *)tvmffi_i_field_at(self, m->offset))->type_index =
            m->kept == TVMFFI_I_KEPT_STR ? kTVMFFISmallStr : kTVMFFISmallBytes;
  *out = self;
  return 0;
}

/* Copies an object: its bytes, with a reference more to what they hold. */
TVMFFI_I_INLINE int tvmffi_i_class_copy(tvmffi_i_class *c, void *from,
                                        TVMFFIObjectHandle *out) {
  const size_t word = sizeof(tvmffi_i_held);
  const tvmffi_i_member *m;
  tvmffi_i_held *to;
  size_t i;
  TVMFFI_TRY(tvmffi_i_class_make(c, out));
  to = (tvmffi_i_held *)*out;
  for (i = sizeof(TVMFFIObject) / word; i < (size_t)c->size / word; ++i)
    to[i] = ((tvmffi_i_held *)from)[i];
  for (; c->index != kTVMFFIObject; c = c->parent) {
    if (!c->members) {
      tvmffi_i_foreign_fields(c->index, *out, 1);
      return 0;
    }
    for (m = c->members; m->what; ++m) {
      void *place = tvmffi_i_field_at(*out, m->offset);
      TVMFFIObject *o = NULL;
      if (m->kept == TVMFFI_I_KEPT_OBJECT)
        o = *(tvmffi_i_held *)place;
      else if (m->kept &&
               ((TVMFFIAny *)place)->type_index >= kTVMFFIStaticObjectBegin)
        o = ((TVMFFIAny *)place)->v_obj;
      if (o) tvmffi_retain(o);
    }
  }
  return 0;
}

/* Sets a field by its registered setter. */
TVMFFI_I_INLINE int tvmffi_i_class_set_field(const TVMFFIFieldInfo *f,
                                             void *self,
                                             const TVMFFIAny *value) {
  void *place = tvmffi_i_field_at(self, f->offset);
  TVMFFIAny args[2], result = tvmffi_none();
  if (!(f->flags & kTVMFFIFieldFlagBitSetterIsFunctionObj))
    return ((TVMFFIFieldSetter)(uintptr_t)f->setter)(place, value);
  args[0] = tvmffi_ptr(place);
  args[1] = *value;
  TVMFFI_TRY(TVMFFIFunctionCall(f->setter, args, 2, &result));
  tvmffi_any_release(&result);
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_class_set_default(const TVMFFIFieldInfo *f,
                                               void *self) {
  TVMFFIAny value = tvmffi_none();
  int code;
  if (!(f->flags & kTVMFFIFieldFlagBitMaskHasDefault)) return 0;
  if (!(f->flags & kTVMFFIFieldFlagBitMaskDefaultFromFactory))
    return tvmffi_i_class_set_field(f, self, &f->default_value_or_factory);
  TVMFFI_TRY(
      TVMFFIFunctionCall(f->default_value_or_factory.v_obj, NULL, 0, &value));
  code = tvmffi_i_class_set_field(f, self, &value);
  tvmffi_any_release(&value);
  return code;
}

/* Sets the fields of a new object: the first ones that Python's constructor
   takes by position (parents first, then those without a default first) by the
   values, all others by their defaults. */
TVMFFI_I_INLINE int tvmffi_i_class_set_fields(const tvmffi_i_class *c,
                                              void *self,
                                              const TVMFFIAny *values,
                                              int32_t n) {
  const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(c->index), *t;
  const int64_t named =
      kTVMFFIFieldFlagBitMaskInitOff | kTVMFFIFieldFlagBitMaskKwOnly;
  int32_t used = 0, depth, i;
  int pass, optional;
  for (pass = 0; pass < 2; ++pass)
    for (depth = 0; depth <= info->type_depth; ++depth) {
      t = depth == info->type_depth ? info : info->type_ancestors[depth];
      for (i = 0; i < t->num_fields; ++i) {
        const TVMFFIFieldInfo *f = &t->fields[i];
        optional = (f->flags & kTVMFFIFieldFlagBitMaskHasDefault) != 0;
        if (optional != pass) continue;
        if (!(f->flags & named) && used < n)
          TVMFFI_TRY(tvmffi_i_class_set_field(f, self, &values[used++]));
        else
          TVMFFI_TRY(tvmffi_i_class_set_default(f, self));
      }
    }
  if (used == n) return 0;
  return TVMFFI_RAISE("TypeError",
                      "Type `%s` has %d fields by position, but got %d values",
                      c->key, (int)used, (int)n);
}

TVMFFI_I_INLINE int tvmffi_i_class_new(tvmffi_i_class *c,
                                       TVMFFIObjectHandle *out,
                                       const TVMFFIAny *values, int32_t n) {
  TVMFFIObjectHandle self = NULL;
  int code;
  if (!out)
    return TVMFFI_RAISE("TypeError", "tvmffi_new(%s): NULL for the result",
                        c->key);
  *out = NULL;
  TVMFFI_TRY(tvmffi_i_class_make(c, &self));
  code = tvmffi_i_class_set_fields(c, self, values, n);
  if (code)
    tvmffi_release(self);
  else
    code = tvmffi_i_keep((TVMFFIObject *)self);
  if (!code) *out = self;
  return code;
}

TVMFFI_I_INLINE int tvmffi_i_class_call_new(void *handle, const TVMFFIAny *args,
                                            int32_t n, TVMFFIAny *result) {
  TVMFFIObjectHandle self = NULL;
  (void)args, (void)n;
  TVMFFI_TRY(tvmffi_i_class_make((tvmffi_i_class *)handle, &self));
  *result = tvmffi_obj(self);
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_class_call_copy(void *handle,
                                             const TVMFFIAny *args, int32_t n,
                                             TVMFFIAny *result) {
  tvmffi_i_class *c = (tvmffi_i_class *)handle;
  TVMFFIObjectHandle self = NULL;
  if (n != 1 || !args[0].v_obj ||
      !tvmffi_is_instance(args[0].type_index, c->index))
    return TVMFFI_RAISE("TypeError",
                        "`%s.__ffi_shallow_copy__` takes one object of its "
                        "type",
                        c->key);
  TVMFFI_TRY(tvmffi_i_class_copy(c, args[0].v_obj, &self));
  *result = tvmffi_obj(self);
  return 0;
}

/* The constructor where the runtime cannot make one. */
TVMFFI_I_COLD int tvmffi_i_class_call_no_init(void *handle,
                                              const TVMFFIAny *args, int32_t n,
                                              TVMFFIAny *result) {
  (void)args, (void)n, (void)result;
  return TVMFFI_RAISE("RuntimeError",
                      "`%s` cannot be made by its fields: the runtime has no "
                      "`ffi._RegisterFFIInit`; it was built with "
                      "TVMFFI_NO_CONTAINERS",
                      ((const tvmffi_i_class *)handle)->key);
}

TVMFFI_I_COLD int tvmffi_i_class_set_init(tvmffi_i_class *c, int32_t index) {
  TVMFFIByteArray name = tvmffi_view("ffi._RegisterFFIInit");
  TVMFFIObjectHandle function = NULL;
  TVMFFIAny arg = tvmffi_int(index), result = tvmffi_none();
  int code;
  if (tvmffi_i_class_attr(index, "__ffi_init__")) return 0;
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&name, &function));
  if (!function)
    return tvmffi_i_class_set_call(c, index, "__ffi_init__",
                                   tvmffi_i_class_call_no_init);
  code = TVMFFIFunctionCall(function, &arg, 1, &result);
  tvmffi_release(function);
  tvmffi_any_release(&result);
  return code;
}

/* Tells whether the type, or an ancestor, holds references; or may not be
   copied, as it has a destructor. */
TVMFFI_I_COLD int tvmffi_i_class_owns(const tvmffi_i_class *c, int *fixed) {
  const tvmffi_i_member *m;
  int owns = 0;
  for (; c->index != kTVMFFIObject; c = c->parent) {
    if (!c->members) return 1;
    if (c->destroy) *fixed = owns = 1;
    for (m = c->members; m->what; ++m) owns |= m->kept != TVMFFI_I_KEPT_PLAIN;
  }
  return owns;
}

/* Registers all of a type; the parent is. What C++'s ObjectDef registers. */
TVMFFI_I_COLD int tvmffi_i_class_init(tvmffi_i_class *c, void **result) {
  TVMFFITypeMetadata metadata = TVMFFI_I_ZERO;
  TVMFFIAny no = tvmffi_bool(0);
  tvmffi_i_class **list = tvmffi_i_classes();
  const TVMFFITypeInfo *type;
  int32_t index;
  int fixed = 0;
  TVMFFI_TRY(tvmffi_i_class_enter(c, &index));
  TVMFFI_I_STORE(&c->index, index);
  c->owns = tvmffi_i_class_owns(c, &fixed);
  *result = c;
  if (!c->members) return 0;
  type = TVMFFIGetTypeInfo(index);
  TVMFFI_TRY(tvmffi_i_class_add_members(c, type, &metadata));
  metadata.creator = c->create;
  metadata.total_size = c->size;
  if (!type->metadata) TVMFFI_TRY(TVMFFITypeRegisterMetadata(index, &metadata));
  if (!fixed)
    TVMFFI_TRY(tvmffi_i_class_set_call(c, index, "__ffi_shallow_copy__",
                                       tvmffi_i_class_call_copy));
  TVMFFI_TRY(tvmffi_i_class_set_call(c, index, "__ffi_new__",
                                     tvmffi_i_class_call_new));
  TVMFFI_TRY(tvmffi_i_class_set_init(c, index));
  TVMFFI_TRY(tvmffi_i_class_set_attr(index, "__ffi_type_final__", &no));
  c->next = *list;
  TVMFFI_I_STORE(list, c);
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_instance_rest(tvmffi_i_class *c, int32_t index) {
  TVMFFI_TRY(tvmffi_i_class_ready(c));
  return tvmffi_is_instance(index, c->index) ? 0 : TVMFFI_I_MISMATCH;
}

/* A getter's value: 0 if `any` holds an object of the type or a child. */
TVMFFI_I_INLINE int tvmffi_i_instance(tvmffi_i_class *c, const TVMFFIAny *any) {
  int32_t index = any->type_index;
  if (index < kTVMFFIStaticObjectBegin || !any->v_obj) return TVMFFI_I_MISMATCH;
  if (TVMFFI_I_LIKELY(index == TVMFFI_I_LOAD_RELAXED(&c->index))) return 0;
  return tvmffi_i_instance_rest(c, index);
}

TVMFFI_I_INLINE void *tvmffi_i_class_cast(tvmffi_i_class *c,
                                          TVMFFIObjectHandle object) {
  TVMFFIAny any = tvmffi_obj(object);
  int code = tvmffi_i_instance(c, &any);
  if (code < 0) tvmffi_error_clear();
  return code ? NULL : object;
}

/* Gives the word of a method's self its name; a static method has none. */
TVMFFI_I_INLINE void tvmffi_i_name_self(tvmffi_i_name *self, const char *key,
                                        int64_t *flags) {
  if (!self)
    *flags |= kTVMFFIFieldFlagBitMaskIsStaticMethod;
  else if (self->name != key)
    self->name = self->schema = key;
}

/* Raises for a value that a field does not take. */
TVMFFI_I_COLD int tvmffi_i_bad_field(const tvmffi_i_name *type, int nullable,
                                     const TVMFFIAny *any, int code) {
  tvmffi_i_parts p;
  if (code < 0) return code;
  nullable = nullable && !tvmffi_i_is_optional(type);
  if (code == TVMFFI_I_RANGE)
    return TVMFFI_RAISE("OverflowError", "The value %lld is out of range",
                        (long long)any->v_int64);
  p.size = p.numbers = 0;
  tvmffi_i_say(&p, "Cannot convert from type `");
  tvmffi_i_say_got(&p, type, any);
  tvmffi_i_say(&p, nullable ? "` to `Optional<" : "` to `");
  tvmffi_i_say_type(&p, type);
  tvmffi_i_say(&p, nullable ? ">`" : "`");
  return tvmffi_i_raise_said("TypeError", &p);
}

/* Replaces what an owned TVMFFIAny holds by `view` (borrowed): what fields of
   str, bytes and any are set by in C. On failure nothing is changed. */
TVMFFI_I_INLINE int tvmffi_any_assign(TVMFFIAny *owned, TVMFFIAny view) {
  TVMFFIAny now = tvmffi_none(), old = *owned;
  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(&view, &now));
  *owned = now;
  tvmffi_any_release(&old);
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_get_kept_any(void *field, TVMFFIAny *result) {
  TVMFFIAny any = *(TVMFFIAny *)field;
  if (any.type_index >= kTVMFFIStaticObjectBegin) tvmffi_retain(any.v_obj);
  *result = any;
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_get_kept_object(void *field, TVMFFIAny *result) {
  TVMFFIObject *object = *(tvmffi_i_held *)field;
  if (object) tvmffi_retain(object);
  *result = tvmffi_obj(object);
  return 0;
}

/* Replaces the object of a field (both may be NULL); borrowed. */
TVMFFI_I_INLINE void tvmffi_i_keep_object(void *field, void *object) {
  TVMFFIObject *old = *(tvmffi_i_held *)field;
  if (object) tvmffi_retain(object);
  *(tvmffi_i_held *)field = (TVMFFIObject *)object;
  tvmffi_release(old);
}

/* Sets a field to a container, converted as a parameter is. */
TVMFFI_I_COLD int tvmffi_i_set_held(void *field, const TVMFFIAny *value,
                                    tvmffi_i_cast *cast,
                                    const tvmffi_i_name *type, int nullable) {
  TVMFFIAny now = *value;
  int is_none = value->type_index == kTVMFFINone;
  int code = nullable && is_none ? 0 : cast(type, value, &now);
  if (code && code != TVMFFI_I_CONVERTED)
    return tvmffi_i_bad_field(type, nullable, value, code);
  tvmffi_i_keep_object(field, is_none ? NULL
                              : code  ? (void *)now.v_obj
                                      : (void *)value->v_obj);
  if (code) tvmffi_any_release(&now);
  return 0;
}

/* A text's default; NULL is None. */
TVMFFI_I_COLD int tvmffi_i_text_default(const char *text, int bytes,
                                        TVMFFIAny *out) {
  TVMFFIByteArray view = tvmffi_view(text);
  *out = tvmffi_none();
  if (!text) return 0;
  return bytes ? TVMFFIBytesFromByteArray(&view, out)
               : TVMFFIStringFromByteArray(&view, out);
}

/* clang-format off */
/* How each word is kept in a struct: what is not here is an object. */
#define TVMFFI_I_KEPT_bool ~, plain
#define TVMFFI_I_KEPT__Bool ~, plain
#define TVMFFI_I_KEPT_int8 ~, plain
#define TVMFFI_I_KEPT_int16 ~, plain
#define TVMFFI_I_KEPT_int32 ~, plain
#define TVMFFI_I_KEPT_int64 ~, plain
#define TVMFFI_I_KEPT_uint8 ~, plain
#define TVMFFI_I_KEPT_uint16 ~, plain
#define TVMFFI_I_KEPT_uint32 ~, plain
#define TVMFFI_I_KEPT_uint64 ~, plain
#define TVMFFI_I_KEPT_float32 ~, plain
#define TVMFFI_I_KEPT_float64 ~, plain
#define TVMFFI_I_KEPT_ptr ~, plain
#define TVMFFI_I_KEPT_dtype ~, named
#define TVMFFI_I_KEPT_device ~, named
#define TVMFFI_I_KEPT_any ~, any
#define TVMFFI_I_KEPT_str ~, str
#define TVMFFI_I_KEPT_bytes ~, bytes

#define TVMFFI_I_KEPT_array ~, held,
#define TVMFFI_I_KEPT_list ~, held,
#define TVMFFI_I_KEPT_map ~, held,
#define TVMFFI_I_KEPT_dict ~, held,
#define TVMFFI_I_KEPT_shape ~, held
#define TVMFFI_I_KEPT_optional(T) TVMFFI_I_KEPT_##T
#define TVMFFI_I_KEPT_tensor ~, borrowed

/* prefix_plain, prefix_named, prefix_any, ... for a word. */
#define TVMFFI_I_BY_KEPT(prefix, T) \
  TVMFFI_I_CAT(prefix, TVMFFI_I_SECOND( \
      TVMFFI_I_CAT(TVMFFI_I_KEPT_, T), object, ~))

#define TVMFFI_I_KIND_plain TVMFFI_I_KEPT_PLAIN
#define TVMFFI_I_KIND_named TVMFFI_I_KEPT_PLAIN
#define TVMFFI_I_KIND_object TVMFFI_I_KEPT_OBJECT
#define TVMFFI_I_KIND_held TVMFFI_I_KEPT_OBJECT
#define TVMFFI_I_KIND_any TVMFFI_I_KEPT_ANY
#define TVMFFI_I_KIND_str TVMFFI_I_KEPT_STR
#define TVMFFI_I_KIND_bytes TVMFFI_I_KEPT_BYTES

/* The C type of the member. */
#define TVMFFI_I_CTYPE_plain(T) TVMFFI_I_CAT(tvmffi_type_, T)
#define TVMFFI_I_CTYPE_named TVMFFI_I_CTYPE_plain
#define TVMFFI_I_CTYPE_object TVMFFI_I_CTYPE_plain
#define TVMFFI_I_CTYPE_held TVMFFI_I_CTYPE_plain
#define TVMFFI_I_CTYPE_borrowed(T) a_tensor_is_no_field_but_a_tensor_object_is
#define TVMFFI_I_CTYPE_any(T) TVMFFIAny
#define TVMFFI_I_CTYPE_str TVMFFI_I_CTYPE_any
#define TVMFFI_I_CTYPE_bytes TVMFFI_I_CTYPE_any
#define TVMFFI_I_CTYPE(T) TVMFFI_I_BY_KEPT(TVMFFI_I_CTYPE_, T)(T)

/* Getters: field, result. */
#define TVMFFI_I_READ_plain(T) \
  return TVMFFI_I_CAT(tvmffi_i_put_, T)(result, *(TVMFFI_I_CTYPE(T) *)field);
#define TVMFFI_I_READ_named TVMFFI_I_READ_plain
#define TVMFFI_I_READ_object(T) return tvmffi_i_get_kept_object(field, result);
#define TVMFFI_I_READ_held TVMFFI_I_READ_object
#define TVMFFI_I_READ_any(T) return tvmffi_i_get_kept_any(field, result);
#define TVMFFI_I_READ_str TVMFFI_I_READ_any
#define TVMFFI_I_READ_bytes TVMFFI_I_READ_any

/* Setters: field, value; `defaults` tells whether the field has a default. */
#define TVMFFI_I_WRITE_plain(W, defaults) \
  TVMFFI_I_CONVERT(W, 0) \
  *(TVMFFI_I_CTYPE(W) *)field = now; \
  return 0;
#define TVMFFI_I_WRITE_named TVMFFI_I_WRITE_plain
#define TVMFFI_I_WRITE_object(W, defaults) \
  TVMFFI_I_CONVERT(W, defaults) \
  tvmffi_i_keep_object(field, now); \
  return 0;
#define TVMFFI_I_WRITE_held(W, defaults) \
  return tvmffi_i_set_held(field, value, TVMFFI_I_CAT(tvmffi_i_item_, W), \
                           &TVMFFI_I_CAT(tvmffi_i_name_, W), defaults);
#define TVMFFI_I_WRITE_any(W, defaults) \
  TVMFFI_I_CONVERT(W, 0) \
  (void)now; \
  return tvmffi_any_assign((TVMFFIAny *)field, *value);
#define TVMFFI_I_WRITE_str TVMFFI_I_WRITE_any
#define TVMFFI_I_WRITE_bytes TVMFFI_I_WRITE_any
/* The value, by the word's getter, as `now`. An object with a default may also
   be None. */
#define TVMFFI_I_CONVERT(W, nullable) \
  TVMFFI_I_CAT(tvmffi_type_, W) now = TVMFFI_I_ZERO; \
  if (!(nullable) || value->type_index != kTVMFFINone) { \
    int code = TVMFFI_I_CAT(tvmffi_i_get_, W)(value, &now); \
    if (TVMFFI_I_UNLIKELY(code)) \
      return tvmffi_i_bad_field(&TVMFFI_I_CAT(tvmffi_i_name_, W), nullable, \
                                value, code); \
  }

/* Defaults: the expression `x` to *out. */
#define TVMFFI_I_VALUE_plain(T, x) \
  TVMFFI_I_CTYPE(T) now = (x); \
  return TVMFFI_I_CAT(tvmffi_i_put_, T)(out, now);
#define TVMFFI_I_VALUE_named(T, x) \
  TVMFFI_I_CTYPE(T) now; \
  TVMFFIAny text = tvmffi_str(x); \
  int code = TVMFFI_I_CAT(tvmffi_i_get_, T)(&text, &now); \
  if (code) \
    return tvmffi_i_bad_field(&TVMFFI_I_CAT(tvmffi_i_name_, T), 0, &text, \
                              code); \
  return TVMFFI_I_CAT(tvmffi_i_put_, T)(out, now);
#define TVMFFI_I_VALUE_object(T, x) \
  TVMFFI_I_CTYPE(T) now = (x); \
  *out = tvmffi_none(); \
  if (!now) return 0; \
  return TVMFFI_RAISE("TypeError", "The default of an object can only be NULL");
#define TVMFFI_I_VALUE_held TVMFFI_I_VALUE_object
#define TVMFFI_I_VALUE_any(T, x) \
  TVMFFIAny view = TVMFFI_ANY(x); \
  return TVMFFIAnyViewToOwnedAny(&view, out);
#define TVMFFI_I_VALUE_str(T, x) return tvmffi_i_text_default(x, 0, out);
#define TVMFFI_I_VALUE_bytes(T, x) return tvmffi_i_text_default(x, 1, out);

/* F(T, key, item) for each item behind the parent `p`. */
#define TVMFFI_I_EACH(n) TVMFFI_I_CAT(TVMFFI_I_EACH, n)
#define TVMFFI_I_EACH1(F, T, K, p, ...)
#define TVMFFI_I_EACH2(F, T, K, p, a, ...) F(T, K, a)
#define TVMFFI_I_EACH3(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH2(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH4(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH3(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH5(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH4(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH6(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH5(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH7(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH6(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH8(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH7(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH9(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH8(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH10(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH9(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH11(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH10(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH12(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH11(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH13(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH12(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH14(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH13(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH15(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH14(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH16(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH15(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH17(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH16(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH18(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH17(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH19(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH18(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH20(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH19(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH21(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH20(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH22(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH21(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH23(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH22(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH24(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH23(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH25(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH24(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH26(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH25(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH27(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH26(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH28(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH27(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH29(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH28(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH30(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH29(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH31(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH30(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH32(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH31(F, T, K, p, __VA_ARGS__)
#define TVMFFI_I_EACH33(F, T, K, p, a, ...) \
  F(T, K, a) TVMFFI_I_EACH32(F, T, K, p, __VA_ARGS__)

/* Counts 1 to 33 arguments. */
#define TVMFFI_I_COUNT33(...) \
  TVMFFI_I_COUNT33_(__VA_ARGS__, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, \
                    22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, \
                    7, 6, 5, 4, 3, 2, 1, ~)
#define TVMFFI_I_COUNT33_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, \
                          r, s, t, u, v, w, x, y, z, A, B, C, D, E, F, G, H, \
                          ...) \
  H

/* The parts of an item: (kind, ...) becomes prefix_kind(T, key, ..., ~). */
#define TVMFFI_I_STRIP(...) __VA_ARGS__
#define TVMFFI_I_ITEM_PART(prefix, T, K, ...) \
  TVMFFI_I_ITEM_PART_(prefix, T, K, __VA_ARGS__)
#define TVMFFI_I_ITEM_PART_(prefix, T, K, kind, ...) \
  prefix##kind(T, K, __VA_ARGS__)

/* Declarations that an item needs before the table of members. */
#define TVMFFI_I_DECLARE(T, K, item) \
  TVMFFI_I_ITEM_PART(TVMFFI_I_DECLARE_, T, K, TVMFFI_I_STRIP item, ~)
#define TVMFFI_I_DECLARE_field(T, K, ...) \
  TVMFFI_I_FIELD(T, TVMFFI_I_HAS_DEFAULT(__VA_ARGS__), __VA_ARGS__)
#define TVMFFI_I_DECLARE_readonly TVMFFI_I_DECLARE_field
#define TVMFFI_I_DECLARE_method(T, K, name, ...) \
  static tvmffi_i_method_of tvmffi_i_method_##T##_##name;
#define TVMFFI_I_DECLARE_attribute(T, K, text, name, ...) \
  static tvmffi_i_method_of tvmffi_i_method_##T##_##name;
#define TVMFFI_I_DECLARE_destructor(...)
#define TVMFFI_I_DECLARE_kw_only(...)
#define TVMFFI_I_DECLARE_structural(...)
#define TVMFFI_I_DECLARE_doc(...)
#define TVMFFI_I_DECLARE_flags(...)
#define TVMFFI_I_DECLARE_factory(...)

/* W, x, ~ has no default; W, x, value, ~ has one. */
#define TVMFFI_I_HAS_DEFAULT(...) TVMFFI_I_HAS_DEFAULT_(__VA_ARGS__, 1, 0, ~, ~)
#define TVMFFI_I_HAS_DEFAULT_(a, b, c, d, e, ...) e

#define TVMFFI_I_FIELD(T, d, ...) \
  TVMFFI_I_CAT(TVMFFI_I_FIELD_, d)(T, __VA_ARGS__)
#define TVMFFI_I_FIELD_0(T, W, x, ...) TVMFFI_I_FIELD_(T, W, x, 0)
#define TVMFFI_I_FIELD_1(T, W, x, value, ...) \
  TVMFFI_I_FIELD_(T, W, x, 1) \
  static int tvmffi_i_value_##T##_##x(TVMFFIAny *out) { \
    TVMFFI_I_BY_KEPT(TVMFFI_I_VALUE_, W)(W, value) \
  }
/* The enumeration is the check that the member has the word's C type. */
#define TVMFFI_I_FIELD_(T, W, x, defaults) \
  enum { \
    tvmffi_i_check_##T##_##x = \
        sizeof(*(1 ? (TVMFFI_I_CTYPE(W) *)0 : &((T *)0)->x)) \
  }; \
  struct tvmffi_i_align_##T##_##x { \
    char head; \
    TVMFFI_I_CTYPE(W) tail; \
  }; \
  static int tvmffi_i_read_##T##_##x(void *field, TVMFFIAny *result) { \
    TVMFFI_I_BY_KEPT(TVMFFI_I_READ_, W)(W) \
  } \
  static int tvmffi_i_write_##T##_##x(void *field, const TVMFFIAny *value) { \
    TVMFFI_I_BY_KEPT(TVMFFI_I_WRITE_, W)(W, defaults) \
  }

/* The table of members. */
#define TVMFFI_I_MEMBER(T, K, item) \
  TVMFFI_I_ITEM_PART(TVMFFI_I_MEMBER_, T, K, TVMFFI_I_STRIP item, ~)
#define TVMFFI_I_MEMBER_ENTRY(what, kept, name, flags) \
  what, kept, name, flags, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL
#define TVMFFI_I_MEMBER_field(T, K, ...) \
  TVMFFI_I_MEMBER_FIELD(T, kTVMFFIFieldFlagBitMaskWritable, \
                        TVMFFI_I_HAS_DEFAULT(__VA_ARGS__), __VA_ARGS__)
#define TVMFFI_I_MEMBER_readonly(T, K, ...) \
  TVMFFI_I_MEMBER_FIELD(T, 0, TVMFFI_I_HAS_DEFAULT(__VA_ARGS__), __VA_ARGS__)
#define TVMFFI_I_MEMBER_FIELD(T, flags, d, ...) \
  TVMFFI_I_MEMBER_FIELD_(T, flags, TVMFFI_I_CAT(TVMFFI_I_VALUE_OF_, d), \
                         __VA_ARGS__)
#define TVMFFI_I_VALUE_OF_0(T, x) NULL
#define TVMFFI_I_VALUE_OF_1(T, x) tvmffi_i_value_##T##_##x
#define TVMFFI_I_MEMBER_FIELD_(T, flags, value, W, x, ...) \
  {TVMFFI_I_IS_FIELD, TVMFFI_I_BY_KEPT(TVMFFI_I_KIND_, W), #x, flags, \
   (int64_t)offsetof(T, x), (int64_t)sizeof(TVMFFI_I_CTYPE(W)), \
   (int64_t)offsetof(struct tvmffi_i_align_##T##_##x, tail), \
   &TVMFFI_I_CAT(tvmffi_i_name_, W), tvmffi_i_read_##T##_##x, \
   tvmffi_i_write_##T##_##x, value(T, x), NULL, NULL, NULL},
#define TVMFFI_I_MEMBER_method(T, K, name, ...) \
  TVMFFI_I_MEMBER_METHOD(TVMFFI_I_IS_METHOD, T, K, #name, name)
#define TVMFFI_I_MEMBER_attribute(T, K, text, name, ...) \
  TVMFFI_I_MEMBER_METHOD(TVMFFI_I_IS_ATTRIBUTE, T, K, text, name)
#define TVMFFI_I_MEMBER_METHOD(what, T, K, text, name) \
  {what, 0, text, 0, 0, 0, 0, NULL, NULL, NULL, NULL, \
   tvmffi_i_method_##T##_##name, K "." text, NULL},
#define TVMFFI_I_MEMBER_destructor(...)
#define TVMFFI_I_MEMBER_kw_only(T, K, ...) \
  {TVMFFI_I_MEMBER_ENTRY(TVMFFI_I_IS_KW_ONLY, 0, NULL, 0)},
#define TVMFFI_I_MEMBER_structural(T, K, kind, ...) \
  {TVMFFI_I_MEMBER_ENTRY(TVMFFI_I_IS_STRUCTURAL, 0, NULL, kind)},
#define TVMFFI_I_MEMBER_doc(T, K, text, ...) \
  {TVMFFI_I_MEMBER_ENTRY(TVMFFI_I_IS_DOC, 0, text, 0)},
#define TVMFFI_I_MEMBER_flags(T, K, bits, ...) \
  {TVMFFI_I_MEMBER_ENTRY(TVMFFI_I_IS_FLAGS, 0, NULL, bits)},
#define TVMFFI_I_MEMBER_factory(T, K, name, ...) \
  {TVMFFI_I_IS_FACTORY, 0, NULL, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, \
   NULL, &tvmffi_func_##name},

/* The call of the destructor among the items, and whether there is one. */
#define TVMFFI_I_END(T, K, item) \
  TVMFFI_I_ITEM_PART(TVMFFI_I_END_, T, K, TVMFFI_I_STRIP item, ~)
#define TVMFFI_I_END_destructor(T, K, name, ...) name((T *)self);
#define TVMFFI_I_END_field(...)
#define TVMFFI_I_END_readonly(...)
#define TVMFFI_I_END_method(...)
#define TVMFFI_I_END_attribute(...)
#define TVMFFI_I_END_kw_only(...)
#define TVMFFI_I_END_structural(...)
#define TVMFFI_I_END_doc(...)
#define TVMFFI_I_END_flags(...)
#define TVMFFI_I_END_factory(...)
#define TVMFFI_I_HAS_END(T, K, item) \
  TVMFFI_I_ITEM_PART(TVMFFI_I_HAS_END_, T, K, TVMFFI_I_STRIP item, ~)
#define TVMFFI_I_HAS_END_destructor(...) + 1
#define TVMFFI_I_HAS_END_field(...)
#define TVMFFI_I_HAS_END_readonly(...)
#define TVMFFI_I_HAS_END_method(...)
#define TVMFFI_I_HAS_END_attribute(...)
#define TVMFFI_I_HAS_END_kw_only(...)
#define TVMFFI_I_HAS_END_structural(...)
#define TVMFFI_I_HAS_END_doc(...)
#define TVMFFI_I_HAS_END_flags(...)
#define TVMFFI_I_HAS_END_factory(...)

/* The word of a type, and what is done with its objects by name. */
#define TVMFFI_I_CLASS_WORD(T, K) \
  TVMFFI_I_TYPE(T, T *, K, K) \
  TVMFFI_I_UNUSED static tvmffi_i_class *tvmffi_i_class_of_##T(void); \
  TVMFFI_STATIC_ASSERT(sizeof(K) <= 81, type_key_of_##T##_is_too_long); \
  TVMFFI_I_GET(T) { \
    int code = tvmffi_i_instance(tvmffi_i_class_of_##T(), any); \
    *out = code ? NULL : (T *)(void *)any->v_obj; \
    return code; \
  } \
  TVMFFI_I_PUT(T) { \
    return tvmffi_i_put_object(out, (TVMFFIObject *)(void *)value); \
  } \
  TVMFFI_I_POINTER_WORD(T) \
  TVMFFI_I_UNUSED static int tvmffi_i_init_##T(void **result) { \
    return tvmffi_i_class_init(tvmffi_i_class_of_##T(), result); \
  }

#define TVMFFI_I_TYPE_(T, K, n, parent, ...) \
  TVMFFI_I_CLASS_WORD(T, K) \
  enum { /* the struct begins with its parent, by the name of base */ \
    tvmffi_i_check_##T = sizeof(*(1 ? (parent *)0 : &((T *)0)->base)) \
  }; \
  TVMFFI_STATIC_ASSERT(offsetof(T, base) == 0, base_of_##T##_is_not_first); \
  TVMFFI_I_EACH(n)(TVMFFI_I_DECLARE, T, K, parent, __VA_ARGS__) \
  static const tvmffi_i_member tvmffi_i_members_##T[] = { \
      TVMFFI_I_EACH(n)(TVMFFI_I_MEMBER, T, K, parent, __VA_ARGS__) \
      {TVMFFI_I_MEMBER_ENTRY(TVMFFI_I_IS_END, 0, NULL, 0)}}; \
  struct tvmffi_i_align_##T { \
    char head; \
    T tail; \
  }; \
  TVMFFI_I_UNUSED static void tvmffi_i_destroy_##T(void *self) { \
    (void)self; \
    TVMFFI_I_EACH(n)(TVMFFI_I_END, T, K, parent, __VA_ARGS__) \
  } \
  static int tvmffi_i_create_##T(TVMFFIObjectHandle *result) { \
    return tvmffi_i_class_make(tvmffi_i_class_of_##T(), result); \
  } \
  static void tvmffi_i_delete_##T(void *self, int flags) { \
    tvmffi_i_class_delete(tvmffi_i_class_of_##T(), (TVMFFIObject *)self, \
                          flags); \
  } \
  TVMFFI_I_INLINE int tvmffi_i_new_##T(T **out, const TVMFFIAny *values, \
                                       int32_t n_values) { \
    TVMFFIObjectHandle self = NULL; \
    int code = tvmffi_i_class_new(tvmffi_i_class_of_##T(), \
                                  out ? &self : NULL, values, n_values); \
    if (out) *out = (T *)self; \
    return code; \
  } \
  static tvmffi_i_class tvmffi_i_class_##T = { \
      K, &tvmffi_i_class_##parent, sizeof(T), \
      (int32_t)offsetof(struct tvmffi_i_align_##T, tail), \
      tvmffi_i_members_##T, tvmffi_i_init_##T, tvmffi_i_create_##T, \
      tvmffi_i_delete_##T, \
      (0 TVMFFI_I_EACH(n)(TVMFFI_I_HAS_END, T, K, parent, __VA_ARGS__)) \
          ? tvmffi_i_destroy_##T \
          : NULL, \
      NULL, 0, 0, NULL}; \
  static tvmffi_i_class *tvmffi_i_class_of_##T(void) { \
    return &tvmffi_i_class_##T; \
  }
/* clang-format on */

/* Makes a struct a type of objects:
       TVMFFI_TYPE(Point, "demo.Point", TVMFFIObject,
                   (field, float64, x), (field, float64, y, 0.0),
                   (method, norm), (doc, "Returns the length"))
   Behind the struct's name come the type's key (up to 80 bytes), the parent's
   struct, and up to 32 items. The struct's first member is the parent's struct,
   under the name `base`. The name is then a word of typed functions too, for
   a pointer to the struct: (Point, p). Items:
     (field, word, member)          a member that the constructor must be given
     (field, word, member, value)   one with a default
     (readonly, word, member...)    the same, but Python may not set it
     (method, name)                 a TVMFFI_METHOD or TVMFFI_STATIC_METHOD;
                                    a static __ffi_init__ is the constructor
     (attribute, "name", method)    a method as a type attribute, "__ffi_repr__"
     (destructor, function)         void function(Point *), called before the
                                    fields are released; then nothing is copied
     (kw_only)                      fields from here on go by keyword only
     (structural, kind)             a TVMFFISEqHashKind
     (doc, "text")                  of the item before it; the type's, if first
     (flags, bits)                  TVMFFIFieldFlagBitMask of the field before
     (factory, name)                a TVMFFI_FUNC without parameters makes the
                                    default of the field before
   A default is a number, a text (also for dtype and device), for `any` what
   TVMFFI_ANY takes, for an object NULL: then it may also be None. Of an
   optional(T) it is what T's is, or NULL where that is a text; of a number's,
   tvmffi_some_T(value) or tvmffi_no_T(). Members of plain words have the word's
   C type (tvmffi_type_T; tvmffi_type_optional(T) of an optional number, dtype
   or device); str, bytes and any are a TVMFFIAny, and objects pointers. Those
   the object owns: set them in C by tvmffi_any_assign and tvmffi_assign.
   Containers are converted as parameters are. A tensor is a tensor_object here.
   A member that is no field is copied bit by bit. */
#define TVMFFI_TYPE(type, key, ...) \
  TVMFFI_I_TYPE_N(type, key, TVMFFI_I_COUNT33(__VA_ARGS__), __VA_ARGS__, ~)
#define TVMFFI_I_TYPE_N(T, K, n, ...) TVMFFI_I_TYPE_(T, K, n, __VA_ARGS__)

/* Declares a type that another library registers, by a struct that begins with
   the same members: as a word, for tvmffi_cast, and as a parent. A child's
   memory is ours: of this parent it has what is registered as fields. */
#define TVMFFI_FOREIGN_TYPE(type, key)                                    \
  TVMFFI_I_CLASS_WORD(type, key)                                          \
  TVMFFI_I_UNUSED static tvmffi_i_class tvmffi_i_class_##type = {         \
      key,  NULL, sizeof(type), 8,    NULL, tvmffi_i_init_##type,         \
      NULL, NULL, NULL,         NULL, 0,    0,                            \
      NULL};                                                              \
  TVMFFI_I_UNUSED static tvmffi_i_class *tvmffi_i_class_of_##type(void) { \
    return &tvmffi_i_class_##type;                                        \
  }

/* Begins a method, as TVMFFI_FUNC does a function: TVMFFI_METHOD(Point, norm,
   float64, (word, parameter)...), then a body in which `self` is the object,
   borrowed. It may stand before TVMFFI_TYPE or behind it; the type's own word
   is there only behind it. */
#define TVMFFI_METHOD(type, name, ...)                                       \
  TVMFFI_I_SELF_OF(type, self_##type##_##name)                               \
  TVMFFI_I_CLASS_METHOD(                                                     \
      type, name,                                                            \
      tvmffi_i_name_self(&tvmffi_i_name_self_##type##_##name, key, flags),   \
      TVMFFI_I_COUNT(TVMFFI_I_WITH_SELF(self_##type##_##name, __VA_ARGS__)), \
      TVMFFI_I_WITH_SELF(self_##type##_##name, __VA_ARGS__))

/* Begins a method without `self`. */
#define TVMFFI_STATIC_METHOD(type, name, ...)                             \
  TVMFFI_I_CLASS_METHOD(type, name, tvmffi_i_name_self(NULL, key, flags), \
                        TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__)

/* clang-format off */
/* The word of self, as the type's may not be there yet; it gets its name when
   the type is registered. */
#define TVMFFI_I_SELF_OF(T, W) \
  static tvmffi_i_class *tvmffi_i_class_of_##T(void); \
  typedef T *tvmffi_type_##W; \
  static tvmffi_i_name tvmffi_i_name_##W = {#T, #T}; \
  TVMFFI_I_GET(W) { \
    int code = tvmffi_i_instance(tvmffi_i_class_of_##T(), any); \
    *out = code ? NULL : (T *)(void *)any->v_obj; \
    return code; \
  }
#define TVMFFI_I_WITH_SELF(W, ...) \
  TVMFFI_I_CAT(TVMFFI_I_WITH_SELF_, TVMFFI_I_HAS_COMMA(__VA_ARGS__)) \
  (W, __VA_ARGS__)
#define TVMFFI_I_WITH_SELF_0(W, result) result, (W, self)
#define TVMFFI_I_WITH_SELF_1(W, result, ...) result, (W, self), __VA_ARGS__

#define TVMFFI_I_CLASS_METHOD(T, name, note, n, ...) \
  TVMFFI_I_DEFINE_(static, tvmffi_call_##T##_##name, #T "." #name, \
                   tvmffi_func_##T##_##name, tvmffi_body_##T##_##name, n, \
                   __VA_ARGS__) \
  static tvmffi_i_method_of tvmffi_i_method_##T##_##name; \
  static tvmffi_func *tvmffi_i_method_##T##_##name(const char *key, \
                                                   int64_t *flags) { \
    note; \
    return &tvmffi_func_##T##_##name; \
  } \
  TVMFFI_I_METHOD_BODY(tvmffi_body_##T##_##name, n, __VA_ARGS__)
#define TVMFFI_I_METHOD_BODY(body, n, ...) TVMFFI_I_BODY(body, n, __VA_ARGS__)
/* clang-format on */

/* Registers a type now, with its ancestors: 0 also when it is done already.
   Any use registers it, but Python can only know a type that is. */
#define tvmffi_register_type(type) \
  tvmffi_i_class_ready(tvmffi_i_class_of_##type())

/* Gives a type's index; -1 with an error if it cannot be registered. */
#define tvmffi_type_index(type) tvmffi_i_class_index(tvmffi_i_class_of_##type())

/* Gives an object (borrowed, may be NULL) as a pointer to the type's struct;
   NULL if it is of another type. */
#define tvmffi_cast(type, object) \
  ((type *)tvmffi_i_class_cast(tvmffi_i_class_of_##type(), (object)))

/* Replaces the object that a field owns by another (borrowed); both may be
   NULL. The field is a pointer to an object of any type. */
#define tvmffi_assign(field, object) tvmffi_i_keep_object(&(field), (object))

/* Makes an object: tvmffi_new(Point, &p, 3.0, 4.0). *p is owned by the caller
   or by the innermost scope, NULL on failure. Up to 15 values, plain ones as
   with tvmffi_call, go to the fields in the order of Python's constructor; the
   others have their default, or zero. */
#if defined(__cplusplus)
extern "C++" {
template <typename T, typename... Args>
static inline int tvmffi_i_new(int (*make)(T **, const TVMFFIAny *, int32_t),
                               T **out, Args... args) {
  TVMFFIAny packed[] = {TVMFFI_ANY(args)..., tvmffi_none()};
  return make(out, packed, (int32_t)(sizeof...(Args)));
}
}
#define tvmffi_new(type, ...) \
  (TVMFFI_I_HERE tvmffi_i_new(tvmffi_i_new_##type, __VA_ARGS__))
#else
#define tvmffi_new(type, ...) \
  TVMFFI_I_CLASS_NEW(type, TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__)
#define TVMFFI_I_CLASS_NEW(type, n, ...) \
  TVMFFI_I_CLASS_NEW_(type, n, __VA_ARGS__)
#define TVMFFI_I_CLASS_NEW_(type, n, ...)                        \
  (TVMFFI_I_HERE tvmffi_i_new_##type(                            \
      TVMFFI_I_FIRST(__VA_ARGS__),                               \
      (TVMFFIAny[]){TVMFFI_I_REST(n)(TVMFFI_I_ITEM, __VA_ARGS__) \
                        tvmffi_none()},                          \
      (n) - 1))
#endif

/* ======== Legacy calls =========================================== >>legacy */
/* C interface: TVM's old calling convention, of before TVM FFI: an array of
   8-byte values beside an array of type codes. What was compiled for it is
   called as a function of this ABI, and the reverse. The values and codes are
   those of tvm/runtime/c_runtime_api.h up to TVM 0.20; a function of modules
   is a TVMBackendPackedCFunc there.

   A handle of an object, module or function (codes 8, 9, 10) is an object of
   this runtime: one of the old runtime's must not get here. A tensor (13) is
   the address of its DLTensor, as it was, and so may be anyone's; the results
   of calls alone must be tensors of this runtime. */
#if TVMFFI_LEGACY

/* One value; what it is, its type code tells. */
typedef union {
  int64_t v_int64;
#if !TVMFFI_NO_FLOAT
  double v_float64;
#endif
  void *v_handle;
  const char *v_str;
  DLDataType v_type;
  DLDevice v_device;
} tvmffi_legacy_value;
TVMFFI_STATIC_ASSERT(sizeof(tvmffi_legacy_value) == 8, legacy_value);

enum {
  TVMFFI_LEGACY_INT = 0,
  TVMFFI_LEGACY_UINT = 1,  /* v_int64, taken for an int */
  TVMFFI_LEGACY_FLOAT = 2, /* v_float64 */
  TVMFFI_LEGACY_HANDLE = 3,
  TVMFFI_LEGACY_NULL = 4,
  TVMFFI_LEGACY_DTYPE = 5,
  TVMFFI_LEGACY_DEVICE = 6,
  TVMFFI_LEGACY_DLTENSOR = 7, /* a DLTensor * */
  TVMFFI_LEGACY_OBJECT = 8,
  TVMFFI_LEGACY_MODULE = 9,
  TVMFFI_LEGACY_FUNCTION = 10,
  TVMFFI_LEGACY_STR = 11,    /* v_str, ends with a NUL */
  TVMFFI_LEGACY_BYTES = 12,  /* a TVMFFIByteArray * */
  TVMFFI_LEGACY_TENSOR = 13, /* a DLTensor *, that of a tensor object */
  TVMFFI_LEGACY_RVALUE_REF =
      14,                 /* an object's TVMFFIObject **, argument only */
  TVMFFI_LEGACY_BOOL = 15 /* v_int64; only since TVM 0.18 */
};

/* A function of the old convention. Arguments are borrowed; the result, which
   is null before the call, is owned by the caller; nonzero is failure. */
typedef int (*tvmffi_legacy_func)(tvmffi_legacy_value *args, int *codes, int n,
                                  tvmffi_legacy_value *result, int *result_code,
                                  void *resource);

TVMFFI_I_COLD int tvmffi_i_legacy_misfit(const char *what, int code) {
  return TVMFFI_RAISE("TypeError", "a legacy %s of type code %d is not %s",
                      what, code,
                      code == TVMFFI_LEGACY_MODULE     ? "a module"
                      : code == TVMFFI_LEGACY_FUNCTION ? "a function"
                      : code == TVMFFI_LEGACY_TENSOR   ? "a tensor"
                                                       : "a value");
}

/* The object behind a handle as a value, of the type that its code says. */
TVMFFI_I_INLINE int tvmffi_i_legacy_object(const char *what, void *handle,
                                           int code, TVMFFIAny *out) {
  *out = tvmffi_obj(handle);
  if (handle && code != TVMFFI_LEGACY_OBJECT &&
      out->type_index != (code == TVMFFI_LEGACY_MODULE     ? kTVMFFIModule
                          : code == TVMFFI_LEGACY_FUNCTION ? kTVMFFIFunction
                                                           : kTVMFFITensor))
    return tvmffi_i_legacy_misfit(what, code);
  return 0;
}

/* Makes of an argument a view *out, which borrows what the argument does.
   TypeError for a code that no argument has, and for a handle of another type
   than its code says. A null handle is None. */
TVMFFI_I_INLINE int tvmffi_any_from_legacy(tvmffi_legacy_value value, int code,
                                           TVMFFIAny *out) {
  switch (code) {
    case TVMFFI_LEGACY_INT:
    case TVMFFI_LEGACY_UINT: *out = tvmffi_int(value.v_int64); return 0;
    case TVMFFI_LEGACY_FLOAT: /* by its bits */
      *out = tvmffi_int(value.v_int64);
      out->type_index = kTVMFFIFloat;
      return 0;
    case TVMFFI_LEGACY_HANDLE: *out = tvmffi_ptr(value.v_handle); return 0;
    case TVMFFI_LEGACY_NULL: *out = tvmffi_none(); return 0;
    case TVMFFI_LEGACY_DTYPE: *out = tvmffi_dtype(value.v_type); return 0;
    case TVMFFI_LEGACY_DEVICE: *out = tvmffi_device(value.v_device); return 0;
    case TVMFFI_LEGACY_DLTENSOR:
    case TVMFFI_LEGACY_TENSOR:
      *out = tvmffi_tensor((const DLTensor *)value.v_handle);
      return 0;
    case TVMFFI_LEGACY_OBJECT:
    case TVMFFI_LEGACY_MODULE:
    case TVMFFI_LEGACY_FUNCTION:
      return tvmffi_i_legacy_object("argument", value.v_handle, code, out);
    case TVMFFI_LEGACY_STR: *out = tvmffi_str(value.v_str); return 0;
    case TVMFFI_LEGACY_BYTES:
      *out = tvmffi_bytes((const TVMFFIByteArray *)value.v_handle);
      return 0;
    case TVMFFI_LEGACY_RVALUE_REF:
      *out = tvmffi_i_pointer(kTVMFFIObjectRValueRef, value.v_handle);
      return 0;
    case TVMFFI_LEGACY_BOOL: *out = tvmffi_bool(value.v_int64 != 0); return 0;
    default: break;
  }
  *out = tvmffi_none();
  return tvmffi_i_legacy_misfit("argument", code);
}

TVMFFI_I_INLINE int tvmffi_i_legacy_handle(void *handle, int code,
                                           tvmffi_legacy_value *value,
                                           int *out) {
  value->v_handle = handle;
  *out = handle ? code : TVMFFI_LEGACY_NULL;
  return 0;
}

/* Makes of a value an argument, which borrows what *any holds and, for short
   strings and bytes, *any itself and *room: where the head of bytes is written
   that have none. A bool becomes an int, which every TVM takes for a bool.
   ValueError for a string with a NUL inside, which would end there; TypeError
   for what the convention does not have. */
TVMFFI_I_INLINE int tvmffi_any_to_legacy(const TVMFFIAny *any,
                                         TVMFFIByteArray *room,
                                         tvmffi_legacy_value *value,
                                         int *code) {
  TVMFFIByteArray text;
  size_t i;
  value->v_int64 = any->v_int64;
  switch (any->type_index) {
    case kTVMFFINone: *code = TVMFFI_LEGACY_NULL; return 0;
    case kTVMFFIInt:
    case kTVMFFIBool: *code = TVMFFI_LEGACY_INT; return 0;
    case kTVMFFIFloat: *code = TVMFFI_LEGACY_FLOAT; return 0;
    case kTVMFFIDataType:
      value->v_type = any->v_dtype;
      *code = TVMFFI_LEGACY_DTYPE;
      return 0;
    case kTVMFFIDevice:
      value->v_device = any->v_device;
      *code = TVMFFI_LEGACY_DEVICE;
      return 0;
    case kTVMFFIOpaquePtr:
      return tvmffi_i_legacy_handle(any->v_ptr, TVMFFI_LEGACY_HANDLE, value,
                                    code);
    case kTVMFFIDLTensorPtr:
      return tvmffi_i_legacy_handle(any->v_ptr, TVMFFI_LEGACY_DLTENSOR, value,
                                    code);
    case kTVMFFIByteArrayPtr:
      return tvmffi_i_legacy_handle(any->v_ptr, TVMFFI_LEGACY_BYTES, value,
                                    code);
    case kTVMFFIObjectRValueRef:
      return tvmffi_i_legacy_handle(any->v_ptr, TVMFFI_LEGACY_RVALUE_REF, value,
                                    code);
    case kTVMFFISmallBytes:
    case kTVMFFIBytes:
      *room = tvmffi_any_str(any);
      return tvmffi_i_legacy_handle(room, TVMFFI_LEGACY_BYTES, value, code);
    case kTVMFFIRawStr:
    case kTVMFFISmallStr:
    case kTVMFFIStr:
      text = tvmffi_any_str(any);
      for (i = 0; i < text.size; ++i)
        if (!text.data[i])
          return TVMFFI_RAISE("ValueError",
                              "a string with a NUL inside is no legacy string");
      return tvmffi_i_legacy_handle((void *)(uintptr_t)text.data,
                                    TVMFFI_LEGACY_STR, value, code);
    default: break;
  }
  if (any->type_index < kTVMFFIStaticObjectBegin) {
    *code = TVMFFI_LEGACY_NULL;
    return TVMFFI_RAISE("TypeError",
                        "a value of type index %d is no legacy value",
                        (int)any->type_index);
  }
  if (any->type_index == kTVMFFITensor && any->v_obj)
    return tvmffi_i_legacy_handle(TVMFFI_I_CELL(DLTensor, any->v_obj),
                                  TVMFFI_LEGACY_TENSOR, value, code);
  return tvmffi_i_legacy_handle(
      any->v_obj,
      any->type_index == kTVMFFIModule     ? TVMFFI_LEGACY_MODULE
      : any->type_index == kTVMFFIFunction ? TVMFFI_LEGACY_FUNCTION
                                           : TVMFFI_LEGACY_OBJECT,
      value, code);
}

/* Makes of an owned result an owned value. Strings and bytes are copied. */
TVMFFI_I_INLINE int tvmffi_i_legacy_result(tvmffi_legacy_value value, int code,
                                           TVMFFIAny *out) {
  TVMFFIAny view;
  TVMFFIByteArray text;
  TVMFFIObject *o = (TVMFFIObject *)value.v_handle;
  switch (code) {
    case TVMFFI_LEGACY_RVALUE_REF:
      return tvmffi_i_legacy_misfit("result", code);
    case TVMFFI_LEGACY_TENSOR: o = o ? o - 1 : NULL; break;
    case TVMFFI_LEGACY_OBJECT:
    case TVMFFI_LEGACY_MODULE:
    case TVMFFI_LEGACY_FUNCTION: break;
    default:
      TVMFFI_TRY(tvmffi_any_from_legacy(value, code, &view));
      return TVMFFIAnyViewToOwnedAny(&view, out);
  }
  if (tvmffi_i_legacy_object("result", o, code, out)) {
    tvmffi_any_release(out);
    return -1;
  }
  text = tvmffi_any_str(out);
  if (text.data && text.size < 8) { /* is a small one everywhere else */
    int err = out->type_index == kTVMFFIStr
                  ? TVMFFIStringFromByteArray(&text, &view)
                  : TVMFFIBytesFromByteArray(&text, &view);
    tvmffi_any_release(out);
    if (err) return err;
    *out = view;
  }
  return 0;
}

/* Makes of an owned value (taken) an owned result. Text is an object there. */
TVMFFI_I_INLINE int tvmffi_i_result_to_legacy(TVMFFIAny *any,
                                              tvmffi_legacy_value *value,
                                              int *code) {
  int is_string = any->type_index == kTVMFFISmallStr;
  if (is_string || any->type_index == kTVMFFISmallBytes) {
    TVMFFIByteArray eight = {any->v_bytes, 8}; /* no small one, so an object */
    TVMFFIAny text;
    TVMFFI_TRY(is_string ? TVMFFIStringFromByteArray(&eight, &text)
                         : TVMFFIBytesFromByteArray(&eight, &text));
    TVMFFI_I_CELL(TVMFFIByteArray, text.v_obj)->size = any->small_str_len;
    *any = text;
  }
  if (any->type_index == kTVMFFIStr || any->type_index == kTVMFFIBytes)
    return tvmffi_i_legacy_handle(any->v_obj, TVMFFI_LEGACY_OBJECT, value,
                                  code);
  return tvmffi_any_to_legacy(any, NULL, value, code);
}

typedef struct {
  tvmffi_legacy_func call;
  void *resource;
  void (*deleter)(void *resource);
} tvmffi_i_legacy_self;

/* A call with up to so many arguments allocates nothing. */
enum { TVMFFI_I_LEGACY_FEW = 16 };

TVMFFI_I_COLD void *tvmffi_i_legacy_memory(int32_t n, size_t size) {
  void *memory = (size_t)n < SIZE_MAX / size
                     ? TVMFFI_I_SCOPE_MALLOC((size_t)n * size)
                     : NULL;
  if (!memory)
    (void)TVMFFI_RAISE("MemoryError",
                       "out of memory for the %d arguments of a legacy call",
                       (int)n);
  return memory;
}

TVMFFI_I_INLINE int tvmffi_i_legacy_apply(const tvmffi_i_legacy_self *s,
                                          const TVMFFIAny *args, int32_t n,
                                          tvmffi_legacy_value *values,
                                          TVMFFIByteArray *rooms, int *codes,
                                          TVMFFIAny *out) {
  tvmffi_legacy_value result;
  int32_t i;
  int err, code = TVMFFI_LEGACY_NULL;
  result.v_int64 = 0;
  for (i = 0; i < n; ++i)
    TVMFFI_TRY(
        tvmffi_any_to_legacy(&args[i], &rooms[i], &values[i], &codes[i]));
  err = s->call(values, codes, (int)n, &result, &code, s->resource);
  if (!err) return tvmffi_i_legacy_result(result, code, out);
  if (err != -2) {
    TVMFFIObject *error = tvmffi_error_take();
    if (error) return tvmffi_error_raise(error);
    (void)TVMFFI_RAISE("RuntimeError", "a legacy function returned %d", err);
    err = -1;
  }
  return err;
}

TVMFFI_I_UNUSED static int tvmffi_i_legacy_call(void *self,
                                                const TVMFFIAny *args,
                                                int32_t n, TVMFFIAny *out) {
  const tvmffi_i_legacy_self *s = (const tvmffi_i_legacy_self *)self;
  tvmffi_legacy_value values[TVMFFI_I_LEGACY_FEW], *many;
  TVMFFIByteArray rooms[TVMFFI_I_LEGACY_FEW];
  int codes[TVMFFI_I_LEGACY_FEW], err;
  if (n <= TVMFFI_I_LEGACY_FEW)
    return tvmffi_i_legacy_apply(s, args, n, values, rooms, codes, out);
  many = (tvmffi_legacy_value *)tvmffi_i_legacy_memory(
      n, sizeof(*values) + sizeof(*rooms) + sizeof(*codes));
  if (!many) return -1;
  err = tvmffi_i_legacy_apply(
      s, args, n, many, (TVMFFIByteArray *)(void *)(many + n),
      (int *)(void *)((TVMFFIByteArray *)(void *)(many + n) + n), out);
  TVMFFI_I_SCOPE_FREE(many);
  return err;
}

TVMFFI_I_UNUSED static void tvmffi_i_legacy_end(void *self) {
  const tvmffi_i_legacy_self *s = (const tvmffi_i_legacy_self *)self;
  if (s->deleter) s->deleter(s->resource);
  TVMFFI_I_SCOPE_FREE(self);
}

/* Makes a function object of a function of the old convention; *out is owned
   by the caller, or by the innermost scope. The resource is taken: the deleter
   (NULL for none) is called with it when the function ends, or at once if it
   cannot be made. A failure of the function is the error that stands in the
   thread's slot, or else a RuntimeError: where it reports a text by
   TVMAPISetLastError, let that be tvmffi_legacy_set_error. */
#define tvmffi_legacy_wrap(func, resource, deleter, out) \
  (TVMFFI_I_HERE tvmffi_i_legacy_wrap(func, resource, deleter, out))

TVMFFI_I_INLINE int tvmffi_i_legacy_wrap(tvmffi_legacy_func func,
                                         void *resource,
                                         void (*deleter)(void *),
                                         TVMFFIObject **out) {
  tvmffi_i_legacy_self *s =
      func ? (tvmffi_i_legacy_self *)TVMFFI_I_SCOPE_MALLOC(sizeof(*s)) : NULL;
  TVMFFIObjectHandle handle = NULL;
  if (!s) {
    if (deleter) deleter(resource);
    return func ? TVMFFI_RAISE("MemoryError",
                               "out of memory for a legacy function")
                : TVMFFI_RAISE("ValueError", "a legacy function is NULL");
  }
  s->call = func;
  s->resource = resource;
  s->deleter = deleter;
  if (TVMFFIFunctionCreate(s, tvmffi_i_legacy_call, tvmffi_i_legacy_end,
                           &handle)) {
    tvmffi_i_legacy_end(s);
    return -1;
  }
  TVMFFI_TRY(tvmffi_i_keep((TVMFFIObject *)handle));
  *out = (TVMFFIObject *)handle;
  return 0;
}

/* What compiled code reports its failures by: puts a RuntimeError with the
   text, which is copied, into the thread's slot. */
TVMFFI_I_INLINE void tvmffi_legacy_set_error(const char *message) {
  (void)TVMFFI_RAISE("RuntimeError", "%s", message ? message : "NULL");
}

/* A function object (borrowed), as a tvmffi_legacy_func whose resource it is.
   Returns what the function does, its error being in the thread's slot.
   Strings and bytes come back as objects, and so does all that has no code of
   its own; who called owns them. */
TVMFFI_I_UNUSED static int tvmffi_legacy_call(tvmffi_legacy_value *args,
                                              int *codes, int n,
                                              tvmffi_legacy_value *result,
                                              int *result_code,
                                              void *function) {
  TVMFFIAny few[TVMFFI_I_LEGACY_FEW], *views = few, out = tvmffi_none();
  int i, err = 0;
  if (!result || !result_code)
    return TVMFFI_RAISE("ValueError", "the result of a legacy call is NULL");
  result->v_int64 = 0;
  *result_code = TVMFFI_LEGACY_NULL;
  if (n > TVMFFI_I_LEGACY_FEW)
    views = (TVMFFIAny *)tvmffi_i_legacy_memory(n, sizeof(*views));
  if (!views) return -1;
  for (i = 0; !err && i < n; ++i)
    err = tvmffi_any_from_legacy(args[i], codes[i], &views[i]);
  if (!err) err = TVMFFIFunctionCall(function, views, n, &out);
  if (views != few) TVMFFI_I_SCOPE_FREE(views);
  if (!err) err = tvmffi_i_result_to_legacy(&out, result, result_code);
  if (err) tvmffi_any_release(&out);
  return err;
}

#endif /* TVMFFI_LEGACY */

#endif /* TVMFFI_INTERFACE */

#if defined(TVMFFI_IMPLEMENTATION) && !defined(TVMFFI_IMPLEMENTED)
#define TVMFFI_IMPLEMENTED

/* The runtime's own releases are not those of the user's code. */
#undef tvmffi_release
#undef tvmffi_any_release

/* From here on the functions of the ABI are those that are defined below. */
#if TVMFFI_DYNAMIC
#undef TVMFFI_I_RENAME
#define TVMFFI_I_RENAME(name) TVMFFI_I_RENAME_(TVMFFI_PREFIX, name)
#endif

#if defined(TVMFFI_MALLOC) != defined(TVMFFI_FREE)
#error "tvmffi.h: define both TVMFFI_MALLOC and TVMFFI_FREE, or neither"
#endif

/* ======== Layout ================================================= >>layout */
/* Static asserts for the size of every struct of the ABI and the offset of
   every field, whoever declared them: this header, or upstream's and the
   system's when those came first. The declarations leave them out, as they
   cost a tenth of their compile time. */

/* With 64-bit pointers, with 32-bit pointers, and (AT3, SIZE3)
   with 32-bit pointers where a struct aligns an int64_t to 4, as i386 does.
   Chosen by the preprocessor where it can: that compiles faster. */
#if UINTPTR_MAX > 0xffffffffu
#define TVMFFI_I_PICK(on64, on32, on_i386) (on64)
#else
typedef struct {
  char byte;
  int64_t word;
} tvmffi_i_align_probe;
#define TVMFFI_I_PICK(on64, on32, on_i386) \
  (offsetof(tvmffi_i_align_probe, word) == 8 ? (on32) : (on_i386))
#endif
#define TVMFFI_I_AT3(type, field, on64, on32, on_i386)             \
  TVMFFI_STATIC_ASSERT(                                            \
      offsetof(type, field) == TVMFFI_I_PICK(on64, on32, on_i386), \
      type##_##field##_offset)
#define TVMFFI_I_AT(type, field, on64, on32) \
  TVMFFI_I_AT3(type, field, on64, on32, on32)
#define TVMFFI_I_SIZE3(type, on64, on32, on_i386)                          \
  TVMFFI_STATIC_ASSERT(sizeof(type) == TVMFFI_I_PICK(on64, on32, on_i386), \
                       type##_size)
#define TVMFFI_I_SIZE(type, on64, on32) TVMFFI_I_SIZE3(type, on64, on32, on32)

TVMFFI_I_SIZE(TVMFFIObjectHandle, 8, 4);
TVMFFI_I_SIZE(size_t, 8, 4);

TVMFFI_I_AT(DLPackVersion, major, 0, 0);
TVMFFI_I_AT(DLPackVersion, minor, 4, 4);
TVMFFI_I_SIZE(DLPackVersion, 8, 8);

TVMFFI_I_AT(DLDevice, device_type, 0, 0);
TVMFFI_I_AT(DLDevice, device_id, 4, 4);
TVMFFI_I_SIZE(DLDevice, 8, 8);

TVMFFI_I_AT(DLDataType, code, 0, 0);
TVMFFI_I_AT(DLDataType, bits, 1, 1);
TVMFFI_I_AT(DLDataType, lanes, 2, 2);
TVMFFI_I_SIZE(DLDataType, 4, 4);

TVMFFI_I_AT(DLTensor, data, 0, 0);
TVMFFI_I_AT(DLTensor, device, 8, 4);
TVMFFI_I_AT(DLTensor, ndim, 16, 12);
TVMFFI_I_AT(DLTensor, dtype, 20, 16);
TVMFFI_I_AT(DLTensor, shape, 24, 20);
TVMFFI_I_AT(DLTensor, strides, 32, 24);
TVMFFI_I_AT3(DLTensor, byte_offset, 40, 32, 28);
TVMFFI_I_SIZE3(DLTensor, 48, 40, 36);

TVMFFI_I_AT(DLManagedTensor, dl_tensor, 0, 0);
TVMFFI_I_AT3(DLManagedTensor, manager_ctx, 48, 40, 36);
TVMFFI_I_AT3(DLManagedTensor, deleter, 56, 44, 40);
TVMFFI_I_SIZE3(DLManagedTensor, 64, 48, 44);

TVMFFI_I_AT(DLManagedTensorVersioned, version, 0, 0);
TVMFFI_I_AT(DLManagedTensorVersioned, manager_ctx, 8, 8);
TVMFFI_I_AT(DLManagedTensorVersioned, deleter, 16, 12);
TVMFFI_I_AT(DLManagedTensorVersioned, flags, 24, 16);
TVMFFI_I_AT(DLManagedTensorVersioned, dl_tensor, 32, 24);
TVMFFI_I_SIZE3(DLManagedTensorVersioned, 80, 64, 60);

TVMFFI_I_AT(DLPackExchangeAPIHeader, version, 0, 0);
TVMFFI_I_AT(DLPackExchangeAPIHeader, prev_api, 8, 8);
TVMFFI_I_SIZE(DLPackExchangeAPIHeader, 16, 12);

TVMFFI_I_AT(DLPackExchangeAPI, header, 0, 0);
TVMFFI_I_AT(DLPackExchangeAPI, managed_tensor_allocator, 16, 12);
TVMFFI_I_AT(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync, 24, 16);
TVMFFI_I_AT(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync, 32, 20);
TVMFFI_I_AT(DLPackExchangeAPI, dltensor_from_py_object_no_sync, 40, 24);
TVMFFI_I_AT(DLPackExchangeAPI, current_work_stream, 48, 28);
TVMFFI_I_SIZE(DLPackExchangeAPI, 56, 32);

TVMFFI_I_AT(TVMFFIVersion, major, 0, 0);
TVMFFI_I_AT(TVMFFIVersion, minor, 4, 4);
TVMFFI_I_AT(TVMFFIVersion, patch, 8, 8);
TVMFFI_I_SIZE(TVMFFIVersion, 12, 12);

TVMFFI_I_AT(TVMFFIObject, combined_ref_count, 0, 0);
TVMFFI_I_AT(TVMFFIObject, type_index, 8, 8);
TVMFFI_I_AT(TVMFFIObject, __padding, 12, 12);
TVMFFI_I_AT(TVMFFIObject, deleter, 16, 16);
TVMFFI_I_AT(TVMFFIObject, __ensure_align, 16, 16);
TVMFFI_I_SIZE(TVMFFIObject, 24, 24);

TVMFFI_I_AT(TVMFFIAny, type_index, 0, 0);
TVMFFI_I_AT(TVMFFIAny, zero_padding, 4, 4);
TVMFFI_I_AT(TVMFFIAny, small_str_len, 4, 4);
TVMFFI_I_AT(TVMFFIAny, v_int64, 8, 8);
TVMFFI_I_AT(TVMFFIAny, v_float64, 8, 8);
TVMFFI_I_AT(TVMFFIAny, v_ptr, 8, 8);
TVMFFI_I_AT(TVMFFIAny, v_c_str, 8, 8);
TVMFFI_I_AT(TVMFFIAny, v_obj, 8, 8);
TVMFFI_I_AT(TVMFFIAny, v_dtype, 8, 8);
TVMFFI_I_AT(TVMFFIAny, v_device, 8, 8);
TVMFFI_I_AT(TVMFFIAny, v_bytes, 8, 8);
TVMFFI_I_AT(TVMFFIAny, v_uint64, 8, 8);
TVMFFI_I_SIZE(TVMFFIAny, 16, 16);

TVMFFI_I_AT(TVMFFIByteArray, data, 0, 0);
TVMFFI_I_AT(TVMFFIByteArray, size, 8, 4);
TVMFFI_I_SIZE(TVMFFIByteArray, 16, 8);

TVMFFI_I_AT(TVMFFIShapeCell, data, 0, 0);
TVMFFI_I_AT(TVMFFIShapeCell, size, 8, 4);
TVMFFI_I_SIZE(TVMFFIShapeCell, 16, 8);

TVMFFI_I_AT(TVMFFISeqCell, data, 0, 0);
TVMFFI_I_AT3(TVMFFISeqCell, size, 8, 8, 4);
TVMFFI_I_AT3(TVMFFISeqCell, capacity, 16, 16, 12);
TVMFFI_I_AT3(TVMFFISeqCell, data_deleter, 24, 24, 20);
TVMFFI_I_SIZE3(TVMFFISeqCell, 32, 32, 24);

TVMFFI_I_AT(TVMFFIErrorCell, kind, 0, 0);
TVMFFI_I_AT(TVMFFIErrorCell, message, 16, 8);
TVMFFI_I_AT(TVMFFIErrorCell, backtrace, 32, 16);
TVMFFI_I_AT(TVMFFIErrorCell, update_backtrace, 48, 24);
TVMFFI_I_AT(TVMFFIErrorCell, cause_chain, 56, 28);
TVMFFI_I_AT(TVMFFIErrorCell, extra_context, 64, 32);
TVMFFI_I_SIZE(TVMFFIErrorCell, 72, 36);

TVMFFI_I_AT(TVMFFIFunctionCell, safe_call, 0, 0);
TVMFFI_I_AT(TVMFFIFunctionCell, cpp_call, 8, 4);
TVMFFI_I_SIZE(TVMFFIFunctionCell, 16, 8);

TVMFFI_I_AT(TVMFFIOpaqueObjectCell, handle, 0, 0);
TVMFFI_I_SIZE(TVMFFIOpaqueObjectCell, 8, 4);

TVMFFI_I_AT(TVMFFIObjectAllocHeader, delete_space, 0, 0);
TVMFFI_I_SIZE(TVMFFIObjectAllocHeader, 8, 4);

TVMFFI_I_AT(TVMFFICustomAllocator, allocate, 0, 0);
TVMFFI_I_AT(TVMFFICustomAllocator, context, 8, 4);
TVMFFI_I_SIZE(TVMFFICustomAllocator, 16, 8);

TVMFFI_I_AT(TVMFFIFieldInfo, name, 0, 0);
TVMFFI_I_AT(TVMFFIFieldInfo, doc, 16, 8);
TVMFFI_I_AT(TVMFFIFieldInfo, metadata, 32, 16);
TVMFFI_I_AT(TVMFFIFieldInfo, flags, 48, 24);
TVMFFI_I_AT(TVMFFIFieldInfo, size, 56, 32);
TVMFFI_I_AT(TVMFFIFieldInfo, alignment, 64, 40);
TVMFFI_I_AT(TVMFFIFieldInfo, offset, 72, 48);
TVMFFI_I_AT(TVMFFIFieldInfo, getter, 80, 56);
TVMFFI_I_AT(TVMFFIFieldInfo, setter, 88, 60);
TVMFFI_I_AT(TVMFFIFieldInfo, default_value_or_factory, 96, 64);
TVMFFI_I_AT(TVMFFIFieldInfo, field_static_type_index, 112, 80);
TVMFFI_I_SIZE3(TVMFFIFieldInfo, 120, 88, 84);

TVMFFI_I_AT(TVMFFIMethodInfo, name, 0, 0);
TVMFFI_I_AT(TVMFFIMethodInfo, doc, 16, 8);
TVMFFI_I_AT(TVMFFIMethodInfo, metadata, 32, 16);
TVMFFI_I_AT(TVMFFIMethodInfo, flags, 48, 24);
TVMFFI_I_AT(TVMFFIMethodInfo, method, 56, 32);
TVMFFI_I_SIZE(TVMFFIMethodInfo, 72, 48);

TVMFFI_I_AT(TVMFFITypeMetadata, doc, 0, 0);
TVMFFI_I_AT(TVMFFITypeMetadata, creator, 16, 8);
TVMFFI_I_AT(TVMFFITypeMetadata, total_size, 24, 12);
TVMFFI_I_AT(TVMFFITypeMetadata, structural_eq_hash_kind, 28, 16);
TVMFFI_I_SIZE(TVMFFITypeMetadata, 32, 20);

TVMFFI_I_AT(TVMFFITypeAttrColumn, data, 0, 0);
TVMFFI_I_AT(TVMFFITypeAttrColumn, size, 8, 4);
TVMFFI_I_AT(TVMFFITypeAttrColumn, begin_index, 12, 8);
TVMFFI_I_SIZE(TVMFFITypeAttrColumn, 16, 12);

TVMFFI_I_AT(TVMFFITypeInfo, type_index, 0, 0);
TVMFFI_I_AT(TVMFFITypeInfo, type_depth, 4, 4);
TVMFFI_I_AT(TVMFFITypeInfo, type_key, 8, 8);
TVMFFI_I_AT(TVMFFITypeInfo, type_ancestors, 24, 16);
TVMFFI_I_AT3(TVMFFITypeInfo, type_key_hash, 32, 24, 20);
TVMFFI_I_AT3(TVMFFITypeInfo, num_fields, 40, 32, 28);
TVMFFI_I_AT3(TVMFFITypeInfo, num_methods, 44, 36, 32);
TVMFFI_I_AT3(TVMFFITypeInfo, fields, 48, 40, 36);
TVMFFI_I_AT3(TVMFFITypeInfo, methods, 56, 44, 40);
TVMFFI_I_AT3(TVMFFITypeInfo, metadata, 64, 48, 44);
TVMFFI_I_SIZE3(TVMFFITypeInfo, 72, 56, 48);

/* ======== Platform ============================================= >>platform */
/* What the runtime takes from outside: memory, one mutex, thread-local state,
   the unwinder and the dynamic loader. Nothing below asks for the platform.
   The mutex is a leaf: no code of a user and no raise runs under it, except
   TVMFFI_MALLOC, which must not call the runtime. */

#include <string.h>
#if !defined(TVMFFI_MALLOC) || !TVMFFI_NO_BACKTRACE
#include <stdlib.h>
#endif
#if !TVMFFI_NO_STDIO
#include <stdio.h>
#endif
#if !TVMFFI_NO_THREADS
#include <pthread.h>
#include <sched.h>
#endif

#if defined(TVMFFI_MALLOC)
#define TVMFFI_I_MALLOC(size) TVMFFI_MALLOC(size)
#define TVMFFI_I_FREE(pointer) TVMFFI_FREE(pointer)
#else
#define TVMFFI_I_MALLOC(size) malloc(size)
#define TVMFFI_I_FREE(pointer) free(pointer)
#endif

#define TVMFFI_I_NEW(type, size) (type *)TVMFFI_I_MALLOC(size)

/* Whether threads keep the memory of dead objects. A sanitizer could not tell
   such an object from the one that has its memory now. */
#if TVMFFI_NO_POOL || TVMFFI_DEBUG || defined(__SANITIZE_ADDRESS__) || \
    defined(__SANITIZE_THREAD__)
#define TVMFFI_I_POOL 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || \
    __has_feature(thread_sanitizer)
#define TVMFFI_I_POOL 0
#else
#define TVMFFI_I_POOL 1
#endif
#else
#define TVMFFI_I_POOL 1
#endif

typedef struct {
  int32_t device_type, device_id;
  TVMFFIStreamHandle stream;
} tvmffi_i_stream;

#if TVMFFI_I_POOL
/* Classes of blocks, and the units of 16 bytes that a thread keeps: 1 MB. */
enum { TVMFFI_I_POOL_CLASSES = 31, TVMFFI_I_POOL_ROOM = 65536 };
#endif

/* What the runtime keeps for each thread; freed when the thread ends. */
typedef struct {
  TVMFFIObject *error;            /* raised and not yet taken: owned */
  TVMFFIObject *doomed;           /* waiting to be destroyed, linked */
  struct tvmffi_i_fading *fading; /* the same, with weak references */
  tvmffi_i_stream *stream;        /* a hash table of stream_mask + 1 places */
  uint32_t stream_mask, num_streams;
  DLPackManagedTensorAllocator allocator;
  char *trace; /* the text that TVMFFIBacktrace gave last */
  size_t trace_capacity;
  TVMFFIByteArray trace_view;
  const void *making; /* the node of a system library: see >>module */
  struct tvmffi_i_map_guard *guard; /* maps that must not change now */
  int nesting; /* structural hooks and keys that are being called */
  int destroying;
  int exit_is_set;
#if TVMFFI_I_POOL
  void *pool[TVMFFI_I_POOL_CLASSES]; /* free blocks, linked: see >>util */
  int32_t pool_room;                 /* for so many units of 16 bytes more */
  int pool_state; /* 0: not begun, 1: blocks are kept, -1: never again */
#endif
} tvmffi_i_thread;

TVMFFI_I_UNUSED static void tvmffi_i_thread_exit(tvmffi_i_thread *t);
#if TVMFFI_I_POOL
static void tvmffi_i_pool_end(tvmffi_i_thread *t); /* with >>util */
#endif

#if TVMFFI_NO_THREADS
static tvmffi_i_thread tvmffi_i_the_thread;
TVMFFI_I_INLINE tvmffi_i_thread *tvmffi_i_self(void) {
  return &tvmffi_i_the_thread;
}
TVMFFI_I_INLINE void tvmffi_i_watch_exit(tvmffi_i_thread *t) {
  t->exit_is_set = 1; /* it never ends */
}
TVMFFI_I_INLINE void tvmffi_i_lock(void) {}
TVMFFI_I_INLINE void tvmffi_i_unlock(void) {}
TVMFFI_I_INLINE void tvmffi_i_yield(void) {}
TVMFFI_I_INLINE void tvmffi_i_sleep(void) {}
TVMFFI_I_INLINE void tvmffi_i_wake(void) {}
TVMFFI_I_INLINE int tvmffi_i_hold_cancel(void) { return 0; }
TVMFFI_I_INLINE void tvmffi_i_free_cancel(int state) { (void)state; }
#else
static __thread tvmffi_i_thread tvmffi_i_the_thread;
static pthread_mutex_t tvmffi_i_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t tvmffi_i_changed = PTHREAD_COND_INITIALIZER;
static pthread_once_t tvmffi_i_fork_once = PTHREAD_ONCE_INIT;
static pthread_key_t tvmffi_i_exit_key;
static int tvmffi_i_has_exit_key;

/* The compiler must not know where the pointer comes from: it would ask for the
   thread's memory anew after each call, and in a shared library that is a
   call, too. */
TVMFFI_I_INLINE tvmffi_i_thread *tvmffi_i_self(void) {
  tvmffi_i_thread *self = &tvmffi_i_the_thread;
#if TVMFFI_I_GNU
  __asm__("" : "+r"(self));
#endif
  return self;
}
static void tvmffi_i_lock(void);
static void tvmffi_i_unlock(void);
TVMFFI_I_INLINE void tvmffi_i_yield(void) { (void)sched_yield(); }

/* Waits for tvmffi_i_wake, both with the mutex held. */
TVMFFI_I_INLINE void tvmffi_i_sleep(void) {
  (void)pthread_cond_wait(&tvmffi_i_changed, &tvmffi_i_mutex);
}
TVMFFI_I_INLINE void tvmffi_i_wake(void) {
  (void)pthread_cond_broadcast(&tvmffi_i_changed);
}

/* Between the two a thread that is cancelled goes on. */
TVMFFI_I_INLINE int tvmffi_i_hold_cancel(void) {
  int state = 0;
#if defined(PTHREAD_CANCEL_DISABLE)
  (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
#endif
  return state;
}
TVMFFI_I_INLINE void tvmffi_i_free_cancel(int state) {
#if defined(PTHREAD_CANCEL_DISABLE)
  (void)pthread_setcancelstate(state, &state);
#else
  (void)state;
#endif
}

#if defined(__cplusplus)
extern "C" {
#endif
static void tvmffi_i_on_exit(void *thread) {
  tvmffi_i_thread_exit((tvmffi_i_thread *)thread);
}
static void tvmffi_i_before_fork(void) { tvmffi_i_lock(); }
static void tvmffi_i_after_fork(void) { tvmffi_i_unlock(); }
static void tvmffi_i_watch_fork(void) {
  (void)pthread_atfork(tvmffi_i_before_fork, tvmffi_i_after_fork,
                       tvmffi_i_after_fork);
}
#if defined(__cplusplus)
}
#endif

/* The mutex is only taken where something is written or started. A process
   that forks while another of its threads holds it gets a child in which it is
   free. */
static void tvmffi_i_lock(void) {
  (void)pthread_once(&tvmffi_i_fork_once, tvmffi_i_watch_fork);
  (void)pthread_mutex_lock(&tvmffi_i_mutex);
}
static void tvmffi_i_unlock(void) {
  (void)pthread_mutex_unlock(&tvmffi_i_mutex);
}

/* Asks for tvmffi_i_thread_exit at the end of this thread. Where the system
   refuses, the thread's last error stays in memory. */
TVMFFI_I_COLD void tvmffi_i_watch_exit(tvmffi_i_thread *t) {
  int has;
  tvmffi_i_lock();
  has = tvmffi_i_has_exit_key ||
        pthread_key_create(&tvmffi_i_exit_key, tvmffi_i_on_exit) == 0;
  tvmffi_i_has_exit_key = has;
  tvmffi_i_unlock();
  t->exit_is_set = has && pthread_setspecific(tvmffi_i_exit_key, t) == 0;
}

/* A library that is unloaded while threads live must leave no address of its
   own behind. The memory that it keeps for other threads than this one is lost
   with it. Memory of a TVMFFI_FREE stays: at the program's end that may be no
   more. */
#if TVMFFI_I_GNU
__attribute__((destructor)) static void tvmffi_i_unload(void) {
  tvmffi_i_lock();
  if (tvmffi_i_has_exit_key) (void)pthread_key_delete(tvmffi_i_exit_key);
  tvmffi_i_has_exit_key = 0;
  tvmffi_i_unlock();
#if TVMFFI_I_POOL && !defined(TVMFFI_MALLOC)
  tvmffi_i_pool_end(tvmffi_i_self());
#endif
}
#endif
#endif

/* ======== Util ===================================================== >>util */
/* A hash, and the map that every registry is made of: insert-only, written
   under the mutex, read without it. Its nodes are never moved or freed; a
   table of slots that has grown too small is kept, since a reader may be in
   it (all old ones together are smaller than the present one). */

/* -------- Memory -------- */

/* Small objects are made and die so often that malloc and free would be most of
   their cost. So a thread keeps the blocks of those that it destroys, one list
   for each class of size, and takes from there first. No lock is needed, as a
   thread touches none but its own lists; a block may come from any thread,
   since each was allocated by itself and can be freed by itself. A thread keeps
   TVMFFI_I_POOL_ROOM at most, whatever their classes, and frees what is more.
   It gives all back when it ends, and when memory is refused to it. An object's
   size is not stored: its deleter knows it, or calls tvmffi_i_free, which is
   always right. */

#if TVMFFI_I_POOL
/* The sizes of classes end where those of common mallocs do, with a word of
   their own before each block: so no block takes more than it would have. */
TVMFFI_I_INLINE size_t tvmffi_i_pool_class(size_t size) {
  return (size + sizeof(size_t) - 1) / 16;
}

/* Gives back what a thread keeps; tells whether there was any. */
TVMFFI_I_SLOW int tvmffi_i_pool_flush(tvmffi_i_thread *t) {
  int i, any = 0;
  for (i = 0; i < TVMFFI_I_POOL_CLASSES; ++i) {
    while (t->pool[i]) {
      void *block = t->pool[i];
      t->pool[i] = *(void **)block;
      t->pool_room += i;
      TVMFFI_I_FREE(block);
      any = 1;
    }
  }
  return any;
}

/* From now on the thread keeps nothing. */
static void tvmffi_i_pool_end(tvmffi_i_thread *t) {
  t->pool_state = -1;
  (void)tvmffi_i_pool_flush(t);
  t->pool_room = 0;
}

/* Where there is no room: a thread begins to keep blocks with its second one,
   if it is told of its end. */
TVMFFI_I_SLOW void tvmffi_i_pool_full(tvmffi_i_thread *t, void *block) {
  if (!t->pool_state) {
    if (!t->exit_is_set) tvmffi_i_watch_exit(t);
    t->pool_state = t->exit_is_set ? 1 : -1;
    if (t->exit_is_set) t->pool_room = TVMFFI_I_POOL_ROOM;
  }
  TVMFFI_I_FREE(block);
}
#endif

/* Out of line: some hundred places want memory. */
TVMFFI_I_NOINLINE void *tvmffi_i_alloc(size_t size) {
  void *block = size > PTRDIFF_MAX ? NULL : TVMFFI_I_MALLOC(size);
#if TVMFFI_I_POOL
  if (TVMFFI_I_UNLIKELY(!block) && size <= PTRDIFF_MAX &&
      tvmffi_i_pool_flush(tvmffi_i_self()))
    block = TVMFFI_I_MALLOC(size);
#endif
  return block;
}

#if TVMFFI_DEBUG
static int tvmffi_i_debug_dies(void *object);
#endif

TVMFFI_I_INLINE void tvmffi_i_free(void *pointer) {
#if TVMFFI_DEBUG
  if (pointer && tvmffi_i_debug_dies(pointer)) return;
#endif
  if (pointer) TVMFFI_I_FREE(pointer);
}

/* A block that the thread has kept, or NULL. */
TVMFFI_I_INLINE void *tvmffi_i_pool_take(size_t size) {
#if TVMFFI_I_POOL
  tvmffi_i_thread *t = tvmffi_i_self();
  size_t i = tvmffi_i_pool_class(size);
  void *block = i < TVMFFI_I_POOL_CLASSES ? t->pool[i] : NULL;
  if (!block) return block;
  t->pool[i] = *(void **)block;
  t->pool_room += (int32_t)i;
  return block;
#else
  (void)size;
  return NULL;
#endif
}

/* A new block: as large as any of its class. */
TVMFFI_I_NOINLINE void *tvmffi_i_pool_make(size_t size) {
#if TVMFFI_I_POOL
  size_t i = tvmffi_i_pool_class(size);
  if (i < TVMFFI_I_POOL_CLASSES) size = i * 16 + 16 - sizeof(size_t);
#endif
  return tvmffi_i_alloc(size);
}

/* Memory that tvmffi_i_pool_free or tvmffi_i_free frees. */
TVMFFI_I_INLINE void *tvmffi_i_pool_alloc(size_t size) {
  void *block = tvmffi_i_pool_take(size);
  return TVMFFI_I_LIKELY(block != NULL) ? block : tvmffi_i_pool_make(size);
}

/* Frees what tvmffi_i_pool_alloc gave. `size`: what was asked for, or less. */
TVMFFI_I_INLINE void tvmffi_i_pool_free(void *block, size_t size) {
#if TVMFFI_I_POOL
  tvmffi_i_thread *t = tvmffi_i_self();
  size_t i = tvmffi_i_pool_class(size);
  if (TVMFFI_I_UNLIKELY(i >= TVMFFI_I_POOL_CLASSES)) {
    TVMFFI_I_FREE(block);
  } else if (TVMFFI_I_UNLIKELY(t->pool_room < (int32_t)i)) {
    tvmffi_i_pool_full(t, block);
  } else {
    *(void **)block = t->pool[i];
    t->pool[i] = block;
    t->pool_room -= (int32_t)i;
  }
#else
  (void)size;
  tvmffi_i_free(block);
#endif
}

/* -------- Hash and map -------- */

/* Eight bytes, or four: text has no alignment. */
TVMFFI_I_INLINE uint64_t tvmffi_i_read64(const char *data) {
  uint64_t word;
  memcpy(&word, data, 8);
  return word;
}
TVMFFI_I_INLINE uint32_t tvmffi_i_read32(const char *data) {
  uint32_t word;
  memcpy(&word, data, 4);
  return word;
}

/* Multiply and fold. Two lanes of eight bytes, so that one multiplication need
   not wait for the other; what is left is read from both ends, and may be read
   twice. */
TVMFFI_I_ALWAYS_INLINE uint32_t tvmffi_i_hash(const char *data, size_t size) {
  const uint64_t k = 0x9E3779B97F4A7C15u, l = 0xC2B2AE3D27D4EB4Fu;
  uint64_t g = size * k, h = size, first = 0, last = 0;
  for (; size > 16; size -= 16, data += 16) {
    g = (g ^ tvmffi_i_read64(data)) * k;
    h = (h ^ tvmffi_i_read64(data + 8)) * l;
    g ^= g >> 32;
    h ^= h >> 32;
  }
  if (size >= 8) {
    first = tvmffi_i_read64(data);
    last = tvmffi_i_read64(data + size - 8);
  } else if (size >= 4) {
    first = tvmffi_i_read32(data);
    last = tvmffi_i_read32(data + size - 4);
  } else if (size) {
    first = (uint64_t)(unsigned char)data[0] |
            (uint64_t)(unsigned char)data[size / 2] << 8 |
            (uint64_t)(unsigned char)data[size - 1] << 16;
  }
  g = (g ^ first) * k;
  h = (h ^ last) * l;
  g ^= h << 32 | h >> 32;
  g = (g ^ g >> 29) * k;
  return (uint32_t)(g >> 32);
}

/* Whether two texts of a size are the same: for short ones, a call of memcmp
   costs more than what it does. */
TVMFFI_I_INLINE int tvmffi_i_same_key(const char *a, const char *b,
                                      size_t size) {
  size_t i;
  if (size >= 8) {
    for (i = 0; i + 8 < size; i += 8)
      if (tvmffi_i_read64(a + i) != tvmffi_i_read64(b + i)) return 0;
    return tvmffi_i_read64(a + size - 8) == tvmffi_i_read64(b + size - 8);
  }
  if (size >= 4)
    return tvmffi_i_read32(a) == tvmffi_i_read32(b) &&
           tvmffi_i_read32(a + size - 4) == tvmffi_i_read32(b + size - 4);
  return !size || (a[0] == b[0] && a[size / 2] == b[size / 2] &&
                   a[size - 1] == b[size - 1]);
}

typedef struct tvmffi_i_node {
  const char *key;
  struct tvmffi_i_node *next; /* in order of insertion */
  uint32_t size, hash;
} tvmffi_i_node;

/* Followed by mask + 1 addresses of nodes. The low bits, which are zero in an
   address, are bits of the node's hash: so a search reads few nodes but the
   one that it is for, and nearly each read is a miss in a large map. */
typedef struct tvmffi_i_slots {
  size_t mask;
  struct tvmffi_i_slots *older;
} tvmffi_i_slots;

enum { TVMFFI_I_TAG = offsetof(tvmffi_i_node, next) - 1 };

typedef struct {
  tvmffi_i_slots *slots;
  tvmffi_i_node *first, *last;
  size_t count;
} tvmffi_i_map;

TVMFFI_I_INLINE uintptr_t *tvmffi_i_places(tvmffi_i_slots *slots) {
  return (uintptr_t *)(void *)(slots + 1);
}

/* The bits of a hash that stand in its slot: not those that choose it. */
TVMFFI_I_INLINE uintptr_t tvmffi_i_tag(uint32_t hash) {
  return (uintptr_t)(hash >> 29) & TVMFFI_I_TAG;
}

TVMFFI_I_ALWAYS_INLINE tvmffi_i_node *tvmffi_i_find_hashed(tvmffi_i_map *map,
                                                           const char *key,
                                                           size_t size,
                                                           uint32_t hash) {
  tvmffi_i_slots *slots = TVMFFI_I_LOAD(&map->slots);
  tvmffi_i_node *node;
  uintptr_t place;
  size_t i;
  if (!slots) return NULL;
  for (i = hash & slots->mask;; i = (i + 1) & slots->mask) {
    place = TVMFFI_I_LOAD(&tvmffi_i_places(slots)[i]);
    if (!place) return NULL;
    if ((place & TVMFFI_I_TAG) != tvmffi_i_tag(hash)) continue;
    node = (tvmffi_i_node *)(place - tvmffi_i_tag(hash));
    if (node->hash == hash && node->size == size &&
        tvmffi_i_same_key(node->key, key, size))
      return node;
  }
}

TVMFFI_I_NOINLINE tvmffi_i_node *tvmffi_i_find(tvmffi_i_map *map,
                                               const char *key, size_t size) {
  return tvmffi_i_find_hashed(map, key, size, tvmffi_i_hash(key, size));
}

static void tvmffi_i_place(tvmffi_i_slots *slots, tvmffi_i_node *node) {
  size_t i = node->hash & slots->mask;
  while (tvmffi_i_places(slots)[i]) i = (i + 1) & slots->mask;
  TVMFFI_I_STORE(&tvmffi_i_places(slots)[i],
                 (uintptr_t)node + tvmffi_i_tag(node->hash));
}

/* Makes room for one more node, whose key has `size` bytes; the mutex is held.
 */
static int tvmffi_i_reserve(tvmffi_i_map *map, size_t size) {
  tvmffi_i_slots *old = map->slots, *slots;
  tvmffi_i_node *node;
  size_t places = old ? (old->mask + 1) * 2 : 64;
  if (size > UINT32_MAX) return -1;
  if (old && map->count * 2 <= old->mask) return 0;
  slots = (tvmffi_i_slots *)tvmffi_i_alloc(sizeof(tvmffi_i_slots) +
                                           places * sizeof(node));
  if (!slots) return -1;
  memset((void *)slots, 0, sizeof(tvmffi_i_slots) + places * sizeof(node));
  slots->mask = places - 1;
  slots->older = old;
  for (node = map->first; node; node = node->next) tvmffi_i_place(slots, node);
  TVMFFI_I_STORE(&map->slots, slots);
  return 0;
}

/* Puts a node for which tvmffi_i_reserve made room; the mutex is held. */
static void tvmffi_i_insert_hashed(tvmffi_i_map *map, tvmffi_i_node *node,
                                   const char *key, size_t size,
                                   uint32_t hash) {
  node->key = key;
  node->size = (uint32_t)size;
  node->hash = hash;
  node->next = NULL;
  tvmffi_i_place(map->slots, node);
  if (map->last)
    TVMFFI_I_STORE(&map->last->next, node);
  else
    TVMFFI_I_STORE(&map->first, node);
  map->last = node;
  ++map->count;
}

static void tvmffi_i_insert(tvmffi_i_map *map, tvmffi_i_node *node,
                            const char *key, size_t size) {
  tvmffi_i_insert_hashed(map, node, key, size, tvmffi_i_hash(key, size));
}

/* The hash of a type key, which structural hashes begin with and which crosses
   process borders with them. Upstream takes std::hash of its C++ library, and
   this is libstdc++'s: MurmurHash64A, or MurmurHash2 where a word has 32 bits
   (A. Appleby, 2008), with the seed 0xc70f6907. */
static uint64_t tvmffi_i_type_key_hash(const char *data, size_t size) {
  const int wide = sizeof(void *) == 8;
  const uint64_t mask = wide ? UINT64_MAX : UINT32_MAX;
  const uint64_t k = wide ? 0xC6A4A7935BD1E995u : 0x5BD1E995u;
  uint64_t h = 0xC70F6907u ^ (wide ? size * k : size), word;
  size_t n = sizeof(void *), left = size, i;
  for (; left; left -= n, data += n) {
    if (n > left) n = left;
    for (word = 0, i = 0; i < n; ++i)
      word |= (uint64_t)(unsigned char)data[i] << (8 * i);
    if (n == sizeof(void *)) {
      word = word * k & mask;
      word = (word ^ word >> (wide ? 47 : 24)) * k & mask;
      if (!wide) h = h * k & mask;
      h ^= word;
      if (wide) h *= k;
    } else {
      h = (h ^ word) * k & mask;
    }
  }
  h = (h ^ h >> (wide ? 47 : 13)) * k & mask;
  return h ^ h >> (wide ? 47 : 15);
}

/* A stack of frames of one size, in chunks that never move: a frame stays where
   it is until it is taken off. The first chunk may be room that the caller has,
   so that what is shallow allocates nothing; the others are kept to the end.
   Open it before its first use; tvmffi_i_stack_close frees it. */
typedef struct tvmffi_i_chunk {
  struct tvmffi_i_chunk *below, *above;
  char *first, *end; /* of its frames */
} tvmffi_i_chunk;

typedef struct {
  char *next; /* behind the newest frame */
  size_t depth;
  tvmffi_i_chunk *chunk; /* that the newest frame is in */
  tvmffi_i_chunk bottom;
} tvmffi_i_stack;

/* As deep as upstream goes. */
enum { TVMFFI_I_MAX_FRAMES_OPEN = 1 << 20 };

/* Both with >>raise. */
TVMFFI_I_COLD int tvmffi_i_no_memory(void);
TVMFFI_I_PRINTF(2, 3)
TVMFFI_I_COLD int tvmffi_i_fail(const char *kind, const char *format, ...);

/* `size` bytes at `room` hold a whole number of frames, or none. */
TVMFFI_I_INLINE void tvmffi_i_stack_open(tvmffi_i_stack *s, void *room,
                                         size_t size) {
  s->next = s->bottom.first = (char *)room;
  s->depth = 0;
  s->chunk = &s->bottom;
  s->bottom.below = s->bottom.above = NULL;
  s->bottom.end = size ? s->next + size : s->next;
}

TVMFFI_I_INLINE void tvmffi_i_stack_close(tvmffi_i_stack *s) {
  tvmffi_i_chunk *c = s->bottom.above, *above;
  for (; TVMFFI_I_UNLIKELY(c != NULL); c = above) {
    above = c->above;
    tvmffi_i_free(c);
  }
}

/* Out of line: goes on in the chunk above, which is made at the first time. */
TVMFFI_I_NOINLINE void *tvmffi_i_push_chunk(tvmffi_i_stack *s, size_t size,
                                            const char *name) {
  tvmffi_i_chunk *below = s->chunk, *c = below->above;
  size_t n = ((below == &s->bottom ? 4096 : 32768) - sizeof(*c)) / size;
  size_t left = name ? TVMFFI_I_MAX_FRAMES_OPEN - s->depth : n;
  if (!left) {
    (void)tvmffi_i_fail("ValueError", "%s: maximum stack depth (%d) exceeded",
                        name, (int)TVMFFI_I_MAX_FRAMES_OPEN);
    return NULL;
  }
  if (n > left) n = left;
  if (!c) {
    c = (tvmffi_i_chunk *)tvmffi_i_alloc(sizeof(*c) + n * size);
    if (!c) {
      (void)tvmffi_i_no_memory();
      return NULL;
    }
    c->below = below;
    c->above = NULL;
    c->first = (char *)(c + 1);
    c->end = c->first + n * size;
    below->above = c;
  }
  s->chunk = c;
  s->next = c->first + size;
  ++s->depth;
  return c->first;
}

/* Gives a new frame, or NULL with the error raised. A stack with a name has a
   limit, and the error names it. */
TVMFFI_I_INLINE void *tvmffi_i_push(tvmffi_i_stack *s, size_t size,
                                    const char *name) {
  char *frame = s->next;
  if (TVMFFI_I_UNLIKELY(frame == s->chunk->end))
    return tvmffi_i_push_chunk(s, size, name);
  s->next = frame + size;
  ++s->depth;
  return frame;
}

/* Takes the newest frame off. */
TVMFFI_I_INLINE void tvmffi_i_pop(tvmffi_i_stack *s, size_t size) {
  s->next -= size;
  --s->depth;
  if (TVMFFI_I_UNLIKELY(s->next == s->chunk->first) && s->chunk->below) {
    s->chunk = s->chunk->below;
    s->next = s->chunk->end;
  }
}

#define TVMFFI_I_PUSH(type, stack, name) \
  ((type *)tvmffi_i_push(stack, sizeof(type), name))
#define TVMFFI_I_POP(type, stack) tvmffi_i_pop(stack, sizeof(type))
#define TVMFFI_I_TOP(type, stack) \
  ((type *)(void *)((stack)->next - sizeof(type)))

#if !TVMFFI_NO_EXTRA
/* A text that grows. Before it is room for the head of a string object, so that
   tvmffi_i_text_take need not copy it. An allocation that is refused is
   remembered, nothing is added from then on, and the error is told once, at the
   end. Begin with all members zero; tvmffi_i_text_release frees it. */
typedef struct {
  char *data;
  size_t size, capacity;
  int failed;
} tvmffi_i_text_buffer;

enum { TVMFFI_I_TEXT_HEAD = sizeof(TVMFFIObject) + sizeof(TVMFFIByteArray) };

static void tvmffi_i_text_release(tvmffi_i_text_buffer *b) {
  if (b->data) tvmffi_i_free(b->data - TVMFFI_I_TEXT_HEAD);
  b->data = NULL;
  b->size = b->capacity = 0;
}

/* Out of line: room for `size` bytes more and a NUL, twice as much as before at
   least. */
TVMFFI_I_SLOW int tvmffi_i_text_grow(tvmffi_i_text_buffer *b, size_t size) {
  size_t capacity;
  char *data;
  if (b->failed) return -1;
  b->failed = 1;
  if (size > PTRDIFF_MAX / 4 || b->size > PTRDIFF_MAX / 4) return -1;
  capacity = 2 * b->size + size + 128;
  data = (char *)tvmffi_i_alloc(TVMFFI_I_TEXT_HEAD + capacity);
  if (!data) return -1;
  data += TVMFFI_I_TEXT_HEAD;
  if (b->size) memcpy(data, b->data, b->size);
  if (b->data) tvmffi_i_free(b->data - TVMFFI_I_TEXT_HEAD);
  b->data = data;
  b->capacity = capacity;
  b->failed = 0;
  return 0;
}

/* Where `size` bytes may be written, which count when b->size is raised, or
   NULL when there is no memory. One byte behind them is room for a NUL. */
TVMFFI_I_INLINE char *tvmffi_i_text_room(tvmffi_i_text_buffer *b, size_t size) {
  if (TVMFFI_I_UNLIKELY(size >= b->capacity - b->size || b->failed) &&
      tvmffi_i_text_grow(b, size))
    return NULL;
  return b->data + b->size;
}

TVMFFI_I_INLINE void tvmffi_i_text_put(tvmffi_i_text_buffer *b,
                                       const char *data, size_t size) {
  char *at = tvmffi_i_text_room(b, size);
  if (!at || !size) return;
  memcpy(at, data, size);
  b->size += size;
}

TVMFFI_I_INLINE void tvmffi_i_text_str(tvmffi_i_text_buffer *b,
                                       const char *text) {
  tvmffi_i_text_put(b, text, strlen(text));
}

TVMFFI_I_INLINE void tvmffi_i_text_char(tvmffi_i_text_buffer *b, char c) {
  char *at = tvmffi_i_text_room(b, 1);
  if (!at) return;
  *at = c;
  ++b->size;
}

TVMFFI_I_UNUSED static void tvmffi_i_text_int(tvmffi_i_text_buffer *b,
                                              int64_t x) {
  char digits[20];
  size_t at = sizeof(digits);
  uint64_t rest = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
  do {
    digits[--at] = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest);
  if (x < 0) digits[--at] = '-';
  tvmffi_i_text_put(b, digits + at, sizeof(digits) - at);
}
#endif

/* ======== Raise =================================================== >>raise */
/* How the runtime reports its own errors, and the MemoryError that exists
   before it is needed: static, pinned, without a trace. */

typedef struct {
  TVMFFIObject base;
  TVMFFIErrorCell cell;
  char *trace; /* set by update_backtrace: owned */
  size_t trace_capacity;
} tvmffi_i_error;

static void tvmffi_i_keep_trace(TVMFFIObjectHandle self,
                                const TVMFFIByteArray *trace, int32_t mode) {
  (void)self, (void)trace, (void)mode;
}

static tvmffi_i_error tvmffi_i_memory_error = {
    {TVMFFI_I_PINNED | TVMFFI_I_WEAK_ONE, kTVMFFIError, 0, {NULL}},
    {{"MemoryError", 11},
     {"out of memory", 13},
     {"", 0},
     tvmffi_i_keep_trace,
     NULL,
     NULL},
    NULL,
    0};

TVMFFI_I_COLD int tvmffi_i_no_memory(void) {
  TVMFFIErrorSetRaised(&tvmffi_i_memory_error);
  return -1;
}

TVMFFI_I_PRINTF(2, 3)
TVMFFI_I_COLD int tvmffi_i_fail(const char *kind, const char *format, ...) {
  char buffer[TVMFFI_MESSAGE_SIZE];
  va_list ap;
  va_start(ap, format);
  (void)tvmffi_i_message(buffer, format, ap);
  va_end(ap);
  TVMFFIErrorSetRaisedFromCStr(kind, buffer);
  return -1;
}

/* How much of a text a message shows: 200 bytes, and no part of a character of
   UTF-8, as Python could not read that. */
TVMFFI_I_COLD int tvmffi_i_clip(const char *text, size_t size) {
  int n = size < 200 ? (int)size : 200;
  if (size > 200)
    while (n > 196 && ((unsigned char)text[n] & 0xC0) == 0x80) --n;
  return n;
}

/* What "%.*s" takes for a byte array. */
#define TVMFFI_I_TEXT(bytes) \
  tvmffi_i_clip((bytes).data, (bytes).size), (bytes).data

TVMFFI_I_COLD int tvmffi_i_null(const char *function, const char *what) {
  return tvmffi_i_fail("ValueError", "%s: %s must not be NULL", function, what);
}

#define TVMFFI_I_NOT_NULL(pointer) \
  if (TVMFFI_I_UNLIKELY(!(pointer))) return tvmffi_i_null(__func__, #pointer)

/* Whether a byte array can be: NULL has no bytes, and no memory is that large
   (no 64-bit address space has 2^56 bytes). */
TVMFFI_I_INLINE int tvmffi_i_is_bytes(const TVMFFIByteArray *bytes) {
  const size_t most = PTRDIFF_MAX >> (sizeof(size_t) > 4 ? 7 : 0);
  return bytes && (bytes->data || !bytes->size) && bytes->size <= most;
}

TVMFFI_I_COLD int tvmffi_i_bad_bytes(const char *function, const char *what,
                                     const TVMFFIByteArray *bytes) {
  if (!bytes) return tvmffi_i_null(function, what);
  return tvmffi_i_fail("ValueError", "%s: %s is %s of %lld bytes", function,
                       what, bytes->data ? "an array" : "NULL instead",
                       (long long)bytes->size);
}

#define TVMFFI_I_BYTES(bytes)                       \
  if (TVMFFI_I_UNLIKELY(!tvmffi_i_is_bytes(bytes))) \
  return tvmffi_i_bad_bytes(__func__, #bytes, bytes)

/* Raises unless `handle` is an object of type `index`. */
TVMFFI_I_SLOW int tvmffi_i_check_type(const char *function, const char *what,
                                      TVMFFIObjectHandle handle,
                                      int32_t index) {
  int32_t got;
  if (!handle) return tvmffi_i_null(function, what);
  got = ((TVMFFIObject *)handle)->type_index;
  if (tvmffi_is_instance(got, index)) return 0;
  return tvmffi_i_fail("TypeError", "%s: %s is expected to be %s but is %s",
                       function, what, tvmffi_i_type_key(index),
                       tvmffi_i_type_key(got));
}

TVMFFI_I_INLINE int tvmffi_i_is_exactly(TVMFFIObjectHandle handle,
                                        int32_t index) {
  return handle && ((TVMFFIObject *)handle)->type_index == index;
}

#define TVMFFI_I_CHECK(handle, index)                         \
  if (TVMFFI_I_UNLIKELY(!tvmffi_i_is_exactly(handle, index))) \
  TVMFFI_TRY(tvmffi_i_check_type(__func__, #handle, handle, index))

/* ======== Object ================================================= >>object */
/* Allocation, references and destruction. An object that holds others is
   destroyed by tvmffi_i_destroy, which nests only so deep: what dies further
   down waits in the thread's lists. So a structure may be as deep as memory
   allows. */

#if TVMFFI_DEBUG
/* What is known of an object, from when it is made until its memory is given
   back, some time after its death. Its head is then that of an object with one
   reference whose deleter complains, so that a release in any file and language
   is found. Under a lock of their own, as objects are made and freed under the
   other one, too. */
typedef struct tvmffi_i_record {
  struct tvmffi_i_record *next; /* of the same hash, or the next to be freed */
  TVMFFIObject *object;
  void *memory;
  int32_t type_index;
  int is_dead;
  char made[56], released[56], again[56]; /* places in files, or empty */
} tvmffi_i_record;

enum { TVMFFI_I_NUM_RECORDS = 65536, TVMFFI_I_NUM_DEAD = 1024 };
static tvmffi_i_record *tvmffi_i_records[TVMFFI_I_NUM_RECORDS];
static tvmffi_i_record *tvmffi_i_dead[TVMFFI_I_NUM_DEAD]; /* a ring */
static uint32_t tvmffi_i_num_dead;
static char tvmffi_i_complaint[360]; /* the first one */
static int64_t tvmffi_i_num_complaints;
static void *tvmffi_i_debug_mutex;

static void tvmffi_i_debug_lock(void) {
  while (!tvmffi_i_cas_pointer(&tvmffi_i_debug_mutex, NULL,
                               &tvmffi_i_debug_mutex)) {
  }
}
static void tvmffi_i_debug_unlock(void) {
  TVMFFI_I_STORE(&tvmffi_i_debug_mutex, NULL);
}

/* Where the record of an object is linked, or would be. */
static tvmffi_i_record **tvmffi_i_record_of(const void *object) {
  uint64_t hash = (uint64_t)(uintptr_t)object * 0x9E3779B97F4A7C15u;
  tvmffi_i_record **r = &tvmffi_i_records[(hash >> 32) % TVMFFI_I_NUM_RECORDS];
  while (*r && (*r)->object != object) r = &(*r)->next;
  return r;
}

/* An object without memory for its record is not seen. */
static void tvmffi_i_debug_made(void *object, void *memory,
                                int32_t type_index) {
  tvmffi_i_record *r = TVMFFI_I_NEW(tvmffi_i_record, sizeof(*r)), **at;
  if (!r) return;
  r->object = (TVMFFIObject *)object;
  r->memory = memory;
  r->type_index = type_index;
  r->is_dead = 0;
  r->made[0] = r->released[0] = r->again[0] = 0;
  r->next = NULL;
  tvmffi_i_debug_lock();
  at = tvmffi_i_record_of(object);
  if (*at) {
    (*at)->type_index = type_index; /* the head of a body with a record */
    TVMFFI_I_FREE(r);
  } else {
    *at = r;
  }
  tvmffi_i_debug_unlock();
}

/* Appends as much of a text as fits. */
static size_t tvmffi_i_debug_put(char *to, size_t n, size_t capacity,
                                 const char *text) {
  while (*text && n + 1 < capacity) to[n++] = *text++;
  to[n] = 0;
  return n;
}

#if defined(__cplusplus)
extern "C" {
#endif
/* The deleter of what is dead already. It may be called from anywhere, so it
   raises nothing: the text is printed, and kept for the leak report. */
static void tvmffi_i_debug_complain(void *self, int flags) {
  char text[sizeof(tvmffi_i_complaint)];
  const tvmffi_i_record *r;
  size_t n, size = sizeof(text);
  (void)flags;
  ((TVMFFIObject *)self)->combined_ref_count = TVMFFI_I_BOTH_ONE;
  tvmffi_i_debug_lock();
  r = *tvmffi_i_record_of(self);
  n = tvmffi_i_debug_put(text, 0, size, "released although it is dead: ");
  n = tvmffi_i_debug_put(text, n, size,
                         tvmffi_i_type_key(r ? r->type_index : -1));
  if (r && r->made[0]) {
    n = tvmffi_i_debug_put(text, n, size, ", handed out at ");
    n = tvmffi_i_debug_put(text, n, size, r->made);
  }
  if (r && r->released[0]) {
    n = tvmffi_i_debug_put(text, n, size, ", released for the last time at ");
    n = tvmffi_i_debug_put(text, n, size, r->released);
  }
  if (r && r->again[0]) {
    n = tvmffi_i_debug_put(text, n, size, ", and again at ");
    n = tvmffi_i_debug_put(text, n, size, r->again);
  }
  (void)tvmffi_i_debug_put(text, n, size, "\n");
  if (!tvmffi_i_num_complaints++)
    (void)tvmffi_i_debug_put(tvmffi_i_complaint, 0, size, text);
  tvmffi_i_debug_unlock();
#if !TVMFFI_NO_STDIO
  (void)fputs(text, stderr);
#endif
}
#if defined(__cplusplus)
}
#endif

/* Lets a dead object stand, and frees the memory of the oldest such one. 0: it
   is none that is known. */
static int tvmffi_i_debug_dies(void *object) {
  tvmffi_i_record *r, *old = NULL, **at;
  tvmffi_i_debug_lock();
  r = *tvmffi_i_record_of(object);
  if (r && !r->is_dead) {
    r->is_dead = 1;
    r->object->combined_ref_count = TVMFFI_I_BOTH_ONE;
    r->object->deleter = tvmffi_i_debug_complain;
    at = &tvmffi_i_dead[tvmffi_i_num_dead++ % TVMFFI_I_NUM_DEAD];
    old = *at;
    *at = r;
    if (old) *tvmffi_i_record_of(old->object) = old->next;
  }
  tvmffi_i_debug_unlock();
  if (old) {
    TVMFFI_I_FREE(old->memory);
    TVMFFI_I_FREE(old);
  }
  return r != NULL;
}
#endif

TVMFFI_I_INLINE void tvmffi_i_start_object(TVMFFIObject *self,
                                           int32_t type_index,
                                           void (*deleter)(void *, int)) {
  self->combined_ref_count = TVMFFI_I_BOTH_ONE;
  self->type_index = type_index;
  self->__padding = 0;
  self->__ensure_align = 0;
  self->deleter = deleter;
#if TVMFFI_DEBUG
  tvmffi_i_debug_made(self, self, type_index);
#endif
}

/* Out of line, so that the common way needs no stack. */
TVMFFI_I_NOINLINE void *tvmffi_i_make_object(size_t size, int32_t type_index,
                                             void (*deleter)(void *, int)) {
  TVMFFIObject *self = (TVMFFIObject *)tvmffi_i_pool_make(size);
  if (TVMFFI_I_LIKELY(self != NULL))
    tvmffi_i_start_object(self, type_index, deleter);
  else
    (void)tvmffi_i_no_memory();
  return self;
}

static void *tvmffi_i_object(size_t size, int32_t type_index,
                             void (*deleter)(void *, int)) {
  TVMFFIObject *self = (TVMFFIObject *)tvmffi_i_pool_take(size);
  if (!self) return tvmffi_i_make_object(size, type_index, deleter);
  tvmffi_i_start_object(self, type_index, deleter);
  return self;
}

/* What stands for a value that is not there. */
static TVMFFIObject tvmffi_i_invalid_object = {
    TVMFFI_I_PINNED | TVMFFI_I_WEAK_ONE, kTVMFFIObject, 0, {NULL}};

/* The deleter of an object that owns nothing but its memory. */
static void tvmffi_i_delete_plain(void *self, int flags) {
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmffi_i_free(self);
}

/* The same of an object of a known size. */
TVMFFI_I_INLINE void tvmffi_i_delete_sized(void *self, int flags, size_t size) {
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak)
    tvmffi_i_pool_free(self, size);
}

/* So deep destructors nest before what dies in them has to wait. */
enum { TVMFFI_I_NESTED = 32 };

/* An object that waits while weak references need its count. */
typedef struct tvmffi_i_fading {
  TVMFFIObject *self;
  void (*destructor)(void *, int);
  struct tvmffi_i_fading *next;
} tvmffi_i_fading;

/* Lets an object wait: linked through its count, or, with weak references
   left, by a node and one more such reference. Without memory for that it
   cannot wait, and this gives 0. */
static int tvmffi_i_doom(tvmffi_i_thread *t, TVMFFIObject *self, int flags,
                         void (*destructor)(void *, int)) {
  tvmffi_i_fading *node;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) {
    self->combined_ref_count = (uint64_t)(uintptr_t)t->doomed;
    self->deleter = destructor;
    t->doomed = self;
    return 1;
  }
  node = (tvmffi_i_fading *)tvmffi_i_alloc(sizeof(*node));
  if (!node) return 0;
  tvmffi_weak_retain(self);
  node->self = self;
  node->destructor = destructor;
  node->next = t->fading;
  t->fading = node;
  return 1;
}

/* Ends all that waits, and what comes to wait meanwhile. */
static void tvmffi_i_end_doomed(tvmffi_i_thread *t) {
  while (t->doomed || t->fading) {
    TVMFFIObject *self = t->doomed;
    tvmffi_i_fading *node = t->fading;
    if (self) {
      t->doomed = (TVMFFIObject *)(uintptr_t)self->combined_ref_count;
      self->deleter(self, kTVMFFIObjectDeleterFlagBitMaskBoth);
    } else {
      t->fading = node->next;
      node->destructor(node->self, kTVMFFIObjectDeleterFlagBitMaskStrong);
      tvmffi_weak_release(node->self);
      tvmffi_i_free(node);
    }
  }
}

/* Inline, as the destructors are, which so become a part of their deleters. */
TVMFFI_I_INLINE void tvmffi_i_destroy(TVMFFIObject *self, int flags,
                                      void (*destructor)(void *, int)) {
  tvmffi_i_thread *t = tvmffi_i_self();
  if (t->destroying >= TVMFFI_I_NESTED &&
      (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) &&
      tvmffi_i_doom(t, self, flags, destructor))
    return;
  ++t->destroying;
  destructor(self, flags);
  if (t->destroying == TVMFFI_I_NESTED) tvmffi_i_end_doomed(t);
  --t->destroying;
}

void TVMFFIGetVersion(TVMFFIVersion *out_version) {
  if (!out_version) return;
  out_version->major = TVM_FFI_VERSION_MAJOR;
  out_version->minor = TVM_FFI_VERSION_MINOR;
  out_version->patch = TVM_FFI_VERSION_PATCH;
}

int TVMFFIObjectIncRef(TVMFFIObjectHandle obj) {
  TVMFFI_I_NOT_NULL(obj);
  tvmffi_retain(obj);
  return 0;
}

int TVMFFIObjectDecRef(TVMFFIObjectHandle obj) {
  tvmffi_release(obj);
  return 0;
}

typedef struct {
  TVMFFIObject base;
  TVMFFIOpaqueObjectCell cell;
  void (*deleter)(void *handle);
} tvmffi_i_opaque;

TVMFFI_I_INLINE void tvmffi_i_destroy_opaque(void *self, int flags) {
  tvmffi_i_opaque *o = (tvmffi_i_opaque *)self;
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) && o->deleter)
    o->deleter(o->cell.handle);
  tvmffi_i_delete_sized(self, flags, sizeof(*o));
}

static void tvmffi_i_delete_opaque(void *self, int flags) {
  tvmffi_i_destroy((TVMFFIObject *)self, flags, tvmffi_i_destroy_opaque);
}

int TVMFFIObjectCreateOpaque(void *handle, int32_t type_index,
                             void (*deleter)(void *handle),
                             TVMFFIObjectHandle *out) {
  tvmffi_i_opaque *o;
  TVMFFI_I_NOT_NULL(out);
  if (type_index != kTVMFFIOpaquePyObject)
    return tvmffi_i_fail("RuntimeError",
                         "Only kTVMFFIOpaquePyObject is supported for now");
  o = (tvmffi_i_opaque *)tvmffi_i_object(sizeof(*o), type_index,
                                         tvmffi_i_delete_opaque);
  if (!o) return -1;
  o->cell.handle = handle;
  o->deleter = deleter;
  *out = o;
  return 0;
}

/* Marks in place of values: "no value", and "keyword arguments follow". */
static TVMFFIObject tvmffi_i_kwargs_object = {
    TVMFFI_I_PINNED | TVMFFI_I_WEAK_ONE, kTVMFFIObject, 0, {NULL}};

/* The default of the custom allocator. In front of an object stand where its
   memory begins and the header of the ABI. Like upstream's, the runtime's own
   objects do not come from a custom allocator: it serves those who define
   types and ask for it. */
typedef struct {
  void *memory;
  TVMFFIObjectAllocHeader header;
} tvmffi_i_alloc_prefix;

static void tvmffi_i_default_delete(void *object) {
#if TVMFFI_DEBUG
  if (object && tvmffi_i_debug_dies(object)) return;
#endif
  if (object) tvmffi_i_free(((tvmffi_i_alloc_prefix *)object - 1)->memory);
}

static void *tvmffi_i_default_allocate(size_t size, size_t alignment,
                                       int32_t type_index, void *context) {
  tvmffi_i_alloc_prefix *prefix;
  char *memory, *object;
  (void)type_index, (void)context;
  if (alignment < 16) alignment = 16;
  if ((alignment & (alignment - 1)) || alignment > PTRDIFF_MAX / 4 ||
      size > PTRDIFF_MAX / 4) {
    (void)tvmffi_i_fail("ValueError",
                        "cannot allocate %lld bytes aligned to %lld",
                        (long long)size, (long long)alignment);
    return NULL;
  }
  memory = (char *)tvmffi_i_alloc(size + 2 * alignment);
  if (!memory) {
    (void)tvmffi_i_no_memory();
    return NULL;
  }
  object = memory + 2 * alignment - (size_t)((uintptr_t)memory % alignment);
  if (object - memory >= (ptrdiff_t)(sizeof(*prefix) + alignment))
    object -= alignment;
  prefix = (tvmffi_i_alloc_prefix *)(void *)object - 1;
  prefix->memory = memory;
  prefix->header.delete_space = tvmffi_i_default_delete;
#if TVMFFI_DEBUG
  if (size >= sizeof(TVMFFIObject)) /* the head of which can be read later */
    tvmffi_i_debug_made(object, memory, type_index);
#endif
  return object;
}

static TVMFFICustomAllocator tvmffi_i_default_allocator = {
    tvmffi_i_default_allocate, NULL};
static TVMFFICustomAllocator *tvmffi_i_allocator = &tvmffi_i_default_allocator;

TVMFFICustomAllocator *TVMFFIGetCustomAllocator(void) {
  return TVMFFI_I_LOAD(&tvmffi_i_allocator);
}

int TVMFFISetCustomAllocator(TVMFFICustomAllocator *allocator) {
  if (allocator && !allocator->allocate)
    return tvmffi_i_null(__func__, "allocator->allocate");
  TVMFFI_I_STORE(&tvmffi_i_allocator,
                 allocator ? allocator : &tvmffi_i_default_allocator);
  return 0;
}

/* ======== Any ======================================================= >>any */
/* Strings, bytes and big integers, and owned values made of views. A text of
   up to seven bytes stands in the Any, its other bytes zero. */

typedef struct {
  TVMFFIObject base;
  TVMFFIByteArray bytes; /* the text follows, and a NUL */
} tvmffi_i_string;

static void tvmffi_i_delete_string(void *self, int flags) {
  const tvmffi_i_string *s = (tvmffi_i_string *)self;
  tvmffi_i_delete_sized(self, flags, sizeof(*s) + s->bytes.size + 1);
}

/* An uninitialised string object of `size` bytes and its NUL. */
static tvmffi_i_string *tvmffi_i_new_string(size_t size, int32_t type_index) {
  tvmffi_i_string *s;
  char *text;
  if (size > PTRDIFF_MAX - sizeof(*s) - 8) {
    (void)tvmffi_i_no_memory();
    return NULL;
  }
  s = (tvmffi_i_string *)tvmffi_i_object(sizeof(*s) + size + 1, type_index,
                                         tvmffi_i_delete_string);
  if (!s) return s;
  text = (char *)(void *)(s + 1);
  text[size] = 0;
  s->bytes.data = text;
  s->bytes.size = size;
  return s;
}

/* Up to seven bytes as they stand in an Any. Put together in a register: a
   word loaded right after its bytes were stored one by one has to wait. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define TVMFFI_I_BYTE_SHIFT(i, bytes) (64 - 8 * ((i) + (bytes)))
#else
#define TVMFFI_I_BYTE_SHIFT(i, bytes) (8 * (i))
#endif
TVMFFI_I_INLINE uint64_t tvmffi_i_small_text(const char *data, size_t size) {
  const unsigned char *at = (const unsigned char *)data;
  if (size >= 4) {
    uint32_t first, last;
    memcpy(&first, data, 4);
    memcpy(&last, data + size - 4, 4);
    return (uint64_t)first << TVMFFI_I_BYTE_SHIFT(0, 4) |
           (uint64_t)last << TVMFFI_I_BYTE_SHIFT(size - 4, 4);
  }
  if (size == 0) return 0;
  return (uint64_t)at[0] << TVMFFI_I_BYTE_SHIFT(0, 1) |
         (uint64_t)at[size / 2] << TVMFFI_I_BYTE_SHIFT(size / 2, 1) |
         (uint64_t)at[size - 1] << TVMFFI_I_BYTE_SHIFT(size - 1, 1);
}

static int tvmffi_i_make_large(const char *data, size_t size, int32_t large,
                               TVMFFIAny *out) {
  tvmffi_i_string *s = tvmffi_i_new_string(size, large);
  if (!s) return -1;
  memcpy((void *)(s + 1), data, size);
  *out = tvmffi_obj(s);
  return 0;
}

/* Makes an owned string or bytes. `out` may hold what `data` points into. */
TVMFFI_I_INLINE int tvmffi_i_make_string(const char *data, size_t size,
                                         int32_t small, int32_t large,
                                         TVMFFIAny *out) {
  uint64_t text;
  if (size >= sizeof(out->v_bytes))
    return tvmffi_i_make_large(data, size, large, out);
  text = tvmffi_i_small_text(data, size);
  out->type_index = small;
  out->small_str_len = (uint32_t)size;
  out->v_uint64 = text;
  return 0;
}

int TVMFFIStringFromByteArray(const TVMFFIByteArray *input, TVMFFIAny *out) {
  TVMFFI_I_BYTES(input);
  TVMFFI_I_NOT_NULL(out);
  return tvmffi_i_make_string(input->data, input->size, kTVMFFISmallStr,
                              kTVMFFIStr, out);
}

int TVMFFIBytesFromByteArray(const TVMFFIByteArray *input, TVMFFIAny *out) {
  TVMFFI_I_BYTES(input);
  TVMFFI_I_NOT_NULL(out);
  return tvmffi_i_make_string(input->data, input->size, kTVMFFISmallBytes,
                              kTVMFFIBytes, out);
}

typedef struct {
  TVMFFIObject base;
  size_t size; /* in words of 64 bits, which follow, the lowest first */
} tvmffi_i_bigint;

TVMFFI_STATIC_ASSERT(sizeof(tvmffi_i_bigint) % 8 == 0 || sizeof(void *) == 4,
                     bigint_words_are_aligned);
/* On i386 the words begin at 32 as on all others. */
#define TVMFFI_I_BIGINT_WORDS 32

static void tvmffi_i_delete_bigint(void *self, int flags) {
  size_t words = ((tvmffi_i_bigint *)self)->size;
  tvmffi_i_delete_sized(self, flags, TVMFFI_I_BIGINT_WORDS + words * 8);
}

static int64_t tvmffi_i_word(const char *data, size_t i) {
  int64_t word;
  memcpy(&word, data + 8 * i, 8);
  return word;
}

int TVMFFIBigIntFromByteArray(const TVMFFIByteArray *input, TVMFFIAny *out) {
  tvmffi_i_bigint *b;
  size_t n;
  TVMFFI_I_BYTES(input);
  TVMFFI_I_NOT_NULL(out);
  if (input->size % 8 != 0)
    return tvmffi_i_fail("ValueError",
                         "BigInt content must contain whole 64-bit words");
  n = input->size / 8;
  while (n > 1 && tvmffi_i_word(input->data, n - 1) ==
                      (tvmffi_i_word(input->data, n - 2) < 0 ? -1 : 0))
    --n;
  if (n <= 1) {
    *out = tvmffi_int(n ? tvmffi_i_word(input->data, 0) : 0);
    return 0;
  }
  if (n * 8 > PTRDIFF_MAX - TVMFFI_I_BIGINT_WORDS) return tvmffi_i_no_memory();
  b = (tvmffi_i_bigint *)tvmffi_i_object(TVMFFI_I_BIGINT_WORDS + n * 8,
                                         kTVMFFIBigInt, tvmffi_i_delete_bigint);
  if (!b) return -1;
  b->size = n;
  memcpy((char *)(void *)b + TVMFFI_I_BIGINT_WORDS, input->data, n * 8);
  *out = tvmffi_obj(b);
  return 0;
}

TVMFFIByteArray TVMFFIBigIntGetContentByteArray(const TVMFFIAny *value) {
  TVMFFIByteArray r = {NULL, 0};
  if (value && value->type_index == kTVMFFIInt) {
    r.data = value->v_bytes;
    r.size = 8;
  } else if (value && value->type_index == kTVMFFIBigInt && value->v_obj &&
             value->v_obj->type_index == kTVMFFIBigInt) {
    r.data = (const char *)value->v_ptr + TVMFFI_I_BIGINT_WORDS;
    r.size = ((tvmffi_i_bigint *)value->v_ptr)->size * 8;
  } else {
    (void)tvmffi_i_fail("TypeError", "%s: value is not an integer", __func__);
  }
  return r;
}

/* A view that needs more than a copy of its bits to be owned. Out of line, so
   that the others need no stack. */
TVMFFI_I_NOINLINE int tvmffi_i_own_pointed(const TVMFFIAny *view,
                                           TVMFFIAny *out) {
  TVMFFIByteArray bytes;
  TVMFFIObject **moved;
  switch (view->type_index) {
    case kTVMFFIRawStr:
      if (!view->v_c_str) return tvmffi_i_null(__func__, "the raw string");
      return tvmffi_i_make_string(view->v_c_str, strlen(view->v_c_str),
                                  kTVMFFISmallStr, kTVMFFIStr, out);
    case kTVMFFIByteArrayPtr:
      if (!view->v_ptr) return tvmffi_i_null(__func__, "the byte array");
      bytes = *(TVMFFIByteArray *)view->v_ptr;
      return TVMFFIBytesFromByteArray(&bytes, out);
    case kTVMFFIObjectRValueRef:
      moved = (TVMFFIObject **)view->v_ptr;
      if (!moved || !*moved)
        return tvmffi_i_fail("InternalError", "RValueRef already moved");
      *out = tvmffi_obj(*moved);
      *moved = NULL;
      return 0;
    default: break;
  }
  return tvmffi_i_fail("TypeError", "%d is not the type index of a value",
                       view->type_index);
}

int TVMFFIAnyViewToOwnedAny(const TVMFFIAny *any_view, TVMFFIAny *out) {
  int32_t index;
  TVMFFI_I_NOT_NULL(any_view);
  TVMFFI_I_NOT_NULL(out);
  index = any_view->type_index;
  if (index >= kTVMFFIStaticObjectBegin) {
    TVMFFI_I_NOT_NULL(any_view->v_obj);
    tvmffi_retain(any_view->v_obj);
  } else if (index < 0 || index > kTVMFFIUnchanged ||
             (index >= kTVMFFIRawStr && index <= kTVMFFIObjectRValueRef)) {
    return tvmffi_i_own_pointed(any_view, out);
  }
  *out = *any_view;
  return 0;
}

#if !TVMFFI_NO_EXTRA
TVMFFI_STATIC_ASSERT(sizeof(tvmffi_i_string) == (size_t)TVMFFI_I_TEXT_HEAD,
                     text_head);

/* Makes the text an owned string, or the error of the memory that was refused.
   The buffer is empty afterwards. */
static int tvmffi_i_text_take(tvmffi_i_text_buffer *b, TVMFFIAny *out) {
  tvmffi_i_string *s;
  int failed = b->failed;
  b->failed = 0;
  if (failed) {
    tvmffi_i_text_release(b);
    return tvmffi_i_no_memory();
  }
  if (b->size < sizeof(out->v_bytes) || b->size < b->capacity / 4) {
    failed = tvmffi_i_make_string(b->data, b->size, kTVMFFISmallStr, kTVMFFIStr,
                                  out);
    tvmffi_i_text_release(b);
    return failed;
  }
  s = (tvmffi_i_string *)(void *)(b->data - TVMFFI_I_TEXT_HEAD);
  tvmffi_i_start_object(&s->base, kTVMFFIStr, tvmffi_i_delete_plain);
  s->bytes.data = b->data;
  s->bytes.size = b->size;
  b->data[b->size] = 0;
  *out = tvmffi_obj(s);
  b->data = NULL;
  b->size = b->capacity = 0;
  return 0;
}
#endif

/* ======== Backtrace =========================================== >>backtrace */
/* Stack traces. Return addresses are cheap to collect and dear to name, so
   each address is turned into its line of text once per process and kept in a
   map that is read without a lock. Which frames are left out, and where a
   trace ends, is upstream's (backtrace_utils.h). */

typedef struct {
  const char *file, *function;
  int line;
} tvmffi_i_source;

/* Writes "  File "f", line n, in g\n" to `to` unless that is NULL; gives its
   length. */
static size_t tvmffi_i_frame_line(char *to, tvmffi_i_source place) {
  char number[12];
  const char *parts[7];
  size_t size = 0, n, i;
  parts[0] = "  File \"";
  parts[1] = place.file;
  parts[2] = "\", line ";
  parts[3] = tvmffi_i_decimal(number, place.line);
  parts[4] = ", in ";
  parts[5] = place.function;
  parts[6] = "\n";
  for (i = 0; i < 7; ++i) {
    n = strlen(parts[i]);
    if (to) memcpy(to + size, parts[i], n);
    size += n;
  }
  return size;
}

#if TVMFFI_NO_BACKTRACE
enum { TVMFFI_I_MAX_FRAMES = 1 };
#else
#include <unwind.h>
enum { TVMFFI_I_MAX_FRAMES = 512 };

typedef enum {
  TVMFFI_I_FRAME_SHOWN,
  TVMFFI_I_FRAME_HIDDEN,
  TVMFFI_I_FRAME_BORDER /* to Python, or to a packed call */
} tvmffi_i_frame_kind;

typedef struct {
  tvmffi_i_node node; /* its key: the bytes of `address` */
  uintptr_t address;
  const char *text; /* the line of a trace, in the same memory */
  size_t size;
  tvmffi_i_frame_kind kind;
} tvmffi_i_frame;

static tvmffi_i_map tvmffi_i_frames;

#define TVMFFI_I_STRING(name) TVMFFI_I_STRING_(name)
#define TVMFFI_I_STRING_(name) #name

static tvmffi_i_frame_kind tvmffi_i_classify(const char *symbol) {
  static const struct {
    const char *prefix;
    tvmffi_i_frame_kind kind;
  } rules[] = {
      {TVMFFI_I_STRING(TVMFFIBacktrace), TVMFFI_I_FRAME_HIDDEN},
      {TVMFFI_I_STRING(TVMFFIErrorSetRaisedFromCStr), TVMFFI_I_FRAME_HIDDEN},
      {"__libc_", TVMFFI_I_FRAME_HIDDEN},
      {"ffi_call_", TVMFFI_I_FRAME_HIDDEN},
      {"_ZN3tvm3ffi8Function", TVMFFI_I_FRAME_HIDDEN},
      {"_ZNK3tvm3ffi8Function", TVMFFI_I_FRAME_HIDDEN},
      {"_ZN3tvm3ffi6detail", TVMFFI_I_FRAME_HIDDEN},
      {"_ZNK3tvm3ffi6detail", TVMFFI_I_FRAME_HIDDEN},
      {TVMFFI_I_STRING(TVMFFIFunctionCall), TVMFFI_I_FRAME_BORDER},
      {"slot_tp_call", TVMFFI_I_FRAME_BORDER},
      {"object_is_not_callable", TVMFFI_I_FRAME_BORDER},
      {"_Py", TVMFFI_I_FRAME_BORDER},
      {"PyObject", TVMFFI_I_FRAME_BORDER}};
  size_t i;
  for (i = 0; i < sizeof(rules) / sizeof(rules[0]); ++i)
    if (strncmp(symbol, rules[i].prefix, strlen(rules[i].prefix)) == 0)
      return rules[i].kind;
  return TVMFFI_I_FRAME_SHOWN;
}

/* dladdr, whose declaration <dlfcn.h> may hide, under a name of our own. */
typedef struct {
  const char *file;
  void *base;
  const char *symbol;
  void *address;
} tvmffi_i_symbol;
#if TVMFFI_NO_DLOPEN
static int tvmffi_i_dladdr(const void *address, tvmffi_i_symbol *out) {
  (void)address, (void)out;
  return 0;
}
static char *tvmffi_i_demangle(const char *symbol) {
  (void)symbol;
  return NULL;
}
#else
#include <dlfcn.h>
TVMFFI_I_EXTERN_C int
tvmffi_i_dladdr(const void *address, tvmffi_i_symbol *out) __asm__(
    TVMFFI_I_STRING(__USER_LABEL_PREFIX__) "dladdr");

/* The C++ name of a symbol, malloced, when the process has a C++ library. */
static char *tvmffi_i_demangle(const char *symbol) {
  typedef char *(*demangle_t)(const char *, char *, size_t *, int *);
  demangle_t demangle;
  void *library, *address;
  int status = 0;
  char *name;
  if (symbol[0] != '_' || symbol[1] != 'Z') return NULL;
  library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return NULL;
  address = dlsym(library, "__cxa_demangle");
  memcpy((void *)(&demangle), &address, sizeof(address));
  name = address ? demangle(symbol, NULL, NULL, &status) : NULL;
  (void)dlclose(library);
  return name;
}
#endif

/* Names an address and keeps the result, or gives NULL without memory. Two
   threads may do so at once: the first to come is kept. */
TVMFFI_I_COLD tvmffi_i_frame *tvmffi_i_name_frame(uintptr_t address) {
  tvmffi_i_symbol symbol = {NULL, NULL, NULL, NULL};
  tvmffi_i_source source = {NULL, NULL, 0};
  tvmffi_i_frame *frame;
  tvmffi_i_node *known = NULL;
  char *plain = NULL;
  size_t size = 0;
  /* The call is before the address to which it returns. */
  (void)tvmffi_i_dladdr((void *)(address - 1), &symbol);
  if (symbol.symbol) {
    plain = tvmffi_i_demangle(symbol.symbol);
    source.file = symbol.file ? symbol.file : "<unknown>";
    source.function = plain ? plain : symbol.symbol;
    size = tvmffi_i_frame_line(NULL, source);
  }
  frame = (tvmffi_i_frame *)tvmffi_i_alloc(sizeof(*frame) + size);
  if (frame) {
    char *text = (char *)(void *)(frame + 1);
    frame->address = address;
    frame->text = text;
    frame->size = size;
    frame->kind = symbol.symbol ? tvmffi_i_classify(symbol.symbol)
                                : TVMFFI_I_FRAME_HIDDEN;
    if (size) (void)tvmffi_i_frame_line(text, source);
    tvmffi_i_lock();
    known =
        tvmffi_i_find(&tvmffi_i_frames, (const char *)(void *)(&frame->address),
                      sizeof(address));
    if (!known && tvmffi_i_reserve(&tvmffi_i_frames, 0) == 0) {
      known = &frame->node;
      tvmffi_i_insert(&tvmffi_i_frames, known,
                      (const char *)(void *)(&frame->address), sizeof(address));
    }
    tvmffi_i_unlock();
  }
  if (known != (tvmffi_i_node *)(void *)frame) tvmffi_i_free(frame);
#if !TVMFFI_NO_DLOPEN
  if (plain) free(plain);
#endif
  return (tvmffi_i_frame *)(void *)known;
}

/* The longest trace, from upstream's variable of the environment, which is
   read once. */
static int tvmffi_i_frame_limit(void) {
  static int limit;
  int n = TVMFFI_I_LOAD_RELAXED(&limit);
  if (!n) {
    const char *text = getenv("TVM_TRACEBACK_LIMIT");
    n = TVMFFI_I_MAX_FRAMES;
    if (text && *text) {
      char *end;
      long value = strtol(text, &end, 10);
      if (!*end && value >= 0 && value < n) n = (int)value;
    }
    TVMFFI_I_STORE(&limit, ++n);
  }
  return n - 1;
}

#endif /* TVMFFI_NO_BACKTRACE */

/* A collected trace: the lines of its frames, the innermost first. */
typedef struct {
  size_t size; /* of all lines */
  int count, limit, across;
  uintptr_t until; /* hide all frames up to this address; 0: none */
#if !TVMFFI_NO_BACKTRACE
  const tvmffi_i_frame *frame[TVMFFI_I_MAX_FRAMES];
#endif
} tvmffi_i_trace;

#if TVMFFI_NO_BACKTRACE
static void tvmffi_i_collect(tvmffi_i_trace *trace, uintptr_t until,
                             int across) {
  (void)until, (void)across;
  trace->size = 0;
  trace->count = 0;
  trace->limit = 1;
}
static void tvmffi_i_copy_trace(const tvmffi_i_trace *trace, char *to) {
  (void)trace, (void)to;
}
#else
#if defined(__cplusplus)
extern "C" {
#endif
static _Unwind_Reason_Code tvmffi_i_on_frame(struct _Unwind_Context *context,
                                             void *data) {
  tvmffi_i_trace *trace = (tvmffi_i_trace *)data;
  uintptr_t address = (uintptr_t)_Unwind_GetIP(context);
  tvmffi_i_frame *frame;
  if (!address || trace->count >= trace->limit) return _URC_END_OF_STACK;
  frame = (tvmffi_i_frame *)(void *)tvmffi_i_find(
      &tvmffi_i_frames, (const char *)(void *)(&address), sizeof(address));
  if (!frame) frame = tvmffi_i_name_frame(address);
  if (!frame) return _URC_NO_REASON;
  if (frame->kind == TVMFFI_I_FRAME_BORDER && !trace->across)
    return _URC_END_OF_STACK;
  if (trace->until) {
    if (trace->until == address) trace->until = 0;
  } else if (frame->kind != TVMFFI_I_FRAME_HIDDEN) {
    trace->frame[trace->count++] = frame;
    trace->size += frame->size;
  }
  return _URC_NO_REASON;
}
#if defined(__cplusplus)
}
#endif

/* Walks the stack. Most of the runtime's own frames are hidden by name, or have
   none; `until` hides those up to the frame that returns to it, too. */
TVMFFI_I_COLD void tvmffi_i_collect(tvmffi_i_trace *trace, uintptr_t until,
                                    int across) {
  trace->size = 0;
  trace->count = 0;
  trace->limit = tvmffi_i_frame_limit() - (until != 0);
  trace->until = until;
  trace->across = across;
  (void)_Unwind_Backtrace(tvmffi_i_on_frame, trace);
}

static void tvmffi_i_copy_trace(const tvmffi_i_trace *trace, char *to) {
  int i;
  for (i = 0; i < trace->count; ++i) {
    memcpy(to, trace->frame[i]->text, trace->frame[i]->size);
    to += trace->frame[i]->size;
  }
}
#endif

/* Gives a buffer of the thread with room for `size` bytes, or NULL. */
static char *tvmffi_i_trace_buffer(tvmffi_i_thread *t, size_t size) {
  char *buffer;
  size_t capacity = size < 1000 ? 1024 : size + size / 2;
  if (size <= t->trace_capacity) return t->trace;
  buffer = (char *)tvmffi_i_alloc(capacity);
  if (!buffer) return buffer;
  tvmffi_i_free(t->trace);
  t->trace = buffer;
  t->trace_capacity = capacity;
  if (!t->exit_is_set) tvmffi_i_watch_exit(t);
  return buffer;
}

#if TVMFFI_I_GNU
__attribute__((noinline))
#endif
const TVMFFIByteArray *
TVMFFIBacktrace(const char *filename, int lineno, const char *func,
                int cross_ffi_boundary) {
  tvmffi_i_thread *t = tvmffi_i_self();
  tvmffi_i_source source;
  tvmffi_i_trace trace;
  size_t head = 0;
  char *text;
  int named = filename && func;
  source.file = filename;
  source.function = func;
  source.line = lineno;
  t->trace_view.data = "";
  t->trace_view.size = 0;
  /* A caller who says where it is stands in the trace already. */
  tvmffi_i_collect(&trace, named ? TVMFFI_I_RETURN_ADDRESS : 0,
                   cross_ffi_boundary);
  if (named) head = tvmffi_i_frame_line(NULL, source);
  text = tvmffi_i_trace_buffer(t, head + trace.size + 1);
  if (!text) return &t->trace_view;
  if (head) (void)tvmffi_i_frame_line(text, source);
  tvmffi_i_copy_trace(&trace, text + head);
  text[head + trace.size] = 0;
  t->trace_view.data = text;
  t->trace_view.size = head + trace.size;
  return &t->trace_view;
}

/* ======== Error =================================================== >>error */
/* Error objects and the thread's slot. An error is one block of memory: kind,
   message and trace follow the object, each with a NUL; a trace that was
   updated has a block of its own. The slot owns what is in it. */

static char *tvmffi_i_error_bytes(tvmffi_i_error *e) {
  return (char *)(void *)(e + 1);
}

TVMFFI_I_INLINE void tvmffi_i_destroy_error(void *self, int flags) {
  tvmffi_i_error *e = (tvmffi_i_error *)self;
  const TVMFFIErrorCell *c = &e->cell;
  int whole = !e->trace; /* else the size of the first trace is not known */
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    tvmffi_i_free(e->trace);
    tvmffi_release(e->cell.cause_chain);
    tvmffi_release(e->cell.extra_context);
  }
  tvmffi_i_delete_sized(self, flags,
                        whole ? sizeof(*e) + c->kind.size + c->message.size +
                                    c->backtrace.size + 3
                              : PTRDIFF_MAX);
}

static void tvmffi_i_delete_error(void *self, int flags) {
  tvmffi_i_destroy((TVMFFIObject *)self, flags, tvmffi_i_destroy_error);
}

/* The trace that was there stays when memory is refused: there is no way to
   say so. */
static void tvmffi_i_update_trace(TVMFFIObjectHandle self,
                                  const TVMFFIByteArray *trace, int32_t mode) {
  tvmffi_i_error *e = (tvmffi_i_error *)self;
  size_t kept, size;
  char *buffer;
  if (!e || !tvmffi_i_is_bytes(trace)) return;
  kept = mode == kTVMFFIBacktraceUpdateModeReplace ? 0 : e->cell.backtrace.size;
  size = kept + trace->size;
  if (size > PTRDIFF_MAX / 2) return;
  buffer = e->trace;
  if (size + 1 > e->trace_capacity) {
    buffer = (char *)tvmffi_i_alloc(size + size / 2 + 1);
    if (!buffer) return;
    if (kept) memcpy(buffer, e->cell.backtrace.data, kept);
  }
  /* The new text may be a part of the old one. */
  if (trace->size) memmove(buffer + kept, trace->data, trace->size);
  buffer[size] = 0;
  if (buffer != e->trace) {
    tvmffi_i_free(e->trace);
    e->trace = buffer;
    e->trace_capacity = size + size / 2 + 1;
  }
  e->cell.backtrace.data = buffer;
  e->cell.backtrace.size = size;
}

/* An error with room for its texts, which the caller fills; NULL when there
   is no memory, and then that is the thread's error. */
static tvmffi_i_error *tvmffi_i_new_error(size_t kind, size_t message,
                                          size_t trace) {
  const size_t most = PTRDIFF_MAX / 4;
  tvmffi_i_error *e = NULL;
  char *text;
  if (kind > most || message > most || trace > most) {
    (void)tvmffi_i_no_memory();
    return e;
  }
  e = (tvmffi_i_error *)tvmffi_i_object(sizeof(*e) + kind + message + trace + 3,
                                        kTVMFFIError, tvmffi_i_delete_error);
  if (!e) return e;
  text = tvmffi_i_error_bytes(e);
  e->cell.kind.data = text;
  e->cell.kind.size = kind;
  text[kind] = 0;
  text += kind + 1;
  e->cell.message.data = text;
  e->cell.message.size = message;
  text[message] = 0;
  text += message + 1;
  e->cell.backtrace.data = text;
  e->cell.backtrace.size = trace;
  text[trace] = 0;
  e->cell.update_backtrace = tvmffi_i_update_trace;
  e->cell.cause_chain = NULL;
  e->cell.extra_context = NULL;
  e->trace = NULL;
  e->trace_capacity = 0;
  return e;
}

/* Puts an error, taken, into the slot; what was there is released last, since
   its destruction may run code of a user. */
static void tvmffi_i_set_error(TVMFFIObject *error) {
  tvmffi_i_thread *t = tvmffi_i_self();
  TVMFFIObject *old = t->error;
  t->error = error;
  if (error && TVMFFI_I_UNLIKELY(!t->exit_is_set)) tvmffi_i_watch_exit(t);
  tvmffi_release(old);
}

void TVMFFIErrorSetRaised(TVMFFIObjectHandle error) {
  if (error) {
    if (TVMFFI_I_UNLIKELY(!tvmffi_i_is_exactly(error, kTVMFFIError)) &&
        tvmffi_i_check_type(__func__, "error", error, kTVMFFIError))
      return;
    tvmffi_retain(error);
  }
  tvmffi_i_set_error((TVMFFIObject *)error);
}

void TVMFFIErrorMoveFromRaised(TVMFFIObjectHandle *result) {
  tvmffi_i_thread *t = tvmffi_i_self();
  if (!result) {
    (void)tvmffi_i_null(__func__, "result");
    return;
  }
  *result = t->error;
  t->error = NULL;
}

/* Raises an error whose message is all parts, one after the other. */
TVMFFI_I_COLD void tvmffi_i_raise_parts(const char *kind, const char **parts,
                                        int32_t num_parts) {
  tvmffi_i_trace trace;
  tvmffi_i_error *e;
  size_t kind_size, size = 0, n;
  char *to;
  int32_t i;
  if (!kind) kind = "RuntimeError";
  kind_size = strlen(kind);
  for (i = 0; i < num_parts; ++i)
    if (parts[i]) size += strlen(parts[i]);
  tvmffi_i_collect(&trace, 0, 0);
  e = tvmffi_i_new_error(kind_size, size, trace.size);
  if (!e) return;
  to = tvmffi_i_error_bytes(e);
  memcpy(to, kind, kind_size);
  to += kind_size + 1;
  for (i = 0; i < num_parts; ++i) {
    if (!parts[i]) continue;
    n = strlen(parts[i]);
    memcpy(to, parts[i], n);
    to += n;
  }
  tvmffi_i_copy_trace(&trace, to + 1);
  tvmffi_i_set_error(&e->base);
}

void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message) {
  tvmffi_i_raise_parts(kind, &message, 1);
}

void TVMFFIErrorSetRaisedFromCStrParts(const char *kind,
                                       const char **message_parts,
                                       int32_t num_parts) {
  tvmffi_i_raise_parts(kind, message_parts, message_parts ? num_parts : 0);
}

int TVMFFIErrorCreate(const TVMFFIByteArray *kind,
                      const TVMFFIByteArray *message,
                      const TVMFFIByteArray *backtrace,
                      TVMFFIObjectHandle *out) {
  return TVMFFIErrorCreateWithCauseAndExtraContext(kind, message, backtrace,
                                                   NULL, NULL, out);
}

int TVMFFIErrorCreateWithCauseAndExtraContext(const TVMFFIByteArray *kind,
                                              const TVMFFIByteArray *message,
                                              const TVMFFIByteArray *backtrace,
                                              TVMFFIObjectHandle cause_chain,
                                              TVMFFIObjectHandle extra_context,
                                              TVMFFIObjectHandle *out) {
  tvmffi_i_error *e;
  char *to;
  TVMFFI_I_BYTES(kind);
  TVMFFI_I_BYTES(message);
  TVMFFI_I_BYTES(backtrace);
  TVMFFI_I_NOT_NULL(out);
  if (cause_chain) TVMFFI_I_CHECK(cause_chain, kTVMFFIError);
  e = tvmffi_i_new_error(kind->size, message->size, backtrace->size);
  if (!e) return -1;
  to = tvmffi_i_error_bytes(e);
  if (kind->size) memcpy(to, kind->data, kind->size);
  to += kind->size + 1;
  if (message->size) memcpy(to, message->data, message->size);
  to += message->size + 1;
  if (backtrace->size) memcpy(to, backtrace->data, backtrace->size);
  if (cause_chain) tvmffi_retain(cause_chain);
  if (extra_context) tvmffi_retain(extra_context);
  e->cell.cause_chain = cause_chain;
  e->cell.extra_context = extra_context;
  *out = e;
  return 0;
}

/* Frees what a thread has when it ends. The release may raise again: then the
   system calls this once more. */
static void tvmffi_i_thread_exit(tvmffi_i_thread *t) {
  TVMFFIObject *error = t->error;
  t->exit_is_set = 0;
  t->error = NULL;
  tvmffi_release(error);
  tvmffi_i_free(t->stream);
  t->stream = NULL;
  t->stream_mask = t->num_streams = 0;
  tvmffi_i_free(t->trace);
  t->trace = NULL;
  t->trace_capacity = 0;
#if TVMFFI_I_POOL
  tvmffi_i_pool_end(t);
#endif
}

/* ======== Registry ============================================= >>registry */
/* The type table: entries by index and by key, each with its ancestors,
   fields, methods and metadata, and the attribute columns. Entries are never
   moved or freed and are published whole; arrays that grow are replaced, and
   the old ones kept. Written under the mutex; all that may fail or call out
   (copies, retained values, errors) happens outside it. */

typedef struct {
  TVMFFITypeInfo info; /* first: what clients have pointers to */
  tvmffi_i_node node;
  TVMFFITypeMetadata metadata;
  int32_t num_slots; /* reserved indices, its own and its children's */
  int32_t used_slots;
  int32_t field_capacity, method_capacity;
  int can_overflow;
} tvmffi_i_type;

/* Followed by `capacity` pointers to entries. */
typedef struct tvmffi_i_table {
  int32_t capacity;
  struct tvmffi_i_table *older;
} tvmffi_i_table;

static struct {
  tvmffi_i_table head;
  tvmffi_i_type *entry[256];
} tvmffi_i_first_table = {{256, NULL}, {NULL}};

static tvmffi_i_table *tvmffi_i_types = &tvmffi_i_first_table.head;
static tvmffi_i_map tvmffi_i_type_keys;

enum { TVMFFI_I_MAX_SLOTS = 1 << 20, TVMFFI_I_MAX_TYPES = 1 << 26 };

/* The first types that upstream registers while it is loaded. Their indices
   are the same in every process, so the table has them like the ABI's. */
#if !TVMFFI_NO_CONTAINERS
enum {
  TVMFFI_I_ENUM_STATE = kTVMFFIDynObjectBegin,
  TVMFFI_I_ENUM_BASE,
  TVMFFI_I_INT_ENUM,
  TVMFFI_I_STR_ENUM,
  TVMFFI_I_ACCESS_STEP,
  TVMFFI_I_ACCESS_PATH,
  TVMFFI_I_STRUCTURAL_VISITOR,
  TVMFFI_I_VISIT_ERROR_CONTEXT,
  TVMFFI_I_STRUCTURAL_MUTATOR,
  TVMFFI_I_STRUCTURAL_KEY,
  TVMFFI_I_NUM_INDICES
};
#else
enum { TVMFFI_I_NUM_INDICES = kTVMFFIDynObjectBegin };
#endif
static int32_t tvmffi_i_next_index = TVMFFI_I_NUM_INDICES;

/* The types of the ABI, and those above. `open`: others may derive. */
typedef struct {
  int32_t index;
  const char *key;
  int open;
} tvmffi_i_static_type;
static const tvmffi_i_static_type tvmffi_i_static_types[] = {
    {kTVMFFIObject, "ffi.Object", 1},
#if !TVMFFI_NO_CONTAINERS
    {TVMFFI_I_ENUM_BASE, "ffi.Enum", 1},
    {TVMFFI_I_INT_ENUM, "ffi.IntEnum", 1},
    {TVMFFI_I_STR_ENUM, "ffi.StrEnum", 1},
    {TVMFFI_I_ENUM_STATE, "ffi.EnumState", 1},
    {TVMFFI_I_ACCESS_STEP, "ffi.reflection.AccessStep", 1},
    {TVMFFI_I_ACCESS_PATH, "ffi.reflection.AccessPath", 1},
    {TVMFFI_I_STRUCTURAL_VISITOR, "ffi.StructuralVisitor", 1},
    {TVMFFI_I_VISIT_ERROR_CONTEXT, "ffi.VisitErrorContext", 1},
    {TVMFFI_I_STRUCTURAL_MUTATOR, "ffi.StructuralMutator", 1},
    {TVMFFI_I_STRUCTURAL_KEY, "ffi.StructuralKey", 1},
#endif
    {kTVMFFINone, "None", 0},
    {kTVMFFIInt, "int", 0},
    {kTVMFFIBool, "bool", 0},
    {kTVMFFIFloat, "float", 0},
    {kTVMFFIOpaquePtr, "void*", 0},
    {kTVMFFIDataType, "DataType", 0},
    {kTVMFFIDevice, "Device", 0},
    {kTVMFFIDLTensorPtr, "DLTensor*", 0},
    {kTVMFFIRawStr, "const char*", 0},
    {kTVMFFIByteArrayPtr, "TVMFFIByteArray*", 0},
    {kTVMFFIObjectRValueRef, "ObjectRValueRef", 0},
    {kTVMFFISmallStr, "ffi.SmallStr", 0},
    {kTVMFFISmallBytes, "ffi.SmallBytes", 0},
    {kTVMFFIUnchanged, "ffi.Unchanged", 0},
    {kTVMFFIStr, "ffi.String", 0},
    {kTVMFFIBytes, "ffi.Bytes", 0},
    {kTVMFFIError, "ffi.Error", 0},
    {kTVMFFIFunction, "ffi.Function", 0},
    {kTVMFFIShape, "ffi.Shape", 0},
    {kTVMFFITensor, "ffi.Tensor", 0},
    {kTVMFFIArray, "ffi.Array", 0},
    {kTVMFFIMap, "ffi.Map", 0},
    {kTVMFFIModule, "ffi.Module", 0},
    {kTVMFFIOpaquePyObject, "ffi.OpaquePyObject", 0},
    {kTVMFFIList, "ffi.List", 0},
    {kTVMFFIDict, "ffi.Dict", 0},
    {kTVMFFIVisitInterrupt, "ffi.VisitInterrupt", 1},
    {kTVMFFIBigInt, "ffi.BigInt", 0}};
enum {
  TVMFFI_I_NUM_STATIC_TYPES =
      sizeof(tvmffi_i_static_types) / sizeof(tvmffi_i_static_types[0])
};
static tvmffi_i_type tvmffi_i_static_entries[TVMFFI_I_NUM_STATIC_TYPES];
/* Of all that have some: ffi.Object, and of two ffi.Enum below it. */
static const TVMFFITypeInfo *tvmffi_i_static_ancestors[] = {
    &tvmffi_i_static_entries[0].info, &tvmffi_i_static_entries[1].info};

TVMFFI_I_INLINE int32_t tvmffi_i_static_depth(int32_t index) {
#if !TVMFFI_NO_CONTAINERS
  if (index == TVMFFI_I_INT_ENUM || index == TVMFFI_I_STR_ENUM) return 2;
#endif
  return index > kTVMFFIObject;
}

#if TVMFFI_NO_CONTAINERS
static void tvmffi_i_describe_type(tvmffi_i_type *t, int32_t index) {
  (void)t, (void)index;
}
static int tvmffi_i_start_columns(void) { return 0; }
#else
static void tvmffi_i_describe_type(tvmffi_i_type *t, int32_t index);
static int tvmffi_i_start_columns(void); /* both with >>reflection */
#endif

TVMFFI_I_INLINE tvmffi_i_type **tvmffi_i_entries(tvmffi_i_table *table) {
  return (tvmffi_i_type **)(void *)(table + 1);
}

TVMFFI_I_INLINE tvmffi_i_type *tvmffi_i_type_of_node(tvmffi_i_node *node) {
  char *base = (char *)(void *)node;
  return node ? (tvmffi_i_type *)(void *)(base - offsetof(tvmffi_i_type, node))
              : NULL;
}

/* The entry of an index, or NULL. Takes no lock. */
TVMFFI_I_INLINE tvmffi_i_type *tvmffi_i_type_at(int32_t index) {
  tvmffi_i_table *table = TVMFFI_I_LOAD(&tvmffi_i_types);
  if (index < 0 || index >= table->capacity) return NULL;
  return TVMFFI_I_LOAD(&tvmffi_i_entries(table)[index]);
}

/* Fills in and publishes an entry for which there is room; mutex held. */
static void tvmffi_i_publish_type(tvmffi_i_type *t, int32_t index,
                                  int32_t depth, const char *key, size_t size,
                                  const TVMFFITypeInfo **ancestors) {
  t->info.type_index = index;
  t->info.type_depth = depth;
  t->info.type_key.data = key;
  t->info.type_key.size = size;
  t->info.type_ancestors = ancestors;
  t->info.type_key_hash = tvmffi_i_type_key_hash(key, size);
  t->used_slots = 1;
  TVMFFI_I_STORE(&tvmffi_i_entries(tvmffi_i_types)[index], t);
  tvmffi_i_insert(&tvmffi_i_type_keys, &t->node, key, size);
}

/* Starts the type table: the first thing that anyone who misses in it does.
   Its memory is static, but for the slots of the keys. */
TVMFFI_I_COLD int tvmffi_i_start_types(void) {
  static int started;
  int code = 0, i;
  if (TVMFFI_I_LOAD(&started)) return 0;
  tvmffi_i_lock();
  if (!TVMFFI_I_LOAD(&started)) {
    for (i = 0; i < TVMFFI_I_NUM_STATIC_TYPES && code == 0; ++i) {
      tvmffi_i_type *t = &tvmffi_i_static_entries[i];
      int32_t index = tvmffi_i_static_types[i].index;
      const char *key = tvmffi_i_static_types[i].key;
      if (t->info.type_key.data) continue;
      code = tvmffi_i_reserve(&tvmffi_i_type_keys, 0);
      if (code) break;
      t->num_slots = 1;
      t->can_overflow = tvmffi_i_static_types[i].open;
      if (index == kTVMFFIObject) {
        t->metadata.total_size = (int32_t)sizeof(TVMFFIObject);
        t->info.metadata = &t->metadata;
      }
      tvmffi_i_describe_type(t, index);
      tvmffi_i_publish_type(
          t, index, tvmffi_i_static_depth(index), key, strlen(key),
          index > kTVMFFIObject ? tvmffi_i_static_ancestors : NULL);
    }
    if (code == 0) code = tvmffi_i_start_columns();
    if (code == 0) TVMFFI_I_STORE(&started, 1);
  }
  tvmffi_i_unlock();
  return code ? tvmffi_i_no_memory() : 0;
}

/* The entry of an index, or an error. */
static tvmffi_i_type *tvmffi_i_type_or_fail(int32_t index) {
  tvmffi_i_type *t = tvmffi_i_type_at(index);
  if (TVMFFI_I_LIKELY(t)) return t;
  if (tvmffi_i_start_types()) return t;
  t = tvmffi_i_type_at(index);
  if (!t)
    (void)tvmffi_i_fail("InternalError",
                        "Cannot find type info for type_index=%d", index);
  return t;
}

const TVMFFITypeInfo *TVMFFIGetTypeInfo(int32_t type_index) {
  tvmffi_i_type *t = tvmffi_i_type_or_fail(type_index);
  return t ? &t->info : NULL;
}

static tvmffi_i_type *tvmffi_i_type_by_key(const TVMFFIByteArray *key) {
  return tvmffi_i_type_of_node(
      tvmffi_i_find(&tvmffi_i_type_keys, key->data, key->size));
}

int TVMFFITypeKeyToIndex(const TVMFFIByteArray *type_key, int32_t *out_tindex) {
  tvmffi_i_type *t;
  TVMFFI_I_BYTES(type_key);
  TVMFFI_I_NOT_NULL(out_tindex);
  t = tvmffi_i_type_by_key(type_key);
  if (TVMFFI_I_UNLIKELY(!t)) {
    TVMFFI_TRY(tvmffi_i_start_types());
    t = tvmffi_i_type_by_key(type_key);
  }
  if (!t)
    return tvmffi_i_fail("InternalError", "Cannot find type `%.*s`",
                         TVMFFI_I_TEXT(*type_key));
  *out_tindex = t->info.type_index;
  return 0;
}

/* What a registration asks for. */
typedef struct {
  const TVMFFIByteArray *key;
  int32_t index, depth, slots, can_overflow;
  tvmffi_i_type *parent;
} tvmffi_i_type_request;

static const char *tvmffi_i_parent_key(const tvmffi_i_type *t) {
  return t->info.type_depth
             ? t->info.type_ancestors[t->info.type_depth - 1]->type_key.data
             : "no parent";
}

/* Compares a registration with the type that has the key. The reserved slots
   may differ: the first registration made them. */
static int32_t tvmffi_i_same_type(const tvmffi_i_type *t,
                                  const tvmffi_i_type_request *r) {
  const TVMFFITypeInfo *parent =
      t->info.type_depth ? t->info.type_ancestors[t->info.type_depth - 1]
                         : NULL;
  /* A C++ class derived from one whose key it keeps, as Apache TVM has it, is
     of the same type. */
  if (r->index < 0 && r->parent && &r->parent->info == &t->info)
    return t->info.type_index;
  if ((r->index >= 0 && r->index != t->info.type_index) ||
      r->depth != t->info.type_depth ||
      parent != (r->parent ? &r->parent->info : NULL))
    return tvmffi_i_fail(
        "RuntimeError",
        "Type `%s` is already registered with index %d, depth %d and parent "
        "`%s`, but is registered again with index %d, depth %d and parent `%s`",
        t->info.type_key.data, t->info.type_index, t->info.type_depth,
        tvmffi_i_parent_key(t), r->index < 0 ? t->info.type_index : r->index,
        r->depth, r->parent ? r->parent->info.type_key.data : "no parent");
  return t->info.type_index;
}

/* Makes the table large enough for an index; mutex held. */
static int tvmffi_i_grow_types(int32_t index) {
  tvmffi_i_table *old = tvmffi_i_types, *table;
  size_t capacity = (size_t)old->capacity, size;
  if (index < old->capacity) return 0;
  while (capacity <= (size_t)index) capacity *= 2;
  size = sizeof(*table) + capacity * sizeof(tvmffi_i_type *);
  table = (tvmffi_i_table *)tvmffi_i_alloc(size);
  if (!table) return -1;
  memset((void *)table, 0, size);
  memcpy(tvmffi_i_entries(table), tvmffi_i_entries(old),
         (size_t)old->capacity * sizeof(tvmffi_i_type *));
  table->capacity = (int32_t)capacity;
  table->older = old;
  TVMFFI_I_STORE(&tvmffi_i_types, table);
  return 0;
}

/* How a registration ended, told before the mutex is released. */
typedef enum {
  TVMFFI_I_TYPE_MADE,
  TVMFFI_I_TYPE_KNOWN,   /* another thread was first */
  TVMFFI_I_TYPE_TAKEN,   /* the static index */
  TVMFFI_I_TYPE_FULL,    /* the parent allows no more children */
  TVMFFI_I_TYPE_NO_ROOM, /* no index, or no memory */
} tvmffi_i_type_result;

/* Chooses an index: the static one, one of the parent's slots, or a new one. */
static tvmffi_i_type_result tvmffi_i_choose_index(
    const tvmffi_i_type_request *r, int32_t *index) {
  tvmffi_i_type *parent = r->parent;
  if (r->index >= 0) {
    *index = r->index;
    return tvmffi_i_type_at(r->index) ? TVMFFI_I_TYPE_TAKEN
                                      : TVMFFI_I_TYPE_MADE;
  }
  if (parent->used_slots + r->slots + 1 <= parent->num_slots) {
    int32_t i = 0;
    *index = parent->info.type_index + parent->used_slots;
    while (i <= r->slots && !tvmffi_i_type_at(*index + i)) ++i;
    if (i > r->slots) {
      parent->used_slots += r->slots + 1;
      return TVMFFI_I_TYPE_MADE;
    }
  }
  if (!parent->can_overflow) return TVMFFI_I_TYPE_FULL;
  *index = tvmffi_i_next_index;
  if (*index > TVMFFI_I_MAX_TYPES ||
      tvmffi_i_grow_types(*index + r->slots) != 0)
    return TVMFFI_I_TYPE_NO_ROOM;
  tvmffi_i_next_index += r->slots + 1;
  return TVMFFI_I_TYPE_MADE;
}

/* Puts the prepared entry into the table; mutex held. */
static tvmffi_i_type_result tvmffi_i_enter_type(
    const tvmffi_i_type_request *r, tvmffi_i_type *t,
    const TVMFFITypeInfo **ancestors, char *key) {
  tvmffi_i_type_result result;
  int32_t index;
  if (tvmffi_i_find(&tvmffi_i_type_keys, key, r->key->size))
    return TVMFFI_I_TYPE_KNOWN;
  if (tvmffi_i_reserve(&tvmffi_i_type_keys, r->key->size) != 0)
    return TVMFFI_I_TYPE_NO_ROOM;
  result = tvmffi_i_choose_index(r, &index);
  if (result == TVMFFI_I_TYPE_MADE)
    tvmffi_i_publish_type(t, index, r->depth, key, r->key->size, ancestors);
  return result;
}

static int32_t tvmffi_i_make_type(const tvmffi_i_type_request *r) {
  size_t ancestors_size = (size_t)r->depth * sizeof(TVMFFITypeInfo *);
  tvmffi_i_type *t = (tvmffi_i_type *)tvmffi_i_alloc(
      sizeof(*t) + ancestors_size + r->key->size + 1);
  const TVMFFITypeInfo **ancestors;
  tvmffi_i_type_result result;
  char *key;
  if (!t) return tvmffi_i_no_memory();
  memset((void *)t, 0, sizeof(*t));
  ancestors = (const TVMFFITypeInfo **)(void *)(t + 1);
  key = (char *)(void *)(ancestors + r->depth);
  memcpy(key, r->key->data, r->key->size);
  key[r->key->size] = 0;
  if (r->depth > 1)
    memcpy(ancestors, r->parent->info.type_ancestors,
           (size_t)(r->depth - 1) * sizeof(*ancestors));
  if (r->depth > 0) ancestors[r->depth - 1] = &r->parent->info;
  t->num_slots = r->slots + 1;
  t->can_overflow = r->can_overflow && (!r->parent || r->parent->can_overflow);
  tvmffi_i_lock();
  result = tvmffi_i_enter_type(r, t, ancestors, key);
  tvmffi_i_unlock();
  if (result == TVMFFI_I_TYPE_MADE) return t->info.type_index;
  tvmffi_i_free(t);
  switch (result) {
    case TVMFFI_I_TYPE_KNOWN:
      return tvmffi_i_same_type(tvmffi_i_type_by_key(r->key), r);
    case TVMFFI_I_TYPE_TAKEN:
      return tvmffi_i_fail(
          "InternalError", "Conflicting static index %d between %s and %.*s",
          r->index, tvmffi_i_type_at(r->index)->info.type_key.data,
          TVMFFI_I_TEXT(*r->key));
    case TVMFFI_I_TYPE_FULL:
      return tvmffi_i_fail("InternalError",
                           "Reach maximum number of sub-classes for %s, no "
                           "index is left for %.*s",
                           r->parent->info.type_key.data,
                           TVMFFI_I_TEXT(*r->key));
    default: return tvmffi_i_no_memory();
  }
}

/* Upstream's function cannot fail: it ends the process. Here a conflict gives
   -1 and an error. */
int32_t TVMFFITypeGetOrAllocIndex(const TVMFFIByteArray *type_key,
                                  int32_t static_type_index, int32_t type_depth,
                                  int32_t num_child_slots,
                                  int32_t child_slots_can_overflow,
                                  int32_t parent_type_index) {
  tvmffi_i_type_request r;
  tvmffi_i_type *known;
  TVMFFI_I_BYTES(type_key);
  TVMFFI_TRY(tvmffi_i_start_types());
  known = tvmffi_i_type_by_key(type_key);
  if (parent_type_index == -2) return known ? known->info.type_index : -2;
  r.key = type_key;
  r.index = static_type_index;
  r.depth = type_depth;
  r.slots = num_child_slots;
  r.can_overflow = child_slots_can_overflow;
  r.parent = NULL;
  if (parent_type_index >= 0) {
    r.parent = tvmffi_i_type_or_fail(parent_type_index);
    if (!r.parent) return -1;
  }
  if (known) return tvmffi_i_same_type(known, &r);
  if (!type_key->size || memchr(type_key->data, 0, type_key->size))
    return tvmffi_i_fail("ValueError", "A type key must be a text");
  if (type_depth != (r.parent ? r.parent->info.type_depth + 1 : 0))
    return tvmffi_i_fail(
        "InternalError", "Type `%.*s` cannot have depth %d under parent %d",
        TVMFFI_I_TEXT(*type_key), type_depth, parent_type_index);
  if (num_child_slots < 0 || num_child_slots > TVMFFI_I_MAX_SLOTS)
    return tvmffi_i_fail("ValueError",
                         "Type `%.*s` cannot reserve %d child slots",
                         TVMFFI_I_TEXT(*type_key), num_child_slots);
  if (static_type_index >= kTVMFFIDynObjectBegin ||
      (static_type_index < 0 && !r.parent) ||
      (static_type_index >= 0 &&
       num_child_slots >= kTVMFFIDynObjectBegin - static_type_index) ||
      (static_type_index >= 0 && r.parent &&
       static_type_index <= parent_type_index))
    return tvmffi_i_fail("InternalError",
                         "Type `%.*s` cannot have static index %d under "
                         "parent %d",
                         TVMFFI_I_TEXT(*type_key), static_type_index,
                         parent_type_index);
  return tvmffi_i_make_type(&r);
}

/* Copies up to three texts into one block, which *memory gets, each with a
   NUL; an empty one becomes {NULL, 0}, and if all are there is no block. */
static int tvmffi_i_copy_texts(TVMFFIByteArray *texts, int n, void **memory) {
  size_t size = 0;
  char *to = NULL;
  int i;
  for (i = 0; i < n; ++i)
    if (texts[i].size) size += texts[i].size + 1;
  if (size) {
    to = (char *)tvmffi_i_alloc(size);
    if (!to) return tvmffi_i_no_memory();
  }
  *memory = to;
  for (i = 0; i < n; ++i) {
    if (!texts[i].size) {
      texts[i].data = NULL;
      continue;
    }
    memcpy(to, texts[i].data, texts[i].size);
    to[texts[i].size] = 0;
    texts[i].data = to;
    to += texts[i].size + 1;
  }
  return 0;
}

static int tvmffi_i_same_text(TVMFFIByteArray a, TVMFFIByteArray b) {
  return a.size == b.size && (!a.size || memcmp(a.data, b.data, a.size) == 0);
}

static int tvmffi_i_same_any(const TVMFFIAny *a, const TVMFFIAny *b) {
  return a->type_index == b->type_index && a->zero_padding == b->zero_padding &&
         a->v_uint64 == b->v_uint64;
}

/* Gives an array a larger copy with room for `wanted` elements. The old one is
   not freed: a reader may be in it. Behind the new one stands where it is, so
   that leak checkers find it. Mutex held. */
static void *tvmffi_i_enlarge(const void *array, size_t element, int32_t count,
                              int32_t wanted) {
  size_t size = (size_t)wanted * element;
  char *copy = (char *)tvmffi_i_alloc(size + sizeof(array));
  if (!copy) return copy;
  if (count) memcpy(copy, array, (size_t)count * element);
  memcpy(copy + size, &array, sizeof(array));
  return copy;
}

/* The same, where there is no room for one element more. */
static void *tvmffi_i_grow(const void *array, size_t element, int32_t count,
                           int32_t *capacity) {
  int32_t wanted = *capacity ? *capacity * 2 : 4;
  void *copy;
  if (count < *capacity) return (void *)array;
  copy = tvmffi_i_enlarge(array, element, count, wanted);
  if (copy) *capacity = wanted;
  return copy;
}

/* 0: new, 1: the same is there, 2: another of that name is there. */
static int tvmffi_i_compare_field(const tvmffi_i_type *t,
                                  const TVMFFIFieldInfo *f) {
  int32_t i;
  for (i = 0; i < t->info.num_fields; ++i) {
    const TVMFFIFieldInfo *g = &t->info.fields[i];
    if (tvmffi_i_same_text(f->name, g->name))
      return f->offset == g->offset && f->size == g->size &&
                     f->flags == g->flags && f->getter == g->getter &&
                     f->setter == g->setter
                 ? 1
                 : 2;
  }
  return 0;
}

/* Upstream warns, since a child's field of the same name hides the parent's. */
static void tvmffi_i_warn_hidden(const tvmffi_i_type *t,
                                 const TVMFFIFieldInfo *f) {
#if TVMFFI_NO_STDIO
  (void)t, (void)f;
#else
  int32_t depth, i;
  for (depth = 0; depth < t->info.type_depth; ++depth) {
    const TVMFFITypeInfo *a = t->info.type_ancestors[depth];
    int32_t n = TVMFFI_I_LOAD(&a->num_fields);
    const TVMFFIFieldInfo *fields = TVMFFI_I_LOAD(&a->fields);
    for (i = 0; i < n; ++i)
      if (tvmffi_i_same_text(fields[i].name, f->name))
        (void)fprintf(
            stderr,
            "[WARNING] Field \"%.*s\" in type \"%s\" duplicates an ancestor "
            "field in \"%s\". Child types should not re-register inherited "
            "fields.\n",
            TVMFFI_I_TEXT(f->name), t->info.type_key.data, a->type_key.data);
  }
#endif
}

/* Puts a prepared field into its type. Gives 0, or 1 when the same is there, 2
   when another of that name is, -1 without memory; mutex held. */
static int tvmffi_i_enter_field(tvmffi_i_type *t, const TVMFFIFieldInfo *f) {
  TVMFFIFieldInfo *fields;
  int found = tvmffi_i_compare_field(t, f);
  if (found) return found;
  fields = (TVMFFIFieldInfo *)tvmffi_i_grow(
      t->info.fields, sizeof(*f), t->info.num_fields, &t->field_capacity);
  if (!fields) return -1;
  if (f->flags & kTVMFFIFieldFlagBitSetterIsFunctionObj)
    tvmffi_retain(f->setter);
  fields[t->info.num_fields] = *f;
  TVMFFI_I_STORE(&t->info.fields, fields);
  TVMFFI_I_STORE(&t->info.num_fields, t->info.num_fields + 1);
  return 0;
}

/* What is left to do after an attempt to register, outside the mutex: a copy
   that was not needed goes, a conflict is told. */
static int tvmffi_i_end_register(int result, void *memory, TVMFFIAny *value,
                                 const char *what, const TVMFFIByteArray *name,
                                 const tvmffi_i_type *t) {
  if (!result) return 0;
  tvmffi_i_free(memory);
  tvmffi_any_release(value);
  if (result < 0) return tvmffi_i_no_memory();
  if (result == 1) return 0;
  return tvmffi_i_fail("InternalError",
                       "Duplicate %s name \"%.*s\" in type \"%s\"", what,
                       TVMFFI_I_TEXT(*name), t->info.type_key.data);
}

int TVMFFITypeRegisterField(int32_t type_index, const TVMFFIFieldInfo *info) {
  tvmffi_i_type *t;
  TVMFFIFieldInfo field;
  TVMFFIByteArray texts[3];
  TVMFFIAny value = tvmffi_none();
  void *memory = NULL;
  int result;
  TVMFFI_I_NOT_NULL(info);
  TVMFFI_I_BYTES(&info->name);
  TVMFFI_I_BYTES(&info->doc);
  TVMFFI_I_BYTES(&info->metadata);
  if (info->flags & kTVMFFIFieldFlagBitSetterIsFunctionObj)
    TVMFFI_I_CHECK(info->setter, kTVMFFIFunction);
  t = tvmffi_i_type_or_fail(type_index);
  if (!t) return -1;
  if (info->flags & kTVMFFIFieldFlagBitMaskHasDefault)
    TVMFFI_TRY(
        TVMFFIAnyViewToOwnedAny(&info->default_value_or_factory, &value));
  texts[0] = info->name;
  texts[1] = info->doc;
  texts[2] = info->metadata;
  if (tvmffi_i_copy_texts(texts, 3, &memory)) {
    tvmffi_any_release(&value);
    return -1;
  }
  field = *info;
  field.name = texts[0];
  field.doc = texts[1];
  field.metadata = texts[2];
  field.default_value_or_factory = value;
  tvmffi_i_lock();
  result = tvmffi_i_enter_field(t, &field);
  tvmffi_i_unlock();
  if (!result) tvmffi_i_warn_hidden(t, &field);
  return tvmffi_i_end_register(result, memory, &value, "field", &info->name, t);
}

/* Like tvmffi_i_enter_field. A method is the same when its value and its
   metadata are. An overloaded one stands there once for each signature, with
   the one function that tells them apart. */
static int tvmffi_i_enter_method(tvmffi_i_type *t, const TVMFFIMethodInfo *m) {
  TVMFFIMethodInfo *methods;
  int32_t i;
  for (i = 0; i < t->info.num_methods; ++i)
    if (tvmffi_i_same_text(t->info.methods[i].name, m->name)) {
      const TVMFFIMethodInfo *had = &t->info.methods[i];
      if (!tvmffi_i_same_any(&had->method, &m->method)) return 2;
      if (tvmffi_i_same_text(had->metadata, m->metadata)) return 1;
    }
  methods = (TVMFFIMethodInfo *)tvmffi_i_grow(
      t->info.methods, sizeof(*m), t->info.num_methods, &t->method_capacity);
  if (!methods) return -1;
  methods[t->info.num_methods] = *m;
  TVMFFI_I_STORE(&t->info.methods, methods);
  TVMFFI_I_STORE(&t->info.num_methods, t->info.num_methods + 1);
  return 0;
}

/* Raises unless the texts are readable and the method is a function. */
static int tvmffi_i_check_method(const char *function,
                                 const TVMFFIMethodInfo *info) {
  static const char *const what[] = {"info->name", "info->doc",
                                     "info->metadata"};
  const TVMFFIByteArray *texts[3];
  int i;
  if (!info) return tvmffi_i_null(function, "info");
  texts[0] = &info->name;
  texts[1] = &info->doc;
  texts[2] = &info->metadata;
  for (i = 0; i < 3; ++i)
    if (!tvmffi_i_is_bytes(texts[i]))
      return tvmffi_i_bad_bytes(function, what[i], texts[i]);
  if (info->method.type_index < kTVMFFIStaticObjectBegin)
    return tvmffi_i_fail("TypeError",
                         "Cannot convert from type `%s` to `ffi.Function`",
                         tvmffi_i_type_key(info->method.type_index));
  return tvmffi_i_check_type(function, "info->method", info->method.v_obj,
                             kTVMFFIFunction);
}

int TVMFFITypeRegisterMethod(int32_t type_index, const TVMFFIMethodInfo *info) {
  tvmffi_i_type *t;
  TVMFFIMethodInfo method;
  TVMFFIByteArray texts[3];
  void *memory = NULL;
  int result;
  TVMFFI_TRY(tvmffi_i_check_method(__func__, info));
  t = tvmffi_i_type_or_fail(type_index);
  if (!t) return -1;
  method = *info;
  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(&info->method, &method.method));
  texts[0] = info->name;
  texts[1] = info->doc;
  texts[2] = info->metadata;
  if (tvmffi_i_copy_texts(texts, 3, &memory)) {
    tvmffi_any_release(&method.method);
    return -1;
  }
  method.name = texts[0];
  method.doc = texts[1];
  method.metadata = texts[2];
  tvmffi_i_lock();
  result = tvmffi_i_enter_method(t, &method);
  tvmffi_i_unlock();
  return tvmffi_i_end_register(result, memory, &method.method, "method",
                               &info->name, t);
}

int TVMFFITypeRegisterMetadata(int32_t type_index,
                               const TVMFFITypeMetadata *metadata) {
  tvmffi_i_type *t;
  TVMFFIByteArray doc;
  const TVMFFITypeMetadata *had;
  void *memory = NULL;
  TVMFFI_I_NOT_NULL(metadata);
  TVMFFI_I_BYTES(&metadata->doc);
  t = tvmffi_i_type_or_fail(type_index);
  if (!t) return -1;
  doc = metadata->doc;
  TVMFFI_TRY(tvmffi_i_copy_texts(&doc, 1, &memory));
  tvmffi_i_lock();
  had = t->info.metadata;
  if (!had) {
    t->metadata = *metadata;
    t->metadata.doc = doc;
    TVMFFI_I_STORE(&t->info.metadata, &t->metadata);
  }
  tvmffi_i_unlock();
  if (!had) return 0;
  tvmffi_i_free(memory);
  if (had->creator == metadata->creator &&
      had->total_size == metadata->total_size &&
      had->structural_eq_hash_kind == metadata->structural_eq_hash_kind)
    return 0;
  return tvmffi_i_fail(
      "RuntimeError",
      "Overriding %s, possible causes:\n"
      "- two ObjectDef<T>() calls for the same T \n"
      "- when we forget to assign _type_key to ObjectRef<Y> that inherits from "
      "T\n"
      "- another type with the same key is already registered\n"
      "Cross check the reflection registration.",
      t->info.type_key.data);
}

/* An attribute column: values by type index, from 0 on. */
typedef struct {
  tvmffi_i_node node;
  TVMFFITypeAttrColumn column;
  int32_t capacity;
} tvmffi_i_column;

static tvmffi_i_map tvmffi_i_columns;

/* The column of a name, made when it is missing; mutex held. */
static tvmffi_i_column *tvmffi_i_get_column(const TVMFFIByteArray *name) {
  tvmffi_i_node *node =
      tvmffi_i_find(&tvmffi_i_columns, name->data, name->size);
  tvmffi_i_column *c = (tvmffi_i_column *)(void *)node;
  char *key;
  if (c) return c;
  if (tvmffi_i_reserve(&tvmffi_i_columns, name->size) != 0) return NULL;
  c = (tvmffi_i_column *)tvmffi_i_alloc(sizeof(*c) + name->size + 1);
  if (!c) return c;
  memset(c, 0, sizeof(*c));
  key = (char *)(c + 1);
  if (name->size) memcpy(key, name->data, name->size);
  key[name->size] = 0;
  tvmffi_i_insert(&tvmffi_i_columns, &c->node, key, name->size);
  return c;
}

/* Puts a value into a column; the result is that of tvmffi_i_enter_field. A
   reader who sees the size sees data of that size, and who sees the type of a
   value sees the value. Mutex held. */
static int tvmffi_i_enter_attr(tvmffi_i_column *c, int32_t index,
                               const TVMFFIAny *value) {
  TVMFFIAny *data = (TVMFFIAny *)c->column.data, *slot;
  int32_t capacity = c->capacity ? c->capacity : 256;
  if (index >= c->capacity) {
    while (capacity <= index) capacity *= 2;
    data = (TVMFFIAny *)tvmffi_i_enlarge(data, sizeof(*data), c->column.size,
                                         capacity);
    if (!data) return -1;
    memset(data + c->column.size, 0,
           (size_t)(capacity - c->column.size) * sizeof(*data));
    c->capacity = capacity;
    TVMFFI_I_STORE(&c->column.data, data);
  }
  slot = &data[index];
  if (slot->type_index != kTVMFFINone)
    return tvmffi_i_same_any(slot, value) ? 1 : 2;
  slot->zero_padding = value->zero_padding;
  slot->v_uint64 = value->v_uint64;
  TVMFFI_I_STORE(&slot->type_index, value->type_index);
  if (index >= c->column.size) TVMFFI_I_STORE(&c->column.size, index + 1);
  return 0;
}

/* With the index of None, only makes the column. */
int TVMFFITypeRegisterAttr(int32_t type_index, const TVMFFIByteArray *attr_name,
                           const TVMFFIAny *attr_value) {
  tvmffi_i_column *c;
  TVMFFIAny value = tvmffi_none();
  int result = 0;
  TVMFFI_I_BYTES(attr_name);
  TVMFFI_TRY(tvmffi_i_start_types());
  if (type_index != kTVMFFINone) {
    TVMFFI_I_NOT_NULL(attr_value);
    if (!tvmffi_i_type_or_fail(type_index)) return -1;
    TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(attr_value, &value));
  }
  tvmffi_i_lock();
  c = tvmffi_i_get_column(attr_name);
  if (!c)
    result = -1;
  else if (type_index != kTVMFFINone)
    result = tvmffi_i_enter_attr(c, type_index, &value);
  tvmffi_i_unlock();
  if (!result) return 0;
  tvmffi_any_release(&value);
  if (result < 0) return tvmffi_i_no_memory();
  if (result == 1) return 0;
  return tvmffi_i_fail(
      "RuntimeError",
      "TypeAttr `%.*s` is already registered for type index %d. To update the "
      "stored value, register a mutable container (e.g., Dict/List) once and "
      "mutate it in place on subsequent calls.",
      TVMFFI_I_TEXT(*attr_name), type_index);
}

const TVMFFITypeAttrColumn *TVMFFIGetTypeAttrColumn(
    const TVMFFIByteArray *attr_name) {
  tvmffi_i_node *node;
  if (!tvmffi_i_is_bytes(attr_name)) {
    (void)tvmffi_i_bad_bytes(__func__, "attr_name", attr_name);
    return NULL;
  }
  node = tvmffi_i_find(&tvmffi_i_columns, attr_name->data, attr_name->size);
  if (TVMFFI_I_UNLIKELY(!node)) {
    if (tvmffi_i_start_types()) return NULL;
    node = tvmffi_i_find(&tvmffi_i_columns, attr_name->data, attr_name->size);
  }
  return node ? &((tvmffi_i_column *)(void *)node)->column : NULL;
}

/* ======== Function ============================================= >>function */
/* Function objects and the global table. The table's entries live for ever
   and their names are never removed; the function in one may change. A reader
   takes no lock: it counts itself into the entry while it goes from the
   pointer to a reference of its own. A writer who has replaced the function
   waits until each of the two counters was seen at zero, and only then drops
   its reference; new readers use the other counter meanwhile, so they cannot
   keep it waiting. */

typedef struct {
  TVMFFIObject base;
  TVMFFIFunctionCell cell;
} tvmffi_i_function_object;

typedef struct {
  tvmffi_i_function_object function;
  void *self;
  TVMFFISafeCallType call;
  void (*deleter)(void *self);
} tvmffi_i_closure;

static int tvmffi_i_call_closure(void *handle, const TVMFFIAny *args,
                                 int32_t num_args, TVMFFIAny *result) {
  tvmffi_i_closure *c = (tvmffi_i_closure *)handle;
  return c->call(c->self, args, num_args, result);
}

TVMFFI_I_INLINE void tvmffi_i_destroy_closure(void *self, int flags) {
  tvmffi_i_closure *c = (tvmffi_i_closure *)self;
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) && c->deleter)
    c->deleter(c->self);
  tvmffi_i_delete_sized(self, flags, sizeof(*c));
}

static void tvmffi_i_delete_closure(void *self, int flags) {
  tvmffi_i_destroy((TVMFFIObject *)self, flags, tvmffi_i_destroy_closure);
}

static void tvmffi_i_delete_function(void *self, int flags) {
  tvmffi_i_delete_sized(self, flags, sizeof(tvmffi_i_function_object));
}

/* Without self and deleter the function is the callback alone, which then
   gets the function's own handle, as upstream's does. */
int TVMFFIFunctionCreate(void *self, TVMFFISafeCallType safe_call,
                         void (*deleter)(void *self), TVMFFIObjectHandle *out) {
  tvmffi_i_function_object *f;
  int closed = self || deleter;
  TVMFFI_I_NOT_NULL(safe_call);
  TVMFFI_I_NOT_NULL(out);
  f = (tvmffi_i_function_object *)tvmffi_i_object(
      closed ? sizeof(tvmffi_i_closure) : sizeof(*f), kTVMFFIFunction,
      closed ? tvmffi_i_delete_closure : tvmffi_i_delete_function);
  if (!f) return -1;
  f->cell.safe_call = safe_call;
  f->cell.cpp_call = NULL;
  if (closed) {
    tvmffi_i_closure *c = (tvmffi_i_closure *)(void *)f;
    f->cell.safe_call = tvmffi_i_call_closure;
    c->self = self;
    c->call = safe_call;
    c->deleter = deleter;
  }
  *out = f;
  return 0;
}

/* The rest of a call: of a derived type of function, or a refused one. */
TVMFFI_I_SLOW int tvmffi_i_check_call(TVMFFIObjectHandle func,
                                      const TVMFFIAny *args, int32_t num_args,
                                      TVMFFIAny *result) {
  static const char name[] = "TVMFFIFunctionCall";
  TVMFFISafeCallType call;
  TVMFFI_TRY(tvmffi_i_check_type(name, "func", func, kTVMFFIFunction));
  if (!result) return tvmffi_i_null(name, "result");
  if (num_args < 0)
    return tvmffi_i_fail("ValueError", "%s: num_args is %d", name, num_args);
  if (num_args && !args) return tvmffi_i_null(name, "args");
  call = TVMFFIFunctionGetCellPtr(func)->safe_call;
  return call ? call(func, args, num_args, result)
              : tvmffi_i_null(name, "func's safe_call");
}

int TVMFFIFunctionCall(TVMFFIObjectHandle func, TVMFFIAny *args,
                       int32_t num_args, TVMFFIAny *result) {
  const tvmffi_i_function_object *f = (tvmffi_i_function_object *)func;
  if (TVMFFI_I_LIKELY(f && result && (args ? num_args >= 0 : num_args == 0) &&
                      f->base.type_index == kTVMFFIFunction &&
                      f->cell.safe_call))
    return f->cell.safe_call(func, args, num_args, result);
  return tvmffi_i_check_call(func, args, num_args, result);
}

/* What else is known of a global function: one block of memory, or static for
   a built-in one. */
typedef struct {
  TVMFFIByteArray doc, metadata;
  int64_t flags;
  const tvmffi_func *typed; /* a built-in function, else NULL */
} tvmffi_i_about;

typedef struct {
  tvmffi_i_node node;
  TVMFFIObject *function;      /* NULL: removed */
  const tvmffi_i_about *about; /* NULL: nothing */
  uint32_t readers[2];
  uint32_t side; /* the counter that new readers use */
} tvmffi_i_global;

static tvmffi_i_map tvmffi_i_globals;
static int tvmffi_i_start_globals(void); /* with >>builtins */

#if TVMFFI_NO_THREADS
#define TVMFFI_I_ENTER(entry, mine) ((void)((mine) = 0))
#define TVMFFI_I_LEAVE(entry, mine) ((void)0)
static void tvmffi_i_wait(tvmffi_i_global *g) { (void)g; }
#else
#define TVMFFI_I_ENTER(entry, mine)                    \
  ((mine) = TVMFFI_I_LOAD_RELAXED(&(entry)->side) & 1, \
   (void)__atomic_fetch_add(&(entry)->readers[mine], 1, __ATOMIC_SEQ_CST))
#define TVMFFI_I_LEAVE(entry, mine) \
  ((void)__atomic_fetch_sub(&(entry)->readers[mine], 1, __ATOMIC_RELEASE))
/* Waits until all have left who may have seen what was just replaced. */
static void tvmffi_i_wait(tvmffi_i_global *g) {
  uint32_t side;
  for (side = 0; side < 2; ++side) {
    __atomic_store_n(&g->side, 1 - side, __ATOMIC_SEQ_CST);
    while (TVMFFI_I_LOAD_SEQ(&g->readers[side])) tvmffi_i_yield();
  }
}
#endif

/* Finds the entry of a name, or NULL. Takes no lock, and starts nothing. */
static tvmffi_i_global *tvmffi_i_find_global(const TVMFFIByteArray *name) {
  return (tvmffi_i_global *)(void *)tvmffi_i_find(&tvmffi_i_globals, name->data,
                                                  name->size);
}

/* Gives the function of an entry, owned, or NULL. */
static TVMFFIObject *tvmffi_i_take_global(tvmffi_i_global *g) {
  TVMFFIObject *function;
  uint32_t side;
  TVMFFI_I_ENTER(g, side);
  function = TVMFFI_I_LOAD_SEQ(&g->function);
  if (function) tvmffi_retain(function);
  TVMFFI_I_LEAVE(g, side);
  return function;
}

int TVMFFIFunctionGetGlobal(const TVMFFIByteArray *name,
                            TVMFFIObjectHandle *out) {
  tvmffi_i_global *g;
  TVMFFI_I_BYTES(name);
  TVMFFI_I_NOT_NULL(out);
  g = tvmffi_i_find_global(name);
  if (TVMFFI_I_UNLIKELY(!g)) {
    TVMFFI_TRY(tvmffi_i_start_globals());
    g = tvmffi_i_find_global(name);
  }
  *out = g ? tvmffi_i_take_global(g) : NULL;
  return 0;
}

/* Puts function and description into an entry and gives what was there, to be
   released after tvmffi_i_wait; mutex held. */
static void tvmffi_i_swap_global(tvmffi_i_global *g, TVMFFIObject **function,
                                 const tvmffi_i_about **about) {
  TVMFFIObject *old = g->function;
  const tvmffi_i_about *old_about = g->about;
#if TVMFFI_NO_THREADS
  g->function = *function;
#else
  __atomic_store_n(&g->function, *function, __ATOMIC_SEQ_CST);
#endif
  TVMFFI_I_STORE(&g->about, *about);
  *function = old;
  *about = old_about;
}

static void tvmffi_i_drop_global(tvmffi_i_global *g, TVMFFIObject *function,
                                 const tvmffi_i_about *about) {
  if (!function && !about) return;
  tvmffi_i_wait(g);
  if (about && !about->typed) tvmffi_i_free((void *)about);
  tvmffi_release(function);
}

static int tvmffi_i_make_about(const TVMFFIMethodInfo *info,
                               const tvmffi_i_about **out) {
  tvmffi_i_about *about;
  char *to;
  *out = NULL;
  if (!info->doc.size && !info->metadata.size &&
      info->flags == kTVMFFIFieldFlagBitMaskIsStaticMethod)
    return 0;
  if (info->doc.size > PTRDIFF_MAX / 4 || info->metadata.size > PTRDIFF_MAX / 4)
    return tvmffi_i_no_memory();
  about = (tvmffi_i_about *)tvmffi_i_alloc(sizeof(*about) + info->doc.size +
                                           info->metadata.size);
  if (!about) return tvmffi_i_no_memory();
  to = (char *)(about + 1);
  about->doc.data = to;
  about->doc.size = info->doc.size;
  if (info->doc.size) memcpy(to, info->doc.data, info->doc.size);
  to += info->doc.size;
  about->metadata.data = to;
  about->metadata.size = info->metadata.size;
  if (info->metadata.size) memcpy(to, info->metadata.data, info->metadata.size);
  about->flags = info->flags;
  about->typed = NULL;
  *out = about;
  return 0;
}

/* Memory for an entry and its name, or NULL; mutex held. It is never freed, so
   the entries stand close together, in blocks that grow with their number. */
static void *tvmffi_i_global_room(size_t size) {
  enum { SMALLEST = 512, LARGEST = 32768 };
  static char *room;
  static size_t left, block;
  char *at;
  size = (size + TVMFFI_I_TAG) & ~(size_t)TVMFFI_I_TAG;
  if (size > left) {
    size_t next = block ? block * 2 : SMALLEST;
    if (next > LARGEST) next = LARGEST;
    if (size > next / 4) return tvmffi_i_alloc(size);
    at = (char *)tvmffi_i_alloc(next);
    if (!at) return at;
    room = at;
    left = block = next;
  }
  at = room;
  room += size;
  left -= size;
  return at;
}

/* The entry of a name, made when it is missing, or NULL; mutex held. */
static tvmffi_i_global *tvmffi_i_make_global(const TVMFFIByteArray *name) {
  tvmffi_i_global *g = (tvmffi_i_global *)(void *)tvmffi_i_find(
      &tvmffi_i_globals, name->data, name->size);
  char *key;
  if (g) return g;
  if (tvmffi_i_reserve(&tvmffi_i_globals, name->size) != 0) return NULL;
  g = (tvmffi_i_global *)tvmffi_i_global_room(sizeof(*g) + name->size + 1);
  if (!g) return g;
  memset(g, 0, sizeof(*g));
  key = (char *)(g + 1);
  if (name->size) memcpy(key, name->data, name->size);
  key[name->size] = 0;
  tvmffi_i_insert(&tvmffi_i_globals, &g->node, key, name->size);
  return g;
}

/* Upstream's texts for a taken name; `by_info` tells which function failed. */
TVMFFI_I_COLD int tvmffi_i_name_taken(const TVMFFIByteArray *name,
                                      int by_info) {
  return tvmffi_i_fail("RuntimeError",
                       "Global Function `%.*s` is already registered%s",
                       TVMFFI_I_TEXT(*name),
                       by_info ? ", possible causes:\n"
                                 "- Two GlobalDef().def registrations for the "
                                 "same function \n"
                                 "Please remove the duplicate registration."
                               : "");
}

static int tvmffi_i_set_global(const TVMFFIMethodInfo *info, int override,
                               int by_info) {
  TVMFFIObject *function = info->method.v_obj;
  const tvmffi_i_about *about;
  tvmffi_i_global *g;
  int taken;
  TVMFFI_TRY(tvmffi_i_start_globals());
  TVMFFI_TRY(tvmffi_i_make_about(info, &about));
  tvmffi_retain(function);
  tvmffi_i_lock();
  g = tvmffi_i_make_global(&info->name);
  taken = g && g->function && !override ? 1 + (g->function == function) : 0;
  if (g && !taken) tvmffi_i_swap_global(g, &function, &about);
  tvmffi_i_unlock();
  if (g && !taken) {
    tvmffi_i_drop_global(g, function, about);
    return 0;
  }
  tvmffi_i_free((void *)about);
  tvmffi_release(function);
  if (!g) return tvmffi_i_no_memory();
  return taken == 2 ? 0 : tvmffi_i_name_taken(&info->name, by_info);
}

int TVMFFIFunctionSetGlobal(const TVMFFIByteArray *name, TVMFFIObjectHandle f,
                            int allow_override) {
  TVMFFIMethodInfo info;
  TVMFFI_I_BYTES(name);
  TVMFFI_I_CHECK(f, kTVMFFIFunction);
  memset(&info, 0, sizeof(info));
  info.name = *name;
  info.flags = kTVMFFIFieldFlagBitMaskIsStaticMethod;
  info.method = tvmffi_obj(f);
  return tvmffi_i_set_global(&info, allow_override, 0);
}

int TVMFFIFunctionSetGlobalFromMethodInfo(const TVMFFIMethodInfo *method_info,
                                          int allow_override) {
  TVMFFI_TRY(tvmffi_i_check_method(__func__, method_info));
  return tvmffi_i_set_global(method_info, allow_override, 1);
}

/* Removes a function from its entry; gives whether there was one. */
static int tvmffi_i_remove_global(const TVMFFIByteArray *name) {
  tvmffi_i_global *g = tvmffi_i_find_global(name);
  const tvmffi_i_about *about = NULL;
  TVMFFIObject *function = NULL;
  int had;
  if (!g) return 0;
  tvmffi_i_lock();
  tvmffi_i_swap_global(g, &function, &about);
  tvmffi_i_unlock();
  had = function != NULL;
  tvmffi_i_drop_global(g, function, about);
  return had;
}

/* How a functor that takes an index shows itself in error texts: it has no
   name of its own. */
static const tvmffi_i_name *const tvmffi_i_by_index_types[] = {
    &tvmffi_i_name_any, &tvmffi_i_name_int64};
static const tvmffi_func tvmffi_i_by_index = {"", NULL, 1,
                                              tvmffi_i_by_index_types};

/* The index that such a functor is called with. */
static int tvmffi_i_get_index(const TVMFFIAny *args, int32_t num_args,
                              const TVMFFIAny *result, int64_t *index) {
  int code;
  if (num_args != 1)
    return tvmffi_i_bad_call(&tvmffi_i_by_index, num_args, result);
  code = tvmffi_i_get_int64(args, index);
  return code ? tvmffi_i_bad_arg(&tvmffi_i_by_index, 0, args, code) : 0;
}

/* ======== Dtype =================================================== >>dtype */
/* Data types as text, as upstream's dtype.cc reads and writes them, and
   stricter where it lets through what cannot be meant (docs/differences.md).
   Codes from 129 on are a user's: two global functions know their names. */

enum { TVMFFI_I_CUSTOM_CODE = 129, TVMFFI_I_FIRST_SHORT_FLOAT = 7 };

/* By code; a code without a text is not known. Texts of one size, copied as a
   whole. */
typedef struct {
  char text[19];
  uint8_t size;
} tvmffi_i_code_name;
static const tvmffi_i_code_name tvmffi_i_code_names[] = {
    {"int", 3},
    {"uint", 4},
    {"float", 5},
    {"handle", 6},
    {"bfloat", 6},
    {"", 0},
    {"bool", 4},
    {"float8_e3m4", 11},
    {"float8_e4m3", 11},
    {"float8_e4m3b11fnuz", 18},
    {"float8_e4m3fn", 13},
    {"float8_e4m3fnuz", 15},
    {"float8_e5m2", 11},
    {"float8_e5m2fnuz", 15},
    {"float8_e8m0fnu", 14},
    {"float6_e2m3fn", 13},
    {"float6_e3m2fn", 13},
    {"float4_e2m1fn", 13}};
enum {
  TVMFFI_I_NUM_CODES =
      sizeof(tvmffi_i_code_names) / sizeof(tvmffi_i_code_names[0])
};

/* A text being read. Errors show it as upstream does, with an alias (i8, f16,
   fp8_...) written out: `alias` bytes of it stand for `head`. */
typedef struct {
  const char *at, *end;
  const char *text; /* behind the alias */
  const char *head;
} tvmffi_i_reader;

/* What "%.*s" takes for a text between two places. */
#define TVMFFI_I_SHOWN(begin, end) \
  tvmffi_i_clip(begin, (size_t)((end) - (begin))), begin

TVMFFI_I_COLD int tvmffi_i_bad_dtype(const tvmffi_i_reader *r,
                                     const char *kind) {
  return tvmffi_i_fail("ValueError", "unknown %s `%s%.*s`", kind, r->head,
                       TVMFFI_I_SHOWN(r->text, r->end));
}

TVMFFI_I_COLD int tvmffi_i_bad_number(const tvmffi_i_reader *r,
                                      const char *what, uint32_t number,
                                      const char *type) {
  return tvmffi_i_fail(
      "ValueError", "%s value %u is out of range for %s in dtype '%s%.*s'",
      what, number, type, r->head, TVMFFI_I_SHOWN(r->text, r->end));
}

static int tvmffi_i_starts(const tvmffi_i_reader *r, const char *prefix,
                           size_t size) {
  size_t i = 0;
  if ((size_t)(r->end - r->at) < size) return 0;
  while (i < size && r->at[i] == prefix[i]) ++i;
  return i == size;
}

/* Reads digits, of which there may be none: that is 0. */
static int tvmffi_i_read_number(tvmffi_i_reader *r, uint32_t *out) {
  const char *begin = r->at;
  uint64_t value = 0;
  for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; ++r->at)
    if (value <= UINT32_MAX) value = value * 10 + (uint64_t)(*r->at - '0');
  if (value > UINT32_MAX)
    return tvmffi_i_fail("ValueError",
                         "Integer value in dtype string '%.*s' is out of range "
                         "for uint32_t",
                         TVMFFI_I_SHOWN(begin, r->at));
  *out = (uint32_t)value;
  return 0;
}

/* Reads the end of a type: nothing, x4, or, if scalable, xvscalex4, whose
   lanes are stored negative. More than 2^15 lanes would read as the other. */
static int tvmffi_i_read_lanes(tvmffi_i_reader *r, int scalable,
                               DLDataType *out) {
  int negative = 0;
  uint32_t lanes = 0;
  const char *digits;
  if (r->at == r->end) return 0;
  if (scalable && tvmffi_i_starts(r, "xvscale", 7)) {
    negative = 1;
    r->at += 7;
  }
  if (r->at != r->end && *r->at != 'x') return tvmffi_i_bad_dtype(r, "dtype");
  digits = r->at += r->at != r->end;
  TVMFFI_TRY(tvmffi_i_read_number(r, &lanes));
  if (r->at == digits || lanes == 0)
    return tvmffi_i_fail("ValueError",
                         "Invalid lanes specification in dtype '%s%.*s'. Lanes "
                         "must be a positive integer.",
                         r->head, TVMFFI_I_SHOWN(r->text, r->end));
  if (lanes > UINT16_MAX)
    return tvmffi_i_bad_number(r, "Lanes", lanes, "uint16_t");
  if (lanes > (uint32_t)(INT16_MAX + negative))
    return tvmffi_i_bad_number(r, "Lanes", lanes, "int16_t");
  if (r->at != r->end) return tvmffi_i_bad_dtype(r, "dtype");
  out->lanes = (uint16_t)(negative ? 0 - lanes : lanes);
  return 0;
}

/* Whether 8_, 6_ or 4_ stands here: a float of so many bits, by name. */
static int tvmffi_i_at_short_float(const tvmffi_i_reader *r) {
  return r->end - r->at >= 2 && r->at[1] == '_' &&
         (r->at[0] == '8' || r->at[0] == '6' || r->at[0] == '4');
}

/* Reads it: digit, underscore and the name of the format. */
static int tvmffi_i_read_short_float(tvmffi_i_reader *r, DLDataType *out) {
  static const char *const kinds[] = {"float8 type", "float6 type",
                                      "float4 type"};
  int bits = r->at[0] - '0', code;
  const char *end = r->at += 2;
  size_t size;
  while (end != r->end && *end != 'x' && !(bits == 4 && *end == '_')) ++end;
  size = (size_t)(end - r->at);
  for (code = TVMFFI_I_FIRST_SHORT_FLOAT; code < TVMFFI_I_NUM_CODES; ++code) {
    const tvmffi_i_code_name *name = &tvmffi_i_code_names[code];
    if (name->text[5] - '0' != bits || name->size != size + 7 ||
        !tvmffi_i_starts(r, name->text + 7, size))
      continue;
    r->at = end;
    if (end != r->end && *end == '_') ++r->at;
    out->code = (uint8_t)code;
    out->bits = (uint8_t)bits;
    return tvmffi_i_read_lanes(r, 0, out);
  }
  return tvmffi_i_bad_dtype(r, kinds[(8 - bits) / 2]);
}

/* Calls dtype.get_custom_type_code or _name with one argument. */
static int tvmffi_i_call_custom(const char *name, TVMFFIAny *arg,
                                TVMFFIAny *result) {
  TVMFFIByteArray key = tvmffi_view(name);
  TVMFFIObjectHandle f = NULL;
  int code;
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&key, &f));
  if (!f) return tvmffi_i_fail("ValueError", "Function %s not found", name);
  *result = tvmffi_none();
  code = TVMFFIFunctionCall(f, arg, 1, result);
  tvmffi_release(f);
  return code;
}

static int tvmffi_i_read_custom(tvmffi_i_reader *r, DLDataType *out) {
  TVMFFIByteArray name;
  TVMFFIAny arg, result;
  const char *end;
  int code;
  if (r->at == r->end || *r->at != '[')
    return tvmffi_i_fail("ValueError",
                         "expected opening brace after 'custom' type in%.*s",
                         TVMFFI_I_SHOWN(r->text, r->end));
  name.data = ++r->at;
  end = (const char *)memchr(r->at, ']', (size_t)(r->end - r->at));
  if (!end)
    return tvmffi_i_fail("ValueError",
                         "expected closing brace after 'custom' type in%.*s",
                         TVMFFI_I_SHOWN(r->text, r->end));
  name.size = (size_t)(end - name.data);
  r->at = end + 1;
  TVMFFI_TRY(TVMFFIStringFromByteArray(&name, &arg));
  code = tvmffi_i_call_custom("dtype.get_custom_type_code", &arg, &result);
  tvmffi_any_release(&arg);
  if (code) return code;
  if (result.type_index != kTVMFFIInt ||
      result.v_int64 < TVMFFI_I_CUSTOM_CODE || result.v_int64 > UINT8_MAX) {
    tvmffi_any_release(&result);
    return tvmffi_i_fail("ValueError",
                         "dtype.get_custom_type_code must give a code from "
                         "129 to 255");
  }
  out->code = (uint8_t)result.v_int64;
  return 0;
}

/* What the beginning of a type may be; an alias has a head to be shown, and is
   one only before what its `before` says. The first that fits is taken. */
typedef enum {
  TVMFFI_I_BEFORE_ANY,
  TVMFFI_I_BEFORE_DIGIT,
  TVMFFI_I_BEFORE_SHORT_FLOAT
} tvmffi_i_before;
typedef struct {
  const char *prefix;
  uint8_t size, code, bits, before;
  const char *head;
} tvmffi_i_dtype_name;
static const tvmffi_i_dtype_name tvmffi_i_dtype_names[] = {
    {"float", 5, kDLFloat, 32, TVMFFI_I_BEFORE_ANY, ""},
    {"int", 3, kDLInt, 32, TVMFFI_I_BEFORE_ANY, ""},
    {"uint", 4, kDLUInt, 32, TVMFFI_I_BEFORE_ANY, ""},
    {"bool", 4, kDLBool, 8, TVMFFI_I_BEFORE_ANY, ""},
    {"bfloat", 6, kDLBfloat, 16, TVMFFI_I_BEFORE_ANY, ""},
    {"fp", 2, kDLFloat, 0, TVMFFI_I_BEFORE_SHORT_FLOAT, "float"},
    {"f", 1, kDLFloat, 32, TVMFFI_I_BEFORE_DIGIT, "float"},
    {"i", 1, kDLInt, 32, TVMFFI_I_BEFORE_DIGIT, "int"},
    {"u", 1, kDLUInt, 32, TVMFFI_I_BEFORE_DIGIT, "uint"},
    {"bf", 2, kDLBfloat, 16, TVMFFI_I_BEFORE_DIGIT, "bfloat"},
    {"handle", 6, kDLOpaqueHandle, 64, TVMFFI_I_BEFORE_ANY, ""},
    {"custom", 6, TVMFFI_I_CUSTOM_CODE, 32, TVMFFI_I_BEFORE_ANY, ""}};

/* Finds the name and goes behind it; NULL when there is none. */
static const tvmffi_i_dtype_name *tvmffi_i_read_name(tvmffi_i_reader *r) {
  const size_t count =
      sizeof(tvmffi_i_dtype_names) / sizeof(tvmffi_i_dtype_names[0]);
  const char *begin = r->at;
  size_t i;
  for (i = 0; i < count; ++i) {
    const tvmffi_i_dtype_name *n = &tvmffi_i_dtype_names[i];
    if (!tvmffi_i_starts(r, n->prefix, n->size)) continue;
    r->at = begin + n->size;
    if (n->before == TVMFFI_I_BEFORE_ANY) return n;
    r->text = r->at;
    r->head = n->head;
    if (n->before == TVMFFI_I_BEFORE_SHORT_FLOAT
            ? tvmffi_i_at_short_float(r)
            : r->at < r->end && *r->at >= '0' && *r->at <= '9')
      return n;
    r->at = r->text = begin;
    r->head = "";
  }
  return NULL;
}

static int tvmffi_i_read_dtype(tvmffi_i_reader *r, DLDataType *out) {
  const tvmffi_i_dtype_name *name = tvmffi_i_read_name(r);
  uint32_t bits = 0;
  if (!name) return tvmffi_i_bad_dtype(r, "dtype");
  if (name->code == kDLFloat && tvmffi_i_at_short_float(r))
    return tvmffi_i_read_short_float(r, out);
  out->code = name->code;
  out->bits = name->bits;
  if (name->code == TVMFFI_I_CUSTOM_CODE)
    TVMFFI_TRY(tvmffi_i_read_custom(r, out));
  TVMFFI_TRY(tvmffi_i_read_number(r, &bits));
  if (bits > UINT8_MAX) return tvmffi_i_bad_number(r, "Bits", bits, "uint8_t");
  if (bits > 8 && name->code == kDLBool)
    return tvmffi_i_bad_number(r, "Bits", bits, "bool");
  if (bits) out->bits = (uint8_t)bits;
  return tvmffi_i_read_lanes(r, 1, out);
}

/* Reads digits; gives their end. Sixteen of them fit the number. */
TVMFFI_I_INLINE const char *tvmffi_i_digits(const char *p, const char *end,
                                            uint64_t *out) {
  uint64_t value = 0;
  for (; p < end && *p >= '0' && *p <= '9'; ++p)
    value = value * 10 + (uint64_t)(*p - '0');
  *out = value;
  return p;
}

/* Reads int, uint, float, bool and handle with bits and lanes. Gives 0, having
   done nothing, for all else: that and all faults are tvmffi_i_read_dtype's. */
static int tvmffi_i_read_usual(const char *p, size_t size, DLDataType *out) {
  const char *end, *digits;
  uint64_t bits, lanes = 1;
  int negative = 0;
  DLDataType t;
  if (size < 3 || size > 16 || (size > 6 && p[6] == '_')) return 0;
  end = p + size;
  t.bits = 32;
  if (memcmp(p, "int", 3) == 0) {
    t.code = kDLInt;
    p += 3;
  } else if (size >= 5 && memcmp(p, "float", 5) == 0) {
    t.code = kDLFloat;
    p += 5;
  } else if (size >= 4 && memcmp(p, "uint", 4) == 0) {
    t.code = kDLUInt;
    p += 4;
  } else if (size == 4 && memcmp(p, "bool", 4) == 0) {
    t.code = kDLBool;
    t.bits = 8;
    p += 4;
  } else if (size == 6 && memcmp(p, "handle", 6) == 0) {
    t.code = kDLOpaqueHandle;
    t.bits = 64;
    p += 6;
  } else {
    return 0;
  }
  p = tvmffi_i_digits(p, end, &bits);
  if (bits > UINT8_MAX) return 0;
  if (bits) t.bits = (uint8_t)bits;
  if (p < end) {
    if (end - p > 8 && memcmp(p, "xvscale", 7) == 0) negative = 1, p += 7;
    if (*p != 'x') return 0;
    digits = ++p;
    p = tvmffi_i_digits(p, end, &lanes);
    if (p != end || p == digits || !lanes ||
        lanes > (uint64_t)(INT16_MAX + negative))
      return 0;
  }
  t.lanes = (uint16_t)(negative ? 0 - lanes : lanes);
  *out = t;
  return 1;
}

int TVMFFIDataTypeFromString(const TVMFFIByteArray *str, DLDataType *out) {
  tvmffi_i_reader r;
  DLDataType dtype;
  TVMFFI_I_BYTES(str);
  TVMFFI_I_NOT_NULL(out);
  if (tvmffi_i_read_usual(str->data, str->size, out)) return 0;
  dtype.code = kDLOpaqueHandle;
  dtype.bits = 0;
  dtype.lanes = 0;
  if (str->size && !(str->size == 4 && memcmp(str->data, "void", 4) == 0)) {
    r.at = r.text = str->data;
    r.end = str->data + str->size;
    r.head = "";
    dtype.lanes = 1;
    TVMFFI_TRY(tvmffi_i_read_dtype(&r, &dtype));
  }
  *out = dtype;
  return 0;
}

/* Writes a number in decimal; gives the end. */
static char *tvmffi_i_write_number(char *to, uint32_t x) {
  char digits[10];
  int n = 0;
  do {
    digits[n++] = (char)('0' + x % 10);
    x /= 10;
  } while (x);
  while (n) *to++ = digits[--n];
  return to;
}

/* Writes bits and lanes behind a name; gives the end. */
static char *tvmffi_i_write_size(char *to, DLDataType t) {
  int lanes = (int16_t)t.lanes;
  if (t.code < TVMFFI_I_FIRST_SHORT_FLOAT && (t.code != kDLBool || t.bits != 8))
    to = tvmffi_i_write_number(to, t.bits);
  if (lanes > 1 || lanes < -1) {
    size_t n = lanes > 1 ? 1 : 8;
    memcpy(to, "xvscalex", n);
    to = tvmffi_i_write_number(to + n, (uint32_t)(lanes < 0 ? -lanes : lanes));
  }
  return to;
}

TVMFFI_I_COLD int tvmffi_i_write_custom(DLDataType t, TVMFFIAny *out) {
  TVMFFIAny code = tvmffi_int(t.code), result;
  TVMFFIByteArray name;
  char *text, *end;
  int failed;
  TVMFFI_TRY(
      tvmffi_i_call_custom("dtype.get_custom_type_name", &code, &result));
  if (tvmffi_i_get_str(&result, &name)) {
    tvmffi_any_release(&result);
    return tvmffi_i_fail("TypeError",
                         "dtype.get_custom_type_name must give a string");
  }
  text = (char *)tvmffi_i_alloc(name.size + 32);
  if (!text) {
    tvmffi_any_release(&result);
    return tvmffi_i_no_memory();
  }
  memcpy(text, "custom[", 7);
  memcpy(text + 7, name.data, name.size);
  text[7 + name.size] = ']';
  end = tvmffi_i_write_size(text + 8 + name.size, t);
  failed = tvmffi_i_make_string(text, (size_t)(end - text), kTVMFFISmallStr,
                                kTVMFFIStr, out);
  tvmffi_i_free(text);
  tvmffi_any_release(&result);
  return failed;
}

int TVMFFIDataTypeToString(const DLDataType *dtype, TVMFFIAny *out) {
  char text[48], *end = text;
  const tvmffi_i_code_name *name;
  TVMFFI_I_NOT_NULL(dtype);
  TVMFFI_I_NOT_NULL(out);
  if (dtype->code >= TVMFFI_I_CUSTOM_CODE)
    return tvmffi_i_write_custom(*dtype, out);
  name =
      &tvmffi_i_code_names[dtype->code < TVMFFI_I_NUM_CODES ? dtype->code : 5];
  if (!name->size)
    return tvmffi_i_fail("ValueError",
                         "DLDataType contains unknown type_code=%d",
                         (int)dtype->code);
  if (dtype->code != kDLOpaqueHandle || dtype->lanes || dtype->bits) {
    memcpy(text, name->text, sizeof(name->text));
    end = text + name->size;
    if (dtype->code != kDLOpaqueHandle) end = tvmffi_i_write_size(end, *dtype);
  }
  return tvmffi_i_make_string(text, (size_t)(end - text), kTVMFFISmallStr,
                              kTVMFFIStr, out);
}

/* ======== Tensor ================================================= >>tensor */
/* Tensors. A tensor's DLTensor follows its header; what keeps the data alive
   is a DLPack tensor that it came from, or, for a view, another tensor.
   Shapes are what strangers send: all of it is checked before it is kept. */

typedef struct {
  TVMFFIObject base;
  DLTensor tensor;
  void *keeper;    /* a DLManagedTensor, its versioned kind, or a tensor */
} tvmffi_i_tensor; /* followed by strides, or by shape and strides */

/* An imported tensor. */
TVMFFI_I_INLINE void tvmffi_i_delete_tensor(void *self, int flags) {
  const tvmffi_i_tensor *t = (tvmffi_i_tensor *)self;
  int own = t->tensor.strides == (const int64_t *)(const void *)(t + 1);
  tvmffi_i_delete_sized(
      self, flags,
      sizeof(*t) + (own ? (size_t)t->tensor.ndim * sizeof(int64_t) : 0));
}

TVMFFI_I_INLINE void tvmffi_i_destroy_imported(void *self, int flags) {
  DLManagedTensor *from = (DLManagedTensor *)((tvmffi_i_tensor *)self)->keeper;
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) && from->deleter)
    from->deleter(from);
  tvmffi_i_delete_tensor(self, flags);
}

TVMFFI_I_INLINE void tvmffi_i_destroy_imported_versioned(void *self,
                                                         int flags) {
  DLManagedTensorVersioned *from =
      (DLManagedTensorVersioned *)((tvmffi_i_tensor *)self)->keeper;
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) && from->deleter)
    from->deleter(from);
  tvmffi_i_delete_tensor(self, flags);
}

static void tvmffi_i_delete_imported(void *self, int flags) {
  tvmffi_i_destroy((TVMFFIObject *)self, flags, tvmffi_i_destroy_imported);
}

static void tvmffi_i_delete_imported_versioned(void *self, int flags) {
  tvmffi_i_destroy((TVMFFIObject *)self, flags,
                   tvmffi_i_destroy_imported_versioned);
}

TVMFFI_I_INLINE void tvmffi_i_destroy_view(void *self, int flags) {
  const tvmffi_i_tensor *t = (tvmffi_i_tensor *)self;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) tvmffi_release(t->keeper);
  tvmffi_i_delete_sized(
      self, flags, sizeof(*t) + 2 * (size_t)t->tensor.ndim * sizeof(int64_t));
}

static void tvmffi_i_delete_view(void *self, int flags) {
  tvmffi_i_destroy((TVMFFIObject *)self, flags, tvmffi_i_destroy_view);
}

/* Raises unless the shape is one: a sane rank, no negative extent, and a
   number of bytes that a 64-bit integer can hold. */
TVMFFI_I_SLOW int tvmffi_i_check_any_shape(const char *function,
                                           const DLTensor *t) {
  const uint64_t most = INT64_MAX;
  uint64_t bytes = ((uint64_t)t->dtype.bits * t->dtype.lanes + 7) / 8;
  int empty = 0;
  int32_t i;
  if (t->ndim < 0 || t->ndim > (1 << 20))
    return tvmffi_i_fail("ValueError", "%s: ndim is %d", function, t->ndim);
  if (t->ndim && !t->shape) return tvmffi_i_null(function, "shape");
  for (i = 0; i < t->ndim; ++i) {
    if (t->shape[i] < 0)
      return tvmffi_i_fail("ValueError", "%s: shape[%d] is %lld", function, i,
                           (long long)t->shape[i]);
    empty |= t->shape[i] == 0;
  }
  for (i = 0; i < t->ndim && !empty; ++i) {
    if (bytes && (uint64_t)t->shape[i] > most / bytes)
      return tvmffi_i_fail("ValueError",
                           "%s: the shape has more elements than memory can",
                           function);
    bytes *= (uint64_t)t->shape[i];
  }
  return 0;
}

/* The same, at a glance for the usual shape: a product of two numbers below
   2^31 cannot overflow, so nothing is divided. */
TVMFFI_I_INLINE int tvmffi_i_check_shape(const char *function,
                                         const DLTensor *t) {
  uint64_t bytes = ((uint64_t)t->dtype.bits * t->dtype.lanes + 7) / 8;
  int32_t i, ndim = t->ndim;
  if (TVMFFI_I_UNLIKELY((uint32_t)ndim > 64 || (ndim && !t->shape)))
    return tvmffi_i_check_any_shape(function, t);
  for (i = 0; i < ndim; ++i) {
    if (TVMFFI_I_UNLIKELY(((uint64_t)t->shape[i] | bytes) >> 31))
      return tvmffi_i_check_any_shape(function, t);
    bytes *= (uint64_t)t->shape[i];
  }
  return 0;
}

TVMFFI_I_INLINE void tvmffi_i_fill_strides(const DLTensor *t,
                                           int64_t *strides) {
  uint64_t stride = 1;
  int32_t i;
  for (i = t->ndim; i-- > 0;) {
    strides[i] = (int64_t)stride;
    stride *= (uint64_t)t->shape[i];
  }
}

/* As upstream sees it: an empty tensor is contiguous, and the stride of a
   dimension of extent 1 does not matter. */
static int tvmffi_i_is_contiguous(const DLTensor *t) {
  uint64_t expected = 1;
  int32_t i;
  if (!t->strides) return 1;
  for (i = 0; i < t->ndim; ++i)
    if (t->shape[i] == 0) return 1;
  for (i = t->ndim; i-- > 0;) {
    if (t->shape[i] == 1) continue;
    if ((uint64_t)t->strides[i] != expected) return 0;
    expected *= (uint64_t)t->shape[i];
  }
  return 1;
}

/* Where addresses are the device's own, the data's is looked at, else only the
   offset. */
static int tvmffi_i_is_aligned(const DLTensor *t, uint64_t alignment) {
  int32_t type = (int32_t)t->device.device_type;
  int direct = type <= kDLCUDAHost || type == kDLCUDAManaged ||
               type == kDLROCM || type == kDLROCMHost;
  uint64_t address = direct ? (uint64_t)(uintptr_t)t->data : 0;
  return (address + t->byte_offset) % alignment == 0;
}

/* What both imports check when asked to, in upstream's words. */
TVMFFI_I_NOINLINE int tvmffi_i_check_layout(const DLTensor *t,
                                            int32_t alignment,
                                            int32_t contiguous) {
  if (alignment < 0)
    return tvmffi_i_fail("ValueError", "FromDLPack: alignment is %d",
                         alignment);
  if (alignment && !tvmffi_i_is_aligned(t, (uint64_t)alignment))
    return tvmffi_i_fail("RuntimeError",
                         "FromDLPack: Data is not aligned to %d bytes.",
                         alignment);
  if (contiguous && !tvmffi_i_is_contiguous(t))
    return tvmffi_i_fail("RuntimeError",
                         "FromDLPack: Tensor is not contiguous.");
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_check_import(const DLTensor *t, int32_t alignment,
                                          int32_t contiguous) {
  TVMFFI_TRY(tvmffi_i_check_shape("FromDLPack", t));
  return alignment || contiguous
             ? tvmffi_i_check_layout(t, alignment, contiguous)
             : 0;
}

/* Gives a tensor without strides those behind it. */
TVMFFI_I_INLINE void tvmffi_i_make_compact(tvmffi_i_tensor *self) {
  self->tensor.strides = (int64_t *)(void *)(self + 1);
  tvmffi_i_fill_strides(&self->tensor, self->tensor.strides);
}

/* A tensor around `t`, with compact strides if it has none. */
TVMFFI_I_INLINE int tvmffi_i_import(const DLTensor *t, void *keeper,
                                    void (*deleter)(void *, int),
                                    TVMFFIObjectHandle *out) {
  size_t extra = t->strides ? 0 : (size_t)t->ndim * sizeof(int64_t);
  tvmffi_i_tensor *self = (tvmffi_i_tensor *)tvmffi_i_object(
      sizeof(*self) + extra, kTVMFFITensor, deleter);
  if (!self) return -1;
  self->tensor = *t;
  self->keeper = keeper;
  *out = self;
  if (!t->strides && t->ndim) tvmffi_i_make_compact(self);
  return 0;
}

int TVMFFITensorFromDLPack(DLManagedTensor *from, int32_t require_alignment,
                           int32_t require_contiguous,
                           TVMFFIObjectHandle *out) {
  TVMFFI_I_NOT_NULL(from);
  TVMFFI_I_NOT_NULL(out);
  TVMFFI_TRY(tvmffi_i_check_import(&from->dl_tensor, require_alignment,
                                   require_contiguous));
  return tvmffi_i_import(&from->dl_tensor, from, tvmffi_i_delete_imported, out);
}

/* What is wrong with a versioned tensor, or 0. */
static int tvmffi_i_check_versioned(const DLManagedTensorVersioned *from) {
  if (from->version.major != DLPACK_MAJOR_VERSION)
    return tvmffi_i_fail("RuntimeError",
                         "FromDLPack: DLPack version %u.%u is not supported, "
                         "only %d.x is",
                         (unsigned)from->version.major,
                         (unsigned)from->version.minor, DLPACK_MAJOR_VERSION);
  return 0;
}

int TVMFFITensorFromDLPackVersioned(DLManagedTensorVersioned *from,
                                    int32_t require_alignment,
                                    int32_t require_contiguous,
                                    TVMFFIObjectHandle *out) {
  TVMFFI_I_NOT_NULL(from);
  TVMFFI_I_NOT_NULL(out);
  TVMFFI_TRY(tvmffi_i_check_versioned(from));
  TVMFFI_TRY(tvmffi_i_check_import(&from->dl_tensor, require_alignment,
                                   require_contiguous));
  if (from->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED)
    return tvmffi_i_fail("RuntimeError",
                         "Subbyte type padded is not yet supported");
  return tvmffi_i_import(&from->dl_tensor, from,
                         tvmffi_i_delete_imported_versioned, out);
}

#if defined(__cplusplus)
extern "C" {
#endif
static void tvmffi_i_delete_exported(DLManagedTensor *self) {
  tvmffi_release(self->manager_ctx);
  tvmffi_i_pool_free(self, sizeof(*self));
}
static void tvmffi_i_delete_exported_versioned(DLManagedTensorVersioned *self) {
  tvmffi_release(self->manager_ctx);
  tvmffi_i_pool_free(self, sizeof(*self));
}
#if defined(__cplusplus)
}
#endif

int TVMFFITensorToDLPack(TVMFFIObjectHandle from, DLManagedTensor **out) {
  DLManagedTensor *managed;
  TVMFFI_I_CHECK(from, kTVMFFITensor);
  TVMFFI_I_NOT_NULL(out);
  managed = (DLManagedTensor *)tvmffi_i_pool_alloc(sizeof(*managed));
  if (!managed) return tvmffi_i_no_memory();
  managed->dl_tensor = *TVMFFITensorGetDLTensorPtr(from);
  managed->manager_ctx = from;
  managed->deleter = tvmffi_i_delete_exported;
  tvmffi_retain(from);
  *out = managed;
  return 0;
}

int TVMFFITensorToDLPackVersioned(TVMFFIObjectHandle from,
                                  DLManagedTensorVersioned **out) {
  DLManagedTensorVersioned *managed;
  TVMFFI_I_CHECK(from, kTVMFFITensor);
  TVMFFI_I_NOT_NULL(out);
  managed = (DLManagedTensorVersioned *)tvmffi_i_pool_alloc(sizeof(*managed));
  if (!managed) return tvmffi_i_no_memory();
  managed->version.major = DLPACK_MAJOR_VERSION;
  managed->version.minor = DLPACK_MINOR_VERSION;
  managed->flags = 0;
  managed->dl_tensor = *TVMFFITensorGetDLTensorPtr(from);
  managed->manager_ctx = from;
  managed->deleter = tvmffi_i_delete_exported_versioned;
  tvmffi_retain(from);
  *out = managed;
  return 0;
}

int TVMFFITensorCreateUnsafeView(TVMFFIObjectHandle source,
                                 const DLTensor *prototype,
                                 TVMFFIObjectHandle *out) {
  tvmffi_i_tensor *self;
  size_t size;
  TVMFFI_I_CHECK(source, kTVMFFITensor);
  TVMFFI_I_NOT_NULL(prototype);
  TVMFFI_I_NOT_NULL(out);
  TVMFFI_TRY(tvmffi_i_check_shape(__func__, prototype));
  if (prototype->ndim) TVMFFI_I_NOT_NULL(prototype->strides);
  size = (size_t)prototype->ndim * sizeof(int64_t);
  self = (tvmffi_i_tensor *)tvmffi_i_object(
      sizeof(*self) + 2 * size, kTVMFFITensor, tvmffi_i_delete_view);
  if (!self) return -1;
  self->tensor = *prototype;
  self->tensor.shape = (int64_t *)(void *)(self + 1);
  self->tensor.strides = self->tensor.shape + prototype->ndim;
  if (size) {
    memcpy(self->tensor.shape, prototype->shape, size);
    memcpy(self->tensor.strides, prototype->strides, size);
  }
  tvmffi_retain(source);
  self->keeper = source;
  *out = self;
  return 0;
}

typedef struct {
  TVMFFIObject base;
  TVMFFIShapeCell cell; /* its numbers follow */
} tvmffi_i_shape;

static void tvmffi_i_delete_shape(void *self, int flags) {
  const tvmffi_i_shape *s = (tvmffi_i_shape *)self;
  tvmffi_i_delete_sized(self, flags,
                        sizeof(*s) + s->cell.size * sizeof(int64_t));
}

/* A shape of `n` numbers, which the caller fills in. */
static tvmffi_i_shape *tvmffi_i_new_shape(size_t n, int64_t **numbers) {
  tvmffi_i_shape *self = NULL;
  if (n > PTRDIFF_MAX / 16) {
    (void)tvmffi_i_no_memory();
    return self;
  }
  self = (tvmffi_i_shape *)tvmffi_i_object(sizeof(*self) + n * sizeof(int64_t),
                                           kTVMFFIShape, tvmffi_i_delete_shape);
  if (!self) return self;
  *numbers = (int64_t *)(void *)(self + 1);
  self->cell.data = *numbers;
  self->cell.size = n;
  return self;
}

/* ======== Equality ================================================ >>equal */
/* Equality and hash of any two values, bit for bit those of upstream's any.h
   (AnyEqual, AnyHash), since C++ clients probe maps with their own. A text in
   the Any equals the same text in an object; other objects are equal when they
   are the same one, unless their type has a value in the columns __any_equal__
   and __any_hash__. Takes no lock. */
#if !TVMFFI_NO_CONTAINERS

/* The hash of upstream's base_detail.h (StableHashBytes): it crosses process
   borders, so it is the same on every machine: words of eight bytes, the lowest
   first, each multiplied in modulo 2^64 and the sum reduced modulo 2^31 - 1.
   That modulus needs no division: its power of two is 1. */
TVMFFI_I_INLINE uint64_t tvmffi_i_stable_reduce(uint64_t x) {
  const uint64_t modulus = 2147483647u;
  x = (x & modulus) + (x >> 31);
  x = (x & modulus) + (x >> 31);
  return x >= modulus ? x - modulus : x;
}

/* The first `size` bytes, 8 at most, as they stand in such a word. */
TVMFFI_I_INLINE uint64_t tvmffi_i_little_word(const char *data, size_t size) {
  uint64_t word = 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  if (size == 8) return memcpy(&word, data, 8), word;
  if (size >= 4) {
    uint32_t first, last;
    memcpy(&first, data, 4);
    memcpy(&last, data + size - 4, 4);
    return (uint64_t)first | (uint64_t)last << (8 * (size - 4));
  }
#endif
  while (size--) word = word << 8 | (unsigned char)data[size];
  return word;
}

static uint64_t tvmffi_i_stable_hash(const char *data, size_t size) {
  const uint64_t factor = 1099511628211u;
  uint64_t h = 0;
  for (; size >= 8; size -= 8, data += 8)
    h = tvmffi_i_stable_reduce(h * factor + tvmffi_i_little_word(data, 8));
  if (size)
    h = tvmffi_i_stable_reduce(h * factor + tvmffi_i_little_word(data, size));
  return h;
}

/* A column that is read often; it never goes once it is there. */
typedef struct {
  const char *name;
  const TVMFFITypeAttrColumn *column;
} tvmffi_i_known_column;

/* The value of a type in a column (borrowed), or NULL if it has none. */
static const TVMFFIAny *tvmffi_i_type_attr(tvmffi_i_known_column *known,
                                           int32_t index) {
  const TVMFFITypeAttrColumn *c = TVMFFI_I_LOAD(&known->column);
  const TVMFFIAny *value;
  if (TVMFFI_I_UNLIKELY(!c)) {
    TVMFFIByteArray name = tvmffi_view(known->name);
    c = TVMFFIGetTypeAttrColumn(&name);
    if (!c) return NULL;
    TVMFFI_I_STORE(&known->column, c);
  }
  index -= c->begin_index;
  if (index < 0 || index >= TVMFFI_I_LOAD(&c->size)) return NULL;
  value = &TVMFFI_I_LOAD(&c->data)[index];
  return TVMFFI_I_LOAD(&value->type_index) == kTVMFFINone ? NULL : value;
}

/* Turns what a C function in a column returned into a result that owns it.
   Before version 0.1.15 such a function gave a plain int64_t or bool, and
   modules of that time still do (Apache TVM 0.27): the word it returns is then
   the first of the two that the Any comes in. */
TVMFFI_I_INLINE void tvmffi_i_take_plain(int32_t type_index,
                                         TVMFFIAny *result) {
#if (defined(__x86_64__) && !defined(_WIN32)) || defined(__AARCH64EL__)
  uint64_t word;
  memcpy(&word, (const void *)result, sizeof(word));
  if (word == kTVMFFIError) return;
  if (type_index == kTVMFFIInt && word != kTVMFFIInt)
    *result = tvmffi_int((int64_t)word);
  else if (type_index == kTVMFFIBool && (word & 0xFF) < kTVMFFIBool)
    *result = tvmffi_bool((int)(word & 0xFF));
#else
  (void)type_index, (void)result;
#endif
}

/* Calls the value of an attribute: a function object, or the address of a C
   function that gives its result or an error. As that function may be of the
   time before 0.1.15, no sanitizer checks its type. */
#if defined(__clang__)
__attribute__((no_sanitize("function")))
#endif
static int
tvmffi_i_call_attr_value(const TVMFFIAny *callee, const TVMFFIAny *args,
                         int32_t num_args, int32_t type_index,
                         TVMFFIAny *result) {
  typedef TVMFFIAny (*unary)(const TVMFFIAny *);
  typedef TVMFFIAny (*binary)(const TVMFFIAny *, const TVMFFIAny *);
  if (callee->type_index == kTVMFFIFunction && callee->v_obj)
    return TVMFFIFunctionCall(callee->v_obj, (TVMFFIAny *)(uintptr_t)args,
                              num_args, result);
  if (callee->type_index != kTVMFFIOpaquePtr || !callee->v_ptr)
    return tvmffi_i_fail("InternalError",
                         "a type attribute is expected to be a function but "
                         "is %s",
                         tvmffi_i_type_key(callee->type_index));
  *result = num_args == 1
                ? ((unary)(uintptr_t)callee->v_ptr)(&args[0])
                : ((binary)(uintptr_t)callee->v_ptr)(&args[0], &args[1]);
  tvmffi_i_take_plain(type_index, result);
  if (result->type_index != kTVMFFIError || !result->v_obj) return 0;
  TVMFFIErrorSetRaised(result->v_obj);
  tvmffi_any_release(result);
  return -1;
}

/* The same, with the result's type checked, and objects as arguments that are
   kept meanwhile: the callee may change the container that holds them. */
TVMFFI_I_SLOW int tvmffi_i_call_attr(const TVMFFIAny *callee,
                                     const TVMFFIAny *args, int32_t num_args,
                                     int32_t type_index, TVMFFIAny *result) {
  int code;
  int32_t i;
  *result = tvmffi_none();
  for (i = 0; i < num_args; ++i) tvmffi_retain(args[i].v_obj);
  code = tvmffi_i_call_attr_value(callee, args, num_args, type_index, result);
  for (i = 0; i < num_args; ++i) tvmffi_release(args[i].v_obj);
  if (code || result->type_index == type_index) return code;
  code = tvmffi_i_fail(
      "InternalError", "a type attribute is expected to give %s but gave %s",
      tvmffi_i_type_key(type_index), tvmffi_i_type_key(result->type_index));
  tvmffi_any_release(result);
  return code;
}

static tvmffi_i_known_column tvmffi_i_equal_column = {"__any_equal__", NULL};
static tvmffi_i_known_column tvmffi_i_hash_column = {"__any_hash__", NULL};

/* The rest of tvmffi_i_any_equal: values whose bits differ. */
TVMFFI_I_NOINLINE int tvmffi_i_differ_equal(const TVMFFIAny *a,
                                            const TVMFFIAny *b) {
  const TVMFFIAny *custom;
  TVMFFIAny args[2], result;
  int32_t index = a->type_index;
  switch (index) {
    case kTVMFFISmallStr:
      if (b->type_index != kTVMFFIStr) return 0;
      return tvmffi_i_same_text(tvmffi_any_str(a), tvmffi_any_str(b));
    case kTVMFFISmallBytes:
      if (b->type_index != kTVMFFIBytes) return 0;
      return tvmffi_i_same_text(tvmffi_any_str(a), tvmffi_any_str(b));
    case kTVMFFIStr:
      if (b->type_index != kTVMFFIStr && b->type_index != kTVMFFISmallStr)
        return 0;
      return tvmffi_i_same_text(tvmffi_any_str(a), tvmffi_any_str(b));
    case kTVMFFIBytes:
      if (b->type_index != kTVMFFIBytes && b->type_index != kTVMFFISmallBytes)
        return 0;
      return tvmffi_i_same_text(tvmffi_any_str(a), tvmffi_any_str(b));
    default: break;
  }
  if (index != b->type_index || index < kTVMFFIStaticObjectBegin) return 0;
  if (index == kTVMFFIBigInt)
    return tvmffi_i_same_text(TVMFFIBigIntGetContentByteArray(a),
                              TVMFFIBigIntGetContentByteArray(b));
  custom = tvmffi_i_type_attr(&tvmffi_i_equal_column, index);
  if (!custom) return 0;
  args[0] = *a;
  args[1] = *b;
  TVMFFI_TRY(tvmffi_i_call_attr(custom, args, 2, kTVMFFIBool, &result));
  return result.v_int64 != 0;
}

/* Tells whether two owned values are equal: 1 or 0, or the negative code of an
   error that the type's own equality raised. Same bits are equal, so a NaN is
   equal to itself and 0.0 is not to -0.0; 1 is not True, and not 1.0. */
TVMFFI_I_INLINE int tvmffi_i_any_equal(const TVMFFIAny *a, const TVMFFIAny *b) {
  if (tvmffi_i_same_any(a, b)) return 1;
  /* Most keys are integers or short texts, equal only if the bits are. */
  if (a->type_index == b->type_index &&
      a->type_index < kTVMFFIStaticObjectBegin)
    return 0;
  return tvmffi_i_differ_equal(a, b);
}

/* Puts a value into a hash (StableHashCombine). */
TVMFFI_I_INLINE uint64_t tvmffi_i_hash_combine(uint64_t key, uint64_t value) {
  return key ^ (value + 0x9e3779b9u + (key << 6) + (key >> 2));
}

TVMFFI_I_NOINLINE int tvmffi_i_hash_object(const TVMFFIAny *any,
                                           uint64_t *hash) {
  int32_t index = any->type_index;
  const TVMFFIAny *custom;
  TVMFFIAny result;
  TVMFFIByteArray text;
  uint64_t value = any->v_uint64;
  if (index == kTVMFFIStr || index == kTVMFFIBytes) {
    text = tvmffi_any_str(any);
    value = tvmffi_i_stable_hash(text.data, text.size);
  } else if (index == kTVMFFIBigInt) {
    text = TVMFFIBigIntGetContentByteArray(any);
    value = tvmffi_i_stable_hash(text.data, text.size);
  } else {
    custom = tvmffi_i_type_attr(&tvmffi_i_hash_column, index);
    if (custom) {
      TVMFFIAny copy = *any;
      TVMFFI_TRY(tvmffi_i_call_attr(custom, &copy, 1, kTVMFFIInt, &result));
      value = result.v_uint64;
    }
  }
  *hash = tvmffi_i_hash_combine((uint64_t)(int64_t)index, value);
  return 0;
}

/* Gives the hash of an owned value; fails as the type's own hash does. Where
   bytes stand the other way round, a short text counts by its length alone,
   since StableHashSmallStrBytes of upstream's base_detail.h takes the first
   half of the Any there. */
TVMFFI_I_INLINE int tvmffi_i_any_hash(const TVMFFIAny *any, uint64_t *hash) {
  uint64_t key = (uint64_t)(int64_t)any->type_index, value = any->v_uint64;
  if (any->type_index >= kTVMFFIStaticObjectBegin)
    return tvmffi_i_hash_object(any, hash);
  if (any->type_index == kTVMFFISmallStr ||
      any->type_index == kTVMFFISmallBytes) {
    key = any->type_index == kTVMFFISmallStr ? kTVMFFIStr : kTVMFFIBytes;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = tvmffi_i_stable_hash((const char *)(const void *)any, 8);
#else
    value = tvmffi_i_stable_reduce(value);
#endif
  }
  *hash = tvmffi_i_hash_combine(key, value);
  return 0;
}
#endif /* !TVMFFI_NO_CONTAINERS */

/* ======== Arrays and lists ======================================= >>array */
/* An array has its items behind its head and is not changed once others can
   see it; a list has them in a block of their own, and grows. The layout, the
   capacities and the growth are upstream's (container/array.h, list.h), since
   C++ and Rust clients read and change them inline. Such a client replaces the
   block of a list by one from operator new and keeps the deleter, so ours has
   to free that, too: both are malloc's. With a TVMFFI_MALLOC of another kind,
   lists must only grow through the functions below. Readers need no lock, a
   writer must be alone. Items are released last, when the list is whole
   again, because destruction may call back. */
#if !TVMFFI_NO_CONTAINERS

typedef struct {
  TVMFFIObject base;
  TVMFFISeqCell cell;
} tvmffi_i_seq;

#define TVMFFI_I_ITEMS(seq) ((TVMFFIAny *)(seq)->cell.data)

#if defined(__cplusplus)
extern "C" {
#endif
static void tvmffi_i_delete_items(void *data) { tvmffi_i_free(data); }
#if defined(__cplusplus)
}
#endif

/* So many items fit in memory. */
#define TVMFFI_I_MAX_ITEMS \
  ((int64_t)((PTRDIFF_MAX - sizeof(tvmffi_i_seq)) / sizeof(TVMFFIAny)))

/* Another reference to what an owned Any holds. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_copy_owned(const TVMFFIAny *any) {
  if (any->type_index >= kTVMFFIStaticObjectBegin) tvmffi_retain(any->v_obj);
  return *any;
}

/* TVMFFIAnyViewToOwnedAny, the common kinds in place. Member by member: what
   was stored in parts a moment ago is slow to load as a whole. */
TVMFFI_I_INLINE int tvmffi_i_own(const TVMFFIAny *view, TVMFFIAny *out) {
  if (TVMFFI_I_UNLIKELY((uint32_t)view->type_index >= kTVMFFIRawStr)) {
    TVMFFIAny copy = *view; /* whose address may escape */
    if (view->type_index < kTVMFFIStaticObjectBegin || !view->v_obj)
      return TVMFFIAnyViewToOwnedAny(&copy, out);
    tvmffi_retain(view->v_obj);
  }
  out->type_index = view->type_index;
  out->zero_padding = view->zero_padding;
  out->v_uint64 = view->v_uint64;
  return 0;
}

TVMFFI_I_INLINE void tvmffi_i_destroy_seq(void *self, int flags) {
  tvmffi_i_seq *s = (tvmffi_i_seq *)self;
  size_t within =
      s->base.type_index == kTVMFFIArray ? (size_t)s->cell.capacity : 0;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    TVMFFIAny *item = TVMFFI_I_ITEMS(s);
    int64_t left = s->cell.size;
    for (; left > 0; --left, ++item)
      if (item->type_index >= kTVMFFIStaticObjectBegin)
        tvmffi_release(item->v_obj);
    if (s->cell.data_deleter) s->cell.data_deleter(s->cell.data);
  }
  tvmffi_i_delete_sized(self, flags, sizeof(*s) + within * sizeof(TVMFFIAny));
}

static void tvmffi_i_delete_seq(void *self, int flags) {
  tvmffi_i_destroy((TVMFFIObject *)self, flags, tvmffi_i_destroy_seq);
}

/* An array without items yet. */
static tvmffi_i_seq *tvmffi_i_empty_array(int64_t capacity) {
  tvmffi_i_seq *s;
  if (capacity > TVMFFI_I_MAX_ITEMS) {
    (void)tvmffi_i_no_memory();
    return NULL;
  }
  s = (tvmffi_i_seq *)tvmffi_i_object(
      sizeof(*s) + (size_t)capacity * sizeof(TVMFFIAny), kTVMFFIArray,
      tvmffi_i_delete_seq);
  if (!s) return s;
  s->cell.data = s + 1;
  s->cell.size = 0;
  s->cell.capacity = capacity;
  s->cell.data_deleter = NULL;
  return s;
}

/* Gives a list (owned) without items, or NULL with the error raised. */
static TVMFFIObject *tvmffi_i_new_list(int64_t capacity) {
  void *data = NULL;
  tvmffi_i_seq *s;
  if (capacity > 0) {
    if (capacity <= TVMFFI_I_MAX_ITEMS)
      data = tvmffi_i_alloc((size_t)capacity * sizeof(TVMFFIAny));
    if (!data) {
      (void)tvmffi_i_no_memory();
      return NULL;
    }
  }
  s = (tvmffi_i_seq *)tvmffi_i_object(sizeof(*s), kTVMFFIList,
                                      tvmffi_i_delete_seq);
  if (!s) {
    tvmffi_i_free(data);
    return NULL;
  }
  s->cell.data = data;
  s->cell.size = 0;
  s->cell.capacity = capacity > 0 ? capacity : 0;
  s->cell.data_deleter = tvmffi_i_delete_items;
  return &s->base;
}

/* Gives an array (owned) of `n` None, to be filled by the caller at *items
   before others see it, or NULL with the error raised. */
static TVMFFIObject *tvmffi_i_new_array(int64_t n, TVMFFIAny **items) {
  tvmffi_i_seq *s = tvmffi_i_empty_array(n);
  if (!s) return NULL;
  memset(s->cell.data, 0, (size_t)n * sizeof(TVMFFIAny));
  s->cell.size = n;
  *items = TVMFFI_I_ITEMS(s);
  return &s->base;
}

/* Makes room for `capacity` items, which is more than there is. */
TVMFFI_I_SLOW int tvmffi_i_set_capacity(tvmffi_i_seq *s, int64_t capacity) {
  size_t used = (size_t)s->cell.size * sizeof(TVMFFIAny), size;
  void *data = NULL;
  if (capacity > TVMFFI_I_MAX_ITEMS) return tvmffi_i_no_memory();
  size = (size_t)capacity * sizeof(TVMFFIAny);
#if !defined(TVMFFI_MALLOC)
  if (s->cell.data_deleter == tvmffi_i_delete_items) {
    data = realloc(s->cell.data, size);
    if (!data) return tvmffi_i_no_memory();
    s->cell.data = data;
    s->cell.capacity = capacity;
    return 0;
  }
#endif
  data = tvmffi_i_alloc(size);
  if (!data) return tvmffi_i_no_memory();
  if (used) memcpy(data, s->cell.data, used);
  if (s->cell.data_deleter) s->cell.data_deleter(s->cell.data);
  s->cell.data = data;
  s->cell.capacity = capacity;
  s->cell.data_deleter = tvmffi_i_delete_items;
  return 0;
}

/* Makes room for `extra` items more: twice the room, or as much as it takes. */
TVMFFI_I_SLOW int tvmffi_i_add_room(tvmffi_i_seq *s, int64_t extra) {
  int64_t need = s->cell.size + extra, twice = s->cell.capacity;
  if (twice <= TVMFFI_I_MAX_ITEMS / 2) twice *= 2;
  return tvmffi_i_set_capacity(s, twice > need ? twice : need);
}

TVMFFI_I_INLINE int tvmffi_i_make_room(tvmffi_i_seq *s, int64_t extra) {
  if (TVMFFI_I_LIKELY(s->cell.capacity - s->cell.size >= extra)) return 0;
  return tvmffi_i_add_room(s, extra);
}

/* Appends a copy of `item` (borrowed, any view) to a list. */
TVMFFI_I_INLINE int tvmffi_i_list_append(TVMFFIObject *list,
                                         const TVMFFIAny *item) {
  tvmffi_i_seq *s = (tvmffi_i_seq *)(void *)list;
  TVMFFI_TRY(tvmffi_i_make_room(s, 1));
  TVMFFI_TRY(tvmffi_i_own(item, &TVMFFI_I_ITEMS(s)[s->cell.size]));
  ++s->cell.size;
  return 0;
}

/* Fills a new sequence with copies of views, for which it has room. */
static int tvmffi_i_fill(tvmffi_i_seq *s, const TVMFFIAny *views, int64_t n) {
  TVMFFIAny *items = TVMFFI_I_ITEMS(s);
  int64_t i;
  for (i = 0; i < n; ++i) {
    TVMFFI_TRY(tvmffi_i_own(&views[i], &items[i]));
    s->cell.size = i + 1;
  }
  return 0;
}

static int tvmffi_i_return_seq(tvmffi_i_seq *s, const TVMFFIAny *args,
                               int32_t num_args, TVMFFIAny *result) {
  if (!s) return -1;
  if (tvmffi_i_fill(s, args, num_args)) {
    tvmffi_release(s);
    return -1;
  }
  *result = tvmffi_obj(s);
  return 0;
}

/* A list with the items of another sequence. */
static tvmffi_i_seq *tvmffi_i_list_of(const tvmffi_i_seq *from) {
  TVMFFIObject *list = tvmffi_i_new_list(from->cell.size);
  tvmffi_i_seq *s = (tvmffi_i_seq *)(void *)list;
  if (s && tvmffi_i_fill(s, TVMFFI_I_ITEMS(from), from->cell.size)) {
    tvmffi_release(s);
    return NULL;
  }
  return s;
}

TVMFFI_I_SLOW int tvmffi_i_no_index(int64_t i, int64_t size) {
  return tvmffi_i_fail("IndexError", "Index %lld out of bounds %lld",
                       (long long)i, (long long)size);
}

TVMFFI_I_SLOW int tvmffi_i_no_place(int64_t i, int64_t size) {
  return tvmffi_i_fail("IndexError", "Index %lld out of bounds [0, %lld]",
                       (long long)i, (long long)size);
}

#define TVMFFI_I_CHECK_INDEX(seq, i)                                  \
  if (TVMFFI_I_UNLIKELY((uint64_t)(i) >= (uint64_t)(seq)->cell.size)) \
  return tvmffi_i_no_index(i, (seq)->cell.size)

static int tvmffi_i_check_range(const tvmffi_i_seq *s, int64_t first,
                                int64_t last) {
  if (first >= 0 && last <= s->cell.size && first < last) return 0;
  return tvmffi_i_fail(
      "IndexError", "Erase range [%lld, %lld) out of bounds %lld",
      (long long)first, (long long)last, (long long)s->cell.size);
}

/* Takes an item that exists out of a list: owned. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_take_item(tvmffi_i_seq *s, int64_t i) {
  TVMFFIAny *gap = &TVMFFI_I_ITEMS(s)[i], item = *gap;
  if (i < --s->cell.size)
    memmove(gap, gap + 1, (size_t)(s->cell.size - i) * sizeof(*gap));
  return item;
}

/* Removes the items from `first` to before `last`, which exist. Each is first
   replaced by None; whatever their destruction does to the list, only what is
   None goes. */
static void tvmffi_i_erase(tvmffi_i_seq *s, int64_t first, int64_t last) {
  TVMFFIAny *items;
  int64_t i;
  for (i = first; i < last && i < s->cell.size; ++i)
    tvmffi_any_release(&TVMFFI_I_ITEMS(s)[i]);
  items = TVMFFI_I_ITEMS(s);
  for (i = first; i < s->cell.size; ++i)
    if (i >= last || items[i].type_index != kTVMFFINone)
      items[first++] = items[i];
  if (first < s->cell.size) s->cell.size = first;
}

/* Opens a gap of `n` items, uninitialised, for which there is room. */
TVMFFI_I_INLINE TVMFFIAny *tvmffi_i_open_gap(tvmffi_i_seq *s, int64_t i,
                                             int64_t n) {
  TVMFFIAny *gap = &TVMFFI_I_ITEMS(s)[i];
  memmove(gap + n, gap, (size_t)(s->cell.size - i) * sizeof(TVMFFIAny));
  s->cell.size += n;
  return gap;
}

static int tvmffi_i_insert_items(tvmffi_i_seq *s, int64_t at,
                                 const tvmffi_i_seq *from) {
  int64_t n = from->cell.size, i;
  TVMFFIAny *gap;
  if (n == 0) return 0;
  TVMFFI_TRY(tvmffi_i_make_room(s, n));
  if (at < 0 || at > s->cell.size) return tvmffi_i_no_place(at, s->cell.size);
  gap = tvmffi_i_open_gap(s, at, n);
  for (i = 0; i < n; ++i)
    gap[i] = tvmffi_i_copy_owned(&TVMFFI_I_ITEMS(from)[i]);
  return 0;
}

/* Whether a sequence has an item that equals an owned value; 1, 0 or a code. */
static int tvmffi_i_seq_has(const tvmffi_i_seq *s, const TVMFFIAny *value) {
  int64_t i;
  int has = 0;
  for (i = 0; !has && i < s->cell.size; ++i)
    has = tvmffi_i_any_equal(&TVMFFI_I_ITEMS(s)[i], value);
  return has;
}

static int tvmffi_i_contains(TVMFFIObject *seq, const TVMFFIAny *view,
                             TVMFFIAny *result) {
  TVMFFIAny value;
  int has;
  TVMFFI_TRY(tvmffi_i_own(view, &value));
  has = tvmffi_i_seq_has((const tvmffi_i_seq *)(void *)seq, &value);
  tvmffi_any_release(&value);
  if (has < 0) return has;
  *result = tvmffi_bool(has);
  return 0;
}

TVMFFI_I_OBJECT_TYPE(i_array, "ffi.Array", "ffi.Array", kTVMFFIArray)
TVMFFI_I_OBJECT_TYPE(i_list, "ffi.List", "ffi.List", kTVMFFIList)

/* A list; an array is taken, too, and stands for a list of its items, whose
   changes nobody sees (SeqTypeTraitsBase of upstream's container/seq_base.h).
 */
TVMFFI_I_TYPE(i_any_list, TVMFFIObject *, "List<Any>",
              "{\"type\":\"ffi.List\",\"args\":[{\"type\":\"Any\"}]}")
TVMFFI_I_GET(i_any_list) {
  *out = any->v_obj;
  if (any->type_index != kTVMFFIList && any->type_index != kTVMFFIArray)
    return TVMFFI_I_MISMATCH;
  return *out ? 0 : TVMFFI_I_MISMATCH;
}

/* Calls a built-in again with such a list in the place of args[0]. */
TVMFFI_I_SLOW int tvmffi_i_on_copy(TVMFFISafeCallType call, TVMFFIAny *args,
                                   int32_t num_args, TVMFFIAny *result) {
  tvmffi_i_seq *copy =
      tvmffi_i_list_of((const tvmffi_i_seq *)(void *)args[0].v_obj);
  int code;
  if (!copy) return -1;
  args[0] = tvmffi_obj(copy);
  code = call(NULL, args, num_args, result);
  tvmffi_release(copy);
  return code;
}

/* In the body of a built-in: `s` is the list, or else the call is on a copy
   of the array. The arguments are those of the built-in, as Anys. */
#define TVMFFI_I_LIST_OR_COPY(s, name, list, num_args, ...)     \
  tvmffi_i_seq *s = (tvmffi_i_seq *)(void *)(list);             \
  if (TVMFFI_I_UNLIKELY((list)->type_index != kTVMFFIList)) {   \
    TVMFFIAny args[] = {__VA_ARGS__};                           \
    return tvmffi_i_on_copy(tvmffi_call_##name, args, num_args, \
                            tvmffi_result);                     \
  }

static int tvmffi_call_i_new_array(void *self, const TVMFFIAny *args,
                                   int32_t num_args, TVMFFIAny *result) {
  (void)self;
  return tvmffi_i_return_seq(tvmffi_i_empty_array(num_args), args, num_args,
                             result);
}
static tvmffi_func tvmffi_func_i_new_array = {
    "ffi.Array", tvmffi_call_i_new_array, -1, NULL};

/* So many items a list of fewer has room for. */
enum { TVMFFI_I_LIST_ROOM = 4 };

static int tvmffi_call_i_new_list(void *self, const TVMFFIAny *args,
                                  int32_t num_args, TVMFFIAny *result) {
  TVMFFIObject *list = tvmffi_i_new_list(
      num_args > TVMFFI_I_LIST_ROOM ? num_args : TVMFFI_I_LIST_ROOM);
  (void)self;
  return tvmffi_i_return_seq((tvmffi_i_seq *)(void *)list, args, num_args,
                             result);
}
static tvmffi_func tvmffi_func_i_new_list = {"ffi.List", tvmffi_call_i_new_list,
                                             -1, NULL};

TVMFFI_FUNC(i_array_get, any, (i_array, array), (int64, i)) {
  tvmffi_i_seq *s = (tvmffi_i_seq *)(void *)array;
  TVMFFI_I_CHECK_INDEX(s, i);
  TVMFFI_RETURN(tvmffi_i_copy_owned(&TVMFFI_I_ITEMS(s)[i]));
}

TVMFFI_FUNC(i_array_size, int64, (i_array, array)) {
  TVMFFI_RETURN(((tvmffi_i_seq *)(void *)array)->cell.size);
}

TVMFFI_FUNC(i_array_contains, bool, (i_array, array), (any, value)) {
  return tvmffi_i_contains(array, &value, tvmffi_result);
}

TVMFFI_FUNC(i_list_get, any, (i_list, list), (int64, i)) {
  tvmffi_i_seq *s = (tvmffi_i_seq *)(void *)list;
  TVMFFI_I_CHECK_INDEX(s, i);
  TVMFFI_RETURN(tvmffi_i_copy_owned(&TVMFFI_I_ITEMS(s)[i]));
}

TVMFFI_FUNC(i_list_size, int64, (i_list, list)) {
  TVMFFI_RETURN(((tvmffi_i_seq *)(void *)list)->cell.size);
}

TVMFFI_FUNC(i_list_contains, bool, (i_list, list), (any, value)) {
  return tvmffi_i_contains(list, &value, tvmffi_result);
}

TVMFFI_FUNC(i_list_set, none, (i_any_list, list), (int64, i), (any, value)) {
  TVMFFIAny *slot;
  TVMFFIObject *old;
  int32_t index;
  TVMFFI_I_LIST_OR_COPY(s, i_list_set, list, 3, tvmffi_obj(list), tvmffi_int(i),
                        value)
  TVMFFI_I_CHECK_INDEX(s, i);
  slot = &TVMFFI_I_ITEMS(s)[i];
  index = slot->type_index;
  old = slot->v_obj;
  TVMFFI_TRY(tvmffi_i_own(&value, slot));
  if (index >= kTVMFFIStaticObjectBegin) tvmffi_release(old);
  TVMFFI_RETURN();
}

TVMFFI_FUNC(i_list_append, none, (i_any_list, list), (any, value)) {
  TVMFFI_I_LIST_OR_COPY(s, i_list_append, list, 2, tvmffi_obj(list), value)
  TVMFFI_TRY(tvmffi_i_list_append(&s->base, &value));
  TVMFFI_RETURN();
}

TVMFFI_FUNC(i_list_insert, none, (i_any_list, list), (int64, i), (any, value)) {
  TVMFFIAny item;
  TVMFFI_I_LIST_OR_COPY(s, i_list_insert, list, 3, tvmffi_obj(list),
                        tvmffi_int(i), value)
  TVMFFI_TRY(tvmffi_i_make_room(s, 1)); /* upstream grows first, too */
  if (i < 0 || i > s->cell.size) return tvmffi_i_no_place(i, s->cell.size);
  TVMFFI_TRY(tvmffi_i_own(&value, &item));
  *tvmffi_i_open_gap(s, i, 1) = item;
  TVMFFI_RETURN();
}

TVMFFI_FUNC(i_list_pop, any, (i_any_list, list), (int64, i)) {
  TVMFFI_I_LIST_OR_COPY(s, i_list_pop, list, 2, tvmffi_obj(list), tvmffi_int(i))
  TVMFFI_I_CHECK_INDEX(s, i);
  TVMFFI_RETURN(tvmffi_i_take_item(s, i));
}

TVMFFI_FUNC(i_list_erase, none, (i_any_list, list), (int64, i)) {
  TVMFFIAny item;
  TVMFFI_I_LIST_OR_COPY(s, i_list_erase, list, 2, tvmffi_obj(list),
                        tvmffi_int(i))
  TVMFFI_I_CHECK_INDEX(s, i);
  item = tvmffi_i_take_item(s, i);
  tvmffi_any_release(&item);
  TVMFFI_RETURN();
}

TVMFFI_FUNC(i_list_erase_range, none, (i_any_list, list), (int64, start),
            (int64, stop)) {
  TVMFFI_I_LIST_OR_COPY(s, i_list_erase_range, list, 3, tvmffi_obj(list),
                        tvmffi_int(start), tvmffi_int(stop))
  if (start != stop) {
    TVMFFI_TRY(tvmffi_i_check_range(s, start, stop));
    tvmffi_i_erase(s, start, stop);
  }
  TVMFFI_RETURN();
}

/* `from` is not the list itself. Room is made first, so that the list is as it
   was when memory is refused. */
static int tvmffi_i_replace(tvmffi_i_seq *s, int64_t start, int64_t stop,
                            const tvmffi_i_seq *from) {
  if (start != stop) {
    TVMFFI_TRY(tvmffi_i_check_range(s, start, stop));
    TVMFFI_TRY(tvmffi_i_make_room(s, from->cell.size - (stop - start)));
    tvmffi_i_erase(s, start, stop);
  }
  return tvmffi_i_insert_items(s, start, from);
}

TVMFFI_FUNC(i_list_replace, none, (i_any_list, list), (int64, start),
            (int64, stop), (i_any_list, replacement)) {
  const tvmffi_i_seq *from = (const tvmffi_i_seq *)(void *)replacement;
  tvmffi_i_seq *copy = NULL;
  int code;
  TVMFFI_I_LIST_OR_COPY(s, i_list_replace, list, 4, tvmffi_obj(list),
                        tvmffi_int(start), tvmffi_int(stop),
                        tvmffi_obj(replacement))
  if (from == s) {
    from = copy = tvmffi_i_list_of(s);
    if (!copy) return -1;
  }
  code = tvmffi_i_replace(s, start, stop, from);
  tvmffi_release(copy);
  if (code) return code;
  TVMFFI_RETURN();
}

TVMFFI_FUNC(i_list_reverse, none, (i_any_list, list)) {
  TVMFFIAny *a, *b, item;
  TVMFFI_I_LIST_OR_COPY(s, i_list_reverse, list, 1, tvmffi_obj(list))
  if (s->cell.size > 1) {
    a = TVMFFI_I_ITEMS(s);
    for (b = a + s->cell.size - 1; a < b; ++a, --b) {
      item = *a;
      *a = *b;
      *b = item;
    }
  }
  TVMFFI_RETURN();
}

TVMFFI_FUNC(i_list_clear, none, (i_any_list, list)) {
  TVMFFI_I_LIST_OR_COPY(s, i_list_clear, list, 1, tvmffi_obj(list))
  while (s->cell.size > 0)
    tvmffi_any_release(&TVMFFI_I_ITEMS(s)[--s->cell.size]);
  TVMFFI_RETURN();
}

TVMFFI_FUNC(i_list_reserve, none, (i_any_list, list), (int64, capacity)) {
  TVMFFI_I_LIST_OR_COPY(s, i_list_reserve, list, 2, tvmffi_obj(list),
                        tvmffi_int(capacity))
  if (capacity > s->cell.capacity)
    TVMFFI_TRY(tvmffi_i_set_capacity(s, capacity));
  TVMFFI_RETURN();
}
#endif /* !TVMFFI_NO_CONTAINERS */

/* ======== Map ======================================================= >>map */
/* Map and Dict, as C++ clients read and write them inline (upstream's
   container/map_base.h). Up to four entries stand in a row, in order; more are
   in a hash table whose chains are linked through one byte for each slot, and
   which links its entries in order of insertion. Both types share this layout;
   a Map that others hold, too, is copied before a change, a Dict is changed in
   place. Reading takes no lock and writes nothing; who changes a Dict must be
   alone with it. Nothing is released while a table is half changed, so a
   deleter may use the Dict that it was in. */
#if !TVMFFI_NO_CONTAINERS

/* Up to 15 slots ahead, then triangle numbers n(n + 1)/2: those of 6 to 72, and
   then further and further apart. */
/* clang-format off */
static const uint64_t tvmffi_i_map_jumps[TVMFFI_I_MAP_NUM_JUMPS] = {
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 21, 28, 36, 45,
    55, 66, 78, 91, 105, 120, 136, 153, 171, 190, 210, 231, 253, 276, 300,
    325, 351, 378, 406, 435, 465, 496, 528, 561, 595, 630, 666, 703, 741,
    780, 820, 861, 903, 946, 990, 1035, 1081, 1128, 1176, 1225, 1275, 1326,
    1378, 1431, 1485, 1540, 1596, 1653, 1711, 1770, 1830, 1891, 1953, 2016,
    2080, 2145, 2211, 2278, 2346, 2415, 2485, 2556, 2628, 8515, 19110,
    42778, 96141, 216153, 486591, 1092981, 2458653, 5532801, 12442566,
    27993903, 62983476, 141717030, 318844378, 717352503, 1614057336,
    3631522476u, 8170957530u, 18384510628u, 41364789378u, 93070452520u,
    209408356380u, 471168559170u, 1060128894105u, 2385289465695u,
    5366898840628u, 12075518705635u, 27169915244790u, 61132312065111u,
    137547689707000u, 309482283181501u, 696335127828753u, 1566753995631385u,
    3525196511162271u, 7931691992677701u, 17846306936293605u,
    40154190677507445u, 90346928918121501u, 203280589587557251u,
    457381325854679626u, 1029107982097042876u, 2315492959180353330u,
    5209859154120846435u};
/* clang-format on */

/* Fibonacci hashing: the highest bits of a product. */
TVMFFI_I_INLINE uint64_t tvmffi_i_map_home(const tvmffi_i_map_object *m,
                                           uint64_t hash) {
  return (hash * 0x9E3779B97F4A7C15u) >> (m->fib_shift & 63);
}

/* The slot that follows `i` in its chain; `meta` is the byte of `i`. */
TVMFFI_I_INLINE uint64_t tvmffi_i_map_next(const tvmffi_i_map_object *m,
                                           uint64_t i, uint8_t meta) {
  return (i + tvmffi_i_map_jumps[meta & TVMFFI_I_MAP_JUMP]) & (m->slots - 1);
}

/* -------- Keys -------- */

/* An Any as two words in registers. A value is read field by field, as who
   passes it has just written it: a processor cannot forward several small
   stores to one large load, and waits. The compiler must not merge them. */
typedef struct {
  uint64_t head, word;
} tvmffi_i_bits;

TVMFFI_I_INLINE tvmffi_i_bits tvmffi_i_make_bits(int32_t type_index,
                                                 uint32_t padding,
                                                 uint64_t word) {
  tvmffi_i_bits bits;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  bits.head = (uint64_t)(uint32_t)type_index << 32 | padding;
#else
  bits.head = (uint64_t)padding << 32 | (uint32_t)type_index;
#endif
  bits.word = word;
  return bits;
}

TVMFFI_I_INLINE tvmffi_i_bits tvmffi_i_load_bits(const TVMFFIAny *any) {
  int32_t type_index = any->type_index;
  uint32_t padding = any->zero_padding;
#if TVMFFI_I_GNU
  __asm__("" : "+r"(type_index), "+r"(padding));
#endif
  return tvmffi_i_make_bits(type_index, padding, any->v_uint64);
}

TVMFFI_I_INLINE void tvmffi_i_store_bits(TVMFFIAny *any, tvmffi_i_bits bits) {
  memcpy((void *)any, &bits.head, 8);
  any->v_uint64 = bits.word;
}

/* A key that is looked for, a view of any kind. A text of up to seven bytes is
   looked for as it stands in an Any, whatever held it; a longer one by `text`,
   whether or not it is an object yet. */
typedef struct {
  tvmffi_i_bits bits;
  TVMFFIByteArray text; /* of eight bytes or more, else {NULL, 0} */
  int32_t index;        /* the type that the bits say */
  int32_t other;        /* of keys that may be equal though the bits differ */
} tvmffi_i_map_key;

TVMFFI_I_INLINE tvmffi_i_map_key tvmffi_i_map_text_key(TVMFFIByteArray text,
                                                       const void *object,
                                                       int32_t small,
                                                       int32_t large) {
  tvmffi_i_map_key key;
  key.other = large;
  if (text.size >= 8) {
    key.index = large;
    key.text = text;
    key.bits = tvmffi_i_make_bits(large, 0, (uint64_t)(uintptr_t)object);
    return key;
  }
  key.index = small;
  key.text.data = NULL;
  key.text.size = 0;
  key.bits = tvmffi_i_make_bits(small, (uint32_t)text.size,
                                tvmffi_i_small_text(text.data, text.size));
  return key;
}

/* Reads a key that points to what it is. One that may be moved from is left
   where it is. */
TVMFFI_I_NOINLINE int tvmffi_i_map_read_pointed(const TVMFFIAny *view,
                                                tvmffi_i_map_key *key) {
  int32_t index = view->type_index;
  TVMFFIAny moved;
  key->bits = tvmffi_i_load_bits(view);
  key->text.data = NULL;
  key->text.size = 0;
  key->index = index;
  key->other = -1;
  if (index == kTVMFFIObjectRValueRef) {
    TVMFFIObject **from = (TVMFFIObject **)view->v_ptr;
    if (!from || !*from)
      return tvmffi_i_fail("InternalError", "RValueRef already moved");
    moved = tvmffi_obj(*from);
    return tvmffi_i_map_read_pointed(&moved, key);
  }
  if (index == kTVMFFISmallBytes) {
    key->other = kTVMFFIBytes;
  } else if (index == kTVMFFIUnchanged) {
    return 0;
  } else if (!view->v_ptr) {
    return tvmffi_i_null(__func__, "the key");
  } else if (index == kTVMFFIRawStr || index == kTVMFFIStr) {
    *key = tvmffi_i_map_text_key(tvmffi_any_str(view), view->v_ptr,
                                 kTVMFFISmallStr, kTVMFFIStr);
  } else if (index == kTVMFFIByteArrayPtr || index == kTVMFFIBytes) {
    TVMFFIByteArray text = tvmffi_any_str(view);
    TVMFFI_I_BYTES(&text);
    *key = tvmffi_i_map_text_key(text, view->v_ptr, kTVMFFISmallBytes,
                                 kTVMFFIBytes);
  } else {
    key->other = index;
  }
  return 0;
}

TVMFFI_I_ALWAYS_INLINE int tvmffi_i_map_read_key(const TVMFFIAny *view,
                                                 tvmffi_i_map_key *key) {
  int32_t index = view->type_index;
  key->text.data = NULL;
  key->text.size = 0;
  key->index = index;
  if (index < kTVMFFIRawStr) {
    key->bits = tvmffi_i_make_bits(index, 0, view->v_uint64);
    key->other = -1;
  } else if (index == kTVMFFISmallStr) {
    key->bits = tvmffi_i_load_bits(view);
    key->other = kTVMFFIStr;
  } else if (index == kTVMFFIStr && view->v_obj) {
    *key = tvmffi_i_map_text_key(((tvmffi_i_string *)view->v_ptr)->bytes,
                                 view->v_ptr, kTVMFFISmallStr, kTVMFFIStr);
  } else {
    tvmffi_i_map_key pointed;
    TVMFFI_TRY(tvmffi_i_map_read_pointed(view, &pointed));
    *key = pointed;
  }
  return 0;
}

TVMFFI_I_ALWAYS_INLINE int tvmffi_i_map_hash(const tvmffi_i_map_key *key,
                                             uint64_t *hash) {
  TVMFFIAny any;
  uint64_t slow;
  if (key->index < kTVMFFIRawStr) {
    *hash =
        tvmffi_i_hash_combine((uint64_t)(int64_t)key->index, key->bits.word);
    return 0;
  }
  if (key->text.data) {
    *hash = tvmffi_i_hash_combine(
        (uint64_t)key->index,
        tvmffi_i_stable_hash(key->text.data, key->text.size));
    return 0;
  }
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  if (key->index == kTVMFFISmallStr) {
    *hash = tvmffi_i_hash_combine(kTVMFFIStr,
                                  tvmffi_i_stable_reduce(key->bits.word));
    return 0;
  }
#endif
  tvmffi_i_store_bits(&any, key->bits);
  TVMFFI_TRY(tvmffi_i_any_hash(&any, &slow));
  *hash = slow;
  return 0;
}

/* While the hash or equality that a type brought along runs within a change or
   a look-up, this thread refuses to change the map. The count of all threads
   keeps those who have no such types from asking more. */
typedef struct tvmffi_i_map_guard {
  const tvmffi_i_map_object *map;
  struct tvmffi_i_map_guard *outer;
} tvmffi_i_map_guard;

static uint64_t tvmffi_i_map_guards;

static void tvmffi_i_map_enter(const tvmffi_i_map_object *m,
                               tvmffi_i_map_guard *guard) {
  tvmffi_i_thread *t = tvmffi_i_self();
  guard->map = m;
  guard->outer = t->guard;
  t->guard = guard;
  (void)tvmffi_i_add64(&tvmffi_i_map_guards, 1);
}

static void tvmffi_i_map_leave(tvmffi_i_map_guard *guard) {
  tvmffi_i_self()->guard = guard->outer;
  (void)tvmffi_i_sub64(&tvmffi_i_map_guards, 1);
}

TVMFFI_I_SLOW int tvmffi_i_map_check_guards(const tvmffi_i_map_object *m) {
  const tvmffi_i_map_guard *guard = tvmffi_i_self()->guard;
  for (; guard; guard = guard->outer) {
    if (guard->map == m)
      return tvmffi_i_fail("RuntimeError",
                           "A map cannot be changed by the hash or the "
                           "equality of its own keys");
  }
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_map_may_change(const tvmffi_i_map_object *m) {
  return TVMFFI_I_LIKELY(!TVMFFI_I_LOAD_RELAXED(&tvmffi_i_map_guards))
             ? 0
             : tvmffi_i_map_check_guards(m);
}

/* The hash of a key that the map holds. */
TVMFFI_I_NOINLINE int tvmffi_i_map_hash_object(const tvmffi_i_map_object *m,
                                               const TVMFFIAny *key,
                                               uint64_t *hash) {
  tvmffi_i_map_guard guard;
  int code;
  if (!tvmffi_i_type_attr(&tvmffi_i_hash_column, key->type_index))
    return tvmffi_i_any_hash(key, hash);
  tvmffi_i_map_enter(m, &guard);
  code = tvmffi_i_any_hash(key, hash);
  tvmffi_i_map_leave(&guard);
  return code;
}

TVMFFI_I_INLINE int tvmffi_i_map_hash_held(const tvmffi_i_map_object *m,
                                           const TVMFFIAny *key,
                                           uint64_t *hash) {
  if (key->type_index > kTVMFFIBytes)
    return tvmffi_i_map_hash_object(m, key, hash);
  return tvmffi_i_any_hash(key, hash);
}

/* Compares a short text with one in an object, or two objects whose type may
   have an equality: 1, 0 or an error's code. Upstream has the key that is held
   first in a row, and second in a table. */
TVMFFI_I_NOINLINE int tvmffi_i_map_differ_equal(const tvmffi_i_map_object *m,
                                                tvmffi_i_bits bits,
                                                const TVMFFIAny *held,
                                                int held_first) {
  tvmffi_i_map_guard guard;
  TVMFFIAny key;
  int code;
  tvmffi_i_store_bits(&key, bits);
  if (held->type_index <= kTVMFFIBytes ||
      !tvmffi_i_type_attr(&tvmffi_i_equal_column, held->type_index))
    return tvmffi_i_differ_equal(&key, held);
  tvmffi_i_map_enter(m, &guard);
  code = held_first ? tvmffi_i_differ_equal(held, &key)
                    : tvmffi_i_differ_equal(&key, held);
  tvmffi_i_map_leave(&guard);
  return code;
}

/* Compares texts of eight bytes or more, word by word, the last two
   overlapping. */
TVMFFI_I_INLINE int tvmffi_i_map_same_text(TVMFFIByteArray a,
                                           TVMFFIByteArray b) {
  uint64_t x, y;
  size_t i;
  if (a.size != b.size) return 0;
  if (a.size > 64) return memcmp(a.data, b.data, a.size) == 0;
  for (i = 0; i + 8 < a.size; i += 8) {
    memcpy(&x, a.data + i, 8);
    memcpy(&y, b.data + i, 8);
    if (x != y) return 0;
  }
  memcpy(&x, a.data + a.size - 8, 8);
  memcpy(&y, b.data + a.size - 8, 8);
  return x == y;
}

TVMFFI_I_ALWAYS_INLINE int tvmffi_i_map_equal(const tvmffi_i_map_object *m,
                                              const tvmffi_i_map_key *key,
                                              const TVMFFIAny *held,
                                              int held_first) {
  uint64_t head;
  memcpy(&head, (const void *)held, 8);
  if (head == key->bits.head && held->v_uint64 == key->bits.word) return 1;
  if (held->type_index != key->other) return 0;
  if (key->text.data)
    return tvmffi_i_map_same_text(key->text,
                                  ((tvmffi_i_string *)held->v_ptr)->bytes);
  return tvmffi_i_map_differ_equal(m, key->bits, held, held_first);
}

/* -------- Looking up -------- */

/* Where a key is: its pair, its slot or place in the row, and in a table the
   slot before it in its chain (TVMFFI_I_MAP_END if it begins the chain). */
typedef struct {
  tvmffi_i_pair *pair;
  uint64_t index, before;
} tvmffi_i_map_place;

TVMFFI_I_ALWAYS_INLINE int tvmffi_i_map_find_in_row(
    const tvmffi_i_map_object *m, const tvmffi_i_map_key *key,
    tvmffi_i_map_place *place) {
  tvmffi_i_pair *pair = (tvmffi_i_pair *)m->data;
  uint64_t i, n = m->size;
  int code;
  for (i = 0; i < n; ++i, ++pair) {
    code = tvmffi_i_map_equal(m, key, &pair->key, 1);
    if (!code) continue;
    place->pair = pair;
    place->index = i;
    return code;
  }
  return 0;
}

TVMFFI_I_ALWAYS_INLINE int tvmffi_i_map_find_in_table(
    const tvmffi_i_map_object *m, const tvmffi_i_map_key *key, uint64_t hash,
    tvmffi_i_map_place *place) {
  uint64_t i = tvmffi_i_map_home(m, hash), before = TVMFFI_I_MAP_END, next;
  uint8_t meta = *tvmffi_i_map_meta(m->data, i);
  tvmffi_i_map_item *item;
  int code;
  if (meta & TVMFFI_I_MAP_BODY) return 0;
  for (;;) {
    item = tvmffi_i_map_at(m->data, i);
    next = tvmffi_i_map_next(m, i, meta);
    TVMFFI_I_PREFETCH(tvmffi_i_map_at(m->data, next));
    code = tvmffi_i_map_equal(m, key, &item->pair.key, 0);
    if (code) {
      place->pair = &item->pair;
      place->index = i;
      place->before = before;
      return code;
    }
    if (!(meta & TVMFFI_I_MAP_JUMP)) return 0;
    before = i;
    i = next;
    meta = *tvmffi_i_map_meta(m->data, i);
  }
}

/* Finds a key: 1, 0, or the code of an error that its type raised. */
TVMFFI_I_ALWAYS_INLINE int tvmffi_i_map_find(const tvmffi_i_map_object *m,
                                             const tvmffi_i_map_key *key,
                                             tvmffi_i_map_place *place) {
  uint64_t hash;
  if (tvmffi_i_map_is_row(m)) return tvmffi_i_map_find_in_row(m, key, place);
  if (!m->size) return 0;
  TVMFFI_TRY(tvmffi_i_map_hash(key, &hash));
  return tvmffi_i_map_find_in_table(m, key, hash, place);
}

/* Where a look-up points that ended in an error. */
static const TVMFFIAny tvmffi_i_map_failed = {kTVMFFINone, {0}, {0}};

/* Finds the value of a key, a view of any kind: borrowed, NULL if there is
   none, or &tvmffi_i_map_failed with the error set. */
TVMFFI_I_NOINLINE const TVMFFIAny *tvmffi_i_map_lookup(TVMFFIObject *map,
                                                       const TVMFFIAny *key) {
  tvmffi_i_map_key k;
  tvmffi_i_map_place place = {NULL, 0, TVMFFI_I_MAP_END};
  int code = tvmffi_i_map_read_key(key, &k);
  if (!code)
    code = tvmffi_i_map_find((tvmffi_i_map_object *)(void *)map, &k, &place);
  if (TVMFFI_I_UNLIKELY(code < 0)) return &tvmffi_i_map_failed;
  return code ? &place.pair->value : NULL;
}

/* -------- Making and destroying -------- */

/* Releases an entry that no map has any more. */
TVMFFI_I_INLINE void tvmffi_i_map_drop_pair(const tvmffi_i_pair *pair) {
  if (pair->key.type_index >= kTVMFFIStaticObjectBegin)
    tvmffi_release(pair->key.v_obj);
  if (pair->value.type_index >= kTVMFFIStaticObjectBegin)
    tvmffi_release(pair->value.v_obj);
}

/* Releases the entries of a table that no map has, or none any more. */
static void tvmffi_i_map_drop_table(void *data, uint64_t slots) {
  uint64_t first, n, i;
  for (first = 0; first < slots; first += 16) {
    uint8_t *meta = tvmffi_i_map_meta(data, first);
    const tvmffi_i_map_item *items = tvmffi_i_map_at(data, first);
    n = slots - first < 16 ? slots - first : 16;
    for (i = 0; i < n; ++i)
      if (meta[i] < TVMFFI_I_MAP_PROTECTED)
        tvmffi_i_map_drop_pair(&items[i].pair);
    memset(meta, TVMFFI_I_MAP_EMPTY, 16);
  }
}

/* The bytes that a table of a possible size takes. One that is smaller than a
   block ends with its last slot: nobody touches an item whose byte says that it
   is empty. */
TVMFFI_I_INLINE size_t tvmffi_i_map_table_bytes(uint64_t slots) {
  return slots < 16 ? 16 + (size_t)slots * sizeof(tvmffi_i_map_item)
                    : (size_t)(slots / 16) * TVMFFI_I_MAP_BLOCK;
}

/* Once its entries have moved out, nobody knows how large an object was. */
TVMFFI_I_INLINE void tvmffi_i_map_free(tvmffi_i_map_object *m) {
  const char *self = (const char *)m;
  if (tvmffi_i_map_is_row(m) && m->data == self + TVMFFI_I_MAP_ROW)
    tvmffi_i_pool_free(
        m, TVMFFI_I_MAP_ROW + (size_t)(m->slots & ~TVMFFI_I_MAP_IS_ROW) *
                                  sizeof(tvmffi_i_pair));
  else if (m->slots <= 16 && m->data == self + TVMFFI_I_MAP_HEAD)
    tvmffi_i_pool_free(m,
                       TVMFFI_I_MAP_HEAD + tvmffi_i_map_table_bytes(m->slots));
  else
    tvmffi_i_free(m);
}

TVMFFI_I_INLINE void tvmffi_i_destroy_map(void *self, int flags) {
  tvmffi_i_map_object *m = (tvmffi_i_map_object *)self;
  uint64_t i;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    if (!tvmffi_i_map_is_row(m))
      tvmffi_i_map_drop_table(m->data, m->slots);
    else
      for (i = 0; i < m->size; ++i)
        tvmffi_i_map_drop_pair((tvmffi_i_pair *)m->data + i);
    if (m->data_deleter) m->data_deleter(m->data);
    m->data_deleter = NULL;
    m->size = 0;
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmffi_i_map_free(m);
}

static void tvmffi_i_delete_map(void *self, int flags) {
  tvmffi_i_destroy((TVMFFIObject *)self, flags, tvmffi_i_destroy_map);
}

/* A map without entries whose row has `places`, in the object. */
static tvmffi_i_map_object *tvmffi_i_map_new_row(int32_t type_index,
                                                 uint64_t places) {
  tvmffi_i_map_object *m;
  if (places < TVMFFI_I_MAP_ROW_MIN) places = TVMFFI_I_MAP_ROW_MIN;
  m = (tvmffi_i_map_object *)tvmffi_i_object(
      TVMFFI_I_MAP_ROW + (size_t)places * sizeof(tvmffi_i_pair), type_index,
      tvmffi_i_delete_map);
  if (!m) return m;
  m->data = (char *)m + TVMFFI_I_MAP_ROW;
  m->size = 0;
  m->slots = places | TVMFFI_I_MAP_IS_ROW;
  m->data_deleter = NULL;
  return m;
}

/* Memory for a table of `slots`, all empty, or NULL with the error set. */
static void *tvmffi_i_map_new_table(uint64_t slots) {
  char *data = NULL;
  uint64_t i;
  if (slots / 16 <= PTRDIFF_MAX / TVMFFI_I_MAP_BLOCK)
    data = (char *)tvmffi_i_alloc(tvmffi_i_map_table_bytes(slots));
  if (!data) {
    (void)tvmffi_i_no_memory();
    return data;
  }
  for (i = 0; i < slots; i += 16)
    memset(tvmffi_i_map_meta(data, i), TVMFFI_I_MAP_EMPTY, 16);
  return data;
}

static uint32_t tvmffi_i_map_shift(uint64_t slots) {
  uint32_t shift = 64;
  for (; slots > 1; slots >>= 1) --shift;
  return shift;
}

/* The slots of a table for so many entries. */
static uint64_t tvmffi_i_map_slots(uint64_t entries) {
  uint64_t slots = TVMFFI_I_MAP_TABLE_MIN;
  while (slots - slots / 8 < entries) slots *= 2;
  return slots;
}

/* The deleter of a table that is part of its map: as upstream's may not be
   NULL. */
static void tvmffi_i_map_keep(void *data) { (void)data; }

/* Makes a map with an empty table, a small one in the object itself; owned by
   the caller, or NULL with the error set. */
static tvmffi_i_map_object *tvmffi_i_map_new_dense(int32_t type_index,
                                                   uint64_t slots) {
  int within = slots <= 16;
  void *data = within ? NULL : tvmffi_i_map_new_table(slots);
  tvmffi_i_map_object *m;
  if (!within && !data) return NULL;
  m = (tvmffi_i_map_object *)tvmffi_i_object(
      TVMFFI_I_MAP_HEAD + (within ? tvmffi_i_map_table_bytes(slots) : 0),
      type_index, tvmffi_i_delete_map);
  if (!m) {
    tvmffi_i_free(data);
    return m;
  }
  if (within) {
    data = (char *)m + TVMFFI_I_MAP_HEAD;
    memset(data, TVMFFI_I_MAP_EMPTY, 16);
  }
  m->data = data;
  m->size = 0;
  m->slots = slots;
  m->data_deleter = within ? tvmffi_i_map_keep : tvmffi_i_free;
  m->fib_shift = tvmffi_i_map_shift(slots);
  m->head = m->tail = TVMFFI_I_MAP_END;
  return m;
}

/* Makes an empty map with room for some entries, owned by the caller, or NULL
   with the error set. `type_index`: kTVMFFIMap or kTVMFFIDict. */
static TVMFFIObject *tvmffi_i_new_map(int32_t type_index, int64_t capacity) {
  tvmffi_i_map_object *m =
      capacity > TVMFFI_I_MAP_ROW_MAX
          ? tvmffi_i_map_new_dense(type_index,
                                   tvmffi_i_map_slots((uint64_t)capacity))
          : tvmffi_i_map_new_row(type_index,
                                 capacity > 0 ? (uint64_t)capacity : 0);
  return m ? &m->base : NULL;
}

/* Makes a copy of a map, of either type, that shares its keys and values;
   owned by the caller, or NULL with the error set. */
static TVMFFIObject *tvmffi_i_map_copy(const TVMFFIObject *map,
                                       int32_t type_index) {
  const tvmffi_i_map_object *from =
      (const tvmffi_i_map_object *)(const void *)map;
  int row = tvmffi_i_map_is_row(from) || !from->slots;
  tvmffi_i_map_object *m =
      row ? tvmffi_i_map_new_row(type_index, from->size)
          : tvmffi_i_map_new_dense(type_index, from->slots);
  uint64_t i;
  if (!m) return NULL;
  if (!row) {
    memcpy(m->data, from->data, tvmffi_i_map_table_bytes(from->slots));
    m->head = from->head;
    m->tail = from->tail;
  } else if (from->size) {
    memcpy(m->data, from->data, (size_t)from->size * sizeof(tvmffi_i_pair));
  }
  m->size = from->size;
  for (i = 0; i < (row ? m->size : m->slots); ++i) {
    tvmffi_i_pair *pair = tvmffi_i_map_pair(&m->base, i);
    if (!pair) continue;
    if (pair->key.type_index >= kTVMFFIStaticObjectBegin)
      tvmffi_retain(pair->key.v_obj);
    if (pair->value.type_index >= kTVMFFIStaticObjectBegin)
      tvmffi_retain(pair->value.v_obj);
  }
  return &m->base;
}

/* -------- Growing -------- */

/* Puts other places under a map; its entries have been moved there. */
static void tvmffi_i_map_replace(tvmffi_i_map_object *m, void *data,
                                 uint64_t slots) {
  if (m->data_deleter) m->data_deleter(m->data);
  m->data = data;
  m->data_deleter = tvmffi_i_free;
  m->slots = slots;
}

static int tvmffi_i_map_grow_row(tvmffi_i_map_object *m) {
  uint64_t places = (m->slots & ~TVMFFI_I_MAP_IS_ROW) * 2;
  void *data;
  if (places < TVMFFI_I_MAP_ROW_MIN) places = TVMFFI_I_MAP_ROW_MIN;
  data = tvmffi_i_alloc((size_t)places * sizeof(tvmffi_i_pair));
  if (!data) return tvmffi_i_no_memory();
  if (m->size) memcpy(data, m->data, (size_t)m->size * sizeof(tvmffi_i_pair));
  tvmffi_i_map_replace(m, data, places | TVMFFI_I_MAP_IS_ROW);
  return 0;
}

/* Links the newest entry. */
TVMFFI_I_INLINE void tvmffi_i_map_link(tvmffi_i_map_object *m,
                                       tvmffi_i_map_item *item, uint64_t i) {
  item->prev = m->tail;
  item->next = TVMFFI_I_MAP_END;
  if (m->tail != TVMFFI_I_MAP_END)
    tvmffi_i_map_at(m->data, m->tail)->next = i;
  else
    m->head = i;
  m->tail = i;
}

/* Points what stands before and after an entry to its slot `i`. */
TVMFFI_I_INLINE void tvmffi_i_map_relink(tvmffi_i_map_object *m,
                                         const tvmffi_i_map_item *item,
                                         uint64_t i) {
  if (item->prev != TVMFFI_I_MAP_END)
    tvmffi_i_map_at(m->data, item->prev)->next = i;
  else
    m->head = i;
  if (item->next != TVMFFI_I_MAP_END)
    tvmffi_i_map_at(m->data, item->next)->prev = i;
  else
    m->tail = i;
}

TVMFFI_I_INLINE void tvmffi_i_map_unlink(tvmffi_i_map_object *m,
                                         const tvmffi_i_map_item *item) {
  if (item->prev != TVMFFI_I_MAP_END)
    tvmffi_i_map_at(m->data, item->prev)->next = item->next;
  else
    m->head = item->next;
  if (item->next != TVMFFI_I_MAP_END)
    tvmffi_i_map_at(m->data, item->next)->prev = item->prev;
  else
    m->tail = item->prev;
}

/* Finds an empty slot that a chain's end `i` can point to: the jump, and its
   slot in *to; 0 if there is none. */
TVMFFI_I_INLINE uint8_t tvmffi_i_map_reach(const tvmffi_i_map_object *m,
                                           uint64_t i, uint64_t *to) {
  uint8_t jump;
  for (jump = 1; jump < TVMFFI_I_MAP_NUM_JUMPS; ++jump) {
    *to = tvmffi_i_map_next(m, i, jump);
    if (*tvmffi_i_map_meta(m->data, *to) == TVMFFI_I_MAP_EMPTY) return jump;
  }
  return 0;
}

TVMFFI_I_INLINE void tvmffi_i_map_set_jump(const tvmffi_i_map_object *m,
                                           uint64_t i, uint8_t jump) {
  uint8_t *meta = tvmffi_i_map_meta(m->data, i);
  *meta = (uint8_t)((*meta & TVMFFI_I_MAP_BODY) | jump);
}

/* Takes a slot at the end of the chain that `i` is in: 1, or 0 if there is
   none in reach. */
TVMFFI_I_INLINE int tvmffi_i_map_extend(const tvmffi_i_map_object *m,
                                        uint64_t i, uint64_t *to) {
  uint8_t meta, jump;
  while ((meta = *tvmffi_i_map_meta(m->data, i)) & TVMFFI_I_MAP_JUMP)
    i = tvmffi_i_map_next(m, i, meta);
  jump = tvmffi_i_map_reach(m, i, to);
  if (!jump) return 0;
  tvmffi_i_map_set_jump(m, i, jump);
  *tvmffi_i_map_meta(m->data, *to) = TVMFFI_I_MAP_BODY;
  return 1;
}

/* Fills the larger table `to` from the table `from`: 1, 0 if a chain found no
   slot in reach, or an error's code. `moved` has room for a number for each
   slot of `from`, which is left as it is. Slots are read and, as the hash's
   highest bits stay, written about in order, so memory is read ahead. Those
   that begin a chain come first: then none of the others has to give way. */
static int tvmffi_i_map_refill(tvmffi_i_map_object *to,
                               const tvmffi_i_map_object *from,
                               uint64_t *moved) {
  const uint64_t waits = (uint64_t)1 << 63;
  uint64_t i, hash, home;
  for (i = 0; i < from->slots; ++i) {
    tvmffi_i_map_item *item = tvmffi_i_map_at(from->data, i);
    uint8_t *meta;
    moved[i] = TVMFFI_I_MAP_END;
    if (*tvmffi_i_map_meta(from->data, i) >= TVMFFI_I_MAP_PROTECTED) continue;
    TVMFFI_TRY(tvmffi_i_map_hash_held(from, &item->pair.key, &hash));
    home = tvmffi_i_map_home(to, hash);
    meta = tvmffi_i_map_meta(to->data, home);
    moved[i] = home | (*meta == TVMFFI_I_MAP_EMPTY ? 0 : waits);
    if (moved[i] & waits) continue;
    *meta = 0;
    tvmffi_i_map_at(to->data, home)->pair = item->pair;
  }
  for (i = 0; i < from->slots; ++i) {
    if (moved[i] == TVMFFI_I_MAP_END || !(moved[i] & waits)) continue;
    if (!tvmffi_i_map_extend(to, moved[i] & ~waits, &home)) return 0;
    moved[i] = home;
    tvmffi_i_map_at(to->data, home)->pair =
        tvmffi_i_map_at(from->data, i)->pair;
  }
  for (i = 0; i < from->slots; ++i) {
    const tvmffi_i_map_item *item = tvmffi_i_map_at(from->data, i);
    tvmffi_i_map_item *copy;
    if (moved[i] == TVMFFI_I_MAP_END) continue;
    copy = tvmffi_i_map_at(to->data, moved[i]);
    copy->prev =
        item->prev == TVMFFI_I_MAP_END ? item->prev : moved[item->prev];
    copy->next =
        item->next == TVMFFI_I_MAP_END ? item->next : moved[item->next];
  }
  to->head = from->head == TVMFFI_I_MAP_END ? from->head : moved[from->head];
  to->tail = from->tail == TVMFFI_I_MAP_END ? from->tail : moved[from->tail];
  return 1;
}

/* Gives a table more slots. The entries are moved bit by bit, so all stays as
   it was until the new table is complete. */
TVMFFI_I_NOINLINE int tvmffi_i_map_grow_table(tvmffi_i_map_object *m) {
  uint64_t few[64], *moved = few;
  tvmffi_i_map_object grown = *m;
  int code = 0;
  if (m->slots > 64) {
    if (m->slots > PTRDIFF_MAX / 16) return tvmffi_i_no_memory();
    moved = (uint64_t *)tvmffi_i_alloc((size_t)m->slots * sizeof(*moved));
    if (!moved) return tvmffi_i_no_memory();
  }
  while (code == 0) {
    grown.slots = grown.slots < TVMFFI_I_MAP_TABLE_MIN
                      ? (uint64_t)TVMFFI_I_MAP_TABLE_MIN
                      : grown.slots * 2;
    grown.fib_shift = tvmffi_i_map_shift(grown.slots);
    grown.data = tvmffi_i_map_new_table(grown.slots);
    code = grown.data ? tvmffi_i_map_refill(&grown, m, moved) : -1;
    if (code <= 0) tvmffi_i_free(grown.data);
  }
  if (moved != few) tvmffi_i_free(moved);
  if (code < 0) return code;
  tvmffi_i_map_replace(m, grown.data, grown.slots);
  m->fib_shift = grown.fib_shift;
  m->head = grown.head;
  m->tail = grown.tail;
  return 0;
}

/* Moves chains apart: what stands in `target`, and what follows it in its
   chain, goes elsewhere. 1, 0 if there is no room (and nothing was moved), or
   an error's code. */
typedef struct {
  uint64_t from, to, link; /* moved from, to, linked from */
  uint8_t from_meta, link_meta;
} tvmffi_i_map_move;

static void tvmffi_i_map_move_item(tvmffi_i_map_object *m, uint64_t from,
                                   uint64_t to) {
  tvmffi_i_map_item *item = tvmffi_i_map_at(m->data, to);
  *item = *tvmffi_i_map_at(m->data, from);
  tvmffi_i_map_relink(m, item, to);
}

static int tvmffi_i_map_move_chain(tvmffi_i_map_object *m, uint64_t target,
                                   uint64_t link, tvmffi_i_map_move *moves) {
  uint64_t from = target, n = 0;
  for (;;) {
    tvmffi_i_map_move *move = &moves[n];
    uint8_t jump = tvmffi_i_map_reach(m, link, &move->to);
    if (!jump) break;
    move->from = from;
    move->link = link;
    move->from_meta = *tvmffi_i_map_meta(m->data, from);
    move->link_meta = *tvmffi_i_map_meta(m->data, link);
    tvmffi_i_map_move_item(m, from, move->to);
    *tvmffi_i_map_meta(m->data, move->to) = TVMFFI_I_MAP_BODY;
    *tvmffi_i_map_meta(m->data, from) =
        from == target ? TVMFFI_I_MAP_PROTECTED : TVMFFI_I_MAP_EMPTY;
    tvmffi_i_map_set_jump(m, link, jump);
    ++n;
    if (!(move->from_meta & TVMFFI_I_MAP_JUMP)) return 1;
    link = move->to;
    from = tvmffi_i_map_next(m, from, move->from_meta);
  }
  while (n-- > 0) {
    tvmffi_i_map_move_item(m, moves[n].to, moves[n].from);
    *tvmffi_i_map_meta(m->data, moves[n].to) = TVMFFI_I_MAP_EMPTY;
    *tvmffi_i_map_meta(m->data, moves[n].from) = moves[n].from_meta;
    *tvmffi_i_map_meta(m->data, moves[n].link) = moves[n].link_meta;
  }
  return 0;
}

static int tvmffi_i_map_spare(tvmffi_i_map_object *m, uint64_t target) {
  tvmffi_i_map_move few[16], *moves = few;
  uint64_t hash, link, i, n = 1;
  uint8_t meta;
  int code;
  TVMFFI_TRY(tvmffi_i_map_hash_held(
      m, &tvmffi_i_map_at(m->data, target)->pair.key, &hash));
  /* A hash that was another before may lead to a chain without `target`, or
     nowhere; then only a new table helps. */
  link = tvmffi_i_map_home(m, hash);
  for (;;) {
    meta = *tvmffi_i_map_meta(m->data, link);
    if (meta >= TVMFFI_I_MAP_PROTECTED || !(meta & TVMFFI_I_MAP_JUMP)) return 0;
    i = tvmffi_i_map_next(m, link, meta);
    if (i == target) break;
    link = i;
  }
  while ((meta = *tvmffi_i_map_meta(m->data, i)) & TVMFFI_I_MAP_JUMP) {
    i = tvmffi_i_map_next(m, i, meta);
    ++n;
  }
  if (n > sizeof(few) / sizeof(few[0])) {
    moves = (tvmffi_i_map_move *)tvmffi_i_alloc((size_t)n * sizeof(*moves));
    if (!moves) return tvmffi_i_no_memory();
  }
  code = tvmffi_i_map_move_chain(m, target, link, moves);
  if (moves != few) tvmffi_i_free(moves);
  return code;
}

/* Takes a slot for a key that the table does not hold: 1, 0 if it has to grow,
   or an error's code. As upstream's TryInsert, it looks at the load only where
   the key cannot begin a chain in an empty slot. */
TVMFFI_I_INLINE int tvmffi_i_map_take(tvmffi_i_map_object *m, uint64_t hash,
                                      uint64_t *i) {
  uint64_t home;
  uint8_t *meta;
  int code;
  if (!m->slots) return 0;
  home = tvmffi_i_map_home(m, hash);
  meta = tvmffi_i_map_meta(m->data, home);
  *i = home;
  if (*meta != TVMFFI_I_MAP_EMPTY) {
    if ((m->size + 1) * 100 > m->slots * 99) return 0;
    if (!(*meta & TVMFFI_I_MAP_BODY)) return tvmffi_i_map_extend(m, home, i);
    code = tvmffi_i_map_spare(m, home);
    if (code <= 0) return code;
  }
  *meta = 0;
  return 1;
}

/* Takes a slot for a key that the table does not hold, and links it; *pair is
   to be filled. On failure the map is as it was. */
TVMFFI_I_INLINE int tvmffi_i_map_add_to_table(tvmffi_i_map_object *m,
                                              uint64_t hash,
                                              tvmffi_i_pair **pair) {
  uint64_t i;
  tvmffi_i_map_item *item;
  int code;
  while ((code = tvmffi_i_map_take(m, hash, &i)) == 0)
    TVMFFI_TRY(tvmffi_i_map_grow_table(m));
  if (code < 0) return code;
  item = tvmffi_i_map_at(m->data, i);
  tvmffi_i_map_link(m, item, i);
  ++m->size;
  *pair = &item->pair;
  return 0;
}

/* Makes a table of a full row. */
static int tvmffi_i_map_row_to_table(tvmffi_i_map_object *m) {
  tvmffi_i_map_object table = *m;
  const tvmffi_i_pair *row = (const tvmffi_i_pair *)m->data;
  tvmffi_i_pair *pair;
  uint64_t hash, i;
  int code = 0;
  table.size = 0;
  table.slots = TVMFFI_I_MAP_TABLE_MIN;
  table.fib_shift = tvmffi_i_map_shift(table.slots);
  table.head = table.tail = TVMFFI_I_MAP_END;
  table.data = tvmffi_i_map_new_table(table.slots);
  if (!table.data) return -1;
  table.data_deleter = tvmffi_i_free;
  for (i = 0; i < m->size && !code; ++i) {
    code = tvmffi_i_map_hash_held(m, &row[i].key, &hash);
    if (!code) code = tvmffi_i_map_add_to_table(&table, hash, &pair);
    if (!code) *pair = row[i];
  }
  if (code) {
    table.data_deleter(table.data);
    return code;
  }
  tvmffi_i_map_replace(m, table.data, table.slots);
  m->fib_shift = table.fib_shift;
  m->head = table.head;
  m->tail = table.tail;
  return 0;
}

/* -------- Changing -------- */

/* An owned value of a view of any kind. */
TVMFFI_I_ALWAYS_INLINE int tvmffi_i_own_bits(const TVMFFIAny *view,
                                             tvmffi_i_bits *bits) {
  int32_t index = view->type_index;
  TVMFFIAny owned;
  *bits = tvmffi_i_load_bits(view);
  if ((index >= 0 && index < kTVMFFIRawStr) || index == kTVMFFISmallStr)
    return 0;
  if (index >= kTVMFFIStaticObjectBegin && view->v_obj) {
    tvmffi_retain(view->v_obj);
    return 0;
  }
  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(view, &owned));
  *bits = tvmffi_i_load_bits(&owned);
  return 0;
}

TVMFFI_I_INLINE void tvmffi_i_drop_bits(tvmffi_i_bits bits) {
  TVMFFIAny any;
  tvmffi_i_store_bits(&any, bits);
  tvmffi_any_release(&any);
}

/* Takes a place for a key that the map does not hold, and links it. */
TVMFFI_I_INLINE int tvmffi_i_map_add(tvmffi_i_map_object *m,
                                     const tvmffi_i_map_key *key,
                                     tvmffi_i_pair **pair) {
  uint64_t hash, places = m->slots & ~TVMFFI_I_MAP_IS_ROW;
  if (tvmffi_i_map_is_row(m)) {
    if (m->size >= places) TVMFFI_TRY(tvmffi_i_map_grow_row(m));
    *pair = (tvmffi_i_pair *)m->data + m->size++;
    return 0;
  }
  TVMFFI_TRY(tvmffi_i_map_hash(key, &hash));
  return tvmffi_i_map_add_to_table(m, hash, pair);
}

/* Sets the value of a key that the map holds. */
TVMFFI_I_INLINE void tvmffi_i_map_renew(tvmffi_i_map_object *m,
                                        const tvmffi_i_map_place *place,
                                        tvmffi_i_bits value) {
  tvmffi_i_bits old = tvmffi_i_load_bits(&place->pair->value);
  tvmffi_i_store_bits(&place->pair->value, value);
  if (!tvmffi_i_map_is_row(m) && place->index != m->tail) {
    tvmffi_i_map_item *item = tvmffi_i_map_at(m->data, place->index);
    tvmffi_i_map_unlink(m, item);
    tvmffi_i_map_link(m, item, place->index);
  }
  tvmffi_i_drop_bits(old);
}

TVMFFI_I_NOINLINE int tvmffi_i_map_set_in(tvmffi_i_map_object *m,
                                          const TVMFFIAny *key,
                                          const TVMFFIAny *value) {
  tvmffi_i_map_key k;
  tvmffi_i_map_place place = {NULL, 0, TVMFFI_I_MAP_END};
  tvmffi_i_bits key_bits, value_bits;
  tvmffi_i_pair *pair;
  int code;
  TVMFFI_TRY(tvmffi_i_map_may_change(m));
  TVMFFI_TRY(tvmffi_i_map_read_key(key, &k));
  /* Upstream makes a table of a full row before it looks for the key. */
  if (tvmffi_i_map_is_row(m) && m->size == TVMFFI_I_MAP_ROW_MAX)
    TVMFFI_TRY(tvmffi_i_map_row_to_table(m));
  code = tvmffi_i_map_find(m, &k, &place);
  if (code < 0) return code;
  TVMFFI_TRY(tvmffi_i_own_bits(value, &value_bits));
  if (code) {
    tvmffi_i_map_renew(m, &place, value_bits);
    return 0;
  }
  code = tvmffi_i_own_bits(key, &key_bits);
  if (!code) {
    code = tvmffi_i_map_add(m, &k, &pair);
    if (TVMFFI_I_LIKELY(!code)) {
      tvmffi_i_store_bits(&pair->key, key_bits);
      tvmffi_i_store_bits(&pair->value, value_bits);
      return 0;
    }
    tvmffi_i_drop_bits(key_bits);
  }
  tvmffi_i_drop_bits(value_bits);
  return code;
}

/* Makes *map one that may be changed: a Map that others hold, too, is replaced
   by a copy. On failure *map is as it was. */
static int tvmffi_i_map_own(TVMFFIObject **map) {
  TVMFFIObject *copy;
  if ((*map)->type_index == kTVMFFIDict ||
      (uint32_t)TVMFFI_I_LOAD(&(*map)->combined_ref_count) == 1)
    return 0;
  copy = tvmffi_i_map_copy(*map, (*map)->type_index);
  if (!copy) return -1;
  tvmffi_release(*map);
  *map = copy;
  return 0;
}

/* Sets the value of a key; both are views of any kind and borrowed. *map is
   owned by the caller, and another object afterwards if it is a Map that others
   hold, too. A key that the map has keeps its place in a map of up to three
   entries, and becomes the last in a larger one, as upstream's does. Returns 0,
   or a code with the error set and the map as it was. */
static int tvmffi_i_map_set(TVMFFIObject **map, const TVMFFIAny *key,
                            const TVMFFIAny *value) {
  TVMFFI_TRY(tvmffi_i_map_own(map));
  return tvmffi_i_map_set_in((tvmffi_i_map_object *)(void *)*map, key, value);
}

/* Finds the value of a key, a view of any kind. Borrowed; NULL if the map has
   no such key, or, with the error set, if the key's type failed. */
TVMFFI_I_UNUSED static const TVMFFIAny *tvmffi_i_map_get(TVMFFIObject *map,
                                                         const TVMFFIAny *key) {
  const TVMFFIAny *value = tvmffi_i_map_lookup(map, key);
  return value == &tvmffi_i_map_failed ? NULL : value;
}

/* Takes an entry out of a table; the last of its chain comes in its place. */
static void tvmffi_i_map_take_out(tvmffi_i_map_object *m,
                                  const tvmffi_i_map_place *place) {
  uint64_t i = place->index, before = place->before, last = i;
  uint8_t meta;
  tvmffi_i_map_unlink(m, tvmffi_i_map_at(m->data, i));
  while ((meta = *tvmffi_i_map_meta(m->data, last)) & TVMFFI_I_MAP_JUMP) {
    before = last;
    last = tvmffi_i_map_next(m, last, meta);
  }
  if (last != i) tvmffi_i_map_move_item(m, last, i);
  *tvmffi_i_map_meta(m->data, last) = TVMFFI_I_MAP_EMPTY;
  if (before != TVMFFI_I_MAP_END) tvmffi_i_map_set_jump(m, before, 0);
  --m->size;
}

static int tvmffi_i_map_erase_in(tvmffi_i_map_object *m, const TVMFFIAny *key) {
  tvmffi_i_map_key k;
  tvmffi_i_map_place place = {NULL, 0, TVMFFI_I_MAP_END};
  tvmffi_i_pair pair;
  int code;
  TVMFFI_TRY(tvmffi_i_map_may_change(m));
  TVMFFI_TRY(tvmffi_i_map_read_key(key, &k));
  code = tvmffi_i_map_find(m, &k, &place);
  if (code <= 0) return code;
  pair = *place.pair;
  if (tvmffi_i_map_is_row(m)) {
    --m->size;
    memmove((void *)place.pair, place.pair + 1,
            (size_t)(m->size - place.index) * sizeof(pair));
  } else {
    tvmffi_i_map_take_out(m, &place);
  }
  tvmffi_i_map_drop_pair(&pair);
  return 0;
}

/* Removes a key, if it is there; `key` and *map as for tvmffi_i_map_set. */
TVMFFI_I_UNUSED static int tvmffi_i_map_erase(TVMFFIObject **map,
                                              const TVMFFIAny *key) {
  TVMFFI_TRY(tvmffi_i_map_own(map));
  return tvmffi_i_map_erase_in((tvmffi_i_map_object *)(void *)*map, key);
}

/* Removes all entries. A table is taken off meanwhile, as deleters may use the
   Dict, and put back if they have not. */
static int tvmffi_i_map_clear_in(tvmffi_i_map_object *m) {
  tvmffi_i_map_object table = *m;
  TVMFFI_TRY(tvmffi_i_map_may_change(m));
  while (tvmffi_i_map_is_row(m) && m->size) {
    tvmffi_i_pair *row = (tvmffi_i_pair *)m->data, pair = row[0];
    --m->size;
    memmove((void *)row, row + 1, (size_t)m->size * sizeof(pair));
    tvmffi_i_map_drop_pair(&pair);
  }
  if (tvmffi_i_map_is_row(&table) || !table.slots) return 0;
  m->data = NULL;
  m->data_deleter = NULL;
  m->size = 0;
  m->slots = TVMFFI_I_MAP_IS_ROW;
  tvmffi_i_map_drop_table(table.data, table.slots);
  if (m->slots != TVMFFI_I_MAP_IS_ROW) {
    if (table.data_deleter) table.data_deleter(table.data);
    return 0;
  }
  m->data = table.data;
  m->data_deleter = table.data_deleter;
  m->slots = table.slots;
  m->fib_shift = table.fib_shift;
  m->head = m->tail = TVMFFI_I_MAP_END;
  return 0;
}

/* -------- Built-in functions -------- */

TVMFFI_I_OBJECT_TYPE(i_map, "ffi.Map", "ffi.Map", kTVMFFIMap)
TVMFFI_I_OBJECT_TYPE(i_dict, "ffi.Dict", "ffi.Dict", kTVMFFIDict)

/* A Dict or, as upstream makes a new Dict of it, a Map: what is done to that
   copy has no effect, so a Map is left alone. */
TVMFFI_I_TYPE(i_any_dict, TVMFFIObject *, "Dict<Any, Any>",
              "{\"type\":\"ffi.Dict\",\"args\":[{\"type\":\"Any\"},"
              "{\"type\":\"Any\"}]}")
TVMFFI_I_GET(i_any_dict) {
  if (any->type_index != kTVMFFIDict && any->type_index != kTVMFFIMap)
    return TVMFFI_I_MISMATCH;
  *out = any->v_obj;
  return *out ? 0 : TVMFFI_I_MISMATCH;
}

/* Any value, left where the caller has it. */
TVMFFI_I_TYPE(i_view, const TVMFFIAny *, "Any", "Any")
TVMFFI_I_GET(i_view) {
  *out = any;
  return 0;
}

static int tvmffi_i_map_call_new(int32_t type_index, const TVMFFIAny *args,
                                 int32_t num_args, TVMFFIAny *result) {
  TVMFFIObject *map;
  int32_t i;
  int code = 0;
  if (num_args % 2)
    return tvmffi_i_fail("InternalError",
                         "Check failed: args.size() %% 2 == 0 (1 vs. 0) : ");
  /* Not made for so many: a key that comes twice is found by another rule in a
     row than in a table. */
  map = tvmffi_i_new_map(type_index, 0);
  if (!map) return -1;
  for (i = 0; i < num_args && !code; i += 2)
    code = tvmffi_i_map_set(&map, &args[i], &args[i + 1]);
  if (code)
    tvmffi_release(map);
  else
    *result = tvmffi_obj(map);
  return code;
}

static int tvmffi_call_i_map(void *self, const TVMFFIAny *args,
                             int32_t num_args, TVMFFIAny *result) {
  (void)self;
  return tvmffi_i_map_call_new(kTVMFFIMap, args, num_args, result);
}
static tvmffi_func tvmffi_func_i_map = {"ffi.Map", tvmffi_call_i_map, -1, NULL};

static int tvmffi_call_i_dict(void *self, const TVMFFIAny *args,
                              int32_t num_args, TVMFFIAny *result) {
  (void)self;
  return tvmffi_i_map_call_new(kTVMFFIDict, args, num_args, result);
}
static tvmffi_func tvmffi_func_i_dict = {"ffi.Dict", tvmffi_call_i_dict, -1,
                                         NULL};

TVMFFI_I_INLINE TVMFFIAny tvmffi_i_map_copied(const TVMFFIAny *value) {
  if (value->type_index >= kTVMFFIStaticObjectBegin)
    tvmffi_retain(value->v_obj);
  return *value;
}

TVMFFI_I_INLINE int tvmffi_i_map_item_of(TVMFFIObject *map,
                                         const TVMFFIAny *key,
                                         TVMFFIAny *result) {
  const TVMFFIAny *value = tvmffi_i_map_lookup(map, key);
  if (!value) return tvmffi_i_fail("KeyError", "key is not in Map");
  if (TVMFFI_I_UNLIKELY(value == &tvmffi_i_map_failed)) return -1;
  *result = tvmffi_i_map_copied(value);
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_map_item_or_missing(TVMFFIObject *map,
                                                 const TVMFFIAny *key,
                                                 TVMFFIAny *result) {
  const TVMFFIAny *value = tvmffi_i_map_lookup(map, key);
  if (TVMFFI_I_UNLIKELY(value == &tvmffi_i_map_failed)) return -1;
  *result =
      value ? tvmffi_i_map_copied(value) : tvmffi_obj(&tvmffi_i_invalid_object);
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_map_count(TVMFFIObject *map, const TVMFFIAny *key,
                                       TVMFFIAny *result) {
  const TVMFFIAny *value = tvmffi_i_map_lookup(map, key);
  if (TVMFFI_I_UNLIKELY(value == &tvmffi_i_map_failed)) return -1;
  *result = tvmffi_int(value != NULL);
  return 0;
}

TVMFFI_FUNC(i_map_size, int64, (i_map, map)) {
  TVMFFI_RETURN(tvmffi_i_map_size(map));
}
TVMFFI_FUNC(i_map_get_item, any, (i_map, map), (i_view, key)) {
  return tvmffi_i_map_item_of(map, key, tvmffi_result);
}
TVMFFI_FUNC(i_map_get_item_or_missing, any, (i_map, map), (i_view, key)) {
  return tvmffi_i_map_item_or_missing(map, key, tvmffi_result);
}
TVMFFI_FUNC(i_map_count, int64, (i_map, map), (i_view, key)) {
  return tvmffi_i_map_count(map, key, tvmffi_result);
}

TVMFFI_FUNC(i_dict_size, int64, (i_dict, dict)) {
  TVMFFI_RETURN(tvmffi_i_map_size(dict));
}
TVMFFI_FUNC(i_dict_get_item, any, (i_dict, dict), (i_view, key)) {
  return tvmffi_i_map_item_of(dict, key, tvmffi_result);
}
TVMFFI_FUNC(i_dict_get_item_or_missing, any, (i_dict, dict), (i_view, key)) {
  return tvmffi_i_map_item_or_missing(dict, key, tvmffi_result);
}
TVMFFI_FUNC(i_dict_count, int64, (i_dict, dict), (i_view, key)) {
  return tvmffi_i_map_count(dict, key, tvmffi_result);
}
TVMFFI_FUNC(i_dict_set_item, none, (i_any_dict, dict), (i_view, key),
            (i_view, value)) {
  if (dict->type_index == kTVMFFIDict)
    TVMFFI_TRY(
        tvmffi_i_map_set_in((tvmffi_i_map_object *)(void *)dict, key, value));
  TVMFFI_RETURN();
}
TVMFFI_FUNC(i_dict_erase, none, (i_any_dict, dict), (i_view, key)) {
  if (dict->type_index == kTVMFFIDict)
    TVMFFI_TRY(tvmffi_i_map_erase_in((tvmffi_i_map_object *)(void *)dict, key));
  TVMFFI_RETURN();
}
TVMFFI_FUNC(i_dict_clear, none, (i_any_dict, dict)) {
  if (dict->type_index == kTVMFFIDict)
    TVMFFI_TRY(tvmffi_i_map_clear_in((tvmffi_i_map_object *)(void *)dict));
  TVMFFI_RETURN();
}

/* What the iterator functions return is a function of a command: 0 gives the
   key, 1 the value, all else goes on and tells whether there is an entry. It
   holds the map, unlike upstream's. */
typedef struct {
  TVMFFIObject *map;
  uint64_t at, end;
} tvmffi_i_map_iterator;

static void tvmffi_i_map_end_iterator(void *self) {
  tvmffi_release(((tvmffi_i_map_iterator *)self)->map);
  tvmffi_i_free(self);
}

static int tvmffi_i_map_iterate(void *self, const TVMFFIAny *args,
                                int32_t num_args, TVMFFIAny *result) {
  tvmffi_i_map_iterator *it = (tvmffi_i_map_iterator *)self;
  const tvmffi_i_pair *pair;
  int64_t command = 0;
  TVMFFI_TRY(tvmffi_i_get_index(args, num_args, result, &command));
  pair = it->at == it->end ? NULL : tvmffi_i_map_pair(it->map, it->at);
  if ((uint32_t)command > 1) {
    it->at = pair ? tvmffi_i_map_after(it->map, it->at) : it->end;
    if (!tvmffi_i_map_pair(it->map, it->at)) it->at = it->end;
    *result = tvmffi_bool(it->at != it->end);
    return 0;
  }
  if (!pair)
    return tvmffi_i_fail("IndexError", "The iterator is at the end of the map");
  *result = tvmffi_i_map_copied((uint32_t)command ? &pair->value : &pair->key);
  return 0;
}

static int tvmffi_i_map_new_iterator(TVMFFIObject *map, TVMFFIAny *result) {
  TVMFFIObjectHandle f = NULL;
  tvmffi_i_map_iterator *it =
      (tvmffi_i_map_iterator *)tvmffi_i_alloc(sizeof(*it));
  if (!it) return tvmffi_i_no_memory();
  it->map = map;
  it->at = tvmffi_i_map_begin(map);
  it->end = tvmffi_i_map_is_row((tvmffi_i_map_object *)(void *)map)
                ? (uint64_t)tvmffi_i_map_size(map)
                : TVMFFI_I_MAP_END;
  tvmffi_retain(map);
  if (TVMFFIFunctionCreate(it, tvmffi_i_map_iterate, tvmffi_i_map_end_iterator,
                           &f)) {
    tvmffi_i_map_end_iterator(it);
    return -1;
  }
  *result = tvmffi_obj(f);
  return 0;
}

TVMFFI_FUNC(i_map_iterator, func, (i_map, map)) {
  return tvmffi_i_map_new_iterator(map, tvmffi_result);
}
TVMFFI_FUNC(i_dict_iterator, func, (i_dict, dict)) {
  return tvmffi_i_map_new_iterator(dict, tvmffi_result);
}

/* -------- The first device that is not a CPU -------- */

/* A search through containers within containers, depth first: a stack of where
   it is in each, and a hash table of those that it has begun, as one may hold
   itself and many may hold the same. */
typedef struct {
  TVMFFIObject *container;
  uint64_t at;
} tvmffi_i_walk_level;

typedef struct {
  tvmffi_i_walk_level *levels;
  TVMFFIObject **begun;
  size_t depth, max_depth, num_begun, num_places;
} tvmffi_i_walk;

static int tvmffi_i_is_container(int32_t index) {
  return index == kTVMFFIArray || index == kTVMFFIList || index == kTVMFFIMap ||
         index == kTVMFFIDict;
}

/* The place of a container in the table of those begun, or a free one. */
static TVMFFIObject **tvmffi_i_walk_place(const tvmffi_i_walk *w,
                                          TVMFFIObject *container) {
  uint64_t hash = (uint64_t)(uintptr_t)container * 0x9E3779B97F4A7C15u;
  size_t i = (size_t)(hash >> 32);
  while (w->begun[i & (w->num_places - 1)] &&
         w->begun[i & (w->num_places - 1)] != container)
    ++i;
  return &w->begun[i & (w->num_places - 1)];
}

/* Doubles what has become too small. */
static int tvmffi_i_walk_reserve(tvmffi_i_walk *w) {
  if (w->depth == w->max_depth) {
    size_t n = w->max_depth ? w->max_depth * 2 : 16;
    tvmffi_i_walk_level *levels =
        (tvmffi_i_walk_level *)tvmffi_i_alloc(n * sizeof(*levels));
    if (!levels) return tvmffi_i_no_memory();
    if (w->depth) memcpy(levels, w->levels, w->depth * sizeof(*levels));
    tvmffi_i_free(w->levels);
    w->levels = levels;
    w->max_depth = n;
  }
  if (w->num_begun * 2 >= w->num_places) {
    tvmffi_i_walk grown = *w;
    size_t i;
    grown.num_places = w->num_places ? w->num_places * 2 : 32;
    grown.begun = (TVMFFIObject **)tvmffi_i_alloc(grown.num_places *
                                                  sizeof(*grown.begun));
    if (!grown.begun) return tvmffi_i_no_memory();
    memset((void *)grown.begun, 0, grown.num_places * sizeof(*grown.begun));
    for (i = 0; i < w->num_places; ++i)
      if (w->begun[i]) *tvmffi_i_walk_place(&grown, w->begun[i]) = w->begun[i];
    tvmffi_i_free((void *)w->begun);
    *w = grown;
  }
  return 0;
}

static int tvmffi_i_walk_into(tvmffi_i_walk *w, TVMFFIObject *container) {
  TVMFFIObject **place;
  TVMFFI_TRY(tvmffi_i_walk_reserve(w));
  place = tvmffi_i_walk_place(w, container);
  if (*place) return 0;
  *place = container;
  ++w->num_begun;
  w->levels[w->depth].container = container;
  w->levels[w->depth++].at = container->type_index == kTVMFFIMap ||
                                     container->type_index == kTVMFFIDict
                                 ? tvmffi_i_map_begin(container)
                                 : 0;
  return 0;
}

/* The next value of the innermost container, or NULL at its end. */
static const TVMFFIAny *tvmffi_i_walk_next(tvmffi_i_walk *w) {
  tvmffi_i_walk_level *level = &w->levels[w->depth - 1];
  int32_t index = level->container->type_index;
  if (index == kTVMFFIMap || index == kTVMFFIDict) {
    const tvmffi_i_pair *pair = tvmffi_i_map_pair(level->container, level->at);
    if (pair) level->at = tvmffi_i_map_after(level->container, level->at);
    return pair ? &pair->value : NULL;
  } else {
    const TVMFFISeqCell *seq =
        (const TVMFFISeqCell *)(const void *)(level->container + 1);
    return level->at < (uint64_t)seq->size
               ? (const TVMFFIAny *)seq->data + level->at++
               : NULL;
  }
}

static int tvmffi_i_find_device(tvmffi_i_walk *w, const TVMFFIAny *value,
                                DLDevice *device) {
  while (value || w->depth) {
    if (!value) {
      value = tvmffi_i_walk_next(w);
      if (!value) --w->depth;
      continue;
    }
    if (value->type_index == kTVMFFITensor && value->v_obj) {
      const DLTensor *t = TVMFFITensorGetDLTensorPtr(value->v_obj);
      if (t->device.device_type != kDLCPU) {
        *device = t->device;
        return 0;
      }
    } else if (tvmffi_i_is_container(value->type_index) && value->v_obj) {
      TVMFFI_TRY(tvmffi_i_walk_into(w, value->v_obj));
    }
    value = NULL;
  }
  return 0;
}

TVMFFI_FUNC(i_first_device, device, (any, container)) {
  tvmffi_i_walk walk = {NULL, NULL, 0, 0, 0, 0};
  DLDevice device = {kDLCPU, 0};
  int code = tvmffi_i_find_device(&walk, &container, &device);
  tvmffi_i_free(walk.levels);
  tvmffi_i_free((void *)walk.begun);
  if (code) return code;
  TVMFFI_RETURN(device);
}
#endif /* !TVMFFI_NO_CONTAINERS */

/* ======== Module ================================================= >>module */
/* Modules: C++ objects, of which the runtime makes one kind, the library. In
   front of a module's header stands the pointer to its virtual functions; ours
   are recognised by it and called directly, all others as the C++ ABI says. A
   function holds its module, which holds its library: it is closed after the
   last of them. Imports are replaced whole. What a module looked up is kept in
   it: inserted under the mutex, read without it. */

/* A name and an address: symbols of the system library, and those that a
   library is given when it is loaded. */
typedef struct {
  tvmffi_i_node node;
  void *address;
} tvmffi_i_named;

static tvmffi_i_map tvmffi_i_system_symbols, tvmffi_i_context_symbols;

TVMFFI_I_INLINE tvmffi_i_named *tvmffi_i_find_named(tvmffi_i_map *map,
                                                    TVMFFIByteArray name) {
  return (tvmffi_i_named *)(void *)tvmffi_i_find(map, name.data, name.size);
}

/* The entry of a name, made with `address` when it is missing, or NULL. */
static tvmffi_i_named *tvmffi_i_enter_named(tvmffi_i_map *map,
                                            TVMFFIByteArray name,
                                            void *address) {
  uint32_t hash = tvmffi_i_hash(name.data, name.size);
  tvmffi_i_named *s;
  char *key;
  tvmffi_i_lock();
  s = (tvmffi_i_named *)(void *)tvmffi_i_find_hashed(map, name.data, name.size,
                                                     hash);
  if (!s && tvmffi_i_reserve(map, name.size) == 0) {
    s = (tvmffi_i_named *)tvmffi_i_alloc(sizeof(*s) + name.size + 1);
    if (s) {
      s->address = address;
      key = (char *)(s + 1);
      if (name.size) memcpy(key, name.data, name.size);
      key[name.size] = 0;
      tvmffi_i_insert_hashed(map, &s->node, key, name.size, hash);
    }
  }
  tvmffi_i_unlock();
  if (!s) (void)tvmffi_i_no_memory();
  return s;
}

/* Upstream warns of a symbol that gets another address, in these words. */
int TVMFFIEnvModRegisterSystemLibSymbol(const char *name, void *symbol) {
  tvmffi_i_named *s;
  TVMFFI_I_NOT_NULL(name);
  s = tvmffi_i_enter_named(&tvmffi_i_system_symbols, tvmffi_view(name), symbol);
  if (!s) return -1;
#if !TVMFFI_NO_STDIO
  if (TVMFFI_I_LOAD(&s->address) != symbol)
    (void)fprintf(stderr,
                  "Warning:SystemLib symbol %s get overriden to a different "
                  "address %p->%p\n",
                  name, symbol, TVMFFI_I_LOAD(&s->address));
#endif
  TVMFFI_I_STORE(&s->address, symbol);
  return 0;
}

int TVMFFIEnvModRegisterContextSymbol(const char *name, void *symbol) {
  tvmffi_i_named *s;
  TVMFFI_I_NOT_NULL(name);
  s = tvmffi_i_enter_named(&tvmffi_i_context_symbols, tvmffi_view(name),
                           symbol);
  if (!s) return -1;
  TVMFFI_I_STORE(&s->address, symbol);
  return 0;
}

struct tvmffi_i_module_methods;

/* What upstream's ModuleObj is: 48 bytes on 64-bit machines. */
typedef struct {
  const struct tvmffi_i_module_methods *methods; /* the C++ virtual functions */
  TVMFFIObject base;
  TVMFFIObject *imports; /* an Array: owned */
  TVMFFIObject *cache;   /* tvmffi_i_cache, or what C++ put there, or NULL */
} tvmffi_i_module;

TVMFFI_I_AT3(tvmffi_i_module, base, 8, 8, 4);
TVMFFI_I_AT3(tvmffi_i_module, imports, 32, 32, 28);
TVMFFI_I_AT3(tvmffi_i_module, cache, 40, 36, 32);
TVMFFI_I_SIZE3(tvmffi_i_module, 48, 40, 36);

TVMFFI_I_INLINE tvmffi_i_module *tvmffi_i_module_of(TVMFFIObjectHandle handle) {
  return (tvmffi_i_module *)(void *)((char *)handle -
                                     offsetof(tvmffi_i_module, base));
}

#if TVMFFI_NO_CONTAINERS
static int tvmffi_i_search_imports(tvmffi_i_module *m, TVMFFIByteArray name,
                                   TVMFFIObject **out) {
  (void)m, (void)name;
  *out = NULL;
  return 0;
}
#else

/* A library: one that is open, or the system library under a prefix. */
typedef struct {
  TVMFFIObject base;
  void *handle; /* NULL: the system library */
  TVMFFIByteArray prefix;
} tvmffi_i_library;

typedef struct {
  tvmffi_i_module module;
  tvmffi_i_library *library; /* owned */
} tvmffi_i_library_module;

#if TVMFFI_NO_DLOPEN
static int tvmffi_i_dlopen(TVMFFIByteArray path, void **out) {
  (void)path, (void)out;
  return tvmffi_i_fail("RuntimeError",
                       "This runtime was built without dlopen, so it cannot "
                       "load libraries");
}
static void *tvmffi_i_dlsym(void *handle, const char *name) {
  (void)handle, (void)name;
  return NULL;
}
static void tvmffi_i_dlclose(void *handle) { (void)handle; }
#else
#include <dlfcn.h>
static int tvmffi_i_dlopen(TVMFFIByteArray path, void **out) {
  const char *parts[4], *reason;
  *out = dlopen(path.data, RTLD_LAZY | RTLD_LOCAL);
  if (*out) return 0;
  reason = dlerror();
  parts[0] = "Failed to load dynamic shared library ";
  parts[1] = path.data;
  parts[2] = " ";
  parts[3] = reason;
  TVMFFIErrorSetRaisedFromCStrParts("InternalError", parts, 4);
  return -1;
}
#define tvmffi_i_dlsym dlsym
static void tvmffi_i_dlclose(void *handle) { (void)dlclose(handle); }
#endif

static void tvmffi_i_destroy_library(void *self, int flags) {
  tvmffi_i_library *l = (tvmffi_i_library *)self;
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) && l->handle)
    tvmffi_i_dlclose(l->handle);
  tvmffi_i_delete_plain(self, flags);
}

static void tvmffi_i_delete_library(void *self, int flags) {
  tvmffi_i_destroy((TVMFFIObject *)self, flags, tvmffi_i_destroy_library);
}

/* A library that takes `handle`, or, when that is NULL, the system library
   with a copy of the prefix. */
static tvmffi_i_library *tvmffi_i_new_library(void *handle,
                                              TVMFFIByteArray prefix) {
  char *text;
  tvmffi_i_library *l = (tvmffi_i_library *)tvmffi_i_object(
      sizeof(*l) + prefix.size, kTVMFFIObject, tvmffi_i_delete_library);
  if (!l) return l;
  text = (char *)(void *)(l + 1);
  if (prefix.size) memcpy(text, prefix.data, prefix.size);
  l->handle = handle;
  l->prefix.data = text;
  l->prefix.size = prefix.size;
  return l;
}

/* Writes three texts and a NUL. */
static size_t tvmffi_i_join(char *to, TVMFFIByteArray a, TVMFFIByteArray b,
                            TVMFFIByteArray c) {
  if (a.size) memcpy(to, a.data, a.size);
  if (b.size) memcpy(to + a.size, b.data, b.size);
  if (c.size) memcpy(to + a.size + b.size, c.data, c.size);
  to[a.size + b.size + c.size] = 0;
  return a.size + b.size + c.size;
}

/* Finds a symbol, head and name together; *out is NULL when there is none. In
   the system library the prefix stands before the name of a function, and
   before the head of all others; without it is the second choice. */
static int tvmffi_i_find_symbol(const tvmffi_i_library *l, const char *head,
                                TVMFFIByteArray name, void **out) {
  static const char function[] = "__tvm_ffi_";
  TVMFFIByteArray first = tvmffi_view(head), none = {"", 0}, text;
  char buffer[256], *key = buffer;
  tvmffi_i_named *s = NULL;
  size_t size = first.size + l->prefix.size + name.size + 1;
  if (size > sizeof(buffer)) key = (char *)tvmffi_i_alloc(size);
  if (!key) return tvmffi_i_no_memory();
  text.data = key;
  *out = NULL;
  if (!l->handle && l->prefix.size) {
    text.size = strcmp(head, function) == 0
                    ? tvmffi_i_join(key, first, l->prefix, name)
                    : tvmffi_i_join(key, l->prefix, first, name);
    s = tvmffi_i_find_named(&tvmffi_i_system_symbols, text);
    if (s) *out = TVMFFI_I_LOAD(&s->address);
  }
  if (!*out) {
    text.size = tvmffi_i_join(key, first, name, none);
    if (l->handle) {
      *out = tvmffi_i_dlsym(l->handle, key);
    } else {
      s = tvmffi_i_find_named(&tvmffi_i_system_symbols, text);
      if (s) *out = TVMFFI_I_LOAD(&s->address);
    }
  }
  if (key != buffer) tvmffi_i_free(key);
  return 0;
}

/* A function of a library. */
typedef struct {
  tvmffi_i_function_object function;
  TVMFFISafeCallType call;
  TVMFFIObject *module; /* owned */
} tvmffi_i_library_function;

static int tvmffi_i_call_library(void *handle, const TVMFFIAny *args,
                                 int32_t num_args, TVMFFIAny *result) {
  const tvmffi_i_library_function *f = (tvmffi_i_library_function *)handle;
  return f->call(NULL, args, num_args, result);
}

TVMFFI_I_INLINE void tvmffi_i_destroy_library_function(void *self, int flags) {
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong)
    tvmffi_release(((tvmffi_i_library_function *)self)->module);
  tvmffi_i_delete_plain(self, flags);
}

static void tvmffi_i_delete_library_function(void *self, int flags) {
  tvmffi_i_destroy((TVMFFIObject *)self, flags,
                   tvmffi_i_destroy_library_function);
}

/* The methods of a library; *out is NULL, or None, when there is no such
   function. */
static int tvmffi_i_library_get(tvmffi_i_module *m, TVMFFIByteArray name,
                                TVMFFIObject **out) {
  void *address;
  tvmffi_i_library_function *f;
  *out = NULL;
  TVMFFI_TRY(
      tvmffi_i_find_symbol(((tvmffi_i_library_module *)(void *)m)->library,
                           "__tvm_ffi_", name, &address));
  if (!address) return 0;
  f = (tvmffi_i_library_function *)tvmffi_i_object(
      sizeof(*f), kTVMFFIFunction, tvmffi_i_delete_library_function);
  if (!f) return -1;
  f->function.cell.safe_call = tvmffi_i_call_library;
  f->function.cell.cpp_call = NULL;
  f->call = (TVMFFISafeCallType)(uintptr_t)address;
  f->module = &m->base;
  tvmffi_retain(&m->base);
  *out = &f->function.base;
  return 0;
}

static int tvmffi_i_library_has(tvmffi_i_module *m, TVMFFIByteArray name,
                                int *out) {
  void *address;
  TVMFFI_TRY(
      tvmffi_i_find_symbol(((tvmffi_i_library_module *)(void *)m)->library,
                           "__tvm_ffi_", name, &address));
  *out = address != NULL;
  return 0;
}

/* Raises, and releases the value, unless it is a string. */
static int tvmffi_i_need_string(TVMFFIAny *any) {
  int32_t index = any->type_index;
  if (index == kTVMFFISmallStr || index == kTVMFFIStr) return 0;
  tvmffi_any_release(any);
  return tvmffi_i_fail("TypeError", "Cannot convert from type `%s` to `str`",
                       tvmffi_i_type_key(index));
}

/* Calls the getter of a function's doc or metadata. */
static int tvmffi_i_library_text(tvmffi_i_module *m, const char *head,
                                 TVMFFIByteArray name, TVMFFIAny *out) {
  void *address;
  TVMFFISafeCallType getter;
  *out = tvmffi_none();
  TVMFFI_TRY(tvmffi_i_find_symbol(
      ((tvmffi_i_library_module *)(void *)m)->library, head, name, &address));
  if (!address) return 0;
  getter = (TVMFFISafeCallType)(uintptr_t)address;
  TVMFFI_TRY(getter(NULL, NULL, 0, out));
  return tvmffi_i_need_string(out);
}

TVMFFI_I_COLD int tvmffi_i_library_refuses(const char *method) {
  return tvmffi_i_fail("RuntimeError", "Module[library] does not support %s",
                       method);
}

/* An empty array, owned. */
static TVMFFIObject *tvmffi_i_no_items(void) {
  TVMFFIAny *items;
  return tvmffi_i_new_array(0, &items);
}

/* Sets the imports, taken. */
static void tvmffi_i_set_imports(tvmffi_i_module *m, TVMFFIObject *imports) {
  TVMFFIObject *old = m->imports;
  m->imports = imports;
  tvmffi_release(old);
}

static int tvmffi_i_clear_own_imports(tvmffi_i_module *m) {
  TVMFFIObject *none = tvmffi_i_no_items();
  if (!none) return -1;
  tvmffi_i_set_imports(m, none);
  return 0;
}

/* A module that a walk has met, and whether it has been there. */
typedef struct {
  TVMFFIObject *module; /* owned */
  int visited;
} tvmffi_i_met;

/* A hash set of those, and the modules whose turn is to come. */
typedef struct {
  tvmffi_i_met *met;
  TVMFFIObject **waiting;
  size_t places, num_met, num_waiting, capacity;
} tvmffi_i_module_walk;

static void tvmffi_i_end_module_walk(tvmffi_i_module_walk *w) {
  size_t i;
  for (i = 0; i < w->places; ++i) tvmffi_release(w->met[i].module);
  tvmffi_i_free(w->met);
  tvmffi_i_free(w->waiting);
}

/* The place of a module in a set that has a free one. */
static tvmffi_i_met *tvmffi_i_met_place(tvmffi_i_met *met, size_t places,
                                        const TVMFFIObject *module) {
  size_t i = ((uintptr_t)module >> 4) * 31;
  for (;; ++i) {
    tvmffi_i_met *at = &met[i & (places - 1)];
    if (!at->module || at->module == module) return at;
  }
}

/* Makes room for one more module in the set, and in those that wait. */
static int tvmffi_i_grow_walk(tvmffi_i_module_walk *w) {
  size_t i, places = w->places ? w->places * 2 : 16;
  if (w->num_waiting == w->capacity) {
    size_t capacity = w->capacity ? w->capacity * 2 : 16;
    TVMFFIObject **waiting =
        (TVMFFIObject **)tvmffi_i_alloc(capacity * sizeof(*waiting));
    if (!waiting) return tvmffi_i_no_memory();
    if (w->capacity)
      memcpy(waiting, w->waiting, w->capacity * sizeof(*waiting));
    tvmffi_i_free(w->waiting);
    w->waiting = waiting;
    w->capacity = capacity;
  }
  if (w->num_met * 2 >= w->places) {
    tvmffi_i_met *met = (tvmffi_i_met *)tvmffi_i_alloc(places * sizeof(*met));
    if (!met) return tvmffi_i_no_memory();
    memset((void *)met, 0, places * sizeof(*met));
    for (i = 0; i < w->places; ++i)
      if (w->met[i].module)
        *tvmffi_i_met_place(met, places, w->met[i].module) = w->met[i];
    tvmffi_i_free(w->met);
    w->met = met;
    w->places = places;
  }
  return 0;
}

/* Lets a module wait for its turn. The set holds it until the walk ends, so
   that no other one can be made at its address meanwhile. */
static int tvmffi_i_let_wait(tvmffi_i_module_walk *w, const TVMFFIAny *item) {
  tvmffi_i_met *at;
  if (item->type_index != kTVMFFIModule)
    return tvmffi_i_fail("TypeError",
                         "Cannot convert from type `%s` to `ffi.Module`",
                         tvmffi_i_type_key(item->type_index));
  TVMFFI_TRY(tvmffi_i_grow_walk(w));
  at = tvmffi_i_met_place(w->met, w->places, item->v_obj);
  if (!at->module) {
    at->module = item->v_obj;
    tvmffi_retain(item->v_obj);
    ++w->num_met;
  }
  if (!at->visited) w->waiting[w->num_waiting++] = item->v_obj;
  return 0;
}

/* The imports, and how many: C++ may have moved its array away. */
static int64_t tvmffi_i_imports(const tvmffi_i_module *m,
                                const TVMFFIAny **items) {
  const TVMFFISeqCell *cell;
  *items = NULL;
  if (!m->imports) return 0;
  cell = (const TVMFFISeqCell *)(void *)(m->imports + 1);
  *items = (const TVMFFIAny *)cell->data;
  return cell->size;
}

static int tvmffi_i_let_imports_wait(tvmffi_i_module_walk *w,
                                     const tvmffi_i_module *m) {
  const TVMFFIAny *items;
  int64_t i = tvmffi_i_imports(m, &items);
  while (i-- > 0) TVMFFI_TRY(tvmffi_i_let_wait(w, items + i));
  return 0;
}

typedef int (*tvmffi_i_visit)(tvmffi_i_module *m, void *context);

/* Visits the imports of a module, and theirs, in the order of a recursion, but
   each module once and at any depth, until a visit gives nonzero: this gives
   the same, or -1. */
static int tvmffi_i_walk_imports(const tvmffi_i_module *m, tvmffi_i_visit visit,
                                 void *context) {
  tvmffi_i_module_walk w = {NULL, NULL, 0, 0, 0, 0};
  int code = tvmffi_i_let_imports_wait(&w, m);
  while (!code && w.num_waiting) {
    TVMFFIObject *next = w.waiting[--w.num_waiting];
    tvmffi_i_met *at = tvmffi_i_met_place(w.met, w.places, next);
    if (at->visited) continue;
    at->visited = 1;
    code = visit(tvmffi_i_module_of(next), context);
    if (!code) code = tvmffi_i_let_imports_wait(&w, tvmffi_i_module_of(next));
  }
  tvmffi_i_end_module_walk(&w);
  return code;
}

static int tvmffi_i_is_that(tvmffi_i_module *m, void *other) {
  return m == (tvmffi_i_module *)other;
}

/* Imports a module (borrowed), unless that would make a cycle. */
static int tvmffi_i_add_own_import(tvmffi_i_module *m, TVMFFIObject *other) {
  const TVMFFIAny *old;
  TVMFFIAny *items = NULL;
  TVMFFIObject *imports;
  int64_t i, count = tvmffi_i_imports(m, &old);
  int cycle = &m->base == other;
  if (!cycle)
    cycle =
        tvmffi_i_walk_imports(tvmffi_i_module_of(other), tvmffi_i_is_that, m);
  if (cycle < 0) return -1;
  if (cycle)
    return tvmffi_i_fail("RuntimeError",
                         "Cyclic dependency detected during import");
  imports = tvmffi_i_new_array(count + 1, &items);
  if (!imports) return -1;
  for (i = 0; i < count; ++i) (void)TVMFFIAnyViewToOwnedAny(&old[i], &items[i]);
  items[i] = tvmffi_obj(other);
  tvmffi_retain(other);
  tvmffi_i_set_imports(m, imports);
  return 0;
}

/* What the library asks of a module: ModuleObj's virtual functions in the order
   of upstream's module.h, but for the one that saves to bytes. */
typedef enum {
  TVMFFI_I_METHOD_KIND,
  TVMFFI_I_METHOD_PROPERTY_MASK,
  TVMFFI_I_METHOD_GET_FUNCTION,
  TVMFFI_I_METHOD_IMPLEMENTS,
  TVMFFI_I_METHOD_DOC,
  TVMFFI_I_METHOD_METADATA,
  TVMFFI_I_METHOD_WRITE,
  TVMFFI_I_METHOD_WRITE_FORMATS,
  TVMFFI_I_METHOD_INSPECT,
  TVMFFI_I_METHOD_ADD_IMPORT,
  TVMFFI_I_METHOD_CLEAR_IMPORTS
} tvmffi_i_module_method;

/* What a library can do: be serialised, as a part of a file, and run. */
enum { TVMFFI_I_LIBRARY_MASK = 1 | 2 };

/* How C and C++ call each other's modules. A library with C++ in it defines
   both macros (dropin/adapter.c): the table of its modules, whose functions
   throw, and TVMFFI_I_CALL_CXX(module, method, args, result), which calls a
   virtual function, catches what it throws, and gives a code. The two
   arguments are strings or a module, borrowed; the result is owned. */
#ifndef TVMFFI_I_CALL_CXX

/* In plain C: a String, Bytes or Optional<String> is one Any, a reference one
   pointer; both return through memory of the caller, to which the pointer
   comes first and goes back: that a C function can say on x86-64, but not on
   every machine. */
#if defined(__x86_64__) && !defined(_WIN32) && TVMFFI_I_GNU
#define TVMFFI_I_CXX_METHODS 1
#else
#define TVMFFI_I_CXX_METHODS 0
#endif

typedef struct tvmffi_i_module_methods {
  const char *(*kind)(const tvmffi_i_module *m);
  int (*property_mask)(const tvmffi_i_module *m);
  TVMFFIObject **(*get)(TVMFFIObject **out, tvmffi_i_module *m,
                        const TVMFFIAny *name);
  tvmffi_type_bool (*implements)(tvmffi_i_module *m, const TVMFFIAny *name);
  TVMFFIAny *(*doc)(TVMFFIAny *out, tvmffi_i_module *m, const TVMFFIAny *name);
  TVMFFIAny *(*metadata)(TVMFFIAny *out, tvmffi_i_module *m,
                         const TVMFFIAny *name);
  void (*write)(const tvmffi_i_module *m, const TVMFFIAny *file,
                const TVMFFIAny *format);
  TVMFFIObject **(*write_formats)(TVMFFIObject **out, const tvmffi_i_module *m);
  TVMFFIAny *(*save)(TVMFFIAny *out, const tvmffi_i_module *m);
  TVMFFIAny *(*inspect)(TVMFFIAny *out, const tvmffi_i_module *m,
                        const TVMFFIAny *format);
  void (*add_import)(tvmffi_i_module *m, TVMFFIObject *const *other);
  void (*clear_imports)(tvmffi_i_module *m);
} tvmffi_i_module_methods;

/* C++ calls these. They cannot throw: one that fails gives the empty value and
   leaves its error in the slot. */
static const char *tvmffi_i_cxx_kind(const tvmffi_i_module *m) {
  (void)m;
  return "library";
}
static int tvmffi_i_cxx_property_mask(const tvmffi_i_module *m) {
  (void)m;
  return TVMFFI_I_LIBRARY_MASK;
}

#if TVMFFI_I_CXX_METHODS
static TVMFFIObject **tvmffi_i_cxx_get(TVMFFIObject **out, tvmffi_i_module *m,
                                       const TVMFFIAny *name) {
  (void)tvmffi_i_library_get(m, tvmffi_any_str(name), out);
  return out;
}
static tvmffi_type_bool tvmffi_i_cxx_implements(tvmffi_i_module *m,
                                                const TVMFFIAny *name) {
  int has = 0;
  (void)tvmffi_i_library_has(m, tvmffi_any_str(name), &has);
  return has != 0;
}
static TVMFFIAny *tvmffi_i_cxx_doc(TVMFFIAny *out, tvmffi_i_module *m,
                                   const TVMFFIAny *name) {
  (void)tvmffi_i_library_text(m, "__tvm_ffi__doc_", tvmffi_any_str(name), out);
  return out;
}
static TVMFFIAny *tvmffi_i_cxx_metadata(TVMFFIAny *out, tvmffi_i_module *m,
                                        const TVMFFIAny *name) {
  (void)tvmffi_i_library_text(m, "__tvm_ffi__metadata_", tvmffi_any_str(name),
                              out);
  return out;
}
static void tvmffi_i_cxx_write(const tvmffi_i_module *m, const TVMFFIAny *file,
                               const TVMFFIAny *format) {
  (void)m, (void)file, (void)format;
  (void)tvmffi_i_library_refuses("WriteToFile");
}
static TVMFFIObject **tvmffi_i_cxx_write_formats(TVMFFIObject **out,
                                                 const tvmffi_i_module *m) {
  (void)m;
  *out = tvmffi_i_no_items();
  return out;
}
static TVMFFIAny *tvmffi_i_cxx_save(TVMFFIAny *out, const tvmffi_i_module *m) {
  TVMFFIByteArray none = {"", 0};
  (void)m;
  (void)tvmffi_i_library_refuses("SaveToBytes");
  (void)TVMFFIBytesFromByteArray(&none, out);
  return out;
}
static TVMFFIAny *tvmffi_i_cxx_inspect(TVMFFIAny *out, const tvmffi_i_module *m,
                                       const TVMFFIAny *format) {
  TVMFFIByteArray none = {"", 0};
  (void)m, (void)format;
  (void)TVMFFIStringFromByteArray(&none, out);
  return out;
}
static void tvmffi_i_cxx_add_import(tvmffi_i_module *m,
                                    TVMFFIObject *const *other) {
  (void)tvmffi_i_add_own_import(m, *other);
}
static void tvmffi_i_cxx_clear_imports(tvmffi_i_module *m) {
  (void)tvmffi_i_clear_own_imports(m);
}

/* An exception must not leave the method: it would go through these frames of C
   as if they were not there, and what they own would never be released. */
static int tvmffi_i_call_cxx(tvmffi_i_module *m, tvmffi_i_module_method method,
                             const TVMFFIAny *args, TVMFFIAny *out) {
  const tvmffi_i_module_methods *f = m->methods;
  TVMFFIObject *object = NULL;
  const char *kind;
  TVMFFIByteArray text;
  switch (method) {
    case TVMFFI_I_METHOD_KIND:
      kind = f->kind(m);
      text = tvmffi_view(kind ? kind : "");
      return TVMFFIStringFromByteArray(&text, out);
    case TVMFFI_I_METHOD_PROPERTY_MASK:
      *out = tvmffi_int(f->property_mask(m));
      break;
    case TVMFFI_I_METHOD_GET_FUNCTION:
      *out = tvmffi_obj(*f->get(&object, m, args));
      break;
    case TVMFFI_I_METHOD_IMPLEMENTS:
      *out = tvmffi_bool(f->implements(m, args));
      break;
    case TVMFFI_I_METHOD_DOC: (void)f->doc(out, m, args); break;
    case TVMFFI_I_METHOD_METADATA: (void)f->metadata(out, m, args); break;
    case TVMFFI_I_METHOD_WRITE: f->write(m, &args[0], &args[1]); break;
    case TVMFFI_I_METHOD_WRITE_FORMATS:
      *out = tvmffi_obj(*f->write_formats(&object, m));
      break;
    case TVMFFI_I_METHOD_INSPECT: (void)f->inspect(out, m, args); break;
    case TVMFFI_I_METHOD_ADD_IMPORT: f->add_import(m, &args[0].v_obj); break;
    case TVMFFI_I_METHOD_CLEAR_IMPORTS: f->clear_imports(m); break;
  }
  return 0;
}
#define TVMFFI_I_CXX(method) tvmffi_i_cxx_##method
#else
TVMFFI_I_COLD int tvmffi_i_call_cxx(tvmffi_i_module *m,
                                    tvmffi_i_module_method method,
                                    const TVMFFIAny *args, TVMFFIAny *out) {
  (void)m, (void)method, (void)args, (void)out;
  return tvmffi_i_fail("RuntimeError",
                       "A module that is made in C++ cannot be used from C on "
                       "this machine");
}
#define TVMFFI_I_CXX(method) NULL
#endif

/* The table of the C++ ABI: what a pointer to it points to is `methods`. */
static const struct {
  ptrdiff_t offset_to_top;
  const void *type_info;
  tvmffi_i_module_methods methods;
} tvmffi_i_library_table = {
    0,
    NULL,
    {tvmffi_i_cxx_kind, tvmffi_i_cxx_property_mask, TVMFFI_I_CXX(get),
     TVMFFI_I_CXX(implements), TVMFFI_I_CXX(doc), TVMFFI_I_CXX(metadata),
     TVMFFI_I_CXX(write), TVMFFI_I_CXX(write_formats), TVMFFI_I_CXX(save),
     TVMFFI_I_CXX(inspect), TVMFFI_I_CXX(add_import),
     TVMFFI_I_CXX(clear_imports)}};
#define TVMFFI_I_LIBRARY_METHODS (&tvmffi_i_library_table.methods)
#define TVMFFI_I_CALL_CXX(module, method, args, result) \
  tvmffi_i_call_cxx(module, method, args, result)
#endif

TVMFFI_I_INLINE int tvmffi_i_is_library(const tvmffi_i_module *m) {
  return m->methods == TVMFFI_I_LIBRARY_METHODS;
}

static void tvmffi_i_destroy_module(void *self, int flags) {
  tvmffi_i_module *m = tvmffi_i_module_of(self);
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    tvmffi_release(m->cache);
    tvmffi_release(m->imports);
    /* Last, as the code of the others may be in it. */
    tvmffi_release(((tvmffi_i_library_module *)(void *)m)->library);
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmffi_i_free(m);
}

static void tvmffi_i_delete_module(void *self, int flags) {
  tvmffi_i_destroy((TVMFFIObject *)self, flags, tvmffi_i_destroy_module);
}

/* A module of a library, borrowed, without imports. */
static tvmffi_i_module *tvmffi_i_new_module(tvmffi_i_library *library) {
  tvmffi_i_library_module *m;
  TVMFFIObject *imports = tvmffi_i_no_items();
  if (!imports) return NULL;
  m = (tvmffi_i_library_module *)tvmffi_i_alloc(sizeof(*m));
  if (!m) {
    tvmffi_release(imports);
    (void)tvmffi_i_no_memory();
    return NULL;
  }
  memset((void *)m, 0, sizeof(*m));
  m->module.methods = TVMFFI_I_LIBRARY_METHODS;
  m->module.base.combined_ref_count = TVMFFI_I_BOTH_ONE;
  m->module.base.type_index = kTVMFFIModule;
  m->module.base.deleter = tvmffi_i_delete_module;
  m->module.imports = imports;
  m->library = library;
  tvmffi_retain(&library->base);
  return &m->module;
}

/* The methods of a library; imports are changed by the functions above. */
static int tvmffi_i_call_own(tvmffi_i_module *m, tvmffi_i_module_method method,
                             TVMFFIByteArray name, TVMFFIAny *out) {
  TVMFFIByteArray kind = {"library", 7}, none = {"", 0};
  TVMFFIObject *object;
  int has = 0;
  switch (method) {
    case TVMFFI_I_METHOD_KIND: return TVMFFIStringFromByteArray(&kind, out);
    case TVMFFI_I_METHOD_PROPERTY_MASK:
      *out = tvmffi_int(TVMFFI_I_LIBRARY_MASK);
      return 0;
    case TVMFFI_I_METHOD_GET_FUNCTION:
      TVMFFI_TRY(tvmffi_i_library_get(m, name, &object));
      *out = tvmffi_obj(object);
      return 0;
    case TVMFFI_I_METHOD_IMPLEMENTS:
      TVMFFI_TRY(tvmffi_i_library_has(m, name, &has));
      *out = tvmffi_bool(has);
      return 0;
    case TVMFFI_I_METHOD_DOC:
      return tvmffi_i_library_text(m, "__tvm_ffi__doc_", name, out);
    case TVMFFI_I_METHOD_METADATA:
      return tvmffi_i_library_text(m, "__tvm_ffi__metadata_", name, out);
    case TVMFFI_I_METHOD_WRITE_FORMATS:
      object = tvmffi_i_no_items();
      *out = tvmffi_obj(object);
      return object ? 0 : -1;
    case TVMFFI_I_METHOD_INSPECT: return TVMFFIStringFromByteArray(&none, out);
    default: return tvmffi_i_library_refuses("WriteToFile");
  }
}

/* Calls a method of any module with up to two strings. *out gets an owned
   value, or None. */
static int tvmffi_i_call_method(tvmffi_i_module *m,
                                tvmffi_i_module_method method,
                                TVMFFIByteArray a, TVMFFIByteArray b,
                                TVMFFIAny *out) {
  TVMFFIAny args[2];
  int code;
  *out = tvmffi_none();
  if (tvmffi_i_is_library(m)) return tvmffi_i_call_own(m, method, a, out);
  TVMFFI_TRY(TVMFFIStringFromByteArray(&a, &args[0]));
  code = TVMFFIStringFromByteArray(&b, &args[1]);
  if (!code) code = TVMFFI_I_CALL_CXX(m, method, args, out);
  tvmffi_any_release(&args[0]);
  tvmffi_any_release(&args[1]);
  return code;
}

/* Imports a module, borrowed. */
static int tvmffi_i_add_import(tvmffi_i_module *m, TVMFFIObject *other) {
  TVMFFIAny args[2], none = tvmffi_none();
  if (tvmffi_i_is_library(m)) return tvmffi_i_add_own_import(m, other);
  args[0] = tvmffi_obj(other);
  args[1] = tvmffi_none();
  return TVMFFI_I_CALL_CXX(m, TVMFFI_I_METHOD_ADD_IMPORT, args, &none);
}

static int tvmffi_i_clear_imports(tvmffi_i_module *m) {
  TVMFFIByteArray none = {"", 0};
  TVMFFIAny value;
  if (tvmffi_i_is_library(m)) return tvmffi_i_clear_own_imports(m);
  return tvmffi_i_call_method(m, TVMFFI_I_METHOD_CLEAR_IMPORTS, none, none,
                              &value);
}

/* What is looked for in a module and its imports. */
typedef struct {
  TVMFFIByteArray name;
  tvmffi_i_module_method method;
  TVMFFIAny value; /* owned; None, or false: not found */
} tvmffi_i_search;

static int tvmffi_i_search_module(tvmffi_i_module *m, void *search) {
  tvmffi_i_search *s = (tvmffi_i_search *)search;
  TVMFFIByteArray none = {"", 0};
  TVMFFI_TRY(tvmffi_i_call_method(m, s->method, s->name, none, &s->value));
  return s->value.type_index == kTVMFFIBool
             ? s->value.v_int64 != 0
             : s->value.type_index != kTVMFFINone;
}

/* Searches a module, and, if `imports`, what it imports; *out gets an owned
   value, or None, or false. */
static int tvmffi_i_search_modules(TVMFFIObject *module,
                                   tvmffi_i_module_method method,
                                   TVMFFIByteArray name, int imports,
                                   TVMFFIAny *out) {
  tvmffi_i_module *m = tvmffi_i_module_of(module);
  tvmffi_i_search s;
  int code;
  s.name = name;
  s.method = method;
  code = tvmffi_i_search_module(m, &s);
  if (!code && imports)
    code = tvmffi_i_walk_imports(m, tvmffi_i_search_module, &s);
  *out = s.value;
  return code < 0 ? code : 0;
}

static int tvmffi_i_search_imports(tvmffi_i_module *m, TVMFFIByteArray name,
                                   TVMFFIObject **out) {
  tvmffi_i_search s;
  int code;
  s.name = name;
  s.method = TVMFFI_I_METHOD_GET_FUNCTION;
  s.value = tvmffi_none();
  code = tvmffi_i_walk_imports(m, tvmffi_i_search_module, &s);
  *out = s.value.type_index == kTVMFFINone ? NULL : s.value.v_obj;
  return code < 0 ? code : 0;
}

/* Calls a loader, a global function, which must give a module. NULL in *out:
   there is no such function. */
static int tvmffi_i_call_loader(TVMFFIByteArray name, TVMFFIAny *args,
                                int32_t num_args, TVMFFIObject **out) {
  TVMFFIObjectHandle loader = NULL;
  TVMFFIAny result = tvmffi_none();
  int32_t index;
  int code;
  *out = NULL;
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&name, &loader));
  if (!loader) return 0;
  code = TVMFFIFunctionCall(loader, args, num_args, &result);
  tvmffi_release(loader);
  if (code) return code;
  index = result.type_index;
  if (index == kTVMFFIModule) {
    *out = result.v_obj;
    return 0;
  }
  tvmffi_any_release(&result);
  return tvmffi_i_fail("TypeError",
                       "Cannot convert from type `%s` to `ffi.Module`",
                       tvmffi_i_type_key(index));
}

/* What is left to read of a library's embedded binary: numbers of 64 bits,
   the lowest byte first, and texts behind their length. */
typedef struct {
  const unsigned char *at;
  uint64_t left;
} tvmffi_i_stream_in;

static uint64_t tvmffi_i_number_at(const unsigned char *at, uint64_t i) {
  uint64_t x = 0;
  int byte;
  for (byte = 7; byte >= 0; --byte) x = x << 8 | at[8 * i + (uint64_t)byte];
  return x;
}

TVMFFI_I_COLD int tvmffi_i_bad_binary(void) {
  return tvmffi_i_fail("InternalError",
                       "The binary embedded in the library is malformed");
}

static int tvmffi_i_take_number(tvmffi_i_stream_in *in, uint64_t *out) {
  if (in->left < 8) return tvmffi_i_bad_binary();
  *out = tvmffi_i_number_at(in->at, 0);
  in->at += 8;
  in->left -= 8;
  return 0;
}

/* Takes an array of numbers; *out points to the first. */
static int tvmffi_i_take_numbers(tvmffi_i_stream_in *in,
                                 const unsigned char **out, uint64_t *count) {
  TVMFFI_TRY(tvmffi_i_take_number(in, count));
  if (*count > in->left / 8) return tvmffi_i_bad_binary();
  *out = in->at;
  in->at += 8 * *count;
  in->left -= 8 * *count;
  return 0;
}

/* Upstream's buffer_stream.h refuses an empty text, too. */
static int tvmffi_i_take_text(tvmffi_i_stream_in *in, TVMFFIByteArray *out) {
  uint64_t size = 0;
  TVMFFI_TRY(tvmffi_i_take_number(in, &size));
  if (!size || size > in->left) return tvmffi_i_bad_binary();
  out->data = (const char *)in->at;
  out->size = (size_t)size;
  in->at += size;
  in->left -= size;
  return 0;
}

/* Makes a module of the bytes that its kind was written as. */
static int tvmffi_i_load_bytes(TVMFFIByteArray kind, TVMFFIByteArray bytes,
                               TVMFFIObject **out) {
  TVMFFIByteArray head = tvmffi_view("ffi.Module.load_from_bytes."), name;
  TVMFFIByteArray none = {"", 0};
  TVMFFIAny arg;
  char *text;
  const char *parts[4];
  int code;
  if (kind.size > PTRDIFF_MAX - head.size - 1) return tvmffi_i_no_memory();
  text = (char *)tvmffi_i_alloc(head.size + kind.size + 1);
  if (!text) return tvmffi_i_no_memory();
  name.data = text;
  name.size = tvmffi_i_join(text, head, kind, none);
  code = TVMFFIBytesFromByteArray(&bytes, &arg);
  if (!code) {
    code = tvmffi_i_call_loader(name, &arg, 1, out);
    tvmffi_any_release(&arg);
  }
  if (!code && !*out) {
    parts[0] = "Library binary was created using {";
    parts[1] = text + head.size;
    parts[2] =
        "} but a loader of that name is not registered. Make sure to have "
        "runtime that registers ";
    parts[3] = text;
    TVMFFIErrorSetRaisedFromCStrParts("RuntimeError", parts, 4);
    code = -1;
  }
  tvmffi_i_free(text);
  return code;
}

/* The modules of an embedded binary: their number, and the indices of each
   one's imports, from child[begin[i]] to child[begin[i + 1]]. */
typedef struct {
  TVMFFIObject **module; /* owned */
  size_t count;
  const unsigned char *begin, *child;
  uint64_t num_children;
} tvmffi_i_tree;

static int tvmffi_i_read_modules(tvmffi_i_tree *tree, tvmffi_i_stream_in *in,
                                 tvmffi_i_library *library, void **context) {
  size_t i;
  for (i = 0; i < tree->count; ++i) {
    TVMFFIByteArray kind, bytes;
    TVMFFI_TRY(tvmffi_i_take_text(in, &kind));
    if (kind.size == 4 && memcmp(kind.data, "_lib", 4) == 0) {
      tvmffi_i_module *m = tvmffi_i_new_module(library);
      if (!m) return -1;
      tree->module[i] = &m->base;
      if (context) *context = m;
    } else {
      TVMFFI_TRY(tvmffi_i_take_text(in, &bytes));
      TVMFFI_TRY(tvmffi_i_load_bytes(kind, bytes, &tree->module[i]));
    }
  }
  return 0;
}

static int tvmffi_i_link_modules(const tvmffi_i_tree *tree) {
  size_t i;
  for (i = 0; i < tree->count; ++i) {
    uint64_t at = tvmffi_i_number_at(tree->begin, i);
    uint64_t end = tvmffi_i_number_at(tree->begin, i + 1);
    if (end > tree->num_children) return tvmffi_i_bad_binary();
    for (; at < end; ++at) {
      uint64_t child = tvmffi_i_number_at(tree->child, at);
      if (child >= tree->count) return tvmffi_i_bad_binary();
      TVMFFI_TRY(tvmffi_i_add_own_import(tvmffi_i_module_of(tree->module[i]),
                                         tree->module[child]));
    }
  }
  return 0;
}

/* Makes the modules of an embedded binary: its size, the tree, and for each
   module its kind and bytes, where the kind "_lib" stands for the library
   itself. *out gets the first. */
static int tvmffi_i_load_tree(const unsigned char *binary,
                              tvmffi_i_library *library, void **context,
                              TVMFFIObject **out) {
  tvmffi_i_tree tree = {NULL, 0, NULL, NULL, 0};
  tvmffi_i_stream_in in;
  uint64_t count = 0;
  size_t i;
  int code;
  in.at = binary + 8;
  in.left = tvmffi_i_number_at(binary, 0);
  TVMFFI_TRY(tvmffi_i_take_numbers(&in, &tree.begin, &count));
  TVMFFI_TRY(tvmffi_i_take_numbers(&in, &tree.child, &tree.num_children));
  if (count < 2 || count > in.left) return tvmffi_i_bad_binary();
  tree.count = (size_t)(count - 1);
  tree.module =
      (TVMFFIObject **)tvmffi_i_alloc(tree.count * sizeof(*tree.module));
  if (!tree.module) return tvmffi_i_no_memory();
  for (i = 0; i < tree.count; ++i) tree.module[i] = NULL;
  code = tvmffi_i_read_modules(&tree, &in, library, context);
  if (!code) code = tvmffi_i_link_modules(&tree);
  for (i = code ? 0 : 1; i < tree.count; ++i) tvmffi_release(tree.module[i]);
  *out = tree.module[0];
  tvmffi_i_free(tree.module);
  return code;
}

/* Writes the registered context symbols into the library's variables of these
   names. */
static int tvmffi_i_set_context(const tvmffi_i_library *library) {
  tvmffi_i_node *node = TVMFFI_I_LOAD(&tvmffi_i_context_symbols.first);
  for (; node; node = TVMFFI_I_LOAD(&node->next)) {
    TVMFFIByteArray name;
    void *variable;
    name.data = node->key;
    name.size = node->size;
    TVMFFI_TRY(tvmffi_i_find_symbol(library, "", name, &variable));
    if (variable)
      *(void **)variable =
          TVMFFI_I_LOAD(&((tvmffi_i_named *)(void *)node)->address);
  }
  return 0;
}

/* Makes the module of a library, or the modules that are embedded in it, and
   tells the library of its own. */
static int tvmffi_i_load_library(tvmffi_i_library *library,
                                 TVMFFIObject **out) {
  TVMFFIByteArray none = {"", 0};
  tvmffi_i_module *m;
  void *binary, *context;
  TVMFFI_TRY(
      tvmffi_i_find_symbol(library, "__tvm_ffi__library_bin", none, &binary));
  TVMFFI_TRY(
      tvmffi_i_find_symbol(library, "__tvm_ffi__library_ctx", none, &context));
  TVMFFI_TRY(tvmffi_i_set_context(library));
  if (binary)
    return tvmffi_i_load_tree((const unsigned char *)binary, library,
                              (void **)context, out);
  m = tvmffi_i_new_module(library);
  if (!m) return -1;
  if (context) *(void **)context = m;
  *out = &m->base;
  return 0;
}

/* Modules that stay until they are removed: by their start, where a tool that
   looks for leaks expects a pointer to a block. */
typedef struct tvmffi_i_kept {
  tvmffi_i_module *module; /* owned */
  struct tvmffi_i_kept *next;
} tvmffi_i_kept;

static tvmffi_i_kept *tvmffi_i_kept_modules[64];

/* The link to a module's entry, or to the end of its list; mutex held. */
static tvmffi_i_kept **tvmffi_i_kept_place(const tvmffi_i_module *module) {
  tvmffi_i_kept **at = &tvmffi_i_kept_modules[((uintptr_t)module >> 4) % 64];
  while (*at && (*at)->module != module) at = &(*at)->next;
  return at;
}

static int tvmffi_i_keep_module(TVMFFIObject *module) {
  tvmffi_i_kept **at, *entry;
  int had;
  entry = (tvmffi_i_kept *)tvmffi_i_alloc(sizeof(*entry));
  if (!entry) return tvmffi_i_no_memory();
  entry->module = tvmffi_i_module_of(module);
  entry->next = NULL;
  tvmffi_retain(module);
  tvmffi_i_lock();
  at = tvmffi_i_kept_place(tvmffi_i_module_of(module));
  had = *at != NULL;
  if (!had) *at = entry;
  tvmffi_i_unlock();
  if (had) {
    tvmffi_release(module);
    tvmffi_i_free(entry);
  }
  return 0;
}

static void tvmffi_i_unkeep_module(TVMFFIObject *module) {
  tvmffi_i_kept **at, *entry;
  tvmffi_i_lock();
  at = tvmffi_i_kept_place(tvmffi_i_module_of(module));
  entry = *at;
  if (entry) *at = entry->next;
  tvmffi_i_unlock();
  if (!entry) return;
  tvmffi_release(module);
  tvmffi_i_free(entry);
}

/* Modules of the system library, by prefix: made once, never freed. An address
   is that of the module's start, as above. */
static tvmffi_i_map tvmffi_i_system_modules;

static int tvmffi_i_make_system_module(void **out) {
  const tvmffi_i_node *node = (const tvmffi_i_node *)tvmffi_i_self()->making;
  tvmffi_i_library *library;
  TVMFFIByteArray prefix;
  TVMFFIObject *module = NULL;
  int code;
  prefix.data = node->key;
  prefix.size = node->size;
  library = tvmffi_i_new_library(NULL, prefix);
  if (!library) return -1;
  code = tvmffi_i_load_library(library, &module);
  tvmffi_release(library);
  *out = module ? tvmffi_i_module_of(module) : NULL;
  return code;
}

/* The module of a prefix, borrowed. Its loaders may ask for others. */
static int tvmffi_i_system_module(TVMFFIByteArray prefix, TVMFFIObject **out) {
  tvmffi_i_thread *t = tvmffi_i_self();
  const void *outer = t->making;
  tvmffi_i_named *entry =
      tvmffi_i_enter_named(&tvmffi_i_system_modules, prefix, NULL);
  int code;
  if (!entry) return -1;
  t->making = &entry->node;
  code = TVMFFIHandleInitOnce(&entry->address, tvmffi_i_make_system_module);
  t->making = outer;
  if (!code) *out = &((tvmffi_i_module *)TVMFFI_I_LOAD(&entry->address))->base;
  return code;
}

/* The global functions. */
TVMFFI_I_OBJECT_TYPE(i_module, "ffi.Module", "ffi.Module", kTVMFFIModule)

#define TVMFFI_I_RESULT_TYPE(T, ctype, name, schema) \
  TVMFFI_I_TYPE(T, ctype, name, schema)              \
  TVMFFI_I_PUT(T)
TVMFFI_I_RESULT_TYPE(i_source, TVMFFIAny, "str", "ffi.String") {
  *out = value;
  return 0;
}
TVMFFI_I_RESULT_TYPE(
    i_optional_str, TVMFFIAny, "Optional<str>",
    "{\"type\":\"Optional\",\"args\":[{\"type\":\"ffi.String\"}]}") {
  *out = value;
  return 0;
}
TVMFFI_I_RESULT_TYPE(
    i_optional_func, TVMFFIAny, "Optional<ffi.Function>",
    "{\"type\":\"Optional\",\"args\":[{\"type\":\"ffi.Function\"}]}") {
  *out = value;
  return 0;
}
TVMFFI_I_RESULT_TYPE(
    i_write_formats, TVMFFIAny, "Array<str>",
    "{\"type\":\"ffi.Array\",\"args\":[{\"type\":\"ffi.String\"}]}") {
  *out = value;
  return 0;
}

/* The format of a file is what follows its last dot, in a folder's name, too;
   some are other names of "so". */
TVMFFI_FUNC(i_module_load, i_module, (str, file_name)) {
  static const char *const same[] = {"dll", "dylib", "dso"};
  TVMFFIByteArray head = tvmffi_view("ffi.Module.load_from_file."), name;
  TVMFFIByteArray format, none = {"", 0};
  TVMFFIObject *module = NULL;
  TVMFFIAny args[2];
  const char *parts[7];
  char *text;
  size_t at = file_name.size, i;
  int code;
  while (at && file_name.data[at - 1] != '.') --at;
  if (!at) {
    parts[0] = "Failed to get file format from ";
    parts[1] = file_name.data;
    TVMFFIErrorSetRaisedFromCStrParts("RuntimeError", parts, 2);
    return -1;
  }
  format.data = file_name.data + at;
  format.size = file_name.size - at;
  for (i = 0; i < 3; ++i)
    if (format.size == strlen(same[i]) &&
        memcmp(format.data, same[i], format.size) == 0)
      format = tvmffi_view("so");
  text = (char *)tvmffi_i_alloc(head.size + format.size + 1);
  if (!text) return tvmffi_i_no_memory();
  name.data = text;
  name.size = tvmffi_i_join(text, head, format, none);
  code = TVMFFIStringFromByteArray(&file_name, &args[0]);
  if (!code) {
    code = TVMFFIStringFromByteArray(&format, &args[1]);
    if (!code) {
      code = tvmffi_i_call_loader(name, args, 2, &module);
      tvmffi_any_release(&args[1]);
    }
    tvmffi_any_release(&args[0]);
  }
  if (!code && !module) {
    parts[0] = "Loader for `.";
    parts[1] = text + head.size;
    parts[2] = "` files is not registered, resolved to (";
    parts[3] = text;
    parts[4] =
        ") in the global registry.Ensure that you have loaded the correct "
        "runtime code, andthat you are on the correct hardware architecture.";
    TVMFFIErrorSetRaisedFromCStrParts("RuntimeError", parts, 5);
    code = -1;
  }
  tvmffi_i_free(text);
  if (code) return code;
  TVMFFI_RETURN(module);
}

TVMFFI_FUNC(i_module_load_so, i_module, (str, path), (str, format)) {
  TVMFFIByteArray none = {"", 0};
  TVMFFIObject *module = NULL;
  tvmffi_i_library *library;
  void *handle = NULL;
  int code;
  (void)format;
  TVMFFI_TRY(tvmffi_i_dlopen(path, &handle));
  library = tvmffi_i_new_library(handle, none);
  if (!library) {
    tvmffi_i_dlclose(handle);
    return -1;
  }
  code = tvmffi_i_load_library(library, &module);
  tvmffi_release(library);
  if (code) return code;
  TVMFFI_RETURN(module);
}

TVMFFI_FUNC(i_module_has, bool, (i_module, module), (str, name),
            (bool, query_imports)) {
  TVMFFIAny found;
  TVMFFI_TRY(tvmffi_i_search_modules(module, TVMFFI_I_METHOD_IMPLEMENTS, name,
                                     query_imports, &found));
  TVMFFI_RETURN(found.v_int64 != 0);
}

TVMFFI_FUNC(i_module_metadata, i_optional_str, (i_module, module), (str, name),
            (bool, query_imports)) {
  TVMFFIAny found;
  TVMFFI_TRY(tvmffi_i_search_modules(module, TVMFFI_I_METHOD_METADATA, name,
                                     query_imports, &found));
  TVMFFI_RETURN(found);
}

TVMFFI_FUNC(i_module_doc, i_optional_str, (i_module, module), (str, name),
            (bool, query_imports)) {
  TVMFFIAny found;
  TVMFFI_TRY(tvmffi_i_search_modules(module, TVMFFI_I_METHOD_DOC, name,
                                     query_imports, &found));
  TVMFFI_RETURN(found);
}

TVMFFI_FUNC(i_module_get, i_optional_func, (i_module, module), (str, name),
            (bool, query_imports)) {
  TVMFFIAny found;
  TVMFFI_TRY(tvmffi_i_search_modules(module, TVMFFI_I_METHOD_GET_FUNCTION, name,
                                     query_imports, &found));
  TVMFFI_RETURN(found);
}

TVMFFI_FUNC(i_module_mask, int32, (i_module, module)) {
  TVMFFIByteArray none = {"", 0};
  TVMFFIAny value;
  TVMFFI_TRY(tvmffi_i_call_method(tvmffi_i_module_of(module),
                                  TVMFFI_I_METHOD_PROPERTY_MASK, none, none,
                                  &value));
  TVMFFI_RETURN((int32_t)value.v_int64);
}

TVMFFI_FUNC(i_module_inspect, i_source, (i_module, module), (str, format)) {
  TVMFFIByteArray none = {"", 0};
  TVMFFIAny value;
  TVMFFI_TRY(tvmffi_i_call_method(tvmffi_i_module_of(module),
                                  TVMFFI_I_METHOD_INSPECT, format, none,
                                  &value));
  TVMFFI_RETURN(value);
}

TVMFFI_FUNC(i_module_kind, i_source, (i_module, module)) {
  TVMFFIByteArray none = {"", 0};
  TVMFFIAny value;
  TVMFFI_TRY(tvmffi_i_call_method(tvmffi_i_module_of(module),
                                  TVMFFI_I_METHOD_KIND, none, none, &value));
  TVMFFI_RETURN(value);
}

TVMFFI_FUNC(i_module_write_formats, i_write_formats, (i_module, module)) {
  TVMFFIByteArray none = {"", 0};
  TVMFFIAny value;
  TVMFFI_TRY(tvmffi_i_call_method(tvmffi_i_module_of(module),
                                  TVMFFI_I_METHOD_WRITE_FORMATS, none, none,
                                  &value));
  TVMFFI_RETURN(value);
}

TVMFFI_FUNC(i_module_write, none, (i_module, module), (str, file_name),
            (str, format)) {
  TVMFFIAny value;
  TVMFFI_TRY(tvmffi_i_call_method(tvmffi_i_module_of(module),
                                  TVMFFI_I_METHOD_WRITE, file_name, format,
                                  &value));
  TVMFFI_RETURN();
}

TVMFFI_FUNC(i_module_import, none, (i_module, module), (i_module, other)) {
  TVMFFI_TRY(tvmffi_i_add_import(tvmffi_i_module_of(module), other));
  TVMFFI_RETURN();
}

TVMFFI_FUNC(i_module_clear, none, (i_module, module)) {
  TVMFFI_TRY(tvmffi_i_clear_imports(tvmffi_i_module_of(module)));
  TVMFFI_RETURN();
}

TVMFFI_FUNC(i_module_keep, none, (i_module, module)) {
  TVMFFI_TRY(tvmffi_i_keep_module(module));
  TVMFFI_RETURN();
}

TVMFFI_FUNC(i_module_unkeep, none, (i_module, module)) {
  tvmffi_i_unkeep_module(module);
  TVMFFI_RETURN();
}

static int tvmffi_call_i_system_lib(void *self, const TVMFFIAny *args,
                                    int32_t num_args, TVMFFIAny *result) {
  TVMFFIByteArray prefix = {"", 0};
  TVMFFIObject *module = NULL;
  (void)self;
  if (num_args && tvmffi_i_get_str(args, &prefix))
    return tvmffi_i_fail("TypeError", "Cannot convert from type `%s` to `str`",
                         tvmffi_i_type_key(args[0].type_index));
  TVMFFI_TRY(tvmffi_i_system_module(prefix, &module));
  tvmffi_retain(module);
  *result = tvmffi_obj(module);
  return 0;
}
static tvmffi_func tvmffi_func_i_system_lib = {
    "ffi.SystemLib", tvmffi_call_i_system_lib, -1, NULL};

#endif /* !TVMFFI_NO_CONTAINERS */

/* The functions that a module has looked up, each with a reference of its
   own: what callers get is borrowed from here. */
typedef struct {
  TVMFFIObject base;
  tvmffi_i_map functions;
  TVMFFIObject *replaced; /* what C++ had put in this place, at which a reader
                             may still look */
} tvmffi_i_cache;

static void tvmffi_i_destroy_cache(void *self, int flags) {
  tvmffi_i_cache *c = (tvmffi_i_cache *)self;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    tvmffi_i_node *node = c->functions.first;
    tvmffi_i_slots *slots = c->functions.slots;
    while (node) {
      tvmffi_i_node *next = node->next;
      tvmffi_release(((tvmffi_i_named *)(void *)node)->address);
      tvmffi_i_free(node);
      node = next;
    }
    while (slots) {
      tvmffi_i_slots *older = slots->older;
      tvmffi_i_free(slots);
      slots = older;
    }
    tvmffi_release(c->replaced);
  }
  tvmffi_i_delete_plain(self, flags);
}

static void tvmffi_i_delete_cache(void *self, int flags) {
  tvmffi_i_destroy((TVMFFIObject *)self, flags, tvmffi_i_destroy_cache);
}

TVMFFI_I_INLINE tvmffi_i_cache *tvmffi_i_cache_of(tvmffi_i_module *m) {
  TVMFFIObject *cache = TVMFFI_I_LOAD(&m->cache);
  return cache && cache->deleter == tvmffi_i_delete_cache
             ? (tvmffi_i_cache *)(void *)cache
             : NULL;
}

/* The module's cache, made when it is missing, or NULL. */
static tvmffi_i_cache *tvmffi_i_make_cache(tvmffi_i_module *m) {
  tvmffi_i_cache *c = tvmffi_i_cache_of(m), *made;
  if (c) return c;
  made = (tvmffi_i_cache *)tvmffi_i_object(sizeof(*made), kTVMFFIObject,
                                           tvmffi_i_delete_cache);
  if (!made) return made;
  memset(&made->functions, 0, sizeof(made->functions));
  made->replaced = NULL;
  tvmffi_i_lock();
  c = tvmffi_i_cache_of(m);
  if (!c) {
    made->replaced = m->cache;
    TVMFFI_I_STORE(&m->cache, &made->base);
  }
  tvmffi_i_unlock();
  if (c) tvmffi_release(made);
  return c ? c : made;
}

/* Finds a function in the imports or the global table; owned by the caller. */
static int tvmffi_i_look_up(tvmffi_i_module *m, TVMFFIByteArray name,
                            TVMFFIObjectHandle *out) {
  TVMFFIObject *function = NULL;
  const char *parts[3];
  TVMFFI_TRY(tvmffi_i_search_imports(m, name, &function));
  *out = function;
  if (!function) TVMFFI_TRY(TVMFFIFunctionGetGlobal(&name, out));
  if (*out) return 0;
  parts[0] = "Cannot find function ";
  parts[1] = name.data;
  parts[2] = " in the imported modules or global registry.";
  TVMFFIErrorSetRaisedFromCStrParts("RuntimeError", parts, 3);
  return -1;
}

/* `library_ctx` is a pointer to the C++ object, in front of its header. What
   was found once stays, whatever is imported later, as it does upstream. */
int TVMFFIEnvModLookupFromImports(TVMFFIObjectHandle library_ctx,
                                  const char *func_name,
                                  TVMFFIObjectHandle *out) {
  tvmffi_i_module *m = (tvmffi_i_module *)library_ctx;
  TVMFFIObjectHandle module, function = NULL;
  TVMFFIByteArray name;
  tvmffi_i_cache *c;
  tvmffi_i_named *known;
  TVMFFI_I_NOT_NULL(library_ctx);
  TVMFFI_I_NOT_NULL(func_name);
  TVMFFI_I_NOT_NULL(out);
  module = &m->base;
  TVMFFI_I_CHECK(module, kTVMFFIModule);
  name = tvmffi_view(func_name);
  c = tvmffi_i_cache_of(m);
  known = c ? tvmffi_i_find_named(&c->functions, name) : NULL;
  if (TVMFFI_I_LIKELY(known)) {
    *out = known->address;
    return 0;
  }
  TVMFFI_TRY(tvmffi_i_look_up(m, name, &function));
  c = tvmffi_i_make_cache(m);
  known = c ? tvmffi_i_enter_named(&c->functions, name, function) : NULL;
  /* Another thread may have put its own there first. */
  if (!known || known->address != function) tvmffi_release(function);
  if (!known) return -1;
  *out = known->address;
  return 0;
}

/* ======== Env ======================================================= >>env */
/* What surrounds the runtime: streams and tensor allocators per thread, the
   host language's signals, handles that are made once. */

/* The place of a device in the thread's table: its own, or a free one. */
static tvmffi_i_stream *tvmffi_i_stream_place(tvmffi_i_thread *t, int32_t type,
                                              int32_t id) {
  uint32_t i = (uint32_t)type * 31 + (uint32_t)id;
  for (;; ++i) {
    tvmffi_i_stream *s = &t->stream[i & t->stream_mask];
    if (s->device_type == -1 || (s->device_type == type && s->device_id == id))
      return s;
  }
}

static int tvmffi_i_grow_streams(tvmffi_i_thread *t) {
  tvmffi_i_stream *old = t->stream;
  uint32_t places = old ? (t->stream_mask + 1) * 2 : 8, i;
  uint32_t old_places = old ? t->stream_mask + 1 : 0;
  if (t->num_streams * 2 < old_places) return 0;
  t->stream = (tvmffi_i_stream *)tvmffi_i_alloc(places * sizeof(*old));
  if (!t->stream) {
    t->stream = old;
    return tvmffi_i_no_memory();
  }
  t->stream_mask = places - 1;
  for (i = 0; i < places; ++i) t->stream[i].device_type = -1;
  for (i = 0; i < old_places; ++i)
    if (old[i].device_type != -1)
      *tvmffi_i_stream_place(t, old[i].device_type, old[i].device_id) = old[i];
  tvmffi_i_free(old);
  if (!t->exit_is_set) tvmffi_i_watch_exit(t);
  return 0;
}

int TVMFFIEnvSetStream(int32_t device_type, int32_t device_id,
                       TVMFFIStreamHandle stream,
                       TVMFFIStreamHandle *opt_out_original_stream) {
  tvmffi_i_thread *t = tvmffi_i_self();
  tvmffi_i_stream *s;
  if (device_type < 0 || device_id < 0)
    return tvmffi_i_fail("ValueError", "There is no device (%d, %d)",
                         device_type, device_id);
  TVMFFI_TRY(tvmffi_i_grow_streams(t));
  s = tvmffi_i_stream_place(t, device_type, device_id);
  if (s->device_type == -1) {
    s->device_type = device_type;
    s->device_id = device_id;
    s->stream = NULL;
    ++t->num_streams;
  }
  if (opt_out_original_stream) *opt_out_original_stream = s->stream;
  s->stream = stream;
  return 0;
}

TVMFFIStreamHandle TVMFFIEnvGetStream(int32_t device_type, int32_t device_id) {
  tvmffi_i_thread *t = tvmffi_i_self();
  tvmffi_i_stream *s;
  if (!t->stream || device_type < 0) return NULL;
  s = tvmffi_i_stream_place(t, device_type, device_id);
  return s->device_type == -1 ? NULL : s->stream;
}

static DLPackManagedTensorAllocator tvmffi_i_global_allocator;

int TVMFFIEnvSetDLPackManagedTensorAllocator(
    DLPackManagedTensorAllocator allocator, int write_to_global_context,
    DLPackManagedTensorAllocator *opt_out_original_allocator) {
  tvmffi_i_thread *t = tvmffi_i_self();
  if (opt_out_original_allocator) *opt_out_original_allocator = t->allocator;
  if (write_to_global_context)
    TVMFFI_I_STORE(&tvmffi_i_global_allocator, allocator);
  t->allocator = allocator;
  return 0;
}

TVMFFI_I_INLINE DLPackManagedTensorAllocator tvmffi_i_tensor_allocator(void) {
  DLPackManagedTensorAllocator own = tvmffi_i_self()->allocator;
  return own ? own : TVMFFI_I_LOAD(&tvmffi_i_global_allocator);
}

DLPackManagedTensorAllocator TVMFFIEnvGetDLPackManagedTensorAllocator(void) {
  return tvmffi_i_tensor_allocator();
}

#if defined(__cplusplus)
extern "C" {
#endif
static void tvmffi_i_allocator_failed(void *context, const char *kind,
                                      const char *message) {
  (void)context;
  TVMFFIErrorSetRaisedFromCStr(kind, message);
}
#if defined(__cplusplus)
}
#endif

/* A callback that fails must leave an error, or say by -2 that its language
   holds one; for one that did neither there is this. */
static int tvmffi_i_need_error(int code, const char *what) {
  if (code != -2 && !tvmffi_i_self()->error)
    (void)tvmffi_i_fail("RuntimeError", "%s failed with code %d and no error",
                        what, code);
  return code;
}

int TVMFFIEnvTensorAlloc(DLTensor *prototype, TVMFFIObjectHandle *out) {
  DLPackManagedTensorAllocator allocate = tvmffi_i_tensor_allocator();
  DLManagedTensorVersioned *managed = NULL;
  int code;
  TVMFFI_I_NOT_NULL(prototype);
  TVMFFI_I_NOT_NULL(out);
  if (!allocate)
    return tvmffi_i_fail(
        "RuntimeError",
        "TVMFFIEnvTensorAlloc: allocator is nullptr, likely because "
        "TVMFFIEnvSetDLPackManagedTensorAllocator has not been called.");
  TVMFFI_TRY(tvmffi_i_check_shape(__func__, prototype));
  code = allocate(prototype, &managed, NULL, tvmffi_i_allocator_failed);
  if (code) return tvmffi_i_need_error(code, "The tensor allocator");
  if (!managed)
    return tvmffi_i_fail("RuntimeError",
                         "TVMFFIEnvTensorAlloc: failed to allocate a tensor "
                         "from the allocator");
  code = tvmffi_i_check_versioned(managed);
  if (!code) code = tvmffi_i_check_shape(__func__, &managed->dl_tensor);
  if (!code)
    code = tvmffi_i_import(&managed->dl_tensor, managed,
                           tvmffi_i_delete_imported_versioned, out);
  if (code && managed->deleter) managed->deleter(managed);
  return code;
}

/* Python's functions, each set once, at its import. */
static int (*tvmffi_i_check_signals)(void);
static int (*tvmffi_i_gil_ensure)(void);
static void (*tvmffi_i_gil_release)(int);

int TVMFFIEnvRegisterCAPI(const char *name, void *symbol) {
  TVMFFI_I_NOT_NULL(name);
  if (strcmp(name, "PyErr_CheckSignals") == 0)
    TVMFFI_I_STORE(&tvmffi_i_check_signals, (int (*)(void))(uintptr_t)symbol);
  else if (strcmp(name, "PyGILState_Ensure") == 0)
    TVMFFI_I_STORE(&tvmffi_i_gil_ensure, (int (*)(void))(uintptr_t)symbol);
  else if (strcmp(name, "PyGILState_Release") == 0)
    TVMFFI_I_STORE(&tvmffi_i_gil_release, (void (*)(int))(uintptr_t)symbol);
  else
    return tvmffi_i_fail("ValueError", "Unknown env API %.200s", name);
  return 0;
}

/* An error that the host holds gives -1, as upstream's code does, and not the
   -2 of its text. */
int TVMFFIEnvCheckSignals(void) {
  int (*check)(void) = TVMFFI_I_LOAD(&tvmffi_i_check_signals);
  int (*ensure)(void) = TVMFFI_I_LOAD(&tvmffi_i_gil_ensure);
  void (*release)(int) = TVMFFI_I_LOAD(&tvmffi_i_gil_release);
  int state, code;
  if (!check) return 0;
  if (!ensure || !release)
    return tvmffi_i_fail("InternalError",
                         "PyErr_CheckSignals is registered without "
                         "PyGILState_Ensure and PyGILState_Release");
  state = ensure();
  code = check();
  release(state);
  return code ? -1 : 0;
}

/* Handles that are made once. Who makes one or waits for one is in this list,
   so a wait that would never end is seen. The only one there enters and leaves
   without the mutex, by exchanging the empty list; nobody else looks at an
   entry before its own stands in front, and from then on the list changes
   under the mutex alone. */
typedef struct tvmffi_i_maker {
  void **handle; /* what the thread makes, or NULL */
  void **awaits; /* what another makes for it, or NULL */
  tvmffi_i_thread *thread;
  struct tvmffi_i_maker *next;
} tvmffi_i_maker;

static void *tvmffi_i_makers;

TVMFFI_I_INLINE tvmffi_i_maker *tvmffi_i_first_maker(void) {
  return (tvmffi_i_maker *)TVMFFI_I_LOAD(&tvmffi_i_makers);
}

static tvmffi_i_maker *tvmffi_i_maker_of(void **handle) {
  tvmffi_i_maker *m = tvmffi_i_first_maker();
  while (m && m->handle != handle) m = m->next;
  return m;
}

/* Whether `m` waits, through others, for what `thread` makes. */
static int tvmffi_i_is_cycle(const tvmffi_i_maker *m,
                             const tvmffi_i_thread *thread) {
  while (m && m->thread != thread) {
    const tvmffi_i_maker *w = tvmffi_i_first_maker();
    while (w && (w->thread != m->thread || !w->awaits)) w = w->next;
    m = w ? tvmffi_i_maker_of(w->awaits) : NULL;
  }
  return m != NULL;
}

/* Enters a list that is not empty, and waits until nobody else makes the
   handle; -1 if that would never be. */
TVMFFI_I_COLD int tvmffi_i_await_maker(tvmffi_i_maker *me) {
  void **handle = me->handle;
  const tvmffi_i_maker *m;
  int code = 0;
  tvmffi_i_lock();
  me->handle = NULL;
  do {
    me->next = tvmffi_i_first_maker();
  } while (!tvmffi_i_cas_pointer(&tvmffi_i_makers, me->next, me));
  while (!code && (m = tvmffi_i_maker_of(handle)) != NULL) {
    code = -tvmffi_i_is_cycle(m, me->thread);
    me->awaits = code ? NULL : handle;
    if (!code) tvmffi_i_sleep();
  }
  me->awaits = NULL;
  me->handle = code ? NULL : handle;
  tvmffi_i_unlock();
  return code;
}

TVMFFI_I_COLD void tvmffi_i_leave_makers(tvmffi_i_maker *me) {
  tvmffi_i_maker *m;
  tvmffi_i_lock();
  m = tvmffi_i_first_maker();
  if (m == me) {
    TVMFFI_I_STORE(&tvmffi_i_makers, (void *)me->next);
  } else {
    while (m->next != me) m = m->next;
    m->next = me->next;
  }
  tvmffi_i_wake();
  tvmffi_i_unlock();
}

/* Makes a handle, unless another thread has by then. */
TVMFFI_I_NOINLINE int tvmffi_i_make_handle(void **handle,
                                           int (*init_func)(void **result)) {
  int cancel = tvmffi_i_hold_cancel();
  int alone, stuck, made = 0, code = 0;
  void *result = NULL;
  tvmffi_i_maker me;
  me.handle = handle;
  me.awaits = NULL;
  me.thread = tvmffi_i_self();
  me.next = NULL;
  alone = tvmffi_i_cas_pointer(&tvmffi_i_makers, NULL, &me);
  stuck = alone ? 0 : tvmffi_i_await_maker(&me);
  if (!stuck) made = TVMFFI_I_LOAD(handle) != NULL;
  if (!stuck && !made) {
    code = init_func(&result);
    if (!code && result) TVMFFI_I_STORE(handle, result);
  }
  if (!alone || !tvmffi_i_cas_pointer(&tvmffi_i_makers, &me, NULL))
    tvmffi_i_leave_makers(&me);
  tvmffi_i_free_cancel(cancel);
  if (stuck)
    return tvmffi_i_fail("RuntimeError",
                         "init_func needs the handle that it makes");
  if (made) return 0;
  if (code) return tvmffi_i_need_error(code, "init_func");
  if (!result)
    return tvmffi_i_fail("RuntimeError",
                         "init_func must return a non-NULL handle");
  return 0;
}

int TVMFFIHandleInitOnce(void **handle_addr, int (*init_func)(void **result)) {
  TVMFFI_I_NOT_NULL(handle_addr);
  if (TVMFFI_I_LIKELY(TVMFFI_I_LOAD(handle_addr) != NULL)) return 0;
  TVMFFI_I_NOT_NULL(init_func);
  return tvmffi_i_make_handle(handle_addr, init_func);
}

int TVMFFIHandleDeinitOnce(void **handle_addr,
                           int (*deinit_func)(void *handle)) {
  void *old;
  TVMFFI_I_NOT_NULL(handle_addr);
  TVMFFI_I_NOT_NULL(deinit_func);
#if TVMFFI_NO_THREADS
  old = *handle_addr;
  *handle_addr = NULL;
#else
  old = __atomic_exchange_n(handle_addr, (void *)NULL, __ATOMIC_ACQ_REL);
#endif
  return old ? deinit_func(old) : 0;
}

/* ======== Reflection ========================================= >>reflection */
/* Objects by their fields: making, filling, copying and destroying them, for
   the built-in types and for classes that Python defines. The built-in types,
   their fields, methods and attributes stand in const tables, which >>registry
   enters when it starts, under the mutex; all else here takes no lock. */
#if !TVMFFI_NO_CONTAINERS

/* What the memory of a field holds: bits, an owned Any, or one reference that
   may be NULL. A field that may hold any object has the size of a pointer. */
typedef enum {
  TVMFFI_I_FIELD_PLAIN,
  TVMFFI_I_FIELD_ANY,
  TVMFFI_I_FIELD_REFERENCE
} tvmffi_i_storage;

TVMFFI_I_INLINE tvmffi_i_storage
tvmffi_i_storage_of(const TVMFFIFieldInfo *field) {
  if (field->field_static_type_index == kTVMFFIAny)
    return field->size == (int64_t)sizeof(void *) ? TVMFFI_I_FIELD_REFERENCE
                                                  : TVMFFI_I_FIELD_ANY;
  return field->field_static_type_index >= kTVMFFIStaticObjectBegin
             ? TVMFFI_I_FIELD_REFERENCE
             : TVMFFI_I_FIELD_PLAIN;
}

/* Goes through the fields of a type, those of its ancestors first. */
typedef struct {
  const TVMFFITypeInfo *type;
  const TVMFFIFieldInfo *fields;
  int32_t depth, i, n;
} tvmffi_i_field_walk;

TVMFFI_I_INLINE tvmffi_i_field_walk
tvmffi_i_walk_fields(const TVMFFITypeInfo *type) {
  tvmffi_i_field_walk w;
  w.type = type;
  w.fields = NULL;
  w.depth = type->type_depth > 0;
  w.i = w.n = 0;
  return w;
}

/* Goes on to the next type that has fields. */
TVMFFI_I_NOINLINE const TVMFFIFieldInfo *tvmffi_i_next_fields(
    tvmffi_i_field_walk *w) {
  while (w->i >= w->n) {
    const TVMFFITypeInfo *t = w->type;
    if (w->depth > t->type_depth) return NULL;
    if (w->depth < t->type_depth) t = t->type_ancestors[w->depth];
    ++w->depth;
    w->i = 0;
    w->n = TVMFFI_I_LOAD(&t->num_fields);
    w->fields = TVMFFI_I_LOAD(&t->fields);
  }
  return &w->fields[w->i++];
}

TVMFFI_I_INLINE const TVMFFIFieldInfo *tvmffi_i_next_field(
    tvmffi_i_field_walk *w) {
  return TVMFFI_I_LIKELY(w->i < w->n) ? &w->fields[w->i++]
                                      : tvmffi_i_next_fields(w);
}

TVMFFI_I_INLINE void *tvmffi_i_at(const void *object,
                                  const TVMFFIFieldInfo *field) {
  return (char *)(uintptr_t)object + field->offset;
}

/* Empties the fields of one type. Two may share their memory (`value` of
   ffi.StrEnum is `_str_index` of ffi.Enum), so what is empty must stay so. */
TVMFFI_I_INLINE void tvmffi_i_drop_fields(void *self,
                                          const TVMFFITypeInfo *type) {
  int32_t n = TVMFFI_I_LOAD(&type->num_fields);
  const TVMFFIFieldInfo *field = TVMFFI_I_LOAD(&type->fields);
  for (; n > 0; --n, ++field) {
    tvmffi_i_storage storage = tvmffi_i_storage_of(field);
    if (storage == TVMFFI_I_FIELD_ANY) {
      tvmffi_any_release((TVMFFIAny *)tvmffi_i_at(self, field));
    } else if (storage == TVMFFI_I_FIELD_REFERENCE) {
      TVMFFIObject **at = (TVMFFIObject **)tvmffi_i_at(self, field);
      TVMFFIObject *held = *at;
      *at = NULL;
      tvmffi_release(held);
    }
  }
}

TVMFFI_I_INLINE void tvmffi_i_destroy_fields(void *self, int flags) {
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    const TVMFFIObject *o = (const TVMFFIObject *)self;
    const TVMFFITypeInfo *type = &tvmffi_i_type_at(o->type_index)->info;
    int32_t depth;
    for (depth = 1; depth < type->type_depth; ++depth)
      tvmffi_i_drop_fields(self, type->type_ancestors[depth]);
    tvmffi_i_drop_fields(self, type);
  }
  tvmffi_i_delete_plain(self, flags);
}

static void tvmffi_i_delete_fields(void *self, int flags) {
  tvmffi_i_destroy((TVMFFIObject *)self, flags, tvmffi_i_destroy_fields);
}

/* An object whose fields are zero: None, NULL and 0. */
static TVMFFIObject *tvmffi_i_new_object(int32_t type_index, size_t size) {
  TVMFFIObject *o =
      (TVMFFIObject *)tvmffi_i_object(size, type_index, tvmffi_i_delete_fields);
  if (o) memset((void *)(o + 1), 0, size - sizeof(*o));
  return o;
}

/* Whether a field lies where one before it does. */
TVMFFI_I_SLOW int tvmffi_i_is_alias(const TVMFFITypeInfo *type,
                                    const TVMFFIFieldInfo *field) {
  tvmffi_i_field_walk w = tvmffi_i_walk_fields(type);
  const TVMFFIFieldInfo *other;
  while ((other = tvmffi_i_next_field(&w)) && other != field)
    if (other->offset == field->offset) return 1;
  return 0;
}

/* A copy of an object of the type or one derived from it, which shares what
   the fields hold. The rest is copied as bits. */
static TVMFFIObject *tvmffi_i_copy_object(const TVMFFIObject *from,
                                          const TVMFFITypeInfo *type,
                                          size_t size) {
  TVMFFIObject *o = (TVMFFIObject *)tvmffi_i_object(size, type->type_index,
                                                    tvmffi_i_delete_fields);
  tvmffi_i_field_walk w = tvmffi_i_walk_fields(type);
  const TVMFFIFieldInfo *field;
  int64_t end = 0;
  if (!o) return o;
  memcpy((void *)(o + 1), (const void *)(from + 1), size - sizeof(*o));
  while ((field = tvmffi_i_next_field(&w))) {
    tvmffi_i_storage storage = tvmffi_i_storage_of(field);
    TVMFFIObject *held = NULL;
    const void *at = tvmffi_i_at(o, field);
    if (storage == TVMFFI_I_FIELD_PLAIN) continue;
    if (storage == TVMFFI_I_FIELD_REFERENCE)
      held = *(TVMFFIObject *const *)at;
    else if (((const TVMFFIAny *)at)->type_index >= kTVMFFIStaticObjectBegin)
      held = ((const TVMFFIAny *)at)->v_obj;
    if (held && (field->offset >= end || !tvmffi_i_is_alias(type, field)))
      tvmffi_retain(held);
    if (field->offset + field->size > end) end = field->offset + field->size;
  }
  return o;
}

static int tvmffi_i_bad_cast(const TVMFFIAny *value, const char *to) {
  return tvmffi_i_fail("TypeError", "Cannot convert from type `%s` to `%s`",
                       tvmffi_i_type_key(value->type_index), to);
}

/* Getters and setters. A setter may be given what the field holds. */
static int tvmffi_i_get_any_field(void *field, TVMFFIAny *result) {
  return TVMFFIAnyViewToOwnedAny((const TVMFFIAny *)field, result);
}

static int tvmffi_i_set_any_field(void *field, const TVMFFIAny *value) {
  TVMFFIAny *any = (TVMFFIAny *)field, old = *any;
  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(value, any));
  tvmffi_any_release(&old);
  return 0;
}

static int tvmffi_i_get_reference(void *field, TVMFFIAny *result) {
  *result = tvmffi_obj(*(TVMFFIObject **)field);
  if (result->v_obj) tvmffi_retain(result->v_obj);
  return 0;
}

/* Puts an object, or NULL for None, into a field. */
static void tvmffi_i_put_reference(void *field, const TVMFFIAny *value) {
  TVMFFIObject *old = *(TVMFFIObject **)field;
  TVMFFIObject *held = value->type_index == kTVMFFINone ? NULL : value->v_obj;
  if (held) tvmffi_retain(held);
  *(TVMFFIObject **)field = held;
  tvmffi_release(old);
}

static int tvmffi_i_set_reference(void *field, const TVMFFIAny *value) {
  if (value->type_index != kTVMFFINone &&
      (value->type_index < kTVMFFIStaticObjectBegin || !value->v_obj))
    return tvmffi_i_bad_cast(value, "ffi.Object");
  tvmffi_i_put_reference(field, value);
  return 0;
}

/* The plain fields: `word` is one of >>typed. */
#define TVMFFI_I_PLAIN_FIELD(word)                                            \
  static int tvmffi_i_get_##word##_field(void *field, TVMFFIAny *result) {    \
    return tvmffi_i_put_##word(result, *(tvmffi_type_##word *)field);         \
  }                                                                           \
  static int tvmffi_i_set_##word##_field(void *field,                         \
                                         const TVMFFIAny *value) {            \
    tvmffi_type_##word got;                                                   \
    int code = tvmffi_i_get_##word(value, &got);                              \
    if (code == TVMFFI_I_RANGE)                                               \
      return tvmffi_i_fail("OverflowError", "%lld does not fit in the field", \
                           (long long)value->v_int64);                        \
    if (code > 0) return tvmffi_i_bad_cast(value, tvmffi_i_name_##word.name); \
    if (!code) *(tvmffi_type_##word *)field = got;                            \
    return code;                                                              \
  }
TVMFFI_I_PLAIN_FIELD(int64)
TVMFFI_I_PLAIN_FIELD(int32)
TVMFFI_I_PLAIN_FIELD(bool)
TVMFFI_I_PLAIN_FIELD(ptr)
TVMFFI_I_PLAIN_FIELD(dtype)
TVMFFI_I_PLAIN_FIELD(device)
#if !TVMFFI_NO_FLOAT
TVMFFI_I_PLAIN_FIELD(float64)
#endif

/* The getter and setter of a field that Python lays out, by its type. */
typedef struct {
  int32_t type_index;
  TVMFFIFieldGetter get;
  TVMFFIFieldSetter set;
} tvmffi_i_access;

static const tvmffi_i_access *tvmffi_i_access_of(int32_t type_index) {
  static const tvmffi_i_access table[] = {
      {kTVMFFIAny, tvmffi_i_get_any_field, tvmffi_i_set_any_field},
      {kTVMFFINone, tvmffi_i_get_any_field, tvmffi_i_set_any_field},
      {kTVMFFIInt, tvmffi_i_get_int64_field, tvmffi_i_set_int64_field},
      {kTVMFFIBool, tvmffi_i_get_bool_field, tvmffi_i_set_bool_field},
#if !TVMFFI_NO_FLOAT
      {kTVMFFIFloat, tvmffi_i_get_float64_field, tvmffi_i_set_float64_field},
#endif
      {kTVMFFIOpaquePtr, tvmffi_i_get_ptr_field, tvmffi_i_set_ptr_field},
      {kTVMFFIDataType, tvmffi_i_get_dtype_field, tvmffi_i_set_dtype_field},
      {kTVMFFIDevice, tvmffi_i_get_device_field, tvmffi_i_set_device_field},
      {kTVMFFIObject, tvmffi_i_get_reference, tvmffi_i_set_reference}};
  const int32_t n = (int32_t)(sizeof(table) / sizeof(table[0]));
  int32_t i = 0;
  if (type_index > kTVMFFIObject) type_index = kTVMFFIObject;
  while (i < n && table[i].type_index != type_index) ++i;
  return i < n ? &table[i] : NULL;
}

TVMFFI_FUNC(i_make_getter, int64, (int32, type_index)) {
  const tvmffi_i_access *access = tvmffi_i_access_of(type_index);
  if (!access)
    return tvmffi_i_fail("ValueError",
                         "Unsupported field type index for getter: %d",
                         type_index);
  TVMFFI_RETURN((int64_t)(uintptr_t)access->get);
}

/* Converts a value (borrowed) to an owned one as a Python annotation says. */
typedef int (*tvmffi_i_converter)(void *converter, const TVMFFIAny *value,
                                  TVMFFIAny *result);

/* The setter of a field that Python lays out. Python keeps the converter. */
typedef struct {
  int32_t type_index;
  const tvmffi_i_access *access;
  void *converter;
  tvmffi_i_converter convert;
} tvmffi_i_setter;

static int tvmffi_i_call_setter(void *self, const TVMFFIAny *args,
                                int32_t num_args, TVMFFIAny *result) {
  const tvmffi_i_setter *s = (const tvmffi_i_setter *)self;
  const tvmffi_i_access *access = s->access;
  TVMFFIAny converted = tvmffi_none();
  void *field = NULL;
  int code;
  if (num_args != 2)
    return tvmffi_i_fail("TypeError",
                         "A field setter takes 2 arguments, but %d were given",
                         num_args);
  if (tvmffi_i_get_ptr(&args[0], &field) || !field)
    return tvmffi_i_bad_cast(&args[0], "void*");
  code = s->convert(s->converter, &args[1], &converted);
  if (code) return tvmffi_i_need_error(code, "A field converter");
  if (access)
    code = access->set(field, &converted);
  else
    code = tvmffi_i_fail("ValueError",
                         "Unsupported field type index for setter: %d",
                         s->type_index);
  tvmffi_any_release(&converted);
  *result = tvmffi_none();
  return code;
}

TVMFFI_FUNC(i_make_setter, func, (int32, type_index), (int64, converter),
            (int64, convert)) {
  tvmffi_i_setter *s;
  TVMFFIObjectHandle f = NULL;
  if (!convert) return tvmffi_i_null("ffi.MakeFieldSetter", "the converter");
  s = (tvmffi_i_setter *)tvmffi_i_alloc(sizeof(*s));
  if (!s) return tvmffi_i_no_memory();
  s->type_index = type_index;
  s->access = tvmffi_i_access_of(type_index);
  s->converter = (void *)(uintptr_t)converter;
  s->convert = (tvmffi_i_converter)(uintptr_t)convert;
  if (TVMFFIFunctionCreate(s, tvmffi_i_call_setter, tvmffi_i_free, &f)) {
    tvmffi_i_free(s);
    return -1;
  }
  TVMFFI_RETURN((TVMFFIObject *)f);
}

/* Sets a field by its setter, a C function or a function object. */
static int tvmffi_i_set_field(const TVMFFIFieldInfo *field, void *object,
                              const TVMFFIAny *value) {
  void *at = tvmffi_i_at(object, field);
  TVMFFIAny args[2], result = tvmffi_none();
  if (!field->setter)
    return tvmffi_i_fail("AttributeError", "Field `%.*s` has no setter",
                         TVMFFI_I_TEXT(field->name));
  if (!(field->flags & kTVMFFIFieldFlagBitSetterIsFunctionObj)) {
    int code = ((TVMFFIFieldSetter)(uintptr_t)field->setter)(at, value);
    return code ? tvmffi_i_need_error(code, "A field setter") : 0;
  }
  args[0] = tvmffi_i_pointer(kTVMFFIOpaquePtr, at);
  args[1] = *value;
  TVMFFI_TRY(TVMFFIFunctionCall(field->setter, args, 2, &result));
  tvmffi_any_release(&result);
  return 0;
}

/* Gives the default of a field, owned; a factory's own error is not that of
   the field. */
static int tvmffi_i_make_default(const TVMFFIFieldInfo *field,
                                 TVMFFIAny *made) {
  const TVMFFIAny *value = &field->default_value_or_factory;
  *made = tvmffi_none();
  if (!(field->flags & kTVMFFIFieldFlagBitMaskDefaultFromFactory))
    return TVMFFIAnyViewToOwnedAny(value, made);
  if (value->type_index < kTVMFFIStaticObjectBegin)
    return tvmffi_i_bad_cast(value, "ffi.Function");
  return TVMFFIFunctionCall(value->v_obj, NULL, 0, made);
}

static tvmffi_i_known_column tvmffi_i_new_column = {"__ffi_new__", NULL};

/* Makes an object, owned by the caller, whose fields are still to be set. */
static int tvmffi_i_make_empty(const TVMFFITypeInfo *type, TVMFFIObject **out) {
  const TVMFFITypeMetadata *metadata = TVMFFI_I_LOAD(&type->metadata);
  const TVMFFIAny *maker;
  TVMFFIObjectHandle made = NULL;
  TVMFFIAny result = tvmffi_none();
  if (metadata && metadata->creator) {
    int code = metadata->creator(&made);
    if (code) return tvmffi_i_need_error(code, "An object creator");
  } else {
    TVMFFI_TRY(tvmffi_i_start_types());
    maker = tvmffi_i_type_attr(&tvmffi_i_new_column, type->type_index);
    if (!maker)
      return tvmffi_i_fail("RuntimeError",
                           "Type `%s` does not support reflection creation (no "
                           "native creator or __ffi_new__ type attr)",
                           type->type_key.data);
    if (maker->type_index < kTVMFFIStaticObjectBegin)
      return tvmffi_i_bad_cast(maker, "ffi.Function");
    TVMFFI_TRY(TVMFFIFunctionCall(maker->v_obj, NULL, 0, &result));
    if (result.type_index >= kTVMFFIStaticObjectBegin)
      made = result.v_obj;
    else
      tvmffi_any_release(&result);
  }
  *out = (TVMFFIObject *)made;
  if (made && tvmffi_is_instance((*out)->type_index, type->type_index))
    return 0;
  tvmffi_release(made);
  return tvmffi_i_fail("RuntimeError", "The creator of type `%s` made none",
                       type->type_key.data);
}

/* What an automatic constructor needs, found out once. Behind it stand
   num_fields pointers to fields, then the indices of those that may be given
   by position: in order, but the required ones first. */
typedef struct {
  const TVMFFITypeInfo *type;
  int32_t num_fields, num_positional;
} tvmffi_i_init;

TVMFFI_I_INLINE const TVMFFIFieldInfo **tvmffi_i_init_fields(
    const tvmffi_i_init *init) {
  return (const TVMFFIFieldInfo **)(uintptr_t)(init + 1);
}

TVMFFI_I_INLINE int32_t *tvmffi_i_init_positions(const tvmffi_i_init *init) {
  return (int32_t *)(void *)(tvmffi_i_init_fields(init) + init->num_fields);
}

static tvmffi_i_init *tvmffi_i_make_init(const TVMFFITypeInfo *type) {
  const int64_t off = kTVMFFIFieldFlagBitMaskInitOff;
  const int64_t keyword = kTVMFFIFieldFlagBitMaskKwOnly;
  tvmffi_i_field_walk w = tvmffi_i_walk_fields(type);
  const TVMFFIFieldInfo *field, **fields;
  tvmffi_i_init *init;
  int32_t n = 0, i, *positions;
  int64_t defaults;
  while (tvmffi_i_next_field(&w)) ++n;
  init = (tvmffi_i_init *)tvmffi_i_alloc(
      sizeof(*init) + (size_t)n * (sizeof(field) + sizeof(int32_t)));
  if (!init) {
    (void)tvmffi_i_no_memory();
    return init;
  }
  init->type = type;
  init->num_positional = 0;
  init->num_fields = n;
  fields = tvmffi_i_init_fields(init);
  positions = tvmffi_i_init_positions(init);
  w = tvmffi_i_walk_fields(type);
  for (i = 0; i < n; ++i) fields[i] = tvmffi_i_next_field(&w);
  for (defaults = 0; defaults <= 1; ++defaults)
    for (i = 0; i < n; ++i)
      if (!(fields[i]->flags & (off | keyword)) &&
          !(fields[i]->flags & kTVMFFIFieldFlagBitMaskHasDefault) == !defaults)
        positions[init->num_positional++] = i;
  return init;
}

/* One construction. set[i]: field i has got its value. */
typedef struct {
  const tvmffi_i_init *init;
  TVMFFIObject *object;
  unsigned char *set;
} tvmffi_i_binding;

/* Puts type and field before the message of an error that a setter raised, in
   a new error whose cause that one is. */
TVMFFI_I_SLOW int tvmffi_i_field_failed(const tvmffi_i_init *init,
                                        const TVMFFIFieldInfo *field,
                                        const char *what) {
  TVMFFIObjectHandle error = NULL, outer = NULL;
  TVMFFIErrorCell *cell;
  TVMFFIByteArray message;
  size_t i, n;
  char *text;
  TVMFFIErrorMoveFromRaised(&error);
  if (!error) return -1;
  cell = TVMFFIErrorGetCellPtr(error);
  n = init->type->type_key.size + strlen(what) + field->name.size + 40;
  text = cell->message.size > PTRDIFF_MAX / 4
             ? NULL
             : (char *)tvmffi_i_alloc(n + 3 * cell->message.size);
  if (!text) {
    tvmffi_release(error);
    return tvmffi_i_no_memory();
  }
  n = tvmffi_i_append(text, 0, init->type->type_key.data);
  n = tvmffi_i_append(text, n, ".__ffi_init__() ");
  n = tvmffi_i_append(text, n, what);
  n = tvmffi_i_append(text, n, " '");
  if (field->name.size) memcpy(text + n, field->name.data, field->name.size);
  n = tvmffi_i_append(text, n + field->name.size, "':\n  ");
  for (i = 0; i < cell->message.size; ++i) {
    text[n++] = cell->message.data[i];
    if (text[n - 1] == '\n') n = tvmffi_i_append(text, n, "  ");
  }
  message.data = text;
  message.size = n;
  if (!TVMFFIErrorCreateWithCauseAndExtraContext(
          &cell->kind, &message, &cell->backtrace, error, NULL, &outer)) {
    TVMFFIErrorSetRaised(outer);
    tvmffi_release(outer);
  }
  tvmffi_i_free(text);
  tvmffi_release(error);
  return -1;
}

static int tvmffi_i_bind(const tvmffi_i_binding *b, int32_t i,
                         const TVMFFIAny *value) {
  const TVMFFIFieldInfo *field = tvmffi_i_init_fields(b->init)[i];
  b->set[i] = 1;
  if (TVMFFI_I_LIKELY(tvmffi_i_set_field(field, b->object, value) == 0))
    return 0;
  return tvmffi_i_field_failed(b->init, field, "field");
}

static int tvmffi_i_bind_positions(const tvmffi_i_binding *b,
                                   const TVMFFIAny *args, int32_t n,
                                   int32_t most) {
  int32_t i, *positions = tvmffi_i_init_positions(b->init);
  for (i = 0; i < n && i < most; ++i)
    TVMFFI_TRY(tvmffi_i_bind(b, positions[i], &args[i]));
  return 0;
}

static int tvmffi_i_too_many(const tvmffi_i_init *init, int32_t n) {
  return tvmffi_i_fail("TypeError",
                       "%s.__ffi_init__() takes at most %d positional "
                       "argument(s), but %d were given",
                       init->type->type_key.data, init->num_positional, n);
}

/* The field of a keyword, or -1. Of two with one name the last one counts. */
static int32_t tvmffi_i_keyword(const tvmffi_i_init *init,
                                TVMFFIByteArray name) {
  int32_t i = init->num_fields;
  while (--i >= 0) {
    const TVMFFIFieldInfo *field = tvmffi_i_init_fields(init)[i];
    if (!(field->flags & kTVMFFIFieldFlagBitMaskInitOff) &&
        tvmffi_i_same_text(field->name, name))
      break;
  }
  return i;
}

/* Binds n arguments: names, each followed by its value. */
static int tvmffi_i_bind_keywords(const tvmffi_i_binding *b,
                                  const TVMFFIAny *args, int32_t n) {
  const char *key = b->init->type->type_key.data;
  TVMFFIByteArray name;
  int32_t i, at;
  if (n % 2 != 0)
    return tvmffi_i_fail("TypeError",
                         "%s.__ffi_init__() KWARGS requires an even number of "
                         "key-value arguments",
                         key);
  for (i = 0; i < n; i += 2) {
    if (tvmffi_i_get_str(&args[i], &name))
      return tvmffi_i_bad_cast(&args[i], "str");
    at = tvmffi_i_keyword(b->init, name);
    if (at < 0)
      return tvmffi_i_fail("TypeError",
                           "%s.__ffi_init__() got an unexpected keyword "
                           "argument '%.*s'",
                           key, TVMFFI_I_TEXT(name));
    if (b->set[at])
      return tvmffi_i_fail("TypeError",
                           "%s.__ffi_init__() got multiple values for "
                           "argument '%.*s'",
                           key, TVMFFI_I_TEXT(name));
    TVMFFI_TRY(tvmffi_i_bind(b, at, &args[i + 1]));
  }
  return 0;
}

/* Sets what was not given to its default; raises where it has none. */
static int tvmffi_i_bind_defaults(const tvmffi_i_binding *b) {
  int32_t i;
  for (i = 0; i < b->init->num_fields; ++i) {
    const TVMFFIFieldInfo *field = tvmffi_i_init_fields(b->init)[i];
    if (b->set[i]) continue;
    if (field->flags & kTVMFFIFieldFlagBitMaskHasDefault) {
      TVMFFIAny made;
      int code;
      TVMFFI_TRY(tvmffi_i_make_default(field, &made));
      code = tvmffi_i_set_field(field, b->object, &made);
      tvmffi_any_release(&made);
      if (code)
        return tvmffi_i_field_failed(b->init, field, "default for field");
    } else if (!(field->flags & kTVMFFIFieldFlagBitMaskInitOff)) {
      return tvmffi_i_fail(
          "TypeError", "%s.__ffi_init__() missing required %sargument: '%.*s'",
          b->init->type->type_key.data,
          field->flags & kTVMFFIFieldFlagBitMaskKwOnly ? "keyword-only " : "",
          TVMFFI_I_TEXT(field->name));
    }
  }
  return 0;
}

/* Sets the fields by the arguments: by position, and behind the mark of
   ffi.GetKwargsObject by name. */
static int tvmffi_i_bind_all(const tvmffi_i_binding *b, const TVMFFIAny *args,
                             int32_t num_args) {
  const tvmffi_i_init *init = b->init;
  int32_t n = 0;
  while (n < num_args && (args[n].type_index != kTVMFFIObject ||
                          args[n].v_obj != &tvmffi_i_kwargs_object))
    ++n;
  if (n == num_args && n > init->num_positional)
    return tvmffi_i_too_many(init, n);
  TVMFFI_TRY(tvmffi_i_bind_positions(b, args, n, init->num_positional));
  if (n > init->num_positional) return tvmffi_i_too_many(init, n);
  if (n < num_args)
    TVMFFI_TRY(tvmffi_i_bind_keywords(b, args + n + 1, num_args - n - 1));
  return tvmffi_i_bind_defaults(b);
}

static int tvmffi_i_call_init(void *self, const TVMFFIAny *args,
                              int32_t num_args, TVMFFIAny *result) {
  unsigned char few[64];
  tvmffi_i_binding b;
  size_t n;
  int code;
  b.init = (const tvmffi_i_init *)self;
  n = (size_t)b.init->num_fields;
  TVMFFI_TRY(tvmffi_i_make_empty(b.init->type, &b.object));
  b.set = n <= sizeof(few) ? few : (unsigned char *)tvmffi_i_alloc(n);
  if (b.set) {
    memset(b.set, 0, n);
    code = tvmffi_i_bind_all(&b, args, num_args);
  } else {
    code = tvmffi_i_no_memory();
  }
  if (b.set != few) tvmffi_i_free(b.set);
  if (code)
    tvmffi_release(b.object);
  else
    *result = tvmffi_obj(b.object);
  return code;
}

/* Sets an attribute to a new function of `self`, which is taken. */
static int tvmffi_i_set_attr_function(int32_t type_index, const char *name,
                                      void *self, TVMFFISafeCallType call) {
  TVMFFIByteArray text = tvmffi_view(name);
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny value;
  int code;
  if (TVMFFIFunctionCreate(self, call, tvmffi_i_free, &f)) {
    tvmffi_i_free(self);
    return -1;
  }
  value = tvmffi_obj(f);
  code = TVMFFITypeRegisterAttr(type_index, &text, &value);
  tvmffi_release(f);
  return code;
}

static int tvmffi_i_set_init(int32_t type_index) {
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(type_index);
  tvmffi_i_init *init = type ? tvmffi_i_make_init(type) : NULL;
  if (!init) return -1;
  return tvmffi_i_set_attr_function(type_index, "__ffi_init__", init,
                                    tvmffi_i_call_init);
}

TVMFFI_FUNC(i_set_init, none, (int32, type_index)) {
  return tvmffi_i_set_init(type_index);
}

/* A class that Python defines: what makes and copies its objects. */
typedef struct {
  const TVMFFITypeInfo *type;
  size_t size;
} tvmffi_i_layout;

/* How upstream calls these functions in its messages: not at all. */
static const tvmffi_i_name *const tvmffi_i_new_types[] = {
    &tvmffi_i_name_object, &tvmffi_i_name_object};
static const tvmffi_func tvmffi_i_py_new = {"", NULL, 0, tvmffi_i_new_types};
static const tvmffi_func tvmffi_i_py_copy = {"", NULL, 1, tvmffi_i_new_types};

static int tvmffi_i_call_py_new(void *self, const TVMFFIAny *args,
                                int32_t num_args, TVMFFIAny *result) {
  const tvmffi_i_layout *layout = (const tvmffi_i_layout *)self;
  TVMFFIObject *o;
  (void)args;
  if (num_args) return tvmffi_i_bad_call(&tvmffi_i_py_new, num_args, result);
  o = tvmffi_i_new_object(layout->type->type_index, layout->size);
  if (!o) return -1;
  *result = tvmffi_obj(o);
  return 0;
}

static int tvmffi_i_call_py_copy(void *self, const TVMFFIAny *args,
                                 int32_t num_args, TVMFFIAny *result) {
  const tvmffi_i_layout *layout = (const tvmffi_i_layout *)self;
  TVMFFIObject *o;
  if (num_args != 1)
    return tvmffi_i_bad_call(&tvmffi_i_py_copy, num_args, result);
  if (args->type_index < kTVMFFIStaticObjectBegin || !args->v_obj ||
      !tvmffi_is_instance(args->type_index, layout->type->type_index))
    return tvmffi_i_bad_arg(&tvmffi_i_py_copy, 0, args, TVMFFI_I_MISMATCH);
  o = tvmffi_i_copy_object(args->v_obj, layout->type, layout->size);
  if (!o) return -1;
  *result = tvmffi_obj(o);
  return 0;
}

static int tvmffi_i_set_layout(const TVMFFITypeInfo *type, size_t size,
                               const char *name, TVMFFISafeCallType call) {
  tvmffi_i_layout *layout = (tvmffi_i_layout *)tvmffi_i_alloc(sizeof(*layout));
  if (!layout) return tvmffi_i_no_memory();
  layout->type = type;
  layout->size = size;
  return tvmffi_i_set_attr_function(type->type_index, name, layout, call);
}

TVMFFI_FUNC(i_set_py_class, none, (int32, type_index), (int32, total_size)) {
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(type_index);
  const TVMFFIFieldInfo *field;
  tvmffi_i_field_walk w;
  size_t size = (size_t)total_size;
  if (!type) return -1;
  if (total_size < (int32_t)sizeof(TVMFFIObject))
    return tvmffi_i_fail("ValueError", "Type `%s` cannot have size %d",
                         type->type_key.data, total_size);
  w = tvmffi_i_walk_fields(type);
  while ((field = tvmffi_i_next_field(&w)))
    if (field->offset < (int64_t)sizeof(TVMFFIObject) || field->size < 0 ||
        field->offset + field->size > total_size)
      return tvmffi_i_fail("ValueError",
                           "Field `%.*s` of type `%s` is not within its %d "
                           "bytes",
                           TVMFFI_I_TEXT(field->name), type->type_key.data,
                           total_size);
  TVMFFI_TRY(tvmffi_i_set_init(type_index));
  TVMFFI_TRY(
      tvmffi_i_set_layout(type, size, "__ffi_new__", tvmffi_i_call_py_new));
  TVMFFI_TRY(tvmffi_i_set_layout(type, size, "__ffi_shallow_copy__",
                                 tvmffi_i_call_py_copy));
  TVMFFI_RETURN();
}

/* Gives the argument whose name is `name`, or -1. Each counts once. */
static int32_t tvmffi_i_find_name(const TVMFFIAny *args, int32_t num_args,
                                  const unsigned char *used,
                                  TVMFFIByteArray name) {
  int32_t i;
  for (i = 1; i < num_args; i += 2)
    if (!used[i / 2] && tvmffi_i_same_text(tvmffi_any_str(&args[i]), name))
      return i;
  return -1;
}

/* Sets all fields: args hold the type, then names, each with its value. */
static int tvmffi_i_fill_object(const TVMFFITypeInfo *type,
                                TVMFFIObject *object, const TVMFFIAny *args,
                                int32_t num_args, unsigned char *used) {
  tvmffi_i_field_walk w = tvmffi_i_walk_fields(type);
  const TVMFFIFieldInfo *field;
  int32_t i;
  while ((field = tvmffi_i_next_field(&w))) {
    i = tvmffi_i_find_name(args, num_args, used, field->name);
    if (i > 0) {
      TVMFFI_TRY(tvmffi_i_set_field(field, object, &args[i + 1]));
      used[i / 2] = 1;
    } else if (field->flags & kTVMFFIFieldFlagBitMaskHasDefault) {
      TVMFFIAny made;
      int code;
      TVMFFI_TRY(tvmffi_i_make_default(field, &made));
      code = tvmffi_i_set_field(field, object, &made);
      tvmffi_any_release(&made);
      if (code) return code;
    } else {
      return tvmffi_i_fail("TypeError",
                           "Required field `%.*s` not set in type `%s`",
                           TVMFFI_I_TEXT(field->name), type->type_key.data);
    }
  }
  for (i = 1; i < num_args; i += 2) {
    TVMFFIByteArray name = tvmffi_any_str(&args[i]);
    if (!used[i / 2])
      return tvmffi_i_fail("TypeError", "Type `%s` does not have field `%.*s`",
                           type->type_key.data, TVMFFI_I_TEXT(name));
  }
  return 0;
}

/* The type that an argument names, by its index or its key. */
static const TVMFFITypeInfo *tvmffi_i_get_type(const TVMFFIAny *arg) {
  TVMFFIByteArray key;
  int32_t index = 0;
  if (tvmffi_i_get_int32(arg, &index)) {
    if (tvmffi_i_get_str(arg, &key)) {
      (void)tvmffi_i_bad_cast(arg, "str");
      return NULL;
    }
    if (TVMFFITypeKeyToIndex(&key, &index)) return NULL;
  }
  return TVMFFIGetTypeInfo(index);
}

static int tvmffi_call_i_make_object(void *self, const TVMFFIAny *args,
                                     int32_t num_args, TVMFFIAny *result) {
  const TVMFFITypeInfo *type;
  TVMFFIByteArray name;
  TVMFFIObject *object;
  unsigned char *used;
  int32_t i;
  int code;
  (void)self;
  if (num_args % 2 != 1)
    return tvmffi_i_fail("InternalError",
                         "ffi.MakeObjectFromPackedArgs takes a type, and names "
                         "and values by turns");
  type = tvmffi_i_get_type(args);
  if (!type) return -1;
  for (i = 1; i < num_args; i += 2)
    if (tvmffi_i_get_str(&args[i], &name))
      return tvmffi_i_bad_cast(&args[i], "str");
  TVMFFI_TRY(tvmffi_i_make_empty(type, &object));
  used = (unsigned char *)tvmffi_i_alloc((size_t)num_args);
  if (used) {
    memset(used, 0, (size_t)num_args);
    code = tvmffi_i_fill_object(type, object, args, num_args, used);
  } else {
    code = tvmffi_i_no_memory();
  }
  tvmffi_i_free(used);
  if (code)
    tvmffi_release(object);
  else
    *result = tvmffi_obj(object);
  return code;
}
static tvmffi_func tvmffi_func_i_make_object = {
    "ffi.MakeObjectFromPackedArgs", tvmffi_call_i_make_object, -1, NULL};

/* The built-in types as C has them. */
typedef struct {
  TVMFFIObject base;
  TVMFFIAny value;
} tvmffi_i_interrupt;

typedef struct {
  TVMFFIObject base;
  TVMFFIObject *entries, *indexes, *attrs;
} tvmffi_i_enum_state;

typedef struct {
  TVMFFIObject base;
  int64_t int_index;
  TVMFFIAny str_index;
} tvmffi_i_enum;

typedef struct {
  TVMFFIObject base;
  int32_t kind;
  TVMFFIAny key;
} tvmffi_i_step;

typedef struct {
  TVMFFIObject base;
  TVMFFIObject *parent, *step;
  int32_t depth;
} tvmffi_i_path;

typedef struct {
  TVMFFIObject base;
  TVMFFIObject *pattern, *previous;
} tvmffi_i_error_context;

typedef struct {
  TVMFFIObject base;
  TVMFFIAny key;
  int64_t hash;
} tvmffi_i_structural_key;

/* A visitor, as C++ lays it out: it calls through its table. */
typedef struct {
  TVMFFIObject base;
  void *table;
  int32_t region;
} tvmffi_i_visitor;

TVMFFI_I_OBJECT_TYPE(i_interrupt, "ffi.VisitInterrupt", "ffi.VisitInterrupt",
                     kTVMFFIVisitInterrupt)
TVMFFI_I_OBJECT_TYPE(i_step, "ffi.reflection.AccessStep",
                     "ffi.reflection.AccessStep", TVMFFI_I_ACCESS_STEP)
TVMFFI_I_OBJECT_TYPE(i_path, "ffi.reflection.AccessPath",
                     "ffi.reflection.AccessPath", TVMFFI_I_ACCESS_PATH)
TVMFFI_I_OBJECT_TYPE(i_steps, "Array<ffi.reflection.AccessStep>",
                     "{\"type\":\"ffi.Array\",\"args\":[{\"type\":\"ffi."
                     "reflection.AccessStep\"}]}",
                     kTVMFFIArray)
TVMFFI_I_OBJECT_TYPE(i_keys, "Array<str>",
                     "{\"type\":\"ffi.Array\",\"args\":[{\"type\":\"ffi."
                     "String\"}]}",
                     kTVMFFIArray)

TVMFFI_FUNC(i_visit_interrupt, i_interrupt, (any, value)) {
  TVMFFIObject *o =
      tvmffi_i_new_object(kTVMFFIVisitInterrupt, sizeof(tvmffi_i_interrupt));
  if (!o) return -1;
  if (TVMFFIAnyViewToOwnedAny(&value,
                              &((tvmffi_i_interrupt *)(void *)o)->value)) {
    tvmffi_release(o);
    return -1;
  }
  TVMFFI_RETURN(o);
}

TVMFFI_FUNC(i_type_keys, i_keys) {
  tvmffi_i_table *table = TVMFFI_I_LOAD(&tvmffi_i_types);
  TVMFFIObject *keys;
  TVMFFIAny *item;
  int32_t i, n = 0, end = table->capacity;
  const tvmffi_i_type *t;
  TVMFFI_TRY(tvmffi_i_start_types());
  for (i = 0; i < end; ++i)
    if (TVMFFI_I_LOAD(&tvmffi_i_entries(table)[i])) n = i + 1;
  end = n;
  for (i = n = 0; i < end; ++i)
    n += TVMFFI_I_LOAD(&tvmffi_i_entries(table)[i]) != NULL;
  keys = tvmffi_i_new_array(n, &item);
  if (!keys) return -1;
  for (i = 0; i < end && n; ++i) {
    t = TVMFFI_I_LOAD(&tvmffi_i_entries(table)[i]);
    if (!t) continue;
    if (TVMFFIStringFromByteArray(&t->info.type_key, item++)) {
      tvmffi_release(keys);
      return -1;
    }
    --n;
  }
  TVMFFI_RETURN(keys);
}

/* Access paths: a list of steps from an object inwards, linked from its end.
   Paths are made by others too, so what is in one is checked. */
enum {
  TVMFFI_I_STEP_ATTR,
  TVMFFI_I_STEP_ARRAY_ITEM,
  TVMFFI_I_STEP_MAP_ITEM,
  TVMFFI_I_STEP_ATTR_MISSING,
  TVMFFI_I_STEP_ARRAY_ITEM_MISSING,
  TVMFFI_I_STEP_MAP_ITEM_MISSING
};

/* Makes a path of `parent` (borrowed, NULL for none) and `step` (taken). */
static TVMFFIObject *tvmffi_i_new_path(TVMFFIObject *parent,
                                       TVMFFIObject *step) {
  tvmffi_i_path *p = NULL;
  int32_t depth = parent ? ((const tvmffi_i_path *)(void *)parent)->depth : -1;
  if (depth == INT32_MAX)
    (void)tvmffi_i_fail("OverflowError", "The path is too long");
  else
    p = (tvmffi_i_path *)(void *)tvmffi_i_new_object(TVMFFI_I_ACCESS_PATH,
                                                     sizeof(*p));
  if (!p) {
    tvmffi_release(step);
    return NULL;
  }
  if (parent) tvmffi_retain(parent);
  p->parent = parent;
  p->step = step;
  p->depth = depth + 1;
  return &p->base;
}

/* Makes a path that goes one step further; `key` is taken. */
static TVMFFIObject *tvmffi_i_step_to(TVMFFIObject *path, int32_t kind,
                                      TVMFFIAny key) {
  tvmffi_i_step *s = (tvmffi_i_step *)(void *)tvmffi_i_new_object(
      TVMFFI_I_ACCESS_STEP, sizeof(*s));
  if (!s) {
    tvmffi_any_release(&key);
    return NULL;
  }
  s->kind = kind;
  s->key = key;
  return tvmffi_i_new_path(path, &s->base);
}

/* The path without its last step, NULL of the root; -1 and an error if it is
   no path at all. */
static int tvmffi_i_parent_path(const tvmffi_i_path *path,
                                const tvmffi_i_path **out) {
  const tvmffi_i_path *parent = (const tvmffi_i_path *)(void *)path->parent;
  *out = parent;
  if (!parent) return 0;
  if (parent->base.type_index != TVMFFI_I_ACCESS_PATH ||
      parent->depth >= path->depth || !path->step ||
      path->step->type_index != TVMFFI_I_ACCESS_STEP)
    return tvmffi_i_fail("InternalError", "The access path is malformed");
  return 0;
}

/* 1 if the paths are the same steps, 0 if not, or an error's code. */
static int tvmffi_i_same_path(const tvmffi_i_path *a, const tvmffi_i_path *b) {
  if (a->depth != b->depth) return 0;
  while (a != b) {
    const tvmffi_i_step *x = (const tvmffi_i_step *)(void *)a->step;
    const tvmffi_i_step *y = (const tvmffi_i_step *)(void *)b->step;
    int same;
    TVMFFI_TRY(tvmffi_i_parent_path(a, &a));
    TVMFFI_TRY(tvmffi_i_parent_path(b, &b));
    if (!a || !b) return !a && !b;
    if (x == y) continue;
    if (x->kind != y->kind) return 0;
    same = tvmffi_i_any_equal(&x->key, &y->key);
    if (same <= 0) return same;
  }
  return 1;
}

#define TVMFFI_I_METHOD(name, text, ...)                                 \
  TVMFFI_I_DEFINE_(static, tvmffi_call_##name, text, tvmffi_func_##name, \
                   tvmffi_body_##name, TVMFFI_I_COUNT(__VA_ARGS__),      \
                   __VA_ARGS__)                                          \
  TVMFFI_I_BODY(tvmffi_body_##name, TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__)
#define TVMFFI_I_PATH "ffi.reflection.AccessPath."

/* Returns a new object, or passes the error on that NULL stands for. */
#define TVMFFI_I_RETURN_NEW(...)        \
  do {                                  \
    TVMFFIObject *made = (__VA_ARGS__); \
    if (!made) return -1;               \
    TVMFFI_RETURN(made);                \
  } while (0)

TVMFFI_I_METHOD(i_path_root, TVMFFI_I_PATH "_root", i_path) {
  TVMFFI_I_RETURN_NEW(tvmffi_i_new_path(NULL, NULL));
}

TVMFFI_I_METHOD(i_path_extend, TVMFFI_I_PATH "_extend", i_path, (i_path, self),
                (i_step, step)) {
  tvmffi_retain(step);
  TVMFFI_I_RETURN_NEW(tvmffi_i_new_path(self, step));
}

/* The three kinds of steps, each also as one that found nothing. */
#define TVMFFI_I_PATH_METHOD(name, kind, T, own)                              \
  TVMFFI_I_METHOD(i_path_##name, TVMFFI_I_PATH "_" #name, i_path,             \
                  (i_path, self), (T, key)) {                                 \
    TVMFFIAny owned;                                                          \
    TVMFFI_TRY(own(&owned, &key));                                            \
    TVMFFI_I_RETURN_NEW(tvmffi_i_step_to(self, TVMFFI_I_STEP_##kind, owned)); \
  }

static int tvmffi_i_own_str(TVMFFIAny *out, const TVMFFIByteArray *text) {
  return TVMFFIStringFromByteArray(text, out);
}
static int tvmffi_i_own_int(TVMFFIAny *out, const int64_t *value) {
  *out = tvmffi_int(*value);
  return 0;
}
static int tvmffi_i_own_any(TVMFFIAny *out, const TVMFFIAny *value) {
  return TVMFFIAnyViewToOwnedAny(value, out);
}
TVMFFI_I_PATH_METHOD(attr, ATTR, str, tvmffi_i_own_str)
TVMFFI_I_PATH_METHOD(array_item, ARRAY_ITEM, int64, tvmffi_i_own_int)
TVMFFI_I_PATH_METHOD(map_item, MAP_ITEM, any, tvmffi_i_own_any)
TVMFFI_I_PATH_METHOD(attr_missing, ATTR_MISSING, str, tvmffi_i_own_str)
TVMFFI_I_PATH_METHOD(array_item_missing, ARRAY_ITEM_MISSING, int64,
                     tvmffi_i_own_int)
TVMFFI_I_PATH_METHOD(map_item_missing, MAP_ITEM_MISSING, any, tvmffi_i_own_any)

TVMFFI_I_METHOD(i_path_equal, TVMFFI_I_PATH "_path_equal", bool, (i_path, self),
                (i_path, other)) {
  int same = tvmffi_i_same_path((const tvmffi_i_path *)(void *)self,
                                (const tvmffi_i_path *)(void *)other);
  if (same < 0) return same;
  TVMFFI_RETURN(same != 0);
}

TVMFFI_I_METHOD(i_path_is_prefix, TVMFFI_I_PATH "_is_prefix_of", bool,
                (i_path, self), (i_path, other)) {
  const tvmffi_i_path *a = (const tvmffi_i_path *)(void *)self;
  const tvmffi_i_path *b = (const tvmffi_i_path *)(void *)other;
  int same;
  while (b && b->depth > a->depth) TVMFFI_TRY(tvmffi_i_parent_path(b, &b));
  same = b ? tvmffi_i_same_path(a, b) : 0;
  if (same < 0) return same;
  TVMFFI_RETURN(same != 0);
}

TVMFFI_I_METHOD(i_path_steps, TVMFFI_I_PATH "_to_steps", i_steps,
                (i_path, self)) {
  const tvmffi_i_path *p = (const tvmffi_i_path *)(void *)self, *parent;
  TVMFFIObject *steps;
  TVMFFIAny *items;
  int64_t n = 0;
  for (;; p = parent, ++n) {
    TVMFFI_TRY(tvmffi_i_parent_path(p, &parent));
    if (!parent) break;
  }
  steps = tvmffi_i_new_array(n, &items);
  if (!steps) return -1;
  for (p = (const tvmffi_i_path *)(void *)self; n--;
       p = (const tvmffi_i_path *)(void *)p->parent) {
    tvmffi_retain(p->step);
    items[n] = tvmffi_obj(p->step);
  }
  TVMFFI_RETURN(steps);
}

/* Creators. The fields of a new object are zero where none is filled in. */
#define TVMFFI_I_CREATOR(name, index, type)                     \
  static int tvmffi_i_create_##name(TVMFFIObjectHandle *out) {  \
    TVMFFIObject *o = tvmffi_i_new_object(index, sizeof(type)); \
    *out = o;                                                   \
    return o ? 0 : -1;                                          \
  }
TVMFFI_I_CREATOR(interrupt, kTVMFFIVisitInterrupt, tvmffi_i_interrupt)
TVMFFI_I_CREATOR(step, TVMFFI_I_ACCESS_STEP, tvmffi_i_step)
TVMFFI_I_CREATOR(path, TVMFFI_I_ACCESS_PATH, tvmffi_i_path)
TVMFFI_I_CREATOR(structural_key, TVMFFI_I_STRUCTURAL_KEY,
                 tvmffi_i_structural_key)

static int tvmffi_i_new_enum(int32_t index, TVMFFIObjectHandle *out) {
  tvmffi_i_enum *e =
      (tvmffi_i_enum *)(void *)tvmffi_i_new_object(index, sizeof(*e));
  *out = e;
  if (!e) return -1;
  e->str_index.type_index = kTVMFFISmallStr;
  return 0;
}
static int tvmffi_i_create_enum(TVMFFIObjectHandle *out) {
  return tvmffi_i_new_enum(TVMFFI_I_ENUM_BASE, out);
}
static int tvmffi_i_create_int_enum(TVMFFIObjectHandle *out) {
  return tvmffi_i_new_enum(TVMFFI_I_INT_ENUM, out);
}
static int tvmffi_i_create_str_enum(TVMFFIObjectHandle *out) {
  return tvmffi_i_new_enum(TVMFFI_I_STR_ENUM, out);
}

static int tvmffi_i_create_enum_state(TVMFFIObjectHandle *out) {
  tvmffi_i_enum_state *s = (tvmffi_i_enum_state *)(void *)tvmffi_i_new_object(
      TVMFFI_I_ENUM_STATE, sizeof(*s));
  *out = NULL;
  if (!s) return -1;
  s->entries = tvmffi_i_new_list(0);
  if (s->entries) s->indexes = tvmffi_i_new_map(kTVMFFIDict, 0);
  if (s->indexes) s->attrs = tvmffi_i_new_map(kTVMFFIDict, 0);
  if (!s->attrs) {
    tvmffi_release(s);
    return -1;
  }
  *out = s;
  return 0;
}

static int tvmffi_i_create_error_context(TVMFFIObjectHandle *out) {
  tvmffi_i_error_context *c =
      (tvmffi_i_error_context *)(void *)tvmffi_i_new_object(
          TVMFFI_I_VISIT_ERROR_CONTEXT, sizeof(*c));
  *out = NULL;
  if (!c) return -1;
  c->pattern = tvmffi_i_new_list(0);
  if (!c->pattern) {
    tvmffi_release(c);
    return -1;
  }
  *out = c;
  return 0;
}

TVMFFI_I_METHOD(i_enum_state_init, "ffi.EnumState.__ffi_init__", object) {
  TVMFFIObjectHandle made = NULL;
  TVMFFI_TRY(tvmffi_i_create_enum_state(&made));
  TVMFFI_RETURN((TVMFFIObject *)made);
}

#if !TVMFFI_NO_EXTRA
/* Both with >>structural. */
static TVMFFIObject *tvmffi_i_new_structural_key(const TVMFFIAny *value);
static int tvmffi_i_structural_key_equal(const TVMFFIAny *a,
                                         const TVMFFIAny *b);

#define TVMFFI_I_KEY "ffi.StructuralKey."
TVMFFI_I_METHOD(i_structural_key_init, TVMFFI_I_KEY "__ffi_init__", object,
                (any, value)) {
  TVMFFI_I_RETURN_NEW(tvmffi_i_new_structural_key(&value));
}
#endif

/* A type that a value is converted to, by its name in messages. */
typedef struct tvmffi_i_target {
  int32_t index;
  int nullable;
  const char *name;
} tvmffi_i_target;

static const tvmffi_i_target tvmffi_i_targets[] = {
    {kTVMFFIObject, 1, "ffi.Object"},     {kTVMFFIStr, 0, "str"},
    {kTVMFFIBytes, 0, "bytes"},           {kTVMFFIError, 0, "ffi.Error"},
    {kTVMFFIFunction, 1, "ffi.Function"}, {kTVMFFIShape, 0, "ffi.Shape"},
    {kTVMFFITensor, 1, "ffi.Tensor"},     {kTVMFFIArray, 0, "Array<Any>"},
    {kTVMFFIMap, 0, "Map<Any, Any>"},     {kTVMFFIList, 0, "List<Any>"},
    {kTVMFFIDict, 0, "Dict<Any, Any>"},   {TVMFFI_I_INT_ENUM, 0, "ffi.IntEnum"},
    {TVMFFI_I_STR_ENUM, 0, "ffi.StrEnum"}};

static const tvmffi_i_target *tvmffi_i_target_of(int32_t index) {
  const tvmffi_i_target *t = tvmffi_i_targets;
  while (t->index != index) ++t;
  return t;
}

/* Makes an array or list of the items of the other one. */
static int tvmffi_i_convert_seq(const TVMFFISeqCell *from, int32_t index,
                                TVMFFIAny *out) {
  const TVMFFIAny *items = (const TVMFFIAny *)from->data;
  TVMFFIObject *made;
  TVMFFIAny *to = NULL;
  int64_t i;
  if (index == kTVMFFIArray) {
    made = tvmffi_i_new_array(from->size, &to);
    for (i = 0; made && i < from->size; ++i)
      to[i] = tvmffi_i_copy_owned(&items[i]);
  } else {
    made = tvmffi_i_new_list(from->size);
    for (i = 0; made && i < from->size; ++i)
      if (tvmffi_i_list_append(made, &items[i])) {
        tvmffi_release(made);
        made = NULL;
      }
  }
  if (!made) return -1;
  *out = tvmffi_obj(made);
  return 0;
}

/* Makes a shape of integers; TVMFFI_I_MISMATCH if others are among them. */
static int tvmffi_i_convert_shape(const TVMFFISeqCell *from, TVMFFIAny *out) {
  const TVMFFIAny *items = (const TVMFFIAny *)from->data;
  int64_t i, *numbers = NULL;
  tvmffi_i_shape *shape = tvmffi_i_new_shape((size_t)from->size, &numbers);
  if (!shape) return -1;
  for (i = 0; i < from->size; ++i)
    if (tvmffi_i_get_int64(&items[i], &numbers[i])) {
      tvmffi_release(shape);
      return TVMFFI_I_MISMATCH;
    }
  *out = tvmffi_obj(shape);
  return 0;
}

/* Converts a borrowed value to an owned one as upstream's `cast` does: 0, an
   error's code, or TVMFFI_I_MISMATCH. */
static int tvmffi_i_convert_to(const tvmffi_i_target *to,
                               const TVMFFIAny *value, TVMFFIAny *out) {
  int32_t index = value->type_index;
  TVMFFIByteArray text;
  int seq = (index == kTVMFFIArray || index == kTVMFFIList) && value->v_obj;
  int map = (index == kTVMFFIMap || index == kTVMFFIDict) && value->v_obj;
  TVMFFIObject *made;
  if (index == kTVMFFINone && to->nullable) {
    *out = tvmffi_none();
    return 0;
  }
  if (index >= kTVMFFIStaticObjectBegin && value->v_obj &&
      tvmffi_is_instance(index, to->index))
    return TVMFFIAnyViewToOwnedAny(value, out);
  switch (to->index) {
    case kTVMFFIStr:
      if (tvmffi_i_get_str(value, &text)) break;
      return TVMFFIStringFromByteArray(&text, out);
    case kTVMFFIBytes:
      if (tvmffi_i_get_bytes(value, &text)) break;
      return TVMFFIBytesFromByteArray(&text, out);
    case kTVMFFIShape:
      if (!seq) break;
      return tvmffi_i_convert_shape(TVMFFI_I_CELL(TVMFFISeqCell, value->v_obj),
                                    out);
    case kTVMFFIArray:
    case kTVMFFIList:
      if (!seq) break;
      return tvmffi_i_convert_seq(TVMFFI_I_CELL(TVMFFISeqCell, value->v_obj),
                                  to->index, out);
    case kTVMFFIMap:
    case kTVMFFIDict:
      if (!map) break;
      made = tvmffi_i_map_copy(value->v_obj, to->index);
      if (!made) return -1;
      *out = tvmffi_obj(made);
      return 0;
    default: break;
  }
  return TVMFFI_I_MISMATCH;
}

/* The attributes that are functions. Such an object is called with itself as
   handle, which tells its row. */
typedef struct {
  int column;
  int32_t type_index;
  TVMFFISafeCallType call;
} tvmffi_i_attr;

static int tvmffi_i_call_new(void *self, const TVMFFIAny *args,
                             int32_t num_args, TVMFFIAny *result);
static int tvmffi_i_call_copy(void *self, const TVMFFIAny *args,
                              int32_t num_args, TVMFFIAny *result);
static int tvmffi_i_call_convert(void *self, const TVMFFIAny *args,
                                 int32_t num_args, TVMFFIAny *result);
#if !TVMFFI_NO_EXTRA /* of >>compare */
static TVMFFI_I_CALL_HEAD(tvmffi_call_i_step_repr);
static TVMFFI_I_CALL_HEAD(tvmffi_call_i_path_repr);
static TVMFFI_I_CALL_HEAD(tvmffi_call_i_bigint_hash);
static TVMFFI_I_CALL_HEAD(tvmffi_call_i_bigint_eq);
static TVMFFI_I_CALL_HEAD(tvmffi_call_i_bigint_compare);
static TVMFFI_I_CALL_HEAD(tvmffi_call_i_bigint_to_json); /* of >>serial */
static TVMFFI_I_CALL_HEAD(tvmffi_call_i_bigint_from_json);
#endif
#if !TVMFFI_NO_EXTRA /* of >>compare */
static TVMFFI_I_CALL_HEAD(tvmffi_call_i_step_repr);
static TVMFFI_I_CALL_HEAD(tvmffi_call_i_path_repr);
static TVMFFI_I_CALL_HEAD(tvmffi_call_i_bigint_hash);
static TVMFFI_I_CALL_HEAD(tvmffi_call_i_bigint_eq);
static TVMFFI_I_CALL_HEAD(tvmffi_call_i_bigint_compare);
static TVMFFI_I_CALL_HEAD(tvmffi_call_i_bigint_to_json); /* of >>serial */
static TVMFFI_I_CALL_HEAD(tvmffi_call_i_bigint_from_json);
#endif

/* The attribute columns that upstream makes while it is loaded, with their
   sizes, which clients may look at. */
typedef struct {
  const char *name;
  int32_t size;
} tvmffi_i_column_row;
enum {
  TVMFFI_I_COLUMN_NEW,
  TVMFFI_I_COLUMN_INIT,
  TVMFFI_I_COLUMN_COPY,
  TVMFFI_I_COLUMN_CONVERT,
  TVMFFI_I_COLUMN_ANY_HASH,
  TVMFFI_I_COLUMN_ANY_EQUAL,
  TVMFFI_I_COLUMN_FINAL,
  TVMFFI_I_COLUMN_REPR,
  TVMFFI_I_COLUMN_HASH,
  TVMFFI_I_COLUMN_EQ,
  TVMFFI_I_COLUMN_COMPARE,
  TVMFFI_I_COLUMN_TO_JSON,
  TVMFFI_I_COLUMN_FROM_JSON,
  TVMFFI_I_COLUMN_VISIT,
  TVMFFI_I_COLUMN_MUTATE,
  TVMFFI_I_COLUMN_MUTATE_INPLACE,
  TVMFFI_I_COLUMN_ENUM,
  TVMFFI_I_COLUMN_STRUCTURAL_EQUAL,
  TVMFFI_I_COLUMN_STRUCTURAL_HASH,
  TVMFFI_I_NUM_COLUMNS,
  TVMFFI_I_NUM_FULL_COLUMNS = TVMFFI_I_COLUMN_ENUM
};
static const tvmffi_i_column_row tvmffi_i_column_rows[TVMFFI_I_NUM_COLUMNS] = {
    {"__ffi_new__", TVMFFI_I_NUM_INDICES},
    {"__ffi_init__", TVMFFI_I_NUM_INDICES},
    {"__ffi_shallow_copy__", TVMFFI_I_NUM_INDICES},
    {"__ffi_convert__", TVMFFI_I_STR_ENUM + 1},
    {"__any_hash__", TVMFFI_I_NUM_INDICES},
    {"__any_equal__", TVMFFI_I_NUM_INDICES},
    {"__ffi_type_final__", TVMFFI_I_NUM_INDICES},
    {"__ffi_repr__", TVMFFI_I_ACCESS_PATH + 1},
    {"__ffi_hash__", kTVMFFIBigInt + 1},
    {"__ffi_eq__", kTVMFFIBigInt + 1},
    {"__ffi_compare__", kTVMFFIBigInt + 1},
    {"__data_to_json__", kTVMFFIBigInt + 1},
    {"__data_from_json__", kTVMFFIBigInt + 1},
    {"__s_visit__", kTVMFFIDict + 1},
    {"__s_mutate__", kTVMFFIBigInt + 1},
    {"__s_maybe_inplace_mutate__", kTVMFFIBigInt + 1},
    {"__ffi_enum__", 0},
    {"__s_equal__", 0},
    {"__s_hash__", 0}};
static tvmffi_i_column tvmffi_i_static_columns[TVMFFI_I_NUM_COLUMNS];
static TVMFFIAny tvmffi_i_column_values[TVMFFI_I_NUM_FULL_COLUMNS]
                                       [TVMFFI_I_NUM_INDICES];

#define TVMFFI_I_NEW_OF(type) {TVMFFI_I_COLUMN_NEW, type, tvmffi_i_call_new}
#define TVMFFI_I_COPY_OF(type) {TVMFFI_I_COLUMN_COPY, type, tvmffi_i_call_copy}
#define TVMFFI_I_CONVERT_OF(type) \
  {TVMFFI_I_COLUMN_CONVERT, type, tvmffi_i_call_convert}
static const tvmffi_i_attr tvmffi_i_attrs[] = {
    TVMFFI_I_NEW_OF(kTVMFFIVisitInterrupt),
    TVMFFI_I_NEW_OF(TVMFFI_I_ENUM_STATE),
    TVMFFI_I_NEW_OF(TVMFFI_I_ENUM_BASE),
    TVMFFI_I_NEW_OF(TVMFFI_I_INT_ENUM),
    TVMFFI_I_NEW_OF(TVMFFI_I_STR_ENUM),
    TVMFFI_I_NEW_OF(TVMFFI_I_ACCESS_STEP),
    TVMFFI_I_NEW_OF(TVMFFI_I_ACCESS_PATH),
    TVMFFI_I_NEW_OF(TVMFFI_I_VISIT_ERROR_CONTEXT),
    TVMFFI_I_NEW_OF(TVMFFI_I_STRUCTURAL_KEY),
    {TVMFFI_I_COLUMN_INIT, TVMFFI_I_ENUM_STATE, tvmffi_call_i_enum_state_init},
#if !TVMFFI_NO_EXTRA
    {TVMFFI_I_COLUMN_INIT, TVMFFI_I_STRUCTURAL_KEY,
     tvmffi_call_i_structural_key_init},
#endif
    TVMFFI_I_COPY_OF(kTVMFFIVisitInterrupt),
    TVMFFI_I_COPY_OF(TVMFFI_I_ENUM_STATE),
    TVMFFI_I_COPY_OF(TVMFFI_I_ENUM_BASE),
    TVMFFI_I_COPY_OF(TVMFFI_I_INT_ENUM),
    TVMFFI_I_COPY_OF(TVMFFI_I_STR_ENUM),
    TVMFFI_I_COPY_OF(TVMFFI_I_ACCESS_STEP),
    TVMFFI_I_COPY_OF(TVMFFI_I_ACCESS_PATH),
    TVMFFI_I_COPY_OF(TVMFFI_I_STRUCTURAL_VISITOR),
    TVMFFI_I_COPY_OF(TVMFFI_I_VISIT_ERROR_CONTEXT),
    TVMFFI_I_COPY_OF(TVMFFI_I_STRUCTURAL_MUTATOR),
    TVMFFI_I_COPY_OF(TVMFFI_I_STRUCTURAL_KEY),
#if !TVMFFI_NO_EXTRA
    {TVMFFI_I_COLUMN_REPR, TVMFFI_I_ACCESS_STEP, tvmffi_call_i_step_repr},
    {TVMFFI_I_COLUMN_REPR, TVMFFI_I_ACCESS_PATH, tvmffi_call_i_path_repr},
    {TVMFFI_I_COLUMN_HASH, kTVMFFIBigInt, tvmffi_call_i_bigint_hash},
    {TVMFFI_I_COLUMN_EQ, kTVMFFIBigInt, tvmffi_call_i_bigint_eq},
    {TVMFFI_I_COLUMN_COMPARE, kTVMFFIBigInt, tvmffi_call_i_bigint_compare},
    {TVMFFI_I_COLUMN_TO_JSON, kTVMFFIBigInt, tvmffi_call_i_bigint_to_json},
    {TVMFFI_I_COLUMN_FROM_JSON, kTVMFFIBigInt, tvmffi_call_i_bigint_from_json},
#endif
#if !TVMFFI_NO_EXTRA
    {TVMFFI_I_COLUMN_REPR, TVMFFI_I_ACCESS_STEP, tvmffi_call_i_step_repr},
    {TVMFFI_I_COLUMN_REPR, TVMFFI_I_ACCESS_PATH, tvmffi_call_i_path_repr},
    {TVMFFI_I_COLUMN_HASH, kTVMFFIBigInt, tvmffi_call_i_bigint_hash},
    {TVMFFI_I_COLUMN_EQ, kTVMFFIBigInt, tvmffi_call_i_bigint_eq},
    {TVMFFI_I_COLUMN_COMPARE, kTVMFFIBigInt, tvmffi_call_i_bigint_compare},
    {TVMFFI_I_COLUMN_TO_JSON, kTVMFFIBigInt, tvmffi_call_i_bigint_to_json},
    {TVMFFI_I_COLUMN_FROM_JSON, kTVMFFIBigInt, tvmffi_call_i_bigint_from_json},
#endif
    TVMFFI_I_CONVERT_OF(kTVMFFIObject),
    TVMFFI_I_CONVERT_OF(kTVMFFIStr),
    TVMFFI_I_CONVERT_OF(kTVMFFIBytes),
    TVMFFI_I_CONVERT_OF(kTVMFFIError),
    TVMFFI_I_CONVERT_OF(kTVMFFIFunction),
    TVMFFI_I_CONVERT_OF(kTVMFFIShape),
    TVMFFI_I_CONVERT_OF(kTVMFFITensor),
    TVMFFI_I_CONVERT_OF(kTVMFFIArray),
    TVMFFI_I_CONVERT_OF(kTVMFFIMap),
    TVMFFI_I_CONVERT_OF(kTVMFFIList),
    TVMFFI_I_CONVERT_OF(kTVMFFIDict),
    TVMFFI_I_CONVERT_OF(TVMFFI_I_INT_ENUM),
    TVMFFI_I_CONVERT_OF(TVMFFI_I_STR_ENUM)};
enum {
  TVMFFI_I_NUM_ATTRS = sizeof(tvmffi_i_attrs) / sizeof(tvmffi_i_attrs[0])
};
static tvmffi_i_function_object tvmffi_i_attr_functions[TVMFFI_I_NUM_ATTRS];

/* Whether a type may have children, as C++ declares it. */
typedef struct {
  int32_t type_index;
  int final;
} tvmffi_i_finality;
static const tvmffi_i_finality tvmffi_i_finalities[] = {
    {kTVMFFIModule, 1},
    {kTVMFFIVisitInterrupt, 1},
    {kTVMFFIBigInt, 1},
    {TVMFFI_I_ENUM_STATE, 1},
    {TVMFFI_I_ENUM_BASE, 0},
    {TVMFFI_I_INT_ENUM, 0},
    {TVMFFI_I_STR_ENUM, 0},
    {TVMFFI_I_ACCESS_STEP, 1},
    {TVMFFI_I_ACCESS_PATH, 1},
    {TVMFFI_I_STRUCTURAL_VISITOR, 0},
    {TVMFFI_I_VISIT_ERROR_CONTEXT, 1},
    {TVMFFI_I_STRUCTURAL_MUTATOR, 0},
    {TVMFFI_I_STRUCTURAL_KEY, 1}};

static const tvmffi_i_attr *tvmffi_i_attr_of(const void *function) {
  const tvmffi_i_function_object *f =
      (const tvmffi_i_function_object *)function;
  return &tvmffi_i_attrs[f - tvmffi_i_attr_functions];
}

/* Raises for a call of such a function that has a wrong number of arguments,
   or a wrong first one. */
TVMFFI_I_SLOW int tvmffi_i_bad_attr_call(const tvmffi_i_attr *attr,
                                         const TVMFFIAny *args,
                                         int32_t num_args,
                                         const TVMFFIAny *result) {
  tvmffi_i_name arg = {tvmffi_i_type_key(attr->type_index), NULL};
  tvmffi_i_name to = {"ffi.Object", NULL};
  const tvmffi_i_name *types[2];
  tvmffi_func f;
  char name[96];
  size_t n = tvmffi_i_append(name, 0, arg.name);
  n = tvmffi_i_append(name, n, ".");
  n = tvmffi_i_append(name, n, tvmffi_i_column_rows[attr->column].name);
  name[n] = 0;
  if (attr->column == TVMFFI_I_COLUMN_CONVERT) {
    arg.name = "AnyView";
    to.name = tvmffi_i_target_of(attr->type_index)->name;
  }
  types[0] = &to;
  types[1] = &arg;
  f.name = name;
  f.call = NULL;
  f.num_args = attr->column != TVMFFI_I_COLUMN_NEW;
  f.types = types;
  if (num_args != f.num_args) return tvmffi_i_bad_call(&f, num_args, result);
  return tvmffi_i_bad_arg(&f, 0, args, TVMFFI_I_MISMATCH);
}

static int tvmffi_i_call_new(void *self, const TVMFFIAny *args,
                             int32_t num_args, TVMFFIAny *result) {
  const tvmffi_i_attr *attr = tvmffi_i_attr_of(self);
  TVMFFIObjectHandle made = NULL;
  if (num_args) return tvmffi_i_bad_attr_call(attr, args, num_args, result);
  TVMFFI_TRY(TVMFFIGetTypeInfo(attr->type_index)->metadata->creator(&made));
  *result = tvmffi_obj(made);
  return 0;
}

static int tvmffi_i_call_copy(void *self, const TVMFFIAny *args,
                              int32_t num_args, TVMFFIAny *result) {
  const tvmffi_i_attr *attr = tvmffi_i_attr_of(self);
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(attr->type_index);
  TVMFFIObject *o;
  if (num_args != 1 || args->type_index < kTVMFFIStaticObjectBegin ||
      !args->v_obj || !tvmffi_is_instance(args->type_index, attr->type_index))
    return tvmffi_i_bad_attr_call(attr, args, num_args, result);
  o = tvmffi_i_copy_object(args->v_obj, type,
                           (size_t)type->metadata->total_size);
  if (!o) return -1;
  *result = tvmffi_obj(o);
  return 0;
}

static int tvmffi_i_call_convert(void *self, const TVMFFIAny *args,
                                 int32_t num_args, TVMFFIAny *result) {
  const tvmffi_i_attr *attr = tvmffi_i_attr_of(self);
  const tvmffi_i_target *to = tvmffi_i_target_of(attr->type_index);
  int code;
  if (num_args != 1)
    return tvmffi_i_bad_attr_call(attr, args, num_args, result);
  code = tvmffi_i_convert_to(to, args, result);
  if (code <= 0) return code;
  return tvmffi_i_fail("TypeError", "Cannot cast from `%s` to `%s`",
                       tvmffi_i_type_key(args->type_index), to->name);
}

/* Functions for the columns __any_hash__ and __any_equal__, called by C++, too:
   they give their result or, in its place, an error. */
static TVMFFIAny tvmffi_i_take_error(void) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  return tvmffi_obj(error);
}

#if defined(__cplusplus)
extern "C" {
#endif
static TVMFFIAny tvmffi_i_hash_bigint(const TVMFFIAny *value) {
  TVMFFIByteArray words = TVMFFIBigIntGetContentByteArray(value);
  if (!words.data) return tvmffi_i_take_error();
  return tvmffi_int((int64_t)tvmffi_i_stable_hash(words.data, words.size));
}

static TVMFFIAny tvmffi_i_equal_bigint(const TVMFFIAny *a, const TVMFFIAny *b) {
  TVMFFIByteArray x = TVMFFIBigIntGetContentByteArray(a);
  TVMFFIByteArray y = TVMFFIBigIntGetContentByteArray(b);
  if (!x.data || !y.data) return tvmffi_i_take_error();
  return tvmffi_bool(tvmffi_i_same_text(x, y));
}

static TVMFFIAny tvmffi_i_hash_structural_key(const TVMFFIAny *value) {
  const tvmffi_i_structural_key *key =
      (const tvmffi_i_structural_key *)value->v_ptr;
  if (value->type_index == TVMFFI_I_STRUCTURAL_KEY && key)
    return tvmffi_int(key->hash);
  (void)tvmffi_i_bad_cast(value, "ffi.StructuralKey");
  return tvmffi_i_take_error();
}

#if !TVMFFI_NO_EXTRA
static TVMFFIAny tvmffi_i_equal_structural_key(const TVMFFIAny *a,
                                               const TVMFFIAny *b) {
  int code = tvmffi_i_structural_key_equal(a, b);
  return code < 0 ? tvmffi_i_take_error() : tvmffi_bool(code != 0);
}
#endif
#if defined(__cplusplus)
}
#endif

/* What the fields of the built-in types hold: layout, access, and the schema
   in their metadata. */
typedef struct {
  int32_t size, alignment, type_index;
  TVMFFIFieldGetter get;
  TVMFFIFieldSetter set;
  const char *schema;
} tvmffi_i_content;

/* Sets a reference to what the value is converted to. */
static int tvmffi_i_set_converted(void *field, const TVMFFIAny *value,
                                  int32_t index, const char *name) {
  TVMFFIAny made = tvmffi_none();
  int code = tvmffi_i_convert_to(tvmffi_i_target_of(index), value, &made);
  if (code > 0) return tvmffi_i_bad_cast(value, name);
  if (code) return code;
  tvmffi_i_put_reference(field, &made);
  tvmffi_any_release(&made);
  return 0;
}

/* A reference to an object of one type, or none. */
static int tvmffi_i_set_optional_step(void *field, const TVMFFIAny *value) {
  if (value->type_index != kTVMFFINone &&
      value->type_index != TVMFFI_I_ACCESS_STEP)
    return tvmffi_i_bad_cast(value, "Optional<ffi.reflection.AccessStep>");
  return tvmffi_i_set_reference(field, value);
}

static int tvmffi_i_set_optional(void *field, const TVMFFIAny *value) {
  if (value->type_index != kTVMFFINone &&
      value->type_index < kTVMFFIStaticObjectBegin)
    return tvmffi_i_bad_cast(value, "Optional<ffi.Object>");
  return tvmffi_i_set_reference(field, value);
}

static int tvmffi_i_set_str_field(void *field, const TVMFFIAny *value) {
  TVMFFIAny made = tvmffi_none();
  int code = tvmffi_i_convert_to(tvmffi_i_target_of(kTVMFFIStr), value, &made);
  if (code > 0) return tvmffi_i_bad_cast(value, "str");
  if (code) return code;
  tvmffi_any_release((TVMFFIAny *)field);
  *(TVMFFIAny *)field = made;
  return 0;
}

/* Sets a list that holds objects (or None) only. */
static int tvmffi_i_set_objects(void *field, const TVMFFIAny *value) {
  const TVMFFISeqCell *cell;
  int64_t i;
  if ((value->type_index == kTVMFFIList || value->type_index == kTVMFFIArray) &&
      value->v_obj) {
    cell = TVMFFI_I_CELL(TVMFFISeqCell, value->v_obj);
    for (i = 0; i < cell->size; ++i) {
      const TVMFFIAny *item = (const TVMFFIAny *)cell->data + i;
      if (item->type_index != kTVMFFINone &&
          item->type_index < kTVMFFIStaticObjectBegin)
        return tvmffi_i_fail(
            "TypeError",
            "Cannot convert from type `List[index %lld: %s]` to "
            "`List<ffi.Object>`",
            (long long)i, tvmffi_i_type_key(item->type_index));
    }
  }
  return tvmffi_i_set_converted(field, value, kTVMFFIList, "List<ffi.Object>");
}

static int tvmffi_i_set_array(void *field, const TVMFFIAny *value) {
  return tvmffi_i_set_converted(field, value, kTVMFFIArray, "Array<Any>");
}

/* Whether a key or value of a dict is as a field declares it: by a letter any
   value, an Object or none, a Str, or a Dict with objects as keys. 2: as it
   stands, 1: once it is converted, 0: not. */
static int tvmffi_i_fits(char kind, const TVMFFIAny *item) {
  int32_t index = item->type_index;
  const tvmffi_i_pair *pair;
  uint64_t i;
  if (kind == 'A') return 2;
  if (kind == 'S')
    return index == kTVMFFISmallStr || index == kTVMFFIStr ? 2 : 0;
  if (kind == 'O')
    return index == kTVMFFINone || index >= kTVMFFIStaticObjectBegin ? 2 : 0;
  if (index != kTVMFFIMap && index != kTVMFFIDict) return 0;
  for (i = tvmffi_i_map_begin(item->v_obj);
       (pair = tvmffi_i_map_pair(item->v_obj, i)) != NULL;
       i = tvmffi_i_map_after(item->v_obj, i))
    if (!tvmffi_i_fits('O', &pair->key)) return 0;
  return index == kTVMFFIDict ? 2 : 1;
}

/* Raises for a dict with such a key or value. */
static int tvmffi_i_bad_dict(const TVMFFIAny *item, int is_key,
                             const char *name) {
  const tvmffi_i_pair *pair = NULL;
  uint64_t i;
  if (item->type_index == kTVMFFIMap || item->type_index == kTVMFFIDict)
    for (i = tvmffi_i_map_begin(item->v_obj);
         (pair = tvmffi_i_map_pair(item->v_obj, i)) != NULL &&
         tvmffi_i_fits('O', &pair->key);
         i = tvmffi_i_map_after(item->v_obj, i)) {
    }
  return tvmffi_i_fail(
      "TypeError", "Cannot convert from type `Dict[%s is %s%s%s%s]` to `%s`",
      is_key ? "some key" : "K, some value", pair ? "Dict[some key is " : "",
      tvmffi_i_type_key(pair ? pair->key.type_index : item->type_index),
      pair ? ", V]" : "", is_key ? ", V" : "", name);
}

/* Sets a dict whose keys and values are of the two kinds. */
static int tvmffi_i_set_dict(void *field, const TVMFFIAny *value,
                             const char *kinds, const char *name) {
  TVMFFIObject *from, *made;
  const tvmffi_i_pair *pair;
  int code = 0, fits = value->type_index == kTVMFFIDict ? 2 : 1;
  TVMFFIAny result;
  uint64_t i;
  if ((value->type_index != kTVMFFIMap && fits != 2) || !value->v_obj)
    return tvmffi_i_bad_cast(value, name);
  from = value->v_obj;
  for (i = tvmffi_i_map_begin(from);
       (pair = tvmffi_i_map_pair(from, i)) != NULL;
       i = tvmffi_i_map_after(from, i)) {
    int of_value = tvmffi_i_fits(kinds[1], &pair->value);
    if (!tvmffi_i_fits(kinds[0], &pair->key))
      return tvmffi_i_bad_dict(&pair->key, 1, name);
    if (!of_value) return tvmffi_i_bad_dict(&pair->value, 0, name);
    if (of_value < fits) fits = of_value;
  }
  if (fits == 2) {
    tvmffi_i_put_reference(field, value);
    return 0;
  }
  made = tvmffi_i_new_map(kTVMFFIDict, tvmffi_i_map_size(from));
  if (!made) return -1;
  for (i = tvmffi_i_map_begin(from);
       !code && (pair = tvmffi_i_map_pair(from, i)) != NULL;
       i = tvmffi_i_map_after(from, i)) {
    TVMFFIAny item = pair->value;
    if (kinds[1] == 'D' && item.type_index == kTVMFFIMap)
      item = tvmffi_obj(tvmffi_i_map_copy(item.v_obj, kTVMFFIDict));
    else
      item = tvmffi_i_copy_owned(&item);
    code = kinds[1] == 'D' && !item.v_obj
               ? -1
               : tvmffi_i_map_set(&made, &pair->key, &item);
    tvmffi_any_release(&item);
  }
  if (!code) {
    result = tvmffi_obj(made);
    tvmffi_i_put_reference(field, &result);
  }
  tvmffi_release(made);
  return code;
}

static int tvmffi_i_set_indexes(void *field, const TVMFFIAny *value) {
  return tvmffi_i_set_dict(field, value, "AO", "Dict<Any, ffi.Object>");
}

static int tvmffi_i_set_enum_attrs(void *field, const TVMFFIAny *value) {
  return tvmffi_i_set_dict(field, value, "SD",
                           "Dict<str, Dict<ffi.Object, Any>>");
}

#define TVMFFI_I_REFERENCE(index, set, schema) \
  {(int32_t)sizeof(void *),                    \
   (int32_t)sizeof(void *),                    \
   index,                                      \
   tvmffi_i_get_reference,                     \
   set,                                        \
   schema}
#define TVMFFI_I_ANY_CONTENT(set, schema) \
  {16, 8, kTVMFFIAny, tvmffi_i_get_any_field, set, schema}
#define TVMFFI_I_OF_OBJECT "{\"type\":\"ffi.Object\"}"
static const tvmffi_i_content tvmffi_i_any_content =
    TVMFFI_I_ANY_CONTENT(tvmffi_i_set_any_field, "Any");
static const tvmffi_i_content tvmffi_i_str_content =
    TVMFFI_I_ANY_CONTENT(tvmffi_i_set_str_field, "ffi.String");
static const tvmffi_i_content tvmffi_i_int64_content = {
    8,    8, kTVMFFIInt, tvmffi_i_get_int64_field, tvmffi_i_set_int64_field,
    "int"};
static const tvmffi_i_content tvmffi_i_int32_content = {
    4,    4, kTVMFFIInt, tvmffi_i_get_int32_field, tvmffi_i_set_int32_field,
    "int"};
static const tvmffi_i_content tvmffi_i_array_content = TVMFFI_I_REFERENCE(
    kTVMFFIArray, tvmffi_i_set_array,
    "{\"type\":\"ffi.Array\",\"args\":[{\"type\":\"Any\"}]}");
static const tvmffi_i_content tvmffi_i_objects_content = TVMFFI_I_REFERENCE(
    kTVMFFIList, tvmffi_i_set_objects,
    "{\"type\":\"ffi.List\",\"args\":[" TVMFFI_I_OF_OBJECT "]}");
static const tvmffi_i_content tvmffi_i_indexes_content = TVMFFI_I_REFERENCE(
    kTVMFFIObject, tvmffi_i_set_indexes,
    "{\"type\":\"ffi.Dict\",\"args\":[{\"type\":\"Any\"}," TVMFFI_I_OF_OBJECT
    "]}");
static const tvmffi_i_content tvmffi_i_enum_attrs_content = TVMFFI_I_REFERENCE(
    kTVMFFIObject, tvmffi_i_set_enum_attrs,
    "{\"type\":\"ffi.Dict\",\"args\":[{\"type\":\"ffi.String\"},{\"type\":"
    "\"ffi.Dict\",\"args\":[" TVMFFI_I_OF_OBJECT ",{\"type\":\"Any\"}]}]}");
static const tvmffi_i_content tvmffi_i_optional_content = TVMFFI_I_REFERENCE(
    kTVMFFIAny, tvmffi_i_set_optional,
    "{\"type\":\"Optional\",\"args\":[" TVMFFI_I_OF_OBJECT "]}");
static const tvmffi_i_content tvmffi_i_step_content = TVMFFI_I_REFERENCE(
    kTVMFFIAny, tvmffi_i_set_optional_step,
    "{\"type\":\"Optional\",\"args\":[{\"type\":\"ffi.reflection.AccessStep\"}]"
    "}");

/* The fields of the built-in types. */
typedef struct {
  int32_t type_index, flags;
  size_t offset;
  const tvmffi_i_content *content;
  const char *name, *doc;
} tvmffi_i_field;

enum {
  TVMFFI_I_NO_INIT = kTVMFFIFieldFlagBitMaskInitOff,
  TVMFFI_I_IGNORED = kTVMFFIFieldFlagBitMaskSEqHashIgnore
};
static const tvmffi_i_field tvmffi_i_fields[] = {
    {kTVMFFIModule, 0, sizeof(TVMFFIObject), &tvmffi_i_array_content,
     "imports_", NULL},
    {kTVMFFIVisitInterrupt, kTVMFFIFieldFlagBitMaskHasDefault,
     offsetof(tvmffi_i_interrupt, value), &tvmffi_i_any_content, "value", NULL},
    {TVMFFI_I_ENUM_STATE, TVMFFI_I_NO_INIT,
     offsetof(tvmffi_i_enum_state, entries), &tvmffi_i_objects_content,
     "entries", "Enum singletons in registration order."},
    {TVMFFI_I_ENUM_STATE, TVMFFI_I_NO_INIT,
     offsetof(tvmffi_i_enum_state, indexes), &tvmffi_i_indexes_content,
     "indexes", "Canonical integer and string indices to enum singletons."},
    {TVMFFI_I_ENUM_STATE, TVMFFI_I_NO_INIT,
     offsetof(tvmffi_i_enum_state, attrs), &tvmffi_i_enum_attrs_content,
     "attrs", "Extensible-attribute columns keyed by enum singleton."},
    {TVMFFI_I_ENUM_BASE, TVMFFI_I_IGNORED, offsetof(tvmffi_i_enum, int_index),
     &tvmffi_i_int64_content, "_int_index", "Canonical integer index."},
    {TVMFFI_I_ENUM_BASE, 0, offsetof(tvmffi_i_enum, str_index),
     &tvmffi_i_str_content, "_str_index", "Canonical string index."},
    {TVMFFI_I_INT_ENUM, TVMFFI_I_IGNORED | TVMFFI_I_NO_INIT,
     offsetof(tvmffi_i_enum, int_index), &tvmffi_i_int64_content, "value",
     "Canonical integer index."},
    {TVMFFI_I_STR_ENUM, TVMFFI_I_IGNORED | TVMFFI_I_NO_INIT,
     offsetof(tvmffi_i_enum, str_index), &tvmffi_i_str_content, "value",
     "Canonical string index."},
    {TVMFFI_I_ACCESS_STEP, 0, offsetof(tvmffi_i_step, kind),
     &tvmffi_i_int32_content, "kind", NULL},
    {TVMFFI_I_ACCESS_STEP, 0, offsetof(tvmffi_i_step, key),
     &tvmffi_i_any_content, "key", NULL},
    {TVMFFI_I_ACCESS_PATH, 0, offsetof(tvmffi_i_path, parent),
     &tvmffi_i_optional_content, "parent", NULL},
    {TVMFFI_I_ACCESS_PATH, 0, offsetof(tvmffi_i_path, step),
     &tvmffi_i_step_content, "step", NULL},
    {TVMFFI_I_ACCESS_PATH, 0, offsetof(tvmffi_i_path, depth),
     &tvmffi_i_int32_content, "depth", NULL},
    {TVMFFI_I_VISIT_ERROR_CONTEXT, 0, offsetof(tvmffi_i_error_context, pattern),
     &tvmffi_i_objects_content, "reverse_visit_pattern", NULL},
    {TVMFFI_I_VISIT_ERROR_CONTEXT, 0,
     offsetof(tvmffi_i_error_context, previous), &tvmffi_i_optional_content,
     "prev_error_context", NULL},
    {TVMFFI_I_STRUCTURAL_KEY, 0, offsetof(tvmffi_i_structural_key, key),
     &tvmffi_i_any_content, "key", NULL},
    {TVMFFI_I_STRUCTURAL_KEY, 0, offsetof(tvmffi_i_structural_key, hash),
     &tvmffi_i_int64_content, "hash_i64", NULL}};
enum {
  TVMFFI_I_NUM_FIELDS = sizeof(tvmffi_i_fields) / sizeof(tvmffi_i_fields[0])
};
static TVMFFIFieldInfo tvmffi_i_static_fields[TVMFFI_I_NUM_FIELDS];

/* Their methods; the names are those of the functions, behind the type's. */
typedef struct {
  int32_t type_index, flags;
  const tvmffi_func *func;
  const char *doc;
} tvmffi_i_method;
static const tvmffi_i_method tvmffi_i_methods[] = {
    {TVMFFI_I_ENUM_STATE, kTVMFFIFieldFlagBitMaskIsStaticMethod,
     &tvmffi_func_i_enum_state_init, NULL},
    {TVMFFI_I_ACCESS_PATH, kTVMFFIFieldFlagBitMaskIsStaticMethod,
     &tvmffi_func_i_path_root, NULL},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_extend, NULL},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_attr, NULL},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_array_item, NULL},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_map_item, NULL},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_attr_missing, NULL},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_array_item_missing, NULL},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_map_item_missing, NULL},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_is_prefix, NULL},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_steps, NULL},
    {TVMFFI_I_ACCESS_PATH, 0, &tvmffi_func_i_path_equal, NULL},
#if !TVMFFI_NO_EXTRA
    {TVMFFI_I_STRUCTURAL_KEY, kTVMFFIFieldFlagBitMaskIsStaticMethod,
     &tvmffi_func_i_structural_key_init,
     "Constructor that takes any key and computes its structural hash"}
#endif
};
enum {
  TVMFFI_I_NUM_METHODS = sizeof(tvmffi_i_methods) / sizeof(tvmffi_i_methods[0])
};
static TVMFFIMethodInfo tvmffi_i_static_methods[TVMFFI_I_NUM_METHODS];
static tvmffi_i_function_object tvmffi_i_method_objects[TVMFFI_I_NUM_METHODS];

/* The metadata of the built-in types. A module begins with the table of
   virtual functions, 8 bytes before its object. */
typedef struct {
  int32_t type_index;
  size_t size;
  TVMFFIObjectCreator creator;
  TVMFFISEqHashKind kind;
} tvmffi_i_meta;
static const tvmffi_i_meta tvmffi_i_metas[] = {
    {kTVMFFIModule, sizeof(TVMFFIObject) + 3 * sizeof(void *), NULL,
     kTVMFFISEqHashKindUnsupported},
    {kTVMFFIVisitInterrupt, sizeof(tvmffi_i_interrupt),
     tvmffi_i_create_interrupt, kTVMFFISEqHashKindUnsupported},
    {kTVMFFIBigInt, TVMFFI_I_BIGINT_WORDS, NULL, kTVMFFISEqHashKindUnsupported},
    {TVMFFI_I_ENUM_STATE, sizeof(tvmffi_i_enum_state),
     tvmffi_i_create_enum_state, kTVMFFISEqHashKindUnsupported},
    {TVMFFI_I_ENUM_BASE, sizeof(tvmffi_i_enum), tvmffi_i_create_enum,
     kTVMFFISEqHashKindUniqueInstance},
    {TVMFFI_I_INT_ENUM, sizeof(tvmffi_i_enum), tvmffi_i_create_int_enum,
     kTVMFFISEqHashKindUniqueInstance},
    {TVMFFI_I_STR_ENUM, sizeof(tvmffi_i_enum), tvmffi_i_create_str_enum,
     kTVMFFISEqHashKindUniqueInstance},
    {TVMFFI_I_ACCESS_STEP, sizeof(tvmffi_i_step), tvmffi_i_create_step,
     kTVMFFISEqHashKindConstTreeNode},
    {TVMFFI_I_ACCESS_PATH, sizeof(tvmffi_i_path), tvmffi_i_create_path,
     kTVMFFISEqHashKindConstTreeNode},
    {TVMFFI_I_STRUCTURAL_VISITOR, sizeof(tvmffi_i_visitor), NULL,
     kTVMFFISEqHashKindUnsupported},
    {TVMFFI_I_VISIT_ERROR_CONTEXT, sizeof(tvmffi_i_error_context),
     tvmffi_i_create_error_context, kTVMFFISEqHashKindUnsupported},
    {TVMFFI_I_STRUCTURAL_MUTATOR, sizeof(tvmffi_i_visitor), NULL,
     kTVMFFISEqHashKindUnsupported},
    {TVMFFI_I_STRUCTURAL_KEY, sizeof(tvmffi_i_structural_key),
     tvmffi_i_create_structural_key, kTVMFFISEqHashKindUnsupported}};
enum {
  TVMFFI_I_NUM_METAS = sizeof(tvmffi_i_metas) / sizeof(tvmffi_i_metas[0])
};

/* The metadata of fields and methods, put together at the start. */
static char tvmffi_i_meta_texts[8 * 1024];
static size_t tvmffi_i_meta_used;

static void tvmffi_i_fill_function(tvmffi_i_function_object *f,
                                   TVMFFISafeCallType call) {
  f->base.combined_ref_count = TVMFFI_I_PINNED | TVMFFI_I_WEAK_ONE;
  f->base.type_index = kTVMFFIFunction;
  f->cell.safe_call = call;
}

static void tvmffi_i_fill_field(TVMFFIFieldInfo *to,
                                const tvmffi_i_field *from) {
  char *text = tvmffi_i_meta_texts + tvmffi_i_meta_used;
  size_t n = tvmffi_i_append(text, 0, "{\"type_schema\":\"");
  n = tvmffi_i_append_schema(text, n, from->content->schema);
  n = tvmffi_i_append(text, n, "\"}");
  tvmffi_i_meta_used += n;
  to->name = tvmffi_view(from->name);
  to->doc = tvmffi_view(from->doc);
  to->metadata.data = text;
  to->metadata.size = n;
  to->flags = from->flags;
  to->size = from->content->size;
  to->alignment = from->content->alignment;
  to->offset = (int64_t)from->offset;
  to->getter = from->content->get;
  to->setter = (void *)(uintptr_t)from->content->set;
  to->field_static_type_index = from->content->type_index;
}

static void tvmffi_i_fill_method(TVMFFIMethodInfo *to,
                                 tvmffi_i_function_object *function,
                                 const tvmffi_i_method *from, size_t prefix) {
  tvmffi_i_fill_function(function, from->func->call);
  to->name = tvmffi_view(from->func->name + prefix);
  to->doc = tvmffi_view(from->doc);
  to->metadata =
      tvmffi_i_metadata(from->func, tvmffi_i_meta_texts + tvmffi_i_meta_used);
  tvmffi_i_meta_used += to->metadata.size;
  to->flags = from->flags;
  to->method = tvmffi_obj(&function->base);
}

/* Describes a type that is not published yet; mutex held. */
static void tvmffi_i_describe_type(tvmffi_i_type *t, int32_t index) {
  const tvmffi_i_meta *meta = tvmffi_i_metas;
  int32_t i, n;
  while (meta < tvmffi_i_metas + TVMFFI_I_NUM_METAS &&
         meta->type_index != index)
    ++meta;
  if (meta == tvmffi_i_metas + TVMFFI_I_NUM_METAS) return;
  t->metadata.creator = meta->creator;
  t->metadata.total_size = (int32_t)meta->size;
  t->metadata.structural_eq_hash_kind = meta->kind;
  t->info.metadata = &t->metadata;
  for (i = n = 0; i < TVMFFI_I_NUM_FIELDS; ++i) {
    if (tvmffi_i_fields[i].type_index != index) continue;
    if (!n++) t->info.fields = &tvmffi_i_static_fields[i];
    tvmffi_i_fill_field(&tvmffi_i_static_fields[i], &tvmffi_i_fields[i]);
  }
  t->info.num_fields = t->field_capacity = n;
  for (i = n = 0; i < TVMFFI_I_NUM_METHODS; ++i) {
    const char *name = tvmffi_i_methods[i].func->name;
    size_t prefix = (size_t)(strrchr(name, '.') - name) + 1;
    if (tvmffi_i_methods[i].type_index != index) continue;
    if (!n++) t->info.methods = &tvmffi_i_static_methods[i];
    tvmffi_i_fill_method(&tvmffi_i_static_methods[i],
                         &tvmffi_i_method_objects[i], &tvmffi_i_methods[i],
                         prefix);
  }
  t->info.num_methods = t->method_capacity = n;
}

/* Fills in the values of the columns that have some. */
#if !TVMFFI_NO_EXTRA
static void tvmffi_i_fill_visit_columns(
    TVMFFIAny (*values)[TVMFFI_I_NUM_INDICES]); /* with >>visit */
#endif

static void tvmffi_i_fill_columns(void) {
  TVMFFIAny(*values)[TVMFFI_I_NUM_INDICES] = tvmffi_i_column_values;
  size_t i;
  for (i = 0; i < TVMFFI_I_NUM_ATTRS; ++i) {
    const tvmffi_i_attr *a = &tvmffi_i_attrs[i];
    tvmffi_i_fill_function(&tvmffi_i_attr_functions[i], a->call);
    values[a->column][a->type_index] =
        tvmffi_obj(&tvmffi_i_attr_functions[i].base);
  }
  for (i = 0; i < sizeof(tvmffi_i_finalities) / sizeof(tvmffi_i_finality); ++i)
    values[TVMFFI_I_COLUMN_FINAL][tvmffi_i_finalities[i].type_index] =
        tvmffi_bool(tvmffi_i_finalities[i].final);
  values[TVMFFI_I_COLUMN_ANY_HASH][kTVMFFIBigInt] =
      tvmffi_ptr((void *)(uintptr_t)tvmffi_i_hash_bigint);
  values[TVMFFI_I_COLUMN_ANY_EQUAL][kTVMFFIBigInt] =
      tvmffi_ptr((void *)(uintptr_t)tvmffi_i_equal_bigint);
  values[TVMFFI_I_COLUMN_ANY_HASH][TVMFFI_I_STRUCTURAL_KEY] =
      tvmffi_ptr((void *)(uintptr_t)tvmffi_i_hash_structural_key);
#if !TVMFFI_NO_EXTRA
  values[TVMFFI_I_COLUMN_ANY_EQUAL][TVMFFI_I_STRUCTURAL_KEY] =
      tvmffi_ptr((void *)(uintptr_t)tvmffi_i_equal_structural_key);
#endif
#if !TVMFFI_NO_EXTRA
  tvmffi_i_fill_visit_columns(values);
#endif
}

/* Puts the columns into their map, filled; mutex held. */
static int tvmffi_i_start_columns(void) {
  int i;
  if (!tvmffi_i_static_columns[0].node.key) tvmffi_i_fill_columns();
  for (i = 0; i < TVMFFI_I_NUM_COLUMNS; ++i) {
    tvmffi_i_column *c = &tvmffi_i_static_columns[i];
    const tvmffi_i_column_row *row = &tvmffi_i_column_rows[i];
    if (c->node.key) continue;
    if (tvmffi_i_reserve(&tvmffi_i_columns, 0)) return -1;
    if (i < TVMFFI_I_NUM_FULL_COLUMNS) {
      c->column.data = tvmffi_i_column_values[i];
      c->column.size = row->size;
      c->capacity = TVMFFI_I_NUM_INDICES;
    }
    tvmffi_i_insert(&tvmffi_i_columns, &c->node, row->name, strlen(row->name));
  }
  return 0;
}

/* Deep copies. What is being copied stands on a stack of frames and not on
   the thread's, and what has been copied in a table, so that a graph keeps its
   shape. An array or map is made once its items are, so a cycle through one
   holds the original at first; tvmffi_i_mend puts the copy there. Which types
   are copied, and in which order, is upstream's (extra/dataclass.cc). */
typedef struct {
  TVMFFIObject *from, *copy; /* owned; no copy: it is being made */
} tvmffi_i_copied;

typedef struct {
  TVMFFIObject *from; /* borrowed from the table */
  TVMFFIObject *copy; /* borrowed from the table, NULL of an array or map */
  TVMFFIObject *made; /* owned: an array or map of originals to be replaced */
  TVMFFIAny *values;  /* owned unless in it: copies, from i on originals */
  int64_t i, n;
  uint64_t at;     /* in a map that is made */
  TVMFFIAny *open; /* the value that is being copied, or NULL */
  /* Of an object with fields: the one whose value is being copied, or NULL. */
  tvmffi_i_field_walk walk;
  const TVMFFIFieldInfo *field;
  TVMFFIAny held; /* owned: that value */
} tvmffi_i_copy_frame;

typedef struct {
  tvmffi_i_copied *table;
  size_t places, count;
  tvmffi_i_stack frames;
  int is_cyclic;
} tvmffi_i_copier;

static tvmffi_i_copied *tvmffi_i_copied_place(const tvmffi_i_copier *c,
                                              const TVMFFIObject *from) {
  uint64_t hash = (uint64_t)(uintptr_t)from * 0x9E3779B97F4A7C15u;
  size_t i = (size_t)(hash >> 32) & (c->places - 1);
  while (c->table[i].from && c->table[i].from != from)
    i = (i + 1) & (c->places - 1);
  return &c->table[i];
}

static TVMFFIObject *tvmffi_i_copy_of(const tvmffi_i_copier *c,
                                      const TVMFFIAny *any) {
  if (any->type_index < kTVMFFIStaticObjectBegin || !c->places) return NULL;
  return tvmffi_i_copied_place(c, any->v_obj)->copy;
}

/* Makes room for one more object in the table. */
static int tvmffi_i_grow_copied(tvmffi_i_copier *c) {
  tvmffi_i_copier old = *c;
  size_t i;
  if (c->count * 2 < c->places) return 0;
  c->places = old.places ? old.places * 2 : 16;
  c->table = (tvmffi_i_copied *)tvmffi_i_alloc(c->places * sizeof(*c->table));
  if (!c->table) {
    *c = old;
    return tvmffi_i_no_memory();
  }
  memset((void *)c->table, 0, c->places * sizeof(*c->table));
  for (i = 0; i < old.places; ++i)
    if (old.table[i].from)
      *tvmffi_i_copied_place(c, old.table[i].from) = old.table[i];
  tvmffi_i_free(old.table);
  return 0;
}

/* Whether a copy of a value is the value itself. */
TVMFFI_I_INLINE int tvmffi_i_is_own_copy(const TVMFFIAny *any) {
  int32_t index = any->type_index;
  return index < kTVMFFIStaticObjectBegin || index == kTVMFFIStr ||
         index == kTVMFFIBytes || index == kTVMFFIShape ||
         index == kTVMFFIBigInt || !any->v_obj;
}

/* Gives the copy (owned) of what needs no frame, and 1; else 0. */
static int tvmffi_i_copy_leaf(tvmffi_i_copier *c, const TVMFFIAny *from,
                              TVMFFIAny *copy) {
  int32_t index = from->type_index;
  const tvmffi_i_copied *known;
  *copy = *from;
  if (tvmffi_i_is_own_copy(from)) {
    if (index >= kTVMFFIStaticObjectBegin && from->v_obj)
      tvmffi_retain(from->v_obj);
    return 1;
  }
  known = c->places ? tvmffi_i_copied_place(c, from->v_obj) : NULL;
  if (known && known->from) {
    if (known->copy) *copy = tvmffi_obj(known->copy);
    if (!known->copy) c->is_cyclic = 1;
  } else if (!tvmffi_is_instance(index, TVMFFI_I_ENUM_BASE)) {
    return 0;
  }
  tvmffi_retain(copy->v_obj);
  return 1;
}

static void tvmffi_i_drop_values(tvmffi_i_copy_frame *f) {
  if (f->field) tvmffi_any_release(&f->held);
  if (f->made) {
    tvmffi_release(f->made);
    return;
  }
  while (f->n) tvmffi_any_release(&f->values[--f->n]);
  tvmffi_i_free(f->values);
}

/* Takes the values of a list, dict or map: they may change meanwhile. */
static int tvmffi_i_open_values(tvmffi_i_copy_frame *f) {
  const TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, f->from);
  const tvmffi_i_pair *pair;
  int is_list = f->from->type_index == kTVMFFIList;
  int64_t i, n = is_list ? cell->size : 2 * tvmffi_i_map_size(f->from);
  uint64_t at;
  f->values = NULL;
  f->i = f->n = 0;
  if (!n) return 0;
  f->values = (TVMFFIAny *)tvmffi_i_alloc((size_t)n * sizeof(*f->values));
  if (!f->values) return tvmffi_i_no_memory();
  f->n = n;
  if (is_list) {
    for (i = 0; i < n; ++i)
      f->values[i] = tvmffi_i_copy_owned((const TVMFFIAny *)cell->data + i);
    return 0;
  }
  at = tvmffi_i_map_begin(f->from);
  for (i = 0; i < n && (pair = tvmffi_i_map_pair(f->from, at)); i += 2) {
    f->values[i] = tvmffi_i_copy_owned(&pair->key);
    f->values[i + 1] = tvmffi_i_copy_owned(&pair->value);
    at = tvmffi_i_map_after(f->from, at);
  }
  f->n = i;
  return 0;
}

/* Makes the shallow copy of an array, or of a map whose keys are their own
   copies, so that only what has to be copied is touched again: 1, or 0 for
   anything else. */
static int tvmffi_i_make_shallow(tvmffi_i_copy_frame *f) {
  TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, f->from);
  const TVMFFIAny *from;
  const tvmffi_i_pair *pair;
  if (f->from->type_index == kTVMFFIArray) {
    f->made = tvmffi_i_new_array(cell->size, &f->values);
    if (!f->made) return -1;
    from = (const TVMFFIAny *)cell->data;
    for (; f->n < cell->size; ++f->n)
      f->values[f->n] = tvmffi_i_copy_owned(&from[f->n]);
    return 1;
  }
  if (f->from->type_index != kTVMFFIMap) return 0;
  for (f->at = tvmffi_i_map_begin(f->from);
       (pair = tvmffi_i_map_pair(f->from, f->at)) != NULL;
       f->at = tvmffi_i_map_after(f->from, f->at))
    if (!tvmffi_i_is_own_copy(&pair->key)) return 0;
  f->at = tvmffi_i_map_begin(f->from);
  f->made = tvmffi_i_map_copy(f->from, kTVMFFIMap);
  return f->made ? 1 : -1;
}

/* Reads the next field that may have to be copied. */
TVMFFI_I_INLINE int tvmffi_i_next_copied_field(tvmffi_i_copy_frame *f) {
  const TVMFFIFieldInfo *field;
  while ((field = tvmffi_i_next_field(&f->walk)) != NULL) {
    f->held = tvmffi_none();
    TVMFFI_TRY(field->getter(tvmffi_i_at(f->from, field), &f->held));
    if (!tvmffi_i_is_own_copy(&f->held)) break;
    tvmffi_any_release(&f->held);
  }
  f->field = field;
  return 0;
}

/* Goes on to the next value that may have to be copied. */
TVMFFI_I_INLINE int tvmffi_i_next_copied(tvmffi_i_copy_frame *f) {
  tvmffi_i_pair *pair;
  if (f->walk.type) {
    TVMFFI_TRY(tvmffi_i_next_copied_field(f));
    f->open = f->field ? &f->held : NULL;
  } else if (f->made && f->made->type_index == kTVMFFIMap) {
    while ((pair = tvmffi_i_map_pair(f->made, f->at)) != NULL &&
           tvmffi_i_is_own_copy(&pair->value))
      f->at = tvmffi_i_map_after(f->made, f->at);
    f->open = pair ? &pair->value : NULL;
  } else {
    if (f->made)
      while (f->i < f->n && tvmffi_i_is_own_copy(&f->values[f->i])) ++f->i;
    f->open = f->i < f->n ? &f->values[f->i] : NULL;
  }
  return 0;
}

static tvmffi_i_known_column tvmffi_i_copy_column = {"__ffi_shallow_copy__",
                                                     NULL};

/* Makes the copy (owned) that a frame begins with: of an object with fields a
   shallow one, of a list or dict an empty one, of others none. */
static int tvmffi_i_begin_copy(TVMFFIObject *from, TVMFFIObject **copy) {
  int32_t index = from->type_index;
  const TVMFFIAny *copier;
  TVMFFIAny arg = tvmffi_obj(from), result = tvmffi_none();
  *copy = NULL;
  if (index == kTVMFFIArray || index == kTVMFFIMap) return 0;
  if (index == kTVMFFIList || index == kTVMFFIDict) {
    *copy = index == kTVMFFIList ? tvmffi_i_new_list(0)
                                 : tvmffi_i_new_map(kTVMFFIDict, 0);
    return *copy ? 0 : -1;
  }
  TVMFFI_TRY(tvmffi_i_start_types());
  copier = tvmffi_i_type_attr(&tvmffi_i_copy_column, index);
  if (!copier)
    return tvmffi_i_fail("InternalError",
                         "Cannot deep copy object of type \"%s\" because it is "
                         "not copy-constructible",
                         tvmffi_i_type_key(index));
  if (copier->type_index < kTVMFFIStaticObjectBegin)
    return tvmffi_i_bad_cast(copier, "ffi.Function");
  TVMFFI_TRY(TVMFFIFunctionCall(copier->v_obj, &arg, 1, &result));
  if (result.type_index == index && result.v_obj) {
    *copy = result.v_obj;
    return 0;
  }
  tvmffi_any_release(&result);
  return tvmffi_i_fail("TypeError", "The shallow copy of a %s is none",
                       tvmffi_i_type_key(index));
}

/* Puts an object into the table, and fills in its frame. */
static int tvmffi_i_open_copy(tvmffi_i_copier *c, TVMFFIObject *from,
                              tvmffi_i_copy_frame *f) {
  tvmffi_i_copied *place;
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(from->type_index);
  int code;
  f->from = from;
  f->made = NULL;
  f->values = NULL;
  f->i = f->n = 0;
  f->walk.type = NULL;
  f->field = NULL;
  if (!type) return -1;
  TVMFFI_TRY(tvmffi_i_grow_copied(c));
  TVMFFI_TRY(tvmffi_i_begin_copy(from, &f->copy));
  tvmffi_retain(from);
  place = tvmffi_i_copied_place(c, from);
  place->from = from;
  place->copy = f->copy;
  ++c->count;
  if (!tvmffi_i_is_container(from->type_index)) {
    f->walk = tvmffi_i_walk_fields(type);
    return 0;
  }
  code = tvmffi_i_make_shallow(f);
  if (code) return code < 0 ? code : 0;
  return tvmffi_i_open_values(f);
}

static int tvmffi_i_push_copy(tvmffi_i_copier *c, TVMFFIObject *from) {
  tvmffi_i_copy_frame *f =
      TVMFFI_I_PUSH(tvmffi_i_copy_frame, &c->frames, "ObjectGraphDFS");
  return f ? tvmffi_i_open_copy(c, from, f) : -1;
}

/* Puts the copy (taken) of a value into its place, or into its field. */
static int tvmffi_i_feed_copy(tvmffi_i_copy_frame *f, TVMFFIAny copy) {
  TVMFFIAny from = *f->open;
  int code = 0;
  if (f->field) {
    if (!tvmffi_i_same_any(&from, &copy))
      code = tvmffi_i_set_field(f->field, f->copy, &copy);
    f->field = NULL;
    tvmffi_any_release(&copy);
  } else {
    *f->open = copy;
    if (f->made && f->made->type_index == kTVMFFIMap)
      f->at = tvmffi_i_map_after(f->made, f->at);
    else
      ++f->i;
  }
  tvmffi_any_release(&from);
  return code;
}

/* Makes a container of the copies. */
static int tvmffi_i_close_copy(tvmffi_i_copier *c, tvmffi_i_copy_frame *f) {
  TVMFFIObject *made = f->made ? f->made : f->copy;
  int32_t index = f->from->type_index;
  int64_t i = 0;
  if (index == kTVMFFIList) {
    for (; i < f->n; ++i) TVMFFI_TRY(tvmffi_i_list_append(made, &f->values[i]));
  } else if (!f->made && (index == kTVMFFIMap || index == kTVMFFIDict)) {
    if (!made) made = tvmffi_i_new_map(kTVMFFIMap, f->n / 2);
    for (; made && i < f->n; i += 2) {
      TVMFFIObject *map = made;
      int code = tvmffi_i_map_set(&map, &f->values[i], &f->values[i + 1]);
      if (code && !f->copy) tvmffi_release(made);
      if (code) return code;
    }
    if (!made) return -1;
  }
  if (!f->made) tvmffi_i_drop_values(f);
  tvmffi_i_copied_place(c, f->from)->copy = made; /* which takes it */
  f->copy = made;
  return 0;
}

/* Replaces originals in the copies of a cycle. */
static int tvmffi_i_mend_list(const tvmffi_i_copier *c, TVMFFIObject *list) {
  TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, list);
  int64_t i;
  for (i = 0; i < cell->size; ++i) {
    TVMFFIAny *item = (TVMFFIAny *)cell->data + i, old = *item;
    TVMFFIObject *copy = tvmffi_i_copy_of(c, item);
    if (!copy) continue;
    tvmffi_retain(copy);
    *item = tvmffi_obj(copy);
    tvmffi_any_release(&old);
  }
  return 0;
}

static int tvmffi_i_mend_dict(const tvmffi_i_copier *c, TVMFFIObject *dict) {
  tvmffi_i_copy_frame f;
  int64_t i;
  int code;
  f.from = dict;
  f.made = NULL;
  f.field = NULL;
  code = tvmffi_i_open_values(&f);
  for (i = 0; i < f.n && !code; i += 2) {
    TVMFFIObject *key = tvmffi_i_copy_of(c, &f.values[i]);
    TVMFFIObject *value = tvmffi_i_copy_of(c, &f.values[i + 1]);
    TVMFFIAny k = key ? tvmffi_obj(key) : f.values[i];
    TVMFFIAny v = value ? tvmffi_obj(value) : f.values[i + 1];
    if (!key && !value) continue;
    code = tvmffi_i_map_erase(&dict, &f.values[i]);
    if (!code) code = tvmffi_i_map_set(&dict, &k, &v);
  }
  tvmffi_i_drop_values(&f);
  return code;
}

static int tvmffi_i_mend_object(const tvmffi_i_copier *c,
                                TVMFFIObject *object) {
  tvmffi_i_field_walk w =
      tvmffi_i_walk_fields(TVMFFIGetTypeInfo(object->type_index));
  const TVMFFIFieldInfo *field;
  while ((field = tvmffi_i_next_field(&w))) {
    TVMFFIAny held = tvmffi_none(), value;
    TVMFFIObject *copy;
    int code = 0;
    TVMFFI_TRY(field->getter(tvmffi_i_at(object, field), &held));
    copy = tvmffi_i_copy_of(c, &held);
    if (copy && copy != held.v_obj) {
      value = tvmffi_obj(copy);
      code = tvmffi_i_set_field(field, object, &value);
    }
    tvmffi_any_release(&held);
    if (code) return code;
  }
  return 0;
}

static int tvmffi_i_mend(const tvmffi_i_copier *c) {
  size_t i;
  for (i = 0; i < c->places; ++i) {
    TVMFFIObject *copy = c->table[i].copy;
    if (!copy) continue;
    if (copy->type_index == kTVMFFIList)
      TVMFFI_TRY(tvmffi_i_mend_list(c, copy));
    else if (copy->type_index == kTVMFFIDict)
      TVMFFI_TRY(tvmffi_i_mend_dict(c, copy));
    else if (copy->type_index >= kTVMFFIStaticObjectEnd)
      TVMFFI_TRY(tvmffi_i_mend_object(c, copy));
  }
  return 0;
}

static int tvmffi_i_copy_all(tvmffi_i_copier *c) {
  while (c->frames.depth) {
    tvmffi_i_copy_frame *f = TVMFFI_I_TOP(tvmffi_i_copy_frame, &c->frames);
    TVMFFIAny copy;
    TVMFFI_TRY(tvmffi_i_next_copied(f));
    if (f->open) {
      if (tvmffi_i_copy_leaf(c, f->open, &copy))
        TVMFFI_TRY(tvmffi_i_feed_copy(f, copy));
      else
        TVMFFI_TRY(tvmffi_i_push_copy(c, f->open->v_obj));
      continue;
    }
    TVMFFI_TRY(tvmffi_i_close_copy(c, f));
    copy = tvmffi_obj(f->copy);
    TVMFFI_I_POP(tvmffi_i_copy_frame, &c->frames);
    if (!c->frames.depth) break;
    tvmffi_retain(copy.v_obj);
    f = TVMFFI_I_TOP(tvmffi_i_copy_frame, &c->frames);
    TVMFFI_TRY(tvmffi_i_feed_copy(f, copy));
  }
  return c->is_cyclic ? tvmffi_i_mend(c) : 0;
}

TVMFFI_FUNC(i_deep_copy, any, (any, value)) {
  tvmffi_i_copy_frame room[8];
  tvmffi_i_copier c = TVMFFI_I_ZERO;
  TVMFFIAny copy;
  size_t i;
  int code;
  if (tvmffi_i_copy_leaf(&c, &value, &copy)) {
    if (copy.type_index < kTVMFFIStaticObjectBegin || !copy.v_obj)
      TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(&value, &copy));
    TVMFFI_RETURN(copy);
  }
  tvmffi_i_stack_open(&c.frames, room, sizeof(room));
  code = tvmffi_i_push_copy(&c, value.v_obj);
  if (!code) code = tvmffi_i_copy_all(&c);
  for (; c.frames.depth; TVMFFI_I_POP(tvmffi_i_copy_frame, &c.frames))
    tvmffi_i_drop_values(TVMFFI_I_TOP(tvmffi_i_copy_frame, &c.frames));
  tvmffi_i_stack_close(&c.frames);
  if (!code) {
    copy = tvmffi_obj(tvmffi_i_copied_place(&c, value.v_obj)->copy);
    tvmffi_retain(copy.v_obj);
  }
  for (i = 0; i < c.places; ++i) {
    tvmffi_release(c.table[i].copy);
    tvmffi_release(c.table[i].from);
  }
  tvmffi_i_free(c.table);
  if (code) return code;
  TVMFFI_RETURN(copy);
}
#endif /* !TVMFFI_NO_CONTAINERS */

/* ======== Comparison and repr ==================================== >>compare
 */
/* Text, hash and order of values with all that they hold, by the fields that
   types describe. The path from the root stands on a stack of frames and not
   on the thread's; what is open or done stands in a table, so that cycles end
   and what is shared is done once. An object with one reference cannot be met
   twice and is left out of the table. Texts, the order of events and the hash,
   which crosses process borders, are upstream's (extra/dataclass.cc). All state
   belongs to the call; only hooks of types nest on the thread's stack. */
#if !TVMFFI_NO_EXTRA

/* -------- Numbers and texts -------- */

/* Appends a floating-point number, given by its bits, as "%.*g" has it in the
   C locale; up to 17 digits. Exact, and without floating-point code: its words
   have nine decimal digits each, the first those of the highest value, and the
   word at UNITS ends before the point. */
static void tvmffi_i_text_float(tvmffi_i_text_buffer *b, uint64_t bits,
                                int precision) {
  enum { BASE = 1000000000, UNITS = 40, DIGITS = 48 };
  uint32_t word[UNITS + 130], carry, mask;
  int first = UNITS - 1, end = UNITS + 1, i, s, n = 0, k, rest, at;
  int e = (int)(bits >> 52 & 2047);
  uint64_t m = bits & (((uint64_t)1 << 52) - 1), x;
  char digit[DIGITS];
  if (bits >> 63) tvmffi_i_text_char(b, '-');
  if (e == 2047 || !(m | (uint64_t)(unsigned)e)) {
    tvmffi_i_text_str(b, e ? m ? "nan" : "inf" : "0");
    return;
  }
  m |= (uint64_t)(e != 0) << 52;
  e = (e ? e : 1) - 1075;
  while (!(m & 255)) m >>= 8, e += 8;
  while (!(m & 1)) m >>= 1, ++e;
  word[first] = (uint32_t)(m / BASE);
  word[UNITS] = (uint32_t)(m % BASE);
  if (!word[first]) ++first;
  for (; e > 0; e -= s) {
    s = e < 29 ? e : 29;
    for (carry = 0, i = end - 1; i >= first; --i) {
      x = ((uint64_t)word[i] << s) + carry;
      carry = (uint32_t)(x / BASE);
      word[i] = (uint32_t)(x % BASE);
    }
    if (carry) word[--first] = carry;
  }
  for (; e < 0; e += s) {
    s = e > -9 ? -e : 9;
    mask = (1u << s) - 1;
    for (carry = 0, i = first; i < end; ++i) {
      uint32_t low = word[i] & mask;
      word[i] = (word[i] >> s) + carry;
      carry = (BASE >> s) * low;
    }
    if (carry) word[end++] = carry;
    if (!word[first]) ++first;
  }
  /* One digit more than are shown, at least, without zeros before them. */
  for (at = 9 * (UNITS - first), i = first; i < end && n <= precision; ++i) {
    uint32_t w = word[i];
    k = 9;
    if (i == first)
      for (k = 1; k < 9 && w >= 10; ++k) w /= 10;
    if (i == first) at += k - 1;
    w = word[i];
    for (s = k; s--; w /= 10) digit[n + s] = (char)('0' + w % 10);
    n += k;
  }
  /* Round to the nearest, a half to even. */
  if (n > precision) {
    for (rest = 0; i < end; ++i) rest |= word[i] != 0;
    for (k = precision + 1; k < n; ++k) rest |= digit[k] != '0';
    n = precision;
    k = digit[n];
    if (k > '5' || (k == '5' && (rest || (digit[n - 1] & 1)))) {
      while (n && digit[n - 1] == '9') --n;
      if (n)
        ++digit[n - 1];
      else
        digit[n++] = '1', ++at;
    }
  }
  while (n > 1 && digit[n - 1] == '0') --n;
  if (at < -4 || at >= precision) {
    tvmffi_i_text_char(b, digit[0]);
    if (n > 1) tvmffi_i_text_char(b, '.');
    tvmffi_i_text_put(b, digit + 1, (size_t)(n - 1));
    tvmffi_i_text_put(b, at < 0 ? "e-0" : "e+0", at > -10 && at < 10 ? 3 : 2);
    tvmffi_i_text_int(b, at < 0 ? -at : at);
    return;
  }
  for (i = at < 0 ? at : 0; i < n || i <= at; ++i) {
    tvmffi_i_text_char(b, i >= 0 && i < n ? digit[i] : '0');
    if (i == at && i + 1 < n) tvmffi_i_text_char(b, '.');
  }
}

/* Appends a big integer in decimal, given by its words. */
static void tvmffi_i_text_bigint(tvmffi_i_text_buffer *b,
                                 TVMFFIByteArray words) {
  size_t n = words.size / 8, left = 2 * n, i;
  uint64_t negative = n && tvmffi_i_word(words.data, n - 1) < 0, carry, x;
  char *room = tvmffi_i_text_room(b, 20 * n + 16), *p;
  uint32_t *half = (uint32_t *)tvmffi_i_alloc(left * sizeof(*half) + 1);
  if (!room || !half) {
    b->failed = 1;
    tvmffi_i_free(half);
    return;
  }
  for (carry = negative, i = 0; i < n; ++i) {
    x = ((uint64_t)tvmffi_i_word(words.data, i) ^ (0 - negative)) + carry;
    carry &= x == 0;
    half[2 * i] = (uint32_t)x;
    half[2 * i + 1] = (uint32_t)(x >> 32);
  }
  p = room + 20 * n + 16;
  do { /* nine digits at a time, the last ones first */
    for (carry = 0, i = left; i--;) {
      x = carry << 32 | half[i];
      half[i] = (uint32_t)(x / 1000000000u);
      carry = x % 1000000000u;
    }
    for (i = 0; i < 9; ++i, carry /= 10) *--p = (char)('0' + carry % 10);
    while (left && !half[left - 1]) --left;
  } while (left);
  tvmffi_i_free(half);
  n = (size_t)(room + 20 * n + 16 - p);
  while (n > 1 && *p == '0') ++p, --n;
  if (negative) *--p = '-', ++n;
  memmove(room, p, n);
  b->size += n;
}

static void tvmffi_i_text_hex(tvmffi_i_text_buffer *b, const char *prefix,
                              uint64_t x, int width) {
  char digits[16];
  int at = 16;
  do {
    digits[--at] = "0123456789abcdef"[x & 15];
    x >>= 4;
  } while (x || 16 - at < width);
  tvmffi_i_text_str(b, prefix);
  tvmffi_i_text_put(b, digits + at, (size_t)(16 - at));
}

TVMFFI_I_INLINE int tvmffi_i_is_plain(char c) {
  return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

/* The length of a sequence that sets the colour of a terminal, or 0. */
static size_t tvmffi_i_colour(const char *s, size_t size) {
  size_t i = 2;
  if (size < 2 || s[0] != 0x1B || s[1] != '[') return 0;
  while (i < size && ((s[i] >= '0' && s[i] <= '9') || s[i] == ';')) ++i;
  return i < size && (s[i] == 'm' || s[i] == 'K') ? i + 1 : 0;
}

/* Appends what stands for a character that is not plain; gives its length. As
   EscapedStringPy of upstream's string.h has it, which tells bytes that are no
   UTF-8 by themselves. */
static size_t tvmffi_i_escape(tvmffi_i_text_buffer *b, const char *s,
                              size_t size) {
  static const char plain[] = "\n\t\r\\\"", letter[] = "ntr\\\"";
  const unsigned char *u = (const unsigned char *)s;
  const char *known = u[0] ? strchr(plain, s[0]) : NULL;
  size_t n = tvmffi_i_colour(s, size), i;
  uint32_t code;
  if (n) {
    tvmffi_i_text_str(b, "\\x1b[");
    tvmffi_i_text_put(b, s + 2, n - 2);
    return n;
  }
  if (known) {
    tvmffi_i_text_char(b, '\\');
    tvmffi_i_text_char(b, letter[known - plain]);
    return 1;
  }
  n = u[0] < 0xC0 ? 1 : u[0] < 0xE0 ? 2 : u[0] < 0xF0 ? 3 : u[0] < 0xF8 ? 4 : 1;
  code = u[0] & (0x7Fu >> n);
  for (i = 1; i < n && i < size && (u[i] & 0xC0) == 0x80; ++i)
    code = code << 6 | (u[i] & 0x3F);
  if (i < n || n == 1) {
    tvmffi_i_text_hex(b, "\\x", u[0], 2);
    return 1;
  }
  tvmffi_i_text_hex(b, n < 4 ? "\\u" : "\\U", code, n < 4 ? 4 : 8);
  return n;
}

static void tvmffi_i_repr_str(tvmffi_i_text_buffer *b, TVMFFIByteArray s) {
  size_t i = 0, begin;
  tvmffi_i_text_char(b, '"');
  while (i < s.size) {
    for (begin = i; i < s.size && tvmffi_i_is_plain(s.data[i]);) ++i;
    tvmffi_i_text_put(b, s.data + begin, i - begin);
    if (i < s.size) i += tvmffi_i_escape(b, s.data + i, s.size - i);
  }
  tvmffi_i_text_char(b, '"');
}

static void tvmffi_i_repr_bytes(tvmffi_i_text_buffer *b, TVMFFIByteArray s) {
  size_t i;
  tvmffi_i_text_str(b, "b\"");
  for (i = 0; i < s.size; ++i) {
    if (tvmffi_i_is_plain(s.data[i]))
      tvmffi_i_text_char(b, s.data[i]);
    else
      tvmffi_i_text_hex(b, "\\x", (unsigned char)s.data[i], 2);
  }
  tvmffi_i_text_char(b, '"');
}

static void tvmffi_i_repr_device(tvmffi_i_text_buffer *b, DLDevice device) {
  static const char *const names[] = {
      "unknown", "cpu",       "cuda",    "cuda_host",    "opencl",
      "unknown", "unknown",   "vulkan",  "metal",        "vpi",
      "rocm",    "rocm_host", "ext_dev", "cuda_managed", "oneapi",
      "webgpu",  "hexagon",   "maia",    "trn"};
  const size_t n = sizeof(names) / sizeof(names[0]);
  size_t i = (size_t)(unsigned)device.device_type;
  tvmffi_i_text_str(b, names[i < n ? i : 0]);
  tvmffi_i_text_char(b, ':');
  tvmffi_i_text_int(b, device.device_id);
}

static int tvmffi_i_repr_dtype(tvmffi_i_text_buffer *b, DLDataType dtype) {
  TVMFFIAny text;
  TVMFFIByteArray s;
  TVMFFI_TRY(TVMFFIDataTypeToString(&dtype, &text));
  s = tvmffi_any_str(&text);
  tvmffi_i_text_put(b, s.data, s.size);
  tvmffi_any_release(&text);
  return 0;
}

static void tvmffi_i_repr_numbers(tvmffi_i_text_buffer *b, const int64_t *x,
                                  size_t n) {
  size_t i;
  for (i = 0; i < n; ++i) {
    if (i) tvmffi_i_text_put(b, ", ", 2);
    tvmffi_i_text_int(b, x[i]);
  }
}

/* -------- The graph -------- */

typedef enum {
  TVMFFI_I_UNSEEN,
  TVMFFI_I_OPEN, /* it is on the stack, or its hook runs */
  TVMFFI_I_DONE
} tvmffi_i_seen_state;

/* An object, or a pair that is compared. */
typedef struct {
  TVMFFIObject *object, *other; /* owned */
  uint64_t value;               /* the hash, or where the text begins */
  size_t size;                  /* of the text */
  uint32_t to;                  /* which buffer has the text */
  unsigned char state;
} tvmffi_i_seen;

typedef struct {
  TVMFFIObject *object, *other; /* owned */
  TVMFFIAny field[2];           /* owned: the value of the present field */
  tvmffi_i_field_walk walk;     /* of an object that is no container */
  uint64_t at;                  /* the next item, or slot of a map */
  uint64_t other_at;            /* the same of the other map, in step */
  uint64_t hash, key_hash;
  size_t begin; /* of the text, or of the hashes of entries */
  uint32_t to;  /* which buffer the text goes to */
  unsigned char is_value, is_seen, has_child, in_step;
} tvmffi_i_graph_frame;

typedef struct tvmffi_i_graph tvmffi_i_graph;

/* What a callback has: the graph until the call ends, and its thread. */
typedef struct {
  tvmffi_i_graph *graph;
  tvmffi_i_thread *thread;
} tvmffi_i_callback;

struct tvmffi_i_graph {
  tvmffi_i_stack frames;
  tvmffi_i_seen *seen;
  size_t places, num_seen;
  int64_t skip; /* flags of fields that do not count */
  const char *name;
  tvmffi_i_callback *callback[2];
  TVMFFIObjectHandle function[2];
  int nested; /* hooks that run */
  /* of one kind of call */
  int is_equality, with_address, has_root_frame;
  uint32_t to;
  tvmffi_i_text_buffer *text; /* the first is the result */
  size_t num_texts;
  uint64_t *hashes; /* of the entries of all open maps */
  size_t num_hashes, hash_capacity;
};

/* What the thread's stack surely bears. */
enum { TVMFFI_I_MAX_HOOKS = 1000 };

/* Gives a larger block with the same content, or NULL with the error set. */
static void *tvmffi_i_larger(void *items, size_t *capacity, size_t size) {
  size_t wanted = *capacity ? *capacity * 2 : 8;
  void *larger =
      wanted < PTRDIFF_MAX / 2 / size ? tvmffi_i_alloc(wanted * size) : NULL;
  if (!larger) {
    (void)tvmffi_i_no_memory();
    return larger;
  }
  if (*capacity) memcpy(larger, items, *capacity * size);
  tvmffi_i_free(items);
  *capacity = wanted;
  return larger;
}

static tvmffi_i_seen *tvmffi_i_seen_place(const tvmffi_i_graph *g,
                                          const TVMFFIObject *object,
                                          const TVMFFIObject *other) {
  uint64_t hash = (uint64_t)(uintptr_t)object * 0x9E3779B97F4A7C15u;
  size_t i;
  hash = (hash ^ hash >> 29 ^ (uint64_t)(uintptr_t)other) * 0xBF58476D1CE4E5B9u;
  i = (size_t)(hash >> 32) & (g->places - 1);
  while (g->seen[i].object &&
         (g->seen[i].object != object || g->seen[i].other != other))
    i = (i + 1) & (g->places - 1);
  return &g->seen[i];
}

static tvmffi_i_seen *tvmffi_i_find_seen(const tvmffi_i_graph *g,
                                         const TVMFFIObject *object,
                                         const TVMFFIObject *other) {
  tvmffi_i_seen *s = g->num_seen ? tvmffi_i_seen_place(g, object, other) : NULL;
  return s && s->state != TVMFFI_I_UNSEEN ? s : NULL;
}

static int tvmffi_i_grow_seen(tvmffi_i_graph *g) {
  tvmffi_i_seen *old = g->seen;
  size_t places = g->places, i;
  if (g->num_seen * 2 < places) return 0;
  g->places = places ? places * 2 : 16;
  g->seen = (tvmffi_i_seen *)tvmffi_i_alloc(g->places * sizeof(*old));
  if (!g->seen) {
    g->seen = old;
    g->places = places;
    return tvmffi_i_no_memory();
  }
  memset((void *)g->seen, 0, g->places * sizeof(*old));
  for (i = 0; i < places; ++i)
    if (old[i].object)
      *tvmffi_i_seen_place(g, old[i].object, old[i].other) = old[i];
  tvmffi_i_free(old);
  return 0;
}

/* Marks as open; an object in the table is kept to the end of the call, so that
   no other gets its address. `other` may be NULL. */
static int tvmffi_i_open_seen(tvmffi_i_graph *g, TVMFFIObject *object,
                              TVMFFIObject *other) {
  tvmffi_i_seen *s;
  TVMFFI_TRY(tvmffi_i_grow_seen(g));
  s = tvmffi_i_seen_place(g, object, other);
  if (!s->object) {
    tvmffi_retain(object);
    if (other) tvmffi_retain(other);
    s->object = object;
    s->other = other;
    ++g->num_seen;
  }
  s->state = TVMFFI_I_OPEN;
  return 0;
}

/* How many references make an object one that is met twice: those of who has
   it, which a frame that holds it adds one to, are `own`. */
TVMFFI_I_INLINE int tvmffi_i_is_shared(const TVMFFIObject *o, uint32_t own) {
  return (uint32_t)TVMFFI_I_LOAD_RELAXED(&o->combined_ref_count) > own;
}

/* Puts a frame for an object, or a pair, onto the stack. */
static int tvmffi_i_push_graph(tvmffi_i_graph *g, TVMFFIObject *object,
                               TVMFFIObject *other, uint32_t own) {
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(object->type_index);
  tvmffi_i_graph_frame *f;
  int is_seen = tvmffi_i_is_shared(object, own) &&
                (!other || tvmffi_i_is_shared(other, own));
  if (!type) return -1;
  f = TVMFFI_I_PUSH(tvmffi_i_graph_frame, &g->frames, g->name);
  if (!f) return -1;
  if (is_seen && tvmffi_i_open_seen(g, object, other)) {
    TVMFFI_I_POP(tvmffi_i_graph_frame, &g->frames);
    return -1;
  }
  f->object = object;
  f->other = other;
  f->field[0] = f->field[1] = tvmffi_none();
  f->walk = tvmffi_i_walk_fields(type);
  f->at = 0;
  if (object->type_index == kTVMFFIMap || object->type_index == kTVMFFIDict)
    f->at = tvmffi_i_map_begin(object);
  f->is_value = f->has_child = f->in_step = 0;
  f->is_seen = (unsigned char)is_seen;
  f->to = g->to;
  tvmffi_retain(object);
  if (other) tvmffi_retain(other);
  return 0;
}

/* Takes the upper frame off; gives the entry that tells of its object, if
   there is one, which the caller closes. */
static tvmffi_i_seen *tvmffi_i_pop_graph(tvmffi_i_graph *g) {
  tvmffi_i_graph_frame *f = TVMFFI_I_TOP(tvmffi_i_graph_frame, &g->frames);
  tvmffi_i_seen *s = NULL;
  if (f->is_seen) {
    s = tvmffi_i_seen_place(g, f->object, f->other);
    s->state = TVMFFI_I_UNSEEN;
  }
  tvmffi_any_release(&f->field[0]);
  tvmffi_any_release(&f->field[1]);
  tvmffi_release(f->object);
  tvmffi_release(f->other);
  TVMFFI_I_POP(tvmffi_i_graph_frame, &g->frames);
  return s;
}

/* The next field that counts, read from one object or both, or NULL. */
static int tvmffi_i_next_value(tvmffi_i_graph *g, tvmffi_i_graph_frame *f,
                               const TVMFFIFieldInfo **field) {
  do {
    *field = tvmffi_i_next_field(&f->walk);
    if (!*field) return 0;
  } while ((*field)->flags & g->skip);
  tvmffi_any_release(&f->field[0]);
  TVMFFI_TRY((*field)->getter(tvmffi_i_at(f->object, *field), &f->field[0]));
  if (!f->other) return 0;
  tvmffi_any_release(&f->field[1]);
  return (*field)->getter(tvmffi_i_at(f->other, *field), &f->field[1]);
}

/* Gives what comes next in an object (borrowed from it or the frame), NULL at
   its end. A map gives keys and values by turns. */
static int tvmffi_i_next_child(tvmffi_i_graph *g, tvmffi_i_graph_frame *f,
                               const TVMFFIAny **child) {
  const TVMFFIFieldInfo *field;
  const TVMFFISeqCell *cell;
  tvmffi_i_pair *pair;
  *child = NULL;
  switch (f->object->type_index) {
    case kTVMFFIArray:
    case kTVMFFIList:
      cell = TVMFFI_I_CELL(TVMFFISeqCell, f->object);
      if (f->at < (uint64_t)cell->size)
        *child = (const TVMFFIAny *)cell->data + f->at++;
      return 0;
    case kTVMFFIMap:
    case kTVMFFIDict:
      pair = tvmffi_i_map_pair(f->object, f->at);
      if (!pair) return 0;
      *child = f->is_value ? &pair->value : &pair->key;
      if (f->is_value) f->at = tvmffi_i_map_after(f->object, f->at);
      f->is_value ^= 1;
      return 0;
    default: break;
  }
  TVMFFI_TRY(tvmffi_i_next_value(g, f, &field));
  if (field) *child = &f->field[0];
  return 0;
}

/* How many references a child has from its frame and container. */
TVMFFI_I_INLINE uint32_t tvmffi_i_own_count(const tvmffi_i_graph_frame *f,
                                            const TVMFFIAny *child) {
  return child == &f->field[0] ? 2 : 1;
}

static void tvmffi_i_end_graph(tvmffi_i_graph *g) {
  size_t i;
  while (g->frames.depth) (void)tvmffi_i_pop_graph(g);
  tvmffi_i_stack_close(&g->frames);
  for (i = 0; i < g->places; ++i) {
    tvmffi_release(g->seen[i].object);
    tvmffi_release(g->seen[i].other);
  }
  tvmffi_i_free(g->seen);
  tvmffi_i_free(g->hashes);
  for (i = 0; i < 2; ++i) {
    if (g->callback[i]) TVMFFI_I_STORE(&g->callback[i]->graph, NULL);
    tvmffi_release((TVMFFIObject *)g->function[i]);
  }
  for (i = 0; i < g->num_texts; ++i) tvmffi_i_text_release(&g->text[i]);
  tvmffi_i_free(g->text);
}

/* -------- Hooks -------- */

/* What a hook is given to go on with, by kind: its signature, and its call. */
enum {
  TVMFFI_I_CALLBACK_REPR,
  TVMFFI_I_CALLBACK_HASH,
  TVMFFI_I_CALLBACK_EQ,
  TVMFFI_I_CALLBACK_COMPARE
};

static const tvmffi_i_name tvmffi_i_name_view = {"AnyView", NULL};
static const tvmffi_i_name *const tvmffi_i_callback_types[4][3] = {
    {&tvmffi_i_name_str, &tvmffi_i_name_view, NULL},
    {&tvmffi_i_name_int64, &tvmffi_i_name_view, NULL},
    {&tvmffi_i_name_bool, &tvmffi_i_name_view, &tvmffi_i_name_view},
    {&tvmffi_i_name_int64, &tvmffi_i_name_view, &tvmffi_i_name_view}};

/* What hooks themselves are, in error texts. */
static const char *const tvmffi_i_hook_types[4] = {
    "(0: ffi.Object, 1: (0: AnyView) -> str) -> str",
    "(0: ffi.Object, 1: (0: AnyView) -> int) -> int",
    "(0: ffi.Object, 1: ffi.Object, 2: (0: AnyView, 1: AnyView) -> bool) -> "
    "bool",
    "(0: ffi.Object, 1: ffi.Object, 2: (0: AnyView, 1: AnyView) -> int) -> "
    "int"};

/* Begins a call back: owned values of the arguments, and the graph, which is
   that of the hook's own call and thread only. */
static tvmffi_i_graph *tvmffi_i_begin_callback(void *self, int kind,
                                               const TVMFFIAny *args,
                                               int32_t num_args,
                                               TVMFFIAny *result,
                                               TVMFFIAny *values) {
  tvmffi_i_callback *c = (tvmffi_i_callback *)self;
  tvmffi_i_graph *g = TVMFFI_I_LOAD(&c->graph);
  tvmffi_func f;
  f.name = "";
  f.call = NULL;
  f.num_args = kind < TVMFFI_I_CALLBACK_EQ ? 1 : 2;
  f.types = tvmffi_i_callback_types[kind];
  values[0] = values[1] = tvmffi_none();
  if (num_args != f.num_args) {
    (void)tvmffi_i_bad_call(&f, num_args, result);
    return NULL;
  }
  if (!g || c->thread != tvmffi_i_self()) {
    (void)tvmffi_i_fail("RuntimeError",
                        "The callback of a hook can be called "
                        "only while the hook runs");
    return NULL;
  }
  if (TVMFFIAnyViewToOwnedAny(&args[0], &values[0])) return NULL;
  if (num_args < 2 || !TVMFFIAnyViewToOwnedAny(&args[1], &values[1])) return g;
  tvmffi_any_release(&values[0]);
  return NULL;
}

static int tvmffi_i_call_repr(void *self, const TVMFFIAny *args,
                              int32_t num_args, TVMFFIAny *result);
static int tvmffi_i_call_hash(void *self, const TVMFFIAny *args,
                              int32_t num_args, TVMFFIAny *result);
static int tvmffi_i_call_eq(void *self, const TVMFFIAny *args, int32_t num_args,
                            TVMFFIAny *result);
static int tvmffi_i_call_compare(void *self, const TVMFFIAny *args,
                                 int32_t num_args, TVMFFIAny *result);

/* The function that hooks are given, which is made once a call (borrowed). */
static int tvmffi_i_callback_of(tvmffi_i_graph *g, int kind, TVMFFIAny *out) {
  static const TVMFFISafeCallType calls[] = {
      tvmffi_i_call_repr, tvmffi_i_call_hash, tvmffi_i_call_eq,
      tvmffi_i_call_compare};
  int i = kind == TVMFFI_I_CALLBACK_COMPARE;
  tvmffi_i_callback *c = g->callback[i];
  if (!c) {
    c = (tvmffi_i_callback *)tvmffi_i_alloc(sizeof(*c));
    if (!c) return tvmffi_i_no_memory();
    c->graph = g;
    c->thread = tvmffi_i_self();
    if (TVMFFIFunctionCreate(c, calls[kind], tvmffi_i_free, &g->function[i])) {
      tvmffi_i_free(c);
      return -1;
    }
    g->callback[i] = c;
  }
  *out = tvmffi_obj((TVMFFIObject *)g->function[i]);
  return 0;
}

/* Runs a hook on an object or a pair, which is open meanwhile. */
static int tvmffi_i_run_hook(tvmffi_i_graph *g, const TVMFFIAny *hook, int kind,
                             TVMFFIObject *object, TVMFFIObject *other,
                             TVMFFIAny *result) {
  TVMFFIAny args[3];
  int32_t n = 0;
  int code;
  if (hook->type_index != kTVMFFIFunction)
    return tvmffi_i_fail("TypeError", "Cannot treat type `%s` as type `%s`",
                         tvmffi_i_type_key(hook->type_index),
                         tvmffi_i_hook_types[kind]);
  if (g->nested >= TVMFFI_I_MAX_HOOKS)
    return tvmffi_i_fail("RuntimeError",
                         "Hooks of types are nested more than %d deep",
                         (int)TVMFFI_I_MAX_HOOKS);
  args[n++] = tvmffi_obj(object);
  if (other) args[n++] = tvmffi_obj(other);
  TVMFFI_TRY(tvmffi_i_callback_of(g, kind, &args[n++]));
  TVMFFI_TRY(tvmffi_i_open_seen(g, object, other));
  ++g->nested;
  *result = tvmffi_none();
  code = TVMFFIFunctionCall(hook->v_obj, args, n, result);
  --g->nested;
  tvmffi_i_seen_place(g, object, other)->state = TVMFFI_I_UNSEEN;
  return code;
}

/* Raises for a hook's result of a wrong type, which it releases. */
TVMFFI_I_SLOW int tvmffi_i_bad_hook(TVMFFIAny *result, int kind) {
  int code = tvmffi_i_bad_cast(result, tvmffi_i_callback_types[kind][0]->name);
  tvmffi_any_release(result);
  return code;
}

static tvmffi_i_known_column tvmffi_i_repr_hooks = {"__ffi_repr__", NULL};
static tvmffi_i_known_column tvmffi_i_hash_hooks = {"__ffi_hash__", NULL};
static tvmffi_i_known_column tvmffi_i_eq_hooks = {"__ffi_eq__", NULL};
static tvmffi_i_known_column tvmffi_i_compare_hooks = {"__ffi_compare__", NULL};

/* -------- Repr -------- */

/* Lets text go to a buffer of its own, made when it is first used: that of a
   call back, and of what is not shown, must not stand in the text around it,
   and is kept, as it may be met again. */
static int tvmffi_i_repr_to(tvmffi_i_graph *g, uint32_t to) {
  size_t had = g->num_texts;
  tvmffi_i_text_buffer *larger;
  g->to = to;
  if (to < had) return 0;
  larger = (tvmffi_i_text_buffer *)tvmffi_i_larger(g->text, &g->num_texts,
                                                   sizeof(*larger));
  if (!larger) return -1;
  memset((void *)(larger + had), 0, (g->num_texts - had) * sizeof(*larger));
  g->text = larger;
  return 0;
}

static void tvmffi_i_repr_address(tvmffi_i_graph *g, const TVMFFIObject *o) {
  if (g->with_address)
    tvmffi_i_text_hex(&g->text[g->to], "@0x", (uint64_t)(uintptr_t)o, 1);
}

/* Copies the text of an object that is done. */
static void tvmffi_i_repr_again(tvmffi_i_graph *g, const tvmffi_i_seen *s) {
  tvmffi_i_text_buffer *b = &g->text[g->to];
  char *at = tvmffi_i_text_room(b, s->size);
  if (!at) return;
  memcpy(at, g->text[s->to].data + s->value, s->size);
  b->size += s->size;
}

/* Notes that the text of an object is what was written from `begin` on. */
static void tvmffi_i_repr_done(tvmffi_i_graph *g, tvmffi_i_seen *s,
                               size_t begin) {
  s->state = TVMFFI_I_DONE;
  s->to = g->to;
  s->value = begin;
  s->size = g->text[g->to].size - begin;
}

static int tvmffi_i_repr_hook(tvmffi_i_graph *g, const TVMFFIAny *hook,
                              TVMFFIObject *o) {
  tvmffi_i_text_buffer *b;
  TVMFFIAny result;
  TVMFFIByteArray text;
  size_t begin;
  TVMFFI_TRY(
      tvmffi_i_run_hook(g, hook, TVMFFI_I_CALLBACK_REPR, o, NULL, &result));
  if (tvmffi_i_get_str(&result, &text))
    return tvmffi_i_bad_hook(&result, TVMFFI_I_CALLBACK_REPR);
  b = &g->text[g->to]; /* the callback may have moved it */
  begin = b->size;
  tvmffi_i_text_put(b, text.data, text.size);
  tvmffi_any_release(&result);
  if (tvmffi_i_is_container(o->type_index)) tvmffi_i_repr_address(g, o);
  tvmffi_i_repr_done(g, tvmffi_i_seen_place(g, o, NULL), begin);
  return 0;
}

/* Writes an object that needs no frame; gives 1, 0 for one that does, or an
   error's code. */
static int tvmffi_i_repr_object(tvmffi_i_graph *g, TVMFFIObject *o) {
  tvmffi_i_text_buffer *b = &g->text[g->to];
  const tvmffi_i_seen *s = tvmffi_i_find_seen(g, o, NULL);
  const TVMFFIAny any = tvmffi_obj(o), *hook;
  const DLTensor *t;
  const TVMFFIShapeCell *shape;
  TVMFFIByteArray name;
  if (s && s->state == TVMFFI_I_OPEN) {
    tvmffi_i_text_put(b, "...", 3);
    tvmffi_i_repr_address(g, o);
    return 1;
  }
  if (s) {
    tvmffi_i_repr_again(g, s);
    return b->failed ? tvmffi_i_no_memory() : 1;
  }
  if (o == &tvmffi_i_invalid_object || o == &tvmffi_i_kwargs_object) {
    tvmffi_i_text_str(b,
                      o == &tvmffi_i_kwargs_object ? "<KWARGS>" : "<MISSING>");
    return 1;
  }
  switch (o->type_index) {
    case kTVMFFIBigInt:
      tvmffi_i_text_bigint(b, TVMFFIBigIntGetContentByteArray(&any));
      return 1;
    case kTVMFFITensor:
      t = TVMFFI_I_CELL(DLTensor, o);
      TVMFFI_TRY(tvmffi_i_repr_dtype(b, t->dtype));
      tvmffi_i_text_char(b, '[');
      tvmffi_i_repr_numbers(b, t->shape, (size_t)(t->ndim > 0 ? t->ndim : 0));
      tvmffi_i_text_put(b, "]@", 2);
      tvmffi_i_repr_device(b, t->device);
      tvmffi_i_repr_address(g, o);
      return 1;
    case kTVMFFIShape:
      shape = TVMFFI_I_CELL(TVMFFIShapeCell, o);
      tvmffi_i_text_put(b, "Shape(", 6);
      tvmffi_i_repr_numbers(b, shape->data, shape->size);
      tvmffi_i_text_char(b, ')');
      return 1;
    default: break;
  }
  hook = tvmffi_i_type_attr(&tvmffi_i_repr_hooks, o->type_index);
  if (hook) {
    TVMFFI_TRY(tvmffi_i_repr_hook(g, hook, o));
    return 1;
  }
  if (!tvmffi_is_instance(o->type_index, TVMFFI_I_ENUM_BASE)) return 0;
  name = tvmffi_any_str(&((tvmffi_i_enum *)(void *)o)->str_index);
  tvmffi_i_text_str(b, tvmffi_i_type_key(o->type_index));
  tvmffi_i_text_char(b, '.');
  tvmffi_i_text_put(b, name.data, name.size);
  tvmffi_i_repr_address(g, o);
  return 1;
}

/* Writes a value that needs no frame; as tvmffi_i_repr_object. */
static int tvmffi_i_repr_leaf(tvmffi_i_graph *g, const TVMFFIAny *value) {
  tvmffi_i_text_buffer *b = &g->text[g->to];
  switch (value->type_index) {
    case kTVMFFINone: tvmffi_i_text_put(b, "None", 4); return 1;
    case kTVMFFIBool:
      tvmffi_i_text_str(b, value->v_int64 ? "True" : "False");
      return 1;
    case kTVMFFIInt: tvmffi_i_text_int(b, value->v_int64); return 1;
    case kTVMFFIFloat: tvmffi_i_text_float(b, value->v_uint64, 6); return 1;
    case kTVMFFIDataType:
      TVMFFI_TRY(tvmffi_i_repr_dtype(b, value->v_dtype));
      return 1;
    case kTVMFFIDevice: tvmffi_i_repr_device(b, value->v_device); return 1;
    case kTVMFFISmallStr:
    case kTVMFFIStr: tvmffi_i_repr_str(b, tvmffi_any_str(value)); return 1;
    case kTVMFFISmallBytes:
    case kTVMFFIBytes: tvmffi_i_repr_bytes(b, tvmffi_any_str(value)); return 1;
    default: break;
  }
  if (value->type_index < kTVMFFIStaticObjectBegin) {
    tvmffi_i_text_str(b, tvmffi_i_type_key(value->type_index));
    return 1;
  }
  if (value->v_obj) return tvmffi_i_repr_object(g, value->v_obj);
  tvmffi_i_text_put(b, "None", 4);
  return 1;
}

/* Begins an object: what stands before its children. */
static int tvmffi_i_repr_push(tvmffi_i_graph *g, TVMFFIObject *o,
                              uint32_t own) {
  tvmffi_i_text_buffer *b = &g->text[g->to];
  size_t begin = b->size;
  TVMFFI_TRY(tvmffi_i_push_graph(g, o, NULL, own));
  TVMFFI_I_TOP(tvmffi_i_graph_frame, &g->frames)->begin = begin;
  switch (o->type_index) {
    case kTVMFFIArray: tvmffi_i_text_char(b, '('); break;
    case kTVMFFIList: tvmffi_i_text_char(b, '['); break;
    case kTVMFFIMap:
    case kTVMFFIDict: tvmffi_i_text_char(b, '{'); break;
    default:
      tvmffi_i_text_str(b, tvmffi_i_type_key(o->type_index));
      tvmffi_i_repr_address(g, o);
  }
  return 0;
}

/* Ends an object. */
static int tvmffi_i_repr_pop(tvmffi_i_graph *g) {
  tvmffi_i_graph_frame *f = TVMFFI_I_TOP(tvmffi_i_graph_frame, &g->frames);
  tvmffi_i_text_buffer *b = &g->text[g->to];
  size_t begin = f->begin;
  tvmffi_i_seen *s;
  switch (f->object->type_index) {
    case kTVMFFIArray:
      if (f->at == 1) tvmffi_i_text_char(b, ',');
      tvmffi_i_text_char(b, ')');
      break;
    case kTVMFFIList: tvmffi_i_text_char(b, ']'); break;
    case kTVMFFIMap:
    case kTVMFFIDict: tvmffi_i_text_char(b, '}'); break;
    default:
      if (f->has_child) tvmffi_i_text_char(b, ')');
  }
  if (tvmffi_i_is_container(f->object->type_index))
    tvmffi_i_repr_address(g, f->object);
  s = tvmffi_i_pop_graph(g);
  if (s) tvmffi_i_repr_done(g, s, begin);
  return b->failed ? tvmffi_i_no_memory() : 0;
}

/* Tells whether a field before the present one, in a type or its ancestors, has
   the same name: then only that one is shown. */
static int tvmffi_i_is_hidden(const tvmffi_i_graph *g,
                              const tvmffi_i_graph_frame *f,
                              const TVMFFIFieldInfo *field) {
  tvmffi_i_field_walk w = tvmffi_i_walk_fields(f->walk.type);
  const TVMFFIFieldInfo *before;
  while ((before = tvmffi_i_next_field(&w)) && before != field)
    if (before->name.size == field->name.size && !(before->flags & g->skip) &&
        memcmp(before->name.data, field->name.data, field->name.size) == 0)
      return 1;
  return 0;
}

/* Writes what stands before a child. One that is hidden is not shown. */
static int tvmffi_i_repr_before(tvmffi_i_graph *g, tvmffi_i_graph_frame *f) {
  tvmffi_i_text_buffer *b = &g->text[g->to];
  const TVMFFIFieldInfo *field;
  int32_t index = f->object->type_index;
  if (tvmffi_i_is_container(index)) {
    if ((index == kTVMFFIMap || index == kTVMFFIDict) && !f->is_value)
      tvmffi_i_text_put(b, ": ", 2);
    else if (f->has_child)
      tvmffi_i_text_put(b, ", ", 2);
    f->has_child = 1;
    return 0;
  }
  field = &f->walk.fields[f->walk.i - 1];
  if (tvmffi_i_is_hidden(g, f, field)) return tvmffi_i_repr_to(g, f->to + 1);
  tvmffi_i_text_put(b, f->has_child ? ", " : "(", f->has_child ? 2 : 1);
  f->has_child = 1;
  tvmffi_i_text_put(b, field->name.data, field->name.size);
  tvmffi_i_text_char(b, '=');
  return 0;
}

/* Writes a value with all that it holds. */
static int tvmffi_i_repr_all(tvmffi_i_graph *g, const TVMFFIAny *value,
                             uint32_t own) {
  size_t base = g->frames.depth;
  int code = tvmffi_i_repr_leaf(g, value);
  if (code) return code < 0 ? code : 0;
  if (!g->nested) g->has_root_frame = 1;
  TVMFFI_TRY(tvmffi_i_repr_push(g, value->v_obj, own));
  while (g->frames.depth > base) {
    tvmffi_i_graph_frame *f = TVMFFI_I_TOP(tvmffi_i_graph_frame, &g->frames);
    const TVMFFIAny *child;
    g->to = f->to;
    TVMFFI_TRY(tvmffi_i_next_child(g, f, &child));
    if (!child) {
      TVMFFI_TRY(tvmffi_i_repr_pop(g));
      continue;
    }
    TVMFFI_TRY(tvmffi_i_repr_before(g, f));
    code = tvmffi_i_repr_leaf(g, child);
    if (code < 0) return code;
    if (!code)
      TVMFFI_TRY(
          tvmffi_i_repr_push(g, child->v_obj, tvmffi_i_own_count(f, child)));
  }
  return 0;
}

static int tvmffi_i_call_repr(void *self, const TVMFFIAny *args,
                              int32_t num_args, TVMFFIAny *result) {
  TVMFFIAny values[2];
  tvmffi_i_graph *g = tvmffi_i_begin_callback(self, TVMFFI_I_CALLBACK_REPR,
                                              args, num_args, result, values);
  tvmffi_i_text_buffer *b;
  TVMFFIByteArray text;
  size_t base, begin = 0;
  uint32_t to;
  int code;
  if (!g) return -1;
  base = g->frames.depth;
  to = g->to;
  code = tvmffi_i_repr_to(g, to + 1);
  if (!code) {
    begin = g->text[to + 1].size;
    code = tvmffi_i_repr_all(g, &values[0], 0);
  }
  while (g->frames.depth > base) (void)tvmffi_i_pop_graph(g);
  g->to = to;
  tvmffi_any_release(&values[0]);
  if (code) return code;
  b = &g->text[to + 1];
  if (b->failed) return tvmffi_i_no_memory();
  text.data = b->data + begin;
  text.size = b->size - begin;
  return TVMFFIStringFromByteArray(&text, result);
}

/* Takes the whole text. That of what has children is a string object even if it
   is short, as upstream's is, which Python users see. */
static int tvmffi_i_repr_take(tvmffi_i_text_buffer *b, int is_large,
                              TVMFFIAny *out) {
  if (!is_large || b->failed || b->size >= sizeof(out->v_bytes))
    return tvmffi_i_text_take(b, out);
  return tvmffi_i_make_large(b->data, b->size, kTVMFFIStr, out);
}

TVMFFI_FUNC(i_repr_print, str, (any, value)) {
  tvmffi_i_graph_frame room[8];
  tvmffi_i_graph g = TVMFFI_I_ZERO;
  TVMFFIAny owned;
  int code;
#if !TVMFFI_NO_STDIO
  const char *text = getenv("TVM_FFI_REPR_WITH_ADDR");
  g.with_address = text && strcmp(text, "1") == 0;
#endif
  tvmffi_i_stack_open(&g.frames, room, sizeof(room));
  g.name = "ObjectGraphDFS";
  g.skip = kTVMFFIFieldFlagBitMaskReprOff;
  TVMFFI_TRY(tvmffi_i_start_types());
  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(&value, &owned));
  code = tvmffi_i_repr_to(&g, 0);
  if (!code) code = tvmffi_i_repr_all(&g, &owned, 2);
  if (!code)
    code = tvmffi_i_repr_take(&g.text[0], g.has_root_frame, tvmffi_result);
  tvmffi_i_end_graph(&g);
  tvmffi_any_release(&owned);
  return code;
}

/* -------- Hash -------- */

TVMFFI_I_INLINE int tvmffi_i_is_nan(uint64_t bits) {
  return bits << 1 > (uint64_t)2047 << 53;
}

/* Equal numbers have equal hashes: both zeros, and all that are none. */
static uint64_t tvmffi_i_hash_float(uint64_t bits) {
  if (bits << 1 == 0) return 0;
  return tvmffi_i_is_nan(bits) ? (uint64_t)0x7FF8 << 48 : bits;
}

/* Gives the hash of a value that is no object. */
static uint64_t tvmffi_i_hash_plain(const TVMFFIAny *value) {
  uint64_t h = (uint64_t)(int64_t)value->type_index;
  switch (value->type_index) {
    case kTVMFFINone: return tvmffi_i_hash_combine(0, 0);
    case kTVMFFIBool: return tvmffi_i_hash_combine(h, value->v_int64 != 0);
    case kTVMFFIFloat:
      return tvmffi_i_hash_combine(h, tvmffi_i_hash_float(value->v_uint64));
    case kTVMFFIDataType:
      h = tvmffi_i_hash_combine(h, value->v_dtype.code);
      h = tvmffi_i_hash_combine(h, value->v_dtype.bits);
      return tvmffi_i_hash_combine(h, value->v_dtype.lanes);
    case kTVMFFIDevice:
      h = tvmffi_i_hash_combine(
          h, (uint64_t)(int64_t)(int32_t)value->v_device.device_type);
      return tvmffi_i_hash_combine(
          h, (uint64_t)(int64_t)value->v_device.device_id);
    default: return tvmffi_i_hash_combine(h, value->v_uint64);
  }
}

static uint64_t tvmffi_i_hash_text(int32_t index, const TVMFFIAny *value) {
  TVMFFIByteArray s = tvmffi_any_str(value);
  return tvmffi_i_hash_combine((uint64_t)index,
                               tvmffi_i_stable_hash(s.data, s.size));
}

static uint64_t tvmffi_i_hash_shape(const TVMFFIObject *o) {
  const TVMFFIShapeCell *shape = TVMFFI_I_CELL(TVMFFIShapeCell, o);
  uint64_t h = TVMFFIGetTypeInfo(kTVMFFIShape)->type_key_hash;
  size_t i;
  h = tvmffi_i_hash_combine(h, shape->size);
  for (i = 0; i < shape->size; ++i)
    h = tvmffi_i_hash_combine(h, (uint64_t)shape->data[i]);
  return h;
}

/* Gives the hash of a value that needs no frame and 1, 0 for one that does, or
   an error's code. */
static int tvmffi_i_hash_leaf(tvmffi_i_graph *g, const TVMFFIAny *value,
                              uint64_t *hash) {
  int32_t index = value->type_index;
  TVMFFIObject *o = value->v_obj;
  const TVMFFIAny *hook;
  const tvmffi_i_seen *s;
  tvmffi_i_seen *place;
  TVMFFIAny result;
  int64_t got;
  if (index == kTVMFFIStr || index == kTVMFFISmallStr) {
    *hash = tvmffi_i_hash_text(kTVMFFIStr, value);
    return 1;
  }
  if (index == kTVMFFIBytes || index == kTVMFFISmallBytes) {
    *hash = tvmffi_i_hash_text(kTVMFFIBytes, value);
    return 1;
  }
  if (index < kTVMFFIStaticObjectBegin || !o) {
    const TVMFFIAny none = tvmffi_none();
    *hash =
        tvmffi_i_hash_plain(index < kTVMFFIStaticObjectBegin ? value : &none);
    return 1;
  }
  if (index == kTVMFFIShape) {
    *hash = tvmffi_i_hash_shape(o);
    return 1;
  }
  s = tvmffi_i_find_seen(g, o, NULL);
  if (s) {
    *hash = s->state == TVMFFI_I_DONE ? s->value
                                      : TVMFFIGetTypeInfo(index)->type_key_hash;
    return 1;
  }
  hook = tvmffi_i_type_attr(&tvmffi_i_hash_hooks, index);
  if (hook) {
    TVMFFI_TRY(
        tvmffi_i_run_hook(g, hook, TVMFFI_I_CALLBACK_HASH, o, NULL, &result));
    if (tvmffi_i_get_int64(&result, &got))
      return tvmffi_i_bad_hook(&result, TVMFFI_I_CALLBACK_HASH);
    place = tvmffi_i_seen_place(g, o, NULL);
    place->state = TVMFFI_I_DONE;
    place->value = *hash = (uint64_t)got;
    return 1;
  }
  if (index >= kTVMFFIStaticObjectEnd &&
      (tvmffi_i_type_attr(&tvmffi_i_eq_hooks, index) ||
       tvmffi_i_type_attr(&tvmffi_i_compare_hooks, index)))
    return tvmffi_i_fail(
        "ValueError",
        "RecursiveHash: type '%s' defines __ffi_eq__ or __ffi_compare__ but "
        "not __ffi_hash__. Add a __ffi_hash__ hook to maintain the invariant "
        "RecursiveEq(a,b) => RecursiveHash(a)==RecursiveHash(b).",
        tvmffi_i_type_key(index));
  return 0;
}

static int tvmffi_i_hash_push(tvmffi_i_graph *g, TVMFFIObject *o,
                              uint32_t own) {
  tvmffi_i_graph_frame *f;
  uint64_t size;
  TVMFFI_TRY(tvmffi_i_push_graph(g, o, NULL, own));
  f = TVMFFI_I_TOP(tvmffi_i_graph_frame, &g->frames);
  f->begin = g->num_hashes;
  f->hash = f->walk.type->type_key_hash;
  if (!tvmffi_i_is_container(o->type_index)) return 0;
  size = o->type_index == kTVMFFIMap || o->type_index == kTVMFFIDict
             ? (uint64_t)tvmffi_i_map_size(o)
             : (uint64_t)TVMFFI_I_CELL(TVMFFISeqCell, o)->size;
  f->hash = tvmffi_i_hash_combine(f->hash, size);
  return 0;
}

/* Puts the hash of a child into that of its object. A map's entries are put
   together at its end, as their order does not count. */
static int tvmffi_i_hash_feed(tvmffi_i_graph *g, uint64_t hash) {
  tvmffi_i_graph_frame *f = TVMFFI_I_TOP(tvmffi_i_graph_frame, &g->frames);
  uint64_t *larger;
  switch (f->object->type_index) {
    case kTVMFFIArray:
    case kTVMFFIList: hash = tvmffi_i_hash_combine(hash, f->at - 1); break;
    case kTVMFFIMap:
    case kTVMFFIDict:
      if (f->is_value) {
        f->key_hash = hash;
        return 0;
      }
      if (g->num_hashes == g->hash_capacity) {
        larger = (uint64_t *)tvmffi_i_larger(g->hashes, &g->hash_capacity,
                                             sizeof(*larger));
        if (!larger) return -1;
        g->hashes = larger;
      }
      g->hashes[g->num_hashes++] = tvmffi_i_hash_combine(f->key_hash, hash);
      return 0;
    default: break;
  }
  f->hash = tvmffi_i_hash_combine(f->hash, hash);
  return 0;
}

static void tvmffi_i_sift(uint64_t *heap, size_t i, size_t n) {
  uint64_t x = heap[i];
  size_t child;
  while ((child = 2 * i + 1) < n) {
    if (child + 1 < n && heap[child] < heap[child + 1]) ++child;
    if (heap[child] <= x) break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = x;
}

static void tvmffi_i_sort(uint64_t *items, size_t n) {
  size_t i;
  for (i = n / 2; i--;) tvmffi_i_sift(items, i, n);
  while (n > 1) {
    uint64_t last = items[--n];
    items[n] = items[0];
    items[0] = last;
    tvmffi_i_sift(items, 0, n);
  }
}

static uint64_t tvmffi_i_hash_pop(tvmffi_i_graph *g) {
  tvmffi_i_graph_frame *f = TVMFFI_I_TOP(tvmffi_i_graph_frame, &g->frames);
  uint64_t hash = f->hash;
  size_t i, begin = f->begin;
  tvmffi_i_seen *s;
  if (g->num_hashes > begin) {
    tvmffi_i_sort(g->hashes + begin, g->num_hashes - begin);
    for (i = begin; i < g->num_hashes; ++i)
      hash = tvmffi_i_hash_combine(hash, g->hashes[i]);
    g->num_hashes = begin;
  }
  s = tvmffi_i_pop_graph(g);
  if (s) {
    s->state = TVMFFI_I_DONE;
    s->value = hash;
  }
  return hash;
}

/* Gives the hash of a value with all that it holds. */
static int tvmffi_i_hash_all(tvmffi_i_graph *g, const TVMFFIAny *value,
                             uint32_t own, uint64_t *hash) {
  size_t base = g->frames.depth;
  int code = tvmffi_i_hash_leaf(g, value, hash);
  if (code) return code < 0 ? code : 0;
  TVMFFI_TRY(tvmffi_i_hash_push(g, value->v_obj, own));
  for (;;) {
    tvmffi_i_graph_frame *f = TVMFFI_I_TOP(tvmffi_i_graph_frame, &g->frames);
    const TVMFFIAny *child;
    TVMFFI_TRY(tvmffi_i_next_child(g, f, &child));
    if (!child) {
      *hash = tvmffi_i_hash_pop(g);
      if (g->frames.depth == base) return 0;
    } else {
      code = tvmffi_i_hash_leaf(g, child, hash);
      if (code < 0) return code;
      if (!code) {
        TVMFFI_TRY(
            tvmffi_i_hash_push(g, child->v_obj, tvmffi_i_own_count(f, child)));
        continue;
      }
    }
    TVMFFI_TRY(tvmffi_i_hash_feed(g, *hash));
  }
}

static int tvmffi_i_call_hash(void *self, const TVMFFIAny *args,
                              int32_t num_args, TVMFFIAny *result) {
  TVMFFIAny values[2];
  tvmffi_i_graph *g = tvmffi_i_begin_callback(self, TVMFFI_I_CALLBACK_HASH,
                                              args, num_args, result, values);
  size_t base, num_hashes;
  uint64_t hash;
  int code;
  if (!g) return -1;
  base = g->frames.depth;
  num_hashes = g->num_hashes;
  code = tvmffi_i_hash_all(g, &values[0], 0, &hash);
  while (g->frames.depth > base) (void)tvmffi_i_pop_graph(g);
  g->num_hashes = num_hashes;
  tvmffi_any_release(&values[0]);
  if (!code) *result = tvmffi_int((int64_t)hash);
  return code;
}

TVMFFI_FUNC(i_recursive_hash, int64, (any, value)) {
  tvmffi_i_graph_frame room[8];
  tvmffi_i_graph g = TVMFFI_I_ZERO;
  TVMFFIAny owned;
  uint64_t hash = 0;
  int code;
  tvmffi_i_stack_open(&g.frames, room, sizeof(room));
  g.name = "ObjectGraphDFS";
  g.skip = kTVMFFIFieldFlagBitMaskHashOff | kTVMFFIFieldFlagBitMaskCompareOff;
  TVMFFI_TRY(tvmffi_i_start_types());
  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(&value, &owned));
  code = tvmffi_i_hash_all(&g, &owned, 2, &hash);
  tvmffi_i_end_graph(&g);
  tvmffi_any_release(&owned);
  if (code) return code;
  TVMFFI_RETURN((int64_t)hash);
}

/* -------- Order -------- */

#define TVMFFI_I_SIGN(a, b) (((a) > (b)) - ((a) < (b)))

/* Bytes are compared as `char` has them, signed on most machines, as upstream
   does (memncmp of string.h). */
static int tvmffi_i_text_sign(TVMFFIByteArray a, TVMFFIByteArray b) {
  size_t i = 0, n = a.size < b.size ? a.size : b.size;
  if (n && memcmp(a.data, b.data, n) != 0) {
    while (a.data[i] == b.data[i]) ++i;
    return TVMFFI_I_SIGN(a.data[i], b.data[i]);
  }
  return TVMFFI_I_SIGN(a.size, b.size);
}

static int tvmffi_i_shape_sign(const TVMFFIObject *a, const TVMFFIObject *b) {
  const TVMFFIShapeCell *x = TVMFFI_I_CELL(TVMFFIShapeCell, a);
  const TVMFFIShapeCell *y = TVMFFI_I_CELL(TVMFFIShapeCell, b);
  size_t i;
  for (i = 0; i < x->size && i < y->size; ++i)
    if (x->data[i] != y->data[i]) return TVMFFI_I_SIGN(x->data[i], y->data[i]);
  return TVMFFI_I_SIGN(x->size, y->size);
}

/* Two integers, of which one at least is big. */
static int tvmffi_i_bigint_sign(const TVMFFIAny *a, const TVMFFIAny *b) {
  TVMFFIByteArray x = TVMFFIBigIntGetContentByteArray(a);
  TVMFFIByteArray y = TVMFFIBigIntGetContentByteArray(b);
  size_t n = x.size / 8, m = y.size / 8, i = n > m ? n : m;
  int64_t x_high = n ? tvmffi_i_word(x.data, n - 1) : 0;
  int64_t y_high = m ? tvmffi_i_word(y.data, m - 1) : 0;
  if ((x_high < 0) != (y_high < 0)) return x_high < 0 ? -1 : 1;
  while (i--) {
    uint64_t p = (uint64_t)(i < n ? tvmffi_i_word(x.data, i) : -(x_high < 0));
    uint64_t q = (uint64_t)(i < m ? tvmffi_i_word(y.data, i) : -(y_high < 0));
    if (p != q) return TVMFFI_I_SIGN(p, q);
  }
  return 0;
}

/* The order of floating-point numbers as one of integers; both zeros are 0. */
TVMFFI_I_INLINE int64_t tvmffi_i_float_rank(uint64_t bits) {
  int64_t size = (int64_t)(bits << 1 >> 1);
  return bits >> 63 ? -size : size;
}

/* Compares two values of one type that are no objects. */
static int tvmffi_i_compare_plain(const tvmffi_i_graph *g, const TVMFFIAny *a,
                                  const TVMFFIAny *b, int *sign) {
  switch (a->type_index) {
    case kTVMFFIBool: *sign = (a->v_int64 != 0) - (b->v_int64 != 0); return 0;
    case kTVMFFIInt: *sign = TVMFFI_I_SIGN(a->v_int64, b->v_int64); return 0;
    case kTVMFFIFloat:
      if (tvmffi_i_is_nan(a->v_uint64) || tvmffi_i_is_nan(b->v_uint64)) {
        if (!g->is_equality)
          return tvmffi_i_fail("TypeError", "Cannot order NaN values");
        *sign = tvmffi_i_is_nan(a->v_uint64) != tvmffi_i_is_nan(b->v_uint64);
        return 0;
      }
      *sign = TVMFFI_I_SIGN(tvmffi_i_float_rank(a->v_uint64),
                            tvmffi_i_float_rank(b->v_uint64));
      return 0;
    case kTVMFFIDataType:
      *sign = TVMFFI_I_SIGN(a->v_dtype.code, b->v_dtype.code);
      if (!*sign) *sign = TVMFFI_I_SIGN(a->v_dtype.bits, b->v_dtype.bits);
      if (!*sign) *sign = TVMFFI_I_SIGN(a->v_dtype.lanes, b->v_dtype.lanes);
      return 0;
    case kTVMFFIDevice:
      *sign = TVMFFI_I_SIGN((int32_t)a->v_device.device_type,
                            (int32_t)b->v_device.device_type);
      if (!*sign)
        *sign = TVMFFI_I_SIGN(a->v_device.device_id, b->v_device.device_id);
      return 0;
    default: break;
  }
  *sign = a->zero_padding != b->zero_padding || a->v_uint64 != b->v_uint64;
  if (!*sign || g->is_equality) return 0;
  return tvmffi_i_fail("TypeError", "Cannot order values of type %s",
                       tvmffi_i_type_key(a->type_index));
}

TVMFFI_I_SLOW int tvmffi_i_cannot_order_maps(void) {
  return tvmffi_i_fail("TypeError", "Cannot order Map/Dict values");
}

/* Compares two objects of a type that has a hook; gives 1, 0 if it has none, or
   an error's code. */
static int tvmffi_i_compare_hook(tvmffi_i_graph *g, TVMFFIObject *a,
                                 TVMFFIObject *b, int *sign) {
  const TVMFFIAny *hook = NULL;
  TVMFFIAny result;
  int64_t order;
  tvmffi_type_bool equal;
  if (g->is_equality)
    hook = tvmffi_i_type_attr(&tvmffi_i_eq_hooks, a->type_index);
  if (hook) {
    TVMFFI_TRY(tvmffi_i_run_hook(g, hook, TVMFFI_I_CALLBACK_EQ, a, b, &result));
    if (tvmffi_i_get_bool(&result, &equal))
      return tvmffi_i_bad_hook(&result, TVMFFI_I_CALLBACK_EQ);
    *sign = !equal;
    return 1;
  }
  hook = tvmffi_i_type_attr(&tvmffi_i_compare_hooks, a->type_index);
  if (!hook) return 0;
  TVMFFI_TRY(
      tvmffi_i_run_hook(g, hook, TVMFFI_I_CALLBACK_COMPARE, a, b, &result));
  if (tvmffi_i_get_int64(&result, &order))
    return tvmffi_i_bad_hook(&result, TVMFFI_I_CALLBACK_COMPARE);
  *sign = (int32_t)order;
  return 1;
}

/* Compares two values that need no frame; gives 1, 0 for two that do, or an
   error's code. */
static int tvmffi_i_compare_leaf(tvmffi_i_graph *g, const TVMFFIAny *a,
                                 const TVMFFIAny *b, int *sign) {
  int32_t i = a->type_index, j = b->type_index;
  const tvmffi_i_seen *s;
  if (i == kTVMFFINone || j == kTVMFFINone) {
    *sign = (i != kTVMFFINone) - (j != kTVMFFINone);
    return 1;
  }
  if (((i == kTVMFFIStr || i == kTVMFFISmallStr) &&
       (j == kTVMFFIStr || j == kTVMFFISmallStr)) ||
      ((i == kTVMFFIBytes || i == kTVMFFISmallBytes) &&
       (j == kTVMFFIBytes || j == kTVMFFISmallBytes))) {
    *sign = tvmffi_i_text_sign(tvmffi_any_str(a), tvmffi_any_str(b));
    return 1;
  }
  if (i != j) {
    *sign = 1;
    if (g->is_equality) return 1;
    if ((i != kTVMFFIInt && i != kTVMFFIBigInt) ||
        (j != kTVMFFIInt && j != kTVMFFIBigInt))
      return tvmffi_i_fail("TypeError",
                           "Cannot compare values of different types: %s vs %s",
                           tvmffi_i_type_key(i), tvmffi_i_type_key(j));
    *sign = tvmffi_i_bigint_sign(a, b);
    return 1;
  }
  if (i < kTVMFFIStaticObjectBegin) {
    TVMFFI_TRY(tvmffi_i_compare_plain(g, a, b, sign));
    return 1;
  }
  if (a->v_obj == b->v_obj || !a->v_obj || !b->v_obj) {
    *sign = (a->v_obj != NULL) - (b->v_obj != NULL);
    return 1;
  }
  if (i == kTVMFFIBigInt) {
    *sign = tvmffi_i_bigint_sign(a, b);
    return 1;
  }
  if (i == kTVMFFIShape) {
    *sign = tvmffi_i_shape_sign(a->v_obj, b->v_obj);
    return 1;
  }
  *sign = 0;
  s = tvmffi_i_find_seen(g, a->v_obj, b->v_obj);
  if (s && (s->state == TVMFFI_I_DONE || g->is_equality)) return 1;
  if (s)
    return tvmffi_i_fail("ValueError",
                         "RecursiveCompare: cyclic reference detected in "
                         "ordering");
  if (i < kTVMFFIStaticObjectEnd) return 0;
  return tvmffi_i_compare_hook(g, a->v_obj, b->v_obj, sign);
}

/* Tells whether two maps have the same keys in the same order, as far as that
   can be seen without a look-up. */
static int tvmffi_i_are_in_step(const TVMFFIObject *map,
                                const TVMFFIObject *other) {
  uint64_t i = tvmffi_i_map_begin(map), j = tvmffi_i_map_begin(other);
  const tvmffi_i_pair *p, *q;
  while ((p = tvmffi_i_map_pair(map, i)) != NULL) {
    q = tvmffi_i_map_pair(other, j);
    if (!q ||
        (p->key.type_index > kTVMFFIBytes &&
         !tvmffi_i_same_any(&p->key, &q->key)) ||
        tvmffi_i_any_equal(&p->key, &q->key) != 1)
      return 0;
    i = tvmffi_i_map_after(map, i);
    j = tvmffi_i_map_after(other, j);
  }
  return 1;
}

/* Tells whether each key of a map is in another one, which has as many. */
static int tvmffi_i_has_keys(TVMFFIObject *map, TVMFFIObject *other) {
  const tvmffi_i_pair *pair;
  const TVMFFIAny *value;
  uint64_t at = tvmffi_i_map_begin(map);
  for (; (pair = tvmffi_i_map_pair(map, at)) != NULL;
       at = tvmffi_i_map_after(map, at)) {
    value = tvmffi_i_map_lookup(other, &pair->key);
    if (value == &tvmffi_i_map_failed) return -1;
    if (!value) return 0;
  }
  return 1;
}

/* Begins a pair of objects; gives 1 for maps whose keys differ, else a code. */
static int tvmffi_i_compare_push(tvmffi_i_graph *g, TVMFFIObject *a,
                                 TVMFFIObject *b, uint32_t own) {
  int32_t index = a->type_index;
  int same = 0;
  TVMFFI_TRY(tvmffi_i_push_graph(g, a, b, own));
  if (index != kTVMFFIMap && index != kTVMFFIDict) return 0;
  if (tvmffi_i_map_size(a) == tvmffi_i_map_size(b)) {
    tvmffi_i_graph_frame *f = TVMFFI_I_TOP(tvmffi_i_graph_frame, &g->frames);
    f->other_at = tvmffi_i_map_begin(b);
    f->in_step = (unsigned char)tvmffi_i_are_in_step(a, b);
    same = f->in_step ? 1 : tvmffi_i_has_keys(a, b);
  }
  if (same > 0) return 0;
  (void)tvmffi_i_pop_graph(g);
  if (same < 0) return -1;
  return g->is_equality ? 1 : tvmffi_i_cannot_order_maps();
}

/* Gives what a key has in the other map of a pair. */
static int tvmffi_i_value_at_key(tvmffi_i_graph_frame *f, const TVMFFIAny *key,
                                 const TVMFFIAny **value) {
  const tvmffi_i_pair *pair;
  *value = NULL;
  if (f->in_step) {
    pair = tvmffi_i_map_pair(f->other, f->other_at);
    f->other_at = tvmffi_i_map_after(f->other, f->other_at);
    if (pair) *value = &pair->value;
  } else {
    *value = tvmffi_i_map_lookup(f->other, key);
  }
  if (*value == &tvmffi_i_map_failed) return -1;
  if (*value) return 0;
  return tvmffi_i_fail("RuntimeError", "A map has changed while compared");
}

/* Gives the next two values of a pair, NULL at its end. */
static int tvmffi_i_next_pair(tvmffi_i_graph *g, tvmffi_i_graph_frame *f,
                              const TVMFFIAny **a, const TVMFFIAny **b) {
  const TVMFFISeqCell *other;
  int32_t index = f->object->type_index;
  *b = &f->field[1];
  if (index == kTVMFFIArray || index == kTVMFFIList) {
    other = TVMFFI_I_CELL(TVMFFISeqCell, f->other);
    *a = NULL;
    if (f->at >= (uint64_t)other->size) return 0;
    *b = (const TVMFFIAny *)other->data + f->at;
    return tvmffi_i_next_child(g, f, a);
  }
  if (index != kTVMFFIMap && index != kTVMFFIDict)
    return tvmffi_i_next_child(g, f, a);
  TVMFFI_TRY(tvmffi_i_next_child(g, f, a));
  if (!*a) return 0;
  TVMFFI_TRY(tvmffi_i_value_at_key(f, *a, b));
  return tvmffi_i_next_child(g, f, a);
}

/* Ends a comparison before its end, with a sign other than 0. Maps have no
   order, not even by what they hold. */
static int tvmffi_i_compare_differ(tvmffi_i_graph *g, size_t base) {
  int has_maps = 0;
  while (g->frames.depth > base) {
    const TVMFFIObject *o =
        TVMFFI_I_TOP(tvmffi_i_graph_frame, &g->frames)->object;
    has_maps |= o->type_index == kTVMFFIMap || o->type_index == kTVMFFIDict;
    (void)tvmffi_i_pop_graph(g);
  }
  return has_maps && !g->is_equality ? tvmffi_i_cannot_order_maps() : 0;
}

/* Ends a pair that is equal as far as it went; gives which is longer. What is
   equal need not be compared again, but for a hook: it may tell of a pair as
   equal that is not, whose parts then are wrongly taken as equal. */
static int tvmffi_i_compare_pop(tvmffi_i_graph *g) {
  const tvmffi_i_graph_frame *f =
      TVMFFI_I_TOP(tvmffi_i_graph_frame, &g->frames);
  int32_t index = f->object->type_index;
  tvmffi_i_seen *s;
  int sign = 0;
  if (index == kTVMFFIArray || index == kTVMFFIList)
    sign = TVMFFI_I_SIGN(TVMFFI_I_CELL(TVMFFISeqCell, f->object)->size,
                         TVMFFI_I_CELL(TVMFFISeqCell, f->other)->size);
  s = tvmffi_i_pop_graph(g);
  if (s && !sign && !g->nested) s->state = TVMFFI_I_DONE;
  return sign;
}

/* Compares two values with all that they hold. */
static int tvmffi_i_compare_all(tvmffi_i_graph *g, const TVMFFIAny *a,
                                const TVMFFIAny *b, uint32_t own, int *sign) {
  size_t base = g->frames.depth;
  int code = tvmffi_i_compare_leaf(g, a, b, sign);
  if (code) return code < 0 ? code : 0;
  *sign = tvmffi_i_compare_push(g, a->v_obj, b->v_obj, own);
  if (*sign) return *sign < 0 ? -1 : 0;
  while (g->frames.depth > base) {
    tvmffi_i_graph_frame *f = TVMFFI_I_TOP(tvmffi_i_graph_frame, &g->frames);
    TVMFFI_TRY(tvmffi_i_next_pair(g, f, &a, &b));
    if (!a) {
      *sign = tvmffi_i_compare_pop(g);
    } else {
      code = tvmffi_i_compare_leaf(g, a, b, sign);
      if (code < 0) return code;
      if (!code) {
        *sign = tvmffi_i_compare_push(g, a->v_obj, b->v_obj,
                                      tvmffi_i_own_count(f, a));
        if (*sign < 0) return -1;
      }
    }
    if (*sign) return tvmffi_i_compare_differ(g, base);
  }
  return 0;
}

static int tvmffi_i_compare_back(void *self, int kind, const TVMFFIAny *args,
                                 int32_t num_args, TVMFFIAny *result,
                                 int *sign) {
  TVMFFIAny values[2];
  tvmffi_i_graph *g =
      tvmffi_i_begin_callback(self, kind, args, num_args, result, values);
  size_t base;
  int code;
  if (!g) return -1;
  base = g->frames.depth;
  code = tvmffi_i_compare_all(g, &values[0], &values[1], 0, sign);
  while (g->frames.depth > base) (void)tvmffi_i_pop_graph(g);
  tvmffi_any_release(&values[0]);
  tvmffi_any_release(&values[1]);
  return code;
}

static int tvmffi_i_call_eq(void *self, const TVMFFIAny *args, int32_t num_args,
                            TVMFFIAny *result) {
  int sign = 0;
  TVMFFI_TRY(tvmffi_i_compare_back(self, TVMFFI_I_CALLBACK_EQ, args, num_args,
                                   result, &sign));
  *result = tvmffi_bool(!sign);
  return 0;
}

static int tvmffi_i_call_compare(void *self, const TVMFFIAny *args,
                                 int32_t num_args, TVMFFIAny *result) {
  int sign = 0;
  TVMFFI_TRY(tvmffi_i_compare_back(self, TVMFFI_I_CALLBACK_COMPARE, args,
                                   num_args, result, &sign));
  *result = tvmffi_int(sign);
  return 0;
}

/* Gives whether a is less than b (negative), equal (0) or greater; with
   `is_equality` only whether they are equal. */
static int tvmffi_i_compare(const TVMFFIAny *a, const TVMFFIAny *b,
                            int is_equality, int *sign) {
  tvmffi_i_graph_frame room[8];
  tvmffi_i_graph g = TVMFFI_I_ZERO;
  TVMFFIAny x, y;
  int code;
  tvmffi_i_stack_open(&g.frames, room, sizeof(room));
  g.name = "RecursiveCompare";
  g.skip = kTVMFFIFieldFlagBitMaskCompareOff;
  g.is_equality = is_equality;
  TVMFFI_TRY(tvmffi_i_start_types());
  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(a, &x));
  code = TVMFFIAnyViewToOwnedAny(b, &y);
  if (!code) {
    code = tvmffi_i_compare_all(&g, &x, &y, 2, sign);
    tvmffi_any_release(&y);
  }
  tvmffi_i_end_graph(&g);
  tvmffi_any_release(&x);
  return code;
}

#define TVMFFI_I_COMPARE(name, is_equality, op)               \
  TVMFFI_FUNC(i_recursive_##name, bool, (any, a), (any, b)) { \
    int sign = 0;                                             \
    TVMFFI_TRY(tvmffi_i_compare(&a, &b, is_equality, &sign)); \
    TVMFFI_RETURN(sign op 0);                                 \
  }
TVMFFI_I_COMPARE(eq, 1, ==)
TVMFFI_I_COMPARE(lt, 0, <)
TVMFFI_I_COMPARE(le, 0, <=)
TVMFFI_I_COMPARE(gt, 0, >)
TVMFFI_I_COMPARE(ge, 0, >=)

/* -------- Hooks of the built-in types -------- */

/* A function that may be None. */
TVMFFI_I_TYPE(i_callback, TVMFFIObject *, "ffi.Function", "ffi.Function")
TVMFFI_I_GET(i_callback) {
  *out = any->type_index == kTVMFFIFunction ? any->v_obj : NULL;
  return *out || any->type_index == kTVMFFINone ? 0 : TVMFFI_I_MISMATCH;
}

static int tvmffi_i_cannot_treat(const TVMFFIObject *o, const char *as) {
  return tvmffi_i_fail("TypeError", "Cannot treat type `%s` as type `%s`",
                       tvmffi_i_type_key(o->type_index), as);
}

static int tvmffi_i_two_bigints(TVMFFIObject *a, TVMFFIObject *b, int *sign) {
  const TVMFFIAny x = tvmffi_obj(a), y = tvmffi_obj(b);
  if (a->type_index != kTVMFFIBigInt) return tvmffi_i_cannot_treat(a, "BigInt");
  if (b->type_index != kTVMFFIBigInt) return tvmffi_i_cannot_treat(b, "BigInt");
  *sign = tvmffi_i_bigint_sign(&x, &y);
  return 0;
}

TVMFFI_I_METHOD(i_bigint_eq, "ffi.BigInt.__ffi_eq__", bool, (object, a),
                (object, b), (i_callback, equal)) {
  int sign = 0;
  (void)equal;
  TVMFFI_TRY(tvmffi_i_two_bigints(a, b, &sign));
  TVMFFI_RETURN(!sign);
}

TVMFFI_I_METHOD(i_bigint_compare, "ffi.BigInt.__ffi_compare__", int64,
                (object, a), (object, b), (i_callback, compare)) {
  int sign = 0;
  (void)compare;
  TVMFFI_TRY(tvmffi_i_two_bigints(a, b, &sign));
  TVMFFI_RETURN(sign);
}

TVMFFI_I_METHOD(i_bigint_hash, "ffi.BigInt.__ffi_hash__", int64,
                (object, value), (i_callback, hash)) {
  const TVMFFIAny any = tvmffi_obj(value);
  TVMFFIByteArray words;
  (void)hash;
  if (value->type_index != kTVMFFIBigInt)
    return tvmffi_i_cannot_treat(value, "BigInt");
  words = TVMFFIBigIntGetContentByteArray(&any);
  TVMFFI_RETURN((int64_t)tvmffi_i_stable_hash(words.data, words.size));
}

/* Appends what a callback gives for a value. */
static int tvmffi_i_text_repr(tvmffi_i_text_buffer *b, TVMFFIObject *callback,
                              TVMFFIAny value) {
  TVMFFIAny result = tvmffi_none();
  TVMFFIByteArray text;
  if (!callback)
    return tvmffi_i_fail("TypeError", "Cannot call None as `ffi.Function`");
  TVMFFI_TRY(TVMFFIFunctionCall(callback, &value, 1, &result));
  if (tvmffi_i_get_str(&result, &text))
    return tvmffi_i_bad_hook(&result, TVMFFI_I_CALLBACK_REPR);
  tvmffi_i_text_put(b, text.data, text.size);
  tvmffi_any_release(&result);
  return 0;
}

static int tvmffi_i_text_step(tvmffi_i_text_buffer *b, const tvmffi_i_step *s,
                              TVMFFIObject *callback) {
  const TVMFFIAny *key = &s->key;
  TVMFFIByteArray name;
  int64_t i;
  int is_missing = s->kind >= TVMFFI_I_STEP_ATTR_MISSING;
  switch (s->kind) {
    case TVMFFI_I_STEP_ATTR:
      if (tvmffi_i_get_str(key, &name)) return tvmffi_i_bad_cast(key, "str");
      tvmffi_i_text_char(b, '.');
      tvmffi_i_text_put(b, name.data, name.size);
      return 0;
    case TVMFFI_I_STEP_ARRAY_ITEM:
    case TVMFFI_I_STEP_ARRAY_ITEM_MISSING:
      if (tvmffi_i_get_int64(key, &i)) return tvmffi_i_bad_cast(key, "int");
      tvmffi_i_text_str(b, is_missing ? "[<missing:" : "[");
      tvmffi_i_text_int(b, i);
      break;
    case TVMFFI_I_STEP_MAP_ITEM:
    case TVMFFI_I_STEP_ATTR_MISSING:
    case TVMFFI_I_STEP_MAP_ITEM_MISSING:
      tvmffi_i_text_str(b, is_missing ? "[<missing:" : "[");
      TVMFFI_TRY(tvmffi_i_text_repr(b, callback, *key));
      break;
    default:
      return tvmffi_i_fail("ValueError", "%d is no kind of an access step",
                           (int)s->kind);
  }
  tvmffi_i_text_str(b, is_missing ? ">]" : "]");
  return 0;
}

TVMFFI_I_METHOD(i_step_repr, "ffi.reflection.AccessStep.__ffi_repr__", str,
                (object, self), (i_callback, repr)) {
  tvmffi_i_text_buffer b = TVMFFI_I_ZERO;
  if (self->type_index != TVMFFI_I_ACCESS_STEP)
    return tvmffi_i_cannot_treat(self, "ffi.reflection.AccessStep");
  if (!tvmffi_i_text_step(&b, (const tvmffi_i_step *)(void *)self, repr))
    return tvmffi_i_text_take(&b, tvmffi_result);
  tvmffi_i_text_release(&b);
  return -1;
}

TVMFFI_I_METHOD(i_path_repr, "ffi.reflection.AccessPath.__ffi_repr__", str,
                (object, self), (i_callback, repr)) {
  tvmffi_i_text_buffer b = TVMFFI_I_ZERO;
  TVMFFIAny path = tvmffi_obj(self), steps = tvmffi_none();
  const TVMFFISeqCell *cell;
  int64_t i;
  int code = 0;
  if (self->type_index != TVMFFI_I_ACCESS_PATH)
    return tvmffi_i_cannot_treat(self, "ffi.reflection.AccessPath");
  TVMFFI_TRY(tvmffi_call_i_path_steps(NULL, &path, 1, &steps));
  cell = TVMFFI_I_CELL(TVMFFISeqCell, steps.v_obj);
  tvmffi_i_text_str(&b, "<root>");
  for (i = 0; i < cell->size && !code; ++i)
    code = tvmffi_i_text_repr(&b, repr, ((const TVMFFIAny *)cell->data)[i]);
  tvmffi_any_release(&steps);
  if (!code) return tvmffi_i_text_take(&b, tvmffi_result);
  tvmffi_i_text_release(&b);
  return code;
}
#endif /* !TVMFFI_NO_EXTRA */

/* ======== Structural equality and hash ======================= >>structural */
/* Whether two values have the same structure, where they first differ, and the
   hash that goes with it (upstream's extra/structural_equal.cc and
   structural_hash.cc): what a type counts as, and which of its fields, say its
   metadata and the flags of the fields. What is being looked at stands on a
   stack of frames and not on the thread's; only hooks (__s_equal__ and
   __s_hash__) and keys of maps nest, up to a limit. A frame keeps its objects
   where a hook could change what holds them. Takes no lock. */
#if !TVMFFI_NO_EXTRA

enum {
  TVMFFI_I_MAX_STRUCTURAL_NESTING = 4096,
  /* What a look at one value ends with, besides the code of an error. */
  TVMFFI_I_DIFFERENT = 0,
  TVMFFI_I_SAME = 1,
  TVMFFI_I_PUSHED = 2 /* a frame, which has to be worked off */
};

/* What is known of objects, by address; the table keeps them alive. */
typedef struct {
  TVMFFIObject *key; /* owned, NULL: a free place */
  uint64_t value;
} tvmffi_i_memo;

typedef struct {
  tvmffi_i_memo *places;
  size_t size, count; /* size: 0 or a power of two */
} tvmffi_i_memos;

/* The place of an object, or the free one where it belongs; there is one. */
TVMFFI_I_INLINE tvmffi_i_memo *tvmffi_i_memo_place(const tvmffi_i_memos *m,
                                                   const TVMFFIObject *key) {
  uint64_t hash = (uint64_t)(uintptr_t)key * 0x9E3779B97F4A7C15u;
  size_t i = (size_t)(hash >> 32) & (m->size - 1);
  while (m->places[i].key && m->places[i].key != key)
    i = (i + 1) & (m->size - 1);
  return &m->places[i];
}

TVMFFI_I_INLINE tvmffi_i_memo *tvmffi_i_find_memo(const tvmffi_i_memos *m,
                                                  const TVMFFIObject *key) {
  tvmffi_i_memo *place;
  if (!m->count) return NULL;
  place = tvmffi_i_memo_place(m, key);
  return place->key ? place : NULL;
}

static int tvmffi_i_set_memo(tvmffi_i_memos *m, TVMFFIObject *key,
                             uint64_t value) {
  tvmffi_i_memo *place;
  tvmffi_i_memos grown;
  size_t i;
  if (m->count * 2 >= m->size) {
    grown.size = m->size ? m->size * 2 : 16;
    grown.count = m->count;
    if (grown.size > PTRDIFF_MAX / sizeof(*place)) return tvmffi_i_no_memory();
    grown.places = (tvmffi_i_memo *)tvmffi_i_alloc(grown.size * sizeof(*place));
    if (!grown.places) return tvmffi_i_no_memory();
    memset((void *)grown.places, 0, grown.size * sizeof(*place));
    for (i = 0; i < m->size; ++i)
      if (m->places[i].key)
        *tvmffi_i_memo_place(&grown, m->places[i].key) = m->places[i];
    tvmffi_i_free(m->places);
    *m = grown;
  }
  place = tvmffi_i_memo_place(m, key);
  if (!place->key) {
    tvmffi_retain(key);
    place->key = key;
    ++m->count;
  }
  place->value = value;
  return 0;
}

static void tvmffi_i_drop_memos(tvmffi_i_memos *m) {
  size_t i;
  for (i = 0; i < m->size && m->count; ++i) {
    if (!m->places[i].key) continue;
    tvmffi_release(m->places[i].key);
    --m->count;
  }
  tvmffi_i_free(m->places);
}

/* What both have: the region that definitions are in, and the function that
   hooks are called with. `link` is that function's own memory, so that it can
   tell that the comparison is over. */
typedef struct {
  int32_t region, skips_tensors;
  TVMFFIObject *callback; /* owned */
  void **link;            /* borrowed from the callback */
} tvmffi_i_structural;

/* Hooks that compare, and keys of maps that are compared, use the thread's
   stack; this counts them. */
static int tvmffi_i_nest(void) {
  tvmffi_i_thread *t = tvmffi_i_self();
  if (t->nesting >= TVMFFI_I_MAX_STRUCTURAL_NESTING)
    return tvmffi_i_fail("RecursionError",
                         "Structural hooks and keys are nested more than %d "
                         "deep",
                         TVMFFI_I_MAX_STRUCTURAL_NESTING);
  ++t->nesting;
  return 0;
}

static void tvmffi_i_unnest(void) { --tvmffi_i_self()->nesting; }

static int tvmffi_i_make_callback(tvmffi_i_structural *s, void *state,
                                  TVMFFISafeCallType call) {
  TVMFFIObjectHandle f = NULL;
  if (s->callback) return 0;
  s->link = (void **)tvmffi_i_alloc(sizeof(*s->link));
  if (!s->link) return tvmffi_i_no_memory();
  *s->link = state;
  if (TVMFFIFunctionCreate(s->link, call, tvmffi_i_free, &f)) {
    tvmffi_i_free(s->link);
    return -1;
  }
  s->callback = (TVMFFIObject *)f;
  return 0;
}

static void tvmffi_i_drop_callback(tvmffi_i_structural *s) {
  if (!s->callback) return;
  *s->link = NULL;
  tvmffi_release(s->callback);
}

/* The state behind a callback whose arguments are right: `n` of them, number 2
   or, of four, 2 an integer. NULL with the error raised if not. */
static void *tvmffi_i_callback_state(void *self, const tvmffi_func *f,
                                     const TVMFFIAny *args, int32_t num_args,
                                     const TVMFFIAny *result) {
  void *state = *(void **)self;
  int32_t i;
  if (num_args != f->num_args ||
      result->type_index >= kTVMFFIStaticObjectBegin) {
    (void)tvmffi_i_bad_call(f, num_args, result);
    return NULL;
  }
  for (i = num_args; i-- > 0;) {
    if (f->types[i + 1] != &tvmffi_i_name_int64 || TVMFFI_I_IS_INT(&args[i]))
      continue;
    (void)tvmffi_i_bad_arg(f, i, args, TVMFFI_I_MISMATCH);
    return NULL;
  }
  if (!state)
    (void)tvmffi_i_fail("RuntimeError",
                        "The callback of a structural hook was called after "
                        "its end");
  return state;
}

/* The region inside another: of patterns all of it is, else what is said. */
TVMFFI_I_INLINE int32_t tvmffi_i_region_in(int32_t outer, int32_t inner) {
  return outer == kTVMFFIDefRegionKindPattern ||
                 inner == kTVMFFIDefRegionKindNone
             ? outer
             : inner;
}

TVMFFI_I_INLINE int32_t tvmffi_i_field_region(const TVMFFIFieldInfo *field,
                                              int32_t outer) {
  int64_t flags = field->flags;
  if (flags & kTVMFFIFieldFlagBitMaskSEqHashDefSimple)
    return tvmffi_i_region_in(outer, kTVMFFIDefRegionKindSimple);
  if (flags & kTVMFFIFieldFlagBitMaskSEqHashDefPattern)
    return kTVMFFIDefRegionKindPattern;
  return outer;
}

/* The next field that counts, or NULL. */
TVMFFI_I_INLINE const TVMFFIFieldInfo *tvmffi_i_next_counted(
    tvmffi_i_field_walk *w) {
  const TVMFFIFieldInfo *field;
  do {
    field = tvmffi_i_next_field(w);
  } while (field && field->flags & kTVMFFIFieldFlagBitMaskSEqHashIgnore);
  return field;
}

/* Gives what a field holds: borrowed where it is known to lie there as an Any
   or a reference, else owned. */
TVMFFI_I_INLINE int tvmffi_i_read_field(const TVMFFIFieldInfo *field,
                                        const TVMFFIObject *object,
                                        TVMFFIAny *value, int *is_own) {
  void *at = tvmffi_i_at(object, field);
  int code;
  *is_own = 0;
  if (field->getter == tvmffi_i_get_any_field) {
    *value = *(const TVMFFIAny *)at;
    return 0;
  }
  if (field->getter == tvmffi_i_get_reference) {
    *value = tvmffi_obj(*(TVMFFIObject **)at);
    return 0;
  }
  *is_own = 1;
  *value = tvmffi_none();
  code = field->getter(at, value);
  return code ? tvmffi_i_need_error(code, "A field getter") : 0;
}

/* The type of an object that may be compared, or NULL with the error raised. */
static const TVMFFITypeInfo *tvmffi_i_structural_type(int32_t index) {
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(index);
  const TVMFFITypeMetadata *metadata;
  if (!type) {
    (void)tvmffi_i_fail("TypeError", "Type index %d is not registered", index);
    return NULL;
  }
  metadata = TVMFFI_I_LOAD(&type->metadata);
  if (metadata &&
      metadata->structural_eq_hash_kind != kTVMFFISEqHashKindUnsupported)
    return type;
  (void)tvmffi_i_fail("TypeError",
                      "%s is not set for type `%s`, so StructuralHash is not "
                      "supported for this type",
                      metadata ? "_type_s_eq_hash_kind" : "Type metadata",
                      type->type_key.data);
  return NULL;
}

/* Gives the hook of a type (borrowed), NULL if it has none. */
static int tvmffi_i_find_hook(tvmffi_i_known_column *column, int32_t index,
                              const char *signature, TVMFFIObject **hook) {
  const TVMFFIAny *value = tvmffi_i_type_attr(column, index);
  *hook = NULL;
  if (!value) return 0;
  if (value->type_index != kTVMFFIFunction || !value->v_obj)
    return tvmffi_i_fail("TypeError", "Cannot treat type `%s` as type `%s`",
                         tvmffi_i_type_key(value->type_index), signature);
  *hook = value->v_obj;
  return 0;
}

/* The bytes of a tensor whose content counts, which must be in reach. */
static int tvmffi_i_tensor_bytes(const DLTensor *t, const char *verb,
                                 size_t *size) {
  uint64_t n = 1;
  int32_t i;
  if (t->device.device_type != kDLCPU)
    return tvmffi_i_fail("InternalError", "can only %s CPU tensor", verb);
  if (!tvmffi_i_is_contiguous(t))
    return tvmffi_i_fail("InternalError", "Can only %s contiguous tensor",
                         verb);
  for (i = 0; i < t->ndim; ++i) n *= (uint64_t)t->shape[i];
  *size = (size_t)((n * t->dtype.bits * t->dtype.lanes + 7) / 8);
  return 0;
}

/* -------- Equality -------- */

/* A step from an object inwards on both sides; the keys are owned. */
typedef struct {
  int32_t kind[2];
  TVMFFIAny key[2];
} tvmffi_i_mismatch;

typedef struct {
  TVMFFIObject *object[2];
  union {
    int64_t index; /* of the item that is being compared */
    struct {
      uint64_t at, other; /* in both, for maps of one order */
      TVMFFIAny key[2];   /* of the entry; the first is owned if of a dict */
    } map;
    struct {
      tvmffi_i_field_walk walk;
      const TVMFFIFieldInfo *field;
    } fields;
  } at;
  int32_t outer;        /* the region around the objects */
  int32_t region;       /* and in them */
  unsigned char is_own; /* the frame holds references to both */
  unsigned char kind;   /* of an object with fields */
} tvmffi_i_equal_frame;

typedef struct {
  tvmffi_i_structural base;
  tvmffi_i_stack frames;
  tvmffi_i_memos mapped[2]; /* left to right and back; values are borrowed */
  int wants_path;
  tvmffi_i_mismatch *steps; /* from the innermost outwards */
  size_t num_steps, max_steps;
} tvmffi_i_equality;

static int tvmffi_i_equal_values(tvmffi_i_equality *s, const TVMFFIAny *a,
                                 const TVMFFIAny *b);

static tvmffi_i_known_column tvmffi_i_s_equal_column = {"__s_equal__", NULL};

/* Records a step; the keys are taken. */
static int tvmffi_i_add_step(tvmffi_i_equality *s, int32_t kind_a, TVMFFIAny a,
                             int32_t kind_b, TVMFFIAny b) {
  tvmffi_i_mismatch *step = s->steps;
  if (s->num_steps == s->max_steps) {
    step = (tvmffi_i_mismatch *)tvmffi_i_larger(step, &s->max_steps,
                                                sizeof(*step));
    if (!step) {
      tvmffi_any_release(&a);
      tvmffi_any_release(&b);
      return -1;
    }
    s->steps = step;
  }
  step = &s->steps[s->num_steps++];
  step->kind[0] = kind_a;
  step->kind[1] = kind_b;
  step->key[0] = a;
  step->key[1] = b;
  return 0;
}

static int tvmffi_i_add_attr_step(tvmffi_i_equality *s,
                                  const TVMFFIByteArray *name) {
  TVMFFIAny key = tvmffi_none();
  if (!s->wants_path) return 0;
  TVMFFI_TRY(TVMFFIStringFromByteArray(name, &key));
  return tvmffi_i_add_step(s, TVMFFI_I_STEP_ATTR, key, TVMFFI_I_STEP_ATTR,
                           tvmffi_i_copy_owned(&key));
}

/* Ends the comparison of two objects with fields; gives the same or a code. */
static int tvmffi_i_end_equal(tvmffi_i_equality *s, TVMFFIObject *a,
                              TVMFFIObject *b, int kind, int result) {
  if (result != TVMFFI_I_SAME) return result;
  if (kind == kTVMFFISEqHashKindFreeVar) {
    if (a != b && s->base.region == kTVMFFIDefRegionKindNone)
      return TVMFFI_I_DIFFERENT;
  } else if (kind != kTVMFFISEqHashKindDAGNode) {
    return result;
  }
  TVMFFI_TRY(tvmffi_i_set_memo(&s->mapped[0], a, (uintptr_t)b));
  TVMFFI_TRY(tvmffi_i_set_memo(&s->mapped[1], b, (uintptr_t)a));
  return result;
}

/* What the hook calls: with two values, a region and the name of a field. */
static int tvmffi_i_call_structural_equal(void *self, const TVMFFIAny *args,
                                          int32_t num_args, TVMFFIAny *result) {
  static const tvmffi_i_name *const types[] = {
      &tvmffi_i_name_bool, &tvmffi_i_name_view, &tvmffi_i_name_view,
      &tvmffi_i_name_int64, &tvmffi_i_name_view};
  static const tvmffi_func description = {"", NULL, 4, types};
  tvmffi_i_equality *s = (tvmffi_i_equality *)tvmffi_i_callback_state(
      self, &description, args, num_args, result);
  TVMFFIAny a = tvmffi_none(), b = tvmffi_none();
  TVMFFIByteArray name;
  int32_t outer;
  int code;
  if (!s) return -1;
  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(&args[0], &a));
  code = TVMFFIAnyViewToOwnedAny(&args[1], &b);
  if (!code) {
    outer = s->base.region;
    s->base.region = tvmffi_i_region_in(outer, (int32_t)args[2].v_int64);
    code = tvmffi_i_equal_values(s, &a, &b);
    if (code >= 0) s->base.region = outer;
  }
  tvmffi_any_release(&a);
  tvmffi_any_release(&b);
  if (code < 0) return code;
  if (code == TVMFFI_I_DIFFERENT && s->wants_path) {
    if (tvmffi_i_get_str(&args[3], &name))
      return tvmffi_i_bad_cast(&args[3], "str");
    TVMFFI_TRY(tvmffi_i_add_attr_step(s, &name));
  }
  *result = tvmffi_bool(code == TVMFFI_I_SAME);
  return 0;
}

TVMFFI_I_NOINLINE int tvmffi_i_equal_by_hook(tvmffi_i_equality *s,
                                             TVMFFIObject *hook,
                                             TVMFFIObject *a, TVMFFIObject *b) {
  TVMFFIAny args[3], result = tvmffi_none();
  int code;
  TVMFFI_TRY(
      tvmffi_i_make_callback(&s->base, s, tvmffi_i_call_structural_equal));
  TVMFFI_TRY(tvmffi_i_nest());
  args[0] = tvmffi_obj(a);
  args[1] = tvmffi_obj(b);
  args[2] = tvmffi_obj(s->base.callback);
  code = TVMFFIFunctionCall(hook, args, 3, &result);
  tvmffi_i_unnest();
  if (code) return code;
  if (TVMFFI_I_IS_INT(&result)) return result.v_int64 != 0;
  code = tvmffi_i_bad_cast(&result, "bool");
  tvmffi_any_release(&result);
  return code;
}

static int tvmffi_i_push_equal(tvmffi_i_equality *s, TVMFFIObject *a,
                               TVMFFIObject *b, tvmffi_i_equal_frame **out) {
  tvmffi_i_equal_frame *f =
      TVMFFI_I_PUSH(tvmffi_i_equal_frame, &s->frames, "StructuralEqual");
  if (!f) return -1;
  *out = f;
  f->object[0] = a;
  f->object[1] = b;
  f->outer = f->region = s->base.region;
  f->is_own = 0;
  f->at.index = 0;
  return TVMFFI_I_PUSHED;
}

/* Compares two objects of one type that has fields. */
static int tvmffi_i_equal_objects(tvmffi_i_equality *s, TVMFFIObject *a,
                                  TVMFFIObject *b) {
  const TVMFFITypeInfo *type = tvmffi_i_structural_type(a->type_index);
  tvmffi_i_equal_frame *f;
  TVMFFIObject *hook;
  int32_t region = s->base.region;
  int kind, code;
  if (!type) return -1;
  kind = type->metadata->structural_eq_hash_kind;
  if (kind == kTVMFFISEqHashKindUniqueInstance) return a == b;
  if (kind == kTVMFFISEqHashKindConstTreeNode && a == b) return 1;
  if (kind == kTVMFFISEqHashKindDAGNode || kind == kTVMFFISEqHashKindFreeVar) {
    const tvmffi_i_memo *known = tvmffi_i_find_memo(&s->mapped[0], a);
    if (known) return known->value == (uintptr_t)b;
    if (tvmffi_i_find_memo(&s->mapped[1], b)) return TVMFFI_I_DIFFERENT;
  }
  TVMFFI_TRY(tvmffi_i_find_hook(
      &tvmffi_i_s_equal_column, type->type_index,
      "(0: ffi.Object, 1: ffi.Object, 2: (0: AnyView, 1: AnyView, 2: int, 3: "
      "AnyView) -> bool) -> bool",
      &hook));
  /* What a variable in a simple region consists of is outside of it. */
  if (kind == kTVMFFISEqHashKindFreeVar && region == kTVMFFIDefRegionKindSimple)
    region = kTVMFFIDefRegionKindNone;
  if (!hook) {
    code = tvmffi_i_push_equal(s, a, b, &f);
    if (code != TVMFFI_I_PUSHED) return code;
    f->at.fields.walk = tvmffi_i_walk_fields(type);
    f->kind = (unsigned char)kind;
    f->region = region;
    return code;
  }
  tvmffi_retain(a);
  tvmffi_retain(b);
  {
    int32_t outer = s->base.region;
    s->base.region = region;
    code = tvmffi_i_equal_by_hook(s, hook, a, b);
    if (code >= 0) s->base.region = outer;
  }
  code = tvmffi_i_end_equal(s, a, b, kind, code);
  tvmffi_release(a);
  tvmffi_release(b);
  return code;
}

static int tvmffi_i_equal_tensors(const tvmffi_i_equality *s,
                                  TVMFFIObject *left, TVMFFIObject *right) {
  const DLTensor *a = TVMFFITensorGetDLTensorPtr(left);
  const DLTensor *b = TVMFFITensorGetDLTensorPtr(right);
  size_t size = 0, other = 0;
  int32_t i;
  if (left == right) return TVMFFI_I_SAME;
  if (a->ndim != b->ndim) return TVMFFI_I_DIFFERENT;
  for (i = 0; i < a->ndim; ++i)
    if (a->shape[i] != b->shape[i]) return TVMFFI_I_DIFFERENT;
  if (a->dtype.code != b->dtype.code || a->dtype.bits != b->dtype.bits ||
      a->dtype.lanes != b->dtype.lanes)
    return TVMFFI_I_DIFFERENT;
  if (s->base.skips_tensors) return TVMFFI_I_SAME;
  if (a->device.device_type == kDLCPU && b->device.device_type != kDLCPU)
    return tvmffi_i_tensor_bytes(b, "compare", &other);
  TVMFFI_TRY(tvmffi_i_tensor_bytes(a, "compare", &size));
  TVMFFI_TRY(tvmffi_i_tensor_bytes(b, "compare", &other));
  return !size || memcmp(a->data, b->data, size) == 0;
}

static int tvmffi_i_equal_shapes(const TVMFFIObject *a, const TVMFFIObject *b) {
  const TVMFFIShapeCell *x = TVMFFI_I_CELL(TVMFFIShapeCell, a);
  const TVMFFIShapeCell *y = TVMFFI_I_CELL(TVMFFIShapeCell, b);
  size_t i;
  if (x->size != y->size) return TVMFFI_I_DIFFERENT;
  for (i = 0; i < x->size; ++i)
    if (x->data[i] != y->data[i]) return TVMFFI_I_DIFFERENT;
  return TVMFFI_I_SAME;
}

/* Looks at two values: equal, different, or a frame is pushed. */
static int tvmffi_i_equal_step(tvmffi_i_equality *s, const TVMFFIAny *a,
                               const TVMFFIAny *b) {
  int32_t index = a->type_index;
  tvmffi_i_equal_frame *f;
  if (index != b->type_index) return tvmffi_i_differ_equal(a, b);
  if (index < kTVMFFIStaticObjectBegin) {
    if (a->zero_padding == b->zero_padding && a->v_uint64 == b->v_uint64)
      return TVMFFI_I_SAME;
    return index == kTVMFFIFloat && tvmffi_i_is_nan(a->v_uint64) &&
           tvmffi_i_is_nan(b->v_uint64);
  }
  if (!a->v_obj || !b->v_obj) return tvmffi_i_null(__func__, "an object");
  switch (index) {
    case kTVMFFIStr:
    case kTVMFFIBytes:
      return tvmffi_i_same_text(tvmffi_any_str(a), tvmffi_any_str(b));
    case kTVMFFIBigInt:
      return tvmffi_i_same_text(TVMFFIBigIntGetContentByteArray(a),
                                TVMFFIBigIntGetContentByteArray(b));
    case kTVMFFIArray:
    case kTVMFFIList:
      if (!s->wants_path && TVMFFI_I_CELL(TVMFFISeqCell, a->v_obj)->size !=
                                TVMFFI_I_CELL(TVMFFISeqCell, b->v_obj)->size)
        return TVMFFI_I_DIFFERENT;
      return tvmffi_i_push_equal(s, a->v_obj, b->v_obj, &f);
    case kTVMFFIMap:
    case kTVMFFIDict: {
      int code;
      if (!s->wants_path &&
          tvmffi_i_map_size(a->v_obj) != tvmffi_i_map_size(b->v_obj))
        return TVMFFI_I_DIFFERENT;
      code = tvmffi_i_push_equal(s, a->v_obj, b->v_obj, &f);
      if (code != TVMFFI_I_PUSHED) return code;
      f->at.map.at = tvmffi_i_map_begin(a->v_obj);
      f->at.map.other = tvmffi_i_map_begin(b->v_obj);
      memset((void *)f->at.map.key, 0, sizeof(f->at.map.key));
      return code;
    }
    case kTVMFFIShape: return tvmffi_i_equal_shapes(a->v_obj, b->v_obj);
    case kTVMFFITensor: return tvmffi_i_equal_tensors(s, a->v_obj, b->v_obj);
    default: return tvmffi_i_equal_objects(s, a->v_obj, b->v_obj);
  }
}

/* Lets the newest frame keep its objects. */
TVMFFI_I_INLINE void tvmffi_i_keep_equal(tvmffi_i_equality *s) {
  tvmffi_i_equal_frame *f = TVMFFI_I_TOP(tvmffi_i_equal_frame, &s->frames);
  tvmffi_retain(f->object[0]);
  tvmffi_retain(f->object[1]);
  f->is_own = 1;
}

/* Each of the following goes on with the top frame, whose last part ended with
   `code`, until a part of it pushes a frame, or it is done: then it gives
   whether its objects are equal. */
static int tvmffi_i_equal_items(tvmffi_i_equality *s, tvmffi_i_equal_frame *f,
                                int code) {
  const TVMFFISeqCell *a = TVMFFI_I_CELL(TVMFFISeqCell, f->object[0]);
  const TVMFFISeqCell *b = TVMFFI_I_CELL(TVMFFISeqCell, f->object[1]);
  int is_list = f->object[0]->type_index == kTVMFFIList;
  int32_t item = TVMFFI_I_STEP_ARRAY_ITEM;
  int64_t i = f->at.index;
  if (code == TVMFFI_I_SAME) ++i;
  while (code != TVMFFI_I_DIFFERENT && i < a->size && i < b->size) {
    const TVMFFIAny *x = (const TVMFFIAny *)a->data + i;
    const TVMFFIAny *y = (const TVMFFIAny *)b->data + i;
    if (x->type_index < kTVMFFIStaticObjectBegin && tvmffi_i_same_any(x, y))
      code = TVMFFI_I_SAME;
    else
      code = tvmffi_i_equal_step(s, x, y);
    if (code == TVMFFI_I_SAME) {
      ++i;
    } else if (code == TVMFFI_I_PUSHED) {
      f->at.index = i;
      if (is_list) tvmffi_i_keep_equal(s);
      return code;
    } else if (code < 0) {
      return code;
    }
  }
  if (code != TVMFFI_I_DIFFERENT && a->size == b->size) return TVMFFI_I_SAME;
  if (s->wants_path) {
    int both = code == TVMFFI_I_DIFFERENT;
    int32_t none = TVMFFI_I_STEP_ARRAY_ITEM_MISSING;
    TVMFFI_TRY(
        tvmffi_i_add_step(s, both || i < a->size ? item : none, tvmffi_int(i),
                          both || i < b->size ? item : none, tvmffi_int(i)));
  }
  return TVMFFI_I_DIFFERENT;
}

/* A key as the other side has it, borrowed. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_map_key_to(const tvmffi_i_equality *s,
                                              int from, const TVMFFIAny *key) {
  const tvmffi_i_memo *known;
  if (key->type_index < kTVMFFIStaticObjectBegin) return *key;
  known = tvmffi_i_find_memo(&s->mapped[from], key->v_obj);
  return known ? tvmffi_obj((TVMFFIObject *)(uintptr_t)known->value) : *key;
}

/* Records a step whose keys (copied) are on side `side` and the other one,
   which may lack it. */
static int tvmffi_i_add_map_step(tvmffi_i_equality *s, int side,
                                 const TVMFFIAny *key, int32_t other_kind,
                                 const TVMFFIAny *other) {
  TVMFFIAny mine, theirs;
  if (!s->wants_path) return 0;
  mine = tvmffi_i_copy_owned(key);
  theirs = tvmffi_i_copy_owned(other);
  return side ? tvmffi_i_add_step(s, other_kind, theirs, TVMFFI_I_STEP_MAP_ITEM,
                                  mine)
              : tvmffi_i_add_step(s, TVMFFI_I_STEP_MAP_ITEM, mine, other_kind,
                                  theirs);
}

/* Finds what the other side has for a key of side `side`; the look-up may
   change both. *value is NULL, and the step recorded, if it has nothing. */
static int tvmffi_i_counterpart(tvmffi_i_equality *s, TVMFFIObject *const *map,
                                int side, const TVMFFIAny *key,
                                TVMFFIAny *other, const TVMFFIAny **value) {
  *other = tvmffi_i_map_key_to(s, side, key);
  *value = tvmffi_i_map_lookup(map[!side], other);
  if (*value == &tvmffi_i_map_failed) return -1;
  return *value ? 0
                : tvmffi_i_add_map_step(s, side, key,
                                        TVMFFI_I_STEP_MAP_ITEM_MISSING, other);
}

/* All entries of the left are on the right. */
static int tvmffi_i_end_entries(tvmffi_i_equality *s,
                                TVMFFIObject *const *map) {
  const tvmffi_i_pair *pair;
  const TVMFFIAny *value;
  TVMFFIAny key, other;
  uint64_t at;
  int code;
  if (tvmffi_i_map_size(map[0]) == tvmffi_i_map_size(map[1]))
    return TVMFFI_I_SAME;
  if (!s->wants_path) return TVMFFI_I_DIFFERENT;
  for (at = tvmffi_i_map_begin(map[1]);
       (pair = tvmffi_i_map_pair(map[1], at)) != NULL;
       at = tvmffi_i_map_after(map[1], at)) {
    key = tvmffi_i_copy_owned(&pair->key);
    code = tvmffi_i_counterpart(s, map, 1, &key, &other, &value);
    tvmffi_any_release(&key);
    if (code || !value) return code;
  }
  return TVMFFI_I_DIFFERENT;
}

/* Whether keys, or values, are alike, whatever was mapped to what. */
TVMFFI_I_INLINE int tvmffi_i_is_alike(const TVMFFIAny *a, const TVMFFIAny *b) {
  if (a->type_index != b->type_index) return 0;
  if (a->type_index < kTVMFFIStaticObjectBegin)
    return a->zero_padding == b->zero_padding && a->v_uint64 == b->v_uint64;
  return a->type_index == kTVMFFIStr &&
         tvmffi_i_same_text(tvmffi_any_str(a), tvmffi_any_str(b));
}

/* Passes entries that are alike at the same place. */
static void tvmffi_i_pass_alike(tvmffi_i_equal_frame *f) {
  const TVMFFIObject *a = f->object[0], *b = f->object[1];
  const tvmffi_i_pair *x, *y;
  uint64_t at = f->at.map.at, other = f->at.map.other;
  while ((x = tvmffi_i_map_pair(a, at)) != NULL &&
         (y = tvmffi_i_map_pair(b, other)) != NULL &&
         tvmffi_i_is_alike(&x->key, &y->key) &&
         tvmffi_i_is_alike(&x->value, &y->value)) {
    at = tvmffi_i_map_after(a, at);
    other = tvmffi_i_map_after(b, other);
  }
  f->at.map.at = at;
  f->at.map.other = other;
}

/* Takes the entry of the left that is next, and finds its counterpart: at the
   same place of the right, as often, or by its key. */
static int tvmffi_i_next_entry(tvmffi_i_equality *s, tvmffi_i_equal_frame *f,
                               const tvmffi_i_pair *pair,
                               const TVMFFIAny **value) {
  const tvmffi_i_pair *other = tvmffi_i_map_pair(f->object[1], f->at.map.other);
  TVMFFIAny key = f->object[0]->type_index == kTVMFFIDict
                      ? tvmffi_i_copy_owned(&pair->key)
                      : pair->key;
  f->at.map.key[0] = key;
  if (other && tvmffi_i_is_alike(&key, &other->key)) {
    f->at.map.key[1] = other->key;
    *value = &other->value;
    return 0;
  }
  return tvmffi_i_counterpart(s, f->object, 0, &key, &f->at.map.key[1], value);
}

static int tvmffi_i_equal_entries(tvmffi_i_equality *s, tvmffi_i_equal_frame *f,
                                  int code) {
  TVMFFIObject *const *map = f->object;
  const tvmffi_i_pair *pair;
  const TVMFFIAny *value;
  while (code != TVMFFI_I_DIFFERENT) {
    if (code == TVMFFI_I_SAME) {
      if (map[0]->type_index == kTVMFFIDict)
        tvmffi_any_release(&f->at.map.key[0]);
      f->at.map.at = tvmffi_i_map_after(map[0], f->at.map.at);
      f->at.map.other = tvmffi_i_map_after(map[1], f->at.map.other);
    }
    tvmffi_i_pass_alike(f);
    pair = tvmffi_i_map_pair(map[0], f->at.map.at);
    if (!pair) return tvmffi_i_end_entries(s, map);
    TVMFFI_TRY(tvmffi_i_next_entry(s, f, pair, &value));
    if (!value) return TVMFFI_I_DIFFERENT;
    pair = tvmffi_i_map_pair(map[0], f->at.map.at);
    if (!pair) return tvmffi_i_end_entries(s, map);
    code = tvmffi_i_equal_step(s, &pair->value, value);
    if (code < 0) return code;
    if (code != TVMFFI_I_PUSHED) continue;
    if (map[0]->type_index == kTVMFFIDict) tvmffi_i_keep_equal(s);
    return code;
  }
  return tvmffi_i_add_map_step(s, 0, &f->at.map.key[0], TVMFFI_I_STEP_MAP_ITEM,
                               &f->at.map.key[1]);
}

static int tvmffi_i_equal_fields(tvmffi_i_equality *s, tvmffi_i_equal_frame *f,
                                 int code) {
  const TVMFFIFieldInfo *field = f->at.fields.field;
  TVMFFIAny a, b;
  int is_own;
  while (code != TVMFFI_I_DIFFERENT) {
    field = tvmffi_i_next_counted(&f->at.fields.walk);
    if (!field) return TVMFFI_I_SAME;
    TVMFFI_TRY(tvmffi_i_read_field(field, f->object[0], &a, &is_own));
    f->at.fields.field = field;
    s->base.region = tvmffi_i_field_region(field, f->region);
    code = tvmffi_i_read_field(field, f->object[1], &b, &is_own);
    if (!code && a.type_index < kTVMFFIStaticObjectBegin &&
        tvmffi_i_same_any(&a, &b)) {
      code = TVMFFI_I_SAME;
      continue;
    }
    if (!code) code = tvmffi_i_equal_step(s, &a, &b);
    if (code == TVMFFI_I_PUSHED) {
      if (!is_own) tvmffi_i_keep_equal(s);
      TVMFFI_I_TOP(tvmffi_i_equal_frame, &s->frames)->is_own =
          1; /* it takes both over */
      return code;
    }
    if (is_own) {
      tvmffi_any_release(&a);
      tvmffi_any_release(&b);
    }
    if (code < 0) return code;
  }
  return tvmffi_i_add_attr_step(s, &field->name);
}

static void tvmffi_i_pop_equal(tvmffi_i_equality *s) {
  tvmffi_i_equal_frame *f = TVMFFI_I_TOP(tvmffi_i_equal_frame, &s->frames);
  int32_t index = f->object[0]->type_index;
  if (index == kTVMFFIDict) tvmffi_any_release(&f->at.map.key[0]);
  if (f->is_own) {
    tvmffi_release(f->object[0]);
    tvmffi_release(f->object[1]);
  }
  TVMFFI_I_POP(tvmffi_i_equal_frame, &s->frames);
}

/* Compares two values (borrowed): 1, 0, or an error's code. An error leaves
   the region as it was where it arose, as upstream does. */
static int tvmffi_i_equal_values(tvmffi_i_equality *s, const TVMFFIAny *a,
                                 const TVMFFIAny *b) {
  size_t base = s->frames.depth;
  int code = tvmffi_i_equal_step(s, a, b);
  while (s->frames.depth > base) {
    tvmffi_i_equal_frame *f = TVMFFI_I_TOP(tvmffi_i_equal_frame, &s->frames);
    switch (f->object[0]->type_index) {
      case kTVMFFIArray:
      case kTVMFFIList: code = tvmffi_i_equal_items(s, f, code); break;
      case kTVMFFIMap:
      case kTVMFFIDict: code = tvmffi_i_equal_entries(s, f, code); break;
      default:
        code = tvmffi_i_equal_fields(s, f, code);
        if (code < 0 || code == TVMFFI_I_PUSHED) break;
        s->base.region = f->outer;
        code = tvmffi_i_end_equal(s, f->object[0], f->object[1], f->kind, code);
    }
    if (code == TVMFFI_I_PUSHED) continue;
    if (code >= 0) s->base.region = f->outer;
    do tvmffi_i_pop_equal(s);
    while (code < 0 && s->frames.depth > base);
  }
  return code;
}

/* Makes the paths to the first difference, an array of two, of the steps. */
static TVMFFIObject *tvmffi_i_mismatch_paths(tvmffi_i_equality *s) {
  TVMFFIAny *items;
  TVMFFIObject *pair = tvmffi_i_new_array(2, &items);
  size_t i;
  int side;
  if (!pair) return NULL;
  for (side = 0; side < 2; ++side) {
    TVMFFIObject *path = tvmffi_i_new_path(NULL, NULL);
    for (i = s->num_steps; i-- > 0 && path;) {
      tvmffi_i_mismatch *step = &s->steps[i];
      TVMFFIObject *longer =
          tvmffi_i_step_to(path, step->kind[side], step->key[side]);
      step->key[side] = tvmffi_none();
      tvmffi_release(path);
      path = longer;
    }
    if (!path) {
      tvmffi_release(pair);
      return NULL;
    }
    items[side] = tvmffi_obj(path);
  }
  return pair;
}

/* Compares two views of any kind: 1, 0, or an error's code. With `paths`, gives
   there an array (owned) of the paths to the first difference, or NULL. */
static int tvmffi_i_structural_equal(const TVMFFIAny *a, const TVMFFIAny *b,
                                     int maps_variables, int skips_tensors,
                                     TVMFFIObject **paths) {
  tvmffi_i_equal_frame room[16];
  tvmffi_i_equality s = TVMFFI_I_ZERO;
  TVMFFIAny left = tvmffi_none(), right = tvmffi_none();
  size_t i;
  int code;
  s.base.region =
      maps_variables ? kTVMFFIDefRegionKindPattern : kTVMFFIDefRegionKindNone;
  s.base.skips_tensors = skips_tensors;
  s.wants_path = paths != NULL;
  tvmffi_i_stack_open(&s.frames, room, sizeof(room));
  TVMFFI_TRY(tvmffi_i_own(a, &left));
  code = tvmffi_i_own(b, &right);
  if (!code) code = tvmffi_i_equal_values(&s, &left, &right);
  if (code == TVMFFI_I_DIFFERENT && paths) {
    *paths = tvmffi_i_mismatch_paths(&s);
    if (!*paths) code = -1;
  }
  tvmffi_i_drop_callback(&s.base);
  for (i = 0; i < s.num_steps; ++i) {
    tvmffi_any_release(&s.steps[i].key[0]);
    tvmffi_any_release(&s.steps[i].key[1]);
  }
  tvmffi_i_free(s.steps);
  tvmffi_i_stack_close(&s.frames);
  tvmffi_i_drop_memos(&s.mapped[0]);
  tvmffi_i_drop_memos(&s.mapped[1]);
  tvmffi_any_release(&left);
  tvmffi_any_release(&right);
  return code;
}

/* -------- Hash -------- */

/* An entry of a map, by which the entries are sorted. */
typedef struct {
  uint64_t hash;
  TVMFFIAny value; /* owned if it is of a dict */
} tvmffi_i_hash_item;

typedef struct {
  TVMFFIObject *object;
  uint64_t hash; /* of what has been looked at */
  union {
    int64_t index;
    struct {
      size_t first, next, end; /* in the items */
    } map;
    tvmffi_i_field_walk walk;
  } at;
  int32_t outer, region;
  unsigned char is_own, kind;
} tvmffi_i_hash_frame;

typedef struct {
  tvmffi_i_structural base;
  uint32_t num_variables, num_nodes;
  tvmffi_i_stack frames;
  tvmffi_i_hash_item *items;
  size_t num_items, max_items;
  tvmffi_i_memos known;
} tvmffi_i_hasher;

static int tvmffi_i_hash_value(tvmffi_i_hasher *s, const TVMFFIAny *value,
                               uint64_t *hash);

static tvmffi_i_known_column tvmffi_i_s_hash_column = {"__s_hash__", NULL};

static uint64_t tvmffi_i_object_key_hash(const TVMFFIObject *o) {
  return TVMFFIGetTypeInfo(o->type_index)->type_key_hash;
}

/* Ends the hash of an object with fields, and remembers it. */
static int tvmffi_i_end_hash(tvmffi_i_hasher *s, TVMFFIObject *o, int kind,
                             uint64_t *hash) {
  if (kind == kTVMFFISEqHashKindFreeVar)
    *hash = s->base.region != kTVMFFIDefRegionKindNone
                ? tvmffi_i_hash_combine(*hash, s->num_variables++)
                : (uint64_t)(uintptr_t)o;
  else if (kind == kTVMFFISEqHashKindDAGNode)
    *hash = tvmffi_i_hash_combine(*hash, s->num_nodes++);
  return tvmffi_i_set_memo(&s->known, o, *hash);
}

static int tvmffi_i_call_structural_hash(void *self, const TVMFFIAny *args,
                                         int32_t num_args, TVMFFIAny *result) {
  static const tvmffi_i_name *const types[] = {
      &tvmffi_i_name_int64, &tvmffi_i_name_view, &tvmffi_i_name_int64,
      &tvmffi_i_name_int64};
  static const tvmffi_func description = {"", NULL, 3, types};
  tvmffi_i_hasher *s = (tvmffi_i_hasher *)tvmffi_i_callback_state(
      self, &description, args, num_args, result);
  TVMFFIAny value = tvmffi_none();
  uint64_t hash = 0;
  int32_t outer;
  int code;
  if (!s) return -1;
  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(&args[0], &value));
  outer = s->base.region;
  s->base.region = tvmffi_i_region_in(outer, (int32_t)args[2].v_int64);
  code = tvmffi_i_hash_value(s, &value, &hash);
  tvmffi_any_release(&value);
  if (code) return code;
  s->base.region = outer;
  *result = tvmffi_int((int64_t)tvmffi_i_hash_combine(args[1].v_uint64, hash));
  return 0;
}

TVMFFI_I_NOINLINE int tvmffi_i_hash_by_hook(tvmffi_i_hasher *s,
                                            TVMFFIObject *hook, TVMFFIObject *o,
                                            uint64_t *hash) {
  TVMFFIAny args[3], result = tvmffi_none();
  int code;
  TVMFFI_TRY(
      tvmffi_i_make_callback(&s->base, s, tvmffi_i_call_structural_hash));
  TVMFFI_TRY(tvmffi_i_nest());
  args[0] = tvmffi_obj(o);
  args[1] = tvmffi_int((int64_t)*hash);
  args[2] = tvmffi_obj(s->base.callback);
  code = TVMFFIFunctionCall(hook, args, 3, &result);
  tvmffi_i_unnest();
  if (code) return code;
  *hash = result.v_uint64;
  if (TVMFFI_I_IS_INT(&result)) return 0;
  code = tvmffi_i_bad_cast(&result, "int");
  tvmffi_any_release(&result);
  return code;
}

static int tvmffi_i_push_hash(tvmffi_i_hasher *s, TVMFFIObject *o,
                              uint64_t hash, tvmffi_i_hash_frame **out) {
  tvmffi_i_hash_frame *f =
      TVMFFI_I_PUSH(tvmffi_i_hash_frame, &s->frames, "StructuralHash");
  if (!f) return -1;
  *out = f;
  f->object = o;
  f->hash = hash;
  f->outer = f->region = s->base.region;
  f->is_own = 0;
  f->at.index = 0;
  return TVMFFI_I_PUSHED;
}

static int tvmffi_i_hash_fields_of(tvmffi_i_hasher *s, TVMFFIObject *o,
                                   uint64_t *hash) {
  const TVMFFITypeInfo *type = tvmffi_i_structural_type(o->type_index);
  const tvmffi_i_memo *known;
  tvmffi_i_hash_frame *f;
  TVMFFIObject *hook;
  int32_t outer = s->base.region, region = outer;
  int kind, code;
  if (!type) return -1;
  known = tvmffi_i_find_memo(&s->known, o);
  if (known) {
    *hash = known->value;
    return 0;
  }
  kind = type->metadata->structural_eq_hash_kind;
  TVMFFI_TRY(tvmffi_i_find_hook(
      &tvmffi_i_s_hash_column, type->type_index,
      "(0: ffi.Object, 1: int, 2: (0: AnyView, 1: int, 2: int) -> int) -> int",
      &hook));
  /* What a variable in a simple region consists of is outside of it. */
  if (kind == kTVMFFISEqHashKindFreeVar && region == kTVMFFIDefRegionKindSimple)
    region = kTVMFFIDefRegionKindNone;
  if (!hook) {
    code = tvmffi_i_push_hash(s, o, type->type_key_hash, &f);
    if (code != TVMFFI_I_PUSHED) return code;
    f->at.walk = tvmffi_i_walk_fields(type);
    f->kind = (unsigned char)kind;
    f->region = region;
    return code;
  }
  tvmffi_retain(o);
  s->base.region = region;
  *hash = type->type_key_hash;
  code = tvmffi_i_hash_by_hook(s, hook, o, hash);
  if (!code) {
    s->base.region = outer;
    code = tvmffi_i_end_hash(s, o, kind, hash);
  }
  tvmffi_release(o);
  return code;
}

static int tvmffi_i_hash_tensor(const tvmffi_i_hasher *s, TVMFFIObject *o,
                                uint64_t *hash) {
  const DLTensor *t = TVMFFITensorGetDLTensorPtr(o);
  uint64_t h = tvmffi_i_hash_combine(tvmffi_i_object_key_hash(o),
                                     (uint64_t)(int64_t)t->ndim);
  size_t size;
  int32_t i;
  for (i = 0; i < t->ndim; ++i)
    h = tvmffi_i_hash_combine(h, (uint64_t)t->shape[i]);
  h = tvmffi_i_hash_combine(h, tvmffi_dtype(t->dtype).v_uint64);
  *hash = h;
  if (s->base.skips_tensors) return 0;
  TVMFFI_TRY(tvmffi_i_tensor_bytes(t, "hash", &size));
  *hash = tvmffi_i_hash_combine(
      h, tvmffi_i_stable_hash((const char *)t->data, size));
  return 0;
}

/* The hash of a key that does not depend on what was hashed before, or 0 if
   the key has none yet. */
static int tvmffi_i_hash_key(const tvmffi_i_hasher *s, const TVMFFIAny *key,
                             uint64_t *hash) {
  const tvmffi_i_memo *known;
  int32_t index = key->type_index;
  uint64_t value = key->v_uint64;
  if (index == kTVMFFISmallStr || index == kTVMFFIStr ||
      index == kTVMFFIBytes) {
    TVMFFIByteArray text = tvmffi_any_str(key);
    if (index == kTVMFFISmallStr) index = kTVMFFIStr;
    value = tvmffi_i_stable_hash(text.data, text.size);
  } else if (index == kTVMFFIBigInt) {
    TVMFFIByteArray words = TVMFFIBigIntGetContentByteArray(key);
    value = tvmffi_i_stable_hash(words.data, words.size);
  } else if (index >= kTVMFFIStaticObjectBegin) {
    known = tvmffi_i_find_memo(&s->known, key->v_obj);
    if (known) *hash = known->value;
    return known != NULL;
  }
  *hash = tvmffi_i_hash_combine((uint64_t)(int64_t)index, value);
  return 1;
}

/* By hash: how items of one hash are ordered does not matter. The hash is taken
   apart from the value, as it was stored. */
static void tvmffi_i_sort_few_items(tvmffi_i_hash_item *items, size_t n) {
  size_t i, k;
  for (i = 1; i < n; ++i) {
    uint64_t hash = items[i].hash;
    TVMFFIAny value = items[i].value;
    for (k = i; k && items[k - 1].hash > hash; --k) {
      items[k].hash = items[k - 1].hash;
      items[k].value = items[k - 1].value;
    }
    items[k].hash = hash;
    items[k].value = value;
  }
}

/* Heapsort. */
static void tvmffi_i_sort_items(tvmffi_i_hash_item *items, size_t n) {
  size_t start = n / 2, end = n, root, child;
  tvmffi_i_hash_item moved;
  while (end > 1) {
    if (start) {
      moved = items[--start];
    } else {
      moved = items[--end];
      items[end] = items[0];
    }
    for (root = start; (child = 2 * root + 1) < end; root = child) {
      if (child + 1 < end && items[child].hash < items[child + 1].hash) ++child;
      if (items[child].hash <= moved.hash) break;
      items[root] = items[child];
    }
    items[root] = moved;
  }
}

static void tvmffi_i_drop_items(tvmffi_i_hasher *s, size_t first, int is_own) {
  while (s->num_items > first)
    if (--s->num_items, is_own)
      tvmffi_any_release(&s->items[s->num_items].value);
}

/* Pushes a map with its entries sorted. Keys without a hash are left out. */
static int tvmffi_i_open_map(tvmffi_i_hasher *s, TVMFFIObject *map) {
  size_t first = s->num_items;
  int is_dict = map->type_index == kTVMFFIDict, code = 0;
  tvmffi_i_hash_frame *f;
  const tvmffi_i_pair *pair;
  uint64_t at, hash;
  for (at = tvmffi_i_map_begin(map);
       (pair = tvmffi_i_map_pair(map, at)) != NULL;
       at = tvmffi_i_map_after(map, at)) {
    if (!tvmffi_i_hash_key(s, &pair->key, &hash)) continue;
    if (s->num_items == s->max_items) {
      tvmffi_i_hash_item *items = (tvmffi_i_hash_item *)tvmffi_i_larger(
          s->items, &s->max_items, sizeof(*items));
      code = items ? 0 : -1;
      if (code) break;
      s->items = items;
    }
    s->items[s->num_items].hash = hash;
    s->items[s->num_items++].value =
        is_dict ? tvmffi_i_copy_owned(&pair->value) : pair->value;
  }
  if (!code)
    code = tvmffi_i_push_hash(
        s, map,
        tvmffi_i_hash_combine(tvmffi_i_object_key_hash(map),
                              (uint64_t)tvmffi_i_map_size(map)),
        &f);
  if (code != TVMFFI_I_PUSHED) {
    tvmffi_i_drop_items(s, first, is_dict);
    return code;
  }
  if (s->num_items - first > 24)
    tvmffi_i_sort_items(s->items + first, s->num_items - first);
  else if (s->num_items > first)
    tvmffi_i_sort_few_items(s->items + first, s->num_items - first);
  f->at.map.first = f->at.map.next = first;
  f->at.map.end = s->num_items;
  return code;
}

/* Looks at a value: 0 and its hash, or a frame is pushed, or an error. */
static int tvmffi_i_hash_step(tvmffi_i_hasher *s, const TVMFFIAny *any,
                              uint64_t *hash) {
  int32_t index = any->type_index;
  tvmffi_i_hash_frame *f;
  TVMFFIObject *o = any->v_obj;
  if (index < kTVMFFIStaticObjectBegin) {
    uint64_t bits = any->v_uint64;
    if (index == kTVMFFISmallStr) return tvmffi_i_any_hash(any, hash);
    if (index == kTVMFFIFloat && tvmffi_i_is_nan(bits))
      bits = (uint64_t)0x7FF8 << 48;
    *hash = tvmffi_i_hash_combine((uint64_t)(int64_t)index, bits);
    return 0;
  }
  if (!o) return tvmffi_i_null(__func__, "an object");
  switch (index) {
    case kTVMFFIStr:
    case kTVMFFIBytes:
    case kTVMFFIBigInt: return tvmffi_i_hash_object(any, hash);
    case kTVMFFIArray:
    case kTVMFFIList:
      return tvmffi_i_push_hash(
          s, o,
          tvmffi_i_hash_combine(
              tvmffi_i_object_key_hash(o),
              (uint64_t)TVMFFI_I_CELL(TVMFFISeqCell, o)->size),
          &f);
    case kTVMFFIMap:
    case kTVMFFIDict: return tvmffi_i_open_map(s, o);
    case kTVMFFIShape: {
      const TVMFFIShapeCell *shape = TVMFFI_I_CELL(TVMFFIShapeCell, o);
      uint64_t h =
          tvmffi_i_hash_combine(tvmffi_i_object_key_hash(o), shape->size);
      size_t i;
      for (i = 0; i < shape->size; ++i)
        h = tvmffi_i_hash_combine(h, (uint64_t)shape->data[i]);
      *hash = h;
      return 0;
    }
    case kTVMFFITensor: return tvmffi_i_hash_tensor(s, o, hash);
    default: return tvmffi_i_hash_fields_of(s, o, hash);
  }
}

/* Each of the following goes on with the top frame until a part of it pushes a
   frame, or it is done; the hash of what was pushed before is in the frame's.
 */
static int tvmffi_i_hash_items(tvmffi_i_hasher *s, tvmffi_i_hash_frame *f) {
  const TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, f->object);
  uint64_t hash = 0, sum = f->hash;
  int64_t i = f->at.index;
  int code;
  for (;;) {
    const TVMFFIAny *item = NULL;
    for (; i < cell->size; ++i) {
      item = (const TVMFFIAny *)cell->data + i;
      if (item->type_index > kTVMFFIBool) break;
      sum = tvmffi_i_hash_combine(
          sum, tvmffi_i_hash_combine((uint64_t)(int64_t)item->type_index,
                                     item->v_uint64));
    }
    f->hash = sum;
    f->at.index = i + 1;
    if (i >= cell->size) break;
    code = tvmffi_i_hash_step(s, item, &hash);
    if (code == TVMFFI_I_PUSHED && f->object->type_index == kTVMFFIList) {
      f = TVMFFI_I_TOP(tvmffi_i_hash_frame, &s->frames);
      tvmffi_retain(f->object);
      f->is_own = 1;
    }
    if (code) return code;
    sum = tvmffi_i_hash_combine(sum, hash);
    ++i;
  }
  return 0;
}

static int tvmffi_i_hash_entries(tvmffi_i_hasher *s, tvmffi_i_hash_frame *f) {
  uint64_t hash = 0, key;
  while (f->at.map.next < f->at.map.end) {
    size_t i = f->at.map.next, next = i + 1;
    TVMFFIAny value;
    int code;
    key = s->items[i].hash;
    while (next < f->at.map.end && s->items[next].hash == key) ++next;
    f->at.map.next = next;
    f->hash = tvmffi_i_hash_combine(f->hash, key);
    if (next > i + 1) continue; /* which value comes first is not known */
    value = s->items[i].value;
    code = tvmffi_i_hash_step(s, &value, &hash);
    if (code) return code;
    f->hash = tvmffi_i_hash_combine(f->hash, hash);
  }
  return 0;
}

static int tvmffi_i_hash_fields(tvmffi_i_hasher *s, tvmffi_i_hash_frame *f) {
  const TVMFFIFieldInfo *field;
  for (;;) {
    uint64_t hash = 0;
    TVMFFIAny value;
    int code, is_own;
    field = tvmffi_i_next_counted(&f->at.walk);
    if (!field) break;
    TVMFFI_TRY(tvmffi_i_read_field(field, f->object, &value, &is_own));
    s->base.region = tvmffi_i_field_region(field, f->region);
    code = tvmffi_i_hash_step(s, &value, &hash);
    if (code == TVMFFI_I_PUSHED) {
      if (!is_own) tvmffi_retain(value.v_obj);
      TVMFFI_I_TOP(tvmffi_i_hash_frame, &s->frames)->is_own =
          1; /* it takes the value over */
      return code;
    }
    if (is_own) tvmffi_any_release(&value);
    if (code) return code;
    f->hash = tvmffi_i_hash_combine(f->hash, hash);
  }
  s->base.region = f->outer;
  return tvmffi_i_end_hash(s, f->object, f->kind, &f->hash);
}

static void tvmffi_i_pop_hash(tvmffi_i_hasher *s) {
  tvmffi_i_hash_frame *f = TVMFFI_I_TOP(tvmffi_i_hash_frame, &s->frames);
  int32_t index = f->object->type_index;
  if (index == kTVMFFIMap || index == kTVMFFIDict)
    tvmffi_i_drop_items(s, f->at.map.first, index == kTVMFFIDict);
  if (f->is_own) tvmffi_release(f->object);
  TVMFFI_I_POP(tvmffi_i_hash_frame, &s->frames);
}

/* Gives the hash of a value (borrowed). */
static int tvmffi_i_hash_value(tvmffi_i_hasher *s, const TVMFFIAny *value,
                               uint64_t *hash) {
  size_t base = s->frames.depth;
  int code = tvmffi_i_hash_step(s, value, hash);
  while (s->frames.depth > base) {
    tvmffi_i_hash_frame *f = TVMFFI_I_TOP(tvmffi_i_hash_frame, &s->frames);
    switch (f->object->type_index) {
      case kTVMFFIArray:
      case kTVMFFIList: code = tvmffi_i_hash_items(s, f); break;
      case kTVMFFIMap:
      case kTVMFFIDict: code = tvmffi_i_hash_entries(s, f); break;
      default: code = tvmffi_i_hash_fields(s, f);
    }
    if (code == TVMFFI_I_PUSHED) continue;
    *hash = f->hash;
    if (!code) s->base.region = f->outer;
    do tvmffi_i_pop_hash(s);
    while (code < 0 && s->frames.depth > base);
    if (code < 0 || s->frames.depth == base) break;
    f = TVMFFI_I_TOP(tvmffi_i_hash_frame, &s->frames);
    f->hash = tvmffi_i_hash_combine(f->hash, *hash);
  }
  return code;
}

/* Gives the hash of a view of any kind. */
static int tvmffi_i_structural_hash(const TVMFFIAny *value, int maps_variables,
                                    int skips_tensors, uint64_t *hash) {
  tvmffi_i_hash_frame room[16];
  tvmffi_i_hasher s = TVMFFI_I_ZERO;
  TVMFFIAny owned = tvmffi_none();
  int code;
  tvmffi_i_stack_open(&s.frames, room, sizeof(room));
  s.base.region =
      maps_variables ? kTVMFFIDefRegionKindPattern : kTVMFFIDefRegionKindNone;
  s.base.skips_tensors = skips_tensors;
  TVMFFI_TRY(tvmffi_i_start_types()); /* so every object has its type */
  TVMFFI_TRY(tvmffi_i_own(value, &owned));
  code = tvmffi_i_hash_value(&s, &owned, hash);
  tvmffi_i_drop_callback(&s.base);
  tvmffi_i_free(s.items);
  tvmffi_i_stack_close(&s.frames);
  tvmffi_i_drop_memos(&s.known);
  tvmffi_any_release(&owned);
  return code;
}

/* -------- Keys and global functions -------- */

static TVMFFIObject *tvmffi_i_new_structural_key(const TVMFFIAny *value) {
  tvmffi_i_structural_key *key =
      (tvmffi_i_structural_key *)(void *)tvmffi_i_new_object(
          TVMFFI_I_STRUCTURAL_KEY, sizeof(*key));
  uint64_t hash = 0;
  if (!key) return NULL;
  if (TVMFFIAnyViewToOwnedAny(value, &key->key) ||
      tvmffi_i_structural_hash(&key->key, 0, 0, &hash)) {
    tvmffi_release(key);
    return NULL;
  }
  key->hash = (int64_t)hash;
  return &key->base;
}

/* Compares two views, keys or the same value: 1, 0, or an error's code. */
static int tvmffi_i_structural_key_equal(const TVMFFIAny *a,
                                         const TVMFFIAny *b) {
  const tvmffi_i_structural_key *x, *y;
  const char *missing = NULL;
  int code;
  if (a->type_index == b->type_index && a->v_uint64 == b->v_uint64) return 1;
  if (a->type_index != TVMFFI_I_STRUCTURAL_KEY || !a->v_obj)
    missing = "lhs_obj";
  else if (b->type_index != TVMFFI_I_STRUCTURAL_KEY || !b->v_obj)
    missing = "rhs_obj";
  if (missing)
    return tvmffi_i_fail("InternalError", "Check not null: %s ", missing);
  x = (const tvmffi_i_structural_key *)a->v_ptr;
  y = (const tvmffi_i_structural_key *)b->v_ptr;
  if (x->hash != y->hash) return 0;
  TVMFFI_TRY(tvmffi_i_nest());
  code = tvmffi_i_structural_equal(&x->key, &y->key, 0, 0, NULL);
  tvmffi_i_unnest();
  return code;
}

TVMFFI_I_OBJECT_TYPE(i_structural_key, "ffi.StructuralKey", "ffi.StructuralKey",
                     TVMFFI_I_STRUCTURAL_KEY)
TVMFFI_I_OBJECT_TYPE(
    i_path_pair,
    "Optional<Tuple<ffi.reflection.AccessPath, ffi.reflection.AccessPath>>",
    "{\"type\":\"Optional\",\"args\":[{\"type\":\"Tuple\",\"args\":[{\"type\":"
    "\"ffi.reflection.AccessPath\"},{\"type\":\"ffi.reflection.AccessPath\"}]}]"
    "}",
    kTVMFFIArray)

TVMFFI_FUNC(i_structural_equal, bool, (any, a), (any, b),
            (bool, maps_variables), (bool, skips_tensors)) {
  int code =
      tvmffi_i_structural_equal(&a, &b, maps_variables, skips_tensors, NULL);
  if (code < 0) return code;
  TVMFFI_RETURN(code != 0);
}

TVMFFI_FUNC(i_structural_mismatch, i_path_pair, (any, a), (any, b),
            (bool, maps_variables), (bool, skips_tensors)) {
  TVMFFIObject *paths = NULL;
  int code =
      tvmffi_i_structural_equal(&a, &b, maps_variables, skips_tensors, &paths);
  if (code < 0) return code;
  TVMFFI_RETURN(paths);
}

TVMFFI_FUNC(i_structural_hash, int64, (any, value), (bool, maps_variables),
            (bool, skips_tensors)) {
  uint64_t hash = 0;
  TVMFFI_TRY(
      tvmffi_i_structural_hash(&value, maps_variables, skips_tensors, &hash));
  TVMFFI_RETURN((int64_t)hash);
}

TVMFFI_FUNC(i_new_structural_key, i_structural_key, (any, key)) {
  TVMFFI_I_RETURN_NEW(tvmffi_i_new_structural_key(&key));
}

TVMFFI_FUNC(i_structural_key_equal, bool, (any, a), (any, b)) {
  int code = tvmffi_i_structural_key_equal(&a, &b);
  if (code < 0) return code;
  TVMFFI_RETURN(code != 0);
}
#endif /* !TVMFFI_NO_EXTRA */

/* ======== Visiting ================================================ >>visit */
/* Structural visit, walk, map and mutate, and where in an object an error came
   from, as C++ clients call them and are called (upstream's
   extra/structural_visit.h, structural_mutate.h, visit_error_context.h). A
   visitor or mutator goes into a value through its table. What ours go into
   stands on a stack of frames and not on the thread's; a hook that a type
   brought along is called, and may come back through the table, which goes on
   with the same frames. A visitor belongs to one thread at a time; there are
   no locks. */
#if !TVMFFI_NO_EXTRA

/* What such functions give, also to C++: their result or, in its place, an
   error. A visit gives None to go on; a mutation a value, or Unchanged. */
typedef TVMFFIAny (*tvmffi_i_hook)(void *visitor, TVMFFIAny value);

/* The table of a visitor ends after its first function. */
typedef struct {
  tvmffi_i_hook enter;
  tvmffi_i_hook enter_unique; /* what nobody else holds: it may be changed */
  tvmffi_i_hook get;          /* what a variable is replaced by, or None */
  TVMFFIAny (*set)(void *mutator, TVMFFIAny var, TVMFFIAny value);
} tvmffi_i_visit_table;

/* How a container or object is gone through. */
typedef struct {
  TVMFFIObject *from; /* borrowed */
  TVMFFIAny child;    /* the one under way: owned if `holds`, else borrowed */
  TVMFFIObject *made; /* owned: the copy that takes what changes, or NULL */
  union {
    uint64_t at;              /* the place of the child in a container */
    tvmffi_i_field_walk walk; /* behind its field in an object */
  } next;
  unsigned char in_place, holds, is_object;
} tvmffi_i_cursor;

typedef struct {
  tvmffi_i_cursor c;
  unsigned char entered;  /* through the table: callbacks apply */
  unsigned char identity; /* of a variable or a node: its kind */
  unsigned char changed;
  int32_t outer, inner; /* the regions around and within it */
  TVMFFIAny mapped; /* owned: what a callback put there before, or Unchanged */
} tvmffi_i_visit_frame;

typedef enum {
  TVMFFI_I_WALK_BEFORE,
  TVMFFI_I_WALK_AFTER,
  TVMFFI_I_VISIT,
  TVMFFI_I_MAP_BEFORE,
  TVMFFI_I_MAP_AFTER,
  TVMFFI_I_MUTATE
} tvmffi_i_visit_kind;

/* A visitor or mutator of ours. */
typedef struct {
  tvmffi_i_visitor visitor;
  tvmffi_i_visit_kind kind;
  TVMFFIObject *callbacks[2]; /* arrays; the second are told the region, too */
  TVMFFIObject *remap;        /* dict: by their addresses, what replaces them */
  TVMFFIObject *variables;    /* list: they are kept alive */
  tvmffi_i_stack frames;
  /* By the indices of built-in types, as they come: no callback is for them, or
     nothing is within them. */
  uint64_t uncalled[2], leaves[2];
  const TVMFFIAny *found; /* the callback found last (borrowed), or NULL */
  int32_t found_for;
  int found_with_region;
} tvmffi_i_engine;

TVMFFI_I_INLINE int tvmffi_i_has_bit(const uint64_t *bits, int32_t index) {
  return (uint32_t)index < 128 && (bits[index >> 6] >> (index & 63) & 1) != 0;
}
TVMFFI_I_INLINE void tvmffi_i_set_bit(uint64_t *bits, int32_t index) {
  if ((uint32_t)index < 128) bits[index >> 6] |= (uint64_t)1 << (index & 63);
}

/* Whether a value can be passed by. */
TVMFFI_I_INLINE int tvmffi_i_is_passed(const tvmffi_i_engine *e,
                                       int32_t index) {
  return (uint32_t)index < 128 &&
         (e->leaves[index >> 6] & e->uncalled[index >> 6]) >> (index & 63) & 1;
}

static tvmffi_i_known_column tvmffi_i_visit_column = {"__s_visit__", NULL};
static tvmffi_i_known_column tvmffi_i_mutate_column = {"__s_mutate__", NULL};
static tvmffi_i_known_column tvmffi_i_in_place_column = {
    "__s_maybe_inplace_mutate__", NULL};

TVMFFI_I_INLINE const tvmffi_i_visit_table *tvmffi_i_table_of(
    const tvmffi_i_visitor *v) {
  return (const tvmffi_i_visit_table *)v->table;
}

TVMFFI_I_INLINE TVMFFIAny tvmffi_i_unchanged(void) {
  TVMFFIAny any = tvmffi_none();
  any.type_index = kTVMFFIUnchanged;
  return any;
}

TVMFFI_I_INLINE int tvmffi_i_is_unique(const TVMFFIAny *any) {
  return any->type_index >= kTVMFFIStaticObjectBegin &&
         (uint32_t)TVMFFI_I_LOAD(&any->v_obj->combined_ref_count) == 1;
}

/* The error that was raised, which there has to be. */
TVMFFI_I_COLD TVMFFIAny tvmffi_i_raised(void) {
  TVMFFIAny error = tvmffi_i_take_error();
  if (error.v_obj) return error;
  (void)tvmffi_i_fail("RuntimeError", "A function failed without an error");
  return tvmffi_i_take_error();
}

/* Returns a result (taken), or raises the error in its place. */
static int tvmffi_i_give(TVMFFIAny from, TVMFFIAny *result) {
  if (from.type_index != kTVMFFIError || !from.v_obj) {
    *result = from;
    return 0;
  }
  TVMFFIErrorSetRaised(from.v_obj);
  tvmffi_any_release(&from);
  return -1;
}

/* Notes in an error which object it came through. Without memory for that the
   error is told as it is. */
TVMFFI_I_COLD void tvmffi_i_add_context(const TVMFFIAny *error,
                                        const TVMFFIAny *node) {
  TVMFFIErrorCell *cell = TVMFFI_I_CELL(TVMFFIErrorCell, error->v_obj);
  tvmffi_i_error_context *context =
      (tvmffi_i_error_context *)cell->extra_context;
  TVMFFIObjectHandle made = NULL;
  int code = 0;
  if (node->type_index < kTVMFFIStaticObjectBegin ||
      error->v_obj == &tvmffi_i_memory_error.base)
    return;
  if (!context || context->base.type_index != TVMFFI_I_VISIT_ERROR_CONTEXT) {
    code = tvmffi_i_create_error_context(&made);
    if (!code) {
      context = (tvmffi_i_error_context *)made;
      context->previous = (TVMFFIObject *)cell->extra_context;
      cell->extra_context = made;
    }
  }
  if (!code && context->pattern)
    code = tvmffi_i_list_append(context->pattern, node);
  if (!code) return;
  TVMFFIErrorMoveFromRaised(&made);
  tvmffi_release(made);
}

/* -------- Containers -------- */

/* The child of a container at the cursor; NULL at its end. A container may
   change while its children are visited, so nothing is remembered of it. */
TVMFFI_I_INLINE TVMFFIAny *tvmffi_i_child_at(const tvmffi_i_cursor *c) {
  TVMFFIObject *o = c->made ? c->made : c->from;
  TVMFFISeqCell *cell;
  tvmffi_i_pair *pair;
  if (o->type_index == kTVMFFIArray || o->type_index == kTVMFFIList) {
    cell = TVMFFI_I_CELL(TVMFFISeqCell, o);
    return c->next.at < (uint64_t)cell->size
               ? (TVMFFIAny *)cell->data + c->next.at
               : NULL;
  }
  pair = tvmffi_i_map_pair(o, c->next.at);
  return pair ? &pair->value : NULL;
}

TVMFFI_I_INLINE tvmffi_i_cursor tvmffi_i_open_cursor(const TVMFFIAny *from,
                                                     int in_place) {
  tvmffi_i_cursor c;
  int32_t index = from->type_index;
  c.from = from->v_obj;
  c.child = tvmffi_none();
  c.made = NULL;
  c.next.at = index == kTVMFFIMap || index == kTVMFFIDict
                  ? tvmffi_i_map_begin(from->v_obj)
                  : 0;
  c.is_object = 0;
  c.in_place = (unsigned char)in_place;
  c.holds = in_place || index == kTVMFFIList || index == kTVMFFIDict;
  return c;
}

/* Goes on to the next child of a container that is not plain. */
static void tvmffi_i_pass_plain(const tvmffi_i_engine *e, tvmffi_i_cursor *c) {
  TVMFFIObject *o = c->made ? c->made : c->from;
  const TVMFFISeqCell *cell;
  const TVMFFIAny *items;
  const tvmffi_i_pair *pair;
  uint64_t at = c->next.at, n;
  if (o->type_index == kTVMFFIArray || o->type_index == kTVMFFIList) {
    cell = TVMFFI_I_CELL(TVMFFISeqCell, o);
    items = (const TVMFFIAny *)cell->data;
    n = (uint64_t)cell->size;
    while (at < n && tvmffi_i_is_passed(e, items[at].type_index)) ++at;
  } else {
    while ((pair = tvmffi_i_map_pair(o, at)) != NULL &&
           tvmffi_i_is_passed(e, pair->value.type_index))
      at = tvmffi_i_map_after(o, at);
  }
  c->next.at = at;
}

/* Takes the next child of a container: 0 at its end. */
TVMFFI_I_INLINE int tvmffi_i_next_item(tvmffi_i_cursor *c, int *unique) {
  const TVMFFIAny *child = tvmffi_i_child_at(c);
  if (!child) return 0;
  *unique = c->in_place && tvmffi_i_is_unique(child);
  c->child = c->holds ? tvmffi_i_copy_owned(child) : *child;
  return 1;
}

TVMFFI_I_INLINE void tvmffi_i_drop_child(tvmffi_i_cursor *c) {
  if (c->holds) tvmffi_any_release(&c->child);
}

/* While a unique child is out of its place, the cursor's is its only reference,
   so that who mutates it finds it unique, too. */
TVMFFI_I_INLINE void tvmffi_i_lift_child(tvmffi_i_cursor *c) {
  *tvmffi_i_child_at(c) = tvmffi_none();
  tvmffi_release(c->child.v_obj);
}
TVMFFI_I_INLINE void tvmffi_i_lower_child(tvmffi_i_cursor *c) {
  TVMFFIAny *place = tvmffi_i_child_at(c);
  if (place && place->type_index == kTVMFFINone)
    *place = tvmffi_i_copy_owned(&c->child);
}

/* Goes past the child. */
TVMFFI_I_INLINE void tvmffi_i_pass_child(tvmffi_i_cursor *c) {
  TVMFFIObject *o = c->made ? c->made : c->from;
  c->next.at = o->type_index == kTVMFFIMap || o->type_index == kTVMFFIDict
                   ? tvmffi_i_map_after(o, c->next.at)
                   : c->next.at + 1;
  tvmffi_i_drop_child(c);
}

/* Makes the copy of a container that is not changed in place. */
static int tvmffi_i_copy_container(tvmffi_i_cursor *c) {
  TVMFFIObject *o = c->from;
  TVMFFIAny copy = tvmffi_none();
  if (o->type_index == kTVMFFIMap || o->type_index == kTVMFFIDict) {
    c->made = tvmffi_i_map_copy(o, o->type_index);
    return c->made ? 0 : -1;
  }
  TVMFFI_TRY(tvmffi_i_convert_seq(TVMFFI_I_CELL(TVMFFISeqCell, o),
                                  o->type_index, &copy));
  c->made = copy.v_obj;
  return 0;
}

/* Puts the mutated child (taken) into its place, if that still has it. */
static int tvmffi_i_put_child(tvmffi_i_cursor *c, TVMFFIAny value) {
  TVMFFIAny *place, old = value;
  int code = 0;
  if (value.type_index == kTVMFFIUnchanged) return 0;
  if (!tvmffi_i_same_any(&value, &c->child)) {
    if (!c->made && !c->in_place) code = tvmffi_i_copy_container(c);
    place = code ? NULL : tvmffi_i_child_at(c);
    if (place && tvmffi_i_same_any(place, &c->child)) {
      old = *place;
      *place = value;
    }
  }
  tvmffi_any_release(&old);
  return code;
}

#if defined(__cplusplus)
extern "C" {
#endif
/* The hooks of containers, as they are called with a visitor of C++. */
static TVMFFIAny tvmffi_i_visit_container(void *visitor, TVMFFIAny value) {
  const tvmffi_i_hook enter =
      tvmffi_i_table_of((tvmffi_i_visitor *)visitor)->enter;
  TVMFFIAny r = tvmffi_none();
  const tvmffi_i_pair *pair;
  const TVMFFIAny *item, *end;
  tvmffi_i_cursor c;
  uint64_t at;
  int unique;
  if (value.type_index == kTVMFFIArray) { /* which cannot change meanwhile */
    item = (const TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, value.v_obj)->data;
    end = item + TVMFFI_I_CELL(TVMFFISeqCell, value.v_obj)->size;
    for (; r.type_index == kTVMFFINone && item != end; ++item)
      r = enter(visitor, *item);
    return r;
  }
  if (value.type_index == kTVMFFIMap) {
    for (at = tvmffi_i_map_begin(value.v_obj);
         r.type_index == kTVMFFINone &&
         (pair = tvmffi_i_map_pair(value.v_obj, at)) != NULL;
         at = tvmffi_i_map_after(value.v_obj, at))
      r = enter(visitor, pair->value);
    return r;
  }
  c = tvmffi_i_open_cursor(&value, 0);
  while (r.type_index == kTVMFFINone && tvmffi_i_next_item(&c, &unique)) {
    r = enter(visitor, c.child);
    tvmffi_i_pass_child(&c);
  }
  return r;
}

/* Inline, as C++ goes as deep as the thread's stack lasts. */
TVMFFI_I_ALWAYS_INLINE TVMFFIAny tvmffi_i_mutate_with(tvmffi_i_visitor *v,
                                                      const TVMFFIAny *value,
                                                      int in_place) {
  tvmffi_i_cursor c = tvmffi_i_open_cursor(value, in_place);
  const tvmffi_i_visit_table *table = tvmffi_i_table_of(v);
  TVMFFIAny r = tvmffi_none();
  int unique;
  while (r.type_index != kTVMFFIError && tvmffi_i_next_item(&c, &unique)) {
    if (unique) {
      tvmffi_i_lift_child(&c);
      r = table->enter_unique(v, c.child);
      tvmffi_i_lower_child(&c);
    } else {
      r = table->enter(v, c.child);
    }
    if (r.type_index != kTVMFFIError && tvmffi_i_put_child(&c, r))
      r = tvmffi_i_raised();
    tvmffi_i_pass_child(&c);
  }
  if (r.type_index != kTVMFFIError)
    return c.made ? tvmffi_obj(c.made) : tvmffi_i_unchanged();
  tvmffi_release(c.made);
  return r;
}

static TVMFFIAny tvmffi_i_mutate_container(void *mutator, TVMFFIAny value) {
  return tvmffi_i_mutate_with((tvmffi_i_visitor *)mutator, &value, 0);
}

static TVMFFIAny tvmffi_i_mutate_in_place(void *mutator, TVMFFIAny value) {
  return tvmffi_i_mutate_with((tvmffi_i_visitor *)mutator, &value, 1);
}

static TVMFFIAny tvmffi_i_mutate_leaf(void *mutator, TVMFFIAny value) {
  (void)mutator, (void)value;
  return tvmffi_i_unchanged();
}

static TVMFFIAny tvmffi_i_enter_visitor(void *visitor, TVMFFIAny value);
static TVMFFIAny tvmffi_i_enter_mutator(void *mutator, TVMFFIAny value);
static TVMFFIAny tvmffi_i_enter_unique(void *mutator, TVMFFIAny value);
static TVMFFIAny tvmffi_i_remap_get(void *mutator, TVMFFIAny var);
static TVMFFIAny tvmffi_i_remap_set(void *mutator, TVMFFIAny var,
                                    TVMFFIAny value);
#if defined(__cplusplus)
}
#endif

static const tvmffi_i_visit_table tvmffi_i_visitor_table = {
    tvmffi_i_enter_visitor, NULL, NULL, NULL};
static const tvmffi_i_visit_table tvmffi_i_mutator_table = {
    tvmffi_i_enter_mutator, tvmffi_i_enter_unique, tvmffi_i_remap_get,
    tvmffi_i_remap_set};

static void tvmffi_i_fill_visit_columns(
    TVMFFIAny (*values)[TVMFFI_I_NUM_INDICES]) {
  static const int32_t containers[] = {kTVMFFIArray, kTVMFFIMap, kTVMFFIList,
                                       kTVMFFIDict};
  static const int32_t leaves[] = {kTVMFFIStr, kTVMFFIBytes, kTVMFFIBigInt};
  size_t i;
  for (i = 0; i < 4; ++i) {
    values[TVMFFI_I_COLUMN_VISIT][containers[i]] =
        tvmffi_ptr((void *)(uintptr_t)tvmffi_i_visit_container);
    values[TVMFFI_I_COLUMN_MUTATE][containers[i]] =
        tvmffi_ptr((void *)(uintptr_t)tvmffi_i_mutate_container);
    values[TVMFFI_I_COLUMN_MUTATE_INPLACE][containers[i]] =
        tvmffi_ptr((void *)(uintptr_t)tvmffi_i_mutate_in_place);
  }
  for (i = 0; i < 3; ++i)
    values[TVMFFI_I_COLUMN_MUTATE][leaves[i]] =
        values[TVMFFI_I_COLUMN_MUTATE_INPLACE][leaves[i]] =
            tvmffi_ptr((void *)(uintptr_t)tvmffi_i_mutate_leaf);
}

/* -------- Callbacks -------- */

TVMFFI_I_INLINE void tvmffi_i_destroy_engine(void *self, int flags) {
  tvmffi_i_engine *e = (tvmffi_i_engine *)self;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    tvmffi_release(e->callbacks[0]);
    tvmffi_release(e->callbacks[1]);
    tvmffi_release(e->remap);
    tvmffi_release(e->variables);
    tvmffi_i_stack_close(&e->frames);
  }
  tvmffi_i_delete_plain(self, flags);
}

static void tvmffi_i_delete_engine(void *self, int flags) {
  tvmffi_i_destroy((TVMFFIObject *)self, flags, tvmffi_i_destroy_engine);
}

/* The engine of a visitor, or NULL of one that C++ made; a shallow copy of an
   engine is none. */
TVMFFI_I_INLINE tvmffi_i_engine *tvmffi_i_engine_of(tvmffi_i_visitor *v) {
  return v->base.deleter == tvmffi_i_delete_engine
             ? (tvmffi_i_engine *)(void *)v
             : NULL;
}

/* Makes an engine of callbacks (borrowed). */
static tvmffi_i_engine *tvmffi_i_new_engine(tvmffi_i_visit_kind kind,
                                            TVMFFIObject *callbacks,
                                            TVMFFIObject *with_region) {
  int mutates = kind >= TVMFFI_I_MAP_BEFORE;
  TVMFFIObject *from[2];
  TVMFFIAny copy = tvmffi_none();
  tvmffi_i_engine *e = (tvmffi_i_engine *)tvmffi_i_object(
      sizeof(*e),
      mutates ? TVMFFI_I_STRUCTURAL_MUTATOR : TVMFFI_I_STRUCTURAL_VISITOR,
      tvmffi_i_delete_engine);
  int i;
  if (!e) return NULL;
  memset((void *)(&e->visitor.base + 1), 0,
         sizeof(*e) - sizeof(e->visitor.base));
  tvmffi_i_stack_open(&e->frames, NULL, 0);
  e->visitor.table = (void *)(uintptr_t)(mutates ? &tvmffi_i_mutator_table
                                                 : &tvmffi_i_visitor_table);
  e->kind = kind;
  from[0] = callbacks;
  from[1] = with_region;
  for (i = 0; i < 2; ++i) {
    if (!from[i]) continue;
    if (from[i]->type_index == kTVMFFIArray) {
      tvmffi_retain(from[i]);
      e->callbacks[i] = from[i];
      continue;
    }
    if (tvmffi_i_convert_seq(TVMFFI_I_CELL(TVMFFISeqCell, from[i]),
                             kTVMFFIArray, &copy)) {
      tvmffi_release(e);
      return NULL;
    }
    e->callbacks[i] = copy.v_obj;
  }
  return e;
}

TVMFFI_I_INLINE int tvmffi_i_index_matches(int32_t index, int32_t target) {
  if (index == target || target == kTVMFFIAny) return 1;
  if (target == kTVMFFIStr) return index == kTVMFFISmallStr;
  if (target == kTVMFFIBytes) return index == kTVMFFISmallBytes;
  if (index < kTVMFFIStaticObjectBegin) return 0;
  /* A type that does not exist is an error to ask for, and matches nothing. */
  return index > target && target >= kTVMFFIStaticObjectBegin &&
         tvmffi_i_type_at(target) && tvmffi_is_instance(index, target);
}

/* Looks through the callbacks, and remembers what is found. */
TVMFFI_I_NOINLINE const TVMFFIAny *tvmffi_i_search_callbacks(tvmffi_i_engine *e,
                                                             int32_t index) {
  int i;
  int64_t k;
  for (i = 0; i < 2; ++i) {
    const TVMFFISeqCell *cell;
    if (!e->callbacks[i]) continue;
    cell = TVMFFI_I_CELL(TVMFFISeqCell, e->callbacks[i]);
    for (k = 0; k < cell->size; ++k) {
      TVMFFIObject *entry = ((const TVMFFIAny *)cell->data)[k].v_obj;
      const TVMFFIAny *row =
          (const TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, entry)->data;
      if (!tvmffi_i_index_matches(index, (int32_t)row->v_int64)) continue;
      e->found = row;
      e->found_for = index;
      e->found_with_region = i;
      return row;
    }
  }
  tvmffi_i_set_bit(e->uncalled, index);
  return NULL;
}

/* A callback: its type index, the function, and whether it is told if its
   value is unique. Borrowed; NULL if there is none for the type. */
TVMFFI_I_INLINE const TVMFFIAny *tvmffi_i_find_callback(tvmffi_i_engine *e,
                                                        int32_t index,
                                                        int *with_region) {
  const TVMFFIAny *row;
  if (tvmffi_i_has_bit(e->uncalled, index)) return NULL;
  row = e->found && e->found_for == index ? e->found
                                          : tvmffi_i_search_callbacks(e, index);
  *with_region = e->found_with_region;
  return row;
}

/* Calls a function; an error stands in the result's place. */
static TVMFFIAny tvmffi_i_call_back(const TVMFFIAny *function, TVMFFIAny *args,
                                    int32_t num_args) {
  TVMFFIAny r = tvmffi_none();
  TVMFFIObject *f =
      function->type_index == kTVMFFINone ? NULL : function->v_obj;
  if (TVMFFI_I_UNLIKELY(TVMFFIFunctionCall(f, args, num_args, &r))) {
    tvmffi_any_release(&r);
    return tvmffi_i_raised();
  }
  return r;
}

TVMFFI_I_COLD TVMFFIAny tvmffi_i_bad_visit_result(TVMFFIAny r,
                                                  const char *expected) {
  (void)tvmffi_i_fail(
      "TypeError",
      "CallExpected: result type mismatch, expected %s, but got %s", expected,
      tvmffi_i_type_key(r.type_index));
  tvmffi_any_release(&r);
  return tvmffi_i_raised();
}

/* Lets a visit's result (taken) through: none, an interrupt or an error. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_visit_result(TVMFFIAny r) {
  if (TVMFFI_I_LIKELY(r.type_index == kTVMFFINone) ||
      r.type_index == kTVMFFIVisitInterrupt || r.type_index == kTVMFFIError)
    return r;
  return tvmffi_i_bad_visit_result(r, "Optional<ffi.VisitInterrupt>");
}

/* Calls the callback for a value. A walk's gives an integer to go on. */
static TVMFFIAny tvmffi_i_call_for(tvmffi_i_engine *e, const TVMFFIAny *row,
                                   const TVMFFIAny *value, int with_region,
                                   int unique) {
  TVMFFIAny args[3], r;
  int32_t n = 1;
  args[0] = *value;
  if (e->kind == TVMFFI_I_VISIT || e->kind == TVMFFI_I_MUTATE) {
    args[n++] = tvmffi_obj(&e->visitor.base);
    if (e->kind == TVMFFI_I_MUTATE && row[2].v_int64)
      args[n++] = tvmffi_int(unique);
  } else if (with_region) {
    args[n++] = tvmffi_int(e->visitor.region);
  }
  r = tvmffi_i_call_back(&row[1], args, n);
  if (e->kind >= TVMFFI_I_MAP_BEFORE) return r;
  if (e->kind == TVMFFI_I_VISIT) return tvmffi_i_visit_result(r);
  if (r.type_index == kTVMFFINone) return tvmffi_int(0);
  if (TVMFFI_I_IS_INT(&r)) return tvmffi_int((int32_t)r.v_int64);
  if (r.type_index == kTVMFFIVisitInterrupt || r.type_index == kTVMFFIError)
    return r;
  return tvmffi_i_bad_visit_result(r, "WalkResult");
}

/* -------- Variables -------- */

static int tvmffi_i_is_variable(const TVMFFIAny *var) {
  if (var->type_index >= kTVMFFIStaticObjectBegin && var->v_obj) return 1;
  (void)tvmffi_i_fail("TypeError",
                      "Variable-remap key must be an object-backed value");
  return 0;
}

static TVMFFIAny tvmffi_i_bad_engine(void) {
  (void)tvmffi_i_fail("TypeError",
                      "A copy of a structural visitor or mutator cannot go on");
  return tvmffi_i_raised();
}

static TVMFFIAny tvmffi_i_remap_get(void *mutator, TVMFFIAny var) {
  tvmffi_i_engine *e = tvmffi_i_engine_of((tvmffi_i_visitor *)mutator);
  const TVMFFIAny *value;
  TVMFFIAny key;
  if (!e) return tvmffi_i_bad_engine();
  if (!tvmffi_i_is_variable(&var)) return tvmffi_i_raised();
  if (!e->remap) return tvmffi_none();
  key = tvmffi_ptr(var.v_obj);
  value = tvmffi_i_map_get(e->remap, &key);
  return value ? tvmffi_i_copy_owned(value) : tvmffi_none();
}

static TVMFFIAny tvmffi_i_remap_set(void *mutator, TVMFFIAny var,
                                    TVMFFIAny value) {
  tvmffi_i_engine *e = tvmffi_i_engine_of((tvmffi_i_visitor *)mutator);
  TVMFFIAny key;
  if (!e) return tvmffi_i_bad_engine();
  if (!tvmffi_i_is_variable(&var)) return tvmffi_i_raised();
  if (!e->remap) e->remap = tvmffi_i_new_map(kTVMFFIDict, 0);
  if (!e->variables) e->variables = tvmffi_i_new_list(0);
  if (!e->remap || !e->variables) return tvmffi_i_raised();
  key = tvmffi_ptr(var.v_obj);
  if (!tvmffi_i_map_get(e->remap, &key) &&
      tvmffi_i_list_append(e->variables, &var))
    return tvmffi_i_raised();
  if (tvmffi_i_map_set(&e->remap, &key, &value)) return tvmffi_i_raised();
  return tvmffi_none();
}

/* -------- Going into values -------- */

/* A visitor that goes into a value: its frames, or for one of C++ the frame of
   the value alone. */
typedef struct {
  tvmffi_i_visitor *v;
  tvmffi_i_engine *e; /* NULL of a visitor of C++ */
  tvmffi_i_visit_frame *one;
  int mutates, is_open;
} tvmffi_i_descent;

TVMFFI_I_INLINE tvmffi_i_visit_frame *tvmffi_i_top_frame(
    const tvmffi_i_descent *d) {
  return d->e ? TVMFFI_I_TOP(tvmffi_i_visit_frame, &d->e->frames) : d->one;
}

TVMFFI_I_INLINE tvmffi_i_visit_frame *tvmffi_i_push_frame(tvmffi_i_descent *d) {
  d->is_open = 1;
  return d->e ? TVMFFI_I_PUSH(tvmffi_i_visit_frame, &d->e->frames,
                              "StructuralVisit")
              : d->one;
}

TVMFFI_I_INLINE void tvmffi_i_leave_frame(tvmffi_i_descent *d) {
  d->is_open = 0;
  if (d->e) TVMFFI_I_POP(tvmffi_i_visit_frame, &d->e->frames);
}

/* Whether there is something to do after the children of a value. */
TVMFFI_I_INLINE int tvmffi_i_ends(tvmffi_i_visit_kind kind) {
  return kind == TVMFFI_I_WALK_AFTER || kind == TVMFFI_I_MAP_BEFORE ||
         kind == TVMFFI_I_MAP_AFTER;
}

/* Whether a visit finds nothing in an object: a string, for one. */
TVMFFI_I_INLINE int tvmffi_i_has_no_fields(int32_t index) {
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(index);
  return type && type->type_depth == 1 && !TVMFFI_I_LOAD(&type->num_fields) &&
         !TVMFFI_I_LOAD(&type->type_ancestors[0]->num_fields);
}

/* Runs what comes after the children of a value. `mapped` and `r` are taken,
   and what `r` has become is given. */
static TVMFFIAny tvmffi_i_conclude(tvmffi_i_descent *d, const TVMFFIAny *value,
                                   TVMFFIAny mapped, int entered, TVMFFIAny r) {
  tvmffi_i_engine *e = d->e;
  const TVMFFIAny *row, *at;
  TVMFFIAny given;
  int with_region = 0;
  if (TVMFFI_I_UNLIKELY(r.type_index == kTVMFFIError)) {
    if (d->mutates || entered) tvmffi_i_add_context(&r, value);
    tvmffi_any_release(&mapped);
    return r;
  }
  if (!entered) return r;
  switch (e->kind) {
    case TVMFFI_I_MAP_BEFORE:
      if (r.type_index == kTVMFFIUnchanged) return mapped;
      tvmffi_any_release(&mapped);
      return r;
    case TVMFFI_I_WALK_AFTER:
    case TVMFFI_I_MAP_AFTER: break;
    default: return r;
  }
  if (r.type_index == kTVMFFIVisitInterrupt && !d->mutates) return r;
  at = d->mutates && r.type_index != kTVMFFIUnchanged ? &r : value;
  row = tvmffi_i_find_callback(e, at->type_index, &with_region);
  if (!row) return r;
  given = tvmffi_i_call_for(e, row, at, with_region, 0);
  if (TVMFFI_I_UNLIKELY(given.type_index == kTVMFFIError))
    tvmffi_i_add_context(&given, at);
  if (d->mutates && given.type_index == kTVMFFIUnchanged) return r;
  if (!d->mutates && given.type_index == kTVMFFIInt) return r;
  tvmffi_any_release(&r);
  return given;
}

/* Makes the shallow copy of an object whose fields are mutated. */
static int tvmffi_i_copy_to_mutate(const TVMFFIAny *value,
                                   TVMFFIObject **made) {
  const TVMFFIAny *copier =
      tvmffi_i_type_attr(&tvmffi_i_copy_column, value->type_index);
  TVMFFIAny arg = *value, r = tvmffi_none();
  if (!copier || copier->type_index != kTVMFFIFunction)
    return tvmffi_i_fail("TypeError",
                         "__ffi_shallow_copy__ must be an ffi.Function");
  r = tvmffi_i_call_back(copier, &arg, 1);
  if (r.type_index == kTVMFFIError) return tvmffi_i_give(r, &r);
  if (r.type_index == value->type_index && r.v_obj && r.v_obj != value->v_obj) {
    *made = r.v_obj;
    return 0;
  }
  tvmffi_any_release(&r);
  return tvmffi_i_fail("TypeError",
                       "Shallow copy callback must return a distinct object "
                       "with the same type as its input");
}

/* Prepares the top frame for an object's fields: 1 if there is a result in
   their place. */
static int tvmffi_i_open_fields(tvmffi_i_descent *d, const TVMFFIAny *value,
                                TVMFFIAny *r) {
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(value->type_index);
  const TVMFFITypeMetadata *metadata =
      type ? TVMFFI_I_LOAD(&type->metadata) : NULL;
  tvmffi_i_visit_frame *f;
  TVMFFIObject *made = NULL;
  int kind = metadata ? (int)metadata->structural_eq_hash_kind : 0;
  int is_var = kind == kTVMFFISEqHashKindFreeVar;
  int identity = is_var || kind == kTVMFFISEqHashKindDAGNode ? kind : 0;
  *r = tvmffi_none();
  if (d->mutates && identity) {
    *r = tvmffi_i_table_of(d->v)->get(d->v, *value);
    if (r->type_index != kTVMFFINone) return 1;
    if (is_var && d->v->region == kTVMFFIDefRegionKindNone) {
      *r = tvmffi_i_unchanged();
      return 1;
    }
  }
  if (!type || (d->mutates && tvmffi_i_copy_to_mutate(value, &made))) {
    *r = tvmffi_i_raised();
    return 1;
  }
  f = tvmffi_i_top_frame(d);
  f->c.made = made;
  f->c.holds = 1;
  f->identity = (unsigned char)identity;
  f->c.is_object = 1;
  f->c.next.walk = tvmffi_i_walk_fields(type);
  if (is_var && d->v->region == kTVMFFIDefRegionKindSimple)
    f->inner = d->v->region = kTVMFFIDefRegionKindNone;
  return 0;
}

/* Goes to the next field: 0 behind the last, -1 with the error raised. */
static int tvmffi_i_next_visited(tvmffi_i_descent *d, tvmffi_i_visit_frame *f) {
  TVMFFIObject *o = f->c.made ? f->c.made : f->c.from;
  TVMFFIAny *child = &f->c.child;
  const TVMFFIFieldInfo *field;
  for (;;) {
    field = tvmffi_i_next_counted(&f->c.next.walk);
    if (!field) return 0;
    *child = tvmffi_none();
    if (TVMFFI_I_UNLIKELY(field->getter(tvmffi_i_at(o, field), child))) {
      *child = tvmffi_none();
      return -1;
    }
    if (!d->e || !tvmffi_i_is_passed(d->e, child->type_index)) break;
    tvmffi_any_release(child);
  }
  d->v->region = tvmffi_i_field_region(field, d->v->region);
  return 1;
}

/* Puts a mutated field (taken) into the copy. */
static int tvmffi_i_put_field(tvmffi_i_descent *d, TVMFFIAny value) {
  tvmffi_i_visit_frame *f = tvmffi_i_top_frame(d);
  const tvmffi_i_field_walk *w = &f->c.next.walk;
  const TVMFFIFieldInfo *field = &w->fields[w->i - 1];
  const TVMFFITypeInfo *type;
  int code = 0;
  if (value.type_index == kTVMFFIUnchanged) return 0;
  if (!tvmffi_i_same_any(&value, &f->c.child)) {
    if (!field->setter) {
      type = TVMFFIGetTypeInfo(f->c.from->type_index);
      code = tvmffi_i_fail(
          "TypeError",
          "Cannot structurally mutate field `%.*s` of type `%.*s` because it "
          "does not define a setter",
          TVMFFI_I_TEXT(field->name), TVMFFI_I_TEXT(type->type_key));
    } else {
      code = tvmffi_i_set_field(field, f->c.made, &value);
      f->changed = 1;
    }
  }
  tvmffi_any_release(&value);
  return code;
}

/* Takes the top frame off, concludes it and gives its result. An error or
   interrupt `r` (taken) is passed on. */
static TVMFFIAny tvmffi_i_pop_visited(tvmffi_i_descent *d, TVMFFIAny r) {
  tvmffi_i_visit_frame *f = tvmffi_i_top_frame(d);
  TVMFFIAny value = tvmffi_obj(f->c.from);
  d->v->region = f->outer;
  tvmffi_i_drop_child(&f->c);
  if (TVMFFI_I_UNLIKELY(r.type_index == kTVMFFIError) ||
      (f->entered && tvmffi_i_ends(d->e->kind)))
    r = tvmffi_i_conclude(d, &value, tvmffi_i_unchanged(), f->entered, r);
  tvmffi_i_leave_frame(d);
  return r;
}

static TVMFFIAny tvmffi_i_pop_mutated(tvmffi_i_descent *d, TVMFFIAny r) {
  tvmffi_i_visit_frame *f = tvmffi_i_top_frame(d);
  TVMFFIAny set, value = tvmffi_obj(f->c.from);
  d->v->region = f->outer;
  tvmffi_i_drop_child(&f->c);
  if (r.type_index != kTVMFFIError) {
    r = tvmffi_i_unchanged();
    if (f->c.made && (!f->c.is_object || f->changed)) {
      r = tvmffi_obj(f->c.made);
      f->c.made = NULL;
    }
    if (f->identity && (f->identity == kTVMFFISEqHashKindDAGNode ||
                        f->outer == kTVMFFIDefRegionKindPattern ||
                        r.type_index != kTVMFFIUnchanged)) {
      set = tvmffi_i_table_of(d->v)->set(d->v, value, r);
      if (set.type_index == kTVMFFIError) {
        tvmffi_any_release(&r);
        r = set;
      }
    }
  }
  tvmffi_release(f->c.made);
  r = tvmffi_i_conclude(d, &value, f->mapped, f->entered, r);
  tvmffi_i_leave_frame(d);
  return r;
}

TVMFFI_I_INLINE TVMFFIAny tvmffi_i_pop_frame(tvmffi_i_descent *d, TVMFFIAny r) {
  return d->mutates ? tvmffi_i_pop_mutated(d, r) : tvmffi_i_pop_visited(d, r);
}

/* Calls a hook that is none of ours, or gives 0 if a type has none. */
static int tvmffi_i_call_hook(tvmffi_i_descent *d, const TVMFFIAny *hook,
                              const TVMFFIAny *value, TVMFFIAny *r) {
  TVMFFIAny args[2];
  if (!hook) return 0;
  if (TVMFFI_I_LIKELY(hook->type_index == kTVMFFIOpaquePtr)) {
    *r = ((tvmffi_i_hook)(uintptr_t)hook->v_ptr)(d->v, *value);
    return 1;
  }
  if (hook->type_index != kTVMFFIFunction) {
    (void)tvmffi_i_fail("TypeError",
                        d->mutates
                            ? "__s_mutate__ must be a direct hook pointer or "
                              "ffi.Function"
                            : "__s_visit__ must be an opaque function pointer "
                              "or ffi.Function");
    *r = tvmffi_i_raised();
    return 1;
  }
  args[0] = tvmffi_obj(&d->v->base);
  args[1] = *value;
  *r = tvmffi_i_call_back(hook, args, 2);
  if (!d->mutates) *r = tvmffi_i_visit_result(*r);
  return 1;
}

/* Visits a value by default: 1 if the result is there, 0 if a frame was put
   onto the stack. `mapped` is taken. */
static int tvmffi_i_descend(tvmffi_i_descent *d, const TVMFFIAny *value,
                            TVMFFIAny mapped, int entered, int in_place,
                            TVMFFIAny *r) {
  int32_t index = value->type_index;
  const TVMFFIAny *hook = NULL;
  tvmffi_i_visit_frame *f;
  int container;
  if (!d->mutates) {
    hook = tvmffi_i_type_attr(&tvmffi_i_visit_column, index);
  } else {
    if (in_place) hook = tvmffi_i_type_attr(&tvmffi_i_in_place_column, index);
    if (!hook || (hook->type_index != kTVMFFIOpaquePtr &&
                  hook->type_index != kTVMFFIFunction)) {
      in_place = 0;
      hook = tvmffi_i_type_attr(&tvmffi_i_mutate_column, index);
    }
  }
  container = hook && tvmffi_i_is_container(index) &&
              hook->type_index == kTVMFFIOpaquePtr &&
              (hook->v_ptr == (void *)(uintptr_t)tvmffi_i_visit_container ||
               hook->v_ptr == (void *)(uintptr_t)tvmffi_i_mutate_container ||
               hook->v_ptr == (void *)(uintptr_t)tvmffi_i_mutate_in_place);
  if (!container) {
    if (tvmffi_i_call_hook(d, hook, value, r)) {
      if (d->e && hook->v_ptr == (void *)(uintptr_t)tvmffi_i_mutate_leaf)
        tvmffi_i_set_bit(d->e->leaves, index);
      goto done;
    }
    if (index < kTVMFFIStaticObjectBegin ||
        (!d->mutates && tvmffi_i_has_no_fields(index))) {
      *r = tvmffi_none();
      if (d->mutates && tvmffi_i_own(value, r)) *r = tvmffi_i_raised();
      if (d->e) tvmffi_i_set_bit(d->e->leaves, index);
      goto done;
    }
  }
  f = tvmffi_i_push_frame(d);
  if (!f) {
    *r = tvmffi_i_raised();
    goto done;
  }
  f->c = tvmffi_i_open_cursor(value, in_place);
  f->mapped = mapped;
  f->outer = f->inner = d->v->region;
  f->entered = (unsigned char)entered;
  f->identity = f->changed = 0;
  if (container || !tvmffi_i_open_fields(d, value, r)) return 0;
  tvmffi_i_leave_frame(d);
done:
  if (TVMFFI_I_UNLIKELY(r->type_index == kTVMFFIError) ||
      (entered && tvmffi_i_ends(d->e->kind)))
    *r = tvmffi_i_conclude(d, value, mapped, entered, *r);
  return 1;
}

/* Visits a value through the table, as tvmffi_i_descend does by default. With
   nothing within, before and after are the same. */
static int tvmffi_i_enter(tvmffi_i_descent *d, const TVMFFIAny *value,
                          int unique, TVMFFIAny *r) {
  TVMFFIAny mapped;
  const TVMFFIAny *row, *into = value;
  tvmffi_i_engine *e = d->e;
  int with_region = 0, after, leaf;
  if (!e) {
    const tvmffi_i_visit_table *table = tvmffi_i_table_of(d->v);
    *r =
        unique ? table->enter_unique(d->v, *value) : table->enter(d->v, *value);
    return 1;
  }
  *r = tvmffi_none();
  if (d->mutates) r->type_index = kTVMFFIUnchanged;
  if (!d->mutates && value->type_index == kTVMFFINone) return 1;
  after = e->kind == TVMFFI_I_WALK_AFTER || e->kind == TVMFFI_I_MAP_AFTER;
  leaf = tvmffi_i_has_bit(e->leaves, value->type_index);
  row = after && !leaf
            ? NULL
            : tvmffi_i_find_callback(e, value->type_index, &with_region);
  if (!row && leaf) return 1;
  mapped = tvmffi_i_unchanged();
  if (!row) return tvmffi_i_descend(d, value, mapped, 1, unique, r);
  *r = tvmffi_i_call_for(e, row, value, with_region, unique);
  if (TVMFFI_I_UNLIKELY(r->type_index == kTVMFFIError)) {
    tvmffi_i_add_context(r, value);
    return 1;
  }
  if (e->kind == TVMFFI_I_VISIT || e->kind == TVMFFI_I_MUTATE) return 1;
  if (!d->mutates) {
    if (r->type_index == kTVMFFIVisitInterrupt) return 1;
    leaf |= r->v_int64 == 1;
    *r = tvmffi_none();
    if (leaf) return 1;
  } else if (r->type_index != kTVMFFIUnchanged) {
    if (after || tvmffi_i_has_bit(e->leaves, r->type_index)) return 1;
    mapped = *r;
    if (!tvmffi_i_same_any(&mapped, value))
      unique = unique && tvmffi_i_is_unique(&mapped);
    into = &mapped;
  } else if (leaf) {
    return 1;
  }
  return tvmffi_i_descend(d, into, mapped, 1, unique, r);
}

/* Goes on with the top frame: as tvmffi_i_enter. */
TVMFFI_I_INLINE int tvmffi_i_advance(tvmffi_i_descent *d, TVMFFIAny *r) {
  tvmffi_i_visit_frame *f = tvmffi_i_top_frame(d);
  int unique = 0, got;
  if (f->c.is_object) {
    got = tvmffi_i_next_visited(d, f);
  } else {
    if (d->e) tvmffi_i_pass_plain(d->e, &f->c);
    got = tvmffi_i_next_item(&f->c, &unique);
  }
  if (got <= 0) {
    *r = tvmffi_i_pop_frame(d, got ? tvmffi_i_raised() : tvmffi_none());
    return 1;
  }
  return tvmffi_i_enter(d, &f->c.child, unique, r);
}

/* Takes a child's result into the top frame: 1 if that ends the frame, too. */
TVMFFI_I_INLINE int tvmffi_i_take_result(tvmffi_i_descent *d, TVMFFIAny *r) {
  tvmffi_i_visit_frame *f = tvmffi_i_top_frame(d);
  int is_object = f->c.is_object;
  int stops =
      d->mutates ? r->type_index == kTVMFFIError : r->type_index != kTVMFFINone;
  d->v->region = f->inner;
  if (!stops && d->mutates)
    stops =
        is_object ? tvmffi_i_put_field(d, *r) : tvmffi_i_put_child(&f->c, *r);
  if (TVMFFI_I_UNLIKELY(stops)) {
    if (r->type_index != kTVMFFIError && d->mutates) *r = tvmffi_i_raised();
    *r = tvmffi_i_pop_frame(d, *r);
    return 1;
  }
  f = tvmffi_i_top_frame(d);
  if (is_object)
    tvmffi_any_release(&f->c.child);
  else
    tvmffi_i_pass_child(&f->c);
  return 0;
}

/* Runs a visit to its end, through the table or by default. */
static TVMFFIAny tvmffi_i_run(tvmffi_i_visitor *v, int mutates, int entered,
                              int unique, const TVMFFIAny *value) {
  tvmffi_i_visit_frame one;
  tvmffi_i_descent d;
  TVMFFIAny r = tvmffi_none();
  size_t base;
  int done;
  d.v = v;
  d.e = tvmffi_i_engine_of(v);
  d.one = &one;
  d.mutates = mutates;
  d.is_open = 0;
  base = d.e ? d.e->frames.depth : 0;
  if (tvmffi_i_nest()) return tvmffi_i_raised();
  done = entered ? tvmffi_i_enter(&d, value, unique, &r)
                 : tvmffi_i_descend(&d, value, tvmffi_i_unchanged(), 0, 0, &r);
  while (d.e ? d.e->frames.depth > base : d.is_open) {
    if (done) done = tvmffi_i_take_result(&d, &r);
    if (!done) done = tvmffi_i_advance(&d, &r);
  }
  tvmffi_i_unnest();
  return r;
}

static TVMFFIAny tvmffi_i_enter_visitor(void *visitor, TVMFFIAny value) {
  tvmffi_i_visitor *v = (tvmffi_i_visitor *)visitor;
  return tvmffi_i_engine_of(v) ? tvmffi_i_run(v, 0, 1, 0, &value)
                               : tvmffi_i_bad_engine();
}

static TVMFFIAny tvmffi_i_enter_mutator(void *mutator, TVMFFIAny value) {
  tvmffi_i_visitor *v = (tvmffi_i_visitor *)mutator;
  return tvmffi_i_engine_of(v) ? tvmffi_i_run(v, 1, 1, 0, &value)
                               : tvmffi_i_bad_engine();
}

static TVMFFIAny tvmffi_i_enter_unique(void *mutator, TVMFFIAny value) {
  tvmffi_i_visitor *v = (tvmffi_i_visitor *)mutator;
  return tvmffi_i_engine_of(v) ? tvmffi_i_run(v, 1, 1, 1, &value)
                               : tvmffi_i_bad_engine();
}

/* -------- Where an error came from -------- */

/* What is searched, and how it is reached from the frame below. */
typedef struct tvmffi_i_find_frame {
  TVMFFIAny value;    /* owned */
  TVMFFIAny key;      /* owned: the item's, of a field opaque its description */
  TVMFFIObject *path; /* owned, made when it is needed */
  struct tvmffi_i_find_frame *above;
  tvmffi_i_field_walk walk;
  uint64_t at;
  int64_t found_before;
  int kind, is_container, matches;
} tvmffi_i_find_frame;

typedef struct {
  const TVMFFIObject **pattern; /* from the innermost outwards; borrowed */
  size_t length, matched;
  TVMFFIObject *found; /* list */
  tvmffi_i_stack frames;
  tvmffi_i_find_frame *root;
  int prefixes;
} tvmffi_i_finder;

/* Gives the path (borrowed) of the top frame. */
static TVMFFIObject *tvmffi_i_find_path(const tvmffi_i_finder *s) {
  tvmffi_i_find_frame *f = s->root;
  const tvmffi_i_find_frame *top =
      TVMFFI_I_TOP(tvmffi_i_find_frame, &s->frames);
  TVMFFIObject *path = NULL;
  for (;; f = f->above) {
    const TVMFFIFieldInfo *field = (const TVMFFIFieldInfo *)f->key.v_ptr;
    TVMFFIAny key;
    if (!f->path) {
      if (f == s->root) {
        f->path = tvmffi_i_new_path(NULL, NULL);
      } else if (f->kind == TVMFFI_I_STEP_ATTR) {
        if (TVMFFIStringFromByteArray(&field->name, &key)) return NULL;
        f->path = tvmffi_i_step_to(path, f->kind, key);
      } else {
        f->path = tvmffi_i_step_to(path, f->kind, tvmffi_i_copy_owned(&f->key));
      }
    }
    path = f->path;
    if (!path || f == top) return path;
  }
}

static int tvmffi_i_add_found(tvmffi_i_finder *s) {
  TVMFFIObject *path = tvmffi_i_find_path(s);
  TVMFFIAny item;
  if (!path) return -1;
  item = tvmffi_obj(path);
  return tvmffi_i_list_append(s->found, &item);
}

static void tvmffi_i_pop_found(tvmffi_i_finder *s) {
  tvmffi_i_find_frame f = *TVMFFI_I_TOP(tvmffi_i_find_frame, &s->frames);
  TVMFFI_I_POP(tvmffi_i_find_frame, &s->frames);
  if (f.matches) --s->matched;
  tvmffi_any_release(&f.value);
  tvmffi_any_release(&f.key);
  tvmffi_release(f.path);
}

/* Looks at a value (taken) that one step leads to; `key` is taken, too. The
   root is looked at as an object even if it is a container. */
static int tvmffi_i_push_found(tvmffi_i_finder *s, TVMFFIAny value, int kind,
                               TVMFFIAny key) {
  const TVMFFITypeInfo *type = NULL;
  tvmffi_i_find_frame *f = NULL, *below = NULL;
  int is_container = s->frames.depth && tvmffi_i_is_container(value.type_index);
  int code = 0;
  if (value.type_index >= kTVMFFIStaticObjectBegin && value.v_obj)
    type = TVMFFIGetTypeInfo(value.type_index);
  if (type && (is_container || TVMFFI_I_LOAD(&type->metadata))) {
    if (s->frames.depth) below = TVMFFI_I_TOP(tvmffi_i_find_frame, &s->frames);
    f = TVMFFI_I_PUSH(tvmffi_i_find_frame, &s->frames, "FindAccessPaths");
    if (!f) code = -1;
  }
  if (!f) {
    tvmffi_any_release(&value);
    tvmffi_any_release(&key);
    return code;
  }
  if (below)
    below->above = f;
  else
    s->root = f;
  f->value = value;
  f->key = key;
  f->path = NULL;
  f->walk = tvmffi_i_walk_fields(type);
  f->at = value.type_index == kTVMFFIMap || value.type_index == kTVMFFIDict
              ? tvmffi_i_map_begin(value.v_obj)
              : 0;
  f->kind = kind;
  f->is_container = is_container;
  f->found_before = TVMFFI_I_CELL(TVMFFISeqCell, s->found)->size;
  f->matches = !is_container && s->matched < s->length &&
               s->pattern[s->length - 1 - s->matched] == value.v_obj;
  if (!f->matches || ++s->matched < s->length) return 0;
  code = tvmffi_i_add_found(s);
  tvmffi_i_pop_found(s);
  return code;
}

/* Looks at what the next step from the top frame leads to, or ends it. */
static int tvmffi_i_find_next(tvmffi_i_finder *s) {
  tvmffi_i_find_frame *f = TVMFFI_I_TOP(tvmffi_i_find_frame, &s->frames);
  const TVMFFIFieldInfo *field;
  TVMFFIObject *o = f->value.v_obj;
  TVMFFIAny child = tvmffi_none();
  const tvmffi_i_pair *pair;
  int code = 0;
  if (!f->is_container) {
    field = tvmffi_i_next_field(&f->walk);
    if (field) {
      if (field->getter(tvmffi_i_at(o, field), &child)) return -1;
      return tvmffi_i_push_found(s, child, TVMFFI_I_STEP_ATTR,
                                 tvmffi_ptr((void *)(uintptr_t)field));
    }
    if (s->prefixes && s->matched && s->frames.depth > 1 &&
        f->found_before == TVMFFI_I_CELL(TVMFFISeqCell, s->found)->size)
      code = tvmffi_i_add_found(s);
  } else if (o->type_index == kTVMFFIMap || o->type_index == kTVMFFIDict) {
    pair = tvmffi_i_map_pair(o, f->at);
    if (pair) {
      f->at = tvmffi_i_map_after(o, f->at);
      if (pair->key.type_index == kTVMFFINone) return 0;
      child = tvmffi_i_copy_owned(&pair->key);
      return tvmffi_i_push_found(s, tvmffi_i_copy_owned(&pair->value),
                                 TVMFFI_I_STEP_MAP_ITEM, child);
    }
  } else if (f->at < (uint64_t)TVMFFI_I_CELL(TVMFFISeqCell, o)->size) {
    child = ((const TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, o)->data)[f->at++];
    return tvmffi_i_push_found(s, tvmffi_i_copy_owned(&child),
                               TVMFFI_I_STEP_ARRAY_ITEM,
                               tvmffi_int((int64_t)f->at - 1));
  }
  tvmffi_i_pop_found(s);
  return code;
}

/* Reads the pattern, without what is none and what stands there twice. */
static int tvmffi_i_read_pattern(tvmffi_i_finder *s, const TVMFFIObject *list) {
  const TVMFFISeqCell *cell;
  const TVMFFIObject *o;
  int64_t i;
  if (!list) return 0;
  cell = TVMFFI_I_CELL(TVMFFISeqCell, list);
  s->pattern = (const TVMFFIObject **)tvmffi_i_alloc(((size_t)cell->size + 1) *
                                                     sizeof(*s->pattern));
  if (!s->pattern) return tvmffi_i_no_memory();
  for (i = 0; i < cell->size; ++i) {
    const TVMFFIAny *item = (const TVMFFIAny *)cell->data + i;
    o = item->type_index >= kTVMFFIStaticObjectBegin ? item->v_obj : NULL;
    if (o && (!s->length || s->pattern[s->length - 1] != o))
      s->pattern[s->length++] = o;
  }
  return 0;
}

TVMFFI_I_OBJECT_TYPE(i_error_context, "ffi.VisitErrorContext",
                     "ffi.VisitErrorContext", TVMFFI_I_VISIT_ERROR_CONTEXT)
TVMFFI_I_OBJECT_TYPE(i_paths, "Array<ffi.reflection.AccessPath>",
                     "{\"type\":\"ffi.Array\",\"args\":[{\"type\":\"ffi."
                     "reflection.AccessPath\"}]}",
                     kTVMFFIArray)

TVMFFI_FUNC(i_find_access_paths, i_paths, (object, root),
            (i_error_context, context), (bool, prefixes)) {
  tvmffi_i_finder s = TVMFFI_I_ZERO;
  TVMFFIAny paths = tvmffi_none(), value = tvmffi_obj(root);
  int code;
  s.prefixes = prefixes;
  tvmffi_i_stack_open(&s.frames, NULL, 0);
  s.found = tvmffi_i_new_list(0);
  if (!s.found) return -1;
  code = tvmffi_i_read_pattern(
      &s, ((const tvmffi_i_error_context *)(void *)context)->pattern);
  if (!code)
    code =
        tvmffi_i_push_found(&s, tvmffi_i_copy_owned(&value), 0, tvmffi_none());
  while (!code && s.frames.depth) code = tvmffi_i_find_next(&s);
  while (s.frames.depth) tvmffi_i_pop_found(&s);
  if (!code)
    code = tvmffi_i_convert_seq(TVMFFI_I_CELL(TVMFFISeqCell, s.found),
                                kTVMFFIArray, &paths);
  tvmffi_release(s.found);
  tvmffi_i_stack_close(&s.frames);
  tvmffi_i_free((void *)s.pattern);
  if (code) return code;
  TVMFFI_RETURN(paths.v_obj);
}

/* -------- Functions -------- */

/* A value as it is given: an rvalue reference stays one. */
TVMFFI_I_TYPE(i_visit_value, TVMFFIAny, "AnyView", "Any")
TVMFFI_I_GET(i_visit_value) { return tvmffi_i_get_any(any, out); }
#define TVMFFI_I_CALLBACKS(T, more, more_schema)                           \
  TVMFFI_I_TYPE(                                                           \
      T, const TVMFFIAny *, "Array<Tuple<int, ffi.Function" more ">>",     \
      "{\"type\":\"ffi.Array\",\"args\":[{\"type\":\"Tuple\",\"args\":["   \
      "{\"type\":\"int\"},{\"type\":\"ffi.Function\"}" more_schema "]}]}") \
  TVMFFI_I_GET(T) {                                                        \
    *out = any;                                                            \
    return (any->type_index == kTVMFFIArray ||                             \
            any->type_index == kTVMFFIList) &&                             \
                   any->v_obj                                              \
               ? 0                                                         \
               : TVMFFI_I_MISMATCH;                                        \
  }
TVMFFI_I_CALLBACKS(i_callbacks, "", "")
TVMFFI_I_CALLBACKS(i_mutate_callbacks, ", bool", ",{\"type\":\"bool\"}")
TVMFFI_I_TYPE(i_region, int64_t, "int", "int")
TVMFFI_I_GET(i_region) { return tvmffi_i_get_int64(any, out); }
TVMFFI_I_OBJECT_TYPE(i_visitor, "ffi.StructuralVisitor",
                     "ffi.StructuralVisitor", TVMFFI_I_STRUCTURAL_VISITOR)
TVMFFI_I_OBJECT_TYPE(i_mutator, "ffi.StructuralMutator",
                     "ffi.StructuralMutator", TVMFFI_I_STRUCTURAL_MUTATOR)

/* The result of a visit (taken): none or an interrupt, or an error to raise. */
TVMFFI_I_TYPE(i_visited, TVMFFIAny, "Optional<ffi.VisitInterrupt>",
              "{\"type\":\"Optional\",\"args\":[{\"type\":\"ffi."
              "VisitInterrupt\"}]}")
TVMFFI_I_PUT(i_visited) { return tvmffi_i_give(value, out); }
/* The result of a mutation. */
TVMFFI_I_TYPE(i_mutated, TVMFFIAny, "Any", "Any")
TVMFFI_I_PUT(i_mutated) { return tvmffi_i_give(value, out); }

/* Raises for callbacks that are not what they should be, as upstream names
   what it finds; 0 if they are. */
static int tvmffi_i_check_callbacks(const tvmffi_func *f, int32_t i,
                                    const TVMFFIAny *arg, int64_t width) {
  const TVMFFISeqCell *rows = TVMFFI_I_CELL(TVMFFISeqCell, arg->v_obj), *cell;
  const TVMFFIAny *row = NULL, *item;
  tvmffi_i_parts p;
  int64_t k, n = 0;
  for (k = 0; k < rows->size; ++k) {
    row = (const TVMFFIAny *)rows->data + k;
    n = -1;
    if (row->type_index != kTVMFFIArray) break;
    cell = TVMFFI_I_CELL(TVMFFISeqCell, row->v_obj);
    item = (const TVMFFIAny *)cell->data;
    n = width;
    if (cell->size != width) break;
    for (n = 0; n < width; ++n)
      if (n == 1 ? item[n].type_index != kTVMFFIFunction &&
                       item[n].type_index != kTVMFFINone
                 : !TVMFFI_I_IS_INT(&item[n]))
        break;
    if (n < width) break;
  }
  if (k == rows->size) return 0;
  cell = n < 0 ? NULL : TVMFFI_I_CELL(TVMFFISeqCell, row->v_obj);
  p.size = p.numbers = 0;
  tvmffi_i_say(&p, "Mismatched type on argument #");
  tvmffi_i_say_number(&p, i);
  tvmffi_i_say(&p, " when calling: `");
  tvmffi_i_say_signature(&p, f);
  tvmffi_i_say(&p, "`. Expected `");
  tvmffi_i_say(&p, f->types[i + 1]->name);
  tvmffi_i_say(&p, "` but got `Array[index ");
  tvmffi_i_say_number(&p, (int32_t)k);
  if (n < 0) {
    tvmffi_i_say(&p, ": ");
    tvmffi_i_say(&p, tvmffi_i_type_key(row->type_index));
  } else if (n == width) {
    tvmffi_i_say(&p, ": Array[size=");
    tvmffi_i_say_number(&p, (int32_t)cell->size);
    tvmffi_i_say(&p, "]");
  } else {
    tvmffi_i_say(&p, ": Array[index ");
    tvmffi_i_say_number(&p, (int32_t)n);
    tvmffi_i_say(&p, ": ");
    tvmffi_i_say(
        &p, tvmffi_i_type_key(((const TVMFFIAny *)cell->data)[n].type_index));
    tvmffi_i_say(&p, "]");
  }
  tvmffi_i_say(&p, "]`");
  return tvmffi_i_raise_said("TypeError", &p);
}

/* Makes the engine of a function whose arguments are callbacks, and with the
   region or NULL; NULL with the error raised if they are none. */
static tvmffi_i_engine *tvmffi_i_engine_for(const tvmffi_func *f,
                                            tvmffi_i_visit_kind kind,
                                            const TVMFFIAny *callbacks,
                                            const TVMFFIAny *with_region) {
  int64_t width = kind == TVMFFI_I_MUTATE ? 3 : 2;
  if (with_region && tvmffi_i_check_callbacks(f, 2, with_region, width))
    return NULL;
  if (tvmffi_i_check_callbacks(f, 1, callbacks, width)) return NULL;
  return tvmffi_i_new_engine(kind, callbacks->v_obj,
                             with_region ? with_region->v_obj : NULL);
}

/* Runs an engine (taken; NULL with the error raised) over a root. What is
   mutated is owned here, so it is unique only if it was moved here. */
static TVMFFIAny tvmffi_i_run_engine(tvmffi_i_engine *e,
                                     const TVMFFIAny *view) {
  TVMFFIAny root = *view, r;
  int mutates = e && e->kind >= TVMFFI_I_MAP_BEFORE, code = e ? 0 : -1;
  if (mutates)
    code = tvmffi_i_own(view, &root);
  else if (e && view->type_index >= kTVMFFIStaticObjectBegin && !view->v_obj)
    code = tvmffi_i_fail("ValueError", "The root is a NULL object");
  r = code ? tvmffi_i_raised()
           : tvmffi_i_run(&e->visitor, mutates, 1,
                          mutates && tvmffi_i_is_unique(&root), &root);
  tvmffi_release(e);
  if (!mutates || code) return r;
  if (r.type_index == kTVMFFIUnchanged) return root;
  tvmffi_any_release(&root);
  return r;
}

TVMFFI_FUNC(i_structural_walk, i_visited, (i_visit_value, root),
            (i_callbacks, callbacks), (i_callbacks, with_region),
            (int32, order)) {
  TVMFFI_RETURN(tvmffi_i_run_engine(
      tvmffi_i_engine_for(&tvmffi_func_i_structural_walk,
                          order ? TVMFFI_I_WALK_AFTER : TVMFFI_I_WALK_BEFORE,
                          callbacks, with_region),
      &root));
}

TVMFFI_FUNC(i_structural_visit, i_visited, (i_visit_value, root),
            (i_callbacks, callbacks)) {
  TVMFFI_RETURN(
      tvmffi_i_run_engine(tvmffi_i_engine_for(&tvmffi_func_i_structural_visit,
                                              TVMFFI_I_VISIT, callbacks, NULL),
                          &root));
}

TVMFFI_FUNC(i_structural_map, i_mutated, (any, root), (i_callbacks, callbacks),
            (i_callbacks, with_region), (int32, order)) {
  TVMFFI_RETURN(tvmffi_i_run_engine(
      tvmffi_i_engine_for(&tvmffi_func_i_structural_map,
                          order ? TVMFFI_I_MAP_AFTER : TVMFFI_I_MAP_BEFORE,
                          callbacks, with_region),
      &root));
}

TVMFFI_FUNC(i_structural_mutate, i_mutated, (any, root),
            (i_mutate_callbacks, callbacks)) {
  TVMFFI_RETURN(
      tvmffi_i_run_engine(tvmffi_i_engine_for(&tvmffi_func_i_structural_mutate,
                                              TVMFFI_I_MUTATE, callbacks, NULL),
                          &root));
}

/* The visitor behind a handle, and the value, are what can be visited. */
static int tvmffi_i_check_visit(const TVMFFIObject *self,
                                const TVMFFIAny *value) {
  if (!((const tvmffi_i_visitor *)(const void *)self)->table)
    return tvmffi_i_fail("TypeError", "A %s without a table cannot visit",
                         tvmffi_i_type_key(self->type_index));
  if (value->type_index < kTVMFFIStaticObjectBegin || value->v_obj) return 0;
  return tvmffi_i_fail("ValueError", "The value is a NULL object");
}
#define TVMFFI_I_VISITOR(self) ((tvmffi_i_visitor *)(void *)(self))

/* What is left unchanged is the value itself. */
static TVMFFIAny tvmffi_i_or_value(TVMFFIAny r, const TVMFFIAny *value) {
  if (r.type_index == kTVMFFIUnchanged && tvmffi_i_own(value, &r))
    return tvmffi_i_raised();
  return r;
}

static int tvmffi_i_call_in_region(tvmffi_i_visitor *v, int64_t kind,
                                   TVMFFIObject *callback, TVMFFIAny *result) {
  int32_t before = v->region;
  int code;
  if (before != kTVMFFIDefRegionKindPattern) v->region = (int32_t)kind;
  code = TVMFFIFunctionCall(callback, NULL, 0, result);
  v->region = before;
  return code;
}

TVMFFI_FUNC(i_visitor_visit, i_visited, (i_visitor, self),
            (i_visit_value, value)) {
  TVMFFI_TRY(tvmffi_i_check_visit(self, &value));
  TVMFFI_RETURN(tvmffi_i_table_of(TVMFFI_I_VISITOR(self))->enter(self, value));
}

TVMFFI_FUNC(i_visitor_default, i_visited, (i_visitor, self),
            (i_visit_value, value)) {
  TVMFFI_TRY(tvmffi_i_check_visit(self, &value));
  TVMFFI_RETURN(tvmffi_i_run(TVMFFI_I_VISITOR(self), 0, 0, 0, &value));
}

TVMFFI_FUNC(i_visitor_region, int64, (i_visitor, self)) {
  TVMFFI_RETURN(TVMFFI_I_VISITOR(self)->region);
}

TVMFFI_FUNC(i_visitor_in_region, any, (i_visitor, self), (i_region, kind),
            (func, callback)) {
  (void)tvmffi_put;
  return tvmffi_i_call_in_region(TVMFFI_I_VISITOR(self), kind, callback,
                                 tvmffi_result);
}

TVMFFI_FUNC(i_mutator_mutate, i_mutated, (i_mutator, self),
            (i_visit_value, value)) {
  TVMFFI_TRY(tvmffi_i_check_visit(self, &value));
  TVMFFI_RETURN(tvmffi_i_or_value(
      tvmffi_i_table_of(TVMFFI_I_VISITOR(self))->enter(self, value), &value));
}

TVMFFI_FUNC(i_mutator_default, i_mutated, (i_mutator, self),
            (i_visit_value, value)) {
  TVMFFI_TRY(tvmffi_i_check_visit(self, &value));
  TVMFFI_RETURN(tvmffi_i_or_value(
      tvmffi_i_run(TVMFFI_I_VISITOR(self), 1, 0, 0, &value), &value));
}

TVMFFI_FUNC(i_mutator_region, int64, (i_mutator, self)) {
  TVMFFI_RETURN(TVMFFI_I_VISITOR(self)->region);
}

TVMFFI_FUNC(i_mutator_in_region, any, (i_mutator, self), (i_region, kind),
            (func, callback)) {
  (void)tvmffi_put;
  return tvmffi_i_call_in_region(TVMFFI_I_VISITOR(self), kind, callback,
                                 tvmffi_result);
}

TVMFFI_FUNC(i_mutator_get, i_mutated, (i_mutator, self), (i_visit_value, var)) {
  TVMFFI_TRY(tvmffi_i_check_visit(self, &var));
  TVMFFI_RETURN(tvmffi_i_table_of(TVMFFI_I_VISITOR(self))->get(self, var));
}

TVMFFI_FUNC(i_mutator_set, none, (i_mutator, self), (i_visit_value, var),
            (i_visit_value, value)) {
  TVMFFIAny r;
  (void)tvmffi_put;
  TVMFFI_TRY(tvmffi_i_check_visit(self, &var));
  r = tvmffi_i_table_of(TVMFFI_I_VISITOR(self))->set(self, var, value);
  return tvmffi_i_give(r, tvmffi_result);
}
#endif /* !TVMFFI_NO_EXTRA */

/* ======== JSON ===================================================== >>json */
/* JSON texts (RFC 8259) to values and back, with what upstream's json_parser.cc
   and json_writer.cc take and give beyond it: NaN, Infinity, and numbers such
   as "01" and "+.5". Numbers are exact and made of integers alone, so neither
   a locale nor a build without floating-point code changes them. Nesting is
   kept on a stack in memory, so it may be as deep as memory allows. No shared
   state: threads may read and write texts at once. */
#if !TVMFFI_NO_EXTRA

/* -------- Decimal numbers -------- */

/* The bits of doubles. */
#define TVMFFI_I_DOUBLE_SIGN ((uint64_t)1 << 63)
#define TVMFFI_I_DOUBLE_INFINITY ((uint64_t)0x7FF << 52)
#define TVMFFI_I_DOUBLE_NAN ((uint64_t)0xFFF << 51)

/* A natural number, the lowest limb first. It has to hold 800 digits, or the
   product of a mantissa and 5^1145. */
enum { TVMFFI_I_BIG_LIMBS = 96, TVMFFI_I_BIG_DIGITS = 800 };
typedef struct {
  int n; /* the limbs in use; the highest is not 0 */
  uint32_t limbs[TVMFFI_I_BIG_LIMBS];
} tvmffi_i_big;

static void tvmffi_i_big_set(tvmffi_i_big *b, uint64_t x) {
  b->limbs[0] = (uint32_t)x;
  b->limbs[1] = (uint32_t)(x >> 32);
  b->n = x >> 32 ? 2 : x != 0;
}

static void tvmffi_i_big_mul(tvmffi_i_big *b, uint32_t factor, uint32_t add) {
  uint64_t carry = add;
  int i;
  for (i = 0; i < b->n; ++i) {
    carry += (uint64_t)b->limbs[i] * factor;
    b->limbs[i] = (uint32_t)carry;
    carry >>= 32;
  }
  if (carry) b->limbs[b->n++] = (uint32_t)carry;
}

/* Divides; gives the remainder. */
static uint32_t tvmffi_i_big_div(tvmffi_i_big *b, uint32_t by) {
  uint64_t rest = 0;
  int i;
  for (i = b->n; i-- > 0;) {
    rest = rest << 32 | b->limbs[i];
    b->limbs[i] = (uint32_t)(rest / by);
    rest %= by;
  }
  while (b->n && !b->limbs[b->n - 1]) --b->n;
  return (uint32_t)rest;
}

static int tvmffi_i_big_bits(const tvmffi_i_big *b) {
  int bits = b->n * 32;
  uint32_t top = b->n ? b->limbs[b->n - 1] : 0;
  if (!b->n) return 0;
  for (; !(top >> 31); top <<= 1) --bits;
  return bits;
}

/* Shifts to the left, or by -by to the right: then it tells whether anything
   but zeros was lost. */
static int tvmffi_i_big_shift(tvmffi_i_big *b, int by) {
  int limbs = (by < 0 ? -by : by) / 32, bits = (by < 0 ? -by : by) % 32;
  int lost = 0, i;
  uint64_t pair;
  if (by >= 0 && b->n) {
    b->limbs[b->n] = 0;
    for (i = b->n; i >= 0; --i) {
      pair = (uint64_t)b->limbs[i] << 32 | (i ? b->limbs[i - 1] : 0);
      b->limbs[i + limbs] = (uint32_t)(pair << bits >> 32);
    }
    for (i = 0; i < limbs; ++i) b->limbs[i] = 0;
    b->n += limbs + (b->limbs[b->n + limbs] != 0);
  } else if (by < 0) {
    for (i = 0; i < limbs && i < b->n; ++i) lost |= b->limbs[i] != 0;
    if (limbs >= b->n) return (void)(b->n = 0), lost;
    lost |= ((uint64_t)b->limbs[limbs] << (32 - bits) & UINT32_MAX) != 0;
    b->n -= limbs;
    for (i = 0; i < b->n; ++i) {
      pair = b->limbs[i + limbs];
      if (i + 1 < b->n) pair |= (uint64_t)b->limbs[i + limbs + 1] << 32;
      b->limbs[i] = (uint32_t)(pair >> bits);
    }
    while (b->n && !b->limbs[b->n - 1]) --b->n;
  }
  return lost;
}

/* Multiplies by 5^power, or divides by 5^-power: then it tells whether there
   was a remainder. */
static int tvmffi_i_big_pow5(tvmffi_i_big *b, int power) {
  int lost = 0, left = power < 0 ? -power : power, i;
  uint32_t factor;
  while (left) {
    for (factor = 1, i = 0; i < 13 && left; ++i, --left) factor *= 5;
    if (power > 0)
      tvmffi_i_big_mul(b, factor, 0);
    else
      lost |= tvmffi_i_big_div(b, factor) != 0;
  }
  return lost;
}

/* The lowest 64 bits. */
static uint64_t tvmffi_i_big_low(const tvmffi_i_big *b) {
  return (b->n > 0 ? b->limbs[0] : 0) | (uint64_t)(b->n > 1 ? b->limbs[1] : 0)
                                            << 32;
}

/* Halves a number, half to even; `lost`: there was more behind its last bit. */
TVMFFI_I_INLINE uint64_t tvmffi_i_round_half(uint64_t twice, int lost) {
  uint64_t x = twice >> 1;
  return x + ((twice & 1) & ((uint64_t)(lost != 0) | (x & 1)));
}

/* Makes the bits of the double that is next to b * 2^power; `lost`: b is a
   little more than it says. 0 if it is too large, or so small that bits of it
   are lost (where upstream's strtod has ERANGE). */
static int tvmffi_i_big_to_double(tvmffi_i_big *b, int power, int lost,
                                  uint64_t *out) {
  int bits = tvmffi_i_big_bits(b), top = power + bits - 1, keep = 53;
  int tiny = top < -1022;
  uint64_t twice;
  if (top > 1023) return 0;
  if (tiny) keep -= -1022 - top;
  if (keep < 0) return 0;
  lost |= tvmffi_i_big_shift(b, keep + 2 - bits);
  twice = tvmffi_i_big_low(b);
  /* What has so many ones that it is the least normal number with 53 bits is
     not too small. */
  if (tiny && (lost || (twice & 3)) &&
      (top != -1023 || twice != ((uint64_t)1 << 54) - 1))
    return 0;
  lost |= (int)(twice & 1);
  twice >>= 1;
  *out = tvmffi_i_round_half(twice, lost);
  /* The bit that a normal number begins with adds one to its exponent. */
  if (!tiny) *out += (uint64_t)(top + 1022) << 52;
  return *out < (uint64_t)0x7FF << 52;
}

/* The bits of the double that is next to an integer. */
static uint64_t tvmffi_i_int_to_double(int64_t x) {
  tvmffi_i_big b;
  uint64_t bits = 0;
  tvmffi_i_big_set(&b, x < 0 ? 0 - (uint64_t)x : (uint64_t)x);
  if (x) (void)tvmffi_i_big_to_double(&b, 0, 0, &bits);
  return x < 0 ? bits | TVMFFI_I_DOUBLE_SIGN : bits;
}

/* 5^-44 to 5^44, as 128 bits that begin with a one; what is behind them is
   left out. */
enum { TVMFFI_I_MAX_POWER = 44 };
/* clang-format off */
static const uint64_t tvmffi_i_powers[2 * TVMFFI_I_MAX_POWER + 1][2] = {
    {0xE45C10C42A2B3B05u, 0x8CB89A7DB77C506Au},
    {0x8EB98A7A9A5B04E3u, 0x77F3608E92ADB242u},
    {0xB267ED1940F1C61Cu, 0x55F038B237591ED3u},
    {0xDF01E85F912E37A3u, 0x6B6C46DEC52F6688u},
    {0x8B61313BBABCE2C6u, 0x2323AC4B3B3DA015u},
    {0xAE397D8AA96C1B77u, 0xABEC975E0A0D081Au},
    {0xD9C7DCED53C72255u, 0x96E7BD358C904A21u},
    {0x881CEA14545C7575u, 0x7E50D64177DA2E54u},
    {0xAA242499697392D2u, 0xDDE50BD1D5D0B9E9u},
    {0xD4AD2DBFC3D07787u, 0x955E4EC64B44E864u},
    {0x84EC3C97DA624AB4u, 0xBD5AF13BEF0B113Eu},
    {0xA6274BBDD0FADD61u, 0xECB1AD8AEACDD58Eu},
    {0xCFB11EAD453994BAu, 0x67DE18EDA5814AF2u},
    {0x81CEB32C4B43FCF4u, 0x80EACF948770CED7u},
    {0xA2425FF75E14FC31u, 0xA1258379A94D028Du},
    {0xCAD2F7F5359A3B3Eu, 0x096EE45813A04330u},
    {0xFD87B5F28300CA0Du, 0x8BCA9D6E188853FCu},
    {0x9E74D1B791E07E48u, 0x775EA264CF55347Du},
    {0xC612062576589DDAu, 0x95364AFE032A819Du},
    {0xF79687AED3EEC551u, 0x3A83DDBD83F52204u},
    {0x9ABE14CD44753B52u, 0xC4926A9672793542u},
    {0xC16D9A0095928A27u, 0x75B7053C0F178293u},
    {0xF1C90080BAF72CB1u, 0x5324C68B12DD6338u},
    {0x971DA05074DA7BEEu, 0xD3F6FC16EBCA5E03u},
    {0xBCE5086492111AEAu, 0x88F4BB1CA6BCF584u},
    {0xEC1E4A7DB69561A5u, 0x2B31E9E3D06C32E5u},
    {0x9392EE8E921D5D07u, 0x3AFF322E62439FCFu},
    {0xB877AA3236A4B449u, 0x09BEFEB9FAD487C2u},
    {0xE69594BEC44DE15Bu, 0x4C2EBE687989A9B3u},
    {0x901D7CF73AB0ACD9u, 0x0F9D37014BF60A10u},
    {0xB424DC35095CD80Fu, 0x538484C19EF38C94u},
    {0xE12E13424BB40E13u, 0x2865A5F206B06FB9u},
    {0x8CBCCC096F5088CBu, 0xF93F87B7442E45D3u},
    {0xAFEBFF0BCB24AAFEu, 0xF78F69A51539D748u},
    {0xDBE6FECEBDEDD5BEu, 0xB573440E5A884D1Bu},
    {0x89705F4136B4A597u, 0x31680A88F8953030u},
    {0xABCC77118461CEFCu, 0xFDC20D2B36BA7C3Du},
    {0xD6BF94D5E57A42BCu, 0x3D32907604691B4Cu},
    {0x8637BD05AF6C69B5u, 0xA63F9A49C2C1B10Fu},
    {0xA7C5AC471B478423u, 0x0FCF80DC33721D53u},
    {0xD1B71758E219652Bu, 0xD3C36113404EA4A8u},
    {0x83126E978D4FDF3Bu, 0x645A1CAC083126E9u},
    {0xA3D70A3D70A3D70Au, 0x3D70A3D70A3D70A3u},
    {0xCCCCCCCCCCCCCCCCu, 0xCCCCCCCCCCCCCCCCu},
    {0x8000000000000000u, 0x0000000000000000u},
    {0xA000000000000000u, 0x0000000000000000u},
    {0xC800000000000000u, 0x0000000000000000u},
    {0xFA00000000000000u, 0x0000000000000000u},
    {0x9C40000000000000u, 0x0000000000000000u},
    {0xC350000000000000u, 0x0000000000000000u},
    {0xF424000000000000u, 0x0000000000000000u},
    {0x9896800000000000u, 0x0000000000000000u},
    {0xBEBC200000000000u, 0x0000000000000000u},
    {0xEE6B280000000000u, 0x0000000000000000u},
    {0x9502F90000000000u, 0x0000000000000000u},
    {0xBA43B74000000000u, 0x0000000000000000u},
    {0xE8D4A51000000000u, 0x0000000000000000u},
    {0x9184E72A00000000u, 0x0000000000000000u},
    {0xB5E620F480000000u, 0x0000000000000000u},
    {0xE35FA931A0000000u, 0x0000000000000000u},
    {0x8E1BC9BF04000000u, 0x0000000000000000u},
    {0xB1A2BC2EC5000000u, 0x0000000000000000u},
    {0xDE0B6B3A76400000u, 0x0000000000000000u},
    {0x8AC7230489E80000u, 0x0000000000000000u},
    {0xAD78EBC5AC620000u, 0x0000000000000000u},
    {0xD8D726B7177A8000u, 0x0000000000000000u},
    {0x878678326EAC9000u, 0x0000000000000000u},
    {0xA968163F0A57B400u, 0x0000000000000000u},
    {0xD3C21BCECCEDA100u, 0x0000000000000000u},
    {0x84595161401484A0u, 0x0000000000000000u},
    {0xA56FA5B99019A5C8u, 0x0000000000000000u},
    {0xCECB8F27F4200F3Au, 0x0000000000000000u},
    {0x813F3978F8940984u, 0x4000000000000000u},
    {0xA18F07D736B90BE5u, 0x5000000000000000u},
    {0xC9F2C9CD04674EDEu, 0xA400000000000000u},
    {0xFC6F7C4045812296u, 0x4D00000000000000u},
    {0x9DC5ADA82B70B59Du, 0xF020000000000000u},
    {0xC5371912364CE305u, 0x6C28000000000000u},
    {0xF684DF56C3E01BC6u, 0xC732000000000000u},
    {0x9A130B963A6C115Cu, 0x3C7F400000000000u},
    {0xC097CE7BC90715B3u, 0x4B9F100000000000u},
    {0xF0BDC21ABB48DB20u, 0x1E86D40000000000u},
    {0x96769950B50D88F4u, 0x1314448000000000u},
    {0xBC143FA4E250EB31u, 0x17D955A000000000u},
    {0xEB194F8E1AE525FDu, 0x5DCFAB0800000000u},
    {0x92EFD1B8D0CF37BEu, 0x5AA1CAE500000000u},
    {0xB7ABC627050305ADu, 0xF14A3D9E40000000u},
    {0xE596B7B0C643C719u, 0x6D9CCD05D0000000u},
    {0x8F7E32CE7BEA5C6Fu, 0xE4820023A2000000u},
};
/* clang-format on */

/* The power of two of the first bit of 5^power. */
TVMFFI_I_INLINE int tvmffi_i_power_bits(int power) {
  return (int)(((uint32_t)(power * 152170) + (4096u << 16)) >> 16) - 4096;
}

/* Gives the low half of a product of 64 bits, and the high one in *high. */
TVMFFI_I_INLINE uint64_t tvmffi_i_mul_64(uint64_t a, uint64_t b,
                                         uint64_t *high) {
#if TVMFFI_I_GNU && defined(__SIZEOF_INT128__)
  __extension__ typedef unsigned __int128 wide;
  wide product = (wide)a * b;
  *high = (uint64_t)(product >> 64);
  return (uint64_t)product;
#else
  uint64_t low = (a & UINT32_MAX) * (b & UINT32_MAX);
  uint64_t one = (a >> 32) * (b & UINT32_MAX) + (low >> 32);
  uint64_t two = (a & UINT32_MAX) * (b >> 32) + (one & UINT32_MAX);
  *high = (a >> 32) * (b >> 32) + (one >> 32) + (two >> 32);
  return two << 32 | (low & UINT32_MAX);
#endif
}

/* The zeros above the highest one of a number that is not 0. */
TVMFFI_I_INLINE int tvmffi_i_high_zeros(uint64_t x) {
#if TVMFFI_I_GNU
  return __builtin_clzll(x);
#else
  int n = 0;
  for (; !(x >> 63); x <<= 1) ++n;
  return n;
#endif
}

/* Gives the highest 128 bits of x * 5^power of 192, the high half in *high; x
   has its highest bit. They are less than two too small: one for the bits that
   the power left out, one for those of the product. */
TVMFFI_I_INLINE uint64_t tvmffi_i_mul_power(uint64_t x, int power,
                                            uint64_t *high) {
  const uint64_t *five = tvmffi_i_powers[power + TVMFFI_I_MAX_POWER];
  uint64_t carry, low = tvmffi_i_mul_64(x, five[0], high);
  (void)tvmffi_i_mul_64(x, five[1], &carry);
  low += carry;
  *high += low < carry;
  return low;
}

/* Makes the bits of the double that is next to x * 10^power, or gives 0 if the
   bits of tvmffi_i_mul_power do not tell which that is. (The idea is that of
   D. Lemire, Number Parsing at a Gigabyte per Second, 2021.) */
static int tvmffi_i_short_to_double(uint64_t x, int power, uint64_t *out) {
  uint64_t high, low, rest, all;
  int zeros, small;
  *out = 0;
  if (!x) return 1;
  if (power < -TVMFFI_I_MAX_POWER || power > TVMFFI_I_MAX_POWER) return 0;
  zeros = tvmffi_i_high_zeros(x);
  low = tvmffi_i_mul_power(x << zeros, power, &high);
  small = !(high >> 63);
  all = ((uint64_t)1 << (10 - small)) - 1; /* the bits behind 54 */
  rest = high & all;
  high >>= 10 - small;
  if (high & 1 ? !rest && !low : rest == all && low >= UINT64_MAX - 1) return 0;
  *out =
      ((high + 1) >> 1) + ((uint64_t)(64 - small - zeros +
                                      tvmffi_i_power_bits(power) + power + 1022)
                           << 52);
  return 1;
}

/* A decimal number: its first digits, the power of ten behind them, and
   whether digits that are not 0 were left out. */
typedef struct {
  tvmffi_i_big digits;
  int64_t power;
  int64_t num_digits; /* from the first that is not 0, up to the limit */
  int lost;
  uint32_t chunk, scale; /* digits that are still to be put into `digits` */
} tvmffi_i_decimals;

static void tvmffi_i_add_digit(tvmffi_i_decimals *d, char c) {
  if (d->num_digits == TVMFFI_I_BIG_DIGITS) {
    d->lost |= c != '0';
    ++d->power;
    return;
  }
  if (!d->num_digits && c == '0') return;
  ++d->num_digits;
  d->chunk = d->chunk * 10 + (uint32_t)(c - '0');
  d->scale *= 10;
  if (d->scale < 1000000000) return;
  tvmffi_i_big_mul(&d->digits, d->scale, d->chunk);
  d->chunk = 0;
  d->scale = 1;
}

static int tvmffi_i_decimals_to_double(tvmffi_i_decimals *d, uint64_t *out) {
  int64_t magnitude = d->num_digits + d->power; /* less than 10 to this */
  int power, shift = 0;
  *out = 0;
  if (!d->num_digits) return 1;
  if (magnitude > 310 || magnitude < -330) return 0;
  if (d->scale > 1) tvmffi_i_big_mul(&d->digits, d->scale, d->chunk);
  power = (int)d->power;
  if (power < 0) {
    /* Enough bits for a quotient of 64: 5^k has less than 7k/3 + 1. */
    shift = 66 - power * 7 / 3 - tvmffi_i_big_bits(&d->digits);
    if (shift < 0) shift = 0;
    (void)tvmffi_i_big_shift(&d->digits, shift);
  }
  d->lost |= tvmffi_i_big_pow5(&d->digits, power);
  return tvmffi_i_big_to_double(&d->digits, power - shift, d->lost, out);
}

/* The floor of the logarithm of 2^bits, at most one smaller than that of a
   number that begins there: that of two is a little more than 78913 / 2^18 and
   a little less than 315653 / 2^20. */
TVMFFI_I_INLINE int tvmffi_i_log10(int bits) {
  return bits < 0 ? -((-bits * 315653 + 1048575) / 1048576)
                  : bits * 78913 / 262144;
}

#define TVMFFI_I_TEN_16 ((uint64_t)10000000000000000u)

/* Gives the first 17 digits of mantissa * 2^power as a number, rounded, and the
   power of ten of the first one. */
TVMFFI_I_NOINLINE uint64_t tvmffi_i_17_digits_slowly(uint64_t mantissa,
                                                     int power, int *exponent) {
  uint64_t twice;
  int lost = 0, shift, x;
  tvmffi_i_big b;
  tvmffi_i_big_set(&b, mantissa);
  x = tvmffi_i_log10(power + tvmffi_i_big_bits(&b) - 1);
  /* Twice the number, times ten to 16 - x. */
  shift = power + 16 - x + 1;
  if (x > 16) {
    (void)tvmffi_i_big_shift(&b, shift);
    lost = tvmffi_i_big_pow5(&b, 16 - x);
  } else {
    (void)tvmffi_i_big_pow5(&b, 16 - x);
    lost = tvmffi_i_big_shift(&b, shift);
  }
  twice = tvmffi_i_big_low(&b);
  if (twice >= 20 * TVMFFI_I_TEN_16) {
    lost |= twice % 10 != 0;
    twice /= 10;
    ++x;
  }
  twice = tvmffi_i_round_half(twice, lost);
  if (twice == 10 * TVMFFI_I_TEN_16) {
    twice = TVMFFI_I_TEN_16;
    ++x;
  }
  *exponent = x;
  return twice;
}

/* The same of a positive double. The product by a power of ten has 54 to 57
   bits before its point and 70 behind it; only if these are next to a half,
   where it is rounded, more have to be known. */
static uint64_t tvmffi_i_17_digits(uint64_t bits, int *exponent) {
  const uint64_t top = (uint64_t)1 << 52;
  uint64_t mantissa = bits & (top - 1), high, low, rest, half;
  int power = (int)(bits >> 52), zeros, shift, x;
  if (power)
    mantissa |= top;
  else
    power = 1;
  power -= 1075;
  zeros = tvmffi_i_high_zeros(mantissa);
  x = tvmffi_i_log10(power + 63 - zeros);
  if (x < 16 - TVMFFI_I_MAX_POWER || x >= 16 + TVMFFI_I_MAX_POWER)
    return tvmffi_i_17_digits_slowly(mantissa, power, exponent);
  for (;; ++x) {
    low = tvmffi_i_mul_power(mantissa << zeros, 16 - x, &high);
    /* Bits behind the point that are in `high`. */
    shift = zeros - 1 - power - (16 - x) - tvmffi_i_power_bits(16 - x);
    rest = high & (((uint64_t)1 << shift) - 1);
    high >>= shift;
    if (high < 10 * TVMFFI_I_TEN_16) break;
  }
  half = (uint64_t)1 << (shift - 1);
  if ((rest == half && !low) || (rest == half - 1 && low >= UINT64_MAX - 1))
    return tvmffi_i_17_digits_slowly(mantissa, power, exponent);
  if (rest >= half && ++high == 10 * TVMFFI_I_TEN_16) {
    high = TVMFFI_I_TEN_16;
    ++x;
  }
  *exponent = x;
  return high;
}

/* Writes a number less than 10^8 as eight digits, the highest first. */
TVMFFI_I_INLINE void tvmffi_i_put_8_digits(char *to, uint32_t x) {
  static const char pairs[] =
      "000102030405060708091011121314151617181920212223242526272829303132333435"
      "36"
      "373839404142434445464748495051525354555657585960616263646566676869707172"
      "73"
      "7475767778798081828384858687888990919293949596979899";
  uint32_t high = x / 10000, low = x % 10000;
  memcpy(to, pairs + high / 100 * 2, 2);
  memcpy(to + 2, pairs + high % 100 * 2, 2);
  memcpy(to + 4, pairs + low / 100 * 2, 2);
  memcpy(to + 6, pairs + low % 100 * 2, 2);
}

/* Writes an integer; gives its length. `to` has room for 24 bytes. */
static size_t tvmffi_i_print_int(char *to, int64_t value) {
  char digits[24];
  uint64_t x = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  size_t first = 16, sign = value < 0;
  *to = '-';
  if (x < 10) {
    to[sign] = (char)('0' + x);
    return sign + 1;
  }
  if (x >= 100000000) {
    uint64_t high = x / 100000000;
    x %= 100000000;
    first = 8;
    if (high >= 100000000) {
      tvmffi_i_put_8_digits(digits, (uint32_t)(high / 100000000));
      high %= 100000000;
      first = 0;
    }
    tvmffi_i_put_8_digits(digits + 8, (uint32_t)high);
  }
  tvmffi_i_put_8_digits(digits + 16, (uint32_t)x);
  while (digits[first] == '0') ++first;
  memcpy(to + sign, digits + first, 24 - first);
  return sign + 24 - first;
}

/* As printf does it with "%.17g", at most 24 bytes. `to` has room for 40. */
static size_t tvmffi_i_print_double(char *to, uint64_t bits) {
  char digits[17];
  int x, n = 17;
  size_t at = 0;
  uint64_t all = tvmffi_i_17_digits(bits, &x), rest = all % TVMFFI_I_TEN_16;
  digits[0] = (char)('0' + all / TVMFFI_I_TEN_16);
  tvmffi_i_put_8_digits(digits + 1, (uint32_t)(rest / 100000000));
  tvmffi_i_put_8_digits(digits + 9, (uint32_t)(rest % 100000000));
  while (n > 1 && digits[n - 1] == '0') --n;
  if (x >= -4 && x < 0) {
    memcpy(to, "0.000", 5);
    at = (size_t)(1 - x);
    memcpy(to + at, digits, 17);
    return at + (size_t)n;
  }
  if (x >= 0 && x <= 16) {
    at = (size_t)x + 1; /* digits before the point */
    memcpy(to, digits, 17);
    if (n <= x + 1) return at;
    to[at] = '.';
    memcpy(to + at + 1, digits + at, 17 - at);
    return (size_t)n + 1;
  }
  to[at++] = digits[0];
  if (n > 1) {
    to[at++] = '.';
    memcpy(to + at, digits + 1, 16);
    at += (size_t)n - 1;
  }
  to[at++] = 'e';
  to[at++] = x < 0 ? '-' : '+';
  if (x < 0) x = -x;
  if (x >= 100) to[at++] = (char)('0' + x / 100);
  to[at++] = (char)('0' + x / 10 % 10);
  to[at++] = (char)('0' + x % 10);
  return at;
}

/* -------- Reading -------- */

/* An array or an object that has begun, and its first value on the stack. */
typedef struct {
  size_t base;
  int is_object;
} tvmffi_i_json_open;

/* Objects of one text tend to have the same keys, in the same order. */
enum { TVMFFI_I_JSON_KEYS = 32, TVMFFI_I_JSON_SHAPES = 8 };

typedef struct {
  const char *begin, *end;
  const char *at;    /* of slow paths; others have it in a register */
  TVMFFIAny *values; /* a stack of owned values, keys before their values */
  tvmffi_i_json_open *opens;
  size_t num_values, room_values, num_opens, room_opens;
  tvmffi_i_text_buffer text; /* of a string with escapes */
  /* Long keys and objects with tables, one of each hash; owned. */
  tvmffi_i_string *keys[TVMFFI_I_JSON_KEYS];
  tvmffi_i_map_object *shapes[TVMFFI_I_JSON_SHAPES];
} tvmffi_i_json_reader;

/* Makes room for one more element of a stack. */
TVMFFI_I_SLOW int tvmffi_i_grow_stack(void **stack, size_t used, size_t *room,
                                      size_t size) {
  size_t more = *room ? *room * 2 : 32;
  void *grown;
  if (more > PTRDIFF_MAX / size) return tvmffi_i_no_memory();
  grown = tvmffi_i_alloc(more * size);
  if (!grown) return tvmffi_i_no_memory();
  if (used) memcpy(grown, *stack, used * size);
  tvmffi_i_free(*stack);
  *stack = grown;
  *room = more;
  return 0;
}

/* The stack is read as a pointer to void, so it may be of any type. */
#define TVMFFI_I_PUSH_ROOM(type, stack, used, room)                           \
  do {                                                                        \
    if (TVMFFI_I_UNLIKELY((used) == (room))) {                                \
      void *tvmffi_i_moved = (stack);                                         \
      TVMFFI_TRY(                                                             \
          tvmffi_i_grow_stack(&tvmffi_i_moved, used, &(room), sizeof(type))); \
      (stack) = (type *)tvmffi_i_moved;                                       \
    }                                                                         \
  } while (0)

/* All line ends that were passed stood between the tokens. */
TVMFFI_I_SLOW int tvmffi_i_json_error(const tvmffi_i_json_reader *r,
                                      const char *at, const char *what) {
  const char *line = r->begin, *p;
  long long lines = 1;
  for (p = r->begin; p < at; ++p) {
    if (*p != '\n') continue;
    ++lines;
    line = p + 1;
  }
  return tvmffi_i_fail("ValueError", "%s: line %lld column %lld (char %lld)",
                       what, lines, (long long)(at - line) + 1,
                       (long long)(at - r->begin));
}

TVMFFI_I_SLOW int tvmffi_i_json_no_value(const tvmffi_i_json_reader *r,
                                         const char *at) {
  return tvmffi_i_json_error(r, at, "Expecting value");
}

TVMFFI_I_INLINE const char *tvmffi_i_json_skip(const char *p, const char *end) {
  const uint64_t spaces = UINT64_MAX / 255 * ' ';
  uint64_t word;
  if (p != end && (unsigned char)*p > ' ') return p;
  for (; p != end; ++p) {
    if (*p == '\n') {
      for (++p; end - p >= 8; p += 8) {
        memcpy(&word, p, 8);
        if (word != spaces) break;
      }
      --p;
    } else if (*p != ' ' && *p != '\t' && *p != '\r') {
      break;
    }
  }
  return p;
}

TVMFFI_I_INLINE int tvmffi_i_json_peek(const tvmffi_i_json_reader *r) {
  return r->at != r->end ? (unsigned char)*r->at : -1;
}

static int tvmffi_i_json_match(tvmffi_i_json_reader *r, const char *word) {
  size_t n = strlen(word);
  if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0) return 0;
  r->at += n;
  return 1;
}

/* Whether any of eight bytes is less than 32, or is `a` or `b`: its highest bit
   is set then, and those of less significant ones are not. */
TVMFFI_I_INLINE uint64_t tvmffi_i_json_any(uint64_t word, unsigned a,
                                           unsigned b) {
  const uint64_t ones = UINT64_MAX / 255, high = ones * 128;
  uint64_t x = word ^ (ones * a), y = word ^ (ones * b);
  return (((word - ones * 32) & ~word) | ((x - ones) & ~x) |
          ((y - ones) & ~y)) &
         high;
}

/* Values on the stack are written and read as two words, never as one of 16
   bytes: see tvmffi_i_bits. */
TVMFFI_I_INLINE void tvmffi_i_json_set(TVMFFIAny *out, int32_t index,
                                       uint32_t padding, uint64_t word) {
  tvmffi_i_store_bits(out, tvmffi_i_make_bits(index, padding, word));
}

TVMFFI_I_INLINE void tvmffi_i_json_move(TVMFFIAny *to, const TVMFFIAny *from) {
  tvmffi_i_bits bits;
  memcpy(&bits.head, (const void *)from, 8);
  bits.word = from->v_uint64;
#if TVMFFI_I_GNU
  __asm__("" : "+r"(bits.head));
#endif
  tvmffi_i_store_bits(to, bits);
}

/* Where eight bytes can be taken apart as a word: how many of them stand before
   the one whose highest bit is the first that is set. */
#if TVMFFI_I_GNU && defined(__BYTE_ORDER__) && \
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define TVMFFI_I_BYTES_BEFORE(found) ((size_t)__builtin_ctzll(found) / 8)
#endif

/* Four hexadecimal digits, or -1. */
static int32_t tvmffi_i_json_hex(tvmffi_i_json_reader *r) {
  int32_t x = 0;
  int i, c;
  for (i = 0; i < 4; ++i, ++r->at) {
    c = tvmffi_i_json_peek(r);
    if (c >= '0' && c <= '9')
      c -= '0';
    else if ((c | 32) >= 'a' && (c | 32) <= 'f')
      c = (c | 32) - 'a' + 10;
    else
      return -1;
    x = x * 16 + c;
  }
  return x;
}

static void tvmffi_i_put_code_point(tvmffi_i_text_buffer *b, uint32_t c) {
  char utf8[4];
  size_t n = 1;
  if (c < 0x80) {
    utf8[0] = (char)c;
  } else if (c < 0x800) {
    utf8[0] = (char)(0xC0 | c >> 6);
    n = 2;
  } else if (c < 0x10000) {
    utf8[0] = (char)(0xE0 | c >> 12);
    n = 3;
  } else {
    utf8[0] = (char)(0xF0 | c >> 18);
    n = 4;
  }
  if (n > 1) utf8[n - 1] = (char)(0x80 | (c & 0x3F));
  if (n > 2) utf8[n - 2] = (char)(0x80 | (c >> 6 & 0x3F));
  if (n > 3) utf8[1] = (char)(0x80 | (c >> 12 & 0x3F));
  tvmffi_i_text_put(b, utf8, n);
}

/* Reads what follows "\u", and its second half. */
static int tvmffi_i_json_unicode(tvmffi_i_json_reader *r) {
  const char *start = r->at - 1;
  int32_t first = tvmffi_i_json_hex(r), second;
  if (first < 0) return tvmffi_i_json_error(r, start, "Invalid \\uXXXX escape");
  if (first >= 0xD800 && first <= 0xDFFF) {
    if (first >= 0xDC00 || !tvmffi_i_json_match(r, "\\u"))
      return tvmffi_i_json_error(r, start,
                                 "Invalid surrogate pair of \\uXXXX escapes");
    start = r->at;
    second = tvmffi_i_json_hex(r);
    if (second < 0)
      return tvmffi_i_json_error(r, start, "Invalid \\uXXXX escape");
    if (second < 0xDC00 || second > 0xDFFF)
      return tvmffi_i_json_error(r, start,
                                 "Invalid surrogate pair of \\uXXXX escapes");
    first = ((first - 0xD800) << 10) + (second - 0xDC00) + 0x10000;
  }
  tvmffi_i_put_code_point(&r->text, (uint32_t)first);
  return 0;
}

/* The rest of a string from its first escape or bad byte on. As upstream makes
   it of a std::string, it is an object even if it is short: Python sees that.
 */
static int tvmffi_i_json_escaped(tvmffi_i_json_reader *r, const char *start,
                                 TVMFFIAny *out) {
  static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
  const char *from = start + 1;
  int c, i;
  r->text.size = 0;
  for (;;) {
    c = tvmffi_i_json_peek(r);
    if (c == -1)
      return tvmffi_i_json_error(r, start, "Unterminated string starting at");
    if (c < ' ')
      return tvmffi_i_json_error(r, r->at, "Invalid control character at");
    if (c != '"' && c != '\\') {
      ++r->at;
      continue;
    }
    tvmffi_i_text_put(&r->text, from, (size_t)(r->at - from));
    ++r->at;
    if (c == '"') break;
    c = tvmffi_i_json_peek(r);
    for (i = 0; names[i] && names[i] != c; ++i) {
    }
    if (names[i]) {
      tvmffi_i_text_char(&r->text, bytes[i]);
      ++r->at;
    } else if (c == 'u') {
      ++r->at;
      TVMFFI_TRY(tvmffi_i_json_unicode(r));
    } else {
      return tvmffi_i_json_error(r, r->at, "Invalid \\escape");
    }
    from = r->at;
  }
  if (r->text.failed) return tvmffi_i_no_memory();
  return tvmffi_i_make_large(r->text.data, r->text.size, kTVMFFIStr, out);
}

/* A key of eight bytes or more: the object of one before, if it is there. Keys
   are often the same, and nobody can tell whether a string is shared. */
static int tvmffi_i_json_shared_key(tvmffi_i_json_reader *r, const char *data,
                                    size_t size, TVMFFIAny *out) {
  tvmffi_i_string **known;
  uint64_t first, last;
  TVMFFIByteArray text;
  text.data = data;
  text.size = size;
  memcpy(&first, data, 8);
  memcpy(&last, data + size - 8, 8);
  first = (first ^ last ^ size) * 0x9E3779B97F4A7C15u;
  known = &r->keys[first >> 32 & (TVMFFI_I_JSON_KEYS - 1)];
  if (!*known || !tvmffi_i_map_same_text((*known)->bytes, text)) {
    TVMFFI_TRY(tvmffi_i_make_large(data, size, kTVMFFIStr, out));
    tvmffi_release(*known);
    *known = (tvmffi_i_string *)out->v_ptr;
  }
  tvmffi_retain(*known);
  *out = tvmffi_obj(*known);
  return 0;
}

TVMFFI_I_NOINLINE const char *tvmffi_i_json_long_string(tvmffi_i_json_reader *r,
                                                        const char *start,
                                                        int is_key,
                                                        TVMFFIAny *out) {
  const char *p = start, *end = r->end;
  uint64_t word;
  size_t size;
  for (; end - p >= 8; p += 8) {
    memcpy(&word, p, 8);
    word = tvmffi_i_json_any(word, '"', '\\');
    if (!word) continue;
#if defined(TVMFFI_I_BYTES_BEFORE)
    p += TVMFFI_I_BYTES_BEFORE(word);
#endif
    break;
  }
  while (p != end && *p != '"' && *p != '\\' && (unsigned char)*p >= ' ') ++p;
  if (p == end || *p != '"') {
    r->at = p;
    return tvmffi_i_json_escaped(r, start - 1, out) ? NULL : r->at;
  }
  size = (size_t)(p - start);
  if (is_key && size >= sizeof(out->v_bytes)
          ? tvmffi_i_json_shared_key(r, start, size, out)
          : tvmffi_i_make_string(start, size, kTVMFFISmallStr, kTVMFFIStr, out))
    return NULL;
  return p + 1;
}

/* Reads a string, whose quote is at p; gives what follows it. */
TVMFFI_I_INLINE const char *tvmffi_i_json_string(tvmffi_i_json_reader *r,
                                                 const char *p, int is_key,
                                                 TVMFFIAny *out) {
#if defined(TVMFFI_I_BYTES_BEFORE)
  uint64_t word, found;
  size_t size;
  if (r->end - p > 8) {
    memcpy(&word, p + 1, 8);
    found = tvmffi_i_json_any(word, '"', '\\');
    size = found ? TVMFFI_I_BYTES_BEFORE(found) : 0;
    if (found && p[size + 1] == '"') {
      tvmffi_i_json_set(out, kTVMFFISmallStr, (uint32_t)size,
                        word & (((uint64_t)1 << 8 * size) - 1));
      return p + size + 2;
    }
  }
#endif
  return tvmffi_i_json_long_string(r, p + 1, is_key, out);
}

static TVMFFIAny tvmffi_i_double_of(uint64_t bits) {
  TVMFFIAny any = tvmffi_none();
  any.type_index = kTVMFFIFloat;
  any.v_uint64 = bits;
  return any;
}

TVMFFI_I_INLINE int tvmffi_i_is_digit(const char *p, const char *end) {
  return p != end && *p >= '0' && *p <= '9';
}

/* What may stand in a number; all of it belongs to one. */
static int tvmffi_i_json_in_number(const char *p, const char *end) {
  return tvmffi_i_is_digit(p, end) ||
         (p != end &&
          (*p == '.' || *p == 'e' || *p == 'E' || *p == '+' || *p == '-'));
}

/* Reads a number that is no integer of 64 bits, from behind its sign on. */
static int tvmffi_i_json_float(tvmffi_i_json_reader *r, int negative,
                               uint64_t *bits) {
  const char *p = r->at, *end = r->end;
  tvmffi_i_decimals d;
  int64_t exponent = 0;
  int below, any = 0;
  d.digits.n = 0;
  d.power = d.num_digits = 0;
  d.lost = 0;
  d.chunk = 0;
  d.scale = 1;
  for (; tvmffi_i_is_digit(p, end); ++p, any = 1) tvmffi_i_add_digit(&d, *p);
  if (p != end && *p == '.') {
    for (++p; tvmffi_i_is_digit(p, end); ++p, any = 1) {
      --d.power;
      tvmffi_i_add_digit(&d, *p);
    }
  }
  if (!any) return 0;
  if (p != end && (*p == 'e' || *p == 'E')) {
    ++p;
    below = p != end && *p == '-';
    if (p != end && (*p == '-' || *p == '+')) ++p;
    if (!tvmffi_i_is_digit(p, end)) return 0;
    for (; tvmffi_i_is_digit(p, end); ++p)
      if (exponent < INT64_MAX / 40) exponent = exponent * 10 + (*p - '0');
    d.power += below ? -exponent : exponent;
  }
  r->at = p;
  if (!tvmffi_i_decimals_to_double(&d, bits)) return 0;
  if (negative) *bits |= TVMFFI_I_DOUBLE_SIGN;
  return 1;
}

TVMFFI_I_NOINLINE int tvmffi_i_json_any_number(tvmffi_i_json_reader *r,
                                               TVMFFIAny *out) {
  const char *start = r->at, *end = r->end, *p;
  int negative = start != end && *start == '-', fits = 1;
  uint64_t x = 0, most = (uint64_t)INT64_MAX + (unsigned)negative;
  if (negative || (start != end && *start == '+')) ++r->at;
  if (r->at != end && *r->at == 'I' && (negative || r->at == start)) {
    *out = tvmffi_i_double_of(TVMFFI_I_DOUBLE_INFINITY |
                              (negative ? TVMFFI_I_DOUBLE_SIGN : 0));
    if (tvmffi_i_json_match(r, "Infinity")) return 0;
    return tvmffi_i_json_no_value(r, start);
  }
  if (r->at == start && tvmffi_i_json_match(r, "NaN")) {
    *out = tvmffi_i_double_of(TVMFFI_I_DOUBLE_NAN);
    return 0;
  }
  for (p = r->at; tvmffi_i_is_digit(p, end); ++p) {
    unsigned digit = (unsigned)(*p - '0');
    if (x > (most - digit) / 10) fits = 0;
    if (fits) x = x * 10 + digit;
  }
  if (p != r->at && fits && !tvmffi_i_json_in_number(p, end)) {
    *out = tvmffi_int((int64_t)(negative ? 0 - x : x));
    r->at = p;
    return 0;
  }
  *out = tvmffi_i_double_of(0);
  if (tvmffi_i_json_float(r, negative, &out->v_uint64) &&
      !tvmffi_i_json_in_number(r->at, end))
    return 0;
  return tvmffi_i_json_no_value(r, start);
}

/* Goes on with the digits at p. Eight of them are put together as neighbours:
   to pairs, to fours, and these. */
TVMFFI_I_INLINE const char *tvmffi_i_json_digits(const char *p, const char *end,
                                                 uint64_t *x) {
#if defined(TVMFFI_I_BYTES_BEFORE)
  static const uint32_t tens[] = {1,      10,      100,      1000,     10000,
                                  100000, 1000000, 10000000, 100000000};
  const uint64_t ones = UINT64_MAX / 255;
  uint64_t word, found;
  size_t n;
  while (end - p >= 8) {
    memcpy(&word, p, 8);
    word ^= ones * '0';
    found = ((word + ones * 0x76) | word) & ones * 128; /* 10 and more */
    n = found ? TVMFFI_I_BYTES_BEFORE(found) : 8;
    if (!n) return p;
    word <<= 64 - 8 * n;
    word = word * (1 + (10 << 8)) >> 8;
    word = (word & 0x00FF00FF00FF00FFu) * (1 + (100 << 16)) >> 16;
    word = (word & 0x0000FFFF0000FFFFu) * (1 + ((uint64_t)10000 << 32)) >> 32;
    *x = *x * tens[n] + word;
    p += n;
    if (n < 8) return p;
  }
#endif
  for (; tvmffi_i_is_digit(p, end); ++p) *x = *x * 10 + (uint64_t)(*p - '0');
  return p;
}

/* Reads a number; gives what follows it. One of up to 19 digits, or an integer
   of up to 18, is read here unless its double is hard to tell. */
TVMFFI_I_INLINE const char *tvmffi_i_json_number(tvmffi_i_json_reader *r,
                                                 const char *start,
                                                 TVMFFIAny *out) {
  const char *end = r->end, *first = start, *p, *point;
  int negative = start != end && *start == '-', below;
  uint64_t x = 0, bits, exponent = 0;
  int64_t digits, power = 0;
  first += negative;
  p = tvmffi_i_json_digits(first, end, &x);
  digits = p - first;
  if (!digits) goto slow;
  if (p == end || !tvmffi_i_json_in_number(p, end)) {
    if (digits > 18) goto slow;
    tvmffi_i_json_set(out, kTVMFFIInt, 0, negative ? 0 - x : x);
    return p;
  }
  if (*p == '.') {
    point = ++p;
    p = tvmffi_i_json_digits(p, end, &x);
    power = point - p;
    digits -= power;
  }
  if (p != end && (*p == 'e' || *p == 'E')) {
    ++p;
    below = p != end && *p == '-';
    if (p != end && (*p == '-' || *p == '+')) ++p;
    point = p;
    p = tvmffi_i_json_digits(p, end, &exponent);
    if (p == point || p - point > 4) goto slow;
    power += below ? -(int64_t)exponent : (int64_t)exponent;
  }
  if (digits > 19 || tvmffi_i_json_in_number(p, end) ||
      !tvmffi_i_short_to_double(x, (int)power, &bits))
    goto slow;
  if (negative) bits |= TVMFFI_I_DOUBLE_SIGN;
  tvmffi_i_json_set(out, kTVMFFIFloat, 0, bits);
  return p;
slow:
  r->at = start;
  return tvmffi_i_json_any_number(r, out) ? NULL : r->at;
}

/* Whether two keys are the same text. One with escapes is an object even if it
   is short. */
TVMFFI_I_INLINE int tvmffi_i_json_same_key(const TVMFFIAny *a,
                                           const TVMFFIAny *b) {
  TVMFFIByteArray x, y;
  if (a->v_uint64 == b->v_uint64 && a->type_index == b->type_index &&
      a->zero_padding == b->zero_padding)
    return 1;
  if (a->type_index == kTVMFFISmallStr && b->type_index == kTVMFFISmallStr)
    return 0;
  x = tvmffi_any_str(a);
  y = tvmffi_any_str(b);
  return x.size == y.size && !memcmp(x.data, y.data, x.size);
}

/* The functions below make a map of `n` keys and values (owned, each key before
   its value), which they take, or leave all that is not None to the caller. */

/* A row: upstream's are of up to three entries. */
static tvmffi_i_map_object *tvmffi_i_json_row(TVMFFIAny *values, size_t n) {
  tvmffi_i_map_object *m = tvmffi_i_map_new_row(kTVMFFIMap, n / 2);
  tvmffi_i_pair *row, *pair, *last;
  size_t i;
  if (!m) return m;
  row = last = (tvmffi_i_pair *)m->data;
  for (i = 0; i < n; i += 2) {
    for (pair = row; pair != last; ++pair)
      if (tvmffi_i_json_same_key(&pair->key, &values[i])) break;
    if (pair == last) {
      ++last;
      tvmffi_i_json_move(&pair->key, &values[i]);
    } else {
      tvmffi_any_release(&values[i]);
      tvmffi_any_release(&pair->value);
    }
    tvmffi_i_json_move(&pair->value, &values[i + 1]);
  }
  m->size = (uint64_t)(last - row);
  return m;
}

/* Puts an owned key and value, which it takes, into a table that nobody else
   has. On failure they are still the caller's. */
static int tvmffi_i_json_move_in(tvmffi_i_map_object *m, TVMFFIAny *key,
                                 TVMFFIAny *value) {
  tvmffi_i_map_key k;
  tvmffi_i_map_place place = {NULL, 0, TVMFFI_I_MAP_END};
  tvmffi_i_pair *pair;
  uint64_t hash;
  int code;
  TVMFFI_TRY(tvmffi_i_map_read_key(key, &k));
  TVMFFI_TRY(tvmffi_i_map_hash(&k, &hash));
  code = tvmffi_i_map_find_in_table(m, &k, hash, &place);
  if (code < 0) return code;
  if (code) {
    tvmffi_i_map_renew(m, &place, tvmffi_i_load_bits(value));
    tvmffi_any_release(key);
  } else {
    TVMFFI_TRY(tvmffi_i_map_add_to_table(m, hash, &pair));
    pair->key = *key;
    pair->value = *value;
  }
  *key = *value = tvmffi_none();
  return 0;
}

/* A table, as upstream's from four entries on: what a key that comes twice does
   to the order depends on it. */
TVMFFI_I_NOINLINE tvmffi_i_map_object *tvmffi_i_json_table(TVMFFIAny *values,
                                                           size_t n) {
  tvmffi_i_map_object *m =
      tvmffi_i_map_new_dense(kTVMFFIMap, tvmffi_i_map_slots(n / 2));
  size_t i;
  for (i = 0; m && i < n; i += 2) {
    if (!tvmffi_i_json_move_in(m, &values[i], &values[i + 1])) continue;
    tvmffi_release(m);
    m = NULL;
  }
  return m;
}

/* Whether a map has these keys, in this order and no others. Its table is of
   one block. */
TVMFFI_I_INLINE int tvmffi_i_json_is_shape(const tvmffi_i_map_object *m,
                                           const TVMFFIAny *values, size_t n) {
  const tvmffi_i_map_item *items = tvmffi_i_map_at(m->data, 0);
  uint64_t at = m->head;
  size_t i;
  if (m->size != n / 2) return 0;
  for (i = 0; i < n; i += 2) {
    if (!tvmffi_i_json_same_key(&items[at].pair.key, &values[i])) return 0;
    at = items[at].next;
  }
  return 1;
}

/* A table whose keys are where they are in that of `shape`. */
static tvmffi_i_map_object *tvmffi_i_json_like(const tvmffi_i_map_object *shape,
                                               const TVMFFIAny *values) {
  const tvmffi_i_map_item *from = tvmffi_i_map_at(shape->data, 0);
  size_t size = TVMFFI_I_MAP_HEAD + tvmffi_i_map_table_bytes(shape->slots);
  tvmffi_i_map_object *m = (tvmffi_i_map_object *)tvmffi_i_object(
      size, kTVMFFIMap, tvmffi_i_delete_map);
  tvmffi_i_map_item *items;
  uint64_t at = shape->head;
  if (!m) return m;
  m->data = (char *)m + TVMFFI_I_MAP_HEAD;
  m->size = shape->size;
  m->slots = shape->slots;
  m->data_deleter = tvmffi_i_map_keep;
  m->fib_shift = shape->fib_shift;
  m->head = shape->head;
  m->tail = shape->tail;
  memcpy(m->data, shape->data, 16);
  items = tvmffi_i_map_at(m->data, 0);
  for (; at != TVMFFI_I_MAP_END; at = from[at].next, values += 2) {
    tvmffi_i_json_move(&items[at].pair.key, &values[0]);
    tvmffi_i_json_move(&items[at].pair.value, &values[1]);
    items[at].prev = from[at].prev;
    items[at].next = from[at].next;
  }
  return m;
}

static tvmffi_i_map_object *tvmffi_i_json_object(tvmffi_i_json_reader *r,
                                                 TVMFFIAny *values, size_t n) {
  tvmffi_i_map_object **shape, *m;
  uint64_t hash;
  if (n / 2 < TVMFFI_I_MAP_ROW_MAX) return tvmffi_i_json_row(values, n);
  hash =
      (values[0].v_uint64 ^ values[2].v_uint64 << 1 ^ n) * 0x9E3779B97F4A7C15u;
  shape = &r->shapes[hash >> 32 & (TVMFFI_I_JSON_SHAPES - 1)];
  if (*shape && tvmffi_i_json_is_shape(*shape, values, n))
    return tvmffi_i_json_like(*shape, values);
  m = tvmffi_i_json_table(values, n);
  if (m && m->slots <= 16) {
    tvmffi_release(*shape);
    tvmffi_retain(m);
    *shape = m;
  }
  return m;
}

/* Replaces the values of the innermost array or object by it. */
static int tvmffi_i_json_close(tvmffi_i_json_reader *r) {
  const tvmffi_i_json_open *open = &r->opens[r->num_opens - 1];
  size_t n = r->num_values - open->base;
  TVMFFIAny *values;
  TVMFFIObject *made = NULL;
  TVMFFI_I_PUSH_ROOM(TVMFFIAny, r->values, r->num_values, r->room_values);
  values = r->values + open->base;
  if (open->is_object) {
    tvmffi_i_map_object *m = tvmffi_i_json_object(r, values, n);
    if (m) made = &m->base;
  } else {
    tvmffi_i_seq *s = tvmffi_i_empty_array((int64_t)n);
    if (s) {
      if (n) memcpy(s->cell.data, (const void *)values, n * sizeof(*values));
      s->cell.size = (int64_t)n;
      made = &s->base;
    }
  }
  if (!made) return -1;
  *values = tvmffi_obj(made);
  r->num_values = open->base + 1;
  --r->num_opens;
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_json_room(tvmffi_i_json_reader *r) {
  TVMFFI_I_PUSH_ROOM(TVMFFIAny, r->values, r->num_values, r->room_values);
  return 0;
}

static int tvmffi_i_json_open_one(tvmffi_i_json_reader *r, int is_object) {
  tvmffi_i_json_open *open;
  TVMFFI_I_PUSH_ROOM(tvmffi_i_json_open, r->opens, r->num_opens, r->room_opens);
  open = &r->opens[r->num_opens++];
  open->base = r->num_values;
  open->is_object = is_object;
  return 0;
}

/* Reads a key and its colon; gives what follows them, or NULL. */
TVMFFI_I_INLINE const char *tvmffi_i_json_key(tvmffi_i_json_reader *r,
                                              const char *p) {
  const char *missing = "Expecting property name enclosed in double quotes";
  if (p != r->end && *p == '"') {
    if (tvmffi_i_json_room(r)) return NULL;
    p = tvmffi_i_json_string(r, p, 1, &r->values[r->num_values]);
    if (!p) return p;
    ++r->num_values;
    p = tvmffi_i_json_skip(p, r->end);
    if (p != r->end && *p == ':') return p + 1;
    missing = "Expecting ':' delimiter";
  }
  (void)tvmffi_i_json_error(r, p, missing);
  return NULL;
}

/* Reads a value that is no array or object; gives what follows it, or NULL. */
TVMFFI_I_INLINE const char *tvmffi_i_json_scalar(tvmffi_i_json_reader *r,
                                                 const char *p) {
  size_t left = (size_t)(r->end - p);
  TVMFFIAny *out;
  if (tvmffi_i_json_room(r)) return NULL;
  out = &r->values[r->num_values];
  if (left && *p == '"') {
    p = tvmffi_i_json_string(r, p, 0, out);
  } else if (left < 4 || *p <= '9') {
    p = tvmffi_i_json_number(r, p, out);
  } else if (!memcmp(p, "true", 4)) {
    tvmffi_i_json_set(out, kTVMFFIBool, 0, 1);
    p += 4;
  } else if (left >= 5 && !memcmp(p, "false", 5)) {
    tvmffi_i_json_set(out, kTVMFFIBool, 0, 0);
    p += 5;
  } else if (!memcmp(p, "null", 4)) {
    tvmffi_i_json_set(out, kTVMFFINone, 0, 0);
    p += 4;
  } else {
    p = tvmffi_i_json_number(r, p, out);
  }
  r->num_values += p != NULL;
  return p;
}

/* Reads a value, or as much of it as comes before the first one in it, whose
   key is read, too; gives what follows, or NULL. *done: it is a whole one. */
TVMFFI_I_INLINE const char *tvmffi_i_json_value(tvmffi_i_json_reader *r,
                                                const char *p, int *done) {
  int is_object;
  *done = 1;
  p = tvmffi_i_json_skip(p, r->end);
  if (p == r->end || (*p | 32) != '{') return tvmffi_i_json_scalar(r, p);
  is_object = *p == '{';
  if (tvmffi_i_json_open_one(r, is_object)) return NULL;
  p = tvmffi_i_json_skip(p + 1, r->end);
  if (p != r->end && *p == (is_object ? '}' : ']'))
    return tvmffi_i_json_close(r) ? NULL : p + 1;
  *done = 0;
  return is_object ? tvmffi_i_json_key(r, p) : p;
}

/* After a value: goes on to the next one, or ends what it was the last of;
   gives what follows, or NULL. *done: the text is over. */
TVMFFI_I_INLINE const char *tvmffi_i_json_after(tvmffi_i_json_reader *r,
                                                const char *p, int *done) {
  const char *wrong;
  for (;;) {
    int is_object;
    p = tvmffi_i_json_skip(p, r->end);
    *done = !r->num_opens;
    if (*done) {
      wrong = "Extra data";
      if (p == r->end) return p;
      break;
    }
    is_object = r->opens[r->num_opens - 1].is_object;
    if (p != r->end && *p == ',') {
      p = tvmffi_i_json_skip(p + 1, r->end);
      wrong = "Syntax error near";
      if (p == r->end) break;
      return is_object ? tvmffi_i_json_key(r, p) : p;
    }
    wrong = "Expecting ',' delimiter";
    if (p == r->end || *p != (is_object ? '}' : ']')) break;
    if (tvmffi_i_json_close(r)) return NULL;
    ++p;
  }
  (void)tvmffi_i_json_error(r, p, wrong);
  return NULL;
}

static void tvmffi_i_json_end_reader(tvmffi_i_json_reader *r) {
  size_t i;
  while (r->num_values) tvmffi_any_release(&r->values[--r->num_values]);
  for (i = 0; i < TVMFFI_I_JSON_KEYS; ++i) tvmffi_release(r->keys[i]);
  for (i = 0; i < TVMFFI_I_JSON_SHAPES; ++i) tvmffi_release(r->shapes[i]);
  tvmffi_i_free(r->values);
  tvmffi_i_free(r->opens);
  tvmffi_i_text_release(&r->text);
}

/* Parses a text; *out is owned by the caller. */
static int tvmffi_i_json_parse(TVMFFIByteArray text, TVMFFIAny *out) {
  tvmffi_i_json_reader r;
  const char *p = text.data;
  int done = 0;
  memset((void *)&r, 0, sizeof(r));
  r.begin = text.data;
  r.end = text.data + text.size;
  do {
    p = tvmffi_i_json_value(&r, p, &done);
    if (p && done) p = tvmffi_i_json_after(&r, p, &done);
  } while (p && !done);
  if (p) *out = r.values[--r.num_values];
  tvmffi_i_json_end_reader(&r);
  return p ? 0 : -1;
}

/* -------- Writing -------- */

/* A container that is being written (borrowed), and where. */
typedef struct {
  const TVMFFIObject *object;
  uint64_t at; /* an index, or what tvmffi_i_map_after gives */
  int any;     /* something of it is written */
} tvmffi_i_json_level;

typedef struct {
  tvmffi_i_text_buffer text;
  tvmffi_i_json_level *levels;
  size_t depth, room;
  size_t mark; /* of the level that new ones are compared with */
  int32_t indent;
  int64_t margin;
} tvmffi_i_json_writer;

/* Looks for cycles (R. Brent, 1980): what is entered is compared with one of
   the levels around it, that at the highest power of two. Within a cycle that
   level becomes one of it, and it comes again. */
TVMFFI_I_INLINE void tvmffi_i_mark_entered(size_t *mark, size_t level) {
  if (!(level & (level - 1))) *mark = level;
}
TVMFFI_I_INLINE void tvmffi_i_mark_left(size_t *mark, size_t level) {
  if (*mark == level) *mark = level / 2;
}

/* Whether any of eight bytes is to be escaped. */
TVMFFI_I_INLINE int tvmffi_i_json_escapes(uint64_t word) {
  return (tvmffi_i_json_any(word, '"', '\\') |
          tvmffi_i_json_any(word, '/', 0x7F)) != 0;
}

/* Puts the text from p on, and the quote that ends it. */
TVMFFI_I_NOINLINE void tvmffi_i_json_put_escaped(tvmffi_i_text_buffer *b,
                                                 const char *p,
                                                 const char *end) {
  static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
  static const char hex[] = "0123456789abcdef";
  const char *from = p;
  char escape[6] = {'\\', 'u', '0', '0', '0', '0'};
  uint64_t word;
  int i;
  while (p != end) {
    if (end - p >= 8) {
      memcpy(&word, p, 8);
      if (!tvmffi_i_json_escapes(word)) {
        p += 8;
        continue;
      }
    }
    for (i = 0; p != end && i < 8; ++i, ++p) {
      unsigned char c = (unsigned char)*p;
      size_t k = 0;
      if (c > '\\' ? c != 0x7F : c >= ' ' && c != '"' && c != '/' && c != '\\')
        continue;
      tvmffi_i_text_put(b, from, (size_t)(p - from));
      from = p + 1;
      while (k < 8 && bytes[k] != (char)c) ++k;
      escape[1] = k < 8 ? names[k] : 'u';
      escape[4] = hex[c >> 4];
      escape[5] = hex[c & 15];
      tvmffi_i_text_put(b, escape, k < 8 ? 2 : 6);
    }
  }
  tvmffi_i_text_put(b, from, (size_t)(p - from));
  tvmffi_i_text_char(b, '"');
}

/* Eight bytes at a time are copied as they are looked at, the last ones with
   some of those before them. */
static void tvmffi_i_json_put_string(tvmffi_i_text_buffer *b,
                                     TVMFFIByteArray s) {
  char *at = tvmffi_i_text_room(b, s.size + 2);
  uint64_t word;
  size_t i;
  if (!at) return;
  *at++ = '"';
  ++b->size;
  if (s.size < 8) {
    tvmffi_i_json_put_escaped(b, s.data, s.data + s.size);
    return;
  }
  for (i = 0; i < s.size; i += 8) {
    if (s.size - i < 8) i = s.size - 8;
    memcpy(&word, s.data + i, 8);
    if (tvmffi_i_json_escapes(word)) break;
    memcpy(at + i, &word, 8);
  }
  if (i < s.size) {
    b->size += i;
    tvmffi_i_json_put_escaped(b, s.data + i, s.data + s.size);
    return;
  }
  at[s.size] = '"';
  b->size += s.size + 1;
}

/* A string (borrowed). A short one is looked at and copied as a word. */
TVMFFI_I_INLINE void tvmffi_i_json_put_text(tvmffi_i_text_buffer *b,
                                            const TVMFFIAny *text) {
#if defined(TVMFFI_I_BYTES_BEFORE)
  uint64_t word = text->v_uint64, n = text->small_str_len;
  char *at;
  if (text->type_index == kTVMFFISmallStr && n < 8 &&
      !tvmffi_i_json_escapes(word | UINT64_MAX / 255 * ' ' << 8 * n)) {
    at = tvmffi_i_text_room(b, 9);
    if (!at) return;
    *at = '"';
    memcpy(at + 1, &word, 8);
    at[n + 1] = '"';
    b->size += (size_t)n + 2;
    return;
  }
#endif
  tvmffi_i_json_put_string(b, tvmffi_any_str(text));
}

TVMFFI_I_INLINE void tvmffi_i_json_put_int(tvmffi_i_text_buffer *b, int64_t x) {
  char *at = tvmffi_i_text_room(b, 24);
  if (at) b->size += tvmffi_i_print_int(at, x);
}

static void tvmffi_i_json_put_double(tvmffi_i_text_buffer *b, uint64_t bits) {
  uint64_t size = bits & ~TVMFFI_I_DOUBLE_SIGN, whole;
  int exponent = (int)(size >> 52) - 1023;
  char *at = tvmffi_i_text_room(b, 48);
  if (!at) return;
  if (size > TVMFFI_I_DOUBLE_INFINITY) {
    tvmffi_i_text_put(b, "NaN", 3);
    return;
  }
  if (bits != size) {
    *at++ = '-';
    ++b->size;
  }
  if (size == TVMFFI_I_DOUBLE_INFINITY) {
    tvmffi_i_text_put(b, "Infinity", 8);
    return;
  }
  /* A whole number below 2^53 is told from an integer by its ".0". */
  whole = (size & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
  if (!size || (exponent >= 0 && exponent <= 52 &&
                !(whole & (((uint64_t)1 << (52 - exponent)) - 1)))) {
    tvmffi_i_json_put_int(b, size ? (int64_t)(whole >> (52 - exponent)) : 0);
    tvmffi_i_text_put(b, ".0", 2);
    return;
  }
  b->size += tvmffi_i_print_double(at, size);
}

/* What stands before an item: a comma, and a line. */
TVMFFI_I_INLINE void tvmffi_i_json_put_line(tvmffi_i_json_writer *w,
                                            int comma) {
  size_t margin = w->indent && w->margin > 0 ? (size_t)w->margin : 0;
  char *at = tvmffi_i_text_room(&w->text, margin + 2);
  if (!at) return;
  *at = ',';
  at += comma;
  if (w->indent) {
    *at++ = '\n';
    memset(at, ' ', margin);
  }
  w->text.size += (size_t)(at + margin - (w->text.data + w->text.size));
}

static int tvmffi_i_json_enter(tvmffi_i_json_writer *w,
                               const TVMFFIObject *object) {
  tvmffi_i_json_level *level;
  int is_map = object->type_index == kTVMFFIMap;
  if (w->depth && w->levels[w->mark].object == object)
    return tvmffi_i_fail("ValueError", "Cycle detected: List contains itself");
  TVMFFI_I_PUSH_ROOM(tvmffi_i_json_level, w->levels, w->depth, w->room);
  tvmffi_i_mark_entered(&w->mark, w->depth);
  level = &w->levels[w->depth++];
  level->object = object;
  level->at = is_map ? tvmffi_i_map_begin(object) : 0;
  level->any = 0;
  w->margin += w->indent;
  tvmffi_i_text_char(&w->text, is_map ? '{' : '[');
  return 0;
}

static void tvmffi_i_json_leave(tvmffi_i_json_writer *w, char end) {
  tvmffi_i_mark_left(&w->mark, --w->depth);
  w->margin -= w->indent;
  tvmffi_i_json_put_line(w, 0);
  tvmffi_i_text_char(&w->text, end);
}

/* Writes a value, or the beginning of a container. */
TVMFFI_I_INLINE int tvmffi_i_json_put(tvmffi_i_json_writer *w,
                                      const TVMFFIAny *value) {
  switch (value->type_index) {
    case kTVMFFINone: tvmffi_i_text_put(&w->text, "null", 4); return 0;
    case kTVMFFIBool:
      if (value->v_int64)
        tvmffi_i_text_put(&w->text, "true", 4);
      else
        tvmffi_i_text_put(&w->text, "false", 5);
      return 0;
    case kTVMFFIInt: tvmffi_i_json_put_int(&w->text, value->v_int64); return 0;
    case kTVMFFIFloat:
      tvmffi_i_json_put_double(&w->text, value->v_uint64);
      return 0;
    case kTVMFFISmallStr:
    case kTVMFFIStr: tvmffi_i_json_put_text(&w->text, value); return 0;
    case kTVMFFIArray:
    case kTVMFFIList:
    case kTVMFFIMap: return tvmffi_i_json_enter(w, value->v_obj);
    default: break;
  }
  return tvmffi_i_fail("ValueError", "Unsupported type: `%s`",
                       tvmffi_i_type_key(value->type_index));
}

/* Goes on in the innermost container: writes its next key and gives its next
   value (borrowed), or ends it and gives NULL. */
TVMFFI_I_INLINE int tvmffi_i_json_next(tvmffi_i_json_writer *w,
                                       const TVMFFIAny **next) {
  tvmffi_i_json_level *level = &w->levels[w->depth - 1];
  const tvmffi_i_seq *seq = (const tvmffi_i_seq *)(const void *)level->object;
  const tvmffi_i_pair *pair = NULL;
  *next = NULL;
  if (level->object->type_index == kTVMFFIMap) {
    pair = tvmffi_i_map_pair(level->object, level->at);
    if (!pair) return tvmffi_i_json_leave(w, '}'), 0;
    level->at = tvmffi_i_map_after(level->object, level->at);
    *next = &pair->value;
  } else {
    if (level->at >= (uint64_t)seq->cell.size)
      return tvmffi_i_json_leave(w, ']'), 0;
    *next = &TVMFFI_I_ITEMS(seq)[level->at++];
  }
  tvmffi_i_json_put_line(w, level->any);
  level->any = 1;
  if (!pair) return 0;
  if (pair->key.type_index != kTVMFFIStr &&
      pair->key.type_index != kTVMFFISmallStr)
    return tvmffi_i_fail("ValueError", "Expect key to be string, got `%s`",
                         tvmffi_i_type_key(pair->key.type_index));
  tvmffi_i_json_put_text(&w->text, &pair->key);
  tvmffi_i_text_char(&w->text, ':');
  if (w->indent) tvmffi_i_text_char(&w->text, ' ');
  return 0;
}

/* Appends a value to the text; what the writer allocated is freed by
   tvmffi_i_json_end. */
static int tvmffi_i_json_write(tvmffi_i_json_writer *w,
                               const TVMFFIAny *value) {
  TVMFFI_TRY(tvmffi_i_json_put(w, value));
  while (w->depth && !w->text.failed) {
    TVMFFI_TRY(tvmffi_i_json_next(w, &value));
    if (value) TVMFFI_TRY(tvmffi_i_json_put(w, value));
  }
  w->depth = 0; /* levels are left when the text found no memory */
  return 0;
}

/* Makes the text a string object, even of a short one: so does upstream, and
   Python sees it. The buffer is empty afterwards. */
static int tvmffi_i_text_take_object(tvmffi_i_text_buffer *b, TVMFFIAny *out) {
  int code;
  if (b->failed || b->size >= sizeof(out->v_bytes))
    return tvmffi_i_text_take(b, out);
  code = tvmffi_i_make_large(b->data, b->size, kTVMFFIStr, out);
  tvmffi_i_text_release(b);
  return code;
}

/* Makes the text a string, owned by the caller, unless `code` is an error's. */
static int tvmffi_i_json_end(tvmffi_i_json_writer *w, int code,
                             TVMFFIAny *out) {
  if (!code) code = tvmffi_i_text_take_object(&w->text, out);
  tvmffi_i_text_release(&w->text);
  tvmffi_i_free(w->levels);
  return code;
}

/* Upstream cuts what does not fit an int, and says nothing. */
TVMFFI_I_TYPE(i_optional_int, int32_t, "Optional<int>",
              "{\"type\":\"Optional\",\"args\":[{\"type\":\"int\"}]}")
TVMFFI_I_GET(i_optional_int) {
  *out = any->type_index == kTVMFFINone ? 0 : (int32_t)any->v_int64;
  return any->type_index == kTVMFFINone || TVMFFI_I_IS_INT(any)
             ? 0
             : TVMFFI_I_MISMATCH;
}
TVMFFI_FUNC(i_json_parse, any, (str, text)) {
  return tvmffi_i_json_parse(text, tvmffi_result);
}

TVMFFI_FUNC(i_json_stringify, str, (i_view, value), (i_optional_int, indent)) {
  tvmffi_i_json_writer w;
  TVMFFIAny owned;
  int code;
  TVMFFI_TRY(tvmffi_i_own(value, &owned));
  memset((void *)&w, 0, sizeof(w));
  w.indent = indent;
  code = tvmffi_i_json_write(&w, &owned);
  code = tvmffi_i_json_end(&w, code, tvmffi_result);
  tvmffi_any_release(&owned);
  return code;
}
#endif /* !TVMFFI_NO_EXTRA */

/* ======== Serialization ========================================== >>serial */
/* Values with all that they refer to, as JSON: a list of nodes, each after the
   nodes that it names by their index, so that what is shared stays shared (as
   upstream's serialization.cc). Values on the way down are kept on a stack in
   memory; a graph that contains itself is an error both ways. What types
   register in the columns __data_to_json__ and __data_from_json__ may run any
   code: whatever is gone through meanwhile is held by a reference. */
#if !TVMFFI_NO_EXTRA

/* -------- Base64 (RFC 4648) -------- */

static int tvmffi_i_base64(TVMFFIByteArray bytes, TVMFFIAny *out) {
  static const char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const unsigned char *from = (const unsigned char *)bytes.data;
  tvmffi_i_text_buffer b = {NULL, 0, 0, 0};
  size_t i, k, n, most = PTRDIFF_MAX / 2;
  char *to = NULL;
  if (bytes.size > most) return tvmffi_i_no_memory();
  to = tvmffi_i_text_room(&b, (bytes.size + 2) / 3 * 4);
  for (i = 0; to && i < bytes.size; i += 3) {
    uint32_t word = 0;
    n = bytes.size - i < 3 ? bytes.size - i : 3;
    for (k = 0; k < 3; ++k) word = word << 8 | (k < n ? from[i + k] : 0u);
    for (k = 0; k < 4; ++k)
      *to++ = k <= n ? digits[word >> (18 - 6 * k) & 63] : '=';
    b.size += 4;
  }
  return tvmffi_i_text_take(&b, out);
}

/* What is no digit counts as 0, and the third and fourth of each four leave out
   a byte if they are "=", wherever they stand: upstream's base64.h. */
static int tvmffi_i_from_base64(TVMFFIByteArray text, TVMFFIAny *out) {
  TVMFFIByteArray bytes = {NULL, 0};
  uint32_t word = 0;
  size_t i;
  char *to;
  int code;
  if (text.size % 4)
    return tvmffi_i_fail("RuntimeError", "invalid base64 encoding");
  to = (char *)tvmffi_i_alloc(text.size / 4 * 3 + 1);
  if (!to) return tvmffi_i_no_memory();
  bytes.data = to;
  for (i = 0; i < text.size; ++i) {
    char c = text.data[i];
    uint32_t digit = c >= 'A' && c <= 'Z'   ? (uint32_t)(c - 'A')
                     : c >= 'a' && c <= 'z' ? (uint32_t)(c - 'a' + 26)
                     : c >= '0' && c <= '9' ? (uint32_t)(c - '0' + 52)
                     : c == '+'             ? 62u
                     : c == '/'             ? 63u
                                            : 0u;
    word = word << 6 | digit;
    if (i % 4 != 3) continue;
    to[bytes.size++] = (char)(word >> 16 & 255);
    if (text.data[i - 1] != '=') to[bytes.size++] = (char)(word >> 8 & 255);
    if (c != '=') to[bytes.size++] = (char)(word & 255);
  }
  code = TVMFFIBytesFromByteArray(&bytes, out);
  tvmffi_i_free(to);
  return code;
}

/* -------- Big integers -------- */

TVMFFI_I_TYPE(i_any_view, const TVMFFIAny *, "AnyView", "Any")
TVMFFI_I_GET(i_any_view) {
  *out = any;
  return 0;
}

TVMFFI_I_COLD int tvmffi_i_not_as(const TVMFFIAny *value, const char *type) {
  return tvmffi_i_fail("TypeError", "Cannot treat type `%s` as type `%s`",
                       tvmffi_i_type_key(value->type_index), type);
}

TVMFFI_I_METHOD(i_bigint_to_json, "ffi.BigInt.__data_to_json__", any,
                (i_any_view, value)) {
  tvmffi_i_text_buffer b = {NULL, 0, 0, 0};
  TVMFFIAny text = tvmffi_none();
  if (value->type_index == kTVMFFIInt)
    tvmffi_i_text_int(&b, value->v_int64);
  else if (value->type_index == kTVMFFIBigInt && value->v_obj)
    tvmffi_i_text_bigint(&b, TVMFFIBigIntGetContentByteArray(value));
  else
    return tvmffi_i_not_as(value, "BigInt");
  TVMFFI_TRY(tvmffi_i_text_take_object(&b, &text));
  TVMFFI_RETURN(text);
}

/* Makes an integer of decimal digits, of which there is one at least. */
static int tvmffi_i_digits_to_int(const char *p, size_t n, int negative,
                                  TVMFFIAny *out) {
  /* A digit has less than 3.4 bits; one bit more is for the sign. */
  size_t words = n / 16 + 1, used = 0, i;
  uint64_t *x, carry;
  TVMFFIByteArray content;
  int code;
  if (words > PTRDIFF_MAX / 8) return tvmffi_i_no_memory();
  x = (uint64_t *)tvmffi_i_alloc(words * 8);
  if (!x) return tvmffi_i_no_memory();
  memset((void *)x, 0, words * 8);
  while (n) {
    uint64_t scale = 1, low, high;
    for (carry = 0; n && scale < 1000000000; --n, ++p, scale *= 10)
      carry = carry * 10 + (uint64_t)(*p - '0');
    for (i = 0; i < used || carry; ++i) {
      if (i == used) ++used;
      low = (x[i] & UINT32_MAX) * scale + carry;
      high = (x[i] >> 32) * scale + (low >> 32);
      x[i] = high << 32 | (low & UINT32_MAX);
      carry = high >> 32;
    }
  }
  if (negative) {
    for (carry = 1, i = 0; i < words; ++i) {
      x[i] = ~x[i] + carry;
      carry &= x[i] == 0;
    }
  }
  content.data = (const char *)x;
  content.size = words * 8;
  code = TVMFFIBigIntFromByteArray(&content, out);
  tvmffi_i_free(x);
  return code;
}

TVMFFI_I_METHOD(i_bigint_from_json, "ffi.BigInt.__data_from_json__", any,
                (i_any_view, value)) {
  TVMFFIAny made = tvmffi_none();
  TVMFFIByteArray s;
  int negative;
  size_t i;
  if (tvmffi_i_get_str(value, &s)) return tvmffi_i_not_as(value, "str");
  negative = s.size && s.data[0] == '-';
  if (negative || (s.size && s.data[0] == '+')) ++s.data, --s.size;
  for (i = 0; i < s.size && s.data[i] >= '0' && s.data[i] <= '9'; ++i) {
  }
  if (!s.size || i < s.size)
    return tvmffi_i_fail("ValueError", "Invalid decimal string for ffi.BigInt");
  TVMFFI_TRY(tvmffi_i_digits_to_int(s.data, s.size, negative, &made));
  TVMFFI_RETURN(made);
}

/* -------- Values to nodes -------- */

/* A value that has a node, or is being given one. */
typedef struct {
  TVMFFIAny value; /* owned */
  int64_t index;   /* of the node; -1 until there is one */
} tvmffi_i_saved;

/* A value whose parts are being given their nodes. */
typedef struct {
  TVMFFIObject *object; /* borrowed from what is saved */
  size_t saved;         /* what it is there */
  uint64_t at;          /* where in a container */
  size_t base;          /* of its parts on the stack */
  int on_value;         /* a map: the value of the key at `at` is next */
  int with_fields;
  const TVMFFIFieldInfo *field; /* whose index is waited for */
  tvmffi_i_field_walk walk;
} tvmffi_i_saving;

/* Nodes are put into an array of maps, or written at once. A place of the table
   has half of a value's hash above the number of what is saved, from 1 on. */
typedef struct {
  int as_text;
  tvmffi_i_json_writer writer;
  TVMFFIObject *nodes; /* a list: owned; NULL of a text */
  tvmffi_i_saved *saved;
  size_t num_saved, room_saved;
  uint64_t *places;
  size_t num_places;
  int64_t num_nodes;
  TVMFFIAny *parts; /* a stack: indices of parts, or the data of fields */
  size_t num_parts, room_parts;
  tvmffi_i_stack frames;
} tvmffi_i_saver;

static tvmffi_i_known_column tvmffi_i_to_json_column = {"__data_to_json__",
                                                        NULL};
static tvmffi_i_known_column tvmffi_i_from_json_column = {"__data_from_json__",
                                                          NULL};

/* Sets the value, which it takes, of a name of a map. */
static int tvmffi_i_set_named(TVMFFIObject **map, TVMFFIByteArray name,
                              TVMFFIAny value) {
  TVMFFIAny key = tvmffi_none();
  int code = TVMFFIStringFromByteArray(&name, &key);
  if (!code) code = tvmffi_i_map_set(map, &key, &value);
  tvmffi_any_release(&key);
  tvmffi_any_release(&value);
  return code;
}

/* An array of numbers, owned by the caller. */
static int tvmffi_i_numbers(const int64_t *numbers, size_t n, TVMFFIAny *out) {
  TVMFFIAny *items = NULL;
  TVMFFIObject *array = tvmffi_i_new_array((int64_t)n, &items);
  size_t i;
  if (!array) return -1;
  for (i = 0; i < n; ++i) items[i] = tvmffi_int(numbers[i]);
  *out = tvmffi_obj(array);
  return 0;
}

/* Makes room for one more value in the table. */
static int tvmffi_i_grow_saved(tvmffi_i_saver *s) {
  size_t num = s->num_places ? s->num_places * 2 : 64, i, at;
  uint64_t *places;
  if (s->num_saved * 2 < s->num_places) return 0;
  if (num > UINT32_MAX || num > PTRDIFF_MAX / sizeof(*places))
    return tvmffi_i_no_memory();
  places = (uint64_t *)tvmffi_i_alloc(num * sizeof(*places));
  if (!places) return tvmffi_i_no_memory();
  memset(places, 0, num * sizeof(*places));
  for (i = 0; i < s->num_places; ++i) {
    if (!s->places[i]) continue;
    at = (size_t)(s->places[i] >> 32) & (num - 1);
    while (places[at]) at = (at + 1) & (num - 1);
    places[at] = s->places[i];
  }
  tvmffi_i_free(s->places);
  s->places = places;
  s->num_places = num;
  return 0;
}

/* Finds what is saved of a value: 1. What is new is put there and 0 given, or
   an error's code. `holds`: the value is owned, and taken in any case. */
static int tvmffi_i_find_saved(tvmffi_i_saver *s, TVMFFIAny value, int holds,
                               size_t *found) {
  uint64_t hash;
  size_t at;
  int code = tvmffi_i_grow_saved(s);
  if (!code) code = tvmffi_i_any_hash(&value, &hash);
  if (code) goto done;
  hash = hash * 0x9E3779B97F4A7C15u >> 32;
  at = (size_t)hash & (s->num_places - 1);
  for (; s->places[at]; at = (at + 1) & (s->num_places - 1)) {
    if (s->places[at] >> 32 != hash) continue;
    *found = (uint32_t)s->places[at] - 1;
    code = tvmffi_i_any_equal(&s->saved[*found].value, &value);
    if (code) goto done;
  }
  if (TVMFFI_I_UNLIKELY(s->num_saved == s->room_saved)) {
    void *moved = s->saved;
    code = tvmffi_i_grow_stack(&moved, s->num_saved, &s->room_saved,
                               sizeof(*s->saved));
    if (code) goto done;
    s->saved = (tvmffi_i_saved *)moved;
  }
  *found = s->num_saved++;
  s->places[at] = hash << 32 | s->num_saved;
  s->saved[*found].value = value;
  s->saved[*found].index = -1;
  if (!holds && value.type_index >= kTVMFFIStaticObjectBegin)
    tvmffi_retain(value.v_obj);
  return 0;
done:
  if (holds) tvmffi_any_release(&value);
  return code;
}

/* Begins a node. The usual keys are known not to need escapes. */
static void tvmffi_i_begin_node(tvmffi_i_saver *s, int32_t index) {
  tvmffi_i_text_buffer *b = &s->writer.text;
  if (s->num_nodes) tvmffi_i_text_char(b, ',');
  switch (index) {
    case kTVMFFIBool: tvmffi_i_text_str(b, "{\"type\":\"bool\""); break;
    case kTVMFFIInt: tvmffi_i_text_str(b, "{\"type\":\"int\""); break;
    case kTVMFFIFloat: tvmffi_i_text_str(b, "{\"type\":\"float\""); break;
    case kTVMFFIStr: tvmffi_i_text_str(b, "{\"type\":\"ffi.String\""); break;
    case kTVMFFIArray: tvmffi_i_text_str(b, "{\"type\":\"ffi.Array\""); break;
    case kTVMFFIMap: tvmffi_i_text_str(b, "{\"type\":\"ffi.Map\""); break;
    default:
      tvmffi_i_text_str(b, "{\"type\":");
      tvmffi_i_json_put_string(b, TVMFFIGetTypeInfo(index)->type_key);
  }
}

static int tvmffi_i_end_node(tvmffi_i_saver *s) {
  tvmffi_i_text_char(&s->writer.text, '}');
  return s->writer.text.failed ? tvmffi_i_no_memory() : 0;
}

static int tvmffi_i_append_node(tvmffi_i_saver *s, int32_t index,
                                const TVMFFIAny *data) {
  TVMFFIObject *node = tvmffi_i_new_map(kTVMFFIMap, 2);
  TVMFFIAny any = tvmffi_none();
  int code;
  if (!node) return -1;
  code = TVMFFIStringFromByteArray(&TVMFFIGetTypeInfo(index)->type_key, &any);
  if (!code) code = tvmffi_i_set_named(&node, tvmffi_view("type"), any);
  if (!code && data)
    code = tvmffi_i_set_named(&node, tvmffi_view("data"),
                              tvmffi_i_copy_owned(data));
  any = tvmffi_obj(node);
  if (!code) code = tvmffi_i_list_append(s->nodes, &any);
  tvmffi_release(node);
  return code;
}

/* Makes the node of what is saved; `data` (borrowed) is NULL for None. */
static int tvmffi_i_add_node(tvmffi_i_saver *s, size_t saved,
                             const TVMFFIAny *data) {
  int32_t index = s->saved[saved].value.type_index;
  if (index == kTVMFFISmallStr) index = kTVMFFIStr;
  if (index == kTVMFFISmallBytes) index = kTVMFFIBytes;
  if (!s->as_text) {
    TVMFFI_TRY(tvmffi_i_append_node(s, index, data));
  } else {
    tvmffi_i_begin_node(s, index);
    if (data) tvmffi_i_text_str(&s->writer.text, ",\"data\":");
    if (data) TVMFFI_TRY(tvmffi_i_json_write(&s->writer, data));
    TVMFFI_TRY(tvmffi_i_end_node(s));
  }
  s->saved[saved].index = s->num_nodes++;
  return 0;
}

/* Raises for an object that is among its own parts. Going on, the first list or
   dict would be the first to be met again; so upstream tells. */
TVMFFI_I_SLOW int tvmffi_i_saving_cycle(tvmffi_i_saver *s, size_t saved) {
  const TVMFFIObject *object = s->saved[saved].value.v_obj;
  size_t left;
  do {
    const tvmffi_i_saving *f = TVMFFI_I_TOP(tvmffi_i_saving, &s->frames);
    int32_t index = f->object->type_index;
    if (index == kTVMFFIList || index == kTVMFFIDict) object = f->object;
    left = f->saved;
    TVMFFI_I_POP(tvmffi_i_saving, &s->frames);
  } while (left != saved);
  return tvmffi_i_fail(
      "ValueError", "Cycle detected during serialization: a %s contains itself",
      object->type_index == kTVMFFIList ? "List"
      : object->type_index == kTVMFFIDict
          ? "Dict"
          : tvmffi_i_type_key(object->type_index));
}

static int tvmffi_i_enter_saving(tvmffi_i_saver *s, size_t saved,
                                 int with_fields) {
  TVMFFIObject *object = s->saved[saved].value.v_obj;
  tvmffi_i_saving *f = TVMFFI_I_PUSH(tvmffi_i_saving, &s->frames, NULL);
  if (!f) return -1;
  f->object = object;
  f->saved = saved;
  f->at = 0;
  if (object->type_index == kTVMFFIMap || object->type_index == kTVMFFIDict)
    f->at = tvmffi_i_map_begin(object);
  f->base = s->num_parts;
  f->on_value = 0;
  f->with_fields = with_fields;
  f->field = NULL;
  if (with_fields)
    f->walk = tvmffi_i_walk_fields(TVMFFIGetTypeInfo(object->type_index));
  return 0;
}

/* An object of a type that is none of the containers. */
static int tvmffi_i_save_object(tvmffi_i_saver *s, size_t saved) {
  const TVMFFIAny value = s->saved[saved].value;
  int32_t index = value.type_index;
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(index);
  const tvmffi_i_enum *e = (const tvmffi_i_enum *)value.v_ptr;
  const TVMFFIAny *hook;
  TVMFFIAny data = tvmffi_none();
  int code;
  if (tvmffi_is_instance(index, TVMFFI_I_ENUM_BASE)) {
    data = tvmffi_is_instance(index, TVMFFI_I_INT_ENUM)
               ? tvmffi_int(e->int_index)
               : e->str_index;
    return tvmffi_i_add_node(s, saved, &data);
  }
  hook = tvmffi_i_type_attr(&tvmffi_i_to_json_column, index);
  if (hook) {
    TVMFFI_TRY(tvmffi_i_call_attr_value(hook, &value, 1, kTVMFFIAny, &data));
    code = tvmffi_i_add_node(s, saved, &data);
    tvmffi_any_release(&data);
    return code;
  }
  hook = tvmffi_i_type_attr(&tvmffi_i_new_column, index);
  if ((!type->metadata || !type->metadata->creator) &&
      (!hook || hook->type_index != kTVMFFIFunction))
    return tvmffi_i_fail("TypeError",
                         "Type `%s` does not support ToJSONGraph (no native "
                         "creator or __ffi_new__ type attr)",
                         type->type_key.data);
  return tvmffi_i_enter_saving(s, saved, 1);
}

static int tvmffi_i_dtype_text(const DLDataType *dtype, TVMFFIAny *out) {
  TVMFFIByteArray text;
  TVMFFIAny made = tvmffi_none();
  TVMFFI_TRY(TVMFFIDataTypeToString(dtype, &made));
  *out = made;
  if (made.type_index != kTVMFFISmallStr) return 0;
  text = tvmffi_any_str(&made);
  return tvmffi_i_make_large(text.data, text.size, kTVMFFIStr, out);
}

/* Makes the node of a value that has no parts, or begins one that has. */
static int tvmffi_i_save_value(tvmffi_i_saver *s, size_t saved) {
  const TVMFFIAny *value = &s->saved[saved].value;
  TVMFFIAny data = tvmffi_none();
  TVMFFIShapeCell *shape;
  int64_t device[2];
  int code;
  switch (value->type_index) {
    case kTVMFFINone: return tvmffi_i_add_node(s, saved, NULL);
    case kTVMFFIBool:
    case kTVMFFIInt:
    case kTVMFFIFloat:
    case kTVMFFISmallStr:
    case kTVMFFIStr: return tvmffi_i_add_node(s, saved, value);
    case kTVMFFIDataType:
      code = tvmffi_i_dtype_text(&value->v_dtype, &data);
      break;
    case kTVMFFIDevice:
      device[0] = (int64_t)value->v_device.device_type;
      device[1] = value->v_device.device_id;
      code = tvmffi_i_numbers(device, 2, &data);
      break;
    case kTVMFFISmallBytes:
    case kTVMFFIBytes:
      code = tvmffi_i_base64(tvmffi_any_str(value), &data);
      break;
    case kTVMFFIShape:
      shape = TVMFFI_I_CELL(TVMFFIShapeCell, value->v_obj);
      code = tvmffi_i_numbers(shape->data, shape->size, &data);
      break;
    case kTVMFFIArray:
    case kTVMFFIList:
    case kTVMFFIMap:
    case kTVMFFIDict: return tvmffi_i_enter_saving(s, saved, 0);
    default:
      if (value->type_index >= kTVMFFIStaticObjectBegin && value->v_obj)
        return tvmffi_i_save_object(s, saved);
      return tvmffi_i_fail("RuntimeError", "Cannot serialize type `%s`",
                           tvmffi_i_type_key(value->type_index));
  }
  if (!code) code = tvmffi_i_add_node(s, saved, &data);
  tvmffi_any_release(&data);
  return code;
}

/* Puts what tells of a part (taken) onto the stack. */
static int tvmffi_i_add_part(tvmffi_i_saver *s, TVMFFIAny part) {
  if (TVMFFI_I_UNLIKELY(s->num_parts == s->room_parts)) {
    void *moved = s->parts;
    if (tvmffi_i_grow_stack(&moved, s->num_parts, &s->room_parts,
                            sizeof(*s->parts))) {
      tvmffi_any_release(&part);
      return -1;
    }
    s->parts = (TVMFFIAny *)moved;
  }
  s->parts[s->num_parts++] = part;
  return 0;
}

/* The next field whose value has a node of its own: gives that, owned. Those
   whose type is known stand in the data as they are. */
static int tvmffi_i_save_fields(tvmffi_i_saver *s, TVMFFIAny *part) {
  tvmffi_i_saving *f = TVMFFI_I_TOP(tvmffi_i_saving, &s->frames);
  while ((f->field = tvmffi_i_next_field(&f->walk))) {
    TVMFFIAny value = tvmffi_none();
    int code = f->field->getter(tvmffi_i_at(f->object, f->field), &value);
    if (code) return tvmffi_i_need_error(code, "A field getter");
    *part = value;
    switch (f->field->field_static_type_index) {
      case kTVMFFINone:
        tvmffi_any_release(part);
        value = tvmffi_none();
        break;
      case kTVMFFIBool:
      case kTVMFFIInt:
      case kTVMFFIFloat: break;
      case kTVMFFIDataType:
        TVMFFI_TRY(tvmffi_i_dtype_text(&part->v_dtype, &value));
        break;
      default: return 1;
    }
    TVMFFI_TRY(tvmffi_i_add_part(s, value));
  }
  return 0;
}

/* Gives the next part of the innermost value: 1, 0 if there is none left, or an
   error's code. It is owned if the value may change or has made it. */
static int tvmffi_i_next_part(tvmffi_i_saver *s, TVMFFIAny *part, int *holds) {
  tvmffi_i_saving *f = TVMFFI_I_TOP(tvmffi_i_saving, &s->frames);
  const tvmffi_i_seq *seq = (const tvmffi_i_seq *)(void *)f->object;
  int32_t index = f->object->type_index;
  const tvmffi_i_pair *pair;
  *holds = 1;
  if (f->with_fields) return tvmffi_i_save_fields(s, part);
  *holds = index == kTVMFFIList || index == kTVMFFIDict;
  if (index == kTVMFFIArray || index == kTVMFFIList) {
    if (f->at >= (uint64_t)seq->cell.size) return 0;
    *part = TVMFFI_I_ITEMS(seq)[f->at++];
  } else {
    pair = tvmffi_i_map_pair(f->object, f->at);
    if (!pair) return 0;
    *part = f->on_value ? pair->value : pair->key;
    if (f->on_value) f->at = tvmffi_i_map_after(f->object, f->at);
    f->on_value = !f->on_value;
  }
  if (*holds) *part = tvmffi_i_copy_owned(part);
  return 1;
}

/* Makes the data (owned) of a value: indices, or a map of what the
   fields have. */
static int tvmffi_i_parts_data(const tvmffi_i_saver *s,
                               const tvmffi_i_saving *f, TVMFFIAny *data) {
  tvmffi_i_field_walk w;
  size_t n = s->num_parts - f->base, i;
  const TVMFFIAny *parts = n ? s->parts + f->base : NULL;
  TVMFFIAny *items = NULL;
  TVMFFIObject *made;
  const TVMFFIFieldInfo *field;
  int code = 0;
  if (!f->with_fields) {
    made = tvmffi_i_new_array((int64_t)n, &items);
    if (!made) return -1;
    if (n) memcpy((void *)items, parts, n * sizeof(*items));
    *data = tvmffi_obj(made);
    return 0;
  }
  made = tvmffi_i_new_map(kTVMFFIMap, 0);
  if (!made) return -1;
  w = tvmffi_i_walk_fields(f->walk.type);
  for (i = 0; i < n && !code && (field = tvmffi_i_next_field(&w)); ++i)
    code =
        tvmffi_i_set_named(&made, field->name, tvmffi_i_copy_owned(&parts[i]));
  *data = tvmffi_obj(made);
  if (code) tvmffi_release(made);
  return code;
}

/* Which of an object's `n` data has the name of field `i`: the last, and -1 if
   a field before that has it, too, as in a map that they are put into. */
static int64_t tvmffi_i_named_data(const TVMFFITypeInfo *type, int64_t n,
                                   int64_t i, TVMFFIByteArray name) {
  tvmffi_i_field_walk w = tvmffi_i_walk_fields(type);
  const TVMFFIFieldInfo *field;
  int64_t k, last = i;
  for (k = 0; k < n && (field = tvmffi_i_next_field(&w)) != NULL; ++k) {
    if (k == i || field->name.size != name.size ||
        memcmp(field->name.data, name.data, name.size) != 0)
      continue;
    if (k < i) return -1;
    last = k;
  }
  return last;
}

static int tvmffi_i_write_fields(tvmffi_i_saver *s, const tvmffi_i_saving *f) {
  tvmffi_i_text_buffer *b = &s->writer.text;
  tvmffi_i_field_walk w = tvmffi_i_walk_fields(f->walk.type);
  const TVMFFIFieldInfo *field;
  int64_t i, k, n = (int64_t)(s->num_parts - f->base);
  int any = 0;
  tvmffi_i_text_char(b, '{');
  for (i = 0; i < n && (field = tvmffi_i_next_field(&w)) != NULL; ++i) {
    k = tvmffi_i_named_data(f->walk.type, n, i, field->name);
    if (k < 0) continue;
    if (any) tvmffi_i_text_char(b, ',');
    any = 1;
    tvmffi_i_json_put_string(b, field->name);
    tvmffi_i_text_char(b, ':');
    TVMFFI_TRY(tvmffi_i_json_write(&s->writer, &s->parts[f->base + (size_t)k]));
  }
  tvmffi_i_text_char(b, '}');
  return 0;
}

static void tvmffi_i_write_indices(tvmffi_i_saver *s, size_t base) {
  tvmffi_i_text_buffer *b = &s->writer.text;
  size_t i;
  tvmffi_i_text_char(b, '[');
  for (i = base; i < s->num_parts; ++i) {
    if (i != base) tvmffi_i_text_char(b, ',');
    tvmffi_i_text_int(b, s->parts[i].v_int64);
  }
  tvmffi_i_text_char(b, ']');
}

/* Ends the innermost value, all parts of which have nodes. */
static int tvmffi_i_leave_saving(tvmffi_i_saver *s) {
  tvmffi_i_saving *f = TVMFFI_I_TOP(tvmffi_i_saving, &s->frames);
  TVMFFIAny data = tvmffi_none();
  int code = 0;
  if (!s->as_text) {
    TVMFFI_TRY(tvmffi_i_parts_data(s, f, &data));
    code = tvmffi_i_append_node(s, f->object->type_index, &data);
    tvmffi_any_release(&data);
  } else {
    tvmffi_i_begin_node(s, f->object->type_index);
    tvmffi_i_text_str(&s->writer.text, ",\"data\":");
    if (f->with_fields)
      code = tvmffi_i_write_fields(s, f);
    else
      tvmffi_i_write_indices(s, f->base);
    if (!code) code = tvmffi_i_end_node(s);
  }
  if (code) return code;
  s->saved[f->saved].index = s->num_nodes++;
  if (f->with_fields)
    while (s->num_parts > f->base)
      tvmffi_any_release(&s->parts[--s->num_parts]);
  s->num_parts = f->base;
  TVMFFI_I_POP(tvmffi_i_saving, &s->frames);
  return 0;
}

/* Makes the nodes of a value (borrowed) and its parts; gives its index. */
static int tvmffi_i_save(tvmffi_i_saver *s, const TVMFFIAny *root,
                         int64_t *index) {
  TVMFFIAny part = *root;
  size_t saved = 0;
  int code = 1, holds = 0;
  for (;;) {
    if (code) {
      size_t depth = s->frames.depth;
      code = tvmffi_i_find_saved(s, part, holds, &saved);
      if (code < 0) return code;
      if (code && s->saved[saved].index < 0)
        return tvmffi_i_saving_cycle(s, saved);
      if (!code) TVMFFI_TRY(tvmffi_i_save_value(s, saved));
      if (s->frames.depth > depth) goto next;
    } else {
      saved = TVMFFI_I_TOP(tvmffi_i_saving, &s->frames)->saved;
      TVMFFI_TRY(tvmffi_i_leave_saving(s));
    }
    *index = s->saved[saved].index;
    if (!s->frames.depth) return 0;
    TVMFFI_TRY(tvmffi_i_add_part(s, tvmffi_int(*index)));
  next:
    code = tvmffi_i_next_part(s, &part, &holds);
    if (code < 0) return code;
  }
}

static const char tvmffi_i_graph_head[] = "{\"root_index\":";

/* Ends the text, and puts the root's index into its place at the front. */
static int tvmffi_i_graph_text(tvmffi_i_saver *s, int64_t index,
                               const TVMFFIAny *metadata, TVMFFIAny *out) {
  tvmffi_i_text_buffer *b = &s->writer.text;
  const size_t at = sizeof(tvmffi_i_graph_head) - 1;
  size_t end, size;
  char number[24];
  tvmffi_i_text_char(b, ']');
  if (metadata->type_index != kTVMFFINone) {
    tvmffi_i_text_str(b, ",\"metadata\":");
    TVMFFI_TRY(tvmffi_i_json_write(&s->writer, metadata));
  }
  tvmffi_i_text_char(b, '}');
  end = b->size;
  tvmffi_i_text_int(b, index);
  if (b->failed) return tvmffi_i_no_memory();
  size = b->size - end;
  memcpy(number, b->data + end, size);
  memmove(b->data + at + size, b->data + at, end - at);
  memcpy(b->data + at, number, size);
  return tvmffi_i_text_take(b, out);
}

static int tvmffi_i_finish_saving(tvmffi_i_saver *s, int64_t index,
                                  const TVMFFIAny *metadata, TVMFFIAny *out) {
  tvmffi_i_seq *list = (tvmffi_i_seq *)(void *)s->nodes;
  TVMFFIObject *graph, *nodes;
  TVMFFIAny *items = NULL;
  int code;
  if (s->as_text) return tvmffi_i_graph_text(s, index, metadata, out);
  nodes = tvmffi_i_new_array(list->cell.size, &items);
  graph = nodes ? tvmffi_i_new_map(kTVMFFIMap, 0) : NULL;
  if (!graph) {
    tvmffi_release(nodes);
    return -1;
  }
  memcpy((void *)items, list->cell.data,
         (size_t)list->cell.size * sizeof(*items));
  list->cell.size = 0;
  code =
      tvmffi_i_set_named(&graph, tvmffi_view("root_index"), tvmffi_int(index));
  *out = tvmffi_obj(nodes);
  if (code)
    tvmffi_release(nodes);
  else
    code = tvmffi_i_set_named(&graph, tvmffi_view("nodes"), *out);
  if (!code && metadata->type_index != kTVMFFINone)
    code = tvmffi_i_set_named(&graph, tvmffi_view("metadata"),
                              tvmffi_i_copy_owned(metadata));
  *out = tvmffi_obj(graph);
  if (code) tvmffi_any_release(out);
  return code;
}

/* Both arguments are owned by the caller and left alone. */
static int tvmffi_i_to_graph(const TVMFFIAny *value, const TVMFFIAny *metadata,
                             int as_text, TVMFFIAny *out) {
  tvmffi_i_saver s;
  int64_t index = 0;
  int code = 0;
  memset((void *)&s, 0, sizeof(s));
  tvmffi_i_stack_open(&s.frames, NULL, 0);
  s.as_text = as_text;
  if (as_text) {
    tvmffi_i_text_str(&s.writer.text, tvmffi_i_graph_head);
    tvmffi_i_text_str(&s.writer.text, ",\"nodes\":[");
  } else {
    s.nodes = tvmffi_i_new_list(0);
    if (!s.nodes) return -1;
  }
  code = tvmffi_i_save(&s, value, &index);
  if (!code) code = tvmffi_i_finish_saving(&s, index, metadata, out);
  while (s.num_parts) tvmffi_any_release(&s.parts[--s.num_parts]);
  while (s.num_saved) tvmffi_any_release(&s.saved[--s.num_saved].value);
  tvmffi_i_stack_close(&s.frames);
  tvmffi_i_free(s.parts);
  tvmffi_i_free(s.saved);
  tvmffi_i_free(s.places);
  tvmffi_i_text_release(&s.writer.text);
  tvmffi_i_free(s.writer.levels);
  tvmffi_release(s.nodes);
  return code;
}

static int tvmffi_i_call_to_graph(const TVMFFIAny *value,
                                  const TVMFFIAny *metadata, int as_text,
                                  TVMFFIAny *out) {
  TVMFFIAny owned = tvmffi_none(), about = tvmffi_none();
  int code = tvmffi_i_own(value, &owned);
  if (!code) code = tvmffi_i_own(metadata, &about);
  if (!code) code = tvmffi_i_to_graph(&owned, &about, as_text, out);
  tvmffi_any_release(&owned);
  tvmffi_any_release(&about);
  return code;
}

/* -------- Nodes to values -------- */

/* A value that is being made of its parts. */
typedef struct {
  int64_t node;
  int32_t type_index;
  int on_key;         /* a map: its key is next, the value is in `value` */
  TVMFFIObject *data; /* owned: an array of indices, or a map of fields */
  TVMFFIObject *made; /* owned */
  TVMFFIAny value;    /* owned */
  int64_t at;
  const TVMFFIFieldInfo *field;
  tvmffi_i_field_walk walk;
} tvmffi_i_loading;

/* What is known of a node: nothing yet, its type and data, or its value. */
enum {
  TVMFFI_I_UNKNOWN,
  TVMFFI_I_NODE_READ,
  TVMFFI_I_IN_PROGRESS,
  TVMFFI_I_KNOWN
};
typedef struct {
  TVMFFIAny value; /* owned: the value, or the data of a node that is read */
  int32_t type_index;
  int state;
} tvmffi_i_loaded;

typedef struct {
  const TVMFFIAny *nodes; /* borrowed; NULL of a text, where all are read */
  tvmffi_i_loaded *loaded;
  size_t num_nodes, room_nodes;
  tvmffi_i_stack frames;
} tvmffi_i_loader;

static int tvmffi_i_cast_int(const TVMFFIAny *value, int64_t *out) {
  *out = value->v_int64;
  return TVMFFI_I_IS_INT(value) ? 0 : tvmffi_i_bad_cast(value, "int");
}

static int tvmffi_i_cast_str(const TVMFFIAny *value, TVMFFIByteArray *out) {
  return tvmffi_i_get_str(value, out) ? tvmffi_i_bad_cast(value, "str") : 0;
}

/* Gives a map (owned) of a map or dict. */
static int tvmffi_i_cast_map(const TVMFFIAny *value, TVMFFIObject **out) {
  if (value->type_index != kTVMFFIMap && value->type_index != kTVMFFIDict)
    return tvmffi_i_bad_cast(value, "Map<Any, Any>");
  if (value->type_index == kTVMFFIDict)
    *out = tvmffi_i_map_copy(value->v_obj, kTVMFFIMap);
  else
    tvmffi_retain(*out = value->v_obj);
  return *out ? 0 : -1;
}

/* Gives an array (owned) of an array or list. */
static int tvmffi_i_cast_array(const TVMFFIAny *value, TVMFFIObject **out) {
  TVMFFIAny made = tvmffi_none();
  if (value->type_index != kTVMFFIArray && value->type_index != kTVMFFIList)
    return tvmffi_i_bad_cast(value, "Array<Any>");
  if (value->type_index == kTVMFFIArray)
    made = tvmffi_i_copy_owned(value);
  else
    TVMFFI_TRY(tvmffi_i_convert_seq(TVMFFI_I_CELL(TVMFFISeqCell, value->v_obj),
                                    kTVMFFIArray, &made));
  *out = made.v_obj;
  return 0;
}

/* The items of an array or list of integers (borrowed). */
static int tvmffi_i_cast_ints(const TVMFFIAny *value,
                              const TVMFFISeqCell **out) {
  const TVMFFISeqCell *cell;
  const TVMFFIAny *items;
  int64_t i;
  if (value->type_index != kTVMFFIArray && value->type_index != kTVMFFIList)
    return tvmffi_i_bad_cast(value, "Array<int>");
  *out = cell = TVMFFI_I_CELL(TVMFFISeqCell, value->v_obj);
  items = (const TVMFFIAny *)cell->data;
  for (i = 0; i < cell->size; ++i)
    if (!TVMFFI_I_IS_INT(&items[i]))
      return tvmffi_i_fail("TypeError",
                           "Cannot convert from type `Array[index %lld: %s]` "
                           "to `Array<int>`",
                           (long long)i,
                           tvmffi_i_type_key(items[i].type_index));
  return 0;
}

/* Gives the value (borrowed) of a name that a map must have. */
static int tvmffi_i_get_named(TVMFFIObject *map, const char *name,
                              const TVMFFIAny **out) {
  TVMFFIAny key = tvmffi_str(name);
  *out = tvmffi_i_map_lookup(map, &key);
  if (*out == &tvmffi_i_map_failed) return -1;
  return *out ? 0 : tvmffi_i_fail("KeyError", "key is not in Map");
}

/* Makes a value of one of the plain types, as a field or a node has it. */
static int tvmffi_i_load_plain(int32_t type_index, const TVMFFIAny *data,
                               TVMFFIAny *out) {
  TVMFFIByteArray text;
  int64_t number;
  switch (type_index) {
    case kTVMFFIBool:
      if (!TVMFFI_I_IS_INT(data)) return tvmffi_i_bad_cast(data, "bool");
      *out = tvmffi_bool(data->v_int64 != 0);
      return 0;
    case kTVMFFIInt:
      TVMFFI_TRY(tvmffi_i_cast_int(data, &number));
      *out = tvmffi_int(number);
      return 0;
    case kTVMFFIFloat:
      if (data->type_index != kTVMFFIFloat && !TVMFFI_I_IS_INT(data))
        return tvmffi_i_bad_cast(data, "float");
      *out = data->type_index == kTVMFFIFloat
                 ? *data
                 : tvmffi_i_double_of(tvmffi_i_int_to_double(data->v_int64));
      return 0;
    case kTVMFFIDataType:
      TVMFFI_TRY(tvmffi_i_cast_str(data, &text));
      *out = tvmffi_none();
      TVMFFI_TRY(TVMFFIDataTypeFromString(&text, &out->v_dtype));
      out->type_index = kTVMFFIDataType;
      return 0;
    default: *out = tvmffi_none(); return 0;
  }
}

static int tvmffi_i_load_device(const TVMFFIAny *data, TVMFFIAny *out) {
  const TVMFFISeqCell *cell = NULL;
  const TVMFFIAny *items;
  DLDevice device;
  TVMFFI_TRY(tvmffi_i_cast_ints(data, &cell));
  if (cell->size != 2)
    return tvmffi_i_fail("ValueError",
                         "Invalid JSON Object Graph: Device data must be an "
                         "array of [device_type, device_id], got %lld "
                         "element(s)",
                         (long long)cell->size);
  items = (const TVMFFIAny *)cell->data;
  device.device_type = (DLDeviceType)(int32_t)items[0].v_int64;
  device.device_id = (int32_t)items[1].v_int64;
  *out = tvmffi_device(device);
  return 0;
}

/* Finds the object (owned then) of an enumeration by its index. */
static int tvmffi_i_load_enum(int32_t type_index, const TVMFFIAny *data,
                              TVMFFIAny *out) {
  static tvmffi_i_known_column column = {"__ffi_enum__", NULL};
  const TVMFFIAny *state, *found = NULL;
  const char *key = tvmffi_i_type_key(type_index);
  int is_int = tvmffi_is_instance(type_index, TVMFFI_I_INT_ENUM);
  TVMFFIByteArray text = {"", 0};
  int64_t number = 0;
  TVMFFIAny index;
  if (is_int)
    TVMFFI_TRY(tvmffi_i_cast_int(data, &number));
  else
    TVMFFI_TRY(tvmffi_i_cast_str(data, &text));
  index = is_int ? tvmffi_int(number) : *data;
  state = tvmffi_i_type_attr(&column, type_index);
  if (state && state->type_index != TVMFFI_I_ENUM_STATE)
    return tvmffi_i_not_as(state, "ffi.EnumState");
  if (state)
    found = tvmffi_i_map_lookup(
        ((const tvmffi_i_enum_state *)state->v_ptr)->indexes, &index);
  if (found == &tvmffi_i_map_failed) return -1;
  if (found && (found->type_index < kTVMFFIStaticObjectBegin ||
                !tvmffi_is_instance(found->type_index, TVMFFI_I_ENUM_BASE)))
    return tvmffi_i_not_as(found, "ffi.Enum");
  if (found) {
    *out = tvmffi_i_copy_owned(found);
    return 0;
  }
  if (is_int)
    return tvmffi_i_fail("ValueError",
                         "Enum `%s` has no instance with index %lld", key,
                         (long long)number);
  return tvmffi_i_fail("ValueError",
                       "Enum `%s` has no instance with index %.*s", key,
                       TVMFFI_I_TEXT(text));
}

/* Begins a value that has parts. */
static int tvmffi_i_enter_loading(tvmffi_i_loader *l, int64_t node,
                                  int32_t type_index, const TVMFFIAny *data) {
  tvmffi_i_loading *f = TVMFFI_I_PUSH(tvmffi_i_loading, &l->frames, NULL);
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(type_index);
  TVMFFISeqCell *cell;
  TVMFFIAny *items = NULL;
  int code;
  if (!f) return -1;
  memset((void *)f, 0, sizeof(*f));
  f->node = node;
  f->type_index = type_index;
  switch (type_index) {
    case kTVMFFIArray:
    case kTVMFFIList:
    case kTVMFFIMap:
    case kTVMFFIDict:
      TVMFFI_TRY(tvmffi_i_cast_array(data, &f->data));
      cell = TVMFFI_I_CELL(TVMFFISeqCell, f->data);
      code = 0;
      if (type_index == kTVMFFIArray)
        f->made = tvmffi_i_new_array(cell->size, &items);
      else if (type_index == kTVMFFIList)
        f->made = tvmffi_i_new_list(cell->size);
      else if (cell->size % 2 == 0)
        f->made = tvmffi_i_new_map(type_index, 0);
      else
        code = tvmffi_i_fail("ValueError",
                             "Invalid JSON Object Graph: Map/Dict data must "
                             "contain an even number of [key, value] entries, "
                             "got %lld",
                             (long long)cell->size);
      if (!f->made) code = -1;
      break;
    default:
      code = tvmffi_i_make_empty(type, &f->made);
      if (!code) code = tvmffi_i_cast_map(data, &f->data);
      f->walk = tvmffi_i_walk_fields(type);
  }
  l->loaded[node].state = TVMFFI_I_IN_PROGRESS;
  return code;
}

/* Gives the type of a node, and its data, which are borrowed from it. */
static int tvmffi_i_look_at_node(TVMFFIObject *node, int32_t *type_index,
                                 const TVMFFIAny **data) {
  const TVMFFIAny *type = NULL;
  TVMFFIByteArray text = {NULL, 0};
  TVMFFI_TRY(tvmffi_i_get_named(node, "type", &type));
  TVMFFI_TRY(tvmffi_i_cast_str(type, &text));
  TVMFFI_TRY(TVMFFITypeKeyToIndex(&text, type_index));
  if (*type_index == kTVMFFINone) return 0;
  return tvmffi_i_get_named(node, "data", data);
}

/* Makes the value of a node of its data, or begins one that has parts. */
static int tvmffi_i_load_data(tvmffi_i_loader *l, int64_t node, int32_t index,
                              const TVMFFIAny *data, TVMFFIAny *value) {
  const TVMFFISeqCell *cell = NULL;
  const TVMFFIAny *hook;
  TVMFFIByteArray text = {NULL, 0};
  switch (index) {
    case kTVMFFINone:
    case kTVMFFIBool:
    case kTVMFFIInt:
    case kTVMFFIFloat:
    case kTVMFFIDataType: return tvmffi_i_load_plain(index, data, value);
    case kTVMFFIDevice: return tvmffi_i_load_device(data, value);
    case kTVMFFIStr:
      TVMFFI_TRY(tvmffi_i_cast_str(data, &text));
      *value = tvmffi_i_copy_owned(data);
      return 0;
    case kTVMFFIBytes:
      TVMFFI_TRY(tvmffi_i_cast_str(data, &text));
      return tvmffi_i_from_base64(text, value);
    case kTVMFFIShape:
      TVMFFI_TRY(tvmffi_i_cast_ints(data, &cell));
      return tvmffi_i_convert_shape(cell, value);
    case kTVMFFIArray:
    case kTVMFFIList:
    case kTVMFFIMap:
    case kTVMFFIDict: return tvmffi_i_enter_loading(l, node, index, data);
    default: break;
  }
  if (tvmffi_is_instance(index, TVMFFI_I_ENUM_BASE))
    return tvmffi_i_load_enum(index, data, value);
  hook = tvmffi_i_type_attr(&tvmffi_i_from_json_column, index);
  if (hook) return tvmffi_i_call_attr_value(hook, data, 1, kTVMFFIAny, value);
  return tvmffi_i_enter_loading(l, node, index, data);
}

/* Makes the value of a node, or begins one that has parts. */
static int tvmffi_i_load_node(tvmffi_i_loader *l, int64_t node) {
  tvmffi_i_loaded *loaded = &l->loaded[node];
  TVMFFIAny value = tvmffi_none(), held = tvmffi_none();
  TVMFFIObject *map = NULL;
  const TVMFFIAny *data = &held;
  size_t depth = l->frames.depth;
  int code = 0;
  if (loaded->state == TVMFFI_I_NODE_READ) {
    held = loaded->value;
    loaded->value = tvmffi_none();
  } else {
    code = tvmffi_i_cast_map(&l->nodes[node], &map);
    if (!code) code = tvmffi_i_look_at_node(map, &loaded->type_index, &data);
  }
  if (!code)
    code = tvmffi_i_load_data(l, node, loaded->type_index, data, &value);
  tvmffi_any_release(&held);
  tvmffi_release(map);
  if (code || l->frames.depth > depth) return code;
  loaded->value = value;
  loaded->state = TVMFFI_I_KNOWN;
  return 0;
}

/* Sets fields up to the next one whose value is a node: 1 with its index, 0 if
   there is none left, or an error's code. */
static int tvmffi_i_load_fields(tvmffi_i_loading *f, int64_t *index) {
  while ((f->field = tvmffi_i_next_field(&f->walk))) {
    const TVMFFIFieldInfo *field = f->field;
    TVMFFIAny name = tvmffi_none(), value = tvmffi_none();
    const TVMFFIAny *data;
    int32_t type_index = field->field_static_type_index;
    int code;
    TVMFFI_TRY(TVMFFIStringFromByteArray(&field->name, &name));
    data = tvmffi_i_map_lookup(f->data, &name);
    tvmffi_any_release(&name);
    if (data == &tvmffi_i_map_failed) return -1;
    if (!data) {
      if (!(field->flags & kTVMFFIFieldFlagBitMaskHasDefault))
        return tvmffi_i_fail(
            "TypeError", "Required field `%.*s` not set in type `%s`",
            TVMFFI_I_TEXT(field->name), tvmffi_i_type_key(f->type_index));
      TVMFFI_TRY(tvmffi_i_make_default(field, &value));
    } else if (type_index == kTVMFFINone || type_index == kTVMFFIBool ||
               type_index == kTVMFFIInt || type_index == kTVMFFIFloat ||
               type_index == kTVMFFIDataType) {
      TVMFFI_TRY(tvmffi_i_load_plain(type_index, data, &value));
    } else {
      TVMFFI_TRY(tvmffi_i_cast_int(data, index));
      return 1;
    }
    code = tvmffi_i_set_field(field, f->made, &value);
    tvmffi_any_release(&value);
    if (code) return code;
  }
  return 0;
}

/* Gives the index of the next part: 1, 0 if there is none left, or an error's
   code. Of each pair upstream makes the value first. */
static int tvmffi_i_next_node_index(tvmffi_i_loading *f, int64_t *index) {
  const TVMFFISeqCell *cell;
  const TVMFFIAny *items;
  int64_t key;
  if (f->type_index != kTVMFFIArray && f->type_index != kTVMFFIList &&
      f->type_index != kTVMFFIMap && f->type_index != kTVMFFIDict)
    return tvmffi_i_load_fields(f, index);
  cell = TVMFFI_I_CELL(TVMFFISeqCell, f->data);
  items = (const TVMFFIAny *)cell->data;
  if (f->at >= cell->size) return 0;
  if (f->type_index == kTVMFFIMap || f->type_index == kTVMFFIDict) {
    TVMFFI_TRY(tvmffi_i_cast_int(&items[f->at], &key));
    if (!f->on_key) TVMFFI_TRY(tvmffi_i_cast_int(&items[f->at + 1], &key));
    *index = key;
    return 1;
  }
  TVMFFI_TRY(tvmffi_i_cast_int(&items[f->at], index));
  return 1;
}

/* Takes the next part (borrowed) in. */
static int tvmffi_i_feed_loading(tvmffi_i_loading *f, const TVMFFIAny *part) {
  TVMFFIAny value = f->value;
  int code;
  switch (f->type_index) {
    case kTVMFFIArray:
      TVMFFI_I_ITEMS((tvmffi_i_seq *)(void *)f->made)
      [f->at++] = tvmffi_i_copy_owned(part);
      return 0;
    case kTVMFFIList: ++f->at; return tvmffi_i_list_append(f->made, part);
    case kTVMFFIMap:
    case kTVMFFIDict:
      f->on_key = !f->on_key;
      if (f->on_key) {
        f->value = tvmffi_i_copy_owned(part);
        return 0;
      }
      f->at += 2;
      f->value = tvmffi_none();
      code = tvmffi_i_map_set(&f->made, part, &value);
      tvmffi_any_release(&value);
      return code;
    default: break;
  }
  return tvmffi_i_set_field(f->field, f->made, part);
}

/* Makes the value of a node and of all that it names, on l->loaded. */
static int tvmffi_i_load(tvmffi_i_loader *l, int64_t root) {
  int64_t node = root;
  tvmffi_i_loading *f;
  int code = 1;
  do {
    if (code) {
      if (node < 0 || (uint64_t)node >= l->num_nodes)
        return tvmffi_i_fail("ValueError",
                             "Invalid JSON Object Graph: invalid node index "
                             "%lld",
                             (long long)node);
      if (l->loaded[node].state == TVMFFI_I_IN_PROGRESS)
        return tvmffi_i_fail("ValueError",
                             "Invalid JSON Object Graph: node %lld refers to "
                             "itself",
                             (long long)node);
      if (l->loaded[node].state != TVMFFI_I_KNOWN)
        TVMFFI_TRY(tvmffi_i_load_node(l, node));
    } else {
      f = TVMFFI_I_TOP(tvmffi_i_loading, &l->frames);
      node = f->node;
      l->loaded[node].value = tvmffi_obj(f->made);
      l->loaded[node].state = TVMFFI_I_KNOWN;
      tvmffi_release(f->data);
      TVMFFI_I_POP(tvmffi_i_loading, &l->frames);
    }
    if (!l->frames.depth) return 0;
    f = TVMFFI_I_TOP(tvmffi_i_loading, &l->frames);
    if (l->loaded[node].state == TVMFFI_I_KNOWN)
      TVMFFI_TRY(tvmffi_i_feed_loading(f, &l->loaded[node].value));
    code = tvmffi_i_next_node_index(f, &node);
  } while (code >= 0);
  return code;
}

static void tvmffi_i_end_loading(tvmffi_i_loader *l) {
  for (; l->frames.depth; TVMFFI_I_POP(tvmffi_i_loading, &l->frames)) {
    tvmffi_i_loading *f = TVMFFI_I_TOP(tvmffi_i_loading, &l->frames);
    tvmffi_release(f->made);
    tvmffi_release(f->data);
    tvmffi_any_release(&f->value);
  }
  while (l->num_nodes) tvmffi_any_release(&l->loaded[--l->num_nodes].value);
  tvmffi_i_free(l->loaded);
  tvmffi_i_stack_close(&l->frames);
}

static int tvmffi_i_load_graph(const TVMFFIAny *graph, TVMFFIAny *out) {
  TVMFFIAny key = tvmffi_str("root_index");
  const TVMFFIAny *root, *nodes;
  tvmffi_i_loader l;
  size_t n;
  int code;
  if (graph->type_index != kTVMFFIMap)
    return tvmffi_i_fail("ValueError",
                         "Invalid JSON Object Graph, expected an object");
  root = tvmffi_i_map_lookup(graph->v_obj, &key);
  if (!root || root->type_index != kTVMFFIInt)
    return tvmffi_i_fail("ValueError",
                         "Invalid JSON Object Graph, expected `root_index` "
                         "integer field");
  key = tvmffi_str("nodes");
  nodes = tvmffi_i_map_lookup(graph->v_obj, &key);
  if (!nodes || nodes->type_index != kTVMFFIArray)
    return tvmffi_i_fail("ValueError",
                         "Invalid JSON Object Graph, expected `nodes` array "
                         "field");
  memset((void *)&l, 0, sizeof(l));
  tvmffi_i_stack_open(&l.frames, NULL, 0);
  l.nodes = TVMFFI_I_ITEMS((const tvmffi_i_seq *)nodes->v_ptr);
  n = (size_t)((const tvmffi_i_seq *)nodes->v_ptr)->cell.size;
  if (n > PTRDIFF_MAX / sizeof(*l.loaded) - 1) return tvmffi_i_no_memory();
  l.loaded = (tvmffi_i_loaded *)tvmffi_i_alloc((n + 1) * sizeof(*l.loaded));
  if (!l.loaded) return tvmffi_i_no_memory();
  memset((void *)l.loaded, 0, (n + 1) * sizeof(*l.loaded));
  l.num_nodes = n;
  code = tvmffi_i_load(&l, root->v_int64);
  if (!code) *out = tvmffi_i_copy_owned(&l.loaded[root->v_int64].value);
  tvmffi_i_end_loading(&l);
  return code;
}

/* -------- Texts as they are written -------- */

/* A text that is word for word what ToJSONGraphString writes is read node by
   node, without the maps that any JSON would become. Values of built-in types
   whose parts are before them are made at once; what might run other code, or
   fail, is left until it is asked for. Any other text, and any error, is left
   to the parser of all JSON: here, functions give 1 if they go on, else 0 or
   an error's code. */
typedef struct {
  tvmffi_i_json_reader r;
  tvmffi_i_loader l;
  int64_t *parts; /* the indices of one node */
  size_t num_parts, room_parts;
} tvmffi_i_graph_reader;

/* Goes past a literal, if it stands here. */
#define TVMFFI_I_READ_WORD(r, word)                       \
  ((size_t)((r)->end - (r)->at) >= sizeof("" word) - 1 && \
   memcmp((r)->at, word, sizeof("" word) - 1) == 0 &&     \
   ((r)->at += sizeof("" word) - 1) != NULL)

/* Where a value ends that stands in an object; it is not looked at. */
static const char *tvmffi_i_json_extent(const char *p, const char *end) {
  size_t depth = 0;
  for (; p != end; ++p) {
    if (*p == '"') {
      for (++p; p != end && *p != '"'; ++p)
        if (*p == '\\' && ++p == end) return p;
      if (p == end) return p;
    } else if (*p == '{' || *p == '[') {
      ++depth;
    } else if (*p == '}' || *p == ']') {
      if (!depth--) return p;
    }
  }
  return p;
}

static int tvmffi_i_read_any(tvmffi_i_graph_reader *g, TVMFFIAny *out) {
  TVMFFIByteArray text;
  text.data = g->r.at;
  g->r.at = tvmffi_i_json_extent(g->r.at, g->r.end);
  text.size = (size_t)(g->r.at - text.data);
  TVMFFI_TRY(tvmffi_i_json_parse(text, out));
  return 1;
}

TVMFFI_I_INLINE int tvmffi_i_read_index(tvmffi_i_json_reader *r, int64_t *out) {
  const char *p = r->at, *end = r->end;
  int64_t x = 0;
  for (; tvmffi_i_is_digit(p, end) && p - r->at < 18; ++p)
    x = x * 10 + (*p - '0');
  *out = x;
  if (p == r->at || tvmffi_i_is_digit(p, end)) return 0;
  r->at = p;
  return 1;
}

/* Reads indices onto g->parts. */
static int tvmffi_i_read_indices(tvmffi_i_graph_reader *g) {
  int64_t x;
  g->num_parts = 0;
  ++g->r.at;
  if (tvmffi_i_json_peek(&g->r) == ']') return ++g->r.at, 1;
  for (;; ++g->r.at) {
    TVMFFI_I_PUSH_ROOM(int64_t, g->parts, g->num_parts, g->room_parts);
    if (!tvmffi_i_read_index(&g->r, &x)) return 0;
    g->parts[g->num_parts++] = x;
    if (tvmffi_i_json_peek(&g->r) != ',') break;
  }
  if (tvmffi_i_json_peek(&g->r) != ']') return 0;
  ++g->r.at;
  return 1;
}

/* Makes a map of parts that are known; one with a key twice is not made. */
static int tvmffi_i_join_map(tvmffi_i_graph_reader *g, int32_t index,
                             TVMFFIAny *out) {
  size_t n = g->num_parts, i;
  tvmffi_i_map_object *m;
  int code = 0;
  if (n % 2) return 0;
  *out = tvmffi_obj(tvmffi_i_new_map(index, (int64_t)(n / 2)));
  m = (tvmffi_i_map_object *)out->v_ptr;
  if (!m) return -1;
  for (i = 0; i < n && !code; i += 2)
    code = tvmffi_i_map_set_in(m, &g->l.loaded[g->parts[i]].value,
                               &g->l.loaded[g->parts[i + 1]].value);
  if (!code && tvmffi_i_map_size(&m->base) == (int64_t)(n / 2)) return 1;
  tvmffi_any_release(out);
  return code;
}

/* Makes the container of g->parts, or if they are not yet known its data. */
static int tvmffi_i_join_parts(tvmffi_i_graph_reader *g,
                               tvmffi_i_loaded *node) {
  int32_t index = node->type_index;
  size_t n = g->num_parts, i;
  TVMFFIAny *items = NULL;
  TVMFFIObject *made;
  for (i = 0; i < n; ++i)
    if ((uint64_t)g->parts[i] >= g->l.num_nodes ||
        g->l.loaded[g->parts[i]].state != TVMFFI_I_KNOWN)
      break;
  node->state = i == n ? TVMFFI_I_KNOWN : TVMFFI_I_NODE_READ;
  if (i == n && (index == kTVMFFIMap || index == kTVMFFIDict))
    return tvmffi_i_join_map(g, index, &node->value);
  if (i == n && index == kTVMFFIList) {
    made = tvmffi_i_new_list((int64_t)n);
    items = made ? TVMFFI_I_ITEMS((tvmffi_i_seq *)(void *)made) : NULL;
    if (made) TVMFFI_I_CELL(TVMFFISeqCell, made)->size = (int64_t)n;
  } else {
    made = tvmffi_i_new_array((int64_t)n, &items);
  }
  if (!made) return -1;
  node->value = tvmffi_obj(made);
  if (node->state == TVMFFI_I_KNOWN)
    for (i = 0; i < n; ++i)
      items[i] = tvmffi_i_copy_owned(&g->l.loaded[g->parts[i]].value);
  else
    for (i = 0; i < n; ++i) items[i] = tvmffi_int(g->parts[i]);
  return 1;
}

/* Reads the data of a node whose type is known. */
static int tvmffi_i_read_data(tvmffi_i_graph_reader *g, tvmffi_i_loaded *node) {
  tvmffi_i_json_reader *r = &g->r;
  const char *end;
  int c = tvmffi_i_json_peek(r);
  node->state = TVMFFI_I_KNOWN;
  switch (node->type_index) {
    case kTVMFFIStr:
      if (c != '"') return 0;
      end = tvmffi_i_json_string(r, r->at, 0, &node->value);
      if (!end) return -1;
      r->at = end;
      return 1;
    case kTVMFFIBool:
      node->value = tvmffi_bool(c == 't');
      return tvmffi_i_json_match(r, c == 't' ? "true" : "false");
    case kTVMFFIInt:
    case kTVMFFIFloat:
      if (c == '"' || c == '{' || c == '[' || c == 't' || c == 'f') return 0;
      end = tvmffi_i_json_number(r, r->at, &node->value);
      if (!end) return -1;
      r->at = end;
      return node->value.type_index == node->type_index;
    case kTVMFFIArray:
    case kTVMFFIList:
    case kTVMFFIMap:
    case kTVMFFIDict:
      if (c != '[') return 0;
      if (tvmffi_i_read_indices(g) != 1) return 0;
      return tvmffi_i_join_parts(g, node);
    default: break;
  }
  node->state = TVMFFI_I_NODE_READ;
  return tvmffi_i_read_any(g, &node->value);
}

/* Reads a node from behind the quote of its type's key to its data, if any. */
static int tvmffi_i_read_type(tvmffi_i_json_reader *r, int32_t *index) {
#define TVMFFI_I_READ_TYPE(key, i) \
  if (TVMFFI_I_READ_WORD(r, key "\",\"data\":")) return *index = (i), 1;
  const char *p;
  TVMFFIByteArray key;
  const tvmffi_i_type *type;
  TVMFFI_I_READ_TYPE("int", kTVMFFIInt)
  TVMFFI_I_READ_TYPE("ffi.String", kTVMFFIStr)
  TVMFFI_I_READ_TYPE("float", kTVMFFIFloat)
  TVMFFI_I_READ_TYPE("ffi.Array", kTVMFFIArray)
  TVMFFI_I_READ_TYPE("ffi.Map", kTVMFFIMap)
#undef TVMFFI_I_READ_TYPE
  for (p = r->at; p != r->end && *p != '"' && *p != '\\';) ++p;
  key.data = r->at;
  key.size = (size_t)(p - key.data);
  r->at = p;
  if (!TVMFFI_I_READ_WORD(r, "\"")) return 0;
  type = tvmffi_i_type_by_key(&key);
  if (!type) return 0;
  *index = type->info.type_index;
  return *index == kTVMFFINone || TVMFFI_I_READ_WORD(r, ",\"data\":");
}

/* Reads the next node, from its brace on. */
static int tvmffi_i_read_node(tvmffi_i_graph_reader *g) {
  tvmffi_i_loader *l = &g->l;
  tvmffi_i_loaded node;
  int code;
  if (!TVMFFI_I_READ_WORD(&g->r, "{\"type\":\"")) return 0;
  TVMFFI_I_PUSH_ROOM(tvmffi_i_loaded, l->loaded, l->num_nodes, l->room_nodes);
  node.value = tvmffi_none();
  node.state = TVMFFI_I_KNOWN;
  if (!tvmffi_i_read_type(&g->r, &node.type_index)) return 0;
  if (node.type_index != kTVMFFINone) {
    code = tvmffi_i_read_data(g, &node);
    if (code != 1) return code;
  }
  l->loaded[l->num_nodes++] = node;
  return TVMFFI_I_READ_WORD(&g->r, "}");
}

TVMFFI_I_NOINLINE int tvmffi_i_read_graph(tvmffi_i_graph_reader *g,
                                          int64_t *root) {
  tvmffi_i_json_reader *r = &g->r;
  TVMFFIAny metadata;
  int code;
  g->l.room_nodes = (size_t)(r->end - r->at) / 32 + 1;
  g->l.loaded =
      (tvmffi_i_loaded *)tvmffi_i_alloc(g->l.room_nodes * sizeof(*g->l.loaded));
  if (!g->l.loaded) return tvmffi_i_no_memory();
  if (!tvmffi_i_json_match(r, tvmffi_i_graph_head) ||
      !tvmffi_i_read_index(r, root) || !TVMFFI_I_READ_WORD(r, ",\"nodes\":["))
    return 0;
  do {
    code = tvmffi_i_read_node(g);
    if (code != 1) return code;
  } while (TVMFFI_I_READ_WORD(r, ","));
  if (!TVMFFI_I_READ_WORD(r, "]")) return 0;
  if (TVMFFI_I_READ_WORD(r, ",\"metadata\":")) {
    code = tvmffi_i_read_any(g, &metadata);
    if (code != 1) return code;
    tvmffi_any_release(&metadata);
  }
  return TVMFFI_I_READ_WORD(r, "}") && r->at == r->end;
}

static int tvmffi_i_load_text(TVMFFIByteArray text, TVMFFIAny *out) {
  tvmffi_i_graph_reader g;
  TVMFFIAny graph;
  int64_t root = 0;
  int code, is_read;
  memset((void *)&g, 0, sizeof(g));
  tvmffi_i_stack_open(&g.l.frames, NULL, 0);
  g.r.begin = g.r.at = text.data;
  g.r.end = text.data + text.size;
  TVMFFI_TRY(tvmffi_i_start_types());
  code = tvmffi_i_read_graph(&g, &root);
  is_read = code == 1;
  if (is_read) {
    code = tvmffi_i_load(&g.l, root);
    if (!code) *out = tvmffi_i_copy_owned(&g.l.loaded[root].value);
  } else if (code) {
    graph = tvmffi_i_take_error();
    tvmffi_any_release(&graph);
  }
  tvmffi_i_end_loading(&g.l);
  tvmffi_i_free(g.parts);
  tvmffi_i_text_release(&g.r.text);
  if (is_read) return code;
  TVMFFI_TRY(tvmffi_i_json_parse(text, &graph));
  code = tvmffi_i_load_graph(&graph, out);
  tvmffi_any_release(&graph);
  return code;
}

TVMFFI_FUNC(i_to_json_graph, any, (i_view, value), (i_view, metadata)) {
  return tvmffi_i_call_to_graph(value, metadata, 0, tvmffi_result);
}

TVMFFI_FUNC(i_to_json_graph_string, str, (i_view, value), (i_view, metadata)) {
  return tvmffi_i_call_to_graph(value, metadata, 1, tvmffi_result);
}

TVMFFI_FUNC(i_from_json_graph, any, (i_view, value)) {
  TVMFFIAny graph = tvmffi_none();
  int code;
  TVMFFI_TRY(tvmffi_i_own(value, &graph));
  code = tvmffi_i_load_graph(&graph, tvmffi_result);
  tvmffi_any_release(&graph);
  return code;
}

TVMFFI_FUNC(i_from_json_graph_string, any, (str, text)) {
  return tvmffi_i_load_text(text, tvmffi_result);
}
#endif /* !TVMFFI_NO_EXTRA */

/* ======== Builtins ============================================= >>builtins */
/* The core's own global functions, in one table. They are static objects in
   static entries, so the table starts without memory but for its slots. */

TVMFFI_FUNC(i_invalid_object, object) {
  TVMFFI_RETURN(&tvmffi_i_invalid_object);
}
TVMFFI_FUNC(i_kwargs_object, object) { TVMFFI_RETURN(&tvmffi_i_kwargs_object); }

TVMFFI_FUNC(i_string, str, (str, text)) { TVMFFI_RETURN(text); }
TVMFFI_FUNC(i_bytes, bytes, (bytes, data)) { TVMFFI_RETURN(data); }

TVMFFI_FUNC(i_remove_global, bool, (str, name)) {
  TVMFFI_RETURN(tvmffi_i_remove_global(&name) != 0);
}

/* The metadata of a global function: its own, or that of a built-in one. */
TVMFFI_FUNC(i_global_metadata, str, (str, name)) {
  tvmffi_i_global *g = tvmffi_i_find_global(&name);
  const tvmffi_i_about *about;
  const tvmffi_func *typed;
  TVMFFIByteArray text = {"", 0};
  char *copy;
  uint32_t side;
  int code;
  if (!g || !TVMFFI_I_LOAD(&g->function))
    return tvmffi_i_fail("RuntimeError", "Global Function is not found: %.*s",
                         TVMFFI_I_TEXT(name));
  TVMFFI_I_ENTER(g, side);
  about = TVMFFI_I_LOAD_SEQ(&g->about);
  typed = about ? about->typed : NULL;
  if (about) text = about->metadata;
  copy = (char *)tvmffi_i_alloc(text.size + 1);
  if (copy && text.size) memcpy(copy, text.data, text.size);
  TVMFFI_I_LEAVE(g, side);
  if (typed) {
    tvmffi_i_free(copy);
    return tvmffi_i_return_metadata(typed, tvmffi_result);
  }
  /* Only now, as an error that is raised may release another, and with it
     what replaces this function and waits for its readers. */
  if (!copy) return tvmffi_i_no_memory();
  text.data = copy;
  code = TVMFFIStringFromByteArray(&text, tvmffi_result);
  tvmffi_i_free(copy);
  return code;
}

TVMFFI_FUNC(i_from_extern_c, func, (ptr, self), (ptr, safe_call),
            (ptr, deleter)) {
  TVMFFIObjectHandle f = NULL;
  TVMFFI_TRY(TVMFFIFunctionCreate(self,
                                  (TVMFFISafeCallType)(uintptr_t)safe_call,
                                  (void (*)(void *))(uintptr_t)deleter, &f));
  TVMFFI_RETURN((TVMFFIObject *)f);
}

/* The names at the time of the call: views of keys, which live for ever. */
typedef struct {
  int64_t count;
  TVMFFIByteArray name[1];
} tvmffi_i_names;

static int tvmffi_i_name_at(void *self, const TVMFFIAny *args, int32_t num_args,
                            TVMFFIAny *result) {
  const tvmffi_i_names *names = (const tvmffi_i_names *)self;
  int64_t i = 0;
  TVMFFI_TRY(tvmffi_i_get_index(args, num_args, result, &i));
  if (i >= names->count)
    return tvmffi_i_fail("IndexError", "Index %lld out of bounds %lld",
                         (long long)i, (long long)names->count);
  if (i >= 0) return TVMFFIStringFromByteArray(&names->name[i], result);
  *result = tvmffi_int(names->count);
  return 0;
}

TVMFFI_FUNC(i_list_names, func) {
  tvmffi_i_node *node;
  tvmffi_i_names *names;
  TVMFFIObjectHandle f = NULL;
  size_t n = 0, i = 0;
  for (node = TVMFFI_I_LOAD(&tvmffi_i_globals.first); node;
       node = TVMFFI_I_LOAD(&node->next))
    ++n;
  names = (tvmffi_i_names *)tvmffi_i_alloc(sizeof(*names) +
                                           n * sizeof(TVMFFIByteArray));
  if (!names) return tvmffi_i_no_memory();
  for (node = TVMFFI_I_LOAD(&tvmffi_i_globals.first); node && n;
       node = TVMFFI_I_LOAD(&node->next), --n) {
    if (!TVMFFI_I_LOAD(&((tvmffi_i_global *)(void *)node)->function)) continue;
    names->name[i].data = node->key;
    names->name[i++].size = node->size;
  }
  names->count = (int64_t)i;
  if (TVMFFIFunctionCreate(names, tvmffi_i_name_at, tvmffi_i_free, &f)) {
    tvmffi_i_free(names);
    return -1;
  }
  TVMFFI_RETURN((TVMFFIObject *)f);
}

static int tvmffi_call_i_shape(void *self, const TVMFFIAny *args,
                               int32_t num_args, TVMFFIAny *result) {
  int64_t *numbers = NULL;
  tvmffi_i_shape *shape = tvmffi_i_new_shape((size_t)num_args, &numbers);
  int32_t i;
  (void)self;
  if (!shape) return -1;
  for (i = 0; i < num_args; ++i) {
    if (tvmffi_i_get_int64(&args[i], &numbers[i])) {
      tvmffi_release(shape);
      return tvmffi_i_fail("ValueError",
                           "Expect shape to take list of int arguments");
    }
  }
  *result = tvmffi_obj(shape);
  return 0;
}
static tvmffi_func tvmffi_func_i_shape = {"ffi.Shape", tvmffi_call_i_shape, -1,
                                          NULL};

#if TVMFFI_DEBUG
/* Notes a place at which an object was handed out (the first one counts), or
   its last reference dropped. */
TVMFFI_FUNC(i_debug_note, none, (ptr, object), (bool, released), (str, place)) {
  tvmffi_i_record *r;
  size_t skip = place.size > 55 ? place.size - 55 : 0;
  tvmffi_i_debug_lock();
  r = *tvmffi_i_record_of(object);
  if (r && (released || !r->made[0]))
    (void)tvmffi_i_debug_put(!released    ? r->made
                             : r->is_dead ? r->again
                                          : r->released,
                             0, sizeof(r->made), place.data + skip);
  tvmffi_i_debug_unlock();
  TVMFFI_RETURN();
}

TVMFFI_FUNC(i_debug_live, int64, (int32, type_index)) {
  int64_t n = 0;
  size_t i;
  tvmffi_i_debug_lock();
  for (i = 0; i < TVMFFI_I_NUM_RECORDS; ++i) {
    const tvmffi_i_record *r;
    for (r = tvmffi_i_records[i]; r; r = r->next)
      n += !r->is_dead &&
           (type_index == kTVMFFIAny || r->type_index == type_index);
  }
  tvmffi_i_debug_unlock();
  TVMFFI_RETURN(n);
}

/* Live objects of one type that were handed out at one place. */
typedef struct {
  const tvmffi_i_record *first;
  int32_t count;
} tvmffi_i_leak;
enum { TVMFFI_I_NUM_LEAKS = 32 };

/* Sorts the live objects with a place into groups; gives how many objects are
   in none because the groups did not suffice. */
static int32_t tvmffi_i_debug_group(tvmffi_i_leak *leaks, int32_t *num_leaks) {
  int32_t k, n = 0, others = 0;
  size_t i;
  for (i = 0; i < TVMFFI_I_NUM_RECORDS; ++i) {
    const tvmffi_i_record *r;
    for (r = tvmffi_i_records[i]; r; r = r->next) {
      if (r->is_dead || !r->made[0]) continue;
      for (k = 0; k < n && (leaks[k].first->type_index != r->type_index ||
                            strcmp(leaks[k].first->made, r->made) != 0);
           ++k) {
      }
      if (k == TVMFFI_I_NUM_LEAKS) {
        ++others;
        continue;
      }
      if (k == n) {
        leaks[n].first = r;
        leaks[n++].count = 0;
      }
      ++leaks[k].count;
    }
  }
  *num_leaks = n;
  return others;
}

/* A text with a line for each type and place of live objects that were handed
   out; the pointers get their number, and that of releases of dead ones. */
TVMFFI_FUNC(i_debug_report, any, (ptr, num_live), (ptr, num_complaints)) {
  char text[TVMFFI_I_NUM_LEAKS * 160 + sizeof(tvmffi_i_complaint)], digits[12];
  tvmffi_i_leak leaks[TVMFFI_I_NUM_LEAKS];
  TVMFFIAny result = tvmffi_none();
  TVMFFIByteArray bytes = {text, 0};
  int32_t k, num_leaks = 0, others, live;
  size_t n = 0, size = sizeof(text);
  tvmffi_i_debug_lock();
  live = others = tvmffi_i_debug_group(leaks, &num_leaks);
  n = tvmffi_i_debug_put(text, n, size, tvmffi_i_complaint);
  for (k = 0; k < num_leaks; ++k) {
    live += leaks[k].count;
    n = tvmffi_i_debug_put(text, n, size,
                           tvmffi_i_decimal(digits, leaks[k].count));
    n = tvmffi_i_debug_put(text, n, size, " x ");
    n = tvmffi_i_debug_put(text, n, size,
                           tvmffi_i_type_key(leaks[k].first->type_index));
    n = tvmffi_i_debug_put(text, n, size, ", handed out at ");
    n = tvmffi_i_debug_put(text, n, size, leaks[k].first->made);
    n = tvmffi_i_debug_put(text, n, size, "\n");
  }
  if (others) {
    n = tvmffi_i_debug_put(text, n, size, tvmffi_i_decimal(digits, others));
    n = tvmffi_i_debug_put(text, n, size, " x others\n");
  }
  if (num_live) *(int64_t *)num_live = live;
  if (num_complaints) *(int64_t *)num_complaints = tvmffi_i_num_complaints;
  tvmffi_i_num_complaints = 0;
  tvmffi_i_complaint[0] = 0;
  tvmffi_i_debug_unlock();
  bytes.size = n;
  TVMFFI_TRY(TVMFFIStringFromByteArray(&bytes, &result));
  TVMFFI_RETURN(result);
}
#endif

typedef struct {
  const char *name;
  tvmffi_func *typed;
} tvmffi_i_builtin;
static const tvmffi_i_builtin tvmffi_i_builtins[] = {
    {"ffi.GetInvalidObject", &tvmffi_func_i_invalid_object},
    {"ffi.GetKwargsObject", &tvmffi_func_i_kwargs_object},
    {"ffi.String", &tvmffi_func_i_string},
    {"ffi.Bytes", &tvmffi_func_i_bytes},
    {"ffi.Shape", &tvmffi_func_i_shape},
    {"ffi.FunctionRemoveGlobal", &tvmffi_func_i_remove_global},
    {"ffi.FunctionListGlobalNamesFunctor", &tvmffi_func_i_list_names},
    {"ffi.GetGlobalFuncMetadata", &tvmffi_func_i_global_metadata},
#if !TVMFFI_NO_CONTAINERS
    {"ffi.Array", &tvmffi_func_i_new_array},
    {"ffi.ArrayGetItem", &tvmffi_func_i_array_get},
    {"ffi.ArraySize", &tvmffi_func_i_array_size},
    {"ffi.ArrayContains", &tvmffi_func_i_array_contains},
    {"ffi.List", &tvmffi_func_i_new_list},
    {"ffi.ListGetItem", &tvmffi_func_i_list_get},
    {"ffi.ListSetItem", &tvmffi_func_i_list_set},
    {"ffi.ListSize", &tvmffi_func_i_list_size},
    {"ffi.ListContains", &tvmffi_func_i_list_contains},
    {"ffi.ListAppend", &tvmffi_func_i_list_append},
    {"ffi.ListInsert", &tvmffi_func_i_list_insert},
    {"ffi.ListPop", &tvmffi_func_i_list_pop},
    {"ffi.ListErase", &tvmffi_func_i_list_erase},
    {"ffi.ListEraseRange", &tvmffi_func_i_list_erase_range},
    {"ffi.ListReplaceSlice", &tvmffi_func_i_list_replace},
    {"ffi.ListReverse", &tvmffi_func_i_list_reverse},
    {"ffi.ListClear", &tvmffi_func_i_list_clear},
    {"ffi.ListReserve", &tvmffi_func_i_list_reserve},
    {"ffi.Map", &tvmffi_func_i_map},
    {"ffi.MapSize", &tvmffi_func_i_map_size},
    {"ffi.MapGetItem", &tvmffi_func_i_map_get_item},
    {"ffi.MapGetItemOrMissing", &tvmffi_func_i_map_get_item_or_missing},
    {"ffi.MapCount", &tvmffi_func_i_map_count},
    {"ffi.MapForwardIterFunctor", &tvmffi_func_i_map_iterator},
    {"ffi.Dict", &tvmffi_func_i_dict},
    {"ffi.DictSize", &tvmffi_func_i_dict_size},
    {"ffi.DictGetItem", &tvmffi_func_i_dict_get_item},
    {"ffi.DictGetItemOrMissing", &tvmffi_func_i_dict_get_item_or_missing},
    {"ffi.DictCount", &tvmffi_func_i_dict_count},
    {"ffi.DictSetItem", &tvmffi_func_i_dict_set_item},
    {"ffi.DictErase", &tvmffi_func_i_dict_erase},
    {"ffi.DictClear", &tvmffi_func_i_dict_clear},
    {"ffi.DictForwardIterFunctor", &tvmffi_func_i_dict_iterator},
    {"ffi.ContainerFindFirstNonCPUDevice", &tvmffi_func_i_first_device},
    {"ffi.MakeObjectFromPackedArgs", &tvmffi_func_i_make_object},
    {"ffi.MakeFieldGetter", &tvmffi_func_i_make_getter},
    {"ffi.MakeFieldSetter", &tvmffi_func_i_make_setter},
    {"ffi._RegisterFFIInit", &tvmffi_func_i_set_init},
    {"ffi._PyClassRegisterTypeAttrColumns", &tvmffi_func_i_set_py_class},
    {"ffi.GetRegisteredTypeKeys", &tvmffi_func_i_type_keys},
    {"ffi.VisitInterrupt", &tvmffi_func_i_visit_interrupt},
    {"ffi.DeepCopy", &tvmffi_func_i_deep_copy},
    {"ffi.Module.load_from_file.so", &tvmffi_func_i_module_load_so},
    {"ffi.ModuleLoadFromFile", &tvmffi_func_i_module_load},
    {"ffi.ModuleImplementsFunction", &tvmffi_func_i_module_has},
    {"ffi.ModuleGetFunctionMetadata", &tvmffi_func_i_module_metadata},
    {"ffi.ModuleGetFunctionDoc", &tvmffi_func_i_module_doc},
    {"ffi.ModuleGetFunction", &tvmffi_func_i_module_get},
    {"ffi.ModuleGetPropertyMask", &tvmffi_func_i_module_mask},
    {"ffi.ModuleInspectSource", &tvmffi_func_i_module_inspect},
    {"ffi.ModuleGetKind", &tvmffi_func_i_module_kind},
    {"ffi.ModuleGetWriteFormats", &tvmffi_func_i_module_write_formats},
    {"ffi.ModuleWriteToFile", &tvmffi_func_i_module_write},
    {"ffi.ModuleImportModule", &tvmffi_func_i_module_import},
    {"ffi.ModuleClearImports", &tvmffi_func_i_module_clear},
    {"ffi.ModuleGlobalsAdd", &tvmffi_func_i_module_keep},
    {"ffi.ModuleGlobalsRemove", &tvmffi_func_i_module_unkeep},
    {"ffi.SystemLib", &tvmffi_func_i_system_lib},
#endif
#if !TVMFFI_NO_EXTRA
    {"ffi.ReprPrint", &tvmffi_func_i_repr_print},
    {"ffi.RecursiveHash", &tvmffi_func_i_recursive_hash},
    {"ffi.RecursiveEq", &tvmffi_func_i_recursive_eq},
    {"ffi.RecursiveLt", &tvmffi_func_i_recursive_lt},
    {"ffi.RecursiveLe", &tvmffi_func_i_recursive_le},
    {"ffi.RecursiveGt", &tvmffi_func_i_recursive_gt},
    {"ffi.RecursiveGe", &tvmffi_func_i_recursive_ge},
    {"ffi.StructuralEqual", &tvmffi_func_i_structural_equal},
    {"ffi.GetFirstStructuralMismatch", &tvmffi_func_i_structural_mismatch},
    {"ffi.StructuralHash", &tvmffi_func_i_structural_hash},
    {"ffi.StructuralKey", &tvmffi_func_i_new_structural_key},
    {"ffi.StructuralKeyEqual", &tvmffi_func_i_structural_key_equal},
    {"ffi.StructuralVisit", &tvmffi_func_i_structural_visit},
    {"ffi.StructuralWalk", &tvmffi_func_i_structural_walk},
    {"ffi.StructuralMap", &tvmffi_func_i_structural_map},
    {"ffi.StructuralMutate", &tvmffi_func_i_structural_mutate},
    {"ffi.StructuralVisitorVisit", &tvmffi_func_i_visitor_visit},
    {"ffi.StructuralVisitorDefaultVisit", &tvmffi_func_i_visitor_default},
    {"ffi.StructuralVisitorDefRegionKind", &tvmffi_func_i_visitor_region},
    {"ffi.StructuralVisitorWithDefRegionKind",
     &tvmffi_func_i_visitor_in_region},
    {"ffi.StructuralMutatorMutate", &tvmffi_func_i_mutator_mutate},
    {"ffi.StructuralMutatorDefaultMutate", &tvmffi_func_i_mutator_default},
    {"ffi.StructuralMutatorDefRegionKind", &tvmffi_func_i_mutator_region},
    {"ffi.StructuralMutatorWithDefRegionKind",
     &tvmffi_func_i_mutator_in_region},
    {"ffi.StructuralMutatorVarRemapGet", &tvmffi_func_i_mutator_get},
    {"ffi.StructuralMutatorVarRemapSet", &tvmffi_func_i_mutator_set},
    {"ffi.VisitErrorContext.FindAccessPaths", &tvmffi_func_i_find_access_paths},
    {"ffi.json.Parse", &tvmffi_func_i_json_parse},
    {"ffi.json.Stringify", &tvmffi_func_i_json_stringify},
    {"ffi.ToJSONGraph", &tvmffi_func_i_to_json_graph},
    {"ffi.ToJSONGraphString", &tvmffi_func_i_to_json_graph_string},
    {"ffi.FromJSONGraph", &tvmffi_func_i_from_json_graph},
    {"ffi.FromJSONGraphString", &tvmffi_func_i_from_json_graph_string},
#endif
#if TVMFFI_DEBUG
    {"tvmffi.DebugNote", &tvmffi_func_i_debug_note},
    {"tvmffi.DebugLive", &tvmffi_func_i_debug_live},
    {"tvmffi.DebugReport", &tvmffi_func_i_debug_report},
#endif
    {"ffi.FunctionFromExternC", &tvmffi_func_i_from_extern_c}};
enum {
  TVMFFI_I_NUM_BUILTINS =
      sizeof(tvmffi_i_builtins) / sizeof(tvmffi_i_builtins[0])
};
static tvmffi_i_function_object tvmffi_i_builtin_objects[TVMFFI_I_NUM_BUILTINS];
static tvmffi_i_global tvmffi_i_builtin_entries[TVMFFI_I_NUM_BUILTINS];
static tvmffi_i_about tvmffi_i_builtin_abouts[TVMFFI_I_NUM_BUILTINS];

TVMFFI_I_COLD int tvmffi_i_start_globals(void) {
  static int started;
  int code = 0, i;
  if (TVMFFI_I_LOAD(&started)) return 0;
  tvmffi_i_lock();
  for (i = 0; i < TVMFFI_I_NUM_BUILTINS && !TVMFFI_I_LOAD(&started); ++i) {
    tvmffi_i_function_object *f = &tvmffi_i_builtin_objects[i];
    tvmffi_i_global *g = &tvmffi_i_builtin_entries[i];
    const char *name = tvmffi_i_builtins[i].name;
    if (g->function) continue;
    code = tvmffi_i_reserve(&tvmffi_i_globals, 0);
    if (code) break;
    f->base.combined_ref_count = TVMFFI_I_PINNED | TVMFFI_I_WEAK_ONE;
    f->base.type_index = kTVMFFIFunction;
    f->cell.safe_call = tvmffi_i_builtins[i].typed->call;
    g->function = &f->base;
    g->about = &tvmffi_i_builtin_abouts[i];
    tvmffi_i_builtin_abouts[i].typed = tvmffi_i_builtins[i].typed;
    tvmffi_i_builtins[i].typed->name = name;
    tvmffi_i_insert(&tvmffi_i_globals, &g->node, name, strlen(name));
  }
  if (code == 0) TVMFFI_I_STORE(&started, 1);
  tvmffi_i_unlock();
  return code ? tvmffi_i_no_memory() : 0;
}

/* ======== Dynamic =============================================== >>dynamic */
/* With TVMFFI_DYNAMIC the first call of a function of the ABI decides, once for
   all files that share the table: for the process's libtvm_ffi if all 50
   functions of a compatible version are there, else for the runtime above. A
   library that is loaded later changes nothing: this program or library then
   has types, global functions and errors of its own. The library that was
   chosen must stay loaded. No lock is held while the loader is asked, as its
   own may be held by who waits for ours. */

#if TVMFFI_DYNAMIC
#define TVMFFI_I_OWN(name) name,
#define TVMFFI_I_QUOTED(name) #name,
static const tvmffi_i_api tvmffi_i_embedded = {
    TVMFFI_I_EACH_FUNCTION(TVMFFI_I_OWN)};
#if !TVMFFI_STATIC
const tvmffi_i_api *tvmffi_i_chosen;
#endif

TVMFFI_STATIC_ASSERT(sizeof(tvmffi_i_api) == 50 * sizeof(void *), api_size);

#if TVMFFI_NO_DLOPEN || defined(_WIN32)
static int tvmffi_i_find_runtime(tvmffi_i_api *out) { return (void)out, 0; }
#else
#include <dlfcn.h>

static int tvmffi_i_find_in(void *library, tvmffi_i_api *out) {
  static const char *const names[] = {TVMFFI_I_EACH_FUNCTION(TVMFFI_I_QUOTED)};
  void *found[sizeof(names) / sizeof(names[0])];
  TVMFFIVersion version;
  size_t i;
  if (!library) return 0;
  for (i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
    found[i] = dlsym(library, names[i]);
    if (!found[i]) return 0;
  }
  memcpy(out, found, sizeof(*out));
  out->at_TVMFFIGetVersion(&version);
  return version.major == TVM_FFI_VERSION_MAJOR &&
         version.minor == TVM_FFI_VERSION_MINOR;
}

/* Among what the program and RTLD_GLOBAL show to all, then by the library's
   name, as a library that was loaded for itself alone has to be asked for. */
static int tvmffi_i_find_runtime(tvmffi_i_api *out) {
#if defined(__APPLE__)
  const char *name = "@rpath/libtvm_ffi.dylib";
#else
  const char *name = "libtvm_ffi.so";
#endif
  return tvmffi_i_find_in(dlopen(NULL, RTLD_LAZY), out) ||
         tvmffi_i_find_in(dlopen(name, RTLD_LAZY | RTLD_NOLOAD), out);
}
#endif

/* The thread that comes first writes the table; others wait for a copy. */
const tvmffi_i_api *tvmffi_i_choose(void) {
  static tvmffi_i_api table;
  static void *claimed;
  tvmffi_i_api found;
  const tvmffi_i_api *choice = &tvmffi_i_embedded;
  int is_found = tvmffi_i_find_runtime(&found);
  if (tvmffi_i_cas_pointer(&claimed, NULL, &table)) {
    if (is_found) {
      table = found;
      choice = &table;
    }
    TVMFFI_I_STORE(&tvmffi_i_chosen, choice);
  }
  while (!TVMFFI_I_LOAD(&tvmffi_i_chosen)) tvmffi_i_yield();
  return TVMFFI_I_LOAD(&tvmffi_i_chosen);
}

#undef TVMFFI_I_RENAME
#define TVMFFI_I_RENAME(name) (tvmffi_i_runtime()->at_##name)
#endif /* TVMFFI_DYNAMIC */

#endif /* TVMFFI_IMPLEMENTATION */

/* In a file built with TVMFFI_DEBUG its calls tell where they stand. */
#if TVMFFI_DEBUG && defined(TVMFFI_INTERFACE) && !defined(tvmffi_release)
#define tvmffi_release(obj) tvmffi_i_drop(obj, TVMFFI_I_PLACE)
#define tvmffi_any_release(any) tvmffi_i_any_drop(any, TVMFFI_I_PLACE)
#if defined(__cplusplus) && !defined(tvmffi_call)
#define tvmffi_call(...) (TVMFFI_I_HERE tvmffi_call(__VA_ARGS__))
#define tvmffi_array(...) (TVMFFI_I_HERE tvmffi_array(__VA_ARGS__))
#define tvmffi_list(...) (TVMFFI_I_HERE tvmffi_list(__VA_ARGS__))
#define tvmffi_map(...) (TVMFFI_I_HERE tvmffi_map(__VA_ARGS__))
#define tvmffi_dict(...) (TVMFFI_I_HERE tvmffi_dict(__VA_ARGS__))
#define tvmffi_shape(...) (TVMFFI_I_HERE tvmffi_shape(__VA_ARGS__))
#endif
#endif
