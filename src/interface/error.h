/* ======== Errors: raise, pass on, catch, print ========= >>interface/error */
/* C interface: an error is an object in the thread's slot and a nonzero return
   code. Who raises returns it, who calls passes it on with TVMFFI_TRY, who
   handles it takes the object out of the slot and owns it. */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/abi.h"
#include "value.h"

/* Returns the code of `expr` from the calling function unless it is 0. */
#define TVMFFI_TRY(expr)                                    \
  do {                                                      \
    int tvmffi_code = (expr);                               \
    if (TVMFFI_I_UNLIKELY(tvmffi_code)) return tvmffi_code; \
  } while (0)

/* Raises an error: kind (such as "ValueError"), then a printf format, checked
   by the compiler, and its arguments. Its value is -1:
       return TVMFFI_RAISE("ValueError", "rank is %d", x->ndim);
   The trace begins with this file and line. */
#define TVMFFI_RAISE(...)                                            \
  tvmffi_raise(TVMFFIBacktrace(__FILE__, __LINE__,                   \
                               tvmffi_i_function_name(__func__), 0), \
               __VA_ARGS__)

/* The body of a typed function is named after it, behind this prefix. */
#define TVMFFI_I_BODY_PREFIX "tvmffi_body_"

TVMFFI_I_INLINE const char *tvmffi_i_function_name(const char *name) {
  size_t n = sizeof(TVMFFI_I_BODY_PREFIX) - 1, i = 0;
  while (i < n && name[i] == TVMFFI_I_BODY_PREFIX[i]) ++i;
  return i == n ? name + n : name;
}

#if TVMFFI_NO_STDIO
typedef struct {
  char *text;
  size_t size, capacity;
} tvmffi_i_text;

TVMFFI_I_INLINE void tvmffi_i_put(tvmffi_i_text *t, char c) {
  if (t->size + 1 < t->capacity) t->text[t->size] = c;
  ++t->size;
}

TVMFFI_I_COLD void tvmffi_i_put_number(tvmffi_i_text *t, uint64_t x,
                                       unsigned base, int width) {
  char digits[24];
  int n = 0;
  do {
    digits[n++] = "0123456789abcdef"[x % base];
    x /= base;
  } while (x);
  while (width-- > n) tvmffi_i_put(t, '0');
  while (n) tvmffi_i_put(t, digits[--n]);
}

/* One conversion, the '%' behind it; gives the text after it. What is none of
   ours stands as it is, and so does all after it: its argument is not known. */
TVMFFI_I_COLD const char *tvmffi_i_convert(tvmffi_i_text *t, const char *f,
                                           va_list *ap) {
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
      if (x < 0) tvmffi_i_put(t, '-');
      tvmffi_i_put_number(t, x < 0 ? 0 - (uint64_t)x : (uint64_t)x, 10,
                          width - (x < 0));
      break;
    }
    case 'u':
    case 'x':
      tvmffi_i_put_number(
          t, size > 4 ? va_arg(*ap, uint64_t) : va_arg(*ap, unsigned),
          *f == 'x' ? 16 : 10, width);
      break;
    case 'p':
      tvmffi_i_put(t, '0');
      tvmffi_i_put(t, 'x');
      tvmffi_i_put_number(t, (uint64_t)(uintptr_t)va_arg(*ap, void *), 16, 0);
      break;
    case 'c': tvmffi_i_put(t, (char)va_arg(*ap, int)); break;
    case 's': {
      const char *s = va_arg(*ap, const char *);
      while (precision-- != 0 && *s) tvmffi_i_put(t, *s++);
      break;
    }
    case '%': tvmffi_i_put(t, '%'); break;
    default:
      for (f = begin; *f; ++f) tvmffi_i_put(t, *f);
      return f;
  }
  return f + 1;
}

TVMFFI_I_COLD int tvmffi_i_vformat(char *text, size_t capacity, const char *f,
                                   va_list ap) {
  tvmffi_i_text t = {NULL, 0, 0};
  va_list args;
  t.text = text;
  t.capacity = capacity;
  va_copy(args, ap);
  while (*f) {
    if (*f != '%')
      tvmffi_i_put(&t, *f++);
    else
      f = tvmffi_i_convert(&t, f + 1, &args);
  }
  va_end(args);
  text[t.size < capacity ? t.size : capacity - 1] = 0;
  return (int)t.size;
}
#else
#define tvmffi_i_vformat TVMFFI_I_VFORMAT
#endif

/* Formats into a buffer of TVMFFI_MESSAGE_SIZE bytes; a text that does not fit
   ends in "...". */
TVMFFI_I_COLD TVMFFIByteArray tvmffi_i_message(char *buffer, const char *format,
                                               va_list ap) {
  TVMFFIByteArray r = {buffer, 0};
  int n = tvmffi_i_vformat(buffer, TVMFFI_MESSAGE_SIZE, format, ap);
  if (n >= TVMFFI_MESSAGE_SIZE) {
    n = TVMFFI_MESSAGE_SIZE - 1;
    /* Not inside a character of UTF-8: Python could not read the rest. */
    while (n > 3 && ((unsigned char)buffer[n - 3] & 0xC0) == 0x80) --n;
    buffer[n - 3] = buffer[n - 2] = buffer[n - 1] = '.';
    buffer[n] = 0;
  }
  r.size = n < 0 ? 0 : (size_t)n;
  return r;
}

/* Makes an error and raises it; the cause and the context are borrowed. */
TVMFFI_I_COLD int tvmffi_i_raise_error(const TVMFFIByteArray *kind,
                                       const TVMFFIByteArray *message,
                                       const TVMFFIByteArray *trace,
                                       TVMFFIObjectHandle cause,
                                       TVMFFIObjectHandle context) {
  TVMFFIByteArray none = {"", 0};
  TVMFFIObjectHandle error = NULL;
  if (!trace) trace = &none;
  if (cause || context ? TVMFFIErrorCreateWithCauseAndExtraContext(
                             kind, message, trace, cause, context, &error)
                       : TVMFFIErrorCreate(kind, message, trace, &error)) {
    TVMFFIErrorSetRaisedFromCStr("MemoryError", "out of memory");
    return -1;
  }
  TVMFFIErrorSetRaised(error);
  tvmffi_release(error);
  return -1;
}

/* What TVMFFI_RAISE calls: `trace` as TVMFFIBacktrace gave it. Returns -1.
   When memory is refused the thread's error is a MemoryError. */
TVMFFI_I_PRINTF(3, 4)
TVMFFI_I_COLD int tvmffi_raise(const TVMFFIByteArray *trace, const char *kind,
                               const char *format, ...) {
  char buffer[TVMFFI_MESSAGE_SIZE];
  TVMFFIByteArray name = tvmffi_view(kind), message;
  va_list ap;
  va_start(ap, format);
  message = tvmffi_i_message(buffer, format, ap);
  va_end(ap);
  return tvmffi_i_raise_error(&name, &message, trace, NULL, NULL);
}

/* Raises an error that another one is the cause of (taken; NULL for none), with
   the rest as TVMFFI_RAISE has it:
       return TVMFFI_RAISE_FROM(tvmffi_error_take(), "ValueError", "bad file");
   The cause is printed by tvmffi_error_print, and tvmffi_error_cause gives it.
   Python shows the error alone, as it does with the stock library. */
#define TVMFFI_RAISE_FROM(cause, ...)                                     \
  tvmffi_raise_from(cause,                                                \
                    TVMFFIBacktrace(__FILE__, __LINE__,                   \
                                    tvmffi_i_function_name(__func__), 0), \
                    __VA_ARGS__)

/* What TVMFFI_RAISE_FROM calls. Returns -1. */
TVMFFI_I_PRINTF(4, 5)
TVMFFI_I_COLD int tvmffi_raise_from(TVMFFIObjectHandle cause,
                                    const TVMFFIByteArray *trace,
                                    const char *kind, const char *format, ...) {
  char buffer[TVMFFI_MESSAGE_SIZE];
  TVMFFIByteArray name = tvmffi_view(kind), message;
  va_list ap;
  va_start(ap, format);
  message = tvmffi_i_message(buffer, format, ap);
  va_end(ap);
  (void)tvmffi_i_raise_error(&name, &message, trace, cause, NULL);
  tvmffi_release(cause);
  return -1;
}

/* Takes the thread's error out of its slot: owned, or NULL if there is none. */
TVMFFI_I_INLINE TVMFFIObject *tvmffi_error_take(void) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  return (TVMFFIObject *)error;
}

/* Drops the thread's error, if there is one. */
TVMFFI_I_INLINE void tvmffi_error_clear(void) {
  tvmffi_release(tvmffi_error_take());
}

/* Puts an error (taken) into the slot again, as it is. Returns -1, also for
   NULL, when there is nothing to put:
       return tvmffi_error_raise(error); */
TVMFFI_I_INLINE int tvmffi_error_raise(TVMFFIObjectHandle error) {
  if (error) TVMFFIErrorSetRaised(error);
  tvmffi_release(error);
  return -1;
}

/* The cause of an error (borrowed, not NULL): borrowed from it, or NULL. */
TVMFFI_I_INLINE TVMFFIObject *tvmffi_error_cause(TVMFFIObjectHandle error) {
  return (TVMFFIObject *)TVMFFIErrorGetCellPtr(error)->cause_chain;
}

/* Tells whether `error` (borrowed, not NULL) is of the kind. */
TVMFFI_I_INLINE int tvmffi_error_is(TVMFFIObjectHandle error,
                                    const char *kind) {
  return tvmffi_i_same(TVMFFIErrorGetCellPtr(error)->kind, kind);
}

/* Drops the thread's error if it is of the kind, and tells whether it was; one
   of another kind stays where it is:
       code = tvmffi_call("find", &at, key);
       if (code && tvmffi_error_catch("KeyError")) code = at = 0; */
TVMFFI_I_INLINE int tvmffi_error_catch(const char *kind) {
  TVMFFIObject *error = tvmffi_error_take();
  int is = error && tvmffi_error_is(error, kind);
  if (error && !is) TVMFFIErrorSetRaised(error);
  tvmffi_release(error);
  return is;
}

/* Returns the code of `expr` from the calling function unless it is 0, and
   tells first what was being done, in a printf format:
       TVMFFI_TRY_CONTEXT(parse(text), "reading %s, line %d", path, line);
   The error keeps its kind, trace and cause, and its message becomes
   "reading a.txt, line 7: not a number". */
#define TVMFFI_TRY_CONTEXT(expr, ...)                        \
  do {                                                       \
    int tvmffi_code = (expr);                                \
    if (TVMFFI_I_UNLIKELY(tvmffi_code))                      \
      return tvmffi_error_context(tvmffi_code, __VA_ARGS__); \
  } while (0)

/* What TVMFFI_TRY_CONTEXT calls. Returns `code`; with code -2, when the slot is
   empty, that is all. */
TVMFFI_I_PRINTF(2, 3)
TVMFFI_I_COLD int tvmffi_error_context(int code, const char *format, ...) {
  char buffer[TVMFFI_MESSAGE_SIZE];
  const char *parts[3];
  const TVMFFIErrorCell *cell;
  TVMFFIObject *text, *error = code == -2 ? NULL : tvmffi_error_take();
  va_list ap;
  if (!error) return code;
  va_start(ap, format);
  parts[0] = tvmffi_i_message(buffer, format, ap).data;
  va_end(ap);
  cell = TVMFFIErrorGetCellPtr(error);
  parts[1] = ": ";
  parts[2] = cell->message.data;
  TVMFFIErrorSetRaisedFromCStrParts("", parts, 3); /* joins them */
  text = tvmffi_error_take();
  if (text && TVMFFIErrorGetCellPtr(text)->kind.size)
    TVMFFIErrorSetRaised(text); /* no memory to join them */
  else if (text)
    (void)tvmffi_i_raise_error(
        &cell->kind, &TVMFFIErrorGetCellPtr(text)->message, &cell->backtrace,
        cell->cause_chain, cell->extra_context);
  tvmffi_release(text);
  tvmffi_release(error);
  return code;
}

/* Copies the lines of a trace in reverse order to the end of `trace`, as many
   as fit, the first ones first; gives where they begin. */
TVMFFI_I_COLD const char *tvmffi_i_reverse_lines(char *trace, size_t capacity,
                                                 TVMFFIByteArray t) {
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

/* Replaces the thread's error by one whose message is `before` (the text of its
   cause, or "") and the whole text of the error as Python prints it: the trace
   with the most recent call last, which is the stored one in reverse, then kind
   and message. */
TVMFFI_I_COLD void tvmffi_i_error_append(const char *before,
                                         TVMFFIObjectHandle error) {
  char trace[4 * TVMFFI_MESSAGE_SIZE];
  const char *parts[8];
  const TVMFFIErrorCell *cell = TVMFFIErrorGetCellPtr(error);
  parts[0] = before;
  parts[1] = *before ? "\nThe above exception was the direct cause of the "
                       "following exception:\n\n"
                     : "";
  parts[2] = "Traceback (most recent call last):\n";
  parts[3] = tvmffi_i_reverse_lines(trace, sizeof(trace), cell->backtrace);
  parts[4] = cell->kind.data;
  parts[5] = ": ";
  parts[6] = cell->message.data;
  parts[7] = "\n";
  TVMFFIErrorSetRaisedFromCStrParts("", parts, 8);
}

/* Replaces the thread's error by one whose message is its whole text, its
   causes first, of which the seven nearest are told. Gives that text, which the
   slot owns. */
TVMFFI_I_COLD const char *tvmffi_i_error_text(void) {
  TVMFFIObjectHandle chain[8], at;
  TVMFFIObject *text = NULL, *error = tvmffi_error_take();
  int n = 0;
  if (!error) return "";
  for (at = error; at && n < 8; at = tvmffi_error_cause(at)) chain[n++] = at;
  while (n--) {
    tvmffi_i_error_append(text ? TVMFFIErrorGetCellPtr(text)->message.data : "",
                          chain[n]);
    tvmffi_release(text);
    text = tvmffi_error_take();
  }
  tvmffi_release(error);
  if (!text) return "";
  TVMFFIErrorSetRaised(text);
  tvmffi_release(text);
  return TVMFFIErrorGetCellPtr(text)->message.data;
}

/* Takes the thread's error and prints it with its trace and its causes; `file`
   is a FILE * (the caller includes <stdio.h>). */
#define tvmffi_error_print(file) \
  ((void)fputs(tvmffi_i_error_text(), (file)), tvmffi_error_clear())

/* Tells by -1 that the thread has an error, which stays, by 0 that it has none:
   where an object is NULL, the error is why, and must not be lost. */
TVMFFI_I_COLD int tvmffi_i_pending(void) {
  TVMFFIObject *error = tvmffi_error_take();
  return error ? tvmffi_error_raise(error) : 0;
}
