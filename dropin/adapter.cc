// The C++ symbols of upstream's library, compiled against upstream's headers.
// Each calls a C function. The headers convert C errors to exceptions, and
// exceptions to C errors.
//
// TVMFFI_DROPIN_STATIC leaves out what only programs name that were linked with
// an older wheel. A static library is linked with programs that are compiled
// now, and libstdc++.a defines some of these symbols, too.
#include "adapter.h"

#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/extra/serialization.h>
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ffi/extra/structural_hash.h>
#include <tvm/ffi/extra/visit_error_context.h>
#include <tvm/ffi/function.h>

#include <cxxabi.h>
#include <ios>
#include <memory>
#include <mutex>
#include <new>
#include <optional>

namespace tvm {
namespace ffi {
namespace {

// Returns a built-in function, which lives as long as the process.
const Function &Builtin(const char *name) {
  return *new Function(Function::GetGlobalRequired(name));
}

TVMFFIObjectHandle HandleOf(Object *object) {
  return reinterpret_cast<TVMFFIObjectHandle>(object);
}

TVMFFIObjectHandle HandleOf(const ObjectRef &ref) {
  return detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(ref);
}

}  // namespace

// -- comparison, copies and text -----------------------------------------

Any DeepCopy(const Any &value) {
  static const Function &f = Builtin("ffi.DeepCopy");
  return f(value);
}

String ReprPrint(const Any &value) {
  static const Function &f = Builtin("ffi.ReprPrint");
  return f(value).cast<String>();
}

int64_t RecursiveHash(const Any &value) {
  static const Function &f = Builtin("ffi.RecursiveHash");
  return f(value).cast<int64_t>();
}

bool RecursiveEq(const Any &lhs, const Any &rhs) {
  static const Function &f = Builtin("ffi.RecursiveEq");
  return f(lhs, rhs).cast<bool>();
}

bool RecursiveLt(const Any &lhs, const Any &rhs) {
  static const Function &f = Builtin("ffi.RecursiveLt");
  return f(lhs, rhs).cast<bool>();
}

bool RecursiveLe(const Any &lhs, const Any &rhs) {
  static const Function &f = Builtin("ffi.RecursiveLe");
  return f(lhs, rhs).cast<bool>();
}

bool RecursiveGt(const Any &lhs, const Any &rhs) {
  static const Function &f = Builtin("ffi.RecursiveGt");
  return f(lhs, rhs).cast<bool>();
}

bool RecursiveGe(const Any &lhs, const Any &rhs) {
  static const Function &f = Builtin("ffi.RecursiveGe");
  return f(lhs, rhs).cast<bool>();
}

// -- structural operations -----------------------------------------------

bool StructuralEqual::Equal(const Any &lhs, const Any &rhs, bool map_free_vars,
                            bool skip_tensor_content) {
  static const Function &f = Builtin("ffi.StructuralEqual");
  return f(lhs, rhs, map_free_vars, skip_tensor_content).cast<bool>();
}

Optional<reflection::AccessPathPair> StructuralEqual::GetFirstMismatch(
    const Any &lhs, const Any &rhs, bool map_free_vars,
    bool skip_tensor_content) {
  static const Function &f = Builtin("ffi.GetFirstStructuralMismatch");
  return f(lhs, rhs, map_free_vars, skip_tensor_content)
      .cast<Optional<reflection::AccessPathPair>>();
}

uint64_t StructuralHash::Hash(const Any &value, bool map_free_vars,
                              bool skip_tensor_content) {
  static const Function &f = Builtin("ffi.StructuralHash");
  return static_cast<uint64_t>(
      f(value, map_free_vars, skip_tensor_content).cast<int64_t>());
}

Array<reflection::AccessPath> VisitErrorContext::FindAccessPaths(
    const ObjectRef &root, const VisitErrorContext &visit_context,
    bool allow_prefix_match) {
  static const Function &f = Builtin("ffi.VisitErrorContext.FindAccessPaths");
  return f(root, visit_context, allow_prefix_match)
      .cast<Array<reflection::AccessPath>>();
}

// -- JSON ----------------------------------------------------------------

namespace json {

Value Parse(const String &json_str, String *error_msg) {
  static const Function &f = Builtin("ffi.json.Parse");
  if (error_msg == nullptr) return f(json_str);
  try {
    Value value = f(json_str);
    *error_msg = String();
    return value;
  } catch (const Error &error) {
    *error_msg = error.message();
    return nullptr;
  }
}

String Stringify(const Value &value, const Optional<int> &indent) {
  static const Function &f = Builtin("ffi.json.Stringify");
  return f(value, indent).cast<String>();
}

#ifndef TVMFFI_DROPIN_STATIC
// Optional<int> up to wheel 0.1.12. Its copy constructor is not trivial, so it
// is passed by address.
struct OlderOptionalInt {
  OlderOptionalInt(const OlderOptionalInt &other) : value(other.value) {}
  std::optional<int> value;
};

// Stringify of those wheels. The name has Optional<int>, which is another class
// in today's headers.
__attribute__((visibility("default"))) String
OlderStringify(const Value &value, OlderOptionalInt indent) __asm__(
    "_ZN3tvm3ffi4json9StringifyERKNS0_3AnyENS0_8OptionalIivEE");

String OlderStringify(const Value &value, OlderOptionalInt indent) {
  return Stringify(value, Optional<int>(indent.value));
}
#endif

}  // namespace json

json::Value ToJSONGraph(const Any &value, const Any &metadata) {
  static const Function &f = Builtin("ffi.ToJSONGraph");
  return f(value, metadata);
}

Any FromJSONGraph(const json::Value &value) {
  static const Function &f = Builtin("ffi.FromJSONGraph");
  return f(value);
}

// -- modules -------------------------------------------------------------

Module Module::LoadFromFile(const String &file_name) {
  static const Function &f = Builtin("ffi.ModuleLoadFromFile");
  return f(file_name).cast<Module>();
}

void Module::VisitContextSymbols(
    const TypedFunction<void(String, void *)> &callback) {
  TVM_FFI_CHECK_SAFE_CALL(
      tvmffi_dropin_visit_context_symbols(HandleOf(callback.packed())));
}

Optional<Function> ModuleObj::GetFunction(const String &name,
                                          bool query_imports) {
  static const Function &f = Builtin("ffi.ModuleGetFunction");
  return f(this, name, query_imports).cast<Optional<Function>>();
}

bool ModuleObj::ImplementsFunction(const String &name, bool query_imports) {
  static const Function &f = Builtin("ffi.ModuleImplementsFunction");
  return f(this, name, query_imports).cast<bool>();
}

Optional<String> ModuleObj::GetFunctionDoc(const String &name,
                                           bool query_imports) {
  static const Function &f = Builtin("ffi.ModuleGetFunctionDoc");
  return f(this, name, query_imports).cast<Optional<String>>();
}

Optional<String> ModuleObj::GetFunctionMetadata(const String &name,
                                                bool query_imports) {
  static const Function &f = Builtin("ffi.ModuleGetFunctionMetadata");
  return f(this, name, query_imports).cast<Optional<String>>();
}

// The built-in functions of these names call these two virtual functions, so
// these call the functions below the built-in ones.
void ModuleObj::ImportModule(const Module &other) {
  TVM_FFI_CHECK_SAFE_CALL(
      tvmffi_dropin_import(HandleOf(this), HandleOf(other)));
}

void ModuleObj::ClearImports() {
  TVM_FFI_CHECK_SAFE_CALL(tvmffi_dropin_clear_imports(HandleOf(this)));
}

// The class of the library's own modules. C creates them with this vtable. The
// methods call C functions, and throw when a C function fails.
class __attribute__((visibility("hidden"))) DropinLibraryModule final
    : public ModuleObj {
 public:
  const char *kind() const final;
  int GetPropertyMask() const final {
    static const Function &f = Builtin("ffi.ModuleGetPropertyMask");
    return f(this).cast<int>();
  }
  Optional<Function> GetFunction(const String &name) final {
    return ModuleObj::GetFunction(name, false);
  }
  bool ImplementsFunction(const String &name) final {
    return ModuleObj::ImplementsFunction(name, false);
  }
  Optional<String> GetFunctionDoc(const String &name) final {
    return ModuleObj::GetFunctionDoc(name, false);
  }
  Optional<String> GetFunctionMetadata(const String &name) final {
    return ModuleObj::GetFunctionMetadata(name, false);
  }
};

// Not inline, so that the compiler emits the vtable here.
const char *DropinLibraryModule::kind() const { return "library"; }

namespace {

// Calls a virtual function for C and returns its result.
Any CallMethod(ModuleObj *module, tvmffi_dropin_method method,
               const AnyView *args) {
  switch (method) {
    case TVMFFI_DROPIN_KIND: {
      const char *kind = module->kind();
      return String(kind != nullptr ? kind : "");
    }
    case TVMFFI_DROPIN_PROPERTY_MASK: return module->GetPropertyMask();
    case TVMFFI_DROPIN_GET_FUNCTION:
      return module->GetFunction(args[0].cast<String>());
    case TVMFFI_DROPIN_IMPLEMENTS:
      return module->ImplementsFunction(args[0].cast<String>());
    case TVMFFI_DROPIN_DOC:
      return module->GetFunctionDoc(args[0].cast<String>());
    case TVMFFI_DROPIN_METADATA:
      return module->GetFunctionMetadata(args[0].cast<String>());
    case TVMFFI_DROPIN_WRITE:
      module->WriteToFile(args[0].cast<String>(), args[1].cast<String>());
      break;
    case TVMFFI_DROPIN_WRITE_FORMATS: return module->GetWriteFormats();
    case TVMFFI_DROPIN_INSPECT:
      return module->InspectSource(args[0].cast<String>());
    case TVMFFI_DROPIN_ADD_IMPORT:
      module->ImportModule(args[0].cast<Module>());
      break;
    case TVMFFI_DROPIN_CLEAR_IMPORTS: module->ClearImports(); break;
  }
  return nullptr;
}

}  // namespace

extern "C" int tvmffi_dropin_call_method(void *module,
                                         tvmffi_dropin_method method,
                                         const void *args, void *result) {
  try {
    TVM_FFI_SAFE_CALL_BEGIN();
    *static_cast<Any *>(result) =
        CallMethod(static_cast<ModuleObj *>(static_cast<Object *>(module)),
                   method, static_cast<const AnyView *>(args));
    TVM_FFI_SAFE_CALL_END();
#ifdef __GLIBCXX__
  } catch (abi::__forced_unwind &) {  // the thread is being cancelled
    throw;
#endif
  } catch (...) {
    TVMFFIErrorSetRaisedFromCStr("InternalError", "unknown C++ exception");
    return -1;
  }
}

// -- symbols that compilers emit for upstream's inline code ---------------

// A function with a static variable whose symbol upstream's library has.
struct ModuleObj::InternalUnsafe {
  static void *GetFunctionFromImports(ModuleObj *module, const char *name) {
    static std::mutex mutex_;
    std::scoped_lock<std::mutex> lock(mutex_);
    TVMFFIObjectHandle function;
    TVM_FFI_CHECK_SAFE_CALL(
        TVMFFIEnvModLookupFromImports(module, name, &function));
    return function;
  }

  // Never called: it makes the compiler emit the symbols of ModuleObj's type
  // index and of the standard library's shared pointers, too.
  [[gnu::used]] static std::shared_ptr<int> EmitSymbols() {
    (void)GetFunctionFromImports(nullptr, "");
    return std::make_shared<int>(ModuleObj::_GetOrAllocRuntimeTypeIndex());
  }
};

}  // namespace ffi
}  // namespace tvm

#ifndef TVMFFI_DROPIN_STATIC
// -- symbols of newer versions of libstdc++ ------------------------------

// Up to wheel 0.1.12, upstream's library has these functions for systems whose
// libstdc++ is older than the compiler, and clients built then name them.

__attribute__((visibility("default"))) void
tvmffi_dropin_library_init() __asm__("_ZSt21ios_base_library_initv");
[[noreturn]] __attribute__((visibility("default"))) void
tvmffi_dropin_bad_array() __asm__("_ZSt28__throw_bad_array_new_lengthv");

// Never called: a program that names it relies on std::cout and its like being
// initialized, which libstdc++ does by itself since GCC 13.
void tvmffi_dropin_library_init() {}
static std::ios_base::Init init_streams;

void tvmffi_dropin_bad_array() { throw std::bad_array_new_length(); }
#endif
