// The types of test_types.c by upstream's headers, with keys of "cxx.".
#include <tvm/ffi/tvm_ffi.h>

namespace refl = tvm::ffi::reflection;
using tvm::ffi::Any;
using tvm::ffi::Bytes;
using tvm::ffi::Function;
using tvm::ffi::Object;
using tvm::ffi::ObjectPtr;
using tvm::ffi::ObjectRef;
using tvm::ffi::Optional;
using tvm::ffi::String;

class WordsObj : public Object {
 public:
  int8_t i8;
  int16_t i16;
  int32_t i32;
  int64_t i64;
  uint8_t u8;
  uint16_t u16;
  uint32_t u32;
  uint64_t u64;
  float f32;
  double f64;
  bool flag;
  DLDataType type;
  DLDevice device;
  void* ptr;
  String text;
  Bytes data;
  Any any;
  Optional<ObjectRef> object;
  Optional<Function> func;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("cxx.Words", WordsObj, Object);
};

class PointObj : public Object {
 public:
  double x, y;
  double sum() const { return x + y; }
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("cxx.Point", PointObj, Object);
};

class Point : public ObjectRef {
 public:
  explicit Point(ObjectPtr<PointObj> p) : ObjectRef(std::move(p)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Point, ObjectRef, PointObj);
};

static Point make(double x, double y) {
  ObjectPtr<PointObj> p = tvm::ffi::make_object<PointObj>();
  p->x = x;
  p->y = y;
  return Point(p);
}

static Point scale(const PointObj* self, double by, Point origin) {
  return make(origin->x + by * (self->x - origin->x),
              origin->y + by * (self->y - origin->y));
}

class NamedObj : public PointObj {
 public:
  String name;
  Optional<Point> other;
  int64_t hidden, fixed;
  int64_t length() const { return static_cast<int64_t>(name.size()); }
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("cxx.Named", NamedObj, PointObj);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<WordsObj>("All words")
      .def_rw("i8", &WordsObj::i8, refl::default_value(-1), "eight bits")
      .def_rw("i16", &WordsObj::i16, refl::default_value(2))
      .def_rw("i32", &WordsObj::i32, refl::default_value(3))
      .def_rw("i64", &WordsObj::i64, refl::default_value(4))
      .def_rw("u8", &WordsObj::u8, refl::default_value(5))
      .def_rw("u16", &WordsObj::u16, refl::default_value(6))
      .def_rw("u32", &WordsObj::u32, refl::default_value(7))
      .def_rw("u64", &WordsObj::u64, refl::default_value(8))
      .def_rw("f32", &WordsObj::f32, refl::default_value(0.5))
      .def_rw("f64", &WordsObj::f64, refl::default_value(2.5))
      .def_rw("flag", &WordsObj::flag, refl::default_value(true))
      .def_rw("type", &WordsObj::type,
              refl::default_value(DLDataType{kDLFloat, 32, 4}))
      .def_rw("device", &WordsObj::device,
              refl::default_value(DLDevice{kDLCPU, 0}))
      .def_rw("ptr", &WordsObj::ptr,
              refl::default_value(static_cast<void*>(nullptr)))
      .def_rw("text", &WordsObj::text,
              refl::default_value(String("a default text")))
      .def_rw("data", &WordsObj::data, refl::default_value(Bytes("raw")))
      .def_rw("any", &WordsObj::any,
              refl::default_factory(Function::FromTyped(
                  []() { return String("made by a factory"); })))
      .def_rw("object", &WordsObj::object, refl::default_value(nullptr))
      .def_rw("func", &WordsObj::func, refl::default_value(nullptr));
  refl::ObjectDef<PointObj>("A point")
      .def_rw("x", &PointObj::x, "The first")
      .def_rw("y", &PointObj::y, refl::default_value(0.0))
      .def("sum", &PointObj::sum, "Adds up")
      .def("scale", &scale)
      .def_static("make", &make);
  refl::ObjectDef<NamedObj>()
      .def_rw("name", &NamedObj::name)
      .def_rw("other", &NamedObj::other, refl::default_value(nullptr),
              refl::kw_only(true))
      .def_rw("hidden", &NamedObj::hidden, refl::default_value(7),
              refl::kw_only(true), refl::init(false), refl::repr(false),
              refl::compare(false))
      .def_ro("fixed", &NamedObj::fixed, refl::default_value(5),
              refl::kw_only(true))
      .def("length", &NamedObj::length);
}

static double sum_of(const PointObj* p) { return p->x + p->y; }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(sum, sum_of);

// What C has written, read by C++ at the offsets of its own members.
static String text_of(ObjectRef object) {
  return static_cast<const NamedObj*>(object.get())->name;
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(text_of, text_of);
