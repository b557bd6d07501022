/* ======== Printing: values as text ===================== >>interface/print */
/* The text that is being printed, owned. */

#pragma once

#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "value.h"
#include "error.h"
#include "global_cache.h"
#include "call.h"

#if defined(TVMFFI_I_THREAD)
TVMFFI_I_UNUSED static TVMFFI_I_THREAD TVMFFIAny tvmffi_i_printing;
#else
#define tvmffi_i_printing \
  (*TVMFFI_I_OF_THREAD(TVMFFIAny, TVMFFI_I_KEY_PRINTING))
#endif

/* Prints a value as Python's repr shows it, and ends the line. `file` is a FILE
 * (the caller includes <stdio.h>). Returns 0, or -1 with the error raised. */
#define tvmffi_print(file, value)      \
  tvmffi_i_printed(                    \
      tvmffi_i_repr(TVMFFI_ANY(value)) \
          ? INT32_MIN                  \
          : fprintf((file), "%s\n", tvmffi_any_str(&tvmffi_i_printing).data))

TVMFFI_I_INLINE int tvmffi_i_repr(TVMFFIAny any) {
  TVMFFIAny text = tvmffi_none();
  TVMFFI_TRY(tvmffi_i_ask(TVMFFI_I_REPR, &any, 1, &text));
  tvmffi_any_release(&tvmffi_i_printing);
  tvmffi_i_printing = text;
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_printed(int count) {
  if (count == INT32_MIN) return -1; /* there was nothing to print */
  tvmffi_any_release(&tvmffi_i_printing);
  return count < 0 ? TVMFFI_RAISE("OSError", "cannot write") : 0;
}

/* -------- Memory -------- */

/* Gives back the memory that threads keep of dead objects for their next ones:
   that of the calling thread at once, that of each other one when it next asks
   for memory or has more to keep than it may. Returns 0, also on a runtime that
   keeps none; -1 with the error raised. Safe to call from any thread. */
TVMFFI_I_INLINE int tvmffi_memory_trim(void) {
  TVMFFIByteArray name = tvmffi_view("tvmffi.MemoryTrim");
  TVMFFIAny result = tvmffi_none();
  TVMFFIObjectHandle trim = NULL;
  int code;
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&name, &trim));
  if (!trim) return 0;
  code = TVMFFIFunctionCall(trim, NULL, 0, &result);
  tvmffi_release(trim);
  return code;
}
