/* ======== Pointer table ===================================== >>graph/table
   what a traversal stores for each object */
/* A hash table of records with linear probing. A record is a struct that begins
   with its key: one or two pointers to objects. The table retains these
   objects, so no new object can have the address of a recorded one. Records
   move when the table grows. A zeroed table is empty. All records of a table
   have the same size, which callers pass. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"

#if !TVMFFI_NO_CONTAINERS
typedef struct {
  char *records;
  size_t capacity, count; /* capacity is 0 or a power of two */
} tvmffi_i_ptr_table;

/* Returns the record with the given key, or the free memory for a new one. The
   table must not be full. `size` is the size of a record. `keys`, 1 or 2, is
   the number of pointers in a key. */
TVMFFI_I_INLINE TVMFFIObject **tvmffi_i_ptr_slot(const tvmffi_i_ptr_table *t,
                                                 size_t size, int keys,
                                                 const TVMFFIObject *object,
                                                 const TVMFFIObject *other) {
  uint64_t hash = (uint64_t)(uintptr_t)object * 0x9E3779B97F4A7C15u;
  TVMFFIObject **key;
  size_t i;
  if (keys == 2)
    hash =
        (hash ^ hash >> 29 ^ (uint64_t)(uintptr_t)other) * 0xBF58476D1CE4E5B9u;
  for (i = (size_t)(hash >> 32);; ++i) {
    i &= t->capacity - 1;
    key = (TVMFFIObject **)(void *)(t->records + i * size);
    if (!key[0] || (key[0] == object && (keys == 1 || key[1] == other)))
      return key;
  }
}

TVMFFI_I_INLINE void *tvmffi_i_ptr_find(const tvmffi_i_ptr_table *t,
                                        size_t size, int keys,
                                        const TVMFFIObject *object,
                                        const TVMFFIObject *other) {
  TVMFFIObject **slot;
  if (!t->count) return NULL;
  slot = tvmffi_i_ptr_slot(t, size, keys, object, other);
  return *slot ? (void *)slot : NULL;
}

static void *tvmffi_i_ptr_next(const tvmffi_i_ptr_table *t, size_t size,
                               const void *record) {
  size_t i = record ? (size_t)((const char *)record - t->records) + size : 0;
  for (; i < t->capacity * size; i += size)
    if (*(TVMFFIObject **)(void *)(t->records + i)) return t->records + i;
  return NULL;
}

static int tvmffi_i_ptr_grow(tvmffi_i_ptr_table *t, size_t size, int keys) {
  tvmffi_i_ptr_table grown = *t;
  void *record = NULL;
  grown.capacity = t->capacity ? t->capacity * 2 : 16;
  if (grown.capacity > PTRDIFF_MAX / size) return tvmffi_i_no_memory();
  grown.records = (char *)tvmffi_i_alloc(grown.capacity * size);
  if (!grown.records) return tvmffi_i_no_memory();
  memset(grown.records, 0, grown.capacity * size);
  while ((record = tvmffi_i_ptr_next(t, size, record)) != NULL) {
    TVMFFIObject *const *key = (TVMFFIObject *const *)record;
    TVMFFIObject *other = keys == 2 ? key[1] : NULL;
    memcpy((void *)tvmffi_i_ptr_slot(&grown, size, keys, key[0], other), record,
           size);
  }
  tvmffi_i_free(t->records);
  *t = grown;
  return 0;
}

static void *tvmffi_i_ptr_add(tvmffi_i_ptr_table *t, size_t size, int keys,
                              TVMFFIObject *object, TVMFFIObject *other) {
  TVMFFIObject **slot;
  if (t->count * 2 >= t->capacity && tvmffi_i_ptr_grow(t, size, keys))
    return NULL;
  slot = tvmffi_i_ptr_slot(t, size, keys, object, other);
  if (*slot) return (void *)slot;
  tvmffi_i_retain(slot[0] = object);
  if (keys == 2 && other) tvmffi_i_retain(slot[1] = other);
  ++t->count;
  return (void *)slot;
}

/* Removes all records. Releases the first `owned` (1 or 2) pointers of each
   record. Empties the table first, because a destructor may run any code. */
static void tvmffi_i_ptr_clear(tvmffi_i_ptr_table *t, size_t size, int owned) {
  tvmffi_i_ptr_table old = *t;
  TVMFFIObject **pointers;
  void *record = NULL;
  t->records = NULL;
  t->capacity = t->count = 0;
  while (old.count-- &&
         (record = tvmffi_i_ptr_next(&old, size, record)) != NULL) {
    pointers = (TVMFFIObject **)record;
    if (owned == 2) tvmffi_i_release(pointers[1]);
    tvmffi_i_release(pointers[0]);
  }
  tvmffi_i_free(old.records);
}

/* FIND returns a record, or NULL if there is none. ADD returns the existing
   record or a new one; it raises an error and returns NULL if there is no
   memory. A new record retains its key and is zero after the key. NEXT returns
   the record after `record`, or the first one if `record` is NULL. */
#define TVMFFI_I_FIND(type, table, object) \
  ((type *)tvmffi_i_ptr_find(table, sizeof(type), 1, object, NULL))
#define TVMFFI_I_FIND_PAIR(type, table, object, other) \
  ((type *)tvmffi_i_ptr_find(table, sizeof(type), 2, object, other))
#define TVMFFI_I_ADD(type, table, object) \
  ((type *)tvmffi_i_ptr_add(table, sizeof(type), 1, object, NULL))
#define TVMFFI_I_ADD_PAIR(type, table, object, other) \
  ((type *)tvmffi_i_ptr_add(table, sizeof(type), 2, object, other))
#define TVMFFI_I_NEXT(type, table, record) \
  ((type *)tvmffi_i_ptr_next(table, sizeof(type), record))

/* Returns 1 if an object has more references than the `own` that the caller
   knows, so that a traversal may meet the object again. Otherwise returns 0,
   and the object needs no record. */
TVMFFI_I_INLINE int tvmffi_i_is_shared(const TVMFFIObject *o, uint32_t own) {
  return (uint32_t)tvmffi_i_load64(&o->combined_ref_count) > own;
}
#endif
