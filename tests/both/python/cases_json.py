"""JSON graphs, pickling of objects, ffi.json."""

import copy
import json
import pickle

import numpy as np
import tvm_ffi
import tvm_ffi.testing
from kit import core, outcome, show, unique
from tvm_ffi import Array, Dict, List, Map, Object, _ffi_api, serialization
from tvm_ffi import testing as T
from tvm_ffi.dataclasses import py_class

VALUES = [None, True, False, 0, -5, 2**62, 1.5, 1e300, "", "text", "a long string "
          "to be kept", "\u00e9\n\"", b"", b"bytes", b"\x00\xff" * 10,
          tvm_ffi.dtype("float32"), tvm_ffi.device("cuda", 1),
          tvm_ffi.Shape((1, 2)), [], [1, [2, "x"]], {}, {"a": [1], "b": {}},
          {1: 2}, List([1, [2]]), Dict({"k": 1})]

to, back = serialization.to_json_graph_str, serialization.from_json_graph_str


def case_round_trips():
    return [(outcome(to, v), outcome(lambda: back(to(v)))) for v in VALUES]


def case_metadata():
    return to([1], {"a": 1}), outcome(to, [1], 5), back(to([1], {"a": 1}))


def case_shared_references():
    inner = Array([1])
    c = back(to(Array([inner, inner])))
    d = back(to(List([List([1])])))
    return c[0].same_as(c[1]), d, to(Array([inner, inner]))


def case_objects():
    out = []
    for o in (T.TestIntPair(1, 2), T.TestObjectBase(v_i64=3),
              T.TestObjectDerived({"a": 1}, [1, 2]),
              T.TestObjectPtrHolder(T.TestObjectBase()),
              T._TestCxxAutoInit(1, c=2)):
        text = outcome(to, o)
        out.append((text, outcome(lambda: type(back(to(o))).__name__)))
    return out


def case_py_class():
    @py_class(unique("Json"))
    class Json(Object):
        a: int
        b: list[str]
        c: float = 0.5

    return outcome(lambda: back(to(Json(1, ["x"]))).b)


def case_keys_of_types():
    """Short ones are small strings only if the type is built in."""
    out = []
    for key in ("_js", "_js.345", "_js.3456"):
        @py_class(key)
        class Json(Object):
            a: int

        out.append(_ffi_api.ToJSONGraph([Json(1), Map({"b": 2.5})], None))
    return out


def case_errors():
    texts = ["", "nonsense", "{}", "[]", '{"root_index":5,"nodes":[]}',
             '{"root_index":0,"nodes":[{"type":"no.such"}]}',
             '{"root_index":0,"nodes":[{"type":"int","data":"x"}]}',
             '{"root_index":0,"nodes":[{"type":"ffi.Array","data":[7]}]}']
    return [outcome(back, t) for t in texts], outcome(to, tvm_ffi.convert(len)), \
        outcome(back, 5)


def case_pickle():
    out = []
    for o in (Array([1, [2]]), List([1]), Map({"a": 1}), Dict({"a": [1]}),
              tvm_ffi.Shape((1, 2)), T.TestObjectBase(v_i64=9)):
        r = pickle.loads(pickle.dumps(o))
        out.append((type(r).__name__, r, r.same_as(o) if isinstance(
            o, core.CObject) else None))
    return out, pickle.loads(pickle.dumps(T.TestIntPair(1, 2))).b


def case_pickle_empty_handle():
    o = Object.__new__(Object)
    r = pickle.loads(pickle.dumps(o))
    return type(r).__name__, r.__chandle__()


def case_pickle_functions_and_tensors():
    return outcome(pickle.dumps, tvm_ffi.convert(len)).split(":")[0], \
        outcome(pickle.dumps, tvm_ffi.from_dlpack(np.zeros(2))).split(":")[0]


def case_copy_by_reduce():
    return copy.copy(Array([1])), copy.copy(Map({"a": 1})), \
        copy.copy(tvm_ffi.Shape((1,)))


def case_graph_functions():
    f, g = _ffi_api.ToJSONGraph, _ffi_api.FromJSONGraph
    return [outcome(f, v, None) for v in VALUES], \
        [outcome(lambda: g(f(v, None))) for v in VALUES]


def case_json_parse():
    f = tvm_ffi.get_global_func("ffi.json.Parse")
    texts = ["1", "-0", "1.5", "1e5", "1E-2", "true", "false", "null", '"a"',
             '"\\n\\u00e9\\ud83d\\ude00"', "[]", "[1, 2, [3]]", "{}",
             '{"a": 1, "b": [null]}', " \t\n1 ", "NaN", "Infinity", "-Infinity",
             "9223372036854775807", "9223372036854775808", "1e400", "", " ",
             "[", "]", "[1,]", "{,}", '{"a"}', '{"a":}', "{a:1}", "'a'", "01",
             "1.", ".5", "+1", "--1", "1 2", "tru", '"', '"\\x"', '"\\u12"',
             '"\\ud800"', '"\t"', "[1 2]", "nul", "\u00e9", '{"a":1,"a":2}',
             "[" * 100 + "]" * 100]
    return [(t[:30], outcome(f, t)) for t in texts]


def case_json_stringify():
    f = tvm_ffi.get_global_func("ffi.json.Stringify")
    values = [None, True, 1, -1, 1.5, 1.0, 1e300, 1e-7, 0.1, float("nan"),
              float("inf"), "", 'q"\\\n\t\u0001\u00e9\U0001f600', [], [1, [2]], {},
              {"a": [1, {"b": None}]}, {1: 2}, b"x", tvm_ffi.dtype("int8"),
              List([1]), Dict({"a": 1})]
    return [(outcome(f, v, None), outcome(f, v, 2)) for v in values], \
        outcome(f, [1], -1), outcome(f, 1)


def case_json_round_trip_with_python():
    f = tvm_ffi.get_global_func("ffi.json.Stringify")
    v = {"a": [1, 2.5, "x", None, True], "b": {"c": []}}
    assert json.loads(f(v, None)) == v
    return show(tvm_ffi.get_global_func("ffi.json.Parse")(json.dumps(v)))


def case_enums():
    from tvm_ffi.testing import _TestCxxIntEnum as E

    return outcome(to, E.low), outcome(lambda: back(to(E.low)).same_as(E.low)), \
        outcome(lambda: pickle.loads(pickle.dumps(E.high)).same_as(E.high))


def case_access_paths():
    from tvm_ffi.access_path import AccessPath

    p = AccessPath.root().attr("a").array_item(1)
    return outcome(lambda: back(to(p)) == p)
