"""The kernels in a program that JAX compiles. kernels.so is that of all hosts:

    python examples/20_one_kernel/use_jax.py kernels.so
"""

import ctypes
import os
import sys

import jax
import jax.numpy as jnp
from call_kernels import show

library = ctypes.CDLL(os.path.abspath(sys.argv[1]))
for name in ("row_sums", "axpy", "scale"):
    jax.ffi.register_ffi_target(
        name, jax.ffi.pycapsule(library[f"tvmffi_xla_{name}"]), platform="cpu")


@jax.jit
def program(matrix, x, y):
    """The results that a kernel writes are those of the call."""
    sums = jax.ShapeDtypeStruct(matrix.shape[:1], matrix.dtype)
    like_x = jax.ShapeDtypeStruct(x.shape, x.dtype)
    y = jax.ffi.ffi_call("axpy", like_x, input_output_aliases={1: 0})(
        x, y, a=2.0)
    return {"row_sums": jax.ffi.ffi_call("row_sums", sums)(matrix),
            "axpy": y,
            "scale": jax.ffi.ffi_call("scale", like_x)(x),
            "scale with bias":
                jax.ffi.ffi_call("scale", like_x)(x, y, factor=3.0)}


results = program(jnp.arange(6.0).reshape(2, 3), jnp.arange(3.0), jnp.ones(3))
for name in ("row_sums", "axpy", "scale", "scale with bias"):
    show(name, results[name].tolist())
