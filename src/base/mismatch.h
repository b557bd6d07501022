/* ======== Mismatches ========================================= >>base/mismatch
   errors of argument counts, types and ranges */

#pragma once

#include "../head.h"
#include "reference.h"
#include "type_info.h"
#include "error.h"
#include "map_layout.h"
#include "word.h"

/* The strings that are joined to an error message. Strings beyond the maximum
   are dropped. The default, 288, is enough for 16 types of 15 strings. */
typedef struct {
  const char *part[TVMFFI_MESSAGE_SIZE * 9 / 32];
  int32_t size, numbers;
  char number[8][TVMFFI_I_DECIMAL];
} tvmffi_i_parts;

TVMFFI_I_ONCE(void, tvmffi_i_say, (tvmffi_i_parts *p, const char *text)) {
  if (p->size < (int32_t)(sizeof(p->part) / sizeof(p->part[0])))
    p->part[p->size++] = text;
}

TVMFFI_I_ONCE(void, tvmffi_i_say_number, (tvmffi_i_parts *p, int64_t x)) {
  if (p->numbers < (int32_t)(sizeof(p->number) / sizeof(p->number[0])))
    tvmffi_i_say(p, tvmffi_i_decimal(p->number[p->numbers++], x));
}

TVMFFI_I_ONCE(int, tvmffi_i_raise_said, (const char *kind, tvmffi_i_parts *p)) {
  const TVMFFIErrorCell *cell;
  TVMFFIByteArray trace;
  TVMFFIObject *error;
  TVMFFIErrorSetRaisedFromCStrParts(kind, p->part, p->size);
  error = tvmffi_i_error_remove();
  if (!error) return -1;
  cell = TVMFFIErrorGetCellPtr(error);
  trace = tvmffi_i_outer_trace(cell->backtrace);
  if (trace.size == cell->backtrace.size) return tvmffi_i_error_restore(error);
  (void)tvmffi_i_raise_error(&cell->kind, &cell->message, &trace, NULL, NULL);
  tvmffi_i_release(error);
  return -1;
}

/* Appends a type such as "Map<str, int>" to the message. */
TVMFFI_I_ONCE(void, tvmffi_i_say_type,
              (tvmffi_i_parts *p, const tvmffi_i_word *type)) {
  tvmffi_i_say(p, tvmffi_i_shown(type)->name);
  if (!tvmffi_i_has_parts(type)) return;
  tvmffi_i_say(p, "<");
  tvmffi_i_say_type(p, type->of[0]);
  if (type->of[1]) {
    tvmffi_i_say(p, ", ");
    tvmffi_i_say_type(p, type->of[1]);
  }
  tvmffi_i_say(p, ">");
}

/* Returns 1 for a method of a module, else 0. Callers do not pass the first
   parameter, the module, so messages and schemas omit the module. */
TVMFFI_I_ONCE(int32_t, tvmffi_i_is_bound, (const tvmffi_func *f)) {
  return f->num_args > 0 && !tvmffi_i_shown(f->types[1])->name;
}

/* Appends a signature such as "name(0: int, 1: str) -> int". */
TVMFFI_I_ONCE(void, tvmffi_i_say_signature,
              (tvmffi_i_parts *p, const tvmffi_func *f)) {
  static const char at[TVMFFI_I_MAX_PARAMS][7] = {
      "(0: ",   ", 1: ",  ", 2: ",  ", 3: ", ", 4: ",  ", 5: ",
      ", 6: ",  ", 7: ",  ", 8: ",  ", 9: ", ", 10: ", ", 11: ",
      ", 12: ", ", 13: ", ", 14: ", ", 15: "};
  const int32_t num_bound = tvmffi_i_is_bound(f);
  int32_t i;
  tvmffi_i_say(p, TVMFFI_I_LOAD(&f->name));
  if (f->num_args == num_bound) tvmffi_i_say(p, "(");
  for (i = num_bound; i < f->num_args; ++i) {
    tvmffi_i_say(p, at[i - num_bound]);
    tvmffi_i_say_type(p, f->types[i + 1]);
  }
  tvmffi_i_say(p, ") -> ");
  tvmffi_i_say_type(p, f->types[0]);
}

/* Raises a TypeError for a wrong `count`, or, if `count` is right, for a
   *result that is not None before the call. `least` is the smallest count
   allowed, or -1 if no parameter has a default. */
TVMFFI_I_ONCE(int, tvmffi_i_bad_count,
              (const tvmffi_func *f, int32_t least, int32_t count,
               const TVMFFIAny *result)) {
  tvmffi_i_parts p;
  p.size = p.numbers = 0;
  tvmffi_i_say(&p, count == f->num_args
                       ? "The result is not None at entry when calling: `"
                       : "Mismatched number of arguments when calling: `");
  tvmffi_i_say_signature(&p, f);
  tvmffi_i_say(&p, "`. Expected ");
  if (count == f->num_args) {
    tvmffi_i_say(&p, "None but got type index ");
    tvmffi_i_say_number(&p, result->type_index);
  } else {
    if (least >= 0) {
      tvmffi_i_say_number(&p, least - tvmffi_i_is_bound(f));
      tvmffi_i_say(&p, " to ");
    }
    tvmffi_i_say_number(&p, f->num_args - tvmffi_i_is_bound(f));
    tvmffi_i_say(&p, " but got ");
    tvmffi_i_say_number(&p, count - tvmffi_i_is_bound(f));
    tvmffi_i_say(&p, " arguments");
  }
  return tvmffi_i_raise_said("TypeError", &p);
}

#define tvmffi_i_bad_call(f, count, result) \
  tvmffi_i_bad_count(f, -1, count, result)

TVMFFI_I_ONCE(void, tvmffi_i_say_got,
              (tvmffi_i_parts *p, const tvmffi_i_word *type,
               const TVMFFIAny *any, int why));

/* If the conversion of a part of a container, an item or, with `of->of[1]`, a
   key (k = 0) or value (k = 1), returns the code `why`, appends a text with its
   index `i` and type, and returns 1. Otherwise returns 0. */
TVMFFI_I_ONCE(int, tvmffi_i_say_part,
              (tvmffi_i_parts *p, const tvmffi_i_word *of, int k,
               const TVMFFIAny *part, size_t i, int why)) {
  const int is_key = of->of[1] && !k;
  TVMFFIAny to;
  int code = of->item(of->of[k], part, &to);
  if (code == TVMFFI_I_CONVERTED) tvmffi_i_any_release(&to);
  if (code != why) return 0;
  tvmffi_i_say(p, of->name);
  if (of->of[1]) {
    tvmffi_i_say(p, is_key ? "[some key is " : "[K, some value is ");
  } else {
    tvmffi_i_say(p, "[index ");
    tvmffi_i_say_number(p, (int64_t)i);
    tvmffi_i_say(p, ": ");
  }
  tvmffi_i_say_got(p, of->of[k], part, why);
  tvmffi_i_say(p, is_key ? ", V]" : "]");
  return 1;
}

/* Appends a text on the first part of a container that fails to convert with
   the code `why`. Returns 1, or 0 if there is no such part. */
TVMFFI_I_ONCE(int, tvmffi_i_say_parts,
              (tvmffi_i_parts *p, const tvmffi_i_word *of, const TVMFFIAny *any,
               int why)) {
  const TVMFFISeqCell *cell;
  const tvmffi_i_pair *pair;
  size_t at, i;
  if (of->of[1]) {
    TVMFFI_I_EACH_PAIR(any->v_obj, at, pair)
      if (tvmffi_i_say_part(p, of, 0, &pair->key, 0, why) ||
          tvmffi_i_say_part(p, of, 1, &pair->value, 0, why))
        return 1;
    return 0;
  }
  cell = TVMFFI_I_CELL(TVMFFISeqCell, any->v_obj);
  for (i = 0; i < (size_t)cell->size; ++i)
    if (tvmffi_i_say_part(p, of, 0, (const TVMFFIAny *)cell->data + i, i, why))
      return 1;
  return 0;
}

/* Describes *any, whose conversion to `type` failed with the code `why`.
   Appends the integer out of range, the first wrong item of a container, or
   else the type key. */
TVMFFI_I_ONCE(void, tvmffi_i_say_got,
              (tvmffi_i_parts *p, const tvmffi_i_word *type,
               const TVMFFIAny *any, int why)) {
  const int32_t got = any->type_index;
  const int is_map = got == kTVMFFIMap || got == kTVMFFIDict;
  const int is_sequence = got == kTVMFFIArray || got == kTVMFFIList;
  if (type->kind == TVMFFI_I_OPTIONAL) {
    tvmffi_i_say_got(p, type->of[0], any, why);
    return;
  }
  if (tvmffi_i_has_parts(type) && (type->of[1] ? is_map : is_sequence) &&
      tvmffi_i_say_parts(p, type, any, why))
    return;
  if (why >= TVMFFI_I_RANGE && TVMFFI_I_IS_INT(any))
    tvmffi_i_say_number(p, any->v_int64);
  else
    tvmffi_i_say(p, tvmffi_i_type_key(got));
}

/* Appends the name of an integer type, such as "uint8". `code`, at least
   TVMFFI_I_RANGE, encodes the type. */
TVMFFI_I_ONCE(void, tvmffi_i_say_width, (tvmffi_i_parts *p, int code)) {
  tvmffi_i_say(p, code & TVMFFI_I_UNSIGNED ? "uint" : "int");
  tvmffi_i_say_number(p, code % TVMFFI_I_UNSIGNED * 8);
}

/* Raises an OverflowError or TypeError for argument `i`, whose conversion
   returned `code`. A negative `code` means that an error is raised already. */
TVMFFI_I_ONCE(int, tvmffi_i_bad_arg,
              (const tvmffi_func *f, int32_t i, const TVMFFIAny *args,
               int code)) {
  const int range = code >= TVMFFI_I_RANGE;
  tvmffi_i_parts p;
  p.size = p.numbers = 0;
  if (code < 0) return code;
  tvmffi_i_say(&p, range ? "Value out of range in argument #"
                         : "Mismatched type on argument #");
  tvmffi_i_say_number(&p, i - tvmffi_i_is_bound(f));
  tvmffi_i_say(&p, " when calling: `");
  tvmffi_i_say_signature(&p, f);
  tvmffi_i_say(&p, "`. Expected `");
  if (range)
    tvmffi_i_say_width(&p, code);
  else
    tvmffi_i_say_type(&p, f->types[i + 1]);
  tvmffi_i_say(&p, "` but got `");
  tvmffi_i_say_got(&p, f->types[i + 1], args + i, code);
  tvmffi_i_say(&p, "`");
  return tvmffi_i_raise_said(range ? "OverflowError" : "TypeError", &p);
}

/* Raises an OverflowError for *any, which is or contains an integer out of the
   range of `type`. */
TVMFFI_I_ONCE(int, tvmffi_i_bad_range,
              (const tvmffi_i_word *type, const TVMFFIAny *any, int code)) {
  tvmffi_i_parts p;
  p.size = p.numbers = 0;
  tvmffi_i_say(&p, "The value ");
  tvmffi_i_say_got(&p, type, any, code);
  tvmffi_i_say(&p, " is out of range of ");
  tvmffi_i_say_width(&p, code);
  return tvmffi_i_raise_said("OverflowError", &p);
}

/* Raises the error for a bad argument, argument count or result. The first four
   parameters have a packed function's order, so a packed function moves no
   registers for the call. */
TVMFFI_I_ONCE(int, tvmffi_i_refuse,
              (const tvmffi_func *f, const TVMFFIAny *args, int32_t count,
               const TVMFFIAny *result, int32_t bad, int code)) {
  return code ? tvmffi_i_bad_arg(f, bad, args, code)
              : tvmffi_i_bad_call(f, count, result);
}

/* Returns the description that the functions above read. */
TVMFFI_I_COLD tvmffi_func tvmffi_i_describe(const char *name,
                                            const tvmffi_i_word *const *types,
                                            int32_t num_args) {
  tvmffi_func f = TVMFFI_I_ZERO;
  f.name = name;
  f.types = types;
  f.num_args = (int16_t)num_args;
  return f;
}

/* Called if the argument count is wrong or *result is not None. If only
   defaults are missing, calls the function again with them. Otherwise raises a
   TypeError. */
TVMFFI_I_ONCE(int, tvmffi_i_complete,
              (const tvmffi_func *f, const TVMFFIAny *args, int32_t count,
               TVMFFIAny *result, void *handle, int32_t least,
               tvmffi_i_defaults *defaults)) {
  TVMFFIAny all[TVMFFI_I_MAX_PARAMS];
  int32_t i;
  if (count < least || count >= f->num_args)
    return tvmffi_i_bad_count(f, least, count, result);
  TVMFFI_TRY(defaults(all));
  for (i = 0; i < count; ++i) all[i] = args[i];
  return f->call(handle, all, f->num_args, result);
}

/* Called if a function body returned an error's code, or 0 without a result.
   Raises a TypeError for 0. Raises a RuntimeError if no error is pending,
   because Python's package would crash, or the error of the port's hook. With
   that hook, a code other than -1 is a number of the platform: it replaces a
   pending error, which the thread may have ignored. Returns the error's
   code. */
TVMFFI_I_ONCE(int, tvmffi_i_failed, (const tvmffi_func *f, int code)) {
  if (!code)
    return tvmffi_i_raise("TypeError",
                          "%s returned no result: write TVMFFI_RETURN(value), "
                          "or make the result optional",
                          TVMFFI_I_LOAD(&f->name));
#if defined(TVMFFI_BARE_CODE)
  if (code != -1 || !tvmffi_i_pending())
    return TVMFFI_BARE_CODE(TVMFFI_I_LOAD(&f->name), code);
#else
  if (code == -2) return code; /* the environment owns the error */
  if (!tvmffi_i_pending())
    return tvmffi_i_raise("RuntimeError",
                          "%s returned %d, but raised no error: to return a "
                          "value, write TVMFFI_RETURN(value)",
                          TVMFFI_I_LOAD(&f->name), code);
#endif
  return code;
}

/* Does what tvmffi_i_checked does, for a result type that excludes None. */
TVMFFI_I_SMALL_ONCE(int, tvmffi_i_given,
                    (const tvmffi_func *f, const TVMFFIAny *result, int code)) {
  return TVMFFI_I_UNLIKELY(code || result->type_index == kTVMFFINone)
             ? tvmffi_i_failed(f, code)
             : 0;
}

/* Checks the code that a function body returned, and returns 0 or an error's
   code. If the result type excludes None, a result of None means that
   TVMFFI_RETURN is missing. */
TVMFFI_I_FOLDED int tvmffi_i_checked(const tvmffi_func *f,
                                     const tvmffi_i_word *word,
                                     const TVMFFIAny *result, int code) {
  if (word->kind != TVMFFI_I_NONE && word->kind != TVMFFI_I_ANY &&
      word->kind != TVMFFI_I_OPTIONAL)
    return tvmffi_i_given(f, result, code);
  return TVMFFI_I_UNLIKELY(code) ? tvmffi_i_failed(f, code) : 0;
}
