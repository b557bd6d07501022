/* z = x + y, one element a thread. */
extern "C" __global__ void add(const float *x, const float *y, float *z,
                               long long n) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}
