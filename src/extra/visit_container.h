/* ======== Visited containers ======================== >>extra/visit_container
   cursors over containers */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/map_layout.h"
#include "../core/type_member.h"
#include "../containers/sequence.h"
#include "../containers/map_memory.h"
#include "../reflection/enum.h"
#include "../reflection/convert.h"
#include "knot.h"
#include "visit.h"

#if !TVMFFI_NO_EXTRA
/* The child of a container at the cursor; NULL at its end. A container may
   change while its children are visited, so nothing is remembered of it. */
TVMFFI_I_INLINE TVMFFIAny *tvmffi_i_child_at(const tvmffi_i_cursor *c) {
  TVMFFIObject *o = c->made ? c->made : c->from;
  TVMFFISeqCell *cell;
  tvmffi_i_pair *pair;
  if (o->type_index == kTVMFFIArray || o->type_index == kTVMFFIList) {
    cell = TVMFFI_I_CELL(TVMFFISeqCell, o);
    return c->next.at < (uint64_t)cell->size
               ? (TVMFFIAny *)cell->data + c->next.at
               : NULL;
  }
  pair = tvmffi_i_map_pair(o, c->next.at);
  return pair ? &pair->value : NULL;
}

TVMFFI_I_INLINE void tvmffi_i_open_cursor(tvmffi_i_cursor *c,
                                          const TVMFFIAny *from, int in_place) {
  int32_t index = from->type_index;
  c->from = from->v_obj;
  c->child = tvmffi_none();
  c->made = NULL;
  c->next.at = index == kTVMFFIMap || index == kTVMFFIDict
                   ? tvmffi_i_map_begin(from->v_obj)
                   : 0;
  c->in_place = (unsigned char)in_place;
  c->holds = in_place || index == kTVMFFIList || index == kTVMFFIDict;
}

/* Goes to the next child of a container, with an engine past those that it has
   nothing to do with; NULL at the end. */
TVMFFI_I_INLINE const TVMFFIAny *tvmffi_i_next_of(const tvmffi_i_engine *e,
                                                  tvmffi_i_cursor *c) {
  TVMFFIObject *o = c->made ? c->made : c->from;
  const TVMFFISeqCell *cell;
  const TVMFFIAny *item, *end;
  const tvmffi_i_pair *pair;
  if (o->type_index == kTVMFFIArray || o->type_index == kTVMFFIList) {
    cell = TVMFFI_I_CELL(TVMFFISeqCell, o);
    if (c->next.at >= (uint64_t)cell->size) return NULL;
    item = (const TVMFFIAny *)cell->data + c->next.at;
    end = (const TVMFFIAny *)cell->data + cell->size;
    while (e && tvmffi_i_has_bit(e->passed, item->type_index))
      if (++item == end) return NULL;
    c->next.at = (uint64_t)(item - (const TVMFFIAny *)cell->data);
    return item;
  }
  while ((pair = tvmffi_i_map_pair(o, c->next.at)) != NULL) {
    if (!e || !tvmffi_i_has_bit(e->passed, pair->value.type_index))
      return &pair->value;
    c->next.at = tvmffi_i_map_after(o, c->next.at);
  }
  return NULL;
}

/* Takes the next child of a container: 0 at its end. */
TVMFFI_I_INLINE int tvmffi_i_next_item(const tvmffi_i_engine *e,
                                       tvmffi_i_cursor *c, int *unique) {
  const TVMFFIAny *child = tvmffi_i_next_of(e, c);
  if (!child) return 0;
  *unique = c->in_place && tvmffi_i_is_unique(child);
  c->child = c->holds ? tvmffi_i_copy_owned(child) : *child;
  return 1;
}

TVMFFI_I_INLINE void tvmffi_i_drop_child(tvmffi_i_cursor *c) {
  if (c->holds) tvmffi_any_release(&c->child);
}

/* While a unique child is out of its place, the cursor's is its only reference,
   so that who mutates it finds it unique, too. */
TVMFFI_I_INLINE void tvmffi_i_lift_child(tvmffi_i_cursor *c) {
  *tvmffi_i_child_at(c) = tvmffi_none();
  tvmffi_release(c->child.v_obj);
}
TVMFFI_I_INLINE void tvmffi_i_lower_child(tvmffi_i_cursor *c) {
  TVMFFIAny *place = tvmffi_i_child_at(c);
  if (place && place->type_index == kTVMFFINone)
    *place = tvmffi_i_copy_owned(&c->child);
}

/* Goes past the child. */
TVMFFI_I_INLINE void tvmffi_i_pass_child(tvmffi_i_cursor *c) {
  TVMFFIObject *o = c->made ? c->made : c->from;
  c->next.at = o->type_index == kTVMFFIMap || o->type_index == kTVMFFIDict
                   ? tvmffi_i_map_after(o, c->next.at)
                   : c->next.at + 1;
  tvmffi_i_drop_child(c);
}

/* Makes the copy of an array, where a value (taken) stands in the place of the
   child. */
static int tvmffi_i_copy_array(tvmffi_i_cursor *c, TVMFFIAny *value) {
  const TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, c->from);
  const TVMFFIAny *items = (const TVMFFIAny *)cell->data;
  int64_t i, at = (int64_t)c->next.at;
  TVMFFIAny *to = NULL;
  c->made = tvmffi_i_new_array(cell->size, &to);
  if (!c->made) {
    tvmffi_any_release(value);
    return -1;
  }
  for (i = 0; i < at; ++i) to[i] = tvmffi_i_copy_owned(&items[i]);
  to[at] = *value;
  for (++i; i < cell->size; ++i) to[i] = tvmffi_i_copy_owned(&items[i]);
  return 0;
}

/* Makes the copy of another container that is not changed in place. */
static int tvmffi_i_copy_container(tvmffi_i_cursor *c) {
  TVMFFIObject *o = c->from;
  TVMFFIAny copy = tvmffi_none();
  if (o->type_index == kTVMFFIMap || o->type_index == kTVMFFIDict) {
    c->made = tvmffi_i_map_copy(o, o->type_index);
    return c->made ? 0 : -1;
  }
  TVMFFI_TRY(tvmffi_i_convert_seq(TVMFFI_I_CELL(TVMFFISeqCell, o),
                                  o->type_index, &copy));
  c->made = copy.v_obj;
  return 0;
}

/* Whether two values differ; what says so most often is looked at first. */
TVMFFI_I_INLINE int tvmffi_i_is_other(const TVMFFIAny *a, const TVMFFIAny *b) {
  return a->v_uint64 != b->v_uint64 || !tvmffi_i_same_any(a, b);
}

/* Puts the mutated child (taken) into its place, if that still has it. */
static int tvmffi_i_put_child(tvmffi_i_cursor *c, TVMFFIAny *value) {
  TVMFFIAny *place, old;
  int code = 0;
  if (tvmffi_i_is_other(value, &c->child)) {
    if (!c->made && !c->in_place) {
      if (c->from->type_index == kTVMFFIArray)
        return tvmffi_i_copy_array(c, value);
      code = tvmffi_i_copy_container(c);
    }
    place = code ? NULL : tvmffi_i_child_at(c);
    if (place && !tvmffi_i_is_other(place, &c->child)) {
      old = *place;
      *place = *value;
      *value = old;
    }
  }
  tvmffi_any_release(value);
  return code;
}

#if defined(__cplusplus)
extern "C" {
#endif
/* The hooks of containers, as they are called with a visitor of C++. */
static TVMFFIAny tvmffi_i_visit_container(void *visitor, TVMFFIAny value) {
  const tvmffi_i_hook enter =
      tvmffi_i_table_of((tvmffi_i_visitor *)visitor)->enter;
  TVMFFIAny r = tvmffi_none();
  const tvmffi_i_pair *pair;
  const TVMFFIAny *item, *end;
  tvmffi_i_cursor c;
  uint64_t at;
  int unique;
  if (value.type_index == kTVMFFIArray) { /* which cannot change meanwhile */
    item = (const TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, value.v_obj)->data;
    end = item + TVMFFI_I_CELL(TVMFFISeqCell, value.v_obj)->size;
    for (; r.type_index == kTVMFFINone && item != end; ++item)
      r = enter(visitor, *item);
    return r;
  }
  if (value.type_index == kTVMFFIMap) {
    for (at = tvmffi_i_map_begin(value.v_obj);
         r.type_index == kTVMFFINone &&
         (pair = tvmffi_i_map_pair(value.v_obj, at)) != NULL;
         at = tvmffi_i_map_after(value.v_obj, at))
      r = enter(visitor, pair->value);
    return r;
  }
  tvmffi_i_open_cursor(&c, &value, 0);
  while (r.type_index == kTVMFFINone && tvmffi_i_next_item(NULL, &c, &unique)) {
    r = enter(visitor, c.child);
    tvmffi_i_pass_child(&c);
  }
  return r;
}

/* Inline, as C++ goes as deep as the thread's stack lasts. */
TVMFFI_I_ALWAYS_INLINE TVMFFIAny tvmffi_i_mutate_with(tvmffi_i_visitor *v,
                                                      const TVMFFIAny *value,
                                                      int in_place) {
  const tvmffi_i_visit_table *table = tvmffi_i_table_of(v);
  TVMFFIAny r = tvmffi_none();
  tvmffi_i_cursor c;
  int unique;
  tvmffi_i_open_cursor(&c, value, in_place);
  while (r.type_index != kTVMFFIError &&
         tvmffi_i_next_item(NULL, &c, &unique)) {
    if (unique) {
      tvmffi_i_lift_child(&c);
      r = table->enter_unique(v, c.child);
      tvmffi_i_lower_child(&c);
    } else {
      r = table->enter(v, c.child);
    }
    if (r.type_index != kTVMFFIError && r.type_index != kTVMFFIUnchanged &&
        tvmffi_i_put_child(&c, &r))
      r = tvmffi_i_raised();
    tvmffi_i_pass_child(&c);
  }
  if (r.type_index != kTVMFFIError)
    return c.made ? tvmffi_obj(c.made) : tvmffi_i_unchanged();
  tvmffi_release(c.made);
  return r;
}

static TVMFFIAny tvmffi_i_mutate_container(void *mutator, TVMFFIAny value) {
  return tvmffi_i_mutate_with((tvmffi_i_visitor *)mutator, &value, 0);
}

static TVMFFIAny tvmffi_i_mutate_in_place(void *mutator, TVMFFIAny value) {
  return tvmffi_i_mutate_with((tvmffi_i_visitor *)mutator, &value, 1);
}

static TVMFFIAny tvmffi_i_mutate_leaf(void *mutator, TVMFFIAny value) {
  (void)mutator, (void)value;
  return tvmffi_i_unchanged();
}

#if defined(__cplusplus)
}
#endif

static const tvmffi_i_visit_table tvmffi_i_visitor_table = {
    tvmffi_i_enter_visitor, NULL, NULL, NULL};
static const tvmffi_i_visit_table tvmffi_i_mutator_table = {
    tvmffi_i_enter_mutator, tvmffi_i_enter_unique, tvmffi_i_remap_get,
    tvmffi_i_remap_set};
#endif
