#!/usr/bin/env python3
"""Operators of PyTorch by tvmffi_torch.h.

    torch_host.py [--cc CC] [--cxx CXX] [--site FOLDER]

Runs in a Python with PyTorch 2.9 or newer, or takes PyTorch from a folder; is
skipped in any other. Builds torch_kernels.c and libraries with one mistake each.
Writes TAP.
"""

import argparse
import gc
import logging
import pathlib
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "tests" / "tools"), str(ROOT / "hosts" / "torch")]
sys.dont_write_bytecode = True

from tap import Tap

# The other libraries share one compiled runtime, because it takes the time.
RUNTIME = """
#define TVMFFI_IMPLEMENTATION
#define TVMFFI_DYNAMIC 1
#include "tvmffi.h"
"""
HEAD = """
#define TVMFFI_DYNAMIC 1
#include "tvmffi_torch.h"
"""
# A mistake: namespace, function, error of the load.
BAD = {
    "a type that no operator has": (
        "TVMFFI_EXPORT(f, none, (int64, a), (func, g)) { (void)a, (void)g;"
        " TVMFFI_RETURN(); }",
        TypeError, "bad::f: parameter g: no operator has the type ffi.Function"),
    "a result that no operator has": (
        "TVMFFI_EXPORT(f, str, (int64, a)) { (void)a;"
        " TVMFFI_RETURN(tvmffi_byte_array(\"x\")); }",
        TypeError, "bad::f: the result: no operator has the type str"),
    "a default that no schema has": (
        "TVMFFI_EXPORT(f, none, (float64, a, INFINITY)) { (void)a;"
        " TVMFFI_RETURN(); }",
        ValueError, "bad::f: parameter a: a schema has no such default"),
    "a name that is defined": (
        "TVMFFI_EXPORT(axpy, none, (int64, a)) { (void)a; TVMFFI_RETURN(); }",
        RuntimeError, "demo::axpy: PyTorch refused the operator"),
    "a text with half a bracket": (
        'TVMFFI_EXPORT(f, none, (tensor("float32[n"), x)) { (void)x;'
        " TVMFFI_RETURN(); }", RuntimeError,
        'f: the text "float32[n" of x: '),
    "a text with a misspelt word": (
        'TVMFFI_EXPORT(f, none, (tensor("float32[n] inot"), x)) { (void)x;'
        " TVMFFI_RETURN(); }", RuntimeError,
        'f: the text "float32[n] inot" of x: '),
    "no function": ("", ValueError, "no TVMFFI_EXPORT"),
}
# An operator with a rule.
RULE = """
TVMFFI_EXPORT(g, tensor("float32[n]"), (tensor("float32[n]"), x)) {
  TVMFFIObject *made;
  TVMFFI_TRY(tvmffi_tensor_new_like(x, &made));
  TVMFFI_RETURN(made);
}
"""
# An operator of which the texts give no fake implementation, and the error of
# the one that it gets. It stands beside one that has a rule.
NO_RULE = {
    "a result without a shape": (
        "TVMFFI_EXPORT(f, tensor, (tensor, x)) { TVMFFIObject *made;"
        " TVMFFI_TRY(tvmffi_tensor_new_like(x, &made)); TVMFFI_RETURN(made); }",
        "no rule gives the shape of the result"),
    "a result with a dimension of no argument": (
        'TVMFFI_EXPORT(f, tensor("float32[k]"), (tensor("float32[n]"), x)) {'
        " TVMFFIObject *made;"
        " TVMFFI_TRY(tvmffi_tensor_new_like(x, &made)); TVMFFI_RETURN(made); }",
        "f: no rule gives dimension k of the result: name it in the text of a "
        "tensor that is not optional"),
    "a result of two dtypes": (
        'TVMFFI_EXPORT(f, tensor("float32|int8[n]"), (tensor("any[n]"), x)) {'
        " TVMFFIObject *made;"
        " TVMFFI_TRY(tvmffi_tensor_new_like(x, &made)); TVMFFI_RETURN(made); }",
        "no rule gives the dtype of the result: `float32|int8`"),
}
# A kernel whose result is not what its text says.
LIAR = """
#define TVMFFI_DEBUG %d
""" + HEAD + """
TVMFFI_EXPORT(f, tensor("float32[n]"), (tensor("float32[n]"), x)) {
  int64_t shape[] = {x->shape[0] + 1};
  TVMFFIObject *made;
  TVMFFI_TRY(tvmffi_tensor_new(x->dtype, x->device, 1, shape, &made));
  TVMFFI_RETURN(made);
}
TVMFFI_TORCH_LIBRARY(liar%d)
"""
TEXT = HEAD + """
TVMFFI_EXPORT(length, int64, (str, text, "a\\"b"), (optional(str), more, NULL),
              (optional(device), on, NULL)) {
  (void)on;
  TVMFFI_RETURN((int64_t)text.size + 100 * (int64_t)(more.has_value
                                             ? more.value.size : 0));
}
TVMFFI_TORCH_LIBRARY(text)
"""


def compile_c(args, source, target, cxx=False):
    language = ["-std=c++11", "-x", "c++"] if cxx else ["-std=gnu99"]
    link = ["-c"] if target.suffix == ".o" else ["-shared", "-lpthread"]
    subprocess.run(
        [*shlex.split(args.cxx if cxx else args.cc), *language, "-Wall",
         "-Wextra", "-Werror", "-O0", "-fPIC", f"-I{ROOT}",
         f"-I{ROOT}/hosts/torch", str(source), *args.runtime, "-o",
         str(target), *link], check=True)
    return str(target)


def error_of(call, *args, **kwargs):
    try:
        return f"returned {call(*args, **kwargs)!r}"
    except Exception as error:
        return type(error), str(error)


def is_error(tap, name, got, kind, text):
    tap.ok(got[0] is kind and text in got[1], name, got)


def torch_version(torch):
    return tuple(map(int, torch.__version__.split(".")[:2]))


def eager(tap, torch, demo):
    tap.ok(str(demo.axpy.default._schema) ==
           "demo::axpy(Tensor(a!) y, Tensor x, float a=1.) -> ()",
           "the schema has defaults and what is written",
           demo.axpy.default._schema)
    tap.ok(str(demo.add_bias.default._schema) ==
           "demo::add_bias(Tensor x, Tensor? bias=None) -> Tensor",
           "the schema has the optional tensor", demo.add_bias.default._schema)
    x, y = torch.arange(6.), torch.ones(6)
    at = y.data_ptr()
    demo.axpy(y, x)
    demo.axpy(y, x, a=2.0)
    tap.ok(torch.equal(y, 1 + 3 * x) and y.data_ptr() == at,
           "axpy in place, with its default and without", y)
    z, bias = x.reshape(2, 3), torch.ones(3)
    sums = demo.row_sums(z)
    tap.ok(type(sums) is torch.Tensor and torch.equal(sums, z.sum(1)) and
           sums.untyped_storage().resizable(),
           "a result is a tensor that PyTorch allocated", sums)
    tap.ok(torch.equal(demo.add_bias(z, bias), z + bias) and
           torch.equal(demo.add_bias(z), z) and
           torch.equal(demo.add_bias(z, None), z), "an optional tensor")
    tap.ok((demo.at(x), demo.at(x, 3), demo.at(x, 3, True)) == (0., 3., -3.),
           "int, bool and float")
    first = demo.kept(torch.ones(3))
    if torch_version(torch) < (2, 11):
        is_error(tap, "a result of an earlier call needs 2.11",
                 error_of(demo.kept, x), NotImplementedError, "PyTorch 2.11")
    else:
        again = demo.kept(torch.ones(3))
        again += 1
        tap.ok(first.tolist() == [1, 2, 3] and
               again.data_ptr() == first.data_ptr(),
               "a result of an earlier call shares its memory", again)
        square = torch.rand(3, 3)
        tap.ok(torch.equal(demo.transposed(square), square.T),
               "a view of the kernel's tensor keeps its strides")
    tap.ok(demo.row_sums(torch.ones(0, 3)).shape == (0,) and
           demo.row_sums(torch.ones(3, 0)).tolist() == [0, 0, 0],
           "empty tensors")
    is_error(tap, "a wrong dtype", error_of(demo.axpy, y.double(), x),
             TypeError, "argument `y`: dtype is float64, expected float32")
    is_error(tap, "a wrong shape", error_of(demo.axpy, y, x[1:]),
             ValueError, "argument `x`: dimension n is 5, but 6 in y")
    is_error(tap, "not contiguous", error_of(demo.row_sums, z.T), ValueError,
             "is not contiguous")
    is_error(tap, "the kernel's own error", error_of(demo.at, x, 9),
             IndexError, "index 9 of 6")
    is_error(tap, "no dense tensor", error_of(demo.row_sums, z.to_sparse()),
             NotImplementedError, "Sparse")
    for _ in range(100):
        error_of(demo.at, x, 9), demo.row_sums(z), demo.add_bias(z, bias)
    gc.collect()
    tap.ok(sys.getrefcount(z) == 2 and torch._C._storage_Use_Count(
        z.untyped_storage()._cdata) == torch._C._storage_Use_Count(
            x.untyped_storage()._cdata),
           "calls leave no reference to an argument")


def traced(tap, torch, demo):
    def both(y, x, bias):
        demo.axpy(y, demo.row_sums(x), a=2.0)
        return demo.add_bias(x, bias) + demo.add_bias(x), y * 2

    x, y, bias = torch.rand(4, 5), torch.ones(4), torch.rand(5)
    compiled = torch.compile(both, fullgraph=True, dynamic=True,
                             backend="aot_eager")
    for n, m in ((4, 5), (7, 9)):
        args = torch.rand(n), torch.rand(n, m), torch.rand(m)
        want = both(args[0].clone(), *args[1:])
        got = compiled(*args)
        tap.ok(all(torch.allclose(a, b) for a, b in zip(want, got)),
               f"torch.compile, {n} times {m}", (want, got))
    tap.ok(torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1,
           "the fake passes symbols on: one graph for all sizes",
           torch._dynamo.utils.counters["stats"])

    class Model(torch.nn.Module):
        def forward(self, y, x, bias):
            return both(y, x, bias)

    n, m = torch.export.Dim("n"), torch.export.Dim("m")
    program = torch.export.export(
        Model(), (y.clone(), x, bias),
        dynamic_shapes=({0: n}, {0: n, 1: m}, {0: m}))
    got = program.module()(torch.ones(7), torch.ones(7, 9), torch.ones(9))
    tap.ok(got[0].shape == (7, 9), "torch.export with symbolic dimensions")
    for name, args in {"axpy": (y, torch.rand(4), 2.0), "row_sums": (x,),
                       "add_bias": (x, bias)}.items():
        got = torch.library.opcheck(getattr(demo, name).default, args)
        tap.ok(set(got.values()) == {"SUCCESS"}, f"opcheck of {name}", got)
    with torch._subclasses.FakeTensorMode():
        is_error(tap, "the fake checks dtypes",
                 error_of(demo.row_sums, torch.ones(2, 3).double()), TypeError,
                 "argument `x`: dtype is torch.float64")
        is_error(tap, "the fake checks the rank",
                 error_of(demo.row_sums, torch.ones(2)), ValueError,
                 "argument `x`: shape is [2], expected [n, m]")
        is_error(tap, "the fake checks dimensions",
                 error_of(demo.add_bias, torch.ones(2, 3), torch.ones(2)),
                 ValueError, "argument `bias`: dimension m is 2, expected 3")
    got = error_of(torch.compile(demo.add_bias, backend="aot_eager",
                                 dynamic=True), torch.ones(4, 5), torch.ones(6))
    tap.ok("argument `bias`: dimension m is " in str(got),
           "sizes that disagree are named when they are traced", got)


def mistakes(tap, torch, args, folder, load):
    for i, (name, (code, kind, text)) in enumerate(BAD.items()):
        source = folder / f"bad{i}.c"
        library = "demo" if "demo::" in text else "bad"
        source.write_text(f"#include <math.h>\n{HEAD}{code}\n"
                          f"TVMFFI_TORCH_LIBRARY({library})\n")
        path = compile_c(args, source, folder / f"bad{i}.so")
        is_error(tap, name, error_of(load, path), kind, text)
    x = torch.ones(3)
    for i, (name, (code, text)) in enumerate(NO_RULE.items()):
        source = folder / f"rule{i}.c"
        source.write_text(f"{HEAD}{code}\n{RULE}\nTVMFFI_TORCH_LIBRARY(rule{i})\n")
        ops = load(compile_c(args, source, folder / f"rule{i}.so"))
        with torch._subclasses.FakeTensorMode() as mode:
            fake = mode.from_tensor(x)
            is_error(tap, name, error_of(ops.f, fake), ValueError, text)
            tap.ok(ops.g(fake).shape == (3,), f"{name} leaves the others' fakes")
        got = error_of(ops.f, x)
        tap.ok(isinstance(got, tuple) == ("bracket" in text),
               f"{name} matters only to a compiler", got)
    for debug in (0, 1):
        source = folder / f"liar{debug}.c"
        source.write_text(LIAR % (debug, debug))
        liar = load(compile_c(args, source, folder / f"liar{debug}.so"))
        if debug:
            is_error(tap, "TVMFFI_DEBUG compares the result with its text",
                     error_of(liar.f, x), RuntimeError, "dimension n is 4")
        else:
            got = error_of(torch.library.opcheck, liar.f.default, (x,))
            tap.ok("hape" in str(got) and isinstance(got, tuple),
                   "opcheck finds a fake that the kernel disagrees with", got)
            liar = load(folder / "liar0.so", check=True)
            is_error(tap, "check=True compares a result with the fake's",
                     error_of(liar.f, x), RuntimeError,
                     "liar0::f: the kernel returned torch.float32 [4] on cpu, "
                     "but its contract promises torch.float32 [3] on cpu")
    checked = load(folder / "demo.so", check=True)
    tap.ok(torch.equal(checked.row_sums(torch.ones(2, 3)), torch.full((2,), 3.))
           and torch.compile(checked.row_sums, backend="aot_eager",
                             fullgraph=True, dynamic=True)(
                                 torch.ones(4, 5)).shape == (4,) and
           checked.axpy(x, torch.ones(3)) is None and x.tolist() == [2, 2, 2],
           "check=True accepts right results, also when they are compiled")
    source = folder / "text.c"
    source.write_text(TEXT)
    path = compile_c(args, source, folder / "text.so")
    if "torch_new_string_handle" in args.symbols:
        text = load(path)
        tap.ok((text.length(), text.length("abcd", "xy", "cpu")) == (3, 204),
               "strings and devices")
    else:
        is_error(tap, "PyTorch 2.9 has no strings", error_of(load, path),
                 NotImplementedError, "text::length: parameter text: PyTorch "
                 "2.10 is needed for the type str")


def main():
    tap = Tap()
    parser = argparse.ArgumentParser()
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--site")
    args = parser.parse_args()
    sys.path[:0] = [args.site] if args.site else []
    args.runtime = []
    try:
        import torch
        found = torch_version(torch)
    except ImportError:
        found = (0, 0)
    if found < (2, 9):
        tap.skip("operators of PyTorch", "PyTorch 2.9 is not installed")
        return tap.done()
    import tvmffi_torch
    logging.disable(logging.ERROR)  # of the errors that the tests expect
    args.symbols = "torch_new_string_handle" if found >= (2, 10) else ""
    tap.note(f"PyTorch {torch.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        compile_c(args, HERE / "torch_kernels.c", folder / "cxx.so", cxx=True)
        path = compile_c(args, HERE / "torch_kernels.c", folder / "demo.so")
        (folder / "runtime.c").write_text(RUNTIME)
        runtime = compile_c(args, folder / "runtime.c", folder / "runtime.o")
        args.runtime = [runtime]
        demo = tvmffi_torch.load(path)
        tap.ok(tvmffi_torch.load(path) is demo, "a second load is the same")
        eager(tap, torch, demo)
        traced(tap, torch, demo)
        mistakes(tap, torch, args, folder, tvmffi_torch.load)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
