/* ======== Debug functions ========================= >>functions/debug_function
   what the interface tells the leak report */

#pragma once

#include "../head/config.h"
#include "../head/abi.h"
#include "../core/debug.h"
#include "../interface/function.h"

#if TVMFFI_DEBUG
/* Records the source line that first handed out an object. If `released` is
   set, records the line of the last release instead. */
TVMFFI_I_BUILTIN_FUNC(i_debug_note, none, (ptr, object), (bool, released),
                      (str, place)) {
  tvmffi_i_record *r;
  size_t skip = place.size > 55 ? place.size - 55 : 0;
  tvmffi_i_debug_lock();
  r = *tvmffi_i_record_of(object);
  if (r && (released || !r->made[0]))
    (void)tvmffi_i_debug_put(!released    ? r->made
                             : r->is_dead ? r->again
                                          : r->released,
                             0, sizeof(r->made), place.data + skip);
  tvmffi_i_debug_unlock();
  TVMFFI_RETURN();
}

/* Returns the number of live objects of exactly this type, or of all types if
   `type_index` is -1. */
TVMFFI_I_BUILTIN_FUNC(i_debug_live, int64, (int32, type_index)) {
  int64_t n = 0;
  size_t i;
  tvmffi_i_debug_lock();
  for (i = 0; i < TVMFFI_I_NUM_RECORDS; ++i) {
    const tvmffi_i_record *r;
    for (r = tvmffi_i_records[i]; r; r = r->next)
      n += !r->is_dead &&
           (type_index == kTVMFFIAny || r->type_index == type_index);
  }
  tvmffi_i_debug_unlock();
  TVMFFI_RETURN(n);
}
#endif
