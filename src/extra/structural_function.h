/* ======== Structural functions ================== >>extra/structural_function
   keys and global functions */

#pragma once

#include "../head/config.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/word.h"
#include "../interface/function.h"
#include "../core/raise.h"
#include "../core/type_table.h"
#include "../graph/hook.h"
#include "../reflection/field.h"
#include "../reflection/enum.h"
#include "../reflection/access_path.h"
#include "structural_equal.h"
#include "structural_hash.h"

#if !TVMFFI_NO_EXTRA
static TVMFFIObject *tvmffi_i_new_structural_key(const TVMFFIAny *value) {
  tvmffi_i_structural_key *key =
      (tvmffi_i_structural_key *)(void *)tvmffi_i_new_object(
          TVMFFI_I_STRUCTURAL_KEY, sizeof(*key));
  uint64_t hash = 0;
  if (!key) return NULL;
  if (TVMFFIAnyViewToOwnedAny(value, &key->key) ||
      tvmffi_i_structural_hash(&key->key, 0, 0, &hash)) {
    tvmffi_release(key);
    return NULL;
  }
  key->hash = (int64_t)hash;
  return &key->base;
}

/* Compares two ffi.StructuralKey objects. Returns 1 if they are equal, 0 if
   not, or an error code. Identical values of any type are equal. */
static int tvmffi_i_structural_key_equal(const TVMFFIAny *a,
                                         const TVMFFIAny *b) {
  const tvmffi_i_structural_key *x, *y;
  const char *missing = NULL;
  int code;
  if (a->type_index == b->type_index && a->v_uint64 == b->v_uint64) return 1;
  if (a->type_index != TVMFFI_I_STRUCTURAL_KEY || !a->v_obj)
    missing = "lhs_obj";
  else if (b->type_index != TVMFFI_I_STRUCTURAL_KEY || !b->v_obj)
    missing = "rhs_obj";
  if (missing)
    return tvmffi_i_fail("InternalError", "Check not null: %s ", missing);
  x = (const tvmffi_i_structural_key *)a->v_ptr;
  y = (const tvmffi_i_structural_key *)b->v_ptr;
  if (x->hash != y->hash) return 0;
  TVMFFI_TRY(tvmffi_i_nest());
  code = tvmffi_i_structural_equal(&x->key, &y->key, 0, 0, NULL);
  tvmffi_i_unnest();
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
TVMFFI_FUNC(i_structural_equal, bool, (any, a), (any, b),
            (bool, maps_variables), (bool, skips_tensors)) {
  int code =
      tvmffi_i_structural_equal(&a, &b, maps_variables, skips_tensors, NULL);
  if (code < 0) return code;
  TVMFFI_RETURN(code != 0);
}

/* Returns the two access paths, one in each value, to the first difference.
   Returns None if the values have the same structure. Parameters and errors are
   those of ffi.StructuralEqual. */
TVMFFI_FUNC(i_structural_mismatch, i_path_pair, (any, a), (any, b),
            (bool, maps_variables), (bool, skips_tensors)) {
  TVMFFIObject *paths = NULL;
  int code =
      tvmffi_i_structural_equal(&a, &b, maps_variables, skips_tensors, &paths);
  if (code < 0) return code;
  TVMFFI_RETURN(paths);
}

/* Returns a hash of a value's structure. Values that are equal by
   ffi.StructuralEqual with the same flags have equal hashes. */
TVMFFI_FUNC(i_structural_hash, int64, (any, value), (bool, maps_variables),
            (bool, skips_tensors)) {
  uint64_t hash = 0;
  TVMFFI_TRY(
      tvmffi_i_structural_hash(&value, maps_variables, skips_tensors, &hash));
  TVMFFI_RETURN((int64_t)hash);
}

/* Wraps a value in a key object. A map or dict compares and hashes the key by
   the value's structure. */
TVMFFI_FUNC(i_new_structural_key, i_structural_key, (any, key)) {
  TVMFFI_I_RETURN_NEW(tvmffi_i_new_structural_key(&key));
}

/* Tells whether two ffi.StructuralKey objects are equal: identical, or with the
   same hash and structure. */
TVMFFI_FUNC(i_structural_key_equal, bool, (any, a), (any, b)) {
  int code = tvmffi_i_structural_key_equal(&a, &b);
  if (code < 0) return code;
  TVMFFI_RETURN(code != 0);
}

#define TVMFFI_I_KEY "ffi.StructuralKey."

/* Makes an ffi.StructuralKey for a value and computes its hash. */
TVMFFI_I_METHOD(i_structural_key_init, TVMFFI_I_KEY "__ffi_init__", object,
                (any, value)) {
  TVMFFI_I_RETURN_NEW(tvmffi_i_new_structural_key(&value));
}
#endif
