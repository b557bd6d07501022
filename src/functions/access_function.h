/* ======== Functions of fields ==================== >>functions/access_function
   getters and setters as functions */

#pragma once

#include "../head.h"
#include "../platform.h"
#include "../core.h"
#include "../reflection.h"
#include "../interface.h"

#if !TVMFFI_NO_CONTAINERS
/* Returns the address of a TVMFFIFieldGetter for fields of the declared type
   `type_index`. ValueError if a field cannot have this type. */
TVMFFI_I_BUILTIN_FUNC(MakeFieldGetter, int64, (int32, type_index)) {
  const tvmffi_i_access *access = tvmffi_i_access_of(type_index);
  if (!access)
    return tvmffi_i_value_error("Unsupported field type index for getter: %d",
                                (int)type_index);
  TVMFFI_RETURN((int64_t)(uintptr_t)access->get);
}

/* Returns a field's setter: a function object that takes the field's address
   and a value. The setter first converts the value by a C function at the
   address `convert`:
   `int convert(void *converter, const TVMFFIAny *value, TVMFFIAny *result)`. */
TVMFFI_I_BUILTIN_FUNC(MakeFieldSetter, func, (int32, type_index),
                      (int64, converter), (int64, convert)) {
  tvmffi_i_setter *s;
  if (!convert) return tvmffi_i_null("ffi.MakeFieldSetter", "the converter");
  s = (tvmffi_i_setter *)tvmffi_i_alloc(sizeof(*s));
  if (!s) return tvmffi_i_no_memory();
  s->type_index = type_index;
  s->access = tvmffi_i_access_of(type_index);
  s->converter = (void *)(uintptr_t)converter;
  s->convert = (tvmffi_i_converter)(uintptr_t)convert;
  TVMFFI_I_RETURN_NEW(
      tvmffi_i_new_closure(s, tvmffi_i_call_setter, tvmffi_i_free));
}
#endif
