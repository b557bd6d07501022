/* ======== Map lookup: searches in maps =========== >>containers/map_lookup */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "equal.h"
#include "map_key.h"

#if !TVMFFI_NO_CONTAINERS
/* The position of a key. `index` is the slot in a hash table, or the index in a
   small map's array. `before` is the previous slot of the bucket chain, or
   TVMFFI_I_MAP_END. */
typedef struct {
  tvmffi_i_pair *pair;
  size_t index, before;
  size_t passed; /* number of unequal keys compared before */
} tvmffi_i_map_position;

TVMFFI_I_ALWAYS_INLINE int tvmffi_i_map_find_in_row(
    const tvmffi_i_map_object *m, const tvmffi_i_map_key *key,
    tvmffi_i_map_position *place) {
  tvmffi_i_pair *pair = (tvmffi_i_pair *)m->data;
  size_t i, n = (size_t)m->size;
  int code;
  TVMFFI_ASSERT(tvmffi_i_map_is_row(m));
  TVMFFI_ASSERT(n <= (m->num_slots & ~TVMFFI_I_MAP_IS_ROW));
  for (i = 0; i < n; ++i, ++pair) {
    code = tvmffi_i_map_equal(m, key, &pair->key, 1);
    if (!code) continue;
    place->pair = pair;
    place->index = i;
    return code;
  }
  return 0;
}

TVMFFI_I_ALWAYS_INLINE int tvmffi_i_map_find_in_table(
    const tvmffi_i_map_object *m, const tvmffi_i_map_key *key, uint64_t hash,
    tvmffi_i_map_position *place) {
  size_t i = tvmffi_i_map_home(m, hash), before = TVMFFI_I_MAP_END, next;
  uint8_t meta = *tvmffi_i_map_meta(m->data, i);
  tvmffi_i_map_item *item;
  int code;
  TVMFFI_ASSERT(m->size > 0 && m->size <= m->num_slots);
  if (meta & TVMFFI_I_MAP_BODY) return 0;
  for (;;) {
    item = tvmffi_i_map_at(m->data, i);
    next = tvmffi_i_map_next(m, i, meta);
    TVMFFI_I_PREFETCH(tvmffi_i_map_at(m->data, next));
    code = tvmffi_i_map_equal(m, key, &item->pair.key, 0);
    if (code) {
      place->pair = &item->pair;
      place->index = i;
      place->before = before;
      return code;
    }
    ++place->passed;
    if (!(meta & TVMFFI_I_MAP_JUMP)) return 0;
    before = i;
    i = next;
    meta = *tvmffi_i_map_meta(m->data, i);
    TVMFFI_ASSERT(meta & TVMFFI_I_MAP_BODY && meta < TVMFFI_I_MAP_PROTECTED);
    TVMFFI_ASSERT(place->passed < m->size);
  }
}

/* Looks up a key. Returns 1 if found, 0 if absent, or an error code. */
TVMFFI_I_ALWAYS_INLINE int tvmffi_i_map_find(const tvmffi_i_map_object *m,
                                             const tvmffi_i_map_key *key,
                                             tvmffi_i_map_position *place) {
  uint64_t hash;
  if (tvmffi_i_map_is_row(m)) return tvmffi_i_map_find_in_row(m, key, place);
  if (!m->size) return 0;
  TVMFFI_TRY(tvmffi_i_map_hash(m, key, &hash));
  return tvmffi_i_map_find_in_table(m, key, hash, place);
}

/* A failed lookup returns &tvmffi_i_map_failed; NULL means an absent key. */
static const TVMFFIAny tvmffi_i_map_failed = {kTVMFFINone, {0}, {0}};

/* Returns the code of the lookup that has just returned &tvmffi_i_map_failed:
   -2 if another language holds the error, else -1. */
TVMFFI_I_SLOW int tvmffi_i_map_code(void) {
  return tvmffi_i_thread_error()->object ? -1 : -2;
}

/* Returns the value of a key (borrowed), NULL if the key is absent, or
   &tvmffi_i_map_failed with the error set. `key` may be any view. */
TVMFFI_I_NOINLINE const TVMFFIAny *tvmffi_i_map_lookup_any(
    TVMFFIObject *map, const TVMFFIAny *key) {
  tvmffi_i_map_key k;
  tvmffi_i_map_position place = {NULL, 0, TVMFFI_I_MAP_END, 0};
  int code = tvmffi_i_map_read_key(key, &k);
  if (!code)
    code = tvmffi_i_map_find(tvmffi_i_map_of(map), &k, &place);
  TVMFFI_ASSERT(tvmffi_is_instance(map->type_index, kTVMFFIMap) ||
                tvmffi_is_instance(map->type_index, kTVMFFIDict));
  if (TVMFFI_I_UNLIKELY(code < 0)) return &tvmffi_i_map_failed;
  return code ? &place.pair->value : NULL;
}

/* Looks up a key in a hash table by comparing bits. `other` is 0 or a type
   index. A short string object of type `other` may equal the key despite
   different bits, so tvmffi_i_map_lookup_any compares it. */
TVMFFI_I_ALWAYS_INLINE const TVMFFIAny *tvmffi_i_map_lookup_bits(
    TVMFFIObject *map, const TVMFFIAny *key, tvmffi_i_bits bits, int32_t other,
    uint64_t hash) {
  const tvmffi_i_map_object *m = tvmffi_i_map_of(map);
  size_t i = tvmffi_i_map_home(m, hash);
  uint64_t head;
  const uint8_t *meta = tvmffi_i_map_meta(m->data, i);
  const tvmffi_i_map_item *item = tvmffi_i_map_at(m->data, i);
  TVMFFI_ASSERT(bits.head == tvmffi_i_load_bits(key).head);
  if (*meta & TVMFFI_I_MAP_BODY) return NULL;
  for (;;) {
    const tvmffi_i_pair *pair = &item->pair;
    uint8_t jump = *meta & TVMFFI_I_MAP_JUMP;
    i = tvmffi_i_map_next(m, i, jump);
    item = tvmffi_i_map_at(m->data, i);
    TVMFFI_I_PREFETCH(item);
    memcpy(&head, (const void *)&pair->key, 8);
    if (head == bits.head && pair->key.v_uint64 == bits.word)
      return &pair->value;
    if (other && TVMFFI_I_UNLIKELY(pair->key.type_index == other) &&
        ((const tvmffi_i_string *)pair->key.v_ptr)->bytes.size < 8)
      return tvmffi_i_map_lookup_any(map, key);
    if (!jump) return NULL;
    meta = tvmffi_i_map_meta(m->data, i);
    TVMFFI_ASSERT(*meta & TVMFFI_I_MAP_BODY && *meta < TVMFFI_I_MAP_PROTECTED);
  }
}

TVMFFI_I_NOINLINE const TVMFFIAny *tvmffi_i_map_lookup_number(
    TVMFFIObject *map, const TVMFFIAny *key) {
  int32_t index = key->type_index;
  uint64_t word = key->v_uint64;
  return tvmffi_i_map_lookup_bits(
      map, key, tvmffi_i_make_bits(index, 0, word), 0,
      tvmffi_i_hash_combine((uint64_t)(int64_t)index, word));
}

TVMFFI_I_NOINLINE const TVMFFIAny *tvmffi_i_map_lookup_short(
    TVMFFIObject *map, const TVMFFIAny *key) {
  TVMFFIAny text = *key;
  uint64_t hash;
  TVMFFI_ASSERT(text.type_index == kTVMFFISmallStr);
  text.type_index = kTVMFFISmallStr; /* tells the compiler */
  (void)tvmffi_i_any_hash(&text, &hash); /* can fail only for an object */
  return tvmffi_i_map_lookup_bits(map, key, tvmffi_i_load_bits(key), kTVMFFIStr,
                                  hash);
}

/* Looks up a key as tvmffi_i_map_lookup_any does, with fast paths for numbers
   and small strings in a hash table. */
TVMFFI_I_NOINLINE const TVMFFIAny *tvmffi_i_map_lookup(TVMFFIObject *map,
                                                       const TVMFFIAny *key) {
  uint64_t num_slots = tvmffi_i_map_of(map)->num_slots;
  if (num_slots && num_slots < TVMFFI_I_MAP_IS_ROW) {
    if (key->type_index < kTVMFFIRawStr)
      return tvmffi_i_map_lookup_number(map, key);
    if (key->type_index == kTVMFFISmallStr)
      return tvmffi_i_map_lookup_short(map, key);
  }
  return tvmffi_i_map_lookup_any(map, key);
}
#endif
