#!/usr/bin/env python3
"""An operator by tvmffi_torch.h beside the same one by C++'s TORCH_LIBRARY.

    torch_host.py [--rounds N]

Needs PyTorch 2.9 or newer, g++ and cc. Builds both, then calls them in turn, in
one process, on tensors of 4 elements: the least time of a call over all rounds,
in ns, and the ratio.
"""

import argparse
import pathlib
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]

CXX = r"""
#include <torch/library.h>
#include <ATen/ATen.h>
static void axpy(at::Tensor y, const at::Tensor &x, double a) {
  TORCH_CHECK(x.dtype() == at::kFloat && y.dtype() == at::kFloat);
  TORCH_CHECK(x.dim() == 1 && y.dim() == 1 && x.size(0) == y.size(0));
  TORCH_CHECK(x.is_contiguous() && y.is_contiguous());
  const float *px = x.const_data_ptr<float>();
  float *py = y.mutable_data_ptr<float>();
  for (int64_t i = 0; i < x.size(0); ++i) py[i] += (float)a * px[i];
}
static at::Tensor row_sums(const at::Tensor &x) {
  TORCH_CHECK(x.dtype() == at::kFloat && x.dim() == 2 && x.is_contiguous());
  at::Tensor out = at::empty({x.size(0)}, x.options());
  const float *px = x.const_data_ptr<float>();
  float *po = out.mutable_data_ptr<float>();
  for (int64_t i = 0; i < x.size(0); ++i) {
    po[i] = 0;
    for (int64_t j = 0; j < x.size(1); ++j) po[i] += px[i * x.size(1) + j];
  }
  return out;
}
TORCH_LIBRARY(cxx, m) {
  m.def("axpy(Tensor(a!) y, Tensor x, float a=1.0) -> ()");
  m.def("row_sums(Tensor x) -> Tensor");
}
TORCH_LIBRARY_IMPL(cxx, CPU, m) {
  m.impl("axpy", axpy);
  m.impl("row_sums", row_sums);
}
"""


def build(torch, folder):
    source, home = folder / "cxx.cpp", pathlib.Path(torch.__file__).parent
    source.write_text(CXX)
    old = int(torch._C._GLIBCXX_USE_CXX11_ABI)
    subprocess.run(
        ["g++", "-std=c++20", "-O2", "-shared", "-fPIC", "-w", f"-L{home}/lib",
         f"-D_GLIBCXX_USE_CXX11_ABI={old}", f"-I{home}/include",
         f"-I{home}/include/torch/csrc/api/include", source, "-o",
         folder / "cxx.so", "-ltorch", "-ltorch_cpu", "-lc10"], check=True)
    subprocess.run(
        ["cc", "-O2", "-shared", "-fPIC", f"-I{ROOT}", f"-I{ROOT}/hosts/torch",
         ROOT / "tests/hosts/torch_kernels.c", "-o", folder / "c.so",
         "-lpthread"], check=True)
    torch.ops.load_library(folder / "cxx.so")
    torch.ops.load_library(folder / "c.so")


def least(call, args, rounds, count=2000):
    best = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter_ns()
        for _ in range(count):
            call(*args)
        best = min(best, (time.perf_counter_ns() - begin) / count)
    return best


def main():
    import torch
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=50)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        build(torch, pathlib.Path(folder))
    x, y, z = torch.ones(4), torch.ones(4), torch.ones(2, 2)
    ours, cxx = torch.ops.demo, torch.ops.cxx
    print(f"PyTorch {torch.__version__}, ns a call")
    print(f"{'operator':24}{'C++':>8}{'ours':>8}{'ratio':>8}")
    for name, args in (("axpy", (y, x, 2.0)), ("row_sums", (z,))):
        for suffix in ("", ".default"):
            a, b = getattr(cxx, name), getattr(ours, name)
            if suffix:
                a, b = a.default, b.default
            times = [float("inf")] * 2
            for _ in range(rounds):
                times[0] = min(times[0], least(a, args, 1))
                times[1] = min(times[1], least(b, args, 1))
            print(f"{name + suffix:24}{times[0]:8.0f}{times[1]:8.0f}"
                  f"{times[1] / times[0]:8.2f}")


if __name__ == "__main__":
    main()
