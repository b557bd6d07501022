/* ======== Map memory ================================ >>containers/map_memory
   the memory of maps and dicts */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"

#if !TVMFFI_NO_CONTAINERS
TVMFFI_I_INLINE void tvmffi_i_map_drop_pair(const tvmffi_i_pair *pair) {
  if (pair->key.type_index >= kTVMFFIStaticObjectBegin)
    tvmffi_i_release(pair->key.v_obj);
  if (pair->value.type_index >= kTVMFFIStaticObjectBegin)
    tvmffi_i_release(pair->value.v_obj);
}

/* Releases the entries of a hash table that is no longer part of a map. */
static void tvmffi_i_map_drop_table(void *data, size_t num_slots) {
  size_t first, i;
  TVMFFI_ASSERT(data || !num_slots);
  for (first = 0; first < num_slots; first += 16) {
    uint8_t *meta = tvmffi_i_map_meta(data, first);
    const tvmffi_i_map_item *items = tvmffi_i_map_at(data, first);
    for (i = 0; i < 16; ++i)
      if (meta[i] < TVMFFI_I_MAP_PROTECTED)
        tvmffi_i_map_drop_pair(&items[i].pair);
    memset(meta, TVMFFI_I_MAP_EMPTY, 16);
  }
}

/* Returns the size of a hash table in bytes. A table of 8 slots has metadata
   for 16 slots, but memory for only 8 items. The other metadata stays empty. */
TVMFFI_I_INLINE size_t tvmffi_i_map_table_bytes(size_t num_slots) {
  TVMFFI_ASSERT(num_slots && !(num_slots & (num_slots - 1)));
  return num_slots < 16 ? 16 + num_slots * sizeof(tvmffi_i_map_item)
                        : num_slots / 16 * TVMFFI_I_MAP_BLOCK;
}

/* Frees a map object. tvmffi_i_pool_free needs the object's size, which is
   known only if the object contains the entries. */
TVMFFI_I_INLINE void tvmffi_i_map_free(tvmffi_i_map_object *m) {
  const char *self = (const char *)m;
  TVMFFI_ASSERT(!m->size && !m->data_deleter);
  if (tvmffi_i_map_is_row(m) && m->data == self + TVMFFI_I_MAP_ROW)
    tvmffi_i_pool_free(
        m, TVMFFI_I_MAP_ROW + tvmffi_i_map_places(m) * sizeof(tvmffi_i_pair));
  else if (m->num_slots <= 16 && m->data == self + TVMFFI_I_MAP_HEAD)
    tvmffi_i_pool_free(
        m, TVMFFI_I_MAP_HEAD + tvmffi_i_map_table_bytes((size_t)m->num_slots));
  else
    tvmffi_i_free(m);
}

/* Frees a map's storage, unless the object contains it. */
TVMFFI_I_INLINE void tvmffi_i_map_free_data(const tvmffi_i_map_object *m) {
  if (m->data_deleter) m->data_deleter(m->data);
}

TVMFFI_I_INLINE void tvmffi_i_destroy_map(void *self, int flags) {
  tvmffi_i_map_object *m = (tvmffi_i_map_object *)self;
  size_t i;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    TVMFFI_ASSERT(m->size <= (m->num_slots & ~TVMFFI_I_MAP_IS_ROW));
    if (!tvmffi_i_map_is_row(m))
      tvmffi_i_map_drop_table(m->data, (size_t)m->num_slots);
    else
      for (i = 0; i < (size_t)m->size; ++i)
        tvmffi_i_map_drop_pair((tvmffi_i_pair *)m->data + i);
    tvmffi_i_map_free_data(m);
    m->data_deleter = NULL;
    m->size = 0;
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmffi_i_map_free(m);
}
TVMFFI_I_DELETER(map)

/* Returns an empty map whose object contains memory for `places` entries, or
   NULL with the error set. */
static tvmffi_i_map_object *tvmffi_i_map_new_row(int32_t type_index,
                                                 size_t places) {
  tvmffi_i_map_object *m;
  TVMFFI_ASSERT(places <= TVMFFI_I_MAP_ROW_MAX);
  if (places < TVMFFI_I_MAP_ROW_MIN) places = TVMFFI_I_MAP_ROW_MIN;
  m = (tvmffi_i_map_object *)tvmffi_i_object(
      TVMFFI_I_MAP_ROW + places * sizeof(tvmffi_i_pair), type_index,
      tvmffi_i_delete_map);
  if (!m) return m;
  m->data = (char *)m + TVMFFI_I_MAP_ROW;
  m->size = 0;
  m->num_slots = places | TVMFFI_I_MAP_IS_ROW;
  m->data_deleter = NULL;
  return m;
}

/* Returns a hash table of empty slots, or NULL with the error set. */
static void *tvmffi_i_map_new_table(size_t num_slots) {
  char *data = NULL;
  size_t i;
  TVMFFI_ASSERT(num_slots >= TVMFFI_I_MAP_TABLE_MIN);
  if (num_slots / 16 <= PTRDIFF_MAX / TVMFFI_I_MAP_BLOCK)
    data = (char *)tvmffi_i_alloc(tvmffi_i_map_table_bytes(num_slots));
  if (!data) {
    (void)tvmffi_i_no_memory();
    return data;
  }
  for (i = 0; i < num_slots; i += 16)
    memset(tvmffi_i_map_meta(data, i), TVMFFI_I_MAP_EMPTY, 16);
  return data;
}

static uint32_t tvmffi_i_map_shift(size_t num_slots) {
  uint32_t shift = 64;
  TVMFFI_ASSERT(num_slots > 1 && !(num_slots & (num_slots - 1)));
  for (; num_slots > 1; num_slots >>= 1) --shift;
  return shift;
}

/* Returns the number of slots of a hash table for `entries` entries. The
   entries fill at most 7/8 of the slots. */
static size_t tvmffi_i_map_slots(size_t entries) {
  size_t num_slots = TVMFFI_I_MAP_TABLE_MIN;
  TVMFFI_ASSERT(entries <= SIZE_MAX / 4); /* otherwise the loop would not end */
  while (num_slots - num_slots / 8 < entries) num_slots *= 2;
  return num_slots;
}

/* The deleter of a hash table inside its map object frees nothing. Upstream
   calls a table's deleter without a check for NULL. */
static void tvmffi_i_map_free_nothing(void *data) { (void)data; }

/* Returns a map (owned) with an empty hash table, or NULL with the error set. A
   table of up to 16 slots is inside the object, a larger one in its own
   block. */
static tvmffi_i_map_object *tvmffi_i_map_new_dense(int32_t type_index,
                                                   size_t num_slots) {
  int within = num_slots <= 16;
  void *data = within ? NULL : tvmffi_i_map_new_table(num_slots);
  tvmffi_i_map_object *m;
  if (!within && !data) return NULL;
  m = (tvmffi_i_map_object *)tvmffi_i_object(
      TVMFFI_I_MAP_HEAD + (within ? tvmffi_i_map_table_bytes(num_slots) : 0),
      type_index, tvmffi_i_delete_map);
  if (!m) {
    tvmffi_i_free(data);
    return m;
  }
  if (within) {
    data = (char *)m + TVMFFI_I_MAP_HEAD;
    memset(data, TVMFFI_I_MAP_EMPTY, 16);
  }
  m->data = data;
  m->size = 0;
  m->num_slots = num_slots;
  m->data_deleter = within ? tvmffi_i_map_free_nothing : tvmffi_i_free;
  m->fib_shift = tvmffi_i_map_shift(num_slots);
  m->head = m->tail = TVMFFI_I_MAP_LINK(TVMFFI_I_MAP_END);
  return m;
}

/* Returns an empty map or dict (owned) for `capacity` entries, or NULL with the
   error set. */
static TVMFFIObject *tvmffi_i_new_map(int32_t type_index, size_t capacity) {
  tvmffi_i_map_object *m =
      capacity > TVMFFI_I_MAP_ROW_MAX
          ? tvmffi_i_map_new_dense(type_index, tvmffi_i_map_slots(capacity))
          : tvmffi_i_map_new_row(type_index, capacity);
  return m ? &m->base : NULL;
}

/* Returns a shallow copy (owned) of a map or dict as an object of type
   `type_index`, or NULL with the error set. */
static TVMFFIObject *tvmffi_i_map_copy(const TVMFFIObject *map,
                                       int32_t type_index) {
  const tvmffi_i_map_object *from = tvmffi_i_map_of(map);
  const size_t size = (size_t)from->size, num_slots = (size_t)from->num_slots;
  int row = tvmffi_i_map_is_row(from) || !num_slots;
  tvmffi_i_map_object *m = row ? tvmffi_i_map_new_row(type_index, size)
                               : tvmffi_i_map_new_dense(type_index, num_slots);
  size_t i;
  TVMFFI_ASSERT(from->size <= (from->num_slots & ~TVMFFI_I_MAP_IS_ROW));
  if (!m) return NULL;
  if (!row) {
    memcpy(m->data, from->data, tvmffi_i_map_table_bytes(num_slots));
    m->head = from->head;
    m->tail = from->tail;
  } else if (size) {
    memcpy(m->data, from->data, size * sizeof(tvmffi_i_pair));
  }
  m->size = size;
  for (i = 0; i < (row ? size : num_slots); ++i) {
    tvmffi_i_pair *pair = tvmffi_i_map_pair(&m->base, i);
    if (!pair) continue;
    tvmffi_i_any_retain(&pair->key);
    tvmffi_i_any_retain(&pair->value);
  }
  return &m->base;
}
#endif
