// C++ needs no scopes: a reference ends with the block that it stands in.
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/tvm_ffi.h>

#include <iostream>

namespace ffi = tvm::ffi;

static ffi::List<int64_t> Squares(int64_t n) {
  ffi::List<int64_t> list;
  for (int64_t i = 0; i < n; ++i) list.push_back(i * i);
  return list;
}

static int64_t SumOfSquares(int64_t n) {
  ffi::Function squares = ffi::Function::GetGlobalRequired("demo.squares");
  int64_t sum = 0;
  for (int64_t x : squares(n).cast<ffi::List<int64_t>>()) sum += x;
  return sum;
}

static void Run() {
  ffi::reflection::GlobalDef().def("demo.squares", Squares);
  ffi::Function squares = ffi::Function::GetGlobalRequired("demo.squares");
  ffi::Any longest;
  for (int64_t n = 1; n <= 3; ++n) {
    ffi::Any list = squares(n);
    if (n == 3) longest = list;
  }
  std::cout << SumOfSquares(4) << '\n';
  std::cout << ffi::ReprPrint(longest) << '\n';
  std::cout << ffi::ReprPrint(ffi::Array<ffi::String>({"a", "b"})) << '\n';
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
