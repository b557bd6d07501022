/* json.c: JSON texts through the built-in functions. The records are what such
 * texts mostly are, a hundred bytes each; the other texts have one kind of
 * value only. Reading includes the release of what was read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum text { RECORDS, INTS, FLOATS, TEXTS, TEXT_KINDS };
enum way { COMPACT, INDENTED, GRAPH, WAYS };
#define JSON_PARAM(kind, way) ((kind) * WAYS + (way))

typedef struct json_state {
  TVMFFIObjectHandle read, write;
  TVMFFIAny text, value, indent;
} json_state;

static TVMFFIObjectHandle json_function(const bench_lib *lib,
                                        const char *name) {
  TVMFFIByteArray text = bench_bytes(name, strlen(name));
  TVMFFIObjectHandle function = NULL;
  BENCH_DO(FunctionGetGlobal, &text, &function);
  bench_need(lib, function == NULL, name);
  return function;
}

/* A double of 15 to 17 digits. */
static double json_number(int i) {
  return (double)((uint64_t)i * 2654435761u % 1000003) / 10007;
}

static int json_item(char *to, size_t room, enum text kind, int i) {
  switch (kind) {
    case RECORDS:
      return snprintf(to, room,
                      "{\"id\":%d,\"name\":\"record %d\",\"score\":%.17g,"
                      "\"ok\":%s,\"tags\":[\"a\",\"bb\",\"tag number\"],"
                      "\"at\":{\"x\":%d,\"y\":%d}}",
                      i, i, json_number(i), i % 2 ? "true" : "false", i, -i);
    case INTS: return snprintf(to, room, "%d", i * 7919 % 1000003);
    case FLOATS: return snprintf(to, room, "%.17g", json_number(i));
    default:
      return snprintf(to, room, "\"some text of %d words\\nand its escapes\"",
                      i);
  }
}

/* A list of a thousand items, in a string (owned by the caller). */
static TVMFFIAny json_text(const bench_lib *lib, enum text kind) {
  enum { ITEMS = 1000, ROOM = 200 };
  char *buffer = bench_alloc(ITEMS * ROOM);
  TVMFFIByteArray text;
  TVMFFIAny out;
  size_t size = 0;
  for (int i = 0; i < ITEMS; ++i) {
    buffer[size++] = i ? ',' : '[';
    size += (size_t)json_item(buffer + size, ROOM - 1, kind, i);
  }
  buffer[size++] = ']';
  text = bench_bytes(buffer, size);
  BENCH_DO(StringFromByteArray, &text, &out);
  free(buffer);
  return out;
}

static TVMFFIAny json_call(const bench_lib *lib, TVMFFIObjectHandle function,
                           const TVMFFIAny *first, const TVMFFIAny *second) {
  TVMFFIAny args[2], result = bench_none();
  args[0] = *first;
  if (second) args[1] = *second;
  BENCH_DO(FunctionCall, function, args, second ? 2 : 1, &result);
  return result;
}

static void *json_setup(const bench_lib *lib, long param) {
  json_state *s = bench_alloc(sizeof *s);
  enum way way = (enum way)(param % WAYS);
  TVMFFIAny text = json_text(lib, (enum text)(param / WAYS));
  TVMFFIObjectHandle parse = json_function(lib, "ffi.json.Parse");
  s->read = parse;
  s->write = json_function(lib, "ffi.json.Stringify");
  if (way == GRAPH) {
    lib->ObjectDecRef(s->write);
    s->read = json_function(lib, "ffi.FromJSONGraphString");
    s->write = json_function(lib, "ffi.ToJSONGraphString");
  }
  s->indent = way == INDENTED ? bench_int(2) : bench_none();
  s->value = json_call(lib, parse, &text, NULL);
  s->text = json_call(lib, s->write, &s->value, &s->indent);
  bench_any_release(lib, &text);
  if (way == GRAPH) lib->ObjectDecRef(parse);
  return s;
}

static void json_teardown(const bench_lib *lib, void *state) {
  json_state *s = state;
  bench_any_release(lib, &s->value);
  bench_any_release(lib, &s->text);
  lib->ObjectDecRef(s->read);
  lib->ObjectDecRef(s->write);
  free(s);
}

BENCH_LOOP(read_text) {
  json_state *s = state;
  for (long i = 0; i < n; ++i) {
    TVMFFIAny value = json_call(lib, s->read, &s->text, NULL);
    bench_any_release(lib, &value);
  }
}

BENCH_LOOP(write_text) {
  json_state *s = state;
  for (long i = 0; i < n; ++i) {
    TVMFFIAny text = json_call(lib, s->write, &s->value, &s->indent);
    bench_any_release(lib, &text);
  }
}

/* The text copied. */
static void copy_text(const bench_lib *lib, void *state, long n) {
  const json_state *s = state;
  const TVMFFIByteArray *text = bench_cell(s->text.v_obj);
  (void)lib;
  for (long i = 0; i < n; ++i) {
    char *copy = bench_alloc(text->size);
    memcpy(copy, text->data, text->size);
    bench_keep(copy);
    free(copy);
  }
}

#define JSON_ROW(label, loop, kind, way, most) \
  {.name = label,                              \
   .run = BENCH_SIDES(loop),                   \
   .setup = json_setup,                        \
   .teardown = json_teardown,                  \
   .limit = copy_text,                         \
   .param = JSON_PARAM(kind, way),             \
   .goal = most}

const bench_case bench_json[] = {
    JSON_ROW("read, 1,000 records", read_text, RECORDS, COMPACT, 0.33),
    JSON_ROW("read, 1,000 records, indented", read_text, RECORDS, INDENTED,
             0.4),
    JSON_ROW("read, 1,000 integers", read_text, INTS, COMPACT, 0),
    JSON_ROW("read, 1,000 numbers", read_text, FLOATS, COMPACT, 0),
    JSON_ROW("read, 1,000 texts", read_text, TEXTS, COMPACT, 0),
    JSON_ROW("read graph, 1,000 records", read_text, RECORDS, GRAPH, 0.4),
    JSON_ROW("write, 1,000 records", write_text, RECORDS, COMPACT, 0.1),
    JSON_ROW("write, 1,000 records, indented", write_text, RECORDS, INDENTED,
             0.1),
    JSON_ROW("write, 1,000 integers", write_text, INTS, COMPACT, 0),
    JSON_ROW("write, 1,000 numbers", write_text, FLOATS, COMPACT, 0),
    JSON_ROW("write, 1,000 texts", write_text, TEXTS, COMPACT, 0),
    JSON_ROW("write graph, 1,000 records", write_text, RECORDS, GRAPH, 0.1),
    {0}};
