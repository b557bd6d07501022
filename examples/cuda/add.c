/* A CUDA kernel in a C library. The library carries the kernel of add.cu as
   bytes, and needs the NVIDIA driver at the first call only.

       nvcc -fatbin -arch=all-major -o add.fatbin examples/cuda/add.cu
       cc -shared -fPIC -O2 -I. -Ihosts/cuda examples/cuda/add.c -o add.so
       python examples/cuda/run_on_gpu.py add.so */
#include "tvmffi_cuda.h"

TVMFFI_CUDA_EMBED(add_image, "add.fatbin")
TVMFFI_CUDA_LIBRARY(add_library, add_image);
TVMFFI_CUDA_KERNEL(add_kernel, add_library, "add");

/* z = x + y on the device and the stream of x. */
TVMFFI_EXPORT(add, none, (tensor("float32[n] cuda"), x),
              (tensor("float32[n] cuda"), y),
              (tensor("float32[n] cuda out"), z)) {
  int64_t n = x->shape[0];
  const float *px = TVMFFI_DATA(x, float), *py = TVMFFI_DATA(y, float);
  float *pz = TVMFFI_DATA(z, float);
  tvmffi_cuda_config c =
      tvmffi_cuda_config_make(x->device, (n + 255) / 256, 256);
  if (n) TVMFFI_TRY(TVMFFI_CUDA_LAUNCH(&add_kernel, &c, px, py, pz, n));
  TVMFFI_RETURN();
}

/* Returns the number of devices. */
TVMFFI_EXPORT(device_count, int64) {
  int n = 0;
  TVMFFI_TRY(tvmffi_cuda_device_count(&n));
  TVMFFI_RETURN(n);
}
