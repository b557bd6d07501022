#!/usr/bin/env python3
r"""jax-tvm-ffi: kernels in C called from JAX's compiled programs, on two
libraries.

    jax_client.py --lib OURS

The Python that runs this has the wheel, JAX and jax-tvm-ffi; the kernels are
compiled by CC. They run on the CPU.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from transcript import check, record, run

KERNELS = Path(__file__).with_name("jax_kernels.c")
DTYPES = ["int8", "int16", "int32", "uint8", "uint16", "uint32", "float16",
          "bfloat16", "float32", "bool", "float8_e4m3fn", "float8_e5m2",
          "complex64"]


def compiled(folder):
    library = folder / "kernels.so"
    subprocess.run([*shlex.split(os.environ.get("CC") or "cc"), "-shared",
                    "-fPIC", "-O1", "-Wall", "-Werror", KERNELS, "-o",
                    library], check=True)
    return str(library)


class Client:
    def __init__(self, library):
        import jax
        import jax.numpy as jnp
        import jax_tvm_ffi
        import tvm_ffi
        self.jax, self.np, self.tvm_ffi = jax, jnp, tvm_ffi
        self.package = jax_tvm_ffi
        self.kernels = tvm_ffi.load_module(library)

    def register(self, name, function=None, **options):
        self.package.register_ffi_target(
            f"c.{name}", function or self.kernels[name], **options)

    def call(self, name, *outputs, **options):
        """The kernel as a function of arrays; outputs are (shape, dtype)."""
        specs = [self.jax.ShapeDtypeStruct(*output) for output in outputs]
        return self.jax.ffi.ffi_call(f"c.{name}",
                                     specs if specs[1:] else specs[0],
                                     **options)

    def error(self, name, function, *args):
        """Records an error: its text, without what XLA's own code adds."""
        try:
            value = self.jax.block_until_ready(function(*args))
        except Exception as error:
            text = re.sub(r"0x[0-9a-f]+", "ADDRESS", str(error))
            record(name, (type(error).__name__, text))
        else:
            record(name, f"no error: {value}")

    # -- what is recorded ------------------------------------------------

    def calls(self):
        jax, np = self.jax, self.np
        self.register("add_one")
        self.register("affine",
                      arg_spec=["attrs.a", "args", "rets", "attrs.b"])
        self.register("split")
        add_one = self.call("add_one", ((4,), "float32"))
        x = np.arange(4, dtype="float32")
        record("a call", add_one(x).tolist())
        record("a call that is compiled",
               jax.jit(lambda x: 2 * add_one(x * x))(x).tolist())
        record("a loop", jax.jit(lambda x: jax.lax.fori_loop(
            0, 1000, lambda i, y: add_one(y), x))(x).tolist())
        record("a branch", [jax.jit(lambda x, yes: jax.lax.cond(
            yes, add_one, lambda y: -y, x))(x, yes).tolist()
            for yes in (True, False)])
        scan = jax.jit(lambda x: jax.lax.scan(
            lambda y, _: (add_one(y), y.sum()), x, None, length=5))
        record("a scan", [part.tolist() for part in scan(x)])
        each = self.call("add_one", ((4,), "float32"),
                         vmap_method="sequential")
        record("a batch", jax.vmap(each)(np.stack([x, 10 * x])).tolist())
        affine = self.call("affine", ((2, 3), "float32"))
        y = np.arange(6, dtype="float32").reshape(2, 3)
        record("attributes", jax.jit(
            lambda y: affine(y, a=0.5, b=-1.0))(y).tolist())
        split = self.call("split", ((3,), "int32"), ((3,), "int32"))
        record("two results", [part.tolist() for part in
                               jax.jit(split)(np.arange(6))])
        record("an empty array", self.call("add_one", ((0,), "float32"))(
            np.zeros(0, "float32")).tolist())

    def derivative(self):
        jax = self.jax
        one = self.call("add_one", ((4,), "float32"))
        f = jax.custom_vjp(lambda x: one(x))
        f.defvjp(lambda x: (one(x), None), lambda _, g: (3 * g,))
        record("a derivative of one's own", jax.jit(jax.grad(
            lambda x: (f(x) ** 2).sum()))(self.np.ones(4, "float32")).tolist())

    def arrays(self):
        self.register("describe")
        describe = self.call("describe", ((128,), "uint8"))
        for dtype in DTYPES:
            self.error(f"an array of {dtype}", lambda: bytes(describe(
                self.np.zeros((2, 3), dtype)).tolist()))
        for shape in ((), (0, 7), (1,) * 6, (65537,)):
            self.error(f"an array of the shape {shape}", lambda: bytes(
                describe(self.np.zeros(shape, "int8")).tolist()))

    def workspace(self):
        self.register("norm", use_last_output_for_alloc_workspace=True)
        x = self.np.arange(5, dtype="float32")
        norm = self.call("norm", ((1,), "float32"), ((4096,), "uint8"))
        record("a workspace", self.jax.jit(norm)(x)[0].tolist())
        record("its greatest use", self.package.get_last_workspace_peak())
        small = self.call("norm", ((1,), "float32"), ((8,), "uint8"))
        self.error("a workspace that is too small", small, x)

    def callbacks(self):
        import numpy
        seen = []

        def python(x, y):
            source, target = numpy.from_dlpack(x), numpy.from_dlpack(y)
            seen.append((type(x).__name__, tuple(x.shape), str(x.dtype)))
            target[:] = source[::-1]

        def raises(x, y):
            raise KeyError("from Python")

        self.register("reverse", self.tvm_ffi.convert(python),
                      pass_owned_tensor=True)
        self.register("raises", self.tvm_ffi.convert(raises))
        x = self.np.arange(4, dtype="float32")
        record("a function of Python", self.jax.jit(
            self.call("reverse", ((4,), "float32")))(x).tolist())
        record("what it saw", seen)
        self.error("an error of Python",
                   self.call("raises", ((4,), "float32")), x)

    def errors(self):
        self.register("fail", arg_spec=["attrs.kind", "args", "rets"])
        x = self.np.arange(4, dtype="float32")
        for kind in ("ValueError", "KeyError", "OfMine"):
            fail = self.call("fail", ((4,), "float32"))
            self.error(f"an error of the kind {kind}", self.jax.jit(
                lambda x: fail(x, kind=kind)), x)
        add_one = self.call("add_one", ((4,), "float32"))
        self.error("another dtype", add_one, x.astype("int32"))
        self.error("another length", add_one, self.np.zeros(5, "float32"))
        self.error("another rank", add_one, x.reshape(2, 2))
        self.error("an argument too many", add_one, x, x)
        record("a call after errors", add_one(x).tolist())
        self.error("a name that is not registered",
                   self.call("absent", ((4,), "float32")), x)
        self.error("an argument that is no attribute", lambda: self.register(
            "wrong", self.kernels["add_one"], arg_spec=["nothing"]))

    def many(self):
        add_one = self.jax.jit(self.call("add_one", ((64,), "float32")))
        x = self.np.zeros(64, "float32")
        for _ in range(2000):
            x = add_one(x)
        check("2,000 calls", x.tolist() == [2000.0] * 64)
        record("registered functions", self.package.registered_count())


def main(args):
    os.environ["JAX_PLATFORMS"] = "cpu"
    with tempfile.TemporaryDirectory() as tmp:
        client = Client(compiled(Path(tmp)))
        record("versions", (client.jax.__version__,
                            client.tvm_ffi.__version__))
        for part in (client.calls, client.derivative, client.arrays,
                     client.workspace, client.callbacks, client.errors,
                     client.many):
            part()


if __name__ == "__main__":
    sys.exit(run(__file__, "jax-tvm-ffi", main,
                 ["tvm_ffi", "jax", "jax_tvm_ffi"],
                 programs=[shlex.split(os.environ.get("CC") or "cc")[0]],
                 distributions=["jax-tvm-ffi", "jax"]))
