/* map.c: maps and dicts through the built-in functions, as Python and Rust use
 * them: by kind of key and number of entries. What is looked up is never the
 * key object that the map holds, and comes in random order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum kind { INT_KEYS, SHORT_KEYS, LONG_KEYS, KINDS };
#define MAP_PARAM(kind, size) ((size) * KINDS + (kind))

typedef struct map_state {
  TVMFFIObjectHandle make, get, set, map;
  TVMFFIAny *held, *keys;
  long size, at;
} map_state;

static TVMFFIAny map_key(const bench_lib *lib, enum kind kind, long i) {
  /* Spread, as identifiers and hashes are: no two alike below 2^32. */
  uint64_t number = (uint64_t)i * 2654435761u & 0xFFFFFFFF;
  TVMFFIByteArray text;
  TVMFFIAny key;
  char buffer[64];
  int size;
  if (kind == INT_KEYS) return bench_int((int64_t)number);
  size = kind == SHORT_KEYS
             ? snprintf(buffer, sizeof buffer, "%lx", i)
             : snprintf(buffer, sizeof buffer, "model.layers.%08x.weight",
                        (unsigned)number);
  text = bench_bytes(buffer, (size_t)size);
  BENCH_DO(StringFromByteArray, &text, &key);
  return key;
}

static TVMFFIObjectHandle map_function(const bench_lib *lib, const char *name) {
  TVMFFIByteArray text = bench_bytes(name, strlen(name));
  TVMFFIObjectHandle function = NULL;
  BENCH_DO(FunctionGetGlobal, &text, &function);
  bench_need(lib, function == NULL, name);
  return function;
}

static void map_fresh(const bench_lib *lib, map_state *s) {
  TVMFFIAny result = bench_none();
  BENCH_DO(FunctionCall, s->make, NULL, 0, &result);
  if (s->map) lib->ObjectDecRef(s->map);
  s->map = result.v_obj;
}

static inline void map_set(const bench_lib *lib, const map_state *s,
                           const TVMFFIAny *key, long value) {
  TVMFFIAny args[3] = {bench_none(), *key, bench_int(value)};
  TVMFFIAny result = bench_none();
  args[0].type_index = kTVMFFIDict;
  args[0].v_obj = s->map;
  BENCH_DO(FunctionCall, s->set, args, 3, &result);
}

static void *map_setup(const bench_lib *lib, long param) {
  map_state *s = bench_alloc(sizeof *s);
  enum kind kind = (enum kind)(param % KINDS);
  uint64_t random = 88172645463325252u;
  memset(s, 0, sizeof *s);
  s->size = param / KINDS;
  s->make = map_function(lib, "ffi.Dict");
  s->get = map_function(lib, "ffi.DictGetItem");
  s->set = map_function(lib, "ffi.DictSetItem");
  s->held = bench_alloc((size_t)s->size * sizeof *s->held);
  s->keys = bench_alloc((size_t)s->size * sizeof *s->keys);
  for (long i = 0; i < s->size; ++i) s->held[i] = map_key(lib, kind, i);
  for (long i = 0; i < s->size; ++i) s->keys[i] = map_key(lib, kind, i);
  for (long i = s->size - 1; i > 0; --i) {
    TVMFFIAny key = s->keys[i];
    long j;
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    j = (long)(random % (uint64_t)(i + 1));
    s->keys[i] = s->keys[j];
    s->keys[j] = key;
  }
  map_fresh(lib, s);
  for (long i = 0; i < s->size; ++i) map_set(lib, s, &s->held[i], i);
  return s;
}

static void map_teardown(const bench_lib *lib, void *state) {
  map_state *s = state;
  lib->ObjectDecRef(s->map);
  lib->ObjectDecRef(s->make);
  lib->ObjectDecRef(s->get);
  lib->ObjectDecRef(s->set);
  for (long i = 0; i < s->size; ++i) {
    bench_any_release(lib, &s->held[i]);
    bench_any_release(lib, &s->keys[i]);
  }
  free(s->held);
  free(s->keys);
  free(s);
}

static inline const TVMFFIAny *map_next(map_state *s) {
  const TVMFFIAny *key = &s->keys[s->at];
  s->at = s->at + 1 < s->size ? s->at + 1 : 0;
  return key;
}

BENCH_LOOP(get) {
  map_state *s = state;
  for (long i = 0; i < n; ++i) {
    TVMFFIAny args[2] = {bench_none(), *map_next(s)};
    TVMFFIAny result = bench_none();
    args[0].type_index = kTVMFFIDict;
    args[0].v_obj = s->map;
    BENCH_DO(FunctionCall, s->get, args, 2, &result);
    bench_keep(&result);
  }
}

BENCH_LOOP(set) {
  map_state *s = state;
  for (long i = 0; i < n; ++i) map_set(lib, s, map_next(s), i);
}

/* All keys into an empty dict, which grows, and the end of the one before. */
BENCH_LOOP(fill) {
  map_state *s = state;
  for (long i = 0; i < n; ++i) {
    if (s->at == 0) map_fresh(lib, s);
    map_set(lib, s, map_next(s), i);
  }
}

/* The key read, and one word at a place that depends on it. */
static void one_look(const bench_lib *lib, void *state, long n) {
  map_state *s = state;
  uint64_t sum = 0;
  (void)lib;
  for (long i = 0; i < n; ++i) {
    const TVMFFIAny *key = map_next(s);
    uint64_t place = key->v_uint64 * 0x9E3779B97F4A7C15u >> 32;
    sum += s->held[place * (uint64_t)s->size >> 32].v_uint64;
  }
  bench_keep(&sum);
}

#define MAP_ROW(label, loop, kind, entries, steps, times) \
  {.name = label,                                         \
   .run = BENCH_SIDES(loop),                              \
   .setup = map_setup,                                    \
   .teardown = map_teardown,                              \
   .limit = one_look,                                     \
   .param = MAP_PARAM(kind, entries),                     \
   .fixed = steps,                                        \
   .rounds = times,                                       \
   .goal = 0.667}

#define MAP_ROWS(word, loop, name, kind)                                  \
  MAP_ROW(word ", " name " keys, 10", loop, kind, 10, 0, 0),              \
      MAP_ROW(word ", " name " keys, 1,000", loop, kind, 1000, 0, 0),     \
      MAP_ROW(word ", " name " keys, 100,000", loop, kind, 100000, 0, 0), \
      MAP_ROW(word ", " name " keys, 1,000,000", loop, kind, 1000000, 0, 0)

#define FILL_ROWS(name, kind)                                                  \
  MAP_ROW("fill, " name " keys, 10", fill, kind, 10, 1000, 0),                 \
      MAP_ROW("fill, " name " keys, 1,000", fill, kind, 1000, 1000, 0),        \
      MAP_ROW("fill, " name " keys, 100,000", fill, kind, 100000, 100000, 10), \
      MAP_ROW("fill, " name " keys, 1,000,000", fill, kind, 1000000, 1000000,  \
              3)

const bench_case bench_map[] = {MAP_ROWS("get", get, "integer", INT_KEYS),
                                MAP_ROWS("get", get, "short text", SHORT_KEYS),
                                MAP_ROWS("get", get, "long text", LONG_KEYS),
                                MAP_ROWS("set", set, "integer", INT_KEYS),
                                MAP_ROWS("set", set, "short text", SHORT_KEYS),
                                MAP_ROWS("set", set, "long text", LONG_KEYS),
                                FILL_ROWS("integer", INT_KEYS),
                                FILL_ROWS("short text", SHORT_KEYS),
                                FILL_ROWS("long text", LONG_KEYS),
                                {0}};
