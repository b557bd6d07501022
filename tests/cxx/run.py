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
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from tap import Tap  # noqa: E402

EXTRA = {"interop": ["c_side.c"]}
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


def compile_program(args, name, build):
    """Builds one program; returns its path and None, or None and the error."""
    flags = shlex.split(args.flags)
    out = os.path.join(build, name)
    objects = []
    for source in EXTRA.get(name, []):
        objects.append(os.path.join(build, source + ".o"))
        command = shlex.split(args.cc) + [
            "-std=c11", "-g1", *flags, "-Wall", "-Wextra", "-Werror", "-c",
            os.path.join(HERE, source), "-o", objects[-1]]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            return None, run.stderr
    command = shlex.split(args.cxx) + [
        "-std=c++17", "-g1", *flags, "-Wall", "-Wextra",
        "-Wno-maybe-uninitialized", "-isystem", args.include,
        os.path.join(HERE, name + ".cpp"), *objects, "-o", out,
        "-L" + os.path.dirname(os.path.abspath(args.stock)), "-ltvm_ffi",
        "-lpthread"]
    run = subprocess.run(command, capture_output=True, text=True)
    return (None, run.stderr) if run.returncode else (out, None)


def run_program(program, library):
    """Returns the exit status and the standard output and error."""
    env = dict(os.environ,
               LD_LIBRARY_PATH=os.path.dirname(os.path.abspath(library)))
    try:
        run = subprocess.run([program], env=env, capture_output=True,
                             text=True, errors="replace", timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        return None, "", f"no end after {TIME_LIMIT} s"
    return run.returncode, run.stdout, run.stderr


def passed(status, out):
    """Whether all checks passed, and as many as were planned."""
    plan = re.search(r"^1\.\.(\d+)$", out, re.M)
    good = len(re.findall(r"^ok \d+ ", out, re.M))
    return status == 0 and plan is not None and int(plan[1]) == good


def unnumbered(out):
    """The lines without the numbers, which a missing check would shift."""
    return re.sub(r"^((?:not )?ok) \d+", r"\1", out, flags=re.M).splitlines()


def failures(status, out, err):
    """What to show of a run that failed."""
    lines = [f"exit status {status}"]
    out = out.splitlines()
    for i, line in enumerate(out):
        if line.startswith("not ok"):
            lines += [line] + [x for x in out[i + 1:i + 3] if x[:1] == "#"]
    return "\n".join(lines + out[-1:] + err.splitlines()[:20])


def main():
    args = parse_arguments()
    tap = Tap()
    names = args.programs or sorted(
        f[:-4] for f in os.listdir(HERE) if f.endswith(".cpp"))
    if args.skip:
        names = [n for n in names if not re.search(args.skip, n)]
    with tempfile.TemporaryDirectory() as temporary:
        build = args.build or temporary
        os.makedirs(build, exist_ok=True)
        for name in names:
            start = time.monotonic()
            program, error = compile_program(args, name, build)
            seconds = time.monotonic() - start
            if not tap.ok(program, f"{name} compiles", error):
                continue
            print(f"# {name}: compiled in {seconds:.1f} s")
            stock = run_program(program, args.stock)
            ours = run_program(program, args.lib)
            tap.ok(passed(*stock[:2]), f"{name} on upstream's library",
                   failures(*stock))
            tap.ok(passed(*ours[:2]), f"{name} on ours", failures(*ours))
            texts = [unnumbered(run[1]) for run in (stock, ours)]
            diff = difflib.unified_diff(*texts, "upstream", "ours", n=0,
                                        lineterm="")
            tap.ok(stock[1] == ours[1], f"{name} prints the same on both",
                   "\n".join(diff))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
