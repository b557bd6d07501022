/* ======== Structural functions =============== >>functions/structural_function
   keys and global functions */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../core.h"
#include "../graph.h"
#include "../reflection.h"
#include "../extra.h"
#include "../interface.h"
#include "method.h"

#if !TVMFFI_NO_EXTRA
static int tvmffi_i_new_structural_key(const TVMFFIAny *value,
                                       TVMFFIAny *result) {
  tvmffi_i_structural_key *key =
      (tvmffi_i_structural_key *)(void *)tvmffi_i_new_object(
          TVMFFI_I_STRUCTURAL_KEY, sizeof(*key));
  uint64_t hash = 0;
  int code;
  if (!key) return -1;
  code = TVMFFIAnyViewToOwnedAny(value, &key->key);
  if (!code) code = tvmffi_i_structural_hash(&key->key, 0, 0, &hash);
  if (code) {
    tvmffi_i_release(key);
    return code;
  }
  key->hash = (int64_t)hash;
  return tvmffi_i_give_new(result, key);
}

/* Compares two values as tvmffi_i_equal_keys does, outside of any other
   comparison. */
static int tvmffi_i_equal_once(const TVMFFIAny *a, const TVMFFIAny *b) {
  tvmffi_i_ptr_table keys[2] = TVMFFI_I_ZERO;
  int code = tvmffi_i_equal_keys(keys, a, b);
  tvmffi_i_clear_pairs(&keys[0]);
  tvmffi_i_clear_pairs(&keys[1]);
  return code;
}

TVMFFI_I_OBJECT_TYPE(i_structural_key, "ffi.StructuralKey", "ffi.StructuralKey",
                     TVMFFI_I_STRUCTURAL_KEY)
TVMFFI_I_OBJECT_TYPE(
    i_path_pair,
    "Optional<Tuple<ffi.reflection.AccessPath, ffi.reflection.AccessPath>>",
    "{\"type\":\"Optional\",\"args\":[{\"type\":\"Tuple\",\"args\":[{\"type\":"
    "\"ffi.reflection.AccessPath\"},{\"type\":\"ffi.reflection.AccessPath\"}]}]"
    "}",
    kTVMFFIArray)

/* Tells whether two values have the same structure. The TVMFFISEqHashKind of
   each type and the flags of its fields select what is compared. With
   maps_variables, two free variables may be equal outside fields that are
   flagged as definitions. With skips_tensors, the data of tensors is not
   compared. Raises TypeError for an object whose type has no
   TVMFFISEqHashKind. */
TVMFFI_I_BUILTIN_FUNC(StructuralEqual, bool, (i_view, a), (i_view, b),
                      (bool, maps_variables), (bool, skips_tensors)) {
  int code =
      tvmffi_i_structural_equal(a, b, maps_variables, skips_tensors, NULL);
  if (code < 0) return code;
  TVMFFI_RETURN(code != 0);
}

/* Returns the two access paths, one in each value, to the first difference.
   Returns None if the values have the same structure. Parameters and errors are
   those of ffi.StructuralEqual. */
TVMFFI_I_BUILTIN_FUNC(GetFirstStructuralMismatch, i_path_pair, (i_view, a),
                      (i_view, b), (bool, maps_variables),
                      (bool, skips_tensors)) {
  TVMFFIObject *paths = NULL;
  int code =
      tvmffi_i_structural_equal(a, b, maps_variables, skips_tensors, &paths);
  if (code < 0) return code;
  TVMFFI_I_GIVE(paths);
}

/* Returns a hash of a value's structure. Values that are equal by
   ffi.StructuralEqual with the same flags have equal hashes. */
TVMFFI_I_BUILTIN_FUNC(StructuralHash, int64, (i_view, value),
                      (bool, maps_variables), (bool, skips_tensors)) {
  uint64_t hash = 0;
  TVMFFI_TRY(
      tvmffi_i_structural_hash(value, maps_variables, skips_tensors, &hash));
  TVMFFI_RETURN((int64_t)hash);
}

/* Wraps a value in a key object. A map or dict compares and hashes the key by
   the value's structure. */
TVMFFI_I_BUILTIN_FUNC(StructuralKey, i_structural_key, (i_view, key)) {
  return tvmffi_i_new_structural_key(key, tvmffi_result);
}

/* Tells whether two ffi.StructuralKey objects are equal: identical, or with the
   same hash and structure. */
TVMFFI_I_BUILTIN_FUNC(StructuralKeyEqual, bool, (i_view, a), (i_view, b)) {
  int code = tvmffi_i_equal_once(a, b);
  if (code < 0) return code;
  TVMFFI_RETURN(code != 0);
}

#define TVMFFI_I_KEY "ffi.StructuralKey."

/* Makes an ffi.StructuralKey for a value and computes its hash. */
TVMFFI_I_LISTED_METHOD(i_structural_key_init, TVMFFI_I_KEY "__ffi_init__",
                       object, (i_view, value)) {
  return tvmffi_i_new_structural_key(value, tvmffi_result);
}
#endif
