/* ======== Compound words =============================== >>interface/compound
   array(T), map(K, V), optional(T) */
/* Container types of parameters. A typed function converts container arguments
   as upstream's library does: list to array and back, dict to map and back, an
   array or list of ints to a shape. array(float64) also converts the elements.
   A converted argument is a copy, released when the body returns. */

#pragma once

#include "../head/compiler.h"
#include "../head/abi.h"
#include "../base/scope_here.h"
#include "../base/word.h"

#define TVMFFI_I_CONTAINER_WORD(T, name, args, index)                        \
  TVMFFI_I_LISTED_TYPE(T, TVMFFIObject *, name, args)                        \
  TVMFFI_I_GET(T) {                                                          \
    *out = any->type_index == (index) ? any->v_obj : NULL;                   \
    return *out ? 0 : TVMFFI_I_MISMATCH;                                     \
  }                                                                          \
  TVMFFI_I_PUT(T) { return tvmffi_i_put_object(tvmffi_i_here, out, value); } \
  typedef TVMFFIObject *tvmffi_type_optional_##T;                            \
  TVMFFI_I_CAST(T, index) {                                                  \
    return tvmffi_i_convert_container(tvmffi_name, index, tvmffi_from,       \
                                      tvmffi_to);                            \
  }                                                                          \
  enum { tvmffi_i_kind_##T = index };
#define TVMFFI_I_ONE_ANY(key) \
  "{\"type\":\"" key "\",\"args\":[{\"type\":\"Any\"}]}"
#define TVMFFI_I_TWO_ANY(key) \
  "{\"type\":\"" key "\",\"args\":[{\"type\":\"Any\"},{\"type\":\"Any\"}]}"

/* Converts the container *from and its elements to `type`. Returns 0 if nothing
   needs conversion, TVMFFI_I_CONVERTED with an owned *to, or an error code. */
TVMFFI_I_COLD int tvmffi_i_convert_container(const tvmffi_i_name *type,
                                             int32_t index,
                                             const TVMFFIAny *from,
                                             TVMFFIAny *to);

/* The parameter type array. A list is copied to a new array. array(T) also
   converts the elements to T. */
TVMFFI_I_CONTAINER_WORD(array, "Array<Any>", TVMFFI_I_ONE_ANY("ffi.Array"),
                        kTVMFFIArray)
/* The parameter type list. An array is copied to a new list. list(T) also
   converts the elements to T. */
TVMFFI_I_CONTAINER_WORD(list, "List<Any>", TVMFFI_I_ONE_ANY("ffi.List"),
                        kTVMFFIList)
/* The parameter type map. A dict is copied to a new map. map(K, V) also
   converts keys and values. */
TVMFFI_I_CONTAINER_WORD(map, "Map<Any, Any>", TVMFFI_I_TWO_ANY("ffi.Map"),
                        kTVMFFIMap)
/* The parameter type dict. A map is copied to a new dict. dict(K, V) also
   converts keys and values. */
TVMFFI_I_CONTAINER_WORD(dict, "Dict<Any, Any>", TVMFFI_I_TWO_ANY("ffi.Dict"),
                        kTVMFFIDict)
/* The parameter type shape. An array or list of ints is copied to a new
   shape. */
TVMFFI_I_CONTAINER_WORD(shape, "ffi.Shape", "ffi.Shape", kTVMFFIShape)

/* Converts an element of type optional(T). None stays None. */
TVMFFI_I_COLD int tvmffi_i_item_optional(const tvmffi_i_name *type,
                                         const TVMFFIAny *from, TVMFFIAny *to) {
  const tvmffi_i_compound *of = (const tvmffi_i_compound *)(const void *)type;
  return from->type_index == kTVMFFINone ? 0 : of->cast[0](of->of[0], from, to);
}

/* Types with arguments. array(T) accepts an array whose elements all have type
   T or convert to T; other containers do likewise. optional(T) also accepts
   None. Macros do not recurse, so array(array) works, but array(array(int64))
   does not. */
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
/* Expands to the type index of values that array(T) accepts unconverted, or to
   -1 if the index is unknown, as for a user's struct. */
#define TVMFFI_I_FITS_OF(T) \
  TVMFFI_I_BUILTIN(TVMFFI_I_WORD_##T, tvmffi_i_fits_##T, -1)
/* Expands to 1 if T is a container or optional container, else to 0. */
#define TVMFFI_I_IS_CONTAINER(T) \
  TVMFFI_I_SECOND(TVMFFI_I_CAT(TVMFFI_I_CONTAINER_, TVMFFI_I_CLASS(T)), 0, ~)
#define TVMFFI_I_CONTAINER_array ~, 1,
/* TVMFFI_I_RESULT_WORD(T) expands to the result type T, but to tensor_object
   for `tensor`, because a returned tensor owns its memory. */
#define tvmffi_i_result_tensor ~, tensor_object,
#define tvmffi_i_result_optional(T) tvmffi_i_result_optional_##T
#define tvmffi_i_result_optional_tensor ~, optional(tensor_object),
#define TVMFFI_I_RESULT_WORD(T) \
  TVMFFI_I_SECOND(TVMFFI_I_CAT(tvmffi_i_result_, T), T, ~)
/* Bits of `kind`, which describes a container parameter. */
enum {
  TVMFFI_I_INDEX = 127,       /* the container's type index */
  TVMFFI_I_OR_NONE = 1 << 7,  /* accepts None */
  TVMFFI_I_OF_TYPES = 1 << 8, /* has element types, as in array(T) */
  TVMFFI_I_FITS = 9           /* first bit of TVMFFI_I_FITS_OF(T) */
};
#define TVMFFI_I_OF(fits) \
  (TVMFFI_I_OF_TYPES | (((fits) & TVMFFI_I_INDEX) << TVMFFI_I_FITS))
#define tvmffi_i_kind_array(T) \
  (tvmffi_i_kind_array | TVMFFI_I_OF(TVMFFI_I_FITS_OF(T)))
#define tvmffi_i_kind_list(T) \
  (tvmffi_i_kind_list | TVMFFI_I_OF(TVMFFI_I_FITS_OF(T)))
#define tvmffi_i_kind_map(K, V) (tvmffi_i_kind_map | TVMFFI_I_OF(-1))
#define tvmffi_i_kind_dict(K, V) (tvmffi_i_kind_dict | TVMFFI_I_OF(-1))
#define tvmffi_i_kind_optional(T) (TVMFFI_I_OR_NONE | tvmffi_i_kind_##T)

/* Constants of type tvmffi_i_compound, which describe types such as
   array(T). */
#if defined(__cplusplus)
extern "C++" {
namespace {
template <typename tvmffi_word, typename tvmffi_first, typename tvmffi_second>
struct tvmffi_i_of {
  static const tvmffi_i_compound value;
  static constexpr const tvmffi_i_name *tvmffi_name() { return &value.base; }
  static constexpr tvmffi_i_cast *tvmffi_cast_of() {
    return tvmffi_word::tvmffi_cast_of();
  }
  static constexpr int32_t tvmffi_fits() { return -1; }
};
template <typename tvmffi_word, typename tvmffi_first, typename tvmffi_second>
const tvmffi_i_compound
    tvmffi_i_of<tvmffi_word, tvmffi_first, tvmffi_second>::value = {
        {tvmffi_word::text(), tvmffi_word::schema()},
        {tvmffi_first::tvmffi_name(), tvmffi_second::tvmffi_name()},
        {tvmffi_first::tvmffi_cast_of(), tvmffi_second::tvmffi_cast_of()},
        {tvmffi_first::tvmffi_fits(), tvmffi_second::tvmffi_fits()}};
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
/* Macro arguments are expanded before the macro, so types nest, as in
   array(map(str, int64)). */
#define TVMFFI_I_OF_WORDS(label, key, a, cast_a, fits_a, b, cast_b, fits_b) \
  ((const tvmffi_i_compound){{label, "[" key}, {a, b}, {cast_a, cast_b},    \
                             {fits_a, fits_b}}).base
#define tvmffi_i_name_array(T)                                  \
  TVMFFI_I_OF_WORDS("Array", "ffi.Array", &tvmffi_i_name_##T, \
                    tvmffi_i_item_##T, TVMFFI_I_FITS_OF(T), NULL, NULL, -1)
#define tvmffi_i_name_list(T)                                  \
  TVMFFI_I_OF_WORDS("List", "ffi.List", &tvmffi_i_name_##T, \
                    tvmffi_i_item_##T, TVMFFI_I_FITS_OF(T), NULL, NULL, -1)
#define tvmffi_i_name_optional(T)                                  \
  TVMFFI_I_OF_WORDS("Optional", "Optional", &tvmffi_i_name_##T, \
                    tvmffi_i_item_##T, TVMFFI_I_FITS_OF(T), NULL, NULL, -1)
#define tvmffi_i_name_map(K, V)                                         \
  TVMFFI_I_OF_WORDS("Map", "ffi.Map", &tvmffi_i_name_##K, tvmffi_i_item_##K, \
                    TVMFFI_I_FITS_OF(K), &tvmffi_i_name_##V,               \
                    tvmffi_i_item_##V, TVMFFI_I_FITS_OF(V))
#define tvmffi_i_name_dict(K, V)                                         \
  TVMFFI_I_OF_WORDS("Dict", "ffi.Dict", &tvmffi_i_name_##K, tvmffi_i_item_##K, \
                    TVMFFI_I_FITS_OF(K), &tvmffi_i_name_##V,               \
                    tvmffi_i_item_##V, TVMFFI_I_FITS_OF(V))
#endif
