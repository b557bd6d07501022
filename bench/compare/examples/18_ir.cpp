// A compiler's IR: nodes with fields, equality up to the names of variables, a
// hash that agrees, a walk, a rewrite, and JSON.
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/extra/serialization.h>
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ffi/extra/structural_hash.h>
#include <tvm/ffi/extra/structural_mutate.h>
#include <tvm/ffi/extra/structural_visit.h>
#include <tvm/ffi/tvm_ffi.h>

#include <iostream>

namespace ffi = tvm::ffi;
namespace refl = tvm::ffi::reflection;

#define CHECK(x) TVM_FFI_CHECK(x, AssertionError)

class ExprObj : public ffi::Object {
 public:
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind =
      kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO("ir.Expr", ExprObj, ffi::Object);
};

class Expr : public ffi::ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Expr, ffi::ObjectRef, ExprObj);
};

class ConstObj : public ExprObj {
 public:
  int64_t value;

  ConstObj() = default;  // for FromJSONGraph
  explicit ConstObj(int64_t value) : value(value) {}

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ir.Const", ConstObj, ExprObj);
};

class Const : public Expr {
 public:
  explicit Const(int64_t value) { data_ = ffi::make_object<ConstObj>(value); }

  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Const, Expr, ConstObj);
};

class VarObj : public ExprObj {
 public:
  ffi::String name;

  VarObj() = default;
  explicit VarObj(ffi::String name) : name(std::move(name)) {}

  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind =
      kTVMFFISEqHashKindFreeVar;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ir.Var", VarObj, ExprObj);
};

class Var : public Expr {
 public:
  explicit Var(ffi::String name) {
    data_ = ffi::make_object<VarObj>(std::move(name));
  }

  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Var, Expr, VarObj);
};

class AddObj : public ExprObj {
 public:
  Expr lhs, rhs;

  AddObj() = default;
  AddObj(Expr lhs, Expr rhs) : lhs(std::move(lhs)), rhs(std::move(rhs)) {}

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ir.Add", AddObj, ExprObj);
};

class Add : public Expr {
 public:
  Add(Expr lhs, Expr rhs) {
    data_ = ffi::make_object<AddObj>(std::move(lhs), std::move(rhs));
  }

  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Add, Expr, AddObj);
};

class LetObj : public ExprObj {
 public:
  Expr value;
  Var var;
  Expr body;

  LetObj() = default;
  LetObj(Expr value, Var var, Expr body)
      : value(std::move(value)), var(std::move(var)), body(std::move(body)) {}

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ir.Let", LetObj, ExprObj);
};

class Let : public Expr {
 public:
  Let(Expr value, Var var, Expr body) {
    data_ = ffi::make_object<LetObj>(std::move(value), std::move(var),
                                     std::move(body));
  }

  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Let, Expr, LetObj);
};

class FunctionObj : public ffi::Object {
 public:
  ffi::Array<Var> params;
  Expr body;

  FunctionObj() = default;
  FunctionObj(ffi::Array<Var> params, Expr body)
      : params(std::move(params)), body(std::move(body)) {}

  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind =
      kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ir.Function", FunctionObj, ffi::Object);
};

class Function : public ffi::ObjectRef {
 public:
  Function(ffi::Array<Var> params, Expr body) {
    data_ = ffi::make_object<FunctionObj>(std::move(params), std::move(body));
  }

  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Function, ffi::ObjectRef,
                                             FunctionObj);
};

static Function Sample(ffi::String x_name, ffi::String t_name) {
  Var x(x_name), t(t_name);
  Add five(Const(2), Const(3));
  return Function({x}, Let(Add(x, five), t, Add(t, x)));
}

// Replaces a sum of two constants.
static Expr Fold(Add add) {
  const ConstObj *a = add->lhs.as<ConstObj>(), *b = add->rhs.as<ConstObj>();
  if (!a || !b) return add;
  return Const(a->value + b->value);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::AttachFieldFlag definition = refl::AttachFieldFlag::SEqHashDefSimple();
  refl::ObjectDef<ExprObj>();
  refl::ObjectDef<ConstObj>().def_ro("value", &ConstObj::value);
  refl::ObjectDef<VarObj>().def_ro("name", &VarObj::name,
                                   refl::AttachFieldFlag::SEqHashIgnore());
  refl::ObjectDef<AddObj>()
      .def_ro("lhs", &AddObj::lhs)
      .def_ro("rhs", &AddObj::rhs);
  refl::ObjectDef<LetObj>()
      .def_ro("value", &LetObj::value)
      .def_ro("var", &LetObj::var, definition)
      .def_ro("body", &LetObj::body);
  refl::ObjectDef<FunctionObj>()
      .def_ro("params", &FunctionObj::params, definition)
      .def_ro("body", &FunctionObj::body);
  refl::GlobalDef().def("ir.sample", Sample);
}

static void Run() {
  ffi::Function sample = ffi::Function::GetGlobalRequired("ir.sample");
  ffi::Any f = sample("x", "t"), same = sample("a", "b");
  std::cout << ffi::ReprPrint(f) << '\n';
  CHECK(ffi::StructuralEqual::Equal(f, same));
  CHECK(ffi::StructuralHash::Hash(f) == ffi::StructuralHash::Hash(same));

  int64_t nodes = 0;
  ffi::StructuralWalk<ffi::WalkOrder::kPreOrder>(f, [&](const Expr &) {
    ++nodes;
    return ffi::WalkResult::Advance();
  });
  CHECK(nodes == 11);

  ffi::Any g = ffi::StructuralMap<ffi::WalkOrder::kPostOrder>(f, Fold);
  std::cout << ffi::ReprPrint(g) << '\n';
  CHECK(!ffi::StructuralEqual::Equal(f, g));

  ffi::String text = ffi::json::Stringify(ffi::ToJSONGraph(g));
  ffi::Any again = ffi::FromJSONGraph(ffi::json::Parse(text));
  CHECK(ffi::StructuralEqual::Equal(g, again));
}

int main() {
  try {
    Run();
  } catch (const ffi::Error &error) {
    std::cerr << error.FullMessage();
    return 1;
  }
  return 0;
}
