/* ======== JSON functions =========================== >>functions/json_function
   parse and stringify */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../core.h"
#include "../extra.h"
#include "../interface.h"

#if !TVMFFI_NO_EXTRA
/* Defines the type of the parameter `indent`: an int, or None for 0. Truncates
   the int to 32 bits, as upstream does. */
TVMFFI_I_CUSTOM_TYPE(i_optional_int, int32_t, "Optional<int>",
                     "{\"type\":\"Optional\",\"args\":[{\"type\":\"int\"}]}") {
  *(int32_t *)out = any->type_index == kTVMFFINone ? 0 : (int32_t)any->v_int64;
  return any->type_index == kTVMFFINone || TVMFFI_I_IS_INT(any)
             ? 0
             : TVMFFI_I_MISMATCH;
}

/* Parses JSON text. An object becomes a map with string keys, in the order of
   the text. Copies strings that are not UTF-8, and accepts NaN, Infinity and
   numbers such as "01": tvmffi.json.ParseStrict does not. Raises ValueError
   with the position of the first error. */
TVMFFI_I_BUILTIN_NAMED(i_json_Parse, "ffi.json.Parse", any, (str, text)) {
  return tvmffi_i_json_parse(text, tvmffi_result);
}

/* Returns a value as JSON text: on one line if `indent` is None or 0, otherwise
   with `indent` spaces for each level. Accepts None, bool, int, float, strings,
   arrays, lists, and maps with string keys. Raises ValueError for other values,
   and for a list that contains itself. */
TVMFFI_I_BUILTIN_NAMED(i_json_Stringify, "ffi.json.Stringify", str,
                       (i_view, value), (i_optional_int, indent)) {
  TVMFFIAny owned;
  int code;
  TVMFFI_TRY(tvmffi_i_own(value, &owned));
  code = tvmffi_i_json_stringify(&owned, indent, tvmffi_result);
  tvmffi_i_any_release(&owned);
  return code;
}
#endif
