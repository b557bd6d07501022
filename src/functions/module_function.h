/* ======== Module functions ======================= >>functions/module_function
   the built-in functions of modules */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../modules.h"
#include "../interface.h"

#if !TVMFFI_NO_CONTAINERS
TVMFFI_I_OBJECT_TYPE(i_module, "ffi.Module", "ffi.Module", kTVMFFIModule)

/* Defines a result type of built-in functions that return an owned Any. */
#define TVMFFI_I_ANY_RESULT(T, name, schema) \
  TVMFFI_I_TYPE(T, TVMFFIAny, name, schema, TVMFFI_I_ANY, -1, NULL, NULL)
TVMFFI_I_ANY_RESULT(
    i_optional_str, "Optional<str>",
    "{\"type\":\"Optional\",\"args\":[{\"type\":\"ffi.String\"}]}")
TVMFFI_I_ANY_RESULT(
    i_optional_func, "Optional<ffi.Function>",
    "{\"type\":\"Optional\",\"args\":[{\"type\":\"ffi.Function\"}]}")
TVMFFI_I_ANY_RESULT(
    i_write_formats, "Array<str>",
    "{\"type\":\"ffi.Array\",\"args\":[{\"type\":\"ffi.String\"}]}")

/* Loads a module by the global function ffi.Module.load_from_file.FORMAT.
   FORMAT is the part of the path after the last dot, even if that dot is in a
   folder's name. The formats dll, dylib and dso are replaced by so.
   RuntimeError if the path has no dot or the function is not registered. */
TVMFFI_I_BUILTIN_FUNC(ModuleLoadFromFile, i_module, (str, file_name)) {
  static const char *const same[] = {"dll", "dylib", "dso"};
  static const char *const texts[] = {
      "Loader for `.", "` files is not registered, resolved to (",
      (") in the global registry.Ensure that you have loaded the correct "
       "runtime code, andthat you are on the correct hardware architecture.")};
  TVMFFIByteArray format;
  TVMFFIObject *module = NULL;
  TVMFFIAny args[2];
  const char *parts[2];
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
    if (tvmffi_i_same_text(format, tvmffi_byte_array(same[i])))
      format = tvmffi_byte_array("so");
  args[1] = tvmffi_none();
  TVMFFI_TRY(TVMFFIStringFromByteArray(&file_name, &args[0]));
  code = TVMFFIStringFromByteArray(&format, &args[1]);
  if (!code)
    code = tvmffi_i_call_loader("ffi.Module.load_from_file.", format, texts,
                                args, 2, &module);
  tvmffi_i_any_release(&args[1]);
  tvmffi_i_any_release(&args[0]);
  if (code) return code;
  TVMFFI_I_GIVE(module);
}

/* Loads a dynamic library as a module. Ignores the format. InternalError with
   the message of the system's loader if loading fails. */
TVMFFI_I_BUILTIN_NAMED(i_Module_load_from_file_so,
                       "ffi.Module.load_from_file.so", i_module, (str, path),
                       (str, format)) {
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
  tvmffi_i_release(library);
  if (code) return code;
  TVMFFI_ASSERT(module && module->type_index == kTVMFFIModule);
  TVMFFI_I_GIVE(module);
}

/* Defines a function that searches a module for a name. If query_imports is
   true, the function also searches the module's imports. */
#define TVMFFI_I_MODULE_SEARCH(function, type, method)                     \
  TVMFFI_I_BUILTIN_FUNC(function, type, (i_module, module), (str, name),   \
                        (bool, query_imports)) {                           \
    return tvmffi_i_search_modules(module, TVMFFI_I_METHOD_##method, name, \
                                   query_imports, tvmffi_result);          \
  }
/* Returns whether a module has a function. If query_imports is true, also
   searches the module's imports. */
TVMFFI_I_BUILTIN_FUNC(ModuleImplementsFunction, bool, (i_module, module),
                      (str, name), (bool, query_imports)) {
  TVMFFI_TRY(tvmffi_i_search_modules(module, TVMFFI_I_METHOD_IMPLEMENTS, name,
                                     query_imports, tvmffi_result));
  TVMFFI_RETURN(tvmffi_result->v_int64 != 0);
}
/* Returns the metadata of a module's function, or None. The metadata is JSON
   with the function's type schema. */
TVMFFI_I_MODULE_SEARCH(ModuleGetFunctionMetadata, i_optional_str, METADATA)
/* Returns the documentation of a module's function, or None. */
TVMFFI_I_MODULE_SEARCH(ModuleGetFunctionDoc, i_optional_str, DOC)
/* Returns a function of a module, or None. The function keeps the module
   loaded. */
TVMFFI_I_MODULE_SEARCH(ModuleGetFunction, i_optional_func, GET_FUNCTION)

/* Defines a function that calls a method with the strings `a` and `b`. The
   arguments behind `b` are the function's parameters. */
#define TVMFFI_I_MODULE_CALL(function, type, method, a, b, ...)     \
  TVMFFI_I_BUILTIN_FUNC(function, type, __VA_ARGS__) {              \
    const TVMFFIByteArray none = {"", 0};                           \
    (void)none;                                                     \
    return tvmffi_i_call_method(tvmffi_i_module_of(module),         \
                                TVMFFI_I_METHOD_##method, a, b,     \
                                tvmffi_result);                     \
  }
/* Returns a bit mask of what a module can do. 1: save to bytes, 2: run, 4:
   export an object file or source. */
TVMFFI_I_MODULE_CALL(ModuleGetPropertyMask, int32, PROPERTY_MASK, none, none,
                     (i_module, module))
/* Returns the kind of a module: "library" for a dynamic library. */
TVMFFI_I_MODULE_CALL(ModuleGetKind, str, KIND, none, none,
                     (i_module, module))
/* Returns the formats that ffi.ModuleWriteToFile can write a module in. */
TVMFFI_I_MODULE_CALL(ModuleGetWriteFormats, i_write_formats, WRITE_FORMATS,
                     none, none, (i_module, module))
/* Returns the source code of a module in a format, or an empty string if the
   module has no source code. */
TVMFFI_I_MODULE_CALL(ModuleInspectSource, str, INSPECT, format, none,
                     (i_module, module), (str, format))
/* Writes a module to a file. RuntimeError for a library, which cannot be
   written. */
TVMFFI_I_MODULE_CALL(ModuleWriteToFile, none, WRITE, file_name, format,
                     (i_module, module), (str, file_name), (str, format))

/* Appends the module `other` to the imports of `module`. RuntimeError if
   `module` would then import itself. */
TVMFFI_I_BUILTIN_FUNC(ModuleImportModule, none, (i_module, module),
                      (i_module, other)) {
  return tvmffi_i_add_import(tvmffi_i_module_of(module), other);
}

/* Removes all imports of a module. */
TVMFFI_I_BUILTIN_FUNC(ModuleClearImports, none, (i_module, module)) {
  return tvmffi_i_clear_imports(tvmffi_i_module_of(module));
}

/* Keeps a module loaded until ffi.ModuleGlobalsRemove. */
TVMFFI_I_BUILTIN_FUNC(ModuleGlobalsAdd, none, (i_module, module)) {
  return tvmffi_i_keep_module(module);
}

/* Undoes ffi.ModuleGlobalsAdd, so that the module can be unloaded. */
TVMFFI_I_BUILTIN_FUNC(ModuleGlobalsRemove, none, (i_module, module)) {
  tvmffi_i_unkeep_module(module);
  return 0;
}

/* Returns the module of the functions that are linked into the process and
   registered by TVMFFIEnvModRegisterSystemLibSymbol. The optional argument is a
   prefix of function names. Each prefix has one module. */
TVMFFI_I_PACKED(SystemLib) {
  TVMFFIByteArray prefix = {"", 0};
  TVMFFIObject *module = NULL;
  if (num_args && tvmffi_i_get_str(args, &prefix))
    return tvmffi_i_bad_cast(args, "str");
  TVMFFI_TRY(tvmffi_i_system_module(prefix, &module));
  tvmffi_i_retain(module);
  return tvmffi_i_give_new(result, module);
}
#endif
