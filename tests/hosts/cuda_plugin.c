/* A library with a kernel, for cuda.c, which unloads it. */
#include "hosts/cuda/tvmffi_cuda.h"

TVMFFI_CUDA_EMBED(plugin_image, "cuda_kernels.ptx")
TVMFFI_CUDA_LIBRARY(plugin_library, plugin_image);
TVMFFI_CUDA_KERNEL(plugin_kernel, plugin_library, "scale");

TVMFFI_I_EXTERN_C __attribute__((visibility("default"))) int plugin_run(void);
int plugin_run(void) {
  DLDevice device = {kDLCUDA, 0};
  tvmffi_cuda_config c = tvmffi_cuda_config_make(device, 1, 1);
  return tvmffi_cuda_launch(&plugin_kernel, &c, NULL);
}
