/* C structs as Python classes: you list fields and methods once. Python loads
   this library, and the library uses Python's runtime.

       cc -shared -fPIC -O2 -I. examples/13_objects_in_python/shapes.c \
          -o shapes.so -lm
       python examples/13_objects_in_python/use_shapes.py shapes.so */
#include "tvmffi.h"

#include <math.h>
#include <stdio.h>

/* A struct that begins with the object header. TVMFFI_TYPE lists its members
   for Python. */
typedef struct {
  TVMFFIObject base;
  double x, y;
} Point;

TVMFFI_TYPE(Point, "demo.Point", TVMFFIObject, /**/
            (doc, "A point of the plane"),     /**/
            (field, float64, x),               /* required */
            (field, float64, y, 0.0),          /* defaults to 0 */
            (method, norm), (doc, "Returns the distance from the origin"),
            (method, plus), (method, unit))

TVMFFI_METHOD(Point, norm, float64) {
  TVMFFI_RETURN(sqrt(self->x * self->x + self->y * self->y));
}

/* After TVMFFI_TYPE, Point is also a type word for parameters and results. */
TVMFFI_METHOD(Point, plus, Point, (Point, other)) {
  TVMFFI_RETURN(TVMFFI_NEW(Point, self->x + other->x, self->y + other->y));
}

TVMFFI_STATIC_METHOD(Point, unit, Point, (float64, angle)) {
  TVMFFI_RETURN(TVMFFI_NEW(Point, cos(angle), sin(angle)));
}

/* The fields name and origin own references. Setting such a field retains the
   new value; destroying the object releases the field. */
typedef struct {
  TVMFFIObject base;
  TVMFFIAny name;
  Point *origin;
  int32_t layer;
  int64_t serial;
} Shape;

static int64_t shapes_made, shapes_alive;

static void shape_end(Shape *self) {
  if (self->serial) --shapes_alive;
}

TVMFFI_TYPE(Shape, "demo.Shape", TVMFFIObject,     /**/
            (field, str, name),                    /**/
            (field, Point, origin, NULL),          /* a Point, or None */
            (kw_only), (field, int32, layer, 0),   /**/
            (readonly, int64, serial, 0),          /**/
            (flags, kTVMFFIFieldFlagBitMaskInitOff /* not in __init__ */
                        | kTVMFFIFieldFlagBitMaskReprOff),
            (method, enlist), (destructor, shape_end))

TVMFFI_METHOD(Shape, enlist, int64) {
  if (!self->serial) {
    self->serial = ++shapes_made;
    ++shapes_alive;
  }
  TVMFFI_RETURN(self->serial);
}

/* The struct of a child type begins with its parent's struct. */
typedef struct {
  Shape base;
  double radius;
} Circle;

TVMFFI_TYPE(Circle, "demo.Circle", Shape, (field, float64, radius, 1.0),
            (method, area))

TVMFFI_METHOD(Circle, area, float64) {
  TVMFFI_RETURN(3.14159265358979 * self->radius * self->radius);
}

/* No code runs when the library is loaded. Python calls this function once, so
   that the types exist before their first objects. */
TVMFFI_EXPORT(register_types, none) {
  TVMFFI_TRY(TVMFFI_REGISTER_TYPE(Point));
  TVMFFI_TRY(TVMFFI_REGISTER_TYPE(Circle)); /* and its parent, Shape */
  TVMFFI_RETURN();
}

/* Accepts a Shape or an object of a child type, such as a Circle. */
TVMFFI_EXPORT(describe, str, (Shape, shape)) {
  char text[80];
  Circle *circle = TVMFFI_CAST(Circle, shape); /* NULL if not a Circle */
  if (!circle) TVMFFI_RETURN(tvmffi_any_str(&shape->name));
  snprintf(text, sizeof(text), "%.40s of radius %g",
           tvmffi_any_str(&shape->name).data, circle->radius);
  TVMFFI_RETURN(tvmffi_byte_array(text));
}

TVMFFI_EXPORT(alive, int64) { TVMFFI_RETURN(shapes_alive); }
