#!/usr/bin/env python3
"""The Apache TVM compiler: its IR, passes, kernels, models and remote procedure
calls, on two libraries.

    tvm_client.py --lib OURS

OURS has the C++ adapter in it. The Python that runs this has what
requirements-tvm.txt names.

This TVM was built with tvm_ffi 0.1.14, since when functions in the columns
__any_hash__ and __any_equal__ return something else: on upstream's library
0.1.15, which takes one for the other, all that hashes an ir.PrimType ends the
process, and with it nearly every save_json(). Ours takes both. So what JSON
there is to be is written down here: what upstream's library 0.1.14 gives.
"""

import copy
import hashlib
import os
import pickle
import re
import sys
import tempfile
from pathlib import Path

from transcript import check, loaded_libraries, record, record_error, run

# Digests of the JSON graphs, by upstream's library 0.1.14.
GRAPHS = {
    "matmul": "b12a9caef0f20b53",
    "clamp": "f819da14ae98c01d",
    "branches": "cbf5cd02ec11e162",
    "Model": "3ba7d59a790060cc",
    "Dynamic": "2330a3ae6650c17e",
    "expression": "0c9ec26a5332e357",
    "target": "85ca3de263e208e1",
}


def graph_digest(data):
    """Of a JSON graph, but for where in which file the source stands."""
    data = re.sub(r'("type":"ir.SourceName","data":)"[^"]*"', r'\1""', data)
    data = re.sub(r'("(end_)?(line|column)":)\d+', r"\1 0", data)
    return hashlib.sha256(data.encode()).hexdigest()[:16]


def no_addresses(value):
    return re.sub(r"0x[0-9a-f]{6,}", "0x", value)


def text(node):
    """TVMScript without its imports, which are the same for all."""
    return re.sub(r"^# from .*\n", "", node.script(), flags=re.M)


def programs():
    import tvm_programs as p
    return {"matmul": p.matmul, "clamp": p.clamp, "branches": p.branches,
            "Model": p.Model, "Dynamic": p.Dynamic}


def expressions(tvm):
    import tvm_ffi
    from tvm import tirx
    n, m = tirx.Var("n", "int64"), tirx.Var("m", "int32")
    x = tirx.Var("x", "float32")
    b = tirx.Var("b", "bool")
    for name, e in {
            "sum": n * 4 + 8, "division": (n * 4 + 8) // 4, "mod": n % 3 + n,
            "compare": tirx.all(n > 1, m <= 2), "not": tirx.Not(b),
            "select": tirx.Select(b, x, -x), "call": tirx.exp(x) + tirx.sqrt(x),
            "cast": m.astype("float16") + tirx.const(1.5, "float16"),
            "min": tirx.min(tirx.max(n, 3), 7), "shift": (m << 3) | 1,
            "string": tvm.ir.StringImm("a \"text\"\n"),
            "long": tirx.const(2**62, "int64"),
            "let": tirx.Let(n, tirx.const(3, "int64"), n * n)}.items():
        record(f"expression {name}", (str(e), repr(e), str(e.ty),
                                      type(e).__name__))
        # Without map_free_vars it is one of addresses.
        record(f"expression {name}, its hash",
               tvm_ffi.structural_hash(e, map_free_vars=True))
    from tvm.sym import Analyzer
    analyzer = Analyzer()
    for name, e in {"division": (n * 4 + 8) // 4, "equal": (n + 1) - n,
                    "mod": (n * 6 + 3) % 3, "compare": n + 1 > n,
                    "min": tirx.min(n, n + 1)}.items():
        record(f"simplified {name}", str(analyzer.simplify(e)))
    record_error("a division by zero", lambda: tirx.const(1, "int32") // 0)
    record_error("dtypes that do not fit", lambda: tirx.Add(n, x))
    record_error("a dtype that is none", tirx.Var, "v", "int33x")
    record_error("an expression as a condition", bool, n > 1)
    record_error("a node of another type", tirx.Select, 1, "a", [])


def ir(tvm):
    for name, node in programs().items():
        record(f"{name}, printed", text(node))
        record(f"{name}, its repr", no_addresses(repr(node)))
        record(f"{name}, without sugar",
               node.script(syntax_sugar=False, verbose_expr=True))
    from tvm.ir import SourceName, Span
    span = Span(SourceName("file.py"), 1, 2, 3, 4)
    record("a span", (no_addresses(repr(span)), span.line, span.end_column,
                      str(span.source_name.name)))
    mod = programs()["Model"]
    record("the names of a module", sorted(
        (v.name_hint, type(f).__name__) for v, f in mod.functions.items()))
    record("types", [str(mod[v].ty) for v in ("main", "choose")])
    record_error("a name that is not there", lambda: mod["none"])
    mod = tvm.IRModule({"a": mod["choose"]}, attrs={"x": 1, "y": [2, "z"]})
    record("a module with attributes", (text(mod), str(mod.attrs)))


def script(tvm):
    from tvm_ffi import structural_equal
    for name, node in programs().items():
        back = tvm.script.from_source(node.script())
        check(f"{name} comes back from its text", structural_equal(node, back))
        record(f"{name}, again", text(back) == text(node))
    head = "from tvm.script import tirx as T, relax as R, ir as I\n"
    for name, source in {
            "no such name": "@T.prim_func\ndef f():\n    nothing(1)\n",
            "a bad type": "@T.prim_func\ndef f(x: T.Buffer(1)):\n    x = 1\n",
            "no syntax": "@T.prim_func\ndef f(:\n",
            "a bad shape": "@R.function\ndef f(x: R.Tensor((2, 3), 'float32')"
                           "):\n    return R.matmul(x, x)\n"}.items():
        try:
            tvm.script.from_source(head + source)
            record(f"script: {name}", "no error")
        except Exception as error:
            record(f"script: {name}", type(error).__name__)


def structure(tvm):
    from tvm import tirx
    from tvm_ffi import get_first_structural_mismatch, structural_equal
    from tvm_ffi import structural_hash
    nodes = programs()
    for name, node in nodes.items():
        record(f"{name}, its hash", (structural_hash(node),
                                     structural_hash(node, True)))
        record(f"{name} equals", [structural_equal(node, other)
                                  for other in nodes.values()])
    x, y = tirx.Var("x", "int32"), tirx.Var("y", "int32")
    pairs = {"variables": (x + 1, y + 1), "constants": (x + 1, x + 2),
             "dtypes": (x + 1, tirx.Var("z", "int64") + 1),
             "functions": (nodes["clamp"], nodes["branches"]),
             "modules": (nodes["Model"], nodes["Dynamic"])}
    for name, (a, b) in pairs.items():
        for free in (False, True):
            record(f"mismatch of {name}, free variables {free}",
                   (structural_equal(a, b, map_free_vars=free),
                    str(get_first_structural_mismatch(a, b, free))))
            record_error(f"asserted: {name}, {free}",
                         tvm.ir.assert_structural_equal, a, b, free)


def saved(tvm):
    """JSON, of which upstream's library 0.1.15 saves the least."""
    import tvm_ffi
    from tvm.ir import load_json, save_json
    from tvm_ffi import structural_equal
    plain = {"span": tvm.ir.Span(tvm.ir.SourceName("x"), 1, 2, 3, 4),
             "tuple": tvm.relax.Tuple([]), "module": tvm.IRModule(),
             "list": tvm_ffi.convert([1, "a", {"b": 2.5}, None])}
    for name, node in plain.items():
        record(f"{name} as JSON", save_json(node))
        record(f"{name} from JSON", no_addresses(repr(load_json(
            save_json(node)))))
    record_error("JSON that is none", load_json, "{")
    record_error("JSON of something else", load_json, "[1]")
    try:
        load_json('{"root_index":0,"nodes":[{"type":"none.Such","data":{}}]}')
    except Exception as error:  # upstream's has a C++ expression before it
        record("JSON of an unknown type", (
            type(error).__name__, str(error).split(" is false: ")[-1]))
    ours = not any("/site-packages/" in path for path in loaded_libraries())
    nodes = {**programs(), "expression": tvm.tirx.Var("n", "int64") * 4 + 8,
             "target": tvm.target.Target("llvm")}
    for name, node in nodes.items():
        if not ours:
            check(f"{name} as JSON is what upstream's 0.1.14 gives", True)
            check(f"{name} comes back from JSON", True)
            check(f"{name} is copied and pickled", True)
            continue
        data = save_json(node)
        check(f"{name} as JSON is what upstream's 0.1.14 gives",
              graph_digest(data) == GRAPHS[name])
        back = load_json(data)
        check(f"{name} comes back from JSON",
              structural_equal(back, node, map_free_vars=True)
              and save_json(back) == data)
        check(f"{name} is copied and pickled", all(
            structural_equal(other, node, map_free_vars=True) for other in
            (copy.deepcopy(node), pickle.loads(pickle.dumps(node)))))


def passes(tvm):
    from tvm import relax, tirx
    nodes = programs()
    mod = tvm.IRModule({"main": nodes["branches"].with_attr(
        "global_symbol", "main"), "clamp": nodes["clamp"].with_attr(
        "global_symbol", "clamp")})
    for step in ("StmtSimplify", "ConvertSSA", "UnrollLoop", "RemoveNoOp",
                 "StorageRewrite", "CommonSubexprElim"):
        mod = getattr(tirx.transform, step)()(mod)
        record(f"after {step}", text(mod))
    mod = nodes["Model"]
    for step in ("Normalize", "FoldConstant", "LegalizeOps",
                 "AnnotateTIROpPattern", "FuseOps", "FuseTIR",
                 "DeadCodeElimination", "ToNonDataflow",
                 "RemovePurityChecking", "CallTIRRewrite"):
        mod = getattr(relax.transform, step)()(mod)
        record(f"after {step}", text(mod))
    check("the module is well formed",
          relax.analysis.check_well_formed(nodes["Model"]))
    record("after the passes it is well formed",
           relax.analysis.check_well_formed(mod))
    seen = []

    @tvm.transform.module_pass(opt_level=0, name="Count")
    def count(m, context):
        seen.append((len(m.functions), context.opt_level))
        return m.with_attr("counted", len(seen))

    @tvm.instrument.pass_instrument
    class Names:
        def run_before_pass(self, module, info):
            seen.append(("before", info.name))

        def run_after_pass(self, module, info):
            seen.append(("after", info.name))

    with tvm.transform.PassContext(opt_level=2, instruments=[Names()],
                                   config={"tirx.disable_vectorize": True}):
        both = tvm.transform.Sequential(
            [count, relax.transform.DeadCodeElimination()])
        record("a module with an attribute", str(both(nodes["Model"]).attrs))
        record("its configuration", sorted(
            (k, bool(v)) for k, v in
            tvm.transform.PassContext.current().config.items()))
    record("passes that were run", seen)
    record("a pass", no_addresses(repr(both)))

    def context(**arguments):
        with tvm.transform.PassContext(**arguments):
            return tvm.transform.PassContext.current().opt_level

    record_error("an option that is none",
                 lambda: context(config={"none": 1}))

    @tvm.transform.module_pass(opt_level=0)
    def fail(m, _):
        raise KeyError("in a pass")

    record_error("a pass that fails", fail, nodes["Model"])
    rewrites(tvm)


def every_pass(tvm):
    """All that can be made without arguments: what they give, or raise."""
    from tvm import relax, s_tir, tirx
    nodes = programs()
    mods = {
        relax: nodes["Model"],
        tirx: tvm.IRModule({"main": nodes["branches"].with_attr(
            {"global_symbol": "main", "target": tvm.target.Target("llvm")})}),
        s_tir: tvm.IRModule({"main": nodes["matmul"].with_attr(
            "global_symbol", "main")})}
    for package, mod in mods.items():
        for name in sorted(n for n in dir(package.transform)
                           if n[0].isupper()):
            try:
                got = text(getattr(package.transform, name)()(mod))
            except Exception as error:
                # Upstream's library has a C++ expression in some messages.
                got = (type(error).__name__, no_addresses(
                    str(error).split(" is false: ")[-1]))
            record(f"{package.__name__} pass {name}", got)


def marks(tvm):
    """Parts of a program, marked in its text by their access paths."""
    from tvm_ffi.access_path import AccessPath
    clamp = programs()["clamp"]
    body = AccessPath.root().attr("body")
    record("a node that is underlined",
           clamp.script(obj_to_underline=[clamp.body]))
    record("a path that is underlined",
           clamp.script(path_to_underline=[body.attr("body")]))
    record("a path with a remark",
           clamp.script(path_to_annotate={body: "here"}))
    with_both = tvm.relax.BlockBuilder()
    x = tvm.relax.Var("x", tvm.relax.TensorType([2, 3], "float32"))
    try:
        with with_both.function("main", [x]):
            with_both.emit(tvm.relax.op.matmul(x, x))
    except Exception as error:
        record("an error with its place", (type(error).__name__,
                                           no_addresses(str(error))))


def operators(tvm, np):
    """Operators of the library topi, compiled and compared with numpy."""
    from tvm import te, topi
    rng = np.random.default_rng(4)
    a, b = rng.random((2, 4, 6), "float32")
    x, y = (te.placeholder((4, 6), name=n, dtype="float32") for n in "xy")
    e = np.exp(a - a.max(1, keepdims=True))
    for name, result, want in (
            ("add", topi.add(x, y), a + b), ("power", topi.power(x, y), a**b),
            ("maximum", topi.maximum(x, y), np.maximum(a, b)),
            ("sum", topi.sum(x, 1), a.sum(1)),
            ("argmax", topi.argmax(x, 1), a.argmax(1)),
            ("softmax", topi.nn.softmax(x), e / e.sum(1, keepdims=True)),
            ("transpose", topi.transpose(x), a.T),
            ("cumsum", topi.cumsum(x, 1), a.cumsum(1)),
            ("sort", topi.sort(x, 1), np.sort(a, 1)),
            ("slice", topi.strided_slice(x, [0, 1], [4, 5], [1, 2]),
             a[:, 1:5:2])):
        out = tvm.runtime.empty([int(d) for d in result.shape], result.dtype)
        func = te.create_prim_func([x, y, result])
        tvm.compile(func, target="llvm")(
            tvm.runtime.tensor(a), tvm.runtime.tensor(b), out)
        check(f"operator {name}", np.allclose(out.numpy(), want, rtol=1e-4))


def threads(tvm, np):
    """Threads that compile and run give what one gives."""
    from concurrent.futures import ThreadPoolExecutor
    clamp = programs()["clamp"]
    x = np.arange(16, dtype="int32")

    def work(i):
        out = tvm.runtime.empty((16,), "int32")
        tvm.compile(clamp, target="llvm")(
            tvm.runtime.tensor(x), out, i, i + 5)
        return (out.numpy() == np.clip(x, i, i + 5)).all()

    with ThreadPoolExecutor(4) as pool:
        check("threads compile and run", all(pool.map(work, range(8))))


def rewrites(tvm):
    """Visitors and mutators in Python over the IR of C++."""
    from tvm import relax, tirx
    nodes = programs()
    from tvm_ffi import structural_map, structural_walk
    seen = []
    structural_walk(nodes["branches"], (tvm.Object, lambda node: seen.append(
        type(node).__name__)))
    record("nodes that are visited", seen)
    variables = []
    structural_walk(nodes["matmul"], with_def_region_kind=(
        tirx.Var, lambda v, kind: variables.append((v.name, int(kind)))),
        order="pre")
    record("variables that are visited", variables)
    record("constants, mapped", text(structural_map(nodes["clamp"], (
        tirx.IntImm, lambda c: tirx.IntImm(c.ty, c.value + 1)))))
    record_error("an error of a callback", structural_walk, nodes["clamp"],
                 (tirx.IntImm, lambda c: [][1]))

    @relax.expr_functor.mutator
    class Swap(relax.PyExprMutator):
        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            if call.op == tvm.ir.Op.get("relax.nn.relu"):
                return relax.op.sigmoid(call.args[0])
            return call

    mod = nodes["Model"]
    record("a function, rewritten", text(Swap().visit_expr(mod["main"])))
    from tvm.relax.dpl import is_op, rewrite_call, wildcard
    x, w = wildcard(), wildcard()
    relu = is_op("relax.nn.relu")(is_op("relax.matmul")(x, w))
    record("a pattern, rewritten", text(rewrite_call(
        relu, lambda _, found: relax.op.matmul(
            relax.op.nn.gelu(found[x]), found[w]), mod["main"])))


def schedules(tvm):
    import tvm_ffi
    from tvm import te
    a = te.placeholder((128, 64), name="A")
    b = te.placeholder((64, 32), name="B")
    k = te.reduce_axis((0, 64), name="k")
    c = te.compute((128, 32), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k),
                   name="C")
    d = te.compute((128, 32), lambda i, j: c[i, j] + 1.0, name="D")
    func = te.create_prim_func([a, b, d])
    record("a computation", text(func))
    s = tvm.s_tir.Schedule(func)
    block = s.get_sblock("C")
    i, j, k = s.get_loops(block)
    io, ii = s.split(i, [None, 8])
    jo, ji = s.split(j, [4, None])
    s.reorder(io, jo, k, ii, ji)
    s.vectorize(ji)
    s.parallel(io)
    s.reverse_compute_at(s.get_sblock("D"), jo)
    record("a schedule", text(s.mod))
    record("its trace", str(s.trace))
    record("its trace as JSON", str(s.trace.as_json()))
    again = tvm.s_tir.Schedule(func)
    tvm.s_tir.schedule.Trace.apply_json_to_schedule(s.trace.as_json(), again)
    check("a trace is applied again",
          tvm_ffi.structural_equal(s.mod, again.mod))
    try:
        s.reorder(ii, ii)
        record("a schedule that is wrong", "no error")
    except Exception as error:
        record("a schedule that is wrong", (
            type(error).__name__, no_addresses(str(error))))
    return func, s.mod


def kernels(tvm, np):
    rng = np.random.default_rng(1)
    nodes = programs()
    tensor = tvm.runtime.tensor
    a, b = rng.random((5, 8), "float32"), rng.random((8, 4), "float32")
    out = tvm.runtime.empty((5, 4), "float32")
    f = tvm.compile(nodes["matmul"], target="llvm")
    f(tensor(a), tensor(b), out)
    check("matmul", np.allclose(out.numpy(), a @ b, rtol=1e-5, atol=1e-6))
    record("matmul, its sum", float(out.numpy().sum()))
    for name, args in {
            "numbers": (1, 2, 3), "too few": (tensor(a),),
            "a dtype": (tensor(a.astype("float64")), tensor(b), out),
            "a shape": (tensor(a), tensor(a), out),
            "None": (None, tensor(b), out)}.items():
        record_error(f"matmul of {name}", f, *args)
    x = rng.integers(-9, 9, 16).astype("int32")
    got = tvm.runtime.empty((16,), "int32")
    tvm.compile(nodes["clamp"], target="llvm")(tensor(x), got, -3, 5)
    check("clamp", (got.numpy() == np.clip(x, -3, 5)).all())
    x = rng.random((8, 8))
    got = tvm.runtime.empty((8,), "float64")
    tvm.compile(nodes["branches"], target="llvm")(tensor(x), got)
    i, j = np.indices((8, 8))
    check("branches, in parallel",
          np.allclose(got.numpy(), (np.exp(x) * ((i + j) % 3)).sum(1)))
    a, b = rng.random((128, 64), "float32"), rng.random((64, 32), "float32")
    for name, mod in zip(("as it is", "scheduled"), schedules(tvm)):
        got = tvm.runtime.empty((128, 32), "float32")
        tvm.compile(mod, target="llvm")(tensor(a), tensor(b), got)
        check(f"a product, {name}",
              np.allclose(got.numpy(), a @ b + 1, rtol=1e-4, atol=1e-6))
    record("the kernel's module", (
        f.mod.kind, f.mod.get_write_formats(), f.mod.get_property_mask(),
        [m.kind for m in f.mod.imports], f.mod.implements_function("matmul"),
        f.mod.implements_function("none")))
    code = f.mod.inspect_source("ll")
    record("its code", (len(code), re.findall(r"^define.*@(\w+)", code, re.M)))
    record_error("a function that is not there", lambda: f.mod["none"])
    record_error("a format that is none", f.mod.write_to_file, "/none/x.q", "q")
    timed = f.mod.time_evaluator("matmul", tvm.cpu(), number=3)
    small = tensor(rng.random((1, 8), "float32"))
    check("a kernel is timed", timed(small, tensor(
        rng.random((8, 4), "float32")), tvm.runtime.empty(
            (1, 4), "float32")).mean > 0)


def callbacks(tvm, np):
    """Kernels that call Python, and what it raises."""
    from tvm.script import tirx as T
    seen = []

    @tvm.register_global_func("tvm_client.see", override=True)
    def see(x, text, t):
        seen.append((x, text, t.numpy().tolist()))
        if x == 3:
            raise ValueError("three is not wanted")
        return x

    @T.prim_func(s_tir=True)
    def caller(A: T.Buffer((2,), "float32"), n: T.int32):
        for i in range(n):
            T.evaluate(T.call_packed(
                "tvm_client.see", i, "text", T.tvm_stack_make_array(
                    A.data, T.tvm_stack_make_shape(2), 0, 1, T.float32(0), 0)))

    f = tvm.compile(caller, target="llvm")
    x = tvm.runtime.tensor(np.array([1.5, 2.5], "float32"))
    f(x, 3)
    record("what a kernel calls", seen)
    record_error("an error through a kernel", f, x, 5)
    record("calls until then", len(seen))


def models(tvm, np, folder):
    from tvm import relax
    from tvm.relax.frontend import nn
    rng = np.random.default_rng(2)
    tensor = tvm.runtime.tensor
    nodes = programs()
    built = tvm.compile(nodes["Model"], target="llvm")
    vm = relax.VirtualMachine(built, tvm.cpu())
    x, w = rng.random((4, 8), "float32"), rng.random((8, 3), "float32") - 0.5
    z, total = vm["main"](tensor(x), tensor(w))
    want = np.maximum(x @ w, 0) * 0.5 + 1
    check("a model", np.allclose(z.numpy(), want, rtol=1e-5, atol=1e-6)
          and np.allclose(total.numpy(), want.sum(0), rtol=1e-5,
                          atol=1e-6))
    for flag in (True, False):
        got = vm["choose"](tensor(np.array(flag)), tensor(x[0]))
        check(f"a model that branches, {flag}",
              np.allclose(got.numpy(), x[0] + 1 if flag else x[0] * x[0]))
    vm.set_input("main", tensor(x), tensor(w))
    vm.invoke_stateful("main")
    check("a model with its state", np.allclose(
        vm.get_outputs("main")[0].numpy(), want, rtol=1e-5, atol=1e-6))
    record_error("a shape that does not fit", vm["main"], tensor(w), tensor(w))
    record_error("an argument too few", vm["main"], tensor(x))
    record_error("a function that is none", lambda: vm["none"])
    record("the executable", (built.as_text()[:3000], built.stats()))
    seen = []
    vm.set_instrument(lambda f, name, before, ret, *args: seen.append(
        (name, before, len(args))))
    vm["main"](tensor(x), tensor(w))
    record("the model's calls", seen)
    dynamic = relax.VirtualMachine(
        tvm.compile(nodes["Dynamic"], target="llvm"), tvm.cpu())
    for n, m in ((2, 3), (1, 5)):
        a, b = rng.random((2, n, m), "float32")
        got = dynamic["main"](tensor(a), tensor(b)).numpy()
        e = np.exp(np.concatenate((a, b)).reshape(m, 2 * n).astype("float64"))
        check(f"a model of shape {n}, {m}",
              np.allclose(got, e / e.sum(-1, keepdims=True)))

    class Net(nn.Module):
        def __init__(self):
            self.first, self.second = nn.Linear(4, 5), nn.Linear(5, 2)

        def forward(self, x):
            return self.second(nn.op.silu(self.first(x)))

    mod, names = Net().export_tvm(
        spec={"forward": {"x": nn.spec.Tensor(("n", 4), "float32")}})
    record("a network", (text(mod), [(n, str(t)) for n, t in names]))
    values = {n: rng.random([int(d) for d in t.shape], "float32") - 0.5
              for n, t in names}
    bound = relax.transform.BindParams("forward", {
        n: tensor(v) for n, v in values.items()})(mod)
    path = str(Path(folder) / "params.bin")
    tvm.runtime.save_param_dict_to_file(
        {n: tensor(v) for n, v in values.items()}, path)
    loaded = tvm.runtime.load_param_dict_from_file(path)
    check("parameters come back from a file", all(
        (loaded[n].numpy() == v).all() for n, v in values.items()))
    record("bytes of the parameters", Path(path).stat().st_size)
    net = tvm.compile(bound, target="llvm")
    x = rng.random((3, 4), "float32")
    h = x @ values["first.weight"].T + values["first.bias"]
    want = (h / (1 + np.exp(-h))) @ values["second.weight"].T \
        + values["second.bias"]
    run_it = relax.VirtualMachine(net, tvm.cpu())["forward"]
    check("a network, run", np.allclose(run_it(tensor(x)).numpy(), want,
                                        rtol=1e-4))
    return net, x, want


def libraries(tvm, np, folder, net, x, want):
    from tvm import relax
    tensor = tvm.runtime.tensor
    path = os.path.join(folder, "net.so")
    net.export_library(path)
    back = tvm.runtime.load_module(path)
    got = relax.VirtualMachine(back, tvm.cpu())["forward"](tensor(x))
    check("a network from a library", np.allclose(got.numpy(), want,
                                                  rtol=1e-4))

    def tree(m):
        return (m.kind, m.get_property_mask(), [tree(i) for i in m.imports])

    record("its modules", (tree(net.mod), tree(back)))
    f = tvm.compile(programs()["clamp"], target="llvm")
    path = os.path.join(folder, "clamp.so")
    f.export_library(path)
    clamp = tvm.runtime.load_module(path)
    out = tvm.runtime.empty((16,), "int32")
    clamp["clamp"](tensor(np.arange(16, dtype="int32")), out, 3, 9)
    check("a kernel from a library",
          (out.numpy() == np.clip(np.arange(16), 3, 9)).all())
    record("its module", (clamp.kind, clamp.implements_function("clamp"),
                          clamp.implements_function("other"),
                          clamp.get_function_metadata("clamp"),
                          clamp.get_function_doc("clamp")))
    record_error("a format of a library", clamp.write_to_file,
                 os.path.join(folder, "x.o"), "o")
    record_error("a library that imports itself", clamp.import_module, clamp)
    other = tvm.runtime.load_module(path)
    other.import_module(clamp)
    record("an import", (len(other.imports), other.implements_function(
        "clamp", query_imports=True)))
    record_error("imports in a circle", clamp.import_module, other)
    other.clear_imports()
    record("no imports", len(other.imports))
    f.mod.write_to_file(os.path.join(folder, "clamp.o"), "o")
    check("an object file is written",
          os.path.getsize(os.path.join(folder, "clamp.o")) > 500)
    record_error("no such library", lambda: tvm.runtime.load_module(
        "/none/such.so"))
    record_error("no such format", lambda: tvm.runtime.load_module("a.none"))


def tensors(tvm, np):
    rng = np.random.default_rng(3)
    for dtype in ("bool", "int8", "uint8", "int16", "uint16", "int32",
                  "uint32", "int64", "uint64", "float16", "float32",
                  "float64"):
        x = (rng.random((3, 4)) * 2).astype(dtype)
        t = tvm.runtime.tensor(x)
        record(f"a tensor of {dtype}", (str(t.dtype), tuple(t.shape),
                                        t.numpy().tolist(), str(t.device)))
        check(f"a tensor of {dtype} to numpy",
              (t.numpy() == x).all() and t.numpy().dtype == x.dtype)
    t = tvm.runtime.empty((2, 3), "float32")
    t.copyfrom(np.arange(6.0).reshape(2, 3))
    u = t.copyto(tvm.cpu())
    check("a tensor is copied", (u.numpy() == t.numpy()).all()
          and not u.same_as(t))
    t[:] = np.full((2, 3), 7)
    record("a tensor that is filled", (t.numpy().tolist(), repr(t)))
    record_error("a copy that does not fit", t.copyfrom, np.zeros((3, 3)))
    # Memory of numpy's own may not be aligned as TVM wants it.
    x = np.from_dlpack(tvm.runtime.tensor(np.arange(8, dtype="float32")))
    shared = tvm.runtime.from_dlpack(x)
    x[3] = 42
    record("memory that is shared", shared.numpy().tolist())
    check("numpy takes a tensor", (np.from_dlpack(shared) == x).all())
    record("a view", t._create_view((3, 2)).numpy().tolist())
    record_error("a view that is too large", t._create_view, (3, 3))
    record("devices", [(str(d), d.exist, d.index) for d in
                       (tvm.cpu(0), tvm.device("cpu", 1))])
    s = tvm.runtime.ShapeTuple([1, 2, 3])
    record("a shape", (repr(s), list(s), len(s)))


def targets(tvm):
    for name, source in {"llvm": "llvm", "c": "c", "a dict": {
            "kind": "llvm", "mcpu": "core-avx2", "num-cores": 4},
            "a host": {"kind": "cuda", "arch": "sm_80",
                       "host": {"kind": "llvm"}}}.items():
        t = tvm.target.Target(source)
        record(f"target {name}", (str(t), str(t.export()), str(t.kind),
                                  [str(k) for k in t.keys]))
    record_error("a target that is none", tvm.target.Target, "none")
    record_error("an attribute that is none", tvm.target.Target,
                 {"kind": "llvm", "none": 1})
    with tvm.target.Target("llvm"):
        record("the current target", str(tvm.target.Target.current().kind))


def remote(tvm, np, folder):
    """A server in a process of its own, on this machine."""
    from tvm import rpc
    f = tvm.compile(programs()["clamp"], target="llvm")
    path = os.path.join(folder, "remote.so")
    f.export_library(path)
    server = rpc.Server("127.0.0.1", port=9190, port_end=9890, silent=True)
    try:
        session = rpc.connect("127.0.0.1", server.port, session_timeout=60)
        import psutil
        check("the server has the same library", all(
            loaded_libraries(p.pid) == loaded_libraries()
            for p in psutil.Process().children()))
        cpu = session.cpu(0)
        x = np.arange(16, dtype="int32")
        a = tvm.runtime.tensor(x, cpu)
        out = tvm.runtime.empty((16,), "int32", cpu)
        record("a remote tensor", (str(a.dtype), tuple(a.shape),
                                   a.numpy().tolist()))
        session.upload(path)
        module = session.load_module("remote.so")
        module["clamp"](a, out, 2, 11)
        check("a remote kernel", (out.numpy() == np.clip(x, 2, 11)).all())
        timed = module.time_evaluator("clamp", cpu, number=2)
        check("a remote kernel is timed", timed(a, out, 1, 2).mean >= 0)
        record_error("a remote function that is none",
                     lambda: session.get_function("none.such"))
        try:
            module["clamp"](a, a, 2)
            record("a remote error", "no error")
        except Exception as error:
            lines = [s for s in str(error).splitlines() if "Expected" in s]
            record("a remote error", (type(error).__name__, lines[:1]))
        echo = session.get_function("testing.echo")
        record("remote values", [echo(v) for v in (1, 2.5, "text", None)])
        record("a remote file", len(session.download("remote.so"))
               == os.path.getsize(path))
        del a, out, module, timed, echo, session
    finally:
        server.terminate()
    local = rpc.LocalSession()
    t = tvm.runtime.tensor(np.arange(4.0), local.cpu(0))
    record("a local session", t.numpy().tolist())


def main(args):
    del args
    import numpy as np
    import tvm
    record("versions", (tvm.__version__, tvm.target.codegen.
                        llvm_version_major()))
    with tempfile.TemporaryDirectory() as folder:
        expressions(tvm)
        ir(tvm)
        script(tvm)
        structure(tvm)
        saved(tvm)
        passes(tvm)
        every_pass(tvm)
        marks(tvm)
        operators(tvm, np)
        kernels(tvm, np)
        callbacks(tvm, np)
        libraries(tvm, np, folder, *models(tvm, np, folder))
        threads(tvm, np)
        tensors(tvm, np)
        targets(tvm)
        remote(tvm, np, folder)


if __name__ == "__main__":
    sys.exit(run(__file__, "Apache TVM", main,
                 ["tvm", "tvm_ffi", "numpy", "psutil", "cloudpickle"]))
