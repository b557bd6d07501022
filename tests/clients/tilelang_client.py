#!/usr/bin/env python3
r"""TileLang: kernels for the CPU compiled and run, on two libraries.

    tilelang_client.py --lib OURS

OURS needs upstream's C++ symbols, those of older wheels too: TileLang wants a
wheel below 0.1.13. The Python that runs this has such a wheel, TileLang and
PyTorch.
"""

import os
import shlex
import sys

from transcript import check, record, record_error, run


def functions(T):
    """The programs, by name, each with the shapes of its inputs."""
    @T.prim_func
    def add(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"),
            C: T.Tensor((64,), "float32")):
        for i in T.serial(64):
            C[i] = A[i] + B[i]

    @T.prim_func
    def product(A: T.Tensor((8, 12), "float32"),
                B: T.Tensor((12, 5), "float32"),
                C: T.Tensor((8, 5), "float32")):
        for i, j in T.grid(8, 5):
            C[i, j] = T.float32(0)
            for k in T.serial(12):
                C[i, j] += A[i, k] * B[k, j]

    @T.prim_func
    def relu(A: T.Tensor((4, 33), "float32"), B: T.Tensor((4, 33), "float32")):
        for i, j in T.grid(4, 33):
            B[i, j] = T.if_then_else(A[i, j] > 0, A[i, j], T.float32(0))

    @T.prim_func
    def digits(A: T.Tensor((16,), "int32"), B: T.Tensor((16,), "int32")):
        for i in T.serial(16):
            if A[i] % 2 == 0:
                B[i] = A[i] // 2
            else:
                B[i] = A[i] * 3 + 1

    return {"add": (add, [(64,), (64,)]),
            "product": (product, [(8, 12), (12, 5)]),
            "relu": (relu, [(4, 33)]), "digits": (digits, [(16,)])}


def reference(torch, name, inputs):
    if name == "add":
        return inputs[0] + inputs[1]
    if name == "product":
        return inputs[0] @ inputs[1]
    if name == "relu":
        return inputs[0].relu()
    odd = inputs[0] * 3 + 1
    return torch.where(inputs[0] % 2 == 0, inputs[0] // 2, odd)


def kernels(torch, tilelang, programs):
    generator = torch.Generator().manual_seed(0)
    for name, (program, shapes) in programs.items():
        kernel = tilelang.compile(program, target="c", out_idx=-1,
                                  execution_backend="cython")
        record(f"{name}: the source", kernel.get_kernel_source())
        if name == "digits":
            inputs = [torch.arange(16, dtype=torch.int32)]
        else:
            inputs = [torch.randn(*shape, generator=generator)
                      for shape in shapes]
        result = kernel(*inputs)
        check(f"{name}: the result", torch.allclose(
            result, reference(torch, name, inputs), atol=1e-5))
        record(f"{name}: the values", result.tolist())
        if name == "add":
            record_error("add: another shape", kernel, torch.ones(3),
                         torch.ones(64))
            record_error("add: another dtype", kernel, torch.ones(64).int(),
                         torch.ones(64))
            record_error("add: an input too few", kernel, torch.ones(64))


def programs_as_data(tvm, programs):
    """What the compiler's own library does with the programs."""
    for name, (program, _) in programs.items():
        record(f"{name}: the text", program.script())
        text = tvm.ir.save_json(program)
        again = tvm.ir.load_json(text)
        # The text has the versions of the wheel and the compiler.
        record(f"{name}: the length of its JSON", len(text))
        check(f"{name}: JSON and back", tvm.ir.structural_equal(program, again))
        record(f"{name}: the hash is that of the copy",
               tvm.ir.structural_hash(program) == tvm.ir.structural_hash(again))
    add, relu = programs["add"][0], programs["relu"][0]
    check("two programs differ", not tvm.ir.structural_equal(add, relu))
    record_error("two programs compared", tvm.ir.assert_structural_equal, add,
                 relu)
    record_error("a wrong JSON", tvm.ir.load_json, "{")


def main(args):
    import tilelang
    import torch
    import tvm_ffi
    from tilelang import language, tvm
    tilelang.disable_cache()
    record("versions", (tilelang.__version__, tvm_ffi.__version__))
    programs = functions(language)
    programs_as_data(tvm, programs)
    kernels(torch, tilelang, programs)


if __name__ == "__main__":
    sys.exit(run(__file__, "TileLang", main, ["tvm_ffi", "tilelang", "torch"],
                 programs=[shlex.split(os.environ.get("CC") or "cc")[0]],
                 distributions=["tilelang", "torch"]))
