// The header in C++11: exceptions, which end a scope, too, and become errors;
// texts of C++; an object that a class owns; and a lambda as a function object.
//
//     c++ -std=c++11 -I. examples/10_cpp_host.cpp -lpthread && ./a.out
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

// Throws the code of a call that failed, in a function that cannot return it.
// The body around returns the code, and the call's error stays pending.
static void check(int code) {
  if (code) throw code;
}

// The caller gets a RuntimeError with the exception's text. To choose the kind,
// throw what TVMFFI_RAISE returns.
TVMFFI_FUNC(repeat, str, (str, text), (int64, times)) {
  std::string all;
  if (times < 0) throw std::invalid_argument("times is negative");
  if (times > 100) throw TVMFFI_RAISE("ValueError", "%d times", (int)times);
  while (times--) all.append(text.data, text.size);
  TVMFFI_RETURN(all);
}

// An object beyond all scopes, as std::unique_ptr owns it.
struct Release {
  void operator()(TVMFFIObject *object) const { tvmffi_release(object); }
};
using Owned = std::unique_ptr<TVMFFIObject, Release>;

static Owned own(TVMFFIObject *object) {
  if (!object) throw -1;  // a maker failed: its error is pending
  tvmffi_retain(object);
  return Owned(object);
}

class Symbols {
 public:
  explicit Symbols(TVMFFI_HERE) : table_(own(tvmffi_dict())) {}
  void define(const std::string &name, int64_t value) {
    check(tvmffi_set(table_.get(), name, value));
  }
  int64_t value(const std::string &name) const {
    int64_t value;
    check(tvmffi_get(table_.get(), name, &value));
    return value;
  }

 private:
  Owned table_;
};

// A function object from a callable of C++.
using Callable = std::function<int64_t(int64_t)>;

TVMFFI_CLOSURE(apply, Callable, int64, (int64, x)) {
  TVMFFI_RETURN((*self)(x));
}

static TVMFFIObject *make_function(TVMFFI_HERE, Callable callable) {
  TVMFFIObject *function;
  check(TVMFFI_CLOSURE_NEW(
      apply, new Callable(std::move(callable)),
      [](void *self) { delete static_cast<Callable *>(self); }, &function));
  return function;
}

static void expect(bool condition, const char *text) {
  if (!condition) throw TVMFFI_RAISE("AssertionError", "%s", text);
}

TVMFFI_MAIN() {
  check(TVMFFI_REGISTER("demo.repeat", repeat));
  std::string text = "ab";
  check(tvmffi_call("demo.repeat", &text, text, 3));
  expect(text == "ababab", "a text is an argument and a result");
  expect(tvmffi_call("demo.repeat", nullptr, text, -1) &&
             tvmffi_error_catch("RuntimeError"),
         "an exception is an error");
  expect(tvmffi_call("demo.repeat", nullptr, text, 101) &&
             tvmffi_error_catch("ValueError"),
         "an error has its kind");

  Symbols symbols(tvmffi_here);
  symbols.define("base", 40);
  int64_t n = 0, base = symbols.value("base");
  check(tvmffi_call(
      make_function(tvmffi_here, [base](int64_t x) { return base + x; }), &n,
      2));
  expect(n == 42, "a lambda is called");

  try {
    symbols.value("none");
  } catch (int) {
    expect(tvmffi_error_catch("KeyError"), "a code is caught");
  }
  std::printf("%s, %d\n", text.c_str(), static_cast<int>(n));
  return 0;
}
