"""Runs the kernel of add.cu on a GPU, and compares the result with NumPy.

    python run_on_gpu.py path/to/add.so

Needs PyTorch with CUDA. Without a GPU it only loads the library, and says so.
"""

import os
import sys

os.environ.setdefault("TVM_FFI_DISABLE_TORCH_C_DLPACK", "1")

import numpy as np
import tvm_ffi


def run_on_gpu(kernels):
    import torch

    for n in (0, 1, 255, 256, 100_003):
        x = np.random.default_rng(n).random(n, dtype="float32")
        y = np.arange(n, dtype="float32")
        z = torch.empty(n, dtype=torch.float32, device="cuda")
        kernels.add(torch.from_numpy(x).cuda(), torch.from_numpy(y).cuda(), z)
        if not np.array_equal(z.cpu().numpy(), x + y):
            sys.exit(f"failed: add of {n} numbers")
        print(f"  add of {n} numbers equals NumPy's sum")


def main():
    kernels = tvm_ffi.load_module(os.path.abspath(sys.argv[1]))
    try:
        count = kernels.device_count()
    except RuntimeError as error:
        print(f"no GPU, so the kernel was not run: {error}")
        return
    print(f"{count} GPUs")
    run_on_gpu(kernels)


if __name__ == "__main__":
    main()
