/* ======== Copy: shallow and deep copies ================ >>reflection/copy */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/word.h"
#include "../interface/map_layout.h"
#include "../interface/mismatch.h"
#include "../interface/function.h"
#include "../platform/libc.h"
#include "../platform/memory.h"
#include "../platform/stack.h"
#include "../core/raise.h"
#include "../core/type_table.h"
#include "../core/type_member.h"
#include "../containers/equal.h"
#include "../containers/sequence.h"
#include "../containers/map_memory.h"
#include "../containers/map.h"
#include "../graph/find_device.h"
#include "field.h"
#include "access.h"

#if !TVMFFI_NO_CONTAINERS
/* Deep copies. What is being copied stands on a stack of frames and not on
   the thread's, and what has been copied in a table, so that a graph keeps its
   shape. An array or map is made once its items are, so a cycle through one
   holds the original at first; tvmffi_i_mend puts the copy there. Which types
   are copied, and in which order, is upstream's (extra/dataclass.cc). */
typedef struct {
  TVMFFIObject *from, *copy; /* owned; no copy: it is being made */
} tvmffi_i_copied;

typedef struct {
  TVMFFIObject *from; /* borrowed from the table */
  TVMFFIObject *copy; /* borrowed from the table, NULL of an array or map */
  TVMFFIObject *made; /* owned: an array or map of originals to be replaced */
  TVMFFIAny *values;  /* owned unless in it: copies, from i on originals */
  int64_t i, n;
  uint64_t at;     /* in a map that is made */
  TVMFFIAny *open; /* the value that is being copied, or NULL */
  /* Of an object with fields: the one whose value is being copied, or NULL. */
  tvmffi_i_field_walk walk;
  const TVMFFIFieldInfo *field;
  TVMFFIAny held; /* owned: that value */
} tvmffi_i_copy_frame;

typedef struct {
  tvmffi_i_copied *table;
  size_t places, count;
  tvmffi_i_stack frames;
  int is_cyclic;
} tvmffi_i_copier;

static tvmffi_i_copied *tvmffi_i_copied_place(const tvmffi_i_copier *c,
                                              const TVMFFIObject *from) {
  uint64_t hash = (uint64_t)(uintptr_t)from * 0x9E3779B97F4A7C15u;
  size_t i = (size_t)(hash >> 32) & (c->places - 1);
  while (c->table[i].from && c->table[i].from != from)
    i = (i + 1) & (c->places - 1);
  return &c->table[i];
}

static TVMFFIObject *tvmffi_i_copy_of(const tvmffi_i_copier *c,
                                      const TVMFFIAny *any) {
  if (any->type_index < kTVMFFIStaticObjectBegin || !c->places) return NULL;
  return tvmffi_i_copied_place(c, any->v_obj)->copy;
}

/* Makes room for one more object in the table. */
static int tvmffi_i_grow_copied(tvmffi_i_copier *c) {
  tvmffi_i_copier old = *c;
  size_t i;
  if (c->count * 2 < c->places) return 0;
  c->places = old.places ? old.places * 2 : 16;
  c->table = (tvmffi_i_copied *)tvmffi_i_alloc(c->places * sizeof(*c->table));
  if (!c->table) {
    *c = old;
    return tvmffi_i_no_memory();
  }
  memset((void *)c->table, 0, c->places * sizeof(*c->table));
  for (i = 0; i < old.places; ++i)
    if (old.table[i].from)
      *tvmffi_i_copied_place(c, old.table[i].from) = old.table[i];
  tvmffi_i_free(old.table);
  return 0;
}

/* Whether a copy of a value is the value itself. */
TVMFFI_I_INLINE int tvmffi_i_is_own_copy(const TVMFFIAny *any) {
  int32_t index = any->type_index;
  return index < kTVMFFIStaticObjectBegin || index == kTVMFFIStr ||
         index == kTVMFFIBytes || index == kTVMFFIShape ||
         index == kTVMFFIBigInt || !any->v_obj;
}

/* Gives the copy (owned) of what needs no frame, and 1; else 0. */
static int tvmffi_i_copy_leaf(tvmffi_i_copier *c, const TVMFFIAny *from,
                              TVMFFIAny *copy) {
  int32_t index = from->type_index;
  const tvmffi_i_copied *known;
  *copy = *from;
  if (tvmffi_i_is_own_copy(from)) {
    if (index >= kTVMFFIStaticObjectBegin && from->v_obj)
      tvmffi_retain(from->v_obj);
    return 1;
  }
  known = c->places ? tvmffi_i_copied_place(c, from->v_obj) : NULL;
  if (known && known->from) {
    if (known->copy) *copy = tvmffi_obj(known->copy);
    if (!known->copy) c->is_cyclic = 1;
  } else if (!tvmffi_is_instance(index, TVMFFI_I_ENUM_BASE)) {
    return 0;
  }
  tvmffi_retain(copy->v_obj);
  return 1;
}

static void tvmffi_i_drop_values(tvmffi_i_copy_frame *f) {
  if (f->field) tvmffi_any_release(&f->held);
  if (f->made) {
    tvmffi_release(f->made);
    return;
  }
  while (f->n) tvmffi_any_release(&f->values[--f->n]);
  tvmffi_i_free(f->values);
}

/* Takes the values of a list, dict or map: they may change meanwhile. */
static int tvmffi_i_open_values(tvmffi_i_copy_frame *f) {
  const TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, f->from);
  const tvmffi_i_pair *pair;
  int is_list = f->from->type_index == kTVMFFIList;
  int64_t i, n = is_list ? cell->size : 2 * tvmffi_i_map_size(f->from);
  uint64_t at;
  f->values = NULL;
  f->i = f->n = 0;
  if (!n) return 0;
  f->values = (TVMFFIAny *)tvmffi_i_alloc((size_t)n * sizeof(*f->values));
  if (!f->values) return tvmffi_i_no_memory();
  f->n = n;
  if (is_list) {
    for (i = 0; i < n; ++i)
      f->values[i] = tvmffi_i_copy_owned((const TVMFFIAny *)cell->data + i);
    return 0;
  }
  at = tvmffi_i_map_begin(f->from);
  for (i = 0; i < n && (pair = tvmffi_i_map_pair(f->from, at)); i += 2) {
    f->values[i] = tvmffi_i_copy_owned(&pair->key);
    f->values[i + 1] = tvmffi_i_copy_owned(&pair->value);
    at = tvmffi_i_map_after(f->from, at);
  }
  f->n = i;
  return 0;
}

/* In one pass, which also finds the first item that has to be copied. */
static int tvmffi_i_shallow_array(tvmffi_i_copy_frame *f) {
  const TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, f->from);
  const TVMFFIAny *from = (const TVMFFIAny *)cell->data;
  int64_t i, n = cell->size, first = n;
  tvmffi_i_seq *made = tvmffi_i_empty_array(n);
  TVMFFIAny *to;
  if (!made) return -1;
  to = TVMFFI_I_ITEMS(made);
  for (i = 0; i < n; ++i) {
    to[i] = from[i];
    if (from[i].type_index < kTVMFFIStaticObjectBegin) continue;
    tvmffi_retain(from[i].v_obj);
    if (first == n && !tvmffi_i_is_own_copy(&from[i])) first = i;
  }
  made->cell.size = n;
  f->made = &made->base;
  f->values = to;
  f->i = first;
  f->n = n;
  return 1;
}

/* Makes the shallow copy of an array, or of a map whose keys are their own
   copies, so that only what has to be copied is touched again: 1, or 0 for
   anything else. */
static int tvmffi_i_make_shallow(tvmffi_i_copy_frame *f) {
  const tvmffi_i_pair *pair;
  if (f->from->type_index == kTVMFFIArray) return tvmffi_i_shallow_array(f);
  if (f->from->type_index != kTVMFFIMap) return 0;
  for (f->at = tvmffi_i_map_begin(f->from);
       (pair = tvmffi_i_map_pair(f->from, f->at)) != NULL;
       f->at = tvmffi_i_map_after(f->from, f->at))
    if (!tvmffi_i_is_own_copy(&pair->key)) return 0;
  f->at = tvmffi_i_map_begin(f->from);
  f->made = tvmffi_i_map_copy(f->from, kTVMFFIMap);
  return f->made ? 1 : -1;
}

/* Reads the next field that may have to be copied. */
TVMFFI_I_INLINE int tvmffi_i_next_copied_field(tvmffi_i_copy_frame *f) {
  const TVMFFIFieldInfo *field;
  while ((field = tvmffi_i_next_field(&f->walk)) != NULL) {
    f->held = tvmffi_none();
    TVMFFI_TRY(field->getter(tvmffi_i_at(f->from, field), &f->held));
    if (!tvmffi_i_is_own_copy(&f->held)) break;
    tvmffi_any_release(&f->held);
  }
  f->field = field;
  return 0;
}

/* Goes on to the next value that may have to be copied. */
TVMFFI_I_INLINE int tvmffi_i_next_copied(tvmffi_i_copy_frame *f) {
  tvmffi_i_pair *pair;
  if (f->walk.type) {
    TVMFFI_TRY(tvmffi_i_next_copied_field(f));
    f->open = f->field ? &f->held : NULL;
  } else if (f->made && f->made->type_index == kTVMFFIMap) {
    while ((pair = tvmffi_i_map_pair(f->made, f->at)) != NULL &&
           tvmffi_i_is_own_copy(&pair->value))
      f->at = tvmffi_i_map_after(f->made, f->at);
    f->open = pair ? &pair->value : NULL;
  } else {
    if (f->made)
      while (f->i < f->n && tvmffi_i_is_own_copy(&f->values[f->i])) ++f->i;
    f->open = f->i < f->n ? &f->values[f->i] : NULL;
  }
  return 0;
}

static tvmffi_i_known_column tvmffi_i_copy_column = {"__ffi_shallow_copy__",
                                                     NULL};

/* Makes the copy (owned) that a frame begins with: of an object with fields a
   shallow one, of a list or dict an empty one, of others none. */
static int tvmffi_i_begin_copy(TVMFFIObject *from, TVMFFIObject **copy) {
  int32_t index = from->type_index;
  const TVMFFIAny *copier;
  TVMFFIAny arg = tvmffi_obj(from), result = tvmffi_none();
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
    return tvmffi_i_fail("InternalError",
                         "Cannot deep copy object of type \"%s\" because it is "
                         "not copy-constructible",
                         tvmffi_i_type_key(index));
  if (copier->type_index < kTVMFFIStaticObjectBegin)
    return tvmffi_i_bad_cast(copier, "ffi.Function");
  TVMFFI_TRY(TVMFFIFunctionCall(copier->v_obj, &arg, 1, &result));
  if (result.type_index == index && result.v_obj) {
    *copy = result.v_obj;
    return 0;
  }
  tvmffi_any_release(&result);
  return tvmffi_i_fail("TypeError", "The shallow copy of a %s is none",
                       tvmffi_i_type_key(index));
}

/* Puts an object into the table, and fills in its frame. */
static int tvmffi_i_open_copy(tvmffi_i_copier *c, TVMFFIObject *from,
                              tvmffi_i_copy_frame *f) {
  tvmffi_i_copied *place;
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(from->type_index);
  int code;
  f->from = from;
  f->made = NULL;
  f->values = NULL;
  f->i = f->n = 0;
  f->walk.type = NULL;
  f->field = NULL;
  if (!type) return -1;
  TVMFFI_TRY(tvmffi_i_grow_copied(c));
  TVMFFI_TRY(tvmffi_i_begin_copy(from, &f->copy));
  tvmffi_retain(from);
  place = tvmffi_i_copied_place(c, from);
  place->from = from;
  place->copy = f->copy;
  ++c->count;
  if (!tvmffi_i_is_container(from->type_index)) {
    f->walk = tvmffi_i_walk_fields(type);
    return 0;
  }
  code = tvmffi_i_make_shallow(f);
  if (code) return code < 0 ? code : 0;
  return tvmffi_i_open_values(f);
}

static int tvmffi_i_push_copy(tvmffi_i_copier *c, TVMFFIObject *from) {
  tvmffi_i_copy_frame *f =
      TVMFFI_I_PUSH(tvmffi_i_copy_frame, &c->frames, "ObjectGraphDFS");
  return f ? tvmffi_i_open_copy(c, from, f) : -1;
}

/* Puts the copy (taken) of a value into its place, or into its field. */
static int tvmffi_i_feed_copy(tvmffi_i_copy_frame *f, TVMFFIAny copy) {
  TVMFFIAny from = *f->open;
  int code = 0;
  if (f->field) {
    if (!tvmffi_i_same_any(&from, &copy))
      code = tvmffi_i_set_field(f->field, f->copy, &copy);
    f->field = NULL;
    tvmffi_any_release(&copy);
  } else {
    *f->open = copy;
    if (f->made && f->made->type_index == kTVMFFIMap)
      f->at = tvmffi_i_map_after(f->made, f->at);
    else
      ++f->i;
  }
  tvmffi_any_release(&from);
  return code;
}

/* Makes a container of the copies. */
static int tvmffi_i_close_copy(tvmffi_i_copier *c, tvmffi_i_copy_frame *f) {
  TVMFFIObject *made = f->made ? f->made : f->copy;
  int32_t index = f->from->type_index;
  int64_t i = 0;
  if (index == kTVMFFIList) {
    for (; i < f->n; ++i) TVMFFI_TRY(tvmffi_i_list_append(made, &f->values[i]));
  } else if (!f->made && (index == kTVMFFIMap || index == kTVMFFIDict)) {
    if (!made) made = tvmffi_i_new_map(kTVMFFIMap, f->n / 2);
    for (; made && i < f->n; i += 2) {
      TVMFFIObject *map = made;
      int code = tvmffi_i_map_set(&map, &f->values[i], &f->values[i + 1]);
      if (code && !f->copy) tvmffi_release(made);
      if (code) return code;
    }
    if (!made) return -1;
  }
  if (!f->made) tvmffi_i_drop_values(f);
  tvmffi_i_copied_place(c, f->from)->copy = made; /* which takes it */
  f->copy = made;
  return 0;
}

/* Replaces originals in the copies of a cycle. */
static int tvmffi_i_mend_list(const tvmffi_i_copier *c, TVMFFIObject *list) {
  TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, list);
  int64_t i;
  for (i = 0; i < cell->size; ++i) {
    TVMFFIAny *item = (TVMFFIAny *)cell->data + i, old = *item;
    TVMFFIObject *copy = tvmffi_i_copy_of(c, item);
    if (!copy) continue;
    tvmffi_retain(copy);
    *item = tvmffi_obj(copy);
    tvmffi_any_release(&old);
  }
  return 0;
}

static int tvmffi_i_mend_dict(const tvmffi_i_copier *c, TVMFFIObject *dict) {
  tvmffi_i_copy_frame f;
  int64_t i;
  int code;
  f.from = dict;
  f.made = NULL;
  f.field = NULL;
  code = tvmffi_i_open_values(&f);
  for (i = 0; i < f.n && !code; i += 2) {
    TVMFFIObject *key = tvmffi_i_copy_of(c, &f.values[i]);
    TVMFFIObject *value = tvmffi_i_copy_of(c, &f.values[i + 1]);
    TVMFFIAny k = key ? tvmffi_obj(key) : f.values[i];
    TVMFFIAny v = value ? tvmffi_obj(value) : f.values[i + 1];
    if (!key && !value) continue;
    code = tvmffi_i_map_erase(&dict, &f.values[i]);
    if (!code) code = tvmffi_i_map_set(&dict, &k, &v);
  }
  tvmffi_i_drop_values(&f);
  return code;
}

static int tvmffi_i_mend_object(const tvmffi_i_copier *c,
                                TVMFFIObject *object) {
  tvmffi_i_field_walk w =
      tvmffi_i_walk_fields(TVMFFIGetTypeInfo(object->type_index));
  const TVMFFIFieldInfo *field;
  while ((field = tvmffi_i_next_field(&w))) {
    TVMFFIAny held = tvmffi_none(), value;
    TVMFFIObject *copy;
    int code = 0;
    TVMFFI_TRY(field->getter(tvmffi_i_at(object, field), &held));
    copy = tvmffi_i_copy_of(c, &held);
    if (copy && copy != held.v_obj) {
      value = tvmffi_obj(copy);
      code = tvmffi_i_set_field(field, object, &value);
    }
    tvmffi_any_release(&held);
    if (code) return code;
  }
  return 0;
}

static int tvmffi_i_mend(const tvmffi_i_copier *c) {
  size_t i;
  for (i = 0; i < c->places; ++i) {
    TVMFFIObject *copy = c->table[i].copy;
    if (!copy) continue;
    if (copy->type_index == kTVMFFIList)
      TVMFFI_TRY(tvmffi_i_mend_list(c, copy));
    else if (copy->type_index == kTVMFFIDict)
      TVMFFI_TRY(tvmffi_i_mend_dict(c, copy));
    else if (copy->type_index >= kTVMFFIStaticObjectEnd)
      TVMFFI_TRY(tvmffi_i_mend_object(c, copy));
  }
  return 0;
}

static int tvmffi_i_copy_all(tvmffi_i_copier *c) {
  while (c->frames.depth) {
    tvmffi_i_copy_frame *f = TVMFFI_I_TOP(tvmffi_i_copy_frame, &c->frames);
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
    copy = tvmffi_obj(f->copy);
    TVMFFI_I_POP(tvmffi_i_copy_frame, &c->frames);
    if (!c->frames.depth) break;
    tvmffi_retain(copy.v_obj);
    f = TVMFFI_I_TOP(tvmffi_i_copy_frame, &c->frames);
    TVMFFI_TRY(tvmffi_i_feed_copy(f, copy));
  }
  return c->is_cyclic ? tvmffi_i_mend(c) : 0;
}

TVMFFI_FUNC(i_deep_copy, any, (any, value)) {
  tvmffi_i_copy_frame room[8];
  tvmffi_i_copier c = TVMFFI_I_ZERO;
  TVMFFIAny copy;
  size_t i;
  int code;
  if (tvmffi_i_copy_leaf(&c, &value, &copy)) {
    if (copy.type_index < kTVMFFIStaticObjectBegin || !copy.v_obj)
      TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(&value, &copy));
    TVMFFI_RETURN(copy);
  }
  tvmffi_i_stack_open(&c.frames, room, sizeof(room));
  code = tvmffi_i_push_copy(&c, value.v_obj);
  if (!code) code = tvmffi_i_copy_all(&c);
  for (; c.frames.depth; TVMFFI_I_POP(tvmffi_i_copy_frame, &c.frames))
    tvmffi_i_drop_values(TVMFFI_I_TOP(tvmffi_i_copy_frame, &c.frames));
  tvmffi_i_stack_close(&c.frames);
  if (!code) {
    copy = tvmffi_obj(tvmffi_i_copied_place(&c, value.v_obj)->copy);
    tvmffi_retain(copy.v_obj);
  }
  for (i = 0; i < c.places; ++i) {
    tvmffi_release(c.table[i].copy);
    tvmffi_release(c.table[i].from);
  }
  tvmffi_i_free(c.table);
  if (code) return code;
  TVMFFI_RETURN(copy);
}
#endif
