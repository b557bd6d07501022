/* ======== Leaks: live objects and the leak report ======= >>interface/leak */

#pragma once

#include "../head.h"
#include "../base.h"
#include "scope.h"
#include "call.h"
#include "print.h"

/* Returns the number of live objects whose type is exactly `type_index`, or of
   all live objects for kTVMFFIAny. The runtime's own objects count too. Returns
   -1 with a ValueError if the runtime is built without TVMFFI_DEBUG. */
TVMFFI_I_INLINE int64_t tvmffi_live_count(int32_t type_index) {
  const TVMFFIAny function = tvmffi_str("tvmffi.DebugLive");
  TVMFFIAny arg = tvmffi_int(type_index);
  int64_t n = 0;
  const tvmffi_out out = tvmffi_out_int64(&n);
  return tvmffi_i_call(tvmffi_i_owned_by(NULL, NULL, NULL, NULL), &function,
                       &out, &arg, 1, 0)
             ? -1
             : n;
}

/* Prints a leak report to `file`, a FILE *. The report has one line per object
   type and source line, with the number of live objects received there by files
   built with TVMFFI_DEBUG. The report begins with the first release or use of a
   dead object, if any. Objects that only registered tables own, such as global
   functions, are left out. Returns the number of leaked objects plus the number
   of releases and uses of dead objects. Returns -1 with a ValueError if the
   runtime is built without TVMFFI_DEBUG. No other thread may change containers
   meanwhile. */
#define tvmffi_leak_report(file)                                      \
  tvmffi_i_reported(                                                  \
      tvmffi_i_report()                                               \
          ? -1                                                        \
          : ((void)fprintf((file), "%s",                              \
                           tvmffi_any_str(tvmffi_i_printing()).data), \
             0))

/* Returns the address of a thread-local number: the leaks plus the uses and
   releases of dead objects that the thread's last leak report found. */
TVMFFI_I_THREAD_VARIABLE(int64_t, tvmffi_i_num_found, TVMFFI_I_KEY_NUM_FOUND)

TVMFFI_I_ONCE(int, tvmffi_i_report, (void)) {
  int64_t live = 0, complaints = 0;
  TVMFFIAny args[2] = {tvmffi_ptr(&live), tvmffi_ptr(&complaints)};
  TVMFFIAny text = tvmffi_none();
  int code = tvmffi_i_call_if_defined("tvmffi.DebugReport", args, 2, &text);
  if (code == 1)
    return tvmffi_i_raise("ValueError",
                          "the runtime is not built with TVMFFI_DEBUG");
  if (code) return -1;
  tvmffi_i_any_release(tvmffi_i_printing());
  *tvmffi_i_printing() = text;
  *tvmffi_i_num_found() = live + complaints;
  return 0;
}

TVMFFI_I_INLINE int64_t tvmffi_i_reported(int code) {
  if (code) return -1;
  tvmffi_i_any_release(tvmffi_i_printing());
  return *tvmffi_i_num_found();
}
