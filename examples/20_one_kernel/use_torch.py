"""The kernels as operators of PyTorch, called one by one, then all in a program
that torch.compile makes. kernels.so is that of all hosts:

    python examples/20_one_kernel/use_torch.py kernels.so
"""

import os
import sys

import torch
from call_kernels import call_kernels, show

try:
    from tvmffi.torch import load
except ImportError:  # without the wheel: the file beside the header
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                    "..", "..", "hosts", "torch"))
    from tvmffi_torch import load

kernels = load(os.path.abspath(sys.argv[1]))
call_kernels(kernels, torch.tensor, torch.Tensor.tolist)


@torch.compile(fullgraph=True, backend="aot_eager")
def program(matrix, x, y, z, scaled):
    sums = kernels.row_sums(matrix)
    kernels.axpy(2.0, x, y)
    kernels.scale(x, None, z)
    kernels.scale(x, y, scaled, 3.0)
    return sums


x, y = torch.tensor([0.0, 1, 2]), torch.ones(3)
z, scaled = torch.zeros(3), torch.zeros(3)
sums = program(torch.tensor([[0.0, 1, 2], [3, 4, 5]]), x, y, z, scaled)
for name, tensor in (("row_sums", sums), ("axpy", y), ("scale", z),
                     ("scale with bias", scaled)):
    show(name, tensor.tolist())
