// std_function.cc: the callee of the rows of calls through std::function, which
// is how C++ holds a function whose type it has forgotten.
#include <functional>

#include "tvmffi.h"

struct bench_lib;

namespace {

TVMFFIAny Int(int64_t value) {
  TVMFFIAny any;
  any.type_index = kTVMFFIInt;
  any.zero_padding = 0;
  any.v_int64 = value;
  return any;
}

struct Sum {
  int operator()(const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
    int64_t total = 0;
    for (int32_t i = 0; i < count; ++i) total += args[i].v_int64;
    *result = Int(total);
    return 0;
  }
};

// The same loop as in C (call.h).
template <int count>
void CallLoop(long n) {
  static std::function<int(const TVMFFIAny *, int32_t, TVMFFIAny *)> sum =
      Sum();
  auto *target = &sum;
  TVMFFIAny args[count + 1], result;
  __asm__ volatile("" : "+r"(target));
  for (long i = 0; i < n; ++i) {
    for (int k = 0; k < count; ++k) args[k] = Int(i + k);
    result = Int(0);
    result.type_index = kTVMFFINone;
    if ((*target)(args, count, &result)) return;
    __asm__ volatile("" : : "r"(&result), "r"(args) : "memory");
  }
}

}  // namespace

#define STD_FUNCTION(count)                                             \
  extern "C" void bench_std_function_##count(const bench_lib *, void *, \
                                             long n);                   \
  extern "C" void bench_std_function_##count(const bench_lib *, void *, \
                                             long n) {                  \
    CallLoop<count>(n);                                                 \
  }

STD_FUNCTION(0)
STD_FUNCTION(3)
STD_FUNCTION(8)
