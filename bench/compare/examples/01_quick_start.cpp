#include <tvm/ffi/tvm_ffi.h>

#include <cstdio>
#include <iostream>

namespace ffi = tvm::ffi;

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef().def("demo.square",
                                   [](int64_t x) { return x * x; });
}

static void Run() {
  ffi::Function square = ffi::Function::GetGlobalRequired("demo.square");
  int64_t nine = square(3).cast<int64_t>();
  TVM_FFI_CHECK(nine == 9, AssertionError) << "3 squared is not 9";
  std::printf("3 squared is %d\n", static_cast<int>(nine));
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
