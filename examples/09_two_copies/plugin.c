/* The plugin has its own runtime. TVMFFI_PREFIX renames the exported functions
   to plugin_TVMFFIFunctionCall and so on; the source uses the usual names. */
#define TVMFFI_IMPLEMENTATION
#define TVMFFI_PREFIX plugin_
#include "tvmffi.h"

#include "plugin.h"

TVMFFI_FUNC(who, str) {
  TVMFFIByteArray text = {"the plugin", 10};
  TVMFFI_RETURN(text);
}

/* Calls the plugin's "demo.who", even if the host has registered another one.
 */
TVMFFI_GLOBAL(named_who, "demo.who");
TVMFFI_FUNC(greet, any, (str, name)) {
  TVMFFIAny greeting;
  if (name.size == 0)
    return TVMFFI_RAISE("ValueError", "greet: nobody to greet");
  TVMFFI_TRY(tvmffi_call(named_who, &greeting));
  TVMFFI_RETURN(greeting);
}

int plugin_greeter(TVMFFIObject **slot) {
  TVMFFI_SCOPE;
  TVMFFIObject *function;
  TVMFFI_TRY(TVMFFI_REGISTER("demo.who", who));
  TVMFFI_TRY(TVMFFI_FUNCTION_NEW(greet, &function));
  tvmffi_keep(slot, function); /* beyond the end of this scope */
  return 0;
}
