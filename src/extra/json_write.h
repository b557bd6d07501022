/* ======== JSON writer: values to JSON text ============ >>extra/json_write */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../graph.h"
#include "number_text.h"
#include "json_read.h"

#if !TVMFFI_NO_EXTRA
/* An open container (borrowed), and whether an item was written, so that the
   next one needs a comma. */
typedef struct {
  tvmffi_i_children c;
  int any;
} tvmffi_i_json_level;

typedef struct {
  tvmffi_i_text_buffer text;
  tvmffi_i_json_level *levels;
  size_t depth, room;
  size_t mark; /* see tvmffi_i_json_enter */
  int32_t indent;
} tvmffi_i_json_writer;

/* Appends the escape for a character. */
static void tvmffi_i_json_put_escape(tvmffi_i_text_buffer *b, unsigned char c) {
  static const char hex[] = "0123456789abcdef", bytes[] = TVMFFI_I_JSON_ESCAPED;
  const char *known = c ? strchr(bytes, c) : NULL;
  char escape[6] = {'\\', 'u', '0', '0', '0', '0'};
  TVMFFI_ASSERT(known || c < ' ' || c == 0x7F);
  if (known) escape[1] = TVMFFI_I_JSON_ESCAPES[known - bytes];
  escape[4] = hex[c >> 4];
  escape[5] = hex[c & 15];
  tvmffi_i_text_put(b, escape, known ? 2 : 6);
}

/* Appends a string in quotes. */
static void tvmffi_i_json_put_string(tvmffi_i_text_buffer *b,
                                     TVMFFIByteArray s) {
  const char *p = s.data, *end = s.data + s.size, *from = p;
  tvmffi_i_text_char(b, '"');
  for (;; from = p) {
    p = tvmffi_i_json_plain(p, end, 1);
    tvmffi_i_text_put(b, from, (size_t)(p - from));
    if (p == end) break;
    tvmffi_i_json_put_escape(b, (unsigned char)*p++);
  }
  tvmffi_i_text_char(b, '"');
}

/* Appends a double with 17 digits. A whole number below 2^53 ends in ".0", to
   tell it from an integer. */
static void tvmffi_i_json_put_double(tvmffi_i_text_buffer *b, uint64_t bits) {
  const uint64_t size = bits & ~TVMFFI_I_DOUBLE_SIGN;
  const uint64_t limit = (uint64_t)(1023 + 53) << 52; /* 2^53 */
  size_t begin = b->size, n;
  if (size >= TVMFFI_I_DOUBLE_INFINITY) {
    tvmffi_i_text_str(b, size > TVMFFI_I_DOUBLE_INFINITY ? "NaN"
                         : bits == size                  ? "Infinity"
                                                         : "-Infinity");
    return;
  }
  tvmffi_i_text_double(b, bits, 17);
  n = b->size - begin;
  if (n && size < limit && !memchr(b->data + begin, '.', n) &&
      !memchr(b->data + begin, 'e', n))
    tvmffi_i_text_str(b, ".0");
}

/* Appends a comma if `comma` is 1. With indentation, also appends a line end
   and spaces. */
static void tvmffi_i_json_put_line(tvmffi_i_json_writer *w, int comma) {
  size_t margin = w->indent > 0 ? w->depth * (size_t)w->indent : 0;
  char *at;
  TVMFFI_ASSERT(comma == 0 || (comma == 1 && w->depth > 0));
  if (comma) tvmffi_i_text_char(&w->text, ',');
  if (!w->indent) return;
  tvmffi_i_text_char(&w->text, '\n');
  at = tvmffi_i_text_reserve(&w->text, margin);
  if (!at) return;
  memset(at, ' ', margin);
  w->text.size += margin;
}

/* Appends a level for a container. Finds cycles (R. Brent, 1980): each new
   container is compared with one open level, the mark. The mark is the level
   whose index is the highest power of two, or 0. In a cycle, the writer reaches
   the mark again sooner or later. */
static int tvmffi_i_json_enter(tvmffi_i_json_writer *w, TVMFFIObject *object) {
  tvmffi_i_json_level *level;
  TVMFFI_ASSERT(w->depth < 2 ? !w->mark
                             : w->mark < w->depth && w->depth <= 2 * w->mark);
  if (w->depth && w->levels[w->mark].c.object == object)
    return tvmffi_i_value_error("Cycle detected: List contains itself");
  TVMFFI_I_PUSH_ROOM(tvmffi_i_json_level, w->levels, w->depth, w->room);
  if (!(w->depth & (w->depth - 1))) w->mark = w->depth;
  TVMFFI_ASSERT(w->depth < w->room);
  level = &w->levels[w->depth++];
  tvmffi_i_children_open(&level->c, object, NULL);
  level->any = 0;
  tvmffi_i_text_char(&w->text, object->type_index == kTVMFFIMap ? '{' : '[');
  return 0;
}

/* Appends a scalar. For a container, appends the opening bracket and makes the
   container the innermost level. */
static int tvmffi_i_json_put(tvmffi_i_json_writer *w, const TVMFFIAny *value) {
  switch (value->type_index) {
    case kTVMFFINone: tvmffi_i_text_str(&w->text, "null"); return 0;
    case kTVMFFIBool:
      tvmffi_i_text_str(&w->text, value->v_int64 ? "true" : "false");
      return 0;
    case kTVMFFIInt: tvmffi_i_text_int(&w->text, value->v_int64); return 0;
    case kTVMFFIFloat:
      tvmffi_i_json_put_double(&w->text, value->v_uint64);
      return 0;
    case kTVMFFISmallStr:
    case kTVMFFIStr:
      tvmffi_i_json_put_string(&w->text, tvmffi_any_str(value));
      return 0;
    case kTVMFFIArray:
    case kTVMFFIList:
    case kTVMFFIMap: return tvmffi_i_json_enter(w, value->v_obj);
    default: break;
  }
  return tvmffi_i_value_error("Unsupported type: `%s`",
                              tvmffi_i_type_key(value->type_index));
}

/* Sets *next to the next value (borrowed) in the innermost container. First
   appends the separator and the key. At the end, appends the closing bracket
   and sets *next to NULL. */
static int tvmffi_i_json_next(tvmffi_i_json_writer *w, const TVMFFIAny **next) {
  tvmffi_i_json_level *level = &w->levels[w->depth - 1];
  int is_map = level->c.object->type_index == kTVMFFIMap;
  const TVMFFIAny *child = tvmffi_i_next_in_container(&level->c);
  TVMFFI_ASSERT(w->depth > 0 && w->depth <= w->room);
  *next = child;
  if (!child) {
    if (w->mark == --w->depth) w->mark /= 2;
    if (w->indent) tvmffi_i_json_put_line(w, 0);
    tvmffi_i_text_char(&w->text, is_map ? '}' : ']');
    return 0;
  }
  if (is_map && child->type_index != kTVMFFIStr &&
      child->type_index != kTVMFFISmallStr)
    return tvmffi_i_value_error("Expect key to be string, got `%s`",
                                tvmffi_i_type_key(child->type_index));
  tvmffi_i_json_put_line(w, level->any);
  level->any = 1;
  if (is_map) {
    tvmffi_i_json_put_string(&w->text, tvmffi_any_str(child));
    tvmffi_i_text_str(&w->text, w->indent ? ": " : ":");
    *next = tvmffi_i_next_in_container(&level->c);
    TVMFFI_ASSERT(*next);
  }
  return 0;
}

/* Appends a value and everything it contains. */
static int tvmffi_i_json_write(tvmffi_i_json_writer *w,
                               const TVMFFIAny *value) {
  TVMFFI_ASSERT(value && !w->depth);
  for (;;) {
    if (value) TVMFFI_TRY(tvmffi_i_json_put(w, value));
    if (!w->depth || w->text.failed) return 0;
    TVMFFI_TRY(tvmffi_i_json_next(w, &value));
  }
}

/* Moves the text into a string object and empties the buffer. As in upstream,
   even a short text becomes an object: Python code sees the difference. */
static int tvmffi_i_text_take_object(tvmffi_i_text_buffer *b, TVMFFIAny *out) {
  int code;
  TVMFFI_ASSERT(b->failed || b->data);
  if (b->failed || b->size >= sizeof(out->v_bytes))
    return tvmffi_i_text_take(b, out);
  code = tvmffi_i_make_large(b->data, b->size, kTVMFFIStr, out);
  tvmffi_i_text_release(b);
  return code;
}

/* Sets *out to a value as JSON text (owned by the caller), as
   ffi.json.Stringify does. */
static int tvmffi_i_json_stringify(const TVMFFIAny *value, int32_t indent,
                                   TVMFFIAny *out) {
  tvmffi_i_json_writer w;
  int code;
  memset((void *)&w, 0, sizeof(w));
  w.indent = indent;
  code = tvmffi_i_json_write(&w, value);
  if (!code) code = tvmffi_i_text_take_object(&w.text, out);
  tvmffi_i_text_release(&w.text);
  tvmffi_i_free(w.levels);
  return code;
}

#endif
