/* ======== Compound words =============================== >>interface/compound
   array(T), map(K, V), optional(T) */
/* Containers. As parameters they are converted as upstream does it: a list
   stands for an array and the reverse, a dict for a map and the reverse, an
   array or list of ints for a shape; and where an element's type is given,
   array(float64) say, an element of another type is converted, or does not
   match. What is converted is a copy, released when the body returns. */

#pragma once

#include "../head/compiler.h"
#include "../head/abi.h"
#include "word.h"

#define TVMFFI_I_CONTAINER_WORD(T, name, args, index)                  \
  TVMFFI_I_TYPE(T, TVMFFIObject *, name, args)                         \
  TVMFFI_I_GET(T) {                                                    \
    *out = any->type_index == (index) ? any->v_obj : NULL;             \
    return *out ? 0 : TVMFFI_I_MISMATCH;                               \
  }                                                                    \
  TVMFFI_I_PUT(T) { return tvmffi_i_put_object(out, value); }          \
  typedef TVMFFIObject *tvmffi_type_optional_##T;                      \
  TVMFFI_I_CAST(T, index) {                                            \
    return tvmffi_i_convert_container(tvmffi_name, index, tvmffi_from, \
                                      tvmffi_to);                      \
  }                                                                    \
  enum { tvmffi_i_kind_##T = index };
#define TVMFFI_I_ONE_ANY(key) \
  "{\"type\":\"" key "\",\"args\":[{\"type\":\"Any\"}]}"
#define TVMFFI_I_TWO_ANY(key) \
  "{\"type\":\"" key "\",\"args\":[{\"type\":\"Any\"},{\"type\":\"Any\"}]}"

/* A word of a container converts its items, which are of words again. */
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
/* A result's word, if another stands for it: a tensor that is returned owns its
   memory. */
#define tvmffi_i_result_tensor ~, tensor_object,
#define tvmffi_i_result_optional(T) tvmffi_i_result_optional_##T
#define tvmffi_i_result_optional_tensor ~, optional(tensor_object),
#define TVMFFI_I_RESULT_WORD(T) \
  TVMFFI_I_SECOND(TVMFFI_I_CAT(tvmffi_i_result_, T), T, ~)
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
  static constexpr const tvmffi_i_name *tvmffi_name() { return &value.base; }
  static constexpr tvmffi_i_cast *tvmffi_cast_of() {
    return W::tvmffi_cast_of();
  }
  static constexpr int32_t tvmffi_fits() { return -1; }
};
template <typename W, typename A, typename B>
const tvmffi_i_compound tvmffi_i_of<W, A, B>::value = {
    {W::text(), W::schema()},
    {A::tvmffi_name(), B::tvmffi_name()},
    {A::tvmffi_cast_of(), B::tvmffi_cast_of()},
    {A::tvmffi_fits(), B::tvmffi_fits()}};
struct tvmffi_i_element_ {
  static constexpr const tvmffi_i_name *tvmffi_name() { return nullptr; }
  static constexpr tvmffi_i_cast *tvmffi_cast_of() { return nullptr; }
  static constexpr int32_t tvmffi_fits() { return -1; }
};
} /* namespace */
} /* extern "C++" */
#define TVMFFI_I_OF_WORD(T, label, key)                       \
  namespace {                                                 \
  struct tvmffi_i_of_##T {                                    \
    static constexpr const char *text() { return label; }     \
    static constexpr const char *schema() { return "[" key; } \
    static constexpr tvmffi_i_cast *tvmffi_cast_of() {        \
      return (tvmffi_i_item_##T);                             \
    }                                                         \
  };                                                          \
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
