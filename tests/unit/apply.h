/* ======== Applying: functions called by name, fields read ================= */

#pragma once

#include "harness.h"

#if !TVMFFI_NO_CONTAINERS && !TEST_NO_REFLECTION && !TEST_NO_TYPES
/* Calls a function object; the test owns the result. */
static int test_apply(TVMFFIObject *f, const TVMFFIAny *args, int n,
                      TVMFFIAny *result) {
  TVMFFIAny copy[16];
  int i, code;
  for (i = 0; i < n; ++i) copy[i] = args[i];
  *result = tvmffi_none(); /* it may be one of the arguments */
  code = f ? TVMFFIFunctionCall(f, copy, n, result) : -1;
  if (!code) OWN_ANY(*result);
  return code;
}

/* Looks a global function up and calls it. */
static int test_apply_global(const char *name, const TVMFFIAny *args, int n,
                             TVMFFIAny *result) {
  TVMFFIByteArray key = TEXT(name);
  TVMFFIObjectHandle f = NULL;
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&key, &f));
  OWN(f);
  return test_apply((TVMFFIObject *)f, args, n, result);
}

/* The attribute of a type, borrowed; None if it has none. */
static TVMFFIAny test_value_of(int32_t index, const char *name) {
  TVMFFIByteArray key = TEXT(name);
  const TVMFFITypeAttrColumn *c = TVMFFIGetTypeAttrColumn(&key);
  const int32_t i = c ? index - c->begin_index : -1;
  return i >= 0 && i < c->size ? c->data[i] : tvmffi_none();
}

static int test_apply_attr(int32_t index, const char *name,
                           const TVMFFIAny *args, int n, TVMFFIAny *result) {
  TVMFFIAny f = test_value_of(index, name);
  if (f.type_index != kTVMFFIFunction) return -1;
  return test_apply(f.v_obj, args, n, result);
}

/* Reads a field by its name; the test owns the value. */
static TVMFFIAny test_get_field(TVMFFIObject *o, const char *name) {
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(o->type_index);
  tvmffi_i_field_cursor w = tvmffi_i_begin_fields(type);
  const TVMFFIFieldInfo *field;
  TVMFFIAny value = tvmffi_none();
  while ((field = tvmffi_i_next_field(&w)))
    if (tvmffi_i_same_text(field->name, TEXT(name))) {
      (void)test_code(field->getter(tvmffi_i_at(o, field), &value), __FILE__,
                      __LINE__, name);
      OWN_ANY(value);
      break;
    }
  CHECK(field != NULL);
  return value;
}
#endif
