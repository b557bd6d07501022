/* ======== Strict JSON: RFC 8259 and nothing else = >>functions/json_strict */
/* ffi.json.Parse and ffi.json.Stringify equal upstream's, which take strings as
   they are. The functions here also check that a text is UTF-8, without
   surrogates, and that its numbers are those of RFC 8259. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../extra.h"
#include "../interface.h"
#include "json_function.h"

#if !TVMFFI_NO_EXTRA
/* Returns the end of the UTF-8 character at p, or NULL if it is cut, longer
   than necessary, a surrogate or above U+10FFFF. */
static const char *tvmffi_i_utf8_end(const char *p, const char *end) {
  static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
  uint32_t c = (unsigned char)*p;
  const size_t more = c < 0x80 ? 0 : c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;
  size_t i;
  TVMFFI_ASSERT(p < end);
  if (!more) return p + 1;
  if (c < 0xC0 || c > 0xF4 || (size_t)(end - p) <= more) return NULL;
  c &= 0x3Fu >> more;
  for (i = 1; i <= more; ++i) {
    if (((unsigned char)p[i] & 0xC0) != 0x80) return NULL;
    c = c << 6 | ((unsigned char)p[i] & 0x3F);
  }
  return c < least[more] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)
             ? NULL
             : p + more + 1;
}

/* Returns the end of the digits at p, or NULL if there is none. */
static const char *tvmffi_i_json_some_digits(const char *p, const char *end) {
  const char *start = p;
  while (tvmffi_i_is_digit(p, end)) ++p;
  return p == start ? NULL : p;
}

/* Returns the end of the number at p, or NULL if it is not one of RFC 8259. */
static const char *tvmffi_i_json_strict_number(const char *p, const char *end) {
  const char *start;
  TVMFFI_ASSERT(p < end);
  if (*p == '-') ++p;
  start = p;
  p = tvmffi_i_json_some_digits(p, end);
  if (!p || (*start == '0' && p - start > 1)) return NULL;
  if (p != end && *p == '.') p = tvmffi_i_json_some_digits(p + 1, end);
  if (!p || p == end || (*p | 32) != 'e') return p;
  ++p;
  TVMFFI_ASSERT(p != end); /* because the reader needs a digit, too */
  if (*p == '+' || *p == '-') ++p;
  return tvmffi_i_json_some_digits(p, end);
}

/* Checks a text that ffi.json.Parse accepts or ffi.json.Stringify has written:
   it has nothing wrong but what upstream accepts. */
static int tvmffi_i_json_check_strict(TVMFFIByteArray text) {
  const char *p = text.data, *end = text.data + text.size, *next;
  tvmffi_i_json_reader r; /* for the position of an error */
  int in_string = 0;
  tvmffi_i_json_begin_reader(&r, text);
  for (; p != end; p = next) {
    next = p + 1;
    if (in_string) {
      if (*p == '\\')
        ++next;
      else if (!(next = tvmffi_i_utf8_end(p, end)))
        return (void)tvmffi_i_json_error(&r, p, "Invalid UTF-8 at"), -1;
      else
        in_string = *p != '"';
    } else if (*p == '"') {
      in_string = 1;
    } else if (tvmffi_i_is_digit(p, end) || *p == '-' || *p == '+' ||
               *p == '.' || *p == 'N' || *p == 'I') {
      next = tvmffi_i_json_strict_number(p, end);
      if (!next) return (void)tvmffi_i_json_no_value(&r, p), -1;
    }
    TVMFFI_ASSERT(next > p && next <= end);
  }
  TVMFFI_ASSERT(!in_string);
  return 0;
}

/* Parses JSON text like ffi.json.Parse, but only RFC 8259: raises ValueError
   for a string that is not UTF-8 or has a surrogate, for NaN and Infinity, and
   for numbers such as "01" and "+.5". */
TVMFFI_I_BUILTIN_NAMED(i_json_ParseStrict, "tvmffi.json.ParseStrict", any,
                       (str, text)) {
  TVMFFIAny value = tvmffi_none();
  TVMFFI_TRY(tvmffi_i_json_parse(text, &value));
  if (tvmffi_i_json_check_strict(text)) {
    tvmffi_i_any_release(&value);
    return -1;
  }
  *tvmffi_result = value;
  return 0;
}

/* Returns a value as JSON text like ffi.json.Stringify, but only RFC 8259:
   raises ValueError for a string that is not UTF-8 or has a surrogate, and for
   NaN and infinity. The error has the position in the text. */
TVMFFI_I_BUILTIN_NAMED(i_json_StringifyStrict, "tvmffi.json.StringifyStrict",
                       str, (i_view, value), (i_optional_int, indent)) {
  TVMFFIAny args[2], text = tvmffi_none();
  TVMFFI_ASSERT(value);
  args[0] = *value;
  args[1] = tvmffi_int(indent);
  TVMFFI_TRY(
      tvmffi_i_call_typed(&tvmffi_func_i_json_Stringify, args, 2, &text));
  if (tvmffi_i_json_check_strict(tvmffi_any_str(&text))) {
    tvmffi_i_any_release(&text);
    return -1;
  }
  *tvmffi_result = text;
  return 0;
}
#endif
