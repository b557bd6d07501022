#!/usr/bin/env python3
"""An operator by tvmffi_torch.h beside the same one by PyTorch's C++.

    torch_host.py [--rounds N]

Needs PyTorch 2.9 or newer, g++ and cc. Builds each operator by TORCH_LIBRARY,
by the stable C++ ABI (STABLE_TORCH_LIBRARY, if this PyTorch has TORCH_BOX) and
by tvmffi_torch.h, then calls them in turn, in one process, on tensors of 4
elements. Prints the least time of a call over all rounds, in ns, and the median
over the rounds of ours in units of TORCH_LIBRARY's. "least" is an operator of
the stable C ABI that only reads its tensors and deletes its handles, which every
such operator must do.
"""

import argparse
import pathlib
import statistics
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
static at::Tensor add(const at::Tensor &x, const at::Tensor &y) {
  TORCH_CHECK(x.dtype() == at::kFloat && y.dtype() == at::kFloat);
  TORCH_CHECK(x.dim() == 1 && y.dim() == 1 && x.size(0) == y.size(0));
  TORCH_CHECK(x.is_contiguous() && y.is_contiguous());
  at::Tensor out = at::empty({x.size(0)}, x.options());
  const float *px = x.const_data_ptr<float>(), *py = y.const_data_ptr<float>();
  float *po = out.mutable_data_ptr<float>();
  for (int64_t i = 0; i < x.size(0); ++i) po[i] = px[i] + py[i];
  return out;
}
TORCH_LIBRARY(cxx, m) {
  m.def("axpy(Tensor(a!) y, Tensor x, float a=1.0) -> ()");
  m.def("row_sums(Tensor x) -> Tensor");
  m.def("add(Tensor x, Tensor y) -> Tensor");
}
TORCH_LIBRARY_IMPL(cxx, CPU, m) {
  m.impl("axpy", axpy);
  m.impl("row_sums", row_sums);
  m.impl("add", add);
}
"""

STABLE = r"""
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
using torch::headeronly::ScalarType;
using torch::stable::Tensor;
static void axpy(Tensor y, const Tensor x, double a) {
  STD_TORCH_CHECK(x.scalar_type() == ScalarType::Float &&
                  y.scalar_type() == ScalarType::Float);
  STD_TORCH_CHECK(x.dim() == 1 && y.dim() == 1 && x.size(0) == y.size(0));
  STD_TORCH_CHECK(x.is_contiguous() && y.is_contiguous());
  const float *px = (const float *)x.data_ptr();
  float *py = (float *)y.data_ptr();
  for (int64_t i = 0; i < x.size(0); ++i) py[i] += (float)a * px[i];
}
static Tensor row_sums(const Tensor x) {
  STD_TORCH_CHECK(x.scalar_type() == ScalarType::Float && x.dim() == 2 &&
                  x.is_contiguous());
  Tensor out = torch::stable::new_empty(x, {x.size(0)});
  const float *px = (const float *)x.data_ptr();
  float *po = (float *)out.data_ptr();
  for (int64_t i = 0; i < x.size(0); ++i) {
    po[i] = 0;
    for (int64_t j = 0; j < x.size(1); ++j) po[i] += px[i * x.size(1) + j];
  }
  return out;
}
static Tensor add(const Tensor x, const Tensor y) {
  STD_TORCH_CHECK(x.scalar_type() == ScalarType::Float &&
                  y.scalar_type() == ScalarType::Float);
  STD_TORCH_CHECK(x.dim() == 1 && y.dim() == 1 && x.size(0) == y.size(0));
  STD_TORCH_CHECK(x.is_contiguous() && y.is_contiguous());
  Tensor out = torch::stable::new_empty(x, {x.size(0)});
  const float *px = (const float *)x.data_ptr();
  const float *py = (const float *)y.data_ptr();
  float *po = (float *)out.data_ptr();
  for (int64_t i = 0; i < x.size(0); ++i) po[i] = px[i] + py[i];
  return out;
}
static void least(StableIValue *stack, uint64_t, uint64_t) {
  for (int i = 0; i < 2; ++i) {
    AtenTensorHandle t = torch::stable::detail::to<AtenTensorHandle>(stack[i]);
    void *data;
    int64_t dim, *sizes, *strides;
    int32_t dtype, device;
    aoti_torch_get_data_ptr(t, &data);
    aoti_torch_get_dim(t, &dim);
    aoti_torch_get_sizes(t, &sizes);
    aoti_torch_get_strides(t, &strides);
    aoti_torch_get_dtype(t, &dtype);
    aoti_torch_get_device_type(t, &device);
    aoti_torch_delete_tensor_object(t);
  }
}
STABLE_TORCH_LIBRARY(stable, m) {
  m.def("axpy(Tensor(a!) y, Tensor x, float a=1.0) -> ()");
  m.def("row_sums(Tensor x) -> Tensor");
  m.def("add(Tensor x, Tensor y) -> Tensor");
  m.def("least(Tensor(a!) y, Tensor x, float a=1.0) -> ()");
}
STABLE_TORCH_LIBRARY_IMPL(stable, CPU, m) {
  m.impl("axpy", TORCH_BOX(&axpy));
  m.impl("row_sums", TORCH_BOX(&row_sums));
  m.impl("add", TORCH_BOX(&add));
  m.impl("least", least);
}
"""


def build(torch, folder):
    """Builds and loads the libraries. Returns the names that they define."""
    home = pathlib.Path(torch.__file__).parent
    abi = int(torch._C._GLIBCXX_USE_CXX11_ABI)
    sources = {"cxx": CXX}
    header = home / "include/torch/csrc/stable/library.h"
    if header.exists() and "TORCH_BOX" in header.read_text():
        sources["stable"] = STABLE
    for name, text in sources.items():
        (folder / f"{name}.cpp").write_text(text)
        subprocess.run(
            ["g++", "-std=c++20", "-O2", "-shared", "-fPIC", "-w",
             f"-L{home}/lib", f"-D_GLIBCXX_USE_CXX11_ABI={abi}",
             f"-I{home}/include", f"-I{home}/include/torch/csrc/api/include",
             folder / f"{name}.cpp", "-o", folder / f"{name}.so", "-ltorch",
             "-ltorch_cpu", "-lc10"], check=True)
        torch.ops.load_library(folder / f"{name}.so")
    subprocess.run(
        ["cc", "-O2", "-shared", "-fPIC", f"-I{ROOT}", f"-I{ROOT}/hosts/torch",
         ROOT / "tests/hosts/torch_kernels.c", "-o", folder / "demo.so",
         "-lpthread"], check=True)
    torch.ops.load_library(folder / "demo.so")
    return [*sources, "demo"]


def time_of(call, args, count=2000):
    begin = time.perf_counter_ns()
    for _ in range(count):
        call(*args)
    return (time.perf_counter_ns() - begin) / count


def main():
    import torch
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=50)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        names = build(torch, pathlib.Path(folder))
    x, y, z = torch.ones(4), torch.ones(4), torch.ones(2, 2)
    print(f"PyTorch {torch.__version__}: nanoseconds a call\n")
    print("| | tvmffi_torch.h | `TORCH_LIBRARY` | stable C++ ABI | least | "
          "ratio |\n| --- | --- | --- | --- | --- | --- |")
    for row, args in (("add", (x, y)), ("axpy", (y, x, 2.0)), ("row_sums", (z,))):
        for suffix in ("", ".default"):
            calls = {name: getattr(getattr(torch.ops, name), row)
                     for name in names}
            if "stable" in names and row == "axpy":
                calls["least"] = torch.ops.stable.least
            times = {name: [] for name in calls}
            for _ in range(rounds):
                for name, call in calls.items():
                    times[name].append(time_of(
                        call.default if suffix else call, args))
            ratio = statistics.median(
                ours / theirs
                for ours, theirs in zip(times["demo"], times["cxx"]))
            print(f"| `{row}{suffix}` |", " | ".join(
                f"{min(times[name]):.0f}" if name in times else ""
                for name in ("demo", "cxx", "stable", "least")),
                f"| {ratio:.2f} |")


if __name__ == "__main__":
    main()
