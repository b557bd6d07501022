#!/usr/bin/env python3
"""Builds the examples beside the same in upstream's C++, on one library.

    examples.py FOLDER --wheel-include DIR --stock LIBRARY

Prints TAP: each pair must print the same, but for lines that begin with a
space, which are frames of traces. The pair of a folder is two libraries, which
are used by the folder's script in Python. All C files together must have at
most 0.85 of the lines of the C++ files; clang-format breaks both at 80 columns.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests" / "tools"))
from tap import Tap  # noqa: E402


def pairs():
    """(name, C, C++) of every example that has both."""
    for twin in sorted((HERE / "examples").glob("*.cpp")):
        source = ROOT / "examples" / f"{twin.stem}.c"
        yield twin.stem, source if source.exists() else library(twin), twin


def library(twin):
    """The C file of the folder that a twin is of."""
    return next((ROOT / "examples" / twin.stem).glob("*.c"))


def script(twin):
    """The script of the folder that a twin is of; None if it is a program."""
    return next((ROOT / "examples" / twin.stem).glob("*.py"), None)


def code_lines(path):
    """Lines that are neither empty nor of comments."""
    text = re.sub(r'"(?:\\.|[^"\\])*"|/\*.*?\*/|//[^\n]*',
                  lambda m: m[0] if m[0][0] == '"' else "",
                  path.read_text(), flags=re.S)
    return sum(1 for line in text.splitlines() if line.strip())


def build(args, source, *flags):
    """Compiles a program; its path and the seconds it took.

    The C examples define TVMFFI_IMPLEMENTATION; as if it stood in another
    file, they use the library that the C++ ones use.
    """
    cxx = source.suffix == ".cpp"
    out = args.folder / (source.stem + ("_cxx" if cxx else "_c"))
    if (script(source) if cxx else source.parent.name != "examples"):
        out = out.with_suffix(".so")
        flags += ("-shared", "-fPIC")
    compiler = args.cxx if cxx else args.cc
    command = [*compiler.split(), "-std=c++17" if cxx else "-std=c11", *flags,
               f"-I{args.wheel_include}" if cxx else f"-I{ROOT}",
               *([] if cxx else ["-DTVMFFI_IMPLEMENTED"]), source, "-o", out,
               args.stock, "-lm", "-lpthread", "-ldl"]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"examples: {source.name}\n{done.stderr}")
    return out, time.perf_counter() - start


def output(args, program, user):
    command = [sys.executable, user, program] if user else [program]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60,
        env={**os.environ, "LD_LIBRARY_PATH": str(Path(args.stock).parent)})
    text = [line for line in (done.stdout + done.stderr).splitlines()
            if line and (user or not line.startswith(" "))]
    return done.returncode, text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--wheel-include", required=True)
    parser.add_argument("--stock", required=True, help="upstream's library")
    parser.add_argument("folder", type=Path, help="what is built goes here")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    tap = Tap()
    for name, source, twin in pairs():
        ours, theirs = (output(args, build(args, path, "-O0")[0],
                               script(twin)) for path in (source, twin))
        tap.ok(ours == theirs and ours[0] == 0,
               f"{name} prints what its C++ twin prints",
               f"C: {ours}\nC++: {theirs}")
    c, cxx = (sum(map(code_lines, paths))
              for paths in list(zip(*pairs()))[1:])
    tap.ok(c <= 0.85 * cxx, "C has at most 0.85 of the lines of C++",
           f"C: {c}, C++: {cxx}")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
