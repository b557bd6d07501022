/* error.c: raising an error and taking it, with and without its backtrace.
 *
 * The limit of an error with a backtrace is one walk up the same stack by
 * the unwinder, which turns no address into text; that of an error without
 * is one allocation.
 */
#include <stdlib.h>
#include <unwind.h>

#include "error.h"

static const char kind[] = "ValueError";
static const char message[] = "expected a positive size but got -1";

static void *number(const bench_lib *lib, long param) {
  long *depth = bench_alloc(sizeof *depth);
  (void)lib;
  *depth = param;
  return depth;
}

static void free_number(const bench_lib *lib, void *state) {
  (void)lib;
  free(state);
}

/* Runs `work` under `depth` more frames. The volatile read behind the call
 * keeps it from becoming a jump. */
__attribute__((noinline)) static void descend(bench_loop work,
                                              const bench_lib *lib, long depth,
                                              long n) {
  static volatile int frames;
  if (depth > 1) {
    descend(work, lib, depth - 1, n);
  } else {
    work(lib, NULL, n);
  }
  (void)frames;
}

static void take(const bench_lib *lib) {
  TVMFFIObjectHandle error;
  lib->ErrorMoveFromRaised(&error);
  lib->ObjectDecRef(error);
}

static void raise_here(const bench_lib *lib, void *state, long n) {
  (void)state;
  for (long i = 0; i < n; ++i) {
    lib->ErrorSetRaisedFromCStr(kind, message);
    take(lib);
  }
}

static void parts_here(const bench_lib *lib, void *state, long n) {
  const char *parts[] = {"expected a positive size ", "but got ", "-1"};
  (void)state;
  for (long i = 0; i < n; ++i) {
    lib->ErrorSetRaisedFromCStrParts(kind, parts, 3);
    take(lib);
  }
}

static void backtrace_here(const bench_lib *lib, void *state, long n) {
  (void)state;
  for (long i = 0; i < n; ++i) {
    bench_keep(lib->Backtrace(__FILE__, __LINE__, __func__, 0));
  }
}

static _Unwind_Reason_Code count_frame(struct _Unwind_Context *context,
                                       void *arg) {
  bench_keep((void *)_Unwind_GetIP(context));
  ++*(int *)arg;
  return _URC_NO_REASON;
}

void bench_limit_walk(const bench_lib *lib, void *state, long n) {
  (void)lib;
  (void)state;
  for (long i = 0; i < n; ++i) {
    int frames = 0;
    _Unwind_Backtrace(count_frame, &frames);
    bench_keep(&frames);
  }
}

BENCH_LOOP(raise_deep) { descend(raise_here, lib, *(long *)state, n); }

BENCH_LOOP(parts_deep) { descend(parts_here, lib, *(long *)state, n); }

BENCH_LOOP(backtrace_deep) { descend(backtrace_here, lib, *(long *)state, n); }

static void walk_deep(const bench_lib *lib, void *state, long n) {
  descend(bench_limit_walk, lib, *(long *)state, n);
}

static TVMFFIObjectHandle new_error(const bench_lib *lib) {
  const TVMFFIByteArray k = bench_bytes(kind, sizeof kind - 1);
  const TVMFFIByteArray m = bench_bytes(message, sizeof message - 1);
  const TVMFFIByteArray trace = bench_bytes("", 0);
  TVMFFIObjectHandle error = NULL;
  lib->ErrorCreate(&k, &m, &trace, &error);
  return error;
}

BENCH_LOOP(create) {
  (void)state;
  for (long i = 0; i < n; ++i) lib->ObjectDecRef(new_error(lib));
}

BENCH_LOOP(create_raise_take) {
  (void)state;
  for (long i = 0; i < n; ++i) {
    TVMFFIObjectHandle error = new_error(lib);
    lib->ErrorSetRaised(error);
    lib->ObjectDecRef(error);
    take(lib);
  }
}

static void *error_setup(const bench_lib *lib, long param) {
  (void)param;
  return new_error(lib);
}

static void error_teardown(const bench_lib *lib, void *state) {
  lib->ObjectDecRef(state);
}

BENCH_LOOP(raise_take) {
  for (long i = 0; i < n; ++i) {
    lib->ErrorSetRaised(state);
    take(lib);
  }
}

BENCH_LOOP(take_none) {
  TVMFFIObjectHandle error;
  (void)state;
  for (long i = 0; i < n; ++i) {
    lib->ErrorMoveFromRaised(&error);
    bench_need(lib, error != NULL, "no error");
  }
}

BENCH_LOOP(create_with_cause) {
  const TVMFFIByteArray k = bench_bytes(kind, sizeof kind - 1);
  const TVMFFIByteArray m = bench_bytes(message, sizeof message - 1);
  const TVMFFIByteArray trace = bench_bytes("", 0);
  TVMFFIObjectHandle error = NULL;
  for (long i = 0; i < n; ++i) {
    lib->ErrorCreateWithCauseAndExtraContext(&k, &m, &trace, state, state,
                                             &error);
    lib->ObjectDecRef(error);
  }
}

BENCH_LOOP(update_backtrace) {
  static const char text[] = "  File \"bench.c\", line 1, in bench\n";
  const TVMFFIByteArray trace = bench_bytes(text, sizeof text - 1);
  TVMFFIErrorCell *cell = bench_cell(state);
  (void)lib;
  for (long i = 0; i < n; ++i) {
    cell->update_backtrace(state, &trace, kTVMFFIBacktraceUpdateModeReplace);
    cell->update_backtrace(state, &trace, kTVMFFIBacktraceUpdateModeAppend);
  }
}

/* The runtime whose functions run; stock and ours take turns. */
static const bench_lib *made_by;

static int failing(void *self, const TVMFFIAny *args, int32_t num_args,
                   TVMFFIAny *result) {
  (void)args;
  (void)num_args;
  (void)result;
  ((const bench_lib *)self)->ErrorSetRaisedFromCStr(kind, message);
  return -1;
}

static void *failing_setup(const bench_lib *lib, long param) {
  (void)param;
  return bench_function(lib, (void *)(uintptr_t)lib, failing, NULL);
}

BENCH_LOOP(failing_call) {
  for (long i = 0; i < n; ++i) {
    TVMFFIAny result = bench_none();
    int code = lib->FunctionCall(state, NULL, 0, &result);
    bench_need(lib, code == 0, "must fail");
    take(lib);
  }
}

/* The same, its error made before. */
static int failing_again(void *self, const TVMFFIAny *args, int32_t num_args,
                         TVMFFIAny *result) {
  const TVMFFIObjectHandle *error = self;
  (void)args;
  (void)num_args;
  (void)result;
  made_by->ErrorSetRaised(*error);
  return -1;
}

/* Functions that call each other; the last one fails. */

enum { MAX_CALLS = 16 };

typedef struct failing_chain {
  const bench_lib *lib;
  TVMFFIObjectHandle error, functions[MAX_CALLS];
  long length;
} failing_chain;

static int pass_on(void *self, const TVMFFIAny *args, int32_t num_args,
                   TVMFFIAny *result) {
  const TVMFFIObjectHandle *next = self;
  return made_by->FunctionCall(*next, (TVMFFIAny *)(uintptr_t)args, num_args,
                               result);
}

/* Of a negative length: the last one raises an error that it has. */
static void *chain_setup(const bench_lib *lib, long length) {
  failing_chain *c = bench_alloc(sizeof *c);
  c->error = new_error(lib);
  c->length = length < 0 ? -length : length;
  c->functions[0] =
      length < 0 ? bench_function(lib, &c->error, failing_again, NULL)
                 : bench_function(lib, (void *)(uintptr_t)lib, failing, NULL);
  for (long i = 1; i < c->length; ++i) {
    c->functions[i] = bench_function(lib, &c->functions[i - 1], pass_on, NULL);
  }
  return c;
}

static void chain_teardown(const bench_lib *lib, void *state) {
  failing_chain *c = state;
  for (long i = 0; i < c->length; ++i) lib->ObjectDecRef(c->functions[i]);
  lib->ObjectDecRef(c->error);
  free(c);
}

BENCH_LOOP(failing_chain_call) {
  failing_chain *c = state;
  TVMFFIObjectHandle function = c->functions[c->length - 1];
  made_by = lib;
  failing_call(lib, function, n);
}

BENCH_LOOP(missing_type_key) {
  const TVMFFIByteArray key = bench_bytes("bench.NoSuchType", 16);
  int32_t index;
  (void)state;
  for (long i = 0; i < n; ++i) {
    bench_need(lib, lib->TypeKeyToIndex(&key, &index) == 0, "must fail");
    take(lib);
  }
}

BENCH_LOOP(malformed_dtype) {
  const TVMFFIByteArray text = bench_bytes("float32y", 8);
  DLDataType dtype;
  (void)state;
  for (long i = 0; i < n; ++i) {
    bench_need(lib, lib->DataTypeFromString(&text, &dtype) == 0, "must fail");
    take(lib);
  }
}

#define RAISE_ROW(label, loop, depth, ratio) \
  {.name = label ", depth " #depth,          \
   .run = BENCH_SIDES(loop),                 \
   .setup = number,                          \
   .teardown = free_number,                  \
   .limit = walk_deep,                       \
   .param = depth,                           \
   .goal = ratio}

#define CHAIN_ROW(label, length, least, ratio) \
  {.name = label,                              \
   .run = BENCH_SIDES(failing_chain_call),     \
   .setup = chain_setup,                       \
   .teardown = chain_teardown,                 \
   .limit = least,                             \
   .param = length,                            \
   .goal = ratio}

const bench_case bench_error[] = {
    RAISE_ROW("raise and take", raise_deep, 1, BENCH_THRICE),
    RAISE_ROW("raise and take", raise_deep, 10, BENCH_THRICE),
    RAISE_ROW("raise and take", raise_deep, 50, BENCH_THRICE),
    RAISE_ROW("raise from parts and take", parts_deep, 1, BENCH_THRICE),
    RAISE_ROW("raise and take", raise_deep, 200, BENCH_THRICE),
    RAISE_ROW("TVMFFIBacktrace", backtrace_deep, 1, 0),
    RAISE_ROW("TVMFFIBacktrace", backtrace_deep, 50, 0),
    {.name = "call that fails, and take",
     .run = BENCH_SIDES(failing_call),
     .setup = failing_setup,
     .teardown = error_teardown,
     .limit = bench_limit_walk,
     .goal = BENCH_THRICE},
    CHAIN_ROW("failing call, made error, through 1", -1, bench_limit_atomics,
              0),
    CHAIN_ROW("failing call, made error, through 4", -4, bench_limit_atomics,
              0),
    CHAIN_ROW("failing call, made error, through 16", -16, bench_limit_atomics,
              0),
    CHAIN_ROW("failing call through 4", 4, bench_limit_walk, BENCH_THRICE),
    CHAIN_ROW("failing call through 16", 16, bench_limit_walk, BENCH_THRICE),
    {.name = "missing type key, and take",
     .run = BENCH_SIDES(missing_type_key),
     .limit = bench_limit_walk,
     .goal = BENCH_THRICE},
    {.name = "malformed dtype, and take",
     .run = BENCH_SIDES(malformed_dtype),
     .limit = bench_limit_walk,
     .goal = BENCH_THRICE},
    {.name = "create and release",
     .run = BENCH_SIDES(create),
     .limit = bench_limit_malloc},
    {.name = "create with a cause and release",
     .run = BENCH_SIDES(create_with_cause),
     .setup = error_setup,
     .teardown = error_teardown,
     .limit = bench_limit_malloc},
    {.name = "create, raise and take",
     .run = BENCH_SIDES(create_raise_take),
     .limit = bench_limit_malloc},
    {.name = "raise and take a made error",
     .run = BENCH_SIDES(raise_take),
     .setup = error_setup,
     .teardown = error_teardown,
     .limit = bench_limit_atomics},
    {.name = "take where none is raised",
     .run = BENCH_SIDES(take_none),
     .limit = bench_limit_store},
    {.name = "replace and append a backtrace",
     .run = BENCH_SIDES(update_backtrace),
     .setup = error_setup,
     .teardown = error_teardown,
     .limit = bench_limit_malloc},
    {0}};
