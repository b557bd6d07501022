/* ======== Functions of comparison ============= >>functions/recursive_function
   hash, equality and order of values */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../graph.h"
#include "../extra.h"
#include "../interface.h"

#if !TVMFFI_NO_EXTRA
/* Returns a hash of a value and everything it contains. Values that are equal
   by ffi.RecursiveEq have equal hashes. Raises ValueError for an object whose
   type has the attribute __ffi_eq__ or __ffi_compare__ but not __ffi_hash__. */
TVMFFI_I_BUILTIN_FUNC(RecursiveHash, int64, (i_view, value)) {
  tvmffi_i_recursive_frame room[8];
  tvmffi_i_recursive_hasher g = TVMFFI_I_ZERO;
  TVMFFIAny owned;
  uint64_t hash = 0;
  int code;
  TVMFFI_I_WALK_OPEN(&g, "ObjectGraphDFS", tvmffi_i_pop_recursive, room);
  g.base.skip =
      kTVMFFIFieldFlagBitMaskHashOff | kTVMFFIFieldFlagBitMaskCompareOff;
  tvmffi_i_start_types();
  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(value, &owned));
  code = tvmffi_i_hash_all(&g, &owned, 2, &hash);
  tvmffi_i_recursive_close(&g.base);
  tvmffi_i_free(g.hashes);
  tvmffi_i_any_release(&owned);
  if (code) return code;
  TVMFFI_RETURN((int64_t)hash);
}

#define TVMFFI_I_COMPARE(name, is_equality, op)                            \
  TVMFFI_I_BUILTIN_FUNC(Recursive##name, bool, (i_view, a), (i_view, b)) { \
    int sign = 0;                                                          \
    TVMFFI_TRY(tvmffi_i_compare(a, b, is_equality, &sign));                \
    TVMFFI_RETURN(sign op 0);                                              \
  }
/* Tells whether two values are equal, with everything they contain. */
TVMFFI_I_COMPARE(Eq, 1, ==)
/* Tells whether a value is less than another value. Children are compared in
   order, as Python compares tuples. None is less than any other value. Raises
   TypeError if the first difference is between different types, inside a map,
   or at a NaN. */
TVMFFI_I_COMPARE(Lt, 0, <)
/* Tells whether a value is less than or equal to another. Order and errors are
   those of ffi.RecursiveLt. */
TVMFFI_I_COMPARE(Le, 0, <=)
/* Tells whether a value is greater than another. Order and errors are those of
   ffi.RecursiveLt. */
TVMFFI_I_COMPARE(Gt, 0, >)
/* Tells whether a value is greater than or equal to another. Order and errors
   are those of ffi.RecursiveLt. */
TVMFFI_I_COMPARE(Ge, 0, >=)
#endif
