/* ======== Types: the macros that define a struct type === >>interface/type */

#pragma once

#include "../head/compiler.h"
#include "../head/abi.h"
#include "value.h"
#include "error.h"
#include "scope.h"
#include "word.h"
#include "function.h"
#include "call.h"
#include "class.h"
#include "class_object.h"
#include "class_init.h"

/* clang-format off */
/* How each word is kept in a struct: as the word behind the "~," is, or, if it
   is not here, as an object is. */
#define TVMFFI_I_KEPT_bool ~, int64
#define TVMFFI_I_KEPT__Bool ~, int64
#define TVMFFI_I_KEPT_int8 ~, int64
#define TVMFFI_I_KEPT_int16 ~, int64
#define TVMFFI_I_KEPT_int32 ~, int64
#define TVMFFI_I_KEPT_int64 ~, int64
#define TVMFFI_I_KEPT_uint8 ~, int64
#define TVMFFI_I_KEPT_uint16 ~, int64
#define TVMFFI_I_KEPT_uint32 ~, int64
#define TVMFFI_I_KEPT_uint64 ~, int64
#define TVMFFI_I_KEPT_float32 ~, int64
#define TVMFFI_I_KEPT_float64 ~, int64
#define TVMFFI_I_KEPT_ptr ~, int64
#define TVMFFI_I_KEPT_dtype ~, dtype
#define TVMFFI_I_KEPT_device ~, dtype
#define TVMFFI_I_KEPT_any ~, any
#define TVMFFI_I_KEPT_str ~, str
#define TVMFFI_I_KEPT_bytes ~, bytes

#define TVMFFI_I_KEPT_array ~, array,
#define TVMFFI_I_KEPT_list ~, array,
#define TVMFFI_I_KEPT_map ~, array,
#define TVMFFI_I_KEPT_dict ~, array,
#define TVMFFI_I_KEPT_shape ~, array
#define TVMFFI_I_KEPT_optional(T) TVMFFI_I_KEPT_##T
#define TVMFFI_I_KEPT_tensor ~, tensor

/* prefix_int64, prefix_dtype, prefix_any, ... for a word. */
#define TVMFFI_I_BY_KEPT(prefix, T) \
  TVMFFI_I_CAT(prefix, TVMFFI_I_SECOND( \
      TVMFFI_I_CAT(TVMFFI_I_KEPT_, T), object, ~))

#define TVMFFI_I_KIND_int64 TVMFFI_I_KEPT_PLAIN
#define TVMFFI_I_KIND_dtype TVMFFI_I_KEPT_PLAIN
#define TVMFFI_I_KIND_object TVMFFI_I_KEPT_OBJECT
#define TVMFFI_I_KIND_array TVMFFI_I_KEPT_OBJECT
#define TVMFFI_I_KIND_any TVMFFI_I_KEPT_ANY
#define TVMFFI_I_KIND_str TVMFFI_I_KEPT_STR
#define TVMFFI_I_KIND_bytes TVMFFI_I_KEPT_BYTES

/* The C type of the member. */
#define TVMFFI_I_CTYPE_int64(T) TVMFFI_I_CAT(tvmffi_type_, T)
#define TVMFFI_I_CTYPE_dtype TVMFFI_I_CTYPE_int64
#define TVMFFI_I_CTYPE_object TVMFFI_I_CTYPE_int64
#define TVMFFI_I_CTYPE_array TVMFFI_I_CTYPE_int64
#define TVMFFI_I_CTYPE_tensor(T) a_tensor_is_no_field_but_a_tensor_object_is
#define TVMFFI_I_CTYPE_any(T) TVMFFIAny
#define TVMFFI_I_CTYPE_str TVMFFI_I_CTYPE_any
#define TVMFFI_I_CTYPE_bytes TVMFFI_I_CTYPE_any
#define TVMFFI_I_CTYPE(T) TVMFFI_I_BY_KEPT(TVMFFI_I_CTYPE_, T)(T)

/* Getters: tvmffi_field, tvmffi_into. */
#define TVMFFI_I_READ_int64(T) \
  return TVMFFI_I_CAT(tvmffi_i_put_, T)(tvmffi_into, \
      *TVMFFI_I_AS(TVMFFI_I_CTYPE(T) *, tvmffi_field));
#define TVMFFI_I_READ_dtype TVMFFI_I_READ_int64
#define TVMFFI_I_READ_object(T) \
  return tvmffi_i_get_kept_object(tvmffi_field, tvmffi_into);
#define TVMFFI_I_READ_array TVMFFI_I_READ_object
#define TVMFFI_I_READ_any(T) \
  return tvmffi_i_get_kept_any(tvmffi_field, tvmffi_into);
#define TVMFFI_I_READ_str TVMFFI_I_READ_any
#define TVMFFI_I_READ_bytes TVMFFI_I_READ_any

/* Setters: tvmffi_field, tvmffi_value; `defaults` tells whether the field has a
   default. */
#define TVMFFI_I_WRITE_int64(W, defaults) \
  TVMFFI_I_CONVERT(W, 0) \
  *TVMFFI_I_AS(TVMFFI_I_CTYPE(W) *, tvmffi_field) = tvmffi_now; \
  return 0;
#define TVMFFI_I_WRITE_dtype TVMFFI_I_WRITE_int64
#define TVMFFI_I_WRITE_object(W, defaults) \
  TVMFFI_I_CONVERT(W, defaults) \
  tvmffi_i_keep_object(tvmffi_field, tvmffi_now); \
  return 0;
#define TVMFFI_I_WRITE_array(W, defaults) \
  return tvmffi_i_set_held(tvmffi_field, tvmffi_value, \
                           TVMFFI_I_CAT(tvmffi_i_item_, W), \
                           &TVMFFI_I_CAT(tvmffi_i_name_, W), defaults);
#define TVMFFI_I_WRITE_any(W, defaults) \
  TVMFFI_I_CONVERT(W, 0) \
  (void)tvmffi_now; \
  return tvmffi_any_assign(TVMFFI_I_AS(TVMFFIAny *, tvmffi_field), \
                           *tvmffi_value);
#define TVMFFI_I_WRITE_str TVMFFI_I_WRITE_any
#define TVMFFI_I_WRITE_bytes TVMFFI_I_WRITE_any
/* The value, by the word's getter, as `tvmffi_now`. An object with a default
   may also be None. */
#define TVMFFI_I_CONVERT(W, nullable) \
  TVMFFI_I_CAT(tvmffi_type_, W) tvmffi_now = TVMFFI_I_ZERO; \
  if (!(nullable) || tvmffi_value->type_index != kTVMFFINone) { \
    int tvmffi_code = \
        TVMFFI_I_CAT(tvmffi_i_get_, W)(tvmffi_value, &tvmffi_now); \
    if (TVMFFI_I_UNLIKELY(tvmffi_code)) \
      return tvmffi_i_bad_field(&TVMFFI_I_CAT(tvmffi_i_name_, W), nullable, \
                                tvmffi_value, tvmffi_code); \
  }

/* Defaults: the expression `x` to *tvmffi_into. */
#define TVMFFI_I_VALUE_int64(T, x) \
  TVMFFI_I_CTYPE(T) tvmffi_now = (x); \
  return TVMFFI_I_CAT(tvmffi_i_put_, T)(tvmffi_into, tvmffi_now);
#define TVMFFI_I_VALUE_dtype(T, x) \
  TVMFFI_I_CTYPE(T) tvmffi_now; \
  TVMFFIAny tvmffi_text = tvmffi_str(x); \
  int tvmffi_code = TVMFFI_I_CAT(tvmffi_i_get_, T)(&tvmffi_text, &tvmffi_now); \
  if (tvmffi_code) \
    return tvmffi_i_bad_field(&TVMFFI_I_CAT(tvmffi_i_name_, T), 0, \
                              &tvmffi_text, tvmffi_code); \
  return TVMFFI_I_CAT(tvmffi_i_put_, T)(tvmffi_into, tvmffi_now);
#define TVMFFI_I_VALUE_object(T, x) \
  TVMFFI_I_CTYPE(T) tvmffi_now = (x); \
  *tvmffi_into = tvmffi_none(); \
  if (!tvmffi_now) return 0; \
  return TVMFFI_RAISE("TypeError", "The default of an object can only be NULL");
#define TVMFFI_I_VALUE_array TVMFFI_I_VALUE_object
#define TVMFFI_I_VALUE_any(T, x) \
  TVMFFIAny tvmffi_viewed = TVMFFI_ANY(x); \
  return TVMFFIAnyViewToOwnedAny(&tvmffi_viewed, tvmffi_into);
#define TVMFFI_I_VALUE_str(T, x) \
  return tvmffi_i_text_default(x, 0, tvmffi_into);
#define TVMFFI_I_VALUE_bytes(T, x) \
  return tvmffi_i_text_default(x, 1, tvmffi_into);

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
  static int tvmffi_i_value_##T##_##x(TVMFFIAny *tvmffi_into) { \
    TVMFFI_I_BY_KEPT(TVMFFI_I_VALUE_, W)(W, value) \
  }
/* The enumeration is the check that the member has the word's C type. */
#define TVMFFI_I_FIELD_(T, W, x, defaults) \
  enum { \
    tvmffi_i_check_##T##_##x = \
        sizeof(*(1 ? TVMFFI_I_AS(TVMFFI_I_CTYPE(W) *, NULL) \
                  : &TVMFFI_I_AS(T *, NULL)->x)) \
  }; \
  TVMFFI_STATIC_ASSERT(sizeof(TVMFFI_I_CTYPE(W)) == \
                           sizeof(TVMFFI_I_AS(T *, NULL)->x), \
                       T##_##x##_has_not_the_size_of_its_word); \
  struct tvmffi_i_align_##T##_##x { \
    char tvmffi_head; \
    TVMFFI_I_CTYPE(W) tvmffi_tail; \
  }; \
  static int tvmffi_i_read_##T##_##x(void *tvmffi_field, \
                                     TVMFFIAny *tvmffi_into) { \
    TVMFFI_I_BY_KEPT(TVMFFI_I_READ_, W)(W) \
  } \
  static int tvmffi_i_write_##T##_##x(void *tvmffi_field, \
                                            const TVMFFIAny *tvmffi_value) { \
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
   TVMFFI_I_AS(int64_t, offsetof(T, x)), \
   TVMFFI_I_AS(int64_t, sizeof(TVMFFI_I_CTYPE(W))), \
   TVMFFI_I_AS(int64_t, \
               offsetof(struct tvmffi_i_align_##T##_##x, tvmffi_tail)), \
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
#define TVMFFI_I_END_destructor(T, K, name, ...) name(TVMFFI_I_AS(T *, self));
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

/* The getter of the word W, for a pointer to the struct T. */
#define TVMFFI_I_CLASS_GETTER(T, W) \
  TVMFFI_I_GETTER(W, tvmffi_from, tvmffi_to) { \
    int tvmffi_code = tvmffi_i_instance(tvmffi_i_class_of_##T(), tvmffi_from); \
    void *tvmffi_self = tvmffi_code ? NULL : tvmffi_from->v_obj; \
    *tvmffi_to = TVMFFI_I_AS(T *, tvmffi_self); \
    return tvmffi_code; \
  }

/* The word of a type, and what is done with its objects by name. */
#define TVMFFI_I_CLASS_WORD(T, K) \
  enum { tvmffi_i_declared_##T = sizeof(K) }; \
  TVMFFI_I_TYPE(T, T *, K, K) \
  TVMFFI_I_UNUSED static tvmffi_i_class *tvmffi_i_class_of_##T(void); \
  TVMFFI_STATIC_ASSERT(sizeof(K) <= 81, type_key_of_##T##_is_too_long); \
  TVMFFI_I_CLASS_GETTER(T, T) \
  TVMFFI_I_PUTTER_OF(T, tvmffi_to, tvmffi_from) { \
    return tvmffi_i_put_object( \
        tvmffi_to, \
        TVMFFI_I_AS(TVMFFIObject *, TVMFFI_I_AS(void *, tvmffi_from))); \
  } \
  TVMFFI_I_POINTER_WORD(T) \
  TVMFFI_I_UNUSED static int tvmffi_i_init_##T(void **tvmffi_into) { \
    return tvmffi_i_class_init(tvmffi_i_class_of_##T(), tvmffi_into); \
  }

#define TVMFFI_I_TYPE_(T, K, n, parent, ...) \
  TVMFFI_STATIC_ASSERT(sizeof(K) == tvmffi_i_declared_##T, \
                       key_of_##T##_is_not_the_declared_one); \
  enum { /* the struct begins with its parent, by the name of base */ \
    tvmffi_i_check_##T = \
        sizeof(*(1 ? TVMFFI_I_AS(parent *, NULL) \
                  : &TVMFFI_I_AS(T *, NULL)->base)) \
  }; \
  TVMFFI_STATIC_ASSERT(offsetof(T, base) == 0, base_of_##T##_is_not_first); \
  TVMFFI_I_EACH(n)(TVMFFI_I_DECLARE, T, K, parent, __VA_ARGS__) \
  static const tvmffi_i_member tvmffi_i_members_##T[] = { \
      TVMFFI_I_EACH(n)(TVMFFI_I_MEMBER, T, K, parent, __VA_ARGS__) \
      {TVMFFI_I_MEMBER_ENTRY(TVMFFI_I_IS_END, 0, NULL, 0)}}; \
  struct tvmffi_i_align_##T { \
    char tvmffi_head; \
    T tvmffi_tail; \
  }; \
  TVMFFI_I_UNUSED static void tvmffi_i_destroy_##T(void *self) { \
    (void)self; \
    TVMFFI_I_EACH(n)(TVMFFI_I_END, T, K, parent, __VA_ARGS__) \
  } \
  static int tvmffi_i_create_##T(TVMFFIObjectHandle *tvmffi_into) { \
    return tvmffi_i_class_make(tvmffi_i_class_of_##T(), tvmffi_into); \
  } \
  static void tvmffi_i_delete_##T(void *self, int tvmffi_flags) { \
    tvmffi_i_class_delete(tvmffi_i_class_of_##T(), \
                          TVMFFI_I_AS(TVMFFIObject *, self), tvmffi_flags); \
  } \
  TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_new_##T( \
      T **tvmffi_into, const TVMFFIAny *tvmffi_args, int32_t tvmffi_count) { \
    TVMFFIObjectHandle self = NULL; \
    int tvmffi_code = tvmffi_i_class_new( \
        tvmffi_i_class_of_##T(), tvmffi_into ? &self : NULL, tvmffi_args, \
        tvmffi_count); \
    if (tvmffi_into) *tvmffi_into = TVMFFI_I_AS(T *, self); \
    return tvmffi_code; \
  } \
  static tvmffi_i_class tvmffi_i_class_##T = { \
      K, &tvmffi_i_class_##parent, sizeof(T), \
      TVMFFI_I_AS(int32_t, offsetof(struct tvmffi_i_align_##T, tvmffi_tail)), \
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
  TVMFFI_TYPE_DECLARE(type, key)    \
  TVMFFI_TYPE_DEFINE(type, key, __VA_ARGS__)

/* The two halves of TVMFFI_TYPE, for types that refer to each other. The first
   makes the name a word, and asks no more than `typedef struct Point Point;`.
   The second stands behind it in the same file, with the same key. Objects that
   hold each other are freed only after one of them has let go. */
#define TVMFFI_TYPE_DECLARE(type, key) TVMFFI_I_CLASS_WORD(type, key)
#define TVMFFI_TYPE_DEFINE(type, key, ...) \
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
      tvmffi_i_name_self(&tvmffi_i_name_self_##type##_##name, tvmffi_key,    \
                         tvmffi_flags),                                      \
      TVMFFI_I_COUNT(TVMFFI_I_WITH_SELF(self_##type##_##name, __VA_ARGS__)), \
      TVMFFI_I_WITH_SELF(self_##type##_##name, __VA_ARGS__))

/* Begins a method without `self`. */
#define TVMFFI_STATIC_METHOD(type, name, ...)                               \
  TVMFFI_I_CLASS_METHOD(type, name,                                         \
                        tvmffi_i_name_self(NULL, tvmffi_key, tvmffi_flags), \
                        TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__)

/* clang-format off */
/* The word of self, as the type's may not be there yet; it gets its name when
   the type is registered. */
#define TVMFFI_I_SELF_OF(T, W) \
  static tvmffi_i_class *tvmffi_i_class_of_##T(void); \
  typedef T *tvmffi_type_##W; \
  static tvmffi_i_name tvmffi_i_name_##W = {#T, #T}; \
  TVMFFI_I_CLASS_GETTER(T, W)
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
  static tvmffi_func *tvmffi_i_method_##T##_##name( \
      const char *tvmffi_key, int64_t *tvmffi_flags) { \
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
  TVMFFI_I_AS(type *, tvmffi_i_class_cast(tvmffi_i_class_of_##type(), (object)))

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
TVMFFI_I_MUST_CHECK static inline int tvmffi_i_new(
    int (*make)(T **, const TVMFFIAny *, int32_t), T **out, Args... args) {
  TVMFFIAny values[] = {TVMFFI_ANY(args)..., tvmffi_none()};
  return make(out, values, (int32_t)(sizeof...(Args)));
}
}
#define tvmffi_new(type, ...) \
  (TVMFFI_I_HERE tvmffi_i_new(tvmffi_i_new_##type, __VA_ARGS__))
#else
#define tvmffi_new(type, ...) \
  TVMFFI_I_CLASS_NEW(type, TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__)
#define TVMFFI_I_CLASS_NEW(type, n, ...) \
  TVMFFI_I_CLASS_NEW_(type, n, __VA_ARGS__)
#define TVMFFI_I_CLASS_NEW_(type, n, ...)                         \
  (TVMFFI_I_HERE tvmffi_i_new_##type(                             \
      TVMFFI_I_FIRST(__VA_ARGS__),                                \
      (TVMFFIAny[n]){TVMFFI_I_REST(n)(TVMFFI_I_ITEM, __VA_ARGS__) \
                         tvmffi_none()},                          \
      (n) - 1))
#endif
