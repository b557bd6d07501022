"""Structural equality, hashing, visiting and rewriting."""

import numpy as np
import tvm_ffi
import tvm_ffi.testing
from kit import core, outcome, raises, show, unique
from tvm_ffi import (Array, DefRegionKind, Dict, InplaceMode, List, Map, Object,
                     StructuralKey, VisitInterrupt, WalkOrder, WalkResult,
                     get_first_structural_mismatch, structural,
                     structural_equal, structural_hash, structural_map,
                     structural_mutate, structural_visit, structural_walk)
from tvm_ffi.dataclasses import field, py_class


@py_class("python_api_s.Expr")
class Expr(Object):
    pass


@py_class("python_api_s.Var", structural_eq="var")
class Var(Expr):
    name: str


@py_class("python_api_s.Const")
class Const(Expr):
    value: int


@py_class("python_api_s.Add")
class Add(Expr):
    a: Expr
    b: Expr
    span: int = field(structural_eq="ignore", default=0)


@py_class("python_api_s.Lambda")
class Lambda(Expr):
    params: Array = field(structural_eq="def-pattern")
    body: Expr


@py_class("python_api_s.Let")
class Let(Expr):
    var: Var = field(structural_eq="def-simple")
    body: Expr


@py_class("python_api_s.Dag", structural_eq="dag")
class Dag(Expr):
    value: int


@py_class("python_api_s.One", structural_eq="singleton")
class One(Expr):
    value: int


@py_class("python_api_s.Off", structural_eq=None)
class Off(Expr):
    value: int


def fun(name, value=1):
    x = Var(name)
    return Lambda([x], Add(x, Const(value)))


VALUES = [None, True, 1, 2, 1.5, "a", "b", b"a", [], [1], [1, "a"], {}, {"a": 1},
          List([1]), Dict({"a": 1}), tvm_ffi.dtype("int8"),
          tvm_ffi.device("cpu"), tvm_ffi.Shape((1,)), float("nan"), 2**70]


def case_equal_pairs():
    return [[outcome(structural_equal, a, b) for b in VALUES] for a in VALUES]


def case_hashes():
    return [outcome(structural_hash, v) for v in VALUES]


def case_trees():
    return structural_equal(Add(Const(1), Const(2)), Add(Const(1), Const(2))), \
        structural_equal(Add(Const(1), Const(2)), Add(Const(1), Const(3))), \
        structural_equal(Add(Const(1), Const(2), 5), Add(Const(1), Const(2))), \
        structural_hash(Add(Const(1), Const(2), 5)) == structural_hash(
            Add(Const(1), Const(2))), structural_equal(Const(1), Dag(1)), \
        outcome(structural_equal, Off(1), Off(1)), \
        structural_equal(One(1), One(1))


def case_bound_variables():
    x, y = Var("x"), Var("y")
    return structural_equal(fun("x"), fun("y")), \
        structural_hash(fun("x")) == structural_hash(fun("y")), \
        structural_equal(x, y), structural_equal(x, x), \
        structural_equal(x, y, map_free_vars=True), \
        structural_equal(Add(x, x), Add(y, x), map_free_vars=True), \
        structural_equal(Let(x, x), Let(y, y)), \
        structural_equal(Let(x, y), Let(y, y)), \
        structural_hash(x, map_free_vars=True) == structural_hash(
            y, map_free_vars=True)


def case_shared_nodes():
    d = Dag(1)
    return structural_equal(Add(d, d), Add(Dag(1), Dag(1))), \
        structural_equal(Add(d, d), Add(d, d)), \
        structural_hash(Add(d, d)) == structural_hash(Add(Dag(1), Dag(1)))


def case_mismatch():
    f = get_first_structural_mismatch

    def path(r):
        return r and [[(s.kind, s.key) for s in p.to_steps()] for p in r]

    return path(f(Add(Const(1), Const(2)), Add(Const(1), Const(3)))), \
        path(f([1, 2, 3], [1, 5, 3])), path(f([1], [1, 2])), \
        path(f({"a": 1}, {"a": 2})), path(f({"a": 1}, {})), \
        path(f(Const(1), Const(1))), path(f(1, "x")), \
        path(f(fun("x"), fun("y", 2)))


def case_keys():
    a, b = StructuralKey([1, {"a": 2}]), StructuralKey([1, {"a": 2}])
    return a == b, hash(a) == hash(b), a == StructuralKey([1]), a == 5, a.key, \
        a.hash_i64 == b.hash_i64, {a: 1}[b], Map({a: 1}).get(b), \
        _equal(a, b), [m.name for m in
                       StructuralKey.__tvm_ffi_type_info__.methods]


def _equal(a, b):
    return tvm_ffi._ffi_api.StructuralKeyEqual(a, b)


def case_tensors():
    a = tvm_ffi.from_dlpack(np.arange(3))
    b = tvm_ffi.from_dlpack(np.arange(3))
    c = tvm_ffi.from_dlpack(np.zeros(3, "int64"))
    return structural_equal(a, b), structural_equal(a, c), \
        structural_equal(a, c, skip_tensor_content=True), \
        structural_hash(a) == structural_hash(b), \
        structural_hash(a, skip_tensor_content=True) == structural_hash(
            c, skip_tensor_content=True)


def case_walk():
    e = Add(Const(1), Add(Const(2), Var("x")))
    out = []
    for order in (WalkOrder.PREORDER, WalkOrder.POSTORDER):
        seen = []

        def on_const(n):
            seen.append(n.value)

        r = structural_walk(e, (Const, on_const), order=order)
        seen2 = []
        structural_walk(e, [(Add, lambda n: seen2.append("add")),
                            (Const, lambda n: seen2.append(n.value))],
                        order=order)
        out.append((seen, seen2, r))
    return out


def case_walk_stops():
    e = Array([Const(i) for i in range(5)])
    seen = []

    def visit(n):
        seen.append(n.value)
        return VisitInterrupt(n.value) if n.value == 2 else None

    r = structural_walk(e, (Const, visit))
    skipped = []

    def skip(n):
        skipped.append("add")
        return WalkResult.SKIP

    structural_walk(Add(Add(Const(1), Const(2)), Const(3)), (Add, skip))
    return seen, type(r).__name__, r.value, skipped, \
        int(WalkResult.ADVANCE), int(WalkResult.SKIP)


def case_walk_errors():
    def bad(n):
        raise ValueError("in walk")

    return outcome(structural_walk, Array([Const(1)]), (Const, bad)), \
        outcome(structural_walk, 1, 5), \
        outcome(structural_walk, Const(1), (Const, lambda n: "x")), \
        outcome(structural_walk, Const(1), (Const, lambda n: None), order=7)


def case_walk_with_region():
    seen = []
    structural_walk(fun("x"), with_def_region_kind=(
        Var, lambda v, kind: seen.append((v.name, DefRegionKind(kind).name))))
    return seen


def case_visit():
    seen = []

    def on_add(n, v):
        seen.append(("add", v.def_region_kind().name))
        return v.default_visit(n)

    def on_const(n, v):
        seen.append(n.value)

    r = structural_visit(Add(Const(1), Add(Const(2), Const(3))),
                         [(Add, on_add), (Const, on_const)])
    return seen, r, [k.name for k in DefRegionKind]


def case_visit_manually():
    seen = []

    def on_add(n, v):
        v.visit(n.b)
        return v.with_def_region_kind(DefRegionKind.DEF_SIMPLE,
                                      lambda: v.visit(n.a))

    def on_const(n, v):
        seen.append((n.value, v.def_region_kind().name))

    structural_visit(Add(Const(1), Const(2)), [(Add, on_add), (Const, on_const)])
    return seen


def case_map():
    e = Add(Const(1), Add(Const(2), Var("x")))
    r = structural_map(e, (Const, lambda c: Const(c.value * 10)))
    s = structural_map(Array([1, Const(2), {"a": Const(3)}]),
                       (Const, lambda c: c.value))
    same = structural_map(e, (Dag, lambda d: d))
    return r.a.value, r.b.a.value, e.a.value, s, same.same_as(e), \
        r.b.b.same_as(e.b.b)


def case_map_folds():
    def fold(n):
        if isinstance(n.a, Const) and isinstance(n.b, Const):
            return Const(n.a.value + n.b.value)
        return n

    e = Add(Add(Const(1), Const(2)), Add(Const(3), Const(4)))
    r = structural_map(e, (Add, fold), order=WalkOrder.POSTORDER)
    return type(r).__name__, outcome(lambda: r.value)


def case_mutate():
    modes = []

    def on_add(n, m):
        return Add(m.mutate(n.b), m.mutate(n.a))

    def on_const(n, m, mode):
        modes.append(InplaceMode(mode).name)
        return Const(n.value + 1)

    r = structural_mutate(Add(Const(1), Const(2)), [(Add, on_add),
                                                   (Const, on_const)])
    moved = structural_mutate(Add(Const(1), Const(2))._move(),
                              [(Const, on_const)])
    return r.a.value, r.b.value, [k.name for k in InplaceMode], modes, \
        moved.a.value


def case_mutate_variables():
    x, y = Var("x"), Var("y")
    seen = []

    def on_lambda(n, m):
        seen.append(outcome(m.var_remap_get, x))
        seen.append(m.def_region_kind().name)
        m.var_remap_set(x, y)
        return Lambda([y], m.mutate(n.body))

    r = structural_mutate(Lambda([x], Add(x, Const(1))), [(Lambda, on_lambda)])
    return outcome(lambda: r.body.a.name), \
        outcome(lambda: r.params[0].name), seen


def case_hooks():
    @py_class(unique("Custom"))
    class Custom(Object):
        a: int
        b: int

        def __s_equal__(self, other, fn):
            return fn(self.a, other.a, False, "a")

        def __s_hash__(self, h, fn):
            return fn(self.a, h, False)

    return outcome(structural_equal, Custom(1, 2), Custom(1, 3)), \
        outcome(structural_equal, Custom(1, 2), Custom(2, 2)), \
        outcome(lambda: structural_hash(Custom(1, 2)) == structural_hash(
            Custom(1, 3)))


def case_region_graph():
    f = tvm_ffi.get_global_func("testing.make_visit_region_graph",
                                allow_missing=True)
    if f is None:
        return "absent"
    return show(type(f(True)).__name__), show(type(f(False)).__name__)


def case_interrupt_object():
    v = VisitInterrupt([1])
    return outcome(setattr, v, "value", 5), v.value, VisitInterrupt().value, \
        tvm_ffi._ffi_api.VisitInterrupt("x").value


def case_error_paths():
    f = tvm_ffi.get_global_func("ffi.VisitErrorContext.FindAccessPaths")

    def bad(n):
        raise ValueError("deep")

    try:
        structural_walk(Array([1, {"k": Const(3)}]), (Const, bad))
    except ValueError as error:
        context = error.__tvm_ffi_error__.extra_context
        return type(context).__name__, outcome(
            f, Array([1, {"k": Const(3)}]), context).split("(")[0]


def case_type_info():
    return [(n, type(getattr(structural, n)).__name__)
            for n in sorted(dir(structural)) if n.startswith("Structural")], \
        raises(TypeError, structural.StructuralVisitor), \
        [w.name for w in WalkOrder], core.MISSING is not None


def case_mutator_default_and_region():
    seen = []

    def on_add(n, m):
        seen.append(m.def_region_kind().name)
        return m.with_def_region_kind(DefRegionKind.DEF_PATTERN,
                                      lambda: m.default_mutate(n))

    def on_const(n, m):
        seen.append((n.value, m.def_region_kind().name))
        return Const(n.value * 2)

    r = structural_mutate(Array([Add(Const(1), Const(2))]),
                          [(Add, on_add), (Const, on_const)])
    return seen, r[0].a.value, r[0].b.value


def case_callback_forms():
    seen = []
    structural_walk(Array([1, "a", Const(2)]), lambda n: seen.append(show(n)))
    structural_walk(Array([1, "a"]), ((int, str), lambda n: seen.append(n)))
    return seen, raises(TypeError, structural_walk, 1, [5]), \
        raises(TypeError, structural_visit, 1, [(set, lambda n, v: None)]), \
        raises(TypeError, structural_mutate, 1, [(int, lambda: None)])


def case_map_with_region():
    x = Var("x")
    seen = []

    def on_var(v, kind):
        seen.append(DefRegionKind(kind).name)
        return v

    r = structural_map(Lambda([x], Add(x, Const(1))),
                       with_def_region_kind=(Var, on_var))
    return seen, type(r).__name__


def case_map_of_containers():
    c = Const(1)
    v = {"a": [c, c], "b": List([c]), "d": Dict({"k": c})}
    r = structural_map(Map(v), (Const, lambda n: n.value + 1))
    s = structural_map(Array([c, c]), (Const, lambda n: Const(5)))
    return r, s[0].same_as(s[1]), v["b"][0].value if isinstance(
        v["b"][0], Const) else v["b"]


def case_two_wrong_arguments():
    f = tvm_ffi.convert(lambda *args: None)
    good, rows = Array([(-1, f)]), (Array([("x", f)]), Array([(1, 2)]),
                                    Array([(1,)]), Array([3]))
    out = []
    for name in ("ffi.StructuralWalk", "ffi.StructuralMap"):
        call = tvm_ffi.get_global_func(name)
        for a in (None, 1, good, *rows):
            for b in (None, 1, good, *rows):
                out += [outcome(call, 5, a, b, order) for order in (0, "x")]
    return out


def case_two_wrong_arguments_with_a_region_kind():
    out = []
    for name in ("Visitor", "Mutator"):
        call = tvm_ffi.get_global_func(
            f"ffi.Structural{name}WithDefRegionKind")
        out += [outcome(call, a, b, c) for a in (None, 1, Array([]))
                for b in (None, 1, "x") for c in (None, 1, "x")]
    return out
