/* ======== JSON: texts read and written ==================================== */

#pragma once

#include "harness.h"
#include "apply.h"

#if !TVMFFI_NO_EXTRA && !TEST_NO_JSON
static int test_parse(const char *text, size_t size, TVMFFIAny *out) {
  TVMFFIByteArray bytes = test_bytes(text, size);
  TVMFFIAny arg = tvmffi_none(), owned;
  TVMFFI_TRY(TVMFFIStringFromByteArray(&bytes, &owned));
  arg = owned;
  if (test_apply_global("ffi.json.Parse", &arg, 1, out)) {
    tvmffi_any_release(&owned);
    return -1;
  }
  tvmffi_any_release(&owned);
  return 0;
}

/* The text that a value has; it lives as long as the test. */
static int test_stringify(const TVMFFIAny *value, int indent,
                          TVMFFIByteArray *text) {
  TVMFFIAny args[2], made;
  args[0] = *value;
  args[1] = indent ? tvmffi_int(indent) : tvmffi_none();
  TVMFFI_TRY(test_apply_global("ffi.json.Stringify", args, 2, &made));
  *text = tvmffi_any_str(&made);
  return 0;
}

static int test_reprint(const char *from, int indent, TVMFFIByteArray *text) {
  TVMFFIAny value;
  TVMFFI_TRY(test_parse(from, strlen(from), &value));
  return test_stringify(&value, indent, text);
}

/* Parts of the reader, of which texts show only the speed or the end. */
static void test_reader_parts(void) {
  const size_t spaces = SIZE_MAX / 255 * ' ';
  const char *digits = "0041";
  size_t i;
  CHECK_INT(tvmffi_i_json_hex(digits, digits + 4), 0x41);
  CHECK_INT(tvmffi_i_json_hex(digits, digits + 3), -1);
  CHECK(tvmffi_i_json_match(digits, digits + 4, digits) == digits + 4);
  CHECK_INT(tvmffi_i_json_fits(digits, digits + 4, 0, 41), 1);
  CHECK(!tvmffi_i_bytes_below(spaces, ' '));
  CHECK(!tvmffi_i_bytes_equal(spaces, '"'));
  for (i = 0; i < 8 * sizeof(spaces); i += 8) {
    const size_t below = spaces - ((size_t)1 << i);
    CHECK(tvmffi_i_bytes_below(below, ' ') >> (i + 7) & 1);
    CHECK(tvmffi_i_bytes_below(spaces ^ (size_t)' ' << i, ' ') != 0);
    CHECK(!tvmffi_i_bytes_below(spaces | (size_t)255 << i, ' '));
    CHECK(!tvmffi_i_bytes_below(spaces | (size_t)128 << i, ' '));
    CHECK(tvmffi_i_bytes_equal(spaces ^ (size_t)2 << i, '"') != 0);
  }
}

/* The examples of RFC 4648, what upstream accepts, and a long text. */
static void test_base64(void) {
  static const struct {
    const char *text, *bytes;
    size_t size;
    int is_made; /* otherwise only read */
  } rows[] = {{"", "", 0, 1},
              {"Zg==", "f", 1, 1},
              {"Zm8=", "fo", 2, 1},
              {"Zm9v", "foo", 3, 1},
              {"Zm9vYg==", "foob", 4, 1},
              {"Zm9vYmE=", "fooba", 5, 1},
              {"Zm9vYmFy", "foobar", 6, 1},
              {"Zm=v", "f/", 2, 0},
              {"????", "\0\0\0", 3, 0}};
  static char zeros[1000], nul[] = "AA\0A";
  TVMFFIAny any;
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    OK(tvmffi_i_from_base64(TEXT(rows[i].text), &any));
    CHECK_BYTES(tvmffi_any_str(&any), rows[i].bytes, rows[i].size);
    tvmffi_any_release(&any);
    if (!rows[i].is_made) continue;
    OK(tvmffi_i_base64(test_bytes(rows[i].bytes, rows[i].size), &any));
    CHECK_TEXT(tvmffi_any_str(&any), rows[i].text);
    tvmffi_any_release(&any);
  }
  OK(tvmffi_i_from_base64(test_bytes(nul, 4), &any));
  CHECK_BYTES(tvmffi_any_str(&any), "\0\0\0", 3);
  tvmffi_any_release(&any);
  OK(tvmffi_i_base64(test_bytes(zeros, sizeof(zeros)), &any));
  CHECK_INT(tvmffi_any_str(&any).size, 1336);
  tvmffi_any_release(&any);
}

/* Characters whose escape depends on those behind them. */
static void test_escapes(void) {
  tvmffi_i_text_buffer b;
  memset((void *)&b, 0, sizeof(b));
  tvmffi_i_repr_str(&b, test_bytes("\n\0\xC3", 3));
  tvmffi_i_text_hex(&b, "@0x", UINT64_MAX, 1);
  tvmffi_i_text_hex(&b, "@0x", 0, 1);
  if (!b.failed)
    CHECK_TEXT(test_bytes(b.data, b.size),
               "\"\\n\\x00\\xc3\"@0xffffffffffffffff@0x0");
  tvmffi_i_text_release(&b);
}

static void test_json_texts(TVMFFI_HERE) {
  static const struct {
    const char *from, *to;
  } rows[] = {{" null ", "null"},
              {"null", "null"},
              {"[true,false\t]\n", "[true,false]"},
              {"[]", "[]"},
              {"{ }", "{}"},
              {"{\"a\":{\"b\":[1,[2]]},\"c\":\"d\"}",
               "{\"a\":{\"b\":[1,[2]]},\"c\":\"d\"}"},
              {"{\"a\":1,\"b\":2,\"a\":3}", "{\"a\":3,\"b\":2}"},
              {"{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"a\":5}",
               "{\"b\":2,\"c\":3,\"d\":4,\"a\":5}"},
              {"\"a longer text / with \\\" and \\u00e9\"",
               "\"a longer text \\/ with \\\" and \xC3\xA9\""},
              {"\"\\b\\f\\n\\r\\t\\/\\\\\\\"\\u0001\\u007F\"",
               "\"\\b\\f\\n\\r\\t\\/\\\\\\\"\\u0001\\u007f\""},
              {"\"\\uD83D\\uDE00\\u4e2d\\u0000\\uE000\\u07aF\"",
               "\"\xF0\x9F\x98\x80\xE4\xB8\xAD\\u0000\xEE\x80\x80"
               "\xDE\xAF\""},
              {"\"\\u0080\\u07Ff\\u0800\\uD7FF\\uffFF\\uD800\\uDC00"
               "\\udbff\\udfff\"",
               "\"\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEF\xBF\xBF"
               "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF\""}};
  TVMFFIByteArray text;
  TVMFFIAny args[2], made;
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    OK(test_reprint(rows[i].from, 0, &text));
    CHECK_TEXT(text, rows[i].to);
    test_release_all();
  }
  OK(test_reprint("[1,{\"a\":[],\"b\":{\"c\":0}}]", 2, &text));
  CHECK_TEXT(text,
             "[\n  1,\n  {\n    \"a\": [\n    ],\n    \"b\": {\n"
             "      \"c\": 0\n    }\n  }\n]");
  test_reader_parts();
  test_base64();
  test_escapes();
  OK(test_reprint("[1]", 1, &text));
  CHECK_TEXT(text, "[\n 1\n]");
  FAILS(test_parse("\"\\uD800\\u0000\"", 14, &made), "ValueError",
        "...Invalid surrogate pair");
  FAILS(test_parse("{\"a key of some length\":!}", 26, &made), "ValueError",
        "...Expecting value");
  OK(test_reprint("[1]", -3, &text));
  CHECK_TEXT(text, "[\n1\n]");
  args[0] = tvmffi_none();
  args[1] = tvmffi_str("two");
  FAILS(test_apply_global("ffi.json.Stringify", args, 2, &made), "TypeError",
        "...`Optional<int>`");
}

/* Wherever the reader's stack is full, a key and its value find room. */
static void test_json_stack(TVMFFI_HERE) {
  int i, k;
  for (i = 0; i < test_scale(80, 20); ++i) {
    char text[2 * 80 + 16];
    size_t n = 0;
    TVMFFIAny value;
    text[n++] = '[';
    for (k = 0; k < i; ++k) text[n++] = '1', text[n++] = ',';
    memcpy(text + n, "{\"a\":[]}]", 9);
    OK(test_parse(text, n + 9, &value));
    CHECK_INT(TVMFFI_I_CELL(TVMFFISeqCell, value.v_obj)->size, i + 1);
    test_release_all();
  }
}

/* Numbers that are hard to round, and those that only upstream takes. */
static void test_json_numbers(TVMFFI_HERE) {
  static const struct {
    const char *from, *to;
  } rows[] = {
      {"9223372036854775807", "9223372036854775807"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"9223372036854775808", "9.2233720368547758e+18"},
      {"18446744073709551617", "1.8446744073709552e+19"},
      {"-0", "0"},
      {"-0.0", "-0.0"},
      {"007", "7"},
      {"+.5e1", "5.0"},
      {"1.", "1.0"},
      {"0.1", "0.10000000000000001"},
      {"1e22", "1e+22"},
      {"123456789012345680", "123456789012345680"},
      {"1234567890123456.7", "1234567890123456.8"},
      {"1234567890123456.25", "1234567890123456.2"},
      {"1234567890123456.75", "1234567890123456.8"},
      {"4503599627370497.5", "4503599627370498.0"},
      {"13.436424411240122", "13.436424411240122"},
      {"-123456789012345678e-44", "-1.2345678901234567e-27"},
      {"1234567890123456789e44", "1.2345678901234569e+62"},
      {"9.9999999999999999e22", "9.9999999999999992e+22"},
      {"1e23", "9.9999999999999992e+22"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"[1234567,12345678,123456789]", "[1234567,12345678,123456789]"},
      {"9007199254740993.0", "9007199254740992"},
      {"9007199254740993.00000000000000000000000001", "9007199254740994"},
      {"1.7976931348623157e308", "1.7976931348623157e+308"},
      {"2.2250738585072014e-308", "2.2250738585072014e-308"},
      {"0.00001", "1.0000000000000001e-05"},
      {"0.00012", "0.00012"},
      {"1e-300", "1e-300"},
      {"123456.5e-1", "12345.65"},
      {"0e99999999999999999999", "0.0"},
      {"\r\n00000000000000000000\r", "0"},
      {"00000000000000000000000000009", "9"},
      {"12345678901234567890123", "1.2345678901234568e+22"},
      {"0000000000000000000000001e1", "10.0"},
      {"0000000000000000000004294967295e0", "4294967295.0"},
      {"0.0000000000000000000000", "0.0"},
      {"0.00000000000000000000012345", "1.2345000000000001e-22"},
      {"2.2250738585072013e-308", "2.2250738585072014e-308"},
      {"-0.5E-0", "-0.5"},
      {"100e-2", "1.0"},
      {"[NaN,Infinity,-Infinity]", "[NaN,Infinity,-Infinity]"}};
  static const char *const bad[] = {
      "1e400", "5e-324", "2.2250738585072011e-308",
      "1e",    "-",      "+",
      ".",     "1-2",    "--1",
      "1.5.2", "-N",     "Inf",
      "e5",    "1+2",    "1.5e",
      "1e-400", "1e-325", "2e308", "1e+",
      "2.2250738585072012e-308", "123456789012345678901234e400"};
  TVMFFIByteArray text;
  TVMFFIAny any;
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    OK(test_reprint(rows[i].from, 0, &text));
    CHECK_TEXT(text, rows[i].to);
    test_release_all();
  }
  for (i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i)
    FAILS(test_parse(bad[i], strlen(bad[i]), &any), "ValueError",
          "Expecting value: line 1 column 1 (char 0)");
}

/* A long number is rounded by all of its digits, also by those behind the
   800th, wherever its point is. */
static void test_json_long_numbers(TVMFFI_HERE) {
  enum { DIGITS = 900, HALF = 1023 };
  char text[DIGITS + 8];
  TVMFFIByteArray got;
  int i, k, carry;
  /* 2^53 + 1 lies halfway between two doubles, so the last digit decides. */
  for (i = 0; i < 4; ++i) {
    memset(text, '0', DIGITS);
    memcpy(text, "9007199254740993", 16);
    text[i & 2 ? 850 : 16] = '.';
    text[DIGITS - 1] = (char)('0' + (i & 1));
    strcpy(text + DIGITS, i & 2 ? "e-834" : "");
    OK(test_reprint(text, 0, &got));
    CHECK_TEXT(got, i & 1 ? "9007199254740994" : "9007199254740992");
    test_release_all();
  }
  /* 5^1023 * 10^-1023 is 2^-1023, which is less than the least normal double
     and has no digit that is lost. */
  memset(text, 0, sizeof(text));
  text[715] = 1;
  for (i = 0; i < HALF; ++i) {
    for (carry = 0, k = 715; k >= 0; --k) {
      carry += text[k] * 5;
      text[k] = (char)(carry % 10);
      carry /= 10;
    }
  }
  for (k = 0; k <= 715; ++k) text[k] = (char)(text[k] + '0');
  strcpy(text + 716, "e-1023");
  OK(test_reprint(text, 0, &got));
  CHECK_TEXT(got, "1.1125369292536007e-308");
}

static void test_json_errors(TVMFFI_HERE) {
  static const struct {
    const char *from, *error;
  } rows[] = {
      {"", "Expecting value: line 1 column 1 (char 0)"},
      {"[\n 1,\n nul]", "Expecting value: line 3 column 2 (char 7)"},
      {"[1,", "Syntax error near: line 1 column 4 (char 3)"},
      {"[1 2]", "Expecting ',' delimiter: line 1 column 4 (char 3)"},
      {"[1,]", "Expecting value: line 1 column 4 (char 3)"},
      {"1 \n 2", "Extra data: line 2 column 2 (char 4)"},
      {"[1]2", "Extra data: line 1 column 4 (char 3)"},
      {"{",
       "Expecting property name enclosed in double quotes: line 1 column "
       "2 (char 1)"},
      {"{\"a\" 1}", "Expecting ':' delimiter: line 1 column 6 (char 5)"},
      {"{\"a\":1]", "Expecting ',' delimiter: line 1 column 7 (char 6)"},
      {"[{\"a\":1},{\"a\":1},{\"a\"=1},{\"b\":\"a text behind it\"}]",
       "Expecting ':' delimiter: line 1 column 22 (char 21)"},
      {"[\"abc", "Unterminated string starting at: line 1 column 2 (char 1)"},
      {"\"a\nb\"", "Invalid control character at: line 1 column 3 (char 2)"},
      {"\"\\x\"", "Invalid \\escape: line 1 column 3 (char 2)"},
      {"\"\\", "Invalid \\escape: line 1 column 3 (char 2)"},
      {"\"\\u12\"", "Invalid \\uXXXX escape: line 1 column 3 (char 2)"},
      {"\"\\u00/0\"", "Invalid \\uXXXX escape: line 1 column 3 (char 2)"},
      {"\"\\u00:0\"", "Invalid \\uXXXX escape: line 1 column 3 (char 2)"},
      {"\"\\u00g0\"", "Invalid \\uXXXX escape: line 1 column 3 (char 2)"},
      {"\"\\u00@0\"", "Invalid \\uXXXX escape: line 1 column 3 (char 2)"},
      {"{\"a\":1,b\":2}",
       "Expecting property name enclosed in double quotes: line 1 column 8 "
       "(char 7)"},
      {"\"\\uD800\\uE000\"",
       "Invalid surrogate pair of \\uXXXX escapes: line 1 "
       "column 10 (char 9)"},
      {"\"\\uDE00\"",
       "Invalid surrogate pair of \\uXXXX escapes: line 1 "
       "column 3 (char 2)"},
      {"\"\\uDFFF\"",
       "Invalid surrogate pair of \\uXXXX escapes: line 1 "
       "column 3 (char 2)"},
      {"\"\\uDC00\\uDC00\"",
       "Invalid surrogate pair of \\uXXXX escapes: line 1 "
       "column 3 (char 2)"},
      {"\"\\uD800\\uDBFF\"",
       "Invalid surrogate pair of \\uXXXX escapes: line 1 "
       "column 10 (char 9)"},
      {"\"\\uD800\\u0041\"",
       "Invalid surrogate pair of \\uXXXX escapes: line 1 "
       "column 10 (char 9)"},
      {"\"\\uD800\\u\"", "Invalid \\uXXXX escape: line 1 column 10 (char 9)"},
      {"\v1", "Expecting value: line 1 column 1 (char 0)"}};
  TVMFFIAny any;
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i)
    FAILS(test_parse(rows[i].from, strlen(rows[i].from), &any), "ValueError",
          rows[i].error);
  FAILS(test_parse("\"\\\0\"", 4, &any), "ValueError",
        "Invalid \\escape: line 1 column 3 (char 2)");
}

/* A part of a text is an error, whatever lies behind the part. */
static void test_json_parts(TVMFFI_HERE) {
  static const char text[] =
      "[ {\"a\" : [1, \"\\u00e9\\n\", {}] , \"b\":-2.5e1},[ ] , true,null,"
      "[NaN,-Infinity,12345678901234567890], {\"a\":false} ]";
  TVMFFIAny any;
  size_t i;
  for (i = 0; i < sizeof(text) - 1; ++i)
    FAILS(tvmffi_i_json_parse(test_bytes(text, i), &any), "ValueError", NULL);
  OK(tvmffi_i_json_parse(test_bytes(text, i), &any));
  test_own_any(&any);
}

/* Texts that upstream accepts, and what RFC 8259 says of them. */
static void test_json_strict(TVMFFI_HERE) {
  static const struct {
    const char *text, *error; /* of reading, or NULL */
    int is_written;           /* what was read */
  } rows[] = {
      {"[\"a\\\"\xC2\x80\xDF\xBF\xE0\xA0\x80\"]", NULL, 1},
      {"\"\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF\"", NULL, 1},
      {"{\"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF\":true}", NULL, 1},
      {"[0,-0.5,1e5,10.25E-3,2e+2,null,false]", NULL, 1},
      {"\"ab\x80\"", "Invalid UTF-8 at: line 1 column 4 (char 3)", 0},
      {"[\n\"\xC1\xBF\"]", "Invalid UTF-8 at: line 2 column 2 (char 3)", 0},
      {"\"\xE0\x9F\xBF\"", "Invalid UTF-8 at: line 1 column 2 (char 1)", 0},
      {"\"\xF0\x8F\xBF\xBF\"", "Invalid UTF-8 at: line 1 column 2 (char 1)",
       0},
      {"\"\xED\xA0\x80\"", "Invalid UTF-8 at: line 1 column 2 (char 1)", 0},
      {"\"\xED\xBF\xBF\"", "Invalid UTF-8 at: line 1 column 2 (char 1)", 0},
      {"\"\xF4\x90\x80\x80\"", "Invalid UTF-8 at: line 1 column 2 (char 1)",
       0},
      {"\"\xF8\x88\x80\x80\x80\"",
       "Invalid UTF-8 at: line 1 column 2 (char 1)", 0},
      {"{\"\xE2\x82\":1}", "Invalid UTF-8 at: line 1 column 3 (char 2)", 0},
      {"\"\xC2\"", "Invalid UTF-8 at: line 1 column 2 (char 1)", 0},
      {"\"\xF4\"", "Invalid UTF-8 at: line 1 column 2 (char 1)", 0},
      {"[1,NaN]", "Expecting value: line 1 column 4 (char 3)", 0},
      {"[Infinity]", "Expecting value: line 1 column 2 (char 1)", 0},
      {"[-Infinity]", "Expecting value: line 1 column 2 (char 1)", 0},
      {"01", "Expecting value: line 1 column 1 (char 0)", 1},
      {"-00.5", "Expecting value: line 1 column 1 (char 0)", 1},
      {"+1", "Expecting value: line 1 column 1 (char 0)", 1},
      {".5", "Expecting value: line 1 column 1 (char 0)", 1},
      {"1.", "Expecting value: line 1 column 1 (char 0)", 1},
      {"[2,1.e5]", "Expecting value: line 1 column 4 (char 3)", 1}};
  TVMFFIAny args[2], text, made;
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    text = tvmffi_str(rows[i].text);
    if (rows[i].error)
      FAILS(test_apply_global("tvmffi.json.ParseStrict", &text, 1, &made),
            "ValueError", rows[i].error);
    else
      OK(test_apply_global("tvmffi.json.ParseStrict", &text, 1, &made));
    OK(test_apply_global("ffi.json.Parse", &text, 1, &args[0]));
    args[1] = tvmffi_none();
    if (rows[i].is_written)
      OK(test_apply_global("tvmffi.json.StringifyStrict", args, 2, &made));
    else
      FAILS(test_apply_global("tvmffi.json.StringifyStrict", args, 2, &made),
            "ValueError", NULL);
    test_release_all();
  }
}

/* Objects with the keys of one before, whatever became of that one. */
static void test_json_alike(TVMFFI_HERE) {
#define SOME "\"b\":2,\"c\":3,\"a longer key\":4"
#define FOUR "\"a\":1," SOME
  static const struct {
    const char *from, *to;
  } rows[] = {
      {"[{" FOUR "},{" FOUR "}]", NULL},
      {"{\"x\":{" FOUR "},\"x\":{" FOUR "}}", "{\"x\":{" FOUR "}}"},
      {"[{" FOUR ",\"a\":5},{" FOUR ",\"a\":6}]",
       "[{" SOME ",\"a\":5},{" SOME ",\"a\":6}]"},
      {"[{" FOUR "},{\"\\u0061\":1," SOME "}]", "[{" FOUR "},{" FOUR "}]"},
      {"[{" FOUR "},{" SOME ",\"a\":1},{" FOUR ",\"d\":{}}]", NULL},
      {"{\"x\":1,\"y\":[{" FOUR "}],\"x\":{" FOUR "}}",
       "{\"x\":{" FOUR "},\"y\":[{" FOUR "}]}"}};
  static const char escaped[] =
      "[{\"a\":1},{\"\\u0061\":2},{\"a\":3},{\"b\":\"more text behind it\"}]";
  const TVMFFIAny none = tvmffi_none();
  const tvmffi_i_pair *row;
  TVMFFIByteArray text;
  TVMFFIAny any, key;
  size_t i;
  int code = 0;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    OK(test_reprint(rows[i].from, 0, &text));
    CHECK_TEXT(text, rows[i].to ? rows[i].to : rows[i].from);
    test_release_all();
  }
  /* As upstream's, a key with an escape is an object even if it is short. */
  OK(test_parse(escaped, strlen(escaped), &any));
  for (i = 0; i < 3; ++i) {
    key = TVMFFI_I_ITEMS((tvmffi_i_seq *)any.v_ptr)[i];
    row = (const tvmffi_i_pair *)((tvmffi_i_map_object *)key.v_ptr)->data;
    CHECK_INT(row->key.type_index, i == 1 ? kTVMFFIStr : kTVMFFISmallStr);
  }
  /* The table in the map's own memory gives way to a larger one. */
  OK(test_parse(rows[0].from, strlen(rows[0].from), &any));
  any = TVMFFI_I_ITEMS((tvmffi_i_seq *)any.v_ptr)[1];
  any.v_obj = tvmffi_i_map_copy(any.v_obj, kTVMFFIMap);
  OK(any.v_obj ? 0 : -1);
  for (i = 0; !code && i < 20; ++i) {
    key = tvmffi_int((int64_t)i);
    code = tvmffi_i_map_set(any.v_obj, &key, &none);
  }
  OWN(any.v_obj);
  OK(code);
  CHECK(tvmffi_i_map_size(any.v_obj) == 24);
  key = tvmffi_str("a longer key");
  CHECK(tvmffi_i_map_get(any.v_obj, &key)->v_int64 == 4);
#undef FOUR
#undef SOME
}

/* A text of `n` objects, whose keys of `first` letters and more differ in their
   last one, too; of the second object with a space, of the third in another
   order. */
static void test_put_keys(tvmffi_i_text_buffer *b, int n, int first, int keys,
                          int space) {
  int i, k;
  b->size = 0;
  for (i = 0; i < n; ++i) {
    tvmffi_i_text_char(b, i ? ',' : '[');
    for (k = 0; k < keys; ++k) {
      int key = i == 2 ? keys - 1 - k : k, left = first + key % 40;
      tvmffi_i_text_char(b, k ? ',' : '{');
      tvmffi_i_text_char(b, '"');
      while (left-- > 0) tvmffi_i_text_char(b, 'k');
      tvmffi_i_text_char(b, (char)('a' + key / 40));
      tvmffi_i_text_char(b, '"');
      if (space && i == 1) tvmffi_i_text_char(b, ' ');
      tvmffi_i_text_char(b, ':');
      tvmffi_i_text_char(b, (char)('0' + (i + k) % 10));
    }
    tvmffi_i_text_char(b, '}');
  }
  tvmffi_i_text_char(b, ']');
}

/* Keys that come again: of every length, in another order, with a space behind
   them, and cut off at any place. */
static void test_json_keys(TVMFFI_HERE) {
  tvmffi_i_text_buffer b = {NULL, 0, 0, 0}, want = {NULL, 0, 0, 0};
  TVMFFIByteArray text = {NULL, 0};
  TVMFFIAny any = tvmffi_none();
  size_t i;
  int code = 0, n, keys;
  for (keys = 1; !code && keys <= 120; keys += test_step(7, 60)) {
    for (n = 1; !code && n <= 6; n += 5) {
      test_put_keys(&b, n, 0, keys, 1);
      test_put_keys(&want, n, 0, keys, 0);
      code = b.failed || want.failed ? tvmffi_i_no_memory()
                                     : test_parse(b.data, b.size, &any);
      if (!code) code = test_stringify(&any, 0, &text);
      if (!code)
        CHECK(text.size == want.size &&
              !memcmp(text.data, want.data, want.size));
      test_release_all();
    }
  }
  if (!code) { /* nothing that is cut off is taken */
    test_put_keys(&b, 2, 0, 5, 1);
    for (i = 0; i < b.size; i += (size_t)test_step(1, 13)) {
      FAILS(test_parse(b.data, i, &any), "ValueError", NULL);
      test_release_all();
    }
  }
  tvmffi_i_text_release(&want);
  tvmffi_i_text_release(&b);
  OK(code);
}

static void test_json_writing_errors(TVMFFI_HERE) {
  TVMFFIObject *list = tvmffi_i_new_list(0), *dict, *map;
  TVMFFIByteArray text;
  TVMFFIAny any, key = tvmffi_int(1);
  int code;
  OK(list ? 0 : -1);
  OWN(list);
  any = tvmffi_obj(list);
  OK(tvmffi_i_list_append(list, &any));
  code = test_stringify(&any, 0, &text);
  tvmffi_i_erase((tvmffi_i_seq *)(void *)list, 0, 1);
  FAILS(code, "ValueError", "Cycle detected: List contains itself");
  dict = tvmffi_i_new_map(kTVMFFIDict, 0);
  OK(dict ? 0 : -1);
  OWN(dict);
  any = tvmffi_obj(dict);
  FAILS(test_stringify(&any, 0, &text), "ValueError",
        "Unsupported type: `ffi.Dict`");
  map = tvmffi_i_new_map(kTVMFFIMap, 0);
  OK(map ? 0 : -1);
  code = tvmffi_i_map_set(map, &key, &key);
  OWN(map);
  OK(code);
  any = tvmffi_obj(map);
  FAILS(test_stringify(&any, 0, &text), "ValueError",
        "Expect key to be string, got `int`");
}

/* One list in another, as deep as memory allows: read, written, made a graph
   and a value again. */
static void test_json_depth(TVMFFI_HERE) {
  int i, n = test_scale(test_chain, 20);
  tvmffi_i_text_buffer b = {NULL, 0, 0, 0};
  TVMFFIAny text, value, args[2], graph, again;
  TVMFFIByteArray back;
  for (i = 0; i < n; ++i) tvmffi_i_text_char(&b, '[');
  for (i = 0; i < n; ++i) tvmffi_i_text_char(&b, ']');
  OK(tvmffi_i_text_take(&b, &text));
  OWN(text.v_obj);
  OK(test_apply_global("ffi.json.Parse", &text, 1, &value));
  OK(test_stringify(&value, 0, &back));
  CHECK(tvmffi_i_same_text(back, tvmffi_any_str(&text)));
  args[0] = value;
  args[1] = tvmffi_none();
  OK(test_apply_global("ffi.ToJSONGraphString", args, 2, &graph));
  OK(test_apply_global("ffi.FromJSONGraphString", &graph, 1, &again));
  OK(test_stringify(&again, 0, &back));
  CHECK(tvmffi_i_same_text(back, tvmffi_any_str(&text)));
  FAILS(test_parse(tvmffi_any_str(&text).data, (size_t)n, &value), "ValueError",
        NULL);
}
#endif

static const test_case test_json_cases[] = {
#if !TVMFFI_NO_EXTRA && !TEST_NO_JSON
    {"JSON: texts", test_json_texts},
    {"JSON: values at the end of the stack", test_json_stack},
    {"JSON: numbers", test_json_numbers},
    {"JSON: long numbers", test_json_long_numbers},
    {"JSON: texts that are none", test_json_errors},
    {"JSON: parts of a text", test_json_parts},
    {"JSON: strict", test_json_strict},
    {"JSON: objects alike", test_json_alike},
    {"JSON: keys that come again", test_json_keys},
    {"JSON: values that have none", test_json_writing_errors},
    {"JSON: a deep nest", test_json_depth},
#endif
    {NULL, NULL}};
