// A language of a few nodes: variables, sums and functions of parameters.
#ifndef TESTS_CXX_IR_HPP_
#define TESTS_CXX_IR_HPP_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <utility>

namespace ir {

namespace ffi = tvm::ffi;
namespace refl = tvm::ffi::reflection;

class VarObj : public ffi::Object {
 public:
  ffi::String name;
  VarObj() = default;
  explicit VarObj(ffi::String n) : name(std::move(n)) {}
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind =
      kTVMFFISEqHashKindFreeVar;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.ir.Var", VarObj, ffi::Object);
};

class Var : public ffi::ObjectRef {
 public:
  explicit Var(ffi::String name)
      : ffi::ObjectRef(ffi::make_object<VarObj>(std::move(name))) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Var, ffi::ObjectRef, VarObj);
};

// A sum of any values, with a remark that does not count.
class SumObj : public ffi::Object {
 public:
  ffi::Array<ffi::Any> terms;
  ffi::String remark;
  SumObj() = default;
  SumObj(ffi::Array<ffi::Any> t, ffi::String r)
      : terms(std::move(t)), remark(std::move(r)) {}
  static constexpr bool _type_mutable = true;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind =
      kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.ir.Sum", SumObj, ffi::Object);
};

class Sum : public ffi::ObjectRef {
 public:
  explicit Sum(ffi::Array<ffi::Any> terms, ffi::String remark = "")
      : ffi::ObjectRef(
            ffi::make_object<SumObj>(std::move(terms), std::move(remark))) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Sum, ffi::ObjectRef, SumObj);
};

class FuncObj : public ffi::Object {
 public:
  ffi::Array<Var> params;
  ffi::Any body;
  FuncObj() = default;
  FuncObj(ffi::Array<Var> p, ffi::Any b)
      : params(std::move(p)), body(std::move(b)) {}
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind =
      kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.ir.Func", FuncObj, ffi::Object);
};

class Func : public ffi::ObjectRef {
 public:
  Func(ffi::Array<Var> params, ffi::Any body)
      : ffi::ObjectRef(
            ffi::make_object<FuncObj>(std::move(params), std::move(body))) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Func, ffi::ObjectRef, FuncObj);
};

inline void register_types() {
  refl::ObjectDef<VarObj>().def_ro("name", &VarObj::name,
                                   refl::AttachFieldFlag::SEqHashIgnore());
  refl::ObjectDef<SumObj>()
      .def_ro("terms", &SumObj::terms)
      .def_rw("remark", &SumObj::remark,
              refl::AttachFieldFlag::SEqHashIgnore());
  refl::ObjectDef<FuncObj>()
      .def_ro("params", &FuncObj::params,
              refl::AttachFieldFlag::SEqHashDefPattern())
      .def_ro("body", &FuncObj::body);
}

// The function of one parameter that adds something to it.
inline Func add(const char *name, ffi::Any what, const char *remark = "") {
  Var x{ffi::String(name)};
  return Func({x}, Sum({x, std::move(what)}, remark));
}

}  // namespace ir

#endif  // TESTS_CXX_IR_HPP_
