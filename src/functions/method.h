/* ======== Methods ========================================= >>functions/method
   macros for the methods of built-in types */

#pragma once

#include "../head.h"
#include "../interface.h"

/* Literals for the metadata of fields and methods of built-in types, which need
   no memory for it. Metadata is JSON: its "type_schema" is a string that
   contains JSON, too. TVMFFI_I_SCHEMA_T is the schema of the type word T, the
   same text that tvmffi_i_append_type writes at run time. */
#define TVMFFI_I_META(T) \
  "{\"type_schema\":\"" TVMFFI_I_CAT(TVMFFI_I_SCHEMA_, T) "\"}"
#define TVMFFI_I_SCHEMA_KEY(key) "{\\\"type\\\":\\\"" key "\\\"}"
#define TVMFFI_I_SCHEMA_OF(key, args) \
  "{\\\"type\\\":\\\"" key "\\\",\\\"args\\\":[" args "]}"
#define TVMFFI_I_SCHEMA_any TVMFFI_I_SCHEMA_KEY("Any")
#define TVMFFI_I_SCHEMA_i_view TVMFFI_I_SCHEMA_any
#define TVMFFI_I_SCHEMA_bool TVMFFI_I_SCHEMA_KEY("bool")
#define TVMFFI_I_SCHEMA__Bool TVMFFI_I_SCHEMA_bool
#define TVMFFI_I_SCHEMA_int32 TVMFFI_I_SCHEMA_KEY("int")
#define TVMFFI_I_SCHEMA_int64 TVMFFI_I_SCHEMA_int32
#define TVMFFI_I_SCHEMA_str TVMFFI_I_SCHEMA_KEY("ffi.String")
#define TVMFFI_I_SCHEMA_object TVMFFI_I_SCHEMA_KEY("ffi.Object")
#define TVMFFI_I_SCHEMA_array(T) \
  TVMFFI_I_SCHEMA_OF("ffi.Array", TVMFFI_I_SCHEMA_##T)
#define TVMFFI_I_SCHEMA_list(T) \
  TVMFFI_I_SCHEMA_OF("ffi.List", TVMFFI_I_SCHEMA_##T)
#define TVMFFI_I_SCHEMA_dict(K, V) \
  TVMFFI_I_SCHEMA_OF("ffi.Dict", TVMFFI_I_SCHEMA_##K "," TVMFFI_I_SCHEMA_##V)
#define TVMFFI_I_SCHEMA_optional(T) \
  TVMFFI_I_SCHEMA_OF("Optional", TVMFFI_I_SCHEMA_##T)

/* Defines a method of a built-in type, up to its body, as
   TVMFFI_I_BUILTIN_NAMED defines a function, and tvmffi_meta_NAME, its
   metadata, for the table of methods in tables/type_field.h. The metadata is a
   literal, because linkers merge equal literals. */
#define TVMFFI_I_LISTED_METHOD(name, text, ...)                 \
  TVMFFI_I_UNUSED static const char *const tvmffi_meta_##name = \
      TVMFFI_I_METHOD_META(__VA_ARGS__, ~);                     \
  TVMFFI_I_BUILTIN_NAMED(name, text, __VA_ARGS__)
#if TVMFFI_NO_METADATA
#define TVMFFI_I_METHOD_META(...) ""
#else
#define TVMFFI_I_METHOD_META(R, ...)     \
  TVMFFI_I_FUNC_META(                    \
      TVMFFI_I_CAT(TVMFFI_I_SCHEMA_, R), \
      TVMFFI_I_CAT(TVMFFI_I_PARAMS_,     \
                   TVMFFI_I_HAS_COMMA(__VA_ARGS__))(__VA_ARGS__))
#define TVMFFI_I_FUNC_META(result, params)                                     \
  "{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\",\\\"named_args\\\":{" \
  "\\\"return\\\":[" result "],\\\"params\\\":[" params "]}}\"}"
#define TVMFFI_I_PARAMS_0(...) ""
#define TVMFFI_I_PARAMS_1(p, ...)            \
  TVMFFI_I_PARAM_META("", p)                 \
  TVMFFI_I_EACH(TVMFFI_I_COUNT(__VA_ARGS__)) \
  (TVMFFI_I_PARAM_META, ",", __VA_ARGS__)
#define TVMFFI_I_PARAM_META(comma, p) comma TVMFFI_I_PARAM_META_ p
#define TVMFFI_I_PARAM_META_(T, x) TVMFFI_I_CAT(TVMFFI_I_SCHEMA_, T)
#endif
