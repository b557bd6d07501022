// Errors on their way up: told where they were met, turned into others, handled
// by kind, or thrown again.
#include <tvm/ffi/tvm_ffi.h>

#include <cstdlib>
#include <iostream>
#include <string>

namespace ffi = tvm::ffi;
using ffi::Error;
using ffi::Function;

#define CHECK(x) TVM_FFI_CHECK(x, AssertionError)

static int64_t ParseNumber(const char *text) {
  char *end = nullptr;
  int64_t value = std::strtoll(text, &end, 10);
  if (end == text || *end)
    TVM_FFI_THROW(ValueError) << "`" << text << "` is not a number";
  return value;
}

static int64_t ParseLine(const std::string &line, int number) {
  std::string where = "line " + std::to_string(number) + ": ";
  size_t equals = line.find('=');
  if (equals == std::string::npos)
    TVM_FFI_THROW(SyntaxError) << where << "no `=`";
  try {
    return ParseNumber(line.c_str() + equals + 2);
  } catch (const Error &error) {  // a new one, which keeps kind and trace
    throw Error(error.kind(), where + error.message(), error.backtrace(),
                error.cause_chain(), error.extra_context());
  }
}

static int64_t Load(ffi::String line) {
  try {
    return ParseLine(line, 1);
  } catch (const Error &cause) {
    const TVMFFIByteArray *trace =
        TVMFFIBacktrace(__FILE__, __LINE__, __func__, 0);
    throw Error("RuntimeError", "the settings cannot be used",
                std::string(trace->data, trace->size), cause, std::nullopt);
  }
}

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef().def("demo.load", Load);
}

static void WithContext() {
  CHECK(ParseLine("depth = 7", 1) == 7);
  try {
    ParseLine("depth = deep", 3);
    CHECK(false);
  } catch (const Error &error) {
    CHECK(error.kind() == "ValueError");
    CHECK(error.message() == "line 3: `deep` is not a number");
    CHECK(error.backtrace().find("ParseNumber") != std::string::npos);
  }
}

static void WithCause() {
  try {
    Function::GetGlobalRequired("demo.load")("depth = deep");
  } catch (const Error &error) {
    CHECK(error.kind() == "RuntimeError");
    CHECK(error.cause_chain()->kind() == "ValueError");
    CHECK(!error.cause_chain()->cause_chain());
    throw;  // as it was, to be printed below
  }
}

static int64_t ValueOr(const char *line, int64_t otherwise) {
  try {
    return ParseLine(line, 1);
  } catch (const Error &error) {
    if (error.kind() != "ValueError") throw;
    return otherwise;
  }
}

static void ByKind() {
  CHECK(ValueOr("depth = deep", 3) == 3);
  try {
    ValueOr("depth: 7", 3);
    CHECK(false);
  } catch (const Error &error) {
    CHECK(error.kind() == "SyntaxError");
  }
}

static void Print(std::ostream &out, const Error &error) {
  if (std::optional<Error> cause = error.cause_chain()) {
    Print(out, *cause);
    out << "\nThe above exception was the direct cause of the following "
           "exception:\n\n";
  }
  out << error.FullMessage();
}

int main() {
  try {
    WithContext();
    ByKind();
  } catch (const Error &error) {
    Print(std::cerr, error);
    return 1;
  }
  try {
    WithCause();
  } catch (const Error &error) {
    Print(std::cout, error);
    return 0;
  }
  return 1;
}
