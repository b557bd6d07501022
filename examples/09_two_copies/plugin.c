/* The plugin carries a runtime of its own. Its functions have other names,
   plugin_TVMFFIFunctionCall and so on, but are written as always. */
#define TVMFFI_IMPLEMENTATION
#define TVMFFI_PREFIX plugin_
#include "tvmffi.h"

#include "plugin.h"

TVMFFI_FUNC(who, str) {
  TVMFFIByteArray text = {"the plugin", 10};
  TVMFFI_RETURN(text);
}

/* Calls "demo.who": the plugin's, whatever the host has under that name. */
TVMFFI_FUNC(greet, any, (str, name)) {
  TVMFFIAny greeting = tvmffi_none();
  TVMFFI_TRY(tvmffi_call("demo.who", &greeting));
  if (name.size == 0) {
    tvmffi_any_release(&greeting);
    return TVMFFI_RAISE("ValueError", "greet: nobody to greet");
  }
  TVMFFI_RETURN(greeting);
}

int plugin_greeter(void **out) {
  TVMFFIObject *function = NULL;
  TVMFFI_TRY(tvmffi_register("demo.who", who));
  TVMFFI_TRY(tvmffi_function(greet, &function));
  *out = function;
  return 0;
}
