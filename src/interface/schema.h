/* ======== Schemas: type schemas of typed functions ==== >>interface/schema */

#pragma once

#include "../head.h"
#include "../base.h"

/* Size of the buffer for a function's metadata, {"type_schema": "..."}. As in
   upstream, the schema is JSON inside a JSON string. Text beyond the size is
   counted, not written. */
enum { TVMFFI_I_METADATA = 4 * TVMFFI_MESSAGE_SIZE };

TVMFFI_I_COLD size_t tvmffi_i_append(char *to, size_t n, const char *text) {
  for (; *text; ++text, ++n)
    if (n < TVMFFI_I_METADATA) to[n] = *text;
  return n;
}

/* Appends text that becomes part of a JSON string: quotes and backslashes are
   escaped. */
TVMFFI_I_COLD size_t tvmffi_i_append_escaped(char *to, size_t n,
                                             const char *text) {
  char one[2] = {0, 0};
  for (; *text; ++text) {
    if (*text == '"' || *text == '\\') n = tvmffi_i_append(to, n, "\\");
    one[0] = *text;
    n = tvmffi_i_append(to, n, one);
  }
  return n;
}

/* Appends the schema of a type, {"type":...}, as part of a JSON string. */
TVMFFI_I_COLD size_t tvmffi_i_append_schema(char *to, size_t n,
                                            const char *schema) {
  if (*schema != '{') {
    n = tvmffi_i_append(to, n, "{\\\"type\\\":\\\"");
    n = tvmffi_i_append(to, n, schema);
    return tvmffi_i_append(to, n, "\\\"}");
  }
  return tvmffi_i_append_escaped(to, n, schema);
}

TVMFFI_I_COLD size_t tvmffi_i_append_type(char *to, size_t n,
                                          const tvmffi_i_word *type) {
  if (!tvmffi_i_has_parts(type))
    return tvmffi_i_append_schema(to, n, tvmffi_i_shown(type)->schema);
  n = tvmffi_i_append(to, n, "{\\\"type\\\":\\\"");
  n = tvmffi_i_append(to, n, type->schema);
  n = tvmffi_i_append(to, n, "\\\",\\\"args\\\":[");
  n = tvmffi_i_append_type(to, n, type->of[0]);
  if (type->of[1]) {
    n = tvmffi_i_append(to, n, ",");
    n = tvmffi_i_append_type(to, n, type->of[1]);
  }
  return tvmffi_i_append(to, n, "]}");
}

/* Appends the closing brace. Returns {NULL, 0} if the buffer is too small. */
TVMFFI_I_COLD TVMFFIByteArray tvmffi_i_end_metadata(char *buffer, size_t n) {
  TVMFFIByteArray r = {NULL, 0};
  n = tvmffi_i_append(buffer, n, "}");
  if (n > TVMFFI_I_METADATA) return r;
  r.data = buffer;
  r.size = n;
  return r;
}

#if TVMFFI_NO_METADATA
TVMFFI_I_COLD TVMFFIByteArray tvmffi_i_metadata(const tvmffi_func *f,
                                                char *buffer) {
  (void)f, (void)buffer;
  return tvmffi_byte_array("");
}
#define tvmffi_i_named_metadata(f, buffer) tvmffi_i_metadata(f, buffer)
#else
/* Appends a value as JSON, formatted by the runtime. Returns the new size, or 0
   if the value has no JSON form or the runtime has no JSON writer. */
TVMFFI_I_COLD size_t tvmffi_i_append_json(char *to, size_t n, TVMFFIAny value) {
  TVMFFIAny args[2], text = TVMFFI_I_ZERO;
  TVMFFIByteArray json;
  int code, null = value.type_index == kTVMFFIOpaquePtr && !value.v_ptr;
  args[0] = null ? text : value;
  args[1] = text; /* no indentation */
  code = tvmffi_i_call_if_defined("ffi.json.Stringify", args, 2, &text);
  if (code && code != 1) tvmffi_error_clear();
  json = tvmffi_any_str(&text);
  n = json.data ? tvmffi_i_append(to, n, json.data) : 0;
  tvmffi_i_any_release(&text);
  return n;
}

/* Appends the parameters' defaults as a JSON array. Appends nothing if a
   default has no JSON form. */
TVMFFI_I_COLD size_t tvmffi_i_append_defaults(char *to, size_t n,
                                              const tvmffi_func *f) {
  TVMFFIAny args[TVMFFI_I_MAX_PARAMS];
  size_t end = n;
  int32_t i;
  if (!f->defaults) return n;
  if (f->defaults(args)) {
    tvmffi_error_clear();
    return n;
  }
  end = tvmffi_i_append(to, end, ",\"arg_defaults\":[");
  for (i = f->least; i < f->num_args; ++i) {
    if (i > f->least) end = tvmffi_i_append(to, end, ",");
    end = tvmffi_i_append_json(to, end, args[i]);
    if (!end) return n;
  }
  return tvmffi_i_append(to, end, "]");
}

/* Appends the texts of tensor("..."), by parameter, the result's by the name
   "return": "tensors":{"x":"float32[n]","return":"float32[n]"}. */
TVMFFI_I_COLD size_t tvmffi_i_append_contract(char *to, size_t n,
                                              const tvmffi_i_site *site) {
  int32_t i;
  if (!site) return n;
  n = tvmffi_i_append(to, n, ",\"tensors\":{");
  for (i = 0; i < site->count + site->has_result; ++i) {
    n = tvmffi_i_append(to, n, i ? ",\"" : "\"");
    n = tvmffi_i_append(to, n,
                        i < site->count ? site->expected[i].name : "return");
    n = tvmffi_i_append(to, n, "\":\"");
    n = tvmffi_i_append_escaped(to, n, site->expected[i].text);
    n = tvmffi_i_append(to, n, "\"");
  }
  return tvmffi_i_append(to, n, "}");
}

/* Appends "arg_names" and "arg_defaults", arguments of make_kwargs_wrapper in
   upstream's utils/kwargs_wrapper.py, and the contract. Appends nothing if the
   buffer is too small. */
TVMFFI_I_COLD size_t tvmffi_i_append_params(char *to, size_t n,
                                            const tvmffi_func *f) {
  const int32_t num_bound = tvmffi_i_is_bound(f);
  const char *name = f->params;
  size_t end = n;
  int32_t i;
  if (!name) return n;
  end = tvmffi_i_append(to, end, ",\"arg_names\":[");
  for (i = 0; i < f->num_args; ++i) {
    if (i >= num_bound) {
      end = tvmffi_i_append(to, end, i > num_bound ? ",\"" : "\"");
      end = tvmffi_i_append(to, end, name);
      end = tvmffi_i_append(to, end, "\"");
    }
    while (*name++) {
    }
  }
  end = tvmffi_i_append(to, end, "]");
  end = tvmffi_i_append_defaults(to, end, f);
  end = tvmffi_i_append_contract(to, end, f->contract);
  return end < TVMFFI_I_METADATA ? end : n;
}

/* Writes a function's metadata without the closing brace. Returns the size. */
TVMFFI_I_COLD size_t tvmffi_i_append_signature(char *to, const tvmffi_func *f) {
  const int32_t num_bound = tvmffi_i_is_bound(f);
  int32_t i;
  size_t n = tvmffi_i_append(
      to, 0, "{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\"");
  if (f->num_args >= 0) {
    n = tvmffi_i_append(to, n, ",\\\"named_args\\\":{\\\"return\\\":[");
    n = tvmffi_i_append_type(to, n, f->types[0]);
    n = tvmffi_i_append(to, n, "],\\\"params\\\":[");
    for (i = 1 + num_bound; i <= f->num_args; ++i) {
      if (i > 1 + num_bound) n = tvmffi_i_append(to, n, ",");
      n = tvmffi_i_append_type(to, n, f->types[i]);
    }
    n = tvmffi_i_append(to, n, "]}");
  }
  return tvmffi_i_append(to, n, "}\"");
}

/* Writes a function's metadata with the parameters' names and defaults. Returns
   {NULL, 0} if the buffer is too small. */
TVMFFI_I_COLD TVMFFIByteArray tvmffi_i_named_metadata(const tvmffi_func *f,
                                                      char *buffer) {
  size_t n = tvmffi_i_append_signature(buffer, f);
  return tvmffi_i_end_metadata(buffer, tvmffi_i_append_params(buffer, n, f));
}

/* Writes a function's metadata without parameter names, as upstream's built-in
   functions have it. */
TVMFFI_I_COLD TVMFFIByteArray tvmffi_i_metadata(const tvmffi_func *f,
                                                char *buffer) {
  return tvmffi_i_end_metadata(buffer, tvmffi_i_append_signature(buffer, f));
}
#endif

TVMFFI_I_COLD int tvmffi_i_bad_metadata(const tvmffi_func *f) {
  return tvmffi_i_raise("ValueError", "The type schema of %s is too long",
                        TVMFFI_I_LOAD(&f->name));
}

TVMFFI_I_COLD int tvmffi_i_return_metadata(const tvmffi_func *f,
                                           TVMFFIAny *out) {
  char buffer[TVMFFI_I_METADATA];
  TVMFFIByteArray text = tvmffi_i_named_metadata(f, buffer);
  if (!text.data) return tvmffi_i_bad_metadata(f);
  return TVMFFIStringFromByteArray(&text, out);
}
