/* JSON texts beyond RFC 8259, which both libraries accept alike: strings that
   are not UTF-8, and numbers. */
#include <stdio.h>
#include <string.h>

#include "tvmffi.h"

#include "show.h"

/* Parses a text and writes the value; prints the bytes of the result. */
static int reprint(const char *text) {
  TVMFFI_SCOPE;
  TVMFFIAny value, json;
  size_t i;
  TVMFFI_TRY(tvmffi_call("ffi.json.Parse", &value, text));
  TVMFFI_TRY(tvmffi_call("ffi.json.Stringify", &json, value, tvmffi_none()));
  for (i = 0; i < tvmffi_any_str(&json).size; ++i) {
    unsigned char c = (unsigned char)tvmffi_any_str(&json).data[i];
    printf(c < ' ' || c > '~' ? "<%02x>" : "%c", c);
  }
  printf("\n");
  return 0;
}

TVMFFI_MAIN() {
  static const char *const texts[] = {
      "\"\xFF\"",                     /* no first byte */
      "\"ab\x80\"",                   /* no character before */
      "\"\xC0\x80\"",                 /* too long */
      "\"\xE0\x80\xAF\"",             /* too long */
      "\"\xED\xA0\x80\"",             /* a surrogate */
      "\"\xED\xA0\xBD\xED\xB8\x80\"", /* a pair of surrogates */
      "\"\xF4\x90\x80\x80\"",         /* above U+10FFFF */
      "\"\xE2\x82\"",                 /* cut */
      "{\"\xE2\x82\":\"\xE2\\n\"}",   /* cut, before an escape */
      "[01,-007,+1,+.5,.5,1.,1.e5,NaN,Infinity,-Infinity]"};
  static const char *const bad[] = {
      "\"\\uD800\"", "\"\\uDC00\"",  "\"\\uD800x\"", "\"\\uD800\\u0041\"",
      "\"\\uDE00\\uD83D\"", "\xFF",          "\xEF\xBB\xBF" "1", "nan"};
  size_t i;
  for (i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i)
    TVMFFI_TRY(reprint(texts[i]));
  for (i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i)
    FAILS(reprint(bad[i]));
  return 0;
}
