// A test program in a line: TEST(name) { OK(1 + 1 == 2); } and TAP_MAIN().
//
// Each check prints one line of the Test Anything Protocol, named by its test
// and its own source text. NOTE(x) prints a value for the comparison of two
// libraries: a program must print the same with both.
#ifndef TESTS_CXX_TAP_HPP_
#define TESTS_CXX_TAP_HPP_

#include <tvm/ffi/error.h>

#include <cstdio>
#include <exception>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tap {

struct Case {
  const char *name;
  void (*run)();
};

inline std::vector<Case> &cases() {
  static std::vector<Case> all;
  return all;
}

struct State {
  const char *test = "";
  int count = 0;
  int failed = 0;
};

inline State &state() {
  static State s;
  return s;
}

inline bool add(const char *name, void (*run)()) {
  cases().push_back({name, run});
  return true;
}

inline bool ok(bool passed, const std::string &what) {
  State &s = state();
  s.failed += !passed;
  std::printf("%sok %d - %s: %s\n", passed ? "" : "not ", ++s.count, s.test,
              what.c_str());
  return passed;
}

// Prints text behind "# ", line by line.
inline void note(const std::string &text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    std::printf("# %s\n", line.c_str());
}

template <typename T, typename = void>
struct Printed {
  static std::string of(const T &) { return "(a value)"; }
};
template <typename T>
struct Printed<T, std::void_t<decltype(std::declval<std::ostream &>()
                                       << std::declval<const T &>())>> {
  static std::string of(const T &value) {
    std::ostringstream out;
    out << std::boolalpha << value;
    return out.str();
  }
};

template <typename T>
std::string print(const T &value) {
  if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<long long>(value));
  } else {
    return Printed<T>::of(value);
  }
}

template <typename A, typename B>
bool equal(const A &got, const B &want, const std::string &what) {
  bool passed = ok(got == want, what);
  if (!passed) note("got " + print(got) + ", expected " + print(want));
  return passed;
}

// The kind and message of what `f` throws; empty when it does not.
template <typename F>
std::string thrown(F &&f) {
  try {
    f();
  } catch (const tvm::ffi::Error &e) {
    return e.kind() + ": " + e.message();
  } catch (const std::exception &e) {
    return std::string("std::exception: ") + e.what();
  }
  return "";
}

// An error of the library itself, without the C++ source that upstream quotes.
inline std::string plain(const std::string &error) {
  static const char end[] = " is false: ";
  size_t from = error.find("Check failed: ("), to = error.find(end);
  if (from == std::string::npos || to == std::string::npos) return error;
  return error.substr(0, from) + error.substr(to + sizeof(end) - 1);
}

inline std::string kind(const std::string &error) {
  return error.substr(0, error.find(':'));
}

inline int run() {
  for (const Case &c : cases()) {
    state().test = c.name;
    std::string error = thrown(c.run);
    if (!error.empty()) {
      ok(false, "no exception leaves the test");
      note(error);
    }
    std::fflush(stdout);
  }
  std::printf("1..%d\n", state().count);
  return state().failed || !state().count;
}

}  // namespace tap

#define TEST(name)                                               \
  static void test_##name();                                     \
  static const bool added_##name = tap::add(#name, test_##name); \
  static void test_##name()

#define OK(...) tap::ok(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__)
#define EQ(got, want) tap::equal((got), (want), #got " == " #want)
// The text is "Kind: message", or "std::exception: what".
#define THROWS(text, ...)                                                  \
  tap::equal(tap::thrown([&] { (void)(__VA_ARGS__); }), std::string(text), \
             "throws: " #__VA_ARGS__)
#define NOTE(value) tap::note(#value " = " + tap::print(value))
#define NOTE_THROWN(...) \
  tap::note("thrown: " + tap::plain(tap::thrown([&] { (void)(__VA_ARGS__); })))
// For texts that quote the source of upstream's library.
#define NOTE_KIND(...) \
  tap::note("thrown: " + tap::kind(tap::thrown([&] { (void)(__VA_ARGS__); })))

#define TAP_MAIN() \
  int main() { return tap::run(); }

#endif  // TESTS_CXX_TAP_HPP_
