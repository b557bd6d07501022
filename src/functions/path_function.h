/* ======== Methods of access paths ================== >>functions/path_function
   construction and comparison */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../containers.h"
#include "../reflection.h"
#include "../interface.h"
#include "reflection_word.h"
#include "method.h"

#if !TVMFFI_NO_CONTAINERS
#define TVMFFI_I_PATH "ffi.reflection.AccessPath."

/* Returns the root path, which has no steps. */
TVMFFI_I_LISTED_METHOD(i_path_root, TVMFFI_I_PATH "_root", i_path) {
  TVMFFI_I_RETURN_NEW(tvmffi_i_new_path(NULL, NULL));
}

/* Returns the path that extends this path by `step`. */
TVMFFI_I_LISTED_METHOD(i_path_extend, TVMFFI_I_PATH "_extend", i_path,
                       (i_path, self), (i_step, step)) {
  tvmffi_i_retain(step);
  TVMFFI_I_RETURN_NEW(tvmffi_i_new_path(self, step));
}

#define TVMFFI_I_PATH_METHOD(name, kind, T, own)                              \
  TVMFFI_I_LISTED_METHOD(i_path_##name, TVMFFI_I_PATH "_" #name, i_path,      \
                         (i_path, self), (T, key)) {                          \
    TVMFFIAny owned;                                                          \
    TVMFFI_TRY(own(&owned, &key));                                            \
    TVMFFI_I_RETURN_NEW(tvmffi_i_step_to(self, TVMFFI_I_STEP_##kind, owned)); \
  }

static int tvmffi_i_own_str(TVMFFIAny *out, const TVMFFIByteArray *text) {
  return TVMFFIStringFromByteArray(text, out);
}
static int tvmffi_i_own_int(TVMFFIAny *out, const int64_t *value) {
  *out = tvmffi_int(*value);
  return 0;
}
static int tvmffi_i_own_any(TVMFFIAny *out, const TVMFFIAny *value) {
  return TVMFFIAnyViewToOwnedAny(value, out);
}
/* Returns the path to a field of the value at this path. */
TVMFFI_I_PATH_METHOD(attr, ATTR, str, tvmffi_i_own_str)
/* Returns the path to an item of the array or list at this path. */
TVMFFI_I_PATH_METHOD(array_item, ARRAY_ITEM, int64, tvmffi_i_own_int)
/* Returns the path to a value of the map or dict at this path. */
TVMFFI_I_PATH_METHOD(map_item, MAP_ITEM, any, tvmffi_i_own_any)
/* For comparisons: returns the path to a field that is missing in the value at
   this path. */
TVMFFI_I_PATH_METHOD(attr_missing, ATTR_MISSING, str, tvmffi_i_own_str)
/* For comparisons: returns the path to an item that is missing in the sequence
   at this path. */
TVMFFI_I_PATH_METHOD(array_item_missing, ARRAY_ITEM_MISSING, int64,
                     tvmffi_i_own_int)
/* For comparisons: returns the path to a key that is missing in the map at this
   path. */
TVMFFI_I_PATH_METHOD(map_item_missing, MAP_ITEM_MISSING, any, tvmffi_i_own_any)

/* Returns whether two paths have equal steps. */
TVMFFI_I_LISTED_METHOD(i_path_equal, TVMFFI_I_PATH "_path_equal", bool,
                       (i_path, self), (i_path, other)) {
  int same =
      tvmffi_i_same_path(tvmffi_i_path_of(self), tvmffi_i_path_of(other));
  if (same < 0) return same;
  TVMFFI_RETURN(same != 0);
}

/* Returns whether the path `other` begins with the steps of this path. */
TVMFFI_I_LISTED_METHOD(i_path_is_prefix, TVMFFI_I_PATH "_is_prefix_of", bool,
                       (i_path, self), (i_path, other)) {
  const tvmffi_i_path *a = tvmffi_i_path_of(self), *b = tvmffi_i_path_of(other);
  int same;
  while (b && b->depth > a->depth) TVMFFI_TRY(tvmffi_i_parent_path(b, &b));
  same = b ? tvmffi_i_same_path(a, b) : 0;
  if (same < 0) return same;
  TVMFFI_RETURN(same != 0);
}

/* Returns all steps of the path, beginning at the root. */
TVMFFI_I_LISTED_METHOD(i_path_steps, TVMFFI_I_PATH "_to_steps", array(i_step),
                       (i_path, self)) {
  const tvmffi_i_path *p = tvmffi_i_path_of(self), *parent;
  TVMFFIObject *steps;
  TVMFFIAny *items;
  int64_t n = 0;
  for (;; p = parent, ++n) {
    TVMFFI_TRY(tvmffi_i_parent_path(p, &parent));
    if (!parent) break;
  }
  steps = tvmffi_i_new_array(n, &items);
  if (!steps) return -1;
  for (p = tvmffi_i_path_of(self); n--; p = tvmffi_i_path_of(p->parent)) {
    tvmffi_i_retain(p->step);
    items[n] = tvmffi_obj(p->step);
  }
  TVMFFI_I_GIVE(steps);
}
#endif
