/* The bytes of an RPC client. An input begins with four bytes: flags, the size
   of the pieces in which it arrives (0: all at once), which allocation is
   refused (0: none), and whether all after it are. What the functions are given
   is touched to its last byte, so that the sanitizer sees memory that is not
   the client's. */
#define TVMFFI_RPC_MAX_PACKET ((size_t)1 << 16)
#include "rpc_server.h"

enum { NO_HANDSHAKE = 1, HAS_DEVICE = 2, FAILS_LATER = 4, WRITE_FAILS = 8 };
static int flags;

/* -- what the server sends ------------------------------------------------- */

static struct {
  uint8_t bytes[65536];
  size_t size;
} sent;

static int on_write(void *user, const void *bytes, size_t size) {
  (void)user;
  if (flags & WRITE_FAILS) return TVMFFI_RAISE("OSError", "cannot write");
  if (size > sizeof(sent.bytes) - sent.size) sent.size = sizeof(sent.bytes);
  if (sent.size == sizeof(sent.bytes)) return 0;
  memcpy(sent.bytes + sent.size, bytes, size);
  sent.size += size;
  return 0;
}

/* All that was sent is packets: returns, exceptions and copies. */
static void check_sent(void) {
  size_t at = 0;
  if (sent.size == sizeof(sent.bytes)) return; /* it was cut */
  if (!(flags & NO_HANDSHAKE)) {
    if (sent.size <= 4) return;
    at = 8 + 7 + 1; /* server:k */
  }
  while (at < sent.size) {
    uint64_t length;
    int32_t code;
    FUZZ_CHECK(sent.size - at >= 12);
    memcpy(&length, sent.bytes + at, 8);
    memcpy(&code, sent.bytes + at + 8, 4);
    FUZZ_CHECK(length >= 4 && length <= sent.size - at - 8);
    FUZZ_CHECK(code == 4 || code == 5 || code == 8);
    at += 8 + (size_t)length;
  }
}

/* -- functions that clients find ------------------------------------------- */

static int make_tensor(void *self, const TVMFFIAny *args, int32_t n,
                       TVMFFIAny *result) {
  TVMFFI_SCOPE;
  int64_t shape[1] = {5};
  TVMFFIObject *t;
  (void)self, (void)args, (void)n;
  TVMFFI_TRY(tvmffi_tensor_new("int32", "cpu", 1, shape, &t));
  memset(TVMFFITensorGetDLTensorPtr(t)->data, 0, 20);
  return tvmffi_any_assign(result, tvmffi_obj(t));
}

static int make_pointer(void *self, const TVMFFIAny *args, int32_t n,
                        TVMFFIAny *result) {
  static int here;
  (void)self, (void)args, (void)n;
  *result = tvmffi_ptr(&here);
  return 0;
}

static int add(void *self, const TVMFFIAny *args, int32_t n,
               TVMFFIAny *result) {
  static TVMFFIObject *array;
  (void)self;
  if (!array) array = fuzz_function("ffi.Array");
  return TVMFFIFunctionCall(array, (TVMFFIAny *)(uintptr_t)args, n, result);
}

static const struct {
  const char *name;
  TVMFFISafeCallType call;
} functions[] = {{"touch", touch},       {"tensor", make_tensor},
                 {"array", add},         {"pointer", make_pointer},
                 {"later", touch},       {"runtime.RPCTimeEvaluator", NULL},
                 {"ffi.SystemLib", NULL}};

static TVMFFIObject *later;

static int on_find(void *user, tvmffi_rpc *session, const char *name,
                   TVMFFIObject **out) {
  TVMFFIByteArray key = tvmffi_byte_array(name);
  TVMFFIObjectHandle f = NULL;
  size_t i;
  (void)user, (void)session;
  for (i = 0; i < sizeof(functions) / sizeof(functions[0]); ++i) {
    if (strcmp(name, functions[i].name)) continue;
    if (functions[i].call)
      TVMFFI_TRY(TVMFFIFunctionCreate(NULL, functions[i].call, NULL, &f));
    else
      TVMFFI_TRY(TVMFFIFunctionGetGlobal(&key, &f));
    if (!strcmp(name, "later")) later = (TVMFFIObject *)f;
    *out = (TVMFFIObject *)f;
    return 0;
  }
  return 0;
}

static int on_call(void *user, tvmffi_rpc *session, TVMFFIObject *f,
                   const TVMFFIAny *args, int32_t n, TVMFFIAny *result) {
  (void)user, (void)session;
  if (f == later) return TVMFFI_RPC_LATER;
  return TVMFFIFunctionCall(f, (TVMFFIAny *)(uintptr_t)args, n, result);
}

static const tvmffi_rpc_device *on_device(void *user, DLDevice device) {
  static const tvmffi_rpc_device there = {
      device_alloc, device_release, device_copy, device_sync, NULL,
      NULL,         NULL,           NULL,        NULL,        NULL};
  (void)user;
  return device.device_type == 12 && flags & HAS_DEVICE ? &there : NULL;
}

/* -- a session --------------------------------------------------------------
 */

/* Ends what a hook has put off. */
static int finish(tvmffi_rpc *s) {
  TVMFFIAny seven = tvmffi_int(7);
  if (!(flags & FAILS_LATER)) return tvmffi_rpc_finish(s, 0, &seven);
  (void)TVMFFI_RAISE("ValueError", "later");
  return tvmffi_rpc_finish(s, -1, NULL);
}

static int feed(tvmffi_rpc *s, const uint8_t *data, size_t size, size_t piece) {
  int code = 0;
  if (!piece) piece = size;
  while (size && !code) {
    size_t n = size < piece ? size : piece, room;
    code = tvmffi_rpc_feed(s, data, n);
    if (!code && !tvmffi_rpc_buffer(s, &room)) code = finish(s);
    data += n;
    size -= n;
  }
  return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static tvmffi_rpc_options options;
  tvmffi_rpc *s;
  int code;
  if (size < 4) return 0;
  fuzz_begin();
  flags = data[0];
  sent.size = 0;
  later = NULL;
  memset(&options, 0, sizeof(options));
  options.write = on_write;
  options.find = on_find;
  options.call = on_call;
  options.device = on_device;
  options.key = "k";
  options.no_handshake = flags & NO_HANDSHAKE;
  options.max_handles = 64;
  FUZZ_CHECK(tvmffi_rpc_register(&options) == 0);
  fuzz_refuse = data[2];
  fuzz_refuse_all = data[3] & 1;
  code = tvmffi_rpc_new(&options, &s);
  if (!code) code = feed(s, data + 4, size - 4, data[1]);
  fuzz_begin();
  fuzz_check_error(code > 0 ? 0 : code);
  tvmffi_rpc_free(s);
  check_sent();
  FUZZ_CHECK(fuzz_blocks == 0);
  return 0;
}
