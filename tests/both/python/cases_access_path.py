"""Access paths."""

import tvm_ffi
from kit import echo, outcome, raises
from tvm_ffi.access_path import AccessKind, AccessPath, AccessStep


def steps(path):
    return [(AccessKind(s.kind).name, s.key) for s in path.to_steps()]


def case_root():
    r = AccessPath.root()
    return r.depth, r.parent, r.step, steps(r), \
        AccessPath.root() == r, AccessPath.root().same_as(r)


def case_steps():
    r = AccessPath.root()
    p = r.attr("a").array_item(2).map_item("k").attr_missing("m")
    q = p.array_item_missing(3).map_item_missing(5)
    return steps(p), steps(q), p.depth, q.depth, q.parent == p, \
        (q.step.kind, q.step.key), q.parent.parent == p.parent


def case_map_keys_of_every_kind():
    r = AccessPath.root()
    return [steps(r.map_item(k)) for k in
            (1, "a", 1.5, None, True, b"b", "a long string of a key",
             tvm_ffi.dtype("int8"), tvm_ffi.device("cpu"), [1])]


def case_equality():
    r = AccessPath.root()
    a, b = r.attr("x").array_item(1), r.attr("x").array_item(1)
    return a == b, a != b, a == r.attr("x").array_item(2), a == r.attr("x"), \
        a == r.attr("x").map_item(1), a == 5, a != 5, a == r, \
        r.map_item(1) == r.map_item(1.0), r.map_item(1) == r.map_item(True)


def case_prefix():
    r = AccessPath.root()
    a = r.attr("x")
    b = a.array_item(1).attr("y")
    return a.is_prefix_of(b), b.is_prefix_of(a), r.is_prefix_of(b), \
        b.is_prefix_of(b), r.attr("z").is_prefix_of(b), \
        a.array_item(2).is_prefix_of(b), outcome(a.is_prefix_of, 5)


def case_errors():
    r = AccessPath.root()
    return raises(ValueError, AccessPath), outcome(r.attr, 1), \
        outcome(r.array_item, "x"), outcome(r.attr), outcome(r.attr_missing, 1), \
        outcome(AccessStep), outcome(r.array_item, None)


def case_low_level_methods():
    r = AccessPath._root()
    s = r._attr("q").step
    e = r._extend(s)
    return steps(e), e._path_equal(r._attr("q")), e._is_prefix_of(e), \
        outcome(r._extend, 5), r._array_item(1)._to_steps()[0].key, \
        steps(r._map_item("m")), steps(r._attr_missing("a")), \
        steps(r._array_item_missing(1)), steps(r._map_item_missing("a"))


def case_fields_are_read_only():
    p = AccessPath.root().attr("a")
    return outcome(setattr, p, "depth", 5), outcome(setattr, p.step, "key", 1)


def case_long_path():
    p = AccessPath.root()
    for i in range(2000):
        p = p.array_item(i)
    q = AccessPath.root()
    for i in range(2000):
        q = q.array_item(i)
    assert p == q and len(p.to_steps()) == 2000
    return p.depth


def case_kinds():
    return [(k.name, int(k)) for k in AccessKind]


def case_through_functions():
    p = AccessPath.root().attr("a")
    r = echo(p)
    return r.same_as(p), r == p, hash(r) == hash(p), type(r).__name__, \
        type(p.step).__name__
