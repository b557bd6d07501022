// C++ needs no scopes: a reference ends with the block that it stands in.
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/tvm_ffi.h>

#include <iostream>

namespace ffi = tvm::ffi;

using Numbers = ffi::List<int64_t>;

static Numbers Squares(int64_t n) {
  Numbers list;
  for (int64_t i = 0; i < n; ++i) list.push_back(i * i);
  return list;
}

static Numbers Longer(Numbers a, Numbers b) {
  return a.size() < b.size() ? b : a;
}

static ffi::Array<ffi::Any> Pair(Numbers a, const char *b) {
  return {a, ffi::String(b)};
}

static void Run() {
  ffi::reflection::GlobalDef()
      .def("demo.squares", Squares)
      .def("demo.longer", Longer);
  ffi::Function squares = ffi::Function::GetGlobalRequired("demo.squares");
  ffi::Function longer = ffi::Function::GetGlobalRequired("demo.longer");
  Numbers longest;
  for (int64_t n = 1; n <= 3; ++n)
    longest = longer(longest, squares(n)).cast<Numbers>();
  std::cout << ffi::ReprPrint(Pair(longest, "the longest")) << '\n';
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
