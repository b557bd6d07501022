/* ======== Typed functions ============================== >>interface/function
   definition, export, registration */
/* Counts 1 to 17 arguments. */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "value.h"
#include "error.h"
#include "scope.h"
#include "word.h"
#include "compound.h"
#include "convert.h"
#include "mismatch.h"
#include "schema.h"

#define TVMFFI_I_COUNT(...)                                                   \
  TVMFFI_I_COUNT_(__VA_ARGS__, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, \
                  4, 3, 2, 1, ~)
#define TVMFFI_I_COUNT_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, \
                        ...)                                                  \
  r
#define TVMFFI_I_FIRST(...) TVMFFI_I_FIRST_(__VA_ARGS__, ~)
#define TVMFFI_I_FIRST_(a, ...) a

/* TVMFFI_I_REST(n)(F, r, a, b, ...) gives F(0, a) F(1, b) ... */
#define TVMFFI_I_REST(n) TVMFFI_I_CAT(TVMFFI_I_REST, n)
#define TVMFFI_I_REST1(F, r)
#define TVMFFI_I_REST2(F, r, a) F(0, a)
#define TVMFFI_I_REST3(F, r, a, b) F(0, a) F(1, b)
#define TVMFFI_I_REST4(F, r, a, b, c) TVMFFI_I_REST3(F, r, a, b) F(2, c)
#define TVMFFI_I_REST5(F, r, a, b, c, d) TVMFFI_I_REST4(F, r, a, b, c) F(3, d)
#define TVMFFI_I_REST6(F, r, a, b, c, d, e) \
  TVMFFI_I_REST5(F, r, a, b, c, d) F(4, e)
#define TVMFFI_I_REST7(F, r, a, b, c, d, e, f) \
  TVMFFI_I_REST6(F, r, a, b, c, d, e) F(5, f)
#define TVMFFI_I_REST8(F, r, a, b, c, d, e, f, g) \
  TVMFFI_I_REST7(F, r, a, b, c, d, e, f) F(6, g)
#define TVMFFI_I_REST9(F, r, a, b, c, d, e, f, g, h) \
  TVMFFI_I_REST8(F, r, a, b, c, d, e, f, g) F(7, h)
#define TVMFFI_I_REST10(F, r, a, b, c, d, e, f, g, h, i) \
  TVMFFI_I_REST9(F, r, a, b, c, d, e, f, g, h) F(8, i)
#define TVMFFI_I_REST11(F, r, a, b, c, d, e, f, g, h, i, j) \
  TVMFFI_I_REST10(F, r, a, b, c, d, e, f, g, h, i) F(9, j)
#define TVMFFI_I_REST12(F, r, a, b, c, d, e, f, g, h, i, j, k) \
  TVMFFI_I_REST11(F, r, a, b, c, d, e, f, g, h, i, j) F(10, k)
#define TVMFFI_I_REST13(F, r, a, b, c, d, e, f, g, h, i, j, k, l) \
  TVMFFI_I_REST12(F, r, a, b, c, d, e, f, g, h, i, j, k) F(11, l)
#define TVMFFI_I_REST14(F, r, a, b, c, d, e, f, g, h, i, j, k, l, m) \
  TVMFFI_I_REST13(F, r, a, b, c, d, e, f, g, h, i, j, k, l) F(12, m)
#define TVMFFI_I_REST15(F, r, a, b, c, d, e, f, g, h, i, j, k, l, m, n) \
  TVMFFI_I_REST14(F, r, a, b, c, d, e, f, g, h, i, j, k, l, m) F(13, n)
#define TVMFFI_I_REST16(F, r, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o) \
  TVMFFI_I_REST15(F, r, a, b, c, d, e, f, g, h, i, j, k, l, m, n) F(14, o)
#define TVMFFI_I_REST17(F, r, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) \
  TVMFFI_I_REST16(F, r, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o) F(15, p)

/* clang-format off */
/* Parts of a definition, for parameter `i` with the pair p = (type, name). */
#define TVMFFI_I_T(T, name) T
#define TVMFFI_I_PARAM(i, p) , TVMFFI_I_PARAM_ p
#define TVMFFI_I_PARAM_(T, name) tvmffi_type_##T name
#define TVMFFI_I_TYPE_NAME(i, p) , &TVMFFI_I_CAT(tvmffi_i_name_, TVMFFI_I_T p)
#define TVMFFI_I_LOCAL(i, p) TVMFFI_I_LOCAL_(i, TVMFFI_I_T p)
#define TVMFFI_I_LOCAL_(i, T)                         \
  TVMFFI_I_CAT(tvmffi_type_, T) tvmffi_arg##i = TVMFFI_I_ZERO; \
  TVMFFI_I_CAT(TVMFFI_I_OWN_, TVMFFI_I_IS_HELD(T))(i)
#define TVMFFI_I_OWN_0(i)
#define TVMFFI_I_OWN_1(i) TVMFFIObject *tvmffi_own##i = NULL;
/* All are read, so that of several wrong ones the last is told: so it is in
   upstream's library, as GCC evaluates arguments from the last on. */
#define TVMFFI_I_LOAD_ARG(i, p) TVMFFI_I_LOAD_ARG_(i, TVMFFI_I_T p)
#define TVMFFI_I_LOAD_ARG_(i, T)                                       \
  tvmffi_code = TVMFFI_I_CAT(TVMFFI_I_LOAD_, TVMFFI_I_IS_HELD(T))(i, T); \
  if (TVMFFI_I_UNLIKELY(tvmffi_code)) {                                \
    tvmffi_bad = i;                                                    \
    tvmffi_bad_code = tvmffi_code;                                     \
  }
#define TVMFFI_I_LOAD_0(i, T) \
  tvmffi_i_get_##T(tvmffi_args + i, &tvmffi_arg##i)
#define TVMFFI_I_LOAD_1(i, T)                                       \
  tvmffi_i_load_container(tvmffi_this, i, tvmffi_i_kind_##T, \
                tvmffi_args + i, &tvmffi_arg##i, &tvmffi_own##i)
#define TVMFFI_I_DROP(i, p) TVMFFI_I_DROP_(i, TVMFFI_I_T p)
#define TVMFFI_I_DROP_(i, T) \
  TVMFFI_I_CAT(TVMFFI_I_DROP_, TVMFFI_I_IS_HELD(T))(i)
#define TVMFFI_I_DROP_0(i)
#define TVMFFI_I_DROP_1(i) \
  if (TVMFFI_I_UNLIKELY(tvmffi_own##i)) tvmffi_release(tvmffi_own##i);
#define TVMFFI_I_PASS(i, p) , tvmffi_arg##i

/* Something of the result's type: tvmffi_i_put_, tvmffi_i_name_, ... */
#define TVMFFI_I_RESULT(prefix, ...) \
  TVMFFI_I_CAT(prefix, TVMFFI_I_RESULT_WORD(TVMFFI_I_FIRST(__VA_ARGS__)))
#define TVMFFI_I_PUTTER(prefix, ...) \
  TVMFFI_I_PUTTER_(prefix, TVMFFI_I_RESULT_WORD(TVMFFI_I_FIRST(__VA_ARGS__)))
#define TVMFFI_I_PUTTER_(prefix, T) \
  TVMFFI_I_CAT(TVMFFI_I_PUTTER_, TVMFFI_I_IS_HELD(T))(prefix, T)
#define TVMFFI_I_PUTTER_0(prefix, T) prefix##T
#define TVMFFI_I_PUTTER_1(prefix, T) prefix##object
/* `self` is empty, or the parameter for the state and a comma. */
#define TVMFFI_I_BODY(body, n, ...) TVMFFI_I_BODY_OF(, body, n, __VA_ARGS__)
#define TVMFFI_I_BODY_OF(self, body, n, ...)                             \
  static int body(self TVMFFI_I_PUTTER(tvmffi_i_put_type_, __VA_ARGS__)  \
                  *tvmffi_put TVMFFI_I_UNUSED,                           \
                  TVMFFI_I_UNUSED TVMFFIAny *tvmffi_result               \
                  TVMFFI_I_REST(n)(TVMFFI_I_PARAM, __VA_ARGS__))
#define TVMFFI_I_CALL_HEAD(name)                              \
  int name(void *tvmffi_handle, const TVMFFIAny *tvmffi_args, \
           int32_t tvmffi_count, TVMFFIAny *tvmffi_into)

/* The whole of a typed function but its body: the prototype of the body, the
   description, and the packed call that checks, converts and calls. */
#define TVMFFI_I_DEFINE(linkage, call, text, func, body, n, ...)            \
  TVMFFI_I_BODY(body, n, __VA_ARGS__);                                      \
  TVMFFI_I_DEFINE_CALL(linkage, call, text, func, body, , n, __VA_ARGS__)
#define TVMFFI_I_DEFINE_CALL(linkage, call, text, func, body, self, n, ...) \
  linkage TVMFFI_I_CALL_HEAD(call);                                         \
  static const tvmffi_i_name *const func##_types[] = {                      \
      &TVMFFI_I_RESULT(tvmffi_i_name_, __VA_ARGS__)                         \
      TVMFFI_I_REST(n)(TVMFFI_I_TYPE_NAME, __VA_ARGS__)};                   \
  static tvmffi_func func = {text, call, (n) - 1, func##_types};            \
  linkage TVMFFI_I_CALL_HEAD(call) {                                        \
    const tvmffi_func *tvmffi_this = &func;                                 \
    int tvmffi_code, tvmffi_bad = 0, tvmffi_bad_code = 0;                   \
    TVMFFI_I_REST(n)(TVMFFI_I_LOCAL, __VA_ARGS__)                           \
    (void)tvmffi_handle;                                                    \
    (void)tvmffi_args;                                                      \
    if (TVMFFI_I_UNLIKELY(                                                  \
            tvmffi_count != (n) - 1 ||                                      \
            tvmffi_into->type_index >= kTVMFFIStaticObjectBegin))           \
      return tvmffi_i_refuse(tvmffi_this, tvmffi_args, tvmffi_count,        \
                             tvmffi_into, 0, 0);                            \
    TVMFFI_I_REST(n)(TVMFFI_I_LOAD_ARG, __VA_ARGS__)                        \
    tvmffi_code =                                                           \
        TVMFFI_I_UNLIKELY(tvmffi_bad_code)                                  \
            ? tvmffi_i_refuse(tvmffi_this, tvmffi_args, tvmffi_count,       \
                              tvmffi_into, tvmffi_bad, tvmffi_bad_code)     \
            : TVMFFI_I_CHECKED(                                             \
                  tvmffi_this,                                              \
                  body(self TVMFFI_I_PUTTER(tvmffi_i_put_, __VA_ARGS__),    \
                       tvmffi_into                                          \
                       TVMFFI_I_REST(n)(TVMFFI_I_PASS, __VA_ARGS__)));      \
    TVMFFI_I_REST(n)(TVMFFI_I_DROP, __VA_ARGS__)                            \
    return tvmffi_code;                                                     \
  }
#define TVMFFI_I_DEFINE_(linkage, call, text, func, body, n, ...) \
  TVMFFI_I_DEFINE(linkage, call, text, func, body, n, __VA_ARGS__)
/* clang-format on */

/* Begins a typed function: TVMFFI_FUNC(name, result, (type, parameter)...) and
   an ordinary body in braces, which returns by TVMFFI_RETURN, or a code. Types:
     none (result only), any, bool, int8 ... int64, uint8 ... uint64, float32,
     float64, str, bytes, dtype, device, ptr, tensor (as a result it is a
     tensor_object), tensor_object, object, func, error, module, opaque, shape,
     array, list, map, dict; array(T), list(T), map(K, V), dict(K, V),
     optional(T); up to 16 parameters.
   An optional(T) is NULL or the pointer where T is one; else a struct of value
   and has_value, made by tvmffi_some_T and tvmffi_no_T.
   Parameters are borrowed, and valid during the call. An object of any type, or
   an any, that is returned becomes the caller's; a str or bytes is copied. The
   elements of a container that is returned are not looked at. `name` is only
   pasted: it defines tvmffi_func_NAME, not NAME. */
#define TVMFFI_FUNC(name, ...)                                            \
  TVMFFI_I_DEFINE_(static, tvmffi_call_##name, #name, tvmffi_func_##name, \
                   tvmffi_body_##name, TVMFFI_I_COUNT(__VA_ARGS__),       \
                   __VA_ARGS__)                                           \
  TVMFFI_I_BODY(tvmffi_body_##name, TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__)

/* The same, exported under the symbols that `load_module` looks for. */
#define TVMFFI_EXPORT(name, ...)                                           \
  TVMFFI_I_DEFINE_(TVMFFI_I_EXTERN_C TVM_FFI_DLL_EXPORT, __tvm_ffi_##name, \
                   #name, tvmffi_func_##name, tvmffi_body_##name,          \
                   TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__)               \
  TVMFFI_I_EXTERN_C TVM_FFI_DLL_EXPORT TVMFFI_I_CALL_HEAD(                 \
      __tvm_ffi__metadata_##name);                                         \
  TVMFFI_I_EXTERN_C TVM_FFI_DLL_EXPORT TVMFFI_I_CALL_HEAD(                 \
      __tvm_ffi__metadata_##name) {                                        \
    (void)tvmffi_handle, (void)tvmffi_args, (void)tvmffi_count;            \
    return tvmffi_i_return_metadata(&tvmffi_func_##name, tvmffi_into);     \
  }                                                                        \
  TVMFFI_I_BODY(tvmffi_body_##name, TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__)

/* Begins a typed function with a state: the body sees `self`, a State *, and
   tvmffi_closure makes as many function objects of it as there are states. */
#define TVMFFI_CLOSURE(name, State, ...) \
  TVMFFI_I_CLOSURE(name, State, TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__)
#define TVMFFI_I_CLOSURE(name, State, n, ...) \
  TVMFFI_I_CLOSURE_(name, State, n, __VA_ARGS__)
/* clang-format off */
#define TVMFFI_I_CLOSURE_(name, State, n, ...)                                 \
  TVMFFI_I_BODY_OF(TVMFFI_I_SELF(State), tvmffi_body_##name, n, __VA_ARGS__);  \
  TVMFFI_I_DEFINE_CALL(static, tvmffi_call_##name, #name, tvmffi_func_##name,  \
                       tvmffi_body_##name, TVMFFI_I_STATE(State), n,           \
                       __VA_ARGS__)                                            \
  TVMFFI_I_INLINE int tvmffi_closure_##name(                                   \
      State *self, void (*tvmffi_deleter)(void *),                             \
      TVMFFIObject **tvmffi_into) {                                            \
    return tvmffi_i_make_closure(&tvmffi_func_##name, self, tvmffi_deleter,    \
                                 tvmffi_into);                                 \
  }                                                                            \
  TVMFFI_I_BODY_OF(TVMFFI_I_SELF(State), tvmffi_body_##name, n, __VA_ARGS__)
#define TVMFFI_I_SELF(State) TVMFFI_I_UNUSED State *self TVMFFI_I_COMMA()
#define TVMFFI_I_STATE(State) \
  TVMFFI_I_AS(State *, tvmffi_handle) TVMFFI_I_COMMA()
/* clang-format on */

/* Makes a function object of a closure and a state; *out is owned by the
   caller, or by the innermost scope. The state is taken: the deleter (NULL for
   none) is called with it when the function ends, or at once if it cannot be
   made. */
#define tvmffi_closure(name, state, deleter, out) \
  (TVMFFI_I_HERE tvmffi_closure_##name(state, deleter, out))

TVMFFI_I_COLD int tvmffi_i_no_out(const char *function) {
  return TVMFFI_RAISE("ValueError", "%s: NULL for the result", function);
}

TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_make_closure(
    const tvmffi_func *f, void *self, void (*deleter)(void *),
    TVMFFIObject **out) {
  TVMFFIObjectHandle handle = NULL;
  int code = out ? TVMFFIFunctionCreate(self, f->call, deleter, &handle)
                 : tvmffi_i_no_out("tvmffi_closure");
  if (code && deleter) deleter(self);
  if (!code) code = tvmffi_i_keep((TVMFFIObject *)handle);
  if (!code) *out = (TVMFFIObject *)handle;
  return code;
}

/* Gives an exported function a text for its users, before or behind it, which
   Python shows as module.get_function_doc("name"). */
#define TVMFFI_DOC(name, text)                                             \
  TVMFFI_I_EXTERN_C TVM_FFI_DLL_EXPORT TVMFFI_I_CALL_HEAD(                 \
      __tvm_ffi__doc_##name);                                              \
  TVMFFI_I_EXTERN_C TVM_FFI_DLL_EXPORT TVMFFI_I_CALL_HEAD(                 \
      __tvm_ffi__doc_##name) {                                             \
    static const TVMFFIByteArray tvmffi_doc = {"" text, sizeof(text) - 1}; \
    (void)tvmffi_handle, (void)tvmffi_args, (void)tvmffi_count;            \
    return TVMFFIStringFromByteArray(&tvmffi_doc, tvmffi_into);            \
  }

/* Returns a value, or nothing, from the body of a typed function. */
#define TVMFFI_RETURN(...)              \
  return TVMFFI_I_CAT(TVMFFI_I_RETURN_, \
                      TVMFFI_I_IS_EMPTY(__VA_ARGS__))(__VA_ARGS__)
#define TVMFFI_I_RETURN_0(...) tvmffi_put(tvmffi_result, __VA_ARGS__)
#define TVMFFI_I_RETURN_1(...) tvmffi_put(tvmffi_result)

/* 1 for no argument, else 0: the test of J. Gustedt, "Detect empty macro
   arguments" (2010). A comma appears behind an empty list only once a macro
   name before it and parentheses after it make a call. */
#define TVMFFI_I_HAS_COMMA(...)                                                \
  TVMFFI_I_COUNT_(__VA_ARGS__, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, \
                  0, ~)
#define TVMFFI_I_COMMA(...) ,
#define TVMFFI_I_IS_EMPTY(...)                                       \
  TVMFFI_I_IS_EMPTY_(TVMFFI_I_HAS_COMMA(__VA_ARGS__),                \
                     TVMFFI_I_HAS_COMMA(TVMFFI_I_COMMA __VA_ARGS__), \
                     TVMFFI_I_HAS_COMMA(__VA_ARGS__()),              \
                     TVMFFI_I_HAS_COMMA(TVMFFI_I_COMMA __VA_ARGS__()))
#define TVMFFI_I_IS_EMPTY_(a, b, c, d) TVMFFI_I_IS_EMPTY__(a, b, c, d)
#define TVMFFI_I_IS_EMPTY__(a, b, c, d) \
  TVMFFI_I_HAS_COMMA(TVMFFI_I_EMPTY_##a##b##c##d)
#define TVMFFI_I_EMPTY_0001 ,

/* Makes a function object of a typed function; *out is owned by the caller, or
   by the innermost scope. */
#define tvmffi_function(name, out) \
  (TVMFFI_I_HERE tvmffi_i_kept_function(&tvmffi_func_##name, out))

TVMFFI_I_INLINE int tvmffi_i_function(const tvmffi_func *f,
                                      TVMFFIObject **out) {
  TVMFFIObjectHandle handle = NULL;
  TVMFFI_TRY(TVMFFIFunctionCreate(NULL, f->call, NULL, &handle));
  *out = (TVMFFIObject *)handle;
  return 0;
}

TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_kept_function(
    const tvmffi_func *f, TVMFFIObject **out) {
  TVMFFIObject *function = NULL;
  if (!out) return tvmffi_i_no_out("tvmffi_function");
  TVMFFI_TRY(tvmffi_i_function(f, &function));
  TVMFFI_TRY(tvmffi_i_keep(function));
  *out = function;
  return 0;
}

/* Puts a typed function into the global table under `text`, with its type
   schema. The text must live as long as the function: error messages use it.
   A name that is taken is an error, unless `override` is nonzero. */
#define tvmffi_register(text, name) \
  tvmffi_i_register(text, &tvmffi_func_##name, NULL, 0)
#define tvmffi_register_as(text, name, override) \
  tvmffi_i_register(text, &tvmffi_func_##name, NULL, override)
/* The same, with a text for users of the function, which is copied. */
#define tvmffi_register_doc(text, name, doc) \
  tvmffi_i_register(text, &tvmffi_func_##name, doc, 0)

TVMFFI_I_MUST_CHECK TVMFFI_I_COLD int tvmffi_i_register(const char *text,
                                                        tvmffi_func *f,
                                                        const char *doc,
                                                        int override) {
#if !TVMFFI_NO_TYPES
  char buffer[TVMFFI_I_METADATA];
#endif
  TVMFFIMethodInfo info = TVMFFI_I_ZERO;
  TVMFFIObject *object = NULL;
  const char *name = f->name;
  int code;
  if (!text)
    return TVMFFI_RAISE("ValueError",
                        "tvmffi_register: NULL for the name of %s", name);
  info.name = tvmffi_view(text);
  info.doc = tvmffi_view(doc);
#if !TVMFFI_NO_TYPES
  info.metadata = tvmffi_i_metadata(f, buffer);
  if (!info.metadata.data) return tvmffi_i_bad_metadata(f);
#endif
  TVMFFI_TRY(tvmffi_i_function(f, &object));
  info.flags = kTVMFFIFieldFlagBitMaskIsStaticMethod;
  info.method = tvmffi_obj(object);
  TVMFFI_I_STORE(&f->name, text); /* before others can call it */
  code = TVMFFIFunctionSetGlobalFromMethodInfo(&info, override);
  if (code) TVMFFI_I_STORE(&f->name, name);
  tvmffi_release(object);
  return code;
}
