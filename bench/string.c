/* string.c: strings and bytes made and released.
 *
 * Up to seven bytes stand in the Any itself, where the limit is one copy; a
 * longer one is one allocation and one copy.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static void *text_setup(const bench_lib *lib, long size) {
  TVMFFIByteArray *text = bench_alloc(sizeof *text + (size_t)size + 1);
  char *data = (char *)(text + 1);
  (void)lib;
  memset(data, 'x', (size_t)size);
  data[size] = '\0';
  *text = bench_bytes(data, (size_t)size);
  return text;
}

static void text_teardown(const bench_lib *lib, void *state) {
  (void)lib;
  free(state);
}

BENCH_LOOP(string_create) {
  TVMFFIAny any;
  for (long i = 0; i < n; ++i) {
    lib->StringFromByteArray(state, &any);
    bench_any_release(lib, &any);
  }
}

BENCH_LOOP(bytes_create) {
  TVMFFIAny any;
  for (long i = 0; i < n; ++i) {
    lib->BytesFromByteArray(state, &any);
    bench_any_release(lib, &any);
  }
}

static void small_limit(const bench_lib *lib, void *state, long n) {
  const TVMFFIByteArray *text = state;
  char out[16] = "";
  (void)lib;
  for (long i = 0; i < n; ++i) {
    memcpy(out, text->data, text->size);
    bench_keep(out);
  }
}

static void large_limit(const bench_lib *lib, void *state, long n) {
  const TVMFFIByteArray *text = state;
  (void)lib;
  for (long i = 0; i < n; ++i) {
    char *p = malloc(sizeof(TVMFFIObject) + sizeof *text + text->size + 1);
    if (!p) break;
    memcpy(p, text->data, text->size);
    bench_keep(p);
    free(p);
  }
}

#define TEXT_ROW(label, loop, size, least) \
  {.name = label,                          \
   .run = BENCH_SIDES(loop),                            \
   .setup = text_setup,                    \
   .teardown = text_teardown,              \
   .limit = least,                         \
   .param = size}

const bench_case bench_string[] = {
    TEXT_ROW("string, empty", string_create, 0, small_limit),
    TEXT_ROW("string, 3 bytes", string_create, 3, small_limit),
    TEXT_ROW("string, 7 bytes", string_create, 7, small_limit),
    TEXT_ROW("string, 8 bytes", string_create, 8, large_limit),
    TEXT_ROW("string, 30 bytes", string_create, 30, large_limit),
    TEXT_ROW("string, 3000 bytes", string_create, 3000, large_limit),
    TEXT_ROW("bytes, 3 bytes", bytes_create, 3, small_limit),
    TEXT_ROW("bytes, 30 bytes", bytes_create, 30, large_limit),
    TEXT_ROW("bytes, 3000 bytes", bytes_create, 3000, large_limit),
    {0}};
