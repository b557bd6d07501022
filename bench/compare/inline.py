#!/usr/bin/env python3
"""Compares tvmffi.load_inline with upstream's tvm_ffi.cpp.load_inline.

Prints a table: the lines of a source with the same functions and checks, and
the seconds until Python has them, from an empty cache and from one that has the
library. The seconds are the processor time of Python and of the compiler, because
the elapsed time depends on what else the machine does. Each is the least of
several processes, which run by turns; it leaves out their imports. With --write,
the table goes into the document, too.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/hosts/notebook.md"

C = """
TVMFFI_EXPORT(add, int64, (int64, a), (int64, b)) { TVMFFI_RETURN(a + b); }

TVMFFI_EXPORT(axpy, none, (float64, a), (tensor("float32[n] cpu"), x),
              (tensor("float32[n] cpu inout"), y)) {
  const float *px = TVMFFI_DATA(x, float);
  float *py = TVMFFI_DATA(y, float);
  for (int64_t i = 0; i < x->shape[0]; ++i) py[i] += (float)a * px[i];
  TVMFFI_RETURN();
}
"""
CXX = """
int64_t add(int64_t a, int64_t b) { return a + b; }

static void check(const tvm::ffi::TensorView& t) {
  if (t.ndim() != 1) TVM_FFI_THROW(ValueError) << "not of one dimension";
  if (t.dtype() != DLDataType{kDLFloat, 32, 1})
    TVM_FFI_THROW(TypeError) << "not float32";
  if (t.device().device_type != kDLCPU)
    TVM_FFI_THROW(ValueError) << "not on the CPU";
  if (!t.IsContiguous()) TVM_FFI_THROW(ValueError) << "not contiguous";
}

void axpy(double a, tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  check(x);
  check(y);
  if (x.size(0) != y.size(0))
    TVM_FFI_THROW(ValueError) << "of another length";
  const float* px = static_cast<const float*>(x.data_ptr());
  float* py = static_cast<float*>(y.data_ptr());
  for (int64_t i = 0; i < x.size(0); ++i) py[i] += (float)a * px[i];
}
"""
# The name, the source, and how a process with the text and a folder loads it.
WAYS = {
    "`tvmffi.load_inline`": (C, f"""
sys.path.insert(0, {str(ROOT / "packaging/python/src")!r})
import tvm_ffi, tvmffi
def load(source, folder):
    return tvmffi.load_inline(source, folder=folder,
                              extra_cflags=["-I" + {str(ROOT)!r}])
"""),
    "`tvm_ffi.cpp.load_inline`": (CXX, """
import tvm_ffi.cpp
def load(source, folder):
    return tvm_ffi.cpp.load_inline("inline", cpp_sources=source,
                                   functions=["add", "axpy"],
                                   build_directory=folder)
"""),
}
TIMED = """
import numpy, os, sys
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
{define}
def spent():
    return sum(sum(getrusage(who)[:2])
               for who in (RUSAGE_SELF, RUSAGE_CHILDREN))
os.makedirs(sys.argv[1], exist_ok=True)
start = spent()
m = load(sys.stdin.read(), sys.argv[1])
add, axpy = m.add, m.axpy
print(spent() - start)
x, y = numpy.ones(3, "float32"), numpy.ones(3, "float32")
axpy(2.0, x, y)
assert add(3, 4) == 7 and y.tolist() == [3, 3, 3]
"""


def seconds(way, folder):
    source, define = WAYS[way]
    done = subprocess.run(
        [sys.executable, "-c", TIMED.format(define=define), folder],
        input=source, text=True, capture_output=True,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}"
             f"{os.pathsep}{os.environ['PATH']}"})
    if done.returncode:
        sys.exit(f"inline: {way}\n{done.stdout}{done.stderr}")
    return float(done.stdout.split()[-1])


def measure(rounds):
    """{way: (seconds with an empty cache, seconds with the library)}"""
    times = {}
    with tempfile.TemporaryDirectory() as work:
        for number in range(rounds):
            for way in WAYS:
                folder = f"{work}/{list(WAYS).index(way)}-{number}"
                times.setdefault(way, []).append(
                    (seconds(way, folder), seconds(way, folder)))
    return {way: tuple(map(min, zip(*pairs))) for way, pairs in times.items()}


def table(rounds):
    lines = ["| | lines of source | first time, s | from the cache, s |",
             "| --- | --- | --- | --- |"]
    for way, (cold, cached) in measure(rounds).items():
        count = sum(bool(line.strip()) for line in WAYS[way][0].split("\n"))
        lines.append(f"| {way} | {count} | {cold:.2f} | {cached:.3f} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    text = table(args.rounds)
    print(text, end="")
    if args.write:
        page, count = re.subn(
            r"(?<=<!-- made by bench/compare/inline.py --write -->\n).*?"
            r"(?=<!-- end -->)", lambda _: text, PAGE.read_text("utf-8"),
            flags=re.S)
        if not count:
            sys.exit(f"inline: {PAGE} has no place for the table")
        PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
