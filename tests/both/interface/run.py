#!/usr/bin/env python3
"""Builds each program of this folder, in C and in C++, without the runtime,
and runs it on the given library, and on the stock one: both must print the
same lines. TAP."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "tests/tools"))
import both  # noqa: E402
from tap import Tap  # noqa: E402

LANGUAGES = {"c11": ("cc", ["-std=c11"]),
             "c++11": ("cxx", ["-x", "c++", "-std=c++11"])}


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--lib", required=True, help="our libtvm_ffi.so")
    p.add_argument("--stock", help="the library to compare with")
    p.add_argument("--cc", default=os.environ.get("CC", "cc"))
    p.add_argument("--cxx", default=os.environ.get("CXX", "c++"))
    args = p.parse_args()
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        for source in sorted(HERE.glob("*.c")):
            for language, (compiler, flags) in LANGUAGES.items():
                ended = []
                for lib in filter(None, (args.lib, args.stock)):
                    program = os.path.join(directory, "program")
                    lib = os.path.abspath(lib)
                    both.build(getattr(args, compiler), *flags, "-O1", "-g",
                               "-Wall", "-Wextra", "-Werror", "-I", ROOT,
                               source, "-x", "none", lib,
                               "-Wl,-rpath," + os.path.dirname(lib), "-o",
                               program)
                    ended.append(both.run([program]))
                ours, stock = ended[0], ended[-1]
                tap.ok(ours.status == 0 and ours[:2] == stock[:2],
                       f"{source.name} as {language}: "
                       f"{len(ours.out.splitlines())} lines",
                       f"{ours.how()}\n{both.around(stock.out, ours.out)}")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
