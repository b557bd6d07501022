/* ======== Maps: changes of maps and dicts =============== >>containers/map */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "map_key.h"
#include "map_lookup.h"
#include "map_memory.h"
#include "map_grow.h"

#if !TVMFFI_NO_CONTAINERS
TVMFFI_I_INLINE void tvmffi_i_drop_bits(tvmffi_i_bits bits) {
  TVMFFIAny any;
  tvmffi_i_store_bits(&any, bits);
  tvmffi_i_any_release(&any);
}

/* Adds an entry for a new key. Sets *pair to the entry, which the caller fills.
   Only a hash table needs `hash`. */
TVMFFI_I_INLINE int tvmffi_i_map_add(tvmffi_i_map_object *m, uint64_t hash,
                                     tvmffi_i_pair **pair) {
  if (!tvmffi_i_map_is_row(m)) return tvmffi_i_map_add_to_table(m, hash, pair);
  TVMFFI_ASSERT(m->size < TVMFFI_I_MAP_ROW_MAX);
  if (m->size >= tvmffi_i_map_places(m)) TVMFFI_TRY(tvmffi_i_map_grow_row(m));
  *pair = (tvmffi_i_pair *)m->data + m->size++;
  return 0;
}

/* Replaces the value of an existing key. */
TVMFFI_I_INLINE void tvmffi_i_map_renew(tvmffi_i_map_object *m,
                                        const tvmffi_i_map_position *place,
                                        tvmffi_i_bits value) {
  tvmffi_i_bits old = tvmffi_i_load_bits(&place->pair->value);
  TVMFFI_ASSERT(place->pair == tvmffi_i_map_pair(&m->base, place->index));
  tvmffi_i_store_bits(&place->pair->value, value);
  if (!tvmffi_i_map_is_row(m) && place->index != (size_t)m->tail) {
    tvmffi_i_map_item *item = tvmffi_i_map_at(m->data, place->index);
    tvmffi_i_map_unlink(m, item);
    tvmffi_i_map_link(m, item, place->index);
  }
  tvmffi_i_drop_bits(old);
}

/* Sets the value of a key. If `moves`, takes ownership of both unless it fails;
   the padding of a number must then be 0, because look-ups compare all bits.
   Otherwise both are borrowed views. Sets *passed to the number of other keys
   before it in its bucket chain. */
TVMFFI_I_ALWAYS_INLINE int tvmffi_i_map_put(tvmffi_i_map_object *m,
                                            const TVMFFIAny *key,
                                            const TVMFFIAny *value, int moves,
                                            size_t *passed) {
  tvmffi_i_map_key k;
  tvmffi_i_map_position place = {NULL, 0, TVMFFI_I_MAP_END, 0};
  tvmffi_i_bits key_bits, value_bits;
  tvmffi_i_pair *pair;
  uint64_t hash = 0;
  int code;
  TVMFFI_ASSERT(
      m->base.type_index == kTVMFFIDict ||
      (uint32_t)tvmffi_i_load64(&m->base.combined_ref_count) == 1);
  TVMFFI_TRY(tvmffi_i_map_may_change(m));
  TVMFFI_TRY(tvmffi_i_map_read_key(key, &k));
  /* A map of four entries gets a hash table even if the key already exists:
     there the key moves to the end, as in upstream. */
  if (tvmffi_i_map_is_row(m) && m->size == TVMFFI_I_MAP_ROW_MAX)
    TVMFFI_TRY(tvmffi_i_map_grow_table(m));
  if (tvmffi_i_map_is_row(m)) {
    code = tvmffi_i_map_find_in_row(m, &k, &place);
  } else {
    TVMFFI_TRY(tvmffi_i_map_hash(m, &k, &hash));
    code = m->size ? tvmffi_i_map_find_in_table(m, &k, hash, &place) : 0;
  }
  if (code < 0) return code;
  *passed = place.passed;
  if (moves)
    value_bits = tvmffi_i_load_bits(value);
  else
    TVMFFI_TRY(tvmffi_i_own_bits(value, &value_bits));
  if (code) {
    tvmffi_i_map_renew(m, &place, value_bits);
    if (moves) tvmffi_i_drop_bits(tvmffi_i_load_bits(key));
    return 0;
  }
  if (moves)
    key_bits = tvmffi_i_load_bits(key);
  else
    code = tvmffi_i_own_bits(key, &key_bits);
  if (!code) {
    code = tvmffi_i_map_add(m, hash, &pair);
    if (TVMFFI_I_LIKELY(!code)) {
      tvmffi_i_store_bits(&pair->key, key_bits);
      tvmffi_i_store_bits(&pair->value, value_bits);
      return 0;
    }
    if (!moves) tvmffi_i_drop_bits(key_bits);
  }
  if (!moves) tvmffi_i_drop_bits(value_bits);
  return code;
}

TVMFFI_I_NOINLINE int tvmffi_i_map_set_in(tvmffi_i_map_object *m,
                                          const TVMFFIAny *key,
                                          const TVMFFIAny *value) {
  size_t passed;
  return tvmffi_i_map_put(m, key, value, 0, &passed);
}

/* Sets the value of a key in a Dict, or in a Map that is uniquely referenced.
   `key` and `value` are borrowed views. As in upstream, an existing key keeps
   its position in a map of up to three entries, but moves to the end of a
   larger map. Returns 0, or an error code with the map unchanged. */
static int tvmffi_i_map_set(TVMFFIObject *map, const TVMFFIAny *key,
                            const TVMFFIAny *value) {
  return tvmffi_i_map_set_in(tvmffi_i_map_of(map), key, value);
}

/* Returns the value of a key (borrowed), or NULL if the key is absent. Also
   returns NULL, with the error set, if the key type's own hash or equality
   fails. */
TVMFFI_I_UNUSED static const TVMFFIAny *tvmffi_i_map_get(TVMFFIObject *map,
                                                         const TVMFFIAny *key) {
  const TVMFFIAny *value = tvmffi_i_map_lookup(map, key);
  return value == &tvmffi_i_map_failed ? NULL : value;
}

/* Removes an entry from a hash table. Moves the last entry of the bucket chain
   to the freed slot. */
static void tvmffi_i_map_remove(tvmffi_i_map_object *m,
                                const tvmffi_i_map_position *place) {
  size_t i = place->index, before = place->before, last = i;
  uint8_t meta;
  TVMFFI_ASSERT(place->pair == tvmffi_i_map_pair(&m->base, i));
  tvmffi_i_map_unlink(m, tvmffi_i_map_at(m->data, i));
  while ((meta = *tvmffi_i_map_meta(m->data, last)) & TVMFFI_I_MAP_JUMP) {
    before = last;
    last = tvmffi_i_map_next(m, last, meta);
  }
  TVMFFI_ASSERT(m->size > 0 && last != before);
  if (last != i) tvmffi_i_map_move_item(m, last, i);
  *tvmffi_i_map_meta(m->data, last) = TVMFFI_I_MAP_EMPTY;
  if (before != TVMFFI_I_MAP_END) tvmffi_i_map_set_jump(m, before, 0);
  --m->size;
}

static int tvmffi_i_map_erase_in(tvmffi_i_map_object *m, const TVMFFIAny *key) {
  tvmffi_i_map_key k;
  tvmffi_i_map_position place = {NULL, 0, TVMFFI_I_MAP_END, 0};
  tvmffi_i_pair pair;
  int code;
  TVMFFI_TRY(tvmffi_i_map_may_change(m));
  TVMFFI_TRY(tvmffi_i_map_read_key(key, &k));
  code = tvmffi_i_map_find(m, &k, &place);
  if (code <= 0) return code;
  TVMFFI_ASSERT(place.pair);
  pair = *place.pair;
  if (tvmffi_i_map_is_row(m)) {
    TVMFFI_ASSERT(place.index < m->size);
    --m->size;
    memmove((void *)place.pair, place.pair + 1,
            ((size_t)m->size - place.index) * sizeof(pair));
  } else {
    tvmffi_i_map_remove(m, &place);
  }
  tvmffi_i_map_drop_pair(&pair);
  return 0;
}

/* Removes a key, if present, from a Dict, or from a Map that is uniquely
   referenced. `key` is a borrowed view. */
TVMFFI_I_UNUSED static int tvmffi_i_map_erase(TVMFFIObject *map,
                                              const TVMFFIAny *key) {
  return tvmffi_i_map_erase_in(tvmffi_i_map_of(map), key);
}

/* Removes all entries. A Dict has no table while entries are released, because
   their deleters may use the Dict. Then the Dict gets the empty table back,
   unless a deleter has added entries. */
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
  TVMFFI_ASSERT(!tvmffi_i_map_is_row(m) && m->size == table.size);
  m->data = NULL;
  m->data_deleter = NULL;
  m->size = 0;
  m->num_slots = TVMFFI_I_MAP_IS_ROW;
  tvmffi_i_map_drop_table(table.data, (size_t)table.num_slots);
  if (m->num_slots != TVMFFI_I_MAP_IS_ROW) {
    tvmffi_i_map_free_data(&table);
    return 0;
  }
  TVMFFI_ASSERT(!m->size && !m->data && m->fib_shift == table.fib_shift);
  m->data = table.data;
  m->data_deleter = table.data_deleter;
  m->num_slots = table.num_slots;
  m->head = m->tail = TVMFFI_I_MAP_LINK(TVMFFI_I_MAP_END);
  return 0;
}
#endif
