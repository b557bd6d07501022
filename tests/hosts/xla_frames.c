/* Handlers called with call frames as other versions of XLA and other devices
   make them. Prints "ok". */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi_xla.h"

#include <stdio.h>
#include <stdlib.h>

/* Writes what the function sees of the device. */
TVMFFI_EXPORT(device, none, (tensor("int64[1] cuda out"), y),
              (bool, fails, 0)) {
  *TVMFFI_DATA(y, int64_t) =
      (int64_t)(intptr_t)TVMFFIEnvGetStream(kDLCUDA, y->device.device_id) * 10 +
      y->device.device_id;
  if (fails) return TVMFFI_RAISE("ValueError", "as told");
  TVMFFI_RETURN();
}
TVMFFI_XLA_HANDLER(device, cuda,
                   XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE)

TVMFFI_EXPORT(returns, tensor("int64[1] cuda"), (tensor, x)) {
  (void)x;
  return TVMFFI_RAISE("RuntimeError", "never called");
}
TVMFFI_XLA_HANDLER(returns, cuda)

/* Keeps its attribute. */
static TVMFFIObject *kept;
TVMFFI_EXPORT(keep, none, (tensor("any cpu out"), y), (object, value)) {
  (void)y;
  tvmffi_keep(&kept, value);
  TVMFFI_RETURN();
}
TVMFFI_XLA_HANDLER(keep)

/* ---- A stand-in for XLA's API, whose errors are texts ---- */

static char text[512];
static int num_errors; /* that live */
static int has_device = 1;

static XLA_FFI_Error *create(XLA_FFI_Error_Create_Args *args) {
  ++num_errors;
  snprintf(text, sizeof(text), "%d %s", (int)args->errc, args->message);
  return (XLA_FFI_Error *)text;
}
static void destroy(XLA_FFI_Error_Destroy_Args *args) {
  (void)args;
  --num_errors;
}
static XLA_FFI_Error *fail(void) {
  XLA_FFI_Error_Create_Args args = TVMFFI_I_ZERO;
  args.message = "no device";
  return create(&args);
}
static XLA_FFI_Error *get_stream(XLA_FFI_Stream_Get_Args *args) {
  args->stream = (void *)(intptr_t)7;
  return NULL;
}
static XLA_FFI_Error *get_device(XLA_FFI_DeviceOrdinal_Get_Args *args) {
  args->device_ordinal = 3;
  return has_device ? NULL : fail();
}

static XLA_FFI_Api api;
static int64_t written;
static int64_t one = 1;
static XLA_FFI_Buffer buffer;
static void *buffers[] = {&buffer};

static void reset(XLA_FFI_CallFrame *frame) {
  const XLA_FFI_CallFrame zero = TVMFFI_I_ZERO;
  *frame = zero;
  frame->struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
  frame->api = &api;
  frame->stage = XLA_FFI_ExecutionStage_EXECUTE;
  frame->args.struct_size = XLA_FFI_Args_STRUCT_SIZE;
  frame->rets.struct_size = XLA_FFI_Rets_STRUCT_SIZE;
  frame->attrs.struct_size = XLA_FFI_Attrs_STRUCT_SIZE;
  frame->rets.size = 1;
  frame->rets.rets = buffers;
  buffer.struct_size = XLA_FFI_Buffer_STRUCT_SIZE;
  buffer.dtype = XLA_FFI_DataType_S64;
  buffer.rank = 1;
  buffer.dims = &one;
  buffer.data = &written;
  written = 0;
}

static void check(int line, XLA_FFI_Error *error, const char *expected) {
  if (error) --num_errors;
  if (!strcmp(error ? (const char *)error : "none", expected) && !num_errors)
    return;
  printf("line %d: %s (%d live)\nexpected: %s\n", line,
         error ? (const char *)error : "none", num_errors, expected);
  exit(1);
}
#define CHECK(error, expected) check(__LINE__, error, expected)
#define CHECK_IS(a, b) \
  check(__LINE__, NULL, (long long)(a) == (long long)(b) ? "none" : #a)

static void versions(void) {
  static const char older[] =
      "9 this XLA's call frame is not that of c_api.h: compile with this "
      "jaxlib's";
  XLA_FFI_CallFrame frame;
  reset(&frame);
  frame.struct_size -= 1;
  CHECK(tvmffi_xla_device(&frame), older);
  reset(&frame);
  frame.struct_size += 8; /* a newer XLA's */
  CHECK(tvmffi_xla_device(&frame), "none");
  reset(&frame);
  frame.args.struct_size += 8;
  CHECK(tvmffi_xla_device(&frame), older);
  reset(&frame);
  frame.rets.struct_size += 8;
  CHECK(tvmffi_xla_device(&frame), older);
  reset(&frame);
  frame.attrs.struct_size += 8;
  CHECK(tvmffi_xla_device(&frame), older);
  reset(&frame);
  frame.stage = XLA_FFI_ExecutionStage_PREPARE;
  CHECK(tvmffi_xla_device(&frame),
        "3 ValueError: device is a handler of the stage execute, not of the "
        "stage 1");
  reset(&frame);
  buffer.dtype = XLA_FFI_DataType_TOKEN;
  CHECK(tvmffi_xla_device(&frame),
        "3 TypeError: device: argument `y`: XLA's data type 17 is no dtype");
  reset(&frame);
  buffer.dtype = (XLA_FFI_DataType)99;
  CHECK(tvmffi_xla_device(&frame),
        "3 TypeError: device: argument `y`: XLA's data type 99 is no dtype");
}

static void dimensions(void) {
  int64_t dims[129];
  XLA_FFI_CallFrame frame;
  int i;
  for (i = 0; i < 129; ++i) dims[i] = 1;
  reset(&frame);
  buffer.dims = dims;
  buffer.rank = 128;
  CHECK(tvmffi_xla_device(&frame),
        "3 ValueError: device: argument `y`: shape is [1, 1, 1, 1, 1, 1, 1, 1, "
        "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
        "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, ...], expected [1]");
  buffer.rank = 129;
  CHECK(tvmffi_xla_device(&frame),
        "3 ValueError: device: the tensors have more than 128 dimensions");
}

static void devices(void) {
  XLA_FFI_CallFrame frame;
  XLA_FFI_AttrType type = XLA_FFI_AttrType_SCALAR;
  XLA_FFI_ByteSpan name = {"fails", 5}, *names[] = {&name};
  uint8_t yes = 1;
  XLA_FFI_Scalar scalar = {XLA_FFI_DataType_PRED, &yes};
  void *attrs[] = {&scalar};
  (void)TVMFFIEnvSetStream(kDLCUDA, 3, (void *)(intptr_t)5, NULL);
  reset(&frame);
  CHECK(tvmffi_xla_device(&frame), "none");
  CHECK_IS(written, 73);
  CHECK_IS((intptr_t)TVMFFIEnvGetStream(kDLCUDA, 3), 5);
  frame.attrs.size = 1;
  frame.attrs.types = &type;
  frame.attrs.names = names;
  frame.attrs.attrs = attrs;
  CHECK(tvmffi_xla_device(&frame), "3 ValueError: as told");
  CHECK_IS((intptr_t)TVMFFIEnvGetStream(kDLCUDA, 3), 5);
  reset(&frame);
  has_device = 0;
  CHECK(tvmffi_xla_device(&frame),
        "13 RuntimeError: XLA has no device and stream for this call");
  has_device = 1;
  api.struct_size -= sizeof(void *); /* an older XLA's */
  CHECK(tvmffi_xla_device(&frame),
        "12 NotImplementedError: this XLA does not tell the number of its "
        "device");
  api.struct_size += sizeof(void *);
}

/* The call drops its references to what it makes of attributes. */
static void references(void) {
  XLA_FFI_CallFrame frame;
  XLA_FFI_AttrType type = XLA_FFI_AttrType_ARRAY;
  XLA_FFI_ByteSpan name = {"value", 5}, *names[] = {&name};
  XLA_FFI_ByteSpan span = {"a long text", 11};
  int16_t numbers[20] = TVMFFI_I_ZERO;
  XLA_FFI_Array array = {XLA_FFI_DataType_S16, 20, numbers};
  void *attrs[] = {&array};
  reset(&frame);
  frame.attrs.size = 1;
  frame.attrs.types = &type;
  frame.attrs.names = names;
  frame.attrs.attrs = attrs;
  CHECK(tvmffi_xla_keep(&frame), "none");
  CHECK_IS(kept->type_index, kTVMFFIArray);
  CHECK_IS(kept->combined_ref_count & UINT32_MAX, 1);
  type = XLA_FFI_AttrType_STRING;
  attrs[0] = &span;
  CHECK(tvmffi_xla_keep(&frame), "none");
  CHECK_IS(kept->type_index, kTVMFFIStr);
  CHECK_IS(kept->combined_ref_count & UINT32_MAX, 1);
  tvmffi_release(kept);
}

static void metadata(void) {
  XLA_FFI_CallFrame frame;
  XLA_FFI_Metadata answer = TVMFFI_I_ZERO;
  XLA_FFI_Metadata_Extension question = TVMFFI_I_ZERO;
  XLA_FFI_Extension_Base unknown = TVMFFI_I_ZERO;
  unknown.struct_size = sizeof(unknown);
  unknown.type = (XLA_FFI_Extension_Type)77;
  unknown.next = &question.extension_base;
  answer.struct_size = XLA_FFI_Metadata_STRUCT_SIZE;
  question.extension_base.struct_size = XLA_FFI_Metadata_Extension_STRUCT_SIZE;
  question.extension_base.type = XLA_FFI_Extension_Metadata;
  question.metadata = &answer;
  reset(&frame);
  frame.extension_start = &unknown;
  frame.stage = XLA_FFI_ExecutionStage_INSTANTIATE;
  CHECK(tvmffi_xla_device(&frame), "none");
  CHECK_IS(written, 0);
  CHECK_IS(answer.api_version.major_version, XLA_FFI_API_MAJOR);
  CHECK_IS(answer.api_version.minor_version, XLA_FFI_API_MINOR);
  CHECK_IS(answer.traits, XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE);
  CHECK(tvmffi_xla_returns(&frame),
        "3 TypeError: returns: the result has the type ffi.Tensor, which XLA "
        "allocates itself on this device: write to a tensor(\"... out\")");
  answer.struct_size -= 1;
  CHECK(tvmffi_xla_device(&frame),
        "13 RuntimeError: this XLA is older than its c_api.h");
  reset(&frame);
  unknown.next = NULL; /* nothing asks */
  frame.extension_start = &unknown;
  CHECK(tvmffi_xla_device(&frame), "none");
  CHECK_IS(written, 73);
}

int main(void) {
  api.struct_size = XLA_FFI_Api_STRUCT_SIZE;
  api.XLA_FFI_Error_Create = create;
  api.XLA_FFI_Error_Destroy = destroy;
  api.XLA_FFI_Stream_Get = get_stream;
  api.XLA_FFI_DeviceOrdinal_Get = get_device;
  versions();
  dimensions();
  devices();
  references();
  metadata();
  puts("ok");
  return 0;
}
