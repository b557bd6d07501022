/* ======== Schemas: type schemas of typed functions ==== >>interface/schema */

#pragma once

#include "../head.h"
#include "../base.h"

/* Size of the buffer for a function's metadata, {"type_schema": "..."}. As in
   upstream, the schema is JSON inside a JSON string. */
enum { TVMFFI_I_METADATA = 4 * TVMFFI_MESSAGE_SIZE };

/* Appends text that becomes part of a JSON string: quotes and backslashes are
   escaped. */
TVMFFI_I_ONCE(void, tvmffi_i_append_escaped,
              (tvmffi_i_text *t, const char *text)) {
  for (; *text; ++text) {
    if (*text == '"' || *text == '\\') tvmffi_i_append_char(t, '\\');
    tvmffi_i_append_char(t, *text);
  }
}

/* Appends the schema of a type, {"type":...}, as part of a JSON string. */
TVMFFI_I_ONCE(void, tvmffi_i_append_type,
              (tvmffi_i_text *t, const tvmffi_i_word *type)) {
  const char *schema = tvmffi_i_shown(type)->schema;
  if (*schema == '{') {
    tvmffi_i_append_escaped(t, schema);
    return;
  }
  tvmffi_i_append(t, "{\\\"type\\\":\\\"");
  tvmffi_i_append(t, schema);
  if (!tvmffi_i_has_parts(type)) {
    tvmffi_i_append(t, "\\\"}");
    return;
  }
  tvmffi_i_append(t, "\\\",\\\"args\\\":[");
  tvmffi_i_append_type(t, type->of[0]);
  if (type->of[1]) {
    tvmffi_i_append(t, ",");
    tvmffi_i_append_type(t, type->of[1]);
  }
  tvmffi_i_append(t, "]}");
}

/* Appends the closing brace. Returns {NULL, 0} if the buffer is too small. */
TVMFFI_I_ONCE(TVMFFIByteArray, tvmffi_i_end_metadata, (tvmffi_i_text *t)) {
  TVMFFIByteArray r = {NULL, 0};
  tvmffi_i_append(t, "}");
  if (t->size >= t->capacity) return r;
  r.data = t->data;
  r.size = t->size;
  return r;
}

#if TVMFFI_NO_METADATA
TVMFFI_I_ONCE(TVMFFIByteArray, tvmffi_i_metadata,
              (const tvmffi_func *f, char *buffer)) {
  (void)f, (void)buffer;
  return tvmffi_byte_array("");
}
#define tvmffi_i_named_metadata(f, buffer) tvmffi_i_metadata(f, buffer)
#else
/* Appends a value as JSON, formatted by the runtime. Returns 0 if the value has
   no JSON form or the runtime has no JSON writer, else 1. */
TVMFFI_I_ONCE(int, tvmffi_i_append_json, (tvmffi_i_text *t, TVMFFIAny value)) {
  TVMFFIAny args[2], text = TVMFFI_I_ZERO;
  TVMFFIByteArray json;
  int code, null = value.type_index == kTVMFFIOpaquePtr && !value.v_ptr;
  args[0] = null ? text : value;
  args[1] = text; /* no indentation */
  code = tvmffi_i_call_if_defined("ffi.json.Stringify", args, 2, &text);
  if (code && code != 1) tvmffi_error_clear();
  json = tvmffi_any_str(&text);
  if (json.data) tvmffi_i_append(t, json.data);
  tvmffi_i_any_release(&text);
  return json.data != NULL;
}

/* Appends the parameters' defaults as a JSON array. Appends nothing if a
   default has no JSON form. */
TVMFFI_I_ONCE(void, tvmffi_i_append_defaults,
              (tvmffi_i_text *t, const tvmffi_func *f)) {
  TVMFFIAny args[TVMFFI_I_MAX_PARAMS];
  const size_t before = t->size;
  int32_t i;
  if (!f->defaults) return;
  if (f->defaults(args)) {
    tvmffi_error_clear();
    return;
  }
  tvmffi_i_append(t, ",\"arg_defaults\":[");
  for (i = f->least; i < f->num_args; ++i) {
    if (i > f->least) tvmffi_i_append(t, ",");
    if (tvmffi_i_append_json(t, args[i])) continue;
    t->size = before;
    return;
  }
  tvmffi_i_append(t, "]");
}

/* Appends the texts of tensor("..."), by parameter, the result's by the name
   "return": "tensors":{"x":"float32[n]","return":"float32[n]"}. */
TVMFFI_I_ONCE(void, tvmffi_i_append_contract,
              (tvmffi_i_text *t, const tvmffi_i_site *site)) {
  int32_t i;
  if (!site) return;
  tvmffi_i_append(t, ",\"tensors\":{");
  for (i = 0; i < site->count + site->has_result; ++i) {
    tvmffi_i_append(t, i ? ",\"" : "\"");
    tvmffi_i_append(t, i < site->count ? site->expected[i].name : "return");
    tvmffi_i_append(t, "\":\"");
    tvmffi_i_append_escaped(t, site->expected[i].text);
    tvmffi_i_append(t, "\"");
  }
  tvmffi_i_append(t, "}");
}

/* Appends "arg_names" and "arg_defaults", arguments of make_kwargs_wrapper in
   upstream's utils/kwargs_wrapper.py, and the contract. Appends nothing if the
   buffer is too small. */
TVMFFI_I_ONCE(void, tvmffi_i_append_params,
              (tvmffi_i_text *t, const tvmffi_func *f)) {
  const int32_t num_bound = tvmffi_i_is_bound(f);
  const char *name = f->params;
  const size_t before = t->size;
  int32_t i;
  if (!name) return;
  tvmffi_i_append(t, ",\"arg_names\":[");
  for (i = 0; i < f->num_args; ++i) {
    if (i >= num_bound) {
      tvmffi_i_append(t, i > num_bound ? ",\"" : "\"");
      tvmffi_i_append(t, name);
      tvmffi_i_append(t, "\"");
    }
    while (*name++) {
    }
  }
  tvmffi_i_append(t, "]");
  tvmffi_i_append_defaults(t, f);
  tvmffi_i_append_contract(t, f->contract);
  if (t->size + 1 >= t->capacity) t->size = before;
}

/* Begins a function's metadata in `buffer`, up to the closing brace. */
TVMFFI_I_ONCE(tvmffi_i_text, tvmffi_i_begin_metadata,
              (const tvmffi_func *f, char *buffer)) {
  tvmffi_i_text t = {buffer, 0, TVMFFI_I_METADATA};
  const int32_t num_bound = tvmffi_i_is_bound(f);
  int32_t i;
  tvmffi_i_append(&t, "{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\"");
  if (f->num_args >= 0) {
    tvmffi_i_append(&t, ",\\\"named_args\\\":{\\\"return\\\":[");
    tvmffi_i_append_type(&t, f->types[0]);
    tvmffi_i_append(&t, "],\\\"params\\\":[");
    for (i = 1 + num_bound; i <= f->num_args; ++i) {
      if (i > 1 + num_bound) tvmffi_i_append(&t, ",");
      tvmffi_i_append_type(&t, f->types[i]);
    }
    tvmffi_i_append(&t, "]}");
  }
  tvmffi_i_append(&t, "}\"");
  return t;
}

/* Writes a function's metadata with the parameters' names and defaults. Returns
   {NULL, 0} if the buffer is too small. */
TVMFFI_I_ONCE(TVMFFIByteArray, tvmffi_i_named_metadata,
              (const tvmffi_func *f, char *buffer)) {
  tvmffi_i_text t = tvmffi_i_begin_metadata(f, buffer);
  tvmffi_i_append_params(&t, f);
  return tvmffi_i_end_metadata(&t);
}

/* Writes a function's metadata without parameter names, as upstream's built-in
   functions have it. */
TVMFFI_I_ONCE(TVMFFIByteArray, tvmffi_i_metadata,
              (const tvmffi_func *f, char *buffer)) {
  tvmffi_i_text t = tvmffi_i_begin_metadata(f, buffer);
  return tvmffi_i_end_metadata(&t);
}
#endif

TVMFFI_I_ONCE(int, tvmffi_i_bad_metadata, (const tvmffi_func *f)) {
  return tvmffi_i_raise("ValueError", "The type schema of %s is too long",
                        TVMFFI_I_LOAD(&f->name));
}

TVMFFI_I_ONCE(int, tvmffi_i_return_metadata,
              (const tvmffi_func *f, TVMFFIAny *out)) {
  char buffer[TVMFFI_I_METADATA];
  TVMFFIByteArray text = tvmffi_i_named_metadata(f, buffer);
  if (!text.data) return tvmffi_i_bad_metadata(f);
  return TVMFFIStringFromByteArray(&text, out);
}
