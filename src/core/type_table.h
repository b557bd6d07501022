/* ======== Type table ====================================== >>core/type_table
   type keys, indices and ancestors */
/* Finds type entries (with ancestors, fields, methods and metadata) by index
   and by key. Entries are published complete, and never moved or freed. When an
   array grows, the old array is kept for its readers. Writers hold the mutex,
   except to copy texts, retain values and raise errors, which may fail or run
   other code. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "raise.h"

typedef struct {
  TVMFFITypeInfo info; /* first: clients have pointers to it */
  tvmffi_i_node node;
  int32_t num_slots; /* indices reserved for the type and its children */
  int32_t used_slots;
  int32_t field_capacity, method_capacity; /* 0: the arrays are static */
  int can_overflow;
  /* Smallest size of objects of this or a derived type that the runtime creates
     and releases field by field; 0 if there are none. */
  int32_t made_size;
} tvmffi_i_type;

/* Header of an array of `capacity` pointers to entries, by type index. */
typedef struct tvmffi_i_table {
  int32_t capacity;
  struct tvmffi_i_table *older;
} tvmffi_i_table;

/* The table before the types are registered. */
static tvmffi_i_table tvmffi_i_no_types = {0, NULL};
static tvmffi_i_table *tvmffi_i_types = &tvmffi_i_no_types;
static tvmffi_i_name_table tvmffi_i_type_keys;

enum { TVMFFI_I_MAX_SLOTS = 1 << 20, TVMFFI_I_MAX_TYPES = 1 << 26 };

/* The first types that upstream registers when it is loaded. Their indices are
   the same in every process, so these types are static like those of the
   ABI. */
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

/* The first table has slots for the static types and a few others. */
enum {
  TVMFFI_I_FIRST_CAPACITY = TVMFFI_FREESTANDING ? TVMFFI_I_NUM_INDICES + 6 : 256
};
static struct {
  tvmffi_i_table head;
  tvmffi_i_type *entry[TVMFFI_I_FIRST_CAPACITY];
} tvmffi_i_first_table;

/* A static type. `open` is 1 if other types may derive from it. */
typedef struct {
  int32_t index;
  const char *key;
  int open;
} tvmffi_i_static_type;
static const tvmffi_i_static_type tvmffi_i_static_types[] = {
    /* The root of all object types. */
    {kTVMFFIObject, "ffi.Object", 1},
#if !TVMFFI_NO_CONTAINERS
    /* The base of enumerations, whose members are objects. */
    {TVMFFI_I_ENUM_BASE, "ffi.Enum", 1},
    /* The base of enumerations whose members have an integer value. */
    {TVMFFI_I_INT_ENUM, "ffi.IntEnum", 1},
    /* The base of enumerations whose members have a string value. */
    {TVMFFI_I_STR_ENUM, "ffi.StrEnum", 1},
    /* The members of an enumeration, in attribute __ffi_enum__ of the type. */
    {TVMFFI_I_ENUM_STATE, "ffi.EnumState", 1},
    /* One step of an access path, such as a field or an index. */
    {TVMFFI_I_ACCESS_STEP, "ffi.reflection.AccessStep", 1},
    /* The steps that lead from a value to one of its parts. */
    {TVMFFI_I_ACCESS_PATH, "ffi.reflection.AccessPath", 1},
    /* The state of a visit that is in progress. */
    {TVMFFI_I_STRUCTURAL_VISITOR, "ffi.StructuralVisitor", 1},
    /* The extra context of an error in a visit: the objects that the visit
       passed through. */
    {TVMFFI_I_VISIT_ERROR_CONTEXT, "ffi.VisitErrorContext", 1},
    /* The state of a mutation that is in progress. */
    {TVMFFI_I_STRUCTURAL_MUTATOR, "ffi.StructuralMutator", 1},
    /* A wrapper of a map key that is compared by structure. */
    {TVMFFI_I_STRUCTURAL_KEY, "ffi.StructuralKey", 1},
#endif
    /* No value. */
    {kTVMFFINone, "None", 0},
    /* An integer of 64 bits. */
    {kTVMFFIInt, "int", 0},
    /* A truth value. */
    {kTVMFFIBool, "bool", 0},
    /* A floating-point number of 64 bits. */
    {kTVMFFIFloat, "float", 0},
    /* An opaque pointer. */
    {kTVMFFIOpaquePtr, "void*", 0},
    /* The type of a tensor's elements, a DLDataType. */
    {kTVMFFIDataType, "DataType", 0},
    /* A device, a DLDevice. */
    {kTVMFFIDevice, "Device", 0},
    /* A borrowed tensor, only in a view. */
    {kTVMFFIDLTensorPtr, "DLTensor*", 0},
    /* A borrowed, NUL-terminated text, only in a view. */
    {kTVMFFIRawStr, "const char*", 0},
    /* Borrowed bytes, only in a view. */
    {kTVMFFIByteArrayPtr, "TVMFFIByteArray*", 0},
    /* An argument whose reference the callee may take over. */
    {kTVMFFIObjectRValueRef, "ObjectRValueRef", 0},
    /* A text of up to 7 bytes, in the Any itself. */
    {kTVMFFISmallStr, "ffi.SmallStr", 0},
    /* Up to 7 bytes, in the Any itself. */
    {kTVMFFISmallBytes, "ffi.SmallBytes", 0},
    /* The result of a mutation that changed nothing. */
    {kTVMFFIUnchanged, "ffi.Unchanged", 0},
    /* A text, UTF-8 by convention. */
    {kTVMFFIStr, "ffi.String", 0},
    /* Bytes. */
    {kTVMFFIBytes, "ffi.Bytes", 0},
    /* An error: kind, message, backtrace, cause. */
    {kTVMFFIError, "ffi.Error", 0},
    /* A packed function. */
    {kTVMFFIFunction, "ffi.Function", 0},
    /* A tuple of integers. */
    {kTVMFFIShape, "ffi.Shape", 0},
    /* A tensor that owns its memory. */
    {kTVMFFITensor, "ffi.Tensor", 0},
    /* A sequence that is copied on write when shared. */
    {kTVMFFIArray, "ffi.Array", 0},
    /* A table of keys and values that is copied on write when shared. */
    {kTVMFFIMap, "ffi.Map", 0},
    /* A set of functions with a state, such as a loaded library. */
    {kTVMFFIModule, "ffi.Module", 0},
    /* A Python object of a type that FFI does not know. */
    {kTVMFFIOpaquePyObject, "ffi.OpaquePyObject", 0},
    /* A sequence that is changed in place. */
    {kTVMFFIList, "ffi.List", 0},
    /* A table of keys and values that is changed in place. */
    {kTVMFFIDict, "ffi.Dict", 0},
    /* The result that a callback returns to end a visit. */
    {kTVMFFIVisitInterrupt, "ffi.VisitInterrupt", 1},
    /* An integer that 64 bits cannot express. */
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
/* Ancestors of static types: ffi.Object, and ffi.Enum for IntEnum and
   StrEnum. */
static const TVMFFITypeInfo *tvmffi_i_static_ancestors[] = {
    &tvmffi_i_static_entries[0].info, &tvmffi_i_static_entries[1].info};

TVMFFI_I_INLINE int32_t tvmffi_i_static_depth(int32_t index) {
  TVMFFI_ASSERT(index >= 0 && index < TVMFFI_I_NUM_INDICES);
#if !TVMFFI_NO_CONTAINERS
  if (index == TVMFFI_I_INT_ENUM || index == TVMFFI_I_STR_ENUM) return 2;
#endif
  return index > kTVMFFIObject;
}

#if TVMFFI_NO_REFLECTION
static void tvmffi_i_describe_type(tvmffi_i_type *t, int32_t index) {
  (void)t, (void)index;
}
static void tvmffi_i_start_columns(void) {}
#else
/* Defined in tables/builtin_type.h. */
static void tvmffi_i_describe_type(tvmffi_i_type *t, int32_t index);
static void tvmffi_i_start_columns(void);
#endif

TVMFFI_I_INLINE tvmffi_i_type **tvmffi_i_entries(tvmffi_i_table *table) {
  return (tvmffi_i_type **)(void *)(table + 1);
}

/* Returns the entry with this type index, or NULL. Takes no lock. */
TVMFFI_I_INLINE tvmffi_i_type *tvmffi_i_type_at(int32_t index) {
  tvmffi_i_table *table = TVMFFI_I_LOAD(&tvmffi_i_types);
  tvmffi_i_type *t = NULL;
  if (index >= 0 && index < table->capacity)
    t = TVMFFI_I_LOAD(&tvmffi_i_entries(table)[index]);
  TVMFFI_ASSERT(!t || t->info.type_index == index);
  return t;
}

/* Fills in the entry of a new type and publishes it, so that readers without
   the lock find it. */
static void tvmffi_i_publish_type(tvmffi_i_type *t, int32_t index,
                                  int32_t depth, const char *key, size_t size,
                                  const TVMFFITypeInfo **ancestors) {
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED);
  TVMFFI_ASSERT(index >= 0 && index < tvmffi_i_types->capacity);
  TVMFFI_ASSERT(!tvmffi_i_type_at(index) || tvmffi_i_type_at(index) == t);
  TVMFFI_ASSERT(!depth || ancestors[depth - 1]->type_depth == depth - 1);
  TVMFFI_ASSERT(!depth || ancestors[depth - 1]->type_index < index);
  TVMFFI_ASSERT(key[size] == 0 && t->num_slots > 0);
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

/* Initializes the type table. Cannot fail, because all its memory is static. In
   a child of fork, this may repeat what another thread of the parent had begun,
   so each step must have the same result when it is repeated. */
TVMFFI_I_COLD void tvmffi_i_start_types(void) {
  static TVMFFI_I_SLOTS(TVMFFI_I_NUM_STATIC_TYPES) table;
  static int started;
  int i;
  if (TVMFFI_I_LOAD(&started)) return;
  tvmffi_i_lock();
  if (!TVMFFI_I_LOAD(&started)) {
    TVMFFI_ASSERT(tvmffi_i_types == &tvmffi_i_no_types ||
                  tvmffi_i_types == &tvmffi_i_first_table.head);
    TVMFFI_ASSERT(tvmffi_i_next_index == TVMFFI_I_NUM_INDICES);
    tvmffi_i_first_table.head.capacity = TVMFFI_I_FIRST_CAPACITY;
    TVMFFI_I_STORE(&tvmffi_i_types, &tvmffi_i_first_table.head);
    tvmffi_i_begin_name_table(&tvmffi_i_type_keys, &table.head, sizeof(table));
    for (i = 0; i < TVMFFI_I_NUM_STATIC_TYPES; ++i) {
      tvmffi_i_type *t = &tvmffi_i_static_entries[i];
      int32_t index = tvmffi_i_static_types[i].index;
      const char *key = tvmffi_i_static_types[i].key;
      t->num_slots = 1;
      t->can_overflow = tvmffi_i_static_types[i].open;
      if (index == kTVMFFIObject) t->info.metadata = &tvmffi_i_object_metadata;
      tvmffi_i_describe_type(t, index);
      TVMFFI_ASSERT(t->info.num_fields >= 0 && !t->field_capacity);
      tvmffi_i_publish_type(
          t, index, tvmffi_i_static_depth(index), key, strlen(key),
          index > kTVMFFIObject ? tvmffi_i_static_ancestors : NULL);
    }
    tvmffi_i_start_columns();
    TVMFFI_I_STORE(&started, 1);
  }
  tvmffi_i_unlock();
}

/* Slow path of tvmffi_i_type_or_fail: makes the built-in types first. */
TVMFFI_I_NOINLINE tvmffi_i_type *tvmffi_i_type_at_start(int32_t index) {
  tvmffi_i_type *t;
  TVMFFI_ASSERT(TVMFFI_I_IS_FREE);
  tvmffi_i_start_types();
  t = tvmffi_i_type_at(index);
  if (!t)
    (void)tvmffi_i_internal_error("Cannot find type info for type_index=%d",
                                  (int)index);
  return t;
}

/* Returns the entry with this type index, or NULL with an error raised. */
TVMFFI_I_INLINE tvmffi_i_type *tvmffi_i_type_or_fail(int32_t index) {
  tvmffi_i_type *t = tvmffi_i_type_at(index);
  return TVMFFI_I_LIKELY(t) ? t : tvmffi_i_type_at_start(index);
}

#if TVMFFI_I_OWN_TYPES
TVMFFI_I_RUNTIME_ONCE const char *tvmffi_i_type_key(int32_t index) {
  int i = TVMFFI_I_NUM_STATIC_TYPES;
#if !TVMFFI_NO_TYPES
  const tvmffi_i_type *t = tvmffi_i_type_at(index);
  if (t) return t->info.type_key.data;
#endif
  while (i--)
    if (tvmffi_i_static_types[i].index == index)
      return tvmffi_i_static_types[i].key;
  return "an unregistered type";
}

/* Returns 1 if the type `index` derives from the type `target`, else 0. Does
   not register the static types: no other type is derived before that. */
TVMFFI_I_RUNTIME_ONCE int tvmffi_i_derives(int32_t index, int32_t target) {
#if TVMFFI_NO_TYPES
  return (void)index, (void)target, 0;
#else
  return tvmffi_i_descends((const TVMFFITypeInfo *)tvmffi_i_type_at(index),
                           (const TVMFFITypeInfo *)tvmffi_i_type_at(target));
#endif
}
#endif

#if TVMFFI_NO_TYPES
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
/* Returns the key of a type, which may be unregistered. Unlike
   tvmffi_i_type_key, raises no error and takes no lock. */
static const char *tvmffi_i_type_name(int32_t index) {
  const tvmffi_i_type *t = tvmffi_i_type_at(index);
  return t ? t->info.type_key.data : "an unregistered type";
}
#endif

static tvmffi_i_type *tvmffi_i_type_by_key(const TVMFFIByteArray *key) {
  char *node =
      (char *)(void *)tvmffi_i_find(&tvmffi_i_type_keys, key->data, key->size);
  return node ? (tvmffi_i_type *)(void *)(node - offsetof(tvmffi_i_type, node))
              : NULL;
}

TVMFFI_I_ON_LINE int TVMFFITypeKeyToIndex(const TVMFFIByteArray *type_key,
                                          int32_t *out_tindex) {
  tvmffi_i_type *t;
  TVMFFI_I_CHECK_BYTES(type_key);
  TVMFFI_I_NOT_NULL(out_tindex);
  t = tvmffi_i_type_by_key(type_key);
  if (TVMFFI_I_UNLIKELY(!t)) {
    tvmffi_i_start_types();
    t = tvmffi_i_type_by_key(type_key);
  }
  if (!t)
    return tvmffi_i_internal_error("Cannot find type `%.*s`",
                                   TVMFFI_I_TEXT(*type_key));
  TVMFFI_ASSERT(tvmffi_i_type_at(t->info.type_index) == t);
  *out_tindex = t->info.type_index;
  return 0;
}

/* Arguments of a type registration. */
typedef struct {
  const TVMFFIByteArray *key;
  int32_t index, depth, child_slots, can_overflow;
  tvmffi_i_type *parent;
} tvmffi_i_type_request;

static const char *tvmffi_i_key_or_none(const TVMFFITypeInfo *parent) {
  return parent ? parent->type_key.data : "no parent";
}

/* Returns the index of a registered type. Raises an error if the request has
   another index, depth or parent. The first registration decides the number of
   reserved slots. */
static int32_t tvmffi_i_same_type(const tvmffi_i_type *t,
                                  const tvmffi_i_type_request *r) {
  const TVMFFITypeInfo *parent =
      t->info.type_depth ? t->info.type_ancestors[t->info.type_depth - 1]
                         : NULL;
  const TVMFFITypeInfo *wanted = (const TVMFFITypeInfo *)r->parent;
  TVMFFI_ASSERT(tvmffi_i_same_text(t->info.type_key, *r->key));
  /* Apache TVM has C++ classes with their parent's type key. Such a class and
     its parent share one type. */
  if (r->index < 0 && wanted == &t->info) return t->info.type_index;
  if ((r->index >= 0 && r->index != t->info.type_index) ||
      r->depth != t->info.type_depth || parent != wanted)
    return tvmffi_i_runtime_error(
        "Type `%s` is already registered with index %d, depth %d and parent "
        "`%s`, but is registered again with index %d, depth %d and parent `%s`",
        t->info.type_key.data, (int)t->info.type_index, (int)t->info.type_depth,
        tvmffi_i_key_or_none(parent),
        (int)(r->index < 0 ? t->info.type_index : r->index), (int)r->depth,
        tvmffi_i_key_or_none(wanted));
  return t->info.type_index;
}

/* Ensures that the table has this index. Returns -1 on failure. */
static int tvmffi_i_grow_types(int32_t index) {
  tvmffi_i_table *old = tvmffi_i_types, *table;
  size_t capacity = (size_t)old->capacity, size;
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED && old != &tvmffi_i_no_types);
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
  TVMFFI_ASSERT(index < table->capacity);
  TVMFFI_I_STORE(&tvmffi_i_types, table);
  return 0;
}

/* Result of a registration. Errors are raised after the mutex is unlocked. */
typedef enum {
  TVMFFI_I_TYPE_MADE,
  TVMFFI_I_TYPE_KNOWN,   /* registered by another thread */
  TVMFFI_I_TYPE_TAKEN,   /* static index in use */
  TVMFFI_I_TYPE_FULL,    /* no more children allowed */
  TVMFFI_I_TYPE_NO_ROOM, /* no index or no memory left */
} tvmffi_i_type_result;

/* Chooses an index: the requested static index, an index reserved by the
   parent, or a new index. */
static tvmffi_i_type_result tvmffi_i_choose_index(
    const tvmffi_i_type_request *r, int32_t *index) {
  tvmffi_i_type *parent = r->parent;
  TVMFFI_ASSERT(TVMFFI_I_IS_LOCKED && (parent || r->index >= 0));
  TVMFFI_ASSERT(!parent || parent->used_slots <= parent->num_slots);
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
  TVMFFI_ASSERT(r->child_slots >= 0 && r->child_slots <= TVMFFI_I_MAX_SLOTS);
  tvmffi_i_next_index += r->child_slots + 1;
  return TVMFFI_I_TYPE_MADE;
}

/* Chooses an index and publishes the entry. */
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
  TVMFFI_ASSERT(r->depth == (r->parent ? r->parent->info.type_depth + 1 : 0));
  if (!t) return tvmffi_i_no_memory();
  memset((void *)t, 0, sizeof(*t));
  ancestors = (const TVMFFITypeInfo **)(void *)(t + 1);
  key = (char *)(void *)(ancestors + r->depth);
  (void)tvmffi_i_copy_text(key, *r->key);
  if (r->depth > 1)
    memcpy(ancestors, r->parent->info.type_ancestors,
           (size_t)(r->depth - 1) * sizeof(*ancestors));
  if (r->depth > 0) ancestors[r->depth - 1] = &r->parent->info;
  TVMFFI_ASSERT(!r->depth || ancestors[0]->type_depth == 0);
  t->num_slots = r->child_slots + 1;
  t->can_overflow = r->can_overflow && (!r->parent || r->parent->can_overflow);
  tvmffi_i_lock();
  result = tvmffi_i_enter_type(r, t, ancestors, key);
  tvmffi_i_unlock();
  TVMFFI_ASSERT(result != TVMFFI_I_TYPE_FULL || r->parent);
  if (result == TVMFFI_I_TYPE_MADE) return t->info.type_index;
  tvmffi_i_free(t);
  switch (result) {
    case TVMFFI_I_TYPE_KNOWN:
      return tvmffi_i_same_type(tvmffi_i_type_by_key(r->key), r);
    case TVMFFI_I_TYPE_TAKEN:
      return tvmffi_i_internal_error(
          "Conflicting static index %d between %s and %.*s", (int)r->index,
          tvmffi_i_type_at(r->index)->info.type_key.data,
          TVMFFI_I_TEXT(*r->key));
    case TVMFFI_I_TYPE_FULL:
      return tvmffi_i_internal_error(
          "Reach maximum number of sub-classes for %s, no index is left for "
          "%.*s",
          r->parent->info.type_key.data, TVMFFI_I_TEXT(*r->key));
    default: return tvmffi_i_no_memory();
  }
}

/* Returns the type's index, or -1 with an error raised for a conflict (upstream
   ends the process). */
int32_t TVMFFITypeGetOrAllocIndex(const TVMFFIByteArray *type_key,
                                  int32_t static_type_index, int32_t type_depth,
                                  int32_t num_child_slots,
                                  int32_t child_slots_can_overflow,
                                  int32_t parent_type_index) {
  tvmffi_i_type_request r;
  tvmffi_i_type *known;
  TVMFFI_I_CHECK_BYTES(type_key);
  if (TVMFFI_NO_TYPES)
    return tvmffi_i_runtime_error("This runtime has no table of types");
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
    return tvmffi_i_value_error("A type key must be a text");
  if (type_depth != (r.parent ? r.parent->info.type_depth + 1 : 0))
    return tvmffi_i_internal_error(
        "Type `%.*s` cannot have depth %d under parent %d",
        TVMFFI_I_TEXT(*type_key), (int)type_depth, (int)parent_type_index);
  if (num_child_slots < 0 || num_child_slots > TVMFFI_I_MAX_SLOTS)
    return tvmffi_i_value_error("Type `%.*s` cannot reserve %d child slots",
                                TVMFFI_I_TEXT(*type_key), (int)num_child_slots);
  if (static_type_index < 0
          ? !r.parent
          : num_child_slots >= kTVMFFIDynObjectBegin - static_type_index ||
                (r.parent && static_type_index <= parent_type_index))
    return tvmffi_i_internal_error(
        "Type `%.*s` cannot have static index %d under parent %d",
        TVMFFI_I_TEXT(*type_key), (int)static_type_index,
        (int)parent_type_index);
  return tvmffi_i_make_type(&r);
}
