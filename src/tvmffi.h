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
   file instead, if there is one (>>interface/scope). Strings of up to 7 bytes
   live inside the Any and own nothing. A count that reaches 2^31 is pinned: the
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

   PORTS

   Four profiles of this one file. Hosted is the default. TVMFFI_NO_THREADS has
   one thread. TVMFFI_FREESTANDING has no libc: it includes only the compiler's
   own headers, prints nothing, and brings memcpy and its like as weak symbols;
   memory is an arena, or yours. A kernel, or an operating system of your own,
   is freestanding with the hooks below. Hooks are macros, defined before this
   file is included, best in a header of the port: with
   -DTVMFFI_PORT='"port.h"' this file begins by including it, and the options
   may stand there as well. All files of a program must have the same port.

     TVMFFI_NO_HEADERS        1: the port declares what <stdint.h>, <stddef.h>
                              and <stdarg.h> do; nothing is included here
     TVMFFI_NO_OWN_STRING     1: the port declares memcpy, memmove, memset,
                              memcmp, memchr, strlen, strcmp, strchr and
                              strrchr, and the program has them
     TVMFFI_ARENA_SIZE        all memory is so many bytes, reserved statically
     TVMFFI_MALLOC(size)      memory, aligned to 8 bytes at least, or NULL. It
                              must not call the runtime
     TVMFFI_FREE(pointer)     gives it back; never NULL
     TVMFFI_LOCK()            one mutex of the runtime: a leaf, held shortly,
     TVMFFI_UNLOCK()          never taken twice, never while code of yours runs
     TVMFFI_YIELD()           another thread, please: in a loop that waits
     TVMFFI_THREAD_LOCAL(key, size)
                              `size` bytes that belong to the running thread (or
                              task, or whatever has an error slot of its own)
                              and to the pointer `key`: zero at first, at the
                              same place each time, aligned to 8; never NULL
     TVMFFI_AT_THREAD_END(function, state)
                              1 if function(state) will be called by the thread
                              at its end: releases its last error; 0 if not
     TVMFFI_ATOMIC_CAS(p, old, now)
                              *p = now if *p == old, a full barrier; gives what
                              stood there. For uint64_t, uint32_t and pointers
     TVMFFI_ATOMIC_LOAD(p)    *p, with acquire order: these, and int
     TVMFFI_ATOMIC_STORE(p, value)
                              *p = value, with release order
     TVMFFI_ATOMIC_ENTER()    for one core without such instructions: masks
                              interrupts and gives what they were, a uintptr_t
     TVMFFI_ATOMIC_LEAVE(was) puts that back

   Threads in a freestanding build (TVMFFI_NO_THREADS=0 asks for them) need the
   lock, the thread's state and atomics: the compiler's, the three by CAS, or
   ENTER and LEAVE. What of these a hosted port has replaces libc's.

   CONTENTS

     @contents@
*/

/* This file is C too: its casts are C's. What a macro puts into the user's text
   has casts of C++ there (TVMFFI_I_AS). */
#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

#ifndef TVMFFI_H_
#define TVMFFI_H_

#include "head/config.h"
#include "head/compiler.h"
#include "head/atomic.h"
#include "head/dlpack.h"
#include "head/abi.h"

#endif /* TVMFFI_H_ */

#if !defined(TVMFFI_INTERFACE) && \
    (!TVMFFI_ABI_ONLY || defined(TVMFFI_IMPLEMENTATION))
#define TVMFFI_INTERFACE

#include "interface/value.h"
#include "interface/error.h"
#include "interface/knot.h"
#include "interface/scope.h"
#include "interface/word.h"
#include "interface/compound.h"
#include "interface/map_layout.h"
#include "interface/global_cache.h"
#include "interface/convert.h"
#include "interface/mismatch.h"
#include "interface/schema.h"
#include "interface/function.h"
#include "interface/call.h"
#include "interface/container.h"
#include "interface/print.h"
#include "interface/leak.h"
#include "interface/expect.h"
#include "interface/tensor.h"
#include "interface/class.h"
#include "interface/class_member.h"
#include "interface/class_object.h"
#include "interface/class_init.h"
#include "interface/type.h"
#include "interface/legacy.h"

#endif /* TVMFFI_INTERFACE */

#if defined(TVMFFI_IMPLEMENTATION) && !defined(TVMFFI_IMPLEMENTED)
#define TVMFFI_IMPLEMENTED

/* The runtime's own releases are not those of the user's code. */
#undef tvmffi_release
#undef tvmffi_any_release

/* The runtime's own functions raise when they fail. */
#undef TVMFFI_I_CHECKED
#define TVMFFI_I_CHECKED(f, code) (code)

/* From here on the functions of the ABI are those that are defined below. */
#if TVMFFI_DYNAMIC
#undef TVMFFI_I_RENAME
#define TVMFFI_I_RENAME(name) TVMFFI_I_RENAME_(TVMFFI_PREFIX, name)
#endif

#include "platform/layout.h"
#include "platform/libc.h"
#include "platform/arena.h"
#include "platform/thread_state.h"
#include "platform/knot.h"
#include "platform/thread.h"
#include "platform/memory.h"
#include "platform/hash.h"
#include "platform/name_table.h"
#include "platform/stack.h"
#include "platform/text.h"
#include "platform/decimal.h"
#include "core/raise.h"
#include "core/knot.h"
#include "core/object.h"
#include "core/allocator.h"
#include "core/string.h"
#include "core/bigint.h"
#include "core/any.h"
#include "core/symbol.h"
#include "core/unwind.h"
#include "core/backtrace.h"
#include "core/error.h"
#include "core/type_table.h"
#include "core/type_member.h"
#include "core/type_attribute.h"
#include "core/function.h"
#include "core/global.h"
#include "core/dtype.h"
#include "core/tensor.h"
#include "containers/shape.h"
#include "containers/equal.h"
#include "containers/sequence.h"
#include "containers/sequence_function.h"
#include "containers/map_key.h"
#include "containers/map_lookup.h"
#include "containers/map_memory.h"
#include "containers/map_grow.h"
#include "containers/map.h"
#include "containers/map_function.h"
#include "graph/find_device.h"
#include "modules/symbol.h"
#include "modules/library.h"
#include "modules/import.h"
#include "modules/module.h"
#include "modules/load.h"
#include "modules/system_library.h"
#include "modules/module_function.h"
#include "modules/lookup.h"
#include "modules/stream.h"
#include "modules/environment.h"
#include "modules/once.h"
#include "reflection/field.h"
#include "reflection/access.h"
#include "reflection/construct.h"
#include "reflection/dataclass.h"
#include "reflection/enum.h"
#include "reflection/access_path.h"
#include "reflection/creator.h"
#include "reflection/convert.h"
#include "reflection/copy.h"
#include "extra/number_text.h"
#include "extra/knot.h"
#include "extra/bigint_text.h"
#include "extra/graph.h"
#include "extra/hook.h"
#include "extra/repr.h"
#include "extra/recursive_hash.h"
#include "extra/recursive_compare.h"
#include "extra/bigint_hook.h"
#include "extra/structural.h"
#include "extra/structural_equal.h"
#include "extra/structural_hash.h"
#include "extra/structural_function.h"
#include "extra/visit.h"
#include "extra/visit_container.h"
#include "extra/visit_callback.h"
#include "extra/visit_run.h"
#include "extra/visit_error.h"
#include "extra/visit_function.h"
#include "extra/json_read.h"
#include "extra/json_write.h"
#include "extra/base64.h"
#include "extra/bigint_json.h"
#include "extra/graph_save.h"
#include "extra/graph_load.h"
#include "extra/graph_text.h"
#include "tables/type_attribute.h"
#include "tables/type_content.h"
#include "tables/type_field.h"
#include "tables/type.h"
#include "tables/builtin.h"
#include "tables/dynamic.h"

#undef TVMFFI_I_CHECKED
#define TVMFFI_I_CHECKED(f, code) tvmffi_i_checked(f, code)

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

#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
