#!/usr/bin/env python3
"""Runs the C++ programs of this folder on a library and on upstream's.

  run.py --lib LIB --stock LIB --include WHEEL_INCLUDE [--build DIR]
         [--cxx CXX] [--cc CC] [--flags FLAGS] [--skip PATTERN] [PROGRAM ...]

Each program is compiled once, with upstream's headers, and run with one
library and then the other by LD_LIBRARY_PATH. Both must pass all of its
checks and print the same. The files in EXTRA are compiled as C with our header
and linked too. Output is TAP.

With a library and --flags of AddressSanitizer, set
ASAN_OPTIONS=alloc_dealloc_mismatch=0: a list that C grew and C++ grows on gets
memory of operator new, and keeps the deleter that it had.
"""

import argparse
import difflib
import os
import re
import shlex
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import both  # noqa: E402
from tap import Tap  # noqa: E402

EXTRA = {"interop": ["c_side.c"], "module_kinds": ["module_kinds.c"]}
TIME_LIMIT = 300


def parse_arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--lib", required=True, help="the library to be tested")
    p.add_argument("--stock", required=True, help="upstream's library")
    p.add_argument("--include", required=True, help="upstream's headers")
    p.add_argument("--build", help="where the programs are built")
    p.add_argument("--cxx", default=os.environ.get("CXX", "c++"))
    p.add_argument("--cc", default=os.environ.get("CC", "cc"))
    p.add_argument("--flags", default="-O1",
                   help="for both compilers, such as -fsanitize=address")
    p.add_argument("--skip", help="leave out the programs that match")
    p.add_argument("programs", nargs="*")
    return p.parse_args()


def compile_program(args, name, folder):
    flags = shlex.split(args.flags)
    program, objects = folder / name, []
    for source in EXTRA.get(name, []):
        objects.append(folder / (source + ".o"))
        both.build(args.cc, "-std=c11", "-g1", *flags, "-Wall", "-Wextra",
                   "-Werror", "-c", HERE / source, "-o", objects[-1])
    both.build(args.cxx, "-std=c++17", "-g1", *flags, "-Wall", "-Wextra",
               "-Wno-maybe-uninitialized", "-isystem", args.include,
               HERE / f"{name}.cpp", *objects, "-o", program,
               "-L" + os.path.dirname(os.path.abspath(args.stock)),
               "-ltvm_ffi", "-lpthread")
    return program


def passed(ended):
    """Whether all checks passed, and as many as were planned."""
    plan = re.search(r"^1\.\.(\d+)$", ended.out, re.M)
    good = len(re.findall(r"^ok \d+ ", ended.out, re.M))
    return ended.status == 0 and plan is not None and int(plan[1]) == good


def unnumbered(out):
    """The lines without the numbers, which a missing check would shift."""
    return re.sub(r"^((?:not )?ok) \d+", r"\1", out, flags=re.M).splitlines()


def failures(ended):
    """What to show of a run that failed."""
    lines, out = [ended.how()], ended.out.splitlines()
    for i, line in enumerate(out):
        if line.startswith("not ok"):
            lines += [line] + [x for x in out[i + 1:i + 3] if x[:1] == "#"]
    return "\n".join(lines + out[-1:] + ended.err.splitlines()[:20])


def check(tap, args, name, folder):
    start = time.monotonic()
    try:
        program = compile_program(args, name, folder)
    except both.Failed as error:
        tap.ok(False, f"{name} compiles", error)
        return
    tap.ok(True, f"{name} compiles")
    print(f"# {name}: compiled in {time.monotonic() - start:.1f} s")
    stock, ours = (both.run([program], both.environment(library), TIME_LIMIT)
                   for library in (args.stock, args.lib))
    tap.ok(passed(stock), f"{name} on upstream's library", failures(stock))
    tap.ok(passed(ours), f"{name} on ours", failures(ours))
    diff = difflib.unified_diff(unnumbered(stock.out), unnumbered(ours.out),
                                "upstream", "ours", n=0, lineterm="")
    tap.ok(stock.out == ours.out, f"{name} prints the same on both",
           "\n".join(diff))


def main():
    args = parse_arguments()
    tap = Tap()
    names = args.programs or sorted(p.stem for p in HERE.glob("*.cpp"))
    if args.skip:
        names = [n for n in names if not re.search(args.skip, n)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(args.build or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            check(tap, args, name, folder)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
