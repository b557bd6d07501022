/* The calls that program.c and board.c make. The file that includes this one
   defines show(name, tensor), which prints a vector. */
static DLTensor tensor_of(float *data, int32_t ndim, int64_t *shape) {
  DLTensor t = {0};
  t.data = data;
  t.device.device_type = kDLCPU;
  t.dtype.code = kDLFloat, t.dtype.bits = 32, t.dtype.lanes = 1;
  t.ndim = ndim;
  t.shape = shape;
  return t;
}

static int call_kernels(void) {
  TVMFFI_SCOPE;
  float matrix[6] = {0, 1, 2, 3, 4, 5}, ones[3] = {1, 1, 1}, out[3] = {0};
  int64_t two_by_three[2] = {2, 3}, three = 3;
  DLTensor x = tensor_of(matrix, 2, two_by_three);
  DLTensor row = tensor_of(matrix, 1, &three);
  DLTensor y = tensor_of(ones, 1, &three), z = tensor_of(out, 1, &three);
  TVMFFIObject *sums;
  TVMFFI_TRY(TVMFFI_REGISTER("row_sums", row_sums));
  TVMFFI_TRY(TVMFFI_REGISTER("axpy", axpy));
  TVMFFI_TRY(TVMFFI_REGISTER("scale", scale));
  TVMFFI_TRY(tvmffi_call("row_sums", &sums, &x));
  show("row_sums", TVMFFITensorGetDLTensorPtr(sums));
  TVMFFI_TRY(tvmffi_call("axpy", NULL, 2.0, &row, &y));
  show("axpy", &y);
  TVMFFI_TRY(tvmffi_call("scale", NULL, &row, tvmffi_none(), &z));
  show("scale", &z);
  TVMFFI_TRY(tvmffi_call("scale", NULL, &row, &y, &z, 3.0));
  show("scale with bias", &z);
  return 0;
}
