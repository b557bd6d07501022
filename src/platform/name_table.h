/* ======== Name table ================================== >>platform/name_table
   an insert-only table read without a lock */

/* The hash table of every registry. Writers hold the mutex; readers take no
   lock. Nodes are never moved or freed. A replaced array of slots is kept,
   because a reader may still search it. Growth doubles the array, so all
   outgrown arrays together are smaller than the current one. */

#pragma once

#include "../head.h"
#include "libc.h"
#include "memory.h"
#include "hash.h"

typedef struct tvmffi_i_node {
  const char *key;
  struct tvmffi_i_node *next; /* in insertion order */
  uint32_t size, hash;
} tvmffi_i_node;

/* Header of an array of mask + 1 slots, searched by linear probing. A slot is a
   node's address, whose low bits are replaced by bits of the node's hash.
   Comparing these bits first avoids cache misses for other nodes. */
typedef struct tvmffi_i_slots {
  size_t mask;
  struct tvmffi_i_slots *older;
} tvmffi_i_slots;

enum { TVMFFI_I_TAG = offsetof(tvmffi_i_node, next) - 1 };

typedef struct {
  tvmffi_i_slots *table;
  tvmffi_i_node *first, *last;
  size_t count; /* all nodes, including removed ones */
  size_t used;  /* slots in use, including tombstones */
} tvmffi_i_name_table;

TVMFFI_I_INLINE uintptr_t *tvmffi_i_slot_array(tvmffi_i_slots *table) {
  return (uintptr_t *)(void *)(table + 1);
}

/* Returns the bits of a hash that a slot stores. Other bits select the slot. */
TVMFFI_I_INLINE uintptr_t tvmffi_i_tag(uint32_t hash) {
  return (uintptr_t)(hash >> 29) & TVMFFI_I_TAG;
}

TVMFFI_I_ALWAYS_INLINE tvmffi_i_node *tvmffi_i_find_hashed(
    tvmffi_i_name_table *map, const char *key, size_t size, uint32_t hash) {
  tvmffi_i_slots *table = TVMFFI_I_LOAD(&map->table);
  tvmffi_i_node *node;
  uintptr_t slot;
  size_t i;
  if (!table) return NULL;
  for (i = hash & table->mask;; i = (i + 1) & table->mask) {
    slot = TVMFFI_I_LOAD(&tvmffi_i_slot_array(table)[i]);
    if (!slot) return NULL;
    if ((slot & TVMFFI_I_TAG) != tvmffi_i_tag(hash)) continue;
    node = (tvmffi_i_node *)(slot - tvmffi_i_tag(hash));
    if (node->hash == hash && node->size == size &&
        tvmffi_i_same_key(node->key, key, size))
      return node;
  }
}

TVMFFI_I_ON_LINE TVMFFI_I_NOINLINE tvmffi_i_node *tvmffi_i_find(
    tvmffi_i_name_table *map, const char *key, size_t size) {
  return tvmffi_i_find_hashed(map, key, size, tvmffi_i_hash(key, size));
}

/* TVMFFI_I_SLOTS(n) has slots for `n` nodes, 512 at most. The first slots are
   static, so that starting the runtime cannot fail for lack of memory. */
#define TVMFFI_I_NUM_SLOTS(n) \
  ((n) <= 32    ? 64           \
   : (n) <= 64  ? 128          \
   : (n) <= 128 ? 256          \
   : (n) <= 256 ? 512          \
                : 1024)
#define TVMFFI_I_SLOTS(n)                    \
  struct {                                   \
    tvmffi_i_slots head;                     \
    uintptr_t slot[TVMFFI_I_NUM_SLOTS(n)]; \
  }

/* Installs the first slots of an empty map. `size` includes their header. Needs
   the mutex. */
static void tvmffi_i_begin_name_table(tvmffi_i_name_table *map,
                                      tvmffi_i_slots *table, size_t size) {
  table->mask = (size - sizeof(*table)) / sizeof(uintptr_t) - 1;
  TVMFFI_I_STORE(&map->table, table);
}

/* Marks the slot of a removed node. A search continues past the slot, and a new
   node may reuse it. The size UINT32_MAX differs from the size of any key. */
static const tvmffi_i_node tvmffi_i_tombstone = {NULL, NULL, UINT32_MAX, 0};

/* Stores a node in the first free slot of its probe sequence. Returns 1 if the
   slot was empty, 0 if it was a tombstone. */
static int tvmffi_i_fill_slot(tvmffi_i_slots *table, tvmffi_i_node *node) {
  const uintptr_t tombstone = (uintptr_t)&tvmffi_i_tombstone;
  uintptr_t *slot = tvmffi_i_slot_array(table), old;
  size_t i = node->hash & table->mask;
  while ((old = slot[i]) != 0 && old != tombstone) i = (i + 1) & table->mask;
  TVMFFI_I_STORE(&slot[i], (uintptr_t)node + tvmffi_i_tag(node->hash));
  return !old;
}

/* Returns 1 if the search for any stored node passes slot `i`, else 0. */
static int tvmffi_i_is_passed(tvmffi_i_slots *table, size_t i) {
  const size_t mask = table->mask;
  size_t n;
  for (n = 1;; ++n) {
    const uintptr_t slot = tvmffi_i_slot_array(table)[(i + n) & mask];
    const tvmffi_i_node *node =
        (const tvmffi_i_node *)(slot & ~(uintptr_t)TVMFFI_I_TAG);
    if (!slot) return 0;
    if (node != &tvmffi_i_tombstone && ((i + n - node->hash) & mask) >= n)
      return 1;
  }
}

/* Removes a node. The node's slot becomes a tombstone if the search for another
   node passes the slot. Otherwise the slot becomes empty, and so do tombstones
   right before the slot that no search passes. Needs the mutex. */
static void tvmffi_i_clear_slot(tvmffi_i_name_table *map,
                                const tvmffi_i_node *node) {
  const uintptr_t tombstone = (uintptr_t)&tvmffi_i_tombstone;
  const size_t mask = map->table->mask;
  uintptr_t *slot = tvmffi_i_slot_array(map->table);
  size_t i = node->hash & mask;
  while (slot[i] != (uintptr_t)node + tvmffi_i_tag(node->hash))
    i = (i + 1) & mask;
  TVMFFI_I_STORE(&slot[i], tombstone);
  for (; slot[i] == tombstone && !tvmffi_i_is_passed(map->table, i);
       i = (i - 1) & mask) {
    TVMFFI_I_STORE(&slot[i], (uintptr_t)0);
    --map->used;
  }
}

/* Ensures a free slot for one more node with a key of `size` bytes. Returns 0,
   or -1 on failure. Needs the mutex. */
static int tvmffi_i_reserve(tvmffi_i_name_table *map, size_t size) {
  tvmffi_i_slots *old = map->table, *table;
  tvmffi_i_node *node;
  size_t capacity = TVMFFI_FREESTANDING ? 16 : 64, used = 0;
  if (size >= UINT32_MAX) return -1;
  if (old) {
    const int is_full = map->count * 2 > old->mask;
    if (!is_full && map->used / 3 <= old->mask / 4) return 0;
    capacity = (old->mask + 1) << is_full; /* or drop tombstones */
  }
  table = (tvmffi_i_slots *)tvmffi_i_alloc(sizeof(tvmffi_i_slots) +
                                           capacity * sizeof(node));
  if (!table) return -1;
  memset((void *)table, 0, sizeof(tvmffi_i_slots) + capacity * sizeof(node));
  table->mask = capacity - 1;
  table->older = old;
  for (node = map->first; node; node = node->next)
    if (node->key) used += (size_t)tvmffi_i_fill_slot(table, node);
  map->used = used;
  TVMFFI_I_STORE(&map->table, table);
  return 0;
}

/* Inserts a node. Call tvmffi_i_reserve before. Needs the mutex. */
static void tvmffi_i_insert_hashed(tvmffi_i_name_table *map,
                                   tvmffi_i_node *node, const char *key,
                                   size_t size, uint32_t hash) {
  node->key = key;
  node->size = (uint32_t)size;
  node->hash = hash;
  node->next = NULL;
  map->used += (size_t)tvmffi_i_fill_slot(map->table, node);
  if (map->last)
    TVMFFI_I_STORE(&map->last->next, node);
  else
    TVMFFI_I_STORE(&map->first, node);
  map->last = node;
  ++map->count;
}

static void tvmffi_i_insert(tvmffi_i_name_table *map, tvmffi_i_node *node,
                            const char *key, size_t size) {
  tvmffi_i_insert_hashed(map, node, key, size, tvmffi_i_hash(key, size));
}
