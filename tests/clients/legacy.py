#!/usr/bin/env python3
"""Runs legacy.c's program on the old runtime of a wheel, and prints its TAP.

    legacy.py --program PROGRAM --wheel FOLDER --cc COMPILER...

The wheel's libtvm_runtime.so was built for CUDA, which is not here: libraries
of the names that it needs, with the functions that it lacks, stand in. None of
them is called.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def stand_in(lib, cc, folder):
    """Makes the libraries of CUDA that a library asks for."""
    symbols = subprocess.run(["nm", "-D", "--undefined-only", lib], text=True,
                             check=True, capture_output=True).stdout
    # Versions are those of the library that a symbol comes from.
    names = {}
    for name, version in re.findall(r" U (cu\w+)(?:@(\S+))?", symbols):
        names.setdefault(version or "libcuda.so.1", []).append(name)
    for library, functions in names.items():
        source = folder / "cuda.c"
        source.write_text("".join(f"void {f}(void) {{}}\n" for f in functions))
        script = folder / "cuda.map"
        script.write_text(f"{library} {{ global: *; }};\n")
        subprocess.run([*cc, "-shared", "-fPIC", "-w", source, "-o",
                        folder / library, f"-Wl,-soname,{library}",
                        f"-Wl,--version-script={script}"], check=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--wheel", required=True, type=Path)
    parser.add_argument("--cc", required=True, nargs="+")
    args = parser.parse_args()
    found = sorted(args.wheel.rglob("libtvm_runtime.so"))
    if not found:
        sys.exit(f"legacy.py: no libtvm_runtime.so in {args.wheel}")
    with tempfile.TemporaryDirectory() as name:
        stand_in(found[0], args.cc, Path(name))
        return subprocess.run(
            [args.program, found[0]],
            env={**os.environ, "LD_LIBRARY_PATH": name}).returncode


if __name__ == "__main__":
    sys.exit(main())
