"""Uses types of TVMFFI_TYPE as Python classes, beside the same in C++.

    python test_types.py --lib PATH [--cxx PATH]

The paths are the shared libraries made of test_types.c and test_types.cc.
Writes TAP.
"""

import argparse
import copy
import gc
import json
import os
import pathlib
import sys
import threading

# Without this, tvm_ffi may compile an extension for older versions of PyTorch.
os.environ.setdefault("TVM_FFI_DISABLE_TORCH_C_DLPACK", "1")

import tvm_ffi
from tvm_ffi import core
from tvm_ffi.dataclasses import c_class

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))

from tap import Tap

tap = Tap()


def check_equal(got, expected, name):
    tap.ok(got == expected, name, f"expected {expected!r}\ngot      {got!r}")


def outcome(function, *args, **kwargs):
    """Returns the text of the result, or of the exception with its type."""
    try:
        return repr(function(*args, **kwargs))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def classes(prefix):
    """Makes the classes of one language."""
    @c_class(prefix + "Point", eq=True, order=True, unsafe_hash=True)
    class Point(tvm_ffi.Object):
        x: float
        y: float

    @c_class(prefix + "Named", eq=True, unsafe_hash=True)
    class Named(Point):
        name: str
        other: Point
        hidden: int
        fixed: int

    @c_class(prefix + "Words", eq=True)
    class Words(tvm_ffi.Object):
        i8: int
        i16: int
        i32: int
        i64: int
        u8: int
        u16: int
        u32: int
        u64: int
        f32: float
        f64: float
        flag: bool
        type: tvm_ffi.dtype
        device: tvm_ffi.Device
        ptr: object
        text: str
        data: bytes
        any: object
        object: tvm_ffi.Object
        func: tvm_ffi.Function

    return Point, Named, Words


def described(cls):
    """Returns all that the registry says of a type."""
    info = cls.__tvm_ffi_type_info__
    fields = [(f.name, f.doc, f.size, f.offset, f.frozen, f.c_init,
               f.c_kw_only, f.c_has_default, json.dumps(f.metadata))
              for f in info.fields]
    methods = [(m.name, m.doc, m.is_static, m.metadata["type_schema"])
               for m in info.methods]
    attrs = [(name, type(core._lookup_type_attr(info.type_index, name)).__name__)
             for name in ("__ffi_init__", "__ffi_new__", "__ffi_shallow_copy__",
                          "__ffi_type_final__", "__ffi_repr__")]
    return fields, methods, attrs, cls.__init__.__signature__


def behaviour(types, library):
    """Yields what was done and how it ended, for one language."""
    Point, Named, Words = types
    point = Point(1.5, y=2)
    named = Named(1, "a name of some length", 2, other=point)
    short = Named(1, "short")
    words = Words()

    def do(name, function, *args, **kwargs):
        return name, outcome(function, *args, **kwargs)

    for cls in types:
        for part, value in zip(("fields", "methods", "attributes", "signature"),
                               described(cls)):
            yield f"{part} of {cls.__name__}", repr(value)
        yield f"doc of {cls.__name__}", repr(cls.__doc__)
    for value in (point, named, short, words, Point(0)):
        yield "repr", repr(value)
    yield "str", str(named)
    yield do("missing argument", Point)
    yield do("missing two", Named)
    yield do("unknown keyword", Point, 1, z=2)
    yield do("twice", Point, 1, x=2)
    yield do("too many", Point, 1, 2, 3)
    yield do("wrong type", Point, "x")
    yield do("wrong type by keyword", Point, 1, y=[])
    yield do("None", Point, None)
    yield do("keyword only", Named, 1, "n", 2, point)
    yield do("not in init", Named, 1, "n", hidden=1)
    yield do("wrong name", Named, 1, 2)
    yield do("wrong object", Named, 1, "n", other=words)
    yield do("child for parent", Named, 1, "n", other=named)
    yield do("None for an object", Named, 1, "n", other=None)
    yield do("read only", setattr, named, "fixed", 1)
    yield do("unknown attribute", setattr, named, "nothing", 1)
    for field, values in {
        "i8": (127, -128, 1.0, True, None, "x"),
        "u8": (255,), "u16": (65535,), "i32": (-(1 << 31),),
        "i64": (-(1 << 63), "x"), "u64": (1 << 62,), "f32": (1, 0.1, "x"),
        "f64": (True, 1 << 60, None), "flag": (0, 7, 1.0, "x"),
        "type": ("int8", "nonsense", 1, tvm_ffi.dtype("bool")),
        "device": ("cpu:1", "nonsense", 1, tvm_ffi.device("cuda:2")),
        "text": ("", "short", "a much longer text", "\0", b"x", 1, None),
        "data": (b"", b"raw", b"0123456789", "x", None),
        "any": (1, "x", None, [1, 2], {"a": 1}, point, print),
        "object": (point, None, [1], 1), "func": (print, None, 1, point),
        "ptr": (None, 1),
    }.items():
        for value in values:
            yield do(f"{field} = {value!r}"[:60], setattr, words, field, value)
            got = getattr(words, field)
            yield f"{field} after that", \
                type(got).__name__ if callable(got) else repr(got)
    for name, value in (("x", 5), ("y", "no"), ("name", "n"),
                        ("other", None)):
        yield do(f"set {name}", setattr, named, name, value)
    yield "then", repr(named)

    yield "equal", str((Point(1, 2) == Point(1, 2), Point(1, 2) == Point(2, 1),
                        Point(1) != Point(2), Point(1) < Point(1, 1),
                        Named(1, "a") == Named(1, "a"),
                        Named(1, "a") == Named(1, "b"),
                        Point(1) == Named(1, "a")))
    yield "hash", str((hash(Point(1, 2)) == hash(Point(1, 2)),
                       hash(Point(1, 2)) == hash(Point(2, 2))))
    for make in (copy.copy, copy.deepcopy):
        named = Named(1, "a name of some length", other=Named(2, "in"))
        again = make(named)
        yield make.__name__, str((again, again == named, again is named,
                                  again.other is named.other,
                                  again.other.same_as(named.other),
                                  again.fixed, again.hidden))
    yield "replace", repr(named.__replace__(name="replaced"))
    yield do("method", named.sum)
    yield do("method with arguments", named.scale, 2.0, Point(1, 1))
    yield do("static method", Point.make, 1, 2)
    yield do("no argument", named.scale)
    yield do("wrong argument", named.scale, "x", point)
    yield do("wrong object", named.scale, 1, words)
    yield do("wrong self", Point.sum, words)
    yield do("wrong self too", Point.sum, 1)
    yield do("method of the child", named.length)
    yield do("not of the parent", lambda: point.length())
    yield do("function", library.sum, point)
    yield do("function, child", library.sum, named)
    yield do("function, other type", library.sum, words)
    yield do("function, int", library.sum, 1)
    yield do("function, None", library.sum, None)
    yield "in containers", repr(tvm_ffi.Array([point, named]))


def beside_cxx(types, library, cxx):
    theirs = classes("cxx.")
    pairs = zip(behaviour(types, library), behaviour(theirs, cxx))
    for (name, ours), (_, expected) in pairs:
        check_equal(ours.replace("c.", "cxx."), expected, "as in C++: " + name)
    named = types[1](1, "written by C")
    check_equal(cxx.text_of(named), "written by C", "C++ reads C's text")
    adoption(library, theirs[1])


def values(types, library):
    Point, Named, Words = types
    check_equal(repr(Point(1, 2)), "c.Point(x=1, y=2)", "repr")
    words = Words()
    check_equal((words.text, words.data, words.any),
                ("a default text", b"raw", "made by a factory"), "defaults")
    # Upstream's headers cut such values without a word.
    for field, value in (("i8", 128), ("i8", -129), ("u8", 256), ("u8", -1),
                         ("i16", 1 << 15), ("u16", -1), ("i32", 1 << 31),
                         ("u32", 1 << 32), ("u64", -1)):
        check_equal(outcome(setattr, words, field, value),
                    f"RuntimeError: The value {value} is out of range of "
                    + {"i": "int", "u": "uint"}[field[0]] + field[1:],
                    f"{field} = {value}")
    named = library.new_named()
    check_equal((named.x, named.y, named.name, named.fixed),
                (1, 2, "from C, long", 5), "TVMFFI_NEW takes Python's order")
    check_equal(outcome(library.new_point, "x"),
                "TypeError: c.Point.x: Cannot convert from type `ffi.SmallStr` "
                "to `float`",
                "TVMFFI_NEW checks types")
    tap.ok(library.cast(Point(1)) and library.cast(named), "TVMFFI_CAST")
    tap.ok(not library.cast(words) and not library.cast(1), "TVMFFI_CAST, NULL")


    register = tvm_ffi.register_object("c.Custom")
    Custom = register(type("Custom", (tvm_ffi.Object,), {}))
    check_equal(Custom(4).twice, 8, "a constructor of its own")
    check_equal(repr(Custom(4)), "<custom>", "a repr of its own")
    tap.ok(tvm_ffi.structural_equal(Custom(1), Custom(1))
           and not tvm_ffi.structural_equal(Custom(1), Custom(2)),
           "structural equality")


def lists(library):
    node = library.chain(3)
    check_equal(type(node).__name__, "Node", "an unregistered class")
    check_equal((node.count(), node.next.count(), node.next.next.next),
                (3, 2, None), "a list")
    tail = node.next
    del node
    gc.collect()
    check_equal(library.alive(), 2, "its first node is gone")
    index = core._object_type_key_to_index("c.Node")
    check_equal(core._lookup_type_attr(index, "__ffi_shallow_copy__"), None,
                "no copy with a destructor")
    del tail
    node = library.chain(500_000)
    check_equal(node.count(), 500_000, "a long list")
    del node
    gc.collect()
    check_equal(library.alive(), 0, "it is freed without deep recursion")
    nested = library.chain(1)
    for _ in range(20_000):
        holder = core._lookup_type_attr(
            core._object_type_key_to_index("c.Words"), "__ffi_new__")()
        holder.any = [nested]
        nested = holder
    del nested, holder
    gc.collect()
    check_equal(library.alive(), 0, "so are nested containers")


def mistakes(library):
    for which, expected in {
        "orphan": "TypeError: Type `nobody.Registers.this` is not registered: "
                  "load the library that defines it first",
        "larger": "TypeError: Type `c.Point` is registered with a size of 40 "
                  "bytes, its struct here has 48",
        "swapped": "TypeError: Field `x` of type `c.Point` is registered with "
                   "8 bytes at offset 24, here it has 8 at 32",
        "moved": "TypeError: Type `c.Point` is registered as a child of "
                 "`ffi.Object`, but declared as a child of `c.Node`",
        "required": "TypeError: TVMFFI_NEW(c.Named) missing required "
                    "argument: 'name'",
        "count": "TypeError: TVMFFI_NEW(c.Named) takes at most 3 positional "
                 "argument(s), but 4 were given",
    }.items():
        check_equal(outcome(library.mistake, which), expected,
                    "mistake: " + which)


def adoption(library, parent):
    """A child in C of a type of C++."""
    library.adopt()
    adopted = c_class("c.Adopted", eq=True)(
        type("Adopted", (parent,), {"__annotations__": {"extra": int}}))
    child = adopted(1, "a text of C++'s", extra=9, other=adopted(2, "inner"))
    check_equal((child.x, child.name, child.extra, child.other.name),
                (1, "a text of C++'s", 9, "inner"), "a child of a type of C++")
    again = copy.copy(child)
    tap.ok(again == child and again.other.same_as(child.other), "its copy")
    del again
    gc.collect()
    check_equal((child.name, child.other.name), ("a text of C++'s", "inner"),
                "which owns what it holds")
    check_equal(child.length(), 15, "a method of C++ on it")


def many_threads(path):
    """The first use of a type by several threads at once."""
    library = tvm_ffi.load_module(path)
    start, results = threading.Barrier(8), []

    def use():
        start.wait()
        library.register_types()
        results.append(library.new_named().name)

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check_equal(results, ["from C, long"] * 8, "registered by many threads")
    return library


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lib", required=True)
    parser.add_argument("--cxx")
    args = parser.parse_args()
    cxx = tvm_ffi.load_module(os.path.abspath(args.cxx)) if args.cxx else None
    library = many_threads(os.path.abspath(args.lib))
    types = classes("c.")
    values(types, library)
    lists(library)
    mistakes(library)
    if cxx is None:
        tap.skip("beside C++", "no library of C++ is given")
    else:
        beside_cxx(types, library, cxx)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
