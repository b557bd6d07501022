/* map.c: maps and dicts through the built-in functions, as Python and Rust use
 * them: by kind of key and number of entries. What is looked up is never the
 * key object that the map holds, and comes in random order. The limit of a
 * look-up is one word at a place that depends on the key; of iterating, to read
 * the entries out of a block; of making a map, to allocate and fill one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum kind { INT_KEYS, SHORT_KEYS, LONG_KEYS, KINDS };
#define MAP_PARAM(kind, size) ((size) * KINDS + (kind))

enum map_op {
  MAKE,
  GET,
  SET,
  OR_MISSING,
  COUNT,
  ERASE,
  CLEAR,
  SIZE,
  ITER,
  OPS
};
static const char *const map_ops[OPS] = {"ffi.Dict",
                                         "ffi.DictGetItem",
                                         "ffi.DictSetItem",
                                         "ffi.DictGetItemOrMissing",
                                         "ffi.DictCount",
                                         "ffi.DictErase",
                                         "ffi.DictClear",
                                         "ffi.DictSize",
                                         "ffi.DictForwardIterFunctor"};

typedef struct map_state {
  TVMFFIObjectHandle ops[OPS], make_map, map, iterator;
  TVMFFIAny *held, *keys;
  TVMFFIAny *pairs; /* held keys, each with an integer */
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
  BENCH_DO(FunctionCall, s->ops[MAKE], NULL, 0, &result);
  if (s->map) lib->ObjectDecRef(s->map);
  s->map = result.v_obj;
}

static inline void map_set(const bench_lib *lib, const map_state *s,
                           const TVMFFIAny *key, long value) {
  TVMFFIAny args[3] = {bench_none(), *key, bench_int(value)};
  TVMFFIAny result = bench_none();
  args[0].type_index = kTVMFFIDict;
  args[0].v_obj = s->map;
  BENCH_DO(FunctionCall, s->ops[SET], args, 3, &result);
}

static void *map_setup(const bench_lib *lib, long param) {
  map_state *s = bench_alloc(sizeof *s);
  enum kind kind = (enum kind)(param % KINDS);
  uint64_t random = 88172645463325252u;
  memset(s, 0, sizeof *s);
  s->size = param / KINDS;
  for (int op = 0; op < OPS; ++op) s->ops[op] = map_function(lib, map_ops[op]);
  s->make_map = map_function(lib, "ffi.Map");
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
  s->pairs = bench_alloc((size_t)s->size * 2 * sizeof *s->pairs);
  map_fresh(lib, s);
  for (long i = 0; i < s->size; ++i) {
    map_set(lib, s, &s->held[i], i);
    s->pairs[2 * i] = s->held[i];
    s->pairs[2 * i + 1] = bench_int(i);
  }
  return s;
}

static void map_teardown(const bench_lib *lib, void *state) {
  map_state *s = state;
  lib->ObjectDecRef(s->map);
  lib->ObjectDecRef(s->make_map);
  if (s->iterator) lib->ObjectDecRef(s->iterator);
  for (int op = 0; op < OPS; ++op) lib->ObjectDecRef(s->ops[op]);
  for (long i = 0; i < s->size; ++i) {
    bench_any_release(lib, &s->held[i]);
    bench_any_release(lib, &s->keys[i]);
  }
  free(s->held);
  free(s->keys);
  free(s->pairs);
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
    BENCH_DO(FunctionCall, s->ops[GET], args, 2, &result);
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

/* One call of an operation on the dict; the result is owned. */
BENCH_INLINE TVMFFIAny map_call(const bench_lib *lib, const map_state *s,
                                enum map_op op, const TVMFFIAny *key) {
  TVMFFIAny args[2] = {bench_none(), key ? *key : bench_none()};
  TVMFFIAny result = bench_none();
  args[0].type_index = kTVMFFIDict;
  args[0].v_obj = s->map;
  BENCH_DO(FunctionCall, s->ops[op], args, key ? 2 : 1, &result);
  return result;
}

/* No key is above 2^32. */
static TVMFFIAny map_absent(map_state *s) {
  return bench_int(map_next(s)->v_int64 + (INT64_C(1) << 33));
}

BENCH_LOOP(or_missing) {
  for (long i = 0; i < n; ++i) {
    TVMFFIAny key = map_absent(state);
    TVMFFIAny result = map_call(lib, state, OR_MISSING, &key);
    bench_any_release(lib, &result);
  }
}

BENCH_LOOP(count) {
  for (long i = 0; i < n; ++i) {
    TVMFFIAny result = map_call(lib, state, COUNT, map_next(state));
    bench_need(lib, result.v_int64 != 1, "DictCount");
  }
}

BENCH_LOOP(count_absent) {
  for (long i = 0; i < n; ++i) {
    TVMFFIAny key = map_absent(state);
    TVMFFIAny result = map_call(lib, state, COUNT, &key);
    bench_need(lib, result.v_int64 != 0, "DictCount");
  }
}

BENCH_LOOP(size) {
  for (long i = 0; i < n; ++i) {
    TVMFFIAny result = map_call(lib, state, SIZE, NULL);
    bench_keep(&result);
  }
}

BENCH_LOOP(erase_set) {
  for (long i = 0; i < n; ++i) {
    const TVMFFIAny *key = map_next(state);
    map_call(lib, state, ERASE, key);
    map_set(lib, state, key, i);
  }
}

/* All keys into a dict that is emptied, and keeps its memory if it can. */
BENCH_LOOP(clear_fill) {
  map_state *s = state;
  for (long i = 0; i < n; ++i) {
    if (s->at == 0) map_call(lib, s, CLEAR, NULL);
    map_set(lib, s, map_next(s), i);
  }
}

/* A key, its value, and on to the next, over and over. */
BENCH_LOOP(iterate) {
  map_state *s = state;
  for (long i = 0; i < n; ++i) {
    TVMFFIAny command, result[3];
    if (!s->iterator) s->iterator = map_call(lib, s, ITER, NULL).v_obj;
    for (int k = 0; k < 3; ++k) {
      command = bench_int(k);
      result[k] = bench_none();
      BENCH_DO(FunctionCall, s->iterator, &command, 1, &result[k]);
    }
    bench_any_release(lib, &result[0]);
    if (result[2].v_int64) continue;
    lib->ObjectDecRef(s->iterator);
    s->iterator = NULL;
  }
}

BENCH_LOOP(make_map) {
  map_state *s = state;
  for (long i = 0; i < n; ++i) {
    TVMFFIAny result = bench_none();
    BENCH_DO(FunctionCall, s->make_map, s->pairs, (int32_t)s->size * 2,
             &result);
    bench_any_release(lib, &result);
  }
}

/* Limits */

static void read_pair(const bench_lib *lib, void *state, long n) {
  map_state *s = state;
  (void)lib;
  for (long i = 0; i < n; ++i) {
    TVMFFIAny pair[2];
    long at = map_next(s) - s->keys;
    pair[0] = s->pairs[2 * at];
    pair[1] = s->pairs[2 * at + 1];
    bench_keep(pair);
  }
}

static void one_block(const bench_lib *lib, void *state, long n) {
  map_state *s = state;
  size_t size = (size_t)s->size * 2 * sizeof *s->pairs;
  (void)lib;
  for (long i = 0; i < n; ++i) {
    void *block = bench_alloc(size);
    memcpy(block, s->pairs, size);
    bench_keep(block);
    free(block);
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

#define TEXT_one_look "a word read at a place that depends on the key"
#define TEXT_read_pair "a key and a value read out of a block"
#define TEXT_one_block "one block made, filled and freed"
#define TEXT_bench_limit_store NULL

#define MAP_ROW_TO(text, loop, kind, entries, steps, times, least, most) \
  {.name = text,                                                         \
   .run = BENCH_SIDES(loop),                                             \
   .setup = map_setup,                                                   \
   .teardown = map_teardown,                                             \
   .limit = least,                                                       \
   .limit_is = TEXT_##least,                                             \
   .param = MAP_PARAM(kind, entries),                                    \
   .fixed = steps,                                                       \
   .rounds = times,                                                      \
   .large = (entries) >= 100000,                                         \
   .goal = most}
#define MAP_ROW(text, loop, kind, entries, steps, times) \
  MAP_ROW_TO(text, loop, kind, entries, steps, times, one_look, 0.667)

#define MAP_ROWS(word, loop, name, kind)                              \
  MAP_ROW(word ", " name " keys, 10", loop, kind, 10, 0, 0),          \
      MAP_ROW(word ", " name " keys, 1,000", loop, kind, 1000, 0, 0), \
      MAP_ROW(word ", " name " keys, 100,000", loop, kind, 100000, 100000, 0)
#define MILLION_ROW(word, loop, name, kind) \
  MAP_ROW(word ", " name " keys, 1,000,000", loop, kind, 1000000, 100000, 0)

/* A round fills the largest dicts once: more rounds come with the passes. */
#define FILL_ROWS(name, kind)                                           \
  MAP_ROW("fill, " name " keys, 10", fill, kind, 10, 1000, 0),          \
      MAP_ROW("fill, " name " keys, 1,000", fill, kind, 1000, 1000, 0), \
      MAP_ROW("fill, " name " keys, 100,000", fill, kind, 100000, 100000, 4)

/* By integer keys alone. */
#define INT_ROWS(word, loop, least)                                     \
  MAP_ROW_TO(word ", 10", loop, INT_KEYS, 10, 0, 0, least, 0),          \
      MAP_ROW_TO(word ", 1,000", loop, INT_KEYS, 1000, 0, 0, least, 0), \
      MAP_ROW_TO(word ", 100,000", loop, INT_KEYS, 100000, 100000, 0, least, 0)

const bench_case bench_map[] = {
    MAP_ROWS("get", get, "integer", INT_KEYS),
    MILLION_ROW("get", get, "integer", INT_KEYS),
    MAP_ROWS("get", get, "short text", SHORT_KEYS),
    MILLION_ROW("get", get, "short text", SHORT_KEYS),
    MAP_ROWS("get", get, "long text", LONG_KEYS),
    MILLION_ROW("get", get, "long text", LONG_KEYS),
    MAP_ROWS("set", set, "integer", INT_KEYS),
    MILLION_ROW("set", set, "integer", INT_KEYS),
    MAP_ROWS("set", set, "short text", SHORT_KEYS),
    MILLION_ROW("set", set, "short text", SHORT_KEYS),
    MAP_ROWS("set", set, "long text", LONG_KEYS),
    MILLION_ROW("set", set, "long text", LONG_KEYS),
    FILL_ROWS("integer", INT_KEYS),
    MAP_ROW("fill, integer keys, 1,000,000", fill, INT_KEYS, 1000000, 1000000,
            1),
    FILL_ROWS("short text", SHORT_KEYS),
    FILL_ROWS("long text", LONG_KEYS),
    INT_ROWS("get or missing, absent", or_missing, one_look),
    INT_ROWS("count", count, one_look),
    INT_ROWS("count, absent", count_absent, one_look),
    INT_ROWS("erase and set", erase_set, one_look),
    MAP_ROW_TO("clear and fill, 10", clear_fill, INT_KEYS, 10, 1000, 0,
               one_look, 0),
    MAP_ROW_TO("clear and fill, 1,000", clear_fill, INT_KEYS, 1000, 1000, 0,
               one_look, 0),
    MAP_ROW_TO("clear and fill, 100,000", clear_fill, INT_KEYS, 100000, 100000,
               10, one_look, 0),
    INT_ROWS("iterate", iterate, read_pair),
    MAP_ROW_TO("size, 1,000", size, INT_KEYS, 1000, 0, 0, bench_limit_store, 0),
    MAP_ROW_TO("map make and release, 10", make_map, INT_KEYS, 10, 0, 0,
               one_block, 0),
    MAP_ROW_TO("map make and release, 1,000", make_map, INT_KEYS, 1000, 0, 0,
               one_block, 0),
    MAP_ROW_TO("map make and release, 100,000", make_map, INT_KEYS, 100000, 1,
               5, one_block, 0),
    {0}};
