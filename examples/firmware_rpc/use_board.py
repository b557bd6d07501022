#!/usr/bin/env python3
"""Runs the board's kernels by the stock client, compares their results with
NumPy's, and times them:

    python use_board.py PORT
"""

import sys

import numpy as np
import tvm
from tvm import rpc


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def main():
    remote = rpc.connect("127.0.0.1", int(sys.argv[1]))
    cpu = remote.cpu()
    library = remote.system_lib()
    rng = np.random.default_rng(0)
    a = rng.standard_normal((8, 16), "float32")
    b = rng.standard_normal((12, 16), "float32")
    on_board = [tvm.runtime.tensor(x, cpu) for x in (a, b)]
    for name, args, wanted in (("matmul", on_board, a @ b.T),
                               ("softmax", on_board[:1], softmax(a)),
                               ("scores", on_board, softmax(a @ b.T))):
        result = tvm.runtime.empty(wanted.shape, "float32", cpu)
        library[name](*args, result)
        np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-5,
                                   atol=1e-6)
        timed = library.time_evaluator(name, cpu, number=5, repeat=3)
        seconds = timed(*args, result).mean
        print(f"{name}: as NumPy's, {seconds * 1e6:.0f} us")


if __name__ == "__main__":
    main()
