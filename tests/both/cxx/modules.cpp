// Modules both ways: a class of C++ that the library calls through its table,
// and the library's own modules, which C++ calls through theirs.
//
// No function of the class throws: what C calls must not, unless the library
// has C++ in it, which extra_modules.cpp shows.
//
// A class derived from ModuleObj refers to symbols that only a library with
// C++ in it has: the type information and the table of ModuleObj, ImportModule
// and ClearImports. They are weak here, so that the program starts without
// them; the class has both functions of its own.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/cast.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>

#include "modules.hpp"

__asm__(
    ".weak _ZTIN3tvm3ffi9ModuleObjE\n"
    ".weak _ZTVN3tvm3ffi9ModuleObjE\n"
    ".weak _ZN3tvm3ffi9ModuleObj12ImportModuleERKNS0_6ModuleE\n"
    ".weak _ZN3tvm3ffi9ModuleObj12ClearImportsEv\n");

using namespace tvm::ffi;

namespace {

int alive = 0;
std::string written;

class Shelf : public ModuleObj {
 public:
  explicit Shelf(int64_t start) : start_(start) { ++alive; }
  ~Shelf() { --alive; }
  const char *kind() const final { return "shelf"; }
  int GetPropertyMask() const final { return 0b110; }
  Optional<Function> GetFunction(const String &name) final {
    if (name != "add" && name != "a function with a long name")
      return std::nullopt;
    Module self = GetRef<Module>(this);
    return Function::FromTyped([self, this](int64_t x) { return start_ + x; });
  }
  Optional<String> GetFunctionDoc(const String &name) final {
    if (name != "add") return std::nullopt;
    return String("adds what stands on the shelf");
  }
  Optional<String> GetFunctionMetadata(const String &name) final {
    if (name != "add") return std::nullopt;
    return String("{}");
  }
  Array<String> GetWriteFormats() const final { return {"c", "a long format"}; }
  String InspectSource(const String &format) const final {
    return "the source in " + std::string(format);
  }
  void WriteToFile(const String &file, const String &format) const final {
    written = std::string(file) + "." + std::string(format);
  }
  void ImportModule(const Module &other) final { imports_.push_back(other); }
  void ClearImports() final { imports_.clear(); }

 private:
  int64_t start_;
};

Module shelf(int64_t start) { return Module(make_object<Shelf>(start)); }

int c_doc(void *, const TVMFFIAny *, int32_t, TVMFFIAny *result) {
  TVMFFIByteArray text = {"seven, always", 13};
  return TVMFFIStringFromByteArray(&text, result);
}

}  // namespace

TEST(layout) {
  Module m = shelf(0);
  auto *object = const_cast<ModuleObj *>(m.operator->());
  auto *handle = reinterpret_cast<char *>(static_cast<Object *>(object));
  EQ(handle - reinterpret_cast<char *>(object),
     static_cast<std::ptrdiff_t>(sizeof(void *)));
  EQ(sizeof(ModuleObj), 48u);
  EQ(reinterpret_cast<const char *>(&m->imports()) - handle, 24);
}

TEST(cxx_module_properties) {
  Module m = shelf(0);
  EQ(call("ModuleGetKind", m).cast<std::string>(), "shelf");
  EQ(call("ModuleGetPropertyMask", m).cast<int>(), 6);
  auto formats = call("ModuleGetWriteFormats", m).cast<Array<String>>();
  EQ(formats.size(), 2u);
  EQ(std::string(formats[1]), "a long format");
  EQ(call("ModuleInspectSource", m, "c").cast<std::string>(),
     "the source in c");
  EQ(call("ModuleInspectSource", m, "a long format").cast<std::string>(),
     "the source in a long format");
  call("ModuleWriteToFile", m, "a file", "c");
  EQ(written, "a file.c");
}

TEST(cxx_module_functions) {
  {
    Module m = shelf(40);
    auto f = call("ModuleGetFunction", m, "add", false).cast<Function>();
    EQ(f(2).cast<int>(), 42);
    f = call("ModuleGetFunction", m, "a function with a long name", true)
            .cast<Function>();
    m = shelf(0);
    EQ(f(1).cast<int>(), 41);
    EQ(alive, 2);
    OK(call("ModuleGetFunction", m, "none", true) == nullptr);
    OK(call("ModuleImplementsFunction", m, "add", false).cast<bool>());
    OK(!call("ModuleImplementsFunction", m, "none", false).cast<bool>());
    EQ(call("ModuleGetFunctionDoc", m, "add", false).cast<std::string>(),
       "adds what stands on the shelf");
    OK(call("ModuleGetFunctionDoc", m, "none", false) == nullptr);
    EQ(call("ModuleGetFunctionMetadata", m, "add", true).cast<std::string>(),
       "{}");
  }
  EQ(alive, 0);
}

TEST(cxx_module_is_imported) {
  {
    Module own = library("cxx_a."), m = shelf(10), inner = shelf(20);
    call("ModuleImportModule", own, m);
    call("ModuleImportModule", m, inner);
    EQ(own->imports().size(), 1u);
    OK(own->imports()[0].cast<Module>().same_as(m));
    EQ(m->imports().size(), 1u);
    auto f = call("ModuleGetFunction", own, "add", true).cast<Function>();
    EQ(f(1).cast<int>(), 11);
    OK(call("ModuleGetFunction", own, "add", false) == nullptr);
    EQ(call("ModuleGetFunctionDoc", own, "add", true).cast<std::string>(),
       "adds what stands on the shelf");
    call("ModuleClearImports", own);
    EQ(own->imports().size(), 0u);
    call("ModuleClearImports", m);
    EQ(m->imports().size(), 0u);
  }
  EQ(alive, 0);
}

TEST(library_imports_find_cycles) {
  Module a = library("cxx_b."), b = library("cxx_c.");
  Module m = shelf(0);
  call("ModuleImportModule", a, m);
  call("ModuleImportModule", m, b);
  THROWS("RuntimeError: Cyclic dependency detected during import",
         call("ModuleImportModule", b, a));
  call("ModuleClearImports", a);
}

TEST(cxx_module_looks_up) {
  {
    Module m = shelf(0), inner = shelf(30);
    call("ModuleImportModule", m, inner);
    TVMFFIObjectHandle f = nullptr, again = nullptr;
    auto *context = const_cast<ModuleObj *>(m.operator->());
    EQ(TVMFFIEnvModLookupFromImports(context, "add", &f), 0);
    EQ(TVMFFIEnvModLookupFromImports(context, "add", &again), 0);
    OK(f == again && f != nullptr);
    AnyView arg = 3;
    TVMFFIAny result{};
    EQ(TVMFFIFunctionCall(f, reinterpret_cast<TVMFFIAny *>(&arg), 1, &result),
       0);
    EQ(result.v_int64, 33);
    EQ(TVMFFIEnvModLookupFromImports(context, "ffi.ModuleGetKind", &f), 0);
    OK(f != nullptr);
    EQ(TVMFFIEnvModLookupFromImports(context, "none of these", &f), -1);
    THROWS(
        "RuntimeError: Cannot find function none of these in the imported "
        "modules or global registry.",
        throw detail::MoveFromSafeCallRaised());
  }
  EQ(alive, 0);
}

TEST(library_module_in_cxx) {
  put("cxx_d.__tvm_ffi__doc_seven", c_doc);
  Module m = library("cxx_d.");
  EQ(std::string(m->kind()), "library");
  EQ(m->GetPropertyMask(), 3);
  Function f = *m->GetFunction("seven");
  EQ(f().cast<int>(), 7);
  OK(!m->GetFunction("none").has_value());
  OK(m->ImplementsFunction("seven"));
  OK(!m->ImplementsFunction("none"));
  EQ(std::string(*m->GetFunctionDoc("seven")), "seven, always");
  OK(!m->GetFunctionDoc("fails").has_value());
  OK(!m->GetFunctionMetadata("seven").has_value());
  EQ(m->GetWriteFormats().size(), 0u);
  EQ(std::string(m->InspectSource("c")), "");
  Function fails = *m->GetFunction("fails");
  THROWS("KeyError: said C", fails());
  Module other = shelf(1);
  m->ImportModule(other);
  EQ(m->imports().size(), 1u);
  m->ClearImports();
  EQ(m->imports().size(), 0u);
}

TEST(cxx_modules_are_embedded) {
  Function::SetGlobal("ffi.Module.load_from_bytes.shelf",
                      Function::FromTyped([](const Bytes &bytes) {
                        return shelf(static_cast<int64_t>(bytes.size()));
                      }));
  static std::string binary;
  auto number = [](std::string *to, uint64_t x) {
    for (int i = 0; i < 8; ++i) to->push_back(static_cast<char>(x >> (8 * i)));
  };
  auto text = [&](const std::string &x) {
    number(&binary, x.size());
    binary += x;
  };
  for (uint64_t x : {3, 0, 1, 1, 1, 1}) number(&binary, x);  // 0 imports 1
  text("_lib");
  text("shelf");
  text("12345");
  std::string size;
  number(&size, binary.size());
  binary = size + binary;
  TVMFFIEnvModRegisterSystemLibSymbol("cxx_e.__tvm_ffi__library_bin",
                                      binary.data());
  Module m = library("cxx_e.");
  EQ(std::string(m->kind()), "library");
  EQ(m->imports().size(), 1u);
  auto f = call("ModuleGetFunction", m, "add", true).cast<Function>();
  EQ(f(1).cast<int>(), 6);
}

TEST(modules_are_kept) {
  {
    Module m = shelf(0);
    call("ModuleGlobalsAdd", m);
    call("ModuleGlobalsAdd", m);
    EQ(m.use_count(), 2);
    call("ModuleGlobalsRemove", m);
    EQ(m.use_count(), 1);
    call("ModuleGlobalsRemove", m);
    EQ(m.use_count(), 1);
  }
}

TAP_MAIN()
