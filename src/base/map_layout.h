/* ======== Map layout ======================================= >>base/map_layout
   the memory of maps and dicts in the ABI */

#pragma once

#include "../head.h"

/* A small map stores the entries in an array of pairs, a larger map in a hash
   table. */
typedef struct {
  TVMFFIObject base;
  void *data;                   /* array of pairs, or hash table's blocks */
  uint64_t size;                /* entries */
  uint64_t num_slots;           /* capacity; highest bit: no hash table */
  void (*data_deleter)(void *); /* NULL if the pairs are in the object */
  uint32_t fib_shift;           /* hash table only, as are head and tail */
  uint64_t head, tail;          /* slots of the oldest and the newest entry */
} tvmffi_i_map_object;

typedef struct {
  TVMFFIAny key, value;
} tvmffi_i_pair;

typedef struct {
  tvmffi_i_pair pair;
  uint64_t prev, next; /* slots of the neighbours in insertion order */
} tvmffi_i_map_item;

enum {
  /* Size in bytes of a block of 16 slots: 16 metadata bytes, then 16 items. */
  TVMFFI_I_MAP_BLOCK = 16 * (1 + sizeof(tvmffi_i_map_item)),
  /* Offset in the object of a small map's pairs. They overlay the members from
     fib_shift on, which only a hash table uses. */
  TVMFFI_I_MAP_ROW = (offsetof(tvmffi_i_map_object, fib_shift) + 7) / 8 * 8,
  /* Size of a map object with a hash table, whose slots may follow in the same
     memory block. */
  TVMFFI_I_MAP_HEAD = (sizeof(tvmffi_i_map_object) + 7) / 8 * 8,
  TVMFFI_I_MAP_ROW_MIN = 2,
  TVMFFI_I_MAP_ROW_MAX = 4,
  TVMFFI_I_MAP_TABLE_MIN = 8,
  /* The metadata byte of a slot. The bit MAP_BODY is 0 in the first slot of a
     bucket chain, and 1 in the others. The bits MAP_JUMP number the distance to
     the chain's next slot (tvmffi_i_map_jump). */
  TVMFFI_I_MAP_BODY = 0x80,
  TVMFFI_I_MAP_JUMP = 0x7F,
  TVMFFI_I_MAP_PROTECTED = 0xFE,
  TVMFFI_I_MAP_EMPTY = 0xFF,
  TVMFFI_I_MAP_FIRST_FAR = 83,
  TVMFFI_I_MAP_NUM_JUMPS = 126
};
#define TVMFFI_I_MAP_IS_ROW ((uint64_t)1 << 63)
/* A slot, and the index of an entry of a small map, is a size_t, or MAP_END for
   none. A link is a slot in the memory of a map, where it has 64 bits on all
   machines. A cast to size_t makes a slot of a link. */
#define TVMFFI_I_MAP_END SIZE_MAX
#define TVMFFI_I_MAP_LINK(slot) ((uint64_t)(int64_t)(ptrdiff_t)(slot))

TVMFFI_STATIC_ASSERT(sizeof(tvmffi_i_map_item) == 48, map_item_size);
TVMFFI_STATIC_ASSERT(sizeof(void *) != 8 ||
                         (offsetof(tvmffi_i_map_object, data_deleter) == 48 &&
                          offsetof(tvmffi_i_map_object, fib_shift) == 56 &&
                          sizeof(tvmffi_i_map_object) == 80),
                     map_object_layout);
TVMFFI_STATIC_ASSERT(sizeof(tvmffi_i_map_object) <=
                         TVMFFI_I_MAP_ROW +
                             TVMFFI_I_MAP_ROW_MIN * sizeof(tvmffi_i_pair),
                     map_row_leaves_room_for_a_table);

TVMFFI_I_INLINE tvmffi_i_map_object *tvmffi_i_map_of(const void *object) {
  return (tvmffi_i_map_object *)(uintptr_t)object;
}

TVMFFI_I_INLINE int tvmffi_i_map_is_row(const tvmffi_i_map_object *m) {
  return (m->num_slots & TVMFFI_I_MAP_IS_ROW) != 0;
}

/* Returns the number of entries that a small map has memory for. */
TVMFFI_I_INLINE size_t tvmffi_i_map_places(const tvmffi_i_map_object *m) {
  return (size_t)(m->num_slots & ~TVMFFI_I_MAP_IS_ROW);
}

TVMFFI_I_INLINE uint8_t *tvmffi_i_map_meta(const void *data, size_t i) {
  return (uint8_t *)data + i / 16 * TVMFFI_I_MAP_BLOCK + i % 16;
}

TVMFFI_I_INLINE tvmffi_i_map_item *tvmffi_i_map_at(const void *data,
                                                   size_t i) {
  char *block = (char *)(uintptr_t)data + i / 16 * TVMFFI_I_MAP_BLOCK;
  return (tvmffi_i_map_item *)(void *)(block + 16) + i % 16;
}

/* Iterates in insertion order: `i` is the index of an entry, `pair` (borrowed)
   points to the entry. If the map changes meanwhile, the loop may skip or
   repeat entries, but `pair` always points to an entry. */
#define TVMFFI_I_EACH_PAIR(map, i, pair)             \
  for ((i) = tvmffi_i_map_begin(map);                \
       ((pair) = tvmffi_i_map_pair(map, i)) != NULL; \
       (i) = tvmffi_i_map_after(map, i))

/* Returns the index of a map's first entry. */
TVMFFI_I_INLINE size_t tvmffi_i_map_begin(const TVMFFIObject *map) {
  const tvmffi_i_map_object *m = tvmffi_i_map_of(map);
  return tvmffi_i_map_is_row(m) ? 0 : (size_t)m->head;
}

TVMFFI_I_INLINE tvmffi_i_pair *tvmffi_i_map_pair(const TVMFFIObject *map,
                                                 size_t i) {
  const tvmffi_i_map_object *m = tvmffi_i_map_of(map);
  if (tvmffi_i_map_is_row(m))
    return i < (size_t)m->size ? (tvmffi_i_pair *)m->data + i : NULL;
  if (i >= (size_t)m->num_slots ||
      *tvmffi_i_map_meta(m->data, i) >= TVMFFI_I_MAP_PROTECTED)
    return NULL;
  return &tvmffi_i_map_at(m->data, i)->pair;
}

TVMFFI_I_INLINE size_t tvmffi_i_map_after(const TVMFFIObject *map, size_t i) {
  const tvmffi_i_map_object *m = tvmffi_i_map_of(map);
  if (tvmffi_i_map_is_row(m)) return i + 1;
  return tvmffi_i_map_pair(map, i) ? (size_t)tvmffi_i_map_at(m->data, i)->next
                                   : TVMFFI_I_MAP_END;
}

TVMFFI_I_INLINE int64_t tvmffi_i_map_size(const TVMFFIObject *map) {
  return (int64_t)tvmffi_i_map_of(map)->size;
}
