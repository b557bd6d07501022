/* ======== Mismatches =================================== >>interface/mismatch
   errors of argument counts, types and ranges */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "value.h"
#include "error.h"
#include "word.h"
#include "compound.h"
#include "map_layout.h"

/* Writes a number in decimal into `buffer` (TVMFFI_I_DECIMAL bytes); gives its
   text. */
enum { TVMFFI_I_DECIMAL = 21 };
TVMFFI_I_COLD const char *tvmffi_i_decimal(char *buffer, int64_t x) {
  char *p = buffer + TVMFFI_I_DECIMAL - 1;
  uint64_t left = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
  *p = 0;
  do {
    *--p = (char)('0' + left % 10);
    left /= 10;
  } while (left);
  if (x < 0) *--p = '-';
  return p;
}

/* The parts of a message. Those beyond the room are left out: sixteen types of
   fifteen parts find it in 288. */
typedef struct {
  const char *part[TVMFFI_MESSAGE_SIZE * 9 / 32];
  int32_t size, numbers;
  char number[8][TVMFFI_I_DECIMAL];
} tvmffi_i_parts;

TVMFFI_I_COLD void tvmffi_i_say(tvmffi_i_parts *p, const char *text) {
  if (p->size < (int32_t)(sizeof(p->part) / sizeof(p->part[0])))
    p->part[p->size++] = text;
}

TVMFFI_I_COLD void tvmffi_i_say_number(tvmffi_i_parts *p, int64_t x) {
  if (p->numbers < (int32_t)(sizeof(p->number) / sizeof(p->number[0])))
    tvmffi_i_say(p, tvmffi_i_decimal(p->number[p->numbers++], x));
}

TVMFFI_I_COLD int tvmffi_i_raise_said(const char *kind, tvmffi_i_parts *p) {
  TVMFFIErrorSetRaisedFromCStrParts(kind, p->part, p->size);
  return -1;
}

/* Says "Map<str, int>". Recurses as deep as the type was written. */
TVMFFI_I_COLD void tvmffi_i_say_type(tvmffi_i_parts *p,
                                     const tvmffi_i_name *type) {
  const tvmffi_i_compound *of = tvmffi_i_compound_of(type);
  tvmffi_i_say(p, type->name);
  if (!of) return;
  tvmffi_i_say(p, "<");
  tvmffi_i_say_type(p, of->of[0]);
  if (of->of[1]) {
    tvmffi_i_say(p, ", ");
    tvmffi_i_say_type(p, of->of[1]);
  }
  tvmffi_i_say(p, ">");
}

/* Says "name(0: int, 1: str) -> int". */
TVMFFI_I_COLD void tvmffi_i_say_signature(tvmffi_i_parts *p,
                                          const tvmffi_func *f) {
  static const char *const at[16] = {
      "(0: ",   ", 1: ",  ", 2: ",  ", 3: ", ", 4: ",  ", 5: ",
      ", 6: ",  ", 7: ",  ", 8: ",  ", 9: ", ", 10: ", ", 11: ",
      ", 12: ", ", 13: ", ", 14: ", ", 15: "};
  int32_t i;
  tvmffi_i_say(p, TVMFFI_I_LOAD(&f->name));
  if (!f->num_args) tvmffi_i_say(p, "(");
  for (i = 0; i < f->num_args; ++i) {
    tvmffi_i_say(p, at[i]);
    tvmffi_i_say_type(p, f->types[i + 1]);
  }
  tvmffi_i_say(p, ") -> ");
  tvmffi_i_say_type(p, f->types[0]);
}

/* Raises for a wrong count of arguments, or a result that is not empty. */
TVMFFI_I_COLD int tvmffi_i_bad_call(const tvmffi_func *f, int32_t count,
                                    const TVMFFIAny *result) {
  tvmffi_i_parts p;
  p.size = p.numbers = 0;
  tvmffi_i_say(&p, count == f->num_args
                       ? "The result must be empty, as it would be lost, when "
                         "calling: `"
                       : "Mismatched number of arguments when calling: `");
  tvmffi_i_say_signature(&p, f);
  tvmffi_i_say(&p, "`. Expected ");
  if (count == f->num_args) {
    tvmffi_i_say(&p, "None but got type index ");
    tvmffi_i_say_number(&p, result->type_index);
  } else {
    tvmffi_i_say_number(&p, f->num_args);
    tvmffi_i_say(&p, " but got ");
    tvmffi_i_say_number(&p, count);
    tvmffi_i_say(&p, " arguments");
  }
  return tvmffi_i_raise_said("TypeError", &p);
}

#if !TVMFFI_NO_TYPES || !defined(TVMFFI_IMPLEMENTATION)
TVMFFI_I_COLD const char *tvmffi_i_type_key(int32_t index) {
  const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(index);
  return info ? info->type_key.data : "an unregistered type";
}
#endif

TVMFFI_I_COLD void tvmffi_i_say_got(tvmffi_i_parts *p,
                                    const tvmffi_i_name *type,
                                    const TVMFFIAny *any, int why);

/* Says which item of a sequence is answered by `why`; 0 if none is. */
TVMFFI_I_COLD int tvmffi_i_say_item(tvmffi_i_parts *p,
                                    const tvmffi_i_compound *of,
                                    const TVMFFIAny *any, int why) {
  const TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, any->v_obj);
  const TVMFFIAny *items = (const TVMFFIAny *)cell->data;
  TVMFFIAny to;
  int64_t i;
  for (i = 0; i < cell->size; ++i) {
    int code = of->cast[0](of->of[0], items + i, &to);
    if (code == TVMFFI_I_CONVERTED) tvmffi_any_release(&to);
    if (code != why) continue;
    tvmffi_i_say(p, of->base.name);
    tvmffi_i_say(p, "[index ");
    tvmffi_i_say_number(p, i);
    tvmffi_i_say(p, ": ");
    tvmffi_i_say_got(p, of->of[0], items + i, why);
    tvmffi_i_say(p, "]");
    return 1;
  }
  return 0;
}

/* The same of a map, whose pair is found by walking over it. */
TVMFFI_I_COLD int tvmffi_i_say_pair(tvmffi_i_parts *p,
                                    const tvmffi_i_compound *of,
                                    const TVMFFIAny *any, int why) {
  uint64_t at = tvmffi_i_map_begin(any->v_obj);
  const tvmffi_i_pair *pair;
  TVMFFIAny to;
  int i;
  for (; (pair = tvmffi_i_map_pair(any->v_obj, at)) != NULL;
       at = tvmffi_i_map_after(any->v_obj, at))
    for (i = 0; i < 2; ++i) {
      const TVMFFIAny *item = i ? &pair->value : &pair->key;
      int code = of->cast[i](of->of[i], item, &to);
      if (code == TVMFFI_I_CONVERTED) tvmffi_any_release(&to);
      if (code != why) continue;
      tvmffi_i_say(p, of->base.name);
      tvmffi_i_say(p, i ? "[K, some value is " : "[some key is ");
      tvmffi_i_say_got(p, of->of[i], item, why);
      tvmffi_i_say(p, i ? "]" : ", V]");
      return 1;
    }
  return 0;
}

/* Says what a value is that a type's getter answered with `why`: the number
   that is out of range, else its type key; or where in it that is. Recurses as
   deep as the type was written. */
TVMFFI_I_COLD void tvmffi_i_say_got(tvmffi_i_parts *p,
                                    const tvmffi_i_name *type,
                                    const TVMFFIAny *any, int why) {
  const tvmffi_i_compound *of = tvmffi_i_compound_of(type);
  int32_t got = any->type_index;
  int said = 0;
  if (tvmffi_i_is_optional(type)) {
    tvmffi_i_say_got(p, of->of[0], any, why);
    return;
  }
  if (of && (of->of[1] ? got == kTVMFFIMap || got == kTVMFFIDict
                       : got == kTVMFFIArray || got == kTVMFFIList))
    said = of->of[1] ? tvmffi_i_say_pair(p, of, any, why)
                     : tvmffi_i_say_item(p, of, any, why);
  if (said) return;
  if (why >= TVMFFI_I_RANGE && TVMFFI_I_IS_INT(any))
    tvmffi_i_say_number(p, any->v_int64);
  else
    tvmffi_i_say(p, tvmffi_i_type_key(got));
}

/* Says the integer type of a code from TVMFFI_I_RANGE on. */
TVMFFI_I_COLD void tvmffi_i_say_width(tvmffi_i_parts *p, int code) {
  tvmffi_i_say(p, code & TVMFFI_I_UNSIGNED ? "uint" : "int");
  tvmffi_i_say_number(p, code % TVMFFI_I_UNSIGNED * 8);
}

/* Raises for argument `i`, which a getter answered with `code`. */
TVMFFI_I_COLD int tvmffi_i_bad_arg(const tvmffi_func *f, int32_t i,
                                   const TVMFFIAny *args, int code) {
  const int range = code >= TVMFFI_I_RANGE;
  tvmffi_i_parts p;
  p.size = p.numbers = 0;
  if (code < 0) return code;
  tvmffi_i_say(&p, range ? "Value out of range in argument #"
                         : "Mismatched type on argument #");
  tvmffi_i_say_number(&p, i);
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

/* Raises for a value with an integer that does not fit where it is to go. */
TVMFFI_I_COLD int tvmffi_i_bad_range(const tvmffi_i_name *type,
                                     const TVMFFIAny *any, int code) {
  tvmffi_i_parts p;
  p.size = p.numbers = 0;
  tvmffi_i_say(&p, "The value ");
  tvmffi_i_say_got(&p, type, any, code);
  tvmffi_i_say(&p, " is out of range of ");
  tvmffi_i_say_width(&p, code);
  return tvmffi_i_raise_said("OverflowError", &p);
}

/* Both, with all arguments of the call where they are, so that a call that goes
   well moves none. */
TVMFFI_I_COLD int tvmffi_i_refuse(const tvmffi_func *f, const TVMFFIAny *args,
                                  int32_t count, const TVMFFIAny *result,
                                  int32_t bad, int code) {
  return code ? tvmffi_i_bad_arg(f, bad, args, code)
              : tvmffi_i_bad_call(f, count, result);
}

/* Gives the code of a body that failed. Callers look into the slot then, and
   Python's package crashes if it finds no error there. */
TVMFFI_I_COLD int tvmffi_i_failed(const tvmffi_func *f, int code) {
  TVMFFIObject *error;
  if (code == -2) return code; /* the environment holds it */
  error = tvmffi_error_take();
  if (!error)
    return TVMFFI_RAISE("RuntimeError", "%s returned %d, but raised no error",
                        f->name, code);
  (void)tvmffi_error_raise(error);
  return code;
}
TVMFFI_I_INLINE int tvmffi_i_checked(const tvmffi_func *f, int code) {
  return TVMFFI_I_UNLIKELY(code) ? tvmffi_i_failed(f, code) : 0;
}
#define TVMFFI_I_CHECKED(f, code) tvmffi_i_checked(f, code)

/* Writes {"type_schema": ...} of a function, JSON within JSON as upstream has
   it, into TVMFFI_I_METADATA bytes: 4096 suffice for 17 types of 230. What
   finds no room is counted all the same. */
enum { TVMFFI_I_METADATA = 4 * TVMFFI_MESSAGE_SIZE };
