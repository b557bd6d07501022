/* ======== Creators: constructors of built-in types == >>reflection/creator */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../core.h"
#include "../containers.h"
#include "field.h"
#include "enum.h"

#if !TVMFFI_NO_CONTAINERS
#if !TVMFFI_NO_REFLECTION
/* Defines a creator: a function that creates an object with all fields zero. */
#define TVMFFI_I_CREATOR(name, index, type)                     \
  static int tvmffi_i_create_##name(TVMFFIObjectHandle *out) {  \
    TVMFFIObject *o = tvmffi_i_new_object(index, sizeof(type)); \
    *out = o;                                                   \
    return o ? 0 : -1;                                          \
  }
TVMFFI_I_CREATOR(interrupt, kTVMFFIVisitInterrupt, tvmffi_i_interrupt)
TVMFFI_I_CREATOR(step, TVMFFI_I_ACCESS_STEP, tvmffi_i_step)
TVMFFI_I_CREATOR(path, TVMFFI_I_ACCESS_PATH, tvmffi_i_path)
TVMFFI_I_CREATOR(structural_key, TVMFFI_I_STRUCTURAL_KEY,
                 tvmffi_i_structural_key)

#define TVMFFI_I_ENUM_CREATOR(name, index)                          \
  static int tvmffi_i_create_##name(TVMFFIObjectHandle *out) {      \
    tvmffi_i_enum *e =                                              \
        (tvmffi_i_enum *)(void *)tvmffi_i_new_object(index, sizeof(*e)); \
    *out = e;                                                       \
    if (!e) return -1;                                              \
    e->str_index.type_index = kTVMFFISmallStr;                      \
    return 0;                                                       \
  }
TVMFFI_I_ENUM_CREATOR(enum, TVMFFI_I_ENUM_BASE)
TVMFFI_I_ENUM_CREATOR(int_enum, TVMFFI_I_INT_ENUM)
TVMFFI_I_ENUM_CREATOR(str_enum, TVMFFI_I_STR_ENUM)
#endif

static int tvmffi_i_create_enum_state(TVMFFIObjectHandle *out) {
  tvmffi_i_enum_state *s = (tvmffi_i_enum_state *)(void *)tvmffi_i_new_object(
      TVMFFI_I_ENUM_STATE, sizeof(*s));
  *out = NULL;
  if (!s) return -1;
  s->entries = tvmffi_i_new_list(0);
  if (s->entries) s->indexes = tvmffi_i_new_map(kTVMFFIDict, 0);
  if (s->indexes) s->attrs = tvmffi_i_new_map(kTVMFFIDict, 0);
  if (!s->attrs) {
    tvmffi_i_release(s);
    return -1;
  }
  *out = s;
  return 0;
}

#if !TVMFFI_NO_EXTRA || !TVMFFI_NO_REFLECTION
static int tvmffi_i_create_error_context(TVMFFIObjectHandle *out) {
  tvmffi_i_error_context *c =
      (tvmffi_i_error_context *)(void *)tvmffi_i_new_object(
          TVMFFI_I_VISIT_ERROR_CONTEXT, sizeof(*c));
  *out = NULL;
  if (!c) return -1;
  c->pattern = tvmffi_i_new_list(0);
  if (!c->pattern) {
    tvmffi_i_release(c);
    return -1;
  }
  *out = c;
  return 0;
}
#endif

#endif
