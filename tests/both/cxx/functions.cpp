// Functions through the C++ headers: packed and typed, the global table, type
// schemas, overloads, functions of C, errors on their way through calls.
#define TVM_FFI_DLL_EXPORT_INCLUDE_METADATA 1
#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/container/variant.h>
#include <tvm/ffi/device.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/expected.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/reflection/overload.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/rvalue_ref.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "objects.hpp"
#include "tap.hpp"

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;
using testing::Expr;
using testing::Float;
using testing::FloatObj;
using testing::Int;
using testing::IntObj;
using testing::Number;
using testing::NumberObj;

namespace {
const char kLong[] = "a text that is too long to be kept in a value";

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}
}  // namespace

// ---- Packed and typed -----------------------------------------------------

TEST(packed) {
  Function fadd1 =
      Function::FromPacked([](const AnyView *args, int32_t num_args, Any *rv) {
        OK(num_args == 1);
        *rv = args[0].cast<int64_t>() + 1;
      });
  EQ(fadd1(1).cast<int>(), 2);
  Function count =
      Function::FromPacked([](PackedArgs args, Any *rv) { *rv = args.size(); });
  EQ(count().cast<int>(), 0);
  EQ(count(1, "x", 2.5, nullptr).cast<int>(), 4);
  Function rest = Function::FromPacked(
      [&](PackedArgs args, Any *rv) { count.CallPacked(args.Slice(1), rv); });
  EQ(rest(1, 2, 3).cast<int>(), 2);
  Function none = Function::FromPacked([](PackedArgs, Any *) {});
  OK(none() == nullptr);
  AnyView args[2] = {1, 2};
  Any result;
  count.CallPacked(args, 2, &result);
  EQ(result.cast<int>(), 2);
  Function null;
  OK(null == nullptr);
  Function from_null(nullptr);
  OK(!from_null.defined());
  Any any = count;
  EQ(any.type_index(), kTVMFFIFunction);
  OK(any.cast<Function>().same_as(count));
  EQ(count.use_count(), 2);
  THROWS("TypeError: Cannot convert from type `int` to `ffi.Function`",
         Any(1).cast<Function>());
}

TEST(packed_all_kinds_of_arguments) {
  Function keys = Function::FromPacked([](PackedArgs args, Any *rv) {
    std::string out;
    for (int i = 0; i < args.size(); ++i) out += args[i].GetTypeKey() + " ";
    *rv = out;
  });
  int x = 0;
  TVMFFIByteArray bytes{"b", 1};
  EQ(keys(1, 2.5, true, nullptr, "raw", std::string("std"), String("small"),
          String(kLong), Bytes("b", 1), &bytes, static_cast<void *>(&x),
          DLDataType{kDLInt, 8, 1}, DLDevice{kDLCPU, 0}, Int(1), Array<int>{},
          Map<int, int>{}, keys, RValueRef(Int(2)), Number())
         .cast<String>(),
     "int float bool None const char* const char* ffi.SmallStr ffi.String "
     "ffi.SmallBytes TVMFFIByteArray* void* DataType Device test.Int "
     "ffi.Array ffi.Map ffi.Function ObjectRValueRef None ");
}

TEST(typed) {
  Function fadd1 = Function::FromTyped([](int32_t a) { return a + 1; });
  EQ(fadd1(1).cast<int>(), 2);
  EQ(fadd1(true).cast<int>(), 2);
  THROWS(
      "TypeError: Mismatched number of arguments when calling: `(0: int) "
      "-> int`. Expected 1 but got 0 arguments",
      fadd1());
  THROWS(
      "TypeError: Mismatched type on argument #0 when calling: `(0: int) "
      "-> int`. Expected `int` but got `float`",
      fadd1(1.1));
  Function named = Function::FromTyped(
      [](int a, const std::string &b, DLDevice c, DLDataType d) {
        return b + std::to_string(a + c.device_id + d.bits);
      },
      "named");
  EQ(named(1, "x", DLDevice{kDLCUDA, 2}, DLDataType{kDLInt, 8, 1})
         .cast<String>(),
     "x11");
  EQ(named(1, String(kLong), "cuda:2", "int8").cast<std::string>(),
     std::string(kLong) + "11");
  const char *sig =
      "`named(0: int, 1: std::string, 2: Device, 3: DataType) -> "
      "std::string`";
  THROWS(std::string("TypeError: Mismatched number of arguments when calling:"
                     " ") +
             sig + ". Expected 4 but got 1 arguments",
         named(1));
  THROWS(std::string("TypeError: Mismatched type on argument #1 when calling: "
                     "") +
             sig + ". Expected `std::string` but got `int`",
         named(1, 2, "cpu", "int8"));
  THROWS(std::string("TypeError: Mismatched type on argument #2 when calling: "
                     "") +
             sig + ". Expected `Device` but got `const char*`",
         named(1, "x", "no device", "int8"));
  NOTE_THROWN(named(1, "x", "cpu", "no dtype"));
  Function nothing = Function::FromTyped([]() {}, "nothing");
  OK(nothing() == nullptr);
  THROWS(
      "TypeError: Mismatched number of arguments when calling: `nothing() "
      "-> void`. Expected 0 but got 1 arguments",
      nothing(1));
  Function any = Function::FromTyped(
      [](AnyView a, Any b) { return a.GetTypeKey() + " " + b.GetTypeKey(); });
  EQ(any("raw", "raw").cast<std::string>(), "const char* ffi.SmallStr");
}

TEST(typed_objects) {
  {
    Function value =
        Function::FromTyped([](const IntObj *x) { return x->value; }, "value");
    EQ(value(Int(5)).cast<int>(), 5);
    THROWS(
        "TypeError: Mismatched type on argument #0 when calling: `value(0: "
        "test.Int) -> int`. Expected `test.Int` but got `test.Float`",
        value(Float(1)));
    THROWS(
        "TypeError: Mismatched type on argument #0 when calling: `value(0: "
        "test.Int) -> int`. Expected `test.Int` but got `None`",
        value(nullptr));
    Function same = Function::FromTyped([](const Number &x) { return x; });
    Int one(1);
    OK(same(one).same_as(one));
    OK(same(nullptr) == nullptr);
    Function expr =
        Function::FromTyped([](const Expr &x) { return x->dtype; }, "expr");
    EQ(expr(1).cast<String>(), "int64");
    EQ(expr("float16").cast<String>(), "float16");
    THROWS(
        "TypeError: Mismatched type on argument #0 when calling: `expr(0: "
        "test.Expr) -> str`. Expected `test.Expr` but got `ffi.Array`",
        expr(Array<int>{}));
    Function maybe = Function::FromTyped([](Optional<Int> x) {
      return x.has_value() ? x.value()->value : int64_t{-1};
    });
    EQ(maybe(nullptr).cast<int>(), -1);
    EQ(maybe(Int(3)).cast<int>(), 3);
    THROWS(
        "TypeError: Mismatched type on argument #0 when calling: `(0: "
        "Optional<test.Int>) -> int`. Expected `Optional<test.Int>` but "
        "got `int`",
        maybe(1));
    Function variant = Function::FromTyped(
        [](Variant<int, String> x) { return x.GetTypeKey(); });
    EQ(variant("x").cast<String>(), "ffi.SmallStr");
    THROWS(
        "TypeError: Mismatched type on argument #0 when calling: `(0: "
        "Variant<int, str>) -> std::string`. Expected `Variant<int, str>` "
        "but got `float`",
        variant(1.5));
    Function nested =
        Function::FromTyped([](Map<String, Array<int>> x) { return x.size(); });
    EQ((nested(Map<String, Array<int>>{{"a", {1}}}).cast<int>()), 1);
    NOTE_THROWN(nested(Map<Any, Any>{{"a", Array<Any>{"x"}}}));
    NOTE_THROWN(nested(Map<Any, Any>{{1, Array<int>{}}}));
  }
  EQ(NumberObj::alive, 0);
}

TEST(typed_function) {
  TypedFunction<int(int)> f = [](int x) { return x + 1; };
  EQ(f(1), 2);
  TypedFunction<int(int, int)> g([](int x, int y) { return x * y; },
                                 "multiply");
  EQ(g(3, 4), 12);
  Function packed = g;
  THROWS(
      "TypeError: Mismatched number of arguments when calling: "
      "`multiply(0: int, 1: int) -> int`. Expected 2 but got 1 arguments",
      packed(1));
  TypedFunction<double(double)> wrong = f.packed();
  THROWS(
      "TypeError: Mismatched type on argument #0 when calling: `(0: int) "
      "-> int`. Expected `int` but got `float`",
      wrong(1.5));
  TypedFunction<String(int)> result = f.packed();
  THROWS("TypeError: Cannot convert from type `int` to `str`", result(1));
  TypedFunction<void(int)> ignored = f.packed();
  ignored(1);
  TypedFunction<Any(Any)> any = f.packed();
  EQ(any(1).cast<int>(), 2);
  TypedFunction<int()> null;
  OK(null == nullptr);
  Any held = f;
  EQ((held.cast<TypedFunction<int(int)>>()(41)), 42);
  Function higher = Function::FromTyped(
      [](TypedFunction<int(int)> inner, int x) { return inner(inner(x)); });
  EQ(higher(f, 1).cast<int>(), 3);
  THROWS(
      "TypeError: Mismatched type on argument #0 when calling: `(0: (0: "
      "int) -> int, 1: int) -> int`. Expected `(0: int) -> int` but got "
      "`int`",
      higher(1, 1));
  NOTE((TypeTraits<TypedFunction<int(Array<int>, Any)>>::TypeStr()));
  NOTE((TypeTraits<TypedFunction<int(Array<int>, Any)>>::TypeSchema()));
}

TEST(capture_lives_as_long_as_the_function) {
  auto shared = std::make_shared<int>(3);
  {
    Function f = Function::FromTyped([shared]() { return *shared; });
    Function g = f;
    EQ(shared.use_count(), 2);
    EQ(g().cast<int>(), 3);
    Function big = Function::FromTyped(
        [shared, a = std::array<int64_t, 50>{}]() { return a[49]; });
    EQ(big().cast<int>(), 0);
  }
  EQ(shared.use_count(), 1);
}

TEST(recursion_and_threads) {
  Function fib = Function::FromTyped([](Function self, int n) -> int {
    if (n < 2) return n;
    return self(self, n - 1).cast<int>() + self(self, n - 2).cast<int>();
  });
  EQ(fib(fib, 12).cast<int>(), 144);
  int results[4];
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      results[i] = fib(fib, 10 + i).cast<int>();
      Function::SetGlobal("test.thread." + std::to_string(i), fib);
    });
  for (auto &t : threads) t.join();
  EQ(results[3], 233);
  OK(Function::GetGlobal("test.thread.3").has_value());
}

// ---- Errors through calls
// -----------------------------------------------------

namespace {
[[gnu::noinline]] int throw_deep(int n) {
  if (n <= 0) TVM_FFI_THROW(IndexError) << "at the bottom";
  if (n > 5) return 0;
  return throw_deep(n - 1) + 1;
}
}  // namespace

TEST(errors_through_calls) {
  Function inner = Function::FromTyped([](int n) { throw_deep(n); }, "inner");
  Function outer = Function::FromTyped([&](int n) { inner(n); }, "outer");
  try {
    outer(2);
    OK(false);
  } catch (const Error &e) {
    EQ(e.kind() + ": " + e.message(), "IndexError: at the bottom");
    OK(contains(e.backtrace(), "throw_deep"));
  }
  Function std_error =
      Function::FromTyped([]() { throw std::runtime_error("from std"); });
  THROWS("std::exception: from std", std_error());
  TVMFFIAny result{};
  auto *raw = detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(std_error);
  EQ(TVMFFIFunctionCall(raw, nullptr, 0, &result), -1);
  Error e = detail::MoveFromSafeCallRaised();
  EQ(e.kind() + ": " + e.message(), "InternalError: from std");
  Function thrown_error = Function::FromTyped([](Error x) -> int { throw x; });
  Error mine("MyError", "of mine", "a line\n");
  try {
    thrown_error(mine);
    OK(false);
  } catch (const Error &caught) {
    OK(caught.same_as(mine));
    EQ(caught.backtrace(), "a line\n");
  }
  raw = detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(thrown_error);
  TVMFFIAny args[1] = {AnyView(mine).CopyToTVMFFIAny()};
  EQ(TVMFFIFunctionCall(raw, args, 1, &result), -1);
  Error back = detail::MoveFromSafeCallRaised();
  OK(back.same_as(mine));
}

TEST(call_expected) {
  Function half = Function::FromTyped([](int x) -> Expected<int> {
    if (x % 2) return Unexpected(Error("ValueError", "odd", ""));
    return x / 2;
  });
  EQ(half.CallExpected<int>(4).value(), 2);
  Expected<int> bad = half.CallExpected<int>(3);
  OK(bad.is_err());
  NOTE(bad.error().kind() + ": " + bad.error().message());
  EQ(half.CallExpected<String>(4).error().message(),
     "CallExpected: result type mismatch, expected str, but got int");
  EQ(half.CallExpected<int>("x").error().kind(), "TypeError");
  EQ(half.CallExpected<void>(4).error().message(),
     "CallExpected: result type mismatch, expected void, but got int");
  EQ(half.CallExpected(8).value().cast<int>(), 4);
  Function throws = Function::FromTyped([]() { throw_deep(0); });
  Expected<void> e = throws.CallExpected<void>();
  OK(e.is_err());
  EQ(e.error().kind(), "IndexError");
  Function fine = Function::FromTyped([]() {});
  OK(fine.CallExpected<void>().is_ok());
  TypedFunction<Expected<int>(int)> typed = half;
  EQ(typed(6).value(), 3);
  OK(typed(5).is_err());
}

TEST(env_error) {
  Function f = Function::FromTyped([]() { throw EnvErrorAlreadySet(); });
  TVMFFIAny result{};
  auto *raw = detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(f);
  int code = TVMFFIFunctionCall(raw, nullptr, 0, &result);
  NOTE(code);
  NOTE(detail::MoveFromSafeCallRaised().kind());
}

TEST(result_must_be_empty) {
  Function f = Function::FromTyped([]() { return 1; });
  Any object = Int(1);
  auto *raw = detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(f);
  TVMFFIAny result = AnyView(object).CopyToTVMFFIAny();
  OK(TVMFFIFunctionGetCellPtr(raw)->safe_call(raw, nullptr, 0, &result) == -1);
  NOTE(detail::MoveFromSafeCallRaised().kind());
}

// ---- Functions of C
// ------------------------------------------------------------

namespace {

// A base is added, unless `self` is the function object itself, as it is for
// a function that was made without one.
int c_add(void *self, const TVMFFIAny *args, int32_t num_args,
          TVMFFIAny *result) {
  bool own = static_cast<TVMFFIObject *>(self)->type_index != kTVMFFIFunction;
  if (num_args != 2) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "two are wanted");
    return -1;
  }
  int64_t base = own ? *static_cast<int64_t *>(self) : 0;
  result->type_index = kTVMFFIInt;
  result->v_int64 = base + args[0].v_int64 + args[1].v_int64;
  return 0;
}

void c_delete(void *self) { *static_cast<int64_t *>(self) = -1; }

}  // namespace

TEST(extern_c) {
  Function plain = Function::FromExternC(nullptr, c_add, nullptr);
  EQ(plain(1, 2).cast<int>(), 3);
  THROWS("TypeError: two are wanted", plain(1));
  struct {
    int64_t base;
    int64_t no_type_index;
  } self = {100, 0};
  int64_t &base = self.base;
  {
    Function with_self = Function::FromExternC(&base, c_add, c_delete);
    EQ(with_self(1, 2).cast<int>(), 103);
  }
  EQ(base, -1);
  EQ(Function::InvokeExternC(&base, c_add, 4, 5).cast<int>(), 8);
  base = 10;
  TVMFFIObjectHandle handle = nullptr;
  EQ(TVMFFIFunctionCreate(&base, c_add, c_delete, &handle), 0);
  {
    Function made = detail::ObjectUnsafe::ObjectRefFromObjectPtr<Function>(
        detail::ObjectUnsafe::ObjectPtrFromOwned<Object>(
            static_cast<TVMFFIObject *>(handle)));
    EQ(made(1, 1).cast<int>(), 12);
    OK(TVMFFIFunctionGetCellPtr(handle)->cpp_call == nullptr);
    TypedFunction<int(int, int)> typed = made;
    EQ(typed(2, 3), 15);
    THROWS("TypeError: two are wanted", made());
    EQ(made.CallExpected<int>(1).error().message(), "two are wanted");
  }
  EQ(base, -1);
  Function by_library =
      Function::GetGlobalRequired("ffi.FunctionFromExternC")(
          static_cast<void *>(nullptr), reinterpret_cast<void *>(c_add),
          static_cast<void *>(nullptr))
          .cast<Function>();
  EQ(by_library(3, 4).cast<int>(), 7);
}

// ---- The global table
// ----------------------------------------------------------

TEST(global_table) {
  Function::SetGlobal("test.one", Function::FromTyped([]() { return 1; }));
  EQ(Function::GetGlobalRequired("test.one")().cast<int>(), 1);
  THROWS(
      "RuntimeError: Global Function `test.one` is already registered",
      Function::SetGlobal("test.one", Function::FromTyped([]() { return 2; })));
  EQ(Function::GetGlobalRequired(String("test.one"))().cast<int>(), 1);
  Function::SetGlobal("test.one", Function::FromTyped([]() { return 2; }),
                      true);
  EQ(Function::GetGlobalRequired(std::string("test.one"))().cast<int>(), 2);
  OK(!Function::GetGlobal("test.none").has_value());
  THROWS("ValueError: Function test.none not found",
         Function::GetGlobalRequired("test.none"));
  std::vector<String> names = Function::ListGlobalNames();
  OK(std::find(names.begin(), names.end(), "test.one") != names.end());
  Function kept = Function::GetGlobalRequired("test.one");
  Function::RemoveGlobal("test.one");
  OK(!Function::GetGlobal("test.one").has_value());
  EQ(kept().cast<int>(), 2);
  names = Function::ListGlobalNames();
  OK(std::find(names.begin(), names.end(), "test.one") == names.end());
  Function remove = Function::GetGlobalRequired("ffi.FunctionRemoveGlobal");
  OK(!remove("test.none").cast<bool>());
  std::string name("with\0zero", 9);
  Function::SetGlobal(name, kept);
  OK(Function::GetGlobal(name).has_value());
  OK(!Function::GetGlobal("with").has_value());
}

namespace {
int add(int a, int b) { return a + b; }
struct Callable {
  double operator()(double x) const { return x / 2; }
};
}  // namespace

TEST(global_def) {
  refl::GlobalDef()
      .def("test.def.function", add, "Adds.",
           refl::Metadata{{"cost", 1}, {"pure", true}, {"tag", "a \"b\""}})
      .def("test.def.functor", Callable{})
      .def("test.def.lambda",
           [](const Array<int> &a, Optional<String> b,
              const Map<String, Any> &c) -> Variant<int, String> {
             return static_cast<int>(a.size() + b.has_value() + c.size());
           })
      .def("test.def.tuple",
           [](Tuple<int, Bytes> t, DLDevice,
              DLDataType) -> Tuple<Any, Function> {
             return Tuple<Any, Function>(t.get<0>(), Function());
           })
      .def_packed("test.def.packed",
                  [](PackedArgs args, Any *rv) { *rv = args.size(); })
      .def_method("test.def.method", &IntObj::get)
      .def_method("test.def.mutable", &FloatObj::set);
  EQ(Function::GetGlobalRequired("test.def.function")(1, 2).cast<int>(), 3);
  EQ(Function::GetGlobalRequired("test.def.functor")(3).cast<double>(), 1.5);
  EQ(Function::GetGlobalRequired("test.def.packed")(1, 2).cast<int>(), 2);
  EQ(Function::GetGlobalRequired("test.def.method")(Int(7)).cast<int>(), 7);
  Float f(1);
  Function::GetGlobalRequired("test.def.mutable")(f, 2.5);
  EQ(f->value, 2.5);
  Function metadata = Function::GetGlobalRequired("ffi.GetGlobalFuncMetadata");
  for (const char *name :
       {"test.def.function", "test.def.functor", "test.def.lambda",
        "test.def.tuple", "test.def.packed", "test.def.method",
        "test.def.mutable"})
    NOTE(metadata(name).cast<String>());
  Function::SetGlobal("test.def.bare", Function::FromTyped(add));
  NOTE(metadata("test.def.bare").cast<String>());
  NOTE_THROWN(metadata("test.def.none"));
  THROWS(
      "TypeError: Mismatched type on argument #1 when calling: "
      "`test.def.function(0: int, 1: int) -> int`. Expected `int` but got "
      "`const char*`",
      Function::GetGlobalRequired("test.def.function")(1, "x"));
  NOTE_THROWN(refl::GlobalDef().def("test.def.function", add));
  THROWS(
      "TypeError: Metadata can be only int, bool or string, but on key "
      "`x`, the type is float",
      refl::GlobalDef().def("test.def.bad", add, refl::Metadata{{"x", 1.5}}));
}

TEST(builtins_of_functions) {
  Function metadata = Function::GetGlobalRequired("ffi.GetGlobalFuncMetadata");
  for (const char *name : {"ffi.String", "ffi.Bytes", "ffi.FunctionFromExternC",
                           "ffi.FunctionRemoveGlobal", "ffi.Shape",
                           "ffi.ArrayGetItem", "ffi.DictSetItem"})
    NOTE(metadata(name).cast<String>());
  THROWS(
      "TypeError: Mismatched type on argument #0 when calling: "
      "`ffi.String(0: str) -> str`. Expected `str` but got `int`",
      Function::GetGlobalRequired("ffi.String")(1));
  THROWS(
      "TypeError: Mismatched number of arguments when calling: "
      "`ffi.ArraySize(0: ffi.Array) -> int`. Expected 1 but got 2 "
      "arguments",
      Function::GetGlobalRequired("ffi.ArraySize")(1, 2));
}

// ---- Exported functions
// -----------------------------------------------------------

TVM_FFI_DLL_EXPORT_TYPED_FUNC(exported_add, add)
TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(exported_add, "Adds two of them.")
namespace {
String exclaim(const String &s) {
  if (s.empty()) TVM_FFI_THROW(ValueError) << "is empty";
  return s + "!";
}
}  // namespace
TVM_FFI_DLL_EXPORT_TYPED_FUNC(exported_text, exclaim)

TEST(exported) {
  EQ(Function::InvokeExternC(nullptr, __tvm_ffi_exported_add, 1, 2).cast<int>(),
     3);
  EQ(Function::InvokeExternC(nullptr, __tvm_ffi_exported_text, kLong)
         .cast<String>(),
     std::string(kLong) + "!");
  THROWS("ValueError: is empty",
         Function::InvokeExternC(nullptr, __tvm_ffi_exported_text, ""));
  THROWS(
      "TypeError: Mismatched number of arguments when calling: "
      "`exported_add(0: int, 1: int) -> int`. Expected 2 but got 1 "
      "arguments",
      Function::InvokeExternC(nullptr, __tvm_ffi_exported_add, 1));
  NOTE(Function::InvokeExternC(nullptr, __tvm_ffi__metadata_exported_add)
           .cast<String>());
  EQ(Function::InvokeExternC(nullptr, __tvm_ffi__doc_exported_add)
         .cast<String>(),
     "Adds two of them.");
}

// ---- Overloads
// ----------------------------------------------------------------

namespace {

struct OverObj : public Object {
  int64_t a = 0;
  String b;
  OverObj(int64_t a, String b) : a(a), b(std::move(b)) {}
  explicit OverObj(int64_t a) : a(a), b("one") {}
  explicit OverObj(String b) : a(-1), b(std::move(b)) {}

  int64_t add_int(int64_t x) const { return a + x; }
  String add_text(const String &x) const { return b + x; }
  int64_t add_two(int64_t x, int64_t y) const { return a + x + y; }

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.Over", OverObj, Object);
};

struct Over : public ObjectRef {
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Over, ObjectRef, OverObj);
};

}  // namespace

TEST(overloads) {
  refl::OverloadObjectDef<OverObj>()
      .def(refl::init<int64_t, String>())
      .def(refl::init<int64_t>())
      .def(refl::init<String>())
      .def_rw("a", &OverObj::a)
      .def_ro("b", &OverObj::b)
      .def("add", &OverObj::add_int)
      .def("add", &OverObj::add_text)
      .def("add", &OverObj::add_two)
      .def_static("make", [](int64_t x) { return x; })
      .def_static("make", [](const Array<int> &x) { return x.size(); });
  Function init = refl::GetMethod("test.Over", "__ffi_init__");
  EQ(init(1, "x").cast<Over>()->b, "x");
  EQ(init(2).cast<Over>()->b, "one");
  EQ(init("text").cast<Over>()->a, -1);
  Over over = init(10, "ten ").cast<Over>();
  Function add = refl::GetMethod("test.Over", "add");
  EQ(add(over, 1).cast<int>(), 11);
  EQ(add(over, "more").cast<String>(), "ten more");
  EQ(add(over, 1, 2).cast<int>(), 13);
  NOTE_THROWN(add(over, 1.5));
  NOTE_THROWN(add(over));
  NOTE_THROWN(add(1, 1));
  NOTE_THROWN(init());
  Function make = refl::GetMethod("test.Over", "make");
  EQ(make(3).cast<int>(), 3);
  EQ(make(Array<int>{1, 2}).cast<int>(), 2);
  NOTE_THROWN(make("x"));
  const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(OverObj::RuntimeTypeIndex());
  for (int i = 0; i < info->num_methods; ++i)
    tap::note(
        std::string(info->methods[i].name.data, info->methods[i].name.size) +
        " " + std::to_string(info->methods[i].flags) + " " +
        std::string(info->methods[i].metadata.data,
                    info->methods[i].metadata.size));
}

TAP_MAIN()
