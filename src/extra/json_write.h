/* ======== JSON writer: values to JSON text ============ >>extra/json_write */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../containers.h"
#include "json_read.h"

#if !TVMFFI_NO_EXTRA
/* An open container (borrowed) and the position of its next item. */
typedef struct {
  const TVMFFIObject *object;
  uint64_t at; /* index of the next item, or slot of the next map entry */
  int any;     /* an item was written: the next one needs a comma */
} tvmffi_i_json_level;

typedef struct {
  tvmffi_i_text_buffer text;
  tvmffi_i_json_level *levels;
  size_t depth, room;
  size_t mark; /* the level that new levels are compared with */
  int32_t indent;
  int64_t margin;
} tvmffi_i_json_writer;

/* Finds cycles (R. Brent, 1980). Each container that is entered is compared
   with one open level, the mark. The mark is the level whose index is the
   highest power of two. In a cycle, the writer reaches the mark again sooner or
   later. */
TVMFFI_I_INLINE void tvmffi_i_mark_entered(size_t *mark, size_t level) {
  if (!(level & (level - 1))) *mark = level;
}
TVMFFI_I_INLINE void tvmffi_i_mark_left(size_t *mark, size_t level) {
  if (*mark == level) *mark = level / 2;
}

/* Tells whether any byte of a word needs an escape. */
TVMFFI_I_INLINE int tvmffi_i_json_escapes(uint64_t word) {
  return (tvmffi_i_json_special(word) | tvmffi_i_bytes_are(word, '/') |
          tvmffi_i_bytes_are(word, 0x7F)) != 0;
}

/* Appends the characters from p to `end`, with escapes, and the closing quote.
   */
TVMFFI_I_NOINLINE void tvmffi_i_json_put_escaped(tvmffi_i_text_buffer *b,
                                                 const char *p,
                                                 const char *end) {
  const char *names = TVMFFI_I_JSON_ESCAPES, *bytes = TVMFFI_I_JSON_ESCAPED;
  static const char hex[] = "0123456789abcdef";
  const char *from = p;
  char escape[6] = {'\\', 'u', '0', '0', '0', '0'};
  uint64_t word;
  int i;
  while (p != end) {
    if (end - p >= 8) {
      memcpy(&word, p, 8);
      if (!tvmffi_i_json_escapes(word)) {
        p += 8;
        continue;
      }
    }
    for (i = 0; p != end && i < 8; ++i, ++p) {
      unsigned char c = (unsigned char)*p;
      size_t k = 0;
      if (c > '\\' ? c != 0x7F : c >= ' ' && c != '"' && c != '/' && c != '\\')
        continue;
      tvmffi_i_text_put(b, from, (size_t)(p - from));
      from = p + 1;
      while (k < 8 && bytes[k] != (char)c) ++k;
      escape[1] = k < 8 ? names[k] : 'u';
      escape[4] = hex[c >> 4];
      escape[5] = hex[c & 15];
      tvmffi_i_text_put(b, escape, k < 8 ? 2 : 6);
    }
  }
  tvmffi_i_text_put(b, from, (size_t)(p - from));
  tvmffi_i_text_char(b, '"');
}

/* Appends a string in quotes. Copies and checks eight bytes at a time. The last
   eight bytes may overlap bytes that were copied before. */
static void tvmffi_i_json_put_string(tvmffi_i_text_buffer *b,
                                     TVMFFIByteArray s) {
  char *at = tvmffi_i_text_reserve(b, s.size + 2);
  uint64_t word;
  size_t i;
  if (!at) return;
  *at++ = '"';
  ++b->size;
  if (s.size < 8) {
    tvmffi_i_json_put_escaped(b, s.data, s.data + s.size);
    return;
  }
  for (i = 0; i < s.size; i += 8) {
    if (s.size - i < 8) i = s.size - 8;
    memcpy(&word, s.data + i, 8);
    if (tvmffi_i_json_escapes(word)) break;
    memcpy(at + i, &word, 8);
  }
  if (i < s.size) {
    b->size += i;
    tvmffi_i_json_put_escaped(b, s.data + i, s.data + s.size);
    return;
  }
  at[s.size] = '"';
  b->size += s.size + 1;
}

/* Appends a small string that needs no escapes, by one 8-byte store. Puts a
   comma before the string if `comma` is 1, and a colon after it if `colon` is
   1. For any other string, appends nothing and returns 0. */
TVMFFI_I_ALWAYS_INLINE int tvmffi_i_json_put_short(tvmffi_i_text_buffer *b,
                                                   const TVMFFIAny *text,
                                                   int comma, int colon) {
#if defined(TVMFFI_I_BYTES_BEFORE)
  uint64_t word = text->v_uint64, n = text->small_str_len;
  char *at;
  if (text->type_index != kTVMFFISmallStr || n >= 8 ||
      tvmffi_i_json_escapes(word | UINT64_MAX / 255 * ' ' << 8 * n))
    return 0;
  at = tvmffi_i_text_reserve(b, 12);
  if (!at) return 1;
  *at = ',';
  at += comma;
  *at = '"';
  memcpy(at + 1, &word, 8);
  at[n + 1] = '"';
  at[n + 2] = ':';
  b->size += (size_t)n + 2 + (size_t)(comma + colon);
  return 1;
#else
  (void)b, (void)text, (void)comma, (void)colon;
  return 0;
#endif
}

TVMFFI_I_INLINE void tvmffi_i_json_put_text(tvmffi_i_text_buffer *b,
                                            const TVMFFIAny *text) {
  if (!tvmffi_i_json_put_short(b, text, 0, 0))
    tvmffi_i_json_put_string(b, tvmffi_any_str(text));
}

TVMFFI_I_NOINLINE void tvmffi_i_json_put_double(tvmffi_i_text_buffer *b,
                                                uint64_t bits) {
  uint64_t size = bits & ~TVMFFI_I_DOUBLE_SIGN, whole;
  int exponent = (int)(size >> 52) - 1023;
  char *at = tvmffi_i_text_reserve(b, 48);
  if (!at) return;
  if (size > TVMFFI_I_DOUBLE_INFINITY) {
    tvmffi_i_text_put(b, "NaN", 3);
    return;
  }
  if (bits != size) {
    *at++ = '-';
    ++b->size;
  }
  if (size == TVMFFI_I_DOUBLE_INFINITY) {
    tvmffi_i_text_put(b, "Infinity", 8);
    return;
  }
  /* A whole number below 2^53 is written with ".0", to tell it from an integer.
     */
  whole = (size & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
  if (!size || (exponent >= 0 && exponent <= 52 &&
                !(whole & (((uint64_t)1 << (52 - exponent)) - 1)))) {
    tvmffi_i_text_int(b, size ? (int64_t)(whole >> (52 - exponent)) : 0);
    tvmffi_i_text_put(b, ".0", 2);
    return;
  }
  b->size += tvmffi_i_print_double(at, size, 17);
}

/* Appends a comma if `comma` is 1. With indentation, also appends a line end
   and spaces. */
TVMFFI_I_INLINE void tvmffi_i_json_put_line(tvmffi_i_json_writer *w,
                                            int comma) {
  size_t margin = w->indent && w->margin > 0 ? (size_t)w->margin : 0;
  char *at = tvmffi_i_text_reserve(&w->text, margin + 2);
  if (!at) return;
  *at = ',';
  at += comma;
  if (w->indent) {
    *at++ = '\n';
    memset(at, ' ', margin);
  }
  w->text.size += (size_t)(at + margin - (w->text.data + w->text.size));
}

/* Appends the separator, the key (a string) and the colon of a map entry. */
TVMFFI_I_INLINE void tvmffi_i_json_put_key(tvmffi_i_json_writer *w,
                                           const TVMFFIAny *key, int comma) {
  if (!w->indent && tvmffi_i_json_put_short(&w->text, key, comma, 1)) return;
  tvmffi_i_json_put_line(w, comma);
  tvmffi_i_json_put_text(&w->text, key);
  tvmffi_i_text_char(&w->text, ':');
  if (w->indent) tvmffi_i_text_char(&w->text, ' ');
}

static int tvmffi_i_json_enter(tvmffi_i_json_writer *w,
                               const TVMFFIObject *object) {
  tvmffi_i_json_level *level;
  int is_map = object->type_index == kTVMFFIMap;
  if (w->depth && w->levels[w->mark].object == object)
    return tvmffi_i_fail("ValueError", "Cycle detected: List contains itself");
  TVMFFI_I_PUSH_ROOM(tvmffi_i_json_level, w->levels, w->depth, w->room);
  tvmffi_i_mark_entered(&w->mark, w->depth);
  level = &w->levels[w->depth++];
  level->object = object;
  level->at = is_map ? tvmffi_i_map_begin(object) : 0;
  level->any = 0;
  w->margin += w->indent;
  tvmffi_i_text_char(&w->text, is_map ? '{' : '[');
  return 0;
}

static void tvmffi_i_json_leave(tvmffi_i_json_writer *w, char end) {
  tvmffi_i_mark_left(&w->mark, --w->depth);
  w->margin -= w->indent;
  if (w->indent) tvmffi_i_json_put_line(w, 0);
  tvmffi_i_text_char(&w->text, end);
}

/* Appends a scalar. For a container, appends the opening bracket and makes the
   container the innermost level. */
TVMFFI_I_INLINE int tvmffi_i_json_put(tvmffi_i_json_writer *w,
                                      const TVMFFIAny *value) {
  switch (value->type_index) {
    case kTVMFFINone: tvmffi_i_text_put(&w->text, "null", 4); return 0;
    case kTVMFFIBool:
      if (value->v_int64)
        tvmffi_i_text_put(&w->text, "true", 4);
      else
        tvmffi_i_text_put(&w->text, "false", 5);
      return 0;
    case kTVMFFIInt: tvmffi_i_text_int(&w->text, value->v_int64); return 0;
    case kTVMFFIFloat:
      tvmffi_i_json_put_double(&w->text, value->v_uint64);
      return 0;
    case kTVMFFISmallStr:
    case kTVMFFIStr: tvmffi_i_json_put_text(&w->text, value); return 0;
    case kTVMFFIArray:
    case kTVMFFIList:
    case kTVMFFIMap: return tvmffi_i_json_enter(w, value->v_obj);
    default: break;
  }
  return tvmffi_i_fail("ValueError", "Unsupported type: `%s`",
                       tvmffi_i_type_key(value->type_index));
}

/* Sets *next to the next value (borrowed) in the innermost container. First
   appends the separator and the key. At the end, appends the closing bracket
   and sets *next to NULL. */
TVMFFI_I_INLINE int tvmffi_i_json_next(tvmffi_i_json_writer *w,
                                       const TVMFFIAny **next) {
  tvmffi_i_json_level *level = &w->levels[w->depth - 1];
  const TVMFFIObject *o = level->object;
  const tvmffi_i_seq *seq = (const tvmffi_i_seq *)(const void *)o;
  const tvmffi_i_pair *pair;
  int comma = level->any;
  *next = NULL;
  level->any = 1;
  if (o->type_index != kTVMFFIMap) {
    if (level->at >= (uint64_t)seq->cell.size)
      return tvmffi_i_json_leave(w, ']'), 0;
    *next = &TVMFFI_I_ITEMS(seq)[level->at++];
    tvmffi_i_json_put_line(w, comma);
    return 0;
  }
  pair = tvmffi_i_map_pair(o, level->at);
  if (!pair) return tvmffi_i_json_leave(w, '}'), 0;
  level->at = tvmffi_i_map_is_row((const tvmffi_i_map_object *)(const void *)o)
                  ? level->at + 1
                  : ((const tvmffi_i_map_item *)(const void *)pair)->next;
  if (pair->key.type_index != kTVMFFIStr &&
      pair->key.type_index != kTVMFFISmallStr)
    return tvmffi_i_fail("ValueError", "Expect key to be string, got `%s`",
                         tvmffi_i_type_key(pair->key.type_index));
  *next = &pair->value;
  tvmffi_i_json_put_key(w, &pair->key, comma);
  return 0;
}

/* Appends a value and everything it contains. The caller frees the writer's
   memory. */
static int tvmffi_i_json_write(tvmffi_i_json_writer *w,
                               const TVMFFIAny *value) {
  for (;;) {
    if (value) TVMFFI_TRY(tvmffi_i_json_put(w, value));
    if (!w->depth || w->text.failed) break;
    TVMFFI_TRY(tvmffi_i_json_next(w, &value));
  }
  w->depth = 0; /* not 0 yet if memory ran out */
  return 0;
}

/* Moves the text into a string object and empties the buffer. As in upstream,
   even a short text becomes an object: Python code sees the difference. */
static int tvmffi_i_text_take_object(tvmffi_i_text_buffer *b, TVMFFIAny *out) {
  int code;
  if (b->failed || b->size >= sizeof(out->v_bytes))
    return tvmffi_i_text_take(b, out);
  code = tvmffi_i_make_large(b->data, b->size, kTVMFFIStr, out);
  tvmffi_i_text_release(b);
  return code;
}

/* Frees the writer's memory. If `code` is 0, sets *out to the text (owned by
   the caller). Returns `code`, or the code of a new error. */
static int tvmffi_i_json_end(tvmffi_i_json_writer *w, int code,
                             TVMFFIAny *out) {
  if (!code) code = tvmffi_i_text_take_object(&w->text, out);
  tvmffi_i_text_release(&w->text);
  tvmffi_i_free(w->levels);
  return code;
}

#endif
