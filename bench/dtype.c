/* dtype.c: data types from and to text.
 *
 * The limit of parsing is one comparison with the right text, that of
 * printing is one copy of it.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static const char *const texts[] = {
    "float32", "int8x4", "float8_e4m3fn", "bool", "int32xvscalex4", "handle",
};

enum { FLOAT32, INT8X4, FLOAT8, BOOL, SCALABLE, HANDLE };

typedef struct dtype_state {
  TVMFFIByteArray text;
  DLDataType dtype;
} dtype_state;

static void *dtype_setup(const bench_lib *lib, long param) {
  dtype_state *state = bench_alloc(sizeof *state);
  state->text = bench_bytes(texts[param], strlen(texts[param]));
  BENCH_DO(DataTypeFromString, &state->text, &state->dtype);
  return state;
}

static void dtype_teardown(const bench_lib *lib, void *state) {
  (void)lib;
  free(state);
}

BENCH_LOOP(parse) {
  dtype_state *s = state;
  DLDataType dtype;
  for (long i = 0; i < n; ++i) {
    lib->DataTypeFromString(&s->text, &dtype);
    bench_keep(&dtype);
  }
}

BENCH_LOOP(print) {
  dtype_state *s = state;
  TVMFFIAny text;
  for (long i = 0; i < n; ++i) {
    lib->DataTypeToString(&s->dtype, &text);
    bench_any_release(lib, &text);
  }
}

static void parse_limit(const bench_lib *lib, void *state, long n) {
  dtype_state *s = state;
  char expect[16] = "";
  (void)lib;
  memcpy(expect, s->text.data, s->text.size);
  for (long i = 0; i < n; ++i) {
    bench_keep(s);
    if (memcmp(s->text.data, expect, s->text.size) != 0) break;
  }
}

static void print_limit(const bench_lib *lib, void *state, long n) {
  dtype_state *s = state;
  char out[16] = "";
  (void)lib;
  for (long i = 0; i < n; ++i) {
    memcpy(out, s->text.data, s->text.size);
    bench_keep(out);
  }
}

#define PARSE_ROW(label, index)          \
  {.name = "parse " label,               \
   .run = BENCH_SIDES(parse),                         \
   .setup = dtype_setup,                 \
   .teardown = dtype_teardown,           \
   .limit = parse_limit,                 \
   .param = index,                       \
   .goal = BENCH_THRICE}

#define PRINT_ROW(label, index)          \
  {.name = "print " label,               \
   .run = BENCH_SIDES(print),                         \
   .setup = dtype_setup,                 \
   .teardown = dtype_teardown,           \
   .limit = print_limit,                 \
   .param = index,                       \
   .goal = BENCH_THRICE}

const bench_case bench_dtype[] = {
    PARSE_ROW("float32", FLOAT32),
    PARSE_ROW("int8x4", INT8X4),
    PARSE_ROW("float8_e4m3fn", FLOAT8),
    PARSE_ROW("bool", BOOL),
    PARSE_ROW("int32xvscalex4", SCALABLE),
    PARSE_ROW("handle", HANDLE),
    PRINT_ROW("float32", FLOAT32),
    PRINT_ROW("int8x4", INT8X4),
    PRINT_ROW("float8_e4m3fn", FLOAT8),
    PRINT_ROW("bool", BOOL),
    PRINT_ROW("int32xvscalex4", SCALABLE),
    PRINT_ROW("handle", HANDLE),
    {0}};
