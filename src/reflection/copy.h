/* ======== Copy: shallow and deep copies ================ >>reflection/copy */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../core.h"
#include "../containers.h"
#include "../graph.h"
#include "access.h"

#if !TVMFFI_NO_CONTAINERS
/* A deep copy copies the same types in the same order as upstream's
   (extra/dataclass.cc). A table maps each object to its copy, so a
   shared object is copied once.

   The children of an array or map are copied before the container itself. So a
   child in a cycle first refers to the original container. At the end,
   tvmffi_i_patch_cycles replaces this reference. */
typedef struct {
  TVMFFIObject *object, *copy; /* owned; `copy` is NULL until created */
} tvmffi_i_copied;

/* A stack frame: an object whose children are being copied. base.other is the
   original, borrowed from the table.

   For an object with fields, base.c.object is the original, too. For a
   container, it is a new container (owned) of the same children, because code
   that runs during the copy may change the original. Each child in the new
   container is replaced by the child's copy. For an array, and for a map with
   immutable keys, the new container becomes the copy itself. For any other
   container, it is an array of the items, or of alternating keys and values,
   from which the copy is filled. */
typedef struct {
  tvmffi_i_walk_frame base;
  TVMFFIObject *copy; /* borrowed from the table; NULL for array, map */
  TVMFFIAny *open;    /* the child that is being copied, or NULL */
} tvmffi_i_copy_frame;

typedef struct {
  tvmffi_i_walk walk;       /* must be first */
  tvmffi_i_ptr_table table; /* records are tvmffi_i_copied */
  int is_cyclic;
} tvmffi_i_copier;

static TVMFFIObject *tvmffi_i_copy_of(const tvmffi_i_copier *c,
                                      const TVMFFIAny *any) {
  const tvmffi_i_copied *known =
      any->type_index < kTVMFFIStaticObjectBegin
          ? NULL
          : TVMFFI_I_FIND(tvmffi_i_copied, &c->table, any->v_obj);
  return known ? known->copy : NULL;
}

/* Returns whether a value is immutable, so that no copy is needed. */
TVMFFI_I_INLINE int tvmffi_i_is_own_copy(const TVMFFIAny *any) {
  int32_t index = any->type_index;
  return index < kTVMFFIStaticObjectBegin || index == kTVMFFIStr ||
         index == kTVMFFIBytes || index == kTVMFFIShape ||
         index == kTVMFFIBigInt || !any->v_obj;
}

/* Copies a value that needs no stack frame: an immutable value, an enumeration,
   or an object met before. Returns 1 and sets *copy (owned), else 0. */
static int tvmffi_i_copy_leaf(tvmffi_i_copier *c, const TVMFFIAny *from,
                              TVMFFIAny *copy) {
  int32_t index = from->type_index;
  const tvmffi_i_copied *known;
  *copy = *from;
  if (tvmffi_i_is_own_copy(from)) {
    if (index >= kTVMFFIStaticObjectBegin && from->v_obj)
      tvmffi_i_retain(from->v_obj);
    return 1;
  }
  known = TVMFFI_I_FIND(tvmffi_i_copied, &c->table, from->v_obj);
  if (known) {
    if (known->copy) *copy = tvmffi_obj(known->copy);
    if (!known->copy) c->is_cyclic = 1;
  } else if (!tvmffi_is_instance(index, TVMFFI_I_ENUM_BASE)) {
    return 0;
  }
  TVMFFI_ASSERT(copy->type_index == index && copy->v_obj);
  tvmffi_i_retain(copy->v_obj);
  return 1;
}

/* Returns a new array of alternating keys and values of a map or dict. */
static TVMFFIObject *tvmffi_i_pairs_of(TVMFFIObject *map) {
  size_t i, n;
  TVMFFIAny *items = NULL;
  TVMFFIObject *made;
  tvmffi_i_children c;
  const TVMFFIAny *child;
  tvmffi_i_children_open(&c, map, NULL);
  n = 2 * c.left; /* the cursor yields no more, even if the map grows */
  made = tvmffi_i_new_array(n, &items);
  if (!made) return NULL;
  for (i = 0; (child = tvmffi_i_next_in_container(&c)) != NULL; ++i)
    tvmffi_i_copy_owned(child, &items[i]);
  TVMFFI_ASSERT(i == n);
  return made;
}

/* Returns whether all keys of a map are immutable. */
static int tvmffi_i_has_own_keys(const TVMFFIObject *map) {
  const tvmffi_i_pair *pair;
  size_t at;
  TVMFFI_ASSERT(map->type_index == kTVMFFIMap);
  TVMFFI_I_EACH_PAIR(map, at, pair)
    if (!tvmffi_i_is_own_copy(&pair->key)) return 0;
  return 1;
}

/* Returns a new container (owned) of the children of a container. */
static TVMFFIObject *tvmffi_i_parts_of(TVMFFIObject *from) {
  TVMFFIAny made;
  TVMFFI_ASSERT(tvmffi_i_is_container(from->type_index));
  if (tvmffi_i_is_sequence_type(from->type_index))
    return tvmffi_i_convert_seq(&tvmffi_i_seq_of(from)->cell, kTVMFFIArray,
                                &made)
               ? NULL
               : made.v_obj;
  if (from->type_index == kTVMFFIMap && tvmffi_i_has_own_keys(from))
    return tvmffi_i_map_copy(from, kTVMFFIMap);
  return tvmffi_i_pairs_of(from);
}

/* Returns nonzero if the frame copies a container, so that it owns the new
   container, base.c.object. Otherwise returns 0. */
TVMFFI_I_INLINE int tvmffi_i_has_new_parts(const tvmffi_i_copy_frame *f) {
  return f->base.owns & TVMFFI_I_OWNS_OBJECT;
}

/* Sets f->open to the next child that needs a copy, or to NULL at the end.
   Returns 0, or a getter's error code. */
TVMFFI_I_INLINE int tvmffi_i_next_copied(tvmffi_i_copy_frame *f) {
  tvmffi_i_children *c = &f->base.c;
  TVMFFIAny *held = &f->base.held;
  const TVMFFIAny *item;
  tvmffi_i_pair *pair;
  size_t n, i = 0;
  TVMFFI_ASSERT(tvmffi_i_has_new_parts(f) || held->type_index == kTVMFFINone);
  f->open = NULL;
  if (!tvmffi_i_has_new_parts(f)) {
    for (;;) {
      TVMFFI_TRY(tvmffi_i_read_next(c, 0, held));
      if (!c->field) return 0;
      if (!tvmffi_i_is_own_copy(held)) break;
      tvmffi_i_any_release(held);
    }
    f->open = held;
  } else if (c->object->type_index == kTVMFFIMap) {
    TVMFFI_ASSERT(f->base.other->type_index == kTVMFFIMap);
    while ((pair = tvmffi_i_map_pair(c->object, c->at)) != NULL &&
           tvmffi_i_is_own_copy(&pair->value))
      c->at = tvmffi_i_map_after(c->object, c->at);
    if (pair) f->open = &pair->value;
  } else {
    n = tvmffi_i_items_from(c->object, c->at, &item);
    while (i < n && tvmffi_i_is_own_copy(&item[i])) ++i;
    if (i < n) f->open = (TVMFFIAny *)(uintptr_t)&item[i];
    c->at += i + (i < n);
  }
  return 0;
}

static tvmffi_i_known_column tvmffi_i_copy_column = {"__ffi_shallow_copy__",
                                                     NULL};

/* Creates a copy (owned) before the children are copied: a shallow copy of an
   object with fields, or an empty list or dict. Sets *copy to NULL for an array
   or map, which is copied after its children. */
static int tvmffi_i_begin_copy(TVMFFIObject *from, TVMFFIObject **copy) {
  int32_t index = from->type_index;
  const TVMFFIAny *copier;
  TVMFFIAny arg = tvmffi_obj(from), result = tvmffi_none();
  TVMFFI_ASSERT(!tvmffi_i_is_own_copy(&arg));
  *copy = NULL;
  if (index == kTVMFFIArray || index == kTVMFFIMap) return 0;
  if (index == kTVMFFIList || index == kTVMFFIDict) {
    *copy = index == kTVMFFIList ? tvmffi_i_new_list(0)
                                 : tvmffi_i_new_map(kTVMFFIDict, 0);
    return *copy ? 0 : -1;
  }
  tvmffi_i_start_types();
  copier = tvmffi_i_type_attr(&tvmffi_i_copy_column, index);
  if (!copier)
    return tvmffi_i_internal_error(
        "Cannot deep copy object of type \"%s\" because it is not "
        "copy-constructible",
        tvmffi_i_type_key(index));
  if (copier->type_index < kTVMFFIStaticObjectBegin)
    return tvmffi_i_bad_cast(copier, "ffi.Function");
  TVMFFI_TRY(tvmffi_i_call_nested(copier->v_obj, &arg, 1, &result));
  if (result.type_index == index && result.v_obj) {
    *copy = result.v_obj;
    return 0;
  }
  tvmffi_i_any_release(&result);
  return tvmffi_i_type_error("The shallow copy of a `%s` has another type",
                             tvmffi_i_type_key(index));
}

static int tvmffi_i_push_copy(tvmffi_i_copier *c, TVMFFIObject *from) {
  const int is_container = tvmffi_i_is_container(from->type_index);
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(from->type_index);
  TVMFFIObject *parts = from;
  tvmffi_i_copied *copied;
  tvmffi_i_copy_frame *f;
  if (!type) return -1;
  copied = TVMFFI_I_ADD(tvmffi_i_copied, &c->table, from);
  if (!copied) return -1;
  TVMFFI_ASSERT(copied->object == from && !copied->copy);
  TVMFFI_TRY(tvmffi_i_begin_copy(from, &copied->copy));
  if (is_container && !(parts = tvmffi_i_parts_of(from))) return -1;
  f = (tvmffi_i_copy_frame *)tvmffi_i_push_frame(
      &c->walk, parts, from, is_container ? NULL : type,
      is_container ? TVMFFI_I_OWNS_OBJECT : TVMFFI_I_OWNS_HELD);
  if (f) {
    f->copy = copied->copy;
    return 0;
  }
  if (is_container) tvmffi_i_release(parts);
  return -1;
}

/* Replaces the child f->open by `copy`, in the new container or in a field.
   Takes ownership of `copy`. */
static int tvmffi_i_feed_copy(tvmffi_i_copy_frame *f, TVMFFIAny copy) {
  tvmffi_i_children *c = &f->base.c;
  TVMFFIAny from = *f->open;
  int code = 0;
  TVMFFI_ASSERT(!tvmffi_i_is_own_copy(&from) && copy.v_obj);
  if (tvmffi_i_has_new_parts(f)) {
    TVMFFI_ASSERT(!tvmffi_i_is_shared(c->object, 1));
    *f->open = copy;
    if (c->object->type_index == kTVMFFIMap)
      c->at = tvmffi_i_map_after(c->object, c->at);
  } else {
    f->base.held = tvmffi_none();
    if (!tvmffi_i_same_any(&from, &copy))
      code = tvmffi_i_set_field(c->field, f->copy, &copy);
    tvmffi_i_any_release(&copy);
  }
  tvmffi_i_any_release(&from);
  return code;
}

/* Completes the copy of a container: fills the copy from the new container, or
   uses the new container itself as the copy. */
static int tvmffi_i_close_copy(tvmffi_i_copier *c, tvmffi_i_copy_frame *f) {
  TVMFFIObject *parts = f->base.c.object, *from = f->base.other;
  TVMFFIObject *copy = f->copy ? f->copy : parts;
  int code = 0;
  TVMFFI_ASSERT(!f->open && f->copy == TVMFFI_I_FIND(tvmffi_i_copied, &c->table,
                                                     from)
                                           ->copy);
  if (!tvmffi_i_has_new_parts(f)) return 0;
  if (parts->type_index != from->type_index) {
    TVMFFIAny *items = TVMFFI_I_ITEMS((tvmffi_i_seq *)(void *)parts);
    size_t i, n = (size_t)TVMFFI_I_CELL(TVMFFISeqCell, parts)->size;
    TVMFFI_ASSERT(from->type_index != kTVMFFIArray);
    TVMFFI_ASSERT((f->copy == NULL) == (from->type_index == kTVMFFIMap));
    if (!f->copy) copy = tvmffi_i_new_map(kTVMFFIMap, n / 2);
    if (!copy) return -1;
    if (from->type_index != kTVMFFIList)
      code = tvmffi_i_map_take(tvmffi_i_map_of(copy), items, n);
    else
      for (i = 0; i < n && !code; ++i)
        code = tvmffi_i_list_append(copy, &items[i]);
    if (code && !f->copy) tvmffi_i_release(copy);
    if (code) return code;
  } else {
    TVMFFI_ASSERT(!f->copy);
    f->base.owns = 0; /* the table takes it */
  }
  f->copy = copy;
  TVMFFI_I_FIND(tvmffi_i_copied, &c->table, from)->copy = copy;
  return 0;
}

static void tvmffi_i_patch_list(const tvmffi_i_copier *c, TVMFFIObject *list) {
  TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, list);
  size_t i;
  for (i = 0; i < (size_t)cell->size; ++i) {
    TVMFFIAny *item = (TVMFFIAny *)cell->data + i, old = *item;
    TVMFFIObject *copy = tvmffi_i_copy_of(c, item);
    if (!copy) continue;
    tvmffi_i_retain(copy);
    *item = tvmffi_obj(copy);
    tvmffi_i_any_release(&old);
  }
}

/* Replaces originals among the keys and values of a dict by copies. As in
   upstream, the changed entries become the last ones. */
static int tvmffi_i_patch_dict(const tvmffi_i_copier *c, TVMFFIObject *dict) {
  const size_t n = 2 * tvmffi_i_size_of(dict);
  TVMFFIAny *made = NULL;
  TVMFFIObject *patched = tvmffi_i_new_array(n, &made);
  const tvmffi_i_pair *pair;
  size_t at, num_made = 0, num_kept = 0;
  int changed, code = 0;
  if (!patched) return -1;
  for (changed = 0; changed < 2; ++changed) {
    TVMFFI_I_EACH_PAIR(dict, at, pair) {
      TVMFFIObject *key = tvmffi_i_copy_of(c, &pair->key);
      TVMFFIObject *value = tvmffi_i_copy_of(c, &pair->value);
      const tvmffi_i_pair copies = {key ? tvmffi_obj(key) : pair->key,
                                    value ? tvmffi_obj(value) : pair->value};
      if ((key || value) != changed) continue;
      tvmffi_i_copy_span(made + num_made, &copies.key, 2);
      num_made += 2;
    }
    if (!changed) num_kept = num_made;
  }
  TVMFFI_ASSERT(num_made == n);
  if (num_kept < n) {
    code = tvmffi_i_map_clear_in(tvmffi_i_map_of(dict));
    if (!code) code = tvmffi_i_map_take(tvmffi_i_map_of(dict), made, n);
  }
  tvmffi_i_release(patched);
  return code;
}

static int tvmffi_i_patch_object(const tvmffi_i_copier *c,
                                 TVMFFIObject *object) {
  tvmffi_i_children fields;
  int code = 0;
  TVMFFI_ASSERT(object->type_index >= kTVMFFIStaticObjectEnd);
  tvmffi_i_children_open(&fields, object,
                         TVMFFIGetTypeInfo(object->type_index));
  while (!code) {
    TVMFFIAny held = tvmffi_none(), value;
    TVMFFIObject *copy;
    TVMFFI_TRY(tvmffi_i_read_next(&fields, 0, &held));
    if (!fields.field) break;
    copy = tvmffi_i_copy_of(c, &held);
    if (copy && copy != held.v_obj) {
      value = tvmffi_obj(copy);
      code = tvmffi_i_set_field(fields.field, object, &value);
    }
    tvmffi_i_any_release(&held);
  }
  return code;
}

/* If the originals form a cycle, copies may still refer to originals. Replaces
   these references by references to the copies. */
static int tvmffi_i_patch_cycles(const tvmffi_i_copier *c) {
  tvmffi_i_copied *copied = NULL;
  while ((copied = TVMFFI_I_NEXT(tvmffi_i_copied, &c->table, copied))) {
    TVMFFIObject *copy = copied->copy;
    TVMFFI_ASSERT(copied->object && copy);
    if (copy->type_index == kTVMFFIList)
      tvmffi_i_patch_list(c, copy);
    else if (copy->type_index == kTVMFFIDict)
      TVMFFI_TRY(tvmffi_i_patch_dict(c, copy));
    else if (copy->type_index >= kTVMFFIStaticObjectEnd)
      TVMFFI_TRY(tvmffi_i_patch_object(c, copy));
  }
  return 0;
}

/* Sets the fields of an object's copy that refer to other copies to the values
   of the original, as in the shallow copy. Runs no converter of Python unless
   the getter is not the runtime's, so that only the setter can write. Ignores
   the errors of getters and setters. */
static void tvmffi_i_reset_object(TVMFFIObject *object,
                                  const TVMFFIObject *from) {
  tvmffi_i_field_cursor fields =
      tvmffi_i_begin_fields(TVMFFIGetTypeInfo(object->type_index));
  const TVMFFIFieldInfo *field;
  TVMFFI_ASSERT(object->type_index == from->type_index);
  while ((field = tvmffi_i_next_field(&fields))) {
    const tvmffi_i_access *access =
        tvmffi_i_access_of(field->field_static_type_index);
    const TVMFFIFieldSetter set =
        access && access->get == field->getter ? access->set : NULL;
    TVMFFIAny held = tvmffi_none(), value = tvmffi_none();
    tvmffi_error_clear(); /* raised by an earlier field: a getter needs none */
    if (!field->getter(tvmffi_i_at(object, field), &held) &&
        held.type_index >= kTVMFFIStaticObjectBegin &&
        !field->getter(tvmffi_i_at(from, field), &value) &&
        !tvmffi_i_same_any(&held, &value)) {
      if (set)
        (void)set(tvmffi_i_at(object, field), &value);
      else
        (void)tvmffi_i_set_field(field, object, &value);
    }
    tvmffi_i_any_release(&held);
    tvmffi_i_any_release(&value);
  }
}

/* Removes the references between the copies after a failure, because copies in
   a cycle would leak: lists and dicts become empty, and objects become shallow
   copies again. Keeps the raised error. */
static void tvmffi_i_abandon_copies(const tvmffi_i_copier *c) {
  TVMFFIObject *error = tvmffi_i_error_remove();
  tvmffi_i_copied *copied = NULL;
  while ((copied = TVMFFI_I_NEXT(tvmffi_i_copied, &c->table, copied))) {
    TVMFFIObject *copy = copied->copy;
    if (!copy) continue;
    TVMFFI_ASSERT(copy->type_index == copied->object->type_index);
    if (copy->type_index == kTVMFFIList)
      tvmffi_i_erase(tvmffi_i_seq_of(copy), 0,
                     (size_t)tvmffi_i_seq_of(copy)->cell.size);
    else if (copy->type_index == kTVMFFIDict)
      (void)tvmffi_i_map_clear_in(tvmffi_i_map_of(copy));
    else if (!tvmffi_i_is_container(copy->type_index))
      tvmffi_i_reset_object(copy, copied->object);
  }
  tvmffi_error_clear();
  (void)tvmffi_i_error_restore(error);
}

static int tvmffi_i_copy_frames(tvmffi_i_copier *c) {
  for (;;) {
    tvmffi_i_copy_frame *f = TVMFFI_I_FRAME(tvmffi_i_copy_frame, c);
    TVMFFIAny copy;
    TVMFFI_TRY(tvmffi_i_next_copied(f));
    if (f->open) {
      if (tvmffi_i_copy_leaf(c, f->open, &copy))
        TVMFFI_TRY(tvmffi_i_feed_copy(f, copy));
      else
        TVMFFI_TRY(tvmffi_i_push_copy(c, f->open->v_obj));
      continue;
    }
    TVMFFI_TRY(tvmffi_i_close_copy(c, f));
    TVMFFI_ASSERT(f->copy && f->copy->type_index == f->base.other->type_index);
    copy = tvmffi_obj(f->copy);
    tvmffi_i_pop_frame(&c->walk);
    if (!tvmffi_i_depth(c)) return 0;
    tvmffi_i_retain(copy.v_obj);
    f = TVMFFI_I_FRAME(tvmffi_i_copy_frame, c);
    TVMFFI_TRY(tvmffi_i_feed_copy(f, copy));
  }
}

/* Completes the copies of all objects. On failure no copy refers to another. */
static int tvmffi_i_copy_all(tvmffi_i_copier *c) {
  int code = tvmffi_i_copy_frames(c);
  TVMFFI_ASSERT(code || !tvmffi_i_depth(c));
  if (!code && c->is_cyclic) code = tvmffi_i_patch_cycles(c);
  if (code) tvmffi_i_abandon_copies(c);
  return code;
}
#endif
