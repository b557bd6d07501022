"""Array, List, Map, Dict: all that does not compare structurally."""

import collections
import gc
import weakref

import numpy as np
import tvm_ffi
import tvm_ffi.testing
from kit import core, echo, outcome, raises, show, unique, use_count
from tvm_ffi import Array, Dict, List, Map, _ffi_api, container

VALUES = [None, True, False, 0, 1, -1, 2**31, -(2**63), 2**63 - 1, 0.0, 1.5,
          -2.5e300, float("inf"), "", "a", "1234567", "12345678", "long " * 20,
          "\u00e9\u4e2d\U0001f600", b"", b"x", b"\x00\x01", b"y" * 40,
          tvm_ffi.dtype("float32"), tvm_ffi.device("cpu", 3)]


# -- Array -------------------------------------------------------------------


def case_array_construct():
    results = []
    for source in ([], [1, 2, 3], (4, 5), range(3), iter([7]), {1: 2},
                   "abc", Array([8]), List([9]), (x for x in [1, "b"])):
        a = Array(source)
        assert type(a) is Array
        results.append(a)
    return results


def case_array_construct_of_every_value():
    a = Array(VALUES)
    assert len(a) == len(VALUES)
    for x, y in zip(a, VALUES):
        assert type(x) is type(y) or isinstance(x, type(y)), (x, y)
        assert x == y
    return a


def case_array_construct_bad():
    return [raises(TypeError, Array), raises(TypeError, Array, 1),
            raises(TypeError, Array, None),
            raises(TypeError, Array, [1], [2])]


def case_array_index():
    a = Array([10, 20, 30])
    got = [a[0], a[1], a[2], a[-1], a[-2], a[-3], a[True], a[np.int64(1)]]
    assert got == [10, 20, 30, 30, 20, 10, 20, 20]
    return got


def case_array_index_errors():
    a = Array([10, 20, 30])
    return [raises(IndexError, a.__getitem__, i)
            for i in (3, -4, 100, -100, 2**62)] + [
        raises(TypeError, a.__getitem__, i)
        for i in ("0", 1.0, None, [0], (0, 1))] + [
        raises(IndexError, Array([]).__getitem__, 0)]


def case_array_slices():
    a, expected = Array(range(10)), list(range(10))
    out = []
    for start in (None, 0, 3, -3, 20, -20):
        for stop in (None, 0, 5, -1, 20, -20):
            for step in (None, 1, 2, -1, -3, 20):
                s = slice(start, stop, step)
                assert a[s] == expected[s], s
                assert type(a[s]) is list
                out.append(a[s])
    return len(out), raises(ValueError, a.__getitem__, slice(0, 1, 0))


def case_array_iterate():
    a = Array([1, "two", 3.0, None])
    it = iter(a)
    got = [next(it), next(it)]
    rest = list(it)
    first, *others = a
    return got, rest, first, others, list(reversed(a)), list(enumerate(a))


def case_array_len_and_bool():
    return [(len(Array(range(n))), bool(Array(range(n))))
            for n in (0, 1, 2, 1000)]


def case_array_contains():
    inner = Array([1])
    a = Array([1, 2.5, "abc", b"abc", None, "a long string indeed", inner,
               tvm_ffi.device("cpu", 0), tvm_ffi.dtype("int8")])
    queries = [1, 2, 1.0, True, 2.5, "abc", b"abc", "ab", None,
               "a long string indeed", "a long string inde", inner,
               tvm_ffi.device("cpu", 0), tvm_ffi.device("cpu", 1),
               tvm_ffi.dtype("int8"), tvm_ffi.dtype("int16"), float("nan")]
    got = [q in a for q in queries]
    assert got[0] and got[5] and got[8] and got[11] and not got[1]
    return got


def case_array_contains_nan():
    nan = float("nan")
    return nan in Array([nan]), 0.0 in Array([-0.0]), -0.0 in Array([0.0])


def case_array_concatenate():
    a = Array([1, 2])
    got = [a + [3], a + (4, 5), [0] + a, (9,) + a, a + a, a + Array([]),
           a + List([7]), a + "xy", a + (x for x in [1])]
    assert all(type(g) is Array for g in got)
    assert list(got[0]) == [1, 2, 3] and list(got[2]) == [0, 1, 2]
    return got, raises(TypeError, lambda: a + 1)


def case_array_sequence_methods():
    a = Array([3, 1, 3, 2])
    return (a.count(3), a.count(9), a.index(3), a.index(3, 1), a.index(2, -2),
            raises(ValueError, a.index, 9), sorted(a), sum(a), max(a),
            isinstance(a, collections.abc.Sequence),
            isinstance(a, collections.abc.MutableSequence))


def case_array_is_immutable():
    a = Array([1])

    def set_item():
        a[0] = 2

    def del_item():
        del a[0]

    return (raises(TypeError, set_item), raises(TypeError, del_item),
            raises(AttributeError, lambda: a.append),
            raises(AttributeError, setattr, a, "x", 1))


def case_array_nested():
    a = Array([[1, [2, [3]]], {"k": (4, {"l": [5]})}, (), {}])
    assert type(a[0]) is Array and type(a[0][1]) is Array
    assert type(a[1]) is Map and type(a[1]["k"]) is Array
    assert a[0][1][1][0] == 3 and a[1]["k"][1]["l"][0] == 5
    return a


def case_array_identity_of_elements():
    inner = Array([1, 2])
    a = Array([inner, inner])
    assert a[0].same_as(inner) and a[0].same_as(a[1]) and a[0].is_(inner)
    assert not Array([1]).same_as(Array([1]))
    return use_count(inner), a[0] is a[1], a[0] is inner


def case_array_reference_counts():
    inner = Array([1])
    counts = [use_count(inner)]
    outer = Array([inner, inner, inner])
    counts.append(use_count(inner))
    element = outer[0]
    counts.append(use_count(inner))
    del outer
    counts.append(use_count(inner))
    del element
    counts.append(use_count(inner))
    assert counts[:2] == [1, 4] and counts[-1] == 1, counts
    return counts


def case_array_of_functions_and_tensors():
    x = tvm_ffi.from_dlpack(np.arange(3, dtype="int32"))
    a = Array([lambda v: v + 1, x, len])
    assert a[0](1) == 2 and a[2]([1, 2, 3]) == 3
    assert np.array_equal(np.from_dlpack(a[1]), [0, 1, 2])
    return a


def case_array_of_objects():
    pair = tvm_ffi.testing.TestIntPair(1, 2)
    a = Array([pair, pair])
    assert a[0].same_as(pair) and type(a[1]) is tvm_ffi.testing.TestIntPair
    return a[0].a, a[1].sum()


def case_array_of_opaque_objects():
    class Thing:
        pass

    thing = Thing()
    a = Array([thing, set([1]), Thing])
    assert a[0] is thing and a[1] == {1}
    return len(a)


def case_array_big():
    for n in (255, 256, 257, 1000, 100000):
        a = Array(range(n))
        assert len(a) == n and a[n - 1] == n - 1 and a[-n] == 0
    return sum(a)


def case_array_functions():
    a = Array([5, 6])
    f = _ffi_api
    return (f.ArraySize(a), f.ArrayGetItem(a, 0), f.ArrayGetItem(a, 1),
            f.ArrayContains(a, 6), f.ArrayContains(a, 7), f.Array(),
            f.Array(1, "x"))


def case_array_functions_errors():
    a = Array([5, 6])
    f = _ffi_api
    return [outcome(f.ArrayGetItem, a, 2), outcome(f.ArrayGetItem, a, -1),
            outcome(f.ArrayGetItem, a, 2**40), outcome(f.ArrayGetItem, a),
            outcome(f.ArrayGetItem, a, 1, 2), outcome(f.ArrayGetItem, a, "x"),
            outcome(f.ArrayGetItem, 1, 1), outcome(f.ArrayGetItem, None, 1),
            outcome(f.ArrayGetItem, Map({}), 1),
            outcome(f.ArrayGetItem, List([1]), 0),
            outcome(f.ArraySize, "abc"), outcome(f.ArraySize),
            outcome(f.ArraySize, List([1, 2])), outcome(f.ArraySize, [1, 2]),
            outcome(f.ArrayGetItem, a, 1.0), outcome(f.ArrayGetItem, a, True),
            outcome(f.ArrayContains, a), outcome(f.ArrayContains, 1, 2)]


def case_array_weak_reference():
    a = Array([1])
    return raises(TypeError, weakref.ref, a)


def case_array_destroyed_with_python_values():
    class Thing:
        pass

    thing = Thing()
    ref = weakref.ref(thing)
    a = Array([Array([thing])])
    del thing
    gc.collect()
    alive = ref() is not None
    del a
    gc.collect()
    assert alive and ref() is None
    return alive


def case_array_subclass():
    class Mine(Array):
        pass

    a = Mine([1, 2])
    assert type(a) is Mine and type(a + [3]) is Mine
    return list(a), type(echo(a)).__name__


def case_array_generic_alias():
    return str(Array[int]), Array[int]([1])


def case_array_not_constructed():
    a = Array.__new__(Array)
    return a.__chandle__(), a.id_, repr(a)


# -- List --------------------------------------------------------------------


def case_list_construct():
    got = [List(), List([]), List([1, "a"]), List((1,)), List(range(3)),
           List(Array([1])), List(List([2])), List("ab")]
    assert all(type(g) is List for g in got)
    return got, raises(TypeError, List, 1)


def case_list_every_value():
    a = List(VALUES)
    b = List()
    for v in VALUES:
        b.append(v)
    assert list(a) == list(b) == VALUES
    return a


def case_list_index_and_errors():
    a = List([10, 20, 30])
    assert [a[0], a[-1], a[1:], a[::-1]] == [10, 30, [20, 30], [30, 20, 10]]
    return [raises(IndexError, a.__getitem__, i) for i in (3, -4)] + [
        raises(TypeError, a.__getitem__, "x")]


def case_list_set_item():
    a = List([1, 2, 3])
    a[0] = "x"
    a[-1] = [4]
    a[1] = None
    assert a[0] == "x" and list(a[2]) == [4] and a[1] is None
    return a, [raises(IndexError, a.__setitem__, i, 0) for i in (3, -4)], \
        raises(TypeError, a.__setitem__, "k", 0)


def case_list_set_slices():
    results = []
    for start in (None, 0, 2, -2, 9, -9):
        for stop in (None, 0, 3, -1, 9):
            for new in ([], [7], [7, 8, 9, 10]):
                a, e = List(range(5)), list(range(5))
                a[start:stop] = new
                e[start:stop] = new
                assert list(a) == e, (start, stop, new)
                results.append(e)
    return results


def case_list_set_extended_slices():
    a = List(range(6))
    a[::2] = "abc"
    a[::-3] = [8, 9]
    return a, raises(ValueError, a.__setitem__, slice(None, None, 2), [1]), \
        raises(TypeError, a.__setitem__, slice(0, 1), 5)


def case_list_set_slice_of_itself():
    a = List([1, 2])
    a[1:1] = a
    a[:] = a
    return a


def case_list_delete():
    a = List(range(10))
    del a[0]
    del a[-1]
    del a[2:4]
    del a[::2]
    del a[5:2]
    got = list(a)
    del a[::-1]
    return got, a, raises(IndexError, a.__delitem__, 0)


def case_list_delete_extended():
    out = []
    for s in (slice(None, None, 2), slice(None, None, -2), slice(1, 8, 3),
              slice(8, 1, -3)):
        a, e = List(range(9)), list(range(9))
        del a[s]
        del e[s]
        assert list(a) == e
        out.append(e)
    return out


def case_list_insert():
    a, e = List(), []
    for i, v in [(0, "a"), (0, "b"), (1, "c"), (-1, "d"), (100, "e"),
                 (-100, "f"), (3, "g")]:
        a.insert(i, v)
        e.insert(i, v)
        assert list(a) == e
    return a


def case_list_append_extend():
    a = List()
    for i in range(100):
        a.append(i)
    a.extend([1, 2])
    a.extend(x for x in "ab")
    a.extend(Array([3]))
    a += [4]
    a.extend(a)
    return len(a), a[-5:], raises(TypeError, a.extend, 1)


def case_list_pop():
    a = List(range(5))
    got = [a.pop(), a.pop(0), a.pop(-2), a.pop(1)]
    assert got == [4, 0, 2, 3]
    return got, a, raises(IndexError, a.pop, 1), raises(IndexError, a.pop, -2), \
        a.pop(), raises(IndexError, a.pop)


def case_list_remove_reverse_clear():
    a = List([1, 2, 3, 2])
    a.remove(2)
    first = list(a)
    a.reverse()
    second = list(a)
    bad = raises(ValueError, a.remove, 9)
    a.clear()
    a.clear()
    a.reverse()
    return first, second, bad, a, len(a), bool(a)


def case_list_sequence_methods():
    a = List([3, 1, 3])
    return (a.count(3), a.index(1), raises(ValueError, a.index, 7), 3 in a,
            9 in a, "3" in a, list(reversed(a)), sorted(a),
            isinstance(a, collections.abc.MutableSequence), a + [1], [0] + a)


def case_list_shared_by_references():
    a = List([1])
    outer = Array([a])
    outer[0].append(2)
    b = echo(a)
    b.append(3)
    assert a.same_as(b) and list(a) == [1, 2, 3]
    return a, a is b


def case_list_changed_while_iterated():
    a = List([1, 2, 3])
    out = []
    for x in a:
        out.append(x)
        if len(out) < 3:
            a.append(x * 10)
    b = List([1, 2, 3, 4])

    def shrink():
        for x in b:
            b.pop()

    return out, a, outcome(shrink), b


def case_list_in_itself():
    a = List([1])
    a.append(a)
    assert a[1].same_as(a) and a[1][1].same_as(a)
    count = use_count(a)
    a.pop()
    return count, use_count(a)


def case_list_functions():
    f, a = _ffi_api, List([1, 2, 3])
    got = [f.ListSize(a), f.ListGetItem(a, 1), f.ListContains(a, 3)]
    f.ListSetItem(a, 0, "z")
    f.ListInsert(a, 1, "i")
    f.ListAppend(a, "e")
    f.ListReserve(a, 100)
    got += [show(a), f.ListPop(a, 0)]
    f.ListErase(a, 0)
    f.ListReplaceSlice(a, 0, 1, List([9, 9]))
    f.ListEraseRange(a, 0, 1)
    f.ListReverse(a)
    got.append(show(a))
    f.ListClear(a)
    return got, a, f.List(), f.List(1, None)


def case_list_functions_errors():
    f = _ffi_api
    a = List([1, 2, 3])
    calls = [
        (f.ListGetItem, a, 3), (f.ListGetItem, a, -1), (f.ListGetItem, a),
        (f.ListGetItem, Array([1]), 0), (f.ListGetItem, "x", 0),
        (f.ListSetItem, a, 3, 0), (f.ListSetItem, a, -1, 0),
        (f.ListSetItem, a, "x", 0), (f.ListSetItem, None, 0, 0),
        (f.ListSetItem, Array([1]), 0, 0),
        (f.ListInsert, a, 4, 0), (f.ListInsert, a, -1, 0),
        (f.ListErase, a, 3), (f.ListErase, a, -1), (f.ListPop, a, 3),
        (f.ListPop, a, -1), (f.ListPop, List(), 0), (f.ListPop, List(), -1),
        (f.ListEraseRange, a, 0, 4), (f.ListEraseRange, a, 2, 1),
        (f.ListEraseRange, a, -1, 1), (f.ListEraseRange, a, 4, 4),
        (f.ListReplaceSlice, a, 0, 4, List()),
        (f.ListReplaceSlice, a, 2, 1, List()),
        (f.ListReplaceSlice, a, -1, 1, List()),
        (f.ListReplaceSlice, a, 0, 1, [8]), (f.ListReplaceSlice, a, 0, 1, 5),
        (f.ListAppend, a), (f.ListAppend, a, 1, 2), (f.ListAppend, {}, 1),
        (f.ListReserve, a, -1), (f.ListReserve, a, "x"),
        (f.ListClear, [1]), (f.ListReverse, 1), (f.ListContains, a),
        (f.ListSize, Array([1])), (f.ListSize, None)]
    return [outcome(*c) for c in calls], a


def case_list_destroys_what_it_drops():
    class Thing:
        pass

    def held():
        thing = Thing()
        ref = weakref.ref(thing)
        return Array([thing]), ref

    out = []
    for drop in (lambda a: a.pop(), lambda a: a.clear(),
                 lambda a: a.__setitem__(0, 1), lambda a: a.__delitem__(0),
                 lambda a: a.__setitem__(slice(0, 1), [])):
        value, ref = held()
        a = List([value])
        del value
        gc.collect()
        assert ref() is not None
        drop(a)
        gc.collect()
        out.append(ref() is None)
    assert all(out)
    return out


def case_list_and_array_convert_into_each_other():
    a, b = List([1, 2]), Array([3, 4])
    f = tvm_ffi.get_global_func
    return [outcome(f("testing.schema_id_arr"), a),
            outcome(f("testing.schema_id_arr_int"), a),
            outcome(f("testing.schema_id_list_int"), b),
            outcome(f("testing.schema_id_list_int"), [1, 2]),
            outcome(f("testing.schema_id_arr_int"), List([1, "x"])),
            outcome(f("testing.schema_id_list_str"), Array(["x", 1])),
            outcome(f("testing.schema_id_arr_str"), ["a", "b" * 30])]


def case_list_reserve_without_memory():
    values = List([1])
    return [(outcome(_ffi_api.ListReserve, values, n), show(values))
            for n in (2**45, 2**55, 2**59)]


# -- Map ---------------------------------------------------------------------


def case_map_construct():
    got = [Map({}), Map({"a": 1}), Map({1: "x", 2: None}),
           Map(collections.OrderedDict(b=1, a=2)), Map(Map({"k": "v"})),
           Map(Dict({"k": "v"}))]
    assert all(type(g) is Map for g in got)
    return got, raises(TypeError, Map), raises(AttributeError, Map, [1]), \
        raises(AttributeError, Map, None)


def case_map_keys_of_every_value():
    keys = [v for v in VALUES if v is None or type(v) is not bool and v != 0]
    m = Map({v: i for i, v in enumerate(keys)})
    out = []
    for k in m:
        out.append((k, m[k]))
    for v in keys:
        assert v in m, v
    return out


def case_map_bool_int_float_keys_differ():
    m = Map({True: "bool"})
    n = Map({1: "int"})
    f = Map({1.0: "float"})
    return [[q in x for q in (True, 1, 1.0)] for x in (m, n, f)]


def case_map_none_and_object_keys():
    pair = tvm_ffi.testing.TestIntPair(1, 2)
    other = tvm_ffi.testing.TestIntPair(1, 2)
    fn = tvm_ffi.convert(lambda: 1)
    m = Map({None: 0, pair: 1, fn: 2})
    assert m[None] == 0 and m[pair] == 1 and m[fn] == 2 and other not in m
    return len(m), raises(KeyError, m.__getitem__, "absent")


def case_map_float_keys():
    nan = float("nan")
    m = Map({0.0: "zero", 1.5: "x", float("inf"): "inf"})
    return [q in m for q in (0.0, -0.0, 1.5, float("inf"), nan)], \
        Map({nan: 1}).get(nan)


def case_map_string_keys_of_each_length():
    keys = ["k" * n for n in range(0, 40)]
    m = Map({k: len(k) for k in keys})
    assert [m[k] for k in keys] == list(range(40))
    assert "k" * 40 not in m and "kk\0" not in m
    return list(m.keys())


def case_map_string_and_bytes_keys_differ():
    m = Map({"a": 1, b"a": 2, "long string key": 3, b"long string key": 4})
    return [m["a"], m[b"a"], m["long string key"], m[b"long string key"]]


def case_map_strings_with_nul():
    m = Map({"a\0b": 1, "a": 2, "a\0c": 3, "abcdefg\0hij": 4, "abcdefg": 5})
    return [m[k] for k in ("a\0b", "a", "a\0c", "abcdefg\0hij", "abcdefg")], \
        list(m)


def case_map_get_item_errors():
    m = Map({"a": 1})
    return [raises(KeyError, m.__getitem__, k)
            for k in ("b", 1, 1.5, None, True, b"a", "x" * 30)] + [
        raises(KeyError, Map({}).__getitem__, "a")]


def case_map_get():
    m = Map({"a": 1, "n": None})
    got = [m.get("a"), m.get("b"), m.get("b", 7), m.get("a", 7), m.get("n"),
           m.get("n", 7), m.get("b", None), m.get(1, "z")]
    assert got == [1, None, 7, 1, None, None, None, "z"]
    return got


def case_map_views():
    m = Map({"a": 1, "b": 2, "c": 3})
    k, v, i = m.keys(), m.values(), m.items()
    assert [len(k), len(v), len(i)] == [3, 3, 3]
    assert "a" in k and "z" not in k
    assert ("a", 1) in i and ("a", 2) not in i and ("z", 1) not in i
    assert "a" not in i and (1, 2, 3) not in i
    return list(k), list(v), list(i), sorted(k), dict(i), list(m), \
        k & {"a"}, k | {"z"}, k - {"a"}, type(k).__name__, \
        type(v).__name__, type(i).__name__, \
        raises(AttributeError, lambda: 2 in v)


def case_map_views_of_empty():
    m = Map({})
    return list(m), list(m.keys()), list(m.values()), list(m.items()), \
        len(m), bool(m)


def case_map_views_twice_and_nested():
    m = Map({"a": 1, "b": 2})
    k = m.keys()
    pairs = [(x, y) for x in k for y in k]
    it = iter(m.items())
    next(it)
    return pairs, next(it), list(it), list(k)


def case_map_keeps_insertion_order():
    out = []
    for n in (1, 2, 3, 4, 5, 6, 8, 9, 16, 17, 100, 1000):
        keys = [(i * 7919) % 10007 for i in range(n)]
        m = Map({k: str(k) for k in keys})
        assert list(m) == keys, n
        out.append(len(m))
    return out


def case_map_big():
    n = 50000
    m = Map({i: -i for i in range(n)})
    assert len(m) == n and all(m[i] == -i for i in range(0, n, 97))
    s = Map({f"key number {i}": i for i in range(n)})
    assert all(s[f"key number {i}"] == i for i in range(0, n, 97))
    assert n not in m and "key number x" not in s
    return sum(s.values())


def case_map_nested():
    m = Map({"a": {"b": {"c": [1, {"d": 2}]}}, "e": {}})
    assert m["a"]["b"]["c"][1]["d"] == 2 and type(m["a"]) is Map
    return m


def case_map_identity_and_counts():
    v, k = Array([1]), Array([2])
    m = Map({"a": v, "b": v})
    counts = [use_count(v), use_count(m)]
    assert m["a"].same_as(v) and m["b"].same_as(v)
    del m
    counts.append(use_count(v))
    assert counts == [3, 1, 1]
    return counts, use_count(k)


def case_map_is_immutable():
    m = Map({"a": 1})

    def set_item():
        m["a"] = 2

    return raises(TypeError, set_item), raises(AttributeError,
                                              lambda: m.pop), \
        isinstance(m, collections.abc.Mapping), \
        isinstance(m, collections.abc.MutableMapping)


def case_map_functions():
    f, m = _ffi_api, Map({"a": 1, 2: "b"})
    functor = f.MapForwardIterFunctor(m)
    steps = []
    while True:
        steps.append((functor(0), functor(1)))
        if not functor(2):
            break
    return steps, f.MapSize(m), f.MapCount(m, "a"), f.MapCount(m, "z"), \
        f.MapGetItem(m, 2), f.MapGetItemOrMissing(m, "a"), \
        f.MapGetItemOrMissing(m, "z"), f.Map(), f.Map("k", 1, "k", 2)


def case_map_functions_errors():
    f, m = _ffi_api, Map({"a": 1})
    calls = [(f.Map, 1), (f.Map, 1, 2, 3), (f.MapGetItem, m, "z"),
             (f.MapGetItem, m), (f.MapGetItem, 1, "a"),
             (f.MapGetItem, Dict({"a": 1}), "a"), (f.MapSize, [1]),
             (f.MapSize, None), (f.MapSize, Dict({"a": 1})),
             (f.MapCount, m), (f.MapCount, "x", 1),
             (f.MapGetItemOrMissing, None, 1), (f.MapForwardIterFunctor, 5),
             (f.MapForwardIterFunctor, Array([]))]
    functor = f.MapForwardIterFunctor(m)
    return [outcome(*c) for c in calls], outcome(functor), \
        outcome(functor, "x"), outcome(functor, None)


def case_map_duplicate_keys_last_wins():
    f = _ffi_api
    m = f.Map("a", 1, "b", 2, "a", 3)
    return m, list(m.items())


def case_map_typed_arguments():
    f = tvm_ffi.get_global_func
    return [outcome(f("testing.schema_id_map_str_int"), v)
            for v in ({"a": 1}, {"a": "x"}, {1: 1}, {}, [1], None,
                      Dict({"a": 1}), Map({"a": True}), {"a": 1.5})] + [
        outcome(f("testing.schema_id_map_str_str"), {"a": "b"}),
        outcome(f("testing.schema_id_map_str_obj"), {"a": [1]}),
        outcome(f("testing.schema_id_map"), {1: 2}),
        outcome(f("testing.schema_id_dict_str_int"), Dict({"a": 1})),
        outcome(f("testing.schema_id_dict_str_int"), {"a": 1}),
        outcome(f("testing.schema_id_dict_str_str"), Dict({"a": 1}))]


# -- Dict --------------------------------------------------------------------


def case_dict_construct():
    got = [Dict(), Dict(None), Dict({}), Dict({"a": 1}), Dict(Map({1: 2})),
           Dict(Dict({3: 4}))]
    assert all(type(g) is Dict for g in got)
    return got, raises(AttributeError, Dict, [1])


def case_dict_set_get_delete():
    d, e = Dict(), {}
    for i in range(200):
        d[i * 37 % 101] = i
        e[i * 37 % 101] = i
        if i % 3 == 0:
            k = i * 11 % 101
            assert (k in d) == (k in e)
            if k in e:
                del d[k], e[k]
    assert dict(d.items()) == e
    return list(d.items())


def case_dict_errors():
    d = Dict({"a": 1})
    return [raises(KeyError, d.__getitem__, "z"),
            raises(KeyError, d.__getitem__, 5),
            raises(KeyError, d.__delitem__, "z"), raises(KeyError, d.pop, "z"),
            raises(KeyError, d.pop, 12345678901),
            raises(TypeError, d.pop, "a", 1, 2), raises(TypeError, d.pop),
            raises(KeyError, Dict().__getitem__, None)]


def case_dict_get_pop():
    d = Dict({"a": 1, "n": None})
    got = [d.get("a"), d.get("z"), d.get("z", 5), d.get("n", 5),
           d.pop("a"), d.pop("a", 9), d.pop("n"), d.pop("n", None)]
    assert got == [1, None, 5, None, 1, 9, None, None]
    return got, d


def case_dict_update_clear_setdefault():
    d = Dict({"a": 1})
    d.update({"b": 2, "a": 3})
    d.update(Map({"c": 4}))
    first = dict(d.items())
    got = [d.setdefault("a", 9), d.setdefault("q", 8), len(d)]
    item = d.popitem()
    d.clear()
    return first, got, item, d, bool(d), raises(KeyError, d.popitem)


def case_dict_update_forms():
    d = Dict()
    return raises(AttributeError, d.update, [("a", 1)]), \
        raises(TypeError, d.update, a=1)


def case_dict_views_and_mutation():
    d = Dict({"a": 1, "b": 2})
    k = d.keys()
    before = list(k)
    d["c"] = 3
    after = list(k)
    del d["a"]
    return before, after, list(k), list(d.values()), list(d.items()), len(k), \
        ("b", 2) in d.items(), "a" in k


def case_dict_order_after_delete_and_reinsert():
    d = Dict()
    for k in "abcdefghij":
        d[k] = ord(k)
    del d["b"], d["f"]
    d["b"] = 1
    d["a"] = 0
    d["f"] = 2
    assert sorted(d) == list("abcdefghij")
    return list(d.items())


def case_dict_grow_and_shrink():
    d = Dict()
    for n in (4, 5, 9, 100, 5000):
        for i in range(n):
            d[i] = i
        assert len(d) == n
        for i in range(0, n, 2):
            del d[i]
        assert list(d) == [i for i in range(n) if i % 2]
        for i in range(1, n, 2):
            assert d.pop(i) == i
        assert len(d) == 0
    return len(d)


def case_dict_shared():
    d = Dict()
    e = echo(d)
    e["x"] = 1
    held = Array([d])
    held[0]["y"] = 2
    assert d.same_as(e) and dict(d.items()) == {"x": 1, "y": 2}
    return d


def case_dict_order_after_overwriting():
    """A key that is set again may move: what order is, counts too."""
    out = []
    for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 33):
        for k in sorted({0, n // 2, n - 1}):
            d = Dict({i: i for i in range(n)})
            d[k] = "new"
            e = Dict()
            for i in range(n):
                e[i] = i
            e[k] = "new"
            g = Dict({str(i): i for i in range(n)})
            g.update({str(k): "new"})
            out.append((n, k, list(d), list(e), list(g)))
    return out


def case_map_order_of_repeated_keys():
    f = _ffi_api.Map
    return [list(f(*sum(([k % n, k] for k in range(2 * n + 1)), [])).items())
            for n in (1, 2, 3, 4, 5, 8, 9)]


def case_dict_order_after_removals():
    out = []
    for n in (2, 3, 4, 5, 6, 9, 17):
        for k in range(n):
            d = Dict({i: i for i in range(n)})
            del d[k]
            first = list(d)
            d[k] = "back"
            out.append((n, k, first, list(d)))
    return out


def case_dict_in_itself():
    d = Dict()
    d["self"] = d
    assert d["self"].same_as(d)
    n = use_count(d)
    d.clear()
    return n, use_count(d)


def case_dict_overwrite_releases():
    class Thing:
        pass

    out = []
    for drop in (lambda d: d.__setitem__("k", 1), lambda d: d.pop("k"),
                 lambda d: d.__delitem__("k"), lambda d: d.clear()):
        thing = Thing()
        ref = weakref.ref(thing)
        d = Dict({"k": [thing]})
        del thing
        gc.collect()
        assert ref() is not None
        drop(d)
        gc.collect()
        out.append(ref() is None)
    assert all(out)
    return out


def case_dict_functions():
    f, d = _ffi_api, Dict({"a": 1})
    f.DictSetItem(d, "b", 2)
    got = [f.DictSize(d), f.DictCount(d, "a"), f.DictGetItem(d, "b"),
           f.DictGetItemOrMissing(d, "z")]
    functor = f.DictForwardIterFunctor(d)
    got += [functor(0), functor(1), functor(2), functor(0), functor(2)]
    f.DictErase(d, "a")
    got += [outcome(f.DictErase, d, "absent"), show(d)]
    f.DictClear(d)
    return got, d, f.Dict(), f.Dict(1, 2, 1, 3)


def case_dict_functions_errors():
    f, d = _ffi_api, Dict({"a": 1})
    calls = [(f.Dict, 1), (f.DictGetItem, d, "z"), (f.DictGetItem, Map({}), 1),
             (f.DictSetItem, d, 1), (f.DictSetItem, Map({}), 1, 2),
             (f.DictSetItem, 1, 1, 2), (f.DictErase, d), (f.DictErase, [], 1),
             (f.DictClear, None), (f.DictSize, Map({})), (f.DictCount, 1, 2),
             (f.DictForwardIterFunctor, "s"), (f.DictSetItem, {"a": 1}, 1, 2)]
    return [outcome(*c) for c in calls]


# -- Conversion --------------------------------------------------------------


def case_convert_containers():
    c = tvm_ffi.convert
    got = [c([1]), c((1, 2)), c({"a": 1}), c([]), c({}), c([[1], {"k": ()}])]
    assert [type(g) for g in got[:3]] == [Array, Array, Map]
    a = Array([1])
    assert c(a) is a
    return got


def case_arguments_become_containers():
    assert type(echo([1])) is Array and type(echo((1,))) is Array
    assert type(echo({"a": 1})) is Map
    return echo([1, (2, [3]), {"a": {"b": 1}}]), \
        echo(collections.OrderedDict(a=1)), echo(collections.namedtuple(
            "P", "x y")(1, 2))


def case_callback_gets_containers():
    seen = []
    f = tvm_ffi.convert(lambda *a: seen.append([type(x).__name__ for x in a])
                        or a[0])
    r = f([1], {"a": 1}, List([2]), Dict({"b": 2}), (3,))
    return seen, r


def case_python_subclasses_of_list_and_dict():
    class L(list):
        pass

    class D(dict):
        pass

    return echo(L([1])), echo(D(a=1)), echo(collections.Counter("aab")), \
        outcome(echo, collections.deque([1]))


def case_normalize_index():
    n = container.normalize_index
    return n(3, 0), n(3, -1), n(3, np.int8(2)), raises(IndexError, n, 3, 3), \
        raises(IndexError, n, 0, 0), raises(TypeError, n, 3, "1"), \
        container.getitem_helper("abcd", lambda o, i: o[i], 4, slice(1, 3)), \
        container.getitem_helper("abcd", lambda o, i: o[i], 4, -1)


def case_containers_free_deep_nesting():
    a = Array([])
    for _ in range(2000):
        a = Array([a])
    d = Dict()
    for _ in range(2000):
        d = Dict({"next": d})
    depth, b = 0, a
    while len(b):
        b, depth = b[0], depth + 1
    return depth


def case_device_search():
    x = tvm_ffi.from_dlpack(np.zeros(2))
    f = _ffi_api.ContainerFindFirstNonCPUDevice
    return [outcome(f, v) for v in ([x], [], {"a": x}, List([x]),
                                    Dict({"a": [x]}), [[x], {"k": [x]}], 1,
                                    None, x)]


def case_shape_values():
    s = tvm_ffi.Shape((1, 2, 3))
    assert s == (1, 2, 3) and isinstance(s, tuple) and s[1] == 2
    t = echo(s)
    assert type(t) is tvm_ffi.Shape and t == s
    return s, t, len(s), s[::-1], hash(s) == hash((1, 2, 3)), \
        tvm_ffi.Shape(()), echo(tvm_ffi.Shape(())), \
        tvm_ffi.Shape([2**62, -1, 0]), tvm_ffi.Shape((np.int32(4), True)), \
        _ffi_api.Shape(1, 2), _ffi_api.Shape()


def case_shape_errors():
    return [raises(ValueError, tvm_ffi.Shape, ("a",)),
            raises(ValueError, tvm_ffi.Shape, (1.5,)),
            raises(TypeError, tvm_ffi.Shape, 5),
            outcome(tvm_ffi.Shape, (2**63,)),
            outcome(_ffi_api.Shape, "x"), outcome(_ffi_api.Shape, 1.5),
            outcome(_ffi_api.Shape, None), outcome(_ffi_api.Shape, [1])]


def case_shape_in_containers():
    a = Array([tvm_ffi.Shape((1, 2)), tvm_ffi.Shape(range(100))])
    m = Map({"s": tvm_ffi.Shape((7,))})
    return a, m, type(a[0]).__name__


def case_bigint():
    out = []
    for v in (2**63, -(2**63) - 1, 2**64, 10**40, -(10**40), 2**127, 255 << 120):
        r = echo(v)
        assert r == v and type(r) is int
        out.append(r)
    a = Array([2**70, 1])
    m = Map({2**70: "big", -(2**90): 3})
    assert a[0] == 2**70 and m[2**70] == "big" and 2**70 in a
    assert 2**71 not in m and a.index(2**70) == 0
    return out, a, m


def case_missing_and_kwargs_objects():
    assert core.MISSING.same_as(_ffi_api.GetInvalidObject())
    assert core.KWARGS.same_as(_ffi_api.GetKwargsObject())
    assert not core.MISSING.same_as(core.KWARGS)
    return type(core.MISSING).__name__, type(core.KWARGS).__name__


def case_unique_names_helper():
    return unique("a") != unique("a")
