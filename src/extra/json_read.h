/* ======== JSON reader: values from JSON text =========== >>extra/json_read */
/* Parses JSON (RFC 8259) into values. Also accepts what upstream's
   json_parser.cc accepts: NaN, Infinity, numbers such as "01" and "+.5", and
   strings that are not UTF-8, whose bytes are copied. json_strict.h refuses all
   of these.
   Nesting uses a stack on the heap, so only memory limits its depth. Threads
   share no state. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../containers.h"

#if !TVMFFI_NO_EXTRA
typedef struct {
  const char *begin, *end;
  /* Stack of owned values. A key comes before its value. The start of an
     array or object pushes an integer that saves the parent's state: v_int64
     holds the index of the parent's first value, zero_padding holds the
     parent's closing bracket. */
  TVMFFIAny *values;
  size_t num_values, room_values;
  tvmffi_i_text_buffer text; /* the current string, with its escapes decoded */
} tvmffi_i_json_reader;

/* The functions below read from p. They return the end of what they have read,
   or NULL with the error raised. */

/* Raises ValueError with the line and column of p. Returns NULL. */
TVMFFI_I_SLOW const char *tvmffi_i_json_error(const tvmffi_i_json_reader *r,
                                              const char *p, const char *what) {
  const char *line = r->begin, *at;
  long long count = 1;
  TVMFFI_ASSERT(p >= r->begin && p <= r->end);
  for (at = r->begin; at < p; ++at) {
    if (*at != '\n') continue;
    ++count;
    line = at + 1;
  }
  (void)tvmffi_i_value_error("%s: line %lld column %lld (char %lld)", what,
                             count, (long long)(p - line) + 1,
                             (long long)(p - r->begin));
  return NULL;
}

TVMFFI_I_SLOW const char *tvmffi_i_json_no_value(const tvmffi_i_json_reader *r,
                                                 const char *p) {
  return tvmffi_i_json_error(r, p, "Expecting value");
}

/* Skips white space. Mostly there is none, which one comparison tells. */
TVMFFI_I_INLINE const char *tvmffi_i_json_skip(const char *p, const char *end) {
  while (p != end && (unsigned char)*p <= ' ' &&
         (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
    ++p;
  return p;
}

/* Returns the end of `word`, or NULL (without an error) if it is not at p. */
static const char *tvmffi_i_json_match(const char *p, const char *end,
                                       const char *word) {
  size_t n = strlen(word);
  return (size_t)(end - p) >= n && !memcmp(p, word, n) ? p + n : NULL;
}

/* -------- Strings -------- */

/* Returns the value of four hexadecimal digits, or -1. */
static int32_t tvmffi_i_json_hex(const char *p, const char *end) {
  int32_t x = 0;
  int i, c;
  TVMFFI_ASSERT(p <= end);
  if (end - p < 4) return -1;
  for (i = 0; i < 4; ++i) {
    c = p[i];
    if (c >= '0' && c <= '9')
      c -= '0';
    else if ((c | 32) >= 'a' && (c | 32) <= 'f')
      c = (c | 32) - 'a' + 10;
    else
      return -1;
    x = x * 16 + c;
  }
  return x;
}

static void tvmffi_i_put_code_point(tvmffi_i_text_buffer *b, uint32_t c) {
  const size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  char utf8[4];
  size_t i;
  TVMFFI_ASSERT(c < 0x110000 && (c < 0xD800 || c > 0xDFFF));
  for (i = n; --i > 0; c >>= 6) utf8[i] = (char)(0x80 | (c & 0x3F));
  utf8[0] = (char)(n > 1 ? (0xF00u >> n & 0xFF) | c : c);
  tvmffi_i_text_put(b, utf8, n);
}

/* Reads the digits after "\u", and the second escape of a surrogate pair.
   Appends the character to r->text as UTF-8. */
static const char *tvmffi_i_json_unicode(tvmffi_i_json_reader *r,
                                         const char *p) {
  const char *start = p - 1;
  int32_t x = tvmffi_i_json_hex(p, r->end), high = x - 0xD800;
  TVMFFI_ASSERT(start > r->begin && *start == 'u');
  if (high >= 0 && high < 0x800) {
    p = high < 0x400 ? tvmffi_i_json_match(p + 4, r->end, "\\u") : NULL;
    if (!p) goto unpaired;
    start = p;
    x = tvmffi_i_json_hex(p, r->end);
    if (x >= 0 && (x < 0xDC00 || x > 0xDFFF)) goto unpaired;
    if (x >= 0) x += (high << 10) - 0xDC00 + 0x10000;
  }
  if (x < 0) return tvmffi_i_json_error(r, start, "Invalid \\uXXXX escape");
  tvmffi_i_put_code_point(&r->text, (uint32_t)x);
  return p + 4;
unpaired:
  return tvmffi_i_json_error(r, start,
                             "Invalid surrogate pair of \\uXXXX escapes");
}

/* Returns 0 if no byte of a word is below `c`. */
TVMFFI_I_INLINE size_t tvmffi_i_bytes_below(size_t word, unsigned c) {
  const size_t ones = SIZE_MAX / 255;
  TVMFFI_ASSERT(c <= 128);
  return (word - ones * c) & ~word & ones * 128;
}

/* Returns 0 if no byte of a word is `c`. */
TVMFFI_I_INLINE size_t tvmffi_i_bytes_equal(size_t word, unsigned c) {
  return tvmffi_i_bytes_below(word ^ SIZE_MAX / 255 * c, 1);
}

/* Skips the characters of a string up to a quote, backslash or control
   character. If `written`, the string is being written: stops at / and DEL,
   too, which the reader accepts but the writer escapes. */
TVMFFI_I_INLINE const char *tvmffi_i_json_plain(const char *p, const char *end,
                                                int written) {
  const ptrdiff_t size = (ptrdiff_t)sizeof(size_t);
  size_t word, found;
  TVMFFI_ASSERT(p <= end);
  for (; end - p >= size; p += size) {
    memcpy(&word, p, sizeof(word));
    found = tvmffi_i_bytes_below(word, ' ') |
            tvmffi_i_bytes_equal(word, '"') | tvmffi_i_bytes_equal(word, '\\');
    if (written)
      found |=
          tvmffi_i_bytes_equal(word, '/') | tvmffi_i_bytes_equal(word, 0x7F);
    if (found) break;
  }
  while (p != end && (unsigned char)*p >= ' ' && *p != '"' && *p != '\\' &&
         (!written || (*p != '/' && *p != 0x7F)))
    ++p;
  return p;
}

/* The characters that may follow a backslash, and, in the same order, the bytes
   that they stand for. */
#define TVMFFI_I_JSON_ESCAPES "\"\\/bfnrt"
#define TVMFFI_I_JSON_ESCAPED "\"\\/\b\f\n\r\t"

/* Reads the rest of an escape, after the backslash. Appends its character to
   r->text. */
static const char *tvmffi_i_json_escape(tvmffi_i_json_reader *r,
                                        const char *p) {
  static const char names[] = TVMFFI_I_JSON_ESCAPES;
  const char *name = p != r->end && *p ? strchr(names, *p) : NULL;
  TVMFFI_ASSERT(p > r->begin && p[-1] == '\\');
  if (name) {
    tvmffi_i_text_char(&r->text, TVMFFI_I_JSON_ESCAPED[name - names]);
    return p + 1;
  }
  return p != r->end && *p == 'u'
             ? tvmffi_i_json_unicode(r, p + 1)
             : tvmffi_i_json_error(r, p, "Invalid \\escape");
}

/* Reads a string whose first escape or invalid byte is at p. `from` is its
   first character. Makes a string object even from a short string, as upstream
   does, because Python code sees the difference. */
static const char *tvmffi_i_json_escaped(tvmffi_i_json_reader *r,
                                         const char *from, const char *p,
                                         TVMFFIAny *out) {
  const char *start = from - 1;
  TVMFFI_ASSERT(start >= r->begin && *start == '"' && p >= from);
  r->text.size = 0;
  for (;; p = tvmffi_i_json_plain(from, r->end, 0)) {
    if (p == r->end)
      return tvmffi_i_json_error(r, start, "Unterminated string starting at");
    if ((unsigned char)*p < ' ')
      return tvmffi_i_json_error(r, p, "Invalid control character at");
    tvmffi_i_text_put(&r->text, from, (size_t)(p - from));
    if (*p++ == '"') break;
    from = tvmffi_i_json_escape(r, p);
    if (!from) return from;
  }
  if (r->text.failed) {
    (void)tvmffi_i_no_memory();
    return NULL;
  }
  return tvmffi_i_make_large(r->text.data, r->text.size, kTVMFFIStr, out) ? NULL
                                                                          : p;
}

/* Reads a string, whose opening quote is at p. */
TVMFFI_I_INLINE const char *tvmffi_i_json_string(tvmffi_i_json_reader *r,
                                                 const char *p,
                                                 TVMFFIAny *out) {
  const char *start = p + 1;
  TVMFFI_ASSERT(p != r->end && *p == '"');
  p = tvmffi_i_json_plain(start, r->end, 0);
  if (p == r->end || *p != '"') return tvmffi_i_json_escaped(r, start, p, out);
  return tvmffi_i_make_string(start, (size_t)(p - start), kTVMFFIStr, out)
             ? NULL
             : p + 1;
}

/* -------- Numbers -------- */

TVMFFI_I_INLINE int tvmffi_i_is_digit(const char *p, const char *end) {
  return p != end && *p >= '0' && *p <= '9';
}

/* Appends the decimal digits at p to the number *x, modulo 2^64. Returns the
   end of the digits. */
TVMFFI_I_INLINE const char *tvmffi_i_json_digits(const char *p, const char *end,
                                                 uint64_t *x) {
  for (; tvmffi_i_is_digit(p, end); ++p) *x = *x * 10 + (uint64_t)(*p - '0');
  return p;
}

TVMFFI_I_INLINE int tvmffi_i_json_in_number(const char *p, const char *end) {
  return p != end && (*p == '.' || (*p | 32) == 'e' || *p == '+' || *p == '-');
}

TVMFFI_I_INLINE void tvmffi_i_json_set_float(TVMFFIAny *out, uint64_t bits) {
  *out = tvmffi_int((int64_t)bits);
  out->type_index = kTVMFFIFloat;
}

/* Reads Infinity, -Infinity or NaN. */
TVMFFI_I_COLD const char *tvmffi_i_json_no_digits(const tvmffi_i_json_reader *r,
                                                  const char *p,
                                                  TVMFFIAny *out) {
  static const struct {
    const char *word;
    uint64_t bits;
  } rows[] = {{"Infinity", TVMFFI_I_DOUBLE_INFINITY},
              {"-Infinity", TVMFFI_I_DOUBLE_INFINITY | TVMFFI_I_DOUBLE_SIGN},
              {"NaN", TVMFFI_I_DOUBLE_NAN}};
  const char *found;
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    found = tvmffi_i_json_match(p, r->end, rows[i].word);
    if (!found) continue;
    tvmffi_i_json_set_float(out, rows[i].bits);
    return found;
  }
  return tvmffi_i_json_no_value(r, p);
}

/* Tells whether a number fits an int64_t. Its digits are from p to `end`, and x
   is its absolute value modulo 2^64. */
TVMFFI_I_INLINE int tvmffi_i_json_fits(const char *p, const char *end,
                                       int negative, uint64_t x) {
  TVMFFI_ASSERT(p < end);
  if (end - p <= 18) return 1;
  while (p != end && *p == '0') ++p;
  return end - p <= 19 && x <= (uint64_t)INT64_MAX + (unsigned)negative;
}

/* Reads an exponent, if there is one, and adds it to *power. Returns NULL,
   without an error, if the number is not well-formed. */
static const char *tvmffi_i_json_exponent(const char *p, const char *end,
                                          int64_t *power) {
  int64_t exponent = 0;
  const char *start;
  int below;
  if (p != end && (*p | 32) == 'e') {
    ++p;
    below = p != end && *p == '-';
    if (below || (p != end && *p == '+')) ++p;
    for (start = p; tvmffi_i_is_digit(p, end); ++p)
      if (exponent < INT64_MAX / 40) exponent = exponent * 10 + (*p - '0');
    if (p == start) return NULL;
    TVMFFI_ASSERT(exponent >= 0);
    *power += below ? -exponent : exponent;
  }
  return tvmffi_i_json_in_number(p, end) ? NULL : p;
}

TVMFFI_I_INLINE const char *tvmffi_i_json_number(tvmffi_i_json_reader *r,
                                                 const char *start,
                                                 TVMFFIAny *out) {
  const char *end = r->end, *p = start, *first, *point;
  int negative = *p == '-';
  int64_t power = 0, digits;
  uint64_t x = 0, bits;
  if (negative || *p == '+') ++p;
  first = p;
  p = tvmffi_i_json_digits(p, end, &x);
  digits = p - first;
  if (digits && !tvmffi_i_json_in_number(p, end) &&
      tvmffi_i_json_fits(first, p, negative, x)) {
    *out = tvmffi_int((int64_t)(negative ? 0 - x : x));
    return p;
  }
  if (p != end && *p == '.') {
    point = ++p;
    p = tvmffi_i_json_digits(p, end, &x);
    power = point - p;
    digits -= power;
    TVMFFI_ASSERT(power <= 0 && digits >= -power);
  }
  if (!digits) return tvmffi_i_json_no_digits(r, start, out);
  point = p;
  p = tvmffi_i_json_exponent(p, end, &power);
  if (!p) return tvmffi_i_json_no_value(r, start);
  if (!TVMFFI_I_FAST_DECIMAL(digits <= 19 &&
                             tvmffi_i_short_to_double(x, power, &bits))) {
    if (!tvmffi_i_digits_to_double(first, point, power, &bits))
      return tvmffi_i_json_no_value(r, start);
  }
  TVMFFI_ASSERT(bits < TVMFFI_I_DOUBLE_INFINITY);
  tvmffi_i_json_set_float(out, negative ? bits | TVMFFI_I_DOUBLE_SIGN : bits);
  return p;
}

/* -------- Values -------- */

/* Reads a value that is not an array or object. */
TVMFFI_I_INLINE const char *tvmffi_i_json_scalar(tvmffi_i_json_reader *r,
                                                 const char *p,
                                                 TVMFFIAny *out) {
  const char *found;
  if (p == r->end) return tvmffi_i_json_no_value(r, p);
  TVMFFI_ASSERT(*p != '{' && *p != '[');
  switch (*p) {
    case '"': return tvmffi_i_json_string(r, p, out);
    case 't':
      *out = tvmffi_bool(1);
      found = tvmffi_i_json_match(p, r->end, "true");
      break;
    case 'f':
      *out = tvmffi_bool(0);
      found = tvmffi_i_json_match(p, r->end, "false");
      break;
    case 'n':
      *out = tvmffi_none();
      found = tvmffi_i_json_match(p, r->end, "null");
      break;
    default: return tvmffi_i_json_number(r, p, out);
  }
  return found ? found : tvmffi_i_json_no_value(r, p);
}

/* Reads a key and its colon. */
TVMFFI_I_INLINE const char *tvmffi_i_json_key(tvmffi_i_json_reader *r,
                                              const char *p, TVMFFIAny *key) {
  if (p == r->end || *p != '"')
    return tvmffi_i_json_error(
        r, p, "Expecting property name enclosed in double quotes");
  p = tvmffi_i_json_string(r, p, key);
  if (!p) return p;
  TVMFFI_ASSERT(p[-1] == '"' && p <= r->end);
  p = tvmffi_i_json_skip(p, r->end);
  if (p != r->end && *p == ':') return p + 1;
  tvmffi_i_any_release(key);
  return tvmffi_i_json_error(r, p, "Expecting ':' delimiter");
}

/* Makes an array, or a map if `is_object`, from n values. Takes ownership of
   the values. If NULL is returned, the caller still owns those that are not
   None. Four entries already get a hash table, as in upstream's CreateFromRange
   (container/map_base.h). */
static TVMFFIObject *tvmffi_i_json_make(TVMFFIAny *values, size_t n,
                                        int is_object) {
  tvmffi_i_map_object *m;
  tvmffi_i_seq *array;
  TVMFFI_ASSERT(!is_object || n % 2 == 0);
  if (!is_object) {
    array = tvmffi_i_empty_array(n);
    if (!array) return NULL;
    if (n) memcpy(array->cell.data, values, n * sizeof(*values));
    array->cell.size = (int64_t)n;
    return &array->base;
  }
  m = n / 2 < TVMFFI_I_MAP_ROW_MAX
          ? tvmffi_i_map_new_row(kTVMFFIMap, n / 2)
          : tvmffi_i_map_new_dense(kTVMFFIMap, tvmffi_i_map_slots(n / 2));
  if (m && !tvmffi_i_map_take(m, values, n)) return &m->base;
  tvmffi_i_release(m);
  return NULL;
}

/* Parses the whole text. On success r->values[0] is the result. The reader owns
   the r->num_values values of its stack, also on failure. */
static int tvmffi_i_json_read(tvmffi_i_json_reader *r) {
  const char *end = r->end, *p = tvmffi_i_json_skip(r->begin, end), *wrong;
  TVMFFIAny *out;
  TVMFFIObject *made;
  /* n is the number of values on the stack. `open` is the index of the
     innermost container's first value. */
  size_t n = 0, open = 0;
  char closer = 0; /* closing bracket of the innermost container, or 0 */
  for (;; r->num_values = n) {
    TVMFFI_ASSERT(n == r->num_values && open <= n);
    TVMFFI_ASSERT(closer != '}' || (n - open) % 2 == 0);
    TVMFFI_I_PUSH_ROOM(TVMFFIAny, r->values, n + 1, r->room_values);
    out = &r->values[n];
    if (closer == '}') {
      p = tvmffi_i_json_key(r, p, out++);
      if (!p) return -1;
      r->num_values = ++n;
      p = tvmffi_i_json_skip(p, end);
    }
    if (p != end && (*p == '{' || *p == '[')) {
      *out = tvmffi_int((int64_t)open);
      out->zero_padding = (uint32_t)closer;
      open = ++n;
      closer = *p == '{' ? '}' : ']';
      p = tvmffi_i_json_skip(p + 1, end);
      if (p == end || *p != closer) continue;
    } else {
      p = tvmffi_i_json_scalar(r, p, out);
      if (!p) return -1;
      ++n;
      p = tvmffi_i_json_skip(p, end);
    }
    TVMFFI_ASSERT(n <= r->room_values);
    r->num_values = n;
    for (;;) { /* closes each container that ends after this value */
      wrong = "Expecting ',' delimiter";
      if (!closer) goto over;
      if (p == end) goto wrong;
      if (*p == ',') break;
      if (*p != closer) goto wrong;
      out = &r->values[open];
      made = tvmffi_i_json_make(out, n - open, closer == '}');
      if (!made) return -1;
      r->num_values = n = open;
      --out;
      TVMFFI_ASSERT(n > 0 && out->type_index == kTVMFFIInt);
      closer = (char)out->zero_padding;
      open = (size_t)out->v_int64;
      TVMFFI_ASSERT(open < n && !closer == !open);
      *out = tvmffi_obj(made);
      p = tvmffi_i_json_skip(p + 1, end);
    }
    p = tvmffi_i_json_skip(p + 1, end);
    wrong = "Syntax error near";
    if (p == end) goto wrong;
  }
over:
  TVMFFI_ASSERT(n == 1 && r->num_values == 1);
  if (p == end) return 0;
  wrong = "Extra data";
wrong:
  (void)tvmffi_i_json_error(r, p, wrong);
  return -1;
}

static void tvmffi_i_json_begin_reader(tvmffi_i_json_reader *r,
                                       TVMFFIByteArray text) {
  TVMFFI_ASSERT(text.data || !text.size);
  memset((void *)r, 0, sizeof(*r));
  r->begin = text.data;
  r->end = text.data + text.size;
}

/* Parses JSON text. The caller owns *out. Returns 0, or -1 on error. */
static int tvmffi_i_json_parse(TVMFFIByteArray text, TVMFFIAny *out) {
  tvmffi_i_json_reader r;
  int code;
  tvmffi_i_json_begin_reader(&r, text);
  code = tvmffi_i_json_read(&r);
  if (!code) *out = r.values[--r.num_values];
  while (r.num_values) tvmffi_i_any_release(&r.values[--r.num_values]);
  tvmffi_i_free(r.values);
  tvmffi_i_text_release(&r.text);
  return code;
}
#endif
