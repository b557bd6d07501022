"""Runs the operators of ops.c on NumPy and PyTorch and checks their results.

    python run_ops.py path/to/ops.so
"""

import os
import sys

# Without this, tvm_ffi may compile an extension for older versions of PyTorch.
os.environ.setdefault("TVM_FFI_DISABLE_TORCH_C_DLPACK", "1")

import numpy as np
import tvm_ffi
from tvm_ffi.utils.kwargs_wrapper import make_kwargs_wrapper

TOLERANCE = {"float32": 2e-6, "float16": 2e-3, "int8": 0}
SHAPES = [(7,), (1,), (0,), (3, 5), (3, 1), (0, 5), (3, 0), (2, 3, 4),
          (1, 4, 1, 6)]
random = np.random.default_rng(1)


def check(condition, what):
    if not condition:
        sys.exit(f"failed: {what}")


def make(shape, dtype):
    """Returns random integers, which every dtype represents exactly."""
    return random.integers(-9, 10, shape).astype(dtype)


def views(shape, dtype):
    """Yields arrays of one shape with different strides."""
    yield make(shape, dtype)
    yield make(shape[::-1], dtype).T
    yield make([2 * n + 1 for n in shape], dtype)[
        tuple(slice(1, None, 2) for _ in shape)]
    yield make(shape, dtype)[..., ::-1]


def same(got, expected, what):
    tolerance = TOLERANCE[str(expected.dtype)] \
        if str(expected.dtype) in TOLERANCE else 0
    check(got.shape == expected.shape and np.allclose(
        got.astype("float64"), expected.astype("float64"), tolerance,
        tolerance), f"{what}\n{got}\n{expected}")


def softmax(x):
    if not x.size:
        return x
    e = np.exp(x.astype("float64") - x.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)).astype(x.dtype)


def layer_norm(x, scale, bias, epsilon):
    if not x.size:
        return x
    wide = x.astype("float64")
    y = (wide - wide.mean(-1, keepdims=True)) \
        / np.sqrt(wide.var(-1, keepdims=True) + epsilon)
    return (y * scale + bias).astype(x.dtype)


def top_k(x, k):
    order = np.argsort(-x.astype("float64"), -1, kind="stable")[..., :k]
    return np.take_along_axis(x, order, -1), order


def keywords(module, name):
    """Returns a wrapper that also accepts keyword arguments."""
    about = module.get_function_metadata(name)
    return make_kwargs_wrapper(module[name], about["arg_names"],
                               tuple(about.get("arg_defaults", ())))


def on_numpy(ops):
    count = 0
    for dtype in ("float32", "float16"):
        for shape in SHAPES:
            for x in views(shape, dtype):
                for y in views(shape, dtype):
                    ops.softmax(x, y)
                    same(y, softmax(x), f"softmax of {dtype}{shape}")
                    scale, bias = make(shape[-1:], dtype), make(shape[-1:], dtype)
                    ops.layer_norm(x, scale[::-1], bias, 1e-5, y)
                    same(y, layer_norm(x, scale[::-1], bias, 1e-5),
                         f"layer norm of {dtype}{shape}")
                    count += 2
    for dtype, result in (("float32", "float32"), ("float16", "float16"),
                          ("int8", "int32")):
        for n, k, m in ((3, 4, 5), (1, 1, 1), (0, 2, 3), (2, 0, 3), (2, 3, 0)):
            for a in views((n, k), dtype):
                for b in views((k, m), dtype):
                    for c in views((n, m), result):
                        ops.matmul(a, b, c)
                        same(c, (a.astype("float64") @ b.astype("float64"))
                             .astype(result), f"matmul of {dtype}")
                        count += 1
        for shape in SHAPES:
            for k in {0, min(1, shape[-1]), min(3, shape[-1]), shape[-1]}:
                for x in views(shape, dtype):
                    out = shape[:-1] + (k,)
                    values = make(out[::-1], dtype).T
                    indices = np.full(out, -1, "int64")
                    ops.top_k(x, values, indices)
                    expected = top_k(x, k)
                    same(values, expected[0], f"top-{k} of {dtype}{shape}")
                    same(indices, expected[1], f"top-{k} of {dtype}{shape}")
                    count += 1
    for shape in SHAPES[3:]:
        x, y = make(shape, "float32"), make(shape, "float32")
        for axis in range(-len(shape), len(shape)):
            keywords(ops, "softmax")(x, y, axis=axis)
            same(np.moveaxis(y, axis, -1), softmax(np.moveaxis(x, axis, -1)),
                 f"softmax of {shape} along {axis}")
            count += 1
    print(f"NumPy: {count} results are right, for any strides and extents")
    x = make((3, 5), "float16").T
    same(np.from_dlpack(ops.new_softmax(x)), softmax(x), "new_softmax")
    print("NumPy: new_softmax(x) makes a new array")


def on_torch(ops):
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed: skipped")
        return
    x = torch.randn(4, 6)[::2, ::3]
    y = torch.empty(2, 2)
    ops.softmax(x, y)
    check(torch.allclose(y, torch.softmax(x, -1)), "softmax of PyTorch")
    a, b = torch.randn(3, 4), torch.randn(5, 4)
    c = torch.empty(3, 5)
    ops.matmul(a, b.T, c)
    check(torch.allclose(c, a @ b.T, atol=1e-5), "matmul of PyTorch")
    x = torch.randn(2, 9).half()
    values = torch.empty(2, 3, dtype=torch.float16)
    indices = torch.empty(2, 3, dtype=torch.int64)
    ops.top_k(x, values, indices)
    check(torch.equal(values, torch.topk(x.float(), 3)[0].half()),
          "top-k of PyTorch")
    print("PyTorch: softmax, matmul and top_k agree with PyTorch's own")


def errors(ops):
    x, y = make((2, 3), "float32"), make((2, 3), "float32")
    n = make(3, "float32")
    matrix = make((3, 4), "float32")
    indices = np.zeros((2, 2), "int64")
    for kind, message, function, *args in (
            (TypeError, "softmax: argument `x`: dtype is float64, expected "
             "float32|float16", ops.softmax, x.astype("float64"), y),
            (TypeError, "softmax: argument `y`: dtype is float16, but float32 "
             "in x", ops.softmax, x, y.astype("float16")),
            (ValueError, "softmax: argument `x`: shape is [], expected "
             "[*batch, n]", ops.softmax, np.array(1, "float32"), y),
            (ValueError, "softmax: argument `y`: dimension n is 2, but 3 in x",
             ops.softmax, x, y[:, :2]),
            (ValueError, "softmax: argument `y`: dimension 0 of *batch is 1, but "
             "2 in x", ops.softmax, x, y[:1]),
            (ValueError, "softmax: argument `y`: *batch has 0 dimensions, but 1 "
             "in x", ops.softmax, x, n),
            (ValueError, "layer_norm: argument `bias`: dimension n is 2, but 3 in "
             "x", ops.layer_norm, x, n, n[:2], 1e-5, y),
            (ValueError, "layer_norm: argument `scale`: shape is [2, 3], expected "
             "[n]", ops.layer_norm, x, x, n, 1e-5, y),
            (ValueError, "matmul: argument `b`: dimension k is 2, but 3 in a",
             ops.matmul, x, y, matrix),
            (TypeError, "matmul: argument `c`: dtype is float32, expected int32",
             ops.matmul, x.astype("int8"), matrix.astype("int8"),
             make((2, 4), "float32")),
            (TypeError, "top_k: argument `indices`: dtype is int32, expected "
             "int64", ops.top_k, x, y[:, :2], indices.astype("int32")),
            (ValueError, "top_k: 4 of 3 elements", ops.top_k, x,
             make((2, 4), "float32"), np.zeros((2, 4), "int64"))):
        try:
            function(*args)
        except Exception as error:
            check((type(error), str(error)) == (kind, message),
                  f"{message}\ngot {type(error).__name__}: {error}")
            print(f"  {kind.__name__}: {message}")
        else:
            sys.exit(f"failed: no {message}")


def main():
    ops = tvm_ffi.load_module(os.path.abspath(sys.argv[1]))
    on_numpy(ops)
    on_torch(ops)
    errors(ops)


if __name__ == "__main__":
    main()
