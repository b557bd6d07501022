/* WebGPU: its device, and modules of the kind "webgpu", which Apache TVM's
   compiler writes. The JavaScript client does the work. Its initWebGPU
   registers functions named wasm.WebGPU*, which are looked up at first use. */

/* The client does not read the schemas of functions. */
#define TVMFFI_NO_METADATA 1
#include "device.h"
#include "memory.h"

/* ---- The client's functions ---- */

/* Sets *out to a global function that the client registers. */
static int gpu_client(TVMFFI_HERE, const char *name, TVMFFIObject **out) {
  TVMFFI_TRY(tvmffi_global_find(name, out));
  if (*out) return 0;
  return TVMFFI_RAISE("RuntimeError",
                      "there is no WebGPU: %s is missing, which the client "
                      "registers in initWebGPU",
                      name);
}

/* Functions of the client's device, in the order of their names below. */
enum { ALLOCATE, RELEASE, COPY_TO, COPY_FROM, COPY_WITHIN, NUM_FUNCTIONS };

/* Sets *out to a function of the client's device, borrowed. */
static int gpu_function(int which, TVMFFIObject **out) {
  static const char *const names[NUM_FUNCTIONS] = {
      "deviceAllocDataSpace", "deviceFreeDataSpace", "deviceCopyToGPU",
      "deviceCopyFromGPU", "deviceCopyWithinGPU"};
  static TVMFFIObject *functions[NUM_FUNCTIONS]; /* never released */
  if (!functions[which]) {
    TVMFFI_SCOPE;
    TVMFFIObject *find, *function;
    TVMFFI_TRY(gpu_client(tvmffi_here, "wasm.WebGPUDeviceAPI", &find));
    TVMFFI_TRY(tvmffi_call(find, &function, names[which]));
    tvmffi_keep(&functions[which], function);
  }
  *out = functions[which];
  return 0;
}

/* ---- The device ---- */

static int gpu_allocate(size_t size, void **data) {
  TVMFFIObject *f;
  double buffer;
  TVMFFI_TRY(gpu_function(ALLOCATE, &f));
  TVMFFI_TRY(tvmffi_call(f, &buffer, (int64_t)size));
  *data = (void *)(uintptr_t)buffer;
  return 0;
}

/* Keeps an error that was raised before: a destructor may run while that error
   is passed on. */
static void gpu_release(void *data) {
  TVMFFI_SCOPE;
  TVMFFIObject *raised = tvmffi_error_take(), *f;
  if (gpu_function(RELEASE, &f) || tvmffi_call(f, NULL, data))
    tvmffi_error_clear();
  (void)tvmffi_error_raise(raised);
}

/* Checks WebGPU's rules for a copy first: it reports an invalid command only
   later, and drops the whole batch of commands with it. */
static int gpu_copy_within(const web_memory *to, const web_memory *from) {
  TVMFFIObject *f;
  if ((to->size | to->offset | from->offset) % 4)
    return TVMFFI_RAISE("ValueError",
                        "WebGPU copies multiples of 4 bytes, not %zu bytes "
                        "from byte %zu to byte %zu",
                        to->size, from->offset, to->offset);
  if (to->data == from->data)
    return TVMFFI_RAISE("ValueError",
                        "WebGPU does not copy inside one tensor's memory");
  TVMFFI_TRY(gpu_function(COPY_WITHIN, &f));
  return tvmffi_call(f, NULL, (void *)from->data, (int64_t)from->offset,
                     (void *)to->data, (int64_t)to->offset, (int64_t)to->size);
}

static int gpu_copy(const web_memory *to, const web_memory *from) {
  int64_t size = (int64_t)to->size;
  TVMFFIObject *f;
  if (to->device && from->device) return gpu_copy_within(to, from);
  TVMFFI_TRY(gpu_function(to->device ? COPY_TO : COPY_FROM, &f));
  if (to->device)
    return tvmffi_call(f, NULL, (void *)from->data, (void *)to->data,
                       (int64_t)to->offset, size);
  return tvmffi_call(f, NULL, (void *)from->data, (int64_t)from->offset,
                     (void *)to->data, size);
}

/* Waits for all commands, in a module with asyncify. */
static int gpu_sync(void) {
  TVMFFI_SCOPE;
  TVMFFIObject *wait;
  TVMFFI_TRY(gpu_client(tvmffi_here, "__asyncify.WebGPUWaitForTasks", &wait));
  return tvmffi_call(wait, NULL);
}

/* A buffer for workspaces. Released workspaces stay allocated for later calls:
   the client needs more time for a new buffer than for a launch, and submits
   its batch of commands before it frees one. */
typedef struct {
  void *data; /* NULL if the slot is empty */
  size_t size;
  int used;
} gpu_workspace;

static gpu_workspace gpu_workspaces[16];
static gpu_workspace *const gpu_workspaces_end =
    gpu_workspaces + sizeof(gpu_workspaces) / sizeof(gpu_workspaces[0]);

/* Finds a free buffer of at least `size` bytes, and of at most twice that. */
static gpu_workspace *gpu_fitting(size_t size) {
  gpu_workspace *w;
  for (w = gpu_workspaces; w < gpu_workspaces_end; ++w)
    if (w->data && !w->used && w->size >= size && w->size / 2 <= size) return w;
  return NULL;
}

/* Finds an empty slot, or else a free buffer to be replaced. */
static gpu_workspace *gpu_replaceable(void) {
  gpu_workspace *w, *found = NULL;
  for (w = gpu_workspaces; w < gpu_workspaces_end; ++w)
    if (!w->used && (!found || !w->data)) found = w;
  return found;
}

static int gpu_take_workspace(size_t size, void **data) {
  gpu_workspace *w = gpu_fitting(size);
  if (!w) {
    TVMFFI_TRY(gpu_allocate(size, data));
    w = gpu_replaceable();
    if (!w) return 0;
    if (w->data) gpu_release(w->data);
    w->data = *data;
    w->size = size;
  }
  w->used = 1;
  *data = w->data;
  return 0;
}

static void gpu_give_workspace(void *data) {
  gpu_workspace *w;
  for (w = gpu_workspaces; w < gpu_workspaces_end; ++w)
    if (w->data == data) {
      w->used = 0;
      return;
    }
  gpu_release(data);
}

const web_device web_gpu = {gpu_allocate,       gpu_release,
                            gpu_copy,           gpu_sync,
                            gpu_take_workspace, gpu_give_workspace};

TVMFFI_FUNC(device_api, ptr) { TVMFFI_RETURN((void *)(uintptr_t)&web_gpu); }

/* Checks that the device exists. There is only one, so none is selected. */
TVMFFI_FUNC(set_device, none, (int64, type), (int64, id)) {
  const web_device *found;
  DLDevice device;
  device.device_type = (DLDeviceType)type;
  device.device_id = (int32_t)id;
  TVMFFI_TRY(web_device_of(device, &found));
  TVMFFI_RETURN();
}

TVMFFI_FUNC(stream_sync, none, (device, device), (int64, stream)) {
  const web_device *found;
  (void)stream;
  TVMFFI_TRY(web_device_of(device, &found));
  if (found) TVMFFI_TRY(found->sync());
  TVMFFI_RETURN();
}

/* ---- The bytes of a module ----

   Two maps, each its count and then its keys with their values: the functions'
   descriptions, and their shaders' texts in WGSL. A description is a name, the
   parameters' dtypes, the launch parameters' tags and the parameters' tags,
   each list after its count. A text is its size and its bytes. A number has 64
   bits, a dtype 32. All is little endian. */

typedef struct {
  const char *at;
  size_t left;
} gpu_reader;

static int gpu_bad_bytes(void) {
  return TVMFFI_RAISE("ValueError", "malformed bytes of a webgpu module");
}

static int gpu_take(gpu_reader *in, uint64_t size, TVMFFIByteArray *out) {
  if (size > in->left) return gpu_bad_bytes();
  out->data = in->at;
  out->size = (size_t)size;
  in->at += size;
  in->left -= (size_t)size;
  return 0;
}

static int gpu_take_number(gpu_reader *in, uint64_t *out) {
  TVMFFIByteArray bytes;
  TVMFFI_TRY(gpu_take(in, sizeof(*out), &bytes));
  memcpy(out, bytes.data, sizeof(*out));
  return 0;
}

static int gpu_take_text(gpu_reader *in, TVMFFIByteArray *out) {
  uint64_t size;
  TVMFFI_TRY(gpu_take_number(in, &size));
  return gpu_take(in, size, out);
}

/* A text under construction. It is written twice: with data NULL the bytes are
   only counted, to allocate the memory. */
typedef struct {
  char *data;
  size_t size;
} gpu_text;

static void gpu_put(gpu_text *out, TVMFFIByteArray text) {
  if (out->data && text.size)
    memcpy(out->data + out->size, text.data, text.size);
  out->size += text.size;
}

static void gpu_put_word(gpu_text *out, const char *word) {
  gpu_put(out, tvmffi_byte_array(word));
}

/* Writes a string of JSON. */
static void gpu_put_string(gpu_text *out, TVMFFIByteArray text) {
  static const char digits[] = "0123456789abcdef";
  size_t i;
  gpu_put_word(out, "\"");
  for (i = 0; i < text.size; ++i) {
    unsigned char c = (unsigned char)text.data[i];
    char escape[7] = {'\\', 'u', '0', '0', 0, 0, 0};
    TVMFFIByteArray one;
    one.data = text.data + i;
    one.size = 1;
    escape[4] = digits[c >> 4];
    escape[5] = digits[c & 15];
    if (c < 32 || c == '"' || c == '\\')
      gpu_put_word(out, escape);
    else
      gpu_put(out, one);
  }
  gpu_put_word(out, "\"");
}

static int gpu_put_dtype(gpu_text *out, TVMFFIByteArray bytes) {
  TVMFFIAny name;
  DLDataType dtype;
  memcpy(&dtype, bytes.data, sizeof(dtype));
  TVMFFI_TRY(TVMFFIDataTypeToString(&dtype, &name));
  gpu_put_string(out, tvmffi_any_str(&name));
  tvmffi_any_release(&name);
  return 0;
}

/* Reads a description, and writes it as the JSON that the client parses. */
static int gpu_describe(gpu_reader *in, gpu_text *out) {
  TVMFFIByteArray item;
  uint64_t n;
  const char *comma = "";
  gpu_put_word(out, "{\"name\":");
  TVMFFI_TRY(gpu_take_text(in, &item));
  gpu_put_string(out, item);
  gpu_put_word(out, ",\"arg_types\":[");
  TVMFFI_TRY(gpu_take_number(in, &n));
  for (; n; --n, comma = ",") {
    gpu_put_word(out, comma);
    TVMFFI_TRY(gpu_take(in, sizeof(DLDataType), &item));
    TVMFFI_TRY(gpu_put_dtype(out, item));
  }
  gpu_put_word(out, "],\"launch_param_tags\":[");
  TVMFFI_TRY(gpu_take_number(in, &n));
  for (comma = ""; n; --n, comma = ",") {
    gpu_put_word(out, comma);
    TVMFFI_TRY(gpu_take_text(in, &item));
    gpu_put_string(out, item);
  }
  gpu_put_word(out, "]}");
  TVMFFI_TRY(gpu_take_number(in, &n));
  /* No shader has parameters that need a tag. */
  return n ? gpu_bad_bytes() : 0;
}

/* ---- Modules ---- */

typedef struct {
  TVMFFIByteArray name, code; /* in the module's bytes */
  gpu_reader info;            /* from the description on */
  TVMFFIObject *launch;       /* NULL until the shader is created; owned */
} gpu_shader;

typedef struct {
  tvmffi_module base;
  TVMFFIAny bytes; /* owned */
  gpu_shader *shaders;
  size_t count;
} gpu_module;

static void gpu_module_end(gpu_module *self) {
  size_t i;
  for (i = 0; i < self->count; ++i) tvmffi_release(self->shaders[i].launch);
  web_free(self->shaders);
  tvmffi_any_release(&self->bytes);
}

TVMFFI_MODULE(gpu_module, "webgpu", (lookup, find), (save, to_bytes),
              (load, from_bytes), (destructor, gpu_module_end))

static int gpu_same(TVMFFIByteArray a, TVMFFIByteArray b) {
  return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

static gpu_shader *gpu_find(gpu_module *self, TVMFFIByteArray name) {
  size_t i;
  for (i = 0; i < self->count; ++i)
    if (gpu_same(name, self->shaders[i].name)) return &self->shaders[i];
  return NULL;
}

/* Adds a shader for each description, without its text in WGSL. */
static int gpu_read_descriptions(gpu_module *self, gpu_reader *in) {
  uint64_t n;
  TVMFFI_TRY(gpu_take_number(in, &n));
  /* The smallest description has five numbers. */
  if (n > in->left / 40) return gpu_bad_bytes();
  self->shaders = (gpu_shader *)web_alloc((size_t)n * sizeof(gpu_shader));
  if (!self->shaders) return TVMFFI_RAISE("MemoryError", "no memory for it");
  for (; self->count < n; ++self->count) {
    gpu_shader *shader = &self->shaders[self->count];
    gpu_text counted = {NULL, 0};
    memset((void *)shader, 0, sizeof(*shader));
    TVMFFI_TRY(gpu_take_text(in, &shader->name));
    shader->info = *in;
    TVMFFI_TRY(gpu_describe(in, &counted));
  }
  return 0;
}

static int gpu_read_codes(gpu_module *self, gpu_reader *in) {
  uint64_t n;
  TVMFFI_TRY(gpu_take_number(in, &n));
  for (; n; --n) {
    TVMFFIByteArray name;
    gpu_shader *shader;
    TVMFFI_TRY(gpu_take_text(in, &name));
    shader = gpu_find(self, name);
    if (!shader) return gpu_bad_bytes();
    TVMFFI_TRY(gpu_take_text(in, &shader->code));
  }
  return in->left ? gpu_bad_bytes() : 0;
}

static int gpu_read(gpu_module *self, TVMFFIByteArray data) {
  TVMFFIByteArray bytes;
  gpu_reader in;
  TVMFFI_TRY(TVMFFIBytesFromByteArray(&data, &self->bytes));
  bytes = tvmffi_any_str(&self->bytes);
  in.at = bytes.data;
  in.left = bytes.size;
  TVMFFI_TRY(gpu_read_descriptions(self, &in));
  return gpu_read_codes(self, &in);
}

TVMFFI_STATIC_METHOD(gpu_module, from_bytes, gpu_module, (bytes, data)) {
  gpu_module *self = TVMFFI_NEW(gpu_module);
  if (!self) return -1;
  TVMFFI_TRY(gpu_read(self, data));
  TVMFFI_RETURN(self);
}

TVMFFI_METHOD(gpu_module, to_bytes, bytes) {
  TVMFFI_RETURN(tvmffi_any_str(&self->bytes));
}

/* Writes the description of one shader if `alone` is set, or else an object
   with the descriptions of all shaders by their names. */
static int gpu_write(const gpu_shader *shaders, size_t count, int alone,
                     gpu_text *out) {
  size_t i;
  for (i = 0; i < count; ++i) {
    gpu_reader in = shaders[i].info;
    if (!alone) {
      gpu_put_word(out, i ? "," : "{");
      gpu_put_string(out, shaders[i].name);
      gpu_put_word(out, ":");
    }
    TVMFFI_TRY(gpu_describe(&in, out));
  }
  if (!alone) gpu_put_word(out, count ? "}" : "{}");
  return 0;
}

/* Sets *out to the string that gpu_write makes. */
static int gpu_json(TVMFFI_HERE, const gpu_shader *shaders, size_t count,
                    int alone, TVMFFIAny *out) {
  gpu_text text = {NULL, 0};
  int code;
  TVMFFI_TRY(gpu_write(shaders, count, alone, &text));
  text.data = (char *)web_alloc(text.size + 1);
  if (!text.data) return TVMFFI_RAISE("MemoryError", "no memory for JSON");
  text.size = 0;
  code = gpu_write(shaders, count, alone, &text);
  text.data[text.size] = 0;
  if (!code) code = tvmffi_as(text.data, out);
  web_free(text.data);
  return code;
}

static int gpu_create(gpu_shader *shader) {
  TVMFFI_SCOPE;
  TVMFFIAny info, text;
  TVMFFIObject *create, *launch;
  int code;
  TVMFFI_TRY(gpu_client(tvmffi_here, "wasm.WebGPUCreateShader", &create));
  TVMFFI_TRY(gpu_json(tvmffi_here, shader, 1, 1, &info));
  TVMFFI_TRY(TVMFFIStringFromByteArray(&shader->code, &text));
  code = tvmffi_call(create, &launch, info, text);
  tvmffi_any_release(&text);
  if (!code) tvmffi_keep(&shader->launch, launch);
  return code;
}

/* ---- A module's functions ---- */

static int gpu_need(gpu_module *self, TVMFFIByteArray name, gpu_shader **out) {
  *out = gpu_find(self, name);
  if (*out) return 0;
  return TVMFFI_RAISE("ValueError", "the module has no shader %.*s",
                      (int)name.size, name.data);
}

TVMFFI_CLOSURE(get_fmap, gpu_module, any) {
  TVMFFIAny json;
  TVMFFI_TRY(gpu_json(tvmffi_here, self->shaders, self->count, 0, &json));
  TVMFFI_RETURN(json);
}

TVMFFI_CLOSURE(get_shader, gpu_module, str, (str, name)) {
  gpu_shader *shader;
  TVMFFI_TRY(gpu_need(self, name, &shader));
  TVMFFI_RETURN(shader->code);
}

TVMFFI_CLOSURE(update_prebuild, gpu_module, none, (str, name), (func, launch)) {
  gpu_shader *shader;
  TVMFFI_TRY(gpu_need(self, name, &shader));
  tvmffi_keep(&shader->launch, launch);
  TVMFFI_RETURN();
}

/* The closure owns a reference to the module. */
#define GPU_METHOD(self, name, out) \
  (tvmffi_retain(self), TVMFFI_CLOSURE_NEW(name, self, tvmffi_release, out))

static int gpu_is(TVMFFIByteArray text, const char *word) {
  return gpu_same(text, tvmffi_byte_array(word));
}

/* Returns a function of the module by its name. The function of a shader is the
   client's; its arguments are buffers, numbers and the extents of the launch.
 */
TVMFFI_METHOD(gpu_module, find, optional(func), (str, name)) {
  TVMFFIObject *out = NULL;
  gpu_shader *shader = gpu_find(self, name);
  if (gpu_is(name, "webgpu.get_fmap")) {
    TVMFFI_TRY(GPU_METHOD(self, get_fmap, &out));
  } else if (gpu_is(name, "webgpu.get_shader")) {
    TVMFFI_TRY(GPU_METHOD(self, get_shader, &out));
  } else if (gpu_is(name, "webgpu.update_prebuild")) {
    TVMFFI_TRY(GPU_METHOD(self, update_prebuild, &out));
  } else if (shader) {
    if (!shader->launch) TVMFFI_TRY(gpu_create(shader));
    out = shader->launch;
  }
  TVMFFI_RETURN(out);
}

/* ---- The start ---- */

static int gpu_start(void) {
  TVMFFI_TRY(TVMFFI_REGISTER("device_api.webgpu", device_api));
  TVMFFI_TRY(TVMFFI_REGISTER("__tvm_set_device", set_device));
  TVMFFI_TRY(TVMFFI_REGISTER("runtime.Device_StreamSync", stream_sync));
  return TVMFFI_REGISTER_TYPE(gpu_module);
}

/* Registers the functions. If memory is refused, later lookups will fail. */
__attribute__((constructor)) static void gpu_enter(void) {
  if (gpu_start()) tvmffi_error_clear();
}
