/* ======== Calls: calls with plain C values ============== >>interface/call */
/* C interface: tvmffi_call(callee, out, arguments...) with plain C values. The
   callee is a function object, or the name of a global function, which is
   looked up at each call. `out` points to where the result goes, converted;
   NULL drops it; an object or Any is owned by the caller, or by the innermost
   scope. With C11 and C++ the compiler picks the constructors of the
   Anys; in C99 they are written: tvmffi_call(f, tvmffi_out_int64(&n),
   tvmffi_int(3)). Returns 0 or the error's code. */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/dlpack.h"
#include "../head/abi.h"
#include "value.h"
#include "error.h"
#include "scope.h"
#include "word.h"
#include "mismatch.h"
#include "function.h"

typedef struct {
  int (*take)(const TVMFFIAny *result, void *target); /* NULL: move the Any */
  const tvmffi_i_name *type;
  void *target; /* NULL: drop the result */
} tvmffi_out;

#define TVMFFI_I_OUT_TYPE(T, ctype)                                           \
  TVMFFI_I_INLINE int tvmffi_i_take_##T(const TVMFFIAny *any, void *target) { \
    tvmffi_type_##T value = TVMFFI_I_ZERO;                                    \
    int code = tvmffi_i_get_##T(any, &value);                                 \
    if (!code) *(ctype *)target = value;                                      \
    return code;                                                              \
  }                                                                           \
  TVMFFI_I_INLINE tvmffi_out tvmffi_out_##T(ctype *target) {                  \
    tvmffi_out out;                                                           \
    out.take = tvmffi_i_take_##T;                                             \
    out.type = &tvmffi_i_name_##T;                                            \
    out.target = target;                                                      \
    return out;                                                               \
  }
TVMFFI_I_OUT_TYPE(int8, int8_t)
TVMFFI_I_OUT_TYPE(int16, int16_t)
TVMFFI_I_OUT_TYPE(int32, int32_t)
TVMFFI_I_OUT_TYPE(int64, int64_t)
TVMFFI_I_OUT_TYPE(uint8, uint8_t)
TVMFFI_I_OUT_TYPE(uint16, uint16_t)
TVMFFI_I_OUT_TYPE(uint32, uint32_t)
TVMFFI_I_OUT_TYPE(uint64, uint64_t)
TVMFFI_I_OUT_TYPE(bool, tvmffi_type_bool)
#if !TVMFFI_NO_FLOAT
TVMFFI_I_OUT_TYPE(float32, float)
TVMFFI_I_OUT_TYPE(float64, double)
#endif
TVMFFI_I_OUT_TYPE(dtype, DLDataType)
TVMFFI_I_OUT_TYPE(device, DLDevice)
TVMFFI_I_OUT_TYPE(ptr, void *)

/* A text or bytes, copied into the caller's memory: `size` is its room before
   the call, and the bytes of the text behind it; a NUL follows them. */
typedef struct {
  char *data;
  size_t size;
} tvmffi_buffer;

TVMFFI_I_INLINE int tvmffi_i_take_buffer(const TVMFFIAny *any, void *target) {
  tvmffi_buffer *buffer = (tvmffi_buffer *)target;
  TVMFFIByteArray text = tvmffi_any_str(any);
  size_t i;
  if (!text.data) return TVMFFI_I_MISMATCH;
  if (text.size >= buffer->size)
    return TVMFFI_RAISE("ValueError",
                        "The text has %llu bytes and a NUL, the buffer room "
                        "for %llu",
                        (unsigned long long)text.size,
                        (unsigned long long)buffer->size);
  for (i = 0; i < text.size; ++i) buffer->data[i] = text.data[i];
  buffer->data[i] = 0;
  buffer->size = text.size;
  return 0;
}
TVMFFI_I_INLINE tvmffi_out tvmffi_out_buffer(tvmffi_buffer *target) {
  tvmffi_out out;
  out.take = tvmffi_i_take_buffer;
  out.type = &tvmffi_i_name_str;
  out.target = target;
  return out;
}

/* An object: *target is owned by the caller, or by the innermost scope. */
TVMFFI_I_INLINE int tvmffi_i_take_object(const TVMFFIAny *any, void *target) {
  TVMFFIObject *value = NULL;
  int code = tvmffi_i_get_object(any, &value);
  if (code) return code;
  tvmffi_retain(value);
  TVMFFI_TRY(tvmffi_i_keep(value));
  *(TVMFFIObject **)target = value;
  return 0;
}
TVMFFI_I_INLINE tvmffi_out tvmffi_out_object(TVMFFIObject **target) {
  tvmffi_out out;
  out.take = tvmffi_i_take_object;
  out.type = &tvmffi_i_name_object;
  out.target = target;
  return out;
}

/* Any value: *target is owned by the caller, or by the innermost scope; it must
   not own something before. */
TVMFFI_I_INLINE tvmffi_out tvmffi_out_any(TVMFFIAny *target) {
  tvmffi_out out;
  out.take = NULL;
  out.type = NULL;
  out.target = target;
  return out;
}
/* NULL drops the result; another pointer without a type is an error. */
TVMFFI_I_INLINE int tvmffi_i_take_nothing(const TVMFFIAny *any, void *target) {
  (void)any, (void)target;
  return TVMFFI_I_MISMATCH;
}
TVMFFI_I_INLINE tvmffi_out tvmffi_out_none(const void *null) {
  tvmffi_out out = tvmffi_out_any(NULL);
  if (!null) return out;
  out.take = tvmffi_i_take_nothing;
  out.type = &tvmffi_i_name_none;
  out.target = (void *)(uintptr_t)null;
  return out;
}

TVMFFI_I_COLD int tvmffi_i_bad_result(const tvmffi_out *out,
                                      const TVMFFIAny *any, int code) {
  if (code < 0) return code;
  if (code >= TVMFFI_I_RANGE) return tvmffi_i_bad_range(out->type, any, code);
  return TVMFFI_RAISE("TypeError", "Cannot convert from type `%s` to `%s`",
                      tvmffi_i_type_key(any->type_index), out->type->name);
}

/* What derives from a function is one. */
TVMFFI_I_COLD int tvmffi_i_other_callee(const TVMFFIAny *callee) {
  int32_t index = callee->type_index;
  if (index >= kTVMFFIStaticObjectBegin &&
      tvmffi_is_instance(index, kTVMFFIFunction))
    return 0;
  return TVMFFI_RAISE("TypeError", "Cannot call a value of type `%s`",
                      tvmffi_i_type_key(index));
}

/* Gives the function that `callee` means; *owned is what to release later. */
TVMFFI_I_INLINE int tvmffi_i_callee(const TVMFFIAny *callee,
                                    TVMFFIObjectHandle *owned,
                                    TVMFFIObjectHandle *function) {
  TVMFFIByteArray name;
  *function = callee->v_ptr;
  if (callee->type_index == kTVMFFIFunction ||
      (callee->type_index == kTVMFFIOpaquePtr && callee->v_ptr))
    return 0;
  if (tvmffi_i_get_str(callee, &name)) return tvmffi_i_other_callee(callee);
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&name, owned));
  *function = *owned;
  return *owned
             ? 0
             : TVMFFI_RAISE("ValueError", "Function %s not found", name.data);
}

/* What no int64_t holds, and so no Any: a call with it is an error. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_uint(uint64_t x) {
  TVMFFIAny any = tvmffi_int((int64_t)x);
  if (TVMFFI_I_UNLIKELY(x >> 63)) any.type_index = kTVMFFIAny;
  return any;
}

/* The text of a str that is passed on: a NUL stands behind it. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_text_of(TVMFFIByteArray x) {
  return tvmffi_str(x.data);
}
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_const_obj(const TVMFFIObject *x) {
  return tvmffi_obj((TVMFFIObjectHandle)(uintptr_t)x);
}

/* Puts an owned result (taken) where it goes. */
TVMFFI_I_INLINE int tvmffi_i_deliver(tvmffi_out out, TVMFFIAny *result) {
  int code = 0;
  if (!out.target) {
    tvmffi_any_release(result);
  } else if (!out.take) {
    code = tvmffi_i_keep_any(result);
    *(TVMFFIAny *)(out.target) = *result;
  } else {
    code = out.take(result, out.target);
    if (TVMFFI_I_UNLIKELY(code)) code = tvmffi_i_bad_result(&out, result, code);
    tvmffi_any_release(result);
  }
  return code;
}

/* Says whose result it is, if the function was called by its name. */
TVMFFI_I_COLD int tvmffi_i_not_delivered(const TVMFFIAny *callee, int code) {
  TVMFFIByteArray name = tvmffi_any_str(callee);
  return name.data ? tvmffi_error_context(code, "result of %s", name.data)
                   : code;
}

TVMFFI_I_INLINE int tvmffi_i_call(TVMFFIAny callee, tvmffi_out out,
                                  TVMFFIAny *args, int32_t n) {
  TVMFFIObjectHandle owned = NULL, function = NULL;
  TVMFFIAny result = tvmffi_none();
  int code = tvmffi_i_callee(&callee, &owned, &function);
  if (!code) code = tvmffi_i_call_away(function, args, n, &result);
  tvmffi_release(owned);
  if (code) return code;
  code = tvmffi_i_deliver(out, &result);
  return TVMFFI_I_UNLIKELY(code) ? tvmffi_i_not_delivered(&callee, code) : 0;
}

/* `wide`: among the arguments may be one of tvmffi_uint. */
TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_call_wide(
    TVMFFIAny callee, tvmffi_out out, TVMFFIAny *args, int32_t n, int wide) {
  if (wide) TVMFFI_TRY(tvmffi_i_check_args(args, n));
  return tvmffi_i_call(callee, out, args, n);
}

TVMFFI_I_INLINE TVMFFIAny tvmffi_i_any(TVMFFIAny any) { return any; }
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(tvmffi_out out) { return out; }

#if defined(__cplusplus)
extern "C++" { /* also where a user puts the include into extern "C" */
/* The overloads behind TVMFFI_ANY and `out`. */
#define TVMFFI_I_OVERLOAD(ctype, make) \
  TVMFFI_I_INLINE TVMFFIAny tvmffi_i_any(ctype x) { return make(x); }
#define TVMFFI_I_OVERLOAD_INT(ctype)                            \
  TVMFFI_I_INLINE TVMFFIAny tvmffi_i_any(ctype x) {             \
    return (ctype)(-1) < 1 ? tvmffi_int((int64_t)(x))           \
                           : tvmffi_uint((uint64_t)(x));        \
  }                                                             \
  TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(ctype *x) {           \
    return tvmffi_i_out_int(x, sizeof(ctype), (ctype)(-1) < 1); \
  }
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out_int(void *x, size_t size, bool sign) {
  tvmffi_out out = tvmffi_out_int64((int64_t *)(x));
  if (size == 1)
    out.take = sign ? tvmffi_i_take_int8 : tvmffi_i_take_uint8;
  else if (size == 2)
    out.take = sign ? tvmffi_i_take_int16 : tvmffi_i_take_uint16;
  else if (size == 4)
    out.take = sign ? tvmffi_i_take_int32 : tvmffi_i_take_uint32;
  else if (!sign)
    out.take = tvmffi_i_take_uint64;
  return out;
}
TVMFFI_I_OVERLOAD_INT(char)
TVMFFI_I_OVERLOAD_INT(signed char)
TVMFFI_I_OVERLOAD_INT(unsigned char)
TVMFFI_I_OVERLOAD_INT(short)
TVMFFI_I_OVERLOAD_INT(unsigned short)
TVMFFI_I_OVERLOAD_INT(int)
TVMFFI_I_OVERLOAD_INT(unsigned int)
TVMFFI_I_OVERLOAD_INT(long)
TVMFFI_I_OVERLOAD_INT(unsigned long)
TVMFFI_I_OVERLOAD_INT(long long)
TVMFFI_I_OVERLOAD_INT(unsigned long long)
TVMFFI_I_OVERLOAD(bool, tvmffi_bool)
#if !TVMFFI_NO_FLOAT
TVMFFI_I_OVERLOAD(float, tvmffi_float)
TVMFFI_I_OVERLOAD(double, tvmffi_float)
#endif
TVMFFI_I_OVERLOAD(const char *, tvmffi_str)
TVMFFI_I_OVERLOAD(const void *, tvmffi_ptr)
TVMFFI_I_OVERLOAD(const TVMFFIByteArray *, tvmffi_bytes)
TVMFFI_I_OVERLOAD(const DLTensor *, tvmffi_tensor)
TVMFFI_I_OVERLOAD(TVMFFIByteArray, tvmffi_i_text_of)
TVMFFI_I_OVERLOAD(TVMFFIObject *, tvmffi_obj)
TVMFFI_I_OVERLOAD(const TVMFFIObject *, tvmffi_i_const_obj)
TVMFFI_I_OVERLOAD(DLDevice, tvmffi_device)
TVMFFI_I_OVERLOAD(DLDataType, tvmffi_dtype)
#define TVMFFI_ANY(x) tvmffi_i_any(x)

TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(bool *x) { return tvmffi_out_bool(x); }
#if !TVMFFI_NO_FLOAT
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(float *x) {
  return tvmffi_out_float32(x);
}
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(double *x) {
  return tvmffi_out_float64(x);
}
#endif
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(DLDevice *x) {
  return tvmffi_out_device(x);
}
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(DLDataType *x) {
  return tvmffi_out_dtype(x);
}
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(void **x) { return tvmffi_out_ptr(x); }
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(TVMFFIObject **x) {
  return tvmffi_out_object(x);
}
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(TVMFFIAny *x) {
  return tvmffi_out_any(x);
}
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(tvmffi_buffer *x) {
  return tvmffi_out_buffer(x);
}
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_any(decltype(nullptr)) {
  return tvmffi_none();
}
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(decltype(nullptr)) {
  return tvmffi_out_none(nullptr);
}
/* NULL, which C++ may define as a plain zero. */
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(long) {
  return tvmffi_out_none(nullptr);
}

template <typename F, typename Out, typename... Args>
TVMFFI_I_MUST_CHECK static inline int tvmffi_call(F callee, Out out,
                                                  Args... args) {
  TVMFFIAny values[] = {TVMFFI_ANY(args)..., tvmffi_none()};
  return tvmffi_i_call_wide(TVMFFI_ANY(callee), tvmffi_i_out(out), values,
                            (int32_t)(sizeof...(Args)), 1);
}
} /* extern "C++" */

#else /* C */

#if TVMFFI_I_GENERIC
#if TVMFFI_NO_FLOAT
#define TVMFFI_I_FLOAT_ANY
#define TVMFFI_I_FLOAT_OUT
#else
#define TVMFFI_I_FLOAT_ANY float : tvmffi_float, double : tvmffi_float,
#define TVMFFI_I_FLOAT_OUT \
  float * : tvmffi_out_float32, double * : tvmffi_out_float64,
#endif
/* A view of one plain value. A void pointer is an opaque pointer, never an
   object: cast a handle to TVMFFIObject *. None is NULL; in C++, nullptr. */
#define TVMFFI_ANY(x)                           \
  _Generic((x),                                 \
      TVMFFI_I_FLOAT_ANY _Bool: tvmffi_bool,    \
      char: tvmffi_int,                         \
      signed char: tvmffi_int,                  \
      unsigned char: tvmffi_int,                \
      short: tvmffi_int,                        \
      unsigned short: tvmffi_int,               \
      int: tvmffi_int,                          \
      unsigned: tvmffi_int,                     \
      long: tvmffi_int,                         \
      unsigned long: tvmffi_uint,               \
      long long: tvmffi_int,                    \
      unsigned long long: tvmffi_uint,          \
      char *: tvmffi_str,                       \
      const char *: tvmffi_str,                 \
      void *: tvmffi_ptr,                       \
      const void *: tvmffi_ptr,                 \
      TVMFFIByteArray *: tvmffi_bytes,          \
      const TVMFFIByteArray *: tvmffi_bytes,    \
      DLTensor *: tvmffi_tensor,                \
      const DLTensor *: tvmffi_tensor,          \
      TVMFFIByteArray: tvmffi_i_text_of,        \
      TVMFFIObject *: tvmffi_obj,               \
      const TVMFFIObject *: tvmffi_i_const_obj, \
      DLDevice: tvmffi_device,                  \
      DLDataType: tvmffi_dtype,                 \
      TVMFFIAny: tvmffi_i_any)(x)
#define TVMFFI_I_WIDE(i, x)      \
  | _Generic((x),                \
          unsigned long: 1,      \
          unsigned long long: 1, \
          TVMFFIAny: 1,          \
          default: 0)
#define TVMFFI_I_LONG_OUT(type, of32, of64)                              \
  TVMFFI_I_INLINE tvmffi_out tvmffi_i_out_##of32(type *x) {              \
    return sizeof(type) == 4 ? tvmffi_out_##of32((of32##_t *)(void *)x)  \
                             : tvmffi_out_##of64((of64##_t *)(void *)x); \
  }
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out_int(int *x) { /* int32_t may be long */
  return tvmffi_out_int32((int32_t *)(void *)x);
}
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out_unsigned(unsigned *x) {
  return tvmffi_out_uint32((uint32_t *)(void *)x);
}
TVMFFI_I_LONG_OUT(long, int32, int64)
TVMFFI_I_LONG_OUT(unsigned long, uint32, uint64)
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out_int64(long long *x) {
  return tvmffi_out_int64((int64_t *)(void *)x);
}
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out_uint64(unsigned long long *x) {
  return tvmffi_out_uint64((uint64_t *)(void *)x);
}
#define TVMFFI_I_OUT(x)                            \
  _Generic((x),                                    \
      TVMFFI_I_FLOAT_OUT _Bool *: tvmffi_out_bool, \
      signed char *: tvmffi_out_int8,              \
      unsigned char *: tvmffi_out_uint8,           \
      short *: tvmffi_out_int16,                   \
      unsigned short *: tvmffi_out_uint16,         \
      int *: tvmffi_i_out_int,                     \
      unsigned *: tvmffi_i_out_unsigned,           \
      long *: tvmffi_i_out_int32,                  \
      unsigned long *: tvmffi_i_out_uint32,        \
      long long *: tvmffi_i_out_int64,             \
      unsigned long long *: tvmffi_i_out_uint64,   \
      DLDevice *: tvmffi_out_device,               \
      DLDataType *: tvmffi_out_dtype,              \
      void **: tvmffi_out_ptr,                     \
      TVMFFIObject **: tvmffi_out_object,          \
      TVMFFIAny *: tvmffi_out_any,                 \
      tvmffi_buffer *: tvmffi_out_buffer,          \
      void *: tvmffi_out_none,                     \
      tvmffi_out: tvmffi_i_out)(x)
#else
#define TVMFFI_ANY(x) tvmffi_i_any(x)
#define TVMFFI_I_OUT(x) tvmffi_i_out(x)
#define TVMFFI_I_WIDE(i, x) | 1
#endif

#define tvmffi_call(callee, ...) \
  TVMFFI_I_CALL(callee, TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__)
#define TVMFFI_I_CALL(callee, n, ...) TVMFFI_I_CALL_(callee, n, __VA_ARGS__)
#define TVMFFI_I_CALL_(callee, n, ...)                               \
  (TVMFFI_I_HERE tvmffi_i_call_wide(                                 \
      TVMFFI_ANY(callee), TVMFFI_I_OUT(TVMFFI_I_FIRST(__VA_ARGS__)), \
      (TVMFFIAny[n]){TVMFFI_I_REST(n)(TVMFFI_I_ITEM, __VA_ARGS__)    \
                         tvmffi_none()},                             \
      (n) - 1, 0 TVMFFI_I_REST(n)(TVMFFI_I_WIDE, __VA_ARGS__)))
#define TVMFFI_I_ITEM(i, x) TVMFFI_ANY(x),
#endif /* C */

/* -------- Values, and functions by name -------- */

/* Converts a value as tvmffi_call converts a result:
       TVMFFI_TRY(tvmffi_as("float16x2", &dtype));
       TVMFFI_TRY(tvmffi_as(item, &number));
   Returns 0, or -1 with a TypeError, or the error of the conversion. Into a
   TVMFFIAny it makes a copy that owns what it holds: that is the caller's, or
   the innermost scope's, as an object is. */
#define tvmffi_as(value, out) \
  (TVMFFI_I_HERE tvmffi_i_as(TVMFFI_ANY(value), TVMFFI_I_OUT(out)))

/* Owns a value, which may be one of tvmffi_uint. */
TVMFFI_I_INLINE int tvmffi_i_own_value(const TVMFFIAny *view, TVMFFIAny *out) {
  TVMFFI_TRY(tvmffi_i_check_value(*view));
  return TVMFFIAnyViewToOwnedAny(view, out);
}

TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_as(TVMFFIAny view,
                                                    tvmffi_out out) {
  TVMFFIAny owned = tvmffi_none();
  TVMFFI_TRY(tvmffi_i_own_value(&view, &owned));
  return tvmffi_i_deliver(out, &owned);
}

/* Tells whether two values are equal: texts, and bytes, by what they hold;
   objects if they are the same one; all others if their type and bits are. As
   in tvmffi_call, a TVMFFIByteArray is a text up to its first NUL, which it
   must have; bytes are handed over by their address. */
#define tvmffi_equal(a, b) tvmffi_i_equal(TVMFFI_ANY(a), TVMFFI_ANY(b))

TVMFFI_I_INLINE int tvmffi_i_holds_bytes(const TVMFFIAny *any) {
  return any->type_index == kTVMFFISmallBytes ||
         any->type_index == kTVMFFIBytes ||
         any->type_index == kTVMFFIByteArrayPtr;
}
TVMFFI_I_INLINE int tvmffi_i_equal(TVMFFIAny a, TVMFFIAny b) {
  TVMFFIByteArray x = tvmffi_any_str(&a), y = tvmffi_any_str(&b);
  size_t i = 0;
  if ((!x.data && !tvmffi_i_holds_bytes(&a)) ||
      (!y.data && !tvmffi_i_holds_bytes(&b)))
    return a.type_index == b.type_index && a.v_int64 == b.v_int64;
  if (x.size != y.size || tvmffi_i_holds_bytes(&a) != tvmffi_i_holds_bytes(&b))
    return 0;
  while (i < x.size && x.data[i] == y.data[i]) ++i;
  return i == x.size;
}

/* Gives the name of a data type, "float32x4" say. Returns 0, or -1 with an
   error; *out is owned by the caller, or by the innermost scope. */
#define tvmffi_dtype_name(dtype, out) \
  (TVMFFI_I_HERE tvmffi_i_get_dtype_name(dtype, out))

TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_get_dtype_name(
    DLDataType dtype, TVMFFIAny *out) {
  TVMFFI_TRY(TVMFFIDataTypeToString(&dtype, out));
  return tvmffi_i_keep_any(out);
}

/* Gets a function out of the global table; NULL, which is no error, if the name
   is not there. Returns 0, or -1 with an error; *out is owned by the caller, or
   by the innermost scope. */
#define tvmffi_global_get(name, out) \
  (TVMFFI_I_HERE tvmffi_i_global_get(name, out))

TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_global_get(
    const char *name, TVMFFIObject **out) {
  TVMFFIByteArray text = tvmffi_view(name);
  TVMFFIObjectHandle function = NULL;
  if (!out) return tvmffi_i_no_out("tvmffi_global_get");
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&text, &function));
  TVMFFI_TRY(tvmffi_i_keep((TVMFFIObject *)function));
  *out = (TVMFFIObject *)function;
  return 0;
}

/* Puts a function object, which stays the caller's, into the global table. A
   name that is taken is an error, unless `override` is nonzero. */
TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_global_set(
    const char *name, TVMFFIObject *function, int override) {
  TVMFFIByteArray text = tvmffi_view(name);
  if (!function)
    return TVMFFI_RAISE("ValueError", "tvmffi_global_set: NULL for `%s`",
                        text.data ? text.data : "");
  return TVMFFIFunctionSetGlobal(&text, function, override);
}
