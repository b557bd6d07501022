#!/usr/bin/env python3
"""Compiles tensor programs for the board by Apache TVM:

    python kernels.py OUTPUT.o

The object file is a system library: before main it registers its functions, by
whose names a client finds them. The Python that runs this has what
tests/clients/requirements-tvm.txt names.
"""

import sys

import tvm
from tvm import te, topi

TARGET = {"kind": "llvm", "mtriple": "thumbv7m-none-eabi", "mcpu": "cortex-m3",
          "vector-width": 32}


def programs():
    """Functions of tensors, whose extents are known when they are called."""
    n, m, k = (te.var(name, "int32") for name in "nmk")
    a = te.placeholder((n, k), name="a")
    b = te.placeholder((m, k), name="b")
    r = te.reduce_axis((0, k), name="r")
    product = te.compute(
        (n, m), lambda i, j: te.sum(a[i, r] * b[j, r], axis=r), name="product")
    x = te.placeholder((n, m), name="x")
    return {
        # The second matrix is transposed.
        "matmul": te.create_prim_func([a, b, product]),
        "softmax": te.create_prim_func([x, topi.nn.softmax(x)]),
        # With a tensor in between, in the memory of the board's arena.
        "scores": te.create_prim_func([a, b, topi.nn.softmax(product)]),
    }


def parallel(module, function, block):
    """Makes a block's outermost loop parallel. On the board it is one task."""
    schedule = tvm.s_tir.Schedule(module)
    schedule.work_on(function)
    schedule.parallel(schedule.get_loops(schedule.get_sblock(block))[0])
    return schedule.mod


def main():
    module = tvm.IRModule({name: f.with_attr("global_symbol", name)
                           for name, f in programs().items()})
    module = parallel(module, "scores", "product")
    library = tvm.tirx.build(module.with_attr("system_lib_prefix", ""),
                             target=tvm.target.Target(TARGET))
    library.write_to_file(sys.argv[1])


if __name__ == "__main__":
    main()
