/* Two copies of the runtime in one program. Each has its own tables and error
   slots, so names do not clash. Both copies can use the same objects and
   functions, because the ABI defines their layout. */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include "plugin.h"
#include <stdio.h>

#define CHECK(x) TVMFFI_TRY((x) ? 0 : TVMFFI_RAISE("AssertionError", "%s", #x))

TVMFFI_FUNC(who, str) {
  TVMFFIByteArray text = {"the host program", 16};
  TVMFFI_RETURN(text);
}

/* Calls `greeter`, or "demo.who" if it is NULL, and compares the result. */
static int answers(TVMFFIObject *greeter, const char *expected) {
  TVMFFI_SCOPE; /* releases the text, which the runtime that made it frees */
  TVMFFIAny text;
  if (greeter)
    TVMFFI_TRY(tvmffi_call(greeter, &text, "host"));
  else
    TVMFFI_TRY(tvmffi_call("demo.who", &text));
  CHECK(tvmffi_equal(text, expected));
  return 0;
}

static TVMFFIObject *greeter; /* owns a reference, or is NULL */

static int run(TVMFFI_HERE) {
  CHECK(plugin_greeter(&greeter) == 0);
  TVMFFI_TRY(TVMFFI_REGISTER("demo.who", who)); /* no clash with the plugin's */
  TVMFFI_TRY(answers(NULL, "the host program"));
  TVMFFI_TRY(answers(greeter, "the plugin"));

  /* Errors do not cross between the copies: the host gets the code, but the
     error object stays in the slot of the plugin's runtime. */
  CHECK(tvmffi_call(greeter, NULL, "") == -1);
  CHECK(!tvmffi_error_take());
  printf("two runtimes, and neither saw the other\n");
  return 0;
}

TVMFFI_MAIN() {
  int code = run(tvmffi_here);
  tvmffi_release(greeter);
  return code;
}
