/* ======== Methods ========================================= >>functions/method
   methods of the built-in types */

#pragma once

#include "../head.h"
#include "../interface.h"

/* The metadata of a field or method, JSON that has the schema as JSON inside a
   string, and the schemas of the words of built-in types. These are literals,
   so that a built-in type needs no memory for them; tvmffi_i_append_type makes
   the same texts of the words. */
#define TVMFFI_I_META(T) \
  "{\"type_schema\":\"" TVMFFI_I_CAT(TVMFFI_I_SCHEMA_, T) "\"}"
#define TVMFFI_I_SCHEMA_KEY(key) "{\\\"type\\\":\\\"" key "\\\"}"
#define TVMFFI_I_SCHEMA_OF(key, args) \
  "{\\\"type\\\":\\\"" key "\\\",\\\"args\\\":[" args "]}"
#define TVMFFI_I_SCHEMA_any TVMFFI_I_SCHEMA_KEY("Any")
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

/* Begins a method that a type lists, as TVMFFI_I_BUILTIN_NAMED begins a
   function. tvmffi_meta_NAME is its metadata. */
#define TVMFFI_I_LISTED_METHOD(name, text, ...)            \
  TVMFFI_I_UNUSED static const char tvmffi_meta_##name[] = \
      TVMFFI_I_METHOD_META(__VA_ARGS__, ~);                \
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
