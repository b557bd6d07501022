// Calls every C++ function that a wheel of upstream's exports, and prints what
// it returns. wheels.py compiles it with the headers of each wheel.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/extra/serialization.h>
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ffi/extra/structural_hash.h>
#include <tvm/ffi/function.h>
#if __has_include(<tvm/ffi/extra/dataclass.h>)
#include <tvm/ffi/extra/dataclass.h>
#define HAS_DATACLASS 1
#else
#include <tvm/ffi/extra/deep_copy.h>
#endif
#if __has_include(<tvm/ffi/extra/visit_error_context.h>)
#include <tvm/ffi/extra/visit_error_context.h>
#define HAS_ERROR_CONTEXT 1
#endif

#include <iostream>
#include <string>

namespace ffi = tvm::ffi;

// A string that is too long to be stored in a value.
const char *const kLong = "a text of more than seven bytes";

static std::string Text(const ffi::Optional<ffi::String> &text) {
  return text.has_value() ? std::string(*text) : "nothing";
}

static void Show(const char *name, const std::string &value) {
  std::cout << name << '\t' << value << '\n';
}

static void Show(const char *name, int64_t value) {
  Show(name, std::to_string(value));
}

// Prints the error that `f` throws.
template <typename F>
static void ShowError(const char *name, F f) {
  try {
    f();
    Show(name, "no error");
  } catch (const ffi::Error &error) {
    Show(name, std::string(error.kind()) + ": " + std::string(error.message()));
  }
}

static ffi::Any Sample() {
  ffi::Map<ffi::String, ffi::Any> map;
  map.Set("numbers", ffi::Array<ffi::Any>{1, 2.5, nullptr, true});
  map.Set("text", ffi::String(kLong));
  return map;
}

static void Json() {
  namespace json = ffi::json;
  json::Value value = json::Parse("{\"a\": [1, 2.5, null, \"x\"]}");
  Show("Stringify", json::Stringify(value));
  Show("Stringify, indented", json::Stringify(value, 2));
  Show("Stringify, indented by 0", json::Stringify(value, 0));
  ffi::String error;
  json::Parse("[1,", &error);
  Show("Parse, the error as text", error);
  ShowError("Parse, an error", [] { json::Parse("[1,"); });
  ffi::Any graph = ffi::ToJSONGraph(Sample(), ffi::String("metadata"));
  ffi::Any again = ffi::FromJSONGraph(graph);
  Show("FromJSONGraph", ffi::StructuralEqual::Equal(Sample(), again));
  ShowError("FromJSONGraph, an error", [] { ffi::FromJSONGraph(1); });
}

static void Structural() {
  ffi::Any one = Sample(), two = ffi::DeepCopy(one);
  ffi::Array<ffi::Any> other{1, 2};
  Show("DeepCopy is another object", !one.same_as(two));
  Show("Equal", ffi::StructuralEqual::Equal(one, two));
  Show("not Equal", ffi::StructuralEqual::Equal(one, other, true, true));
  Show("Hash is equal", ffi::StructuralHash::Hash(one) ==
                            ffi::StructuralHash::Hash(two, false, false));
  auto mismatch = ffi::StructuralEqual::GetFirstMismatch(
      ffi::Array<int64_t>{1, 2}, ffi::Array<int64_t>{1, 3});
  Show("GetFirstMismatch", mismatch.has_value());
  mismatch = ffi::StructuralEqual::GetFirstMismatch(one, two);
  Show("GetFirstMismatch of equals", mismatch.has_value());
#ifdef HAS_DATACLASS
  ffi::Any small = ffi::Array<int64_t>{1, 2}, large = ffi::Array<int64_t>{1, 3};
  Show("ReprPrint", ffi::ReprPrint(small));
  Show("RecursiveHash", ffi::RecursiveHash(one) == ffi::RecursiveHash(two));
  Show("RecursiveEq", ffi::RecursiveEq(small, large));
  Show("RecursiveLt", ffi::RecursiveLt(small, large));
  Show("RecursiveLe", ffi::RecursiveLe(small, large));
  Show("RecursiveGt", ffi::RecursiveGt(small, large));
  Show("RecursiveGe", ffi::RecursiveGe(small, small));
  ShowError("RecursiveLt, an error", [&] { ffi::RecursiveLt(small, 1); });
#endif
}

#ifdef HAS_ERROR_CONTEXT
static void ErrorContext() {
  ffi::Array<ffi::ObjectRef> inner{ffi::Array<int64_t>{7}};
  ffi::Array<ffi::ObjectRef> root{ffi::Array<int64_t>{8}, inner};
  try {
    TVM_FFI_VISIT_BEGIN();
    TVM_FFI_VISIT_BEGIN();
    TVM_FFI_VISIT_THROW(ValueError, inner[0]) << "thrown";
    TVM_FFI_VISIT_END(inner);
    TVM_FFI_VISIT_END(root);
  } catch (const ffi::Error &error) {
    auto context = error.extra_context();
    auto paths = ffi::VisitErrorContext::FindAccessPaths(
        root, ffi::Any(context.value()).cast<ffi::VisitErrorContext>(), true);
    Show("FindAccessPaths", static_cast<int64_t>(paths.size()));
  }
}
#endif

// A module of C++ with one function.
class AddObj : public ffi::ModuleObj {
 public:
  explicit AddObj(int64_t amount) : amount_(amount) {}
  const char *kind() const final { return "add"; }
  ffi::Optional<ffi::Function> GetFunction(const ffi::String &name) final {
    if (name != "add") return std::nullopt;
    int64_t amount = amount_;
    return ffi::Function::FromTyped([amount](int64_t x) { return x + amount; });
  }
  ffi::Optional<ffi::String> GetFunctionDoc(const ffi::String &name) final {
    if (name != "add") return std::nullopt;
    return ffi::String(kLong);
  }
  ffi::Optional<ffi::String> GetFunctionMetadata(
      const ffi::String &name) final {
    if (name != "add") return std::nullopt;
    return ffi::String("{\"a\": 1}");
  }

 private:
  int64_t amount_;
};

class NoneObj : public ffi::ModuleObj {
 public:
  const char *kind() const final { return "none"; }
  ffi::Optional<ffi::Function> GetFunction(const ffi::String &) final {
    return std::nullopt;
  }
};

static void Modules() {
  ffi::Module add(ffi::make_object<AddObj>(40));
  ffi::Module none(ffi::make_object<NoneObj>());
  // The name of the class calls the library's function of two parameters.
  ffi::ModuleObj *m = const_cast<ffi::ModuleObj *>(none.operator->());
  Show("no import", m->ImplementsFunction("add", true));
  m->ImportModule(add);
  Show("an import", m->ImplementsFunction("add", true));
  Show("not of its own", m->ImplementsFunction("add", false));
  ffi::Optional<ffi::Function> f = m->GetFunction("add", true);
  Show("GetFunction", (*f)(2).cast<int64_t>());
  Show("GetFunction of nothing", m->GetFunction("other", true).has_value());
  Show("GetFunctionDoc", Text(m->GetFunctionDoc("add", true)));
  Show("GetFunctionDoc of nothing", Text(m->GetFunctionDoc("add", false)));
  Show("GetFunctionMetadata", Text(m->GetFunctionMetadata("add", true)));
  ShowError("a cycle of imports", [&] {
    const_cast<ffi::ModuleObj *>(add.operator->())->ImportModule(none);
  });
  m->ClearImports();
  Show("ClearImports", m->ImplementsFunction("add", true));
  ShowError("LoadFromFile",
            [] { ffi::Module::LoadFromFile("absent.of_none"); });
  static int symbol;
  TVM_FFI_CHECK_SAFE_CALL(
      TVMFFIEnvModRegisterContextSymbol("__wheel_symbols", &symbol));
  bool found = false;
  ffi::Module::VisitContextSymbols(
      ffi::TypedFunction<void(ffi::String, void *)>(
          [&](const ffi::String &name, void *address) {
            found = found || (name == "__wheel_symbols" && address == &symbol);
          }));
  Show("VisitContextSymbols", found);
}

int main() {
  Json();
  Structural();
#ifdef HAS_ERROR_CONTEXT
  ErrorContext();
#endif
  Modules();
  return 0;
}
