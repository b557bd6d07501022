"""Enums that both languages share."""

import copy
from typing import Any, ClassVar

import tvm_ffi
import tvm_ffi.testing
from kit import echo, outcome, raises, unique
from tvm_ffi import Array, Map, Object
from tvm_ffi.dataclasses import (Enum, EnumAttrMap, EnumState, IntEnum,
                                 StrEnum, auto, entry, enum, py_class)
from tvm_ffi.testing import (_TestCxxEnumHolder, _TestCxxIntEnum,
                             _TestCxxStrEnum)


class Color(Enum, type_key="python_api.Color"):
    red = auto()
    green = auto()
    blue: ClassVar[Any]


class Shape(Enum, type_key="python_api.Shape"):
    sides: int
    label: str = "none"
    triangle = entry(sides=3)
    square = entry(sides=4, label="sq")


class Level(IntEnum, type_key="python_api.Level"):
    low = 10
    high = 20
    entry_form = entry(value=-5)


class Op(StrEnum, type_key="python_api.Op"):
    add = "+"
    mul = entry(value="*")


def facts(e):
    return (type(e).__name__, e._int_index, e._str_index)


def case_entries():
    assert len(Color) == 3 and list(Color)[0].same_as(Color.blue)
    return [facts(e) for c in (Color, Shape, Level, Op) for e in c]


def case_fields():
    return Shape.triangle.sides, Shape.square.label, Shape.square.sides, \
        outcome(setattr, Shape.square, "sides", 5)


def case_lookup():
    assert Color("red").same_as(Color.red) and Color(Color.red) is Color.red
    return [facts(v) for v in (Color.get("green"), Color.get(0), Level(10),
                               Level("low"), Op("+"), Op("*"))], \
        [outcome(f, v) for f, v in (
            (Color, "nope"), (Color, 99), (Color.get, "nope"), (Color.get, 99),
            (Color.get, 1.5), (Color.get, None), (Level, 11), (Op, "-"),
            (Color.get, 2**63), (Color.get, True), (Op, 0), (Level, "+"))]


def case_identity():
    a = echo(Color.red)
    assert a.same_as(Color.red) and Array([Level.low])[0].same_as(Level.low)
    return a == Color.red, a is Color.red, Color.red != Color.green, \
        hash(a) == hash(Color.red), Map({Color.red: 1})[Color.red]


def case_payload_equality():
    return Level.low == 10, Level.low != 10, Level.low == 11, Op.add == "+", \
        Op.add == "x", Level.low == Level.low, Level.low == Level.high, \
        hash(Op.add) == hash("+"), hash(Level.low) == hash(10), \
        str(Op.mul), str(Level.high), {Op.add: 1}["+"], Level.low == "10", \
        Op.add.name, Op.add.value, Level.low.name, Level.low.value


def case_payload_repr():
    return repr(Level.low), repr(Op.mul), f"{Op.add}"


def case_cxx_backed():
    E, S = _TestCxxIntEnum, _TestCxxStrEnum
    return [facts(e) for e in E], [facts(e) for e in S], E(10) is E.low, \
        S("+") is S.add, E.low.value, S.mul.value, E.low == 10, S.add == "+", \
        outcome(E, 5), repr(E.low)


def case_cxx_holder():
    H = _TestCxxEnumHolder
    h = H(_TestCxxIntEnum.low, _TestCxxStrEnum.add)
    g = outcome(lambda: H(20, "*").priority)
    k = H(priority=_TestCxxIntEnum.high, opcode=_TestCxxStrEnum.mul)
    out = [facts(h.priority), facts(h.opcode), facts(k.priority), g]
    out += [outcome(setattr, h, "priority", v) for v in
            (_TestCxxIntEnum.high, 10, 11, "low", "x", None, 1.5,
             _TestCxxStrEnum.add)]
    out += [outcome(setattr, h, "opcode", v) for v in ("*", "-", 0, None)]
    return out, facts(h.priority), facts(h.opcode), outcome(H, 1, "+"), \
        outcome(H)


def case_cxx_variants():
    f = tvm_ffi.get_global_func("testing.enum_variant_get")
    return facts(f("Alpha")), facts(f("Beta")), outcome(f, "Gamma"), \
        f("Alpha").same_as(f("Alpha"))


def case_cxx_variants_from_python():
    class TestEnumVariant(Enum, type_key="testing.TestEnumVariant"):
        Alpha: ClassVar[Any]
        Beta: ClassVar[Any]

    code = TestEnumVariant.def_attr("code")
    return [facts(e) for e in TestEnumVariant], code[TestEnumVariant.Alpha], \
        code[TestEnumVariant.Beta], sorted(TestEnumVariant.attr_dict)


def case_cxx_binder_that_is_absent():
    def define():
        class Missing(Enum, type_key="testing.TestEnumVariant"):
            Gamma: ClassVar[Any]

    return outcome(define)


def case_enum_as_field():
    @py_class(unique("Uses"))
    class Uses(Object):
        c: Color
        l: Level
        o: Op

    u = Uses(Color.red, Level.low, Op.add)
    out = [facts(u.c), facts(u.l), facts(u.o)]
    out += [outcome(lambda: facts(Uses(*a).l)) for a in
            ((Color.red, 10, "+"), ("red", 10, "+"), (Color.red, 11, "+"),
             (Color.red, "low", "*"), (None, 10, "+"), (Color.red, 10, None))]
    return out, [outcome(setattr, u, "o", v) for v in ("*", "x", 5)], \
        facts(u.o)


def case_attributes():
    m = Color.def_attr("python_api_weight", default=7)
    out = [m[Color.red], Color.red in m, m.get(Color.red), m.get(Color.red, 5)]
    m[Color.red] = 3
    out += [m[Color.red], Color.red in m, m.get(Color.red), m.name,
            m[Color.green]]
    n = Color.def_attr("python_api_other")
    return out, raises(KeyError, n.__getitem__, Color.red).split(" has")[-1], \
        raises(TypeError, m.__setitem__, Level.low, 1), \
        raises(TypeError, m.__getitem__, 5), 5 in m, \
        "python_api_weight" in Color.attr_dict, type(m).__name__, \
        isinstance(m, EnumAttrMap)


def case_state():
    s = enum._state(Color)
    assert isinstance(s, EnumState)
    return len(s.entries), len(s.indexes), type(s.entries).__name__, \
        type(s.attrs).__name__, EnumState().entries, \
        outcome(EnumState, 1), enum.ENUM_STATE_ATTR


def case_definitions_that_fail():
    def duplicate():
        class A(IntEnum, type_key=unique("A")):
            a = 1
            b = 1

        return [facts(e) for e in A], A.a is A.b

    def wrong_value():
        class B(IntEnum, type_key=unique("B")):
            a = "x"

    def wrong_str():
        class C(StrEnum, type_key=unique("C")):
            a = 5

    def int_without_value():
        class D(IntEnum, type_key=unique("D")):
            a = auto()

    def reserved():
        class E(StrEnum, type_key=unique("E")):
            value = "x"

    def bad_field():
        class F(Enum, type_key=unique("F")):
            n: int
            a = entry(n="text")

    def missing_field():
        class G(Enum, type_key=unique("G")):
            n: int
            a = entry()

    def too_big():
        class H(IntEnum, type_key=unique("H")):
            a = 2**63

    def index_given():
        class I(Enum, type_key=unique("I")):
            a = entry(_int_index=5)

    def positional():
        class K(Enum, type_key=unique("K")):
            n: int
            a = entry(5)

    def clash():
        class J(IntEnum, type_key=unique("J")):
            a = 1
            b: ClassVar[Any]

    return [outcome(f) for f in (duplicate, wrong_value, wrong_str,
                                 int_without_value, reserved, bad_field,
                                 missing_field, too_big, index_given, positional, clash)]


def case_iteration_and_length():
    return len(Level), [e.value for e in Level], \
        [e.value for e in Level.all_entries()], len(IntEnum), list(StrEnum), \
        Enum.attr_dict


def case_direct_construction():
    return outcome(Enum), outcome(IntEnum, 5), outcome(StrEnum, "x"), \
        outcome(Color, 1, 2)


def case_entry_repr():
    return repr(entry(1, a=2)), repr(auto())


def case_inheritance_without_key():
    class Base(Enum):
        def hello(self):
            return f"hello {self._str_index}"

    class Real(Base, type_key=unique("Real")):
        one = auto()

    return Real.one.hello(), isinstance(Real.one, Enum), len(Base)


def case_methods_and_properties():
    class Planet(Enum, type_key=unique("Planet")):
        mass: float
        earth = entry(mass=1.0)

        def weight(self):
            return self.mass * 10

        @property
        def heavy(self):
            return self.mass > 0.5

        @staticmethod
        def kind():
            return "planet"

    return Planet.earth.weight(), Planet.earth.heavy, Planet.kind()


def case_callbacks():
    f = tvm_ffi.convert(lambda e: (e._str_index, e))
    r = f(Color.green)
    return r[0], r[1].same_as(Color.green)


def case_copies():
    return copy.copy(Color.red).same_as(Color.red), \
        copy.deepcopy(Level.low).same_as(Level.low)


def case_python_int_enum_as_argument():
    import enum as python_enum

    class P(python_enum.IntEnum):
        a = 5

    class S(str, python_enum.Enum):
        b = "text"

    class Plain(python_enum.Enum):
        c = 1

    return echo(P.a), echo(S.b), echo(Plain.c) is Plain.c
