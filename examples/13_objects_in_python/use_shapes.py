"""Uses the types of shapes.c as classes.

    python use_shapes.py path/to/shapes.so
"""

import copy
import os
import sys

# Without this, tvm_ffi may compile an extension for older versions of PyTorch.
os.environ.setdefault("TVM_FFI_DISABLE_TORCH_C_DLPACK", "1")

import tvm_ffi
from tvm_ffi.dataclasses import c_class

shapes = tvm_ffi.load_module(os.path.abspath(sys.argv[1]))
shapes.register_types()


# Fields, methods and the constructor come from C. The annotations are for
# readers and type checkers; c_class warns of a field without one.
# @tvm_ffi.register_object needs none, but adds no repr, equality or copies.
@c_class("demo.Point", eq=True, unsafe_hash=True)
class Point(tvm_ffi.Object):
    """A point of the plane."""

    x: float
    y: float

    def __add__(self, other):
        return self.plus(other)


@c_class("demo.Shape")
class Shape(tvm_ffi.Object):
    name: str
    origin: Point
    layer: int
    serial: int


def check(condition, what):
    if not condition:
        sys.exit(f"failed: {what}")
    print(f"  {what}")


def fails(kind, function, *args, **kwargs):
    """Checks that a call raises, and prints how."""
    try:
        result = function(*args, **kwargs)
    except kind as error:
        print(f"  {kind.__name__}: {str(error).splitlines()[0]}")
        return
    sys.exit(f"failed: expected {kind.__name__}, got {result!r}")


def main():
    print("A class")
    p = Point(3.0, y=4.0)
    check((p.x, p.y, p.norm()) == (3.0, 4.0, 5.0), "fields and a method")
    check(Point(7).y == 0.0, "a default value")
    p.x = 0.0
    check(p.norm() == 4.0, "a field is set")
    check(repr(p) == "demo.Point(x=0, y=4)", repr(p))
    check(p == Point(0, 4) and p != Point(1, 4), "equality")
    check(copy.copy(p) == p and copy.deepcopy(p) == p, "copies")
    check((p + Point(1.0)).x == 1.0, "an object as argument and result")
    check(Point.unit(0.0) == Point(1, 0), "a static method")
    check(Point.norm.__doc__.startswith("Returns the distance"), "a docstring")

    print("Objects within an object, and a class without any Python")
    s = Shape("box", p, layer=2)
    check(s.origin == p and s.layer == 2, "a field is an object")
    s.name = "a longer name"
    check(shapes.describe(s) == "a longer name", "C reads what Python set")
    made = tvm_ffi.get_global_func("ffi.MakeObjectFromPackedArgs")
    index = tvm_ffi.core._object_type_key_to_index("demo.Circle")
    circle = made(index, "name", "disc", "radius", 2.0)
    check(type(circle).__name__ == "Circle" and isinstance(circle, Shape),
          "Python creates the child's class by itself")
    check(shapes.describe(circle) == "disc of radius 2",
          "a child is accepted as its parent")
    check(abs(circle.area() - 12.566) < 1e-3, "its own method")
    check(circle.enlist() == 1 and circle.serial == 1, "its parent's method")
    check(shapes.alive() == 1, "alive")
    del circle
    check(shapes.alive() == 0, "the destructor has run")

    print("Mistakes")
    fails(TypeError, Point)
    fails(TypeError, Point, 1, z=2)
    fails(TypeError, Point, "x")
    fails(TypeError, Shape, "box", p, 2)
    fails(TypeError, p.plus, 1)
    fails(AttributeError, setattr, s, "serial", 1)
    fails(TypeError, setattr, s, "origin", s)
    fails(TypeError, copy.copy, s)


if __name__ == "__main__":
    main()
