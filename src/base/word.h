/* ======== Words ================================================== >>base/word
   words for types, and their conversions */
/* Defines the parameter types of typed functions, such as int64. A parameter
   type T has a C type tvmffi_type_T, a conversion tvmffi_i_get_T from an Any, a
   conversion tvmffi_i_put_T to an Any, and names tvmffi_i_name_T. Typed
   functions check number and types of arguments, and raise the same errors as
   upstream's C++ headers. For an unknown parameter type T, the compiler's first
   error names tvmffi_i_unknown_type_word__T. */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/dlpack.h"
#include "../head/abi.h"
#include "scope_here.h"
#include "value.h"
#include "type_info.h"
#include "error.h"

typedef struct {
  const char *name;   /* in error texts */
  const char *schema; /* a type key, or JSON that begins with '{' */
} tvmffi_i_name;

/* Converts an item of a container to `type`. Returns 0 if the item needs no
   conversion, TVMFFI_I_CONVERTED if *to owns the converted item, or the error
   of a tvmffi_i_get_T. */
typedef int tvmffi_i_cast(const tvmffi_i_name *type, const TVMFFIAny *from,
                          TVMFFIAny *to);

/* A compound type such as array(T). Its schema begins with '['. */
typedef struct {
  tvmffi_i_name base;
  const tvmffi_i_name *of[2];
  tvmffi_i_cast *cast[2];
  int32_t fits[2]; /* type index of items that need no cast, or -1 */
} tvmffi_i_compound;

/* Stores the default of each parameter i that has one in args[i], as a view. */
typedef int tvmffi_i_defaults(TVMFFIAny *args);
enum { TVMFFI_I_MAX_PARAMS = 16 };

/* Describes the typed function NAME, as tvmffi_func_NAME. types[0] is the
   result's type. */
typedef struct {
  const char *name;
  TVMFFISafeCallType call;
  int32_t num_args; /* -1: a packed function with any arguments */
  const tvmffi_i_name *const *types;
#if !TVMFFI_NO_METADATA
  const char *params; /* parameter names, each ended by a NUL; or NULL */
  int32_t least;      /* the number of parameters without a default */
  tvmffi_i_defaults *defaults; /* NULL if no parameter has one */
#endif
} tvmffi_func;
#if TVMFFI_NO_METADATA
#define TVMFFI_I_SIGNATURE(params, least, defaults)
#else
#define TVMFFI_I_SIGNATURE(params, least, defaults) , params, least, defaults
#endif

/* Codes that tvmffi_i_get_T returns, besides 0 and an error's code. A code of
   TVMFFI_I_RANGE or more encodes the integer type that is too small for the
   value. */
enum {
  TVMFFI_I_MISMATCH = 1,
  TVMFFI_I_CONVERTED = 2,
  TVMFFI_I_UNSIGNED = 16,
  TVMFFI_I_RANGE = 32
};
#define TVMFFI_I_RANGE_OF(ctype)         \
  (TVMFFI_I_RANGE | (int)sizeof(ctype) | \
   ((ctype)(-1) < 1 ? 0 : (int)TVMFFI_I_UNSIGNED))

/* Defines the parameter type T, such as int64. */
#define TVMFFI_I_LISTED_TYPE(T, ctype, name, schema)                     \
  typedef ctype tvmffi_type_##T;                                         \
  typedef int tvmffi_i_put_type_##T(tvmffi_scope *, TVMFFIAny *, ctype); \
  TVMFFI_I_UNUSED static const tvmffi_i_name tvmffi_i_name_##T = {name, schema};
#define TVMFFI_I_GET(T) TVMFFI_I_GETTER(T, any, out)
/* A name that TVMFFI_I_TYPE declares for the parameter type T. If nothing
   defines T, the compiler's error shows this name. */
#define TVMFFI_I_UNKNOWN(T) tvmffi_i_unknown_type_word__##T##__see_the_guide
/* Like TVMFFI_I_LISTED_TYPE, for a T that compiler.h need not list, such as the
   name of a struct. */
#if defined(__cplusplus)
#define TVMFFI_I_TYPE(T, ctype, name, schema) \
  struct TVMFFI_I_UNKNOWN(T) {};              \
  TVMFFI_I_LISTED_TYPE(T, ctype, name, schema)
#else
#define TVMFFI_I_TYPE(T, ctype, name, schema) \
  typedef ctype TVMFFI_I_UNKNOWN(T);          \
  TVMFFI_I_LISTED_TYPE(T, ctype, name, schema)
#endif
#define TVMFFI_I_PUT(T) TVMFFI_I_PUTTER_OF(T, out, value)
#define TVMFFI_I_GETTER(T, from, to)                          \
  TVMFFI_I_INLINE int tvmffi_i_get_##T(const TVMFFIAny *from, \
                                       tvmffi_type_##T *to)
/* Puts what a body returns into the result. The caller receives a reference of
   its own, from the scope tvmffi_i_here or a new one. If that is NULL, the
   caller receives the reference that the body owns. */
#define TVMFFI_I_PUTTER_OF(T, to, from)                           \
  TVMFFI_I_INLINE int tvmffi_i_put_##T(                           \
      TVMFFI_I_UNUSED tvmffi_scope *tvmffi_i_here, TVMFFIAny *to, \
      tvmffi_type_##T from)

/* Names in macros that expand in the user's source begin with tvmffi_, because
   a plain name may be a macro of the user's. */

/* For a parameter type T whose C type is a pointer, defines optional(T), where
   NULL means no value, and a check of container items. Must follow the getter
   and putter of T. */
#define TVMFFI_I_POINTER_WORD(T)                                           \
  typedef tvmffi_type_##T tvmffi_type_optional_##T;                        \
  TVMFFI_I_INLINE int tvmffi_i_get_optional_##T(                           \
      const TVMFFIAny *tvmffi_from, tvmffi_type_optional_##T *tvmffi_to) { \
    *tvmffi_to = NULL;                                                     \
    return tvmffi_from->type_index == kTVMFFINone                          \
               ? 0                                                         \
               : (tvmffi_i_get_##T)(tvmffi_from, tvmffi_to);               \
  }                                                                        \
  TVMFFI_I_INLINE int tvmffi_i_put_optional_##T(                           \
      tvmffi_scope *tvmffi_i_here, TVMFFIAny *tvmffi_to,                   \
      tvmffi_type_optional_##T tvmffi_value) {                             \
    *tvmffi_to = tvmffi_none();                                            \
    if (!tvmffi_value) return tvmffi_i_here ? tvmffi_i_pending() : 0;      \
    return (tvmffi_i_put_##T)(tvmffi_i_here, tvmffi_to, tvmffi_value);     \
  }                                                                        \
  TVMFFI_I_KEPT_ELEMENT(T, -1)

/* For a parameter type T such as int64, defines the struct of optional(T), and
   the conversion of container items to T. Items of type `index` need none. */
#define TVMFFI_I_VALUE_WORD(T, index)                           \
  TVMFFI_I_OPTIONAL_STRUCT(T)                                   \
  TVMFFI_I_CAST(T, index) {                                     \
    tvmffi_type_##T value;                                      \
    int code = (tvmffi_i_get_##T)(tvmffi_from, &value);         \
    (void)tvmffi_name;                                          \
    if (!code) code = tvmffi_i_put_##T(NULL, tvmffi_to, value); \
    if (code) return code;                                      \
    return tvmffi_to->type_index == tvmffi_from->type_index     \
               ? 0                                              \
               : TVMFFI_I_CONVERTED;                            \
  }

/* For a parameter type T such as str, defines the struct of optional(T), and a
   check of container items, which are never converted. */
#define TVMFFI_I_KEPT_WORD(T, index) \
  TVMFFI_I_OPTIONAL_STRUCT(T)        \
  TVMFFI_I_KEPT_ELEMENT(T, index)
#define TVMFFI_I_OPTIONAL_STRUCT(T)                                            \
  typedef struct {                                                             \
    tvmffi_type_##T value;                                                     \
    int has_value;                                                             \
  } tvmffi_type_optional_##T;                                                  \
  TVMFFI_I_INLINE tvmffi_type_optional_##T tvmffi_no_##T(void) {               \
    tvmffi_type_optional_##T no = TVMFFI_I_ZERO;                               \
    return no;                                                                 \
  }                                                                            \
  TVMFFI_I_INLINE tvmffi_type_optional_##T tvmffi_some_##T(                    \
      tvmffi_type_##T value) {                                                 \
    tvmffi_type_optional_##T some;                                             \
    some.value = value;                                                        \
    some.has_value = 1;                                                        \
    return some;                                                               \
  }                                                                            \
  TVMFFI_I_INLINE int tvmffi_i_get_optional_##T(                               \
      const TVMFFIAny *any, tvmffi_type_optional_##T *out) {                   \
    out->has_value = any->type_index != kTVMFFINone;                           \
    return out->has_value ? tvmffi_i_get_##T(any, &out->value) : 0;            \
  }                                                                            \
  TVMFFI_I_INLINE int tvmffi_i_put_optional_##T(                               \
      tvmffi_scope *tvmffi_i_here, TVMFFIAny *out,                             \
      tvmffi_type_optional_##T value) {                                        \
    *out = tvmffi_none();                                                      \
    return value.has_value ? tvmffi_i_put_##T(tvmffi_i_here, out, value.value) \
                           : 0;                                                \
  }
#define TVMFFI_I_KEPT_ELEMENT(T, index)                    \
  TVMFFI_I_CAST(T, index) {                                \
    tvmffi_type_##T tvmffi_value;                          \
    (void)tvmffi_name, (void)tvmffi_to;                    \
    return (tvmffi_i_get_##T)(tvmffi_from, &tvmffi_value); \
  }
#define TVMFFI_I_CAST(T, index)                                           \
  enum { tvmffi_i_fits_##T = index };                                     \
  typedef int tvmffi_i_put_type_optional_##T(tvmffi_scope *, TVMFFIAny *, \
                                             tvmffi_type_optional_##T);   \
  TVMFFI_I_ELEMENT(T)                                                     \
  TVMFFI_I_INLINE int tvmffi_i_item_##T(const tvmffi_i_name *tvmffi_name, \
                                        const TVMFFIAny *tvmffi_from,     \
                                        TVMFFIAny *tvmffi_to)

/* TVMFFI_FUNC uses it to declare tvmffi_type_T, tvmffi_i_get_T and so on if
   compiler.h does not list T. An unknown T then causes one compiler error, not
   one for each use. C11 allows to repeat the declarations of a known T. */
#define TVMFFI_I_USE(T) TVMFFI_I_CAT(TVMFFI_I_USE_, TVMFFI_I_ORIGIN(T))(T)
#define TVMFFI_I_USE_0(T)
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
#if TVMFFI_I_GENERIC && !defined(__cplusplus)
#define TVMFFI_I_USE_1(T)                                        \
  typedef TVMFFI_I_UNKNOWN(T) tvmffi_type_##T;                   \
  typedef int tvmffi_i_put_type_##T(tvmffi_scope *, TVMFFIAny *, \
                                    tvmffi_type_##T);            \
  extern const tvmffi_i_name tvmffi_i_name_##T;                  \
  extern tvmffi_i_put_type_##T tvmffi_i_put_##T;                 \
  extern int tvmffi_i_get_##T(const TVMFFIAny *, tvmffi_type_##T *);
#define TVMFFI_I_USE_ITEM_1(T)                                            \
  TVMFFI_I_USE_1(T)                                                       \
  typedef tvmffi_type_##T tvmffi_type_optional_##T;                       \
  typedef int tvmffi_i_put_type_optional_##T(tvmffi_scope *, TVMFFIAny *, \
                                             tvmffi_type_optional_##T);   \
  extern tvmffi_i_put_type_optional_##T tvmffi_i_put_optional_##T;        \
  extern int tvmffi_i_get_optional_##T(const TVMFFIAny *,                 \
                                       tvmffi_type_optional_##T *);       \
  extern tvmffi_i_cast tvmffi_i_item_##T;
#else
extern int tvmffi_i_is_known[1]; /* never defined */
#define TVMFFI_I_USE_1(T) \
  extern int tvmffi_i_is_known[sizeof(TVMFFI_I_UNKNOWN(T)) > 0];
#define TVMFFI_I_USE_ITEM_1 TVMFFI_I_USE_1
#endif

#if defined(__cplusplus)
#define TVMFFI_I_ELEMENT(T)                                              \
  TVMFFI_I_INLINE tvmffi_i_cast tvmffi_i_item_##T;                       \
  struct tvmffi_i_element_##T {                                          \
    static constexpr const tvmffi_i_name *tvmffi_name() {                \
      return &tvmffi_i_name_##T;                                         \
    }                                                                    \
    static constexpr tvmffi_i_cast *tvmffi_cast_of() {                   \
      return tvmffi_i_item_##T;                                          \
    }                                                                    \
    static constexpr int32_t tvmffi_fits() { return tvmffi_i_fits_##T; } \
  };
#else
#define TVMFFI_I_ELEMENT(T)
#endif

#define TVMFFI_I_IS_INT(any) \
  ((any)->type_index == kTVMFFIInt || (any)->type_index == kTVMFFIBool)

#define TVMFFI_I_INT_TYPE(T)                                             \
  TVMFFI_I_LISTED_TYPE(T, T##_t, "int", "int")                           \
  TVMFFI_I_GET(T) {                                                      \
    if (!TVMFFI_I_IS_INT(any)) return TVMFFI_I_MISMATCH;                 \
    *out = (T##_t)any->v_int64;                                          \
    return (int64_t)*out == any->v_int64 ? 0 : TVMFFI_I_RANGE_OF(T##_t); \
  }                                                                      \
  TVMFFI_I_PUT(T) {                                                      \
    *out = tvmffi_int(value);                                            \
    return 0;                                                            \
  }                                                                      \
  TVMFFI_I_VALUE_WORD(T, sizeof(T##_t) == 8 ? (int)kTVMFFIInt : -1)
/* Accepts int and bool. OverflowError for a value out of the type's range. */
TVMFFI_I_INT_TYPE(int8)
TVMFFI_I_INT_TYPE(int16)
TVMFFI_I_INT_TYPE(int32)
TVMFFI_I_INT_TYPE(int64)
TVMFFI_I_INT_TYPE(uint8)
TVMFFI_I_INT_TYPE(uint16)
TVMFFI_I_INT_TYPE(uint32)

/* Accepts int and bool. OverflowError for a negative argument. Returning a
   value above INT64_MAX raises an OverflowError. */
TVMFFI_I_LISTED_TYPE(uint64, uint64_t, "int", "int")
TVMFFI_I_GET(uint64) {
  if (!TVMFFI_I_IS_INT(any)) return TVMFFI_I_MISMATCH;
  *out = (uint64_t)any->v_int64;
  return any->v_int64 >= 0 ? 0 : TVMFFI_I_RANGE_OF(uint64_t);
}
TVMFFI_I_COLD int tvmffi_i_too_large(uint64_t value) {
  return tvmffi_i_raise("OverflowError",
                        "Integer value %llu is too large to fit in int64_t. "
                        "Consider explicitly casting to int64_t first if this "
                        "is intentional.",
                        (unsigned long long)value);
}

/* Two values of the interface have no form in the ABI, and a negative type
   index: a tvmffi_uint above INT64_MAX, which is refused, and a slice of a
   text, of which a string is made. Makes an owned value of such a value.
   Returns 0, or -1 with an OverflowError or a MemoryError. */
TVMFFI_I_COLD int tvmffi_i_settle(const TVMFFIAny *view, TVMFFIAny *owned) {
  TVMFFIByteArray text = tvmffi_any_str(view);
  if (view->type_index != TVMFFI_I_SLICE)
    return tvmffi_i_too_large((uint64_t)view->v_int64);
  if (text.size == UINT32_MAX)
    return tvmffi_i_raise("OverflowError", "A slice has 4 GB or more");
  return TVMFFIStringFromByteArray(&text, owned);
}

TVMFFI_I_PUT(uint64) {
  if (value >> 63) return tvmffi_i_too_large(value);
  *out = tvmffi_int((int64_t)value);
  return 0;
}
TVMFFI_I_VALUE_WORD(uint64, -1)

/* C99's <stdbool.h> defines `bool` as `_Bool`, so macros receive `_Bool` for
   the parameter type `bool`. */
#define tvmffi_type__Bool tvmffi_type_bool
#define tvmffi_no__Bool tvmffi_no_bool
#define tvmffi_some__Bool tvmffi_some_bool
#define tvmffi_i_put_type__Bool tvmffi_i_put_type_bool
#define tvmffi_i_name__Bool tvmffi_i_name_bool
#define tvmffi_i_get__Bool tvmffi_i_get_bool
#define tvmffi_i_put__Bool tvmffi_i_put_bool
#define tvmffi_i_item__Bool tvmffi_i_item_bool
#define tvmffi_i_fits__Bool tvmffi_i_fits_bool
#define tvmffi_i_element__Bool tvmffi_i_element_bool
#define tvmffi_type_optional__Bool tvmffi_type_optional_bool
#define tvmffi_i_put_type_optional__Bool tvmffi_i_put_type_optional_bool
#define tvmffi_i_get_optional__Bool tvmffi_i_get_optional_bool
#define tvmffi_i_put_optional__Bool tvmffi_i_put_optional_bool

/* Accepts bool and int. Any int other than 0 is true. */
#if defined(__cplusplus)
TVMFFI_I_LISTED_TYPE(bool, bool, "bool", "bool")
#else
TVMFFI_I_LISTED_TYPE(bool, _Bool, "bool", "bool")
#endif
TVMFFI_I_GET(bool) {
  *out = any->v_int64 != 0;
  return TVMFFI_I_IS_INT(any) ? 0 : TVMFFI_I_MISMATCH;
}
TVMFFI_I_PUT(bool) {
  *out = tvmffi_bool(value);
  return 0;
}
TVMFFI_I_VALUE_WORD(bool, kTVMFFIBool)

#if !TVMFFI_NO_FLOAT
#define TVMFFI_I_FLOAT_TYPE(T, ctype)                     \
  TVMFFI_I_LISTED_TYPE(T, ctype, "float", "float")        \
  TVMFFI_I_GET(T) {                                       \
    if (TVMFFI_I_LIKELY(any->type_index == kTVMFFIFloat)) \
      *out = (ctype)any->v_float64;                       \
    else if (TVMFFI_I_IS_INT(any))                        \
      *out = (ctype)any->v_int64;                         \
    else                                                  \
      return TVMFFI_I_MISMATCH;                           \
    return 0;                                             \
  }                                                       \
  TVMFFI_I_PUT(T) {                                       \
    *out = tvmffi_float((double)value);                   \
    return 0;                                             \
  }                                                       \
  TVMFFI_I_VALUE_WORD(T, kTVMFFIFloat)
/* Accepts float, int and bool. Rounds the value to the type. */
TVMFFI_I_FLOAT_TYPE(float32, float)
TVMFFI_I_FLOAT_TYPE(float64, double)
#endif

/* The result type of functions that return nothing: TVMFFI_RETURN() returns
   None. Not for parameters. */
typedef int tvmffi_i_put_type_none(tvmffi_scope *, TVMFFIAny *);
static const tvmffi_i_name tvmffi_i_name_none = {"void", "None"};
TVMFFI_I_INLINE int tvmffi_i_put_none(tvmffi_scope *tvmffi_i_here,
                                      TVMFFIAny *out) {
  (void)tvmffi_i_here;
  *out = tvmffi_none();
  return 0;
}

/* Returns 1 if *any is an invalid small string or bytes, with a length above
   the capacity, else 0. */
TVMFFI_I_INLINE int tvmffi_i_is_false_text(const TVMFFIAny *any) {
  return (any->type_index == kTVMFFISmallStr ||
          any->type_index == kTVMFFISmallBytes) &&
         any->small_str_len >= sizeof(any->v_bytes);
}

/* Accepts a string in any form, as borrowed, NUL-terminated bytes. A returned
   string is copied. */
TVMFFI_I_LISTED_TYPE(str, TVMFFIByteArray, "str", "ffi.String")
TVMFFI_I_GET(str) {
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
TVMFFI_I_PUT(str) { return TVMFFIStringFromByteArray(&value, out); }
TVMFFI_I_KEPT_WORD(str, kTVMFFISmallStr)

/* Accepts bytes in any form, borrowed. Returned bytes are copied. */
TVMFFI_I_LISTED_TYPE(bytes, TVMFFIByteArray, "bytes", "ffi.Bytes")
TVMFFI_I_GET(bytes) {
  int32_t index = any->type_index;
  if (index != kTVMFFISmallBytes &&
      ((index != kTVMFFIBytes && index != kTVMFFIByteArrayPtr) || !any->v_ptr))
    return TVMFFI_I_MISMATCH;
  *out = tvmffi_any_str(any);
  return tvmffi_i_is_false_text(any) ? TVMFFI_I_MISMATCH : 0;
}
TVMFFI_I_PUT(bytes) { return TVMFFIBytesFromByteArray(&value, out); }
TVMFFI_I_KEPT_WORD(bytes, kTVMFFISmallBytes)

/* Accepts a data type, or its name ("float32", "int8x4"). ValueError for an
   unknown name. */
TVMFFI_I_LISTED_TYPE(dtype, DLDataType, "DataType", "DataType")
TVMFFI_I_GET(dtype) {
  TVMFFIByteArray text;
  if (any->type_index == kTVMFFIDataType) {
    *out = any->v_dtype;
    return 0;
  }
  text = tvmffi_any_str(any);
  if (!text.data || tvmffi_i_is_false_text(any)) return TVMFFI_I_MISMATCH;
  return TVMFFIDataTypeFromString(&text, out);
}
TVMFFI_I_PUT(dtype) {
  *out = tvmffi_dtype(value);
  return 0;
}
TVMFFI_I_VALUE_WORD(dtype, kTVMFFIDataType)

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

TVMFFI_I_COLD const char *tvmffi_i_device_name(DLDevice device) {
  int i;
  for (i = 0; i < TVMFFI_I_NUM_DEVICES; ++i)
    if (tvmffi_i_devices[i].type == (int32_t)device.device_type)
      return tvmffi_i_devices[i].name;
  return "unknown";
}

/* Parses a device such as "cuda" or "cuda:1". Ignores text after a space. */
TVMFFI_I_COLD int tvmffi_i_parse_device(TVMFFIByteArray s, DLDevice *out) {
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

/* Accepts a device, or a name such as "cpu" or "cuda:1". Names are cpu, cuda,
   opencl, vulkan, metal, mps, vpi, rocm, ext_dev, webgpu, wgpu, hexagon, maia
   and trn. */
TVMFFI_I_LISTED_TYPE(device, DLDevice, "Device", "Device")
TVMFFI_I_GET(device) {
  TVMFFIByteArray text;
  if (any->type_index == kTVMFFIDevice) {
    *out = any->v_device;
    return 0;
  }
  if (tvmffi_i_get_str(any, &text)) return TVMFFI_I_MISMATCH;
  return tvmffi_i_parse_device(text, out);
}
TVMFFI_I_PUT(device) {
  *out = tvmffi_device(value);
  return 0;
}
TVMFFI_I_VALUE_WORD(device, kTVMFFIDevice)

/* Accepts an opaque pointer. None becomes NULL. */
TVMFFI_I_LISTED_TYPE(ptr, void *, "void*", "void*")
TVMFFI_I_GET(ptr) {
  *out = any->type_index == kTVMFFIOpaquePtr ? any->v_ptr : NULL;
  return *out || any->type_index == kTVMFFIOpaquePtr ||
                 any->type_index == kTVMFFINone
             ? 0
             : TVMFFI_I_MISMATCH;
}
TVMFFI_I_PUT(ptr) {
  *out = tvmffi_i_pointer(kTVMFFIOpaquePtr, value);
  return 0;
}
TVMFFI_I_POINTER_WORD(ptr)

/* Accepts a tensor object or a pointer to a DLTensor, borrowed. As a result
   type, `tensor` means `tensor_object`. */
TVMFFI_I_LISTED_TYPE(tensor, DLTensor *, "DLTensor*", "DLTensor*")
TVMFFI_I_GET(tensor) {
  if (TVMFFI_I_UNLIKELY((any->type_index != kTVMFFITensor &&
                         any->type_index != kTVMFFIDLTensorPtr) ||
                        !any->v_ptr))
    return TVMFFI_I_MISMATCH;
  *out = any->type_index == kTVMFFITensor
             ? TVMFFITensorGetDLTensorPtr(any->v_obj)
             : (DLTensor *)any->v_ptr;
  return 0;
}
typedef DLTensor *tvmffi_type_optional_tensor;
TVMFFI_I_INLINE int tvmffi_i_get_optional_tensor(const TVMFFIAny *any,
                                                 DLTensor **out) {
  *out = NULL;
  return any->type_index == kTVMFFINone ? 0 : tvmffi_i_get_tensor(any, out);
}
TVMFFI_I_KEPT_ELEMENT(tensor, kTVMFFITensor)

/* Accepts any object, borrowed. The caller owns a returned object. A function
   that returns NULL fails with the pending error. */
TVMFFI_I_LISTED_TYPE(object, TVMFFIObject *, "ffi.Object", "ffi.Object")
TVMFFI_I_GET(object) {
  if (any->type_index < kTVMFFIStaticObjectBegin) return TVMFFI_I_MISMATCH;
  *out = any->v_obj;
  return *out ? 0 : TVMFFI_I_MISMATCH;
}
TVMFFI_I_PUT(object) {
  *out = tvmffi_obj(value);
  if (TVMFFI_I_UNLIKELY(!value)) return tvmffi_i_pending();
  if (tvmffi_i_here) tvmffi_i_scope_give(tvmffi_i_here, value);
  return 0;
}
TVMFFI_I_POINTER_WORD(object)

/* Returns 1 if a value points to memory that no object owns: a plain string,
   bytes or tensor, or a reference to be moved. */
TVMFFI_I_INLINE int tvmffi_i_is_view(const TVMFFIAny *any) {
  return any->type_index >= kTVMFFIDLTensorPtr &&
         any->type_index <= kTVMFFIObjectRValueRef;
}

/* Accepts any value. A parameter is a borrowed view. A returned Any becomes an
   owned value. */
TVMFFI_I_LISTED_TYPE(any, TVMFFIAny, "Any", "Any")
TVMFFI_I_GET(any) {
  *out = *any;
  return 0;
}
TVMFFI_I_PUT(any) {
  if (TVMFFI_I_UNLIKELY(value.type_index < 0))
    return tvmffi_i_settle(&value, out);
  if (tvmffi_i_here && tvmffi_i_is_view(&value))
    return TVMFFIAnyViewToOwnedAny(&value, out);
  if (tvmffi_i_here && value.type_index >= kTVMFFIStaticObjectBegin)
    return tvmffi_i_put_object(tvmffi_i_here, out, value.v_obj);
  *out = value;
  return 0;
}
TVMFFI_I_KEPT_WORD(any, -1)

/* Defines a parameter type T for objects of type `index` or a descendant
   type. */
#define TVMFFI_I_OBJECT_TYPE(T, name, schema, index)                         \
  TVMFFI_I_TYPE(T, TVMFFIObject *, name, schema)                             \
  TVMFFI_I_GET(T) {                                                          \
    if (any->type_index != (index) &&                                        \
        (any->type_index < kTVMFFIStaticObjectBegin ||                       \
         !tvmffi_i_derives(any->type_index, index)))                         \
      return TVMFFI_I_MISMATCH;                                              \
    *out = any->v_obj;                                                       \
    return *out ? 0 : TVMFFI_I_MISMATCH;                                     \
  }                                                                          \
  TVMFFI_I_PUT(T) { return tvmffi_i_put_object(tvmffi_i_here, out, value); } \
  TVMFFI_I_POINTER_WORD(T)
/* Accepts a function, borrowed. The caller owns a returned function. */
TVMFFI_I_OBJECT_TYPE(func, "ffi.Function", "ffi.Function", kTVMFFIFunction)
/* Accepts an error object, borrowed. The caller owns a returned error. */
TVMFFI_I_OBJECT_TYPE(error, "ffi.Error", "ffi.Error", kTVMFFIError)
/* Accepts a module, borrowed. The caller owns a returned module. */
TVMFFI_I_OBJECT_TYPE(module, "ffi.Module", "ffi.Module", kTVMFFIModule)
/* Accepts a Python object of a type unknown to FFI, borrowed. The caller owns a
   returned object. */
TVMFFI_I_OBJECT_TYPE(opaque, "ffi.OpaquePyObject", "ffi.OpaquePyObject",
                     kTVMFFIOpaquePyObject)
/* Accepts a tensor object (borrowed), but no pointer to a DLTensor. The caller
   owns a returned tensor. */
TVMFFI_I_OBJECT_TYPE(tensor_object, "ffi.Tensor", "ffi.Tensor", kTVMFFITensor)

TVMFFI_I_INLINE const tvmffi_i_compound *tvmffi_i_compound_of(
    const tvmffi_i_name *type) {
  return type->schema && type->schema[0] == '['
             ? (const tvmffi_i_compound *)(const void *)type
             : NULL;
}

TVMFFI_I_INLINE int tvmffi_i_is_optional(const tvmffi_i_name *type) {
  return tvmffi_i_compound_of(type) && type->schema[1] == 'O';
}
