/* What the fuzzers of RPC sessions share: memory that is counted, a clock, a
   function that reads all of its arguments, and a device whose work ends
   later. */
#ifndef FUZZ_RPC_SERVER_H_
#define FUZZ_RPC_SERVER_H_

#include "fuzz.h"

/* The session's blocks are counted: none may be left. */
static int fuzz_blocks;

static void *rpc_malloc(size_t size) {
  void *block = fuzz_malloc(size);
  if (block) ++fuzz_blocks;
  return block;
}

static void rpc_free(void *block) {
  --fuzz_blocks;
  fuzz_free(block);
}
#define TVMFFI_RPC_MALLOC(size) rpc_malloc(size)
#define TVMFFI_RPC_FREE(pointer) rpc_free(pointer)
/* Nothing is timed for long. */
static uint64_t fuzz_clock(void) {
  static uint64_t ns;
  return ns += (uint64_t)1 << 50;
}
#define TVMFFI_RPC_CLOCK_NS() fuzz_clock()
#define TVMFFI_RPC_IMPLEMENTATION
#include "rpc/tvmffi_rpc.h"

static int touch_tensor(const DLTensor *t) {
  volatile char *data = TVMFFI_DATA(t, volatile char);
  size_t i, size = tvmffi_tensor_bytes(t);
  if (t->device.device_type != kDLCPU) return 0;
  for (i = 0; i < size; ++i) data[i] = (char)(data[i] + 1);
  return 0;
}

/* Returns the last argument, after reading all of every one. */
static int touch(void *self, const TVMFFIAny *args, int32_t n,
                 TVMFFIAny *result) {
  unsigned sum = 0;
  int32_t i;
  (void)self;
  for (i = 0; i < n; ++i) {
    TVMFFIByteArray text = tvmffi_any_str(&args[i]);
    size_t k;
    for (k = 0; k < text.size; ++k) sum += (unsigned char)text.data[k];
    if (args[i].type_index == kTVMFFIByteArrayPtr) {
      const TVMFFIByteArray *b = (const TVMFFIByteArray *)args[i].v_ptr;
      for (k = 0; k < b->size; ++k) sum += (unsigned char)b->data[k];
    }
    if (args[i].type_index == kTVMFFIDLTensorPtr)
      touch_tensor((const DLTensor *)args[i].v_ptr);
  }
  if (!n) return TVMFFI_RAISE("ValueError", "the sum is %u", sum);
  if (args[n - 1].type_index == kTVMFFIDLTensorPtr) return 0;
  return TVMFFIAnyViewToOwnedAny(&args[n - 1], result);
}

/* -- a device whose work ends later ---------------------------------------- */

static int device_alloc(void *user, DLDevice device, size_t size,
                        size_t alignment, const char *scope, void **data) {
  (void)user, (void)device, (void)alignment, (void)scope;
  *data = rpc_malloc(size + 1);
  if (!*data) return TVMFFI_RAISE("MemoryError", "no memory");
  memset(*data, 0, size + 1);
  return 0;
}

static int device_release(void *user, DLDevice device, void *data) {
  (void)user, (void)device;
  rpc_free(data);
  return 0;
}

static int device_copy(void *user, DLDevice from_device, const void *from,
                       size_t from_offset, DLDevice to_device, void *to,
                       size_t to_offset, size_t size, void *stream) {
  (void)user, (void)from_device, (void)to_device, (void)stream;
  if (size)
    memmove((char *)to + to_offset, (const char *)from + from_offset, size);
  return size % 2 ? TVMFFI_RPC_LATER : 0;
}

static int device_sync(void *user, DLDevice device, void *stream) {
  (void)user, (void)device, (void)stream;
  return TVMFFI_RPC_LATER;
}

#endif /* FUZZ_RPC_SERVER_H_ */
