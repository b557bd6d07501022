/* The types, constants and functions of the driver that tvmffi_cuda.h declares
   under its own names, against cuda.h. */
#include <cuda.h>

#include "hosts/cuda/tvmffi_cuda.h"

#define SAME(ours, theirs) \
  TVMFFI_STATIC_ASSERT((int)(ours) == (int)(theirs), ours)
#define SAME_MEMBER(ours, theirs)                              \
  TVMFFI_STATIC_ASSERT(offsetof(tvmffi_cuda_i_config, ours) == \
                           offsetof(CUlaunchConfig, theirs),   \
                       theirs)

SAME(TVMFFI_CUDA_I_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
SAME(TVMFFI_CUDA_I_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT);
SAME(TVMFFI_CUDA_I_BLOCK_SHARED_OPTIN,
     CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(TVMFFI_CUDA_I_STATIC_SHARED, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(TVMFFI_CUDA_I_DYNAMIC_SHARED,
     CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(TVMFFI_CUDA_I_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
SAME(TVMFFI_CUDA_I_CLUSTER, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
SAME(TVMFFI_CUDA_I_DEPENDENT,
     CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);

TVMFFI_STATIC_ASSERT(sizeof(tvmffi_cuda_i_config) == sizeof(CUlaunchConfig),
                     config_size);
SAME_MEMBER(grid, gridDimX);
SAME_MEMBER(block, blockDimX);
SAME_MEMBER(shared_bytes, sharedMemBytes);
SAME_MEMBER(stream, hStream);
SAME_MEMBER(attributes, attrs);
SAME_MEMBER(num_attributes, numAttrs);
TVMFFI_STATIC_ASSERT(sizeof(tvmffi_cuda_i_attribute) ==
                         sizeof(CUlaunchAttribute),
                     attribute_size);
TVMFFI_STATIC_ASSERT(offsetof(tvmffi_cuda_i_attribute, value) ==
                         offsetof(CUlaunchAttribute, value),
                     attribute_value);
TVMFFI_STATIC_ASSERT(sizeof(CUresult) == sizeof(int), result_size);
TVMFFI_STATIC_ASSERT(sizeof(CUdevice) == sizeof(int), device_size);

/* The driver's functions, called as by tvmffi_cuda.h: the compiler checks the
   number of parameters, and that each converts. */
int as_the_driver(CUlibrary l, CUkernel k, CUcontext *c,
                  const CUlaunchConfig *config, CUlibrary *lp, CUkernel *kp);
int as_the_driver(CUlibrary l, CUkernel k, CUcontext *c,
                  const CUlaunchConfig *config, CUlibrary *lp, CUkernel *kp) {
  const char *text;
  size_t size = 0;
  int out = 0, codes = (int)size;
  codes |= (int)cuInit(0u) | (int)cuGetErrorName((CUresult)1, &text);
  codes |= (int)cuGetErrorString((CUresult)1, &text);
  codes |= (int)cuDeviceGetCount(&out) | (int)cuDeviceGet(&out, 0);
  codes |= (int)cuDeviceGetAttribute(&out, (CUdevice_attribute)97, 0);
  codes |= (int)cuDevicePrimaryCtxRetain(c, 0);
  codes |= (int)cuDevicePrimaryCtxRelease_v2(0) | (int)cuCtxGetDevice(&out);
  codes |= (int)cuCtxGetCurrent(c) | (int)cuCtxSetCurrent(*c);
  codes |= (int)cuLibraryLoadData(lp, text, NULL, NULL, 0, NULL, NULL, 0);
  codes |= (int)cuLibraryUnload(l) | (int)cuLibraryGetKernel(kp, l, text);
  codes |= (int)cuKernelGetAttribute(&out, (CUfunction_attribute)1, k, 0);
  codes |= (int)cuKernelSetAttribute((CUfunction_attribute)8, 1, k, 0);
#if CUDA_VERSION >= 12040
  codes |= (int)cuKernelGetParamInfo(k, (size_t)0, &size, &size);
#endif
  codes |= (int)cuLaunchKernelEx(config, (CUfunction)k, NULL, NULL);
  return codes;
}
