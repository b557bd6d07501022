/* Two copies of the runtime in one program. Each has its own tables and error
   slots, so names do not clash. Both copies can use the same objects and
   functions, because the ABI defines their layout. */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include "plugin.h"
#include <stdio.h>
#include <string.h>

#define CHECK(x) TVMFFI_TRY((x) ? 0 : TVMFFI_RAISE("AssertionError", "%s", #x))

TVMFFI_FUNC(who, str) {
  TVMFFIByteArray text = {"the host program", 16};
  TVMFFI_RETURN(text);
}

/* Calls `greeter`, or "demo.who" if it is NULL, and compares the result. */
static int answers(TVMFFIObject *greeter, const char *expected) {
  TVMFFIAny text = tvmffi_none();
  int same;
  if (greeter)
    TVMFFI_TRY(tvmffi_call(greeter, &text, "host"));
  else
    TVMFFI_TRY(tvmffi_call("demo.who", &text));
  same = strcmp(tvmffi_any_str(&text).data, expected) == 0;
  tvmffi_any_release(&text); /* freed by the runtime that made it */
  CHECK(same);
  return 0;
}

static int run(void) {
  void *handle = NULL;
  TVMFFIObject *greeter;
  CHECK(plugin_greeter(&handle) == 0);
  greeter = (TVMFFIObject *)handle;
  TVMFFI_TRY(tvmffi_register("demo.who", who)); /* no clash with the plugin's */
  TVMFFI_TRY(answers(NULL, "the host program"));
  TVMFFI_TRY(answers(greeter, "the plugin"));

  /* Errors do not cross between the copies: the host gets the code, but the
     error object stays in the slot of the plugin's runtime. */
  CHECK(tvmffi_call(greeter, NULL, "") == -1);
  CHECK(!tvmffi_error_take());
  tvmffi_release(greeter);
  printf("two runtimes, and neither saw the other\n");
  return 0;
}

int main(void) {
  if (!run()) return 0;
  tvmffi_error_print(stderr);
  return 1;
}
