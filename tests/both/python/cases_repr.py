"""What repr() writes."""

import re

import numpy as np
import tvm_ffi
import tvm_ffi.testing
from kit import core, outcome, unique
from tvm_ffi import Array, Dict, List, Map, Object
from tvm_ffi import testing as T
from tvm_ffi.access_path import AccessPath
from tvm_ffi.dataclasses import field, py_class

VALUES = [None, True, 1, -5, 2**70, 1.5, 1.0, 1e300, float("nan"), float("inf"),
          0.1, "text", "quote ' and \"", "line\nbreak \u00e9", b"bytes", b"\x00\xff",
          tvm_ffi.dtype("float32"), tvm_ffi.device("cuda", 1),
          tvm_ffi.Shape((1, 2)), [], [1, [2]], (), {}, {"a": [1]}, {1: "x"},
          List([1]), Dict({"k": None}), "a long string of many characters"]


def plain(text):
    return re.sub(r"@?0x[0-9a-f]+", "ADDRESS", text)


def case_containers():
    return [repr(Array(VALUES)), repr(List(VALUES)), repr(Map({"a": 1})),
            repr(Dict({"a": [1]})), repr(Array([])), repr(Map({})),
            str(Array([1])), f"{List([2])}"]


def case_every_value():
    return [plain(outcome(tvm_ffi._ffi_api.ReprPrint, v)) for v in VALUES]


def case_objects():
    return [plain(repr(o)) for o in (
        T.TestIntPair(1, 2), T.TestObjectBase(), T.TestObjectDerived({}, [1]),
        T._TestCxxClassDerivedDerived(1, 2, 3.5, True), T.TestCompare(1, "a", 2),
        T.TestObjectPtrHolder(T.TestObjectBase()), T._TestCxxKwOnly(x=1, y=2, z=3),
        T._TestCxxAutoInit(1, c=2))]


def case_py_class():
    @py_class(unique("Shown"))
    class Shown(Object):
        a: int
        b: str = field(repr=False, default="hidden")
        c: list[int] = field(default_factory=list)

    @py_class(unique("Hook"))
    class Hook(Object):
        a: int

        def __ffi_repr__(self, fn):
            return f"Hook<{fn(self.a)}>"

    @py_class(unique("Quiet"), repr=False)
    class Quiet(Object):
        a: int

    return repr(Shown(1, "x", [2])), repr(Hook(5)), repr(Array([Hook(6)])), \
        plain(repr(Quiet(1)))


def case_shared_and_cycles():
    inner = T.TestIntPair(1, 2)
    a = List([inner, inner])
    a.append(a)
    text = plain(repr(a))
    a.clear()
    return text


def case_functions_tensors_modules():
    return [plain(repr(v)) for v in (
        tvm_ffi.convert(len), tvm_ffi.from_dlpack(np.zeros((2, 3), "float32")),
        tvm_ffi.system_lib(), core.Error("ValueError", "m", ""), core.MISSING,
        core.KWARGS)], plain(repr(Array([tvm_ffi.convert(len),
                                         tvm_ffi.from_dlpack(np.zeros(2))])))


def case_access_paths():
    r = AccessPath.root()
    return repr(r), repr(r.attr("a").array_item(1).map_item("k").map_item(2)), \
        repr(r.attr_missing("a").array_item_missing(1).map_item_missing("k")), \
        repr(r.attr("a").step)


def case_object_repr_function():
    return core.object_repr(Array([1])), \
        core.object_repr(Object.__new__(Object)), \
        plain(repr(T.make_unregistered_object()))


def case_enums():
    from tvm_ffi.testing import _TestCxxEnumHolder, _TestCxxIntEnum, \
        _TestCxxStrEnum

    h = _TestCxxEnumHolder(_TestCxxIntEnum.low, _TestCxxStrEnum.add)
    return plain(repr(h)), plain(repr(Array([_TestCxxIntEnum.low])))


def case_opaque():
    return plain(repr(Array([object, {1}])))


def case_deep():
    a = Array([])
    for _ in range(200):
        a = Array([a])
    return len(repr(a))
