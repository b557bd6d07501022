/* Types of C that Python sees as classes: their fields and methods are listed
   once. The library is loaded by Python, whose runtime it uses.

       cc -shared -fPIC -O2 -I. examples/13_objects_in_python/shapes.c \
          -o shapes.so -lm
       python examples/13_objects_in_python/use_shapes.py shapes.so */
#include "tvmffi.h"

#include <math.h>
#include <stdio.h>

/* A struct that begins with the object's head, and what Python sees of it. */
typedef struct {
  TVMFFIObject base;
  double x, y;
} Point;

TVMFFI_TYPE(Point, "demo.Point", TVMFFIObject, /**/
            (doc, "A point of the plane"),     /**/
            (field, float64, x),               /* must be given */
            (field, float64, y, 0.0),          /* or is 0 */
            (method, norm), (doc, "Returns the distance from the origin"),
            (method, plus), (method, unit))

TVMFFI_METHOD(Point, norm, float64) {
  TVMFFI_RETURN(sqrt(self->x * self->x + self->y * self->y));
}

/* The type is a word like any other, for parameters and results. */
TVMFFI_METHOD(Point, plus, Point, (Point, other)) {
  Point *sum;
  TVMFFI_TRY(tvmffi_new(Point, &sum));
  sum->x = self->x + other->x;
  sum->y = self->y + other->y;
  TVMFFI_RETURN(sum);
}

TVMFFI_STATIC_METHOD(Point, unit, Point, (float64, angle)) {
  Point *p;
  TVMFFI_TRY(tvmffi_new(Point, &p));
  p->x = cos(angle);
  p->y = sin(angle);
  TVMFFI_RETURN(p);
}

/* Fields that own something: a text, an object. They are retained when they
   are set, and released with the object. */
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

/* A child begins with its parent. */
typedef struct {
  Shape base;
  double radius;
} Circle;

TVMFFI_TYPE(Circle, "demo.Circle", Shape, (field, float64, radius, 1.0),
            (method, area))

TVMFFI_METHOD(Circle, area, float64) {
  TVMFFI_RETURN(3.14159265358979 * self->radius * self->radius);
}

/* Nothing runs when a library is loaded. Python calls this once, to have the
   types before it has an object of them. */
TVMFFI_EXPORT(register_types, none) {
  TVMFFI_TRY(tvmffi_register_type(Point));
  TVMFFI_TRY(tvmffi_register_type(Circle)); /* and its parent, Shape */
  TVMFFI_RETURN();
}

/* Any shape: a Circle is one. */
TVMFFI_EXPORT(describe, str, (Shape, shape)) {
  char text[80];
  Circle *circle = tvmffi_cast(Circle, shape); /* NULL if it is none */
  if (!circle) TVMFFI_RETURN(tvmffi_any_str(&shape->name));
  snprintf(text, sizeof(text), "%.40s of radius %g",
           tvmffi_any_str(&shape->name).data, circle->radius);
  TVMFFI_RETURN(tvmffi_view(text));
}

TVMFFI_EXPORT(alive, int64) { TVMFFI_RETURN(shapes_alive); }
