/* ======== Data types: data types as text ==================== >>core/dtype */
/* Converts data types from and to text like upstream's dtype.cc, but rejects
   some meaningless texts that upstream accepts (docs/differences.md). Type
   codes from 129 on are custom types; two global functions convert between such
   a code and a name. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "raise.h"
#include "string.h"

enum { TVMFFI_I_CUSTOM_CODE = 129, TVMFFI_I_FIRST_SHORT_FLOAT = 7 };

/* The name of a type code, "" if the code is unknown. `text` is copied whole,
   because a memcpy of constant size is faster. */
typedef struct {
  char text[19];
  uint8_t size;
} tvmffi_i_code_name;
static const tvmffi_i_code_name tvmffi_i_code_names[] = {
    {"int", 3},
    {"uint", 4},
    {"float", 5},
    {"handle", 6},
    {"bfloat", 6},
    {"", 0},
    {"bool", 4},
    {"float8_e3m4", 11},
    {"float8_e4m3", 11},
    {"float8_e4m3b11fnuz", 18},
    {"float8_e4m3fn", 13},
    {"float8_e4m3fnuz", 15},
    {"float8_e5m2", 11},
    {"float8_e5m2fnuz", 15},
    {"float8_e8m0fnu", 14},
    {"float6_e2m3fn", 13},
    {"float6_e3m2fn", 13},
    {"float4_e2m1fn", 13}};
enum {
  TVMFFI_I_NUM_CODES =
      sizeof(tvmffi_i_code_names) / sizeof(tvmffi_i_code_names[0])
};

/* A cursor in the text of a data type. As in upstream, error messages show an
   alias (i8, f16, fp8_...) expanded: `head`, then the rest from `text`. */
typedef struct {
  const char *at, *end;
  const char *text; /* after the alias */
  const char *head;
} tvmffi_i_reader;

/* Expands to the two arguments of "%.*s" for a text from `begin` to `end`. */
#define TVMFFI_I_SHOWN(begin, end) \
  tvmffi_i_clip(begin, (size_t)((end) - (begin))), begin

TVMFFI_I_COLD int tvmffi_i_bad_dtype(const tvmffi_i_reader *r,
                                     const char *kind) {
  TVMFFI_ASSERT(r->text <= r->at && r->at <= r->end);
  return tvmffi_i_value_error("unknown %s `%s%.*s`", kind, r->head,
                              TVMFFI_I_SHOWN(r->text, r->end));
}

TVMFFI_I_COLD int tvmffi_i_bad_number(const tvmffi_i_reader *r,
                                      const char *what, uint32_t number,
                                      const char *type) {
  return tvmffi_i_value_error(
      "%s value %u is out of range for %s in dtype '%s%.*s'", what,
      (unsigned)number, type, r->head, TVMFFI_I_SHOWN(r->text, r->end));
}

static int tvmffi_i_starts(const tvmffi_i_reader *r, const char *prefix,
                           size_t size) {
  size_t i = 0;
  TVMFFI_ASSERT(r->at <= r->end && strlen(prefix) >= size);
  if ((size_t)(r->end - r->at) < size) return 0;
  while (i < size && r->at[i] == prefix[i]) ++i;
  return i == size;
}

/* Reads digits and returns their end. The value is 0 without digits. A value
   above 2^32 is inexact, but stays above 2^32. */
TVMFFI_I_INLINE const char *tvmffi_i_digits(const char *p, const char *end,
                                            uint64_t *out) {
  uint64_t value = 0;
  TVMFFI_ASSERT(p <= end);
  for (; p < end && *p >= '0' && *p <= '9'; ++p)
    if (value <= UINT32_MAX) value = value * 10 + (uint64_t)(*p - '0');
  *out = value;
  return p;
}

static int tvmffi_i_read_number(tvmffi_i_reader *r, uint32_t *out) {
  const char *begin = r->at;
  uint64_t value;
  r->at = tvmffi_i_digits(begin, r->end, &value);
  if (value > UINT32_MAX)
    return tvmffi_i_value_error(
        "Integer value in dtype string '%.*s' is out of range for uint32_t",
        TVMFFI_I_SHOWN(begin, r->at));
  *out = (uint32_t)value;
  return 0;
}

/* Reads the lanes: "", "x4" or, if `scalable` is set, "xvscalex4". Scalable
   lanes are stored negated, so the number must fit in an int16_t. */
static int tvmffi_i_read_lanes(tvmffi_i_reader *r, int scalable,
                               DLDataType *out) {
  int negative = 0;
  uint32_t lanes = 0;
  const char *digits;
  TVMFFI_ASSERT(out->lanes == 1);
  if (r->at == r->end) return 0;
  if (scalable && tvmffi_i_starts(r, "xvscale", 7)) {
    negative = 1;
    r->at += 7;
  }
  if (r->at != r->end && *r->at != 'x') return tvmffi_i_bad_dtype(r, "dtype");
  digits = r->at += r->at != r->end;
  TVMFFI_TRY(tvmffi_i_read_number(r, &lanes));
  if (r->at == digits || lanes == 0)
    return tvmffi_i_value_error(
        "Invalid lanes specification in dtype '%s%.*s'. Lanes must be a "
        "positive integer.",
        r->head, TVMFFI_I_SHOWN(r->text, r->end));
  if (lanes > UINT16_MAX)
    return tvmffi_i_bad_number(r, "Lanes", lanes, "uint16_t");
  if (lanes > (uint32_t)(INT16_MAX + negative))
    return tvmffi_i_bad_number(r, "Lanes", lanes, "int16_t");
  if (r->at != r->end) return tvmffi_i_bad_dtype(r, "dtype");
  out->lanes = (uint16_t)(negative ? 0 - lanes : lanes);
  TVMFFI_ASSERT(((int16_t)out->lanes < 0) == negative);
  return 0;
}

/* Returns 1 if `r` is at the "8_", "6_" or "4_" of a short float such as
   float8_e4m3, else 0. */
static int tvmffi_i_at_short_float(const tvmffi_i_reader *r) {
  return r->end - r->at >= 2 && r->at[1] == '_' &&
         (r->at[0] == '8' || r->at[0] == '6' || r->at[0] == '4');
}

/* Reads the rest of a short float such as float8_e4m3: bits, name and lanes. */
static int tvmffi_i_read_short_float(tvmffi_i_reader *r, DLDataType *out) {
  static const char *const kinds[] = {"float8 type", "float6 type",
                                      "float4 type"};
  int bits = r->at[0] - '0', code;
  const char *end = r->at += 2;
  size_t size;
  TVMFFI_ASSERT(bits == 8 || bits == 6 || bits == 4);
  while (end != r->end && *end != 'x' && (bits != 4 || *end != '_')) ++end;
  size = (size_t)(end - r->at);
  for (code = TVMFFI_I_FIRST_SHORT_FLOAT; code < TVMFFI_I_NUM_CODES; ++code) {
    const tvmffi_i_code_name *name = &tvmffi_i_code_names[code];
    TVMFFI_ASSERT(name->size > 7 && name->text[6] == '_');
    if (name->text[5] - '0' != bits || name->size != size + 7 ||
        !tvmffi_i_starts(r, name->text + 7, size))
      continue;
    r->at = end;
    if (end != r->end && *end == '_') ++r->at;
    out->code = (uint8_t)code;
    out->bits = (uint8_t)bits;
    return tvmffi_i_read_lanes(r, 0, out);
  }
  return tvmffi_i_bad_dtype(r, kinds[(8 - bits) / 2]);
}

static int tvmffi_i_read_custom(tvmffi_i_reader *r, DLDataType *out) {
  TVMFFIByteArray name;
  TVMFFIAny arg, result;
  const char *end;
  int code;
  if (r->at == r->end || *r->at != '[')
    return tvmffi_i_value_error(
        "expected opening brace after 'custom' type in%.*s",
        TVMFFI_I_SHOWN(r->text, r->end));
  name.data = ++r->at;
  end = (const char *)memchr(r->at, ']', (size_t)(r->end - r->at));
  if (!end)
    return tvmffi_i_value_error(
        "expected closing brace after 'custom' type in%.*s",
        TVMFFI_I_SHOWN(r->text, r->end));
  TVMFFI_ASSERT(out->code == TVMFFI_I_CUSTOM_CODE);
  name.size = (size_t)(end - name.data);
  r->at = end + 1;
  TVMFFI_TRY(TVMFFIStringFromByteArray(&name, &arg));
  result = tvmffi_none();
  code = tvmffi_i_call_by_name((void *)(uintptr_t) "dtype.get_custom_type_code",
                               &arg, 1, &result);
  tvmffi_i_any_release(&arg);
  if (code) return code;
  if (result.type_index != kTVMFFIInt ||
      result.v_int64 < TVMFFI_I_CUSTOM_CODE || result.v_int64 > UINT8_MAX) {
    tvmffi_i_any_release(&result);
    return tvmffi_i_value_error(
        "dtype.get_custom_type_code must give a code from 129 to 255");
  }
  out->code = (uint8_t)result.v_int64;
  return 0;
}

/* The kind of text that must follow an alias. */
typedef enum {
  TVMFFI_I_BEFORE_ANY,
  TVMFFI_I_BEFORE_DIGIT,
  TVMFFI_I_BEFORE_SHORT_FLOAT
} tvmffi_i_before;

/* A name or an alias. An alias matches only before text of the kind `before`.
   Error messages show `head` instead of the alias. */
typedef struct {
  const char *prefix;
  uint8_t size, code, bits, before;
  const char *head;
} tvmffi_i_dtype_name;

/* The first match wins. */
static const tvmffi_i_dtype_name tvmffi_i_dtype_names[] = {
    {"float", 5, kDLFloat, 32, TVMFFI_I_BEFORE_ANY, ""},
    {"int", 3, kDLInt, 32, TVMFFI_I_BEFORE_ANY, ""},
    {"uint", 4, kDLUInt, 32, TVMFFI_I_BEFORE_ANY, ""},
    {"bool", 4, kDLBool, 8, TVMFFI_I_BEFORE_ANY, ""},
    {"handle", 6, kDLOpaqueHandle, 64, TVMFFI_I_BEFORE_ANY, ""},
    {"bfloat", 6, kDLBfloat, 16, TVMFFI_I_BEFORE_ANY, ""},
    {"fp", 2, kDLFloat, 0, TVMFFI_I_BEFORE_SHORT_FLOAT, "float"},
    {"f", 1, kDLFloat, 32, TVMFFI_I_BEFORE_DIGIT, "float"},
    {"i", 1, kDLInt, 32, TVMFFI_I_BEFORE_DIGIT, "int"},
    {"u", 1, kDLUInt, 32, TVMFFI_I_BEFORE_DIGIT, "uint"},
    {"bf", 2, kDLBfloat, 16, TVMFFI_I_BEFORE_DIGIT, "bfloat"},
    {"custom", 6, TVMFFI_I_CUSTOM_CODE, 32, TVMFFI_I_BEFORE_ANY, ""}};

/* Finds the name or alias that the text begins with, and advances past it.
   Returns NULL for any other text. */
static const tvmffi_i_dtype_name *tvmffi_i_read_name(tvmffi_i_reader *r) {
  const size_t count =
      sizeof(tvmffi_i_dtype_names) / sizeof(tvmffi_i_dtype_names[0]);
  const char *begin = r->at;
  size_t i;
  TVMFFI_ASSERT(r->text == begin && !*r->head);
  for (i = 0; i < count; ++i) {
    const tvmffi_i_dtype_name *n = &tvmffi_i_dtype_names[i];
    TVMFFI_ASSERT(n->size == strlen(n->prefix));
    if (!tvmffi_i_starts(r, n->prefix, n->size)) continue;
    r->at = begin + n->size;
    if (n->before == TVMFFI_I_BEFORE_ANY) return n;
    r->text = r->at;
    r->head = n->head;
    if (n->before == TVMFFI_I_BEFORE_SHORT_FLOAT
            ? tvmffi_i_at_short_float(r)
            : r->at < r->end && *r->at >= '0' && *r->at <= '9')
      return n;
    r->at = r->text = begin;
    r->head = "";
  }
  return NULL;
}

static int tvmffi_i_read_dtype(tvmffi_i_reader *r, DLDataType *out) {
  const tvmffi_i_dtype_name *name = tvmffi_i_read_name(r);
  uint32_t bits = 0;
  if (!name) return tvmffi_i_bad_dtype(r, "dtype");
  if (name->code == kDLFloat && tvmffi_i_at_short_float(r))
    return tvmffi_i_read_short_float(r, out);
  out->code = name->code;
  out->bits = name->bits;
  if (name->code == TVMFFI_I_CUSTOM_CODE)
    TVMFFI_TRY(tvmffi_i_read_custom(r, out));
  TVMFFI_TRY(tvmffi_i_read_number(r, &bits));
  if (bits > UINT8_MAX) return tvmffi_i_bad_number(r, "Bits", bits, "uint8_t");
  if (bits > 8 && name->code == kDLBool)
    return tvmffi_i_bad_number(r, "Bits", bits, "bool");
  if (bits) out->bits = (uint8_t)bits;
  return tvmffi_i_read_lanes(r, 1, out);
}

/* Slow path of TVMFFIDataTypeFromString. Not inlined, so that the fast path
   needs no stack frame. */
TVMFFI_I_NOINLINE int tvmffi_i_read_unusual(const TVMFFIByteArray *str,
                                            DLDataType *out) {
  tvmffi_i_reader r;
  DLDataType dtype;
  dtype.code = kDLOpaqueHandle;
  dtype.bits = 0;
  dtype.lanes = 0;
  if (str->size && (str->size != 4 || memcmp(str->data, "void", 4) != 0)) {
    r.at = r.text = str->data;
    r.end = str->data + str->size;
    r.head = "";
    dtype.lanes = 1;
    TVMFFI_TRY(tvmffi_i_read_dtype(&r, &dtype));
  }
  *out = dtype;
  return 0;
}

#if TVMFFI_I_ASSERTS
/* Returns 1 if the slow path reads the same type, else 0. */
static int tvmffi_i_reads_as(const char *text, size_t size, int code,
                             uint64_t bits, int lanes) {
  TVMFFIByteArray str;
  DLDataType t;
  str.data = text;
  str.size = size;
  return tvmffi_i_read_unusual(&str, &t) == 0 && t.code == code &&
         t.bits == bits && (int16_t)t.lanes == lanes;
}
#endif

/* Fast path: reads int, float or uint with bits and lanes, bool, or handle.
   Returns 1, or 0 for any other text. */
static int tvmffi_i_read_usual(const char *p, size_t size, DLDataType *out) {
  const char *end, *digits;
  uint64_t bits, lanes = 1;
  int code, negative = 0;
  if (size < 3 || size > 16 || (size > 6 && p[6] == '_')) return 0;
  end = p + size;
  code = memcmp(p, "int", 3) == 0                   ? kDLInt
         : size >= 5 && memcmp(p, "float", 5) == 0  ? kDLFloat
         : size >= 4 && memcmp(p, "uint", 4) == 0   ? kDLUInt
         : size == 4 && memcmp(p, "bool", 4) == 0   ? kDLBool
         : size == 6 && memcmp(p, "handle", 6) == 0 ? kDLOpaqueHandle
                                                    : -1;
  if (code < 0) return 0;
  p = tvmffi_i_digits(p + tvmffi_i_code_names[code].size, end, &bits);
  if (bits > UINT8_MAX) return 0;
  if (!bits) bits = code == kDLBool ? 8 : code == kDLOpaqueHandle ? 64 : 32;
  if (p < end) {
    if (end - p > 8 && memcmp(p, "xvscale", 7) == 0) negative = 1, p += 7;
    if (*p != 'x') return 0;
    digits = ++p;
    p = tvmffi_i_digits(p, end, &lanes);
    if (p != end || p == digits || !lanes ||
        lanes > (uint64_t)(INT16_MAX + negative))
      return 0;
  }
  if (negative) lanes = 0 - lanes;
  TVMFFI_ASSERT(tvmffi_i_reads_as(end - size, size, code, bits, (int)lanes));
  out->code = (uint8_t)code;
  out->bits = (uint8_t)bits;
  out->lanes = (uint16_t)lanes;
  return 1;
}

int TVMFFIDataTypeFromString(const TVMFFIByteArray *str, DLDataType *out) {
  TVMFFI_I_CHECK_BYTES(str);
  TVMFFI_I_NOT_NULL(out);
  if (tvmffi_i_read_usual(str->data, str->size, out)) return 0;
  return tvmffi_i_read_unusual(str, out);
}

/* Writes a number in decimal. Returns the end of the text. */
static char *tvmffi_i_write_number(char *to, int64_t x) {
  char number[TVMFFI_I_DECIMAL];
  const char *p = tvmffi_i_decimal(number, x);
  TVMFFI_ASSERT(x >= 0 && x <= INT16_MAX + 1);
  while (*p) *to++ = *p++;
  return to;
}

/* Writes a type's bits and lanes, after its name. Returns the end of the
   text. */
static char *tvmffi_i_write_size(char *to, DLDataType t) {
  int lanes = (int16_t)t.lanes;
  if (t.code < TVMFFI_I_FIRST_SHORT_FLOAT && (t.code != kDLBool || t.bits != 8))
    to = tvmffi_i_write_number(to, t.bits);
  if (lanes > 1 || lanes < -1) {
    size_t n = lanes > 1 ? 1 : 8;
    memcpy(to, "xvscalex", n);
    to = tvmffi_i_write_number(to + n, lanes < 0 ? -lanes : lanes);
  }
  return to;
}

TVMFFI_I_COLD int tvmffi_i_write_custom(DLDataType t, TVMFFIAny *out) {
  TVMFFIAny code = tvmffi_int(t.code), result = tvmffi_none();
  TVMFFIByteArray name;
  char *text, *end;
  int failed;
  TVMFFI_ASSERT(t.code >= TVMFFI_I_CUSTOM_CODE);
  TVMFFI_TRY(tvmffi_i_call_by_name(
      (void *)(uintptr_t) "dtype.get_custom_type_name", &code, 1, &result));
  if (tvmffi_i_get_str(&result, &name)) {
    tvmffi_i_any_release(&result);
    return tvmffi_i_type_error("dtype.get_custom_type_name must give a string");
  }
  text = (char *)tvmffi_i_alloc(name.size + 32);
  if (!text) {
    tvmffi_i_any_release(&result);
    return tvmffi_i_no_memory();
  }
  memcpy(text, "custom[", 7);
  memcpy(text + 7, name.data, name.size);
  text[7 + name.size] = ']';
  end = tvmffi_i_write_size(text + 8 + name.size, t);
  TVMFFI_ASSERT((size_t)(end - text) <= name.size + 32);
  failed = tvmffi_i_make_string(text, (size_t)(end - text), kTVMFFIStr, out);
  tvmffi_i_free(text);
  tvmffi_i_any_release(&result);
  return failed;
}

int TVMFFIDataTypeToString(const DLDataType *dtype, TVMFFIAny *out) {
  char text[48], *end = text;
  const tvmffi_i_code_name *name;
  TVMFFI_I_NOT_NULL(dtype);
  TVMFFI_I_NOT_NULL(out);
  if (dtype->code >= TVMFFI_I_CUSTOM_CODE)
    return tvmffi_i_write_custom(*dtype, out);
  name =
      &tvmffi_i_code_names[dtype->code < TVMFFI_I_NUM_CODES ? dtype->code : 5];
  if (!name->size)
    return tvmffi_i_value_error("DLDataType contains unknown type_code=%d",
                                (int)dtype->code);
  if (dtype->code != kDLOpaqueHandle || dtype->lanes || dtype->bits) {
    TVMFFI_ASSERT(name->size == strlen(name->text));
    memcpy(text, name->text, sizeof(name->text));
    end = text + name->size;
    if (dtype->code != kDLOpaqueHandle) end = tvmffi_i_write_size(end, *dtype);
  }
  TVMFFI_ASSERT((size_t)(end - text) <= sizeof(text));
  return tvmffi_i_make_string(text, (size_t)(end - text), kTVMFFIStr, out);
}
