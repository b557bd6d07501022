/* hosts/cuda/tvmffi_cuda.h on cuda_driver.c, the stand-in for the driver, as
   C99 and as C++11: cuda SCENARIO [ARGUMENT]. Each scenario is a process,
   because the driver is loaded once. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for pthread_barrier_t in C99 */
#endif
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"
#include "hosts/cuda/tvmffi_cuda.h"

#include <stdio.h>

TVMFFI_CUDA_EMBED(test_image, "cuda_kernels.ptx")
TVMFFI_CUDA_LIBRARY(test_library, test_image);
TVMFFI_CUDA_KERNEL(add_kernel, test_library, "add");
TVMFFI_CUDA_KERNEL(scale_kernel, test_library, "scale");
TVMFFI_CUDA_KERNEL(one_kernel, test_library, "one");
TVMFFI_CUDA_KERNEL(absent_kernel, test_library, "absent");
TVMFFI_CUDA_LIBRARY(bad_library, "no image");
TVMFFI_CUDA_KERNEL(bad_kernel, bad_library, "add");

#define EXPECT(condition)                                \
  do {                                                   \
    if (!(condition)) {                                  \
      printf("line %d: not %s\n", __LINE__, #condition); \
      tvmffi_error_print(stdout);                        \
      exit(1);                                           \
    }                                                    \
  } while (0)
#define EXPECT_RECORD(text)                                     \
  do {                                                          \
    if (strcmp(stand_in_record(), text)) {                      \
      printf("line %d: \"%s\"\n", __LINE__, stand_in_record()); \
      exit(1);                                                  \
    }                                                           \
    stand_in_forget();                                          \
  } while (0)
#define EXPECT_ERROR(call, kind, text) \
  expect_error(__LINE__, (call), kind, text)

static void (*stand_in_fail)(int call, int code);
static const char *(*stand_in_record)(void);
static void (*stand_in_forget)(void);
static void *(*stand_in_current)(void);
static void (*stand_in_set_current)(void *context);
static void *(*stand_in_own)(int device);
static void *(*stand_in_primary)(int device);
static int (*stand_in_retains)(int device);
static int (*stand_in_loads)(void);

/* Finds the functions by which a test controls the stand-in, which this loads
   if it is not loaded. */
static void find_stand_in(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  void *symbol;
  EXPECT(library);
#define FIND(name)                                  \
  EXPECT((symbol = dlsym(library, #name)) != NULL); \
  memcpy(&name, &symbol, sizeof(symbol));
  FIND(stand_in_fail)
  FIND(stand_in_record)
  FIND(stand_in_forget)
  FIND(stand_in_current)
  FIND(stand_in_set_current)
  FIND(stand_in_own)
  FIND(stand_in_primary)
  FIND(stand_in_retains)
  FIND(stand_in_loads)
}

static void expect_error(int line, int code, const char *kind,
                         const char *text) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorCell *cell;
  TVMFFIErrorMoveFromRaised(&error);
  if (!code || !error) {
    printf("line %d: no error\n", line);
    exit(1);
  }
  cell = TVMFFIErrorGetCellPtr(error);
  if (tvmffi_byte_array(kind).size != cell->kind.size ||
      memcmp(cell->kind.data, kind, cell->kind.size) ||
      !strstr(cell->message.data, text)) {
    printf("line %d: %s: %s\n", line, cell->kind.data, cell->message.data);
    exit(1);
  }
  (void)TVMFFIObjectDecRef(error);
}

static DLDevice cuda(int id) {
  DLDevice d;
  d.device_type = kDLCUDA;
  d.device_id = id;
  return d;
}

/* Adds 300 numbers on the device, and checks the sums. */
static int add_on(int id) {
  float x[300], y[300], z[300];
  const float *px = x, *py = y;
  float *pz = z;
  int64_t n = 300, i;
  tvmffi_cuda_config c = tvmffi_cuda_config_make(cuda(id), 2, 256);
  for (i = 0; i < n; ++i) x[i] = (float)i, y[i] = 0.5f, z[i] = 0;
  TVMFFI_TRY(TVMFFI_CUDA_LAUNCH(&add_kernel, &c, px, py, pz, n));
  for (i = 0; i < n; ++i) EXPECT(z[i] == (float)i + 0.5f);
  return 0;
}

/* Nothing is loaded before the first launch, and a later launch makes no more
   calls than it must. */
static void test_lazy(void) {
  EXPECT(!dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD));
  EXPECT(!add_on(0));
  EXPECT(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD));
  find_stand_in();
  EXPECT_RECORD(
      "init device retain current_device current set_current load kernel "
      "param_info param_info param_info param_info param_info launch "
      "set_current ");
  EXPECT(!stand_in_current());
  EXPECT(!add_on(0));
  EXPECT_RECORD("current_device current set_current launch set_current ");
  stand_in_set_current(stand_in_primary(0));
  EXPECT(!add_on(0));
  EXPECT_RECORD("current_device launch ");
}

/* Two devices share the loaded library. A context of the device that is current
   stays, and another is restored. */
static void test_devices(void) {
  tvmffi_cuda_guard outer, inner;
  find_stand_in();
  EXPECT(!add_on(0) && !add_on(1) && !add_on(0));
  EXPECT(stand_in_loads() == 1);
  EXPECT(stand_in_retains(0) == 1 && stand_in_retains(1) == 1);
  stand_in_set_current(stand_in_own(1));
  stand_in_forget();
  EXPECT(!add_on(1));
  EXPECT_RECORD("current_device launch ");
  EXPECT(!add_on(0) && stand_in_current() == stand_in_own(1));
  EXPECT(!tvmffi_cuda_guard_enter(0, &outer));
  EXPECT(stand_in_current() == stand_in_primary(0));
  EXPECT(!tvmffi_cuda_guard_enter(1, &inner));
  EXPECT(stand_in_current() == stand_in_primary(1));
  EXPECT(!tvmffi_cuda_guard_leave(&inner));
  EXPECT(stand_in_current() == stand_in_primary(0));
  EXPECT(!tvmffi_cuda_guard_leave(&outer));
  EXPECT(stand_in_current() == stand_in_own(1));
  EXPECT(!tvmffi_cuda_guard_leave(&outer)); /* no effect */
  EXPECT(stand_in_current() == stand_in_own(1));
}

/* The stream is the environment's, for the device. */
static void test_stream(void) {
  void *old = NULL;
  tvmffi_cuda_config c;
  find_stand_in();
  EXPECT(!TVMFFIEnvSetStream(kDLCUDA, 1, stand_in_primary(1), &old));
  c = tvmffi_cuda_config_make(cuda(1), 1, 1);
  EXPECT(c.stream == stand_in_primary(1));
  EXPECT(!add_on(1));
  EXPECT(strstr(stand_in_record(), " launch stream=1 set_current "));
  EXPECT(tvmffi_cuda_config_make(cuda(0), 1, 1).stream == NULL);
}

static int launch(tvmffi_cuda_kernel *kernel, tvmffi_cuda_config c) {
  return tvmffi_cuda_launch(kernel, &c, NULL);
}

static int launch_add(tvmffi_cuda_config c) {
  float *p = NULL;
  int64_t n = 0;
  return TVMFFI_CUDA_LAUNCH(&add_kernel, &c, p, p, p, n);
}

typedef struct {
  pthread_t thread;
  pthread_barrier_t *barrier;
  int number, failures;
} worker;

static void *add_often(void *data) {
  worker *w = TVMFFI_I_AS(worker *, data);
  tvmffi_cuda_config c = tvmffi_cuda_config_make(cuda(1), 1, 1);
  int i;
  (void)pthread_barrier_wait(w->barrier);
  for (i = 0; i < 50; ++i) w->failures += !!add_on(i & 1);
  (void)pthread_barrier_wait(w->barrier);
  c.shared_bytes = 1000 * (8 - w->number);
  w->failures += !!launch(&scale_kernel, c);
  return NULL;
}

static int count(const char *text, const char *word) {
  int n = 0;
  for (; (text = strstr(text, word)) != NULL; ++text) ++n;
  return n;
}

/* What the stand-in forbids to do twice or in the wrong order, no thread does:
   its functions are slow, and the threads begin at the same time. */
static void test_threads(void) {
  pthread_barrier_t barrier;
  worker workers[8];
  int i, value = 0;
  EXPECT(!pthread_barrier_init(&barrier, NULL, 8));
  for (i = 0; i < 8; ++i) {
    workers[i].barrier = &barrier;
    workers[i].number = i;
    workers[i].failures = 0;
    EXPECT(!pthread_create(&workers[i].thread, NULL, add_often, &workers[i]));
  }
  for (i = 0; i < 8; ++i) {
    EXPECT(!pthread_join(workers[i].thread, NULL));
    EXPECT(!workers[i].failures);
  }
  (void)pthread_barrier_destroy(&barrier);
  find_stand_in();
  EXPECT(count(stand_in_record(), " load ") == 1);
  EXPECT(count(stand_in_record(), " kernel ") == 2);
  EXPECT(count(stand_in_record(), " retain ") == 2);
  EXPECT(!tvmffi_cuda_kernel_attribute(&scale_kernel, 1, 8, &value));
  EXPECT(value == 8000);
}

static void test_attributes(void) {
  tvmffi_cuda_config c = tvmffi_cuda_config_make(cuda(0), 8, 32);
  int value = 0;
  find_stand_in();
  stand_in_set_current(stand_in_own(0));
  EXPECT(!launch(&scale_kernel, c));
  c.cluster[0] = 4;
  c.cluster[1] = c.cluster[2] = 1;
  c.is_dependent = c.is_cooperative = 1;
  stand_in_forget();
  EXPECT(!launch(&scale_kernel, c));
  EXPECT_RECORD(
      "current_device launch cluster=4x1x1 dependent=1 cooperative=1 ");
  c = tvmffi_cuda_config_make(cuda(0), 8, 32);
  c.is_dependent = 1;
  EXPECT(!launch(&scale_kernel, c));
  EXPECT_RECORD("current_device launch dependent=1 ");
  /* Shared memory grows for each kernel and device, and never shrinks. */
  c = tvmffi_cuda_config_make(cuda(0), 8, 32);
  c.shared_bytes = 60000;
  EXPECT(!launch(&scale_kernel, c));
  EXPECT_RECORD(
      "current_device device_attribute kernel_attribute set_kernel_attribute "
      "launch ");
  c.shared_bytes = 50000;
  EXPECT(!launch(&scale_kernel, c));
  EXPECT_RECORD("current_device launch ");
  c.shared_bytes = 99000;
  EXPECT(!launch(&scale_kernel, c));
  EXPECT(!tvmffi_cuda_kernel_attribute(&scale_kernel, 0, 8, &value));
  EXPECT(value == 99000);
  EXPECT(!tvmffi_cuda_kernel_attribute(&scale_kernel, 1, 8, &value));
  EXPECT(value == 0);
  EXPECT(!tvmffi_cuda_kernel_set_attribute(&scale_kernel, 0, 9, 50));
  EXPECT(!tvmffi_cuda_kernel_attribute(&scale_kernel, 0, 9, &value));
  EXPECT(value == 50);
  EXPECT(!tvmffi_cuda_device_attribute(1, 16, &value) && value == 108);
  EXPECT(!tvmffi_cuda_device_count(&value) && value == 2);
}

/* The driver knows the number and the sizes of a kernel's parameters. */
static void test_args(void) {
  tvmffi_cuda_config c = tvmffi_cuda_config_make(cuda(0), 1, 1);
  float *p = NULL;
  void *args[4];
  int64_t n = 0;
  int32_t small = 0;
  EXPECT(!TVMFFI_CUDA_LAUNCH(&add_kernel, &c, p, p, p, n));
  args[0] = args[1] = args[2] = &p;
  args[3] = &n;
  EXPECT(!tvmffi_cuda_launch(&add_kernel, &c, args));
  EXPECT(!TVMFFI_CUDA_LAUNCH(&one_kernel, &c, small));
  EXPECT(!launch(&scale_kernel, c));
  EXPECT_ERROR(TVMFFI_CUDA_LAUNCH(&add_kernel, &c, p, p, p), "TypeError",
               "CUDA kernel add: the launch has 3 arguments of 8, 8, 8 bytes, "
               "but the kernel has 4 parameters of 8, 8, 8, 8 bytes");
  EXPECT_ERROR(TVMFFI_CUDA_LAUNCH(&add_kernel, &c, p, p, p, n, n), "TypeError",
               "the launch has 5 arguments of 8, 8, 8, 8, 8 bytes");
  EXPECT_ERROR(TVMFFI_CUDA_LAUNCH(&add_kernel, &c, p, p, p, small),
               "TypeError",
               "the launch has 4 arguments of 8, 8, 8, 4 bytes, but the kernel "
               "has 4 parameters of 8, 8, 8, 8 bytes");
  EXPECT_ERROR(TVMFFI_CUDA_LAUNCH(&one_kernel, &c, n), "TypeError",
               "the launch has 1 argument of 8 bytes, but the kernel has 1 "
               "parameter of 4 bytes");
  EXPECT_ERROR(TVMFFI_CUDA_LAUNCH(&scale_kernel, &c, n), "TypeError",
               "the launch has 1 argument of 8 bytes, but the kernel has 0 "
               "parameters");
  EXPECT_ERROR(launch(&one_kernel, c), "TypeError",
               "the launch has 0 arguments, but the kernel has 1 parameter of "
               "4 bytes");
}

/* A driver that cannot tell the parameters checks nothing. */
static void test_unknown_args(void) {
  tvmffi_cuda_config c = tvmffi_cuda_config_make(cuda(0), 1, 1);
  int64_t n = 0;
  EXPECT(!add_on(0));
  EXPECT(!TVMFFI_CUDA_LAUNCH(&one_kernel, &c, n));
  EXPECT(!TVMFFI_CUDA_LAUNCH(&scale_kernel, &c, n));
}

static void test_bad(void) {
  tvmffi_cuda_config c = tvmffi_cuda_config_make(cuda(0), 1, 1), good = c;
  int value;
  find_stand_in();
  EXPECT_ERROR(launch(&absent_kernel, c), "RuntimeError",
               "CUDA Error: CUDA_ERROR_NOT_FOUND (500): named symbol not "
               "found, in cuLibraryGetKernel for kernel absent of library "
               "test_library");
  EXPECT_ERROR(launch(&bad_kernel, c), "RuntimeError",
               "CUDA Error: CUDA_ERROR_INVALID_IMAGE (200): device kernel "
               "image is invalid, in cuLibraryLoadData for kernel add of "
               "library bad_library");
  c.block[0] = 0;
  EXPECT_ERROR(launch_add(c), "ValueError",
               "CUDA kernel add: block is 0 x 1 x 1, but each size must be 1 "
               "or more, and fit an int");
  c = good;
  c.grid[2] = -1;
  EXPECT_ERROR(launch_add(c), "ValueError", "grid is 1 x 1 x -1");
  c.grid[2] = (int64_t)1 << 31;
  EXPECT_ERROR(launch_add(c), "ValueError",
               "grid is 1 x 1 x 2147483648");
  c = good;
  c.block[0] = 2048;
  EXPECT_ERROR(launch_add(c), "RuntimeError",
               "CUDA Error: CUDA_ERROR_INVALID_VALUE (1): invalid argument, "
               "in cuLaunchKernelEx for add: device 0, grid 1 x 1 x 1, block "
               "2048 x 1 x 1, cluster 0 x 0 x 0, 0 bytes of dynamic shared");
  c = good;
  c.shared_bytes = 99001;
  EXPECT_ERROR(launch_add(c), "ValueError",
               "CUDA kernel add: 99001 bytes of dynamic shared memory, but a "
               "block on device 0 has 100000, of which the kernel itself uses "
               "1000");
  c.shared_bytes = -1;
  EXPECT_ERROR(launch_add(c), "ValueError", "add: -1 bytes");
  c = good;
  c.cluster[0] = 2;
  EXPECT_ERROR(launch_add(c), "ValueError", "cluster is 2 x 0 x 0");
  c.cluster[1] = c.cluster[2] = 1;
  EXPECT_ERROR(launch_add(c), "ValueError",
               "the grid has 1 blocks in x, which is not a multiple of the "
               "cluster's 2");
  c = good;
  c.device.device_type = kDLCPU;
  EXPECT_ERROR(launch_add(c), "ValueError",
               "CUDA kernel add: the device has type 1, not cuda (2)");
  EXPECT_ERROR(add_on(2), "RuntimeError",
               "CUDA Error: CUDA_ERROR_INVALID_DEVICE (101): invalid device "
               "ordinal, in cuDeviceGet for device 2");
  EXPECT_ERROR(add_on(-1), "ValueError", "CUDA device -1: ids are 0 to 63");
  EXPECT_ERROR(add_on(64), "ValueError", "CUDA device 64: ids are 0 to 63");
  EXPECT_ERROR(tvmffi_cuda_device_attribute(0, 1, &value), "RuntimeError",
               "in cuDeviceGetAttribute");
  EXPECT_ERROR(tvmffi_cuda_kernel_attribute(&add_kernel, 0, 99, &value),
               "RuntimeError", "in cuKernelGetAttribute for add");
  EXPECT_ERROR(tvmffi_cuda_kernel_set_attribute(&add_kernel, 0, 99, 1),
               "RuntimeError", "in cuKernelSetAttribute for add");
  EXPECT(!tvmffi_cuda_check(0, "cuStreamQuery"));
  EXPECT_ERROR(tvmffi_cuda_check(2, "cuMemAlloc"), "RuntimeError",
               "CUDA Error: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory, in "
               "cuMemAlloc");
  EXPECT_ERROR(tvmffi_cuda_check(777, "cuMemAlloc"), "RuntimeError",
               "CUDA Error: unknown (777): the driver has no text for it, in");
  EXPECT(!stand_in_current()); /* each error left it as it was */
  EXPECT(!add_on(0));
}

/* Fails call `at` of a first launch on device 1 with shared memory. A second
   launch succeeds. Prints whether the launch made less calls than that. */
static void test_fail(int at) {
  tvmffi_cuda_config c = tvmffi_cuda_config_make(cuda(1), 1, 1);
  int code;
  find_stand_in();
  stand_in_set_current(stand_in_own(0));
  c.shared_bytes = 4096;
  stand_in_fail(at, 999);
  code = launch(&scale_kernel, c);
  stand_in_fail(0, 0);
  if (!code) {
    printf("passed\n");
    return;
  }
  EXPECT_ERROR(code, "RuntimeError",
               "CUDA Error: CUDA_ERROR_UNKNOWN (999): unknown error, in cu");
  if (strcmp(stand_in_record() + strlen(stand_in_record()) - 19,
             "launch set_current "))
    EXPECT(stand_in_current() == stand_in_own(0));
  stand_in_set_current(stand_in_own(0));
  EXPECT(!launch(&scale_kernel, c));
  EXPECT(stand_in_current() == stand_in_own(0));
  EXPECT(stand_in_loads() == 1 && stand_in_retains(1) == 1);
}

/* A library with kernels is unloaded and loaded again. */
static void test_unload(const char *path) {
  int i;
  find_stand_in();
  for (i = 0; i < 3; ++i) {
    void *library = dlopen(path, RTLD_NOW), *symbol;
    int (*run)(void) = NULL;
    EXPECT(library && (symbol = dlsym(library, "plugin_run")) != NULL);
    memcpy(&run, &symbol, sizeof(symbol));
    EXPECT(stand_in_loads() == 0);
    EXPECT(!run() && stand_in_loads() == 1 && stand_in_retains(0) == 1);
    EXPECT(!dlclose(library));
    EXPECT(!dlopen(path, RTLD_NOW | RTLD_NOLOAD));
    EXPECT(stand_in_loads() == 0 && stand_in_retains(0) == 0);
  }
}

static void after_the_end(void) {
  EXPECT(stand_in_loads() == 0);
  EXPECT_ERROR(add_on(0), "RuntimeError",
               "CUDA kernels cannot be used any "
               "more: the program or library is at its end");
  printf("ended\n");
}

static void test_ended(void) {
  find_stand_in();
  EXPECT(!atexit(after_the_end));
  EXPECT(!add_on(0) && stand_in_loads() == 1);
}

/* Prints the error of a launch for which the driver lacks something. A second
   launch fails alike. In C++ the function is exported with a mangled name. The
   trace demangles it by calls of the loader, which free the text of dlerror. */
void test_error(void);
void test_error(void) {
  int i;
  for (i = 0; i < 2; ++i) {
    EXPECT(add_on(0));
    tvmffi_error_print(stdout);
    tvmffi_error_clear();
  }
}

int main(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "";
  const char *argument = argc > 2 ? argv[2] : "";
  if (!strcmp(name, "lazy"))
    test_lazy();
  else if (!strcmp(name, "devices"))
    test_devices();
  else if (!strcmp(name, "stream"))
    test_stream();
  else if (!strcmp(name, "threads"))
    test_threads();
  else if (!strcmp(name, "attributes"))
    test_attributes();
  else if (!strcmp(name, "args"))
    test_args();
  else if (!strcmp(name, "unknown args"))
    test_unknown_args();
  else if (!strcmp(name, "bad"))
    test_bad();
  else if (!strcmp(name, "fail"))
    test_fail(atoi(argument));
  else if (!strcmp(name, "unload"))
    test_unload(argument);
  else if (!strcmp(name, "ended"))
    test_ended();
  else if (!strcmp(name, "error"))
    test_error();
  else
    return 2;
  return 0;
}
