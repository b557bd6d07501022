/* ======== Module functions ======================== >>modules/module_function
   the built-in functions of modules */

#pragma once

#include "../head/config.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/word.h"
#include "../interface/mismatch.h"
#include "../interface/function.h"
#include "../platform/libc.h"
#include "../platform/memory.h"
#include "../core/raise.h"
#include "library.h"
#include "module.h"
#include "load.h"
#include "system_library.h"

#if !TVMFFI_NO_CONTAINERS
#define TVMFFI_I_RESULT_TYPE(T, ctype, name, schema) \
  TVMFFI_I_TYPE(T, ctype, name, schema)              \
  TVMFFI_I_PUT(T)
TVMFFI_I_RESULT_TYPE(i_source, TVMFFIAny, "str", "ffi.String") {
  *out = value;
  return 0;
}
TVMFFI_I_RESULT_TYPE(
    i_optional_str, TVMFFIAny, "Optional<str>",
    "{\"type\":\"Optional\",\"args\":[{\"type\":\"ffi.String\"}]}") {
  *out = value;
  return 0;
}
TVMFFI_I_RESULT_TYPE(
    i_optional_func, TVMFFIAny, "Optional<ffi.Function>",
    "{\"type\":\"Optional\",\"args\":[{\"type\":\"ffi.Function\"}]}") {
  *out = value;
  return 0;
}
TVMFFI_I_RESULT_TYPE(
    i_write_formats, TVMFFIAny, "Array<str>",
    "{\"type\":\"ffi.Array\",\"args\":[{\"type\":\"ffi.String\"}]}") {
  *out = value;
  return 0;
}

/* The format of a file is what follows its last dot, in a folder's name, too;
   some are other names of "so". */
TVMFFI_FUNC(i_module_load, i_module, (str, file_name)) {
  static const char *const same[] = {"dll", "dylib", "dso"};
  TVMFFIByteArray head = tvmffi_view("ffi.Module.load_from_file."), name;
  TVMFFIByteArray format, none = {"", 0};
  TVMFFIObject *module = NULL;
  TVMFFIAny args[2];
  const char *parts[7];
  char *text;
  size_t at = file_name.size, i;
  int code;
  while (at && file_name.data[at - 1] != '.') --at;
  if (!at) {
    parts[0] = "Failed to get file format from ";
    parts[1] = file_name.data;
    TVMFFIErrorSetRaisedFromCStrParts("RuntimeError", parts, 2);
    return -1;
  }
  format.data = file_name.data + at;
  format.size = file_name.size - at;
  for (i = 0; i < 3; ++i)
    if (format.size == strlen(same[i]) &&
        memcmp(format.data, same[i], format.size) == 0)
      format = tvmffi_view("so");
  text = (char *)tvmffi_i_alloc(head.size + format.size + 1);
  if (!text) return tvmffi_i_no_memory();
  name.data = text;
  name.size = tvmffi_i_join(text, head, format, none);
  code = TVMFFIStringFromByteArray(&file_name, &args[0]);
  if (!code) {
    code = TVMFFIStringFromByteArray(&format, &args[1]);
    if (!code) {
      code = tvmffi_i_call_loader(name, args, 2, &module);
      tvmffi_any_release(&args[1]);
    }
    tvmffi_any_release(&args[0]);
  }
  if (!code && !module) {
    parts[0] = "Loader for `.";
    parts[1] = text + head.size;
    parts[2] = "` files is not registered, resolved to (";
    parts[3] = text;
    parts[4] =
        ") in the global registry.Ensure that you have loaded the correct "
        "runtime code, andthat you are on the correct hardware architecture.";
    TVMFFIErrorSetRaisedFromCStrParts("RuntimeError", parts, 5);
    code = -1;
  }
  tvmffi_i_free(text);
  if (code) return code;
  TVMFFI_RETURN(module);
}

TVMFFI_FUNC(i_module_load_so, i_module, (str, path), (str, format)) {
  TVMFFIByteArray none = {"", 0};
  TVMFFIObject *module = NULL;
  tvmffi_i_library *library;
  void *handle = NULL;
  int code;
  (void)format;
  TVMFFI_TRY(tvmffi_i_dlopen(path, &handle));
  library = tvmffi_i_new_library(handle, none);
  if (!library) {
    tvmffi_i_dlclose(handle);
    return -1;
  }
  code = tvmffi_i_load_library(library, &module);
  tvmffi_release(library);
  if (code) return code;
  TVMFFI_RETURN(module);
}

TVMFFI_FUNC(i_module_has, bool, (i_module, module), (str, name),
            (bool, query_imports)) {
  TVMFFIAny found;
  TVMFFI_TRY(tvmffi_i_search_modules(module, TVMFFI_I_METHOD_IMPLEMENTS, name,
                                     query_imports, &found));
  TVMFFI_RETURN(found.v_int64 != 0);
}

TVMFFI_FUNC(i_module_metadata, i_optional_str, (i_module, module), (str, name),
            (bool, query_imports)) {
  TVMFFIAny found;
  TVMFFI_TRY(tvmffi_i_search_modules(module, TVMFFI_I_METHOD_METADATA, name,
                                     query_imports, &found));
  TVMFFI_RETURN(found);
}

TVMFFI_FUNC(i_module_doc, i_optional_str, (i_module, module), (str, name),
            (bool, query_imports)) {
  TVMFFIAny found;
  TVMFFI_TRY(tvmffi_i_search_modules(module, TVMFFI_I_METHOD_DOC, name,
                                     query_imports, &found));
  TVMFFI_RETURN(found);
}

TVMFFI_FUNC(i_module_get, i_optional_func, (i_module, module), (str, name),
            (bool, query_imports)) {
  TVMFFIAny found;
  TVMFFI_TRY(tvmffi_i_search_modules(module, TVMFFI_I_METHOD_GET_FUNCTION, name,
                                     query_imports, &found));
  TVMFFI_RETURN(found);
}

TVMFFI_FUNC(i_module_mask, int32, (i_module, module)) {
  TVMFFIByteArray none = {"", 0};
  TVMFFIAny value;
  TVMFFI_TRY(tvmffi_i_call_method(tvmffi_i_module_of(module),
                                  TVMFFI_I_METHOD_PROPERTY_MASK, none, none,
                                  &value));
  TVMFFI_RETURN((int32_t)value.v_int64);
}

TVMFFI_FUNC(i_module_inspect, i_source, (i_module, module), (str, format)) {
  TVMFFIByteArray none = {"", 0};
  TVMFFIAny value;
  TVMFFI_TRY(tvmffi_i_call_method(tvmffi_i_module_of(module),
                                  TVMFFI_I_METHOD_INSPECT, format, none,
                                  &value));
  TVMFFI_RETURN(value);
}

TVMFFI_FUNC(i_module_kind, i_source, (i_module, module)) {
  TVMFFIByteArray none = {"", 0};
  TVMFFIAny value;
  TVMFFI_TRY(tvmffi_i_call_method(tvmffi_i_module_of(module),
                                  TVMFFI_I_METHOD_KIND, none, none, &value));
  TVMFFI_RETURN(value);
}

TVMFFI_FUNC(i_module_write_formats, i_write_formats, (i_module, module)) {
  TVMFFIByteArray none = {"", 0};
  TVMFFIAny value;
  TVMFFI_TRY(tvmffi_i_call_method(tvmffi_i_module_of(module),
                                  TVMFFI_I_METHOD_WRITE_FORMATS, none, none,
                                  &value));
  TVMFFI_RETURN(value);
}

TVMFFI_FUNC(i_module_write, none, (i_module, module), (str, file_name),
            (str, format)) {
  TVMFFIAny value;
  TVMFFI_TRY(tvmffi_i_call_method(tvmffi_i_module_of(module),
                                  TVMFFI_I_METHOD_WRITE, file_name, format,
                                  &value));
  TVMFFI_RETURN();
}

TVMFFI_FUNC(i_module_import, none, (i_module, module), (i_module, other)) {
  TVMFFI_TRY(tvmffi_i_add_import(tvmffi_i_module_of(module), other));
  TVMFFI_RETURN();
}

TVMFFI_FUNC(i_module_clear, none, (i_module, module)) {
  TVMFFI_TRY(tvmffi_i_clear_imports(tvmffi_i_module_of(module)));
  TVMFFI_RETURN();
}

TVMFFI_FUNC(i_module_keep, none, (i_module, module)) {
  TVMFFI_TRY(tvmffi_i_keep_module(module));
  TVMFFI_RETURN();
}

TVMFFI_FUNC(i_module_unkeep, none, (i_module, module)) {
  tvmffi_i_unkeep_module(module);
  TVMFFI_RETURN();
}

static int tvmffi_call_i_system_lib(void *self, const TVMFFIAny *args,
                                    int32_t num_args, TVMFFIAny *result) {
  TVMFFIByteArray prefix = {"", 0};
  TVMFFIObject *module = NULL;
  (void)self;
  if (num_args && tvmffi_i_get_str(args, &prefix))
    return tvmffi_i_fail("TypeError", "Cannot convert from type `%s` to `str`",
                         tvmffi_i_type_key(args[0].type_index));
  TVMFFI_TRY(tvmffi_i_system_module(prefix, &module));
  tvmffi_retain(module);
  *result = tvmffi_obj(module);
  return 0;
}
static tvmffi_func tvmffi_func_i_system_lib = {
    "ffi.SystemLib", tvmffi_call_i_system_lib, -1, NULL};
#endif
