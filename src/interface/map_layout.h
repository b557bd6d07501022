/* ======== Map layout ================================= >>interface/map_layout
   the memory of maps and dicts in the ABI */

#pragma once

#include "../head/compiler.h"
#include "../head/abi.h"

typedef struct {
  TVMFFIObject base;
  void *data;                   /* a row of pairs, or blocks of slots */
  uint64_t size;                /* entries */
  uint64_t num_slots;           /* places; the highest bit tells a row */
  void (*data_deleter)(void *); /* NULL: the row is part of the object */
  uint32_t fib_shift;           /* from here on: of a table only */
  uint64_t head, tail;          /* slots: the oldest entry and the newest */
} tvmffi_i_map_object;

typedef struct {
  TVMFFIAny key, value;
} tvmffi_i_pair;

typedef struct {
  tvmffi_i_pair pair;
  uint64_t prev, next; /* slots in order of insertion */
} tvmffi_i_map_item;

/* Sixteen slots: first a byte for each, then the items. */
enum {
  TVMFFI_I_MAP_BLOCK = 16 * (1 + sizeof(tvmffi_i_map_item)),
  /* A row stands where the fields of a table would begin. */
  TVMFFI_I_MAP_ROW = (offsetof(tvmffi_i_map_object, fib_shift) + 7) / 8 * 8,
  /* The head of a map with a table, which may follow it. */
  TVMFFI_I_MAP_HEAD = (sizeof(tvmffi_i_map_object) + 7) / 8 * 8,
  TVMFFI_I_MAP_ROW_MIN = 2,
  TVMFFI_I_MAP_ROW_MAX = 4,
  TVMFFI_I_MAP_TABLE_MIN = 8,
  /* The byte of a slot: whether it goes on a chain (or begins one), and how
     far the next of the chain is, as an index into tvmffi_i_map_jumps. */
  TVMFFI_I_MAP_BODY = 0x80,
  TVMFFI_I_MAP_JUMP = 0x7F,
  TVMFFI_I_MAP_PROTECTED = 0xFE,
  TVMFFI_I_MAP_EMPTY = 0xFF,
  TVMFFI_I_MAP_NUM_JUMPS = 126
};
#define TVMFFI_I_MAP_IS_ROW ((uint64_t)1 << 63)
#define TVMFFI_I_MAP_END UINT64_MAX

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

TVMFFI_I_INLINE int tvmffi_i_map_is_row(const tvmffi_i_map_object *m) {
  return (m->num_slots & TVMFFI_I_MAP_IS_ROW) != 0;
}

TVMFFI_I_INLINE uint8_t *tvmffi_i_map_meta(const void *data, uint64_t i) {
  return (uint8_t *)data + (size_t)(i / 16) * TVMFFI_I_MAP_BLOCK + i % 16;
}

TVMFFI_I_INLINE tvmffi_i_map_item *tvmffi_i_map_at(const void *data,
                                                   uint64_t i) {
  char *block = (char *)(uintptr_t)data + (size_t)(i / 16) * TVMFFI_I_MAP_BLOCK;
  return (tvmffi_i_map_item *)(void *)(block + 16) + i % 16;
}

/* Iteration in order of insertion:
     for (i = tvmffi_i_map_begin(map);
          (pair = tvmffi_i_map_pair(map, i)) != NULL;
          i = tvmffi_i_map_after(map, i))
   The pair is borrowed. A map that changes meanwhile may leave out entries or
   give some twice, but no index reaches anything that is not an entry. */
TVMFFI_I_INLINE uint64_t tvmffi_i_map_begin(const TVMFFIObject *map) {
  const tvmffi_i_map_object *m = (const tvmffi_i_map_object *)(const void *)map;
  return tvmffi_i_map_is_row(m) ? 0 : m->head;
}

TVMFFI_I_INLINE tvmffi_i_pair *tvmffi_i_map_pair(const TVMFFIObject *map,
                                                 uint64_t i) {
  const tvmffi_i_map_object *m = (const tvmffi_i_map_object *)(const void *)map;
  if (tvmffi_i_map_is_row(m))
    return i < m->size ? (tvmffi_i_pair *)m->data + i : NULL;
  if (i >= m->num_slots ||
      *tvmffi_i_map_meta(m->data, i) >= TVMFFI_I_MAP_PROTECTED)
    return NULL;
  return &tvmffi_i_map_at(m->data, i)->pair;
}

TVMFFI_I_INLINE uint64_t tvmffi_i_map_after(const TVMFFIObject *map,
                                            uint64_t i) {
  const tvmffi_i_map_object *m = (const tvmffi_i_map_object *)(const void *)map;
  if (tvmffi_i_map_is_row(m)) return i + 1;
  return tvmffi_i_map_pair(map, i) ? tvmffi_i_map_at(m->data, i)->next
                                   : TVMFFI_I_MAP_END;
}

TVMFFI_I_INLINE int64_t tvmffi_i_map_size(const TVMFFIObject *map) {
  return (int64_t)((const tvmffi_i_map_object *)(const void *)map)->size;
}
