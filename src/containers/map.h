/* ======== Maps: changes of maps and dicts =============== >>containers/map */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/map_layout.h"
#include "../platform/libc.h"
#include "../core/any.h"
#include "map_key.h"
#include "map_lookup.h"
#include "map_memory.h"
#include "map_grow.h"

#if !TVMFFI_NO_CONTAINERS
/* An owned value of a view of any kind. What stands in the padding of a number
   is left behind: keys are looked for without it. */
TVMFFI_I_ALWAYS_INLINE int tvmffi_i_own_bits(const TVMFFIAny *view,
                                             tvmffi_i_bits *bits) {
  int32_t index = view->type_index;
  TVMFFIAny owned;
  if (index >= 0 && index < kTVMFFIRawStr) {
    *bits = tvmffi_i_make_bits(index, 0, view->v_uint64);
    return 0;
  }
  *bits = tvmffi_i_load_bits(view);
  if (index == kTVMFFISmallStr && view->small_str_len < sizeof(view->v_bytes))
    return 0;
  if (index >= kTVMFFIStaticObjectBegin && view->v_obj) {
    tvmffi_retain(view->v_obj);
    return 0;
  }
  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(view, &owned));
  *bits = tvmffi_i_load_bits(&owned);
  return 0;
}

TVMFFI_I_INLINE void tvmffi_i_drop_bits(tvmffi_i_bits bits) {
  TVMFFIAny any;
  tvmffi_i_store_bits(&any, bits);
  tvmffi_any_release(&any);
}

/* Takes a place for a key that the map does not hold, and links it. `hash` is
   the key's if the map is a table. */
TVMFFI_I_INLINE int tvmffi_i_map_add(tvmffi_i_map_object *m, uint64_t hash,
                                     tvmffi_i_pair **pair) {
  uint64_t places = m->num_slots & ~TVMFFI_I_MAP_IS_ROW;
  if (!tvmffi_i_map_is_row(m)) return tvmffi_i_map_add_to_table(m, hash, pair);
  if (m->size >= places) TVMFFI_TRY(tvmffi_i_map_grow_row(m));
  *pair = (tvmffi_i_pair *)m->data + m->size++;
  return 0;
}

/* Sets the value of a key that the map holds. */
TVMFFI_I_INLINE void tvmffi_i_map_renew(tvmffi_i_map_object *m,
                                        const tvmffi_i_map_place *place,
                                        tvmffi_i_bits value) {
  tvmffi_i_bits old = tvmffi_i_load_bits(&place->pair->value);
  tvmffi_i_store_bits(&place->pair->value, value);
  if (!tvmffi_i_map_is_row(m) && place->index != m->tail) {
    tvmffi_i_map_item *item = tvmffi_i_map_at(m->data, place->index);
    tvmffi_i_map_unlink(m, item);
    tvmffi_i_map_link(m, item, place->index);
  }
  tvmffi_i_drop_bits(old);
}

TVMFFI_I_NOINLINE int tvmffi_i_map_set_in(tvmffi_i_map_object *m,
                                          const TVMFFIAny *key,
                                          const TVMFFIAny *value) {
  tvmffi_i_map_key k;
  tvmffi_i_map_place place = {NULL, 0, TVMFFI_I_MAP_END, 0};
  tvmffi_i_bits key_bits, value_bits;
  tvmffi_i_pair *pair;
  uint64_t hash = 0;
  int code;
  TVMFFI_TRY(tvmffi_i_map_may_change(m));
  TVMFFI_TRY(tvmffi_i_map_read_key(key, &k));
  /* Upstream makes a table of a full row before it looks for the key. */
  if (tvmffi_i_map_is_row(m) && m->size == TVMFFI_I_MAP_ROW_MAX)
    TVMFFI_TRY(tvmffi_i_map_grow_table(m));
  if (tvmffi_i_map_is_row(m)) {
    code = tvmffi_i_map_find_in_row(m, &k, &place);
  } else { /* hashed once, for the search and for the insertion */
    TVMFFI_TRY(tvmffi_i_map_hash(m, &k, &hash));
    code = m->size ? tvmffi_i_map_find_in_table(m, &k, hash, &place) : 0;
  }
  if (code < 0) return code;
  TVMFFI_TRY(tvmffi_i_own_bits(value, &value_bits));
  if (code) {
    tvmffi_i_map_renew(m, &place, value_bits);
    return 0;
  }
  code = tvmffi_i_own_bits(key, &key_bits);
  if (!code) {
    code = tvmffi_i_map_add(m, hash, &pair);
    if (TVMFFI_I_LIKELY(!code)) {
      tvmffi_i_store_bits(&pair->key, key_bits);
      tvmffi_i_store_bits(&pair->value, value_bits);
      return 0;
    }
    tvmffi_i_drop_bits(key_bits);
  }
  tvmffi_i_drop_bits(value_bits);
  return code;
}

/* Makes *map one that may be changed: a Map that others hold, too, is replaced
   by a copy. On failure *map is as it was. */
static int tvmffi_i_map_own(TVMFFIObject **map) {
  TVMFFIObject *copy;
  if ((*map)->type_index == kTVMFFIDict ||
      (uint32_t)tvmffi_i_load64(&(*map)->combined_ref_count) == 1)
    return 0;
  copy = tvmffi_i_map_copy(*map, (*map)->type_index);
  if (!copy) return -1;
  tvmffi_release(*map);
  *map = copy;
  return 0;
}

/* Sets the value of a key; both are views of any kind and borrowed. *map is
   owned by the caller, and another object afterwards if it is a Map that others
   hold, too. A key that the map has keeps its place in a map of up to three
   entries, and becomes the last in a larger one, as upstream's does. Returns 0,
   or a code with the error set and the map as it was. */
static int tvmffi_i_map_set(TVMFFIObject **map, const TVMFFIAny *key,
                            const TVMFFIAny *value) {
  TVMFFI_TRY(tvmffi_i_map_own(map));
  return tvmffi_i_map_set_in((tvmffi_i_map_object *)(void *)*map, key, value);
}

/* Finds the value of a key, a view of any kind. Borrowed; NULL if the map has
   no such key, or, with the error set, if the key's type failed. */
TVMFFI_I_UNUSED static const TVMFFIAny *tvmffi_i_map_get(TVMFFIObject *map,
                                                         const TVMFFIAny *key) {
  const TVMFFIAny *value = tvmffi_i_map_lookup(map, key);
  return value == &tvmffi_i_map_failed ? NULL : value;
}

/* Takes an entry out of a table; the last of its chain comes in its place. */
static void tvmffi_i_map_take_out(tvmffi_i_map_object *m,
                                  const tvmffi_i_map_place *place) {
  uint64_t i = place->index, before = place->before, last = i;
  uint8_t meta;
  tvmffi_i_map_unlink(m, tvmffi_i_map_at(m->data, i));
  while ((meta = *tvmffi_i_map_meta(m->data, last)) & TVMFFI_I_MAP_JUMP) {
    before = last;
    last = tvmffi_i_map_next(m, last, meta);
  }
  if (last != i) tvmffi_i_map_move_item(m, last, i);
  *tvmffi_i_map_meta(m->data, last) = TVMFFI_I_MAP_EMPTY;
  if (before != TVMFFI_I_MAP_END) tvmffi_i_map_set_jump(m, before, 0);
  --m->size;
}

static int tvmffi_i_map_erase_in(tvmffi_i_map_object *m, const TVMFFIAny *key) {
  tvmffi_i_map_key k;
  tvmffi_i_map_place place = {NULL, 0, TVMFFI_I_MAP_END, 0};
  tvmffi_i_pair pair;
  int code;
  TVMFFI_TRY(tvmffi_i_map_may_change(m));
  TVMFFI_TRY(tvmffi_i_map_read_key(key, &k));
  code = tvmffi_i_map_find(m, &k, &place);
  if (code <= 0) return code;
  pair = *place.pair;
  if (tvmffi_i_map_is_row(m)) {
    --m->size;
    memmove((void *)place.pair, place.pair + 1,
            (size_t)(m->size - place.index) * sizeof(pair));
  } else {
    tvmffi_i_map_take_out(m, &place);
  }
  tvmffi_i_map_drop_pair(&pair);
  return 0;
}

/* Removes a key, if it is there; `key` and *map as for tvmffi_i_map_set. */
TVMFFI_I_UNUSED static int tvmffi_i_map_erase(TVMFFIObject **map,
                                              const TVMFFIAny *key) {
  TVMFFI_TRY(tvmffi_i_map_own(map));
  return tvmffi_i_map_erase_in((tvmffi_i_map_object *)(void *)*map, key);
}

/* Removes all entries. A table is taken off meanwhile, as deleters may use the
   Dict, and put back if they have not. */
static int tvmffi_i_map_clear_in(tvmffi_i_map_object *m) {
  tvmffi_i_map_object table = *m;
  TVMFFI_TRY(tvmffi_i_map_may_change(m));
  while (tvmffi_i_map_is_row(m) && m->size) {
    tvmffi_i_pair *row = (tvmffi_i_pair *)m->data, pair = row[0];
    --m->size;
    memmove((void *)row, row + 1, (size_t)m->size * sizeof(pair));
    tvmffi_i_map_drop_pair(&pair);
  }
  if (tvmffi_i_map_is_row(&table) || !table.num_slots) return 0;
  m->data = NULL;
  m->data_deleter = NULL;
  m->size = 0;
  m->num_slots = TVMFFI_I_MAP_IS_ROW;
  tvmffi_i_map_drop_table(table.data, table.num_slots);
  if (m->num_slots != TVMFFI_I_MAP_IS_ROW) {
    if (table.data_deleter) table.data_deleter(table.data);
    return 0;
  }
  m->data = table.data;
  m->data_deleter = table.data_deleter;
  m->num_slots = table.num_slots;
  m->fib_shift = table.fib_shift;
  m->head = m->tail = TVMFFI_I_MAP_END;
  return 0;
}
#endif
