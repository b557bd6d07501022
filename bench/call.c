/* call.c: what a packed call costs, and a function object.
 *
 * call.h says what the limit of a call is. The runtime that is linked in is
 * ours in both columns but stock's; std::function and libffi are the same in
 * both, as no library has a part in them. Like the rows of the cell, which the
 * loop calls itself, they are controls. The limit of a chain is one of C
 * functions that call each other through pointers.
 */
#include "call.h"

#include <stdlib.h>
#include <string.h>

#include "free_list.h"

int bench_sum(void *self, const TVMFFIAny *args, int32_t num_args,
              TVMFFIAny *result) {
  int64_t total = 0;
  (void)self;
  for (int32_t i = 0; i < num_args; ++i) total += args[i].v_int64;
  *result = bench_int(total);
  return 0;
}

static void no_deleter(void *self) { (void)self; }

#define CALL_LOOPS(count)                                    \
  BENCH_RAW_CALL(count)                                      \
  BENCH_LOOP(cell_##count) {                                 \
    const TVMFFIFunctionCell *cell = bench_cell(state);      \
    bench_call_loop(lib, &cell->safe_call, state, count, n); \
  }                                                          \
  BENCH_LOOP(function_call_##count) {                        \
    TVMFFISafeCallType target = bench_function_call(lib);    \
    bench_call_loop(lib, &target, state, count, n);          \
  }

BENCH_ARG_COUNTS(CALL_LOOPS)

static void *function_setup(const bench_lib *lib, long with_self) {
  static int self;
  return with_self ? bench_function(lib, &self, bench_sum, no_deleter)
                   : bench_function(lib, NULL, bench_sum, NULL);
}

static void function_teardown(const bench_lib *lib, void *state) {
  lib->ObjectDecRef(state);
}

/* Function objects made and released, beside malloc and a free list */

BENCH_LOOP(create_plain) {
  TVMFFIObjectHandle function;
  (void)state;
  for (long i = 0; i < n; ++i) {
    lib->FunctionCreate(NULL, bench_sum, NULL, &function);
    lib->ObjectDecRef(function);
  }
}

BENCH_LOOP(create_with_self) {
  TVMFFIObjectHandle function;
  (void)state;
  for (long i = 0; i < n; ++i) {
    lib->FunctionCreate(&function, bench_sum, no_deleter, &function);
    lib->ObjectDecRef(function);
  }
}

/* A chain: each function calls the next one, and the last one adds. */

typedef struct link {
  const bench_lib *lib;
  TVMFFISafeCallType call; /* of the next one */
  void *next;
  TVMFFIObjectHandle function; /* this one, owned */
} link;

static int pass_on(void *self, const TVMFFIAny *args, int32_t num_args,
                   TVMFFIAny *result) {
  const link *l = self;
  return l->call(l->next, args, num_args, result);
}

typedef struct chain {
  long length;
  link *links, *raw;
} chain;

static void *chain_setup(const bench_lib *lib, long length) {
  chain *c = bench_alloc(sizeof *c);
  c->length = length;
  c->links = bench_alloc((size_t)length * sizeof *c->links);
  c->raw = bench_alloc((size_t)length * sizeof *c->raw);
  for (long i = 0; i < length; ++i) {
    link *l = &c->links[i], *raw = &c->raw[i];
    l->lib = lib;
    l->call = bench_function_call(lib);
    l->next = i ? l[-1].function : NULL;
    l->function =
        bench_function(lib, i ? l : NULL, i ? pass_on : bench_sum, NULL);
    raw->call = i > 1 ? pass_on : bench_sum;
    raw->next = i ? raw - 1 : NULL;
  }
  return c;
}

static void chain_teardown(const bench_lib *lib, void *state) {
  chain *c = state;
  for (long i = 0; i < c->length; ++i) lib->ObjectDecRef(c->links[i].function);
  free(c->links);
  free(c->raw);
  free(c);
}

BENCH_LOOP(chain_call) {
  const chain *c = state;
  TVMFFISafeCallType target = bench_function_call(lib);
  bench_call_loop(lib, &target, c->links[c->length - 1].function, 3, n);
}

static void chain_limit(const bench_lib *lib, void *state, long n) {
  const chain *c = state;
  TVMFFISafeCallType target = c->length > 1 ? pass_on : bench_sum;
  bench_call_loop(lib, &target, &c->raw[c->length - 1], 3, n);
}

#define CALL_ROW(label, loop, count, self, in_short, null) \
  {.name = label,                                    \
   .run = BENCH_SIDES(loop##_##count),               \
   .setup = function_setup,                          \
   .teardown = function_teardown,                    \
   .limit = raw_##count,                             \
   .param = self,                                    \
   .control = null,                                  \
   .brief = in_short}

#define CELL_ROW(count) \
  CALL_ROW("cell, " #count " args", cell, count, 0, (count) == 3, 1)
#define FUNCTION_CALL_ROW(count)                                           \
  CALL_ROW("TVMFFIFunctionCall, " #count " args", function_call, count, 0, \
           (count) == 3, 0)

#define LINKED_ROW(count)                                        \
  {.name = "linked in, " #count " args",                         \
   .run = {function_call_##count##_stock, bench_linked_##count}, \
   .fixed_sides = 1,                                             \
   .setup = bench_linked_setup,                                  \
   .teardown = bench_linked_teardown,                            \
   .limit = raw_##count}

#define STD_FUNCTION_ROW(count)                                     \
  {.name = "std::function, " #count " args",                        \
   .run = {bench_std_function_##count, bench_std_function_##count}, \
   .control = 1,                                                    \
   .limit = raw_##count}

#define LIBFFI_ROW(count)               \
  {.name = "libffi, " #count " args",   \
   .run = {bench_libffi, bench_libffi}, \
   .control = 1,                        \
   .setup = bench_libffi_setup,         \
   .teardown = bench_libffi_teardown,   \
   .limit = raw_##count,                \
   .param = count}

#define CHAIN_ROW(length)                                           \
  {.name = "chain of callbacks, " #length,                          \
   .run = BENCH_SIDES(chain_call),                                  \
   .setup = chain_setup,                                            \
   .teardown = chain_teardown,                                      \
   .limit = chain_limit,                                            \
   .limit_is = "C functions that call each other through pointers", \
   .param = length}

const bench_case bench_call[] = {
    BENCH_ARG_ROWS(CELL_ROW),
    BENCH_ARG_ROWS(FUNCTION_CALL_ROW),
    LINKED_ROW(0),
    LINKED_ROW(3),
    LINKED_ROW(8),
    LINKED_ROW(16),
    CALL_ROW("cell, 3 args, with self", cell, 3, 1, 0, 0),
    CALL_ROW("TVMFFIFunctionCall, 3 args, with self", function_call, 3, 1, 0,
             0),
#ifdef BENCH_CXX
    STD_FUNCTION_ROW(0),
    STD_FUNCTION_ROW(3),
    STD_FUNCTION_ROW(8),
#endif
#ifdef BENCH_LIBFFI
    LIBFFI_ROW(0),
    LIBFFI_ROW(3),
    LIBFFI_ROW(8),
#endif
    CHAIN_ROW(1),
    CHAIN_ROW(4),
    CHAIN_ROW(16),
    {.name = "create and release",
     .run = BENCH_SIDES(create_plain),
     .limit = bench_limit_malloc},
    {.name = "create and release, with self",
     .run = BENCH_SIDES(create_with_self),
     .limit = bench_limit_malloc},
    {.name = "create, release beside a free list",
     .run = BENCH_SIDES(create_plain),
     .limit = bench_limit_free_list,
     .limit_is = BENCH_FREE_LIST_TEXT},
    {0}};
