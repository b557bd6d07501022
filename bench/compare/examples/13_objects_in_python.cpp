// Types that Python sees as classes.
#include <tvm/ffi/tvm_ffi.h>

#include <cmath>
#include <sstream>

namespace ffi = tvm::ffi;
namespace refl = tvm::ffi::reflection;

class PointObj : public ffi::Object {
 public:
  double x, y;

  double Norm() const { return std::sqrt(x * x + y * y); }

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("demo.Point", PointObj, ffi::Object);
};

class Point : public ffi::ObjectRef {
 public:
  Point(double x, double y) {
    ffi::ObjectPtr<PointObj> p = ffi::make_object<PointObj>();
    p->x = x;
    p->y = y;
    data_ = std::move(p);
  }

  static Point Unit(double angle) {
    return Point(std::cos(angle), std::sin(angle));
  }

  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Point, ffi::ObjectRef, PointObj);
};

static Point Plus(const PointObj *self, Point other) {
  return Point(self->x + other->x, self->y + other->y);
}

static int64_t shapes_made, shapes_alive;

class ShapeObj : public ffi::Object {
 public:
  ffi::String name;
  ffi::Optional<Point> origin;
  int32_t layer;
  int64_t serial;

  ShapeObj() = default;
  ShapeObj(const ShapeObj &) = delete;  // the count must stay right
  ~ShapeObj() {
    if (serial) --shapes_alive;
  }

  int64_t Enlist() {
    if (!serial) {
      serial = ++shapes_made;
      ++shapes_alive;
    }
    return serial;
  }

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("demo.Shape", ShapeObj, ffi::Object);
};

class Shape : public ffi::ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Shape, ffi::ObjectRef, ShapeObj);
};

class CircleObj : public ShapeObj {
 public:
  double radius;

  double Area() const { return 3.14159265358979 * radius * radius; }

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("demo.Circle", CircleObj, ShapeObj);
};

static void RegisterTypes() {
  refl::ObjectDef<PointObj>("A point of the plane")
      .def_rw("x", &PointObj::x)
      .def_rw("y", &PointObj::y, refl::default_value(0.0))
      .def("norm", &PointObj::Norm, "Returns the distance from the origin")
      .def("plus", Plus)
      .def_static("unit", &Point::Unit);
  refl::ObjectDef<ShapeObj>()
      .def_rw("name", &ShapeObj::name)
      .def_rw("origin", &ShapeObj::origin,
              refl::default_value(ffi::Optional<Point>()))
      .def_rw("layer", &ShapeObj::layer, refl::default_value(0),
              refl::kw_only(true))
      .def_ro("serial", &ShapeObj::serial, refl::default_value(0),
              refl::init(false), refl::repr(false))
      .def("enlist", &ShapeObj::Enlist);
  refl::ObjectDef<CircleObj>()
      .def_rw("radius", &CircleObj::radius, refl::default_value(1.0))
      .def("area", &CircleObj::Area);
}

static ffi::String Describe(Shape shape) {
  const CircleObj *circle = shape.as<CircleObj>();
  if (!circle) return shape->name;
  std::ostringstream text;
  text << shape->name << " of radius " << circle->radius;
  return text.str();
}

static int64_t Alive() { return shapes_alive; }

TVM_FFI_DLL_EXPORT_TYPED_FUNC(register_types, RegisterTypes)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(describe, Describe)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(alive, Alive)
