/* ======== Types: the macros that define a struct type === >>interface/type */

#pragma once

#include "../head.h"
#include "../base.h"
#include "list.h"
#include "scope.h"
#include "function.h"
#include "call.h"
#include "compound.h"
#include "default.h"
#include "class.h"
#include "class_object.h"
#include "class_init.h"

/* clang-format off */
/* Joins the prefix and the class of the parameter type T. Types of a class
   share code: all numbers have the class int64, so T = float32 gives
   prefix##int64. */
#define TVMFFI_I_BY_CLASS(prefix, T) TVMFFI_I_CAT(prefix, TVMFFI_I_CLASS(T))

#define TVMFFI_I_KIND_int64 TVMFFI_I_STORED_PLAIN
#define TVMFFI_I_KIND_dtype TVMFFI_I_STORED_PLAIN
#define TVMFFI_I_KIND_object TVMFFI_I_STORED_OBJECT
#define TVMFFI_I_KIND_array TVMFFI_I_STORED_OBJECT
#define TVMFFI_I_KIND_any TVMFFI_I_STORED_ANY
#define TVMFFI_I_KIND_str TVMFFI_I_STORED_STR
#define TVMFFI_I_KIND_bytes TVMFFI_I_STORED_BYTES

/* Expands to the C type of a member, such as double for T = float64. */
#define TVMFFI_I_CTYPE_int64(T) TVMFFI_I_CAT(tvmffi_type_, T)
#define TVMFFI_I_CTYPE_dtype TVMFFI_I_CTYPE_int64
#define TVMFFI_I_CTYPE_object TVMFFI_I_CTYPE_int64
#define TVMFFI_I_CTYPE_array TVMFFI_I_CTYPE_int64
#define TVMFFI_I_CTYPE_tensor(T) a_tensor_is_no_field_but_a_tensor_object_is
#define TVMFFI_I_CTYPE_any(T) TVMFFIAny
#define TVMFFI_I_CTYPE_str TVMFFI_I_CTYPE_any
#define TVMFFI_I_CTYPE_bytes TVMFFI_I_CTYPE_any
#define TVMFFI_I_CTYPE(T) TVMFFI_I_BY_CLASS(TVMFFI_I_CTYPE_, T)(T)

/* Bodies of functions that compute a field's default: store the expression `x`
   as an Any at tvmffi_into. */
#define TVMFFI_I_VALUE_int64(T, x) \
  TVMFFI_I_DEFAULT_int64(tvmffi_into, T, x) \
  return 0;
#define TVMFFI_I_VALUE_dtype(T, x) \
  TVMFFI_I_CTYPE(T) tvmffi_now; \
  TVMFFIAny tvmffi_text = tvmffi_str(x); \
  int tvmffi_code = tvmffi_i_from_any(&TVMFFI_I_CAT(tvmffi_i_word_, T), \
                                 &tvmffi_text, &tvmffi_now); \
  if (tvmffi_code) \
    return tvmffi_i_bad_field(&TVMFFI_I_CAT(tvmffi_i_word_, T), 0, \
                              &tvmffi_text, tvmffi_code); \
  return tvmffi_i_to_any(&TVMFFI_I_CAT(tvmffi_i_word_, T), NULL, tvmffi_into, \
                      &tvmffi_now);
#define TVMFFI_I_VALUE_object(T, x) \
  TVMFFI_I_CTYPE(T) tvmffi_now = (x); \
  *tvmffi_into = tvmffi_none(); \
  if (!tvmffi_now) return 0; \
  return tvmffi_i_raise("TypeError", \
                        "The default of an object can only be NULL");
#define TVMFFI_I_VALUE_array TVMFFI_I_VALUE_object
#define TVMFFI_I_VALUE_any(T, x) \
  TVMFFIAny tvmffi_viewed = TVMFFI_ANY(x); \
  return tvmffi_i_own_value(&tvmffi_viewed, tvmffi_into);
#define TVMFFI_I_VALUE_str(T, x) \
  return tvmffi_i_text_default(x, 0, tvmffi_into);
#define TVMFFI_I_VALUE_bytes(T, x) \
  return tvmffi_i_text_default(x, 1, tvmffi_into);

/* Expands an item (kind, ...) of TVMFFI_TYPE to prefix##kind(T, K, ..., ~),
   with the struct T and the type key K. */
#define TVMFFI_I_ITEM_PART(prefix, ...) TVMFFI_I_ITEM_PART_(prefix, __VA_ARGS__)
#define TVMFFI_I_ITEM_PART_(prefix, T, K, kind, ...) \
  prefix##kind(T, K, __VA_ARGS__)

/* Expands to 1 if `item` is valid, else to 0. An item (kind, ...) of n elements
   is valid if the macro prefix##kind##_##n is defined. */
#define TVMFFI_I_IS_ITEM_OF(prefix, item) \
  TVMFFI_I_IS_ITEM_OF_(prefix, TVMFFI_I_LENGTH(item), TVMFFI_I_STRIP item, ~)
#define TVMFFI_I_IS_ITEM_OF_(...) TVMFFI_I_IS_ITEM_OF__(__VA_ARGS__)
#define TVMFFI_I_IS_ITEM_OF__(prefix, n, kind, ...) \
  TVMFFI_I_SECOND(prefix##kind##_##n, 0, ~)

#define TVMFFI_I_IS_ITEM(item) TVMFFI_I_IS_ITEM_OF(TVMFFI_I_ITEM_, item)
#define TVMFFI_I_ITEM_field_3 ~, 1,
#define TVMFFI_I_ITEM_field_4 ~, 1,
#define TVMFFI_I_ITEM_readonly_3 ~, 1,
#define TVMFFI_I_ITEM_readonly_4 ~, 1,
#define TVMFFI_I_ITEM_method_2 ~, 1,
#define TVMFFI_I_ITEM_attribute_3 ~, 1,
#define TVMFFI_I_ITEM_destructor_2 ~, 1,
#define TVMFFI_I_ITEM_kw_only_1 ~, 1,
#define TVMFFI_I_ITEM_structural_2 ~, 1,
#define TVMFFI_I_ITEM_doc_2 ~, 1,
#define TVMFFI_I_ITEM_flags_2 ~, 1,
#define TVMFFI_I_ITEM_factory_2 ~, 1,
/* Expands a wrong item of TVMFFI_TYPE to a static assertion that fails. */
#define TVMFFI_I_DECLARE_BAD(x, item) \
  TVMFFI_I_DECLARE_BAD_(TVMFFI_I_LENGTH(item), TVMFFI_I_STRIP item, ~)
#define TVMFFI_I_DECLARE_BAD_(...) TVMFFI_I_DECLARE_BAD__(__VA_ARGS__)
#define TVMFFI_I_DECLARE_BAD__(n, kind, ...) \
  TVMFFI_STATIC_ASSERT(0, \
      kind##_with_##n##_parts_is_no_item_of_TVMFFI_TYPE__these_are_field_## \
      readonly_method_attribute_destructor_kw_only_structural_doc_flags_## \
      factory);

#define TVMFFI_I_DECLARE(x, item) \
  TVMFFI_I_CAT(TVMFFI_I_DECLARE_, TVMFFI_I_IS_ITEM(item))(x, item)
#define TVMFFI_I_DECLARE_0 TVMFFI_I_DECLARE_BAD
#define TVMFFI_I_DECLARE_1(x, item) \
  TVMFFI_I_DECLARE_(TVMFFI_I_STRIP x, TVMFFI_I_STRIP item, ~)
#define TVMFFI_I_DECLARE_(...) TVMFFI_I_DECLARE__(__VA_ARGS__)
#define TVMFFI_I_DECLARE__(T, K, kind, ...) \
  TVMFFI_I_BY_CLASS(TVMFFI_I_DECLARE_, kind)(T, __VA_ARGS__)
#define TVMFFI_I_DECLARE_field(T, ...) \
  TVMFFI_I_FIELD(T, TVMFFI_I_HAS_DEFAULT(__VA_ARGS__), __VA_ARGS__)
#define TVMFFI_I_DECLARE_method(T, name, ...) TVMFFI_I_HEAD_OF_METHOD(T, name)
#define TVMFFI_I_DECLARE_attribute(T, text, ...) \
  TVMFFI_I_DECLARE_method(T, __VA_ARGS__)
#define TVMFFI_I_DECLARE_destructor(...)
#define TVMFFI_I_DECLARE_doc(...)

/* Expands an item to its part of tvmffi_i_values_T, which is the most values
   that TVMFFI_NEW can take, plus 1024 times the least. The macro does not see
   the field that a flag or factory belongs to, or whether a field is
   keyword-only, so the least is possibly too low and the most too high. */
#define TVMFFI_I_VALUES(x, item) \
  TVMFFI_I_VALUES_(TVMFFI_I_STRIP item, 6, 5, 4, 3, 2, 1, ~)
#define TVMFFI_I_VALUES_(...) TVMFFI_I_VALUES__(__VA_ARGS__)
#define TVMFFI_I_VALUES__(kind, b, c, d, e, f, n, ...) \
  TVMFFI_I_SECOND(TVMFFI_I_VALUES_##kind##_##n, TVMFFI_I_SKIP, ~)(b)
#define TVMFFI_I_VALUES_field_3 ~, TVMFFI_I_REQUIRED_VALUE,
#define TVMFFI_I_VALUES_field_4 ~, TVMFFI_I_POSSIBLE_VALUE,
#define TVMFFI_I_VALUES_readonly_3 ~, TVMFFI_I_REQUIRED_VALUE,
#define TVMFFI_I_VALUES_readonly_4 ~, TVMFFI_I_POSSIBLE_VALUE,
#define TVMFFI_I_VALUES_factory_2 ~, TVMFFI_I_NOT_REQUIRED,
#define TVMFFI_I_VALUES_flags_2 ~, TVMFFI_I_NO_VALUE,
#define TVMFFI_I_REQUIRED_VALUE(x) + 1025
#define TVMFFI_I_POSSIBLE_VALUE(x) + 1
#define TVMFFI_I_NOT_REQUIRED(x) - 1024
#define TVMFFI_I_NO_VALUE(bits) \
  - (((bits) & kTVMFFIFieldFlagBitMaskInitOff) != 0) * 1025

/* Expands to 1 for (W, x, value, ~), a field with a default, else to 0. */
#define TVMFFI_I_HAS_DEFAULT(...) TVMFFI_I_HAS_DEFAULT_(__VA_ARGS__, 1, 0, ~, ~)
#define TVMFFI_I_HAS_DEFAULT_(a, b, c, d, e, ...) e

#define TVMFFI_I_FIELD(T, d, ...) \
  TVMFFI_I_CAT(TVMFFI_I_FIELD_, d)(T, __VA_ARGS__)
#define TVMFFI_I_FIELD_0(T, W, x, ...) TVMFFI_I_FIELD_(T, W, x, 0)
#define TVMFFI_I_FIELD_1(T, W, x, value, ...) \
  TVMFFI_I_FIELD_(T, W, x, 1) \
  static int tvmffi_i_value_##T##_##x(TVMFFIAny *tvmffi_into) { \
    TVMFFI_I_BY_CLASS(TVMFFI_I_VALUE_, W)(W, value) \
  }
/* Checks that the members of a struct have the C types of their words. All
   checks are one nested expression: for each field, TVMFFI_I_FIT opens a level,
   and TVMFFI_I_FIT_END closes it; `make` is one of the two. The type of the
   expression is tvmffi_i_all_fit *, or a pointer to a struct whose name says
   which member has another type. TVMFFI_I_CHECK_FIT compares this type once for
   all fields, so the compiler's message does not show the macros that expand
   the list. */
#define TVMFFI_I_FITS(T, n, ...) \
  TVMFFI_I_EACH(n)(TVMFFI_I_FITS_ITEM, (T, TVMFFI_I_FIT), __VA_ARGS__) \
  TVMFFI_I_FIT_ALL \
  TVMFFI_I_EACH(n)(TVMFFI_I_FITS_ITEM, (T, TVMFFI_I_FIT_END), __VA_ARGS__)
#define TVMFFI_I_FITS_ITEM(x, item) \
  TVMFFI_I_FITS_ITEM_(TVMFFI_I_STRIP x, \
                      TVMFFI_I_STRIP item, 6, 5, 4, 3, 2, 1, ~)
#define TVMFFI_I_FITS_ITEM_(...) TVMFFI_I_FITS_ITEM__(__VA_ARGS__)
#define TVMFFI_I_FITS_ITEM__(T, make, kind, b, c, d, e, f, n, ...) \
  TVMFFI_I_SECOND(TVMFFI_I_FITS_##kind##_##n, TVMFFI_I_TO_SKIP, ~)(make) \
  (T, b, c)
#define TVMFFI_I_FITS_field_3 ~, TVMFFI_I_STRIP,
#define TVMFFI_I_FITS_field_4 ~, TVMFFI_I_STRIP,
#define TVMFFI_I_FITS_readonly_3 ~, TVMFFI_I_STRIP,
#define TVMFFI_I_FITS_readonly_4 ~, TVMFFI_I_STRIP,
#define TVMFFI_I_TO_SKIP(make) TVMFFI_I_SKIP
#define TVMFFI_I_MISTYPED(T, x) struct T##_##x##_has_not_the_C_type_of_its_word
#if defined(__cplusplus)
extern "C++" {
struct tvmffi_i_all_fit {
  typedef tvmffi_i_all_fit tvmffi_is;
};
template <typename tvmffi_a, typename tvmffi_b, typename tvmffi_misfit,
          typename tvmffi_next>
struct tvmffi_i_members_fit {
  typedef tvmffi_misfit tvmffi_is;
};
template <typename tvmffi_a, typename tvmffi_misfit, typename tvmffi_next>
struct tvmffi_i_members_fit<tvmffi_a, tvmffi_a, tvmffi_misfit, tvmffi_next> {
  typedef typename tvmffi_next::tvmffi_is tvmffi_is;
};
}
#define TVMFFI_I_FIT(T, W, x) \
  tvmffi_i_members_fit<decltype(T::x), TVMFFI_I_CTYPE(W), \
                       TVMFFI_I_MISTYPED(T, x),
#define TVMFFI_I_FIT_ALL tvmffi_i_all_fit
#define TVMFFI_I_FIT_END(T, W, x) >
#define TVMFFI_I_CHECK_FIT(T, ...) \
  typedef __VA_ARGS__::tvmffi_is **tvmffi_i_fit_##T; \
  enum { tvmffi_i_fits_##T = sizeof( \
             static_cast<tvmffi_i_all_fit **>(tvmffi_i_fit_##T())) };
#elif TVMFFI_I_SELECTS
typedef struct tvmffi_i_all_fit tvmffi_i_all_fit;
#define TVMFFI_I_FIT(T, W, x) \
  _Generic(TVMFFI_I_AS(T *, NULL)->x, \
           default: (TVMFFI_I_MISTYPED(T, x) *)0, TVMFFI_I_CTYPE(W):
#define TVMFFI_I_FIT_ALL (tvmffi_i_all_fit *)0
#define TVMFFI_I_FIT_END(T, W, x) )
#define TVMFFI_I_CHECK_FIT(T, fit) \
  enum { tvmffi_i_fits_##T = sizeof( \
             TVMFFI_I_EXTENSION _Generic(&*(fit), tvmffi_i_all_fit *: 1)) };
#else /* C without _Generic: only sizes are compared */
#define TVMFFI_I_FIT(T, W, x) \
  sizeof(TVMFFI_I_AS(T *, NULL)->x) == sizeof(TVMFFI_I_CTYPE(W)) &&
#define TVMFFI_I_FIT_ALL 1
#define TVMFFI_I_FIT_END(T, W, x)
#define TVMFFI_I_CHECK_FIT(T, fit) \
  TVMFFI_STATIC_ASSERT(fit, T##_has_a_member_without_the_C_type_of_its_word);
#endif

/* Defines the getter and setter of field x. */
#define TVMFFI_I_FIELD_(T, W, x, defaults) \
  TVMFFI_I_NO_TENSOR_TEXT(W) TVMFFI_I_USE(W) \
  struct tvmffi_i_align_##T##_##x { \
    char tvmffi_head; \
    TVMFFI_I_CTYPE(W) tvmffi_tail; \
  }; \
  static int tvmffi_i_read_##T##_##x(void *tvmffi_field, \
                                     TVMFFIAny *tvmffi_into) { \
    return tvmffi_i_read_member(&TVMFFI_I_CAT(tvmffi_i_word_, W), \
                               TVMFFI_I_BY_CLASS(TVMFFI_I_KIND_, W), \
                               tvmffi_field, tvmffi_into); \
  } \
  static int tvmffi_i_write_##T##_##x(void *tvmffi_field, \
                                            const TVMFFIAny *tvmffi_value) { \
    return tvmffi_i_write_member(&TVMFFI_I_CAT(tvmffi_i_word_, W), \
                                TVMFFI_I_BY_CLASS(TVMFFI_I_KIND_, W), \
                                defaults, tvmffi_field, tvmffi_value); \
  }

#define TVMFFI_I_MEMBER(x, item) \
  TVMFFI_I_CAT(TVMFFI_I_MEMBER_, TVMFFI_I_IS_ITEM(item))(x, item)
#define TVMFFI_I_MEMBER_0(x, item)
#define TVMFFI_I_MEMBER_1(x, item) \
  TVMFFI_I_ITEM_PART(TVMFFI_I_MEMBER_, TVMFFI_I_STRIP x, TVMFFI_I_STRIP item, ~)
#define TVMFFI_I_ENTRY(what, name, flags, method, full_name, factory) \
  {TVMFFI_I_IS_##what, 0, name, flags, 0, 0, 0, NULL, NULL, NULL, NULL, \
   method, full_name, factory},
#define TVMFFI_I_MEMBER_field(T, K, ...) \
  TVMFFI_I_FIELD_ENTRY(T, kTVMFFIFieldFlagBitMaskWritable, \
                        TVMFFI_I_HAS_DEFAULT(__VA_ARGS__), __VA_ARGS__)
#define TVMFFI_I_MEMBER_readonly(T, K, ...) \
  TVMFFI_I_FIELD_ENTRY(T, 0, TVMFFI_I_HAS_DEFAULT(__VA_ARGS__), __VA_ARGS__)
#define TVMFFI_I_FIELD_ENTRY(T, flags, d, ...) \
  TVMFFI_I_FIELD_ENTRY_(T, flags, TVMFFI_I_CAT(TVMFFI_I_VALUE_OF_, d), \
                         __VA_ARGS__)
#define TVMFFI_I_VALUE_OF_0(T, x) NULL
#define TVMFFI_I_VALUE_OF_1(T, x) tvmffi_i_value_##T##_##x
#define TVMFFI_I_FIELD_ENTRY_(T, flags, value, W, x, ...) \
  {TVMFFI_I_IS_FIELD, TVMFFI_I_BY_CLASS(TVMFFI_I_KIND_, W), #x, flags, \
   TVMFFI_I_AS(int64_t, offsetof(T, x)), \
   TVMFFI_I_AS(int64_t, sizeof(TVMFFI_I_CTYPE(W))), \
   TVMFFI_I_AS(int64_t, \
               offsetof(struct tvmffi_i_align_##T##_##x, tvmffi_tail)), \
   &TVMFFI_I_CAT(tvmffi_i_word_, W), tvmffi_i_read_##T##_##x, \
   tvmffi_i_write_##T##_##x, value(T, x), NULL, NULL, NULL},
#define TVMFFI_I_MEMBER_method(T, K, name, ...) \
  TVMFFI_I_METHOD_ENTRY(METHOD, T, K, #name, name)
#define TVMFFI_I_MEMBER_attribute(T, K, text, name, ...) \
  TVMFFI_I_METHOD_ENTRY(ATTRIBUTE, T, K, text, name)
#define TVMFFI_I_METHOD_ENTRY(what, T, K, text, name) \
  TVMFFI_I_ENTRY(what, text, 0, TVMFFI_I_METHOD_OF(T, name), K "." text, NULL)
#define TVMFFI_I_MEMBER_destructor(...)
#define TVMFFI_I_MEMBER_kw_only(...) \
  TVMFFI_I_ENTRY(KW_ONLY, NULL, 0, NULL, NULL, NULL)
#define TVMFFI_I_MEMBER_structural(T, K, kind, ...) \
  TVMFFI_I_ENTRY(STRUCTURAL, NULL, kind, NULL, NULL, NULL)
#define TVMFFI_I_MEMBER_doc(T, K, text, ...) \
  TVMFFI_I_ENTRY(DOC, text, 0, NULL, NULL, NULL)
#define TVMFFI_I_MEMBER_flags(T, K, bits, ...) \
  TVMFFI_I_ENTRY(FLAGS, NULL, bits, NULL, NULL, NULL)
#define TVMFFI_I_MEMBER_factory(T, K, name, ...) \
  TVMFFI_I_ENTRY(FACTORY, NULL, 0, NULL, NULL, TVMFFI_I_FUNC(name))

#define TVMFFI_I_HAS_END(x, item) + TVMFFI_I_IS_END(TVMFFI_I_STRIP item, ~)
#define TVMFFI_I_END(x, item) \
  TVMFFI_I_CAT(TVMFFI_I_END_, TVMFFI_I_IS_END(TVMFFI_I_STRIP item, ~)) \
  (TVMFFI_I_STRIP x, TVMFFI_I_STRIP item)
#define TVMFFI_I_END_0(...)
#define TVMFFI_I_END_1(...) TVMFFI_I_CALL_END(__VA_ARGS__)
#define TVMFFI_I_CALL_END(T, K, kind, name) name(TVMFFI_I_AS(T *, self));
#define TVMFFI_I_IS_END(...) TVMFFI_I_IS_END_(__VA_ARGS__)
#define TVMFFI_I_IS_END_(kind, ...) TVMFFI_I_SECOND(TVMFFI_I_ENDS_##kind, 0, ~)
#define TVMFFI_I_ENDS_destructor ~, 1,

/* Defines the tvmffi_i_getter that converts an Any to a pointer to the struct
   T. */
#define TVMFFI_I_CLASS_GETTER(T, name) \
  TVMFFI_I_INLINE int name(const TVMFFIAny *tvmffi_from, void *tvmffi_to) { \
    return tvmffi_i_get_instance(tvmffi_i_class_of_##T(), tvmffi_from, \
                                 tvmffi_to); \
  }

/* Makes the struct's name T a parameter type for TVMFFI_FUNC, with the C type
   T *, and defines tvmffi_out_T. */
#define TVMFFI_I_CLASS_WORD(T, K, schema) \
  enum { tvmffi_i_declared_##T = sizeof(K) }; \
  TVMFFI_I_UNUSED static tvmffi_i_class *tvmffi_i_class_of_##T(void); \
  TVMFFI_STATIC_ASSERT(sizeof(K) <= 81, type_key_of_##T##_is_too_long); \
  TVMFFI_I_CLASS_GETTER(T, tvmffi_i_get_##T) \
  TVMFFI_I_TYPE(T, T *, K, schema, TVMFFI_I_CUSTOM, -1, tvmffi_i_get_##T, \
                NULL) \
  TVMFFI_I_OUT_TYPE(T) \
  TVMFFI_I_OUT_OF_STRUCT(T)
/* Checks that struct T begins with the member `base` of type `parent`. Measures
   the alignment of T. */
#define TVMFFI_I_CLASS_STRUCT(T, parent) \
  enum { \
    tvmffi_i_check_##T = \
        sizeof(*(1 ? TVMFFI_I_AS(parent *, NULL) \
                  : &TVMFFI_I_AS(T *, NULL)->base)) \
  }; \
  TVMFFI_STATIC_ASSERT(offsetof(T, base) == 0, base_of_##T##_is_not_first); \
  struct tvmffi_i_align_##T { \
    char tvmffi_head; \
    T tvmffi_tail; \
  };
/* The function behind TVMFFI_NEW(T, ...). `made` makes the object `self`. */
#define TVMFFI_I_NEW_FUNCTION(T, made) \
  TVMFFI_I_INLINE T *tvmffi_i_new_##T(tvmffi_i_owner tvmffi_to, \
                                      const TVMFFIAny *tvmffi_args, \
                                      int32_t tvmffi_count) { \
    TVMFFIObjectHandle self = NULL; \
    (void)tvmffi_args, (void)tvmffi_count; \
    if (tvmffi_i_is_marked(tvmffi_to) || (made)) \
      self = tvmffi_i_mark(tvmffi_to); \
    return TVMFFI_I_AS(T *, self); \
  }
#define TVMFFI_I_CLASS_DESTROY(T, K, n, ...) \
  TVMFFI_I_INLINE void tvmffi_i_destroy_##T(void *self) { \
    (void)self; \
    TVMFFI_I_EACH(n)(TVMFFI_I_END, (T, K), __VA_ARGS__) \
  }
#define TVMFFI_I_CLASS_INIT(T) \
  TVMFFI_I_UNUSED static int tvmffi_i_init_##T(void **tvmffi_into) { \
    return tvmffi_i_class_init(tvmffi_i_class_of_##T(), tvmffi_into); \
  }

#define TVMFFI_I_TYPE_(T, K, n, parent, ...) \
  TVMFFI_STATIC_ASSERT(sizeof(K) == tvmffi_i_declared_##T, \
                       key_of_##T##_is_not_the_declared_one); \
  TVMFFI_I_CLASS_STRUCT(T, parent) \
  TVMFFI_I_EACH(n)(TVMFFI_I_DECLARE, (T, K), __VA_ARGS__) \
  TVMFFI_I_CHECK_FIT(T, TVMFFI_I_FITS(T, n, __VA_ARGS__)) \
  enum { \
    tvmffi_i_values_##T = tvmffi_i_values_##parent \
        TVMFFI_I_EACH(n)(TVMFFI_I_VALUES, ~, __VA_ARGS__) \
  }; \
  static const tvmffi_i_member tvmffi_i_members_##T[] = { \
      TVMFFI_I_EACH(n)(TVMFFI_I_MEMBER, (T, K), __VA_ARGS__) \
      TVMFFI_I_ENTRY(END, NULL, 0, NULL, NULL, NULL)}; \
  TVMFFI_I_CLASS_DESTROY(T, K, n, __VA_ARGS__) \
  static int tvmffi_i_create_##T(TVMFFIObjectHandle *tvmffi_into) { \
    return tvmffi_i_class_make(tvmffi_i_class_of_##T(), tvmffi_into); \
  } \
  static void tvmffi_i_delete_##T(void *self, int tvmffi_flags) { \
    tvmffi_i_class_delete(tvmffi_i_class_of_##T(), \
                          TVMFFI_I_AS(TVMFFIObject *, self), tvmffi_flags); \
  } \
  TVMFFI_I_NEW_FUNCTION( \
      T, tvmffi_i_class_new(tvmffi_to, tvmffi_i_class_of_##T(), \
                            &self, tvmffi_args, tvmffi_count)) \
  static tvmffi_i_class tvmffi_i_class_##T = { \
      K, &tvmffi_i_class_##parent, sizeof(T), \
      TVMFFI_I_AS(int32_t, offsetof(struct tvmffi_i_align_##T, tvmffi_tail)), \
      tvmffi_i_members_##T, tvmffi_i_init_##T, tvmffi_i_create_##T, \
      tvmffi_i_delete_##T, \
      (0 TVMFFI_I_EACH(n)(TVMFFI_I_HAS_END, (T, K), __VA_ARGS__)) \
          ? tvmffi_i_destroy_##T \
          : NULL, \
      NULL, 0, 0}; \
  static tvmffi_i_class *tvmffi_i_class_of_##T(void) { \
    return &tvmffi_i_class_##T; \
  }
/* clang-format on */

/* Defines an object type by a struct. The first use registers the type.
       TVMFFI_TYPE(Point, "demo.Point", TVMFFIObject,
                   (field, float64, x), (field, float64, y, 0.0),
                   (method, norm), (doc, "Returns the length"))
   The arguments are the struct, the type key (up to 80 bytes), the parent's
   struct, and up to 32 items. The struct's first member is the parent's struct,
   named `base`. Point becomes a parameter type for a pointer to the struct:
   (Point, p). Items:
     (field, T, member)             a member that the constructor requires
     (field, T, member, value)      a member with a default
     (readonly, T, member...)       a field that Python cannot set
     (method, name)                 a TVMFFI_METHOD or TVMFFI_STATIC_METHOD;
                                    a static __ffi_init__ is the constructor
     (attribute, "name", method)    a type attribute, such as "__ffi_repr__"
     (destructor, function)         void function(Point *), called before the
                                    fields are released; disables copying,
                                    unless __ffi_shallow_copy__ is an attribute
     (kw_only)                      the fields after it are keyword-only
     (structural, kind)             a TVMFFISEqHashKind
     (doc, "text")                  documents the item before it; the type, if
                                    (doc, "text") is the first item
     (flags, bits)                  adds a TVMFFIFieldFlagBitMask to the field
                                    before it
     (factory, name)                a TVMFFI_FUNC without parameters that makes
                                    the default of the field before it
   A default `value` is a number; a string for str, bytes, dtype or device; for
   `any`, what TVMFFI_ANY accepts; for an object NULL, which lets the field be
   None. optional(T) has the same defaults as T, but only NULL if T accepts a
   string. An optional number accepts tvmffi_some_T(value) or tvmffi_no_T().
   A member of parameter type T has the C type tvmffi_type_T. An optional
   number, dtype or device has tvmffi_type_optional(T). A str, bytes or any
   member is a TVMFFIAny, and an object a pointer. The struct owns these values:
   in C, set them by tvmffi_any_assign and tvmffi_keep. Containers are
   converted as parameters are. Use tensor_object for a tensor. Members that are
   not fields are copied bitwise.

   Two files of a library may have a TVMFFI_TYPE of one key, if the fields and
   the destructor are the same. Methods and attributes are those of the list
   that is registered first. */
#define TVMFFI_TYPE(type, key, ...) \
  TVMFFI_TYPE_DECLARE(type, key)    \
  TVMFFI_I_TYPE_(type, key, TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__, ~)

/* Declares and defines a type like TVMFFI_TYPE, but in two parts, for types
   that refer to each other. TVMFFI_TYPE_DECLARE needs only `typedef struct
   Point Point;` and makes the name a parameter type. TVMFFI_TYPE_DEFINE follows
   in the same file, with the same key. Objects that own each other leak until
   one of them drops the other. */
#define TVMFFI_TYPE_DECLARE(type, key) \
  TVMFFI_I_CLASS_WORD(type, key, key)  \
  TVMFFI_I_CLASS_INIT(type)
#define TVMFFI_TYPE_DEFINE(type, key, ...) \
  TVMFFI_I_TYPE_(type, key, TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__, ~)

/* Declares a type that another library, or another file of this one, registers.
   The struct must begin with the same members. The name is usable as a
   parameter type, in TVMFFI_CAST and as the parent in TVMFFI_TYPE, but not in
   TVMFFI_NEW. This library allocates objects of a child TVMFFI_TYPE, and
   initialises only the parent's registered fields. */
#define TVMFFI_FOREIGN_TYPE(type, key)                                    \
  enum { tvmffi_i_values_##type = 32 }; /* its fields are unknown */      \
  TVMFFI_I_CLASS_WORD(type, key, key)                                     \
  TVMFFI_I_CLASS_INIT(type)                                               \
  TVMFFI_I_UNUSED static tvmffi_i_class tvmffi_i_class_##type = {         \
      key,  NULL, sizeof(type), 8,    NULL, tvmffi_i_init_##type,         \
      NULL, NULL, NULL,         NULL, 0,    0};                           \
  TVMFFI_I_UNUSED static tvmffi_i_class *tvmffi_i_class_of_##type(void) { \
    return &tvmffi_i_class_##type;                                        \
  }

/* Begins a method, as TVMFFI_FUNC begins a function: TVMFFI_METHOD(Point, norm,
   float64, (T, parameter)...), then a body in which `self` is the object,
   borrowed. A method may precede or follow TVMFFI_TYPE. The type's name can be
   used as a parameter or result type only after TVMFFI_TYPE. */
/* clang-format off */
#define TVMFFI_METHOD(type, name, ...) \
  TVMFFI_I_SELF_OF(type, self_##type##_##name) \
  TVMFFI_I_TYPED(type##_##name, TVMFFI_I_USES(__VA_ARGS__), TVMFFI_I_BOUND, \
      type, name, TVMFFI_I_COUNT(~, __VA_ARGS__), __VA_ARGS__, ~)

/* Begins a static method, which has no `self`. */
#define TVMFFI_STATIC_METHOD(type, name, ...) \
  TVMFFI_I_TYPED(type##_##name, TVMFFI_I_USES(__VA_ARGS__), TVMFFI_I_UNBOUND, \
      type, name, TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__, ~)

/* Defines a parameter type W for `self`, because T is possibly not yet defined
   as one. When T is registered, error messages name W by the type key of T. */
#define TVMFFI_I_WORD_tvmffi_self_of(W) ~, object,
#define tvmffi_type_tvmffi_self_of(W) TVMFFI_I_UNUSED tvmffi_type_##W
#define tvmffi_i_word_tvmffi_self_of(W) tvmffi_i_word_##W
#define TVMFFI_I_SELF_OF(T, W) \
  static tvmffi_i_class *tvmffi_i_class_of_##T(void); \
  TVMFFI_I_CLASS_GETTER(T, tvmffi_i_get_##W) \
  static tvmffi_i_word tvmffi_i_shown_##W = { \
      #T, #T, {NULL, NULL}, NULL, NULL, -1, TVMFFI_I_CUSTOM, 0, 0}; \
  TVMFFI_I_TYPE(W, T *, #T, #T, TVMFFI_I_CUSTOM, -1, tvmffi_i_get_##W, \
                &tvmffi_i_shown_##W)
#define TVMFFI_I_BOUND(T, name, n, R, ...) \
  TVMFFI_I_METHOD_FUNC(T, name, &tvmffi_i_shown_self_##T##_##name, n, R, \
      (tvmffi_self_of(self_##T##_##name), self), __VA_ARGS__)
#define TVMFFI_I_UNBOUND(T, name, ...) \
  TVMFFI_I_METHOD_FUNC(T, name, NULL, __VA_ARGS__)
#define TVMFFI_I_METHOD_FUNC(T, name, shown, n, ...) \
  TVMFFI_I_DEFINE(tvmffi_user, tvmffi_call_##T##_##name, #T "." #name, \
                  tvmffi_func_##T##_##name, tvmffi_body_##T##_##name, n, \
                  __VA_ARGS__) \
  TVMFFI_I_METHOD_BODY(T##_##name, &tvmffi_func_##T##_##name, shown) \
  TVMFFI_I_BODY(, tvmffi_body_##T##_##name, n, __VA_ARGS__)
/* clang-format on */

/* Registers a type and its ancestors now, for Python. In C, the first use of a
   type registers it. Returns 0, also if the type is registered already, or -1
   with an error. */
#define TVMFFI_REGISTER_TYPE(type) \
  tvmffi_i_class_ready(tvmffi_i_class_of_##type())

/* Returns the index of a type, or -1 with an error if it cannot be
   registered. */
#define TVMFFI_TYPE_INDEX(type) tvmffi_i_class_index(tvmffi_i_class_of_##type())

/* Casts an object (borrowed, may be NULL) to a pointer to the struct `type`,
   borrowed while the object lives. Returns NULL if the object is of another
   type. */
#define TVMFFI_CAST(type, object)                                     \
  TVMFFI_I_AS(type *, tvmffi_i_class_cast(tvmffi_i_class_of_##type(), \
                                          TVMFFI_I_HANDLE(object)))

/* Creates an object: Point *p = TVMFFI_NEW(Point, 3.0, 4.0). Returns the
   object, which the scope owns, or NULL with an error.
   Up to 32 plain values, as in tvmffi_call, set fields in the order of Python's
   constructor: first the fields without a default, then those with one. Both
   times a parent's fields come before its child's, so an inherited default
   comes after all required fields. Keyword-only fields take no value.
   A field without a value gets its default. A required field without one is a
   TypeError, as are more values than fields; the compiler finds both if it can.
   A field that is not a parameter of the constructor gets its default, or zero.
   A value that a field cannot store is a TypeError or OverflowError that names
   the field. */
#if defined(__cplusplus)
#define TVMFFI_NEW(...) TVMFFI_I_NEW_OBJECT(__VA_ARGS__)
extern "C++" {
template <int tvmffi_values, typename tvmffi_made, typename... tvmffi_rest>
static inline tvmffi_made *tvmffi_i_new(tvmffi_i_owner to,
                                        tvmffi_made *(*make)(tvmffi_i_owner,
                                                             const TVMFFIAny *,
                                                             int32_t),
                                        tvmffi_rest... args) {
  enum : int { given = sizeof...(tvmffi_rest) };
  static_assert(!(sizeof...(tvmffi_rest) > 32),
                "at_most_32_values_are_possible");
  static_assert(!(given < tvmffi_values / 1024),
                "tvmffi_needs_a_value_for_each_field_without_default");
  static_assert(!(given > (tvmffi_values & 1023) && given <= 32),
                "tvmffi_has_fewer_fields_than_values");
  TVMFFIAny values[] = {TVMFFI_ANY(args)..., tvmffi_none()};
  return make(to, values, given);
}
}
/* clang-format off */
/* ## joins the prefix and the first argument, the type. */
#define TVMFFI_I_NEW_OBJECT(...) \
  tvmffi_i_new<TVMFFI_I_FIRST(tvmffi_i_values_##__VA_ARGS__, ~)>( \
      TVMFFI_I_OWNER, tvmffi_i_new_##__VA_ARGS__)
#else
#define TVMFFI_NEW(...) \
  TVMFFI_I_NEW_OBJECT(TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__, ~)
/* The compiler's error shows the name of a bit-field with a negative width. Two
   of 16 bits leave no padding, of which -Wpadded would warn. */
#define TVMFFI_I_NEW_OBJECT(n, type, ...) \
  tvmffi_i_new_##type( \
      TVMFFI_I_OWNER, \
      (TVMFFIAny[TVMFFI_I_ARRAY_SIZE(n)]){ \
          TVMFFI_I_EACH(n)(TVMFFI_I_ITEM, ~, __VA_ARGS__) tvmffi_none()}, \
      (n)-1 + 0 * (int32_t)sizeof(struct { \
        unsigned tvmffi_##type##_needs_a_value_for_each_field_without_default \
            : TVMFFI_I_IF_FEW(n, n > tvmffi_i_values_##type / 1024) ? 16 : -1; \
        unsigned tvmffi_##type##_has_fewer_fields_than_values \
            : TVMFFI_I_IF_FEW(n, n <= (tvmffi_i_values_##type & 1023) + 1) \
                  ? 16 : -1; \
      }))
/* clang-format on */
#endif
