"""TypeSchema: annotations, JSON, checks and conversions of values."""

import collections.abc
import ctypes
import json
import typing
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

import numpy as np
import tvm_ffi
import tvm_ffi.testing
from kit import core, outcome, raises, show
from tvm_ffi import Array, Map, Object, Shape, Tensor
from tvm_ffi.core import CAny, TypeSchema

S = TypeSchema

ANNOTATIONS = [
    None, type(None), Any, bool, int, float, str, bytes, list, dict, tuple,
    Callable, collections.abc.Callable, list[int], List[str], dict[str, int],
    Dict[str, Any], tuple[int, str], tuple[int, ...], Tuple[int, ...], tuple[()],
    Optional[int], int | None, Union[int, str], int | str | None,
    Callable[[int], str], Callable[..., int], Callable[[], None],
    collections.abc.Callable[[int, str], bool], Object, Array, Map,
    tvm_ffi.List, tvm_ffi.Dict, Array[int], Map[str, int], tvm_ffi.List[str],
    tvm_ffi.Dict[str, Any], Tensor, Shape, tvm_ffi.Device, tvm_ffi.dtype,
    tvm_ffi.Function, tvm_ffi.Module, ctypes.c_void_p, core.Error,
    collections.abc.Sequence, collections.abc.Sequence[int],
    collections.abc.Mapping[str, int], collections.abc.MutableSequence[int],
    collections.abc.MutableMapping[str, int], typing.Sequence[int],
    tvm_ffi.testing.TestIntPair, tvm_ffi.testing.TestObjectBase,
    Optional[list[Optional[dict[str, Union[int, str]]]]], core.String,
    core.Bytes, np.ndarray, complex, set, set[int], object, 5, "int", type,
    list[int, str] if False else list, frozenset[int], collections.OrderedDict]

VALUES = [
    None, True, 0, -1, 2**63 - 1, 2**63, 1.5, float("nan"), "", "text", "cpu:0",
    "float32", b"", b"bytes", bytearray(b"x"), [], [1, 2], [1, "a"], ["a"], (),
    (1,), (1, "a"), {}, {"a": 1}, {1: 2}, {"a": "b"}, Array([1]), Array(["a"]),
    Map({"a": 1}), tvm_ffi.List([1]), tvm_ffi.Dict({"a": 1}), Shape((1, 2)),
    np.zeros(2), np.int32(4), np.float32(1.5), np.bool_(True),
    tvm_ffi.device("cpu"), tvm_ffi.dtype("int8"), np.dtype("int16"), len,
    tvm_ffi.convert(len), ctypes.c_void_p(5), ValueError("e"),
    tvm_ffi.testing.TestIntPair(1, 2), object, 1j, {1}]


def case_annotations():
    return [(str(a), outcome(lambda: repr(S.from_annotation(a))))
            for a in ANNOTATIONS]


def case_annotations_to_json():
    out = []
    for a in ANNOTATIONS:
        try:
            s = S.from_annotation(a)
        except TypeError:
            continue
        j = s.to_json()
        back = S.from_json_obj(json.loads(json.dumps(j)))
        out.append((json.dumps(j, sort_keys=True), back == s, repr(back),
                    s.origin, s.origin_type_index))
    return out


def case_json():
    texts = ['{"type":"int"}', '{"type":"Any"}', '{"type":"None"}',
             '{"type":"ffi.Array","args":[{"type":"int"}]}',
             '{"type":"ffi.Map","args":[{"type":"ffi.String"},{"type":"Any"}]}',
             '{"type":"Optional","args":[{"type":"ffi.String"}]}',
             '{"type":"Variant","args":[{"type":"int"},{"type":"bool"}]}',
             '{"type":"Union","args":[{"type":"int"},{"type":"bool"}]}',
             '{"type":"Tuple","args":[{"type":"int"},{"type":"float"}]}',
             '{"type":"ffi.Function"}', '{"type":"ffi.BigInt"}',
             '{"type":"ffi.Function","named_args":{"return":[{"type":"int"}],'
             '"params":[{"type":"float"}]}}',
             '{"type":"std::function","args":[{"type":"int"},'
             '[{"type":"float"}]]}', '{"type":"std::vector","args":'
             '[{"type":"int"}]}', '{"type":"const char*"}', '{"type":"void*"}',
             '{"type":"DLTensor*"}', '{"type":"ffi.Tensor"}',
             '{"type":"DataType"}', '{"type":"Device"}', '{"type":"no.such"}',
             '{"type":"ObjectRValueRef"}', '{"type":"testing.TestIntPair"}',
             '{"type":"ffi.Array","args":[5]}', '{"type":5}', '{}', '[]', '5',
             '{"type":"Optional"}', '{"type":"Union","args":[{"type":"int"}]}',
             '{"type":"ffi.Array","args":[{"type":"int"},{"type":"int"}]}',
             '{"type":"int","named_args":5}', '{"type":""}', 'nonsense',
             '{"type":"int","fallback":{"type":"str"}}']
    return [(t, outcome(lambda: (repr(S.from_json_str(t)),
                                 S.from_json_str(t).type_key)))
            for t in texts]


def case_constructor():
    i = S("int")
    return [outcome(lambda: repr(S(*a, **k))) for a, k in (
        (("int",), {}), (("",), {}), ((5,), {}), (("Array", (i,)), {}),
        (("Array", [i]), {}), (("Array", (i, i)), {}), (("Array", (5,)), {}),
        (("Map", (i,)), {}), (("Map", (i, i)), {}), (("Optional", ()), {}),
        (("Optional", (i,)), {}), (("Union", (i,)), {}),
        (("Union", (i, S("str"))), {}), (("tuple", (i, i, i)), {}),
        (("tuple", ()), {}), (("tuple",), {}), (("Callable", (i, i)), {}),
        (("Callable",), {"named_args": {"return": (i,)}}),
        (("Callable",), {"named_args": {"params": (i,)}}),
        (("Callable",), {"named_args": {"return": (i, i)}}),
        (("Callable",), {"named_args": {"zzz": (i,)}}),
        (("int",), {"named_args": 5}), (("int",), {"named_args": {"": ()}}),
        (("int",), {"named_args": {"a": 5}}),
        (("int",), {"named_args": {"a": (5,)}}))]


def case_check_value():
    out = []
    for a in ANNOTATIONS:
        try:
            s = S.from_annotation(a)
        except TypeError:
            continue
        out.append((repr(s), [outcome(s.check_value, v) for v in VALUES]))
    return out


def converted(schema, value):
    c = schema.convert(value)
    assert isinstance(c, CAny)
    return core._to_py_class_value(c)


def case_convert():
    out = []
    for a in ANNOTATIONS:
        try:
            s = S.from_annotation(a)
        except TypeError:
            continue
        out.append((repr(s), [outcome(converted, s, v) for v in VALUES]))
    return out


def case_convert_of_objects():
    T = tvm_ffi.testing
    s = S.from_annotation(T.TestObjectBase)
    d = T.TestObjectDerived({}, [], v_i64=4)
    return converted(s, d).same_as(d), \
        [outcome(converted, s, v) for v in (T.TestIntPair(1, 2), None, 5, {})], \
        outcome(converted, S("no.such"), 5)


def case_convert_by_hook():
    """TestIntPair has a conversion of its own from other values."""
    s = S.from_annotation(tvm_ffi.testing.TestIntPair)
    return [outcome(lambda: (converted(s, v).a, converted(s, v).b))
            for v in ((1, 2), [1, 2], 5, {"a": 1})]


def case_converters_with_protocols():
    class Int:
        def __tvm_ffi_int__(self):
            return 7

    class Float:
        def __tvm_ffi_float__(self):
            return 2.5

    class Value:
        def __tvm_ffi_value__(self):
            return 9

    class Cycle:
        def __tvm_ffi_value__(self):
            return self

    class BadIndex:
        def __tvm_ffi_int__(self):
            raise ValueError("bad")

    class Convertible(tvm_ffi.ObjectConvertible):
        def asobject(self):
            return Array([1])

    class BadConvertible(tvm_ffi.ObjectConvertible):
        def asobject(self):
            raise ValueError("bad")

    values = [Int(), Float(), Value(), Cycle(), BadIndex(), Convertible(),
              BadConvertible()]
    return [(n, [outcome(converted, S(n), v) for v in values])
            for n in ("int", "float", "Any", "Array", "bool", "str")]


def case_repr_with_map():
    s = S.from_annotation(Callable[[list[int], Optional[str]], dict[str, int]])
    return s.repr(), s.repr(lambda t: t.upper()), s.input_repr(), \
        s.output_repr(), S.from_annotation(Array[int]).input_repr(), \
        S.from_annotation(Array[int]).output_repr()


def case_subtypes():
    T = tvm_ffi.testing
    d = S.from_annotation(T.TestObjectDerived)
    return [d.is_subtype_of(c) for c in (T.TestObjectBase, T.TestObjectDerived,
                                         T.TestIntPair, Object, int, Array)], \
        S("int").is_subtype_of(Object), S("Array").is_subtype_of(Object)


def case_from_type_index():
    f = S.from_type_index
    i = core._object_type_key_to_index("testing.TestIntPair")
    return [repr(f(k)) for k in (0, 1, 2, 3, 4, 5, 6, 64, 65, 66, 68, 70, 71,
                                 72, 75, 76, 78)], repr(f(i)), \
        repr(f(71, (S("int"),))), f(78).type_key


def case_equality_and_hash():
    a, b = S.from_annotation(list[int]), S.from_annotation(list[int])
    return a == b, a == S("int"), outcome(hash, a).split(":")[0]


def case_any_holder():
    c = S("int").convert(True)
    return show(core._to_py_class_value(c)), type(c).__name__, \
        outcome(CAny, 5), outcome(lambda: core._to_py_class_value(CAny([1])))


def case_from_maybe_json():
    f = S._from_maybe_json
    return repr(f(S("int"))), repr(f('{"type":"int"}')), \
        repr(f({"type": "float"})), raises(TypeError, f, 5)
