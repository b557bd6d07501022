/* ======== Debug functions ========================= >>functions/debug_function
   what the interface tells the leak report */

#pragma once

#include "../head.h"
#include "../platform.h"
#include "../core.h"
#include "../interface.h"

#if TVMFFI_DEBUG
/* Records a source line that handed out an object: the first and the last. If
   `released` is set, records the line of the last release instead. */
TVMFFI_I_BUILTIN_NAMED(i_DebugNote, "tvmffi.DebugNote", none, (ptr, object),
                       (bool, released), (str, place)) {
  tvmffi_i_record *r;
  const size_t size = sizeof(r->made);
  size_t skip = place.size < size ? 0 : place.size - (size - 1);
  char *to;
  tvmffi_i_debug_lock();
  r = tvmffi_i_record_of(object);
  if (r) {
    to = released     ? r->is_dead ? r->again : r->released
         : r->made[0] ? r->obtained
                      : r->made;
    TVMFFI_ASSERT(place.size - skip < size);
    memcpy(to, place.data + skip, place.size - skip + 1);
  }
  tvmffi_i_debug_unlock();
  return 0;
}

/* Reports a scope that owns unusually many objects. `end` is its line. */
TVMFFI_I_BUILTIN_NAMED(i_DebugLargeScope, "tvmffi.DebugLargeScope", none,
                       (str, end)) {
#if TVMFFI_NO_STDIO
  (void)end;
#else
  (void)fprintf(stderr,
                "large scope: more than 10000 objects live until %s; begin the "
                "body of a loop with TVMFFI_SCOPE\n",
                end.data);
#endif
  return 0;
}

/* Returns the number of live objects of exactly this type, or of all types if
   `type_index` is -1. */
TVMFFI_I_BUILTIN_NAMED(i_DebugLive, "tvmffi.DebugLive", int64,
                       (int32, type_index)) {
  const tvmffi_i_record *r;
  tvmffi_i_debugged *d = NULL;
  int64_t n = 0;
  tvmffi_i_debug_lock();
  while ((r = tvmffi_i_each_record(&d)) != NULL)
    n += !r->is_dead &&
         (type_index == kTVMFFIAny || r->type_index == type_index);
  tvmffi_i_debug_unlock();
  TVMFFI_RETURN(n);
}
#endif
