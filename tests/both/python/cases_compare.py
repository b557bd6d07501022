"""Recursive comparison and hashing: ==, <, hash() of containers and objects."""

import numpy as np
import tvm_ffi
import tvm_ffi.testing
from kit import core, outcome, raises, unique
from tvm_ffi import Array, Dict, List, Map, Object, _ffi_api
from tvm_ffi import testing as T
from tvm_ffi.dataclasses import field, py_class

VALUES = [None, True, 0, 1, -1, 2**70, 0.0, 1.0, 1.5, float("nan"), "", "a", "b",
          "a longer string", b"", b"a", [], [1], [1, 2], [2], {"a": 1}, {"a": 2},
          {}, tvm_ffi.Shape((1, 2)), tvm_ffi.dtype("int8"),
          tvm_ffi.device("cpu"), List([1]), Dict({"a": 1})]


def case_arrays():
    a = Array([1, "x", [2]])
    return a == Array([1, "x", [2]]), a != Array([1]), a == [1, "x", [2]], \
        a == (1, "x", (2,)), a == [1], a == "x", a == 5, a == List([1, "x", [2]]), \
        [1, "x", [2]] == a, hash(a) == hash(Array([1, "x", [2]])), \
        a != [1, "x", [2]], a == None  # noqa: E711


def case_lists():
    a = List([1, [2]])
    return a == List([1, [2]]), a == [1, [2]], a != [1], a == Array([1, [2]]), \
        hash(a) == hash(List([1, [2]])), a == {"a": 1}, a == b"x"


def case_maps_and_dicts():
    m, d = Map({"a": [1], "b": 2}), Dict({"a": [1], "b": 2})
    return m == Map({"b": 2, "a": [1]}), m == Map({"a": [1]}), m == {"a": [1]}, \
        m == d, d == Dict({"b": 2, "a": [1]}), d != Dict(), \
        hash(m) == hash(Map({"b": 2, "a": [1]})), \
        hash(d) == hash(Dict({"a": [1], "b": 2}))


def case_contains_by_value():
    return [1] in Array([[1]]), (2,) in Array([[1], (2,)]), [3] in Array([[1]]), \
        [1] in List([[1]]), "ab" in Array([["a", "b"]]), \
        Array([[1], [2]]).index([2]), Array([[1], [1]]).count([1])


def case_every_pair():
    f = _ffi_api.RecursiveEq
    return [[outcome(f, a, b) for b in VALUES] for a in VALUES]


def case_every_order():
    out = []
    for f in (_ffi_api.RecursiveLt, _ffi_api.RecursiveLe, _ffi_api.RecursiveGt,
              _ffi_api.RecursiveGe):
        out.append([[outcome(f, a, b) for b in VALUES] for a in VALUES])
    return out


def case_hashes():
    return [outcome(_ffi_api.RecursiveHash, v) for v in VALUES]


def case_objects():
    a, b = T._TestCxxClassDerived(1, 2, 3.0), T._TestCxxClassDerived(1, 2, 3.0)
    c = T._TestCxxClassDerived(1, 2, 4.0)
    return a == b, a != b, a == c, a < c, a <= b, c > a, c >= a, \
        hash(a) == hash(b), hash(a) == hash(c), a == 5, outcome(lambda: a < 5), \
        a == T._TestCxxClassDerivedDerived(1, 2, 3.0, True)


def case_field_options():
    f, h = _ffi_api.RecursiveEq, _ffi_api.RecursiveHash
    return f(T.TestCompare(1, "a", 2), T.TestCompare(1, "a", 3)), \
        f(T.TestCompare(1, "a", 2), T.TestCompare(1, "b", 2)), \
        h(T.TestHash(1, "a", 2)) == h(T.TestHash(1, "a", 3)), \
        f(T.TestCustomCompare(1, "a"), T.TestCustomCompare(1, "b")), \
        f(T.TestCustomCompare(1, "a"), T.TestCustomCompare(2, "a")), \
        _ffi_api.RecursiveLt(T.TestCustomCompare(1, "a"),
                             T.TestCustomCompare(2, "a")), \
        h(T.TestCustomHash(1, "a")) == h(T.TestCustomHash(1, "b")), \
        outcome(h, T.TestEqWithoutHash(1, "a")), \
        f(T.TestEqWithoutHash(1, "a"), T.TestEqWithoutHash(1, "b"))


def case_py_class():
    @py_class(unique("Ordered"), eq=True, order=True, unsafe_hash=True)
    class Ordered(Object):
        a: int
        b: list[int]
        c: int = field(compare=False, default=0)

    x, y = Ordered(1, [1, 2], 5), Ordered(1, [1, 2], 6)
    z = Ordered(1, [1, 3])
    return x == y, hash(x) == hash(y), x == z, x < z, x >= z, \
        sorted([z, x])[0].same_as(x), len({x, y, z}), x != 5


def case_py_class_hooks():
    @py_class(unique("Hooked"), eq=True, unsafe_hash=True)
    class Hooked(Object):
        a: int
        b: int

        def __ffi_eq__(self, other, fn):
            return fn(self.a, other.a)

        def __ffi_hash__(self, fn):
            return fn(self.a)

    return Hooked(1, 2) == Hooked(1, 3), Hooked(1, 2) == Hooked(2, 2), \
        hash(Hooked(1, 2)) == hash(Hooked(1, 3)), \
        Array([Hooked(1, 2)]) == Array([Hooked(1, 5)])


def case_tensors_and_functions():
    t = tvm_ffi.from_dlpack(np.arange(3))
    u = tvm_ffi.from_dlpack(np.arange(3))
    f = tvm_ffi.convert(lambda: 1)
    return [outcome(_ffi_api.RecursiveEq, a, b)
            for a, b in ((t, t), (t, u), (f, f), (f, t))], \
        outcome(_ffi_api.RecursiveHash, t).isdigit()


def case_cycles():
    a = List([1])
    a.append(a)
    b = List([1])
    b.append(b)
    got = outcome(_ffi_api.RecursiveHash, a).split(":")[0]
    a.clear()
    b.clear()
    return got


def case_shared_and_deep():
    a, b = Array([1]), Array([1])
    for _ in range(20):
        a, b = Array([a, a]), Array([b, b])
    x, y = Array([]), Array([])
    for _ in range(100):
        x, y = Array([x]), Array([y])
    return x == y, hash(x) == hash(y), a[0] == b[0][0]


def case_big_integers():
    f = core._lookup_type_attr
    i = core._object_type_key_to_index("ffi.BigInt")
    return [type(f(i, n)).__name__ for n in ("__ffi_hash__", "__ffi_eq__",
                                             "__ffi_compare__")], \
        _ffi_api.RecursiveLt(2**70, 2**71), _ffi_api.RecursiveLt(1, 2**71), \
        _ffi_api.RecursiveEq(2**70, 2**70), _ffi_api.RecursiveGt(-(2**70), 0)


def case_map_iteration_of_values_view():
    m = Map({"a": [1]})
    return ("a", [1]) in m.items(), ("a", [2]) in m.items()


def case_placeholders_are_not_in_use():
    return [callable(getattr(_ffi_api, "Recursive" + n))
            for n in ("Eq", "Ge", "Gt", "Hash", "Le", "Lt")], \
        raises(TypeError, _ffi_api.RecursiveEq, 1)
