"""Kernels in C."""

from pathlib import Path

import tvm_ffi

_kernels = tvm_ffi.load_module(str(Path(__file__).parent / "kernels.so"))
add_one = _kernels.add_one
scale = _kernels.scale
