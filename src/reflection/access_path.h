/* ======== Access paths ============================= >>reflection/access_path
   paths from a value to a part of it */

#pragma once

#include "../head/config.h"
#include "../head/abi.h"
#include "../interface/list.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/function.h"
#include "../core/raise.h"
#include "../core/type_table.h"
#include "../containers/equal.h"
#include "../containers/sequence.h"
#include "field.h"
#include "enum.h"

#if !TVMFFI_NO_CONTAINERS
/* Returns a path (owned) that extends `parent` by `step`, or NULL with the
   error raised. `parent` is borrowed, and NULL for the root. Takes ownership of
   `step`. */
static TVMFFIObject *tvmffi_i_new_path(TVMFFIObject *parent,
                                       TVMFFIObject *step) {
  tvmffi_i_path *p = NULL;
  int32_t depth = parent ? tvmffi_i_path_of(parent)->depth : -1;
  if (depth == INT32_MAX)
    (void)tvmffi_i_fail("OverflowError", "The path is too long");
  else
    p = (tvmffi_i_path *)(void *)tvmffi_i_new_object(TVMFFI_I_ACCESS_PATH,
                                                     sizeof(*p));
  if (!p) {
    tvmffi_release(step);
    return NULL;
  }
  if (parent) tvmffi_retain(parent);
  p->parent = parent;
  p->step = step;
  p->depth = depth + 1;
  return &p->base;
}

/* Returns a path (owned) that extends `path` (borrowed) by a step with `key`,
   or NULL with the error raised. Takes ownership of `key`. */
static TVMFFIObject *tvmffi_i_step_to(TVMFFIObject *path, int32_t kind,
                                      TVMFFIAny key) {
  tvmffi_i_step *s = (tvmffi_i_step *)(void *)tvmffi_i_new_object(
      TVMFFI_I_ACCESS_STEP, sizeof(*s));
  if (!s) {
    tvmffi_any_release(&key);
    return NULL;
  }
  s->kind = kind;
  s->key = key;
  return tvmffi_i_new_path(path, &s->base);
}

/* Sets *out to the parent of a path (borrowed), or to NULL for the root.
   InternalError if the path is malformed. */
static int tvmffi_i_parent_path(const tvmffi_i_path *path,
                                const tvmffi_i_path **out) {
  const tvmffi_i_path *parent = tvmffi_i_path_of(path->parent);
  *out = parent;
  if (!parent) return 0;
  if (parent->base.type_index != TVMFFI_I_ACCESS_PATH ||
      parent->depth >= path->depth || !path->step ||
      path->step->type_index != TVMFFI_I_ACCESS_STEP)
    return tvmffi_i_fail("InternalError", "The access path is malformed");
  return 0;
}

/* Returns 1 if two paths have equal steps, 0 if not, or an error code. */
static int tvmffi_i_same_path(const tvmffi_i_path *a, const tvmffi_i_path *b) {
  if (a->depth != b->depth) return 0;
  while (a != b) {
    const tvmffi_i_step *x = (const tvmffi_i_step *)(void *)a->step;
    const tvmffi_i_step *y = (const tvmffi_i_step *)(void *)b->step;
    int same;
    TVMFFI_TRY(tvmffi_i_parent_path(a, &a));
    TVMFFI_TRY(tvmffi_i_parent_path(b, &b));
    if (!a || !b) return !a && !b;
    if (x == y) continue;
    if (x->kind != y->kind) return 0;
    same = tvmffi_i_any_equal(&x->key, &y->key);
    if (same <= 0) return same;
  }
  return 1;
}

#define TVMFFI_I_METHOD(name, text, ...)                               \
  TVMFFI_I_TYPED(static, tvmffi_call_##name, text, tvmffi_func_##name, \
                 tvmffi_body_##name, TVMFFI_I_COUNT(__VA_ARGS__),      \
                 __VA_ARGS__, ~)
#define TVMFFI_I_PATH "ffi.reflection.AccessPath."

/* In a typed function, returns a new object, or -1 if the expression is NULL
   (its error is raised already). */
#define TVMFFI_I_RETURN_NEW(...)        \
  do {                                  \
    TVMFFIObject *made = (__VA_ARGS__); \
    if (!made) return -1;               \
    TVMFFI_RETURN(made);                \
  } while (0)

/* Returns the root path, which has no steps. */
TVMFFI_I_METHOD(i_path_root, TVMFFI_I_PATH "_root", i_path) {
  TVMFFI_I_RETURN_NEW(tvmffi_i_new_path(NULL, NULL));
}

/* Returns the path that extends this path by `step`. */
TVMFFI_I_METHOD(i_path_extend, TVMFFI_I_PATH "_extend", i_path, (i_path, self),
                (i_step, step)) {
  tvmffi_retain(step);
  TVMFFI_I_RETURN_NEW(tvmffi_i_new_path(self, step));
}

#define TVMFFI_I_PATH_METHOD(name, kind, T, own)                              \
  TVMFFI_I_METHOD(i_path_##name, TVMFFI_I_PATH "_" #name, i_path,             \
                  (i_path, self), (T, key)) {                                 \
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
TVMFFI_I_METHOD(i_path_equal, TVMFFI_I_PATH "_path_equal", bool, (i_path, self),
                (i_path, other)) {
  int same =
      tvmffi_i_same_path(tvmffi_i_path_of(self), tvmffi_i_path_of(other));
  if (same < 0) return same;
  TVMFFI_RETURN(same != 0);
}

/* Returns whether the path `other` begins with the steps of this path. */
TVMFFI_I_METHOD(i_path_is_prefix, TVMFFI_I_PATH "_is_prefix_of", bool,
                (i_path, self), (i_path, other)) {
  const tvmffi_i_path *a = tvmffi_i_path_of(self), *b = tvmffi_i_path_of(other);
  int same;
  while (b && b->depth > a->depth) TVMFFI_TRY(tvmffi_i_parent_path(b, &b));
  same = b ? tvmffi_i_same_path(a, b) : 0;
  if (same < 0) return same;
  TVMFFI_RETURN(same != 0);
}

/* Returns all steps of the path, beginning at the root. */
TVMFFI_I_METHOD(i_path_steps, TVMFFI_I_PATH "_to_steps", i_steps,
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
    tvmffi_retain(p->step);
    items[n] = tvmffi_obj(p->step);
  }
  TVMFFI_RETURN(steps);
}
#endif
