// cxx.cc: a call from C++ through std::function.
#include <cstdlib>
#include <functional>

#include "callee.h"

int main(int argc, char **argv) {
  const long count = argc > 1 ? std::atol(argv[1]) : 1;
  std::function<int64_t(int64_t, int64_t)> f = callee_add;
  std::function<int64_t(int64_t, int64_t)> *volatile hidden = &f;
  MEASURE("C++, std::function", count, (*hidden)(x, 1));
}
