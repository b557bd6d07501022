/* ======== Graph functions ========================= >>functions/graph_function
   values to JSON graphs and back */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../core.h"
#include "../extra.h"
#include "../interface.h"

#if !TVMFFI_NO_EXTRA
static int tvmffi_i_call_to_graph(const TVMFFIAny *value,
                                  const TVMFFIAny *metadata,
                                  TVMFFIAny *out) {
  TVMFFIAny owned = tvmffi_none(), about = tvmffi_none();
  int code = tvmffi_i_own(value, &owned);
  if (!code) code = tvmffi_i_own(metadata, &about);
  if (!code) code = tvmffi_i_to_graph(&owned, &about, out);
  tvmffi_i_any_release(&owned);
  tvmffi_i_any_release(&about);
  return code;
}

/* Returns a value and everything it contains as a graph: a map that
   ffi.json.Stringify can write. A shared object is saved once. If `metadata` is
   not None, the map contains `metadata`. Raises ValueError if the value
   contains itself. Raises TypeError for an object whose type has no creator, no
   attribute __ffi_new__ and no attribute __data_to_json__. */
TVMFFI_I_BUILTIN_FUNC(ToJSONGraph, any, (i_view, value), (i_view, metadata)) {
  return tvmffi_i_call_to_graph(value, metadata, tvmffi_result);
}

/* Same as ffi.ToJSONGraph, but returns the graph as JSON text. */
TVMFFI_I_BUILTIN_FUNC(ToJSONGraphString, str, (i_view, value),
                      (i_view, metadata)) {
  TVMFFIAny graph = tvmffi_none();
  int code;
  TVMFFI_TRY(tvmffi_i_call_to_graph(value, metadata, &graph));
  code = tvmffi_i_json_stringify(&graph, 0, tvmffi_result);
  tvmffi_i_any_release(&graph);
  return code;
}

/* Restores a value from the map that ffi.ToJSONGraph returned. */
TVMFFI_I_BUILTIN_FUNC(FromJSONGraph, any, (i_view, value)) {
  TVMFFIAny graph = tvmffi_none();
  int code;
  TVMFFI_TRY(tvmffi_i_own(value, &graph));
  code = tvmffi_i_load_graph(&graph, tvmffi_result);
  tvmffi_i_any_release(&graph);
  return code;
}

/* Restores a value from the text that ffi.ToJSONGraphString returned. */
TVMFFI_I_BUILTIN_FUNC(FromJSONGraphString, any, (str, text)) {
  TVMFFIAny graph = tvmffi_none();
  int code;
  TVMFFI_TRY(tvmffi_i_json_parse(text, &graph));
  code = tvmffi_i_load_graph(&graph, tvmffi_result);
  tvmffi_i_any_release(&graph);
  return code;
}
#endif
