/* ======== Typed functions ============================== >>interface/function
   definition, export, registration */

#pragma once

#include "../head.h"
#include "../base.h"
#include "list.h"
#include "scope.h"
#include "compound.h"
#include "convert.h"
#include "schema.h"
#include "expect.h"

/* clang-format off */
/* Each macro expands one parameter p = (type, name) to code. TVMFFI_I_EACH
   applies the macro to all parameters. */
#define TVMFFI_I_PARAM(x, p) , TVMFFI_I_PARAM_ p
#define TVMFFI_I_PARAM_(T, ...) tvmffi_type_##T TVMFFI_I_FIRST(__VA_ARGS__, ~)
#define TVMFFI_I_NAME(x, p) TVMFFI_I_NAME_ p
#define TVMFFI_I_NAME_(T, name) #name "\0"
#define TVMFFI_I_WORD_OF(x, p) , &TVMFFI_I_WORD_OF_ p
#define TVMFFI_I_WORD_OF_(T, name) TVMFFI_I_CAT(tvmffi_i_word_, T)
#define TVMFFI_I_DESCRIBED_OF(x, p) , &TVMFFI_I_DESCRIBED_OF_ p
#define TVMFFI_I_DESCRIBED_OF_(T, name) TVMFFI_I_DESCRIBED_WORD(T)
#define TVMFFI_I_INDEX_OF(x, p) TVMFFI_I_INDEX_OF_ p
#define TVMFFI_I_INDEX_OF_(T, ...) \
  TVMFFI_I_CAT(tvmffi_at_, TVMFFI_I_FIRST(__VA_ARGS__, ~)),
#define TVMFFI_I_LOCAL(x, p) TVMFFI_I_LOCAL_ p
#define TVMFFI_I_LOCAL_(T, name) \
  TVMFFI_I_CAT(tvmffi_type_, T) tvmffi_arg_##name = TVMFFI_I_ZERO;
/* Converts an argument. If several arguments are wrong, the error names the
   last, as in upstream's library: GCC evaluates arguments from last to first.
   TVMFFI_I_BRANCH keeps GCC from replacing the branch by conditional moves,
   three of which each call would execute for each argument. If no parameter is
   a container, a compiler sees that tvmffi_converts is 0 and leaves out
   tvmffi_i_call_converted. */
#define TVMFFI_I_LOAD_ARG(kind, p) \
  tvmffi_code = TVMFFI_I_LOAD_##kind(TVMFFI_I_LOAD_ARG_ p); \
  TVMFFI_I_NOTE_CODE p
#define TVMFFI_I_LOAD_ARG_(T, name) \
  tvmffi_words[1 + tvmffi_at_##name], tvmffi_args + tvmffi_at_##name, \
      &tvmffi_arg_##name
#define TVMFFI_I_NOTE_CODE(T, name) \
  if (TVMFFI_I_UNLIKELY(tvmffi_code)) { \
    TVMFFI_I_BRANCH; \
    tvmffi_bad = tvmffi_at_##name; \
    tvmffi_bad_code = tvmffi_code; \
    tvmffi_converts = tvmffi_i_takes_container(tvmffi_words[1 + tvmffi_bad]); \
  }
#if TVMFFI_I_GNU
#define TVMFFI_I_BRANCH __asm__ volatile("")
#else
#define TVMFFI_I_BRANCH (void)0
#endif
#define TVMFFI_I_PASS(x, p) , TVMFFI_I_PASS_ p
#define TVMFFI_I_PASS_(T, name) tvmffi_arg_##name
#define TVMFFI_I_PASS_VALUE(x, p) , TVMFFI_I_PASS_VALUE_ p
#define TVMFFI_I_PASS_VALUE_(T, name) \
  *TVMFFI_I_AS(const TVMFFI_I_CAT(tvmffi_type_, T) *, \
               TVMFFI_I_AS(const void *, \
                           tvmffi_values + tvmffi_at_##name + \
                               0 * sizeof(char[sizeof(TVMFFI_I_CAT( \
                                                   tvmffi_type_, T)) <= \
                                                       sizeof(tvmffi_i_value) \
                                                   ? 1 \
                                                   : -1])))
/* If the parameter's type is tensor("..."), the three macros below expand to a
   comma, an initializer of tvmffi_i_expected, and the converted argument.
   Otherwise they expand to nothing. */
#define TVMFFI_I_TENSOR_TEXT_COMMA(x, p) TVMFFI_I_TENSOR_TEXT_COMMA_ p
#define TVMFFI_I_TENSOR_TEXT_COMMA_(T, ...) \
  TVMFFI_I_IF_TEXT(T, TVMFFI_I_COMMA, TVMFFI_I_SKIP)()
#define TVMFFI_I_EXPECTED_ARG(x, p) TVMFFI_I_EXPECTED_ARG_ p
#define TVMFFI_I_EXPECTED_ARG_(T, ...) \
  TVMFFI_I_IF_TEXT(T, TVMFFI_I_EXPECTED_TEXT, TVMFFI_I_SKIP) \
  (T, TVMFFI_I_FIRST(__VA_ARGS__, ~))
#define TVMFFI_I_EXPECTED_TEXT(T, name) \
  {"argument `", TVMFFI_I_QUOTE(name), TVMFFI_I_TENSOR_TEXT(T)},
#define TVMFFI_I_TENSOR_ARG(x, p) TVMFFI_I_TENSOR_ARG_ p
#define TVMFFI_I_TENSOR_ARG_(T, name) \
  TVMFFI_I_IF_TEXT(T, TVMFFI_I_TENSOR_LOCAL, TVMFFI_I_SKIP)(name)
#define TVMFFI_I_TENSOR_LOCAL(name) tvmffi_arg_##name,

/* Expands to declarations for the types of a function that compiler.h does not
   list, such as structs. The declarations have no comma, but a malformed result
   or parameter expands to "~, 0," instead. So TVMFFI_I_SECOND(uses, 1, ~) is 1
   if all are well-formed, else 0. */
#define TVMFFI_I_USES(...) \
  TVMFFI_I_USES_OF(TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__, ~)
#define TVMFFI_I_USES_OF(n, R, ...) \
  TVMFFI_I_SECOND(TVMFFI_I_NO_RESULT R, TVMFFI_I_USE_UNLISTED, ~)(R) \
  TVMFFI_I_EACH(n)(TVMFFI_I_USE_PARAM, ~, __VA_ARGS__)
#define TVMFFI_I_NO_RESULT(...) ~, TVMFFI_I_MALFORMED,
/* A parameter is one list in parentheses: (int64, x). A bare name is malformed,
   and so are two lists without a comma: (int64, x) (int64, y). */
#define TVMFFI_I_USE_PARAM(x, p) \
  TVMFFI_I_SECOND(TVMFFI_I_CAT(TVMFFI_I_IS_, TVMFFI_I_LIST p), \
                  TVMFFI_I_MALFORMED, ~)(p)
#define TVMFFI_I_LIST(...) TVMFFI_I_ONE_LIST
#define TVMFFI_I_ONE_LIST(...) TVMFFI_I_TWO_LISTS
#define TVMFFI_I_IS_TVMFFI_I_ONE_LIST ~, TVMFFI_I_USE_LIST,
#define TVMFFI_I_USE_LIST(p) TVMFFI_I_USE_LIST_ p
#define TVMFFI_I_USE_LIST_(...) \
  TVMFFI_I_USE_TYPE(__VA_ARGS__, 0, 0, 0, , , 0, ~)
#define TVMFFI_I_USE_TYPE(T, b, c, d, e, f, n, ...) \
  TVMFFI_I_USE_TYPE_##n TVMFFI_I_USE_UNLISTED(T)
#define TVMFFI_I_USE_TYPE_
#define TVMFFI_I_USE_TYPE_0 ~, 0,
#define TVMFFI_I_USE_UNLISTED(T) \
  TVMFFI_I_PICK_FOURTH(TVMFFI_I_CAT(TVMFFI_I_WORD_, T), TVMFFI_I_SKIP, \
                       TVMFFI_I_USE, TVMFFI_I_USE, ~)(T)

/* Joins a prefix and a result type, such as tvmffi_type_ and int64. */
#define TVMFFI_I_RESULT(prefix, R) TVMFFI_I_CAT(prefix, TVMFFI_I_RESULT_WORD(R))

/* Expands to the head of a typed function's body, whose first parameter, after
   a closure's state, is the body's scope. `n` is the number of parameters plus
   1. `self` is empty or a closure's state, with a comma. */
#define TVMFFI_I_BODY(self, body, n, R, ...) \
  static int body(self TVMFFI_HERE, \
                  TVMFFI_I_UNUSED const tvmffi_i_word *tvmffi_word, \
                  TVMFFI_I_UNUSED TVMFFI_I_RESULT(tvmffi_type_, R) \
                      *tvmffi_value, \
                  TVMFFI_I_UNUSED TVMFFIAny *tvmffi_result \
                  TVMFFI_I_EACH(n)(TVMFFI_I_PARAM, ~, __VA_ARGS__))
#define TVMFFI_I_CALL_HEAD(name) \
  int name(void *tvmffi_handle, const TVMFFIAny *tvmffi_args, \
           int32_t tvmffi_count, TVMFFIAny *tvmffi_into)

/* Ends a body whose scope is marked. If the body succeeded but the error that
   caused the mark is still pending, drops the body's result and returns -1.
   Otherwise returns `code`. */
TVMFFI_I_ONCE(int, tvmffi_i_end_marked, (TVMFFIAny *result, int code)) {
  if (code || !tvmffi_i_pending()) return code;
  tvmffi_i_any_release(result);
  return -1;
}

/* A typed function is of the kind tvmffi_user, or tvmffi_builtin for the
   functions of the runtime. These have no scope, because they make nothing by
   the interface, and tvmffi_i_refuse_builtin releases the copy of an argument.
   Their results are not checked, because they raise an error whenever they
   fail. A body whose result is none returns 0, and the call stores None. They
   may be unused, because TVMFFI_BUILTINS leaves some of them out of the
   table. */
#define TVMFFI_I_DESCRIPTION_tvmffi_user(func, text, call, n, least, defaults, \
                                         site, R, ...) \
  TVMFFI_I_DESCRIBED_TYPES(tvmffi_i_described_##func, n, R, __VA_ARGS__) \
  static tvmffi_func func = { \
      text, call, TVMFFI_I_DESCRIBED(func), (n) - 1 TVMFFI_I_SIGNATURE( \
          "" TVMFFI_I_EACH(n)(TVMFFI_I_NAME, ~, __VA_ARGS__), least, \
          defaults, site)};
#define TVMFFI_I_DESCRIPTION_tvmffi_builtin(func, text, call, n, ...) \
  TVMFFI_I_UNUSED static const tvmffi_i_builtin_func func = { \
      text, call, tvmffi_i_types_##func, (n) - 1};
#define TVMFFI_I_THIS_tvmffi_user tvmffi_func
#define TVMFFI_I_THIS_tvmffi_builtin tvmffi_i_builtin_func
#define TVMFFI_I_REFUSE_tvmffi_user tvmffi_i_refuse
#define TVMFFI_I_REFUSE_tvmffi_builtin tvmffi_i_refuse_builtin
/* Open and close the scope of a body, tvmffi_body_scope. Compilers remove both
   where the body makes nothing. In C++, a destructor closes the scope, after an
   exception, too. */
#if defined(__cplusplus)
#define TVMFFI_I_OPEN_tvmffi_user \
  tvmffi_i_scope_block<tvmffi_i_scope_end> tvmffi_scope_of_body( \
      NULL, TVMFFI_I_SCOPE_END); \
  tvmffi_scope *const tvmffi_body_scope = &tvmffi_scope_of_body;
#define TVMFFI_I_CLOSE_tvmffi_user
#else
#define TVMFFI_I_OPEN_tvmffi_user \
  tvmffi_scope tvmffi_scope_of_body; \
  tvmffi_scope *const tvmffi_body_scope = \
      tvmffi_i_scope_open(&tvmffi_scope_of_body, NULL, TVMFFI_I_SCOPE_END);
#define TVMFFI_I_CLOSE_tvmffi_user tvmffi_i_scope_end(tvmffi_body_scope);
#endif
#define TVMFFI_I_OPEN_tvmffi_builtin \
  tvmffi_scope *const tvmffi_body_scope = NULL;
#define TVMFFI_I_CLOSE_tvmffi_builtin
#define TVMFFI_I_CATCH_tvmffi_user TVMFFI_I_CATCH
#define TVMFFI_I_CATCH_tvmffi_builtin(code, name, ...) code = __VA_ARGS__;
#define TVMFFI_I_LOAD_tvmffi_user tvmffi_i_load_arg
#define TVMFFI_I_LOAD_tvmffi_builtin tvmffi_i_from_any
#define TVMFFI_I_CONVERT_tvmffi_user \
  tvmffi_converts && tvmffi_bad_code == TVMFFI_I_CONVERTED \
      ? tvmffi_i_call_converted(tvmffi_this, tvmffi_args, tvmffi_count, \
                                tvmffi_into, tvmffi_handle) \
      :
#define TVMFFI_I_CONVERT_tvmffi_builtin
#define TVMFFI_I_CHECK_tvmffi_user \
  if (TVMFFI_I_UNLIKELY(tvmffi_i_scope_marked(tvmffi_body_scope))) \
    tvmffi_code = tvmffi_i_end_marked(tvmffi_into, tvmffi_code); \
  tvmffi_code = tvmffi_i_checked(tvmffi_this, tvmffi_words[0], tvmffi_into, \
                                 tvmffi_code);
#define TVMFFI_I_CHECK_tvmffi_builtin \
  if (!tvmffi_code && tvmffi_words[0]->kind == TVMFFI_I_NONE) \
    *tvmffi_into = tvmffi_none();

/* The object of a built-in function. Its safe_call receives this struct as
   `handle`. */
typedef struct {
  TVMFFIObject base;
  TVMFFIFunctionCell cell;
  const tvmffi_i_builtin_func *typed;
} tvmffi_i_builtin;

enum { TVMFFI_I_BUILTIN_PARAMS = 4 }; /* at most */

/* Calls a built-in function that is not packed, without its object. */
TVMFFI_I_COLD int tvmffi_i_call_typed(const tvmffi_i_builtin_func *f,
                                      const TVMFFIAny *args, int32_t count,
                                      TVMFFIAny *result);

/* Does what tvmffi_i_refuse does, for a function of the runtime. If argument
   `bad` needs a conversion, calls the function again with a copy of it. */
TVMFFI_I_COLD int tvmffi_i_refuse_builtin(const tvmffi_i_builtin_func *builtin,
                                          const TVMFFIAny *args, int32_t count,
                                          TVMFFIAny *result, int32_t bad,
                                          int code) {
  const tvmffi_func f =
      tvmffi_i_describe(builtin->name, builtin->types, builtin->num_args);
  TVMFFIAny all[TVMFFI_I_BUILTIN_PARAMS];
  int32_t i;
  if (code != TVMFFI_I_CONVERTED)
    return tvmffi_i_refuse(&f, args, count, result, bad, code);
  TVMFFI_ASSERT(count <= TVMFFI_I_BUILTIN_PARAMS);
  for (i = 0; i < count; ++i) all[i] = args[i];
  TVMFFI_TRY(f.types[bad + 1]->item(f.types[bad + 1], args + bad, all + bad));
  code = tvmffi_i_call_typed(builtin, all, count, result);
  tvmffi_i_any_release(all + bad);
  return code;
}

/* TVMFFI_I_SAFE_CALL(f) is the safe_call of the object of `f`. */
#if defined(__OPTIMIZE_SIZE__)
/* Memory for a converted argument. */
typedef union {
  TVMFFIByteArray text;
  tvmffi_i_object_slot object;
} tvmffi_i_value;

/* Converts an argument of a built-in function, as tvmffi_i_from_any does. No
   built-in function has a parameter of another kind, so a program that does not
   use the other kinds itself does not need their code. */
TVMFFI_I_COLD int tvmffi_i_load_arg_of_builtin(const tvmffi_i_word *word,
                                               const TVMFFIAny *from,
                                               void *to) {
#define TVMFFI_I_LOAD_KIND(kind) \
  case kind: return tvmffi_i_from_any_as(kind, word, from, to);
  switch (word->kind) {
    TVMFFI_I_LOAD_KIND(TVMFFI_I_INT)
    TVMFFI_I_LOAD_KIND(TVMFFI_I_BOOL)
    TVMFFI_I_LOAD_KIND(TVMFFI_I_STR)
    TVMFFI_I_LOAD_KIND(TVMFFI_I_BYTES)
    TVMFFI_I_LOAD_KIND(TVMFFI_I_PTR)
    TVMFFI_I_LOAD_KIND(TVMFFI_I_OBJECT)
    TVMFFI_I_LOAD_KIND(TVMFFI_I_CUSTOM)
    default: TVMFFI_ASSERT(0); return TVMFFI_I_MISMATCH;
  }
}

/* Converts the arguments, as TVMFFI_I_CALL_tvmffi_user does. f->call receives
   the converted arguments as its handle. */
TVMFFI_I_COLD int tvmffi_i_call_typed(const tvmffi_i_builtin_func *f,
                                      const TVMFFIAny *args, int32_t count,
                                      TVMFFIAny *result) {
  tvmffi_i_value values[TVMFFI_I_BUILTIN_PARAMS];
  int32_t i = count;
  int code;
  if (count != f->num_args || result->type_index >= kTVMFFIStaticObjectBegin)
    return tvmffi_i_refuse_builtin(f, args, count, result, 0, 0);
  while (i--) {
    code = tvmffi_i_load_arg_of_builtin(f->types[i + 1], args + i, values + i);
    if (code) return tvmffi_i_refuse_builtin(f, args, count, result, i, code);
  }
  code = f->call(values, args, count, result);
  if (!code && f->types[0]->kind == TVMFFI_I_NONE) *result = tvmffi_none();
  return code;
}

/* Calls the built-in function whose object `handle` is. */
TVMFFI_I_COLD int tvmffi_i_call_builtin(void *handle, const TVMFFIAny *args,
                                        int32_t count, TVMFFIAny *result) {
  const tvmffi_i_builtin *b = TVMFFI_I_AS(const tvmffi_i_builtin *, handle);
  return tvmffi_i_call_typed(b->typed, args, count, result);
}
#define TVMFFI_I_SAFE_CALL(f) ((f)->types ? tvmffi_i_call_builtin : (f)->call)
#else
TVMFFI_I_COLD int tvmffi_i_call_typed(const tvmffi_i_builtin_func *f,
                                      const TVMFFIAny *args, int32_t count,
                                      TVMFFIAny *result) {
  return f->call(NULL, args, count, result);
}
#define TVMFFI_I_SAFE_CALL(f) ((f)->call)
#endif

/* Called if an argument needs conversion. Converts the arguments and calls the
   function again. */
TVMFFI_I_ONCE(int, tvmffi_i_call_converted,
              (const tvmffi_func *f, const TVMFFIAny *args, int32_t count,
               TVMFFIAny *result, void *handle)) {
  TVMFFIAny all[TVMFFI_I_MAX_PARAMS];
  int32_t i = count;
  int code = 0;
  TVMFFI_I_OPEN_tvmffi_user
  while (!code && i-- > 0) {
    code = tvmffi_i_convert_item(f->types[i + 1], args + i, all + i);
    if (!code) {
      all[i] = args[i];
    } else if (code == TVMFFI_I_CONVERTED) {
      code = 0;
      if (all[i].type_index >= kTVMFFIStaticObjectBegin)
        code = tvmffi_i_hand(
            tvmffi_i_owned_by(tvmffi_body_scope, "a converted argument", NULL,
                              NULL),
            all[i].v_obj);
    }
  }
  code = code ? tvmffi_i_bad_arg(f, i, args, code)
              : f->call(handle, all, count, result);
  TVMFFI_I_CLOSE_tvmffi_user
  return code;
}

/* 1 if a variable can be declared as an alias of one that is defined later. */
#if TVMFFI_I_GNU && defined(__ELF__) && !defined(__clang__) && \
    !defined(__TINYC__)
#define TVMFFI_I_ALIASES 1
#else
#define TVMFFI_I_ALIASES 0
#endif

/* A method that TVMFFI_METHOD defines. TVMFFI_I_METHOD_BODY also defines the
   name without which the list that names the method does not compile: see
   TVMFFI_I_HEAD_OF_METHOD. */
typedef struct {
  tvmffi_func *func;
  tvmffi_i_word *self; /* type word of `self`; NULL: a static method */
} tvmffi_i_method_body;

/* The member of a list that leads to a method's body. In C the body is a
   variable, which a tentative definition declares. C++ has none, so there a
   function returns the body. TVMFFI_I_LANGUAGE says which one a file has. */
typedef union {
#if defined(__cplusplus)
  tvmffi_i_method_body (*function)();
  const tvmffi_i_method_body *variable;
#define TVMFFI_I_LANGUAGE 1
#define TVMFFI_I_BODY_OF(method) (method)()
#else
  const tvmffi_i_method_body *variable;
  tvmffi_i_method_body (*function)(void);
#define TVMFFI_I_LANGUAGE 0
#define TVMFFI_I_BODY_OF(method) (*(method))
#endif
} tvmffi_i_method_of;
#if defined(__cplusplus)
#define TVMFFI_I_METHOD_BODY(name, func, self) \
  namespace { \
  struct tvmffi_i_write_TVMFFI_METHOD_##name { \
    char tvmffi_unused; \
    static tvmffi_i_method_body tvmffi_defined() { return {func, self}; } \
  }; \
  }
#else
#if TVMFFI_I_ALIASES
#define TVMFFI_I_METHOD_MARK(name) TVMFFI_I_UNUSED static char name;
#else
#define TVMFFI_I_METHOD_MARK(name) \
  struct name { \
    char tvmffi_unused; \
  };
#endif
#define TVMFFI_I_METHOD_BODY(name, func, self) \
  TVMFFI_I_METHOD_MARK(tvmffi_i_write_TVMFFI_METHOD_##name) \
  TVMFFI_I_UNUSED static tvmffi_i_method_body tvmffi_i_method_##name = {func, \
                                                                        self};
#endif

/* Defines a function, up to its body, by calling the macro `then` with the
   arguments after it. `uses` is TVMFFI_I_USES of the result and the parameters.
   If these are malformed, an assertion fails and `then` is not called, so that
   it adds no errors. In C the assertion is an array of a negative size, because
   TVMFFI_STATIC_ASSERT would be one more macro in the compiler's message. With
   more than 16 parameters, the array of types has a negative size. */
#if defined(__cplusplus)
#define TVMFFI_I_TYPED(name, uses, then, ...) \
  static_assert(!!(TVMFFI_I_SECOND(uses, 1, ~)), \
      "tvmffi_func_" #name "__needs_a_result_and_parameters_like__int64_x"); \
  TVMFFI_I_TYPED_(TVMFFI_I_SECOND(uses, 1, ~), name, uses, then, __VA_ARGS__)
#else
#define TVMFFI_I_TYPED(name, uses, then, ...) \
  typedef char \
      tvmffi_func_##name##__needs_a_result_and_parameters_like__int64_x \
          [1 ? TVMFFI_I_SECOND(uses, 1, ~) ? 1 : -1 : 1]; \
  TVMFFI_I_TYPED_(TVMFFI_I_SECOND(uses, 1, ~), name, uses, then, __VA_ARGS__)
#endif
#define TVMFFI_I_TYPED_(good, ...) \
  TVMFFI_I_CAT(TVMFFI_I_TYPED_, good)(__VA_ARGS__)
#define TVMFFI_I_TYPED_0(name, ...) \
  extern tvmffi_func tvmffi_func_##name; \
  TVMFFI_I_METHOD_BODY(name, NULL, NULL)
#define TVMFFI_I_TYPED_1(name, uses, then, ...) uses then(__VA_ARGS__)
/* Defines a typed function up to its body: prototypes of the packed call and
   of the body, description, packed call, head of the body. The prototype of
   the packed call has the linkage, which the definition inherits. */
#define TVMFFI_I_FUNC_OF(kind, name, text, n, ...) \
  static TVMFFI_I_CALL_HEAD(tvmffi_call_##name); \
  TVMFFI_I_DEFINE(kind, tvmffi_call_##name, text, tvmffi_func_##name, \
                  tvmffi_body_##name, n, __VA_ARGS__) \
  TVMFFI_I_BODY(, tvmffi_body_##name, n, __VA_ARGS__)
#define TVMFFI_I_DEFINE(kind, call, text, func, body, n, ...) \
  TVMFFI_I_INLINED_##kind TVMFFI_I_BODY(, body, n, __VA_ARGS__); \
  TVMFFI_I_DEFINE_CALL(kind, call, text, func, body, (), n, __VA_ARGS__)
/* Defines `call`, the TVMFFISafeCallType that calls `body`. `self` is () or a
   closure's (state, ). */
#define TVMFFI_I_DEFINE_CALL(kind, call, text, func, body, self, n, ...) \
  TVMFFI_I_DEFINE_CALL_(TVMFFI_I_HAS_TEXTS(n, __VA_ARGS__), kind, call, text, \
                        func, body, self, n, __VA_ARGS__)
#define TVMFFI_I_DEFINE_CALL_(checked, kind, call, text, func, body, self, n, \
                              ...) \
  TVMFFI_I_CAT(TVMFFI_I_CONTRACT_, checked)(func, n, __VA_ARGS__) \
  TVMFFI_I_CAT(TVMFFI_I_DEFINE_CALL_, TVMFFI_I_HAS_DEFAULTS(n, __VA_ARGS__)) \
  (checked, kind, call, text, func, body, self, n, __VA_ARGS__)
#define TVMFFI_I_DEFINE_CALL_0(checked, kind, call, text, func, body, self, n, \
                               ...) \
  TVMFFI_I_PACKED_CALL(checked, kind, call, text, func, body, self, \
                       TVMFFI_I_REFUSE_##kind(tvmffi_this, tvmffi_args, \
                                              tvmffi_count, tvmffi_into, 0, \
                                              0), \
                       (n) - 1, NULL, n, __VA_ARGS__)
/* The contract of a function: the literals in tensor("...") of its parameters
   and of its result. The call checks the arguments against it before it calls
   the body. */
#define TVMFFI_I_HAS_TEXTS(n, R, ...) \
  TVMFFI_I_HAS_COMMA(TVMFFI_I_TENSOR_TEXT_COMMA_(R, ~) TVMFFI_I_EACH(n)( \
      TVMFFI_I_TENSOR_TEXT_COMMA, ~, __VA_ARGS__))
#define TVMFFI_I_CONTRACT_0(func, n, R, ...)
#define TVMFFI_I_CONTRACT_1(func, n, R, ...) \
  static const tvmffi_i_expected tvmffi_i_expected_##func[] = { \
      TVMFFI_I_EACH(n)(TVMFFI_I_EXPECTED_ARG, ~, __VA_ARGS__){ \
          "", "the result", TVMFFI_I_TENSOR_TEXT(R)}}; \
  enum { \
    tvmffi_i_texts_##func = sizeof(tvmffi_i_expected_##func) / \
                            sizeof(tvmffi_i_expected_##func[0]) \
  }; \
  static tvmffi_i_plan tvmffi_i_plans_##func[tvmffi_i_texts_##func]; \
  static tvmffi_i_site tvmffi_i_site_##func = { \
      0, __FILE__, tvmffi_i_expected_##func, tvmffi_i_plans_##func, __LINE__, \
      tvmffi_i_texts_##func - 1, \
      TVMFFI_I_IF_TEXT(R, 1, 0)};
#define TVMFFI_I_SITE_0(func) NULL
#define TVMFFI_I_SITE_1(func) &tvmffi_i_site_##func
#define TVMFFI_I_CHECK_ARGS_0(func, n, ...)
#define TVMFFI_I_CHECK_ARGS_1(func, n, ...) \
  const DLTensor *tvmffi_tensors[] = { \
      TVMFFI_I_EACH(n)(TVMFFI_I_TENSOR_ARG, ~, __VA_ARGS__) NULL}; \
  tvmffi_code = 0; \
  if (TVMFFI_I_UNLIKELY( \
          !tvmffi_i_expected_fit(&tvmffi_i_site_##func, tvmffi_tensors))) \
    tvmffi_code = tvmffi_i_expect(&tvmffi_i_site_##func, tvmffi_tensors, \
                                  TVMFFI_I_LOAD(&func.name)); \
  if (TVMFFI_I_LIKELY(!tvmffi_code))
#define TVMFFI_I_CHECK_RESULT_0(func)
#if TVMFFI_DEBUG
#define TVMFFI_I_CHECK_RESULT_1(func) \
  if (!tvmffi_code) \
    tvmffi_code = tvmffi_i_fit_result(&tvmffi_i_site_##func, tvmffi_tensors, \
                                      TVMFFI_I_LOAD(&func.name), tvmffi_into);
#else
#define TVMFFI_I_CHECK_RESULT_1(func)
#endif
#if TVMFFI_I_SHARES && !defined(TVMFFI_IMPLEMENTATION)
#define TVMFFI_I_DESCRIBED(func) tvmffi_i_described_##func
#define TVMFFI_I_DESCRIBED_TYPES(types, n, R, ...) \
  static const tvmffi_i_word *const types[n] = { \
      &TVMFFI_I_DESCRIBED_WORD(TVMFFI_I_RESULT_WORD(R)) \
      TVMFFI_I_EACH(n)(TVMFFI_I_DESCRIBED_OF, ~, __VA_ARGS__)};
#else
#define TVMFFI_I_DESCRIBED(func) tvmffi_i_types_##func
#define TVMFFI_I_DESCRIBED_TYPES(types, n, R, ...)
#endif
#define TVMFFI_I_PACKED_CALL(checked, kind, call, text, func, body, self, \
                             refuse, least, defaults, n, R, ...) \
  static const tvmffi_i_word *const \
      tvmffi_i_types_##func[(n) <= 17 ? n : -1] = { \
      &TVMFFI_I_RESULT(tvmffi_i_word_, R) \
      TVMFFI_I_EACH(n)(TVMFFI_I_WORD_OF, ~, __VA_ARGS__)}; \
  TVMFFI_I_DESCRIPTION_##kind(func, text, call, n, least, defaults, \
                              TVMFFI_I_SITE_##checked(func), R, __VA_ARGS__) \
  TVMFFI_I_CALL_##kind(checked, kind, call, func, body, self, refuse, n, R, \
                       __VA_ARGS__)
#define TVMFFI_I_CALL_tvmffi_user(checked, kind, call, func, body, self, \
                                  refuse, n, R, ...) \
  TVMFFI_I_CALL_HEAD(call) { \
    enum { TVMFFI_I_EACH(n)(TVMFFI_I_INDEX_OF, ~, __VA_ARGS__) tvmffi_num }; \
    const tvmffi_i_word *const *tvmffi_words = tvmffi_i_types_##func; \
    const TVMFFI_I_THIS_##kind *tvmffi_this = &func; \
    int tvmffi_code, tvmffi_bad = 0, tvmffi_bad_code = 0, tvmffi_converts = 0; \
    TVMFFI_I_RESULT(tvmffi_type_, R) tvmffi_value; \
    TVMFFI_I_EACH(n)(TVMFFI_I_LOCAL, ~, __VA_ARGS__) \
    TVMFFI_I_OPEN_##kind \
    (void)tvmffi_handle, (void)tvmffi_args, (void)tvmffi_body_scope; \
    (void)tvmffi_converts; \
    if (TVMFFI_I_UNLIKELY( \
            tvmffi_count != tvmffi_num || \
            tvmffi_into->type_index >= kTVMFFIStaticObjectBegin)) \
      return refuse; \
    TVMFFI_I_EACH(n)(TVMFFI_I_LOAD_ARG, kind, __VA_ARGS__) \
    if (TVMFFI_I_UNLIKELY(tvmffi_bad_code)) { \
      tvmffi_code = \
          TVMFFI_I_CONVERT_##kind TVMFFI_I_REFUSE_##kind( \
              tvmffi_this, tvmffi_args, tvmffi_count, tvmffi_into, tvmffi_bad, \
              tvmffi_bad_code); \
    } else { \
      TVMFFI_I_CHECK_ARGS_##checked(func, n, __VA_ARGS__) \
      TVMFFI_I_CATCH_##kind( \
          tvmffi_code, #body, \
          body(TVMFFI_I_STRIP self tvmffi_body_scope, tvmffi_words[0], \
               &tvmffi_value, tvmffi_into \
               TVMFFI_I_EACH(n)(TVMFFI_I_PASS, ~, __VA_ARGS__))) \
      TVMFFI_I_CHECK_##kind \
      TVMFFI_I_CHECK_RESULT_##checked(func) \
    } \
    TVMFFI_I_CLOSE_##kind \
    return tvmffi_code; \
  }
#define TVMFFI_I_INLINED_tvmffi_user
#if !defined(__OPTIMIZE_SIZE__)
#define TVMFFI_I_CALL_tvmffi_builtin TVMFFI_I_CALL_tvmffi_user
#define TVMFFI_I_INLINED_tvmffi_builtin
#else
/* If bodies are equal but for the word of their result, GCC would merge them
   into one, which then has the code for results of all types. */
#define TVMFFI_I_INLINED_tvmffi_builtin \
  inline __attribute__((__always_inline__))
/* With -Os, tvmffi_i_call_typed converts the arguments of all built-in
   functions. The code that checks and converts them in each function would take
   half of the functions' code. */
#define TVMFFI_I_CALL_tvmffi_builtin(checked, kind, call, func, body, self, \
                                     refuse, n, R, ...) \
  TVMFFI_I_CALL_HEAD(call) { \
    enum { TVMFFI_I_EACH(n)(TVMFFI_I_INDEX_OF, ~, __VA_ARGS__) tvmffi_num }; \
    const tvmffi_i_value *tvmffi_values = \
        TVMFFI_I_AS(const tvmffi_i_value *, tvmffi_handle); \
    TVMFFI_I_RESULT(tvmffi_type_, R) tvmffi_value; \
    TVMFFI_STATIC_ASSERT((n) - 1 <= TVMFFI_I_BUILTIN_PARAMS, func##_params); \
    (void)tvmffi_args, (void)tvmffi_count, (void)tvmffi_values; \
    return body(NULL, &TVMFFI_I_RESULT(tvmffi_i_word_, R), &tvmffi_value, \
                tvmffi_into TVMFFI_I_EACH(n)(TVMFFI_I_PASS_VALUE, ~, \
                                             __VA_ARGS__)); \
  }
#endif
/* clang-format on */

/* Declares a struct member named like the function. TVMFFI_I_FUNC refers to the
   member, so an editor finds the definition and all uses. */
#define TVMFFI_I_MENTION(name) \
  typedef struct {             \
    char name;                 \
  } tvmffi_i_mention_##name;
#define TVMFFI_I_FUNC(name) \
  (&tvmffi_func_##name +    \
   0 * sizeof(TVMFFI_I_AS(tvmffi_i_mention_##name *, 0)->name))

/* clang-format off */
/* Begins a typed function: TVMFFI_FUNC(name, result, (type, parameter)...),
   then a body in braces, which returns by TVMFFI_RETURN or returns an error's
   code. Returning 0 without a result is a TypeError if the result cannot be
   None. Types:
     none (result only), any, bool, int8 ... int64, uint8 ... uint64, float32,
     float64, str, bytes, dtype, device, ptr, tensor (as a result it is a
     tensor_object), tensor_object, object, func, error, module, opaque, shape,
     array, list, map, dict; array(T), list(T), map(K, V), dict(K, V),
     optional(T), tensor("float32[n]"); up to 16 parameters.
   Callers may omit a parameter (type, name, default) if all parameters after it
   have a default. The default is an expression of the parameter's C type, with
   these exceptions: a string or NULL for str, dtype and device; the address of
   a TVMFFIByteArray or NULL for bytes; for the type any, all that TVMFFI_ANY
   accepts. A default object or tensor is borrowed; NULL is None. The expression
   is evaluated at each call that omits any parameter.

   If T is a pointer, optional(T) is that pointer or NULL. Otherwise optional(T)
   is a struct of value and has_value, made by tvmffi_some_T and tvmffi_no_T.
   tensor("...") is a tensor that the call checks before it calls the body. The
   text has the grammar of TVMFFI_EXPECT, and a name stands for the same
   dimension in all texts of the function, its result's included. The texts are
   part of the function's metadata: a tensor that is neither "out" nor "inout"
   is only read. With TVMFFI_DEBUG, a result that does not match its text is an
   InternalError.
   Parameters are borrowed during the call. The body is a scope. The elements of
   a returned container are not checked. The macro defines tvmffi_func_NAME;
   NAME itself stays undefined. */
#define TVMFFI_FUNC(name, ...) \
  TVMFFI_I_MENTION(name) \
  TVMFFI_I_TYPED(name, TVMFFI_I_USES(__VA_ARGS__), TVMFFI_I_FUNC_OF, \
      tvmffi_user, name, #name, TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__, ~)

/* Define a typed function of the runtime, up to its body. Its name is
   "ffi.NAME", or `text`. In the body, TVMFFI_I_GIVE(x) returns x and gives the
   caller the body's reference. */
#define TVMFFI_I_BUILTIN_FUNC(name, ...) \
  TVMFFI_I_BUILTIN_NAMED(i_##name, "ffi." #name, __VA_ARGS__)
#define TVMFFI_I_BUILTIN_NAMED(name, text, ...) \
  TVMFFI_I_TYPED(name, TVMFFI_I_USES(__VA_ARGS__), TVMFFI_I_FUNC_OF, \
      tvmffi_builtin, name, text, TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__, ~)

/* The parameter types i_view and i_any_view accept any value, as `any` does,
   but a body receives the argument's address. Error messages name the types as
   upstream's do. */
TVMFFI_I_INLINE int tvmffi_i_get_i_view(const TVMFFIAny *any, void *out) {
  *TVMFFI_I_AS(const TVMFFIAny **, out) = any;
  return 0;
}
#define TVMFFI_I_VIEW_TYPE(T, name, schema) \
  TVMFFI_I_TYPE(T, const TVMFFIAny *, name, schema, TVMFFI_I_CUSTOM, -1, \
                tvmffi_i_get_i_view, NULL)
TVMFFI_I_VIEW_TYPE(i_view, "Any", "Any")
TVMFFI_I_VIEW_TYPE(i_any_view, "AnyView", "Any")

/* Begins a typed function like TVMFFI_FUNC, and exports it for Python's
   load_module. The symbols are __tvm_ffi_NAME and, for its metadata,
   __tvm_ffi__metadata_NAME. */
#define TVMFFI_EXPORT(name, ...) \
  TVMFFI_I_MENTION(name) \
  TVMFFI_I_TYPED(name, TVMFFI_I_USES(__VA_ARGS__), TVMFFI_I_EXPORT_OF, \
      name, TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__, ~)
#define TVMFFI_I_EXPORT_OF(name, n, ...) \
  TVMFFI_I_EXPORTED TVMFFI_I_CALL_HEAD(__tvm_ffi_##name); \
  TVMFFI_I_DEFINE(tvmffi_user, __tvm_ffi_##name, #name, tvmffi_func_##name, \
                  tvmffi_body_##name, n, __VA_ARGS__) \
  TVMFFI_I_EXPORT_METADATA(name) \
  TVMFFI_I_ON_EXPORT(name) \
  TVMFFI_I_BODY(, tvmffi_body_##name, n, __VA_ARGS__)
/* clang-format on */
/* A companion header redefines these two, to list what a library exports. */
#define TVMFFI_I_ON_EXPORT(name)
#define TVMFFI_I_ON_DOC(name, text)
#define TVMFFI_I_EXPORTED TVMFFI_I_EXTERN_C TVM_FFI_DLL_EXPORT
#if TVMFFI_NO_METADATA
#define TVMFFI_I_EXPORT_METADATA(name)
#else
#define TVMFFI_I_EXPORT_METADATA(name)                                 \
  TVMFFI_I_EXPORTED TVMFFI_I_CALL_HEAD(__tvm_ffi__metadata_##name);    \
  TVMFFI_I_EXPORTED TVMFFI_I_CALL_HEAD(__tvm_ffi__metadata_##name) {   \
    (void)tvmffi_handle, (void)tvmffi_args, (void)tvmffi_count;        \
    return tvmffi_i_return_metadata(&tvmffi_func_##name, tvmffi_into); \
  }
#endif

/* Begins a typed function with a state, which the body sees as `State *self`.
   TVMFFI_CLOSURE_NEW makes a function object from a state. */
/* clang-format off */
#define TVMFFI_CLOSURE(name, State, ...) \
  TVMFFI_I_TYPED(name, TVMFFI_I_USES(__VA_ARGS__), TVMFFI_I_CLOSURE_OF, \
      name, State, TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__, ~)
#define TVMFFI_I_CLOSURE_OF(name, State, n, ...)                               \
  static TVMFFI_I_CALL_HEAD(tvmffi_call_##name);                               \
  TVMFFI_I_BODY(TVMFFI_I_SELF(State), tvmffi_body_##name, n, __VA_ARGS__);     \
  TVMFFI_I_DEFINE_CALL(tvmffi_user, tvmffi_call_##name, #name,                 \
                       tvmffi_func_##name,                                     \
                       tvmffi_body_##name,                                     \
                       (TVMFFI_I_AS(State *, tvmffi_handle), ), n,             \
                       __VA_ARGS__)                                            \
  TVMFFI_I_INLINE int tvmffi_i_closure_##name(                                 \
      tvmffi_i_owner tvmffi_to, State *self, void (*tvmffi_deleter)(void *),   \
      TVMFFIObject **tvmffi_into) {                                            \
    return tvmffi_i_make_closure(tvmffi_to, &tvmffi_func_##name, self,         \
                                 tvmffi_deleter, tvmffi_into);                 \
  }                                                                            \
  TVMFFI_I_BODY(TVMFFI_I_SELF(State), tvmffi_body_##name, n, __VA_ARGS__)
#define TVMFFI_I_SELF(State) TVMFFI_I_UNUSED State *self,
/* clang-format on */

/* Defines a packed function of the runtime, up to its body. Its name is
   "ffi.NAME". */
#define TVMFFI_I_PACKED(name)                                                 \
  static int tvmffi_call_i_##name(void *self, const TVMFFIAny *args,          \
                                  int32_t num_args, TVMFFIAny *result);       \
  TVMFFI_I_UNUSED static const tvmffi_i_builtin_func tvmffi_func_i_##name = { \
      "ffi." #name, tvmffi_call_i_##name, NULL, -1};                          \
  static int tvmffi_call_i_##name(TVMFFI_I_UNUSED void *self,                 \
                                  const TVMFFIAny *args, int32_t num_args,    \
                                  TVMFFIAny *result)

/* Makes a function object from a closure and a state. *out is owned by the
   scope. Takes ownership of the state: calls `deleter` (may be NULL) with the
   state when the function is destroyed, or immediately on failure. Returns 0,
   or -1 with an error. */
#define TVMFFI_CLOSURE_NEW(name, state, deleter, out) \
  tvmffi_i_closure_##name(TVMFFI_I_OWNER, state, deleter, out)

TVMFFI_I_ONCE(int, tvmffi_i_no_out, (const char *function)) {
  return tvmffi_i_raise("ValueError", "%s: NULL for the result", function);
}

TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_make_closure(
    tvmffi_i_owner to, const tvmffi_func *f, void *self,
    void (*deleter)(void *), TVMFFIObject **out) {
  TVMFFIObjectHandle handle = NULL;
  int code =
      out ? tvmffi_i_is_marked(to) : tvmffi_i_no_out("TVMFFI_CLOSURE_NEW");
  if (!code) code = TVMFFIFunctionCreate(self, f->call, deleter, &handle);
  if (code && deleter) deleter(self);
  return code ? code : tvmffi_i_hand_out(to, handle, out);
}

/* Documents an exported function for Python's module.get_function_doc("name").
   May stand before or after the function. */
#if TVMFFI_NO_METADATA
#define TVMFFI_DOC(name, text)
#else
#define TVMFFI_DOC(name, text)                                             \
  TVMFFI_I_ON_DOC(name, text)                                              \
  TVMFFI_I_EXPORTED TVMFFI_I_CALL_HEAD(__tvm_ffi__doc_##name);             \
  TVMFFI_I_EXPORTED TVMFFI_I_CALL_HEAD(__tvm_ffi__doc_##name) {            \
    static const TVMFFIByteArray tvmffi_doc = {"" text, sizeof(text) - 1}; \
    (void)tvmffi_handle, (void)tvmffi_args, (void)tvmffi_count;            \
    return TVMFFIStringFromByteArray(&tvmffi_doc, tvmffi_into);            \
  }
#endif

/* Returns a value, or nothing, from the body of a typed function. The caller
   receives a reference of its own, whatever is returned: a new object, a
   parameter, an item of a container. An object may be a struct that is derived
   from the result's type. Strings and bytes are copied; in C++ they may be a
   std::string. If the value does not fit the result's type, returns an error's
   code. */
#define TVMFFI_RETURN(...)                                               \
  return TVMFFI_I_CAT(TVMFFI_I_RETURN_, TVMFFI_I_IS_EMPTY(__VA_ARGS__))( \
      TVMFFI_I_ASSIGN(*tvmffi_value, __VA_ARGS__))
#define TVMFFI_I_RETURN_0(assigned) \
  ((void)assigned,                  \
   tvmffi_i_to_any(tvmffi_word, tvmffi_here, tvmffi_result, tvmffi_value))
#define TVMFFI_I_RETURN_1(assigned)       \
  (tvmffi_value->tvmffi_returns_none = 0, \
   tvmffi_i_to_any(tvmffi_word, NULL, tvmffi_result, tvmffi_value))

/* Returns x. The caller receives the body's reference. */
#define TVMFFI_I_GIVE(x)      \
  return *tvmffi_value = (x), \
         tvmffi_i_to_any(tvmffi_word, NULL, tvmffi_result, tvmffi_value)

/* Makes a function object from a typed function. The scope owns *out. Returns
   0, or -1 with an error. */
#define TVMFFI_FUNCTION_NEW(name, out) \
  tvmffi_i_scoped_function(TVMFFI_I_OWNER, TVMFFI_I_FUNC(name), out)

TVMFFI_I_INLINE int tvmffi_i_function(const tvmffi_func *f,
                                      TVMFFIObject **out) {
  TVMFFIObjectHandle handle = NULL;
  TVMFFI_TRY(TVMFFIFunctionCreate(NULL, f->call, NULL, &handle));
  *out = (TVMFFIObject *)handle;
  return 0;
}

TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_scoped_function(
    tvmffi_i_owner to, const tvmffi_func *f, TVMFFIObject **out) {
  TVMFFIObject *function = NULL;
  if (!out) return tvmffi_i_no_out("TVMFFI_FUNCTION_NEW");
  TVMFFI_TRY(tvmffi_i_is_marked(to));
  TVMFFI_TRY(tvmffi_i_function(f, &function));
  return tvmffi_i_hand_out(to, function, out);
}

/* How to register a function. `text` is the source of an argument. */
enum { TVMFFI_I_LITERAL = 1, TVMFFI_I_OVERRIDE = 2 };
#define TVMFFI_I_IS_LITERAL(text) (#text[0] == '"' ? TVMFFI_I_LITERAL : 0)

/* Registers a typed function as the global function `text`, with its type
   schema. `text` is copied, unless it is a string literal. Error messages name
   the function by the `text` of its first registration. Returns 0, or -1 with
   an error: a RuntimeError if the name is already registered. */
#define TVMFFI_REGISTER(text, name) \
  tvmffi_i_register(text, TVMFFI_I_FUNC(name), #name, TVMFFI_I_IS_LITERAL(text))
/* Registers a typed function like TVMFFI_REGISTER, with documentation, which is
   copied. */
#define TVMFFI_REGISTER_DOC(text, name, doc)              \
  tvmffi_i_register_doc(text, TVMFFI_I_FUNC(name), #name, \
                        TVMFFI_I_IS_LITERAL(text), doc)
/* Registers a typed function like TVMFFI_REGISTER, replacing any function of
   this name. */
#define TVMFFI_OVERRIDE(text, name)                   \
  tvmffi_i_register(text, TVMFFI_I_FUNC(name), #name, \
                    TVMFFI_I_IS_LITERAL(text) | TVMFFI_I_OVERRIDE)

/* Returns a copy of `text` that is never freed, or NULL without memory. */
TVMFFI_I_ONCE(const char *, tvmffi_i_copy_name, (const char *text)) {
  size_t size = tvmffi_byte_array(text).size + 1, i;
  char *copy = (char *)TVMFFI_I_SCOPE_MALLOC(size);
  for (i = 0; copy && i < size; ++i) copy[i] = text[i];
  return copy;
}

TVMFFI_I_ONCE(TVMFFI_I_MUST_CHECK int, tvmffi_i_register_doc,
              (const char *text, tvmffi_func *f, const char *own_name,
               int flags, const char *doc)) {
#if !TVMFFI_NO_METADATA
  char buffer[TVMFFI_I_METADATA];
#endif
  TVMFFIMethodInfo info = TVMFFI_I_ZERO;
  TVMFFIObject *object = NULL;
  const char *name = TVMFFI_I_LOAD(&f->name);
  const int is_first = tvmffi_i_same(tvmffi_byte_array(own_name), name);
  int code;
  if (!text)
    return tvmffi_i_raise("ValueError",
                          "TVMFFI_REGISTER: NULL for the name of %s", name);
  info.name = tvmffi_byte_array(text);
  info.doc = tvmffi_byte_array(doc);
#if !TVMFFI_NO_METADATA
  info.metadata = tvmffi_i_named_metadata(f, buffer);
  if (!info.metadata.data) return tvmffi_i_bad_metadata(f);
#endif
  TVMFFI_TRY(tvmffi_i_function(f, &object));
  info.flags = kTVMFFIFieldFlagBitMaskIsStaticMethod;
  info.method = tvmffi_obj(object);
  code =
      TVMFFIFunctionSetGlobalFromMethodInfo(&info, flags & TVMFFI_I_OVERRIDE);
  if (!code && is_first) {
    if (!(flags & TVMFFI_I_LITERAL)) text = tvmffi_i_copy_name(text);
    if (text) TVMFFI_I_STORE(&f->name, text);
  }
  tvmffi_i_release(object);
  return code;
}

/* Does what tvmffi_i_register_doc does, without documentation. A program has
   many such calls, so they pass few arguments. */
TVMFFI_I_ONCE(TVMFFI_I_MUST_CHECK int, tvmffi_i_register,
              (const char *text, tvmffi_func *f, const char *own_name,
               int flags)) {
  return tvmffi_i_register_doc(text, f, own_name, flags, NULL);
}
