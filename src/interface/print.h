/* ======== Printing: values as text ===================== >>interface/print */

#pragma once

#include "../head.h"
#include "../base.h"
#include "global_cache.h"
#include "call.h"

/* Returns the thread's text that is being printed (owned). */
TVMFFI_I_THREAD_VARIABLE(TVMFFIAny, tvmffi_i_printing, TVMFFI_I_KEY_PRINTING)

/* Prints a value as Python's repr shows it, followed by a newline. `file` is a
   FILE * (include <stdio.h>). Returns 0, or -1 with the error raised. */
#define tvmffi_print(file, value)      \
  tvmffi_i_printed(                    \
      tvmffi_i_repr(TVMFFI_ANY(value)) \
          ? INT32_MIN                  \
          : fprintf((file), "%s\n", tvmffi_any_str(tvmffi_i_printing()).data))

TVMFFI_I_INLINE int tvmffi_i_repr(TVMFFIAny any) {
  TVMFFIAny text = tvmffi_none();
  TVMFFI_TRY(tvmffi_i_global_values(TVMFFI_I_REPR, &any, 1, &text));
  tvmffi_i_any_release(tvmffi_i_printing());
  *tvmffi_i_printing() = text;
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_printed(int count) {
  if (count == INT32_MIN) return -1; /* repr failed */
  tvmffi_i_any_release(tvmffi_i_printing());
  return count < 0 ? tvmffi_i_raise("OSError", "cannot write") : 0;
}

/* -------- Memory -------- */

/* Frees the memory that threads cache for new objects. The calling thread's
   cache is freed immediately, another thread's cache when that thread next
   allocates or overfills the cache. Returns 0, also on a runtime without a
   cache, or -1 with the error raised. Thread-safe. */
TVMFFI_I_INLINE int tvmffi_memory_trim(void) {
  TVMFFIAny result = tvmffi_none();
  int code = tvmffi_i_call_if_defined("tvmffi.MemoryTrim", NULL, 0, &result);
  return code == 1 ? 0 : code;
}
