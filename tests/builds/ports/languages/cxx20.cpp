/* A C++20 program on a board, without exceptions, RTTI and libstdc++. It
   registers a function and calls it by its name. */

#include "tvmffi.h"

extern "C" {
#include "board.h"
size_t runtime_used(void);
int main(void);
}

namespace {

template <typename T>
concept Addable = requires(T a, T b) {
  { a + b };
};

constexpr auto sum_of(Addable auto... terms) { return (terms + ...); }

TVMFFI_FUNC(sum, int64, (int64, a), (int64, b)) {
  if (a < 0) return TVMFFI_RAISE("ValueError", "%d is negative", int(a));
  TVMFFI_RETURN(sum_of(a, b));
}

// A closure, whose state is a C++ object.
struct Counter {
  int64_t value;
};

int count(void *self, const TVMFFIAny *, int32_t, TVMFFIAny *result) {
  *result = tvmffi_int(++static_cast<Counter *>(self)->value);
  return 0;
}

void write_error() {
  TVMFFI_SCOPE;
  TVMFFIObject *error = tvmffi_error_take();
  const TVMFFIErrorCell *cell = TVMFFIErrorGetCellPtr(error);
  board_write(cell->kind.data);
  board_write(": ");
  board_write(cell->message.data);
  board_write("\n");
}

void write_if(bool condition, const char *text) {
  board_write(condition ? text : "wrong");
  board_write("\n");
}

int calls() {
  int64_t result = 0;
  TVMFFI_TRY(tvmffi_call("test.sum", &result, 40, 2));
  write_if(result == 42, "40 + 2 = 42");
  if (tvmffi_call("test.sum", &result, 40)) write_error();
  if (tvmffi_call("test.sum", &result, -1, 2)) write_error();
  return 0;
}

int closure() {
  TVMFFI_SCOPE;
  Counter counter{.value = 6};
  TVMFFIObjectHandle handle = nullptr;
  TVMFFI_TRY(TVMFFIFunctionCreate(&counter, count, nullptr, &handle));
  TVMFFIObject *f = tvmffi_scope_attach(handle);
  int64_t result = 0;
  TVMFFI_TRY(tvmffi_call(f, &result));
  TVMFFI_TRY(tvmffi_call(f, &result));
  write_if(result == 8, "the counter is 8");
  return 0;
}

int run() {
  TVMFFI_TRY(TVMFFI_REGISTER("test.sum", sum));
  TVMFFI_TRY(calls());
  TVMFFI_TRY(closure());
  const size_t used = runtime_used();
  TVMFFI_TRY(calls());
  TVMFFI_TRY(closure());
  write_if(runtime_used() == used, "no leak");
  return 0;
}

}  // namespace

int main() {
  if (!run()) return 0;
  write_error();
  return 1;
}
