/* tvmffi.h - the TVM FFI in one C header. Version @version@.

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
         if (TVMFFI_REGISTER("demo.square", square)) return 1;
         return tvmffi_call("demo.square", &nine, 3) || nine != 9;
       }

       cc program.c -lpthread

   Plain values in a call need C11 or C++. In C99, make each value by its
   constructor: tvmffi_int(3), tvmffi_str("demo.square").

   A struct that Python sees as a class. A function's body is a scope, which
   releases the objects that are made in it. TVMFFI_RETURN gives the caller a
   reference of its own, and tvmffi_keep makes a variable own one:

       typedef struct { TVMFFIObject base; double x, y; } Point;
       TVMFFI_TYPE(Point, "demo.Point", TVMFFIObject,
                   (field, float64, x), (field, float64, y, 0.0))
       static Point *last;
       TVMFFI_FUNC(corner, list, (float64, x)) {
         Point *p = TVMFFI_NEW(Point, x);
         tvmffi_keep(&last, p);
         TVMFFI_RETURN(tvmffi_list(1, "two", p));
       }

   LINKING

   In exactly one C or C++ file of a program, define TVMFFI_IMPLEMENTATION
   before the include; all other files only include it. A library that is
   loaded into a process with a libtvm_ffi does not define it. With
   TVMFFI_STATIC the runtime is private to one file; with TVMFFI_PREFIX the
   exported functions get other names, so that two copies live in one program;
   with TVMFFI_DYNAMIC the file's runtime is used only if the process has no
   libtvm_ffi. Nothing runs at load: the first use initializes the runtime.

   OWNERSHIP

   A handle (TVMFFIObjectHandle) or an owned TVMFFIAny is one strong
   reference. "Borrowed": the callee may use it during the call. "Owned": the
   receiver must release it. "Taken": the callee becomes the owner. Arguments of
   a packed function are borrowed, and the caller owns its result. In the C
   interface, scopes own: objects that it makes and results of its calls belong
   to the innermost scope, which releases them at its end. The body of a typed
   function is a scope, and TVMFFI_RETURN gives its caller a reference to any
   object. tvmffi_keep makes a variable an owner. An error that is taken is
   owned: see >>interface/scope. Strings of up to 7 bytes are stored in the
   Any and own nothing. A reference count that reaches 2^31 is pinned: the
   object is never freed, so no count wraps around.

   THREADS

   Every function may be called from any thread, unless its comment says
   otherwise. Reading the function table, the type table and attribute columns
   takes no lock. Reference counts are atomic; whether the content of an object
   may be shared is up to its type. With TVMFFI_NO_THREADS only one thread may
   use the runtime.

   NAMES

   A name in upper case takes a type, a bare name or a block, or returns from
   the function. A name in lower case is used like a function: its arguments are
   expressions, and each is evaluated once.
   tvmffi_NOUN(...) is an expression: a view for a call, such as tvmffi_int(3),
   or a new container, such as tvmffi_list(1, 2), which is NULL on failure.
   TVMFFI_NEW(Type, ...) is a new object, or NULL. Check the NULL once, where
   the object is used: until then other makers and calls do nothing.
   tvmffi_VERB(...) and tvmffi_NOUN_VERB(...) return 0 or an error's code, and
   store results through pointers. `new` makes an object, `get` and `set` read
   and write, `register` adds a name, and `override` adds or replaces it.

   ERRORS

   A function that can fail returns 0 on success. It returns -1 after it has set
   the thread's pending error, or -2 if the environment (Python, say) holds an
   error of its own. TVMFFI_TRY returns the code to the caller.
   tvmffi_error_take gives the thread's pending error to the scope. No bad input
   and no failed allocation ends the process.

   PORTS

   This file has four profiles. Hosted is the default. TVMFFI_NO_THREADS has
   one thread. TVMFFI_FREESTANDING has no libc: it includes only the compiler's
   own headers, prints nothing, and defines memcpy and the like as weak symbols;
   memory is a static arena, or yours. The fourth, for your own kernel or
   operating system, is freestanding with hooks. Hooks are macros that are
   defined before this file is included, best in a header of the port:
   -DTVMFFI_PORT='"port.h"' includes port.h first, which may set options as
   well. All files of a program must have the same port.

     TVMFFI_NO_HEADERS        1: the port declares what <stdint.h>, <stddef.h>
                              and <stdarg.h> declare; no header is included
     TVMFFI_NO_OWN_STRING     1: the port declares memcpy, memmove, memset,
                              memcmp, memchr, strlen, strcmp, strchr and
                              strrchr, and the program defines them
     TVMFFI_ARENA_SIZE        the size in bytes of a static arena, from which
                              all memory is allocated
     TVMFFI_MALLOC(size)      allocates memory, aligned to 8 bytes or more, or
                              returns NULL. It must not call the runtime
     TVMFFI_FREE(pointer)     frees allocated memory; the pointer is never NULL
     TVMFFI_LOCK()            lock and unlock the runtime's one mutex, which
     TVMFFI_UNLOCK()          is held briefly, never locked recursively, and
                              never held while your code runs
     TVMFFI_YIELD()           lets another thread run; called in waiting loops
     TVMFFI_THREAD_LOCAL(key, size)
                              returns the running thread's (or task's) memory
                              for the pointer `key`: `size` bytes, zeroed at
                              first, always at the same address, aligned to 8
                              bytes, never NULL. TVMFFI_THREAD_LOCAL_KEYS and
                              TVMFFI_THREAD_LOCAL_SIZE are the most keys and
                              bytes
     TVMFFI_AT_THREAD_END(function, state)
                              registers function(state) for the end of the
                              thread, to release the thread's last error.
                              During the call TVMFFI_THREAD_LOCAL returns that
                              thread's memory, and the function may register
                              itself again. Returns 1, or 0 if the function
                              will not run
     TVMFFI_ATOMIC_CAS(p, old, now)
                              sets *p to `now` if it equals `old`, as a full
                              barrier, and returns the previous value. For
                              uint64_t, uint32_t and pointers
     TVMFFI_ATOMIC_LOAD(p)    reads *p with acquire order. For uint64_t,
                              uint32_t, int and pointers
     TVMFFI_ATOMIC_STORE(p, value)
                              writes *p with release order
     TVMFFI_ATOMIC_ENTER()    for one core without such instructions: masks
                              interrupts and returns the earlier mask, a
                              uintptr_t
     TVMFFI_ATOMIC_LEAVE(was) restores the mask that ENTER returned
     TVMFFI_LOAD_FAILED(name, kind, message)
                              tells that a function of TVMFFI_ON_LOAD failed,
                              before main: three strings, borrowed during the
                              call. Without it, a build without stdio drops
                              the error
     TVMFFI_BARE_CODE(name, code)
                              raises an error for the body of the function
                              `name`, which returned `code`: neither 0 nor -1,
                              or -1 and raised none. Returns an error's code.
                              Without it, the error is a RuntimeError, and code
                              -2 says that the environment holds one

   Threads in a freestanding build (TVMFFI_NO_THREADS=0 asks for them) need the
   lock, the yield, the thread-local storage and atomics. Atomics are the
   compiler's, or the hooks TVMFFI_ATOMIC_CAS, _LOAD and _STORE, or _ENTER and
   _LEAVE. In a hosted port a hook replaces libc's function.

   GLOSSARY

     any             a TVMFFIAny: a type index and a value, 16 bytes
     view            an Any that owns nothing
     object          memory that begins with a TVMFFIObject: the counts of its
                     references, a type index and a deleter
     handle          a pointer to an object
     strong, weak    a strong reference keeps an object's content alive, a weak
                     one only its memory
     type index      the number of a type in this process; its name is the type
                     key. A type's ancestors are its parent, its parent's
                     parent, and so on
     packed function int f(self, args, count, result) on Anys; it returns an
                     error's code
     typed function  a packed function made by TVMFFI_FUNC, which checks and
                     converts the arguments for a body with C parameters
     type word       a parameter type name: int64, str or array(T), say
     schema          the JSON text that describes a type word to Python
     scope           the owner of the objects that a function's body, or a
                     block with TVMFFI_SCOPE, makes and receives
     container       an array, list, shape (sequences), map or dict
     map row         the entries of a small map, in order; a larger one has a
                     hash table of slots in blocks of 16
     attribute       a named value of a type; all types' values of one name are
                     a column, indexed by type index
     hook            a function that a type registers for copies, repr,
                     comparison, hash or visits
     frame           an entry of a traversal's own stack, which is on the heap
     guard           a mark on a map or traversal while user code runs for it
     region          in structural comparison: whether the free variables of a
                     field are definitions or uses
     free list       the blocks of one size class that a thread caches
     room            a section of tvmffi.h, made from one file of src/

   CONTENTS

     @contents@
*/

/* This file must compile as C and as C++, so it uses C casts. Macros that
   expand in the user's file use TVMFFI_I_AS instead. */
#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

#ifndef TVMFFI_H_
#define TVMFFI_H_

#include "head.h"

#endif /* TVMFFI_H_ */

#if !defined(TVMFFI_INTERFACE) && \
    (!TVMFFI_ABI_ONLY || defined(TVMFFI_IMPLEMENTATION))
#define TVMFFI_INTERFACE

#include "base.h"
#include "interface.h"

#endif /* TVMFFI_INTERFACE */

#if defined(TVMFFI_IMPLEMENTATION) && !defined(TVMFFI_IMPLEMENTED)
#define TVMFFI_IMPLEMENTED

#include "platform.h"
#include "core.h"
#include "containers.h"
#include "graph.h"
#include "modules.h"
#include "reflection.h"
#include "extra.h"
#include "functions.h"
#include "tables.h"

#endif /* TVMFFI_IMPLEMENTATION */

#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
