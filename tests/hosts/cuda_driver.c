/* A stand-in for libcuda.so.1: it checks every argument of the functions that
   tvmffi_cuda.h calls, records the calls, and fails where the test asks for it.
   It has two devices, whose memory is the process's. It finds a kernel by its
   name in PTX text, and runs the kernel `add`.

   A wrong argument ends the process with a message, because a real driver may
   do anything. At the end of the process it prints what was not given back. */

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEVICES = 2, HANDLES = 64, FIRST_DEVICE = 40 };

/* CUdevice is FIRST_DEVICE + id, so that a test sees an id in its place. */
typedef struct {
  int device;  /* index */
  int retains; /* of a primary context */
} context;
typedef struct {
  const char *image;
  int is_loaded;
} library;
typedef struct {
  library *library;
  char name[64];
  int dynamic_shared[DEVICES], carveout;
} kernel;
typedef struct {
  int id, unused;
  union {
    unsigned dim[3];
    int flag;
    char size[64];
  } value;
} attribute;
typedef struct {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared;
  void *stream;
  attribute *attributes;
  unsigned num_attributes;
} config;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static context primary[DEVICES] = {{0, 0}, {1, 0}};
static context own[DEVICES] = {{0, 0}, {1, 0}}; /* made by the test */
static library libraries[HANDLES];
static kernel kernels[HANDLES];
static int num_libraries, num_kernels, is_ready, is_over;
static char record[1 << 17];
static int num_calls, fail_at, fail_code;
static __thread context *current;

#define CHECK(condition)                                               \
  do {                                                                 \
    if (!(condition)) {                                                \
      fprintf(stderr, "stand-in: %s: not %s\n", __func__, #condition); \
      abort();                                                         \
    }                                                                  \
  } while (0)

/* Records a call. Returns the code with which it has to fail, or 0. */
static int called(const char *name) {
  int code;
  CHECK(!is_over);
  pthread_mutex_lock(&lock);
  strncat(record, name, sizeof(record) - strlen(record) - 2);
  strcat(record, " ");
  code = ++num_calls == fail_at ? fail_code : 0;
  pthread_mutex_unlock(&lock);
  return code;
}
#define CALLED(name)         \
  do {                       \
    int code = called(name); \
    if (code) return code;   \
    if (!is_ready) return 3; \
  } while (0)

/* Sleeps a millisecond, so that other threads come to the same call. */
static void take_long(void) { (void)usleep(1000); }

/* ---- for the test ---- */

void stand_in_fail(int call, int code) {
  num_calls = 0;
  fail_at = call;
  fail_code = code;
}
const char *stand_in_record(void) { return record; }
void stand_in_forget(void) { record[0] = 0; }
void *stand_in_current(void) { return current; }
void stand_in_set_current(void *c) { current = (context *)c; }
void *stand_in_own(int device) { return &own[device]; }
void *stand_in_primary(int device) { return &primary[device]; }
int stand_in_retains(int device) { return primary[device].retains; }
int stand_in_loads(void) {
  int i, n = 0;
  for (i = 0; i < num_libraries; ++i) n += libraries[i].is_loaded;
  return n;
}

__attribute__((destructor)) static void at_end(void) {
  printf("# end: %d libraries, %d and %d contexts\n", stand_in_loads(),
         primary[0].retains, primary[1].retains);
  fflush(stdout);
  is_over = 1;
}

/* ---- the driver ---- */

int cuDriverGetVersion(int *version) {
  *version = 11040;
  return 0;
}

int cuInit(unsigned flags) {
  int code = called("init");
  CHECK(flags == 0);
  if (code) return code;
  if (getenv("STAND_IN_NO_DEVICE")) return 100;
  is_ready = 1;
  return 0;
}

static const struct {
  int code;
  const char *name, *text;
} errors[] = {
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

int cuGetErrorName(int code, const char **name) {
  size_t i;
  for (i = 0; i < sizeof(errors) / sizeof(*errors); ++i)
    if (errors[i].code == code) return *name = errors[i].name, 0;
  *name = NULL;
  return 1;
}

int cuGetErrorString(int code, const char **text) {
  size_t i;
  for (i = 0; i < sizeof(errors) / sizeof(*errors); ++i)
    if (errors[i].code == code) return *text = errors[i].text, 0;
  *text = NULL;
  return 1;
}

int cuDeviceGetCount(int *count) {
  CALLED("count");
  *count = DEVICES;
  return 0;
}

int cuDeviceGet(int *device, int id) {
  CALLED("device");
  take_long();
  if (id < 0 || id >= DEVICES) return 101;
  *device = FIRST_DEVICE + id;
  return 0;
}

static int index_of(int device) {
  CHECK(device >= FIRST_DEVICE && device < FIRST_DEVICE + DEVICES);
  return device - FIRST_DEVICE;
}

int cuDeviceGetAttribute(int *out, int attribute, int device) {
  CALLED("device_attribute");
  (void)index_of(device);
  if (attribute != 97 && attribute != 16) return 1;
  *out = attribute == 97 ? 100000 : 108;
  return 0;
}

int cuDevicePrimaryCtxRetain(void **out, int device) {
  CALLED("retain");
  *out = &primary[index_of(device)];
  ++primary[index_of(device)].retains;
  return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  CALLED("release");
  CHECK(primary[index_of(device)].retains > 0);
  --primary[index_of(device)].retains;
  return 0;
}

static void check_context(const context *c) {
  CHECK(c == &own[0] || c == &own[1] ||
        ((c == &primary[0] || c == &primary[1]) && c->retains > 0));
}

int cuCtxGetDevice(int *device) {
  CALLED("current_device");
  if (!current) return 201;
  *device = FIRST_DEVICE + current->device;
  return 0;
}

int cuCtxGetCurrent(void **out) {
  CALLED("current");
  *out = current;
  return 0;
}

int cuCtxSetCurrent(void *c) {
  CALLED("set_current");
  if (c) check_context((context *)c);
  current = (context *)c;
  return 0;
}

int cuLibraryLoadData(void **out, const void *image, int *jit, void **values,
                      unsigned num_jit, int *options, void **option_values,
                      unsigned num_options) {
  CALLED("load");
  take_long();
  CHECK(out && image && !jit && !values && !num_jit);
  CHECK(!options && !option_values && !num_options);
  if (strncmp((const char *)image, ".version", 8)) return 200;
  pthread_mutex_lock(&lock);
  CHECK(num_libraries < HANDLES);
  libraries[num_libraries].image = (const char *)image;
  libraries[num_libraries].is_loaded = 1;
  *out = &libraries[num_libraries++];
  pthread_mutex_unlock(&lock);
  return 0;
}

int cuLibraryUnload(void *handle) {
  library *l = (library *)handle;
  CALLED("unload");
  CHECK(l >= libraries && l < libraries + num_libraries && l->is_loaded);
  l->is_loaded = 0;
  return 0;
}

int cuLibraryGetKernel(void **out, void *handle, const char *name) {
  library *l = (library *)handle;
  char entry[80];
  CALLED("kernel");
  take_long();
  CHECK(l >= libraries && l < libraries + num_libraries && l->is_loaded);
  snprintf(entry, sizeof(entry), ".entry %s(", name);
  if (!strstr(l->image, entry)) return 500;
  pthread_mutex_lock(&lock);
  CHECK(num_kernels < HANDLES);
  kernels[num_kernels].library = l;
  strncpy(kernels[num_kernels].name, name, 63);
  *out = &kernels[num_kernels++];
  pthread_mutex_unlock(&lock);
  return 0;
}

static kernel *check_kernel(void *handle);

/* Reads the parameters in the PTX text. */
int cuKernelGetParamInfo(void *handle, size_t index, size_t *offset,
                         size_t *size) {
  char entry[80];
  const char *at, *end;
  kernel *k;
  CALLED("param_info");
  CHECK(offset && size);
  k = check_kernel(handle);
  snprintf(entry, sizeof(entry), ".entry %s(", k->name);
  at = strstr(k->library->image, entry);
  end = strchr(at, ')');
  for (*offset = 0;; *offset += *size) {
    at = strstr(at + 1, ".param .");
    if (!at || at > end) return 1;
    *size = (size_t)atoi(at + sizeof(".param .")) / 8;
    if (!index--) return 0;
  }
}

static kernel *check_kernel(void *handle) {
  kernel *k = (kernel *)handle;
  CHECK(k >= kernels && k < kernels + num_kernels && k->library->is_loaded);
  return k;
}

int cuKernelGetAttribute(int *out, int attribute, void *handle, int device) {
  kernel *k;
  CALLED("kernel_attribute");
  take_long();
  k = check_kernel(handle);
  *out = attribute == 1   ? 1000
         : attribute == 8 ? k->dynamic_shared[index_of(device)]
         : attribute == 9 ? k->carveout
                          : -1;
  return *out < 0;
}

int cuKernelSetAttribute(int attribute, int value, void *handle, int device) {
  kernel *k;
  CALLED("set_kernel_attribute");
  k = check_kernel(handle);
  if (attribute != 8 && attribute != 9) return 1;
  if (attribute == 8) {
    CHECK(value > k->dynamic_shared[index_of(device)] && value <= 99000);
    k->dynamic_shared[index_of(device)] = value;
  } else {
    k->carveout = value;
  }
  return 0;
}

static void add(void **args, unsigned blocks, unsigned threads) {
  const float *x = *(const float **)args[0], *y = *(const float **)args[1];
  float *z = *(float **)args[2];
  int64_t n = *(int64_t *)args[3], i;
  for (i = 0; i < n && i < (int64_t)blocks * threads; ++i) z[i] = x[i] + y[i];
}

int cuLaunchKernelEx(const config *c, void *handle, void **args, void **extra) {
  char text[128];
  kernel *k;
  unsigned i;
  CALLED("launch");
  k = check_kernel(handle);
  CHECK(current && !extra);
  check_context(current);
  /* A stream of this stand-in is the address of its device's context. */
  CHECK(!c->stream || ((context *)c->stream)->device == current->device);
  CHECK(c->grid_x && c->grid_y && c->grid_z && c->block_x && c->block_y);
  CHECK(c->block_z && !c->num_attributes == !c->attributes);
  if (c->block_x * c->block_y * c->block_z > 1024) return 1;
  CHECK((int)c->shared <= k->dynamic_shared[current->device]);
  for (i = 0; i < c->num_attributes; ++i) {
    const attribute *a = &c->attributes[i];
    if (a->id == 4)
      snprintf(text, sizeof(text), "cluster=%ux%ux%u", a->value.dim[0],
               a->value.dim[1], a->value.dim[2]);
    else if (a->id == 6 || a->id == 2)
      snprintf(text, sizeof(text), "%s=%d",
               a->id == 6 ? "dependent" : "cooperative", a->value.flag);
    else
      CHECK(!"a known attribute");
    pthread_mutex_lock(&lock);
    strcat(strcat(record, text), " ");
    pthread_mutex_unlock(&lock);
  }
  if (c->stream) {
    snprintf(text, sizeof(text), "stream=%d ", current->device);
    pthread_mutex_lock(&lock);
    strcat(record, text);
    pthread_mutex_unlock(&lock);
  }
  if (!strcmp(k->name, "add")) add(args, c->grid_x, c->block_x);
  return 0;
}
