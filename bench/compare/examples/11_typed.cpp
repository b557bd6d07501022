// What may be missing, containers whose elements have a type, functions that
// carry a state, callbacks.
#include <tvm/ffi/tvm_ffi.h>

#include <iostream>
#include <memory>

namespace ffi = tvm::ffi;
using ffi::Any;
using ffi::Array;
using ffi::Function;
using ffi::Optional;
using ffi::String;

#define CHECK(x) TVM_FFI_CHECK(x, AssertionError)

static String Greet(String name, Optional<String> title) {
  return "hello, " + (title ? *title + " " : String()) + name;
}

static Optional<int64_t> Find(Array<int64_t> items, int64_t wanted) {
  int64_t i = 0;
  for (int64_t item : items) {
    if (item == wanted) return i;
    ++i;
  }
  return std::nullopt;
}

static void OptionalValues() {
  Function greet = Function::GetGlobalRequired("demo.greet");
  CHECK(greet("Ada", "Countess").cast<String>() == "hello, Countess Ada");
  CHECK(greet("Ada", nullptr).cast<String>() == "hello, Ada");

  Function find = Function::GetGlobalRequired("demo.find");
  Array<int64_t> items = {5, 7, 9};
  CHECK(find(items, 7).cast<Optional<int64_t>>() == 1);
  CHECK(find(items, 8).cast<Optional<int64_t>>() == std::nullopt);
}

static double Mean(Array<double> items) {
  double sum = 0;
  if (items.empty()) TVM_FFI_THROW(ValueError) << "no items";
  for (double item : items) sum += item;
  return sum / static_cast<double>(items.size());
}

static void ElementTypes() {
  Function mean = Function::GetGlobalRequired("demo.mean");
  CHECK(mean(ffi::List<Any>({1, 2.5, true})).cast<double>() == 1.5);
  try {
    mean(Array<Any>({1.5, String("two")}));
    CHECK(false);
  } catch (const ffi::Error &error) {
    std::cout << error.FullMessage();
  }
}

static Function Account(int64_t total) {
  auto state = std::make_shared<int64_t>(total);
  return Function::FromTyped([state](int64_t amount) {
    if (amount < 0) TVM_FFI_THROW(ValueError) << "a deposit adds";
    return *state += amount;
  });
}

static void Closures() {
  Function mine = Account(100), yours = Account(0);
  CHECK(mine(20).cast<int64_t>() == 120);
  CHECK(yours(5).cast<int64_t>() == 5);
}

static void ForEach(Array<Any> items, Function f) {
  for (const Any &item : items) f(item);
}

static void Callbacks() {
  Function for_each = Function::GetGlobalRequired("demo.for_each");
  Function mine = Account(0);
  try {
    for_each(Array<int64_t>({1, 2, 3, -4}), mine);
    CHECK(false);
  } catch (const ffi::Error &error) {
    CHECK(error.kind() == "ValueError");  // the -4, from two calls down
  }
  CHECK(mine(0).cast<int64_t>() == 6);
}

static void WideIntegers() {
  try {
    Function::GetGlobalRequired("demo.greet")(UINT64_MAX, "Sir");
    CHECK(false);
  } catch (const ffi::Error &error) {
    CHECK(error.kind() == "OverflowError");
  }
}

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef()
      .def("demo.greet", Greet, "Says hello to someone")
      .def("demo.find", Find)
      .def("demo.mean", Mean)
      .def("demo.account", Account)
      .def("demo.for_each", ForEach);
}

int main() {
  try {
    OptionalValues();
    ElementTypes();
    Closures();
    Callbacks();
    WideIntegers();
  } catch (const ffi::Error &error) {
    std::cerr << error.FullMessage();
    return 1;
  }
  return 0;
}
