"""The kernels on another machine, by the stock client of Apache TVM:

    cc -shared -fPIC -O2 -I. examples/20_one_kernel/kernels.c -o kernels.so
    ./tvmffi-rpc --port 9090 --load kernels.so &
    python examples/20_one_kernel/use_rpc.py 9090
"""

import sys
import types

import numpy as np
import tvm
from call_kernels import call_kernels
from tvm import rpc

remote = rpc.connect("127.0.0.1", int(sys.argv[1]))
call_kernels(
    types.SimpleNamespace(**{name: remote.get_function(name)
                             for name in ("row_sums", "axpy", "scale")}),
    lambda rows: tvm.runtime.tensor(np.array(rows, "float32"), remote.cpu()),
    lambda vector: vector.numpy())
