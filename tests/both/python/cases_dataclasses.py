"""py_class, c_class and their helpers."""

import copy
import ctypes
import gc
import inspect
import typing
import warnings
import weakref
from typing import Any, Callable, ClassVar, Optional, Union

import numpy as np
import tvm_ffi
import tvm_ffi.testing
from kit import core, echo, outcome, raises, show, unique, use_count
from tvm_ffi import Array, Dict, List, Map, Object
from tvm_ffi import dataclasses as dc
from tvm_ffi import testing as T
from tvm_ffi.dataclasses import (KW_ONLY, Field, c_class, field, fields,
                                 init_property, is_dataclass, py_class)

# -- c_class: the types of the testing library -----------------------------------


def case_c_class_defaults():
    o = T.TestObjectBase()
    assert (o.v_i64, o.v_f64, o.v_str) == (10, 10.0, "hello")
    p = T.TestObjectBase(1, 2.5, "x")
    q = T.TestObjectBase(v_str="y", v_i64=3)
    return [(x.v_i64, x.v_f64, x.v_str, x.add_i64(5)) for x in (o, p, q)]


def case_c_class_constructor_errors():
    return [outcome(c, *a, **k) for c, a, k in (
        (T.TestObjectBase, (1, 2, "x", 4), {}), (T.TestObjectBase, (), {"z": 1}),
        (T.TestObjectBase, ("x",), {}), (T.TestObjectBase, (1,), {"v_i64": 2}),
        (T.TestObjectBase, (None,), {}), (T.TestObjectBase, (1, "f"), {}),
        (T.TestObjectBase, (1, 2.0, 3), {}), (T.TestIntPair, (), {}),
        (T.TestIntPair, (1,), {}), (T.TestIntPair, (1, 2, 3), {}),
        (T.TestIntPair, ("a", 2), {}), (T.TestObjectDerived, (), {}),
        (T.TestObjectDerived, (1, 2), {}), (T.TestObjectDerived, ({}, 2), {}),
        (T._TestCxxKwOnly, (1, 2, 3), {}), (T._TestCxxKwOnly, (), {"x": 1}),
        (T._TestCxxKwOnly, (), {}), (T._TestCxxAutoInit, (1,), {}),
        (T._TestCxxAutoInit, (1,), {"b": 2, "c": 3}),
        (T._TestCxxAutoInitSimple, (1,), {}),
        (T._TestCxxAutoInitAllInitOff, (1,), {}),
        (T._TestCxxNoAutoInit, (), {}), (T._TestCxxNoAutoInit, (1, 2), {}),
        (T._TestCxxInitSubset, (), {}), (T._TestCxxInitSubset, (1, 2), {}),
        (T._TestCxxAutoInitChild, (1, 2), {}), (T.TestNonCopyable, (), {}),
        (T.TestObjectPtrHolder, (None,), {}), (T.TestObjectPtrHolder, (1,), {}),
        (T.TestFrozenCxx, (1,), {}))]


def case_c_class_setters():
    o = T.TestObjectBase()
    o.v_i64 = 5
    o.v_str = "a much longer string than seven"
    got = [o.v_i64, o.v_str]
    o.v_i64 = True
    got.append(o.v_i64)
    return got, [outcome(setattr, o, n, v) for n, v in (
        ("v_i64", "x"), ("v_i64", None), ("v_i64", 1.5), ("v_i64", 2**63),
        ("v_i64", [1]), ("v_str", 1), ("v_str", None), ("v_str", b"x"),
        ("v_f64", 1.0), ("nope", 1))], o.v_i64, \
        outcome(delattr, o, "v_i64"), outcome(delattr, o, "nope")


def case_c_class_frozen():
    @c_class("testing.TestCxxClassPolymorphic", frozen=True)
    class Frozen(Object):
        v_i64: int

    return [f.frozen for f in fields(Frozen)], \
        Frozen.v_i64.fset is None, \
        [f.name for f in fields(T.TestFrozenCxx)]


def case_c_class_read_only_from_cxx():
    o = T.TestObjectBase(v_f64=1.5)
    out = outcome(setattr, o, "v_f64", 2.0)
    T.TestObjectBase.v_f64.set(o, 3.5)
    return out, o.v_f64


def case_c_class_inheritance():
    d = T.TestObjectDerived({"a": 1}, [1, 2], v_i64=4)
    assert isinstance(d, T.TestObjectBase) and d.add_i64(1) == 5
    assert type(echo(d)) is T.TestObjectDerived
    c = T._TestCxxClassDerivedDerived(1, 2, 3.5, True)
    return d.v_map, d.v_array, d.v_i64, d.v_str, \
        (c.v_i64, c.v_i32, c.v_f64, c.v_f32, c.v_str, c.v_bool), \
        T._TestCxxClassDerivedDerived(1, 2, 3, False, 4.5, "s").v_str, \
        issubclass(T._TestCxxClassDerivedDerived, T._TestCxxClassBase)


def case_c_class_custom_init():
    b = T._TestCxxClassBase(10, 20)
    d = T._TestCxxClassDerived(1, 2, 0.5)
    return b.v_i64, b.v_i32, d.v_i64, d.v_i32, d.v_f64, d.v_f32, \
        b.not_field_1, b.not_field_2, T._TestCxxClassBase.not_field_1


def case_c_class_int32_and_float32_limits():
    b = T._TestCxxClassBase(1, 2)
    out = []
    for v in (2**31 - 1, -(2**31), 2**31, 2**40):
        out.append((outcome(setattr, b, "v_i32", v), b.v_i32))
    d = T._TestCxxClassDerived(1, 2, 3)
    for v in (1e300, 0.1, float("nan"), 5, True, "x"):
        out.append((outcome(setattr, d, "v_f32", v), repr(d.v_f32)))
    return out


def case_c_class_init_subset_and_keyword_only():
    s = T._TestCxxInitSubset(5)
    k = T._TestCxxKwOnly(x=1, y=2, z=3)
    a = T._TestCxxAutoInit(1, c=3)
    m = T._TestCxxAutoInitKwOnlyDefaults(1, k_required=2)
    o = T._TestCxxAutoInitAllInitOff()
    c = T._TestCxxAutoInitChild(1, 2, child_kw_only=3)
    s.optional_field = 8
    return (s.required_field, s.optional_field, s.note), \
        (k.x, k.y, k.z, k.w), (a.a, a.b, a.c, a.d), \
        (m.p_required, m.p_default, m.k_required, m.k_default, m.hidden), \
        (o.x, o.y, o.z), (c.parent_required, c.parent_default,
                          c.child_required, c.child_kw_only)


def case_c_class_signatures():
    out = []
    for n, c in sorted(vars(T).items()):
        if isinstance(c, type) and is_dataclass(c):
            out.append((n, str(inspect.signature(c.__init__)).replace(
                str(core.MISSING), "MISSING"), c.__match_args__))
    return [(n, s.split("=<")[0], m) for n, s, m in out]


def case_c_class_match():
    match T.TestIntPair(1, 2):
        case T.TestIntPair(a, b):
            return a, b


# The class of the testing module cannot hold a handle, this one can.
@tvm_ffi.register_object("testing.SchemaAllTypes")
class AllTypes(Object):
    pass


def case_c_class_methods():
    p = T.TestIntPair(3, 4)
    o = AllTypes.make_with(7, 8.5, "text")
    return p.sum(), T.TestIntPair.sum(p), outcome(p.sum, 1), \
        tvm_ffi.get_global_func("testing.TestIntPairSum")(p), \
        (o.v_int, o.v_float, o.v_string), o.add_int(3), \
        o.append_int([1, 2], 5), o.maybe_concat("a", "b"), \
        o.maybe_concat(None, "b"), o.maybe_concat(None, None), \
        o.merge_map({"a": [1]}, {"b": [2], "a": [3]}), \
        outcome(o.add_int, "x"), outcome(o.append_int, [1, "x"], 2), \
        outcome(o.maybe_concat, 1, 2), outcome(o.merge_map, {}, 1)


def case_c_class_every_field_type():
    o = AllTypes.make_with(1, 2.0, "s")
    out = []
    good = {"v_bool": True, "v_int": -5, "v_float": 2.5,
            "v_device": tvm_ffi.device("cuda", 1),
            "v_dtype": tvm_ffi.dtype("float16"), "v_string": "new",
            "v_bytes": b"bytes", "v_opt_int": 3, "v_opt_str": "o",
            "v_arr_int": [1, 2], "v_arr_str": ["a"], "v_map_str_int": {"a": 1},
            "v_map_str_arr_int": {"a": [1]}, "v_variant": "v",
            "v_opt_arr_variant": [1, "b"]}
    bad = [None, "x", 1.5, 7, b"b", [1], ["a"], {"a": 1}, {1: 1}, {"a": ["x"]},
           [1, None], tvm_ffi.device("cpu")]
    for n, v in good.items():
        before = outcome(getattr, o, n)
        setattr(o, n, v)
        out.append((n, before, getattr(o, n)))
        for b in bad:
            out.append((n, show(b), outcome(setattr, o, n, b),
                        outcome(getattr, o, n)))
    return out


def case_c_class_object_fields():
    b = T.TestObjectBase(v_i64=1)
    h = T.TestObjectPtrHolder(b)
    assert h.value.same_as(b) and h.optional_value is None
    h.optional_value = T.TestObjectDerived({}, [], v_i64=9)
    got = [type(h.optional_value).__name__, h.optional_value.v_i64]
    h.optional_value = None
    return got, h.optional_value, use_count(b), \
        [outcome(setattr, h, n, v) for n in ("value", "optional_value")
         for v in (None, 1, T.TestIntPair(1, 2), [b], b)], use_count(b)


def case_c_class_registration_in_python():
    class Mine(T.TestIntPair):
        def twice(self):
            return self.sum() * 2

    return outcome(lambda: Mine(1, 2).twice()), \
        outcome(lambda: Mine(1, 2)).split("(")[0]


def case_c_class_warns_of_missing_annotations():
    class Hidden(Object):
        v_i64: int

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        c_class("testing.TestCxxClassHiddenField")(Hidden)
    o = Hidden(1, 2)
    return [str(w.message).split("class")[-1] for w in seen], o.v_i64, o.v_i32


def case_c_class_unknown_key():
    return raises(ValueError, c_class("no.such.key"), type("A", (Object,), {}))


def case_c_class_deep_copy_edges():
    return [outcome(T.create_object, "testing.TestDeepCopyEdges", **k)
            for k in ({}, {"v_any": 1, "v_obj": Array([1])})]


# -- py_class -------------------------------------------------------------------


@py_class("python_api.Point")
class Point(Object):
    x: int
    y: float = 1.5
    name: str = "p"


@py_class("python_api.Point3")
class Point3(Point):
    z: int = 0


def case_py_class_basic():
    p = Point(1)
    q = Point(1, 2, "q")
    r = Point(x=5, name="r")
    assert (p.x, p.y, p.name) == (1, 1.5, "p") and q.y == 2.0
    q.x = 9
    q.name = "a longer name than seven bytes"
    return [(o.x, o.y, o.name) for o in (p, q, r)], type(echo(p)).__name__, \
        echo(q).same_as(q)


def case_py_class_errors_of_constructor():
    return [outcome(Point, *a, **k) for a, k in (
        ((), {}), ((1, 2, "x", 4), {}), ((1,), {"x": 2}), ((1,), {"bad": 2}),
        (("x",), {}), ((None,), {}), ((1, "y"), {}), ((1, 2, 3), {}),
        ((1.5,), {}), ((2**63,), {}), ((True,), {}), ((np.int8(3),), {}))]


def case_py_class_setters():
    p = Point(1)
    return [(outcome(setattr, p, n, v), outcome(getattr, p, n)) for n, v in (
        ("x", 3), ("x", "s"), ("x", None), ("x", 2.5), ("x", True), ("y", 4),
        ("y", "s"), ("y", float("inf")), ("name", "n"), ("name", 5),
        ("name", b"b"), ("nope", 1), ("x", 2**62), ("x", 2**64))]


def case_py_class_inheritance():
    q = Point3(1, 2.0, "q", 4)
    assert isinstance(q, Point) and (q.x, q.z) == (1, 4)
    return Point3(7).z, type(echo(q)).__name__, [f.name for f in fields(q)], \
        q.__tvm_ffi_type_info__.parent_type_info.type_key, \
        Point3.__match_args__, show(Array([q])[0].z)


def case_py_class_of_every_field_type():
    @py_class(unique("Every"))
    class Every(Object):
        b: bool
        i: int
        f: float
        s: str
        y: bytes
        d: tvm_ffi.Device
        t: tvm_ffi.dtype
        a: Any
        o: Object
        p: ctypes.c_void_p
        c: Callable
        n: Optional[int]
        u: Union[int, str]
        l: list[int]
        m: dict[str, int]
        tu: tuple[int, ...]
        tt: tuple[int, str]
        ar: Array
        li: List
        ma: Map
        di: Dict
        te: tvm_ffi.Tensor

    values = dict(b=True, i=1, f=2.5, s="s", y=b"y", d=tvm_ffi.device("cpu"),
                  t=tvm_ffi.dtype("int8"), a=[1], o=Array([2]),
                  p=ctypes.c_void_p(3), c=lambda: 4, n=None, u="u", l=[1],
                  m={"a": 1}, tu=(1, 2), tt=(1, "a"), ar=[1], li=[2],
                  ma={1: 2}, di={3: 4}, te=np.zeros(2))
    e = Every(**values)
    out = [(n, show(getattr(e, n))) for n in values]
    bad = [None, "x", 5, 1.5, b"z", [1], ["s"], {"k": 2}, {1: 2}, (1,), (1, "a"),
           len, tvm_ffi.device("cuda"), Array(["q"]), List([1]), Dict({}),
           Point(1), np.ones(3)]
    for n in values:
        for v in bad:
            out.append((n, type(v).__name__, outcome(setattr, e, n, v),
                        outcome(getattr, e, n)))
    return out, [(f.name, repr(f.type).split(".")[-1], repr(f._ty_schema))
                 for f in fields(Every)], \
        [(f.name, f.size, f.alignment, f.offset, f.field_static_type_index)
         for f in Every.__tvm_ffi_type_info__.fields]


def case_py_class_layout():
    @py_class(unique("Layout"))
    class Layout(Object):
        a: bool
        b: int
        c: bool
        d: Any
        e: tvm_ffi.dtype
        f: float
        g: Optional[int]

    info = Layout.__tvm_ffi_type_info__
    return [(f.name, f.size, f.alignment, f.offset) for f in info.fields], \
        info.total_size


def case_py_class_defaults_and_factories():
    @py_class(unique("Factory"))
    class Factory(Object):
        a: int = field(default=5)
        b: list[int] = field(default_factory=list)
        c: List = field(default_factory=lambda: List([1]))
        d: Optional[str] = None

    x, y = Factory(), Factory(1, [2], [3], "d")
    x.c.append(9)
    return (x.a, x.b, x.c, x.d), (y.a, y.b, y.c, y.d), Factory().c, \
        x.b.same_as(Factory().b), x.c.same_as(Factory().c)


def case_py_class_failing_factory():
    def bad():
        raise ValueError("factory")

    @py_class(unique("BadFactory"))
    class BadFactory(Object):
        a: int = field(default_factory=bad)
        b: int = 2

    @py_class(unique("WrongFactory"))
    class WrongFactory(Object):
        a: int = field(default_factory=lambda: "text")

    return outcome(BadFactory), BadFactory(1).a, outcome(WrongFactory)


def case_py_class_wrong_default():
    def define():
        @py_class(unique("WrongDefault"))
        class WrongDefault(Object):
            a: int = "text"

        return WrongDefault().a

    return outcome(define)


def case_py_class_keyword_only():
    @py_class(unique("Kw"), kw_only=True)
    class Kw(Object):
        a: int
        b: int = 2

    @py_class(unique("Kw2"))
    class Kw2(Object):
        a: int
        _: KW_ONLY
        b: int
        c: int = 3

    @py_class(unique("Kw3"))
    class Kw3(Object):
        a: int = field(kw_only=True, default=1)
        b: int

    return (Kw(a=1).a, Kw(b=5, a=4).b), outcome(Kw, 1), \
        (Kw2(1, b=2).c, outcome(Kw2, 1, 2), outcome(Kw2, 1)), \
        (Kw3(7).b, Kw3(7, a=8).a, outcome(Kw3, 7, 8)), \
        Kw.__match_args__, Kw2.__match_args__, Kw3.__match_args__


def case_py_class_init_false_fields():
    @py_class(unique("NoInit"))
    class NoInit(Object):
        a: int
        b: int = field(init=False, default=7)
        c: Any = field(init=False, default=None)

    o = NoInit(1)
    o.b = 8
    return o.b, o.c, outcome(NoInit, 1, 2), outcome(NoInit, 1, b=2)


def case_py_class_init_false_without_default():
    @py_class(unique("NoDefault"))
    class NoDefault(Object):
        a: int
        b: int = field(init=False)
        c: Optional[str] = field(init=False)

    o = NoDefault(1)
    return o.a, o.b, o.c


def case_py_class_init_off():
    @py_class(unique("InitOff"), init=False)
    class InitOff(Object):
        a: int

    return outcome(InitOff), outcome(InitOff, 1)


def case_py_class_own_init():
    @py_class(unique("Own"))
    class Own(Object):
        a: int
        b: str

        def __init__(self, n):
            self.a = n * 2
            self.b = f"own {n}"

    @py_class(unique("Derived"))
    class Derived(Own):
        c: int

        def __init__(self, n):
            super().__init__(n)
            self.c = n + 1

    o, d = Own(3), Derived(4)
    return (o.a, o.b), (d.a, d.b, d.c), outcome(Own), outcome(Own, "x")


def case_py_class_calls_ffi_init():
    @py_class(unique("FfiInit"))
    class FfiInit(Object):
        a: int
        b: int = 5

        def __init__(self, a):
            self.__ffi_init__(a + 1)

    return FfiInit(1).a, FfiInit(1).b


def case_py_class_post_init():
    seen = []

    @py_class(unique("Post"))
    class Post(Object):
        a: int
        b: int = 0

        def __post_init__(self):
            seen.append(self.a)
            self.b = self.a * 10

    @py_class(unique("PostBad"))
    class PostBad(Object):
        a: int

        def __post_init__(self):
            raise ValueError("post")

    return Post(3).b, Post(4, 9).b, seen, outcome(PostBad, 1)


def case_py_class_init_property():
    @py_class(unique("Computed"))
    class Computed(Object):
        a: int

        @init_property
        def double(self) -> int:
            return self.a * 2

        @init_property
        def anything(self):
            return [self.a]

    o = Computed(4)
    o.a = 5
    return o.double, o.anything, [f.name for f in fields(Computed)], \
        outcome(Computed, 1, 2)


def case_py_class_frozen():
    @py_class(unique("Frozen"), frozen=True)
    class Frozen(Object):
        a: int
        b: list[int]

    @py_class(unique("Partly"))
    class Partly(Object):
        a: int = field(frozen=True)
        b: int

    f, p = Frozen(1, [2]), Partly(1, 2)
    f.b.append(3)
    p.b = 5
    out = [outcome(setattr, f, "a", 2), outcome(setattr, p, "a", 2)]
    Frozen.a.set(f, 7)
    return out, f.a, f.b, p.b, outcome(Frozen.a.set, f, "x")


def case_py_class_methods():
    @py_class(unique("Methods"))
    class Methods(Object):
        a: int

        @tvm_ffi.method
        def plus(self, n: int) -> int:
            return self.a + n

        @tvm_ffi.method
        @staticmethod
        def make(n: int) -> int:
            return n * 3

        @tvm_ffi.method
        def loose(self, *args):
            return len(args)

        def python_only(self):
            return 1

        @property
        def prop(self):
            return self.a * 100

        @classmethod
        def klass(cls):
            return cls.__name__

    o = Methods(2)
    info = {m.name: m for m in Methods.__tvm_ffi_type_info__.methods}
    return o.plus(3), Methods.make(2), o.python_only(), o.prop, o.klass(), \
        sorted(info), info["plus"].func(o, 5), info["make"].func(4), \
        info["make"].is_static, info["plus"].is_static, \
        [m.metadata for _, m in sorted(info.items())
         if m.name in ("make", "loose")], \
        outcome(info["plus"].func, o), outcome(info["plus"].func, o, "x")


def case_method_marker_errors():
    return raises(TypeError, tvm_ffi.method, classmethod(lambda c: 1)), \
        raises(TypeError, tvm_ffi.method, 5)


def case_py_class_type_attributes():
    @py_class(unique("Hooks"))
    class Hooks(Object):
        a: int

        def __ffi_repr__(self, fn):
            return f"Hooks<{self.a}>"

        def __ffi_hash__(self, fn):
            return self.a

    info = Hooks.__tvm_ffi_type_info__
    return type(core._lookup_type_attr(info.type_index,
                                       "__ffi_repr__")).__name__, \
        core._lookup_type_attr(info.type_index, "__ffi_eq__"), \
        [type(core._lookup_type_attr(info.type_index, n)).__name__ for n in
         ("__ffi_new__", "__ffi_init__", "__ffi_shallow_copy__")]


def case_py_class_extra_type_attributes():
    @py_class(unique("Extra"))
    class Extra(Object):
        __ffi_type_attr_names__ = ("python_api_extra",)
        python_api_extra = "value"
        a: int

    @py_class(unique("ExtraChild"))
    class ExtraChild(Extra):
        __ffi_inherit_type_attrs__ = ("python_api_extra",)
        b: int

    f = core._lookup_type_attr
    return [f(c.__tvm_ffi_type_info__.type_index, "python_api_extra")
            for c in (Extra, ExtraChild, Point)]


def case_py_class_class_variables():
    @py_class(unique("ClassVars"))
    class ClassVars(Object):
        a: int
        k: ClassVar[int] = 5
        _private: ClassVar[str] = "p"

    return ClassVars.k, ClassVars(1).k, [f.name for f in fields(ClassVars)]


def case_py_class_decorator_forms():
    @py_class
    class Bare(Object):
        a: int

    @py_class()
    class Called(Object):
        a: int

    @py_class(type_key=unique("Keyed"))
    class Keyed(Object):
        a: int

    return Bare(1).a, Called(2).a, Keyed(3).a, \
        Bare.__tvm_ffi_type_info__.type_key, \
        Called.__tvm_ffi_type_info__.type_key


def case_py_class_bad_uses():
    def not_object():
        @py_class(unique("NotObject"))
        class NotObject:
            a: int

    def same_key_twice():
        key = unique("Twice")

        @py_class(key)
        class A(Object):
            a: int

        @py_class(key)
        class B(Object):
            b: int

    def bad_annotation():
        @py_class(unique("BadAnnotation"))
        class BadAnnotation(Object):
            a: complex

    def required_after_default():
        @py_class(unique("Order"))
        class Order(Object):
            a: int = 1
            b: int

        return Order(2).b, Order(2, 3).a

    def unknown_option():
        @py_class(unique("Option"))
        class Option(Object):
            a: int = field(default=1, zzz=2)

    def taken_key():
        @py_class("ffi.Array")
        class Taken(Object):
            a: int

    return [outcome(f).replace("python_api.", "")[:120].split("_")[0]
            for f in (not_object, same_key_twice, bad_annotation,
                      required_after_default, unknown_option, taken_key)], \
        raises(ValueError, py_class, order=True), \
        raises(ValueError, py_class, structural_eq="zzz"), \
        raises(TypeError, py_class, 5)


def case_py_class_key_free_again_after_failure():
    key = unique("Again")

    def bad():
        @py_class(key)
        class Bad(Object):
            a: complex

    def good():
        @py_class(key)
        class Good(Object):
            a: int

        return Good(3).a

    return outcome(bad).split(":")[0], outcome(good)


@py_class("python_api.Node")
class Node(Object):
    value: int
    next: Optional["Node"] = None
    children: list["Node"] = field(default_factory=list)


def case_py_class_self_reference():
    n = Node(1, Node(2), [Node(3), Node(4)])
    assert n.next.value == 2 and n.children[1].value == 4
    n.children.append(n)
    got = n.children[2].same_as(n)
    n.children.clear()
    return got, outcome(Node, 1, 5), outcome(n.children.append, "x"), \
        outcome(setattr, n, "children", [1])


def case_py_class_long_chain_freed():
    n = None
    for i in range(3000):
        n = Node(i, n)
    return n.next.next.value


def case_py_class_counts():
    inner = Array([1])

    @py_class(unique("Holder"))
    class Holder(Object):
        a: Any
        b: Object

    h = Holder(inner, inner)
    counts = [use_count(inner)]
    h.a = 5
    counts.append(use_count(inner))
    c = copy.copy(h)
    counts.append(use_count(inner))
    del h, c
    counts.append(use_count(inner))
    return counts


def case_py_class_frees_python_values():
    class Thing:
        pass

    @py_class(unique("Box"))
    class Box(Object):
        v: Any

    t = Thing()
    ref = weakref.ref(t)
    b = Box(t)
    assert b.v is t
    del t
    gc.collect()
    alive = ref() is not None
    b.v = None
    gc.collect()
    return alive, ref() is None


def case_py_class_in_containers_and_functions():
    p = Point(1)
    f = tvm_ffi.convert(lambda q: (type(q).__name__, q.x))
    m = Map({p: 1, "p": p})
    return f(p), m[p], m["p"].x, p in Array([p]), Point(1) in Array([p])


def case_py_class_copies():
    n = Node(1, Node(2), [Node(3)])
    s, d = copy.copy(n), copy.deepcopy(n)
    s.value = 5
    r = dc.replace(n, value=9)
    return n.value, s.next.same_as(n.next), d.next.same_as(n.next), \
        d.next.value, s.children.same_as(n.children), \
        d.children.same_as(n.children), (r.value, r.next.same_as(n.next))


def case_py_class_default_equality():
    a, b = Point(1), Point(1)
    return a == b, a == a, a != b, hash(a) == hash(b), \
        outcome(lambda: a < b)


def case_py_class_own_dunders():
    @py_class(unique("Dunder"))
    class Dunder(Object):
        a: int

        def __eq__(self, other):
            return isinstance(other, Dunder) and self.a == other.a

        def __hash__(self):
            return self.a

        def __repr__(self):
            return f"D{self.a}"

    return Dunder(1) == Dunder(1), hash(Dunder(4)), repr(Dunder(2)), \
        len({Dunder(1), Dunder(1)})


def case_py_class_object_construction_from_library():
    o = T.create_object("python_api.Point", x=5, y=1.0, name="n")
    f = tvm_ffi.get_global_func("ffi.MakeObjectFromPackedArgs")
    return type(o).__name__, o.x, o.name, \
        outcome(T.create_object, "python_api.Point"), \
        outcome(T.create_object, "python_api.Point", x="s"), \
        outcome(f, "python_api.Point3", "x", 1, "z", 4), \
        outcome(f, "python_api.Point", "w", 1)


def case_py_class_as_argument_types():
    @py_class(unique("Outer"))
    class Outer(Object):
        p: Point
        ps: list[Point]
        m: dict[str, Point]

    q = Point3(1)
    o = Outer(q, [q, Point(2)], {"a": q})
    return type(o.p).__name__, o.ps[1].x, o.m["a"].same_as(q), \
        outcome(Outer, 1, [], {}), outcome(Outer, q, [1], {}), \
        outcome(Outer, q, [], {"a": 1}), outcome(Outer, T.TestIntPair(1, 2),
                                                 [], {})


def case_py_class_type_info():
    info = Point.__tvm_ffi_type_info__
    return info.type_key, [(f.name, f.frozen, f.c_init, f.c_kw_only,
                            f.c_has_default, show(f.c_default), repr(f.ty))
                           for f in info.fields], \
        [m.name for m in info.methods], info.total_size


def case_py_class_hooks_on_fields():
    seen = []

    class Hooked(Object):
        def on_fields(info, own):
            for f in own:
                seen.append((f.name, dict(f.extra_kwargs)))
                f.extra_kwargs.clear()

        on_fields.__ffi_on_fields_resolved__ = True

    @py_class(unique("Hooked"))
    class A(Hooked):
        a: int = field(default=1, mark="m")

    return seen, A().a


def case_py_class_field_markers():
    class Marker:
        pass

    @py_class(unique("Marked"))
    class Marked(Object):
        __ffi_field_markers__ = (Marker,)
        a: int
        m: Marker
        b: int

    marks = Marked.__tvm_ffi_type_info__._decorator_args["field_markers"]
    return [(t.__name__, o.__name__, n, i) for t, o, n, i in marks], \
        [f.name for f in fields(Marked)]


def case_py_class_mixins():
    class Mixin:
        z: int = 3

        def hello(self):
            return "hello"

    @py_class(unique("Mixed"))
    class Mixed(Mixin, Object):
        a: int

    return outcome(lambda: Mixed(1).hello()), [f.name for f in fields(Mixed)]


# -- helpers ---------------------------------------------------------------------


def case_fields():
    def facts(f):
        return (f.name, show(f.default), f.default_factory is core.MISSING,
                f.frozen, f.init, f.repr, f.hash, f.compare, f.kw_only,
                f.structural_eq, f.doc, f.metadata, str(f.type))

    return [[facts(f) for f in fields(c)] for c in
            (Point, Point3, Node, T.TestObjectBase, T.TestObjectDerived,
             T.TestCompare, T.TestHash, T._TestCxxAutoInitChild,
             Point)], len(fields(Point(1))), \
        raises(TypeError, fields, 5), raises(TypeError, fields, Array)


def case_is_dataclass():
    return [is_dataclass(v) for v in (Point, Point(1), T.TestIntPair, Array,
                                      Array([]), 5, int, Object)]


def case_asdict_astuple():
    n = Node(1, Node(2), [Node(3)])
    d = T.TestObjectDerived({"a": [1, {"b": 2}]}, [List([1]), Dict({"c": 3})])
    return dc.asdict(n), dc.astuple(n), dc.asdict(d), dc.astuple(d), \
        type(dc.asdict(d)["v_array"]).__name__, \
        dc.asdict(n, dict_factory=lambda kv: sorted(kv, key=str)), \
        dc.astuple(Point(1), tuple_factory=list), \
        raises(TypeError, dc.asdict, Point), raises(TypeError, dc.astuple, 5)


def case_replace():
    p = Point(1)
    r = dc.replace(p, x=5)
    return (r.x, r.y, p.x), outcome(dc.replace, p, nope=1), \
        outcome(dc.replace, p, x="s"), outcome(dc.replace, 5)


def case_field_objects():
    f = field(default=1, metadata={"a": 1}, doc="d", repr=False, compare=False)
    g = copy.copy(f)
    g.metadata["b"] = 2
    return (f.default, f.metadata, f.doc, f.repr, f.hash, f.compare), \
        g.metadata, raises(ValueError, field, default=1, default_factory=int), \
        raises(TypeError, field, default_factory=5), \
        raises(TypeError, field, default_factory=None), \
        raises(ValueError, field, structural_eq="zzz"), \
        (Field("n").name, Field("n").compare)


def case_namedtuple_helper():
    from tvm_ffi.dataclasses.common import _make_namedtuple

    N = _make_namedtuple("Values", fields(Point))
    v = N(1, 2, "n")
    return v, v._replace(x=5), N._make((1, 2.5, "q")), N._fields, \
        outcome(N, "x", 1, "n"), outcome(N, 1)


def case_module_members():
    return sorted(dc.__all__)


def case_gen_abi_cpp():
    @py_class("python_api_gen.Pair")
    class Pair(Object):
        a: int
        b: Optional[str]

    return outcome(dc.gen_abi_cpp, [Pair]), outcome(dc.gen_abi_cpp, Pair)


def case_unpack_dataclass():
    from tvm_ffi.utils.unpack_dataclass import unpack_dataclass_to_tuple

    f = unpack_dataclass_to_tuple
    return outcome(f, Point(1)), outcome(f, 5), outcome(f, Point)


def case_init_signature():
    return str(inspect.signature(Point.__init__)).split("=")[0], \
        list(inspect.signature(Point3.__init__).parameters)


def case_get_type_hints():
    return {k: str(v) for k, v in typing.get_type_hints(Point3).items()}


def case_missing_in_arguments():
    return outcome(Point, 1, core.MISSING), Point(x=1, y=core.MISSING).y, \
        outcome(Point, core.MISSING)


def case_register_ffi_init_directly():
    f = tvm_ffi._ffi_api._RegisterFFIInit
    g = tvm_ffi._ffi_api._PyClassRegisterTypeAttrColumns
    return outcome(f), outcome(f, "x"), outcome(g, 1), outcome(g, 1, "b")


# -- the functions below the classes ---------------------------------------------


def raw(cls, name):
    return core._lookup_type_attr(cls.__tvm_ffi_type_info__.type_index, name)


def attributes(o):
    return [(f.name, show(getattr(o, f.name))) for f in fields(o)]


def case_raw_init():
    """The constructor that the library makes, called as C++ would."""
    K, M = core.KWARGS, core.MISSING
    out = []
    for cls in (Point, Point3, T.TestObjectBase, T._TestCxxAutoInit,
                T._TestCxxKwOnly, T._TestCxxAutoInitChild,
                T._TestCxxAutoInitAllInitOff, T._TestCxxInitSubset, Node):
        f = raw(cls, "__ffi_init__")
        for args in ((), (1,), (1, 2), (1, 2.0, "x", 4, 5, 6), (K,), (1, K),
                     (K, "x"), (K, "x", 1), (K, "a", 1, "c", 2), (K, 5, 1),
                     (K, "nope", 1), (1, K, "x", 2), (1, K, "a", 2),
                     (K, "x", 1, "x", 2), (K, K), (1, M), (K, "x", M),
                     (K, "b", 1), (None,), ("s",), (K, "x", 1, K, "y", 2),
                     (K, "x", 1, "y", 2, "z", 3), (K, "v_i64", "s"),
                     (1, 2, K, "child_kw_only", 3), (K, "note", "n"),
                     (1, K, "next", 5), (M, M, M)):
            out.append((cls.__name__, show(args),
                        outcome(lambda: attributes(f(*args)))))
    return out


def case_raw_new_and_copy():
    out = []
    for cls in (Point, T.TestObjectBase, T.TestIntPair, T._TestCxxAutoInit,
                T.TestObjectPtrHolder, Node, T.TestNonCopyable,
                T._TestCxxNoAutoInit):
        new, copy_ = raw(cls, "__ffi_new__"), raw(cls, "__ffi_shallow_copy__")
        out.append((cls.__name__, type(new).__name__, type(copy_).__name__,
                    outcome(lambda: new(1)) if new else None,
                    outcome(copy_, 5) if copy_ else None,
                    outcome(copy_) if copy_ else None))
    made = raw(Point, "__ffi_new__")()
    return out, type(made).__name__, made.x, made.y, made.name


def case_raw_copy_of_another_type():
    """The other type has the same fields, which upstream copies. Those of a
    smaller object would be read past its end."""
    @py_class(unique("Other"))
    class Other(Object):
        x: int
        y: float
        name: str
        z: int

    return outcome(raw(Point, "__ffi_shallow_copy__"), Other(1, 2.0, "o", 3))


def case_raw_convert_hook():
    f = raw(T.TestIntPair, "__ffi_convert__")
    return type(f).__name__, [outcome(f, v) for v in
                              (T.TestIntPair(1, 2), None, 5, (1, 2), [1])], \
        outcome(f)


def case_setter_of_each_static_type():
    """The setters that the library makes for fields of Python's classes."""
    @py_class(unique("Setters"))
    class Setters(Object):
        b: bool
        i: int
        f: float
        s: str
        y: bytes
        d: tvm_ffi.Device
        t: tvm_ffi.dtype
        a: Any
        o: Object
        ar: Array
        te: tvm_ffi.Tensor
        fn: Callable

    o = Setters(True, 1, 2.0, "s", b"y", tvm_ffi.device("cpu"),
                tvm_ffi.dtype("int8"), None, Array([]), [], np.zeros(1), len)
    out = []
    for info in Setters.__tvm_ffi_type_info__.fields:
        for v in (None, True, 7, 2.5, "text", "a longer text than seven", b"b",
                  b"longer bytes than seven", tvm_ffi.device("cuda", 1),
                  tvm_ffi.dtype("float32"), Array([1]), Point(1),
                  tvm_ffi.convert(len), tvm_ffi.from_dlpack(np.zeros(2))):
            out.append((info.name, show(v), outcome(info.setter, o, v),
                        outcome(info.getter, o)))
    return out


def case_fields_release_what_they_held():
    @py_class(unique("Release"))
    class Release(Object):
        a: Any
        o: Optional[Object]
        s: str
        l: list[Any]

    inner = Array([1])
    o = Release(inner, inner, "long string " * 3, [inner])
    counts = [use_count(inner)]
    o.a = inner
    o.o = inner
    counts.append(use_count(inner))
    o.a, o.o, o.s = 1, None, "short"
    counts.append(use_count(inner))
    o.l = []
    counts.append(use_count(inner))
    c = copy.deepcopy(Release(inner, inner, "x", [inner]))
    counts.append(use_count(inner))
    return counts, c.a.same_as(c.o), c.l[0].same_as(c.a), use_count(c.a)


def case_failed_construction_releases():
    inner = Array([1])
    for args in ((inner, "bad"), ("bad", inner), (inner,), (inner, 1, 2)):
        @py_class(unique("Fails"))
        class Fails(Object):
            a: Object
            b: int

        outcome(Fails, *args)
    gc.collect()
    return use_count(inner)


def case_deep_inheritance():
    bases = (Object,)
    names = []
    for i in range(12):
        cls = type(f"Level{i}", bases, {"__annotations__": {f"f{i}": int},
                                        "__module__": __name__})
        cls = py_class(unique(f"Level{i}"))(cls)
        names.append(len(cls.__tvm_ffi_type_info__.type_ancestors))
        bases = (cls,)
    o = cls(*range(12))
    return names, [getattr(o, f"f{i}") for i in range(12)], \
        [f.offset for f in cls.__tvm_ffi_type_info__.fields], \
        copy.copy(o).f11, copy.deepcopy(o).f0, isinstance(echo(o), cls)


def case_many_fields():
    cls = type("Many", (Object,), {"__annotations__": {
        f"f{i}": (int, str, bool, float)[i % 4] for i in range(200)},
        "__module__": __name__})
    cls = py_class(unique("Many"))(cls)
    o = cls(*((i, f"s{i}", True, i / 2)[i % 4] for i in range(200)))
    return [getattr(o, f"f{i}") for i in range(0, 200, 17)], \
        cls.__tvm_ffi_type_info__.total_size, outcome(cls, *range(201))


def case_class_without_fields():
    @py_class(unique("Empty"))
    class Empty(Object):
        pass

    e = Empty()
    return e == Empty(), copy.copy(e).same_as(e), outcome(Empty, 1), \
        Empty.__tvm_ffi_type_info__.total_size, attributes(e)


def case_registered_twice_by_library():
    f = tvm_ffi._ffi_api._RegisterFFIInit
    index = Point.__tvm_ffi_type_info__.type_index
    return outcome(f, index).replace(str(index), "INDEX"), Point(4).x
