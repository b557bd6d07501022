#!/usr/bin/env python3
"""XLA FFI handlers by tvmffi_xla.h, called from JAX's compiled programs.

    python xla_host.py --cc CC [--cxx CXX]

Compiles xla_kernels.c, as C and as C++, and registers its handlers. Needs JAX,
and runs on the CPU, which is four devices here. Writes TAP.
"""

import argparse
import ctypes
import functools
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "tools"))
sys.dont_write_bytecode = True

from tap import Tap

WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Werror"]
# Each dtype with its DLPack code and bits, and the first byte of ones.
DTYPES = {
    "bool": (6, 8, 1), "int2": (0, 2, 0x55), "int4": (0, 4, 0x11),
    "int8": (0, 8, 1), "int16": (0, 16, 1), "int32": (0, 32, 1),
    "uint2": (1, 2, 0x55), "uint4": (1, 4, 0x11), "uint8": (1, 8, 1),
    "uint16": (1, 16, 1), "uint32": (1, 32, 1), "float16": (2, 16, 0),
    "float32": (2, 32, 0), "complex64": (5, 64, 0), "bfloat16": (4, 16, 0x80),
    "float8_e3m4": (7, 8, 0x30), "float8_e4m3": (8, 8, 0x38),
    "float8_e4m3b11fnuz": (9, 8, 0x58), "float8_e4m3fn": (10, 8, 0x38),
    "float8_e4m3fnuz": (11, 8, 0x40), "float8_e5m2": (12, 8, 0x3c),
    "float8_e5m2fnuz": (13, 8, 0x40), "float8_e8m0fnu": (14, 8, 0x7f),
    "float4_e2m1fn": (17, 4, 0x22)}
WIDE = {"int64": (0, 64, 1), "uint64": (1, 64, 1), "float64": (2, 64, 0),
        "complex128": (5, 128, 0)}

ATTRIBUTES = (
    "attributes(0: DLTensor*, 1: Optional<bytes>, 2: Optional<ffi.Shape>, "
    "3: Optional<Array<float>>, 4: Optional<int>, 5: int, 6: int, 7: float, "
    "8: bool, 9: str, 10: DataType, 11: Any) -> void")


class Host:
    """The handlers of a library, whose targets begin with `prefix`."""

    def __init__(self, tap, library, prefix):
        import jax
        import jax.numpy as jnp
        import numpy
        self.jax, self.jnp, self.numpy = jax, jnp, numpy
        self.tap, self.prefix = tap, prefix
        self.library = ctypes.CDLL(library)

    def register(self, name, stage=None):
        capsule = self.jax.ffi.pycapsule(
            getattr(self.library, f"tvmffi_xla_{name}"))
        self.jax.ffi.register_ffi_target(
            f"{self.prefix}.{name}",
            {stage: capsule, "execute": capsule} if stage else capsule,
            platform="cpu")

    def call(self, name, *results, **options):
        """The handler as a function; each result is (shape, dtype)."""
        specs = [self.jax.ShapeDtypeStruct(*each) for each in results]
        return self.jax.ffi.ffi_call(
            f"{self.prefix}.{name}", specs[0] if len(specs) == 1 else specs,
            **options)

    def axpy(self, size, **options):
        return self.call("axpy", ((size,), "float32"),
                         input_output_aliases={1: 0}, **options)

    def text(self, name, *args, **attributes):
        """What a handler writes about its arguments."""
        written = self.call(name, ((128,), "uint8"))(*args, **attributes)
        return bytes(self.numpy.asarray(written)).decode().rstrip()

    def gives(self, name, function, expected):
        try:
            found = function()
        except Exception as error:
            found = error
        if hasattr(found, "tolist"):
            found = found.tolist()
        self.tap.ok(found == expected, f"{self.prefix}: {name}",
                    f"expected {expected!r}\nfound {found!r}")

    def fails(self, name, text, function):
        """Compares the first line of the error's text, which is the handler's;
        JAX adds others."""
        try:
            found = f"no error: {self.jax.block_until_ready(function())}"
        except Exception as error:
            found = str(error).splitlines()[0]
        self.tap.ok(found == text, f"{self.prefix}: {name}",
                    f"expected {text}\nfound    {found}")

    # -- tests -----------------------------------------------------------

    def calls(self):
        jax, jnp, np = self.jax, self.jnp, self.numpy
        x, y = np.arange(4, dtype="float32"), np.ones(4, "float32")
        axpy = self.axpy(4)
        self.gives("a default attribute", lambda: axpy(x, y),
                   [1, 2, 3, 4])
        self.gives("an attribute", lambda: axpy(x, y, a=2.0), [1, 3, 5, 7])
        self.gives("an int as a float", lambda: axpy(x, y, a=2), [1, 3, 5, 7])
        self.gives("the argument is not written", y.tolist, [1, 1, 1, 1])
        self.gives("jit", lambda: jax.jit(
            lambda x, y: axpy(x * x, y, a=0.5) + y)(x, y), [2, 2.5, 4, 6.5])
        self.gives("an argument that lives on", lambda: jax.jit(
            lambda x: axpy(x, x) + x)(x), [0, 3, 6, 9])
        self.gives("a loop", lambda: jax.jit(lambda x, y: jax.lax.fori_loop(
            0, 1000, lambda _, y: axpy(x, y), y))(x, y),
            [1, 1001, 2001, 3001])
        for method in "sequential", "sequential_unrolled":
            each = self.axpy(4, vmap_method=method)
            self.gives(f"vmap, {method}", lambda each=each: jax.jit(
                jax.vmap(functools.partial(each, a=2.0)))(
                    np.stack([x, 10 * x]), np.stack([y, y])),
                [[1, 3, 5, 7], [1, 21, 41, 61]])
        mesh = jax.make_mesh((4,), ("i",), axis_types=(
            jax.sharding.AxisType.Auto,))
        spec = jax.sharding.PartitionSpec("i")
        one = self.axpy(1)
        self.gives("shard_map on four devices", lambda: jax.jit(jax.shard_map(
            lambda x, y: one(x, y, a=3.0), mesh=mesh, in_specs=(spec, spec),
            out_specs=spec, check_vma=False))(x, y), [1, 4, 7, 10])
        grown = jnp.arange(6, dtype="float32").reshape(2, 3)
        self.gives("a result of another shape", lambda: jax.jit(
            self.call("row_sums", ((2,), "float32")))(grown), [3, 12])
        self.gives("no rows", lambda: jax.jit(
            self.call("row_sums", ((0,), "float32")))(grown[:0]), [])
        self.gives("no columns", lambda: jax.jit(
            self.call("row_sums", ((2,), "float32")))(grown[:, :0]), [0, 0])

    def optionals(self):
        np = self.numpy
        x, bias = np.arange(3, dtype="float32"), np.ones(3, "float32")
        affine = self.call("affine", ((3,), "float32"))
        self.gives("no optional tensor", lambda: affine(x), [0, 1, 2])
        self.gives("an optional tensor", lambda: affine(x, bias), [1, 2, 3])
        self.gives("an optional attribute", lambda: affine(x, scale=2.0),
                   [0, 2, 4])
        self.gives("both", lambda: affine(x, bias, scale=np.float32(3)),
                   [1, 4, 7])
        both = self.call("split", ((3,), "int32"), ((2,), "int32"))
        one = self.call("split", ((3,), "int32"))
        n = np.arange(5, dtype="int32")
        self.gives("two results", lambda: [r.tolist() for r in both(n)],
                   [[0, 2, 4], [1, 3]])
        self.gives("an optional result", lambda: one(n), [0, 2, 4])
        outer = self.call("outer", ((2, 3), "float32"))
        self.gives("a returned tensor", lambda: outer(x[1:], bias * 2),
                   [[2, 2, 2], [4, 4, 4]])

    def attributes(self):
        np, text = self.numpy, functools.partial(self.text, "attributes")
        self.gives("defaults", text,
                   "0 -1 0 -9 -1 0 0.5 1 a long default 0:4 1")
        self.gives("all attributes", lambda: text(
            raw=b"ab\xff", sizes=np.array([2, 3]), weights=np.array([1, 2.5]),
            maybe=5, small=np.int8(-128), large=np.uint64(2**63 - 1),
            ratio=np.float32(0.25), flag=False, label="text",
            type="bfloat16", anything="any"),
            "3 2 3.5 5 -128 9223372036854775807 0.25 0 text 4:16 11")
        self.gives("integers of all types", lambda: [
            text(maybe=t(7)).split()[3] for t in (
                np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16,
                np.uint32, np.uint64, bool)], ["7"] * 8 + ["1"])
        self.gives("arrays of all types", lambda: [
            text(weights=np.array([1, 2, 3], t)).split()[2] for t in (
                np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16,
                np.uint32, np.uint64, np.float32, np.float64)], ["6"] * 10)
        self.gives("a long array", lambda: text(
            weights=np.arange(1000)).split()[2], "499500")
        self.gives("no elements", lambda: text(
            sizes=np.zeros(0, "int64"), label="").split()[1], "0")
        self.gives("a long text", lambda: text(label="x" * 60).split()[8],
                   "x" * 60)

    def dtypes(self):
        for name, (code, bits, byte) in DTYPES.items():
            self.gives(f"a tensor of {name}", lambda name=name: self.text(
                "describe", self.jnp.ones((2, 3), name)),
                f"code {code} bits {bits} lanes 1 device 1.0 byte "
                f"{byte:02x} 2:3 3:1")
        with self.jax.enable_x64(True):
            for name, (code, bits, byte) in WIDE.items():
                self.gives(f"a tensor of {name}", lambda name=name: self.text(
                    "describe", self.jnp.ones(3, name)),
                    f"code {code} bits {bits} lanes 1 device 1.0 byte "
                    f"{byte:02x} 3:1")
        for shape, said in ((), ""), ((1, 2, 3, 4, 5),
                                      " 1:120 2:60 3:20 4:5 5:1"):
            self.gives(f"a tensor of rank {len(shape)}", lambda shape=shape:
                       self.text("describe", self.jnp.ones(shape, "int8")),
                       f"code 0 bits 8 lanes 1 device 1.0 byte 01{said}")

    def errors(self):
        jax, np = self.jax, self.numpy
        x, y = np.arange(4, dtype="float32"), np.ones(4, "float32")
        axpy, wrong = self.axpy(4), "INVALID_ARGUMENT: "
        self.fails("another dtype", wrong + "TypeError: axpy: argument `x`: "
                   "dtype is int32, expected float32",
                   lambda: axpy(x.astype("int32"), y))
        self.fails("another length", wrong + "ValueError: axpy: argument `y`: "
                   "dimension n is 4, but 3 in x", lambda: axpy(x[:3], y))
        self.fails("a result of another shape", wrong + "ValueError: "
                   "row_sums: argument `y`: dimension n is 3, but 2 in x",
                   lambda: self.call("row_sums", ((3,), "float32"))(
                       np.ones((2, 2), "float32")))
        self.fails("a result of another dtype", wrong + "TypeError: "
                   "row_sums: argument `y`: dtype is int8, expected float32",
                   lambda: self.call("row_sums", ((2,), "int8"))(
                       np.ones((2, 2), "float32")))
        self.fails("no alias", wrong + "ValueError: axpy: argument `y` is inout, "
                   "but XLA's argument and result are two buffers: use "
                   "ffi_call(..., input_output_aliases={1: 0})",
                   lambda: self.call("axpy", ((4,), "float32"))(x, y))
        self.fails("an argument too many", wrong + "TypeError: axpy takes "
                   "2 arguments (x, y), but the call has 3",
                   lambda: axpy(x, y, x))
        self.fails("an argument too few", wrong + "TypeError: affine takes "
                   "1 to 2 arguments (x, bias), but the call has 0",
                   lambda: self.call("affine", ((4,), "float32"))())
        self.fails("no result", wrong + "TypeError: split takes 1 to 2 "
                   "results (even, odd), but the call has 0",
                   lambda: self.call("split", has_side_effect=True)(
                       x.astype("int32")))
        self.fails("a result too many", wrong + "TypeError: outer takes 1 "
                   "result (the returned tensor), but the call has 2",
                   lambda: self.call("outer", ((4, 4), "float32"),
                                     ((4,), "float32"))(x, y))
        self.fails("an unknown attribute", wrong + "TypeError: axpy has no "
                   "attribute b; its attributes: a",
                   lambda: axpy(x, y, a=1.0, b=2.0))
        self.fails("none is known", wrong + "TypeError: row_sums has no "
                   "attribute a; its attributes: none",
                   lambda: self.call("row_sums", ((2,), "float32"))(
                       np.ones((2, 2), "float32"), a=1))
        self.fails("a missing attribute", wrong + "TypeError: fail: the "
                   "attribute kind is missing",
                   lambda: self.call("fail", ((4,), "float32"))(x))
        self.fails("an attribute of another type", wrong + "TypeError: "
                   "attribute a: Mismatched type on argument #2 when calling: "
                   "`axpy(0: DLTensor*, 1: DLTensor*, 2: float) -> void`. "
                   "Expected `float` but got `ffi.SmallStr`",
                   lambda: axpy(x, y, a="2"))
        self.fails("elements of another type", wrong + "TypeError: attribute "
                   "sizes: Mismatched type on argument #2 when calling: "
                   f"`{ATTRIBUTES}`. Expected `Optional<ffi.Shape>` but got "
                   "`ffi.Array`", lambda: self.text(
                       "attributes", sizes=np.array([1.5])))
        self.fails("an attribute out of range", wrong.replace(
            "INVALID_ARGUMENT", "OUT_OF_RANGE") + "OverflowError: attribute "
            "small: Value out of range in argument #5 when calling: "
            f"`{ATTRIBUTES}`. Expected `int8` but got `128`",
            lambda: self.text("attributes", small=128))
        self.fails("a dictionary", wrong + "TypeError: attributes: attribute "
                   "anything: a dictionary is not supported",
                   lambda: self.text("attributes", anything={"a": 1}))
        self.fails("a returned tensor of another shape", wrong + "ValueError: "
                   "outer: the result: shape is [4, 5], but XLA's is [4, 4]",
                   lambda: self.call("outer", ((4, 4), "float32"))(
                       x, y, more=1))
        self.fails("a returned tensor of another dtype", wrong + "TypeError: "
                   "outer: the result: dtype is float64, but XLA's is float32",
                   lambda: self.call("outer", ((4, 4), "float32"))(
                       x, y, type="float64"))
        for kind, code in (
                ("ValueError", "INVALID_ARGUMENT"), ("KeyError", "NOT_FOUND"),
                ("IndexError", "OUT_OF_RANGE"), ("OfMine", "UNKNOWN"),
                ("MemoryError", "RESOURCE_EXHAUSTED"),
                ("RuntimeError", "INTERNAL")):
            fail = jax.jit(functools.partial(
                self.call("fail", ((4,), "float32")), kind=kind))
            self.fails(f"an error of the kind {kind}",
                       f"{code}: {kind}: said by C", lambda fail=fail: fail(x))
        self.gives("a call after errors", lambda: axpy(x, y), [1, 2, 3, 4])

    def registrations(self):
        for name, text in (
                ("takes_function", "INVALID_ARGUMENT: TypeError: "
                 "takes_function: parameter f has the type ffi.Function, "
                 "which XLA has no attributes of"),
                ("returns_int", "INVALID_ARGUMENT: TypeError: returns_int: "
                 "the result has the type int, which XLA cannot take: write to "
                 "a tensor(\"... out\")")):
            self.fails(f"the registration of {name}", text,
                       lambda name=name: self.register(name))

    def threads(self):
        """Calls at the same time, the first ones among them."""
        self.register("first_call")
        x = self.numpy.arange(100, dtype="float32")
        results, start = [], threading.Barrier(8)
        double = self.jax.jit(self.call("first_call", ((100,), "float32")))
        compiled = double.lower(x).compile()

        def call():
            start.wait()
            for _ in range(50):
                results.append(compiled(x).tolist() == (2 * x).tolist())

        threads = [threading.Thread(target=call) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.tap.ok(results == [True] * 400,
                    f"{self.prefix}: eight threads", results)

    def run(self, parts):
        for name in ("axpy", "row_sums", "affine", "split", "outer", "describe",
                     "attributes", "fail"):
            self.register(name)
        for part in parts:
            getattr(self, part)()


def build(compiler, language, include, source, *options):
    command = [*shlex.split(compiler), *language, *WARNINGS, "-O1", "-I", ROOT,
               "-I", ROOT / "hosts" / "xla", "-isystem", include,
               HERE / source, *options, "-lpthread", "-ldl"]
    return subprocess.run([str(word) for word in command], text=True,
                          capture_output=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx")
    args = parser.parse_args()
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
    tap = Tap()
    try:
        import jax
    except ImportError as error:
        tap.skip("handlers of XLA", error)
        return tap.done()
    include = jax.ffi.include_dir()
    languages = [("C", args.cc, ["-std=c11", "-Wpedantic"],
                  ["calls", "optionals", "attributes", "dtypes", "errors",
                   "registrations", "threads"])]
    if args.cxx:
        languages.append(("C++", args.cxx, ["-x", "c++", "-std=c++11"],
                          ["optionals", "attributes", "registrations"]))
    with tempfile.TemporaryDirectory() as tmp:
        for name, compiler, language, parts in languages:
            library = f"{tmp}/{name}.so"
            built = build(compiler, language, include, "xla_kernels.c",
                          "-shared", "-fPIC", "-o", library)
            if tap.ok(not built.returncode, f"{name}: the kernels are built",
                      built.stderr):
                Host(tap, library, name).run(parts)
            frames = f"{tmp}/{name}-frames"
            built = build(compiler, language, include, "xla_frames.c", "-o",
                          frames)
            if tap.ok(not built.returncode, f"{name}: the frames are built",
                      built.stderr):
                found = subprocess.run([frames], capture_output=True,
                                       text=True)
                tap.ok(not found.returncode and found.stdout == "ok\n",
                       f"{name}: call frames of other versions and devices",
                       found.stdout + found.stderr)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
