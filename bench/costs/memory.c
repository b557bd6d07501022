/* memory.c: the bytes that one runtime takes for each of many like things.
 *
 *     memory LIBRARY
 *
 * prints a line `WHAT<tab>BYTES<tab>LEAST` for each kind: what glibc's
 * allocator has handed out for 100,000 of them, its own words included, divided
 * by that; and the least that could be, which is what the allocator takes for
 * the content alone (of what stands in tables, the content itself). Globals are
 * a million, all of one function.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bench.h"

static bench_lib lib_bound = {.label = "library"};
static const bench_lib *const lib = &lib_bound;

__attribute__((noreturn)) static void die(const char *what) {
  fprintf(stderr, "memory: %s\n", what);
  exit(2);
}

void bench_fail(const bench_lib *unused, const char *what) {
  (void)unused;
  die(what);
}

static void bind(const char *name, void *member) {
  void *symbol = dlsym(lib->handle, name);
  if (!symbol) die(dlerror());
  memcpy(member, &symbol, sizeof symbol);
}

static void load(const char *path) {
  lib_bound.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!lib->handle) die(dlerror());
#define BENCH_BIND(name) bind("TVMFFI" #name, &lib_bound.name);
  TVMFFI_FUNCTIONS(BENCH_BIND)
#undef BENCH_BIND
}

static size_t in_use(void) {
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

/* What the allocator takes for a block of `size` bytes: one word stands before
 * each. */
static double block(size_t size) {
  void *made = malloc(size);
  size_t taken = malloc_usable_size(made) + sizeof(size_t);
  if (!made) die("out of memory");
  free(made);
  return (double)taken;
}

/* Things: each is made and stays. */

static int nothing(void *self, const TVMFFIAny *args, int32_t num_args,
                   TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args;
  *result = bench_none();
  return 0;
}

static void keep_handle(void *handle) { (void)handle; }

static void keep_tensor(DLManagedTensorVersioned *self) { (void)self; }

static TVMFFIObjectHandle new_function(void *self, void (*deleter)(void *)) {
  TVMFFIObjectHandle function;
  BENCH_DO(FunctionCreate, self, nothing, deleter, &function);
  return function;
}

static void one_object(long i) {
  static int handle;
  TVMFFIObjectHandle object;
  (void)i;
  BENCH_DO(ObjectCreateOpaque, &handle, kTVMFFIOpaquePyObject, keep_handle,
           &object);
}

static void one_function(long i) {
  (void)i;
  new_function(NULL, NULL);
}

static void one_closure(long i) {
  static int self;
  (void)i;
  new_function(&self, keep_handle);
}

static const char thirty[] = "a text of just thirty letters.";

static void one_string(long i) {
  const TVMFFIByteArray text = bench_bytes(thirty, 30);
  TVMFFIAny any;
  (void)i;
  BENCH_DO(StringFromByteArray, &text, &any);
}

static void one_error(long i) {
  const TVMFFIByteArray kind = bench_bytes("ValueError", 10);
  const TVMFFIByteArray message = bench_bytes(thirty, 30);
  const TVMFFIByteArray trace = bench_bytes("", 0);
  TVMFFIObjectHandle error;
  (void)i;
  BENCH_DO(ErrorCreate, &kind, &message, &trace, &error);
}

static void one_tensor(long i) {
  static int64_t shape[2] = {2, 3}, strides[2] = {3, 1};
  static float data[6];
  static DLManagedTensorVersioned source;
  TVMFFIObjectHandle tensor;
  (void)i;
  source.version.major = DLPACK_MAJOR_VERSION;
  source.version.minor = DLPACK_MINOR_VERSION;
  source.deleter = keep_tensor;
  source.dl_tensor.data = data;
  source.dl_tensor.device.device_type = kDLCPU;
  source.dl_tensor.ndim = 2;
  source.dl_tensor.dtype.code = kDLFloat;
  source.dl_tensor.dtype.bits = 32;
  source.dl_tensor.dtype.lanes = 1;
  source.dl_tensor.shape = shape;
  source.dl_tensor.strides = strides;
  BENCH_DO(TensorFromDLPackVersioned, &source, 0, 0, &tensor);
}

/* Names of 24 bytes: "module_000.function_00000". */
enum { NAME = 25 };

static TVMFFIByteArray name_of(const char *prefix, long i,
                               char text[NAME + 1]) {
  int size = snprintf(text, NAME + 1, "%s_%03ld.function_%05ld", prefix,
                      i / 100000 % 1000, i % 100000);
  return bench_bytes(text, (size_t)size);
}

static void one_global(long i) {
  static TVMFFIObjectHandle function;
  char text[NAME + 1];
  TVMFFIByteArray name = name_of("module", i, text);
  if (!function) function = new_function(NULL, NULL);
  BENCH_DO(FunctionSetGlobal, &name, function, 0);
}

static void one_type(long i) {
  char text[NAME + 1];
  TVMFFIByteArray key = name_of("types_", i, text);
  bench_need(lib,
             lib->TypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject) < 0,
             "TVMFFITypeGetOrAllocIndex");
}

/* Containers */

enum { MANY = 100000, MILLION = 1000000 };

static TVMFFIAny call(const char *name, TVMFFIAny *args, int32_t num_args) {
  TVMFFIByteArray text = bench_bytes(name, strlen(name));
  TVMFFIObjectHandle function;
  TVMFFIAny result = bench_none();
  BENCH_DO(FunctionGetGlobal, &text, &function);
  BENCH_DO(FunctionCall, function, args, num_args, &result);
  lib->ObjectDecRef(function);
  return result;
}

static void entry_of(TVMFFIAny *dict, TVMFFIAny key) {
  TVMFFIAny args[3];
  args[0] = *dict;
  args[1] = key;
  args[2] = bench_int(1);
  call("ffi.DictSetItem", args, 3);
}

static void one_int_entry(long i) {
  static TVMFFIAny dict;
  if (!i) dict = call("ffi.Dict", NULL, 0);
  entry_of(&dict, bench_int(i * 2654435761));
}

static void one_text_entry(long i) {
  static TVMFFIAny dict;
  char text[NAME + 1];
  TVMFFIByteArray name = name_of("module", i, text);
  TVMFFIAny key;
  if (!i) dict = call("ffi.Dict", NULL, 0);
  BENCH_DO(StringFromByteArray, &name, &key);
  entry_of(&dict, key);
  bench_any_release(lib, &key);
}

static void one_item(long i) {
  static TVMFFIAny list;
  TVMFFIAny args[2];
  if (!i) list = call("ffi.List", NULL, 0);
  args[0] = list;
  args[1] = bench_int(i);
  call("ffi.ListAppend", args, 2);
}

static void one_array(long i) {
  TVMFFIAny items[8];
  for (int k = 0; k < 8; ++k) items[k] = bench_int(i + k);
  call("ffi.Array", items, 8);
}

/* The last of the globals is made before: the function that all share, and what
 * a runtime makes once, do not count. */
static void measure(const char *what, void (*make)(long), long count,
                    double least) {
  size_t before;
  if (make == one_global) make(MILLION);
  before = in_use();
  for (long i = 0; i < count; ++i) make(i);
  printf("%s\t%.1f\t%.1f\n", what, (double)(in_use() - before) / (double)count,
         least);
}

int main(int argc, char **argv) {
  const size_t head = sizeof(TVMFFIObject), any = sizeof(TVMFFIAny);
  if (argc != 2) die("usage: memory LIBRARY");
  load(argv[1]);
  measure("object", one_object, MANY, block(head + sizeof(void *)));
  measure("function", one_function, MANY,
          block(head + sizeof(TVMFFIFunctionCell)));
  measure("function with a state", one_closure, MANY,
          block(head + sizeof(TVMFFIFunctionCell) + 3 * sizeof(void *)));
  measure("string of thirty bytes", one_string, MANY,
          block(head + sizeof(TVMFFIByteArray) + 31));
  measure("error", one_error, MANY,
          block(head + sizeof(TVMFFIErrorCell) + 11 + 31 + 1));
  measure("tensor", one_tensor, MANY,
          block(head + sizeof(DLTensor) + sizeof(void *)));
  measure("array of eight", one_array, MANY,
          block(head + sizeof(TVMFFISeqCell) + 8 * any));
  measure("list item", one_item, MANY, (double)any);
  measure("dict entry, integer key", one_int_entry, MANY, 2.0 * (double)any);
  measure("dict entry, text key", one_text_entry, MANY,
          2.0 * (double)any + block(head + sizeof(TVMFFIByteArray) + NAME + 1));
  measure("registered type", one_type, MANY,
          (double)(sizeof(TVMFFITypeInfo) + NAME + 1));
  measure("global of a million", one_global, MILLION,
          (double)(sizeof(void *) + NAME));
  return 0;
}
