/* ======== Words ================================================== >>base/word
   words for types, and their conversions */
/* Defines the parameter types of typed functions, such as int64. A parameter
   type T has a C type tvmffi_type_T and a constant tvmffi_i_word_T, which
   describes it. tvmffi_i_from_any converts an Any to any C type, and
   tvmffi_i_to_any a C value to an Any; where the word is a constant, compilers
   reduce both to the instructions for this type. Typed functions check number
   and types of arguments, and raise the same errors as upstream's C++ headers.
   For an unknown parameter type T, the compiler's first error names
   tvmffi_i_unknown_type_word__T. */

#pragma once

#include "../head.h"
#include "scope_here.h"
#include "value.h"
#include "type_info.h"
#include "reference.h"
#include "error.h"

/* How values of a parameter type are converted. From TVMFFI_I_PTR on, the C
   type is a pointer, but for some custom words of the runtime. */
enum {
  TVMFFI_I_NONE,
  TVMFFI_I_ANY,
  TVMFFI_I_INT,
  TVMFFI_I_BOOL,
  TVMFFI_I_FLOAT,
  TVMFFI_I_STR,
  TVMFFI_I_BYTES,
  TVMFFI_I_DTYPE,
  TVMFFI_I_DEVICE,
  TVMFFI_I_OPTIONAL, /* of[0], or None */
  TVMFFI_I_PTR,
  TVMFFI_I_TENSOR,
  TVMFFI_I_OBJECT,
  TVMFFI_I_CONTAINER, /* converted to this type, as its items to of[] */
  TVMFFI_I_CUSTOM     /* converted by get */
};

typedef struct tvmffi_i_word tvmffi_i_word;

/* Converts *from to the C type of a word at `to`, like tvmffi_i_from_any. */
typedef int tvmffi_i_getter(const TVMFFIAny *from, void *to);

/* Converts an item of a container to `word`. Returns 0 if the item needs no
   conversion, TVMFFI_I_CONVERTED if *to owns the converted item, or the code of
   tvmffi_i_from_any. */
typedef int tvmffi_i_item_converter(const tvmffi_i_word *word,
                                    const TVMFFIAny *from, TVMFFIAny *to);

/* A word for a type, such as int64 or array(T): all that is known of it. Each
   file that uses a word has its own copy, at an address of its own. */
struct tvmffi_i_word {
  const char *name;              /* in error texts */
  const char *schema;            /* a type key, or JSON that begins with '{' */
  const tvmffi_i_word *of[2];    /* the T of array(T) or optional(T), K and V
                                    of map(K, V); see tvmffi_i_shown */
  tvmffi_i_getter *get;          /* of TVMFFI_I_CUSTOM */
  tvmffi_i_item_converter *item; /* of a container with `of`: error messages
                                    find the wrong item by it; of a list that
                                    a built-in function changes: copies an
                                    array; else NULL */
  int32_t index;     /* the type index of values that fit as they are, or -1 */
  uint8_t kind;      /* TVMFFI_I_ANY and so on */
  uint8_t size;      /* of the C type, in bytes */
  uint8_t is_signed; /* of an INT */
};

/* For each parameter i with a default, stores the default in args[i], as a
   view. Returns 0, or an error's code. */
typedef int tvmffi_i_defaults(TVMFFIAny *args);
enum { TVMFFI_I_MAX_PARAMS = 16 };

/* The text that describes a tensor in TVMFFI_EXPECT or tensor("..."). `kind` is
   "argument `" or "", and begins error messages. */
typedef struct {
  const char *kind, *name, *text;
} tvmffi_i_expected;

/* One use of TVMFFI_EXPECT in the source, or the contract of a typed function:
   the texts that describe its tensors, and the same texts parsed. If
   `has_result` is 1, one more text describes the result. */
typedef struct {
  uint64_t state; /* 0: not parsed; 1: plans being written; 2: ready */
  const char *file;
  const tvmffi_i_expected *expected;
  struct tvmffi_i_plan *plans;
  int32_t line, count, has_result;
} tvmffi_i_site;

/* Describes a typed function. The variable tvmffi_func_NAME describes the
   function NAME. types[0] is the result's type. */
typedef struct {
  const char *name;
  TVMFFISafeCallType call;
  const tvmffi_i_word *const *types;
  int16_t num_args; /* -1: a packed function with any arguments */
#if !TVMFFI_NO_METADATA
  int16_t least;      /* the number of parameters without a default */
  const char *params; /* parameter names, each ended by a NUL; or NULL */
  tvmffi_i_defaults *defaults; /* NULL if no parameter has one */
  const tvmffi_i_site *contract; /* the texts of tensor("..."), or NULL */
#endif
} tvmffi_func;
/* Describes a function of the runtime. Upstream's metadata of these has no
   names of parameters, and no parameter has a default, so there is no member
   for them. */
typedef struct {
  const char *name;
  TVMFFISafeCallType call;           /* see TVMFFI_I_SAFE_CALL */
  const tvmffi_i_word *const *types; /* NULL: a packed function */
  int32_t num_args; /* -1: a packed function with any arguments */
} tvmffi_i_builtin_func;
#if TVMFFI_NO_METADATA
#define TVMFFI_I_SIGNATURE(params, least, defaults, contract)
#else
#define TVMFFI_I_SIGNATURE(params, least, defaults, contract) \
  , least, params, defaults, contract
#endif

/* Begins the definition of a word. C++ needs constexpr, because words are
   template arguments. */
#if defined(__cplusplus)
#define TVMFFI_I_CONST_WORD TVMFFI_I_UNUSED static constexpr tvmffi_i_word
#else
#define TVMFFI_I_CONST_WORD TVMFFI_I_UNUSED static const tvmffi_i_word
#endif
/* Expands to an initializer of tvmffi_i_word. The last arguments are the one or
   two words of the member `of`, or NULL. */
#define TVMFFI_I_WORD(name, schema, get, item, index, kind, ctype, sign, ...) \
  {name, schema, {__VA_ARGS__}, get, item, index, kind, \
   TVMFFI_I_AS(uint8_t, sizeof(ctype)), sign}
/* TVMFFI_I_DESCRIBED_WORD(T) is the word to which the description of a function
   refers. With TVMFFI_SHARE_INTERFACE, the file with the runtime defines the
   words of the types that compiler.h lists, and the descriptions of other files
   refer to these. Code refers to its file's own words: compilers know their
   members, so they drop the words. */
#if TVMFFI_I_SHARES && !defined(TVMFFI_IMPLEMENTATION)
#define TVMFFI_I_DESCRIBED_WORD(T) \
  TVMFFI_I_CAT(TVMFFI_I_DESCRIBED_WORD_, TVMFFI_I_ORIGIN(T))(T)
#define TVMFFI_I_DESCRIBED_WORD_0(T) tvmffi_i_shared_word_##T
#define TVMFFI_I_DESCRIBED_WORD_1(T) tvmffi_i_word_##T
#define TVMFFI_I_DESCRIBED_WORD_2(T) tvmffi_i_word_##T
#define TVMFFI_I_DESCRIBED_WORD_3(T) tvmffi_i_word_##T
#define TVMFFI_I_SHARED_WORD(T, ctype, name, schema, kind, index, is_signed) \
  TVMFFI_I_DECLARE_WORD(T)
#elif TVMFFI_I_SHARES
/* The texts are variables, because linkers drop an unused variable. */
#define TVMFFI_I_SHARED_WORD(T, ctype, name, schema, kind, index, is_signed) \
  static const char tvmffi_i_name_of_##T[] = name;                           \
  static const char tvmffi_i_schema_of_##T[] = schema;                       \
  TVMFFI_I_DECLARE_WORD(T)                                                   \
  const tvmffi_i_word tvmffi_i_shared_word_##T =                             \
      TVMFFI_I_WORD(tvmffi_i_name_of_##T, tvmffi_i_schema_of_##T, NULL,      \
                    NULL, index, kind, ctype, is_signed, NULL);
#else
#define TVMFFI_I_SHARED_WORD(T, ctype, name, schema, kind, index, is_signed)
#endif
#if TVMFFI_I_SHARES
#define TVMFFI_I_DECLARE_WORD(T)                               \
  TVMFFI_I_EXTERN_VARIABLE TVMFFI_I_HIDDEN const tvmffi_i_word \
      tvmffi_i_shared_word_##T TVMFFI_I_SHARED_NAME("word_" #T);
#endif

/* Defines a word T that compiler.h lists. */
#define TVMFFI_I_LISTED_TYPE(T, ctype, name, schema, kind, index, is_signed) \
  typedef ctype tvmffi_type_##T;                                             \
  TVMFFI_I_SHARED_WORD(T, ctype, name, schema, kind, index, is_signed)       \
  TVMFFI_I_CONST_WORD tvmffi_i_word_##T = TVMFFI_I_WORD(                     \
      name, schema, NULL, NULL, index, kind, ctype, is_signed, NULL);

/* A name that TVMFFI_I_TYPE declares for the parameter type T. If nothing
   defines T, the compiler's error shows this name. */
#define TVMFFI_I_UNKNOWN(T) tvmffi_i_unknown_type_word__##T##__see_the_guide
#if defined(__cplusplus)
#define TVMFFI_I_KNOWN(T, ctype) \
  struct TVMFFI_I_UNKNOWN(T) {   \
    char tvmffi_unused;          \
  };
#else
#define TVMFFI_I_KNOWN(T, ctype) typedef ctype TVMFFI_I_UNKNOWN(T);
#endif
/* Defines a word T of any kind, such as the name of a struct, and the name
   TVMFFI_I_UNKNOWN(T), so that TVMFFI_I_USE(T) compiles. */
#define TVMFFI_I_TYPE(T, ctype, name, schema, kind, index, getter, shown) \
  TVMFFI_I_ITEM_TYPE(T, ctype, name, schema, kind, index, getter, NULL, shown)
#define TVMFFI_I_ITEM_TYPE(T, ctype, name, schema, kind, index, getter, item, \
                           shown)                                             \
  TVMFFI_I_KNOWN(T, ctype)                                                    \
  typedef ctype tvmffi_type_##T;                                              \
  typedef ctype tvmffi_type_optional_##T;                                     \
  TVMFFI_I_CONST_WORD tvmffi_i_word_##T = TVMFFI_I_WORD(                      \
      name, schema, getter, item, index, kind, ctype, 1, shown);
/* Defines a parameter type T that only functions of the runtime use. The macro
   ends with the head of the function that converts an argument to T. */
#define TVMFFI_I_CUSTOM_TYPE(T, ctype, name, schema)                           \
  TVMFFI_I_INLINE int tvmffi_i_get_##T(const TVMFFIAny *any, void *out);       \
  TVMFFI_I_TYPE(T, ctype, name, schema, TVMFFI_I_CUSTOM, -1, tvmffi_i_get_##T, \
                NULL)                                                          \
  TVMFFI_I_INLINE int tvmffi_i_get_##T(const TVMFFIAny *any, void *out)

/* Names in macros that expand in the user's source begin with tvmffi_, because
   a plain name may be a macro of the user's. */

/* For a parameter type T whose C type is not a pointer, defines the struct of
   optional(T). */
#define TVMFFI_I_OPTIONAL_STRUCT(T)                              \
  typedef struct {                                               \
    tvmffi_type_##T value;                                       \
    int has_value;                                               \
  } tvmffi_type_optional_##T;                                    \
  TVMFFI_I_INLINE tvmffi_type_optional_##T tvmffi_no_##T(void) { \
    tvmffi_type_optional_##T no = TVMFFI_I_ZERO;                 \
    return no;                                                   \
  }                                                              \
  TVMFFI_I_INLINE tvmffi_type_optional_##T tvmffi_some_##T(      \
      tvmffi_type_##T value) {                                   \
    tvmffi_type_optional_##T some;                               \
    some.value = value;                                          \
    some.has_value = 1;                                          \
    return some;                                                 \
  }

/* Declares a type T that compiler.h does not list, so that an unknown T causes
   one compiler error, not one for each use. In C11 the macro declares T's types
   and word again, from TVMFFI_I_UNKNOWN(T). If T is known, C11 allows that. If
   not, only this declaration fails, because it still defines the names that
   later lines use. C99 and C++ refuse a second declaration, so there the macro
   only uses the name in a sizeof. */
#define TVMFFI_I_USE(T) TVMFFI_I_CAT(TVMFFI_I_USE_, TVMFFI_I_ORIGIN(T))(T)
#define TVMFFI_I_USE_0(T)
#define TVMFFI_I_USE_3(T)
#define TVMFFI_I_USE_2(T) TVMFFI_I_USE_OF_##T
#define TVMFFI_I_USE_OF_array(T) TVMFFI_I_USE_ITEM(T)
#define TVMFFI_I_USE_OF_list(T) TVMFFI_I_USE_ITEM(T)
#define TVMFFI_I_USE_OF_optional(T) TVMFFI_I_USE_ITEM(T)
#define TVMFFI_I_USE_OF_map(K, V) TVMFFI_I_USE_ITEM(K) TVMFFI_I_USE_ITEM(V)
#define TVMFFI_I_USE_OF_dict(K, V) TVMFFI_I_USE_ITEM(K) TVMFFI_I_USE_ITEM(V)
#define TVMFFI_I_USE_ITEM(T) \
  TVMFFI_I_CAT(TVMFFI_I_USE_ITEM_, TVMFFI_I_ORIGIN(T))(T)
#define TVMFFI_I_USE_ITEM_0(T)
#define TVMFFI_I_USE_ITEM_2(T)
#define TVMFFI_I_USE_ITEM_3(T)
#define TVMFFI_I_USE_ITEM_1 TVMFFI_I_USE_1
#if TVMFFI_I_GENERIC && !defined(__cplusplus)
#define TVMFFI_I_USE_1(T)                           \
  typedef TVMFFI_I_UNKNOWN(T) tvmffi_type_##T;      \
  typedef tvmffi_type_##T tvmffi_type_optional_##T; \
  extern const tvmffi_i_word tvmffi_i_word_##T;
#else
extern int tvmffi_i_is_known[1]; /* never defined */
#define TVMFFI_I_USE_1(T) \
  extern int tvmffi_i_is_known[sizeof(TVMFFI_I_UNKNOWN(T)) > 0];
#endif

/* Codes of conversions, besides 0 and an error's code. MISMATCH: the value has
   another type. CONVERTED: a container or an item was converted. For a value
   that an integer type cannot hold, the code is RANGE | the type's size in
   bytes | UNSIGNED for an unsigned type. */
enum {
  TVMFFI_I_MISMATCH = 1,
  TVMFFI_I_CONVERTED = 2,
  TVMFFI_I_UNSIGNED = 16,
  TVMFFI_I_RANGE = 32
};

/* Defines a listed word T whose C type is not a pointer. */
#define TVMFFI_I_VALUE_TYPE(T, ctype, name, schema, kind, index, is_signed) \
  TVMFFI_I_LISTED_TYPE(T, ctype, name, schema, kind, index, is_signed)      \
  TVMFFI_I_OPTIONAL_STRUCT(T)
#define TVMFFI_I_INT_TYPE(T, index, is_signed) \
  TVMFFI_I_VALUE_TYPE(T, T##_t, "int", "int", TVMFFI_I_INT, index, is_signed)
/* Accepts int and bool. OverflowError for a value out of the type's range. */
TVMFFI_I_INT_TYPE(int8, -1, 1)
TVMFFI_I_INT_TYPE(int16, -1, 1)
TVMFFI_I_INT_TYPE(int32, -1, 1)
TVMFFI_I_INT_TYPE(int64, kTVMFFIInt, 1)
TVMFFI_I_INT_TYPE(uint8, -1, 0)
TVMFFI_I_INT_TYPE(uint16, -1, 0)
TVMFFI_I_INT_TYPE(uint32, -1, 0)
/* Accepts int and bool. OverflowError for a negative argument. Returning a
   value above INT64_MAX raises an OverflowError. */
TVMFFI_I_INT_TYPE(uint64, -1, 0)

/* Accepts bool and int. Any int other than 0 is true. */
#if defined(__cplusplus)
TVMFFI_I_LISTED_TYPE(bool, bool, "bool", "bool", TVMFFI_I_BOOL, kTVMFFIBool, 0)
#else
TVMFFI_I_LISTED_TYPE(bool, _Bool, "bool", "bool", TVMFFI_I_BOOL, kTVMFFIBool, 0)
#endif
TVMFFI_I_OPTIONAL_STRUCT(bool)
/* C99's <stdbool.h> defines `bool` as `_Bool`, so macros receive `_Bool` for
   the parameter type `bool`. TVMFFI_I_VALUE_TYPE would define a word of that
   name. */
#define tvmffi_type__Bool tvmffi_type_bool
#define tvmffi_type_optional__Bool tvmffi_type_optional_bool
#define tvmffi_i_word__Bool tvmffi_i_word_bool
#define tvmffi_i_shared_word__Bool tvmffi_i_shared_word_bool

#if !TVMFFI_NO_FLOAT
#define TVMFFI_I_FLOAT_TYPE(T, ctype)                             \
  TVMFFI_I_VALUE_TYPE(T, ctype, "float", "float", TVMFFI_I_FLOAT, \
                      kTVMFFIFloat, 1)
/* Accepts float, int and bool. Rounds the value to the type. */
TVMFFI_I_FLOAT_TYPE(float32, float)
TVMFFI_I_FLOAT_TYPE(float64, double)
#else
/* No such type exists, so a compiler that reads float32 or float64 in a
   signature names the option in its error. */
#define tvmffi_type_float32 tvmffi_i_float32_is_no_type__TVMFFI_NO_FLOAT_is_1
#define tvmffi_type_float64 tvmffi_i_float64_is_no_type__TVMFFI_NO_FLOAT_is_1
#define tvmffi_i_word_float32 tvmffi_type_float32
#define tvmffi_i_word_float64 tvmffi_type_float64
#endif

/* The result type of functions that return nothing: TVMFFI_RETURN() returns
   None. Not for parameters. */
typedef struct {
  char tvmffi_returns_none;
} tvmffi_i_nothing;
TVMFFI_I_LISTED_TYPE(none, tvmffi_i_nothing, "void", "None", TVMFFI_I_NONE,
                     kTVMFFINone, 0)

/* Accepts a string in any form, as borrowed, NUL-terminated bytes. A returned
   string is copied. */
TVMFFI_I_VALUE_TYPE(str, TVMFFIByteArray, "str", "ffi.String", TVMFFI_I_STR,
                    kTVMFFISmallStr, 0)
/* Accepts bytes in any form, borrowed. Returned bytes are copied. */
TVMFFI_I_VALUE_TYPE(bytes, TVMFFIByteArray, "bytes", "ffi.Bytes",
                    TVMFFI_I_BYTES, kTVMFFISmallBytes, 0)
/* Accepts a data type, or its name ("float32", "int8x4"). ValueError for an
   unknown name. */
TVMFFI_I_VALUE_TYPE(dtype, DLDataType, "DataType", "DataType", TVMFFI_I_DTYPE,
                    kTVMFFIDataType, 0)
/* Accepts a device, or a name such as "cpu" or "cuda:1". Names are cpu, cuda,
   opencl, vulkan, metal, mps, vpi, rocm, ext_dev, webgpu, wgpu, hexagon, maia
   and trn. */
TVMFFI_I_VALUE_TYPE(device, DLDevice, "Device", "Device", TVMFFI_I_DEVICE,
                    kTVMFFIDevice, 0)
/* Accepts any value. A parameter is a borrowed view. A returned Any becomes an
   owned value. */
TVMFFI_I_VALUE_TYPE(any, TVMFFIAny, "Any", "Any", TVMFFI_I_ANY, -1, 0)

#define TVMFFI_I_POINTER_TYPE(T, ctype, name, schema, kind, index) \
  TVMFFI_I_LISTED_TYPE(T, ctype, name, schema, kind, index, 0)     \
  typedef ctype tvmffi_type_optional_##T;
/* Defines a word T for objects of type `index` or a descendant type. */
#define TVMFFI_I_OBJECT_TYPE(T, name, schema, index)                           \
  TVMFFI_I_TYPE(T, TVMFFIObject *, name, schema, TVMFFI_I_OBJECT, index, NULL, \
                NULL)
#define TVMFFI_I_LISTED_OBJECT(T, key, index) \
  TVMFFI_I_POINTER_TYPE(T, TVMFFIObject *, key, key, TVMFFI_I_OBJECT, index)
/* Accepts an opaque pointer. None becomes NULL. */
TVMFFI_I_POINTER_TYPE(ptr, void *, "void*", "void*", TVMFFI_I_PTR, -1)
/* Accepts a tensor object or a pointer to a DLTensor, borrowed. As a result
   type, `tensor` means `tensor_object`. */
TVMFFI_I_POINTER_TYPE(tensor, DLTensor *, "DLTensor*", "DLTensor*",
                      TVMFFI_I_TENSOR, kTVMFFITensor)
/* Accepts any object, borrowed. The caller owns a returned object. A function
   that returns NULL fails with the pending error. */
TVMFFI_I_LISTED_OBJECT(object, "ffi.Object", kTVMFFIObject)
/* Accepts a function, borrowed. The caller owns a returned function. */
TVMFFI_I_LISTED_OBJECT(func, "ffi.Function", kTVMFFIFunction)
/* Accepts an error object, borrowed. The caller owns a returned error. */
TVMFFI_I_LISTED_OBJECT(error, "ffi.Error", kTVMFFIError)
/* Accepts a module, borrowed. The caller owns a returned module. */
TVMFFI_I_LISTED_OBJECT(module, "ffi.Module", kTVMFFIModule)
/* Accepts a Python object of a type unknown to FFI, borrowed. The caller owns a
   returned object. */
TVMFFI_I_LISTED_OBJECT(opaque, "ffi.OpaquePyObject", kTVMFFIOpaquePyObject)
/* Accepts a tensor object (borrowed), but no pointer to a DLTensor. The caller
   owns a returned tensor. */
TVMFFI_I_LISTED_OBJECT(tensor_object, "ffi.Tensor", kTVMFFITensor)

/* -------- From an Any -------- */

#define TVMFFI_I_IS_INT(any) \
  ((any)->type_index == kTVMFFIInt || (any)->type_index == kTVMFFIBool)

/* Returns 1 if *any is an invalid small string or bytes, with a length above
   the capacity, else 0. */
TVMFFI_I_INLINE int tvmffi_i_is_false_text(const TVMFFIAny *any) {
  return (any->type_index == kTVMFFISmallStr ||
          any->type_index == kTVMFFISmallBytes) &&
         any->small_str_len >= sizeof(any->v_bytes);
}

TVMFFI_I_SMALL_ONCE(int, tvmffi_i_get_str,
                    (const TVMFFIAny *any, TVMFFIByteArray *out)) {
  if (any->type_index == kTVMFFISmallStr) {
    *out = tvmffi_i_small_bytes(any);
    return tvmffi_i_is_false_text(any) ? TVMFFI_I_MISMATCH : 0;
  }
  if (TVMFFI_I_UNLIKELY(
          (any->type_index != kTVMFFIStr && any->type_index != kTVMFFIRawStr) ||
          !any->v_ptr)) {
    *out = tvmffi_any_str(any);
    return any->type_index == TVMFFI_I_SLICE ? 0 : TVMFFI_I_MISMATCH;
  }
  if (TVMFFI_I_LIKELY(any->type_index == kTVMFFIStr))
    *out = *TVMFFIBytesGetByteArrayPtr(any->v_obj);
  else
    *out = tvmffi_byte_array(any->v_c_str);
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_get_bytes(const TVMFFIAny *any,
                                       TVMFFIByteArray *out) {
  int32_t index = any->type_index;
  if (index != kTVMFFISmallBytes &&
      ((index != kTVMFFIBytes && index != kTVMFFIByteArrayPtr) || !any->v_ptr))
    return TVMFFI_I_MISMATCH;
  *out = tvmffi_any_str(any);
  return tvmffi_i_is_false_text(any) ? TVMFFI_I_MISMATCH : 0;
}

TVMFFI_I_INLINE int tvmffi_i_get_dtype(const TVMFFIAny *any, DLDataType *out) {
  TVMFFIByteArray text;
  if (any->type_index == kTVMFFIDataType) {
    *out = any->v_dtype;
    return 0;
  }
  text = tvmffi_any_str(any);
  if (!text.data || tvmffi_i_is_false_text(any)) return TVMFFI_I_MISMATCH;
  return TVMFFIDataTypeFromString(&text, out);
}

/* Names of device types. If a device type has two names, messages show the
   first. Only the first TVMFFI_I_PARSED_DEVICES names are accepted as input. */
enum { TVMFFI_I_NUM_DEVICES = 18, TVMFFI_I_PARSED_DEVICES = 14 };
TVMFFI_I_UNUSED static const struct {
  const char *name;
  int32_t type;
} tvmffi_i_devices[TVMFFI_I_NUM_DEVICES] = {
    {"cpu", 1},      {"cuda", 2},       {"opencl", 4},        {"vulkan", 7},
    {"metal", 8},    {"mps", 8},        {"vpi", 9},           {"rocm", 10},
    {"ext_dev", 12}, {"webgpu", 15},    {"wgpu", 15},         {"hexagon", 16},
    {"maia", 17},    {"trn", 18},       {"cuda_host", 3},     {"rocm_host", 11},
    {"oneapi", 14},  {"cuda_managed", 13}};

TVMFFI_I_ONCE(const char *, tvmffi_i_device_name, (DLDevice device)) {
  int i;
  for (i = 0; i < TVMFFI_I_NUM_DEVICES; ++i)
    if (tvmffi_i_devices[i].type == (int32_t)device.device_type)
      return tvmffi_i_devices[i].name;
  return "unknown";
}

/* Parses a device such as "cuda" or "cuda:1". Ignores text after a space. */
TVMFFI_I_ONCE(int, tvmffi_i_parse_device, (TVMFFIByteArray s, DLDevice *out)) {
  size_t size = 0, n, k, i;
  int64_t id = 0;
  while (size < s.size && s.data[size] != ' ') ++size;
  for (n = 0; n < size && s.data[n] != ':'; ++n) {
  }
  if (n < size && n + 1 == size) return TVMFFI_I_MISMATCH;
  for (i = n + 1; i < size; ++i) {
    if (s.data[i] < '0' || s.data[i] > '9') return TVMFFI_I_MISMATCH;
    id = id * 10 + (s.data[i] - '0');
    if (id > INT32_MAX) return TVMFFI_I_MISMATCH;
  }
  for (k = 0; k < TVMFFI_I_PARSED_DEVICES; ++k) {
    const char *name = tvmffi_i_devices[k].name;
    for (i = 0; i < n && s.data[i] == name[i]; ++i) {
    }
    if (i == n && n && !name[n]) {
      out->device_type = (DLDeviceType)(tvmffi_i_devices[k].type);
      out->device_id = (int32_t)id;
      return 0;
    }
  }
  return TVMFFI_I_MISMATCH;
}

TVMFFI_I_INLINE int tvmffi_i_get_device(const TVMFFIAny *any, DLDevice *out) {
  TVMFFIByteArray text;
  if (any->type_index == kTVMFFIDevice) {
    *out = any->v_device;
    return 0;
  }
  if (tvmffi_i_get_str(any, &text)) return TVMFFI_I_MISMATCH;
  return tvmffi_i_parse_device(text, out);
}

TVMFFI_I_INLINE int tvmffi_i_get_tensor(const TVMFFIAny *any, DLTensor **out) {
  if (TVMFFI_I_UNLIKELY((any->type_index != kTVMFFITensor &&
                         any->type_index != kTVMFFIDLTensorPtr) ||
                        !any->v_ptr))
    return TVMFFI_I_MISMATCH;
  *out = any->type_index == kTVMFFITensor
             ? TVMFFITensorGetDLTensorPtr(any->v_obj)
             : (DLTensor *)any->v_ptr;
  return 0;
}

/* Does what tvmffi_i_from_any_as does, for integers. */
TVMFFI_I_SMALL_NOINLINE int tvmffi_i_get_int(const tvmffi_i_word *word,
                                             const TVMFFIAny *from, void *to) {
  int64_t x = from->v_int64;
  const int bits = word->size * 8;
  if (TVMFFI_I_UNLIKELY(!TVMFFI_I_IS_INT(from))) return TVMFFI_I_MISMATCH;
  if (word->is_signed ? bits < 64 && x != (bits == 8    ? (int8_t)x
                                           : bits == 16 ? (int16_t)x
                                                        : (int32_t)x)
      : bits < 64     ? (uint64_t)x >> bits != 0
                      : x < 0)
    return TVMFFI_I_RANGE | word->size |
           (word->is_signed ? 0 : (int)TVMFFI_I_UNSIGNED);
  if (bits == 8)
    *(uint8_t *)to = (uint8_t)x;
  else if (bits == 16)
    *(uint16_t *)to = (uint16_t)x;
  else if (bits == 32)
    *(uint32_t *)to = (uint32_t)x;
  else
    *(int64_t *)to = x;
  return 0;
}

/* Returns the address of `has_value` in the struct of optional(T) at
   `optional`. `word` is the word of T. */
TVMFFI_I_FOLDED int *tvmffi_i_has_value(const tvmffi_i_word *word,
                                        const void *optional) {
  struct aligned {
    char head;
    int tail;
  };
  const size_t align = offsetof(struct aligned, tail);
  return (int *)(uintptr_t)((const char *)optional +
                            (word->size + align - 1) / align * align);
}

/* Converts *from to the C type of `word`, whose kind is `kind`, at `to`,
   borrowed. Returns 0, TVMFFI_I_MISMATCH, TVMFFI_I_RANGE or more, or an error's
   code. On failure, a number, data type, device or plain pointer at `to` is
   unchanged. */
TVMFFI_I_FOLDED int tvmffi_i_from_any_as(int kind, const tvmffi_i_word *word,
                                         const TVMFFIAny *from, void *to) {
  const int32_t index = from->type_index;
  switch (kind) {
    case TVMFFI_I_ANY: *(TVMFFIAny *)to = *from; return 0;
    case TVMFFI_I_INT: return tvmffi_i_get_int(word, from, to);
    case TVMFFI_I_BOOL:
      if (!TVMFFI_I_IS_INT(from)) return TVMFFI_I_MISMATCH;
      *(tvmffi_type_bool *)to = from->v_int64 != 0;
      return 0;
#if !TVMFFI_NO_FLOAT
    case TVMFFI_I_FLOAT: {
      double x = from->v_float64;
      if (TVMFFI_I_UNLIKELY(index != kTVMFFIFloat)) {
        if (!TVMFFI_I_IS_INT(from)) return TVMFFI_I_MISMATCH;
        x = (double)from->v_int64;
      }
      if (word->size == sizeof(float))
        *(float *)to = (float)x;
      else
        *(double *)to = x;
      return 0;
    }
#endif
    case TVMFFI_I_STR: return tvmffi_i_get_str(from, (TVMFFIByteArray *)to);
    case TVMFFI_I_BYTES: return tvmffi_i_get_bytes(from, (TVMFFIByteArray *)to);
    case TVMFFI_I_DTYPE: return tvmffi_i_get_dtype(from, (DLDataType *)to);
    case TVMFFI_I_DEVICE: return tvmffi_i_get_device(from, (DLDevice *)to);
    case TVMFFI_I_PTR:
      if (index != kTVMFFIOpaquePtr && index != kTVMFFINone)
        return TVMFFI_I_MISMATCH;
      *(void **)to = index == kTVMFFINone ? NULL : from->v_ptr;
      return 0;
    case TVMFFI_I_TENSOR: return tvmffi_i_get_tensor(from, (DLTensor **)to);
    case TVMFFI_I_OBJECT:
      if (index != word->index && (index < kTVMFFIStaticObjectBegin ||
                                   (word->index != kTVMFFIObject &&
                                    !tvmffi_i_derives(index, word->index))))
        return TVMFFI_I_MISMATCH;
      *(tvmffi_i_object_slot *)to = from->v_obj;
      return from->v_obj ? 0 : TVMFFI_I_MISMATCH;
    case TVMFFI_I_CUSTOM: return word->get(from, to);
    default: return TVMFFI_I_MISMATCH;
  }
}

/* Does what tvmffi_i_from_any_as does, for optional(T), too. */
TVMFFI_I_FOLDED int tvmffi_i_from_any(const tvmffi_i_word *word,
                                      const TVMFFIAny *from, void *to) {
  const tvmffi_i_word *of =
      word->kind == TVMFFI_I_OPTIONAL ? word->of[0] : word;
  const int is_some = of == word || from->type_index != kTVMFFINone;
  const int code = is_some ? tvmffi_i_from_any_as(of->kind, of, from, to) : 0;
  if (code || of == word) return code;
  if (of->kind < TVMFFI_I_PTR)
    *tvmffi_i_has_value(of, to) = is_some;
  else if (!is_some)
    *(tvmffi_i_object_slot *)to = NULL;
  return 0;
}

/* -------- To an Any -------- */

TVMFFI_I_ONCE(int, tvmffi_i_too_large, (uint64_t value)) {
  return tvmffi_i_raise("OverflowError",
                        "Integer value %llu is too large to fit in int64_t. "
                        "Consider explicitly casting to int64_t first if this "
                        "is intentional.",
                        (unsigned long long)value);
}

/* Makes an owned value of a view that the ABI cannot express. There are two
   such views, both with a negative type index: a tvmffi_uint above INT64_MAX,
   which is refused, and a slice of a text, which becomes a string. Returns 0,
   or -1 with an OverflowError or a MemoryError. */
TVMFFI_I_ONCE(int, tvmffi_i_settle, (const TVMFFIAny *view, TVMFFIAny *owned)) {
  TVMFFIByteArray text = tvmffi_any_str(view);
  if (view->type_index != TVMFFI_I_SLICE)
    return tvmffi_i_too_large((uint64_t)view->v_int64);
  if (text.size == UINT32_MAX)
    return tvmffi_i_raise("OverflowError", "A slice has 4 GB or more");
  return TVMFFIStringFromByteArray(&text, owned);
}

/* Returns 1 if a value points to memory that no object owns: a plain string,
   bytes or tensor, or a reference to be moved. */
TVMFFI_I_INLINE int tvmffi_i_is_view(const TVMFFIAny *any) {
  return any->type_index >= kTVMFFIDLTensorPtr &&
         any->type_index <= kTVMFFIObjectRValueRef;
}

TVMFFI_I_SMALL_ONCE(int, tvmffi_i_put_object,
                    (tvmffi_scope *here, TVMFFIAny *out, TVMFFIObject *value)) {
  *out = tvmffi_obj(value);
  if (TVMFFI_I_UNLIKELY(!value)) return tvmffi_i_pending();
  if (here) tvmffi_i_scope_give(here, value);
  return 0;
}

TVMFFI_I_SMALL_ONCE(int, tvmffi_i_put_any,
                    (tvmffi_scope *here, TVMFFIAny *out,
                     const TVMFFIAny *value)) {
  if (TVMFFI_I_UNLIKELY(value->type_index < 0))
    return tvmffi_i_settle(value, out);
  if (tvmffi_i_is_view(value)) return TVMFFIAnyViewToOwnedAny(value, out);
  if (value->type_index >= kTVMFFIStaticObjectBegin)
    return tvmffi_i_put_object(here, out, value->v_obj);
  *out = *value;
  return 0;
}

TVMFFI_I_FOLDED int tvmffi_i_put_int(const tvmffi_i_word *word, TVMFFIAny *out,
                                     const void *value) {
  int64_t x;
  if (word->size == 1)
    x = word->is_signed ? *(const int8_t *)value : *(const uint8_t *)value;
  else if (word->size == 2)
    x = word->is_signed ? *(const int16_t *)value : *(const uint16_t *)value;
  else if (word->size == 4)
    x = word->is_signed ? *(const int32_t *)value
                        : (int64_t) * (const uint32_t *)value;
  else
    x = *(const int64_t *)value;
  if (!word->is_signed && x < 0) return tvmffi_i_too_large((uint64_t)x);
  *out = tvmffi_int(x);
  return 0;
}

/* Converts the C value of `word` at `value` to what a body returns. If `here`
   is not NULL, the caller receives a reference of its own: one that the scope
   gives up, or a new one. If `here` is NULL, the caller receives the reference
   that the body owns. Returns 0, or an error's code. */
TVMFFI_I_FOLDED int tvmffi_i_plain_to_any(const tvmffi_i_word *word,
                                          tvmffi_scope *here, TVMFFIAny *out,
                                          const void *value) {
  switch (word->kind) {
    case TVMFFI_I_NONE: *out = tvmffi_none(); return 0;
    case TVMFFI_I_ANY:
      return tvmffi_i_put_any(here, out, (const TVMFFIAny *)value);
    case TVMFFI_I_INT: return tvmffi_i_put_int(word, out, value);
    case TVMFFI_I_BOOL:
      *out = tvmffi_bool(*(const tvmffi_type_bool *)value);
      return 0;
#if !TVMFFI_NO_FLOAT
    case TVMFFI_I_FLOAT:
      *out = tvmffi_float(word->size == sizeof(float) ? *(const float *)value
                                                      : *(const double *)value);
      return 0;
#endif
    case TVMFFI_I_STR:
      return TVMFFIStringFromByteArray((const TVMFFIByteArray *)value, out);
    case TVMFFI_I_BYTES:
      return TVMFFIBytesFromByteArray((const TVMFFIByteArray *)value, out);
    case TVMFFI_I_DTYPE:
      *out = tvmffi_dtype(*(const DLDataType *)value);
      return 0;
    case TVMFFI_I_DEVICE:
      *out = tvmffi_device(*(const DLDevice *)value);
      return 0;
    case TVMFFI_I_PTR:
      *out = tvmffi_i_pointer(kTVMFFIOpaquePtr, *(void *const *)value);
      return 0;
    default:
      return tvmffi_i_put_object(here, out,
                                 *(const tvmffi_i_object_slot *)value);
  }
}

/* Does what tvmffi_i_plain_to_any does, for optional(T), too. */
TVMFFI_I_FOLDED int tvmffi_i_to_any(const tvmffi_i_word *word,
                                    tvmffi_scope *here, TVMFFIAny *out,
                                    const void *value) {
  const tvmffi_i_word *of = word->of[0];
  if (word->kind != TVMFFI_I_OPTIONAL)
    return tvmffi_i_plain_to_any(word, here, out, value);
  *out = tvmffi_none();
  if (of->kind < TVMFFI_I_PTR) {
    if (!*tvmffi_i_has_value(of, value)) return 0;
  } else if (!*(const tvmffi_i_object_slot *)value) {
    return here ? tvmffi_i_pending() : 0;
  }
  return tvmffi_i_plain_to_any(of, here, out, value);
}

/* -------- Words with parts -------- */

/* Returns the word whose name and schema stand for `word` in error messages and
   metadata. This is `word`, except for the parameter `self` of a method: its
   type key is known only when the type is registered, so of[0] points to a
   second word, which can still change. */
TVMFFI_I_INLINE const tvmffi_i_word *tvmffi_i_shown(const tvmffi_i_word *word) {
  return word->kind == TVMFFI_I_CUSTOM && word->of[0] ? word->of[0] : word;
}

/* Returns 1 for a word with parts, such as array(T), else 0. */
TVMFFI_I_INLINE int tvmffi_i_has_parts(const tvmffi_i_word *word) {
  return word->kind != TVMFFI_I_CUSTOM && word->of[0];
}

/* Returns 1 if the conversion of a container's item to `word` may yield another
   value, such as an int for a bool. The other words only check an item, which
   stays as it is. */
TVMFFI_I_INLINE int tvmffi_i_is_value(const tvmffi_i_word *word) {
  return word->kind == TVMFFI_I_INT || word->kind == TVMFFI_I_BOOL ||
         word->kind == TVMFFI_I_FLOAT || word->kind == TVMFFI_I_DTYPE ||
         word->kind == TVMFFI_I_DEVICE;
}

/* Returns the type index of the container items that fit `word` as they are, or
   -1 if each item must be checked. */
TVMFFI_I_FOLDED int32_t tvmffi_i_kept_index(const tvmffi_i_word *word) {
  if (word->kind == TVMFFI_I_OPTIONAL) word = word->of[0];
  return word->kind != TVMFFI_I_CUSTOM && word->of[0] ? -1 : word->index;
}
