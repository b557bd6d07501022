// A packed function by hand, the global table, functions with a state, typed
// functions.
#include <tvm/ffi/tvm_ffi.h>

#include <iostream>

namespace ffi = tvm::ffi;
using ffi::Function;

#define CHECK(x) TVM_FFI_CHECK(x, AssertionError)

static void ByHand() {
  int64_t by = 5;
  Function add5 = Function::FromPacked([by](ffi::PackedArgs args,
                                            ffi::Any *result) {
    if (args.size() != 1 || args[0].type_index() != ffi::TypeIndex::kTVMFFIInt)
      TVM_FFI_THROW(TypeError) << "add expects one int";
    *result = args[0].cast<int64_t>() + by;
  });
  ffi::AnyView arg = 37;
  ffi::Any result;
  add5.CallPacked(&arg, 1, &result);
  CHECK(result.type_index() == ffi::TypeIndex::kTVMFFIInt &&
        result.cast<int64_t>() == 42);
}

static Function Adder(int64_t by) {
  return Function::FromTyped([by](int64_t x) { return x + by; }, "demo.adder");
}

static void GlobalTable() {
  CHECK(!Function::GetGlobal("demo.adder"));  // a missing name is no error

  Function add1 = Adder(1), add2 = Adder(2);
  Function::SetGlobal("demo.adder", add1);
  try {
    Function::SetGlobal("demo.adder", add2);  // taken: an error
    CHECK(false);
  } catch (const ffi::Error &error) {
    std::cout << error.FullMessage();
  }
  CHECK(Function::GetGlobalRequired("demo.adder").same_as(add1));

  Function::SetGlobal("demo.adder", add2, /*override=*/true);
  Function found = Function::GetGlobalRequired("demo.adder");
  CHECK(found(40).cast<int64_t>() == 42);
}

static double Scale(double x, int32_t by) { return x * by; }

static double ScaleBack(double x, int32_t by) {
  if (by == 0) TVM_FFI_THROW(ZeroDivisionError) << x << " / 0";
  return x / by;
}

static int64_t Twice(Function f, int64_t x) { return f(f(x)).cast<int64_t>(); }

static void TypedFunctions() {
  ffi::reflection::GlobalDef().def("demo.scale", Scale);
  Function scale = Function::GetGlobalRequired("demo.scale");
  CHECK(scale(2.5, 4).cast<double>() == 10);
  Function::SetGlobal("demo.scale",
                      Function::FromTyped(ScaleBack, "demo.scale"),
                      /*override=*/true);
  scale = Function::GetGlobalRequired("demo.scale");
  CHECK(scale(2.5, 4).cast<double>() == 0.625);

  Function call_twice = Function::FromTyped(Twice);  // without a name
  CHECK(call_twice(Adder(5), 32).cast<int>() == 42);

  try {
    scale("two", 4);
    CHECK(false);
  } catch (const ffi::Error &error) {
    std::cout << error.FullMessage();
  }
  try {
    scale(2.5);
    CHECK(false);
  } catch (const ffi::Error &error) {
    std::cout << error.FullMessage();
  }
}

int main() {
  try {
    ByHand();
    GlobalTable();
    TypedFunctions();
  } catch (const ffi::Error &error) {
    std::cerr << error.FullMessage();
    return 1;
  }
  return 0;
}
