/* The device that is not the CPU: WebGPU's, in webgpu.c. */
#ifndef WEB_DEVICE_H_
#define WEB_DEVICE_H_

#include "web.h"

/* 1: the module has the device. */
#ifndef WEB_GPU
#define WEB_GPU 0
#endif

/* The memory of a contiguous tensor. */
typedef struct web_device web_device;
typedef struct {
  char *data; /* an address, or the number of a device's buffer */
  size_t size;
#if WEB_GPU
  const web_device *device; /* NULL for the CPU */
  size_t offset;            /* in bytes, of a device's buffer */
#endif
} web_memory;

/* The functions of a device. One that returns int returns 0, or -1 with a
   raised error. */
struct web_device {
  int (*allocate)(size_t size, void **data);
  void (*release)(void *data);
  /* Copies to->size bytes; one of the two may be on the CPU. A copy to the CPU
     is complete after sync. */
  int (*copy)(const web_memory *to, const web_memory *from);
  int (*sync)(void);
  /* Allocate and release memory that is used during one call of a function. */
  int (*take_workspace)(size_t size, void **data);
  void (*give_workspace)(void *data);
};

extern const web_device web_gpu;

/* Sets *out to the functions of a device, or to NULL for the CPU. Raises a
   ValueError if the module does not have the device. */
int web_device_of(DLDevice device, const web_device **out);

#endif
