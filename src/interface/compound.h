/* ======== Compound words =============================== >>interface/compound
   array(T), map(K, V), optional(T) */
/* Container types of parameters. A typed function converts container arguments
   as upstream's library does: a list to an array or an array to a list, a dict
   to a map or a map to a dict, an array or list of ints to a shape.
   array(float64) also converts the elements. A converted argument is a copy,
   released when the call ends. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "convert.h"

#define TVMFFI_I_CONTAINER_WORD(T, name, schema, index)                      \
  TVMFFI_I_POINTER_TYPE(T, TVMFFIObject *, name, schema, TVMFFI_I_CONTAINER, \
                        index)
#define TVMFFI_I_ONE_ANY(key) \
  "{\"type\":\"" key "\",\"args\":[{\"type\":\"Any\"}]}"
#define TVMFFI_I_TWO_ANY(key) \
  "{\"type\":\"" key "\",\"args\":[{\"type\":\"Any\"},{\"type\":\"Any\"}]}"

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

/* Types with arguments. array(T) accepts an array whose elements all have type
   T or convert to T; other containers do likewise. optional(T) also accepts
   None. Macros do not recurse, so array(array) works, but array(array(int64))
   does not. */
#define tvmffi_type_array(T) tvmffi_type_object
#define tvmffi_type_list(T) tvmffi_type_object
#define tvmffi_type_map(K, V) tvmffi_type_object
#define tvmffi_type_dict(K, V) tvmffi_type_object
#define tvmffi_type_optional(T) tvmffi_type_optional_##T
#define tvmffi_type_tensor(text) tvmffi_type_tensor
#define tvmffi_type_optional_tensor(text) tvmffi_type_optional_tensor
#define tvmffi_i_word_tensor(text) tvmffi_i_word_tensor
#define tvmffi_type_optional_array(T) tvmffi_type_object
#define tvmffi_type_optional_list(T) tvmffi_type_object
#define tvmffi_type_optional_map(K, V) tvmffi_type_object
#define tvmffi_type_optional_dict(K, V) tvmffi_type_object
/* TVMFFI_I_RESULT_WORD(T) expands to the result type T, but to tensor_object
   for `tensor`, because a returned tensor owns its memory. */
#define tvmffi_i_result_tensor ~, tensor_object,
#define tvmffi_i_result_optional(T) tvmffi_i_result_optional_##T
#define tvmffi_i_result_optional_tensor ~, optional(tensor_object),
#define TVMFFI_I_RESULT_WORD(T) \
  TVMFFI_I_SECOND(TVMFFI_I_CAT(tvmffi_i_result_, T), T, ~)

/* Expands to the text of tensor("...") or optional(tensor("...")), else to
   NULL. The test expands to `yes` if T has a text, else to `no`. */
#define TVMFFI_I_TENSOR_TEXT(T) \
  TVMFFI_I_SECOND(TVMFFI_I_CAT(TVMFFI_I_TENSOR_TEXT_, T), NULL, ~)
#define TVMFFI_I_IF_TEXT(T, yes, no) \
  TVMFFI_I_BUILTIN(TVMFFI_I_CAT(TVMFFI_I_TENSOR_TEXT_, T), yes, no)
#define TVMFFI_I_TENSOR_TEXT_tensor(text) ~, "" text,
#define TVMFFI_I_TENSOR_TEXT_optional(T) TVMFFI_I_TENSOR_TEXT_OPTIONAL_##T
#define TVMFFI_I_TENSOR_TEXT_OPTIONAL_tensor(text) ~, text " optional",
#define TVMFFI_I_TENSOR_TEXT_array(T) TVMFFI_I_TENSOR_TEXT_ITEM_##T
#define TVMFFI_I_TENSOR_TEXT_list(T) TVMFFI_I_TENSOR_TEXT_ITEM_##T
#define TVMFFI_I_TENSOR_TEXT_map(K, V) TVMFFI_I_TENSOR_TEXT_ITEM_##V
#define TVMFFI_I_TENSOR_TEXT_dict(K, V) TVMFFI_I_TENSOR_TEXT_ITEM_##V
#define TVMFFI_I_TENSOR_TEXT_ITEM_tensor(text) \
  ~, tvmffi_items_of_containers_are_not_checked__use_TVMFFI_EXPECT,
#define TVMFFI_I_TENSOR_TEXT_ITEM_optional(T) TVMFFI_I_TENSOR_TEXT_ITEM_##T
#define TVMFFI_I_TENSOR_TEXT_OPTIONAL_array(T) TVMFFI_I_TENSOR_TEXT_ITEM_##T
#define TVMFFI_I_TENSOR_TEXT_OPTIONAL_list(T) TVMFFI_I_TENSOR_TEXT_ITEM_##T
#define TVMFFI_I_TENSOR_TEXT_OPTIONAL_map(K, V) TVMFFI_I_TENSOR_TEXT_ITEM_##V
#define TVMFFI_I_TENSOR_TEXT_OPTIONAL_dict(K, V) TVMFFI_I_TENSOR_TEXT_ITEM_##V
/* Expands to nothing, but to an undeclared name if T has a text: only calls
   check texts. */
#define TVMFFI_I_NO_TENSOR_TEXT(T) \
  TVMFFI_I_IF_TEXT(T, tvmffi_only_parameters_and_results_are_checked, )

/* The words of types such as array(T). Each macro pastes a prefix to its
   argument, and the preprocessor then expands the result, so types nest, as in
   array(map(str, int64)). In C++ such a word is a member of a template, whose
   arguments are a word without parts and the words of the parts. The word
   without parts does not refer to the converter, because an unused constant
   must not make a file need the runtime. */
#define tvmffi_i_word_array(T) TVMFFI_I_WITH_PARTS(array, &tvmffi_i_word_##T)
#define tvmffi_i_word_list(T) TVMFFI_I_WITH_PARTS(list, &tvmffi_i_word_##T)
#define tvmffi_i_word_map(K, V) \
  TVMFFI_I_WITH_PARTS(map, &tvmffi_i_word_##K, &tvmffi_i_word_##V)
#define tvmffi_i_word_dict(K, V) \
  TVMFFI_I_WITH_PARTS(dict, &tvmffi_i_word_##K, &tvmffi_i_word_##V)
#define tvmffi_i_word_optional(T) \
  TVMFFI_I_WITH_PARTS(optional, &tvmffi_i_word_##T)
#define TVMFFI_I_BARE_array(f) TVMFFI_I_BARE_OF("Array", f, kTVMFFIArray)
#define TVMFFI_I_BARE_list(f) TVMFFI_I_BARE_OF("List", f, kTVMFFIList)
#define TVMFFI_I_BARE_map(f) TVMFFI_I_BARE_OF("Map", f, kTVMFFIMap)
#define TVMFFI_I_BARE_dict(f) TVMFFI_I_BARE_OF("Dict", f, kTVMFFIDict)
#define TVMFFI_I_BARE_optional(f) \
  "Optional", "Optional", NULL, NULL, -1, TVMFFI_I_OPTIONAL, void *, 0
#define TVMFFI_I_BARE_OF(name, f, index) \
  name, "ffi." name, NULL, f, index, TVMFFI_I_CONTAINER, void *, 0
#define TVMFFI_I_EXPANDED_WORD(...) TVMFFI_I_WORD(__VA_ARGS__)
#if defined(__cplusplus)
extern "C++" {
namespace {
template <const tvmffi_i_word *tvmffi_word, const tvmffi_i_word *tvmffi_first,
          const tvmffi_i_word *tvmffi_second = nullptr>
struct tvmffi_i_of {
  static constexpr tvmffi_i_word value =
      TVMFFI_I_WORD(tvmffi_word->name, tvmffi_word->schema, nullptr,
                    tvmffi_word->kind == TVMFFI_I_CONTAINER
                        ? tvmffi_i_convert_item
                        : nullptr,
                    tvmffi_word->index, tvmffi_word->kind, void *, 0,
                    tvmffi_first, tvmffi_second);
};
template <const tvmffi_i_word *tvmffi_word, const tvmffi_i_word *tvmffi_first,
          const tvmffi_i_word *tvmffi_second>
constexpr tvmffi_i_word
    tvmffi_i_of<tvmffi_word, tvmffi_first, tvmffi_second>::value;
} /* namespace */
} /* extern "C++" */
#define TVMFFI_I_BARE_WORD(T)                \
  TVMFFI_I_CONST_WORD tvmffi_i_word_of_##T = \
      TVMFFI_I_EXPANDED_WORD(TVMFFI_I_BARE_##T(NULL), NULL);
TVMFFI_I_BARE_WORD(array)
TVMFFI_I_BARE_WORD(list)
TVMFFI_I_BARE_WORD(map)
TVMFFI_I_BARE_WORD(dict)
TVMFFI_I_BARE_WORD(optional)
#define TVMFFI_I_WITH_PARTS(T, ...) \
  tvmffi_i_of<&tvmffi_i_word_of_##T, __VA_ARGS__>::value
#else
#define TVMFFI_I_WITH_PARTS(T, ...)              \
  ((const tvmffi_i_word)TVMFFI_I_EXPANDED_WORD(  \
      TVMFFI_I_BARE_##T(tvmffi_i_convert_item), __VA_ARGS__))
#endif
