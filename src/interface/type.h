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
#define TVMFFI_I_KIND_any TVMFFI_I_STORED_ANY
#define TVMFFI_I_KIND_str TVMFFI_I_STORED_STR
#define TVMFFI_I_KIND_bytes TVMFFI_I_STORED_BYTES

/* Expands to the C type of a member, such as double for T = float64. */
#define TVMFFI_I_CTYPE_int64(T) TVMFFI_I_CAT(tvmffi_type_, T)
#define TVMFFI_I_CTYPE_dtype TVMFFI_I_CTYPE_int64
#define TVMFFI_I_CTYPE_object TVMFFI_I_CTYPE_int64
#define TVMFFI_I_CTYPE_tensor(T) a_tensor_is_no_field_but_a_tensor_object_is
#define TVMFFI_I_CTYPE_any(T) TVMFFIAny
#define TVMFFI_I_CTYPE_str TVMFFI_I_CTYPE_any
#define TVMFFI_I_CTYPE_bytes TVMFFI_I_CTYPE_any
#define TVMFFI_I_CTYPE(T) TVMFFI_I_BY_CLASS(TVMFFI_I_CTYPE_, T)(T)

/* All objects of a type have the same default, so a default makes no object:
   for a maker in it, the compiler's error shows this type as the scope's. */
#define TVMFFI_I_NO_OBJECT \
  tvmffi_i_the_default_of_an_object_is_NULL__or_write_factory_after_the_field
typedef struct TVMFFI_I_NO_OBJECT TVMFFI_I_NO_OBJECT;

/* These macros store a field's default at `to`, as TVMFFI_I_DEFAULT_ does for a
   parameter. But the default of bytes is a C string, the default of `any` may
   be a slice, and of an object's default only whether it is NULL counts. */
#define TVMFFI_I_VALUE_int64 TVMFFI_I_DEFAULT_int64
#define TVMFFI_I_VALUE_dtype(to, T, x) *(to) = tvmffi_str(x);
#define TVMFFI_I_VALUE_object(to, T, x) \
  TVMFFI_I_UNUSED TVMFFI_I_NO_OBJECT *const tvmffi_i_here = NULL; \
  const TVMFFI_I_CTYPE(T) tvmffi_now = (x); \
  *(to) = tvmffi_i_pointer(tvmffi_now ? kTVMFFIObject : kTVMFFINone, NULL);
#define TVMFFI_I_VALUE_any(to, T, x) *(to) = TVMFFI_ANY(x);
#define TVMFFI_I_VALUE_str TVMFFI_I_VALUE_dtype
#define TVMFFI_I_VALUE_bytes TVMFFI_I_VALUE_dtype

/* The items (kind, ...) that a list L, which is TYPE or MODULE, may have.
   TVMFFI_I_L_kind_n exists if an item of that kind may have n elements. It
   names a form, as "~, form,", and TVMFFI_I_ITEM_form calls the pass with the
   elements. */
#define TVMFFI_I_TYPE_field_3 ~, FIELD,
#define TVMFFI_I_TYPE_field_4 ~, FIELD_OR,
#define TVMFFI_I_TYPE_readonly_3 ~, FIELD,
#define TVMFFI_I_TYPE_readonly_4 ~, FIELD_OR,
#define TVMFFI_I_TYPE_method_2 ~, METHOD,
#define TVMFFI_I_TYPE_attribute_3 ~, ATTRIBUTE,
#define TVMFFI_I_TYPE_destructor_2 ~, DESTRUCTOR,
#define TVMFFI_I_TYPE_kw_only_1 ~, ALONE,
#define TVMFFI_I_TYPE_structural_2 ~, BITS,
#define TVMFFI_I_TYPE_doc_2 ~, TEXT,
#define TVMFFI_I_TYPE_flags_2 ~, FLAGS,
#define TVMFFI_I_TYPE_factory_2 ~, FACTORY,
#define TVMFFI_I_MODULE_function_2 ~, FUNCTION,
#define TVMFFI_I_MODULE_lookup_2 ~, METHOD,
#define TVMFFI_I_MODULE_save_2 ~, METHOD,
#define TVMFFI_I_MODULE_load_2 ~, LOAD,
#define TVMFFI_I_MODULE_source_2 ~, METHOD,
#define TVMFFI_I_MODULE_save_file_3 ~, SAVE_FILE,
#define TVMFFI_I_MODULE_load_file_3 ~, LOAD_FILE,
#define TVMFFI_I_MODULE_doc_2 ~, TEXT,
#define TVMFFI_I_MODULE_mask_2 ~, BITS,
#define TVMFFI_I_MODULE_destructor_2 ~, DESTRUCTOR,

/* Each pass over a list expands its items by TVMFFI_I_EXPAND, with x = (F, L,
   T, K): the pass F, the struct T and its key K. An item of a form such as
   FIELD expands to the macro that TVMFFI_I_F_FIELD names as "~, macro,". If
   nothing defines that name, it expands to nothing. */
#define TVMFFI_I_EXPAND(x, item) \
  TVMFFI_I_EXPAND_(TVMFFI_I_STRIP x, TVMFFI_I_STRIP item, 6, 5, 4, 3, 2, 1, ~)
#define TVMFFI_I_EXPAND_(...) TVMFFI_I_EXPAND__(__VA_ARGS__)
#define TVMFFI_I_EXPAND__(F, L, T, K, kind, a, b, c, d, e, n, ...) \
  TVMFFI_I_CAT(TVMFFI_I_ITEM_, \
               TVMFFI_I_SECOND(TVMFFI_I_##L##_##kind##_##n, BAD, ~)) \
  (F, L, n, T, K, kind, a, b, c)
#define TVMFFI_I_PASS_TO(name) TVMFFI_I_SECOND(name, TVMFFI_I_SKIP, ~)
#define TVMFFI_I_ITEM_FIELD(F, L, n, T, K, kind, W, x, c) \
  TVMFFI_I_PASS_TO(F##_FIELD)(T, kind, W, x, 0, ~)
#define TVMFFI_I_ITEM_FIELD_OR(F, L, n, T, K, kind, W, x, value) \
  TVMFFI_I_PASS_TO(F##_FIELD)(T, kind, W, x, 1, value)
#define TVMFFI_I_ITEM_METHOD(F, L, n, T, K, kind, name, b, c) \
  TVMFFI_I_PASS_TO(F##_METHOD)(T, kind, #name, name, K "." #name, NULL)
#define TVMFFI_I_ITEM_ATTRIBUTE(F, L, n, T, K, kind, text, name, c) \
  TVMFFI_I_PASS_TO(F##_METHOD)(T, kind, text, name, K "." text, NULL)
#define TVMFFI_I_ITEM_SAVE_FILE(F, L, n, T, K, kind, format, name, c) \
  TVMFFI_I_PASS_TO(F##_METHOD)(T, kind, format, name, K "." #name, NULL)
#define TVMFFI_I_ITEM_FUNCTION(F, L, n, T, K, kind, name, b, c) \
  TVMFFI_I_PASS_TO(F##_FUNCTION)(T, name) \
  TVMFFI_I_PASS_TO(F##_METHOD)(T, kind, #name, name, K "." #name, \
                               tvmffi_i_bound_##T##_##name)
#define TVMFFI_I_ITEM_LOAD(F, L, n, T, K, kind, name, b, c) \
  TVMFFI_I_PASS_TO(F##_METHOD)(T, kind, "ffi.Module.load_from_bytes." K, \
                               name, K "." #name, NULL)
#define TVMFFI_I_ITEM_LOAD_FILE(F, L, n, T, K, kind, format, name, c) \
  TVMFFI_I_PASS_TO(F##_METHOD) \
  (T, kind, "ffi.Module.load_from_file." format, name, K "." #name, NULL)
#define TVMFFI_I_ITEM_DESTRUCTOR(F, L, n, T, K, kind, function, b, c) \
  TVMFFI_I_PASS_TO(F##_DESTRUCTOR)(T, function) \
  TVMFFI_I_PASS_TO(F##_OTHER)(kind, NULL, 0, NULL, )
#define TVMFFI_I_ITEM_ALONE(F, L, n, T, K, kind, a, b, c) \
  TVMFFI_I_PASS_TO(F##_OTHER)(kind, NULL, 0, NULL, )
#define TVMFFI_I_ITEM_BITS(F, L, n, T, K, kind, bits, b, c) \
  TVMFFI_I_PASS_TO(F##_OTHER)(kind, NULL, bits, NULL, )
#define TVMFFI_I_ITEM_TEXT(F, L, n, T, K, kind, text, b, c) \
  TVMFFI_I_PASS_TO(F##_OTHER)(kind, text, 0, NULL, )
#define TVMFFI_I_ITEM_FLAGS(F, L, n, T, K, kind, bits, b, c) \
  TVMFFI_I_PASS_TO(F##_OTHER)(kind, NULL, bits, NULL, \
      - (((bits) & kTVMFFIFieldFlagBitMaskInitOff) != 0) * 1025)
#define TVMFFI_I_ITEM_FACTORY(F, L, n, T, K, kind, name, b, c) \
  TVMFFI_I_PASS_TO(F##_OTHER)(kind, NULL, 0, TVMFFI_I_FUNC(name), - 1024)
#define TVMFFI_I_ITEM_BAD(F, L, n, T, K, kind, a, b, c) \
  TVMFFI_I_PASS_TO(F##_BAD)(TVMFFI_I_##L##_ITEMS(kind##_with_##n##_parts))

/* The pass TVMFFI_I_NEED requires the bodies of methods: see
   TVMFFI_I_HEAD_OF_METHOD. A list in a header passes without a check, because
   several files include the header, and one of them has the bodies. */
#define TVMFFI_I_NEED_METHOD TVMFFI_I_CAT(TVMFFI_I_NEED_AT_, __INCLUDE_LEVEL__)
#define TVMFFI_I_NEED_AT_0 ~, TVMFFI_I_NEED_BODY,
#if defined(__cplusplus)
#define TVMFFI_I_NEED(x, item) TVMFFI_I_EXPAND(x, item)
#define TVMFFI_I_NEED_BODY(T, kind, text, name, full_name, bound) \
  TVMFFI_I_HEAD_OF_METHOD(T, name)                                \
  typedef tvmffi_i_method_use<TVMFFI_I_METHOD_OF(T, name)>        \
      tvmffi_i_uses_##T##_##name;
#elif TVMFFI_I_ALIASES
/* x is (F, L, T, K) and a struct's name: all items declare one variable. */
#define TVMFFI_I_NEED(x, item)                                       \
  TVMFFI_I_UNUSED static char TVMFFI_I_SKIP x##_needs_tvmffi_methods \
      TVMFFI_I_EXPAND(x, item);
#define TVMFFI_I_NEED_BODY(T, kind, text, name, full_name, bound) \
  __attribute__((__alias__("tvmffi_i_write_TVMFFI_METHOD_" #T "_" #name)))
#else
#define TVMFFI_I_NEED(x, item) TVMFFI_I_EXPAND(x, item)
#if defined(__clang__)
#define TVMFFI_I_TENTATIVE(definition)                                       \
  _Pragma("clang diagnostic push") _Pragma(                                  \
      "clang diagnostic ignored \"-Wtentative-definition-incomplete-type\"") \
      definition _Pragma("clang diagnostic pop")
#elif TVMFFI_I_GNU
#define TVMFFI_I_TENTATIVE(definition) definition
#else
#define TVMFFI_I_TENTATIVE(definition)
#endif
#define TVMFFI_I_NEED_BODY(T, kind, text, name, full_name, bound)             \
  TVMFFI_I_TENTATIVE(                                                         \
      TVMFFI_I_UNUSED static struct tvmffi_i_write_TVMFFI_METHOD_##T##_##name \
          tvmffi_i_write_TVMFFI_METHOD_##T##_##name;)
#endif

/* The pass TVMFFI_I_DECLARE expands a wrong item to a static assertion that
   fails. It declares methods. It defines the getters, setters and defaults of
   fields, and the functions that call a module's functions. */
#define TVMFFI_I_DECLARE_BAD ~, TVMFFI_I_REFUSE_ITEM,
#define TVMFFI_I_REFUSE_ITEM(name) TVMFFI_I_REFUSE_ITEM_(name)
#define TVMFFI_I_REFUSE_ITEM_(name) TVMFFI_STATIC_ASSERT(0, name);
#define TVMFFI_I_TYPE_ITEMS(item) \
  item##_is_no_item_of_TVMFFI_TYPE__these_are_field_readonly_method_##\
  attribute_destructor_kw_only_structural_doc_flags_factory
#define TVMFFI_I_MODULE_ITEMS(item) \
  item##_is_no_item_of_TVMFFI_MODULE__these_are_function_lookup_save_##\
  load_source_save_file_load_file_doc_mask_destructor

/* The pass TVMFFI_I_VALUES expands an item to its part of tvmffi_i_values_T,
   which is the most values that TVMFFI_NEW can take, plus 1024 times the least.
   The macro does not see the field that a flag or factory belongs to, or
   whether a field is keyword-only, so the least is possibly too low and the
   most too high. */
#define TVMFFI_I_VALUES_FIELD ~, TVMFFI_I_FIELD_VALUE,
#define TVMFFI_I_FIELD_VALUE(T, kind, W, x, d, value) + 1025 - 1024 * d
#define TVMFFI_I_VALUES_OTHER ~, TVMFFI_I_OTHER_VALUE,
#define TVMFFI_I_OTHER_VALUE(kind, text, bits, factory, values) values

/* Checks that the members of a struct have the C types of their words. All
   checks are one nested expression: for each field, the pass TVMFFI_I_FIT opens
   a selection, by _Generic in C and by a template in C++, between a mismatch
   and the check of the next field. TVMFFI_I_FIT_END closes it. The type of the
   expression is tvmffi_i_all_fit *, or a pointer to a struct whose name says
   which member has another type. TVMFFI_I_CHECK_FIT compares this type once for
   all fields, so the compiler's message does not show the macros that expand
   the list. */
#define TVMFFI_I_FITS(T, n, ...) \
  TVMFFI_I_EACH(n)(TVMFFI_I_EXPAND, (TVMFFI_I_FIT, TYPE, T, ~), __VA_ARGS__) \
  TVMFFI_I_FIT_ALL \
  TVMFFI_I_EACH(n)(TVMFFI_I_EXPAND, (TVMFFI_I_FIT_END, TYPE, T, ~), __VA_ARGS__)
#define TVMFFI_I_FIT_FIELD ~, TVMFFI_I_FIT,
#define TVMFFI_I_FIT_END_FIELD ~, TVMFFI_I_FIT_END,
#define TVMFFI_I_MISTYPED(T, x) struct T##_##x##_has_not_the_C_type_of_its_word
#if defined(__cplusplus)
extern "C++" {
struct tvmffi_i_all_fit {
  typedef tvmffi_i_all_fit tvmffi_is;
};
template <typename tvmffi_a, typename tvmffi_b>
struct tvmffi_i_one_type {
  enum { tvmffi_is = 0 };
};
template <typename tvmffi_a>
struct tvmffi_i_one_type<tvmffi_a, tvmffi_a> {
  enum { tvmffi_is = 1 };
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
#define TVMFFI_I_FIT(T, kind, W, x, d, value) \
  tvmffi_i_members_fit<decltype(T::x), TVMFFI_I_CTYPE(W), \
                       TVMFFI_I_MISTYPED(T, x),
#define TVMFFI_I_FIT_ALL tvmffi_i_all_fit
#define TVMFFI_I_FIT_END(T, kind, W, x, d, value) >
/* The runtime zeroes and copies an object's bytes, and calls no constructor,
   assignment or destructor of C++. */
#define TVMFFI_I_CHECK_BASE(T, parent) \
  static_assert(tvmffi_i_one_type<decltype(T::base), parent>::tvmffi_is, \
                "base_of_" #T "_is_not_" #parent); \
  static_assert(__is_trivial(T), #T "_has_a_member_that_is_no_plain_C_value");
#define TVMFFI_I_CHECK_FIT(T, ...) \
  typedef __VA_ARGS__::tvmffi_is **tvmffi_i_fit_##T; \
  enum { tvmffi_i_fits_##T = sizeof( \
             static_cast<tvmffi_i_all_fit **>(tvmffi_i_fit_##T())) };
#elif TVMFFI_I_SELECTS
typedef struct tvmffi_i_all_fit tvmffi_i_all_fit;
#define TVMFFI_I_FIT(T, kind, W, x, d, value) \
  _Generic(TVMFFI_I_AS(T *, NULL)->x, \
           default: (TVMFFI_I_MISTYPED(T, x) *)0, TVMFFI_I_CTYPE(W):
#define TVMFFI_I_FIT_ALL (tvmffi_i_all_fit *)0
#define TVMFFI_I_FIT_END(T, kind, W, x, d, value) )
#define TVMFFI_I_CHECK_BASE(T, parent) \
  TVMFFI_STATIC_ASSERT( \
      TVMFFI_I_EXTENSION _Generic(TVMFFI_I_AS(T *, NULL)->base, \
                                  parent: 1, default: 0), \
      base_of_##T##_is_not_##parent);
#define TVMFFI_I_CHECK_FIT(T, fit) \
  enum { tvmffi_i_fits_##T = sizeof( \
             TVMFFI_I_EXTENSION _Generic(&*(fit), tvmffi_i_all_fit *: 1)) };
#else /* C without _Generic: only sizes are compared */
#define TVMFFI_I_FIT(T, kind, W, x, d, value) \
  sizeof(TVMFFI_I_AS(T *, NULL)->x) == sizeof(TVMFFI_I_CTYPE(W)) &&
#define TVMFFI_I_FIT_ALL 1
#define TVMFFI_I_FIT_END(T, kind, W, x, d, value)
#define TVMFFI_I_CHECK_BASE(T, parent) \
  enum { \
    tvmffi_i_check_##T = \
        sizeof(*(1 ? TVMFFI_I_AS(parent *, NULL) \
                  : &TVMFFI_I_AS(T *, NULL)->base)) \
  };
#define TVMFFI_I_CHECK_FIT(T, fit) \
  TVMFFI_STATIC_ASSERT(fit, T##_has_a_member_without_the_C_type_of_its_word);
#endif

#define TVMFFI_I_DECLARE_FIELD ~, TVMFFI_I_FIELD,
#define TVMFFI_I_FIELD(T, kind, W, x, d, value) \
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
                                d, tvmffi_field, tvmffi_value); \
  } \
  TVMFFI_I_FIELD_DEFAULT_##d(T, W, x, value)
#define TVMFFI_I_FIELD_DEFAULT_0(T, W, x, value)
#define TVMFFI_I_FIELD_DEFAULT_1(T, W, x, value) \
  static int tvmffi_i_value_##T##_##x(TVMFFIAny *tvmffi_into) { \
    TVMFFI_I_BY_CLASS(TVMFFI_I_VALUE_, W)(tvmffi_into, W, value) \
    return 0; \
  }
#define TVMFFI_I_DECLARE_METHOD ~, TVMFFI_I_DECLARED_METHOD,
#define TVMFFI_I_DECLARED_METHOD(T, kind, text, name, full_name, bound) \
  TVMFFI_I_HEAD_OF_METHOD(T, name)

/* The pass TVMFFI_I_MEMBER expands to initializers of tvmffi_i_member. */
#define TVMFFI_I_MEMBER_FIELD ~, TVMFFI_I_FIELD_ENTRY,
#define TVMFFI_I_FIELD_ENTRY(T, kind, W, x, d, value) \
  {TVMFFI_I_IS_##kind, TVMFFI_I_BY_CLASS(TVMFFI_I_KIND_, W), #x, 0, \
   TVMFFI_I_AS(int64_t, offsetof(T, x)), \
   TVMFFI_I_AS(int64_t, sizeof(TVMFFI_I_CTYPE(W))), \
   TVMFFI_I_AS(int64_t, \
               offsetof(struct tvmffi_i_align_##T##_##x, tvmffi_tail)), \
   &TVMFFI_I_CAT(tvmffi_i_word_, W), tvmffi_i_read_##T##_##x, \
   tvmffi_i_write_##T##_##x, TVMFFI_I_FIELD_VALUE_##d(T, x), {NULL}, \
   NULL, NULL, NULL},
#define TVMFFI_I_FIELD_VALUE_0(T, x) NULL
#define TVMFFI_I_FIELD_VALUE_1(T, x) tvmffi_i_value_##T##_##x
#define TVMFFI_I_MEMBER_METHOD ~, TVMFFI_I_METHOD_ENTRY,
#define TVMFFI_I_METHOD_ENTRY(T, kind, text, name, full_name, bound) \
  TVMFFI_I_ENTRY(kind, text, 0, TVMFFI_I_METHOD_OF(T, name), full_name, NULL, \
                 bound)
#define TVMFFI_I_MEMBER_OTHER ~, TVMFFI_I_OTHER_ENTRY,
#define TVMFFI_I_OTHER_ENTRY(kind, text, bits, factory, values) \
  TVMFFI_I_ENTRY(kind, text, bits, NULL, NULL, factory, NULL)
#define TVMFFI_I_ENTRY(kind, name, flags, method, full_name, factory, bound) \
  {TVMFFI_I_IS_##kind, 0, name, flags, 0, TVMFFI_I_LANGUAGE, 0, NULL, NULL, \
   NULL, NULL, {method}, full_name, factory, bound},

/* The pass TVMFFI_I_END calls destructors. */
#define TVMFFI_I_END_DESTRUCTOR ~, TVMFFI_I_CALL_END,
#define TVMFFI_I_CALL_END(T, function) function(TVMFFI_I_AS(T *, self));

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
#define TVMFFI_I_CLASS_INIT(T) \
  TVMFFI_I_UNUSED static int tvmffi_i_init_##T(void **tvmffi_into) { \
    return tvmffi_i_class_init(tvmffi_i_class_of_##T(), tvmffi_into); \
  }

/* Checks that struct T begins with the member `base` of type `parent`, measures
   the alignment of T, and defines its members by the items of the list L. */
#define TVMFFI_I_CLASS_MEMBERS(L, T, K, parent, n, ...) \
  TVMFFI_I_CHECK_BASE(T, parent) \
  TVMFFI_STATIC_ASSERT(offsetof(T, base) == 0, base_of_##T##_is_not_first); \
  struct tvmffi_i_align_##T { \
    char tvmffi_head; \
    T tvmffi_tail; \
  }; \
  TVMFFI_I_EACH(n)(TVMFFI_I_EXPAND, (TVMFFI_I_DECLARE, L, T, K), __VA_ARGS__) \
  static const tvmffi_i_member tvmffi_i_members_##T[] = { \
      TVMFFI_I_EACH(n)( \
          TVMFFI_I_EXPAND, (TVMFFI_I_MEMBER, L, T, K), __VA_ARGS__) \
      TVMFFI_I_ENTRY(end, NULL, 0, NULL, NULL, NULL, NULL)}; \
  TVMFFI_I_INLINE void tvmffi_i_destroy_##T(void *self) { \
    (void)self; \
    TVMFFI_I_EACH(n)(TVMFFI_I_EXPAND, (TVMFFI_I_END, L, T, K), __VA_ARGS__) \
  }
/* Defines the tvmffi_i_class of T: `delete_it` and `create` are functions, and
   the expression `made` makes the object `self`. */
#define TVMFFI_I_CLASS_OF(T, K, above, delete_it, create, index, made) \
  static void tvmffi_i_delete_##T(void *self, int tvmffi_flags) { \
    delete_it(tvmffi_i_class_of_##T(), TVMFFI_I_AS(TVMFFIObject *, self), \
              tvmffi_flags); \
  } \
  TVMFFI_I_INLINE T *tvmffi_i_new_##T(tvmffi_i_owner tvmffi_to, \
                                      const TVMFFIAny *tvmffi_args, \
                                      int32_t tvmffi_count) { \
    TVMFFIObjectHandle self = NULL; \
    (void)tvmffi_args, (void)tvmffi_count; \
    if (tvmffi_i_is_marked(tvmffi_to) || (made)) \
      self = tvmffi_i_mark(tvmffi_to); \
    return TVMFFI_I_AS(T *, self); \
  } \
  static tvmffi_i_class tvmffi_i_class_##T = { \
      K, above, sizeof(T), \
      TVMFFI_I_AS(int32_t, offsetof(struct tvmffi_i_align_##T, tvmffi_tail)), \
      tvmffi_i_members_##T, tvmffi_i_init_##T, create, tvmffi_i_delete_##T, \
      tvmffi_i_destroy_##T, NULL, index, 0}; \
  TVMFFI_I_UNUSED static tvmffi_i_class *tvmffi_i_class_of_##T(void) { \
    return &tvmffi_i_class_##T; \
  }

#define TVMFFI_I_TYPE_(T, K, n, parent, ...) \
  TVMFFI_STATIC_ASSERT(sizeof(K) == tvmffi_i_declared_##T, \
                       key_of_##T##_is_not_the_declared_one); \
  TVMFFI_I_CLASS_MEMBERS(TYPE, T, K, parent, n, __VA_ARGS__) \
  TVMFFI_I_CHECK_FIT(T, TVMFFI_I_FITS(T, n, __VA_ARGS__)) \
  enum { \
    tvmffi_i_values_##T = tvmffi_i_values_##parent TVMFFI_I_EACH(n)( \
        TVMFFI_I_EXPAND, (TVMFFI_I_VALUES, TYPE, T, K), __VA_ARGS__) \
  }; \
  static int tvmffi_i_create_##T(TVMFFIObjectHandle *tvmffi_into) { \
    return tvmffi_i_class_make(tvmffi_i_class_of_##T(), tvmffi_into); \
  } \
  TVMFFI_I_CLASS_OF(T, K, &tvmffi_i_class_##parent, tvmffi_i_class_delete, \
                    tvmffi_i_create_##T, 0, \
                    tvmffi_i_class_new(tvmffi_to, tvmffi_i_class_of_##T(), \
                                       &self, tvmffi_args, tvmffi_count)) \
  TVMFFI_I_ON_TYPE(T)
/* clang-format on */
/* A companion header redefines this to list the types of a library. */
#define TVMFFI_I_ON_TYPE(T)

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

   Several files of a library may have a TVMFFI_TYPE of one key, from a header
   that they include, say, if the fields and the destructor are the same: other
   fields are a TypeError. If the list is in a header, one file has the bodies
   of the methods, and calls TVMFFI_REGISTER_TYPE before another file uses the
   type: an earlier use is a TypeError. If several files define a method or
   attribute, the type has the method of the file that registers it first. In
   C++ the struct is trivial, because no constructor runs. */
#define TVMFFI_TYPE(type, key, ...)                                   \
  TVMFFI_TYPE_DECLARE(type, key)                                      \
  TVMFFI_I_EACH(TVMFFI_I_COUNT(__VA_ARGS__))(                         \
      TVMFFI_I_NEED, (TVMFFI_I_NEED, TYPE, type, key) __VA_ARGS__, ~) \
  TVMFFI_I_TYPE_(type, key, TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__, ~)

/* Declares and defines a type like TVMFFI_TYPE, but in two parts, for types
   that refer to each other. TVMFFI_TYPE_DECLARE needs only `typedef struct
   Point Point;` and makes the name a parameter type. TVMFFI_TYPE_DEFINE follows
   in the same file, with the same key. Objects that own each other leak until
   one of them drops the other. */
#define TVMFFI_TYPE_DECLARE(type, key) \
  TVMFFI_I_CLASS_WORD(type, key, key)  \
  TVMFFI_I_CLASS_INIT(type)
#define TVMFFI_TYPE_DEFINE(type, key, ...)                            \
  TVMFFI_I_EACH(TVMFFI_I_COUNT(__VA_ARGS__))(                         \
      TVMFFI_I_NEED, (TVMFFI_I_NEED, TYPE, type, key) __VA_ARGS__, ~) \
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
#define tvmffi_i_shared_word_tvmffi_self_of(W) tvmffi_i_word_##W
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
  static TVMFFI_I_CALL_HEAD(tvmffi_call_##T##_##name); \
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
