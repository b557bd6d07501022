"""The kernels as an extension module of Python, kernels.so of all hosts:

    python examples/20_one_kernel/use_extension.py kernels.so
"""

import os
import sys

import numpy as np
from call_kernels import call_kernels

sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[1])))
import kernels

call_kernels(kernels, lambda rows: np.array(rows, dtype="float32"), list)
