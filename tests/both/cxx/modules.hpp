// What the programs about modules share.
#ifndef TESTS_CXX_MODULES_HPP_
#define TESTS_CXX_MODULES_HPP_

#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>

#include <string>

#include "tap.hpp"

// As C calls it: upstream's own functions let exceptions through to C++.
template <typename... Args>
tvm::ffi::Any call(const std::string &name, const Args &...args) {
  auto f = tvm::ffi::Function::GetGlobalRequired("ffi." + name);
  tvm::ffi::AnyView views[] = {args...};
  tvm::ffi::Any result;
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIFunctionCall(
      tvm::ffi::detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(f),
      reinterpret_cast<TVMFFIAny *>(views), sizeof...(args),
      reinterpret_cast<TVMFFIAny *>(&result)));
  return result;
}

// What C++ has for a module, at its start.
inline tvm::ffi::ModuleObj *raw(const tvm::ffi::Module &m) {
  return const_cast<tvm::ffi::ModuleObj *>(m.operator->());
}

inline void put(const std::string &name, TVMFFISafeCallType f) {
  TVMFFIEnvModRegisterSystemLibSymbol(name.c_str(),
                                      reinterpret_cast<void *>(f));
}

inline int c_fails(void *, const TVMFFIAny *, int32_t, TVMFFIAny *) {
  TVMFFIErrorSetRaisedFromCStr("KeyError", "said C");
  return -1;
}

inline int c_seven(void *, const TVMFFIAny *, int32_t, TVMFFIAny *result) {
  result->type_index = kTVMFFIInt;
  result->v_int64 = 7;
  return 0;
}

// A module of the library's own, with two functions.
inline tvm::ffi::Module library(const std::string &prefix) {
  put("__tvm_ffi_" + prefix + "seven", c_seven);
  put("__tvm_ffi_" + prefix + "fails", c_fails);
  return call("SystemLib", prefix).template cast<tvm::ffi::Module>();
}

#endif  // TESTS_CXX_MODULES_HPP_
