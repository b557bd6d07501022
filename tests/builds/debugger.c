/* Values for tests/builds/debugger.py, which stops in `stop` and prints them.
   Without TVMFFI_IMPLEMENTATION it uses a library's runtime. */
#include "tvmffi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  TVMFFIObject base;
  int8_t small;
  uint8_t large;
  double x;
  float half;
  tvmffi_type_bool flag;
  TVMFFIAny name;
  TVMFFIAny anything;
  TVMFFIObject *items;
  tvmffi_type_optional_int64 maybe;
  DLDataType dtype;
} Point;
TVMFFI_TYPE(Point, "demo.Point", TVMFFIObject, (field, int8, small),
            (field, uint8, large), (field, float64, x),
            (field, float32, half), (field, bool, flag), (field, str, name),
            (field, any, anything), (field, list, items, NULL),
            (field, optional(int64), maybe, tvmffi_no_int64()),
            (field, dtype, dtype, "float16"))

typedef struct {
  Point base;
  int64_t extra;
} Child;
TVMFFI_TYPE(Child, "demo.Child", Point, (field, int64, extra, 9))

TVMFFI_FUNC(square, int64, (int64, x)) { TVMFFI_RETURN(x * x); }
TVMFFI_FUNC(nameless, int64, (int64, x)) { TVMFFI_RETURN(x); }
TVMFFI_CLOSURE(count, int64_t, int64, (int64, step)) {
  TVMFFI_RETURN(*self += step);
}

void stop(void);
#if defined(__GNUC__)
__attribute__((__noinline__))
#endif
void stop(void) {}

static TVMFFIAny make_any(const char *text) {
  TVMFFIByteArray bytes;
  TVMFFIAny any;
  bytes.data = text;
  bytes.size = strlen(text);
  if (TVMFFIStringFromByteArray(&bytes, &any)) exit(3);
  return any;
}

static int run(const char *program) {
  TVMFFI_SCOPE;
  static int64_t state, shape[2] = {2, 3}, strides[2] = {1, 2};
  static float data[6];
  static DLManagedTensor managed;
  TVMFFIAny none = tvmffi_none(), integer = tvmffi_int(-42),
            number = TVMFFI_ANY(2.5), yes = tvmffi_bool(1),
            small = make_any("text"), large = make_any("a longer \"text\"\n"),
            raw = tvmffi_str("borrowed"), bytes, small_bytes, dtype, device,
            pointer, big, garbage, missing, in_any, big_map_any, nowhere;
  TVMFFIObjectHandle handle = NULL;
  TVMFFIObject *list, *array, *map, *table, *sizes, *function, *other, *closure,
      *error, *tensor, *cycle, *dead, *weak, *dead_large, *text, *module = NULL,
      *nothing = NULL, *wild = (TVMFFIObject *)16,
      *wrong = (TVMFFIObject *)(void *)data;
  TVMFFIByteArray view = tvmffi_byte_array("a view");
  DLDataType float16x4 = {kDLFloat, 16, 4};
  DLDevice cuda = {kDLCUDA, 1};
  DLTensor matrix, *matrix_pointer = &matrix;
  Point *point;
  Child *child;
  uint64_t words[2] = {0, 1};
  int i;

  memset(&matrix, 0, sizeof(matrix));
  matrix.data = data;
  matrix.device.device_type = kDLCPU;
  matrix.ndim = 2;
  matrix.dtype.code = kDLFloat;
  matrix.dtype.bits = 32;
  matrix.dtype.lanes = 1;
  matrix.shape = shape;
  matrix.strides = strides;
  pointer = TVMFFI_ANY((void *)0x1234);
  memset(&garbage, 0xAB, sizeof(garbage));
  memset(&missing, 0, sizeof(missing));
  missing.type_index = kTVMFFIList;
  memset(&nowhere, 0, sizeof(nowhere));
  nowhere.type_index = kTVMFFIStr;
  nowhere.v_ptr = (void *)16;
  {
    TVMFFIByteArray b = {"a\0b and more", 12}, w;
    TVMFFI_TRY(TVMFFIBytesFromByteArray(&b, &bytes));
    b.size = 3;
    TVMFFI_TRY(TVMFFIBytesFromByteArray(&b, &small_bytes));
    w.data = (const char *)words;
    w.size = sizeof(words);
    TVMFFI_TRY(TVMFFIBigIntFromByteArray(&w, &big));
  }
  TVMFFI_TRY(tvmffi_as("float32", &matrix.dtype));
  dtype = none;
  dtype.type_index = kTVMFFIDataType;
  dtype.v_dtype = float16x4;
  device = none;
  device.type_index = kTVMFFIDevice;
  device.v_device = cuda;

  list = tvmffi_list(1, 2.5, "three");
  array = tvmffi_array(list, 1, "a text that is not small");
  map = tvmffi_map("a", 1, "b", list);
  table = tvmffi_dict();
  for (i = 0; i < 40; ++i) TVMFFI_TRY(tvmffi_set(table, i * 7, i));
  TVMFFI_TRY(tvmffi_erase(table, 7));
  sizes = tvmffi_shape(2, 3, 4);
  TVMFFI_TRY(TVMFFI_REGISTER("demo.square", square));
  TVMFFI_TRY(tvmffi_global_get("demo.square", &function));
  TVMFFI_TRY(TVMFFI_FUNCTION_NEW(nameless, &other));
  TVMFFI_TRY(TVMFFI_CLOSURE_NEW(count, &state, NULL, &closure));
  cycle = tvmffi_list(1);
  TVMFFI_TRY(tvmffi_append(cycle, cycle));
  (void)TVMFFI_RAISE("ValueError", "the cause");
  (void)TVMFFI_RAISE_FROM(tvmffi_error_take(), "TypeError", "not \"%s\"", "it");
  error = tvmffi_error_take();
  point = TVMFFI_NEW(Point, -3, 200, 1.5, 0.25, 1, "a point", 7);
  if (!point) return -1;
  tvmffi_keep(&point->items, list);
  child = TVMFFI_NEW(Child, 1, 2, 3.0, 4.0, 0, "child", point);
  if (!child) return -1;
  child->base.maybe = tvmffi_some_int64(5);
  managed.dl_tensor = matrix;
  TVMFFI_TRY(TVMFFITensorFromDLPack(&managed, 0, 0, &handle));
  tensor = (TVMFFIObject *)handle;
  text = large.v_obj;
  handle = text;
  in_any = tvmffi_obj(point);
  big_map_any = tvmffi_obj(table);
  {
    TVMFFI_SCOPE;
    weak = tvmffi_list(3);
    tvmffi_weak_retain(weak);
  }
  if (program) TVMFFI_TRY(tvmffi_call("ffi.ModuleLoadFromFile", &module,
                                      program));
  (void)TVMFFI_RAISE("KeyError", "raised and not taken");
  {
    TVMFFI_SCOPE;
    dead = tvmffi_list(1);
    (void)tvmffi_list(2); /* dies before */
  }
  dead_large = make_any(
      "A text of more than the 496 bytes that the free lists of a thread take, "
      "so that it is malloc's free that gets it ------------------------------"
      "-----------------------------------------------------------------------"
      "-----------------------------------------------------------------------"
      "-----------------------------------------------------------------------"
      "-----------------------------------------------------------------------"
      "-----------------------------------------------------------------------"
      "---").v_obj;
  tvmffi_release(dead_large);
  stop();
  tvmffi_error_clear();
  printf("%d\n", (int)(integer.v_int64 + number.v_int64 + yes.v_int64) != 0);
  (void)small, (void)raw, (void)bytes, (void)small_bytes, (void)dtype;
  (void)device, (void)pointer, (void)big, (void)garbage, (void)missing;
  (void)in_any, (void)big_map_any, (void)nowhere, (void)array, (void)map;
  (void)sizes, (void)function, (void)other, (void)closure, (void)error;
  (void)tensor, (void)nothing, (void)wild, (void)wrong, (void)view;
  (void)matrix_pointer, (void)child, (void)module, (void)handle, (void)dead;
  return 0;
}

int main(int argc, char **argv) {
  if (!run(argc > 1 ? argv[1] : NULL)) return 0;
  tvmffi_error_print(stderr);
  return 1;
}
