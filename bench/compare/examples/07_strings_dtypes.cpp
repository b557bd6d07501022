// Strings, bytes, data types and devices.
#include <tvm/ffi/tvm_ffi.h>

#include <cstdio>
#include <iostream>
#include <string>

namespace ffi = tvm::ffi;
using ffi::Any;
using ffi::Function;
using ffi::TypeIndex;

#define CHECK(x) TVM_FFI_CHECK(x, AssertionError)

static void Strings() {
  Any small = ffi::String("seven.."), large = ffi::String("eight...");
  CHECK(small.type_index() == TypeIndex::kTVMFFISmallStr);
  CHECK(large.type_index() == TypeIndex::kTVMFFIStr);
  CHECK(small.cast<ffi::String>() == "seven..");
  CHECK(large.cast<ffi::String>().size() == 8);
}

static void Bytes() {
  Any any = ffi::Bytes("a\0b", 3);
  CHECK(any.type_index() == TypeIndex::kTVMFFISmallBytes);
  ffi::Bytes bytes = any.cast<ffi::Bytes>();
  CHECK(std::string(bytes.data(), bytes.size()) == std::string("a\0b", 3));
}

static void DTypes() {
  DLDataType dtype = ffi::StringToDLDataType("float16x2");
  CHECK(dtype.code == kDLFloat && dtype.bits == 16 && dtype.lanes == 2);
  for (const char *name :
       {"bool", "int8", "uint16", "float32", "bfloat16", "float8_e4m3fn",
        "float4_e2m1fn", "float32x4", "handle"})  // there and back
    CHECK(ffi::DLDataTypeToString(ffi::StringToDLDataType(name)) == name);
  try {
    ffi::StringToDLDataType("floaty32");
    CHECK(false);
  } catch (const ffi::Error &error) {
    CHECK(error.kind() == "ValueError");
  }
}

static int64_t SizeOf(DLDataType t) { return (t.bits * t.lanes + 7) / 8; }

static ffi::String Describe(DLDevice d) {
  return d.device_type == kDLCPU    ? "the CPU"
         : d.device_type == kDLCUDA ? "a CUDA device"
                                    : "another device";
}

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef()
      .def("demo.size_of", SizeOf)
      .def("demo.describe", Describe);
}

static void AsArguments() {
  Function size_of = Function::GetGlobalRequired("demo.size_of");
  Function describe = Function::GetGlobalRequired("demo.describe");
  CHECK(size_of("float32x4").cast<int64_t>() == 16);
  CHECK(describe(DLDevice{kDLCUDA, 1}).cast<ffi::String>() == "a CUDA device");
  describe("cuda:1");
}

int main() {
  try {
    Strings();
    Bytes();
    DTypes();
    AsArguments();
    std::printf("float32x4 has 16 bytes\n");
  } catch (const ffi::Error &error) {
    std::cerr << error.FullMessage();
    return 1;
  }
  return 0;
}
