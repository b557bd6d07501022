/* tvmffi_cuda.h: CUDA kernels that a C library carries as bytes.

   Include it after or instead of tvmffi.h, in C99, C++11 or a .cu file. It
   needs no CUDA toolkit. The first launch opens the NVIDIA driver, so a library
   with kernels also loads on a machine without CUDA.

       #include "tvmffi_cuda.h"

       TVMFFI_CUDA_EMBED(add_image, "add.fatbin")
       TVMFFI_CUDA_LIBRARY(add_library, add_image);
       TVMFFI_CUDA_KERNEL(add_kernel, add_library, "add");

       TVMFFI_EXPORT(add, none, (tensor("float32[n] cuda"), x),
                     (tensor("float32[n] cuda out"), y)) {
         int64_t n = x->shape[0];
         const float *px = TVMFFI_DATA(x, float);
         float *py = TVMFFI_DATA(y, float);
         tvmffi_cuda_config c = tvmffi_cuda_config_make(x->device,
                                                        (n + 255) / 256, 256);
         if (n) TVMFFI_TRY(TVMFFI_CUDA_LAUNCH(&add_kernel, &c, px, py, n));
         TVMFFI_RETURN();
       }

   The driver must support CUDA 12.0 or newer. All functions are static: each
   file that includes this header has its own table of the driver's functions
   and its own references to primary contexts. All functions may be called from
   any thread. A function that fails raises an error and returns -1. If the
   driver reports it, the error is a RuntimeError with the text

       CUDA Error: CUDA_ERROR_NOT_FOUND (500): named symbol not found, in ...

   At the end of the program, or when dlclose unloads the library, the images
   are unloaded and the primary contexts released. Later launches fail.

   Options, defined before the include:
     TVMFFI_CUDA_MAX_DEVICES  device ids are below this number. Default 64.

   Documentation: docs/hosts/cuda.md.
   License: Apache-2.0 OR MIT, as tvmffi.h. */

#ifndef TVMFFI_CUDA_H_
#define TVMFFI_CUDA_H_

#ifndef TVMFFI_H_
#include "tvmffi.h"
#endif

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#if defined(_WIN32)
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <dlfcn.h>
#include <pthread.h>
#endif

#ifndef TVMFFI_CUDA_MAX_DEVICES
#define TVMFFI_CUDA_MAX_DEVICES 64
#endif

#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Images and kernels ---- */

/* A cubin, a fatbin or PTX text, which the driver loads before the first launch
   of one of its kernels. The driver then adds it to each context that uses it.
   The struct and its image must stay valid until the program ends or dlclose
   unloads the code that includes this header. */
typedef struct tvmffi_cuda_library {
  const void *image; /* borrowed; PTX ends with a NUL */
  const char *name;  /* borrowed; for errors */
  /* The rest is zero at first, and internal. */
  void *handle; /* owned; NULL before the load */
  struct tvmffi_cuda_library *next;
} tvmffi_cuda_library;

enum { TVMFFI_CUDA_I_PARAMS = 32 }; /* of TVMFFI_CUDA_LAUNCH */

/* A kernel of a library. The struct must stay valid as long as its library. */
typedef struct {
  tvmffi_cuda_library *library; /* borrowed */
  const char *name;             /* borrowed; its symbol in the image */
  /* The rest is zero at first, and internal. */
  void *handle; /* owned by the library; NULL before the first use */
  int shared_bytes[TVMFFI_CUDA_MAX_DEVICES]; /* permitted by the driver */
  int params; /* their number + 1, or 0 if the driver cannot tell */
  uint16_t sizes[TVMFFI_CUDA_I_PARAMS]; /* of the first parameters, in bytes;
                                           CUDA has 32764 bytes of them */
} tvmffi_cuda_kernel;

/* Defines a static tvmffi_cuda_library at file scope. `image` is the address of
   the bytes. */
#define TVMFFI_CUDA_LIBRARY(name, image) \
  static tvmffi_cuda_library name = {image, #name, NULL, NULL}

/* Defines a static tvmffi_cuda_kernel at file scope, for the symbol that the
   image has: the name of an extern "C" kernel, or a mangled name. */
#define TVMFFI_CUDA_KERNEL(name, library, symbol) \
  static tvmffi_cuda_kernel name = {&library, symbol, NULL, {0}, 0, {0}}

#ifdef __cplusplus
#define TVMFFI_CUDA_I_EXTERN extern "C"
#else
#define TVMFFI_CUDA_I_EXTERN extern
#endif

#if defined(__GNUC__) && defined(__ELF__)
/* Declares `name` as an array of the bytes of a file, followed by a NUL, which
   the assembler reads. It searches the path in the folders of -I. A build
   system does not see that the object file depends on the file. Where neither
   ELF nor a GNU compiler is used, C23's #embed does the same. */
#define TVMFFI_CUDA_EMBED(name, path)                    \
  TVMFFI_CUDA_I_EXTERN const unsigned char name[];       \
  __asm__(".pushsection .rodata." #name                  \
          ",\"a\"\n"                                     \
          ".balign 64\n.globl " #name "\n.hidden " #name \
          "\n"                                           \
          ".type " #name ", %object\n" #name             \
          ":\n"                                          \
          ".incbin \"" path                              \
          "\"\n.byte 0\n"                                \
          ".size " #name ", . - " #name "\n.popsection\n");
#endif

/* ---- The driver ---- */

/* The driver's types, under names of this header: a CUresult, CUdevice or
   attribute is an int, and a handle is a void *. */
#if defined(_WIN32)
#define TVMFFI_CUDA_I_CALL __stdcall
#define TVMFFI_CUDA_I_DRIVER "nvcuda.dll"
#else
#define TVMFFI_CUDA_I_CALL
#define TVMFFI_CUDA_I_DRIVER "libcuda.so.1"
#endif

enum {
  TVMFFI_CUDA_I_INVALID_VALUE = 1,
  TVMFFI_CUDA_I_INVALID_CONTEXT = 201,   /* the thread has no current context */
  TVMFFI_CUDA_I_BLOCK_SHARED_OPTIN = 97, /* device attribute */
  TVMFFI_CUDA_I_STATIC_SHARED = 1,       /* function attributes */
  TVMFFI_CUDA_I_DYNAMIC_SHARED = 8,
  TVMFFI_CUDA_I_COOPERATIVE = 2, /* launch attributes */
  TVMFFI_CUDA_I_CLUSTER = 4,
  TVMFFI_CUDA_I_DEPENDENT = 6
};

/* A CUlaunchAttribute. */
typedef struct {
  int id;
  int unused;
  union {
    unsigned cluster[3];
    int flag;
    uint64_t size[8];
  } value;
} tvmffi_cuda_i_attribute;

/* A CUlaunchConfig. */
typedef struct {
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  void *stream;
  tvmffi_cuda_i_attribute *attributes;
  unsigned num_attributes;
} tvmffi_cuda_i_config;

/* The driver's functions: member, symbol, parameters. */
#define TVMFFI_CUDA_I_EACH(F)                                              \
  F(init, "cuInit", (unsigned))                                            \
  F(error_name, "cuGetErrorName", (int, const char **))                    \
  F(error_text, "cuGetErrorString", (int, const char **))                  \
  F(device_count, "cuDeviceGetCount", (int *))                             \
  F(device, "cuDeviceGet", (int *, int))                                   \
  F(device_attribute, "cuDeviceGetAttribute", (int *, int, int))           \
  F(primary_retain, "cuDevicePrimaryCtxRetain", (void **, int))            \
  F(primary_release, "cuDevicePrimaryCtxRelease_v2", (int))                \
  F(current_device, "cuCtxGetDevice", (int *))                             \
  F(current, "cuCtxGetCurrent", (void **))                                 \
  F(set_current, "cuCtxSetCurrent", (void *))                              \
  F(load, "cuLibraryLoadData",                                             \
    (void **, const void *, int *, void **, unsigned, int *, void **,      \
     unsigned))                                                            \
  F(unload, "cuLibraryUnload", (void *))                                   \
  F(kernel, "cuLibraryGetKernel", (void **, void *, const char *))         \
  F(kernel_attribute, "cuKernelGetAttribute", (int *, int, void *, int))   \
  F(set_kernel_attribute, "cuKernelSetAttribute", (int, int, void *, int)) \
  F(launch, "cuLaunchKernelEx",                                            \
    (const tvmffi_cuda_i_config *, void *, void **, void **))

#define TVMFFI_CUDA_I_MEMBER(member, symbol, parameters) \
  int(TVMFFI_CUDA_I_CALL * member) parameters;
typedef struct {
  TVMFFI_CUDA_I_EACH(TVMFFI_CUDA_I_MEMBER)
  /* cuKernelGetParamInfo of CUDA 12.4, or NULL: kernel, index, offset, size */
  int(TVMFFI_CUDA_I_CALL *param_info)(void *, size_t, size_t *, size_t *);
} tvmffi_cuda_i_driver;

/* The state of this file. The mutex guards all members, and the
   internal members of libraries and kernels; `ready` and the handles of kernels
   are also read without it. */
typedef struct {
  const tvmffi_cuda_i_driver *ready; /* NULL before cuInit and at the end */
  tvmffi_cuda_i_driver driver;
  int is_ended;
  tvmffi_cuda_library *libraries; /* those that are loaded */
  int devices[TVMFFI_CUDA_MAX_DEVICES];
  void *contexts[TVMFFI_CUDA_MAX_DEVICES]; /* primary contexts, owned */
} tvmffi_cuda_i_all;
static TVMFFI_I_UNUSED tvmffi_cuda_i_all tvmffi_cuda_i_state;

#if defined(_WIN32)
static TVMFFI_I_UNUSED SRWLOCK tvmffi_cuda_i_mutex = SRWLOCK_INIT;
TVMFFI_I_INLINE void tvmffi_cuda_i_lock(void) {
  AcquireSRWLockExclusive(&tvmffi_cuda_i_mutex);
}
TVMFFI_I_INLINE void tvmffi_cuda_i_unlock(void) {
  ReleaseSRWLockExclusive(&tvmffi_cuda_i_mutex);
}
#else
static TVMFFI_I_UNUSED pthread_mutex_t tvmffi_cuda_i_mutex =
    PTHREAD_MUTEX_INITIALIZER;
TVMFFI_I_INLINE void tvmffi_cuda_i_lock(void) {
  (void)pthread_mutex_lock(&tvmffi_cuda_i_mutex);
}
TVMFFI_I_INLINE void tvmffi_cuda_i_unlock(void) {
  (void)pthread_mutex_unlock(&tvmffi_cuda_i_mutex);
}
#endif

/* Opens the driver, which is never closed, because it has threads and exit
   handlers of its own. Raises a RuntimeError with the loader's reason. */
TVMFFI_I_COLD int tvmffi_cuda_i_open(void **module) {
#if defined(_WIN32)
  *module = (void *)LoadLibraryA(TVMFFI_CUDA_I_DRIVER);
  if (*module) return 0;
  return TVMFFI_RAISE("RuntimeError",
                      "Cannot load the NVIDIA driver: " TVMFFI_CUDA_I_DRIVER
                      ": error %u of Windows",
                      (unsigned)GetLastError());
#else
  *module = dlopen(TVMFFI_CUDA_I_DRIVER, RTLD_NOW | RTLD_LOCAL);
  if (*module) return 0;
  /* Unlike TVMFFI_RAISE, formats before it makes the trace, which may call the
     loader. The call would free dlerror's text. */
  return tvmffi_i_raise("RuntimeError", "Cannot load the NVIDIA driver: %s",
                        dlerror());
#endif
}

TVMFFI_I_COLD void *tvmffi_cuda_i_symbol(void *module, const char *name) {
#if defined(_WIN32)
  FARPROC found = GetProcAddress((HMODULE)module, name);
  void *symbol = NULL;
  memcpy(&symbol, &found, sizeof(symbol));
  return symbol;
#else
  return dlsym(module, name);
#endif
}

/* Raises an error for a driver without a function. */
TVMFFI_I_COLD int tvmffi_cuda_i_too_old(void *module, const char *name) {
  void *symbol = tvmffi_cuda_i_symbol(module, "cuDriverGetVersion");
  int(TVMFFI_CUDA_I_CALL * get_version)(int *) = NULL;
  int version = 0;
  memcpy(&get_version, &symbol, sizeof(symbol));
  if (!symbol || get_version(&version)) version = 0;
  return TVMFFI_RAISE("RuntimeError",
                      "The NVIDIA driver is too old: " TVMFFI_CUDA_I_DRIVER
                      ", which supports CUDA %d.%d, has no function %s. CUDA "
                      "12.0 or newer is needed",
                      version / 1000, version % 1000 / 10, name);
}

/* Raises the error of a CUresult other than 0, which the function `call` of the
   driver returned for `what`, or for nothing in particular if it is NULL. */
TVMFFI_I_COLD int tvmffi_cuda_i_fail(const tvmffi_cuda_i_driver *d, int result,
                                     const char *call, const char *what) {
  const char *name = NULL, *text = NULL;
  (void)d->error_name(result, &name);
  (void)d->error_text(result, &text);
  return TVMFFI_RAISE("RuntimeError", "CUDA Error: %s (%d): %s, in %s%s%s",
                      name ? name : "unknown", result,
                      text ? text : "the driver has no text for it", call,
                      what ? " for " : "", what ? what : "");
}

/* Unloads and releases everything. Errors are ignored: a driver that is at its
   end has freed everything before. */
TVMFFI_I_COLD void tvmffi_cuda_i_end(void) {
  tvmffi_cuda_i_all *s = &tvmffi_cuda_i_state;
  int i;
  tvmffi_cuda_i_lock();
  s->is_ended = 1;
  TVMFFI_I_STORE(&s->ready, (const tvmffi_cuda_i_driver *)NULL);
  for (; s->libraries; s->libraries = s->libraries->next)
    (void)s->driver.unload(s->libraries->handle);
  for (i = 0; i < TVMFFI_CUDA_MAX_DEVICES; ++i)
    if (s->contexts[i]) (void)s->driver.primary_release(s->devices[i]);
  tvmffi_cuda_i_unlock();
}

/* Finds the driver's functions and initializes it. Threads may do so at the
   same time; the driver counts neither. */
TVMFFI_I_COLD int tvmffi_cuda_i_find_driver(tvmffi_cuda_i_driver *d) {
  void *module, *symbol;
  int result;
  TVMFFI_TRY(tvmffi_cuda_i_open(&module));
#define TVMFFI_CUDA_I_FIND(member, name, parameters)       \
  symbol = tvmffi_cuda_i_symbol(module, name);             \
  if (!symbol) return tvmffi_cuda_i_too_old(module, name); \
  memcpy(&d->member, &symbol, sizeof(symbol));
  TVMFFI_CUDA_I_EACH(TVMFFI_CUDA_I_FIND)
#undef TVMFFI_CUDA_I_FIND
  symbol = tvmffi_cuda_i_symbol(module, "cuKernelGetParamInfo");
  memcpy(&d->param_info, &symbol, sizeof(symbol));
  result = d->init(0);
  return result ? tvmffi_cuda_i_fail(d, result, "cuInit", NULL) : 0;
}

/* Stores the driver's functions for all threads. An atexit handler that a
   shared library registers also runs when dlclose unloads that library. It runs
   before handlers of the driver, which is initialized earlier. */
TVMFFI_I_COLD int tvmffi_cuda_i_start(void) {
  tvmffi_cuda_i_all *s = &tvmffi_cuda_i_state;
  tvmffi_cuda_i_driver d;
  int is_ended, has_handler = 1;
  tvmffi_cuda_i_lock();
  is_ended = s->is_ended;
  tvmffi_cuda_i_unlock();
  if (is_ended)
    return TVMFFI_RAISE("RuntimeError",
                        "CUDA kernels cannot be used any more: the program or "
                        "library is at its end");
  TVMFFI_TRY(tvmffi_cuda_i_find_driver(&d));
  tvmffi_cuda_i_lock();
  if (!s->ready) {
    has_handler = !atexit(tvmffi_cuda_i_end);
    s->driver = d;
    if (has_handler)
      TVMFFI_I_STORE(&s->ready, (const tvmffi_cuda_i_driver *)&s->driver);
  }
  tvmffi_cuda_i_unlock();
  if (has_handler) return 0;
  return TVMFFI_RAISE("MemoryError", "atexit has no memory");
}

/* Stores the driver's functions in *out. */
TVMFFI_I_INLINE int tvmffi_cuda_i_need(const tvmffi_cuda_i_driver **out) {
  *out = TVMFFI_I_LOAD(&tvmffi_cuda_i_state.ready);
  if (TVMFFI_I_UNLIKELY(!*out)) {
    TVMFFI_TRY(tvmffi_cuda_i_start());
    *out = &tvmffi_cuda_i_state.driver;
  }
  return 0;
}

/* Raises a RuntimeError "CUDA Error: NAME (code): text, in CALL" if `result`,
   a CUresult that the driver's function `call` returned, is not 0. Returns 0,
   or -1 with an error. Both strings are borrowed. */
TVMFFI_I_COLD int tvmffi_cuda_check(int result, const char *call) {
  const tvmffi_cuda_i_driver *d;
  if (!result) return 0;
  TVMFFI_TRY(tvmffi_cuda_i_need(&d));
  return tvmffi_cuda_i_fail(d, result, call, NULL);
}

/* For a .cu file: evaluates a call of CUDA's runtime. If it fails, raises a
   RuntimeError "CUDA Runtime Error: NAME (code): text", and returns -1 from the
   calling function. Needs cuda_runtime.h where it is used. */
#define TVMFFI_CUDA_RUNTIME_TRY(call)                                        \
  do {                                                                       \
    cudaError_t tvmffi_result = (call);                                      \
    if (tvmffi_result != cudaSuccess)                                        \
      return TVMFFI_RAISE("RuntimeError", "CUDA Runtime Error: %s (%d): %s", \
                          cudaGetErrorName(tvmffi_result),                   \
                          TVMFFI_I_AS(int, tvmffi_result),                   \
                          cudaGetErrorString(tvmffi_result));                \
  } while (0)

/* ---- Devices ---- */

/* Stores the number of devices in *out. Returns 0, or -1 with an error, also if
   there is no driver or no device. */
TVMFFI_I_COLD int tvmffi_cuda_device_count(int *out) {
  const tvmffi_cuda_i_driver *d;
  int result;
  TVMFFI_TRY(tvmffi_cuda_i_need(&d));
  result = d->device_count(out);
  return result ? tvmffi_cuda_i_fail(d, result, "cuDeviceGetCount", NULL) : 0;
}

/* Retains a device's primary context, and stores its CUdevice. Needs the mutex,
   so it raises no error: a release of the thread's last error may call any
   code. Returns the driver's code, and in *call the function that failed. */
TVMFFI_I_COLD int tvmffi_cuda_i_add_device(tvmffi_cuda_i_all *s, int id,
                                           const char **call) {
  void *context = NULL;
  int device = 0, result = s->driver.device(&device, id);
  *call = "cuDeviceGet";
  if (result) return result;
  *call = "cuDevicePrimaryCtxRetain";
  result = s->driver.primary_retain(&context, device);
  if (result) return result;
  s->devices[id] = device;
  TVMFFI_I_STORE(&s->contexts[id], context);
  return 0;
}

TVMFFI_I_COLD int tvmffi_cuda_i_no_device(int id, int result,
                                          const char *call) {
  char what[32] = "device ";
  tvmffi_i_text text = {what, sizeof("device ") - 1, sizeof(what)};
  tvmffi_i_append_int(&text, id);
  return tvmffi_cuda_i_fail(&tvmffi_cuda_i_state.driver, result, call, what);
}

/* Retains the primary context of the device, once for this file. */
TVMFFI_I_INLINE int tvmffi_cuda_i_need_device(int id) {
  tvmffi_cuda_i_all *s = &tvmffi_cuda_i_state;
  const char *call = NULL;
  int result = 0;
  if (id < 0 || id >= TVMFFI_CUDA_MAX_DEVICES)
    return TVMFFI_RAISE("ValueError",
                        "CUDA device %d: ids are 0 to %d "
                        "(TVMFFI_CUDA_MAX_DEVICES - 1)",
                        id, TVMFFI_CUDA_MAX_DEVICES - 1);
  if (TVMFFI_I_LOAD(&s->contexts[id])) return 0;
  tvmffi_cuda_i_lock();
  if (!s->contexts[id]) result = tvmffi_cuda_i_add_device(s, id, &call);
  tvmffi_cuda_i_unlock();
  return result ? tvmffi_cuda_i_no_device(id, result, call) : 0;
}

/* Stores the CUdevice_attribute `attribute` of a device in *out. Returns 0, or
   -1 with an error. */
TVMFFI_I_COLD int tvmffi_cuda_device_attribute(int id, int attribute,
                                               int *out) {
  const tvmffi_cuda_i_driver *d;
  int result;
  TVMFFI_TRY(tvmffi_cuda_i_need(&d));
  TVMFFI_TRY(tvmffi_cuda_i_need_device(id));
  result = d->device_attribute(out, attribute, tvmffi_cuda_i_state.devices[id]);
  if (!result) return 0;
  return tvmffi_cuda_i_fail(d, result, "cuDeviceGetAttribute", NULL);
}

/* The context that tvmffi_cuda_guard_enter replaced. */
typedef struct {
  void *previous; /* borrowed; NULL if the thread had none */
  int is_changed;
} tvmffi_cuda_guard;

/* Makes a device the calling thread's current one, for the driver and for
   CUDA's runtime, and stores the previous one in *guard. A context of the
   device that is current already stays current, primary or not. Otherwise sets
   the device's primary context, which this file owns from then on. Returns 0
   and then needs tvmffi_cuda_guard_leave on the same thread, or returns -1 with
   an error and nothing changed. */
TVMFFI_I_COLD int tvmffi_cuda_guard_enter(int id, tvmffi_cuda_guard *guard) {
  tvmffi_cuda_i_all *s = &tvmffi_cuda_i_state;
  const tvmffi_cuda_i_driver *d;
  int device = -1, result;
  guard->previous = NULL;
  guard->is_changed = 0;
  TVMFFI_TRY(tvmffi_cuda_i_need(&d));
  TVMFFI_TRY(tvmffi_cuda_i_need_device(id));
  result = d->current_device(&device);
  if (!result && device == s->devices[id]) return 0;
  if (result && result != TVMFFI_CUDA_I_INVALID_CONTEXT)
    return tvmffi_cuda_i_fail(d, result, "cuCtxGetDevice", NULL);
  result = d->current(&guard->previous);
  if (result) return tvmffi_cuda_i_fail(d, result, "cuCtxGetCurrent", NULL);
  result = d->set_current(s->contexts[id]);
  if (result) return tvmffi_cuda_i_fail(d, result, "cuCtxSetCurrent", NULL);
  guard->is_changed = 1;
  return 0;
}

/* Makes the previous context current again. Returns 0, or -1 with an error. */
TVMFFI_I_COLD int tvmffi_cuda_guard_leave(tvmffi_cuda_guard *guard) {
  const tvmffi_cuda_i_driver *d;
  int result;
  if (!guard->is_changed) return 0;
  guard->is_changed = 0;
  TVMFFI_TRY(tvmffi_cuda_i_need(&d));
  result = d->set_current(guard->previous);
  if (!result) return 0;
  return tvmffi_cuda_i_fail(d, result, "cuCtxSetCurrent", NULL);
}

/* ---- Kernels ---- */

/* Stores the number and the sizes of the kernel's parameters. Without the
   driver's function for that, the number stays unknown. Needs the mutex, and
   returns as tvmffi_cuda_i_add_device does. */
TVMFFI_I_COLD int tvmffi_cuda_i_find_params(const tvmffi_cuda_i_driver *d,
                                            tvmffi_cuda_kernel *kernel,
                                            void *handle, const char **call) {
  int i, result = 0;
  if (!d->param_info) return 0;
  *call = "cuKernelGetParamInfo";
  for (i = 0;; ++i) {
    size_t offset, size = 0;
    result = d->param_info(handle, (size_t)i, &offset, &size);
    if (result) break;
    if (i < TVMFFI_CUDA_I_PARAMS) kernel->sizes[i] = (uint16_t)size;
  }
  if (result != TVMFFI_CUDA_I_INVALID_VALUE) return result;
  kernel->params = i + 1;
  return 0;
}

/* Loads the library if it is not loaded, and finds the kernel in it. Needs the
   mutex, and returns as tvmffi_cuda_i_add_device does. */
TVMFFI_I_COLD int tvmffi_cuda_i_find_kernel(tvmffi_cuda_i_all *s,
                                            tvmffi_cuda_kernel *kernel,
                                            const char **call) {
  tvmffi_cuda_library *library = kernel->library;
  void *found = NULL;
  int result;
  if (!library->handle) {
    *call = "cuLibraryLoadData";
    result =
        s->driver.load(&found, library->image, NULL, NULL, 0, NULL, NULL, 0);
    if (result) return result;
    library->handle = found;
    library->next = s->libraries;
    s->libraries = library;
  }
  *call = "cuLibraryGetKernel";
  result = s->driver.kernel(&found, library->handle, kernel->name);
  if (!result)
    result = tvmffi_cuda_i_find_params(&s->driver, kernel, found, call);
  if (!result) TVMFFI_I_STORE(&kernel->handle, found);
  return result;
}

/* Raises the error of tvmffi_cuda_i_find_kernel. */
TVMFFI_I_COLD int tvmffi_cuda_i_no_kernel(const tvmffi_cuda_kernel *kernel,
                                          int result, const char *call) {
  char what[256];
  tvmffi_i_text text = {what, 0, sizeof(what)};
  tvmffi_i_append(&text, "kernel ");
  tvmffi_i_append(&text, kernel->name);
  tvmffi_i_append(&text, " of library ");
  tvmffi_i_append(&text, kernel->library->name);
  return tvmffi_cuda_i_fail(&tvmffi_cuda_i_state.driver, result, call, what);
}

/* Stores the driver's functions in *out, and finds the kernel's handle. */
TVMFFI_I_INLINE int tvmffi_cuda_i_need_kernel(
    tvmffi_cuda_kernel *kernel, const tvmffi_cuda_i_driver **out) {
  const char *call = NULL;
  int result = 0;
  TVMFFI_TRY(tvmffi_cuda_i_need(out));
  if (TVMFFI_I_LOAD(&kernel->handle)) return 0;
  tvmffi_cuda_i_lock();
  if (!kernel->handle)
    result = tvmffi_cuda_i_find_kernel(&tvmffi_cuda_i_state, kernel, &call);
  tvmffi_cuda_i_unlock();
  return result ? tvmffi_cuda_i_no_kernel(kernel, result, call) : 0;
}

/* Stores a CUfunction_attribute that a kernel has on a device in *out, its
   number of registers (4) say. Returns 0, or -1 with an error. */
TVMFFI_I_COLD int tvmffi_cuda_kernel_attribute(tvmffi_cuda_kernel *kernel,
                                               int id, int attribute,
                                               int *out) {
  const tvmffi_cuda_i_driver *d;
  int result;
  TVMFFI_TRY(tvmffi_cuda_i_need_kernel(kernel, &d));
  TVMFFI_TRY(tvmffi_cuda_i_need_device(id));
  result = d->kernel_attribute(out, attribute, kernel->handle,
                               tvmffi_cuda_i_state.devices[id]);
  if (!result) return 0;
  return tvmffi_cuda_i_fail(d, result, "cuKernelGetAttribute", kernel->name);
}

/* Sets the CUfunction_attribute `attribute` of a kernel on a device, such as 9,
   the preferred share of shared memory in percent. tvmffi_cuda_launch sets the
   attribute 8, the maximum of dynamic shared memory, itself. Returns 0, or -1
   with an error. */
TVMFFI_I_COLD int tvmffi_cuda_kernel_set_attribute(tvmffi_cuda_kernel *kernel,
                                                   int id, int attribute,
                                                   int value) {
  const tvmffi_cuda_i_driver *d;
  int result;
  TVMFFI_TRY(tvmffi_cuda_i_need_kernel(kernel, &d));
  TVMFFI_TRY(tvmffi_cuda_i_need_device(id));
  result = d->set_kernel_attribute(attribute, value, kernel->handle,
                                   tvmffi_cuda_i_state.devices[id]);
  if (!result) return 0;
  return tvmffi_cuda_i_fail(d, result, "cuKernelSetAttribute", kernel->name);
}

/* Permits the kernel `bytes` of dynamic shared memory on the device. */
TVMFFI_I_COLD int tvmffi_cuda_i_grow_shared(tvmffi_cuda_kernel *kernel, int id,
                                            int64_t bytes) {
  tvmffi_cuda_i_all *s = &tvmffi_cuda_i_state;
  int most = 0, fixed = 0, result = 0;
  TVMFFI_TRY(tvmffi_cuda_device_attribute(id, TVMFFI_CUDA_I_BLOCK_SHARED_OPTIN,
                                          &most));
  TVMFFI_TRY(tvmffi_cuda_kernel_attribute(kernel, id,
                                          TVMFFI_CUDA_I_STATIC_SHARED, &fixed));
  if (bytes > most - fixed)
    return TVMFFI_RAISE("ValueError",
                        "CUDA kernel %s: %lld bytes of dynamic shared memory, "
                        "but a block on device %d has %d, of which the kernel "
                        "itself uses %d",
                        kernel->name, (long long)bytes, id, most, fixed);
  /* Under the mutex, because a smaller size must not overwrite a larger. */
  tvmffi_cuda_i_lock();
  if (bytes > kernel->shared_bytes[id]) {
    result =
        s->driver.set_kernel_attribute(TVMFFI_CUDA_I_DYNAMIC_SHARED, (int)bytes,
                                       kernel->handle, s->devices[id]);
    if (!result) TVMFFI_I_STORE(&kernel->shared_bytes[id], (int)bytes);
  }
  tvmffi_cuda_i_unlock();
  if (!result) return 0;
  return tvmffi_cuda_i_fail(&s->driver, result, "cuKernelSetAttribute",
                            kernel->name);
}

/* ---- Launch ---- */

/* How to launch a kernel. tvmffi_cuda_config_make fills it; change members
   afterwards. */
typedef struct {
  DLDevice device;      /* of type kDLCUDA */
  void *stream;         /* borrowed: a CUstream or cudaStream_t */
  int64_t grid[3];      /* blocks in x, y and z */
  int64_t block[3];     /* threads of a block in x, y and z */
  int64_t cluster[3];   /* blocks of a cluster; all 0: no clusters */
  int64_t shared_bytes; /* dynamic shared memory of a block */
  int is_dependent;     /* 1: programmatic dependent launch: may begin before
                           the kernel before it on the stream has ended */
  int is_cooperative;   /* 1: all blocks run at once and may wait for each
                           other */
} tvmffi_cuda_config;

/* Returns the configuration for `blocks` of `threads` in x, and 1 in y and z,
   on the stream that the environment (PyTorch, say) has for the device, without
   dynamic shared memory or clusters. Cannot fail. */
TVMFFI_I_INLINE tvmffi_cuda_config tvmffi_cuda_config_make(DLDevice device,
                                                           int64_t blocks,
                                                           int64_t threads) {
  tvmffi_cuda_config c;
  memset(&c, 0, sizeof(c));
  c.device = device;
  c.stream = TVMFFIEnvGetStream((int32_t)device.device_type, device.device_id);
  c.grid[0] = blocks;
  c.block[0] = threads;
  c.grid[1] = c.grid[2] = c.block[1] = c.block[2] = 1;
  return c;
}

/* Converts three sizes. Raises a ValueError for a size that is not 1 to the
   maximum of an int. */
TVMFFI_I_INLINE int tvmffi_cuda_i_sizes(const char *kernel, const char *what,
                                        const int64_t *from, unsigned *to) {
  int i;
  for (i = 0; i < 3; ++i) {
    if (from[i] < 1 || from[i] > INT32_MAX)
      return TVMFFI_RAISE("ValueError",
                          "CUDA kernel %s: %s is %lld x %lld x %lld, but each "
                          "size must be 1 or more, and fit an int",
                          kernel, what, (long long)from[0], (long long)from[1],
                          (long long)from[2]);
    to[i] = (unsigned)from[i];
  }
  return 0;
}

TVMFFI_I_COLD int tvmffi_cuda_i_cluster(const char *kernel,
                                        const tvmffi_cuda_config *config,
                                        unsigned *cluster) {
  int i;
  TVMFFI_TRY(tvmffi_cuda_i_sizes(kernel, "cluster", config->cluster, cluster));
  for (i = 0; i < 3; ++i)
    if (config->grid[i] % config->cluster[i])
      return TVMFFI_RAISE("ValueError",
                          "CUDA kernel %s: the grid has %lld blocks in %c, "
                          "which is not a multiple of the cluster's %lld",
                          kernel, (long long)config->grid[i], 'x' + i,
                          (long long)config->cluster[i]);
  return 0;
}

TVMFFI_I_INLINE void tvmffi_cuda_i_set_flag(tvmffi_cuda_i_attribute *attribute,
                                            int id) {
  memset(attribute, 0, sizeof(*attribute));
  attribute->id = id;
  attribute->value.flag = 1;
}

/* Checks a configuration, and converts it to the driver's. Writes up to 3
   attributes. */
TVMFFI_I_INLINE int tvmffi_cuda_i_convert(const char *kernel,
                                          const tvmffi_cuda_config *config,
                                          tvmffi_cuda_i_config *to,
                                          tvmffi_cuda_i_attribute *attribute) {
  to->attributes = attribute;
  if (config->device.device_type != kDLCUDA)
    return TVMFFI_RAISE("ValueError",
                        "CUDA kernel %s: the device has type %d, not cuda (%d)",
                        kernel, (int)config->device.device_type, (int)kDLCUDA);
  TVMFFI_TRY(tvmffi_cuda_i_sizes(kernel, "grid", config->grid, to->grid));
  TVMFFI_TRY(tvmffi_cuda_i_sizes(kernel, "block", config->block, to->block));
  if (config->shared_bytes < 0 || config->shared_bytes > INT32_MAX)
    return TVMFFI_RAISE("ValueError",
                        "CUDA kernel %s: %lld bytes of dynamic shared memory",
                        kernel, (long long)config->shared_bytes);
  to->shared_bytes = (unsigned)config->shared_bytes;
  to->stream = config->stream;
  if (config->cluster[0] || config->cluster[1] || config->cluster[2]) {
    memset(attribute, 0, sizeof(*attribute));
    attribute->id = TVMFFI_CUDA_I_CLUSTER;
    TVMFFI_TRY(tvmffi_cuda_i_cluster(kernel, config, attribute->value.cluster));
    ++attribute;
  }
  if (config->is_dependent)
    tvmffi_cuda_i_set_flag(attribute++, TVMFFI_CUDA_I_DEPENDENT);
  if (config->is_cooperative)
    tvmffi_cuda_i_set_flag(attribute++, TVMFFI_CUDA_I_COOPERATIVE);
  to->num_attributes = (unsigned)(attribute - to->attributes);
  if (!to->num_attributes) to->attributes = NULL;
  return 0;
}

/* Appends `count` sizes, as " of 8, 4": `before` is the text before the first,
   `between` that before each other one. */
TVMFFI_I_COLD void tvmffi_cuda_i_append(tvmffi_i_text *text, const char *before,
                                        const char *between,
                                        const int64_t *sizes, int count) {
  int i;
  for (i = 0; i < count; ++i) {
    tvmffi_i_append(text, i ? between : before);
    tvmffi_i_append_int(text, sizes[i]);
  }
}

/* Raises the error of cuLaunchKernelEx, with the configuration. */
TVMFFI_I_COLD int tvmffi_cuda_i_not_launched(const tvmffi_cuda_i_driver *d,
                                             int result, const char *kernel,
                                             const tvmffi_cuda_config *c) {
  char what[512];
  tvmffi_i_text text = {what, 0, sizeof(what)};
  tvmffi_i_append(&text, kernel);
  tvmffi_i_append(&text, ": device ");
  tvmffi_i_append_int(&text, c->device.device_id);
  tvmffi_cuda_i_append(&text, ", grid ", " x ", c->grid, 3);
  tvmffi_cuda_i_append(&text, ", block ", " x ", c->block, 3);
  tvmffi_cuda_i_append(&text, ", cluster ", " x ", c->cluster, 3);
  tvmffi_cuda_i_append(&text, ", ", "", &c->shared_bytes, 1);
  tvmffi_i_append(&text, " bytes of dynamic shared memory");
  return tvmffi_cuda_i_fail(d, result, "cuLaunchKernelEx", what);
}

/* Raises the error of wrong arguments. `sizes` is NULL if only the number is
   known. */
TVMFFI_I_COLD int tvmffi_cuda_i_misfit(const tvmffi_cuda_kernel *kernel,
                                       int count, const size_t *sizes) {
  char given[256], wanted[256];
  const int params = kernel->params - 1;
  int64_t bytes[TVMFFI_CUDA_I_PARAMS];
  tvmffi_i_text text = {given, 0, sizeof(given)};
  int i, side;
  for (side = 0; side < 2; ++side) {
    const int most = side ? params : count;
    const int known = most < TVMFFI_CUDA_I_PARAMS ? most : TVMFFI_CUDA_I_PARAMS;
    text.data = side ? wanted : given;
    text.size = 0;
    text.data[0] = 0;
    for (i = 0; i < known; ++i)
      bytes[i] = (int64_t)(side ? kernel->sizes[i] : sizes[i]);
    tvmffi_cuda_i_append(&text, " of ", ", ", bytes, known);
    if (known < most) tvmffi_i_append(&text, ", ...");
    if (known) tvmffi_i_append(&text, " bytes");
  }
  return TVMFFI_RAISE(
      "TypeError",
      "CUDA kernel %s: the launch has %d argument%s%s, but the kernel has %d "
      "parameter%s%s",
      kernel->name, count, count == 1 ? "" : "s", given, params,
      params == 1 ? "" : "s", wanted);
}

/* Compares the arguments of a launch with the kernel's parameters. */
TVMFFI_I_INLINE int tvmffi_cuda_i_check_args(const tvmffi_cuda_kernel *kernel,
                                             int count, const size_t *sizes) {
  int i = 0;
  if (!kernel->params) return 0;
  if (kernel->params == count + 1)
    while (i < count && sizes[i] == kernel->sizes[i]) ++i;
  if (TVMFFI_I_LIKELY(kernel->params == count + 1 && i == count)) return 0;
  return tvmffi_cuda_i_misfit(kernel, count, sizes);
}

/* Launches on the device that is current. `count` is the number of arguments,
   and -1 if it is not known. */
TVMFFI_I_INLINE int tvmffi_cuda_i_launch(tvmffi_cuda_kernel *kernel,
                                         const tvmffi_cuda_config *config,
                                         const tvmffi_cuda_i_config *converted,
                                         void **args, int count,
                                         const size_t *sizes) {
  const tvmffi_cuda_i_driver *d;
  int id = config->device.device_id, result;
  TVMFFI_TRY(tvmffi_cuda_i_need_kernel(kernel, &d));
  if (count >= 0) TVMFFI_TRY(tvmffi_cuda_i_check_args(kernel, count, sizes));
  if (config->shared_bytes > TVMFFI_I_LOAD(&kernel->shared_bytes[id]))
    TVMFFI_TRY(tvmffi_cuda_i_grow_shared(kernel, id, config->shared_bytes));
  result = d->launch(converted, kernel->handle, args, NULL);
  if (!result) return 0;
  return tvmffi_cuda_i_not_launched(d, result, kernel->name, config);
}

TVMFFI_I_INLINE int tvmffi_cuda_i_launch_on(tvmffi_cuda_kernel *kernel,
                                            const tvmffi_cuda_config *config,
                                            void **args, int count,
                                            const size_t *sizes) {
  tvmffi_cuda_i_attribute attributes[3];
  tvmffi_cuda_i_config converted;
  tvmffi_cuda_guard guard;
  int code;
  TVMFFI_TRY(
      tvmffi_cuda_i_convert(kernel->name, config, &converted, attributes));
  TVMFFI_TRY(tvmffi_cuda_guard_enter(config->device.device_id, &guard));
  code = tvmffi_cuda_i_launch(kernel, config, &converted, args, count, sizes);
  if (!code) return tvmffi_cuda_guard_leave(&guard);
  /* The first error is the one to report. */
  if (guard.is_changed)
    (void)tvmffi_cuda_i_state.driver.set_current(guard.previous);
  return code;
}

/* Does the same as TVMFFI_CUDA_LAUNCH, with an array of the addresses of the
   kernel's parameters. Their number and sizes are not checked; but NULL stands
   for no parameters. */
TVMFFI_I_INLINE int tvmffi_cuda_launch(tvmffi_cuda_kernel *kernel,
                                       const tvmffi_cuda_config *config,
                                       void **args) {
  return tvmffi_cuda_i_launch_on(kernel, config, args, args ? -1 : 0, NULL);
}

/* Launches a kernel, and returns while it runs: TVMFFI_CUDA_LAUNCH(kernel,
   config, arguments...). The first launch loads the library. The thread's
   current device is the same afterwards. The arguments are variables, 1 to 32,
   of the types of the kernel's parameters; they are read before the return. All
   pointers are borrowed. Returns 0, or -1 with an error: a ValueError for a bad
   configuration, a TypeError for another number or other sizes of arguments
   than the kernel has if the driver supports CUDA 12.4, else a RuntimeError. An
   error inside the kernel appears in a later call. */
#define TVMFFI_CUDA_LAUNCH(kernel, config, ...)             \
  TVMFFI_CUDA_I_LAUNCH(TVMFFI_I_COUNT(__VA_ARGS__, ~), kernel, config, \
                       __VA_ARGS__, ~)
#define TVMFFI_CUDA_I_LAUNCH(n, kernel, config, ...) \
  tvmffi_cuda_i_launch_values(                       \
      kernel, config,                                \
      (n)-1 TVMFFI_I_EACH(n)(TVMFFI_CUDA_I_VALUE, ~, __VA_ARGS__))
#define TVMFFI_CUDA_I_VALUE(x, value) \
  , TVMFFI_I_AS(const void *, &(value)), sizeof(value)

static TVMFFI_I_UNUSED int tvmffi_cuda_i_launch_values(
    tvmffi_cuda_kernel *kernel, const tvmffi_cuda_config *config, int count,
    ...) {
  void *args[TVMFFI_CUDA_I_PARAMS];
  size_t sizes[TVMFFI_CUDA_I_PARAMS];
  va_list list;
  int i;
  va_start(list, count);
  for (i = 0; i < count; ++i) {
    args[i] = va_arg(list, void *);
    sizes[i] = va_arg(list, size_t);
  }
  va_end(list);
  return tvmffi_cuda_i_launch_on(kernel, config, args, count, sizes);
}

#ifdef __cplusplus
}
#endif

#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#endif /* TVMFFI_CUDA_H_ */
