"""A module whose kind is a class in C++.

Its base is a class of the library, with a vtable and type information that
must be exported under their C++ names.
"""

from kit import compiled, outcome, raises, use_count

SOURCE = r"""
#include <tvm/ffi/tvm_ffi.h>
#include <tvm/ffi/extra/module.h>

namespace ffi = tvm::ffi;

int64_t add(int64_t a, int64_t b) { return a + b; }

class TextModuleObj : public ffi::ModuleObj {
 public:
  explicit TextModuleObj(ffi::String text) : text_(text) {}
  const char* kind() const final { return "python_api_text"; }
  int GetPropertyMask() const final {
    return ffi::Module::kBinarySerializable | ffi::Module::kCompilationExportable;
  }
  ffi::Optional<ffi::Function> GetFunction(const ffi::String& name) final {
    if (name != "text") return std::nullopt;
    ffi::String text = text_;
    return ffi::Function::FromTyped([text]() { return text; });
  }
  bool ImplementsFunction(const ffi::String& name) final { return name == "declared"; }
  ffi::String InspectSource(const ffi::String& format) const final { return text_ + "/" + format; }
  ffi::Array<ffi::String> GetWriteFormats() const final { return {"txt", "text"}; }
  void WriteToFile(const ffi::String& file, const ffi::String& format) const final {
    TVM_FFI_THROW(RuntimeError) << "writes no " << format << " to " << file;
  }
  ffi::Optional<ffi::String> GetFunctionDoc(const ffi::String& name) final {
    if (name == "text") return ffi::String("gives the text");
    return std::nullopt;
  }

 private:
  ffi::String text_;
};

ffi::Module text_module(ffi::String text) {
  return ffi::Module(ffi::make_object<TextModuleObj>(text));
}

ffi::Array<ffi::String> import_kinds(ffi::Module m) {
  ffi::Array<ffi::String> out;
  for (const ffi::Any& i : m->imports()) out.push_back(i.cast<ffi::Module>()->kind());
  return out;
}

ffi::Any through_module(ffi::Module m, ffi::String name) {
  auto f = m->GetFunction(name, true);
  return f.has_value() ? (*f)() : ffi::Any("absent");
}
"""

NAMES = ["add", "text_module", "import_kinds", "through_module"]

_loaded = []


def module():
    if not _loaded:
        _loaded.append(compiled("python_api_modules", SOURCE, NAMES))
    return _loaded[0]


def case_modules():
    m = module()
    t = m.text_module("hello")
    u = m.text_module("imported")
    got = [t.kind, t["text"](), t.get_property_mask(), t.is_runnable(),
           t.is_binary_serializable(), t.is_compilation_exportable(),
           t.implements_function("declared"), t.implements_function("text"),
           t.inspect_source("fmt"), t.get_write_formats(),
           t.get_function_doc("text"), t.get_function_doc("x"),
           t.get_function_metadata("text"), outcome(t.write_to_file, "f", "g"),
           outcome(t.get_function, "x"), outcome(lambda: t.nope)]
    t.import_module(u)
    t.import_module(m)
    got += [m.import_kinds(t), m.through_module(t, "text"),
            m.through_module(t, "absent"), t.get_function("add", True)(2, 3),
            t.implements_function("add", True), raises(RuntimeError,
                                                       u.import_module, t)]
    t.clear_imports()
    return got, m.import_kinds(t), type(t).__name__, use_count(u)
