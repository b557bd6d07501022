/* Times a handler without XLA: calls it with one call frame, again and again.
 */
#include <time.h>
#include <xla/ffi/api/c_api.h>

/* Returns the nanoseconds of a call, the mean of n calls, or -1 if one failed.
   `api` is that of a running XLA. */
double time_handler(XLA_FFI_Handler *handler, const XLA_FFI_Api *api, long n);
double time_handler(XLA_FFI_Handler *handler, const XLA_FFI_Api *api, long n) {
  static float data[3][4];
  int64_t dims[] = {4};
  double a = 2;
  XLA_FFI_Buffer buffers[3];
  void *args[2] = {&buffers[0], &buffers[1]}, *rets[] = {&buffers[2]};
  XLA_FFI_ArgType arg_types[] = {XLA_FFI_ArgType_BUFFER,
                                 XLA_FFI_ArgType_BUFFER};
  XLA_FFI_RetType ret_types[] = {XLA_FFI_RetType_BUFFER};
  XLA_FFI_AttrType attr_types[] = {XLA_FFI_AttrType_SCALAR};
  XLA_FFI_Scalar scalar = {XLA_FFI_DataType_F64, &a};
  XLA_FFI_ByteSpan name = {"a", 1}, *names[] = {&name};
  void *attrs[] = {&scalar};
  XLA_FFI_CallFrame frame = {
      XLA_FFI_CallFrame_STRUCT_SIZE,
      NULL,
      api,
      NULL,
      XLA_FFI_ExecutionStage_EXECUTE,
      {XLA_FFI_Args_STRUCT_SIZE, NULL, 2, arg_types, args},
      {XLA_FFI_Rets_STRUCT_SIZE, NULL, 1, ret_types, rets},
      {XLA_FFI_Attrs_STRUCT_SIZE, NULL, 1, attr_types, names, attrs},
      NULL};
  struct timespec begin, end;
  for (int i = 0; i < 3; ++i) {
    const XLA_FFI_Buffer buffer = {XLA_FFI_Buffer_STRUCT_SIZE,
                                   NULL,
                                   XLA_FFI_DataType_F32,
                                   data[i],
                                   1,
                                   dims};
    buffers[i] = buffer;
  }
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (long i = 0; i < n; ++i)
    if (handler(&frame)) return -1;
  clock_gettime(CLOCK_MONOTONIC, &end);
  return ((double)(end.tv_sec - begin.tv_sec) * 1e9 +
          (double)(end.tv_nsec - begin.tv_nsec)) /
         (double)n;
}
