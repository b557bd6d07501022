/* registry.c: the global function table, the type table and its attributes.
 *
 * Names are looked up in a shuffled order, so that a large table is met the
 * way a program meets it: out of the cache; each has a function of its own. The
 * limit of a look-up is a table whose places need no search: the name is
 * compared once, and a reference is taken and given back, at a place of 64
 * bytes for each name. Of a name that is absent only the comparison is left.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "threads.h"

/* A name of the limit's table, with its function's count. */
typedef struct place {
  char text[32];
  uint64_t count;
  char rest[24];
} place;

/* Two threads each write their own, so no two share a cache line. */
typedef struct name_set {
  char before[128];
  long count;
  long next; /* kept between rounds, so that each name has its turn */
  TVMFFIByteArray *names; /* shuffled */
  char (*text)[32];
  place *places;
  struct name_set *other; /* the second thread's turn in the same names */
  char after[128];
} name_set;

/* A fixed generator: each run meets the names in the same order. */
static void shuffle(name_set *set) {
  uint64_t x = 88172645463325252u;
  for (long i = set->count - 1; i > 0; --i) {
    TVMFFIByteArray swap = set->names[i];
    long j;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    j = (long)(x % (uint64_t)(i + 1));
    set->names[i] = set->names[j];
    set->names[j] = swap;
  }
}

static name_set *make_names(const char *prefix, long count) {
  name_set *set = bench_alloc(sizeof *set);
  memset(set, 0, sizeof *set);
  set->count = count;
  set->names = bench_alloc((size_t)count * sizeof *set->names);
  set->text = bench_alloc((size_t)count * sizeof *set->text);
  set->places = bench_alloc((size_t)count * sizeof *set->places);
  for (long i = 0; i < count; ++i) {
    int size =
        snprintf(set->text[i], sizeof *set->text, "%s.function_%ld", prefix, i);
    set->names[i] = bench_bytes(set->text[i], (size_t)size);
    memcpy(set->places[i].text, set->text[i], sizeof *set->text);
    set->places[i].count = 1;
  }
  shuffle(set);
  return set;
}

static void rename_only(name_set *set, const char *text) {
  int size = snprintf(set->text[0], sizeof set->text[0], "%s", text);
  set->names[0] = bench_bytes(set->text[0], (size_t)size);
  memcpy(set->places[0].text, set->text[0], sizeof *set->text);
}

static void free_names(const bench_lib *lib, void *state) {
  name_set *set = state;
  (void)lib;
  free(set->names);
  free(set->text);
  free(set->places);
  free(set);
}

static const TVMFFIByteArray *next_name(name_set *set) {
  long next = set->next;
  set->next = next + 1 == set->count ? 0 : next + 1;
  return &set->names[next];
}

static void *present(const bench_lib *lib, long count) {
  name_set *set = make_names("bench.global", count);
  for (long i = 0; i < count; ++i) {
    TVMFFIObjectHandle function =
        bench_function(lib, NULL, bench_nothing, NULL);
    BENCH_DO(FunctionSetGlobal, &set->names[i], function, 1);
    lib->ObjectDecRef(function);
  }
  return set;
}

static void *missing(const bench_lib *lib, long count) {
  free_names(lib, present(lib, count));
  return make_names("bench.absent", count);
}

BENCH_LOOP(get_global) {
  name_set *set = state;
  TVMFFIObjectHandle function;
  for (long i = 0; i < n; ++i) {
    lib->FunctionGetGlobal(next_name(set), &function);
    bench_need(lib, function == NULL, "present name");
    lib->ObjectDecRef(function);
  }
}

BENCH_LOOP(miss_global) {
  name_set *set = state;
  TVMFFIObjectHandle function;
  for (long i = 0; i < n; ++i) {
    lib->FunctionGetGlobal(next_name(set), &function);
    bench_need(lib, function != NULL, "absent name");
  }
}

/* Whether the name stands at its place. */
BENCH_INLINE int at_place(const name_set *set, const TVMFFIByteArray *name,
                          place **found) {
  *found = &set->places[(name->data - set->text[0]) / 32];
  bench_keep(name);
  return memcmp(name->data, (*found)->text, name->size) == 0;
}

static void look_up_limit(const bench_lib *lib, void *state, long n) {
  name_set *set = state;
  (void)lib;
  for (long i = 0; i < n; ++i) {
    place *found;
    if (!at_place(set, next_name(set), &found)) break;
    __atomic_fetch_add(&found->count, 1, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&found->count, 1, __ATOMIC_RELEASE);
  }
}

static void compare_limit(const bench_lib *lib, void *state, long n) {
  name_set *set = state;
  (void)lib;
  for (long i = 0; i < n; ++i) {
    place *found;
    if (!at_place(set, next_name(set), &found)) break;
  }
}

/* The same names by two threads, the second half a turn ahead. */

static void *present_for_two(const bench_lib *lib, long count) {
  name_set *set = present(lib, count);
  bench_pair_start();
  set->other = bench_alloc(sizeof *set->other);
  *set->other = *set;
  set->other->next = count / 2;
  return set;
}

static void free_for_two(const bench_lib *lib, void *state) {
  bench_pair_stop();
  free(((name_set *)state)->other);
  free_names(lib, state);
}

#define TWO_LOOP(name, loop)                                        \
  static void name(const bench_lib *lib, void *state, long n) {     \
    bench_in_pair(loop, lib, state, ((name_set *)state)->other, n); \
  }

TWO_LOOP(get_by_two_stock, get_global_stock)
TWO_LOOP(get_by_two_ours, get_global_ours)
TWO_LOOP(look_up_limit_of_two, look_up_limit)

/* Registering */

typedef struct registering {
  bench_names fresh;
  TVMFFIObjectHandle function;
  TVMFFIMethodInfo method;
  int32_t first; /* the first of a row of new types */
  long used;
} registering;

static void make_method(TVMFFIMethodInfo *method, TVMFFIObjectHandle function) {
  static const char doc[] = "Does nothing.";
  static const char schema[] =
      "{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\"}\"}";
  memset(method, 0, sizeof *method);
  method->name = bench_bytes("run", 3);
  method->doc = bench_bytes(doc, sizeof doc - 1);
  method->metadata = bench_bytes(schema, sizeof schema - 1);
  method->flags = kTVMFFIFieldFlagBitMaskIsStaticMethod;
  method->method.type_index = kTVMFFIFunction;
  method->method.v_obj = function;
}

static void *registering_setup(const bench_lib *lib, long param) {
  registering *state = bench_alloc(sizeof *state);
  (void)param;
  bench_names_start(&state->fresh, "bench.fresh");
  state->function = bench_function(lib, NULL, bench_nothing, NULL);
  make_method(&state->method, state->function);
  state->used = 0;
  return state;
}

static void registering_teardown(const bench_lib *lib, void *state) {
  lib->ObjectDecRef(((registering *)state)->function);
  free(state);
}

static int32_t new_type(const bench_lib *lib, const TVMFFIByteArray *key) {
  return lib->TypeGetOrAllocIndex(key, -1, 1, 0, 1, kTVMFFIObject);
}

/* Types for rows that may touch each type once. */
static void *types_setup(const bench_lib *lib, long param) {
  registering *state = registering_setup(lib, param);
  bench_names_next(&state->fresh);
  state->first = new_type(lib, &state->fresh.name);
  for (int i = 1; i < BENCH_MAX_ROUNDS * BENCH_FRESH; ++i) {
    bench_names_next(&state->fresh);
    new_type(lib, &state->fresh.name);
  }
  return state;
}

BENCH_LOOP(set_fresh) {
  registering *r = state;
  for (long i = 0; i < n; ++i) {
    bench_names_next(&r->fresh);
    BENCH_DO(FunctionSetGlobal, &r->fresh.name, r->function, 0);
  }
}

BENCH_LOOP(set_fresh_method) {
  registering *r = state;
  r->method.name = r->fresh.name;
  for (long i = 0; i < n; ++i) {
    bench_names_next(&r->fresh);
    BENCH_DO(FunctionSetGlobalFromMethodInfo, &r->method, 0);
  }
}

BENCH_LOOP(set_again) {
  static const char text[] = "bench.override";
  const TVMFFIByteArray name = bench_bytes(text, sizeof text - 1);
  registering *r = state;
  for (long i = 0; i < n; ++i) {
    BENCH_DO(FunctionSetGlobal, &name, r->function, 1);
  }
}

BENCH_LOOP(set_again_method) {
  static const char text[] = "bench.override_method";
  registering *r = state;
  r->method.name = bench_bytes(text, sizeof text - 1);
  for (long i = 0; i < n; ++i) {
    BENCH_DO(FunctionSetGlobalFromMethodInfo, &r->method, 1);
  }
}

BENCH_LOOP(alloc_type) {
  registering *r = state;
  for (long i = 0; i < n; ++i) {
    bench_names_next(&r->fresh);
    bench_need(lib, new_type(lib, &r->fresh.name) < 0, "new type");
  }
}

static int read_nothing(void *field, TVMFFIAny *result) {
  (void)field;
  *result = tvmffi_none();
  return 0;
}

BENCH_LOOP(register_field) {
  registering *r = state;
  TVMFFIFieldInfo field;
  memset(&field, 0, sizeof field);
  field.name = bench_bytes("value", 5);
  field.doc = r->method.doc;
  field.metadata = r->method.metadata;
  field.size = 8;
  field.alignment = 8;
  field.offset = sizeof(TVMFFIObject);
  field.field_static_type_index = kTVMFFIInt;
  field.getter = read_nothing;
  for (long i = 0; i < n; ++i) {
    BENCH_DO(TypeRegisterField, r->first + (int32_t)r->used++, &field);
  }
}

BENCH_LOOP(register_method) {
  registering *r = state;
  r->method.name = bench_bytes("run", 3);
  for (long i = 0; i < n; ++i) {
    int32_t type = r->first + (int32_t)r->used++;
    BENCH_DO(TypeRegisterMethod, type, &r->method);
  }
}

BENCH_LOOP(register_metadata) {
  registering *r = state;
  TVMFFITypeMetadata metadata;
  memset(&metadata, 0, sizeof metadata);
  metadata.doc = r->method.doc;
  metadata.total_size = 32;
  for (long i = 0; i < n; ++i) {
    int32_t type = r->first + (int32_t)r->used++;
    BENCH_DO(TypeRegisterMetadata, type, &metadata);
  }
}

BENCH_LOOP(register_attr) {
  static const char text[] = "__bench_attr__";
  const TVMFFIByteArray name = bench_bytes(text, sizeof text - 1);
  const TVMFFIAny value = bench_int(1);
  registering *r = state;
  for (long i = 0; i < n; ++i) {
    int32_t type = r->first + (int32_t)r->used++;
    BENCH_DO(TypeRegisterAttr, type, &name, &value);
  }
}

/* Type table look-ups */

static void *keys_setup(const bench_lib *lib, long count) {
  name_set *set = make_names("bench.type", count);
  for (long i = 0; i < count; ++i) {
    bench_need(lib, new_type(lib, &set->names[i]) < 0,
               "TVMFFITypeGetOrAllocIndex");
  }
  return set;
}

static void *builtin_key(const bench_lib *lib, long param) {
  name_set *set = make_names("bench.type", 1);
  (void)lib;
  (void)param;
  rename_only(set, "ffi.Function");
  return set;
}

BENCH_LOOP(type_key) {
  name_set *set = state;
  int32_t index;
  for (long i = 0; i < n; ++i) {
    BENCH_DO(TypeKeyToIndex, next_name(set), &index);
  }
}

BENCH_LOOP(type_again) {
  name_set *set = state;
  for (long i = 0; i < n; ++i) {
    bench_need(lib, new_type(lib, next_name(set)) < 0, "type");
  }
}

BENCH_LOOP(type_query) {
  name_set *set = state;
  for (long i = 0; i < n; ++i) {
    int32_t index = lib->TypeGetOrAllocIndex(next_name(set), -1, 1, 0, 1, -2);
    bench_need(lib, index < 0, "type");
  }
}

BENCH_LOOP(type_info) {
  (void)state;
  for (long i = 0; i < n; ++i) {
    /* The declaration calls it pure: without this it would leave the loop. */
    int32_t index = kTVMFFIFunction;
    __asm__ volatile("" : "+r"(index) : : "memory");
    bench_keep(lib->GetTypeInfo(index));
  }
}

static void type_info_limit(const bench_lib *lib, void *state, long n) {
  static const void *table[128];
  (void)lib;
  (void)state;
  for (long i = 0; i < n; ++i) {
    int32_t index = kTVMFFIFunction;
    __asm__ volatile("" : "+r"(index) : : "memory");
    bench_keep(table[index]);
  }
}

static void *column_setup(const bench_lib *lib, long param) {
  name_set *set = make_names("bench.type", 1);
  const TVMFFIAny none = bench_none();
  if (param) {
    BENCH_DO(TypeRegisterAttr, kTVMFFINone, &set->names[0], &none);
  } else {
    rename_only(set, "__absent_attr__");
  }
  return set;
}

BENCH_LOOP(attr_column) {
  name_set *set = state;
  for (long i = 0; i < n; ++i) {
    bench_keep(lib->GetTypeAttrColumn(&set->names[0]));
  }
}

#define NAMES_ROW(label, loop, make, least, size, ratio) \
  {.name = label,                                        \
   .run = BENCH_SIDES(loop),                             \
   .setup = make,                                        \
   .teardown = free_names,                               \
   .limit = least,                                       \
   .param = size,                                        \
   .fixed = (size) < 10000 ? 0                           \
            : (size) < 100000 ? (size) : 100000,         \
   .large = (size) >= 10000,                             \
   .goal = ratio}

#define GLOBAL_ROW(text, count, ratio)                             \
  NAMES_ROW("global look-up, " text " names", get_global, present, \
            look_up_limit, count, ratio)

/* A fixed number of steps: what one thread needs to begin must not count. */
#define TWO_ROW(text, count)                        \
  {.name = "global look-up by two, " text " names", \
   .run = BENCH_SIDES(get_by_two),                  \
   .setup = present_for_two,                        \
   .teardown = free_for_two,                        \
   .limit = look_up_limit_of_two,                   \
   .limit_is = "the same by two threads",           \
   .param = count,                                  \
   .fixed = 2000,                                   \
   .by_median = 1}

#define MISSING_ROW(text, count)                                    \
  NAMES_ROW("missing global, " text " names", miss_global, missing, \
            compare_limit, count, BENCH_THRICE)

#define AGAIN_ROW(label, loop)       \
  {.name = label,                    \
   .run = BENCH_SIDES(loop),         \
   .setup = registering_setup,       \
   .teardown = registering_teardown, \
   .limit = bench_limit_malloc}

#define FRESH_ROW(label, loop, make) \
  {.name = label,                    \
   .run = BENCH_SIDES(loop),         \
   .setup = make,                    \
   .teardown = registering_teardown, \
   .limit = bench_limit_malloc,      \
   .fixed = BENCH_FRESH,             \
   .by_median = 1}

const bench_case bench_registry[] = {
    GLOBAL_ROW("100", 100, BENCH_THRICE),
    TWO_ROW("100", 100),
    MISSING_ROW("100", 100),
    GLOBAL_ROW("10,000", 10000, BENCH_THRICE),
    TWO_ROW("10,000", 10000),
    MISSING_ROW("10,000", 10000),
    NAMES_ROW("type key to index, built-in", type_key, builtin_key,
              compare_limit, 1, BENCH_THRICE),
    NAMES_ROW("type key to index, 100 types", type_key, keys_setup,
              compare_limit, 100, BENCH_THRICE),
    NAMES_ROW("type registered again", type_again, keys_setup, compare_limit,
              100, 0),
    NAMES_ROW("type queried", type_query, keys_setup, compare_limit, 100, 0),
    {.name = "type info by index",
     .run = BENCH_SIDES(type_info),
     .limit = type_info_limit},
    NAMES_ROW("attribute column", attr_column, column_setup, compare_limit, 1,
              0),
    NAMES_ROW("attribute column, missing", attr_column, column_setup,
              compare_limit, 0, 0),
    AGAIN_ROW("set global, override", set_again),
    AGAIN_ROW("set global from method info, override", set_again_method),
    FRESH_ROW("set global, new name", set_fresh, registering_setup),
    FRESH_ROW("set global from method info, new name", set_fresh_method,
              registering_setup),
    FRESH_ROW("new type", alloc_type, registering_setup),
    FRESH_ROW("register field", register_field, types_setup),
    FRESH_ROW("register method", register_method, types_setup),
    FRESH_ROW("register metadata", register_metadata, types_setup),
    FRESH_ROW("register attribute", register_attr, types_setup),
    NAMES_ROW("type key to index, 10,000 types", type_key, keys_setup,
              compare_limit, 10000, BENCH_THRICE),
    GLOBAL_ROW("1,000,000", 1000000, 0.25),
    {0}};
