/* ======== Compiler: languages, compilers, export ========= >>head/compiler */
/* What differs between compilers and languages; the only place that asks. */

#pragma once

#include "config.h"

#if !TVMFFI_NO_HEADERS
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#endif

#define TVMFFI_I_CAT_(a, b) a##b
#define TVMFFI_I_CAT(a, b) TVMFFI_I_CAT_(a, b)

/* A cast in what expands in the user's text, where -Wold-style-cast may be on:
   between a void pointer and another one, or of a number. */
#if defined(__cplusplus)
#define TVMFFI_I_AS(type, x) static_cast<type>(x)
#else
#define TVMFFI_I_AS(type, x) ((type)(x))
#endif

#if defined(__GNUC__) || defined(__clang__)
#define TVMFFI_I_GNU 1
#define TVMFFI_I_UNUSED __attribute__((__unused__))
#define TVMFFI_I_COLD static inline __attribute__((__cold__, __unused__))
#define TVMFFI_I_SLOW static __attribute__((__cold__, __noinline__))
#if defined(__wasm__)
#define TVMFFI_I_RETURN_ADDRESS 0
#else
#define TVMFFI_I_RETURN_ADDRESS ((uintptr_t)__builtin_return_address(0))
#endif
#define TVMFFI_I_NOINLINE static __attribute__((__noinline__))
#define TVMFFI_I_ALWAYS_INLINE \
  static inline __attribute__((__always_inline__, __unused__))
#define TVMFFI_I_PREFETCH(pointer) __builtin_prefetch(pointer)
#if defined(__MINGW32__) && !defined(__clang__)
#define TVMFFI_I_PRINTF(f, a) __attribute__((__format__(__gnu_printf__, f, a)))
#else
#define TVMFFI_I_PRINTF(f, a) __attribute__((__format__(__printf__, f, a)))
#endif
#define TVMFFI_I_MUST_CHECK __attribute__((__warn_unused_result__))
#define TVMFFI_I_LIKELY(x) __builtin_expect(!!(x), 1)
#define TVMFFI_I_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TVMFFI_I_EXTENSION __extension__
#if defined(_WIN32)
#define TVMFFI_I_HIDDEN
#else
#define TVMFFI_I_HIDDEN __attribute__((__visibility__("hidden")))
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

/* Returns a stack address inside the calling function. AddressSanitizer moves
   variables off the stack; WebAssembly's functions have a frame only for
   variables. */
TVMFFI_I_ALWAYS_INLINE uintptr_t tvmffi_i_stack_address(void) {
#if TVMFFI_I_GNU && !defined(__wasm__)
  return (uintptr_t)__builtin_frame_address(0);
#else
  volatile char variable = 0;
  uintptr_t address; /* clang warns of a variable's address in an initializer */
  address = (uintptr_t)&variable;
  return address;
#endif
}

/* Gives the function in which it stands the unwinder's personality routine `f`,
   encoded as the signed 32-bit distance to `f`. It is for code without
   exceptions, to which the compiler gives no such routine, and needs unwind
   tables that the compiler writes as directives. */
#if TVMFFI_I_GNU && !defined(__TINYC__) && defined(__ELF__) && \
    defined(__GCC_HAVE_DWARF2_CFI_ASM) && !defined(__EXCEPTIONS)
#if defined(__x86_64__) && !defined(__code_model_large__)
#define TVMFFI_I_PERSONALITY(f) \
  __asm__ volatile(".cfi_personality 0x1b, %c0" : : "i"(f))
#elif defined(__aarch64__)
#define TVMFFI_I_PERSONALITY(f) \
  __asm__ volatile(".cfi_personality 0x1b, %c0" : : "S"(f))
#endif
#endif

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

/* The second of its arguments: of TVMFFI_I_X_##name, 0, ~ what the macro of
   that name has behind its "~," or 0 if there is none. */
#define TVMFFI_I_SECOND(...) TVMFFI_I_SECOND_(__VA_ARGS__)
#define TVMFFI_I_SECOND_(a, b, ...) b

/* The words of typed functions and the items of types, which the preprocessor
   expands before this file can see them. A macro of the user that turns a word
   into something else is an error that names it, before it leads to others. */
#if !TVMFFI_ABI_ONLY || defined(TVMFFI_IMPLEMENTATION)
#define TVMFFI_I_WORD_none ~, 1,
#define TVMFFI_I_WORD_any ~, 1,
#define TVMFFI_I_WORD_bool ~, 1,
#define TVMFFI_I_WORD__Bool ~, 1, /* bool of <stdbool.h> */
#define TVMFFI_I_WORD_int8 ~, 1,
#define TVMFFI_I_WORD_int16 ~, 1,
#define TVMFFI_I_WORD_int32 ~, 1,
#define TVMFFI_I_WORD_int64 ~, 1,
#define TVMFFI_I_WORD_uint8 ~, 1,
#define TVMFFI_I_WORD_uint16 ~, 1,
#define TVMFFI_I_WORD_uint32 ~, 1,
#define TVMFFI_I_WORD_uint64 ~, 1,
#define TVMFFI_I_WORD_float32 ~, 1,
#define TVMFFI_I_WORD_float64 ~, 1,
#define TVMFFI_I_WORD_str ~, 1,
#define TVMFFI_I_WORD_bytes ~, 1,
#define TVMFFI_I_WORD_dtype ~, 1,
#define TVMFFI_I_WORD_device ~, 1,
#define TVMFFI_I_WORD_ptr ~, 1,
#define TVMFFI_I_WORD_tensor ~, 1,
#define TVMFFI_I_WORD_tensor_object ~, 1,
#define TVMFFI_I_WORD_object ~, 1,
#define TVMFFI_I_WORD_func ~, 1,
#define TVMFFI_I_WORD_error ~, 1,
#define TVMFFI_I_WORD_module ~, 1,
#define TVMFFI_I_WORD_opaque ~, 1,
#define TVMFFI_I_WORD_shape ~, 1,
#define TVMFFI_I_WORD_array ~, 1,
#define TVMFFI_I_WORD_list ~, 1,
#define TVMFFI_I_WORD_map ~, 1,
#define TVMFFI_I_WORD_dict ~, 1,
#define TVMFFI_I_WORD_optional ~, 1,
#define TVMFFI_I_WORD_field ~, 1,
#define TVMFFI_I_WORD_readonly ~, 1,
#define TVMFFI_I_WORD_method ~, 1,
#define TVMFFI_I_WORD_attribute ~, 1,
#define TVMFFI_I_WORD_destructor ~, 1,
#define TVMFFI_I_WORD_kw_only ~, 1,
#define TVMFFI_I_WORD_structural ~, 1,
#define TVMFFI_I_WORD_doc ~, 1,
#define TVMFFI_I_WORD_flags ~, 1,
#define TVMFFI_I_WORD_factory ~, 1,
#define TVMFFI_I_CHECK_WORD(word)                                \
  TVMFFI_STATIC_ASSERT(                                          \
      TVMFFI_I_SECOND(TVMFFI_I_CAT(TVMFFI_I_WORD_, word), 0, ~), \
      undefine_the_macro_##word##_before_tvmffi_h);
TVMFFI_I_CHECK_WORD(none)
TVMFFI_I_CHECK_WORD(any)
TVMFFI_I_CHECK_WORD(bool)
TVMFFI_I_CHECK_WORD(int8)
TVMFFI_I_CHECK_WORD(int16)
TVMFFI_I_CHECK_WORD(int32)
TVMFFI_I_CHECK_WORD(int64)
TVMFFI_I_CHECK_WORD(uint8)
TVMFFI_I_CHECK_WORD(uint16)
TVMFFI_I_CHECK_WORD(uint32)
TVMFFI_I_CHECK_WORD(uint64)
TVMFFI_I_CHECK_WORD(float32)
TVMFFI_I_CHECK_WORD(float64)
TVMFFI_I_CHECK_WORD(str)
TVMFFI_I_CHECK_WORD(bytes)
TVMFFI_I_CHECK_WORD(dtype)
TVMFFI_I_CHECK_WORD(device)
TVMFFI_I_CHECK_WORD(ptr)
TVMFFI_I_CHECK_WORD(tensor)
TVMFFI_I_CHECK_WORD(tensor_object)
TVMFFI_I_CHECK_WORD(object)
TVMFFI_I_CHECK_WORD(func)
TVMFFI_I_CHECK_WORD(error)
TVMFFI_I_CHECK_WORD(module)
TVMFFI_I_CHECK_WORD(opaque)
TVMFFI_I_CHECK_WORD(shape)
TVMFFI_I_CHECK_WORD(array)
TVMFFI_I_CHECK_WORD(list)
TVMFFI_I_CHECK_WORD(map)
TVMFFI_I_CHECK_WORD(dict)
TVMFFI_I_CHECK_WORD(optional)
TVMFFI_I_CHECK_WORD(field)
TVMFFI_I_CHECK_WORD(readonly)
TVMFFI_I_CHECK_WORD(method)
TVMFFI_I_CHECK_WORD(attribute)
TVMFFI_I_CHECK_WORD(destructor)
TVMFFI_I_CHECK_WORD(kw_only)
TVMFFI_I_CHECK_WORD(structural)
TVMFFI_I_CHECK_WORD(doc)
TVMFFI_I_CHECK_WORD(flags)
TVMFFI_I_CHECK_WORD(factory)
#endif

/* A generic selection: C11, or the overloads of C++. */
#if defined(__cplusplus) || \
    (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L)
#define TVMFFI_I_GENERIC 1
#else
#define TVMFFI_I_GENERIC 0
#endif

#if defined(__MINGW32__) && !TVMFFI_NO_STDIO
/* Not msvcrt's, which is not C's. */
TVMFFI_I_EXTERN_C int __mingw_vsnprintf(char *, size_t, const char *, va_list);
#define TVMFFI_I_VFORMAT __mingw_vsnprintf
#elif TVMFFI_I_GNU
#define TVMFFI_I_VFORMAT __builtin_vsnprintf
#elif !TVMFFI_NO_STDIO
#include <stdio.h>
#define TVMFFI_I_VFORMAT vsnprintf
#endif
