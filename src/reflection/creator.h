/* ======== Creators: constructors of built-in types == >>reflection/creator */

#pragma once

#include "../head/config.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/function.h"
#include "../core/type_table.h"
#include "../containers/sequence.h"
#include "../containers/map_memory.h"
#include "field.h"
#include "enum.h"
#include "access_path.h"

#if !TVMFFI_NO_CONTAINERS
/* Creators. The fields of a new object are zero where none is filled in. */
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

static int tvmffi_i_new_enum(int32_t index, TVMFFIObjectHandle *out) {
  tvmffi_i_enum *e =
      (tvmffi_i_enum *)(void *)tvmffi_i_new_object(index, sizeof(*e));
  *out = e;
  if (!e) return -1;
  e->str_index.type_index = kTVMFFISmallStr;
  return 0;
}
static int tvmffi_i_create_enum(TVMFFIObjectHandle *out) {
  return tvmffi_i_new_enum(TVMFFI_I_ENUM_BASE, out);
}
static int tvmffi_i_create_int_enum(TVMFFIObjectHandle *out) {
  return tvmffi_i_new_enum(TVMFFI_I_INT_ENUM, out);
}
static int tvmffi_i_create_str_enum(TVMFFIObjectHandle *out) {
  return tvmffi_i_new_enum(TVMFFI_I_STR_ENUM, out);
}

static int tvmffi_i_create_enum_state(TVMFFIObjectHandle *out) {
  tvmffi_i_enum_state *s = (tvmffi_i_enum_state *)(void *)tvmffi_i_new_object(
      TVMFFI_I_ENUM_STATE, sizeof(*s));
  *out = NULL;
  if (!s) return -1;
  s->entries = tvmffi_i_new_list(0);
  if (s->entries) s->indexes = tvmffi_i_new_map(kTVMFFIDict, 0);
  if (s->indexes) s->attrs = tvmffi_i_new_map(kTVMFFIDict, 0);
  if (!s->attrs) {
    tvmffi_release(s);
    return -1;
  }
  *out = s;
  return 0;
}

static int tvmffi_i_create_error_context(TVMFFIObjectHandle *out) {
  tvmffi_i_error_context *c =
      (tvmffi_i_error_context *)(void *)tvmffi_i_new_object(
          TVMFFI_I_VISIT_ERROR_CONTEXT, sizeof(*c));
  *out = NULL;
  if (!c) return -1;
  c->pattern = tvmffi_i_new_list(0);
  if (!c->pattern) {
    tvmffi_release(c);
    return -1;
  }
  *out = c;
  return 0;
}

TVMFFI_I_METHOD(i_enum_state_init, "ffi.EnumState.__ffi_init__", object) {
  TVMFFIObjectHandle made = NULL;
  TVMFFI_TRY(tvmffi_i_create_enum_state(&made));
  TVMFFI_RETURN((TVMFFIObject *)made);
}

#endif
