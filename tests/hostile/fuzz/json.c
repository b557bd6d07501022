/* JSON: what is a value is written, and what is written is the same value. What
   is strict stays so. */
#include "fuzz.h"

#ifdef FUZZ_MUTATE
static const char *const fuzz_words[] = {
    "null",
    "true",
    "false",
    "NaN",
    "Infinity",
    "-Infinity",
    "-0",
    "-0.0",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "1e308",
    "1e309",
    "5e-324",
    "2e-324",
    "0.1",
    "1E400",
    "123456789012345678",
    "2.2250738585072011e-308",
    "9007199254740993.0",
    "[]",
    "{}",
    "\"\"",
    "\"\\ud83d\\ude00\"",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "\"a\\/\\b\\n\"",
    "{\"a\":1,\"a\":2,\"b\":3,\"c\":4,\"d\":5}",
    "[[[[[[[[[[[[]]]]]]]]]]]]"};
#endif
#include "mutate.h"

static TVMFFIObject *parse, *stringify, *repr, *parse_strict, *stringify_strict;

/* Whether there may be a whole number of 2^53 or more in the text: a float of
   that size is written without a point, as upstream does, and is then an int.
 */
static int has_large_whole(TVMFFIByteArray text) {
  size_t i, digits = 0;
  for (i = 0; i < text.size; ++i) {
    digits = text.data[i] >= '0' && text.data[i] <= '9' ? digits + 1 : 0;
    if (digits == 16) return 1;
  }
  return 0;
}

/* Writes the value and reads it again. */
static void round_trip(TVMFFIAny value, TVMFFIAny indent) {
  TVMFFIAny text, again = tvmffi_none(), second;
  FUZZ_CHECK(fuzz_call2(stringify, value, indent, &text) == 0);
  FUZZ_CHECK(fuzz_call1(parse, text, &again) == 0);
  FUZZ_CHECK(fuzz_same(value, again) || has_large_whole(tvmffi_any_str(&text)));
  FUZZ_CHECK(fuzz_call2(stringify, again, indent, &second) == 0);
  FUZZ_CHECK(fuzz_same_text(&text, &second));
  tvmffi_any_release(&text);
  tvmffi_any_release(&again);
  tvmffi_any_release(&second);
}

/* The value of a text of RFC 8259 is written as one. */
static void strict_round_trip(TVMFFIAny text) {
  TVMFFIAny value, written, again;
  if (fuzz_call1(parse_strict, text, &value)) return;
  FUZZ_CHECK(fuzz_call2(stringify_strict, value, tvmffi_none(), &written) == 0);
  FUZZ_CHECK(fuzz_call1(parse_strict, written, &again) == 0);
  tvmffi_any_release(&value);
  tvmffi_any_release(&written);
  tvmffi_any_release(&again);
}

#ifdef FUZZ_PRINT
/* For run.py, which reads the same text with Python. */
static void print(TVMFFIAny value) {
  TVMFFIAny text;
  TVMFFIByteArray s;
  FUZZ_CHECK(fuzz_call2(stringify, value, tvmffi_none(), &text) == 0);
  s = tvmffi_any_str(&text);
  printf("%.*s\n", (int)s.size, s.data);
  tvmffi_any_release(&text);
}
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  TVMFFIAny text, value, shown;
  fuzz_begin();
  if (!parse) {
    parse = fuzz_function("ffi.json.Parse");
    stringify = fuzz_function("ffi.json.Stringify");
    repr = fuzz_function("ffi.ReprPrint");
    parse_strict = fuzz_function("tvmffi.json.ParseStrict");
    stringify_strict = fuzz_function("tvmffi.json.StringifyStrict");
  }
  text = fuzz_text(data, size);
  strict_round_trip(text);
  if (fuzz_call1(parse, text, &value) == 0) {
    round_trip(value, tvmffi_none());
    round_trip(value, tvmffi_int(size % 5));
    FUZZ_CHECK(fuzz_call1(repr, value, &shown) == 0);
    tvmffi_any_release(&shown);
#ifdef FUZZ_PRINT
    print(value);
  } else {
    printf("error\n");
#endif
  }
  tvmffi_any_release(&value);
  tvmffi_any_release(&text);
  return 0;
}
