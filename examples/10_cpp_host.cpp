// The header in C++11: a smart pointer for references, errors as exceptions,
// and a lambda as a function object.
#define TVMFFI_IMPLEMENTATION
#include "tvmffi.h"

#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

// Owns one reference.
struct Release {
  void operator()(TVMFFIObject *obj) const { tvmffi_release(obj); }
};
using Ref = std::unique_ptr<TVMFFIObject, Release>;

// Turns a return code into an exception.
static void check(int code) {
  if (!code) return;
  Ref error(tvmffi_error_take());
  if (!error) throw std::runtime_error("an error of the environment");
  const TVMFFIErrorCell *cell = TVMFFIErrorGetCellPtr(error.get());
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

static Ref make_function(Closure closure) {
  std::unique_ptr<Closure> self(new Closure(std::move(closure)));
  TVMFFIObjectHandle handle = nullptr;
  check(TVMFFIFunctionCreate(
      self.get(), closure_call,
      [](void *p) { delete static_cast<Closure *>(p); }, &handle));
  self.release();  // the function object owns the closure now
  return Ref(static_cast<TVMFFIObject *>(handle));
}

TVMFFI_FUNC(length, int64, (str, text)) {
  TVMFFI_RETURN(static_cast<int64_t>(text.size));
}

static void run() {
  int64_t base = 40, n = 0;
  Ref add = make_function([base](int64_t x) { return base + x; });
  check(tvmffi_call(add.get(), &n, 2));
  if (n != 42) throw std::logic_error("40 + 2 is not 42");

  check(tvmffi_register("demo.length", length));
  check(tvmffi_call("demo.length", &n, std::string("twelve bytes").c_str()));
  if (n != 12) throw std::logic_error("demo.length: " + std::to_string(n));

  Ref fails = make_function(
      [](int64_t) -> int64_t { throw std::out_of_range("no such item"); });
  std::string caught;
  try {
    check(tvmffi_call(fails.get(), nullptr, 1));
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
