// Comparison, copies, texts, JSON and object graphs of any values.
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/base64.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/extra/serialization.h>
#include <tvm/ffi/function.h>

#include <limits>
#include <sstream>

#include "ir.hpp"
#include "tap.hpp"

using namespace tvm::ffi;
using ir::Func;
using ir::Sum;
using ir::Var;

namespace {

std::string text(const Any &value) { return std::string(ReprPrint(value)); }

std::string json_of(const Any &value) {
  return std::string(json::Stringify(value));
}

std::vector<Any> values() {
  Var x("x");
  return {Any(),
          true,
          42,
          -1.5,
          std::numeric_limits<double>::infinity(),
          "short",
          "a text that is too long to be in the value",
          Bytes(std::string("\0\xff", 2)),
          Any(DLDevice{kDLCPU, 0}),
          Any(DLDataType{kDLFloat, 32, 1}),
          Array<Any>{1, "b", Array<Any>{}},
          List<Any>{1, 2.5, nullptr},
          Map<Any, Any>{{"k", 1}},
          Dict<Any, Any>{{2, Array<Any>{3}}},
          Shape({1, 2, 3}),
          x,
          Sum({x, 1, x}, "twice"),
          ir::add("y", 3)};
}

const bool registered = (ir::register_types(), true);

}  // namespace

TEST(repr) {
  OK(registered);
  for (const Any &value : values()) tap::note(text(value));
  std::ostringstream out;
  out << Any(Array<Any>{1, "two"}) << ' ' << ObjectRef(Array<int>{3}) << ' '
      << Optional<int>(4) << ' ' << Variant<int, String>(String("five"));
  tap::note(out.str());
  List<Any> self;
  self.push_back(self);
  tap::note(text(self));
  self.clear();
}

TEST(equality_and_order) {
  auto all = values();
  for (const Any &a : all) {
    for (const Any &b : all) {
      bool expected = a.same_as(b) || AnyEqual()(a, b);
      OK(RecursiveEq(a, b) || !expected);
    }
  }
  OK(RecursiveEq(Array<Any>{1, "x"}, Array<Any>{1, "x"}));
  OK(!RecursiveEq(Array<Any>{1, "x"}, Array<Any>{1, "y"}));
  OK(RecursiveLt(1, 2) && RecursiveLe(2, 2));
  OK(RecursiveGt("b", "a") && RecursiveGe("b", "b"));
  OK(!RecursiveLt(2, 1) && !RecursiveGt(1, 2));
  OK(RecursiveLt(Array<Any>{1, 2}, Array<Any>{1, 3}));
  NOTE_THROWN(RecursiveLt(1, "a"));
  NOTE_THROWN(RecursiveLt(Map<Any, Any>{{1, 1}}, Map<Any, Any>{{1, 2}}));
  for (const Any &value :
       {Any(), Any(1), Any("text"), Any(Array<Any>{1, 2}), Any(-0.0)})
    NOTE(RecursiveHash(value));
  NOTE(RecursiveHash(Map<Any, Any>{{"a", 1}, {"b", Array<Any>{2}}}));
}

TEST(copies) {
  List<Any> inner{1};
  Array<Any> outer{inner, inner};
  auto copy = DeepCopy(outer).cast<Array<List<Any>>>();
  inner.push_back(2);
  EQ(copy[0].size(), 1u);
  OK(copy[0].same_as(copy[1]));
  Sum sum({1, 2}, "three");
  Sum other = DeepCopy(sum).cast<Sum>();
  OK(!other.same_as(sum));
  EQ(std::string(other->remark), "three");
  EQ(text(other), text(sum));
}

TEST(json_is_parsed) {
  for (const char *source :
       {"null", "true", "-12", "1.5e3", "\"a\\u00e9\\n\\ud83d\\ude00\"", "[]",
        "[1, 2.0, [\"x\"]]", "{\"a\": {\"b\": []}, \"c\": null}", "NaN",
        "[Infinity, -Infinity]", "9223372036854775807"})
    NOTE(text(json::Parse(source)));
  for (const char *source :
       {"", "[1,", "{\"a\" 1}", "tru", "\"\\x\"", "[1] 2", "{1: 2}", "1e400",
        "\"line\nbreak\"", "\n\n  [1, }", "\"\\ud800\""}) {
    NOTE_THROWN(json::Parse(source));
    String message = "was there before";
    Any value = json::Parse(source, &message);
    OK(value == nullptr);
    NOTE(std::string(message));
  }
  String message = "was there before";
  EQ(json::Parse("[1]", &message).cast<json::Array>()[0].cast<int>(), 1);
  EQ(message.size(), 0u);
}

TEST(json_is_written) {
  json::Object object{{"name", "caf\xc3\xa9 \"\\\n\x01"},
                      {"list", json::Array{1, 2.5, nullptr, true}},
                      {"empty", json::Array{}},
                      {"none", json::Object{}}};
  NOTE(json_of(object));
  NOTE(std::string(json::Stringify(object, 2)));
  NOTE(std::string(json::Stringify(object, 0)));
  for (double x : {0.1, 1e300, -0.0, 1e-7, 123456789.0, 1.0 / 3})
    NOTE(json_of(x));
  NOTE(json_of(json::Array{std::numeric_limits<double>::quiet_NaN(),
                           -std::numeric_limits<double>::infinity()}));
  NOTE_THROWN(json_of(Bytes("x")));
  NOTE_THROWN(json_of(json::Object{{1, 2}}));
  EQ(json_of(json::Parse(json_of(object))), json_of(object));
}

TEST(object_graphs) {
  for (const Any &value : values()) {
    std::string error = tap::thrown([&] {
      Any graph = ToJSONGraph(value);
      NOTE(json_of(graph));
      EQ(text(FromJSONGraph(graph)), text(value));
    });
    if (!error.empty()) tap::note("thrown: " + tap::plain(error));
  }
  Func f = ir::add("x", 1);
  Any graph = ToJSONGraph(f, json::Object{{"version", "1.0"}});
  NOTE(json_of(graph));
  Func back = FromJSONGraph(json::Parse(json_of(graph))).cast<Func>();
  OK(back->body.cast<Sum>()->terms[0].same_as(back->params[0]));
  NOTE_THROWN(FromJSONGraph(1));
  NOTE_KIND(FromJSONGraph(json::Parse("{\"nodes\": []}")));
  NOTE_KIND(FromJSONGraph(
      json::Parse("{\"root_index\": 5, \"nodes\": [{\"type\": \"None\"}]}")));
  NOTE_KIND(FromJSONGraph(json::Parse(
      "{\"root_index\": 0, \"nodes\": [{\"type\": \"test.none\"}]}")));
}

TEST(base64) {
  for (const char *source : {"", "a", "ab", "abc", "\xff\xfe"}) {
    String code = Base64Encode(Bytes(source));
    NOTE(std::string(code));
    EQ(std::string(Base64Decode(code)), std::string(source));
  }
}

TAP_MAIN()
