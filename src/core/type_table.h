/* ======== Type table ====================================== >>core/type_table
   type keys, indices and ancestors */
/* The type table: entries by index and by key, each with its ancestors,
   fields, methods and metadata, and the attribute columns. Entries are never
   moved or freed and are published whole; arrays that grow are replaced, and
   the old ones kept. Written under the mutex; all that may fail or call out
   (copies, retained values, errors) happens outside it. */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "../platform/libc.h"
#include "../platform/thread.h"
#include "../platform/memory.h"
#include "../platform/hash.h"
#include "../platform/name_table.h"
#include "raise.h"

typedef struct {
  TVMFFITypeInfo info; /* first: what clients have pointers to */
  tvmffi_i_node node;
  int32_t num_slots; /* reserved indices, its own and its children's */
  int32_t used_slots;
  int32_t field_capacity, method_capacity;
  int can_overflow;
  /* The smallest objects of this type, or of one derived from it, that the
     runtime makes and destroys by their fields; 0 if it makes none. */
  int32_t made_size;
} tvmffi_i_type;

/* Followed by `capacity` pointers to entries. */
typedef struct tvmffi_i_table {
  int32_t capacity;
  struct tvmffi_i_table *older;
} tvmffi_i_table;

static struct {
  tvmffi_i_table head;
  tvmffi_i_type *entry[256];
} tvmffi_i_first_table = {{256, NULL}, {NULL}};

static tvmffi_i_table *tvmffi_i_types = &tvmffi_i_first_table.head;
static tvmffi_i_map tvmffi_i_type_keys;

enum { TVMFFI_I_MAX_SLOTS = 1 << 20, TVMFFI_I_MAX_TYPES = 1 << 26 };

/* The first types that upstream registers while it is loaded. Their indices
   are the same in every process, so the table has them like the ABI's. */
#if !TVMFFI_NO_CONTAINERS
enum {
  TVMFFI_I_ENUM_STATE = kTVMFFIDynObjectBegin,
  TVMFFI_I_ENUM_BASE,
  TVMFFI_I_INT_ENUM,
  TVMFFI_I_STR_ENUM,
  TVMFFI_I_ACCESS_STEP,
  TVMFFI_I_ACCESS_PATH,
  TVMFFI_I_STRUCTURAL_VISITOR,
  TVMFFI_I_VISIT_ERROR_CONTEXT,
  TVMFFI_I_STRUCTURAL_MUTATOR,
  TVMFFI_I_STRUCTURAL_KEY,
  TVMFFI_I_NUM_INDICES
};
#else
enum { TVMFFI_I_NUM_INDICES = kTVMFFIDynObjectBegin };
#endif
static int32_t tvmffi_i_next_index = TVMFFI_I_NUM_INDICES;

/* The types of the ABI, and those above. `open`: others may derive. */
typedef struct {
  int32_t index;
  const char *key;
  int open;
} tvmffi_i_static_type;
static const tvmffi_i_static_type tvmffi_i_static_types[] = {
    {kTVMFFIObject, "ffi.Object", 1},
#if !TVMFFI_NO_CONTAINERS
    {TVMFFI_I_ENUM_BASE, "ffi.Enum", 1},
    {TVMFFI_I_INT_ENUM, "ffi.IntEnum", 1},
    {TVMFFI_I_STR_ENUM, "ffi.StrEnum", 1},
    {TVMFFI_I_ENUM_STATE, "ffi.EnumState", 1},
    {TVMFFI_I_ACCESS_STEP, "ffi.reflection.AccessStep", 1},
    {TVMFFI_I_ACCESS_PATH, "ffi.reflection.AccessPath", 1},
    {TVMFFI_I_STRUCTURAL_VISITOR, "ffi.StructuralVisitor", 1},
    {TVMFFI_I_VISIT_ERROR_CONTEXT, "ffi.VisitErrorContext", 1},
    {TVMFFI_I_STRUCTURAL_MUTATOR, "ffi.StructuralMutator", 1},
    {TVMFFI_I_STRUCTURAL_KEY, "ffi.StructuralKey", 1},
#endif
    {kTVMFFINone, "None", 0},
    {kTVMFFIInt, "int", 0},
    {kTVMFFIBool, "bool", 0},
    {kTVMFFIFloat, "float", 0},
    {kTVMFFIOpaquePtr, "void*", 0},
    {kTVMFFIDataType, "DataType", 0},
    {kTVMFFIDevice, "Device", 0},
    {kTVMFFIDLTensorPtr, "DLTensor*", 0},
    {kTVMFFIRawStr, "const char*", 0},
    {kTVMFFIByteArrayPtr, "TVMFFIByteArray*", 0},
    {kTVMFFIObjectRValueRef, "ObjectRValueRef", 0},
    {kTVMFFISmallStr, "ffi.SmallStr", 0},
    {kTVMFFISmallBytes, "ffi.SmallBytes", 0},
    {kTVMFFIUnchanged, "ffi.Unchanged", 0},
    {kTVMFFIStr, "ffi.String", 0},
    {kTVMFFIBytes, "ffi.Bytes", 0},
    {kTVMFFIError, "ffi.Error", 0},
    {kTVMFFIFunction, "ffi.Function", 0},
    {kTVMFFIShape, "ffi.Shape", 0},
    {kTVMFFITensor, "ffi.Tensor", 0},
    {kTVMFFIArray, "ffi.Array", 0},
    {kTVMFFIMap, "ffi.Map", 0},
    {kTVMFFIModule, "ffi.Module", 0},
    {kTVMFFIOpaquePyObject, "ffi.OpaquePyObject", 0},
    {kTVMFFIList, "ffi.List", 0},
    {kTVMFFIDict, "ffi.Dict", 0},
    {kTVMFFIVisitInterrupt, "ffi.VisitInterrupt", 1},
    {kTVMFFIBigInt, "ffi.BigInt", 0}};
enum {
  TVMFFI_I_NUM_STATIC_TYPES =
      sizeof(tvmffi_i_static_types) / sizeof(tvmffi_i_static_types[0])
};
static tvmffi_i_type tvmffi_i_static_entries[TVMFFI_I_NUM_STATIC_TYPES];
static const TVMFFITypeMetadata tvmffi_i_object_metadata = {
    {NULL, 0},
    NULL,
    (int32_t)sizeof(TVMFFIObject),
    kTVMFFISEqHashKindUnsupported};
/* Of all that have some: ffi.Object, and of two ffi.Enum below it. */
static const TVMFFITypeInfo *tvmffi_i_static_ancestors[] = {
    &tvmffi_i_static_entries[0].info, &tvmffi_i_static_entries[1].info};

TVMFFI_I_INLINE int32_t tvmffi_i_static_depth(int32_t index) {
#if !TVMFFI_NO_CONTAINERS
  if (index == TVMFFI_I_INT_ENUM || index == TVMFFI_I_STR_ENUM) return 2;
#endif
  return index > kTVMFFIObject;
}

#if TVMFFI_NO_CONTAINERS
static void tvmffi_i_describe_type(tvmffi_i_type *t, int32_t index) {
  (void)t, (void)index;
}
static void tvmffi_i_start_columns(void) {}
#else
/* The tables of the built-in types stand last, as they name all functions. */
static void tvmffi_i_describe_type(tvmffi_i_type *t, int32_t index);
static void tvmffi_i_start_columns(void);
#endif

TVMFFI_I_INLINE tvmffi_i_type **tvmffi_i_entries(tvmffi_i_table *table) {
  return (tvmffi_i_type **)(void *)(table + 1);
}

TVMFFI_I_INLINE tvmffi_i_type *tvmffi_i_type_of_node(tvmffi_i_node *node) {
  char *base = (char *)(void *)node;
  return node ? (tvmffi_i_type *)(void *)(base - offsetof(tvmffi_i_type, node))
              : NULL;
}

/* The entry of an index, or NULL. Takes no lock. */
TVMFFI_I_INLINE tvmffi_i_type *tvmffi_i_type_at(int32_t index) {
  tvmffi_i_table *table = TVMFFI_I_LOAD(&tvmffi_i_types);
  if (index < 0 || index >= table->capacity) return NULL;
  return TVMFFI_I_LOAD(&tvmffi_i_entries(table)[index]);
}

/* Fills in and publishes an entry for which there is room; mutex held. */
static void tvmffi_i_publish_type(tvmffi_i_type *t, int32_t index,
                                  int32_t depth, const char *key, size_t size,
                                  const TVMFFITypeInfo **ancestors) {
  t->info.type_index = index;
  t->info.type_depth = depth;
  t->info.type_key.data = key;
  t->info.type_key.size = size;
  t->info.type_ancestors = ancestors;
  t->info.type_key_hash = tvmffi_i_type_key_hash(key, size);
  t->used_slots = 1;
  TVMFFI_I_STORE(&tvmffi_i_entries(tvmffi_i_types)[index], t);
  tvmffi_i_insert(&tvmffi_i_type_keys, &t->node, key, size);
}

/* Starts the type table: the first thing that anyone who misses in it does. All
   its memory is static, so nothing is refused. */
TVMFFI_I_COLD void tvmffi_i_start_types(void) {
  static TVMFFI_I_SLOTS(TVMFFI_I_NUM_STATIC_TYPES) table;
  static int started;
  int i;
  if (TVMFFI_I_LOAD(&started)) return;
  tvmffi_i_lock();
  if (!TVMFFI_I_LOAD(&started)) {
    tvmffi_i_begin_map(&tvmffi_i_type_keys, &table.head, sizeof(table));
    for (i = 0; i < TVMFFI_I_NUM_STATIC_TYPES; ++i) {
      tvmffi_i_type *t = &tvmffi_i_static_entries[i];
      int32_t index = tvmffi_i_static_types[i].index;
      const char *key = tvmffi_i_static_types[i].key;
      t->num_slots = 1;
      t->can_overflow = tvmffi_i_static_types[i].open;
      if (index == kTVMFFIObject) t->info.metadata = &tvmffi_i_object_metadata;
      tvmffi_i_describe_type(t, index);
      tvmffi_i_publish_type(
          t, index, tvmffi_i_static_depth(index), key, strlen(key),
          index > kTVMFFIObject ? tvmffi_i_static_ancestors : NULL);
    }
    tvmffi_i_start_columns();
    TVMFFI_I_STORE(&started, 1);
  }
  tvmffi_i_unlock();
}

/* The entry of an index, or an error. */
static tvmffi_i_type *tvmffi_i_type_or_fail(int32_t index) {
  tvmffi_i_type *t = tvmffi_i_type_at(index);
  if (TVMFFI_I_LIKELY(t)) return t;
  tvmffi_i_start_types();
  t = tvmffi_i_type_at(index);
  if (!t)
    (void)tvmffi_i_fail("InternalError",
                        "Cannot find type info for type_index=%d", index);
  return t;
}

#if TVMFFI_NO_TYPES
TVMFFI_I_SLOW const char *tvmffi_i_type_key(int32_t index) {
  int i = TVMFFI_I_NUM_STATIC_TYPES;
  while (i--)
    if (tvmffi_i_static_types[i].index == index)
      return tvmffi_i_static_types[i].key;
  return "an unregistered type";
}

const TVMFFITypeInfo *TVMFFIGetTypeInfo(int32_t type_index) {
  (void)type_index;
  return NULL;
}
#else
const TVMFFITypeInfo *TVMFFIGetTypeInfo(int32_t type_index) {
  tvmffi_i_type *t = tvmffi_i_type_or_fail(type_index);
  return t ? &t->info : NULL;
}
#endif

#if TVMFFI_DEBUG
/* The key of a type whose index need not be registered. Unlike
   tvmffi_i_type_key, it raises nothing and takes no lock. */
static const char *tvmffi_i_type_name(int32_t index) {
  const tvmffi_i_type *t = tvmffi_i_type_at(index);
  return t ? t->info.type_key.data : "an unregistered type";
}
#endif

static tvmffi_i_type *tvmffi_i_type_by_key(const TVMFFIByteArray *key) {
  return tvmffi_i_type_of_node(
      tvmffi_i_find(&tvmffi_i_type_keys, key->data, key->size));
}

TVMFFI_I_ON_LINE int TVMFFITypeKeyToIndex(const TVMFFIByteArray *type_key,
                                          int32_t *out_tindex) {
  tvmffi_i_type *t;
  TVMFFI_I_BYTES(type_key);
  TVMFFI_I_NOT_NULL(out_tindex);
  t = tvmffi_i_type_by_key(type_key);
  if (TVMFFI_I_UNLIKELY(!t)) {
    tvmffi_i_start_types();
    t = tvmffi_i_type_by_key(type_key);
  }
  if (!t)
    return tvmffi_i_fail("InternalError", "Cannot find type `%.*s`",
                         TVMFFI_I_TEXT(*type_key));
  *out_tindex = t->info.type_index;
  return 0;
}

/* What a registration asks for. */
typedef struct {
  const TVMFFIByteArray *key;
  int32_t index, depth, child_slots, can_overflow;
  tvmffi_i_type *parent;
} tvmffi_i_type_request;

static const char *tvmffi_i_parent_key(const tvmffi_i_type *t) {
  return t->info.type_depth
             ? t->info.type_ancestors[t->info.type_depth - 1]->type_key.data
             : "no parent";
}

/* Compares a registration with the type that has the key. The reserved slots
   may differ: the first registration made them. */
static int32_t tvmffi_i_same_type(const tvmffi_i_type *t,
                                  const tvmffi_i_type_request *r) {
  const TVMFFITypeInfo *parent =
      t->info.type_depth ? t->info.type_ancestors[t->info.type_depth - 1]
                         : NULL;
  /* A C++ class derived from one whose key it keeps, as Apache TVM has it, is
     of the same type. */
  if (r->index < 0 && r->parent && &r->parent->info == &t->info)
    return t->info.type_index;
  if ((r->index >= 0 && r->index != t->info.type_index) ||
      r->depth != t->info.type_depth ||
      parent != (r->parent ? &r->parent->info : NULL))
    return tvmffi_i_fail(
        "RuntimeError",
        "Type `%s` is already registered with index %d, depth %d and parent "
        "`%s`, but is registered again with index %d, depth %d and parent `%s`",
        t->info.type_key.data, t->info.type_index, t->info.type_depth,
        tvmffi_i_parent_key(t), r->index < 0 ? t->info.type_index : r->index,
        r->depth, r->parent ? r->parent->info.type_key.data : "no parent");
  return t->info.type_index;
}

/* Makes the table large enough for an index; mutex held. */
static int tvmffi_i_grow_types(int32_t index) {
  tvmffi_i_table *old = tvmffi_i_types, *table;
  size_t capacity = (size_t)old->capacity, size;
  if (index < old->capacity) return 0;
  while (capacity <= (size_t)index) capacity *= 2;
  size = sizeof(*table) + capacity * sizeof(tvmffi_i_type *);
  table = (tvmffi_i_table *)tvmffi_i_alloc(size);
  if (!table) return -1;
  memset((void *)table, 0, size);
  memcpy(tvmffi_i_entries(table), tvmffi_i_entries(old),
         (size_t)old->capacity * sizeof(tvmffi_i_type *));
  table->capacity = (int32_t)capacity;
  table->older = old;
  TVMFFI_I_STORE(&tvmffi_i_types, table);
  return 0;
}

/* How a registration ended, told before the mutex is released. */
typedef enum {
  TVMFFI_I_TYPE_MADE,
  TVMFFI_I_TYPE_KNOWN,   /* another thread was first */
  TVMFFI_I_TYPE_TAKEN,   /* the static index */
  TVMFFI_I_TYPE_FULL,    /* the parent allows no more children */
  TVMFFI_I_TYPE_NO_ROOM, /* no index, or no memory */
} tvmffi_i_type_result;

/* Chooses an index: the static one, one of the parent's slots, or a new one. */
static tvmffi_i_type_result tvmffi_i_choose_index(
    const tvmffi_i_type_request *r, int32_t *index) {
  tvmffi_i_type *parent = r->parent;
  if (r->index >= 0) {
    *index = r->index;
    return tvmffi_i_type_at(r->index) ? TVMFFI_I_TYPE_TAKEN
                                      : TVMFFI_I_TYPE_MADE;
  }
  if (parent->used_slots + r->child_slots + 1 <= parent->num_slots) {
    int32_t i = 0;
    *index = parent->info.type_index + parent->used_slots;
    while (i <= r->child_slots && !tvmffi_i_type_at(*index + i)) ++i;
    if (i > r->child_slots) {
      parent->used_slots += r->child_slots + 1;
      return TVMFFI_I_TYPE_MADE;
    }
  }
  if (!parent->can_overflow) return TVMFFI_I_TYPE_FULL;
  *index = tvmffi_i_next_index;
  if (*index > TVMFFI_I_MAX_TYPES ||
      tvmffi_i_grow_types(*index + r->child_slots) != 0)
    return TVMFFI_I_TYPE_NO_ROOM;
  tvmffi_i_next_index += r->child_slots + 1;
  return TVMFFI_I_TYPE_MADE;
}

/* Puts the prepared entry into the table; mutex held. */
static tvmffi_i_type_result tvmffi_i_enter_type(
    const tvmffi_i_type_request *r, tvmffi_i_type *t,
    const TVMFFITypeInfo **ancestors, char *key) {
  tvmffi_i_type_result result;
  int32_t index;
  if (tvmffi_i_find(&tvmffi_i_type_keys, key, r->key->size))
    return TVMFFI_I_TYPE_KNOWN;
  if (tvmffi_i_reserve(&tvmffi_i_type_keys, r->key->size) != 0)
    return TVMFFI_I_TYPE_NO_ROOM;
  result = tvmffi_i_choose_index(r, &index);
  if (result == TVMFFI_I_TYPE_MADE)
    tvmffi_i_publish_type(t, index, r->depth, key, r->key->size, ancestors);
  return result;
}

static int32_t tvmffi_i_make_type(const tvmffi_i_type_request *r) {
  size_t ancestors_size = (size_t)r->depth * sizeof(TVMFFITypeInfo *);
  tvmffi_i_type *t = (tvmffi_i_type *)tvmffi_i_alloc(
      sizeof(*t) + ancestors_size + r->key->size + 1);
  const TVMFFITypeInfo **ancestors;
  tvmffi_i_type_result result;
  char *key;
  if (!t) return tvmffi_i_no_memory();
  memset((void *)t, 0, sizeof(*t));
  ancestors = (const TVMFFITypeInfo **)(void *)(t + 1);
  key = (char *)(void *)(ancestors + r->depth);
  memcpy(key, r->key->data, r->key->size);
  key[r->key->size] = 0;
  if (r->depth > 1)
    memcpy(ancestors, r->parent->info.type_ancestors,
           (size_t)(r->depth - 1) * sizeof(*ancestors));
  if (r->depth > 0) ancestors[r->depth - 1] = &r->parent->info;
  t->num_slots = r->child_slots + 1;
  t->can_overflow = r->can_overflow && (!r->parent || r->parent->can_overflow);
  tvmffi_i_lock();
  result = tvmffi_i_enter_type(r, t, ancestors, key);
  tvmffi_i_unlock();
  if (result == TVMFFI_I_TYPE_MADE) return t->info.type_index;
  tvmffi_i_free(t);
  switch (result) {
    case TVMFFI_I_TYPE_KNOWN:
      return tvmffi_i_same_type(tvmffi_i_type_by_key(r->key), r);
    case TVMFFI_I_TYPE_TAKEN:
      return tvmffi_i_fail(
          "InternalError", "Conflicting static index %d between %s and %.*s",
          r->index, tvmffi_i_type_at(r->index)->info.type_key.data,
          TVMFFI_I_TEXT(*r->key));
    case TVMFFI_I_TYPE_FULL:
      return tvmffi_i_fail("InternalError",
                           "Reach maximum number of sub-classes for %s, no "
                           "index is left for %.*s",
                           r->parent->info.type_key.data,
                           TVMFFI_I_TEXT(*r->key));
    default: return tvmffi_i_no_memory();
  }
}

/* Upstream's function cannot fail: it ends the process. Here a conflict gives
   -1 and an error. */
int32_t TVMFFITypeGetOrAllocIndex(const TVMFFIByteArray *type_key,
                                  int32_t static_type_index, int32_t type_depth,
                                  int32_t num_child_slots,
                                  int32_t child_slots_can_overflow,
                                  int32_t parent_type_index) {
  tvmffi_i_type_request r;
  tvmffi_i_type *known;
  TVMFFI_I_BYTES(type_key);
  if (TVMFFI_NO_TYPES)
    return tvmffi_i_fail("RuntimeError", "This runtime has no table of types");
  tvmffi_i_start_types();
  known = tvmffi_i_type_by_key(type_key);
  if (parent_type_index == -2) return known ? known->info.type_index : -2;
  r.key = type_key;
  r.index = static_type_index;
  r.depth = type_depth;
  r.child_slots = num_child_slots;
  r.can_overflow = child_slots_can_overflow;
  r.parent = NULL;
  if (parent_type_index >= 0) {
    r.parent = tvmffi_i_type_or_fail(parent_type_index);
    if (!r.parent) return -1;
  }
  if (known) return tvmffi_i_same_type(known, &r);
  if (!type_key->size || memchr(type_key->data, 0, type_key->size))
    return tvmffi_i_fail("ValueError", "A type key must be a text");
  if (type_depth != (r.parent ? r.parent->info.type_depth + 1 : 0))
    return tvmffi_i_fail(
        "InternalError", "Type `%.*s` cannot have depth %d under parent %d",
        TVMFFI_I_TEXT(*type_key), type_depth, parent_type_index);
  if (num_child_slots < 0 || num_child_slots > TVMFFI_I_MAX_SLOTS)
    return tvmffi_i_fail("ValueError",
                         "Type `%.*s` cannot reserve %d child slots",
                         TVMFFI_I_TEXT(*type_key), num_child_slots);
  if (static_type_index >= kTVMFFIDynObjectBegin ||
      (static_type_index < 0 && !r.parent) ||
      (static_type_index >= 0 &&
       num_child_slots >= kTVMFFIDynObjectBegin - static_type_index) ||
      (static_type_index >= 0 && r.parent &&
       static_type_index <= parent_type_index))
    return tvmffi_i_fail("InternalError",
                         "Type `%.*s` cannot have static index %d under "
                         "parent %d",
                         TVMFFI_I_TEXT(*type_key), static_type_index,
                         parent_type_index);
  return tvmffi_i_make_type(&r);
}
