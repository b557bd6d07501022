/* Remote procedure calls: Apache TVM's Python client uses this module on
   another machine. The JavaScript client's RPCServer receives packets from a
   proxy's WebSocket and gives them to the handler of
   rpc.CreateEventDrivenServer; rpc/tvmffi_rpc.h is the protocol.

   JavaScript cannot wait inside a call. A function that ends later is
   registered as __async.NAME and takes a callback (code, value) as its last
   argument. The session answers its client when the callback is called. */

/* The client does not read the schemas of functions. */
#define TVMFFI_NO_METADATA 1
#include "device.h"
#include "memory.h"
#include "runtime.h"

#define TVMFFI_RPC_MALLOC(size) web_alloc(size)
#define TVMFFI_RPC_FREE(pointer) web_free(pointer)
#define TVMFFI_RPC_IMPLEMENTATION
#include "rpc/tvmffi_rpc.h"

/* ---- Sessions ---- */

/* A session with its connection. The handler owns a reference, and so does each
   callback: a copy from WebGPU may write into the session's memory after
   JavaScript has dropped the handler. */
typedef struct {
  size_t references;
  tvmffi_rpc *session;   /* owned */
  TVMFFIObject *send;    /* sends bytes to the client; owned */
  TVMFFIObject *called;  /* the function that the client calls, or NULL */
  const TVMFFIAny *args; /* the call's; the session owns them until it ends */
  uint64_t work;         /* changes when work begins or ends */
  int starting;          /* the function that begins the work is running */
  int waiting;           /* the client's call ends later */
  int failed;            /* `result` is an error */
  TVMFFIAny result;      /* of work that ended while it was started; owned */
} rpc_server;

/* The session whose client's call is running, else NULL. */
static rpc_server *rpc_calling;

static int rpc_no_memory(void) {
  return TVMFFI_RAISE("MemoryError", "no memory for an RPC session");
}

/* Logs an error that ends a session. Nothing in JavaScript would catch it. */
static void rpc_log_error(void) {
  web_log(tvmffi_byte_array(web_last_error()));
}

static void rpc_drop_server(void *server) {
  rpc_server *s = (rpc_server *)server;
  if (--s->references) return;
  tvmffi_rpc_free(s->session);
  tvmffi_release(s->send);
  web_free(s);
}

/* Sends bytes. The client's function returns 0 if its socket is closed. */
static int rpc_write(void *user, const void *data, size_t size) {
  rpc_server *s = (rpc_server *)user;
  TVMFFIByteArray bytes;
  int64_t sent = 0;
  bytes.data = (const char *)data;
  bytes.size = size;
  TVMFFI_TRY(tvmffi_call(s->send, &sent, tvmffi_bytes(&bytes)));
  if (sent) return 0;
  return TVMFFI_RAISE("RPCError", "the connection to the client is closed");
}

/* ---- Work that ends later ---- */

enum { RPC_EXCEPTION = 5 }; /* a callback's code; any other is a result */

/* The state of a callback. */
typedef struct {
  rpc_server *server; /* owned */
  uint64_t work;
} rpc_later;

static void rpc_drop_later(void *later) {
  rpc_drop_server(((rpc_later *)later)->server);
  web_free(later);
}

/* Sets *out to the value of a callback, owned by the caller; or returns -1, and
   sets *out to an error. */
static int rpc_outcome(int64_t code, TVMFFIAny value, TVMFFIAny *out) {
  TVMFFIByteArray text = tvmffi_any_str(&value);
  if (code != RPC_EXCEPTION && !TVMFFIAnyViewToOwnedAny(&value, out)) return 0;
  if (code == RPC_EXCEPTION)
    (void)TVMFFI_RAISE("JSCallbackError", "%.*s", (int)text.size,
                       text.data ? text.data : "");
  *out = tvmffi_obj(tvmffi_rpc_i_take_error());
  return -1;
}

/* Answers the client. */
static void rpc_finish(rpc_server *s) {
  TVMFFIAny result = s->result;
  s->result = tvmffi_none();
  if (s->failed) {
    (void)tvmffi_error_raise(result.v_obj);
    tvmffi_any_release(&result);
  }
  if (tvmffi_rpc_finish(s->session, s->failed, s->failed ? NULL : &result) < 0)
    rpc_log_error();
}

/* The callback. Only its first call counts. */
TVMFFI_CLOSURE(rpc_end, rpc_later, none, (int64, code), (any, value)) {
  rpc_server *s = self->server;
  if (s->work != self->work) TVMFFI_RETURN();
  ++s->work;
  s->failed = rpc_outcome(code, value, &s->result);
  if (!s->starting) rpc_finish(s);
  TVMFFI_RETURN();
}

static int rpc_new_callback(TVMFFI_HERE, rpc_server *s, TVMFFIObject **out) {
  rpc_later *later = (rpc_later *)web_alloc(sizeof(*later));
  if (!later) return rpc_no_memory();
  later->server = s;
  later->work = s->work;
  ++s->references;
  return TVMFFI_CLOSURE_NEW(rpc_end, later, rpc_drop_later, out);
}

/* Calls a function with a callback as one more argument. */
static int rpc_call_with(TVMFFIObject *f, const TVMFFIAny *args, int32_t n,
                         TVMFFIObject *callback) {
  TVMFFIAny ignored = tvmffi_none();
  TVMFFIAny *all = (TVMFFIAny *)web_alloc(((size_t)n + 1) * sizeof(*all));
  int code;
  if (!all) return rpc_no_memory();
  if (n) memcpy(all, args, (size_t)n * sizeof(*all));
  all[n] = tvmffi_obj(callback);
  code = TVMFFIFunctionCall(f, all, n + 1, &ignored);
  web_free(all);
  if (!code) tvmffi_any_release(&ignored);
  return code ? -1 : 0;
}

/* Begins work that ends with a callback. Returns TVMFFI_RPC_LATER. If the
   function called the callback at once, returns 0 and sets *result, owned by
   the caller, or returns -1 with that error. */
static int rpc_begin(rpc_server *s, TVMFFIObject *f, const TVMFFIAny *args,
                     int32_t n, TVMFFIAny *result) {
  TVMFFI_SCOPE;
  TVMFFIObject *callback;
  uint64_t work = ++s->work;
  int code;
  TVMFFI_TRY(rpc_new_callback(tvmffi_here, s, &callback));
  s->starting = 1;
  code = rpc_call_with(f, args, n, callback);
  s->starting = 0;
  if (s->work == work) {
    if (!code) return TVMFFI_RPC_LATER;
    ++s->work;
    return code;
  }
  if (code) {
    tvmffi_any_release(&s->result);
  } else if (s->failed) {
    code = tvmffi_error_raise(s->result.v_obj);
    tvmffi_any_release(&s->result);
  } else {
    *result = s->result;
  }
  s->result = tvmffi_none();
  return code;
}

/* ---- Functions that end later ---- */

/* A function of a client that ends later. */
typedef struct {
  TVMFFIObject *self;  /* the function object that has this state */
  TVMFFIObject *begin; /* takes a callback as last argument; owned */
} rpc_async;

static void rpc_drop_async(void *async) {
  tvmffi_release(((rpc_async *)async)->begin);
  web_free(async);
}

/* Only the client itself may call it, as the arguments have to live until the
   work ends. */
static int rpc_call_async(void *self, const TVMFFIAny *args, int32_t n,
                          TVMFFIAny *result) {
  const rpc_async *f = (const rpc_async *)self;
  rpc_server *s = rpc_calling;
  int code;
  if (!s || s->called != f->self)
    return TVMFFI_RAISE("RuntimeError",
                        "an asynchronous function is for a session's client");
  s->called = NULL;
  code = rpc_begin(s, f->begin, args, n, result);
  if (code != TVMFFI_RPC_LATER) return code;
  s->waiting = 1;
  return 0;
}

/* Makes a function that ends later. */
static int rpc_new_async(TVMFFI_HERE, TVMFFIObject *begin, TVMFFIObject **out) {
  rpc_async *f = (rpc_async *)web_alloc(sizeof(*f));
  TVMFFIObjectHandle made = NULL;
  if (!f) return rpc_no_memory();
  f->begin = NULL;
  tvmffi_keep(&f->begin, begin);
  if (TVMFFIFunctionCreate(f, rpc_call_async, rpc_drop_async, &made)) {
    rpc_drop_async(f);
    return -1;
  }
  f->self = (TVMFFIObject *)made;
  *out = tvmffi_scope_attach(made);
  return *out ? 0 : -1;
}

static int rpc_call(void *user, tvmffi_rpc *session, TVMFFIObject *f,
                    const TVMFFIAny *args, int32_t n, TVMFFIAny *result) {
  rpc_server *s = (rpc_server *)user;
  int code;
  (void)session;
  rpc_calling = s;
  s->called = f;
  s->args = args;
  s->waiting = 0;
  code = TVMFFIFunctionCall(f, (TVMFFIAny *)(uintptr_t)args, n, result);
  s->called = NULL;
  rpc_calling = NULL;
  if (code) return -1;
  return s->waiting ? TVMFFI_RPC_LATER : 0;
}

/* ---- The module that JavaScript calls the local session ---- */

typedef struct {
  tvmffi_module base;
} rpc_local;

TVMFFI_MODULE(rpc_local, "rpc", (lookup, find))

/* Finds the global function __async.NAME. *out is NULL if there is none. */
static int rpc_find_async(TVMFFI_HERE, TVMFFIByteArray name,
                          TVMFFIObject **out) {
  static const char prefix[] = "__async.";
  size_t size = sizeof(prefix) - 1;
  char *text = (char *)web_alloc(size + name.size + 1);
  int code;
  if (!text) return rpc_no_memory();
  memcpy(text, prefix, size);
  if (name.size) memcpy(text + size, name.data, name.size);
  text[size + name.size] = 0;
  code = tvmffi_global_find(text, out);
  web_free(text);
  if (code || !*out) return code;
  return rpc_new_async(tvmffi_here, *out, out);
}

/* Returns a global function, or else one that ends later. */
TVMFFI_METHOD(rpc_local, find, optional(func), (str, name)) {
  TVMFFIObject *out;
  (void)self;
  TVMFFI_TRY(tvmffi_global_find(name, &out));
  if (!out) TVMFFI_TRY(rpc_find_async(tvmffi_here, name, &out));
  TVMFFI_RETURN(out);
}

TVMFFI_FUNC(rpc_new_local, rpc_local) { TVMFFI_RETURN(TVMFFI_NEW(rpc_local)); }

/* ---- The time evaluator ---- */

typedef struct {
  TVMFFIObject *function; /* to be timed; owned */
  DLDevice device;
  int64_t number, repeat, min_repeat_ms, limit_zero, cooldown_ms, cooldown_each;
} rpc_timer;

static void rpc_drop_timer(void *timer) {
  tvmffi_release(((rpc_timer *)timer)->function);
  web_free(timer);
}

/* The calls of one measurement. */
typedef struct {
  rpc_server *server; /* owned */
  uint64_t work;
  TVMFFIObject *function; /* owned */
  int32_t n;              /* of the server's arguments */
} rpc_run;

static void rpc_drop_run(void *self) {
  rpc_run *run = (rpc_run *)self;
  tvmffi_release(run->function);
  rpc_drop_server(run->server);
  web_free(run);
}

/* Calls the function `count` times. JavaScript measures this call. */
TVMFFI_CLOSURE(rpc_repeat, rpc_run, none, (int64, count)) {
  TVMFFIAny *args = (TVMFFIAny *)(uintptr_t)self->server->args;
  if (self->server->work != self->work)
    return TVMFFI_RAISE("RuntimeError", "the measurement is over");
  for (; count > 0; --count) {
    TVMFFIAny result = tvmffi_none();
    TVMFFI_TRY(TVMFFIFunctionCall(self->function, args, self->n, &result));
    tvmffi_any_release(&result);
  }
  TVMFFI_RETURN();
}

static int rpc_new_run(TVMFFI_HERE, const rpc_timer *t, int32_t n,
                       TVMFFIObject **out) {
  rpc_run *run = (rpc_run *)web_alloc(sizeof(*run));
  if (!run) return rpc_no_memory();
  run->server = rpc_calling;
  run->work = rpc_calling->work;
  run->function = NULL;
  tvmffi_keep(&run->function, t->function);
  run->n = n;
  ++run->server->references;
  return TVMFFI_CLOSURE_NEW(rpc_repeat, run, rpc_drop_run, out);
}

/* Begins a measurement. The last argument is the callback. rpc_call_async
   alone can call it, so that rpc_calling is not NULL. */
static int rpc_measure(void *self, const TVMFFIAny *args, int32_t n,
                       TVMFFIAny *result) {
  const rpc_timer *t = (const rpc_timer *)self;
  TVMFFI_SCOPE;
  TVMFFIObject *run;
  (void)result;
  TVMFFI_TRY(rpc_new_run(tvmffi_here, t, n - 1, &run));
  return tvmffi_call("__async.wasm.TimeExecution", NULL, run, t->device,
                     t->number, t->repeat, t->min_repeat_ms, t->limit_zero,
                     t->cooldown_ms, t->cooldown_each, args[n - 1]);
}

static int rpc_check_timer(const rpc_timer *t, int64_t flush,
                           TVMFFIByteArray prepare) {
  if (flush > 0 || prepare.size)
    return TVMFFI_RAISE("ValueError",
                        "JavaScript's timer has neither cache_flush_bytes nor "
                        "f_preproc");
  if (t->number < 1 || t->repeat < 0 || t->repeat > 1 << 20)
    return TVMFFI_RAISE("ValueError", "number is %lld and repeat %lld",
                        (long long)t->number, (long long)t->repeat);
  if (t->min_repeat_ms < 0 || (t->cooldown_ms > 0 && t->cooldown_each < 1))
    return TVMFFI_RAISE(
        "ValueError", "min_repeat_ms is %lld and repeats_to_cooldown %lld",
        (long long)t->min_repeat_ms, (long long)t->cooldown_each);
  return 0;
}

/* Sets *out to the function to be timed. */
static int rpc_find_timed(TVMFFI_HERE, TVMFFIObject *module,
                          TVMFFIByteArray name, TVMFFIObject **out) {
  if (!module) {
    TVMFFI_TRY(tvmffi_global_find(name, out));
  } else {
    TVMFFIAny found;
    TVMFFI_TRY(tvmffi_call("ffi.ModuleGetFunction", &found, module, name, 1));
    *out = found.type_index == kTVMFFIFunction ? found.v_obj : NULL;
  }
  if (*out) return 0;
  return TVMFFI_RAISE("ValueError", "there is no function `%.*s`",
                      (int)name.size, name.data);
}

/* Makes a timer's function. Takes the timer. */
static int rpc_new_timed(TVMFFI_HERE, rpc_timer *t, TVMFFIObject **out) {
  TVMFFIObjectHandle begin = NULL;
  if (TVMFFIFunctionCreate(t, rpc_measure, rpc_drop_timer, &begin)) {
    rpc_drop_timer(t);
    return -1;
  }
  if (!tvmffi_scope_attach(begin)) return -1;
  return rpc_new_async(tvmffi_here, (TVMFFIObject *)begin, out);
}

/* Returns a function that measures the time of another one: its result is
   bytes, `repeat` doubles of seconds. */
TVMFFI_FUNC(rpc_time_evaluator, func, (optional(module), module), (str, name),
            (int32, device_type), (int32, device_id), (int32, number),
            (int32, repeat), (int32, min_repeat_ms), (int32, limit_zero),
            (int32, cooldown_ms), (int32, cooldown_each), (int64, flush),
            (str, prepare)) {
  rpc_timer settings, *t;
  TVMFFIObject *function, *out;
  settings.function = NULL;
  settings.device.device_type = (DLDeviceType)device_type;
  settings.device.device_id = (int32_t)device_id;
  settings.number = number;
  settings.repeat = repeat;
  settings.min_repeat_ms = min_repeat_ms;
  settings.limit_zero = limit_zero;
  settings.cooldown_ms = cooldown_ms;
  settings.cooldown_each = cooldown_each;
  TVMFFI_TRY(rpc_check_timer(&settings, flush, prepare));
  TVMFFI_TRY(rpc_find_timed(tvmffi_here, module, name, &function));
  t = (rpc_timer *)web_alloc(sizeof(*t));
  if (!t) return rpc_no_memory();
  *t = settings;
  tvmffi_keep(&t->function, function);
  TVMFFI_TRY(rpc_new_timed(tvmffi_here, t, &out));
  TVMFFI_RETURN(out);
}

/* ---- WebGPU's device ---- */

#if WEB_GPU

static int rpc_gpu_alloc(void *user, DLDevice device, size_t size,
                         size_t alignment, const char *scope, void **data) {
  (void)user, (void)device, (void)alignment;
  if (scope && *scope && strcmp(scope, "global"))
    return TVMFFI_RAISE("ValueError", "WebGPU has no memory scope `%s`", scope);
  return web_gpu.allocate(size, data);
}

static int rpc_gpu_release(void *user, DLDevice device, void *data) {
  (void)user, (void)device;
  web_gpu.release(data);
  return 0;
}

/* Answers the client after all commands have ended. */
static int rpc_gpu_sync(void *user, DLDevice device, void *stream) {
  static const char name[] = "__async.wasm.WebGPUWaitForTasks";
  TVMFFI_SCOPE;
  TVMFFIAny none = tvmffi_none();
  TVMFFIObject *wait;
  int code;
  (void)device, (void)stream;
  TVMFFI_TRY(tvmffi_global_find(name, &wait));
  if (!wait)
    return TVMFFI_RAISE("RuntimeError", "there is no WebGPU: %s is missing",
                        name);
  code = rpc_begin((rpc_server *)user, wait, NULL, 0, &none);
  tvmffi_any_release(&none);
  return code;
}

static web_memory rpc_memory(DLDevice device, const void *data, size_t offset,
                             size_t size) {
  web_memory memory;
  int on_cpu = device.device_type == kDLCPU;
  memory.data = (char *)(uintptr_t)data + (on_cpu ? offset : 0);
  memory.size = size;
  memory.device = on_cpu ? NULL : &web_gpu;
  memory.offset = on_cpu ? 0 : offset;
  return memory;
}

/* A copy to the CPU's memory is complete after a wait. */
static int rpc_gpu_copy(void *user, DLDevice from_device, const void *from,
                        size_t from_offset, DLDevice to_device, void *to,
                        size_t to_offset, size_t size, void *stream) {
  web_memory source = rpc_memory(from_device, from, from_offset, size);
  web_memory target = rpc_memory(to_device, to, to_offset, size);
  if (!size) return 0;
  TVMFFI_TRY(web_gpu.copy(&target, &source));
  return target.device ? 0 : rpc_gpu_sync(user, from_device, stream);
}

static const tvmffi_rpc_device rpc_gpu = {rpc_gpu_alloc, rpc_gpu_release,
                                          rpc_gpu_copy,  rpc_gpu_sync,
                                          NULL,          NULL,
                                          NULL,          NULL,
                                          NULL,          NULL};

static const tvmffi_rpc_device *rpc_device(void *user, DLDevice device) {
  (void)user;
  return device.device_type == kDLWebGPU && !device.device_id ? &rpc_gpu : NULL;
}

#else
#define rpc_device NULL
#endif

/* ---- The server ---- */

/* Handles bytes from the client. Returns 1 to go on and 0 at the end. `flags`
   says whether this may read and write, which it always may. */
TVMFFI_CLOSURE(rpc_handle, rpc_server, int64, (bytes, bytes), (int64, flags)) {
  int code = tvmffi_rpc_feed(self->session, bytes.data, bytes.size);
  (void)flags;
  if (code < 0) rpc_log_error();
  TVMFFI_RETURN(code == 0);
}

/* Makes the handler of a connection whose handshake has been read. `name` and
   `key` are upstream's, for messages. */
TVMFFI_FUNC(rpc_create, func, (func, send), (str, name), (str, key)) {
  tvmffi_rpc_options options;
  TVMFFIObject *out;
  rpc_server *s = (rpc_server *)web_alloc(sizeof(*s));
  (void)name, (void)key;
  if (!s) return rpc_no_memory();
  memset((void *)s, 0, sizeof(*s));
  memset((void *)&options, 0, sizeof(options));
  options.user = s;
  options.write = rpc_write;
  options.no_handshake = 1;
  options.device = rpc_device;
  options.call = rpc_call;
  s->references = 1;
  tvmffi_keep(&s->send, send);
  if (tvmffi_rpc_new(&options, &s->session)) {
    rpc_drop_server(s);
    return -1;
  }
  TVMFFI_TRY(TVMFFI_CLOSURE_NEW(rpc_handle, s, rpc_drop_server, &out));
  TVMFFI_RETURN(out);
}

static int rpc_start(void) {
  static const tvmffi_rpc_options defaults;
  TVMFFI_TRY(tvmffi_rpc_register(&defaults));
  TVMFFI_TRY(TVMFFI_REGISTER("rpc.CreateEventDrivenServer", rpc_create));
  TVMFFI_TRY(TVMFFI_REGISTER("wasm.LocalSession", rpc_new_local));
  return TVMFFI_REGISTER("runtime.RPCTimeEvaluator", rpc_time_evaluator);
}

/* Registers the functions. If memory is refused, later lookups will fail. */
__attribute__((constructor)) static void rpc_enter(void) {
  if (rpc_start()) tvmffi_error_clear();
}
