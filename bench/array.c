/* array.c: arrays and lists, by their built-in functions.
 *
 * Each is called as clients do it: by TVMFFIFunctionCall, and by the function
 * pointer in the cell of the function object. Sizes run from 10 items to
 * 1,000,000, so that the rows of one operation show how its cost grows. The
 * limit of reading an item is the call of a C function that copies it, bounds
 * checked, from the same block; that of appending stores to such a block.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

typedef struct {
  TVMFFIObject *seq;
  TVMFFIObjectHandle make, get, set, append, pop, contains, clear, size;
  TVMFFIAny item;
  int64_t num_items;
} sequence;

static TVMFFIObjectHandle built_in(const bench_lib *lib, const char *kind,
                                   const char *what) {
  TVMFFIObjectHandle function = NULL;
  TVMFFIByteArray name;
  char text[40] = "ffi.";
  strcat(strcat(text, kind), what);
  name = bench_bytes(text, strlen(text));
  BENCH_DO(FunctionGetGlobal, &name, &function);
  if (!function && kind[0] == 'L') bench_fail(lib, text);
  return function;
}

static TVMFFIAny call(const bench_lib *lib, TVMFFIObjectHandle function,
                      TVMFFIAny *args, int32_t num_args) {
  TVMFFIAny result = bench_none();
  BENCH_DO(FunctionCall, function, args, num_args, &result);
  return result;
}

static TVMFFIAny seq_any(const sequence *s) {
  TVMFFIAny any = bench_int(0);
  any.type_index = s->seq->type_index;
  any.v_obj = s->seq;
  return any;
}

/* A negative size: the items are one string object, over and over. */
static sequence *make(const bench_lib *lib, const char *kind, long param) {
  const TVMFFIByteArray text = bench_bytes("a string object", 15);
  sequence *s = bench_alloc(sizeof *s);
  TVMFFIAny *items;
  s->num_items = param < 0 ? -param : param;
  s->make = built_in(lib, kind, "");
  s->get = built_in(lib, kind, "GetItem");
  s->set = built_in(lib, kind, "SetItem");
  s->append = built_in(lib, kind, "Append");
  s->pop = built_in(lib, kind, "Pop");
  s->contains = built_in(lib, kind, "Contains");
  s->clear = built_in(lib, kind, "Clear");
  s->size = built_in(lib, kind, "Size");
  s->item = bench_int(5);
  if (param < 0) BENCH_DO(StringFromByteArray, &text, &s->item);
  items = bench_alloc((size_t)s->num_items * sizeof *items);
  for (int64_t i = 0; i < s->num_items; ++i)
    items[i] = param < 0 ? s->item : bench_int(i);
  s->seq = call(lib, s->make, items, (int32_t)s->num_items).v_obj;
  free(items);
  return s;
}

static void *array_setup(const bench_lib *lib, long param) {
  return make(lib, "Array", param);
}

static void *list_setup(const bench_lib *lib, long param) {
  return make(lib, "List", param);
}

static void teardown(const bench_lib *lib, void *state) {
  sequence *s = state;
  TVMFFIObjectHandle all[] = {s->make, s->get,      s->set,   s->append,
                              s->pop,  s->contains, s->clear, s->size};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i)
    lib->ObjectDecRef(all[i]);
  lib->ObjectDecRef(s->seq);
  bench_any_release(lib, &s->item);
  free(s);
}

/* The two ways to call. TVMFFIFunctionCall differs from a safe call by a const
 * only. */
BENCH_INLINE TVMFFISafeCallType through_library(const bench_lib *lib) {
  TVMFFISafeCallType target;
  memcpy(&target, &lib->FunctionCall, sizeof target);
  return target;
}

BENCH_INLINE TVMFFISafeCallType through_cell(TVMFFIObjectHandle function) {
  return ((TVMFFIFunctionCell *)(void *)((TVMFFIObject *)function + 1))
      ->safe_call;
}

BENCH_INLINE void get_loop(const bench_lib *lib, sequence *s,
                           TVMFFISafeCallType target, long n) {
  TVMFFIAny args[2], result;
  int64_t at = 0;
  for (long i = 0; i < n; ++i) {
    args[0] = seq_any(s);
    args[1] = bench_int(at);
    result = bench_none();
    bench_need(lib, target(s->get, args, 2, &result), "get");
    bench_any_release(lib, &result);
    if (++at == s->num_items) at = 0;
  }
}

BENCH_LOOP(get) { get_loop(lib, state, through_library(lib), n); }
BENCH_LOOP(get_cell) {
  get_loop(lib, state, through_cell(((sequence *)state)->get), n);
}

BENCH_LOOP(size) {
  sequence *s = state;
  TVMFFIAny args[1], result;
  for (long i = 0; i < n; ++i) {
    args[0] = seq_any(s);
    result = bench_none();
    BENCH_DO(FunctionCall, s->size, args, 1, &result);
  }
}

BENCH_LOOP(set) {
  sequence *s = state;
  TVMFFIAny args[3], result;
  int64_t at = 0;
  for (long i = 0; i < n; ++i) {
    args[0] = seq_any(s);
    args[1] = bench_int(at);
    args[2] = s->item;
    result = bench_none();
    BENCH_DO(FunctionCall, s->set, args, 3, &result);
    if (++at == s->num_items) at = 0;
  }
}

/* A list grows from nothing to the size, again and again; its end is a part of
 * the cost. */
BENCH_INLINE void append_loop(const bench_lib *lib, sequence *s,
                              TVMFFISafeCallType target, long n) {
  TVMFFIAny args[2], result;
  for (long i = 0; i < n;) {
    args[0] = call(lib, s->make, NULL, 0);
    for (int64_t k = 0; k < s->num_items && i < n; ++k, ++i) {
      args[1] = s->item;
      result = bench_none();
      bench_need(lib, target(s->append, args, 2, &result), "append");
    }
    lib->ObjectDecRef(args[0].v_obj);
  }
}

BENCH_LOOP(append) { append_loop(lib, state, through_library(lib), n); }
BENCH_LOOP(append_cell) {
  append_loop(lib, state, through_cell(((sequence *)state)->append), n);
}

BENCH_LOOP(append_pop) {
  sequence *s = state;
  TVMFFIAny args[2], result;
  for (long i = 0; i < n; ++i) {
    args[0] = seq_any(s);
    args[1] = s->item;
    result = bench_none();
    BENCH_DO(FunctionCall, s->append, args, 2, &result);
    args[1] = bench_int(s->num_items);
    result = bench_none();
    BENCH_DO(FunctionCall, s->pop, args, 2, &result);
    bench_any_release(lib, &result);
  }
}

/* The item that is looked for is in the middle. */
BENCH_LOOP(contains) {
  sequence *s = state;
  TVMFFIAny args[2], result;
  for (long i = 0; i < n; ++i) {
    args[0] = seq_any(s);
    args[1] = bench_int(s->num_items / 2);
    result = bench_none();
    BENCH_DO(FunctionCall, s->contains, args, 2, &result);
  }
}

/* Made of views in one call, and released. */
BENCH_LOOP(make_and_release) {
  sequence *s = state;
  const TVMFFISeqCell *cell = (const TVMFFISeqCell *)(void *)(s->seq + 1);
  for (long i = 0; i < n; ++i) {
    TVMFFIAny made = call(lib, s->make, cell->data, (int32_t)s->num_items);
    lib->ObjectDecRef(made.v_obj);
  }
}

/* Limits */

static int copy_item(void *self, const TVMFFIAny *args, int32_t num_args,
                     TVMFFIAny *result) {
  const TVMFFISeqCell *c = (const TVMFFISeqCell *)(void *)(args[0].v_obj + 1);
  (void)self, (void)num_args;
  if ((uint64_t)args[1].v_int64 >= (uint64_t)c->size) return -1;
  *result = ((const TVMFFIAny *)c->data)[args[1].v_int64];
  return 0;
}

static void get_limit(const bench_lib *lib, void *state, long n) {
  sequence *s = state;
  TVMFFISafeCallType target = copy_item;
  __asm__ volatile("" : "+r"(target));
  if (s->item.type_index < kTVMFFIStaticObjectBegin)
    get_loop(lib, s, target, n);
  else
    bench_limit_atomics(lib, NULL, n);
}

static void append_limit(const bench_lib *lib, void *state, long n) {
  sequence *s = state;
  TVMFFIAny *block = bench_alloc((size_t)s->num_items * sizeof *block);
  int64_t at = 0;
  (void)lib;
  for (long i = 0; i < n; ++i) {
    block[at] = s->item;
    bench_keep(&block[at]);
    if (++at == s->num_items) at = 0;
  }
  free(block);
}

#define SEQ_GOAL (1 / 1.5)
#define SEQ_ROW(text, loop, kind, count, bound, ratio) \
  {.name = text,                                       \
   .run = BENCH_SIDES(loop),                           \
   .setup = kind##_setup,                              \
   .teardown = teardown,                               \
   .limit = bound,                                     \
   .param = count,                                     \
   .goal = ratio,                                      \
   .brief = (count) == 1000 && (bound) == get_limit}
#define SEQ_ROWS(text, loop, kind, bound)                             \
  SEQ_ROW(text ", 10", loop, kind, 10, bound, SEQ_GOAL),              \
      SEQ_ROW(text ", 1,000", loop, kind, 1000, bound, SEQ_GOAL),     \
      SEQ_ROW(text ", 100,000", loop, kind, 100000, bound, SEQ_GOAL), \
      SEQ_ROW(text ", 1,000,000", loop, kind, 1000000, bound, SEQ_GOAL)

const bench_case bench_array[] = {
    SEQ_ROWS("array get", get, array, get_limit),
    SEQ_ROWS("array get by cell", get_cell, array, get_limit),
    SEQ_ROW("array get, objects, 1,000", get, array, -1000, get_limit,
            SEQ_GOAL),
    SEQ_ROW("array size", size, array, 1000, NULL, 0),
    SEQ_ROW("array make and release, 10", make_and_release, array, 10,
            bench_limit_malloc, 0),
    SEQ_ROW("array make and release, 1,000", make_and_release, array, 1000,
            bench_limit_malloc, 0),
    SEQ_ROW("array contains, 1,000", contains, array, 1000, NULL, SEQ_GOAL),
    SEQ_ROWS("list get", get, list, get_limit),
    SEQ_ROWS("list get by cell", get_cell, list, get_limit),
    SEQ_ROW("list get, objects, 1,000", get, list, -1000, get_limit, SEQ_GOAL),
    SEQ_ROWS("list set", set, list, append_limit),
    SEQ_ROWS("list append", append, list, append_limit),
    SEQ_ROWS("list append by cell", append_cell, list, append_limit),
    SEQ_ROW("list append, objects, 1,000", append, list, -1000, append_limit,
            SEQ_GOAL),
    SEQ_ROW("list append and pop", append_pop, list, 1000, append_limit,
            SEQ_GOAL),
    SEQ_ROW("list size", size, list, 1000, NULL, 0),
    SEQ_ROW("list make and release, 10", make_and_release, list, 10,
            bench_limit_malloc, 0),
    {0}};
