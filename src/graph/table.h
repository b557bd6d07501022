/* ======== Pointer table ===================================== >>graph/table
   what a traversal stores for each object */
/* A record table whose keys are one or two pointers to objects. The table
   retains these objects, so no new object can have the address of a recorded
   one. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"

#if !TVMFFI_NO_CONTAINERS
typedef tvmffi_i_records tvmffi_i_ptr_table;

/* Returns the record with a key of one or two pointers, as `keys` says. A new
   record is zero after its key and retains the objects. Returns NULL with a
   MemoryError if there is no memory. */
static void *tvmffi_i_ptr_add(tvmffi_i_ptr_table *t, size_t size, int keys,
                              TVMFFIObject *object, TVMFFIObject *other) {
  const size_t count = t->count;
  void *record =
      tvmffi_i_add_record(t, size, keys, (uintptr_t)object, (uintptr_t)other);
  TVMFFI_ASSERT(object && (keys == 1 || keys == 2));
  if (!record) (void)tvmffi_i_no_memory();
  if (t->count == count) return record;
  TVMFFI_ASSERT(record && t->count == count + 1);
  tvmffi_i_retain(object);
  if (keys == 2 && other) tvmffi_i_retain(other);
  return record;
}

/* Removes all records. Releases the first `owned` (1 or 2) pointers of each
   record. Empties the table first, because a destructor may run any code. */
static void tvmffi_i_ptr_clear(tvmffi_i_ptr_table *t, size_t size, int owned) {
  const tvmffi_i_ptr_table old = *t;
  TVMFFIObject **record = NULL;
  TVMFFI_ASSERT(owned == 1 || owned == 2);
  memset((void *)t, 0, sizeof(*t));
  while ((record = (TVMFFIObject **)tvmffi_i_next_record(&old, size, record))) {
    if (owned == 2) tvmffi_i_release(record[1]);
    tvmffi_i_release(record[0]);
  }
  tvmffi_i_free_slots(old.table);
}

/* FIND returns a record, or NULL if there is none. ADD returns the existing
   record or a new one; it raises an error and returns NULL if there is no
   memory. A new record retains its key and is zero after the key. NEXT returns
   the record after `record`, or the first one if `record` is NULL. */
#define TVMFFI_I_FIND(type, table, object) \
  ((type *)tvmffi_i_find_record(table, sizeof(type), 1, (uintptr_t)(object), 0))
#define TVMFFI_I_FIND_PAIR(type, table, object, other)                       \
  ((type *)tvmffi_i_find_record(table, sizeof(type), 2, (uintptr_t)(object), \
                                (uintptr_t)(other)))
#define TVMFFI_I_ADD(type, table, object) \
  ((type *)tvmffi_i_ptr_add(table, sizeof(type), 1, object, NULL))
#define TVMFFI_I_ADD_PAIR(type, table, object, other) \
  ((type *)tvmffi_i_ptr_add(table, sizeof(type), 2, object, other))
#define TVMFFI_I_NEXT(type, table, record) \
  ((type *)tvmffi_i_next_record(table, sizeof(type), record))

/* Returns 1 if an object has more references than the `own` that the caller
   knows, so that a traversal may meet the object again. Otherwise returns 0,
   and the object needs no record. */
TVMFFI_I_INLINE int tvmffi_i_is_shared(const TVMFFIObject *o, uint32_t own) {
  TVMFFI_ASSERT((uint32_t)tvmffi_i_load64(&o->combined_ref_count) > 0);
  return (uint32_t)tvmffi_i_load64(&o->combined_ref_count) > own;
}
#endif
