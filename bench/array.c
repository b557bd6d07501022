/* array.c: arrays, lists and shapes, by their built-in functions.
 *
 * Each is called as clients do it: by TVMFFIFunctionCall, and by the function
 * pointer in the cell of the function object. Sizes run from 10 items to
 * 1,000,000, so that the rows of one operation show how its cost grows. The
 * limit of an operation is the same on a plain block of items: to copy one,
 * bounds checked, in a C function that is called; to store one; to compare,
 * swap, move or copy as many as the operation must; to allocate and free it.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum op {
  MAKE,
  GET,
  SIZE,
  CONTAINS,
  SET,
  APPEND,
  POP,
  INSERT,
  ERASE,
  ERASE_RANGE,
  REPLACE,
  REVERSE,
  CLEAR,
  RESERVE,
  OPS
};

static const char *const op_names[OPS] = {
    "",      "GetItem", "Size",  "Contains",   "SetItem",      "Append",
    "Pop",   "Insert",  "Erase", "EraseRange", "ReplaceSlice", "Reverse",
    "Clear", "Reserve"};

enum { SLICE = 4 }; /* items */

typedef struct {
  TVMFFIObject *seq;
  TVMFFIObjectHandle ops[OPS]; /* an array has the first four */
  TVMFFIAny item;
  TVMFFIAny few, same; /* lists of SLICE items, and of all */
  TVMFFIAny *block;    /* the limit's items */
  int64_t num_items;
} sequence;

static TVMFFIObjectHandle built_in(const bench_lib *lib, const char *kind,
                                   enum op op) {
  TVMFFIObjectHandle function = NULL;
  TVMFFIByteArray name;
  char text[40] = "ffi.";
  strcat(strcat(text, kind), op_names[op]);
  name = bench_bytes(text, strlen(text));
  BENCH_DO(FunctionGetGlobal, &name, &function);
  if (!function) bench_fail(lib, text);
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
  int is_list = kind[0] == 'L';
  memset(s, 0, sizeof *s);
  s->num_items = param < 0 ? -param : param;
  for (int op = 0; op < (is_list ? OPS : SET); ++op)
    s->ops[op] = built_in(lib, kind, (enum op)op);
  s->item = bench_int(5);
  if (param < 0) BENCH_DO(StringFromByteArray, &text, &s->item);
  s->block = bench_alloc((size_t)s->num_items * sizeof *s->block);
  for (int64_t i = 0; i < s->num_items; ++i)
    s->block[i] = param < 0 ? s->item : bench_int(i);
  s->seq = call(lib, s->ops[MAKE], s->block, (int32_t)s->num_items).v_obj;
  if (is_list && s->num_items >= SLICE) {
    s->few = call(lib, s->ops[MAKE], s->block, SLICE);
    s->same = call(lib, s->ops[MAKE], s->block, (int32_t)s->num_items);
  }
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
  for (int op = 0; op < OPS; ++op) {
    if (s->ops[op]) lib->ObjectDecRef(s->ops[op]);
  }
  lib->ObjectDecRef(s->seq);
  bench_any_release(lib, &s->item);
  bench_any_release(lib, &s->few);
  bench_any_release(lib, &s->same);
  free(s->block);
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
    bench_need(lib, target(s->ops[GET], args, 2, &result), "get");
    bench_any_release(lib, &result);
    if (++at == s->num_items) at = 0;
  }
}

BENCH_LOOP(get) { get_loop(lib, state, through_library(lib), n); }
BENCH_LOOP(get_cell) {
  get_loop(lib, state, through_cell(((sequence *)state)->ops[GET]), n);
}

BENCH_LOOP(size) {
  sequence *s = state;
  TVMFFIAny args[1], result;
  for (long i = 0; i < n; ++i) {
    args[0] = seq_any(s);
    result = bench_none();
    BENCH_DO(FunctionCall, s->ops[SIZE], args, 1, &result);
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
    BENCH_DO(FunctionCall, s->ops[SET], args, 3, &result);
    if (++at == s->num_items) at = 0;
  }
}

/* A list grows from nothing to the size, again and again; its end is a part of
 * the cost. */
BENCH_INLINE void append_loop(const bench_lib *lib, sequence *s,
                              TVMFFISafeCallType target, long n) {
  TVMFFIAny args[2], result;
  for (long i = 0; i < n;) {
    args[0] = call(lib, s->ops[MAKE], NULL, 0);
    for (int64_t k = 0; k < s->num_items && i < n; ++k, ++i) {
      args[1] = s->item;
      result = bench_none();
      bench_need(lib, target(s->ops[APPEND], args, 2, &result), "append");
    }
    lib->ObjectDecRef(args[0].v_obj);
  }
}

BENCH_LOOP(append) { append_loop(lib, state, through_library(lib), n); }
BENCH_LOOP(append_cell) {
  append_loop(lib, state, through_cell(((sequence *)state)->ops[APPEND]), n);
}

BENCH_LOOP(append_pop) {
  sequence *s = state;
  TVMFFIAny args[2], result;
  for (long i = 0; i < n; ++i) {
    args[0] = seq_any(s);
    args[1] = s->item;
    result = bench_none();
    BENCH_DO(FunctionCall, s->ops[APPEND], args, 2, &result);
    args[1] = bench_int(s->num_items);
    result = bench_none();
    BENCH_DO(FunctionCall, s->ops[POP], args, 2, &result);
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
    BENCH_DO(FunctionCall, s->ops[CONTAINS], args, 2, &result);
  }
}

/* Made of views in one call, and released. */
BENCH_LOOP(make_and_release) {
  sequence *s = state;
  const TVMFFISeqCell *cell = (const TVMFFISeqCell *)(void *)(s->seq + 1);
  for (long i = 0; i < n; ++i) {
    TVMFFIAny made = call(lib, s->ops[MAKE], cell->data, (int32_t)s->num_items);
    lib->ObjectDecRef(made.v_obj);
  }
}

/* One call of an operation on the list, whose result is nothing. */
BENCH_INLINE void change(const bench_lib *lib, sequence *s, enum op op,
                         TVMFFIAny *args, int32_t num_args) {
  TVMFFIAny result = bench_none();
  args[0] = seq_any(s);
  BENCH_DO(FunctionCall, s->ops[op], args, num_args, &result);
}

BENCH_LOOP(insert_erase) {
  sequence *s = state;
  TVMFFIAny args[3];
  for (long i = 0; i < n; ++i) {
    args[1] = bench_int(0);
    args[2] = s->item;
    change(lib, s, INSERT, args, 3);
    change(lib, s, ERASE, args, 2);
  }
}

BENCH_LOOP(replace) {
  sequence *s = state;
  TVMFFIAny args[4];
  for (long i = 0; i < n; ++i) {
    args[1] = bench_int(s->num_items - SLICE);
    args[2] = bench_int(s->num_items);
    args[3] = s->few;
    change(lib, s, REPLACE, args, 4);
  }
}

BENCH_LOOP(extend_cut) {
  sequence *s = state;
  TVMFFIAny args[4];
  for (long i = 0; i < n; ++i) {
    args[1] = args[2] = bench_int(s->num_items);
    args[3] = s->few;
    change(lib, s, REPLACE, args, 4);
    args[2] = bench_int(s->num_items + SLICE);
    change(lib, s, ERASE_RANGE, args, 3);
  }
}

BENCH_LOOP(reverse) {
  TVMFFIAny args[1];
  for (long i = 0; i < n; ++i) change(lib, state, REVERSE, args, 1);
}

BENCH_LOOP(clear_refill) {
  sequence *s = state;
  TVMFFIAny args[4];
  for (long i = 0; i < n; ++i) {
    change(lib, s, CLEAR, args, 1);
    args[1] = args[2] = bench_int(0);
    args[3] = s->same;
    change(lib, s, REPLACE, args, 4);
  }
}

BENCH_LOOP(reserve) {
  sequence *s = state;
  for (long i = 0; i < n; ++i) {
    TVMFFIAny args[2], result = bench_none();
    args[0] = call(lib, s->ops[MAKE], NULL, 0);
    args[1] = bench_int(s->num_items);
    BENCH_DO(FunctionCall, s->ops[RESERVE], args, 2, &result);
    lib->ObjectDecRef(args[0].v_obj);
  }
}

/* Shapes: the numbers are arguments. */

static void *shape_setup(const bench_lib *lib, long count) {
  sequence *s = make(lib, "Array", count);
  const TVMFFIByteArray name = bench_bytes("ffi.Shape", 9);
  lib->ObjectDecRef(s->ops[MAKE]);
  BENCH_DO(FunctionGetGlobal, &name, &s->ops[MAKE]);
  return s;
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

static int tell_size(void *self, const TVMFFIAny *args, int32_t num_args,
                     TVMFFIAny *result) {
  const TVMFFISeqCell *c = (const TVMFFISeqCell *)(void *)(args[0].v_obj + 1);
  (void)self, (void)num_args;
  *result = bench_int(c->size);
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

static void size_limit(const bench_lib *lib, void *state, long n) {
  TVMFFIAny args[1], result;
  TVMFFISafeCallType target = tell_size;
  __asm__ volatile("" : "+r"(target));
  for (long i = 0; i < n; ++i) {
    args[0] = seq_any(state);
    result = bench_none();
    bench_need(lib, target(NULL, args, 1, &result), "size");
  }
}

static void append_limit(const bench_lib *lib, void *state, long n) {
  sequence *s = state;
  int64_t at = 0;
  (void)lib;
  for (long i = 0; i < n; ++i) {
    s->block[at] = s->item;
    bench_keep(&s->block[at]);
    if (++at == s->num_items) at = 0;
  }
}

static void contains_limit(const bench_lib *lib, void *state, long n) {
  sequence *s = state;
  (void)lib;
  for (long i = 0; i < n; ++i) {
    int64_t at = 0;
    bench_keep(s->block);
    while (at < s->num_items && (s->block[at].type_index != kTVMFFIInt ||
                                 s->block[at].v_int64 != s->num_items / 2))
      ++at;
    bench_keep(&at);
  }
}

/* All but the first item moved up and down again. */
static void move_limit(const bench_lib *lib, void *state, long n) {
  sequence *s = state;
  size_t size = (size_t)(s->num_items - 1) * sizeof *s->block;
  (void)lib;
  for (long i = 0; i < n; ++i) {
    memmove(s->block + 1, s->block, size);
    bench_keep(s->block);
    memmove(s->block, s->block + 1, size);
    bench_keep(s->block);
  }
}

static void slice_limit(const bench_lib *lib, void *state, long n) {
  sequence *s = state;
  (void)lib;
  for (long i = 0; i < n; ++i) {
    memcpy(s->block, s->block + s->num_items - SLICE, SLICE * sizeof *s->block);
    bench_keep(s->block);
  }
}

static void reverse_limit(const bench_lib *lib, void *state, long n) {
  sequence *s = state;
  (void)lib;
  for (long i = 0; i < n; ++i) {
    for (TVMFFIAny *a = s->block, *b = a + s->num_items - 1; a < b; ++a, --b) {
      TVMFFIAny swap = *a;
      *a = *b;
      *b = swap;
    }
    bench_keep(s->block);
  }
}

static void refill_limit(const bench_lib *lib, void *state, long n) {
  sequence *s = state;
  const TVMFFISeqCell *from = bench_cell(s->same.v_obj);
  (void)lib;
  for (long i = 0; i < n; ++i) {
    memcpy(s->block, from->data, (size_t)s->num_items * sizeof *s->block);
    bench_keep(s->block);
  }
}

/* A block of the size allocated, and freed. */
static void block_limit(const bench_lib *lib, void *state, long n) {
  sequence *s = state;
  (void)lib;
  for (long i = 0; i < n; ++i) {
    void *block = malloc((size_t)s->num_items * sizeof *s->block);
    bench_keep(block);
    free(block);
  }
}

/* The same, filled. */
static void filled_limit(const bench_lib *lib, void *state, long n) {
  sequence *s = state;
  size_t size = (size_t)s->num_items * sizeof *s->block;
  (void)lib;
  for (long i = 0; i < n; ++i) {
    void *block = bench_alloc(size);
    memcpy(block, s->block, size);
    bench_keep(block);
    free(block);
  }
}

/* What each limit does. */
#define TEXT_get_limit "an item copied, bounds checked, by a C function"
#define TEXT_size_limit "a C function that reads the size"
#define TEXT_append_limit "an item stored in a block"
#define TEXT_contains_limit "half of a block of items compared"
#define TEXT_move_limit "all items moved by one place, and back"
#define TEXT_slice_limit "four items copied"
#define TEXT_reverse_limit "the items of a block swapped"
#define TEXT_refill_limit "all items copied"
#define TEXT_block_limit "one block made and freed"
#define TEXT_filled_limit "one block made, filled and freed"

#define SEQ_GOAL (1 / 1.5)
/* `steps` look at all items, or 0. */
#define LONG_ROW(text, loop, kind, count, bound, ratio, steps) \
  {.name = text,                                               \
   .run = BENCH_SIDES(loop),                                   \
   .setup = kind##_setup,                                      \
   .teardown = teardown,                                       \
   .limit = bound,                                             \
   .limit_is = TEXT_##bound,                                   \
   .param = count,                                             \
   .goal = ratio,                                              \
   .fixed = steps,                                             \
   .large = (steps) != 0,                                      \
   .brief = (count) == 1000 && (bound) == get_limit}
#define SEQ_ROW(text, loop, kind, count, bound, ratio) \
  LONG_ROW(text, loop, kind, count, bound, ratio, 0)
#define SEQ_ROWS(text, loop, kind, bound)                                \
  SEQ_ROW(text ", 10", loop, kind, 10, bound, SEQ_GOAL),                 \
      SEQ_ROW(text ", 1,000", loop, kind, 1000, bound, SEQ_GOAL),        \
      LONG_ROW(text ", 100,000", loop, kind, 100000, bound, SEQ_GOAL,    \
               100000),                                                  \
      LONG_ROW(text ", 1,000,000", loop, kind, 1000000, bound, SEQ_GOAL, \
               100000)

#define THREE_ROWS(text, loop, kind, bound, ratio, steps)      \
  SEQ_ROW(text ", 10", loop, kind, 10, bound, ratio),          \
      SEQ_ROW(text ", 1,000", loop, kind, 1000, bound, ratio), \
      LONG_ROW(text ", 100,000", loop, kind, 100000, bound, ratio, steps)
/* Operations that look at no items, or a few, and those that look at all. */
#define FEW_ROWS(text, loop, kind, bound, ratio) \
  THREE_ROWS(text, loop, kind, bound, ratio, 0)
#define WHOLE_ROWS(text, loop, kind, bound, ratio) \
  THREE_ROWS(text, loop, kind, bound, ratio, 1)
#define MAKE_ROWS(text, kind)                                                 \
  SEQ_ROW(text ", 8", make_and_release, kind, 8, filled_limit, 0.5),          \
      SEQ_ROW(text ", 1,000", make_and_release, kind, 1000, filled_limit, 0), \
      LONG_ROW(text ", 100,000", make_and_release, kind, 100000,              \
               filled_limit, 0, 1)

const bench_case bench_array[] = {
    MAKE_ROWS("array make and release", array),
    SEQ_ROWS("array get", get, array, get_limit),
    SEQ_ROWS("array get by cell", get_cell, array, get_limit),
    SEQ_ROW("array get, objects, 1,000", get, array, -1000, get_limit,
            SEQ_GOAL),
    SEQ_ROW("array size", size, array, 1000, size_limit, 0),
    WHOLE_ROWS("array contains", contains, array, contains_limit, SEQ_GOAL),
    MAKE_ROWS("list make and release", list),
    SEQ_ROWS("list get", get, list, get_limit),
    SEQ_ROWS("list get by cell", get_cell, list, get_limit),
    SEQ_ROW("list get, objects, 1,000", get, list, -1000, get_limit, SEQ_GOAL),
    SEQ_ROWS("list set", set, list, append_limit),
    SEQ_ROWS("list append", append, list, append_limit),
    SEQ_ROWS("list append by cell", append_cell, list, append_limit),
    SEQ_ROW("list append, objects, 1,000", append, list, -1000, append_limit,
            SEQ_GOAL),
    FEW_ROWS("list append and pop", append_pop, list, append_limit, SEQ_GOAL),
    WHOLE_ROWS("list insert, erase in front", insert_erase, list, move_limit,
               0),
    FEW_ROWS("list replace slice", replace, list, slice_limit, 0),
    FEW_ROWS("list extend and cut", extend_cut, list, slice_limit, 0),
    WHOLE_ROWS("list reverse", reverse, list, reverse_limit, 0),
    WHOLE_ROWS("list clear and refill", clear_refill, list, refill_limit, 0),
    FEW_ROWS("list reserve and release", reserve, list, block_limit, 0),
    WHOLE_ROWS("list contains", contains, list, contains_limit, 0),
    SEQ_ROW("list size", size, list, 1000, size_limit, 0),
    SEQ_ROW("shape make and release, 4", make_and_release, shape, 4,
            filled_limit, 0),
    SEQ_ROW("shape make and release, 1,000", make_and_release, shape, 1000,
            filled_limit, 0),
    {0}};
