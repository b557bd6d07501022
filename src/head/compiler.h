/* ======== Compiler: languages, compilers, export ========= >>head/compiler */
/* This file has all differences between compilers, and between C and C++. Other
   files test its macros, not the compiler. */

#pragma once

#include "config.h"

#if !TVMFFI_NO_HEADERS
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#endif

#define TVMFFI_I_CAT_(a, b) a##b
#define TVMFFI_I_CAT(a, b) TVMFFI_I_CAT_(a, b)

/* A cast for macros that expand in the user's file, where -Wold-style-cast may
   be on. Converts numbers and void pointers. */
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
#if defined(__OPTIMIZE_SIZE__)
/* Inlined copies of fast paths would add 3 % to the code. */
#define TVMFFI_I_ALWAYS_INLINE static inline TVMFFI_I_UNUSED
#else
#define TVMFFI_I_ALWAYS_INLINE \
  static inline __attribute__((__always_inline__, __unused__))
#endif
/* For a function that constant arguments, such as a type's word, reduce to few
   instructions. Without optimisation, the function is not inlined. */
#if defined(__OPTIMIZE__)
#define TVMFFI_I_FOLDED \
  static inline __attribute__((__always_inline__, __unused__))
#else
#define TVMFFI_I_FOLDED static inline TVMFFI_I_UNUSED
#endif
/* Begins a function that is not inlined with -Os, but in a file without the
   runtime, which calls it in few places. */
#if defined(__OPTIMIZE_SIZE__) && defined(TVMFFI_IMPLEMENTATION)
#define TVMFFI_I_SMALL_NOINLINE TVMFFI_I_NOINLINE TVMFFI_I_UNUSED
#else
#define TVMFFI_I_SMALL_NOINLINE TVMFFI_I_FOLDED
#endif
#define TVMFFI_I_PREFETCH(pointer) __builtin_prefetch(pointer)
#if defined(__MINGW32__) && !defined(__clang__)
#define TVMFFI_I_PRINTF(f, a) __attribute__((__format__(__gnu_printf__, f, a)))
#else
#define TVMFFI_I_PRINTF(f, a) __attribute__((__format__(__printf__, f, a)))
#endif
#define TVMFFI_I_MUST_CHECK __attribute__((__warn_unused_result__))
/* Like TVMFFI_I_MUST_CHECK, but a cast to void silences the warning, which
   __warn_unused_result__ of gcc ignores. Stands before `static`. */
#if defined(__clang__)
#define TVMFFI_I_NODISCARD TVMFFI_I_MUST_CHECK
#elif __GNUC__ >= 10 && !defined(__EDG__) && !defined(__CHECKER__)
/* gcc, as C99 and C++11, too; __CHECKER__ is sparse. */
#define TVMFFI_I_NODISCARD __extension__ [[__nodiscard__]]
#else
#define TVMFFI_I_NODISCARD
#endif
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
#define TVMFFI_I_SMALL_NOINLINE static inline
#define TVMFFI_I_FOLDED static inline
#define TVMFFI_I_PREFETCH(pointer) ((void)(pointer))
#define TVMFFI_I_PRINTF(f, a)
#define TVMFFI_I_MUST_CHECK
#define TVMFFI_I_NODISCARD
#define TVMFFI_I_LIKELY(x) (x)
#define TVMFFI_I_UNLIKELY(x) (x)
#define TVMFFI_I_EXTENSION
#define TVMFFI_I_HIDDEN
#endif

#define TVMFFI_I_INLINE static inline TVMFFI_I_UNUSED

/* 1 if code can run at the end of a variable's scope, by a C++ destructor or
   the cleanup attribute. */
#if !defined(TVMFFI_I_CLEANUP)
#if defined(__cplusplus)
#define TVMFFI_I_CLEANUP 1
#else
#define TVMFFI_I_CLEANUP TVMFFI_I_GNU
#endif
#endif

/* Returns a stack address inside the calling function. AddressSanitizer may
   move variables off the stack, so the frame's address is better. A WebAssembly
   function has a frame only if it has variables in memory. */
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

/* Makes `f` the enclosing function's personality routine, which the unwinder
   calls for that function. 0x1b encodes `f` as a signed 32-bit offset. With
   exceptions on, the compiler sets its own routine. */
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

/* Declares that the constant `cond` is not 0. Otherwise the code does not
   compile, and the compiler's message contains the identifier `name`. */
#if defined(__cplusplus)
#define TVMFFI_I_EXTERN_C extern "C"
#define TVMFFI_I_EXTERN_VARIABLE extern "C"
#if __cplusplus >= 201103L
#define TVMFFI_STATIC_ASSERT(cond, name) static_assert(cond, #name)
#endif
#else
#define TVMFFI_I_EXTERN_C
#define TVMFFI_I_EXTERN_VARIABLE extern
#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define TVMFFI_STATIC_ASSERT(cond, name) _Static_assert(cond, #name)
#endif
#endif
#ifndef TVMFFI_STATIC_ASSERT
#define TVMFFI_STATIC_ASSERT(cond, name) \
  typedef char tvmffi_i_assert_##name[(cond) ? 1 : -1] TVMFFI_I_UNUSED
#endif

#define TVMFFI_I_QUOTE_(x) #x
#define TVMFFI_I_QUOTE(x) TVMFFI_I_QUOTE_(x)

/* Expands to its second argument. Used to test whether a macro TVMFFI_I_X_name
   exists: TVMFFI_I_SECOND(TVMFFI_I_X_name, 0, ~) expands to x if the macro is
   defined as "~, x,", and to 0 if it is undefined. */
#define TVMFFI_I_SECOND(...) TVMFFI_I_SECOND_(__VA_ARGS__)
#define TVMFFI_I_SECOND_(a, b, ...) b

/* Expands to the class of a parameter type name such as int8. The class decides
   how a field stores a value. All names that are not below, such as a user's
   struct, belong to the class `object`. */
#define TVMFFI_I_CLASS(word) \
  TVMFFI_I_SECOND(TVMFFI_I_CAT(TVMFFI_I_WORD_, word), object, ~)
/* Expands to 0 for a type name in the list below, such as int8, to 2 for one
   with arguments, such as array(T), to 3 for tensor("..."), and to 1 for any
   other name. */
#define TVMFFI_I_ORIGIN(word)                             \
  TVMFFI_I_SECOND(TVMFFI_I_CAT(TVMFFI_I_COMPOUND_, word), \
                  TVMFFI_I_BUILTIN(TVMFFI_I_CAT(TVMFFI_I_WORD_, word), 0, 1), ~)
#define TVMFFI_I_COMPOUND_array(T) ~, 2,
#define TVMFFI_I_COMPOUND_list(T) ~, 2,
#define TVMFFI_I_COMPOUND_map(K, V) ~, 2,
#define TVMFFI_I_COMPOUND_dict(K, V) ~, 2,
#define TVMFFI_I_COMPOUND_optional(T) ~, 2,
#define TVMFFI_I_COMPOUND_tensor(text) ~, 3,
/* Expands to `yes` if the macro `word`, such as TVMFFI_I_WORD_int8, is defined
   below, else to `no`. */
#define TVMFFI_I_BUILTIN(word, yes, no) \
  TVMFFI_I_PICK_FOURTH(word, yes, no, no, ~)
#define TVMFFI_I_PICK_FOURTH(...) TVMFFI_I_PICK_FOURTH_(__VA_ARGS__)
#define TVMFFI_I_PICK_FOURTH_(a, b, c, d, ...) d
#define TVMFFI_I_WORD_none ~, none,
#define TVMFFI_I_WORD_any ~, any,
#define TVMFFI_I_WORD_bool ~, int64,
#define TVMFFI_I_WORD__Bool ~, int64, /* bool of <stdbool.h> */
#define TVMFFI_I_WORD_int8 ~, int64,
#define TVMFFI_I_WORD_int16 ~, int64,
#define TVMFFI_I_WORD_int32 ~, int64,
#define TVMFFI_I_WORD_int64 ~, int64,
#define TVMFFI_I_WORD_uint8 ~, int64,
#define TVMFFI_I_WORD_uint16 ~, int64,
#define TVMFFI_I_WORD_uint32 ~, int64,
#define TVMFFI_I_WORD_uint64 ~, int64,
#define TVMFFI_I_WORD_float32 ~, int64,
#define TVMFFI_I_WORD_float64 ~, int64,
#define TVMFFI_I_WORD_str ~, str,
#define TVMFFI_I_WORD_bytes ~, bytes,
#define TVMFFI_I_WORD_dtype ~, dtype,
#define TVMFFI_I_WORD_device ~, dtype,
#define TVMFFI_I_WORD_ptr ~, int64,
#define TVMFFI_I_WORD_tensor ~, tensor,
#define TVMFFI_I_WORD_tensor_object ~, object,
#define TVMFFI_I_WORD_object ~, object,
#define TVMFFI_I_WORD_func ~, object,
#define TVMFFI_I_WORD_error ~, object,
#define TVMFFI_I_WORD_module ~, object,
#define TVMFFI_I_WORD_opaque ~, object,
#define TVMFFI_I_WORD_shape ~, object,
#define TVMFFI_I_WORD_array ~, object,
#define TVMFFI_I_WORD_list ~, object,
#define TVMFFI_I_WORD_map ~, object,
#define TVMFFI_I_WORD_dict ~, object,
#define TVMFFI_I_WORD_optional(word) TVMFFI_I_WORD_##word
#define TVMFFI_I_WORD_field ~, field,
#define TVMFFI_I_WORD_readonly ~, field,
#define TVMFFI_I_WORD_method ~, method,
#define TVMFFI_I_WORD_attribute ~, attribute,
#define TVMFFI_I_WORD_destructor ~, destructor,
#define TVMFFI_I_WORD_kw_only ~, doc,
#define TVMFFI_I_WORD_structural ~, doc,
#define TVMFFI_I_WORD_doc ~, doc,
#define TVMFFI_I_WORD_flags ~, doc,
#define TVMFFI_I_WORD_factory ~, doc,

/* Fails to compile if the user has a macro with the name of a parameter type,
   such as `#define int8 char`. The compiler's message names the macro.
   TVMFFI_I_CHECK_WORDS lists names such as `array` first, because others expand
   to them. */
#if !TVMFFI_ABI_ONLY || defined(TVMFFI_IMPLEMENTATION)
#define TVMFFI_I_CHECK_WORD(word)                                         \
  TVMFFI_STATIC_ASSERT(                                                   \
      sizeof(TVMFFI_I_QUOTE(TVMFFI_I_SECOND(                              \
          TVMFFI_I_CAT(TVMFFI_I_WORD_, word)(int8), , ~))) > sizeof(""),  \
      undefine_the_macro_##word##_before_tvmffi_h);
/* clang-format off */
#define TVMFFI_I_CHECK_WORDS(F) \
  F(none) F(any) F(int64) F(str) F(bytes) F(dtype) F(tensor) F(object) \
  F(array) F(field) F(method) F(attribute) F(destructor) F(doc) F(bool) \
  F(int8) F(int16) F(int32) F(uint8) F(uint16) F(uint32) F(uint64) F(float32) \
  F(float64) F(device) F(ptr) F(tensor_object) F(func) F(error) F(module) \
  F(opaque) F(shape) F(list) F(map) F(dict) F(optional) F(readonly) \
  F(kw_only) F(structural) F(flags) F(factory)
/* clang-format on */
TVMFFI_I_CHECK_WORDS(TVMFFI_I_CHECK_WORD)
#endif

/* 1 if the language selects an expression by type: C11's _Generic, or the
   overloads of C++. */
#if defined(__cplusplus) || \
    (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L)
#define TVMFFI_I_GENERIC 1
#else
#define TVMFFI_I_GENERIC 0
#endif

/* 1 if _Generic exists: gcc and clang have it in C99, too, as an extension. */
#if !defined(__cplusplus) && (TVMFFI_I_GENERIC || defined(__clang__) || \
                              (defined(__GNUC__) && __GNUC__ >= 5))
#define TVMFFI_I_SELECTS 1
#else
#define TVMFFI_I_SELECTS 0
#endif

#if defined(__MINGW32__) && !TVMFFI_NO_STDIO
/* msvcrt's own vsnprintf does not follow the C standard. */
TVMFFI_I_EXTERN_C int __mingw_vsnprintf(char *, size_t, const char *, va_list);
#define TVMFFI_I_VFORMAT __mingw_vsnprintf
#elif TVMFFI_I_GNU && !defined(_MSC_VER)
#define TVMFFI_I_VFORMAT __builtin_vsnprintf
#elif !TVMFFI_NO_STDIO
/* The C runtime of Visual Studio has vsnprintf only as an inline function. */
#include <stdio.h>
#define TVMFFI_I_VFORMAT vsnprintf
#endif

/* Initializes all members to zero. */
#if defined(__cplusplus)
#define TVMFFI_I_ZERO \
  {                   \
  }
#else
#define TVMFFI_I_ZERO {0}
#endif
