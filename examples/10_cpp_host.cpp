// The header in C++11: scopes, which an exception ends, too; errors as
// exceptions; and a lambda as a function object.
//
//     c++ -std=c++11 -I. examples/10_cpp_host.cpp -lpthread && ./a.out
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

// Turns a return code into an exception.
static void check(int code) {
  if (!code) return;
  TVMFFI_SCOPE;
  TVMFFIObject *error = tvmffi_error_take();
  if (!error) throw std::runtime_error("an error of the environment");
  const TVMFFIErrorCell *cell = TVMFFIErrorGetCellPtr(error);
  throw std::runtime_error(std::string(cell->kind.data) + ": " +
                           cell->message.data);
}

// Makes a function object from a callable with one int parameter. Converts its
// exceptions to errors, because no exception may pass through the ABI.
using Closure = std::function<int64_t(int64_t)>;

static int closure_call(void *self, const TVMFFIAny *args, int32_t num_args,
                        TVMFFIAny *result) try {
  if (num_args != 1 || args[0].type_index != kTVMFFIInt)
    return TVMFFI_RAISE("TypeError", "expected one int");
  *result = tvmffi_int((*static_cast<Closure *>(self))(args[0].v_int64));
  return 0;
} catch (const std::exception &e) {
  return TVMFFI_RAISE("RuntimeError", "%s", e.what());
}

static TVMFFIObject *make_function(TVMFFI_HERE, Closure closure) {
  std::unique_ptr<Closure> self(new Closure(std::move(closure)));
  TVMFFIObjectHandle handle = nullptr;
  check(TVMFFIFunctionCreate(
      self.get(), closure_call,
      [](void *p) { delete static_cast<Closure *>(p); }, &handle));
  self.release();  // the function object owns the closure now
  TVMFFIObject *function = tvmffi_scope_attach(handle);
  check(function ? 0 : -1);
  return function;
}

TVMFFI_FUNC(length, int64, (str, text)) {
  TVMFFI_RETURN(static_cast<int64_t>(text.size));
}

static void run() {
  TVMFFI_SCOPE;
  int64_t base = 40, n = 0;
  TVMFFIObject *add =
      make_function(tvmffi_here, [base](int64_t x) { return base + x; });
  check(tvmffi_call(add, &n, 2));
  if (n != 42) throw std::logic_error("40 + 2 is not 42");

  check(TVMFFI_REGISTER("demo.length", length));
  check(tvmffi_call("demo.length", &n, std::string("twelve bytes").c_str()));
  if (n != 12) throw std::logic_error("demo.length: " + std::to_string(n));

  TVMFFIObject *fails = make_function(tvmffi_here, [](int64_t) -> int64_t {
    throw std::out_of_range("no such item");
  });
  std::string caught;
  try {
    check(tvmffi_call(fails, nullptr, 1));
  } catch (const std::runtime_error &e) {
    caught = e.what();
  }
  if (caught != "RuntimeError: no such item") throw std::logic_error(caught);
  std::printf("caught %s\n", caught.c_str());
}

int main() {
  try {
    run();
    return 0;
  } catch (const std::exception &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
