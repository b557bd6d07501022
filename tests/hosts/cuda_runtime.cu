/* A typed function in a .cu file: the kernel is launched by CUDA's runtime, and
   again by tvmffi_cuda.h. */
#include <cuda_runtime.h>

#include "hosts/cuda/tvmffi_cuda.h"

extern "C" __global__ void twice(const float *x, float *y, long long n) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}

TVMFFI_EXPORT(twice_by_runtime, none, (tensor("float32[n] cuda"), x),
              (tensor("float32[n] cuda out"), y)) {
  int64_t n = x->shape[0];
  tvmffi_cuda_guard guard;
  cudaStream_t stream = static_cast<cudaStream_t>(
      TVMFFIEnvGetStream(kDLCUDA, x->device.device_id));
  if (!n) TVMFFI_RETURN();
  TVMFFI_TRY(tvmffi_cuda_guard_enter(x->device.device_id, &guard));
  twice<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(
      TVMFFI_DATA(x, float), TVMFFI_DATA(y, float), n);
  TVMFFI_TRY(tvmffi_cuda_guard_leave(&guard));
  TVMFFI_CUDA_RUNTIME_TRY(cudaGetLastError());
  TVMFFI_RETURN();
}

TVMFFI_EXPORT(runtime_device_count, int64) {
  int n = 0;
  TVMFFI_CUDA_RUNTIME_TRY(cudaGetDeviceCount(&n));
  TVMFFI_RETURN(n);
}
