#!/usr/bin/env python3
"""Measures code size and compile time, beside upstream's headers.

Times are medians of runs that take turns, so that a slow moment of the
machine falls on both sides. With --check the limits are tested (TAP).
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
from tap import Tap  # noqa: E402

TEXT_LIMIT = 64 * 1024  # bytes of .text at -Os
# Of upstream's c_api.h: the ABI alone. The compiler reads past the rest of the
# one header, which is most of what is over 1.
DECLARATIONS_LIMIT = 1.35
IMPLEMENTATION_LIMIT = 2.0  # of a C++ file that includes upstream's header

OURS = '#include "tvmffi.h"\n'
IMPLEMENTATION = "#define TVMFFI_IMPLEMENTATION\n" + OURS
# The same two headers that the declarations of ours stand for.
C_API = "#include <tvm/ffi/c_api.h>\n#include <tvm/ffi/extra/c_env_api.h>\n"
CXX_API = "#include <tvm/ffi/tvm_ffi.h>\n"


class Bench:
    def __init__(self, args, folder):
        self.args = args
        self.folder = Path(folder)

    def command(self, name, text, *flags):
        cxx = name.endswith(".cpp")
        source = self.folder / name
        source.write_text(text)
        compiler = (self.args.cxx if cxx else self.args.cc).split()
        include = ["-I", str(self.args.header.parent)]
        if self.args.wheel_include:
            include += ["-isystem", self.args.wheel_include]
        return [*compiler, "-std=c++17" if cxx else "-std=c11", *flags,
                *include, "-c", str(source), "-o", str(source) + ".o"]

    def text_size(self, level):
        command = self.command("size.c", IMPLEMENTATION, level)
        subprocess.run(command, check=True)
        out = subprocess.run(["size", "-A", command[-1]], check=True,
                             capture_output=True, text=True).stdout
        rows = [line.split() for line in out.splitlines()]
        return sum(int(r[1]) for r in rows
                   if len(r) == 3 and r[0].startswith(".text"))


def run_time(command):
    start = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - start


def taking_turns(first, second, runs):
    """The median seconds of two commands, and of their ratio."""
    for command in (first, second):
        run_time(command)
    pairs = [(run_time(first), run_time(second)) for _ in range(runs)]
    return (statistics.median(a for a, _ in pairs),
            statistics.median(b for _, b in pairs),
            statistics.median(a / b for a, b in pairs))


def compile_times(bench):
    yield ("declarations", "c_api.h", DECLARATIONS_LIMIT, taking_turns(
        bench.command("declarations.c", OURS, "-DTVMFFI_ABI_ONLY=1"),
        bench.command("c_api.c", C_API), bench.args.runs))
    yield ("declarations and C interface", "c_api.h", None, taking_turns(
        bench.command("declarations.c", OURS),
        bench.command("c_api.c", C_API), bench.args.runs))
    yield ("implementation -O2", "tvm_ffi.h (C++)", IMPLEMENTATION_LIMIT,
           taking_turns(bench.command("implementation.c", IMPLEMENTATION,
                                      "-O2"),
                        bench.command("cxx_api.cpp", CXX_API, "-O2"), 5))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--header", type=Path, default=ROOT / "tvmffi.h")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--wheel-include")
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    tap, report = Tap(), []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(args, folder)
        for level in ("-Os", "-O2"):
            size = bench.text_size(level)
            line = f".text at {level}: {size} bytes ({size / 1024:.1f} KB)"
            report.append(line)
            if args.check and level == "-Os":
                tap.ok(0 < size < TEXT_LIMIT,
                       f".text at -Os is under {TEXT_LIMIT // 1024} KB", line)
        if not args.wheel_include:
            tap.skip("compile times", "the wheel is not there")
        else:
            for what, other, limit, (ours, theirs, ratio) in \
                    compile_times(bench):
                line = (f"compile time of the {what}: {ours * 1e3:.1f} ms, "
                        f"{other}: {theirs * 1e3:.1f} ms, ratio {ratio:.2f}")
                report.append(line)
                if args.check and limit:
                    tap.ok(ratio <= limit, f"the {what} compiles in at most "
                           f"{limit:.2f} times {other}", line)
    if not args.check:
        print("\n".join(report))
        return 0
    tap.note("\n".join(report))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
