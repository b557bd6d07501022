/* ======== Enumerations ==================================== >>reflection/enum
   enum, path and error context types */

#pragma once

#include "../head.h"

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
