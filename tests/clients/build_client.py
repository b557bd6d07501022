#!/usr/bin/env python3
r"""Upstream's tvm_ffi.cpp compiles libraries that use tvmffi.h, on two libraries.

    build_client.py --lib OURS

The package finds a library to link with by itself: the one that it runs on.
The Python that runs this has the wheel, NumPy and ninja.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from transcript import check, record, record_error, run

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "examples/kernel/kernels.c"
# Upstream's headers come first in this file, as load_inline includes them.
INLINE = r"""
#include "tvmffi.h"

TVMFFI_EXPORT(twice, int64, (int64, x)) { TVMFFI_RETURN(2 * x); }
TVMFFI_DOC(twice, "Returns 2 * x")

TVMFFI_EXPORT(scale, none, (float32, a), (tensor, x)) {
  TVMFFI_EXPECT((x, "float32[n] cpu"));
  for (int64_t i = 0; i < x->shape[0]; ++i) TVMFFI_DATA(x, float)[i] *= a;
  TVMFFI_RETURN();
}

TVMFFI_EXPORT(fail, none, (str, text)) {
  return TVMFFI_RAISE("ValueError", "%.20s", text.data);
}

tvm::ffi::Array<int64_t> count(int64_t n) {
  tvm::ffi::Array<int64_t> numbers;
  for (int64_t i = 0; i < n; ++i) numbers.push_back(i);
  return numbers;
}
"""
SUM = r"""
#include "tvmffi.h"

TVMFFI_EXPORT(total, int64, (array(int64), numbers)) {
  int64_t sum = 0;
  TVMFFI_FOREACH(int64, number, numbers) sum += number;
  TVMFFI_RETURN(sum);
}
"""


def needed(path):
    text = subprocess.run(["readelf", "-dW", path], capture_output=True,
                          text=True, check=True).stdout
    return sorted(re.findall(r"NEEDED.*\[(libtvm\S*)\]", text))


def inline(np, tvm_ffi, folder):
    m = tvm_ffi.cpp.load_inline(
        "inline_client", cpp_sources=INLINE, functions={"count": "Counts to n"},
        extra_cflags=["-DTVM_FFI_DLL_EXPORT_INCLUDE_METADATA=1"],
        extra_include_paths=[str(ROOT)], build_directory=str(folder / "inline"))
    record("a function of tvmffi.h", m.twice(21))
    record("its documentation", m.get_function_doc("twice"))
    record("its metadata", m.get_function_metadata("twice"))
    record("a function of upstream's headers", list(m.count(4)))
    record("the documentation of that one", m.get_function_doc("count"))
    x = np.arange(5, dtype="float32")
    m.scale(0.5, x)
    record("an array is scaled", x.tolist())
    record_error("a wrong argument", m.twice, "x")
    record_error("a wrong argument of upstream's", m.count, "x")
    record_error("an argument too few", m.scale, 1.0)
    record_error("a wrong dtype", m.scale, 1.0, np.zeros(3))
    record_error("an error", m.fail, "said so")
    record("the library is linked with", needed(
        folder / "inline/inline_client.so"))


def build(np, tvm_ffi, folder):
    source = folder / "total.c"
    source.write_text(SUM)
    path = tvm_ffi.cpp.build(
        "build_client", sources=[str(KERNELS), str(source)],
        extra_cflags=["-Wall", "-Werror"], extra_include_paths=[str(ROOT)],
        build_directory=str(folder / "build"))
    record("build makes a library", os.path.relpath(path, folder))
    record("it is linked with", needed(path))
    m = tvm_ffi.load_module(path)
    x, y = np.arange(4, dtype="float32"), np.ones(4, dtype="float32")
    m.axpy(2.0, x, y)
    record("axpy of the README", y.tolist())
    record_error("axpy of a string", m.axpy, "x", x, y)
    record_error("axpy of another length", m.axpy, 2.0, x, y[:3])
    record("a list of Python", m.total([1, 2, 3]))
    record_error("a list with a string", m.total, [1, "2"])
    m = tvm_ffi.cpp.load("load_client", sources=str(source),
                         extra_include_paths=[str(ROOT)],
                         build_directory=str(folder / "load"))
    record("load", m.total([4, 5]))


def objects(tvm_ffi, folder):
    source = folder / "total.c"
    path = tvm_ffi.cpp.build(
        "object_client", sources=[str(source)], output="total.o",
        extra_include_paths=[str(ROOT)], build_directory=str(folder / "object"))
    record("build makes an object file", os.path.relpath(path, folder))
    m = tvm_ffi.cpp.load("linked_client", sources=[path],
                         build_directory=str(folder / "linked"))
    record("a library of an object file", m.total([6]))


def errors(tvm_ffi, folder):
    source = folder / "wrong.c"
    source.write_text('#include "tvmffi.h"\n'
                      "TVMFFI_EXPORT(wrong, int64, (int64, x)) { return y; }\n")
    try:
        tvm_ffi.cpp.build("wrong", sources=[str(source)],
                          extra_include_paths=[str(ROOT)],
                          build_directory=str(folder / "wrong"))
    except RuntimeError as error:
        text = str(error)
        record("an error of the compiler", text.splitlines()[0])
        check("it names the line", "wrong.c:2" in text)


def main(args):
    import numpy as np
    import tvm_ffi
    import tvm_ffi.cpp
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp).resolve()
        inline(np, tvm_ffi, folder)
        build(np, tvm_ffi, folder)
        objects(tvm_ffi, folder)
        errors(tvm_ffi, folder)


def compilers():
    for variable, program in (("CC", "cc"), ("CXX", "c++")):
        yield shlex.split(os.environ.get(variable) or program)[0]


if __name__ == "__main__":
    # The virtual environment of Python may have ninja.
    os.environ["PATH"] = os.pathsep.join(
        [os.path.dirname(sys.executable), os.environ["PATH"]])
    sys.exit(run(__file__, "tvm_ffi.cpp", main, ["tvm_ffi", "numpy"],
                 programs=[*compilers(), "ninja", "readelf"]))
