/* ======== JSON reader: values from JSON text =========== >>extra/json_read */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/word.h"
#include "../interface/map_layout.h"
#include "../platform/libc.h"
#include "../platform/memory.h"
#include "../platform/text.h"
#include "../platform/decimal.h"
#include "../core/raise.h"
#include "../core/object.h"
#include "../core/string.h"
#include "../core/any.h"
#include "../containers/sequence.h"
#include "../containers/map_key.h"
#include "../containers/map_lookup.h"
#include "../containers/map_memory.h"
#include "../containers/map_grow.h"
#include "../containers/map.h"

#if !TVMFFI_NO_EXTRA
/* Objects of one text tend to have the same keys, in the same order. */
enum { TVMFFI_I_JSON_SHAPES = 8, TVMFFI_I_JSON_KEYS = 64 };
enum { TVMFFI_I_JSON_KEY_MAX = 31 }; /* bytes in the text */
enum { TVMFFI_I_JSON_BITS = 7, TVMFFI_I_JSON_PLACES = 1 << TVMFFI_I_JSON_BITS };
/* So often the reader begins to learn keys. */
enum { TVMFFI_I_JSON_STARTS = 8 };

/* A key that was read, as it stood in the text with its quotes and colon. Of
   one for which there is no room `mask` is 0 and `first` is not: no text is it.
 */
typedef struct tvmffi_i_json_known {
  struct tvmffi_i_json_known *next; /* what came after it the last time */
  uint64_t first, mask; /* its first eight bytes, or all; and 255 for each */
  char rest[TVMFFI_I_JSON_KEY_MAX - 8];
  uint8_t size;  /* in the text */
  TVMFFIAny key; /* owned */
} tvmffi_i_json_known;

typedef struct {
  size_t n;
  uint8_t places[TVMFFI_I_JSON_PLACES]; /* by hash: 1 + an index, or 0 */
  tvmffi_i_json_known known[TVMFFI_I_JSON_KEYS];
} tvmffi_i_json_keys;

typedef struct {
  const char *begin, *end;
  const char *at; /* of slow paths; others have it in a register */
  /* A stack of owned values, keys before their values. Before the values of an
     array or an object that has begun stands an integer, where those of the
     one around it begin; its padding is what will close that one. */
  TVMFFIAny *values;
  size_t num_values, room_values;
  tvmffi_i_text_buffer text; /* of a string with escapes */
  /* Objects with tables, one of each hash; owned. */
  tvmffi_i_map_object *shapes[TVMFFI_I_JSON_SHAPES];
  tvmffi_i_json_keys *keys;   /* NULL until the first one is learned */
  tvmffi_i_json_known *last;  /* the key that was read last, or &no_key */
  tvmffi_i_json_known no_key; /* no text is it */
  /* Look-ups since one found a key; beginnings to learn. */
  unsigned num_vain, num_starts;
} tvmffi_i_json_reader;

/* Makes room for more elements of a stack, two at least. */
TVMFFI_I_SLOW int tvmffi_i_grow_stack(void **stack, size_t used, size_t *room,
                                      size_t size) {
  size_t more = *room ? *room * 2 : 32;
  void *grown;
  if (more > PTRDIFF_MAX / size) return tvmffi_i_no_memory();
  grown = tvmffi_i_alloc(more * size);
  if (!grown) return tvmffi_i_no_memory();
  if (used) memcpy(grown, *stack, used * size);
  tvmffi_i_free(*stack);
  *stack = grown;
  *room = more;
  return 0;
}

/* The stack is read as a pointer to void, so it may be of any type. */
#define TVMFFI_I_PUSH_ROOM(type, stack, used, room)                           \
  do {                                                                        \
    if (TVMFFI_I_UNLIKELY((used) == (room))) {                                \
      void *tvmffi_i_moved = (stack);                                         \
      TVMFFI_TRY(                                                             \
          tvmffi_i_grow_stack(&tvmffi_i_moved, used, &(room), sizeof(type))); \
      (stack) = (type *)tvmffi_i_moved;                                       \
    }                                                                         \
  } while (0)

/* All line ends that were passed stood between the tokens. */
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

/* Where eight bytes can be taken apart as a word: how many of them stand before
   the first one that has a bit set in `found`, which is not 0. */
#if TVMFFI_I_GNU && defined(__BYTE_ORDER__) && \
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define TVMFFI_I_BYTES_BEFORE(found) ((unsigned)__builtin_ctzll(found) / 8)
#endif

/* Goes past white space, most of which are the spaces of an indented line. */
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

/* Whether any of eight bytes is less than `c`, at most 128: its highest bit is
   set then, and those of less significant ones are not. */
TVMFFI_I_INLINE uint64_t tvmffi_i_bytes_below(uint64_t word, unsigned c) {
  const uint64_t ones = UINT64_MAX / 255;
  return (word - ones * c) & ~word & ones * 128;
}

/* The same for bytes that are `c`. */
TVMFFI_I_INLINE uint64_t tvmffi_i_bytes_are(uint64_t word, unsigned c) {
  return tvmffi_i_bytes_below(word ^ (UINT64_MAX / 255 * c), 1);
}

/* The same for what ends a string's plain text: a quote, a backslash or a
   control character. XOR with 2 makes quotes 32, next to the control
   characters, which stay such: one comparison finds both. */
TVMFFI_I_INLINE uint64_t tvmffi_i_json_special(uint64_t word) {
  return tvmffi_i_bytes_below(word ^ (UINT64_MAX / 255 * ('"' ^ ' ')), 33) |
         tvmffi_i_bytes_are(word, '\\');
}

/* Values on the stack are written and read as two words, never as one of 16
   bytes: see tvmffi_i_bits. */
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

/* Four hexadecimal digits, or -1. */
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
  char utf8[4];
  size_t n = 1;
  if (c < 0x80) {
    utf8[0] = (char)c;
  } else if (c < 0x800) {
    utf8[0] = (char)(0xC0 | c >> 6);
    n = 2;
  } else if (c < 0x10000) {
    utf8[0] = (char)(0xE0 | c >> 12);
    n = 3;
  } else {
    utf8[0] = (char)(0xF0 | c >> 18);
    n = 4;
  }
  if (n > 1) utf8[n - 1] = (char)(0x80 | (c & 0x3F));
  if (n > 2) utf8[n - 2] = (char)(0x80 | (c >> 6 & 0x3F));
  if (n > 3) utf8[1] = (char)(0x80 | (c >> 12 & 0x3F));
  tvmffi_i_text_put(b, utf8, n);
}

/* Reads what follows "\u", and its second half. */
static int tvmffi_i_json_unicode(tvmffi_i_json_reader *r) {
  const char *start = r->at - 1;
  int32_t first = tvmffi_i_json_hex(r), second;
  if (first < 0) return tvmffi_i_json_error(r, start, "Invalid \\uXXXX escape");
  if (first >= 0xD800 && first <= 0xDFFF) {
    if (first >= 0xDC00 || !tvmffi_i_json_match(r, "\\u"))
      return tvmffi_i_json_error(r, start,
                                 "Invalid surrogate pair of \\uXXXX escapes");
    start = r->at;
    second = tvmffi_i_json_hex(r);
    if (second < 0)
      return tvmffi_i_json_error(r, start, "Invalid \\uXXXX escape");
    if (second < 0xDC00 || second > 0xDFFF)
      return tvmffi_i_json_error(r, start,
                                 "Invalid surrogate pair of \\uXXXX escapes");
    first = ((first - 0xD800) << 10) + (second - 0xDC00) + 0x10000;
  }
  tvmffi_i_put_code_point(&r->text, (uint32_t)first);
  return 0;
}

/* Goes past the plain text of a string. */
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

/* The rest of a string from its first escape or bad byte on. As upstream makes
   it of a std::string, it is an object even if it is short: Python sees that.
 */
static int tvmffi_i_json_escaped(tvmffi_i_json_reader *r, const char *start,
                                 TVMFFIAny *out) {
  static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
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

/* Reads a string, whose quote is at p; gives what follows it. */
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

static TVMFFIAny tvmffi_i_double_of(uint64_t bits) {
  TVMFFIAny any = tvmffi_none();
  any.type_index = kTVMFFIFloat;
  any.v_uint64 = bits;
  return any;
}

TVMFFI_I_INLINE int tvmffi_i_is_digit(const char *p, const char *end) {
  return p != end && *p >= '0' && *p <= '9';
}

/* What may stand in a number; all of it belongs to one. */
TVMFFI_I_INLINE int tvmffi_i_json_in_number(const char *p, const char *end) {
  return tvmffi_i_is_digit(p, end) ||
         (p != end &&
          (*p == '.' || (*p | 32) == 'e' || *p == '+' || *p == '-'));
}

/* Reads a number that is no integer of 64 bits, from behind its sign on. */
static int tvmffi_i_json_float(tvmffi_i_json_reader *r, int negative,
                               uint64_t *bits) {
  const char *p = r->at, *end = r->end;
  tvmffi_i_decimals d;
  int64_t exponent = 0;
  int below, any = 0;
  d.digits.n = 0;
  d.power = d.num_digits = 0;
  d.lost = 0;
  d.chunk = 0;
  d.scale = 1;
  for (; tvmffi_i_is_digit(p, end); ++p, any = 1) tvmffi_i_add_digit(&d, *p);
  if (p != end && *p == '.') {
    for (++p; tvmffi_i_is_digit(p, end); ++p, any = 1) {
      --d.power;
      tvmffi_i_add_digit(&d, *p);
    }
  }
  if (!any) return 0;
  if (p != end && (*p == 'e' || *p == 'E')) {
    ++p;
    below = p != end && *p == '-';
    if (p != end && (*p == '-' || *p == '+')) ++p;
    if (!tvmffi_i_is_digit(p, end)) return 0;
    for (; tvmffi_i_is_digit(p, end); ++p)
      if (exponent < INT64_MAX / 40) exponent = exponent * 10 + (*p - '0');
    d.power += below ? -exponent : exponent;
  }
  r->at = p;
  if (!tvmffi_i_decimals_to_double(&d, bits)) return 0;
  if (negative) *bits |= TVMFFI_I_DOUBLE_SIGN;
  return 1;
}

TVMFFI_I_NOINLINE int tvmffi_i_json_any_number(tvmffi_i_json_reader *r,
                                               TVMFFIAny *out) {
  const char *start = r->at, *end = r->end, *p;
  int negative = start != end && *start == '-', fits = 1;
  uint64_t x = 0, most = (uint64_t)INT64_MAX + (unsigned)negative;
  if (negative || (start != end && *start == '+')) ++r->at;
  if (r->at != end && *r->at == 'I' && (negative || r->at == start)) {
    *out = tvmffi_i_double_of(TVMFFI_I_DOUBLE_INFINITY |
                              (negative ? TVMFFI_I_DOUBLE_SIGN : 0));
    if (tvmffi_i_json_match(r, "Infinity")) return 0;
    return tvmffi_i_json_no_value(r, start);
  }
  if (r->at == start && tvmffi_i_json_match(r, "NaN")) {
    *out = tvmffi_i_double_of(TVMFFI_I_DOUBLE_NAN);
    return 0;
  }
  for (p = r->at; tvmffi_i_is_digit(p, end); ++p) {
    unsigned digit = (unsigned)(*p - '0');
    if (x > (most - digit) / 10) fits = 0;
    if (fits) x = x * 10 + digit;
  }
  if (p != r->at && fits && !tvmffi_i_json_in_number(p, end)) {
    *out = tvmffi_int((int64_t)(negative ? 0 - x : x));
    r->at = p;
    return 0;
  }
  *out = tvmffi_i_double_of(0);
  if (tvmffi_i_json_float(r, negative, &out->v_uint64) &&
      !tvmffi_i_json_in_number(r->at, end))
    return 0;
  return tvmffi_i_json_no_value(r, start);
}

/* Eight digits, less '0' each, the first one in the lowest byte: neighbours are
   put together to pairs, to fours, and these. */
TVMFFI_I_INLINE uint64_t tvmffi_i_json_join_digits(uint64_t word) {
  word = word * (1 + (10 << 8)) >> 8;
  word = (word & 0x00FF00FF00FF00FFu) * (1 + (100 << 16)) >> 16;
  return (word & 0x0000FFFF0000FFFFu) * (1 + ((uint64_t)10000 << 32)) >> 32;
}

#if defined(TVMFFI_I_BYTES_BEFORE)
/* Reads up to eight digits, of eight bytes; gives how many there are. */
TVMFFI_I_INLINE unsigned tvmffi_i_json_8_digits(const char *p, uint64_t *x) {
  const uint64_t ones = UINT64_MAX / 255;
  uint64_t word, other;
  unsigned n;
  memcpy(&word, p, 8);
  word ^= ones * '0';
  other = ((word + ones * 0x76) | word) & ones * 128; /* 10 and more */
  n = other ? TVMFFI_I_BYTES_BEFORE(other) : 8;
  *x = n ? tvmffi_i_json_join_digits(word << (64 - 8 * n)) : 0;
  return n;
}
#endif

/* Goes on with the digits at p. */
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

/* Goes on with a number whose first digits, up to p, are x; gives what follows
   it, or NULL. One of up to 19 digits, or an integer of up to 18, is read here
   unless its double is hard to tell. */
TVMFFI_I_NOINLINE const char *tvmffi_i_json_number_from(tvmffi_i_json_reader *r,
                                                        const char *start,
                                                        const char *p,
                                                        uint64_t x,
                                                        TVMFFIAny *out) {
  const char *end = r->end, *point;
  int negative = start != end && *start == '-', below;
  uint64_t bits, exponent = 0;
  int64_t digits = p - start - negative, power = 0;
  if (!digits) goto slow;
  if (!tvmffi_i_json_in_number(p, end)) {
    if (digits > 18) goto slow;
    tvmffi_i_json_set(out, kTVMFFIInt, 0, negative ? 0 - x : x);
    return p;
  }
  if (*p == '.') {
    point = ++p;
    p = tvmffi_i_json_digits(p, end, &x);
    power = point - p;
    digits -= power;
  }
  if (p != end && (*p == 'e' || *p == 'E')) {
    ++p;
    below = p != end && *p == '-';
    if (p != end && (*p == '-' || *p == '+')) ++p;
    point = p;
    p = tvmffi_i_json_digits(p, end, &exponent);
    if (p == point || p - point > 4) goto slow;
    power += below ? -(int64_t)exponent : (int64_t)exponent;
  }
  if (digits > 19 || tvmffi_i_json_in_number(p, end) ||
      !tvmffi_i_short_to_double(x, (int)power, &bits))
    goto slow;
  if (negative) bits |= TVMFFI_I_DOUBLE_SIGN;
  tvmffi_i_json_set(out, kTVMFFIFloat, 0, bits);
  return p;
slow:
  r->at = start;
  return tvmffi_i_json_any_number(r, out) ? NULL : r->at;
}

/* Reads a number; gives what follows it, or NULL. */
TVMFFI_I_ALWAYS_INLINE const char *tvmffi_i_json_number(tvmffi_i_json_reader *r,
                                                        const char *start,
                                                        const char *end,
                                                        TVMFFIAny *out) {
  int negative = start != end && *start == '-';
  const char *p = start + negative;
  uint64_t x = 0;
#if defined(TVMFFI_I_BYTES_BEFORE)
  unsigned n;
  if (end - p > 8) { /* most are short integers, and end a value */
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

/* Whether two keys are the same text. One with escapes is an object even if it
   is short. */
TVMFFI_I_INLINE int tvmffi_i_json_same_key(const TVMFFIAny *a,
                                           const TVMFFIAny *b) {
  TVMFFIByteArray x, y;
  if (a->v_uint64 == b->v_uint64 && a->type_index == b->type_index &&
      a->zero_padding == b->zero_padding)
    return 1;
  if (a->type_index == kTVMFFISmallStr && b->type_index == kTVMFFISmallStr)
    return 0;
  x = tvmffi_any_str(a);
  y = tvmffi_any_str(b);
  return x.size == y.size && !memcmp(x.data, y.data, x.size);
}

/* The functions below make a map of `n` keys and values (owned, each key before
   its value), which they take, or leave all that is not None to the caller. */

/* A row: upstream's are of up to three entries. */
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
      tvmffi_any_release(&values[i]);
      tvmffi_any_release(&pair->value);
    }
    tvmffi_i_json_move(&pair->value, &values[i + 1]);
  }
  m->size = (uint64_t)(last - row);
  return m;
}

/* The length of a chain that makes the reader sort. A chain of random keys has
   about ten entries at most; a hundred or more have the same hash only in
   objects of millions of keys that are much alike. */
enum { TVMFFI_I_JSON_CHAIN_MAX = 128 };

/* Puts an owned key and value, which it takes, into a table that nobody else
   has. On failure they are still the caller's. *is_long is set if the key's
   chain has become too long. */
static int tvmffi_i_json_move_in(tvmffi_i_map_object *m, TVMFFIAny *key,
                                 TVMFFIAny *value, int *is_long) {
  tvmffi_i_map_key k;
  tvmffi_i_map_place place = {NULL, 0, TVMFFI_I_MAP_END, 0};
  tvmffi_i_pair *pair;
  uint64_t hash;
  int code;
  TVMFFI_TRY(tvmffi_i_map_read_key(key, &k));
  TVMFFI_TRY(tvmffi_i_map_hash(m, &k, &hash));
  code = tvmffi_i_map_find_in_table(m, &k, hash, &place);
  if (code < 0) return code;
  if (code) {
    tvmffi_i_map_renew(m, &place, tvmffi_i_load_bits(value));
    tvmffi_any_release(key);
  } else {
    TVMFFI_TRY(tvmffi_i_map_add_to_table(m, hash, &pair));
    pair->key = *key;
    pair->value = *value;
  }
  *is_long = place.passed > TVMFFI_I_JSON_CHAIN_MAX;
  *key = *value = tvmffi_none();
  return 0;
}

/* Empties a table whose entries are somewhere else, and releases its map. */
static void tvmffi_i_json_discard(tvmffi_i_map_object *m) {
  uint64_t i;
  for (i = 0; i < m->num_slots; i += 16)
    memset(tvmffi_i_map_meta(m->data, i), TVMFFI_I_MAP_EMPTY, 16);
  m->size = 0;
  tvmffi_release(m);
}

static int tvmffi_i_json_compare_keys(const tvmffi_i_pair *a,
                                      const tvmffi_i_pair *b) {
  TVMFFIByteArray x = tvmffi_any_str(&a->key), y = tvmffi_any_str(&b->key);
  if (x.size != y.size) return x.size < y.size ? -1 : 1;
  return x.size ? memcmp(x.data, y.data, x.size) : 0;
}

/* Sorts the indexes of pairs by their keys (a stable merge sort). Both arrays
   have room for `n` numbers; gives the one that has the result. */
static uint64_t *tvmffi_i_json_sort(const tvmffi_i_pair *pairs, size_t n,
                                    uint64_t *from, uint64_t *to) {
  uint64_t *swapped;
  size_t width, first, a, b, middle, end, i;
  for (i = 0; i < n; ++i) from[i] = i;
  for (width = 1; width < n; width *= 2) {
    for (first = 0; first < n; first = end) {
      a = first;
      b = middle = n - first < width ? n : first + width;
      end = n - middle < width ? n : middle + width;
      for (i = first; i < end; ++i)
        to[i] = b == end || (a < middle &&
                             tvmffi_i_json_compare_keys(&pairs[from[a]],
                                                        &pairs[from[b]]) <= 0)
                    ? from[a++]
                    : from[b++];
    }
    swapped = from;
    from = to;
    to = swapped;
  }
  return from;
}

/* Makes the table of `n` pairs without looking for any key in it: keys that
   come twice are found by sorting, so the time does not depend on the hashes.
   Of equal keys the last one counts. Takes the pairs, or leaves all whose key
   is not None to the caller. */
static tvmffi_i_map_object *tvmffi_i_json_sorted_table(tvmffi_i_pair *pairs,
                                                       size_t n) {
  uint64_t *room = NULL, *sorted, num_slots;
  tvmffi_i_map_object row = TVMFFI_I_ZERO, *m = NULL;
  size_t i, left = 0;
  int code = 0;
  if (n <= PTRDIFF_MAX / (2 * sizeof(*room)))
    room = (uint64_t *)tvmffi_i_alloc(2 * n * sizeof(*room));
  if (!room) {
    (void)tvmffi_i_no_memory();
    return m;
  }
  sorted = tvmffi_i_json_sort(pairs, n, room, room + n);
  for (i = 0; i + 1 < n; ++i) {
    tvmffi_i_pair *pair = &pairs[sorted[i]];
    if (tvmffi_i_json_compare_keys(pair, &pairs[sorted[i + 1]]) != 0) continue;
    tvmffi_i_map_drop_pair(pair);
    pair->key = pair->value = tvmffi_none();
  }
  for (i = 0; i < n; ++i) {
    tvmffi_i_pair pair = pairs[i];
    if (pair.key.type_index == kTVMFFINone) continue;
    pairs[i].key = pairs[i].value = tvmffi_none();
    pairs[left++] = pair;
  }
  row.data = pairs;
  row.size = left;
  row.num_slots = left | TVMFFI_I_MAP_IS_ROW;
  for (num_slots = tvmffi_i_map_slots(left); code == 0; num_slots *= 2) {
    m = tvmffi_i_map_new_dense(kTVMFFIMap, num_slots);
    code = m ? tvmffi_i_map_refill(m, &row, room) : -1;
    if (m && code <= 0) tvmffi_i_json_discard(m);
  }
  tvmffi_i_free(room);
  if (code < 0) return NULL;
  m->size = left;
  return m;
}

/* The same for a table that has the first of the pairs already, and for the
   others. */
TVMFFI_I_NOINLINE tvmffi_i_map_object *tvmffi_i_json_untangle(
    tvmffi_i_map_object *m, TVMFFIAny *values, size_t next, size_t n) {
  tvmffi_i_pair *pairs = (tvmffi_i_pair *)(void *)values;
  const tvmffi_i_pair *pair;
  size_t left = 0;
  uint64_t at;
  for (at = tvmffi_i_map_begin(&m->base);
       (pair = tvmffi_i_map_pair(&m->base, at)) != NULL;
       at = tvmffi_i_map_after(&m->base, at))
    pairs[left++] = *pair;
  tvmffi_i_json_discard(m);
  for (; next < n; ++next) {
    tvmffi_i_pair moved = pairs[next];
    pairs[next].key = pairs[next].value = tvmffi_none();
    pairs[left++] = moved;
  }
  return tvmffi_i_json_sorted_table(pairs, left);
}

/* A table, as upstream's from four entries on: what a key that comes twice does
   to the order depends on it. */
TVMFFI_I_NOINLINE tvmffi_i_map_object *tvmffi_i_json_table(TVMFFIAny *values,
                                                           size_t n) {
  tvmffi_i_map_object *m =
      tvmffi_i_map_new_dense(kTVMFFIMap, tvmffi_i_map_slots(n / 2));
  size_t i;
  int is_long;
  for (i = 0; m && i < n; i += 2) {
    if (tvmffi_i_json_move_in(m, &values[i], &values[i + 1], &is_long)) {
      tvmffi_release(m);
      m = NULL;
    } else if (TVMFFI_I_UNLIKELY(is_long)) {
      return tvmffi_i_json_untangle(m, values, i / 2 + 1, n / 2);
    }
  }
  return m;
}

/* Whether a map has these keys, in this order and no others. Its table is of
   one block. */
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

/* A table whose keys are where they are in that of `shape`. */
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
  m->data_deleter = tvmffi_i_map_keep;
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
    tvmffi_release(*shape);
    tvmffi_retain(m);
    *shape = m;
  }
  return m;
}

/* Forgets the keys that are known. */
static void tvmffi_i_json_forget(tvmffi_i_json_reader *r) {
  r->no_key.next = r->last = &r->no_key;
  r->num_vain = 0;
  while (r->keys->n) tvmffi_any_release(&r->keys->known[--r->keys->n].key);
  memset(r->keys->places, 0, sizeof(r->keys->places));
}

/* Looks a key up, which is read and stood at p with its colon. One that is
   known takes its place, as nobody can tell whether a string is shared; another
   one is learned if there is room. When as many as there is room for were
   looked up in vain, the reader begins anew; in the end it looks up no more, as
   the keys of such a text do not come again. */
TVMFFI_I_NOINLINE void tvmffi_i_json_learn(tvmffi_i_json_reader *r,
                                           const char *p, size_t size,
                                           TVMFFIAny *key) {
  TVMFFIByteArray text = tvmffi_any_str(key);
  uint64_t first, last;
  tvmffi_i_json_keys *keys = r->keys;
  tvmffi_i_json_known *k = NULL;
  size_t i;
  if (!keys || r->num_vain == TVMFFI_I_JSON_KEYS) {
    if (r->num_starts == TVMFFI_I_JSON_STARTS) return;
    if (!keys) {
      keys = (tvmffi_i_json_keys *)tvmffi_i_alloc(sizeof(*keys));
      if (!keys) return; /* it does without them */
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
    tvmffi_any_release(key);
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
  if (key->type_index == kTVMFFIStr) tvmffi_retain(key->v_obj);
}

/* Reads a key and its colon; gives what follows them, or NULL. */
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
    tvmffi_any_release(key);
    missing = "Expecting ':' delimiter";
  }
  (void)tvmffi_i_json_error(r, p, missing);
  return NULL;
}

/* The same; compares the text with the key that came next the last time, whose
   length is known: what follows it is read without waiting for the text. */
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
  if (k->key.type_index == kTVMFFIStr) tvmffi_retain(k->key.v_obj);
  r->last = k;
  return p + k->size;
}

/* Reads a value that is no array or object; gives what follows it, or NULL. */
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

/* Makes an array or an object of its values, which it takes. */
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

TVMFFI_I_SLOW int tvmffi_i_json_grow(tvmffi_i_json_reader *r) {
  void *values = r->values;
  TVMFFI_TRY(tvmffi_i_grow_stack(&values, r->num_values, &r->room_values,
                                 sizeof(*r->values)));
  r->values = (TVMFFIAny *)values;
  return 0;
}

/* Reads all of a text; its value is the only one on the stack then. If it
   fails, r->num_values of them are to be released. */
static int tvmffi_i_json_read(tvmffi_i_json_reader *r) {
  const char *end = r->end, *p = tvmffi_i_json_skip(r->begin, end), *wrong;
  TVMFFIAny *out;
  TVMFFIObject *made;
  size_t n = 0, open = 0; /* values; where those of the innermost begin */
  char closer = 0;        /* of the innermost, or 0 */
  for (;;) {
    if (TVMFFI_I_UNLIKELY(n + 2 > r->room_values)) {
      r->num_values = n;
      TVMFFI_TRY(tvmffi_i_json_grow(r));
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
    for (;;) { /* ends each array or object whose last value this was */
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
  while (r->num_values) tvmffi_any_release(&r->values[--r->num_values]);
  if (r->keys) tvmffi_i_json_forget(r);
  tvmffi_i_free(r->keys);
  for (i = 0; i < TVMFFI_I_JSON_SHAPES; ++i) tvmffi_release(r->shapes[i]);
  tvmffi_i_free(r->values);
  tvmffi_i_text_release(&r->text);
}

/* Parses a text; *out is owned by the caller. */
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
