/* ======== Map fill: many entries at once ============ >>containers/map_fill */
/* Fills a map in a time that no choice of keys makes quadratic. Keys are hashed
   until one of them is in a long bucket chain. Then all are sorted to find
   duplicates, and a new hash table is filled without any comparison.

   Keys whose type has its own hash or equality cannot be sorted. Duplicates
   among these keys are found by hashing them alone, and these functions cannot
   change the map meanwhile. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "equal.h"
#include "map_key.h"
#include "map_lookup.h"
#include "map_memory.h"
#include "map_grow.h"
#include "map.h"

#if !TVMFFI_NO_CONTAINERS
/* If a bucket chain gets longer than this, the keys are sorted. Random keys
   form chains of about ten entries at most. Longer chains come from an attack,
   or from millions of very similar keys. */
enum { TVMFFI_I_MAP_CHAIN_MAX = 128 };

TVMFFI_I_INLINE int tvmffi_i_map_is_sortable(const TVMFFIAny *key) {
  const int32_t index = key->type_index;
  return index <= kTVMFFIBytes || index == kTVMFFIBigInt ||
         (!tvmffi_i_type_attr(&tvmffi_i_equal_column, index) &&
          !tvmffi_i_type_attr(&tvmffi_i_hash_column, index));
}

/* Orders two keys. Returns 0 if they are equal, and otherwise a negative or
   positive number. */
TVMFFI_I_INLINE int tvmffi_i_map_key_order(const TVMFFIAny *a,
                                           const TVMFFIAny *b) {
  const int32_t text_a = tvmffi_i_text_type(a->type_index);
  const int32_t text_b = tvmffi_i_text_type(b->type_index);
  const int32_t type_a = text_a ? text_a : a->type_index;
  const int32_t type_b = text_b ? text_b : b->type_index;
  TVMFFIByteArray x, y;
  if (type_a != type_b) return type_a < type_b ? -1 : 1;
  if (!text_a && type_a != kTVMFFIBigInt)
    return a->v_uint64 < b->v_uint64 ? -1 : a->v_uint64 > b->v_uint64;
  x = tvmffi_i_content_of(a);
  y = tvmffi_i_content_of(b);
  if (x.size != y.size) return x.size < y.size ? -1 : 1;
  return x.size ? memcmp(x.data, y.data, x.size) : 0;
}

/* Tells whether index *a sorts before index *b: by the keys of the two pairs,
   or by index if the keys are equal. `context` is the array of pairs. */
static int tvmffi_i_map_key_less(const void *a, const void *b,
                                 const void *context) {
  const tvmffi_i_pair *pairs = (const tvmffi_i_pair *)context;
  const size_t i = *(const size_t *)a, k = *(const size_t *)b;
  int order = tvmffi_i_map_key_order(&pairs[i].key, &pairs[k].key);
  return order ? order < 0 : i < k;
}

/* Drops the earlier of two pairs with equal keys. First exchanges the keys, so
   that the first key remains, with the last value. */
static void tvmffi_i_map_drop_first(tvmffi_i_pair *pairs, size_t first,
                                    size_t last, char *drops) {
  TVMFFIAny key = pairs[first].key;
  TVMFFI_ASSERT(first < last && !drops[first] && !drops[last]);
  pairs[first].key = pairs[last].key;
  pairs[last].key = key;
  drops[first] = 1;
}

/* Finds duplicates among the keys that can be sorted. */
static void tvmffi_i_map_drop_sorted(tvmffi_i_pair *pairs, size_t total,
                                     size_t *sorted, char *drops) {
  size_t i, n = 0;
  for (i = 0; i < total; ++i)
    if (tvmffi_i_map_is_sortable(&pairs[i].key)) sorted[n++] = i;
  tvmffi_i_sort(sorted, n, sizeof(*sorted), tvmffi_i_map_key_less, pairs);
  TVMFFI_ASSERT(n <= total);
  for (i = 0; i + 1 < n; ++i)
    if (!tvmffi_i_map_key_order(&pairs[sorted[i]].key,
                                &pairs[sorted[i + 1]].key))
      tvmffi_i_map_drop_first(pairs, sorted[i], sorted[i + 1], drops);
}

/* Finds duplicates among the other keys, by a dict of their numbers. */
static int tvmffi_i_map_drop_hashed(tvmffi_i_pair *pairs, size_t total,
                                    char *drops) {
  TVMFFIObject *numbers = NULL;
  size_t i;
  int code = 0;
  for (i = 0; i < total && !code; ++i) {
    const TVMFFIAny number = tvmffi_int((int64_t)i), *found;
    if (tvmffi_i_map_is_sortable(&pairs[i].key)) continue;
    if (!numbers) numbers = tvmffi_i_new_map(kTVMFFIDict, 0);
    found = numbers ? tvmffi_i_map_lookup(numbers, &pairs[i].key)
                    : &tvmffi_i_map_failed;
    if (found == &tvmffi_i_map_failed) {
      code = tvmffi_i_map_code();
      break;
    }
    if (found)
      tvmffi_i_map_drop_first(pairs, (size_t)found->v_int64, i, drops);
    code = tvmffi_i_map_set(numbers, &pairs[i].key, &number);
  }
  tvmffi_i_release(numbers);
  return code;
}

/* Moves duplicates to the end, after the pairs that remain, and sets *left to
   the number of these. Of equal keys, the last pair remains, with the first
   key, as if the pairs had been set one after another. `sorted` is memory for
   one number per pair, `drops` for one byte, which is 0. */
static int tvmffi_i_map_part(tvmffi_i_pair *pairs, size_t total,
                             size_t *sorted, char *drops, size_t *left) {
  size_t i;
  tvmffi_i_map_drop_sorted(pairs, total, sorted, drops);
  TVMFFI_TRY(tvmffi_i_map_drop_hashed(pairs, total, drops));
  *left = 0;
  for (i = 0; i < total; ++i) {
    tvmffi_i_pair pair = pairs[i];
    if (drops[i]) continue;
    pairs[i] = pairs[*left];
    pairs[(*left)++] = pair;
  }
  TVMFFI_ASSERT(*left > 0);
  return 0;
}

/* Builds the slots of a map from pairs, of which it drops duplicates: see
   tvmffi_i_map_part. `row` is the map with `pairs` as its row. */
static int tvmffi_i_map_build(tvmffi_i_map_object *m, tvmffi_i_map_object *row,
                              size_t total, size_t *sorted, char *drops) {
  size_t left;
  TVMFFI_ASSERT(total >= m->size && row->data != m->data);
  TVMFFI_TRY(tvmffi_i_map_part((tvmffi_i_pair *)row->data, total, sorted, drops,
                               &left));
  row->size = left;
  row->num_slots = left | TVMFFI_I_MAP_IS_ROW;
  return tvmffi_i_map_rebuild(m, row, tvmffi_i_map_slots(left), sorted);
}

/* Builds a map that a guard (core/guard.h) marks, because hooks of keys run. */
TVMFFI_I_UNWOUND(tvmffi_i_map_run_build,
                 (tvmffi_i_map_object * m, tvmffi_i_map_object *row,
                  size_t total, size_t *sorted, char *drops),
                 tvmffi_i_map_build(m, row, total, sorted, drops),
                 tvmffi_i_guard_leave_one)

/* Moves n/2 keys, each followed by its value, into a map whose bucket chains
   have become long. Rebuilds the map, and finds duplicates by sorting the keys,
   because a look-up of each key would be slow. On failure nothing has
   changed. */
TVMFFI_I_NOINLINE int tvmffi_i_map_untangle(tvmffi_i_map_object *m,
                                            TVMFFIAny *values, size_t n) {
  const uintptr_t frame = tvmffi_i_stack_address();
  tvmffi_i_map_object row = *m;
  size_t total = (size_t)m->size + n / 2, at = 0, i;
  tvmffi_i_pair *pairs;
  const tvmffi_i_pair *pair;
  size_t *sorted, slot;
  char *drops;
  int code;
  TVMFFI_ASSERT(n % 2 == 0 && m->size > TVMFFI_I_MAP_CHAIN_MAX);
  pairs = (tvmffi_i_pair *)tvmffi_i_alloc(
      total * (sizeof(*pairs) + sizeof(*sorted) + 1));
  if (!pairs) return tvmffi_i_no_memory();
  sorted = (size_t *)(void *)(pairs + total);
  drops = (char *)(sorted + total);
  memset(drops, 0, total);
  TVMFFI_I_EACH_PAIR(&m->base, slot, pair) pairs[at++] = *pair;
  TVMFFI_ASSERT(at == m->size);
  memcpy((void *)(pairs + at), values, n * sizeof(*values));
  row.data = pairs;
  code = tvmffi_i_map_enter(m, frame);
  if (!code) {
    code = tvmffi_i_map_run_build(m, &row, total, sorted, drops);
    tvmffi_i_guard_leave(frame);
  }
  if (!code) {
    TVMFFI_ASSERT(m->size == row.size && row.size <= total);
    for (i = 0; i < n; ++i) values[i] = tvmffi_none();
    for (i = (size_t)row.size; i < total; ++i)
      tvmffi_i_map_drop_pair(&pairs[i]);
  }
  tvmffi_i_free(pairs);
  return code;
}

/* Fast path of tvmffi_i_map_take: moves up to 14 entries, whose keys are
   distinct strings, into an empty map. Fills all home slots first, so no entry
   is evicted later. 14 entries fit in a block of 16 slots, and are few enough
   to compare each key with all others. Returns 1, or 0 with nothing changed in
   any other case. */
static int tvmffi_i_map_take_strings(tvmffi_i_map_object *m, TVMFFIAny *values,
                                     size_t n) {
  size_t moved[14];
  tvmffi_i_map_object row = *m;
  size_t i, k;
  int code = 1;
  row.size = n / 2;
  row.num_slots = row.size | TVMFFI_I_MAP_IS_ROW;
  row.data = values;
  if (m->size || !n || row.size > 14) return 0;
  for (i = 0; i < n; i += 2) {
    if (tvmffi_i_text_type(values[i].type_index) != kTVMFFIStr) return 0;
    for (k = 0; k < i; k += 2)
      if (tvmffi_i_any_equal(&values[i], &values[k])) return 0;
  }
  if (tvmffi_i_map_is_row(m)) {
    if (row.num_slots > m->num_slots) return 0;
    memcpy(m->data, values, n * sizeof(*values));
  } else {
    /* Strings have no hooks, and a bucket chain may go on in any of the next 15
       slots, one of which is free, because the map gets at most 14 entries. */
    if (row.size > m->num_slots - m->num_slots / 8) return 0;
    code = tvmffi_i_map_refill(m, &row, moved);
  }
  TVMFFI_ASSERT(code == 1);
  (void)code;
  m->size = row.size;
  for (i = 0; i < n; ++i) values[i] = tvmffi_none();
  return 1;
}

/* Moves n/2 keys, each followed by its value, into a uniquely referenced map or
   a dict, as if each value was set. A moved key or value becomes None. On
   failure the caller owns the others. */
static int tvmffi_i_map_take(tvmffi_i_map_object *m, TVMFFIAny *values,
                             size_t n) {
  size_t passed;
  size_t i;
  TVMFFI_ASSERT(n % 2 == 0 && (values || !n));
  TVMFFI_ASSERT(!tvmffi_i_map_may_change(m)); /* no hook has an unfilled map */
  if (tvmffi_i_map_take_strings(m, values, n)) return 0;
  for (i = 0; i < n; i += 2) {
    TVMFFI_TRY(tvmffi_i_map_put(m, &values[i], &values[i + 1], 1, &passed));
    values[i] = values[i + 1] = tvmffi_none();
    if (TVMFFI_I_UNLIKELY(passed > TVMFFI_I_MAP_CHAIN_MAX))
      return tvmffi_i_map_untangle(m, values + i + 2, n - i - 2);
  }
  return 0;
}
#endif
