#include "request.h"

#include "board.h"

static int is_same(const char *a, const char *b) {
  while (*a && *a == *b) ++a, ++b;
  return *a == *b;
}

/* -------- Reading -------- */

typedef struct {
  char *line, *at;
  int argument; /* index of the argument that is read, or -1: repeat */
} reader;

static int fail(const reader *r, const char *what) {
  return TVMFFI_RAISE("SyntaxError", "column %d: %s",
                      (int)(r->at - r->line) + 1, what);
}

/* Refuses a value that is valid JSON. */
static int refuse(const reader *r, const char *kind, const char *why) {
  return r->argument < 0
             ? TVMFFI_RAISE(kind, "repeat %s", why)
             : TVMFFI_RAISE(kind, "argument #%d %s", r->argument, why);
}

static void skip_spaces(reader *r) {
  while (*r->at == ' ' || *r->at == '\t') ++r->at;
}

/* Skips spaces and then `c`. Returns 0 if another character is there. */
static int accept(reader *r, char c) {
  skip_spaces(r);
  if (*r->at != c) return 0;
  ++r->at;
  return 1;
}

static int expect(reader *r, char c) {
  char what[] = "expected ' '";
  what[10] = c;
  return accept(r, c) ? 0 : fail(r, what);
}

static int accept_word(reader *r, const char *word) {
  size_t n = 0;
  while (word[n] && r->at[n] == word[n]) ++n;
  if (word[n]) return 0;
  r->at += n;
  return 1;
}

static int read_hex(reader *r, uint32_t *code) {
  int i;
  *code = 0;
  for (i = 0; i < 4; ++i, ++r->at) {
    char c = *r->at, lower = (char)(c | 32);
    if (c >= '0' && c <= '9')
      *code = *code * 16 + (uint32_t)(c - '0');
    else if (lower >= 'a' && lower <= 'f')
      *code = *code * 16 + (uint32_t)(lower - 'a') + 10;
    else
      return fail(r, "expected four hexadecimal digits");
  }
  return 0;
}

/* Reads the digits of \uXXXX, and of a second one for a code point beyond
   U+FFFF. Writes UTF-8 at *to, which is not longer. */
static int read_unicode(reader *r, char **to) {
  uint32_t c, low;
  TVMFFI_TRY(read_hex(r, &c));
  if (c >= 0xD800 && c < 0xDC00 && accept_word(r, "\\u")) {
    TVMFFI_TRY(read_hex(r, &low));
    if (low < 0xDC00 || low > 0xDFFF) return fail(r, "half a surrogate pair");
    c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
  }
  if (c >= 0xD800 && c < 0xE000) return fail(r, "half a surrogate pair");
  if (!c) return fail(r, "a string cannot contain \\u0000");
  if (c < 0x80) {
    *(*to)++ = (char)c;
    return 0;
  }
  if (c < 0x800) {
    *(*to)++ = (char)(0xC0 | c >> 6);
  } else {
    if (c < 0x10000) {
      *(*to)++ = (char)(0xE0 | c >> 12);
    } else {
      *(*to)++ = (char)(0xF0 | c >> 18);
      *(*to)++ = (char)(0x80 | (c >> 12 & 63));
    }
    *(*to)++ = (char)(0x80 | (c >> 6 & 63));
  }
  *(*to)++ = (char)(0x80 | (c & 63));
  return 0;
}

static int read_escape(reader *r, char **to) {
  static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  int i = 0;
  if (accept_word(r, "u")) return read_unicode(r, to);
  while (names[i] && names[i] != *r->at) ++i;
  if (!names[i]) return fail(r, "unknown escape");
  ++r->at;
  *(*to)++ = values[i];
  return 0;
}

/* Reads a string and decodes it in place. */
static int read_string(reader *r, const char **out) {
  char *to;
  TVMFFI_TRY(expect(r, '"'));
  to = r->at;
  *out = to;
  while (*r->at != '"') {
    unsigned char c = (unsigned char)*r->at;
    if (!c) return fail(r, "the string has no end");
    if (c < 32 || c > 126)
      return fail(r, "write this character as \\u and four digits");
    ++r->at;
    if (c == '\\')
      TVMFFI_TRY(read_escape(r, &to));
    else
      *to++ = (char)c;
  }
  ++r->at;
  *to = 0;
  return 0;
}

static int is_digit(char c) { return c >= '0' && c <= '9'; }

static int read_int(reader *r, int64_t *out) {
  const int negative = accept_word(r, "-");
  const uint64_t most = (uint64_t)INT64_MAX + (uint64_t)negative;
  uint64_t x = 0;
  if (!is_digit(*r->at)) return fail(r, "expected a digit");
  if (*r->at == '0' && is_digit(r->at[1]))
    return fail(r, "an integer cannot begin with 0");
  for (; is_digit(*r->at); ++r->at) {
    uint64_t digit = (uint64_t)(*r->at - '0');
    if (x > (most - digit) / 10)
      return refuse(r, "OverflowError", "does not fit in 64 bits");
    x = x * 10 + digit;
  }
  if (*r->at == '.' || (*r->at | 32) == 'e')
    return refuse(r, "TypeError", "is not an integer");
  *out = (int64_t)(negative ? 0 - x : x);
  return 0;
}

/* Reads an argument. A list or object is not read at all, so its depth does not
   matter. */
static int read_value(reader *r, TVMFFIAny *out) {
  const char *text;
  int64_t x;
  skip_spaces(r);
  if (*r->at == '"') {
    TVMFFI_TRY(read_string(r, &text));
    *out = tvmffi_str(text);
    return 0;
  }
  if (*r->at == '[' || *r->at == '{')
    return refuse(r, "TypeError",
                  "is a list or object, not null, a bool, an integer or a "
                  "string");
  if (accept_word(r, "null"))
    *out = tvmffi_none();
  else if (accept_word(r, "true"))
    *out = tvmffi_bool(1);
  else if (accept_word(r, "false"))
    *out = tvmffi_bool(0);
  else if (*r->at != '-' && !is_digit(*r->at))
    return fail(r, "expected a value");
  else {
    TVMFFI_TRY(read_int(r, &x));
    *out = tvmffi_int(x);
  }
  return 0;
}

static int read_args(reader *r, request *to) {
  TVMFFI_TRY(expect(r, '['));
  to->num_args = 0;
  if (accept(r, ']')) return 0;
  do {
    if (to->num_args == REQUEST_ARGS)
      return TVMFFI_RAISE("ValueError", "more than %d arguments", REQUEST_ARGS);
    r->argument = to->num_args;
    TVMFFI_TRY(read_value(r, &to->arg[to->num_args]));
    ++to->num_args;
  } while (accept(r, ','));
  return expect(r, ']');
}

static int read_repeat(reader *r, request *to) {
  skip_spaces(r);
  r->argument = -1;
  TVMFFI_TRY(read_int(r, &to->repeat));
  if (to->repeat < 1) return refuse(r, "ValueError", "is less than 1");
  return 0;
}

int request_parse(char *line, request *to) {
  reader r = {line, line, -1};
  const char *key;
  to->call = NULL;
  to->num_args = 0;
  to->repeat = 1;
  TVMFFI_TRY(expect(&r, '{'));
  do {
    TVMFFI_TRY(read_string(&r, &key));
    TVMFFI_TRY(expect(&r, ':'));
    if (is_same(key, "call"))
      TVMFFI_TRY(read_string(&r, &to->call));
    else if (is_same(key, "args"))
      TVMFFI_TRY(read_args(&r, to));
    else if (is_same(key, "repeat"))
      TVMFFI_TRY(read_repeat(&r, to));
    else
      return TVMFFI_RAISE("ValueError", "unknown key: %s", key);
  } while (accept(&r, ','));
  TVMFFI_TRY(expect(&r, '}'));
  skip_spaces(&r);
  if (*r.at) return fail(&r, "expected the end of the line");
  if (!to->call) return TVMFFI_RAISE("ValueError", "the key call is missing");
  return 0;
}

/* -------- Writing -------- */

static void write_string(TVMFFIByteArray text) {
  static const char digits[] = "0123456789abcdef";
  size_t i;
  board_put('"');
  for (i = 0; i < text.size; ++i) {
    unsigned char c = (unsigned char)text.data[i];
    if (c < 32) {
      board_write("\\u00");
      board_put(digits[c >> 4]);
      board_put(digits[c & 15]);
      continue;
    }
    if (c == '"' || c == '\\') board_put('\\');
    board_put((char)c);
  }
  board_put('"');
}

static void write_shape(const TVMFFIShapeCell *shape) {
  size_t i;
  board_put('[');
  for (i = 0; i < shape->size; ++i) {
    if (i) board_write(", ");
    board_write_int(shape->data[i]);
  }
  board_put(']');
}

int request_write_result(const TVMFFIAny *value) {
  static const char begin[] = "{\"result\": ";
  TVMFFIByteArray text = tvmffi_any_str(value);
  switch (value->type_index) {
    case kTVMFFINone:
      board_write(begin);
      board_write("null");
      break;
    case kTVMFFIBool:
      board_write(begin);
      board_write(value->v_int64 ? "true" : "false");
      break;
    case kTVMFFIInt:
      board_write(begin);
      board_write_int(value->v_int64);
      break;
    case kTVMFFISmallStr:
    case kTVMFFIStr:
      board_write(begin);
      write_string(text);
      break;
    case kTVMFFIShape:
      board_write(begin);
      write_shape(TVMFFIShapeGetCellPtr(value->v_obj));
      break;
    default: return TVMFFI_RAISE("TypeError", "the result has no JSON form");
  }
  board_write("}\n");
  return 0;
}

/* Returns the N of "argument #N" in a message, or -1. */
static int named_argument(const char *message) {
  static const char name[] = "argument #";
  for (; *message; ++message) {
    size_t i = 0;
    while (name[i] && message[i] == name[i]) ++i;
    if (!name[i] && is_digit(message[i])) {
      int n = 0;
      while (is_digit(message[i]) && n < 1000)
        n = n * 10 + (message[i++] - '0');
      return n;
    }
  }
  return -1;
}

void request_write_error(void) {
  TVMFFI_SCOPE;
  TVMFFIObject *error = tvmffi_error_take();
  const TVMFFIErrorCell *cell = TVMFFIErrorGetCellPtr(error);
  const int argument = named_argument(cell->message.data);
  board_write("{\"error\": {\"kind\": ");
  write_string(cell->kind);
  board_write(", \"message\": ");
  write_string(cell->message);
  if (argument >= 0) {
    board_write(", \"argument\": ");
    board_write_int(argument);
  }
  board_write("}}\n");
}
