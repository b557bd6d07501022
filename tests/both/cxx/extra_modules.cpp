// Classes derived from ModuleObj that leave most to it: their own table and
// type information refer to the library's, and what they inherit is there.
// What they throw becomes an error of the C functions.
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <typeinfo>

#include "modules.hpp"

using namespace tvm::ffi;

namespace {

int alive = 0;
std::exception_ptr again;

// Has one function, named by its number.
class Shelf : public ModuleObj {
 public:
  explicit Shelf(int64_t number) : number_(number) { ++alive; }
  ~Shelf() { --alive; }
  const char *kind() const override { return "plain shelf"; }
  Optional<Function> GetFunction(const String &name) override {
    if (name == "throw") TVM_FFI_THROW(ValueError) << "no such shelf";
    if (name == "throw std") throw std::runtime_error("out of shelves");
    if (name == "throw range") throw std::out_of_range("beyond the shelves");
    if (name == "throw again") std::rethrow_exception(again);
    if (name == "throw set") throw EnvErrorAlreadySet();
    if (name != "shelf " + std::to_string(number_)) return std::nullopt;
    return Function::FromTyped([n = number_](int64_t x) { return n + x; });
  }
  Optional<String> GetFunctionDoc(const String &name) override {
    if (name != "shelf " + std::to_string(number_)) return std::nullopt;
    return String("a shelf");
  }

 private:
  int64_t number_;
};

// Overrides what Shelf inherits, and calls it.
class Counted : public Shelf {
 public:
  using Shelf::Shelf;
  int imported = 0, cleared = 0;
  const char *kind() const final { return "counted"; }
  int GetPropertyMask() const final {
    return Module::kRunnable | ModuleObj::GetPropertyMask();
  }
  Optional<String> GetFunctionMetadata(const String &name) final {
    if (name == "none") return ModuleObj::GetFunctionMetadata(name);
    return String("{\"name\": \"") + name + "\"}";
  }
  bool ImplementsFunction(const String &name) final {
    return name == "promised" || ModuleObj::ImplementsFunction(name);
  }
  void ImportModule(const Module &other) final {
    ++imported;
    ModuleObj::ImportModule(other);
  }
  void ClearImports() final {
    ++cleared;
    ModuleObj::ClearImports();
  }
  Bytes SaveToBytes() const final { return Bytes("saved"); }
  void WriteToFile(const String &file, const String &format) const final {
    TVM_FFI_THROW(ValueError) << "no file " << file << " of " << format;
  }
};

template <typename T = Shelf>
Module make(int64_t number) {
  return Module(make_object<T>(number));
}

}  // namespace

TEST(type_information) {
  Module m = make<Counted>(1), plain = make(2);
  OK(typeid(*raw(m)) == typeid(Counted));
  OK(typeid(*raw(m)) != typeid(*raw(plain)));
  OK(dynamic_cast<Counted *>(raw(m)) != nullptr);
  OK(dynamic_cast<Counted *>(raw(plain)) == nullptr);
  OK(dynamic_cast<Shelf *>(raw(m)) == raw(m));
  EQ(std::string(typeid(ModuleObj).name()), "N3tvm3ffi9ModuleObjE");
  EQ(ModuleObj::RuntimeTypeIndex(), 73);
  EQ(ModuleObj::_GetOrAllocRuntimeTypeIndex(), 73);
  EQ(m->type_index(), 73);
  EQ(m->GetTypeKey(), "ffi.Module");
}

TEST(errors_are_of_one_type) {
  try {
    Function::GetGlobalRequired("ffi.ModuleGetFunction")(1, "x", false);
    OK(!"an exception is thrown");
  } catch (const Error &e) {
    OK(typeid(e) == typeid(Error));
    EQ(e.kind(), "TypeError");
  }
}

TEST(imports) {
  {
    Module a = make(1), b = make<Counted>(2), c = make(3);
    raw(a)->ImportModule(b);
    raw(b)->ImportModule(c);
    EQ(a->imports().size(), 1u);
    OK(a->imports()[0].cast<Module>().same_as(b));
    EQ(static_cast<Counted *>(raw(b))->imported, 1);
    THROWS("RuntimeError: Cyclic dependency detected during import",
           raw(c)->ImportModule(a));
    THROWS("RuntimeError: Cyclic dependency detected during import",
           raw(a)->ImportModule(a));
    EQ(c->imports().size(), 0u);
    raw(a)->ImportModule(c);
    raw(a)->ImportModule(c);
    EQ(a->imports().size(), 3u);
    raw(a)->ClearImports();
    raw(a)->ClearImports();
    EQ(a->imports().size(), 0u);
    call("ModuleImportModule", a, b);
    call("ModuleImportModule", b, c);
    EQ(static_cast<Counted *>(raw(b))->imported, 2);
    EQ(b->imports().size(), 2u);
    THROWS("RuntimeError: Cyclic dependency detected during import",
           call("ModuleImportModule", c, b));
    call("ModuleClearImports", b);
    call("ModuleClearImports", a);
    EQ(static_cast<Counted *>(raw(b))->cleared, 1);
    EQ(b->imports().size() + a->imports().size(), 0u);
  }
  EQ(alive, 0);
}

TEST(many_imports) {
  {
    Module top = make(0);
    for (int i = 1; i <= 300; ++i) {
      Module m = make(i);
      raw(m)->ImportModule(top->imports().empty()
                               ? make(1000)
                               : top->imports().back().cast<Module>());
      raw(top)->ImportModule(m);
    }
    auto f = raw(top)->GetFunction("shelf 300", true);
    EQ((*f)(1).cast<int>(), 301);
    f = raw(top)->GetFunction("shelf 1000", true);
    EQ((*f)(1).cast<int>(), 1001);
    THROWS("RuntimeError: Cyclic dependency detected during import",
           raw(top->imports()[0].cast<Module>())->ImportModule(top));
  }
  EQ(alive, 0);
}

TEST(functions_with_imports) {
  Module a = make(1), b = make<Counted>(2);
  raw(a)->ImportModule(b);
  EQ((*a->GetFunction("shelf 1", false))(1).cast<int>(), 2);
  EQ((*a->GetFunction("shelf 2", true))(1).cast<int>(), 3);
  OK(!a->GetFunction("shelf 2", false).has_value());
  OK(!a->GetFunction("none", true).has_value());
  THROWS("ValueError: no such shelf", a->GetFunction("throw", true));
  THROWS("ValueError: no such shelf", a->GetFunction("throw", false));
  OK(a->ImplementsFunction("shelf 1", false));
  OK(!a->ImplementsFunction("shelf 2", false));
  OK(a->ImplementsFunction("shelf 2", true));
  OK(a->ImplementsFunction("promised", true));
  OK(!a->ImplementsFunction("none", true));
  EQ(std::string(*a->GetFunctionDoc("shelf 2", true)), "a shelf");
  OK(!a->GetFunctionDoc("shelf 2", false).has_value());
  EQ(std::string(*a->GetFunctionMetadata("x", true)), "{\"name\": \"x\"}");
  OK(!a->GetFunctionMetadata("x", false).has_value());
  OK(!b->GetFunctionMetadata("none", true).has_value());
}

TEST(what_is_inherited) {
  Module m = make(1), c = make<Counted>(2);
  EQ(m->GetPropertyMask(), 0);
  EQ(c->GetPropertyMask(), 2);
  EQ(call("ModuleGetPropertyMask", c).cast<int>(), 2);
  EQ(call("ModuleGetKind", c).cast<std::string>(), "counted");
  EQ(call("ModuleGetWriteFormats", m).cast<Array<String>>().size(), 0u);
  EQ(call("ModuleInspectSource", m, "").cast<std::string>(), "");
  THROWS("RuntimeError: Module[plain shelf] does not support WriteToFile",
         call("ModuleWriteToFile", m, "a", "b"));
  THROWS("RuntimeError: Module[plain shelf] does not support SaveToBytes",
         m->SaveToBytes());
  THROWS("ValueError: no file a of b", call("ModuleWriteToFile", c, "a", "b"));
  EQ(std::string(c->SaveToBytes()), "saved");
}

TEST(methods_throw) {
  Module m = make(0);
  for (int i = 0; i < 3; ++i) {
    THROWS("ValueError: no such shelf",
           call("ModuleGetFunction", m, "throw", false));
    THROWS("InternalError: out of shelves",
           call("ModuleGetFunction", m, "throw std", false));
    THROWS("InternalError: beyond the shelves",
           call("ModuleImplementsFunction", m, "throw range", false));
  }
  THROWS("EnvErrorAlreadySet: ",
         call("ModuleGetFunction", m, "throw set", false));
  try {
    throw std::runtime_error("thrown again");
  } catch (...) {
    again = std::current_exception();
  }
  THROWS("InternalError: thrown again",
         call("ModuleGetFunction", m, "throw again", false));
  again = nullptr;
  Module own = library("extra_d.");
  call("ModuleImportModule", own, m);
  THROWS("ValueError: no such shelf",
         call("ModuleGetFunction", own, "throw", true));
  call("ModuleClearImports", own);
  EQ(std::uncaught_exceptions(), 0);
}

TEST(modules_of_both_kinds) {
  {
    Module own = library("extra_a."), m = make(5), other = library("extra_b.");
    raw(own)->ImportModule(m);
    raw(m)->ImportModule(other);
    EQ((*own->GetFunction("shelf 5", true))(1).cast<int>(), 6);
    EQ((*m->GetFunction("seven", true))().cast<int>(), 7);
    OK(!m->GetFunction("seven", false).has_value());
    THROWS("ValueError: no such shelf", own->GetFunction("throw", true));
    OK(own->ImplementsFunction("shelf 5", true));
    EQ(std::string(*own->GetFunctionDoc("shelf 5", true)), "a shelf");
    raw(own)->ClearImports();
    raw(m)->ClearImports();
  }
  EQ(alive, 0);
}

TEST(library_modules_throw) {
  put("extra_c.__tvm_ffi__doc_seven", c_fails);
  put("extra_c.__tvm_ffi__metadata_seven", c_fails);
  Module m = library("extra_c."), other = make(1);
  for (int i = 0; i < 2; ++i) {
    THROWS("RuntimeError: Module[library] does not support WriteToFile",
           m->WriteToFile("file", "c"));
    THROWS("RuntimeError: Module[library] does not support SaveToBytes",
           m->SaveToBytes());
    THROWS("KeyError: said C", m->GetFunctionDoc("seven"));
    THROWS("KeyError: said C", m->GetFunctionMetadata("seven"));
    THROWS("RuntimeError: Cyclic dependency detected during import",
           raw(m)->ImportModule(m));
  }
  OK(!m->GetFunctionDoc("none").has_value());
  EQ((*m->GetFunction("seven"))().cast<int>(), 7);
  OK(m->ImplementsFunction("seven") && !m->ImplementsFunction("none"));
  EQ(std::string(m->kind()), "library");
  EQ(m->GetPropertyMask(), 3);
  EQ(m->GetWriteFormats().size(), 0u);
  EQ(std::string(m->InspectSource("c")), "");
  OK(dynamic_cast<Shelf *>(raw(m)) == nullptr);
  OK(dynamic_cast<ModuleObj *>(raw(m)) == raw(m));
  OK(typeid(*raw(m)) != typeid(*raw(other)));
}

TEST(symbols_are_looked_up) {
  Module a = make(1);
  raw(a)->ImportModule(make(2));
  TVMFFIObjectHandle f = nullptr, again = nullptr;
  EQ(TVMFFIEnvModLookupFromImports(raw(a), "shelf 2", &f), 0);
  EQ(TVMFFIEnvModLookupFromImports(raw(a), "shelf 2", &again), 0);
  OK(f == again && f != nullptr);
  EQ(TVMFFIEnvModLookupFromImports(raw(a), "shelf 1", &f), -1);
  THROWS(
      "RuntimeError: Cannot find function shelf 1 in the imported modules or "
      "global registry.",
      throw detail::MoveFromSafeCallRaised());
}

TEST(files) {
  Function::SetGlobal("ffi.Module.load_from_file.shelf",
                      Function::FromTyped([](String file, String format) {
                        if (file == "bad.shelf")
                          TVM_FFI_THROW(KeyError) << format << " is bad";
                        return make(static_cast<int64_t>(file.size()));
                      }));
  Module m = Module::LoadFromFile("a.b.shelf");
  EQ(std::string(m->kind()), "plain shelf");
  OK(m->GetFunction("shelf 9").has_value());
  THROWS("KeyError: shelf is bad", Module::LoadFromFile("bad.shelf"));
  THROWS("RuntimeError: Failed to get file format from nodot",
         Module::LoadFromFile("nodot"));
  NOTE_THROWN(Module::LoadFromFile("a.unknown"));
  OK(!tap::thrown([] { Module::LoadFromFile("/none/such.so"); }).empty());
}

TEST(context_symbols) {
  static int one, two;
  TVMFFIEnvModRegisterContextSymbol("extra.one", &one);
  TVMFFIEnvModRegisterContextSymbol("extra a long name of a symbol", &two);
  std::vector<std::string> names;
  Module::VisitContextSymbols([&](String name, void *symbol) {
    if (name == "extra.one") OK(symbol == &one);
    if (symbol == &one || symbol == &two) names.push_back(name);
  });
  std::sort(names.begin(), names.end());
  EQ(names.size(), 2u);
  EQ(names[0], "extra a long name of a symbol");
  int calls = 0;
  THROWS("ValueError: enough", Module::VisitContextSymbols([&](String, void *) {
           ++calls;
           TVM_FFI_THROW(ValueError) << "enough";
         }));
  EQ(calls, 1);
}

TAP_MAIN()
