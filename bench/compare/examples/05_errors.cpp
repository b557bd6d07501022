// Errors: thrown, passed on, handled, by kind, printed, with a cause.
#include <tvm/ffi/tvm_ffi.h>

#include <iostream>

namespace ffi = tvm::ffi;
using ffi::Function;

#define CHECK(x) TVM_FFI_CHECK(x, AssertionError)

static int64_t Divide(int64_t a, int64_t b) {
  if (b == 0) TVM_FFI_THROW(ZeroDivisionError) << a << " / 0";
  return a / b;
}

static int64_t Average(int64_t sum, int64_t count) {
  Function divide = Function::GetGlobalRequired("demo.divide");
  return divide(sum, count).cast<int64_t>();
}

static void Missing() {
  throw ffi::Error("NotImplementedError", "not in this build", "");
}

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef()
      .def("demo.divide", Divide)
      .def("demo.average", Average)
      .def("demo.missing", Missing);
}

static void Handled() {
  Function average = Function::GetGlobalRequired("demo.average");
  int64_t mean = average(10, 5).cast<int64_t>();
  CHECK(mean == 2);
  try {
    mean = average(10, 0).cast<int64_t>();
  } catch (const ffi::Error &) {
    mean = 0;  // handled: no items, no average
  }
  CHECK(mean == 0);
}

static void ByKind() {
  try {
    Function::GetGlobalRequired("demo.average")(10, 0);
    CHECK(false);
  } catch (const ffi::Error &error) {
    CHECK(error.kind() == "ZeroDivisionError");
    CHECK(error.kind() != "ValueError");
    CHECK(error.message() == "10 / 0");
    CHECK(error.backtrace().find("05_errors.cpp") != std::string::npos);
  }
}

static void Printed() {
  try {
    Function::GetGlobalRequired("demo.average")(10, 0);
    CHECK(false);
  } catch (const ffi::Error &error) {
    std::cout << error.FullMessage();
  }
  try {
    Function::GetGlobalRequired("demo.missing")();
    CHECK(false);
  } catch (const ffi::Error &error) {
    std::cout << error.FullMessage();
  }
}

static void WithCause() {
  try {
    try {
      Function::GetGlobalRequired("demo.average")(10, 0);
      CHECK(false);
    } catch (const ffi::Error &cause) {
      throw ffi::Error("RuntimeError", "no report", "", cause, std::nullopt);
    }
  } catch (const ffi::Error &error) {
    CHECK(error.kind() == "RuntimeError");
    CHECK(error.cause_chain()->kind() == "ZeroDivisionError");
  }
}

int main() {
  try {
    Handled();
    ByKind();
    Printed();
    WithCause();
  } catch (const ffi::Error &error) {
    std::cerr << error.FullMessage();
    return 1;
  }
  return 0;
}
