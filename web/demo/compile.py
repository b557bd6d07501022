#!/usr/bin/env python3
"""Compiles programs for WebGPU and one for the CPU by Apache TVM, and links them
with the runtime:

    python web/demo/compile.py OUTPUT.wasm [OPTIONS-AND-FILES-OF-BUILD.SH...]

The Python that runs this has what tests/clients/requirements-tvm.txt names. The
shaders are WGSL; the host code, which launches them, is wasm.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import tvm
from tvm import te, topi
from tvm.s_tir import dlight

BUILD = Path(__file__).resolve().parent.parent / "build.sh"
HOST = {"kind": "llvm", "mtriple": "wasm32-unknown-unknown-wasm",
        "vector-width": 128}


def programs():
    """Functions of tensors, whose extents are known when they are called."""
    n, m, k = (te.var(name, "int32") for name in "nmk")
    a = te.placeholder((n, k), name="a")
    b = te.placeholder((m, k), name="b")
    r = te.reduce_axis((0, k), name="r")
    product = te.compute(
        (n, m), lambda i, j: te.sum(a[i, r] * b[j, r], axis=r), name="product")
    x = te.placeholder((n, m), name="x")
    y = te.placeholder((n, m), name="y")
    factor = te.var("factor", "float32")
    scaled = te.compute((n, m), lambda i, j: factor * x[i, j] + y[i, j],
                        name="scaled")
    return {
        # The second matrix is transposed.
        "matmul": te.create_prim_func([a, b, product]),
        "softmax": te.create_prim_func([x, topi.nn.softmax(x)]),
        "axpy": te.create_prim_func([factor, x, y, scaled]),
        # Several shaders, with tensors in between.
        "scores": te.create_prim_func([a, b, topi.nn.softmax(product)]),
    }


def program_of_cpu():
    """The sums of the squares of each row: two parallel loops, with a tensor in
    between."""
    n, m = te.var("n", "int32"), te.var("m", "int32")
    x = te.placeholder((n, m), name="x")
    r = te.reduce_axis((0, m), name="r")
    square = te.compute((n, m), lambda i, j: x[i, j] * x[i, j], name="square")
    total = te.compute((n,), lambda i: te.sum(square[i, r], axis=r),
                       name="total")
    f = te.create_prim_func([x, total]).with_attr("global_symbol", "squares")
    schedule = tvm.s_tir.Schedule(tvm.IRModule({"squares": f}))
    schedule.work_on("squares")
    for name in ("square", "total"):
        loops = schedule.get_loops(schedule.get_sblock(name))
        schedule.parallel(loops[0])
    return schedule.mod


def build(module, target):
    return tvm.tirx.build(module.with_attr("system_lib_prefix", ""),
                          target=tvm.target.Target(target))


def compiled():
    target = tvm.target.Target("webgpu", host=HOST)
    module = tvm.IRModule({name: f.with_attr("global_symbol", name)
                           for name, f in programs().items()})
    with target:
        module = dlight.ApplyDefaultSchedule(
            dlight.gpu.Matmul(), dlight.gpu.GeneralReduction(),
            dlight.gpu.Fallback())(module)
    return build(module, target)


def main():
    output, *more = sys.argv[1:]

    def link(path, objects, **_):
        subprocess.run(["sh", BUILD, "--webgpu", "-o", path, *more, *objects],
                       check=True)

    link.object_format = "o"
    with tempfile.TemporaryDirectory() as folder:
        of_cpu = folder + "/cpu.o"
        build(program_of_cpu(), HOST).write_to_file(of_cpu)
        compiled().export_library(output, fcompile=link, addons=[of_cpu])


if __name__ == "__main__":
    main()
