// Containers and tensors through the C++ headers, which read and write them
// inline: Array, List, Map, Dict, Tensor, TensorView, the environment's
// streams and allocators.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <unordered_map>

#include "objects.hpp"
#include "tap.hpp"

using namespace tvm::ffi;
using testing::Expr;
using testing::Float;
using testing::Int;
using testing::IntObj;
using testing::Number;
using testing::NumberObj;

namespace {

const char kLong[] = "a text that is too long to be kept in a value";

// The elements of a sequence of int, as text.
template <typename Seq>
std::string text_of(const Seq &seq) {
  std::string out;
  for (const auto &x : seq) out += (out.empty() ? "" : " ") + tap::print(x);
  return out;
}

template <typename M>
std::string pairs_of(const M &map) {
  std::string out;
  for (const auto &[k, v] : map)
    out += (out.empty() ? "" : " ") + tap::print(k) + ":" + tap::print(v);
  return out;
}

Any call(const char *name, AnyView a = {}, AnyView b = {}, AnyView c = {},
         AnyView d = {}) {
  AnyView args[4] = {a, b, c, d};
  int n = 4;
  while (n && args[n - 1] == nullptr) --n;
  Any result;
  Function::GetGlobalRequired(name).CallPacked(args, n, &result);
  return result;
}

}  // namespace

// ---- Array ----------------------------------------------------------------

TEST(array_basics) {
  {
    Array<Int> arr = {Int(11), Int(12)};
    EQ(arr.capacity(), 2u);
    EQ(arr.size(), 2u);
    Int one = arr[0];
    EQ(one->value, 11);
    EQ(arr.front()->value + arr.back()->value, 23);
    EQ(one.use_count(), 2);
    THROWS("IndexError: Index 2 out of bounds 2", arr[2]);
    THROWS("IndexError: Index -1 out of bounds 2", arr[-1]);
    Array<int> empty;
    OK(empty.empty());
    EQ(empty.capacity(), 4u);
    THROWS("IndexError: front() on empty sequence", empty.front());
    THROWS("IndexError: back() on empty sequence", empty.back());
    THROWS("IndexError: pop_back on empty sequence", empty.pop_back());
    Array<Any> repeated(3, Any("x"));
    EQ(repeated.size(), 3u);
    EQ(repeated[2].cast<String>(), "x");
    std::vector<int> source = {5, 6, 7};
    EQ(text_of(Array<int>(source)), "5 6 7");
    EQ(text_of(Array<int>(source.begin() + 1, source.end())), "6 7");
  }
  EQ(NumberObj::alive, 0);
}

TEST(array_copy_on_write) {
  {
    Array<Int> arr = {Int(1), Int(2)};
    Array<Int> copy = arr;
    copy.Set(0, Int(10));
    EQ(arr[0]->value, 1);
    EQ(copy[0]->value, 10);
    const void *before = copy.GetArrayObj();
    copy.Set(1, Int(20));
    OK(copy.GetArrayObj() == before);
    copy.push_back(Int(30));
    EQ(copy.capacity(), 4u);
    OK(copy.GetArrayObj() != before);
    copy.push_back(Int(40));
    copy.push_back(Int(50));
    EQ(copy.capacity(), 8u);
    EQ(copy.size(), 5u);
    arr.clear();
    EQ(arr.size(), 0u);
    EQ(copy.size(), 5u);
    THROWS("IndexError: Index 5 out of bounds 5", copy.Set(5, Int(1)));
    copy.pop_back();
    EQ(copy.back()->value, 40);
    Array<Int> moved = std::move(copy);
    OK(moved.unique());
    Array<Number> base = moved;
    EQ(base.use_count(), 2);
    Array<Any> any = base;
    EQ(any.use_count(), 3);
  }
  EQ(NumberObj::alive, 0);
}

TEST(array_insert_erase) {
  Array<int> a = {1, 2, 3, 4};
  a.insert(a.begin() + 1, 9);
  EQ(text_of(a), "1 9 2 3 4");
  std::vector<int> more = {7, 8};
  a.insert(a.end(), more.begin(), more.end());
  EQ(text_of(a), "1 9 2 3 4 7 8");
  a.insert(a.begin(), more.begin(), more.end());
  EQ(text_of(a), "7 8 1 9 2 3 4 7 8");
  a.insert(a.begin(), more.begin(), more.begin());
  a.erase(a.begin() + 3);
  EQ(text_of(a), "7 8 1 2 3 4 7 8");
  a.erase(a.begin() + 1, a.begin() + 4);
  EQ(text_of(a), "7 3 4 7 8");
  a.erase(a.begin(), a.begin());
  a.resize(3);
  EQ(text_of(a), "7 3 4");
  THROWS("ValueError: cannot resize an Array to negative size", a.resize(-1));
  a.reserve(100);
  EQ(a.capacity(), 100u);
  EQ(text_of(a), "7 3 4");
  Array<Any> any = a;
  any.resize(5);
  OK(any[4] == nullptr);
  EQ(a.size(), 3u);
  std::string reversed;
  for (auto it = a.rbegin(); it != a.rend(); ++it) reversed += tap::print(*it);
  EQ(reversed, "437");
  EQ(a.end() - a.begin(), 3);
  EQ(*(a.begin() + 1), 3);
  a.emplace_back(1);
  a.Assign(more.begin(), more.end());
  EQ(text_of(a), "7 8");
  EQ(text_of(Concat(a, Array<int>{1})), "7 8 1");
  EQ(text_of(Array<int>::Agregate(1, a, 2, a)), "1 7 8 2 7 8");
}

TEST(array_map) {
  {
    Array<Int> arr = {Int(1), Int(2)};
    Array<Int> same = arr.Map([](Int x) { return x; });
    OK(same.same_as(arr));
    Array<Int> part =
        arr.Map([](Int x) { return x->value == 2 ? Int(20) : x; });
    OK(!part.same_as(arr) && part[0].same_as(arr[0]));
    EQ(part[1]->value, 20);
    Array<String> names =
        arr.Map([](Int x) { return String(std::to_string(x->value)); });
    EQ(text_of(names), "1 2");
    same = Array<Int>();
    part = Array<Int>();
    const void *before = arr.GetArrayObj();
    arr.MutateByApply([](Int x) { return Int(x->value + 1); });
    OK(arr.GetArrayObj() == before);
    EQ(arr[1]->value, 3);
    Array<Int> shared = arr;
    arr.MutateByApply([](Int x) { return Int(x->value + 1); });
    EQ(arr[0]->value * 10 + shared[0]->value, 32);
  }
  EQ(NumberObj::alive, 0);
}

TEST(array_in_any) {
  Any any = Array<int>{1, 2};
  EQ(any.type_index(), kTVMFFIArray);
  EQ(any.GetTypeKey(), "ffi.Array");
  OK(any.as<Array<int>>().has_value());
  OK(!any.as<Array<double>>().has_value());
  OK(any.as<ArrayObj>() != nullptr);
  EQ(any.cast<Array<double>>()[1], 2.0);
  OK(any.cast<Array<int>>().same_as(any.cast<Array<Any>>()));
  OK(!any.cast<Array<Any>>().same_as(any.cast<Array<double>>()));
  THROWS(
      "TypeError: Cannot convert from type `Array[index 0: int]` to "
      "`Array<test.Int>`",
      any.cast<Array<Int>>());
  any = Array<Any>{Array<Any>{1, 2}, Array<Any>{1, "x", Expr(1)}};
  THROWS(
      "TypeError: Cannot convert from type `Array[index 1: Array[index 1: "
      "ffi.SmallStr]]` to `Array<Array<int>>`",
      any.cast<Array<Array<int>>>());
  any = Array<Any>{1, 2.5, "float32", Expr(3)};
  Array<Expr> exprs = any.cast<Array<Expr>>();
  EQ(exprs[2]->dtype, "float32");
  EQ(exprs[3].use_count(), 2 + 1);
  EQ(TypeTraits<Array<Expr>>::TypeStr(), "Array<test.Expr>");
  EQ(TypeTraits<Array<Any>>::TypeStr(), "Array<Any>");
  Function f = Function::FromTyped(
      [](const Array<int> &a) { return static_cast<int>(a.size()); }, "f");
  EQ(f(List<int>{1, 2, 3}).cast<int>(), 3);
  THROWS(
      "TypeError: Mismatched type on argument #0 when calling: `f(0: "
      "Array<int>) -> int`. Expected `Array<int>` but got `Array[index 1: "
      "float]`",
      f(Array<Any>{1, 2.5}));
  THROWS(
      "TypeError: Mismatched type on argument #0 when calling: `f(0: "
      "Array<int>) -> int`. Expected `Array<int>` but got `int`",
      f(1));
}

// ---- List -----------------------------------------------------------------

TEST(list_basics) {
  {
    List<Int> a = {Int(1), Int(2)};
    List<Int> b = a;
    b.push_back(Int(3));
    EQ(a.size(), 3u);
    OK(a.same_as(b));
    a.Set(0, Int(10));
    EQ(b[0]->value, 10);
    THROWS("IndexError: Index 3 out of bounds 3", a[3]);
    THROWS("IndexError: Index 7 out of bounds 3", a.Set(7, Int(0)));
    a.pop_back();
    EQ(b.back()->value, 2);
    List<int> empty;
    EQ(empty.capacity(), 0u);
    OK(empty.begin() == empty.end());
    THROWS("IndexError: front() on empty sequence", empty.front());
    THROWS("IndexError: pop_back on empty sequence", empty.pop_back());
    empty.push_back(1);
    EQ(empty.capacity(), 1u);
    empty.push_back(2);
    EQ(empty.capacity(), 2u);
    empty.push_back(3);
    EQ(empty.capacity(), 4u);
    empty.reserve(50);
    EQ(empty.capacity(), 50u);
    EQ(text_of(empty), "1 2 3");
    b.clear();
    OK(a.empty());
  }
  EQ(NumberObj::alive, 0);
}

TEST(list_insert_erase) {
  List<int> l = {1, 2, 3};
  l.insert(l.begin(), 0);
  std::vector<int> more = {7, 8, 9};
  l.insert(l.end(), more.begin(), more.end());
  EQ(text_of(l), "0 1 2 3 7 8 9");
  l.erase(l.begin() + 1);
  l.erase(l.begin() + 1, l.begin() + 3);
  EQ(text_of(l), "0 7 8 9");
  l.resize(2);
  EQ(text_of(l), "0 7");
  THROWS("ValueError: cannot resize a List to negative size", l.resize(-1));
  l.Assign(more.begin(), more.end());
  EQ(text_of(l), "7 8 9");
  std::string reversed;
  for (auto it = l.rbegin(); it != l.rend(); ++it) reversed += tap::print(*it);
  EQ(reversed, "987");
  List<Any> any = l;
  any.resize(5);
  OK(l.size() == 5u && any[4] == nullptr);
  EQ(List<Any>(3, Any(4))[2].cast<int>(), 4);
  List<Any> self;
  self.push_back(self);
  EQ(self.use_count(), 2);
  self.clear();
  EQ(self.use_count(), 1);
}

TEST(list_in_any) {
  Any any = List<int>{1, 2};
  EQ(any.type_index(), kTVMFFIList);
  OK(any.as<List<int>>().has_value());
  OK(!any.as<Array<int>>().has_value());
  OK(any.cast<List<int>>().same_as(any.cast<List<Any>>()));
  EQ(text_of(any.cast<Array<int>>()), "1 2");
  EQ(text_of(any.cast<List<double>>()), "1 2");
  any = Array<int>{3};
  EQ(text_of(any.cast<List<int>>()), "3");
  any = List<Any>{1, "x"};
  THROWS(
      "TypeError: Cannot convert from type `List[index 1: ffi.SmallStr]` "
      "to `List<int>`",
      any.cast<List<int>>());
  THROWS(
      "TypeError: Cannot convert from type `Array[index 1: ffi.SmallStr]` "
      "to `Array<int>`",
      any.cast<Array<int>>());
  EQ(TypeTraits<List<int>>::TypeStr(), "List<int>");
}

// ---- Map and Dict -----------------------------------------------------------

TEST(map_basics) {
  {
    Map<Int, int> objects;
    Int one(1), two(2);
    objects.Set(one, 10);
    objects.Set(two, 20);
    EQ(objects.at(one), 10);
    EQ(objects[two], 20);
    OK(!objects.count(Int(1)));
    THROWS("KeyError: key is not in Map", objects.at(Int(1)));
    Map<String, int> names = {{"b", 2}, {"a", 1}, {kLong, 3}};
    EQ(pairs_of(names), std::string("b:2 a:1 ") + kLong + ":3");
    Map<String, int> copy = names;
    copy.Set("a", 100);
    EQ(names["a"], 1);
    EQ(pairs_of(copy), std::string("b:2 a:100 ") + kLong + ":3");
    copy.erase("b");
    copy.erase("not there");
    EQ(copy.size(), 2u);
    copy.Set("b", 5);
    EQ(pairs_of(copy), std::string("a:100 ") + kLong + ":3 b:5");
    OK(copy.Get("zz") == std::nullopt);
    EQ(copy.Get("a").value(), 100);
    OK(copy.find("zz") == copy.end());
    EQ((*copy.find("b")).second, 5);
    for (int i = 0; i < 100; ++i) copy.Set(String(std::to_string(i)), i);
    EQ(copy.size(), 103u);
    EQ(copy["57"], 57);
    THROWS("KeyError: key is not in Map", copy.at("101"));
    for (int i = 0; i < 100; i += 2) copy.erase(String(std::to_string(i)));
    EQ(copy.size(), 53u);
    EQ((*copy.begin()).first, "a");
    auto last = copy.end();
    EQ((*--last).first, "99");
    copy.clear();
    OK(copy.empty());
    EQ(pairs_of(Merge(names, Map<String, int>{{"a", 7}})),
       std::string("b:2 a:7 ") + kLong + ":3");
    std::unordered_map<String, int> from = {{"x", 1}};
    EQ((Map<String, int>(from)["x"]), 1);
  }
  EQ(NumberObj::alive, 0);
}

TEST(map_in_any) {
  Any any = Map<String, int>{{"a", 1}};
  EQ(any.type_index(), kTVMFFIMap);
  OK((any.as<Map<String, int>>().has_value()));
  OK((!any.as<Map<String, double>>().has_value()));
  EQ((any.cast<Map<String, double>>()["a"]), 1.0);
  OK((any.cast<Map<String, int>>().same_as(any.cast<Map<Any, Any>>())));
  EQ((any.cast<Dict<String, int>>()["a"]), 1);
  NOTE_THROWN(any.cast<Map<int, int>>());
  NOTE_THROWN(any.cast<Map<String, String>>());
  NOTE_THROWN(Any(Map<Any, Any>{{1, Array<Any>{"x"}}, {2, 3}})
                  .cast<Map<int, Array<int>>>());
  NOTE_THROWN(Any(1).cast<Map<int, int>>());
  NOTE((TypeTraits<Map<String, Array<int>>>::TypeStr()));
  NOTE((TypeTraits<Map<String, Array<int>>>::TypeSchema()));
  NOTE((TypeTraits<Dict<Any, Any>>::TypeSchema()));
  Map<Any, Any> wide = Map<String, int>{{"a", 1}};
  wide.Set(1, "int key");
  wide.Set(true, "bool key");
  wide.Set(1.0, "float key");
  wide.Set(nullptr, "none key");
  wide.Set(DLDevice{kDLCPU, 0}, "device key");
  EQ(wide.size(), 6u);
  EQ(wide[nullptr].cast<String>(), "none key");
  EQ(wide[true].cast<String>(), "bool key");
}

TEST(dict_basics) {
  Dict<String, int> a = {{"x", 1}};
  Dict<String, int> b = a;
  for (int i = 0; i < 50; ++i) b.Set(String(std::to_string(i)), i);
  EQ(a.size(), 51u);
  OK(a.same_as(b));
  EQ(a["49"], 49);
  a.erase("x");
  OK(!b.count("x"));
  EQ((*b.begin()).first, "0");
  b.clear();
  OK(a.empty());
  THROWS("KeyError: key is not in Map", a.at("x"));
  a.Set("y", 2);
  EQ(b["y"], 2);
  Any any = a;
  EQ(any.type_index(), kTVMFFIDict);
  OK((any.cast<Dict<Any, Any>>().same_as(a)));
  EQ((any.cast<Map<String, int>>()["y"]), 2);
  Dict<Any, Any> self;
  self.Set("self", self);
  EQ(self.use_count(), 2);
  self.clear();
  EQ(self.use_count(), 1);
}

// ---- Containers of C++ in the library's functions, and the reverse
// --------------

TEST(library_arrays) {
  Array<Any> a = {1, String(kLong), nullptr, 2.5};
  EQ(call("ffi.ArraySize", a).cast<int>(), 4);
  EQ(call("ffi.ArrayGetItem", a, 1).cast<String>(), kLong);
  THROWS("IndexError: Index 4 out of bounds 4", call("ffi.ArrayGetItem", a, 4));
  OK(call("ffi.ArrayContains", a, kLong).cast<bool>());
  OK(call("ffi.ArrayContains", a, 2.5).cast<bool>());
  OK(!call("ffi.ArrayContains", a, 2).cast<bool>());
  Array<Any> made = call("ffi.Array", 1, "two", a).cast<Array<Any>>();
  EQ(made.size(), 3u);
  EQ(made.capacity(), 3u);
  OK(made[2].same_as(a));
  made.push_back(4);
  EQ(made[3].cast<int>(), 4);
  EQ(made[1].cast<String>(), "two");
  made = call("ffi.Array").cast<Array<Any>>();
  NOTE(made.capacity());
  made.push_back("grown");
  EQ(made.size(), 1u);
}

TEST(library_lists) {
  List<Any> l = call("ffi.List", 1, 2, 3).cast<List<Any>>();
  NOTE(l.capacity());
  for (int i = 0; i < 20; ++i) l.push_back(i);
  EQ(l.size(), 23u);
  call("ffi.ListAppend", l, kLong);
  NOTE(l.capacity());
  EQ(l.back().cast<String>(), kLong);
  List<Any> mine;
  for (int i = 0; i < 10; ++i) call("ffi.ListAppend", mine, i);
  NOTE(mine.capacity());
  EQ(text_of(Any(mine).cast<List<int>>()), "0 1 2 3 4 5 6 7 8 9");
  call("ffi.ListInsert", mine, 3, "in");
  EQ(mine[3].cast<String>(), "in");
  NOTE_THROWN(call("ffi.ListInsert", mine, -1, 1));
  call("ffi.ListInsert", mine, 10, "before the last");
  EQ(mine[mine.size() - 2].cast<String>(), "before the last");
  NOTE_THROWN(call("ffi.ListInsert", mine, 100, 1));
  EQ(call("ffi.ListPop", mine, 3).cast<String>(), "in");
  EQ(call("ffi.ListPop", mine, 9).cast<String>(), "before the last");
  NOTE_THROWN(call("ffi.ListPop", mine, 100));
  NOTE_THROWN(call("ffi.ListPop", List<Any>(), -1));
  call("ffi.ListErase", mine, 0);
  call("ffi.ListEraseRange", mine, 1, 4);
  EQ(text_of(Any(mine).cast<List<int>>()), "1 5 6 7 8 9");
  call("ffi.ListSetItem", mine, 0, 100);
  call("ffi.ListReverse", mine);
  EQ(text_of(Any(mine).cast<List<int>>()), "9 8 7 6 5 100");
  call("ffi.ListReplaceSlice", mine, 1, 3, List<int>{1, 2, 3, 4});
  EQ(text_of(Any(mine).cast<List<int>>()), "9 1 2 3 4 6 5 100");
  call("ffi.ListReplaceSlice", mine, 0, 8, Array<int>{});
  EQ(mine.size(), 0u);
  call("ffi.ListReserve", mine, 64);
  EQ(mine.capacity(), 64u);
  mine.push_back(1);
  call("ffi.ListClear", mine);
  OK(mine.empty());
  mine.push_back(2);
  OK(call("ffi.ListContains", mine, 2).cast<bool>());
  EQ(call("ffi.ListSize", mine).cast<int>(), 1);
  NOTE_THROWN(call("ffi.ListGetItem", mine, 1));
  NOTE_THROWN(call("ffi.ListSetItem", mine, -5, 1));
  NOTE_THROWN(call("ffi.ListAppend", 1, 1));
  NOTE_THROWN(call("ffi.ListEraseRange", mine, 1, 0));
}

TEST(library_maps) {
  Map<Any, Any> m = call("ffi.Map", "a", 1, kLong, 2).cast<Map<Any, Any>>();
  EQ(m.size(), 2u);
  EQ(m[kLong].cast<int>(), 2);
  for (int i = 0; i < 200; ++i) m.Set(i, i * i);
  EQ(call("ffi.MapSize", m).cast<int>(), 202);
  EQ(call("ffi.MapGetItem", m, 14).cast<int>(), 196);
  EQ(call("ffi.MapGetItem", m, kLong).cast<int>(), 2);
  EQ(call("ffi.MapCount", m, 199).cast<int>(), 1);
  EQ(call("ffi.MapCount", m, 200).cast<int>(), 0);
  NOTE_THROWN(call("ffi.MapGetItem", m, 200));
  NOTE_KIND(call("ffi.Map", "a"));
  std::string keys;
  Function iter = call("ffi.MapForwardIterFunctor", m).cast<Function>();
  do {
    Any key = iter(0);
    if (auto text = key.as<String>()) keys += std::string(*text) + " ";
    if (auto n = key.as<int>()) keys += std::to_string(*n) + " ";
  } while (iter(2).cast<bool>());
  NOTE(keys.substr(0, 90));
}

TEST(library_dicts) {
  Dict<Any, Any> d;
  for (int i = 0; i < 300; ++i) call("ffi.DictSetItem", d, i, i * 2);
  EQ(d.size(), 300u);
  EQ(d[150].cast<int>(), 300);
  int sum = 0;
  for (const auto &[k, v] : d) sum += v.cast<int>() - 2 * k.cast<int>();
  EQ(sum, 0);
  for (int i = 0; i < 300; i += 3) call("ffi.DictErase", d, i);
  EQ(d.size(), 200u);
  EQ((*d.begin()).first.cast<int>(), 1);
  for (int i = 1; i < 300; i += 3) d.erase(i);
  EQ(call("ffi.DictSize", d).cast<int>(), 100);
  EQ(call("ffi.DictGetItem", d, 299).cast<int>(), 598);
  NOTE_THROWN(call("ffi.DictGetItem", d, 298));
  NOTE_THROWN(call("ffi.DictErase", d, 298));
  d.Set(kLong, "value");
  EQ(call("ffi.DictGetItem", d, kLong).cast<String>(), "value");
  call("ffi.DictClear", d);
  OK(d.empty());
  d.Set(1, 2);
  EQ(call("ffi.DictCount", d, 1).cast<int>(), 1);
  Dict<Any, Any> made = call("ffi.Dict", 1, 2, 3, 4).cast<Dict<Any, Any>>();
  made.Set(5, 6);
  EQ(made[3].cast<int>(), 4);
  EQ(made.size(), 3u);
}

TEST(library_custom_keys) {
  Map<Any, Any> m;
  Int one(1);
  m.Set(one, "object");
  EQ(call("ffi.MapGetItem", m, one).cast<String>(), "object");
  EQ(call("ffi.MapCount", m, Int(1)).cast<int>(), 0);
  m.Set(String(std::string("small")), 1);
  EQ(call("ffi.MapGetItem", m, "small").cast<int>(), 1);
  Map<Any, Any> n = call("ffi.Map", "small", 2).cast<Map<Any, Any>>();
  EQ(n[String(std::string("small"))].cast<int>(), 2);
}

TEST(library_values) {
  EQ(call("ffi.Shape", 1, 2, 3).cast<Shape>().Product(), 6);
  NOTE_THROWN(call("ffi.Shape", 1, "x"));
  EQ(call("ffi.String", kLong).cast<String>(), kLong);
  EQ(call("ffi.Bytes", Bytes("ab", 2)).cast<Bytes>().size(), 2u);
  DLDevice device = call("ffi.ContainerFindFirstNonCPUDevice", Array<Any>{1})
                        .cast<DLDevice>();
  EQ(device.device_type, kDLCPU);
}

// ---- Tensor -----------------------------------------------------------------

namespace {

struct CpuAllocator {
  static inline int alive = 0;
  void AllocData(DLTensor *tensor) {
    tensor->data = std::malloc(GetDataSize(*tensor));
    ++alive;
  }
  void FreeData(DLTensor *tensor) {
    std::free(tensor->data);
    --alive;
  }
};

struct FilledAllocator {
  void AllocData(DLTensor *tensor, float value) {
    size_t size = GetDataSize(*tensor);
    tensor->data = std::malloc(size);
    std::fill_n(static_cast<float *>(tensor->data), size / 4, value);
  }
  void FreeData(DLTensor *tensor) { std::free(tensor->data); }
};

Tensor empty(ShapeView shape, DLDataType dtype) {
  return Tensor::FromNDAlloc(CpuAllocator(), shape, dtype, DLDevice{kDLCPU, 0});
}

const DLDataType kFloat32{kDLFloat, 32, 1};
const DLDevice kCpu{kDLCPU, 0};

}  // namespace

TEST(tensor_basics) {
  {
    Tensor t = empty({1, 2, 3}, kFloat32);
    EQ(CpuAllocator::alive, 1);
    EQ(t.ndim(), 3);
    EQ(t.dim(), 3);
    EQ(t.numel(), 6);
    EQ(t.shape().size(), 3u);
    EQ(t.size(1), 2);
    EQ(t.size(-1), 3);
    EQ(t.stride(0), 6);
    EQ(t.stride(-1), 1);
    OK(t.dtype() == kFloat32);
    EQ(t.device().device_type, kDLCPU);
    EQ(t.byte_offset(), 0u);
    OK(t.IsContiguous() && t.is_contiguous());
    OK(t.IsAligned(4));
    EQ(GetDataSize(t), 24u);
    THROWS("IndexError: Index 3 out of bounds for tensor with 3 dimensions",
           t.size(3));
    THROWS("IndexError: Index -4 out of bounds for tensor with 3 dimensions",
           t.stride(-4));
    Any any = t;
    EQ(any.type_index(), kTVMFFITensor);
    EQ(any.cast<Tensor>().use_count(), 3);
    OK(any.cast<DLTensor *>()->data == t.data_ptr());
    EQ(any.cast<TensorView>().numel(), 6);
    OK(t.GetDLTensorPtr() == any.cast<DLTensor *>());
    EQ(GetDataSize(3, DLDataType{kDLFloat4_e2m1fn, 4, 1}), 2u);
    EQ(GetDataSize(3, DLDataType{kDLInt, 32, 4}), 48u);
    Tensor scalar = empty({}, kFloat32);
    EQ(scalar.numel(), 1);
    EQ(scalar.strides().size(), 0u);
    Tensor null;
    OK(!null.defined());
    Optional<Tensor> maybe;
    OK(!maybe.has_value());
  }
  EQ(CpuAllocator::alive, 0);
}

TEST(tensor_alloc) {
  Tensor filled =
      Tensor::FromNDAlloc(FilledAllocator(), {2, 2}, kFloat32, kCpu, 2.5f);
  EQ(static_cast<float *>(filled.data_ptr())[3], 2.5f);
  Tensor strided = Tensor::FromNDAllocStrided(CpuAllocator(), {2, 3}, {1, 2},
                                              kFloat32, kCpu);
  OK(!strided.IsContiguous());
  EQ(strided.stride(1), 2);
  THROWS(
      "ValueError: Check failed: (shape.size() == strides.size()) is false:"
      " shape and strides must have the same size.",
      Tensor::FromNDAllocStrided(CpuAllocator(), {2, 3}, {1}, kFloat32, kCpu));
  Tensor part = filled.as_strided({2}, {2}, 1);
  EQ(part.ndim(), 1);
  EQ(part.stride(0), 2);
  OK(static_cast<float *>(part.data_ptr()) ==
     static_cast<float *>(filled.data_ptr()) + 1);
  EQ(filled.use_count(), 2);
  part = Tensor();
  EQ(filled.use_count(), 1);
  THROWS("InternalError: Check failed: elem_offset_as_i64 >= 0 (-1 vs. 0) : ",
         filled.as_strided({2}, {2}, -1));
}

TEST(tensor_dlpack) {
  {
    Tensor t = empty({2, 3}, kFloat32);
    DLManagedTensor *dl = t.ToDLPack();
    EQ(t.use_count(), 2);
    EQ(dl->dl_tensor.ndim, 2);
    Tensor back = Tensor::FromDLPack(dl);
    EQ(back.use_count(), 1);
    OK(back.data_ptr() == t.data_ptr());
    back = Tensor();
    EQ(t.use_count(), 1);
    DLManagedTensorVersioned *v = t.ToDLPackVersioned();
    EQ(v->version.major, 1u);
    Tensor again = Tensor::FromDLPackVersioned(v, 4, true);
    EQ(again.numel(), 6);
    DLManagedTensor plain;
    int64_t shape[2] = {4, 5};
    float data[20];
    plain.dl_tensor = DLTensor{data, kCpu, 2, kFloat32, shape, nullptr, 0};
    plain.manager_ctx = nullptr;
    plain.deleter = nullptr;
    Tensor strides_made = Tensor::FromDLPack(&plain);
    EQ(strides_made.stride(0), 5);
    plain.dl_tensor.byte_offset = 1;
    THROWS("RuntimeError: FromDLPack: Data is not aligned to 4 bytes.",
           Tensor::FromDLPack(&plain, 4));
    int64_t strides[2] = {1, 4};
    plain.dl_tensor.strides = strides;
    THROWS("RuntimeError: FromDLPack: Tensor is not contiguous.",
           Tensor::FromDLPack(&plain, 0, true));
    // The same by the exported functions.
    plain.dl_tensor.byte_offset = 0;
    plain.dl_tensor.strides = nullptr;
    TVMFFIObjectHandle out = nullptr;
    int code = TVMFFITensorFromDLPack(&plain, 0, 1, &out);
    EQ(code, 0);
    Tensor from_c = detail::ObjectUnsafe::ObjectRefFromObjectPtr<Tensor>(
        detail::ObjectUnsafe::ObjectPtrFromOwned<Object>(
            static_cast<TVMFFIObject *>(out)));
    EQ(from_c.stride(0), 5);
    DLManagedTensorVersioned *versioned = nullptr;
    code = TVMFFITensorToDLPackVersioned(
        detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(t), &versioned);
    EQ(code, 0);
    EQ(t.use_count(), 3);
    versioned->deleter(versioned);
    EQ(t.use_count(), 2);
    plain.dl_tensor.byte_offset = 1;
    EQ(TVMFFITensorFromDLPack(&plain, 8, 0, &out), -1);
    Error e = detail::MoveFromSafeCallRaised();
    NOTE(e.kind() + ": " + e.message());
  }
  EQ(CpuAllocator::alive, 0);
}

TEST(tensor_view) {
  Tensor t = empty({4, 2}, kFloat32);
  TensorView view = t;
  EQ(t.use_count(), 1);
  EQ(view.numel(), 8);
  EQ(view.size(-2), 4);
  EQ(view.stride(0), 2);
  OK(view.IsContiguous() && view.dim() == 2 && view.sizes().size() == 2);
  OK(view.data_ptr() == t.data_ptr());
  THROWS("IndexError: Index 2 out of bounds for tensor with 2 dimensions",
         view.size(2));
  TensorView column = view.as_strided({4}, {2}, 1);
  EQ(column.numel(), 4);
  OK(!column.IsContiguous());
  AnyView any = view;
  EQ(any.type_index(), kTVMFFIDLTensorPtr);
  EQ(any.cast<TensorView>().numel(), 8);
  OK(!any.try_cast<Tensor>().has_value());
  Function f = Function::FromTyped([](TensorView v) { return v.numel(); });
  EQ(f(t).cast<int>(), 8);
  EQ(f(view).cast<int>(), 8);
  THROWS(
      "TypeError: Mismatched type on argument #0 when calling: `(0: "
      "DLTensor*) -> int`. Expected `DLTensor*` but got `int`",
      f(1));
  Function g = Function::FromTyped([](Tensor x) { return x.use_count(); });
  EQ(g(t).cast<int>(), 2);
  THROWS(
      "TypeError: Mismatched type on argument #0 when calling: `(0: "
      "ffi.Tensor) -> int`. Expected `ffi.Tensor` but got `DLTensor*`",
      g(view));
  THROWS("InternalError: Check failed: (tensor.defined()) is false: ",
         TensorView(static_cast<const Tensor &>(Tensor())));
}

// ---- Environment ------------------------------------------------------------

namespace {

int allocate(DLTensor *prototype, DLManagedTensorVersioned **out, void *context,
             void (*set_error)(void *, const char *, const char *)) {
  if (prototype->ndim > 3) {
    set_error(context, "ValueError", "at most 3 dimensions here");
    return -1;
  }
  Tensor t =
      empty(ShapeView(prototype->shape, prototype->ndim), prototype->dtype);
  *out = t.ToDLPackVersioned();
  return 0;
}

}  // namespace

TEST(env_allocator) {
  OK(TVMFFIEnvGetDLPackManagedTensorAllocator() == nullptr);
  NOTE_THROWN(
      Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, {2, 3}, kFloat32, kCpu));
  DLPackManagedTensorAllocator old = allocate;
  EQ(TVMFFIEnvSetDLPackManagedTensorAllocator(allocate, 0, &old), 0);
  OK(old == nullptr);
  OK(TVMFFIEnvGetDLPackManagedTensorAllocator() == allocate);
  {
    Tensor t =
        Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, {2, 3}, kFloat32, kCpu);
    EQ(t.numel(), 6);
    EQ(t.stride(0), 3);
    EQ(CpuAllocator::alive, 1);
  }
  EQ(CpuAllocator::alive, 0);
  THROWS(
      "ValueError: at most 3 dimensions here",
      Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, {1, 1, 1, 1}, kFloat32, kCpu));
  bool elsewhere = true;
  std::thread([&] {
    elsewhere = TVMFFIEnvGetDLPackManagedTensorAllocator() != nullptr;
  }).join();
  OK(!elsewhere);
  EQ(TVMFFIEnvSetDLPackManagedTensorAllocator(allocate, 1, nullptr), 0);
  std::thread([&] {
    elsewhere = TVMFFIEnvGetDLPackManagedTensorAllocator() == allocate;
  }).join();
  OK(elsewhere);
  EQ(TVMFFIEnvSetDLPackManagedTensorAllocator(nullptr, 1, &old), 0);
  OK(old == allocate);
}

TEST(env_streams) {
  int a = 0, b = 0;
  TVMFFIStreamHandle old = &old;
  OK(TVMFFIEnvGetStream(kDLCUDA, 1) == nullptr);
  EQ(TVMFFIEnvSetStream(kDLCUDA, 1, &a, &old), 0);
  OK(old == nullptr);
  OK(TVMFFIEnvGetStream(kDLCUDA, 1) == &a);
  OK(TVMFFIEnvGetStream(kDLCUDA, 0) == nullptr);
  OK(TVMFFIEnvGetStream(kDLROCM, 1) == nullptr);
  EQ(TVMFFIEnvSetStream(kDLCUDA, 1, &b, &old), 0);
  OK(old == &a);
  bool same = true;
  std::thread([&] { same = TVMFFIEnvGetStream(kDLCUDA, 1) == &b; }).join();
  OK(!same);
  EQ(TVMFFIEnvSetStream(kDLCUDA, 1, nullptr, nullptr), 0);
  OK(TVMFFIEnvGetStream(kDLCUDA, 1) == nullptr);
  EQ(TVMFFIEnvCheckSignals(), 0);
}

TAP_MAIN()
