/* ======== Hash table ================================== >>platform/hash_table
   nodes by name, records by words */

/* The one hash table of the runtime beside the ABI's map: slots with linear
   probing. A slot whose first word is 0 is empty. A zeroed table is empty.

   The slots of a name table point to nodes, which are never moved or freed.
   Writers hold the mutex; readers take no lock. A replaced array of slots is
   kept, because a reader may still search it. Growth doubles the array, so all
   outgrown arrays together are smaller than the current one.

   The slots of a record table are structs that begin with their key: one or two
   words, `a` and `b`, of which the first is not 0. All records of a table have
   the same `size` and number of `words`. Adding or removing moves records. */

#pragma once

#include "../head.h"
#include "libc.h"
#include "arena.h"
#include "thread.h"
#include "memory.h"
#include "hash.h"

typedef struct tvmffi_i_node {
  const char *key;
  struct tvmffi_i_node *next; /* in insertion order */
  uint32_t size, hash;
} tvmffi_i_node;

/* Header of an array of mask + 1 slots. In a name table, a slot is a node's
   address, whose low bits are replaced by bits of the node's hash. Comparing
   these bits first avoids cache misses for other nodes. */
typedef struct tvmffi_i_slots {
  size_t mask;
  struct tvmffi_i_slots *older;
} tvmffi_i_slots;

enum { TVMFFI_I_TAG = offsetof(tvmffi_i_node, next) - 1 };

typedef struct {
  tvmffi_i_slots *table;
  tvmffi_i_node *first, *last; /* all nodes, including removed ones */
  size_t count;
  size_t used;  /* slots in use, including tombstones */
} tvmffi_i_name_table;

/* Marks the slot of a removed node. A search continues past the slot, and a new
   node may reuse it. The size UINT32_MAX differs from the size of any key. */
static const tvmffi_i_node tvmffi_i_tombstone = {NULL, NULL, UINT32_MAX, 0};

TVMFFI_I_INLINE uintptr_t *tvmffi_i_slot_at(tvmffi_i_slots *table, size_t size,
                                            size_t i) {
  return (uintptr_t *)(void *)((char *)(table + 1) + i * size);
}

/* Returns the first free slot of a hash's probe sequence. */
TVMFFI_I_ALWAYS_INLINE uintptr_t *tvmffi_i_free_slot(tvmffi_i_slots *table,
                                                     size_t size,
                                                     uint32_t hash) {
  uintptr_t *slot;
  size_t i;
  for (i = hash & table->mask;; i = (i + 1) & table->mask) {
    slot = tvmffi_i_slot_at(table, size, i);
    if (!*slot || *slot == (uintptr_t)&tvmffi_i_tombstone) return slot;
  }
}

/* Returns the hash of a record. Ignores `b` if the key is one word. */
TVMFFI_I_INLINE uint32_t tvmffi_i_hash_words(int words, uintptr_t a,
                                             uintptr_t b) {
  uint64_t hash = a * (uint64_t)0x9E3779B97F4A7C15u;
  if (words == 2) hash = (hash ^ hash >> 29 ^ b) * 0xBF58476D1CE4E5B9u;
  return (uint32_t)(hash >> 32);
}

/* Returns the hash of the key in a slot. `words` is 0 for a name table. */
TVMFFI_I_INLINE uint32_t tvmffi_i_slot_hash(int words, const uintptr_t *slot) {
  if (words) return tvmffi_i_hash_words(words, slot[0], slot[words - 1]);
  return ((tvmffi_i_node *)(*slot & ~(uintptr_t)TVMFFI_I_TAG))->hash;
}

/* Replaces an array of slots, to which `older` of the new array points. Drops
   tombstones. Returns 0, or -1 if out of memory. */
static int tvmffi_i_grow_slots(tvmffi_i_slots **table, size_t size, int words,
                               size_t capacity) {
  tvmffi_i_slots *old = *table, *made;
  const uintptr_t *slot;
  uintptr_t *to;
  size_t i;
  TVMFFI_ASSERT(capacity && !(capacity & (capacity - 1)));
  made = (tvmffi_i_slots *)tvmffi_i_alloc(sizeof(*made) + capacity * size);
  if (!made) return -1;
  memset((void *)made, 0, sizeof(*made) + capacity * size);
  made->mask = capacity - 1;
  made->older = old;
  for (i = 0; old && i <= old->mask; ++i) {
    slot = tvmffi_i_slot_at(old, size, i);
    if (!*slot || *slot == (uintptr_t)&tvmffi_i_tombstone) continue;
    to = tvmffi_i_free_slot(made, size, tvmffi_i_slot_hash(words, slot));
    memcpy((void *)to, slot, size);
  }
  TVMFFI_I_STORE(table, made);
  return 0;
}

/* Frees an array of slots that nobody reads, and the arrays before it. */
static void tvmffi_i_free_slots(tvmffi_i_slots *table) {
  while (table) {
    tvmffi_i_slots *older = table->older;
    TVMFFI_I_FREE(table);
    table = older;
  }
}

/* -------- Names -------- */

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
    slot = TVMFFI_I_LOAD(tvmffi_i_slot_at(table, sizeof(slot), i));
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

/* Installs the first slots of an empty map. `size` includes their header. The
   map is not empty in a child process if the fork interrupted another thread
   between this call and the last insertion. The child inserts all nodes
   again. */
static void tvmffi_i_begin_name_table(tvmffi_i_name_table *map,
                                      tvmffi_i_slots *table, size_t size) {
  size_t i;
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED && (!map->table || map->table == table));
  table->mask = (size - sizeof(*table)) / sizeof(uintptr_t) - 1;
  TVMFFI_ASSERT(!(table->mask & (table->mask + 1)));
  if (map->table) {
    map->first = map->last = NULL;
    map->count = map->used = 0;
    for (i = 0; i <= table->mask; ++i)
      *tvmffi_i_slot_at(table, sizeof(uintptr_t), i) = 0;
  }
  TVMFFI_I_STORE(&map->table, table);
}

/* Stores a node in a free slot. Call tvmffi_i_reserve before. */
static void tvmffi_i_fill_slot(tvmffi_i_name_table *map, tvmffi_i_node *node) {
  uintptr_t *slot = tvmffi_i_free_slot(map->table, sizeof(*slot), node->hash);
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED && map->count < map->table->mask);
  TVMFFI_ASSERT(!((uintptr_t)node & TVMFFI_I_TAG));
  map->used += !*slot;
  ++map->count;
  TVMFFI_ASSERT(map->count <= map->used && map->used <= map->table->mask);
  TVMFFI_I_STORE(slot, (uintptr_t)node + tvmffi_i_tag(node->hash));
}

/* Returns 1 if the search for any stored node passes slot `i`, else 0. */
static int tvmffi_i_is_passed(tvmffi_i_slots *table, size_t i) {
  const size_t mask = table->mask;
  size_t n;
  for (n = 1;; ++n) {
    const uintptr_t *slot =
        tvmffi_i_slot_at(table, sizeof(*slot), (i + n) & mask);
    if (!*slot) return 0;
    if (*slot != (uintptr_t)&tvmffi_i_tombstone &&
        ((i + n - tvmffi_i_slot_hash(0, slot)) & mask) >= n)
      return 1;
  }
}

/* Removes a node. The node's slot becomes a tombstone if the search for another
   node passes the slot. Otherwise the slot becomes empty, and so do tombstones
   right before the slot that no search passes. */
static void tvmffi_i_clear_slot(tvmffi_i_name_table *map,
                                const tvmffi_i_node *node) {
  const uintptr_t tombstone = (uintptr_t)&tvmffi_i_tombstone;
  const size_t mask = map->table->mask;
  uintptr_t *slot = tvmffi_i_slot_at(map->table, sizeof(*slot), 0);
  size_t i = node->hash & mask;
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED && map->count > 0);
  while (slot[i] != (uintptr_t)node + tvmffi_i_tag(node->hash))
    i = (i + 1) & mask;
  --map->count;
  TVMFFI_I_STORE(&slot[i], tombstone);
  for (; slot[i] == tombstone && !tvmffi_i_is_passed(map->table, i);
       i = (i - 1) & mask) {
    TVMFFI_I_STORE(&slot[i], (uintptr_t)0);
    --map->used;
  }
  TVMFFI_ASSERT(map->count <= map->used);
}

/* Ensures a free slot for one more node with a key of `size` bytes. Returns 0,
   or -1 on failure. */
static int tvmffi_i_reserve(tvmffi_i_name_table *map, size_t size) {
  const tvmffi_i_slots *old = map->table;
  size_t capacity = TVMFFI_FREESTANDING ? 16 : 64;
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED);
  if (size >= UINT32_MAX) return -1;
  if (old) {
    const int is_full = map->count * 2 > old->mask;
    if (!is_full && map->used / 3 <= old->mask / 4) return 0;
    /* Doubling from a quarter on leaves room for many changes of names before
       the tombstones need another array. */
    capacity = (old->mask + 1) << (map->count * 4 > old->mask);
  }
  if (tvmffi_i_grow_slots(&map->table, sizeof(uintptr_t), 0, capacity))
    return -1;
  TVMFFI_ASSERT(map->count * 2 <= map->table->mask);
  map->used = map->count;
  return 0;
}

/* Inserts a node. Call tvmffi_i_reserve before. */
static void tvmffi_i_insert(tvmffi_i_name_table *map, tvmffi_i_node *node,
                            const char *key, size_t size) {
  node->key = key;
  node->size = (uint32_t)size;
  node->hash = tvmffi_i_hash(key, size);
  node->next = NULL;
  tvmffi_i_fill_slot(map, node);
  if (map->last)
    TVMFFI_I_STORE(&map->last->next, node);
  else
    TVMFFI_I_STORE(&map->first, node);
  map->last = node;
}

/* -------- Records -------- */

typedef struct {
  tvmffi_i_slots *table;
  size_t count;
} tvmffi_i_records;

/* Returns the record with this key, or the empty slot for it. */
TVMFFI_I_ALWAYS_INLINE uintptr_t *tvmffi_i_record_slot(
    const tvmffi_i_records *t, size_t size, int words, uintptr_t a,
    uintptr_t b) {
  const size_t mask = t->table->mask;
  size_t i = tvmffi_i_hash_words(words, a, b) & mask;
  TVMFFI_ASSERT((words == 1 || words == 2) && t->count <= mask);
  for (;; i = (i + 1) & mask) {
    uintptr_t *slot = tvmffi_i_slot_at(t->table, size, i);
    if (!*slot || (slot[0] == a && (words == 1 || slot[1] == b))) return slot;
  }
}

/* Returns the record with this key, or NULL. */
TVMFFI_I_ALWAYS_INLINE void *tvmffi_i_find_record(const tvmffi_i_records *t,
                                                  size_t size, int words,
                                                  uintptr_t a, uintptr_t b) {
  uintptr_t *slot;
  if (!t->table) return NULL;
  slot = tvmffi_i_record_slot(t, size, words, a, b);
  return *slot ? slot : NULL;
}

/* Returns the record with this key, added if missing and then zero after its
   key. Returns NULL, with no error raised, if out of memory. */
TVMFFI_I_INLINE void *tvmffi_i_add_record(tvmffi_i_records *t, size_t size,
                                          int words, uintptr_t a, uintptr_t b) {
  tvmffi_i_slots *old = t->table;
  uintptr_t *slot;
  if (!old || t->count * 2 > old->mask) {
    size_t capacity = old ? old->mask * 2 + 2 : 16;
    if (tvmffi_i_grow_slots(&t->table, size, words, capacity)) return NULL;
    t->table->older = NULL;
    tvmffi_i_free_slots(old);
  }
  slot = tvmffi_i_record_slot(t, size, words, a, b);
  if (*slot) return slot;
  TVMFFI_ASSERT(a && t->count < t->table->mask);
  memcpy((void *)slot, &a, sizeof(a)); /* the record may have pointers there */
  if (words == 2) memcpy((void *)(slot + 1), &b, sizeof(b));
  ++t->count;
  return slot;
}

/* Removes the record with the key `a`. Later records of the probe sequence move
   into the hole. */
TVMFFI_I_UNUSED static void tvmffi_i_remove_record(tvmffi_i_records *t,
                                                   size_t size, uintptr_t a) {
  const size_t mask = t->table->mask;
  uintptr_t *hole = tvmffi_i_record_slot(t, size, 1, a, 0), *slot;
  size_t i = (size_t)((char *)hole - (char *)(t->table + 1)) / size, n;
  TVMFFI_ASSERT(t->count > 0 && *hole == a);
  for (n = 1;; ++n) {
    slot = tvmffi_i_slot_at(t->table, size, (i + n) & mask);
    if (!*slot) break;
    if (((i + n - tvmffi_i_slot_hash(1, slot)) & mask) < n) continue;
    memcpy((void *)hole, slot, size);
    hole = slot;
    i += n;
    n = 0;
  }
  memset((void *)hole, 0, size);
  --t->count;
}

/* Returns the record after `record`, or the first if `record` is NULL. Returns
   NULL after the last. */
TVMFFI_I_UNUSED static void *tvmffi_i_next_record(const tvmffi_i_records *t,
                                                  size_t size,
                                                  const void *record) {
  const char *at = (const char *)record, *begin, *end;
  if (!t->table) return NULL;
  begin = (const char *)(t->table + 1);
  end = begin + (t->table->mask + 1) * size;
  for (at = at ? at + size : begin; at < end; at += size)
    if (*(const uintptr_t *)(const void *)at) return (void *)(uintptr_t)at;
  return NULL;
}
