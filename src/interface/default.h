/* ======== Defaults ====================================== >>interface/default
   defaults of parameters */
/* Callers may omit a parameter (type, name, default) of a typed function. If
   arguments are missing, the slow path for a wrong count repeats the call with
   the defaults. A call with all arguments is not slower. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "list.h"
#include "argument.h"
#include "function.h"
#include "call.h"

/* 1 if x is the literal NULL, else 0: of two pointers, one of which is a null
   pointer constant, a conditional expression has the type of the other. In C++,
   NULL is an integer or nullptr. */
#if defined(__cplusplus)
extern "C++" {
template <typename tvmffi_type>
struct tvmffi_i_is_null {
  enum { value = 0 };
};
template <>
struct tvmffi_i_is_null<decltype(nullptr)> {
  enum { value = 1 };
};
template <>
struct tvmffi_i_is_null<int> : tvmffi_i_is_null<decltype(nullptr)> {};
template <>
struct tvmffi_i_is_null<long> : tvmffi_i_is_null<decltype(nullptr)> {};
template <>
struct tvmffi_i_is_null<long long> : tvmffi_i_is_null<decltype(nullptr)> {};
}
#define TVMFFI_I_IS_NULL(x) tvmffi_i_is_null<decltype(x)>::value
#elif TVMFFI_I_GNU
#define TVMFFI_I_IS_NULL(x)                                                   \
  __builtin_types_compatible_p(                                               \
      __typeof__(1 ? __builtin_choose_expr(                                   \
                         __builtin_types_compatible_p(__typeof__(x), void *), \
                         x, (void *)1)                                        \
                   : (tvmffi_i_parts *)0),                                    \
      tvmffi_i_parts *)
#else
#define TVMFFI_I_IS_NULL(x) 0
#endif

/* clang-format off */
/* Declares that `x`, the default of a parameter of type T, is not NULL, unless
   T is optional: a call that leaves out the argument passes None. */
#define TVMFFI_I_NO_NULL(T, x) \
  TVMFFI_STATIC_ASSERT( \
      TVMFFI_I_SECOND(TVMFFI_I_CAT(TVMFFI_I_TAKES_NULL_, T), 0, ~) || \
          !TVMFFI_I_IS_NULL(x), \
      the_default_NULL_needs_a_type_that_is_optional)
#define TVMFFI_I_TAKES_NULL_optional(T) ~, 1,

/* These macros store the default `x` of a parameter of type T in *to, as a
   view. Their names end with TVMFFI_I_CLASS(T). */
#define TVMFFI_I_DEFAULT_int64(to, T, x) { \
    const TVMFFI_I_CAT(tvmffi_type_, T) tvmffi_value = x; \
    TVMFFI_TRY(tvmffi_i_to_any(&TVMFFI_I_CAT(tvmffi_i_word_, T), NULL, to, \
                            &tvmffi_value)); \
  }
#define TVMFFI_I_DEFAULT_BY(make, to, T, x) { \
    TVMFFI_I_NO_NULL(T, x); \
    *(to) = make(x); \
  }
#define TVMFFI_I_DEFAULT_dtype(to, T, x) \
  TVMFFI_I_DEFAULT_BY(tvmffi_str, to, T, x)
#define TVMFFI_I_DEFAULT_str TVMFFI_I_DEFAULT_dtype
#define TVMFFI_I_DEFAULT_bytes(to, T, x) \
  TVMFFI_I_DEFAULT_BY(tvmffi_bytes, to, T, x)
#define TVMFFI_I_DEFAULT_tensor(to, T, x) \
  TVMFFI_I_DEFAULT_BY(tvmffi_tensor, to, T, x)
#define TVMFFI_I_DEFAULT_object(to, T, x) \
  TVMFFI_I_DEFAULT_BY(tvmffi_obj, to, T, x)
#define TVMFFI_I_DEFAULT_any(to, T, x) \
  *(to) = TVMFFI_ANY(x); \
  TVMFFI_TRY(tvmffi_i_check_default(to));

/* Expands a parameter (type, name, default) to (type, name) and a comma. */
#define TVMFFI_I_PAIR(x, p) TVMFFI_I_PAIR_ p,
#define TVMFFI_I_PAIR_(T, ...) (T, TVMFFI_I_FIRST(__VA_ARGS__, ~))

/* For a parameter with a default, LESS expands to "- 1", BIT to the parameter's
   bit in a mask, STORE_DEFAULT to the statement that stores the default.
   Otherwise all three expand to nothing. */
#define TVMFFI_I_LESS(x, p) TVMFFI_I_IF_DEFAULT(TVMFFI_I_LESS_, p)
#define TVMFFI_I_LESS_(T, name, x) - 1
#define TVMFFI_I_BIT(x, p) TVMFFI_I_IF_DEFAULT(TVMFFI_I_BIT_, p)
#define TVMFFI_I_BIT_(T, name, x) | 1 << tvmffi_at_##name
#define TVMFFI_I_STORE_DEFAULT(x, p) \
  TVMFFI_I_IF_DEFAULT(TVMFFI_I_STORE_DEFAULT_, p)
#define TVMFFI_I_STORE_DEFAULT_(T, name, x) \
  TVMFFI_I_CAT(TVMFFI_I_DEFAULT_, TVMFFI_I_CLASS(T)) \
  (tvmffi_all + tvmffi_at_##name, T, x)

/* Defines `call`, the TVMFFISafeCallType of a function whose last parameters
   have defaults. */
#define TVMFFI_I_DEFINE_CALL_1(checked, kind, call, text, func, body, self, n, \
                               R, ...) \
  TVMFFI_I_DEFAULTS(tvmffi_i_defaults_##func, tvmffi_i_least_##func, n, \
                    __VA_ARGS__) \
  TVMFFI_I_PACKED_CALL(checked, kind, call, text, func, body, self, \
                       tvmffi_i_complete(tvmffi_this, tvmffi_args, \
                                         tvmffi_count, tvmffi_into, \
                                         tvmffi_handle, \
                                         tvmffi_i_least_##func, \
                                         tvmffi_i_defaults_##func), \
                       tvmffi_i_least_##func, tvmffi_i_defaults_##func, n, R, \
                       TVMFFI_I_EACH(n)(TVMFFI_I_PAIR, ~, __VA_ARGS__) ~)
#define TVMFFI_I_DEFAULTS(f, least, n, ...) \
  enum { least = (n) - 1 TVMFFI_I_EACH(n)(TVMFFI_I_LESS, ~, __VA_ARGS__) }; \
  static int f(TVMFFIAny *tvmffi_all) { \
    enum { TVMFFI_I_EACH(n)(TVMFFI_I_INDEX_OF, ~, __VA_ARGS__) tvmffi_num }; \
    TVMFFI_STATIC_ASSERT( \
        (0 TVMFFI_I_EACH(n)(TVMFFI_I_BIT, ~, __VA_ARGS__)) == \
            (1 << tvmffi_num) - (1 << least), \
        a_parameter_after_one_with_a_default_needs_a_default_too); \
    TVMFFI_I_EACH(n)(TVMFFI_I_STORE_DEFAULT, ~, __VA_ARGS__) \
    return 0; \
  }
/* clang-format on */
