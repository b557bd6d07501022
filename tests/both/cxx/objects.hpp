// Object types that several of the test programs use.
#ifndef TESTS_CXX_OBJECTS_HPP_
#define TESTS_CXX_OBJECTS_HPP_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <utility>

namespace testing {

namespace ffi = tvm::ffi;

// Counts the live ones, so that a leak or a double release is seen.
class NumberObj : public ffi::Object {
 public:
  static inline int alive = 0;
  NumberObj() { ++alive; }
  NumberObj(const NumberObj &other) : ffi::Object(other) { ++alive; }
  ~NumberObj() { --alive; }

  static constexpr uint32_t _type_child_slots = 2;
  TVM_FFI_DECLARE_OBJECT_INFO("test.Number", NumberObj, ffi::Object);
};

class Number : public ffi::ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Number, ffi::ObjectRef, NumberObj);
};

class IntObj : public NumberObj {
 public:
  int64_t value = 0;
  IntObj() = default;
  explicit IntObj(int64_t v) : value(v) {}
  int64_t get() const { return value; }

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.Int", IntObj, NumberObj);
};

class Int : public Number {
 public:
  explicit Int(int64_t value) { data_ = ffi::make_object<IntObj>(value); }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Int, Number, IntObj);
};

class FloatObj : public NumberObj {
 public:
  static constexpr bool _type_mutable = true;
  double value = 0;
  FloatObj() = default;
  explicit FloatObj(double v) : value(v) {}
  double add(double other) const { return value + other; }
  void set(double v) { value = v; }

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.Float", FloatObj, NumberObj);
};

class Float : public Number {
 public:
  explicit Float(double value) { data_ = ffi::make_object<FloatObj>(value); }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Float, Number, FloatObj);
};

// Never NULL, and made from an int or a str as well.
class ExprObj : public ffi::Object {
 public:
  ffi::String dtype;
  double value = 0;
  ExprObj(ffi::String d, double v) : dtype(std::move(d)), value(v) {}

  TVM_FFI_DECLARE_OBJECT_INFO("test.Expr", ExprObj, ffi::Object);
};

class Expr : public ffi::ObjectRef {
 public:
  Expr(ffi::String dtype, double value)
      : ffi::ObjectRef(ffi::make_object<ExprObj>(std::move(dtype), value)) {}
  explicit Expr(int64_t value) : Expr("int64", static_cast<double>(value)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Expr, ffi::ObjectRef, ExprObj);
};

}  // namespace testing

namespace tvm {
namespace ffi {
template <>
inline constexpr bool use_default_type_traits_v<::testing::Expr> = false;

template <>
struct TypeTraits<::testing::Expr>
    : public ObjectRefWithFallbackTraitsBase<::testing::Expr, StrictBool,
                                             int64_t, double, String> {
  static ::testing::Expr ConvertFallbackValue(StrictBool value) {
    return ::testing::Expr("bool", static_cast<bool>(value));
  }
  static ::testing::Expr ConvertFallbackValue(int64_t value) {
    return ::testing::Expr(value);
  }
  static ::testing::Expr ConvertFallbackValue(double value) {
    return ::testing::Expr("float32", value);
  }
  static ::testing::Expr ConvertFallbackValue(String value) {
    return ::testing::Expr(std::move(value), 0);
  }
};
}  // namespace ffi
}  // namespace tvm

#endif  // TESTS_CXX_OBJECTS_HPP_
