/* ======== Lists: macros over lists of arguments ========= >>interface/list */
/* A list of arguments is passed with an end marker `~` and with the number of
   arguments, which includes `~`: TVMFFI_I_EACH(3)(F, x, a, b, ~) expands to
   F(x, a) F(x, b). The marker allows empty lists, although C99 forbids empty
   variable arguments. */

#pragma once

#include "../head.h"

/* Counts 1 to 33 arguments. For 34 to 64, expands to a variable of a struct,
   which nothing defines: the compiler's error shows the struct's name. */
#define TVMFFI_I_COUNT(...)                                                   \
  TVMFFI_I_COUNT_(__VA_ARGS__, TVMFFI_I_MANY, TVMFFI_I_MANY, TVMFFI_I_MANY,   \
                  TVMFFI_I_MANY, TVMFFI_I_MANY, TVMFFI_I_MANY, TVMFFI_I_MANY, \
                  TVMFFI_I_MANY, TVMFFI_I_MANY, TVMFFI_I_MANY, TVMFFI_I_MANY, \
                  TVMFFI_I_MANY, TVMFFI_I_MANY, TVMFFI_I_MANY, TVMFFI_I_MANY, \
                  TVMFFI_I_MANY, TVMFFI_I_MANY, TVMFFI_I_MANY, TVMFFI_I_MANY, \
                  TVMFFI_I_MANY, TVMFFI_I_MANY, TVMFFI_I_MANY, TVMFFI_I_MANY, \
                  TVMFFI_I_MANY, TVMFFI_I_MANY, TVMFFI_I_MANY, TVMFFI_I_MANY, \
                  TVMFFI_I_MANY, TVMFFI_I_MANY, TVMFFI_I_MANY, TVMFFI_I_MANY, \
                  33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, \
                  18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, \
                  1, ~)
#define TVMFFI_I_COUNT_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12,     \
                        a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, \
                        a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, \
                        a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, \
                        a46, a47, a48, a49, a50, a51, a52, a53, a54, a55, a56, \
                        a57, a58, a59, a60, a61, a62, a63, a64, n, ...)        \
  n
#define TVMFFI_I_MANY tvmffi_i_many
typedef struct {
  char tvmffi_unused;
} tvmffi_i_at_most_32_values_are_possible;
extern const tvmffi_i_at_most_32_values_are_possible tvmffi_i_many;

/* The size of an array whose n values follow in braces. For GCC and clang,
   which count the values themselves, it is empty: n is TVMFFI_I_MANY if there
   are too many values, and would show the same error once more. */
#if TVMFFI_I_GNU && !defined(__TINYC__)
#define TVMFFI_I_ARRAY_SIZE(n)
#else
#define TVMFFI_I_ARRAY_SIZE(n) n
#endif
/* Expands to `cond` if n is a number, but to 1 if it is TVMFFI_I_MANY. */
#define TVMFFI_I_IF_FEW(n, cond) \
  TVMFFI_I_SECOND(TVMFFI_I_CAT(TVMFFI_I_FEW_, n), cond, ~)
#define TVMFFI_I_FEW_tvmffi_i_many ~, 1,

#define TVMFFI_I_STRIP(...) __VA_ARGS__
#define TVMFFI_I_FIRST(x, ...) x
/* Expands to a comma between two tokens: in clang's mode for MSVC, a macro that
   is only a comma does not separate arguments. */
#define TVMFFI_I_COMMA(...) ~, ~

/* Expands to 1 for two or more arguments, else to 0. */
#define TVMFFI_I_HAS_COMMA(...) \
  TVMFFI_I_SECOND( \
      TVMFFI_I_CAT(TVMFFI_I_IS_ONE_, TVMFFI_I_COUNT(__VA_ARGS__)), 1, ~)
#define TVMFFI_I_IS_ONE_1 ~, 0,

/* Expands to nothing for a parameter p = (type, name), and to F(type, name,
   default) for p = (type, name, default). */
#define TVMFFI_I_IF_DEFAULT(F, p) TVMFFI_I_IF_DEFAULT_(F, TVMFFI_I_STRIP p)
#define TVMFFI_I_IF_DEFAULT_(F, ...) \
  TVMFFI_I_FOURTH(__VA_ARGS__, F, TVMFFI_I_SKIP, ~)(__VA_ARGS__)
#define TVMFFI_I_FOURTH(a, b, c, d, ...) d
#define TVMFFI_I_SKIP(...)

/* Expands to 1 if a parameter has a default, (type, name, default), else to
   0. */
#define TVMFFI_I_HAS_DEFAULTS(n, R, ...) \
  TVMFFI_I_HAS_COMMA(TVMFFI_I_EACH(n)(TVMFFI_I_DEFAULT_COMMA, ~, __VA_ARGS__))
#define TVMFFI_I_DEFAULT_COMMA(x, p) TVMFFI_I_IF_DEFAULT(TVMFFI_I_COMMA, p)

/* Expands to 1 for an empty list, else to 0. Source: J. Gustedt, "Detect empty
   macro arguments" (2010). For an empty list, only the fourth line below
   contains a comma, because it becomes TVMFFI_I_COMMA(). */
#define TVMFFI_I_IS_EMPTY(...)                                       \
  TVMFFI_I_IS_EMPTY_(TVMFFI_I_HAS_COMMA(__VA_ARGS__),                \
                     TVMFFI_I_HAS_COMMA(TVMFFI_I_COMMA __VA_ARGS__), \
                     TVMFFI_I_HAS_COMMA(__VA_ARGS__()),              \
                     TVMFFI_I_HAS_COMMA(TVMFFI_I_COMMA __VA_ARGS__()))
#define TVMFFI_I_IS_EMPTY_(a, b, c, d) TVMFFI_I_IS_EMPTY__(a, b, c, d)
#define TVMFFI_I_IS_EMPTY__(a, b, c, d) \
  TVMFFI_I_SECOND(TVMFFI_I_EMPTY_##a##b##c##d, 0, ~)
#define TVMFFI_I_EMPTY_0001 ~, 1,

/* TVMFFI_EXPECT expands its lists `p` by this macro: to nothing if `p` is a
   list of 2 or 3 elements in parentheses, else to "~, 0,". If E is all
   expansions in a row, TVMFFI_I_SECOND(E, 1, ~) is 1 if every `p` is such a
   list, else 0. */
#define TVMFFI_I_MALFORMED(...) ~, 0,
#define TVMFFI_I_NO_PAIR(x, p) \
  TVMFFI_I_SECOND(TVMFFI_I_FOR_PAIR p, TVMFFI_I_MALFORMED, ~)(p)
#define TVMFFI_I_FOR_PAIR(...)                                               \
  ~,                                                                         \
      TVMFFI_I_FOR_PAIR_(__VA_ARGS__, TVMFFI_I_MALFORMED, TVMFFI_I_MALFORMED, \
                         TVMFFI_I_MALFORMED, TVMFFI_I_SKIP, TVMFFI_I_SKIP,   \
                         TVMFFI_I_MALFORMED, ~),
#define TVMFFI_I_FOR_PAIR_(a, b, c, d, e, f, F, ...) F

/* clang-format off */
/* Eight at a time: a compiler's message shows each macro in another. */
#define TVMFFI_I_EACH(n) TVMFFI_I_CAT(TVMFFI_I_EACH, n)
#define TVMFFI_I_EACH1(F, x, end)
#define TVMFFI_I_EACHtvmffi_i_many(...)
#define TVMFFI_I_EACH2(F, x, a, ...) F(x, a)
#define TVMFFI_I_EACH3(F, x, a, b, ...) F(x, a) F(x, b)
#define TVMFFI_I_EACH4(F, x, a, b, c, ...) F(x, a) F(x, b) F(x, c)
#define TVMFFI_I_EACH5(F, x, a, b, c, d, ...) F(x, a) F(x, b) F(x, c) F(x, d)
#define TVMFFI_I_EACH6(F, x, a, b, c, d, e, ...) \
  F(x, a) F(x, b) F(x, c) F(x, d) F(x, e)
#define TVMFFI_I_EACH7(F, x, a, b, c, d, e, f, ...) \
  F(x, a) F(x, b) F(x, c) F(x, d) F(x, e) F(x, f)
#define TVMFFI_I_EACH8(F, x, a, b, c, d, e, f, g, ...) \
  F(x, a) F(x, b) F(x, c) F(x, d) F(x, e) F(x, f) F(x, g)
#define TVMFFI_I_EACH9(F, x, a, b, c, d, e, f, g, h, ...) \
  F(x, a) F(x, b) F(x, c) F(x, d) F(x, e) F(x, f) F(x, g) F(x, h)
/* Three copies, because a macro does not expand in its own expansion. */
#define TVMFFI_I_EIGHT1(rest, F, x, a, b, c, d, e, f, g, h, ...) \
  F(x, a) F(x, b) F(x, c) F(x, d) F(x, e) F(x, f) F(x, g) F(x, h) \
  rest(F, x, __VA_ARGS__)
#define TVMFFI_I_EIGHT2(rest, F, x, a, b, c, d, e, f, g, h, ...) \
  F(x, a) F(x, b) F(x, c) F(x, d) F(x, e) F(x, f) F(x, g) F(x, h) \
  rest(F, x, __VA_ARGS__)
#define TVMFFI_I_EIGHT3(rest, F, x, a, b, c, d, e, f, g, h, ...) \
  F(x, a) F(x, b) F(x, c) F(x, d) F(x, e) F(x, f) F(x, g) F(x, h) \
  rest(F, x, __VA_ARGS__)
#define TVMFFI_I_EACH10(...) TVMFFI_I_EIGHT1(TVMFFI_I_EACH2, __VA_ARGS__)
#define TVMFFI_I_EACH11(...) TVMFFI_I_EIGHT1(TVMFFI_I_EACH3, __VA_ARGS__)
#define TVMFFI_I_EACH12(...) TVMFFI_I_EIGHT1(TVMFFI_I_EACH4, __VA_ARGS__)
#define TVMFFI_I_EACH13(...) TVMFFI_I_EIGHT1(TVMFFI_I_EACH5, __VA_ARGS__)
#define TVMFFI_I_EACH14(...) TVMFFI_I_EIGHT1(TVMFFI_I_EACH6, __VA_ARGS__)
#define TVMFFI_I_EACH15(...) TVMFFI_I_EIGHT1(TVMFFI_I_EACH7, __VA_ARGS__)
#define TVMFFI_I_EACH16(...) TVMFFI_I_EIGHT1(TVMFFI_I_EACH8, __VA_ARGS__)
#define TVMFFI_I_EACH17(...) TVMFFI_I_EIGHT1(TVMFFI_I_EACH9, __VA_ARGS__)
#define TVMFFI_I_EACH18(...) TVMFFI_I_EIGHT2(TVMFFI_I_EACH10, __VA_ARGS__)
#define TVMFFI_I_EACH19(...) TVMFFI_I_EIGHT2(TVMFFI_I_EACH11, __VA_ARGS__)
#define TVMFFI_I_EACH20(...) TVMFFI_I_EIGHT2(TVMFFI_I_EACH12, __VA_ARGS__)
#define TVMFFI_I_EACH21(...) TVMFFI_I_EIGHT2(TVMFFI_I_EACH13, __VA_ARGS__)
#define TVMFFI_I_EACH22(...) TVMFFI_I_EIGHT2(TVMFFI_I_EACH14, __VA_ARGS__)
#define TVMFFI_I_EACH23(...) TVMFFI_I_EIGHT2(TVMFFI_I_EACH15, __VA_ARGS__)
#define TVMFFI_I_EACH24(...) TVMFFI_I_EIGHT2(TVMFFI_I_EACH16, __VA_ARGS__)
#define TVMFFI_I_EACH25(...) TVMFFI_I_EIGHT2(TVMFFI_I_EACH17, __VA_ARGS__)
#define TVMFFI_I_EACH26(...) TVMFFI_I_EIGHT3(TVMFFI_I_EACH18, __VA_ARGS__)
#define TVMFFI_I_EACH27(...) TVMFFI_I_EIGHT3(TVMFFI_I_EACH19, __VA_ARGS__)
#define TVMFFI_I_EACH28(...) TVMFFI_I_EIGHT3(TVMFFI_I_EACH20, __VA_ARGS__)
#define TVMFFI_I_EACH29(...) TVMFFI_I_EIGHT3(TVMFFI_I_EACH21, __VA_ARGS__)
#define TVMFFI_I_EACH30(...) TVMFFI_I_EIGHT3(TVMFFI_I_EACH22, __VA_ARGS__)
#define TVMFFI_I_EACH31(...) TVMFFI_I_EIGHT3(TVMFFI_I_EACH23, __VA_ARGS__)
#define TVMFFI_I_EACH32(...) TVMFFI_I_EIGHT3(TVMFFI_I_EACH24, __VA_ARGS__)
#define TVMFFI_I_EACH33(...) TVMFFI_I_EIGHT3(TVMFFI_I_EACH25, __VA_ARGS__)
/* clang-format on */
