// C++ by upstream's headers and C by ours in one program: each makes values,
// containers, functions, objects and errors, and the other one uses them.
#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/device.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/reflection/creator.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/rvalue_ref.h>

#include <cstdlib>
#include <memory>
#include <numeric>
#include <thread>

#include "c_side.h"
#include "objects.hpp"
#include "tap.hpp"

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;
using testing::Float;
using testing::FloatObj;
using testing::Int;
using testing::IntObj;
using testing::Number;
using testing::NumberObj;

namespace {

const char kLong[] = "a text that needs an object";

TVMFFIObjectHandle handle(const ObjectRef &ref) {
  return detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(ref);
}

// Throws what a function of C has left in the slot.
void check(int code) {
  if (code) throw detail::MoveFromSafeCallRaised();
}

Any take(TVMFFIAny *owned) {
  return detail::AnyUnsafe::MoveTVMFFIAnyToAny(owned);
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

bool setup() {
  static const int code = c_setup();
  return code == 0;
}

}  // namespace

TEST(setup) { OK(setup()); }

// ---- Containers
// ---------------------------------------------------------------

TEST(list_of_cxx_changed_by_c) {
  List<Any> list = {100};
  check(c_list_fill(handle(list), 1000));
  EQ(list.size(), 1001u);
  EQ(list[1000].cast<int>(), 999);
  list.push_back(7);
  int64_t sum = 0;
  check(c_sequence_sum(handle(list), &sum));
  EQ(sum, 100 + 999 * 500 + 7);
  check(c_list_edit(handle(list)));
  EQ(list.size(), 1003u);
  EQ(list[0].cast<double>(), 2.5);
  EQ(list.back().cast<String>(), "a text of C that is too long for a value");
  EQ(list.use_count(), 1);
  list.erase(list.begin() + 1, list.end());
  EQ(list.size(), 1u);
  check(c_list_fill(handle(list), 3));
  EQ(list.size(), 4u);
}

TEST(array_of_cxx_read_by_c) {
  std::vector<int> values(500);
  std::iota(values.begin(), values.end(), 1);
  Array<int> array = values;
  int64_t sum = 0;
  check(c_sequence_sum(handle(array), &sum));
  EQ(sum, 500 * 501 / 2);
  array.push_back(1);
  check(c_sequence_sum(handle(array), &sum));
  EQ(sum, 500 * 501 / 2 + 1);
}

TEST(sequences_of_c_used_by_cxx) {
  for (const char *kind : {"Array", "List"}) {
    TVMFFIAny raw;
    check(c_make(kind, &raw));
    Any any = take(&raw);
    std::vector<Any> items;
    if (auto array = any.as<Array<Any>>()) {
      EQ(array->use_count(), 2);
      array->push_back("copied");
      EQ(any.cast<Array<Any>>().size(), 5u);
      items.assign(array->begin(), array->end());
    } else {
      List<Any> list = any.cast<List<Any>>();
      list.push_back("in place");
      EQ(any.cast<List<Any>>().size(), 6u);
      for (int i = 0; i < 100; ++i) list.push_back(i);
      items.assign(list.begin(), list.end());
      list.insert(list.begin(), "front");
      list.erase(list.begin() + 3, list.begin() + 60);
      list.clear();
      list.push_back(1);
      EQ(list.size(), 1u);
    }
    EQ(items[0].cast<int>(), 1);
    EQ(items[1].cast<String>(), "small");
    EQ(items[2].cast<String>(), kLong);
    EQ(items[3].cast<double>(), 2.5);
    OK(items[4] == nullptr);
  }
}

TEST(dict_of_cxx_changed_by_c) {
  Dict<Any, Any> dict = {{"first", 1}};
  check(c_dict_fill(handle(dict), 200));
  EQ(dict.size(), 601u);
  EQ(dict[57].cast<int>(), -57);
  EQ(dict["a key that is too long for a value, 057"].cast<int>(), 57);
  EQ(dict["057"].cast<int>(), 114);
  int64_t order = 0;
  bool ordered = true;
  for (const auto &[k, v] : dict)
    if (auto i = k.as<int64_t>()) ordered &= *i == order++;
  OK(ordered);
  EQ((*dict.begin()).first.cast<String>(), "first");
  int64_t sum = 0;
  check(c_map_sum(handle(dict), "ffi.Dict", &sum));
  EQ(sum, 1 + 2 * (199 * 100));
  check(c_dict_thin(handle(dict), 200));
  EQ(dict.size(), 501u);
  OK(!dict.count(56) && dict.count(57));
  for (int i = 1; i < 200; i += 2) dict.erase(i);
  EQ(dict.size(), 401u);
  for (int i = 0; i < 1000; ++i) dict.Set(i, i);
  check(c_dict_thin(handle(dict), 1000));
  EQ(dict.size(), 901u);
  dict.clear();
  check(c_dict_fill(handle(dict), 1));
  EQ(dict.size(), 3u);
}

TEST(map_of_cxx_read_by_c) {
  Map<String, int> map;
  int64_t expected = 0;
  for (int n : {0, 1, 3, 4, 5, 100, 1000}) {
    while (static_cast<int>(map.size()) < n) {
      int i = static_cast<int>(map.size());
      map.Set(String("key " + std::to_string(i) + (i % 2 ? kLong : "")), i);
      expected += i;
    }
    int64_t sum = -1;
    if (n) {
      check(c_map_sum(handle(map), "ffi.Map", &sum));
      EQ(sum, expected);
    }
  }
}

TEST(maps_of_c_used_by_cxx) {
  for (const char *kind : {"Map", "Dict"}) {
    TVMFFIAny raw;
    check(c_make(kind, &raw));
    Any any = take(&raw);
    std::string keys;
    if (auto map = any.as<Map<Any, Any>>()) {
      EQ((*map)["small"].cast<int>(), 1);
      EQ((*map)[kLong].cast<int>(), 2);
      for (int i = 10; i < 100; ++i) map->Set(i, i);
      EQ(map->size(), 93u);
      EQ((any.cast<Map<Any, Any>>().size()), 3u);
      EQ((*map)[3].cast<String>(), "three");
      map->erase("small");
      EQ(map->count("small"), 0u);
    } else {
      Dict<Any, Any> dict = any.cast<Dict<Any, Any>>();
      EQ(dict["small"].cast<int>(), 1);
      for (int i = 10; i < 100; ++i) dict.Set(i, i);
      check(c_dict_fill(handle(dict), 50));
      NOTE(dict.size());
      EQ(dict[kLong].cast<int>(), 2);
      dict.erase(3);
      dict.Set(3, "again");
      auto last = dict.end();
      EQ((*--last).second.cast<String>(), "again");
    }
  }
}

TEST(containers_hold_objects_of_both) {
  {
    List<Any> list;
    list.push_back(Int(1));
    check(c_list_fill(handle(list), 10));
    for (int i = 0; i < 40; ++i) list.push_back(Int(i));
    check(c_list_edit(handle(list)));
    EQ(NumberObj::alive, 40);
    Dict<Any, Any> dict = {{"list", list}};
    check(c_dict_fill(handle(dict), 20));
    list = List<Any>();
    EQ(NumberObj::alive, 40);
  }
  EQ(NumberObj::alive, 0);
}

TEST(nests_of_c_freed_by_cxx) {
  TVMFFIAny raw;
  check(c_nest(500, &raw));
  Any any = take(&raw);
  int depth = 0;
  for (Any at = any; at != nullptr; ++depth) {
    List<Any> list = at.cast<List<Any>>();
    at = list[0];
  }
  EQ(depth, 500);
}

TEST(two_threads) {
  List<Any> lists[2];
  std::vector<std::thread> threads;
  for (List<Any> &list : lists)
    threads.emplace_back([&list] {
      if (c_list_fill(handle(list), 300)) std::abort();
      for (int i = 0; i < 300; ++i) list.push_back(i);
    });
  for (auto &t : threads) t.join();
  for (List<Any> &list : lists) {
    int64_t sum = 0;
    check(c_sequence_sum(handle(list), &sum));
    EQ(sum, 299 * 300);
  }
}

// ---- Strings
// --------------------------------------------------------------------

TEST(strings) {
  for (const char *text : {"", "1234567", "12345678", kLong}) {
    TVMFFIAny raw;
    check(c_string(text, &raw));
    Any any = take(&raw);
    EQ(any.cast<String>(), text);
    EQ(any.type_index(),
       std::string(text).size() < 8 ? kTVMFFISmallStr : kTVMFFIStr);
    EQ(std::string(any.cast<String>().c_str()), text);
    unsigned want = 0, got = 0;
    for (const char *p = text; *p; ++p) want += static_cast<unsigned char>(*p);
    for (const Any &mine : {Any(String(text)), Any(std::string(text)),
                            Any(Bytes(text, std::string(text).size()))}) {
      TVMFFIAny view = AnyView(mine).CopyToTVMFFIAny();
      EQ(c_string_size(&view, &got), std::string(text).size());
      EQ(got, want);
    }
    TVMFFIAny view = AnyView(text).CopyToTVMFFIAny();
    EQ(c_string_size(&view, &got), std::string(text).size());
  }
}

// ---- Functions
// ------------------------------------------------------------------

TEST(functions_of_c) {
  Function scale = Function::GetGlobalRequired("c.scale");
  EQ(scale(1.5, 4).cast<double>(), 6.0);
  EQ(scale(3, true).cast<double>(), 3.0);
  TypedFunction<double(double, int)> typed = scale;
  EQ(typed(0.5, 3), 1.5);
  THROWS(
      "TypeError: Mismatched number of arguments when calling: "
      "`c.scale(0: float, 1: int) -> float`. Expected 2 but got 1 "
      "arguments",
      scale(1.0));
  THROWS(
      "TypeError: Mismatched type on argument #1 when calling: "
      "`c.scale(0: float, 1: int) -> float`. Expected `int` but got "
      "`float`",
      scale(1.0, 2.5));
  THROWS(
      "TypeError: Mismatched type on argument #0 when calling: "
      "`c.scale(0: float, 1: int) -> float`. Expected `float` but got "
      "`test.Int`",
      scale(Int(1), 2));
  TypedFunction<String(String)> greet = Function::GetGlobalRequired("c.greet");
  EQ(greet("you"), "Hello, you");
  EQ(greet(kLong), std::string("Hello, ") + kLong);
  THROWS("ValueError: name is too long", greet(std::string(100, 'x')));
  TypedFunction<int(double, int)> wrong = scale;
  THROWS("TypeError: Cannot convert from type `float` to `int`", wrong(1, 1));
  EQ(Function::GetGlobalRequired("c.names")("float16", "cuda:1", true,
                                            Bytes("abc", 3))
         .cast<String>(),
     "yes");
  EQ(Function::GetGlobalRequired("c.names")(
         DLDataType{kDLInt, 8, 1}, DLDevice{kDLCPU, 0}, 1, Bytes("", 0))
         .cast<String>(),
     "no");
  OK(Function::GetGlobalRequired("c.nothing")() == nullptr);
  Function metadata = Function::GetGlobalRequired("ffi.GetGlobalFuncMetadata");
  NOTE(metadata("c.names").cast<String>());
  NOTE(metadata("c.apply").cast<String>());
}

TEST(values_through_c) {
  {
    Function same = Function::GetGlobalRequired("c.same");
    Int one(1);
    EQ(same(one).cast<Int>().use_count(), 2);
    EQ(one.use_count(), 1);
    EQ(same("raw").cast<String>(), "raw");
    EQ(same(kLong).type_index(), kTVMFFIStr);
    EQ(same(RValueRef(Int(5))).cast<Int>()->value, 5);
    Any held = same(Array<Any>{one, kLong});
    EQ(one.use_count(), 2);
    EQ(held.cast<Array<Any>>()[1].cast<String>(), kLong);
    OK(same(nullptr) == nullptr);
    OK(same(DLDevice{kDLCUDA, 2}).cast<DLDevice>().device_id == 2);
    Function through = same(same).cast<Function>();
    OK(through.same_as(same));
  }
  EQ(NumberObj::alive, 0);
}

TEST(functions_of_cxx_called_by_c) {
  refl::GlobalDef().def("cxx.square", [](int64_t x) { return x * x; });
  int64_t out = 0;
  check(c_call_global("cxx.square", 12, &out));
  EQ(out, 144);
  Function::SetGlobal("cxx.text", Function::FromTyped([](int64_t) {
                        return String("no number");
                      }));
  THROWS(
      "TypeError: result of cxx.text: Cannot convert from type "
      "`ffi.String` to `int`",
      check(c_call_global("cxx.text", 1, &out)));
  NOTE_THROWN(check(c_call_global("cxx.none", 1, &out)));
  int64_t values[8] = {5, 3, 8, 1, 9, 2, 7, 0};
  int calls = 0;
  Function less = Function::FromTyped([&calls](int64_t a, int64_t b) {
    ++calls;
    return a < b;
  });
  check(c_sort(handle(less), values, 8));
  bool sorted = true;
  for (int i = 0; i < 7; ++i) sorted &= values[i] < values[i + 1];
  OK(sorted && calls > 8);
  EQ(less.use_count(), 1);
  // C calls C++, which calls C, which calls C++.
  Function apply = Function::GetGlobalRequired("c.apply");
  Function outer = Function::FromTyped([&](int64_t x) {
    return apply(Function::GetGlobalRequired("cxx.square"), x);
  });
  EQ(apply(outer, 3).cast<int>(), 11);
  THROWS(
      "TypeError: Mismatched type on argument #0 when calling: "
      "`c.apply(0: ffi.Function, 1: int) -> int`. Expected "
      "`ffi.Function` but got `int`",
      apply(1, 1));
}

TEST(captures_end_when_c_releases) {
  auto shared = std::make_shared<int>(1);
  {
    Function f = Function::FromTyped([shared]() { return *shared; });
    c_retain(handle(f));
    EQ(f.use_count(), 2);
    TVMFFIObjectHandle raw = handle(f);
    f = Function();
    EQ(shared.use_count(), 2);
    c_release(raw);
  }
  EQ(shared.use_count(), 1);
}

// ---- Errors
// ---------------------------------------------------------------------

TEST(errors_of_c_in_cxx) {
  Function divide = Function::GetGlobalRequired("c.divide");
  EQ(divide(7, 2).cast<int>(), 3);
  try {
    divide(7, 0);
    OK(false);
  } catch (const Error &e) {
    EQ(e.kind(), "ZeroDivisionError");
    EQ(e.message(), "7 by zero");
    OK(contains(e.backtrace(), "c_side.c"));
    OK(contains(e.backtrace(), "divide"));
    OK(contains(e.FullMessage(), "ZeroDivisionError: 7 by zero\n"));
  }
  Expected<int> bad = divide.CallExpected<int>(1, 0);
  EQ(bad.error().message(), "1 by zero");
  TypedFunction<int(int, int)> typed = divide;
  bool as_std = false;
  try {
    typed(1, 0);
  } catch (const std::exception &e) {
    as_std = std::string(e.what()) == "1 by zero";
  }
  OK(as_std);
}

TEST(errors_of_cxx_in_c) {
  Error mine("MyError", "from C++", "  File \"x\", line 1, in y\n");
  Function throws = Function::FromTyped([&]() -> int { throw mine; });
  try {
    check(c_call_and_pass_on(handle(throws)));
    OK(false);
  } catch (const Error &e) {
    OK(e.same_as(mine));
    OK(contains(e.backtrace(), "in y\n"));
  }
  EQ(mine.use_count(), 1);
  Function std_throws =
      Function::FromTyped([]() { throw std::runtime_error("a std error"); });
  THROWS("InternalError: a std error",
         check(c_call_and_pass_on(handle(std_throws))));
  Function checks = Function::FromTyped([](int) {});
  THROWS(
      "TypeError: Mismatched number of arguments when calling: `(0: int) "
      "-> void`. Expected 1 but got 0 arguments",
      check(c_call_and_pass_on(handle(checks))));
  TVMFFIAny raw;
  check(c_call_and_catch(handle(throws), &raw));
  EQ(take(&raw).cast<String>(), "MyError: from C++");
  EQ(mine.use_count(), 1);
  Function fine = Function::FromTyped([]() {});
  check(c_call_and_catch(handle(fine), &raw));
  EQ(take(&raw).cast<String>(), "");
  TVMFFIObjectHandle left = nullptr;
  TVMFFIErrorMoveFromRaised(&left);
  OK(left == nullptr);
}

TEST(errors_with_a_cause) {
  Error mine("MyError", "the cause", "");
  Function throws = Function::FromTyped([&]() -> int { throw mine; });
  try {
    check(c_call_and_wrap(handle(throws)));
    OK(false);
  } catch (const Error &e) {
    EQ(e.FullMessage(),
       "Traceback (most recent call last):\n  File \"c\", line 1, in wrap\n"
       "WrappedError: C has seen an error\n");
    OK(e.cause_chain().value().same_as(mine));
    OK(e.extra_context().value().same_as(throws));
    TVMFFIByteArray more{"more\n", 5};
    Error copy = e;
    copy.UpdateBacktrace(&more, kTVMFFIBacktraceUpdateModeAppend);
    OK(contains(e.backtrace(), "in wrap\nmore\n"));
    EQ(mine.use_count(), 2);
  }
  EQ(mine.use_count(), 1);
  EQ(throws.use_count(), 1);
}

TEST(errors_through_many_layers) {
  Function apply = Function::GetGlobalRequired("c.apply");
  Function inner = Function::FromTyped([](int64_t x) -> int64_t {
    if (x == 3) TVM_FFI_THROW(IndexError) << "three it is";
    return x;
  });
  Function middle =
      Function::FromTyped([&](int64_t x) { return apply(inner, x); });
  EQ(apply(middle, 1).cast<int>(), 3);
  THROWS("IndexError: three it is", apply(middle, 3));
  Function catches = Function::FromTyped([&](int64_t x) -> Any {
    try {
      return apply(inner, x);
    } catch (const Error &) {
      return -1;
    }
  });
  EQ(apply(catches, 3).cast<int>(), 0);
}

// ---- Objects
// --------------------------------------------------------------------

namespace {

struct BaseObj : public Object {
  int64_t id = 1;
  TVM_FFI_DECLARE_OBJECT_INFO("cxx.Base", BaseObj, Object);
};

struct BoxObj : public BaseObj {
  String name = "a box";
  int64_t weight = 0;
  Any content;
  Array<int> sizes;

  int64_t heavier(int64_t by) { return weight += by; }

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("cxx.Box", BoxObj, BaseObj);
};

struct Box : public ObjectRef {
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Box, ObjectRef, BoxObj);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<BaseObj>().def_ro("id", &BaseObj::id);
  refl::ObjectDef<BoxObj>()
      .def_rw("name", &BoxObj::name)
      .def_rw("weight", &BoxObj::weight)
      .def_rw("content", &BoxObj::content)
      .def_rw("sizes", &BoxObj::sizes)
      .def("heavier", &BoxObj::heavier)
      .def_type_attr("cxx.colour", "brown, a text longer than a value");
  refl::ObjectDef<NumberObj>();
  refl::ObjectDef<IntObj>().def_ro("value", &IntObj::value);
}

}  // namespace

TEST(objects_of_cxx_in_c) {
  {
    Box box(make_object<BoxObj>());
    box->weight = 42;
    int64_t n = 0;
    check(c_field_int_at_offset(handle(box), "weight", &n));
    EQ(n, 42);
    check(c_field_int_at_offset(handle(box), "id", &n));
    EQ(n, 1);
    THROWS("TypeError: name is no int64",
           check(c_field_int_at_offset(handle(box), "name", &n)));
    THROWS("AttributeError: no field none",
           check(c_field_int_at_offset(handle(box), "none", &n)));
    TVMFFIAny raw;
    check(c_field_get(handle(box), "name", &raw));
    EQ(take(&raw).cast<String>(), "a box");
    TVMFFIAny value = AnyView(Any(String(kLong))).CopyToTVMFFIAny();
    Any text = String(kLong);
    value = AnyView(text).CopyToTVMFFIAny();
    check(c_field_set(handle(box), "name", &value));
    EQ(box->name, kLong);
    Int seven(7);
    value = AnyView(seven).CopyToTVMFFIAny();
    check(c_field_set(handle(box), "content", &value));
    EQ(seven.use_count(), 2);
    check(c_field_get(handle(box), "content", &raw));
    EQ(seven.use_count(), 3);
    EQ(take(&raw).cast<Int>()->value, 7);
    THROWS("TypeError: Cannot convert from type `test.Int` to `str`",
           check(c_field_set(handle(box), "name", &value)));
    THROWS("TypeError: Cannot convert from type `test.Int` to `Array<int>`",
           check(c_field_set(handle(box), "sizes", &value)));
    check(c_method(handle(box), "heavier", 8, &raw));
    EQ(take(&raw).cast<int>(), 50);
    EQ(box->weight, 50);
    check(c_attribute(box->type_index(), "cxx.colour", &raw));
    EQ(take(&raw).cast<String>(), "brown, a text longer than a value");
    TVMFFIObjectHandle made = nullptr;
    check(c_create("cxx.Box", &made));
    Box other = ObjectRef(detail::ObjectUnsafe::ObjectPtrFromOwned<Object>(
                              static_cast<TVMFFIObject *>(made)))
                    .as_or_throw<Box>();
    EQ(other->name, "a box");
    EQ(other.use_count(), 1);
    OK(c_is_instance(BoxObj::RuntimeTypeIndex(), BaseObj::RuntimeTypeIndex()));
    OK(!c_is_instance(BaseObj::RuntimeTypeIndex(), BoxObj::RuntimeTypeIndex()));
    OK(c_is_instance(BoxObj::RuntimeTypeIndex(), kTVMFFIObject));
    OK(!c_is_instance(BoxObj::RuntimeTypeIndex(), kTVMFFIArray));
  }
  EQ(NumberObj::alive, 0);
}

TEST(destructors_of_cxx_run_by_c) {
  Int *one = new Int(1);
  TVMFFIObjectHandle raw = handle(*one);
  c_retain(raw);
  c_retain(raw);
  delete one;
  EQ(NumberObj::alive, 1);
  c_weak_keep(raw);
  OK(c_weak_alive());
  c_release(raw);
  OK(c_weak_alive());
  c_release(raw);
  EQ(NumberObj::alive, 0);
  OK(!c_weak_alive());
  c_weak_drop();
}

TEST(objects_of_c_in_cxx) {
  {
    TVMFFIObjectHandle made = nullptr;
    check(c_create("c.Counter", &made));
    ObjectRef counter(detail::ObjectUnsafe::ObjectPtrFromOwned<Object>(
        static_cast<TVMFFIObject *>(made)));
    EQ(counter.GetTypeKey(), "c.Counter");
    EQ(counter.use_count(), 1);
    EQ(c_counters(), 1);
    refl::FieldGetter count("c.Counter", "count");
    refl::FieldSetter set_count("c.Counter", "count");
    EQ(count(counter).cast<int>(), 0);
    set_count(counter, 5);
    EQ(count(counter).cast<int>(), 5);
    THROWS("TypeError: count wants an int", set_count(counter, "five"));
    refl::FieldSetter set_label("c.Counter", "label");
    set_label(counter, kLong);
    EQ(refl::FieldGetter("c.Counter", "label")(counter).cast<String>(), kLong);
    set_label(counter, Int(3));
    EQ(NumberObj::alive, 1);
    Function add = refl::GetMethod("c.Counter", "add");
    EQ(add(counter, 10).cast<int>(), 15);
    THROWS("TypeError: not a counter", add(Int(1), 1));
    TVMFFIAny raw;
    check(c_method(handle(counter), "add", 1, &raw));
    EQ(take(&raw).cast<int>(), 16);
    EQ(refl::TypeAttrColumn("c.unit")[counter.type_index()].cast<String>(),
       "pieces");
    Any any = counter;
    OK(!any.as<Int>().has_value());
    OK(any.as<ObjectRef>().has_value());
    Array<Any> array = {any, counter};
    EQ(counter.use_count(), 4);
    WeakObjectPtr<Object> weak(
        detail::ObjectUnsafe::ObjectPtrFromObjectRef<Object>(counter));
    array.clear();
    any.reset();
    OK(weak.lock() != nullptr);
    counter = ObjectRef();
    OK(weak.lock() == nullptr);
    EQ(c_counters(), 0);
    EQ(NumberObj::alive, 0);
    refl::ObjectCreator creator("c.Counter");
    Any made_by_cxx = creator(Map<String, Any>{{"count", 9}});
    EQ(count(made_by_cxx.cast<ObjectRef>()).cast<int>(), 9);
    made_by_cxx = creator(Map<String, Any>{});
    EQ(count(made_by_cxx.cast<ObjectRef>()).cast<int>(), 1);
    made_by_cxx = Function::GetGlobalRequired("ffi.MakeObjectFromPackedArgs")(
        TypeKeyToIndex("c.Counter"), "count", 11, "label", kLong);
    EQ(count(made_by_cxx.cast<ObjectRef>()).cast<int>(), 11);
  }
  EQ(c_counters(), 0);
}

// ---- Tensors
// --------------------------------------------------------------------

namespace {

struct Allocator {
  void AllocData(DLTensor *tensor) {
    tensor->data = std::calloc(1, GetDataSize(*tensor));
  }
  void FreeData(DLTensor *tensor) { std::free(tensor->data); }
};

}  // namespace

TEST(tensors) {
  Tensor t = Tensor::FromNDAlloc(
      Allocator(), {2, 2}, DLDataType{kDLFloat, 32, 1}, DLDevice{kDLCPU, 0});
  float *data = static_cast<float *>(t.data_ptr());
  for (int i = 0; i < 4; ++i) data[i] = static_cast<float>(i) / 2;
  Function sum = Function::GetGlobalRequired("c.tensor_sum");
  EQ(sum(t).cast<double>(), 3.0);
  EQ(sum(TensorView(t)).cast<double>(), 3.0);
  EQ(sum(t.as_strided({2}, {1}, 2)).cast<double>(), 2.5);
  EQ(t.use_count(), 1);
  THROWS(
      "TypeError: Mismatched type on argument #0 when calling: "
      "`c.tensor_sum(0: DLTensor*) -> float`. Expected `DLTensor*` but "
      "got `ffi.Array`",
      sum(Array<int>{1}));
  refl::GlobalDef().def("cxx.corner", [](TensorView v) {
    return static_cast<float *>(v.data_ptr())[v.numel() - 1] +
           static_cast<float>(v.stride(0));
  });
  double corner = 0;
  check(c_tensor_call("cxx.corner", &corner));
  EQ(corner, 9.0);
  refl::GlobalDef().def("cxx.owned", [](Tensor x) { return x.numel(); });
  THROWS(
      "TypeError: Mismatched type on argument #0 when calling: "
      "`cxx.owned(0: ffi.Tensor) -> int`. Expected `ffi.Tensor` but got "
      "`DLTensor*`",
      check(c_tensor_call("cxx.owned", &corner)));
}

TAP_MAIN()
