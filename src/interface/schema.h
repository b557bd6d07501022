/* ======== Schemas: type schemas of typed functions ==== >>interface/schema */

#pragma once

#include "../head/compiler.h"
#include "../head/abi.h"
#include "error.h"
#include "word.h"
#include "compound.h"
#include "mismatch.h"

TVMFFI_I_COLD size_t tvmffi_i_append(char *to, size_t n, const char *text) {
  for (; *text; ++text, ++n)
    if (n < TVMFFI_I_METADATA) to[n] = *text;
  return n;
}

/* Appends {"type":...} with its quotes escaped. */
TVMFFI_I_COLD size_t tvmffi_i_append_schema(char *to, size_t n,
                                            const char *schema) {
  char one[2] = {0, 0};
  if (*schema != '{') {
    n = tvmffi_i_append(to, n, "{\\\"type\\\":\\\"");
    n = tvmffi_i_append(to, n, schema);
    return tvmffi_i_append(to, n, "\\\"}");
  }
  for (; *schema; ++schema) {
    if (*schema == '"') n = tvmffi_i_append(to, n, "\\");
    one[0] = *schema;
    n = tvmffi_i_append(to, n, one);
  }
  return n;
}

/* The same of any type. Recurses as deep as the type was written. */
TVMFFI_I_COLD size_t tvmffi_i_append_type(char *to, size_t n,
                                          const tvmffi_i_name *type) {
  const tvmffi_i_compound *of = tvmffi_i_compound_of(type);
  if (!of) return tvmffi_i_append_schema(to, n, type->schema);
  n = tvmffi_i_append(to, n, "{\\\"type\\\":\\\"");
  n = tvmffi_i_append(to, n, type->schema + 1);
  n = tvmffi_i_append(to, n, "\\\",\\\"args\\\":[");
  n = tvmffi_i_append_type(to, n, of->of[0]);
  if (of->of[1]) {
    n = tvmffi_i_append(to, n, ",");
    n = tvmffi_i_append_type(to, n, of->of[1]);
  }
  return tvmffi_i_append(to, n, "]}");
}

/* Gives {NULL, 0} if the buffer has no room for it. */
TVMFFI_I_COLD TVMFFIByteArray tvmffi_i_metadata(const tvmffi_func *f,
                                                char *buffer) {
  TVMFFIByteArray r = {NULL, 0};
  int32_t i;
  size_t n = tvmffi_i_append(
      buffer, 0, "{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\"");
  if (f->num_args >= 0) {
    n = tvmffi_i_append(buffer, n, ",\\\"named_args\\\":{\\\"return\\\":[");
    n = tvmffi_i_append_type(buffer, n, f->types[0]);
    n = tvmffi_i_append(buffer, n, "],\\\"params\\\":[");
    for (i = 1; i <= f->num_args; ++i) {
      if (i > 1) n = tvmffi_i_append(buffer, n, ",");
      n = tvmffi_i_append_type(buffer, n, f->types[i]);
    }
    n = tvmffi_i_append(buffer, n, "]}");
  }
  n = tvmffi_i_append(buffer, n, "}\"}");
  if (n > TVMFFI_I_METADATA) return r;
  r.data = buffer;
  r.size = n;
  return r;
}

TVMFFI_I_COLD int tvmffi_i_bad_metadata(const tvmffi_func *f) {
  return TVMFFI_RAISE("ValueError", "The type schema of %s is too long",
                      f->name);
}

TVMFFI_I_COLD int tvmffi_i_return_metadata(const tvmffi_func *f,
                                           TVMFFIAny *out) {
  char buffer[TVMFFI_I_METADATA];
  TVMFFIByteArray text = tvmffi_i_metadata(f, buffer);
  if (!text.data) return tvmffi_i_bad_metadata(f);
  return TVMFFIStringFromByteArray(&text, out);
}
