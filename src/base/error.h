/* ======== Errors: raise, pass on, catch, print =============== >>base/error */
/* C interface: a function that fails returns a nonzero code and leaves an error
   object pending in the thread. TVMFFI_RAISE raises an error. TVMFFI_TRY passes
   an error to the caller. tvmffi_error_take removes the pending error, which
   the scope then owns. */

#pragma once

#include "../head.h"
#include "reference.h"
#include "value.h"

/* Evaluates `expr`. If the code is not 0, returns the code from the calling
   function. */
#define TVMFFI_TRY(expr)                                    \
  do {                                                      \
    int tvmffi_code = (expr);                               \
    if (TVMFFI_I_UNLIKELY(tvmffi_code)) return tvmffi_code; \
  } while (0)

/* Raises an error of a kind such as "ValueError". The message is a printf
   format with arguments, which the compiler checks. Evaluates to -1:
       return TVMFFI_RAISE("ValueError", "rank is %d", x->ndim);
   GCC and clang warn if the result is not used, because a function that goes on
   hides its error. A cast to void says that it goes on deliberately.
   The trace begins with this file and line. It is made first, and may call the
   dynamic loader: copy the text of dlerror before. */
#define TVMFFI_RAISE(...) \
  tvmffi_i_write_return(tvmffi_raise(TVMFFI_I_TRACE, __VA_ARGS__))

TVMFFI_I_NODISCARD TVMFFI_I_INLINE int tvmffi_i_write_return(int code) {
  return code;
}

/* Prefix of the C function that contains a typed function's body. Traces omit
   the prefix. */
#define TVMFFI_I_BODY_PREFIX "tvmffi_body_"

TVMFFI_I_SMALL_ONCE(const char *, tvmffi_i_function_name, (const char *name)) {
  size_t n = sizeof(TVMFFI_I_BODY_PREFIX) - 1, i = 0;
  while (i < n && name[i] == TVMFFI_I_BODY_PREFIX[i]) ++i;
  return i == n ? name + n : name;
}

/* Returns the trace of the error that is raised at this line. A trace with
   frames omits the frame of TVMFFIBacktrace's caller, which therefore must be
   the function that raises the error. */
TVMFFI_I_SMALL_ONCE(const TVMFFIByteArray *, tvmffi_i_trace_from,
                    (const char *file, int line, const char *function)) {
  return TVMFFIBacktrace(file, line, tvmffi_i_function_name(function), 0);
}
#if TVMFFI_NO_BACKTRACE
#define TVMFFI_I_TRACE tvmffi_i_trace_from(__FILE__, __LINE__, __func__)
#else
#define TVMFFI_I_TRACE \
  TVMFFIBacktrace(__FILE__, __LINE__, tvmffi_i_function_name(__func__), 0)
#endif

/* Divides *x by `by` and returns the remainder. With -Os on 32 bits, a loop
   replaces the compiler's division of 64-bit numbers, which takes 750 bytes. */
TVMFFI_I_SMALL_ONCE(uint32_t, tvmffi_i_divide, (uint64_t *x, uint32_t by)) {
#if defined(__OPTIMIZE_SIZE__) && UINTPTR_MAX <= UINT32_MAX
  const uint32_t high = (uint32_t)(*x >> 32), low = (uint32_t)*x;
  uint32_t rest = high ? high % by : low % by, quotient = low / by, bit;
  if (high) {
    for (quotient = 0, bit = (uint32_t)1 << 31; bit; bit >>= 1) {
      const uint32_t carry = rest >> 31;
      rest = rest << 1 | !!(low & bit);
      if (!carry && rest < by) continue;
      rest -= by;
      quotient |= bit;
    }
  }
  *x = (uint64_t)(high / by) << 32 | quotient;
#else
  const uint32_t rest = (uint32_t)(*x % by);
  *x /= by;
#endif
  return rest;
}

/* Writes x in a base up to 16, with `width` digits at least, so that the text
   ends before `end`. Returns the address of the first digit. */
TVMFFI_I_INLINE char *tvmffi_i_digits_before(char *end, uint64_t x,
                                             unsigned base, int width) {
  char *p = end;
  do *--p = "0123456789abcdef"[tvmffi_i_divide(&x, base)];
  while (x || end - p < width);
  return p;
}

/* Buffer size for an int64_t in decimal, with sign and NUL. */
enum { TVMFFI_I_DECIMAL = 21 };

/* Writes x in decimal at the end of `buffer`. Returns the address of the first
   character. */
TVMFFI_I_INLINE const char *tvmffi_i_decimal(char *buffer, int64_t x) {
  char *p = buffer + TVMFFI_I_DECIMAL - 1;
  *p = 0;
  p = tvmffi_i_digits_before(p, x < 0 ? 0 - (uint64_t)x : (uint64_t)x, 10, 1);
  if (x < 0) *--p = '-';
  return p;
}

/* A text in a buffer. `size` also counts the bytes that do not fit. */
typedef struct {
  char *data;
  size_t size, capacity;
} tvmffi_i_text;

TVMFFI_I_INLINE void tvmffi_i_append_char(tvmffi_i_text *t, char c) {
  if (t->size + 1 < t->capacity) t->data[t->size] = c;
  ++t->size;
}

/* Appends a text and a NUL. */
TVMFFI_I_ONCE(void, tvmffi_i_append, (tvmffi_i_text *t, const char *text)) {
  while (*text) tvmffi_i_append_char(t, *text++);
  t->data[t->size < t->capacity ? t->size : t->capacity - 1] = 0;
}

TVMFFI_I_ONCE(void, tvmffi_i_append_int, (tvmffi_i_text *t, int64_t x)) {
  char number[TVMFFI_I_DECIMAL];
  tvmffi_i_append(t, tvmffi_i_decimal(number, x));
}

#if TVMFFI_NO_STDIO
TVMFFI_I_ONCE(void, tvmffi_i_append_digits,
              (tvmffi_i_text *t, uint64_t x, unsigned base, int width)) {
  char digits[24], *end = digits + sizeof(digits) - 1, *p;
  *end = 0;
  p = tvmffi_i_digits_before(end, x, base, 1);
  for (width -= (int)(end - p); width > 0; --width)
    tvmffi_i_append_char(t, '0');
  tvmffi_i_append(t, p);
}

/* Formats one conversion, such as %d, after the '%', and returns the rest of
   the format. If the conversion is unknown, copies the rest unformatted,
   because the type of the argument is unknown. */
TVMFFI_I_ONCE(const char *, tvmffi_i_convert,
              (tvmffi_i_text *t, const char *f, va_list *ap)) {
  const char *begin = f - 1;
  int size = 0, width = 0, precision = -1;
  while (*f >= '0' && *f <= '9') width = width * 10 + (*f++ - '0');
  if (*f == '.') {
    precision = 0;
    if (*++f == '*') {
      precision = va_arg(*ap, int);
      ++f;
    }
    while (*f >= '0' && *f <= '9') precision = precision * 10 + (*f++ - '0');
  }
  for (; *f == 'l' || *f == 'z'; ++f)
    size += *f == 'z' ? (int)sizeof(size_t) : size ? 4 : (int)sizeof(long);
  switch (*f) {
    case 'd':
    case 'i': {
      int64_t x = size > 4 ? va_arg(*ap, int64_t) : va_arg(*ap, int);
      if (x < 0) tvmffi_i_append_char(t, '-');
      tvmffi_i_append_digits(t, x < 0 ? 0 - (uint64_t)x : (uint64_t)x, 10,
                             width - (x < 0));
      break;
    }
    case 'u':
    case 'x':
      tvmffi_i_append_digits(
          t, size > 4 ? va_arg(*ap, uint64_t) : va_arg(*ap, unsigned),
          *f == 'x' ? 16 : 10, width);
      break;
    case 'p':
      tvmffi_i_append(t, "0x");
      tvmffi_i_append_digits(t, (uint64_t)(uintptr_t)va_arg(*ap, void *), 16,
                             0);
      break;
    case 'c': tvmffi_i_append_char(t, (char)va_arg(*ap, int)); break;
    case 's': {
      const char *s = va_arg(*ap, const char *);
      while (precision-- != 0 && *s) tvmffi_i_append_char(t, *s++);
      break;
    }
    case '%': tvmffi_i_append_char(t, '%'); break;
    default:
      tvmffi_i_append(t, begin);
      return begin + tvmffi_byte_array(begin).size;
  }
  return f + 1;
}

TVMFFI_I_ONCE(int, tvmffi_i_vformat,
              (char *text, size_t capacity, const char *f, va_list ap)) {
  tvmffi_i_text t = {text, 0, capacity};
  va_list args;
  va_copy(args, ap);
  while (*f) {
    if (*f != '%')
      tvmffi_i_append_char(&t, *f++);
    else
      f = tvmffi_i_convert(&t, f + 1, &args);
  }
  va_end(args);
  tvmffi_i_append(&t, "");
  return (int)t.size;
}
#else
#define tvmffi_i_vformat TVMFFI_I_VFORMAT
#endif

/* Formats into a buffer of TVMFFI_MESSAGE_SIZE bytes. A truncated message ends
   in "...". */
TVMFFI_I_ONCE(TVMFFIByteArray, tvmffi_i_message,
              (char *buffer, const char *format, va_list ap)) {
  TVMFFIByteArray r = {buffer, 0};
  int n = tvmffi_i_vformat(buffer, TVMFFI_MESSAGE_SIZE, format, ap);
  if (n < 0) buffer[n = 0] = 0; /* printf may have written no NUL */
  if (n >= TVMFFI_MESSAGE_SIZE) {
    n = TVMFFI_MESSAGE_SIZE - 1;
    /* Truncates between UTF-8 characters, so that Python can decode the
       message. */
    while (n > 3 && ((unsigned char)buffer[n - 3] & 0xC0) == 0x80) --n;
    buffer[n - 3] = buffer[n - 2] = buffer[n - 1] = '.';
    buffer[n] = 0;
  }
  r.size = (size_t)n;
  return r;
}

/* 1 if the runtime's errors have causes. Older runtimes have a smaller
   TVMFFIErrorCell, without cause_chain and extra_context. */
#define TVMFFI_I_HAS_CAUSES \
  TVMFFI_I_HAS(TVMFFIErrorCreateWithCauseAndExtraContext)

/* Creates and raises an error. `cause` and `context` are borrowed, and dropped
   if the runtime's errors have no causes. Returns -1. */
TVMFFI_I_ONCE(int, tvmffi_i_raise_error,
              (const TVMFFIByteArray *kind, const TVMFFIByteArray *message,
               const TVMFFIByteArray *trace, TVMFFIObjectHandle cause,
               TVMFFIObjectHandle context)) {
  TVMFFIByteArray none = {"", 0};
  TVMFFIObjectHandle error = NULL;
  if (!trace) trace = &none;
  if (!TVMFFI_I_HAS_CAUSES) cause = context = NULL;
  if (cause || context
          ? TVMFFIErrorCreateWithCauseAndExtraContext(kind, message, trace,
                                                      cause, context, &error)
          : TVMFFIErrorCreate(kind, message, trace, &error)) {
    TVMFFIErrorSetRaisedFromCStr("MemoryError", "out of memory");
    return -1;
  }
  TVMFFIErrorSetRaised(error);
  tvmffi_i_release(error);
  return -1;
}

/* Implements TVMFFI_RAISE. `trace` is made by TVMFFIBacktrace. Returns -1. If
   an allocation fails, raises a MemoryError instead. */
TVMFFI_I_ONCE(TVMFFI_I_PRINTF(3, 4) int, tvmffi_raise,
              (const TVMFFIByteArray *trace, const char *kind,
               const char *format, ...)) {
  char buffer[TVMFFI_MESSAGE_SIZE];
  TVMFFIByteArray name = tvmffi_byte_array(kind), message;
  va_list ap;
  va_start(ap, format);
  message = tvmffi_i_message(buffer, format, ap);
  va_end(ap);
  return tvmffi_i_raise_error(&name, &message, trace, NULL, NULL);
}

/* Returns the length of the first line of `t` if the line names a function of
   this header, else 0. */
TVMFFI_I_ONCE(size_t, tvmffi_i_own_line, (TVMFFIByteArray t)) {
  static const char own[] = ", in tvmffi_i_";
  size_t i, k = 0, is_own = 0;
  for (i = 0; i < t.size && t.data[i] != '\n'; ++i) {
    k = t.data[i] == own[k] ? k + 1 : t.data[i] == own[0];
    if (k < sizeof(own) - 1) continue;
    is_own = 1;
    k = 0;
  }
  return is_own ? i + (i < t.size) : 0;
}

/* Returns a trace without the leading lines that name functions of this header.
   Only upstream's library writes such lines. Our traces never contain static
   functions. */
TVMFFI_I_ONCE(TVMFFIByteArray, tvmffi_i_outer_trace, (TVMFFIByteArray t)) {
  size_t n;
  while ((n = tvmffi_i_own_line(t)) != 0) {
    t.data += n;
    t.size -= n;
  }
  return t;
}

/* Raises an error from a function of this header. The trace begins with the
   user's function that called into the header. Returns -1. */
TVMFFI_I_ONCE(TVMFFI_I_PRINTF(2, 3) int, tvmffi_i_raise,
              (const char *kind, const char *format, ...)) {
  char buffer[TVMFFI_MESSAGE_SIZE];
  TVMFFIByteArray name = tvmffi_byte_array(kind), message, trace;
  va_list ap;
  va_start(ap, format);
  message = tvmffi_i_message(buffer, format, ap);
  va_end(ap);
  trace = tvmffi_i_outer_trace(*TVMFFIBacktrace(NULL, 0, NULL, 0));
  return tvmffi_i_raise_error(&name, &message, &trace, NULL, NULL);
}

/* Raises an error like TVMFFI_RAISE, with another error as its cause.
   The cause is borrowed and may be NULL:
       return TVMFFI_RAISE_FROM(tvmffi_error_take(), "ValueError", "bad file");
   tvmffi_error_print prints the cause, and tvmffi_error_cause returns it. The
   cause is also the error's extra_context, because Python's package can read
   only extra_context. */
#define TVMFFI_RAISE_FROM(cause, ...) \
  tvmffi_i_write_return(tvmffi_raise_from(cause, TVMFFI_I_TRACE, __VA_ARGS__))

/* Implements TVMFFI_RAISE_FROM. Returns -1. */
TVMFFI_I_ONCE(TVMFFI_I_PRINTF(4, 5) int, tvmffi_raise_from,
              (TVMFFIObjectHandle cause, const TVMFFIByteArray *trace,
               const char *kind, const char *format, ...)) {
  char buffer[TVMFFI_MESSAGE_SIZE];
  TVMFFIByteArray name = tvmffi_byte_array(kind), message;
  va_list ap;
  va_start(ap, format);
  message = tvmffi_i_message(buffer, format, ap);
  va_end(ap);
  return tvmffi_i_raise_error(&name, &message, trace, cause, cause);
}

/* Removes the thread's pending error and returns the error, which the caller
   owns, or NULL if no error is pending. */
TVMFFI_I_INLINE TVMFFIObject *tvmffi_i_error_remove(void) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  return (TVMFFIObject *)error;
}

/* Drops the thread's error, if any. */
TVMFFI_I_INLINE void tvmffi_error_clear(void) {
  tvmffi_i_release(tvmffi_i_error_remove());
}

/* Raises an existing error (borrowed) again, unchanged. If `error` is NULL, the
   pending error stays, such as the MemoryError of a tvmffi_error_take that
   returned NULL. Returns -1 in both cases:
       return tvmffi_error_raise(error); */
TVMFFI_I_NODISCARD TVMFFI_I_INLINE int tvmffi_error_raise(
    TVMFFIObjectHandle error) {
  if (error) TVMFFIErrorSetRaised(error);
  return -1;
}

/* Raises an error like tvmffi_error_raise, and releases it. */
TVMFFI_I_INLINE int tvmffi_i_error_restore(TVMFFIObjectHandle error) {
  (void)tvmffi_error_raise(error);
  tvmffi_i_release(error);
  return -1;
}

/* Returns the cause of `error` (borrowed, not NULL), or NULL if there is no
   cause. The cause is borrowed from `error`. */
TVMFFI_I_INLINE TVMFFIObject *tvmffi_error_cause(TVMFFIObjectHandle error) {
  return TVMFFI_I_HAS_CAUSES
             ? (TVMFFIObject *)TVMFFIErrorGetCellPtr(error)->cause_chain
             : NULL;
}

/* Returns 1 if `error` (borrowed, not NULL) has this kind, else 0. */
TVMFFI_I_INLINE int tvmffi_error_is(TVMFFIObjectHandle error,
                                    const char *kind) {
  return tvmffi_i_same(TVMFFIErrorGetCellPtr(error)->kind, kind);
}

/* If the thread's pending error has this kind, drops the error and returns 1.
   Otherwise changes nothing and returns 0:
       code = tvmffi_call("find", &at, key);
       if (code && tvmffi_error_catch("KeyError")) code = at = 0; */
TVMFFI_I_INLINE int tvmffi_error_catch(const char *kind) {
  TVMFFIObject *error = tvmffi_i_error_remove();
  int is = error && tvmffi_error_is(error, kind);
  if (error && !is) TVMFFIErrorSetRaised(error);
  tvmffi_i_release(error);
  return is;
}

/* Evaluates `expr`. If the code is not 0, prefixes the error's message with a
   printf-formatted context and returns the code from the calling function:
       TVMFFI_TRY_CONTEXT(parse(text), "reading %s, line %d", path, line);
   The error keeps its kind, trace and cause. Its message becomes "reading
   a.txt, line 7: not a number". */
#define TVMFFI_TRY_CONTEXT(expr, ...)                       \
  do {                                                      \
    int tvmffi_code = (expr);                               \
    if (TVMFFI_I_UNLIKELY(tvmffi_code)) {                   \
      (void)tvmffi_error_context(tvmffi_code, __VA_ARGS__); \
      return tvmffi_code;                                   \
    }                                                       \
  } while (0)

/* Implements TVMFFI_TRY_CONTEXT: prefixes the message of the thread's pending
   error. Cannot fail, and returns `code`. The code -2 means that Python has the
   error: nothing is prefixed. */
TVMFFI_I_ONCE(TVMFFI_I_PRINTF(2, 3) int, tvmffi_error_context,
              (int code, const char *format, ...)) {
  char buffer[TVMFFI_MESSAGE_SIZE];
  const char *parts[3];
  const TVMFFIErrorCell *cell;
  TVMFFIObject *text, *error = code == -2 ? NULL : tvmffi_i_error_remove();
  va_list ap;
  if (!error) return code;
  va_start(ap, format);
  parts[0] = tvmffi_i_message(buffer, format, ap).data;
  va_end(ap);
  cell = TVMFFIErrorGetCellPtr(error);
  parts[1] = ": ";
  parts[2] = cell->message.data;
  TVMFFIErrorSetRaisedFromCStrParts("", parts, 3); /* joins the parts */
  text = tvmffi_i_error_remove();
  if (text && TVMFFIErrorGetCellPtr(text)->kind.size)
    TVMFFIErrorSetRaised(text); /* out of memory */
  else if (text)
    (void)tvmffi_i_raise_error(
        &cell->kind, &TVMFFIErrorGetCellPtr(text)->message, &cell->backtrace,
        cell->cause_chain, cell->extra_context);
  tvmffi_i_release(text);
  tvmffi_i_release(error);
  return code;
}

/* Runs the signal handlers that are due in the environment, such as Python's,
   which does not run them while C code runs. A long loop calls it now and then:
       TVMFFI_TRY(tvmffi_check_signals());
   Returns 0, or -1 if a handler raised the environment's own exception, such as
   KeyboardInterrupt. The error is then of kind EnvErrorAlreadySet, for which
   Python's package raises that exception. Without an environment returns 0. */
TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_check_signals(void) {
  if (TVMFFI_I_LIKELY(!TVMFFIEnvCheckSignals())) return 0;
  TVMFFIErrorSetRaisedFromCStr("EnvErrorAlreadySet", "");
  return -1;
}

/* Copies the lines of `t` in reverse order to the end of the buffer `trace`. If
   the buffer is too small, drops the last lines of `t`. Returns the start of
   the copy. */
TVMFFI_I_ONCE(const char *, tvmffi_i_reverse_lines,
              (char *trace, size_t capacity, TVMFFIByteArray t)) {
  size_t begin = 0, end, at = capacity - 1, i;
  trace[at] = 0;
  for (; begin < t.size; begin = end) {
    for (end = begin; end < t.size && t.data[end] != '\n'; ++end) {
    }
    if (end < t.size) ++end;
    if (end - begin > at) break;
    at -= end - begin;
    for (i = begin; i < end; ++i) trace[at + i - begin] = t.data[i];
  }
  return trace + at;
}

/* Raises an error whose message is `before` (the text of the cause, or "") and
   the text of `error`. Reverses the trace, because Python prints the most
   recent call last. */
TVMFFI_I_ONCE(void, tvmffi_i_error_append,
              (const char *before, TVMFFIObjectHandle error)) {
  char trace[4 * TVMFFI_MESSAGE_SIZE];
  const TVMFFIErrorCell *cell = TVMFFIErrorGetCellPtr(error);
  const char *parts[8] = {
      before,
      *before ? "\nThe above exception was the direct cause of the following "
                "exception:\n\n"
              : "",
      "Traceback (most recent call last):\n",
      tvmffi_i_reverse_lines(trace, sizeof(trace), cell->backtrace),
      cell->kind.data,
      ": ",
      cell->message.data,
      "\n"};
  TVMFFIErrorSetRaisedFromCStrParts("", parts, 8);
}

/* Returns the text that tvmffi_error_print prints: up to seven causes, then the
   error. The text is the message of a new error, which replaces the pending
   error. */
TVMFFI_I_ONCE(const char *, tvmffi_i_error_text, (void)) {
  TVMFFIObjectHandle chain[8], at;
  TVMFFIObject *text = NULL, *error = tvmffi_i_error_remove();
  int n = 0;
  if (!error) return "";
  for (at = error; at && n < 8; at = tvmffi_error_cause(at)) chain[n++] = at;
  while (n--) {
    tvmffi_i_error_append(text ? TVMFFIErrorGetCellPtr(text)->message.data : "",
                          chain[n]);
    tvmffi_i_release(text);
    text = tvmffi_i_error_remove();
  }
  tvmffi_i_release(error);
  if (!text) return "";
  TVMFFIErrorSetRaised(text);
  tvmffi_i_release(text);
  return TVMFFIErrorGetCellPtr(text)->message.data;
}

/* Prints the thread's pending error with its trace and causes, then drops the
   error. Returns nothing. `file` is a FILE * (include <stdio.h>). */
#define tvmffi_error_print(file) \
  ((void)fputs(tvmffi_i_error_text(), (file)), tvmffi_error_clear())

/* Returns -1 if the thread has a pending error, which stays pending, else 0. A
   NULL argument usually comes from a failed call, whose error must not be
   replaced. */
TVMFFI_I_ONCE(int, tvmffi_i_pending, (void)) {
  TVMFFIObject *error = tvmffi_i_error_remove();
  return error ? tvmffi_i_error_restore(error) : 0;
}
