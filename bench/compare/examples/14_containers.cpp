// Containers: made, gone through, read with the type that is wanted, changed.
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/tvm_ffi.h>

#include <cstdio>
#include <iostream>

namespace ffi = tvm::ffi;
using ffi::Any;
using ffi::String;

static double Total(ffi::Map<String, double> prices,
                    ffi::Dict<String, int64_t> basket) {
  double sum = 0;
  for (const auto &[name, count] : basket)
    sum += prices.Get(name).value_or(1.0) * static_cast<double>(count);
  return sum;
}

static void Run() {
  ffi::List<Any> list = {1, 2.5, String("three")};
  ffi::Map<String, Any> prices = {{"pear", 2}, {"plum", 0.5}};
  ffi::Dict<String, int64_t> basket = {{"pear", 3}};

  list.push_back(prices);
  list.Set(0, String("one"));
  for (const Any &item : list) {
    if (item.type_index() == ffi::TypeIndex::kTVMFFIFloat) continue;
    std::cout << ffi::ReprPrint(item) << '\n';
  }

  basket.Set("plum", 4);
  basket.Set("nut", 10);
  ffi::reflection::GlobalDef().def("demo.total", Total);
  ffi::Function total = ffi::Function::GetGlobalRequired("demo.total");
  double sum = total(prices, basket).cast<double>();
  int64_t pears = basket.at("pear");
  basket.erase("pear");
  std::cout << sum << " for " << pears << " pears and the rest\n";
  TVM_FFI_CHECK(sum == 18 && !basket.count("pear"), AssertionError);

  try {
    list[4].cast<double>();
    TVM_FFI_THROW(AssertionError) << "no error";
  } catch (const ffi::Error &error) {
    std::cout << error.FullMessage();
  }
  try {
    list[0].cast<double>();
    TVM_FFI_THROW(AssertionError) << "no error";
  } catch (const ffi::Error &error) {
    std::cout << error.FullMessage();
  }
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
