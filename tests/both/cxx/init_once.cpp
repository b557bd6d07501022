// Init functions of TVMFFIHandleInitOnce that leave by an exception: the handle
// is not made, and the next call, of this thread or another one, makes it.
#include <tvm/ffi/c_api.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "tap.hpp"

namespace {

int target;

int Make(void **result) {
  *result = &target;
  return 0;
}

int Throw(void **) { throw std::runtime_error("no handle"); }

// Other frames between the call and the stack of the exception.
[[gnu::noinline]] int Deeper(void **handle, int depth) {
  volatile char room[256] = {0};
  int code = depth ? Deeper(handle, depth - 1)
                   : TVMFFIHandleInitOnce(handle, Make);
  return code + room[depth];
}

std::atomic<int> waiting;

int ThrowLater(void **) {
  while (!waiting.load()) std::this_thread::yield();
  for (int i = 0; i < 50; ++i) std::this_thread::yield();
  throw std::runtime_error("too late");
}

}  // namespace

TEST(same_handle_again) {
  void *handle = nullptr;
  THROWS("std::exception: no handle", TVMFFIHandleInitOnce(&handle, Throw));
  OK(handle == nullptr);
  THROWS("std::exception: no handle", TVMFFIHandleInitOnce(&handle, Throw));
  EQ(TVMFFIHandleInitOnce(&handle, Make), 0);
  OK(handle == &target);
}

TEST(from_a_deeper_frame) {
  void *handle = nullptr;
  THROWS("std::exception: no handle", TVMFFIHandleInitOnce(&handle, Throw));
  EQ(Deeper(&handle, 10), 0);
  OK(handle == &target);
}

TEST(another_handle) {
  void *handle = nullptr, *other = nullptr;
  THROWS("std::exception: no handle", TVMFFIHandleInitOnce(&handle, Throw));
  EQ(TVMFFIHandleInitOnce(&other, Make), 0);
  OK(other == &target && handle == nullptr);
}

// The thread that threw lives on, and calls nothing more.
TEST(another_thread_waits) {
  for (int i = 0; i < 20; ++i) {
    static void *handle;
    std::atomic<bool> made{false};
    int code = -1;
    handle = nullptr;
    waiting = 0;
    std::thread other;
    std::string error = tap::thrown([&] {
      other = std::thread([&] {
        waiting = 1;
        code = TVMFFIHandleInitOnce(&handle, Make);
        made = true;
      });
      TVMFFIHandleInitOnce(&handle, ThrowLater);
    });
    while (!made) std::this_thread::yield();
    other.join();
    // Whoever came first made it; the other one saw the exception or nothing.
    OK(code == 0 && handle == &target);
    OK(error.empty() || error == "std::exception: too late");
  }
}

TEST(a_thread_that_throws_and_ends) {
  static void *handle;
  std::thread([] {
    THROWS("std::exception: no handle", TVMFFIHandleInitOnce(&handle, Throw));
  }).join();
  EQ(TVMFFIHandleInitOnce(&handle, Make), 0);
  OK(handle == &target);
}

TAP_MAIN()
