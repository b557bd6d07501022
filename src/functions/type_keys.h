/* ======== Functions of types =========================== >>functions/type_keys
   all type keys, an object that ends a visit */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../core.h"
#include "../containers.h"
#include "../reflection.h"
#include "../interface.h"
#include "reflection_word.h"

#if !TVMFFI_NO_CONTAINERS
/* Creates the value that a callback returns to end a visit. The caller that
   started the visit receives `value`. */
TVMFFI_I_BUILTIN_FUNC(VisitInterrupt, i_interrupt, (i_view, value)) {
  TVMFFIObject *o =
      tvmffi_i_new_object(kTVMFFIVisitInterrupt, sizeof(tvmffi_i_interrupt));
  if (!o) return -1;
  if (TVMFFIAnyViewToOwnedAny(value,
                              &((tvmffi_i_interrupt *)(void *)o)->value)) {
    tvmffi_i_release(o);
    return -1;
  }
  TVMFFI_I_GIVE(o);
}

/* Returns the keys of all registered types, ordered by type index. */
TVMFFI_I_BUILTIN_FUNC(GetRegisteredTypeKeys, array(str)) {
  const tvmffi_i_type *t;
  TVMFFIObject *keys;
  TVMFFIAny *item;
  int32_t i, end;
  size_t n = 0;
  tvmffi_i_start_types();
  end = TVMFFI_I_LOAD(&tvmffi_i_types)->capacity;
  for (i = 0; i < end; ++i) n += tvmffi_i_type_at(i) != NULL;
  keys = tvmffi_i_new_array(n, &item);
  if (!keys) return -1;
  for (i = 0; n; ++i) { /* no type is removed */
    TVMFFI_ASSERT(i < end);
    t = tvmffi_i_type_at(i);
    if (!t) continue;
    if (TVMFFIStringFromByteArray(&t->info.type_key, item++)) {
      tvmffi_i_release(keys);
      return -1;
    }
    --n;
  }
  TVMFFI_I_GIVE(keys);
}
#endif
