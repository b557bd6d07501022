// Values through the C++ headers: Any, type traits, strings, data types,
// devices, optionals, variants, tuples, Expected, r-value references, big
// integers, the standard library's types, errors.
#include <tvm/ffi/any.h>
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/cast.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/container/variant.h>
#include <tvm/ffi/device.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/expected.h>
#include <tvm/ffi/extra/base64.h>
#include <tvm/ffi/extra/dtype.h>
#include <tvm/ffi/extra/stl.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/rvalue_ref.h>

#include <limits>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include "objects.hpp"
#include "tap.hpp"

using namespace tvm::ffi;
using testing::Expr;
using testing::ExprObj;
using testing::Float;
using testing::FloatObj;
using testing::Int;
using testing::IntObj;
using testing::Number;
using testing::NumberObj;

namespace {
enum class Colour : int32_t { kRed = 1, kGreen = -2 };
const char kLong[] = "a text that is too long to be kept in a value";
}  // namespace

// ---- Any and AnyView --------------------------------------------------

TEST(any_none) {
  Any none;
  OK(none == nullptr);
  EQ(none.type_index(), kTVMFFINone);
  EQ(none.GetTypeKey(), "None");
  AnyView view;
  OK(view == nullptr);
  OK(!none.as<int>().has_value());
  OK(none.cast<void *>() == nullptr);
  OK(none.cast<std::optional<int>>() == std::nullopt);
  OK(!none.cast<Optional<String>>().has_value());
  OK(!none.cast<ObjectRef>().defined());
  OK(!none.cast<Number>().defined());
  THROWS("TypeError: Cannot convert from type `None` to `int`",
         none.cast<int>());
  THROWS("TypeError: Cannot convert from type `None` to `str`",
         none.cast<String>());
  THROWS("TypeError: Cannot convert from type `None` to `test.Expr`",
         none.cast<Expr>());
  THROWS("TypeError: Cannot treat type `None` as type `int`",
         none.as_or_throw<int>());
}

TEST(any_bool) {
  AnyView view;
  OK(!view.as<bool>().has_value());
  view = true;
  EQ(view.type_index(), kTVMFFIBool);
  EQ(view.GetTypeKey(), "bool");
  OK(view.cast<bool>());
  EQ(view.cast<int>(), 1);
  EQ(view.cast<double>(), 1.0);
  OK(!view.as<int>().has_value());
  EQ(view.try_cast<int64_t>().value(), 1);
  view = int64_t{2};
  OK(view.cast<bool>());
  OK(!view.as<bool>().has_value());
  OK(!view.try_cast<StrictBool>().has_value());
  view = 1.5;
  THROWS("TypeError: Cannot convert from type `float` to `bool`",
         view.cast<bool>());
  view = StrictBool(false);
  EQ(view.type_index(), kTVMFFIBool);
  THROWS("TypeError: Cannot convert from type `bool` to `str`",
         view.cast<String>());
}

TEST(any_int) {
  AnyView view = 1;
  EQ(view.type_index(), kTVMFFIInt);
  EQ(view.GetTypeKey(), "int");
  EQ(view.as<int32_t>().value(), 1);
  EQ(view.cast<int8_t>(), 1);
  EQ(view.cast<float>(), 1.0f);
  view = std::numeric_limits<int64_t>::min();
  EQ(view.cast<int64_t>(), std::numeric_limits<int64_t>::min());
  EQ(view.cast<int32_t>(), 0);
  Any owned = static_cast<uint8_t>(255);
  EQ(owned.cast<int>(), 255);
  owned = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  EQ(owned.cast<uint64_t>(), 9223372036854775807u);
  THROWS(
      "OverflowError: Integer value 9223372036854775808 is too large to "
      "fit in int64_t. Consider explicitly casting to int64_t first if "
      "this is intentional.",
      owned = uint64_t{1} << 63);
  owned = -1;
  EQ(owned.cast<uint64_t>(), ~uint64_t{0});
  owned = 'c';
  EQ(owned.cast<char>(), 'c');
  THROWS("TypeError: Cannot convert from type `int` to `DataType`",
         owned.cast<DLDataType>());
}

TEST(any_enum) {
  Any red = Colour::kRed;
  EQ(red.type_index(), kTVMFFIInt);
  OK(red.cast<Colour>() == Colour::kRed);
  red = -2;
  OK(red.as<Colour>().value() == Colour::kGreen);
  red = "red";
  OK(!red.try_cast<Colour>().has_value());
}

TEST(any_float) {
  AnyView view = 2.5f;
  EQ(view.type_index(), kTVMFFIFloat);
  EQ(view.cast<double>(), 2.5);
  OK(!view.as<int>().has_value());
  OK(!view.try_cast<int>().has_value());
  view = 3;
  EQ(view.cast<double>(), 3.0);
  OK(!view.as<double>().has_value());
  view = true;
  EQ(view.cast<float>(), 1.0f);
  Any inf = std::numeric_limits<double>::infinity();
  OK(inf.cast<double>() > 1e308);
  OK(inf.cast<float>() > 1e38f);
}

TEST(any_pointer) {
  int x = 0;
  AnyView view = static_cast<void *>(&x);
  EQ(view.type_index(), kTVMFFIOpaquePtr);
  EQ(view.GetTypeKey(), "void*");
  OK(view.cast<void *>() == &x);
  Any owned = view;
  OK(owned.as<void *>().value() == &x);
  owned = static_cast<void *>(nullptr);
  EQ(owned.type_index(), kTVMFFIOpaquePtr);
  owned = nullptr;
  EQ(owned.type_index(), kTVMFFINone);
  OK(!owned.as<void *>().has_value());
}

TEST(any_object) {
  {
    Int one(1);
    EQ(one.use_count(), 1);
    AnyView view = one;
    EQ(one.use_count(), 1);
    EQ(view.type_index(), IntObj::RuntimeTypeIndex());
    EQ(view.GetTypeKey(), "test.Int");
    Any owned = view;
    EQ(one.use_count(), 2);
    Any copy = owned, moved = std::move(owned);
    OK(owned == nullptr);
    EQ(one.use_count(), 3);
    OK(copy.same_as(moved));
    OK(copy.same_as(one));
    OK(!copy.same_as(Int(1)));
    OK(copy.as<Number>().has_value());
    OK(copy.as<ObjectRef>().has_value());
    OK(!copy.as<Float>().has_value());
    EQ(copy.as<IntObj>()->value, 1);
    OK(copy.as<NumberObj>() == one.get());
    OK(copy.as<FloatObj>() == nullptr);
    EQ(copy.cast<Int>()->value, 1);
    EQ(copy.cast<const IntObj *>()->value, 1);
    THROWS("TypeError: Cannot convert from type `test.Int` to `test.Float`",
           copy.cast<Float>());
    THROWS("TypeError: Cannot treat type `test.Int` as type `test.Expr`",
           copy.as_or_throw<Expr>());
    Int out = std::move(copy).cast<Int>();
    OK(copy == nullptr);
    EQ(out.use_count(), 3);
    moved.reset();
    EQ(one.use_count(), 2);
    Any self = one;
    Any &alias = self;
    self = alias;
    EQ(one.use_count(), 3);
    std::swap(self, moved);
    OK(self == nullptr);
    OK(moved.same_as(one));
    Any null = Number();
    OK(null == nullptr);
    OK(null.same_as(ObjectRef()));
  }
  EQ(NumberObj::alive, 0);
}

TEST(any_object_ptr) {
  {
    ObjectPtr<IntObj> p = make_object<IntObj>(7);
    Any owned = p;
    EQ(p.use_count(), 2);
    EQ(owned.cast<ObjectPtr<IntObj>>()->value, 7);
    EQ(owned.cast<ObjectPtr<NumberObj>>().use_count(), 3);
    OK(!owned.try_cast<ObjectPtr<FloatObj>>().has_value());
    OK(Any(ObjectPtr<IntObj>()) == nullptr);
    OK(Any().cast<ObjectPtr<IntObj>>() == nullptr);
    Arc<IntObj> arc = make_arc<IntObj>(8);
    Any shared = arc;
    EQ(arc.use_count(), 2);
    EQ(shared.cast<Arc<IntObj>>()->value, 8);
    Arc<NumberObj> base = arc;
    EQ(base.use_count(), 3);
    THROWS("TypeError: Cannot convert from type `None` to `test.Int`",
           Any().cast<Arc<IntObj>>());
    Optional<Arc<IntObj>> maybe = std::nullopt;
    OK(!maybe.has_value());
    THROWS("RuntimeError: Bad optional access", maybe.value());
    maybe = arc;
    OK(maybe.same_as(arc));
    Arc<IntObj> taken = std::move(shared).cast<Arc<IntObj>>();
    OK(shared == nullptr);
  }
  EQ(NumberObj::alive, 0);
}

TEST(any_fallback) {
  AnyView view = 1;
  OK(!view.as<Expr>().has_value());
  EQ(view.cast<Expr>()->dtype, "int64");
  view = true;
  EQ(view.cast<Expr>()->dtype, "bool");
  view = 2.5;
  EQ(view.cast<Expr>()->dtype, "float32");
  EQ(view.cast<Expr>()->value, 2.5);
  view = "float16";
  EQ(view.cast<Expr>()->dtype, "float16");
  Any owned = Expr(3);
  EQ(owned.cast<Expr>()->value, 3.0);
  owned = DLDevice{kDLCPU, 0};
  THROWS("TypeError: Cannot convert from type `Device` to `test.Expr`",
         owned.cast<Expr>());
}

TEST(any_object_ref_as) {
  ObjectRef ref = Int(4);
  OK(ref.as<Int>().has_value());
  OK(ref.as<Number>().has_value());
  OK(!ref.as<Float>().has_value());
  OK(!ref.as<Expr>().has_value());
  EQ(ref.as_or_throw<Int>()->value, 4);
  THROWS("TypeError: Cannot treat type `test.Int` as type `test.Float`",
         ref.as_or_throw<Float>());
  ObjectRef null;
  OK(null.as<Number>().has_value());
  OK(!null.as<Expr>().has_value());
  THROWS("TypeError: Cannot treat type `None` as type `test.Expr`",
         null.as_or_throw<Expr>());
  EQ(null.GetTypeKey(), "None");
  EQ(null.type_index(), kTVMFFINone);
  Int moved = std::move(ref).as_or_throw<Int>();
  OK(!ref.defined());
  EQ(moved.use_count(), 1);
}

TEST(any_hash_equal) {
  AnyHash hash;
  AnyEqual equal;
  Any small = String("abc"), large = String(std::string("abc"));
  EQ(small.type_index(), kTVMFFISmallStr);
  EQ(large.type_index(), kTVMFFIStr);
  OK(equal(small, large));
  OK(equal(large, small));
  EQ(hash(small), hash(large));
  Any bytes = Bytes("abc", 3), large_bytes = Bytes(std::string("abc"));
  OK(equal(bytes, large_bytes));
  OK(!equal(small, bytes));
  EQ(hash(bytes), hash(large_bytes));
  OK(hash(small) != hash(bytes));
  OK(equal(Any(1), Any(1)));
  OK(!equal(Any(1), Any(true)));
  OK(!equal(Any(1), Any(1.0)));
  OK(equal(Any(), Any(nullptr)));
  Int one(1);
  OK(equal(Any(one), Any(one)));
  OK(!equal(Any(one), Any(Int(1))));
  Any eight = String("12345678"), nine = String("123456789");
  OK(!equal(eight, nine));
  NOTE(hash(Any(1)));
  NOTE(hash(Any(-1)));
  NOTE(hash(Any(true)));
  NOTE(hash(Any(1.5)));
  NOTE(hash(Any()));
  NOTE(hash(small));
  NOTE(hash(Any(String(""))));
  NOTE(hash(Any(String(kLong))));
  NOTE(hash(Any(Bytes(kLong, 8))));
  NOTE(hash(Any(DLDevice{kDLCUDA, 1})));
}

TEST(any_hash_equal_of_shapes_and_big_ints) {
  AnyHash hash;
  AnyEqual equal;
  Any a = Shape({1, 2, 3}), b = Shape({1, 2, 3}), c = Shape({1, 2});
  OK(a.same_as(a));
  NOTE(equal(a, b));
  NOTE(equal(a, c));
  Any big = BigInt(1) << 70, same = BigInt(1) << 70, other = BigInt(1) << 71;
  OK(equal(big, same));
  OK(!equal(big, other));
  EQ(hash(big), hash(same));
  NOTE(hash(big));
}

// ---- Strings and bytes --------------------------------------------------

TEST(string_basics) {
  String empty, small("1234567"), large("12345678");
  OK(empty.empty());
  EQ(empty.size(), 0u);
  EQ(empty, "");
  EQ(Any(empty).type_index(), kTVMFFISmallStr);
  EQ(Any(small).type_index(), kTVMFFISmallStr);
  EQ(Any(large).type_index(), kTVMFFIStr);
  EQ(Any(small).GetTypeKey(), "ffi.SmallStr");
  EQ(Any(large).GetTypeKey(), "ffi.String");
  EQ(std::string(small.c_str()), "1234567");
  EQ(std::string(large.c_str()), "12345678");
  EQ(large.at(7), '8');
  THROWS("std::exception: tvm::String index out of bounds", large.at(8));
  String copy = large;
  OK(copy.data() == large.data());
  String moved = std::move(copy);
  OK(moved.data() == large.data());
  String binary("a\0b", 3);
  EQ(binary.size(), 3u);
  OK(binary != "a");
  EQ(String(TVMFFIByteArray{"xyz", 2}), "xy");
  small = large;
  EQ(small, large);
  large = "short";
  EQ(large.length(), 5u);
  large = std::string("from std");
  EQ(std::string(large), "from std");
  small.swap(large);
  EQ(small, "from std");
}

TEST(string_compare) {
  String a("abc"), b("abd"), l("abc and a tail");
  OK(a < b && b > a && a <= a && a >= a && a != b);
  EQ(a.compare("abc"), 0);
  EQ(a.compare("ab"), 1);
  EQ(a.compare("abcd"), -1);
  EQ(a.compare(b), -1);
  EQ(l.compare(a), 1);
  EQ(a.compare(std::string("abc")), 0);
  OK(a == std::string("abc") && std::string("abc") == a);
  OK(a == "abc" && "abc" == a && "abb" < a && a < "b");
  OK(std::string("b") > a && a < std::string("b"));
  EQ(a + b, "abcabd");
  EQ(a + "!", "abc!");
  EQ("<" + a, "<abc");
  EQ(a + std::string("-tail to be long"), "abc-tail to be long");
  EQ(std::string("head ") + l, "head abc and a tail");
  EQ(String() + String(), "");
}

TEST(string_search) {
  String s("hello world");
  EQ(s.find("world"), 6u);
  EQ(s.find("o", 5), 7u);
  EQ(s.find("xyz"), String::npos);
  EQ(s.find(""), 0u);
  EQ(s.find("", 12), String::npos);
  EQ(s.find(String("l"), 3), 3u);
  EQ(s.find("world!", 0, 5), 6u);
  EQ(s.substr(6), "world");
  EQ(s.substr(0, 5), "hello");
  EQ(s.substr(11), "");
  THROWS("std::exception: tvm::String substr index out of bounds",
         s.substr(12));
  OK(s.starts_with("hell") && !s.starts_with("world") && s.starts_with(""));
  OK(s.ends_with("world") && !s.ends_with("hello") && s.ends_with(s));
  OK(s.starts_with(std::string_view("hello wor", 7)));
  EQ(s.Split(' ').size(), 2u);
  EQ(String("a,,b,").Split(',').size(), 4u);
  EQ(String("").Split(',').size(), 1u);
  EQ(EscapeStringJSON("a\"b\\\n/\x01\x7f\b\f\r\t"),
     "\"a\\\"b\\\\\\n\\/\\u0001\\u007f\\b\\f\\r\\t\"");
  NOTE(
      EscapedStringPy("a\"b\\\n\x01\x7f\x1b[31mred\xc3\xa9 \xe2\x82\xac "
                      "\xf0\x9f\x98\x80 \xff"));
}

TEST(string_hash) {
  EQ(std::hash<String>()(String("abc")),
     std::hash<String>()(String(std::string("abc"))));
  EQ(std::hash<Bytes>()(Bytes("abc", 3)),
     std::hash<Bytes>()(Bytes(std::string("abc"))));
  std::unordered_map<String, int> map;
  map[kLong] = 1;
  map["x"] = 2;
  EQ(map.at(String(kLong)), 1);
  std::ostringstream out;
  out << String("x") << String(kLong);
  EQ(out.str(), std::string("x") + kLong);
}

TEST(string_in_any) {
  AnyView view = "raw";
  EQ(view.type_index(), kTVMFFIRawStr);
  EQ(view.GetTypeKey(), "const char*");
  EQ(view.cast<String>(), "raw");
  EQ(view.cast<std::string>(), "raw");
  EQ(std::string(view.cast<const char *>()), "raw");
  OK(!view.as<String>().has_value());
  Any owned = view;
  EQ(owned.type_index(), kTVMFFISmallStr);
  owned = AnyView(kLong);
  EQ(owned.type_index(), kTVMFFIStr);
  EQ(owned.cast<String>(), kLong);
  OK(!owned.try_cast<const char *>().has_value());
  std::string text = kLong;
  view = text;
  EQ(view.type_index(), kTVMFFIRawStr);
  owned = text;
  EQ(owned.as<String>().value(), kLong);
  owned = std::string("s");
  EQ(owned.type_index(), kTVMFFIStr);
  view = String(kLong).size() ? AnyView(owned) : AnyView();
  EQ(view.cast<std::string>(), "s");
  THROWS("TypeError: Cannot convert from type `ffi.String` to `bytes`",
         owned.cast<Bytes>());
  THROWS("TypeError: Cannot convert from type `ffi.String` to `int`",
         owned.cast<int>());
  THROWS("TypeError: Cannot convert from type `int` to `std::string`",
         Any(1).cast<std::string>());
  THROWS("InternalError: Check not null: src ",
         AnyView(static_cast<const char *>(nullptr)));
}

TEST(bytes_basics) {
  Bytes empty, small(std::string("1234567").data(), 7);
  EQ(empty.size(), 0u);
  EQ(Any(empty).type_index(), kTVMFFISmallBytes);
  EQ(Any(small).type_index(), kTVMFFISmallBytes);
  EQ(Any(Bytes(kLong, 8)).type_index(), kTVMFFIBytes);
  EQ(Any(Bytes(std::string("x"))).type_index(), kTVMFFIBytes);
  EQ(Any(small).GetTypeKey(), "ffi.SmallBytes");
  EQ(std::string(small), "1234567");
  TVMFFIByteArray array{kLong, sizeof(kLong)};
  AnyView view = &array;
  EQ(view.type_index(), kTVMFFIByteArrayPtr);
  EQ(view.cast<Bytes>().size(), sizeof(kLong));
  EQ(view.cast<std::string>().size(), sizeof(kLong));
  OK(view.cast<TVMFFIByteArray *>() == &array);
  OK(!view.try_cast<String>().has_value());
  Any owned = view;
  EQ(owned.type_index(), kTVMFFIBytes);
  OK(owned.cast<Bytes>().data() != kLong);
  EQ(Bytes::memncmp("a\xff", "ab", 2, 2), -1);
  EQ(Bytes::memncmp("ab", "abc", 2, 3), -1);
  OK(Bytes::memequal("x", "x", 1, 1) && !Bytes::memequal("x", "xy", 1, 2));
  THROWS("TypeError: Cannot convert from type `ffi.Bytes` to `str`",
         owned.cast<String>());
}

TEST(base64) {
  EQ(Base64Encode(Bytes("hello world", 11)), "aGVsbG8gd29ybGQ=");
  EQ(std::string(Base64Decode(String("aGVsbG8gd29ybGQ="))), "hello world");
  EQ(Base64Encode(Bytes()), "");
  EQ(Base64Decode(String("")).size(), 0u);
  EQ(Base64Encode(Bytes("\xff\xfe", 2)), "//4=");
  EQ(Base64Encode(Bytes("\0", 1)), "AA==");
  THROWS(
      "InternalError: Check failed: (bytes.size % 4 == 0) is false: "
      "invalid base64 encoding",
      Base64Decode(String("abc")));
}

// ---- Data types and devices ---------------------------------------------

TEST(dtype_text) {
  const char *names[] = {"int8",           "uint8",
                         "int32",          "int64x4",
                         "float16",        "float32x8",
                         "bfloat16",       "bfloat16x2",
                         "bool",           "boolx8",
                         "handle",         "float8_e4m3fn",
                         "float8_e5m2",    "float8_e3m4",
                         "float4_e2m1fn",  "float4_e2m1fnx2",
                         "float6_e2m3fn",  "float6_e3m2fn",
                         "float8_e8m0fnu", "float32xvscalex4",
                         "custom[130]32",  "float8_e4m3b11fnuz"};
  for (const char *name : names) {
    std::string back = tap::thrown([&] {
      DLDataType dtype = StringToDLDataType(name);
      tap::note(std::string(name) + " is " + std::to_string(dtype.code) + " " +
                std::to_string(dtype.bits) + " " +
                std::to_string(static_cast<int16_t>(dtype.lanes)) + " " +
                std::string(DLDataTypeToString(dtype)) + " " +
                DTypeAbbrev(dtype));
    });
    tap::note(back);
  }
  OK(StringToDLDataType("float32") == DLDataType{kDLFloat, 32, 1});
  OK(StringToDLDataType("") == DLDataType{kDLOpaqueHandle, 0, 0});
  EQ(DLDataTypeToString(DLDataType{kDLOpaqueHandle, 0, 0}), "");
  EQ(DLDataTypeToString(DLDataType{kDLFloat, 16, 4}), "float16x4");
  EQ(DLDataTypeToString(DLDataType{kDLBool, 8, 1}), "bool");
  for (const char *bad : {"int", "int32x", "flot32", "int32 ", "float8_e9m9",
                          "boolx", "x", "int32y4", "custom[", "custom[5]8"})
    NOTE_THROWN(StringToDLDataType(bad));
  NOTE_THROWN(DLDataTypeToString(DLDataType{100, 8, 1}));
  std::ostringstream out;
  out << DLDataType{kDLInt, 32, 1};
  EQ(out.str(), "int32");
  EQ(DTypeAbbrev(DLDataType{kDLBfloat, 16, 1}), "bf16");
  EQ(DTypeAbbrev(DLDataType{kDLOpaqueHandle, 0, 0}), "void");
  OK(DTypeIsFloat(StringToDLDataType("float8_e5m2fnuz")));
  OK(DTypeIsInt(StringToDLDataType("uint16")));
  OK(DTypeIsBool(StringToDLDataType("bool")));
}

TEST(dtype_in_any) {
  AnyView view = DLDataType{kDLFloat, 32, 1};
  EQ(view.type_index(), kTVMFFIDataType);
  EQ(view.GetTypeKey(), "DataType");
  OK(view.as<DLDataType>().value() == DLDataType{kDLFloat, 32, 1});
  view = "int8x2";
  OK(view.cast<DLDataType>() == DLDataType{kDLInt, 8, 2});
  OK(!view.as<DLDataType>().has_value());
  Any owned = String("bfloat16");
  OK(owned.cast<DLDataType>() == DLDataType{kDLBfloat, 16, 1});
  owned = "nonsense";
  NOTE_THROWN(owned.cast<DLDataType>());
  OK(dtype_trait<float>::value == DLDataType{kDLFloat, 32, 1});
  OK(dtype_trait<bool>::value == DLDataType{kDLBool, 8, 1});
  OK(dtype_trait<int64_t>::value == DLDataType{kDLInt, 64, 1});
}

TEST(device_in_any) {
  AnyView view = DLDevice{kDLCUDA, 3};
  EQ(view.type_index(), kTVMFFIDevice);
  EQ(view.GetTypeKey(), "Device");
  EQ(view.as<DLDevice>()->device_id, 3);
  const char *good[] = {"cpu",  "cuda",   "cuda:2", "opencl:0", "vulkan",
                        "mps",  "vpi",    "rocm:1", "ext_dev",  "hexagon",
                        "wgpu", "webgpu", "maia",   "trn",      "metal:7 x"};
  for (const char *name : good) {
    DLDevice d = AnyView(name).cast<DLDevice>();
    tap::note(std::string(name) + " is " + std::to_string(d.device_type) + ":" +
              std::to_string(d.device_id));
  }
  for (const char *bad : {"", "gpu", "cuda:", "cuda:x", "cuda:1:2", ":1",
                          "cuda:-1", "cuda:2147483648"})
    OK(!AnyView(bad).try_cast<DLDevice>().has_value());
  THROWS("TypeError: Cannot convert from type `ffi.SmallStr` to `Device`",
         Any("gpu").cast<DLDevice>());
}

// ---- Shape ----------------------------------------------------------------

TEST(shape_basics) {
  Shape empty, shape({2, 3, 4});
  OK(empty.empty());
  EQ(empty.Product(), 1);
  EQ(shape.size(), 3u);
  EQ(shape.Product(), 24);
  EQ(shape[1], 3);
  EQ(shape.at(2), 4);
  EQ(shape.front(), 2);
  EQ(shape.back(), 4);
  THROWS("IndexError: indexing 3 on a Shape of size 3", shape.at(3));
  THROWS("IndexError: indexing 0 on a Shape of size 0", empty.front());
  THROWS("IndexError: indexing 18446744073709551615 on a Shape of size 0",
         empty.back());
  Shape from_vector(std::vector<int64_t>{5, 6});
  EQ(from_vector[1], 6);
  Shape from_array(Array<int64_t>{7, 8});
  EQ(from_array[0], 7);
  ShapeView view = shape;
  OK(view.data() == shape.data());
  EQ(view.Product(), 24);
  EQ(Shape(view)[2], 4);
  Shape strides = Shape::StridesFromShape(shape);
  EQ(strides[0], 12);
  EQ(strides[2], 1);
  std::ostringstream out;
  out << shape << empty;
  EQ(out.str(), "[2, 3, 4][]");
  EQ(ShapeView({1, 2}).at(1), 2);
  THROWS("IndexError: indexing 0 on a Shape of size 0", ShapeView().at(0));
}

TEST(shape_in_any) {
  Any any = Shape({1, 2});
  EQ(any.type_index(), kTVMFFIShape);
  EQ(any.cast<Shape>()[1], 2);
  Any array = Array<int64_t>{3, 4};
  EQ(array.cast<Shape>()[0], 3);
  array = List<int64_t>{5, 6};
  EQ(array.cast<Shape>()[1], 6);
  array = Array<Any>{1, "x"};
  THROWS("TypeError: Cannot convert from type `ffi.Array` to `ffi.Shape`",
         array.cast<Shape>());
  OK(!any.try_cast<Array<int64_t>>().has_value());
}

// ---- Optional ---------------------------------------------------------------

TEST(optional_values) {
  Optional<int> none, one = 1;
  OK(!none && one && one == 1 && one != 2 && none != 1);
  EQ(*one, 1);
  EQ(none.value_or(5), 5);
  THROWS("RuntimeError: Back optional access", none.value());
  none = one;
  EQ(none.value(), 1);
  none = std::nullopt;
  OK(none == std::nullopt);
  Optional<String> text = String(kLong);
  EQ(text.value(), kLong);
  OK(text == kLong);
  OK(text != String("x"));
  OK(sizeof(text) == sizeof(TVMFFIAny));
  Optional<String> moved = std::move(text);
  EQ(*moved, kLong);
  moved = nullptr;
  OK(!moved.has_value());
  Optional<Bytes> bytes = Bytes("ab", 2);
  EQ(bytes.value().size(), 2u);
  Optional<bool> flag = false;
  OK(flag.has_value() && !*flag);
  Optional<DLDataType> dtype = DLDataType{kDLInt, 8, 1};
  OK(dtype.value() == DLDataType{kDLInt, 8, 1});
}

TEST(optional_objects) {
  {
    Optional<Int> none, one = Int(1);
    OK(!none.has_value());
    OK(none == std::nullopt && none == nullptr && one != nullptr);
    EQ(sizeof(one), sizeof(void *));
    EQ(one->value, 1);
    EQ(one.use_count(), 1);
    Optional<Number> base = one.value();
    OK(base.has_value());
    OK(base.as<Int>().has_value());
    THROWS("RuntimeError: Back optional access", none.value());
    EQ(none.value_or(Int(9))->value, 9);
    Int out = *std::move(one);
    OK(!one.has_value());
    EQ(out->value, 1);
    Optional<Array<int>> array = Array<int>{1};
    EQ(array.value()[0], 1);
    Optional<Expr> expr = std::nullopt;
    OK(!expr);
    expr = Expr(1);
    EQ(expr.value()->value, 1.0);
  }
  EQ(NumberObj::alive, 0);
}

TEST(optional_in_any) {
  Any any = Optional<int>(3);
  EQ(any.type_index(), kTVMFFIInt);
  any = Optional<int>();
  OK(any == nullptr);
  any = Optional<Int>(Int(2));
  EQ(any.cast<Optional<Int>>().value()->value, 2);
  EQ(any.cast<Optional<Number>>().use_count(), 2);
  AnyView view = Optional<Int>();
  OK(view == nullptr);
  OK(view.as<Optional<int>>().has_value());
  OK(!view.cast<Optional<String>>().has_value());
  view = 3;
  EQ(*view.cast<Optional<double>>(), 3.0);
  THROWS("TypeError: Cannot convert from type `int` to `Optional<str>`",
         view.cast<Optional<String>>());
  THROWS(
      "TypeError: Cannot convert from type `int` to "
      "`Optional<Array<int>>`",
      view.cast<Optional<Array<int>>>());
  EQ(GetRef<Optional<Int>>(static_cast<IntObj *>(nullptr)).has_value(), false);
}

// ---- Variant and tuple ------------------------------------------------------

TEST(variant_basics) {
  Variant<int, float> v = 1;
  EQ(v.get<int>(), 1);
  OK(v.as<int>().has_value() && !v.as<float>().has_value());
  EQ(v.get<float>(), 1.0f);
  v = 2.0f;
  EQ(v.as<float>().value(), 2.0f);
  THROWS("TypeError: Cannot convert from type `float` to `int`", v.get<int>());
  EQ(v.GetTypeKey(), "float");
  Variant<Int, Array<Int>> w = Int(4);
  EQ(w.as<IntObj>()->value, 4);
  OK(w.as<Array<Int>>() == std::nullopt);
  w = Array<Int>{Int(1), Int(2)};
  EQ(w.get<Array<Int>>().size(), 2u);
  Variant<Int, Array<Int>> copy = w;
  OK(copy.same_as(w));
  OK(ObjectPtrEqual()(copy, w));
  EQ(ObjectPtrHash()(copy), ObjectPtrHash()(w));
  Array<Int> out = std::move(copy).get<Array<Int>>();
  EQ(out.use_count(), 2);
}

TEST(variant_in_any) {
  using V = Variant<Int, Expr, Array<Variant<int, String>>>;
  Any any = V(Int(1));
  EQ(any.cast<V>().as<IntObj>()->value, 1);
  OK(any.as<V>().has_value());
  any = 3;
  OK(!any.as<V>().has_value());
  EQ(any.cast<V>().get<Expr>()->value, 3.0);
  any = Array<Any>{1, "x"};
  Any inner = any.cast<V>();
  EQ(inner.cast<Array<Any>>()[1].cast<String>(), "x");
  any = Array<Any>{1.5};
  THROWS(
      "TypeError: Cannot convert from type `ffi.Array` to "
      "`Variant<test.Int, test.Expr, Array<Variant<int, str>>>`",
      any.cast<V>());
  EQ(TypeTraits<V>::TypeStr(),
     "Variant<test.Int, test.Expr, Array<Variant<int, str>>>");
  NOTE(TypeTraits<V>::TypeSchema());
}

TEST(tuple_basics) {
  Tuple<int, float, String> empty, t(1, 2.5f, "three");
  EQ(empty.get<0>(), 0);
  EQ(empty.get<2>(), "");
  EQ(t.get<0>(), 1);
  EQ(get<1>(t), 2.5f);
  auto [a, b, c] = t;
  EQ(c, "three");
  EQ(a + b, 3.5f);
  Tuple<int, float, String> copy = t;
  copy.Set<2>("changed, and longer now");
  EQ(t.get<2>(), "three");
  EQ(copy.get<2>(), "changed, and longer now");
  const ObjectRef *before = &copy;
  copy.Set<0>(8);
  OK(before == &copy && copy.get<0>() == 8);
  Tuple deduced(1, String("x"), Int(3));
  static_assert(std::is_same_v<decltype(deduced), Tuple<int, String, Int>>);
  EQ(deduced.get<2>()->value, 3);
  Tuple<Any, Any, Any> wide = deduced;
  EQ(wide.get<1>().cast<String>(), "x");
  EQ(std::move(deduced).get<1>(), "x");
}

TEST(tuple_in_any) {
  using T = Tuple<int, Optional<String>, Array<float>>;
  Any any = T(1, String("s"), Array<float>{1.5f});
  EQ(any.type_index(), kTVMFFIArray);
  EQ(any.cast<T>().get<0>(), 1);
  any = Array<Any>{1, nullptr, Array<Any>{1, 2.5}};
  OK(!any.as<T>().has_value());
  EQ(any.cast<T>().get<2>()[0], 1.0f);
  OK(!any.cast<T>().get<1>().has_value());
  EQ(any.cast<Array<Any>>()[2].cast<Array<Any>>()[0].type_index(), kTVMFFIInt);
  THROWS(
      "TypeError: Cannot convert from type `Array[size=1]` to "
      "`Tuple<int, Optional<str>, Array<float>>`",
      Any(Array<int>{1}).cast<T>());
  THROWS(
      "TypeError: Cannot convert from type `Array[index 1: int]` to "
      "`Tuple<int, Optional<str>, Array<float>>`",
      Any(Array<Any>{1, 2, 3}).cast<T>());
  THROWS(
      "TypeError: Cannot convert from type `Array[index 2: Array[index 0:"
      " ffi.SmallStr]]` to `Tuple<int, Optional<str>, Array<float>>`",
      Any(Array<Any>{1, nullptr, Array<Any>{"x"}}).cast<T>());
  THROWS(
      "TypeError: Cannot convert from type `int` to "
      "`Tuple<int, Optional<str>, Array<float>>`",
      Any(1).cast<T>());
  THROWS(
      "TypeError: Cannot convert from type `ffi.List` to "
      "`Tuple<int, Optional<str>, Array<float>>`",
      Any(List<int>{1}).cast<T>());
  NOTE(TypeTraits<T>::TypeSchema());
}

// ---- Expected ---------------------------------------------------------------

namespace {
Expected<int> halve(int x) {
  TVM_FFI_RET_CHECK(x % 2 == 0, ValueError) << "odd: " << x;
  return x / 2;
}
Expected<void> only_small(int x) {
  if (x > 3) return Unexpected(Error("RangeError", "too big", ""));
  return {};
}
}  // namespace

TEST(expected_values) {
  Expected<int> good = halve(4), bad = halve(3);
  OK(good.is_ok() && good.has_value() && !good.is_err());
  EQ(good.value(), 2);
  EQ(good.value_or(7), 2);
  OK(bad.is_err());
  EQ(bad.value_or(7), 7);
  EQ(bad.error().kind(), "ValueError");
  EQ(bad.error().message(), "Check failed: (x % 2 == 0) is false: odd: 3");
  THROWS("ValueError: Check failed: (x % 2 == 0) is false: odd: 3",
         bad.value());
  THROWS("RuntimeError: Bad expected access: contains value, not error",
         good.error());
  OK(only_small(1).is_ok());
  THROWS("RangeError: too big", only_small(4).value());
  Expected<String> text = String(kLong);
  Expected<String> copy = text;
  EQ(copy.value(), kLong);
  EQ(std::move(copy).value(), kLong);
  EQ(good.as_or_error<int>().value(), 2);
  EQ(good.as_or_error<String>().error().message(),
     "Cannot treat type `int` as type `str`");
  EQ(bad.as_or_error<String>().error().kind(), "ValueError");
  Expected<double> wide = good;
  EQ(wide.value(), 2.0);
  EQ(good.type_index(), kTVMFFIInt);
  EQ(bad.type_index(), kTVMFFIError);
}

TEST(expected_in_any) {
  Any any = halve(8);
  EQ(any.cast<int>(), 4);
  any = halve(9);
  EQ(any.type_index(), kTVMFFIError);
  EQ(any.cast<Error>().kind(), "ValueError");
  OK(any.cast<Expected<int>>().is_err());
  EQ(Any(3).cast<Expected<double>>().value(), 3.0);
  THROWS(
      "TypeError: Cannot convert from type `ffi.SmallStr` to "
      "`Expected<int>`",
      Any("x").cast<Expected<int>>());
  EQ(TypeTraits<Expected<Array<int>>>::TypeStr(), "Expected<Array<int>>");
  NOTE(TypeTraits<Expected<Array<int>>>::TypeSchema());
  NOTE(TypeTraits<Expected<void>>::TypeSchema());
}

// ---- R-value references -----------------------------------------------------

TEST(rvalue_ref) {
  {
    Int one(1);
    Function use_count = Function::FromTyped(
        [](RValueRef<Int> x) { return (*std::move(x)).use_count(); });
    EQ(use_count(RValueRef(Int(one))).cast<int>(), 2);
    EQ(use_count(one).cast<int>(), 2);
    EQ(use_count(RValueRef(std::move(one))).cast<int>(), 1);
    OK(!one.defined());
    Array<int> array = {1, 2};
    Function grow = Function::FromTyped([](RValueRef<Array<int>> x) {
      Array<int> inner = *std::move(x);
      bool unique = inner.unique();
      inner.push_back(3);
      return Tuple<bool, Array<int>>(unique, inner);
    });
    auto t = grow(array).cast<Tuple<bool, Array<int>>>();
    OK(!t.get<0>());
    EQ(array.size(), 2u);
    t = grow(RValueRef(std::move(array))).cast<Tuple<bool, Array<int>>>();
    OK(t.get<0>());
    EQ(t.get<1>().size(), 3u);
    THROWS(
        "TypeError: Mismatched type on argument #0 when calling: `(0: "
        "RValueRef<test.Int>) -> int`. Expected `RValueRef<test.Int>` but "
        "got `RValueRef<test.Float>`",
        use_count(RValueRef(Float(1))));
    THROWS(
        "TypeError: Mismatched type on argument #0 when calling: `(0: "
        "RValueRef<test.Int>) -> int`. Expected `RValueRef<test.Int>` but "
        "got `int`",
        use_count(1));
    Function convert = Function::FromTyped(
        [](RValueRef<Expr> x) { return (*std::move(x))->value; });
    EQ(convert(RValueRef(Expr(5))).cast<double>(), 5.0);
    EQ(convert(6).cast<double>(), 6.0);
    Function keep = Function::FromTyped([](Any x) { return x; });
    Any kept = keep(RValueRef(Int(7)));
    EQ(kept.cast<Int>()->value, 7);
    EQ(kept.cast<Int>().use_count(), 2);
    NOTE(TypeTraits<RValueRef<Int>>::TypeSchema());
  }
  EQ(NumberObj::alive, 0);
}

// ---- Big integers -----------------------------------------------------------

TEST(big_int) {
  BigInt zero, one(1), big = BigInt(1) << 100;
  std::ostringstream out;
  out << big << " " << -big << " " << zero;
  EQ(out.str(),
     "1267650600228229401496703205376 -1267650600228229401496703205376 0");
  EQ(Any(one).type_index(), kTVMFFIInt);
  EQ(Any(big).type_index(), kTVMFFIBigInt);
  EQ(Any(big).GetTypeKey(), "ffi.BigInt");
  OK(Any(big).cast<BigInt>() == big);
  OK(Any(5).cast<BigInt>() == BigInt(5));
  THROWS("OverflowError: BigInt does not fit int64_t",
         static_cast<int64_t>(big));
  OK((big >> 100) == one);
  OK(big * big / big == big);
  OK((big + 1) % big == one);
  OK(-big % 7 < 1 && (big ^ big) == zero && (big & ~big) == zero);
  OK(big > one && -big < one);
  EQ(static_cast<double>(big), 1267650600228229401496703205376.0);
  OK(BigInt(uint64_t{1} << 63) == (BigInt(1) << 63));
  EQ(Any(BigInt(uint64_t{1} << 63)).type_index(), kTVMFFIBigInt);
  EQ(Any(BigInt(std::numeric_limits<int64_t>::min())).type_index(), kTVMFFIInt);
  std::istringstream in("-340282366920938463463374607431768211456");
  BigInt read;
  in >> read;
  OK(read == -(BigInt(1) << 128));
  NOTE(std::hash<BigInt>()(big));
  NOTE_THROWN(Any("x").cast<BigInt>());
  NOTE_THROWN(Any(big).cast<int64_t>());
  NOTE_THROWN(Any(big).cast<double>());
  NOTE_THROWN(BigInt(1) / BigInt(0));
  TVMFFIAny raw;
  const char words[17] = "\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0";
  TVMFFIByteArray bytes{words, 16};
  EQ(TVMFFIBigIntFromByteArray(&bytes, &raw), 0);
  Any made = detail::AnyUnsafe::MoveTVMFFIAnyToAny(&raw);
  OK(made.cast<BigInt>() == (BigInt(1) << 64));
  Any value = big;
  TVMFFIByteArray content = TVMFFIBigIntGetContentByteArray(
      detail::AnyUnsafe::TVMFFIAnyPtrFromAny(value));
  EQ(content.size, 16u);
  Array<BigInt> many = {BigInt(1), big};
  OK(many[1] == big);
}

// ---- The standard library's types -------------------------------------------

TEST(stl_sequences) {
  Any any = std::vector<int>{1, 2, 3};
  EQ(any.type_index(), kTVMFFIArray);
  EQ(any.cast<std::vector<int>>().size(), 3u);
  EQ(any.cast<std::vector<double>>()[2], 3.0);
  EQ((any.cast<std::array<int, 3>>()[1]), 2);
  OK(!(any.try_cast<std::array<int, 2>>().has_value()));
  EQ(std::get<2>(any.cast<std::tuple<int, int, double>>()), 3.0);
  any = List<int>{4, 5};
  EQ(any.cast<std::vector<int>>()[1], 5);
  any = std::tuple<int, std::string, std::vector<int>>(1, "x", {3});
  EQ((std::get<1>(any.cast<std::tuple<int, std::string, Any>>())), "x");
  any = Array<Any>{1, "x"};
  OK(!any.try_cast<std::vector<int>>().has_value());
  NOTE_THROWN(any.cast<std::vector<int>>());
  NOTE_THROWN(Any(1).cast<std::vector<int>>());
  any = std::array<String, 2>{String("a"), String(kLong)};
  EQ(any.cast<Array<String>>()[1], kLong);
  any = std::vector<std::vector<int>>{{1}, {}, {2, 3}};
  EQ(any.cast<Array<Array<int>>>()[2][1], 3);
}

TEST(stl_maps) {
  Any any = std::map<String, int>{{"a", 1}, {"b", 2}};
  EQ(any.type_index(), kTVMFFIMap);
  EQ((any.cast<std::map<String, int>>().at("b")), 2);
  EQ((any.cast<Map<String, int>>().at("a")), 1);
  EQ((any.cast<std::unordered_map<String, double>>().at("a")), 1.0);
  any = std::unordered_map<std::string, std::vector<int>>{{kLong, {1, 2}}};
  EQ((any.cast<Map<String, Array<int>>>()[kLong][1]), 2);
  OK(!(any.try_cast<std::map<int, int>>().has_value()));
  NOTE_THROWN(any.cast<std::map<int, int>>());
  NOTE_THROWN(Any(1).cast<std::map<int, int>>());
}

TEST(stl_others) {
  Any any = std::optional<int>(3);
  EQ(any.cast<std::optional<int>>().value(), 3);
  any = std::optional<int>();
  OK(any == nullptr);
  any = std::variant<int, std::string>("text");
  EQ((std::get<1>(any.cast<std::variant<int, std::string>>())), "text");
  any = 5;
  EQ((std::get<0>(any.cast<std::variant<int, String>>())), 5);
  any = 1.5;
  NOTE_THROWN(any.cast<std::variant<int, String>>());
  Any f = std::function<int(int)>([](int x) { return x + 1; });
  EQ(f.type_index(), kTVMFFIFunction);
  EQ(f.cast<std::function<int(int)>>()(2), 3);
  Function sum = Function::FromTyped([](const std::vector<int> &xs) {
    int total = 0;
    for (int x : xs) total += x;
    return std::make_tuple(total, static_cast<int>(xs.size()));
  });
  EQ((std::get<0>(sum(Array<int>{1, 2, 3}).cast<std::tuple<int, int>>())), 6);
  THROWS(
      "TypeError: Mismatched type on argument #0 when calling: `(0: "
      "std::vector<int>) -> std::tuple<int, int>`. Expected "
      "`std::vector<int>` but got `int`",
      sum(1));
  NOTE((TypeTraits<std::map<std::string, std::vector<int>>>::TypeStr()));
  NOTE((TypeTraits<std::map<std::string, std::vector<int>>>::TypeSchema()));
  NOTE((TypeTraits<std::variant<int, std::string>>::TypeSchema()));
  NOTE((TypeTraits<std::array<int, 2>>::TypeSchema()));
}

// ---- Errors -----------------------------------------------------------------

namespace {
[[gnu::noinline]] void throw_runtime_error() {
  TVM_FFI_THROW(RuntimeError) << "test" << 0;
}
bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}
}  // namespace

TEST(error_throw) {
  try {
    throw_runtime_error();
    OK(false);
  } catch (const Error &e) {
    EQ(e.kind(), "RuntimeError");
    EQ(e.message(), "test0");
    EQ(std::string(e.what()), "test0");
    OK(contains(e.backtrace(), "throw_runtime_error"));
    OK(contains(e.backtrace(), "values.cpp"));
    OK(contains(e.TracebackMostRecentCallLast(), "throw_runtime_error"));
    std::string full = e.FullMessage();
    OK(contains(full, "Traceback (most recent call last):\n"));
    OK(full.rfind("RuntimeError: test0\n") == full.size() - 20);
    std::string first = e.backtrace().substr(0, e.backtrace().find('\n'));
    OK(contains(first, "File \"") && contains(first, ", line ") &&
       contains(first, ", in "));
  }
  bool as_std = false;
  try {
    throw_runtime_error();
  } catch (const std::exception &e) {
    as_std = std::string(e.what()) == "test0";
  }
  OK(as_std);
}

TEST(error_checks) {
  THROWS("InternalError: Check failed: (1 > 2) is false: why",
         [] { TVM_FFI_ICHECK(1 > 2) << "why"; }());
  THROWS("InternalError: Check failed: a == b (1 vs. 2) : text",
         [](int a, int b) { TVM_FFI_ICHECK_EQ(a, b) << "text"; }(1, 2));
  THROWS("ValueError: Check failed: a < b (3 vs. 2) : ",
         [](int a, int b) { TVM_FFI_CHECK_LT(a, b, ValueError); }(3, 2));
  THROWS("TypeError: Check failed: (false) is false: ",
         [] { TVM_FFI_CHECK(false, TypeError); }());
  THROWS("InternalError: Check not null: p ", [] {
    void *p = nullptr;
    TVM_FFI_ICHECK_NOTNULL(p);
  }());
}

TEST(error_object) {
  Error e("MyKind", "my message", "  line 1\n  line 2\n");
  EQ(e.TracebackMostRecentCallLast(), "  line 2\n  line 1\n");
  EQ(e.FullMessage(),
     "Traceback (most recent call last):\n  line 2\n  line 1\n"
     "MyKind: my message\n");
  TVMFFIByteArray more{"  line 3\n", 9};
  e.UpdateBacktrace(&more, kTVMFFIBacktraceUpdateModeAppend);
  EQ(e.backtrace(), "  line 1\n  line 2\n  line 3\n");
  e.UpdateBacktrace(&more, kTVMFFIBacktraceUpdateModeReplace);
  EQ(e.backtrace(), "  line 3\n");
  OK(!e.cause_chain().has_value() && !e.extra_context().has_value());
  Any any = e;
  EQ(any.type_index(), kTVMFFIError);
  EQ(any.GetTypeKey(), "ffi.Error");
  EQ(any.cast<Error>().message(), "my message");
  THROWS("TypeError: Cannot convert from type `int` to `ffi.Error`",
         Any(1).cast<Error>());
  Optional<Error> maybe;
  OK(!maybe.has_value());
  maybe = e;
  EQ(maybe.value().kind(), "MyKind");
  EQ(EnvErrorAlreadySet().kind(), "EnvErrorAlreadySet");
}

TEST(error_cause) {
  {
    Error cause("A", "first", "");
    Error e("B", "second", "", cause, ObjectRef(Int(3)));
    EQ(e.cause_chain().value().message(), "first");
    EQ(e.extra_context().value().as<IntObj>()->value, 3);
    EQ(cause.use_count(), 2);
  }
  EQ(NumberObj::alive, 0);
  TVMFFIByteArray kind{"K", 1}, message{"m", 1}, trace{"t\n", 2};
  TVMFFIObjectHandle handle = nullptr;
  Error cause("A", "first", "");
  int code = TVMFFIErrorCreateWithCauseAndExtraContext(
      &kind, &message, &trace,
      detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(cause), nullptr,
      &handle);
  EQ(code, 0);
  Error made = detail::ObjectUnsafe::ObjectRefFromObjectPtr<Error>(
      detail::ObjectUnsafe::ObjectPtrFromOwned<Object>(
          static_cast<TVMFFIObject *>(handle)));
  EQ(made.FullMessage(), "Traceback (most recent call last):\nt\nK: m\n");
  OK(made.cause_chain().value().same_as(cause));
  EQ(cause.use_count(), 2);
  TVMFFIByteArray more{"u\n", 2};
  made.UpdateBacktrace(&more, kTVMFFIBacktraceUpdateModeAppend);
  EQ(made.backtrace(), "t\nu\n");
}

TEST(error_slot) {
  Error e("K", "in the slot", "");
  detail::SetSafeCallRaised(e);
  EQ(e.use_count(), 2);
  Error back = detail::MoveFromSafeCallRaised();
  OK(back.same_as(e));
  TVMFFIObjectHandle none = &none;
  TVMFFIErrorMoveFromRaised(&none);
  OK(none == nullptr);
  TVMFFIErrorSetRaisedFromCStr("ValueError", "a C text");
  Error from_c = detail::MoveFromSafeCallRaised();
  EQ(from_c.kind() + from_c.message(), "ValueErrora C text");
  const char *parts[] = {"one, ", "two, ", "three"};
  TVMFFIErrorSetRaisedFromCStrParts("TypeError", parts, 3);
  EQ(detail::MoveFromSafeCallRaised().message(), "one, two, three");
}

// ---- Traits -----------------------------------------------------------------

TEST(traits_texts) {
  NOTE(TypeTraits<int>::TypeStr());
  NOTE(TypeTraits<uint8_t>::TypeSchema());
  NOTE(TypeTraits<bool>::TypeSchema());
  NOTE(TypeTraits<double>::TypeSchema());
  NOTE(TypeTraits<void *>::TypeSchema());
  NOTE(TypeTraits<String>::TypeSchema());
  NOTE(TypeTraits<Bytes>::TypeSchema());
  NOTE(TypeTraits<const char *>::TypeSchema());
  NOTE(TypeTraits<TVMFFIByteArray *>::TypeSchema());
  NOTE(TypeTraits<std::string>::TypeSchema());
  NOTE(TypeTraits<DLDataType>::TypeSchema());
  NOTE(TypeTraits<DLDevice>::TypeSchema());
  NOTE(TypeTraits<std::nullptr_t>::TypeSchema());
  NOTE(TypeTraits<Int>::TypeSchema());
  NOTE(TypeTraits<ObjectPtr<IntObj>>::TypeSchema());
  NOTE(TypeTraits<Optional<Array<Int>>>::TypeSchema());
  NOTE(TypeTraits<BigInt>::TypeSchema());
  NOTE(TypeTraits<Shape>::TypeSchema());
  NOTE(TypeTraits<Error>::TypeSchema());
  NOTE(TypeTraits<Function>::TypeSchema());
  static_assert(!TypeTraits<const char *>::storage_enabled);
  static_assert(TypeTraits<String>::storage_enabled);
  static_assert(type_subsumes_v<Array<Any>, Array<int>>);
  static_assert(!type_subsumes_v<Array<Int>, Array<Number>>);
  static_assert(type_subsumes_v<Variant<int, String>, String>);
  static_assert(object_ref_contains_v<Number, IntObj>);
  EQ(TypeToFieldStaticTypeIndex<int>::value, kTVMFFIInt);
  EQ(TypeToFieldStaticTypeIndex<Array<int>>::value, kTVMFFIArray);
  EQ(TypeToRuntimeTypeIndex<Int>::v(), IntObj::RuntimeTypeIndex());
  OK(detail::RuntimeTypeIndexMatch(IntObj::RuntimeTypeIndex(),
                                   NumberObj::RuntimeTypeIndex()));
  OK(detail::RuntimeTypeIndexMatch(kTVMFFISmallStr, kTVMFFIStr));
  OK(detail::RuntimeTypeIndexMatch(kTVMFFIArray, kTVMFFIObject));
  OK(!detail::RuntimeTypeIndexMatch(kTVMFFIInt, kTVMFFIObject));
  OK(!detail::RuntimeTypeIndexMatch(kTVMFFIObject, kTVMFFIArray));
}

TAP_MAIN()
