/* ======== Name table ================================== >>platform/name_table
   an insert-only table read without a lock */

#pragma once

#include "../head/compiler.h"
#include "../head/atomic.h"
#include "libc.h"
#include "memory.h"
#include "hash.h"

typedef struct tvmffi_i_node {
  const char *key;
  struct tvmffi_i_node *next; /* in order of insertion */
  uint32_t size, hash;
} tvmffi_i_node;

/* Followed by mask + 1 addresses of nodes. The low bits, which are zero in an
   address, are bits of the node's hash: so a search reads few nodes but the
   one that it is for, and nearly each read is a miss in a large map. */
typedef struct tvmffi_i_slots {
  size_t mask;
  struct tvmffi_i_slots *older;
} tvmffi_i_slots;

enum { TVMFFI_I_TAG = offsetof(tvmffi_i_node, next) - 1 };

typedef struct {
  tvmffi_i_slots *table;
  tvmffi_i_node *first, *last;
  size_t count; /* of nodes, those that were taken out among them */
  size_t used;  /* slots that are not empty */
} tvmffi_i_map;

TVMFFI_I_INLINE uintptr_t *tvmffi_i_places(tvmffi_i_slots *table) {
  return (uintptr_t *)(void *)(table + 1);
}

/* The bits of a hash that stand in its slot: not those that choose it. */
TVMFFI_I_INLINE uintptr_t tvmffi_i_tag(uint32_t hash) {
  return (uintptr_t)(hash >> 29) & TVMFFI_I_TAG;
}

TVMFFI_I_ALWAYS_INLINE tvmffi_i_node *tvmffi_i_find_hashed(tvmffi_i_map *map,
                                                           const char *key,
                                                           size_t size,
                                                           uint32_t hash) {
  tvmffi_i_slots *table = TVMFFI_I_LOAD(&map->table);
  tvmffi_i_node *node;
  uintptr_t place;
  size_t i;
  if (!table) return NULL;
  for (i = hash & table->mask;; i = (i + 1) & table->mask) {
    place = TVMFFI_I_LOAD(&tvmffi_i_places(table)[i]);
    if (!place) return NULL;
    if ((place & TVMFFI_I_TAG) != tvmffi_i_tag(hash)) continue;
    node = (tvmffi_i_node *)(place - tvmffi_i_tag(hash));
    if (node->hash == hash && node->size == size &&
        tvmffi_i_same_key(node->key, key, size))
      return node;
  }
}

TVMFFI_I_ON_LINE TVMFFI_I_NOINLINE tvmffi_i_node *tvmffi_i_find(
    tvmffi_i_map *map, const char *key, size_t size) {
  return tvmffi_i_find_hashed(map, key, size, tvmffi_i_hash(key, size));
}

/* The first slots of a map that begins with `n` nodes, in static memory: no
   start can be refused for want of them. Of 512 nodes at most. */
#define TVMFFI_I_NUM_PLACES(n) \
  ((n) <= 32    ? 64           \
   : (n) <= 64  ? 128          \
   : (n) <= 128 ? 256          \
   : (n) <= 256 ? 512          \
                : 1024)
#define TVMFFI_I_SLOTS(n)                    \
  struct {                                   \
    tvmffi_i_slots head;                     \
    uintptr_t place[TVMFFI_I_NUM_PLACES(n)]; \
  }

/* Gives an empty map its first slots; the mutex is held. */
static void tvmffi_i_begin_map(tvmffi_i_map *map, tvmffi_i_slots *table,
                               size_t size) {
  table->mask = (size - sizeof(*table)) / sizeof(uintptr_t) - 1;
  TVMFFI_I_STORE(&map->table, table);
}

/* What a slot points to whose node was taken out: the node of no key, as no key
   is that long. A search goes on behind it, a new node may take its slot. */
static const tvmffi_i_node tvmffi_i_tombstone = {NULL, NULL, UINT32_MAX, 0};

/* Tells whether the node's slot was empty before. */
static int tvmffi_i_place(tvmffi_i_slots *table, tvmffi_i_node *node) {
  const uintptr_t tombstone = (uintptr_t)&tvmffi_i_tombstone;
  uintptr_t *places = tvmffi_i_places(table), old;
  size_t i = node->hash & table->mask;
  while ((old = places[i]) != 0 && old != tombstone) i = (i + 1) & table->mask;
  TVMFFI_I_STORE(&places[i], (uintptr_t)node + tvmffi_i_tag(node->hash));
  return !old;
}

/* Whether a search for a node that is there passes slot `i`. */
static int tvmffi_i_is_passed(tvmffi_i_slots *table, size_t i) {
  const size_t mask = table->mask;
  size_t n;
  for (n = 1;; ++n) {
    const uintptr_t place = tvmffi_i_places(table)[(i + n) & mask];
    const tvmffi_i_node *node =
        (const tvmffi_i_node *)(place & ~(uintptr_t)TVMFFI_I_TAG);
    if (!place) return 0;
    if (node != &tvmffi_i_tombstone && ((i + n - node->hash) & mask) >= n)
      return 1;
  }
}

/* Takes a node out of its slot; the mutex is held. The slot becomes a tombstone
   if a search has to pass it, else it and the tombstones before it are empty
   again. */
static void tvmffi_i_unplace(tvmffi_i_map *map, const tvmffi_i_node *node) {
  const uintptr_t tombstone = (uintptr_t)&tvmffi_i_tombstone;
  const size_t mask = map->table->mask;
  uintptr_t *places = tvmffi_i_places(map->table);
  size_t i = node->hash & mask;
  while (places[i] != (uintptr_t)node + tvmffi_i_tag(node->hash))
    i = (i + 1) & mask;
  TVMFFI_I_STORE(&places[i], tombstone);
  for (; places[i] == tombstone && !tvmffi_i_is_passed(map->table, i);
       i = (i - 1) & mask) {
    TVMFFI_I_STORE(&places[i], (uintptr_t)0);
    --map->used;
  }
}

/* Makes room for one more node, whose key has `size` bytes; the mutex is held.
 */
static int tvmffi_i_reserve(tvmffi_i_map *map, size_t size) {
  tvmffi_i_slots *old = map->table, *table;
  tvmffi_i_node *node;
  size_t places = 64, used = 0;
  if (size >= UINT32_MAX) return -1;
  if (old) {
    const int is_full = map->count * 2 > old->mask;
    if (!is_full && map->used / 3 <= old->mask / 4) return 0;
    places = (old->mask + 1) << is_full; /* else tombstones fill it */
  }
  table = (tvmffi_i_slots *)tvmffi_i_alloc(sizeof(tvmffi_i_slots) +
                                           places * sizeof(node));
  if (!table) return -1;
  memset((void *)table, 0, sizeof(tvmffi_i_slots) + places * sizeof(node));
  table->mask = places - 1;
  table->older = old;
  for (node = map->first; node; node = node->next)
    if (node->key) used += (size_t)tvmffi_i_place(table, node);
  map->used = used;
  TVMFFI_I_STORE(&map->table, table);
  return 0;
}

/* Puts a node for which tvmffi_i_reserve made room; the mutex is held. */
static void tvmffi_i_insert_hashed(tvmffi_i_map *map, tvmffi_i_node *node,
                                   const char *key, size_t size,
                                   uint32_t hash) {
  node->key = key;
  node->size = (uint32_t)size;
  node->hash = hash;
  node->next = NULL;
  map->used += (size_t)tvmffi_i_place(map->table, node);
  if (map->last)
    TVMFFI_I_STORE(&map->last->next, node);
  else
    TVMFFI_I_STORE(&map->first, node);
  map->last = node;
  ++map->count;
}

static void tvmffi_i_insert(tvmffi_i_map *map, tvmffi_i_node *node,
                            const char *key, size_t size) {
  tvmffi_i_insert_hashed(map, node, key, size, tvmffi_i_hash(key, size));
}
