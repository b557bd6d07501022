"""Pickle and copies of what needs no JSON graph; deep copies of containers."""

import copy
import pickle

import tvm_ffi
import tvm_ffi.testing
from kit import core, outcome, show, use_count
from tvm_ffi import Array, Dict, List, Map, _ffi_api
from tvm_ffi import testing as T


def case_value_types():
    out = []
    for v in (tvm_ffi.dtype("float32"), tvm_ffi.device("cuda", 2),
              core.String("s"), core.Bytes(b"b"),
              core.Error("ValueError", "m", "")):
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            r = pickle.loads(pickle.dumps(v, protocol))
            out.append(show(r))
    return out


def case_string_becomes_str():
    s = pickle.loads(pickle.dumps(core.String("a longer string than seven")))
    b = pickle.loads(pickle.dumps(core.Bytes(b"a longer string than seven")))
    return type(s) is str, type(b) is bytes


def case_deep_copy_of_containers():
    out = []
    for v in (Array([1, "a", None]), List([1, [2]]), Map({"a": [1]}),
              Dict({"a": {"b": 1}}), Array([]), Map({})):
        c = copy.deepcopy(v)
        assert type(c) is type(v) and show(c) == show(v)
        out.append((c, c.same_as(v)))
    return out


def case_deep_copy_is_deep():
    inner = List([1])
    outer = List([inner, inner, Dict({"k": inner})])
    c = copy.deepcopy(outer)
    c[0].append(2)
    assert not c[0].same_as(inner) and c[0].same_as(c[1])
    return outer, c, c[0].same_as(c[1]), c[2]["k"].same_as(c[0])


def case_deep_copy_of_immutable_containers_with_mutable_parts():
    inner = List([1])
    a = Array([inner, (inner,), {"k": inner}])
    c = copy.deepcopy(a)
    inner.append(5)
    return a, c, c[0].same_as(c[1][0]), c[2]["k"].same_as(c[0])


def case_deep_copy_of_cycles():
    a = List([1])
    a.append(a)
    c = outcome(lambda: copy.deepcopy(a))
    a.clear()
    d = Dict()
    d["me"] = d
    e = outcome(lambda: copy.deepcopy(d))
    d.clear()
    return c, e


def case_deep_copy_of_other_objects():
    import numpy as np

    f = tvm_ffi.convert(lambda: 1)
    t = tvm_ffi.from_dlpack(np.zeros(3))
    values = (f, t, "string long enough", tvm_ffi.Shape((1,)), b"bytes " * 9,
              core.Error("ValueError", "m", ""), 2**80)
    return [outcome(copy.deepcopy, Array([v])) for v in values], \
        [outcome(_ffi_api.DeepCopy, v) for v in values]


def case_deep_copy_of_objects():
    p = T.TestIntPair(1, 2)
    o = T.TestObjectDerived(v_map={"a": [1]}, v_array=[List([2])], v_i64=7)
    c, d = copy.deepcopy(p), copy.deepcopy(o)
    assert not c.same_as(p) and not d.same_as(o)
    d.v_i64 = 8
    return (c.a, c.b), (d.v_i64, d.v_map, d.v_array, o.v_i64), \
        d.v_array[0].same_as(o.v_array[0])


def case_deep_copy_of_shared_objects():
    p = T.TestIntPair(1, 2)
    a = copy.deepcopy(Array([p, p, [p]]))
    return a[0].same_as(a[1]), a[2][0].same_as(a[0]), a[0].same_as(p)


def case_deep_copy_of_object_in_cycle():
    edges = List([])
    o = T.TestObjectDerived(v_map={"l": edges}, v_array=[])
    edges.append(o)
    c = copy.deepcopy(o)
    got = c.v_map["l"][0].same_as(c), c.same_as(o)
    edges.clear()
    c.v_map["l"].clear()
    return got


def case_deep_copy_function():
    f = _ffi_api.DeepCopy
    return [outcome(f, v) for v in (1, 1.5, None, "a", "long string here", b"x",
                                    [1, [2]], {"a": 1}, List([1]),
                                    tvm_ffi.dtype("int8"),
                                    tvm_ffi.device("cpu"))], outcome(f), \
        outcome(f, T.TestNonCopyable(1))


def case_copy_of_objects():
    p = T.TestIntPair(1, 2)
    c = copy.copy(p)
    o = T.TestObjectBase(v_i64=5)
    d = copy.copy(o)
    d.v_i64 = 6
    h = T.TestObjectPtrHolder(o)
    return (c.a, c.b, c.same_as(p)), (o.v_i64, d.v_i64), \
        copy.copy(h).value.same_as(o), use_count(c)


def case_copy_that_is_refused():
    n = T.TestNonCopyable(3)
    return outcome(copy.copy, n), outcome(copy.deepcopy, n), \
        outcome(copy.deepcopy, Array([n])), outcome(copy.deepcopy, {"n": n})


def case_replace():
    from tvm_ffi.dataclasses import replace

    o = T.TestObjectBase(v_i64=5, v_str="a")
    r = replace(o, v_i64=9)
    return r.v_i64, r.v_str, o.v_i64, \
        outcome(replace, o, nope=1), outcome(replace, o, v_i64="x"), \
        outcome(replace, 5, a=1)


def case_deep_copy_of_a_deep_nest():
    a = List([])
    for _ in range(500):
        a = List([a])
    c, depth = copy.deepcopy(a), 0
    while len(c):
        c, depth = c[0], depth + 1
    return depth


def case_deep_copy_memory():
    v = Array([List([1])])
    memo = {}
    c = v.__deepcopy__(memo)
    return show(c), memo


def case_deep_copy_of_enum():
    from tvm_ffi.testing import _TestCxxIntEnum as E

    return copy.deepcopy(E.low).same_as(E.low), \
        copy.deepcopy(Array([E.low]))[0].same_as(E.low)
