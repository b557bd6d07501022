/* ======== Leaks: live objects and the leak report ======= >>interface/leak */

#pragma once

#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "value.h"
#include "error.h"
#include "call.h"
#include "print.h"

/* Of a runtime that is built with TVMFFI_DEBUG: tells how many of its objects
   of exactly the type are alive, kTVMFFIAny: of all types, its own among them.
   -1 with a ValueError on any other runtime. What the scopes of this file hold
   is counted by tvmffi_scope_count, on every runtime. */
TVMFFI_I_INLINE int64_t tvmffi_live_count(int32_t type_index) {
  TVMFFIAny arg = tvmffi_int(type_index);
  int64_t n = 0;
  return tvmffi_i_call(tvmffi_str("tvmffi.DebugLive"), tvmffi_out_int64(&n),
                       &arg, 1)
             ? -1
             : n;
}

/* Prints which objects are alive that a file built with TVMFFI_DEBUG was handed
   out, a line for each type and place with their number, and before them the
   first release of an object that was dead. Returns the number of these objects
   and releases: 0 says that all is well; -1 with a ValueError on a runtime
   built without TVMFFI_DEBUG. `file` is a FILE *. */
#define tvmffi_leak_report(file)                                     \
  tvmffi_i_reported(                                                 \
      tvmffi_i_report()                                              \
          ? -1                                                       \
          : ((void)fprintf((file), "%s",                             \
                           tvmffi_any_str(&tvmffi_i_printing).data), \
             0))

#if defined(TVMFFI_I_THREAD)
TVMFFI_I_UNUSED static TVMFFI_I_THREAD int64_t tvmffi_i_num_found;
#else
#define tvmffi_i_num_found \
  (*TVMFFI_I_OF_THREAD(int64_t, TVMFFI_I_KEY_NUM_FOUND))
#endif

TVMFFI_I_COLD int tvmffi_i_report(void) {
  int64_t live = 0, complaints = 0;
  TVMFFIAny args[2], text = tvmffi_none();
  TVMFFIByteArray name = tvmffi_view("tvmffi.DebugReport");
  TVMFFIObjectHandle report = NULL;
  int code;
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&name, &report));
  if (!report)
    return TVMFFI_RAISE("ValueError",
                        "the runtime is not built with TVMFFI_DEBUG");
  args[0] = tvmffi_ptr(&live);
  args[1] = tvmffi_ptr(&complaints);
  code = TVMFFIFunctionCall(report, args, 2, &text);
  tvmffi_release(report);
  if (code) return -1;
  tvmffi_any_release(&tvmffi_i_printing);
  tvmffi_i_printing = text;
  tvmffi_i_num_found = live + complaints;
  return 0;
}

TVMFFI_I_INLINE int64_t tvmffi_i_reported(int code) {
  if (code) return -1;
  tvmffi_any_release(&tvmffi_i_printing);
  return tvmffi_i_num_found;
}
