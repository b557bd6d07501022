"""Runs the kernels of kernels.c from Python, on NumPy and PyTorch.

    python run_kernels.py path/to/kernels.so
"""

import os
import sys
import traceback

# Without this, tvm_ffi may compile an extension for older versions of PyTorch.
os.environ.setdefault("TVM_FFI_DISABLE_TORCH_C_DLPACK", "1")

import numpy as np
import tvm_ffi


def check(condition, what):
    if not condition:
        sys.exit(f"failed: {what}")
    print(f"  {what}")


def raised(function, *args):
    """Returns the exception that a call raises."""
    try:
        result = function(*args)
    except Exception as error:
        return error
    sys.exit(f"failed: expected an exception, got {result!r}")


def on_numpy(kernels):
    print("NumPy")
    x = np.arange(8, dtype="float32")
    y = np.ones(8, dtype="float32")
    kernels.axpy(2.0, x, y)
    check(np.array_equal(y, 2 * x + 1), "axpy(2.0, x, y) works in place")

    matrix = np.arange(24, dtype="float32").reshape(4, 6)
    part = matrix[::2, ::-3]
    check(kernels.sum(part) == part.sum(), "sum(x) takes any strides")
    check(kernels.sum(matrix.T) == matrix.sum(), "sum(x.T) needs no copy")

    total = np.from_dlpack(kernels.add(x, y))
    check(np.array_equal(total, x + y), "add(x, y) makes a new array")

    to = np.empty_like(matrix)
    kernels.copy(matrix, to)
    check(np.array_equal(to, matrix), "copy(x, y) takes any dtype and shape")


def on_torch(kernels):
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed: skipped")
        return
    print("PyTorch")
    x = torch.arange(8, dtype=torch.float32)
    y = torch.ones(8)
    kernels.axpy(2.0, x, y)
    check(torch.equal(y, 2 * x + 1), "axpy(2.0, x, y) works in place")
    matrix = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    check(kernels.sum(matrix.T) == matrix.sum(), "sum(x.T) needs no copy")
    total = kernels.add(x, y)
    check(isinstance(total, torch.Tensor) and torch.equal(total, x + y),
          "add(x, y) makes a tensor of PyTorch")


def plain_values(kernels):
    print("Values and functions")
    check(kernels.div(42, 5) == 8, "div(42, 5) is 8")
    check(kernels.longest_word("one three two") == "three",
          "strings as argument and result")
    check(kernels.sum_over(lambda i: i * i, 4) == 14.0,
          "C calls a Python function")


def errors(kernels):
    print("Errors")
    # tvm_ffi raises an error as the Python class that is registered for its
    # kind. It does not register ZeroDivisionError by itself.
    tvm_ffi.register_error("ZeroDivisionError", ZeroDivisionError)
    error = raised(kernels.div, 1, 0)
    check(type(error) is ZeroDivisionError and str(error) == "1 / 0",
          "div(1, 0) raises a ZeroDivisionError")
    text = "".join(traceback.format_exception(error))
    check("kernels.c" in text, "its traceback has the line in C:")
    print("\n".join("    " + line for line in text.splitlines()))

    x = np.ones(4, dtype="float32")
    error = raised(kernels.axpy, "x", x, x)
    check(type(error) is TypeError, "a wrong argument is a TypeError:")
    print(f"    {error}")
    error = raised(kernels.axpy, 2.0, x.astype("float64"), x)
    check(str(error) == "axpy: argument `x`: dtype is float64, expected float32",
          str(error))
    error = raised(kernels.axpy, 2.0, x[::2], x)
    check(str(error) == "axpy: argument `x`: is not contiguous", str(error))
    error = raised(kernels.axpy, 2.0, x, x[:3])
    check(str(error) == "axpy: argument `y`: dimension n is 3, but 4 in x",
          str(error))

    def fails(i):
        raise IndexError(f"no item {i}")

    error = raised(kernels.sum_over, fails, 4)
    check(type(error) is IndexError and str(error) == "no item 0",
          "an exception in a callback passes through C")


def main():
    kernels = tvm_ffi.load_module(os.path.abspath(sys.argv[1]))
    on_numpy(kernels)
    on_torch(kernels)
    plain_values(kernels)
    errors(kernels)


if __name__ == "__main__":
    main()
