/* What the host code of a program that Apache TVM compiled calls, besides the
   C ABI: its c_backend_api.h. The linker drops what no program calls. */
#include "device.h"
#include "memory.h"

static DLDevice device_of(int type, int id) {
  DLDevice device;
  device.device_type = (DLDeviceType)type;
  device.device_id = id;
  return device;
}

/* Allocates memory that is used during one call of a function. Returns NULL
   after an error. */
void *TVMBackendAllocWorkspace(int type, int id, uint64_t size, int code,
                               int bits) {
  const web_device *device;
  void *data = NULL;
  (void)code;
  (void)bits;
  if (web_device_of(device_of(type, id), &device)) return NULL;
#if WEB_GPU
  if (device) return device->take_workspace((size_t)size, &data) ? NULL : data;
#endif
  if (size <= WEB_LARGEST) data = web_alloc((size_t)size);
  if (!data) (void)TVMFFI_RAISE("MemoryError", "no memory for a workspace");
  return data;
}

int TVMBackendFreeWorkspace(int type, int id, void *data) {
  const web_device *device;
  TVMFFI_TRY(web_device_of(device_of(type, id), &device));
#if WEB_GPU
  if (device) {
    device->give_workspace(data);
    return 0;
  }
#endif
  web_free(data);
  return 0;
}

typedef struct {
  void *barrier;
  int32_t num_tasks;
} web_parallel;

/* Runs a parallel loop as one task: the module has one thread. */
int TVMBackendParallelLaunch(int (*run)(int task, web_parallel *all,
                                        void *data),
                             void *data, int num_tasks) {
  web_parallel all = {NULL, 1};
  (void)num_tasks;
  return run(0, &all, data);
}

/* Waits for the other tasks of a parallel loop: there are none. */
int TVMBackendParallelBarrier(int task, web_parallel *all) {
  (void)task;
  (void)all;
  return 0;
}
