/* ======== Methods of access paths ================== >>functions/path_function
   construction, comparison and text */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../containers.h"
#include "../graph.h"
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

/* Sets *result to the path that extends `path` by a step with `key`. Takes
   ownership of *key. */
static int tvmffi_i_give_step(TVMFFIObject *path, int32_t kind, TVMFFIAny *key,
                              TVMFFIAny *result) {
  TVMFFIObject *longer = tvmffi_i_step_to(path, kind, key);
  tvmffi_i_any_release(key);
  return tvmffi_i_give_new(result, longer);
}

/* Defines the method `name`. The variable arguments are a statement that sets
   `owned` to the step's key. */
#define TVMFFI_I_PATH_METHOD(name, kind, T, ...)                         \
  TVMFFI_I_LISTED_METHOD(i_path_##name, TVMFFI_I_PATH "_" #name, i_path, \
                         (i_path, self), (T, key)) {                     \
    TVMFFIAny owned;                                                     \
    __VA_ARGS__;                                                         \
    return tvmffi_i_give_step(self, TVMFFI_I_STEP_##kind, &owned,        \
                              tvmffi_result);                            \
  }

/* Returns the path to a field of the value at this path. */
TVMFFI_I_PATH_METHOD(attr, ATTR, str,
                     TVMFFI_TRY(TVMFFIStringFromByteArray(&key, &owned)))
/* Returns the path to an item of the array or list at this path. */
TVMFFI_I_PATH_METHOD(array_item, ARRAY_ITEM, int64, owned = tvmffi_int(key))
/* Returns the path to a value of the map or dict at this path. */
TVMFFI_I_PATH_METHOD(map_item, MAP_ITEM, i_view,
                     TVMFFI_TRY(tvmffi_i_own(key, &owned)))
/* For comparisons: returns the path to a field that is missing in the value at
   this path. */
TVMFFI_I_PATH_METHOD(attr_missing, ATTR_MISSING, str,
                     TVMFFI_TRY(TVMFFIStringFromByteArray(&key, &owned)))
/* For comparisons: returns the path to an item that is missing in the sequence
   at this path. */
TVMFFI_I_PATH_METHOD(array_item_missing, ARRAY_ITEM_MISSING, int64,
                     owned = tvmffi_int(key))
/* For comparisons: returns the path to a key that is missing in the map at this
   path. */
TVMFFI_I_PATH_METHOD(map_item_missing, MAP_ITEM_MISSING, i_view,
                     TVMFFI_TRY(tvmffi_i_own(key, &owned)))

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
  size_t n = 0;
  for (;; p = parent, ++n) {
    TVMFFI_TRY(tvmffi_i_parent_path(p, &parent));
    if (!parent) break;
  }
  steps = tvmffi_i_new_array(n, &items);
  if (!steps) return -1;
  for (p = tvmffi_i_path_of(self); n; p = tvmffi_i_path_of(p->parent)) {
    TVMFFI_ASSERT(p && p->step); /* tvmffi_i_parent_path has checked it */
    tvmffi_i_retain(p->step);
    items[--n] = tvmffi_obj(p->step);
  }
  TVMFFI_I_GIVE(steps);
}
#endif

#if !TVMFFI_NO_EXTRA
/* Calls `callback` with `value` and appends the string that it returns. */
static int tvmffi_i_text_repr(tvmffi_i_text_buffer *b, TVMFFIObject *callback,
                              TVMFFIAny value) {
  TVMFFIAny result = tvmffi_none();
  TVMFFIByteArray text;
  if (!callback)
    return tvmffi_i_type_error("Cannot call None as `ffi.Function`");
  TVMFFI_TRY(TVMFFIFunctionCall(callback, &value, 1, &result));
  if (tvmffi_i_get_str(&result, &text))
    return tvmffi_i_bad_hook(&result, &tvmffi_i_word_str);
  tvmffi_i_text_put(b, text.data, text.size);
  tvmffi_i_any_release(&result);
  return 0;
}

static int tvmffi_i_text_step(tvmffi_i_text_buffer *b, const tvmffi_i_step *s,
                              TVMFFIObject *callback) {
  const TVMFFIAny *key = &s->key;
  TVMFFIByteArray name;
  int64_t i;
  int is_missing = s->kind >= TVMFFI_I_STEP_ATTR_MISSING;
  switch (s->kind) {
    case TVMFFI_I_STEP_ATTR:
      if (tvmffi_i_get_str(key, &name)) return tvmffi_i_bad_cast(key, "str");
      tvmffi_i_text_char(b, '.');
      tvmffi_i_text_put(b, name.data, name.size);
      return 0;
    case TVMFFI_I_STEP_ARRAY_ITEM:
    case TVMFFI_I_STEP_ARRAY_ITEM_MISSING:
      if (tvmffi_i_from_any(&tvmffi_i_word_int64, key, &i))
        return tvmffi_i_bad_cast(key, "int");
      tvmffi_i_text_str(b, is_missing ? "[<missing:" : "[");
      tvmffi_i_text_int(b, i);
      break;
    case TVMFFI_I_STEP_MAP_ITEM:
    case TVMFFI_I_STEP_ATTR_MISSING:
    case TVMFFI_I_STEP_MAP_ITEM_MISSING:
      tvmffi_i_text_str(b, is_missing ? "[<missing:" : "[");
      TVMFFI_TRY(tvmffi_i_text_repr(b, callback, *key));
      break;
    default:
      return tvmffi_i_value_error("%d is no kind of an access step",
                                  (int)s->kind);
  }
  tvmffi_i_text_str(b, is_missing ? ">]" : "]");
  return 0;
}

TVMFFI_I_BUILTIN_NAMED(i_step_repr, "ffi.reflection.AccessStep.__ffi_repr__",
                       str, (object, self), (i_callback, repr)) {
  tvmffi_i_text_buffer b = TVMFFI_I_ZERO;
  int code;
  if (self->type_index != TVMFFI_I_ACCESS_STEP)
    return tvmffi_i_cannot_treat(self->type_index, "ffi.reflection.AccessStep");
  code = tvmffi_i_text_step(&b, (const tvmffi_i_step *)(void *)self, repr);
  if (!code) return tvmffi_i_text_take(&b, tvmffi_result);
  tvmffi_i_text_release(&b);
  return code;
}

TVMFFI_I_BUILTIN_NAMED(i_path_repr, "ffi.reflection.AccessPath.__ffi_repr__",
                       str, (object, self), (i_callback, repr)) {
  tvmffi_i_text_buffer b = TVMFFI_I_ZERO;
  TVMFFIAny path = tvmffi_obj(self), steps = tvmffi_none();
  const TVMFFISeqCell *cell;
  size_t i;
  int code = 0;
  if (self->type_index != TVMFFI_I_ACCESS_PATH)
    return tvmffi_i_cannot_treat(self->type_index, "ffi.reflection.AccessPath");
  TVMFFI_TRY(tvmffi_i_call_typed(&tvmffi_func_i_path_steps, &path, 1, &steps));
  cell = TVMFFI_I_CELL(TVMFFISeqCell, steps.v_obj);
  tvmffi_i_text_str(&b, "<root>");
  for (i = 0; i < (size_t)cell->size && !code; ++i)
    code = tvmffi_i_text_repr(&b, repr, ((const TVMFFIAny *)cell->data)[i]);
  tvmffi_i_any_release(&steps);
  if (!code) return tvmffi_i_text_take(&b, tvmffi_result);
  tvmffi_i_text_release(&b);
  return code;
}
#endif
