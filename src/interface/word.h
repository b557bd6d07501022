/* ======== Words ============================================ >>interface/word
   words for types, and their conversions */
/* C interface: one macro before an ordinary function body makes a packed
   function of it, with checks of argument count and types, conversions and
   error texts as the typed functions of the C++ headers have them. A type is
   a word T for which stand: tvmffi_type_T, the C type; tvmffi_i_get_T and
   tvmffi_i_put_T, from and to an Any; tvmffi_i_name_T, its names. An unknown
   word is the compiler's error: unknown type name 'tvmffi_type_...'. */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/dlpack.h"
#include "../head/abi.h"
#include "value.h"
#include "error.h"

typedef struct {
  const char *name;   /* in error texts */
  const char *schema; /* in type schemas: a word, or JSON from its brace on */
} tvmffi_i_name;

/* A type made of others, array(T) say. Its schema begins with '['. A cast is 0
   for a value that stands as it is, TVMFFI_I_CONVERTED with *to owned, or what
   a getter answers. Its depth is that of the type, whatever the value. */
typedef int tvmffi_i_cast(const tvmffi_i_name *type, const TVMFFIAny *from,
                          TVMFFIAny *to);
typedef struct {
  tvmffi_i_name base;
  const tvmffi_i_name *of[2];
  tvmffi_i_cast *cast[2];
  int32_t fits[2]; /* elements of this type index need no cast; or -1 */
} tvmffi_i_compound;

/* What TVMFFI_FUNC defines as tvmffi_func_NAME. types[0] is the result's. */
typedef struct {
  const char *name;
  TVMFFISafeCallType call;
  int32_t num_args; /* -1: a packed function, which takes what it finds */
  const tvmffi_i_name *const *types;
} tvmffi_func;

/* A getter's value: 0, an error's code, or one of these. From TVMFFI_I_RANGE on
   it says which integer type has no room for the value. */
enum {
  TVMFFI_I_MISMATCH = 1,
  TVMFFI_I_CONVERTED = 2,
  TVMFFI_I_UNSIGNED = 16,
  TVMFFI_I_RANGE = 32
};
#define TVMFFI_I_RANGE_OF(ctype)         \
  (TVMFFI_I_RANGE | (int)sizeof(ctype) | \
   ((ctype)(-1) < 1 ? 0 : (int)TVMFFI_I_UNSIGNED))

#define TVMFFI_I_TYPE(T, ctype, name, schema)            \
  typedef ctype tvmffi_type_##T;                         \
  typedef int tvmffi_i_put_type_##T(TVMFFIAny *, ctype); \
  TVMFFI_I_UNUSED static const tvmffi_i_name tvmffi_i_name_##T = {name, schema};
#define TVMFFI_I_GET(T) TVMFFI_I_GETTER(T, any, out)
#define TVMFFI_I_PUT(T) TVMFFI_I_PUTTER_OF(T, out, value)
#define TVMFFI_I_GETTER(T, from, to)                          \
  TVMFFI_I_INLINE int tvmffi_i_get_##T(const TVMFFIAny *from, \
                                       tvmffi_type_##T *to)
#define TVMFFI_I_PUTTER_OF(T, to, from) \
  TVMFFI_I_INLINE int tvmffi_i_put_##T(TVMFFIAny *to, tvmffi_type_##T from)

/* Names in what expands in the user's text begin with tvmffi_, as a name there
   may be a macro of the user's. */

/* What makes optional(T) and elements of type T of a word: one line behind its
   getter and putter. The first is for a pointer, where NULL is none; the second
   for a value, which gets a struct; the third for a value that is never
   converted. */
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
      TVMFFIAny *tvmffi_to, tvmffi_type_optional_##T tvmffi_value) {       \
    *tvmffi_to = tvmffi_none();                                            \
    return tvmffi_value ? (tvmffi_i_put_##T)(tvmffi_to, tvmffi_value) : 0; \
  }                                                                        \
  TVMFFI_I_KEPT_ELEMENT(T, -1)
#define TVMFFI_I_VALUE_WORD(T, index)                       \
  TVMFFI_I_OPTIONAL_STRUCT(T)                               \
  TVMFFI_I_CAST(T, index) {                                 \
    tvmffi_type_##T value;                                  \
    int code = (tvmffi_i_get_##T)(tvmffi_from, &value);     \
    (void)tvmffi_name;                                      \
    if (!code) code = tvmffi_i_put_##T(tvmffi_to, value);   \
    if (code) return code;                                  \
    return tvmffi_to->type_index == tvmffi_from->type_index \
               ? 0                                          \
               : TVMFFI_I_CONVERTED;                        \
  }
#define TVMFFI_I_KEPT_WORD(T, index) \
  TVMFFI_I_OPTIONAL_STRUCT(T)        \
  TVMFFI_I_KEPT_ELEMENT(T, index)
#define TVMFFI_I_OPTIONAL_STRUCT(T)                                  \
  typedef struct {                                                   \
    tvmffi_type_##T value;                                           \
    int has_value;                                                   \
  } tvmffi_type_optional_##T;                                        \
  TVMFFI_I_INLINE tvmffi_type_optional_##T tvmffi_no_##T(void) {     \
    tvmffi_type_optional_##T no = TVMFFI_I_ZERO;                     \
    return no;                                                       \
  }                                                                  \
  TVMFFI_I_INLINE tvmffi_type_optional_##T tvmffi_some_##T(          \
      tvmffi_type_##T value) {                                       \
    tvmffi_type_optional_##T some;                                   \
    some.value = value;                                              \
    some.has_value = 1;                                              \
    return some;                                                     \
  }                                                                  \
  TVMFFI_I_INLINE int tvmffi_i_get_optional_##T(                     \
      const TVMFFIAny *any, tvmffi_type_optional_##T *out) {         \
    out->has_value = any->type_index != kTVMFFINone;                 \
    return out->has_value ? tvmffi_i_get_##T(any, &out->value) : 0;  \
  }                                                                  \
  TVMFFI_I_INLINE int tvmffi_i_put_optional_##T(                     \
      TVMFFIAny *out, tvmffi_type_optional_##T value) {              \
    *out = tvmffi_none();                                            \
    return value.has_value ? tvmffi_i_put_##T(out, value.value) : 0; \
  }
#define TVMFFI_I_KEPT_ELEMENT(T, index)                    \
  TVMFFI_I_CAST(T, index) {                                \
    tvmffi_type_##T tvmffi_value;                          \
    (void)tvmffi_name, (void)tvmffi_to;                    \
    return (tvmffi_i_get_##T)(tvmffi_from, &tvmffi_value); \
  }
#define TVMFFI_I_CAST(T, index)                                           \
  enum { tvmffi_i_fits_##T = index };                                     \
  typedef int tvmffi_i_put_type_optional_##T(TVMFFIAny *,                 \
                                             tvmffi_type_optional_##T);   \
  TVMFFI_I_INLINE int tvmffi_i_item_##T(const tvmffi_i_name *tvmffi_name, \
                                        const TVMFFIAny *tvmffi_from,     \
                                        TVMFFIAny *tvmffi_to);            \
  TVMFFI_I_ELEMENT(T)                                                     \
  TVMFFI_I_INLINE int tvmffi_i_item_##T(const tvmffi_i_name *tvmffi_name, \
                                        const TVMFFIAny *tvmffi_from,     \
                                        TVMFFIAny *tvmffi_to)

#if defined(__cplusplus)
#define TVMFFI_I_ZERO \
  {                   \
  }
#define TVMFFI_I_ELEMENT(T)                                              \
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
#define TVMFFI_I_ZERO {0}
#define TVMFFI_I_ELEMENT(T)
#endif

#define TVMFFI_I_IS_INT(any) \
  ((any)->type_index == kTVMFFIInt || (any)->type_index == kTVMFFIBool)

#define TVMFFI_I_INT_TYPE(T)                                             \
  TVMFFI_I_TYPE(T, T##_t, "int", "int")                                  \
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
TVMFFI_I_INT_TYPE(int8)
TVMFFI_I_INT_TYPE(int16)
TVMFFI_I_INT_TYPE(int32)
TVMFFI_I_INT_TYPE(int64)
TVMFFI_I_INT_TYPE(uint8)
TVMFFI_I_INT_TYPE(uint16)
TVMFFI_I_INT_TYPE(uint32)

TVMFFI_I_TYPE(uint64, uint64_t, "int", "int")
TVMFFI_I_GET(uint64) {
  if (!TVMFFI_I_IS_INT(any)) return TVMFFI_I_MISMATCH;
  *out = (uint64_t)any->v_int64;
  return any->v_int64 >= 0 ? 0 : TVMFFI_I_RANGE_OF(uint64_t);
}
TVMFFI_I_COLD int tvmffi_i_too_large(uint64_t value) {
  return TVMFFI_RAISE("OverflowError",
                      "Integer value %llu is too large to fit in int64_t. "
                      "Consider explicitly casting to int64_t first if this "
                      "is intentional.",
                      (unsigned long long)value);
}

/* Raises for what tvmffi_uint makes of a number too large for an Any. */
TVMFFI_I_INLINE int tvmffi_i_check_value(TVMFFIAny any) {
  return TVMFFI_I_UNLIKELY(any.type_index == kTVMFFIAny)
             ? tvmffi_i_too_large((uint64_t)any.v_int64)
             : 0;
}
TVMFFI_I_INLINE int tvmffi_i_check_args(const TVMFFIAny *args, int32_t n) {
  int32_t i;
  for (i = 0; i < n; ++i) TVMFFI_TRY(tvmffi_i_check_value(args[i]));
  return 0;
}

TVMFFI_I_PUT(uint64) {
  if (value >> 63) return tvmffi_i_too_large(value);
  *out = tvmffi_int((int64_t)value);
  return 0;
}
TVMFFI_I_VALUE_WORD(uint64, -1)

/* With <stdbool.h> of C99 the word `bool` arrives here as `_Bool`,
   also where this header makes it. */
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
#if defined(__cplusplus)
TVMFFI_I_TYPE(bool, bool, "bool", "bool")
#else
TVMFFI_I_TYPE(bool, _Bool, "bool", "bool")
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
  TVMFFI_I_TYPE(T, ctype, "float", "float")               \
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
TVMFFI_I_FLOAT_TYPE(float32, float)
TVMFFI_I_FLOAT_TYPE(float64, double)
#endif

/* No result, so nothing is put but the None of it. */
typedef int tvmffi_i_put_type_none(TVMFFIAny *);
static const tvmffi_i_name tvmffi_i_name_none = {"void", "None"};
TVMFFI_I_INLINE int tvmffi_i_put_none(TVMFFIAny *out) {
  *out = tvmffi_none();
  return 0;
}

/* Any value: borrowed as a parameter, owned by the caller as a result. */
TVMFFI_I_TYPE(any, TVMFFIAny, "Any", "Any")
TVMFFI_I_GET(any) {
  *out = *any;
  return 0;
}
TVMFFI_I_PUT(any) {
  TVMFFI_TRY(tvmffi_i_check_value(value));
  *out = value;
  return 0;
}
TVMFFI_I_KEPT_WORD(any, -1)

/* Tells whether a small string or bytes claims more bytes than it can hold. */
TVMFFI_I_INLINE int tvmffi_i_is_false_text(const TVMFFIAny *any) {
  return (any->type_index == kTVMFFISmallStr ||
          any->type_index == kTVMFFISmallBytes) &&
         any->small_str_len >= sizeof(any->v_bytes);
}

TVMFFI_I_TYPE(str, TVMFFIByteArray, "str", "ffi.String")
TVMFFI_I_GET(str) {
  if (any->type_index == kTVMFFISmallStr) {
    *out = tvmffi_i_small_bytes(any);
    return tvmffi_i_is_false_text(any) ? TVMFFI_I_MISMATCH : 0;
  }
  if (TVMFFI_I_UNLIKELY(
          (any->type_index != kTVMFFIStr && any->type_index != kTVMFFIRawStr) ||
          !any->v_ptr))
    return TVMFFI_I_MISMATCH;
  if (TVMFFI_I_LIKELY(any->type_index == kTVMFFIStr))
    *out = *TVMFFIBytesGetByteArrayPtr(any->v_obj);
  else
    *out = tvmffi_view(any->v_c_str);
  return 0;
}
TVMFFI_I_PUT(str) { return TVMFFIStringFromByteArray(&value, out); }
TVMFFI_I_KEPT_WORD(str, kTVMFFISmallStr)

TVMFFI_I_TYPE(bytes, TVMFFIByteArray, "bytes", "ffi.Bytes")
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

TVMFFI_I_TYPE(dtype, DLDataType, "DataType", "DataType")
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

/* Parses "cuda", "cuda:1" and the like, up to the first space. */
TVMFFI_I_COLD int tvmffi_i_parse_device(TVMFFIByteArray s, DLDevice *out) {
  static const struct {
    const char *name;
    int32_t type;
  } devices[] = {{"cpu", 1},      {"cuda", 2},  {"opencl", 4},  {"vulkan", 7},
                 {"metal", 8},    {"mps", 8},   {"vpi", 9},     {"rocm", 10},
                 {"ext_dev", 12}, {"wgpu", 15}, {"webgpu", 15}, {"hexagon", 16},
                 {"maia", 17},    {"trn", 18}};
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
  for (k = 0; k < sizeof(devices) / sizeof(devices[0]); ++k) {
    for (i = 0; i < n && s.data[i] == devices[k].name[i]; ++i) {
    }
    if (i == n && n && !devices[k].name[n]) {
      out->device_type = (DLDeviceType)(devices[k].type);
      out->device_id = (int32_t)id;
      return 0;
    }
  }
  return TVMFFI_I_MISMATCH;
}

TVMFFI_I_TYPE(device, DLDevice, "Device", "Device")
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

TVMFFI_I_TYPE(ptr, void *, "void*", "void*")
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

/* A tensor is borrowed; as a result it is a tensor_object. */
TVMFFI_I_TYPE(tensor, DLTensor *, "DLTensor*", "DLTensor*")
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

TVMFFI_I_TYPE(object, TVMFFIObject *, "ffi.Object", "ffi.Object")
TVMFFI_I_GET(object) {
  if (any->type_index < kTVMFFIStaticObjectBegin) return TVMFFI_I_MISMATCH;
  *out = any->v_obj;
  return *out ? 0 : TVMFFI_I_MISMATCH;
}
TVMFFI_I_PUT(object) {
  *out = tvmffi_obj(value);
  return TVMFFI_I_LIKELY(value != NULL) ? 0 : tvmffi_i_pending();
}
TVMFFI_I_POINTER_WORD(object)

/* An object of the type `index`, or of one that derives from it. */
#define TVMFFI_I_OBJECT_TYPE(T, name, schema, index)          \
  TVMFFI_I_TYPE(T, TVMFFIObject *, name, schema)              \
  TVMFFI_I_GET(T) {                                           \
    if (any->type_index != (index) &&                         \
        (any->type_index < kTVMFFIStaticObjectBegin ||        \
         !tvmffi_is_instance(any->type_index, index)))        \
      return TVMFFI_I_MISMATCH;                               \
    *out = any->v_obj;                                        \
    return *out ? 0 : TVMFFI_I_MISMATCH;                      \
  }                                                           \
  TVMFFI_I_PUT(T) { return tvmffi_i_put_object(out, value); } \
  TVMFFI_I_POINTER_WORD(T)
TVMFFI_I_OBJECT_TYPE(func, "ffi.Function", "ffi.Function", kTVMFFIFunction)
TVMFFI_I_OBJECT_TYPE(error, "ffi.Error", "ffi.Error", kTVMFFIError)
TVMFFI_I_OBJECT_TYPE(module, "ffi.Module", "ffi.Module", kTVMFFIModule)
TVMFFI_I_OBJECT_TYPE(opaque, "ffi.OpaquePyObject", "ffi.OpaquePyObject",
                     kTVMFFIOpaquePyObject)
/* A tensor that owns its memory. */
TVMFFI_I_OBJECT_TYPE(tensor_object, "ffi.Tensor", "ffi.Tensor", kTVMFFITensor)
