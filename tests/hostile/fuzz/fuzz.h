/* What the fuzzers of this folder share: calls of global functions, and checks
   of what they leave. Each fuzzer is a file with LLVMFuzzerTestOneInput, which
   libFuzzer calls (run.py), or replay.c with the inputs of corpus/. The runtime
   is that of runtime.c, with a limit to its memory; a fuzzer that needs another
   one defines FUZZ_RUNTIME and its options before it includes this file. */
#ifndef FUZZ_H_
#define FUZZ_H_

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What one input may allocate: so a structure that is entered without end, or
   a text that grows with each step, ends soon. */
#ifndef FUZZ_MEMORY
#define FUZZ_MEMORY ((size_t)16 << 20)
#endif

/* A fuzzer that keeps track of its blocks defines both before it includes this
   file. FUZZ_ALLOCATED gives 0 to refuse the block. */
#ifndef FUZZ_ALLOCATED
#define FUZZ_ALLOCATED(pointer, size) 1
#define FUZZ_FREED(pointer) ((void)0)
#endif

extern size_t fuzz_memory;   /* bytes that may yet be allocated */
extern unsigned fuzz_refuse; /* the allocation to be refused, from 1 on */
extern int fuzz_refuse_all;  /* refuse all that follow it, too */
extern unsigned fuzz_refusals; /* how many have been refused */
void *fuzz_malloc(size_t size);
void fuzz_free(void *block);

#ifdef FUZZ_RUNTIME
size_t fuzz_memory = FUZZ_MEMORY;
unsigned fuzz_refuse;
int fuzz_refuse_all;
unsigned fuzz_refusals;

void *fuzz_malloc(size_t size) {
  void *block;
  int is_refused = fuzz_refuse && !--fuzz_refuse;
  if (is_refused && fuzz_refuse_all) fuzz_refuse = 1;
  if (is_refused || size > fuzz_memory) {
    ++fuzz_refusals;
    return NULL;
  }
  fuzz_memory -= size;
  block = malloc(size);
  if (block && !FUZZ_ALLOCATED(block, size)) {
    free(block);
    return NULL;
  }
  return block;
}

void fuzz_free(void *block) {
  FUZZ_FREED(block);
  free(block);
}
#define TVMFFI_MALLOC(size) fuzz_malloc(size)
#define TVMFFI_FREE(pointer) fuzz_free(pointer)
#define TVMFFI_IMPLEMENTATION
#endif

/* Most inputs are errors, and stack traces are not what is looked at. */
#define TVMFFI_NO_BACKTRACE 1
#include "tvmffi.h"

#if TVMFFI_I_GNU
#define FUZZ_UNUSED __attribute__((unused))
#else
#define FUZZ_UNUSED
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process, which is what a fuzzer takes for a find. */
#define FUZZ_CHECK(condition)                                                 \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      abort();                                                                \
    }                                                                         \
  } while (0)

static FUZZ_UNUSED void fuzz_begin(void) {
  fuzz_memory = FUZZ_MEMORY;
  fuzz_refuse = 0;
  fuzz_refuse_all = 0;
}

/* A global function, owned by the caller. */
static TVMFFIObject *fuzz_function(const char *name) {
  TVMFFIByteArray key = tvmffi_byte_array(name);
  TVMFFIObjectHandle f = NULL;
  FUZZ_CHECK(TVMFFIFunctionGetGlobal(&key, &f) == 0 && f);
  return (TVMFFIObject *)f;
}

/* A call that failed left an error, one that did not left none. */
static void fuzz_check_error(int code) {
  TVMFFIObjectHandle error = NULL;
  const TVMFFIErrorCell *cell;
  TVMFFIErrorMoveFromRaised(&error);
  if (!code != !error) fprintf(stderr, "returned %d\n", code);
  FUZZ_CHECK(code == 0 || code == -1);
  FUZZ_CHECK(!code == !error);
  if (!error) return;
  FUZZ_CHECK(((TVMFFIObject *)error)->type_index == kTVMFFIError);
  cell = TVMFFI_I_CELL(const TVMFFIErrorCell, error);
  FUZZ_CHECK(cell->kind.size && cell->kind.data && cell->message.data);
  FUZZ_CHECK(cell->message.data[cell->message.size] == 0);
  tvmffi_release(error);
}

/* What any code may find in a value: an Any of a type that is known, without
   anything where nothing belongs. */
static void fuzz_check_any(const TVMFFIAny *any) {
  int32_t index = any->type_index;
  if (index == kTVMFFISmallStr || index == kTVMFFISmallBytes) {
    FUZZ_CHECK(any->small_str_len <= 7);
    FUZZ_CHECK(any->v_bytes[any->small_str_len] == 0);
    return;
  }
  FUZZ_CHECK(any->zero_padding == 0);
  if (index < kTVMFFIStaticObjectBegin) {
    FUZZ_CHECK(index >= 0 && index <= kTVMFFIUnchanged);
    return;
  }
  FUZZ_CHECK(any->v_obj && any->v_obj->type_index == index);
  FUZZ_CHECK(TVMFFIGetTypeInfo(index) != NULL);
  FUZZ_CHECK((uint32_t)any->v_obj->combined_ref_count > 0);
}

/* Calls a function; *result is owned by the caller. */
static int fuzz_apply(TVMFFIObject *f, TVMFFIAny *args, int32_t n,
                      TVMFFIAny *result) {
  int code;
  *result = tvmffi_none();
  code = TVMFFIFunctionCall(f, args, n, result);
  fuzz_check_error(code);
  if (code) return code;
  fuzz_check_any(result);
  return 0;
}

static FUZZ_UNUSED int fuzz_call1(TVMFFIObject *f, TVMFFIAny a,
                                  TVMFFIAny *result) {
  return fuzz_apply(f, &a, 1, result);
}

static FUZZ_UNUSED int fuzz_call2(TVMFFIObject *f, TVMFFIAny a, TVMFFIAny b,
                                  TVMFFIAny *result) {
  TVMFFIAny args[2];
  args[0] = a;
  args[1] = b;
  return fuzz_apply(f, args, 2, result);
}

/* Whether two values have the same structure. */
static FUZZ_UNUSED int fuzz_same(TVMFFIAny a, TVMFFIAny b) {
  static TVMFFIObject *equal;
  TVMFFIAny args[4], result;
  if (!equal) equal = fuzz_function("ffi.StructuralEqual");
  args[0] = a;
  args[1] = b;
  args[2] = args[3] = tvmffi_bool(0);
  return fuzz_apply(equal, args, 4, &result) == 0 && result.v_int64;
}

static FUZZ_UNUSED int fuzz_same_text(const TVMFFIAny *a, const TVMFFIAny *b) {
  TVMFFIByteArray x = tvmffi_any_str(a), y = tvmffi_any_str(b);
  return x.size == y.size && (!x.size || !memcmp(x.data, y.data, x.size));
}

/* A string of all of an input; owned by the caller. */
static FUZZ_UNUSED TVMFFIAny fuzz_text(const void *data, size_t size) {
  TVMFFIByteArray text;
  TVMFFIAny any = tvmffi_none();
  text.data = (const char *)data;
  text.size = size;
  FUZZ_CHECK(TVMFFIStringFromByteArray(&text, &any) == 0);
  return any;
}

#endif /* FUZZ_H_ */
