#!/usr/bin/env python3
r"""PyTorch tensors to kernels in C and back, on two libraries.

    torch_client.py --lib OURS --kernels KERNELS.SO \
        --more TEST_KERNELS.SO

The kernels are examples/kernel/kernels.c and tests/kernels/test_kernels.c, built.
The Python that runs this has the wheel and PyTorch.
"""

import gc
import os
import sys
import weakref

from transcript import check, record, record_error, run

DTYPES = ["uint8", "int8", "int16", "int32", "int64", "float16", "float32",
          "float64", "bfloat16", "bool"]


def shape_of(x):
    return tuple(x.shape), tuple(x.strides), str(x.dtype), str(x.device)


def in_and_out(torch, tvm_ffi):
    for name in DTYPES:
        x = torch.ones(3, 4, dtype=getattr(torch, name))
        try:
            t = tvm_ffi.from_dlpack(x)
        except Exception as error:
            record(f"{name} is taken", (type(error).__name__, str(error)))
            continue
        record(f"{name} is taken", shape_of(t))
        back = torch.from_dlpack(t)
        check(f"{name}: no copy in either direction",
              back.data_ptr() == x.data_ptr())
        record(f"{name} comes back", (back.dtype, tuple(back.shape),
                                      back.stride(), back.tolist()))
    x = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)
    views = {"transposed": x.transpose(0, 2), "a slice": x[:, 1:, ::2],
             "an offset": x[1, 2:], "broadcast": x[0, 0].expand(5, 4),
             "empty": x[:0], "of rank 0": x[1, 2, 3]}
    for name, view in views.items():
        t = tvm_ffi.from_dlpack(view)
        back = torch.from_dlpack(t)
        record(f"a view that is {name}", (shape_of(t), back.stride(),
                                          back.tolist()))
        check(f"a view that is {name} is no copy",
              back.data_ptr() == view.data_ptr())
    t = tvm_ffi.from_dlpack(x)
    torch.from_dlpack(t)[0, 0, 0] = 99
    check("a write on one side is seen on the other", x[0, 0, 0] == 99)


def life_times(torch, tvm_ffi):
    x = torch.arange(1000.0)
    pointer, gone = x.data_ptr(), weakref.ref(x)
    t = tvm_ffi.from_dlpack(x)
    del x
    gc.collect()
    back = torch.from_dlpack(t)
    del t
    gc.collect()
    record("the data outlives both", (back.data_ptr() == pointer,
                                      back.sum().item()))
    check("the tensor of PyTorch is held", gone() is not None)
    del back
    gc.collect()
    check("the tensor of PyTorch is released", gone() is None)
    shared = torch.zeros(4)
    for _ in range(10000):
        torch.from_dlpack(tvm_ffi.from_dlpack(shared))
    check("10,000 round trips leave the tensor as it was",
          sys.getrefcount(shared) == 2)


def kernels(torch, k):
    for n in (0, 1, 7, 1000):
        x, y = torch.arange(float(n)), torch.ones(n)
        k.axpy(0.5, x, y)
        check(f"axpy of {n} elements",
              torch.equal(y, 0.5 * torch.arange(float(n)) + 1))
    x = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    for name, view in {"a matrix": x, "its transpose": x.T,
                       "every other column": x[:, ::2],
                       "one row": x[2:3]}.items():
        record(f"sum of {name}", (k.sum(view), view.sum().item()))
    for dtype in (torch.int16, torch.float64, torch.uint8):
        to = torch.zeros(3, 5, dtype=dtype)
        source = torch.arange(15).reshape(3, 5).to(dtype)
        k.copy(source, to)
        check(f"copy of {dtype}", torch.equal(source, to))
    record("a function of Python is called back",
           k.sum_over(lambda i: float(torch.tensor(i * i)), 10))


def kernel_errors(torch, k):
    x, y = torch.zeros(4), torch.zeros(3)
    for name, args in {
            "another length": (1.0, x, y),
            "another dtype": (1.0, x.double(), x),
            "another rank": (1.0, x.reshape(2, 2), x),
            "no tensor": (1.0, "x", x),
            "an argument too few": (1.0, x)}.items():
        record_error(f"axpy: {name}", k.axpy, *args)
    record_error("sum of one dimension", k.sum, x)
    record_error("division by zero", k.div, 1, 0)

    def fails(_):
        raise KeyError("from Python")

    record_error("an error of the callback", k.sum_over, fails, 3)
    record_error("a tensor that requires gradients", k.sum,
                 torch.zeros(2, 2, requires_grad=True))
    record_error("a sparse tensor", k.sum, torch.eye(3).to_sparse())
    for dtype in (torch.complex64, torch.complex128):
        record_error(f"a tensor of {dtype}", k.sum,
                     torch.zeros(2, 2, dtype=dtype))


def descriptions(torch, more):
    for name in DTYPES:
        x = torch.zeros(2, 3, dtype=getattr(torch, name))
        try:
            record(f"describe {name}", more.describe(x))
        except Exception as error:
            record(f"describe {name}", (type(error).__name__, str(error)))
    record("describe a view", more.describe(torch.zeros(4, 6)[1:3, ::2]))
    record("describe a scalar", more.describe(torch.tensor(1.5)))


def functions(torch, tvm_ffi):
    echo = tvm_ffi.convert(lambda x: x)
    x = torch.arange(6.0).reshape(2, 3)
    y = echo(x)
    record("a tensor through a function", (type(y).__name__,
                                           torch.from_dlpack(y).tolist()))
    check("a tensor through a function is no copy",
          torch.from_dlpack(y).data_ptr() == x.data_ptr())
    record("a dtype through a function", echo(torch.float16))
    record("a device through a function", echo(torch.device("cpu")))
    items = tvm_ffi.convert([x, {"x": x}, 3])
    record("tensors in containers", (type(items).__name__, len(items),
           torch.from_dlpack(items[0]).tolist(),
           torch.from_dlpack(items[1]["x"]).shape))
    seen = []
    tvm_ffi.register_global_func("torch_client.see", lambda t: seen.append(
        torch.from_dlpack(t).sum().item()), override=True)
    tvm_ffi.get_global_func("torch_client.see")(x)
    record("a global function sees the values", seen)
    cpu = tvm_ffi.device("cpu", 0)
    with tvm_ffi.use_raw_stream(cpu, 1234):
        record("a stream", tvm_ffi.get_raw_stream(cpu))
    record("no stream", tvm_ffi.get_raw_stream(cpu))


def add_arguments(parser):
    parser.add_argument("--kernels")
    parser.add_argument("--more")
    return ["kernels", "more"]


def load(tvm_ffi, path):
    # What has no slash or is relative, the dynamic loader looks for elsewhere.
    return tvm_ffi.load_module(os.path.abspath(path))


def main(args):
    import torch
    import tvm_ffi
    record("versions", (torch.__version__, tvm_ffi.__version__))
    k, more = load(tvm_ffi, args.kernels), load(tvm_ffi, args.more)
    in_and_out(torch, tvm_ffi)
    life_times(torch, tvm_ffi)
    kernels(torch, k)
    kernel_errors(torch, k)
    descriptions(torch, more)
    functions(torch, tvm_ffi)


if __name__ == "__main__":
    sys.exit(run(__file__, "PyTorch", main, ["torch", "tvm_ffi"],
                 add_arguments))
