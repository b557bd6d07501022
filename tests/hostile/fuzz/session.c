/* A client of an RPC session that knows what it is owed. An input is a small
   program: its bytes build packets with values of every type, handles that
   live, were freed or never were, and objects that come back, and refuse
   memory. The client tracks its handles, so it checks what the session must
   do: one answer to each packet, an error to each wrong value and to no other,
   and a table with exactly the handles that the client was given. rpc.c has
   the handshake and packets of arbitrary bytes.

   FUZZ_TRACE in the environment prints each answer. */
#define TVMFFI_RPC_MAX_PACKET ((size_t)2 << 20)
#include "rpc_server.h"

enum {
  MAX_PACKETS = 100, /* of one input */
  MAX_HANDLES = 32,  /* live ones of the session */
  NUM_ENTRIES = MAX_PACKETS + 1,
  MAX_VALUES = 8,
  MAX_TEXT = 255,
  LONG_TEXT = (1 << 20) + 100, /* the session frees such a buffer */
  MEMORY = -2,                 /* types of handles, beside those of objects */
  POINTER = -3
};

/* What the client knows of a handle. */
typedef struct {
  uint64_t handle, size;
  DLDevice device;
  int32_t type;
  int is_live;
} entry;

/* What the packet deserves. */
typedef struct {
  int wrong;     /* an error, because a value is wrong */
  int malformed; /* an error and the session's end */
  int unsure;    /* either */
} verdict;

static struct {
  const uint8_t *at, *end;
  tvmffi_rpc *session;
  size_t piece; /* the size of what is fed at once; 0: all */
  entry entries[NUM_ENTRIES];
  int num_entries, has_begun, is_over;
  verdict due;
  unsigned refusals; /* before the packet */
  /* Of the packet: */
  char name[MAX_TEXT + 2]; /* the last text */
  int is_put_off, is_fed;
  entry made, *freed;
} vm;

static unsigned next_byte(void) { return vm.at < vm.end ? *vm.at++ : 0; }

/* -------- The server -------- */

static struct {
  uint8_t bytes[3 << 20];
  size_t size;
} sent;

static int on_write(void *user, const void *bytes, size_t size) {
  (void)user;
  FUZZ_CHECK(size <= sizeof(sent.bytes) - sent.size);
  memcpy(sent.bytes + sent.size, bytes, size);
  sent.size += size;
  return 0;
}

/* Functions that the server gave away and that live. */
static int num_canaries;

static void free_canary(void *self) {
  (void)self;
  --num_canaries;
}

static int make_canary(TVMFFIAny *out) {
  TVMFFIObjectHandle f = NULL;
  TVMFFI_TRY(TVMFFIFunctionCreate(NULL, touch, free_canary, &f));
  ++num_canaries;
  *out = tvmffi_obj(f);
  return 0;
}

/* A value that has no object; of some types a result cannot be. */
static int make_plain(int32_t type, TVMFFIAny *result) {
  static int64_t here;
  static char text[] = "a text of the server";
  static TVMFFIByteArray bytes = {text, sizeof(text) - 1};
  static DLTensor tensor;
  TVMFFIByteArray small = {text, 7};
  switch (type) {
    case kTVMFFISmallStr: return TVMFFIStringFromByteArray(&small, result);
    case kTVMFFISmallBytes: return TVMFFIBytesFromByteArray(&small, result);
    case kTVMFFIRawStr: *result = tvmffi_str(text); return 0;
    case kTVMFFIByteArrayPtr: *result = tvmffi_bytes(&bytes); return 0;
    case kTVMFFIDLTensorPtr: *result = tvmffi_tensor(&tensor); break;
    case kTVMFFIOpaquePtr: *result = tvmffi_ptr(&here); break;
    default: result->type_index = type; break;
  }
  if (type < 0 || type > kTVMFFIDevice) vm.due.unsure = 1;
  return 0;
}

static int make_tensor(unsigned how, TVMFFIAny *result) {
  TVMFFI_SCOPE;
  int64_t shape[40];
  TVMFFIObject *tensor;
  DLTensor *t;
  int i, ndim = how % 4 == 3 ? 40 : (int)(how % 4);
  for (i = 0; i < 40; ++i) shape[i] = i < 2 ? (int)(how / 4 % 4) : 1;
  TVMFFI_TRY(tvmffi_tensor_new("uint8", "cpu", ndim, shape, &tensor));
  t = TVMFFITensorGetDLTensorPtr(tensor);
  if (t->data) memset(t->data, 0, tvmffi_tensor_bytes(t));
  if (ndim && how >= 192) {
    t->strides[0] = 99;
    vm.due.unsure = 1; /* one with strides cannot be sent */
  }
  return tvmffi_any_assign(result, tvmffi_obj(tensor));
}

static int call_global(const char *name, TVMFFIAny *args, int32_t n,
                       TVMFFIAny *result) {
  TVMFFIObject *f = fuzz_function(name);
  int code = TVMFFIFunctionCall(f, args, n, result);
  tvmffi_release(f);
  return code;
}

/* A container with a canary. */
static int make_container(const char *function, int32_t n, TVMFFIAny *result) {
  TVMFFIAny items[2];
  int code;
  items[0] = tvmffi_int(3);
  TVMFFI_TRY(make_canary(&items[1]));
  code = call_global(function, items + 2 - n, n, result);
  tvmffi_any_release(&items[1]);
  return code;
}

static int make_object(int32_t type, unsigned how, TVMFFIAny *result) {
  static char text[LONG_TEXT];
  TVMFFIByteArray bytes, empty = {"", 0};
  TVMFFIObjectHandle object = NULL;
  TVMFFIAny seven = tvmffi_int(7);
  bytes.data = text;
  bytes.size = how == 255 ? sizeof(text) : how;
  switch (type) {
    case kTVMFFIStr: return TVMFFIStringFromByteArray(&bytes, result);
    case kTVMFFIBytes: return TVMFFIBytesFromByteArray(&bytes, result);
    case kTVMFFIError:
      TVMFFI_TRY(TVMFFIErrorCreate(&empty, &bytes, &empty, &object));
      *result = tvmffi_obj(object);
      return 0;
    case kTVMFFIShape: return call_global("ffi.Shape", &seven, 1, result);
    case kTVMFFITensor: return make_tensor(how, result);
    case kTVMFFIArray: return make_container("ffi.Array", 1, result);
    case kTVMFFIList: return make_container("ffi.List", 1, result);
    case kTVMFFIMap: return make_container("ffi.Map", 2, result);
    case kTVMFFIDict: return make_container("ffi.Dict", 2, result);
    case kTVMFFIModule: return call_global("ffi.SystemLib", NULL, 0, result);
    default: return make_canary(result);
  }
}

/* make(type, how): a value of that type. */
static int make(void *self, const TVMFFIAny *args, int32_t n,
                TVMFFIAny *result) {
  int32_t type;
  (void)self;
  if (n != 2 || args[0].type_index != kTVMFFIInt ||
      args[1].type_index != kTVMFFIInt)
    return TVMFFI_RAISE("TypeError", "make(type, how)");
  type = (int32_t)args[0].v_int64;
  return type < kTVMFFIStaticObjectBegin
             ? make_plain(type, result)
             : make_object(type, (unsigned)args[1].v_int64 & 255, result);
}

/* Returns without a result, as one whose work goes on. */
static int put_off(void *self, const TVMFFIAny *args, int32_t n,
                   TVMFFIAny *result) {
  (void)self, (void)args, (void)n, (void)result;
  vm.is_put_off = 1;
  return 0;
}

/* Feeds the session from which it is called. */
static int feed_itself(void *self, const TVMFFIAny *args, int32_t n,
                       TVMFFIAny *result) {
  (void)self, (void)args, (void)n, (void)result;
  vm.is_fed = 1;
  return tvmffi_rpc_feed(vm.session, "x", 1);
}

/* Raises an error with a long message. */
static int fail(void *self, const TVMFFIAny *args, int32_t n,
                TVMFFIAny *result) {
  (void)self, (void)args, (void)n, (void)result;
  return TVMFFI_RAISE("ValueError", "%0300d", 7);
}

static const struct {
  const char *name;
  TVMFFISafeCallType call; /* NULL: the runtime or the session has it */
} functions[] = {{"touch", touch},
                 {"make", make},
                 {"put_off", put_off},
                 {"feed_itself", feed_itself},
                 {"fail", fail},
                 {"ffi.Array", NULL},
                 {"ffi.SystemLib", NULL},
                 {"ffi.ModuleGetFunction", NULL},
                 {"runtime.RPCTimeEvaluator", NULL}};
enum { NUM_FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

static int on_find(void *user, tvmffi_rpc *session, const char *name,
                   TVMFFIObject **out) {
  TVMFFI_SCOPE;
  TVMFFIObject *f;
  (void)user, (void)session;
  FUZZ_CHECK(!strcmp(name, vm.name));
  TVMFFI_TRY(tvmffi_global_find(name, &f));
  tvmffi_keep(out, f);
  return 0;
}

static int on_call(void *user, tvmffi_rpc *session, TVMFFIObject *f,
                   const TVMFFIAny *args, int32_t n, TVMFFIAny *result) {
  int code;
  (void)user, (void)session;
  FUZZ_CHECK(!vm.due.wrong && !vm.due.malformed);
  code = TVMFFIFunctionCall(f, (TVMFFIAny *)(uintptr_t)args, n, result);
  if (code) vm.due.unsure = 1;
  return vm.is_put_off && !code ? TVMFFI_RPC_LATER : code;
}

static int on_construct(void *user, tvmffi_rpc *session, const TVMFFIAny *args,
                        int32_t n) {
  (void)user, (void)session, (void)n;
  FUZZ_CHECK(!strcmp(tvmffi_any_str(&args[0]).data, vm.name));
  return 0;
}

static int checked_alloc(void *user, DLDevice device, size_t size,
                         size_t alignment, const char *scope, void **data) {
  FUZZ_CHECK(!scope || !strcmp(scope, vm.name));
  return device_alloc(user, device, size, alignment, scope, data);
}

static int give_stream(void *user, DLDevice device, void **stream) {
  static char streams[4];
  (void)user, (void)device;
  *stream = &streams[next_byte() % 4];
  return 0;
}

static int take_stream(void *user, DLDevice device, void *stream) {
  (void)user, (void)device, (void)stream;
  return 0;
}

static const tvmffi_rpc_device *on_device(void *user, DLDevice device) {
  static const tvmffi_rpc_device there = {
      checked_alloc, device_release, device_copy, device_sync, NULL,
      NULL,          give_stream,    take_stream, take_stream, give_stream};
  (void)user;
  return device.device_type == kDLExtDev ? &there : NULL;
}

/* -------- Packets -------- */

static struct {
  uint8_t bytes[4 << 20];
  size_t size;
} packet;

static void put(const void *bytes, size_t size) {
  FUZZ_CHECK(size <= sizeof(packet.bytes) - packet.size);
  if (size) memcpy(packet.bytes + packet.size, bytes, size);
  packet.size += size;
}
static void put_i32(int32_t x) { put(&x, sizeof(x)); }
static void put_u64(uint64_t x) { put(&x, sizeof(x)); }

static void begin(int32_t code) {
  packet.size = 0;
  memset((void *)&vm.due, 0, sizeof(vm.due));
  memset(vm.name, 0, sizeof(vm.name));
  memset((void *)&vm.made, 0, sizeof(vm.made));
  vm.freed = NULL;
  vm.is_put_off = vm.is_fed = 0;
  put_u64(0);
  put_i32(code);
}

static int is_object(const entry *e) { return e->type >= 0; }

static entry *find_entry(uint64_t handle) {
  int i;
  for (i = 0; i < vm.num_entries; ++i)
    if (vm.entries[i].is_live && vm.entries[i].handle == handle)
      return &vm.entries[i];
  return NULL;
}

/* Chooses a handle, most often a live one of the type (kTVMFFIObject: of any
   object), and puts it. Returns its live entry, or NULL. */
static entry *put_handle(int32_t type) {
  unsigned how = next_byte(), i, n = (unsigned)vm.num_entries;
  uint64_t handle = 0;
  if (how >= 250)
    handle = (uint64_t)next_byte() << 32 | next_byte();
  else if (how >= 240 && n) /* of any type, and freed perhaps */
    handle = vm.entries[next_byte() % n].handle;
  else
    for (i = 0; i < n; ++i) {
      const entry *e = &vm.entries[(how + i) % n];
      if (!e->is_live ||
          (e->type != type && !(type == kTVMFFIObject && is_object(e))))
        continue;
      handle = e->handle;
      break;
    }
  put_u64(handle);
  return handle ? find_entry(handle) : NULL;
}

static void put_pointer(int32_t type) {
  size_t at = packet.size;
  uint64_t handle;
  const entry *e = put_handle(type);
  memcpy(&handle, packet.bytes + at, 8);
  if (handle && (!e || is_object(e))) vm.due.wrong = 1;
}

static void put_text_content(void) {
  static const char filler[LONG_TEXT];
  unsigned size = next_byte(), i;
  char text[MAX_TEXT];
  if (size == 255 && packet.size < 4096) {
    put_u64(LONG_TEXT);
    put(filler, LONG_TEXT);
    memset(vm.name, 0, sizeof(vm.name));
    return;
  }
  size %= 64;
  for (i = 0; i < size; ++i) text[i] = (char)next_byte();
  put_u64(size);
  put(text, size);
  memcpy(vm.name, text, size);
  vm.name[size] = 0;
}

static DLDevice device_of(unsigned how) {
  DLDevice device = {kDLCPU, 0};
  if (how % 4 == 1) device.device_type = kDLExtDev;
  if (how == 254) device.device_type = kDLCUDA;
  if (how == 255) device.device_id = 1;
  return device;
}

static int is_there(DLDevice device) {
  return device.device_type == kDLExtDev ||
         (device.device_type == kDLCPU && !device.device_id);
}

static DLDevice put_device_content(void) {
  DLDevice device = device_of(next_byte());
  put(&device, sizeof(device));
  return device;
}

/* The bytes of a tensor, or -1 for a shape that is refused. */
static int64_t tensor_size(DLDataType dtype, int32_t ndim,
                           const int64_t *shape) {
  double size = 1; /* exact as far as is accepted */
  int64_t bytes;
  int32_t i, is_empty = 0;
  for (i = 0; i < ndim; ++i) {
    if (shape[i] < 0) return -1;
    if (!shape[i]) is_empty = 1;
    size *= (double)shape[i];
  }
  if (is_empty) return 0;
  if (size > (double)((int64_t)1 << 40)) return -1;
  bytes = ((int64_t)size * dtype.bits * dtype.lanes + 7) / 8;
  return (uint64_t)bytes == (size_t)bytes ? bytes : -1;
}

/* Puts a tensor; *offset is its byte offset, *size what its shape needs. */
static const entry *put_tensor_content(uint64_t *offset, int64_t *size,
                                       DLDevice *device, int *has_handle) {
  static const int64_t sizes[] = {0, 1, 2, 3, INT64_MAX, (int64_t)1 << 40, -1};
  DLDataType dtype = {kDLUInt, 8, 1};
  unsigned how = next_byte();
  int32_t ndim = how < 252 ? (int32_t)(how % 4) : (int32_t)how - 190, i;
  size_t at = packet.size;
  uint64_t handle;
  int64_t shape[65];
  const entry *e = put_handle(how & 4 ? MEMORY : kTVMFFITensor);
  memcpy(&handle, packet.bytes + at, 8);
  *has_handle = handle != 0;
  *device = e && how < 240 ? e->device : device_of(next_byte());
  if (how & 8) dtype.bits = (uint8_t)next_byte();
  put(device, sizeof(*device));
  put_i32(how == 251 ? -1 : ndim);
  put(&dtype, sizeof(dtype));
  if (ndim > 64 || how == 251) vm.due.malformed = 1;
  for (i = 0; i < ndim; ++i) {
    unsigned extent = next_byte();
    shape[i] = extent < 128 ? (int64_t)extent % 4 : sizes[extent % 7];
    put_u64((uint64_t)shape[i]);
  }
  *offset = how & 16 ? next_byte() : 0;
  put_u64(*offset);
  *size = tensor_size(dtype, ndim, shape);
  return e;
}

/* Notes whether the memory has so many bytes behind the offset. */
static void judge_memory(const entry *e, int has_handle, DLDevice device,
                         uint64_t offset, uint64_t size) {
  uint64_t capacity = 0;
  if (has_handle || size) {
    if (!e || (e->type != MEMORY && e->type != kTVMFFITensor) ||
        e->device.device_type != device.device_type ||
        e->device.device_id != device.device_id) {
      vm.due.wrong = 1;
      return;
    }
    capacity = e->size;
  }
  if (offset > capacity || size > capacity - offset) vm.due.wrong = 1;
}

/* A tensor as an argument. Returns its size. */
static int64_t put_tensor(DLDevice *device) {
  uint64_t offset;
  int64_t size;
  int has_handle;
  const entry *e = put_tensor_content(&offset, &size, device, &has_handle);
  if (size < 0)
    vm.due.wrong = 1;
  else
    judge_memory(e, has_handle, *device, offset, (uint64_t)size);
  return size;
}

/* Strings and bytes, objects by their handles, and kinds that do not exist. */
static void put_object(void) {
  unsigned how = next_byte();
  const entry *e;
  if (how >= 250) {
    put_i32((int32_t)how - 200);
    vm.due.malformed = 1;
  } else if (how % 3 == 2) {
    put_i32(TVMFFI_RPC_I_OBJECT_REF);
    e = put_handle(kTVMFFIObject);
    if (!e || !is_object(e)) vm.due.wrong = 1;
  } else {
    put_i32(how % 3 ? kTVMFFIStr : kTVMFFIBytes);
    put_text_content();
  }
}

static void put_content(int32_t type) {
  const entry *e;
  DLDevice device;
  put_i32(type);
  switch (type) {
    case kTVMFFINone: return;
    case kTVMFFIInt: put_u64(next_byte()); return;
    case kTVMFFIBool:
    case kTVMFFIFloat:
    case kTVMFFIDataType: put_u64((uint64_t)next_byte() << 56 | 1); return;
    case kTVMFFIOpaquePtr: put_pointer(POINTER); return;
    case kTVMFFIDevice: (void)put_device_content(); return;
    case kTVMFFIDLTensorPtr: (void)put_tensor(&device); return;
    case kTVMFFIRawStr:
    case kTVMFFIByteArrayPtr: put_text_content(); return;
    case kTVMFFIFunction:
    case kTVMFFIModule:
      e = put_handle(type);
      if (!e || e->type != type) vm.due.wrong = 1;
      return;
    default: break;
  }
  if (type == kTVMFFISmallStr || type == kTVMFFISmallBytes ||
      type >= kTVMFFIStaticObjectBegin)
    put_object();
  else
    vm.due.malformed = 1;
}

static void put_any(void) {
  unsigned how = next_byte();
  if (how < 10)
    put_content((int32_t)next_byte() - 16);
  else if (how % 3)
    put_content((int32_t)how % 10); /* up to kTVMFFIByteArrayPtr */
  else
    put_content(how % 2 ? kTVMFFISmallStr + (int32_t)how / 2 % 2
                        : kTVMFFIObject + (int32_t)how / 2 % 16);
}

static void put_text(const char *text) {
  int is_raw = next_byte() % 2;
  put_i32(is_raw ? kTVMFFIRawStr : kTVMFFIStr);
  if (!is_raw) put_i32(kTVMFFIStr);
  put_u64(strlen(text));
  put(text, strlen(text));
  strcpy(vm.name, text);
}

/* A name of a function, or the first part of one. */
static void put_name(void) {
  unsigned how = next_byte();
  char text[MAX_TEXT];
  strcpy(text, functions[how % NUM_FUNCTIONS].name);
  if (how >= 200) text[how % strlen(text)] = 0;
  put_text(text);
}

/* One time in many, arguments are of any type and number. */
static int is_spoilt(void) {
  unsigned how = next_byte(), n;
  if (how < 250) return 0;
  put_i32((int32_t)(n = how - 250));
  while (n--) put_any();
  vm.due.unsure = 1;
  vm.due.wrong = 0; /* a system call looks up only the handles that it needs */
  return 1;
}

/* -------- Answers -------- */

static const uint8_t *take(const uint8_t **at, const uint8_t *end,
                           uint64_t size) {
  const uint8_t *here = *at;
  FUZZ_CHECK((uint64_t)(end - here) >= size);
  *at += size;
  return here;
}

static int32_t take_i32(const uint8_t **at, const uint8_t *end) {
  int32_t x;
  memcpy(&x, take(at, end, 4), 4);
  return x;
}

static uint64_t take_u64(const uint8_t **at, const uint8_t *end) {
  uint64_t x;
  memcpy(&x, take(at, end, 8), 8);
  return x;
}

static void take_tensor(const uint8_t **at, const uint8_t *end) {
  DLDataType dtype;
  int64_t shape[64];
  int32_t ndim;
  (void)take_u64(at, end);
  memcpy(&vm.made.device, take(at, end, 8), 8);
  ndim = take_i32(at, end);
  memcpy(&dtype, take(at, end, 4), 4);
  FUZZ_CHECK(ndim >= 0 && ndim <= 64);
  memcpy(shape, take(at, end, (size_t)ndim * 8), (size_t)ndim * 8);
  FUZZ_CHECK(take_u64(at, end) == 0); /* the byte offset */
  vm.made.size = (uint64_t)tensor_size(dtype, ndim, shape);
}

/* Reads a value, and notes a handle in it. */
static void take_value(const uint8_t **at, const uint8_t *end) {
  switch (take_i32(at, end)) {
    case kTVMFFINone: return;
    case kTVMFFIOpaquePtr: vm.made.handle = take_u64(at, end); return;
    case kTVMFFIDLTensorPtr: take_tensor(at, end); return;
    case kTVMFFIRawStr:
    case kTVMFFIByteArrayPtr: (void)take(at, end, take_u64(at, end)); return;
    case kTVMFFIInt:
    case kTVMFFIBool:
    case kTVMFFIFloat:
    case kTVMFFIDataType:
    case kTVMFFIDevice: (void)take_u64(at, end); return;
    default: FUZZ_CHECK(!"a value that clients know");
  }
}

/* Notes the handle that an answer gives. */
static void add_entry(void) {
  entry *e = find_entry(vm.made.handle);
  if (!vm.made.handle) return;
  if (e) { /* only a pointer is given twice */
    FUZZ_CHECK(vm.made.type == POINTER && e->type == POINTER);
    return;
  }
  FUZZ_CHECK(vm.num_entries < NUM_ENTRIES);
  vm.made.is_live = 1;
  vm.entries[vm.num_entries++] = vm.made;
}

static void take_return(int32_t code, const uint8_t *at, const uint8_t *end) {
  int32_t n = take_i32(&at, end);
  if (code == TVMFFI_RPC_I_CALL) {
    FUZZ_CHECK(n-- > 0 && take_i32(&at, end) == kTVMFFIInt);
    vm.made.type = (int32_t)take_u64(&at, end);
    if (vm.made.type == kTVMFFIOpaquePtr) vm.made.type = POINTER;
    vm.made.device.device_type = kDLCPU;
  }
  while (n-- > 0) take_value(&at, end);
  FUZZ_CHECK(at == end);
  add_entry();
  if (vm.freed) vm.freed->is_live = 0;
}

/* Reads one answer. Returns its code. */
static int32_t take_answer(int32_t code, const uint8_t **at) {
  const uint8_t *end = sent.bytes + sent.size;
  uint64_t length = take_u64(at, end);
  const uint8_t *body = take(at, end, length);
  int32_t answer = take_i32(&body, *at);
  if (answer == TVMFFI_RPC_I_RETURN) {
    take_return(code, body, *at);
  } else if (answer == TVMFFI_RPC_I_EXCEPTION) {
    FUZZ_CHECK(take_i32(&body, *at) == 1);
    FUZZ_CHECK(take_i32(&body, *at) == kTVMFFIRawStr);
    (void)take(&body, *at, take_u64(&body, *at));
    FUZZ_CHECK(body == *at);
  } else {
    FUZZ_CHECK(answer == TVMFFI_RPC_I_COPY_ACK &&
               code == TVMFFI_RPC_I_COPY_FROM);
  }
  return answer;
}

static void show(int32_t code) {
  const char *text = (const char *)sent.bytes + 28; /* of an exception */
  int size = sent.size > 28 ? (int)(sent.size - 28) : 0;
  fprintf(stderr, "packet %d%s%s%s, answer %d: %.*s\n", (int)code,
          vm.due.wrong ? ", wrong" : "", vm.due.malformed ? ", malformed" : "",
          vm.due.unsure ? ", unsure" : "", (int)sent.bytes[8],
          sent.bytes[8] == TVMFFI_RPC_I_EXCEPTION ? size : 0, text);
}

/* Checks the one answer that has been sent. */
static void check_answer(int32_t code) {
  int is_refused = fuzz_refusals != vm.refusals;
  const uint8_t *at = sent.bytes;
  int is_error;
  if (getenv("FUZZ_TRACE")) show(code);
  is_error = take_answer(code, &at) == TVMFFI_RPC_I_EXCEPTION;
  FUZZ_CHECK(at == sent.bytes + sent.size);
  sent.size = 0;
  if (code == TVMFFI_RPC_I_INIT && !is_error) vm.has_begun = 1;
  if (vm.due.wrong || vm.due.malformed)
    FUZZ_CHECK(is_error);
  else if (!vm.due.unsure && !is_refused)
    FUZZ_CHECK(!is_error);
}

static size_t count_handles(void) {
  size_t n = 0;
  int i;
  for (i = 0; i < vm.num_entries; ++i) n += (size_t)vm.entries[i].is_live;
  return n;
}

static void end(void) { vm.is_over = 1; }

static int feed(const uint8_t *data, size_t size) {
  int code = 0;
  while (size && !code) {
    size_t n = vm.piece && size < 4096 && vm.piece < size ? vm.piece : size;
    code = tvmffi_rpc_feed(vm.session, data, n);
    data += n;
    size -= n;
  }
  return code;
}

/* Ends a call, copy or synchronization that was put off. */
static void finish(int32_t code) {
  TVMFFIAny result = tvmffi_none();
  unsigned how = next_byte();
  if (how == 255) { /* the client does not wait */
    FUZZ_CHECK(feed(packet.bytes, 1) == -1);
    fuzz_check_error(-1);
    end();
  } else if (how == 254) {
    FUZZ_CHECK(tvmffi_rpc_abort(vm.session, "it takes too long") == 0);
    FUZZ_CHECK(sent.size);
    end();
  } else if (how >= 200) {
    vm.due.wrong = 1;
    (void)TVMFFI_RAISE("ValueError", "it failed later");
    FUZZ_CHECK(tvmffi_rpc_finish(vm.session, -1, NULL) == 0);
  } else {
    int failed = make_object(kTVMFFIStr + (int32_t)how % 12, how, &result);
    if (failed) tvmffi_error_clear();
    FUZZ_CHECK(tvmffi_rpc_finish(vm.session, 0, &result) == 0);
  }
  if (!vm.is_over) check_answer(code);
}

/* Sends the packet, and checks what the session does. */
static void send(void) {
  uint64_t length = packet.size - 8;
  int32_t packet_code;
  size_t room;
  int code, may_end;
  memcpy(packet.bytes, &length, 8);
  memcpy(&packet_code, packet.bytes + 8, 4);
  if (!vm.has_begun || packet_code == TVMFFI_RPC_I_INIT ||
      count_handles() >= MAX_HANDLES)
    vm.due.unsure = 1;
  vm.refusals = fuzz_refusals;
  code = feed(packet.bytes, packet.size);
  may_end = vm.due.malformed && (vm.has_begun || vm.due.unsure);
  fuzz_check_error(code > 0 ? 0 : code);
  if (vm.is_fed) {
    FUZZ_CHECK(code && !sent.size);
    end();
    return;
  }
  FUZZ_CHECK(code == 0 || (code == -1 && may_end));
  if (vm.due.malformed && vm.has_begun && !vm.due.unsure &&
      fuzz_refusals == vm.refusals)
    FUZZ_CHECK(code == -1);
  if (!code && !tvmffi_rpc_buffer(vm.session, &room)) {
    FUZZ_CHECK(!sent.size);
    finish(packet_code);
  } else {
    check_answer(packet_code);
  }
  if (code) end();
  fuzz_refuse = 0;
  if (!vm.is_over)
    FUZZ_CHECK(tvmffi_rpc_is_idle(vm.session) &&
               tvmffi_rpc_handle_count(vm.session) == count_handles());
}

/* -------- The program -------- */

static void init(void) {
  unsigned how = next_byte(), n = how % 4;
  begin(TVMFFI_RPC_I_INIT);
  put_u64(how == 255 ? 4 : 5);
  put("0.8.0", how == 255 ? 4 : 5);
  put_i32((int32_t)n);
  if (n) put_text(how < 4 ? "rpc.LocalSession" : "ffi.SystemLib");
  while (n-- > 1) put_content(kTVMFFINone);
  send();
}

static void get_global(void) {
  begin(TVMFFI_RPC_I_GET_GLOBAL);
  if (!is_spoilt()) {
    put_i32(1);
    put_name();
  }
  vm.made.type = kTVMFFIFunction;
  send();
}

static void call(void) {
  unsigned n, how = next_byte();
  const entry *f;
  begin(TVMFFI_RPC_I_CALL);
  f = put_handle(kTVMFFIFunction);
  if (!f || f->type != kTVMFFIFunction) vm.due.wrong = 1;
  n = how % MAX_VALUES;
  if (how >= 128) { /* as make takes them */
    put_i32(2);
    put_content(kTVMFFIInt);
    put_content(kTVMFFIInt);
  } else {
    put_i32((int32_t)n);
    while (n--) put_any();
  }
  send();
}

static void allocate(int is_scoped) {
  static const uint64_t alignments[] = {0, 1, 8, 64, 4096, 3, 8192};
  uint64_t offset, alignment = alignments[next_byte() % 7];
  unsigned size = next_byte();
  int64_t scoped_size = 0;
  int has_handle;
  begin(is_scoped ? 17 : 13);
  vm.made.type = MEMORY;
  vm.made.size = size;
  if (is_scoped) {
    put_i32(2);
    put_i32(kTVMFFIDLTensorPtr);
    (void)put_tensor_content(&offset, &scoped_size, &vm.made.device,
                             &has_handle);
    vm.made.size = (uint64_t)scoped_size;
    if (scoped_size < 0) vm.due.wrong = 1;
    if (next_byte() % 2) {
      put_text("global");
    } else {
      put_content(kTVMFFIRawStr);
      if (vm.made.device.device_type == kDLCPU) vm.due.unsure = 1;
    }
  } else {
    put_i32(4);
    put_i32(kTVMFFIDevice);
    vm.made.device = put_device_content();
    put_i32(kTVMFFIInt), put_u64(size);
    put_i32(kTVMFFIInt), put_u64(alignment);
    put_content(kTVMFFIDataType);
    if (alignment == 3 || alignment == 8192) vm.due.wrong = 1;
  }
  if (!is_there(vm.made.device)) vm.due.wrong = 1;
  send();
}

/* FreeHandle, FreeData and FreeStream. */
static void free_one(unsigned how) {
  static const int32_t codes[] = {10, 14, 19};
  static const int32_t types[] = {kTVMFFIObject, MEMORY, POINTER};
  int32_t type = types[how % 3];
  begin(codes[how % 3]);
  if (type == kTVMFFIObject) {
    put_i32(1);
  } else {
    put_i32(2);
    put_i32(kTVMFFIDevice);
    if (!is_there(put_device_content()) && type == POINTER) vm.due.wrong = 1;
  }
  put_i32(kTVMFFIOpaquePtr);
  vm.freed = put_handle(type);
  if (vm.freed ? (type == kTVMFFIObject ? !is_object(vm.freed)
                                        : vm.freed->type != type)
               : type != POINTER)
    vm.due.wrong = 1;
  if (!vm.freed) vm.due.unsure |= type == POINTER;
  send();
}

/* SetDevice, GetAttr, StreamSync, CreateStream, SetStream, GetStream. */
static void use_device(unsigned how) {
  static const int32_t codes[] = {11, 12, 15, 18, 20, 21};
  int32_t code = codes[how % 6];
  int has_stream = code == 15 || code == 20;
  begin(code);
  vm.made.type = POINTER;
  if (!is_spoilt()) {
    put_i32(1 + (code == 12 || has_stream));
    put_i32(kTVMFFIDevice);
    if (!is_there(put_device_content()) && code != 12) vm.due.wrong = 1;
    if (has_stream) put_content(kTVMFFIOpaquePtr);
    if (code == 12) {
      put_i32(kTVMFFIInt), put_u64((uint64_t)next_byte() << 4);
      vm.due.unsure = 1;
    }
  }
  send();
}

static void copy_among(void) {
  int64_t from, to;
  DLDevice from_device, to_device;
  begin(16);
  put_i32(3);
  put_i32(kTVMFFIDLTensorPtr);
  from = put_tensor(&from_device);
  put_i32(kTVMFFIDLTensorPtr);
  to = put_tensor(&to_device);
  put_content(kTVMFFIOpaquePtr);
  if (from != to) vm.due.wrong = 1;
  /* The CPU copies to a device that is there, or nothing. */
  if (!is_there(from_device) || !is_there(to_device)) vm.due.wrong = 1;
  send();
}

static void copy(int is_to) {
  static const uint8_t data[256];
  uint64_t offset, size;
  int64_t shape_size;
  DLDevice device;
  int has_handle;
  const entry *e;
  begin(is_to ? TVMFFI_RPC_I_COPY_TO : TVMFFI_RPC_I_COPY_FROM);
  e = put_tensor_content(&offset, &shape_size, &device, &has_handle);
  size = next_byte();
  judge_memory(e, has_handle, device, offset, size);
  if (!is_there(device)) vm.due.wrong = 1;
  put_u64(size);
  if (is_to) put(data, size);
  send();
}

static void step(void) {
  unsigned op = next_byte();
  switch (op % 16) {
    case 0:
      fuzz_refuse = 1 + next_byte() % 8;
      fuzz_refuse_all = op >= 128;
      return;
    case 1: init(); return;
    case 2:
    case 3:
    case 4: get_global(); return;
    case 5:
    case 6:
    case 7:
    case 8: call(); return;
    case 9:
    case 10: allocate(op >= 128); return;
    case 11: free_one(op / 16); return;
    case 12: use_device(op / 16); return;
    case 13: copy_among(); return;
    case 14: copy(0); return;
    default: copy(1); return;
  }
}

static void set_up(tvmffi_rpc_options *options) {
  int i;
  fuzz_begin();
  for (i = 0; i < NUM_FUNCTIONS; ++i) {
    TVMFFIByteArray name = tvmffi_byte_array(functions[i].name);
    TVMFFIObjectHandle f = NULL;
    if (!functions[i].call) continue;
    FUZZ_CHECK(TVMFFIFunctionCreate(NULL, functions[i].call, NULL, &f) == 0);
    FUZZ_CHECK(TVMFFIFunctionSetGlobal(&name, f, 1) == 0);
    tvmffi_release(f);
  }
  options->write = on_write;
  options->no_handshake = 1;
  options->max_handles = MAX_HANDLES;
  options->device = on_device;
  options->call = on_call;
  FUZZ_CHECK(tvmffi_rpc_register(options) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static tvmffi_rpc_options options;
  int packets;
  if (!options.write) set_up(&options);
  fuzz_begin();
  memset((void *)&vm, 0, sizeof(vm));
  vm.at = data;
  vm.end = data + size;
  sent.size = 0;
  vm.piece = next_byte();
  options.find = vm.piece % 2 ? on_find : NULL;
  options.construct = vm.piece % 2 ? on_construct : NULL;
  FUZZ_CHECK(tvmffi_rpc_new(&options, &vm.session) == 0);
  init();
  for (packets = 1; packets < MAX_PACKETS && vm.at < vm.end && !vm.is_over;
       ++packets)
    step();
  fuzz_begin();
  tvmffi_rpc_free(vm.session);
  FUZZ_CHECK(fuzz_blocks == 0);
  FUZZ_CHECK(num_canaries == 0);
  return 0;
}
