/* ======== Structs of built-in types ============ >>reflection/builtin_struct
   objects with fields, and their creators */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../core.h"
#include "../containers.h"
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
} tvmffi_i_enum, tvmffi_i_int_enum, tvmffi_i_str_enum;

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

/* Defines a creator: a function that creates an object of the struct
   tvmffi_i_NAME, whose members are zero except those that the expression sets.
   The expression is a pointer, NULL if it raised an error. */
#define TVMFFI_I_CREATOR(name, index, ...)                                    \
  static int tvmffi_i_create_##name(TVMFFIObjectHandle *out) {                \
    tvmffi_i_##name *self =                                                   \
        (tvmffi_i_##name *)(void *)tvmffi_i_new_object(index, sizeof(*self)); \
    const void *made = self ? (__VA_ARGS__) : NULL;                           \
    TVMFFI_ASSERT(!self || self->base.type_index == (index));                 \
    *out = made ? self : NULL;                                                \
    if (!made) tvmffi_i_release(self);                                        \
    return made ? 0 : -1;                                                     \
  }
static const void *tvmffi_i_fill_enum_state(tvmffi_i_enum_state *self) {
  self->entries = tvmffi_i_new_list(0);
  if (self->entries) self->indexes = tvmffi_i_new_map(kTVMFFIDict, 0);
  if (self->indexes) self->attrs = tvmffi_i_new_map(kTVMFFIDict, 0);
  return self->attrs;
}
TVMFFI_I_CREATOR(enum_state, TVMFFI_I_ENUM_STATE,
                 tvmffi_i_fill_enum_state(self))
#if !TVMFFI_NO_EXTRA || !TVMFFI_NO_REFLECTION
TVMFFI_I_CREATOR(error_context, TVMFFI_I_VISIT_ERROR_CONTEXT,
                 self->pattern = tvmffi_i_new_list(0))
#endif
#if !TVMFFI_NO_REFLECTION
TVMFFI_I_CREATOR(interrupt, kTVMFFIVisitInterrupt, self)
TVMFFI_I_CREATOR(step, TVMFFI_I_ACCESS_STEP, self)
TVMFFI_I_CREATOR(path, TVMFFI_I_ACCESS_PATH, self)
TVMFFI_I_CREATOR(structural_key, TVMFFI_I_STRUCTURAL_KEY, self)
TVMFFI_I_CREATOR(enum, TVMFFI_I_ENUM_BASE,
                 (self->str_index.type_index = kTVMFFISmallStr, self))
TVMFFI_I_CREATOR(int_enum, TVMFFI_I_INT_ENUM,
                 (self->str_index.type_index = kTVMFFISmallStr, self))
TVMFFI_I_CREATOR(str_enum, TVMFFI_I_STR_ENUM,
                 (self->str_index.type_index = kTVMFFISmallStr, self))
#endif
#endif
