/* The functions of typed.c, by upstream's headers. */
#define TVM_FFI_DLL_EXPORT_INCLUDE_METADATA 1
#include <tvm/ffi/tvm_ffi.h>
#include <tvm/ffi/extra/module.h>
using namespace tvm::ffi;
#define X(name, T)                         \
  static T name##_typed(T x) { return x; } \
  TVM_FFI_DLL_EXPORT_TYPED_FUNC(name, name##_typed)
#define COMMA ,
X(id_array, Array<Any>)
X(id_list, List<Any>)
X(id_map, Map<Any COMMA Any>)
X(id_dict, Dict<Any COMMA Any>)
X(id_shape, Shape)
X(id_error, Error)
X(id_module, Module)
X(id_tensor_object, Tensor)
X(id_array_int, Array<int64_t>)
X(id_array_float, Array<double>)
X(id_array_str, Array<String>)
X(id_array_bool, Array<bool>)
X(id_list_int, List<int64_t>)
X(id_map_str_int, Map<String COMMA int64_t>)
X(id_dict_str_float, Dict<String COMMA double>)
X(id_map_any_int, Map<Any COMMA int64_t>)
X(id_array_map, Array<Map<String COMMA int64_t>>)
X(id_map_array, Map<String COMMA Array<int64_t>>)
X(id_array_opt, Array<Optional<int64_t>>)
X(id_array_shape, Array<Shape>)
X(id_array_any, Array<Array<Any>>)
X(opt_int, Optional<int64_t>)
X(opt_float, Optional<double>)
X(opt_bool, Optional<bool>)
X(opt_str, Optional<String>)
X(opt_bytes, Optional<Bytes>)
X(opt_dtype, Optional<DLDataType>)
X(opt_device, Optional<DLDevice>)
X(opt_shape, Optional<Shape>)
X(opt_func, Optional<Function>)
X(opt_array, Optional<Array<Any>>)
X(opt_array_int, Optional<Array<int64_t>>)
X(opt_map, Optional<Map<String COMMA Array<double>>>)
X(opt_object, Optional<ObjectRef>)
X(opt_tensor_object, Optional<Tensor>)
X(res_tensor, Optional<Tensor>)
static bool opt_tensor_typed(Optional<TensorView> x) { return x.has_value(); }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(opt_tensor, opt_tensor_typed)
static Array<Any> several_typed(Array<int64_t> a, Map<String, double> b,
                                Optional<Shape> c, int64_t d) {
  return Array<Any>{a, b, c, d};
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(several, several_typed)
