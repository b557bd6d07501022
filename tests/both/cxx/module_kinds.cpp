// A kind of modules that C declares, called by C++ as a class.
#include <tvm/ffi/cast.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>

#include "modules.hpp"

using namespace tvm::ffi;

extern "C" int c_make_number(int64_t number, TVMFFIObjectHandle *out);

namespace {

Module number(int64_t x) {
  TVMFFIObjectHandle handle = nullptr;
  TVM_FFI_CHECK_SAFE_CALL(c_make_number(x, &handle));
  Any owned;
  *reinterpret_cast<TVMFFIAny *>(&owned) = TVMFFIAny{};
  reinterpret_cast<TVMFFIAny *>(&owned)->type_index = kTVMFFIModule;
  reinterpret_cast<TVMFFIAny *>(&owned)->v_obj =
      static_cast<TVMFFIObject *>(handle);
  return owned.cast<Module>();
}

// The error of a virtual function: upstream's library throws it; a library in C
// cannot, and leaves it in the slot. The state in which nothing failed is "".
template <typename F>
std::string failure(F f) {
  try {
    f();
    TVMFFIObjectHandle raised = nullptr;
    TVMFFIErrorMoveFromRaised(&raised);
    if (raised == nullptr) return "";
    TVMFFIErrorSetRaised(raised);
    TVMFFIObjectDecRef(raised);
    throw detail::MoveFromSafeCallRaised();
  } catch (const Error &error) {
    return error.kind() + ": " + error.message();
  }
}

}  // namespace

TEST(properties) {
  Module m = number(1);
  EQ(std::string(m->kind()), "cxx.number");
  EQ(m->GetPropertyMask(), 3);
  EQ(m->imports().size(), 0u);
  EQ(m->GetWriteFormats().size(), 1u);
  EQ(std::string(m->GetWriteFormats()[0]), "number");
  EQ(std::string(m->InspectSource("c")), "");
  OK(!m->GetFunctionDoc("add").has_value());
  OK(m->GetFunctionMetadata("add").has_value());
}

TEST(functions_keep_it) {
  Module m = number(40);
  Function f = *m->GetFunction("add");
  EQ(m.use_count(), 2);
  EQ(f(2).cast<int>(), 42);
  m = number(0);
  EQ(f(3).cast<int>(), 43);
  OK(m->ImplementsFunction("add"));
  OK(!m->ImplementsFunction("no"));
  OK(!m->GetFunction("no").has_value());
}

TEST(bytes) { EQ(std::string(number(1)->SaveToBytes()), "some bytes, saved"); }

TEST(errors) {
  Module m = number(-1);
  for (int i = 0; i < 3; ++i) {
    EQ(failure([&] { m->SaveToBytes(); }), "ValueError: less than 0");
    EQ(failure([&] { m->GetFunction("long name"); }),
       "KeyError: long name is a long name");
    EQ(failure([&] { m->WriteToFile("path", "number"); }),
       "ValueError: path.number");
  }
  EQ(failure([&] { m->ImportModule(m); }),
     "RuntimeError: Cyclic dependency detected during import");
  EQ(m.use_count(), 1);
}

TEST(imports) {
  Module m = number(1), other = number(2);
  m->ImportModule(other);
  EQ(m->imports().size(), 1u);
  OK(m->imports()[0].cast<Module>().same_as(other));
  call("ModuleImportModule", m, number(3));
  EQ(m->imports().size(), 2u);
  EQ(failure([&] { other->ImportModule(m); }),
     "RuntimeError: Cyclic dependency detected during import");
  m->ClearImports();
  EQ(m->imports().size(), 0u);
  TVMFFIObjectHandle f = nullptr;
  m->ImportModule(other);
  EQ(TVMFFIEnvModLookupFromImports(const_cast<ModuleObj *>(m.operator->()),
                                   "add", &f),
     0);
  OK(f != nullptr);
}

TAP_MAIN()
