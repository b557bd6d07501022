"""CUDA kernels with NVIDIA's compiler: typed functions in a .cu file, and the
example cuda with a real fatbin. No GPU is needed. Output is TAP.

    python cuda_compiler.py --cuda VENV

VENV has the packages of requirements-cuda.txt.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).parents[2]
HERE = ROOT / "tests/hosts"
sys.path.insert(0, str(ROOT / "tests/tools"))
from tap import Tap  # noqa: E402

EXAMPLE = ROOT / "examples/cuda"
INCLUDES = [f"-I{ROOT}", f"-I{ROOT}/hosts/cuda"]
STRICT = ["-Wall", "-Wextra", "-Werror"]
# Has clang's wrapper of CUDA's headers include nothing. CUDA 13 removed the
# first file; the second belongs to a library that no test needs.
CLANG_WANTS = ["texture_fetch_functions.h", "curand_mtgp32_kernel.h"]

LOAD = """
import sys, tvm_ffi
m = tvm_ffi.load_module(sys.argv[1])
try:
    print("count", m.runtime_device_count())
except RuntimeError as error:
    print(error)
"""

# The stand-in's device memory is the process's, so the memory of an array can
# be in a tensor of device 1.
ON_STAND_IN = """
import ctypes, sys, numpy as np, tvm_ffi
m = tvm_ffi.load_module(sys.argv[1])
def on_device(array):
    tensor = tvm_ffi.from_dlpack(array)
    device = tensor.__chandle__() + 24 + 8  # after the object's header, data
    ctypes.c_int32.from_address(device).value = 2
    ctypes.c_int32.from_address(device + 4).value = 1
    assert str(tensor.device) == "cuda:1", tensor.device
    return tensor
x, y = np.arange(300, dtype="float32"), np.ones(300, dtype="float32")
z = np.zeros_like(x)
m.add(on_device(x), on_device(y), on_device(z))
print(m.device_count(), np.array_equal(z, x + y))
"""


class Work:
    def __init__(self, tap, folder, args):
        self.tap, self.folder = tap, Path(folder)
        self.cuda = next(Path(args.cuda).glob(
            "lib/python*/site-packages/nvidia/cu13")).absolute()
        self.cc, self.clang = args.cc.split(), args.clang

    def run(self, name, *command, wants="", **variables):
        """Runs a command, which has to succeed and to print a text."""
        done = subprocess.run(
            [str(word) for word in command], cwd=self.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
            env={**os.environ, **variables})
        return self.tap.ok(done.returncode == 0 and wants in done.stdout, name,
                           f"{command}\n{done.stdout}")

    def nvcc(self, name, *words):
        return self.run(name, self.cuda / "bin/nvcc", f"-L{self.cuda}/lib",
                        *words)

    def build_example(self, name):
        return self.run(name, *self.cc, "-shared", "-fPIC", *STRICT, *INCLUDES,
                        "-I.", EXAMPLE / "add.c", "-o", "add.so")


def layout(work):
    work.run("the driver's types are those of cuda.h", *work.cc, "-std=c11",
             *STRICT, *INCLUDES, f"-I{work.cuda}/include", "-fsyntax-only",
             HERE / "cuda_layout.c")


def runtime(work):
    if work.nvcc("nvcc: typed functions in a .cu file", "-std=c++17",
                 "-arch=sm_75", *INCLUDES, "-shared", "-Werror", "all-warnings",
                 "-Xcompiler", "-fPIC," + ",".join(STRICT),
                 HERE / "cuda_runtime.cu", "-o", "runtime.so"):
        work.run("its library loads without a driver", sys.executable, "-c",
                 LOAD, work.folder / "runtime.so", wants="count "
                 if shutil.which("nvidia-smi") else "CUDA Runtime Error: cuda")


def example(work):
    if work.nvcc("nvcc: the kernel of examples/cuda as a fatbin", "-fatbin",
                 "-arch=all-major", "-o", "add.fatbin", EXAMPLE / "add.cu") \
            and work.build_example("the example has it"):
        work.run("the example runs, or says that there is no GPU",
                 sys.executable, EXAMPLE / "run_on_gpu.py", "add.so",
                 wants="GPU")


def stand_in(work):
    """The stand-in finds a kernel in PTX only."""
    (work.folder / "driver").mkdir()
    if work.nvcc("nvcc: the same kernel as PTX", "-ptx", "-arch=sm_75", "-o",
                 "kernel.ptx", EXAMPLE / "add.cu"):
        text = (work.folder / "kernel.ptx").read_text()
        (work.folder / "add.fatbin").write_text(text[text.index(".version"):])
        work.build_example("the example has that")
        work.run("the stand-in for the driver", *work.cc, "-std=gnu99",
                 "-fPIC", "-shared", HERE / "cuda_driver.c", "-o",
                 "driver/libcuda.so.1", "-lpthread")
        work.run("the example adds on the stand-in", sys.executable, "-c",
                 ON_STAND_IN, work.folder / "add.so", wants="2 True",
                 LD_LIBRARY_PATH=str(work.folder / "driver"))


def clang(work):
    if not work.clang:
        work.tap.skip("clang", "it is not installed")
        return
    (work.folder / "empty").mkdir()
    for name in CLANG_WANTS:
        (work.folder / "empty" / name).touch()
    # For the device, clang 19 takes this CUDA, which is newer, for an old one.
    work.run("clang: the .cu file, for the host", work.clang, "-x", "cuda",
             f"--cuda-path={work.cuda}", "--cuda-host-only",
             "--cuda-gpu-arch=sm_75", "-nocudalib", "-std=c++17", "-Iempty",
             "-Wno-unknown-cuda-version", *STRICT, *INCLUDES, "-fsyntax-only",
             HERE / "cuda_runtime.cu")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cuda", required=True)
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--clang", default=shutil.which("clang-19"))
    args = parser.parse_args()
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        work = Work(tap, folder, args)
        for check in (layout, runtime, example, stand_in, clang):
            check(work)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
