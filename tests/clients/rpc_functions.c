/* Global functions that rpc_client.py calls by upstream's RPC server and by
   ours: the same library is loaded into both. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime under -std=c11 */
#include "tvmffi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

TVMFFI_FUNC(echo, any, (any, x)) { TVMFFI_RETURN(x); }

TVMFFI_FUNC(type_index, int64, (any, x)) { TVMFFI_RETURN(x.type_index); }

TVMFFI_FUNC(fail, none, (str, kind), (str, message)) {
  return TVMFFI_RAISE(kind.data, "%s", message.data);
}

/* Fails with another code than -1. */
TVMFFI_FUNC(fail_with_1, none) {
  (void)TVMFFI_RAISE("ValueError", "one");
  return 1;
}

TVMFFI_FUNC(sleep_ms, none, (int64, ms)) {
  struct timespec t;
  t.tv_sec = (time_t)(ms / 1000);
  t.tv_nsec = (long)(ms % 1000 * 1000000);
  nanosleep(&t, NULL);
  TVMFFI_RETURN();
}

TVMFFI_FUNC(crash, none) {
  abort();
  TVMFFI_RETURN();
}

static int64_t starts; /* of sessions in this process */

TVMFFI_FUNC(start, none) {
  ++starts;
  TVMFFI_RETURN();
}

TVMFFI_FUNC(start_count, int64) { TVMFFI_RETURN(starts); }

/* Leaves a file in the session's folder, for the client to see. */
TVMFFI_FUNC(shutdown, none) {
  FILE *file = fopen("ended", "w");
  if (file) fclose(file);
  TVMFFI_RETURN();
}

static int64_t calls;

TVMFFI_FUNC(count, int64) { TVMFFI_RETURN(++calls); }

/* A busy loop of a known duration, for the time evaluator. */
TVMFFI_FUNC(spin_us, none, (int64, us)) {
  struct timespec a, b;
  clock_gettime(CLOCK_MONOTONIC, &a);
  do clock_gettime(CLOCK_MONOTONIC, &b);
  while ((b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000 < us);
  TVMFFI_RETURN();
}

TVMFFI_FUNC(sum, float64, (tensor, x)) {
  double sum = 0;
  TVMFFI_EXPECT((x, "float32[n] cpu"));
  for (int64_t i = 0; i < x->shape[0]; ++i) sum += TVMFFI_ELEMENT(x, float, i);
  TVMFFI_RETURN(sum);
}

TVMFFI_FUNC(arange, tensor_object, (int64, n)) {
  TVMFFIObject *t;
  int64_t shape[1];
  float *data;
  shape[0] = n;
  TVMFFI_TRY(tvmffi_tensor_new("float32", "cpu", 1, shape, &t));
  data = TVMFFI_DATA(TVMFFITensorGetDLTensorPtr(t), float);
  for (int64_t i = 0; i < n; ++i) data[i] = (float)i;
  TVMFFI_RETURN(t);
}

TVMFFI_CLOSURE(add_to, int64_t, int64, (int64, x)) { TVMFFI_RETURN(x + *self); }

TVMFFI_FUNC(adder, func, (int64, n)) {
  static int64_t by;
  TVMFFIObject *f;
  by = n;
  TVMFFI_TRY(TVMFFI_CLOSURE_NEW(add_to, &by, NULL, &f));
  TVMFFI_RETURN(f);
}

TVMFFI_FUNC(nested, object) {
  TVMFFI_RETURN(tvmffi_list(1, "two", tvmffi_list(3.5, "four")));
}

TVMFFI_FUNC(item, any, (list, list), (int64, i)) {
  TVMFFIAny item;
  TVMFFI_TRY(tvmffi_at(list, i, &item));
  TVMFFI_RETURN(item);
}

static int secret = 42;

TVMFFI_FUNC(pointer, ptr) { TVMFFI_RETURN(&secret); }

TVMFFI_FUNC(pointer_is_ours, bool, (ptr, p)) { TVMFFI_RETURN(p == &secret); }

/* A session of its own kind: a module whose functions come first. */
typedef struct {
  tvmffi_module base;
  int64_t number;
} Numbers;

TVMFFI_MODULE(Numbers, "test.numbers", (function, number))
TVMFFI_METHOD(Numbers, number, int64) { TVMFFI_RETURN(self->number); }

TVMFFI_FUNC(session, module, (int64, number)) {
  Numbers *made = TVMFFI_NEW(Numbers);
  if (!made) return -1;
  made->number = number;
  TVMFFI_RETURN(made);
}

static int set_up(void) {
  TVMFFI_TRY(TVMFFI_REGISTER("test.echo", echo));
  TVMFFI_TRY(TVMFFI_REGISTER("test.type_index", type_index));
  TVMFFI_TRY(TVMFFI_REGISTER("test.fail", fail));
  TVMFFI_TRY(TVMFFI_REGISTER("test.fail_with_1", fail_with_1));
  TVMFFI_TRY(TVMFFI_REGISTER("test.sleep_ms", sleep_ms));
  TVMFFI_TRY(TVMFFI_REGISTER("test.crash", crash));
  TVMFFI_TRY(TVMFFI_REGISTER("tvm.rpc.server.start", start));
  TVMFFI_TRY(TVMFFI_REGISTER("test.start_count", start_count));
  TVMFFI_TRY(TVMFFI_REGISTER("tvm.rpc.server.shutdown", shutdown));
  TVMFFI_TRY(TVMFFI_REGISTER("test.count", count));
  TVMFFI_TRY(TVMFFI_REGISTER("test.spin_us", spin_us));
  TVMFFI_TRY(TVMFFI_REGISTER("test.sum", sum));
  TVMFFI_TRY(TVMFFI_REGISTER("test.arange", arange));
  TVMFFI_TRY(TVMFFI_REGISTER("test.adder", adder));
  TVMFFI_TRY(TVMFFI_REGISTER("test.nested", nested));
  TVMFFI_TRY(TVMFFI_REGISTER("test.item", item));
  TVMFFI_TRY(TVMFFI_REGISTER("test.pointer", pointer));
  TVMFFI_TRY(TVMFFI_REGISTER("test.session", session));
  return TVMFFI_REGISTER("test.pointer_is_ours", pointer_is_ours);
}
TVMFFI_ON_LOAD(set_up)
