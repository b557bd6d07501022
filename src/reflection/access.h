/* ======== Field access: getters and setters ========== >>reflection/access */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../core.h"
#include "../graph.h"
#include "field.h"

#if !TVMFFI_NO_CONTAINERS
/* The getter and setter for fields of one declared type, in classes that Python
   defines. */
typedef struct {
  int32_t type_index;
  TVMFFIFieldGetter get;
  TVMFFIFieldSetter set;
} tvmffi_i_access;

static const tvmffi_i_access *tvmffi_i_access_of(int32_t type_index) {
  static const tvmffi_i_access table[] = {
    {kTVMFFIAny, tvmffi_i_get_any_field, tvmffi_i_set_any_field},
    {kTVMFFINone, tvmffi_i_get_any_field, tvmffi_i_set_any_field},
    {kTVMFFIInt, tvmffi_i_get_int64_field, tvmffi_i_set_int64_field},
    {kTVMFFIBool, tvmffi_i_get_bool_field, tvmffi_i_set_bool_field},
#if !TVMFFI_NO_FLOAT
    {kTVMFFIFloat, tvmffi_i_get_float64_field, tvmffi_i_set_float64_field},
#endif
    {kTVMFFIOpaquePtr, tvmffi_i_get_ptr_field, tvmffi_i_set_ptr_field},
    {kTVMFFIDataType, tvmffi_i_get_dtype_field, tvmffi_i_set_dtype_field},
    {kTVMFFIDevice, tvmffi_i_get_device_field, tvmffi_i_set_device_field},
    {kTVMFFIObject, tvmffi_i_get_reference, tvmffi_i_set_reference}
  };
  const int32_t n = (int32_t)(sizeof(table) / sizeof(table[0]));
  int32_t i = 0;
  if (type_index > kTVMFFIObject) type_index = kTVMFFIObject;
  while (i < n && table[i].type_index != type_index) ++i;
  return i < n ? &table[i] : NULL;
}

/* Converts `value` (borrowed) to the type of a Python annotation. The caller
   owns *result. */
typedef int (*tvmffi_i_converter)(void *converter, const TVMFFIAny *value,
                                  TVMFFIAny *result);

/* Context of a setter function for a field of a Python-defined class. Python
   owns `converter`. */
typedef struct {
  int32_t type_index;
  const tvmffi_i_access *access;
  void *converter;
  tvmffi_i_converter convert;
} tvmffi_i_setter;

static int tvmffi_i_call_setter(void *self, const TVMFFIAny *args,
                                int32_t num_args, TVMFFIAny *result) {
  const tvmffi_i_setter *s = (const tvmffi_i_setter *)self;
  const tvmffi_i_access *access = s->access;
  TVMFFIAny converted = tvmffi_none();
  void *field = NULL;
  int code;
  TVMFFI_ASSERT(s->convert && access == tvmffi_i_access_of(s->type_index));
  if (num_args != 2)
    return tvmffi_i_type_error(
        "A field setter takes 2 arguments, but %d were given", (int)num_args);
  if (tvmffi_i_from_any(&tvmffi_i_word_ptr, &args[0], &field) || !field)
    return tvmffi_i_bad_cast(&args[0], "void*");
  code = s->convert(s->converter, &args[1], &converted);
  if (code) return tvmffi_i_need_error(code, "A field converter");
  if (access)
    code = access->set(field, &converted);
  else
    code = tvmffi_i_value_error("Unsupported field type index for setter: %d",
                                (int)s->type_index);
  tvmffi_i_any_release(&converted);
  *result = tvmffi_none();
  return code;
}

/* Sets a field by its setter, which is a C function or a function object. */
static int tvmffi_i_set_field(const TVMFFIFieldInfo *field, void *object,
                              const TVMFFIAny *value) {
  void *at = tvmffi_i_at(object, field);
  TVMFFIAny args[2], result = tvmffi_none();
  TVMFFI_ASSERT(object && value);
  if (!field->setter)
    return tvmffi_i_fail("AttributeError", "Field `%.*s` has no setter",
                         TVMFFI_I_TEXT(field->name));
  if (!(field->flags & kTVMFFIFieldFlagBitSetterIsFunctionObj)) {
    int code = ((TVMFFIFieldSetter)(uintptr_t)field->setter)(at, value);
    return code ? tvmffi_i_need_error(code, "A field setter") : 0;
  }
  args[0] = tvmffi_i_pointer(kTVMFFIOpaquePtr, at);
  args[1] = *value;
  TVMFFI_TRY(tvmffi_i_call_nested(field->setter, args, 2, &result));
  tvmffi_i_any_release(&result);
  return 0;
}
#endif
