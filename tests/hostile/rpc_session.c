/* A session of rpc/tvmffi_rpc.h without a client: work that ends later, a
   device, hooks, pieces of any size, and each allocation refused in turn; and
   the errors of parallel loops. Prints TAP. */
#define _POSIX_C_SOURCE 200809L /* setenv and alarm under -std=c99 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

static int blocks, refused; /* live blocks; the allocation to refuse, or 0 */
static int refuse_all;      /* refuse all that follow it, too */

static void *counted_malloc(size_t size) {
  void *block;
  if (refused && !--refused) {
    refused = refuse_all;
    return NULL;
  }
  block = malloc(size);
  if (block) ++blocks;
  return block;
}

static void counted_free(void *block) {
  --blocks;
  free(block);
}
#define TVMFFI_RPC_MALLOC(size) counted_malloc(size)
#define TVMFFI_RPC_FREE(pointer) counted_free(pointer)
#define TVMFFI_RPC_IMPLEMENTATION
#include "rpc/tvmffi_rpc.h"
#include "rpc/tvmffi_rpc_backend.h"

static int checks, failures;

static void check(int good, const char *name) {
  ++checks;
  if (!good) ++failures;
  printf("%sok %d - %s\n", good ? "" : "not ", checks, name);
}

/* -- packets ----------------------------------------------------------------
 */

static unsigned char request[4096], answers[65536];
static size_t request_size, answers_size;

static void put(const void *bytes, size_t size) {
  memcpy(request + request_size, bytes, size);
  request_size += size;
}

static void put_i32(int32_t x) { put(&x, sizeof(x)); }
static void put_u64(uint64_t x) { put(&x, sizeof(x)); }

static void begin(int32_t code) {
  request_size = 0;
  put_u64(0);
  put_i32(code);
}

static void put_text(const char *text) {
  put_i32(kTVMFFIRawStr);
  put_u64(strlen(text));
  put(text, strlen(text));
}

/* A text as a String object, which has its type index twice. */
static void put_string(const char *text) {
  put_i32(kTVMFFIStr), put_i32(kTVMFFIStr);
  put_u64(strlen(text));
  put(text, strlen(text));
}

static void put_tensor(uint64_t handle, int32_t device, int64_t n) {
  put_u64(handle);
  put_i32(device), put_i32(0);
  put_i32(1), put_i32(0x10801); /* uint8 */
  put_u64((uint64_t)n), put_u64(0);
}

static void put_device(int32_t type) {
  put_i32(kTVMFFIDevice), put_i32(type), put_i32(0);
}

static void put_int(int64_t x) { put_i32(kTVMFFIInt), put_u64((uint64_t)x); }

/* -- the server's side ------------------------------------------------------
 */

/* Keeps what fits. */
static int on_write(void *user, const void *bytes, size_t size) {
  size_t room = sizeof(answers) - answers_size;
  (void)user;
  if (size > room) size = room;
  memcpy(answers + answers_size, bytes, size);
  answers_size += size;
  return 0;
}

enum { EXT = 12 };
static int put_off;  /* how many hooks have returned TVMFFI_RPC_LATER */
static int64_t kept; /* the argument of a call that ends later */

static tvmffi_rpc *session;
static int fed; /* the code of bytes that a hook fed to its own session */

/* Returns a tensor of 40 dimensions. */
static int make_tensor(TVMFFIAny *result) {
  TVMFFI_SCOPE;
  int64_t shape[40];
  TVMFFIObject *tensor;
  int i;
  for (i = 0; i < 40; ++i) shape[i] = 1;
  TVMFFI_TRY(tvmffi_tensor_new("uint8", "cpu", 40, shape, &tensor));
  return tvmffi_any_assign(result, tvmffi_obj(tensor));
}

static int on_call(void *user, tvmffi_rpc *of, TVMFFIObject *f,
                   const TVMFFIAny *args, int32_t n, TVMFFIAny *result) {
  (void)user;
  if (n == 1 && args[0].type_index == kTVMFFIInt) {
    kept = args[0].v_int64;
    ++put_off;
    return TVMFFI_RPC_LATER;
  }
  if (n == 2 && args[1].type_index == kTVMFFIDLTensorPtr) return 0;
  if (n == 3) {
    static char text[2 << 20];
    TVMFFIByteArray long_text;
    long_text.data = text;
    long_text.size = sizeof(text);
    return TVMFFIBytesFromByteArray(&long_text, result);
  }
  if (n == 4) {
    fed = tvmffi_rpc_feed(of, "x", 1);
    return 0;
  }
  if (n == 5) return make_tensor(result);
  return TVMFFIFunctionCall(f, (TVMFFIAny *)(uintptr_t)args, n, result);
}

static int on_find(void *user, tvmffi_rpc *of, const char *name,
                   TVMFFIObject **out) {
  TVMFFI_SCOPE;
  TVMFFIObject *f = NULL;
  (void)user, (void)of;
  if (!strcmp(name, "string")) TVMFFI_TRY(tvmffi_global_find("ffi.String", &f));
  if (!strcmp(name, "array")) TVMFFI_TRY(tvmffi_global_find("ffi.Array", &f));
  tvmffi_keep(out, f);
  return 0;
}

static int constructed; /* arguments of the constructor */

static int on_construct(void *user, tvmffi_rpc *of, const TVMFFIAny *args,
                        int32_t n) {
  (void)user, (void)of;
  if (!tvmffi_equal(args[0], "demo.Session"))
    return TVMFFI_RAISE("ValueError", "no such constructor");
  constructed = n;
  return 0;
}

static int device_alloc(void *user, DLDevice device, size_t size,
                        size_t alignment, const char *scope, void **data) {
  (void)user, (void)device, (void)alignment, (void)scope;
  *data = counted_malloc(size);
  return *data ? 0 : TVMFFI_RAISE("MemoryError", "the device is full");
}

static int device_release(void *user, DLDevice device, void *data) {
  (void)user, (void)device;
  counted_free(data);
  return 0;
}

static int device_copy(void *user, DLDevice from_device, const void *from,
                       size_t from_offset, DLDevice to_device, void *to,
                       size_t to_offset, size_t size, void *stream) {
  (void)user, (void)from_device, (void)to_device, (void)stream;
  memcpy((char *)to + to_offset, (const char *)from + from_offset, size);
  ++put_off;
  return TVMFFI_RPC_LATER;
}

static int device_sync(void *user, DLDevice device, void *stream) {
  (void)user, (void)device, (void)stream;
  ++put_off;
  return TVMFFI_RPC_LATER;
}

static int device_attribute(void *user, DLDevice device, int kind,
                            TVMFFIAny *out) {
  (void)user, (void)device;
  *out = tvmffi_int(kind * 10);
  return 0;
}

static const tvmffi_rpc_device *on_device(void *user, DLDevice device) {
  static const tvmffi_rpc_device there = {
      device_alloc, device_release, device_copy, device_sync, device_attribute,
      NULL,         NULL,           NULL,        NULL,        NULL};
  (void)user;
  return (int)device.device_type == EXT ? &there : NULL;
}

static tvmffi_rpc_options options;

/* Sends the request in pieces; returns the first code that is not 0. */
static int send(size_t piece) {
  uint64_t length = request_size - 8;
  size_t at;
  int code = 0;
  memcpy(request, &length, 8);
  answers_size = 0;
  for (at = 0; at < request_size && !code; at += piece)
    code =
        tvmffi_rpc_feed(session, request + at,
                        request_size - at < piece ? request_size - at : piece);
  return code;
}

/* Whether the answer has these bytes anywhere. */
static int answer_has(const char *text) {
  size_t size = strlen(text), i;
  for (i = 0; i + size <= answers_size; ++i)
    if (!memcmp(answers + i, text, size)) return 1;
  return 0;
}

/* Whether exactly one packet was sent. */
static int is_one_answer(void) {
  uint64_t length = 0;
  if (answers_size >= 12) memcpy(&length, answers, 8);
  return answers_size >= 12 && length == answers_size - 8;
}

static int32_t answer_code(void) {
  int32_t code = -1;
  if (answers_size >= 12) memcpy(&code, answers + 8, 4);
  return code;
}

/* The number at an offset of the answer's body. */
static uint64_t answer_u64(size_t at) {
  uint64_t x = 0;
  if (answers_size >= 20 + at) memcpy(&x, answers + 12 + at, 8);
  return x;
}

static void init(const char *constructor) {
  begin(2);
  put_u64(5), put("0.8.0", 5);
  put_i32(constructor ? 2 : 0);
  if (constructor) put_text(constructor), put_int(3);
}

static void get(const char *name) {
  begin(9);
  put_i32(1), put_text(name);
}

static void call(uint64_t handle, int n) {
  int i;
  begin(3);
  put_u64(handle), put_i32(n);
  for (i = 0; i < n; ++i) put_int(40 + i);
}

static void alloc(int32_t device, int64_t size) {
  begin(13);
  put_i32(4), put_device(device), put_int(size), put_int(64);
  put_i32(kTVMFFIDataType), put_i32(0x10801), put_i32(0);
}

static int start(const char *constructor) {
  int code = tvmffi_rpc_new(&options, &session);
  if (code) return code;
  init(constructor);
  return send(request_size);
}

/* -- tests ------------------------------------------------------------------
 */

static void test_hooks(void) {
  check(start("demo.Session") == 0 && answer_code() == 4 && constructed == 2,
        "a constructor of one's own");
  get("array");
  check(send(1) == 0 && answer_u64(8) != 0, "a function is found");
  get("ffi.Array");
  check(send(3) == 0 && answer_code() == 4 && answer_u64(8) == 0,
        "another one is not");
  tvmffi_rpc_free(session);
  check(start("demo.Other") == 0 && answer_code() == 5,
        "an unknown constructor is an error");
  tvmffi_rpc_free(session);
}

static void test_later(void) {
  TVMFFIAny result = tvmffi_int(7);
  size_t size;
  uint64_t f;
  start(NULL);
  get("array");
  send(100);
  f = answer_u64(8);
  call(f, 1);
  check(send(5) == 0 && answers_size == 0 && kept == 40,
        "a call is put off without an answer");
  check(!tvmffi_rpc_buffer(session, &size) && !tvmffi_rpc_is_idle(session),
        "the session waits");
  check(tvmffi_rpc_finish(session, 0, &result) == 0 && answer_code() == 4 &&
            answer_u64(8) == 1 && answer_u64(20) == 7,
        "its result is the answer");
  check(tvmffi_rpc_finish(session, 0, NULL) == -1 &&
            tvmffi_error_catch("ValueError"),
        "and there is no second one");
  call(f, 1);
  send(500);
  (void)TVMFFI_RAISE("ValueError", "it failed later");
  check(tvmffi_rpc_finish(session, -1, NULL) == 0 && answer_code() == 5,
        "an error is an answer, too");
  call(f, 2);
  check(send(500) == 0 && answer_code() == 4, "the next call is answered");
  call(f, 1);
  send(500);
  check(send(500) == -1 && tvmffi_error_catch("RPCError"),
        "bytes before the answer end the session");
  check(tvmffi_rpc_finish(session, 0, NULL) == 1, "a late end is no harm");
  tvmffi_rpc_free(session);
}

static void test_device(void) {
  uint64_t data;
  start(NULL);
  alloc(EXT, 33);
  check(send(7) == 0 && answer_code() == 4, "memory of a device");
  data = answer_u64(8);
  begin(7);
  put_tensor(data, EXT, 33), put_u64(33);
  put("abcdefghijklmnopqrstuvwxyz0123456", 33);
  put_off = 0;
  check(send(10) == 0 && put_off == 1 && !answers_size,
        "a copy to it is put off");
  check(tvmffi_rpc_finish(session, 0, NULL) == 0 && answer_code() == 4,
        "and answered");
  begin(6);
  put_tensor(data, EXT, 33), put_u64(33);
  check(send(10) == 0 && put_off == 2 && !answers_size,
        "a copy from it is put off");
  check(tvmffi_rpc_finish(session, 0, NULL) == 0 && answer_code() == 8 &&
            !memcmp(answers + 12, "abcdefghijklmnopqrstuvwxyz0123456", 33),
        "and answered by its bytes");
  begin(15);
  put_i32(2), put_device(EXT), put_i32(kTVMFFIOpaquePtr), put_u64(0);
  check(send(10) == 0 && put_off == 3 &&
            tvmffi_rpc_finish(session, 0, NULL) == 0 && answer_code() == 4,
        "waiting is put off and answered");
  begin(12);
  put_i32(2), put_device(EXT), put_int(4);
  check(send(10) == 0 && answer_u64(8) == 40, "an attribute");
  begin(12);
  put_i32(2), put_device(99), put_int(0);
  check(send(10) == 0 && answer_code() == 4 && answer_u64(8) == 0,
        "a device that does not exist");
  alloc(EXT, -1);
  check(send(10) == 0 && answer_code() == 5 && answer_has("aligned to"),
        "a device is not asked for more than an object's largest size");
  tvmffi_rpc_free(session);
  check(blocks == 0, "its memory ends with the session");
}

static void test_abort(void) {
  start(NULL);
  answers_size = 0;
  check(tvmffi_rpc_abort(session, "RPCSessionTimeoutError: over") == 0 &&
            answer_code() == 5 &&
            !memcmp(answers + 28, "RPCSessionTimeoutError: over", 28),
        "a session that is ended from outside says why");
  init(NULL);
  check(send(100) == 1 && !answers_size, "and is over");
  tvmffi_rpc_free(session);
}

/* An empty tensor of two dimensions as the only argument of a call. */
static void call_with_shape(uint64_t f, int64_t rows, int64_t columns) {
  begin(3);
  put_u64(f), put_i32(2), put_i32(kTVMFFINone), put_i32(kTVMFFIDLTensorPtr);
  put_u64(0), put_i32(kDLCPU), put_i32(0);
  put_i32(2), put_i32(0x10801); /* uint8 */
  put_u64((uint64_t)rows), put_u64((uint64_t)columns), put_u64(0);
}

static void test_empty_tensors(void) {
  uint64_t f;
  start(NULL);
  get("array");
  send(100);
  f = answer_u64(8);
  call_with_shape(f, 0, INT64_MAX);
  check(send(100) == 0 && answer_code() == 4, "a tensor without rows is empty");
  call_with_shape(f, INT64_MAX, 0);
  check(send(100) == 0 && answer_code() == 4, "so is one without columns");
  call_with_shape(f, 0, -1);
  check(send(100) == 0 && answer_code() == 5, "a negative size is an error");
  call_with_shape(f, -1, 0);
  check(send(100) == 0 && answer_code() == 5, "on either side");
  tvmffi_rpc_free(session);
}

/* A packet whose bytes stay in the session's memory. */
static void send_secret(void) {
  char secret[200];
  memset(secret, 'S', sizeof(secret) - 1);
  secret[sizeof(secret) - 1] = 0;
  get(secret);
  send(500);
}

static void test_strings(void) {
  char name[3000];
  start(NULL);
  send_secret();
  begin(9);
  put_i32(1), put_string("array");
  check(send(500) == 0 && answer_code() == 4 && answer_u64(8) != 0,
        "a name that is a String object ends where it ends");
  send_secret();
  begin(17); /* the tensor's type index and the tensor, then the scope */
  put_i32(2), put_i32(kTVMFFIDLTensorPtr), put_tensor(0, kDLCPU, 4);
  put_string("scope");
  check(send(500) == 0 && answer_code() == 5 && answer_has("`scope`") &&
            !answer_has("SS"),
        "and so does a scope: no byte of the last packet is sent");
  tvmffi_rpc_free(session);
  options.construct = NULL;
  tvmffi_rpc_new(&options, &session);
  send_secret();
  begin(2);
  put_u64(5), put("0.8.0", 5), put_i32(1), put_string("none.Session");
  check(send(500) == 0 && answer_code() == 5 && answer_has("`none.Session`"),
        "and a session's constructor");
  /* The next packet is longer, so it is read into another block. */
  begin(2);
  put_u64(5), put("9.9.9", 5), put_i32(0);
  check(send(500) == 0 && answer_code() == 5, "another version is an error");
  memset(name, 'n', sizeof(name) - 1);
  name[sizeof(name) - 1] = 0;
  init(name);
  check(send(5000) == 0 && answer_code() == 5, "a long one is refused");
  tvmffi_rpc_free(session);
  options.construct = on_construct;
}

/* The body of a packet is a sequence of packets. The one of a copy begins with
   a tensor of `ndim` dimensions. */
static void packet_of_packets(int32_t code, int32_t ndim) {
  int i;
  begin(code);
  if (code == 7) {
    put_u64(0), put_i32(kDLCPU), put_i32(0), put_i32(ndim), put_i32(0x10801);
  }
  for (i = 0; i < 20; ++i) {
    put_u64(4 + 4 + 12 + 5), put_i32(9);
    put_i32(1), put_text("array");
  }
}

/* The body's block is refused: its bytes are no packets. */
static void test_refused_body(int32_t code, int32_t ndim, int at,
                              const char *name) {
  size_t handles;
  start(NULL);
  handles = tvmffi_rpc_handle_count(session);
  packet_of_packets(code, ndim);
  refused = at;
  check(send(7) == 0 && is_one_answer() && answer_code() == 5 &&
            answer_has("MemoryError") && tvmffi_rpc_is_idle(session) &&
            tvmffi_rpc_handle_count(session) == handles && !refused,
        name);
  refused = 0;
  get("array");
  check(send(7) == 0 && is_one_answer() && answer_code() == 4,
        "and the next packet is read");
  tvmffi_rpc_free(session);
}

static void test_refused_bodies(void) {
  test_refused_body(3, 0, 1, "a call without memory is skipped");
  test_refused_body(13, 0, 1, "so is a system call");
  test_refused_body(7, 40, 1, "so is a copy without memory for its shape");
}

/* The answer that has no memory is in the session's first block, even after a
   long answer. */
static void test_answer_without_memory(void) {
  uint64_t f;
  int again;
  start(NULL);
  get("array");
  send(100);
  f = answer_u64(8);
  for (again = 0; again < 2; ++again) {
    call(f, 3);
    check(send(100) == 0 && answers_size == sizeof(answers), "a long answer");
    call(f, 40);
    refused = refuse_all = 1;
    check(send(100) == 0 && is_one_answer() && answer_code() == 5,
          "an answer without any memory");
    refused = refuse_all = 0;
  }
  tvmffi_rpc_free(session);
}

/* A result that cannot be sent leaves no entry behind. */
static void test_result_without_memory(void) {
  size_t handles;
  uint64_t f;
  start(NULL);
  get("array");
  send(100);
  f = answer_u64(8);
  alloc(kDLCPU, 1); /* the table has memory for a few more */
  send(100);
  handles = tvmffi_rpc_handle_count(session);
  call(f, 5);
  refused = refuse_all = 1;
  check(send(100) == 0 && answer_code() == 5 &&
            tvmffi_rpc_handle_count(session) == handles,
        "a tensor that cannot be sent is not kept");
  refused = refuse_all = 0;
  call(f, 5);
  check(send(100) == 0 && answer_code() == 4 &&
            tvmffi_rpc_handle_count(session) == handles + 1,
        "one that was sent is");
  tvmffi_rpc_free(session);
}

static void test_reentry(void) {
  uint64_t f;
  start(NULL);
  get("array");
  send(100);
  f = answer_u64(8);
  call(f, 4);
  check(send(100) == 1 && fed == -1 && tvmffi_error_catch("RPCError") &&
            !answers_size,
        "bytes from inside of a call end the session");
  tvmffi_rpc_free(session);
}

/* A length for which a 32-bit machine has no addresses. */
static void test_longest_packet(void) {
  const uint64_t length = (uint64_t)UINT32_MAX + 4;
  if (sizeof(size_t) > 4) return;
  options.max_packet = (size_t)-1;
  start(NULL);
  options.max_packet = 0;
  begin(9);
  memcpy(request, &length, 8);
  answers_size = 0;
  check(tvmffi_rpc_feed(session, request, 12) == 0 && !answers_size,
        "a packet of all addresses is skipped");
  tvmffi_rpc_free(session);
}

static void test_long_packets(void) {
  const uint64_t length = (uint64_t)1 << 41;
  options.max_packet = 600;
  start(NULL);
  begin(9);
  put_i32(1), put_text("array");
  while (request_size < 12 + 601) put("x", 1);
  check(send(7) == 0 && answer_code() == 5 && is_one_answer() &&
            answer_has("601 bytes") && answer_has("600"),
        "a packet beyond the limit is an error that names both");
  get("array");
  check(send(1) == 0 && answer_code() == 4 && answer_u64(8) != 0,
        "and the session goes on");
  begin(9);
  memcpy(request, &length, 8);
  check(tvmffi_rpc_feed(session, request, 12) == -1 &&
            tvmffi_error_catch("RPCError"),
        "a length that no client sends ends the session");
  tvmffi_rpc_free(session);
  options.max_packet = 0;
}

/* A text with a NUL is neither a shorter function name nor a shorter value. */
static void test_nul(void) {
  uint64_t f;
  start(NULL);
  begin(9);
  put_i32(1), put_i32(kTVMFFIRawStr), put_u64(7), put("array\0x", 7);
  check(send(500) == 0 && answer_code() == 4 && answer_u64(8) == 0,
        "a name with a NUL is not the name before it");
  get("string");
  send(500);
  f = answer_u64(8);
  begin(3);
  put_u64(f), put_i32(1);
  put_i32(kTVMFFIRawStr), put_u64(3), put("a\0b", 3);
  check(send(500) == 0 && answer_code() == 4 && answer_u64(20) == 3,
        "a text with a NUL is whole");
  tvmffi_rpc_free(session);
}

/* A module of a session, whose functions come before those of `find`. */
typedef struct {
  tvmffi_module base;
  int64_t number;
} own_module;

TVMFFI_MODULE(own_module, "rpc_test.own", (function, array), (function, number))
TVMFFI_METHOD(own_module, array, int64) { TVMFFI_RETURN(-self->number); }
TVMFFI_METHOD(own_module, number, int64) { TVMFFI_RETURN(self->number); }

TVMFFI_FUNC(own_session, module, (int64, number)) {
  own_module *made = TVMFFI_NEW(own_module);
  if (!made) return -1;
  made->number = number;
  TVMFFI_RETURN(made);
}

/* Calls a function of the session without arguments. */
static int64_t result_of(const char *name) {
  get(name);
  if (send(500) || !answer_u64(8)) return 0;
  call(answer_u64(8), 0);
  return send(500) ? 0 : (int64_t)answer_u64(20);
}

static void test_constructed_module(void) {
  options.construct = NULL;
  check(TVMFFI_REGISTER("rpc_test.session", own_session) == 0 &&
            start("rpc_test.session") == 0 && answer_code() == 4,
        "a global function constructs a session");
  check(result_of("number") == 3, "whose module has functions");
  check(result_of("array") == -3, "before the hook that finds others");
  get("string");
  check(send(500) == 0 && answer_u64(8) != 0, "which still finds them");
  tvmffi_rpc_free(session);
  options.construct = on_construct;
}

/* The handshake of a client that asks for a limit of time. */
static int64_t limit_of(const char *text) {
  char key[200];
  int size = snprintf(key, sizeof(key), "client: -timeout=%s", text);
  int64_t ms = -1;
  options.no_handshake = 0;
  if (tvmffi_rpc_new(&options, &session)) return -2;
  options.no_handshake = 1;
  request_size = 0;
  put_i32(TVMFFI_RPC_MAGIC), put_i32(size), put(key, (size_t)size);
  if (!tvmffi_rpc_feed(session, request, request_size))
    ms = tvmffi_rpc_timeout_ms(session);
  else
    tvmffi_error_clear();
  tvmffi_rpc_free(session);
  return ms;
}

/* What Python writes for a number, and what its float() reads. */
static void test_time_limits(void) {
  static const struct {
    const char *text;
    int64_t ms;
  } cases[] = {{"3", 3000},
               {"0.5", 500},
               {".25", 250},
               {"2.", 2000},
               {"+7", 7000},
               {"1e1", 10000},
               {"1E+2", 100000},
               {"12.5e-1", 1250},
               {"0.0000000000000000000000000000025e30", 2500},
               {"250000000000000000000000000e-26", 2500},
               {"1e-05", 1},
               {"0", 1},
               {"-3", 1},
               {"0e999999999999", 1},
               {"1e-999999999999", 1},
               {"", -1},
               {".", -1},
               {"e5", -1},
               {"1e", -1},
               {"1e+", -1},
               {"1.2.3", -1},
               {"0x10", -1},
               {"nan", -1},
               {"inf", -1}};
  size_t i;
  for (i = 0; i < sizeof(cases) / sizeof(*cases); ++i) {
    int64_t ms = limit_of(cases[i].text);
    if (ms != cases[i].ms)
      printf("# -timeout=%s is %lld ms\n", cases[i].text, (long long)ms);
    check(ms == cases[i].ms, "a limit of time");
  }
  check(limit_of("1e16") > (int64_t)1 << 40 &&
            limit_of("99999999999999999999999e9") == limit_of("1e999999999999"),
        "a long limit of time");
}

static void test_transfer_size(void) {
  int64_t size = 0;
  options.transfer_size = 512;
  check(tvmffi_rpc_register(&options) == 0 &&
            tvmffi_call(tvmffi_str("tvm.rpc.server.GetCRTMaxPacketSize"),
                        tvmffi_out_int64(&size)) == 0 &&
            size == 512,
        "a client can ask for the size of its transfers");
}

static void test_bad_options(void) {
  tvmffi_rpc_options none;
  tvmffi_rpc *s;
  memset(&none, 0, sizeof(none));
  check(
      tvmffi_rpc_new(NULL, &s) == -1 && !s && tvmffi_error_catch("ValueError"),
      "no options are an error");
  check(
      tvmffi_rpc_new(&none, &s) == -1 && !s && tvmffi_error_catch("ValueError"),
      "so are options without write");
  tvmffi_rpc_free(NULL);
}

/* A session in which one allocation is refused: an error to the client or to
   the server, never more. Returns 1 if none was refused. */
static int run_without(int n) {
  uint64_t f = 0;
  int code;
  refused = n;
  code = start(NULL);
  if (session) {
    get("array");
    if (!code) code = send(50), f = answer_u64(8);
    call(f, 20);
    if (!code) code = send(50);
    alloc(EXT, 64);
    if (!code) code = send(50);
    alloc(kDLCPU, 64);
    if (!code) code = send(50);
    if (!code && answer_code() != 4 && answer_code() != 5) code = -2;
    tvmffi_rpc_free(session);
  }
  tvmffi_error_clear();
  n = refused != 0;
  refused = 0;
  if (code < -1) n = -1;
  return blocks ? -1 : n;
}

static void test_memory(void) {
  int n = 1, ended = 0;
  while (!ended && n < 1000) ended = run_without(n++);
  check(ended == 1 && n > 5, "each allocation of a session refused in turn");
  printf("# %d allocations\n", n - 2);
}

/* -- parallel loops ---------------------------------------------------------
 */

static int run_nothing(int task, tvmffi_rpc_parallel_env *env, void *data) {
  (void)task, (void)env, (void)data;
  return 0;
}

static int ended_errors; /* errors of tasks that have been destroyed */

/* The deleter of an error's context enters the pool of threads. */
static void enter_pool(void *self) {
  (void)self;
  ++ended_errors;
  if (TVMBackendParallelLaunch(run_nothing, NULL, 2)) ended_errors = -100;
}

static int raise_task_error(void) {
  TVMFFIByteArray kind = tvmffi_byte_array("ValueError");
  TVMFFIByteArray none = tvmffi_byte_array("");
  TVMFFIObjectHandle context = NULL, error = NULL;
  int code;
  TVMFFI_TRY(TVMFFIObjectCreateOpaque(&ended_errors, kTVMFFIOpaquePyObject,
                                      enter_pool, &context));
  code = TVMFFIErrorCreateWithCauseAndExtraContext(&kind, &none, &none, NULL,
                                                   context, &error);
  tvmffi_release(context);
  if (!code) code = tvmffi_error_raise(error);
  tvmffi_release(error);
  return code;
}

/* Fails in both threads, or in the one that has not begun the loop. */
static int fail_task(int task, tvmffi_rpc_parallel_env *env, void *data) {
  const pthread_t *caller = (const pthread_t *)data;
  TVMBackendParallelBarrier(task, env);
  if (caller && pthread_equal(*caller, pthread_self())) return 0;
  return raise_task_error();
}

/* A pool that is locked while an error ends waits for itself. */
static void test_parallel_errors(void) {
  pthread_t self = pthread_self();
  setenv("TVM_NUM_THREADS", "2", 1);
  alarm(120);
  check(TVMBackendParallelLaunch(fail_task, NULL, 2) == -1 &&
            ended_errors == 1 && tvmffi_error_catch("ValueError") &&
            ended_errors == 2,
        "of two tasks that fail, the second error is dropped");
  (void)raise_task_error();
  check(TVMBackendParallelLaunch(fail_task, &self, 2) == -1 &&
            ended_errors == 3 && tvmffi_error_catch("ValueError") &&
            ended_errors == 4,
        "a task's error replaces the one that was raised before");
  alarm(0);
}

int main(void) {
  options.write = on_write;
  options.no_handshake = 1;
  options.call = on_call;
  options.find = on_find;
  options.construct = on_construct;
  options.device = on_device;
  test_hooks();
  test_later();
  test_device();
  test_abort();
  test_empty_tensors();
  test_strings();
  test_refused_bodies();
  test_answer_without_memory();
  test_result_without_memory();
  test_reentry();
  test_longest_packet();
  test_long_packets();
  test_nul();
  test_constructed_module();
  test_time_limits();
  test_transfer_size();
  test_bad_options();
  test_memory();
  test_parallel_errors();
  printf("1..%d\n", checks);
  return failures != 0;
}
