// Objects and reflection through the C++ headers: references, weak pointers,
// allocation, type registration, fields, methods, attributes, creation,
// native functions, enumerations, access paths, opaque objects.
#include <tvm/ffi/any.h>
#include <tvm/ffi/cast.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/device.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/enum.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/reflection/access_path.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/reflection/creator.h>
#include <tvm/ffi/reflection/enum_def.h>
#include <tvm/ffi/reflection/native_function.h>
#include <tvm/ffi/reflection/registry.h>

#include <cstdlib>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "objects.hpp"
#include "tap.hpp"

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;
using testing::Expr;
using testing::ExprObj;
using testing::Float;
using testing::FloatObj;
using testing::Int;
using testing::IntObj;
using testing::Number;
using testing::NumberObj;

namespace {
std::string text(TVMFFIByteArray a) { return std::string(a.data, a.size); }
}  // namespace

// ---- References -------------------------------------------------------------

TEST(object_ptr) {
  {
    ObjectPtr<IntObj> a = make_object<IntObj>(11);
    OK(a.unique() && a.use_count() == 1 && a != nullptr && a);
    ObjectPtr<NumberObj> base = a;
    EQ(a.use_count(), 2);
    OK(base == ObjectPtr<NumberObj>(a));
    OK(base->IsInstance<IntObj>() && !base->IsInstance<FloatObj>());
    OK(base->IsInstance<Object>() && base->IsInstance<NumberObj>());
    EQ(base->GetTypeKey(), "test.Int");
    EQ(Object::TypeIndex2Key(base->type_index()), "test.Int");
    EQ(base->GetTypeKeyHash(),
       TVMFFIGetTypeInfo(IntObj::RuntimeTypeIndex())->type_key_hash);
    ObjectPtr<IntObj> moved = std::move(a);
    OK(a == nullptr && moved->value == 11);
    EQ(a.use_count(), 0);
    moved.swap(a);
    a.reset();
    EQ(base.use_count(), 1);
    EQ(NumberObj::alive, 1);
    ObjectPtr<Object> root = base;
    OK(ObjectPtrEqual()(root, ObjectPtr<Object>(base)));
    EQ(ObjectPtrHash()(root), ObjectPtrHash()(base));
    ObjectPtr<IntObj> again =
        GetObjectPtr<IntObj>(static_cast<IntObj *>(base.get()));
    EQ(again.use_count(), 3);
  }
  EQ(NumberObj::alive, 0);
}

TEST(object_ref) {
  Int a(11);
  Number b = a;
  ObjectRef c = b;
  EQ(a.use_count(), 3);
  OK(c.as<IntObj>() == a.get());
  OK(c.as<FloatObj>() == nullptr);
  OK(c.same_as(a) && c == a && !(c != a));
  c = ObjectRef();
  OK(!c.defined() && c.get() == nullptr && c.use_count() == 0);
  Int moved = std::move(a);
  OK(!a.defined());
  OK(moved.use_count() == 2);
  EQ(GetRef<Int>(moved.get()).use_count(), 3);
  std::unordered_set<ObjectRef, ObjectPtrHash, ObjectPtrEqual> set;
  set.insert(moved);
  set.insert(b);
  set.insert(Int(11));
  EQ(set.size(), 2u);
  static_assert(Int::_type_is_nullable && !Expr::_type_is_nullable);
  OK(ObjectRef() < moved);
  THROWS("InternalError: Check not null: ptr ",
         GetRef<Expr>(static_cast<ExprObj *>(nullptr)));
}

TEST(weak_ptr) {
  WeakObjectPtr<IntObj> weak;
  OK(weak.expired() && weak.lock() == nullptr);
  {
    ObjectPtr<IntObj> a = make_object<IntObj>(5);
    weak = a;
    EQ(a.use_count(), 1);
    OK(!a.unique());
    OK(!weak.expired());
    EQ(weak.use_count(), 1);
    ObjectPtr<IntObj> locked = weak.lock();
    EQ(locked.use_count(), 2);
    WeakObjectPtr<NumberObj> base = weak;
    OK(base.lock() == ObjectPtr<NumberObj>(a));
    WeakObjectPtr<IntObj> moved = std::move(weak);
    OK(weak.lock() == nullptr);
    weak.swap(moved);
    EQ(NumberObj::alive, 1);
  }
  OK(weak.expired());
  EQ(NumberObj::alive, 0);
  OK(weak.lock() == nullptr);
  EQ(weak.use_count(), 0);
  weak.reset();
  ObjectPtr<IntObj> b = make_object<IntObj>(6);
  weak = WeakObjectPtr<IntObj>(b);
  weak = nullptr;
  OK(b.unique());
}

TEST(weak_ptr_to_the_library_s_objects) {
  TVMFFIAny raw;
  TVMFFIByteArray source{"a text that is too long to be a value", 38};
  EQ(TVMFFIStringFromByteArray(&source, &raw), 0);
  Any string = detail::AnyUnsafe::MoveTVMFFIAnyToAny(&raw);
  WeakObjectPtr<Object> weak(detail::ObjectUnsafe::ObjectPtrFromUnowned<Object>(
      AnyView(string).CopyToTVMFFIAny().v_obj));
  OK(weak.lock() != nullptr);
  string.reset();
  OK(weak.lock() == nullptr);
}

TEST(weak_ptr_threads) {
  for (int round = 0; round < 50; ++round) {
    ObjectPtr<IntObj> a = make_object<IntObj>(1);
    WeakObjectPtr<IntObj> weak = a;
    int64_t sum = 0;
    std::thread t([&] {
      for (int i = 0; i < 20; ++i)
        if (ObjectPtr<IntObj> p = weak.lock()) sum += p->value;
    });
    a.reset();
    t.join();
  }
  EQ(NumberObj::alive, 0);
}

// ---- Allocation
// -----------------------------------------------------------------

namespace {

struct alignas(64) WideObj : public Object {
  int64_t data[8] = {0};
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.Wide", WideObj, Object);
};

struct TailObj : public Object {
  uint64_t size;
  explicit TailObj(uint64_t size) : size(size) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.Tail", TailObj, Object);
};

struct ThrowingObj : public Object {
  ThrowingObj() { throw std::runtime_error("no"); }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.Throwing", ThrowingObj, Object);
};

int allocated, deleted;

void delete_space(void *ptr) {
  ++deleted;
  std::free(static_cast<char *>(ptr) - 64);
}

void *allocate(size_t size, size_t alignment, int32_t, void *context) {
  if (alignment > 64) return nullptr;
  allocated += *static_cast<int *>(context);
  char *base = static_cast<char *>(std::malloc(size + 64));
  char *object = base + 64;
  reinterpret_cast<TVMFFIObjectAllocHeader *>(object - sizeof(void *))
      ->delete_space = delete_space;
  return object;
}

}  // namespace

TEST(memory) {
  ObjectPtr<WideObj> wide = make_object<WideObj>();
  EQ(reinterpret_cast<uintptr_t>(wide.get()) % 64, 0u);
  ObjectPtr<TailObj> tail =
      make_inplace_array_object<TailObj, uint64_t>(100, 100);
  uint64_t *items = reinterpret_cast<uint64_t *>(tail.get() + 1);
  for (int i = 0; i < 100; ++i) items[i] = i;
  EQ(items[99] + tail->size, 199u);
  THROWS("std::exception: no", make_object<ThrowingObj>());
}

TEST(custom_allocator) {
  int step = 1;
  TVMFFICustomAllocator mine = {allocate, &step};
  TVMFFICustomAllocator *before = TVMFFIGetCustomAllocator();
  NOTE(before == nullptr);
  TVMFFICustomAllocator saved = *before;
  EQ(TVMFFISetCustomAllocator(&mine), 0);
  OK(TVMFFIGetCustomAllocator()->allocate == allocate);
  OK(TVMFFIGetCustomAllocator()->context == &step);
  Int by_cxx(1);
  NOTE(allocated);
  EQ(TVMFFISetCustomAllocator(&saved), 0);
  EQ(TVMFFIGetCustomAllocator()->allocate == saved.allocate, true);
}

// ---- Types
// ----------------------------------------------------------------------

TEST(types) {
  const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(IntObj::RuntimeTypeIndex());
  EQ(text(info->type_key), "test.Int");
  EQ(info->type_depth, 2);
  EQ(IntObj::_type_depth, 2);
  EQ(info->type_ancestors[0]->type_index, kTVMFFIObject);
  EQ(info->type_ancestors[1]->type_index, NumberObj::RuntimeTypeIndex());
  EQ(TypeKeyToIndex("test.Int"), IntObj::RuntimeTypeIndex());
  NOTE_THROWN(TypeKeyToIndex("test.None"));
  int32_t number = NumberObj::RuntimeTypeIndex();
  OK(IntObj::RuntimeTypeIndex() > number &&
     IntObj::RuntimeTypeIndex() <= number + 2);
  OK(FloatObj::RuntimeTypeIndex() > number &&
     FloatObj::RuntimeTypeIndex() <= number + 2);
  EQ(TypeIndexToTypeKey(kTVMFFIArray), "ffi.Array");
  EQ(TypeIndexToTypeKey(kTVMFFISmallStr), "ffi.SmallStr");
  EQ(ArrayObj::RuntimeTypeIndex(), kTVMFFIArray);
  EQ(ArrayObj::_GetOrAllocRuntimeTypeIndex(), kTVMFFIArray);
  EQ(DictObj::_GetOrAllocRuntimeTypeIndex(), kTVMFFIDict);
  EQ(FunctionObj::_GetOrAllocRuntimeTypeIndex(), kTVMFFIFunction);
  EQ(ErrorObj::_GetOrAllocRuntimeTypeIndex(), kTVMFFIError);
  const char *statics[] = {"None",
                           "int",
                           "bool",
                           "float",
                           "void*",
                           "DataType",
                           "Device",
                           "DLTensor*",
                           "const char*",
                           "TVMFFIByteArray*",
                           "ObjectRValueRef",
                           "ffi.SmallStr",
                           "ffi.SmallBytes",
                           "ffi.Object",
                           "ffi.String",
                           "ffi.Bytes",
                           "ffi.Error",
                           "ffi.Function",
                           "ffi.Shape",
                           "ffi.Tensor",
                           "ffi.Array",
                           "ffi.Map",
                           "ffi.Module",
                           "ffi.OpaquePyObject",
                           "ffi.List",
                           "ffi.Dict",
                           "ffi.BigInt",
                           "ffi.Unchanged",
                           "ffi.VisitInterrupt"};
  for (const char *key : statics)
    tap::note(std::string(key) + " is " + std::to_string(TypeKeyToIndex(key)));
}

namespace {

struct DeepObj : public NumberObj {
  static constexpr uint32_t _type_child_slots = 0;
  TVM_FFI_DECLARE_OBJECT_INFO("test.Deep", DeepObj, NumberObj);
};
struct DeeperObj : public DeepObj {
  TVM_FFI_DECLARE_OBJECT_INFO("test.Deeper", DeeperObj, DeepObj);
};
struct DeepestObj : public DeeperObj {
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.Deepest", DeepestObj, DeeperObj);
};
struct LookupObj : public Object {
  TVM_FFI_DECLARE_OBJECT_INFO_LOOKUP("test.Deep", 2)
};

}  // namespace

TEST(types_beyond_the_slots) {
  ObjectPtr<Object> deepest = make_object<DeepestObj>();
  OK(deepest->IsInstance<NumberObj>());
  OK(deepest->IsInstance<DeepObj>());
  OK(deepest->IsInstance<DeeperObj>());
  OK(!deepest->IsInstance<IntObj>());
  OK(!make_object<DeepObj>()->IsInstance<DeeperObj>());
  EQ(TVMFFIGetTypeInfo(deepest->type_index())->type_depth, 4);
  OK(Any(deepest).as<Number>().has_value());
  EQ(LookupObj::RuntimeTypeIndex(), DeepObj::RuntimeTypeIndex());
}

// ---- Reflection
// ---------------------------------------------------------------

namespace {

struct PointObj : public Object {
  int64_t x = 0;
  double y = 0;
  String name;
  Any any;
  Array<int> list;
  Optional<Int> number;
  bool flag = false;
  DLDataType dtype{kDLInt, 8, 1};
  DLDevice device{kDLCPU, 0};
  void *pointer = nullptr;
  int8_t small = 0;
  Function callback;

  PointObj() : callback(nullptr) {}
  explicit PointObj(UnsafeInit) : callback(nullptr) {}
  int64_t sum(int64_t z) const { return x + static_cast<int64_t>(y) + z; }
  void move(int64_t dx) { x += dx; }

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("test.Point", PointObj, Object);
};

struct Point : public ObjectRef {
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Point, ObjectRef, PointObj);
};

struct Point3Obj : public PointObj {
  int64_t z = 3;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.Point3", Point3Obj, PointObj);
};

struct Point3 : public Point {
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Point3, Point, Point3Obj);
};

struct NoCreatorObj : public Object {
  int64_t v;
  explicit NoCreatorObj(int64_t v) : v(v) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.NoCreator", NoCreatorObj, Object);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<PointObj>("A point.")
      .def_rw("x", &PointObj::x, "The first.", refl::default_value(10))
      .def_ro("y", &PointObj::y, refl::DefaultValue(2.5))
      .def_rw("name", &PointObj::name, refl::default_value("unnamed"))
      .def_rw("any", &PointObj::any, refl::default_value(nullptr),
              refl::Metadata{{"unit", "m"}, {"n", 3}})
      .def_rw("list", &PointObj::list,
              refl::default_factory(
                  Function::FromTyped([]() { return Array<int>{1, 2}; })))
      .def_rw("number", &PointObj::number, refl::default_value(nullptr),
              refl::AttachFieldFlag::SEqHashIgnore())
      .def_rw("flag", &PointObj::flag, refl::default_value(true),
              refl::repr(false), refl::compare(false), refl::hash(false))
      .def_rw("dtype", &PointObj::dtype, refl::default_value("int32"))
      .def_rw("device", &PointObj::device, refl::default_value("cuda:1"),
              refl::kw_only(true))
      .def_rw("pointer", &PointObj::pointer, refl::default_value(nullptr),
              refl::init(false))
      .def_rw("small", &PointObj::small, refl::default_value(1))
      .def_rw("callback", &PointObj::callback, refl::default_value(nullptr))
      .def("sum", &PointObj::sum, "Adds them.")
      .def("move", &PointObj::move)
      .def_static("origin", []() { return Point(make_object<PointObj>()); })
      .def_type_attr("test.rank", 2)
      .def_type_attr("test.describe",
                     [](const PointObj *p) { return p->name; });
  refl::ObjectDef<Point3Obj>()
      .def_ro("z", &Point3Obj::z)
      .def_type_attr("test.rank", 3);
  refl::ObjectDef<NumberObj>();
  refl::ObjectDef<IntObj>()
      .def(refl::init<int64_t>())
      .def_ro("value", &IntObj::value)
      .def("get", &IntObj::get);
  refl::ObjectDef<FloatObj>(refl::init(false))
      .def_rw("value", &FloatObj::value, refl::default_value(1.5))
      .def("add", &FloatObj::add)
      .def("set", &FloatObj::set);
  refl::ObjectDef<NoCreatorObj>().def_ro("v", &NoCreatorObj::v);
  refl::ObjectDef<ExprObj>()
      .def_ro("dtype", &ExprObj::dtype)
      .def_ro("value", &ExprObj::value)
      .def_convert<Expr>();
}

}  // namespace

TEST(reflection_table) {
  for (const char *key : {"test.Point", "test.Point3", "test.Int", "test.Float",
                          "test.NoCreator"}) {
    const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(TypeKeyToIndex(key));
    tap::note(std::string(key) + ": size " +
              std::to_string(info->metadata->total_size) + ", doc '" +
              text(info->metadata->doc) + "', creator " +
              std::to_string(info->metadata->creator != nullptr) +
              ", equality " +
              std::to_string(info->metadata->structural_eq_hash_kind));
    for (int i = 0; i < info->num_fields; ++i) {
      const TVMFFIFieldInfo &f = info->fields[i];
      Any standard(AnyView::CopyFromTVMFFIAny(f.default_value_or_factory));
      tap::note("  " + text(f.name) + " '" + text(f.doc) + "' " +
                text(f.metadata) + " flags " + std::to_string(f.flags) + " " +
                std::to_string(f.size) + "/" + std::to_string(f.alignment) +
                "@" + std::to_string(f.offset) + " type " +
                std::to_string(f.field_static_type_index) + " default " +
                standard.GetTypeKey());
    }
    for (int i = 0; i < info->num_methods; ++i)
      tap::note("  " + text(info->methods[i].name) + "() '" +
                text(info->methods[i].doc) + "' " +
                text(info->methods[i].metadata) + " flags " +
                std::to_string(info->methods[i].flags));
  }
}

TEST(reflection_fields) {
  Point p(make_object<PointObj>());
  refl::FieldGetter get_x("test.Point", "x");
  refl::FieldSetter set_x("test.Point", "x");
  EQ(get_x(p).cast<int>(), 0);
  set_x(p, 5);
  EQ(p->x, 5);
  set_x(p, true);
  EQ(p->x, 1);
  THROWS("TypeError: Cannot convert from type `const char*` to `int`",
         set_x(p, "x"));
  refl::FieldSetter("test.Point", "name")(p, "a long name for a point");
  EQ(refl::FieldGetter("test.Point", "name")(p).cast<String>(),
     "a long name for a point");
  refl::FieldSetter("test.Point", "list")(p, List<int>{7});
  EQ(p->list[0], 7);
  THROWS(
      "TypeError: Cannot convert from type `Array[index 0: ffi.SmallStr]` "
      "to `Array<int>`",
      refl::FieldSetter("test.Point", "list")(p, Array<Any>{"x"}));
  refl::FieldSetter("test.Point", "any")(p, p);
  EQ(p.use_count(), 2);
  refl::FieldSetter("test.Point", "any")(p, nullptr);
  EQ(p.use_count(), 1);
  refl::FieldSetter("test.Point", "number")(p, Int(3));
  EQ(p->number.value()->value, 3);
  refl::FieldSetter("test.Point", "dtype")(p, "float16");
  EQ(p->dtype.bits, 16);
  Point3 q(make_object<Point3Obj>());
  set_x(q, 9);
  EQ(q->x, 9);
  EQ(refl::FieldGetter("test.Point3", "z")(q).cast<int>(), 3);
  THROWS("RuntimeError: Cannot find field  `x` in test.Point3",
         refl::FieldGetter("test.Point3", "x"));
  THROWS("RuntimeError: Cannot find field  `xx` in test.Point",
         refl::FieldGetter("test.Point", "xx"));
  NOTE_THROWN(refl::FieldGetter("test.Nothing", "x"));
  std::string names;
  refl::ForEachFieldInfo(
      TVMFFIGetTypeInfo(Point3Obj::RuntimeTypeIndex()),
      [&](const TVMFFIFieldInfo *f) { names += text(f->name) + " "; });
  EQ(names,
     "x y name any list number flag dtype device pointer small callback z ");
  OK(refl::ForEachFieldInfoWithEarlyStop(
      TVMFFIGetTypeInfo(Point3Obj::RuntimeTypeIndex()),
      [](const TVMFFIFieldInfo *f) { return text(f->name) == "y"; }));
}

TEST(reflection_methods) {
  Point p(make_object<PointObj>());
  p->x = 1;
  p->y = 2;
  Function sum = refl::GetMethod("test.Point", "sum");
  EQ(sum(p, 3).cast<int>(), 6);
  refl::GetMethod("test.Point", "move")(p, 10);
  EQ(p->x, 11);
  EQ(refl::GetMethod("test.Point", "origin")().cast<Point>()->x, 0);
  Point3 q(make_object<Point3Obj>());
  EQ(sum(q, 1).cast<int>(), 1);
  THROWS(
      "TypeError: Mismatched number of arguments when calling: "
      "`test.Point.sum(0: test.Point, 1: int) -> int`. Expected 2 but got "
      "1 arguments",
      sum(p));
  THROWS(
      "TypeError: Mismatched type on argument #0 when calling: "
      "`test.Point.sum(0: test.Point, 1: int) -> int`. Expected "
      "`test.Point` but got `test.Int`",
      sum(Int(1), 1));
  THROWS("RuntimeError: Cannot find method none in test.Point",
         refl::GetMethod("test.Point", "none"));
  EQ(refl::GetMethod("test.Float", "add")(Float(1), 2).cast<double>(), 3.0);
}

TEST(reflection_attributes) {
  refl::TypeAttrColumn rank("test.rank");
  EQ(rank[PointObj::RuntimeTypeIndex()].cast<int>(), 2);
  EQ(rank[Point3Obj::RuntimeTypeIndex()].cast<int>(), 3);
  OK(rank[IntObj::RuntimeTypeIndex()] == nullptr);
  OK(rank[0] == nullptr && rank[1 << 20] == nullptr && rank[-5] == nullptr);
  refl::TypeAttrColumn describe("test.describe");
  Point p(make_object<PointObj>());
  p->name = "pea";
  EQ(describe[PointObj::RuntimeTypeIndex()].cast<Function>()(p).cast<String>(),
     "pea");
  THROWS("RuntimeError: Cannot find type attribute test.none",
         refl::TypeAttrColumn("test.none"));
  refl::EnsureTypeAttrColumn("test.ensured");
  refl::TypeAttrColumn ensured("test.ensured");
  OK(ensured[PointObj::RuntimeTypeIndex()] == nullptr);
  refl::TypeAttrDef<PointObj>().def("test.ensured", "now").attr("test.b", 5);
  EQ(ensured[PointObj::RuntimeTypeIndex()].cast<String>(), "now");
  std::string error = tap::thrown(
      [] { refl::TypeAttrDef<PointObj>().def("test.ensured", "again"); });
  NOTE(error.substr(0, error.find("type index")));
  for (const char *name :
       {"__ffi_new__", "__ffi_init__", "__ffi_shallow_copy__",
        "__ffi_type_final__", "__ffi_convert__"}) {
    refl::TypeAttrColumn column(name);
    std::string line = name;
    for (int32_t index :
         {PointObj::RuntimeTypeIndex(), Point3Obj::RuntimeTypeIndex(),
          IntObj::RuntimeTypeIndex(), FloatObj::RuntimeTypeIndex(),
          NoCreatorObj::RuntimeTypeIndex(), ExprObj::RuntimeTypeIndex()})
      line += " " + column[index].GetTypeKey();
    tap::note(line);
  }
  EQ(type_attr::kTypeFinal
         .ValueFrom(refl::TypeAttrColumn(
             type_attr::kTypeFinal)[IntObj::RuntimeTypeIndex()])
         .value(),
     true);
}

TEST(reflection_shallow_copy_and_convert) {
  Point p(make_object<PointObj>());
  p->x = 4;
  p->number = Int(1);
  auto copy = type_attr::kShallowCopy.ValueFrom(refl::TypeAttrColumn(
      type_attr::kShallowCopy)[PointObj::RuntimeTypeIndex()]);
  ObjectRef q = (*copy)(p.get());
  OK(!q.same_as(p));
  EQ(q.as<PointObj>()->x, 4);
  OK(q.as<PointObj>()->number.same_as(p->number));
  auto convert = type_attr::kConvert.ValueFrom(
      refl::TypeAttrColumn(type_attr::kConvert)[ExprObj::RuntimeTypeIndex()]);
  EQ((*convert)(3).cast<Expr>()->dtype, "int64");
  EQ((*convert)(Expr(1)).cast<Expr>()->value, 1.0);
  THROWS("TypeError: Cannot cast from `Device` to `test.Expr`",
         (*convert)(DLDevice{kDLCPU, 0}));
}

TEST(reflection_creator) {
  refl::ObjectCreator creator("test.Point");
  Point p = creator(Map<String, Any>{{"x", 1}, {"y", 7}}).cast<Point>();
  EQ(p->x, 1);
  EQ(p->y, 7.0);
  EQ(p->name, "unnamed");
  OK(p->flag);
  EQ(p->list.size(), 2u);
  EQ(p->device.device_id, 1);
  EQ(p->dtype.bits, 32);
  Point other = creator(Map<String, Any>()).cast<Point>();
  OK(!other->list.same_as(p->list));
  THROWS("TypeError: Type `test.Point` does not have field `w`",
         creator(Map<String, Any>{{"w", 1}}));
  THROWS("TypeError: Cannot convert from type `ffi.SmallStr` to `int`",
         creator(Map<String, Any>{{"x", "one"}}));
  refl::ObjectCreator three("test.Point3");
  EQ(three(Map<String, Any>{{"z", 5}, {"x", 6}}).cast<Point3>()->z, 5);
  THROWS("TypeError: Required field `z` not set in type `test.Point3`",
         three(Map<String, Any>()));
  THROWS(
      "RuntimeError: Type `test.NoCreator` does not support default "
      "constructor, as a result cannot be created via reflection",
      refl::ObjectCreator("test.NoCreator"));
  OK(HasCreator(TVMFFIGetTypeInfo(PointObj::RuntimeTypeIndex())));
  OK(!HasCreator(TVMFFIGetTypeInfo(NoCreatorObj::RuntimeTypeIndex())));
  ObjectPtr<Object> empty =
      CreateEmptyObject(TVMFFIGetTypeInfo(FloatObj::RuntimeTypeIndex()));
  EQ(empty.use_count(), 1);
  THROWS(
      "RuntimeError: Type `test.NoCreator` does not support reflection "
      "creation (no native creator or __ffi_new__ type attr)",
      CreateEmptyObject(TVMFFIGetTypeInfo(NoCreatorObj::RuntimeTypeIndex())));
}

TEST(reflection_packed_creation) {
  Function make = Function::GetGlobalRequired("ffi.MakeObjectFromPackedArgs");
  Point p = make(TypeKeyToIndex("test.Point"), "x", 3, "name", "packed")
                .cast<Point>();
  EQ(p->x, 3);
  EQ(p->name, "packed");
  EQ(p->y, 2.5);
  NOTE_THROWN(make(TypeKeyToIndex("test.Point"), "w", 3));
  NOTE_THROWN(make(TypeKeyToIndex("test.Point"), "x", "no int"));
  NOTE_THROWN(make(TypeKeyToIndex("test.Point3")));
  NOTE_THROWN(make(TypeKeyToIndex("test.NoCreator"), "v", 1));
}

TEST(reflection_init) {
  Function init = refl::GetMethod("test.Int", "__ffi_init__");
  EQ(init(5).cast<Int>()->value, 5);
  NOTE_THROWN(init());
  NOTE_THROWN(init("x"));
  // Made by the library out of the fields.
  refl::TypeAttrColumn inits("__ffi_init__");
  AnyView automatic = inits[PointObj::RuntimeTypeIndex()];
  OK(automatic != nullptr);
  if (automatic == nullptr) return;
  Function make = automatic.cast<Function>();
  Any kwargs = Function::GetGlobalRequired("ffi.GetKwargsObject")();
  Point p = make(1).cast<Point>();
  EQ(p->x, 1);
  EQ(p->name, "unnamed");
  p = make(1, 2, "named", kwargs, "flag", false, "device", "cpu").cast<Point>();
  EQ(p->name, "named");
  OK(!p->flag);
  EQ(p->device.device_type, kDLCPU);
  NOTE_THROWN(make(1, kwargs, "x", 2));
  NOTE_THROWN(make(kwargs, "none", 2));
  NOTE_THROWN(make(kwargs, "x"));
  NOTE_THROWN(make("x"));
  NOTE_THROWN(make(kwargs, "pointer", nullptr));
  NOTE_THROWN(
      make(1, 2, "n", nullptr, Array<int>{}, nullptr, true, "int8", "cpu"));
  OK(inits[FloatObj::RuntimeTypeIndex()] == nullptr);
  Function make3 = inits[Point3Obj::RuntimeTypeIndex()].cast<Function>();
  NOTE_THROWN(make3());
  NOTE_THROWN(make3(1, 2));
  EQ(make3(kwargs, "z", 30).cast<Point3>()->z, 30);
}

// ---- Native functions
// ---------------------------------------------------------

namespace {
int64_t twice(int64_t x) { return 2 * x; }
Expected<int64_t> checked(int64_t x) noexcept {
  if (x < 0) return Unexpected(Error("ValueError", "negative", ""));
  return x;
}
int64_t throws(int64_t) { throw std::runtime_error("from native"); }
}  // namespace

TEST(native_functions) {
  using View = refl::NativeFunctionView<int64_t(int64_t)>;
  using Owner = refl::NativeFunction<int64_t(int64_t)>;
  View view = View::FromNative<&twice>();
  EQ(view(4), 8);
  Any held = view;
  EQ(held.type_index(), kTVMFFIOpaquePtr);
  EQ(held.cast<Owner>()(5), 10);
  Owner with_error = Owner::FromNative<&checked>();
  EQ(with_error(1), 1);
  THROWS("ValueError: negative", with_error(-1));
  THROWS("InternalError: from native", View::FromNative<&throws>()(1));
  TypedFunction<int64_t(int64_t)> packed = [](int64_t x) { return x + 1; };
  View of_packed(packed);
  EQ(of_packed(1), 2);
  Any function = Owner(packed);
  EQ(function.type_index(), kTVMFFIFunction);
  EQ(function.cast<Owner>().CallExpected(2).value(), 3);
  OK(!Any(1).try_cast<Owner>().has_value());
  THROWS(
      "ValueError: Check failed: (packed != nullptr) is false: "
      "NativeFunctionView requires a non-null typed function",
      [] {
        TypedFunction<int64_t(int64_t)> null;
        View of_null(null);
      }());
  constexpr refl::AttrKey<View> key{"test.native"};
  refl::TypeAttrDef<PointObj>().native_fn_attr<&twice>(key);
  View from_column =
      key.ValueFrom(refl::TypeAttrColumn(key)[PointObj::RuntimeTypeIndex()])
          .value();
  EQ(from_column(21), 42);
  NOTE(TypeTraits<View>::TypeStr());
  NOTE(TypeTraits<Owner>::TypeSchema());
}

// ---- Custom equality and hash in maps
// ---------------------------------------------

namespace {

int64_t parity_hash(const Any &x) { return x.cast<Float>()->value > 0; }
bool parity_equal(const Any &a, const Any &b) {
  return (a.cast<Float>()->value > 0) == (b.cast<Float>()->value > 0);
}

}  // namespace

TEST(custom_equality) {
  refl::TypeAttrDef<FloatObj>()
      .native_fn_attr<&parity_hash>(type_attr::kAnyHash)
      .native_fn_attr<&parity_equal>(type_attr::kAnyEqual);
  Map<Any, Any> m;
  m.Set(Float(1), "positive");
  m.Set(Float(-1), "negative");
  m.Set(Float(2), "positive again");
  EQ(m.size(), 2u);
  EQ(m[Float(5)].cast<String>(), "positive again");
  EQ(Function::GetGlobalRequired("ffi.MapGetItem")(m, Float(-7)).cast<String>(),
     "negative");
  EQ(Function::GetGlobalRequired("ffi.MapCount")(m, Float(9)).cast<int>(), 1);
  Dict<Any, Any> d;
  Function set = Function::GetGlobalRequired("ffi.DictSetItem");
  for (int i = 1; i < 20; ++i) set(d, Float(i % 2 ? i : -i), i);
  EQ(d.size(), 2u);
  EQ(d[Float(1)].cast<int>(), 19);
  EQ(Function::GetGlobalRequired("ffi.ArrayContains")(Array<Float>{Float(3)},
                                                      Float(4))
         .cast<bool>(),
     true);
}

// ---- Enumerations
// -----------------------------------------------------------------

namespace {

struct SuitObj : public EnumObj {
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.Suit", SuitObj, EnumObj);
};
struct LevelObj : public IntEnumObj {
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.Level", LevelObj, IntEnumObj);
};

}  // namespace

TEST(enums) {
  constexpr refl::AttrKey<String> colour{"colour"};
  refl::EnumDef<SuitObj>("hearts").set_attr(colour, "red");
  refl::EnumDef<SuitObj>("spades").set_attr(colour, "black").set_attr("n", 1);
  Enum hearts = EnumObj::_GetByStrIndex<SuitObj>("hearts");
  EQ(hearts->_int_index, 0);
  EQ(hearts->_str_index, "hearts");
  EQ(hearts.GetTypeKey(), "test.Suit");
  OK(EnumObj::_GetByIntIndex<SuitObj>(0).same_as(hearts));
  EQ(EnumObj::_GetByIntIndex<SuitObj>(1)->_str_index, "spades");
  OK(refl::EnumDef<SuitObj>::IsDefined("spades"));
  OK(!refl::EnumDef<SuitObj>::IsDefined("clubs"));
  THROWS("ValueError: Enum `test.Suit` has no instance with index clubs",
         EnumObj::_GetByStrIndex<SuitObj>("clubs"));
  THROWS("ValueError: Enum `test.Suit` has no instance with index 7",
         EnumObj::_GetByIntIndex<SuitObj>(7));
  THROWS("ValueError: Duplicate enum index for type `test.Suit`",
         refl::EnumDef<SuitObj>("hearts"));
  refl::EnumDef<LevelObj>("low", 10);
  refl::EnumDef<LevelObj>("high", 20);
  EQ(EnumObj::_GetByIntIndex<LevelObj>(20)->_str_index, "high");
  OK(!refl::EnumDef<LevelObj>::IsDefined("mid"));
  EnumState state = type_attr::kEnumState
                        .ValueFrom(refl::TypeAttrColumn(
                            type_attr::kEnumState)[SuitObj::RuntimeTypeIndex()])
                        .value();
  EQ(state->entries.size(), 2u);
  EQ(state->indexes.size(), 4u);
  EQ(state->attrs["colour"][hearts].cast<String>(), "red");
  OK(hearts.as<EnumObj>() != nullptr && hearts.as<IntEnumObj>() == nullptr);
  OK(EnumObj::_GetByIntIndex<LevelObj>(10).as<IntEnumObj>() != nullptr);
  Function get =
      refl::FieldGetter("ffi.Enum", "_str_index")(hearts).cast<String>() ==
              "hearts"
          ? Function::FromTyped([]() { return 1; })
          : Function();
  OK(get != nullptr);
}

// ---- Access paths
// -----------------------------------------------------------------

TEST(access_paths) {
  using refl::AccessPath;
  using refl::AccessStep;
  AccessPath root = AccessPath::Root();
  AccessPath a = root->Attr("body")->ArrayItem(1)->MapItem("k");
  AccessPath b = root->Attr("body")->ArrayItem(1)->MapItem("k");
  EQ(a->depth, 3);
  OK(a->PathEqual(b) && !a.same_as(b));
  OK(root->IsPrefixOf(a) && !a->IsPrefixOf(root));
  OK(root->Attr("body")->IsPrefixOf(a));
  OK(!root->Attr("other")->IsPrefixOf(a));
  Array<AccessStep> steps = a->ToSteps();
  EQ(steps.size(), 3u);
  EQ(steps[0]->key.cast<String>(), "body");
  OK(steps[1]->kind == refl::AccessKind::kArrayItem);
  OK(AccessPath::FromSteps(steps)->PathEqual(a));
  OK(a->GetParent().value()->PathEqual(root->Attr("body")->ArrayItem(1)));
  OK(!root->GetParent().has_value());
  OK(!root->MapItemMissing(nullptr)->PathEqual(root->MapItem(nullptr)));
  NOTE(refl::FieldGetter("ffi.reflection.AccessPath", "depth")(a).cast<int>());
  NOTE(refl::FieldGetter("ffi.reflection.AccessStep", "kind")(steps[1])
           .cast<int>());
  std::vector<TVMFFIByteArray> names;
  for (const char *key :
       {"ffi.reflection.AccessPath", "ffi.reflection.AccessStep"}) {
    const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(TypeKeyToIndex(key));
    for (int i = 0; i < info->num_fields; ++i)
      tap::note(text(info->fields[i].name) + " " +
                text(info->fields[i].metadata));
    for (int i = 0; i < info->num_methods; ++i)
      tap::note(text(info->methods[i].name) + " " +
                text(info->methods[i].metadata));
  }
}

// ---- Opaque objects, and things done once
// --------------------------------------------

TEST(opaque_objects) {
  int deletions = 0;
  TVMFFIObjectHandle handle = nullptr;
  int code = TVMFFIObjectCreateOpaque(
      &deletions, kTVMFFIOpaquePyObject,
      [](void *p) { ++*static_cast<int *>(p); }, &handle);
  EQ(code, 0);
  {
    Any any = ObjectRef(detail::ObjectUnsafe::ObjectPtrFromOwned<Object>(
        static_cast<TVMFFIObject *>(handle)));
    EQ(any.type_index(), kTVMFFIOpaquePyObject);
    EQ(any.GetTypeKey(), "ffi.OpaquePyObject");
    OK(TVMFFIOpaqueObjectGetCellPtr(handle)->handle == &deletions);
    Array<Any> array = {any, any};
    EQ(any.cast<ObjectRef>().use_count(), 4);
    WeakObjectPtr<Object> weak(
        detail::ObjectUnsafe::ObjectPtrFromObjectRef<Object>(
            any.cast<ObjectRef>()));
    array.clear();
    any.reset();
    EQ(deletions, 1);
    OK(weak.expired());
  }
  EQ(deletions, 1);
  code = TVMFFIObjectCreateOpaque(&deletions, kTVMFFIInt, nullptr, &handle);
  EQ(code, -1);
  NOTE(detail::MoveFromSafeCallRaised().kind());
}

TEST(object_counts_by_c) {
  Int one(1);
  auto *raw = detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(one);
  EQ(TVMFFIObjectIncRef(raw), 0);
  EQ(one.use_count(), 2);
  EQ(TVMFFIObjectDecRef(raw), 0);
  EQ(one.use_count(), 1);
}

TEST(init_once) {
  static int calls;
  static int deinits;
  static void *handle;
  calls = deinits = 0;
  handle = nullptr;
  auto init = [](void **result) -> int {
    ++calls;
    *result = &calls;
    return 0;
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] { TVMFFIHandleInitOnce(&handle, init); });
  for (auto &t : threads) t.join();
  EQ(calls, 1);
  OK(handle == &calls);
  auto deinit = [](void *p) -> int {
    ++deinits;
    return p == &calls ? 0 : -1;
  };
  EQ(TVMFFIHandleDeinitOnce(&handle, deinit), 0);
  OK(handle == nullptr);
  EQ(TVMFFIHandleDeinitOnce(&handle, deinit), 0);
  EQ(deinits, 1);
  auto fails = [](void **) -> int {
    TVMFFIErrorSetRaisedFromCStr("ValueError", "not today");
    return -1;
  };
  EQ(TVMFFIHandleInitOnce(&handle, fails), -1);
  EQ(detail::MoveFromSafeCallRaised().message(), "not today");
  OK(handle == nullptr);
  auto null = [](void **result) -> int {
    *result = nullptr;
    return 0;
  };
  EQ(TVMFFIHandleInitOnce(&handle, null), -1);
  NOTE(detail::MoveFromSafeCallRaised().message());
  EQ(TVMFFIHandleInitOnce(&handle, init), 0);
  OK(handle == &calls);
}

TAP_MAIN()
