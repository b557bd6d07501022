/* TVMFFIAny represents any value in 16 bytes: a type index in the first four,
   the value in the last eight. */
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <stdio.h>
#include <string.h>

#define CHECK(x) TVMFFI_TRY((x) ? 0 : TVMFFI_RAISE("AssertionError", "%s", #x))

/* Makes an Any from a plain value. Set unused bytes to 0, because Anys are
   hashed and compared as a whole. tvmffi_int(42) and tvmffi_float(2.5) do all
   this. */
static TVMFFIAny any_from_int(int64_t value) {
  TVMFFIAny any;
  any.type_index = kTVMFFIInt;
  any.zero_padding = 0;
  any.v_int64 = value;
  return any;
}

static TVMFFIAny any_from_float(double value) {
  TVMFFIAny any;
  any.type_index = kTVMFFIFloat;
  any.zero_padding = 0;
  any.v_float64 = value;
  return any;
}

/* An Any that refers to an object has the object's type index. The result is a
   view: it borrows the object. To make it own a reference, retain the object.
 */
static TVMFFIAny any_from_object(TVMFFIObject *object) {
  TVMFFIAny any;
  any.type_index = object->type_index;
  any.zero_padding = 0;
  any.v_obj = object;
  return any;
}

/* Check the type before you read. A bool may be read as an int, and both may be
   read as a float. */
static int read_int(const TVMFFIAny *any, int64_t *out) {
  if (any->type_index != kTVMFFIInt && any->type_index != kTVMFFIBool)
    return TVMFFI_RAISE("TypeError", "Not an int: type %d", any->type_index);
  *out = any->v_int64;
  return 0;
}

static int read_float(const TVMFFIAny *any, double *out) {
  int64_t whole = 0;
  if (any->type_index == kTVMFFIFloat) {
    *out = any->v_float64;
    return 0;
  }
  TVMFFI_TRY(read_int(any, &whole));
  *out = (double)whole;
  return 0;
}

/* A tensor argument is either a tensor object, which contains a DLTensor, or a
   bare DLTensor pointer. */
static int read_tensor(const TVMFFIAny *any, DLTensor **out) {
  if (any->type_index == kTVMFFITensor)
    *out = TVMFFITensorGetDLTensorPtr(any->v_obj);
  else if (any->type_index == kTVMFFIDLTensorPtr)
    *out = (DLTensor *)any->v_ptr;
  else
    return TVMFFI_RAISE("TypeError", "Not a tensor: type %d", any->type_index);
  return 0;
}

/* Type indices from kTVMFFIStaticObjectBegin on are objects. */
static int read_object(const TVMFFIAny *any, TVMFFIObject **out) {
  if (any->type_index < kTVMFFIStaticObjectBegin)
    return TVMFFI_RAISE("TypeError", "Not an object: type %d", any->type_index);
  *out = any->v_obj;
  return 0;
}

static int plain_values(void) {
  TVMFFIAny answer = any_from_int(42), half = any_from_float(0.5);
  int64_t i = 0;
  double d = 0;
  TVMFFI_TRY(read_int(&answer, &i));
  CHECK(i == 42);
  TVMFFI_TRY(read_float(&answer, &d));
  CHECK(d == 42.0);
  TVMFFI_TRY(read_float(&half, &d));
  CHECK(d == 0.5);
  CHECK(read_int(&half, &i) == -1); /* a float is not read as an int */
  tvmffi_error_clear();
  return 0;
}

static int tensors(void) {
  int64_t shape[1] = {3}, strides[1] = {1};
  float numbers[3] = {1, 2, 3};
  DLTensor vector, *same = NULL;
  TVMFFIAny any;
  memset(&vector, 0, sizeof(vector));
  vector.data = numbers;
  vector.device = TVMFFIDLDeviceFromIntPair(kDLCPU, 0);
  vector.ndim = 1;
  vector.dtype.code = kDLFloat;
  vector.dtype.bits = 32;
  vector.dtype.lanes = 1;
  vector.shape = shape;
  vector.strides = strides;
  any = tvmffi_tensor(&vector); /* borrowed: the pointer itself */
  TVMFFI_TRY(read_tensor(&any, &same));
  CHECK(same == &vector && TVMFFI_DATA(same, float)[2] == 3);
  return 0;
}

/* TVMFFIAnyViewToOwnedAny converts a view to an owned Any. It copies a raw C
   string: into the Any itself up to 7 bytes, else into a new object. */
static int owned_values(void) {
  TVMFFI_SCOPE; /* what is attached to it is released at its end */
  TVMFFIAny view = tvmffi_str("a string that needs an object"), owned, small;
  TVMFFIObject *object = NULL;
  CHECK(view.type_index == kTVMFFIRawStr);
  CHECK(read_object(&view, &object) == -1);
  tvmffi_error_clear();

  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(&view, &owned));
  CHECK(owned.type_index == kTVMFFIStr && owned.v_c_str != view.v_c_str);
  TVMFFI_TRY(read_object(&owned, &object));
  if (!tvmffi_scope_attach(object)) return -1;
  view = any_from_object(object);
  CHECK(strcmp(tvmffi_any_str(&view).data, "a string that needs an object") ==
        0);

  view = tvmffi_str("short");
  TVMFFI_TRY(TVMFFIAnyViewToOwnedAny(&view, &small));
  CHECK(small.type_index == kTVMFFISmallStr && small.small_str_len == 5);
  CHECK(strcmp(small.v_bytes, "short") == 0);
  return 0;
}

static int run(void) {
  TVMFFI_TRY(plain_values());
  TVMFFI_TRY(tensors());
  TVMFFI_TRY(owned_values());
  printf("an Any has %d bytes and holds any value\n", (int)sizeof(TVMFFIAny));
  return 0;
}

int main(void) { return run() ? (tvmffi_error_print(stderr), 1) : 0; }
