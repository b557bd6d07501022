/* ======== Enumerations ==================================== >>reflection/enum
   enum, path and error context types */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/word.h"
#include "../interface/function.h"
#include "../core/type_table.h"
#include "../containers/sequence.h"
#include "field.h"

#if !TVMFFI_NO_CONTAINERS
/* Structs of built-in types. An object owns its members. */
typedef struct {
  TVMFFIObject base;
  TVMFFIAny value;
} tvmffi_i_interrupt;

typedef struct {
  TVMFFIObject base;
  TVMFFIObject *entries, *indexes, *attrs;
} tvmffi_i_enum_state;

typedef struct {
  TVMFFIObject base;
  int64_t int_index;
  TVMFFIAny str_index;
} tvmffi_i_enum;

typedef struct {
  TVMFFIObject base;
  int32_t kind;
  TVMFFIAny key;
} tvmffi_i_step;

typedef struct {
  TVMFFIObject base;
  TVMFFIObject *parent, *step;
  int32_t depth;
} tvmffi_i_path;

typedef struct {
  TVMFFIObject base;
  TVMFFIObject *pattern, *previous;
} tvmffi_i_error_context;

TVMFFI_I_INLINE const tvmffi_i_path *tvmffi_i_path_of(const void *object) {
  return (const tvmffi_i_path *)object;
}

typedef struct {
  TVMFFIObject base;
  TVMFFIAny key;
  int64_t hash;
} tvmffi_i_structural_key;

/* A visitor or mutator with upstream's C++ layout. C++ code calls its methods
   through the vtable `table`. */
typedef struct {
  TVMFFIObject base;
  void *table;
  int32_t region;
} tvmffi_i_visitor;

TVMFFI_I_OBJECT_TYPE(i_interrupt, "ffi.VisitInterrupt", "ffi.VisitInterrupt",
                     kTVMFFIVisitInterrupt)
TVMFFI_I_OBJECT_TYPE(i_step, "ffi.reflection.AccessStep",
                     "ffi.reflection.AccessStep", TVMFFI_I_ACCESS_STEP)
TVMFFI_I_OBJECT_TYPE(i_path, "ffi.reflection.AccessPath",
                     "ffi.reflection.AccessPath", TVMFFI_I_ACCESS_PATH)
TVMFFI_I_OBJECT_TYPE(i_steps, "Array<ffi.reflection.AccessStep>",
                     "{\"type\":\"ffi.Array\",\"args\":[{\"type\":\"ffi."
                     "reflection.AccessStep\"}]}",
                     kTVMFFIArray)
TVMFFI_I_OBJECT_TYPE(i_keys, "Array<str>",
                     "{\"type\":\"ffi.Array\",\"args\":[{\"type\":\"ffi."
                     "String\"}]}",
                     kTVMFFIArray)

/* Creates the value that a callback returns to end a visit. The caller that
   started the visit receives `value`. */
TVMFFI_FUNC(i_visit_interrupt, i_interrupt, (any, value)) {
  TVMFFIObject *o =
      tvmffi_i_new_object(kTVMFFIVisitInterrupt, sizeof(tvmffi_i_interrupt));
  if (!o) return -1;
  if (TVMFFIAnyViewToOwnedAny(&value,
                              &((tvmffi_i_interrupt *)(void *)o)->value)) {
    tvmffi_release(o);
    return -1;
  }
  TVMFFI_RETURN(o);
}

/* Returns the keys of all registered types, ordered by type index. */
TVMFFI_FUNC(i_type_keys, i_keys) {
  tvmffi_i_table *table;
  TVMFFIObject *keys;
  TVMFFIAny *item;
  int32_t i, n = 0;
  const tvmffi_i_type *t;
  tvmffi_i_start_types();
  table = TVMFFI_I_LOAD(&tvmffi_i_types);
  for (i = 0; i < table->capacity; ++i)
    n += TVMFFI_I_LOAD(&tvmffi_i_entries(table)[i]) != NULL;
  keys = tvmffi_i_new_array(n, &item);
  if (!keys) return -1;
  for (i = 0; n && i < table->capacity; ++i) {
    t = TVMFFI_I_LOAD(&tvmffi_i_entries(table)[i]);
    if (!t) continue;
    if (TVMFFIStringFromByteArray(&t->info.type_key, item++)) {
      tvmffi_release(keys);
      return -1;
    }
    --n;
  }
  TVMFFI_RETURN(keys);
}

/* Kinds of steps of an access path. A path leads from a value to a part of the
   value. Each path links to its parent, the path without the last step. Clients
   can create paths, so each link is checked. */
enum {
  TVMFFI_I_STEP_ATTR,
  TVMFFI_I_STEP_ARRAY_ITEM,
  TVMFFI_I_STEP_MAP_ITEM,
  TVMFFI_I_STEP_ATTR_MISSING,
  TVMFFI_I_STEP_ARRAY_ITEM_MISSING,
  TVMFFI_I_STEP_MAP_ITEM_MISSING
};
#endif
