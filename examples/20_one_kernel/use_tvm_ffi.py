"""The kernels by the package tvm_ffi:

    cc -shared -fPIC -O2 -I. examples/20_one_kernel/kernels.c -o kernels.so
    python examples/20_one_kernel/use_tvm_ffi.py kernels.so
"""

import os
import sys

import numpy as np
import tvm_ffi
from call_kernels import call_kernels

call_kernels(tvm_ffi.load_module(os.path.abspath(sys.argv[1])),
             lambda rows: np.array(rows, dtype="float32"), np.from_dlpack)
