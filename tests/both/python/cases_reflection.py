"""The attributes, creators and global functions under the Python classes."""

import numpy as np
import tvm_ffi
from kit import core, outcome, show
from tvm_ffi import Array, Dict, List, Map, Shape
from tvm_ffi.access_path import AccessPath

MADE = (77, 128, 129, 130, 131, 133, 135, 137)
COPIED = (77, 128, 129, 130, 131, 132, 133, 134, 135, 136, 137)
CONVERTED = (64, 65, 66, 67, 68, 69, 70, 71, 72, 75, 76, 130, 131)
MAKE = tvm_ffi.get_global_func("ffi.MakeObjectFromPackedArgs")
COPY = tvm_ffi.get_global_func("ffi.DeepCopy")


def attribute(index, name):
    return core._lookup_type_attr(index, name)


def path():
    return AccessPath.root().attr("a").array_item(2).map_item("k")


def values():
    return (None, 3, 1.5, True, "ab", "a long string here", b"ab",
            b"long bytes are here", Array([1, 2]), List([1, "x"]), Map({1: 2}),
            Dict({"a": 1}), Shape((1, 2)), tvm_ffi.from_dlpack(np.zeros(3)),
            tvm_ffi.device("cpu"), tvm_ffi.dtype("int32"), Array(["x"]),
            List([1, 2]), Array([True, 2]), 2**80, path())


# -- attribute columns -----------------------------------------------------------


def case_convert_of_each_type():
    return [(i, [outcome(attribute(i, "__ffi_convert__"), v) for v in values()])
            for i in CONVERTED]


def case_convert_wants_one_argument():
    return [(outcome(attribute(i, "__ffi_convert__")),
             outcome(attribute(i, "__ffi_convert__"), 1, 2)) for i in CONVERTED]


def case_new_objects():
    return [(outcome(attribute(i, "__ffi_new__")),
             outcome(attribute(i, "__ffi_new__"), 1)) for i in MADE]


def case_shallow_copies():
    return [outcome(attribute(i, "__ffi_shallow_copy__"),
                    attribute(i, "__ffi_new__")()) for i in MADE]


def case_shallow_copies_of_others():
    return [(outcome(attribute(i, "__ffi_shallow_copy__")),
             outcome(attribute(i, "__ffi_shallow_copy__"), 1),
             outcome(attribute(i, "__ffi_shallow_copy__"), Array([1])))
            for i in COPIED]


def case_init_of_enum_state():
    init = attribute(128, "__ffi_init__")
    return outcome(init), outcome(init, 1)


# -- objects by their fields -----------------------------------------------------


def case_make_object():
    p = path()
    return [outcome(MAKE, *a) for a in (
        ("ffi.reflection.AccessStep", "kind", 1, "key", "x"),
        (132, "key", 3, "kind", 0), ("ffi.VisitInterrupt",),
        ("ffi.VisitInterrupt", "value", [1, 2]), ("ffi.VisitInterrupt", "v", 1),
        ("ffi.reflection.AccessStep", "kind", 1), (1,), (64,), ("ffi.Array",),
        (132, 1, 1), ("ffi.reflection.AccessStep", "kind", "x", "key", 1),
        ("ffi.reflection.AccessPath", "parent", p, "step", None, "depth", 1),
        ("ffi.reflection.AccessPath", "parent", 1, "step", None, "depth", 1),
        ("ffi.reflection.AccessPath", "parent", None, "step", p, "depth", 1),
        ("ffi.reflection.AccessStep", "kind", 1, "key", 1, "key", 2))]


def case_make_enums():
    return [outcome(MAKE, *a) for a in (
        ("ffi.Enum", "_int_index", 3, "_str_index", "abc"),
        ("ffi.Enum", "_int_index", 3, "_str_index", "a longer name is here"),
        ("ffi.Enum", "_int_index", 3, "_str_index", 5),
        ("ffi.Enum", "_int_index", 3.5, "_str_index", "x"),
        ("ffi.Enum", "_int_index", True, "_str_index", "x"),
        ("ffi.IntEnum", "_int_index", 3, "_str_index", "x", "value", 7),
        ("ffi.StrEnum", "_int_index", 3, "_str_index", "x", "value", "longer, too"))]


def case_make_enum_state():
    p = path()
    return [outcome(MAKE, "ffi.EnumState", "entries", e, "indexes", i, "attrs", a)
            for e, i, a in (
                ([p], {1: p}, {}), ([1], {}, {}), ([], {1: 2}, {}),
                (List([p, None]), Dict({1: p}), Dict({"a": Dict({p: 1})})),
                ([], {}, {1: 2}), ([], {}, {"a": 2}), ([], {}, {"a": {1: 2}}),
                ([], {}, {"a": {p: 2}}), (1, {}, {}), ([], 1, {}), ([], [], 1))]


def case_make_error_context():
    p = path()
    return [outcome(MAKE, "ffi.VisitErrorContext", "reverse_visit_pattern", r,
                    "prev_error_context", e)
            for r, e in (([p], None), ([p], p), (List([p, 3]), p), ([], 3), (None, 3))]


def case_getters_of_fields():
    make = tvm_ffi.get_global_func("ffi.MakeFieldGetter")
    results = [outcome(make, i) for i in (-2, 7, 8, 9, 10, 11, 12, 13, 63)]
    return results, [make(i) != 0 for i in (-1, 0, 1, 2, 3, 4, 5, 6, 64, 200)]


# -- access paths ----------------------------------------------------------------


def case_path_methods():
    p = path()
    return [(m.name, m.is_static, outcome(m.func), outcome(m.func, 1),
             outcome(m.func, p), outcome(m.func, p, p), outcome(m.func, p, 1),
             outcome(m.func, p, "s"))
            for m in AccessPath.__tvm_ffi_type_info__.methods]


# -- deep copies -----------------------------------------------------------------


def case_copies_of_values():
    return [outcome(COPY, v) for i, v in enumerate(values()) if i != 13]


def case_copies_of_cycles():
    a = List([1])
    a.append(a)
    b = Dict({})
    b["me"] = b
    b["list"] = List([b, Array([b])])
    c = List([])
    array = Array([c, 5])
    c.append(array)
    x, y, z = COPY(a), COPY(b), COPY(array)
    result = (x[1].same_as(x), x.same_as(a), y["me"].same_as(y),
              y["list"][0].same_as(y), y["list"][1][0].same_as(y),
              z[0][0].same_as(z), z[0][0].same_as(array))
    for container in (a, x, c, z[0], b, y):
        container.clear()
    return result


def case_copies_of_what_is_shared():
    inner = List([1])
    x = COPY(Map({"a": inner, "b": Array([inner]), "c": Array([inner, inner])}))
    return (x["a"].same_as(x["b"][0]), x["a"].same_as(x["c"][1]),
            x["a"].same_as(inner), show(x))
