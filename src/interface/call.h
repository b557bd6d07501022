/* ======== Calls: calls with plain C values ============== >>interface/call */
/* C interface: tvmffi_call(callee, out, arguments...) calls a function with
   plain C values. The callee is a function object, a TVMFFI_GLOBAL, or the name
   of a global function, which each call looks up. In C11 and C++ the compiler
   converts the values to TVMFFIAny. In C99 you write the conversions:
   tvmffi_call(f, tvmffi_out_int64(&n), tvmffi_int(3)). */

#pragma once

#include "../head.h"
#include "../base.h"
#include "list.h"
#include "scope.h"
#include "argument.h"
#include "global.h"
#include "function.h"

/* Describes where a result is stored and how it is converted. */
typedef struct {
  const tvmffi_i_word *word; /* NULL: the Any itself is moved to *target */
  tvmffi_i_getter *get;      /* converts to the word */
  void *target;              /* NULL: discard the result */
  int or_null;               /* 1: None stores NULL, for pointers to objects */
} tvmffi_out;

TVMFFI_I_INLINE tvmffi_out tvmffi_i_make_out(const tvmffi_i_word *word,
                                             tvmffi_i_getter *get,
                                             void *target) {
  const tvmffi_out out = {word, get, target, 0};
  return out;
}

/* tvmffi_out_int8 and so on return a tvmffi_out that converts a result to the C
   type of *target. If `target` is NULL, the result is discarded. They cannot
   fail, and the tvmffi_out owns nothing. */
#define TVMFFI_I_OUT_TYPE(T)                                                  \
  TVMFFI_I_INLINE int tvmffi_i_take_##T(const TVMFFIAny *tvmffi_any,          \
                                        void *tvmffi_target) {                \
    return tvmffi_i_from_any(&tvmffi_i_word_##T, tvmffi_any, tvmffi_target);  \
  }                                                                           \
  TVMFFI_I_INLINE tvmffi_out tvmffi_out_##T(tvmffi_type_##T *tvmffi_target) { \
    return tvmffi_i_make_out(&tvmffi_i_word_##T, tvmffi_i_take_##T,           \
                             tvmffi_target);                                  \
  }
TVMFFI_I_OUT_TYPE(int8)
TVMFFI_I_OUT_TYPE(int16)
TVMFFI_I_OUT_TYPE(int32)
TVMFFI_I_OUT_TYPE(int64)
TVMFFI_I_OUT_TYPE(uint8)
TVMFFI_I_OUT_TYPE(uint16)
TVMFFI_I_OUT_TYPE(uint32)
TVMFFI_I_OUT_TYPE(uint64)
TVMFFI_I_OUT_TYPE(bool)
#if !TVMFFI_NO_FLOAT
TVMFFI_I_OUT_TYPE(float32)
TVMFFI_I_OUT_TYPE(float64)
#endif
TVMFFI_I_OUT_TYPE(dtype)
TVMFFI_I_OUT_TYPE(device)
TVMFFI_I_OUT_TYPE(ptr)
/* tvmffi_out_object returns the tvmffi_out that stores an object in *target.
   Cannot fail. The scope owns the object. For a struct T, TVMFFI_TYPE defines
   tvmffi_out_T, which stores a pointer to T. */
TVMFFI_I_OUT_TYPE(object)

/* A buffer for a copy of a string or bytes and a NUL. The caller sets `data`
   and `capacity`, in bytes; a call sets `length`, without the NUL. */
typedef struct {
  char *data;
  size_t capacity, length;
} tvmffi_buffer;

TVMFFI_I_SMALL_ONCE(int, tvmffi_i_take_buffer,
                    (const TVMFFIAny *any, void *target)) {
  tvmffi_buffer *buffer = (tvmffi_buffer *)target;
  TVMFFIByteArray text = tvmffi_any_str(any);
  size_t i;
  if (!text.data) return TVMFFI_I_MISMATCH;
  if (text.size >= buffer->capacity)
    return tvmffi_i_raise("ValueError",
                          "The string needs %llu bytes with its NUL, but the "
                          "buffer has %llu",
                          (unsigned long long)text.size + 1,
                          (unsigned long long)buffer->capacity);
  for (i = 0; i < text.size; ++i) buffer->data[i] = text.data[i];
  buffer->data[i] = 0;
  buffer->length = text.size;
  return 0;
}

/* Returns the tvmffi_out that copies a result, a string or bytes, to *target.
   Cannot fail, and the tvmffi_out owns nothing. If the buffer is too small, the
   call raises a ValueError. */
TVMFFI_I_INLINE tvmffi_out tvmffi_out_buffer(tvmffi_buffer *target) {
  return tvmffi_i_make_out(&tvmffi_i_word_str, tvmffi_i_take_buffer, target);
}

/* Returns the tvmffi_out for a result of any type. Cannot fail. *target must
   own nothing before the call. Afterwards it is owned by the scope. */
TVMFFI_I_INLINE tvmffi_out tvmffi_out_any(TVMFFIAny *target) {
  return tvmffi_i_make_out(NULL, NULL, target);
}

TVMFFI_I_INLINE int tvmffi_i_take_nothing(const TVMFFIAny *any, void *target) {
  (void)any, (void)target;
  return TVMFFI_I_MISMATCH;
}

/* Returns a tvmffi_out that discards the result. Cannot fail, and the
   tvmffi_out owns nothing. `null` must be NULL: with another pointer,
   tvmffi_call raises a TypeError. */
TVMFFI_I_INLINE tvmffi_out tvmffi_out_none(const void *null) {
  return tvmffi_i_make_out(null ? &tvmffi_i_word_none : NULL,
                           tvmffi_i_take_nothing, (void *)(uintptr_t)null);
}

TVMFFI_I_INLINE tvmffi_out tvmffi_i_or_null(tvmffi_out out) {
  out.or_null = 1;
  return out;
}

/* Raises the error of a result that does not convert. But None stores NULL if
   tvmffi_or_null made `out`, and then 0 is returned. */
TVMFFI_I_ONCE(int, tvmffi_i_bad_result,
              (const tvmffi_out *out, const TVMFFIAny *any, int code)) {
  if (code < 0) return code;
  if (any->type_index == kTVMFFINone && out->target &&
      out->word->kind >= TVMFFI_I_OBJECT) {
    *(tvmffi_i_object_slot *)out->target = NULL;
    if (out->or_null) return 0;
    return tvmffi_i_raise("TypeError",
                          "Cannot convert from type `None` to `%s`: write "
                          "tvmffi_or_null(out) for a result that may be None",
                          out->word->name);
  }
  if (code >= TVMFFI_I_RANGE) return tvmffi_i_bad_range(out->word, any, code);
  return tvmffi_i_raise("TypeError", "Cannot convert from type `%s` to `%s`",
                        tvmffi_i_type_key(any->type_index), out->word->name);
}

/* Returns 0 if `callee` is an object of a type derived from ffi.Function.
   Raises a TypeError for other values. */
TVMFFI_I_ONCE(int, tvmffi_i_other_callee, (const TVMFFIAny *callee)) {
  int32_t index = callee->type_index;
  TVMFFI_TRY(tvmffi_i_check_made(callee, 1));
  if (index >= kTVMFFIStaticObjectBegin &&
      tvmffi_i_derives(index, kTVMFFIFunction))
    return 0;
  return tvmffi_i_raise("TypeError", "Cannot call a value of type `%s`",
                        tvmffi_i_type_key(index));
}

/* Sets *function to `callee`, or, if `callee` is a string, to the global
   function of that name. The caller must release *owned, which may be NULL,
   after the call. */
TVMFFI_I_INLINE int tvmffi_i_callee(const TVMFFIAny *callee,
                                    TVMFFIObjectHandle *owned,
                                    TVMFFIObjectHandle *function) {
  TVMFFIByteArray name;
  int code;
  *function = callee->v_ptr;
  if (callee->type_index == kTVMFFIFunction ||
      (callee->type_index == kTVMFFIOpaquePtr && callee->v_ptr))
    return 0;
  if (tvmffi_i_get_str(callee, &name)) return tvmffi_i_other_callee(callee);
  code = tvmffi_i_get_function(name, owned);
  *function = *owned;
  return code;
}

/* Returns a view of an unsigned integer. Cannot fail, and the view owns
   nothing. An Any cannot store a value above INT64_MAX: passing such a view to
   a function raises an OverflowError. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_uint(uint64_t x) {
  TVMFFIAny any = tvmffi_int((int64_t)x);
  if (TVMFFI_I_UNLIKELY(x >> 63)) any.type_index = kTVMFFIAny;
  return any;
}

/* Returns a view of a text that need not end with a NUL, such as a parameter of
   type str or a part of one; None if it has no data. A short text is stored in
   the view. */
TVMFFI_I_SMALL_ONCE(TVMFFIAny, tvmffi_i_text_of, (TVMFFIByteArray x)) {
  TVMFFIAny any = tvmffi_none();
  size_t i;
  if (!x.data) return any;
  if (x.size < sizeof(any.v_bytes)) {
    any.type_index = kTVMFFISmallStr;
    any.small_str_len = (uint32_t)x.size;
    for (i = 0; i < x.size; ++i) any.v_bytes[i] = x.data[i];
  } else {
    any.type_index = TVMFFI_I_SLICE;
    any.zero_padding = x.size < UINT32_MAX ? (uint32_t)x.size : UINT32_MAX;
    any.v_c_str = x.data;
  }
  return any;
}
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_const_obj(const void *x) {
  return tvmffi_obj((TVMFFIObjectHandle)(uintptr_t)x);
}

/* Takes ownership of *result, converts it and stores the value in *out->target.
   `to` becomes the owner of a stored object. */
TVMFFI_I_INLINE int tvmffi_i_deliver(tvmffi_i_owner to, const tvmffi_out *out,
                                     TVMFFIAny *result) {
  int code = 0;
  if (!out->target) {
    tvmffi_i_any_release(result);
  } else if (!out->word) {
    code = tvmffi_i_hand_any(to, result);
    *(TVMFFIAny *)(out->target) = *result;
  } else {
    code = out->get(result, out->target);
    if (TVMFFI_I_UNLIKELY(code)) {
      code = tvmffi_i_bad_result(out, result, code);
    } else if (out->word->kind >= TVMFFI_I_OBJECT) {
      code = tvmffi_i_hand(to, result->v_obj);
      if (code) *(tvmffi_i_object_slot *)out->target = NULL;
      return tvmffi_i_failed_at(to, code, 1);
    }
    tvmffi_i_any_release(result);
  }
  return tvmffi_i_failed_at(to, code, 1);
}

/* Prefixes the error with "result of NAME" if `callee` is a name, else with
   "result of the function". */
TVMFFI_I_ONCE(int, tvmffi_i_not_delivered,
              (const TVMFFIAny *callee, int code)) {
  TVMFFIByteArray name = tvmffi_any_str(callee);
  if (!name.data) name = tvmffi_byte_array("the function");
  return tvmffi_error_context(code, "result of %.*s", (int)name.size,
                              name.data);
}

/* Calls a function. The caller has checked the arguments. */
TVMFFI_I_ALWAYS_INLINE int tvmffi_i_call_now(tvmffi_i_owner to,
                                             const TVMFFIAny *callee,
                                             const tvmffi_out *out,
                                             TVMFFIAny *args, int32_t n) {
  TVMFFIObjectHandle owned = NULL, function = NULL;
  TVMFFIAny result = tvmffi_none();
  int code = tvmffi_i_callee(callee, &owned, &function);
  if (!code) code = TVMFFIFunctionCall(function, args, n, &result);
  tvmffi_i_release(owned);
  if (code) return tvmffi_i_failed_at(to, code, !function);
  code = tvmffi_i_deliver(to, out, &result);
  return TVMFFI_I_UNLIKELY(code) ? tvmffi_i_not_delivered(callee, code) : 0;
}

TVMFFI_I_ONCE(int, tvmffi_i_call_settled,
              (tvmffi_i_owner to, const TVMFFIAny *callee,
               const tvmffi_out *out, const TVMFFIAny *args, int32_t n)) {
  tvmffi_i_settled s;
  int code;
  TVMFFI_TRY(tvmffi_i_settled_open(&s, args, n));
  code = tvmffi_i_call_now(to, callee, out, s.args, n);
  tvmffi_i_settled_close(&s);
  return code;
}

/* The checks that an argument needs before a call depend on its C type. */
enum {
  TVMFFI_I_NULLABLE = 1, /* may be None */
  TVMFFI_I_WIDE = 2,     /* may have no form in the ABI */
  TVMFFI_I_ANY_FORM = TVMFFI_I_NULLABLE | TVMFFI_I_WIDE
};

/* Calls a function, unless a maker failed. `out` is a pointer because GCC
   copies a struct by wide loads that wait for its narrower stores. */
TVMFFI_I_SMALL_ONCE(int TVMFFI_I_MUST_CHECK, tvmffi_i_call_usual,
                    (tvmffi_i_owner to, const TVMFFIAny *callee,
                     const tvmffi_out *out, TVMFFIAny *args, int32_t n,
                     int nullable)) {
  int code = tvmffi_i_is_marked(to);
  if (!code && nullable && !tvmffi_i_are_plain(args, n))
    code = tvmffi_i_check_args(args, n);
  return TVMFFI_I_LIKELY(!code) ? tvmffi_i_call_now(to, callee, out, args, n)
                                : code;
}

/* The same with arguments that may have no form in the ABI. */
TVMFFI_I_SMALL_ONCE(int TVMFFI_I_MUST_CHECK, tvmffi_i_call_wide,
                    (tvmffi_i_owner to, const TVMFFIAny *callee,
                     const tvmffi_out *out, TVMFFIAny *args, int32_t n)) {
  int code = tvmffi_i_is_marked(to);
  if (!code && !tvmffi_i_are_plain(args, n))
    code = tvmffi_i_check_args(args, n);
  if (TVMFFI_I_LIKELY(!code))
    return tvmffi_i_call_now(to, callee, out, args, n);
  return code > 0 ? tvmffi_i_call_settled(to, callee, out, args, n) : code;
}

/* `forms` has the checks that the arguments need. It is a constant, so a
   program without wide arguments does not link the code for these. */
TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_call(tvmffi_i_owner to,
                                                      const TVMFFIAny *callee,
                                                      const tvmffi_out *out,
                                                      TVMFFIAny *args,
                                                      int32_t n, int forms) {
  return forms & TVMFFI_I_WIDE
             ? tvmffi_i_call_wide(to, callee, out, args, n)
             : tvmffi_i_call_usual(to, callee, out, args, n, forms);
}

TVMFFI_I_INLINE TVMFFIAny tvmffi_i_any(TVMFFIAny any) { return any; }
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(tvmffi_out out) { return out; }

#if TVMFFI_I_GENERIC
/* Returns the tvmffi_out for an integer variable of `size` bytes. A type such
   as `long` may differ from every intN_t. */
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out_int(void *x, size_t size, int sign) {
  if (size == 2)
    return sign ? tvmffi_out_int16((int16_t *)x)
                : tvmffi_out_uint16((uint16_t *)x);
  if (size == 4)
    return sign ? tvmffi_out_int32((int32_t *)x)
                : tvmffi_out_uint32((uint32_t *)x);
  return sign ? tvmffi_out_int64((int64_t *)x)
              : tvmffi_out_uint64((uint64_t *)x);
}
#define TVMFFI_I_INT_OUT(name, ctype)                           \
  TVMFFI_I_INLINE tvmffi_out tvmffi_i_out_##name(ctype *x) {    \
    return tvmffi_i_out_int(x, sizeof(ctype), (ctype)(-1) < 1); \
  }
TVMFFI_I_INT_OUT(plain, int)
TVMFFI_I_INT_OUT(unsigned, unsigned)
TVMFFI_I_INT_OUT(long, long)
TVMFFI_I_INT_OUT(ulong, unsigned long)
TVMFFI_I_INT_OUT(llong, long long)
TVMFFI_I_INT_OUT(ullong, unsigned long long)
#endif

#if TVMFFI_NO_FLOAT
#define TVMFFI_I_FLOAT_TYPES(F)
#define TVMFFI_I_FLOAT_OUT_TYPES(F)
#else
#define TVMFFI_I_FLOAT_TYPES(F) F(float, tvmffi_float) F(double, tvmffi_float)
#define TVMFFI_I_FLOAT_OUT_TYPES(F) \
  F(float, tvmffi_out_float32) F(double, tvmffi_out_float64)
#endif
/* The C types of plain values: each is F(type, function), and the function
   makes a view of a value of that type. */
#define TVMFFI_I_PLAIN_TYPES(F)               \
  TVMFFI_I_FLOAT_TYPES(F)                     \
  F(tvmffi_type_bool, tvmffi_bool)            \
  F(char, tvmffi_int)                         \
  F(signed char, tvmffi_int)                  \
  F(unsigned char, tvmffi_int)                \
  F(short, tvmffi_int)                        \
  F(unsigned short, tvmffi_int)               \
  F(int, tvmffi_int)                          \
  F(unsigned, tvmffi_int)                     \
  F(long, tvmffi_int)                         \
  F(unsigned long, tvmffi_uint)               \
  F(long long, tvmffi_int)                    \
  F(unsigned long long, tvmffi_uint)          \
  F(char *, tvmffi_str)                       \
  F(const char *, tvmffi_str)                 \
  F(void *, tvmffi_ptr)                       \
  F(const void *, tvmffi_ptr)                 \
  F(TVMFFIByteArray *, tvmffi_bytes)          \
  F(const TVMFFIByteArray *, tvmffi_bytes)    \
  F(DLTensor *, tvmffi_tensor)                \
  F(const DLTensor *, tvmffi_tensor)          \
  F(TVMFFIByteArray, tvmffi_i_text_of)        \
  F(TVMFFIObject *, tvmffi_obj)               \
  F(const TVMFFIObject *, tvmffi_i_const_obj) \
  F(tvmffi_global *, tvmffi_i_global_obj)     \
  F(DLDevice, tvmffi_device)                  \
  F(DLDataType, tvmffi_dtype)

/* The C types of results: each is F(type, function), and the function makes a
   tvmffi_out from the address of a variable of that type. */
#define TVMFFI_I_OUT_TYPES(F)                \
  TVMFFI_I_FLOAT_OUT_TYPES(F)                \
  F(tvmffi_type_bool, tvmffi_out_bool)       \
  F(signed char, tvmffi_out_int8)            \
  F(unsigned char, tvmffi_out_uint8)         \
  F(short, tvmffi_out_int16)                 \
  F(unsigned short, tvmffi_out_uint16)       \
  F(int, tvmffi_i_out_plain)                 \
  F(unsigned, tvmffi_i_out_unsigned)         \
  F(long, tvmffi_i_out_long)                 \
  F(unsigned long, tvmffi_i_out_ulong)       \
  F(long long, tvmffi_i_out_llong)           \
  F(unsigned long long, tvmffi_i_out_ullong) \
  F(DLDevice, tvmffi_out_device)             \
  F(DLDataType, tvmffi_out_dtype)            \
  F(void *, tvmffi_out_ptr)                  \
  F(TVMFFIObject *, tvmffi_out_object)       \
  F(TVMFFIAny, tvmffi_out_any)               \
  F(tvmffi_buffer, tvmffi_out_buffer)

#if defined(__cplusplus)
extern "C++" { /* valid even inside the user's extern "C" */
/* Define overloads of tvmffi_i_any and tvmffi_i_out, one for each C type. */
#define TVMFFI_I_OVERLOAD(ctype, make) \
  TVMFFI_I_INLINE TVMFFIAny tvmffi_i_any(ctype x) { return make(x); }
#define TVMFFI_I_OVERLOAD_OUT(ctype, make) \
  TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(ctype *x) { return make(x); }
TVMFFI_I_PLAIN_TYPES(TVMFFI_I_OVERLOAD)
TVMFFI_I_OUT_TYPES(TVMFFI_I_OVERLOAD_OUT)
TVMFFI_I_OVERLOAD(const tvmffi_global *, tvmffi_i_global_obj)
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(char *x) {
  return (char)(-1) < 1 ? tvmffi_out_int8((int8_t *)x)
                        : tvmffi_out_uint8((uint8_t *)x);
}
/* Accepts a pointer to a struct that begins with an object. */
template <typename tvmffi_type>
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_any(const tvmffi_type *x) {
  static_assert(tvmffi_i_is_a<TVMFFIObject, tvmffi_type>::value,
                "no_object__its_first_member_is_not_base");
  return tvmffi_i_const_obj(x);
}
/* Accepts std::string, std::string_view and other texts, borrowed. */
template <typename tvmffi_type>
TVMFFI_I_INLINE auto tvmffi_i_any(const tvmffi_type &x)
    -> decltype(tvmffi_i_text_of({x.data(), x.size()})) {
  return tvmffi_i_text_of({x.size() ? x.data() : "", x.size()});
}
/* Refuses functions and lambdas, which C++ would convert to true. */
template <typename tvmffi_result, typename... tvmffi_params>
TVMFFIAny tvmffi_i_function_as_any(tvmffi_result (*)(tvmffi_params...)) {
  static_assert(!sizeof(tvmffi_result (*)(tvmffi_params...)),
                "a_function_of_C_is_no_value__write_TVMFFI_FUNCTION_NEW");
  return tvmffi_none();
}
template <typename tvmffi_type>
TVMFFI_I_INLINE auto tvmffi_i_any(const tvmffi_type &x)
    -> decltype(tvmffi_i_function_as_any(+x)) {
  return tvmffi_i_function_as_any(+x);
}
#define TVMFFI_ANY(x) tvmffi_i_any(x)

TVMFFI_I_INLINE TVMFFIAny tvmffi_i_any(decltype(nullptr)) {
  return tvmffi_none();
}
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(decltype(nullptr)) {
  return tvmffi_out_none(nullptr);
}
/* Accepts NULL, which a C++ compiler may define as a plain 0. */
#if UINTPTR_MAX > 0xFFFFFFFFu
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(long) {
#else
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(int) {
#endif
  return tvmffi_out_none(nullptr);
}
template <typename tvmffi_type>
struct tvmffi_i_is_pointer {
  static constexpr bool value = false;
};
template <typename tvmffi_type>
struct tvmffi_i_is_pointer<tvmffi_type *> {
  static constexpr bool value = true;
};
template <typename tvmffi_type>
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(tvmffi_type) {
  static_assert(tvmffi_i_is_pointer<tvmffi_type>::value,
                "the_result_goes_before_the_arguments__pass_a_pointer_or_NULL");
  static_assert(!tvmffi_i_is_pointer<tvmffi_type>::value,
                "no_result_has_the_type_of_this_variable");
  return tvmffi_out_none(nullptr);
}
/* Accepts the address of a std::string, and copies the result to it. */
template <typename tvmffi_type>
static inline int tvmffi_i_take_string(const TVMFFIAny *any, void *target) {
  tvmffi_type *to = static_cast<tvmffi_type *>(target);
  TVMFFIByteArray text = tvmffi_any_str(any);
  int code = 0;
  if (!text.data) return TVMFFI_I_MISMATCH;
  TVMFFI_I_CATCH(code, __func__, (to->assign(text.data, text.size), 0))
  return code;
}
template <typename tvmffi_type>
TVMFFI_I_INLINE auto tvmffi_i_out(tvmffi_type *x)
    -> decltype(x->assign("", sizeof(*x)), tvmffi_out()) {
  return tvmffi_i_make_out(&tvmffi_i_word_str,
                           tvmffi_i_take_string<tvmffi_type>, x);
}
/* Accepts the address of a pointer to a struct that TVMFFI_TYPE describes.
   TVMFFI_TYPE defines tvmffi_i_out_of in the struct's namespace, where
   argument-dependent lookup finds it. */
template <typename tvmffi_type>
TVMFFI_I_INLINE tvmffi_out tvmffi_i_out(tvmffi_type **x) {
  return tvmffi_i_out_of(x);
}
#define TVMFFI_I_OUT_OF_STRUCT(T)                            \
  extern "C++" {                                             \
  TVMFFI_I_INLINE tvmffi_out tvmffi_i_out_of(T **tvmffi_x) { \
    return tvmffi_out_##T(tvmffi_x);                         \
  }                                                          \
  }
#define TVMFFI_I_OUT(x) tvmffi_i_out(x)

template <typename tvmffi_callee, typename tvmffi_target,
          typename... tvmffi_rest>
TVMFFI_I_MUST_CHECK static inline int tvmffi_i_call_plain(tvmffi_i_owner to,
                                                          tvmffi_callee callee,
                                                          tvmffi_target out,
                                                          tvmffi_rest... args) {
  static_assert(!(sizeof...(tvmffi_rest) > 32),
                "at_most_32_values_are_possible");
  TVMFFIAny values[] = {tvmffi_i_any(args)..., tvmffi_none()};
  const TVMFFIAny function = tvmffi_i_any(callee);
  const tvmffi_out target = tvmffi_i_out(out);
  return tvmffi_i_call(to, &function, &target, values,
                       (int32_t)(sizeof...(tvmffi_rest)), TVMFFI_I_ANY_FORM);
}
} /* extern "C++" */
#define tvmffi_call(callee, ...)                                         \
  tvmffi_i_call_plain(TVMFFI_I_OWNER_OF(TVMFFI_I_FIRST(__VA_ARGS__, ~)), \
                      callee, __VA_ARGS__)

#else /* C */
#define TVMFFI_I_OUT_OF_STRUCT(T)

#if TVMFFI_I_GENERIC
/* clang-format off */
#if TVMFFI_NO_FLOAT
#define TVMFFI_I_FLOAT_FORM
#else
#define TVMFFI_I_FLOAT_FORM float: 0, double: 0,
#endif
/* Returns a view of a plain C value. Cannot fail, and the view owns nothing. A
   void pointer becomes an opaque pointer, never an object: cast a handle to
   TVMFFIObject *. NULL (in C++: nullptr) becomes None. */
#define TVMFFI_ANY(x) \
  ((void)sizeof(char[sizeof(TVMFFI_I_STRUCT(x)->base) < \
                     sizeof(TVMFFIObject) ? -1 : 1]), TVMFFI_I_TO_VIEW(x))
/* Expands to the view of an argument, and a comma. Repeats the check of
   TVMFFI_ANY instead of using that macro, because the compiler's message of an
   error shows each nested macro. */
#define TVMFFI_I_ITEM(x, value) \
  ((void)sizeof(char[sizeof(TVMFFI_I_STRUCT(value)->base) < \
                     sizeof(TVMFFIObject) ? -1 : 1]), TVMFFI_I_TO_VIEW(value)),
#define TVMFFI_I_TO_VIEW(x) \
  _Generic((x), TVMFFI_I_PLAIN_TYPES(TVMFFI_I_MAKE) TVMFFIAny: tvmffi_i_any, \
           default: tvmffi_i_const_obj)(x)
#define TVMFFI_I_MAKE(ctype, make) ctype: make,

/* The pointer x to a struct that begins with an object or another such struct;
   for a plain value, a pointer to an example of such a struct. No code uses
   the pointer. For a pointer to another struct, the compiler's error says that
   the struct has no member `base`. */
#define TVMFFI_I_STRUCT(x) \
  _Generic((x), TVMFFI_I_PLAIN_TYPES(TVMFFI_I_EXAMPLE) \
           TVMFFIAny: &tvmffi_i_example, default: (x))
#define TVMFFI_I_EXAMPLE(ctype, make) ctype: &tvmffi_i_example,

/* clang-format on */

/* Expands to `| bits`: the bits TVMFFI_I_NULLABLE and TVMFFI_I_WIDE that the C
   type of `value` needs. */
#define TVMFFI_I_FORM(x, value)                                            \
  | _Generic((value), _Bool: 0, char: 0, signed char: 0, unsigned char: 0, \
        short: 0, unsigned short: 0, int: 0, unsigned: 0, long: 0,         \
        long long: 0, TVMFFI_I_FLOAT_FORM                                  \
        unsigned long: TVMFFI_I_WIDE, unsigned long long: TVMFFI_I_WIDE,   \
        TVMFFIByteArray: TVMFFI_I_ANY_FORM, TVMFFIAny: TVMFFI_I_ANY_FORM,  \
        default: TVMFFI_I_NULLABLE)
/* C cannot find the type of a struct from the address of its pointer. For this
   address, as for all others, the compiler's error shows the name of a function
   and of its parameter's type, which says what to write. */
#define TVMFFI_I_NO_OUT tvmffi_i_no_such_out__for_a_struct_T_write_tvmffi_out_T
typedef struct {
  char tvmffi_unused;
} tvmffi_i_no_such_out__for_a_struct_T_tvmffi_out_T__for_text_tvmffi_buffer;
/* Never defined. */
tvmffi_out TVMFFI_I_NO_OUT(
    tvmffi_i_no_such_out__for_a_struct_T_tvmffi_out_T__for_text_tvmffi_buffer);
/* clang-format off */
#define TVMFFI_I_OUT(x) \
  _Generic((x), TVMFFI_I_OUT_TYPES(TVMFFI_I_MAKE_OUT) \
           void *: tvmffi_out_none, tvmffi_out: tvmffi_i_out, \
           default: TVMFFI_I_NO_OUT)(x)
#define TVMFFI_I_MAKE_OUT(ctype, make) ctype *: make,
/* clang-format on */
#else
/* C99 cannot choose a constructor by type. For a plain value, the compiler's
   error shows these type names, which say what to write. */
typedef TVMFFIAny tvmffi_i_plain_values_need_C11__in_C99_write_tvmffi_int;
typedef tvmffi_out tvmffi_i_plain_results_need_C11__in_C99_write_tvmffi_out;
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_plain_values_need_C11(
    tvmffi_i_plain_values_need_C11__in_C99_write_tvmffi_int any) {
  return any;
}
TVMFFI_I_INLINE tvmffi_out tvmffi_i_plain_results_need_C11(
    tvmffi_i_plain_results_need_C11__in_C99_write_tvmffi_out out) {
  return out;
}
#define TVMFFI_ANY(x) tvmffi_i_plain_values_need_C11(x)
#define TVMFFI_I_ITEM(x, value) TVMFFI_ANY(value),
#define TVMFFI_I_OUT(x) tvmffi_i_plain_results_need_C11(x)
#define TVMFFI_I_FORM(x, value) | TVMFFI_I_ANY_FORM
#endif

/* Calls a function: tvmffi_call(callee, out, arguments...). The callee is a
   function object (borrowed) or the name of a global function. `out` points to
   the variable for the result, which is converted to the variable's type; NULL
   discards the result. An object or Any stored there is owned by the scope. Up
   to 32 arguments are plain values that TVMFFI_ANY accepts, borrowed during the
   call. In C99, the arguments are views made by constructors. Returns 0 or the
   error's code: the function's own error, a ValueError for an unknown name, or
   a TypeError for a result of another type. If a maker failed (the scope is
   marked, or its NULL is an argument), calls nothing and returns -1: the
   maker's error stays. */
#define tvmffi_call(callee, ...)                                               \
  tvmffi_i_call(                                                               \
      TVMFFI_I_OWNER_OF(TVMFFI_I_FIRST(__VA_ARGS__, ~)),                       \
      (const TVMFFIAny[1]){TVMFFI_ANY(callee)},                                \
      (const tvmffi_out[1]){TVMFFI_I_OUT(TVMFFI_I_FIRST(__VA_ARGS__, ~))},     \
      (TVMFFIAny[TVMFFI_I_ARRAY_SIZE(TVMFFI_I_COUNT(__VA_ARGS__))]){           \
          TVMFFI_I_EACH(TVMFFI_I_COUNT(__VA_ARGS__))(                          \
              TVMFFI_I_ITEM, __VA_ARGS__, ~) tvmffi_none()},                   \
      TVMFFI_I_COUNT(__VA_ARGS__) - 1,                                         \
      0 TVMFFI_I_EACH(TVMFFI_I_COUNT(__VA_ARGS__))(TVMFFI_I_FORM, __VA_ARGS__, \
                                                   ~))
#endif /* C */

/* -------- Values, and functions by name -------- */

/* Returns a tvmffi_out like `out`, which is the address of a pointer to an
   object, or tvmffi_out_T for a struct T. But None, a result of an optional(T),
   stores NULL there instead of raising a TypeError:
       tvmffi_call("ir.parse", tvmffi_or_null(tvmffi_out_Program(&p)), text)
   Cannot fail. The scope owns the object. */
#define tvmffi_or_null(out) tvmffi_i_or_null(TVMFFI_I_OUT(out))

/* Converts a value to the type of *out, by the conversions of tvmffi_call:
       TVMFFI_TRY(tvmffi_as("float16x2", &dtype));
       TVMFFI_TRY(tvmffi_as(item, &number));
   Returns 0, or -1 with a TypeError or another error. If *out is a TVMFFIAny, a
   copy of the value is stored. An object or Any is owned by the scope. */
#define tvmffi_as(value, out) \
  tvmffi_i_as(TVMFFI_I_OWNER_OF(out), TVMFFI_ANY(value), TVMFFI_I_OUT(out))

/* Makes an owned value of a view, also of one that the ABI cannot express. */
TVMFFI_I_INLINE int tvmffi_i_own_value(const TVMFFIAny *view, TVMFFIAny *out) {
  return TVMFFI_I_UNLIKELY(view->type_index < 0)
             ? tvmffi_i_settle(view, out)
             : TVMFFIAnyViewToOwnedAny(view, out);
}

TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_as(tvmffi_i_owner to,
                                                    TVMFFIAny view,
                                                    tvmffi_out out) {
  TVMFFIAny owned = tvmffi_none();
  TVMFFI_TRY(tvmffi_i_is_marked(to));
  TVMFFI_TRY(tvmffi_i_check_made(&view, 1));
  TVMFFI_TRY(tvmffi_i_own_value(&view, &owned));
  return tvmffi_i_deliver(to, &out, &owned);
}

/* Returns 1 if two values are equal, else 0. Strings and bytes are compared by
   content, objects by identity, other values by type and bits. An argument of
   type TVMFFIByteArray counts as a string, one of type TVMFFIByteArray * as
   bytes. */
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

/* Sets *out to the name of a data type, such as "float32x4". Returns 0, or -1
   with an error. *out is owned by the scope. */
#define tvmffi_dtype_to_str(dtype, out) \
  tvmffi_i_dtype_to_str(TVMFFI_I_OWNER, dtype, out)

TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_dtype_to_str(tvmffi_i_owner to,
                                                              DLDataType dtype,
                                                              TVMFFIAny *out) {
  TVMFFI_TRY(tvmffi_i_is_marked(to));
  TVMFFI_TRY(TVMFFIDataTypeToString(&dtype, out));
  return tvmffi_i_hand_any(to, out);
}

/* Looks up a global function by a name, which is any string that tvmffi_call
   accepts (in C99 made by tvmffi_str). Returns 0, or -1 with an error and *out
   set to NULL. *out is owned by the scope. For an absent name,
   tvmffi_global_get raises a ValueError; tvmffi_global_find sets *out to NULL
   and returns 0. */
#define tvmffi_global_get(name, out) \
  tvmffi_i_global_get(TVMFFI_I_OWNER, TVMFFI_ANY(name), out, 1)
#define tvmffi_global_find(name, out) \
  tvmffi_i_global_get(TVMFFI_I_OWNER, TVMFFI_ANY(name), out, 0)

TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_global_get(tvmffi_i_owner to,
                                                            TVMFFIAny name,
                                                            TVMFFIObject **out,
                                                            int must_exist) {
  const char *caller = must_exist ? "tvmffi_global_get" : "tvmffi_global_find";
  TVMFFIByteArray text;
  TVMFFIObjectHandle function = NULL;
  if (!out) return tvmffi_i_no_out(caller);
  *out = NULL;
  TVMFFI_TRY(tvmffi_i_is_marked(to));
  TVMFFI_TRY(tvmffi_i_check_made(&name, 1));
  if (tvmffi_i_get_str(&name, &text))
    return tvmffi_i_raise("TypeError", "%s: expected a name, but got `%s`",
                          caller, tvmffi_i_type_key(name.type_index));
  TVMFFI_TRY(tvmffi_i_failed_at(
      to, must_exist ? tvmffi_i_get_function(text, &function)
                     : TVMFFIFunctionGetGlobal(&text, &function),
      1));
  return tvmffi_i_hand_out(to, function, out);
}

/* Registers a function object (borrowed) as a global function. The name is
   copied. Returns 0, or -1 with an error: a RuntimeError if the name is already
   registered. */
#define tvmffi_register_object(name, function) \
  tvmffi_i_set_global_object(name, TVMFFI_I_HANDLE(function), 0)
/* Registers a function object (borrowed) as a global function, replacing any
   function of that name. The name is copied. Returns 0, or -1 with an error. */
#define tvmffi_override_object(name, function) \
  tvmffi_i_set_global_object(name, TVMFFI_I_HANDLE(function), 1)

TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_set_global_object(
    const char *name, TVMFFIObjectHandle function, int override) {
  TVMFFIByteArray text = tvmffi_byte_array(name);
  if (function) return TVMFFIFunctionSetGlobal(&text, function, override);
  TVMFFI_TRY(tvmffi_i_pending());
  return tvmffi_i_raise("ValueError", "tvmffi_%s_object: NULL for `%s`",
                        override ? "override" : "register", name ? name : "");
}
