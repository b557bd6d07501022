/* object.c: opaque objects, big integers, handles and the small rest.
 *
 * An object is made and released at once, or many are made before the first is
 * released; the limit is the same by malloc and free, or by a list of free
 * blocks of one thread. */
#include <stdlib.h>

#include "bench.h"
#include "free_list.h"

static void no_deleter(void *handle) { (void)handle; }

BENCH_LOOP(opaque) {
  TVMFFIObjectHandle object;
  (void)state;
  for (long i = 0; i < n; ++i) {
    BENCH_DO(ObjectCreateOpaque, &object, kTVMFFIOpaquePyObject, no_deleter,
             &object);
    lib->ObjectDecRef(object);
  }
}

/* Many alive at a time: a step is one of them. */

static void *crowd_setup(const bench_lib *lib, long count) {
  void **crowd = bench_alloc(((size_t)count + 1) * sizeof *crowd);
  (void)lib;
  crowd[0] = (void *)count;
  return crowd;
}

static void crowd_teardown(const bench_lib *lib, void *state) {
  (void)lib;
  free(state);
}

BENCH_LOOP(crowd) {
  void **objects = state;
  long count = (long)objects[0];
  for (long i = 0; i < n; i += count) {
    for (long k = 1; k <= count; ++k) {
      BENCH_DO(ObjectCreateOpaque, &objects, kTVMFFIOpaquePyObject, no_deleter,
               &objects[k]);
    }
    for (long k = 1; k <= count; ++k) lib->ObjectDecRef(objects[k]);
  }
}

static void crowd_limit(const bench_lib *lib, void *state, long n) {
  void **blocks = state;
  long count = (long)blocks[0];
  (void)lib;
  for (long i = 0; i < n; i += count) {
    for (long k = 1; k <= count; ++k) blocks[k] = malloc(40);
    bench_keep(blocks);
    for (long k = 1; k <= count; ++k) free(blocks[k]);
  }
}

/* Big integers: one word that fits an int, and two that do not. */

static const int64_t words[2] = {5, 7};

BENCH_LOOP(big_int) {
  const TVMFFIByteArray bytes = bench_bytes((const char *)words, 16);
  TVMFFIAny any;
  (void)state;
  for (long i = 0; i < n; ++i) {
    BENCH_DO(BigIntFromByteArray, &bytes, &any);
    bench_any_release(lib, &any);
  }
}

BENCH_LOOP(small_big_int) {
  const TVMFFIByteArray bytes = bench_bytes((const char *)words, 8);
  TVMFFIAny any;
  (void)state;
  for (long i = 0; i < n; ++i) {
    BENCH_DO(BigIntFromByteArray, &bytes, &any);
    bench_any_release(lib, &any);
  }
}

static void *big_int_setup(const bench_lib *lib, long param) {
  const TVMFFIByteArray bytes = bench_bytes((const char *)words, 16);
  TVMFFIAny *any = bench_alloc(sizeof *any);
  (void)param;
  BENCH_DO(BigIntFromByteArray, &bytes, any);
  return any;
}

static void big_int_teardown(const bench_lib *lib, void *state) {
  bench_any_release(lib, state);
  free(state);
}

BENCH_LOOP(big_int_content) {
  for (long i = 0; i < n; ++i) {
    TVMFFIByteArray content = lib->BigIntGetContentByteArray(state);
    bench_keep(&content);
  }
}

/* Handles made once */

static void *handle;

static int handle_init(void **result) {
  *result = &handle;
  return 0;
}

static int handle_deinit(void *result) {
  (void)result;
  return 0;
}

BENCH_LOOP(init_fast) {
  (void)state;
  for (long i = 0; i < n; ++i) {
    BENCH_DO(HandleInitOnce, &handle, handle_init);
  }
  lib->HandleDeinitOnce(&handle, handle_deinit);
}

static void init_limit(const bench_lib *lib, void *state, long n) {
  static void *made = &made;
  (void)lib;
  (void)state;
  for (long i = 0; i < n; ++i) {
    if (!__atomic_load_n(&made, __ATOMIC_ACQUIRE)) break;
    bench_keep(&made);
  }
}

BENCH_LOOP(init_slow) {
  (void)state;
  for (long i = 0; i < n; ++i) {
    BENCH_DO(HandleInitOnce, &handle, handle_init);
    BENCH_DO(HandleDeinitOnce, &handle, handle_deinit);
  }
}

/* The rest */

BENCH_LOOP(get_version) {
  TVMFFIVersion version;
  (void)state;
  for (long i = 0; i < n; ++i) {
    lib->GetVersion(&version);
    bench_keep(&version);
  }
}

BENCH_LOOP(get_custom_allocator) {
  (void)state;
  for (long i = 0; i < n; ++i) bench_keep(lib->GetCustomAllocator());
}

BENCH_LOOP(set_custom_allocator) {
  TVMFFICustomAllocator *current = lib->GetCustomAllocator();
  (void)state;
  for (long i = 0; i < n; ++i) {
    BENCH_DO(SetCustomAllocator, current);
  }
}

BENCH_LOOP(register_c_api) {
  (void)state;
  for (long i = 0; i < n; ++i) {
    BENCH_DO(EnvRegisterCAPI, "PyErr_CheckSignals", NULL);
  }
}

static void *names_setup(const bench_lib *lib, long param) {
  bench_names *names = bench_alloc(sizeof *names);
  (void)lib;
  (void)param;
  bench_names_start(names, "__tvm_ffi__bench");
  return names;
}

static void names_teardown(const bench_lib *lib, void *state) {
  (void)lib;
  free(state);
}

BENCH_LOOP(context_symbol) {
  bench_names *names = state;
  for (long i = 0; i < n; ++i) {
    bench_names_next(names);
    BENCH_DO(EnvModRegisterContextSymbol, names->text, &handle);
  }
}

BENCH_LOOP(system_lib_symbol) {
  bench_names *names = state;
  for (long i = 0; i < n; ++i) {
    bench_names_next(names);
    BENCH_DO(EnvModRegisterSystemLibSymbol, names->text, &handle);
  }
}

#define NAMES_ROW(label, loop)  \
  {.name = label,               \
   .run = BENCH_SIDES(loop),    \
   .setup = names_setup,        \
   .teardown = names_teardown,  \
   .limit = bench_limit_malloc, \
   .fixed = BENCH_FRESH}

#define CROWD_ROW(text, count, steps)                   \
  {.name = "opaque objects, made then released, " text, \
   .run = BENCH_SIDES(crowd),                           \
   .setup = crowd_setup,                                \
   .teardown = crowd_teardown,                          \
   .limit = crowd_limit,                                \
   .limit_is = "as many blocks by malloc and free",     \
   .param = count,                                      \
   .fixed = steps,                                      \
   .rounds = 20}

const bench_case bench_object[] = {
    {.name = "opaque object, create and release",
     .run = BENCH_SIDES(opaque),
     .limit = bench_limit_malloc},
    {.name = "opaque object, beside a free list",
     .run = BENCH_SIDES(opaque),
     .limit = bench_limit_free_list,
     .limit_is = BENCH_FREE_LIST_TEXT},
    CROWD_ROW("100", 100, 10000),
    CROWD_ROW("10,000", 10000, 10000),
    CROWD_ROW("100,000", 100000, 100000),
    {.name = "big integer, two words",
     .run = BENCH_SIDES(big_int),
     .limit = bench_limit_malloc},
    {.name = "big integer, one word",
     .run = BENCH_SIDES(small_big_int),
     .limit = bench_limit_store},
    {.name = "content of a big integer",
     .run = BENCH_SIDES(big_int_content),
     .setup = big_int_setup,
     .teardown = big_int_teardown,
     .limit = bench_limit_store},
    {.name = "handle made before",
     .run = BENCH_SIDES(init_fast),
     .limit = init_limit},
    {.name = "handle made and unmade",
     .run = BENCH_SIDES(init_slow),
     .limit = bench_limit_atomics},
    {.name = "version",
     .run = BENCH_SIDES(get_version),
     .limit = bench_limit_store},
    {.name = "get custom allocator",
     .run = BENCH_SIDES(get_custom_allocator),
     .limit = bench_limit_store},
    {.name = "set custom allocator",
     .run = BENCH_SIDES(set_custom_allocator),
     .limit = bench_limit_store},
    {.name = "register environment function",
     .run = BENCH_SIDES(register_c_api),
     .limit = bench_limit_store},
    NAMES_ROW("register context symbol", context_symbol),
    NAMES_ROW("register system-library symbol", system_lib_symbol),
    {0}};
