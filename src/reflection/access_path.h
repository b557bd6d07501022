/* ======== Access paths ============================= >>reflection/access_path
   paths from a value to a part of it */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../core.h"
#include "../containers.h"
#include "builtin_struct.h"
#include "field.h"

#if !TVMFFI_NO_CONTAINERS
/* Returns a path (owned) that extends `parent` by `step`, or NULL with the
   error raised. `parent` is borrowed, and NULL for the root. Takes ownership of
   `step`. */
static TVMFFIObject *tvmffi_i_new_path(TVMFFIObject *parent,
                                       TVMFFIObject *step) {
  tvmffi_i_path *p = NULL;
  int32_t depth = parent ? tvmffi_i_path_of(parent)->depth : -1;
  TVMFFI_ASSERT(!parent ||
                tvmffi_is_instance(parent->type_index, TVMFFI_I_ACCESS_PATH));
  if (depth == INT32_MAX)
    (void)tvmffi_i_fail("OverflowError", "The path is too long");
  else
    p = (tvmffi_i_path *)(void *)tvmffi_i_new_object(TVMFFI_I_ACCESS_PATH,
                                                     sizeof(*p));
  if (!p) {
    tvmffi_i_release(step);
    return NULL;
  }
  if (parent) tvmffi_i_retain(parent);
  p->parent = parent;
  p->step = step;
  p->depth = depth + 1;
  return &p->base;
}

/* Returns a path (owned) that extends `path` (borrowed) by a step with `key`,
   or NULL with the error raised. */
static TVMFFIObject *tvmffi_i_step_to(TVMFFIObject *path, int32_t kind,
                                      const TVMFFIAny *key) {
  tvmffi_i_step *s = (tvmffi_i_step *)(void *)tvmffi_i_new_object(
      TVMFFI_I_ACCESS_STEP, sizeof(*s));
  TVMFFI_ASSERT(kind >= 0 && kind <= TVMFFI_I_STEP_MAP_ITEM_MISSING);
  if (!s) return NULL;
  s->kind = kind;
  tvmffi_i_copy_owned(key, &s->key);
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
    return tvmffi_i_internal_error("The access path is malformed");
  return 0;
}

/* Returns 1 if two paths have equal steps, 0 if not, or an error code. */
static int tvmffi_i_same_path(const tvmffi_i_path *a, const tvmffi_i_path *b) {
  TVMFFI_ASSERT(tvmffi_is_instance(a->base.type_index, TVMFFI_I_ACCESS_PATH));
  TVMFFI_ASSERT(tvmffi_is_instance(b->base.type_index, TVMFFI_I_ACCESS_PATH));
  if (a->depth != b->depth) return 0;
  while (a != b) {
    const tvmffi_i_step *x = (const tvmffi_i_step *)(void *)a->step;
    const tvmffi_i_step *y = (const tvmffi_i_step *)(void *)b->step;
    int same;
    TVMFFI_TRY(tvmffi_i_parent_path(a, &a));
    TVMFFI_TRY(tvmffi_i_parent_path(b, &b));
    if (!a || !b) return !a && !b;
    if (x->kind != y->kind) return 0;
    same = tvmffi_i_any_equal(&x->key, &y->key);
    if (same <= 0) return same;
  }
  return 1;
}
#endif
