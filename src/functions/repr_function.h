/* ======== Repr function ============================ >>functions/repr_function
   the text of a value */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../graph.h"
#include "../extra.h"
#include "../interface.h"

#if !TVMFFI_NO_EXTRA
/* Returns a value and everything it contains as text, like Python's repr. The
   attribute __ffi_repr__, if set, makes the text of a type's objects. */
TVMFFI_I_BUILTIN_FUNC(ReprPrint, str, (i_view, value)) {
  tvmffi_i_repr_frame room[8];
  tvmffi_i_printer g = TVMFFI_I_ZERO;
  TVMFFIAny owned;
  size_t i;
  int code;
#if !TVMFFI_NO_STDIO
  const char *text = getenv("TVM_FFI_REPR_WITH_ADDR");
#endif
  TVMFFI_I_WALK_OPEN(&g, "ObjectGraphDFS", tvmffi_i_pop_recursive, room);
  g.base.skip = kTVMFFIFieldFlagBitMaskReprOff;
  tvmffi_i_start_types();
#if !TVMFFI_NO_STDIO
  g.with_address = text && strcmp(text, "1") == 0;
#endif
  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(value, &owned));
  code = tvmffi_i_repr_to(&g, 0);
  if (!code) code = tvmffi_i_repr_all(&g, &owned, 2);
  /* As in upstream, a string object for a value with children, even if the
     text is short. */
  if (!code)
    code = g.has_root_frame
               ? tvmffi_i_text_take_object(&g.text[0], tvmffi_result)
               : tvmffi_i_text_take(&g.text[0], tvmffi_result);
  tvmffi_i_recursive_close(&g.base);
  for (i = 0; i < g.num_texts; ++i) tvmffi_i_text_release(&g.text[i]);
  tvmffi_i_free(g.text);
  tvmffi_i_any_release(&owned);
  return code;
}
#endif
