/* any.c: a borrowed value made an owned one, kind by kind. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

typedef struct any_state {
  TVMFFIAny view;
  TVMFFIObjectHandle object;
  TVMFFIByteArray bytes;
} any_state;

static any_state *any_new(int32_t type_index) {
  any_state *state = bench_alloc(sizeof *state);
  memset(state, 0, sizeof *state);
  state->view.type_index = type_index;
  return state;
}

static void *int_setup(const bench_lib *lib, long param) {
  any_state *state = any_new(kTVMFFIInt);
  (void)lib;
  state->view.v_int64 = param;
  return state;
}

static void *small_setup(const bench_lib *lib, long param) {
  any_state *state = any_new(kTVMFFISmallStr);
  (void)lib;
  state->view.small_str_len = (uint32_t)param;
  memset(state->view.v_bytes, 'x', (size_t)param);
  return state;
}

static const char thirty[] = "thirty bytes of text, no more.";

static void *raw_setup(const bench_lib *lib, long size) {
  any_state *state = any_new(kTVMFFIRawStr);
  (void)lib;
  state->view.v_c_str = thirty + sizeof thirty - 1 - size;
  return state;
}

static void *byte_array_setup(const bench_lib *lib, long size) {
  any_state *state = any_new(kTVMFFIByteArrayPtr);
  (void)lib;
  state->bytes = bench_bytes(thirty, (size_t)size);
  state->view.v_ptr = &state->bytes;
  return state;
}

static void *object_setup(const bench_lib *lib, long param) {
  any_state *state = any_new(kTVMFFIFunction);
  (void)param;
  state->object = bench_function(lib, NULL, bench_nothing, NULL);
  state->view.v_obj = state->object;
  return state;
}

static void *rvalue_setup(const bench_lib *lib, long param) {
  any_state *state = object_setup(lib, param);
  state->view.type_index = kTVMFFIObjectRValueRef;
  return state;
}

static void any_teardown(const bench_lib *lib, void *state) {
  any_state *s = state;
  if (s->object) lib->ObjectDecRef(s->object);
  free(s);
}

BENCH_LOOP(own) {
  any_state *s = state;
  TVMFFIAny owned;
  for (long i = 0; i < n; ++i) {
    lib->AnyViewToOwnedAny(&s->view, &owned);
    bench_any_release(lib, &owned);
  }
}

/* The source of an r-value reference is emptied, so it is filled each time. */
BENCH_LOOP(own_rvalue) {
  any_state *s = state;
  TVMFFIAny owned;
  for (long i = 0; i < n; ++i) {
    TVMFFIObject *moved = s->object;
    s->view.v_ptr = &moved;
    lib->ObjectIncRef(moved);
    lib->AnyViewToOwnedAny(&s->view, &owned);
    bench_any_release(lib, &owned);
  }
}

static void copy_limit(const bench_lib *lib, void *state, long n) {
  any_state *s = state;
  TVMFFIAny owned;
  (void)lib;
  for (long i = 0; i < n; ++i) {
    bench_keep(s);
    owned = s->view;
    bench_keep(&owned);
  }
}

#define ANY_ROW(label, loop, make, value, least) \
  {.name = label,                                \
   .run = BENCH_SIDES(loop),                                  \
   .setup = make,                                \
   .teardown = any_teardown,                     \
   .limit = least,                               \
   .param = value}

const bench_case bench_any[] = {
    ANY_ROW("own an int", own, int_setup, 7, copy_limit),
    ANY_ROW("own a small string", own, small_setup, 5, copy_limit),
    ANY_ROW("own a raw string, 3 bytes", own, raw_setup, 3, copy_limit),
    ANY_ROW("own a raw string, 30 bytes", own, raw_setup, 30,
            bench_limit_malloc),
    ANY_ROW("own a byte array, 3 bytes", own, byte_array_setup, 3,
            copy_limit),
    ANY_ROW("own a byte array, 30 bytes", own, byte_array_setup, 30,
            bench_limit_malloc),
    ANY_ROW("own an object", own, object_setup, 0, bench_limit_atomics),
    ANY_ROW("own an r-value reference", own_rvalue, rvalue_setup, 0,
            bench_limit_atomics),
    {0}};
