/* registry.c: the global function table, the type table and its attributes.
 *
 * Names are looked up in a shuffled order, so that a large table is met the
 * way a program meets it: out of the cache. The limit of a look-up is to
 * compare the name once and to take and give back a reference.
 *
 * The order of the rows matters: a table only grows, so the rows on few names
 * stand before those on many, and rows that register come last.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

typedef struct name_set {
  long count;
  long next; /* kept between rounds, so that each name has its turn */
  TVMFFIByteArray *names;
  char (*text)[32];
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
  set->count = count;
  set->next = 0;
  set->names = bench_alloc((size_t)count * sizeof *set->names);
  set->text = bench_alloc((size_t)count * sizeof *set->text);
  for (long i = 0; i < count; ++i) {
    int size = snprintf(set->text[i], sizeof *set->text, "%s.function_%ld",
                        prefix, i);
    set->names[i] = bench_bytes(set->text[i], (size_t)size);
  }
  shuffle(set);
  return set;
}

static void rename_only(name_set *set, const char *text) {
  int size = snprintf(set->text[0], sizeof set->text[0], "%s", text);
  set->names[0] = bench_bytes(set->text[0], (size_t)size);
}

static void free_names(const bench_lib *lib, void *state) {
  name_set *set = state;
  (void)lib;
  free(set->names);
  free(set->text);
  free(set);
}

static const TVMFFIByteArray *next_name(name_set *set) {
  long next = set->next;
  set->next = next + 1 == set->count ? 0 : next + 1;
  return &set->names[next];
}

static void *present(const bench_lib *lib, long count) {
  name_set *set = make_names("bench.global", count);
  TVMFFIObjectHandle function = bench_function(lib, NULL, bench_nothing, NULL);
  for (long i = 0; i < count; ++i) {
    BENCH_DO(FunctionSetGlobal, &set->names[i], function, 1);
  }
  lib->ObjectDecRef(function);
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

static void look_up_limit(const bench_lib *lib, void *state, long n) {
  static uint64_t count = 1;
  name_set *set = state;
  (void)lib;
  for (long i = 0; i < n; ++i) {
    const TVMFFIByteArray *name = next_name(set);
    bench_keep(name);
    if (memcmp(name->data, set->text[0], 4) != 0) break;
    __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&count, 1, __ATOMIC_RELEASE);
  }
}

static void compare_limit(const bench_lib *lib, void *state, long n) {
  name_set *set = state;
  (void)lib;
  for (long i = 0; i < n; ++i) {
    const TVMFFIByteArray *name = next_name(set);
    bench_keep(name);
    if (memcmp(name->data, set->text[0], 4) != 0) break;
  }
}

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

const bench_case bench_registry[] = {
    {.name = "global look-up, 100 names",
     .run = BENCH_SIDES(get_global),
     .setup = present,
     .teardown = free_names,
     .limit = look_up_limit,
     .param = 100,
     .goal = BENCH_THRICE},
    {.name = "missing global, 100 names",
     .run = BENCH_SIDES(miss_global),
     .setup = missing,
     .teardown = free_names,
     .limit = compare_limit,
     .param = 100,
     .goal = BENCH_THRICE},
    {.name = "global look-up, 10000 names",
     .run = BENCH_SIDES(get_global),
     .setup = present,
     .teardown = free_names,
     .limit = look_up_limit,
     .param = 10000,
     .goal = BENCH_THRICE},
    {.name = "missing global, 10000 names",
     .run = BENCH_SIDES(miss_global),
     .setup = missing,
     .teardown = free_names,
     .limit = compare_limit,
     .param = 10000,
     .goal = BENCH_THRICE},
    {.name = "type key to index, built-in",
     .run = BENCH_SIDES(type_key),
     .setup = builtin_key,
     .teardown = free_names,
     .limit = compare_limit,
     .goal = BENCH_THRICE},
    {.name = "type key to index, 100 types",
     .run = BENCH_SIDES(type_key),
     .setup = keys_setup,
     .teardown = free_names,
     .limit = compare_limit,
     .param = 100,
     .goal = BENCH_THRICE},
    {.name = "type registered again",
     .run = BENCH_SIDES(type_again),
     .setup = keys_setup,
     .teardown = free_names,
     .limit = compare_limit,
     .param = 100},
    {.name = "type queried",
     .run = BENCH_SIDES(type_query),
     .setup = keys_setup,
     .teardown = free_names,
     .limit = compare_limit,
     .param = 100},
    {.name = "type info by index",
     .run = BENCH_SIDES(type_info),
     .limit = type_info_limit},
    {.name = "attribute column",
     .run = BENCH_SIDES(attr_column),
     .setup = column_setup,
     .teardown = free_names,
     .limit = compare_limit,
     .param = 1},
    {.name = "attribute column, missing",
     .run = BENCH_SIDES(attr_column),
     .setup = column_setup,
     .teardown = free_names,
     .limit = compare_limit},
    {.name = "set global, override",
     .run = BENCH_SIDES(set_again),
     .setup = registering_setup,
     .teardown = registering_teardown,
     .limit = bench_limit_malloc},
    {.name = "set global from method info, override",
     .run = BENCH_SIDES(set_again_method),
     .setup = registering_setup,
     .teardown = registering_teardown,
     .limit = bench_limit_malloc},
    {.name = "set global, new name",
     .run = BENCH_SIDES(set_fresh),
     .setup = registering_setup,
     .teardown = registering_teardown,
     .limit = bench_limit_malloc,
     .fixed = BENCH_FRESH},
    {.name = "set global from method info, new name",
     .run = BENCH_SIDES(set_fresh_method),
     .setup = registering_setup,
     .teardown = registering_teardown,
     .limit = bench_limit_malloc,
     .fixed = BENCH_FRESH},
    {.name = "new type",
     .run = BENCH_SIDES(alloc_type),
     .setup = registering_setup,
     .teardown = registering_teardown,
     .limit = bench_limit_malloc,
     .fixed = BENCH_FRESH},
    {.name = "register field",
     .run = BENCH_SIDES(register_field),
     .setup = types_setup,
     .teardown = registering_teardown,
     .limit = bench_limit_malloc,
     .fixed = BENCH_FRESH},
    {.name = "register method",
     .run = BENCH_SIDES(register_method),
     .setup = types_setup,
     .teardown = registering_teardown,
     .limit = bench_limit_malloc,
     .fixed = BENCH_FRESH},
    {.name = "register metadata",
     .run = BENCH_SIDES(register_metadata),
     .setup = types_setup,
     .teardown = registering_teardown,
     .limit = bench_limit_malloc,
     .fixed = BENCH_FRESH},
    {.name = "register attribute",
     .run = BENCH_SIDES(register_attr),
     .setup = types_setup,
     .teardown = registering_teardown,
     .limit = bench_limit_malloc,
     .fixed = BENCH_FRESH},
    {0}};
