/* The wasm module for the JavaScript client (npm @mlc-ai/web-runtime): tvmffi.h
   without a libc, and the functions that the client looks up. Their semantics
   are upstream's (src/runtime/vm and web/emcc of Apache TVM), except that a bad
   input, which ends upstream's module, is an error here.

   Tensors are on the CPU, or on WebGPU's device (device.h). One thread. All
   memory is web_alloc's. */
#include "memory.h"

/* 1: the module has every built-in function: maps, lists, JSON, comparison and
   so on. By default it has only the built-in functions that the client looks
   up. Then its size is two thirds of the size with containers, and two fifths
   of the full size. */
#ifndef WEB_ALL
#define WEB_ALL 0
#endif
/* 1: with tensors on WebGPU's device, which webgpu.c has. */
#ifndef WEB_GPU
#define WEB_GPU 0
#endif
/* 1: with remote procedure calls, which rpc.c has. */
#ifndef WEB_RPC
#define WEB_RPC 0
#endif
#define TVMFFI_NO_EXTRA !WEB_ALL
#define TVMFFI_NO_METADATA !WEB_ALL
#if WEB_GPU || WEB_RPC
#define WEB_MAP(F) F(Map) /* TVMFFI_MODULE makes a map for each module. */
#else
#define WEB_MAP(F)
#endif
#if !WEB_ALL
#define TVMFFI_BUILTINS(F)                                                \
  F(FunctionListGlobalNamesFunctor)                                       \
  F(Shape)                                                                \
  F(Array)                                                                \
  F(ArrayGetItem) F(ArraySize) F(ModuleGetFunction) F(ModuleImportModule) \
      F(SystemLib) WEB_MAP(F)
#endif
#define TVMFFI_MALLOC(size) web_alloc(size)
#define TVMFFI_FREE(pointer) web_free(pointer)

/* Same as -Oz, which zig lacks. */
#pragma clang attribute push(__attribute__((minsize)), apply_to = function)
#define TVMFFI_IMPLEMENTATION
#include "web.h"
#include "device.h"
#include "runtime.h"

#define WEB_EXPORT(name) __attribute__((export_name(#name)))
#define WEB_IMPORT(module, name) \
  __attribute__((import_module(module), import_name(name)))

/* ---- Calls from and into JavaScript ---- */

WEB_IMPORT("env", "TVMFFIWasmSafeCall")
int web_call_js(void *self, const TVMFFIAny *args, int32_t num_args,
                TVMFFIAny *result);
WEB_IMPORT("env", "TVMFFIWasmFunctionDeleter")
void web_delete_js(void *self);

/* Allocates temporary memory for the client, aligned to 16, or returns NULL. */
WEB_EXPORT(TVMWasmAllocSpace)
void *web_alloc_space(uint32_t size) { return web_alloc(size); }

WEB_EXPORT(TVMWasmFreeSpace)
void web_free_space(void *pointer) { web_free(pointer); }

static TVMFFIAny *web_new_items(size_t n) {
  TVMFFIAny *items = n < WEB_LARGEST / sizeof(TVMFFIAny)
                         ? (TVMFFIAny *)web_alloc((n + 1) * sizeof(TVMFFIAny))
                         : NULL;
  if (!items) (void)TVMFFI_RAISE("MemoryError", "no memory for an array");
  return items;
}

/* Calls JavaScript with a copy of the arguments: the client overwrites a raw
   string or bytes by an object, which it releases. */
static int web_call_copied(void *self, const TVMFFIAny *args, int32_t num_args,
                           TVMFFIAny *result) {
  TVMFFIAny *copy = web_new_items((size_t)num_args);
  int code;
  if (!copy) return -1;
  memcpy(copy, args, (size_t)num_args * sizeof(*copy));
  code = web_call_js(self, copy, num_args, result);
  web_free(copy);
  return code;
}

/* Makes a function object for entry `id` of the client's function table. The
   caller owns it. */
WEB_EXPORT(TVMFFIWasmFunctionCreate)
int web_function_create(void *id, TVMFFIObjectHandle *out) {
  return TVMFFIFunctionCreate(id, web_call_copied, web_delete_js, out);
}

static size_t web_join(char *to, size_t at, TVMFFIByteArray text) {
  if (text.size) memcpy(to + at, text.data, text.size);
  return at + text.size;
}

WEB_EXPORT(TVMFFIWasmGetLastError)
const char *web_last_error(void) {
  static char *text;
  TVMFFI_SCOPE;
  TVMFFIObject *error = tvmffi_error_take();
  const TVMFFIErrorCell *e;
  size_t n;
  web_free(text);
  text = NULL;
  if (!error) return "InternalError: no error was raised";
  e = TVMFFIErrorGetCellPtr(error);
  text = (char *)web_alloc(e->kind.size + e->message.size + 3);
  if (text) {
    n = web_join(text, 0, e->kind);
    n = web_join(text, n, tvmffi_byte_array(": "));
    text[web_join(text, n, e->message)] = 0;
  }
  return text ? text : "MemoryError: no memory for the text of an error";
}

/* Stores an owned String object in `out`, which is what the client expects. The
   ABI stores an Any. */
WEB_EXPORT(TVMFFIDataTypeToString)
int web_dtype_to_string(const DLDataType *dtype, TVMFFIObject **out) {
  TVMFFIAny any;
  TVMFFIByteArray text;
  tvmffi_i_string *string;
  TVMFFI_TRY(TVMFFIDataTypeToString(dtype, &any));
  text = tvmffi_any_str(&any);
  string = tvmffi_i_new_string(text.size, kTVMFFIStr);
  if (string) {
    (void)web_join((char *)(uintptr_t)string->bytes.data, 0, text);
    *out = &string->base;
  }
  tvmffi_any_release(&any);
  return string ? 0 : -1;
}

/* ---- Logging ---- */

typedef struct {
  const char *data;
  size_t size;
} web_vector;

WEB_IMPORT("wasi_snapshot_preview1", "fd_write")
int web_fd_write(int fd, const web_vector *vectors, size_t count,
                 size_t *written);

void web_log(TVMFFIByteArray text) {
  web_vector vectors[2];
  size_t written;
  vectors[0].data = text.data;
  vectors[0].size = text.size;
  vectors[1].data = "\n";
  vectors[1].size = 1;
  (void)web_fd_write(2, vectors, 2, &written);
}

/* ---- Tensors ---- */

int web_device_of(DLDevice device, const web_device **out) {
  *out = NULL;
  if (device.device_type == kDLCPU) return 0;
#if WEB_GPU
  *out = &web_gpu;
  if (device.device_type == kDLWebGPU && device.device_id == 0) return 0;
#endif
  return TVMFFI_RAISE("ValueError", "this module does not have the device");
}

/* A tensor in one block, which begins at a multiple of 16. On the CPU its
   content is in the block, too. */
typedef struct {
  DLManagedTensorVersioned managed; /* manager_ctx is the device's table */
  int64_t numbers[];                /* shape, strides, content */
} web_tensor;

static void web_delete_tensor(DLManagedTensorVersioned *self) {
  const web_device *device = (const web_device *)self->manager_ctx;
  if (WEB_GPU && device) device->release(self->dl_tensor.data);
  web_free(self);
}

/* Sets the strides and *bytes. Returns 0 if the tensor exceeds the memory. */
static int web_measure(const DLTensor *like, int64_t *strides, size_t *bytes) {
  uint64_t size = 1, most = (uint64_t)WEB_LARGEST * 8;
  uint32_t bits = (uint32_t)like->dtype.bits * like->dtype.lanes;
  int32_t i;
  for (i = like->ndim; i-- > 0;) {
    uint64_t extent = (uint64_t)like->shape[i];
    strides[i] = (int64_t)size;
    if (extent && size > most / extent) return 0;
    size *= extent;
  }
  if (bits && size > most / bits) return 0;
  *bytes = (size_t)((size * bits + 7) / 8);
  return *bytes <= WEB_LARGEST - 4096;
}

/* The environment's allocator; tvmffi_tensor_new and the client use it. */
static int web_new_tensor(DLTensor *like, DLManagedTensorVersioned **out,
                          void *context,
                          void (*fail)(void *context, const char *kind,
                                       const char *message)) {
  enum { MOST = 64 };
  int64_t strides[MOST];
  size_t bytes = 0, head, list = (size_t)like->ndim * sizeof(int64_t);
  web_tensor *self = NULL;
  const web_device *device;
  TVMFFI_TRY(web_device_of(like->device, &device));
  if (like->ndim > MOST) {
    fail(context, "ValueError", "a tensor has 64 dimensions at most");
    return -1;
  }
  head = (sizeof(web_tensor) + 2 * list + 15) & ~(size_t)15;
  if (web_measure(like, strides, &bytes))
    self = (web_tensor *)web_alloc(WEB_GPU && device ? head : head + bytes);
  if (!self) {
    fail(context, "MemoryError", "no memory for a tensor of this shape");
    return -1;
  }
  memset(self, 0, head);
  self->managed.version.major = DLPACK_MAJOR_VERSION;
  self->managed.version.minor = DLPACK_MINOR_VERSION;
  self->managed.deleter = web_delete_tensor;
  if (WEB_GPU) self->managed.manager_ctx = (void *)(uintptr_t)device;
  self->managed.dl_tensor = *like;
  self->managed.dl_tensor.data = (char *)self + head;
  self->managed.dl_tensor.byte_offset = 0;
  self->managed.dl_tensor.shape = self->numbers;
  self->managed.dl_tensor.strides = self->numbers + like->ndim;
  if (list) {
    memcpy(self->numbers, like->shape, list);
    memcpy(self->numbers + like->ndim, strides, list);
  }
  if (WEB_GPU && device &&
      device->allocate(bytes, &self->managed.dl_tensor.data)) {
    web_free(self);
    return -1;
  }
  *out = &self->managed;
  return 0;
}

/* As upstream's devices have it: one scope, and it has two names. */
TVMFFI_FUNC(tensor_alloc, tensor_object, (shape, shape), (dtype, dtype),
            (device, device), (optional(str), scope)) {
  const TVMFFIShapeCell *extents = TVMFFIShapeGetCellPtr(shape);
  TVMFFIObject *tensor;
  TVMFFIByteArray name = scope.value;
  if (scope.has_value && name.size &&
      !(name.size == 6 && memcmp(name.data, "global", 6) == 0))
    return TVMFFI_RAISE("ValueError", "no device has a memory scope %.*s",
                        (int)name.size, name.data);
  TVMFFI_TRY(tvmffi_tensor_new(dtype, device, (int32_t)extents->size,
                               extents->data, &tensor));
  TVMFFI_RETURN(tensor);
}

/* What is copied as bytes has to be one piece of memory. */
static int web_memory_of(const char *what, const DLTensor *t, web_memory *out) {
  const web_device *device;
  TVMFFI_TRY(web_device_of(t->device, &device));
  if (!tvmffi_tensor_is_contiguous(t))
    return TVMFFI_RAISE("ValueError", "%s is not contiguous", what);
  out->data = TVMFFI_DATA(t, char);
  out->size = tvmffi_tensor_bytes(t);
#if WEB_GPU
  out->device = device;
  if (device) {
    out->data = (char *)t->data;
    out->offset = (size_t)t->byte_offset;
  }
#endif
  return 0;
}

/* The memory of a tensor on the CPU. */
#if WEB_GPU
static int web_bytes(const char *what, const DLTensor *t, web_memory *out) {
  TVMFFI_TRY(web_memory_of(what, t, out));
  if (out->device)
    return TVMFFI_RAISE("ValueError", "%s is not on the CPU", what);
  return 0;
}
#else
#define web_bytes(what, t, out) web_memory_of(what, t, out)
#endif

/* The elements *x of a tensor of 32 bits each, of a dtype's code. */
static int web_elements(const char *what, const DLTensor *t, uint8_t code,
                        void **x, int64_t *count) {
  web_memory bytes;
  TVMFFI_TRY(web_bytes(what, t, &bytes));
  if (t->dtype.code != code || t->dtype.bits != 32 || t->dtype.lanes != 1)
    return TVMFFI_RAISE("TypeError", "%s must be of %s", what,
                        code == kDLFloat ? "float32" : "int32");
  *count = tvmffi_tensor_size(t);
  *x = bytes.data;
  return 0;
}

static int web_floats(const char *what, const DLTensor *t, float **x,
                      int64_t *count) {
  void *elements = NULL;
  TVMFFI_TRY(web_elements(what, t, kDLFloat, &elements, count));
  *x = (float *)elements;
  return 0;
}

static int web_ints(const char *what, const DLTensor *t, int32_t **x,
                    int64_t *count) {
  void *elements = NULL;
  TVMFFI_TRY(web_elements(what, t, kDLInt, &elements, count));
  *x = (int32_t *)elements;
  return 0;
}

static int web_copy(const web_memory *to, const web_memory *from) {
  if (to->size != from->size)
    return TVMFFI_RAISE("ValueError", "%zu bytes for a tensor of %zu",
                        from->size, to->size);
  if (!to->size) return 0;
#if WEB_GPU
  if (to->device) return to->device->copy(to, from);
  if (from->device) return from->device->copy(to, from);
#endif
  memmove(to->data, from->data, to->size);
  return 0;
}

TVMFFI_FUNC(tensor_copy, none, (tensor, from), (tensor, to)) {
  web_memory source, target;
  TVMFFI_TRY(web_memory_of("the source", from, &source));
  TVMFFI_TRY(web_memory_of("the target", to, &target));
  TVMFFI_TRY(web_copy(&target, &source));
  TVMFFI_RETURN();
}

static int web_copy_bytes(const DLTensor *to, TVMFFIByteArray bytes) {
  web_memory source, target;
  memset((void *)&source, 0, sizeof(source));
  source.data = (char *)(uintptr_t)bytes.data;
  source.size = bytes.size;
  TVMFFI_TRY(web_memory_of("the target", to, &target));
  return web_copy(&target, &source);
}

TVMFFI_FUNC(tensor_from_bytes, none, (tensor, to), (bytes, bytes)) {
  TVMFFI_TRY(web_copy_bytes(to, bytes));
  TVMFFI_RETURN();
}

TVMFFI_FUNC(tensor_to_bytes, bytes, (tensor, from)) {
  TVMFFIByteArray bytes;
  web_memory source;
  TVMFFI_TRY(web_bytes("the tensor", from, &source));
  bytes.data = source.data;
  bytes.size = source.size;
  TVMFFI_RETURN(bytes);
}

/* Returns a view of a part of a tensor with another shape and type. The view
   shares the memory and keeps the source alive. */
TVMFFI_FUNC(tensor_view, tensor_object, (tensor_object, source), (shape, shape),
            (dtype, dtype), (int64, offset)) {
  const TVMFFIShapeCell *extents = TVMFFIShapeGetCellPtr(shape);
  DLTensor view = *TVMFFITensorGetDLTensorPtr(source);
  web_memory whole;
  TVMFFIObjectHandle result = NULL;
  int64_t *strides;
  size_t bytes = 0;
  int fits, code;
  TVMFFI_TRY(web_memory_of("the tensor", &view, &whole));
  strides = (int64_t *)web_alloc((extents->size + 1) * sizeof(int64_t));
  if (!strides) return TVMFFI_RAISE("MemoryError", "no memory for a view");
  view.shape = (int64_t *)(uintptr_t)extents->data;
  view.strides = strides;
  view.ndim = (int32_t)extents->size;
  view.dtype = dtype;
  view.byte_offset += (uint64_t)offset;
  fits = web_measure(&view, strides, &bytes) && offset >= 0 &&
         bytes <= whole.size && (uint64_t)offset <= whole.size - bytes;
  code = fits ? TVMFFITensorCreateUnsafeView(source, &view, &result)
              : TVMFFI_RAISE("ValueError",
                             "a view of this shape from byte %lld on does not "
                             "lie inside a tensor of %zu bytes",
                             (long long)offset, whole.size);
  web_free(strides);
  if (code) return code;
  TVMFFI_RETURN(tvmffi_scope_attach(result));
}

static void web_advance(web_memory *memory, size_t bytes) {
#if WEB_GPU
  if (memory->device) {
    memory->offset += bytes;
    return;
  }
#endif
  memory->data += bytes;
}

/* Joins tensors of one type and width, row after row. */
static int tvmffi_call_concat_embeddings(void *self, const TVMFFIAny *args,
                                         int32_t num_args, TVMFFIAny *result) {
  const DLTensor *first = NULL;
  TVMFFI_SCOPE;
  TVMFFIObject *joined;
  web_memory to, from;
  int64_t shape[2] = {0, 0};
  int32_t i;
  (void)self;
  if (!num_args) return TVMFFI_RAISE("ValueError", "no embeddings");
  for (i = 0; i < num_args; ++i) {
    DLTensor *t = NULL;
    if (tvmffi_i_get_tensor(&args[i], &t))
      return TVMFFI_RAISE("TypeError", "embedding %d is no tensor", (int)i);
    if (t->ndim != 2)
      return TVMFFI_RAISE("ValueError", "embedding %d has %d dimensions, not 2",
                          (int)i, (int)t->ndim);
    if (t->dtype.bits * t->dtype.lanes % 8)
      return TVMFFI_RAISE(
          "TypeError", "embedding %d has elements of no whole bytes", (int)i);
    if (!first) first = t;
    if (t->shape[1] != first->shape[1] ||
        !tvmffi_i_dtype_equal(t->dtype, first->dtype))
      return TVMFFI_RAISE("ValueError",
                          "embedding %d has another width or type than the "
                          "first",
                          (int)i);
    TVMFFI_TRY(web_memory_of("an embedding", t, &from));
    shape[0] += t->shape[0];
  }
  shape[1] = first->shape[1];
  TVMFFI_TRY(tvmffi_tensor_new(first->dtype, first->device, 2, shape, &joined));
  (void)web_memory_of("", TVMFFITensorGetDLTensorPtr(joined), &to);
  for (i = 0; i < num_args; ++i) {
    DLTensor *t = NULL;
    (void)tvmffi_i_get_tensor(&args[i], &t);
    (void)web_memory_of("", t, &from);
    to.size = from.size;
    TVMFFI_TRY(web_copy(&to, &from));
    web_advance(&to, from.size);
  }
  return tvmffi_i_put_object(tvmffi_here, result, joined);
}
static tvmffi_func tvmffi_func_concat_embeddings = {
    "concat_embeddings", tvmffi_call_concat_embeddings, NULL,
    -1 TVMFFI_I_SIGNATURE(NULL, 0, NULL, NULL)};

/* Widens bfloat16 values to floats. `from` may be the beginning of `to`, so the
   loop starts with the last value. */
static void web_widen(float *to, const char *from, size_t count) {
  while (count-- > 0) {
    uint16_t half;
    memcpy(&half, from + 2 * count, sizeof(half));
    to[count] = tvmffi_bfloat16_to_float(half);
  }
}

TVMFFI_I_COLD int web_bad_halves(uint64_t bytes, int64_t elements) {
  return TVMFFI_RAISE("ValueError", "%lld bytes of bfloat16 for %lld elements",
                      (long long)bytes, (long long)elements);
}

static int web_is(TVMFFIByteArray text, const char *word) {
  size_t size = strlen(word);
  return text.size == size && memcmp(text.data, word, size) == 0;
}

/* Fills a tensor from the bytes of a tensor cache's record. */
TVMFFI_FUNC(decode_storage, none, (tensor, to), (bytes, bytes), (str, format),
            (str, dtype)) {
  float *x;
  int64_t n;
  if (!web_is(format, "f32-to-bf16") || !web_is(dtype, "float32")) {
    TVMFFI_TRY(web_copy_bytes(to, bytes));
    TVMFFI_RETURN();
  }
  TVMFFI_TRY(web_floats("the tensor", to, &x, &n));
  if ((int64_t)bytes.size != 2 * n) return web_bad_halves(bytes.size, n);
  web_widen(x, bytes.data, bytes.size / 2);
  TVMFFI_RETURN();
}

/* Decodes bytes that are already in the tensor's memory. */
TVMFFI_FUNC(decode_in_place, none, (tensor, t), (int64, size)) {
  float *x;
  int64_t n;
  TVMFFI_TRY(web_floats("the tensor", t, &x, &n));
  if (size != 2 * n) return web_bad_halves((uint64_t)size, n);
  web_widen(x, (const char *)x, (size_t)n);
  TVMFFI_RETURN();
}

/* ---- Arrays ---- */

static const TVMFFISeqCell *web_items(const TVMFFIAny *array) {
  return TVMFFI_I_CELL(const TVMFFISeqCell, array->v_obj);
}

/* Makes an array from `n` views, and frees the memory of `items`. */
static TVMFFIObject *web_new_array(TVMFFI_HERE, TVMFFIAny *items, size_t n) {
  TVMFFIObject *array = tvmffi_array_from(items, n);
  web_free(items);
  return array;
}

static int tvmffi_call_array_concat(void *self, const TVMFFIAny *args,
                                    int32_t num_args, TVMFFIAny *result) {
  TVMFFI_SCOPE;
  TVMFFIAny *items;
  size_t n = 0;
  int32_t i;
  (void)self;
  for (i = 0; i < num_args; ++i) {
    if (args[i].type_index != kTVMFFIArray || !args[i].v_obj)
      return TVMFFI_RAISE("TypeError", "argument %d is no array", (int)i);
    n += (size_t)web_items(&args[i])->size;
  }
  items = web_new_items(n);
  if (!items) return -1;
  for (n = 0, i = 0; i < num_args; ++i) {
    const TVMFFISeqCell *from = web_items(&args[i]);
    size_t size = (size_t)from->size;
    if (size) memcpy(items + n, from->data, size * sizeof(TVMFFIAny));
    n += size;
  }
  return tvmffi_i_put_object(tvmffi_here, result,
                             web_new_array(tvmffi_here, items, n));
}
static tvmffi_func tvmffi_func_array_concat = {
    "array_concat", tvmffi_call_array_concat, NULL,
    -1 TVMFFI_I_SIGNATURE(NULL, 0, NULL, NULL)};

/* ---- The tensor cache ---- */

/* A named tensor, in the bucket chain of its hash. */
typedef struct web_entry {
  struct web_entry *next;
  TVMFFIObject *tensor; /* owned */
  size_t size;
  char name[];
} web_entry;

enum { WEB_LISTS = 256 };
static web_entry *web_cache[WEB_LISTS];

/* Returns the address of the pointer to an entry, or of the NULL pointer at the
   end of its chain. */
static web_entry **web_find(TVMFFIByteArray name) {
  web_entry **at;
  uint32_t hash = 2166136261u; /* FNV-1a */
  size_t i;
  for (i = 0; i < name.size; ++i)
    hash = (hash ^ (unsigned char)name.data[i]) * 16777619u;
  for (at = &web_cache[hash % WEB_LISTS]; *at; at = &(*at)->next)
    if ((*at)->size == name.size &&
        memcmp((*at)->name, name.data, name.size) == 0)
      break;
  return at;
}

static void web_drop(web_entry **at) {
  web_entry *entry = *at;
  *at = entry->next;
  tvmffi_release(entry->tensor);
  web_free(entry);
}

TVMFFI_FUNC(cache_get, optional(tensor_object), (str, name)) {
  web_entry *entry = *web_find(name);
  TVMFFI_RETURN(entry ? entry->tensor : NULL);
}

TVMFFI_FUNC(cache_update, none, (str, name), (tensor_object, tensor),
            (bool, replace)) {
  web_entry **at = web_find(name), *entry;
  if (*at && !replace)
    return TVMFFI_RAISE("ValueError", "the tensor cache has %.*s already",
                        (int)name.size, name.data);
  entry = (web_entry *)web_alloc(sizeof(*entry) + name.size);
  if (!entry) return TVMFFI_RAISE("MemoryError", "no memory in the cache");
  entry->tensor = NULL;
  tvmffi_keep(&entry->tensor, tensor);
  if (*at) web_drop(at);
  entry->next = *at;
  entry->size = name.size;
  (void)web_join(entry->name, 0, name);
  *at = entry;
  TVMFFI_RETURN();
}

TVMFFI_FUNC(cache_remove, none, (str, name)) {
  web_entry **at = web_find(name);
  if (*at) web_drop(at);
  TVMFFI_RETURN();
}

TVMFFI_FUNC(cache_clear, none) {
  int i;
  for (i = 0; i < WEB_LISTS; ++i)
    while (web_cache[i]) web_drop(&web_cache[i]);
  TVMFFI_RETURN();
}

/* ---- Modules of parameters ---- */

/* A module whose only function, get_params, returns an array. */
typedef struct {
  tvmffi_i_module module;
  TVMFFIObject *params;
} web_params;

static int web_get_params(void *self, const TVMFFIAny *args, int32_t num_args,
                          TVMFFIAny *result) {
  (void)args;
  if (num_args)
    return TVMFFI_RAISE("TypeError", "get_params takes no arguments");
  tvmffi_retain(self);
  *result = tvmffi_obj(self);
  return 0;
}

static void web_destroy_params(void *self, int flags) {
  web_params *m = (web_params *)(void *)tvmffi_i_module_of(self);
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    tvmffi_release(m->module.cache);
    tvmffi_release(m->module.imports);
    tvmffi_release(m->params);
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmffi_i_free(m);
}

static void web_delete_params(void *self, int flags) {
  tvmffi_i_destroy((TVMFFIObject *)self, flags, web_destroy_params,
                   web_delete_params);
}

/* The methods of such a module. The runtime calls this function. */
static int web_call_params(TVMFFIObject *self, tvmffi_i_module_method method,
                           const TVMFFIAny *args, TVMFFIAny *out) {
  web_params *m = (web_params *)(void *)tvmffi_i_module_of(self);
  TVMFFIByteArray text = tvmffi_any_str(args);
  TVMFFIObjectHandle function = NULL;
  int has = web_is(text, "get_params");
  switch (method) {
    case TVMFFI_I_METHOD_KIND:
      text = tvmffi_byte_array("param_module");
      return TVMFFIStringFromByteArray(&text, out);
    case TVMFFI_I_METHOD_PROPERTY_MASK: *out = tvmffi_int(0); return 0;
    case TVMFFI_I_METHOD_GET_FUNCTION:
      if (!has) return 0;
      TVMFFI_TRY(TVMFFIFunctionCreate(m->params, web_get_params, tvmffi_release,
                                      &function));
      tvmffi_retain(m->params); /* the function's */
      *out = tvmffi_obj(function);
      return 0;
    case TVMFFI_I_METHOD_IMPLEMENTS: *out = tvmffi_bool(has); return 0;
    case TVMFFI_I_METHOD_WRITE_FORMATS:
      *out = tvmffi_obj(tvmffi_i_no_items());
      return out->v_obj ? 0 : -1;
    case TVMFFI_I_METHOD_INSPECT:
      text = tvmffi_byte_array("");
      return TVMFFIStringFromByteArray(&text, out);
    case TVMFFI_I_METHOD_WRITE:
      return TVMFFI_RAISE("RuntimeError",
                          "a module of parameters cannot be written");
    default: return 0; /* no doc, no metadata */
  }
}

static const tvmffi_i_module_table web_params_table = TVMFFI_I_MODULE_TABLE(
    "param_module", tvmffi_i_virtual_mask, 0, web_call_params, NULL);

/* Makes a module from `n` views of tensors, and frees the memory of `items`. */
static TVMFFIObject *web_new_params(TVMFFI_HERE, TVMFFIAny *items, size_t n) {
  TVMFFIObject *params = web_new_array(tvmffi_here, items, n);
  TVMFFIObject *imports = params ? tvmffi_i_no_items() : NULL;
  web_params *m = NULL;
  if (imports) {
    m = (web_params *)tvmffi_i_alloc(sizeof(*m));
    if (!m) (void)tvmffi_i_no_memory();
  }
  if (!m) {
    tvmffi_release(imports);
    return NULL;
  }
  memset((void *)m, 0, sizeof(*m));
  m->module.methods = &web_params_table.methods;
  m->module.base.combined_ref_count = TVMFFI_I_BOTH_ONE;
  m->module.base.type_index = kTVMFFIModule;
  m->module.base.deleter = web_delete_params;
  m->module.imports = imports;
  tvmffi_keep(&m->params, params);
  return tvmffi_scope_attach(&m->module.base);
}

TVMFFI_I_COLD int web_not_cached(TVMFFIByteArray name) {
  return TVMFFI_RAISE("ValueError", "the tensor cache has no %.*s",
                      (int)name.size, name.data);
}

/* Writes a number in decimal, and returns the address after it. */
static char *web_put_number(char *at, uint32_t number) {
  char digits[10];
  int n = 0;
  do digits[n++] = (char)('0' + number % 10);
  while (number /= 10);
  while (n) *at++ = digits[--n];
  return at;
}

/* Returns the tensor named prefix_i, or NULL. `name` begins with "prefix_". */
static TVMFFIObject *web_numbered(TVMFFIByteArray *name, size_t prefix,
                                  uint32_t i) {
  char *text = (char *)(uintptr_t)name->data;
  const web_entry *entry;
  name->size = (size_t)(web_put_number(text + prefix + 1, i) - text);
  entry = *web_find(*name);
  return entry ? entry->tensor : NULL;
}

/* Returns a module with the tensors prefix_0, prefix_1 and so on: `count`
   tensors, or, for -1, all up to the first missing name. */
TVMFFI_FUNC(params_by_prefix, module, (str, prefix), (int64, count)) {
  TVMFFIObject *module = NULL, *tensor;
  TVMFFIAny *items = NULL;
  TVMFFIByteArray name;
  uint32_t n = 0, i;
  int code = 0;
  if (count < -1 || count > INT32_MAX)
    return TVMFFI_RAISE("ValueError", "%lld parameters", (long long)count);
  name.data = (char *)web_alloc(prefix.size + 12);
  if (!name.data) return TVMFFI_RAISE("MemoryError", "no memory for a name");
  (void)web_join((char *)(uintptr_t)name.data,
                 web_join((char *)(uintptr_t)name.data, 0, prefix),
                 tvmffi_byte_array("_"));
  while ((count < 0 || n < count) && web_numbered(&name, prefix.size, n)) ++n;
  if (count >= 0 && n < count) code = web_not_cached(name);
  if (!code) items = web_new_items(n);
  if (items) {
    for (i = 0; i < n; ++i) {
      tensor = web_numbered(&name, prefix.size, i);
      items[i] = tvmffi_obj(tensor);
    }
    module = web_new_params(tvmffi_here, items, n);
  }
  web_free((char *)(uintptr_t)name.data);
  if (code || !items) return -1;
  TVMFFI_RETURN(module);
}

TVMFFI_FUNC(params_by_name, module, (array(str), names)) {
  const TVMFFISeqCell *cell = TVMFFI_I_CELL(const TVMFFISeqCell, names);
  size_t n = (size_t)cell->size, i;
  TVMFFIAny *items = web_new_items(n);
  if (!items) return -1;
  for (i = 0; i < n; ++i) {
    TVMFFIByteArray name = tvmffi_any_str((const TVMFFIAny *)cell->data + i);
    const web_entry *entry = *web_find(name);
    if (!entry) {
      web_free(items);
      return web_not_cached(name);
    }
    items[i] = tvmffi_obj(entry->tensor);
  }
  TVMFFI_RETURN(web_new_params(tvmffi_here, items, n));
}

/* ---- Sampling ---- */

/* Returns e^x: x = k ln 2 + r with |r| < 0.35, and e^r is a Taylor series with
   an error below half a unit in the last place. */
static double web_exp(double x) {
  static const double high = 6.93147180369123816490e-01,
                      low = 1.90821492927058770002e-10,
                      reciprocal = 1.44269504088896338700e+00;
  double r, sum = 1, k;
  int64_t n, bits;
  int i;
  if (x != x) return x;
  if (x > 709.5) return __builtin_inf();
  if (x < -708) return 0;
  k = __builtin_rint(x * reciprocal);
  n = (int64_t)k;
  r = x - k * high - k * low;
  for (i = 14; i; --i) sum = 1 + sum * r / i;
  memcpy(&bits, &sum, sizeof(bits));
  bits = (int64_t)((uint64_t)bits + ((uint64_t)n << 52));
  memcpy(&sum, &bits, sizeof(sum));
  return sum;
}

/* Checks for one row of floats: all dimensions but the last are 1. */
static int web_row(const char *what, const DLTensor *t, float **x,
                   int64_t *size) {
  TVMFFI_TRY(web_floats(what, t, x, size));
  if (!t->ndim || !*size || *size != t->shape[t->ndim - 1])
    return TVMFFI_RAISE("ValueError", "%s must be one row with elements", what);
  return 0;
}

typedef struct {
  double weight;
  int64_t index;
} web_choice;

/* Orders choices by descending weight, then by index. */
static int web_before(web_choice a, web_choice b) {
  return a.weight > b.weight || (a.weight == b.weight && a.index < b.index);
}

/* Sift-down: restores the heap of `n` choices after a change at `i`. */
static void web_sink(web_choice *heap, int64_t i, int64_t n) {
  web_choice sinks = heap[i];
  int64_t child;
  for (; (child = 2 * i + 1) < n; i = child) {
    if (child + 1 < n && web_before(heap[child + 1], heap[child])) ++child;
    if (!web_before(heap[child], sinks)) break;
    heap[i] = heap[child];
  }
  heap[i] = sinks;
}

/* Top-p sampling by a partial heapsort. Keeps the heaviest choices until their
   sum reaches `top_p` of `total`, and returns the choice at `u` (0 to 1) of the
   kept weight. Moves the kept choices to the end of the array, in reverse. */
static int64_t web_choose(web_choice *heap, int64_t n, double total,
                          double top_p, double u) {
  int64_t i, left = n;
  double kept = 0, sum = 0;
  for (i = n / 2; i-- > 0;) web_sink(heap, i, n);
  do {
    web_choice best = heap[0];
    heap[0] = heap[--left];
    heap[left] = best;
    web_sink(heap, 0, left);
    kept += best.weight;
  } while (left && kept < top_p * total);
  for (i = n; i-- > left;) {
    sum += heap[i].weight;
    if (u * kept < sum) return heap[i].index;
  }
  return heap[left].index;
}

static web_choice *web_new_choices(int64_t n) {
  uint64_t bytes = (uint64_t)n * sizeof(web_choice);
  web_choice *heap =
      bytes > WEB_LARGEST ? NULL : (web_choice *)web_alloc((size_t)bytes);
  if (!heap) (void)TVMFFI_RAISE("MemoryError", "no memory for the choices");
  return heap;
}

static float web_greatest(const float *x, int64_t n, int64_t *at) {
  int64_t i;
  *at = 0;
  for (i = 1; i < n; ++i)
    if (x[i] > x[*at]) *at = i;
  return x[*at];
}

/* Chooses an index by its weight: an element of the row, or, for logits, its
   exponential. */
static int web_sample(const char *what, const DLTensor *row, int logits,
                      double temperature, double top_p, double u,
                      int64_t *out) {
  float *x;
  web_choice *heap;
  int64_t n, i;
  double total = 0, greatest;
  TVMFFI_TRY(web_row(what, row, &x, &n));
  greatest = web_greatest(x, n, out);
  if (logits && temperature < 1e-6) return 0;
  heap = web_new_choices(n);
  if (!heap) return -1;
  for (i = 0; i < n; ++i) {
    heap[i].weight =
        logits ? web_exp((x[i] - greatest) / temperature) : (double)x[i];
    heap[i].index = i;
    total += heap[i].weight;
  }
  *out = web_choose(heap, n, logits ? total : 1, top_p, u);
  web_free(heap);
  return 0;
}

TVMFFI_FUNC(sample_from_logits, int64, (tensor, logits), (float64, temperature),
            (float64, top_p), (float64, u)) {
  int64_t index;
  TVMFFI_TRY(
      web_sample("the logits", logits, 1, temperature, top_p, u, &index));
  TVMFFI_RETURN(index);
}

TVMFFI_FUNC(sample_from_prob, int64, (tensor, prob), (float64, top_p),
            (float64, u)) {
  int64_t index;
  TVMFFI_TRY(web_sample("the probabilities", prob, 0, 1, top_p, u, &index));
  TVMFFI_RETURN(index);
}

/* Checks a row of logits, and tokens that must be indices into it. */
static int web_tokens(const DLTensor *logits, const DLTensor *tokens, float **x,
                      int32_t **ids, int64_t *count) {
  int64_t size, i;
  TVMFFI_TRY(web_row("the logits", logits, x, &size));
  TVMFFI_TRY(web_ints("the tokens", tokens, ids, count));
  for (i = 0; i < *count; ++i)
    if ((*ids)[i] < 0 || (*ids)[i] >= size)
      return TVMFFI_RAISE("IndexError", "token %d of a vocabulary of %lld",
                          (int)(*ids)[i], (long long)size);
  return 0;
}

TVMFFI_FUNC(repetition_penalty, none, (tensor, logits), (tensor, tokens),
            (float64, penalty)) {
  float *x;
  int32_t *ids;
  int64_t n, i;
  TVMFFI_TRY(web_tokens(logits, tokens, &x, &ids, &n));
  for (i = 0; i < n; ++i) {
    float *at = &x[ids[i]];
    *at = (float)(*at <= 0 ? *at * penalty : *at / penalty);
  }
  TVMFFI_RETURN();
}

TVMFFI_FUNC(presence_and_frequency_penalty, none, (tensor, logits),
            (tensor, tokens), (tensor, counts), (float64, presence),
            (float64, frequency)) {
  float *x;
  int32_t *ids, *times;
  int64_t n, num_counts, i;
  TVMFFI_TRY(web_tokens(logits, tokens, &x, &ids, &n));
  TVMFFI_TRY(web_ints("the counts", counts, &times, &num_counts));
  if (num_counts != n)
    return TVMFFI_RAISE("ValueError", "%lld counts for %lld tokens",
                        (long long)num_counts, (long long)n);
  for (i = 0; i < n; ++i)
    x[ids[i]] = (float)(x[ids[i]] - (times[i] * frequency + presence));
  TVMFFI_RETURN();
}

/* Softmax of each row. At temperature 0, the maximum gets probability 1. */
TVMFFI_FUNC(softmax, none, (tensor, logits), (float64, temperature)) {
  float *x;
  int64_t n, i, rows, best;
  TVMFFI_TRY(web_floats("the logits", logits, &x, &rows));
  n = logits->ndim ? logits->shape[logits->ndim - 1] : 1;
  for (rows = n ? rows / n : 0; rows; --rows, x += n) {
    double greatest = web_greatest(x, n, &best), sum = 0;
    for (i = 0; i < n; ++i) {
      x[i] = (float)(temperature < 1e-6
                         ? (double)(i == best)
                         : web_exp((x[i] - greatest) / temperature));
      sum += x[i];
    }
    for (i = 0; i < n; ++i) x[i] = (float)(x[i] / sum);
  }
  TVMFFI_RETURN();
}

/* ---- For tests ---- */

TVMFFI_FUNC(add_one, int64, (int64, x)) {
  TVMFFI_RETURN((int64_t)((uint64_t)x + 1));
}

/* Calls the first argument with the remaining arguments. */
static int tvmffi_call_call(void *self, const TVMFFIAny *args, int32_t num_args,
                            TVMFFIAny *result) {
  (void)self;
  if (!num_args || args[0].type_index != kTVMFFIFunction || !args[0].v_obj)
    return TVMFFI_RAISE("TypeError", "the first argument is no function");
  return TVMFFIFunctionCall(args[0].v_obj, (TVMFFIAny *)(uintptr_t)(args + 1),
                            num_args - 1, result);
}
static tvmffi_func tvmffi_func_call = {
    "call", tvmffi_call_call, NULL, -1 TVMFFI_I_SIGNATURE(NULL, 0, NULL, NULL)};

static int web_call_wrapped(void *self, const TVMFFIAny *args, int32_t num_args,
                            TVMFFIAny *result) {
  return TVMFFIFunctionCall(self, (TVMFFIAny *)(uintptr_t)args, num_args,
                            result);
}

/* Returns a function that calls `callback` and keeps it alive. */
TVMFFI_FUNC(wrap_callback, func, (func, callback)) {
  TVMFFIObjectHandle wrapped;
  TVMFFI_TRY(TVMFFIFunctionCreate(callback, web_call_wrapped, tvmffi_release,
                                  &wrapped));
  tvmffi_retain(callback); /* the new function's */
  TVMFFI_RETURN(tvmffi_scope_attach(wrapped));
}

TVMFFI_FUNC(log_info, none, (str, text)) {
  web_log(text);
  TVMFFI_RETURN();
}

TVMFFI_FUNC(echo, any, (any, value)) { TVMFFI_RETURN(value); }

TVMFFI_FUNC(use_count, int64, (object, object)) {
  TVMFFI_RETURN((int64_t)(uint32_t)object->combined_ref_count);
}

TVMFFI_FUNC(bytes_used, int64) { TVMFFI_RETURN((int64_t)web_bytes_used()); }

/* ---- The start ---- */

#define WEB_BUILTIN "vm.builtin."
static const struct {
  const char *name;
  tvmffi_func *function;
} web_functions[] = {
    {"runtime.TVMTensorAllocWithScope", &tvmffi_func_tensor_alloc},
    {"runtime.TVMTensorCopyFromTo", &tvmffi_func_tensor_copy},
    {"runtime.TVMTensorCreateView", &tvmffi_func_tensor_view},
    {"tvmjs.runtime.TensorCopyFromBytes", &tvmffi_func_tensor_from_bytes},
    {"tvmjs.runtime.TensorCopyToBytes", &tvmffi_func_tensor_to_bytes},
    {"tvmjs.runtime.ArrayConcat", &tvmffi_func_array_concat},
    {"tvmjs.runtime.ConcatEmbeddings", &tvmffi_func_concat_embeddings},
    {"tvmjs.array.decode_storage", &tvmffi_func_decode_storage},
    {"tvmjs.array.decode_bf16_to_f32_inplace", &tvmffi_func_decode_in_place},
    {WEB_BUILTIN "tensor_cache.get", &tvmffi_func_cache_get},
    {WEB_BUILTIN "tensor_cache.update", &tvmffi_func_cache_update},
    {WEB_BUILTIN "tensor_cache.remove", &tvmffi_func_cache_remove},
    {WEB_BUILTIN "tensor_cache.clear", &tvmffi_func_cache_clear},
    {WEB_BUILTIN "param_module_from_cache", &tvmffi_func_params_by_prefix},
    {WEB_BUILTIN "param_module_from_cache_by_name",
     &tvmffi_func_params_by_name},
    {WEB_BUILTIN "sample_top_p_from_logits", &tvmffi_func_sample_from_logits},
    {WEB_BUILTIN "sample_top_p_from_prob", &tvmffi_func_sample_from_prob},
    {WEB_BUILTIN "apply_repetition_penalty", &tvmffi_func_repetition_penalty},
    {WEB_BUILTIN "apply_presence_and_frequency_penalty",
     &tvmffi_func_presence_and_frequency_penalty},
    {WEB_BUILTIN "apply_softmax_with_temperature", &tvmffi_func_softmax},
    {"tvmjs.testing.add_one", &tvmffi_func_add_one},
    {"tvmjs.testing.call", &tvmffi_func_call},
    {"tvmjs.testing.wrap_callback", &tvmffi_func_wrap_callback},
    {"tvmjs.testing.log_info_str", &tvmffi_func_log_info},
    {"testing.echo", &tvmffi_func_echo},
    {"testing.object_use_count", &tvmffi_func_use_count},
    {"tvmffi.web.bytes_used", &tvmffi_func_bytes_used},
};

static int web_start(void) {
  size_t i;
  TVMFFI_TRY(TVMFFIEnvSetDLPackManagedTensorAllocator(web_new_tensor, 1, NULL));
  for (i = 0; i < sizeof(web_functions) / sizeof(web_functions[0]); ++i)
    TVMFFI_TRY(
        tvmffi_i_register(web_functions[i].name, web_functions[i].function,
                          web_functions[i].function->name, TVMFFI_I_LITERAL));
  return 0;
}

void __wasm_call_ctors(void); /* defined by the linker: runs constructors */

/* The host calls this once, before any other function. */
WEB_EXPORT(_initialize)
void web_initialize(void) {
  static int started;
  if (started) return;
  started = 1;
  __wasm_call_ctors();
  if (web_start()) web_log(tvmffi_byte_array(web_last_error()));
}

#pragma clang attribute pop
