/* ======== JSON reader: values from JSON text =========== >>extra/json_read */
/* Parses JSON (RFC 8259) into values. Also accepts what upstream's
   json_parser.cc accepts: NaN, Infinity, numbers such as "01" and "+.5", and
   strings that are not UTF-8, whose bytes are copied. json_strict.h refuses all
   of these.
   Nesting uses a stack on the heap, so only memory limits its depth. Threads
   share no state.

   Two caches make texts with many similar objects fast. Key prediction: the
   reader expects the key that followed the current key last time, and compares
   it with the text in one step. Templates: an object with the same keys as an
   earlier object copies that object's hash table layout without hashing. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../containers.h"

#if !TVMFFI_NO_EXTRA
/* Numbers of entries in the template cache and in the key cache. */
enum { TVMFFI_I_JSON_SHAPES = 8, TVMFFI_I_JSON_KEYS = 64 };
/* Maximum length of a key that the reader predicts, in bytes of the JSON text
   with quotes and colon. */
enum { TVMFFI_I_JSON_KEY_MAX = 31 };
enum { TVMFFI_I_JSON_BITS = 7, TVMFFI_I_JSON_PLACES = 1 << TVMFFI_I_JSON_BITS };
/* After this many starts with an empty key cache, the reader adds no new
   key. */
enum { TVMFFI_I_JSON_STARTS = 8 };

/* An entry of the key cache. `first` and `rest` are the key's bytes in the JSON
   text, from the first quote to the colon. A key that is too long to predict
   has `mask` 0 and `first` 1, which no text matches. */
typedef struct tvmffi_i_json_known {
  struct tvmffi_i_json_known *next; /* key that followed this key last time */
  uint64_t first, mask; /* the first bytes; 255 for each of these bytes */
  char rest[TVMFFI_I_JSON_KEY_MAX - 8];
  uint8_t size;  /* number of bytes in the JSON text */
  TVMFFIAny key; /* owned */
} tvmffi_i_json_known;

typedef struct {
  size_t n;
  uint8_t places[TVMFFI_I_JSON_PLACES]; /* hash table of index + 1, or 0 */
  tvmffi_i_json_known known[TVMFFI_I_JSON_KEYS];
} tvmffi_i_json_keys;

typedef struct {
  const char *begin, *end;
  const char *at; /* position; fast paths use a local variable */
  /* Stack of owned values. A key comes before its value. The start of an
     array or object pushes an integer that saves the parent's state: v_int64
     holds the index of the parent's first value, zero_padding holds the
     parent's closing bracket. */
  TVMFFIAny *values;
  size_t num_values, room_values;
  tvmffi_i_text_buffer text; /* the current string, with its escapes decoded */
  /* Templates (owned). The index is a hash of the keys. */
  tvmffi_i_map_object *shapes[TVMFFI_I_JSON_SHAPES];
  tvmffi_i_json_keys *keys;   /* NULL until the first key is cached */
  tvmffi_i_json_known *last;  /* the last key read, or &no_key */
  tvmffi_i_json_known no_key; /* equals no text */
  /* num_vain: misses of the key cache since the last hit. num_starts: how often
     the key cache started empty. */
  unsigned num_vain, num_starts;
} tvmffi_i_json_reader;

/* Raises ValueError with the line and column of `at`. */
TVMFFI_I_SLOW int tvmffi_i_json_error(const tvmffi_i_json_reader *r,
                                      const char *at, const char *what) {
  const char *line = r->begin, *p;
  long long count = 1;
  for (p = r->begin; p < at; ++p) {
    if (*p != '\n') continue;
    ++count;
    line = p + 1;
  }
  return tvmffi_i_fail("ValueError", "%s: line %lld column %lld (char %lld)",
                       what, count, (long long)(at - line) + 1,
                       (long long)(at - r->begin));
}

TVMFFI_I_SLOW int tvmffi_i_json_no_value(const tvmffi_i_json_reader *r,
                                         const char *at) {
  return tvmffi_i_json_error(r, at, "Expecting value");
}

/* Returns the index, in memory order, of the first nonzero byte of a word. The
   word must not be 0. For little-endian machines only. */
#if TVMFFI_I_GNU && defined(__BYTE_ORDER__) && \
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define TVMFFI_I_BYTES_BEFORE(found) ((unsigned)__builtin_ctzll(found) / 8)
#endif

/* Skips white space, eight spaces at a time, because most white space is
   indentation. */
TVMFFI_I_NOINLINE const char *tvmffi_i_json_spaces(const char *p,
                                                   const char *end) {
  for (; p != end; ++p) {
    if (*p != ' ' && *p != '\n' && *p != '\t' && *p != '\r') return p;
#if defined(TVMFFI_I_BYTES_BEFORE)
    for (; end - p > 8; p += 8) {
      uint64_t word;
      memcpy(&word, p + 1, 8);
      word ^= UINT64_MAX / 255 * ' ';
      if (!word) continue;
      p += TVMFFI_I_BYTES_BEFORE(word);
      break;
    }
#endif
  }
  return p;
}

TVMFFI_I_INLINE const char *tvmffi_i_json_skip(const char *p, const char *end) {
  if (p != end && (unsigned char)*p > ' ') return p;
  if (end - p > 1 && *p == ' ' && (unsigned char)p[1] > ' ') return p + 1;
  return tvmffi_i_json_spaces(p, end);
}

TVMFFI_I_INLINE int tvmffi_i_json_peek(const tvmffi_i_json_reader *r) {
  return r->at != r->end ? (unsigned char)*r->at : -1;
}

static int tvmffi_i_json_match(tvmffi_i_json_reader *r, const char *word) {
  size_t n = strlen(word);
  if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0) return 0;
  r->at += n;
  return 1;
}

/* Finds the first byte below `c` (at most 128) in a word. Returns 0 if there is
   none. Otherwise the lowest set bit of the result is the highest bit of the
   byte found. Higher bits of the result may be wrong. */
TVMFFI_I_INLINE uint64_t tvmffi_i_bytes_below(uint64_t word, unsigned c) {
  const uint64_t ones = UINT64_MAX / 255;
  return (word - ones * c) & ~word & ones * 128;
}

/* Finds the first byte equal to `c` in a word. Returns a result like
   tvmffi_i_bytes_below. */
TVMFFI_I_INLINE uint64_t tvmffi_i_bytes_are(uint64_t word, unsigned c) {
  return tvmffi_i_bytes_below(word ^ (UINT64_MAX / 255 * c), 1);
}

/* Finds the first quote, backslash or control character in a word. Returns a
   result like tvmffi_i_bytes_below. XOR with 2 makes the quote 32 and keeps
   control characters below 32, so one comparison finds both. */
TVMFFI_I_INLINE uint64_t tvmffi_i_json_special(uint64_t word) {
  return tvmffi_i_bytes_below(word ^ (UINT64_MAX / 255 * ('"' ^ ' ')), 33) |
         tvmffi_i_bytes_are(word, '\\');
}

/* Writes a value by two 8-byte stores. Read such a value by 8-byte loads: a
   16-byte load would stall (see tvmffi_i_bits). */
TVMFFI_I_INLINE void tvmffi_i_json_set(TVMFFIAny *out, int32_t index,
                                       uint32_t padding, uint64_t word) {
  tvmffi_i_store_bits(out, tvmffi_i_make_bits(index, padding, word));
}

TVMFFI_I_INLINE void tvmffi_i_json_set_object(TVMFFIAny *out, int32_t index,
                                              void *object) {
  tvmffi_i_json_set(out, index, 0, 0);
  out->v_obj = (TVMFFIObject *)object;
}

TVMFFI_I_INLINE void tvmffi_i_json_move(TVMFFIAny *to, const TVMFFIAny *from) {
  tvmffi_i_bits bits;
  memcpy(&bits.head, (const void *)from, 8);
  bits.word = from->v_uint64;
#if TVMFFI_I_GNU
  __asm__("" : "+r"(bits.head));
#endif
  tvmffi_i_store_bits(to, bits);
}

/* Reads four hexadecimal digits. Returns their value, or -1. */
static int32_t tvmffi_i_json_hex(tvmffi_i_json_reader *r) {
  int32_t x = 0;
  int i, c;
  for (i = 0; i < 4; ++i, ++r->at) {
    c = tvmffi_i_json_peek(r);
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
  for (i = n; --i > 0; c >>= 6) utf8[i] = (char)(0x80 | (c & 0x3F));
  utf8[0] = (char)(n > 1 ? (0xF00u >> n & 0xFF) | c : c);
  tvmffi_i_text_put(b, utf8, n);
}

/* Reads the four digits after "\u", and the second escape of a surrogate pair.
   Appends the character to r->text as UTF-8. */
static int tvmffi_i_json_unicode(tvmffi_i_json_reader *r) {
  const char *start = r->at - 1;
  int32_t x = tvmffi_i_json_hex(r), high = x - 0xD800;
  if (high >= 0 && high < 0x800) {
    if (high >= 0x400 || !tvmffi_i_json_match(r, "\\u")) goto unpaired;
    start = r->at;
    x = tvmffi_i_json_hex(r);
    if (x >= 0 && (x < 0xDC00 || x > 0xDFFF)) goto unpaired;
    if (x >= 0) x += (high << 10) - 0xDC00 + 0x10000;
  }
  if (x < 0) return tvmffi_i_json_error(r, start, "Invalid \\uXXXX escape");
  tvmffi_i_put_code_point(&r->text, (uint32_t)x);
  return 0;
unpaired:
  return tvmffi_i_json_error(r, start,
                             "Invalid surrogate pair of \\uXXXX escapes");
}

/* Skips the characters of a string up to a quote, backslash or control
   character. */
TVMFFI_I_INLINE const char *tvmffi_i_json_plain(const char *p,
                                                const char *end) {
  for (; end - p >= 8; p += 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    word = tvmffi_i_json_special(word);
    if (!word) continue;
#if defined(TVMFFI_I_BYTES_BEFORE)
    return p + TVMFFI_I_BYTES_BEFORE(word);
#else
    break;
#endif
  }
  while (p != end && *p != '"' && *p != '\\' && (unsigned char)*p >= ' ') ++p;
  return p;
}

/* The characters that may follow a backslash, and, in the same order, the bytes
   that they stand for. */
#define TVMFFI_I_JSON_ESCAPES "\"\\/bfnrt"
#define TVMFFI_I_JSON_ESCAPED "\"\\/\b\f\n\r\t"

/* Reads a string whose first escape or invalid byte is at r->at. `start` is the
   opening quote. Makes a string object even from a short string, as upstream
   does, because Python code sees the difference. */
static int tvmffi_i_json_escaped(tvmffi_i_json_reader *r, const char *start,
                                 TVMFFIAny *out) {
  const char *names = TVMFFI_I_JSON_ESCAPES, *bytes = TVMFFI_I_JSON_ESCAPED;
  const char *from = start + 1;
  int c, i;
  r->text.size = 0;
  for (;;) {
    r->at = tvmffi_i_json_plain(r->at, r->end);
    c = tvmffi_i_json_peek(r);
    if (c == -1)
      return tvmffi_i_json_error(r, start, "Unterminated string starting at");
    if (c < ' ')
      return tvmffi_i_json_error(r, r->at, "Invalid control character at");
    tvmffi_i_text_put(&r->text, from, (size_t)(r->at - from));
    ++r->at;
    if (c == '"') break;
    c = tvmffi_i_json_peek(r);
    for (i = 0; names[i] && names[i] != c; ++i) {
    }
    if (names[i]) {
      tvmffi_i_text_char(&r->text, bytes[i]);
      ++r->at;
    } else if (c == 'u') {
      ++r->at;
      TVMFFI_TRY(tvmffi_i_json_unicode(r));
    } else {
      return tvmffi_i_json_error(r, r->at, "Invalid \\escape");
    }
    from = r->at;
  }
  if (r->text.failed) return tvmffi_i_no_memory();
  return tvmffi_i_make_large(r->text.data, r->text.size, kTVMFFIStr, out);
}

TVMFFI_I_NOINLINE const char *tvmffi_i_json_long_string(tvmffi_i_json_reader *r,
                                                        const char *start,
                                                        TVMFFIAny *out) {
  const char *p = tvmffi_i_json_plain(start, r->end);
  tvmffi_i_string *s;
  size_t size;
  if (p == r->end || *p != '"') {
    r->at = p;
    return tvmffi_i_json_escaped(r, start - 1, out) ? NULL : r->at;
  }
  size = (size_t)(p - start);
  if (size < sizeof(out->v_bytes)) {
    tvmffi_i_json_set(out, kTVMFFISmallStr, (uint32_t)size,
                      tvmffi_i_small_text(start, size));
    return p + 1;
  }
  s = tvmffi_i_new_string(size, kTVMFFIStr);
  if (!s) return NULL;
  memcpy((void *)(s + 1), start, 8);
  if (size <= 16)
    memcpy((char *)(s + 1) + size - 8, p - 8, 8);
  else
    memcpy((void *)(s + 1), start, size);
  tvmffi_i_json_set_object(out, kTVMFFIStr, s);
  return p + 1;
}

/* Reads a string whose opening quote is at p. Returns the end of the string, or
   NULL on error. */
TVMFFI_I_INLINE const char *tvmffi_i_json_string(tvmffi_i_json_reader *r,
                                                 const char *p, const char *end,
                                                 TVMFFIAny *out) {
#if defined(TVMFFI_I_BYTES_BEFORE)
  uint64_t word, found;
  size_t size;
  if (end - p > 8) {
    memcpy(&word, p + 1, 8);
    found = tvmffi_i_json_special(word);
    size = found ? TVMFFI_I_BYTES_BEFORE(found) : 0;
    if (found && p[size + 1] == '"') {
      tvmffi_i_json_set(out, kTVMFFISmallStr, (uint32_t)size,
                        word & (((uint64_t)1 << 8 * size) - 1));
      return p + size + 2;
    }
  }
#endif
  (void)end;
  return tvmffi_i_json_long_string(r, p + 1, out);
}

TVMFFI_I_INLINE int tvmffi_i_is_digit(const char *p, const char *end) {
  return p != end && *p >= '0' && *p <= '9';
}

TVMFFI_I_INLINE int tvmffi_i_json_in_number(const char *p, const char *end) {
  return tvmffi_i_is_digit(p, end) ||
         (p != end &&
          (*p == '.' || (*p | 32) == 'e' || *p == '+' || *p == '-'));
}

/* Converts eight decimal digits to a number. Each byte of `word` is a digit's
   value, the first digit in the lowest byte. Joins digits to pairs, pairs to
   fours, and the two fours. */
TVMFFI_I_INLINE uint64_t tvmffi_i_json_join_digits(uint64_t word) {
  word = word * (1 + (10 << 8)) >> 8;
  word = (word & 0x00FF00FF00FF00FFu) * (1 + (100 << 16)) >> 16;
  return (word & 0x0000FFFF0000FFFFu) * (1 + ((uint64_t)10000 << 32)) >> 32;
}

#if defined(TVMFFI_I_BYTES_BEFORE)
/* Reads the leading digits of the eight bytes at p. Sets *x to their value, and
   returns how many digits there are. */
TVMFFI_I_INLINE unsigned tvmffi_i_json_8_digits(const char *p, uint64_t *x) {
  const uint64_t ones = UINT64_MAX / 255;
  uint64_t word, other;
  unsigned n;
  memcpy(&word, p, 8);
  word ^= ones * '0';
  /* Marks bytes of 10 or more, which are not digits. */
  other = ((word + ones * 0x76) | word) & ones * 128;
  n = other ? TVMFFI_I_BYTES_BEFORE(other) : 8;
  *x = n ? tvmffi_i_json_join_digits(word << (64 - 8 * n)) : 0;
  return n;
}
#endif

/* Appends the decimal digits at p to the number *x, modulo 2^64. Returns the
   end of the digits. */
TVMFFI_I_INLINE const char *tvmffi_i_json_digits(const char *p, const char *end,
                                                 uint64_t *x) {
#if defined(TVMFFI_I_BYTES_BEFORE)
  static const uint32_t tens[] = {1,      10,      100,      1000,     10000,
                                  100000, 1000000, 10000000, 100000000};
  uint64_t more;
  unsigned n;
  while (end - p >= 8) {
    n = tvmffi_i_json_8_digits(p, &more);
    *x = *x * tens[n] + more;
    p += n;
    if (n < 8) return p;
  }
#endif
  for (; tvmffi_i_is_digit(p, end); ++p) *x = *x * 10 + (uint64_t)(*p - '0');
  return p;
}

/* Reads Infinity, -Infinity or NaN. Returns the end of the word, or NULL on
   error. */
TVMFFI_I_COLD const char *tvmffi_i_json_no_digits(const tvmffi_i_json_reader *r,
                                                  const char *start,
                                                  TVMFFIAny *out) {
  const int negative = start != r->end && *start == '-';
  const size_t left = (size_t)(r->end - start) - (size_t)negative;
  if (left >= 8 && memcmp(start + negative, "Infinity", 8) == 0) {
    tvmffi_i_json_set(
        out, kTVMFFIFloat, 0,
        TVMFFI_I_DOUBLE_INFINITY | (negative ? TVMFFI_I_DOUBLE_SIGN : 0));
    return start + negative + 8;
  }
  if (!negative && left >= 3 && memcmp(start, "NaN", 3) == 0) {
    tvmffi_i_json_set(out, kTVMFFIFloat, 0, TVMFFI_I_DOUBLE_NAN);
    return start + 3;
  }
  (void)tvmffi_i_json_no_value(r, start);
  return NULL;
}

/* Tells whether a number fits an int64_t. Its digits are from p to `end`, and x
   is its absolute value modulo 2^64. */
static int tvmffi_i_json_fits(const char *p, const char *end, int negative,
                              uint64_t x) {
  while (p != end && *p == '0') ++p;
  return end - p <= 19 && x <= (uint64_t)INT64_MAX + (unsigned)negative;
}

/* Reads the rest of the number at `start`. The digits before p have been read:
   x is their value modulo 2^64. Returns the end of the number, or NULL on
   error. */
TVMFFI_I_NOINLINE const char *tvmffi_i_json_number_from(tvmffi_i_json_reader *r,
                                                        const char *start,
                                                        const char *p,
                                                        uint64_t x,
                                                        TVMFFIAny *out) {
  const char *end = r->end, *first = start, *last, *point;
  int negative = start != end && *start == '-', below;
  int64_t digits, power = 0, exponent = 0;
  uint64_t bits;
  first += negative;
  if (p == first && p != end && *p == '+' && !negative)
    p = tvmffi_i_json_digits(++first, end, &x);
  digits = p - first;
  if (digits && !tvmffi_i_json_in_number(p, end) &&
      (digits <= 18 || tvmffi_i_json_fits(first, p, negative, x))) {
    tvmffi_i_json_set(out, kTVMFFIInt, 0, negative ? 0 - x : x);
    return p;
  }
  if (p != end && *p == '.') {
    point = ++p;
    p = tvmffi_i_json_digits(p, end, &x);
    power = point - p;
    digits -= power;
  }
  last = p;
  if (!digits) return tvmffi_i_json_no_digits(r, start, out);
  if (p != end && (*p == 'e' || *p == 'E')) {
    ++p;
    below = p != end && *p == '-';
    if (p != end && (*p == '-' || *p == '+')) ++p;
    point = p;
    for (; tvmffi_i_is_digit(p, end); ++p)
      if (exponent < INT64_MAX / 40) exponent = exponent * 10 + (*p - '0');
    if (p == point) goto wrong;
    power += below ? -exponent : exponent;
  }
  if (tvmffi_i_json_in_number(p, end)) goto wrong;
  if ((digits > 19 || !tvmffi_i_short_to_double(x, power, &bits)) &&
      !tvmffi_i_digits_to_double(first, last, power, &bits))
    goto wrong;
  if (negative) bits |= TVMFFI_I_DOUBLE_SIGN;
  tvmffi_i_json_set(out, kTVMFFIFloat, 0, bits);
  return p;
wrong:
  (void)tvmffi_i_json_no_value(r, start);
  return NULL;
}

/* Reads a number. Returns the end of the number, or NULL on error. */
TVMFFI_I_ALWAYS_INLINE const char *tvmffi_i_json_number(tvmffi_i_json_reader *r,
                                                        const char *start,
                                                        const char *end,
                                                        TVMFFIAny *out) {
  int negative = start != end && *start == '-';
  const char *p = start + negative;
  uint64_t x = 0;
#if defined(TVMFFI_I_BYTES_BEFORE)
  unsigned n;
  if (end - p > 8) { /* fast path: up to eight digits */
    n = tvmffi_i_json_8_digits(p, &x);
    p += n;
    if (n && (*p == ',' || (*p | 32) == '}' || (unsigned char)*p <= ' ')) {
      tvmffi_i_json_set(out, kTVMFFIInt, 0, negative ? 0 - x : x);
      return p;
    }
    if (n < 8) return tvmffi_i_json_number_from(r, start, p, x, out);
  }
#endif
  p = tvmffi_i_json_digits(p, end, &x);
  return tvmffi_i_json_number_from(r, start, p, x, out);
}

/* Tells whether two keys have the same characters. A short key is a string
   object, not a small string, if it had escapes in the text. */
TVMFFI_I_INLINE int tvmffi_i_json_same_key(const TVMFFIAny *a,
                                           const TVMFFIAny *b) {
  if (a->v_uint64 == b->v_uint64 && a->type_index == b->type_index &&
      a->zero_padding == b->zero_padding)
    return 1;
  if (a->type_index == kTVMFFISmallStr && b->type_index == kTVMFFISmallStr)
    return 0;
  return tvmffi_i_same_text(tvmffi_any_str(a), tvmffi_any_str(b));
}

/* Makes a map without a hash table, as upstream does for up to three entries.
   Takes ownership of n/2 keys, each followed by its value. If NULL is returned,
   the caller still owns `values`. */
static tvmffi_i_map_object *tvmffi_i_json_row(TVMFFIAny *values, size_t n) {
  tvmffi_i_map_object *m = tvmffi_i_map_new_row(kTVMFFIMap, n / 2);
  tvmffi_i_pair *row, *pair, *last;
  size_t i;
  if (!m) return m;
  row = last = (tvmffi_i_pair *)m->data;
  for (i = 0; i < n; i += 2) {
    for (pair = row; pair != last; ++pair)
      if (tvmffi_i_json_same_key(&pair->key, &values[i])) break;
    if (pair == last) {
      ++last;
      tvmffi_i_json_move(&pair->key, &values[i]);
    } else {
      tvmffi_i_any_release(&values[i]);
      tvmffi_i_any_release(&pair->value);
    }
    tvmffi_i_json_move(&pair->value, &values[i + 1]);
  }
  m->size = (uint64_t)(last - row);
  return m;
}

/* Makes a map with a hash table, as upstream does for four or more entries.
   Duplicate keys count as entries. Takes ownership of n/2 keys, each followed
   by its value. If NULL is returned, the caller still owns those that are not
   None. */
TVMFFI_I_NOINLINE tvmffi_i_map_object *tvmffi_i_json_table(TVMFFIAny *values,
                                                           size_t n) {
  tvmffi_i_map_object *m =
      tvmffi_i_map_new_dense(kTVMFFIMap, tvmffi_i_map_slots(n / 2));
  if (!m || !tvmffi_i_map_take(m, values, n)) return m;
  tvmffi_i_release(m);
  return NULL;
}

/* Tells whether map `m` has the n/2 keys in `values`, in the same order. The
   hash table of m must have at most 16 slots. */
TVMFFI_I_INLINE int tvmffi_i_json_is_shape(const tvmffi_i_map_object *m,
                                           const TVMFFIAny *values, size_t n) {
  const tvmffi_i_map_item *items = tvmffi_i_map_at(m->data, 0);
  uint64_t at = m->head;
  size_t i;
  if (m->size != n / 2) return 0;
  for (i = 0; i < n; i += 2) {
    if (!tvmffi_i_json_same_key(&items[at].pair.key, &values[i])) return 0;
    at = items[at].next;
  }
  return 1;
}

/* Makes a map with the hash table layout of the template `shape`. Moves the
   keys and values in `values` into the map. The keys must equal those of
   `shape`, in the same order. */
static tvmffi_i_map_object *tvmffi_i_json_like(const tvmffi_i_map_object *shape,
                                               const TVMFFIAny *values) {
  const tvmffi_i_map_item *from = tvmffi_i_map_at(shape->data, 0);
  size_t size = TVMFFI_I_MAP_HEAD + tvmffi_i_map_table_bytes(shape->num_slots);
  tvmffi_i_map_object *m = (tvmffi_i_map_object *)tvmffi_i_object(
      size, kTVMFFIMap, tvmffi_i_delete_map);
  tvmffi_i_map_item *items;
  uint64_t at = shape->head;
  if (!m) return m;
  m->data = (char *)m + TVMFFI_I_MAP_HEAD;
  m->size = shape->size;
  m->num_slots = shape->num_slots;
  m->data_deleter = tvmffi_i_map_free_nothing;
  m->fib_shift = shape->fib_shift;
  m->head = shape->head;
  m->tail = shape->tail;
  memcpy(m->data, shape->data, 16);
  items = tvmffi_i_map_at(m->data, 0);
  for (; at != TVMFFI_I_MAP_END; at = from[at].next, values += 2) {
    tvmffi_i_json_move(&items[at].pair.key, &values[0]);
    tvmffi_i_json_move(&items[at].pair.value, &values[1]);
    items[at].prev = from[at].prev;
    items[at].next = from[at].next;
  }
  return m;
}

/* Makes a map from n/2 keys, each followed by its value. Takes ownership of
   `values`. If NULL is returned, the caller still owns those that are not
   None. */
static tvmffi_i_map_object *tvmffi_i_json_object(tvmffi_i_json_reader *r,
                                                 TVMFFIAny *values, size_t n) {
  tvmffi_i_map_object **shape, *m;
  uint64_t hash;
  if (n / 2 < TVMFFI_I_MAP_ROW_MAX) return tvmffi_i_json_row(values, n);
  hash =
      (values[0].v_uint64 ^ values[2].v_uint64 << 1 ^ n) * 0x9E3779B97F4A7C15u;
  shape = &r->shapes[hash >> 32 & (TVMFFI_I_JSON_SHAPES - 1)];
  if (*shape && tvmffi_i_json_is_shape(*shape, values, n))
    return tvmffi_i_json_like(*shape, values);
  m = tvmffi_i_json_table(values, n);
  if (m && m->num_slots <= 16) {
    tvmffi_i_release(*shape);
    tvmffi_i_retain(m);
    *shape = m;
  }
  return m;
}

/* Empties the key cache. */
static void tvmffi_i_json_forget(tvmffi_i_json_reader *r) {
  r->no_key.next = r->last = &r->no_key;
  r->num_vain = 0;
  while (r->keys->n) tvmffi_i_any_release(&r->keys->known[--r->keys->n].key);
  memset(r->keys->places, 0, sizeof(r->keys->places));
}

/* Looks up a key in the key cache. The key was parsed from the `size` bytes at
   p. Records that the key follows the previous key. On a hit, replaces *key by
   the cached string. On a miss, adds the key if an entry is free. */
TVMFFI_I_NOINLINE void tvmffi_i_json_learn(tvmffi_i_json_reader *r,
                                           const char *p, size_t size,
                                           TVMFFIAny *key) {
  TVMFFIByteArray text = tvmffi_any_str(key);
  uint64_t first, last;
  tvmffi_i_json_keys *keys = r->keys;
  tvmffi_i_json_known *k = NULL;
  size_t i;
  /* After many misses in a row, empties the cache. After several times, adds no
     more keys, because the keys of this text do not repeat. */
  if (!keys || r->num_vain == TVMFFI_I_JSON_KEYS) {
    if (r->num_starts == TVMFFI_I_JSON_STARTS) return;
    if (!keys) {
      keys = (tvmffi_i_json_keys *)tvmffi_i_alloc(sizeof(*keys));
      if (!keys) return; /* the cache is optional */
      keys->n = 0;
      r->keys = keys;
    }
    ++r->num_starts;
    tvmffi_i_json_forget(r);
  }
  if (text.size < 8) {
    first = last = tvmffi_i_small_text(text.data, text.size);
  } else {
    memcpy(&first, text.data, 8);
    memcpy(&last, text.data + text.size - 8, 8);
  }
  first = (first ^ last << 1 ^ text.size) * 0x9E3779B97F4A7C15u;
  i = (size_t)(first >> (64 - TVMFFI_I_JSON_BITS));
  for (; keys->places[i]; i = (i + 1) % TVMFFI_I_JSON_PLACES) {
    k = &keys->known[keys->places[i] - 1];
    if (k->key.type_index == key->type_index &&
        tvmffi_i_json_same_key(&k->key, key))
      break;
  }
  if (keys->places[i]) {
    tvmffi_i_any_release(key);
    r->num_vain = 0;
  } else {
    ++r->num_vain;
    if (keys->n == TVMFFI_I_JSON_KEYS) return;
    k = &keys->known[keys->n++];
    keys->places[i] = (uint8_t)keys->n;
    *k = r->no_key;
    k->key = *key;
    if (size <= TVMFFI_I_JSON_KEY_MAX) {
      k->size = (uint8_t)size;
      k->first = 0;
      memcpy(&k->first, p, size < 8 ? size : 8);
      memset(&k->mask, 255, size < 8 ? size : 8);
      if (size > 8) memcpy(k->rest, p + 8, size - 8);
    }
  }
  r->last->next = k;
  r->last = k;
  tvmffi_i_json_move(key, &k->key);
  if (key->type_index == kTVMFFIStr) tvmffi_i_retain(key->v_obj);
}

/* Reads a key and its colon without a guess of the key. Returns the position
   after the colon, or NULL on error. */
TVMFFI_I_NOINLINE const char *tvmffi_i_json_new_key(tvmffi_i_json_reader *r,
                                                    const char *start,
                                                    TVMFFIAny *key) {
  const char *missing = "Expecting property name enclosed in double quotes";
  const char *p = start;
  if (p != r->end && *p == '"') {
    p = tvmffi_i_json_string(r, p, r->end, key);
    if (!p) return p;
    p = tvmffi_i_json_skip(p, r->end);
    if (p != r->end && *p == ':') {
      ++p;
      if (r->end - start >= TVMFFI_I_JSON_KEY_MAX)
        tvmffi_i_json_learn(r, start, (size_t)(p - start), key);
      return p;
    }
    tvmffi_i_any_release(key);
    missing = "Expecting ':' delimiter";
  }
  (void)tvmffi_i_json_error(r, p, missing);
  return NULL;
}

/* Reads a key and its colon. First compares the text with the predicted key:
   the key that followed the previous key last time. Returns the position after
   the colon, or NULL on error. */
TVMFFI_I_INLINE const char *tvmffi_i_json_key(tvmffi_i_json_reader *r,
                                              const char *p, const char *end,
                                              TVMFFIAny *key) {
  tvmffi_i_json_known *k = r->last->next;
  uint64_t word;
  if (end - p < TVMFFI_I_JSON_KEY_MAX) return tvmffi_i_json_new_key(r, p, key);
  memcpy(&word, p, 8);
  if ((word & k->mask) != k->first ||
      (k->size > 8 && memcmp(p + 8, k->rest, k->size - 8u)))
    return tvmffi_i_json_new_key(r, p, key);
  tvmffi_i_json_move(key, &k->key);
  if (k->key.type_index == kTVMFFIStr) tvmffi_i_retain(k->key.v_obj);
  r->last = k;
  return p + k->size;
}

/* Reads a value that is not an array or object. Returns the end of the value,
   or NULL on error. */
TVMFFI_I_INLINE const char *tvmffi_i_json_scalar(tvmffi_i_json_reader *r,
                                                 const char *p, const char *end,
                                                 TVMFFIAny *out) {
  size_t left = (size_t)(end - p);
  if (left && *p == '"') return tvmffi_i_json_string(r, p, end, out);
  if (left >= 4 && *p > '9') {
    if (!memcmp(p, "true", 4)) {
      tvmffi_i_json_set(out, kTVMFFIBool, 0, 1);
      return p + 4;
    }
    if (left >= 5 && !memcmp(p, "false", 5)) {
      tvmffi_i_json_set(out, kTVMFFIBool, 0, 0);
      return p + 5;
    }
    if (!memcmp(p, "null", 4)) {
      tvmffi_i_json_set(out, kTVMFFINone, 0, 0);
      return p + 4;
    }
  }
  return tvmffi_i_json_number(r, p, end, out);
}

/* Makes an array, or a map if `is_object`, from n values. Takes ownership of
   the values. If NULL is returned, the caller still owns those that are not
   None. */
static TVMFFIObject *tvmffi_i_json_make(tvmffi_i_json_reader *r,
                                        TVMFFIAny *values, size_t n,
                                        int is_object) {
  tvmffi_i_seq *s;
  size_t i;
  if (is_object) {
    tvmffi_i_map_object *m = tvmffi_i_json_object(r, values, n);
    return m ? &m->base : NULL;
  }
  s = tvmffi_i_empty_array((int64_t)n);
  if (!s) return NULL;
  for (i = 0; i < n; ++i) tvmffi_i_json_move(&TVMFFI_I_ITEMS(s)[i], &values[i]);
  s->cell.size = (int64_t)n;
  return &s->base;
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
  for (;;) {
    if (TVMFFI_I_UNLIKELY(n + 2 > r->room_values)) {
      out = (TVMFFIAny *)tvmffi_i_larger(r->values, &r->room_values,
                                         sizeof(*out));
      if (!out) goto failed;
      r->values = out;
    }
    out = &r->values[n];
    if (closer == '}') {
      p = tvmffi_i_json_key(r, p, end, out++);
      if (TVMFFI_I_UNLIKELY(!p)) goto failed;
      ++n;
      p = tvmffi_i_json_skip(p, end);
    }
    if (p != end && (*p | 32) == '{') {
      tvmffi_i_json_set(out, kTVMFFIInt, (uint32_t)closer, open);
      open = ++n;
      closer = *p == '{' ? '}' : ']';
      p = tvmffi_i_json_skip(p + 1, end);
      if (p == end || *p != closer) continue;
    } else {
      p = tvmffi_i_json_scalar(r, p, end, out);
      if (TVMFFI_I_UNLIKELY(!p)) goto failed;
      ++n;
      p = tvmffi_i_json_skip(p, end);
    }
    for (;;) { /* closes each container that ends after this value */
      wrong = "Expecting ',' delimiter";
      if (TVMFFI_I_UNLIKELY(!closer)) goto over;
      if (TVMFFI_I_UNLIKELY(p == end)) goto wrong;
      if (TVMFFI_I_LIKELY(*p == ',')) break;
      if (TVMFFI_I_UNLIKELY(*p != closer)) goto wrong;
      out = &r->values[open];
      made = tvmffi_i_json_make(r, out, n - open, closer == '}');
      if (TVMFFI_I_UNLIKELY(!made)) goto failed;
      n = open;
      --out;
      closer = (char)out->zero_padding;
      open = (size_t)out->v_int64;
      tvmffi_i_json_set_object(out, made->type_index, made);
      p = tvmffi_i_json_skip(p + 1, end);
    }
    p = tvmffi_i_json_skip(p + 1, end);
    wrong = "Syntax error near";
    if (TVMFFI_I_UNLIKELY(p == end)) goto wrong;
  }
over:
  r->num_values = n;
  if (p == end) return 0;
  wrong = "Extra data";
wrong:
  (void)tvmffi_i_json_error(r, p, wrong);
failed:
  r->num_values = n;
  return -1;
}

static void tvmffi_i_json_begin_reader(tvmffi_i_json_reader *r,
                                       TVMFFIByteArray text) {
  memset((void *)r, 0, sizeof(*r));
  r->no_key.first = 1;
  r->no_key.next = r->last = &r->no_key;
  r->begin = r->at = text.data;
  r->end = text.data + text.size;
}

static void tvmffi_i_json_end_reader(tvmffi_i_json_reader *r) {
  size_t i;
  while (r->num_values) tvmffi_i_any_release(&r->values[--r->num_values]);
  if (r->keys) tvmffi_i_json_forget(r);
  tvmffi_i_free(r->keys);
  for (i = 0; i < TVMFFI_I_JSON_SHAPES; ++i) tvmffi_i_release(r->shapes[i]);
  tvmffi_i_free(r->values);
  tvmffi_i_text_release(&r->text);
}

/* Parses JSON text. The caller owns *out. Returns 0, or -1 on error. */
static int tvmffi_i_json_parse(TVMFFIByteArray text, TVMFFIAny *out) {
  tvmffi_i_json_reader r;
  int code;
  tvmffi_i_json_begin_reader(&r, text);
  code = tvmffi_i_json_read(&r);
  if (!code) *out = r.values[--r.num_values];
  tvmffi_i_json_end_reader(&r);
  return code;
}
#endif
