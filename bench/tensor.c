/* tensor.c: tensors from and to DLPack, views, allocation and streams.
 *
 * The DLPack tensors given in are static and own nothing, so a row holds the
 * runtime's cost alone. The limit is one allocation.
 */
#include <string.h>

#include "bench.h"

static float data[6];
static int64_t shape[2] = {2, 3};
static int64_t strides[2] = {3, 1};

static void keep_legacy(DLManagedTensor *self) { (void)self; }
static void keep_versioned(DLManagedTensorVersioned *self) { (void)self; }

static DLManagedTensor legacy;
static DLManagedTensorVersioned versioned;

static void describe(DLTensor *tensor, long with_strides) {
  memset(tensor, 0, sizeof *tensor);
  tensor->data = data;
  tensor->device.device_type = kDLCPU;
  tensor->ndim = 2;
  tensor->dtype.code = kDLFloat;
  tensor->dtype.bits = 32;
  tensor->dtype.lanes = 1;
  tensor->shape = shape;
  tensor->strides = with_strides ? strides : NULL;
}

static void describe_all(long with_strides) {
  describe(&legacy.dl_tensor, with_strides);
  legacy.deleter = keep_legacy;
  describe(&versioned.dl_tensor, with_strides);
  versioned.version.major = DLPACK_MAJOR_VERSION;
  versioned.version.minor = DLPACK_MINOR_VERSION;
  versioned.deleter = keep_versioned;
}

static void *source_setup(const bench_lib *lib, long with_strides) {
  (void)lib;
  describe_all(with_strides);
  return NULL;
}

static void *tensor_setup(const bench_lib *lib, long with_strides) {
  TVMFFIObjectHandle tensor = NULL;
  describe_all(with_strides);
  BENCH_DO(TensorFromDLPackVersioned, &versioned, 0, 0, &tensor);
  return tensor;
}

static void tensor_teardown(const bench_lib *lib, void *state) {
  lib->ObjectDecRef(state);
}

BENCH_LOOP(from_dlpack) {
  TVMFFIObjectHandle tensor;
  (void)state;
  for (long i = 0; i < n; ++i) {
    BENCH_DO(TensorFromDLPack, &legacy, 0, 0, &tensor);
    lib->ObjectDecRef(tensor);
  }
}

BENCH_LOOP(from_versioned) {
  TVMFFIObjectHandle tensor;
  (void)state;
  for (long i = 0; i < n; ++i) {
    BENCH_DO(TensorFromDLPackVersioned, &versioned, 0, 0, &tensor);
    lib->ObjectDecRef(tensor);
  }
}

BENCH_LOOP(from_checked) {
  TVMFFIObjectHandle tensor;
  (void)state;
  for (long i = 0; i < n; ++i) {
    BENCH_DO(TensorFromDLPackVersioned, &versioned, 4, 1, &tensor);
    lib->ObjectDecRef(tensor);
  }
}

BENCH_LOOP(to_dlpack) {
  DLManagedTensor *out;
  for (long i = 0; i < n; ++i) {
    BENCH_DO(TensorToDLPack, state, &out);
    out->deleter(out);
  }
}

BENCH_LOOP(to_versioned) {
  DLManagedTensorVersioned *out;
  for (long i = 0; i < n; ++i) {
    BENCH_DO(TensorToDLPackVersioned, state, &out);
    out->deleter(out);
  }
}

BENCH_LOOP(create_view) {
  TVMFFIObjectHandle view;
  for (long i = 0; i < n; ++i) {
    BENCH_DO(TensorCreateUnsafeView, state, &versioned.dl_tensor, &view);
    lib->ObjectDecRef(view);
  }
}

/* The environment's allocator */

static int allocate(DLTensor *prototype, DLManagedTensorVersioned **out,
                    void *error_ctx,
                    void (*set_error)(void *error_ctx, const char *kind,
                                      const char *message)) {
  (void)prototype;
  (void)error_ctx;
  (void)set_error;
  *out = &versioned;
  return 0;
}

static void *allocator_setup(const bench_lib *lib, long with_strides) {
  describe_all(with_strides);
  BENCH_DO(EnvSetDLPackManagedTensorAllocator, allocate, 0, NULL);
  return NULL;
}

static void allocator_teardown(const bench_lib *lib, void *state) {
  (void)state;
  lib->EnvSetDLPackManagedTensorAllocator(NULL, 0, NULL);
}

BENCH_LOOP(env_alloc) {
  TVMFFIObjectHandle tensor;
  (void)state;
  for (long i = 0; i < n; ++i) {
    BENCH_DO(EnvTensorAlloc, &versioned.dl_tensor, &tensor);
    lib->ObjectDecRef(tensor);
  }
}

BENCH_LOOP(get_allocator) {
  (void)state;
  for (long i = 0; i < n; ++i) {
    DLPackManagedTensorAllocator found =
        lib->EnvGetDLPackManagedTensorAllocator();
    bench_need(lib, found != allocate, "allocator");
  }
}

BENCH_LOOP(set_allocator) {
  DLPackManagedTensorAllocator old;
  (void)state;
  for (long i = 0; i < n; ++i) {
    BENCH_DO(EnvSetDLPackManagedTensorAllocator, allocate, 0, &old);
  }
}

/* Streams and signals */

static void *stream_setup(const bench_lib *lib, long param) {
  (void)param;
  BENCH_DO(EnvSetStream, kDLCUDA, 1, data, NULL);
  return NULL;
}

static void stream_teardown(const bench_lib *lib, void *state) {
  (void)state;
  lib->EnvSetStream(kDLCUDA, 1, NULL, NULL);
}

BENCH_LOOP(get_stream) {
  (void)state;
  for (long i = 0; i < n; ++i) {
    bench_need(lib, lib->EnvGetStream(kDLCUDA, 1) != data, "stream");
  }
}

BENCH_LOOP(get_no_stream) {
  (void)state;
  for (long i = 0; i < n; ++i) {
    bench_need(lib, lib->EnvGetStream(kDLVulkan, 0) != NULL, "stream");
  }
}

BENCH_LOOP(set_stream) {
  TVMFFIStreamHandle old;
  (void)state;
  for (long i = 0; i < n; ++i) {
    BENCH_DO(EnvSetStream, kDLCUDA, 1, data, &old);
  }
}

BENCH_LOOP(check_signals) {
  (void)state;
  for (long i = 0; i < n; ++i) {
    BENCH_DO(EnvCheckSignals, );
  }
}

#define SOURCE_ROW(label, loop, with_strides) \
  {.name = label,                             \
   .run = BENCH_SIDES(loop),                               \
   .setup = source_setup,                     \
   .limit = bench_limit_malloc,               \
   .param = with_strides}

#define TENSOR_ROW(label, loop)    \
  {.name = label,                  \
   .run = BENCH_SIDES(loop),                    \
   .setup = tensor_setup,          \
   .teardown = tensor_teardown,    \
   .limit = bench_limit_malloc,    \
   .param = 1}

#define ALLOCATOR_ROW(label, loop, least) \
  {.name = label,                         \
   .run = BENCH_SIDES(loop),                           \
   .setup = allocator_setup,              \
   .teardown = allocator_teardown,        \
   .limit = least}

#define STREAM_ROW(label, loop)  \
  {.name = label,                \
   .run = BENCH_SIDES(loop),                  \
   .setup = stream_setup,        \
   .teardown = stream_teardown,  \
   .limit = bench_limit_store}

const bench_case bench_tensor[] = {
    SOURCE_ROW("from DLPack", from_dlpack, 1),
    SOURCE_ROW("from DLPack, no strides", from_dlpack, 0),
    SOURCE_ROW("from DLPack versioned", from_versioned, 1),
    SOURCE_ROW("from DLPack versioned, no strides", from_versioned, 0),
    SOURCE_ROW("from DLPack versioned, checked", from_checked, 1),
    TENSOR_ROW("to DLPack", to_dlpack),
    TENSOR_ROW("to DLPack versioned", to_versioned),
    TENSOR_ROW("view", create_view),
    ALLOCATOR_ROW("environment's allocation", env_alloc, bench_limit_malloc),
    ALLOCATOR_ROW("get allocator", get_allocator, bench_limit_store),
    ALLOCATOR_ROW("set allocator", set_allocator, bench_limit_store),
    STREAM_ROW("get stream", get_stream),
    STREAM_ROW("get stream, none set", get_no_stream),
    STREAM_ROW("set stream", set_stream),
    {.name = "check signals",
     .run = BENCH_SIDES(check_signals),
     .limit = bench_limit_store},
    {0}};
